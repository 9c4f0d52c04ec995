//! Envoy AI Gateway's access log as JSON.
//!
//! It holds no text, but it is the best witness of node, time, size and status. Which keys there
//! are is up to the operator, and so is what names the tenant; `-` and `null` stand for no value.

use super::body::{add_correlation, extra_field, finish, push_candidate};
use super::headers::push_header;
use super::json::{Fault, Json, decode_lenient};
use super::{DecodeContext, LogFormat, native, time};
use crate::exchange::{
    CorrelationKind, Exchange, Outcome, RecordKind, RejectReason, Role, TimeMicros,
};

/// The format; see the module.
pub struct Envoy;

/// Keys that are read into columns.
const READ: [&str; 18] = [
    "start_time",
    "duration",
    "response_code",
    "response_flags",
    "x-request-id",
    "session.id",
    "upstream_host",
    "upstream_cluster",
    "route_name",
    "x-forwarded-for",
    "downstream_remote_address",
    "user.id",
    "tenant.id",
    "gen_ai.request.model",
    "gen_ai.response.model",
    "gen_ai.original.model",
    "gen_ai.provider.name",
    "gen_ai.backend.name",
];

/// Token counts; the names of cached ones differ between versions.
const INPUT: [&str; 2] = ["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"];
const OUTPUT: [&str; 2] = [
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
];
const CACHED: [&str; 3] = [
    "gen_ai.usage.cached_input_tokens",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cached_tokens",
];

/// Headers that operators log and that name no tenant.
const PLAIN_HEADERS: [&str; 4] = [
    "x-request-id",
    "x-forwarded-for",
    "x-forwarded-proto",
    "x-forwarded-host",
];

impl LogFormat for Envoy {
    fn name(&self) -> &'static str {
        "envoy_ai_gateway"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let Ok(keys) = decode_lenient(record, native::keys_of) else {
            return 0;
        };
        let has = |key: &str| keys.iter().any(|k| k == key);
        let ai = keys.iter().any(|key| key.starts_with("gen_ai."));
        match has("response_code") && (has("start_time") || has("duration")) {
            true if ai => 100,
            // The same file has lines of other routes.
            true if has("upstream_host") || has("response_flags") => 30,
            _ => 0,
        }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let found = decode_lenient(record, |text| decode_line(&Json::parse(text)?, context))?;
        let Some(exchange) = found else {
            return Ok(RecordKind::Other);
        };
        out.push(exchange);
        Ok(RecordKind::Exchange)
    }
}

/// Whether a value says something.
fn is_there(value: &Json<'_>) -> bool {
    !matches!(value, Json::Null) && !matches!(value.as_str(), Some("-" | ""))
}

/// A value that is there.
fn value<'j, 'a>(line: &'j Json<'a>, key: &str) -> Option<&'j Json<'a>> {
    line.get(key).filter(|v| is_there(v))
}

fn first<'j, 'a>(line: &'j Json<'a>, keys: &[&str]) -> Option<&'j Json<'a>> {
    keys.iter().find_map(|key| value(line, key))
}

fn decode_line(line: &Json<'_>, context: &DecodeContext<'_>) -> Result<Option<Exchange>, Fault> {
    if !line.has("response_code") {
        return Err(RejectReason::UnknownShape.into());
    }
    let ai = |name: &str, field| name.starts_with("gen_ai.") && is_there(field);
    if !line.entries().iter().any(|(name, field)| ai(name, field)) {
        // A line of a route that leads to no model.
        return Ok(None);
    }
    let text = |keys: &[&str]| first(line, keys).and_then(Json::as_str).map(str::to_owned);
    let count = |keys: &[&str]| first(line, keys).and_then(Json::as_i64).filter(|n| *n >= 0);
    let mut exchange = Exchange {
        role: Some(Role::Gateway),
        model_raw: text(&["gen_ai.response.model", "gen_ai.request.model"]),
        deployment: text(&[
            "gen_ai.provider.name",
            "gen_ai.backend.name",
            "upstream_cluster",
            "route_name",
        ]),
        node: text(&["upstream_host"]),
        prompt_tokens: count(&INPUT).filter(|n| *n > 0),
        completion_tokens: count(&OUTPUT),
        cached_tokens: count(&CACHED),
        // It reads them from the answer's `usage`.
        tokens_source: Some("provider"),
        ..Exchange::default()
    };
    times(line, context, &mut exchange)?;
    ending(line, &mut exchange);
    let request_id = value(line, "x-request-id").and_then(Json::as_id);
    exchange.unique_id = request_id.is_some();
    exchange.request_id.clone_from(&request_id);
    for (kind, id) in [
        (CorrelationKind::XRequestId, request_id),
        (
            CorrelationKind::SessionId,
            value(line, "session.id").and_then(Json::as_id),
        ),
    ] {
        if let Some(id) = id {
            add_correlation(&mut exchange, kind, id);
        }
    }
    tenants(line, &mut exchange);
    for (key, field) in line.entries() {
        let lists = [&READ[..], &INPUT, &OUTPUT, &CACHED];
        let read = lists.iter().any(|list| list.contains(&&**key));
        if !read && is_there(field) {
            exchange.extra.push(extra_field(key, field));
        }
    }
    finish(&mut exchange);
    Ok(Some(exchange))
}

fn times(
    line: &Json<'_>,
    context: &DecodeContext<'_>,
    exchange: &mut Exchange,
) -> Result<(), RejectReason> {
    if let Some(start) = value(line, "start_time") {
        (exchange.t_start, exchange.t_zone) = time::read(start, context.zone)?;
    }
    let millis = value(line, "duration").and_then(Json::as_f64);
    let span = millis
        .filter(|ms| (0.0..1.0e10).contains(ms))
        .map(|ms| (ms * 1e3).round() as TimeMicros);
    exchange.t_end = exchange
        .t_start
        .zip(span)
        .and_then(|(start, span)| start.checked_add(span));
    Ok(())
}

fn ending(line: &Json<'_>, exchange: &mut Exchange) {
    let code = value(line, "response_code").and_then(Json::as_i64);
    exchange.http_status = code
        .and_then(|c| u16::try_from(c).ok())
        .filter(|c| (100..600).contains(c));
    let flags = value(line, "response_flags").and_then(Json::as_str);
    let flag = |name: &str| flags.is_some_and(|f| f.split(',').any(|one| one == name));
    // DC: the client went away; code 0 says that it did so before any status was sent.
    if flag("DC") || code == Some(0) {
        exchange.outcome = Outcome::Aborted;
    } else if ["UT", "UC", "UPE", "LR", "UR"].iter().any(|f| flag(f)) {
        // Time-out, broken or refused by the model's side, perhaps behind a 200.
        exchange.outcome = Outcome::Error;
    }
}

fn tenants(line: &Json<'_>, exchange: &mut Exchange) {
    let candidates = &mut exchange.tenant_candidates;
    push_candidate(candidates, "tenant", value(line, "tenant.id"));
    push_candidate(candidates, "user", value(line, "user.id"));
    for (key, field) in line.entries() {
        let name = key.to_ascii_lowercase();
        let header = name.starts_with("x-") && !name.starts_with("x-envoy-");
        if !header || PLAIN_HEADERS.contains(&name.as_str()) {
            continue;
        }
        if is_there(field) {
            push_header(candidates, &name, field);
        }
    }
    let address = first(line, &["x-forwarded-for", "downstream_remote_address"]);
    let client = address
        .and_then(Json::as_str)
        .and_then(|list| list.split(',').next())
        .map(|one| Json::Str(one.trim().into()));
    push_candidate(candidates, "ip", client.as_ref());
}
