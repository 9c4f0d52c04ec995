//! The rare keys of judged texts, and which texts hold them.

use super::Mark;
use crate::overlap::{Field, Filter, Subject};
use crate::text::Tokens;
use hashbrown::HashMap;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes that an entry takes, with its share of the tables.
const ENTRY_BYTES: usize = 72;

/// A judged text.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub exchange: u32,
    pub field: Field,
    pub call: u32,
    pub tenant: u32,
    pub t0: i64,
    pub t1: i64,
    /// Tokens.
    pub places: u32,
    /// Hash of its tokens, and its place among equal ones of its call.
    content: u128,
    rank: (crate::exchange::Role, i64, u32, Field),
}

impl Text {
    pub(super) fn new(
        exchange: u32,
        field: Field,
        subject: &Subject,
        tenant: u32,
        (t0, t1): (i64, i64),
        tokens: &Tokens,
    ) -> Text {
        let mut hasher = Xxh3::new();
        for hash in &tokens.hash {
            hasher.update(&hash.to_le_bytes());
        }
        Text {
            exchange,
            field,
            call: subject.call,
            tenant,
            t0,
            t1,
            places: tokens.len() as u32,
            content: hasher.digest128(),
            rank: (subject.role, t0, subject.id_rank, field),
        }
    }
}

/// Keys and the texts that hold them.
#[derive(Default)]
pub(super) struct Index {
    pub texts: Vec<Text>,
    open: Vec<(u64, u32, Mark)>,
    /// Keys of this order and above are dropped.
    limit: Option<u64>,
    numbers: HashMap<u64, u32>,
    filter: Option<Filter>,
    /// Per key its first entry; one more at the end.
    first: Vec<u32>,
    entries: Vec<(u32, Mark)>,
}

/// The order in which keys stay when not all fit.
fn order(key: u64) -> u64 {
    xxh3_64(&key.to_le_bytes())
}

/// Entries that fit.
fn most(memory: usize) -> usize {
    (memory / ENTRY_BYTES).max(16)
}

impl Index {
    /// Number of keys.
    pub(super) fn len(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    pub(super) fn absorb(
        &mut self,
        texts: Vec<Text>,
        entries: Vec<(u64, u32, Mark)>,
        memory: usize,
    ) {
        let base = self.texts.len() as u32;
        let limit = self.limit;
        self.texts.extend(texts);
        let fits = entries
            .into_iter()
            .filter(|e| limit.is_none_or(|l| order(e.0) < l));
        self.open.extend(fits.map(|(k, t, m)| (k, base + t, m)));
        if self.open.len() > 2 * most(memory) {
            self.thin(memory);
        }
    }

    /// Keeps the keys of least order that fit. What does not fit among some entries does not fit
    /// among all: the result does not depend on when this is called.
    fn thin(&mut self, memory: usize) {
        if self.open.len() <= most(memory) {
            return;
        }
        let mut orders: Vec<u64> = self.open.iter().map(|e| order(e.0)).collect();
        let (_, limit, _) = orders.select_nth_unstable(most(memory));
        let limit = *limit;
        self.open.retain(|e| order(e.0) < limit);
        self.limit = Some(limit);
    }

    /// Makes the tables.
    pub(super) fn close(&mut self, memory: usize) {
        self.thin(memory);
        let mut first: HashMap<(u32, u128), u32> = HashMap::new();
        for (number, text) in self.texts.iter().enumerate() {
            let number = number as u32;
            let known = first.entry((text.call, text.content)).or_insert(number);
            if text.rank < self.texts[*known as usize].rank {
                *known = number;
            }
        }
        let texts = &self.texts;
        self.open.retain(|&(_, text, _)| {
            let of = &texts[text as usize];
            first.get(&(of.call, of.content)) == Some(&text)
        });
        let key = |e: &(u64, u32, Mark)| (e.0, texts[e.1 as usize].rank, e.2);
        self.open.sort_unstable_by_key(key);
        self.build();
    }

    /// Tables of the open entries, which are in order of keys.
    fn build(&mut self) {
        let open = std::mem::take(&mut self.open);
        let mut filter = Filter::new(open.len());
        self.numbers.clear();
        self.first.clear();
        self.entries.clear();
        for of_key in open.chunk_by(|a, b| a.0 == b.0) {
            filter.insert(of_key[0].0);
            self.numbers.insert(of_key[0].0, self.first.len() as u32);
            self.first.push(self.entries.len() as u32);
            self.entries.extend(of_key.iter().map(|e| (e.1, e.2)));
        }
        self.first.push(self.entries.len() as u32);
        self.filter = Some(filter);
    }

    /// The number of a key.
    #[inline]
    pub(super) fn find(&self, key: u64) -> Option<u32> {
        if !self.filter.as_ref()?.may_hold(key) {
            return None;
        }
        self.numbers.get(&key).copied()
    }

    /// The texts that hold a key.
    pub(super) fn entries(&self, number: u32) -> &[(u32, Mark)] {
        let at = number as usize;
        &self.entries[self.first[at] as usize..self.first[at + 1] as usize]
    }

    /// Drops entries.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(u32, &Text) -> bool) {
        let mut keys: Vec<(u64, u32)> = self.numbers.drain().collect();
        keys.sort_unstable();
        let mut open = Vec::new();
        for (key, number) in keys {
            let of_key = self.entries(number).iter();
            open.extend(
                of_key
                    .filter(|(text, _)| keep(number, &self.texts[*text as usize]))
                    .map(|&(text, mark)| (key, text, mark)),
            );
        }
        self.open = open;
        self.build();
    }
}
