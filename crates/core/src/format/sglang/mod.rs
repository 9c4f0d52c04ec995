//! SGLang's request log in JSON (`--log-requests --log-requests-format json`), levels 0 to 3.
//!
//! One finished record an engine: in disaggregated serving the prefill and the decode node each
//! write one, joined by the bootstrap room. The log names neither tenant nor model.

mod dump;
mod item;
mod metrics;
mod received;
mod text;

pub use dump::SglangDump;
pub use metrics::SglangMetrics;
pub use text::SglangText;

use super::json::{Fault, Json, decode_lenient};
use super::{DecodeContext, LogFormat, stray, time};
use crate::engine::{EngineEvent, read_line};
use crate::exchange::{Exchange, RecordKind, RejectReason, TimeZoneSource};
use item::{Item, nth};

/// The format; see the module.
pub struct SglangJson;

/// Fields that a request object may have; the engine's own has about a hundred.
const MAX_OBJ_FIELDS: usize = 1024;

impl LogFormat for SglangJson {
    fn name(&self) -> &'static str {
        "sglang_json"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let Some(json) = json_part(record) else {
            return if is_engine_line(record) {
                ENGINE_LINE
            } else {
                0
            };
        };
        let event = decode_lenient(json, |text| {
            let record = Json::parse(text)?;
            Ok(record
                .str_of("event")
                .map(|event| (known_event(event), record.has("obj"))))
        });
        match event {
            Ok(Some((true, _))) => 100,
            Ok(Some((false, true))) => 40,
            _ => 0,
        }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        decode_line(record, context, out)
    }

    fn events(&self, record: &[u8], context: &DecodeContext<'_>, out: &mut Vec<EngineEvent>) {
        out.extend(read_line(record, context.zone, context.source_name));
    }
}

/// One line of either log: operators switch the spelling while the server runs, so a file may hold
/// both.
fn decode_line(
    record: &[u8],
    context: &DecodeContext<'_>,
    out: &mut Vec<Exchange>,
) -> Result<RecordKind, RejectReason> {
    let (kind, mut exchanges) = if let Some(json) = json_part(record) {
        decode_lenient(json, |text| {
            let record = Json::parse(text)?;
            decode_record(&record, context)
        })?
    } else if text::is_record(record) {
        text::decode(record, context)?
    } else {
        return other_line(record);
    };
    out.append(&mut exchanges);
    Ok(kind)
}

/// The JSON of a line: the whole line, or what stands behind the logging prefix.
fn json_part(record: &[u8]) -> Option<&[u8]> {
    let record = record.trim_ascii_start();
    if record.starts_with(b"{") {
        return Some(record);
    }
    let rest = behind_prefix(record)?;
    rest.starts_with(b"{").then_some(rest)
}

/// What stands behind `[YYYY-MM-DD …] `.
fn behind_prefix(record: &[u8]) -> Option<&[u8]> {
    let inside = record.strip_prefix(b"[")?;
    let dated = inside
        .get(..10)?
        .iter()
        .enumerate()
        .all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    // The prefix holds date, time and a few rank names.
    let close = inside.iter().take(200).position(|b| *b == b']')?;
    dated.then(|| {
        inside
            .get(close + 1..)
            .unwrap_or_default()
            .trim_ascii_start()
    })
}

/// Other lines of the same process share the stream: some of them are events.
fn other_line(record: &[u8]) -> Result<RecordKind, RejectReason> {
    let known = is_log_line(record);
    if known && read_line(record, None, "").is_some() {
        return Ok(RecordKind::Event);
    }
    known
        .then_some(RecordKind::Other)
        .ok_or(RejectReason::UnknownShape)
}

fn is_log_line(record: &[u8]) -> bool {
    behind_prefix(record).is_some()
        || record.starts_with(b"INFO:  ")
        || stray::is_stray(&String::from_utf8_lossy(record))
}

/// How sure an engine line is of a file that has requests further down.
const ENGINE_LINE: u8 = 10;

/// Whether the line is one that only this engine writes when it starts up or runs a batch.
fn is_engine_line(record: &[u8]) -> bool {
    let starts = [
        "server_args=",
        "Prefill batch",
        "Decode batch",
        "max_total_num_tokens=",
        "KV Cache is allocated",
        "Load weight ",
        "Init torch distributed",
        "The server is fired up",
    ];
    behind_prefix(record.trim_ascii_start())
        .is_some_and(|rest| starts.iter().any(|s| rest.starts_with(s.as_bytes())))
}

fn known_event(event: &str) -> bool {
    matches!(
        event,
        "request.received" | "request.finished" | "request.received.openai" | "scheduler.status"
    )
}

fn decode_record(
    record: &Json<'_>,
    context: &DecodeContext<'_>,
) -> Result<(RecordKind, Vec<Exchange>), Fault> {
    let Some(event) = record.str_of("event") else {
        return Err(RejectReason::UnknownShape.into());
    };
    let stamp = match record.some("timestamp") {
        Some(value) if known_event(event) => time::read(value, context.zone),
        _ => Ok((None, TimeZoneSource::Unknown)),
    };
    if event == "request.received.openai" {
        return Ok(received::decode(record, stamp?, context)?);
    }
    if !matches!(event, "request.received" | "request.finished") {
        let known = known_event(event) || record.has("timestamp");
        let reason = RejectReason::UnknownShape;
        return known
            .then_some((RecordKind::Other, Vec::new()))
            .ok_or(reason.into());
    }
    let half = event == "request.received";
    let Some(obj @ Json::Object(_)) = record.some("obj") else {
        return Err(RejectReason::InvalidField.into());
    };
    if obj.entries().len() > MAX_OBJ_FIELDS || record.entries().len() > MAX_OBJ_FIELDS {
        // Each request of a batch looks them up again.
        return Err(RejectReason::InvalidField.into());
    }
    if !half && record.some("out").is_none() {
        return Err(RejectReason::InvalidField.into());
    }
    let stamp = stamp?;
    let count = [record.get("rid"), record.get("out")]
        .into_iter()
        .flatten()
        .map(|value| value.items().len())
        .max()
        .unwrap_or(0)
        .max(1);
    let mut out = Vec::new();
    for index in 0..count {
        let item = Item {
            record,
            obj,
            out: record.get("out").and_then(|o| nth(o, index)),
            index,
            half,
            batch: count > 1,
        };
        out.push(item.exchange(stamp, context)?);
    }
    Ok((RecordKind::Exchange, out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{ContentState, Role};

    fn decode(line: &str, name: &str) -> Result<Vec<Exchange>, RejectReason> {
        let mut out = Vec::new();
        let context = DecodeContext {
            source_name: name,
            ..DecodeContext::default()
        };
        SglangJson
            .decode(line.as_bytes(), &context, &mut out)
            .map(|_| out)
    }

    #[test]
    fn host_names() {
        for (name, host) in [
            ("decode-3_0.log", Some("decode-3")),
            ("gpu_a_12.log.2026-09-11_08", Some("gpu_a")),
            ("gpu_0.log.gz", Some("gpu")),
            ("server.log", None),
            ("_0.log", None),
            ("a_b.log", None),
            ("x.jsonl", None),
            ("sglang-request-metrics-20260911_08.log", None),
        ] {
            assert_eq!(item::host_of(name).as_deref(), host, "{name}");
        }
    }

    #[test]
    fn level_2_leaves_a_cut() {
        let long = format!("{}...{}", "ä".repeat(1024), "z".repeat(1024));
        let line = format!(
            r#"{{"event":"request.finished","rid":"r","obj":{{"text":"{long}"}},"out":{{"text":"ok","meta_info":{{}}}}}}"#
        );
        let exchange = decode(&line, "").unwrap().remove(0);
        assert_eq!(exchange.prompt_state, ContentState::Truncated);
        let border = exchange.prompt.unwrap().borders[0];
        assert_eq!((border.start, border.end), (2048, 2051));
        assert_eq!(exchange.response_state, ContentState::Full);
    }

    #[test]
    fn roles() {
        for (name, room, finish, generated, role) in [
            (
                "a_0.log",
                "null",
                r#"{"type":"stop"}"#,
                9,
                Some(Role::Unified),
            ),
            (
                "a_0.log",
                "7",
                r#"{"type":"length","length":0}"#,
                1,
                Some(Role::Prefill),
            ),
            ("a_0.log", "7", r#"{"type":"stop"}"#, 9, Some(Role::Decode)),
            (
                "decode-1_0.log",
                "7",
                r#"{"type":"abort"}"#,
                0,
                Some(Role::Decode),
            ),
            (
                "a_0.log",
                "7",
                r#"{"type":"abort"}"#,
                1,
                Some(Role::Prefill),
            ),
        ] {
            let line = format!(
                r#"{{"event":"request.finished","rid":"r","obj":{{"input_ids":[1,2,3],"bootstrap_room":{room}}},"out":{{"meta_info":{{"finish_reason":{finish},"prompt_tokens":1,"completion_tokens":{generated}}}}}}}"#
            );
            let exchange = decode(&line, name).unwrap().remove(0);
            assert_eq!(exchange.role, role, "{line}");
            assert_eq!(exchange.prompt_state, ContentState::IdsOnly);
        }
    }

    #[test]
    fn rooms_are_exact_or_refused() {
        let line = |room: &str| {
            format!(r#"{{"event":"request.received","rid":"r","obj":{{"bootstrap_room":{room}}}}}"#)
        };
        let exchange = decode(&line("5120033876543210987"), "").unwrap().remove(0);
        assert!(exchange.half);
        assert_eq!(exchange.correlation[0].value, "5120033876543210987");
        assert_eq!(
            decode(&line("5.12e18"), ""),
            Err(RejectReason::InvalidField)
        );
    }

    #[test]
    fn other_lines() {
        for (line, kind) in [
            (
                r#"[2026-09-11 08:30:05] {"timestamp":"x","event":"scheduler.status"}"#,
                Ok(0),
            ),
            (
                "[2026-09-11 08:30:05 TP0] Prefill batch, #new-seq: 1",
                Ok(0),
            ),
            ("soup", Err(RejectReason::UnknownShape)),
            (r#"{"a":1}"#, Err(RejectReason::UnknownShape)),
            (
                r#"[2026-09-11 08:30:05] {"event":"#,
                Err(RejectReason::InvalidJson),
            ),
            (
                r#"{"event":"request.finished"}"#,
                Err(RejectReason::InvalidField),
            ),
        ] {
            assert_eq!(decode(line, "").map(|out| out.len()), kind, "{line}");
        }
    }
}
