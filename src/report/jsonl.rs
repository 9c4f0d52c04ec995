//! `findings.jsonl`: every finding, one JSON object a line, keys sorted.

use super::model::Time;
use anyhow::{Context, Result};
use pentimento_store::rows::FindingRow;
use serde_json::{Value, json};

/// Appends one finding.
///
/// # Errors
/// Evidence that is no JSON, which would be a bug of the rule runner.
pub fn append(row: &FindingRow, out: &mut Vec<u8>) -> Result<()> {
    let evidence: Value =
        serde_json::from_str(&row.evidence).context("evidence of a finding is no JSON")?;
    let mut value = json!({
        "finding_id": row.finding_id,
        "rule_id": row.rule_id,
        "severity": row.severity,
        "exposure": row.exposure,
        "disclosure": row.disclosure,
        "exchange_id": row.exchange_id,
        "request_id": row.request_id,
        "call_id": row.call_id,
        "tenant": row.tenant,
        "source_exchange_id": row.source_exchange_id,
        "source_tenant": row.source_tenant,
        "event_time": row.event_time.map(|t| Time(t).to_string()),
        "title": row.title,
        "evidence": evidence,
    });
    value.sort_all_objects();
    let text = serde_json::to_string(&value)?;
    out.extend_from_slice(super::json::inert(&text).as_bytes());
    out.push(b'\n');
    Ok(())
}
