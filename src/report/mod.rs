//! Reports: one typed model in, bytes out; nothing here reads files, SQL or a clock.

pub mod finding;
pub mod model;

/// Most findings that a report shows; the rest stand in `findings.jsonl` and the case's table.
pub const MAX_FINDINGS: usize = 1_000;
