//! Sections on how the result came about: rules, assessability, reconciliation, linking, method.

use super::Column::{Number, Text};
use super::{Cell, Section, Table, code, line, number, text, time};
use crate::report::model::{Report, SourceRow};
use crate::report::wording::{count, group, percent, ratio};

pub(super) fn sections(report: &Report) -> Vec<Section> {
    vec![
        assessability(report),
        rules(report),
        sources(report),
        linking(report),
        method(report),
        Section {
            id: "limitations",
            title: "Limitations",
            items: report.limitations.iter().map(|limit| line(limit)).collect(),
            ..Section::default()
        },
    ]
}

fn assessability(report: &Report) -> Section {
    let seen = &report.assessability;
    Section {
        id: "assessability",
        title: "What could be assessed",
        notes: vec![
            format!(
                "{} of {} ({}) were seen by a text test; {} is required.",
                group(seen.calls_seen),
                count(seen.calls, "call", "calls"),
                ratio(seen.calls_seen, seen.calls),
                percent(seen.required_share)
            ),
            format!(
                "{} of {} ({}) could be assessed.",
                group(seen.responses_assessed),
                count(seen.responses, "response", "responses"),
                ratio(seen.responses_assessed, seen.responses)
            ),
        ],
        tables: vec![Table::of(
            "Why responses could not be assessed (one may have several reasons)",
            &[Text("Reason"), Number("Responses")],
            &seen.reasons,
            |row| vec![text(&row.reason), number(row.responses)],
        )],
        ..Section::default()
    }
}

fn rules(report: &Report) -> Section {
    Section {
        id: "rules",
        title: "Rules that ran",
        notes: vec!["Rules without a hit are listed too.".to_owned()],
        tables: vec![Table::of(
            "Rules",
            &[
                Text("Rule"),
                Text("Version"),
                Text("Looks for"),
                Text("Severity"),
                Number("Hits"),
                Text("Ran"),
            ],
            &report.rules,
            |rule| {
                let ran = match &rule.skipped {
                    None => text("yes"),
                    Some(why) => Cell {
                        class: "bad",
                        ..text(&format!("NO: {why}"))
                    },
                };
                vec![
                    text(&rule.rule_id),
                    text(&rule.version),
                    text(&rule.title),
                    text(&rule.severity),
                    number(rule.hits),
                    ran,
                ]
            },
        )],
        ..Section::default()
    }
}

fn sources(report: &Report) -> Section {
    let total = |field: fn(&SourceRow) -> i64| {
        let sum = report
            .sources
            .iter()
            .fold(0i64, |sum, row| sum.saturating_add(field(row)));
        group(sum)
    };
    let all_sum = report.sources.iter().all(SourceRow::sums);
    Section {
        id: "sources",
        title: "Reconciliation of the sources",
        notes: vec![format!(
            "Records read {} = exchange {} + event {} + other {} + rejected {} + duplicate {} + \
             out of window {}: {}.",
            total(|row| row.records_read),
            total(|row| row.records_exchange),
            total(|row| row.records_event),
            total(|row| row.records_other),
            total(|row| row.records_rejected),
            total(|row| row.records_duplicate),
            total(|row| row.records_out_of_window),
            if all_sum {
                "every source sums"
            } else {
                "a source DOES NOT SUM"
            }
        )],
        tables: vec![tallies(report), digests(report), rejects(report)],
        ..Section::default()
    }
}

fn tallies(report: &Report) -> Table {
    Table::of(
        "Sources, in records",
        &[
            Text("Source"),
            Text("Path"),
            Text("Format"),
            Text("Read to the end"),
            Number("Read"),
            Number("Exchange"),
            Number("Event"),
            Number("Other"),
            Number("Rejected"),
            Number("Duplicate"),
            Number("Out of window"),
            Text("Check"),
        ],
        &report.sources,
        tally,
    )
}

fn digests(report: &Report) -> Table {
    Table::of(
        "What the sources are",
        &[
            Text("Source"),
            Number("Bytes"),
            Text("SHA-256 as received"),
            Number("Exchanges"),
            Text("First"),
            Text("Last"),
        ],
        &report.sources,
        |row| {
            vec![
                text(&row.source_id),
                number(row.bytes),
                code(&row.sha256),
                number(row.exchanges),
                time(row.first_time),
                time(row.last_time),
            ]
        },
    )
}

fn rejects(report: &Report) -> Table {
    Table::of(
        "Rejected records by reason",
        &[Text("Reason"), Number("Records"), Number("Bytes")],
        &report.rejects,
        |row| vec![text(&row.reason), number(row.records), number(row.bytes)],
    )
}

fn tally(row: &SourceRow) -> Vec<Cell> {
    let state = match row.status.as_str() {
        "complete" => text("complete"),
        other => Cell {
            class: "bad",
            ..text(other)
        },
    };
    let check = if row.sums() {
        text("sums")
    } else {
        Cell {
            text: "DOES NOT SUM".to_owned(),
            class: "bad",
        }
    };
    vec![
        text(&row.source_id),
        code(&row.path),
        text(&row.format),
        state,
        number(row.records_read),
        number(row.records_exchange),
        number(row.records_event),
        number(row.records_other),
        number(row.records_rejected),
        number(row.records_duplicate),
        number(row.records_out_of_window),
        check,
    ]
}

fn linking(report: &Report) -> Section {
    let linking = &report.linking;
    Section {
        id: "linking",
        title: "How exchanges became calls",
        notes: vec![format!(
            "{} made {}; {} refused.",
            count(linking.exchanges, "exchange", "exchanges"),
            count(linking.calls, "call", "calls"),
            count(linking.collisions, "id collision was", "id collisions were")
        )],
        tables: vec![Table::of(
            "Calls joined by each kind of id",
            &[Text("Kind"), Number("Calls")],
            &linking.by_kind,
            |row| vec![text(&row.kind), number(row.calls)],
        )],
        ..Section::default()
    }
}

fn method(report: &Report) -> Section {
    let method = &report.method;
    let seconds = |value: i64| count(value, "second", "seconds");
    let mut rows: Vec<(&str, String)> = vec![
        (
            "Window of the overlap search",
            count(method.window_words, "word", "words"),
        ),
        ("Least weight stored", group(method.store_weight)),
        ("Least weight of a finding", group(method.cut_weight)),
        (
            "Most tenants before a text is common",
            group(method.max_tenants),
        ),
        (
            "Look-back before the period",
            seconds(method.look_back_seconds),
        ),
        (
            "Tolerance between clocks",
            format!("{} ms", group(method.clock_tolerance_ms)),
        ),
        ("Unicode version", method.unicode_version.clone()),
        ("Mode", method.mode.clone()),
    ];
    rows.extend(
        method
            .further
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone())),
    );
    Section {
        id: "method",
        title: "Method",
        notes: vec![
            "Text is compared word by word after Unicode normalisation. A span counts by the words \
             in it that the receiving tenant's own traffic does not hold. Exposure comes from the \
             capacity in force at the time; the grade comes from exposure and disclosure together."
                .to_owned(),
        ],
        tables: vec![Table::of(
            "Settings that the result depends on",
            &[Text("Setting"), Text("Value")],
            &rows,
            |(name, value)| vec![text(name), text(value)],
        )],
        ..Section::default()
    }
}
