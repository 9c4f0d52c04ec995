//! The rules of tokens, written to be read: what the fast tokeniser must equal.

use super::chars::{Kind, kind, next_char, starts_segment_by_table};
use super::tokens::Tokens;
use crate::exchange::{BorderKind, FieldText};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// A token as (folded text, first byte, end byte, weight), or a barrier as its cut flag.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Token(String, u32, u32, u8),
    Barrier(bool),
}

pub(crate) fn of_tokens(tokens: &Tokens) -> Vec<Item> {
    let mut items = Vec::new();
    for at in 0..=tokens.len() {
        for b in tokens.barriers.iter().filter(|b| b.at as usize == at) {
            items.push(Item::Barrier(b.cut));
        }
        if at < tokens.len() {
            let text = String::from_utf8(tokens.folded(at).to_vec()).unwrap();
            assert_eq!(tokens.hash[at], super::hash::hash(text.as_bytes()));
            items.push(Item::Token(
                text,
                tokens.start[at],
                tokens.end[at],
                tokens.weight[at],
            ));
        }
    }
    items
}

pub(crate) fn tokenize(field: &FieldText) -> Vec<Item> {
    let text = &field.text;
    let mut items = vec![Item::Barrier(false)];
    let mut from = 0;
    let mut borders: Vec<(usize, usize, bool)> = Vec::new();
    for b in &field.borders {
        let mut start = b.start;
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let mut end = b.end;
        while !text.is_char_boundary(end) {
            end += 1;
        }
        borders.push((start.max(from), end.max(from), b.kind == BorderKind::Cut));
        from = end.max(from);
    }
    from = 0;
    borders.push((text.len(), text.len(), false));
    for (start, end, cut) in borders {
        part(&text[from..start], from, &mut items);
        match items.last_mut() {
            Some(Item::Barrier(before)) => *before |= cut,
            _ => items.push(Item::Barrier(cut)),
        }
        from = end;
    }
    items
}

fn part(text: &str, base: usize, items: &mut Vec<Item>) {
    // Segments of characters; a separator by escape stands between two segments as `None`.
    let mut segments: Vec<Option<(String, u32, u32)>> = Vec::new();
    let mut at = 0;
    while let Some((c, length)) = next_char(&text[at..]) {
        let (start, end) = ((base + at) as u32, (base + at + length) as u32);
        at += length;
        match (c, segments.last_mut()) {
            (None, _) => segments.push(None),
            (Some(c), Some(Some(last))) if !starts_segment_by_table(c) => {
                last.0.push(c);
                last.2 = end;
            }
            (Some(c), _) => segments.push(Some((c.to_string(), start, end))),
        }
    }
    // Characters after normalisation and folding, each with the bytes of its segment.
    let mapper = icu_casemap::CaseMapper::new();
    let mut chars: Vec<(char, u32, u32)> = Vec::new();
    for segment in segments {
        match segment {
            None => chars.push((' ', 0, 0)),
            Some((text, start, end)) => {
                let normal: String = text.nfkc().collect();
                let folded = mapper.fold_string(&normal);
                chars.extend(folded.chars().map(|c| (c, start, end)));
            }
        }
    }
    let mut at = 0;
    while at < chars.len() {
        let mut end = at + 1;
        match kind(chars[at].0) {
            Kind::Other => {}
            Kind::Single => push(&chars[at..end], 1, items),
            Kind::Cluster => {
                while end < chars.len()
                    && matches!(kind(chars[end].0), Kind::Cluster | Kind::SharedMark)
                {
                    end += 1;
                }
                clusters(&chars[at..end], items);
            }
            Kind::Word | Kind::SharedMark => {
                while end < chars.len()
                    && matches!(kind(chars[end].0), Kind::Word | Kind::SharedMark)
                {
                    end += 1;
                }
                push(&chars[at..end], 2, items);
            }
        }
        at = end;
    }
}

fn clusters(chars: &[(char, u32, u32)], items: &mut Vec<Item>) {
    let text: String = chars.iter().map(|c| c.0).collect();
    let mut at = 0;
    for cluster in text.graphemes(true) {
        let end = at + cluster.chars().count();
        if super::chars::is_word(chars[at].0) {
            push(&chars[at..end], 1, items);
        }
        at = end;
    }
}

fn push(chars: &[(char, u32, u32)], weight: u8, items: &mut Vec<Item>) {
    let text = chars.iter().map(|c| c.0).collect();
    items.push(Item::Token(
        text,
        chars[0].1,
        chars[chars.len() - 1].2,
        weight,
    ));
}
