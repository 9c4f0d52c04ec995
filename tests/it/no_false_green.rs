//! A clean result on logs that cannot carry one must not read as clean.

use crate::kit::{Lab, clean, exchange, pentimento, stderr, with, words};
use serde_json::{Value, json};

/// Audits records; asserts exit code 4 with a reason, and a report that says so in words.
fn unfit(name: &str, records: &[Value], reason: &str) {
    let lab = Lab::new();
    lab.log("a.jsonl", records);
    let audit = lab.audit(&[]);
    assert_eq!(audit.code(), 4, "{name}: {}", audit.said());
    let last = audit.last_line();
    assert!(last.starts_with("evidence incomplete: "), "{name}: {last}");
    let report = audit.file("report.md");
    let head: String = report.lines().take(12).collect::<Vec<_>>().join("\n");
    assert!(
        head.to_lowercase().contains("not assessable"),
        "{name}: {head}"
    );
    assert!(report.contains(reason), "{name}: no {reason} in {report}");
    assert!(!head.contains("No foreign text"), "{name}: {head}");
    let html = audit.file("report.html").to_lowercase();
    assert!(html.contains("not assessable"), "{name}");
    let manifest = audit.json("case.json");
    assert_eq!(manifest["status"], "incomplete", "{name}");
    assert_eq!(manifest["exit_code"], 4, "{name}");
}

fn each(change: impl Fn(usize, Value) -> Value) -> Vec<Value> {
    let all = clean(30).into_iter().enumerate();
    all.map(|(n, record)| change(n, record)).collect()
}

#[test]
fn one_tenant_alone_has_nothing_to_be_compared_with() {
    let records = each(|_, r| with(r, json!({"tenant": "acme"})));
    unfit("one tenant", &records, "no_foreign_corpus");
}

#[test]
fn logs_without_text() {
    let lengths = each(|_, r| with(r, json!({"messages": null, "response": null})));
    unfit("lengths only", &lengths, "text_absent");
    let no_response = each(|_, r| with(r, json!({"response": null})));
    unfit("no response", &no_response, "text_absent");
    let no_prompt = each(|_, r| with(r, json!({"messages": null})));
    unfit("no prompt", &no_prompt, "own_prompt_incomplete");
    let redacted = each(|_, r| with(r, json!({"response": null, "response_state": "redacted"})));
    unfit("redacted", &redacted, "response_incomplete");
    let cut = each(|_, r| with(r, json!({"response_state": "truncated"})));
    unfit("responses cut", &cut, "response_incomplete");
}

#[test]
fn token_ids_without_text() {
    let record = |n: usize| {
        let rid = format!("{n:032x}");
        let tenant = ["acme", "bolt"][n % 2];
        json!({
            "timestamp": format!("2026-09-01T08:{:02}:02.000000Z", n),
            "event": "request.finished", "rid": rid,
            "obj": {"rid": rid, "text": null, "input_ids": [1, 2, 3]},
            "headers": {"x-tenant-id": tenant},
            "out": {"text": "", "output_ids": [5, 6, 7], "meta_info": {
                "id": rid, "finish_reason": {"type": "stop"}, "prompt_tokens": 3,
                "completion_tokens": 3, "e2e_latency": 1.5}},
        })
    };
    let records: Vec<Value> = (0..30).map(record).collect();
    unfit("ids only", &records, "ids_only");
}

#[test]
fn records_that_name_no_tenant_or_no_time() {
    let nobody = each(|_, r| with(r, json!({"tenant": null})));
    unfit("no tenant", &nobody, "tenant_unknown");
    let never = each(|_, r| with(r, json!({"t_start": null, "t_end": null})));
    unfit("no time", &never, "time_unknown");
    let naive = each(|n, r| {
        let t = format!("2026-09-01T08:{:02}:00", n % 60);
        with(r, json!({"t_start": t, "t_end": null}))
    });
    unfit("times without zone", &naive, "time_unknown");
}

#[test]
fn a_triggered_call_without_its_whole_response() {
    let lab = Lab::new();
    let mut records = clean(60);
    records[30] = with(
        records[30].take(),
        json!({"prompt_tokens": 690_000, "response": null}),
    );
    lab.log("a.jsonl", &records);
    lab.write(
        "pentimento.toml",
        "[[deployment]]\nmodel = \"m\"\npool_tokens = 681280\n",
    );
    let audit = lab.audit(&[]).ends_with(4);
    assert!(
        audit.last_line().contains("1 triggered call"),
        "{}",
        audit.said()
    );
    assert_eq!(audit.verdict("clean-30").grade, "possible");
}

#[test]
fn clean_and_assessable_ends_with_0() {
    let lab = Lab::new();
    lab.log("a.jsonl", &clean(30));
    lab.write(
        "pentimento.toml",
        "[[deployment]]\nmodel = \"m\"\npool_tokens = 681280\n",
    );
    let audit = lab.audit(&[]).ends_with(0);
    let report = audit.file("report.md");
    assert!(
        !report.to_lowercase().contains("**not assessable"),
        "{report}"
    );
    let manifest = audit.json("case.json");
    assert_eq!(manifest["status"], "complete");
    let cleared = audit
        .verdicts()
        .iter()
        .filter(|v| v.grade == "cleared")
        .count();
    assert!(cleared >= 29, "{cleared}");
}

#[test]
fn findings_stand_before_gaps_and_the_manifest_tells_both() {
    let lab = Lab::new();
    let leaked = words(7, 30);
    let mut records = vec![
        exchange("own", "acme", "06:00:00", &leaked, "done"),
        exchange("leak", "bolt", "06:30:00", &words(8, 20), &leaked),
    ];
    let silent = |r| with(r, json!({"response": null}));
    records.extend(clean(20).into_iter().map(silent));
    lab.log("a.jsonl", &records);
    let audit = lab.audit(&[]).ends_with(3);
    let manifest = audit.json("case.json");
    assert_eq!(manifest["status"], "incomplete");
    let reason = manifest["exit_reason"].as_str().unwrap();
    assert!(
        reason.contains("findings") && reason.contains("incomplete"),
        "{reason}"
    );
    assert!(audit.file("report.md").contains("evidence is incomplete"));
    lab.audit(&["--exit-zero"]).ends_with(4);
}

#[test]
fn nothing_to_audit_is_5() {
    let lab = Lab::new();
    let code = |arguments: &[&str]| {
        let case = lab.text("case");
        let mut all = vec!["audit", "--case", &case];
        all.extend(arguments);
        let done = pentimento(&all);
        assert!(!stderr(&done).is_empty() && done.stdout.is_empty());
        assert!(!lab.path("case/case.json").exists(), "{arguments:?}");
        done.status.code().unwrap()
    };
    let logs = lab.text("logs");
    assert_eq!(code(&[&logs]), 5, "an empty folder");
    assert_eq!(code(&[&lab.text("nowhere")]), 5, "no such file");
    assert_eq!(
        code(&[&lab.text("logs/*.jsonl")]),
        5,
        "a glob without a match"
    );
    lab.write("logs/a.jsonl", "");
    assert_eq!(code(&[&logs]), 5, "no byte");
    lab.write("logs/a.jsonl", "\n\n  \n");
    assert_eq!(code(&[&logs]), 5, "no record");
    lab.log("a.jsonl", &clean(3));
    assert_eq!(
        code(&[&logs, "--since", "2027-01-01"]),
        5,
        "all out of the window"
    );
}

#[test]
fn junk_alone_is_not_nothing() {
    let lab = Lab::new();
    lab.write("logs/a.jsonl", "no log at all\nnor this\n");
    let audit = lab.audit(&[]).ends_with(4);
    assert_eq!(audit.rejects().len(), 2);
}

#[test]
fn a_configuration_that_is_wrong_ends_with_2() {
    let lab = Lab::new();
    lab.log("a.jsonl", &clean(3));
    let said = |config: &str| {
        lab.write("pentimento.toml", config);
        let audit = lab.audit(&[]);
        assert_eq!(audit.code(), 2, "{config}: {}", audit.said());
        assert!(!audit.case.join("case.json").exists());
        audit.last_line() + &audit.said()
    };
    assert!(said("[tenants]\ninternl = [\"a\"]\n").contains("internl"));
    assert!(said("[[deployment]]\nmodel = \"m\"\npool_token = 5\n").contains("pool_token"));
    let epoch = |node: &str, from: &str, to: &str, pool: u32| {
        format!(
            "[[deployment]]\nmodel = \"m\"\nname = \"eu\"\nnode = \"{node}\"\nvalid_from = \"{from}\"\n\
             valid_to = \"{to}\"\npool_tokens = {pool}\n"
        )
    };
    let overlap = epoch("n1", "2026-09-01", "2026-09-05", 100)
        + &epoch("n2", "2026-09-01", "2026-09-05", 100)
        + &epoch("n1", "2026-09-04", "2026-09-09", 200);
    let message = said(&overlap);
    for name in [
        "[[deployment]] 1",
        "[[deployment]] 3",
        "n1",
        "2026-09-04",
        "100",
        "200",
    ] {
        assert!(message.contains(name), "{name} is not in {message}");
    }
    assert!(!message.contains("[[deployment]] 2"), "{message}");
    assert!(said("[[deployment]\n").contains("pentimento.toml"));
    std::fs::remove_file(lab.path("pentimento.toml")).unwrap();
    lab.audit(&["--config", &lab.text("nowhere.toml")])
        .ends_with(2);
    lab.audit(&["--since", "soon"]).ends_with(2);
    lab.audit(&["--since", "2026-09-02", "--until", "2026-09-01"])
        .ends_with(2);
    lab.audit(&["--min-assessable", "7"]).ends_with(2);
}

/// A leak, its source before the window, and records on every side of it.
fn around_the_window() -> Vec<Value> {
    let leaked = words(7, 30);
    let table = [
        (
            "old",
            "acme",
            "2026-08-28T09:00:00Z",
            words(1, 20),
            words(2, 20),
        ),
        (
            "source",
            "acme",
            "2026-08-31T20:00:00Z",
            leaked.clone(),
            words(3, 3),
        ),
        (
            "back-leak",
            "crux",
            "2026-08-31T21:00:00Z",
            words(4, 20),
            leaked.clone(),
        ),
        ("leak", "bolt", "2026-09-01T06:00:00Z", words(5, 20), leaked),
        (
            "edge",
            "crux",
            "2026-09-01T00:00:00Z",
            words(6, 20),
            words(8, 20),
        ),
        (
            "late",
            "crux",
            "2026-09-02T00:00:00Z",
            words(9, 20),
            words(10, 20),
        ),
    ];
    let record = |(id, tenant, t, prompt, response): (&str, &str, &str, String, String)| {
        let record = exchange(id, tenant, "00:00:00", &prompt, &response);
        with(record, json!({"t_start": t, "t_end": t}))
    };
    table.into_iter().map(record).collect()
}

#[test]
fn the_window_judges_what_is_inside_and_reads_what_is_before() {
    let lab = Lab::new();
    let records = around_the_window();
    lab.log("a.jsonl", &records);
    let window = ["--since", "2026-09-01", "--until", "2026-09-02"];
    let audit = lab.audit(&window).ends_with(3);
    let source = &audit.sources()[0];
    assert_eq!((source.records_read, source.records_exchange), (6, 4));
    assert_eq!(source.records_out_of_window, 2);
    let mut places: Vec<(String, bool)> = audit
        .exchanges()
        .into_iter()
        .map(|e| (e.request_id.unwrap(), e.in_window))
        .collect();
    places.sort();
    let expected = [
        ("back-leak", false),
        ("edge", true),
        ("leak", true),
        ("source", false),
    ];
    assert_eq!(places, expected.map(|(id, inside)| (id.to_owned(), inside)));
    assert_eq!(audit.verdicts().len(), 2);
    let verdict = audit.verdict("leak");
    assert_eq!(verdict.source_tenant.as_deref(), Some("acme"));
    assert_eq!(
        verdict.source_exchange_id,
        Some(audit.exchange("source").exchange_id)
    );
    // Without a look-back the source is not read, and the leak cannot be seen.
    let mut narrow = window.to_vec();
    narrow.extend(["--look-back", "1h"]);
    let audit = lab.audit(&narrow).ends_with(4);
    assert_eq!(audit.verdict("leak").source_tenant, None);
}
