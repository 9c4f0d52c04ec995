//! Numbers and words out of a line whose shape is known.

/// What stands behind the first `mark` in `text`.
pub(super) fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.find(mark).and_then(|at| text.get(at + mark.len()..))
}

/// The whole number at the start of `text`, thousands separators allowed; `None` beyond 64 bits.
pub(super) fn integer(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut value: Option<i64> = None;
    let bytes = digits.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                let digit = i64::from(byte - b'0');
                value = Some(value.unwrap_or(0).checked_mul(10)?.checked_add(digit)?);
            }
            b',' if value.is_some() && group_of_three(bytes.get(at + 1..)) => {}
            _ => break,
        }
    }
    value.map(|v| if negative { -v } else { v })
}

/// Three digits that no fourth follows.
fn group_of_three(bytes: Option<&[u8]>) -> bool {
    let Some(bytes) = bytes else { return false };
    bytes.iter().take_while(|b| b.is_ascii_digit()).count() == 3
}

/// The number at the start of `text` in thousandths; digits beyond the third are dropped.
pub(super) fn thousandths(text: &str) -> Option<i64> {
    let whole: &str = text.get(
        ..text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len()),
    )?;
    let mut value = whole.parse::<i64>().ok()?.checked_mul(1000)?;
    if let Some(fraction) = text.get(whole.len()..)?.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).take(3);
        for (scale, digit) in [100, 10, 1].into_iter().zip(digits) {
            value = value.checked_add(i64::from(digit - b'0') * scale)?;
        }
    }
    Some(value)
}

/// The whole number behind `mark`.
pub(super) fn number(text: &str, mark: &str) -> Option<i64> {
    integer(after(text, mark)?)
}

/// The digits behind `mark`.
pub(super) fn digits<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let rest = after(text, mark)?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    rest.get(..end).filter(|d| !d.is_empty())
}

/// What stands between quotes behind `mark`, as Python's `repr` writes a string.
pub(super) fn quoted<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let rest = after(text, mark)?;
    let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inside = rest.get(1..)?;
    inside.get(..inside.find(quote)?)
}

/// What stands behind `mark`, up to the next of `ends`.
pub(super) fn word<'a>(text: &'a str, mark: &str, ends: &[char]) -> Option<&'a str> {
    let rest = after(text, mark)?;
    rest.get(..rest.find(ends).unwrap_or(rest.len()))
}
