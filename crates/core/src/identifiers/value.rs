//! Values as they are compared: the letters and digits of their tokens, one behind the other.

use super::extract::Candidate;
use crate::text::Tokens;
use std::ops::Range;

/// Fewest bytes of a value: shorter ones are everybody's.
pub(super) const SHORTEST: usize = 6;
/// Of longer values only the last tokens of at most so many bytes count: keys and web tokens begin
/// alike and differ at the end.
pub(super) const LONGEST: usize = 256;
/// Most bytes between two tokens of a value in a text.
pub(super) const GAP: u32 = 3;

/// What a text is asked for first: the first six bytes of a value.
pub(super) type Head = u64;

/// What finds a value in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Probe {
    pub head: Head,
    /// Bytes of the value, at most [`LONGEST`].
    pub length: u16,
    /// Running hash over all bytes.
    pub sum: u64,
}

/// A running hash that is asked at each token: FNV-1a, only a filter before the keyed hash.
pub(super) fn add(sum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(sum, |sum, &b| {
        (sum ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Where the running hash begins.
pub(super) const SUM: u64 = 0xcbf2_9ce4_8422_2325;

/// The first six bytes of a value that is long enough.
pub(super) fn head(value: &[u8]) -> Option<Head> {
    let first = value.get(..SHORTEST)?;
    let mut bytes = [0; 8];
    bytes[..SHORTEST].copy_from_slice(first);
    Some(u64::from_le_bytes(bytes))
}

/// The tokens of an identifier; `None` where it cuts a token or runs across a border.
pub(super) fn tokens_of(tokens: &Tokens, candidate: &Candidate) -> Option<Range<usize>> {
    let (start, end) = (candidate.start as u32, candidate.end as u32);
    let from = tokens.start.partition_point(|&s| s < start);
    let to = tokens.end.partition_point(|&e| e <= end);
    let cut_before = from > 0 && tokens.end[from - 1] > start;
    let cut_behind = tokens.start.get(to).is_some_and(|&s| s < end);
    if from >= to || cut_before || cut_behind {
        return None;
    }
    let barrier = tokens.barriers.partition_point(|b| (b.at as usize) <= from);
    let crossed = tokens
        .barriers
        .get(barrier)
        .is_some_and(|b| (b.at as usize) < to);
    (!crossed).then_some(from..to)
}

/// Writes the value of some tokens into `out`.
pub(super) fn write(tokens: &Tokens, range: Range<usize>, out: &mut Vec<u8>) {
    out.clear();
    let mut from = range.end;
    let mut length = 0;
    while from > range.start {
        let next = tokens.folded(from - 1).len();
        if length + next > LONGEST && length > 0 {
            break;
        }
        length += next;
        from -= 1;
    }
    for token in from..range.end {
        out.extend_from_slice(tokens.folded(token));
    }
}

/// How a value is asked for; `None` if it is too short, or one token of it is too long.
pub(super) fn probe(value: &[u8]) -> Option<Probe> {
    if value.len() > LONGEST {
        return None;
    }
    Some(Probe {
        head: head(value)?,
        length: value.len() as u16,
        sum: add(SUM, value),
    })
}

/// Keyed hash of a value.
pub(super) fn hmac(key: &[u8; 32], value: &[u8]) -> [u8; 16] {
    let mut out = [0; 16];
    out.copy_from_slice(&blake3::keyed_hash(key, value).as_bytes()[..16]);
    out
}
