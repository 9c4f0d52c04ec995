//! Logs that real engines wrote, against what was asked of them: `.ci/producers` makes both.
//!
//! `PENTIMENTO_PRODUCERS=DIR cargo test -p pentimento-core --test producers -- --ignored`

use pentimento_core::exchange::{CorrelationKind, Exchange, FieldText};
use pentimento_core::format::frame::Framer;
use pentimento_core::format::{DecodeContext, sniff_source};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// All exchanges of the logs in a folder, and the format that they were taken for.
fn decode(folder: &Path) -> (&'static str, Vec<Exchange>) {
    let entry = fs::read_dir(folder).expect("a folder of logs").next();
    let path = entry.expect("a log").expect("a readable folder").path();
    let name = path.file_name().expect("a file name").to_string_lossy();
    let bytes = fs::read(&path).expect("a readable log");
    let mut framer = Framer::new(bytes.as_slice(), 64 << 20);
    let block = framer.next_block(1 << 30).expect("records");
    let records: Vec<&[u8]> = block.records.iter().map(|r| block.record(r)).collect();
    let format = sniff_source(&records).expect("a known format");
    let utc = jiff::tz::TimeZone::UTC;
    let context = DecodeContext {
        zone: Some(&utc),
        source_name: &name,
        ..DecodeContext::default()
    };
    let mut out = Vec::new();
    for record in records {
        let kind = format.decode(record, &context, &mut out);
        assert!(kind.is_ok(), "a record of {} is refused", path.display());
    }
    (format.name(), out)
}

fn id(exchange: &Exchange, kind: CorrelationKind) -> Option<&str> {
    let mut found = exchange.correlation.iter().filter(|c| c.kind == kind);
    found.next().map(|c| c.value.as_str())
}

#[test]
#[ignore = "needs the logs that .ci/producers writes"]
fn sglang_logs_hold_what_was_asked() {
    let root = std::env::var_os("PENTIMENTO_PRODUCERS").expect("PENTIMENTO_PRODUCERS=DIR");
    let root = PathBuf::from(root);
    let expected = fs::read_to_string(root.join("expected.jsonl")).expect("expected.jsonl");
    let mut logs: BTreeMap<String, (&str, Vec<Exchange>)> = BTreeMap::new();
    let mut rows = 0;
    for line in expected.lines() {
        let row: Value = serde_json::from_str(line).expect("a row of JSON");
        let text = |key: &str| row[key].as_str().expect("a text");
        let folder = text("folder").to_owned();
        let (format, exchanges) = logs
            .entry(folder.clone())
            .or_insert_with(|| decode(&root.join(&folder)));
        assert_eq!(*format, text("format"));
        let rid = text("rid");
        let found = exchanges
            .iter()
            .find(|e| id(e, CorrelationKind::EngineRid) == Some(rid))
            .unwrap_or_else(|| panic!("no exchange {rid}"));
        assert_eq!(
            id(found, CorrelationKind::BootstrapRoom),
            Some(text("room"))
        );
        let of = |field: &Option<FieldText>| field.as_ref().map(|f| f.text.clone());
        let same = |side: &str, field: &Option<FieldText>, state: &str| {
            assert_eq!(
                of(field).as_deref(),
                row[side]["text"].as_str(),
                "{rid} {side}"
            );
            assert_eq!(Some(state), row[side]["state"].as_str(), "{rid} {side}");
        };
        same("prompt", &found.prompt, found.prompt_state.as_str());
        same("response", &found.response, found.response_state.as_str());
        rows += 1;
    }
    assert!(rows > 100, "only {rows} rows");
}

/// Every line that the wheels' own formatting code wrote, as the event that it is.
#[test]
#[ignore = "needs the logs that .ci/producers writes"]
fn engine_lines_of_released_wheels_are_read() {
    let root = std::env::var_os("PENTIMENTO_PRODUCERS").expect("PENTIMENTO_PRODUCERS=DIR");
    let root = PathBuf::from(root);
    let expected = fs::read_to_string(root.join("engine-lines.jsonl")).expect("engine-lines.jsonl");
    let utc = jiff::tz::TimeZone::UTC;
    let context = DecodeContext {
        zone: Some(&utc),
        source_name: "glm-prefill-1.log",
        ..DecodeContext::default()
    };
    let mut versions: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
    for line in expected.lines() {
        let row: Value = serde_json::from_str(line).expect("a row of JSON");
        let version = row["version"].as_str().expect("a version").to_owned();
        let seen = versions.entry(version.clone()).or_insert_with(|| {
            let log = root.join(&version).join("glm-prefill-1.log");
            let text = fs::read_to_string(log).expect("a log");
            (0, text.lines().map(str::to_owned).collect())
        });
        seen.0 += 1;
        let said = &seen.1[row["line"].as_u64().expect("a number") as usize];
        let records: Vec<&[u8]> = seen.1.iter().map(|l| l.as_bytes()).collect();
        let format = sniff_source(&records).expect("a known format");
        assert_eq!(format.name(), "engine_log", "{version}");
        let mut events = Vec::new();
        format.events(said.as_bytes(), &context, &mut events);
        let kind = row["kind"].as_str().expect("a kind");
        let found = events.iter().find(|e| e.kind.as_str() == kind);
        let event = found.unwrap_or_else(|| panic!("sglang {version}: no {kind} in {said}"));
        assert!(event.t.is_some(), "{said}");
        let room = row["room"].as_str();
        assert_eq!(event.bootstrap_room.as_deref(), room, "{said}");
        if let Some(rid) = row["rid"].as_str() {
            assert_eq!(event.engine_request_id.as_deref(), Some(rid), "{said}");
        }
        for (key, read) in [("n1", event.n1), ("n2", event.n2)] {
            let number = row[key].as_i64();
            assert!(
                number.is_none() || number == read,
                "{key} of {said}: {read:?}"
            );
        }
        if let Some(pool) = row["pool"].as_i64() {
            let facts = event
                .capacity
                .as_ref()
                .expect("capacity of a start-up line");
            assert_eq!(facts.pool_tokens, Some(pool));
            assert_eq!(facts.window_tokens, row["window"].as_i64());
        }
        if let Some(role) = row["role"].as_str() {
            assert_eq!(event.role.map(|r| r.as_str()), Some(role), "{said}");
        }
    }
    assert_eq!(versions.len(), 4);
    assert!(
        versions.values().all(|(rows, _)| *rows >= 17),
        "too few lines"
    );
}
