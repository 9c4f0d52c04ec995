//! NVIDIA Dynamo's request trace (`DYN_REQUEST_TRACE`) and its older audit records.
//!
//! The trace tells of a call in two lines, joined by the request id: `request_end` has times,
//! counts and workers and is the exchange, `request_payload` has the texts and is half of it.
//! Prefix hashes use all 64 bits. The sinks drop lines under load, so absence proves nothing.

use super::body::{self, Request, Response, add_correlation, extra_field, push_correlation};
use super::headers::push_header;
use super::json::{Fault, Json, decode_lenient};
use super::{DecodeContext, LogFormat, markers, native, time};
use crate::exchange::{
    ContentState, CorrelationKind, Exchange, Outcome, RecordKind, RejectReason, Role, TimeMicros,
};

/// The format; see the module.
pub struct Dynamo;

/// Fields of a `request` that are read into columns.
const READ: [&str; 10] = [
    "request_id",
    "x_request_id",
    "model",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "request_received_ms",
    "ttft_ms",
    "total_time_ms",
    "finish_reason_metadata",
];

impl LogFormat for Dynamo {
    fn name(&self) -> &'static str {
        "dynamo"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let Ok(keys) = decode_lenient(record, native::keys_of) else {
            return 0;
        };
        let has = |key: &str| keys.iter().any(|k| k == key);
        if has("schema") && has("event_type") && has("event_time_unix_ms") {
            return 100;
        }
        let audit = has("schema_version") && has("requested_streaming") && has("request");
        if audit { 100 } else { 0 }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let mut found = decode_lenient(record, |text| decode_line(&Json::parse(text)?, context))?;
        if found.is_empty() {
            return Ok(RecordKind::Other);
        }
        out.append(&mut found);
        Ok(RecordKind::Exchange)
    }
}

fn decode_line(line: &Json<'_>, context: &DecodeContext<'_>) -> Result<Vec<Exchange>, Fault> {
    if line.has("requested_streaming") && line.has("request") {
        return payload(line, Exchange::default(), false);
    }
    let traced = line
        .str_of("schema")
        .is_some_and(|schema| schema.starts_with("dynamo.request.trace."));
    if !traced {
        return Err(RejectReason::UnknownShape.into());
    }
    let base = traced_base(line, context)?;
    match line.str_of("event_type") {
        Some("request_end") => {
            let request = line.some("request").ok_or(RejectReason::InvalidField)?;
            Ok(vec![ended(request, base)])
        }
        Some("request_payload") => {
            let inner = line.some("payload").ok_or(RejectReason::InvalidField)?;
            payload(inner, base, true)
        }
        Some(_) => Ok(Vec::new()),
        None => Err(RejectReason::InvalidField.into()),
    }
}

/// What a line of the trace says around its event.
fn traced_base(line: &Json<'_>, context: &DecodeContext<'_>) -> Result<Exchange, RejectReason> {
    let mut base = Exchange::default();
    if let Some(stamp) = line.some("event_time_unix_ms") {
        let (at, zone) = time::read(stamp, context.zone)?;
        (base.t_end, base.t_zone) = (at, zone);
    }
    let agent = line.some("agent_context");
    for key in ["session_id", "trajectory_id"] {
        if let Some(id) = agent.and_then(|a| a.some(key)).and_then(Json::as_id) {
            add_correlation(&mut base, CorrelationKind::SessionId, id);
        }
    }
    Ok(base)
}

fn identify(record: &Json<'_>, base: &mut Exchange) {
    base.role = Some(Role::Gateway);
    base.model_raw = record.str_of("model").map(str::to_owned);
    let id = record.some("request_id").and_then(Json::as_id);
    base.unique_id = id.is_some();
    base.request_id.clone_from(&id);
    if let Some(id) = id {
        add_correlation(base, CorrelationKind::EngineRid, id);
    }
    if let Some(id) = record.some("x_request_id").and_then(Json::as_id) {
        add_correlation(base, CorrelationKind::XRequestId, id);
    }
}

/// `request_end`.
fn ended(request: &Json<'_>, mut base: Exchange) -> Exchange {
    identify(request, &mut base);
    let count = |key: &str| request.some(key).and_then(Json::as_i64).filter(|n| *n >= 0);
    base.prompt_tokens = count("input_tokens");
    base.completion_tokens = count("output_tokens");
    base.cached_tokens = count("cached_tokens");
    base.tokens_source = Some("gateway");
    let millis = |key: &str| {
        let ms = request.some(key).and_then(Json::as_f64);
        ms.filter(|ms| (0.0..1.0e10).contains(ms))
            .map(|ms| (ms * 1e3).round() as TimeMicros)
    };
    let received = request.some("request_received_ms").and_then(Json::as_i64);
    let received = received
        .filter(|ms| *ms > 0)
        .and_then(|ms| ms.checked_mul(1_000));
    let total = millis("total_time_ms");
    base.t_start = received.or_else(|| base.t_end?.checked_sub(total?));
    let after = |span: Option<TimeMicros>| received?.checked_add(span?);
    base.t_end = after(total).or(base.t_end);
    base.t_first_token = after(millis("ttft_ms"));
    let worker = |key: &str| request.at(&["worker", key]).and_then(Json::as_id);
    // The memory that an answer reads is that of the worker that decoded it.
    base.node = worker("decode_worker_id").or_else(|| worker("prefill_worker_id"));
    let finish = request.some("finish_reason_metadata");
    base.finish_reason = finish
        .and_then(|f| f.any(&["finish_reason", "backend_finish_reason"]))
        .and_then(body::finish_of);
    for (key, value) in request.entries() {
        if !READ.contains(&&**key) && !matches!(value, Json::Null) {
            base.extra
                .push(extra_field(&format!("request.{key}"), value));
        }
    }
    body::finish(&mut base);
    base
}

/// `request_payload`, or a whole audit record.
fn payload(record: &Json<'_>, mut base: Exchange, half: bool) -> Result<Vec<Exchange>, Fault> {
    identify(record, &mut base);
    headers(record, &mut base);
    let request = record.some("request").map(Request::read);
    let answer = record.some("response");
    let response = answer.map(Response::read).unwrap_or_default();
    if base.t_start.is_none() {
        // The payload is written when the answer is; its body knows when it was made.
        base.t_start = response.created.or(base.t_end);
    }
    if answer.is_none() && !half {
        // The audit leaves the answer out where the call was cancelled or timed out.
        base.outcome = Outcome::Aborted;
    }
    let cut = record.some("payload_complete").and_then(Json::as_bool) == Some(false);
    for key in ["payload_drop_reason", "endpoint", "requested_streaming"] {
        if let Some(value) = record.some(key) {
            base.extra.push(extra_field(key, value));
        }
    }
    let mut out = body::expand(base, request.unwrap_or_default(), response)?;
    for exchange in &mut out {
        exchange.half = half;
        if cut {
            for (state, field) in [
                (&mut exchange.prompt_state, &mut exchange.prompt),
                (&mut exchange.response_state, &mut exchange.response),
            ] {
                if *state == ContentState::Full {
                    *state = ContentState::Truncated;
                    field.iter_mut().for_each(markers::cut_end);
                }
            }
        }
    }
    Ok(out)
}

fn headers(record: &Json<'_>, base: &mut Exchange) {
    let headers = record.some("http_request_headers").map(Json::entries);
    for (name, value) in headers.unwrap_or_default() {
        let name = name.to_ascii_lowercase();
        let value = match value {
            Json::Array(items) => items.first(),
            other => Some(other),
        };
        let Some(value) = value else { continue };
        if name == "x-request-id" {
            push_correlation(base, CorrelationKind::XRequestId, Some(value));
        } else {
            push_header(&mut base.tenant_candidates, &name, value);
        }
    }
}
