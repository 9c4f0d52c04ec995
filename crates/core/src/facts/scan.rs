//! Facts in a text, in one form whatever the locale writes: numbers, dates, names, ids.
//!
//! `681 280`, `681.280` and `681,280` are one number; `2026-09-01`, `01.09.2026`, `9/1/2026`,
//! `1 Sept 2026` and `2026年9月1日` one date: day and month are told apart by size only, because
//! locales disagree on their order.

use crate::text::Tokens;
use crate::text::token_hash;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Sorts of facts, as places in [`crate::probe::Joint::sorts`].
pub(super) const NAME: u8 = 0;
pub(super) const NUMBER: u8 = 1;
pub(super) const DATE: u8 = 2;
pub(super) const ID: u8 = 3;

/// Most bytes of digits of one number.
const MOST_DIGITS: usize = 40;

/// A fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fact {
    pub key: u64,
    pub bytes: (u32, u32),
    pub sort: u8,
    /// Digits that say something: without leading and trailing zeros; characters of a word.
    pub size: u32,
    /// The hash under which texts count it as a token: of the word, or of the digits in one piece.
    pub token: u64,
}

/// A run of digits.
struct Piece {
    digits: String,
    start: usize,
    end: usize,
    /// What stands between it and the next piece, if that is one character.
    separator: Option<char>,
    /// A letter stands before or behind it: it is part of a word.
    in_word: bool,
}

fn digit(c: char) -> Option<char> {
    match c {
        '0'..='9' => Some(c),
        '\u{ff10}'..='\u{ff19}' => char::from_digit(c as u32 - 0xff10, 10),
        '\u{660}'..='\u{669}' => char::from_digit(c as u32 - 0x660, 10),
        '\u{6f0}'..='\u{6f9}' => char::from_digit(c as u32 - 0x6f0, 10),
        '\u{966}'..='\u{96f}' => char::from_digit(c as u32 - 0x966, 10),
        _ => None,
    }
}

/// The space or mark that a character stands for between digits.
fn separator(c: char) -> char {
    match c {
        '\u{a0}' | '\u{2009}' | '\u{202f}' => ' ',
        '\u{2019}' | '\u{ff07}' => '\'',
        '\u{ff0c}' | '\u{66c}' => ',',
        '\u{ff0e}' | '\u{66b}' => '.',
        '\u{2010}' | '\u{2011}' | '\u{2013}' => '-',
        '년' => '年',
        '월' => '月',
        '일' => '日',
        c => c,
    }
}

/// Calls `each` with the pieces that only single characters part, group by group.
fn for_each_group(text: &str, mut each: impl FnMut(&[Piece])) {
    let mut group: Vec<Piece> = Vec::new();
    let mut before: Option<char> = None;
    let mut open = false;
    // The character behind the last piece, while nothing else followed.
    let mut gap: Option<char> = None;
    for (at, c) in text.char_indices() {
        if let Some(d) = digit(c) {
            if !open {
                match (gap.take(), group.last_mut()) {
                    (Some(s), Some(last)) if group_goes_on(s) => last.separator = Some(s),
                    _ => {
                        each(&group);
                        group.clear();
                    }
                }
                group.push(Piece {
                    digits: String::new(),
                    start: at,
                    end: at,
                    separator: None,
                    in_word: before.is_some_and(|b| b.is_ascii_alphabetic() || b == '_'),
                });
                open = true;
            }
            if let Some(piece) = group.last_mut() {
                piece.end = at + c.len_utf8();
                if piece.digits.len() < MOST_DIGITS {
                    piece.digits.push(d);
                }
            }
        } else if open {
            if let Some(piece) = group.last_mut() {
                piece.in_word |= c.is_ascii_alphabetic() && c != 'T' || c == '_';
                piece.separator = (separator(c) == '日').then_some('日');
            }
            gap = Some(separator(c));
            open = false;
        } else if gap != Some('年') && gap != Some('月') || c != ' ' {
            // Korean sets a space behind its marks.
            gap = None;
        }
        before = Some(c);
    }
    each(&group);
}

fn group_goes_on(c: char) -> bool {
    matches!(c, ' ' | ',' | '.' | '\'' | '-' | '/' | '年' | '月')
}

/// Numbers and dates written in digits.
pub(super) fn for_each_number(text: &str, mut each: impl FnMut(Fact)) {
    for_each_group(text, |group| {
        let mut at = 0;
        while at < group.len() {
            if let Some(fact) = date_at(&group[at..]) {
                each(fact);
                at += 3;
                continue;
            }
            let taken = number_length(&group[at..]);
            number(&group[at..at + taken], &mut each);
            at += taken;
        }
    });
}

fn date_at(group: &[Piece]) -> Option<Fact> {
    let [a, b, c, ..] = group else { return None };
    let (first, second) = (a.separator?, b.separator?);
    let marked = (first, second, c.separator) == ('年', '月', Some('日'));
    if !marked && (first != second || !matches!(first, '-' | '/' | '.')) {
        return None;
    }
    let number = |p: &Piece| p.digits.parse::<u32>().ok();
    let (x, y, z) = (number(a)?, number(b)?, number(c)?);
    let bytes = (a.start as u32, c.end as u32);
    match (a.digits.len(), b.digits.len(), c.digits.len()) {
        (4, 1..=2, 1..=2) => date((x, y, z), bytes),
        (1..=2, 1..=2, 4) => date((z, x, y), bytes),
        _ => None,
    }
}

/// A date of a year and two numbers, one of them a month.
fn date((year, a, b): (u32, u32, u32), bytes: (u32, u32)) -> Option<Fact> {
    let (low, high) = (a.min(b), a.max(b));
    if !(1900..2200).contains(&year) || low == 0 || low > 12 || high > 31 {
        return None;
    }
    let text = format!("{year} {low} {high}");
    Some(Fact {
        key: xxh3_64_with_seed(text.as_bytes(), u64::from(DATE)),
        bytes,
        sort: DATE,
        size: 8,
        token: 0,
    })
}

/// How many pieces one number takes: groups of three, and decimals.
fn number_length(group: &[Piece]) -> usize {
    let mut taken = 1;
    let Some(mark) = group[0].separator else {
        return 1;
    };
    if group[0].digits.len() <= 3 && matches!(mark, ' ' | ',' | '.' | '\'') {
        while taken < group.len()
            && group[taken - 1].separator == Some(mark)
            && group[taken].digits.len() == 3
        {
            taken += 1;
        }
    }
    let decimal = matches!(group[taken - 1].separator, Some('.' | ','));
    let other = taken == 1 || group[taken - 1].separator != Some(mark);
    if decimal && other && taken < group.len() {
        taken += 1;
    }
    taken
}

fn number(pieces: &[Piece], each: &mut impl FnMut(Fact)) {
    if pieces.iter().any(|p| p.in_word) {
        return;
    }
    let bytes = (pieces[0].start as u32, pieces[pieces.len() - 1].end as u32);
    // The last piece is decimals if it is not one more group of three.
    let mark = pieces[0].separator;
    let grouped = |at: usize| pieces[at].digits.len() == 3 && pieces[at - 1].separator == mark;
    let whole = (1..pieces.len())
        .find(|&at| !grouped(at) || pieces[0].digits.len() > 3)
        .unwrap_or(pieces.len());
    let mut text: String = pieces[..whole].iter().map(|p| p.digits.as_str()).collect();
    let plain = text.clone();
    if let Some(decimals) = pieces.get(whole) {
        let decimals = decimals.digits.trim_end_matches('0');
        if !decimals.is_empty() {
            text.push('.');
            text.push_str(decimals);
        }
    }
    let size = text.replace('.', "");
    let size = size.trim_start_matches('0').trim_end_matches('0').len();
    each(Fact {
        key: xxh3_64_with_seed(text.as_bytes(), u64::from(NUMBER)),
        bytes,
        sort: NUMBER,
        size: size as u32,
        token: token_hash(plain.as_bytes()),
    });
    // A space may part two numbers as well.
    if mark == Some(' ') && whole > 1 {
        for piece in pieces {
            number(
                std::slice::from_ref(&Piece {
                    digits: piece.digits.clone(),
                    separator: None,
                    ..*piece
                }),
                each,
            );
        }
    }
}

/// Months by the first letters of their names in nine languages: English, German, French, Spanish,
/// Italian, Portuguese, Dutch, Polish, Russian. A word counts that begins with one of them.
const MONTHS: [&[&str]; 12] = [
    &["jan", "jän", "ene", "gen", "stycz", "янв"],
    &["feb", "fév", "fev", "lut", "фев"],
    &["mar", "mär", "maa", "мар"],
    &["apr", "avr", "abr", "kwie", "апр"],
    &["may", "mai", "mag", "mei", "maj", "мая", "май"],
    &["jun", "juin", "giu", "czerw", "июн"],
    &["jul", "juil", "lug", "lip", "июл"],
    &["aug", "aoû", "aou", "ago", "sierp", "авг"],
    &["sep", "set", "wrz", "сен"],
    &["oct", "okt", "ott", "out", "paź", "окт"],
    &["nov", "lis", "ноя"],
    &["dec", "dez", "déc", "dic", "gru", "дек"],
];

/// Whole words that only look like months.
const NO_MONTHS: [&str; 12] = [
    "mark",
    "market",
    "mary",
    "martin",
    "second",
    "section",
    "september's",
    "general",
    "decision",
    "novel",
    "out",
    "set",
];

fn month(folded: &[u8]) -> Option<u32> {
    let word = std::str::from_utf8(folded).ok()?;
    if word.chars().count() > 12 || NO_MONTHS.contains(&word) {
        return None;
    }
    let of = |names: &&[&str]| names.iter().any(|n| word.starts_with(n));
    MONTHS.iter().position(of).map(|m| m as u32 + 1)
}

/// The number that a token begins with, with at most two letters behind it (`1st`, `2nd`, `1er`).
fn ordinal(folded: &[u8]) -> Option<(u32, usize)> {
    let digits = folded.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = folded.len() - digits;
    if digits == 0 || digits > 4 || rest > 2 {
        return None;
    }
    let number = std::str::from_utf8(&folded[..digits]).ok()?.parse().ok()?;
    Some((number, if rest > 0 { 0 } else { digits }))
}

/// Dates with the name of a month.
pub(super) fn for_each_named_date(tokens: &Tokens, mut each: impl FnMut(Fact)) {
    let joining = |at: usize| matches!(tokens.folded(at), b"of" | b"de" | b"di" | b"del" | b"den");
    let next = |at: usize| at + 1 + usize::from(at + 1 < tokens.len() && joining(at + 1));
    let back = |at: usize| {
        let near = at.checked_sub(1)?;
        if joining(near) {
            near.checked_sub(1)
        } else {
            Some(near)
        }
    };
    let year = |at: usize| {
        let found = (at < tokens.len()).then(|| ordinal(tokens.folded(at)))??;
        (found.1 == 4).then_some(found.0)
    };
    let day = |at: usize| {
        let found = (at < tokens.len()).then(|| ordinal(tokens.folded(at)))??;
        (found.1 != 4 && found.0 <= 31).then_some(found.0)
    };
    for at in 0..tokens.len() {
        if tokens.weight[at] != 2 {
            continue;
        }
        let Some(month) = month(tokens.folded(at)) else {
            continue;
        };
        let before = back(at).and_then(|b| Some((b, at, day(b)?, year(next(at))?)));
        let found = before.or_else(|| Some((at, at + 1, day(at + 1)?, year(next(at + 1))?)));
        if let Some((from, last, day, year)) = found {
            let bytes = (tokens.start[from], tokens.end[next(last)]);
            if let Some(fact) = date((year, month, day), bytes) {
                each(fact);
            }
        }
    }
}

/// Words that may be names or ids: of letters, or of letters and digits.
pub(super) fn for_each_word(tokens: &Tokens, mut each: impl FnMut(usize, Fact)) {
    for at in 0..tokens.len() {
        let folded = tokens.folded(at);
        if tokens.weight[at] != 2 || folded.len() < 4 {
            continue;
        }
        let (mut letters, mut digits) = (0u32, 0u32);
        if folded.is_ascii() {
            digits = folded.iter().filter(|b| b.is_ascii_digit()).count() as u32;
            letters = folded.len() as u32 - digits;
        } else {
            for c in std::str::from_utf8(folded).unwrap_or_default().chars() {
                if c.is_numeric() {
                    digits += 1;
                } else {
                    letters += 1;
                }
            }
        }
        if letters == 0 || letters + digits < 4 {
            continue;
        }
        let sort = if digits > 0 { ID } else { NAME };
        let fact = Fact {
            key: tokens.hash[at].rotate_left(7) ^ 0x6661_6374,
            bytes: (tokens.start[at], tokens.end[at]),
            sort,
            size: letters + digits,
            token: tokens.hash[at],
        };
        each(at, fact);
    }
}
