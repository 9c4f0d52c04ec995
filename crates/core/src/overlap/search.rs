//! The search as a sequence of passes over the logs.

use super::types::{Fields, Limits, Outcome, PassKind, Settings, Subject};
use std::sync::Arc;

/// A search in progress.
///
/// ```text
/// while let Some(kind) = search.next_pass() {
///     for each record, on any thread: if search.wants(x) { search.scan(x, &fields, &mut partial) }
///     search.absorb(partial), for every partial, in any split
///     search.end_pass()
/// }
/// search.finish()
/// ```
pub struct Search {
    subjects: Arc<[Subject]>,
    settings: Settings,
    limits: Limits,
}

/// What one thread found in some exchanges of one pass.
#[derive(Default)]
pub struct Partial {}

impl Search {
    /// A search over the exchanges that `subjects` lists; their index is their number.
    pub fn new(subjects: impl Into<Arc<[Subject]>>, settings: Settings, limits: Limits) -> Search {
        Search {
            subjects: subjects.into(),
            settings,
            limits,
        }
    }

    /// The pass to do next; `None` when the search is complete.
    pub fn next_pass(&mut self) -> Option<PassKind> {
        None
    }

    /// Whether this pass needs the texts of an exchange. Scanning others does no harm.
    pub fn wants(&self, exchange: u32) -> bool {
        (exchange as usize) < self.subjects.len()
    }

    /// Reads one exchange. Each exchange is scanned at most once a pass.
    pub fn scan(&self, _exchange: u32, _fields: &Fields<'_>, _out: &mut Partial) {}

    /// Takes what scanning found.
    pub fn absorb(&mut self, _partial: Partial) {}

    /// Ends the pass after all partials are absorbed.
    pub fn end_pass(&mut self) {}

    /// The result.
    pub fn finish(self) -> Outcome {
        let _ = (self.settings, self.limits);
        Outcome::default()
    }
}
