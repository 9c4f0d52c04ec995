//! What belongs to one call is one call, and nothing else is.

use crate::kit::{Audit, Lab, clean, exchange, only, with, words};
use serde_json::{Value, json};

/// A finished record of an engine of a disaggregated pair.
fn engine(
    rid: &str,
    room: u64,
    x_request_id: &str,
    text: (&str, &str),
    tokens: (i64, i64),
) -> Value {
    json!({
        "timestamp": "2026-09-01T06:30:02.000000Z", "event": "request.finished", "rid": rid,
        "headers": {"x-request-id": x_request_id},
        "obj": {"rid": rid, "text": text.0, "bootstrap_room": room},
        "out": {"text": text.1, "meta_info": {"id": rid, "finish_reason": {"type": "stop"},
            "prompt_tokens": tokens.0, "completion_tokens": tokens.1, "e2e_latency": 1.9}},
    })
}

fn call_of(audit: &Audit, request_id: &str) -> String {
    audit.exchange(request_id).call_id
}

/// One leaking call as three logs tell it, a bystander, and the source.
fn triple(room: u64) -> Lab {
    let lab = Lab::new();
    let (leaked, own) = (words(1, 40), words(2, 40));
    let leak = exchange("gw-leak", "bolt", "06:30:00", &own, &leaked);
    lab.log(
        "gateway.jsonl",
        &[
            exchange("gw-source", "acme", "06:00:00", &leaked, "done"),
            with(
                leak,
                json!({"x_request_id": "x-1", "prompt_tokens": 690_000}),
            ),
            // A bystander whose room differs by one.
            with(
                exchange("gw-other", "crux", "06:30:01", &words(3, 40), &words(4, 40)),
                json!({"x_request_id": "x-2"}),
            ),
        ],
    );
    let prefill = engine("p-1", room, "x-1", (&own, ""), (1, 1));
    lab.log("eu-prefill-1_0.log", &[prefill]);
    let decode = engine("d-1", room, "x-1", (&own, &leaked), (690_000, 40));
    let other = engine(
        "d-2",
        room - 1,
        "x-2",
        (&words(3, 40), &words(4, 40)),
        (1_000, 40),
    );
    lab.log("eu-decode-1_0.log", &[decode, other]);
    lab
}

#[test]
fn gateway_prefill_and_decode_are_one_call_with_one_verdict() {
    // Above 2^53: a room that passed through a float would meet its neighbour's.
    let room = 9_007_199_254_740_993_u64;
    let lab = triple(room);
    let audit = lab.audit(&[]).ends_with(3);
    let call = call_of(&audit, "gw-leak");
    let mut members: Vec<_> = audit
        .exchanges()
        .into_iter()
        .filter(|e| e.call_id == call)
        .collect();
    members.sort_by_key(|e| e.role);
    let roles: Vec<&str> = members.iter().map(|e| e.role.as_str()).collect();
    assert_eq!(roles, ["gateway", "decode", "prefill"]);
    for member in &members {
        assert_eq!(
            member.tenant.as_deref(),
            Some("bolt"),
            "{}",
            member.role.as_str()
        );
        assert_eq!(
            member.model.as_deref(),
            Some("m"),
            "{}",
            member.role.as_str()
        );
    }
    assert_eq!(members[1].tenant_kind.as_deref(), Some("call"));
    let room = room.to_string();
    assert!(
        members[1..]
            .iter()
            .all(|e| e.bootstrap_room.as_deref() == Some(&room))
    );
    assert_eq!(audit.verdicts().len(), 3);
    let verdict = audit.verdict("gw-leak");
    assert_eq!(
        (verdict.exposure.as_ref(), verdict.grade.as_ref()),
        ("proven", "confirmed")
    );
    assert_eq!(verdict.source_tenant.as_deref(), Some("acme"));
    assert_eq!(audit.hits("pd_input_length_mismatch"), 1);
    assert_eq!(audit.verdict("gw-other").grade, "cleared");
    // Nothing is compared with its own call: each row's source is outside it.
    let own_call = |id: &str| members.iter().any(|e| e.exchange_id == id);
    for row in audit.overlaps() {
        assert!(!(own_call(&row.exchange_id) && own_call(&row.source_exchange_id)));
    }
    assert_eq!(
        audit.json("report.json")["headline"]["best"]["responses"],
        1
    );
}

#[test]
fn an_id_used_twice_is_told_and_hides_no_leak() {
    let lab = Lab::new();
    let leaked = words(1, 40);
    let mut records = clean(12);
    records.push(exchange("again", "acme", "06:00:00", &leaked, "done"));
    records.push(exchange(
        "again",
        "bolt",
        "06:30:00",
        &words(2, 40),
        &leaked,
    ));
    lab.log("a.jsonl", &records);
    let audit = lab.audit(&[]).ends_with(3);
    let finding = only(
        audit
            .findings()
            .into_iter()
            .filter(|f| f.rule_id == "id_collision"),
    );
    assert!(
        finding.evidence.contains("\"tenants\""),
        "{}",
        finding.evidence
    );
    let mut twice: Vec<_> = audit
        .exchanges()
        .into_iter()
        .filter(|e| e.request_id.as_deref() == Some("again"))
        .collect();
    twice.sort_by_key(|e| e.t_start);
    assert_ne!(twice[0].call_id, twice[1].call_id);
    for e in &twice {
        assert_eq!(e.collision_reason.as_deref(), Some("tenants"));
        assert!(e.collision_id.is_some());
    }
    let leak = |id: &str| only(audit.verdicts().into_iter().filter(|v| v.exchange_id == id));
    let verdict = leak(&twice[1].exchange_id);
    assert_eq!(verdict.grade, "probable");
    assert_eq!(
        verdict.source_exchange_id.as_ref(),
        Some(&twice[0].exchange_id)
    );
    assert_ne!(leak(&twice[0].exchange_id).grade, "probable");
}

#[test]
fn trace_session_and_conversation_never_link() {
    let lab = Lab::new();
    let leaked = words(1, 40);
    let shared = json!({"trace_id": "t-1", "session_id": "s-1", "conversation_id": "c-1"});
    lab.log(
        "a.jsonl",
        &[
            with(
                exchange("source", "acme", "06:00:00", &leaked, "done"),
                shared.clone(),
            ),
            with(
                exchange("leak", "bolt", "06:30:00", &words(2, 40), &leaked),
                shared,
            ),
        ],
    );
    let audit = lab.audit(&[]).ends_with(3);
    assert_ne!(call_of(&audit, "source"), call_of(&audit, "leak"));
    assert_eq!(audit.verdict("leak").grade, "probable");
    assert_eq!(audit.hits("id_collision"), 0);
}

#[test]
fn an_hour_and_a_model_bound_a_call() {
    let lab = Lab::new();
    let at = |id: &str, time: &str, n: u32| {
        let record = exchange(id, "acme", time, &words(n, 20), &words(n + 1, 20));
        with(record, json!({"x_request_id": "x-1"}))
    };
    let late = at("late", "08:30:00", 14);
    let other = with(at("other", "06:15:00", 16), json!({"model": "k"}));
    let unknown = with(
        at("unknown", "08:40:00", 18),
        json!({"model": null, "role": "decode"}),
    );
    let mut records = vec![
        at("first", "06:00:00", 10),
        at("near", "06:30:00", 12),
        late,
        other,
    ];
    records.push(unknown);
    records.extend(clean(30));
    lab.log("a.jsonl", &records);
    let audit = lab.audit(&["--min-assessable", "0"]).ends_with(0);
    let call = |id: &str| call_of(&audit, id);
    assert_eq!(call("first"), call("near"));
    assert_ne!(call("first"), call("late"));
    assert_ne!(call("first"), call("other"));
    // An engine names no model: it belongs to the only one of its hour.
    assert_eq!(call("late"), call("unknown"));
    assert_eq!(audit.hits("id_collision"), 0);
}

#[test]
fn each_choice_is_judged_for_itself() {
    let lab = Lab::new();
    let leaked = words(1, 40);
    lab.log(
        "a.jsonl",
        &[exchange("source", "acme", "06:00:00", &leaked, "done")],
    );
    let choice = |index: u32, text: &str| {
        json!({"index": index, "finish_reason": "stop",
            "message": {"role": "assistant", "content": text}})
    };
    lab.log(
        "b.jsonl",
        &[json!({
            "id": "two", "user_id": "bolt", "timestamp": "2026-09-01T06:30:00Z", "status": 200,
            "request": {"model": "m", "n": 2,
                "messages": [{"role": "user", "content": words(2, 40)}]},
            "response": {"id": "chatcmpl-1", "model": "m",
                "choices": [choice(0, &words(3, 40)), choice(1, &leaked)],
                "usage": {"prompt_tokens": 60, "completion_tokens": 80}},
        })],
    );
    let audit = lab.audit(&[]).ends_with(3);
    let mut pair: Vec<_> = audit.exchanges();
    pair.retain(|e| e.source_format == "openai");
    pair.sort_by_key(|e| e.choice);
    let choices: Vec<i32> = pair.iter().map(|e| e.choice).collect();
    assert_eq!(choices, [0, 1]);
    assert_eq!(pair[0].call_id, pair[1].call_id);
    assert_ne!(pair[0].exchange_id, pair[1].exchange_id);
    let grade = |id: &str| {
        let found = audit.verdicts().into_iter();
        only(found.filter(|v| v.exchange_id == id))
            .grade
            .into_owned()
    };
    assert_eq!(grade(&pair[0].exchange_id), "cleared");
    assert_eq!(grade(&pair[1].exchange_id), "probable");
    let outside = &audit.json("report.json")["outside"]["probable"];
    assert_eq!(
        (&outside["responses"], &outside["calls"]),
        (&json!(1), &json!(1))
    );
}

#[test]
fn every_retry_that_leaks_counts() {
    let lab = Lab::new();
    let (leaked, own) = (words(1, 40), words(2, 40));
    let mut records = vec![exchange("source", "acme", "06:00:00", &leaked, "done")];
    // Two retries under ids of their own, two attempts of one call.
    for (n, x) in ["x-1", "x-2", "x-3", "x-3"].into_iter().enumerate() {
        let time = format!("06:3{n}:00");
        let record = exchange(&format!("try-{n}"), "bolt", &time, &own, &leaked);
        records.push(with(
            record,
            json!({"x_request_id": x, "prompt_tokens": 690_000}),
        ));
    }
    lab.log("a.jsonl", &records);
    lab.write(
        "pentimento.toml",
        "[[deployment]]\nmodel = \"m\"\npool_tokens = 681280\n",
    );
    let audit = lab.audit(&[]).ends_with(3);
    for n in 0..4 {
        let verdict = audit.verdict(&format!("try-{n}"));
        assert_eq!(verdict.grade, "confirmed", "try-{n}");
        assert_eq!(verdict.source_tenant.as_deref(), Some("acme"), "try-{n}");
    }
    let floor = &audit.json("report.json")["headline"]["floor"];
    assert_eq!(
        (&floor["responses"], &floor["calls"]),
        (&json!(4), &json!(3))
    );
}

#[test]
fn too_many_attempts_are_no_call() {
    let lab = Lab::new();
    let mut records = clean(12);
    for n in 0..9 {
        let time = format!("06:0{n}:00");
        let record = exchange(
            &format!("try-{n}"),
            "acme",
            &time,
            &words(50 + n, 20),
            "fine",
        );
        records.push(with(record, json!({"x_request_id": "one"})));
    }
    lab.log("a.jsonl", &records);
    let audit = lab.audit(&[]);
    assert_eq!(audit.hits("id_collision"), 1, "{}", audit.said());
    let reason = audit.exchange("try-0").collision_reason;
    assert_eq!(reason.as_deref(), Some("attempts"));
    assert_ne!(call_of(&audit, "try-0"), call_of(&audit, "try-1"));
}

/// A logged header may be anything; only those that a priority names are a tenant. One taken by
/// mistake would set the engine's record against the gateway's, and break the call apart.
#[test]
fn the_name_of_a_client_program_is_no_tenant() {
    let lab = Lab::new();
    let (leaked, own) = (words(1, 40), words(2, 40));
    let source = exchange("source", "acme", "06:00:00", &leaked, "done");
    let leak = exchange("leak", "bolt", "06:30:00", &own, &leaked);
    let leak = with(leak, json!({"x_request_id": "x-1"}));
    lab.log("gateway.jsonl", &[source, leak]);
    let mut record = engine("d-1", 7, "x-1", (&own, &leaked), (1_000, 40));
    record["headers"]["user-agent"] = json!("curl/8.5");
    lab.log("eu-decode-1_0.log", &[record]);
    let audit = lab.audit(&[]).ends_with(3);
    assert_eq!(audit.hits("id_collision"), 0);
    assert_eq!(audit.verdicts().len(), 2);
    let decode = only(
        audit
            .exchanges()
            .into_iter()
            .filter(|e| e.role.as_str() == "decode"),
    );
    assert_eq!(decode.tenant.as_deref(), Some("bolt"));
    assert_eq!(decode.call_id, call_of(&audit, "leak"));
}

/// A list of a gateway is one record and many calls.
#[test]
fn calls_of_one_record_stay_apart() {
    let lab = Lab::new();
    let item = |id: &str, user: &str| {
        json!({"id": id, "cached": false, "created_at": "2026-09-11T08:30:05.000Z",
            "duration": 41_210, "model": "@cf/m-large", "path": "v1/chat/completions",
            "provider": "workers-ai", "success": true, "tokens_in": 90, "tokens_out": 24,
            "metadata": format!("{{\"user_id\":\"{user}\"}}"), "model_type": "text",
            "request_type": "chat", "status_code": 200, "step": 0})
    };
    let list = json!({"result": [item("01K5AC1", "u-1"), item("01K5AC2", "u-2")],
        "result_info": {"page": 1}, "success": true, "errors": [], "messages": []});
    lab.write("logs/list.json", list.to_string());
    let audit = lab.audit(&["--fail-on", "never"]);
    let (one, two) = (audit.exchange("01K5AC1"), audit.exchange("01K5AC2"));
    assert_ne!(one.call_id, two.call_id);
    assert_eq!(one.tenant.as_deref(), Some("u-1"));
    assert_eq!(two.tenant.as_deref(), Some("u-2"));
    assert_eq!(audit.hits("id_collision"), 0);
}
