//! A report as it is read: a first screen and sections of tables, free of any format.
//!
//! HTML and Markdown both dress this. Every string in it went through [`sanitize`], so neither
//! holds a character that acts; what remains to the renderers is the escaping of their own marks.

mod audit;
mod controls;
mod result;
mod testimony;

use super::model::{Extent, Report, Time};
use super::sanitize;
use super::timeline::{self, Chart};
use super::wording::{self, Outcome, count, group};

/// Most rows of one table.
const MAX_ROWS: usize = 1_000;
/// Most columns that one value from a log takes.
const MAX_WIDTH: usize = 160;
/// What stands where a value is not known.
const UNKNOWN: &str = "unknown";

/// The whole report.
pub(super) struct View {
    /// Title of the page.
    pub(super) title: String,
    /// What was examined: name and value.
    pub(super) facts: Vec<(&'static str, String)>,
    /// Which kind of result it is, as a CSS class.
    pub(super) tone: &'static str,
    /// Whether the run is complete, in words.
    pub(super) status: String,
    /// The verdict.
    pub(super) verdict: String,
    /// Floor, best, ceiling.
    pub(super) cards: Vec<Card>,
    /// The questions that a reader comes with, and their answers.
    pub(super) answers: Vec<(&'static str, String)>,
    /// What to do next.
    pub(super) next_steps: Vec<String>,
    /// Everything else.
    pub(super) sections: Vec<Section>,
}

/// One of the three numbers.
pub(super) struct Card {
    /// Floor, Best estimate, Ceiling.
    pub(super) name: &'static str,
    /// Responses.
    pub(super) number: String,
    /// What the number counts: `response` or `responses`.
    pub(super) unit: &'static str,
    /// Which grades it sums.
    pub(super) meaning: &'static str,
    /// Calls and tenants.
    pub(super) beside: String,
}

/// One section.
#[derive(Default)]
pub(super) struct Section {
    /// Anchor.
    pub(super) id: &'static str,
    /// Heading.
    pub(super) title: &'static str,
    /// Paragraphs before the tables.
    pub(super) notes: Vec<String>,
    /// List items before the tables.
    pub(super) items: Vec<String>,
    /// A drawing, always with a table under it.
    pub(super) chart: Option<Chart>,
    /// Tables.
    pub(super) tables: Vec<Table>,
}

/// One table.
pub(super) struct Table {
    /// Caption.
    pub(super) caption: &'static str,
    /// Column heads.
    pub(super) head: &'static [Column],
    /// Rows, each as long as the head.
    pub(super) rows: Vec<Vec<Cell>>,
    /// Said under the table where rows were left out, or where there are none.
    pub(super) remark: Option<String>,
}

/// A column head.
pub(super) enum Column {
    /// Words.
    Text(&'static str),
    /// Numbers, right-aligned.
    Number(&'static str),
}

impl Column {
    /// Name.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Text(name) | Self::Number(name) => name,
        }
    }

    /// True for numbers.
    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }
}

/// One cell.
pub(super) struct Cell {
    /// Text.
    pub(super) text: String,
    /// CSS classes: `num`, `bad`, `code`, `wide` or empty. The text alone says the same.
    pub(super) class: &'static str,
}

impl Table {
    /// A table of at most [`MAX_ROWS`] of these items.
    fn of<T>(
        caption: &'static str,
        head: &'static [Column],
        items: &[T],
        row: impl Fn(&T) -> Vec<Cell>,
    ) -> Self {
        let all = i64::try_from(items.len()).unwrap_or(i64::MAX);
        Self::of_total(caption, head, items, all, row)
    }

    /// The same where `total` rows exist, of which `items` are the first.
    fn of_total<T>(
        caption: &'static str,
        head: &'static [Column],
        items: &[T],
        total: i64,
        row: impl Fn(&T) -> Vec<Cell>,
    ) -> Self {
        let rows: Vec<Vec<Cell>> = items.iter().take(MAX_ROWS).map(row).collect();
        let shown = i64::try_from(rows.len()).unwrap_or(i64::MAX);
        let remark = if total > shown {
            Some(format!(
                "{} of {} shown; all of them stand in the tables of the case.",
                group(shown),
                count(total, "row", "rows")
            ))
        } else {
            rows.is_empty().then(|| "None.".to_owned())
        };
        Self {
            caption,
            head,
            rows,
            remark,
        }
    }
}

/// A value from a log.
fn text(value: &str) -> Cell {
    let class = "";
    Cell {
        text: sanitize::fit(value, MAX_WIDTH),
        class,
    }
}

/// A value from a log that may be missing.
fn maybe(value: Option<&str>) -> Cell {
    text(value.unwrap_or(UNKNOWN))
}

/// An id, hash or path.
fn code(value: &str) -> Cell {
    Cell {
        class: "code",
        ..text(value)
    }
}

fn number(value: i64) -> Cell {
    Cell {
        text: group(value),
        class: "num",
    }
}

fn maybe_number(value: Option<i64>) -> Cell {
    Cell {
        text: value.map_or_else(|| UNKNOWN.to_owned(), group),
        class: "num",
    }
}

fn time(value: Option<Time>) -> Cell {
    Cell {
        text: instant(value),
        class: "code",
    }
}

fn instant(value: Option<Time>) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), |time| time.to_string())
}

/// A line of running text that may hold log values: safe, but not cut.
fn line(value: &str) -> String {
    sanitize::visible(value).into_owned()
}

/// The report as it is read.
pub(super) fn view(report: &Report) -> View {
    let mut sections = result::sections(report);
    sections.extend(testimony::sections(report));
    sections.extend(audit::sections(report));
    View {
        title: format!(
            "Pentimento report: {}",
            sanitize::fit(&report.header.case_name, MAX_WIDTH)
        ),
        facts: facts(report),
        tone: match wording::outcome(report) {
            Outcome::Confirmed | Outcome::Probable => "found",
            Outcome::Clean => "clean",
            _ => "open",
        },
        status: status(report),
        verdict: line(&report.verdict),
        cards: cards(report),
        answers: answers(report),
        next_steps: report.next_steps.iter().map(|step| line(step)).collect(),
        sections,
    }
}

fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let header = &report.header;
    let mut out = vec![
        (
            "Period examined",
            format!(
                "{} to {}",
                instant(header.period_start),
                instant(header.period_end)
            ),
        ),
        (
            "Program",
            sanitize::fit(&format!("pentimento {}", header.tool_version), MAX_WIDTH),
        ),
        (
            "Configuration",
            sanitize::fit(&header.config_digest, MAX_WIDTH),
        ),
    ];
    if header.revealed {
        out.push((
            "Previews",
            "masked previews are shown; handle as personal data".to_owned(),
        ));
    }
    out
}

fn status(report: &Report) -> String {
    let status = &report.header.status;
    let reason = status.reason.as_deref().map(line);
    match (status.complete, reason) {
        (true, None) => format!("Run complete (exit code {})", status.exit_code),
        (true, Some(reason)) => {
            format!("Run complete (exit code {}): {reason}", status.exit_code)
        }
        (false, reason) => format!(
            "Evidence INCOMPLETE (exit code {}): {}",
            status.exit_code,
            reason.as_deref().unwrap_or("no reason was recorded")
        ),
    }
}

fn cards(report: &Report) -> Vec<Card> {
    let headline = &report.headline;
    let card = |name, meaning, extent: &Extent| Card {
        name,
        number: group(extent.responses),
        unit: if extent.responses == 1 {
            "response"
        } else {
            "responses"
        },
        meaning,
        beside: format!(
            "{}; received by {}; text of {}",
            count(extent.calls, "call", "calls"),
            count(extent.receiving_tenants, "tenant", "tenants"),
            count(extent.source_tenants, "tenant", "tenants")
        ),
    };
    vec![
        card("Floor", "confirmed", &headline.floor),
        card("Best estimate", "confirmed and probable", &headline.best),
        card(
            "Ceiling",
            "also possible, and triggered but not assessable",
            &headline.ceiling,
        ),
    ]
}

fn answers(report: &Report) -> Vec<(&'static str, String)> {
    let mut out = vec![
        ("What happened?", what(report)),
        ("How sure is it?", how_sure(report)),
        ("Who received whose data?", who(report)),
        ("Since when?", since(report)),
    ];
    out.extend(testimony::stopped(report).map(|said| ("Has it stopped?", said)));
    out.push(("What could not be assessed?", open(report)));
    out
}

fn what(report: &Report) -> String {
    match wording::outcome(report) {
        Outcome::Confirmed => {
            "Responses show text that belongs to other tenants and that the receiving tenant's \
             own traffic does not explain."
        }
        Outcome::Probable => {
            "Responses probably show text that belongs to other tenants; none is proven."
        }
        Outcome::OutsideOnly => {
            "Some responses share rare text with other tenants, but none of them is known to have \
             been exposed."
        }
        Outcome::NotAssessable => "It cannot be said from these logs.",
        Outcome::ExposedOnly => {
            "Responses were exposed: the engine accepted prompts that it could not hold. No \
             foreign text was found in them."
        }
        Outcome::Clean => "Nothing that these logs could show.",
    }
    .to_owned()
}

fn how_sure(report: &Report) -> String {
    let headline = &report.headline;
    let mut out = format!(
        "{} confirmed, {} probable, {} possible (exposed responses).",
        group(headline.floor.responses),
        group(
            headline
                .best
                .responses
                .saturating_sub(headline.floor.responses)
        ),
        group(
            headline
                .ceiling
                .responses
                .saturating_sub(headline.best.responses)
        ),
    );
    let outside = &report.outside;
    let beyond = outside
        .confirmed
        .responses
        .saturating_add(outside.probable.responses);
    if beyond > 0 {
        out.push_str(&format!(
            " {} outside the known exposure, not counted here.",
            count(beyond, "more response stands", "more responses stand")
        ));
    }
    out
}

fn who(report: &Report) -> String {
    /// Pairs named on the first screen.
    const NAMED: usize = 3;
    if report.recipients.is_empty() {
        return "No pair of tenants is confirmed or probable.".to_owned();
    }
    let name = |tenant: Option<&str>| match tenant {
        Some(tenant) => sanitize::fit(tenant, 40),
        None => "an unknown tenant".to_owned(),
    };
    let mut out: Vec<String> = report
        .recipients
        .iter()
        .take(NAMED)
        .map(|pair| {
            format!(
                "{} received text of {} ({})",
                name(pair.tenant.as_deref()),
                name(pair.source_tenant.as_deref()),
                count(pair.responses, "response", "responses")
            )
        })
        .collect();
    let more = report.recipients.len().saturating_sub(NAMED);
    if more > 0 {
        let more = i64::try_from(more).unwrap_or(i64::MAX);
        out.push(format!(
            "{} in the table below",
            count(more, "more pair", "more pairs")
        ));
    }
    format!("{}.", out.join("; "))
}

fn since(report: &Report) -> String {
    match (report.first_time, report.last_time) {
        (None, None) => "No event to date.".to_owned(),
        (first, last) => format!("First {}, last {}.", instant(first), instant(last)),
    }
}

fn open(report: &Report) -> String {
    let seen = &report.assessability;
    let rest = seen.responses.saturating_sub(seen.responses_assessed);
    let mut out = if rest <= 0 && seen.responses > 0 {
        format!(
            "Nothing: all {} could be.",
            count(seen.responses, "response", "responses")
        )
    } else if seen.responses <= 0 {
        "There was no delivered response to assess.".to_owned()
    } else {
        format!(
            "{} of {}.",
            group(rest),
            count(seen.responses, "response", "responses")
        )
    };
    let reasons: Vec<String> = seen
        .reasons
        .iter()
        .take(3)
        .map(|row| {
            format!(
                "{} ({})",
                sanitize::fit(&row.reason, 40),
                group(row.responses)
            )
        })
        .collect();
    if !reasons.is_empty() {
        out.push_str(&format!(" Reasons: {}.", reasons.join(", ")));
    }
    if !report.headline.capacity_known {
        out.push_str(" Pool capacity is not known.");
    }
    out
}

/// The days and their drawing.
fn days(report: &Report) -> (Vec<timeline::Day>, Option<Chart>) {
    let days = timeline::days(&report.timeline);
    let chart = timeline::chart(&days);
    (days, chart)
}
