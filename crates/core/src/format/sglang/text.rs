//! SGLang's request log as text, the engine's default: `Finish: obj=GenerateReqInput(…), out={…}`.

use super::{behind_prefix, decode_line, decode_record};
use crate::engine::{EngineEvent, read_line};
use crate::exchange::{Exchange, RecordKind, RejectReason};
use crate::format::json::{Fault, Json, decode_lenient};
use crate::format::python::Python;
use crate::format::{DecodeContext, LogFormat};
use std::borrow::Cow;

/// The format; see the module.
pub struct SglangText;

/// What a record starts with, and the event of the JSON log that it is.
const STARTS: [(&str, &str); 3] = [
    ("Receive OpenAI: ", "request.received.openai"),
    ("Receive: ", "request.received"),
    ("Finish: ", "request.finished"),
];

impl LogFormat for SglangText {
    fn name(&self) -> &'static str {
        "sglang_text"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        if is_record(record) { 100 } else { 0 }
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

/// Whether the line is a request in this spelling.
pub(super) fn is_record(record: &[u8]) -> bool {
    behind_prefix(record.trim_ascii_start()).is_some_and(|rest| {
        let starts = |start: &str| rest.strip_prefix(start.as_bytes());
        STARTS
            .iter()
            .filter_map(|(start, _)| starts(start))
            .any(|r| r.starts_with(b"obj="))
    })
}

/// Decodes such a line.
pub(super) fn decode(
    record: &[u8],
    context: &DecodeContext<'_>,
) -> Result<(RecordKind, Vec<Exchange>), RejectReason> {
    let lossy = String::from_utf8_lossy(record.trim_ascii_start());
    decode_lenient(lossy.as_bytes(), |text| {
        let record = read(text).ok_or(Fault::Reject(RejectReason::InvalidJson))?;
        decode_record(&record, context)
    })
}

/// The record in the shape of the JSON log.
fn read(line: &str) -> Option<Json<'_>> {
    let (stamp, rest) = line.strip_prefix('[')?.split_once(']')?;
    // Rank names may stand behind date and time.
    let stamp = stamp.get(..19)?;
    let rest = rest.trim_start();
    let (start, event) = STARTS
        .into_iter()
        .find(|(start, _)| rest.starts_with(start))?;
    let Json::Object(mut entries) = Python::new(rest.get(start.len()..)?).fields("", 0)? else {
        return None;
    };
    let text = |text| Json::Str(Cow::Borrowed(text));
    entries.push((Cow::Borrowed("event"), text(event)));
    entries.push((Cow::Borrowed("timestamp"), text(stamp)));
    Some(Json::Object(entries))
}
