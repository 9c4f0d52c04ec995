//! What follows from the facts of a report: the sentence, the exposed ranges, limits, next steps.

use super::MAX_FINDINGS;
use super::model::{CapacityEpoch, Mismatch, Report};
use super::wording::{Outcome, count, group, outcome, verdict_sentence};

impl Report {
    /// Derives what the facts imply. Call once, after every fact is set.
    pub fn finish(mut self) -> Self {
        self.findings.shown.truncate(MAX_FINDINGS);
        for epoch in &mut self.capacity {
            judge(epoch);
        }
        self.verdict = verdict_sentence(&self);
        let limits = limitations(&self);
        self.limitations.extend(limits);
        let mut steps = next_steps(&self);
        steps.append(&mut self.next_steps);
        self.next_steps = steps;
        self
    }
}

/// Sets the mismatch of an epoch and the range of prompt lengths that it exposes.
fn judge(epoch: &mut CapacityEpoch) {
    let (Some(pool), Some(window)) = (epoch.pool_tokens, epoch.window_tokens) else {
        epoch.mismatch = Mismatch::Unknown;
        return;
    };
    epoch.mismatch = match (epoch.role.as_deref(), epoch.mode.as_deref()) {
        _ if pool >= window => Mismatch::None,
        // The decode pool does not decide whether the prefill node takes a prompt.
        (Some("decode" | "gateway" | "client"), _) => Mismatch::None,
        (_, Some("unified")) => Mismatch::Unified,
        (_, Some(_)) => Mismatch::Exposed,
        (_, None) => Mismatch::ExposedModeUnknown,
    };
    if matches!(
        epoch.mismatch,
        Mismatch::Exposed | Mismatch::ExposedModeUnknown
    ) {
        epoch.exposed_from = epoch.reject_at_tokens.or_else(|| pool.checked_add(1));
        epoch.exposed_to = Some(window);
    }
}

fn limitations(report: &Report) -> Vec<String> {
    let mut out = Vec::new();
    let seen = &report.assessability;
    let rest = seen.responses.saturating_sub(seen.responses_assessed);
    if rest > 0 {
        out.push(format!(
            "{} of {} could not be assessed; nothing is said of these.",
            group(rest),
            count(seen.responses, "response", "responses")
        ));
    }
    if !report.headline.capacity_known {
        out.push(
            "No pool capacity is known. Without it no response counts as exposed, and everything \
             found stands outside the known exposure."
                .to_owned(),
        );
    }
    if report
        .capacity
        .iter()
        .any(|epoch| epoch.mismatch == Mismatch::ExposedModeUnknown)
    {
        out.push(
            "For some capacity epochs it is not known whether prefill and decode run apart; they \
             are treated as exposed."
                .to_owned(),
        );
    }
    if report.linking.collisions > 0 {
        out.push(format!(
            "{} refused: these exchanges stand alone, so one call may count more than once.",
            count(
                report.linking.collisions,
                "id collision was",
                "id collisions were"
            )
        ));
    }
    let cut = report
        .sources
        .iter()
        .filter(|source| source.status != "complete")
        .count();
    if cut > 0 {
        let cut = i64::try_from(cut).unwrap_or(i64::MAX);
        out.push(format!(
            "{} not read to the end or held nothing; see the reconciliation.",
            count(cut, "source was", "sources were")
        ));
    }
    if report.sources.iter().any(|source| !source.sums()) {
        out.push("The tally of at least one source DOES NOT SUM: records are missing.".to_owned());
    }
    for rule in report.rules.iter().filter(|rule| rule.skipped.is_some()) {
        out.push(format!("Rule {} did not run.", rule.rule_id));
    }
    out.push(
        "Only word-for-word text is found. Paraphrase and translation of foreign text are not, \
         and text that no log holds cannot be recognised."
            .to_owned(),
    );
    out
}

fn next_steps(report: &Report) -> Vec<String> {
    let mut out = Vec::new();
    let outcome = outcome(report);
    let exposed_config = report.capacity.iter().any(|epoch| {
        matches!(
            epoch.mismatch,
            Mismatch::Exposed | Mismatch::ExposedModeUnknown
        )
    });
    if exposed_config {
        out.push(
            "Stop it first: cap the accepted prompt length below the engine's limit, or take the \
             exposed nodes out of traffic, and check each node before it returns."
                .to_owned(),
        );
    }
    if matches!(outcome, Outcome::Confirmed | Outcome::Probable) {
        out.push(
            "Keep the logs that the sources table names, with their digests, before they rotate."
                .to_owned(),
        );
        out.push(
            "Have the confirmed responses read by a person who may see them, then inform both \
             sides: who received text, and whose text it was."
                .to_owned(),
        );
        out.push("Look at the probable responses one by one; each moves the floor.".to_owned());
    }
    if matches!(outcome, Outcome::OutsideOnly) || report.outside.probable.responses > 0 {
        out.push(
            "Look at the responses outside the known exposure for a shared origin before calling \
             any of them a leak."
                .to_owned(),
        );
    }
    if report.headline.ceiling.responses > report.headline.best.responses {
        out.push(
            "Search other logs (client side, decode side) for the possible responses: complete \
             text decides them."
                .to_owned(),
        );
    }
    if !report.headline.capacity_known {
        out.push(
            "Give the pool and window sizes (configuration, engine logs or server info) and run \
             again."
                .to_owned(),
        );
    }
    for reason in report.assessability.reasons.iter().take(3) {
        out.push(format!(
            "{} ({}): {}",
            reason.reason,
            count(reason.responses, "response", "responses"),
            remedy(&reason.reason)
        ));
    }
    if outcome == Outcome::Clean && out.is_empty() {
        out.push("Nothing to do now. Run again when new logs arrive.".to_owned());
    }
    out
}

/// What would make responses with this reason assessable.
fn remedy(reason: &str) -> &'static str {
    match reason {
        "no_foreign_corpus" => "add logs of other tenants of the same time and deployment.",
        "own_prompt_incomplete" => "add a log that keeps whole prompts, such as the gateway's.",
        "response_incomplete" => "add a log that keeps whole responses.",
        "text_absent" => "switch on payload logging, or add a log that holds the text.",
        "encrypted" => "decrypt the payloads for the audit, or read them where they are clear.",
        "ids_only" => "turn the token ids into text with the model's tokenizer, then run again.",
        "stateful" => "add the records of the earlier turns that the request refers to.",
        "tenant_unknown" => "name the field that holds the tenant in the configuration.",
        "time_unknown" => "declare the time zone, or name the field that holds the time.",
        "unlogged_image" => "judge by hand: what the image said is in no log.",
        "not_searched" => "run with --mode full to search these as well.",
        "capacity_unknown" => "give the pool and window sizes.",
        _ => "see what the logs lack, and add a source that has it.",
    }
}
