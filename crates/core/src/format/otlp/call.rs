//! What a span says about its call beside the texts.

use super::Unit;
use super::attributes::{Attributes, plain};
use crate::exchange::{CorrelationKind, Exchange, Outcome, Role, TimeMicros};
use crate::format::body::{add_correlation, extra_field, finish_of, push_candidate};
use crate::format::json::Json;
use crate::format::{envelope, labels};

/// Attributes that end up in columns or texts; what begins so is no extra field.
const READ: [&str; 21] = [
    "gen_ai.input.",
    "gen_ai.output.",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
    "gen_ai.prompt",
    "gen_ai.completion",
    "gen_ai.usage.",
    "gen_ai.request.model",
    "gen_ai.response.",
    "gen_ai.operation.name",
    "gen_ai.conversation.id",
    "llm.input_messages.",
    "llm.output_messages.",
    "llm.prompts.",
    "llm.choices.",
    "llm.token_count.",
    "llm.tools.",
    "llm.model_name",
    "input.",
    "output.",
    "traceloop.",
];

/// Everything but texts, reasons and links to other spans.
pub fn describe(unit: &Unit<'_>, resource: &Attributes<'_>) -> Exchange {
    let mut base = Exchange {
        role: Some(role(unit)),
        request_id: unit.span.clone(),
        unique_id: unit.span.is_some(),
        ..Exchange::default()
    };
    ids(unit, &mut base);
    tenants(unit, resource, &mut base);
    base.model_raw = unit.text(&[
        "gen_ai.response.model",
        "gen_ai.request.model",
        "llm.response.model_name",
        "llm.model_name",
        "llm.request.model_name",
    ]);
    parameters(unit, &mut base);
    base.deployment = deployment(unit);
    let places = ["k8s.pod.name", "host.name", "service.instance.id"];
    base.node = resource.any(&places).and_then(|v| v.as_id());
    if unit.scope.starts_with("vllm") {
        base.engine = Some("vllm".to_owned());
    }
    times(unit, &mut base);
    tokens(unit, &mut base);
    ending(unit, &mut base);
    for source in &unit.sources {
        for (key, value) in source.iter() {
            if !READ.iter().any(|read| key.starts_with(read)) {
                base.extra.push(extra_field(key, &plain(value)));
            }
        }
    }
    base
}

/// Engines and gateways serve, applications ask.
fn role(unit: &Unit<'_>) -> Role {
    let server = unit.kind.is_some_and(|kind| {
        kind.as_i64() == Some(2) || kind.as_str().is_some_and(|k| k.ends_with("SERVER"))
    });
    let gateway = unit.get("gen_ai.prompt_json").is_some()
        || unit.get("gen_ai.completion_json").is_some()
        || unit.scope.to_ascii_lowercase().contains("litellm");
    match (unit.scope.starts_with("vllm"), server || gateway) {
        (true, _) => Role::Unified,
        (false, true) => Role::Gateway,
        (false, false) => Role::Client,
    }
}

fn ids(unit: &Unit<'_>, base: &mut Exchange) {
    let own = [
        (CorrelationKind::SpanId, &unit.span),
        (CorrelationKind::TraceId, &unit.trace),
    ];
    for (kind, value) in own {
        value
            .iter()
            .for_each(|id| add_correlation(base, kind, id.clone()));
    }
    let named = [
        ("gen_ai.response.id", CorrelationKind::EngineRid),
        ("gen_ai.request.id", CorrelationKind::EngineRid),
        ("gen_ai.conversation.id", CorrelationKind::ConversationId),
        ("session.id", CorrelationKind::SessionId),
        ("langfuse.session.id", CorrelationKind::SessionId),
        (
            "http.request.header.x-request-id",
            CorrelationKind::XRequestId,
        ),
    ];
    for (key, kind) in named {
        let value = unit.get(key);
        let value = value.as_ref().map(|v| v.items().first().unwrap_or(v));
        if let Some(id) = value.and_then(Json::as_id) {
            add_correlation(base, kind, id);
        }
    }
}

/// No convention names the tenant: whatever has such a name is a candidate.
fn tenants(unit: &Unit<'_>, resource: &Attributes<'_>, base: &mut Exchange) {
    let all = unit.sources.iter().chain([resource]);
    for (key, value) in all.flat_map(Attributes::iter) {
        let value = plain(value);
        if let Some(name) = key.strip_prefix("traceloop.association.properties.") {
            labels::push_one(base, name, &value);
        } else if matches!(key, "langfuse.user.id" | "gen_ai.user" | "llm.user") {
            push_candidate(&mut base.tenant_candidates, "user", Some(&value));
        } else if matches!(key, "metadata" | "langfuse.trace.metadata") {
            labels::push(base, Some(&value));
        } else if key == "service.name" {
            push_candidate(&mut base.tenant_candidates, "service", Some(&value));
        } else if labels::kind_of(key).is_some() {
            labels::push_one(base, key, &value);
        }
    }
}

/// OpenInference keeps what was asked beside the messages as JSON.
fn parameters(unit: &Unit<'_>, base: &mut Exchange) {
    let Some(value) = unit.get("llm.invocation_parameters") else {
        return;
    };
    let asked = super::parsed(value).json;
    if base.model_raw.is_none() {
        base.model_raw = envelope::text(&asked, &["model", "model_name"]);
    }
    for key in ["safety_identifier", "user"] {
        push_candidate(&mut base.tenant_candidates, "user", asked.some(key));
    }
    labels::push(base, asked.some("metadata"));
}

fn deployment(unit: &Unit<'_>) -> Option<String> {
    let address = unit.text(&["server.address"]);
    let port = unit.text(&["server.port"]);
    match (address, port) {
        (Some(address), Some(port)) => Some(format!("{address}:{port}")),
        (Some(address), None) => Some(address),
        _ => unit.text(&["gen_ai.openai.api_base", "llm.api_base"]),
    }
}

fn times(unit: &Unit<'_>, base: &mut Exchange) {
    base.t_start = envelope::utc(unit.start);
    base.t_end = envelope::utc(unit.end);
    let first = unit.any(&[
        "gen_ai.response.time_to_first_chunk",
        "gen_ai.latency.time_to_first_token",
    ]);
    let seconds = first.as_ref().and_then(Json::as_f64);
    let seconds = seconds.filter(|s| (0.0..1.0e6).contains(s));
    let span = seconds.map(|s| (s * 1e6).round() as TimeMicros);
    base.t_first_token = base
        .t_start
        .zip(span)
        .and_then(|(start, span)| start.checked_add(span))
        .filter(|first| base.t_end.is_none_or(|end| *first <= end));
}

fn tokens(unit: &Unit<'_>, base: &mut Exchange) {
    let count = |keys: &[&str]| envelope::count(unit.any(keys).as_ref());
    base.prompt_tokens = count(&[
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.usage.prompt_tokens",
        "llm.token_count.prompt",
    ]);
    base.completion_tokens = count(&[
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "llm.usage.completion_tokens",
        "llm.token_count.completion",
    ]);
    base.cached_tokens = count(&[
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "llm.token_count.prompt_details.cache_read",
    ]);
    if base.prompt_tokens.or(base.completion_tokens).is_some() {
        let engine = base.engine.is_some();
        base.tokens_source = Some(if engine { "engine" } else { "provider" });
    }
}

fn ending(unit: &Unit<'_>, base: &mut Exchange) {
    let keys = ["http.response.status_code", "http.status_code"];
    base.http_status = envelope::status(unit.any(&keys).as_ref());
    let code = unit.status.and_then(|s| s.some("code"));
    let failed = code
        .is_some_and(|c| c.as_i64() == Some(2) || c.as_str().is_some_and(|c| c.ends_with("ERROR")));
    let fine = code
        .is_some_and(|c| c.as_i64() == Some(1) || c.as_str().is_some_and(|c| c.ends_with("OK")));
    let error = unit.get("error.type");
    base.outcome = match envelope::outcome_of(base.http_status) {
        known @ (Outcome::Rejected | Outcome::Aborted | Outcome::Error) => known,
        _ if failed || error.is_some() => error
            .and_then(|e| e.as_i64())
            .and_then(|c| u16::try_from(c).ok())
            .map(|c| envelope::outcome_of(Some(c)))
            .filter(|o| !matches!(o, Outcome::Unknown | Outcome::Ok))
            .unwrap_or(Outcome::Error),
        _ if fine => Outcome::Ok,
        known => known,
    };
}

/// Reasons that stand beside the messages, one a choice.
pub fn finish_reasons(unit: &Unit<'_>, exchanges: &mut [Exchange]) {
    let Some(reasons) = unit.any(&["gen_ai.response.finish_reasons", "llm.finish_reason"]) else {
        return;
    };
    let reasons = super::parsed(reasons).json;
    for (position, exchange) in exchanges.iter_mut().enumerate() {
        if exchange.finish_reason.is_none() {
            let reason = reasons.items().get(position);
            let reason = reason.or(match &reasons {
                Json::Str(_) => Some(&reasons),
                _ => None,
            });
            exchange.finish_reason = reason.and_then(finish_of);
            if exchange.finish_reason.is_some() {
                crate::format::body::finish(exchange);
            }
        }
    }
}
