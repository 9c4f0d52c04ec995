//! The pieces of a text that can hold an identifier, found in one look at each byte.

/// Longest piece that is looked at as a whole; what is longer is cut.
const LONGEST: usize = 16 << 10;
/// Fewest digits of a number piece.
const DIGITS: usize = 6;

/// Separates lumps: spaces, quotes, brackets, controls, and all that is not ASCII.
const OUTSIDE: u8 = 0;
const DIGIT: u8 = 1;
const LETTER: u8 = 2;
/// Punctuation inside identifiers that says nothing by itself.
const PLAIN: u8 = 4;
/// `@`, `/`, `\`.
const TELLING: u8 = 8;
const CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [OUTSIDE; 256];
    let mut b = 0x21;
    while b < 0x7f {
        let byte = b as u8;
        table[b] = match byte {
            b'0'..=b'9' => DIGIT,
            b'A'..=b'Z' | b'a'..=b'z' => LETTER,
            b'"' | b'\'' | b'`' | b'<' | b'>' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'|'
            | b',' | b';' => OUTSIDE,
            b'@' | b'/' | b'\\' => TELLING,
            _ => PLAIN,
        };
        b += 1;
    }
    table
}

/// Bytes that are looked at together.
const CHUNK: usize = 16;

/// Whether some bytes can belong to a lump that counts: one of them is a digit or telling, or one
/// half can lie inside a long lump. Without branches, so that it is done on all bytes at once.
fn is_worth_a_look(chunk: &[u8; CHUNK]) -> bool {
    let mut telling = false;
    let mut solid = [true; 2];
    for (i, &b) in chunk.iter().enumerate() {
        telling |= b.wrapping_sub(b'0') < 10 || b == b'@' || b == b'/' || b == b'\\';
        solid[i / (CHUNK / 2)] &= b.wrapping_sub(0x21) < 0x5e;
    }
    telling | solid[0] | solid[1]
}

/// Calls `found` with the bytes of each lump that can hold an identifier: six characters of which
/// one is a digit, or one of `@`, `/`, `\`; or sixteen of any sort.
pub(super) fn lumps(text: &str, mut found: impl FnMut(usize, usize)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    for from in (0..bytes.len()).step_by(CHUNK) {
        let to = from + CHUNK;
        if to <= at {
            continue;
        }
        let chunk = bytes.get(from..to).and_then(|c| c.try_into().ok());
        if chunk.is_some_and(|c| !is_worth_a_look(c)) {
            continue;
        }
        // A lump may begin before these bytes.
        let mut start = from.max(at);
        while start > at && CLASS[usize::from(bytes[start - 1])] != OUTSIDE {
            start -= 1;
        }
        at = start;
        while at < to.min(bytes.len()) {
            at = lump(bytes, at, &mut found);
        }
    }
}

/// Looks at the lump that begins at a byte; where the next one may begin.
fn lump(bytes: &[u8], start: usize, found: &mut impl FnMut(usize, usize)) -> usize {
    let mut at = start;
    let mut seen = 0;
    while at < bytes.len() && at - start < LONGEST {
        let class = CLASS[usize::from(bytes[at])];
        if class == OUTSIDE {
            break;
        }
        seen |= class;
        at += 1;
    }
    let length = at - start;
    if length >= 16 || (length >= 6 && seen & (DIGIT | TELLING) != 0) {
        found(start, at);
    }
    at + usize::from(length < LONGEST)
}

/// The next digit.
fn next_digit(bytes: &[u8], from: usize) -> Option<usize> {
    let digit = |b: &u8| b.wrapping_sub(b'0') < 10;
    let mut at = from;
    for chunk in bytes[from..].chunks(CHUNK) {
        if chunk.iter().fold(false, |any, b| any | digit(b)) {
            return chunk.iter().position(digit).map(|i| at + i);
        }
        at += chunk.len();
    }
    None
}

/// Calls `found` with the bytes of each piece of digits and what groups them: six digits or more
/// in parts of letters and digits, at most two separators apart.
pub(super) fn numbers(text: &str, mut found: impl FnMut(usize, usize)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(first) = next_digit(bytes, at) {
        let start = widen(bytes, at, first);
        let mut end = first;
        let mut digits = 0;
        loop {
            while end < bytes.len() && bytes[end].is_ascii_alphanumeric() {
                digits += usize::from(bytes[end].is_ascii_digit());
                end += 1;
            }
            match continued(bytes, end) {
                Some(next) if next - start < LONGEST => end = next,
                _ => break,
            }
        }
        if digits >= DIGITS {
            found(start, end);
        }
        at = end;
    }
}

/// Takes in the rest of the part, a short upper-case part before it, and a sign.
fn widen(bytes: &[u8], floor: usize, first: usize) -> usize {
    let part = |mut from: usize| {
        while from > floor && bytes[from - 1].is_ascii_alphanumeric() {
            from -= 1;
        }
        from
    };
    let mut start = part(first);
    if start > floor && matches!(bytes[start - 1], b'-' | b'#') {
        let before = part(start - 1);
        let upper = bytes[before..start - 1].iter().all(u8::is_ascii_uppercase);
        if upper && start - before <= 6 {
            start = before;
        } else if bytes[start - 1] == b'#' {
            start -= 1;
        }
    }
    while start > floor && matches!(bytes[start - 1], b'+' | b'(' | b'#') {
        start -= 1;
    }
    start
}

/// Where the next part of a number piece begins.
fn continued(bytes: &[u8], end: usize) -> Option<usize> {
    let separator = |b: &u8| matches!(b, b' ' | b'-' | b'.' | b'/' | b'(' | b')');
    let gap = bytes[end..]
        .iter()
        .take(3)
        .take_while(|b| separator(b))
        .count();
    if !(1..=2).contains(&gap) {
        return None;
    }
    let next = end + gap;
    let part = bytes[next..]
        .iter()
        .take(5)
        .take_while(|b| b.is_ascii_alphanumeric());
    let (mut length, mut digit, mut upper) = (0, false, true);
    for b in part {
        length += 1;
        digit |= b.is_ascii_digit();
        upper &= b.is_ascii_uppercase();
    }
    (digit || (upper && (1..=4).contains(&length))).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, f: impl Fn(&str, &mut dyn FnMut(usize, usize))) -> Vec<String> {
        let mut out = Vec::new();
        f(text, &mut |a, b| out.push(text[a..b].to_owned()));
        out
    }

    #[test]
    fn pieces_are_cut_where_identifiers_end() {
        let lumps_of = |t: &str| all(t, |t, f| lumps(t, f));
        assert_eq!(
            lumps_of("a plain sentence of short words"),
            Vec::<String>::new()
        );
        assert_eq!(lumps_of("id=\"ab12cd34\", x"), ["ab12cd34"]);
        assert_eq!(lumps_of("番号ab12cd34です"), ["ab12cd34"]);
        assert_eq!(lumps_of("(see /srv/x.key)"), ["/srv/x.key"]);
        let numbers_of = |t: &str| all(t, |t, f| numbers(t, f));
        assert_eq!(
            numbers_of("call +49 (30) 5574-8213, or 12"),
            ["+49 (30) 5574-8213"]
        );
        assert_eq!(
            numbers_of("GB29 NWBK 6016 1331 9268 19."),
            ["GB29 NWBK 6016 1331 9268 19"]
        );
        assert_eq!(
            numbers_of("no. INV-4821396 #48213967"),
            ["INV-4821396", "#48213967"]
        );
        assert_eq!(
            numbers_of("身份证110105198406154827号"),
            ["110105198406154827"]
        );
        assert_eq!(numbers_of("1, 2, 3, 4, 5, 6, 7"), Vec::<String>::new());
    }

    proptest::proptest! {
        #[test]
        fn pieces_are_in_order_and_hold_every_telling_byte(text in "[ -~é漢\\n]{0,200}") {
            // The same without leaving anything out.
            let (mut all, mut some, mut at) = (Vec::new(), Vec::new(), 0);
            while at < text.len() {
                at = lump(text.as_bytes(), at, &mut |a, b| all.push((a, b)));
            }
            lumps(&text, |a, b| some.push((a, b)));
            proptest::prop_assert_eq!(all, some);
            let mut last = 0;
            let mut inside = vec![false; text.len()];
            lumps(&text, |a, b| {
                assert!(last <= a && a < b && text.is_char_boundary(a) && text.is_char_boundary(b));
                last = b;
                inside[a..b].fill(true);
            });
            // Each run of eight letters and digits, one of them a digit, lies in a lump.
            for (at, run) in text.as_bytes().windows(8).enumerate() {
                if run.iter().all(u8::is_ascii_alphanumeric) && run.iter().any(u8::is_ascii_digit) {
                    proptest::prop_assert!(inside[at..at + 8].iter().all(|&i| i));
                }
            }
            last = 0;
            numbers(&text, |a, b| {
                assert!(last <= a && a < b && text.is_char_boundary(a) && text.is_char_boundary(b));
                last = b;
            });
        }
    }
}
