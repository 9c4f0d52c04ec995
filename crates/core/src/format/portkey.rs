//! Portkey's log export: one call a line, keys nested or dotted.

use super::body::{self, Request, Response, push_candidate, push_correlation};
use super::json::{Fault, Json};
use super::{DecodeContext, LogFormat, envelope, labels};
use crate::exchange::{CorrelationKind, Exchange, Outcome, RecordKind, RejectReason, Role};

/// The format; see the module.
pub struct Portkey;

const READ: [&str; 21] = [
    "id",
    "created_at",
    "request",
    "request.body",
    "request_url",
    "response",
    "response.body",
    "is_success",
    "ai_model",
    "req_units",
    "res_units",
    "total_units",
    "response_status_code",
    "response_time",
    "cache_status",
    "trace_id",
    "virtual_key",
    "workspace",
    "workspace_slug",
    "metadata",
    "span_id",
];

impl LogFormat for Portkey {
    fn name(&self) -> &'static str {
        "portkey"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let keys = envelope::keys_with(record, "\"req_units\"");
        let has = |key: &str| keys.iter().any(|k| k == key);
        let named = has("req_units") && has("res_units");
        if named && (has("ai_model") || has("ai_org")) {
            97
        } else {
            0
        }
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
    if !row.has("ai_model") && !row.has("req_units") {
        return Err(RejectReason::UnknownShape.into());
    }
    let mut base = Exchange {
        role: Some(Role::Gateway),
        request_id: row.some("id").and_then(Json::as_id),
        model_raw: envelope::text(row, &["ai_model"]),
        deployment: envelope::text(row, &["request_url"]),
        http_status: envelope::status(row.some("response_status_code")),
        t_start: envelope::utc(row.some("created_at")),
        ..Exchange::default()
    };
    base.unique_id = base.request_id.is_some();
    base.t_end = envelope::after(base.t_start, row.some("response_time"));
    let ids = [
        (CorrelationKind::GatewayLogId, row.some("id")),
        (CorrelationKind::SpanId, row.some("span_id")),
        // Retries of one call and all calls of a chain share it.
        (CorrelationKind::TraceId, row.some("trace_id")),
    ];
    for (kind, value) in ids {
        push_correlation(&mut base, kind, value);
    }
    labels::push(&mut base, row.some("metadata"));
    if let (Some(name), Some(value)) = (row.str_of("metadata.key"), row.some("metadata.value")) {
        labels::push_one(&mut base, name, value);
    }
    for (key, value) in row.entries() {
        let name = key.strip_prefix("metadata.");
        if let Some(name) = name.filter(|n| !matches!(*n, "key" | "value")) {
            labels::push_one(&mut base, name, value);
        }
    }
    let candidates = &mut base.tenant_candidates;
    push_candidate(
        candidates,
        "workspace",
        row.any(&["workspace_slug", "workspace"]),
    );
    push_candidate(candidates, "virtual_key", row.some("virtual_key"));
    envelope::tokens(&mut base, row.some("req_units"), row.some("res_units"));
    base.cache_hit = row.str_of("cache_status").map(|status| {
        // `HIT`, `SEMANTIC HIT`; all others went through.
        status.to_ascii_uppercase().ends_with("HIT")
    });
    if row.some("is_success").and_then(Json::as_bool) == Some(false) {
        let by_status = envelope::outcome_of(base.http_status);
        base.outcome = match by_status {
            Outcome::Ok | Outcome::Unknown => Outcome::Error,
            known => known,
        };
    }
    envelope::extras(&mut base, row, &READ);
    let asked = row.some("request.body").or_else(|| row.some("request"));
    let answered = row.some("response.body").or_else(|| row.some("response"));
    let request = asked.map(Request::read).unwrap_or_default();
    let response = answered.map(Response::read).unwrap_or_default();
    Ok(body::expand(base, request, response)?)
}
