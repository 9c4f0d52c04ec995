//! Stages alone: `ingest` leaves a case without verdicts, `over-limit` needs no case at all.

use crate::kit::{Lab, pentimento, stderr, stdout};
use serde_json::{Value, json};
use std::fs;

const POOL: &str = "[[deployment]]\nname = \"eu\"\npool_tokens = 1000\nwindow_tokens = 4000\n";

fn call(number: i64, prompt_tokens: Value, status: i64) -> Value {
    json!({
        "request_id": format!("r{number}"), "tenant": "t", "t_start": 1_767_225_600 + number,
        "prompt": "A question \"quoted\" \\ with \u{e9}scapes\n", "response": "An answer.",
        "prompt_tokens": prompt_tokens, "http_status": status,
    })
}

fn listed(lab: &Lab, more: &[&str]) -> (Option<i32>, Vec<Value>, String) {
    let logs = lab.text("logs");
    let mut arguments = vec!["over-limit", &logs, "--format", "jsonl"];
    arguments.extend(more);
    let done = pentimento(&arguments);
    let rows = stdout(&done);
    let rows = rows.lines().map(|l| serde_json::from_str(l).unwrap());
    (done.status.code(), rows.collect(), stderr(&done))
}

#[test]
fn the_limit_itself_is_over_it() {
    let lab = Lab::new();
    lab.write("pentimento.toml", POOL);
    // An engine that is not known refuses from one token over the pool on.
    let calls = [
        call(1, json!(1000), 200),
        call(2, json!(1001), 200),
        call(3, json!(5000), 413),
        call(4, json!(5000), 200),
    ];
    lab.log("a.jsonl", &calls);
    let config = lab.text("pentimento.toml");
    let (code, rows, _) = listed(&lab, &["--config", &config]);
    let ids: Vec<&str> = rows
        .iter()
        .filter_map(|r| r["request_id"].as_str())
        .collect();
    assert_eq!((code, ids), (Some(0), vec!["r2", "r4"]));
    assert_eq!(rows[0]["reject_at_tokens"], 1001);
    let (code, rows, _) = listed(&lab, &["--limit", "1000"]);
    assert_eq!((code, rows.len()), (Some(0), 3));
}

#[test]
fn what_cannot_be_told_is_no_clean_list() {
    let lab = Lab::new();
    lab.log(
        "a.jsonl",
        &[call(1, json!(10), 200), call(2, Value::Null, 200)],
    );
    let (code, rows, told) = listed(&lab, &["--limit", "1000"]);
    assert_eq!((code, rows.len()), (Some(4), 0), "{told}");
    assert!(told.contains("1 exchanges have no token count"), "{told}");
    let (code, _, _) = listed(&lab, &[]);
    assert_eq!(code, Some(2));
}

#[test]
fn ingest_leaves_a_partial_case() {
    let lab = Lab::new();
    lab.log(
        "a.jsonl",
        &[call(1, json!(10), 200), call(2, json!(20), 200)],
    );
    let (logs, case) = (lab.text("logs"), lab.text("case"));
    let done = pentimento(&["ingest", &logs, "--case", &case, "--keep-text", "--quiet"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(done.stdout.is_empty() && done.stderr.is_empty());
    let manifest = fs::read_to_string(lab.path("case/case.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["status"], "partial");
    let counts = "SELECT count(*) AS n FROM exchanges";
    let asked = pentimento(&["sql", "--case", &case, "--format", "csv", "-c", counts]);
    assert_eq!(
        stdout(&asked).lines().last(),
        Some("2"),
        "{}",
        stderr(&asked)
    );
    let empty = Lab::new();
    empty.write("logs/a.jsonl", "");
    let done = pentimento(&["ingest", &empty.text("logs"), "--case", &empty.text("case")]);
    assert!(
        matches!(done.status.code(), Some(4 | 5)),
        "{}",
        stderr(&done)
    );
}
