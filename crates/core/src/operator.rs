//! What every evidence operator over texts has in common: it asks for passes over the logs.
//!
//! The caller holds the logs. In each pass it decodes a record once and shows its texts to every
//! operator that wants them, on any thread and in any split; what threads found is absorbed before
//! the pass ends. An operator's result depends on the exchanges only.

use crate::overlap::{Field, Fields};
use crate::text::Tokens;

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

/// Token buffers of one thread, reused from exchange to exchange.
#[derive(Default)]
pub struct TokenBuffers {
    fields: [Tokens; 4],
}

/// The texts of one exchange, each tokenised at most once however many operators read it.
pub struct TextView<'a> {
    fields: Fields<'a>,
    buffers: &'a mut TokenBuffers,
    /// Per field: not yet tokenised, without tokens, with tokens.
    state: [Option<bool>; 4],
}

impl<'a> TextView<'a> {
    /// The texts of one exchange.
    pub fn new(fields: Fields<'a>, buffers: &'a mut TokenBuffers) -> TextView<'a> {
        TextView {
            fields,
            buffers,
            state: [None; 4],
        }
    }

    /// The texts themselves.
    pub fn fields(&self) -> &Fields<'a> {
        &self.fields
    }

    /// The tokens of a field; `None` if it has none.
    pub fn tokens(&mut self, field: Field) -> Option<&Tokens> {
        self.load(field);
        self.loaded(field)
    }

    /// Tokenises a field if that was not done; `false` if it has no tokens.
    pub fn load(&mut self, field: Field) -> bool {
        let slot = field as usize;
        match self.state[slot] {
            Some(known) => known,
            None => {
                let known = self.fields.tokens(field, &mut self.buffers.fields[slot]);
                self.state[slot] = Some(known);
                known
            }
        }
    }

    /// The tokens of a field that was loaded; `None` if it was not, or has none.
    pub fn loaded(&self, field: Field) -> Option<&Tokens> {
        let slot = field as usize;
        (self.state[slot] == Some(true)).then_some(&self.buffers.fields[slot])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::FieldText;

    #[test]
    fn a_field_is_tokenised_once_and_buffers_are_reused() {
        let mut buffers = TokenBuffers::default();
        for (text, count) in [("one two three", 3), ("four", 1)] {
            let prompt = FieldText::of(text);
            let fields = Fields {
                prompt: Some(&prompt),
                ..Fields::default()
            };
            let mut view = TextView::new(fields, &mut buffers);
            assert_eq!(view.tokens(Field::Prompt).map(Tokens::len), Some(count));
            assert_eq!(view.tokens(Field::Prompt).map(Tokens::len), Some(count));
            assert!(view.tokens(Field::Response).is_none());
        }
    }
}
