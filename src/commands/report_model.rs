//! From the case's query results to the report model.

use crate::fitness::Fitness;
use crate::outcome::Outcome;
use crate::pipeline::ingest::Ingested;
use crate::report::controls::{
    ControlRow, SignalRow, Stratum, other_memory, time_reversed, untriggered,
};
use crate::report::finding::{Finding, FindingList, Locator, OverlapFacts, RuleRow};
use crate::report::model::*;
use crate::report::{MAX_FINDINGS, Report};
use crate::settings::AuditSettings;
use crate::sql::findings::RuleRun;
use crate::sql::json::Object;
use crate::sql::session::CaseSession;
use anyhow::Result;
use pentimento_core::overlap::{Stats, WINDOW_WEIGHT};
use pentimento_store::case::CaseFolder;
use pentimento_store::rows::FindingRow;
use serde_json::Value;
use std::collections::BTreeMap;

/// Half-words from which an overlap row makes a finding, as the rules have it.
const CUT_WEIGHT: i64 = 24;

/// What is known beside the tables.
pub struct Facts<'a> {
    /// Settings of the run.
    pub settings: &'a AuditSettings,
    /// Result of ingest.
    pub ingested: &'a Ingested,
    /// Work of the overlap search.
    pub stats: &'a Stats,
    /// Rules that ran.
    pub rules: &'a [RuleRun],
    /// All findings.
    pub findings: &'a [FindingRow],
    /// Fitness of the evidence.
    pub fitness: Fitness,
    /// Why the evidence is incomplete.
    pub gap: Option<&'a str>,
    /// How the run ends.
    pub outcome: &'a Outcome,
}

/// Fills and finishes the report.
///
/// # Errors
/// Where a query fails.
pub fn fill(facts: &Facts<'_>, session: &mut CaseSession, case: &CaseFolder) -> Result<Report> {
    let mut tables: BTreeMap<&str, Vec<Object>> = session.report_tables()?.into_iter().collect();
    let mut take = |name: &str| tables.remove(name).unwrap_or_default();
    let linking = take("linking").pop().unwrap_or_default();
    let headline = take("headline");
    let best_responses = headline
        .iter()
        .find(|r| word(r, "number") == "best")
        .map_or(0, |r| int(r, "responses"));
    let timed = if best_responses > 0 {
        "best"
    } else {
        "ceiling"
    };
    let timed = headline.iter().find(|r| word(r, "number") == timed);
    let report = Report {
        header: header(facts, case, &take("period")),
        headline: Headline {
            floor: numbered(&headline, "floor"),
            best: numbered(&headline, "best"),
            ceiling: numbered(&headline, "ceiling"),
            capacity_known: int(&linking, "with_capacity") > 0,
        },
        outside: outside(&take("outside")),
        excluded: take("excluded").iter().map(excluded).collect(),
        aborted: take("aborted").first().map(aborted).unwrap_or_default(),
        first_time: timed.and_then(|r| time(r, "first_time")),
        last_time: timed.and_then(|r| time(r, "last_time")),
        funnel: take("funnel").iter().map(funnel).collect(),
        axes: take("by_grade").iter().map(axis).collect(),
        timeline: take("timeline").iter().map(day).collect(),
        capacity: take("capacity_epochs").iter().map(epoch).collect(),
        sensitivity: take("sensitivity").iter().map(sensitivity).collect(),
        controls: controls(
            &take("control_strata"),
            &take("control_memory"),
            &take("control_reversed"),
        ),
        signals: take("control_signals").iter().map(signal).collect(),
        recipients: take("recipients").iter().map(recipient).collect(),
        findings: findings(facts, &take("findings_list")),
        rules: rules(facts.rules),
        assessability: assessability(facts, &take("not_assessable")),
        sources: take("reconciliation").iter().map(source).collect(),
        rejects: take("rejects_by_reason").iter().map(reject).collect(),
        linking: Linking {
            exchanges: int(&linking, "exchanges"),
            calls: int(&linking, "calls"),
            by_kind: by_kind(facts.ingested),
            collisions: int(&linking, "collisions"),
        },
        method: method(facts),
        ..Report::default()
    };
    Ok(report.finish())
}

fn header(facts: &Facts<'_>, case: &CaseFolder, period: &[Object]) -> Header {
    let row = period.first();
    let window = facts.settings.window;
    let name = case
        .root()
        .file_name()
        .map(|n| n.to_string_lossy().into_owned());
    Header {
        tool_version: env!("CARGO_PKG_VERSION").into(),
        case_name: name.unwrap_or_default(),
        period_start: window
            .since
            .map(Time)
            .or_else(|| row.and_then(|r| time(r, "period_start"))),
        period_end: window
            .until
            .map(Time)
            .or_else(|| row.and_then(|r| time(r, "period_end"))),
        status: Status {
            complete: facts.gap.is_none(),
            exit_code: i32::from(facts.outcome.exit_code()),
            reason: facts.gap.map(str::to_string),
        },
        config_digest: facts.settings.config.digest.clone().unwrap_or_default(),
        revealed: false,
    }
}

fn numbered(rows: &[Object], number: &str) -> Extent {
    rows.iter()
        .find(|r| word(r, "number") == number)
        .map(extent)
        .unwrap_or_default()
}

fn extent(row: &Object) -> Extent {
    Extent {
        responses: int(row, "responses"),
        calls: int(row, "calls"),
        receiving_tenants: int(row, "receiving_tenants"),
        source_tenants: int(row, "source_tenants"),
    }
}

fn outside(rows: &[Object]) -> Outside {
    let of = |grade: &str| {
        rows.iter()
            .find(|r| word(r, "grade") == grade)
            .map(extent)
            .unwrap_or_default()
    };
    Outside {
        confirmed: of("confirmed"),
        probable: of("probable"),
        possible: of("possible"),
        ..Outside::default()
    }
}

fn excluded(row: &Object) -> ExcludedRow {
    ExcludedRow {
        kind: word(row, "kind"),
        grade: word(row, "grade"),
        responses: int(row, "responses"),
    }
}

fn aborted(row: &Object) -> Aborted {
    Aborted {
        responses: int(row, "responses"),
        over_limit: int(row, "over_limit"),
        with_foreign_text: int(row, "with_foreign_text"),
    }
}

fn funnel(row: &Object) -> FunnelRow {
    FunnelRow {
        stage: word(row, "stage"),
        label: word(row, "label"),
        responses: int(row, "responses"),
    }
}

fn axis(row: &Object) -> AxisRow {
    AxisRow {
        exposure: word(row, "exposure"),
        disclosure: word(row, "disclosure"),
        grade: word(row, "grade"),
        responses: int(row, "responses"),
    }
}

fn day(row: &Object) -> DayRow {
    DayRow {
        day: word(row, "day"),
        responses: int(row, "responses"),
        over_limit: int(row, "over_limit"),
        confirmed: int(row, "confirmed"),
        probable: int(row, "probable"),
        possible: int(row, "possible"),
    }
}

fn epoch(row: &Object) -> CapacityEpoch {
    let engine = match (text(row, "engine"), text(row, "engine_version")) {
        (Some(engine), Some(version)) => Some(format!("{engine} {version}")),
        (engine, version) => engine.or(version),
    };
    CapacityEpoch {
        capacity_id: word(row, "capacity_id"),
        model: text(row, "model"),
        deployment: text(row, "deployment"),
        node: text(row, "node"),
        role: text(row, "role"),
        valid_from: time(row, "valid_from"),
        valid_to: time(row, "valid_to"),
        pool_tokens: number(row, "pool_tokens"),
        window_tokens: number(row, "window_tokens"),
        page_tokens: number(row, "page_tokens"),
        reject_at_tokens: number(row, "reject_at_tokens"),
        engine,
        mode: text(row, "mode"),
        source: word(row, "source"),
        ..CapacityEpoch::default()
    }
}

fn sensitivity(row: &Object) -> SensitivityRow {
    SensitivityRow {
        min_words: int(row, "min_words"),
        limit: word(row, "limit"),
        max_carriers: int(row, "max_carriers"),
        responses: int(row, "responses"),
        in_use: row.get("in_use").and_then(Value::as_bool).unwrap_or(false),
    }
}

fn controls(strata: &[Object], memory: &[Object], reversed: &[Object]) -> Vec<ControlRow> {
    let strata: Vec<Stratum> = strata
        .iter()
        .map(|row| Stratum {
            exposed: int(row, "exposed"),
            controls: int(row, "controls"),
            hits: int(row, "control_hits"),
        })
        .collect();
    let mut rows = vec![untriggered(&strata)];
    rows.extend(memory.first().map(|row| {
        other_memory(
            int(row, "impossible_hits"),
            int(row, "other_pairs"),
            int(row, "same_pairs"),
        )
    }));
    rows.extend(reversed.first().map(|row| {
        time_reversed(
            int(row, "reversed_hits"),
            int(row, "later_pairs"),
            int(row, "earlier_pairs"),
        )
    }));
    rows
}

fn signal(row: &Object) -> SignalRow {
    let told = |name: &str| row.get(name).and_then(Value::as_bool).unwrap_or(false);
    SignalRow {
        passage: told("passage"),
        identifier: told("identifier"),
        fit: told("fit"),
        engine: told("engine"),
        first_token: told("first_token"),
        prompt_length: told("prompt_length"),
        witnesses: int(row, "witnesses"),
        responses: int(row, "responses"),
    }
}

fn recipient(row: &Object) -> Recipient {
    Recipient {
        tenant: text(row, "tenant"),
        source_tenant: text(row, "source_tenant"),
        confirmed: int(row, "confirmed"),
        responses: int(row, "responses"),
        first_time: time(row, "first_time"),
        last_time: time(row, "last_time"),
    }
}

fn findings(facts: &Facts<'_>, rows: &[Object]) -> FindingList {
    let mut by_severity = BTreeMap::new();
    for finding in facts.findings {
        *by_severity.entry(finding.severity.to_string()).or_insert(0) += 1;
    }
    FindingList {
        total: facts.findings.len() as i64,
        by_severity,
        shown: rows.iter().take(MAX_FINDINGS).map(finding).collect(),
    }
}

fn finding(row: &Object) -> Finding {
    let evidence: BTreeMap<String, Value> =
        serde_json::from_str(&word(row, "evidence")).unwrap_or_default();
    let locator = |path: &str, offset: &str, length: &str| {
        text(row, path).map(|path| Locator {
            path,
            offset: int(row, offset),
            length: int(row, length),
        })
    };
    Finding {
        finding_id: word(row, "finding_id"),
        rule_id: word(row, "rule_id"),
        severity: word(row, "severity"),
        exposure: text(row, "exposure"),
        disclosure: text(row, "disclosure"),
        request_id: text(row, "request_id"),
        exchange_id: text(row, "exchange_id"),
        tenant: text(row, "tenant"),
        source_exchange_id: text(row, "source_exchange_id"),
        source_tenant: text(row, "source_tenant"),
        event_time: time(row, "event_time"),
        title: word(row, "title"),
        overlap: OverlapFacts::from_evidence(&evidence),
        locator: locator("path", "record_offset", "record_length"),
        source_locator: locator(
            "source_path",
            "source_record_offset",
            "source_record_length",
        ),
        evidence,
        preview: None,
    }
}

fn rules(runs: &[RuleRun]) -> Vec<RuleRow> {
    runs.iter()
        .map(|run| RuleRow {
            rule_id: run.rule.id.to_string(),
            version: run.rule.version.to_string(),
            title: run.rule.title.clone(),
            severity: run.rule.severity.clone().unwrap_or_default(),
            hits: run.rows.len() as i64,
            skipped: None,
        })
        .collect()
}

fn assessability(facts: &Facts<'_>, rows: &[Object]) -> Assessability {
    let fitness = &facts.fitness;
    Assessability {
        calls: fitness.calls,
        calls_seen: fitness.calls_seen,
        responses: fitness.responses,
        responses_assessed: fitness.responses_assessed,
        triggered_unassessed: fitness.triggered_unassessed,
        required_share: facts.settings.min_assessable,
        reasons: rows
            .iter()
            .map(|r| ReasonCount {
                reason: word(r, "reason"),
                responses: int(r, "responses"),
            })
            .collect(),
    }
}

fn source(row: &Object) -> SourceRow {
    SourceRow {
        source_id: word(row, "source_id"),
        path: word(row, "path"),
        format: word(row, "format"),
        status: word(row, "status"),
        bytes: int(row, "bytes"),
        sha256: word(row, "sha256"),
        records_read: int(row, "records_read"),
        records_exchange: int(row, "records_exchange"),
        records_event: int(row, "records_event"),
        records_other: int(row, "records_other"),
        records_rejected: int(row, "records_rejected"),
        records_duplicate: int(row, "records_duplicate"),
        records_out_of_window: int(row, "records_out_of_window"),
        exchanges: int(row, "exchanges"),
        first_time: time(row, "first_time"),
        last_time: time(row, "last_time"),
    }
}

fn reject(row: &Object) -> RejectRow {
    RejectRow {
        reason: word(row, "reason"),
        records: int(row, "records"),
        bytes: int(row, "bytes"),
    }
}

fn by_kind(ingested: &Ingested) -> Vec<LinkKind> {
    ingested
        .links
        .joined
        .iter()
        .map(|(kind, n)| LinkKind {
            kind: kind.clone(),
            calls: *n as i64,
        })
        .collect()
}

fn method(facts: &Facts<'_>) -> Method {
    let overlap = &facts.settings.config.overlap;
    let mut further = BTreeMap::new();
    further.insert("search_passes".to_string(), facts.stats.passes.to_string());
    further.insert("texts_searched".to_string(), facts.stats.texts.to_string());
    Method {
        window_words: i64::from(WINDOW_WEIGHT / 2),
        store_weight: i64::from(overlap.store_weight),
        cut_weight: CUT_WEIGHT,
        max_tenants: i64::from(overlap.max_tenants),
        look_back_seconds: overlap.look_back_us / 1_000_000,
        clock_tolerance_ms: overlap.clock_tolerance_us / 1000,
        unicode_version: unicode_version(),
        mode: facts.settings.mode.as_str().to_string(),
        further,
    }
}

fn int(row: &Object, key: &str) -> i64 {
    number(row, key).unwrap_or(0)
}

fn number(row: &Object, key: &str) -> Option<i64> {
    row.get(key).and_then(Value::as_i64)
}

fn text(row: &Object, key: &str) -> Option<String> {
    row.get(key).and_then(Value::as_str).map(str::to_string)
}

fn word(row: &Object, key: &str) -> String {
    text(row, key).unwrap_or_default()
}

fn time(row: &Object, key: &str) -> Option<Time> {
    let stamp: jiff::Timestamp = row.get(key)?.as_str()?.parse().ok()?;
    Some(Time(stamp.as_microsecond()))
}

fn unicode_version() -> String {
    let (major, minor, patch) = pentimento_core::text::UNICODE_VERSION;
    format!("{major}.{minor}.{patch}")
}
