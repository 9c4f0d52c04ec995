//! Times of records: RFC 3339, naive local times with a declared zone, and unix numbers.

use super::json::Json;
use crate::exchange::{RejectReason, TimeMicros, TimeZoneSource};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// A time as read, and where its zone came from. The time is `None` where the zone is unknown.
pub type ReadTime = (Option<TimeMicros>, TimeZoneSource);

/// Years 1 to 9999, the range that every table engine can show.
const RANGE: std::ops::RangeInclusive<TimeMicros> =
    -62_135_596_800_000_000..=253_402_300_799_999_999;

/// Reads a time value; the unit of a number is told by its size.
pub fn read(value: &Json<'_>, zone: Option<&TimeZone>) -> Result<ReadTime, RejectReason> {
    let time = match value {
        Json::Str(text) => return read_text(text, zone),
        Json::U64(n) => i64::try_from(*n).ok().and_then(from_integer),
        Json::I64(n) => from_integer(*n),
        Json::F64(x) => from_float(*x),
        _ => None,
    };
    let time = time.ok_or(RejectReason::InvalidField)?;
    Ok((Some(time), TimeZoneSource::Utc))
}

/// Reads unix seconds, whole or not.
pub fn from_seconds(value: &Json<'_>) -> Option<TimeMicros> {
    value
        .as_f64()
        .filter(|s| *s > 0.0)
        .and_then(|s| bounded((s * 1e6).round()))
}

/// Reads a time text: with `Z`, with an offset, naive, or a unix number in digits.
pub fn read_text(text: &str, zone: Option<&TimeZone>) -> Result<ReadTime, RejectReason> {
    let text = text.trim();
    let (text, named_utc) = match text.strip_suffix(" UTC") {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    if let Ok(stamp) = text.parse::<Timestamp>() {
        let source = match text.as_bytes().last() {
            Some(b'Z' | b'z') => TimeZoneSource::Utc,
            _ => TimeZoneSource::Offset,
        };
        return in_range(stamp).map(|time| (Some(time), source));
    }
    if let Ok(naive) = text.parse::<DateTime>() {
        let (zone, source) = match zone {
            _ if named_utc => (&TimeZone::UTC, TimeZoneSource::Utc),
            Some(zone) => (zone, TimeZoneSource::Assumed),
            None => return Ok((None, TimeZoneSource::Unknown)),
        };
        let stamp = zone
            .to_ambiguous_timestamp(naive)
            .compatible()
            .map_err(|_| RejectReason::InvalidField)?;
        return in_range(stamp).map(|time| (Some(time), source));
    }
    let time = match text.parse::<i64>() {
        Ok(number) => from_integer(number),
        Err(_) => text.parse::<f64>().ok().and_then(from_float),
    };
    let time = time.ok_or(RejectReason::InvalidField)?;
    Ok((Some(time), TimeZoneSource::Utc))
}

fn in_range(stamp: Timestamp) -> Result<TimeMicros, RejectReason> {
    let time = stamp.as_microsecond();
    RANGE
        .contains(&time)
        .then_some(time)
        .ok_or(RejectReason::InvalidField)
}

// Seconds until the year 5138, then milliseconds, microseconds, nanoseconds: no real log is far
// enough from the present for two of them to meet.
fn from_integer(number: i64) -> Option<TimeMicros> {
    let time = match number.unsigned_abs() {
        0..100_000_000_000 => number.checked_mul(1_000_000)?,
        100_000_000_000..100_000_000_000_000 => number.checked_mul(1_000)?,
        100_000_000_000_000..100_000_000_000_000_000 => number,
        _ => number / 1_000,
    };
    RANGE.contains(&time).then_some(time)
}

fn from_float(number: f64) -> Option<TimeMicros> {
    let scale = match number.abs() {
        x if x < 1e11 => 1e6,
        x if x < 1e14 => 1e3,
        x if x < 1e17 => 1.0,
        _ => 1e-3,
    };
    bounded((number * scale).round())
}

fn bounded(micros: f64) -> Option<TimeMicros> {
    let fits = micros.is_finite() && micros.abs() < 9.0e18;
    fits.then_some(micros as TimeMicros)
        .filter(|time| RANGE.contains(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        let paris = TimeZone::fixed(jiff::tz::offset(2));
        let expected = 1_788_251_405_120_000;
        for (text, zone, source) in [
            (r#""2026-09-01T08:30:05.120Z""#, None, TimeZoneSource::Utc),
            (
                r#""2026-09-01T10:30:05.120+02:00""#,
                None,
                TimeZoneSource::Offset,
            ),
            (
                r#""2026-09-01 08:30:05.120 UTC""#,
                None,
                TimeZoneSource::Utc,
            ),
            (
                r#""2026-09-01T10:30:05.120""#,
                Some(&paris),
                TimeZoneSource::Assumed,
            ),
            (
                r#""2026-09-01 10:30:05.120000""#,
                Some(&paris),
                TimeZoneSource::Assumed,
            ),
            ("1788251405.12", None, TimeZoneSource::Utc),
            ("1788251405120", None, TimeZoneSource::Utc),
            ("1788251405120000", None, TimeZoneSource::Utc),
            ("1788251405120000000", None, TimeZoneSource::Utc),
            (r#""1788251405120""#, None, TimeZoneSource::Utc),
        ] {
            let value = Json::parse(text).unwrap();
            assert_eq!(read(&value, zone), Ok((Some(expected), source)), "{text}");
        }
    }

    #[test]
    fn naive_without_zone_has_no_time() {
        let read = read_text("2026-09-01T10:30:05", None);
        assert_eq!(read, Ok((None, TimeZoneSource::Unknown)));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            r#""soon""#,
            r#""""#,
            "true",
            "[1]",
            r#""NaN""#,
            "1e300",
            r#""9999999-01-01T00:00:00Z""#,
        ] {
            let value = Json::parse(text).unwrap();
            assert_eq!(
                read(&value, None),
                Err(RejectReason::InvalidField),
                "{text}"
            );
        }
    }
}
