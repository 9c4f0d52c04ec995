//! What an engine prints: events, lines of no further meaning, and requests where it logs them
//! there.
//!
//! Requests in the stream are read by the formats of the request logs. A line that is none of
//! these is known all the same: an engine's output is full of banners, bars and traces.

use super::sglang::{SglangJson, SglangText};
use super::vllm::{VllmJson, VllmText};
use super::{DecodeContext, LogFormat};
use crate::engine::{EngineEvent, EventKind, is_engine_line, node_of, read_line};
use crate::exchange::{Exchange, RecordKind, RejectReason};

/// The format; see the module.
pub struct EngineLog;

/// Formats of requests that share the stream.
const REQUESTS: [&dyn LogFormat; 4] = [&SglangJson, &SglangText, &VllmText, &VllmJson];

/// How sure a request format must be to be handed a line.
const SURE: u8 = 90;

/// The request format of a line.
fn request_format(record: &[u8]) -> Option<&'static dyn LogFormat> {
    REQUESTS
        .into_iter()
        .find(|format| format.sniff(record) >= SURE)
}

impl LogFormat for EngineLog {
    fn name(&self) -> &'static str {
        "engine_log"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let record = record.trim_ascii_start();
        if record.starts_with(b"{") {
            return 0;
        }
        let lined = is_engine_line(record);
        match read_line(record, None, "").map(|event| event.kind) {
            Some(EventKind::ServerArgs | EventKind::Startup) => 100,
            Some(_) if lined => 90,
            // Without the prefix the words alone are weak evidence.
            Some(_) => 60,
            None if lined && request_format(record).is_none() => 15,
            None => 0,
        }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        if let Some(format) = request_format(record) {
            let before = out.len();
            let kind = format.decode(record, context, out)?;
            for exchange in out.iter_mut().skip(before) {
                if exchange.node.is_none() {
                    exchange.node = node_of(context.source_name);
                }
            }
            return Ok(kind);
        }
        if record.trim_ascii_start().starts_with(b"{") {
            return Err(RejectReason::UnknownShape);
        }
        let event = read_line(record, None, "").is_some();
        Ok(if event {
            RecordKind::Event
        } else {
            RecordKind::Other
        })
    }

    fn events(&self, record: &[u8], context: &DecodeContext<'_>, out: &mut Vec<EngineEvent>) {
        out.extend(read_line(record, context.zone, context.source_name));
    }
}
