//! The texts of one exchange and their tokens, for all who look at them.

use super::types::{Field, Fields};
use crate::text::Tokens;

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
