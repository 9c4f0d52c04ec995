//! Verdicts on tiny cases: every cell of the two axes, and what moves an answer between them.

use super::fixture::{at, exchange, overlap, session, source};
use pentimento_store::rows::VerdictRow;
use serde_json::{Value, json};

/// Rows beside the judged exchange `e`, and what its verdict has to be.
struct Case {
    name: &'static str,
    exchange: Value,
    overlap: Option<Value>,
    /// Grade, exposure, disclosure, cause, reasons; `-` where there is none.
    expect: String,
}

fn case(name: &'static str, exchange: Value, overlap: Option<Value>, expect: &str) -> Case {
    Case {
        name,
        exchange,
        overlap,
        expect: expect.to_owned(),
    }
}

fn verdict_of(exchanges: &[Value], overlaps: &[Value], id: &str) -> VerdictRow {
    let mut session = session(exchanges, overlaps, &[]);
    session.run_rules().unwrap();
    session
        .run_verdicts()
        .unwrap()
        .into_iter()
        .find(|v| v.exchange_id == id)
        .unwrap_or_else(|| panic!("no verdict for {id}"))
}

/// All cases in one session: each is a call of its own, so none knows of the others.
fn check(cases: &[Case]) {
    let mut exchanges = vec![source(&json!({}))];
    let mut overlaps = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let id = format!("e{number}");
        exchanges.push(exchange(&id, &case.exchange));
        overlaps.extend(case.overlap.iter().map(|o| overlap(&id, o)));
    }
    let mut session = session(&exchanges, &overlaps, &[]);
    session.run_rules().unwrap();
    let verdicts = session.run_verdicts().unwrap();
    assert_eq!(verdicts.len(), cases.len());
    for (number, case) in cases.iter().enumerate() {
        let id = format!("e{number}");
        let verdict = verdicts.iter().find(|v| v.exchange_id == id).unwrap();
        let got = [
            verdict.grade.as_ref(),
            verdict.exposure.as_ref(),
            verdict.disclosure.as_ref(),
            verdict.cause.as_deref().unwrap_or("-"),
            Some(verdict.reasons.as_str())
                .filter(|r| !r.is_empty())
                .unwrap_or("-"),
        ]
        .join(" ");
        assert_eq!(got, case.expect, "{}", case.name);
        assert_eq!(verdict.generation, None);
        assert!(verdict.score.is_some_and(|s| (0.0..=1.0).contains(&s)));
        let found = matches!(verdict.grade.as_ref(), "confirmed" | "probable");
        assert_eq!(
            verdict.source_exchange_id.as_deref(),
            found.then_some("s"),
            "{}",
            case.name
        );
    }
}

const LONG: i64 = 700_000;

#[test]
fn the_two_axes() {
    let long = json!({"prompt_tokens": LONG});
    let short = json!({});
    let no_capacity = json!({"reject_at_tokens": null, "reject_at_max_tokens": null,
        "pool_tokens": null, "capacity_id": null, "capacity_match": "none"});
    let row = Some(json!({}));
    let mut alone = json!({"foreign_exchanges": 0});
    let mut cases = vec![
        case(
            "exposed, shown",
            long.clone(),
            row.clone(),
            "confirmed likely proven kv_leak -",
        ),
        case(
            "exposed, weaker",
            long.clone(),
            Some(json!({"order": "unknown"})),
            "probable likely likely kv_leak -",
        ),
        case(
            "exposed, nothing",
            long.clone(),
            None,
            "possible likely none_found - -",
        ),
        case(
            "not exposed, shown",
            short.clone(),
            row.clone(),
            "probable none likely kv_leak -",
        ),
        case(
            "not exposed, nothing",
            short,
            None,
            "cleared none none_found - -",
        ),
        case(
            "unknown, shown",
            no_capacity.clone(),
            row,
            "probable unknown likely kv_leak capacity_unknown",
        ),
        case(
            "unknown, nothing",
            no_capacity,
            None,
            "cleared unknown none_found - capacity_unknown",
        ),
        case(
            "single tenant",
            alone.clone(),
            None,
            "not_assessable none not_assessable - no_foreign_corpus",
        ),
    ];
    alone["prompt_tokens"] = LONG.into();
    cases.push(case(
        "exposed, single tenant",
        alone,
        None,
        "possible likely not_assessable - no_foreign_corpus",
    ));
    check(&cases);
}

#[test]
fn the_limit_is_reached_not_passed() {
    let none = "cleared none none_found - -";
    let likely = "possible likely none_found - -";
    let unknown = "cleared unknown none_found - capacity_unknown";
    check(&[
        case("one below", json!({"prompt_tokens": 681_273}), None, none),
        case(
            "at the limit",
            json!({"prompt_tokens": 681_274}),
            None,
            likely,
        ),
        case("the pool", json!({"prompt_tokens": 681_280}), None, likely),
        // Not accepted, or nothing generated: the reject worked.
        case(
            "400",
            json!({"prompt_tokens": LONG, "http_status": 400, "outcome": "rejected"}),
            None,
            none,
        ),
        case(
            "no tokens",
            json!({"prompt_tokens": LONG, "completion_tokens": 0, "response_bytes": 0}),
            None,
            none,
        ),
        case(
            "error",
            json!({"prompt_tokens": LONG, "http_status": null, "outcome": "error"}),
            None,
            none,
        ),
        case(
            "no status",
            json!({"prompt_tokens": LONG, "http_status": null}),
            None,
            likely,
        ),
        case("no length", json!({"prompt_tokens": null}), None, unknown),
    ]);
}

#[test]
fn between_two_possible_limits_nothing_is_proven() {
    let band = json!({"prompt_tokens": LONG, "reject_at_max_tokens": 900_000,
        "capacity_match": "deployment"});
    check(&[
        case(
            "band, shown",
            band.clone(),
            Some(json!({})),
            "probable likely likely kv_leak limit_band",
        ),
        case(
            "band, nothing",
            band,
            None,
            "possible likely none_found - limit_band",
        ),
    ]);
}

#[test]
fn direction_in_time_decides_between_proven_and_likely() {
    let long = json!({"prompt_tokens": LONG});
    let proven = "confirmed likely proven kv_leak -";
    let likely = "probable likely likely kv_leak -";
    let nothing = "possible likely none_found - -";
    let rows = [
        ("prompt", "before", 60_000, proven),
        ("prompt", "overlap", 0, proven),
        ("prompt", "overlap", -1, likely),
        ("prompt", "unknown", 5, likely),
        ("response", "before", 60_000, proven),
        ("response", "overlap", 1, proven),
        ("response", "overlap", 0, nothing),
        ("response", "overlap", -1, nothing),
        ("response", "unknown", 5, likely),
    ];
    let cases: Vec<Case> = rows
        .into_iter()
        .map(|(side, order, lag, expect)| {
            let row = json!({"source_side": side, "order": order, "lag_ms": lag});
            case("direction", long.clone(), Some(row), expect)
        })
        .collect();
    check(&cases);
    check(&[
        case(
            "the earliest source was elsewhere, a later one may have been here",
            long.clone(),
            Some(json!({"same_share_group": false})),
            proven,
        ),
        case(
            "shared memory",
            long,
            Some(json!({"same_share_group": true})),
            proven,
        ),
    ]);
}

#[test]
fn common_or_short_text_is_no_disclosure() {
    let long = json!({"prompt_tokens": LONG});
    check(&[
        case(
            "two carriers",
            long.clone(),
            Some(json!({"carriers": 2})),
            "possible likely none_found shared_text -",
        ),
        case(
            "two carriers, not exposed",
            json!({}),
            Some(json!({"carriers": 3})),
            "cleared none none_found shared_text -",
        ),
        case(
            "eleven words",
            long.clone(),
            Some(json!({"novel_weight": 23})),
            "possible likely none_found - -",
        ),
        case(
            "twelve words",
            long,
            Some(json!({"novel_weight": 24})),
            "confirmed likely proven kv_leak -",
        ),
    ]);
}

#[test]
fn what_cannot_be_judged_says_why() {
    let unjudged = |state: &str, reason: &str| {
        let changes = [("response_state", state), ("unjudged_reason", reason)];
        let mut value = json!({"judged": false});
        for (key, word) in changes {
            value[key] = word.into();
        }
        value
    };
    let mut cases = Vec::new();
    for (change, reasons) in [
        (
            json!({"own_prompt_complete": false, "prompt_state": "truncated"}),
            "own_prompt_incomplete",
        ),
        (
            json!({"own_prompt_complete": false, "prompt_state": "stateful"}),
            "own_prompt_incomplete,stateful",
        ),
        (
            json!({"response_state": "truncated"}),
            "response_incomplete",
        ),
        (unjudged("absent", "text_absent"), "text_absent"),
        (unjudged("encrypted", "encrypted"), "encrypted"),
        (unjudged("ids_only", "ids_only"), "ids_only"),
        (unjudged("redacted", "redacted"), "response_incomplete"),
        (unjudged("full", "not_searched"), "not_searched"),
        (
            json!({"judged": false, "t_start": null, "unjudged_reason": "time_unknown"}),
            "time_unknown",
        ),
        (json!({"modalities": ["text", "image"]}), "unlogged_image"),
        (
            json!({"tenant": null, "judged": false, "unjudged_reason": "tenant_unknown"}),
            "tenant_unknown",
        ),
    ] {
        cases.push(case(
            "unfit",
            change.clone(),
            None,
            &format!("not_assessable none not_assessable - {reasons}"),
        ));
        let mut long = change;
        long["prompt_tokens"] = LONG.into();
        cases.push(case(
            "unfit, exposed",
            long,
            None,
            &format!("possible likely not_assessable - {reasons}"),
        ));
    }
    // What was found stays found where the own prompt is cut.
    cases.push(case(
        "cut, shown",
        json!({"prompt_tokens": LONG, "own_prompt_complete": false, "prompt_state": "truncated"}),
        Some(json!({})),
        "confirmed likely proven kv_leak own_prompt_incomplete",
    ));
    check(&cases);
}

#[test]
fn a_null_tenant_stays_outside_the_floor() {
    let nobody = json!({"tenant": null, "prompt_tokens": LONG, "judged": false,
        "unjudged_reason": "tenant_unknown"});
    let exchanges = [exchange("e", &nobody), source(&json!({}))];
    let found = verdict_of(&exchanges, &[overlap("e", &json!({"tenant": null}))], "e");
    assert_eq!((found.grade.as_ref(), found.tenant), ("possible", None));
}

#[test]
fn the_gateways_cache_is_no_leak() {
    let hit = json!({"cache_hit": true, "prompt_hmac": "p", "prompt_tokens": LONG});
    let made = source(&json!({"prompt_hmac": "p"}));
    let row = overlap(
        "e",
        &json!({"source_side": "response", "source_field": "response"}),
    );
    let found = verdict_of(
        &[exchange("e", &hit), made.clone()],
        std::slice::from_ref(&row),
        "e",
    );
    assert_eq!(found.grade, "cleared");
    assert_eq!(found.cause.as_deref(), Some("gateway_cache"));
    assert_eq!(
        (found.exposure.as_ref(), found.disclosure.as_ref()),
        ("none", "none_found")
    );
    assert_eq!(found.findings, 1);
    // Another prompt: graded like any answer.
    let mut other = hit.clone();
    other["prompt_hmac"] = "q".into();
    let found = verdict_of(
        &[exchange("e", &other), made.clone()],
        std::slice::from_ref(&row),
        "e",
    );
    assert_eq!(
        (found.grade.as_ref(), found.cause.as_deref()),
        ("confirmed", Some("kv_leak"))
    );
    // A third tenant's text in the cached answer is still that tenant's text.
    let third = exchange(
        "t",
        &json!({"tenant": "initech", "in_window": false, "t_start": at(900)}),
    );
    let leaked = overlap(
        "e",
        &json!({"source_exchange_id": "t", "source_tenant": "initech"}),
    );
    let found = verdict_of(&[exchange("e", &hit), made, third], &[row, leaked], "e");
    assert_eq!(found.grade, "probable");
    assert_eq!(found.source_tenant.as_deref(), Some("initech"));
    // The same tenant's earlier answer is its own.
    let own = exchange("o", &json!({"prompt_hmac": "p", "t_start": at(1)}));
    let mut short = hit;
    short["prompt_tokens"] = 10.into();
    let found = verdict_of(&[exchange("e", &short), own], &[], "e");
    assert_eq!((found.grade.as_ref(), found.cause), ("cleared", None));
}

#[test]
fn excluded_tenants_keep_their_grade() {
    for kind in ["internal", "researcher"] {
        let change = json!({"prompt_tokens": LONG, "excluded": kind});
        let exchanges = [exchange("e", &change), source(&json!({}))];
        let found = verdict_of(&exchanges, &[overlap("e", &json!({}))], "e");
        assert_eq!(
            (found.grade.as_ref(), found.excluded.as_deref()),
            ("confirmed", Some(kind))
        );
    }
}

#[test]
fn what_is_before_the_window_or_was_not_delivered_gets_no_verdict() {
    let exchanges = [
        exchange("e", &json!({})),
        exchange("d", &json!({"delivered": false, "role": "decode"})),
        source(&json!({})),
    ];
    let mut session = session(&exchanges, &[], &[]);
    session.run_rules().unwrap();
    let ids: Vec<String> = session
        .run_verdicts()
        .unwrap()
        .into_iter()
        .map(|v| v.exchange_id)
        .collect();
    assert_eq!(ids, ["e"]);
}

#[test]
fn the_engines_record_speaks_where_the_gateway_kept_no_answer() {
    let silent = json!({"prompt_tokens": LONG, "call_id": "c", "response_state": "absent",
        "judged": false, "unjudged_reason": "text_absent"});
    let engine = json!({"call_id": "c", "delivered": false, "role": "decode",
        "request_id": "rid", "t_start": at(1)});
    let shown = overlap("d", &json!({}));
    let exchanges = [
        exchange("e", &silent),
        exchange("d", &engine),
        source(&json!({})),
    ];
    let found = verdict_of(&exchanges, std::slice::from_ref(&shown), "e");
    assert_eq!(
        (found.grade.as_ref(), found.reasons.as_str()),
        ("confirmed", "")
    );
    assert_eq!(found.request_id.as_deref(), Some("r-e"));
    let found = verdict_of(&exchanges, &[], "e");
    assert_eq!(found.disclosure, "none_found");
    // An internal attempt that was not handed over says nothing of the answer that was.
    let full = json!({"prompt_tokens": LONG, "call_id": "c"});
    let exchanges = [
        exchange("e", &full),
        exchange("d", &engine),
        source(&json!({})),
    ];
    assert_eq!(verdict_of(&exchanges, &[shown], "e").grade, "possible");
}

#[test]
fn the_node_that_took_the_prompt_sets_the_limit() {
    let wide = json!({"prompt_tokens": LONG, "call_id": "c", "capacity_match": "deployment",
        "reject_at_tokens": 600_000, "reject_at_max_tokens": 900_000});
    let node = |limit: i64| {
        json!({"call_id": "c", "delivered": false, "role": "prefill", "prompt_tokens": 1,
            "prompt_bytes": 0, "reject_at_tokens": limit, "reject_at_max_tokens": limit})
    };
    for (limit, exposure, reasons) in [(681_274, "likely", ""), (900_000, "none", "")] {
        let exchanges = [exchange("e", &wide), exchange("p", &node(limit))];
        let found = verdict_of(&exchanges, &[], "e");
        assert_eq!(
            (found.exposure.as_ref(), found.reasons.as_str()),
            (exposure, reasons)
        );
    }
}

/// The judged exchanges with their overlaps, in a log of several answers.
#[test]
fn the_score_follows_the_evidence() {
    let told = |bits: i64, more: Value| {
        super::fixture::with(
            json!({"surprise_millibits": bits * 1000, "own_fit_permille": 0,
                "prompt_similarity_permille": 0}),
            &more,
        )
    };
    let long = json!({"prompt_tokens": LONG});
    let unread = json!({"judged": false, "unjudged_reason": "text_absent",
        "response_state": "absent"});
    let exchanges = [
        source(&json!({})),
        exchange("nothing", &json!({})),
        exchange("unread", &unread),
        exchange("weak", &json!({})),
        exchange("strong", &json!({})),
        exchange("alike", &json!({})),
        exchange("elsewhere", &json!({})),
        exchange("exposed", &long),
        exchange("both", &long),
    ];
    let overlaps = [
        overlap("weak", &told(30, json!({}))),
        overlap("strong", &told(300, json!({"same_share_group": true}))),
        overlap(
            "alike",
            &told(300, json!({"prompt_similarity_permille": 900})),
        ),
        overlap("elsewhere", &told(300, json!({"same_share_group": false}))),
        overlap("both", &told(300, json!({"same_share_group": true}))),
    ];
    let mut session = session(&exchanges, &overlaps, &[]);
    session.run_rules().unwrap();
    let verdicts = session.run_verdicts().unwrap();
    let score = |id: &str| {
        let verdict = verdicts.iter().find(|v| v.exchange_id == id).unwrap();
        verdict.score.unwrap()
    };
    assert!((score("unread") - 0.001).abs() < 1e-6, "the prior");
    for (less, more) in [
        ("nothing", "unread"),
        ("nothing", "weak"),
        ("weak", "strong"),
        ("alike", "strong"),
        ("elsewhere", "strong"),
        ("nothing", "exposed"),
        ("strong", "both"),
    ] {
        assert!(score(less) < score(more), "{less} against {more}");
    }
    assert!(score("both") > 0.8, "{}", score("both"));
}
