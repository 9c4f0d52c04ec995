//! Finds the end of a CSV row, whose quoted fields may hold line endings (RFC 4180).

use super::value::Scan;
use super::{Block, Framer, Mode};
use crate::format::csv;
use memchr::{memchr, memchr2, memrchr};
use std::io::BufRead;

/// A header is no longer than this.
const MAX_HEADER: usize = 8 << 10;

/// With fewer names a first line may be prose.
const MIN_COLUMNS: usize = 3;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    FieldStart,
    Plain,
    Quoted,
    /// Behind a quote that ends the field, unless another follows.
    Closed,
}

/// State of a scan; the same whatever the pieces in which the bytes come.
#[derive(Default)]
struct RowScan {
    at: usize,
    state: State,
    fields: usize,
    /// A line ending stands inside the row.
    many_lines: bool,
}

impl RowScan {
    /// Looks at `bytes`, the row from its start on; `last` where no more will come.
    fn run(&mut self, bytes: &[u8], last: bool) -> Scan {
        while let Some(byte) = bytes.get(self.at) {
            let rest = bytes.get(self.at..).unwrap_or_default();
            let skip = match self.state {
                State::FieldStart => {
                    self.fields += 1;
                    let quoted = *byte == b'"';
                    self.state = if quoted { State::Quoted } else { State::Plain };
                    usize::from(quoted)
                }
                State::Plain => match memchr2(b',', b'\n', rest) {
                    Some(found) if rest[found] == b',' => {
                        self.state = State::FieldStart;
                        found + 1
                    }
                    Some(found) => {
                        self.at += found;
                        return Scan::Done(self.at);
                    }
                    None => rest.len(),
                },
                State::Quoted => match memchr2(b'"', b'\n', rest) {
                    Some(found) if rest[found] == b'"' => {
                        self.state = State::Closed;
                        found + 1
                    }
                    Some(found) => {
                        self.many_lines = true;
                        found + 1
                    }
                    None => rest.len(),
                },
                State::Closed => {
                    match (byte, rest.get(1)) {
                        (b'"', _) => self.state = State::Quoted,
                        (b',', _) => self.state = State::FieldStart,
                        (b'\n', _) => return Scan::Done(self.at),
                        (b'\r', None) if !last => return Scan::More,
                        (b'\r', None | Some(b'\n')) => {}
                        _ => return Scan::Broken(self.at),
                    }
                    1
                }
            };
            self.at += skip;
        }
        match (last, self.state) {
            (false, _) => Scan::More,
            (true, State::Quoted) => Scan::Broken(self.at),
            (true, _) => Scan::Done(self.at),
        }
    }
}

impl<R: BufRead> Framer<R> {
    /// Tells by the first line whether the records are rows under a header.
    pub(super) fn detect_rows(&mut self, start: usize) -> Mode {
        let mut seen = 0;
        let end = loop {
            let window = self.buf.get(start..).unwrap_or_default();
            let window = window.get(..MAX_HEADER).unwrap_or(window);
            if let Some(end) = memchr(b'\n', window) {
                break end;
            }
            if window.len() == MAX_HEADER || (window.len() == seen && self.ended) {
                break window.len();
            }
            seen = window.len();
            if !self.fill() {
                break seen;
            }
        };
        let line = self.buf.get(start..start + end).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Some(columns) = columns_of(line) else {
            return Mode::Lines;
        };
        self.header = Some(line.into());
        self.columns = columns;
        Mode::Rows
    }

    /// Frames one row; false at the end of the block.
    pub(super) fn step_row(&mut self, block: &mut Block) -> bool {
        let Some(length) = self.scan_row() else {
            return self.step_line(block);
        };
        let end = self.pos + length;
        let unterminated = self.byte(end).is_none();
        self.push(block, end, unterminated);
        self.pos = self.buf.len().min(end + 1);
        self.searched = 0;
        true
    }

    /// Length of the next row where it has several lines; nothing where it is a line, or damaged.
    fn scan_row(&mut self) -> Option<usize> {
        let mut scan = RowScan::default();
        loop {
            let window = self.buf.get(self.pos..).unwrap_or_default();
            let most = self.max_record.saturating_add(1);
            let window = window.get(..most).unwrap_or(window);
            let last = self.ended && self.failure.is_none();
            let (length, whole) = match scan.run(window, last && window.len() < most) {
                Scan::Done(length) => (length, scan.fields == self.columns),
                Scan::Broken(length) => (length, false),
                Scan::More if window.len() == most => (window.len(), false),
                Scan::More => {
                    // The end of the stream is news of its own: it decides what is open.
                    if self.fill() || (self.ended && !last && self.failure.is_none()) {
                        continue;
                    }
                    return None;
                }
            };
            if !scan.many_lines {
                return None;
            }
            if !whole || length > self.max_record {
                // A lone quote must not take the good rows behind it with it: what it ran into may
                // begin one.
                let lines = memrchr(b'\n', window.get(..length).unwrap_or(window));
                self.lines_until = self.base + (self.pos + lines.unwrap_or(length)) as u64;
                return None;
            }
            return Some(length);
        }
    }
}

/// How many columns a header has; nothing where the line is none.
fn columns_of(line: &[u8]) -> Option<usize> {
    let names = csv::fields(std::str::from_utf8(line).ok()?)?;
    let name = |name: &str| {
        let name = name.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || "_ .-/()#".contains(c);
        name.len() <= 64
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(plain)
    };
    let mut sorted: Vec<&str> = names.iter().map(|n| n.trim()).collect();
    sorted.sort_unstable();
    let distinct = sorted.windows(2).all(|pair| pair[0] != pair[1]);
    let header = names.len() >= MIN_COLUMNS && distinct && names.iter().all(|n| name(n));
    header.then_some(names.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(bytes: &str) -> Vec<String> {
        let mut framer = Framer::new(bytes.as_bytes(), 1 << 20);
        let Some(block) = framer.next_block(1 << 20) else {
            return Vec::new();
        };
        let text = |span| String::from_utf8_lossy(block.record(span)).into_owned();
        block.records.iter().map(text).collect()
    }

    #[test]
    fn table() {
        let head = "id,prompt,answer\r\n";
        for (body, expected) in [
            ("1,a,b\r\n2,c,d", vec!["1,a,b", "2,c,d"]),
            (
                "1,\"two\nlines\",b\n2,c,d\n",
                vec!["1,\"two\nlines\",b", "2,c,d"],
            ),
            ("1,\"a \"\"b\"\"\n\",b\r\n", vec!["1,\"a \"\"b\"\"\n\",b"]),
            ("1,\"end\n\"", vec!["1,\"end", "\""]),
            ("1,x,\"end\n\"", vec!["1,x,\"end\n\""]),
            // A lone quote costs its row only.
            (
                "1,\"lone,b\n2,c,d\n3,\"e\",f\n4,g,h\n",
                vec!["1,\"lone,b", "2,c,d", "3,\"e\",f", "4,g,h"],
            ),
            ("1,\"lone,b\n2,c,d\n", vec!["1,\"lone,b", "2,c,d"]),
            (
                "1,\"lone,b\n2,\"two\nlines\",d\n",
                vec!["1,\"lone,b", "2,\"two\nlines\",d"],
            ),
            ("\n\n1,a,b\n", vec!["1,a,b"]),
        ] {
            let found = rows(&format!("{head}{body}"));
            assert_eq!(found[1..], expected, "{body}");
        }
    }

    #[test]
    fn headers() {
        for (line, columns) in [
            ("TIMESTAMP,ContextTokens,GeneratedTokens", Some(3)),
            ("\"id\",\"user id\",model", Some(3)),
            ("Hello, world", None),
            ("INFO 09-11 08:30:05 [a.py:1] a, b, c", None),
            ("a,a,b", None),
            ("1,2,3", None),
            ("a,b,", None),
        ] {
            assert_eq!(columns_of(line.as_bytes()), columns, "{line}");
        }
    }
}
