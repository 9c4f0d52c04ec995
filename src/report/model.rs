//! The one typed value that every report format is made from: plain data, no Arrow, no clock.
//!
//! Whoever fills a [`Report`] sets the facts and then calls [`Report::finish`],
//! which derives the sentence, the limits and the next steps. Counts are of delivered responses
//! unless a field says otherwise. Strings are raw here; the renderers make them safe. Nothing in
//! it may hold text of a prompt or a response, except
//! [`Finding::preview`](super::finding::Finding).

use super::controls::{ControlRow, SignalRow};
use super::finding::{FindingList, RuleRow};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// An instant in microseconds since the Unix epoch, UTC; written as RFC 3339.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub i64);

impl fmt::Display for Time {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(instant) => write!(out, "{instant}"),
            Err(_) => write!(out, "{} µs since 1970", self.0),
        }
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Everything a report says.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// What was examined, by which version, and whether the run is complete.
    pub header: Header,
    /// The verdict in words; set by `finish`.
    pub verdict: String,
    /// The three numbers over the exposed responses (generation 1, not excluded).
    pub headline: Headline,
    /// What looks like foreign text outside the known exposure; never added to the headline.
    pub outside: Outside,
    /// Responses of internal and researcher tenants, by grade.
    pub excluded: Vec<ExcludedRow>,
    /// Aborted streams: not delivered, so in none of the numbers above.
    pub aborted: Aborted,
    /// First event of the headline's best count, or of its ceiling where best is zero.
    pub first_time: Option<Time>,
    /// Last event of the same.
    pub last_time: Option<Time>,
    /// From all responses down to the graded ones, in order.
    pub funnel: Vec<FunnelRow>,
    /// Responses by exposure, disclosure and grade.
    pub axes: Vec<AxisRow>,
    /// One row a day, ascending; days without records may be absent (renderers show the gap).
    pub timeline: Vec<DayRow>,
    /// Capacity epochs, ordered by model, deployment, node, start.
    pub capacity: Vec<CapacityEpoch>,
    /// How the number of exposed responses with foreign text moves with the thresholds.
    pub sensitivity: Vec<SensitivityRow>,
    /// How often the rules hit where nothing can have leaked.
    pub controls: Vec<ControlRow>,
    /// Which witnesses agree about the flagged and the exposed responses.
    pub signals: Vec<SignalRow>,
    /// Who received whose data (grades confirmed and probable, exposed, not excluded).
    pub recipients: Vec<Recipient>,
    /// The findings, worst first.
    pub findings: FindingList,
    /// Every rule that was loaded, with its hits, zero included.
    pub rules: Vec<RuleRow>,
    /// How much of the traffic could be judged at all.
    pub assessability: Assessability,
    /// One row a source with its record tally.
    pub sources: Vec<SourceRow>,
    /// Rejected records by reason.
    pub rejects: Vec<RejectRow>,
    /// How exchanges were joined to calls.
    pub linking: Linking,
    /// The settings the result depends on.
    pub method: Method,
    /// What the result cannot say. `finish` appends those that follow from the state.
    pub limitations: Vec<String>,
    /// What to do next. `finish` puts those that follow from the state before these.
    pub next_steps: Vec<String>,
}

/// What was examined and how the run ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Header {
    /// Version of the program, such as `0.1.0`.
    pub tool_version: String,
    /// Name of the case: the last part of its folder.
    pub case_name: String,
    /// Start of the period examined (`--since`, else the first record).
    pub period_start: Option<Time>,
    /// End of the period examined (`--until`, else the last record).
    pub period_end: Option<Time>,
    /// How the run ended.
    pub status: Status,
    /// Digest of the effective configuration (hex).
    pub config_digest: String,
    /// True when masked previews were asked for with `--reveal`.
    pub revealed: bool,
}

/// How the run ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Status {
    /// False when evidence is incomplete (also where findings keep the exit code at 3).
    pub complete: bool,
    /// Exit code of the run.
    pub exit_code: i32,
    /// Why it is incomplete, or null. No log text.
    pub reason: Option<String>,
}

/// Floor, best and ceiling.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Headline {
    /// Confirmed.
    pub floor: Extent,
    /// Confirmed and probable.
    pub best: Extent,
    /// Confirmed, probable and possible, and triggered ones that cannot be assessed.
    pub ceiling: Extent,
    /// False where no capacity is known: nothing is exposed then, and the numbers wait for it.
    pub capacity_known: bool,
}

/// One number and what stands beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Extent {
    /// Responses delivered; each retry and each of n choices counts.
    pub responses: i64,
    /// Calls they belong to.
    pub calls: i64,
    /// Tenants that received them (unknown tenants not counted).
    pub receiving_tenants: i64,
    /// Tenants whose text they show.
    pub source_tenants: i64,
}

/// Responses outside the known exposure that a text test points at.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outside {
    /// Confirmed outside the known exposure (expected to be empty: proof needs exposure).
    pub confirmed: Extent,
    /// Probable outside the known exposure.
    pub probable: Extent,
    /// Possible outside the known exposure.
    pub possible: Extent,
    /// Expected number of natural look-alikes among them; null until calibrated.
    pub expected_false: Option<f64>,
    /// A remark, such as that no capacity is known. May be empty.
    pub note: String,
}

/// Excluded tenants' responses of one grade.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExcludedRow {
    /// `internal` or `researcher`.
    pub kind: String,
    /// Grade that the responses keep.
    pub grade: String,
    /// Responses.
    pub responses: i64,
}

/// Aborted streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Aborted {
    /// Responses whose stream was aborted.
    pub responses: i64,
    /// Of these, at or over the engine's limit.
    pub over_limit: i64,
    /// Of these, with a finding of likely or proven disclosure.
    pub with_foreign_text: i64,
}

/// One step of the funnel.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FunnelRow {
    /// Stable key, such as `over_pool`.
    pub stage: String,
    /// What the step keeps, in words.
    pub label: String,
    /// Responses left after the step.
    pub responses: i64,
}

/// Responses in one cell of the two axes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AxisRow {
    /// proven, likely, none, unknown.
    pub exposure: String,
    /// proven, likely, none_found, not_assessable.
    pub disclosure: String,
    /// confirmed, probable, possible, cleared, not_assessable.
    pub grade: String,
    /// Responses, excluded tenants not counted.
    pub responses: i64,
}

/// One day, UTC.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DayRow {
    /// `YYYY-MM-DD`, or `unknown` for responses without a time.
    pub day: String,
    /// Responses delivered.
    pub responses: i64,
    /// Of these, at or over the engine's limit.
    pub over_limit: i64,
    /// Graded confirmed.
    pub confirmed: i64,
    /// Graded probable, exposed.
    pub probable: i64,
    /// Graded possible.
    pub possible: i64,
}

/// Whether a capacity epoch lets prompts in that the pool cannot hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mismatch {
    /// Pool or window is not known.
    #[default]
    Unknown,
    /// The pool holds the whole window, or the role keeps no prompt pool.
    None,
    /// Smaller pool than window, but prefill and decode share one engine: such prompts are refused.
    Unified,
    /// Smaller pool than window, and the mode is not known.
    ExposedModeUnknown,
    /// Smaller pool than window on a disaggregated engine.
    Exposed,
}

/// One capacity epoch. Sizes in tokens.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CapacityEpoch {
    /// Id, as in `exchanges.capacity_id`.
    pub capacity_id: String,
    /// Model it holds for.
    pub model: Option<String>,
    /// Deployment.
    pub deployment: Option<String>,
    /// Node.
    pub node: Option<String>,
    /// Role of the node.
    pub role: Option<String>,
    /// Start; null is "since ever".
    pub valid_from: Option<Time>,
    /// End, not included; null is "until further notice".
    pub valid_to: Option<Time>,
    /// KV-pool capacity.
    pub pool_tokens: Option<i64>,
    /// Context window.
    pub window_tokens: Option<i64>,
    /// Page size.
    pub page_tokens: Option<i64>,
    /// Smallest prompt that the engine refuses.
    pub reject_at_tokens: Option<i64>,
    /// Engine and version, such as `sglang 0.5.9`.
    pub engine: Option<String>,
    /// `disaggregated`, `unified` or null.
    pub mode: Option<String>,
    /// Where the epoch was read from: config, engine log, server info.
    pub source: String,
    /// Set by `finish`.
    pub mismatch: Mismatch,
    /// Smallest exposed prompt length, where there is a mismatch; set by `finish`.
    pub exposed_from: Option<i64>,
    /// First prompt length above the exposed range (the window); set by `finish`.
    pub exposed_to: Option<i64>,
}

/// One cell of the sensitivity table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SensitivityRow {
    /// Least weight of foreign words in one span (words).
    pub min_words: i64,
    /// Which length makes a response exposed: `engine_limit` or `pool`.
    pub limit: String,
    /// Most tenants that may carry the text independently.
    pub max_carriers: i64,
    /// Exposed responses with such a span, excluded tenants removed.
    pub responses: i64,
    /// True for the cell that the rules use.
    pub in_use: bool,
}

/// One receiving tenant and one source tenant.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Recipient {
    /// Tenant that received the responses; null where the log does not say.
    pub tenant: Option<String>,
    /// Tenant whose text they show.
    pub source_tenant: Option<String>,
    /// Responses graded confirmed.
    pub confirmed: i64,
    /// Responses graded confirmed or probable.
    pub responses: i64,
    /// First event.
    pub first_time: Option<Time>,
    /// Last event.
    pub last_time: Option<Time>,
}

/// How much of the traffic could be judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Assessability {
    /// Calls with a delivered response in the period.
    pub calls: i64,
    /// Calls seen by any text test.
    pub calls_seen: i64,
    /// Delivered responses in the period.
    pub responses: i64,
    /// Responses with a disclosure of proven, likely or none_found.
    pub responses_assessed: i64,
    /// Responses at or over the engine's limit that no text test could judge.
    pub triggered_unassessed: i64,
    /// Least share of calls (`--min-assessable`), 0 to 1.
    pub required_share: f64,
    /// Why responses could not be assessed, most frequent first; one response may have several.
    pub reasons: Vec<ReasonCount>,
}

/// A reason and how many responses name it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReasonCount {
    /// Word, such as `own_prompt_incomplete`.
    pub reason: String,
    /// Responses.
    pub responses: i64,
}

/// One source with its tally; all counts are records unless named otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SourceRow {
    /// Id, such as `s0001`.
    pub source_id: String,
    /// Path as given.
    pub path: String,
    /// Format.
    pub format: String,
    /// complete, truncated, corrupt, unreadable, empty.
    pub status: String,
    /// Bytes as received.
    pub bytes: i64,
    /// SHA-256 as received (hex).
    pub sha256: String,
    /// Records read.
    pub records_read: i64,
    /// Accepted as exchanges.
    pub records_exchange: i64,
    /// Accepted as engine events.
    pub records_event: i64,
    /// Known, neither exchange nor event.
    pub records_other: i64,
    /// Rejected.
    pub records_rejected: i64,
    /// Equal to an earlier record.
    pub records_duplicate: i64,
    /// Outside the period.
    pub records_out_of_window: i64,
    /// Exchanges (a record may hold several).
    pub exchanges: i64,
    /// First time in it.
    pub first_time: Option<Time>,
    /// Last time in it.
    pub last_time: Option<Time>,
}

impl SourceRow {
    /// Records that the tally accounts for; null if the counts do not fit 64 bits.
    pub fn accounted(&self) -> Option<i64> {
        [
            self.records_event,
            self.records_other,
            self.records_rejected,
            self.records_duplicate,
            self.records_out_of_window,
        ]
        .iter()
        .try_fold(self.records_exchange, |sum, count| sum.checked_add(*count))
    }

    /// True when records read = exchange + event + other + rejected + duplicate + out of window.
    pub fn sums(&self) -> bool {
        self.accounted() == Some(self.records_read)
    }
}

/// Rejects with one reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RejectRow {
    /// Reason word.
    pub reason: String,
    /// Records.
    pub records: i64,
    /// Bytes of these.
    pub bytes: i64,
}

/// How exchanges were joined to calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Linking {
    /// Exchanges in the period.
    pub exchanges: i64,
    /// Calls.
    pub calls: i64,
    /// Calls joined by each kind of id.
    pub by_kind: Vec<LinkKind>,
    /// Id collisions whose links were refused.
    pub collisions: i64,
}

/// Calls joined by one kind of id.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkKind {
    /// Kind, such as `request_id` or `bootstrap_room`.
    pub kind: String,
    /// Calls.
    pub calls: i64,
}

/// Settings that the result depends on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Method {
    /// Words that make one window of the overlap search.
    pub window_words: i64,
    /// Least weight of novel words that is stored.
    pub store_weight: i64,
    /// Least weight of novel words that makes a finding.
    pub cut_weight: i64,
    /// Most tenants that may carry a text before it counts as common.
    pub max_tenants: i64,
    /// How long before the period sources are read, in seconds.
    pub look_back_seconds: i64,
    /// Tolerance between clocks, in milliseconds.
    pub clock_tolerance_ms: i64,
    /// Unicode version of normalisation and word splitting.
    pub unicode_version: String,
    /// auto, suspect or full: which answers are searched.
    pub mode: String,
    /// Any further setting, name to value.
    pub further: BTreeMap<String, String>,
}
