//! `sources`, `rejects` and `capacity`: what was read, what was not, and what the engines could
//! hold.

use super::{SchemaRef, Table, Word, table};
use pentimento_core::exchange::{RejectReason, Role, TimeMicros};
use serde::{Deserialize, Serialize};

/// The schema of `sources`.
pub fn sources() -> SchemaRef {
    Table::Sources.schema()
}

/// The schema of `rejects`.
pub fn rejects() -> SchemaRef {
    Table::Rejects.schema()
}

/// The schema of `capacity`.
pub fn capacity() -> SchemaRef {
    Table::Capacity.schema()
}

table! {
    /// One input with its tally.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct SourceRow in Sources {
        /// s0001 and on, in the order of the sorted paths
        pub source_id: String,
        /// The path or address as given; an entry of an archive follows it after `!`
        pub path: String,
        /// Log format; null where none fits
        pub format: Option<Word>,
        /// Size as received; of an entry, what it takes in its archive
        #[unit = "bytes"]
        pub bytes: i64,
        /// Size after decompression
        #[unit = "bytes"]
        pub bytes_decoded: i64,
        /// SHA-256 as received, hex; null where it could not be read
        pub sha256: Option<String>,
        /// SHA-256 after decompression, hex; null where it could not be read
        pub sha256_decoded: Option<String>,
        /// Records seen; the sum of the six counts that follow
        #[unit = "records"]
        pub records_read: i64,
        /// Records that gave at least one exchange
        #[unit = "records"]
        pub records_exchange: i64,
        /// Records that are engine or platform events
        #[unit = "records"]
        pub records_event: i64,
        /// Known records that are neither
        #[unit = "records"]
        pub records_other: i64,
        /// Records that could not be read, see rejects
        #[unit = "records"]
        pub records_rejected: i64,
        /// Records equal to one already taken
        #[unit = "records"]
        pub records_duplicate: i64,
        /// Records outside the audited window and its look-back
        #[unit = "records"]
        pub records_out_of_window: i64,
        /// Exchanges taken; a record with several choices gives several
        #[unit = "exchanges"]
        pub exchanges: i64,
        /// Earliest time of an exchange
        #[kind = Time]
        pub first_time: Option<TimeMicros>,
        /// Latest time of an exchange
        #[kind = Time]
        pub last_time: Option<TimeMicros>,
        /// How far it could be read: complete, truncated, corrupt, unreadable, empty
        pub status: Word,
    }
}

impl SourceRow {
    /// Records that are accounted for; equal to `records_read` unless some were lost.
    /// `None` where the sum leaves 64 bits.
    pub fn records_accounted(&self) -> Option<i64> {
        self.records_exchange
            .checked_add(self.records_event)?
            .checked_add(self.records_other)?
            .checked_add(self.records_rejected)?
            .checked_add(self.records_duplicate)?
            .checked_add(self.records_out_of_window)
    }
}

table! {
    /// Bytes that could not become an exchange; never the bytes themselves.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct RejectRow in Rejects {
        /// The input, see sources
        pub source_id: String,
        /// Where the bytes start in the decoded input; rows of a Parquet file count as JSON lines
        #[unit = "bytes"]
        pub offset: i64,
        /// How many bytes
        #[unit = "bytes"]
        pub length: i64,
        /// Why: invalid_json, unknown_shape, invalid_field, invalid_utf8, too_long, too_deep,
        /// truncated, corrupt_stream, unreadable, unknown_format, ratio_limit, empty, hang,
        /// not_a_file, unsupported, depth_limit, entry_limit, size_limit
        pub reason: RejectReason,
        /// BLAKE3 of the bytes, hex
        pub digest: String,
    }
}

table! {
    /// One capacity epoch.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct CapacityRow in Capacity {
        /// Its id, named by exchanges
        pub capacity_id: String,
        /// The model it holds for; null: any
        pub model: Option<String>,
        /// The deployment it holds for; null: any
        pub deployment: Option<String>,
        /// The node it holds for; null: any
        pub node: Option<String>,
        /// The role of the node; null: any
        pub role: Option<Role>,
        /// In force from here on; null: from the beginning
        #[kind = Time]
        pub valid_from: Option<TimeMicros>,
        /// In force before this time; null: to the end
        #[kind = Time]
        pub valid_to: Option<TimeMicros>,
        /// KV-pool capacity
        #[unit = "tokens"]
        pub pool_tokens: Option<i64>,
        /// Context window
        #[unit = "tokens"]
        pub window_tokens: Option<i64>,
        /// Size of a page of the pool
        #[unit = "tokens"]
        pub page_tokens: Option<i64>,
        /// Smallest prompt that the engine rejects
        #[unit = "tokens"]
        pub reject_at_tokens: Option<i64>,
        /// Engine name, lower case
        pub engine: Option<String>,
        /// Engine version
        pub engine_version: Option<String>,
        /// How the engine serves, such as disaggregated or unified
        pub mode: Option<String>,
        /// Settings of the process that matter here, `name=value` with blanks between
        pub flags: Option<String>,
        /// Where the figures come from: the configuration, an engine log, a server_info file,
        /// metrics; several witnesses of the same figures stand side by side
        pub source: String,
    }
}
