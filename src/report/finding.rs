//! The findings part of the report model: hits of rules, where they lie, and what the rules did.

use super::model::Time;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The findings that a report shows, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FindingList {
    /// All findings of the case.
    pub total: i64,
    /// Findings by severity, over all of them: critical, high, medium, low.
    pub by_severity: BTreeMap<String, i64>,
    /// The worst, ordered by severity, time, id; at most [`MAX_FINDINGS`](super::MAX_FINDINGS).
    pub shown: Vec<Finding>,
}

/// Where a record lies: enough to read it again.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Locator {
    /// Path of the source as given.
    pub path: String,
    /// Offset of the record in the decoded source (bytes).
    pub offset: i64,
    /// Length of the record (bytes).
    pub length: i64,
}

/// One finding.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Finding {
    /// Id, stable between runs.
    pub finding_id: String,
    /// Rule.
    pub rule_id: String,
    /// critical, high, medium, low.
    pub severity: String,
    /// What the rule says of exposure, if anything.
    pub exposure: Option<String>,
    /// What the rule says of disclosure, if anything.
    pub disclosure: Option<String>,
    /// Request id (the gateway's where there is one).
    pub request_id: Option<String>,
    /// Exchange.
    pub exchange_id: Option<String>,
    /// Receiving tenant.
    pub tenant: Option<String>,
    /// Exchange that the text comes from.
    pub source_exchange_id: Option<String>,
    /// Tenant that the text comes from.
    pub source_tenant: Option<String>,
    /// When it happened.
    pub event_time: Option<Time>,
    /// Title of the rule's hit.
    pub title: String,
    /// The span, for findings of text; see [`OverlapFacts::from_evidence`].
    pub overlap: Option<OverlapFacts>,
    /// Record of the answer.
    pub locator: Option<Locator>,
    /// Record that the text comes from.
    pub source_locator: Option<Locator>,
    /// The rule's plain columns. Numbers, ids and hashes; no text.
    pub evidence: BTreeMap<String, Value>,
    /// Masked preview of the span; null unless `--reveal` was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

/// Positions and weight of a shared span. Positions are bytes of the decoded UTF-8 text.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OverlapFacts {
    /// Field of the answer: response, reasoning, tool.
    pub field: Option<String>,
    /// Field of the source: prompt, response, reasoning, tool.
    pub source_field: Option<String>,
    /// Start in the answer.
    pub response_start: Option<i64>,
    /// End in the answer, not included.
    pub response_end: Option<i64>,
    /// Start in the source.
    pub source_start: Option<i64>,
    /// End in the source, not included.
    pub source_end: Option<i64>,
    /// Words shared.
    pub tokens: Option<i64>,
    /// Words of these that the receiving tenant's own traffic does not hold.
    pub novel_tokens: Option<i64>,
    /// Weight of the novel words.
    pub novel_weight: Option<i64>,
    /// Tenants whose traffic holds the text independently.
    pub carriers: Option<i64>,
    /// Answer's start minus the source's end, in milliseconds; negative while the source ran.
    pub lag_ms: Option<i64>,
    /// before, overlap, after, unknown.
    pub order: Option<String>,
    /// Keyed hash of the span.
    pub span_hmac: Option<String>,
}

impl OverlapFacts {
    /// The span that a rule's evidence describes, if its columns are named as those of `overlaps`.
    pub fn from_evidence(evidence: &BTreeMap<String, Value>) -> Option<Self> {
        let number = |key: &str| evidence.get(key).and_then(Value::as_i64);
        let word = |key: &str| evidence.get(key).and_then(Value::as_str).map(str::to_owned);
        number("response_start")?;
        Some(Self {
            field: word("field"),
            source_field: word("source_field").or_else(|| word("source_side")),
            response_start: number("response_start"),
            response_end: number("response_end"),
            source_start: number("source_start"),
            source_end: number("source_end"),
            tokens: number("tokens"),
            novel_tokens: number("novel_tokens"),
            novel_weight: number("novel_weight"),
            carriers: number("carriers"),
            lag_ms: number("lag_ms"),
            order: word("order"),
            span_hmac: word("span_hmac"),
        })
    }
}

/// One rule's run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RuleRow {
    /// Rule.
    pub rule_id: String,
    /// Version of the rule.
    pub version: String,
    /// What it looks for.
    pub title: String,
    /// Severity unless a hit says otherwise.
    pub severity: String,
    /// Findings.
    pub hits: i64,
    /// Why it did not run, or null.
    pub skipped: Option<String>,
}
