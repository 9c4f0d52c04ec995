//! What a report says of each kind of result, and that a clean one never says too much.

use super::sample::sample;
use crate::report::RENDERERS;
use crate::report::finding::RuleRow;
use crate::report::model::{Assessability, Extent, Mismatch, Report, SourceRow, Status};
use crate::report::wording::{group, percent, ratio, verdict_sentence};

fn extent(responses: i64, receiving_tenants: i64, source_tenants: i64) -> Extent {
    Extent {
        responses,
        calls: responses,
        receiving_tenants,
        source_tenants,
    }
}

/// Nothing found; so many of so many responses and calls assessed.
fn clean(assessed: i64, all: i64) -> Report {
    let mut report = Report::default();
    report.header.status = Status {
        complete: true,
        exit_code: 0,
        reason: None,
    };
    report.headline.capacity_known = true;
    report.assessability = Assessability {
        calls: all,
        calls_seen: assessed,
        responses: all,
        responses_assessed: assessed,
        required_share: 0.9,
        ..Assessability::default()
    };
    report
}

#[test]
fn a_clean_result_says_of_how_many() {
    for (assessed, all, words) in [
        (
            1_234,
            1_234,
            "No foreign text found in 1,234 of 1,234 responses that could be assessed.",
        ),
        (
            1,
            1,
            "No foreign text found in 1 of 1 response that could be assessed.",
        ),
        (
            95,
            100,
            "No foreign text found in 95 of 95 responses that could be assessed. 5 of 100 \
             responses could not be assessed.",
        ),
        (
            90,
            100,
            "No foreign text found in 90 of 90 responses that could be assessed. 10 of 100 \
             responses could not be assessed.",
        ),
    ] {
        assert_eq!(verdict_sentence(&clean(assessed, all)), words);
    }
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
#[test]
fn unfit_logs_are_not_assessable() {
    type Change = fn(&mut Report);
    let cases: [(&str, Change, &str); 9] = [
        (
            "none",
            |r| r.assessability.responses_assessed = 0,
            "none of 100 responses",
        ),
        (
            "no response",
            |r| r.assessability = Assessability::default(),
            "no delivered response",
        ),
        (
            "few calls",
            |r| r.assessability.calls_seen = 89,
            "only 89 of 100 calls were seen",
        ),
        (
            "few responses",
            |r| r.assessability.responses_assessed = 89,
            "only 89 of 100 responses could be assessed (90% is required)",
        ),
        (
            "trigger",
            |r| r.assessability.triggered_unassessed = 1,
            "1 response at or over",
        ),
        (
            "incomplete",
            |r| {
                r.header.status = Status {
                    complete: false,
                    exit_code: 4,
                    reason: None,
                }
            },
            "evidence incomplete: the run is incomplete",
        ),
        (
            "rules",
            |r| {
                r.rules = vec![RuleRow {
                    skipped: Some("x".into()),
                    ..RuleRow::default()
                }]
            },
            "no rule ran",
        ),
        (
            "tally",
            |r| {
                r.sources = vec![SourceRow {
                    records_read: 2,
                    ..SourceRow::default()
                }]
            },
            "does not sum",
        ),
        (
            "overflow",
            |r| {
                r.sources = vec![SourceRow {
                    records_exchange: i64::MAX,
                    records_event: i64::MAX,
                    ..SourceRow::default()
                }]
            },
            "does not sum",
        ),
    ];
    for (name, change, words) in cases {
        let mut report = clean(100, 100);
        change(&mut report);
        let said = verdict_sentence(&report);
        assert!(said.starts_with("Not assessable: "), "{name}: {said}");
        assert!(said.contains(words), "{name}: {said}");
        let report = report.finish();
        for format in RENDERERS {
            let text = String::from_utf8(format.render(&report).unwrap())
                .unwrap()
                .to_lowercase();
            for bad in ["no leak", "no foreign text found in", "nothing to do now"] {
                assert!(!text.contains(bad), "{name}, {}: {bad}", format.file_name());
            }
            assert!(text.contains("not assessable"), "{name}");
        }
    }
}

#[test]
fn what_was_found_is_said_first() {
    let mut report = clean(100, 100);
    report.headline.floor = extent(155, 23, 19);
    report.headline.best = extent(160, 24, 19);
    report.headline.ceiling = extent(1_177, 30, 19);
    assert_eq!(
        verdict_sentence(&report),
        "Foreign text found: 155 responses are confirmed to show another tenant's text, received \
         by 23 tenants and showing the text of 19 tenants. Best estimate 160, at most 1,177."
    );
    report.headline.floor = extent(1, 1, 1);
    assert!(verdict_sentence(&report).starts_with(
        "Foreign text found: 1 response is confirmed to show another tenant's text, received by \
         1 tenant and showing the text of 1 tenant."
    ));
    // Findings stand on incomplete evidence too, and that is said.
    report.header.status = Status {
        complete: false,
        exit_code: 3,
        reason: Some("too many rejects".into()),
    };
    let said = verdict_sentence(&report);
    assert!(said.starts_with("Foreign text found: "), "{said}");
    assert!(
        said.ends_with("The evidence is incomplete: too many rejects."),
        "{said}"
    );
}

#[test]
fn results_between_found_and_clean() {
    let mut report = clean(100, 100);
    report.headline.ceiling = extent(1, 1, 0);
    assert!(verdict_sentence(&report).ends_with(
        "1 response was exposed (computed on memory that may have held other text) and stays \
         possible."
    ));
    report.outside.probable = extent(2, 1, 1);
    let said = verdict_sentence(&report);
    assert!(
        said.contains("2 responses are outside the known exposure"),
        "{said}"
    );
    report.headline.best = extent(1, 1, 1);
    assert!(verdict_sentence(&report).starts_with("Foreign text is probable: "));
    let mut report = clean(100, 100);
    report.headline.capacity_known = false;
    assert!(verdict_sentence(&report).contains("No pool capacity is known"));
}

#[test]
fn epochs_tell_their_exposed_range() {
    let report = sample(&str::to_owned).finish();
    let epoch = &report.capacity[0];
    assert_eq!(epoch.mismatch, Mismatch::Exposed);
    assert_eq!(
        (epoch.exposed_from, epoch.exposed_to),
        (Some(681_274), Some(1_048_576))
    );
    assert_eq!(report.capacity[1].mismatch, Mismatch::Unified);
    assert_eq!(report.capacity[1].exposed_from, None);
}

#[test]
fn every_part_of_the_model_is_shown() {
    let report = sample(&|word| format!("w{word}w")).finish();
    let mut words = Vec::new();
    let note = std::cell::RefCell::new(&mut words);
    sample(&|word| {
        note.borrow_mut().push(format!("w{word}w"));
        word.to_owned()
    });
    // Not shown: keys and ids for machines, and what a better form replaces.
    let hidden = ["all", "over_pool", "c1", "aa01", "bb02", "spans"].map(|w| format!("w{w}w"));
    for format in RENDERERS {
        let text = String::from_utf8(format.render(&report).unwrap()).unwrap();
        let plain = text
            .replace("&#39;", "'")
            .replace("&#x27;", "'")
            .replace('\\', "");
        for word in words.iter().filter(|word| !hidden.contains(word)) {
            assert!(
                plain.contains(word.as_str()),
                "{} lacks {word}",
                format.file_name()
            );
        }
    }
}

#[test]
fn numbers_read_well() {
    for (number, text) in [
        (0, "0"),
        (999, "999"),
        (1_000, "1,000"),
        (-681_274, "-681,274"),
        (1_048_576, "1,048,576"),
    ] {
        assert_eq!(group(number), text);
    }
    assert_eq!(group(i64::MIN), "-9,223,372,036,854,775,808");
    for (part, whole, text) in [
        (1, 1, "100%"),
        (999_999, 1_000_000, "99.9%"),
        (1, 3, "33.3%"),
        (0, 0, "–"),
        (0, 9, "0%"),
    ] {
        assert_eq!(ratio(part, whole), text);
    }
    assert_eq!(
        (percent(0.9), percent(0.995)),
        ("90%".to_owned(), "99.5%".to_owned())
    );
}
