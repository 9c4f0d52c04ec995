//! Token hashes of a text, 32 bits each: small enough to keep those of all judged texts.
//!
//! A sequence is a list of short hashes in which [`BREAK`] stands behind each stretch between two
//! barriers. Equal tokens have equal short hashes; different ones seldom do.

use super::types::WINDOW_WEIGHT;
use crate::text::Tokens;

/// Stands behind each stretch of tokens; no token has it.
pub(super) const BREAK: u32 = 0;

/// An odd multiplier with well mixed bits (the 64-bit golden ratio).
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
/// Greatest weight of what [`hashes`] hashes.
pub(super) const HEAVIEST: u32 = 40;
const POWERS: [u64; HEAVIEST as usize + 1] = powers();

const fn powers() -> [u64; HEAVIEST as usize + 1] {
    let mut out = [1u64; HEAVIEST as usize + 1];
    let mut i = 1;
    while i < out.len() {
        out[i] = out[i - 1].wrapping_mul(BASE);
        i += 1;
    }
    out
}

/// The short hash of a token. Its lowest bit tells whether the token weighs one half-word.
fn short(hash: u64, weight: u8) -> u32 {
    (((hash >> 32) as u32).max(2) & !1) | u32::from(weight & 1)
}

/// The weight of a token in half-words.
pub(super) fn weight(short: u32) -> u32 {
    2 - (short & 1)
}

/// Appends the sequence of a text.
pub(super) fn append(tokens: &Tokens, out: &mut Vec<u32>) {
    out.reserve(tokens.len() + tokens.barriers.len());
    for pair in tokens.barriers.windows(2) {
        let range = pair[0].at as usize..pair[1].at as usize;
        let both = tokens.hash[range.clone()].iter().zip(&tokens.weight[range]);
        out.extend(both.map(|(&hash, &weight)| short(hash, weight)));
        out.push(BREAK);
    }
}

/// Calls `each` with the first place and the tokens of every stretch of a sequence.
pub(super) fn stretches<'a>(sequence: &'a [u32], mut each: impl FnMut(usize, &'a [u32])) {
    let mut at = 0;
    for stretch in sequence.split(|&s| s == BREAK) {
        each(at, stretch);
        at += stretch.len() + 1;
    }
}

/// Replaces `out` by the hashes of the windows of a stretch: the n-th is that of the window which
/// begins with the n-th token.
pub(super) fn window_hashes(stretch: &[u32], out: &mut Vec<u64>) {
    hashes(stretch, WINDOW_WEIGHT, out);
}

/// [`window_hashes`] of the shortest runs of at least `least` half-words, at most [`HEAVIEST`],
/// instead of windows.
pub(super) fn hashes(stretch: &[u32], least: u32, out: &mut Vec<u64>) {
    out.clear();
    let light = stretch.iter().fold(0, |all, s| all | s) & 1;
    if light == 0 {
        let words = least.div_ceil(2) as usize;
        let Some(first) = stretch.get(..words) else {
            return;
        };
        let mut sum = sum_of(first);
        out.reserve(stretch.len());
        out.push(finish(sum));
        out.extend(stretch.iter().zip(&stretch[words..]).map(|(old, new)| {
            let gone = u64::from(*old).wrapping_mul(POWERS[words]);
            sum = sum
                .wrapping_mul(BASE)
                .wrapping_add(u64::from(*new).wrapping_sub(gone));
            finish(sum)
        }));
        return;
    }
    let (mut to, mut heavy, mut sum) = (0, 0, 0u64);
    for (from, &first) in stretch.iter().enumerate() {
        while heavy < least && to < stretch.len() {
            sum = sum.wrapping_mul(BASE).wrapping_add(u64::from(stretch[to]));
            heavy += weight(stretch[to]);
            to += 1;
        }
        if heavy < least {
            break;
        }
        out.push(finish(sum));
        sum = sum.wrapping_sub(u64::from(first).wrapping_mul(POWERS[to - from - 1]));
        heavy -= weight(first);
    }
}

fn sum_of(tokens: &[u32]) -> u64 {
    tokens.iter().fold(0, |sum, &s| {
        sum.wrapping_mul(BASE).wrapping_add(u64::from(s))
    })
}

/// Spreads the sum over all bits.
fn finish(sum: u64) -> u64 {
    let x = (sum ^ (sum >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 32)
}

/// Tokens of the window that begins a stretch, and their weight.
pub(super) fn window_at(stretch: &[u32]) -> (usize, u32) {
    run_at(stretch, WINDOW_WEIGHT)
}

/// Tokens of the shortest run of at least `least` half-words that begins a stretch, and their
/// weight.
pub(super) fn run_at(stretch: &[u32], least: u32) -> (usize, u32) {
    let mut heavy = 0;
    for (length, &s) in stretch.iter().enumerate() {
        if heavy >= least || s == BREAK {
            return (length, heavy);
        }
        heavy += weight(s);
    }
    (stretch.len(), heavy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Border, BorderKind, FieldText};
    use proptest::prelude::*;

    fn sequence(text: &str) -> Vec<u32> {
        let mut field = FieldText::of(text);
        field.borders = text
            .match_indices('|')
            .map(|(at, _)| Border {
                start: at,
                end: at + 1,
                kind: BorderKind::Message,
            })
            .collect();
        let (mut tokens, mut out) = (Tokens::default(), Vec::new());
        crate::text::tokenize(&field, &mut tokens);
        append(&tokens, &mut out);
        out
    }

    proptest! {
        #[test]
        fn every_run_begins_with_a_short_one(text in "[ab漢字 |]{0,120}", least in 12u32..40) {
            let sequence = sequence(&text);
            let mut out = Vec::new();
            stretches(&sequence, |_, stretch| {
                hashes(stretch, least, &mut out);
                for from in 0..stretch.len() {
                    let (length, heavy) = run_at(&stretch[from..], least);
                    assert_eq!(heavy >= least, from < out.len());
                    if let Some(&hash) = out.get(from) {
                        let mut alone = Vec::new();
                        hashes(&stretch[from..from + length], least, &mut alone);
                        // Behind a light first token another run may fit into it.
                        assert_eq!(alone.first(), Some(&hash));
                    }
                }
            });
        }

        #[test]
        fn equal_windows_have_equal_hashes(text in "[ab漢 |]{0,80}") {
            let sequence = sequence(&text);
            let mut all = Vec::new();
            let mut hashes = Vec::new();
            stretches(&sequence, |_, stretch| {
                window_hashes(stretch, &mut hashes);
                for (at, &hash) in hashes.iter().enumerate() {
                    let (length, heavy) = window_at(&stretch[at..]);
                    assert!(heavy >= WINDOW_WEIGHT);
                    all.push((&stretch[at..at + length], hash));
                }
                if let Some(behind) = stretch.get(hashes.len()..) {
                    assert!(window_at(behind).1 < WINDOW_WEIGHT);
                }
            });
            for a in &all {
                for b in &all {
                    prop_assert_eq!(a.0 == b.0, a.1 == b.1);
                }
            }
        }
    }
}
