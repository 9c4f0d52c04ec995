//! How much a value tells: a cautious estimate in bits, the same on every machine.
//!
//! A random string is worth what its alphabet gives; a word is worth little however long it is; a
//! character that continues a count, a repeat or a keyboard row is worth almost nothing. Integers
//! only, in tenths of a bit.

/// A decimal digit.
const DIGIT: u32 = 33;
/// A letter between digits.
const LETTER: u32 = 47;
/// Two letters between digits.
const PAIR: u32 = 80;
/// Letters enough to be a word.
const WORD: u32 = 100;
/// A number that can be a year.
const YEAR: u32 = 60;
/// A character that the ones before it foretell.
const FORETOLD: u32 = 8;
/// Least worth of one part that is called random.
pub(super) const RANDOM: u32 = 30;
/// Least characters of one part that is called random.
const RANDOM_LENGTH: usize = 8;

/// Bits of a value: of all its parts of ASCII letters and digits.
pub(super) fn of(value: &[u8]) -> u32 {
    parts(value).map(part_tenths).sum::<u32>() / 10
}

/// Whether one part of a value looks random.
pub(super) fn has_random_part(value: &[u8]) -> bool {
    parts(value).any(is_random)
}

/// Bits of what is no word: numbers, and letters between them.
pub(super) fn beside_words(value: &[u8]) -> u32 {
    let runs = parts(value).filter(|p| p.iter().any(u8::is_ascii_digit));
    let tenths: u32 = runs
        .flat_map(|p| p.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()))
        .filter(|run| run[0].is_ascii_digit() || run.len() < 3)
        .map(part_tenths)
        .sum();
    tenths / 10
}

/// Maximal runs of ASCII letters and digits.
pub(super) fn parts(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|b| !b.is_ascii_alphanumeric())
        .filter(|p| !p.is_empty())
}

/// Whether a part looks random: letters and digits that are no word with a number, or letters
/// whose case changes as no word's does.
pub(super) fn is_random(part: &[u8]) -> bool {
    if part.len() < RANDOM_LENGTH || part_tenths(part) < RANDOM * 10 {
        return false;
    }
    (part.iter().any(u8::is_ascii_digit) && part.iter().any(u8::is_ascii_alphabetic))
        || shuffled_case(part)
}

/// Bits of one part, without its surroundings.
pub(super) fn of_part(part: &[u8]) -> u32 {
    part_tenths(part) / 10
}

fn part_tenths(part: &[u8]) -> u32 {
    if part.iter().all(u8::is_ascii_digit) {
        return number(part);
    }
    if shuffled_case(part) {
        return characters(part, LETTER);
    }
    let mut sum = 0;
    for run in part.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
        sum += if run[0].is_ascii_digit() {
            number(run)
        } else {
            match run.len() {
                1 => LETTER,
                2 => PAIR,
                _ => WORD,
            }
        };
    }
    sum.min(characters(part, LETTER))
}

fn number(digits: &[u8]) -> u32 {
    let year = |d: &[u8]| d.starts_with(b"19") || d.starts_with(b"20");
    match digits.len() {
        4 if year(digits) => YEAR,
        // A date without separators.
        8 if year(digits) && matches!(digits[4], b'0' | b'1') && digits[6] <= b'3' => 2 * YEAR,
        _ => characters(digits, DIGIT),
    }
}

/// Each character at full worth unless those before foretell it.
fn characters(text: &[u8], worth: u32) -> u32 {
    (0..text.len())
        .map(|i| if foretold(text, i) { FORETOLD } else { worth })
        .sum()
}

/// Whether a character repeats or counts on from one of the two before it.
fn foretold(text: &[u8], at: usize) -> bool {
    let lower = |i: usize| text[i].to_ascii_lowercase();
    let here = lower(at);
    let next = |b: u8| b.wrapping_add(1);
    (at >= 1
        && (here == lower(at - 1) || here == next(lower(at - 1)) || next(here) == lower(at - 1)))
        || (at >= 2 && (here == lower(at - 2) || here == next(lower(at - 2))))
}

/// Letters of both cases, long, and changing case more often than words put together do.
fn shuffled_case(part: &[u8]) -> bool {
    if part.len() < 16 || part.iter().any(u8::is_ascii_digit) {
        return false;
    }
    let changes = part
        .windows(2)
        .filter(|p| p[0].is_ascii_uppercase() != p[1].is_ascii_uppercase())
        .count();
    changes * 3 >= part.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_is_worth_more_than_words_and_counting() {
        for value in [
            "K7X2MVZ9LBT4WRP6Q",
            "7f3a9b12ce44",
            "k8Vq2mZ7xT9w",
            "dGhJcyBpQyBhRmVzZWNyZXQ",
            "a91fc03e",
            "2fQ9zL7w",
        ] {
            assert!(
                has_random_part(value.as_bytes()),
                "{value}: {}",
                of(value.as_bytes())
            );
        }
        for value in [
            "sha256sum",
            "base64decode",
            "getElementById",
            "internationalization",
            "utf8mb4",
            "1234567890abcdef",
            "a1b2c3d4e5",
            "abc123def456",
            "abcdefgh12345678",
            "20240131T",
            "12345678",
            "x86",
            "changeme123",
            "Windows10",
            "aaaaaaaa1111",
            "AbstractSingletonProxyFactoryBean",
        ] {
            assert!(
                !has_random_part(value.as_bytes()),
                "{value}: {}",
                of(value.as_bytes())
            );
        }
        assert!(of(b"7f3a-92bc-4d1e-a08f-c6b5") >= 40);
        assert!(of(b"gpt-4-0125-preview") < 50);
        assert_eq!(of(b""), 0);
    }
}
