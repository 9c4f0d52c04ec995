//! `canary`: markers are made, found by `scan` and by every audit, and told by nobody.

use crate::kit::{Lab, exchange, pentimento, stderr, stdout, with, words};
use serde_json::{Value, json};

/// Markers for two tenants, and a log in which one of them gets the other's in an answer.
fn lab() -> (Lab, Vec<String>) {
    let lab = Lab::new();
    let made = pentimento(&[
        "canary",
        "mint",
        "--tenants",
        "acme,bolt",
        "--out",
        &lab.text("prompts.jsonl"),
        "--keys",
        &lab.text("canaries.keys"),
    ]);
    assert!(made.status.success(), "{}", stderr(&made));
    let prompts = std::fs::read_to_string(lab.path("prompts.jsonl")).unwrap();
    let sent: Vec<String> = prompts
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap())
        .filter(|p| p["tenant"] == "acme")
        .map(|p| {
            let text = p.as_object().unwrap().values().filter_map(Value::as_str);
            text.max_by_key(|t| t.len()).unwrap().to_owned()
        })
        .collect();
    assert!(!sent.is_empty());
    let leak = exchange("leak", "bolt", "09:00:00", &words(1, 20), &sent[0]);
    let hostile = json!({"node": "a\u{1b}[2J\u{202e}b"});
    lab.log(
        "gateway.jsonl",
        &[
            exchange("owner", "acme", "08:00:00", &sent[0], &sent[0]),
            with(leak, hostile),
            exchange("other", "bolt", "09:10:00", &words(3, 20), &words(4, 20)),
        ],
    );
    (lab, sent)
}

#[test]
fn a_marker_of_another_tenant_is_found_by_a_scan() {
    let (lab, sent) = lab();
    let keys = lab.text("canaries.keys");
    let output = pentimento(&["canary", "scan", &lab.text("logs"), "--keys", &keys]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let found: Vec<Value> = stdout(&output)
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert!(!found.is_empty());
    for row in &found {
        assert_eq!(
            (&row["request_id"], &row["tenant"]),
            (&json!("leak"), &json!("bolt"))
        );
        assert_eq!(row["canary_of"], "acme");
    }
    let said = stdout(&output) + &stderr(&output);
    assert!(
        !said.contains('\u{1b}') && !said.contains('\u{202e}'),
        "{said}"
    );
    assert!(!said.contains(sent[0].as_str()), "{said}");
}

#[test]
fn an_audit_that_knows_the_keys_confirms_it() {
    let (lab, _) = lab();
    lab.write("pentimento.toml", "[canaries]\nkeys = \"canaries.keys\"\n");
    let audit = lab.audit(&[]);
    assert_eq!(audit.code(), 3, "{}", audit.said());
    let verdict = audit.verdict("leak");
    assert_eq!(verdict.grade, "confirmed");
    assert_eq!(verdict.source_tenant.as_deref(), Some("acme"));
    assert_eq!(audit.hits("canary_in_response"), 1);
    assert_ne!(audit.verdict("owner").grade, "confirmed");
}
