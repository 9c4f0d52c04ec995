//! Mosaic: short fragments of one foreign text that stand in an answer in the same order, each too
//! short to be an overlap, together beyond chance. A lightly reworded leak looks like this.

mod chain;
#[cfg(test)]
mod tests;

use crate::operator::TextView;
use crate::overlap::Field;
use crate::probe::{Chance, Joint, Kind, Mark, Probe, Seed};
use crate::surprise::{TokenStats, for_each_unit, longer};
use crate::text::Tokens;
use chain::{Fragment, chain, merge};
use std::sync::Arc;

/// Weight of a seed in half-words: 4 words, 8 characters of CJK.
const SEED_WEIGHT: u32 = 8;
/// Least surprise of a seed, in millibits: a chance seed stands in one of 65,536 places.
const SEED_MILLIBITS: u32 = 16_000;
/// Score over the number of places in millibits: `2^-21`, that is at most one chain by chance in
/// a million runs of this size, were tokens independent of all but their neighbour.
const MARGIN: u64 = 21_000;

/// Finds mosaics.
pub type Mosaic = Probe<MosaicKind>;

/// Short windows as keys, chained.
pub struct MosaicKind {
    stats: Arc<TokenStats>,
}

impl MosaicKind {
    /// Weighs fragments under counts of the same exchanges.
    pub fn new(stats: Arc<TokenStats>) -> MosaicKind {
        MosaicKind { stats }
    }
}

/// An odd multiplier with well mixed bits, and its powers.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
const POWERS: [u64; SEED_WEIGHT as usize + 1] = {
    let mut out = [1u64; SEED_WEIGHT as usize + 1];
    let mut i = 1;
    while i < out.len() {
        out[i] = out[i - 1].wrapping_mul(BASE);
        i += 1;
    }
    out
};

/// Calls `each` with every seed of a text: first token, one past the last, key.
pub(crate) fn for_each_seed(tokens: &Tokens, mut each: impl FnMut(usize, usize, u64)) -> u64 {
    let mut places = 0;
    for pair in tokens.barriers.windows(2) {
        let (first, last) = (pair[0].at as usize, pair[1].at as usize);
        let (mut to, mut weight, mut sum) = (first, 0u32, 0u64);
        for from in first..last {
            while weight < SEED_WEIGHT && to < last {
                sum = sum.wrapping_mul(BASE).wrapping_add(tokens.hash[to]);
                weight += u32::from(tokens.weight[to]);
                to += 1;
            }
            if weight < SEED_WEIGHT {
                break;
            }
            // The number of tokens keeps sequences of different lengths apart.
            each(from, to, longer(sum, (to - from) as u64));
            places += 1;
            sum = sum.wrapping_sub(tokens.hash[from].wrapping_mul(POWERS[to - from - 1]));
            weight -= u32::from(tokens.weight[from]);
        }
    }
    places
}

impl Kind for MosaicKind {
    const PASSES: [&'static str; 3] = ["mosaic index", "mosaic carriers", "mosaic join"];
    const LEAST: usize = 2;

    fn judged(
        &self,
        field: Field,
        tenant: u32,
        texts: &mut TextView<'_>,
        out: &mut Vec<(u64, Mark)>,
    ) {
        let Some(tokens) = texts.tokens(field) else {
            return;
        };
        let mut seeds = Vec::new();
        for_each_seed(tokens, |from, to, key| {
            let mark = Mark {
                tokens: (from as u32, to as u32),
                bytes: (tokens.start[from], tokens.end[to - 1]),
                ..Mark::default()
            };
            seeds.push((key, mark));
        });
        let leave = self.stats.leave_one_out(tenant);
        let mut bits = self.stats.all_millibits(tokens, &leave);
        let mut units = Vec::with_capacity(bits.len());
        for_each_unit(tokens, |at, unit| units.push((unit, at as u32)));
        units.sort_unstable();
        seeds.sort_unstable();
        let mut own = vec![false; seeds.len()];
        let mut asked = vec![false; units.len()];
        if let Some(prompt) = texts.tokens(Field::Prompt) {
            for_each_unit(prompt, |_, unit| {
                let first = units.partition_point(|u| u.0 < unit);
                if units.get(first).is_some_and(|u| u.0 == unit) {
                    asked[first] = true;
                }
            });
            for_each_seed(prompt, |_, _, key| {
                let first = seeds.partition_point(|s| s.0 < key);
                if seeds.get(first).is_some_and(|s| s.0 == key) {
                    own[first] = true;
                }
            });
        }
        // Words of the question are no surprise in the answer, wherever they stand. Of equal units
        // and seeds, which stand together, the first says whether the prompt has them.
        let mut known = (0, false);
        for (&(unit, at), asked) in units.iter().zip(asked) {
            known = if asked { (unit, true) } else { known };
            if known == (unit, true) {
                bits[at as usize] = 0;
            }
        }
        let mut sums = vec![0u32];
        for bits in bits {
            sums.push(sums[sums.len() - 1].saturating_add(bits));
        }
        known = (0, false);
        for (&(key, mark), own) in seeds.iter().zip(own) {
            known = if own { (key, true) } else { known };
            let (from, to) = (mark.tokens.0 as usize, mark.tokens.1 as usize);
            let sums = (sums[from], sums[to]);
            if known != (key, true) && sums.1 - sums.0 >= SEED_MILLIBITS {
                out.push((key, Mark { sums, ..mark }));
            }
        }
    }

    fn probe(
        &self,
        field: Field,
        texts: &mut TextView<'_>,
        mut each: impl FnMut(u64, Mark),
    ) -> u64 {
        texts.tokens(field).map_or(0, |tokens| {
            for_each_seed(tokens, |from, to, key| {
                let mark = Mark {
                    tokens: (from as u32, to as u32),
                    bytes: (tokens.start[from], tokens.end[to - 1]),
                    ..Mark::default()
                };
                each(key, mark);
            })
        })
    }

    fn join(&self, seeds: &mut Vec<Seed>, chance: Chance) -> Option<Joint> {
        seeds.sort_unstable();
        let mut best: Option<Joint> = None;
        for of_field in seeds.chunk_by(|a, b| a.field == b.field) {
            let joint = chain_of(of_field).filter(|j| j.score >= u64::from(chance.pairs) + MARGIN);
            if joint.is_some_and(|j| best.is_none_or(|b| j.score > b.score)) {
                best = joint;
            }
        }
        best
    }
}

/// The best chain of the seeds in one source field.
fn chain_of(seeds: &[Seed]) -> Option<Joint> {
    let mut raw: Vec<(Fragment, (u32, u32))> = seeds
        .iter()
        .map(|s| {
            let fragment = Fragment {
                i: s.judged.tokens,
                j: s.source.tokens,
                millibits: 0,
            };
            (fragment, s.judged.sums)
        })
        .collect();
    let fragments = merge(&mut raw);
    let found = chain(&fragments)?;
    let members: Vec<&Fragment> = found.members.iter().map(|&m| &fragments[m]).collect();
    let (first, last) = (members.first()?, members.last()?);
    if members.len() < 2 {
        return None;
    }
    let byte = |judged: bool, token: u32, end: bool| {
        let marks = seeds
            .iter()
            .map(|s| if judged { s.judged } else { s.source });
        marks
            .filter(|m| {
                if end {
                    m.tokens.1 == token
                } else {
                    m.tokens.0 == token
                }
            })
            .map(|m| if end { m.bytes.1 } else { m.bytes.0 })
            .next()
            .unwrap_or_default()
    };
    Some(Joint {
        source_field: seeds[0].field,
        parts: members.len() as u32,
        tokens: members.iter().map(|f| f.i.1 - f.i.0).sum(),
        millibits: members.iter().map(|f| u64::from(f.millibits)).sum(),
        score: u64::try_from(found.score).unwrap_or(0),
        sorts: [0; 4],
        response: (byte(true, first.i.0, false), byte(true, last.i.1, true)),
        source: (byte(false, first.j.0, false), byte(false, last.j.1, true)),
    })
}
