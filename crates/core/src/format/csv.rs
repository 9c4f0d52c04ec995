//! One row of a CSV file (RFC 4180), and columns by the names of a known header.

use super::json::Json;
use std::borrow::Cow;

/// Fields that a row may have; the widest known export has about forty.
const MAX_FIELDS: usize = 1024;

/// Splits a row; `None` where a quoted field does not end or there are too many.
pub fn fields(row: &str) -> Option<Vec<Cow<'_, str>>> {
    let mut rest = row.strip_suffix('\r').unwrap_or(row);
    let mut out = Vec::new();
    loop {
        let (field, behind) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_field(quoted)?,
            None => {
                let end = memchr::memchr(b',', rest.as_bytes()).unwrap_or(rest.len());
                let (field, behind) = rest.split_at(end);
                (Cow::Borrowed(field), behind)
            }
        };
        out.push(field);
        if out.len() > MAX_FIELDS {
            return None;
        }
        match behind.strip_prefix(',') {
            Some(next) => rest = next,
            None => return behind.is_empty().then_some(out),
        }
    }
}

/// A row as an object of texts under the names of its header, so that what reads the JSON rows of
/// an export reads its CSV rows too. Empty fields are null.
pub fn object<'a>(row: &'a str, header: &'a str) -> Option<Json<'a>> {
    let (names, values) = (fields(header)?, fields(row)?);
    if names.len() != values.len() {
        return None;
    }
    let value = |field: Cow<'a, str>| {
        if field.is_empty() {
            Json::Null
        } else {
            Json::Str(field)
        }
    };
    let entries = names.into_iter().zip(values.into_iter().map(value));
    Some(Json::Object(entries.collect()))
}

/// A field behind its opening quote, and what follows it.
fn quoted_field(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut owned = String::new();
    let mut rest = text;
    loop {
        let end = memchr::memchr(b'"', rest.as_bytes())?;
        let piece = rest.get(..end)?;
        let behind = rest.get(end + 1..)?;
        match behind.strip_prefix('"') {
            Some(next) => {
                owned.push_str(piece);
                owned.push('"');
                rest = next;
            }
            None if owned.is_empty() => return Some((Cow::Borrowed(piece), behind)),
            None => {
                owned.push_str(piece);
                return Some((Cow::Owned(owned), behind));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        for (row, expected) in [
            ("a,b", Some(vec!["a", "b"])),
            ("a,,\r", Some(vec!["a", "", ""])),
            ("", Some(vec![""])),
            (r#""a,b",c"#, Some(vec!["a,b", "c"])),
            (r#""say ""hi""","""#, Some(vec![r#"say "hi""#, ""])),
            ("\"two\nlines\",x", Some(vec!["two\nlines", "x"])),
            (r#""""","#, Some(vec!["\"", ""])),
            (r#""open"#, None),
            (r#""a"b,c"#, None),
        ] {
            assert_eq!(
                fields(row),
                expected.map(|all| all.into_iter().map(Cow::Borrowed).collect()),
                "{row}"
            );
        }
        assert_eq!(fields(&",".repeat(5000)), None);
        let shown = |row| object(row, "id,\"a b\",c").map(|o| o.to_text());
        assert_eq!(
            shown("1,\"x,y\","),
            Some(r#"{"id":"1","a b":"x,y","c":null}"#.to_owned())
        );
        assert_eq!(shown("1,2"), None);
    }
}
