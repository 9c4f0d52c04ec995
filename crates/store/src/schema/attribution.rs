//! `attributions` and `text_health`: whether an answer belongs to its question, and whether it is
//! sound text.

use super::{SchemaRef, Table, Word, table};
use serde::{Deserialize, Serialize};

/// The schema of `attributions`.
pub fn attributions() -> SchemaRef {
    Table::Attributions.schema()
}

/// The schema of `text_health`.
pub fn text_health() -> SchemaRef {
    Table::TextHealth.schema()
}

table! {
    /// One response against its own prompt and the best foreign exchange.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct AttributionRow in Attributions {
        /// The exchange whose response was compared
        pub exchange_id: String,
        /// How well its own prompt explains it; null where no record of the call holds the prompt
        #[unit = "millibits"]
        pub own_score: Option<i64>,
        /// 1 + the candidates that explain it better than its own prompt; null where the prompt
        /// stands in another record of the call only
        pub own_rank: Option<i64>,
        /// Exchanges of other tenants, recent or in flight, that it was compared with
        #[unit = "exchanges"]
        pub candidates: i64,
        /// The candidate that explains it best; null if none shares a rare term with it
        pub best_exchange_id: Option<String>,
        /// Its tenant
        pub best_tenant: Option<String>,
        /// How well it explains the response; 0 if there is none
        #[unit = "millibits"]
        pub best_score: i64,
        /// Whether response and candidate were computed on one node; null where that is not known
        pub same_node: Option<bool>,
        /// How well the best exchange that cannot be the source explains it
        #[unit = "millibits"]
        pub chance_score: i64,
        /// best_score less own_score, the latter taken as at least -40 bits
        #[unit = "millibits"]
        pub margin: Option<i64>,
        /// Chance that a response that belongs to its prompt has such a margin, from exchanges of
        /// this log that cannot be the source; null where not assessable
        pub p_value: Option<f64>,
        /// Whether it could be attributed
        pub assessable: bool,
        /// Why not: answer_too_generic, own_prompt_absent, own_prompt_incomplete, no_candidates,
        /// not_calibrated
        pub unassessable_reason: Option<Word>,
        /// The measure and its version
        pub method: Word,
    }
}

table! {
    /// What one response's text is like.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct TextHealthRow in TextHealth {
        /// The exchange whose response was measured
        pub exchange_id: String,
        /// Length of the response
        #[unit = "bytes"]
        pub response_bytes: i64,
        /// Length of the response
        #[unit = "characters"]
        pub response_characters: i64,
        /// Length of the response; a word is one, as is a character where words have no spaces
        #[unit = "tokens"]
        pub response_tokens: i64,
        /// Longest stretch that repeats itself at a fixed distance
        #[unit = "tokens"]
        pub loop_tokens: i64,
        /// Distinct pairs of tokens among all
        #[unit = "thousandths"]
        pub distinct_2: i64,
        /// Distinct runs of four tokens among all
        #[unit = "thousandths"]
        pub distinct_4: i64,
        /// Size after simple compression against the size before
        #[unit = "thousandths"]
        pub compression: i64,
        /// U+FFFD, which stands where bytes were no text
        #[unit = "characters"]
        pub replacement_characters: i64,
        /// Control characters other than tab and line ends
        #[unit = "characters"]
        pub control_characters: i64,
        /// Unassigned, private and invisible characters
        #[unit = "characters"]
        pub rare_characters: i64,
        /// Tokens of chat templates that its own prompt does not hold
        #[unit = "tokens"]
        pub template_tokens: i64,
        /// Script of the prompt's last message, in four letters; null without prompt
        pub prompt_script: Option<Word>,
        /// Its language where the script is Latin and the language is clear
        pub prompt_language: Option<Word>,
        /// Script of the response
        pub response_script: Word,
        /// Its language where the script is Latin and the language is clear
        pub response_language: Option<Word>,
        /// Whether the response is in another script or language than what was asked; a hint only:
        /// a translation is
        pub writing_differs: bool,
        /// Share of the response's letters in its script
        #[unit = "thousandths"]
        pub script_share: i64,
        /// How often the script changes between stretches of the response
        pub script_changes: i64,
        /// How far the longest loop lies from the median of the same model and node, in
        /// thousandths of a robust standard deviation; positive is worse; null where there are
        /// fewer than 50 responses
        pub deviation_repetition: Option<i64>,
        /// The same of distinct pairs
        pub deviation_distinct: Option<i64>,
        /// The same of compression
        pub deviation_compression: Option<i64>,
        /// The same of broken and unusual characters
        pub deviation_characters: Option<i64>,
        /// The same of the length, either way
        pub deviation_length: Option<i64>,
    }
}
