//! Bodies that a logger cut: closed where they end, so that what is left reads as what it is.

use super::{Request, Response};
use crate::exchange::ContentState;
use crate::format::json::Json;
use crate::format::markers;

/// Deeper texts are left alone: a reader would refuse them too.
const MAX_DEPTH: usize = 100;

/// Reads the beginning of a request body.
pub fn request(text: &str) -> Request {
    let closed = close(text);
    let read = closed.as_deref().and_then(|closed| {
        let body = Json::parse(closed).ok()?;
        let request = Request::read(&body);
        (!request.prompts.is_empty()).then_some(request)
    });
    let mut request = read.unwrap_or_else(|| Request::of_text(text));
    request.state = ContentState::Truncated;
    request.prompts.iter_mut().for_each(markers::cut_end);
    request
}

/// Reads the beginning of a response body: JSON, a stream, or a text.
pub fn response(text: &str) -> Response {
    if text.trim_start().starts_with(['{', '[']) {
        return cut_json(text);
    }
    cut(Response::read(&Json::Str(text.into())))
}

/// Reads the beginning of a response body that is JSON.
pub fn cut_json(text: &str) -> Response {
    let closed = close(text);
    let read = closed.as_deref().and_then(|closed| {
        let body = Json::parse(closed).ok()?;
        let response = Response::read(&body);
        (!response.choices.is_empty()).then_some(response)
    });
    cut(read.unwrap_or_else(|| Response::of_text(text)))
}

fn cut(mut response: Response) -> Response {
    response.state = ContentState::Truncated;
    if let Some(last) = response.choices.last_mut() {
        let fields = [&mut last.response, &mut last.reasoning, &mut last.tool];
        fields.into_iter().flatten().for_each(markers::cut_end);
    }
    response
}

/// A cut JSON text with its end supplied; none where the text is no beginning of an object or
/// array, or is whole.
pub fn close(text: &str) -> Option<String> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let mut stack = Vec::new();
    let mut in_string = false;
    let mut safe = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (in_string, byte) {
            (true, b'\\') => at += 1,
            (_, b'"') => in_string = !in_string,
            (true, _) => {}
            (false, b'{' | b'[') => {
                if stack.len() == MAX_DEPTH {
                    return None;
                }
                stack.push(if *byte == b'{' { '}' } else { ']' });
                safe = at + 1;
            }
            (false, b'}' | b']') => {
                stack.pop()?;
                safe = at + 1;
            }
            (false, b',') => safe = at,
            _ => {}
        }
        at += 1;
    }
    if stack.is_empty() && !in_string {
        return None;
    }
    let ends: String = stack.iter().rev().collect();
    let whole = if in_string {
        format!("{}\"{ends}", without_open_escape(text))
    } else {
        format!("{text}{ends}")
    };
    if Json::parse(&whole).is_ok() {
        return Some(whole);
    }
    // The end was inside a key, a number or a word: drop that entry.
    Some(format!("{}{ends}", text.get(..safe)?))
}

/// A text without the part of an escape, or of a pair of surrogates, at its end.
fn without_open_escape(text: &str) -> &str {
    let bytes = text.as_bytes();
    // Where the run of backslashes before `at` is of even length, none of them is open.
    let opens = |at: usize| {
        let run = bytes[..=at].iter().rev().take_while(|b| **b == b'\\');
        run.count() % 2 == 1
    };
    let Some(at) = bytes.iter().rposition(|b| *b == b'\\') else {
        return text;
    };
    let rest = &bytes[at + 1..];
    let high = matches!(
        rest,
        [
            b'u',
            b'd' | b'D',
            b'8' | b'9' | b'a' | b'b' | b'A' | b'B',
            _,
            _
        ]
    );
    let open = rest.is_empty() || (rest[0] == b'u' && rest.len() < 5) || high;
    match text.get(..at) {
        Some(head) if open && opens(at) => {
            // Behind the low half that went, the high half may stand alone now.
            if head.len() + 7 > text.len() {
                without_open_escape_once(head)
            } else {
                head
            }
        }
        _ => text,
    }
}

/// The high half of a pair at the very end, dropped.
fn without_open_escape_once(text: &str) -> &str {
    let Some(at) = text.len().checked_sub(6) else {
        return text;
    };
    let tail = text.as_bytes().get(at..).unwrap_or_default();
    let high = matches!(
        tail,
        [
            b'\\',
            b'u',
            b'd' | b'D',
            b'8' | b'9' | b'a' | b'b' | b'A' | b'B',
            _,
            _
        ]
    );
    if high {
        text.get(..at).unwrap_or(text)
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn table() {
        for (text, expected) in [
            (r#"{"a":"b"#, Some(r#"{"a":"b"}"#)),
            (r#"{"a":"b\"#, Some(r#"{"a":"b"}"#)),
            (r#"{"a":"b\\"#, Some(r#"{"a":"b\\"}"#)),
            (r#"{"a":"b\u12"#, Some(r#"{"a":"b"}"#)),
            (r#"{"a":"b\ud83d"#, Some(r#"{"a":"b"}"#)),
            (r#"{"a":"b\ud83d\ude"#, Some(r#"{"a":"b"}"#)),
            (r#"{"a":[1,{"b":"c"},"#, Some(r#"{"a":[1,{"b":"c"}]}"#)),
            (r#"{"a":1,"ke"#, Some(r#"{"a":1}"#)),
            (r#"{"a":1,"key":"#, Some(r#"{"a":1}"#)),
            (r#"{"a":1,"key":tr"#, Some(r#"{"a":1}"#)),
            (r#"{"a":1}"#, None),
            ("text", None),
        ] {
            assert_eq!(close(text).as_deref(), expected, "{text}");
        }
        assert_eq!(close(&"[".repeat(1000)), None);
    }

    #[test]
    fn what_is_left_of_a_body_is_read() {
        let read = request(r#"{"messages":[{"role":"user","content":"one \"two\" thr"#);
        assert_eq!(read.prompts[0].text, "one \"two\" thr");
        assert_eq!(read.state, ContentState::Truncated);
        let read = response(r#"{"choices":[{"message":{"content":"one\ntw"#);
        assert_eq!(read.choices[0].response.as_ref().unwrap().text, "one\ntw");
        let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"one\"}}]}\n\ndata: {\"cho";
        let read = response(stream);
        assert_eq!(read.choices[0].response.as_ref().unwrap().text, "one");
        assert_eq!(read.state, ContentState::Truncated);
    }

    proptest! {
        #[test]
        fn a_cut_anywhere_can_be_closed(cut in 1usize..90) {
            let whole = r#"{"a":[1.5,{"b":"c\u00e9\ud83d\ude00\\\"d"},true,null],"e":{"f":"gé"}}"#;
            prop_assume!(whole.is_char_boundary(cut) && cut < whole.len());
            let closed = close(&whole[..cut]).unwrap();
            prop_assert!(Json::parse(&closed).is_ok(), "{closed}");
        }
    }
}
