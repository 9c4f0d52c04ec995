//! Token counts estimated from text, for prompts that nobody counted or whose count cannot be true.
//!
//! An estimate is never put in the place of a logged count: it has a column of its own, beside the
//! name of the method that made it.

use crate::exchange::{ContentState, Exchange};
use std::fmt;

/// A logged count is known to be false where the text needs so many times as many tokens: no
/// tokenizer in use differs that much from [`ScriptTable`], whatever the language.
const FALSE_FACTOR: i64 = 8;

/// Shorter texts prove no count false.
const LEAST_TOKENS: i64 = 64;

/// Counts the tokens of a text.
pub trait TokenCounter: Send + Sync {
    /// Name of the method, for `tokens_estimate_method`; it changes whenever counts may.
    fn method(&self) -> &str;

    /// Tokens of a text.
    fn count(&self, text: &str) -> u64;
}

impl fmt::Debug for dyn TokenCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.method())
    }
}

/// Counts by script: each character has a weight in thousandths of a token, by its kind.
///
/// The weights were fitted to a vocabulary of 200,000 entries (o200k) on translated program
/// messages of 22 languages, source code and JSON; errors against it and others are in
/// `docs/formats.md`.
pub struct ScriptTable;

/// Kinds of ASCII in thousandths of a token: a blank mostly belongs to the word behind it.
const LETTER: u64 = 260;
const DIGIT: u64 = 420;
const PUNCTUATION: u64 = 560;
const BLANK: u64 = 40;
const LINE_END: u64 = 250;

/// Blocks of other characters and their weights, ascending; what stands in no block is a symbol.
const BLOCKS: [(u32, u32, u64); 12] = [
    // Latin with marks.
    (0x00c0, 0x024f, 900),
    // Greek and Coptic.
    (0x0370, 0x03ff, 420),
    // Cyrillic, Armenian.
    (0x0400, 0x058f, 330),
    // Hebrew, Arabic and their neighbours.
    (0x0590, 0x08ff, 370),
    // Scripts of India.
    (0x0900, 0x0dff, 390),
    // Thai, Lao, Tibetan, Myanmar, Georgian.
    (0x0e00, 0x10ff, 430),
    // Hangul letters, Ethiopic and others.
    (0x1100, 0x1dff, 700),
    // Latin with marks for Vietnamese.
    (0x1e00, 0x1fff, 700),
    // Punctuation of East Asia, Kana.
    (0x3000, 0x33ff, 780),
    // Han.
    (0x3400, 0x9fff, 920),
    // Hangul syllables.
    (0xac00, 0xd7ff, 860),
    // Full-width forms.
    (0xff00, 0xffef, 780),
];

/// A symbol: mostly two or three tokens an emoji, one a sign of punctuation.
const SYMBOL: u64 = 1500;

impl TokenCounter for ScriptTable {
    fn method(&self) -> &str {
        "script-table-1"
    }

    fn count(&self, text: &str) -> u64 {
        let sum: u64 = text.chars().map(weight).sum();
        sum.div_ceil(1000)
    }
}

fn weight(c: char) -> u64 {
    match c {
        'a'..='z' | 'A'..='Z' => LETTER,
        ' ' | '\t' => BLANK,
        '0'..='9' => DIGIT,
        '\n' | '\r' => LINE_END,
        c if c.is_ascii() => PUNCTUATION,
        c => {
            let code = u32::from(c);
            let at = BLOCKS.partition_point(|block| block.1 < code);
            let block = BLOCKS.get(at).filter(|block| block.0 <= code);
            block.map_or(SYMBOL, |block| block.2)
        }
    }
}

/// The tokens of an exchange's prompt, where the whole prompt is there and its logged count is
/// missing or cannot be true.
pub fn prompt_estimate(exchange: &Exchange, counter: &dyn TokenCounter) -> Option<i64> {
    let prompt = exchange.prompt.as_ref()?;
    if exchange.prompt_state != ContentState::Full || prompt.text.is_empty() {
        return None;
    }
    let Some(logged) = exchange.prompt_tokens else {
        return i64::try_from(counter.count(&prompt.text)).ok();
    };
    // No counter finds more tokens than bytes, so that most texts need not be looked at.
    let most = i64::try_from(prompt.text.len()).ok()?;
    if logged.saturating_mul(FALSE_FACTOR) >= most || most < LEAST_TOKENS {
        return None;
    }
    let needed = i64::try_from(counter.count(&prompt.text)).ok()?;
    let cannot_be = needed >= LEAST_TOKENS && logged.saturating_mul(FALSE_FACTOR) < needed;
    cannot_be.then_some(needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::FieldText;

    fn estimate(text: &str, state: ContentState, logged: Option<i64>) -> Option<i64> {
        let exchange = Exchange {
            prompt: Some(FieldText::of(text)),
            prompt_state: state,
            prompt_tokens: logged,
            ..Exchange::default()
        };
        prompt_estimate(&exchange, &ScriptTable)
    }

    #[test]
    fn blocks_are_in_order() {
        assert!(BLOCKS.iter().all(|block| block.0 <= block.1));
        assert!(BLOCKS.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }

    #[test]
    fn counts_are_near_those_of_vocabularies() {
        // Tokens as o200k has them, counted by its own program.
        for (text, tokens) in [
            ("", 0),
            ("The quick brown fox jumps over the lazy dog.", 10),
            (
                "{\"role\":\"user\",\"content\":\"Count the amber crates.\"}",
                13,
            ),
        ] {
            let found = ScriptTable.count(text) as i64;
            assert!((found - tokens).abs() * 3 <= tokens, "{text}: {found}");
        }
    }

    #[test]
    fn only_where_it_is_needed() {
        use ContentState::{Full, Stateful, Truncated};
        let long = "all the words of a long prompt ".repeat(100);
        let tokens = ScriptTable.count(&long) as i64;
        assert!((500..1000).contains(&tokens), "{tokens}");
        for (state, logged, expected) in [
            (Full, None, Some(tokens)),
            (Full, Some(1), Some(tokens)),
            (Full, Some(tokens / 8 + 1), None),
            (Full, Some(tokens * 2), None),
            (Full, Some(i64::MAX), None),
            (Truncated, None, None),
            (Stateful, Some(1), None),
        ] {
            assert_eq!(
                estimate(&long, state, logged),
                expected,
                "{state:?} {logged:?}"
            );
        }
        assert_eq!(estimate("short", Full, Some(1)), None);
        assert_eq!(estimate("short", Full, None), Some(2));
        assert_eq!(estimate("", Full, None), None);
    }
}
