//! Home-grown logs: what `inspect` proposes, and an ingest through a mapping of one's own.

use crate::kit::{Lab, pentimento, rows, stderr, stdout};
use pentimento_core::exchange::TimeZoneSource;
use pentimento_store::rows::{ExchangeRow, SourceRow};
use serde_json::{Value, json};

/// A log that no format knows: three calls, a heartbeat, and a call with a broken time.
fn house_log() -> Vec<u8> {
    let call = |n: u64, org: &str, ts: Value| {
        let room = 5_120_033_876_543_210_987_u64 + n;
        json!({"kind": "llm", "ids": {"call": format!("c-{n}"), "room": room},
            "who": {"org": org}, "ms": {"begin": ts, "spent": 1500},
            "tok": {"q": 7, "a": 3}, "rc": 200,
            "ask": format!("the quiet question number {n}"), "said": format!("a plain reply {n}")})
    };
    let records = [
        call(1, "acme", json!(1_788_251_405_120_u64)),
        call(2, "bolt", json!(1_788_251_406_120_u64)),
        json!({"kind": "heartbeat"}),
        call(3, "acme", json!("soon")),
        call(4, "crux", json!(1_788_251_407_120_u64)),
    ];
    crate::kit::lines(&records)
}

const MAPPING: &str = "
[format.house]
when = { \"/kind\" = \"llm\" }
request_id = \"/ids/call\"
bootstrap_room = \"/ids/room\"
tenant_candidates = [{ kind = \"organization\", at = \"/who/org\" }]
role = { value = \"gateway\" }
t_start = { at = \"/ms/begin\", unit = \"ms\" }
duration = { at = \"/ms/spent\", unit = \"ms\" }
prompt_tokens = \"/tok/q\"
completion_tokens = \"/tok/a\"
http_status = \"/rc\"
prompt = \"/ask\"
response = \"/said\"
";

#[test]
fn a_log_of_ones_own_is_read_through_its_mapping() {
    let lab = Lab::bare();
    lab.write("logs/house.jsonl", house_log());
    lab.write("house.toml", MAPPING);
    let (log, config) = (lab.text("logs"), lab.text("house.toml"));
    let case = lab.text("mapped");
    let arguments = [
        "ingest", &log, "--config", &config, "--case", &case, "--quiet",
    ];
    let output = pentimento(&arguments);
    let said = stderr(&output);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{said}");
    let source = &rows::<SourceRow>(&lab.path("mapped"))[0];
    assert_eq!(source.format.as_deref(), Some("house"));
    let counts = (
        source.records_read,
        source.records_exchange,
        source.records_other,
    );
    assert_eq!((counts, source.records_rejected), ((5, 3, 1), 1));
    let exchanges = rows::<ExchangeRow>(&lab.path("mapped"));
    let first = exchanges
        .iter()
        .find(|e| e.request_id.as_deref() == Some("c-1"));
    let first = first.expect("the first call");
    assert_eq!(first.bootstrap_room.as_deref(), Some("5120033876543210988"));
    assert_eq!(first.tenant.as_deref(), Some("acme"));
    assert_eq!(first.t_start, Some(1_788_251_405_120_000));
    assert_eq!(first.t_end, Some(1_788_251_406_620_000));

    let over = [
        "over-limit",
        &log,
        "--config",
        &config,
        "--limit",
        "7",
        "--format",
        "jsonl",
    ];
    assert_eq!(stdout(&pentimento(&over)).lines().count(), 3);
    lab.write("wrong.toml", "[format.house]\nt_begin = \"/ms/begin\"\n");
    let wrong = pentimento(&["inspect", &log, "--config", &lab.text("wrong.toml")]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        stderr(&wrong).contains("[format.house] `t_begin`: no column"),
        "{}",
        stderr(&wrong)
    );
}

#[test]
fn inspect_shows_shape_and_proposes_what_reads() {
    let lab = Lab::bare();
    let record = json!({"requestRef": "r-1", "meta": {"id": "m-1"}, "customer": {"id": "acme"},
        "startedAt": "2026-09-01T08:30:05Z", "elapsed_ms": 12, "question": "a hushed secret",
        "reply": "another secret", "usage": {"input": 3, "output": 4}});
    lab.write("odd.jsonl", crate::kit::lines(&[record.clone(), record]));
    let log = lab.text("odd.jsonl");
    let bare = pentimento(&["inspect", &log, "--json"]);
    assert_eq!(bare.status.code(), Some(4), "{}", stderr(&bare));
    let found: Value = serde_json::from_str(&stdout(&bare)).expect("one object");
    assert_eq!(
        (&found["format"], &found["container"]),
        (&Value::Null, &json!("plain"))
    );
    assert!(
        !found["closest"].as_array().expect("a list").is_empty(),
        "{found}"
    );
    assert_eq!(found["mapping"]["reads"], 2, "{found}");
    assert!(!stdout(&bare).contains("secret"));

    lab.write("odd.toml", found["mapping"]["toml"].as_str().expect("text"));
    let again = pentimento(&["inspect", &log, "--config", &lab.text("odd.toml")]);
    let shown = stdout(&again);
    assert_eq!(again.status.code(), Some(0), "{shown}");
    for expected in [
        "format      house; how sure: house 60 of 100 (2 of 2 records)",
        "/question",
        "15 bytes, 3 words",
        "tenant:acme",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    assert!(!shown.contains("secret"), "{shown}");

    let formats = stdout(&pentimento(&["formats", "--json"]));
    let native = formats
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).expect("JSON"));
    let native = native
        .into_iter()
        .find(|f| f["name"] == "native")
        .expect("native");
    assert!(
        native["can"]
            .as_array()
            .expect("a list")
            .contains(&json!("overlap"))
    );
}

#[test]
fn a_year_is_declared_for_a_source_and_rolls_over() {
    let lab = Lab::bare();
    let line = |stamp: &str, id: &str| {
        format!(
            "INFO {stamp} [logger.py:39] Received request {id}: prompt: 'one {id}', params: \
             SamplingParams(n=1), prompt_token_ids: None, lora_request: None.\n"
        )
    };
    let log = line("12-31 23:59:58", "cmpl-a") + &line("01-01 00:00:02", "cmpl-b");
    lab.write("logs/vllm.log", log);
    lab.write(
        "year.toml",
        "[source.\"vllm.log\"]\nyear = 2025\nzone = \"UTC\"\n",
    );
    let (log, config) = (lab.text("logs"), lab.text("year.toml"));
    for (case, flags) in [
        ("by-config", ["--config", &config].as_slice()),
        (
            "by-flag",
            &["--assume-year", "2025", "--assume-timezone", "UTC"],
        ),
    ] {
        let folder = lab.text(case);
        let mut arguments = vec!["ingest", &log, "--case", &folder, "--quiet"];
        arguments.extend(flags);
        let output = pentimento(&arguments);
        assert!(
            matches!(output.status.code(), Some(0 | 4)),
            "{}",
            stderr(&output)
        );
        let times: Vec<_> = rows::<ExchangeRow>(&lab.path(case))
            .into_iter()
            .map(|e| (e.t_start, e.t_zone))
            .collect();
        let assumed = |t| (Some(t), TimeZoneSource::Assumed);
        let expected = [1_767_225_598_000_000, 1_767_225_602_000_000].map(assumed);
        assert_eq!(times, expected, "{case}");
    }
}
