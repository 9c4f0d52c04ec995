//! One value of a record as its rule wants it.

use super::spec::{Condition, Rule, Unit};
use crate::exchange::{RejectReason, TimeMicros, TimeZoneSource};
use crate::format::DecodeContext;
use crate::format::json::Json;
use crate::format::time::{self, ReadTime};
use sha2::{Digest, Sha256};

/// Bytes of a name or id; what is longer is text that stands in the wrong column.
const MAX_NAME: usize = 512;

/// Most nanoseconds of a call: eleven days.
const MAX_DURATION: i64 = 1_000_000 * 1_000_000_000;

impl Condition {
    /// Whether a record meets it.
    pub(super) fn holds(&self, record: &Json<'_>) -> bool {
        let Some(value) = self.at.find(record) else {
            return false;
        };
        self.any.is_empty() || word(value).is_some_and(|word| self.any.contains(&word))
    }
}

impl Rule {
    /// The value at the first place that holds something.
    pub(super) fn find<'r, 'j>(&self, record: &'r Json<'j>) -> Option<&'r Json<'j>> {
        let blank = |v: &&Json<'_>| v.as_str().is_none_or(|text| !text.trim().is_empty());
        self.at
            .iter()
            .find_map(|place| place.find(record).filter(blank))
    }

    /// A name, id or word, through the map.
    pub(super) fn text(&self, record: &Json<'_>) -> Result<Option<String>, RejectReason> {
        let found = match self.find(record) {
            Some(value) => Some(word(value).ok_or(RejectReason::InvalidField)?),
            None => self.value.clone(),
        };
        let Some(found) = found else { return Ok(None) };
        let found = self.map.get(&found).cloned().unwrap_or(found);
        match found.len() {
            0 => Ok(None),
            1..=MAX_NAME => Ok(Some(found)),
            _ => Err(RejectReason::InvalidField),
        }
    }

    /// A whole number, through the map.
    pub(super) fn integer(&self, record: &Json<'_>) -> Result<Option<i64>, RejectReason> {
        let value = self.find(record);
        if let Some(number @ (Json::U64(_) | Json::I64(_) | Json::F64(_))) = value
            && self.map.is_empty()
        {
            return number.as_i64().map(Some).ok_or(RejectReason::InvalidField);
        }
        let text = self.text(record)?;
        let read = |text: String| text.parse().map_err(|_| RejectReason::InvalidField);
        text.map(read).transpose()
    }

    /// A moment, and where its zone came from.
    pub(super) fn time(
        &self,
        record: &Json<'_>,
        context: &DecodeContext<'_>,
    ) -> Result<ReadTime, RejectReason> {
        let zone = self.zone.as_ref().or(context.zone);
        let Some(value) = self.find(record) else {
            return Ok((None, TimeZoneSource::Utc));
        };
        if let Some(unit) = self.unit {
            let nanos = nanos(value, unit).ok_or(RejectReason::InvalidField)?;
            let time = i64::try_from(nanos / 1_000).map_err(|_| RejectReason::InvalidField)?;
            let bounded = time::is_in_range(time).then_some(time);
            let time = bounded.ok_or(RejectReason::InvalidField)?;
            return Ok((Some(time), TimeZoneSource::Utc));
        }
        match (&self.pattern, value) {
            (Some(pattern), Json::Str(text)) => {
                let context = DecodeContext { zone, ..*context };
                time::read_pattern(pattern, text.trim(), &context)
            }
            _ => time::read(value, zone),
        }
    }

    /// A span of time in microseconds.
    pub(super) fn duration(&self, record: &Json<'_>) -> Result<Option<TimeMicros>, RejectReason> {
        let (Some(value), Some(unit)) = (self.find(record), self.unit) else {
            return Ok(None);
        };
        let nanos = nanos(value, unit).ok_or(RejectReason::InvalidField)?;
        match i64::try_from(nanos) {
            Ok(nanos @ 0..=MAX_DURATION) => Ok(Some(nanos / 1_000)),
            // A span that runs backwards comes from a clock that was set, and is unknown.
            Ok(..0) => Ok(None),
            _ => Err(RejectReason::InvalidField),
        }
    }
}

/// A number of a unit, exact where it is whole.
fn nanos(value: &Json<'_>, unit: Unit) -> Option<i128> {
    let whole = match value {
        Json::U64(n) => Some(i128::from(*n)),
        Json::I64(n) => Some(i128::from(*n)),
        Json::Str(text) => text.trim().parse().ok(),
        _ => None,
    };
    let scale = unit.nanos();
    if let Some(whole) = whole {
        return whole.checked_mul(i128::from(scale));
    }
    let nanos = value.as_f64()? * scale as f64;
    // To whole microseconds: no finer part of a float of that size means anything.
    (nanos.abs() < 9.0e18).then_some((nanos / 1e3).round() as i128 * 1_000)
}

/// A scalar as a word.
fn word(value: &Json<'_>) -> Option<String> {
    match value {
        Json::Bool(truth) => Some(truth.to_string()),
        value => value.as_id(),
    }
}

/// SHA-256 of a key in hex; what looks like one already is taken as it is.
pub(super) fn key_digest(key: &str) -> String {
    if key.len() == 64 && key.bytes().all(|b| b.is_ascii_hexdigit()) {
        return key.to_ascii_lowercase();
    }
    let digest = Sha256::digest(key.as_bytes());
    digest.iter().map(|b| format!("{b:02x}")).collect()
}
