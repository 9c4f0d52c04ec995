//! Rows that only together tell of one call, put together to one record.
//!
//! Some logs write a call as several records, in any order and between those of other calls. A
//! [`Joiner`] holds such rows back until the stream ends or they weigh too much, and gives them out
//! as one JSON array in a fixed order: the record is the same however the rows were mixed. What
//! belongs to no call passes through untouched.

use super::{Block, RecordSpan};
use crate::format::{DecodeContext, LogFormat};
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// Bytes of rows that a source may hold back. A call's rows lie close together in every export, so
/// that only a hostile source comes near; the number is fixed because results must not depend on
/// the memory at hand.
pub const MAX_HELD_BYTES: usize = 128 << 20;

/// Bytes that are charged for holding a row, beside its own.
const ROW_BYTES: usize = 64;

/// To which call a row belongs, and where it stands among its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowKey {
    /// Hash of the call's id.
    pub call: u128,
    /// Its place.
    pub place: i64,
}

/// The rows of the stream that one record was put together from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinedRows {
    /// Offset and length of each, in the order in which the record holds them: each behind one
    /// byte. Equal ones are named once.
    pub rows: Vec<(u64, u32)>,
    /// Rows left out because they are equal to one of these.
    pub repeats: u32,
}

impl JoinedRows {
    /// Offset and length of the row that stands first in the stream.
    pub fn first(&self) -> Option<(u64, u32)> {
        self.rows.iter().copied().min()
    }

    /// The rows with their bytes in the record.
    pub fn bytes_of<'a>(&'a self, record: &'a [u8]) -> impl Iterator<Item = (u64, &'a [u8])> + 'a {
        let mut start = 0;
        self.rows.iter().map(move |&(offset, length)| {
            let from = start + 1;
            start = from + length as usize;
            (offset, record.get(from..start).unwrap_or_default())
        })
    }
}

struct Row {
    place: i64,
    bytes: Vec<u8>,
    offset: u64,
}

#[derive(Default)]
struct Call {
    first: u64,
    weight: usize,
    rows: Vec<Row>,
}

/// Holds rows of one source back; see the module.
#[derive(Default)]
pub struct Joiner {
    calls: HashMap<u128, Call>,
    /// Calls by the offset of their first row.
    order: BTreeMap<u64, u128>,
    held: usize,
    limit: usize,
}

impl Joiner {
    /// A joiner that holds at most about `limit` bytes.
    pub fn new(limit: usize) -> Joiner {
        Joiner {
            limit,
            ..Joiner::default()
        }
    }

    /// Takes a block and gives out what passes: first calls that had to leave, then the block
    /// without the rows that were taken.
    pub fn take(
        &mut self,
        mut block: Block,
        format: &dyn LogFormat,
        context: &DecodeContext<'_>,
    ) -> Vec<Block> {
        let mut out = Vec::new();
        let mut rest = Vec::with_capacity(block.records.len());
        for span in std::mem::take(&mut block.records) {
            let record = block.record(&span);
            match format.row_key(record, context) {
                Some(key) => self.hold(key, record.to_vec(), block.offset(&span)),
                None => rest.push(span),
            }
            while self.held > self.limit {
                out.extend(self.next_block(1));
            }
        }
        block.records = rest;
        let silent = block.records.is_empty() && block.rejects.is_empty();
        if !silent || block.broken.is_some() {
            out.push(block);
        }
        out
    }

    fn hold(&mut self, key: RowKey, bytes: Vec<u8>, offset: u64) {
        let weight = bytes.len() + ROW_BYTES;
        let call = self.calls.entry(key.call).or_default();
        if call.rows.is_empty() {
            call.first = offset;
            self.order.insert(offset, key.call);
        }
        call.weight += weight;
        self.held += weight;
        let place = key.place;
        call.rows.push(Row {
            place,
            bytes,
            offset,
        });
    }

    /// Calls that are held, those with the earliest first rows before others: about
    /// `target_bytes` of them and at least one; `None` where none is left.
    pub fn next_block(&mut self, target_bytes: usize) -> Option<Block> {
        let mut block = Block::default();
        while block.bytes.len() < target_bytes {
            let Some((_, key)) = self.order.pop_first() else {
                break;
            };
            let Some(call) = self.calls.remove(&key) else {
                break;
            };
            self.held -= call.weight;
            push(call, &mut block);
        }
        (!block.records.is_empty()).then_some(block)
    }
}

fn push(mut call: Call, block: &mut Block) {
    call.rows
        .sort_by(|a, b| (a.place, &a.bytes, a.offset).cmp(&(b.place, &b.bytes, b.offset)));
    let before = call.rows.len();
    call.rows
        .dedup_by(|later, kept| later.bytes == kept.bytes && later.place == kept.place);
    let start = block.bytes.len();
    let mut joined = JoinedRows {
        rows: Vec::with_capacity(call.rows.len()),
        repeats: (before - call.rows.len()) as u32,
    };
    for (number, row) in call.rows.iter().enumerate() {
        block.bytes.push(if number == 0 { b'[' } else { b',' });
        block.bytes.extend_from_slice(&row.bytes);
        joined.rows.push((row.offset, row.bytes.len() as u32));
    }
    block.bytes.push(b']');
    block.records.push(RecordSpan {
        start: start as u32,
        len: (block.bytes.len() - start) as u32,
        unterminated: false,
    });
    block.joined.push(joined);
}

#[cfg(test)]
mod tests {
    use super::super::Framer;
    use super::*;
    use crate::exchange::{Exchange, RecordKind, RejectReason};
    use proptest::prelude::*;

    /// Rows such as `3 2 text`: call, place, anything.
    struct Numbered;

    impl LogFormat for Numbered {
        fn name(&self) -> &'static str {
            "numbered"
        }

        fn sniff(&self, _record: &[u8]) -> u8 {
            0
        }

        fn decode(
            &self,
            _record: &[u8],
            _context: &DecodeContext<'_>,
            _out: &mut Vec<Exchange>,
        ) -> Result<RecordKind, RejectReason> {
            Ok(RecordKind::Other)
        }

        fn row_key(&self, record: &[u8], _context: &DecodeContext<'_>) -> Option<RowKey> {
            let mut words = std::str::from_utf8(record).ok()?.split(' ');
            let call = words.next()?.parse().ok()?;
            let place = words.next()?.parse().ok()?;
            Some(RowKey { call, place })
        }
    }

    /// Records with their rows' bytes, and how many rows of the stream they and rejects stand for.
    fn joined(lines: &[String], limit: usize, target: usize) -> (Vec<String>, usize) {
        let text = lines.join("\n");
        let mut framer = Framer::new(text.as_bytes(), 1 << 20);
        let mut joiner = Joiner::new(limit);
        let (mut records, mut rows) = (Vec::new(), 0);
        let mut see = |block: &Block| {
            for span in &block.records {
                let shown = String::from_utf8(block.record(span).to_vec()).expect("text");
                if let Some(joined) = block.joined_rows(span) {
                    rows += joined.rows.len() + joined.repeats as usize;
                    assert_eq!(Some(block.offset(span)), joined.first().map(|row| row.0));
                    for (offset, row) in joined.bytes_of(block.record(span)) {
                        assert!(text.as_bytes()[offset as usize..].starts_with(row));
                        assert!(!row.is_empty());
                    }
                } else {
                    rows += 1;
                }
                records.push(shown);
            }
        };
        while let Some(block) = framer.next_block(target) {
            for block in joiner.take(block, &Numbered, &DecodeContext::default()) {
                see(&block);
            }
        }
        while let Some(block) = joiner.next_block(target) {
            see(&block);
        }
        (records, rows)
    }

    fn lines(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|t| (*t).to_owned()).collect()
    }

    #[test]
    fn rows_meet_whatever_stands_between() {
        let rows = lines(&["7 2 c", "x", "8 0 a", "7 1 b", "7 2 c", "8 0 a2"]);
        let (records, count) = joined(&rows, 1 << 20, 1);
        assert_eq!(records, ["x", "[7 1 b,7 2 c]", "[8 0 a,8 0 a2]"]);
        assert_eq!(count, rows.len());
    }

    #[test]
    fn what_weighs_too_much_leaves_early() {
        let rows = lines(&["1 0 a", "2 0 b", "2 1 c", "1 1 d"]);
        let (records, count) = joined(&rows, 2 * (ROW_BYTES + 5), 1 << 20);
        assert_eq!(records, ["[1 0 a]", "[2 0 b,2 1 c]", "[1 1 d]"]);
        assert_eq!(count, rows.len());
    }

    proptest! {
        #[test]
        fn order_and_blocks_do_not_matter(
            rows in prop::collection::vec(("[0-3] [0-4] [ab]", any::<u32>()), 0..24),
            target in 1usize..40,
        ) {
            let plain: Vec<String> = rows.iter().map(|(row, _)| row.clone()).collect();
            let mut mixed = rows;
            mixed.sort_by_key(|(_, rank)| *rank);
            let mixed: Vec<String> = mixed.into_iter().map(|(row, _)| row).collect();
            let (mut one, count) = joined(&plain, 1 << 20, 1 << 20);
            let (mut other, other_count) = joined(&mixed, 1 << 20, target);
            one.sort();
            other.sort();
            prop_assert_eq!(one, other);
            prop_assert_eq!((count, other_count), (plain.len(), plain.len()));
        }

        #[test]
        fn nothing_is_lost_in_little_room(
            rows in prop::collection::vec("([0-3] [0-4] [ab]|junk)", 0..24),
            limit in 0usize..400,
            target in 1usize..40,
        ) {
            let (mut one, count) = joined(&rows, limit, target);
            prop_assert_eq!(count, rows.len());
            // Which rows meet depends on the stream only; where they stand among others, on blocks.
            let (mut other, _) = joined(&rows, limit, 1 << 20);
            one.sort();
            other.sort();
            prop_assert_eq!(one, other);
        }
    }
}
