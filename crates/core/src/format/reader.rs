//! The fast way through JSON that is well formed.
//!
//! Most bytes of a log lie in long strings, so the ends of strings are found by vectorised search
//! and nothing is copied but what holds escapes. What this reader does not take at once (deep
//! nesting, an odd number, half a surrogate pair, an error) it leaves to `serde_json`, whose word
//! is final: where both read a text, they read the same.

use super::json::Json;
use super::repair::code_unit;
use memchr::memchr2;
use std::borrow::Cow;

/// Deeper values are left to `serde_json`, which has a limit of its own (128).
const MAX_DEPTH: u32 = 64;

/// Digits of an integer that certainly fits 64 bits.
const SAFE_DIGITS: usize = 18;

/// Room that a string with escapes gets at first, in bytes, if so much of the record is left.
const FIRST_BYTES: usize = 8 << 10;

/// Text of a string without escapes.
struct Piece<'a> {
    text: &'a str,
    /// Where the quote or backslash behind it stands.
    end: usize,
    /// It is the quote.
    closed: bool,
}

/// Reads one text from its beginning. Every method gives `None` where `serde_json` must decide;
/// the reader is of no use after that.
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    /// The text holds no control character, so its strings need not be searched for one.
    plain: bool,
}

/// Reads a whole text as one value.
pub(super) fn read_whole(text: &str) -> Option<Json<'_>> {
    let mut reader = Reader::new(text);
    let value = reader.value()?;
    reader.at_end().then_some(value)
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Reader<'a> {
        Reader {
            text,
            at: 0,
            depth: 0,
            plain: !has_control(text),
        }
    }

    /// The next byte that is not blank; it is not taken.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        loop {
            match *bytes.get(self.at)? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    /// Nothing but blanks is left.
    pub(super) fn at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// One value.
    pub(super) fn value(&mut self) -> Option<Json<'a>> {
        match self.peek()? {
            b'"' => self.string().map(Json::Str),
            b'{' => {
                let mut entries = Vec::new();
                self.object(|reader, key| {
                    entries.push((key, reader.value()?));
                    Some(())
                })?;
                Some(Json::Object(entries))
            }
            b'[' => {
                let mut items = Vec::new();
                self.array(|reader| {
                    items.push(reader.value()?);
                    Some(())
                })?;
                Some(Json::Array(items))
            }
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'n' => self.word("null", Json::Null),
            _ => self.number(),
        }
    }

    /// Passes over one value and gives its text.
    pub(super) fn skip(&mut self) -> Option<&'a str> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'"' => self.skip_string()?,
            b'{' => self.object(|reader, _| reader.skip().map(drop))?,
            b'[' => self.array(|reader| reader.skip().map(drop))?,
            _ => drop(self.value()?),
        }
        self.text.get(start..self.at)
    }

    /// An object; `entry` is called behind each colon and takes the value.
    pub(super) fn object(
        &mut self,
        mut entry: impl FnMut(&mut Reader<'a>, Cow<'a, str>) -> Option<()>,
    ) -> Option<()> {
        self.list(b'{', b'}', |reader| {
            reader.peek().filter(|first| *first == b'"')?;
            let key = reader.string()?;
            reader.peek().filter(|colon| *colon == b':')?;
            reader.at += 1;
            entry(reader, key)
        })
    }

    fn array(&mut self, item: impl FnMut(&mut Reader<'a>) -> Option<()>) -> Option<()> {
        self.list(b'[', b']', item)
    }

    fn list(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Reader<'a>) -> Option<()>,
    ) -> Option<()> {
        self.peek().filter(|first| *first == open)?;
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        if self.peek()? == close {
            self.at += 1;
        } else {
            loop {
                item(self)?;
                let next = self.peek()?;
                self.at += 1;
                if next == close {
                    break;
                }
                if next != b',' {
                    return None;
                }
            }
        }
        self.depth -= 1;
        Some(())
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        let piece = self.piece(self.at + 1)?;
        if piece.closed {
            self.at = piece.end + 1;
            return Some(Cow::Borrowed(piece.text));
        }
        let left = self.text.len() - piece.end;
        let mut out = String::with_capacity(piece.text.len() + left.min(FIRST_BYTES));
        let mut last = piece;
        while !last.closed {
            out.push_str(last.text);
            let (escape, length) = escape(self.text.as_bytes().get(last.end..)?)?;
            out.push(escape);
            last = self.piece(last.end + length)?;
        }
        out.push_str(last.text);
        self.at = last.end + 1;
        if out.capacity() > 2 * out.len() {
            // Many short strings must not each keep room for a long one.
            out.shrink_to_fit();
        }
        Some(Cow::Owned(out))
    }

    fn skip_string(&mut self) -> Option<()> {
        let mut last = self.piece(self.at + 1)?;
        while !last.closed {
            let (_, length) = escape(self.text.as_bytes().get(last.end..)?)?;
            last = self.piece(last.end + length)?;
        }
        self.at = last.end + 1;
        Some(())
    }

    /// The part of a string from a place inside it to its next escape or its end.
    fn piece(&self, start: usize) -> Option<Piece<'a>> {
        let rest = self.text.as_bytes().get(start..)?;
        let end = start + memchr2(b'"', b'\\', rest)?;
        let text = self.text.get(start..end)?;
        if !self.plain && has_control(text) {
            return None;
        }
        let closed = self.text.as_bytes().get(end) == Some(&b'"');
        Some(Piece { text, end, closed })
    }

    fn number(&mut self) -> Option<Json<'a>> {
        let rest = self.text.get(self.at..)?;
        let part = |b: &u8| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E');
        let length = rest.bytes().take_while(part).count();
        let number = rest.get(..length)?;
        self.at += length;
        let digits = number.bytes().all(|b| b.is_ascii_digit());
        let leads = number.len() > 1 && number.starts_with('0');
        if digits && !leads && (1..=SAFE_DIGITS).contains(&length) {
            return number.parse().ok().map(Json::U64);
        }
        serde_json::from_str(number).ok()
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Option<Json<'a>> {
        let found = self.text.get(self.at..)?.starts_with(word);
        self.at += word.len();
        found.then_some(value)
    }
}

/// Without a branch a byte, so that it is done many bytes at a time.
fn has_control(text: &str) -> bool {
    text.as_bytes()
        .chunks(4096)
        .any(|chunk| chunk.iter().fold(false, |any, byte| any | (*byte < 0x20)))
}

/// The escape at the start, and its length.
fn escape(bytes: &[u8]) -> Option<(char, usize)> {
    let plain = match *bytes.get(1)? {
        b'n' => '\n',
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => return unicode_escape(bytes),
        _ => return None,
    };
    Some((plain, 2))
}

fn unicode_escape(bytes: &[u8]) -> Option<(char, usize)> {
    let first = code_unit(bytes)?;
    if let Some(char) = char::from_u32(u32::from(first)) {
        return Some((char, 6));
    }
    let second = code_unit(bytes.get(6..)?)?;
    let pair = char::decode_utf16([first, second]).next()?.ok()?;
    // A high half before a low one is two units; anything else is no pair.
    (pair.len_utf16() == 2).then_some((pair, 12))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What `serde_json` makes of a text.
    fn slow(text: &str) -> Option<Json<'_>> {
        serde_json::from_str(text).ok()
    }

    #[test]
    fn well_formed_text_is_taken_at_once() {
        for text in [
            "{}",
            " [ ] ",
            r#"{"a":1,"b":[true,false,null],"a":"x"}"#,
            "0",
            "123456789012345678",
            "18446744073709551615",
            "18446744073709551616",
            "-0",
            "-7",
            "1.5e3",
            r#""plain""#,
            r#""\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00\\""#,
            "\"ünïcode\\n\u{10ffff}\"",
            "{\n\t\"a\" : [ 1 , 2 ]\r\n}",
        ] {
            let fast = read_whole(text);
            assert!(fast.is_some(), "{text}");
            assert!(fast == slow(text), "{text}");
            let mut reader = Reader::new(text);
            assert_eq!(reader.skip(), Some(text.trim()), "{text}");
        }
    }

    #[test]
    fn the_rest_is_left_to_the_other_reader() {
        for text in [
            "",
            "{",
            "{}x",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "{,}",
            "01",
            "1.",
            "-",
            "+1",
            "tru",
            "\"open",
            "\"\\\"",
            "\"tab\there\"",
            r#""\q""#,
            "\"\\é\"",
            r#""\ud83d""#,
            r#""\ud83dx\ude00""#,
            r#""\ud83d\u0041""#,
            r#""\ude00\ud83d""#,
            r#""\u+123""#,
        ] {
            assert!(read_whole(text).is_none(), "{text}");
            assert!(slow(text).is_none(), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert!(read_whole(&deep).is_none() && slow(&deep).is_some());
    }

    proptest! {
        #[test]
        fn soup_is_read_as_the_other_reader_reads_it(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "{", "}", "[", "]", ",", ":", "\"", "\\", "\\n", "\\u00e9", "\\ud83d",
                    "\\ude00", "a", "é", " ", "\n", "0", "1", "-", ".", "e5", "true", "null",
                    "\"k\":", "\"v\"",
                ]),
                0..24,
            )
        ) {
            let text = pieces.concat();
            if let Some(fast) = read_whole(&text) {
                prop_assert!(Some(fast) == slow(&text), "{}", text);
            }
            let mut reader = Reader::new(&text);
            if let Some(raw) = reader.skip() {
                prop_assert!(
                    serde_json::from_str::<serde::de::IgnoredAny>(raw).is_ok(), "{}", text
                );
            }
        }

        #[test]
        fn strings_come_back(words in prop::collection::vec(any::<String>(), 0..4)) {
            let text = serde_json::to_string(&words).expect("strings");
            let fast = read_whole(&text).expect("well formed");
            prop_assert!(Some(&fast) == slow(&text).as_ref());
            let back: Vec<&str> = fast.items().iter().filter_map(Json::as_str).collect();
            prop_assert_eq!(back, words);
        }
    }
}
