//! Bytes of the fuzzer as numbers and texts. Bytes that are missing read as zero.

use crate::exchange::{Border, BorderKind, FieldText};

/// Reads an input from its beginning.
pub(super) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn new(data: &'a [u8]) -> Input<'a> {
        Input(data)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub(super) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    /// A number below `limit`.
    pub(super) fn below(&mut self, limit: u8) -> u8 {
        self.byte() % limit.max(1)
    }

    /// One of several things.
    pub(super) fn of<T: Copy>(&mut self, things: &[T]) -> T {
        things[usize::from(self.byte()) % things.len()]
    }

    /// The next bytes, at most so many.
    pub(super) fn take(&mut self, most: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        head
    }

    /// All that is left.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        self.take(usize::MAX)
    }
}

/// Borders in a text: each byte pair of `places` is the way from the last one and what it is. They
/// ascend, do not overlap and lie between characters, as formats make them.
pub(super) fn with_borders(text: String, places: &[u8]) -> FieldText {
    let mut field = FieldText::of(text);
    let mut from = 0;
    for place in places.as_chunks::<2>().0 {
        let start = field.text.ceil_char_boundary(from + usize::from(place[0]));
        let end = field
            .text
            .ceil_char_boundary(start + usize::from(place[1] & 3));
        if end > field.text.len() || start >= field.text.len() {
            break;
        }
        let cut = place[1] & 4 > 0;
        let kind = [BorderKind::Message, BorderKind::Cut][usize::from(cut)];
        field.borders.push(Border { start, end, kind });
        from = end;
    }
    field
}
