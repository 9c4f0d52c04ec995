//! Characters and tokens that no answer should hold.

use memchr::memmem;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Marks of chat templates that are not of the form `<|name|>`.
const MARKS: [&str; 12] = [
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
    "<start_of_turn>",
    "<end_of_turn>",
    "[PAD]",
    "<unk>",
    "<pad>",
    "<bos>",
    "<eos>",
    "[UNUSED_TOKEN",
];
/// Longest name between `<|` and `|>`, in bytes.
const LONGEST_NAME: usize = 40;

/// Broken or unusual characters of one text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Characters {
    /// All.
    pub all: u32,
    /// U+FFFD.
    pub replacement: u32,
    /// C0 and C1 controls other than tab and line ends.
    pub control: u32,
    /// Unassigned, of private use, or invisible.
    pub rare: u32,
}

/// Counts the characters of a text.
pub(super) fn characters(text: &str) -> Characters {
    let mut found = Characters::default();
    for c in text.chars() {
        found.all = found.all.saturating_add(1);
        match c {
            '\t' | '\n' | '\r' | ' '..='~' => {}
            '\u{fffd}' => found.replacement += 1,
            '\0'..='\x1f' | '\x7f'..='\u{9f}' => found.control += 1,
            // These join emoji and letters in many scripts.
            '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' => {}
            _ => {
                found.rare += u32::from(matches!(
                    c.general_category(),
                    GeneralCategory::Unassigned
                        | GeneralCategory::PrivateUse
                        | GeneralCategory::Format
                ));
            }
        }
    }
    found
}

/// Template tokens in a text, without those that its prompt holds as well: who asks about a
/// template may be shown it.
pub(super) fn template_tokens(text: &str, prompt: Option<&str>) -> u32 {
    let asked =
        |mark: &str| prompt.is_some_and(|p| memmem::find(p.as_bytes(), mark.as_bytes()).is_some());
    let mut count = 0u32;
    for mark in MARKS {
        let hits = memmem::find_iter(text.as_bytes(), mark.as_bytes()).count();
        if hits > 0 && !asked(mark) {
            count = count.saturating_add(hits as u32);
        }
    }
    // A name that stands often is looked up in the prompt once.
    let mut known: Vec<(&str, bool)> = Vec::new();
    let bars = [("<|", "|>"), ("<\u{ff5c}", "\u{ff5c}>")];
    for (open, close) in bars {
        for at in memmem::find_iter(text.as_bytes(), open.as_bytes()) {
            let Some(token) = bar_token(&text[at..], open, close) else {
                continue;
            };
            let excused = match known.iter().find(|k| k.0 == token) {
                Some(k) => k.1,
                None if known.len() < 32 => {
                    let excused = asked(token);
                    known.push((token, excused));
                    excused
                }
                None => false,
            };
            count = count.saturating_add(u32::from(!excused));
        }
    }
    count
}

/// The template token at the beginning of a text.
fn bar_token<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let name = &text[open.len()..];
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '\u{2581}');
    let end = name.find(|c: char| !part(c))?;
    let whole = end > 0 && end <= LONGEST_NAME && name[end..].starts_with(close);
    whole.then(|| &text[..open.len() + end + close.len()])
}
