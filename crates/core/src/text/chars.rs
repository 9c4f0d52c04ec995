//! What single characters are: where normalisation segments begin, which kind of token they make.

use icu_casemap::CaseMapper;
use std::sync::OnceLock;
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

/// What a normalised, folded character does to tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A token of its own: Han, Hiragana, Katakana, a Hangul syllable.
    Single,
    /// Part of a run that is split into grapheme clusters: Thai, Lao, Khmer, Myanmar.
    Cluster,
    /// A mark of no script of its own: it stays with a cluster run, else it is a word character.
    SharedMark,
    /// Part of a word.
    Word,
    /// Separates.
    Other,
}

/// The kind of a character, taken after normalisation and folding.
pub(super) fn kind(c: char) -> Kind {
    match c {
        '0'..='9' | 'a'..='z' | 'A'..='Z' => return Kind::Word,
        '\0'..='\x7f' => return Kind::Other,
        '\u{3041}'..='\u{3096}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{30fc}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' => return Kind::Single,
        _ => {}
    }
    match c.script() {
        Script::Han | Script::Hiragana | Script::Katakana => Kind::Single,
        Script::Thai | Script::Lao | Script::Khmer | Script::Myanmar => Kind::Cluster,
        script => match c.general_category_group() {
            GeneralCategoryGroup::Mark if script == Script::Inherited => Kind::SharedMark,
            GeneralCategoryGroup::Letter
            | GeneralCategoryGroup::Mark
            | GeneralCategoryGroup::Number => Kind::Word,
            _ => Kind::Other,
        },
    }
}

/// Whether a character is a letter, mark or number.
pub(super) fn is_word(c: char) -> bool {
    matches!(
        c.general_category_group(),
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Mark | GeneralCategoryGroup::Number
    )
}

/// Characters below this are looked up in a table.
const TABLE: u32 = 0x3400;

/// What a character that stands alone in its segment becomes, and its kind; `None` if that takes
/// more than one character or is not in the table.
pub(super) fn simple(c: char) -> Option<(char, Kind)> {
    static SIMPLE: OnceLock<Vec<Option<(char, Kind)>>> = OnceLock::new();
    match c {
        '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => Some((c, Kind::Single)),
        _ if (c as u32) < TABLE => {
            let table = SIMPLE.get_or_init(|| {
                (0..TABLE)
                    .map(|code| char::from_u32(code).and_then(simple_by_table))
                    .collect()
            });
            table.get(c as usize).copied().flatten()
        }
        _ => None,
    }
}

fn simple_by_table(c: char) -> Option<(char, Kind)> {
    let normal: String = std::iter::once(c).nfkc().collect();
    let folded = CaseMapper::new().fold_string(&normal).into_owned();
    let mut chars = folded.chars();
    let first = chars.next().filter(|_| chars.next().is_none())?;
    Some((first, kind(first)))
}

/// Whether a normalisation segment begins at a character, so that nothing before it can compose
/// or reorder with it.
pub(super) fn starts_segment(c: char) -> bool {
    match c {
        '\0'..='\u{2ff}'
        | '\u{370}'..='\u{482}'
        | '\u{48a}'..='\u{590}'
        | '\u{3041}'..='\u{3096}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' => true,
        _ => starts_segment_by_table(c),
    }
}

/// [`starts_segment`] without its short cuts. A starter that composes backwards (the vowels and
/// final consonants of Hangul) begins no segment.
pub(super) fn starts_segment_by_table(c: char) -> bool {
    let first = std::iter::once(c).nfkd().next().unwrap_or(c);
    canonical_combining_class(first) == 0
        && is_nfc_quick(std::iter::once(first)) != IsNormalized::Maybe
}

/// One step through text in which literal escapes stand for characters: the character (none for a
/// separator) and its length in bytes.
pub(super) fn next_char(text: &str) -> Option<(Option<char>, usize)> {
    let c = text.chars().next()?;
    if c != '\\' {
        return Some((Some(c), c.len_utf8()));
    }
    let bytes = text.as_bytes();
    Some(match bytes.get(1) {
        Some(b'n' | b'r' | b't') => (None, 2),
        Some(b'u') => match hex4(bytes, 2) {
            None => (None, 1),
            Some(high @ 0xd800..=0xdbff) => match low_surrogate(bytes) {
                Some(low) => {
                    let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                    (char::from_u32(code), 12)
                }
                None => (None, 6),
            },
            Some(code) => (char::from_u32(code), 6),
        },
        _ => (None, 1),
    })
}

fn low_surrogate(bytes: &[u8]) -> Option<u32> {
    if bytes.get(6..8)? != b"\\u" {
        return None;
    }
    hex4(bytes, 8).filter(|low| (0xdc00..0xe000).contains(low))
}

fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 4)?;
    digits.iter().try_fold(0, |code, &b| {
        char::from(b).to_digit(16).map(|d| code * 16 + d)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_cuts_equal_the_tables() {
        for c in '\0'..=char::MAX {
            assert!(simple(c).is_none() || simple(c) == simple_by_table(c));
            assert_eq!(
                starts_segment(c),
                starts_segment_by_table(c),
                "{:x}",
                c as u32
            );
            let group = c.general_category_group();
            if matches!(kind(c), Kind::Word | Kind::SharedMark) {
                assert!(is_word(c), "{:x} {group:?}", c as u32);
            }
            match c.script() {
                Script::Han | Script::Hiragana | Script::Katakana => {
                    assert_eq!(kind(c), Kind::Single)
                }
                _ => {
                    let single = c == '\u{30fc}' || ('\u{ac00}'..='\u{d7a3}').contains(&c);
                    assert_eq!(kind(c) == Kind::Single, single, "{:x}", c as u32);
                }
            }
        }
    }

    #[test]
    fn escapes_are_read_once() {
        let table: &[(&str, Option<char>, usize)] = &[
            ("\\n", None, 2),
            ("\\t", None, 2),
            ("\\\\n", None, 1),
            ("\\u00e9x", Some('\u{e9}'), 6),
            ("\\ud83d\\ude00", Some('\u{1f600}'), 12),
            ("\\ud83dx", None, 6),
            ("\\ude00", None, 6),
            ("\\ud83d\\ud83d", None, 6),
            ("\\u00g9", None, 1),
            ("\\u00", None, 1),
            ("\\u+0e9", None, 1),
            ("\\", None, 1),
            ("\u{e9}", Some('\u{e9}'), 2),
        ];
        for &(text, c, length) in table {
            assert_eq!(next_char(text), Some((c, length)), "{text}");
        }
    }
}
