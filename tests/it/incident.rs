//! The incident, replayed: the count is exact, and every row of it is the right one.

use crate::kit::{Audit, Lab};
use serde::Deserialize;
use std::collections::BTreeSet;

#[derive(Deserialize)]
struct Label {
    request_id: String,
    label: String,
    kind: String,
    source_tenant: Option<String>,
    excluded: Option<String>,
}

/// Request, source tenant, and why it is counted apart.
type Told = BTreeSet<(String, Option<String>, Option<String>)>;

fn labels(lab: &Lab) -> Vec<Label> {
    let text = std::fs::read_to_string(lab.path("labels.jsonl")).unwrap();
    let read = |line| serde_json::from_str(line).unwrap();
    text.lines().map(read).collect()
}

fn planted(labels: &[Label]) -> Told {
    let leaks = labels.iter().filter(|l| l.label == "leak");
    leaks
        .map(|l| {
            (
                l.request_id.clone(),
                l.source_tenant.clone(),
                l.excluded.clone(),
            )
        })
        .collect()
}

fn found(audit: &Audit) -> Told {
    let shown = |grade: &str| grade == "confirmed" || grade == "probable";
    let verdicts = audit.verdicts().into_iter().filter(|v| shown(&v.grade));
    verdicts
        .map(|v| {
            let id = v.request_id.unwrap();
            (id, v.source_tenant, v.excluded.map(|e| e.into_owned()))
        })
        .collect()
}

fn responses(audit: &Audit, number: &str) -> i64 {
    let report = audit.json("report.json");
    report["headline"][number]["responses"].as_i64().unwrap()
}

/// What must hold of every replay, whatever the number.
fn check(lab: &Lab, audit: &Audit, leaks: usize) {
    let labels = labels(lab);
    assert_eq!(found(audit), planted(&labels));
    let counted = planted(&labels);
    let counted = counted.iter().filter(|(_, _, excluded)| excluded.is_none());
    assert_eq!(counted.count(), leaks);
    for number in ["floor", "best"] {
        assert_eq!(responses(audit, number), leaks as i64, "{number}");
    }
    let silent = labels
        .iter()
        .filter(|l| l.kind == "over_limit_no_text" && l.excluded.is_none());
    let silent: BTreeSet<&str> = silent.map(|l| l.request_id.as_str()).collect();
    assert!(!silent.is_empty());
    assert_eq!(
        responses(audit, "ceiling"),
        (leaks + silent.len()) as i64,
        "the ceiling adds what was over the limit and shows nothing"
    );
    for verdict in audit.verdicts() {
        let id = verdict.request_id.as_deref().unwrap();
        if silent.contains(id) {
            assert_eq!(verdict.grade, "possible", "{id}");
        }
    }
    let tallies = &audit.json("case.json")["tallies"]["total"];
    let of = |key: &str| tallies[key].as_i64().unwrap();
    let parts = [
        "exchange",
        "event",
        "other",
        "rejected",
        "duplicate",
        "out_of_window",
    ];
    assert_eq!(of("read"), parts.into_iter().map(of).sum::<i64>());
    assert_eq!(of("rejected"), 0);
}

#[test]
fn every_seed_gives_155_and_the_right_rows() {
    for seed in [1, 2, 3] {
        let lab = Lab::incident(seed, 155);
        let audit = lab.audit(&[]).ends_with(3);
        check(&lab, &audit, 155);
        let apart = planted(&labels(&lab));
        let kinds: BTreeSet<&str> = apart.iter().filter_map(|t| t.2.as_deref()).collect();
        assert_eq!(kinds, BTreeSet::from(["internal", "researcher"]));
        // The days of the table of tenants and of the timeline stand on this.
        let last = audit.exchanges().iter().filter_map(|e| e.t_end).max();
        let end = jiff::Timestamp::from_microsecond(last.unwrap()).unwrap();
        let report = audit.json("report.json");
        assert_eq!(report["header"]["period_end"], end.to_string());
    }
}

#[test]
fn any_other_number_is_found_as_exactly() {
    for leaks in [1, 17, 400] {
        let lab = Lab::incident(7, leaks);
        let audit = lab.audit(&[]).ends_with(3);
        check(&lab, &audit, leaks as usize);
    }
}

/// Prefill and decode disagree on the length of what was over the limit: that is proof of exposure
/// and a finding of high severity, whether or not text shows. So a replay without leaks ends with
/// 3, and says that nothing was confirmed.
#[test]
fn without_leaks_the_exposure_is_still_reported() {
    let lab = Lab::incident(7, 0);
    let audit = lab.audit(&[]).ends_with(3);
    check(&lab, &audit, 0);
    assert!(audit.hits("pd_input_length_mismatch") > 0);
    let sentence = audit.file("report.md");
    assert!(!sentence.contains("**Foreign text found"), "{sentence}");
    let audit = lab.audit(&["--fail-on", "critical"]);
    assert!(audit.findings().iter().all(|f| f.severity != "critical"));
    assert_ne!(audit.code(), 3, "{}", audit.said());
}
