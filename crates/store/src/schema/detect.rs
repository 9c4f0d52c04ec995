//! `overlaps`, `findings` and `verdicts`: what was found and how it was graded.

use super::{SchemaRef, Table, Word, table};
use pentimento_core::exchange::TimeMicros;
use serde::{Deserialize, Serialize};

/// The schema of `overlaps`.
pub fn overlaps() -> SchemaRef {
    Table::Overlaps.schema()
}

/// The schema of `second_hand`.
pub fn second_hand() -> SchemaRef {
    Table::SecondHand.schema()
}

/// The schema of `findings`.
pub fn findings() -> SchemaRef {
    Table::Findings.schema()
}

/// The schema of `verdicts`.
pub fn verdicts() -> SchemaRef {
    Table::Verdicts.schema()
}

table! {
    /// One maximal token span that a response shares with another tenant's text.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct OverlapRow in Overlaps {
        /// The exchange whose response holds the span
        pub exchange_id: String,
        /// The exchange the span may come from
        pub source_exchange_id: String,
        /// Who received the response
        pub tenant: Option<String>,
        /// Whose text the span may be
        pub source_tenant: Option<String>,
        /// Side of the source: prompt, response
        pub source_side: Word,
        /// Text of the source: prompt, response, reasoning, tool
        pub source_field: Word,
        /// Text of the response: response, reasoning, tool
        pub field: Word,
        /// First byte of the span in the response's text
        #[unit = "bytes"]
        pub response_start: i64,
        /// One past its last byte in the response's text
        #[unit = "bytes"]
        pub response_end: i64,
        /// First byte of the span in the source's text
        #[unit = "bytes"]
        pub source_start: i64,
        /// One past its last byte in the source's text
        #[unit = "bytes"]
        pub source_end: i64,
        /// Length of the span
        #[unit = "tokens"]
        pub tokens: i64,
        /// Tokens of it that are neither the receiver's own nor common
        #[unit = "tokens"]
        pub novel_tokens: i64,
        /// Weight of the novel tokens in half-words: a word counts 2, a character of CJK or Thai 1
        pub novel_weight: i64,
        /// Independent carriers: tenants that wrote the novel text first themselves
        #[unit = "tenants"]
        pub carriers: i64,
        /// Whether the source tenant is itself an independent carrier of every novel window of the
        /// span
        pub source_carries: bool,
        /// How unlikely the novel part of the span is under the traffic of the case
        #[unit = "millibits"]
        pub surprise_millibits: Option<i64>,
        /// How much of that stands in the receiver's own prompt all the same, word by word
        #[unit = "thousandths"]
        pub own_fit_permille: Option<i64>,
        /// How much of their rarest words the prompts of both exchanges share; null where one has
        /// none
        #[unit = "thousandths"]
        pub prompt_similarity_permille: Option<i64>,
        /// Tokens of the chain of short fragments that the row stands for; null for one whole span
        #[unit = "tokens"]
        pub chain_tokens: Option<i64>,
        /// How unlikely that chain is by chance
        #[unit = "bits"]
        pub chain_bits: Option<i64>,
        /// From the source's time to the response's; null where a time is unknown
        #[unit = "milliseconds"]
        pub lag_ms: Option<i64>,
        /// KV pools' worth of tokens that their common process wrote in between; null where the
        /// process or its pool is not known
        pub turnovers: Option<f64>,
        /// When the source was there, seen from the response: before, overlap, after, unknown
        pub order: Word,
        /// Whether the two could have shared memory; null where it is not known
        pub same_share_group: Option<bool>,
        /// Whether the source's memory was gone: its process was started anew in between, or the
        /// deployments differ; null where nothing is known
        pub memory_gone: Option<bool>,
        /// Whether the span ends where a logger cut a text
        pub at_cut: bool,
        /// Keyed hash of the span's tokens
        pub span_hmac: String,
    }
}

table! {
    /// A prompt that holds text which an earlier answer had leaked to the same tenant.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct SecondHandRow in SecondHand {
        /// The exchange with the prompt
        pub exchange_id: String,
        /// The exchange whose answer leaked: the earliest where several did
        pub leak_exchange_id: String,
        /// Leaked tokens in a row
        #[unit = "tokens"]
        pub tokens: i64,
    }
}

table! {
    /// One hit of a rule.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct FindingRow in Findings {
        /// Stable id of the finding
        pub finding_id: String,
        /// The rule that hit
        pub rule_id: String,
        /// critical, high, medium, low
        pub severity: Word,
        /// Computed on memory it did not own: proven, likely, none, unknown; null where the rule
        /// says nothing of it
        pub exposure: Option<Word>,
        /// Shows foreign text: proven, likely, none_found, not_assessable; null where the rule says
        /// nothing of it
        pub disclosure: Option<Word>,
        /// The exchange it is about; null where it is about a configuration
        pub exchange_id: Option<String>,
        /// The request's id
        pub request_id: Option<String>,
        /// The call
        pub call_id: Option<String>,
        /// Who received the response
        pub tenant: Option<String>,
        /// The exchange the text may come from
        pub source_exchange_id: Option<String>,
        /// Whose text it may be
        pub source_tenant: Option<String>,
        /// When it happened
        #[kind = Time]
        pub event_time: Option<TimeMicros>,
        /// What happened, in one line
        pub title: String,
        /// The rule's other columns as JSON, keys sorted
        pub evidence: String,
    }
}

table! {
    /// The grade of one delivered response.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct VerdictRow in Verdicts {
        /// The client-facing exchange
        pub exchange_id: String,
        /// The gateway's id of the request, else the client's, else the earliest
        pub request_id: Option<String>,
        /// The call
        pub call_id: String,
        /// Who received the response
        pub tenant: Option<String>,
        /// confirmed, probable, possible, cleared, not_assessable
        pub grade: Word,
        /// Computed on memory it did not own: proven, likely, none, unknown
        pub exposure: Word,
        /// Shows foreign text: proven, likely, none_found, not_assessable
        pub disclosure: Word,
        /// Estimated probability that it shows another tenant's text, 0 to 1, one leak in 1,000
        /// answers being assumed outside a known exposure; null in cases of older versions
        pub score: Option<f64>,
        /// What explains the overlap: kv_leak, gateway_cache, same_question, shared_text and
        /// others; null where there is none
        pub cause: Option<Word>,
        /// 1 for a leak of first hand, 2 where the own prompt already held leaked text; null reads
        /// 1
        pub generation: Option<i32>,
        /// Why it stands outside the count: internal, researcher; null where it does not
        pub excluded: Option<Word>,
        /// Whose text it shows
        pub source_tenant: Option<String>,
        /// The exchange the text may come from
        pub source_exchange_id: Option<String>,
        /// Findings of the call
        #[unit = "findings"]
        pub findings: i64,
        /// When the response was asked for
        #[kind = Time]
        pub event_time: Option<TimeMicros>,
        /// Why the grade is what it is: sorted words, joined with commas
        pub reasons: String,
    }
}
