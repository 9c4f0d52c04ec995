//! The first records of a source, as trees where they are trees.

use crate::format::csv;
use crate::format::json::Json;

/// Bytes of a record that is looked at field by field.
pub(super) const MAX_BYTES: usize = 256 << 10;

/// One record.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    /// Its bytes.
    pub record: &'a [u8],
    /// Header of the source, where it is CSV.
    pub header: Option<&'a [u8]>,
}

/// A record taken apart: what stands before the tree, and the tree.
pub(super) struct Parted<'a> {
    /// Bytes before the object, such as the time of the log line.
    pub prefix: &'a str,
    /// The object.
    pub tree: Json<'a>,
    /// Names of the columns of a row, in their order.
    pub names: Option<Vec<String>>,
}

impl<'a> Sample<'a> {
    /// The record as a tree; `None` where it is a line, or too long to be looked at.
    pub(super) fn part(&self) -> Option<Parted<'a>> {
        if self.record.len() > MAX_BYTES {
            return None;
        }
        let text = std::str::from_utf8(self.record).ok()?;
        if let Some(header) = self.header {
            let header = std::str::from_utf8(header).ok()?;
            let tree = csv::object(text, header)?;
            let names = tree.entries().iter().map(|(k, _)| k.to_string()).collect();
            return Some(Parted {
                prefix: "",
                tree,
                names: Some(names),
            });
        }
        let start = text.find('{')?;
        let (prefix, body) = text.split_at(start);
        let tree = Json::parse(body).ok()?;
        Some(Parted {
            prefix,
            tree,
            names: None,
        })
    }

    /// The record as an object of its own, without anything before it.
    pub(super) fn object(&self) -> Option<Json<'a>> {
        let parted = self.part()?;
        let header = self.header.is_some_and(|header| header == self.record);
        (parted.prefix.trim().is_empty() && !header).then_some(parted.tree)
    }
}

impl Parted<'_> {
    /// The record with another tree.
    pub fn with(&self, tree: &Json<'_>) -> String {
        let Some(names) = &self.names else {
            return format!("{}{}", self.prefix, tree.to_text());
        };
        let cell = |name: &String| {
            let value = tree.get(name).and_then(Json::as_str).unwrap_or_default();
            format!("\"{}\"", value.replace('"', "\"\""))
        };
        names.iter().map(cell).collect::<Vec<_>>().join(",")
    }
}
