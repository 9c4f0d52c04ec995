//! What every evidence operator over texts has in common: it asks for passes over the logs.
//!
//! The caller holds the logs. In each pass it decodes a record once and shows its texts to every
//! operator that wants them, on any thread and in any split; what threads found is absorbed before
//! the pass ends. An operator's result depends on the exchanges only.

pub use crate::overlap::{TextView, TokenBuffers};

/// An operator that reads texts in passes.
///
/// ```text
/// while operator.next_pass().is_some() {
///     for each exchange x that it wants, once: operator.scan(x, &mut texts, &mut partial)
///     operator.absorb(partial), for every partial
///     operator.end_pass()
/// }
/// ```
pub trait TextOperator: Send + Sync {
    /// What one thread found in some exchanges of a pass.
    type Partial: Default + Send + 'static;

    /// The name of the pass to do next; `None` when the operator is done.
    fn next_pass(&self) -> Option<&'static str>;

    /// Whether this pass needs the texts of an exchange. Scanning others does no harm.
    fn wants(&self, exchange: u32) -> bool;

    /// Reads one exchange; each at most once a pass.
    fn scan(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Self::Partial);

    /// Takes what scanning found, in any order.
    fn absorb(&mut self, partial: Self::Partial);

    /// Ends the pass after all partials are absorbed.
    fn end_pass(&mut self);
}
