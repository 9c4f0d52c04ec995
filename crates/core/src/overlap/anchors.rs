//! The index of judged texts: picked windows and where they stand.

use super::judged::Judged;
use super::sequence::{self, BREAK};
use super::windows::{Filter, NONE};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Owner of a crowded window that texts of at least two tenants hold.
const SHARED: u32 = u32::MAX;
/// Places at which one window is listed; more make it crowded.
const CROWD: usize = 8;
/// Marks the number of a crowded window in an entry.
const CROWDED: u32 = 1 << 31;

/// A place of the sequence at which a crowded window stands.
#[derive(Clone, Copy)]
pub(super) struct CrowdPlace {
    pub at: u32,
    pub crowd: u32,
}

/// Where a window stands.
pub(super) enum Stand {
    /// At these places of the sequence, or at none of them: only a part of the hash is compared.
    At(u32),
    /// At too many places to look at each.
    Crowded(u32),
}

/// Sequences of judged texts one after another, and their picked windows by hash.
///
/// A window that stands at a few places is listed with each. Of a crowded one only the tenants of
/// its texts matter: whether there are two.
pub(super) struct Anchors {
    pub sequence: Vec<u32>,
    /// Per text of the batch its number and where it begins; one more at the end.
    texts: Vec<(u32, u32)>,
    /// Per 256 places of the sequence the text that stands there first.
    coarse: Vec<u32>,
    /// Part of the hash above, place or number of a crowded window below; 0 is free.
    slots: Vec<u64>,
    filter: Filter,
    owners: Vec<AtomicU32>,
    pub crowds: Vec<CrowdPlace>,
    /// Per place whether a run with another tenant's text covers it, and whether the prompt of the
    /// same record holds it.
    pub shared: Bits,
    pub own: Bits,
}

impl Anchors {
    /// Bytes that a batch needs for each token and for each picked window, about.
    pub(super) const BYTES: (usize, usize) = (5, 16);

    /// An index of texts; takes their sequences.
    pub(super) fn new(
        batch: std::ops::Range<usize>,
        judged: &[Judged],
        sequences: &mut [Option<Box<[u32]>>],
        run_weight: u32,
    ) -> Anchors {
        let entries: usize = judged[batch.clone()]
            .iter()
            .map(|j| j.anchors as usize)
            .sum();
        let mut out = Anchors {
            sequence: vec![BREAK],
            texts: Vec::new(),
            coarse: Vec::new(),
            slots: vec![0; entries + entries / 2 + 2],
            filter: Filter::new(entries),
            owners: Vec::new(),
            crowds: Vec::new(),
            shared: Bits::default(),
            own: Bits::default(),
        };
        let mut hashes = Vec::new();
        for text in batch {
            let Some(sequence) = sequences[text].take() else {
                continue;
            };
            let base = out.sequence.len();
            out.texts.push((text as u32, base as u32));
            out.sequence.extend_from_slice(&sequence);
            out.sequence.push(BREAK);
            let tenant = judged[text].tenant;
            sequence::stretches(&sequence, |first, stretch| {
                sequence::window_hashes(stretch, &mut hashes);
                sequence::anchors(stretch, hashes.len(), run_weight, |at| {
                    out.insert(hashes[at], (base + first + at) as u32, tenant, judged);
                });
            });
        }
        out.coarse = (0..=out.sequence.len() >> 8)
            .map(|block| {
                let behind = out.texts.partition_point(|t| t.1 as usize <= block << 8);
                behind.saturating_sub(1) as u32
            })
            .collect();
        out.crowds.sort_unstable_by_key(|c| c.at);
        out.shared = Bits::new(out.sequence.len());
        out.own = Bits::new(out.sequence.len());
        out
    }

    fn slot(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.slots.len() as u128) >> 64) as usize
    }

    fn insert(&mut self, hash: u64, at: u32, tenant: u32, judged: &[Judged]) {
        self.filter.insert(hash);
        let mut slot = self.slot(hash);
        let (mut first, mut same) = (None, 0);
        while self.slots[slot] != 0 {
            if self.slots[slot] >> 32 == u64::from(hash as u32) {
                first = first.or(Some(slot));
                same += 1;
            }
            slot = if slot + 1 == self.slots.len() { 0 } else { slot + 1 };
            let Some(first) = first else { continue };
            let value = self.slots[first] as u32;
            if value & CROWDED != 0 {
                let crowd = value & !CROWDED;
                self.crowds.push(CrowdPlace { at, crowd });
                note(&self.owners[crowd as usize], tenant);
                return;
            }
        }
        match first {
            Some(first) if same >= CROWD => {
                self.crowd(hash, first, judged);
                self.insert(hash, at, tenant, judged);
            }
            _ => self.slots[slot] = u64::from(hash as u32) << 32 | u64::from(at),
        }
    }

    /// Makes a window crowded, whose first entry is in slot `first`.
    fn crowd(&mut self, hash: u64, first: usize, judged: &[Judged]) {
        let crowd = self.owners.len() as u32;
        let mut owner = AtomicU32::new(NONE - 1);
        let mut slot = first;
        while self.slots[slot] != 0 {
            let entry = self.slots[slot];
            if entry >> 32 == u64::from(hash as u32) {
                let at = entry as u32;
                self.crowds.push(CrowdPlace { at, crowd });
                let behind = self.texts.partition_point(|t| t.1 <= at);
                let text = self.texts[behind - 1].0;
                let tenant = judged[text as usize].tenant;
                match owner.get_mut() {
                    none if *none == NONE - 1 => *none = tenant,
                    _ => note(&owner, tenant),
                }
            }
            slot = if slot + 1 == self.slots.len() { 0 } else { slot + 1 };
        }
        self.owners.push(owner);
        self.slots[first] = u64::from(hash as u32) << 32 | u64::from(CROWDED | crowd);
    }

    /// Leaves in `out` the places of those hashes that may be of a picked window.
    pub(super) fn candidates(&self, hashes: &[u64], out: &mut Vec<u32>) {
        self.filter.candidates(hashes, out);
    }

    /// Where a window may stand.
    pub(super) fn stands(&self, hash: u64) -> impl Iterator<Item = Stand> + '_ {
        let mut slot = self.slot(hash);
        let mut done = false;
        std::iter::from_fn(move || {
            while !done && self.slots[slot] != 0 {
                let entry = self.slots[slot];
                slot = if slot + 1 == self.slots.len() { 0 } else { slot + 1 };
                if entry >> 32 == u64::from(hash as u32) {
                    let value = entry as u32;
                    if value & CROWDED == 0 {
                        return Some(Stand::At(value));
                    }
                    done = true;
                    return Some(Stand::Crowded(value & !CROWDED));
                }
            }
            None
        })
    }

    /// The number of the judged text at a place, and where it begins.
    pub(super) fn text_at(&self, at: u32) -> (u32, u32) {
        let mut text = self.coarse[at as usize >> 8] as usize;
        while self.texts.get(text + 1).is_some_and(|next| next.1 <= at) {
            text += 1;
        }
        self.texts[text]
    }

    /// Texts of the batch: number, first place, end.
    pub(super) fn texts(&self) -> impl Iterator<Item = (u32, usize, usize)> + '_ {
        self.texts.iter().enumerate().map(|(n, t)| {
            let end = self.texts.get(n + 1).map_or(self.sequence.len(), |t| t.1 as usize);
            (t.0, t.1 as usize, end)
        })
    }

    /// The text of a number, if the batch holds it: first place and end.
    pub(super) fn range_of(&self, text: u32) -> Option<(usize, usize)> {
        let found = self.texts.binary_search_by_key(&text, |t| t.0).ok()?;
        let next = self.texts.get(found + 1);
        let end = next.map_or(self.sequence.len(), |t| t.1 as usize);
        Some((self.texts[found].1 as usize, end))
    }

    /// Notes that a text of a tenant holds a crowded window. The outcome does not depend on the
    /// order of notes, so threads may race.
    pub(super) fn note(&self, crowd: u32, tenant: u32) {
        note(&self.owners[crowd as usize], tenant);
    }

    /// Whether texts of two tenants hold a crowded window.
    pub(super) fn is_shared(&self, crowd: u32) -> bool {
        self.owners[crowd as usize].load(Ordering::Relaxed) == SHARED
    }
}

fn note(owner: &AtomicU32, tenant: u32) {
    let known = owner.load(Ordering::Relaxed);
    if known != SHARED && known != tenant {
        owner.store(SHARED, Ordering::Relaxed);
    }
}

/// Bits that threads may set at the same time.
#[derive(Default)]
pub(super) struct Bits(Vec<AtomicU64>);

impl Bits {
    fn new(length: usize) -> Bits {
        Bits((0..=length / 64).map(|_| AtomicU64::new(0)).collect())
    }

    /// Calls `each` with every word that a range touches and the bits of it that are meant.
    fn words(from: usize, to: usize, mut each: impl FnMut(usize, u64) -> bool) -> bool {
        let mut at = from;
        while at < to {
            let end = (at / 64 * 64 + 64).min(to);
            let bits = (u64::MAX >> (64 - (end - at))) << (at % 64);
            if !each(at / 64, bits) {
                return false;
            }
            at = end;
        }
        true
    }

    pub(super) fn set(&self, from: usize, to: usize) {
        Bits::words(from, to, |word, bits| {
            self.0[word].fetch_or(bits, Ordering::Relaxed);
            true
        });
    }

    /// Whether all bits of a range are set.
    pub(super) fn all(&self, from: usize, to: usize) -> bool {
        Bits::words(from, to, |word, bits| {
            self.0[word].load(Ordering::Relaxed) & bits == bits
        })
    }

    /// Whether any bit of a range is set.
    pub(super) fn any(&self, from: usize, to: usize) -> bool {
        !Bits::words(from, to, |word, bits| {
            self.0[word].load(Ordering::Relaxed) & bits == 0
        })
    }

    pub(super) fn get(&self, at: usize) -> bool {
        self.0[at / 64].load(Ordering::Relaxed) >> (at % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::Field;

    fn judged(tenant: u32) -> Judged {
        Judged {
            exchange: tenant,
            field: Field::Response,
            tenant,
            call: tenant,
            t0: 0,
            t1: 0,
            from: 0,
            to: 0,
            anchors: 1,
            tokens: 6,
        }
    }

    #[test]
    fn a_window_of_many_texts_is_crowded() {
        for (count, tenants, crowded, shared) in
            [(8, 1, false, false), (9, 1, true, false), (9, 2, true, true), (40, 2, true, true)]
        {
            let judged: Vec<Judged> = (0..count).map(|t| judged(t % tenants)).collect();
            let text: Box<[u32]> = [2, 4, 6, 8, 10, 12, BREAK].into();
            let mut sequences = vec![Some(text.clone()); judged.len()];
            let index = Anchors::new(0..judged.len(), &judged, &mut sequences, 16);
            let mut hashes = Vec::new();
            sequence::window_hashes(&text[..6], &mut hashes);
            let stands: Vec<Stand> = index.stands(hashes[0]).collect();
            match stands.as_slice() {
                [Stand::Crowded(crowd)] => {
                    assert!(crowded);
                    assert_eq!(index.is_shared(*crowd), shared);
                    assert_eq!(index.crowds.len(), count as usize);
                    index.note(*crowd, 7);
                    assert!(index.is_shared(*crowd));
                }
                all => {
                    assert!(!crowded && all.len() == count as usize);
                    for (n, stand) in all.iter().enumerate() {
                        let Stand::At(at) = stand else { panic!("crowded") };
                        assert_eq!(index.text_at(*at), (n as u32, *at));
                        assert_eq!(index.range_of(n as u32), Some((*at as usize, *at as usize + 8)));
                    }
                }
            }
        }
    }

    #[test]
    fn bits_of_ranges() {
        let bits = Bits::new(300);
        bits.set(60, 70);
        bits.set(128, 256);
        for (from, to, all, any) in [
            (60, 70, true, true),
            (59, 70, false, true),
            (60, 71, false, true),
            (70, 128, false, false),
            (128, 256, true, true),
            (0, 300, false, true),
            (5, 5, true, false),
        ] {
            assert_eq!((bits.all(from, to), bits.any(from, to)), (all, any), "{from}..{to}");
        }
        assert!(bits.get(60) && !bits.get(59));
    }
}
