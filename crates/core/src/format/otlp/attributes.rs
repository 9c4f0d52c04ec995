//! Attributes of spans, events and resources, sorted by key.

use crate::format::body::salvage;
use crate::format::json::Json;
use std::borrow::Cow;

/// Attributes of one thing.
#[derive(Default)]
pub struct Attributes<'a> {
    list: Vec<(&'a str, &'a Json<'a>)>,
}

/// A value that may have come as JSON in a string.
pub struct Parsed<'a> {
    /// The value.
    pub json: Json<'a>,
    /// It was cut: the exporter limits the length of attributes.
    pub cut: bool,
}

impl<'a> Attributes<'a> {
    /// Reads a list of `{key, value}`, or an object as some exporters write.
    pub fn read(attributes: Option<&'a Json<'a>>) -> Attributes<'a> {
        let mut list: Vec<(&str, &Json<'_>)> = match attributes {
            Some(Json::Array(items)) => items
                .iter()
                .filter_map(|item| Some((item.str_of("key")?, item.some("value")?)))
                .collect(),
            Some(Json::Object(entries)) => entries.iter().map(|(k, v)| (&**k, v)).collect(),
            _ => Vec::new(),
        };
        list.sort_by_key(|(key, _)| *key);
        Attributes { list }
    }

    /// All of them, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a Json<'a>)> + '_ {
        self.list.iter().copied()
    }

    /// The plain value of a key.
    pub fn get(&self, key: &str) -> Option<Json<'a>> {
        let at = self.list.partition_point(|(k, _)| *k < key);
        let (found, value) = self.list.get(at)?;
        let value = (*found == key).then(|| plain(value))?;
        (!matches!(value, Json::Null)).then_some(value)
    }

    /// The first of several keys that is there.
    pub fn any(&self, keys: &[&str]) -> Option<Json<'a>> {
        keys.iter().find_map(|key| self.get(key))
    }

    /// What follows `prefix` in the keys that begin with it, and the values.
    pub fn below<'p>(
        &'p self,
        prefix: &'p str,
    ) -> impl Iterator<Item = (&'a str, &'a Json<'a>)> + 'p {
        let start = self.list.partition_point(|(k, _)| *k < prefix);
        let rest = self.list.get(start..).unwrap_or_default();
        rest.iter()
            .map_while(move |(key, value)| Some((key.strip_prefix(prefix)?, *value)))
    }
}

/// The value of an `AnyValue`; a value that is none stays as it is.
pub fn plain<'a>(value: &'a Json<'a>) -> Json<'a> {
    let [(kind, inner)] = value.entries() else {
        return value.borrowed();
    };
    match &**kind {
        "intValue" | "int_value" => inner.as_i64().map_or(Json::Null, |n| {
            u64::try_from(n).map_or(Json::I64(n), Json::U64)
        }),
        "stringValue" | "string_value" | "doubleValue" | "double_value" | "boolValue"
        | "bool_value" => inner.borrowed(),
        "arrayValue" | "array_value" => {
            let items = inner.get("values").map(Json::items).unwrap_or_default();
            Json::Array(items.iter().map(plain).collect())
        }
        "kvlistValue" | "kvlist_value" => {
            let items = inner.get("values").map(Json::items).unwrap_or_default();
            let entry = |item: &'a Json<'a>| {
                let key = Cow::Borrowed(item.str_of("key")?);
                Some((key, item.get("value").map_or(Json::Null, plain)))
            };
            Json::Object(items.iter().filter_map(entry).collect())
        }
        "bytesValue" | "bytes_value" => Json::Null,
        _ => value.borrowed(),
    }
}

/// Reads JSON in a string; a value that is none of it stays as it is.
pub fn parsed(value: Json<'_>) -> Parsed<'_> {
    let Json::Str(text) = &value else {
        return Parsed {
            json: value,
            cut: false,
        };
    };
    if !text.trim_start().starts_with(['{', '[']) {
        return Parsed {
            json: value,
            cut: false,
        };
    }
    let cut = match Json::parse(text.trim()) {
        Ok(json) => {
            return Parsed {
                json: json.into_owned(),
                cut: false,
            };
        }
        Err(error) => error.is_eof(),
    };
    let closed = if cut { salvage::close(text) } else { None };
    match closed.as_deref().map(Json::parse) {
        Some(Ok(json)) => Parsed {
            json: json.into_owned(),
            cut: true,
        },
        _ => Parsed { json: value, cut },
    }
}
