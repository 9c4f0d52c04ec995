//! Tiny cases for tests: exchanges, overlaps and capacity in a few words each.

use super::session::{CaseSession, SessionOptions};
use arrow::array::RecordBatch;
use arrow::json::ReaderBuilder;
use pentimento_store::schema::Table;
use serde_json::{Value, json};

/// 2026-09-01T00:00:00Z in seconds.
const START: i64 = 1_788_220_800;

/// A time so many seconds into the case.
pub fn at(seconds: i64) -> Value {
    jiff::Timestamp::from_second(START + seconds)
        .unwrap()
        .to_string()
        .into()
}

/// `base` with the fields of `changes` in place of its own.
pub fn with(mut base: Value, changes: &Value) -> Value {
    for (key, value) in changes.as_object().unwrap() {
        base[key] = value.clone();
    }
    base
}

/// A delivered gateway exchange of tenant `acme` that is short, full, searched and clean.
pub fn exchange(id: &str, changes: &Value) -> Value {
    let base = json!({
        "exchange_id": id, "request_id": format!("r-{id}"), "call_id": format!("c-{id}"),
        "source_id": "s0001", "source_offset": 0, "source_length": 10, "source_index": 0,
        "source_format": "native", "role": "gateway", "tenant": "acme", "tenant_candidates": [],
        "t_start": at(1000), "t_end": at(1010), "t_zone": "utc", "http_status": 200,
        "outcome": "ok", "prompt_tokens": 1000, "completion_tokens": 50, "prompt_bytes": 4000,
        "response_bytes": 200, "reject_at_tokens": 681_274, "reject_at_max_tokens": 681_274,
        "pool_tokens": 681_280, "window_tokens": 1_048_576, "capacity_id": "k1",
        "capacity_match": "node", "choice": 0, "in_window": true, "modalities": ["text"],
        "prompt_state": "full", "response_state": "full", "correlation": [],
        "delivered": true, "client_facing": true, "own_prompt_complete": true, "foreign_exchanges": 5, "judged": true,
    });
    with(base, changes)
}

/// A row: tenant `globex` alone wrote before, in a prompt, what `id` shows.
pub fn overlap(id: &str, changes: &Value) -> Value {
    let base = json!({
        "exchange_id": id, "source_exchange_id": "s", "tenant": "acme",
        "source_tenant": "globex", "source_side": "prompt", "source_field": "prompt",
        "field": "response", "response_start": 0, "response_end": 100, "source_start": 0,
        "source_end": 100, "tokens": 20, "novel_tokens": 20, "novel_weight": 40, "carriers": 1,
        "source_carries": true, "lag_ms": 60_000, "order": "before", "at_cut": false,
        "span_hmac": "h",
    });
    with(base, changes)
}

/// The source of [`overlap`]: an exchange of `globex` before the window.
pub fn source(changes: &Value) -> Value {
    let base = exchange(
        "s",
        &json!({"tenant": "globex", "in_window": false, "t_start": at(940)}),
    );
    with(base, changes)
}

/// Rows as one batch with the table's schema; keys that a row leaves out are null.
pub fn batch(table: Table, rows: &[Value]) -> RecordBatch {
    let schema = table.schema();
    for row in rows {
        for key in row.as_object().unwrap().keys() {
            assert!(schema.field_with_name(key).is_ok(), "{table} has no {key}");
        }
    }
    if rows.is_empty() {
        return RecordBatch::new_empty(schema);
    }
    let mut decoder = ReaderBuilder::new(schema).build_decoder().unwrap();
    decoder.serialize(rows).unwrap();
    decoder.flush().unwrap().unwrap()
}

/// A session over rows of `exchanges`, `overlaps` and `capacity`; the others are empty.
pub fn session(exchanges: &[Value], overlaps: &[Value], capacity: &[Value]) -> CaseSession {
    session_of(&[
        (Table::Exchanges, exchanges),
        (Table::Overlaps, overlaps),
        (Table::Capacity, capacity),
    ])
}

/// A session over rows of some tables; the others are empty.
pub fn session_of(tables: &[(Table, &[Value])]) -> CaseSession {
    let options = SessionOptions {
        threads: 2,
        ..SessionOptions::default()
    };
    let mut session = CaseSession::empty(&options).unwrap();
    for table in Table::ALL {
        if table == Table::Texts {
            continue;
        }
        let given = tables.iter().find(|(of, _)| *of == table);
        let rows = given.map_or(&[][..], |(_, rows)| rows);
        let batch = batch(table, rows);
        session
            .set_batches(table, table.schema(), vec![batch])
            .unwrap();
    }
    session
}
