//! The index of judged texts: their anchors, which are the shortest runs that can make a row, and
//! where they stand. Every longer run begins with one of them.

use super::judged::Judged;
use super::sequence::{self, BREAK, run_at};
use super::table::Table;
use super::windows::Filter;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Owner of an anchor that texts of at least two tenants hold.
const SHARED: u32 = u32::MAX;
/// Owner of an anchor that nobody was noted for.
const NOBODY: u32 = u32::MAX - 1;
/// Places at which one anchor is listed; more make it crowded.
const CROWD: usize = 8;
/// Marks the number of a crowded anchor in an entry.
const CROWDED: u32 = 1 << 31;

/// A place of the sequence at which a crowded anchor stands.
#[derive(Clone, Copy)]
pub(super) struct CrowdPlace {
    pub at: u32,
    pub crowd: u32,
}

/// Where an anchor stands.
pub(super) enum Stand {
    /// At these places of the sequence, or at none of them: only a part of the hash is compared.
    At(u32),
    /// At too many places to look at each.
    Crowded(u32),
}

/// Sequences of judged texts one after another, and their anchors by hash.
///
/// An anchor that stands at a few places is listed with each. Of a crowded one only the tenants
/// count: whether there are two.
pub(super) struct Anchors {
    pub sequence: Vec<u32>,
    /// Per text of the batch its number and where it begins; one more at the end.
    texts: Vec<(u32, u32)>,
    /// Per 256 places of the sequence the text that stands there first.
    coarse: Vec<u32>,
    /// Places, or the number of a crowded anchor.
    table: Table,
    filter: Filter,
    pub crowds: Vec<CrowdPlace>,
    /// Owner of each crowded anchor.
    owners: Vec<AtomicU32>,
    run_weight: u32,
    /// Per place whether the anchor there stands nowhere else.
    alone: Bits,
    /// Per place whether a run with another tenant's text covers it, and whether the prompt of the
    /// same record holds it.
    pub shared: Bits,
    pub own: Bits,
}

impl Anchors {
    /// Bytes that a batch needs for each token and for each anchor, about.
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
        let all = sequences[batch.clone()].iter().flatten();
        let length = 1 + all.map(|s| s.len() + 1).sum::<usize>();
        let mut sequence = Vec::with_capacity(length);
        sequence.push(BREAK);
        let mut out = Anchors {
            sequence,
            texts: Vec::new(),
            coarse: Vec::new(),
            table: Table::new(entries),
            filter: Filter::new(entries),
            crowds: Vec::new(),
            owners: Vec::new(),
            run_weight,
            alone: Bits::new(length),
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
            sequence::stretches(&sequence, |first, stretch| {
                sequence::hashes(stretch, run_weight, &mut hashes);
                for (at, &hash) in hashes.iter().enumerate() {
                    out.insert(hash, (base + first + at) as u32);
                }
            });
        }
        out.coarse = (0..=out.sequence.len() >> 8)
            .map(|block| {
                let behind = out.texts.partition_point(|t| t.1 as usize <= block << 8);
                behind.saturating_sub(1) as u32
            })
            .collect();
        out.crowds.sort_unstable_by_key(|c| c.at);
        for place in &out.crowds {
            let tenant = judged[out.text_at(place.at).0 as usize].tenant;
            let owner = &out.owners[place.crowd as usize];
            if owner.load(Ordering::Relaxed) == NOBODY {
                owner.store(tenant, Ordering::Relaxed);
            }
            note(owner, tenant);
        }
        out.shared = Bits::new(out.sequence.len());
        out.own = Bits::new(out.sequence.len());
        out
    }

    /// Notes that a tenant's text holds a crowded anchor. The outcome does not depend on the order
    /// of notes, so threads may race.
    pub(super) fn note(&self, crowd: u32, tenant: u32) {
        note(&self.owners[crowd as usize], tenant);
    }

    /// Marks the crowded anchors that texts of two tenants hold.
    pub(super) fn mark_crowds(&self) {
        for place in &self.crowds {
            let from = place.at as usize;
            let to = from + self.length_at(from);
            let owner = &self.owners[place.crowd as usize];
            if owner.load(Ordering::Relaxed) == SHARED && !self.own.all(from, to) {
                // A half-word may be left behind the last anchor in a run.
                let more = usize::from(self.sequence[to] != BREAK);
                self.shared.set(from, to + more);
            }
        }
    }

    /// Tokens of the anchor at a place.
    pub(super) fn length_at(&self, place: usize) -> usize {
        run_at(&self.sequence[place..], self.run_weight).0
    }

    /// How many anchors at and from a place on stand nowhere else and equal what stands in `source`
    /// from its beginning on: none of them needs to be looked up for itself.
    pub(super) fn alone(&self, place: usize, source: &[u32]) -> usize {
        if !self.alone.get(place) {
            return 0;
        }
        let pairs = source.iter().zip(&self.sequence[place..]);
        let mut last = pairs.take_while(|(a, b)| a == b && **a != BREAK).count();
        let mut heavy = 0;
        while heavy < self.run_weight {
            if last == 0 {
                return 0;
            }
            last -= 1;
            heavy += sequence::weight(source[last]);
        }
        1 + (1..=last).take_while(|k| self.alone.get(place + k)).count()
    }

    fn insert(&mut self, hash: u64, at: u32) {
        let mut same = 0;
        let mut first = None;
        for (slot, value) in self.table.of(hash) {
            if value & CROWDED != 0 {
                let crowd = value & !CROWDED;
                self.crowds.push(CrowdPlace { at, crowd });
                return;
            }
            first = first.or(Some(slot));
            same += 1;
        }
        match first {
            Some(first) if same >= CROWD => {
                let crowd = self.owners.len() as u32;
                self.owners.push(AtomicU32::new(NOBODY));
                let places = self.table.of(hash).map(|(_, at)| CrowdPlace { at, crowd });
                self.crowds.extend(places);
                self.crowds.push(CrowdPlace { at, crowd });
                self.table.replace(first, hash, CROWDED | crowd);
            }
            _ => {
                match first {
                    None => self.alone.set(at as usize, at as usize + 1),
                    Some(_) if same == 1 => {
                        let other = self.table.of(hash).next();
                        self.alone.unset(other.map_or(0, |(_, at)| at as usize));
                    }
                    Some(_) => {}
                }
                self.filter.insert(hash);
                self.table.push(hash, at);
            }
        }
    }

    /// Leaves in `out` the places of those hashes that may be of an anchor.
    pub(super) fn candidates(&self, hashes: &[u64], out: &mut Vec<u32>) {
        self.filter.candidates(hashes, out);
        self.table.sift(hashes, out);
    }

    /// Where an anchor may stand.
    pub(super) fn stands(&self, hash: u64) -> impl Iterator<Item = Stand> + '_ {
        let mut crowded = false;
        self.table.of(hash).map_while(move |(_, value)| {
            if crowded {
                return None;
            }
            crowded = value & CROWDED != 0;
            Some(if crowded {
                Stand::Crowded(value & !CROWDED)
            } else {
                Stand::At(value)
            })
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
            let end = self
                .texts
                .get(n + 1)
                .map_or(self.sequence.len(), |t| t.1 as usize);
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

    fn unset(&self, at: usize) {
        self.0[at / 64].fetch_and(!(1 << (at % 64)), Ordering::Relaxed);
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
            anchors: 2,
            tokens: 8,
        }
    }

    #[test]
    fn a_window_of_many_texts_is_crowded() {
        for (count, tenants, crowded, shared) in [
            (8, 1, false, false),
            (9, 1, true, false),
            (9, 2, true, true),
            (40, 2, true, true),
        ] {
            let judged: Vec<Judged> = (0..count).map(|t| judged(t % tenants)).collect();
            let text: Box<[u32]> = [2, 4, 6, 8, 10, 12, 14, 16, BREAK].into();
            let mut sequences = vec![Some(text.clone()); judged.len()];
            let index = Anchors::new(0..judged.len(), &judged, &mut sequences, 16);
            let mut hashes = Vec::new();
            sequence::hashes(&text[..8], 16, &mut hashes);
            let stands: Vec<Stand> = index.stands(hashes[0]).collect();
            match stands.as_slice() {
                [Stand::Crowded(crowd)] => {
                    assert!(crowded);
                    index.mark_crowds();
                    assert_eq!(index.shared.any(0, index.sequence.len()), shared);
                    index.note(*crowd, 7);
                    index.mark_crowds();
                    let (from, to) = index.range_of(3).unwrap();
                    assert!(index.shared.all(from, to - 2));
                }
                all => {
                    assert!(!crowded && all.len() == count as usize);
                    for (n, stand) in all.iter().enumerate() {
                        let Stand::At(at) = stand else {
                            panic!("crowded")
                        };
                        assert_eq!(index.text_at(*at), (n as u32, *at));
                        let range = (*at as usize, *at as usize + 10);
                        assert_eq!(index.range_of(n as u32), Some(range));
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
            assert_eq!(
                (bits.all(from, to), bits.any(from, to)),
                (all, any),
                "{from}..{to}"
            );
        }
        assert!(bits.get(60) && !bits.get(59));
    }
}
