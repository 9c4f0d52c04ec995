//! Sections on what was found: numbers, tenants, days, capacity, thresholds, findings.

use super::Column::{Number, Text};
use super::{Cell, Section, Table, UNKNOWN, code, days, line, maybe, maybe_number, number, text};
use super::{controls, instant, time};
use crate::report::finding::{Finding, Locator, OverlapFacts};
use crate::report::model::{CapacityEpoch, Extent, Mismatch, Report};
use crate::report::sanitize;
use crate::report::wording::{count, group, ratio};

/// Most columns of one evidence value.
const EVIDENCE_WIDTH: usize = 80;
/// Most evidence values of one finding.
const EVIDENCE_VALUES: usize = 16;

pub(super) fn sections(report: &Report) -> Vec<Section> {
    vec![
        outside(report),
        funnel(report),
        recipients(report),
        timeline(report),
        capacity(report),
        grades(report),
        sensitivity(report),
        controls::section(report),
        findings(report),
    ]
}

fn outside(report: &Report) -> Section {
    let outside = &report.outside;
    let rows: [(&str, &Extent); 3] = [
        ("confirmed", &outside.confirmed),
        ("probable", &outside.probable),
        ("possible", &outside.possible),
    ];
    let mut notes = vec![
        "These responses share rare text with another tenant but are not known to have been \
         exposed. Natural look-alikes are frequent here. They are in none of the numbers above."
            .to_owned(),
    ];
    notes.push(match outside.expected_false {
        Some(expected) => format!("Expected number of natural look-alikes: {expected:.1}."),
        None => "The expected number of natural look-alikes is not calibrated.".to_owned(),
    });
    if !outside.note.is_empty() {
        notes.push(line(&outside.note));
    }
    Section {
        id: "outside",
        title: "Outside the known exposure",
        notes,
        tables: vec![Table::of(
            "Responses outside the known exposure",
            &[
                Text("Grade"),
                Number("Responses"),
                Number("Calls"),
                Number("Receiving tenants"),
                Number("Source tenants"),
            ],
            &rows,
            |(grade, extent)| {
                vec![
                    text(grade),
                    number(extent.responses),
                    number(extent.calls),
                    number(extent.receiving_tenants),
                    number(extent.source_tenants),
                ]
            },
        )],
        ..Section::default()
    }
}

fn funnel(report: &Report) -> Section {
    let all = report.funnel.first().map_or(0, |row| row.responses);
    Section {
        id: "funnel",
        title: "From all responses to the graded ones",
        tables: vec![Table::of(
            "Funnel, in responses delivered",
            &[Text("Step"), Number("Responses"), Number("Share of all")],
            &report.funnel,
            |row| {
                let share = Cell {
                    text: ratio(row.responses, all),
                    class: "num",
                };
                vec![text(&row.label), number(row.responses), share]
            },
        )],
        ..Section::default()
    }
}

fn recipients(report: &Report) -> Section {
    Section {
        id: "recipients",
        title: "Who received whose data",
        tables: vec![Table::of(
            "Tenant pairs, exposed responses graded confirmed or probable",
            &[
                Text("Received by"),
                Text("Text of"),
                Number("Confirmed"),
                Number("Confirmed and probable"),
                Text("First"),
                Text("Last"),
            ],
            &report.recipients,
            |row| {
                vec![
                    maybe(row.tenant.as_deref()),
                    maybe(row.source_tenant.as_deref()),
                    number(row.confirmed),
                    number(row.responses),
                    time(row.first_time),
                    time(row.last_time),
                ]
            },
        )],
        ..Section::default()
    }
}

fn timeline(report: &Report) -> Section {
    let (days, chart) = days(report);
    let gaps = days.iter().filter(|day| day.gap).count();
    let mut notes = vec![format!(
        "First event {}, last event {}. Days are UTC.",
        instant(report.first_time),
        instant(report.last_time)
    )];
    if gaps > 0 {
        let gaps = i64::try_from(gaps).unwrap_or(i64::MAX);
        notes.push(format!(
            "{} within the period; a gap in the logs looks the same.",
            count(gaps, "day has no response", "days have no response")
        ));
    }
    Section {
        id: "timeline",
        title: "Daily timeline",
        notes,
        chart,
        tables: vec![Table::of(
            "Responses by day",
            &[
                Text("Day"),
                Number("Responses"),
                Number("At or over the limit"),
                Number("Confirmed"),
                Number("Probable"),
                Number("Possible"),
            ],
            &days,
            |day| {
                let row = &day.row;
                let name = if day.gap {
                    Cell {
                        text: format!("{} (no records)", row.day),
                        class: "bad",
                    }
                } else {
                    text(&row.day)
                };
                vec![
                    name,
                    number(row.responses),
                    number(row.over_limit),
                    number(row.confirmed),
                    number(row.probable),
                    number(row.possible),
                ]
            },
        )],
        ..Section::default()
    }
}

fn capacity(report: &Report) -> Section {
    Section {
        id: "capacity",
        title: "Capacity epochs",
        notes: vec![
            "A window larger than the pool lets prompts in that the prefill node cannot hold. \
             Prompt lengths in the exposed range were accepted all the same."
                .to_owned(),
        ],
        tables: vec![Table::of(
            "Pool and window by node and time, in tokens",
            &[
                Text("Model"),
                Text("Deployment"),
                Text("Node"),
                Text("Role"),
                Text("From"),
                Text("To"),
                Number("Pool"),
                Number("Window"),
                Number("Rejects at"),
                Text("Engine"),
                Text("Mode"),
                Text("Mismatch"),
                Text("Read from"),
            ],
            &report.capacity,
            |epoch| {
                let edge = |edge, open: &str| match edge {
                    Some(_) => time(edge),
                    None => text(open),
                };
                vec![
                    maybe(epoch.model.as_deref()),
                    maybe(epoch.deployment.as_deref()),
                    maybe(epoch.node.as_deref()),
                    maybe(epoch.role.as_deref()),
                    edge(epoch.valid_from, "since ever"),
                    edge(epoch.valid_to, "open"),
                    maybe_number(epoch.pool_tokens),
                    maybe_number(epoch.window_tokens),
                    maybe_number(epoch.reject_at_tokens),
                    maybe(epoch.engine.as_deref()),
                    maybe(epoch.mode.as_deref()),
                    mismatch(epoch),
                    text(&epoch.source),
                ]
            },
        )],
        ..Section::default()
    }
}

fn mismatch(epoch: &CapacityEpoch) -> Cell {
    let range = match (epoch.exposed_from, epoch.exposed_to) {
        (Some(from), Some(to)) => format!("exposed from {} to below {}", group(from), group(to)),
        _ => "exposed".to_owned(),
    };
    let (text, class) = match epoch.mismatch {
        Mismatch::Unknown => ("not known".to_owned(), ""),
        Mismatch::None => ("none".to_owned(), ""),
        Mismatch::Unified => (
            "none: refused, since prefill and decode are one".to_owned(),
            "",
        ),
        Mismatch::ExposedModeUnknown => (format!("{range} (mode unknown)"), "bad wide"),
        Mismatch::Exposed => (range, "bad wide"),
    };
    Cell { text, class }
}

fn grades(report: &Report) -> Section {
    let aborted = &report.aborted;
    Section {
        id: "grades",
        title: "Grades, excluded tenants, aborted streams",
        notes: vec![format!(
            "Aborted streams stand apart: {}, of these {} at or over the limit and {} with \
             foreign text.",
            count(aborted.responses, "response", "responses"),
            group(aborted.over_limit),
            group(aborted.with_foreign_text)
        )],
        tables: vec![
            Table::of(
                "Responses by exposure, disclosure and grade (excluded tenants removed)",
                &[
                    Text("Exposure"),
                    Text("Disclosure"),
                    Text("Grade"),
                    Number("Responses"),
                ],
                &report.axes,
                |row| {
                    vec![
                        text(&row.exposure),
                        text(&row.disclosure),
                        text(&row.grade),
                        number(row.responses),
                    ]
                },
            ),
            Table::of(
                "Responses of excluded tenants, in none of the numbers above",
                &[Text("Kind"), Text("Grade"), Number("Responses")],
                &report.excluded,
                |row| vec![text(&row.kind), text(&row.grade), number(row.responses)],
            ),
        ],
        ..Section::default()
    }
}

fn sensitivity(report: &Report) -> Section {
    Section {
        id: "sensitivity",
        title: "How the number moves with the thresholds",
        notes: vec![
            "Exposed responses with a foreign span of at least so many words, by which length \
             counts as exposed and by how many tenants may carry the text."
                .to_owned(),
        ],
        tables: vec![Table::of(
            "Sensitivity",
            &[
                Number("Words at least"),
                Text("Limit"),
                Number("Carriers at most"),
                Number("Responses"),
                Text("In use"),
            ],
            &report.sensitivity,
            |row| {
                let limit = match row.limit.as_str() {
                    "engine_limit" => "engine's limit",
                    "pool" => "over the pool",
                    other => other,
                };
                vec![
                    number(row.min_words),
                    text(limit),
                    number(row.max_carriers),
                    number(row.responses),
                    text(if row.in_use { "yes" } else { "no" }),
                ]
            },
        )],
        ..Section::default()
    }
}

fn findings(report: &Report) -> Section {
    let list = &report.findings;
    let of = |severity: &str| group(list.by_severity.get(severity).copied().unwrap_or(0));
    let mut notes = vec![format!(
        "{}: {} critical, {} high, {} medium, {} low. Positions are bytes of the decoded text; \
         records are given as path, offset and length, so that the passage can be read again \
         where it lies.",
        count(list.total, "finding", "findings"),
        of("critical"),
        of("high"),
        of("medium"),
        of("low")
    )];
    if report.header.revealed {
        notes.push("Previews are masked text from logs: untrusted, never an instruction.".into());
    }
    Section {
        id: "findings",
        title: "Findings",
        notes,
        tables: vec![Table::of_total(
            "Findings, worst first",
            &[
                Text("Severity"),
                Text("Rule"),
                Text("Time"),
                Text("Received by"),
                Text("Text of"),
                Text("Request"),
                Text("Exposure, disclosure"),
                Text("Measured"),
                Text("Record"),
                Text("Source record"),
                Text("Finding"),
            ],
            &list.shown,
            list.total,
            finding,
        )],
        ..Section::default()
    }
}

fn finding(finding: &Finding) -> Vec<Cell> {
    let axis = |value: &Option<String>| sanitize::fit(value.as_deref().unwrap_or("–"), 40);
    let none = || "–".to_owned();
    let record = |locator: &Option<Locator>| {
        let text = locator.as_ref().map_or_else(none, |locator| {
            format!(
                "{} at {}, {}",
                sanitize::fit(&locator.path, super::MAX_WIDTH),
                group(locator.offset),
                count(locator.length, "byte", "bytes")
            )
        });
        Cell {
            text,
            class: "code",
        }
    };
    let mut measured = match &finding.overlap {
        Some(span) => overlap(span),
        None => evidence(finding),
    };
    if let Some(preview) = &finding.preview {
        measured.push_str("; masked preview: «");
        measured.push_str(&sanitize::fit(preview, super::MAX_WIDTH));
        measured.push('»');
    }
    vec![
        text(&finding.severity),
        text(&format!("{}: {}", finding.rule_id, finding.title)),
        time(finding.event_time),
        text(finding.tenant.as_deref().unwrap_or("–")),
        text(finding.source_tenant.as_deref().unwrap_or("–")),
        code(finding.request_id.as_deref().unwrap_or("–")),
        Cell {
            text: format!("{}, {}", axis(&finding.exposure), axis(&finding.disclosure)),
            class: "",
        },
        Cell {
            text: measured,
            class: "wide",
        },
        record(&finding.locator),
        record(&finding.source_locator),
        code(&finding.finding_id),
    ]
}

fn overlap(span: &OverlapFacts) -> String {
    let field =
        |value: &Option<String>, other: &str| sanitize::fit(value.as_deref().unwrap_or(other), 20);
    let bytes = |start: Option<i64>, end: Option<i64>| match (start, end) {
        (Some(start), Some(end)) => format!("{}–{}", group(start), group(end)),
        _ => UNKNOWN.to_owned(),
    };
    let mut parts = vec![format!(
        "{} bytes {} from {} bytes {}",
        field(&span.field, "answer"),
        bytes(span.response_start, span.response_end),
        field(&span.source_field, "source"),
        bytes(span.source_start, span.source_end)
    )];
    if let Some(words) = span.tokens {
        let novel = span
            .novel_tokens
            .map_or_else(String::new, |n| format!(", {} new", group(n)));
        parts.push(format!("{}{novel}", count(words, "word", "words")));
    }
    if let Some(weight) = span.novel_weight {
        parts.push(format!("weight {}", group(weight)));
    }
    if let Some(carriers) = span.carriers {
        parts.push(count(carriers, "carrier", "carriers"));
    }
    match span.lag_ms {
        Some(lag) => parts.push(format!("lag {} ms", group(lag))),
        None => parts.push("lag unknown".to_owned()),
    }
    if let Some(order) = &span.order {
        parts.push(format!("source {}", sanitize::fit(order, 20)));
    }
    if let Some(hash) = &span.span_hmac {
        parts.push(format!("span {}", sanitize::fit(hash, 64)));
    }
    parts.join("; ")
}

fn evidence(finding: &Finding) -> String {
    if finding.evidence.is_empty() {
        return "–".to_owned();
    }
    let mut parts: Vec<String> = finding
        .evidence
        .iter()
        .filter(|(_, value)| !value.is_null())
        .take(EVIDENCE_VALUES)
        .map(|(key, value)| {
            let value = match (value.as_i64(), value.as_str()) {
                (Some(number), _) => group(number),
                (None, Some(word)) => sanitize::fit(word, EVIDENCE_WIDTH),
                _ => sanitize::fit(&value.to_string(), EVIDENCE_WIDTH),
            };
            format!("{} {value}", sanitize::fit(key, 40))
        })
        .collect();
    if finding.evidence.len() > EVIDENCE_VALUES {
        parts.push("…".to_owned());
    }
    parts.join("; ")
}
