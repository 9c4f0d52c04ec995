//! Numbers by hash. Only a part of the hash is kept, so that what is found may be another's.

/// A table of a fixed size; a hash may have several numbers.
#[derive(Default)]
pub(super) struct Table {
    /// Part of the hash above, the number below; 0 is free.
    slots: Vec<u64>,
}

impl Table {
    /// A table for at most `entries` numbers.
    pub(super) fn new(entries: usize) -> Table {
        Table {
            slots: vec![0; entries + entries / 2 + 2],
        }
    }

    fn slot(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.slots.len() as u128) >> 64) as usize
    }

    fn entry(hash: u64, number: u32) -> u64 {
        u64::from(hash as u32) << 32 | u64::from(number)
    }

    /// Adds a number, which must not be 0.
    pub(super) fn push(&mut self, hash: u64, number: u32) {
        let mut slot = self.slot(hash);
        while self.slots[slot] != 0 {
            slot = if slot + 1 == self.slots.len() {
                0
            } else {
                slot + 1
            };
        }
        self.slots[slot] = Table::entry(hash, number);
    }

    /// Puts another number in the place of one that [`Table::of`] gave.
    pub(super) fn replace(&mut self, slot: usize, hash: u64, number: u32) {
        self.slots[slot] = Table::entry(hash, number);
    }

    /// The numbers of a hash, in the order in which they were added, with their places.
    pub(super) fn of(&self, hash: u64) -> impl Iterator<Item = (usize, u32)> + '_ {
        let mut slot = self.slot(hash);
        std::iter::from_fn(move || {
            while self.slots[slot] != 0 {
                let (at, entry) = (slot, self.slots[slot]);
                slot = if slot + 1 == self.slots.len() {
                    0
                } else {
                    slot + 1
                };
                if entry >> 32 == u64::from(hash as u32) {
                    return Some((at, entry as u32));
                }
            }
            None
        })
    }

    /// Drops those candidates, places in `hashes`, that cannot be in the table. Reads the places
    /// that [`Table::of`] will want without a branch on what memory says, so that many reads are
    /// under way at a time.
    pub(super) fn sift(&self, hashes: &[u64], candidates: &mut Vec<u32>) {
        let mut count = 0;
        for at in 0..candidates.len() {
            let candidate = candidates[at];
            candidates[count] = candidate;
            let head = self.slots[self.slot(hashes[candidate as usize])];
            count += usize::from(head != 0);
        }
        candidates.truncate(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn gives_what_was_put(entries in prop::collection::vec((0u64..6, 1u32..9), 0..20)) {
            let spread = |n: u64| n << 62 | n;
            let mut table = Table::new(entries.len());
            for &(hash, number) in &entries {
                table.push(spread(hash), number);
            }
            let hashes: Vec<u64> = (0..8).map(spread).collect();
            let mut candidates: Vec<u32> = (0..8).collect();
            table.sift(&hashes, &mut candidates);
            for hash in 0..8 {
                let found: Vec<u32> = table.of(spread(hash)).map(|(_, n)| n).collect();
                let put: Vec<u32> =
                    entries.iter().filter(|e| e.0 == hash).map(|e| e.1).collect();
                prop_assert!(put.is_empty() || candidates.contains(&(hash as u32)));
                prop_assert_eq!(found, put);
            }
        }
    }
}
