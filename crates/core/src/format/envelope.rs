//! What stands around bodies in the records of gateways and clouds: names, times and statuses.

use super::body::extra_field;
use super::json::{Fault, Json, decode_lenient};
use super::{DecodeContext, native, time};
use crate::exchange::{Exchange, Outcome, RecordKind, RejectReason, TimeMicros, TimeZoneSource};
use jiff::tz::TimeZone;
use memchr::memmem;

/// Top-level keys of a record that holds `must` somewhere; none where it does not or is no object.
///
/// Most records are of another format: the search spares them the parsing.
pub fn keys_with(record: &[u8], must: &str) -> Vec<String> {
    if !holds(record, must) {
        return Vec::new();
    }
    decode_lenient(record, native::keys_of).unwrap_or_default()
}

/// Whether the bytes of a record hold a word.
pub fn holds(record: &[u8], word: &str) -> bool {
    memmem::find(record, word.as_bytes()).is_some()
}

/// Reads a record and adds its exchanges; one without any is of another kind.
pub fn decode(
    record: &[u8],
    out: &mut Vec<Exchange>,
    read: impl Fn(&Json<'_>) -> Result<Vec<Exchange>, Fault>,
) -> Result<RecordKind, RejectReason> {
    let mut exchanges = decode_lenient(record, |text| read(&Json::parse(text)?))?;
    if exchanges.is_empty() {
        return Ok(RecordKind::Other);
    }
    out.append(&mut exchanges);
    Ok(RecordKind::Exchange)
}

/// Adds the exchanges of one more call of a record.
pub fn append(out: &mut Vec<Exchange>, mut call: Vec<Exchange>) {
    let part = out.last().map_or(0, |last| last.part + 1);
    call.iter_mut().for_each(|exchange| exchange.part = part);
    out.append(&mut call);
}

/// The first non-empty string among keys.
pub fn text(record: &Json<'_>, keys: &[&str]) -> Option<String> {
    let found = keys.iter().filter_map(|key| record.str_of(key));
    found
        .map(str::trim)
        .find(|t| !t.is_empty() && *t != "-")
        .map(str::to_owned)
}

/// The object or array that a string holds as JSON, as table exports write such columns.
pub fn unpacked(value: &Json<'_>) -> Option<Json<'static>> {
    let inner = Json::parse(value.as_str()?.trim()).ok()?;
    matches!(inner, Json::Object(_) | Json::Array(_)).then(|| inner.into_owned())
}

/// An HTTP status: a number of three digits, or that number as a text.
pub fn status(value: Option<&Json<'_>>) -> Option<u16> {
    let code = value.and_then(Json::as_i64)?;
    u16::try_from(code).ok().filter(|c| (100..600).contains(c))
}

/// A count from 0.
pub fn count(value: Option<&Json<'_>>) -> Option<i64> {
    value.and_then(Json::as_i64).filter(|n| *n >= 0)
}

/// A time of a format whose naive times are UTC by definition. What is no time is none.
pub fn utc(value: Option<&Json<'_>>) -> Option<TimeMicros> {
    let (time, _) = time::read(value?, Some(&TimeZone::UTC)).ok()?;
    time.filter(|t| *t > 0)
}

/// A time whose zone, where it is missing, the user declares; what is no time is none.
pub fn zoned(
    value: Option<&Json<'_>>,
    context: &DecodeContext<'_>,
    zone: &mut TimeZoneSource,
) -> Option<TimeMicros> {
    let (time, from) = time::read(value?, context.zone).ok()?;
    if from != TimeZoneSource::Utc {
        *zone = from;
    }
    time.filter(|t| *t > 0)
}

/// Tokens as a gateway counted them; zeros mostly mean that nobody did.
pub fn tokens(base: &mut Exchange, prompt: Option<&Json<'_>>, completion: Option<&Json<'_>>) {
    base.prompt_tokens = count(prompt).filter(|n| *n > 0);
    base.completion_tokens = count(completion).filter(|n| *n > 0);
    if base.prompt_tokens.or(base.completion_tokens).is_some() {
        base.tokens_source = Some("gateway");
    }
}

/// `start` and a duration in milliseconds later.
pub fn after(start: Option<TimeMicros>, millis: Option<&Json<'_>>) -> Option<TimeMicros> {
    let millis = millis.and_then(Json::as_f64)?;
    // Longer than eleven days is no call.
    if !(0.0..1.0e9).contains(&millis) {
        return None;
    }
    start?.checked_add((millis * 1e3).round() as TimeMicros)
}

/// How a call ended that has this status.
pub fn outcome_of(status: Option<u16>) -> Outcome {
    match status {
        Some(499) => Outcome::Aborted,
        Some(400..=498) => Outcome::Rejected,
        Some(500..) => Outcome::Error,
        Some(200..=299) => Outcome::Ok,
        _ => Outcome::Unknown,
    }
}

/// Keeps the fields that no column took.
pub fn extras(base: &mut Exchange, record: &Json<'_>, read: &[&str]) {
    for (key, value) in record.entries() {
        if !read.contains(&&**key) && !matches!(value, Json::Null) {
            base.extra.push(extra_field(key, value));
        }
    }
}
