//! Which answers are searched, and that what is left out is never cleared.

use crate::kit::Lab;
use pentimento_store::rows::{ExchangeRow, OverlapRow};
use std::collections::BTreeSet;

/// Overlap rows of some exchanges, as text that compares.
fn spans(rows: &[OverlapRow], of: &BTreeSet<String>) -> BTreeSet<String> {
    rows.iter()
        .filter(|r| of.contains(&r.exchange_id))
        .map(|r| {
            format!(
                "{} {} {} {} {} {} {} {} {} {}",
                r.exchange_id,
                r.source_exchange_id,
                r.source_side,
                r.field,
                r.response_start,
                r.response_end,
                r.source_start,
                r.novel_tokens,
                r.carriers,
                r.span_hmac
            )
        })
        .collect()
}

fn judged(rows: &[ExchangeRow]) -> BTreeSet<String> {
    let judged = rows.iter().filter(|r| r.judged);
    judged.map(|r| r.exchange_id.clone()).collect()
}

#[test]
fn suspects_are_full_mode_restricted() {
    let lab = Lab::incident(5, 20);
    lab.write("case.key", "5a".repeat(32));
    let key = lab.text("case.key");
    let audit = |run: &str, flags: &[&str]| {
        let case = lab.text(run);
        let mut all = vec!["--case", &case, "--case-key-file", &key];
        all.extend(flags);
        lab.audit(&all).ends_with(3)
    };
    let full = audit("full", &[]);
    let said = full.said();
    assert!(
        said.contains("searched: every response with text"),
        "{said}"
    );

    // An estimate that no limit can meet: auto takes those over the engine's limit and says so.
    let auto = audit("auto", &["--full-within", "0s"]);
    let settings = auto.json("case.json")["settings"].clone();
    assert_eq!(settings["mode"], "suspect", "{settings}");
    let over = judged(&auto.exchanges());
    let over_limit = |r: &&ExchangeRow| r.judged && r.prompt_tokens >= r.reject_at_tokens;
    let expected: BTreeSet<String> = full
        .exchanges()
        .iter()
        .filter(over_limit)
        .map(|r| r.exchange_id.clone())
        .collect();
    assert!(!expected.is_empty());
    assert_eq!(over, expected);
    assert_eq!(settings["responses_searched"], expected.len());
    let said = auto.said();
    assert!(said.contains("--full-within gives 0 s"), "{said}");
    assert_eq!(
        spans(&auto.overlaps(), &over),
        spans(&full.overlaps(), &over),
        "suspect mode is full mode restricted"
    );
    for verdict in auto.verdicts() {
        // A cached answer to the same question is cleared by what it is, not by a search.
        if verdict.grade == "cleared" && verdict.cause.as_deref() != Some("gateway_cache") {
            assert!(over.contains(&verdict.exchange_id), "cleared unseen");
        }
    }

    // One tenant's answers, by a query.
    let some = full.verdicts().into_iter().find(|v| v.grade == "confirmed");
    let tenant = some.and_then(|v| v.tenant).unwrap();
    let sql = format!("SELECT exchange_id FROM exchanges WHERE tenant = '{tenant}'");
    let listed = audit("listed", &["--suspects", &sql]);
    let chosen = judged(&listed.exchanges());
    let rows = full.exchanges();
    let mine = rows.iter().filter(|r| r.judged);
    let mine: BTreeSet<String> = mine
        .filter(|r| r.tenant.as_deref() == Some(tenant.as_str()))
        .map(|r| r.exchange_id.clone())
        .collect();
    assert_eq!(chosen, mine);
    assert_eq!(
        spans(&listed.overlaps(), &mine),
        spans(&full.overlaps(), &mine)
    );
    let unsearched = listed.exchanges();
    let unsearched = unsearched
        .iter()
        .filter(|r| r.unjudged_reason.as_deref() == Some("not_searched"));
    assert_eq!(unsearched.count(), judged(&rows).len() - mine.len());
}

#[test]
fn a_query_that_names_no_answers_is_refused_before_anything_is_read() {
    let lab = Lab::new();
    lab.log("a.jsonl", &crate::kit::clean(4));
    let refused = |flags: &[&str], why: &str| {
        let audit = lab.audit(flags);
        assert_eq!(audit.code(), 2, "{flags:?}: {}", audit.said());
        let said = audit.said();
        assert!(said.contains(why), "{flags:?}: {said}");
        assert!(!lab.path("case").exists(), "{flags:?}");
    };
    refused(&["--suspects", "SELECT 1 AS n"], "no column exchange_id");
    refused(
        &["--suspects", "SELECT 1 AS exchange_id"],
        "exchange_id is no text",
    );
    refused(
        &["--suspects", "SELECT exchange_id FROM nowhere"],
        "nowhere",
    );
    refused(&["--suspects", "DROP TABLE exchanges"], "--suspects");
    refused(
        &[
            "--mode",
            "full",
            "--suspects",
            "SELECT exchange_id FROM exchanges",
        ],
        "leave out one",
    );
    refused(&["--full-within", "soon"], "--full-within");
}
