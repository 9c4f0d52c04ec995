//! The hash of a token. It is made for short words and for use inside one process: nothing that is
//! written may depend on it.

use xxhash_rust::xxh3::xxh3_64;

/// Bytes that must follow a word where [`hash_in`] reads it.
pub(super) const PADDING: usize = 16;

/// Odd numbers with well mixed bits: the golden ratio, and constants of SplitMix64's finaliser.
const MIX: [u64; 3] = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
];

/// Per length of a word the bits of its first and second eight bytes.
const KEEP: [(u64, u64); PADDING + 1] = keep();

const fn keep() -> [(u64, u64); PADDING + 1] {
    let mut out = [(0, 0); PADDING + 1];
    let mut length = 1;
    while length < out.len() {
        out[length] = if length <= 8 {
            (u64::MAX >> (64 - 8 * length), 0)
        } else {
            (u64::MAX, u64::MAX >> (128 - 8 * length))
        };
        length += 1;
    }
    out
}

/// The hash of a token's folded bytes, as in [`Tokens::hash`](super::Tokens::hash).
pub fn hash(bytes: &[u8]) -> u64 {
    if bytes.len() > PADDING {
        return weakened(xxh3_64(bytes));
    }
    let mut padded = [0; PADDING];
    padded[..bytes.len()].copy_from_slice(bytes);
    of_padded(&padded, bytes.len())
}

/// The hash of `bytes[from..to]`; faster where [`PADDING`] more bytes follow.
#[inline]
pub(super) fn hash_in(bytes: &[u8], from: usize, to: usize) -> u64 {
    let length = to - from;
    match bytes[from..].first_chunk() {
        Some(padded) if length <= PADDING => of_padded(padded, length),
        _ => hash(&bytes[from..to]),
    }
}

#[inline]
fn of_padded(bytes: &[u8; PADDING], length: usize) -> u64 {
    let both = u128::from_le_bytes(*bytes);
    let keep = KEEP[length];
    let (low, high) = (both as u64 & keep.0, (both >> 64) as u64 & keep.1);
    let product = u128::from(low ^ MIX[0]) * u128::from(high.wrapping_add(length as u64) ^ MIX[1]);
    weakened((product as u64 ^ (product >> 64) as u64).wrapping_mul(MIX[2]))
}

#[cfg(not(any(test, feature = "fuzz")))]
#[inline]
fn weakened(hash: u64) -> u64 {
    hash
}

#[cfg(any(test, feature = "fuzz"))]
thread_local! {
    /// Bits of a hash that count: tests force collisions by having few.
    pub(crate) static KEPT: std::cell::Cell<u64> = const { std::cell::Cell::new(u64::MAX) };
}

#[cfg(any(test, feature = "fuzz"))]
fn weakened(hash: u64) -> u64 {
    hash & KEPT.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_stands_behind_a_word_does_not_matter() {
        let text = "abcdefghijklmnopqrstuvwxyz0123456789";
        for from in 0..text.len() {
            for to in from..=text.len() {
                assert_eq!(
                    hash_in(text.as_bytes(), from, to),
                    hash(&text.as_bytes()[from..to])
                );
            }
        }
    }

    #[test]
    fn short_words_do_not_meet() {
        let mut all = BTreeSet::new();
        let mut upper = BTreeSet::new();
        let mut count = 0;
        for a in b'`'..=b'z' {
            for b in b'a'..=b'z' {
                for number in 0..200 {
                    let word = format!("{}{}{number}", char::from(a), char::from(b));
                    all.insert(hash(word.as_bytes()));
                    upper.insert(hash(word.as_bytes()) >> 32);
                    count += 1;
                }
            }
        }
        assert_eq!(all.len(), count);
        // Of 140,400 words about two share 32 bits with another by chance.
        assert!(upper.len() + 10 > count, "{} of {count}", upper.len());
    }
}
