//! The sentences of a report: how numbers read, and what may be said of a result.
//!
//! One rule stands above the rest: a clean result on logs that could not be judged must not read
//! as clean. So "no foreign text found" is said only with the number of responses that it is
//! true of, and not at all where [`unfit`] has something to say.

use super::model::{Assessability, Extent, Report};

/// What a result amounts to. Decides sentence, banner and next steps together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// At least one exposed response is confirmed, or proven outside the known exposure.
    Confirmed,
    /// None confirmed; exposed responses are probable.
    Probable,
    /// Nothing exposed shows foreign text, but responses outside the known exposure seem to.
    OutsideOnly,
    /// Nothing found, and the logs do not carry a clean result.
    NotAssessable,
    /// Nothing found and assessed, but responses were exposed.
    ExposedOnly,
    /// Nothing found and assessed.
    Clean,
}

pub(super) fn outcome(report: &Report) -> Outcome {
    let headline = &report.headline;
    let outside = &report.outside;
    if headline.floor.responses > 0 || outside.confirmed.responses > 0 {
        Outcome::Confirmed
    } else if headline.best.responses > 0 {
        Outcome::Probable
    } else if outside.probable.responses > 0 {
        Outcome::OutsideOnly
    } else if !unfit(report).is_empty() {
        Outcome::NotAssessable
    } else if headline.ceiling.responses > 0 {
        Outcome::ExposedOnly
    } else {
        Outcome::Clean
    }
}

/// Why a result without findings would prove nothing; empty where it may stand.
pub(super) fn unfit(report: &Report) -> Vec<String> {
    let mut why = Vec::new();
    let seen = &report.assessability;
    if seen.responses <= 0 {
        why.push("no delivered response in the period".to_owned());
    } else if seen.responses_assessed <= 0 {
        why.push(format!(
            "none of {} could be compared with foreign text",
            count(seen.responses, "response", "responses")
        ));
    } else {
        if !reaches(seen.calls_seen, seen.calls, seen.required_share) {
            why.push(format!(
                "only {} of {} were seen by a text test ({} is required)",
                group(seen.calls_seen),
                count(seen.calls, "call", "calls"),
                percent(seen.required_share)
            ));
        }
        if !reaches(seen.responses_assessed, seen.responses, seen.required_share) {
            why.push(format!(
                "only {} of {} could be assessed ({} is required)",
                group(seen.responses_assessed),
                count(seen.responses, "response", "responses"),
                percent(seen.required_share)
            ));
        }
    }
    if seen.triggered_unassessed > 0 {
        why.push(format!(
            "{} at or over the engine's limit could not be assessed",
            count(seen.triggered_unassessed, "response", "responses")
        ));
    }
    if !report.rules.is_empty() && report.rules.iter().all(|rule| rule.skipped.is_some()) {
        why.push("no rule ran".to_owned());
    }
    if report.sources.iter().any(|source| !source.sums()) {
        why.push("the record tally of a source does not sum".to_owned());
    }
    let status = &report.header.status;
    if !status.complete {
        let reason = status.reason.as_deref().unwrap_or("the run is incomplete");
        why.push(format!("evidence incomplete: {reason}"));
    }
    why
}

/// True where `part` of `whole` is at least `share`.
fn reaches(part: i64, whole: i64, share: f64) -> bool {
    // Counts far below 2^53, so the products are exact enough for a threshold.
    part as f64 >= whole as f64 * share
}

/// The result in one or two sentences. Log values in it are raw: renderers make them safe.
pub fn verdict_sentence(report: &Report) -> String {
    let mut text = match outcome(report) {
        Outcome::Confirmed => found(report),
        Outcome::Probable => probable(report),
        Outcome::OutsideOnly => outside_only(report),
        Outcome::NotAssessable => return not_assessable(report),
        Outcome::ExposedOnly => exposed_only(report),
        Outcome::Clean => clean(report),
    };
    if !report.headline.capacity_known {
        text.push_str(
            " No pool capacity is known for these logs: which responses were exposed is open, \
             and the count waits for it.",
        );
    }
    if !report.header.status.complete {
        let reason = report
            .header
            .status
            .reason
            .as_deref()
            .unwrap_or("the run did not finish");
        text.push_str(&format!(" The evidence is incomplete: {reason}."));
    }
    text
}

fn found(report: &Report) -> String {
    let headline = &report.headline;
    if headline.floor.responses == 0 {
        return format!(
            "Foreign text found: {} outside the known exposure confirmed to show another \
             tenant's text. {}",
            are(report.outside.confirmed.responses),
            bounds(report)
        );
    }
    format!(
        "Foreign text found: {} confirmed to show another tenant's text, {}{}. {}",
        are(headline.floor.responses),
        reach(&headline.floor),
        span(report),
        bounds(report)
    )
}

fn probable(report: &Report) -> String {
    let best = &report.headline.best;
    format!(
        "Foreign text is probable: no response is confirmed, but {} likely to show another \
         tenant's text, {}{}. {}",
        are(best.responses),
        reach(best),
        span(report),
        bounds(report)
    )
}

fn outside_only(report: &Report) -> String {
    let probable = report.outside.probable.responses;
    format!(
        "No foreign text found in exposed responses, but {} outside the known exposure likely to \
         show another tenant's text: natural look-alikes are frequent there, so they are to be \
         looked at, not counted. {}",
        are(probable),
        remainder(&report.assessability)
    )
    .trim_end()
    .to_owned()
}

fn exposed_only(report: &Report) -> String {
    let ceiling = report.headline.ceiling.responses;
    format!(
        "{} {} exposed (computed on memory that may have held other text) and {} possible.",
        clean(report),
        if ceiling == 1 {
            "1 response was".to_owned()
        } else {
            format!("{} responses were", group(ceiling))
        },
        if ceiling == 1 { "stays" } else { "stay" },
    )
}

fn clean(report: &Report) -> String {
    let seen = &report.assessability;
    let assessed = group(seen.responses_assessed);
    let noun = if seen.responses_assessed == 1 {
        "response"
    } else {
        "responses"
    };
    let text = format!(
        "No foreign text found in {assessed} of {assessed} {noun} that could be assessed. {}",
        remainder(seen)
    );
    text.trim_end().to_owned()
}

fn not_assessable(report: &Report) -> String {
    let mut text = format!("Not assessable: {}.", unfit(report).join("; "));
    let seen = &report.assessability;
    if seen.responses_assessed > 0 {
        text.push_str(&format!(
            " The {} that could be assessed showed no foreign text; that says nothing of the rest.",
            count(seen.responses_assessed, "response", "responses")
        ));
    } else {
        text.push_str(" These logs can neither show nor rule out foreign text.");
    }
    let ceiling = report.headline.ceiling.responses;
    if ceiling > 0 {
        text.push_str(&format!(" Up to {} affected.", may_be(ceiling)));
    }
    if !report.headline.capacity_known {
        text.push_str(" No pool capacity is known for these logs.");
    }
    text
}

/// What could not be assessed, as a sentence; empty where everything could.
fn remainder(seen: &Assessability) -> String {
    let rest = seen.responses.saturating_sub(seen.responses_assessed);
    if rest <= 0 {
        return String::new();
    }
    let all = count(seen.responses, "response", "responses");
    format!("{} of {all} could not be assessed.", group(rest))
}

fn bounds(report: &Report) -> String {
    let headline = &report.headline;
    format!(
        "Best estimate {}, at most {}.",
        group(headline.best.responses),
        group(headline.ceiling.responses)
    )
}

fn reach(extent: &Extent) -> String {
    format!(
        "received by {} and showing the text of {}",
        count(extent.receiving_tenants, "tenant", "tenants"),
        count(extent.source_tenants, "tenant", "tenants")
    )
}

fn span(report: &Report) -> String {
    match (report.first_time, report.last_time) {
        (Some(first), Some(last)) if first == last => format!(", at {first}"),
        (Some(first), Some(last)) => format!(", between {first} and {last}"),
        (Some(first), None) => format!(", since {first}"),
        _ => String::new(),
    }
}

fn are(responses: i64) -> String {
    let verb = if responses == 1 { "is" } else { "are" };
    format!("{} {verb}", count(responses, "response", "responses"))
}

fn may_be(responses: i64) -> String {
    format!("{} may be", count(responses, "response", "responses"))
}

/// `1 call`, `0 calls`, `1,234 calls`.
pub(super) fn count(number: i64, one: &str, many: &str) -> String {
    format!("{} {}", group(number), if number == 1 { one } else { many })
}

/// Digits in groups of three.
pub(super) fn group(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3 + 2);
    if number < 0 {
        out.push('-');
    }
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A share as a percentage with at most one decimal.
pub(super) fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

/// `part` of `whole` as a percentage, rounded down so that only all reads as 100%.
pub(super) fn ratio(part: i64, whole: i64) -> String {
    if whole <= 0 {
        return "–".to_owned();
    }
    let tenths = i128::from(part) * 1000 / i128::from(whole);
    let text = format!("{}.{}", tenths / 10, tenths % 10);
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}
