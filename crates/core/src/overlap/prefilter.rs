//! Finds the places of a text that may hold a window of a few judged texts, without making tokens
//! of the rest.
//!
//! A window of plain words holds six of them, hence one whole group of four that begins at every
//! third word: only these are looked up. A window with other tokens lies near a stretch for the
//! full rules, which is always looked into. So nothing is missed.

use super::types::WINDOW_WEIGHT;
use super::windows::Filter;
use crate::exchange::FieldText;
use crate::text::{Skim, Tokens};

/// Words of a window that only words make up.
const WORDS: usize = WINDOW_WEIGHT as usize / 2;
/// Words of a group.
const GROUP: usize = 4;
/// Every window holds a group that begins at a multiple of this.
const STEP: usize = WORDS - GROUP + 1;

/// The groups of words of some texts.
pub(super) struct Prefilter {
    groups: Filter,
}

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct Places {
    skim: Skim,
    hashes: Vec<u64>,
    candidates: Vec<u32>,
    near: Vec<(usize, usize)>,
    tokens: Tokens,
}

/// The first eight bytes of a word in lower case. Of letters and digits only capitals lack the bit
/// that is set here.
fn prefix(bytes: &[u8], from: usize, to: usize) -> u64 {
    const LOWER: u64 = 0x2020_2020_2020_2020;
    let length = (to - from).min(8);
    let first = match bytes[from..].first_chunk() {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => {
            let mut padded = [0; 8];
            padded[..length].copy_from_slice(&bytes[from..from + length]);
            u64::from_le_bytes(padded)
        }
    };
    match length {
        0 => 0,
        _ => (first | LOWER) & (u64::MAX >> (64 - 8 * length)),
    }
}

/// Adds a word to the hash of the words before it.
fn add(hash: u64, prefix: u64, length: usize) -> u64 {
    (hash.rotate_left(5) ^ prefix ^ length as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn finish(hash: u64) -> u64 {
    hash ^ (hash >> 32)
}

impl Prefilter {
    /// The groups of texts that have `tokens` tokens together.
    pub(super) fn new<'a>(texts: impl Iterator<Item = &'a Tokens>, tokens: usize) -> Prefilter {
        let mut groups = Filter::new(tokens);
        for text in texts {
            for at in 0..(text.len() + 1).saturating_sub(GROUP) {
                let words = at..at + GROUP;
                if words.clone().all(|t| text.folded(t).is_ascii()) {
                    let hash = words.fold(0, |hash, t| {
                        let word = text.folded(t);
                        add(hash, prefix(word, 0, word.len()), word.len())
                    });
                    groups.insert(finish(hash));
                }
            }
        }
        Prefilter { groups }
    }

    /// Calls `each` with tokens of the text that hold all its windows of the judged texts.
    pub(super) fn each_place(
        &self,
        field: &FieldText,
        places: &mut Places,
        mut each: impl FnMut(&Tokens),
    ) {
        let Places {
            skim,
            hashes,
            candidates,
            near,
            tokens,
        } = places;
        skim.each_part(field, |part| {
            let (bytes, items) = (part.bytes(), part.items);
            hashes.clear();
            hashes.extend(items.windows(GROUP).step_by(STEP).map(|words| {
                let hash = words.iter().fold(0, |hash, word| {
                    let (from, to) = (word[0] as usize, word[1] as usize);
                    add(hash, prefix(bytes, from, to), to - from)
                });
                finish(hash)
            }));
            self.groups.candidates(hashes, candidates);
            near.clear();
            near.extend(candidates.iter().map(|&candidate| {
                let at = candidate as usize * STEP;
                (at.saturating_sub(STEP - 1), at + WORDS)
            }));
            near.extend(part.full.iter().map(|&full| {
                let at = full as usize;
                (at.saturating_sub(WORDS - 1), at + WORDS)
            }));
            near.sort_unstable();
            let mut next = 0;
            while let Some(&(first, mut last)) = near.get(next) {
                next += 1;
                while let Some(more) = near.get(next).filter(|more| more.0 <= last) {
                    last = last.max(more.1);
                    next += 1;
                }
                part.tokens(first, last.min(items.len()), tokens);
                each(tokens);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::windows::{Scanner, WindowIndex, for_each};
    use super::*;
    use crate::exchange::{Border, BorderKind};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn text() -> impl Strategy<Value = FieldText> {
        let word = prop::sample::select(vec![
            "a ",
            "B ",
            "b ",
            "extraordinary ",
            "Extraordinaries ",
            "12, ",
            "e\u{301} ",
            "\u{e9}-",
            "漢字",
            "\\n",
            "x",
            " = ",
            "\u{338}",
            "ﬁn ",
            "Straße ",
            "words! ",
            "eightchr ",
        ]);
        let border = prop::option::of((0usize..60, 0usize..3));
        (prop::collection::vec(word, 0..60), border).prop_map(|(words, border)| {
            let mut field = FieldText::of(words.concat());
            if let Some((start, length)) = border
                && start + length <= field.text.len()
            {
                field.borders.push(Border {
                    start,
                    end: start + length,
                    kind: BorderKind::Message,
                });
            }
            field
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn no_window_is_missed(judged in text(), mut other in text(), cut in 0usize..40) {
            let mut from = cut.min(judged.text.len());
            while !judged.text.is_char_boundary(from) {
                from -= 1;
            }
            other.text.push_str(&judged.text[from..]);
            let (mut a, mut b) = (Tokens::default(), Tokens::default());
            crate::text::tokenize(&judged, &mut a);
            crate::text::tokenize(&other, &mut b);
            let mut index = WindowIndex::new(a.len());
            for_each(&a, |w| {
                index.insert(|_| &a, 0, &w);
            });
            let mut scanner = Scanner::default();
            let mut expected = BTreeSet::new();
            index.each_known(|_| &a, &b, &mut scanner, |_, id| {
                expected.insert(id);
            });
            let prefilter = Prefilter::new([&a].into_iter(), a.len());
            let (mut found, mut seen) = (BTreeSet::new(), 0);
            prefilter.each_place(&other, &mut Places::default(), |tokens| {
                seen += tokens.len();
                index.each_known(|_| &a, tokens, &mut scanner, |_, id| {
                    found.insert(id);
                });
            });
            prop_assert_eq!(found, expected);
            prop_assert!(seen <= b.len(), "{} of {}", seen, b.len());
        }
    }
}
