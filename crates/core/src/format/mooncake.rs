//! Mooncake's public traces: relative time, lengths and the hashes of prefix blocks of 512 tokens.

use super::body::{extra_field, finish};
use super::json::{Fault, Json, decode_lenient};
use super::{DecodeContext, LogFormat, native};
use crate::exchange::{Exchange, RecordKind, RejectReason, Role, TimeMicros, TimeZoneSource};

/// The format; see the module.
pub struct Mooncake;

impl LogFormat for Mooncake {
    fn name(&self) -> &'static str {
        "mooncake"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let Ok(keys) = decode_lenient(record, native::keys_of) else {
            return 0;
        };
        let own = ["timestamp", "input_length", "output_length"];
        let all = own.iter().all(|key| keys.iter().any(|k| k == key));
        match (all, keys.len()) {
            (true, ..=4) => 100,
            (true, _) => 70,
            _ => 0,
        }
    }

    fn decode(
        &self,
        record: &[u8],
        _context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let exchange = decode_lenient(record, |text| decode_row(&Json::parse(text)?))?;
        out.push(exchange);
        Ok(RecordKind::Exchange)
    }
}

fn decode_row(row: &Json<'_>) -> Result<Exchange, Fault> {
    if !row.has("input_length") {
        return Err(RejectReason::UnknownShape.into());
    }
    let count = |key: &str| row.some(key).and_then(Json::as_i64).filter(|n| *n >= 0);
    let start = row.some("timestamp").and_then(Json::as_f64);
    let mut exchange = Exchange {
        role: Some(Role::Gateway),
        // Milliseconds from the start of the trace.
        t_start: start
            .filter(|ms| (0.0..1.0e13).contains(ms))
            .map(|ms| (ms * 1e3).round() as TimeMicros),
        t_zone: TimeZoneSource::Relative,
        prompt_tokens: Some(count("input_length").ok_or(RejectReason::InvalidField)?),
        completion_tokens: count("output_length"),
        tokens_source: Some("engine"),
        ..Exchange::default()
    };
    for (key, value) in row.entries() {
        if !["timestamp", "input_length", "output_length"].contains(&&**key) {
            exchange.extra.push(extra_field(key, value));
        }
    }
    finish(&mut exchange);
    Ok(exchange)
}
