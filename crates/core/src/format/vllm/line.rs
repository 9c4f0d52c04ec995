//! One line of the text log: prefix, time without a year, message.
//!
//! `(APIServer pid=71) INFO 09-11 08:30:05 [request_logger.py:66] …`; older ones begin with the
//! level, the oldest lack the opening bracket. Container runtimes put a full time in front, and
//! that one has year and zone.

use crate::exchange::{RejectReason, TimeZoneSource};
use crate::format::{DecodeContext, time};

const LEVELS: [&str; 5] = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];

/// Bytes of a line in which the message must begin.
const MAX_PREFIX: usize = 400;

/// A line of the log.
pub(super) struct Line<'a> {
    /// A full time of the container runtime.
    full: Option<&'a str>,
    yearless: Yearless,
    /// What stands behind the prefix.
    pub message: &'a str,
}

impl<'a> Line<'a> {
    /// Reads a line; `None` where it lacks the prefix.
    pub fn read(line: &'a str) -> Option<Line<'a>> {
        let (full, rest) = runtime_prefix(line.trim_start());
        let rest = skip_process(skip_colour(rest));
        let level = LEVELS.into_iter().find(|level| rest.starts_with(level))?;
        let rest = skip_colour(rest.get(level.len()..)?.strip_prefix(' ')?);
        let (yearless, rest) = Yearless::read(rest)?;
        let (place, _) = rest.split_at(floor(rest, MAX_PREFIX));
        // `[v1/engine/core.py:77] ` or `__init__.py:190] `
        let close = place.find("] ")?;
        let file = place.get(..close)?;
        let (name, number) = file.rsplit_once(':')?;
        let numbered = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        let message = skip_colour(rest.get(close + 2..)?);
        (numbered && name.ends_with(".py")).then_some(Line {
            full,
            yearless,
            message,
        })
    }

    /// The month, where the year has to be declared.
    pub fn month(&self) -> Option<u8> {
        self.yearless.month().filter(|_| self.full.is_none())
    }

    /// The time of the line.
    pub fn time(&self, context: &DecodeContext<'_>) -> Result<time::ReadTime, RejectReason> {
        match self.full {
            Some(full) => time::read_text(full, None),
            None => self.yearless.resolve(context),
        }
    }
}

/// Whether the line is one of the web server's, which share the stream and have no time.
pub(super) fn is_access(line: &str) -> bool {
    let (_, rest) = runtime_prefix(line.trim_start());
    let rest = skip_process(skip_colour(rest));
    LEVELS.iter().any(|level| {
        rest.strip_prefix(level)
            .is_some_and(|r| skip_colour(r).starts_with(":  "))
    })
}

fn floor(text: &str, most: usize) -> usize {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// The time that `kubectl logs --timestamps` or the container runtime writes, and the rest.
fn runtime_prefix(line: &str) -> (Option<&str>, &str) {
    let Some((stamp, rest)) = line.split_once(' ') else {
        return (None, line);
    };
    let dated = stamp.len() >= 20 && stamp.as_bytes().get(10) == Some(&b'T');
    if !dated || !stamp.is_ascii() || stamp.parse::<jiff::Timestamp>().is_err() {
        return (None, line);
    }
    let streams = ["stdout F ", "stderr F ", "stdout P ", "stderr P "];
    let rest = streams
        .into_iter()
        .find_map(|stream| rest.strip_prefix(stream))
        .unwrap_or(rest);
    (Some(stamp), rest)
}

/// Steps over `(name pid=7) `.
fn skip_process(line: &str) -> &str {
    let inside = line.strip_prefix('(').and_then(|rest| {
        let close = rest.get(..floor(rest, MAX_PREFIX))?.find(')')?;
        rest.get(..close)?.contains("pid=").then_some(())?;
        rest.get(close + 1..)
    });
    inside.map_or(line, |rest| skip_colour(rest).trim_start())
}

/// Steps over terminal colours and blanks.
fn skip_colour(mut line: &str) -> &str {
    loop {
        line = line.trim_start_matches(' ');
        let Some(rest) = line.strip_prefix("\u{1b}[") else {
            return line;
        };
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        match digits.strip_prefix('m') {
            Some(rest) => line = rest,
            None => return line,
        }
    }
}

/// `MM-DD HH:MM:SS`, with or without a fraction.
pub(super) struct Yearless {
    month: u8,
    text: String,
}

impl Yearless {
    /// Reads it from the start of a text; gives the rest behind blanks and the opening bracket.
    pub fn read(text: &str) -> Option<(Yearless, &str)> {
        let head = text.get(..14)?;
        let shaped = head.bytes().enumerate().all(|(at, byte)| match at {
            2 => byte == b'-',
            5 => byte == b' ',
            8 | 11 => byte == b':',
            _ => byte.is_ascii_digit(),
        });
        if !shaped {
            return None;
        }
        let rest = text.get(14..)?;
        let digits = |rest: &str| rest.bytes().take_while(u8::is_ascii_digit).count();
        let fraction = rest
            .strip_prefix(['.', ','])
            .map_or("", |r| r.get(..digits(r).min(9)).unwrap_or_default());
        let skipped = if fraction.is_empty() {
            0
        } else {
            fraction.len() + 1
        };
        let rest = rest.get(skipped..)?.trim_start_matches(' ');
        let mut stamp = head.replacen(' ', "T", 1);
        if !fraction.is_empty() {
            stamp.push('.');
            stamp.push_str(fraction);
        }
        let month = head.get(..2)?.parse().ok()?;
        let yearless = Yearless { month, text: stamp };
        Some((yearless, rest.strip_prefix('[').unwrap_or(rest)))
    }

    /// The month.
    pub fn month(&self) -> Option<u8> {
        (1..=12).contains(&self.month).then_some(self.month)
    }

    /// The time in the declared year and zone.
    pub fn resolve(&self, context: &DecodeContext<'_>) -> Result<time::ReadTime, RejectReason> {
        let named = || year_of_name(context.source_name, self.month);
        let Some(year) = time::declared_year(context, self.month).or_else(named) else {
            return Ok((None, TimeZoneSource::Unknown));
        };
        time::read_text(&format!("{year:04}-{}", self.text), context.zone)
    }
}

/// The year of a date in the file name: of the one nearest to the month of the line, since a file
/// may begin in December and be named in January.
fn year_of_name(name: &str, month: u8) -> Option<i16> {
    let bytes = name.as_bytes();
    let number = |digits: Option<&[u8]>| -> Option<i16> {
        let digits = digits?;
        let all = digits.iter().all(u8::is_ascii_digit);
        all.then(|| String::from_utf8_lossy(digits).parse().ok())?
    };
    for at in 0..bytes.len() {
        let fresh = at == 0 || !bytes[at - 1].is_ascii_digit();
        let Some(year @ 2000..=2100) = number(bytes.get(at..at + 4)).filter(|_| fresh) else {
            continue;
        };
        let dash = usize::from(matches!(bytes.get(at + 4), Some(b'-' | b'_' | b'.')));
        let of_name = number(bytes.get(at + 4 + dash..at + 6 + dash));
        let Some(of_name @ 1..=12) = of_name else {
            continue;
        };
        return Some(match i16::from(month) - of_name {
            7.. => year - 1,
            ..=-7 => year + 1,
            _ => year,
        });
    }
    None
}
