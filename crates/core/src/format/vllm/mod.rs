//! vLLM's server log (`--enable-log-requests`, `--enable-log-outputs`), as text and as JSON lines.
//!
//! Request and answer are lines of their own, joined by the engine's id: the request is the first
//! half of an exchange, the answer counts as the exchange. Pieces of a stream are known lines only,
//! since the whole answer follows in a line of its own. The log names neither tenant, model nor
//! status.

mod line;
mod message;

use super::json::{Json, decode_lenient};
use super::{DecodeContext, LogFormat, stray, time};
use crate::exchange::{Exchange, RecordKind, RejectReason, TimeZoneSource};
use line::Line;
use message::Message;

/// The log as text; see the module.
pub struct VllmText;

/// The log as JSON lines (`log_formatter=json`); see the module.
pub struct VllmJson;

/// How sure a line with the engine's prefix is that says nothing of a request.
const ENGINE_LINE: u8 = 60;

impl LogFormat for VllmText {
    fn name(&self) -> &'static str {
        "vllm_text"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let text = String::from_utf8_lossy(record);
        match Line::read(&text) {
            Some(line) if Message::read(line.message).is_some() => 100,
            Some(_) => ENGINE_LINE,
            None => 0,
        }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let text = String::from_utf8_lossy(record);
        let Some(line) = Line::read(&text) else {
            return (line::is_access(&text) || stray::is_stray(&text))
                .then_some(RecordKind::Other)
                .ok_or(RejectReason::UnknownShape);
        };
        let Some(message) = Message::read(line.message) else {
            return Ok(RecordKind::Other);
        };
        let Some(exchange) = message.exchange(line.time(context)?)? else {
            return Ok(RecordKind::Other);
        };
        out.push(exchange);
        Ok(RecordKind::Exchange)
    }

    fn month(&self, record: &[u8]) -> Option<u8> {
        Line::read(&String::from_utf8_lossy(record))?.month()
    }
}

impl LogFormat for VllmJson {
    fn name(&self) -> &'static str {
        "vllm_json"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let sure = decode_lenient(record, |text| {
            let record = Json::parse(text)?;
            let own = ["levelname", "processName", "name"];
            let Some(message) = record.str_of("message") else {
                return Ok(0);
            };
            let shaped = own.iter().all(|key| record.has(key));
            Ok(match (shaped, Message::read(message).is_some()) {
                (true, true) => 100,
                (true, false) if is_engine_logger(&record) => ENGINE_LINE,
                _ => 0,
            })
        });
        sure.unwrap_or(0)
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let exchange = decode_lenient(record, |text| {
            let record = Json::parse(text)?;
            let Some(text) = record.str_of("message") else {
                return Err(RejectReason::UnknownShape.into());
            };
            let known = record.has("levelname") || record.has("asctime");
            let Some(message) = Message::read(text) else {
                let other = known.then_some(None);
                return other.ok_or(RejectReason::UnknownShape.into());
            };
            Ok(message.exchange(json_time(&record, context)?)?)
        })?;
        let Some(exchange) = exchange else {
            return Ok(RecordKind::Other);
        };
        out.push(exchange);
        Ok(RecordKind::Exchange)
    }

    fn month(&self, record: &[u8]) -> Option<u8> {
        let month = decode_lenient(record, |text| {
            let record = Json::parse(text)?;
            let stamp = record.str_of("asctime").and_then(line::Yearless::read);
            Ok(stamp.and_then(|(stamp, _)| stamp.month()))
        });
        month.ok().flatten()
    }
}

fn is_engine_logger(record: &Json<'_>) -> bool {
    record
        .str_of("name")
        .is_some_and(|name| name.starts_with("vllm") || name.starts_with("uvicorn"))
}

/// `asctime`, in the text log's spelling or in Python's own.
fn json_time(
    record: &Json<'_>,
    context: &DecodeContext<'_>,
) -> Result<time::ReadTime, RejectReason> {
    let Some(asctime) = record.str_of("asctime") else {
        return Ok((None, TimeZoneSource::Unknown));
    };
    match line::Yearless::read(asctime) {
        Some((yearless, _)) => yearless.resolve(context),
        None => time::read_text(&asctime.replacen(',', ".", 1), context.zone),
    }
}

#[cfg(test)]
mod tests;
