//! Each rule on tiny cases: what hits, what does not, and what the finding says.

use super::fixture::{at, exchange, overlap, session, source};
use super::session::CaseSession;
use pentimento_store::rows::FindingRow;
use serde_json::{Value, json};

fn findings(session: &mut CaseSession, rule: &str) -> Vec<FindingRow> {
    let runs = session.run_rules().unwrap();
    let ids: Vec<&str> = runs.iter().map(|r| r.rule.id).collect();
    assert!(ids.is_sorted());
    runs.into_iter()
        .find(|run| run.rule.id == rule)
        .map(|run| run.rows)
        .unwrap()
}

fn evidence(finding: &FindingRow) -> Value {
    serde_json::from_str(&finding.evidence).unwrap()
}

#[test]
fn an_empty_case_has_no_findings_and_every_rule_runs() {
    let mut session = session(&[], &[], &[]);
    let runs = session.run_rules().unwrap();
    assert!(runs.len() >= 7);
    assert!(runs.iter().all(|run| run.rows.is_empty()));
    assert!(session.run_verdicts().unwrap().is_empty());
}

#[test]
fn over_pool_accepted() {
    let exchanges = [
        exchange("a", &json!({"prompt_tokens": 681_274})),
        exchange("b", &json!({"prompt_tokens": 681_281})),
        exchange("c", &json!({"prompt_tokens": 681_273})),
        exchange("d", &json!({"prompt_tokens": 700_000, "in_window": false})),
    ];
    let found = findings(&mut session(&exchanges, &[], &[]), "over_pool_accepted");
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].exchange_id.as_deref(), Some("a"));
    assert_eq!(found[0].request_id.as_deref(), Some("r-a"));
    assert_eq!(found[0].call_id.as_deref(), Some("c-a"));
    assert_eq!(found[0].tenant.as_deref(), Some("acme"));
    assert_eq!(found[0].severity, "medium");
    assert_eq!(found[0].exposure.as_deref(), Some("likely"));
    assert_eq!(found[0].disclosure, None);
    assert_eq!(found[0].event_time, Some(1_788_221_800_000_000));
    assert_eq!(evidence(&found[0])["over_pool"], false);
    assert_eq!(evidence(&found[1])["over_pool"], true);
    assert_eq!(evidence(&found[1])["prompt_tokens"], 681_281);
    assert!(
        found[0]
            .evidence
            .starts_with(r#"{"band":false,"capacity_id":"k1","#)
    );
}

#[test]
fn pd_input_length_mismatch() {
    let room = "9223372036854775807";
    let side = |role: &str, tokens: i64| {
        json!({"call_id": "c", "role": role, "prompt_tokens": tokens, "bootstrap_room": room,
            "delivered": false, "node": format!("{role}-1"), "judged": false})
    };
    let mut exchanges = vec![
        exchange("g", &json!({"call_id": "c", "prompt_tokens": 1000})),
        exchange("p", &side("prefill", 1)),
        exchange("d", &side("decode", 1000)),
    ];
    let found = findings(
        &mut session(&exchanges, &[], &[]),
        "pd_input_length_mismatch",
    );
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].exchange_id.as_deref(), Some("g"));
    assert_eq!(
        (found[0].severity.as_ref(), found[0].exposure.as_deref()),
        ("high", Some("proven"))
    );
    let shown = evidence(&found[0]);
    assert_eq!(shown["bootstrap_room"], room);
    assert_eq!(shown["prefill_prompt_tokens"], 1);
    assert_eq!(shown["decode_node"], "decode-1");
    let mut case = session(&exchanges, &[overlap("g", &json!({}))], &[]);
    case.run_rules().unwrap();
    let verdict = &case.run_verdicts().unwrap()[0];
    assert_eq!(
        (verdict.grade.as_ref(), verdict.exposure.as_ref()),
        ("confirmed", "proven")
    );

    exchanges.remove(0);
    let found = findings(
        &mut session(&exchanges, &[], &[]),
        "pd_input_length_mismatch",
    );
    assert_eq!(found[0].exchange_id.as_deref(), Some("d"));
    exchanges[0]["prompt_tokens"] = 1000.into();
    assert!(
        findings(
            &mut session(&exchanges, &[], &[]),
            "pd_input_length_mismatch"
        )
        .is_empty()
    );
    exchanges[0]["prompt_tokens"] = Value::Null;
    assert!(
        findings(
            &mut session(&exchanges, &[], &[]),
            "pd_input_length_mismatch"
        )
        .is_empty()
    );
}

#[test]
fn foreign_overlap_gives_one_finding_per_answer_tenant_and_side() {
    let long = json!({"prompt_tokens": 700_000});
    let exchanges = [exchange("e", &long), source(&json!({}))];
    let overlaps = [
        overlap(
            "e",
            &json!({"novel_weight": 30, "response_start": 200, "response_end": 260}),
        ),
        overlap(
            "e",
            &json!({"novel_weight": 80, "response_start": 300, "response_end": 460}),
        ),
        overlap(
            "e",
            &json!({"source_side": "response", "source_field": "tool"}),
        ),
    ];
    let mut case = session(&exchanges, &overlaps, &[]);
    let found = findings(&mut case, "foreign_prompt_overlap");
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].severity.as_ref(), found[0].disclosure.as_deref()),
        ("critical", Some("proven"))
    );
    let shown = evidence(&found[0]);
    assert_eq!(
        (&shown["novel_weight"], &shown["spans"]),
        (&json!(80), &json!(2))
    );
    assert_eq!(shown["order"], "before");
    let found = findings(&mut case, "foreign_response_overlap");
    assert_eq!(found.len(), 1);
    assert_eq!(evidence(&found[0])["source_field"], "tool");
    let verdict = &case.run_verdicts().unwrap()[0];
    assert_eq!(verdict.findings, 3);
}

#[test]
fn a_victims_copy_does_not_stand_for_the_owner() {
    let exchanges = [
        exchange("e", &json!({"prompt_tokens": 700_000})),
        source(&json!({})),
        exchange(
            "v",
            &json!({"tenant": "victim", "in_window": false, "t_start": at(990)}),
        ),
    ];
    let owner = overlap("e", &json!({}));
    let victim = overlap(
        "e",
        &json!({"source_exchange_id": "v", "source_tenant": "victim",
        "source_side": "response", "source_carries": false, "novel_weight": 44}),
    );
    let mut case = session(&exchanges, &[owner, victim.clone()], &[]);
    assert_eq!(findings(&mut case, "foreign_prompt_overlap").len(), 1);
    assert!(findings(&mut case, "foreign_response_overlap").is_empty());
    let verdict = &case.run_verdicts().unwrap()[0];
    assert_eq!(verdict.source_tenant.as_deref(), Some("globex"));
    // Alone it is all there is.
    let mut case = session(&exchanges, &[victim], &[]);
    assert_eq!(findings(&mut case, "foreign_response_overlap").len(), 1);
}

#[test]
fn window_exceeds_pool() {
    let epoch = |id: &str, role: Value, mode: Value, pool: i64| {
        json!({"capacity_id": id, "role": role, "mode": mode, "pool_tokens": pool,
            "window_tokens": 1_048_576, "reject_at_tokens": pool - 6, "source": "config"})
    };
    let capacity = [
        epoch("a", json!("prefill"), json!("disaggregated"), 681_280),
        epoch("b", json!(null), json!(null), 681_280),
        epoch("c", json!("unified"), json!("unified"), 681_280),
        epoch("d", json!("decode"), json!("disaggregated"), 681_280),
        epoch("e", json!("prefill"), json!("disaggregated"), 1_048_576),
    ];
    let found = findings(&mut session(&[], &[], &capacity), "window_exceeds_pool");
    let mut ids: Vec<(String, bool)> = found
        .iter()
        .map(|f| {
            let id = evidence(f)["capacity_id"].as_str().unwrap().to_owned();
            (id, f.title.contains("mode unknown"))
        })
        .collect();
    ids.sort();
    assert_eq!(ids, [("a".to_owned(), false), ("b".to_owned(), true)]);
    assert!(
        found
            .iter()
            .all(|f| f.exchange_id.is_none() && f.severity == "medium")
    );
    assert_eq!(evidence(&found[0])["exposed_from_tokens"], 681_274);
    assert_eq!(evidence(&found[0])["exposed_below_tokens"], 1_048_576);
}

#[test]
fn id_collision() {
    let mark = |tenant: &str, second: i64| {
        json!({"collision_id": "x1", "collision_reason": "tenants", "tenant": tenant,
            "t_start": at(second)})
    };
    let exchanges = [
        exchange("a", &mark("acme", 30)),
        exchange("b", &mark("globex", 20)),
        exchange("c", &json!({})),
    ];
    let found = findings(&mut session(&exchanges, &[], &[]), "id_collision");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].exchange_id.as_deref(), Some("b"));
    assert_eq!(found[0].severity, "low");
    let shown = evidence(&found[0]);
    assert_eq!(
        (&shown["exchanges"], &shown["tenants"]),
        (&json!(2), &json!(2))
    );
}

#[test]
fn runs_are_repeatable() {
    let exchanges = [
        exchange("e", &json!({"prompt_tokens": 700_000})),
        source(&json!({})),
    ];
    let mut case = session(&exchanges, &[overlap("e", &json!({}))], &[]);
    let all = |case: &mut CaseSession| -> Vec<FindingRow> {
        case.run_rules()
            .unwrap()
            .into_iter()
            .flat_map(|r| r.rows)
            .collect()
    };
    let first = all(&mut case);
    assert_eq!(first, all(&mut case));
    assert_eq!(case.run_verdicts().unwrap(), case.run_verdicts().unwrap());
}
