//! What the engines said and what the lengths show: the parts of the report that need no text.

use super::model::Time;
use serde::{Deserialize, Deserializer, Serialize};

/// Counts of one phase. Responses without excluded and broken-off ones, unless named otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseCounts {
    /// Its place in order of time.
    pub phase: i64,
    /// Its name.
    pub name: String,
    /// First moment of it.
    pub valid_from: Option<Time>,
    /// First moment after it.
    pub valid_to: Option<Time>,
    /// Responses delivered.
    pub responses: i64,
    /// Of these, judged by a text test.
    pub assessed: i64,
    /// Of these, at or over the engine's limit.
    pub over_limit: i64,
    /// Of these, as long as the shortest one that was over the limit at any time.
    pub as_long: i64,
    /// Prompts at or over the limit that were refused.
    pub refused: i64,
    /// Graded confirmed, exposed.
    pub confirmed: i64,
    /// Graded probable, exposed.
    pub probable: i64,
    /// Graded possible.
    pub possible: i64,
    /// Confirmed or probable outside the known exposure.
    pub outside: i64,
    /// Responses of internal and researcher tenants.
    pub excluded: i64,
    /// Responses whose stream was broken off.
    pub aborted: i64,
    /// Findings of high or critical severity.
    pub findings: i64,
}

/// The length from which answers go wrong, of a model on a node or on all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThresholdRow {
    /// Model.
    pub model: String,
    /// Node, or all of them.
    pub node: String,
    /// Longest clean prompt below the limit, tokens.
    pub longest_clean_tokens: Option<i64>,
    /// Shortest dirty prompt, tokens.
    pub shortest_dirty_tokens: i64,
    /// Smallest pool that this implies, tokens.
    pub implied_pool_from_tokens: Option<i64>,
    /// Largest pool that this implies, tokens.
    pub implied_pool_to_tokens: i64,
    /// Dirty prompts from there on.
    pub dirty_from_there: i64,
    /// Clean prompts from there on.
    pub clean_from_there: i64,
    /// Dirty prompts below.
    pub dirty_below: i64,
    /// Clean prompts below.
    pub clean_below: i64,
    /// Decimal logarithm of the p-value.
    pub log10_p: f64,
}

/// What one node's log could tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CoverageRow {
    /// Node.
    pub node: String,
    /// Role of it.
    pub role: Option<String>,
    /// Engine.
    pub engine: Option<String>,
    /// First event.
    pub first_event: Option<Time>,
    /// Last event.
    pub last_event: Option<Time>,
    /// Events.
    pub events: i64,
    /// Events without a time.
    pub without_time: i64,
    /// Starts of the process.
    pub starts: i64,
    /// Ranks that wrote anything.
    pub ranks: Option<i64>,
    /// Accounts of requests (input lengths, bytes moved).
    pub accounts: i64,
    /// Refusals.
    pub refusals: i64,
    /// Transfers that failed.
    pub failed_transfers: i64,
    /// Whether accounts are switched on.
    pub accounts_are: String,
    /// Whether the request log keeps texts whole.
    pub request_texts_are: String,
}

/// One receiving tenant against its own habit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HabitRow {
    /// Tenant.
    pub tenant: String,
    /// Its calls.
    pub calls: i64,
    /// Those over the limit.
    pub over_limit_calls: i64,
    /// Its longest prompt below the limit, tokens.
    pub longest_prompt_below_limit: Option<i64>,
    /// How far the shortest one over the limit was above it, tokens.
    pub closest_above_limit: Option<i64>,
    /// Over the limit by no more than a hundredth of it.
    pub close_above_limit: i64,
    /// How often the same prompt was sent over the limit.
    pub same_prompt: i64,
    /// How often the same length was.
    pub same_length: i64,
    /// Over the limit with bytes a token unlike its own prompts.
    pub padded: i64,
    /// Over the limit before foreign text came back first.
    pub over_limit_before_receipt: i64,
    /// Over the limit after it.
    pub over_limit_after_receipt: i64,
    /// `consistent with normal use`, `unusual` or `not assessable`; never a verdict.
    pub reading: String,
}

/// Long prompts by how they were served.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LongControlRow {
    /// `over_the_limit`, `refused`, `pool_holds_it`, `one_process`, `unknown`.
    pub served: String,
    /// Node.
    pub node: String,
    /// Engine and version.
    pub version: String,
    /// Calls.
    pub calls: i64,
    /// Answered with tokens.
    pub answered: i64,
    /// Refused.
    pub refused: i64,
    /// With a finding of exposure or disclosure.
    pub with_finding: i64,
}

/// Trouble that depends on length, abort or node: a lead.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EarlySignLead {
    /// Month.
    pub month: String,
    /// Engine and version.
    pub version: String,
    /// Kind of trouble.
    pub sign: String,
    /// What it depends on.
    pub factor: String,
    /// At which value of it.
    pub level: String,
    /// Calls of the month.
    pub calls: i64,
    /// Those in trouble.
    pub troubled: i64,
    /// Calls at the value.
    pub calls_at_level: i64,
    /// Those in trouble.
    pub troubled_at_level: i64,
    /// Decimal logarithm of the p-value after Holm's correction, in thousandths.
    pub log10_p_holm_permille: i64,
    /// The same, uncorrected for other groups, of the best hour or link.
    pub rival_log10_p_permille: i64,
    /// First trouble at the value.
    pub first_time: Option<Time>,
    /// Last trouble at the value.
    pub last_time: Option<Time>,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Testimony {
    /// One row a declared phase, and one for what lies in none; empty without phases.
    pub phases: Vec<PhaseCounts>,
    /// Where answers begin to go wrong.
    pub thresholds: Vec<ThresholdRow>,
    /// Long prompts elsewhere: the negative control.
    pub long_control: Vec<LongControlRow>,
    /// What the logs of the nodes could tell.
    pub coverage: Vec<CoverageRow>,
    /// Receiving tenants against their habits.
    pub habits: Vec<HabitRow>,
    /// Leads from the time before.
    pub early_signs: Vec<EarlySignLead>,
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let stamp: jiff::Timestamp = text.parse().map_err(serde::de::Error::custom)?;
        Ok(Time(stamp.as_microsecond()))
    }
}
