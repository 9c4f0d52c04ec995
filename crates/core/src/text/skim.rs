//! A quick look at a text: where its words are, without making tokens of them.

use super::masks::Mask;
use super::tokenize::{parts, plain, tokenize_range, walk};
use super::tokens::Tokens;
use crate::exchange::FieldText;

/// Buffers for looking at texts, and what stands in one part of a text between two borders.
#[derive(Default)]
pub(crate) struct Skim {
    masks: Vec<Mask>,
    edges: Vec<u32>,
    /// First byte and end of each word of plain ASCII, and of each stretch for the full rules.
    items: Vec<[u32; 2]>,
    /// Which items are such stretches, ascending.
    full: Vec<u32>,
}

impl Skim {
    /// Calls `each` with every part of a text and what stands in it.
    pub(crate) fn each_part(&mut self, field: &FieldText, mut each: impl FnMut(&Part<'_>)) {
        parts(field, |from, to, _| {
            let text = &field.text[from..to];
            let Skim {
                masks,
                edges,
                items,
                full,
            } = self;
            items.clear();
            full.clear();
            walk(text.as_bytes(), masks, |masks, range, run| {
                let count = plain(masks, range, edges);
                items.extend_from_slice(edges[..count].as_chunks().0);
                if let Some((begin, end)) = run {
                    full.push(items.len() as u32);
                    items.push([begin as u32, end as u32]);
                }
            });
            each(&Part { text, items, full });
        });
    }
}

/// What stands in one part of a text.
pub(crate) struct Part<'a> {
    text: &'a str,
    /// First byte and end of each item: a word of plain ASCII, or a stretch that holds any number
    /// of tokens.
    pub items: &'a [[u32; 2]],
    /// Which items are stretches, ascending.
    pub full: &'a [u32],
}

impl Part<'_> {
    /// The bytes of the part.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Replaces `out` by the tokens of items `first..last`, of which there must be one.
    pub(crate) fn tokens(&self, first: usize, last: usize, out: &mut Tokens) {
        let (from, to) = (self.items[first][0], self.items[last - 1][1]);
        tokenize_range(self.text, from as usize, to as usize, out);
    }
}
