//! Rules over the engines' own testimony, on tiny cases without any text.

use super::fixture::{at, exchange, overlap, session_of, with};
use super::session::CaseSession;
use pentimento_core::threshold::threshold;
use pentimento_store::rows::FindingRow;
use pentimento_store::schema::Table;
use serde_json::{Value, json};

const ROOM: &str = "9223372036854775807";

/// An event of node `p-1`, told apart by its offset.
fn event(offset: i64, kind: &str, changes: &Value) -> Value {
    let base = json!({
        "source_id": "s0002", "source_offset": offset, "source_index": 0, "t": at(1001),
        "node": "p-1", "role": "prefill", "engine": "sglang", "kind": kind, "message": "m",
    });
    with(base, changes)
}

fn account(offset: i64, role: &str, room: &str, tokens: i64, changes: &Value) -> Value {
    let base = json!({"role": role, "bootstrap_room": room, "n1": tokens, "n2": 0, "n3": 50,
        "node": format!("{role}-1"), "engine_request_id": format!("{role}-{offset}"), "t": at(1010)});
    event(offset, "req_time_stats", &with(base, changes))
}

fn case(exchanges: &[Value], events: &[Value]) -> CaseSession {
    session_of(&[(Table::Exchanges, exchanges), (Table::EngineEvents, events)])
}

fn found(session: &mut CaseSession, rule: &str) -> Vec<FindingRow> {
    // All rules would do as well, and take much longer.
    let file = session.catalog().get(&format!("rules/{rule}")).cloned();
    session.run_rule(&file.unwrap()).unwrap()
}

fn evidence(finding: &FindingRow) -> Value {
    serde_json::from_str(&finding.evidence).unwrap()
}

/// Exchange, exposure and how the call was found.
fn short(findings: &[FindingRow]) -> Vec<(Option<String>, Option<String>, Value)> {
    findings
        .iter()
        .map(|f| {
            let exposure = f.exposure.as_deref().map(str::to_owned);
            (
                f.exchange_id.clone(),
                exposure,
                evidence(f)["joined_by"].clone(),
            )
        })
        .collect()
}

fn hit(id: &str, exposure: &str, by: &str) -> (Option<String>, Option<String>, Value) {
    (Some(id.into()), Some(exposure.into()), json!(by))
}

#[test]
fn lengths_differ_by_the_engines_accounts_alone() {
    let stub = [
        account(
            1,
            "prefill",
            ROOM,
            1,
            &json!({"n3": 1, "moved_bytes": 4_718_592}),
        ),
        account(2, "decode", ROOM, 684_000, &json!({})),
    ];
    let long = json!({"prompt_tokens": 684_000, "prompt_state": "absent",
        "response_state": "absent", "reject_at_tokens": null});
    // The gateway logs the room.
    let named = [exchange(
        "g",
        &with(long.clone(), &json!({"bootstrap_room": ROOM})),
    )];
    let rows = found(&mut case(&named, &stub), "pd_input_length_mismatch");
    assert_eq!(short(&rows), [hit("g", "proven", "room")]);
    let shown = evidence(&rows[0]);
    assert_eq!(shown["prefill_prompt_tokens"], 1);
    assert_eq!(shown["decode_prompt_tokens"], 684_000);
    assert_eq!(shown["moved_bytes"], 4_718_592);
    // It logs the engine's id of the request.
    let by_id = [exchange(
        "g",
        &with(long.clone(), &json!({"request_id": "decode-2"})),
    )];
    let rows = found(&mut case(&by_id, &stub), "pd_input_length_mismatch");
    assert_eq!(short(&rows), [hit("g", "proven", "rid")]);
    // It lost the room: lengths and time are left.
    let lost = [exchange("g", &long)];
    let rows = found(&mut case(&lost, &stub), "pd_input_length_mismatch");
    assert_eq!(short(&rows), [hit("g", "likely", "length")]);
    // Two calls fit: neither is accused, and what is proven is said without a name.
    let second = json!({"call_id": "c2", "request_id": "r2"});
    let two = [
        exchange("g", &long),
        exchange("h", &with(long.clone(), &second)),
    ];
    let mut session = case(&two, &stub);
    assert!(found(&mut session, "pd_input_length_mismatch").is_empty());
    let rows = found(&mut session, "pd_mismatch_without_call");
    assert_eq!((rows.len(), rows[0].exchange_id.as_deref()), (1, None));
    assert_eq!(evidence(&rows[0])["bootstrap_room"], ROOM);
}

#[test]
fn good_reasons_for_two_lengths() {
    let named = [exchange("g", &json!({"bootstrap_room": ROOM}))];
    for (prefill, decode, cached, hits) in [
        (1000, 1000, 0, 0),
        // Sent to prefill again with what it had generated.
        (1050, 1000, 0, 0),
        // Decode held a part of the prompt.
        (400, 1000, 600, 0),
        (400, 1000, 599, 1),
        // A stub is no prefix.
        (1, 1000, 999, 1),
    ] {
        let events = [
            account(1, "prefill", ROOM, prefill, &json!({})),
            account(2, "decode", ROOM, decode, &json!({"n2": cached})),
        ];
        let rows = found(&mut case(&named, &events), "pd_input_length_mismatch");
        assert_eq!(rows.len(), hits, "{prefill} {decode} {cached}");
    }
    // A second attempt under the same room took it all in.
    let events = [
        account(1, "prefill", ROOM, 1, &json!({})),
        account(2, "prefill", ROOM, 1000, &json!({})),
        account(3, "decode", ROOM, 1000, &json!({})),
    ];
    assert!(found(&mut case(&named, &events), "pd_input_length_mismatch").is_empty());
}

#[test]
fn a_prefill_log_and_a_gateway_are_enough() {
    let record = |tokens: i64, bytes: i64| {
        [
            exchange("g", &json!({"call_id": "c", "prompt_tokens": 684_000})),
            exchange(
                "p",
                &json!({"call_id": "c", "role": "prefill", "prompt_tokens": tokens,
                "prompt_bytes": bytes, "bootstrap_room": ROOM, "delivered": false,
                "client_facing": false, "judged": false}),
            ),
        ]
    };
    let rows = found(&mut case(&record(1, 0), &[]), "pd_input_length_mismatch");
    assert_eq!(short(&rows), [hit("g", "proven", "room")]);
    let rows = found(
        &mut case(&record(684_000, 0), &[]),
        "pd_input_length_mismatch",
    );
    assert!(rows.is_empty());
    // A fixed engine counts one token too, and tells the client.
    let mut refused = record(1, 0);
    refused[0]["http_status"] = json!(400);
    refused[0]["outcome"] = json!("rejected");
    assert!(found(&mut case(&refused, &[]), "pd_input_length_mismatch").is_empty());
    let rows = found(&mut case(&record(1, 2051), &[]), "prefill_stub");
    assert_eq!(rows[0].exchange_id.as_deref(), Some("g"));
    assert!(found(&mut case(&record(1, 5), &[]), "prefill_stub").is_empty());
}

#[test]
fn the_scheduler_said_no() {
    let refusal = |changes: &Value| {
        let base = json!({"n1": 684_000, "n2": 681_274, "engine_request_id": "e-1"});
        event(7, "length_rejected", &with(base, changes))
    };
    let answered = json!({"prompt_tokens": 684_000, "reject_at_tokens": null});
    let by_id = [exchange(
        "g",
        &with(answered.clone(), &json!({"request_id": "e-1"})),
    )];
    let rows = found(
        &mut case(&by_id, &[refusal(&json!({}))]),
        "rejected_but_answered",
    );
    assert_eq!(short(&rows), [hit("g", "proven", "rid")]);
    assert_eq!(evidence(&rows[0])["limit_tokens"], 681_274);
    // The account of the request leads from its id to the room.
    let room = [exchange(
        "g",
        &with(answered.clone(), &json!({"bootstrap_room": ROOM})),
    )];
    let account = account(8, "prefill", ROOM, 1, &json!({"engine_request_id": "e-1"}));
    let events = [refusal(&json!({})), account];
    let rows = found(&mut case(&room, &events), "rejected_but_answered");
    assert_eq!(short(&rows), [hit("g", "proven", "room")]);
    // Length and time alone.
    let lost = [exchange("g", &answered)];
    let rows = found(
        &mut case(&lost, &[refusal(&json!({}))]),
        "rejected_but_answered",
    );
    assert_eq!(short(&rows), [hit("g", "likely", "length")]);
    for silent in [
        json!({"t": at(5000)}),
        json!({"n1": 684_001}),
        json!({"t": null}),
    ] {
        let rows = found(
            &mut case(&lost, &[refusal(&silent)]),
            "rejected_but_answered",
        );
        assert!(rows.is_empty(), "{silent}");
    }
    // A fixed node told the client so.
    let told = json!({"http_status": 400, "outcome": "rejected", "completion_tokens": null,
        "response_bytes": 0, "request_id": "e-1"});
    let fixed = [exchange("g", &with(answered.clone(), &told))];
    assert!(
        found(
            &mut case(&fixed, &[refusal(&json!({}))]),
            "rejected_but_answered"
        )
        .is_empty()
    );
    // A short prompt whose grammar was late on prefill only.
    let late = event(9, "grammar_timeout", &json!({"engine_request_id": "r-g"}));
    let rows = found(
        &mut case(&[exchange("g", &json!({}))], &[late]),
        "rejected_but_answered",
    );
    assert_eq!(short(&rows), [hit("g", "proven", "rid")]);
}

#[test]
fn another_attempt_was_computed_in_full() {
    let refused = event(
        7,
        "length_rejected",
        &json!({"engine_request_id": "r-g", "n1": 1000}),
    );
    let events = [
        refused,
        account(1, "prefill", ROOM, 1000, &json!({})),
        account(2, "decode", ROOM, 1000, &json!({})),
    ];
    let exchanges = [exchange("g", &json!({"bootstrap_room": ROOM}))];
    assert!(found(&mut case(&exchanges, &events), "rejected_but_answered").is_empty());
}

#[test]
fn confessions() {
    let told =
        |kind: &str, room: &str| event(3, kind, &json!({"bootstrap_room": room, "node": "d"}));
    let answered = [exchange("g", &json!({"bootstrap_room": ROOM}))];
    let checksum = told("kv_checksum_mismatch", ROOM);
    let rows = found(&mut case(&answered, &[checksum]), "engine_confession");
    assert_eq!(short(&rows), [hit("g", "proven", "room")]);
    assert_eq!(rows[0].severity, "high");
    // Caught, and the client got nothing.
    let failed = json!({"bootstrap_room": ROOM, "http_status": 500, "completion_tokens": null,
        "response_bytes": 0, "delivered": false});
    let caught = [exchange("g", &failed)];
    let rows = found(
        &mut case(&caught, &[told("context_corruption", ROOM)]),
        "engine_confession",
    );
    assert_eq!((rows.len(), rows[0].exchange_id.as_deref()), (1, None));
    assert_eq!(
        (rows[0].severity.as_ref(), rows[0].exposure.as_deref()),
        ("medium", None)
    );
    let canary = event(3, "kv_canary_violation", &json!({"n1": 5, "n2": 6}));
    let rows = found(&mut case(&answered, &[canary]), "engine_confession");
    assert_eq!((rows.len(), rows[0].exchange_id.as_deref()), (1, None));
    assert_eq!(rows[0].event_time, Some(1_788_221_801_000_000));
}

#[test]
fn first_tokens_that_nobody_can_have_computed() {
    let normal = |n: i64, ms: i64| {
        exchange(
            &format!("n{n}"),
            &json!({"prompt_tokens": 1000 + n, "cached_tokens": 0, "first_token_ms": ms}),
        )
    };
    let mut exchanges: Vec<Value> = (0..40).map(|n| normal(n, 200 + n)).collect();
    let odd = json!({"prompt_tokens": 684_000, "cached_tokens": 0, "first_token_ms": 2000});
    exchanges.push(exchange("x", &odd));
    exchanges.push(exchange(
        "y",
        &with(odd.clone(), &json!({"cached_tokens": 683_000})),
    ));
    exchanges.push(exchange(
        "z",
        &with(odd.clone(), &json!({"cached_tokens": null})),
    ));
    exchanges.push(exchange(
        "c",
        &with(odd.clone(), &json!({"cache_hit": true})),
    ));
    exchanges.push(exchange(
        "s",
        &with(odd, &json!({"first_token_ms": 60_000})),
    ));
    let rows = found(&mut case(&exchanges, &[]), "impossible_first_token");
    let ids: Vec<_> = rows
        .iter()
        .map(|f| (f.exchange_id.as_deref(), f.exposure.as_deref()))
        .collect();
    assert_eq!(
        ids,
        [(Some("x"), Some("likely")), (Some("z"), Some("unknown"))]
    );
    let shown = evidence(&rows[0]);
    assert_eq!(shown["tokens_per_second"], 342_000);
    assert_eq!(
        (&shown["bound_tokens_per_second"], &shown["samples"]),
        (&json!(100_000), &json!(40))
    );
    assert!(found(&mut case(&exchanges[20..], &[]), "impossible_first_token").is_empty());
}

#[test]
fn counts_that_cannot_be_true() {
    let exchanges = [
        exchange("a", &json!({"cached_tokens": 1200})),
        exchange("b", &json!({"cached_tokens": 900})),
        exchange("c", &json!({"cached_tokens": 1200, "engine": "sglang"})),
        exchange("d", &json!({"prompt_tokens": 1})),
        exchange("e", &json!({"call_id": "k", "tokens_source": "engine"})),
        exchange(
            "f",
            &json!({"call_id": "k", "role": "decode", "prompt_tokens": 90_000, "delivered": false,
            "client_facing": false, "tokens_source": "engine", "tenant": null}),
        ),
        exchange(
            "t",
            &json!({"tenant": "tiny", "prompt_tokens": 2000, "cached_tokens": 2100}),
        ),
    ];
    let rows = found(&mut case(&exchanges, &[]), "accounting_contradiction");
    let mut seen: Vec<String> = rows
        .iter()
        .map(|f| {
            assert_eq!((f.severity.as_ref(), f.exposure.as_deref()), ("low", None));
            let id = f.exchange_id.as_deref().unwrap();
            format!("{id} {}", evidence(f)["contradiction"].as_str().unwrap())
        })
        .collect();
    seen.sort();
    assert_eq!(
        seen,
        [
            "a cached_above_all_of_tenant",
            "a cached_above_prompt",
            "c cached_above_all_of_tenant",
            "d one_token_for_a_long_prompt",
            "e gateway_and_engine_differ",
            "t cached_above_all_of_tenant",
            "t cached_above_prompt",
        ]
    );
}

#[test]
fn neighbours_of_an_abort() {
    let decode = |id: &str, call: &str, start: i64, changes: &Value| {
        let base = json!({"call_id": call, "role": "decode", "node": "d-1", "delivered": false,
            "client_facing": false, "t_start": at(start), "t_end": at(start + 10),
            "tenant": null, "judged": false, "request_id": format!("rid-{id}")});
        exchange(id, &with(base, changes))
    };
    let exchanges = |start: i64, node: &str| {
        [
            exchange("g", &json!({"call_id": "cg", "t_start": at(start)})),
            decode("d", "cg", start, &json!({"node": node})),
            exchange(
                "s",
                &json!({"call_id": "cs", "tenant": "globex", "t_start": at(940)}),
            ),
            decode("ds", "cs", 940, &json!({})),
        ]
    };
    let failed = event(
        5,
        "decode_transfer_failed",
        &json!({"engine_request_id": "rid-ds", "node": "d-1", "t": at(950)}),
    );
    let run = |exchanges: &[Value], novel: i64| {
        let shown = [overlap("g", &json!({"novel_weight": novel}))];
        let mut session = session_of(&[
            (Table::Exchanges, exchanges),
            (Table::Overlaps, &shown),
            (Table::EngineEvents, std::slice::from_ref(&failed)),
        ]);
        found(&mut session, "abort_neighbour")
    };
    let rows = run(&exchanges(1000, "d-1"), 16);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].exchange_id.as_deref(), Some("g"));
    assert_eq!(rows[0].source_tenant.as_deref(), Some("globex"));
    assert_eq!(rows[0].exposure.as_deref(), Some("likely"));
    assert!(run(&exchanges(1000, "d-2"), 16).is_empty(), "another node");
    assert!(
        run(&exchanges(1011, "d-1"), 16).is_empty(),
        "more than a minute later"
    );
}

#[test]
fn drafts_that_no_longer_fit() {
    let line = |n: i64, hour: i64, accepted: i64| {
        let changes = json!({"t": at(hour * 3600 + n), "node": "d-1", "n1": 3, "n3": accepted});
        event(hour * 100 + n, "decode_batch", &changes)
    };
    let mut events = Vec::new();
    for hour in 0..8 {
        let accepted = if hour == 6 { 1589 } else { 4487 };
        events.extend((0..12).map(|n| line(n, hour, accepted)));
    }
    let rows = found(&mut case(&[], &events), "spec_accept_drop");
    assert_eq!(rows.len(), 1);
    let shown = evidence(&rows[0]);
    assert_eq!(
        (&shown["accepted_thousandths"], &shown["usual_thousandths"]),
        (&json!(1589), &json!(4487))
    );
}

#[test]
fn witnesses_of_capacity_that_differ() {
    let epoch = |id: &str, role: &str, pool: i64, changes: &Value| {
        let base = json!({"capacity_id": id, "node": role, "role": role, "pool_tokens": pool,
            "window_tokens": 1_048_576, "reject_at_tokens": pool - 6, "source": id});
        with(base, changes)
    };
    let capacity = [
        epoch("a", "prefill", 681_280, &json!({"valid_to": at(100)})),
        epoch("b", "prefill", 700_000, &json!({"valid_from": at(50)})),
        epoch(
            "c",
            "prefill",
            681_280,
            &json!({"valid_from": at(100), "node": "other",
            "flags": "allow_auto_truncate=true tp_size=8"}),
        ),
        epoch("d", "decode", 1_310_720, &json!({})),
    ];
    let mut session = session_of(&[(Table::Capacity, &capacity)]);
    let rows = found(&mut session, "capacity_contradiction");
    assert_eq!(rows.len(), 1);
    assert_eq!(evidence(&rows[0])["second_source"], "b");
    let rows = found(&mut session, "truncation_asymmetry");
    assert_eq!(rows.len(), 1);
    assert_eq!(evidence(&rows[0])["decode_pool_tokens"], 1_310_720);
}

#[test]
fn transfers_that_are_too_small() {
    let room = |n: i64| format!("{}", 1000 + n);
    let mut events = Vec::new();
    for n in 0..30 {
        let tokens = 2000 + n;
        let bytes = if n == 13 { 4_718_592 } else { tokens * 90_000 };
        let moved = json!({"moved_bytes": bytes, "node": "p-1"});
        events.push(account(2 * n, "prefill", &room(n), tokens, &moved));
        events.push(account(2 * n + 1, "decode", &room(n), tokens, &json!({})));
    }
    let exchanges = [
        exchange("x", &json!({"bootstrap_room": room(13)})),
        exchange("y", &json!({"bootstrap_room": room(14)})),
    ];
    let rows = found(&mut case(&exchanges, &events), "pd_short_transfer");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].exchange_id.as_deref(), Some("x"));
}

/// The query against the kernel, which tells the same in another way.
#[test]
fn the_threshold_is_that_of_the_kernel() {
    let shown = |prompts: &[(i64, bool)]| {
        let exchanges: Vec<Value> = prompts
            .iter()
            .enumerate()
            .map(|(n, (tokens, _))| {
                exchange(
                    &format!("x{n:03}"),
                    &json!({"prompt_tokens": tokens, "model": "m"}),
                )
            })
            .collect();
        let dirty = prompts.iter().enumerate().filter(|(_, p)| p.1);
        let findings: Vec<Value> = dirty
            .map(|(n, _)| {
                json!({"finding_id": format!("f{n}"), "rule_id": "prefill_stub",
                    "severity": "high", "exposure": "proven", "exchange_id": format!("x{n:03}"),
                    "call_id": format!("c-x{n:03}"), "title": "t", "evidence": "{}"})
            })
            .collect();
        let tables = [
            (Table::Exchanges, &exchanges[..]),
            (Table::Findings, &findings[..]),
        ];
        session_of(&tables).json_rows("report/threshold").unwrap()
    };
    for (count, cut, clean_above) in [(60, 40, 0), (90, 80, 3), (12, 4, 0)] {
        // Every length twice, so that ties are there.
        let prompts: Vec<(i64, bool)> = (0..count)
            .map(|n: i64| (100 + n / 2 * 7, n >= cut && n % 10 >= clean_above))
            .collect();
        let rows = shown(&prompts);
        let found = threshold(&prompts).unwrap();
        assert_eq!(rows.len(), 1);
        let row = &rows[0];
        assert_eq!(row["node"], "all nodes");
        assert_eq!(
            row["shortest_dirty_tokens"], found.shortest_dirty,
            "{row:?}"
        );
        assert_eq!(
            row["longest_clean_tokens"],
            json!(found.longest_clean_below)
        );
        assert_eq!(row["clean_from_there"], found.clean_above);
        let p = row["log10_p"].as_f64().unwrap();
        assert!(
            (p - found.ln_p / 10f64.ln()).abs() < 0.006,
            "{p} {}",
            found.ln_p
        );
    }
    assert!(shown(&[(100, false)]).is_empty());
    // A stray answer far below does not move the cut, and is told.
    let mut prompts: Vec<(i64, bool)> = (0..50).map(|n| (100 + n, n >= 40)).collect();
    prompts[2].1 = true;
    let row = shown(&prompts).remove(0);
    assert_eq!(row["shortest_dirty_tokens"], 140);
    assert_eq!(
        (&row["dirty_below"], &row["clean_below"]),
        (&json!(1), &json!(39))
    );
}
