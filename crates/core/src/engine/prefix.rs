//! The start of an engine's line: time, process, ranks; and what the name of its file tells.

use crate::exchange::{Role, TimeMicros, TimeZoneSource};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::borrow::Cow;

/// Whose prefix a line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `[2026-09-11 08:30:05 DP0 TP0] `.
    Sglang,
    /// `(EngineCore pid=7) INFO 09-11 08:30:05 [file.py:7] `.
    Vllm,
    /// None.
    Bare,
}

/// A line in its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    pub dialect: Dialect,
    /// Time with its year, without a zone.
    pub stamp: Option<&'a str>,
    /// Ranks.
    pub rank: Option<&'a str>,
    /// The message.
    pub rest: &'a str,
}

/// Longest prefix looked at: date, time and a few rank names.
const MAX_PREFIX: usize = 200;

/// A terminal's colours are no part of a line.
pub(super) fn without_colours(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        let end = tail.strip_prefix('[').and_then(|codes| {
            let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';')?;
            codes[end..].starts_with('m').then_some(end + 2)
        });
        rest = &tail[end.unwrap_or(0)..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Splits a line behind its prefix.
pub(super) fn split(line: &str) -> Parts<'_> {
    let line = line.trim_ascii();
    sglang(line).or_else(|| vllm(line)).unwrap_or(Parts {
        dialect: Dialect::Bare,
        stamp: None,
        rank: None,
        rest: line,
    })
}

fn sglang(line: &str) -> Option<Parts<'_>> {
    let inside = line.strip_prefix('[')?;
    let close = inside.bytes().take(MAX_PREFIX).position(|b| b == b']')?;
    let (head, rest) = (inside.get(..close)?, inside.get(close + 1..)?);
    let shape = |text: &str, shape: &str| {
        text.len() == shape.len()
            && text
                .bytes()
                .zip(shape.bytes())
                .all(|(byte, like)| match like {
                    b'0' => byte.is_ascii_digit(),
                    _ => byte == like,
                })
    };
    if !shape(head.get(..19)?, "0000-00-00 00:00:00") {
        return None;
    }
    // Milliseconds, where the engine was told to write them.
    let millis = head.get(19..23).is_some_and(|m| shape(m, ".000"));
    let (stamp, ranks) = head.split_at(if millis { 23 } else { 19 });
    let is_rank = |word: &str| {
        let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
        name.len() < word.len() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
    };
    let ranks = ranks.trim();
    let known = !ranks.is_empty() && ranks.split(' ').all(is_rank);
    Some(Parts {
        dialect: Dialect::Sglang,
        stamp: Some(stamp),
        rank: known.then_some(ranks),
        rest: rest.trim_start(),
    })
}

const LEVELS: [&str; 5] = ["INFO ", "WARNING ", "ERROR ", "DEBUG ", "CRITICAL "];

fn vllm(line: &str) -> Option<Parts<'_>> {
    let process = line
        .strip_prefix('(')
        .and_then(|inside| inside.split_once(") "));
    let (rank, rest) = match process {
        Some((name, rest)) if name.contains(" pid=") => (name.split(' ').next(), rest),
        Some(_) => return None,
        None => (None, line),
    };
    let rest = LEVELS.iter().find_map(|level| rest.strip_prefix(level))?;
    let rest = rest.trim_start();
    let stamp = rest.get(..14)?;
    let dated = stamp.bytes().enumerate().all(|(at, byte)| match at {
        2 => byte == b'-',
        5 => byte == b' ',
        8 | 11 => byte == b':',
        _ => byte.is_ascii_digit(),
    });
    if !dated {
        return None;
    }
    // `[file.py:66] ` now, `file.py:66] ` before.
    let rest = rest.get(14..)?.trim_start();
    let close = rest.bytes().take(MAX_PREFIX).position(|b| b == b']')?;
    Some(Parts {
        dialect: Dialect::Vllm,
        // No year: the time is not known.
        stamp: None,
        rank,
        rest: rest.get(close + 1..)?.trim_start(),
    })
}

/// Whether a line has the prefix of an engine's log.
pub fn is_engine_line(line: &[u8]) -> bool {
    let head = line
        .get(..line.len().min(2 * MAX_PREFIX))
        .unwrap_or_default();
    let text = String::from_utf8_lossy(head);
    split(&without_colours(&text)).dialect != Dialect::Bare
}

/// The moment of a naive time in the declared zone.
pub(super) fn time(
    stamp: Option<&str>,
    zone: Option<&TimeZone>,
) -> (Option<TimeMicros>, TimeZoneSource) {
    let moment = stamp.zip(zone).and_then(|(stamp, zone)| {
        let naive: DateTime = stamp.parse().ok()?;
        let moment = zone.to_ambiguous_timestamp(naive).compatible().ok()?;
        Some(moment.as_microsecond())
    });
    let source = match moment {
        Some(_) => TimeZoneSource::Assumed,
        None => TimeZoneSource::Unknown,
    };
    (moment, source)
}

/// Words of file names that name no node.
const GENERIC: [&str; 26] = [
    "log",
    "logs",
    "txt",
    "out",
    "err",
    "gz",
    "zst",
    "json",
    "jsonl",
    "prom",
    "stdout",
    "stderr",
    "metrics",
    "server_info",
    "get_server_info",
    "serverinfo",
    "server",
    "engine",
    "sglang",
    "vllm",
    "current",
    "output",
    "console",
    "info",
    "query_range",
    "startup",
];

/// The node that a file of an engine's output is named after.
pub fn node_of(source_name: &str) -> Option<String> {
    let generic = |part: &str| {
        let lower = part.to_ascii_lowercase();
        GENERIC.contains(&lower.as_str())
            || !part.bytes().any(|b| b.is_ascii_alphabetic())
            || part.len() > 64
    };
    let first = source_name.split('.').find(|part| !generic(part.trim()))?;
    let mut name = first.trim();
    let edges = ['-', '_'];
    while let Some((head, tail)) = name.split_once(edges).filter(|(head, _)| generic(head)) {
        if head.bytes().any(|b| b.is_ascii_digit()) && !tail.contains(edges) {
            break;
        }
        name = tail;
    }
    for word in ["server_info", "get_server_info", "query_range"] {
        name = name.trim_start_matches(word).trim_end_matches(word);
        name = name.trim_matches(edges);
    }
    while let Some((head, tail)) = name.rsplit_once(edges) {
        // A number behind `_` is the rank of the process, one behind `-` part of the name.
        let rank = name.as_bytes().get(head.len()) == Some(&b'_')
            && tail.bytes().all(|b| b.is_ascii_digit());
        if rank || GENERIC.contains(&tail.to_ascii_lowercase().as_str()) {
            name = head;
        } else {
            break;
        }
    }
    let known = name.bytes().any(|b| b.is_ascii_alphabetic()) && !generic(name);
    let plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c));
    (known && plain).then(|| name.to_owned())
}

/// The role that a file is named after.
pub(super) fn role_of(source_name: &str) -> Option<Role> {
    let name = source_name.to_ascii_lowercase();
    match (name.contains("prefill"), name.contains("decode")) {
        (true, false) => Some(Role::Prefill),
        (false, true) => Some(Role::Decode),
        _ => None,
    }
}
