//! Texts that do not stand in their record as they were: calls in several rows, bodies under a key,
//! bodies in objects beside the log, counts that are missing.

use super::kit::{Lab, pentimento, rows, stderr};
use pentimento_core::exchange::ContentState::{Encrypted, External, Full, Truncated};
use pentimento_store::rows::{ExchangeRow, SourceRow};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn sample(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// Copies samples, and adds a log of Bedrock with one body beside it.
fn logs() -> Lab {
    let lab = Lab::new();
    let apim = String::from_utf8(sample("sample_logs/azure-apim/llm.jsonl")).unwrap();
    lab.write("logs/apim.jsonl", &apim);
    let encrypted = sample("sample_logs/cloudflare/encrypted.log");
    lab.write("logs/pushed.log", encrypted);
    lab.write("key.pem", sample("crates/core/tests/keys/logpush.pem"));
    let id = "7f0c2a44-0000-4000-8000-00000000000a";
    let record = json!({"schemaType": "ModelInvocationLog", "modelId": "m", "requestId": "b-1",
        "timestamp": "2026-09-11T08:30:05Z", "operation": "Converse",
        "input": {"inputBodyS3Path": format!("s3://b/data/{id}_input.json.gz")},
        "output": {"outputBodyS3Path": format!("s3://b/data/{id}_output.json.gz")}});
    lab.write("logs/bedrock/08.json", format!("{record}\n"));
    let asked = json!({"messages": [{"role": "user", "content": [{"text": "how many crates"}]}]});
    lab.write(
        &format!("logs/bedrock/data/{id}_input.json"),
        format!("{asked}\n"),
    );
    lab
}

fn ingested(lab: &Lab, case: &str, flags: &[&str]) -> BTreeMap<String, ExchangeRow> {
    let (logs, case) = (lab.text("logs"), lab.text(case));
    let mut arguments = vec!["ingest", &logs, "--case", &case, "--quiet"];
    arguments.extend(flags);
    let done = pentimento(&arguments);
    // One row of the sample is cut, which is too much for so small a log.
    assert_eq!(done.status.code(), Some(4), "{}", stderr(&done));
    let found = rows::<ExchangeRow>(Path::new(&case)).into_iter();
    found
        .map(|row| {
            let id = row.request_id.clone().unwrap_or_default();
            (
                format!("{} {id}{}", row.source_format, row.source_offset),
                row,
            )
        })
        .collect()
}

#[test]
fn texts_are_put_together_opened_and_fetched() {
    let lab = logs();
    let key = lab.text("key.pem");
    let found = ingested(&lab, "case", &["--private-key", &key, "--threads", "2"]);
    let states = |name: &str| {
        let row = found
            .get(name)
            .unwrap_or_else(|| panic!("{name} of {:?}", found.keys()));
        (row.prompt_state, row.response_state)
    };
    assert_eq!(states("azure_apim c-10"), (Full, Full));
    let (cut, _) = states("azure_apim c-35035");
    assert_eq!(cut, Truncated);
    assert_eq!(states("bedrock b-10"), (Full, External));
    assert_eq!(states("cloudflare 0"), (Full, Full));
    // Nobody counted the tokens of that prompt.
    let estimated = &found["bedrock b-10"];
    assert_eq!(estimated.prompt_tokens, None);
    assert!(
        estimated
            .tokens_estimated
            .is_some_and(|n| (2..8).contains(&n))
    );
    assert_eq!(
        estimated.tokens_estimate_method.as_deref(),
        Some("script-table-1")
    );
    assert_eq!(found["azure_apim c-10"].tokens_estimated, None);
    for source in rows::<SourceRow>(&lab.path("case")) {
        let parts = source.records_exchange + source.records_event + source.records_other;
        let rest = source.records_rejected + source.records_duplicate;
        let sum = parts + rest + source.records_out_of_window;
        assert_eq!(source.records_read, sum, "{source:?}");
        match source.format.as_deref() {
            Some("azure_apim") => {
                let counts = (source.records_duplicate, source.records_rejected);
                assert_eq!((source.records_read, counts), (20, (1, 1)));
            }
            Some("body_object") => assert_eq!(source.records_other, 1),
            _ => {}
        }
    }
    let custody = fs::read_to_string(lab.path("case/custody.jsonl")).unwrap();
    let used = custody
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|line| line["action"] == "private key used")
        .unwrap();
    let print = used["detail"]["public_key_sha256"].as_str().unwrap();
    assert!(print.starts_with("bc25a364c71c9801") && print.len() == 64);

    // Rows in another order are the same calls, and without the key bodies stay closed.
    let text = String::from_utf8(sample("sample_logs/azure-apim/llm.jsonl")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.reverse();
    lab.write("logs/apim.jsonl", lines.join("\n"));
    let again = ingested(&lab, "again", &["--threads", "1"]);
    let ids = |rows: &BTreeMap<String, ExchangeRow>| {
        let apim = rows
            .values()
            .filter(|row| row.source_format == "azure_apim");
        let mut ids: Vec<_> = apim.map(|row| row.exchange_id.clone()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&again), ids(&found));
    let closed = again["cloudflare 0"].prompt_state;
    assert_eq!(closed, Encrypted);
    let wrong = pentimento(&[
        "ingest",
        &lab.text("logs"),
        "--private-key",
        &lab.text("logs/apim.jsonl"),
    ]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        stderr(&wrong).contains("no private key in it"),
        "{}",
        stderr(&wrong)
    );
}
