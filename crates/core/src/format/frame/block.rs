//! What a framer hands out: records and rejects with their places in the stream.

use super::join::JoinedRows;
use crate::exchange::RejectReason;
use std::io;
use std::sync::Arc;

/// Where a record stands in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordSpan {
    /// First byte in [`Block::bytes`].
    pub start: u32,
    /// Length in bytes, line ending excluded.
    pub len: u32,
    /// The stream ended inside or right behind the record, without a line ending.
    pub unterminated: bool,
}

impl RecordSpan {
    /// The reason to store for a record that could not be decoded: what fails to parse at an end
    /// without a line ending was cut.
    pub fn reason(&self, decoded: RejectReason) -> RejectReason {
        match decoded {
            RejectReason::InvalidJson | RejectReason::InvalidUtf8 if self.unterminated => {
                RejectReason::Truncated
            }
            other => other,
        }
    }
}

/// Bytes that the framer itself refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameReject {
    /// Offset in the decoded stream.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
    /// BLAKE3 of the bytes.
    pub digest: [u8; 32],
    /// Why.
    pub reason: RejectReason,
}

/// The reader failed: nothing behind this place could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Offset in the decoded stream where the last, incomplete record begins.
    pub offset: u64,
    /// Bytes of it that could still be read.
    pub length: u64,
    /// BLAKE3 of those bytes.
    pub digest: [u8; 32],
    /// What the reader said.
    pub kind: io::ErrorKind,
}

/// Consecutive records and the bytes that hold them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Offset of `bytes` in the decoded stream.
    pub base_offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Header of a stream of CSV rows, in every one of its blocks.
    pub header: Option<Arc<[u8]>>,
    /// The records, in order.
    pub records: Vec<RecordSpan>,
    /// What the framer refused, behind all records of the block.
    pub rejects: Vec<FrameReject>,
    /// Set in the last block of a stream that could not be read to its end.
    pub broken: Option<Broken>,
    /// Where the records were put together from rows: those of each record. Else empty.
    pub joined: Vec<JoinedRows>,
}

impl Block {
    /// The bytes of a record of this block; empty for a span of another one.
    pub fn record(&self, span: &RecordSpan) -> &[u8] {
        let start = span.start as usize;
        self.bytes
            .get(start..start + span.len as usize)
            .unwrap_or_default()
    }

    /// Offset of a record in the decoded stream; of one put together from rows, that of its first.
    pub fn offset(&self, span: &RecordSpan) -> u64 {
        let first = self.joined_rows(span).and_then(JoinedRows::first);
        first.map_or(self.base_offset + u64::from(span.start), |row| row.0)
    }

    /// The rows that a record was put together from; `None` for an ordinary one.
    pub fn joined_rows(&self, span: &RecordSpan) -> Option<&JoinedRows> {
        if self.joined.is_empty() {
            return None;
        }
        let at = self.records.binary_search_by_key(&span.start, |s| s.start);
        self.joined.get(at.ok()?)
    }
}
