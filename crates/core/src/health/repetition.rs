//! How much a text repeats itself.

use crate::text::Tokens;
use hashbrown::HashMap;
use xxhash_rust::xxh3::xxh3_64;

/// Tokens of a repeated stretch.
const GRAM: usize = 4;
/// Slots of the table of the compression estimate, in bits.
const TABLE_BITS: u32 = 13;
/// Bytes that the reference to an earlier stretch takes.
const REFERENCE: u64 = 3;

/// Repetition in one text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Repetition {
    /// Longest stretch of tokens that repeats what stood a fixed number of tokens before.
    pub loop_tokens: u32,
    /// Distinct pairs of tokens among all, in thousandths.
    pub distinct_2: u32,
    /// Distinct runs of four tokens among all, in thousandths.
    pub distinct_4: u32,
}

/// Counts repeated tokens in linear time.
pub(super) fn repetition(tokens: &Tokens) -> Repetition {
    let hashes = &tokens.hash;
    let share =
        |distinct: usize, all: usize| (distinct * 1000).checked_div(all).unwrap_or(1000) as u32;
    let mut last: HashMap<u64, usize> = HashMap::new();
    let (mut longest, mut run, mut period) = (0, 0, 0);
    for (at, gram) in hashes.windows(GRAM).enumerate() {
        match last.insert(hash_of(gram), at) {
            Some(before) if at - before == period => run += 1,
            Some(before) => {
                period = at - before;
                run = 1;
            }
            None => run = 0,
        }
        if run > 0 {
            longest = longest.max(run + GRAM - 1);
        }
    }
    let distinct_4 = share(last.len(), hashes.len().saturating_sub(GRAM - 1));
    last.clear();
    last.extend(hashes.windows(2).map(|pair| (hash_of(pair), 0)));
    Repetition {
        loop_tokens: longest as u32,
        distinct_2: share(last.len(), hashes.len().saturating_sub(1)),
        distinct_4,
    }
}

fn hash_of(gram: &[u64]) -> u64 {
    let fold =
        |h: u64, &token: &u64| (h.rotate_left(23) ^ token).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    gram.iter().fold(gram.len() as u64, fold)
}

/// Size of a text as a simple dictionary coder would leave it, in thousandths of its bytes. Short
/// texts do not compress.
pub(super) fn compression(text: &[u8]) -> u32 {
    let mut table = vec![u32::MAX; 1 << TABLE_BITS];
    let (mut at, mut size) = (0, 0u64);
    while at < text.len() {
        let Some(four) = text[at..].first_chunk::<4>() else {
            size += (text.len() - at) as u64;
            break;
        };
        let slot = (xxh3_64(four) >> (64 - TABLE_BITS)) as usize;
        let before = std::mem::replace(&mut table[slot], at as u32) as usize;
        let length = match text.get(before..) {
            Some(earlier) => earlier
                .iter()
                .zip(&text[at..])
                .take_while(|(a, b)| a == b)
                .count(),
            None => 0,
        };
        if length >= 4 {
            at += length;
            size += REFERENCE;
        } else {
            at += 1;
            size += 1;
        }
    }
    (size * 1000).checked_div(text.len() as u64).unwrap_or(1000) as u32
}
