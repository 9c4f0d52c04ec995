//! Which pool was in force decides what was exposed.

use crate::kit::{Lab, clean, exchange, with, words};
use serde_json::{Value, json};

/// Epochs of two prefill nodes of one deployment: `old` has the small pool.
const TWO_NODES: &str = r#"
[models]
"m" = ["vendor/M-1", "openai/m"]

[[deployment]]
model = "m"
name = "eu"
node = "old"
role = "prefill"
engine = "sglang"
window_tokens = 1048576
pool_tokens = 681280

[[deployment]]
model = "m"
name = "eu"
node = "new"
role = "prefill"
engine = "sglang"
window_tokens = 1048576
pool_tokens = 2040000
"#;

/// A long prompt whose answer shows nothing foreign.
fn long(id: &str, time: &str, tokens: i64, place: Value) -> Value {
    let seed = 300 + id.bytes().map(u32::from).sum::<u32>() % 400;
    let record = exchange(id, "acme", time, &words(seed, 25), &words(seed + 100, 3));
    with(
        with(record, json!({"prompt_tokens": tokens, "deployment": "eu"})),
        place,
    )
}

#[test]
fn the_limit_of_sglang_is_six_below_the_pool() {
    let lab = Lab::new();
    let mut records = clean(6);
    let node = json!({"node": "old"});
    let table = [
        (681_273, "none", false),
        (681_274, "likely", false),
        (681_279, "likely", false),
        (681_280, "likely", false),
        (681_281, "likely", true),
    ];
    for (tokens, ..) in table {
        records.push(long(
            &format!("t-{tokens}"),
            "09:00:00",
            tokens,
            node.clone(),
        ));
    }
    let refused =
        json!({"node": "old", "http_status": 400, "response": null, "completion_tokens": 0});
    records.push(long("refused", "09:05:00", 690_000, refused));
    records.push(long("fixed", "09:06:00", 1_048_569, json!({"node": "new"})));
    lab.log("a.jsonl", &records);
    lab.write("pentimento.toml", TWO_NODES);
    let audit = lab.audit(&[]);
    for (tokens, exposure, _) in table {
        let id = format!("t-{tokens}");
        let e = audit.exchange(&id);
        assert_eq!(e.reject_at_tokens, Some(681_274), "{id}");
        assert_eq!(e.reject_at_max_tokens, Some(681_274), "{id}");
        assert_eq!(
            (e.pool_tokens, e.capacity_match.as_ref()),
            (Some(681_280), "node"),
            "{id}"
        );
        let verdict = audit.verdict(&id);
        assert_eq!(verdict.exposure, exposure, "{id}");
        let grade = if exposure == "none" {
            "cleared"
        } else {
            "possible"
        };
        assert_eq!(verdict.grade, grade, "{id}");
    }
    let refused = audit
        .verdicts()
        .iter()
        .any(|v| v.request_id.as_deref() == Some("refused"));
    assert!(!refused, "a refusal delivers nothing");
    assert_eq!(audit.verdict("fixed").exposure, "none");
    assert_eq!(audit.exchange("fixed").reject_at_tokens, Some(1_048_570));
    assert_eq!(audit.hits("over_pool_accepted"), 4);
    // The report tells both counts.
    let funnel = audit.json("report.json")["funnel"].to_string();
    let over_pool = table.iter().filter(|t| t.2).count();
    assert!(
        funnel.contains(&format!("\"responses\":{over_pool}")),
        "{funnel}"
    );
    assert!(audit.hits("window_exceeds_pool") == 1);
}

#[test]
fn an_unknown_node_is_bounded_by_the_pools_of_its_deployment() {
    let lab = Lab::new();
    let leaked = words(1, 40);
    let mut records = clean(6);
    records.push(exchange("source", "bolt", "08:30:00", &leaked, "done"));
    let nowhere = json!({});
    records.push(long("below", "09:00:00", 681_273, nowhere.clone()));
    records.push(long("band", "09:01:00", 681_274, nowhere.clone()));
    records.push(long("above", "09:02:00", 1_048_570, nowhere));
    for (id, tokens) in [("band-leak", 700_000), ("firm-leak", 1_048_571)] {
        records.push(long(id, "09:10:00", tokens, json!({"response": leaked})));
    }
    lab.log("a.jsonl", &records);
    lab.write("pentimento.toml", TWO_NODES);
    let audit = lab.audit(&[]).ends_with(3);
    let band = audit.exchange("band");
    assert_eq!(band.capacity_match, "deployment");
    assert_eq!(
        (band.reject_at_tokens, band.reject_at_max_tokens),
        (Some(681_274), Some(1_048_570))
    );
    let verdict = |id: &str| {
        let v = audit.verdict(id);
        (
            v.exposure.into_owned(),
            v.grade.into_owned(),
            v.reasons.contains("limit_band"),
        )
    };
    let expected = |exposure: &str, grade: &str, band: bool| (exposure.into(), grade.into(), band);
    assert_eq!(verdict("below"), expected("none", "cleared", false));
    assert_eq!(verdict("band"), expected("likely", "possible", true));
    assert_eq!(verdict("above"), expected("likely", "possible", false));
    // Exposure by the smaller of two limits bears no proof.
    assert_eq!(verdict("band-leak"), expected("likely", "probable", true));
    assert_eq!(verdict("firm-leak"), expected("likely", "confirmed", false));
}

#[test]
fn the_epoch_of_the_moment_counts() {
    let lab = Lab::new();
    let mut records = clean(6);
    let node = json!({"node": "p"});
    for (id, time) in [
        ("before", "08:59:59.999999"),
        ("at", "09:00:00"),
        ("after", "10:00:00"),
    ] {
        records.push(long(id, time, 690_000, node.clone()));
    }
    records.push(long("early", "07:00:00", 690_000, node));
    lab.log("a.jsonl", &records);
    let epoch = |from: &str, to: &str, pool: u32| {
        format!(
            "[[deployment]]\nmodel = \"m\"\nname = \"eu\"\nnode = \"p\"\nengine = \"sglang\"\n\
             window_tokens = 1048576\nvalid_from = {from}\nvalid_to = {to}\npool_tokens = {pool}\n"
        )
    };
    // Written as a text and as a TOML time.
    let config = epoch("2026-09-01T08:00:00Z", "\"2026-09-01T09:00:00Z\"", 681_280)
        + &epoch("\"2026-09-01T11:00:00+02:00\"", "2026-09-02", 2_040_000);
    lab.write("pentimento.toml", config);
    let audit = lab.audit(&[]);
    for (id, pool, exposure) in [
        ("before", Some(681_280), "likely"),
        ("at", Some(2_040_000), "none"),
        ("after", Some(2_040_000), "none"),
        ("early", None, "unknown"),
    ] {
        assert_eq!(audit.exchange(id).pool_tokens, pool, "{id}");
        assert_eq!(audit.verdict(id).exposure, exposure, "{id}");
    }
    let early = audit.exchange("early");
    assert_eq!(
        (early.capacity_match.as_ref(), early.capacity_id),
        ("none", None)
    );
    assert!(audit.verdict("early").reasons.contains("capacity_unknown"));
    assert_eq!(audit.capacity().len(), 2);
}

#[test]
fn engines_and_overrides_set_the_limit() {
    for (lines, limit) in [
        (
            "engine = \"sglang\"\nwindow_tokens = 131072\npool_tokens = 400000\n",
            131_066,
        ),
        ("engine = \"SGLang\"\npool_tokens = 681280\n", 681_274),
        (
            "engine = \"vllm\"\nwindow_tokens = 1048576\npool_tokens = 681280\n",
            681_281,
        ),
        ("pool_tokens = 681280\n", 681_281),
        (
            "engine = \"sglang\"\npool_tokens = 681280\nreject_at_tokens = 500000\n",
            500_000,
        ),
    ] {
        let lab = Lab::new();
        let mut records = clean(3);
        records.push(long("at", "09:00:00", limit, json!({})));
        records.push(long("below", "09:01:00", limit - 1, json!({})));
        lab.log("a.jsonl", &records);
        lab.write(
            "pentimento.toml",
            format!("[[deployment]]\nmodel = \"m\"\n{lines}"),
        );
        let audit = lab.audit(&[]);
        assert_eq!(audit.capacity()[0].reject_at_tokens, Some(limit), "{lines}");
        assert_eq!(audit.verdict("at").exposure, "likely", "{lines}");
        assert_eq!(audit.verdict("below").exposure, "none", "{lines}");
    }
}

#[test]
fn one_model_has_many_names() {
    let lab = Lab::new();
    let mut records = clean(6);
    for (n, model) in ["m", "vendor/M-1", "openai/m", "else"]
        .into_iter()
        .enumerate()
    {
        let place = json!({"node": "old", "model": model});
        records.push(long(&format!("name-{n}"), "09:00:00", 690_000, place));
    }
    lab.log("a.jsonl", &records);
    lab.write("pentimento.toml", TWO_NODES);
    let audit = lab.audit(&[]);
    for n in 0..3 {
        let id = format!("name-{n}");
        assert_eq!(audit.exchange(&id).model.as_deref(), Some("m"), "{id}");
        assert_eq!(audit.verdict(&id).exposure, "likely", "{id}");
    }
    assert_eq!(
        audit.exchange("name-1").model_raw.as_deref(),
        Some("vendor/M-1")
    );
    assert_eq!(audit.exchange("name-3").capacity_match, "none");
    assert_eq!(audit.verdict("name-3").exposure, "unknown");
}

#[test]
fn without_configuration_overlap_is_graded_all_the_same() {
    let lab = Lab::new();
    let leaked = words(1, 40);
    let mut records = clean(20);
    records.push(exchange("source", "acme", "06:00:00", &leaked, "done"));
    let leak = exchange("leak", "bolt", "06:30:00", &words(2, 40), &leaked);
    records.push(with(leak, json!({"prompt_tokens": 690_000})));
    lab.log("a.jsonl", &records);
    let audit = lab.audit(&[]).ends_with(3);
    let verdict = audit.verdict("leak");
    assert_eq!(
        (verdict.exposure.as_ref(), verdict.grade.as_ref()),
        ("unknown", "probable")
    );
    assert!(verdict.reasons.split(',').any(|r| r == "capacity_unknown"));
    assert_eq!(verdict.source_tenant.as_deref(), Some("acme"));
    assert_eq!(audit.capacity().len(), 0);
    let report = audit.json("report.json");
    assert_eq!(report["headline"]["capacity_known"], false);
    assert_eq!(report["headline"]["best"]["responses"], 0);
    assert_eq!(report["outside"]["probable"]["responses"], 1);
    assert!(
        audit
            .file("report.md")
            .contains("No pool capacity is known")
    );
}
