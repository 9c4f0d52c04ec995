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
fn short_prompts_leak_through_failed_pictures() {
    let (lab, planted) = scenario("failed-images");
    let audit = lab.audit(&[]).ends_with(3);
    assert_eq!(accused(&audit, "pd_input_length_mismatch"), planted);
    let refused = accused(&audit, "rejected_but_answered");
    assert!(!refused.is_empty() && refused.is_subset(&planted));
    let events: Vec<EngineEventRow> = rows(&audit.case);
    assert!(events.iter().any(|e| e.kind == "multimodal_rejected"));
}

/// The same long prompts on four kinds of nodes: only the exposed one is accused, and the others
/// stand in the report as its negative control.
#[test]
fn of_a_mixed_fleet_only_the_exposed_nodes_are_accused() {
    let (lab, planted) = scenario("mixed-fleet");
    assert_eq!(planted.len(), LEAKS);
    let audit = lab.audit(&[]).ends_with(3);
    let calls = audit.findings().into_iter().filter_map(|f| f.request_id);
    assert_eq!(calls.collect::<BTreeSet<_>>(), planted);
    assert_eq!(accused(&audit, "pd_input_length_mismatch"), planted);
    let report = audit.json("report.json");
    let control = report["testimony"]["long_control"].as_array().unwrap();
    let of = |served: &str| {
        let rows = control.iter().filter(|row| row["served"] == served);
        rows.fold((0, 0), |(calls, found), row| {
            let number = |key: &str| row[key].as_i64().unwrap();
            (calls + number("calls"), found + number("with_finding"))
        })
    };
    let leaks = LEAKS as i64;
    assert_eq!(of("over_the_limit"), (leaks, leaks), "{control:?}");
    for served in ["refused", "pool_holds_it", "one_process"] {
        let (calls, found) = of(served);
        // A few of the drawn lengths lie below the shortest of those over the limit.
        assert!(calls > leaks / 2 && found == 0, "{served} {control:?}");
    }
    assert!(
        audit
            .file("report.md")
            .contains("control: one process does both")
    );
}

#[test]
fn another_conversations_blocks_are_found_below_any_limit() {
    let (lab, planted) = scenario("offload-mixup");
    assert_eq!(planted.len(), LEAKS);
    let audit = lab.audit(&[]).ends_with(3);
    let verdicts = audit.verdicts();
    let shown = verdicts
        .iter()
        .filter(|v| ["confirmed", "probable"].contains(&&*v.grade));
    let shown: Vec<_> = shown.collect();
    let ids: BTreeSet<String> = shown
        .iter()
        .map(|v| v.request_id.clone().unwrap())
        .collect();
    assert_eq!(ids, planted);
    assert!(shown.iter().all(|v| v.cause.as_deref() == Some("kv_leak")));
    // No pool is to blame: the prompts are short and nothing was handed over short.
    for rule in [
        "over_pool_accepted",
        "pd_input_length_mismatch",
        "abort_neighbour",
    ] {
        assert_eq!(audit.hits(rule), 0, "{rule}");
    }
}

/// The incident with what the engines print: phases, threshold and habits of the report.
#[test]
fn the_replayed_incident_with_its_engines_stdout() {
    let (lab, planted) = scenario("glm53-engine");
    let audit = lab.audit(&[]).ends_with(3);
    let report = audit.json("report.json");
    assert_eq!(report["headline"]["best"]["responses"], LEAKS);
    let exposed = accused(&audit, "pd_input_length_mismatch");
    assert!(planted.is_subset(&exposed) && exposed.len() < planted.len() + 20);
    let testimony = &report["testimony"];
    let phases = testimony["phases"].as_array().unwrap();
    let of = |name: &str, key: &str| {
        let phase = phases.iter().find(|p| p["name"] == name).unwrap();
        phase[key].as_i64().unwrap()
    };
    assert_eq!(
        of("exposed", "confirmed") + of("exposed", "probable"),
        LEAKS as i64
    );
    for key in ["confirmed", "probable", "possible", "over_limit"] {
        assert_eq!(of("restored", key), 0, "{key}");
        assert_eq!(of("in no phase", key), 0, "{key}");
    }
    assert!(of("restored", "as_long") > 0 && of("restored", "responses") > 10);
    let timeline = report["timeline"].as_array().unwrap().iter();
    let days: i64 = timeline.map(|day| day["responses"].as_i64().unwrap()).sum();
    let sum: i64 = phases
        .iter()
        .map(|p| p["responses"].as_i64().unwrap())
        .sum();
    assert_eq!(sum, days);
    let told = audit.file("report.md");
    assert!(
        told.contains("Has it stopped?") && told.contains("still be compatible"),
        "{told}"
    );
    // Without asking the configuration, within the gap of the data, on all nodes and on each.
    let thresholds = testimony["thresholds"].as_array().unwrap();
    assert!(thresholds.len() >= 2);
    for row in thresholds {
        let at = |key: &str| row[key].as_i64().unwrap();
        assert!(at("longest_clean_tokens") < 681_274, "{row}");
        assert!(at("shortest_dirty_tokens") >= 681_274, "{row}");
        if row["node"] == "all nodes" {
            assert!(
                at("implied_pool_to_tokens") - at("implied_pool_from_tokens") < 4_000,
                "{row}"
            );
            assert!(row["log10_p"].as_f64().unwrap() < -20.0, "{row}");
        }
    }
    // Nothing of what the fixed engine refused is accused.
    for row in testimony["long_control"].as_array().unwrap() {
        let silent = row["served"] == "over_the_limit" || row["with_finding"] == 0;
        assert!(silent, "{row}");
    }
    let habits = testimony["habits"].as_array().unwrap();
    let readings = ["consistent with normal use", "unusual", "not assessable"];
    assert!(!habits.is_empty());
    for row in habits {
        assert!(readings.iter().any(|r| row["reading"] == *r), "{row}");
    }
    let coverage = testimony["coverage"].as_array().unwrap();
    assert!(coverage.iter().any(|row| row["accounts_are"] == "on"));
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
