//! The generator's own randomness: the same seed gives the same bytes on every machine, for ever.
//!
//! xoshiro256++ seeded by splitmix64 (Blackman and Vigna, public domain). Not for secrets.

/// A seeded stream of numbers.
#[derive(Clone, Copy)]
pub(super) struct Rng([u64; 4]);

/// One splitmix64 step: spreads a counter over 64 bits.
pub(super) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// The stream numbered `stream` of a seed; streams of one seed are independent of each other.
    pub(super) fn new(seed: u64, stream: u64) -> Rng {
        let mut at = mix(seed ^ mix(stream));
        Rng([0; 4].map(|_: u64| {
            at = at.wrapping_add(1);
            mix(at)
        }))
    }

    /// The next 64 bits.
    pub(super) fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let out = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }

    /// A number in `0..n`; 0 for `n` = 0. The bias of the multiplication is below 2^-32 here.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// A number in `low..=high`.
    pub(super) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1).max(1) as u64) as i64
    }

    /// A number in `low..=high`, as an index.
    pub(super) fn size(&mut self, low: usize, high: usize) -> usize {
        self.between(low as i64, high as i64) as usize
    }

    /// True in `percent` of a hundred.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the items, which must not be empty.
    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }
}
