//! Finds the end of one JSON object in a stream without parsing it.

use memchr::memchr3;

/// What a scan found; lengths count from the start of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scan {
    /// The value ends after so many bytes.
    Done(usize),
    /// No value: it stops making sense after so many bytes, at a line ending.
    Broken(usize),
    /// More bytes are needed.
    More,
}

/// State of a scan; the same whatever the pieces in which the bytes come.
#[derive(Default)]
pub(super) struct ValueScan {
    /// Next byte to look at.
    pub at: usize,
    depth: usize,
    in_string: bool,
    last_solid: u8,
    /// A line ending stands inside the value.
    pub many_lines: bool,
    /// The line behind the first one looks like the inside of a pretty-printed value.
    pub indented: bool,
    /// A line inside the value begins as a record does.
    pub starts_inside: bool,
}

impl ValueScan {
    /// Looks at `bytes`, the value from its start on; `last` where no more will come.
    pub fn run(&mut self, bytes: &[u8], last: bool) -> Scan {
        while self.at < bytes.len() {
            if self.in_string {
                if let Some(found) = self.run_string(bytes) {
                    return found;
                }
                continue;
            }
            let byte = bytes[self.at];
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.at += 1;
                        return Scan::Done(self.at);
                    }
                }
                b'\n' => {
                    let next = bytes.get(self.at + 1..).unwrap_or_default();
                    if next.len() < LINE_HEAD && !last {
                        return Scan::More;
                    }
                    if !self.line(next) {
                        return Scan::Broken(self.at);
                    }
                }
                _ => {}
            }
            if !byte.is_ascii_whitespace() {
                self.last_solid = byte;
            }
            self.at += 1;
        }
        Scan::More
    }

    fn run_string(&mut self, bytes: &[u8]) -> Option<Scan> {
        let rest = bytes.get(self.at..).unwrap_or_default();
        let Some(found) = memchr3(b'"', b'\\', b'\n', rest) else {
            self.at = bytes.len();
            return Some(Scan::More);
        };
        self.at += found;
        match bytes[self.at] {
            b'"' => {
                self.in_string = false;
                self.last_solid = b'"';
                self.at += 1;
            }
            b'\\' => match bytes.get(self.at + 1) {
                Some(b'\n') => self.at += 1,
                Some(_) => self.at += 2,
                None => return Some(Scan::More),
            },
            _ => return Some(Scan::Broken(self.at)),
        }
        None
    }

    /// Takes a line ending with what follows it; false where the value cannot go on there.
    fn line(&mut self, next: &[u8]) -> bool {
        if !may_go_on(next) {
            return false;
        }
        if !self.many_lines {
            self.many_lines = true;
            self.indented = matches!(next.first(), Some(b' ' | b'\t' | b'"' | b'}' | b']'));
        }
        let starts = match next {
            [b'{', ..] => true,
            [b'[', second, ..] => second.is_ascii_digit(),
            _ => false,
        };
        self.starts_inside |= starts;
        // Only behind these may another value begin.
        !starts || matches!(self.last_solid, b',' | b'[' | b':')
    }
}

/// Bytes of a line that [`may_go_on`] looks at.
const LINE_HEAD: usize = 5;

/// Whether a line may begin like this outside of a string: words and dates are lines of a log.
fn may_go_on(next: &[u8]) -> bool {
    match next {
        [a, b, c, d, b'-', ..] if [a, b, c, d].iter().all(|x| x.is_ascii_digit()) => false,
        [first, ..] => {
            first.is_ascii_whitespace() || first.is_ascii_digit() || b"\"{}[],:-tfn".contains(first)
        }
        [] => true,
    }
}

/// Whether the bytes are one JSON value.
pub(super) fn is_valid(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}
