//! A record without its texts, made without reading them.
//!
//! Who asks for facts only (counts, times, ids) need not pay for megabytes of prompt. Strings are
//! passed over by their quotes alone, so what is left out is not checked in any way; what is kept
//! is read by the ordinary decoder.

use memchr::memchr;

/// The object with `null` for those values of its top level that `drops` says, given the key as it
/// stands and the bytes of the value; `None` where its structure cannot be followed.
pub(super) fn without(record: &[u8], drops: impl Fn(&[u8], &[u8]) -> bool) -> Option<Vec<u8>> {
    let mut out = vec![b'{'];
    let mut at = blank_end(record, 0);
    if record.get(at) != Some(&b'{') {
        return None;
    }
    at = blank_end(record, at + 1);
    while record.get(at) == Some(&b'"') {
        let start = at;
        at = string_end(record, at)?;
        let key = record.get(start + 1..at - 1)?;
        at = blank_end(record, at);
        if record.get(at) != Some(&b':') {
            return None;
        }
        let value = blank_end(record, at + 1);
        at = value_end(record, value)?;
        if out.len() > 1 {
            out.push(b',');
        }
        if drops(key, record.get(value..at)?) {
            out.extend_from_slice(record.get(start..value)?);
            out.extend_from_slice(b"null");
        } else {
            out.extend_from_slice(record.get(start..at)?);
        }
        at = blank_end(record, at);
        match record.get(at)? {
            b',' => at = blank_end(record, at + 1),
            b'}' => {
                out.push(b'}');
                let rest = record.get(at + 1..)?;
                return rest.trim_ascii().is_empty().then_some(out);
            }
            _ => return None,
        }
    }
    None
}

fn blank_end(record: &[u8], mut at: usize) -> usize {
    while record.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// One past the closing quote of the string that opens at `at`.
fn string_end(record: &[u8], at: usize) -> Option<usize> {
    let start = at + 1;
    let mut from = start;
    loop {
        let quote = from + memchr(b'"', record.get(from..)?)?;
        let before = record.get(start..quote)?;
        let slashes = before.iter().rev().take_while(|b| **b == b'\\').count();
        from = quote + 1;
        if slashes % 2 == 0 {
            return Some(from);
        }
    }
}

/// One past the value that begins at `at`.
fn value_end(record: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        match record.get(at)? {
            b'"' => at = string_end(record, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
                continue;
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                at += 1;
            }
            b'}' | b']' | b',' if depth == 0 => return None,
            b',' | b':' => {
                at += 1;
                continue;
            }
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            _ => at = word_end(record, at),
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// One past the number or word that begins at `at`.
fn word_end(record: &[u8], at: usize) -> usize {
    let ends = |b: &u8| matches!(b, b',' | b'}' | b']' | b'"') || b.is_ascii_whitespace();
    let rest = record.get(at..).unwrap_or_default();
    at + rest.iter().position(ends).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::json::Json;
    use proptest::prelude::*;

    #[test]
    fn table() {
        for (record, expected) in [
            (
                r#"{"a":1,"t":"x","b":[1,{"t":2}]}"#,
                Some(r#"{"a":1,"t":null,"b":[1,{"t":2}]}"#),
            ),
            (
                r#" { "t" : "\"}" , "a" : "\\" } "#,
                Some(r#"{"t" : null,"a" : "\\"}"#),
            ),
            (r#"{"t":[{"x":"]}"},"{"]}"#, Some(r#"{"t":null}"#)),
            (r#"{"t":12,"a":true}"#, Some(r#"{"t":null,"a":true}"#)),
            ("{}", None),
            ("[1]", None),
            (r#"{"t":"open"#, None),
            (r#"{"t":}"#, None),
            (r#"{"t":"x"} more"#, None),
            (r#"{"a" 1}"#, None),
        ] {
            let thin = without(record.as_bytes(), |key, _| key == b"t");
            let thin = thin.map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(thin.as_deref(), expected, "{record}");
        }
    }

    proptest! {
        #[test]
        fn what_is_kept_is_as_it_was(texts in prop::collection::vec(any::<String>(), 1..5)) {
            let entries: Vec<String> = texts
                .iter()
                .enumerate()
                .map(|(i, text)| {
                    let quoted = serde_json::to_string(text).expect("a string");
                    format!("\"k{i}\": {{\"v\": [{quoted}, {i}]}}")
                })
                .collect();
            let record = format!("{{{}}}", entries.join(" ,"));
            let thin = without(record.as_bytes(), |key, _| key == b"k0").expect("well formed");
            let thin = String::from_utf8(thin).expect("parts of a text");
            let (whole, thin) = (Json::parse(&record).unwrap(), Json::parse(&thin).unwrap());
            prop_assert!(whole.entries().get(1..) == thin.entries().get(1..));
        }

        #[test]
        fn soup_does_no_harm(bytes in prop::collection::vec(
            prop::sample::select(b"{}[],:\"\\ a1t".to_vec()), 0..40)) {
            let _ = without(&bytes, |key, _| key == b"t");
        }
    }
}
