//! The signature of an answer: its rarest terms, and which of them its own prompt holds.

use super::gain::{Counts, Gains, RARITIES, length_class};
use super::terms::TermSet;
use crate::text::language::Writing;

/// Terms of a signature; a mask of them is one word.
const TERMS: usize = 64;
/// Fewest terms of an answer that can be attributed.
const FEWEST: usize = 5;
/// Answers of one look-back that may share a term of a signature.
const CROWD: u64 = 96;

/// An answer reduced to what attribution needs.
pub(super) struct Signature {
    pub exchange: u32,
    pub writing: Writing,
    /// Term and the answers that hold it, rarest first.
    pub terms: Vec<(u64, u32)>,
    /// It has too few informative terms to belong anywhere.
    pub generic: bool,
    /// Terms that the prompt of the same record holds; `None` without prompt.
    pub own: Option<OwnPrompt>,
}

/// What the prompt of an answer's own record says of it.
#[derive(Clone, Copy)]
pub(super) struct OwnPrompt {
    pub mask: u64,
    pub length: usize,
    /// Writing of its last message.
    pub writing: Writing,
    /// Terms of the prompt by rarity.
    pub rarities: [u32; RARITIES],
    /// Its end or a part of it is missing.
    pub incomplete: bool,
}

impl Signature {
    /// Bytes of memory of one signature and its entries in the index.
    pub const BYTES: usize = TERMS * (16 + 16) + 256;

    /// Takes the rarest terms of an answer.
    pub fn new(
        exchange: u32,
        (answer, writing): (&[u64], Writing),
        counts: &Counts,
        crowd: u32,
    ) -> Signature {
        let mut terms: Vec<(u64, u32)> = answer
            .iter()
            .map(|&term| (term, counts.in_answers(term)))
            .filter(|&(_, answers)| answers <= crowd)
            .collect();
        terms.sort_unstable_by_key(|&(term, answers)| (answers, term));
        let generic = terms.len() < FEWEST;
        // A term that nothing else holds speaks for nobody.
        terms.retain(|&(term, answers)| answers > 1 || counts.in_prompts(term) > 0);
        terms.truncate(TERMS);
        terms.shrink_to_fit();
        Signature {
            exchange,
            writing,
            terms,
            generic,
            own: None,
        }
    }

    /// Notes which terms the own prompt holds.
    pub fn own_prompt(
        &mut self,
        prompt: &TermSet,
        (writing, incomplete): (Writing, bool),
        rarities: [u32; RARITIES],
    ) {
        let mut mask = 0;
        for (bit, (term, _)) in self.terms.iter().enumerate() {
            mask |= u64::from(prompt.contains(*term)) << bit;
        }
        self.own = Some(OwnPrompt {
            mask,
            length: length_class(prompt.terms.len()),
            writing,
            rarities,
            incomplete,
        });
    }

    /// Score of the own prompt in millibits.
    pub fn own_score(&self, gains: &Gains) -> Option<i64> {
        let own = self.own?;
        let score = |(bit, &(_, answers)): (usize, &(u64, u32))| {
            i64::from(own.mask >> bit & 1 == 1)
                * i64::from(gains.of(own.length, answers, self.writing))
        };
        let shared: i64 = self.terms.iter().enumerate().map(score).sum();
        let base = gains.nothing(own.length, &own.rarities);
        Some(base + shared + gains.writing(own.writing, self.writing))
    }
}

/// Answers that may hold a term of a signature, so that work does not grow with the square of the
/// log: what a look-back holds on average decides.
pub(super) fn crowd(answers: u64, span: i64, look_back: i64) -> u32 {
    let windows = (span / look_back.max(1)).max(1) as u64;
    // A term in more than one answer of sixteen says next to nothing.
    let common = (answers / 16).max(2);
    u32::try_from((CROWD * windows).min(common)).unwrap_or(u32::MAX)
}
