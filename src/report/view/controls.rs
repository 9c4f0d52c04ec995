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
             points at (matched by day, length and size of the tenant), sources that another \
             process held, and answers that came only after the response. Expected are false hits \
             among the exposed, with a 95 % interval. Real leaks outside the known exposure would \
             raise the first rate, so it is an upper bound."
                .to_owned(),
            "Witnesses of one cause are counted once: a passage, an identifier and the fit to \
             another question are all read from the words of the answer."
                .to_owned(),
        ],
        tables: vec![controls(report), signals(report)],
        ..Section::default()
    }
}

fn controls(report: &Report) -> Table {
    Table::of(
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
    )
}

fn signals(report: &Report) -> Table {
    Table::of(
        "Which signals agree",
        &[
            Text("Passage"),
            Text("Identifier"),
            Text("Fits another question"),
            Text("Engine"),
            Text("First token"),
            Text("Prompt length"),
            Number("Independent witnesses"),
            Number("Responses"),
        ],
        &report.signals,
        |row| {
            let told = [
                row.passage,
                row.identifier,
                row.fit,
                row.engine,
                row.first_token,
                row.prompt_length,
            ];
            let mut cells: Vec<_> = told.map(|t| text(if t { "yes" } else { "no" })).into();
            cells.extend([number(row.witnesses), number(row.responses)]);
            cells
        },
    )
}

fn label(row: &ControlRow) -> &str {
    match row.control.as_str() {
        "untriggered" => "untriggered responses",
        "other_memory" => "response and source in different memory (pairs)",
        "time_reversed" => "source after the response (pairs)",
        other => other,
    }
}

fn amount(value: f64) -> String {
    format!("{value:.2}")
}
