//! Keys of short sequences of tokens, and the units in which texts are compared as bags.

use crate::text::Tokens;

/// Spreads a sum over all bits.
pub(super) fn mixed(sum: u64) -> u64 {
    let x = (sum ^ (sum >> 31)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 32)
}

/// The key of an n-gram, from those of the n-gram one shorter and of its last token.
pub(crate) fn longer(key: u64, last: u64) -> u64 {
    mixed(key.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(last))
}

/// The unit in which texts are compared as bags: a word, or a character with the one before it.
pub(crate) fn for_each_unit(tokens: &Tokens, mut each: impl FnMut(usize, u64)) {
    for pair in tokens.barriers.windows(2) {
        let first = pair[0].at as usize;
        for at in first..pair[1].at as usize {
            each(at, unit(tokens, at, first));
        }
    }
}

/// The unit that ends at a token.
pub(super) fn unit_at(tokens: &Tokens, at: usize) -> u64 {
    unit(tokens, at, segment_of(tokens, at))
}

/// The first token of the segment of a token.
pub(super) fn segment_of(tokens: &Tokens, at: usize) -> usize {
    let barrier = tokens.barriers.partition_point(|b| b.at as usize <= at);
    let segment = barrier.checked_sub(1);
    segment.map_or(0, |b| tokens.barriers[b].at as usize)
}

fn unit(tokens: &Tokens, at: usize, segment: usize) -> u64 {
    let hash = tokens.hash[at];
    if tokens.weight[at] == 1 && at > segment {
        longer(tokens.hash[at - 1], hash)
    } else {
        hash
    }
}
