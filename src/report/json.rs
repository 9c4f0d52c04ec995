//! `report.json`: the whole model, indented, keys sorted, equal bytes for equal models.

use super::Render;
use super::model::Report;
use std::fmt::Write;

/// Writes the model as JSON.
pub struct Json;

impl Render for Json {
    fn file_name(&self) -> &'static str {
        "report.json"
    }

    /// Fails only if a number cannot be written as JSON.
    fn render(&self, report: &Report) -> anyhow::Result<Vec<u8>> {
        let mut value = serde_json::to_value(report)?;
        // Whether maps come sorted depends on features that any dependency may switch on.
        value.sort_all_objects();
        let mut text = serde_json::to_string_pretty(&value)?;
        text.push('\n');
        Ok(inert(&text).into_bytes())
    }
}

/// The same JSON with every character that a terminal or a web page would act on as `\uXXXX`.
///
/// Those can only stand inside strings, so the meaning is unchanged.
pub(super) fn inert(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        let keep = character == '\n'
            || (!matches!(character, '<' | '>' | '&') && !super::sanitize::acts(character));
        if keep {
            out.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acting_characters_are_escaped_and_kept() {
        let raw = "<script>\u{202e}\u{9b}\u{e0041}\u{7f}é漢&\u{1b}";
        let json = serde_json::to_string(raw).unwrap();
        let inert = inert(&json);
        assert_eq!(serde_json::from_str::<String>(&inert).unwrap(), raw);
        assert!(inert.contains("é漢"));
        for bad in [
            '<',
            '&',
            '\u{202e}',
            '\u{9b}',
            '\u{e0041}',
            '\u{7f}',
            '\u{1b}',
        ] {
            assert!(!inert.contains(bad), "{bad:?}");
        }
    }
}
