//! `fact_overlaps` and `duplicates`: what two exchanges have in common without a common span.

use super::{SchemaRef, Table, Word, table};
use serde::{Deserialize, Serialize};

/// The schema of `fact_overlaps`.
pub fn fact_overlaps() -> SchemaRef {
    Table::FactOverlaps.schema()
}

/// The schema of `duplicates`.
pub fn duplicates() -> SchemaRef {
    Table::Duplicates.schema()
}

table! {
    /// Rare facts of one foreign exchange that meet in one response.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct FactOverlapRow in FactOverlaps {
        /// The exchange whose response holds the facts
        pub exchange_id: String,
        /// The exchange they may come from
        pub source_exchange_id: String,
        /// Who received the response
        pub tenant: Option<String>,
        /// Whose facts they may be
        pub source_tenant: Option<String>,
        /// Text of the response: response, reasoning, tool
        pub field: Word,
        /// Text of the source: prompt, response, reasoning, tool
        pub source_field: Word,
        /// Independent facts that both hold and the own prompt does not
        pub facts: i64,
        /// Names and other rare words among them
        pub names: i64,
        /// Numbers among them
        pub numbers: i64,
        /// Dates among them
        pub dates: i64,
        /// Ids among them
        pub ids: i64,
        /// From the first byte of a fact in the response
        #[unit = "bytes"]
        pub response_start: i64,
        /// One past the last
        #[unit = "bytes"]
        pub response_end: i64,
        /// From the first byte of a fact in the source
        #[unit = "bytes"]
        pub source_start: i64,
        /// One past the last
        #[unit = "bytes"]
        pub source_end: i64,
        /// How unlikely it is that they meet
        #[unit = "millibits"]
        pub surprise_millibits: i64,
        /// What is left of that after the number of places where they could meet by chance
        #[unit = "millibits"]
        pub score_millibits: i64,
        /// How much of their rarest words both prompts share; null where one has none
        #[unit = "thousandths"]
        pub prompt_similarity_permille: Option<i64>,
        /// From the source's time to the response's
        #[unit = "milliseconds"]
        pub lag_ms: i64,
        /// When the source was there, seen from the response: before, overlap, unknown
        pub order: Word,
        /// Whether the two could have shared memory; null where it is not known
        pub same_share_group: Option<bool>,
    }
}

table! {
    /// The same long answer, or nearly, to two tenants.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct DuplicateRow in Duplicates {
        /// The later answer
        pub exchange_id: String,
        /// The earlier answer
        pub source_exchange_id: String,
        /// Who received the later one
        pub tenant: Option<String>,
        /// Who received the earlier one
        pub source_tenant: Option<String>,
        /// Text of the later one: response, reasoning, tool
        pub field: Word,
        /// Text of the earlier one
        pub source_field: Word,
        /// Length of the later answer
        #[unit = "tokens"]
        pub tokens: i64,
        /// Whether both are the same sequence of tokens
        pub same_text: bool,
        /// Short runs that both have, of all; an estimate
        #[unit = "thousandths"]
        pub similarity_permille: i64,
        /// Whether both prompts are the same; null where one is not known
        pub same_prompt: Option<bool>,
        /// How much of their rarest words both prompts share; null where one has none
        #[unit = "thousandths"]
        pub prompt_similarity_permille: Option<i64>,
        /// Tenants that got such an answer up to then, the two included
        #[unit = "tenants"]
        pub tenants: i64,
        /// From the earlier exchange's start to the later one's
        #[unit = "milliseconds"]
        pub lag_ms: i64,
        /// Whether the two could have shared memory; null where it is not known
        pub same_share_group: Option<bool>,
    }
}
