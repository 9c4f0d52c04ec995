//! `engine_events`: what engines say of themselves in their own logs.

use super::{SchemaRef, Table, Word, table};
use pentimento_core::exchange::{Role, TimeMicros};
use serde::{Deserialize, Serialize};

/// The schema of `engine_events`.
pub fn engine_events() -> SchemaRef {
    Table::EngineEvents.schema()
}

table! {
    /// One engine event; never the line itself.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct EngineEventRow in EngineEvents {
        /// The input, see sources
        pub source_id: String,
        /// Where the record starts in the decoded input
        #[unit = "bytes"]
        pub source_offset: i64,
        /// Which event of the record, from 0
        pub source_index: i64,
        /// When; null where the line has no time or its zone is not known
        #[kind = Time]
        pub t: Option<TimeMicros>,
        /// The deployment of the node, from the configuration
        pub deployment: Option<String>,
        /// The node, from the name of the input or the labels of a metric
        pub node: Option<String>,
        /// Role of the process: prefill, decode, unified
        pub role: Option<Role>,
        /// Engine name, lower case
        pub engine: Word,
        /// Ranks of the process that wrote the line, such as DP0 TP0; most lines are written by the
        /// first rank only, so that a missing line proves nothing
        pub rank: Option<String>,
        /// What happened, such as startup, prefill_batch, length_rejected, req_time_stats,
        /// decode_transfer_failed, context_corruption; usage_minute, usage_hour and usage_day for
        /// what was billed from t on
        pub kind: Word,
        /// Model that the event is about, by its name after `[models]`; null where it names none
        pub model: Option<String>,
        /// Id of the request in the engine
        pub engine_request_id: Option<String>,
        /// Id of the hand-over between prefill and decode, a decimal string
        pub bootstrap_room: Option<String>,
        /// First number: a length for refusals and accounts, the pool for capacity, sequences or
        /// requests for batches, requests for usage
        pub n1: Option<i64>,
        /// Second number: a limit for refusals, cached tokens for accounts, a window for capacity,
        /// new or held tokens for batches, prompt tokens for usage
        pub n2: Option<i64>,
        /// Third number: output tokens for accounts, cached tokens for prefill batches, accepted
        /// draft length in thousandths for decode batches, answer tokens for usage
        pub n3: Option<i64>,
        /// Cache that was moved for the request
        #[unit = "bytes"]
        pub moved_bytes: Option<i64>,
        /// What the line means, with its numbers; no word of a client
        pub message: String,
    }
}
