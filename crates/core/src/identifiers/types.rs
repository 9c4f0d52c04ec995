//! What goes into the search for identifiers and what comes out of it.

use super::pattern::Kind;
use crate::exchange::TimeMicros;
use crate::overlap::{Field, TimeOrder};

/// One identifier of an answer that another tenant's traffic held too. Exchanges and tenants are
/// the caller's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The judged exchange.
    pub exchange: u32,
    /// The earliest exchange of an independent carrier; without one, of any other tenant.
    pub source_exchange: u32,
    /// Tenant of the judged exchange.
    pub tenant: u32,
    /// Tenant of the source.
    pub source_tenant: u32,
    /// Judged field.
    pub field: Field,
    /// Field of the source.
    pub source_field: Field,
    /// What the identifier names.
    pub kind: Kind,
    /// Id of the pattern; `token` for what only looks random.
    pub pattern: &'static str,
    /// Keyed hash of the value.
    pub value_hmac: [u8; 16],
    /// The value's last two letters or digits and its length in bytes.
    pub masked: String,
    /// What the value tells, in bits.
    pub value_bits: u32,
    /// Whether a check digit was right.
    pub checked: bool,
    /// First byte in the judged field.
    pub response_start: u32,
    /// One past the last byte in the judged field.
    pub response_end: u32,
    /// First byte in the source field.
    pub source_start: u32,
    /// One past the last byte in the source field.
    pub source_end: u32,
    /// The value stands in a prompt of the call.
    pub in_own_prompt: bool,
    /// The judged tenant carries it independently in another call.
    pub in_own_history: bool,
    /// Other tenants that carry it independently.
    pub carriers: u32,
    /// Whether the source tenant is one of them.
    pub source_carries: bool,
    /// Milliseconds from the start of the source to that of the judged exchange, rounded down.
    pub lag_ms: i64,
    /// Which was first.
    pub order: TimeOrder,
}

/// How much work it was, and what found no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Passes over the logs.
    pub passes: u32,
    /// Identifiers in judged answers, each exchange counted.
    pub identifiers: u64,
    /// Different values that were looked for.
    pub values: u64,
    /// Identifiers left out: too many in one text, or in all of them for the memory allowed.
    pub left_out: u64,
    /// Values left out because too many calls were answered with them.
    pub common_values: u64,
}

/// The result.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Rows, in the order of the table.
    pub rows: Vec<Row>,
    /// Work done.
    pub stats: Stats,
}

/// An identifier in a judged answer.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub exchange: u32,
    pub field: Field,
    pub pattern: u16,
    pub start: u32,
    pub end: u32,
    pub bits: u32,
    /// Last two bytes of the value.
    pub tail: [u8; 2],
    pub probe: super::value::Probe,
    pub hmac: [u8; 16],
}

/// An identifier that stands for all its copies in one call.
#[derive(Clone, Copy)]
pub(super) struct Judged {
    pub found: Found,
    pub call: u32,
    pub tenant: u32,
    pub t0: TimeMicros,
    pub t1: TimeMicros,
    /// First and last microsecond that count.
    pub from: TimeMicros,
    pub to: TimeMicros,
}

/// The mask that is stored in place of a value.
pub(super) fn mask(found: &Found) -> String {
    let shown: String = found
        .tail
        .iter()
        .map(|&b| {
            if b.is_ascii_alphanumeric() {
                char::from(b)
            } else {
                '?'
            }
        })
        .collect();
    format!("\u{2026}{shown} ({})", found.end - found.start)
}
