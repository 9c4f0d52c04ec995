//! A second chance for records that are almost JSON.
//!
//! Loggers cut strings between the halves of a surrogate pair, write NaN for a missing number and
//! copy raw bytes. Such a record still holds evidence, so it is read lossily; its id is taken from
//! the untouched bytes elsewhere.

/// A copy that a strict reader may accept, or `None` where there is nothing to repair.
pub fn repair(record: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(record);
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut copied = 0;
    let mut in_string = false;
    let mut at = 0;
    while at < bytes.len() {
        let found = if in_string {
            match bytes[at] {
                b'"' => {
                    in_string = false;
                    None
                }
                b'\\' => {
                    let (length, lone) = escape(&bytes[at..]);
                    if !lone {
                        at += length;
                        continue;
                    }
                    Some((length, "\\ufffd".to_owned()))
                }
                byte if byte < 0x20 => Some((1, format!("\\u{byte:04x}"))),
                _ => None,
            }
        } else {
            in_string = bytes[at] == b'"';
            not_a_number(&bytes[at..]).map(|length| (length, "null".to_owned()))
        };
        match found {
            Some((length, replacement)) => {
                out.push_str(text.get(copied..at)?);
                out.push_str(&replacement);
                at += length;
                copied = at;
            }
            None => at += 1,
        }
    }
    if copied == 0 {
        // Nothing replaced: worth a second look only where the lossy copy differs.
        return (text.as_bytes() != record).then(|| text.into_owned());
    }
    out.push_str(text.get(copied..)?);
    Some(out)
}

/// Length of the escape at the start, and whether it is half of a surrogate pair without the other.
fn escape(bytes: &[u8]) -> (usize, bool) {
    match code_unit(bytes) {
        None => (2, false),
        Some(0xd800..=0xdbff) => match bytes.get(6..).and_then(code_unit) {
            Some(0xdc00..=0xdfff) => (12, false),
            _ => (6, true),
        },
        Some(0xdc00..=0xdfff) => (6, true),
        Some(_) => (6, false),
    }
}

/// The code unit of a `\uXXXX` escape at the start.
pub(super) fn code_unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Length of a number word that Python writes and JSON does not know.
fn not_a_number(bytes: &[u8]) -> Option<usize> {
    ["NaN", "Infinity", "-Infinity"]
        .iter()
        .find(|word| bytes.starts_with(word.as_bytes()))
        .map(|word| word.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        for (input, expected) in [
            (r#"{"a":"b"}"#, None),
            (r#""\ud83d\ude00""#, None),
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""\ude00x""#, Some(r#""\ufffdx""#)),
            (r#""\\ud83d""#, None),
            (r#"[NaN,-Infinity,"NaN"]"#, Some(r#"[null,null,"NaN"]"#)),
            ("\"a\u{0}b\"", Some(r#""a\u0000b""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\"#, None),
        ] {
            assert_eq!(repair(input.as_bytes()).as_deref(), expected, "{input}");
        }
    }
}
