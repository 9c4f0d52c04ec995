//! Reads what Python's `repr` writes: literals, and class names with fields in brackets.
//!
//! Field sets and their order change with every engine version, so fields are told by name and
//! unknown things are stepped over.

use crate::format::json::Json;
use std::borrow::Cow;

/// Values nest no deeper than this.
const MAX_DEPTH: usize = 64;

/// Bytes that a key with a quote in it may have.
const MAX_RAW_KEY: usize = 4096;

/// Reads a text of Python values.
pub(crate) struct Python<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Python<'a> {
    /// Reads from the start of `text`.
    pub fn new(text: &'a str) -> Python<'a> {
        Python { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Takes `token` if it is next.
    pub fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Whether nothing but blanks is left.
    pub fn at_end(&self) -> bool {
        self.rest().trim().is_empty()
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// `name=value` pairs up to `end`, or to the end of the text where `end` is empty.
    pub fn fields(&mut self, end: &str, depth: usize) -> Option<Json<'a>> {
        let mut entries = Vec::new();
        loop {
            self.blanks();
            if end.is_empty() && self.at_end() || !end.is_empty() && self.take(end) {
                return Some(Json::Object(entries));
            }
            let rest = self.rest();
            let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
            let name = rest.get(..length.unwrap_or(0))?;
            if rest.get(name.len()..)?.starts_with('=') && !name.is_empty() {
                self.at += name.len() + 1;
                entries.push((Cow::Borrowed(name), self.value(depth)?));
            } else {
                // Without a name it cannot be told what it is.
                self.value(depth)?;
            }
            self.separator(end)?;
        }
    }

    /// `name: value` pairs as log messages write them, up to the first that cannot be read. Names
    /// may hold blanks.
    pub fn labelled(&mut self) -> Vec<(&'a str, Json<'a>)> {
        let mut entries = Vec::new();
        loop {
            self.blanks();
            let rest = self.rest();
            let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ' '));
            let name = rest.get(..length.unwrap_or(0)).unwrap_or_default();
            let behind = rest.get(name.len()..).unwrap_or_default();
            if name.is_empty() || !behind.starts_with(": ") {
                return entries;
            }
            self.at += name.len() + 2;
            let Some(value) = self.value(0) else {
                return entries;
            };
            entries.push((name, value));
            if !self.take(",") {
                return entries;
            }
        }
    }

    /// One value. A text or list that the logger cut is two with dots between them.
    pub fn value(&mut self, depth: usize) -> Option<Json<'a>> {
        let first = self.plain_value(depth)?;
        let here = self.at;
        if !self.take(" ... ") {
            return Some(first);
        }
        match (first, self.plain_value(depth)) {
            (Json::Str(head), Some(Json::Str(tail))) => {
                Some(Json::Str(Cow::Owned(format!("{head}...{tail}"))))
            }
            (Json::Array(mut items), Some(Json::Array(tail))) => {
                items.push(Json::Str(Cow::Borrowed("...")));
                items.extend(tail);
                Some(Json::Array(items))
            }
            (first, _) => {
                self.at = here;
                Some(first)
            }
        }
    }

    fn plain_value(&mut self, depth: usize) -> Option<Json<'a>> {
        if depth >= MAX_DEPTH {
            return None;
        }
        self.blanks();
        match self.rest().bytes().next()? {
            b'\'' | b'"' => self.string().map(Json::Str),
            b'[' => self.list("]", depth),
            b'(' => self.list(")", depth),
            b'{' => self.dict(depth),
            b'<' => self.angle(),
            _ => self.word(depth),
        }
    }

    /// `<Enum.NAME: value>`, or whatever else has no literal.
    fn angle(&mut self) -> Option<Json<'a>> {
        let rest = self.rest();
        let end = rest.find('>')?;
        self.at += end + 1;
        let number = rest.get(..end)?.rsplit_once(": ");
        let number = number.and_then(|(_, digits)| digits.parse().ok());
        Some(number.map_or(Json::Null, Json::U64))
    }

    fn list(&mut self, end: &str, depth: usize) -> Option<Json<'a>> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.blanks();
            if self.take(end) {
                return Some(Json::Array(items));
            }
            items.push(self.value(depth + 1)?);
            self.separator(end)?;
        }
    }

    fn dict(&mut self, depth: usize) -> Option<Json<'a>> {
        self.at += 1;
        let mut entries = Vec::new();
        loop {
            self.blanks();
            if self.take("}") {
                return Some(Json::Object(entries));
            }
            let start = self.at;
            let mut key = self.plain_value(depth + 1)?;
            self.blanks();
            if let Some(raw) = self.raw_key(start) {
                key = raw;
            }
            // A set has no values; nothing that is logged needs one.
            let value = if self.take(":") {
                self.value(depth + 1)?
            } else {
                Json::Null
            };
            let key = match key {
                Json::Str(key) => key,
                other => Cow::Owned(other.to_text()),
            };
            entries.push((key, value));
            self.separator("}")?;
        }
    }

    /// A key that the logger put between quotes without escaping it: it ends where a value begins.
    fn raw_key(&mut self, start: usize) -> Option<Json<'a>> {
        let done = self.rest().starts_with([':', ',', '}']);
        let text = self.text.get(start..)?.strip_prefix('\'')?;
        let window = text
            .as_bytes()
            .get(..MAX_RAW_KEY)
            .unwrap_or(text.as_bytes());
        if done {
            return None;
        }
        let end = memchr::memmem::find(window, b"': ")?;
        self.at = start + 1 + end + 1;
        Some(Json::Str(Cow::Borrowed(text.get(..end)?)))
    }

    /// Takes a comma, or stays before the end.
    fn separator(&mut self, end: &str) -> Option<()> {
        self.blanks();
        let ended = if end.is_empty() {
            self.at_end()
        } else {
            self.rest().starts_with(end)
        };
        (self.take(",") || ended).then_some(())
    }

    /// A number, a constant, or a class with its fields.
    fn word(&mut self, depth: usize) -> Option<Json<'a>> {
        let rest = self.rest();
        let known = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
        let length = rest.find(|c: char| !known(c)).unwrap_or(rest.len());
        let word = rest.get(..length).filter(|w| !w.is_empty())?;
        self.at += length;
        if matches!(self.rest().bytes().next(), Some(b'\'' | b'"')) {
            // A prefix such as that of bytes.
            return self.string().map(Json::Str);
        }
        if self.take("(") {
            return self.fields(")", depth + 1);
        }
        Some(match word {
            "True" => Json::Bool(true),
            "False" => Json::Bool(false),
            _ => {
                let whole = word
                    .parse()
                    .map(Json::U64)
                    .or_else(|_| word.parse().map(Json::I64));
                let number = whole.ok().or_else(|| {
                    let real = word.parse::<f64>().ok().filter(|x| x.is_finite());
                    real.map(Json::F64)
                });
                number.unwrap_or(Json::Null)
            }
        })
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        let quote = *self.rest().as_bytes().first()?;
        self.at += 1;
        let mut owned: Option<String> = None;
        loop {
            let rest = self.rest();
            let found = memchr::memchr2(quote, b'\\', rest.as_bytes())?;
            let piece = rest.get(..found)?;
            self.at += found + 1;
            if rest.as_bytes().get(found) == Some(&quote) {
                return Some(match owned {
                    None => Cow::Borrowed(piece),
                    Some(mut text) => {
                        text.push_str(piece);
                        Cow::Owned(text)
                    }
                });
            }
            let text = owned.get_or_insert_default();
            text.push_str(piece);
            let escaped = self.escape()?;
            text.push_str(escaped.encode_utf8(&mut [0; 4]));
        }
    }

    /// What stands behind a backslash; lone surrogates are lost.
    fn escape(&mut self) -> Option<char> {
        let kind = self.rest().chars().next()?;
        self.at += kind.len_utf8();
        let digits = match kind {
            'n' => return Some('\n'),
            't' => return Some('\t'),
            'r' => return Some('\r'),
            'x' => 2,
            'u' => 4,
            'U' => 8,
            other => return Some(other),
        };
        let code = u32::from_str_radix(self.rest().get(..digits)?, 16).ok()?;
        self.at += digits;
        Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        for (text, expected) in [
            ("'it\\'s'", r#""it's""#),
            ("torch.Size([3, 4])", "{}"),
            (r#""say \"hi\"\n""#, "\"say \\\"hi\\\"\\n\""),
            ("'\\xe4\\u20ac\\U0001f600\\udcff'", "\"ä€😀\u{fffd}\""),
            ("[1, -2, 2.5, nan, True, None]", "[1,-2,2.5,null,true,null]"),
            ("{'a': (1,), 2: 'b'}", r#"{"a":[1],"2":"b"}"#),
            (
                "C(a=1, b=D(c='x'), e=<E.F: 0>, g=tensor([1]))",
                r#"{"a":1,"b":{"c":"x"},"e":0,"g":{}}"#,
            ),
            ("[<HTTPStatus.BAD: 400>, <object at 0x7f>]", "[400,null]"),
            ("'head' ... 'tail'", r#""head...tail""#),
            ("[1, 2] ... [8, 9]", r#"[1,2,"...",8,9]"#),
            ("{'k'': 'v', 'it's': 2}", r#"{"k'":"v","it's":2}"#),
            ("{1, 2}", r#"{"1":null,"2":null}"#),
            ("5120033876543210987", "5120033876543210987"),
        ] {
            let value = Python::new(text).value(0).unwrap();
            assert_eq!(value.to_text(), expected, "{text}");
        }
    }

    #[test]
    fn labels() {
        let text = "prompt: 'a, b: 1', ids: [1], embeds shape: torch.Size([2]), lora: None.";
        let found = Python::new(text).labelled();
        let shown: Vec<String> = found
            .iter()
            .map(|(name, value)| format!("{name}={}", value.to_text()))
            .collect();
        assert_eq!(
            shown,
            [
                "prompt=\"a, b: 1\"",
                "ids=[1]",
                "embeds shape={}",
                "lora=null"
            ]
        );
        assert!(Python::new("prompt: 'open").labelled().is_empty());
        assert!(Python::new("").labelled().is_empty());
    }

    #[test]
    fn nonsense_is_no_value() {
        for text in ["", "'open", "[1", "{'a'", "C(a=", "\\", "'\\u12'"] {
            assert!(Python::new(text).value(0).is_none(), "{text}");
        }
        assert!(Python::new(&"[".repeat(100_000)).value(0).is_none());
    }
}
