//! LiteLLM's standard logging payload (S3, GCS, HTTP callbacks) and the rows of its spend table.

use super::body::{self, Request, Response, Usage, extra_field, push_candidate, push_correlation};
use super::json::{Fault, Json, decode_lenient};
use super::{DecodeContext, LogFormat, native, time};
use crate::exchange::{
    ContentState, CorrelationKind, Exchange, Outcome, RecordKind, RejectReason, Role,
    TimeZoneSource,
};

/// The format; see the module.
pub struct Litellm;

/// Where the tenant may stand, surest first: kind, then paths of the payload and the spend row.
const TENANTS: [(&str, &[&[&str]]); 6] = [
    (
        "organization",
        &[&["metadata", "user_api_key_org_id"], &["organization_id"]],
    ),
    (
        "team",
        &[&["metadata", "user_api_key_team_id"], &["team_id"]],
    ),
    ("project", &[&["metadata", "user_api_key_project_id"]]),
    (
        "api_key_hash",
        &[&["metadata", "user_api_key_hash"], &["api_key"]],
    ),
    ("user", &[&["metadata", "user_api_key_user_id"], &["user"]]),
    (
        "end_user",
        &[&["end_user"], &["metadata", "user_api_key_end_user_id"]],
    ),
];

/// Top-level fields that are read into columns.
const READ: [&str; 28] = [
    "id",
    "request_id",
    "litellm_call_id",
    "trace_id",
    "session_id",
    "startTime",
    "endTime",
    "completionStartTime",
    "status",
    "model",
    "model_group",
    "model_id",
    "api_base",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cache_hit",
    "messages",
    "response",
    "proxy_server_request",
    "organization_id",
    "team_id",
    "api_key",
    "user",
    "end_user",
    "created_at",
    "updated_at",
    "response_time",
];

impl LogFormat for Litellm {
    fn name(&self) -> &'static str {
        "litellm"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let Ok(keys) = decode_lenient(record, native::keys_of) else {
            return 0;
        };
        let has = |key: &str| keys.iter().any(|k| k == key);
        let timed = has("startTime");
        match has("litellm_call_id") || has("model_map_information") {
            true if timed && has("call_type") => 100,
            true if timed || has("call_type") => 80,
            true => 20,
            false if timed && has("call_type") && has("spend") && has("api_key") => 95,
            false => 0,
        }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let mut exchanges = decode_lenient(record, |text| {
            let payload = Json::parse(text)?;
            decode_payload(&payload, context)
        })?;
        out.append(&mut exchanges);
        Ok(RecordKind::Exchange)
    }
}

fn decode_payload(payload: &Json<'_>, context: &DecodeContext<'_>) -> Result<Vec<Exchange>, Fault> {
    let known = ["litellm_call_id", "call_type", "model_map_information"];
    if !known.iter().any(|key| payload.has(key)) {
        return Err(RejectReason::UnknownShape.into());
    }
    let text = |key: &str| {
        payload
            .str_of(key)
            .filter(|t| !t.is_empty())
            .map(str::to_owned)
    };
    let call_id = payload.some("litellm_call_id").and_then(Json::as_id);
    let response_id = payload.any(&["id", "request_id"]).and_then(Json::as_id);
    let mut base = Exchange {
        role: Some(Role::Gateway),
        unique_id: call_id.is_some(),
        request_id: call_id.or(response_id),
        model_raw: text("model").or(text("model_group")),
        deployment: text("model_id").or(text("api_base")),
        cache_hit: payload.some("cache_hit").and_then(Json::as_bool),
        ..Exchange::default()
    };
    let cached = base.cache_hit == Some(true);
    push_correlation(
        &mut base,
        CorrelationKind::LitellmCallId,
        payload.some("litellm_call_id"),
    );
    if !cached {
        // On a cache hit it is the id of the call that filled the cache, perhaps another tenant's.
        let id = payload.any(&["id", "request_id"]);
        push_correlation(&mut base, CorrelationKind::EngineRid, id);
    }
    push_correlation(
        &mut base,
        CorrelationKind::TraceId,
        payload.some("trace_id"),
    );
    push_correlation(
        &mut base,
        CorrelationKind::SessionId,
        payload.some("session_id"),
    );
    for (kind, paths) in TENANTS {
        let value = paths.iter().find_map(|path| payload.at(path));
        push_candidate(&mut base.tenant_candidates, kind, value);
    }
    times(payload, context, &mut base)?;
    ending(payload, &mut base);
    tokens(payload, &mut base);
    for (key, value) in payload.entries() {
        if !READ.contains(&&**key) && !matches!(value, Json::Null) {
            base.extra.push(extra_field(key, value));
        }
    }
    let (request, mut response) = bodies(payload);
    if cached {
        response.id = None;
    }
    if base.outcome == Outcome::Ok && response.error.is_some() {
        base.outcome = Outcome::Error;
    }
    Ok(body::expand(base, request, response)?)
}

fn times(
    payload: &Json<'_>,
    context: &DecodeContext<'_>,
    base: &mut Exchange,
) -> Result<(), RejectReason> {
    let keys = ["startTime", "endTime", "completionStartTime"];
    let slots = [&mut base.t_start, &mut base.t_end, &mut base.t_first_token];
    for (key, slot) in keys.into_iter().zip(slots) {
        let blank = |v: &&Json<'_>| v.as_str() != Some("");
        let Some(value) = payload.some(key).filter(blank) else {
            continue;
        };
        let (time, zone) = time::read(value, context.zone)?;
        *slot = time;
        if zone != TimeZoneSource::Utc {
            base.t_zone = zone;
        }
    }
    Ok(())
}

fn ending(payload: &Json<'_>, base: &mut Exchange) {
    let status = payload
        .some("status")
        .or_else(|| payload.at(&["metadata", "status"]));
    match status.and_then(Json::as_str) {
        Some("success") => {
            // Success rows carry no status, but a proxy hands a success over as 200 and nothing
            // else; leaving it open would hide every answer from the trigger, which needs a 200.
            base.http_status = Some(200);
            base.outcome = Outcome::Ok;
        }
        Some("failure") => {
            let paths: [&[&str]; 2] = [
                &["error_information", "error_code"],
                &["metadata", "error_information", "error_code"],
            ];
            let code = paths
                .iter()
                .find_map(|path| payload.at(path))
                .and_then(Json::as_i64);
            let code = code.and_then(|c| u16::try_from(c).ok());
            base.http_status = code.filter(|c| (100..1000).contains(c));
            base.outcome = match base.http_status {
                Some(499) => Outcome::Aborted,
                Some(400..500) => Outcome::Rejected,
                _ => Outcome::Error,
            };
        }
        _ => {}
    }
}

fn tokens(payload: &Json<'_>, base: &mut Exchange) {
    let usage = payload
        .at(&["metadata", "usage_object"])
        .or_else(|| payload.at(&["hidden_params", "usage_object"]))
        .or_else(|| payload.at(&["response", "usage"]));
    base.tokens_source = Some(if usage.is_some() {
        "provider"
    } else {
        "gateway"
    });
    let usage = usage.map(Usage::read).unwrap_or_default();
    let count = |key: &str| payload.some(key).and_then(Json::as_i64).filter(|n| *n >= 0);
    // A failure writes zeros for what nobody counted.
    let counted = |n: &i64| *n > 0 || base.outcome == Outcome::Ok;
    let prompt = count("prompt_tokens").filter(counted);
    let completion = count("completion_tokens").filter(counted);
    base.prompt_tokens = prompt.filter(|n| *n > 0).or(usage.prompt).or(prompt);
    base.completion_tokens = completion
        .filter(|n| *n > 0)
        .or(usage.completion)
        .or(completion);
    base.cached_tokens = usage.cached;
    if base.prompt_tokens.or(base.completion_tokens).is_none() {
        base.tokens_source = None;
    }
}

fn bodies(payload: &Json<'_>) -> (Request, Response) {
    let filled = |v: &&Json<'_>| match v {
        Json::Object(entries) => !entries.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Str(text) => !text.is_empty(),
        _ => false,
    };
    let messages = payload.some("messages").filter(filled);
    let request = match messages.or_else(|| payload.some("proxy_server_request").filter(filled)) {
        Some(body) => Request::read(body),
        None => Request::default(),
    };
    let response = match payload.some("response").filter(filled) {
        Some(Json::Object(entries)) if is_redacted(entries) => Response {
            state: ContentState::Redacted,
            ..Response::default()
        },
        Some(body) => Response::read(body),
        None => Response::default(),
    };
    (request, response)
}

/// `{"text": "redacted-by-litellm"}` stands for responses that are no chat.
fn is_redacted(entries: &[(std::borrow::Cow<'_, str>, Json<'_>)]) -> bool {
    matches!(entries, [(key, Json::Str(text))] if key == "text" && text == "redacted-by-litellm")
}
