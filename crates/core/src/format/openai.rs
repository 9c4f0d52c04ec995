//! Request and response bodies in one line, as gateways and hand-made loggers write them.
//!
//! The bodies are OpenAI's or Anthropic's; what stands around them has no standard, so names are
//! taken that can mean only one thing.

use super::body::{self, Request, Response, Usage, extra_field, push_candidate, push_correlation};
use super::json::{Fault, Json, decode_lenient};
use super::{DecodeContext, LogFormat, native, time};
use crate::exchange::{
    CorrelationKind, Exchange, RecordKind, RejectReason, Role, TimeMicros, TimeZoneSource,
};

/// The format; see the module.
pub struct OpenAi;

/// Keys of the request body, the surest first.
const REQUEST_KEYS: [&str; 9] = [
    "request",
    "req",
    "request_body",
    "requestBody",
    "request_json",
    "input",
    "messages",
    "prompt",
    "body",
];

/// Keys of the response body, the surest first.
const RESPONSE_KEYS: [&str; 9] = [
    "response",
    "res",
    "response_body",
    "responseBody",
    "response_json",
    "output",
    "completion",
    "chunks",
    "events",
];

/// Keys that name the tenant, and the kind of name.
const TENANTS: [(&str, &str); 20] = [
    ("tenant", "tenant"),
    ("tenant_id", "tenant"),
    ("customer", "tenant"),
    ("customer_id", "tenant"),
    ("account", "tenant"),
    ("account_id", "tenant"),
    ("organization", "organization"),
    ("organization_id", "organization"),
    ("org", "organization"),
    ("org_id", "organization"),
    ("team", "team"),
    ("team_id", "team"),
    ("project", "project"),
    ("project_id", "project"),
    ("api_key_hash", "api_key_hash"),
    ("key_hash", "api_key_hash"),
    ("api_key_id", "api_key_hash"),
    ("user", "user"),
    ("user_id", "user"),
    ("end_user", "end_user"),
];

/// Keys of ids, and what they name.
const IDS: [(&str, CorrelationKind); 13] = [
    ("request_id", CorrelationKind::GatewayLogId),
    ("requestId", CorrelationKind::GatewayLogId),
    ("id", CorrelationKind::GatewayLogId),
    ("x_request_id", CorrelationKind::XRequestId),
    ("x-request-id", CorrelationKind::XRequestId),
    ("litellm_call_id", CorrelationKind::LitellmCallId),
    ("bootstrap_room", CorrelationKind::BootstrapRoom),
    ("custom_id", CorrelationKind::CustomId),
    ("span_id", CorrelationKind::SpanId),
    ("trace_id", CorrelationKind::TraceId),
    ("session_id", CorrelationKind::SessionId),
    ("conversation_id", CorrelationKind::ConversationId),
    ("thread_id", CorrelationKind::ConversationId),
];

const START_KEYS: [&str; 9] = [
    "t_start",
    "start_time",
    "startTime",
    "started_at",
    "request_time",
    "timestamp",
    "time",
    "ts",
    "created_at",
];
const END_KEYS: [&str; 7] = [
    "t_end",
    "end_time",
    "endTime",
    "ended_at",
    "finished_at",
    "completed_at",
    "response_time",
];
const FIRST_KEYS: [&str; 3] = ["t_first_token", "first_token_time", "first_token_at"];
const STATUS_KEYS: [&str; 5] = [
    "http_status",
    "status_code",
    "statusCode",
    "response_status",
    "status",
];
const LATENCY_MS: [&str; 5] = [
    "latency_ms",
    "duration_ms",
    "elapsed_ms",
    "response_time_ms",
    "total_time_ms",
];
const LATENCY_S: [&str; 4] = [
    "latency_s",
    "duration_s",
    "latency_seconds",
    "duration_seconds",
];

/// Names that hand-made loggers use and the native format does not.
const FOREIGN_KEYS: [&str; 11] = [
    "id",
    "user",
    "user_id",
    "organization",
    "org_id",
    "team_id",
    "api_key_hash",
    "created_at",
    "latency_ms",
    "status_code",
    "usage",
];

impl LogFormat for OpenAi {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let Ok(keys) = decode_lenient(record, native::keys_of) else {
            return 0;
        };
        let has = |key: &str| keys.iter().any(|k| k == key);
        let pairs = [
            ("request", "response"),
            ("req", "res"),
            ("request_body", "response_body"),
            ("requestBody", "responseBody"),
            ("request_json", "response_json"),
        ];
        if has("event") || has("schema") {
            return 5;
        }
        if pairs
            .iter()
            .any(|(request, response)| has(request) && has(response))
        {
            return 80;
        }
        let asked = REQUEST_KEYS.iter().any(|key| has(key));
        let answered = has("choices") || RESPONSE_KEYS[1..].iter().any(|key| has(key));
        match (asked, answered) {
            (true, true) => 72,
            // Also the native shape; names that it does not know decide.
            (true, false) if has("response") && FOREIGN_KEYS.iter().any(|key| has(key)) => 75,
            (true, false) if has("response") => 35,
            (false, true) if has("choices") => 30,
            (true, false) if has("request") || has("messages") => 20,
            _ => 0,
        }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let mut exchanges = decode_lenient(record, |text| {
            let record = Json::parse(text)?;
            decode_pair(&record, context)
        })?;
        out.append(&mut exchanges);
        Ok(RecordKind::Exchange)
    }
}

fn decode_pair(record: &Json<'_>, context: &DecodeContext<'_>) -> Result<Vec<Exchange>, Fault> {
    let request_key = REQUEST_KEYS
        .into_iter()
        .find(|key| record.some(key).is_some());
    let response_key = RESPONSE_KEYS
        .into_iter()
        .find(|key| record.some(key).is_some());
    let bare = record.has("choices");
    if request_key.is_none() && response_key.is_none() && !bare {
        return Err(RejectReason::UnknownShape.into());
    }
    let request = request_key.and_then(|key| record.get(key));
    let response = response_key.and_then(|key| record.get(key));
    let mut base = Exchange::default();
    let mut used: Vec<&str> = request_key.into_iter().chain(response_key).collect();
    ids(record, bare, &mut base, &mut used)?;
    around(record, &mut base, &mut used);
    headers(request, &mut base);
    status(record, response, &mut base, &mut used);
    counts(record, &mut base, &mut used);
    let asked = match (request_key, request) {
        (Some("messages"), Some(messages @ Json::Array(_))) => Request::of_messages(messages),
        (Some("prompt"), Some(Json::Str(text))) => Request::of_text(text),
        (_, Some(body)) => Request::read(body),
        _ => Request::default(),
    };
    let answered = match response {
        Some(body) => Response::read(body),
        None if bare => Response::read(record),
        None => Response::default(),
    };
    times(record, context, &answered, &mut base, &mut used)?;
    for (key, value) in record.entries() {
        if !used.contains(&&**key) && !matches!(value, Json::Null) {
            base.extra.push(extra_field(key, value));
        }
    }
    Ok(body::expand(base, asked, answered)?)
}

/// What stands beside the bodies under names of its own.
fn around(record: &Json<'_>, base: &mut Exchange, used: &mut Vec<&str>) {
    for (key, kind) in TENANTS {
        let value = record.some(key);
        push_candidate(&mut base.tenant_candidates, kind, value);
        // A nested object such as `user: {…}` is no name and stays among the extra fields.
        used.extend(value.filter(|v| v.as_id().is_some()).map(|_| key));
    }
    let text = |keys: &[&'static str]| {
        let found = keys
            .iter()
            .filter_map(|key| record.str_of(key))
            .find(|t| !t.is_empty());
        found.map(str::to_owned)
    };
    let deployment = ["deployment", "api_base", "base_url"];
    let node = ["node", "host", "hostname"];
    base.model_raw = text(&["model"]);
    base.deployment = text(&deployment);
    base.node = text(&node);
    base.role = record.str_of("role").and_then(Role::parse);
    base.cache_hit = record.any(&["cache_hit", "cached"]).and_then(Json::as_bool);
    base.finish_reason = record.some("finish_reason").and_then(body::finish_of);
    used.extend(deployment.into_iter().chain(node));
    used.extend(["model", "role", "cache_hit", "cached", "finish_reason"]);
    used.extend(["usage", "choices", "created"]);
}

fn ids(
    record: &Json<'_>,
    bare: bool,
    base: &mut Exchange,
    used: &mut Vec<&str>,
) -> Result<(), RejectReason> {
    for (key, kind) in IDS {
        let Some(value) = record.some(key) else {
            continue;
        };
        // The id of a bare response body is the engine's.
        let kind = if bare && key == "id" {
            CorrelationKind::EngineRid
        } else {
            kind
        };
        if kind == CorrelationKind::BootstrapRoom && value.as_id().is_none() {
            return Err(RejectReason::InvalidField);
        }
        push_correlation(base, kind, Some(value));
        if kind.links() && base.request_id.is_none() {
            base.request_id = value.as_id();
        }
        used.push(key);
    }
    base.unique_id = base.request_id.is_some();
    Ok(())
}

/// Logged HTTP headers name the request and the organisation.
fn headers(request: Option<&Json<'_>>, base: &mut Exchange) {
    let headers = request.and_then(|r| r.some("headers"));
    for (name, value) in headers.map(Json::entries).unwrap_or_default() {
        match name.to_ascii_lowercase().as_str() {
            "x-request-id" => {
                push_correlation(base, CorrelationKind::XRequestId, Some(value));
                base.request_id = base.request_id.take().or_else(|| value.as_id());
            }
            "openai-organization" => {
                push_candidate(&mut base.tenant_candidates, "organization", Some(value));
            }
            "openai-project" => {
                push_candidate(&mut base.tenant_candidates, "project", Some(value));
            }
            _ => {}
        }
    }
}

fn status(
    record: &Json<'_>,
    response: Option<&Json<'_>>,
    base: &mut Exchange,
    used: &mut Vec<&str>,
) {
    let code = |value: &Json<'_>| {
        let code = value.as_i64().and_then(|c| u16::try_from(c).ok());
        code.filter(|c| (100..1000).contains(c))
    };
    for key in STATUS_KEYS {
        let found = record.some(key).and_then(code);
        if found.is_some() {
            used.push(key);
        }
        base.http_status = base.http_status.or(found);
    }
    // The answer of a provider has a status of its own, a word; only a number is HTTP's.
    let inner = response.and_then(|r| r.any(&["status_code", "statusCode", "status"]));
    base.http_status = base.http_status.or(inner.and_then(code));
}

fn counts(record: &Json<'_>, base: &mut Exchange, used: &mut Vec<&str>) {
    let usage = record.some("usage").map(Usage::read).unwrap_or_default();
    let keys = [
        "prompt_tokens",
        "completion_tokens",
        "input_tokens",
        "output_tokens",
    ];
    let mut flat = Usage::read(record);
    flat.update(usage);
    base.prompt_tokens = flat.prompt;
    base.completion_tokens = flat.completion;
    base.cached_tokens = flat.cached;
    if !flat.is_empty() {
        base.tokens_source = Some(if usage.is_empty() {
            "gateway"
        } else {
            "provider"
        });
    }
    used.extend(keys);
    used.push("cached_tokens");
}

fn times(
    record: &Json<'_>,
    context: &DecodeContext<'_>,
    answered: &Response,
    base: &mut Exchange,
    used: &mut Vec<&str>,
) -> Result<(), RejectReason> {
    let mut zone = TimeZoneSource::Utc;
    let mut read = |keys: &[&'static str]| -> Option<TimeMicros> {
        // A word like `time` may mean anything: what is no time is none.
        let found = keys.iter().find_map(|key| {
            let value = record.some(key)?;
            let read = time::read(value, context.zone).ok()?;
            // Small numbers are durations.
            let small = read.0.is_some_and(|t| t < 1_000_000_000_000_000);
            (!small).then_some((*key, read))
        });
        let (key, (time, from)) = found?;
        used.push(key);
        if from != TimeZoneSource::Utc {
            zone = from;
        }
        time
    };
    base.t_start = read(&START_KEYS);
    base.t_end = read(&END_KEYS);
    base.t_first_token = read(&FIRST_KEYS);
    base.t_zone = zone;
    if base.t_start.is_none() && zone == TimeZoneSource::Utc {
        base.t_start = answered.created;
    }
    if base.t_end.is_none() {
        let span = latency(record);
        base.t_end = base
            .t_start
            .zip(span)
            .and_then(|(start, span)| start.checked_add(span));
    }
    used.extend(LATENCY_MS.iter().chain(&LATENCY_S));
    Ok(())
}

/// Duration of the call in microseconds.
fn latency(record: &Json<'_>) -> Option<TimeMicros> {
    let millis = record.any(&LATENCY_MS).and_then(Json::as_f64);
    let seconds = record.any(&LATENCY_S).and_then(Json::as_f64);
    let millis = millis.or(seconds.map(|s| s * 1e3)).or_else(|| {
        // Without a unit a fraction can only be seconds, a large whole number only milliseconds.
        match record.any(&["latency", "duration", "elapsed"])? {
            Json::F64(x) if *x < 1e4 => Some(x * 1e3),
            Json::U64(n) if *n >= 1_000 => Some(*n as f64),
            _ => None,
        }
    })?;
    (0.0..1.0e9)
        .contains(&millis)
        .then(|| (millis * 1e3).round() as TimeMicros)
}
