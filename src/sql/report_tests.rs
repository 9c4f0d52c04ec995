//! The report's queries on one case that holds a bit of everything.

use super::fixture::{at, exchange, overlap, session, source};
use super::json::Object;
use super::session::CaseSession;
use pentimento_store::schema::Table;
use serde_json::{Value, json};

const LONG: i64 = 700_000;

/// Two answers of one call and tenant that show globex, a probable, a possible, one outside the
/// known exposure, a researcher's, a broken-off one, a clean one, an unfit one.
fn case() -> CaseSession {
    let long = |changes: Value| super::fixture::with(json!({"prompt_tokens": LONG}), &changes);
    let exchanges = [
        exchange("a1", &long(json!({"call_id": "c-a", "choice": 0}))),
        exchange("a2", &long(json!({"call_id": "c-a", "choice": 1}))),
        exchange(
            "b",
            &long(json!({"tenant": "initech", "t_start": at(90_000)})),
        ),
        exchange("c", &long(json!({"prompt_tokens": 681_275}))),
        exchange("d", &json!({})),
        exchange("e", &long(json!({"excluded": "researcher"}))),
        exchange("f", &long(json!({"outcome": "aborted", "t_start": at(2)}))),
        exchange("g", &json!({})),
        exchange(
            "h",
            &json!({"judged": false, "response_state": "absent",
            "unjudged_reason": "text_absent"}),
        ),
        source(&json!({})),
    ];
    let overlaps = [
        overlap("a1", &json!({})),
        overlap("a2", &json!({})),
        overlap("b", &json!({"order": "unknown", "novel_weight": 30})),
        overlap("d", &json!({})),
        overlap("e", &json!({})),
        overlap("f", &json!({})),
    ];
    let mut session = session(&exchanges, &overlaps, &[]);
    session.run_rules().unwrap();
    session.run_verdicts().unwrap();
    session
}

fn show(rows: &[Object], columns: &[&str]) -> Vec<String> {
    rows.iter()
        .map(|row| {
            let cells: Vec<String> = columns
                .iter()
                .map(|c| match &row[*c] {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                })
                .collect();
            cells.join(" ")
        })
        .collect()
}

/// Name of the query, columns, rows.
type Expected = (&'static str, &'static str, &'static [&'static str]);

const NUMBERS: &[Expected] = &[
    (
        "headline",
        "number responses calls receiving_tenants source_tenants",
        &["floor 2 1 1 1", "best 3 2 2 1", "ceiling 4 3 2 1"],
    ),
    (
        "outside",
        "grade responses source_tenants",
        &["probable 1 1"],
    ),
    (
        "excluded",
        "kind grade exposed responses",
        &["researcher confirmed 1 1"],
    ),
    (
        "aborted",
        "responses over_limit with_foreign_text",
        &["1 1 1"],
    ),
    ("aborted_list", "exchange_id grade", &["f confirmed"]),
    (
        "funnel",
        "stage responses",
        &[
            "all 8",
            "over_pool 4",
            "over_limit 5",
            "accepted 5",
            "exposed 5",
            "counted 4",
            "disclosed 3",
            "confirmed 2",
            "probable 1",
            "possible 1",
        ],
    ),
    (
        "by_grade",
        "exposure disclosure grade responses",
        &[
            "likely likely probable 1",
            "likely none_found possible 1",
            "likely proven confirmed 2",
            "none likely probable 1",
            "none none_found cleared 1",
            "none not_assessable not_assessable 1",
        ],
    ),
    (
        "timeline",
        "day responses over_limit confirmed probable possible",
        &["2026-09-01 6 3 2 0 1", "2026-09-02 1 1 0 1 0"],
    ),
    (
        "recipients",
        "tenant source_tenant confirmed responses",
        &["acme globex 2 2", "initech globex 0 1"],
    ),
    ("confirmed", "exchange_id", &["f", "a1", "a2", "e"]),
    ("not_assessable", "reason responses", &["text_absent 1"]),
    (
        "assessed",
        "calls calls_seen responses responses_assessed triggered_unassessed",
        &["6 5 7 6 0"],
    ),
    ("linking", "exchanges calls collisions", &["9 8 0"]),
    (
        "control_memory",
        "possible_hits impossible_hits same_pairs other_pairs",
        &["0 0 0 0"],
    ),
];

#[test]
fn the_numbers() {
    let mut case = case();
    let mut rows = |name: &str, columns: &str| {
        let rows = case.json_rows(&format!("report/{name}")).unwrap();
        let columns: Vec<&str> = columns.split(' ').collect();
        show(&rows, &columns)
    };
    for (name, columns, expected) in NUMBERS {
        assert_eq!(rows(name, columns), *expected, "{name}");
    }
    let table = rows(
        "sensitivity",
        "min_words limit max_carriers responses in_use",
    );
    assert_eq!(table.len(), 18);
    assert!(
        table.contains(&"12 engine_limit 1 3 true".to_owned()),
        "{table:?}"
    );
    assert!(table.contains(&"24 pool 3 0 false".to_owned()), "{table:?}");
}

#[test]
fn every_report_table_runs_on_an_empty_case() {
    let mut case = session(&[], &[], &[]);
    case.run_rules().unwrap();
    case.run_verdicts().unwrap();
    let tables = case.report_tables().unwrap();
    assert!(tables.len() >= 20);
    let headline = &tables.iter().find(|t| t.0 == "headline").unwrap().1;
    assert_eq!(
        show(headline, &["number", "responses"]),
        ["floor 0", "best 0", "ceiling 0"]
    );
    let funnel = &tables.iter().find(|t| t.0 == "funnel").unwrap().1;
    assert!(funnel.iter().all(|row| row["responses"] == 0));
}

#[test]
fn what_was_billed_and_is_in_no_log() {
    let bill = |offset: i64, kind: &str, model: Value, requests: Value, tokens: i64| {
        json!({"source_id": "s0002", "source_offset": offset, "source_index": 0, "t": at(0),
            "engine": "openai", "kind": kind, "message": "m", "model": model, "n1": requests,
            "n2": tokens, "n3": 1})
    };
    let model = |tokens: i64| json!({"model": "m", "prompt_tokens": tokens});
    let exchanges = [
        exchange("a", &model(10)),
        // Two choices and two roles of one call are one call.
        exchange(
            "b1",
            &super::fixture::with(model(20), &json!({"call_id": "k"})),
        ),
        exchange(
            "b2",
            &super::fixture::with(model(20), &json!({"call_id": "k", "choice": 1})),
        ),
        exchange(
            "b3",
            &super::fixture::with(model(20), &json!({"call_id": "k", "client_facing": false})),
        ),
        exchange(
            "late",
            &super::fixture::with(model(5), &json!({"t_start": at(90_000)})),
        ),
    ];
    let events = [
        bill(0, "usage_day", json!("m"), json!(3), 700_030),
        bill(1, "usage_day", json!("n"), json!(2), 7),
        bill(2, "usage_hour", Value::Null, Value::Null, 30),
    ];
    let mut case = super::fixture::session_of(&[
        (Table::Exchanges, &exchanges),
        (Table::EngineEvents, &events),
    ]);
    let rows = case.json_rows("report/billed_not_logged").unwrap();
    let columns = [
        "model",
        "billed_requests",
        "logged_calls",
        "not_logged_requests",
        "not_logged_prompt_tokens",
    ];
    assert_eq!(
        show(&rows, &columns),
        ["null null 2 null 0", "m 3 2 1 700000", "n 2 0 2 7"]
    );
    let coverage = case.json_rows("report/engine_coverage").unwrap();
    assert!(coverage.is_empty());
}
