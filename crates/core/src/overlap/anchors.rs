//! The index of judged texts: picked windows, and which of them another tenant's text holds.

use super::types::Field;
use super::windows::{Filter, for_each_anchor};
use crate::exchange::TimeMicros;
use crate::text::Tokens;
use std::sync::atomic::{AtomicU32, Ordering};
use xxhash_rust::xxh3::Xxh3;

/// Owner of a window that stands in texts of at least two tenants.
const SHARED: u32 = u32::MAX;

/// A judged text and the facts of its exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged {
    pub exchange: u32,
    pub field: Field,
    pub tenant: u32,
    pub call: u32,
    /// Start, and end or else start.
    pub t0: TimeMicros,
    pub t1: TimeMicros,
    /// First and last time that counts.
    pub from: TimeMicros,
    pub to: TimeMicros,
    /// Picked windows.
    pub anchors: u32,
}

/// What the first pass keeps of a text that may be judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub exchange: u32,
    pub field: Field,
    pub sequence: u128,
    pub tokens: u32,
    pub anchors: u32,
}

impl Found {
    pub(super) fn new(exchange: u32, field: Field, tokens: &Tokens, run_weight: u32) -> Found {
        let mut hasher = Xxh3::new();
        for token in 0..tokens.len() {
            hasher.update(tokens.folded(token));
            // No token holds a byte that UTF-8 does not use.
            hasher.update(&[0xff]);
        }
        let mut anchors = 0;
        for_each_anchor(tokens, run_weight, |_| anchors += 1);
        Found {
            exchange,
            field,
            sequence: hasher.digest128(),
            tokens: tokens.len() as u32,
            anchors,
        }
    }
}

/// Picked windows of judged texts by hash.
pub(super) struct Anchors {
    hashes: Vec<u64>,
    owners: Vec<AtomicU32>,
    filter: Filter,
}

impl Anchors {
    /// Bytes an index needs for each window, at worst.
    pub(super) const BYTES_EACH: usize = 40;

    /// An index for at most `entries` windows.
    pub(super) fn new(entries: usize) -> Anchors {
        let slots = (entries + entries / 3 + 1).next_power_of_two().max(16);
        let mut owners = Vec::new();
        owners.resize_with(slots, || AtomicU32::new(0));
        Anchors {
            hashes: vec![0; slots],
            owners,
            filter: Filter::new(entries),
        }
    }

    fn slot(&self, hash: u64) -> usize {
        let mask = self.hashes.len() - 1;
        let mut slot = (hash >> 8) as usize & mask;
        while self.hashes[slot] != 0 && self.hashes[slot] != hash {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// Adds a window of a tenant's judged text.
    pub(super) fn insert(&mut self, hash: u64, tenant: u32) {
        let slot = self.slot(hash);
        let owner = self.owners[slot].get_mut();
        if self.hashes[slot] == 0 {
            self.hashes[slot] = hash;
            *owner = tenant;
            self.filter.insert(hash);
        } else if *owner != tenant {
            *owner = SHARED;
        }
    }

    /// Notes that a text of a tenant holds a window. The outcome does not depend on the order of
    /// notes, so threads may race.
    pub(super) fn note(&self, hash: u64, tenant: u32) {
        if !self.filter.may_hold(hash) {
            return;
        }
        let slot = self.slot(hash);
        if self.hashes[slot] == hash {
            let owner = self.owners[slot].load(Ordering::Relaxed);
            if owner != SHARED && owner != tenant {
                self.owners[slot].store(SHARED, Ordering::Relaxed);
            }
        }
    }

    /// Whether texts of two tenants hold a window that was added.
    pub(super) fn is_shared(&self, hash: u64) -> bool {
        let slot = self.slot(hash);
        self.hashes[slot] == hash && self.owners[slot].load(Ordering::Relaxed) == SHARED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_shared_by_two_tenants() {
        let mut anchors = Anchors::new(3);
        anchors.insert(77, 1);
        anchors.insert(77, 1);
        anchors.insert(78, 1);
        anchors.insert(79, 1);
        anchors.insert(79, 2);
        anchors.note(77, 1);
        anchors.note(78, 5);
        anchors.note(80, 5);
        let shared: Vec<u64> = (70..90).filter(|&h| anchors.is_shared(h)).collect();
        assert_eq!(shared, [78, 79]);
    }
}
