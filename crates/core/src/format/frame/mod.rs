//! Splits a decoded byte stream into records: one a line, one JSON value or one CSV row each. A
//! pickle is one record as a whole.
//!
//! The framer knows nothing of what a record means. It never holds more than one record beyond the
//! block that it hands out, gives every byte that is not blank to exactly one record or reject, and
//! its result does not depend on how the reader cuts the stream.

mod block;
mod join;
mod row;
mod value;

pub use block::{Block, Broken, FrameReject, RecordSpan};
pub use join::{JoinedRows, Joiner, MAX_HELD_BYTES, RowKey};

use super::pickle;
use crate::exchange::RejectReason;
use memchr::{memchr, memmem};
use std::io::{self, BufRead};
use std::sync::Arc;
use value::{Scan, ValueScan};

/// Upper bound of block and record sizes: spans inside a block are 32 bits wide.
const MAX_BYTES: usize = 1 << 30;

/// Most bytes for which room is made before they are read.
const MAX_ROOM: usize = 8 << 20;

/// Blanks before the first record of a block that are kept until they are dropped together.
const BLANK_BYTES: usize = 1 << 16;

/// Bytes in which the first event of a stream says what it is.
const STREAM_HEAD_BYTES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// A record is a line.
    Lines,
    /// A record is a JSON object; brackets and commas around it belong to no record.
    Values,
    /// A record is a CSV row, whose quoted fields may hold line endings.
    Rows,
    /// The stream is one record: a pickle.
    Whole,
}

/// Frames one stream.
pub struct Framer<R> {
    reader: R,
    max_record: usize,
    buf: Vec<u8>,
    /// Offset of `buf[0]` in the stream.
    base: u64,
    /// First byte in `buf` that belongs to no record yet.
    pos: usize,
    /// Bytes from `pos` on that are known to hold no line ending.
    searched: usize,
    mode: Option<Mode>,
    /// Header of a stream of rows.
    header: Option<Arc<[u8]>>,
    /// Fields of that header.
    columns: usize,
    /// Up to this offset of the stream, records are lines also where the mode is another.
    lines_until: u64,
    ended: bool,
    failure: Option<io::ErrorKind>,
    reported: bool,
    framed: u64,
}

impl<R: BufRead> Framer<R> {
    /// Frames `reader`; longer records than `max_record_bytes` are refused unread.
    pub fn new(reader: R, max_record_bytes: usize) -> Framer<R> {
        Framer {
            reader,
            max_record: max_record_bytes.clamp(1, MAX_BYTES),
            buf: Vec::new(),
            base: 0,
            pos: 0,
            searched: 0,
            mode: None,
            header: None,
            columns: 0,
            lines_until: 0,
            ended: false,
            failure: None,
            reported: false,
            framed: 0,
        }
    }

    /// Records and rejects handed out so far.
    pub fn records_framed(&self) -> u64 {
        self.framed
    }

    /// The next records, about `target_bytes` of them and at least one; `None` at the end.
    pub fn next_block(&mut self, target_bytes: usize) -> Option<Block> {
        let target = target_bytes.clamp(1, MAX_BYTES);
        let mode = match self.mode {
            Some(mode) => mode,
            None => self.detect(),
        };
        let mut block = Block {
            base_offset: self.base,
            ..Block::default()
        };
        while self.pos < target || block.records.is_empty() {
            let by_line = mode == Mode::Lines || self.base + (self.pos as u64) < self.lines_until;
            let more = if by_line {
                self.step_line(&mut block)
            } else if mode == Mode::Rows {
                self.step_row(&mut block)
            } else if mode == Mode::Whole {
                self.step_whole(&mut block)
            } else {
                self.step_value(&mut block)
            };
            if !more {
                break;
            }
            if block.records.is_empty() && self.pos >= BLANK_BYTES {
                // Nothing but blanks: drop them, so that a gap of any size needs no memory.
                self.buf.drain(..self.pos);
                self.base += self.pos as u64;
                self.pos = 0;
                block.base_offset = self.base;
            }
        }
        if block.rejects.is_empty() {
            let tail = self.buf.get(self.pos..).unwrap_or_default();
            // Room for the next block at once: to grow there would copy every byte again.
            let room = if self.ended { 0 } else { target.min(MAX_ROOM) };
            let mut next = Vec::with_capacity(tail.len() + room);
            next.extend_from_slice(tail);
            self.buf.truncate(self.pos);
            self.base += self.pos as u64;
            self.pos = 0;
            block.bytes = std::mem::replace(&mut self.buf, next);
        }
        self.framed += (block.records.len() + block.rejects.len()) as u64;
        let empty = block.records.is_empty() && block.rejects.is_empty() && block.broken.is_none();
        block.header.clone_from(&self.header);
        (!empty).then_some(block)
    }

    /// Reads on; false where there is nothing more.
    fn fill(&mut self) -> bool {
        while !self.ended {
            match self.reader.fill_buf() {
                Ok([]) => self.ended = true,
                Ok(bytes) => {
                    let length = bytes.len();
                    self.buf.extend_from_slice(bytes);
                    self.reader.consume(length);
                    return true;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failure = Some(error.kind());
                    self.ended = true;
                }
            }
        }
        false
    }

    /// The byte at an index of the buffer, reading on for it.
    fn byte(&mut self, index: usize) -> Option<u8> {
        while index >= self.buf.len() {
            if !self.fill() {
                return None;
            }
        }
        self.buf.get(index).copied()
    }

    /// Index of the first byte from `index` on that is none of `blank`; looks a record far.
    fn skip(&mut self, mut index: usize, blank: &[u8]) -> usize {
        let end = index.saturating_add(self.max_record);
        while index < end && self.byte(index).is_some_and(|b| blank.contains(&b)) {
            index += 1;
        }
        index
    }

    /// Tells from the first record whether records are lines or values.
    fn detect(&mut self) -> Mode {
        self.byte(2);
        if self.buf.starts_with(b"\xef\xbb\xbf") {
            self.pos = 3;
        }
        let start = self.skip(self.pos, b" \t\r\n");
        let mode = match self.byte(start) {
            _ if pickle::is_pickle(&self.buf) => Mode::Whole,
            Some(b'[') => {
                let next = self.skip(start + 1, b" \t\r\n");
                match self.byte(next) {
                    Some(b'{') if self.begins_stream(next) => Mode::Lines,
                    Some(b'{' | b'[' | b']') => Mode::Values,
                    _ => Mode::Lines,
                }
            }
            Some(b'{') => self.detect_object(start),
            _ => self.detect_rows(start),
        };
        self.mode = Some(mode);
        mode
    }

    /// Whether an array holds the events of a streamed response: that is one record.
    fn begins_stream(&mut self, index: usize) -> bool {
        self.byte(index + STREAM_HEAD_BYTES);
        let end = self.buf.len().min(index + STREAM_HEAD_BYTES);
        let head = self.buf.get(index..end).unwrap_or_default();
        let before = index.checked_sub(1).and_then(|at| self.buf.get(at));
        before == Some(&b'[') && memmem::find(head, b"\"message_start\"").is_some()
    }

    fn detect_object(&mut self, start: usize) -> Mode {
        let mut scan = ValueScan::default();
        let found = self.scan_value(&mut scan, start);
        let several = match found {
            Scan::Done(length) if !scan.many_lines => {
                let next = self.skip(start + length, b" \t\r");
                self.byte(next) == Some(b'{')
            }
            Scan::Done(length) => self
                .buf
                .get(start..start + length)
                .is_some_and(value::is_valid),
            Scan::Broken(_) | Scan::More => scan.indented,
        };
        if several { Mode::Values } else { Mode::Lines }
    }

    /// Frames one line; false at the end of the block.
    fn step_line(&mut self, block: &mut Block) -> bool {
        loop {
            let from = self.pos + self.searched;
            let found = memchr(b'\n', self.buf.get(from..).unwrap_or_default());
            let end = found.map(|at| from + at);
            let length = end.unwrap_or(self.buf.len()) - self.pos;
            if length > self.max_record {
                self.skip_long_line(block);
                return false;
            }
            if let Some(end) = end {
                self.push(block, end, false);
                self.pos = end + 1;
                self.searched = 0;
                return true;
            }
            self.searched = length;
            if self.fill() {
                continue;
            }
            if self.failure.is_some() {
                self.report_failure(block);
            } else if length > 0 {
                let end = self.buf.len();
                self.push(block, end, true);
                self.pos = end;
                self.searched = 0;
            }
            return false;
        }
    }

    /// Frames all that is left; false at the end of the block.
    fn step_whole(&mut self, block: &mut Block) -> bool {
        while self.buf.len() - self.pos <= self.max_record {
            if self.fill() {
                continue;
            }
            if self.failure.is_some() {
                self.report_failure(block);
            } else if self.buf.len() > self.pos {
                let end = self.buf.len();
                self.push(block, end, true);
                self.pos = end;
            }
            return false;
        }
        let offset = self.close_before_long(block);
        let mut hasher = blake3::Hasher::new();
        loop {
            self.drop_hashed(self.buf.len(), &mut hasher);
            if !self.fill() {
                break;
            }
        }
        self.refuse(block, offset, &hasher);
        false
    }

    /// Frames one value, or the line of whatever else stands there; false at the end of the block.
    fn step_value(&mut self, block: &mut Block) -> bool {
        let Some(first) = self.byte(self.pos) else {
            self.report_failure(block);
            return false;
        };
        match first {
            b' ' | b'\t' | b'\r' | b'\n' | b',' | b']' => {
                self.pos += 1;
                true
            }
            b'[' => {
                let next = self.skip(self.pos + 1, b" \t\r\n");
                match self.byte(next) {
                    // The line is one record.
                    Some(b'{') if self.begins_stream(next) => {
                        self.lines_until = self.base + self.pos as u64 + 1;
                    }
                    Some(b'{' | b'[' | b']') | None => self.pos += 1,
                    // A line prefix, not an array: frame to the end of the line.
                    Some(_) => self.lines_until = self.base + self.pos as u64 + 1,
                }
                true
            }
            b'{' => self.step_object(block),
            _ => {
                self.lines_until = self.base + self.pos as u64 + 1;
                true
            }
        }
    }

    fn step_object(&mut self, block: &mut Block) -> bool {
        let mut scan = ValueScan::default();
        let found = self.scan_value(&mut scan, self.pos);
        let (length, at_end) = match found {
            Scan::Done(length) => (length, false),
            Scan::Broken(length) => (length, false),
            Scan::More if self.buf.len() - self.pos > self.max_record => {
                if scan.starts_inside {
                    self.lines_until = self.base + (self.pos + self.max_record) as u64;
                    return true;
                }
                self.skip_long_value(block);
                return false;
            }
            Scan::More if self.failure.is_some() => {
                self.report_failure(block);
                return false;
            }
            Scan::More => (self.buf.len() - self.pos, true),
        };
        let end = self.pos + length;
        let complete = matches!(found, Scan::Done(_));
        let whole = self.buf.get(self.pos..end).unwrap_or_default();
        if scan.starts_inside && !(complete && value::is_valid(whole)) {
            // One damaged value must not take the good ones with it.
            self.lines_until = self.base + end as u64;
            return true;
        }
        let unterminated = at_end || (complete && self.byte(end).is_none());
        self.push(block, end, unterminated);
        self.pos = end;
        true
    }

    /// Scans the value at `start`, at most one byte more than a record may have.
    fn scan_value(&mut self, scan: &mut ValueScan, start: usize) -> Scan {
        let limit = start + self.max_record + 1;
        loop {
            let end = self.buf.len().min(limit);
            let window = self.buf.get(start..end).unwrap_or_default();
            let last = self.ended && self.failure.is_none();
            match scan.run(window, last && end == self.buf.len()) {
                Scan::Done(length) | Scan::Broken(length) if length > self.max_record => {
                    return Scan::More;
                }
                Scan::More => {}
                found => return found,
            }
            if end == limit || !self.fill() {
                // The end of the stream is news of its own: what waited for more is decided now.
                if end < limit && !last && self.failure.is_none() {
                    continue;
                }
                return Scan::More;
            }
        }
    }

    fn push(&self, block: &mut Block, end: usize, unterminated: bool) {
        let mut line = self.buf.get(self.pos..end).unwrap_or_default();
        if let Some(rest) = line.strip_suffix(b"\r") {
            line = rest;
        }
        if !line.iter().all(u8::is_ascii_whitespace) {
            block.records.push(RecordSpan {
                start: self.pos as u32,
                len: line.len() as u32,
                unterminated,
            });
        }
    }

    fn report_failure(&mut self, block: &mut Block) {
        let Some(kind) = self.failure else { return };
        if self.reported {
            return;
        }
        self.reported = true;
        let rest = self.buf.get(self.pos..).unwrap_or_default();
        block.broken = Some(Broken {
            offset: self.base + self.pos as u64,
            length: rest.len() as u64,
            digest: *blake3::hash(rest).as_bytes(),
            kind,
        });
        self.buf.truncate(self.pos);
    }

    /// Closes the block before the record that is too long, and gives its first bytes.
    fn close_before_long(&mut self, block: &mut Block) -> u64 {
        let rest = self.buf.split_off(self.pos);
        block.bytes = std::mem::replace(&mut self.buf, rest);
        self.base += self.pos as u64;
        self.pos = 0;
        self.searched = 0;
        self.base
    }

    fn drop_hashed(&mut self, length: usize, hasher: &mut blake3::Hasher) {
        hasher.update(self.buf.get(..length).unwrap_or_default());
        self.buf.drain(..length);
        self.base += length as u64;
    }

    fn skip_long_line(&mut self, block: &mut Block) {
        let offset = self.close_before_long(block);
        let mut hasher = blake3::Hasher::new();
        loop {
            let end = memchr(b'\n', &self.buf);
            self.drop_hashed(end.unwrap_or(self.buf.len()), &mut hasher);
            if end.is_some() || !self.fill() {
                break;
            }
        }
        self.refuse(block, offset, &hasher);
    }

    fn skip_long_value(&mut self, block: &mut Block) {
        let mut scan = ValueScan::default();
        let offset = self.close_before_long(block);
        let mut hasher = blake3::Hasher::new();
        loop {
            let last = self.ended && self.failure.is_none();
            let found = scan.run(&self.buf, last);
            if let Scan::Done(length) | Scan::Broken(length) = found {
                self.drop_hashed(length, &mut hasher);
                break;
            }
            let seen = scan.at.min(self.buf.len());
            self.drop_hashed(seen, &mut hasher);
            scan.at -= seen;
            if !self.fill() && (last || self.failure.is_some()) {
                let rest = self.buf.len();
                self.drop_hashed(rest, &mut hasher);
                break;
            }
        }
        self.refuse(block, offset, &hasher);
    }

    fn refuse(&self, block: &mut Block, offset: u64, hasher: &blake3::Hasher) {
        block.rejects.push(FrameReject {
            offset,
            length: self.base - offset,
            digest: *hasher.finalize().as_bytes(),
            reason: RejectReason::TooLong,
        });
    }
}

#[cfg(test)]
mod tests;
