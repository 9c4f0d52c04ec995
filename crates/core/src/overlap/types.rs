//! What goes into a search for overlaps and what comes out of it.

use crate::exchange::{FieldText, Role, TimeMicros};
use crate::text::Tokens;
use std::cmp::Ordering;

/// Most ranges of unexplained tokens that a row names: memory must not grow with rows times tokens.
pub const NOVEL_RANGES: usize = 32;

/// Weight of a window in half-words: 6 words, 12 characters of CJK, and mixtures of both.
pub const WINDOW_WEIGHT: u32 = 12;

/// The facts of one exchange that the search needs. All numbers are the caller's: exchanges are
/// named by their index in the list of subjects, calls and tenants by any dense numbering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The call.
    pub call: u32,
    /// The tenant after mapping, numbered in the order of tenant names; `None` if unknown.
    pub tenant: Option<u32>,
    /// Who wrote the record.
    pub role: Role,
    /// Index of the choice.
    pub choice: u32,
    /// Start of the request.
    pub t_start: Option<TimeMicros>,
    /// End of the response.
    pub t_end: Option<TimeMicros>,
    /// Rank of the exchange by `exchange_id` (unique).
    pub id_rank: u32,
    /// Whether its response is to be searched, if a tenant and a time are known.
    pub judge: bool,
    /// When the process that computed it was started, where that is known: what it served since
    /// may still lie in its memory, however long ago.
    pub process_start: Option<TimeMicros>,
}

/// The texts of one exchange.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fields<'a> {
    /// Prompt text.
    pub prompt: Option<&'a FieldText>,
    /// Response text.
    pub response: Option<&'a FieldText>,
    /// Reasoning text.
    pub reasoning: Option<&'a FieldText>,
    /// Tool-call names and arguments.
    pub tool: Option<&'a FieldText>,
    /// The end of the prompt is missing.
    pub prompt_truncated: bool,
    /// The ends of response, reasoning and tool arguments are missing.
    pub response_truncated: bool,
}

impl<'a> Fields<'a> {
    /// One text and whether its end is missing.
    pub fn get(&self, field: Field) -> (Option<&'a FieldText>, bool) {
        match field {
            Field::Prompt => (self.prompt, self.prompt_truncated),
            Field::Response => (self.response, self.response_truncated),
            Field::Reasoning => (self.reasoning, self.response_truncated),
            Field::Tool => (self.tool, self.response_truncated),
        }
    }

    /// Tokenises one text; `false` if there is none.
    pub(crate) fn tokens(&self, field: Field, out: &mut Tokens) -> bool {
        let (text, truncated) = self.get(field);
        match text {
            None => {
                out.clear();
                false
            }
            Some(text) => {
                crate::text::tokenize(text, out);
                if truncated {
                    out.cut_end();
                }
                !out.is_empty()
            }
        }
    }
}

/// A text of an exchange, in the order in which sources are preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// The prompt.
    Prompt,
    /// The response.
    Response,
    /// The reasoning.
    Reasoning,
    /// Tool-call names and arguments.
    Tool,
}

impl Field {
    /// All fields.
    pub const ALL: [Field; 4] = [
        Field::Prompt,
        Field::Response,
        Field::Reasoning,
        Field::Tool,
    ];
    /// The fields that are judged.
    pub const ANSWERS: [Field; 3] = [Field::Response, Field::Reasoning, Field::Tool];

    /// The name used in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Field::Prompt => "prompt",
            Field::Response => "response",
            Field::Reasoning => "reasoning",
            Field::Tool => "tool",
        }
    }

    /// The side it belongs to: `prompt` or `response`.
    pub fn side(self) -> &'static str {
        match self {
            Field::Prompt => "prompt",
            _ => "response",
        }
    }
}

/// When a source stood, seen from the judged exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeOrder {
    /// It had ended.
    Before,
    /// Both were in flight.
    Overlap,
    /// The declared clock tolerance allows both orders.
    Unknown,
}

impl TimeOrder {
    /// The name used in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            TimeOrder::Before => "before",
            TimeOrder::Overlap => "overlap",
            TimeOrder::Unknown => "unknown",
        }
    }
}

/// What counts as an overlap.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// How far sources may lie before the judged exchange, in microseconds.
    pub look_back: i64,
    /// How far clocks may differ, in microseconds (0: not at all).
    pub clock_tolerance: i64,
    /// Text that more than this many other tenants carry independently is common.
    pub max_tenants: u32,
    /// Least unexplained weight of a stored row, in half-words; at least [`WINDOW_WEIGHT`].
    pub store_weight: u32,
    /// Key of the hash of the shared text.
    pub span_key: [u8; 32],
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            look_back: 24 * 3600 * 1_000_000,
            clock_tolerance: 0,
            max_tenants: 3,
            store_weight: 16,
            span_key: [0; 32],
        }
    }
}

// The key must not reach a log.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("look_back", &self.look_back)
            .field("clock_tolerance", &self.clock_tolerance)
            .field("max_tenants", &self.max_tenants)
            .field("store_weight", &self.store_weight)
            .finish_non_exhaustive()
    }
}

impl Settings {
    /// The time in which text counts for a judged exchange that was there from `t0` to `t1`: first
    /// and last microsecond. It looks back as far as is set, and to the start of its process.
    pub(crate) fn range(
        &self,
        judged: &Subject,
        t0: TimeMicros,
        t1: TimeMicros,
    ) -> (TimeMicros, TimeMicros) {
        let from = t0.saturating_sub(self.look_back);
        (
            judged.process_start.map_or(from, |start| from.min(start)),
            t1.saturating_add(self.clock_tolerance),
        )
    }

    /// The order of a source and a judged exchange.
    pub(crate) fn order(&self, source: &Subject, t0: TimeMicros, t1: TimeMicros) -> TimeOrder {
        let start = source.t_start.unwrap_or(t0);
        let end = existed(source, start);
        let tolerance = self.clock_tolerance;
        if end < t0.saturating_sub(tolerance) {
            TimeOrder::Before
        } else if tolerance > 0
            && (end.saturating_sub(t0).saturating_abs() <= tolerance || start > t1)
        {
            TimeOrder::Unknown
        } else {
            TimeOrder::Overlap
        }
    }

    /// Keyed hash of a shared text: folded tokens joined by one space.
    pub(super) fn span_hmac(&self, tokens: &Tokens, from: usize, to: usize) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_keyed(&self.span_key);
        for token in from..to {
            if token > from {
                hasher.update(b" ");
            }
            hasher.update(tokens.folded(token));
        }
        let mut out = [0; 16];
        out.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        out
    }
}

/// What the search may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory that the search aims to stay within. Less memory means more passes,
    /// never another result.
    pub memory_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory_bytes: 512 << 20,
        }
    }
}

/// What a pass over the logs does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassKind {
    /// Finds the distinct texts to judge.
    Judge,
    /// Indexes the texts to judge.
    Index,
    /// Finds which of their passages another tenant's texts hold.
    Discover,
    /// Takes the judged texts round those passages.
    Activate,
    /// Finds who carried the passages, and when.
    Collect,
    /// Measures the shared runs.
    Match,
}

/// One maximal shared run: a row of `overlaps`. Exchanges and tenants are the caller's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The judged exchange.
    pub exchange: u32,
    /// The source.
    pub source_exchange: u32,
    /// Tenant of the judged exchange.
    pub tenant: u32,
    /// Tenant of the source.
    pub source_tenant: u32,
    /// Judged field.
    pub field: Field,
    /// Field of the source.
    pub source_field: Field,
    /// First byte in the judged field.
    pub response_start: u32,
    /// One past the last byte in the judged field.
    pub response_end: u32,
    /// First byte in the source field.
    pub source_start: u32,
    /// One past the last byte in the source field.
    pub source_end: u32,
    /// Tokens of the run.
    pub tokens: u32,
    /// Unexplained tokens.
    pub novel_tokens: u32,
    /// Weight of the unexplained tokens in half-words.
    pub novel_weight: u32,
    /// Byte ranges of the unexplained tokens in the judged field, ascending; neighbours are one.
    /// Of a run with more than [`NOVEL_RANGES`] of them, the first ones.
    pub novel: Box<[(u32, u32)]>,
    /// Least number of other tenants that carry a novel window independently, at least 1.
    pub carriers: u32,
    /// Whether the source tenant carries all novel windows independently.
    pub source_carries: bool,
    /// Milliseconds from the start of the source to that of the judged exchange, rounded down.
    pub lag_ms: i64,
    /// Which was first.
    pub order: TimeOrder,
    /// The run touches a place where text is missing.
    pub at_cut: bool,
    /// Keyed hash of the shared text.
    pub span_hmac: [u8; 16],
}

/// A text that was searched, or that equals one of its call that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgedText {
    /// The exchange that holds it.
    pub exchange: u32,
    /// The field.
    pub field: Field,
    /// The exchange of the call that stands for it: rows name this one.
    pub first: u32,
    /// Tokens of the text.
    pub tokens: u32,
}

/// How much work a search was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Passes over the logs.
    pub passes: u32,
    /// Distinct texts judged.
    pub texts: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Texts that share a passage with another tenant.
    pub active_texts: u64,
    /// Texts that were matched against their sources.
    pub matched_texts: u64,
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Rows, in the order of the table.
    pub rows: Vec<Row>,
    /// Judged texts by exchange and field. An exchange without any had no tokens to judge, no
    /// tenant, no time, or `judge` was not set.
    pub judged: Vec<JudgedText>,
    /// Work done.
    pub stats: Stats,
}

/// Byte ranges of the first unexplained tokens of `from..to`; neighbours are one.
pub(super) fn novel_ranges(
    tokens: &Tokens,
    explained: &[bool],
    from: usize,
    to: usize,
) -> Box<[(u32, u32)]> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for token in (from..to).filter(|&t| !explained[t]) {
        if token > from && !explained[token - 1] {
            if let Some(range) = ranges.last_mut() {
                range.1 = tokens.end[token];
            }
        } else if ranges.len() < NOVEL_RANGES {
            ranges.push((tokens.start[token], tokens.end[token]));
        } else {
            break;
        }
    }
    ranges.into()
}

/// The order of rows in the table.
pub(super) fn row_order(subjects: &[Subject], a: &Row, b: &Row) -> Ordering {
    let key = |r: &Row| {
        (
            subjects[r.exchange as usize].id_rank,
            r.field.as_str(),
            r.response_start,
            r.response_end,
            r.source_tenant,
            // Tokens of one character (a fraction) share its bytes; the rest makes the order total.
            r.tokens,
            r.source_start,
            r.span_hmac,
        )
    };
    key(a).cmp(&key(b))
}

/// The time by which an answer existed: its end, or its start if the end is not known or not later.
pub(crate) fn existed(subject: &Subject, start: TimeMicros) -> TimeMicros {
    subject.t_end.map_or(start, |end| end.max(start))
}
