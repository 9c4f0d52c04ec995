//! What the engines say of themselves: found without a word of text in any log, and silence where
//! nothing happened.

use crate::kit::{Audit, Lab, pentimento, rows, stderr, stdout};
use pentimento_store::rows::EngineEventRow;
use serde_json::Value;
use std::collections::BTreeSet;

const LEAKS: usize = 40;

fn scenario(name: &str) -> (Lab, BTreeSet<String>) {
    let lab = Lab::bare();
    let leaks = LEAKS.to_string();
    let out = lab.text(".");
    let done = pentimento(&[
        "simulate", name, "--out", &out, "--seed", "7", "--leaks", &leaks,
    ]);
    assert!(done.status.success(), "{}", stderr(&done));
    let labels = std::fs::read_to_string(lab.path("labels.jsonl")).unwrap();
    let planted = labels
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|label| label["label"] == "leak")
        .map(|label| label["request_id"].as_str().unwrap().to_owned())
        .collect();
    (lab, planted)
}

/// Requests that a rule accuses.
fn accused(audit: &Audit, rule: &str) -> BTreeSet<String> {
    let found = audit.findings().into_iter().filter(|f| f.rule_id == rule);
    found.filter_map(|f| f.request_id).collect()
}

fn threshold(audit: &Audit) -> Vec<Value> {
    let case = audit.case.to_str().unwrap();
    let done = pentimento(&[
        "query",
        "run",
        "threshold",
        "--case",
        case,
        "--format",
        "json",
    ]);
    assert!(done.status.success(), "{}", stderr(&done));
    let text = stdout(&done);
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Array(rows)) => rows,
        _ => text
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect(),
    }
}

#[test]
fn every_short_handover_is_found_without_text() {
    let (lab, planted) = scenario("engine-testimony");
    assert_eq!(planted.len(), LEAKS);
    let audit = lab.audit(&[]).ends_with(3);
    assert_eq!(accused(&audit, "pd_input_length_mismatch"), planted);
    assert_eq!(accused(&audit, "impossible_first_token"), planted);
    // The pool is known from the start-up line alone, and only the planted are over it.
    assert_eq!(accused(&audit, "over_pool_accepted"), planted);
    let refused = accused(&audit, "rejected_but_answered");
    assert!(!refused.is_empty() && refused.is_subset(&planted));
    assert_eq!(audit.hits("pd_mismatch_without_call"), 0);
    let exposed = audit.verdicts().into_iter();
    let exposed = exposed.filter(|v| v.exposure == "proven");
    let exposed: BTreeSet<String> = exposed.map(|v| v.request_id.unwrap()).collect();
    assert_eq!(exposed, planted);
    let epochs = audit.capacity();
    let prefill = epochs
        .iter()
        .find(|e| e.node.as_deref() == Some("glm-prefill-1"))
        .unwrap();
    assert_eq!(prefill.pool_tokens, Some(681_280));
    assert_eq!(prefill.reject_at_tokens, Some(681_274));
    assert_eq!(prefill.page_tokens, Some(64));
    assert_eq!(prefill.mode.as_deref(), Some("disaggregated"));
    assert!(prefill.source.contains("engine log"), "{}", prefill.source);
    assert_eq!(audit.hits("window_exceeds_pool"), 1);
    let events: Vec<EngineEventRow> = rows(&audit.case);
    assert!(events.iter().filter(|e| e.kind == "req_time_stats").count() > 2 * LEAKS);
    // The data bracket the limit.
    let all = threshold(&audit);
    let all = all.iter().find(|row| row["node"] == "all nodes").unwrap();
    let at = |name: &str| all[name].as_i64().unwrap();
    assert!(at("longest_clean_tokens") < 681_274 && 681_274 <= at("shortest_dirty_tokens"));
    assert!(at("implied_pool_from_tokens") <= 681_280 && 681_280 <= at("implied_pool_to_tokens"));
    assert_eq!((at("clean_from_there"), at("dirty_below")), (0, 0));
    assert!(all["log10_p"].as_f64().unwrap() < -20.0, "{all}");
}

#[test]
fn a_gateway_that_lost_the_room_is_joined_by_lengths() {
    let (lab, planted) = scenario("lost-rooms");
    let audit = lab.audit(&[]).ends_with(3);
    assert_eq!(accused(&audit, "pd_input_length_mismatch"), planted);
}

#[test]
fn short_prompts_leak_through_late_grammars() {
    let (lab, planted) = scenario("grammar-timeouts");
    let audit = lab.audit(&[]).ends_with(3);
    assert_eq!(accused(&audit, "pd_input_length_mismatch"), planted);
    assert_eq!(accused(&audit, "over_pool_accepted").len(), 0);
    let refused = accused(&audit, "rejected_but_answered");
    assert!(!refused.is_empty() && refused.is_subset(&planted));
}

#[test]
fn a_bystander_of_an_abort_is_no_stranger() {
    let (lab, planted) = scenario("late-writes");
    assert_eq!(planted.len(), LEAKS);
    let audit = lab.audit(&[]).ends_with(3);
    assert_eq!(accused(&audit, "abort_neighbour"), planted);
    assert_eq!(accused(&audit, "pd_input_length_mismatch").len(), 0);
    let grades = audit
        .verdicts()
        .into_iter()
        .filter(|v| v.grade == "confirmed");
    let confirmed: BTreeSet<String> = grades.map(|v| v.request_id.unwrap()).collect();
    assert_eq!(confirmed, planted);
}

#[test]
fn a_healthy_week_is_silent() {
    let (lab, planted) = scenario("healthy-week");
    assert!(planted.is_empty());
    // Nothing can be said of texts that are not there; that is no finding.
    let audit = lab.audit(&[]).ends_with(4);
    let found = audit.findings();
    assert!(
        found.is_empty(),
        "{} {}",
        found[0].rule_id,
        found[0].evidence
    );
    assert!(threshold(&audit).is_empty());
}

#[test]
fn engines_and_configuration_that_disagree_are_told() {
    let (lab, _) = scenario("engine-testimony");
    let config = "[time]\nassume_timezone = \"UTC\"\n[[deployment]]\nnode = \"glm-prefill-1\"\n\
                  role = \"prefill\"\nmode = \"pd\"\nengine = \"sglang\"\n\
                  pool_tokens = 900_000\nwindow_tokens = 1_048_576\n";
    lab.write("pentimento.toml", config);
    let audit = lab.audit(&[]).ends_with(3);
    assert_eq!(audit.hits("capacity_contradiction"), 1);
    let pools: BTreeSet<_> = audit
        .capacity()
        .into_iter()
        .filter(|e| e.node.as_deref() == Some("glm-prefill-1"))
        .map(|e| e.pool_tokens)
        .collect();
    assert_eq!(pools, BTreeSet::from([Some(681_280), Some(900_000)]));
}

#[test]
fn advisories_are_matched_against_what_ran() {
    let (lab, _) = scenario("engine-testimony");
    let audit = lab.audit(&[]).ends_with(3);
    let case = audit.case.to_str().unwrap();
    let done = pentimento(&["advisories", "match", "--case", case]);
    assert!(done.status.success(), "{}", stderr(&done));
    let text = stdout(&done);
    // The start-up lines name no version.
    let line = text.lines().find(|l| l.contains("PEN-SGL-001")).unwrap();
    assert!(
        line.contains("cannot tell") && line.contains("version is not known"),
        "{line}"
    );
    let listed = stdout(&pentimento(&["advisories", "list"]));
    assert_eq!(listed.lines().count(), 41);
    assert!(pentimento(&["advisories", "lint"]).status.success());
    lab.write(
        "own.json",
        "{\"schema\":\"pentimento-advisories/1\",\"advisories\":[{}]}",
    );
    let own = lab.text("own.json");
    assert_eq!(
        pentimento(&["advisories", "lint", &own]).status.code(),
        Some(2)
    );
}
