//! Is the evidence fit to say anything? The one place that decides how a run ends.

use crate::outcome::Outcome;
use crate::settings::FailOn;
use serde::Deserialize;

/// What the exit code depends on, besides the findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub struct Fitness {
    /// Calls with a delivered response in the window, excluded tenants and broken streams apart.
    pub calls: i64,
    /// Of these, calls that a text test saw.
    pub calls_seen: i64,
    /// Their responses.
    pub responses: i64,
    /// Responses in which foreign text was found, or could have been and was not.
    pub responses_assessed: i64,
    /// Responses at or over the limit that could not be assessed.
    pub triggered_unassessed: i64,
    /// Triggered calls whose response is not complete.
    pub triggered_incomplete: i64,
    /// Records read.
    #[serde(default)]
    pub records_read: i64,
    /// Records rejected.
    #[serde(default)]
    pub records_rejected: i64,
    /// Sources that could not be read, or no further: nobody knows how many records they hold.
    #[serde(default)]
    pub sources_unread: i64,
}

/// Limits of the user.
#[derive(Clone, Copy, Debug)]
pub struct FitnessLimits {
    /// Least share of calls seen.
    pub min_assessable: f64,
    /// Greatest share of rejects.
    pub max_reject_ratio: f64,
}

impl Fitness {
    /// Why the evidence is incomplete; `None` = it is complete.
    pub fn gap(&self, limits: &FitnessLimits) -> Option<String> {
        let mut gaps = Vec::new();
        let allowed = limits.max_reject_ratio * self.records_read as f64;
        if self.records_rejected as f64 > allowed {
            gaps.push(format!(
                "{} of {} records were rejected (--max-reject-ratio {})",
                self.records_rejected, self.records_read, limits.max_reject_ratio
            ));
        }
        // Who accepts any share of rejects accepts this too.
        if self.sources_unread > 0 && limits.max_reject_ratio < 1.0 {
            gaps.push(format!(
                "{} sources could not be read to their end",
                self.sources_unread
            ));
        }
        if self.triggered_incomplete > 0 {
            gaps.push(format!(
                "{} triggered calls do not have their whole response",
                self.triggered_incomplete
            ));
        }
        if self.triggered_unassessed > 0 {
            gaps.push(format!(
                "{} responses at or over the engine's limit could not be assessed",
                self.triggered_unassessed
            ));
        }
        let needed = limits.min_assessable * self.calls as f64;
        if self.calls == 0 {
            gaps.push("no delivered response is in the window".to_string());
        } else if (self.calls_seen as f64) < needed {
            gaps.push(format!(
                "a text test could see {} of {} calls (--min-assessable {})",
                self.calls_seen, self.calls, limits.min_assessable
            ));
        } else if (self.responses_assessed as f64) < limits.min_assessable * self.responses as f64 {
            gaps.push(format!(
                "{} of {} responses could be assessed (--min-assessable {})",
                self.responses_assessed, self.responses, limits.min_assessable
            ));
        }
        (!gaps.is_empty()).then(|| gaps.join("; "))
    }
}

/// The outcome of a run from its findings and its fitness.
pub fn outcome<'a>(
    mut severities: impl Iterator<Item = &'a str>,
    fail_on: FailOn,
    exit_zero: bool,
    gap: Option<&str>,
) -> Outcome {
    let found = severities.any(|s| fail_on.reached_by(s));
    match (found, gap) {
        (true, _) if !exit_zero => Outcome::Findings,
        (_, Some(gap)) => Outcome::Incomplete(gap.to_string()),
        _ => Outcome::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: FitnessLimits = FitnessLimits {
        min_assessable: 0.9,
        max_reject_ratio: 0.01,
    };

    fn fit(calls: i64, seen: i64, read: i64, rejected: i64, cut: i64) -> Option<String> {
        Fitness {
            calls,
            calls_seen: seen,
            responses: calls,
            responses_assessed: seen,
            triggered_unassessed: 0,
            triggered_incomplete: cut,
            records_read: read,
            records_rejected: rejected,
            sources_unread: 0,
        }
        .gap(&LIMITS)
    }

    #[test]
    fn a_source_that_could_not_be_read_is_a_gap_by_itself() {
        let unread = Fitness {
            calls: 10,
            calls_seen: 10,
            responses: 10,
            responses_assessed: 10,
            records_read: 1_000_000,
            records_rejected: 1,
            sources_unread: 1,
            ..Fitness::default()
        };
        let gap = unread.gap(&LIMITS).unwrap_or_default();
        assert_eq!(gap, "1 sources could not be read to their end");
        let patient = FitnessLimits {
            max_reject_ratio: 1.0,
            ..LIMITS
        };
        assert_eq!(unread.gap(&patient), None);
    }

    #[test]
    fn each_gap_is_named() {
        assert_eq!(fit(100, 90, 1000, 10, 0), None);
        assert!(fit(100, 89, 1000, 10, 0).is_some_and(|g| g.contains("89 of 100 calls")));
        assert!(fit(100, 90, 1000, 11, 0).is_some_and(|g| g.contains("11 of 1000 records")));
        assert!(fit(100, 90, 1000, 0, 2).is_some_and(|g| g.contains("2 triggered calls")));
        assert!(fit(0, 0, 5, 0, 0).is_some_and(|g| g.contains("no delivered response")));
    }

    #[test]
    fn findings_win_over_gaps_and_exit_zero_hides_only_findings() {
        let of = |severity: &'static str, exit_zero: bool, gap: Option<&str>| {
            outcome(std::iter::once(severity), FailOn::High, exit_zero, gap)
        };
        assert_eq!(of("critical", false, Some("x")), Outcome::Findings);
        assert_eq!(of("medium", false, None), Outcome::Done);
        assert_eq!(
            of("medium", false, Some("x")),
            Outcome::Incomplete("x".into())
        );
        assert_eq!(of("critical", true, None), Outcome::Done);
        assert_eq!(
            of("critical", true, Some("x")),
            Outcome::Incomplete("x".into())
        );
    }
}
