//! The marks that loggers leave where they cut or replaced text.
//!
//! A mark is no text of anybody: equal marks in two records are no overlap, and a text with one is
//! not complete.

use crate::exchange::{Border, BorderKind, ContentState, FieldText};
use memchr::memmem::Finder;
use std::ops::Range;
use std::sync::LazyLock;

/// Whole texts that stand for a text which was not logged.
const PLACEHOLDERS: [&str; 3] = ["__REDACTED__", "REDACTED", "[REDACTED]"];

/// LiteLLM's placeholder, in place of whole messages.
const LITELLM_PLACEHOLDER: &str = "redacted-by-litellm";

/// A mark may be this long; what claims to be longer is text.
const MAX_MARK_BYTES: usize = 300;

static TRUNCATED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("truncated"));
static LITELLM: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(LITELLM_PLACEHOLDER));
static REDACTED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("__REDACTED__"));

/// Turns all marks into cut borders; the state that follows from them, if there are any.
pub fn seal(field: &mut FieldText) -> Option<ContentState> {
    if PLACEHOLDERS.contains(&field.text.trim()) {
        let end = field.text.len();
        cut(field, 0..end);
        return Some(ContentState::Redacted);
    }
    let mut found = Vec::new();
    for at in TRUNCATED.find_iter(field.text.as_bytes()) {
        found.extend(truncation_at(&field.text, at));
    }
    let truncated = !found.is_empty();
    let marks = found.len();
    for at in REDACTED.find_iter(field.text.as_bytes()) {
        found.push(at..at + "__REDACTED__".len());
    }
    for at in LITELLM.find_iter(field.text.as_bytes()) {
        let end = at + LITELLM_PLACEHOLDER.len();
        let edge = |byte: Option<&u8>| byte.is_none_or(|b| *b == b'\n');
        let bytes = field.text.as_bytes();
        if edge(at.checked_sub(1).and_then(|i| bytes.get(i))) && edge(bytes.get(end)) {
            found.push(at..end);
        }
    }
    let redacted = found.len() > marks;
    cut_all(field, found);
    match (truncated, redacted) {
        (true, _) => Some(ContentState::Truncated),
        (false, true) => Some(ContentState::Redacted),
        (false, false) => None,
    }
}

/// Adds a cut border. Borders that it meets become part of it.
pub fn cut(field: &mut FieldText, range: Range<usize>) {
    cut_all(field, vec![range]);
}

/// Adds many cut borders at once: one by one, a text full of marks would take quadratic time.
pub fn cut_all(field: &mut FieldText, ranges: Vec<Range<usize>>) {
    if ranges.is_empty() {
        return;
    }
    let cuts = ranges.into_iter().map(|range| Border {
        start: range.start,
        end: range.end,
        kind: BorderKind::Cut,
    });
    let mut all: Vec<Border> = std::mem::take(&mut field.borders);
    all.extend(cuts);
    all.sort_by_key(|border| (border.start, border.end));
    for border in all {
        match field.borders.last_mut() {
            // Two borders that meet are one, and a cut makes all of it a cut.
            Some(last) if last.end >= border.start && either_cut(last, &border) => {
                last.end = last.end.max(border.end);
                last.kind = BorderKind::Cut;
            }
            _ => field.borders.push(border),
        }
    }
}

fn either_cut(one: &Border, other: &Border) -> bool {
    one.kind == BorderKind::Cut || other.kind == BorderKind::Cut
}

/// Marks the end of a text as cut.
pub fn cut_end(field: &mut FieldText) {
    let end = field.text.len();
    cut(field, end..end);
}

/// Whether a text that is no whole JSON begins as a request or response body does.
pub fn is_cut_body(text: &str) -> bool {
    let head = limited(text);
    let keys = [
        "\"choices\"",
        "\"messages\"",
        "\"content\"",
        "\"output\"",
        "\"input\"",
        "\"prompt\"",
        "\"contents\"",
        "\"parts\"",
        "\"candidates\"",
        "\"inputText\"",
    ];
    head.starts_with(['{', '[']) && keys.iter().any(|key| head.contains(key))
}

/// The mark around the word `truncated` at `at`, if the word is part of one.
fn truncation_at(text: &str, at: usize) -> Option<Range<usize>> {
    let before = text.get(..at)?;
    let after = text.get(at..)?;
    // LiteLLM: `... (litellm_truncated skipped N chars. note) ...`
    if let Some(head) = before.strip_suffix("(litellm_") {
        let close = at + limited(after).find(')')? + 1;
        let start = head.trim_end_matches([' ', '.']).len();
        let tail = text.get(close..)?;
        let dots = tail.strip_prefix(" ...").or(tail.strip_prefix("..."));
        return Some(start..dots.map_or(close, |rest| text.len() - rest.len()));
    }
    // `...[truncated]`, `...[truncated 12 chars]`, `... (truncated)`
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some(head) = before.strip_suffix(open) {
            let bare = head.trim_end_matches(' ');
            let start = bare.trim_end_matches(['.', '…']).len();
            let long_enough = bare.ends_with("...") || bare.ends_with('…');
            let end = at + limited(after).find(close)? + 1;
            return long_enough.then_some(start..end);
        }
    }
    // `… [N chars truncated]`
    if after.starts_with("truncated]") {
        // A number and a unit stand between, not more.
        let near = before
            .as_bytes()
            .iter()
            .rev()
            .take(48)
            .position(|b| *b == b'[')?;
        let open = at - 1 - near;
        let count = before.get(open + 1..)?.split(' ').next()?;
        if !count.is_empty() && count.bytes().all(|b| b.is_ascii_digit()) {
            let start = text.get(..open)?.trim_end_matches([' ', '.', '…']).len();
            return Some(start..at + "truncated]".len());
        }
    }
    None
}

fn limited(text: &str) -> &str {
    let mut end = text.len().min(MAX_MARK_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        use ContentState::*;
        for (text, state, marks) in [
            ("nothing here", None, vec![]),
            ("a truncated cone [truncated] and (truncated)", None, vec![]),
            (
                "aaa... (litellm_truncated skipped 2600000 chars. note) ...zzz",
                Some(Truncated),
                vec!["... (litellm_truncated skipped 2600000 chars. note) ..."],
            ),
            ("abc...[truncated]", Some(Truncated), vec!["...[truncated]"]),
            (
                "abc… [12 chars truncated]x",
                Some(Truncated),
                vec!["… [12 chars truncated]"],
            ),
            (
                "redacted-by-litellm",
                Some(Redacted),
                vec!["redacted-by-litellm"],
            ),
            ("key __REDACTED__ end", Some(Redacted), vec!["__REDACTED__"]),
        ] {
            let mut field = FieldText::of(text);
            assert_eq!(seal(&mut field), state, "{text}");
            let found: Vec<&str> = field
                .borders
                .iter()
                .map(|b| &text[b.start..b.end])
                .collect();
            assert_eq!(found, marks, "{text}");
        }
    }

    #[test]
    fn borders_stay_in_order_and_apart() {
        let mut field = FieldText::default();
        for part in ["one", "two", "three"] {
            field.push_part(part);
        }
        cut(&mut field, 5..6);
        cut(&mut field, 0..2);
        cut(&mut field, 6..8);
        let ranges: Vec<_> = field.borders.iter().map(|b| (b.start, b.end)).collect();
        assert_eq!(ranges, [(0, 2), (3, 4), (5, 8)]);
        assert_eq!(field.borders[2].kind, BorderKind::Cut);
    }
}
