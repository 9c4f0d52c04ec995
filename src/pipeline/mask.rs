//! Masked previews: enough of a passage to recognise its kind, too little to read its secret.
//!
//! Of a word its first two letters stay (one of a word of up to three); of scripts written without
//! spaces every fourth sign. Digits never stay, nor any letter of what looks like an identifier.

use unicode_width::UnicodeWidthChar;

/// Most characters of a preview, its ellipsis counted.
pub const MAX_PREVIEW_CHARS: usize = 160;
/// Longest word in letters and what stands between them; a longer one is an identifier.
const MAX_WORD_CHARS: usize = 20;
/// Words up to this length keep one letter, longer ones two.
const SHORT_WORD_LETTERS: usize = 3;
/// One of so many CJK signs stays.
const CJK_STEP: usize = 4;
/// How far beyond the span a word that it cuts is looked at: an address stays one where only its
/// tail is shared. More than [`MAX_WORD_CHARS`], so that the rest could change nothing.
const CONTEXT_CHARS: usize = 64;
/// Stands for a masked letter, digit or symbol.
const MASK: char = '•';

/// The masked form of `text[start..end]`, on one line, at most [`MAX_PREVIEW_CHARS`] characters.
///
/// `None` where the positions do not fit the text or nothing visible is between them.
pub fn preview(text: &str, start: usize, end: usize) -> Option<String> {
    text.get(start..end)?;
    let mut out = Preview::default();
    let mut at = context_start(text, start);
    let to = context_end(text, end);
    for piece in text[at..to].split_inclusive(char::is_whitespace) {
        let chunk = piece.trim_end_matches(char::is_whitespace);
        out.chunk(chunk, at, start..end);
        if chunk.len() < piece.len() {
            out.gap();
        }
        at += piece.len();
        if out.full {
            break;
        }
    }
    (!out.text.is_empty()).then_some(out.text)
}

fn context_start(text: &str, start: usize) -> usize {
    let before = text[..start].char_indices().rev().take(CONTEXT_CHARS);
    let word = before.take_while(|(_, c)| !c.is_whitespace());
    word.last().map_or(start, |(at, _)| at)
}

fn context_end(text: &str, end: usize) -> usize {
    let after = text[end..].chars().take(CONTEXT_CHARS);
    let word = after.take_while(|c| !c.is_whitespace());
    end + word.map(char::len_utf8).sum::<usize>()
}

#[derive(Default)]
struct Preview {
    text: String,
    chars: usize,
    /// CJK signs so far.
    signs: usize,
    gap: bool,
    full: bool,
}

impl Preview {
    /// What stands between two spaces, at `at`; only the part inside `span` is shown.
    fn chunk(&mut self, chunk: &str, at: usize, span: std::ops::Range<usize>) {
        let address = chunk.contains(['@', '＠']);
        let mut from = 0;
        while from < chunk.len() && !self.full {
            let rest = &chunk[from..];
            let cjk = rest.chars().next().is_some_and(is_cjk);
            let length = rest.find(|c| is_cjk(c) != cjk).unwrap_or(rest.len());
            let run = &rest[..length];
            let shown = run
                .char_indices()
                .map(|(i, c)| (c, span.contains(&(at + from + i))));
            if cjk {
                self.signs(shown, address);
            } else {
                let keep = if address { 0 } else { letters_kept(run) };
                self.word(shown, keep);
            }
            from += length;
        }
    }

    fn signs(&mut self, run: impl Iterator<Item = (char, bool)>, address: bool) {
        for (c, shown) in run {
            if !shown || invisible(c) {
                continue;
            }
            let keep = self.signs.is_multiple_of(CJK_STEP) && !address && !is_digit(c);
            self.signs += 1;
            self.push(if keep { c } else { MASK });
        }
    }

    fn word(&mut self, run: impl Iterator<Item = (char, bool)>, keep: usize) {
        let mut letters = 0;
        for (c, shown) in run {
            if invisible(c) {
                continue;
            }
            let kept = if c.is_alphanumeric() {
                letters += 1;
                letters <= keep
            } else {
                is_punctuation(c)
            };
            if shown {
                self.push(if kept { c } else { MASK });
            }
        }
    }

    fn gap(&mut self) {
        self.gap = !self.text.is_empty();
    }

    fn push(&mut self, c: char) {
        if std::mem::take(&mut self.gap) {
            self.put(' ');
        }
        self.put(c);
    }

    fn put(&mut self, c: char) {
        if self.full {
            return;
        }
        if self.chars == MAX_PREVIEW_CHARS {
            self.text.pop();
            self.text.push('…');
            self.full = true;
            return;
        }
        self.text.push(c);
        self.chars += 1;
    }
}

/// How many letters of a word stay: none of what looks like an identifier.
fn letters_kept(run: &str) -> usize {
    let word = run.trim_matches(|c: char| !c.is_alphanumeric());
    if word.chars().any(is_digit) || word.chars().nth(MAX_WORD_CHARS).is_some() {
        return 0;
    }
    let letters = word
        .chars()
        .filter(|&c| c.is_alphanumeric() && !invisible(c));
    if letters.take(SHORT_WORD_LETTERS + 1).count() > SHORT_WORD_LETTERS {
        2
    } else {
        1
    }
}

/// Combining marks, joiners and controls: they are dropped, for they could not be masked one by
/// one.
fn invisible(c: char) -> bool {
    c.width().unwrap_or(0) == 0
}

/// Digits of any script; Han numerals too, which write amounts and numbers of accounts.
fn is_digit(c: char) -> bool {
    c.is_numeric() || "〇零一二三四五六七八九十百千万億亿兆壹贰叁肆伍陆柒捌玖拾".contains(c)
}

/// Punctuation may stay. Other symbols may not: some of them write text.
fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(
            c,
            '¡' | '¿' | '«' | '»' | '§' | '·'
                | '\u{2010}'..='\u{2027}'
                | '\u{2030}'..='\u{205e}'
                | '\u{3001}'..='\u{3003}'
                | '\u{3008}'..='\u{301f}'
                | '\u{ff01}'..='\u{ff0f}'
                | '\u{ff1a}'..='\u{ff20}'
                | '\u{ff3b}'..='\u{ff40}'
                | '\u{ff5b}'..='\u{ff65}'
        )
}

/// Han, Kana, Bopomofo and Hangul, by their blocks.
fn is_cjk(c: char) -> bool {
    matches!(
        c,
        '\u{1100}'..='\u{11ff}'
            | '\u{2e80}'..='\u{2fdf}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3021}'..='\u{3029}'
            | '\u{3040}'..='\u{318f}'
            | '\u{31a0}'..='\u{31ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{a960}'..='\u{a97f}'
            | '\u{ac00}'..='\u{d7ff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff66}'..='\u{ff9f}'
            | '\u{ffa1}'..='\u{ffdc}'
            | '\u{1b000}'..='\u{1b16f}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(text: &str) -> Option<String> {
        preview(text, 0, text.len())
    }

    #[test]
    fn the_kind_shows_and_the_secret_does_not() {
        for (text, seen) in [
            ("Dear Mr Holloway, the", "De•• M• Ho••••••, t••"),
            ("I am", "I a•"),
            ("  two \n\t words  ", "t•• wo•••"),
            ("don't “quote”", "do•'• “qu•••”"),
            ("well-known", "we••-•••••"),
            // Identifiers.
            ("mail mia@example.com now", "ma•• •••@•••••••.••• n••"),
            ("DE89 3704 0044", "•••• •••• ••••"),
            ("key sk_live_abc9", "k•• ••_••••_••••"),
            ("room 7b.", "ro•• ••."),
            ("abcdefghijklmnopqrst", "ab••••••••••••••••••"),
            ("abcdefghijklmnopqrstu", "•••••••••••••••••••••"),
            ("abcdefghijklmnopqrst!”", "ab••••••••••••••••••!”"),
            // Scripts.
            ("Überraschung für José", "Üb•••••••••• f•• Jo••"),
            ("Jose\u{301} e\u{301}te\u{301}", "Jo•• e••"),
            ("привет мир", "пр•••• м••"),
            ("١٢٣ сто", "••• с••"),
            ("患者の名前は田中さん", "患•••前•••さ•"),
            ("你好，世界和平吗", "你•，••和••"),
            ("金額は三百円", "金•••••"),
            ("四五", "••"),
            ("환자의 이름은", "환•• •름•"),
            ("订单12345已发货", "订••••••••货"),
            ("发给mia@例子.公司谢谢", "•••••@••.••••"),
            // Symbols write text too: braille, regional indicators, enclosed letters.
            ("⠓⠑⠇⠇⠕", "•••••"),
            ("🇩🇪 👩\u{200d}🚀", "•• ••"),
            ("a\u{202e}bcd\u{1b}e", "ab•••"),
        ] {
            assert_eq!(whole(text).as_deref(), Some(seen), "{text:?}");
        }
        for nothing in ["", " \n\u{3000}", "\u{200b}\u{301}"] {
            assert_eq!(whole(nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn a_word_that_the_span_cuts_is_judged_whole() {
        for (text, start, end, seen) in [
            ("to mia@example.com or", 7, 18, Some("•••••••.•••")),
            ("to mia@example.com or", 3, 6, Some("•••")),
            ("extraordinary", 5, 13, Some("••••••••")),
            ("(secret)", 1, 7, Some("se••••")),
            ("a bc d", 1, 2, None),
            ("abc", 1, 1, None),
            ("abc", 2, 1, None),
            ("abc", 0, 4, None),
            ("abc", 9, 12, None),
            ("ä", 1, 2, None),
            ("ä", 0, 1, None),
        ] {
            assert_eq!(preview(text, start, end).as_deref(), seen, "{text} {start}");
        }
    }

    #[test]
    fn long_passages_are_cut() {
        let exact = "word ".repeat(32);
        assert_eq!(whole(&exact).unwrap().chars().count(), 159);
        for long in ["word ".repeat(900), "字".repeat(900), "x".repeat(900)] {
            let seen = whole(&long).unwrap();
            assert_eq!(seen.chars().count(), MAX_PREVIEW_CHARS);
            assert!(seen.ends_with('…'));
        }
    }

    proptest! {
        #[test]
        fn no_position_panics_and_little_stays(text in ".*", a in 0usize..80, b in 0usize..80) {
            for seen in [preview(&text, a, b), whole(&text)].into_iter().flatten() {
                prop_assert!(seen.chars().count() <= MAX_PREVIEW_CHARS);
                prop_assert!(!seen.contains("  ") && seen.trim() == seen);
                prop_assert!(!seen.contains(|c: char| c.is_numeric() || c.is_control()));
                // A sign and the one-letter or cut words beside it.
                let runs = seen.split(|c: char| !c.is_alphabetic());
                prop_assert!(runs.map(|r| r.chars().count()).all(|n| n <= 4), "{seen}");
            }
        }
    }
}
