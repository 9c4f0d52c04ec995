//! Times of records: RFC 3339, naive local times with a declared zone, and unix numbers.

use super::DecodeContext;
use super::json::Json;
use crate::exchange::{RejectReason, TimeMicros, TimeZoneSource};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime;
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

/// Reads a time in a spelling of strftime. Where it has no offset the declared zone holds, and
/// where it has no year the declared one.
pub fn read_pattern(
    pattern: &str,
    text: &str,
    context: &DecodeContext<'_>,
) -> Result<ReadTime, RejectReason> {
    let invalid = |_| RejectReason::InvalidField;
    let mut read = strtime::parse(pattern, text).map_err(invalid)?;
    let mut assumed = false;
    if read.year().is_none() {
        let month = read.month().and_then(|m| u8::try_from(m).ok());
        let Some(year) = month.and_then(|month| declared_year(context, month)) else {
            return Ok((None, TimeZoneSource::Unknown));
        };
        read.set_year(Some(year)).map_err(invalid)?;
        assumed = true;
    }
    if read.offset().is_some() {
        let source = if assumed {
            TimeZoneSource::Assumed
        } else {
            TimeZoneSource::Offset
        };
        let stamp = read.to_timestamp().map_err(invalid)?;
        return in_range(stamp).map(|time| (Some(time), source));
    }
    let Some(zone) = context.zone else {
        return Ok((None, TimeZoneSource::Unknown));
    };
    let naive = read.to_datetime().map_err(invalid)?;
    let stamp = zone.to_ambiguous_timestamp(naive).compatible();
    in_range(stamp.map_err(invalid)?).map(|time| (Some(time), TimeZoneSource::Assumed))
}

/// The year of a time that is written without one. The declared year is that of the first such
/// time of the source; a source that runs over New Year goes on in the next one.
pub fn declared_year(context: &DecodeContext<'_>, month: u8) -> Option<i16> {
    let year = context.year?;
    let first = context.first_month.unwrap_or(month);
    Some(match i16::from(month) - i16::from(first) {
        ..=-7 => year + 1,
        // Lines of two threads around midnight may change places.
        11 => year - 1,
        _ => year,
    })
}

/// Whether a time is one that every table engine can show.
pub fn is_in_range(time: TimeMicros) -> bool {
    RANGE.contains(&time)
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
    fn a_declared_year_rolls_over() {
        let utc = TimeZone::UTC;
        let context = |first_month| DecodeContext {
            zone: Some(&utc),
            year: Some(2026),
            first_month,
            ..DecodeContext::default()
        };
        for (first, text, expected) in [
            (Some(12), "12-31 23:59:59", "2026-12-31T23:59:59Z"),
            (Some(12), "01-01 00:00:01", "2027-01-01T00:00:01Z"),
            (Some(1), "12-31 23:59:59", "2025-12-31T23:59:59Z"),
            (Some(2), "10-01 00:00:00", "2026-10-01T00:00:00Z"),
            (Some(9), "08-31 23:59:59", "2026-08-31T23:59:59Z"),
            (None, "01-01 00:00:00", "2026-01-01T00:00:00Z"),
        ] {
            let read = read_pattern("%m-%d %H:%M:%S", text, &context(first));
            let stamp: Timestamp = expected.parse().unwrap();
            let wanted = (Some(stamp.as_microsecond()), TimeZoneSource::Assumed);
            assert_eq!(read, Ok(wanted), "{text}");
        }
        let none = DecodeContext::default();
        let unknown = Ok((None, TimeZoneSource::Unknown));
        assert_eq!(
            read_pattern("%m-%d %H:%M:%S", "01-01 00:00:00", &none),
            unknown
        );
        let full = read_pattern("%d.%m.%Y %H:%M:%S %z", "01.09.2026 10:30:05 +0200", &none);
        assert_eq!(
            full,
            Ok((Some(1_788_251_405_000_000), TimeZoneSource::Offset))
        );
        assert!(read_pattern("%d.%m.%Y", "soon", &none).is_err());
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
