//! What goes into attribution and what comes out of it.

use crate::exchange::TimeMicros;
use crate::overlap::Subject;

/// The name of the measure in tables. It changes whenever equal texts may get other scores.
pub const METHOD: &str = "lexical-1";

/// Where an exchange was computed. Numbers are the caller's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttributionSubject {
    /// The node whose memory the answer was computed in.
    pub node: Option<u32>,
    /// The model. Exchanges of different models are not compared; an unknown one with all.
    pub model: Option<u32>,
}

/// What is compared with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttributionSettings {
    /// How far candidates may lie before the judged exchange, in microseconds.
    pub look_back: i64,
    /// How far clocks may differ, in microseconds.
    pub clock_tolerance: i64,
}

impl Default for AttributionSettings {
    fn default() -> AttributionSettings {
        AttributionSettings {
            look_back: 24 * 3600 * 1_000_000,
            clock_tolerance: 0,
        }
    }
}

/// What attribution may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttributionLimits {
    /// Bytes of memory to aim for. Less memory means more passes, never another result.
    pub memory_bytes: usize,
}

impl Default for AttributionLimits {
    fn default() -> AttributionLimits {
        AttributionLimits {
            memory_bytes: 256 << 20,
        }
    }
}

/// Whether an answer could be attributed, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assessment {
    /// It could.
    Assessable,
    /// The answer has too few rare terms: it fits anything.
    AnswerTooGeneric,
    /// No record of the call holds its prompt.
    OwnPromptAbsent,
    /// The prompt is cut.
    OwnPromptIncomplete,
    /// No other tenant's exchange was recent or in flight.
    NoCandidates,
    /// The log is too small to say what chance gives.
    NotCalibrated,
}

impl Assessment {
    /// The reason used in tables; `None` if it could be assessed.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Assessment::Assessable => None,
            Assessment::AnswerTooGeneric => Some("answer_too_generic"),
            Assessment::OwnPromptAbsent => Some("own_prompt_absent"),
            Assessment::OwnPromptIncomplete => Some("own_prompt_incomplete"),
            Assessment::NoCandidates => Some("no_candidates"),
            Assessment::NotCalibrated => Some("not_calibrated"),
        }
    }
}

/// One answer against its own prompt and the best foreign exchange. Scores are in millibits.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The judged exchange.
    pub exchange: u32,
    /// Score of its own prompt; `None` where no record of the call holds it.
    pub own_score: Option<i64>,
    /// 1 + the number of candidates that explain the answer better than its own prompt; `None`
    /// where that stands in another record only.
    pub own_rank: Option<u32>,
    /// Exchanges of other tenants that were compared.
    pub candidates: u32,
    /// The candidate that explains the answer best; `None` if none shares a rare term.
    pub best_exchange: Option<u32>,
    /// Its score; 0 if there is none.
    pub best_score: i64,
    /// Whether both were computed on one node; `None` where a node is unknown.
    pub same_node: Option<bool>,
    /// Best score among exchanges that cannot be the source.
    pub chance_score: i64,
    /// Best foreign score less own score, the latter taken as at least -40 bits.
    pub margin: Option<i64>,
    /// Chance that an answer that belongs to its prompt gets such a margin.
    pub p_value: Option<f64>,
    /// Whether the answer could be attributed.
    pub assessment: Assessment,
}

/// The result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// One row for each judged exchange that has an answer, ordered by `id_rank`.
    pub rows: Vec<Row>,
    /// Answers that the null distribution was taken from.
    pub calibrated_on: u64,
    /// Passes over the logs.
    pub passes: u32,
}

/// What candidates and answers are chosen by, taken together from both lists of the caller.
#[derive(Clone, Copy)]
pub(super) struct Facts {
    pub tenant: u32,
    pub call: u32,
    pub t0: TimeMicros,
    pub t1: TimeMicros,
    pub node: Option<u32>,
    pub model: Option<u32>,
}

/// Longest answer in time: a later end is a wrong clock or an idle stream.
pub(super) const LONGEST: i64 = 3_600_000_000;

impl Facts {
    /// The facts of an exchange; `None` without tenant or time.
    pub fn of(subject: &Subject, place: AttributionSubject) -> Option<Facts> {
        let t0 = subject.t_start?;
        let end = subject.t_end.unwrap_or(t0);
        Some(Facts {
            tenant: subject.tenant?,
            call: subject.call,
            t0,
            t1: end.clamp(t0, t0.saturating_add(LONGEST)),
            node: place.node,
            model: place.model,
        })
    }

    /// Whether two exchanges may be compared as to model.
    pub fn same_model(&self, other: &Facts) -> bool {
        self.model.is_none() || other.model.is_none() || self.model == other.model
    }

    /// Whether both were on one node.
    pub fn same_node(&self, other: &Facts) -> Option<bool> {
        Some(self.node? == other.node?)
    }
}
