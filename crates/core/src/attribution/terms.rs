//! The terms of a text: word stems, numbers, and pairs of characters where words have no spaces.

use crate::text::Tokens;
use crate::text::token_hash;

/// Letters that a stem keeps of a word in ASCII, and in other scripts.
const ASCII_STEM: usize = 6;
const WIDE_STEM: usize = 5;

/// Distinct terms of one text, found with a bit set over the slots of the counting table.
#[derive(Default)]
pub(super) struct TermSet {
    bits: Vec<u64>,
    shift: u32,
    /// The terms, in the order in which they first stand.
    pub terms: Vec<u64>,
}

impl TermSet {
    /// Empties the set for a table of `2^slot_bits` slots.
    pub fn start(&mut self, slot_bits: u32) {
        let words = 1usize << slot_bits.saturating_sub(6);
        self.shift = 64 - slot_bits;
        if self.bits.len() == words && self.terms.len() < words / 4 {
            for &term in &self.terms {
                self.bits[(term >> self.shift) as usize / 64] = 0;
            }
        } else {
            self.bits.clear();
            self.bits.resize(words, 0);
        }
        self.terms.clear();
    }

    /// Adds the terms of a text. Of two terms in one slot the first stays.
    pub fn add(&mut self, tokens: &Tokens) {
        for token in 0..tokens.len() {
            if let Some(term) = term(tokens, token) {
                self.insert(term);
            }
        }
    }

    fn insert(&mut self, term: u64) {
        let slot = (term >> self.shift) as usize;
        let (word, bit) = (slot / 64, 1u64 << (slot % 64));
        if self.bits[word] & bit == 0 {
            self.bits[word] |= bit;
            self.terms.push(term);
        }
    }

    /// Whether a term, or another of its slot, is in the set.
    pub fn contains(&self, term: u64) -> bool {
        let slot = (term >> self.shift) as usize;
        self.bits[slot / 64] >> (slot % 64) & 1 == 1
    }
}

/// The term that begins at a token; `None` for what is too short to tell anything.
fn term(tokens: &Tokens, token: usize) -> Option<u64> {
    if tokens.weight[token] == 1 {
        let next = token + 1;
        let pair = next < tokens.len()
            && tokens.weight[next] == 1
            && tokens.start[next] == tokens.end[token];
        return pair.then(|| mix(tokens.hash[token], tokens.hash[next]));
    }
    let folded = tokens.folded(token);
    if folded.iter().any(u8::is_ascii_digit) {
        // Numbers of one or two digits count steps and items.
        let least = if folded.iter().all(u8::is_ascii_digit) {
            3
        } else {
            2
        };
        return (folded.len() >= least).then_some(mix(tokens.hash[token], 0));
    }
    if folded.is_ascii() {
        return match folded.len() {
            0..=2 => None,
            3..=ASCII_STEM => Some(mix(tokens.hash[token], 0)),
            _ => Some(mix(token_hash(&folded[..ASCII_STEM]), 0)),
        };
    }
    let text = std::str::from_utf8(folded).ok()?;
    match text.char_indices().nth(WIDE_STEM) {
        Some((end, _)) => Some(mix(token_hash(&folded[..end]), 0)),
        None => (folded.len() > 3).then_some(mix(tokens.hash[token], 0)),
    }
}

/// One hash of two.
fn mix(a: u64, b: u64) -> u64 {
    let x = (a ^ b.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::FieldText;
    use crate::text::tokenize;

    fn set(text: &str) -> TermSet {
        let mut tokens = Tokens::default();
        tokenize(&FieldText::of(text), &mut tokens);
        let mut set = TermSet::default();
        set.start(20);
        set.add(&tokens);
        set
    }

    #[test]
    fn stems_numbers_and_pairs() {
        let table: &[(&str, &str, usize)] = &[
            ("Reservation", "reservations", 1),
            ("of a 7", "", 0),
            ("77 x9 681", "X9 681", 2),
            ("преобразование", "преобразователь", 1),
            ("東京都", "東京都庁", 2),
            ("東 京", "", 0),
            ("word word word", "WORD", 1),
        ];
        for &(text, same, count) in table {
            let (a, b) = (set(text), set(same));
            assert_eq!(a.terms.len(), count, "{text}");
            assert!(a.terms.iter().all(|&t| b.contains(t)), "{text}");
        }
    }

    #[test]
    fn a_set_is_reused_clean() {
        let mut tokens = Tokens::default();
        let mut set = set("alpha beta gamma");
        let alpha = set.terms[0];
        set.start(20);
        assert!(!set.contains(alpha) && set.terms.is_empty());
        tokenize(&FieldText::of("delta"), &mut tokens);
        set.add(&tokens);
        assert_eq!(set.terms.len(), 1);
        set.start(12);
        assert!(set.terms.is_empty() && set.bits.len() == 64);
    }
}
