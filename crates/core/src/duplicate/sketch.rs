//! Signatures of texts by their short runs: equal ones for equal texts, often for similar ones.

use crate::mosaic::for_each_seed;
use crate::surprise::longer;
use crate::text::Tokens;
use xxhash_rust::xxh3::Xxh3;

/// Bands of a signature; texts that share `j` of their runs share a band with a probability of
/// `1 - (1 - j^2)^4`: 98 % at 0.8, 68 % at 0.5, 15 % at 0.2.
pub(super) const BANDS: usize = 4;
/// Least runs kept of a text to compare it by.
const BOTTOM: usize = 128;
/// Odd multipliers that order runs in as many ways.
const WAYS: [u64; 2 * BANDS] = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0xd6e8_feb8_6659_fd93,
    0xff51_afd7_ed55_8ccd,
    0xc4ce_b9fe_1a85_ec53,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
];

/// Hash of a sequence of tokens.
pub(super) fn sequence(tokens: &Tokens) -> u64 {
    let mut hasher = Xxh3::new();
    for hash in &tokens.hash {
        hasher.update(&hash.to_le_bytes());
    }
    hasher.digest()
}

/// A signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Signature {
    /// Of all tokens in order.
    pub all: u64,
    least: [u32; 2 * BANDS],
}

impl Signature {
    pub(super) fn of(tokens: &Tokens) -> Signature {
        let mut least = [u64::MAX; 2 * BANDS];
        for_each_seed(tokens, |_, _, run| {
            for (least, way) in least.iter_mut().zip(WAYS) {
                let value = (run ^ (run >> 29)).wrapping_mul(way);
                *least = (*least).min(value ^ (value >> 32));
            }
        });
        Signature {
            all: sequence(tokens),
            // The least of many hashes begins with zeros: its low half says which run it is.
            least: least.map(|l| l as u32),
        }
    }

    /// The key of a band; that of all tokens behind the last band.
    pub(super) fn key(&self, band: usize) -> u64 {
        if band == BANDS {
            return self.all;
        }
        longer(
            u64::from(self.least[2 * band]),
            u64::from(self.least[2 * band + 1]),
        )
    }

    /// How much is equal: more than all parts for equal texts.
    pub(super) fn alike(&self, other: &Signature) -> u32 {
        let parts = self.least.iter().zip(&other.least);
        let equal = parts.filter(|(a, b)| a == b).count() as u32;
        equal + u32::from(self.all == other.all)
    }
}

/// The distinct runs of least hash, ascending.
pub(super) fn bottom(tokens: &Tokens) -> Vec<u64> {
    let mut runs = Vec::new();
    for_each_seed(tokens, |_, _, run| runs.push(run));
    runs.sort_unstable();
    runs.dedup();
    runs.truncate(BOTTOM);
    runs
}

/// Share of common runs among all runs of two texts, from their least ones.
pub(super) fn jaccard_permille(a: &[u64], b: &[u64]) -> u32 {
    let mut all: Vec<u64> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    let mut distinct = all.clone();
    distinct.dedup();
    distinct.truncate(BOTTOM);
    let Some(last) = distinct.last() else {
        return 0;
    };
    let common = all
        .windows(2)
        .filter(|w| w[0] == w[1] && w[0] <= *last)
        .count();
    (common * 1000 / distinct.len()) as u32
}
