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
