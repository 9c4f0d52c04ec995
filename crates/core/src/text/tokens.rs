//! The tokens of one text, laid out as columns.

use super::hash::{PADDING, hash, hash_in};
use super::masks::Mask;
use std::fmt;

/// A place between two tokens that no run crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// Index of the token behind it; the number of tokens for the end of the text.
    pub at: u32,
    /// Whether text is missing there (a truncation or redaction marker).
    pub cut: bool,
}

/// The tokens of one text. Columns are of equal length.
#[derive(Clone, Default)]
pub struct Tokens {
    /// Hash of the folded bytes; it lives no longer than the process.
    pub hash: Vec<u64>,
    /// First original byte that contributed.
    pub start: Vec<u32>,
    /// One past the last original byte that contributed.
    pub end: Vec<u32>,
    /// Half-words: 2 for a word, 1 for a character of a script written without spaces.
    pub weight: Vec<u8>,
    /// Barriers inside the text and at its two ends, ascending, at most one a place.
    pub barriers: Vec<Barrier>,
    /// Folded bytes: those of plain words stand in a lower-case copy of the text, others behind it.
    pub(super) folded: Vec<u8>,
    folded_at: Vec<(u32, u32)>,
    /// Buffers of the tokeniser.
    pub(super) masks: Vec<Mask>,
    pub(super) edges: Vec<u32>,
}

impl Tokens {
    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.hash.len()
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.hash.is_empty()
    }

    /// Forgets all tokens and keeps the memory.
    pub fn clear(&mut self) {
        self.hash.clear();
        self.start.clear();
        self.end.clear();
        self.weight.clear();
        self.barriers.clear();
        self.folded.clear();
        self.folded_at.clear();
    }

    /// The normalised, case-folded bytes of one token (UTF-8).
    pub fn folded(&self, token: usize) -> &[u8] {
        let (from, to) = self.folded_at[token];
        &self.folded[from as usize..to as usize]
    }

    /// Marks the end of the text as cut: its logger kept only a part.
    pub fn cut_end(&mut self) {
        if let Some(last) = self.barriers.last_mut() {
            last.cut = true;
        }
    }

    /// Appends tokens `from..to` of another text and their barriers; a barrier is set before and
    /// behind them, so that nothing runs across the seam.
    pub fn push_range(&mut self, other: &Tokens, from: usize, to: usize) {
        let base = self.len() as u32;
        self.barrier(false);
        for token in from..to {
            let first = self.folded.len();
            self.folded.extend_from_slice(other.folded(token));
            self.hash.push(other.hash[token]);
            self.start.push(other.start[token]);
            self.end.push(other.end[token]);
            self.weight.push(other.weight[token]);
            self.folded_at
                .push((first as u32, self.folded.len() as u32));
        }
        let first = other
            .barriers
            .partition_point(|b| (b.at as usize) < from.min(other.len()));
        for b in other.barriers[first..]
            .iter()
            .take_while(|b| b.at as usize <= to)
        {
            self.barrier_at(base + b.at - from as u32, b.cut);
        }
        self.barrier(false);
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> usize {
        self.hash.capacity() * 8
            + (self.start.capacity() + self.end.capacity()) * 4
            + self.folded_at.capacity() * 8
            + self.weight.capacity()
            + self.folded.capacity()
            + self.masks.capacity() * size_of::<Mask>()
            + self.edges.capacity() * 4
            + self.barriers.capacity() * size_of::<Barrier>()
    }

    /// Gives back memory that is not in use.
    pub fn shrink(&mut self) {
        self.hash.shrink_to_fit();
        self.start.shrink_to_fit();
        self.end.shrink_to_fit();
        self.weight.shrink_to_fit();
        self.barriers.shrink_to_fit();
        self.folded.shrink_to_fit();
        self.folded_at.shrink_to_fit();
        self.masks = Vec::new();
        self.edges = Vec::new();
    }

    /// Adds the token whose folded bytes are `from..to` of the arena.
    #[inline]
    pub(super) fn close(&mut self, (from, to): (usize, usize), bytes: (u32, u32), weight: u8) {
        self.hash.push(hash(&self.folded[from..to]));
        self.start.push(bytes.0);
        self.end.push(bytes.1);
        self.weight.push(weight);
        self.folded_at.push((from as u32, to as u32));
    }

    /// Appends a lower-case copy of some bytes to the arena; gives the place where it begins.
    pub(super) fn push_copy(&mut self, bytes: &[u8]) -> usize {
        let copy = self.folded.len();
        self.folded.reserve(bytes.len() + PADDING);
        self.folded.extend_from_slice(bytes);
        self.folded[copy..].make_ascii_lowercase();
        self.folded.extend_from_slice(&[0; PADDING]);
        copy
    }

    /// Adds words that stand in a copy which begins at `copy` and whose text begins at byte `from`:
    /// `edges` are the first byte of each and the one behind it, counted from there.
    pub(super) fn push_words(&mut self, edges: &[u32], (from, copy): (usize, usize)) {
        let (from, copy) = (from as u32, copy as u32);
        let (edges, _) = edges.as_chunks::<2>();
        self.start.extend(edges.iter().map(|e| from + e[0]));
        self.end.extend(edges.iter().map(|e| from + e[1]));
        let folded = edges.iter().map(|e| (copy + e[0], copy + e[1]));
        self.folded_at.extend(folded);
        self.weight.resize(self.start.len(), 2);
        let (folded, hash) = (&self.folded[copy as usize..], &mut self.hash);
        hash.extend(
            edges
                .iter()
                .map(|e| hash_in(folded, e[0] as usize, e[1] as usize)),
        );
    }

    pub(super) fn barrier(&mut self, cut: bool) {
        self.barrier_at(self.len() as u32, cut);
    }

    fn barrier_at(&mut self, at: u32, cut: bool) {
        match self.barriers.last_mut() {
            Some(last) if last.at == at => last.cut |= cut,
            _ => self.barriers.push(Barrier { at, cut }),
        }
    }
}

// Log text is private in every sink, debug prints included.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens({})", self.len())
    }
}
