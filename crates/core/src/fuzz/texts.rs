//! Single texts: tokens and canaries.

use super::input::{Input, with_borders};
use crate::canary::{Prompt, Scanner, mint};
use crate::exchange::FieldText;
use crate::text::{Skim, Tokens, tokenize, twin};
use std::sync::OnceLock;

/// Pieces with which the rules of tokens are known to be at odds.
const PIECES: [&str; 32] = [
    " ",
    "a",
    "Straße",
    "e\u{301}",
    "\u{e9}",
    "\u{212b}",
    "\u{fb01}",
    "漢字",
    "かな",
    "\u{e01}\u{e33}",
    "ก็",
    "\u{1f469}\u{200d}\u{1f680}",
    "\u{ac00}\u{11a8}",
    "\u{1100}\u{1161}",
    "\\u0301",
    "\\n",
    "\\\\u00e9",
    "\\ud83d\\ude00",
    "\\ud83d",
    "\u{200b}",
    "\u{bd}",
    "\u{1d400}",
    "12,345.6",
    "don't",
    "snake_case",
    "\u{345}",
    "\u{130}",
    "\u{feff}",
    "\u{64b}\u{651}",
    "\u{3099}",
    "\u{fdfa}",
    "0123456789abcdef0123456789abcdef",
];

/// A text: bytes below 0x80 stand for themselves, some above for pieces, all others as they are.
pub(super) fn text(data: &[u8]) -> String {
    let mut out = String::new();
    let mut raw = Vec::new();
    for &byte in data {
        let piece = PIECES.get(usize::from(byte.wrapping_sub(0xe0)));
        match piece {
            Some(piece) if raw.is_empty() => out.push_str(piece),
            _ => {
                raw.push(byte);
                // A character that began is not broken off by a piece.
                let whole = std::str::from_utf8(&raw);
                if let Ok(whole) = whole {
                    out.push_str(whole);
                    raw.clear();
                } else if raw.len() > 3 || whole.is_err_and(|e| e.error_len().is_some()) {
                    out.push_str(&String::from_utf8_lossy(&raw));
                    raw.clear();
                }
            }
        }
    }
    out.push_str(&String::from_utf8_lossy(&raw));
    out
}

/// The fast tokeniser against its definition.
pub(super) fn tokens(data: &[u8]) {
    let mut input = Input::new(data);
    let count = usize::from(input.below(8)) * 2;
    let places = input.take(count);
    let rest = input.rest();
    for text in [text(rest), String::from_utf8_lossy(rest).into_owned()] {
        let field = with_borders(text, places);
        let mut out = Tokens::default();
        tokenize(&field, &mut out);
        assert!(
            twin::of_tokens(&out) == twin::tokenize(&field),
            "other tokens than by the rules"
        );
        placed(&field, &out);
        // Where words stand, by a quick look: the same tokens.
        let mut hashes = Vec::new();
        let mut part_tokens = Tokens::default();
        Skim::default().each_part(&field, |part| {
            if !part.items.is_empty() {
                part.tokens(0, part.items.len(), &mut part_tokens);
                hashes.extend_from_slice(&part_tokens.hash);
            }
        });
        assert!(hashes == out.hash, "the quick look sees other tokens");
    }
}

/// Tokens lie between characters, and their places never go back.
fn placed(field: &FieldText, tokens: &Tokens) {
    let mut last = (0, 0);
    for at in 0..tokens.len() {
        let (start, end) = (tokens.start[at] as usize, tokens.end[at] as usize);
        assert!(start < end && end <= field.text.len(), "an empty token");
        assert!(
            field.text.is_char_boundary(start) && field.text.is_char_boundary(end),
            "a token inside a character"
        );
        assert!(last <= (start, end), "tokens go back");
        assert!(matches!(tokens.weight[at], 1 | 2), "a token without weight");
        assert!(std::str::from_utf8(tokens.folded(at)).is_ok_and(|t| !t.is_empty()));
        last = (start, end);
    }
    assert!(
        tokens.barriers.windows(2).all(|b| b[0].at < b[1].at),
        "barriers go back"
    );
}

/// Markers are found where they stand, and nowhere outside the text.
pub(super) fn canary(data: &[u8]) {
    static KEYS: OnceLock<(Scanner, Vec<Prompt>)> = OnceLock::new();
    let (scanner, prompts) = KEYS.get_or_init(|| {
        let keys = mint(&[7; 32], &["red".to_owned(), "blue".to_owned()]);
        (Scanner::new(&keys), keys.prompts())
    });
    let mut input = Input::new(data);
    let chosen = usize::from(input.byte()) % (prompts.len() + 1);
    let mode = input.byte();
    let mut field = FieldText::of(text(input.rest()));
    let planted = prompts.get(chosen);
    if let Some(Prompt { prompt, .. }) = planted {
        if mode & 1 == 0 {
            field.push_part(prompt);
        } else {
            // A piece of it, anywhere.
            let at = field
                .text
                .floor_char_boundary(usize::from(mode).min(field.text.len()));
            let from = prompt.floor_char_boundary(usize::from(mode / 2) % prompt.len());
            field.text.insert_str(at, &prompt[from..]);
        }
    }
    let mut tokens = Tokens::default();
    tokenize(&field, &mut tokens);
    let mut hits = Vec::new();
    scanner.scan(&tokens, &mut hits);
    let mut from = 0;
    for hit in &hits {
        let (start, end) = (hit.start as usize, hit.end as usize);
        assert!(
            field.text.get(start..end).is_some_and(|t| !t.is_empty()),
            "no place"
        );
        assert!(start >= from, "hits go back");
        assert!((hit.owner as usize) < scanner.owners().len() && hit.bits > 0);
        from = start;
    }
    if mode & 1 == 0
        && let Some(Prompt { tenant, .. }) = planted
    {
        let found = hits
            .iter()
            .any(|h| h.whole && scanner.owners()[h.owner as usize] == *tenant);
        assert!(found, "a planted marker was not found");
    }
}
