//! Batch files of OpenAI and Anthropic: the lines that went in and those that came out.
//!
//! Input and output of one call are lines of two files that share the `custom_id`.

use super::body::{self, Request, Response, push_correlation};
use super::json::{Fault, Json};
use super::{DecodeContext, LogFormat, envelope};
use crate::exchange::{CorrelationKind, Exchange, Outcome, RecordKind, RejectReason, Role};

/// The format; see the module.
pub struct Batch;

const READ: [&str; 9] = [
    "custom_id",
    "method",
    "url",
    "body",
    "params",
    "id",
    "response",
    "result",
    "error",
];

impl LogFormat for Batch {
    fn name(&self) -> &'static str {
        "batch"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let keys = envelope::keys_with(record, "custom_id");
        let has = |key: &str| keys.iter().any(|k| k == key);
        let asks = (has("body") && (has("url") || has("method"))) || has("params");
        let answers = has("result") || (has("response") && has("error") && !has("request"));
        match has("custom_id") {
            true if asks || answers => 97,
            true if has("response") && !has("request") && keys.len() <= 4 => 85,
            _ => 0,
        }
    }

    fn decode(
        &self,
        record: &[u8],
        _context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        envelope::decode(record, out, decode_line)
    }
}

fn decode_line(line: &Json<'_>) -> Result<Vec<Exchange>, Fault> {
    let custom_id = line.some("custom_id").and_then(Json::as_id);
    let parts = ["body", "params", "response", "result", "error"];
    if custom_id.is_none() || !parts.iter().any(|key| line.has(key)) {
        return Err(RejectReason::UnknownShape.into());
    }
    let mut base = Exchange {
        role: Some(Role::Batch),
        request_id: custom_id,
        unique_id: true,
        ..Exchange::default()
    };
    push_correlation(&mut base, CorrelationKind::CustomId, line.some("custom_id"));
    push_correlation(&mut base, CorrelationKind::GatewayLogId, line.some("id"));
    envelope::extras(&mut base, line, &READ);
    let request = match line.any(&["body", "params"]) {
        Some(body) => Request::read(body),
        None => Request::default(),
    };
    let mut response = Response::default();
    if let Some(result) = line.some("result") {
        response = anthropic(result, &mut base);
    } else if let Some(answer) = line.some("response") {
        let id = answer.some("request_id");
        push_correlation(&mut base, CorrelationKind::XRequestId, id);
        base.http_status = envelope::status(answer.some("status_code"));
        if let Some(body) = answer.some("body") {
            response = Response::read(body);
        }
    }
    if line.some("error").is_some() && line.some("response").is_none() {
        base.outcome = match line.at(&["error", "code"]).and_then(Json::as_str) {
            Some("batch_expired" | "batch_cancelled") => Outcome::Aborted,
            _ => Outcome::Error,
        };
    }
    // Lines have no time; the provider says when it made the answer.
    base.t_start = response.created;
    Ok(body::expand(base, request, response)?)
}

fn anthropic(result: &Json<'_>, base: &mut Exchange) -> Response {
    match result.str_of("type") {
        Some("canceled" | "expired") => base.outcome = Outcome::Aborted,
        Some("errored") => base.outcome = Outcome::Error,
        _ => {}
    }
    match result.some("message") {
        Some(message) => Response::read(message),
        None => Response::default(),
    }
}
