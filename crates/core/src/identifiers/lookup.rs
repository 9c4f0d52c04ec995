//! Values looked for in a text: one question a token, answered by a bit for nearly all of them.

use super::types::Judged;
use super::value::{self, GAP, LONGEST, Probe, SHORTEST, SUM};
use crate::exchange::TimeMicros;
use crate::text::Tokens;
use std::ops::Range;

/// A value that judged answers hold.
pub(super) struct Value {
    pub probe: Probe,
    pub hmac: [u8; 16],
    /// Its places in the list of judged identifiers.
    pub judged: Range<usize>,
    /// Last microsecond that counts for any of them.
    pub to: TimeMicros,
}

/// A value in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hit {
    pub value: u32,
    pub start: u32,
    pub end: u32,
}

/// The values of one round, by head.
#[derive(Default)]
pub(super) struct Lookup {
    /// One bit per hashed beginning of one, two and three bytes: small, so that it stays near.
    begins: Vec<u64>,
    begins_shift: u32,
    /// One bit per hashed head, sixteen bits a value.
    bits: Vec<u64>,
    shift: u32,
    /// First value of each head, open addressing; `u32::MAX` is free.
    slots: Vec<u32>,
}

/// Bytes that one value takes here at most.
pub(super) const BYTES_EACH: usize = 24;

fn spread(head: u64) -> u64 {
    (head ^ (head >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Hash of the beginning of a token: of its first three bytes, or of all if it has fewer.
#[inline]
fn begin(token: &[u8]) -> u32 {
    let key = match *token {
        [] => 0,
        [a] => u32::from(a) | 0xffff_0000,
        [a, b] => u32::from(a) | u32::from(b) << 8 | 0xff00_0000,
        [a, b, c, ..] => u32::from(a) | u32::from(b) << 8 | u32::from(c) << 16,
    };
    key.wrapping_mul(0x9e37_79b1)
}

impl Lookup {
    /// A lookup of some values; they are in the order of their probes.
    pub(super) fn new(values: &[Value], round: Range<usize>) -> Lookup {
        let count = round.len().max(4).next_power_of_two();
        let begins = (count * 32).clamp(1 << 12, 1 << 20);
        let mut lookup = Lookup {
            begins: vec![0; begins / 64],
            begins_shift: 32 - begins.trailing_zeros(),
            bits: vec![0; count / 4],
            shift: 64 - (count * 16).trailing_zeros(),
            slots: vec![u32::MAX; count * 2],
        };
        let mut last = None;
        for number in round {
            let head = values[number].probe.head;
            if last == Some(head) {
                continue;
            }
            last = Some(head);
            let bytes = head.to_le_bytes();
            for length in 1..=3 {
                let bit = begin(&bytes[..length]) >> lookup.begins_shift;
                lookup.begins[(bit / 64) as usize] |= 1 << (bit % 64);
            }
            let hash = spread(head);
            let bit = hash >> lookup.shift;
            lookup.bits[(bit / 64) as usize] |= 1 << (bit % 64);
            let mut slot = lookup.slot(hash);
            while lookup.slots[slot] != u32::MAX {
                slot = (slot + 1) % lookup.slots.len();
            }
            lookup.slots[slot] = number as u32;
        }
        lookup
    }

    fn slot(&self, hash: u64) -> usize {
        (hash as usize) & (self.slots.len() - 1)
    }

    /// First value of a head.
    fn first(&self, head: u64, values: &[Value]) -> Option<usize> {
        let hash = spread(head);
        let bit = hash >> self.shift;
        if self.bits[(bit / 64) as usize] & (1 << (bit % 64)) == 0 {
            return None;
        }
        let mut slot = self.slot(hash);
        loop {
            let number = self.slots[slot];
            if number == u32::MAX {
                return None;
            }
            if values[number as usize].probe.head == head {
                return Some(number as usize);
            }
            slot = (slot + 1) % self.slots.len();
        }
    }

    /// Finds the values of the round in a text.
    pub(super) fn scan(
        &self,
        (values, round): (&[Value], &Range<usize>),
        (tokens, key): (&Tokens, &[u8; 32]),
        buffer: &mut Vec<u8>,
        mut hit: impl FnMut(Hit),
    ) {
        if round.is_empty() {
            return;
        }
        for from in 0..tokens.len() {
            let first = tokens.folded(from);
            let bit = begin(first) >> self.begins_shift;
            if self.begins[(bit / 64) as usize] & (1 << (bit % 64)) == 0 {
                continue;
            }
            let mut head = [0u8; 8];
            if let Some(bytes) = first.get(..SHORTEST) {
                head[..SHORTEST].copy_from_slice(bytes);
            } else {
                let mut length = 0;
                let mut token = from;
                while length < SHORTEST && token < tokens.len() {
                    let folded = tokens.folded(token);
                    let take = folded.len().min(SHORTEST - length);
                    head[length..length + take].copy_from_slice(&folded[..take]);
                    length += take;
                    token += 1;
                }
                if length < SHORTEST {
                    return;
                }
            }
            if let Some(number) = self.first(u64::from_le_bytes(head), values) {
                let group = group(values, number, round.end);
                follow(values, group, (tokens, from, key), buffer, &mut hit);
            }
        }
    }
}

/// Values of one head.
fn group(values: &[Value], first: usize, end: usize) -> Range<usize> {
    let head = values[first].probe.head;
    let more = values[first..end].partition_point(|v| v.probe.head == head);
    first..first + more
}

/// Walks on from a token while some value of the group is longer.
fn follow(
    values: &[Value],
    group: Range<usize>,
    (tokens, from, key): (&Tokens, usize, &[u8; 32]),
    buffer: &mut Vec<u8>,
    hit: &mut impl FnMut(Hit),
) {
    let longest = usize::from(values[group.end - 1].probe.length).min(LONGEST);
    let mut barrier = tokens.barriers.partition_point(|b| b.at as usize <= from);
    buffer.clear();
    let mut sum = SUM;
    for token in from..tokens.len() {
        if token > from {
            while tokens
                .barriers
                .get(barrier)
                .is_some_and(|b| (b.at as usize) < token)
            {
                barrier += 1;
            }
            let crossed = tokens
                .barriers
                .get(barrier)
                .is_some_and(|b| b.at as usize == token);
            if crossed || tokens.start[token].saturating_sub(tokens.end[token - 1]) > GAP {
                return;
            }
        }
        let folded = tokens.folded(token);
        if buffer.len() + folded.len() > longest {
            return;
        }
        buffer.extend_from_slice(folded);
        sum = value::add(sum, folded);
        let wanted = (buffer.len() as u16, sum);
        let asked = |v: &Value| (v.probe.length, v.probe.sum);
        let mut at = group.start + values[group.clone()].partition_point(|v| asked(v) < wanted);
        if at < group.end && asked(&values[at]) == wanted {
            let hmac = value::hmac(key, buffer);
            while at < group.end && asked(&values[at]) == wanted {
                if values[at].hmac == hmac {
                    hit(Hit {
                        value: at as u32,
                        start: tokens.start[from],
                        end: tokens.end[token],
                    });
                }
                at += 1;
            }
        }
    }
}

/// Groups judged identifiers, sorted by probe and hash, into values.
pub(super) fn values_of(judged: &[Judged]) -> Vec<Value> {
    let mut at = 0;
    judged
        .chunk_by(|a, b| a.found.hmac == b.found.hmac && a.found.probe == b.found.probe)
        .map(|same| {
            let first = at;
            at += same.len();
            Value {
                probe: same[0].found.probe,
                hmac: same[0].found.hmac,
                judged: first..at,
                to: same.iter().map(|j| j.to).max().unwrap_or(TimeMicros::MIN),
            }
        })
        .collect()
}
