//! Windows: the shortest runs of weight 12 from each token, with rolling hashes.

use super::sequence;
use super::table::Table;
use crate::text::Tokens;
use hashbrown::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// One window of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
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
pub(crate) fn for_each(tokens: &Tokens, mut each: impl FnMut(Window)) {
    let (mut sequence, mut hashes) = (Vec::new(), Vec::new());
    sequence::append(tokens, &mut sequence);
    let mut breaks = 0;
    sequence::stretches(&sequence, |first, stretch| {
        sequence::window_hashes(stretch, &mut hashes);
        for (at, &hash) in hashes.iter().enumerate() {
            each(window(stretch, at, first - breaks, hash));
        }
        breaks += 1;
    });
}

/// The window at a place of a stretch that begins with token `first`.
fn window(stretch: &[u32], at: usize, first: usize, hash: u64) -> Window {
    let (length, weight) = sequence::window_at(&stretch[at..]);
    Window {
        from: (first + at) as u32,
        to: (first + at + length) as u32,
        weight,
        hash,
    }
}

/// Whether two token sequences of equal length are equal.
pub(crate) fn equal(a: &Tokens, a_from: usize, b: &Tokens, b_from: usize, length: usize) -> bool {
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
pub(crate) struct Filter {
    words: Vec<u64>,
}

impl Filter {
    /// A filter for about `entries` hashes: 16 bits each.
    pub(crate) fn new(entries: usize) -> Filter {
        Filter {
            words: vec![0; (entries / 4).next_power_of_two().max(16)],
        }
    }

    fn place(&self, hash: u64) -> (usize, u64) {
        let word = (hash >> 20) as usize & (self.words.len() - 1);
        (word, 1 << (hash & 63) | 1 << (hash >> 6 & 63))
    }

    pub(crate) fn insert(&mut self, hash: u64) {
        let (word, bits) = self.place(hash);
        self.words[word] |= bits;
    }

    pub(crate) fn may_hold(&self, hash: u64) -> bool {
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
}

/// No window.
pub(super) const NONE: u32 = u32::MAX;

/// Buffers for looking texts up.
#[derive(Default)]
pub(super) struct Scanner {
    sequence: Vec<u32>,
    hashes: Vec<u64>,
    candidates: Vec<u32>,
}

/// Numbers for the distinct windows of some texts.
pub(crate) struct WindowIndex {
    /// Numbers, each one more than it is.
    table: Table,
    standing: Vec<Standing>,
    filter: Filter,
}

impl WindowIndex {
    /// An index for at most `entries` windows.
    pub(super) fn new(entries: usize) -> WindowIndex {
        WindowIndex {
            table: Table::new(entries),
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
        self.table.push(window.hash, id + 1);
        self.standing.push(Standing {
            text,
            from: window.from,
            length: window.to - window.from,
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
        self.find_behind(
            &texts,
            tokens,
            window,
            &mut (NONE, window.from, window.from),
        )
    }

    /// [`WindowIndex::find`] where the window before was looked up: `before` are its number, its
    /// first token and its end, and become those of this one. Where a run goes on, only the tokens
    /// behind that end are compared.
    fn find_behind<'a>(
        &self,
        texts: &impl Fn(u32) -> &'a Tokens,
        tokens: &Tokens,
        window: &Window,
        before: &mut (u32, u32, u32),
    ) -> u32 {
        let (known, first, end) = *before;
        let known =
            (known != NONE && first + 1 == window.from).then(|| self.standing[known as usize]);
        let mut numbers = self.table.of(window.hash).map(|(_, number)| number - 1);
        let found = numbers.find(|&id| {
            let standing = self.standing[id as usize];
            let goes_on =
                known.is_some_and(|k| k.text == standing.text && k.from + 1 == standing.from);
            let equal_to = if goes_on { end - window.from } else { 0 };
            standing.length == window.to - window.from
                && equal(
                    texts(standing.text),
                    (standing.from + equal_to) as usize,
                    tokens,
                    (window.from + equal_to) as usize,
                    (standing.length - equal_to) as usize,
                )
        });
        let id = found.unwrap_or(NONE);
        *before = (id, window.from, window.to);
        id
    }

    /// Calls `each` with every window of a text that has a number, in order of the first token.
    pub(super) fn each_known<'a>(
        &self,
        texts: impl Fn(u32) -> &'a Tokens,
        tokens: &Tokens,
        scanner: &mut Scanner,
        mut each: impl FnMut(Window, u32),
    ) {
        let Scanner {
            sequence,
            hashes,
            candidates,
        } = scanner;
        sequence.clear();
        sequence::append(tokens, sequence);
        let mut breaks = 0;
        sequence::stretches(sequence, |first, stretch| {
            sequence::window_hashes(stretch, hashes);
            self.filter.candidates(hashes, candidates);
            self.table.sift(hashes, candidates);
            let mut before = (NONE, 0, 0);
            for &at in candidates.iter() {
                let at = at as usize;
                let window = window(stretch, at, first - breaks, hashes[at]);
                let id = self.find_behind(&texts, tokens, &window, &mut before);
                if id != NONE {
                    each(window, id);
                }
            }
            breaks += 1;
        });
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
