//! Log text made harmless for people's eyes: terminals, Markdown and HTML text.
//!
//! A value read from a log may move the cursor, rewrite the line above it or turn the reading
//! direction round. Every character that is not plainly visible gets a visible form here, so that
//! what is seen is what stands in the log. Renderers add their own escaping on top.

use std::borrow::Cow;
use std::fmt::Write;
use unicode_width::UnicodeWidthChar;

/// What a cut value ends with.
const ELLIPSIS: char = '…';

/// True for characters that act on the page instead of standing on it.
///
/// C0, DEL and C1 controls; line and paragraph separators; bidirectional controls; zero-width
/// and other default-ignorable format characters; tags; byte order mark; non-characters. Variation
/// selectors count too: they can carry hidden bytes.
pub(super) fn acts(character: char) -> bool {
    matches!(
        character,
        '\u{00}'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{fffe}'..='\u{ffff}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
            | '\u{f0000}'..='\u{10ffff}'
    )
}

/// The value with every acting character replaced by a visible form, on one line.
///
/// C0 controls become their pictures (`␛` for escape, `␊` for line feed), DEL becomes `␡`, all
/// others `<U+202E>`. Ordinary text, whatever its script, is returned as it is.
pub fn visible(value: &str) -> Cow<'_, str> {
    if !value.chars().any(acts) {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len() + 16);
    for character in value.chars() {
        push_visible(&mut out, character);
    }
    Cow::Owned(out)
}

fn push_visible(out: &mut String, character: char) {
    match character {
        '\u{00}'..='\u{1f}' => {
            out.push(char::from_u32(0x2400 + u32::from(character)).unwrap_or(ELLIPSIS));
        }
        '\u{7f}' => out.push('␡'),
        _ if acts(character) => {
            // Writing to a string cannot fail.
            let _ = write!(out, "<U+{:04X}>", u32::from(character));
        }
        _ => out.push(character),
    }
}

/// The visible form of `value`, cut to at most `columns` terminal columns.
///
/// A cut value ends with `…`, which is counted. Wide characters count two; no character is cut
/// in half. Reads no more of the value than it needs.
pub fn fit(value: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut used = 0usize;
    // Where to cut if the value turns out to be too long: the last place that leaves one column.
    let mut cut = 0usize;
    let mut form = String::new();
    // Combining marks take no column, so a pile of them is bounded by bytes instead.
    let most_bytes = columns.saturating_mul(8);
    for character in value.chars() {
        form.clear();
        push_visible(&mut form, character);
        used = used.saturating_add(form.chars().map(|c| c.width().unwrap_or(0)).sum());
        if used > columns || out.len() + form.len() > most_bytes {
            out.truncate(cut);
            if columns > 0 {
                out.push(ELLIPSIS);
            }
            return out;
        }
        out.push_str(&form);
        if used < columns {
            cut = out.len();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn acting_characters_become_visible() {
        for (raw, seen) in [
            (
                "plain text, Ünïcode, 漢字, שלום",
                "plain text, Ünïcode, 漢字, שלום",
            ),
            ("\u{1b}[2J", "␛[2J"),
            ("a\nb\tc\rd", "a␊b␉c␍d"),
            ("\u{1b}]8;;http://x\u{7}", "␛]8;;http://x␇"),
            ("\u{7f}\u{9b}31m", "␡<U+009B>31m"),
            ("abc\u{202e}gpj.exe", "abc<U+202E>gpj.exe"),
            ("\u{2066}x\u{2069}\u{200b}", "<U+2066>x<U+2069><U+200B>"),
            ("\u{e0041}", "<U+E0041>"),
            ("\u{0}", "␀"),
            ("", ""),
        ] {
            assert_eq!(visible(raw), seen, "{raw:?}");
        }
    }

    #[test]
    fn values_are_cut_by_columns() {
        for (value, columns, seen) in [
            ("tenant", 6, "tenant"),
            ("tenant-a", 6, "tenan…"),
            ("漢字漢字", 8, "漢字漢字"),
            ("漢字漢字", 7, "漢字漢…"),
            ("漢字漢字", 6, "漢字…"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
            ("", 0, ""),
            ("a\u{202e}b", 5, "a…"),
            ("👩‍🚀", 40, "👩<U+200D>🚀"),
        ] {
            assert_eq!(fit(value, columns), seen, "{value:?} at {columns}");
        }
    }

    proptest! {
        #[test]
        fn nothing_acts_and_widths_hold(value in any::<String>(), columns in 0usize..80) {
            let cut = fit(&value, columns);
            prop_assert!(!cut.chars().any(acts));
            prop_assert!(!visible(&value).chars().any(acts));
            prop_assert!(cut.chars().map(|c| c.width().unwrap_or(0)).sum::<usize>() <= columns);
            prop_assert!(cut.width() <= columns.saturating_mul(2));
            if !cut.ends_with('…') && columns > 0 {
                prop_assert_eq!(cut, visible(&value));
            }
        }
    }
}
