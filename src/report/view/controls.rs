//! Section on the controls.

use super::Column::{Number, Text};
use super::{Section, Table, UNKNOWN, number, text};
use crate::report::controls::ControlRow;
use crate::report::model::Report;

pub(super) fn section(report: &Report) -> Section {
    Section {
        id: "controls",
        title: "What the rules find by chance",
        notes: vec![
            "The same rules on what cannot be a leak through memory: responses that no trigger \
             points at (matched by day, length and size of the tenant), and sources that another \
             process held. Expected are false hits among the exposed, with a 95 % interval. Real \
             leaks outside the known exposure would raise the first rate, so it is an upper bound."
                .to_owned(),
        ],
        tables: vec![Table::of(
            "Controls",
            &[
                Text("Control"),
                Number("Tried"),
                Number("Hits"),
                Number("Applied to"),
                Number("Expected false"),
                Text("95 % interval"),
            ],
            &report.controls,
            |row| {
                vec![
                    text(label(row)),
                    number(row.tried),
                    number(row.hits),
                    number(row.exposed),
                    text(&row.expected.map_or(UNKNOWN.to_owned(), amount)),
                    text(&match (row.expected_low, row.expected_high) {
                        (Some(low), Some(high)) => format!("{} to {}", amount(low), amount(high)),
                        _ => UNKNOWN.to_owned(),
                    }),
                ]
            },
        )],
        ..Section::default()
    }
}

fn label(row: &ControlRow) -> &str {
    match row.control.as_str() {
        "untriggered" => "untriggered responses",
        "other_memory" => "response and source in different memory (pairs)",
        other => other,
    }
}

fn amount(value: f64) -> String {
    format!("{value:.2}")
}
