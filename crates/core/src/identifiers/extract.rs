//! Identifiers of one text: prefilter, regex, checks, worth, allow list; then anything random.

use super::bits;
use super::pattern::{Pattern, Patterns, Scope, byte_set};
use super::windows::{lumps, numbers};

/// Most identifiers of one text; further ones are counted.
pub(super) const MOST: usize = 4096;
/// Bytes that a block pattern may read from its keyword on.
const BLOCK: usize = 16 << 10;
/// Least bits of a value that only looks random as a whole.
const WHOLE: u32 = 40;

/// One identifier in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// Number of the pattern; one past the last for values that only look random.
    pub pattern: u16,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// What it tells.
    pub bits: u32,
}

/// Replaces `out` by the identifiers of a text, by position; returns how many found no room.
pub(super) fn extract(patterns: &Patterns, text: &str, out: &mut Vec<Candidate>) -> usize {
    out.clear();
    lumps(text, |start, end| {
        let piece = &text.as_bytes()[start..end];
        let set = byte_set(piece);
        for (number, pattern) in patterns.for_piece(Scope::Lump, piece.len()) {
            if pattern.may_match(piece, set) {
                matches(pattern, number, text, (start, end), out);
            }
        }
        random(patterns.list.len() as u16, piece, start, out);
    });
    numbers(text, |start, end| {
        let piece = &text.as_bytes()[start..end];
        let set = byte_set(piece);
        for (number, pattern) in patterns.for_piece(Scope::Number, piece.len()) {
            if pattern.may_match(piece, set) {
                matches(pattern, number, text, (start, end), out);
            }
        }
    });
    for (number, pattern) in patterns.for_piece(Scope::Block, text.len()) {
        for (_, keyword) in &pattern.keywords {
            let mut done = 0;
            for start in keyword.find_iter(text.as_bytes()) {
                if start >= done {
                    let mut end = text.len().min(start + BLOCK);
                    while !text.is_char_boundary(end) {
                        end -= 1;
                    }
                    matches(pattern, number, text, (start, end), out);
                    // The next block may begin inside this one, but not be read again and again.
                    done = start + keyword.needle().len();
                    if let Some(last) = out.last().filter(|c| c.start >= start) {
                        done = done.max(last.end);
                    }
                }
            }
        }
    }
    settle(patterns, out)
}

impl Pattern {
    fn may_match(&self, piece: &[u8], set: u128) -> bool {
        let mut keywords = self.keywords.iter();
        self.keywords.is_empty()
            || keywords.any(|(bytes, k)| bytes & !set == 0 && k.find(piece).is_some())
    }
}

/// Adds the matches of one pattern in one piece.
fn matches(
    pattern: &Pattern,
    number: u16,
    text: &str,
    (from, to): (usize, usize),
    out: &mut Vec<Candidate>,
) {
    for found in pattern.regex.captures_iter(&text.as_bytes()[from..to]) {
        // A group, if there is one, is the value; the rest is its surroundings.
        let Some(value) = found.get(1).or_else(|| found.get(0)) else {
            continue;
        };
        let (start, end) = (from + value.start(), from + value.end());
        if let Some(bits) = pattern.accept(text, start, end) {
            out.push(Candidate {
                pattern: number,
                start,
                end,
                bits,
            });
        }
    }
}

/// Adds what looks random in a lump: single parts, else parts joined by `-`, `_` or `.`.
fn random(number: u16, piece: &[u8], base: usize, out: &mut Vec<Candidate>) {
    // Below two digits only letters of shuffled case count, and these are long.
    let digits = piece.iter().filter(|b| b.is_ascii_digit()).count();
    if digits < 2 && piece.len() < 16 {
        return;
    }
    let joined = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let mut at = 0;
    for chunk in piece.split(|b| !joined(b)) {
        let start = base + at;
        at += chunk.len() + 1;
        let before = out.len();
        let mut from = 0;
        let (mut sum, mut telling, mut letters) = (0, 0, false);
        for part in chunk.split(|b| !b.is_ascii_alphanumeric()) {
            if bits::is_random(part) {
                out.push(Candidate {
                    pattern: number,
                    start: start + from,
                    end: start + from + part.len(),
                    bits: bits::of_part(part),
                });
            }
            if part.len() > 2 && part.iter().any(u8::is_ascii_digit) {
                sum += bits::of_part(part);
                telling += 1;
                letters |= part.iter().any(u8::is_ascii_alphabetic);
            }
            from += part.len() + 1;
        }
        if out.len() == before && telling > 1 && letters && sum >= WHOLE {
            let head = chunk.iter().take_while(|b| !b.is_ascii_alphanumeric());
            let tail = chunk
                .iter()
                .rev()
                .take_while(|b| !b.is_ascii_alphanumeric());
            out.push(Candidate {
                pattern: number,
                start: start + head.count(),
                end: start + chunk.len() - tail.count(),
                bits: sum,
            });
        }
    }
}

/// Sorts, and leaves of overlapping identifiers the outermost; what lies in a path or a link also
/// counts by itself.
fn settle(patterns: &Patterns, out: &mut Vec<Candidate>) -> usize {
    out.sort_unstable_by_key(|c| {
        let check = patterns.has_check_digit(c.pattern);
        let token = usize::from(c.pattern) >= patterns.list.len();
        let worth = (token, !check, u32::MAX - c.bits);
        (c.start, usize::MAX - c.end, worth, c.pattern)
    });
    let (mut hard, mut container) = (0, (0, 0));
    let mut kept = 0;
    let mut lost = 0;
    for i in 0..out.len() {
        let candidate = out[i];
        if candidate.end <= hard || (candidate.start, candidate.end) == container {
            continue;
        }
        if patterns.kind(candidate.pattern).is_container() {
            if candidate.end <= container.1 {
                continue;
            }
            container = (candidate.start, candidate.end);
        } else {
            hard = candidate.end;
        }
        if kept == MOST {
            lost += 1;
            continue;
        }
        out[kept] = candidate;
        kept += 1;
    }
    out.truncate(kept);
    lost
}

#[cfg(test)]
mod tests {
    use super::super::pattern::Kind;
    use super::*;

    fn spans(text: &str) -> Vec<(String, String)> {
        let patterns = Patterns::builtin();
        let mut out = Vec::new();
        extract(patterns, text, &mut out);
        out.iter()
            .map(|c| {
                (
                    patterns.id(c.pattern).to_owned(),
                    text[c.start..c.end].to_owned(),
                )
            })
            .collect()
    }

    #[test]
    fn every_pattern_finds_its_examples_and_leaves_the_others() {
        let patterns = Patterns::builtin();
        let mut wrong = Vec::new();
        for pattern in &patterns.list {
            for example in &pattern.examples.0 {
                let (before, rest) = example.split_once('«').expect("a marked value");
                let (value, after) = rest.split_once('»').expect("an end of the value");
                let text = format!("{before}{value}{after}");
                let found = spans(&text);
                if !found.contains(&(pattern.id.clone(), value.to_owned())) {
                    wrong.push(format!("{}: misses {value}, finds {found:?}", pattern.id));
                }
            }
            for example in &pattern.examples.1 {
                let found = spans(example);
                if found.iter().any(|(id, _)| *id == pattern.id) {
                    wrong.push(format!("{}: takes {example}: {found:?}", pattern.id));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(patterns.len() >= 40);
    }

    #[test]
    fn file_names_and_ids_agree_and_are_unique() {
        let mut ids: Vec<&str> = Patterns::builtin()
            .list
            .iter()
            .map(|p| p.id.as_str())
            .collect();
        ids.sort_unstable();
        let all = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), all);
    }

    #[test]
    fn anything_random_is_found_and_prose_is_not() {
        for (text, value) in [
            ("the code is K7X2MVZ9LBT4WRP6Q, thanks", "K7X2MVZ9LBT4WRP6Q"),
            ("ref 7f3a-92bc-4d1e-a08f-c6b5.", "7f3a-92bc-4d1e-a08f-c6b5"),
            ("session_id=a91fc03e7b", "a91fc03e7b"),
            ("番号K7X2MVZ9LBです", "K7X2MVZ9LB"),
        ] {
            assert_eq!(
                spans(text),
                [("token".to_owned(), value.to_owned())],
                "{text}"
            );
        }
        for text in [
            "In 2023-10-01T12:30:00Z the gpt-4-0125-preview model with sha256sum and utf8mb4",
            "pi is 3.14159265358979 and 681,280 or 1.234.567,89 of x1y2 + H2SO4",
            "call getElementById('row_12') on Windows10 x86_64-unknown-linux-gnu v1.2.3-beta.4",
            "see https://en.wikipedia.org/wiki/Second_Boer_War and /usr/lib/python3.11/site.py",
            "10 20 30 40 50 60 70 80, 100000 200000",
        ] {
            assert_eq!(spans(text), [], "{text}");
        }
    }

    #[test]
    fn what_lies_in_a_path_counts_twice_and_elsewhere_once() {
        let found = spans("/srv/k3x9q2/m8z7w5t1q9/deploy.key");
        let ids: Vec<&str> = found.iter().map(|f| f.0.as_str()).collect();
        assert_eq!(ids, ["unix_path", "token"]);
        let found = spans("AKIAQ7X2MVZ9LBT4WRP6");
        assert_eq!(found.len(), 1);
        assert_eq!(Patterns::builtin().kind(999), Kind::Token);
    }

    #[test]
    fn a_text_of_nothing_else_is_bounded_and_counted() {
        let mut text = String::new();
        for i in 0..MOST + 10 {
            text.push_str(&format!("u{i}@h{i}.nordwind.io "));
        }
        let mut out = Vec::new();
        assert_eq!(extract(Patterns::builtin(), &text, &mut out), 10);
        assert_eq!(out.len(), MOST);
    }

    proptest::proptest! {
        #[test]
        fn soup_never_panics_and_spans_are_in_order(
            text in "([ -~\\n]|é|漢|\u{200b}|AKIA|eyJ|-----BEGIN |@|://|[0-9]){0,300}"
        ) {
            let mut out = Vec::new();
            extract(Patterns::builtin(), &text, &mut out);
            for c in &out {
                proptest::prop_assert!(c.start < c.end);
                proptest::prop_assert!(text.get(c.start..c.end).is_some());
            }
            proptest::prop_assert!(out.windows(2).all(|w| w[0].start <= w[1].start));
        }
    }
}
