//! `phases` and `early_signs`: what the operator did when, and what went wrong in which month.

use super::{SchemaRef, Table, Word, table};
use pentimento_core::exchange::TimeMicros;
use serde::{Deserialize, Serialize};

/// The schema of `phases`.
pub fn phases() -> SchemaRef {
    Table::Phases.schema()
}

/// The schema of `early_signs`.
pub fn early_signs() -> SchemaRef {
    Table::EarlySigns.schema()
}

table! {
    /// One phase that the configuration declares.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct PhaseRow in Phases {
        /// Its place in order of time, from 1
        pub phase: i64,
        /// Its name, such as exposed, off, restored, hardened
        pub name: String,
        /// First moment of it; null: from the beginning
        #[kind = Time]
        pub valid_from: Option<TimeMicros>,
        /// First moment after it; null: to the end
        #[kind = Time]
        pub valid_to: Option<TimeMicros>,
    }
}

table! {
    /// One kind of trouble in one month and version, and what it depends on most of one kind of
    /// factor. A lead, never a verdict.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct EarlySignRow in EarlySigns {
        /// Month, UTC, as YYYY-MM
        pub month: String,
        /// Engine and version of the node, as far as an epoch of it tells
        pub version: String,
        /// The trouble: transfer_error, timeout, empty_answer, odd_answer
        pub sign: Word,
        /// What it may depend on: length, abort, node, hour, link
        pub factor: Word,
        /// The value of the factor at which it is most unlikely by chance: at least so many prompt
        /// tokens, the node, the hour, the pair of nodes
        pub level: String,
        /// Calls of the month and version for which the factor is known
        #[unit = "calls"]
        pub calls: i64,
        /// Those of them with the trouble
        #[unit = "calls"]
        pub troubled: i64,
        /// Calls at the level
        #[unit = "calls"]
        pub calls_at_level: i64,
        /// Those of them with the trouble
        #[unit = "calls"]
        pub troubled_at_level: i64,
        /// Levels that were tried
        pub levels: i64,
        /// One-sided p-value of Fisher's exact test times the levels tried, as a decimal logarithm
        /// in thousandths; never above 0
        pub log10_p_permille: i64,
        /// The same after Holm's correction for all tests of the table
        pub log10_p_holm_permille: i64,
        /// Whether it is a lead: it depends on length, abort or node, beyond chance, and on no hour
        /// or link as much
        pub lead: bool,
        /// First trouble at the level
        #[kind = Time]
        pub first_time: Option<TimeMicros>,
        /// Last trouble at the level
        #[kind = Time]
        pub last_time: Option<TimeMicros>,
    }
}
