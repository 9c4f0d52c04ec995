//! Kong AI Gateway: its log serializer's objects, with the `ai` part of the AI plugins.

use super::body::{self, Request, Response, push_candidate, push_correlation};
use super::json::{Fault, Json};
use super::{DecodeContext, LogFormat, envelope, labels};
use crate::exchange::{CorrelationKind, Exchange, RecordKind, RejectReason, Role};

/// The format; see the module.
pub struct Kong;

const READ: [&str; 12] = [
    "ai",
    "authenticated_entity",
    "client_ip",
    "consumer",
    "latencies",
    "request",
    "response",
    "service",
    "started_at",
    "tries",
    "workspace",
    "workspace_name",
];

impl LogFormat for Kong {
    fn name(&self) -> &'static str {
        "kong"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let keys = envelope::keys_with(record, "started_at");
        let has = |key: &str| keys.iter().any(|k| k == key);
        match has("started_at") && has("request") && has("response") {
            true if has("ai") => 98,
            // Calls of other routes share the file.
            true if has("latencies") || has("upstream_uri") => 90,
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

/// What the AI plugins say, whichever of them and in whichever version's spelling.
#[derive(Default)]
struct Ai<'a> {
    request: Option<&'a Json<'a>>,
    response: Option<&'a Json<'a>>,
    prompt_tokens: Option<&'a Json<'a>>,
    completion_tokens: Option<&'a Json<'a>>,
    requested: Option<&'a Json<'a>>,
    served: Option<&'a Json<'a>>,
    cache: Option<&'a Json<'a>>,
}

impl<'a> Ai<'a> {
    fn read(ai: &'a Json<'a>) -> Ai<'a> {
        let mut found = Ai::default();
        found.take(ai);
        for (_, plugin) in ai.entries() {
            found.take(plugin);
        }
        found
    }

    fn take(&mut self, plugin: &'a Json<'a>) {
        let first = |slot: &mut Option<&'a Json<'a>>, value: Option<&'a Json<'a>>| {
            let filled = |v: &&Json<'_>| v.as_str() != Some("");
            *slot = slot.or(value.filter(filled));
        };
        let (payload, usage) = (plugin.some("payload"), plugin.some("usage"));
        let meta = plugin.some("meta");
        first(&mut self.request, payload.and_then(|p| p.some("request")));
        first(&mut self.response, payload.and_then(|p| p.some("response")));
        let prompt = ["prompt_tokens", "prompt_token"];
        let completion = ["completion_tokens", "completion_token"];
        first(&mut self.prompt_tokens, usage.and_then(|u| u.any(&prompt)));
        first(
            &mut self.completion_tokens,
            usage.and_then(|u| u.any(&completion)),
        );
        first(
            &mut self.requested,
            meta.and_then(|m| m.some("request_model")),
        );
        first(
            &mut self.served,
            meta.and_then(|m| m.some("response_model")),
        );
        let cache = plugin.at(&["cache", "cache_status"]);
        first(&mut self.cache, cache);
    }
}

fn decode_line(line: &Json<'_>) -> Result<Vec<Exchange>, Fault> {
    let Some(ai @ Json::Object(entries)) = line.some("ai") else {
        let known = line.has("started_at") && line.has("request");
        return if known {
            Ok(Vec::new())
        } else {
            Err(RejectReason::UnknownShape.into())
        };
    };
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let ai = Ai::read(ai);
    let model = ai.served.or(ai.requested).and_then(Json::as_id);
    let mut base = Exchange {
        role: Some(Role::Gateway),
        model_raw: model,
        http_status: envelope::status(line.at(&["response", "status"])),
        t_start: envelope::utc(line.some("started_at")),
        ..Exchange::default()
    };
    let id = line.at(&["request", "id"]);
    base.request_id = id.and_then(Json::as_id);
    base.unique_id = base.request_id.is_some();
    push_correlation(&mut base, CorrelationKind::GatewayLogId, id);
    base.t_end = envelope::after(base.t_start, line.at(&["latencies", "request"]));
    around(line, &mut base);
    envelope::tokens(&mut base, ai.prompt_tokens, ai.completion_tokens);
    base.cache_hit = ai
        .cache
        .and_then(Json::as_str)
        .map(|status| status.to_ascii_lowercase().starts_with("hit"));
    envelope::extras(&mut base, line, &READ);
    let request = ai.request.map(Request::read).unwrap_or_default();
    let response = ai.response.map(Response::read).unwrap_or_default();
    Ok(body::expand(base, request, response)?)
}

/// Who asked, and who served.
fn around(line: &Json<'_>, base: &mut Exchange) {
    labels::push_headers(base, line.at(&["request", "headers"]));
    let candidates = &mut base.tenant_candidates;
    for key in ["custom_id", "username", "id"] {
        push_candidate(candidates, "consumer", line.at(&["consumer", key]));
    }
    let entity = line.at(&["authenticated_entity", "id"]);
    push_candidate(candidates, "credential", entity);
    for key in ["workspace_name", "workspace"] {
        push_candidate(candidates, "workspace", line.some(key));
    }
    push_candidate(candidates, "ip", line.some("client_ip"));
    let service = line.at(&["service", "name"]);
    base.deployment = service
        .or_else(|| line.at(&["service", "host"]))
        .and_then(Json::as_id);
    let last = line.get("tries").and_then(|tries| tries.items().last());
    base.node = last.and_then(|last| {
        let (ip, port) = (last.some("ip")?.as_id()?, last.some("port"));
        Some(match port.and_then(Json::as_id) {
            Some(port) => format!("{ip}:{port}"),
            None => ip,
        })
    });
}
