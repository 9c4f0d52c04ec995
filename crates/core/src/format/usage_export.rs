//! What was billed: usage reports of providers, and bills written in the same shape. They witness
//! how many calls there were, whoever logged them.
//!
//! OpenAI's usage pages hold `bucket`s with `start_time` and `end_time` in unix seconds,
//! Anthropic's usage report `starting_at` and `ending_at`. Any other bill can be brought as lines
//! of `{"usage_from","usage_to","model","requests","input_tokens","output_tokens"}`.

use super::json::{Fault, Json, decode_lenient};
use super::{DecodeContext, LogFormat, envelope};
use crate::engine::{EngineEvent, EventKind};
use crate::exchange::{Exchange, RecordKind, RejectReason, TimeMicros, TimeZoneSource};

/// The format; see the module.
pub struct UsageExport;

/// Results of one record that are read, at most.
const MAX_RESULTS: usize = 1 << 20;

const MINUTE: TimeMicros = 60_000_000;
const HOUR: TimeMicros = 60 * MINUTE;
const DAY: TimeMicros = 24 * HOUR;

impl LogFormat for UsageExport {
    fn name(&self) -> &'static str {
        "usage_export"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let keys = envelope::keys_with(record, "input_tokens");
        let has = |key: &str| keys.iter().any(|k| k == key);
        if has("usage_from") && has("usage_to") {
            return 95;
        }
        let results = has("results") || has("result");
        if results && (has("start_time") || has("starting_at")) {
            return 95;
        }
        let paged = envelope::holds(record, "\"bucket\"") || envelope::holds(record, "starting_at");
        if has("data") && has("has_more") && paged {
            90
        } else {
            0
        }
    }

    fn decode(
        &self,
        record: &[u8],
        _context: &DecodeContext<'_>,
        _out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let events = read(record)?;
        Ok(match events.is_empty() {
            true => RecordKind::Other,
            false => RecordKind::Event,
        })
    }

    fn events(&self, record: &[u8], _context: &DecodeContext<'_>, out: &mut Vec<EngineEvent>) {
        out.append(&mut read(record).unwrap_or_default());
    }
}

fn read(record: &[u8]) -> Result<Vec<EngineEvent>, RejectReason> {
    decode_lenient(record, |text| {
        let document = Json::parse(text)?;
        let mut out = Vec::new();
        match document.some("data") {
            Some(Json::Array(buckets)) => {
                for item in buckets {
                    bucket(item, &mut out)?;
                }
            }
            _ => bucket(&document, &mut out)?,
        }
        Ok(out)
    })
}

fn bucket(bucket: &Json<'_>, out: &mut Vec<EngineEvent>) -> Result<(), Fault> {
    let from = bucket.any(&["start_time", "starting_at", "usage_from"]);
    let to = bucket.any(&["end_time", "ending_at", "usage_to"]);
    let (Some(from), Some(to)) = (envelope::utc(from), envelope::utc(to)) else {
        return Err(RejectReason::UnknownShape.into());
    };
    let (kind, provider) = match to.saturating_sub(from) {
        MINUTE => (EventKind::UsageMinute, provider(bucket)),
        HOUR => (EventKind::UsageHour, provider(bucket)),
        DAY => (EventKind::UsageDay, provider(bucket)),
        // Of another span it would not be known where it ends.
        _ => return Err(RejectReason::InvalidField.into()),
    };
    let results = match bucket.any(&["results", "result"]) {
        Some(results) => results.items(),
        None => std::slice::from_ref(bucket),
    };
    for result in results {
        if out.len() >= MAX_RESULTS {
            return Err(RejectReason::TooLong.into());
        }
        let count = |keys: &[&str]| envelope::count(result.any(keys));
        let requests = count(&["num_model_requests", "requests"]);
        // Anthropic counts what no cache had apart from the rest.
        let parts = [
            count(&["uncached_input_tokens"]),
            count(&["cache_read_input_tokens"]),
            envelope::count(result.at(&["cache_creation", "ephemeral_1h_input_tokens"])),
            envelope::count(result.at(&["cache_creation", "ephemeral_5m_input_tokens"])),
        ];
        let split = parts.iter().any(Option::is_some);
        let sum = parts
            .iter()
            .flatten()
            .fold(0i64, |a, b| a.saturating_add(*b));
        let asked = count(&["input_tokens"]).or(split.then_some(sum));
        let answered = count(&["output_tokens"]);
        if requests.or(asked).or(answered).is_none() {
            return Err(RejectReason::InvalidField.into());
        }
        let say = |n: Option<i64>| n.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
        let message = format!(
            "billed: requests {}, prompt tokens {}, answer tokens {}",
            say(requests),
            say(asked),
            say(answered)
        );
        let mut event = EngineEvent::new(kind, provider, message);
        (event.t, event.t_zone) = (Some(from), TimeZoneSource::Utc);
        (event.n1, event.n2, event.n3) = (requests, asked, answered);
        event.model = result
            .some("model")
            .and_then(Json::as_id)
            .filter(|name| name.len() <= MAX_MODEL_BYTES);
        out.push(event);
    }
    Ok(())
}

/// Longest name of a model that is believed.
const MAX_MODEL_BYTES: usize = 256;

fn provider(bucket: &Json<'_>) -> &'static str {
    if bucket.has("starting_at") {
        "anthropic"
    } else if bucket.has("start_time") {
        "openai"
    } else {
        "bill"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_of_three_shapes() {
        for (record, engine, kind, numbers, model) in [
            (
                r#"{"object":"page","data":[{"object":"bucket","start_time":1789084800,"end_time":1789171200,"results":[{"input_tokens":690112,"output_tokens":240,"num_model_requests":3,"model":"m"}]}],"has_more":false}"#,
                "openai",
                EventKind::UsageDay,
                (Some(3), Some(690_112), Some(240)),
                Some("m"),
            ),
            (
                r#"{"starting_at":"2026-09-11T08:00:00Z","ending_at":"2026-09-11T09:00:00Z","results":[{"uncached_input_tokens":3,"cache_read_input_tokens":20,"cache_creation":{"ephemeral_5m_input_tokens":7},"output_tokens":2}]}"#,
                "anthropic",
                EventKind::UsageHour,
                (None, Some(30), Some(2)),
                None,
            ),
            (
                r#"{"usage_from":"2026-09-11T08:00:00Z","usage_to":"2026-09-11T08:01:00Z","model":"m","requests":1,"input_tokens":5,"output_tokens":6}"#,
                "bill",
                EventKind::UsageMinute,
                (Some(1), Some(5), Some(6)),
                Some("m"),
            ),
        ] {
            let found = read(record.as_bytes()).unwrap();
            assert_eq!(found.len(), 1);
            assert_eq!((found[0].engine, found[0].kind), (engine, kind));
            assert_eq!((found[0].n1, found[0].n2, found[0].n3), numbers);
            assert_eq!(found[0].model.as_deref(), model);
            assert!(UsageExport.sniff(record.as_bytes()) >= 90, "{record}");
        }
    }

    #[test]
    fn what_is_no_bill_is_refused() {
        for (record, reason) in [
            (r#"{"data":[{"a":1}]}"#, RejectReason::UnknownShape),
            (
                r#"{"usage_from":1789084800,"usage_to":1789084801,"input_tokens":1}"#,
                RejectReason::InvalidField,
            ),
            (
                r#"{"usage_from":1789084800,"usage_to":1789084860,"model":"m"}"#,
                RejectReason::InvalidField,
            ),
        ] {
            assert_eq!(read(record.as_bytes()).err(), Some(reason), "{record}");
        }
        let empty = br#"{"start_time":1789084800,"end_time":1789084860,"results":[]}"#;
        let kind = UsageExport.decode(empty, &DecodeContext::default(), &mut Vec::new());
        assert_eq!(kind, Ok(RecordKind::Other));
    }
}
