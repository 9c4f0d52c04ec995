//! Parsers below the formats.

use super::formats::sound;
use super::input::Input;
use crate::advisory;
use crate::canary::CanaryKeys;
use crate::engine::epochs::{Observation, epochs};
use crate::engine::{is_engine_line, node_of, read_line};
use crate::exchange::Exchange;
use crate::format::body::{self, Request, Response, salvage, sse};
use crate::format::json::Json;
use crate::format::python::Python;
use crate::format::{csv, repair, time};
use crate::identifiers::Patterns;
use jiff::tz::TimeZone;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The reader of our own against `serde_json`.
pub(super) fn json(data: &[u8]) {
    let _ = repair::repair(data);
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let ours = Json::parse(text);
    let theirs = serde_json::from_str::<Json<'_>>(text);
    match (&ours, &theirs) {
        (Ok(ours), Ok(theirs)) => assert!(ours == theirs, "two values of one text"),
        (ours, theirs) => assert_eq!(
            ours.is_ok(),
            theirs.is_ok(),
            "one reads what the other does not"
        ),
    }
    let Ok(ours) = ours else { return };
    let written = ours.to_text();
    assert!(
        Json::parse(&written).is_ok_and(|again| again == ours),
        "what is written reads as something else"
    );
    assert!(ours.borrowed() == ours && ours.clone().into_owned() == ours);
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        equal(&ours, &value);
    }
    let _ = time::read(&ours, Some(&TimeZone::UTC));
}

fn equal(ours: &Json<'_>, theirs: &Value) {
    let same = match (ours, theirs) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(a), Value::Bool(b)) => a == b,
        (Json::Str(a), Value::String(b)) => a == b,
        (Json::U64(a), Value::Number(b)) => b.as_u64() == Some(*a),
        (Json::I64(a), Value::Number(b)) => b.as_i64() == Some(*a),
        (Json::F64(a), Value::Number(b)) => b.is_f64() && b.as_f64() == Some(*a),
        (Json::Array(a), Value::Array(b)) => {
            a.iter().zip(b).for_each(|(a, b)| equal(a, b));
            a.len() == b.len()
        }
        (Json::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&Cow<'_, str>> = a.iter().map(|(key, _)| key).collect();
            for key in &keys {
                let (Some(a), Some(b)) = (ours.get(key), b.get(key.as_ref())) else {
                    panic!("a key is missing");
                };
                equal(a, b);
            }
            keys.len() == b.len()
        }
        _ => false,
    };
    assert!(same, "a value differs");
}

/// Request and response bodies, whole and cut.
pub(super) fn body(data: &[u8]) {
    let mut input = Input::new(data);
    let split = usize::from(input.byte()) * 16;
    let both = String::from_utf8_lossy(input.rest());
    let split = both.floor_char_boundary(split.min(both.len()));
    let (request, response) = both.split_at(split);
    let text = |text: &str| Json::Str(Cow::Owned(text.to_owned()));
    let read = |body: &str| Json::parse(body).map_or_else(|_| text(body), Json::into_owned);
    expanded(
        Request::read(&read(request)),
        Response::read(&read(response)),
    );
    expanded(
        Request::of_messages(&read(request)),
        Response::read_whole(&read(response)),
    );
    expanded(salvage::request(request), salvage::response(response));
    expanded(Request::of_text(request), salvage::cut_json(response));
    let _ = salvage::close(response);
}

fn expanded(request: Request, response: Response) {
    let Ok(exchanges) = body::expand(Exchange::default(), request, response) else {
        return;
    };
    for exchange in &exchanges {
        let texts = [
            &exchange.prompt,
            &exchange.response,
            &exchange.reasoning,
            &exchange.tool,
        ];
        texts.into_iter().flatten().for_each(sound);
    }
}

fn answers(response: Response) -> Vec<Exchange> {
    body::expand(Exchange::default(), Request::default(), response).unwrap_or_default()
}

/// Streams: as text, as events, one behind the other.
pub(super) fn sse(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let _ = sse::is_stream(&text);
    let unix = answers(sse::of_text(&text));
    if !text.contains('\r') {
        let dos = answers(sse::of_text(&text.replace('\n', "\r\n")));
        assert!(unix == dos, "line ends make a difference");
    }
    expanded(Request::default(), sse::of_text(&text));
    expanded(
        Request::default(),
        Response::read(&Json::Str(Cow::Borrowed(&text))),
    );
    if let Some(response) = sse::of_concatenated(&text) {
        expanded(Request::default(), response);
    }
    if let Ok(json) = Json::parse(&text) {
        let _ = sse::is_event(&json) | sse::is_chunk(&json);
        expanded(Request::default(), sse::of_events(json.items()));
    }
}

/// What Python's `repr` writes.
pub(super) fn python(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for end in ["", ")"] {
        let fields = Python::new(&text).fields(end, 0);
        if let Some(fields) = fields {
            // It nests no deeper than what reads JSON allows.
            assert!(
                Json::parse(&fields.to_text()).is_ok(),
                "a value that is no JSON"
            );
        }
    }
    let _ = Python::new(&text).labelled();
    let _ = Python::new(&text).value(0);
}

/// Lines of engines, and the epochs that follow from them.
pub(super) fn engine(data: &[u8]) {
    let mut seen = Vec::new();
    for (number, line) in data.split(|b| *b == b'\n').enumerate() {
        let _ = is_engine_line(line);
        let name = ["decode_0.log", "log", "node-7.txt"][number % 3];
        if let Some(event) = read_line(line, Some(&TimeZone::UTC), name) {
            let source = format!("s{number:04}");
            seen.push(Observation { source, event });
        }
    }
    let found = epochs(&seen);
    assert!(found.len() <= seen.len(), "more epochs than events");
    for epoch in &found {
        let _ = (epoch.id(), epoch.reject_at_tokens());
    }
    let _ = node_of(&String::from_utf8_lossy(data));
}

/// Small files that people write, CSV rows and times.
pub(super) fn files(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let _ = csv::fields(&text);
    if let Some((header, row)) = text.split_once('\n') {
        let _ = csv::object(row, header);
    }
    if time::read_text(&text, None).is_ok() {
        let zoned = time::read_text(&text, Some(&TimeZone::UTC));
        assert!(zoned.is_ok(), "a zone makes a time unreadable");
    }
    let _ = advisory::read(&text).map(|found| advisory::lint(&found));
    let _ = advisory::Version::parse(&text);
    let _ = Patterns::parse(&[("fuzz.toml", &text)]);
    if let Ok(keys) = CanaryKeys::parse(&text) {
        let written = keys.to_file();
        assert!(
            written.is_ok_and(|file| CanaryKeys::parse(&file).is_ok()),
            "a key file that does not read again"
        );
    }
}
