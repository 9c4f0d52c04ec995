//! Overlap: text of an answer that another tenant's traffic held before.
//!
//! [`Search`] finds every maximal run of tokens that a judged answer shares with another tenant's
//! texts and that nothing innocent explains: not the own prompt, not what the tenant itself wrote
//! earlier, not what many tenants write. The caller holds the logs and reads them once a pass;
//! the search keeps no text that is not under suspicion. Its result depends on the exchanges only:
//! not on their order, on how they are split among threads, or on the memory allowed.

mod active;
#[cfg(test)]
mod adversarial;
mod anchors;
mod automaton;
#[cfg(test)]
mod cases;
mod cells;
mod collect;
mod discover;
mod judged;
mod matching;
mod member;
mod prefilter;
mod rows;
mod search;
mod sequence;
mod table;
#[cfg(test)]
mod tests;
#[cfg(any(test, feature = "fuzz"))]
#[allow(
    clippy::unwrap_used,
    reason = "a definition on made-up input, never in the program"
)]
pub(crate) mod twin;
mod types;
mod view;
pub(crate) mod windows;

pub use search::{Partial, Search};
pub(crate) use types::existed;
pub use types::{
    Field, Fields, JudgedText, Limits, NOVEL_RANGES, Outcome, PassKind, Row, Settings, Stats,
    Subject, TimeOrder, WINDOW_WEIGHT,
};
pub use view::{TextView, TokenBuffers};
pub(crate) use windows::Filter;
