//! A JSON tree that borrows its strings, and the lenient reading of one record.
//!
//! `serde_json::Value` copies every string and sorts or hashes its keys; a prompt of megabytes is
//! worth neither. Integers stay exact up to 64 bits: ids must never pass through a float.

use super::reader;
use super::repair::repair;
use crate::exchange::RejectReason;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use std::borrow::Cow;
use std::fmt;

/// One JSON value; an object keeps its keys in the order of the text.
#[derive(Clone, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer from 0.
    U64(u64),
    /// An integer below 0.
    I64(i64),
    /// Any other number.
    F64(f64),
    /// A string, unescaped.
    Str(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Reads a text strictly.
    pub fn parse(text: &'a str) -> Result<Json<'a>, serde_json::Error> {
        match reader::read_whole(text) {
            Some(json) => Ok(json),
            None => serde_json::from_str(text),
        }
    }

    /// The value of a key; the last one where it is given twice, as most readers do.
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        let Json::Object(entries) = self else {
            return None;
        };
        entries.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// The value of a key, `null` reading as absent.
    pub fn some(&self, key: &str) -> Option<&Json<'a>> {
        self.get(key).filter(|v| !matches!(v, Json::Null))
    }

    /// The value at a path of keys, `null` reading as absent.
    pub fn at(&self, path: &[&str]) -> Option<&Json<'a>> {
        path.iter().try_fold(self, |node, key| node.some(key))
    }

    /// The first of several keys that is present and not `null`.
    pub fn any(&self, keys: &[&str]) -> Option<&Json<'a>> {
        keys.iter().find_map(|key| self.some(key))
    }

    /// Whether an object has the key.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The string of a key.
    pub fn str_of(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Json::as_str)
    }

    /// The items of an array; nothing for any other value.
    pub fn items(&self) -> &[Json<'a>] {
        match self {
            Json::Array(items) => items,
            _ => &[],
        }
    }

    /// The entries of an object; nothing for any other value.
    pub fn entries(&self) -> &[(Cow<'a, str>, Json<'a>)] {
        match self {
            Json::Object(entries) => entries,
            _ => &[],
        }
    }

    /// A whole number, also written as a string or as a float without fraction.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Json::U64(n) => i64::try_from(*n).ok(),
            Json::I64(n) => Some(*n),
            Json::F64(x) if x.fract() == 0.0 && x.abs() < 9.0e15 => Some(*x as i64),
            Json::Str(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// A number, also written as a string; never NaN or infinite.
    pub fn as_f64(&self) -> Option<f64> {
        let number = match self {
            Json::U64(n) => *n as f64,
            Json::I64(n) => *n as f64,
            Json::F64(x) => *x,
            Json::Str(text) => text.trim().parse().ok()?,
            _ => return None,
        };
        number.is_finite().then_some(number)
    }

    /// A truth value, also written as the string or number of one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Json::Bool(b) => Some(*b),
            Json::U64(0) => Some(false),
            Json::U64(1) => Some(true),
            Json::Str(text) if text.eq_ignore_ascii_case("true") => Some(true),
            Json::Str(text) if text.eq_ignore_ascii_case("false") => Some(false),
            _ => None,
        }
    }

    /// An id: a non-empty string, or an integer as decimal text.
    pub fn as_id(&self) -> Option<String> {
        match self {
            Json::Str(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            Json::U64(n) => Some(n.to_string()),
            Json::I64(n) => Some(n.to_string()),
            _ => None,
        }
    }

    /// The same value with borrowed strings. Texts nest no deeper than their reader allowed.
    pub fn borrowed(&self) -> Json<'_> {
        match self {
            Json::Null => Json::Null,
            Json::Bool(b) => Json::Bool(*b),
            Json::U64(n) => Json::U64(*n),
            Json::I64(n) => Json::I64(*n),
            Json::F64(x) => Json::F64(*x),
            Json::Str(text) => Json::Str(Cow::Borrowed(text)),
            Json::Array(items) => Json::Array(items.iter().map(Json::borrowed).collect()),
            Json::Object(entries) => {
                let borrowed = entries.iter();
                Json::Object(
                    borrowed
                        .map(|(k, v)| (Cow::Borrowed(&**k), v.borrowed()))
                        .collect(),
                )
            }
        }
    }

    /// The same value with strings of its own.
    pub fn into_owned(self) -> Json<'static> {
        let own = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        match self {
            Json::Null => Json::Null,
            Json::Bool(b) => Json::Bool(b),
            Json::U64(n) => Json::U64(n),
            Json::I64(n) => Json::I64(n),
            Json::F64(x) => Json::F64(x),
            Json::Str(text) => Json::Str(own(text)),
            Json::Array(items) => Json::Array(items.into_iter().map(Json::into_owned).collect()),
            Json::Object(entries) => {
                let owned = entries.into_iter();
                Json::Object(owned.map(|(k, v)| (own(k), v.into_owned())).collect())
            }
        }
    }

    /// Name of the JSON type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "bool",
            Json::U64(_) | Json::I64(_) | Json::F64(_) => "number",
            Json::Str(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }

    /// The value as compact JSON, keys in their order.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

// Log text is private in every sink, debug prints included.
impl fmt::Debug for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json({})", self.type_name())
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => out.serialize_unit(),
            Json::Bool(b) => out.serialize_bool(*b),
            Json::U64(n) => out.serialize_u64(*n),
            Json::I64(n) => out.serialize_i64(*n),
            Json::F64(x) => out.serialize_f64(*x),
            Json::Str(text) => out.serialize_str(text),
            Json::Array(items) => {
                let mut seq = out.serialize_seq(Some(items.len()))?;
                for item in items {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
            Json::Object(entries) => {
                let mut map = out.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key.as_ref(), value)?;
                }
                map.end()
            }
        }
    }
}

/// A string that borrows from the input where it holds no escape.
pub struct Text<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        from.deserialize_str(TextVisitor)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Json<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(Json::U64(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(u64::try_from(value).map_or(Json::I64(value), Json::U64))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Json<'de>, E> {
        Ok(Json::F64(value))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Str(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::Str(Cow::Owned(text.to_owned())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json<'de>, A::Error> {
        let mut entries = Vec::new();
        while let Some(Text(key)) = map.next_key()? {
            entries.push((key, map.next_value()?));
        }
        Ok(Json::Object(entries))
    }
}

/// Why a decoder gave up on a record.
#[derive(Debug)]
pub enum Fault {
    /// The text is not the JSON it should be.
    Json(serde_json::Error),
    /// The JSON is fine, its content is not.
    Reject(RejectReason),
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Fault {
        Fault::Json(error)
    }
}

impl From<RejectReason> for Fault {
    fn from(reason: RejectReason) -> Fault {
        Fault::Reject(reason)
    }
}

/// Runs a decoder over a record, and once more over a repaired copy where the bytes are no JSON by
/// the letter: invalid UTF-8, lone surrogates, raw control characters, NaN.
pub fn decode_lenient<T>(
    record: &[u8],
    decode: impl Fn(&str) -> Result<T, Fault>,
) -> Result<T, RejectReason> {
    let valid = std::str::from_utf8(record);
    if let Ok(text) = valid {
        match decode(text) {
            Ok(value) => return Ok(value),
            Err(Fault::Reject(reason)) => return Err(reason),
            Err(Fault::Json(error)) if is_too_deep(&error) => return Err(RejectReason::TooDeep),
            Err(Fault::Json(_)) => {}
        }
    }
    let failure = match valid {
        Ok(_) => RejectReason::InvalidJson,
        Err(_) => RejectReason::InvalidUtf8,
    };
    let Some(repaired) = repair(record) else {
        return Err(failure);
    };
    decode(&repaired).map_err(|fault| match fault {
        Fault::Reject(reason) => reason,
        Fault::Json(error) if is_too_deep(&error) => RejectReason::TooDeep,
        Fault::Json(_) => failure,
    })
}

// serde_json has no category of its own for its depth limit of 128.
fn is_too_deep(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("recursion limit exceeded")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_exact() {
        for (text, id) in [
            ("5120033876543210987", "5120033876543210987"),
            ("14000000000000000001", "14000000000000000001"),
            ("-7", "-7"),
        ] {
            assert_eq!(Json::parse(text).unwrap().as_id().unwrap(), id);
        }
        assert_eq!(Json::parse("1.5").unwrap().as_id(), None);
        assert_eq!(Json::parse("12.0").unwrap().as_i64(), Some(12));
        assert_eq!(Json::parse("\" 12 \"").unwrap().as_i64(), Some(12));
    }

    #[test]
    fn lenient_reading_repairs_what_it_can() {
        let read = |bytes: &[u8]| decode_lenient(bytes, |t| Ok(Json::parse(t)?.to_text()));
        assert_eq!(
            read(br#"{"a":"x\ud83d"}"#).unwrap(),
            "{\"a\":\"x\u{fffd}\"}"
        );
        assert_eq!(read(br#"{"a":NaN}"#).unwrap(), r#"{"a":null}"#);
        assert_eq!(read(b"{\"a\":\"\xff\"}").unwrap(), "{\"a\":\"\u{fffd}\"}");
        assert_eq!(read(b"\xff\xfe"), Err(RejectReason::InvalidUtf8));
        assert_eq!(read(b"{\"a\":"), Err(RejectReason::InvalidJson));
        let deep = "[".repeat(100_000);
        assert_eq!(read(deep.as_bytes()), Err(RejectReason::TooDeep));
    }

    #[test]
    fn debug_shows_no_text() {
        assert_eq!(format!("{:?}", Json::Str("secret".into())), "Json(string)");
    }
}
