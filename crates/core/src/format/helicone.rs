//! Helicone's export: one request with its response.

use super::body::{self, Request, Response, push_candidate, push_correlation};
use super::json::{Fault, Json};
use super::{DecodeContext, LogFormat, envelope, labels};
use crate::exchange::{ContentState, CorrelationKind, Exchange, RecordKind, RejectReason, Role};

/// The format; see the module.
pub struct Helicone;

const READ: [&str; 20] = [
    "request_id",
    "response_id",
    "request_created_at",
    "response_created_at",
    "response_status",
    "request_body",
    "response_body",
    "request_user_id",
    "request_properties",
    "request_model",
    "response_model",
    "model",
    "time_to_first_token",
    "delay_ms",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "prompt_cache_read_tokens",
    "cache_reference_id",
    "target_url",
];

impl LogFormat for Helicone {
    fn name(&self) -> &'static str {
        "helicone"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let keys = envelope::keys_with(record, "request_created_at");
        let own = [
            "response_created_at",
            "response_status",
            "request_body",
            "request_properties",
        ];
        let found = own.iter().filter(|key| keys.iter().any(|k| k == *key));
        let named = keys.iter().any(|k| k == "request_created_at");
        if named && found.count() >= 2 { 96 } else { 0 }
    }

    fn decode(
        &self,
        record: &[u8],
        _context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        envelope::decode(record, out, decode_row)
    }
}

fn decode_row(row: &Json<'_>) -> Result<Vec<Exchange>, Fault> {
    if !row.has("request_created_at") {
        return Err(RejectReason::UnknownShape.into());
    }
    let mut base = Exchange {
        role: Some(Role::Gateway),
        request_id: row
            .any(&["request_id", "response_id"])
            .and_then(Json::as_id),
        model_raw: envelope::text(row, &["response_model", "request_model", "model"]),
        deployment: envelope::text(row, &["target_url"]),
        // Statuses below zero are the product's own and no HTTP.
        http_status: envelope::status(row.some("response_status")),
        t_start: envelope::utc(row.some("request_created_at")),
        t_end: envelope::utc(row.some("response_created_at")),
        ..Exchange::default()
    };
    base.unique_id = base.request_id.is_some();
    push_correlation(
        &mut base,
        CorrelationKind::GatewayLogId,
        row.some("request_id"),
    );
    base.t_end = base
        .t_end
        .or_else(|| envelope::after(base.t_start, row.some("delay_ms")));
    base.t_first_token = envelope::after(base.t_start, row.some("time_to_first_token"));
    for (name, value) in row
        .get("request_properties")
        .map(Json::entries)
        .unwrap_or_default()
    {
        let own = name
            .get(..9)
            .is_some_and(|p| p.eq_ignore_ascii_case("helicone-"));
        labels::push_one(&mut base, if own { &name[9..] } else { name }, value);
    }
    let user = row.some("request_user_id");
    push_candidate(&mut base.tenant_candidates, "user", user);
    base.cache_hit = row
        .str_of("cache_reference_id")
        .map(|reference| reference.bytes().any(|b| b != b'0' && b != b'-'));
    envelope::extras(&mut base, row, &READ);
    let mut request = Request::default();
    match row.some("request_body") {
        Some(body) if is_placeholder(body) => request.state = ContentState::External,
        Some(body) => request = Request::read(body),
        None => {}
    }
    let mut response = Response::default();
    match row.some("response_body") {
        Some(body) if is_placeholder(body) => response.state = ContentState::External,
        Some(body) => response = answered(body),
        None => {}
    }
    // The provider's own counts include what its cache had; the columns may not.
    if response.usage.prompt.is_none() {
        let completion = row.some("completion_tokens");
        envelope::tokens(&mut base, row.some("prompt_tokens"), completion);
        base.cached_tokens = envelope::count(row.some("prompt_cache_read_tokens"));
    }
    Ok(body::expand(base, request, response)?)
}

/// The export was made without bodies, or their address had expired.
fn is_placeholder(body: &Json<'_>) -> bool {
    match body {
        Json::Str(text) => text.contains("\"helicone_message\"") && text.len() < 4096,
        other => other.has("helicone_message"),
    }
}

/// Streams may lie beside or instead of the joined answer.
fn answered(body: &Json<'_>) -> Response {
    let read = Response::read(body);
    match body.some("streamed_data") {
        Some(stream) if read.choices.is_empty() => Response::read(stream),
        _ => read,
    }
}
