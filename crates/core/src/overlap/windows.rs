//! Windows: the shortest runs of weight 12 from each token, with rolling hashes.

use super::types::WINDOW_WEIGHT;
use crate::text::Tokens;
use hashbrown::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// An odd multiplier with well mixed bits (the 64-bit golden ratio).
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
const POWERS: [u64; WINDOW_WEIGHT as usize + 1] = powers();

const fn powers() -> [u64; WINDOW_WEIGHT as usize + 1] {
    let mut out = [1u64; WINDOW_WEIGHT as usize + 1];
    let mut i = 1;
    while i < out.len() {
        out[i] = out[i - 1].wrapping_mul(BASE);
        i += 1;
    }
    out
}

/// One window of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// First token.
    pub from: u32,
    /// One past the last token.
    pub to: u32,
    /// Half-words: 12 or 13.
    pub weight: u32,
    /// Hash of the token sequence.
    pub hash: u64,
}

/// Calls `each` with every window of a text, in order of the first token.
pub(super) fn for_each(tokens: &Tokens, mut each: impl FnMut(Window)) {
    for pair in tokens.barriers.windows(2) {
        let (first, last) = (pair[0].at as usize, pair[1].at as usize);
        let hashes = &tokens.hash[..last];
        let weights = &tokens.weight[..last];
        let (mut to, mut weight, mut hash) = (first, 0u32, 0u64);
        for from in first..last {
            while weight < WINDOW_WEIGHT && to < last {
                hash = hash.wrapping_mul(BASE).wrapping_add(hashes[to]);
                weight += u32::from(weights[to]);
                to += 1;
            }
            if weight < WINDOW_WEIGHT {
                break;
            }
            each(Window {
                from: from as u32,
                to: to as u32,
                weight,
                hash: finish(hash),
            });
            hash = hash.wrapping_sub(hashes[from].wrapping_mul(POWERS[to - from - 1]));
            weight -= u32::from(weights[from]);
        }
    }
}

/// Spreads the sum over all bits; 0 is kept free for empty slots.
fn finish(sum: u64) -> u64 {
    let x = (sum ^ (sum >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (x ^ (x >> 32)).max(1)
}

/// Whether two token sequences of equal length are equal.
pub(super) fn equal(a: &Tokens, a_from: usize, b: &Tokens, b_from: usize, length: usize) -> bool {
    (0..length).all(|k| a.folded(a_from + k) == b.folded(b_from + k))
}

/// Hashes of windows are mixed already.
#[derive(Default)]
pub(super) struct PassThrough(u64);

impl Hasher for PassThrough {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(b);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// A map by window hash.
pub(super) type ByHash<V> = HashMap<u64, V, BuildHasherDefault<PassThrough>>;

/// A set of hashes that may say yes wrongly, never no.
pub(super) struct Filter {
    words: Vec<u64>,
}

impl Filter {
    /// A filter for about `entries` hashes: 16 bits each.
    pub(super) fn new(entries: usize) -> Filter {
        Filter {
            words: vec![0; (entries / 4).next_power_of_two().max(16)],
        }
    }

    fn place(&self, hash: u64) -> (usize, u64) {
        let word = (hash >> 20) as usize & (self.words.len() - 1);
        (word, 1 << (hash & 63) | 1 << (hash >> 6 & 63))
    }

    pub(super) fn insert(&mut self, hash: u64) {
        let (word, bits) = self.place(hash);
        self.words[word] |= bits;
    }

    pub(super) fn may_hold(&self, hash: u64) -> bool {
        let (word, bits) = self.place(hash);
        self.words[word] & bits == bits
    }

    /// Leaves in `out` the places of those hashes that the set may hold. Without a branch on what
    /// memory says, so that many reads are under way at a time.
    pub(super) fn candidates(&self, hashes: &[u64], out: &mut Vec<u32>) {
        out.clear();
        out.resize(hashes.len(), 0);
        let mut count = 0;
        for (at, &hash) in hashes.iter().enumerate() {
            out[count] = at as u32;
            count += usize::from(self.may_hold(hash));
        }
        out.truncate(count);
    }
}

/// Which window stands for a number: text, first token, length.
#[derive(Clone, Copy)]
struct Standing {
    text: u32,
    from: u32,
    length: u32,
    /// Another window of the same hash, or `NONE`.
    next: u32,
}

/// No window.
pub(super) const NONE: u32 = u32::MAX;

/// Numbers for the distinct windows of some texts.
pub(super) struct WindowIndex {
    by_hash: ByHash<u32>,
    standing: Vec<Standing>,
    filter: Filter,
}

impl WindowIndex {
    /// An index for about `entries` windows.
    pub(super) fn new(entries: usize) -> WindowIndex {
        WindowIndex {
            by_hash: ByHash::default(),
            standing: Vec::new(),
            filter: Filter::new(entries),
        }
    }

    /// Number of distinct windows.
    pub(super) fn len(&self) -> usize {
        self.standing.len()
    }

    /// The number of a window of text `text` of `texts`, a new one if it is new.
    pub(super) fn insert<'a>(
        &mut self,
        texts: impl Fn(u32) -> &'a Tokens,
        text: u32,
        window: &Window,
    ) -> u32 {
        let found = self.find(&texts, texts(text), window);
        if found != NONE {
            return found;
        }
        let id = self.standing.len() as u32;
        let next = self.by_hash.insert(window.hash, id).unwrap_or(NONE);
        self.standing.push(Standing {
            text,
            from: window.from,
            length: window.to - window.from,
            next,
        });
        self.filter.insert(window.hash);
        id
    }

    /// The number of a window that equals this one token by token, or `NONE`.
    pub(super) fn find<'a>(
        &self,
        texts: impl Fn(u32) -> &'a Tokens,
        tokens: &Tokens,
        window: &Window,
    ) -> u32 {
        if !self.filter.may_hold(window.hash) {
            return NONE;
        }
        let mut id = self.by_hash.get(&window.hash).copied().unwrap_or(NONE);
        while id != NONE {
            let standing = self.standing[id as usize];
            if standing.length == window.to - window.from
                && equal(
                    texts(standing.text),
                    standing.from as usize,
                    tokens,
                    window.from as usize,
                    standing.length as usize,
                )
            {
                return id;
            }
            id = standing.next;
        }
        NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Border, BorderKind, FieldText};
    use proptest::prelude::*;

    fn tokens(text: &str) -> Tokens {
        let mut field = FieldText::of(text);
        field.borders = text
            .match_indices('|')
            .map(|(at, _)| Border {
                start: at,
                end: at + 1,
                kind: BorderKind::Message,
            })
            .collect();
        let mut out = Tokens::default();
        crate::text::tokenize(&field, &mut out);
        out
    }

    proptest! {
        #[test]
        fn equal_windows_have_equal_hashes(text in "[ab漢 |]{0,80}") {
            let tokens = tokens(&text);
            let mut all = Vec::new();
            for_each(&tokens, |w| all.push(w));
            for a in &all {
                for b in &all {
                    let (n, m) = (a.to - a.from, b.to - b.from);
                    let same = n == m && equal(
                        &tokens, a.from as usize, &tokens, b.from as usize, n as usize);
                    prop_assert_eq!(same, a.hash == b.hash);
                }
            }
        }
    }
}
