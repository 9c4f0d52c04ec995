//! LiteLLM's standard logging payload (S3, GCS, HTTP callbacks) and the rows of its spend table.

use super::body::{self, Request, Response, Usage, push_candidate, push_correlation};
use super::json::{Fault, Json, decode_lenient};
use super::{DecodeContext, LogFormat, envelope, labels, markers, native, time};
use crate::exchange::{
    ContentState, CorrelationKind, Exchange, Modalities, Outcome, RecordKind, RejectReason, Role,
    TimeZoneSource,
};
use jiff::tz::TimeZone;

/// The format; see the module.
pub struct Litellm;

/// Where the tenant may stand, surest first: kind, then paths of the payload and the spend row.
const TENANTS: [(&str, &[&[&str]]); 10] = [
    (
        "organization",
        &[&["metadata", "user_api_key_org_id"], &["organization_id"]],
    ),
    (
        "team",
        &[&["metadata", "user_api_key_team_id"], &["team_id"]],
    ),
    ("team_alias", &[&["metadata", "user_api_key_team_alias"]]),
    ("project", &[&["metadata", "user_api_key_project_id"]]),
    (
        "api_key_hash",
        &[&["metadata", "user_api_key_hash"], &["api_key"]],
    ),
    ("key_alias", &[&["metadata", "user_api_key_alias"]]),
    ("user", &[&["metadata", "user_api_key_user_id"], &["user"]]),
    ("user_email", &[&["metadata", "user_api_key_user_email"]]),
    (
        "end_user",
        &[&["end_user"], &["metadata", "user_api_key_end_user_id"]],
    ),
    (
        "ip",
        &[
            &["requester_ip_address"],
            &["metadata", "requester_ip_address"],
        ],
    ),
];

/// Labels of the caller inside `metadata`.
const LABELS: [&str; 2] = ["requester_metadata", "spend_logs_metadata"];

/// What stands in place of attachments where only the latest turn is kept.
const OMITTED: [(&str, Modalities); 3] = [
    ("[image omitted]", Modalities::IMAGE),
    ("[file omitted]", Modalities::FILE),
    ("[audio omitted]", Modalities::AUDIO),
];

/// Top-level fields that are read into columns.
const READ: [&str; 30] = [
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
    "requester_ip_address",
    "status_code",
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
            false if has("request_kwargs") && has("exception_type") => 90,
            false if is_audit(&has) => 90,
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
            if is_audit(&|key| payload.has(key)) {
                return Ok(Vec::new());
            }
            decode_payload(&unpacked(payload), context)
        })?;
        if exchanges.is_empty() {
            return Ok(RecordKind::Other);
        }
        out.append(&mut exchanges);
        Ok(RecordKind::Exchange)
    }
}

/// Changes of keys and teams, which the proxy writes beside its calls.
fn is_audit(has: &dyn Fn(&str) -> bool) -> bool {
    ["table_name", "object_id", "action", "updated_values"]
        .iter()
        .all(|key| has(key))
}

/// Table dumps hold JSON columns as strings; `metadata` is looked into, so it must be an object.
fn unpacked(payload: Json<'_>) -> Json<'_> {
    let Json::Object(mut entries) = payload else {
        return payload;
    };
    for (key, value) in &mut entries {
        let Json::Str(text) = &*value else { continue };
        if key != "metadata" {
            continue;
        }
        let inner = Json::parse(text).map(Json::into_owned);
        if let Ok(inner @ Json::Object(_)) = inner {
            *value = inner;
        }
    }
    Json::Object(entries)
}

fn decode_payload(payload: &Json<'_>, context: &DecodeContext<'_>) -> Result<Vec<Exchange>, Fault> {
    let known = [
        "litellm_call_id",
        "call_type",
        "model_map_information",
        "request_kwargs",
    ];
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
    for key in LABELS {
        labels::push(&mut base, payload.at(&["metadata", key]));
    }
    labels::push_headers(
        &mut base,
        payload.at(&["metadata", "requester_custom_headers"]),
    );
    times(payload, context, &mut base)?;
    ending(payload, &mut base);
    tokens(payload, &mut base);
    envelope::extras(&mut base, payload, &READ);
    let (mut request, mut response) = bodies(payload);
    elsewhere(payload, &mut request, &mut response);
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
        // The table keeps UTC in columns without a zone; the payload has unix seconds.
        let spend_row = payload.has("spend") || payload.has("request_kwargs");
        let declared = if spend_row {
            Some(&TimeZone::UTC)
        } else {
            context.zone
        };
        let (time, mut zone) = time::read(value, declared)?;
        if spend_row && zone == TimeZoneSource::Assumed {
            zone = TimeZoneSource::Utc;
        }
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
        .or_else(|| payload.at(&["metadata", "status"]))
        .or_else(|| payload.at(&["status_fields", "llm_api_status"]));
    let failed = payload.has("exception_type").then_some("failure");
    match status.and_then(Json::as_str).or(failed) {
        Some("success") => {
            // Success rows carry no status, but a proxy hands a success over as 200 and nothing
            // else; leaving it open would hide every answer from the trigger, which needs a 200.
            base.http_status = Some(200);
            base.outcome = Outcome::Ok;
        }
        Some("failure") => {
            let paths: [&[&str]; 3] = [
                &["status_code"],
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
    let keys = ["messages", "proxy_server_request", "request_kwargs"];
    let blank = |v: &&Json<'_>| v.as_str().is_none_or(|t| t != "{}" && t != "[]");
    let asked = keys
        .iter()
        .find_map(|key| payload.some(key).filter(filled).filter(blank));
    let request = match asked {
        Some(list) if list.items().iter().any(|i| i.has("role")) => {
            Request::read(&whole_request(payload, list))
        }
        Some(body) => Request::read(body),
        None => Request::default(),
    };
    let response = match payload.some("response").filter(filled).filter(blank) {
        Some(Json::Object(entries)) if is_redacted(entries) => Response {
            state: ContentState::Redacted,
            ..Response::default()
        },
        Some(body) => Response::read(body),
        None => Response::default(),
    };
    (request, response)
}

/// The payload takes a body apart: what belongs to the prompt beside the messages is among the
/// parameters.
fn whole_request<'a>(payload: &'a Json<'_>, messages: &'a Json<'_>) -> Json<'a> {
    let mut body = vec![("messages".into(), messages.borrowed())];
    let keys = [
        "system",
        "instructions",
        "tools",
        "functions",
        "user",
        "previous_response_id",
        "conversation",
    ];
    for key in keys {
        if let Some(value) = payload.at(&["model_parameters", key]) {
            body.push((key.into(), value.borrowed()));
        }
    }
    Json::Object(body)
}

/// `{"text": "redacted-by-litellm"}` stands for responses that are no chat.
fn is_redacted(entries: &[(std::borrow::Cow<'_, str>, Json<'_>)]) -> bool {
    matches!(entries, [(key, Json::Str(text))] if key == "text" && text == "redacted-by-litellm")
}

/// Rows of the spend table may hold a part of a text and say where the whole is.
fn elsewhere(payload: &Json<'_>, request: &mut Request, response: &mut Response) {
    if payload
        .at(&["metadata", "cold_storage_object_key"])
        .is_some()
    {
        for state in [&mut request.state, &mut response.state] {
            if *state == ContentState::Absent {
                *state = ContentState::External;
            }
        }
    }
    if !payload.has("spend") {
        return;
    }
    for prompt in &mut request.prompts {
        let mut marks = Vec::new();
        for (mark, kind) in OMITTED {
            let found = prompt.text.match_indices(mark).map(|(at, _)| at);
            let before = marks.len();
            marks.extend(found.map(|at| at..at + mark.len()));
            if marks.len() > before {
                request.modalities.insert(kind);
            }
        }
        // Written only where the proxy keeps nothing but the latest turn.
        if !marks.is_empty() && request.state == ContentState::Full {
            request.state = ContentState::Stateful;
        }
        markers::cut_all(prompt, marks);
    }
}
