//! Cloudflare AI Gateway: the Logpush data set `ai_gateway_events`, and its interface for logs.

use super::body::{self, Request, Response, push_candidate, push_correlation, salvage};
use super::json::{Fault, Json};
use super::sealed::BodyKeys;
use super::{DecodeContext, LogFormat, envelope, labels};
use crate::exchange::{
    ContentState, CorrelationKind, Exchange, Outcome, RecordKind, RejectReason, Role,
};
use std::borrow::Cow;

/// The format; see the module.
pub struct Cloudflare;

/// Fields of a pushed event that are read into columns.
const EVENT: [&str; 11] = [
    "Cached",
    "Gateway",
    "Metadata",
    "Metrics",
    "Model",
    "RequestedModel",
    "RateLimited",
    "RequestBody",
    "ResponseBody",
    "StatusCode",
    "Timestamp",
];

/// Fields of a log of the interface that are read into columns.
const LOG: [&str; 16] = [
    "id",
    "cached",
    "created_at",
    "duration",
    "model",
    "path",
    "success",
    "tokens_in",
    "tokens_out",
    "metadata",
    "status_code",
    "request_head",
    "request_head_complete",
    "response_head",
    "response_head_complete",
    "timings",
];

impl LogFormat for Cloudflare {
    fn name(&self) -> &'static str {
        "cloudflare"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let keys = envelope::keys_with(record, "\"Gateway\"");
        let has = |key: &str| keys.iter().any(|k| k == key);
        if has("Gateway") {
            let own = [
                "Endpoint",
                "RequestBody",
                "ResponseBody",
                "RequestedModel",
                "Metrics",
            ];
            let found = own.iter().filter(|key| has(key)).count();
            return if found >= 2 { 100 } else { 40 };
        }
        let keys = envelope::keys_with(record, "\"tokens_in\"");
        let has = |key: &str| keys.iter().any(|k| k == key);
        let item = has("tokens_in") && has("tokens_out") && has("provider");
        let list = has("result") && (has("success") || has("result_info"));
        if item || list { 95 } else { 0 }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        envelope::decode(record, out, |record| {
            if record.has("Gateway") || record.has("RequestBody") {
                return event(record, context.keys);
            }
            let mut found = Vec::new();
            match record.some("result") {
                Some(Json::Array(items)) => {
                    for item in items {
                        envelope::append(&mut found, log(item)?);
                    }
                }
                Some(item) => found = log(item)?,
                None => found = log(record)?,
            }
            Ok(found)
        })
    }
}

/// A field that may have been encrypted.
enum Field<'a> {
    Plain(Cow<'a, Json<'a>>),
    /// Under a key that is not at hand.
    Sealed,
    Absent,
}

/// One pushed event. It has no id of its own.
fn event(event: &Json<'_>, keys: Option<&BodyKeys>) -> Result<Vec<Exchange>, Fault> {
    let mut base = Exchange {
        role: Some(Role::Gateway),
        model_raw: envelope::text(event, &["Model", "RequestedModel"]),
        cache_hit: event.some("Cached").and_then(Json::as_bool),
        http_status: envelope::status(event.some("StatusCode")),
        t_start: envelope::utc(event.some("Timestamp")),
        ..Exchange::default()
    };
    let field = |name: &str| match event.some(name) {
        Some(body) if is_encrypted(body) => match keys.and_then(|keys| keys.open(body)) {
            Some(text) => Field::Plain(Cow::Owned(Json::Str(text.into()))),
            None => Field::Sealed,
        },
        Some(body) => Field::Plain(Cow::Borrowed(unwrapped(body))),
        None => Field::Absent,
    };
    if let Field::Plain(metadata) = field("Metadata") {
        labels::push(&mut base, Some(&metadata));
    }
    push_candidate(
        &mut base.tenant_candidates,
        "gateway",
        event.some("Gateway"),
    );
    if let Some(metrics) = event.some("Metrics") {
        let keys = ["durationMs", "duration_ms", "duration"];
        base.t_end = envelope::after(base.t_start, metrics.any(&keys));
        let asked = [
            "tokensIn",
            "tokens_in",
            "inputTokens",
            "input_tokens",
            "promptTokens",
        ];
        let answered = [
            "tokensOut",
            "tokens_out",
            "outputTokens",
            "output_tokens",
            "completionTokens",
        ];
        envelope::tokens(&mut base, metrics.any(&asked), metrics.any(&answered));
    }
    if event.some("RateLimited").and_then(Json::as_bool) == Some(true) {
        base.outcome = Outcome::Rejected;
    }
    envelope::extras(&mut base, event, &EVENT);
    let mut request = Request::default();
    match field("RequestBody") {
        Field::Sealed => request.state = ContentState::Encrypted,
        Field::Plain(body) => request = Request::read(&body),
        Field::Absent => {}
    }
    let mut response = Response::default();
    match field("ResponseBody") {
        Field::Sealed => response.state = ContentState::Encrypted,
        Field::Plain(body) => response = Response::read(&body),
        Field::Absent => {}
    }
    Ok(body::expand(base, request, response)?)
}

/// A body under a key. One without a key is plain, as the product's own script takes it.
fn is_encrypted(body: &Json<'_>) -> bool {
    body.has("data") && (body.has("key") || body.str_of("type") == Some("encrypted"))
}

fn unwrapped<'a>(body: &'a Json<'a>) -> &'a Json<'a> {
    match body.some("data") {
        Some(data) if body.has("type") && body.entries().len() <= 2 => data,
        _ => body,
    }
}

/// One log of the interface.
fn log(log: &Json<'_>) -> Result<Vec<Exchange>, Fault> {
    if !log.has("tokens_in") && !log.has("status_code") {
        return Err(RejectReason::UnknownShape.into());
    }
    let mut base = Exchange {
        role: Some(Role::Gateway),
        request_id: log.some("id").and_then(Json::as_id),
        model_raw: envelope::text(log, &["model"]),
        cache_hit: log.some("cached").and_then(Json::as_bool),
        http_status: envelope::status(log.some("status_code")),
        t_start: envelope::utc(log.some("created_at")),
        ..Exchange::default()
    };
    base.unique_id = base.request_id.is_some();
    base.t_end = envelope::after(base.t_start, log.some("duration"));
    push_correlation(&mut base, CorrelationKind::GatewayLogId, log.some("id"));
    labels::push(&mut base, log.some("metadata"));
    path(log.str_of("path").unwrap_or_default(), &mut base);
    envelope::tokens(&mut base, log.some("tokens_in"), log.some("tokens_out"));
    if log.some("success").and_then(Json::as_bool) == Some(false) && base.http_status.is_none() {
        base.outcome = Outcome::Error;
    }
    envelope::extras(&mut base, log, &LOG);
    let whole = |key: &str| log.some(key).and_then(Json::as_bool) != Some(false);
    let filled = |key: &str| log.some(key).filter(|v| v.as_str() != Some(""));
    let request = match filled("request_head") {
        Some(Json::Str(head)) if !whole("request_head_complete") => salvage::request(head),
        Some(head) => Request::read(head),
        None => Request::default(),
    };
    let response = match filled("response_head") {
        Some(Json::Str(head)) if !whole("response_head_complete") => salvage::response(head),
        Some(head) => Response::read(head),
        None => Response::default(),
    };
    Ok(body::expand(base, request, response)?)
}

/// Full paths name the account and the gateway: `…/{account: 32 hex}/{gateway}/…`.
fn path(path: &str, base: &mut Exchange) {
    let mut names = path
        .split('/')
        .skip_while(|name| name.len() != 32 || !name.bytes().all(|b| b.is_ascii_hexdigit()));
    let account = names.next().map(|name| Json::Str(name.into()));
    push_candidate(
        &mut base.tenant_candidates,
        "cloud_account",
        account.as_ref(),
    );
    let gateway = names.next().filter(|n| !n.is_empty() && account.is_some());
    let gateway = gateway.map(|name| Json::Str(name.into()));
    push_candidate(&mut base.tenant_candidates, "gateway", gateway.as_ref());
}
