//! OpenTelemetry's OTLP as JSON: spans and events of model calls by the GenAI conventions, new and
//! old, and by those of OpenInference and Traceloop.
//!
//! One record is one export request and holds many spans. Only spans of model calls count: those of
//! agents, chains and tools around them repeat their texts.

mod attributes;
mod call;
mod content;
mod flat;

use super::json::{Fault, Json, decode_lenient};
use super::{Bodies, DecodeContext, LogFormat, body, envelope};
use crate::exchange::{ContentState, CorrelationKind, Exchange, RecordKind, RejectReason};
use attributes::{Attributes, parsed, plain};
use std::collections::{BTreeMap, BTreeSet};

/// The format; see the module.
pub struct Otlp;

/// One model call: a span with its events, or the events of one span.
#[derive(Default)]
struct Unit<'a> {
    /// Attributes of the span, then those of its events that tell of the call.
    sources: Vec<Attributes<'a>>,
    trace: Option<String>,
    span: Option<String>,
    parent: Option<String>,
    start: Option<&'a Json<'a>>,
    end: Option<&'a Json<'a>>,
    kind: Option<&'a Json<'a>>,
    status: Option<&'a Json<'a>>,
    scope: &'a str,
    /// Messages and choices that older instrumentations tell in events of their own.
    messages: Vec<Json<'a>>,
    choices: Vec<Json<'a>>,
}

impl LogFormat for Otlp {
    fn name(&self) -> &'static str {
        "otlp"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let words = [
            "resourceSpans",
            "resource_spans",
            "resourceLogs",
            "resource_logs",
        ];
        for word in words {
            if envelope::keys_with(record, word).iter().any(|k| k == word) {
                return 100;
            }
        }
        let metrics = envelope::keys_with(record, "resourceMetrics");
        if metrics.iter().any(|k| k == "resourceMetrics") {
            60
        } else {
            0
        }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let mut exchanges = decode_lenient(record, |text| {
            let request = Json::parse(text)?;
            decode_request(&request, context.bodies)
        })?;
        if exchanges.is_empty() {
            return Ok(RecordKind::Other);
        }
        out.append(&mut exchanges);
        Ok(RecordKind::Exchange)
    }
}

fn decode_request(request: &Json<'_>, bodies: Option<&dyn Bodies>) -> Result<Vec<Exchange>, Fault> {
    let spans = request.any(&["resourceSpans", "resource_spans"]);
    let logs = request.any(&["resourceLogs", "resource_logs"]);
    if spans.or(logs).is_none() && !request.has("resourceMetrics") {
        return Err(RejectReason::UnknownShape.into());
    }
    let mut out = Vec::new();
    for group in spans.map(Json::items).unwrap_or_default() {
        let resource = Attributes::read(group.at(&["resource", "attributes"]));
        let units = spans_of(group);
        emit(&units, &resource, bodies, &mut out)?;
    }
    for group in logs.map(Json::items).unwrap_or_default() {
        let resource = Attributes::read(group.at(&["resource", "attributes"]));
        let units = logs_of(group);
        emit(&units, &resource, bodies, &mut out)?;
    }
    Ok(out)
}

/// Adds the exchanges of units that are model calls.
fn emit(
    units: &[Unit<'_>],
    resource: &Attributes<'_>,
    bodies: Option<&dyn Bodies>,
    out: &mut Vec<Exchange>,
) -> Result<(), RejectReason> {
    let calls: BTreeSet<&str> = units.iter().filter_map(|u| u.span.as_deref()).collect();
    for unit in units {
        let mut base = call::describe(unit, resource);
        base.part = out.last().map_or(0, |last| last.part + 1);
        // A call inside a call is the same call told by two libraries.
        if let Some(parent) = unit.parent.as_deref().filter(|p| calls.contains(p)) {
            body::add_correlation(&mut base, CorrelationKind::SpanId, parent.to_owned());
        }
        let request = content::request(unit, bodies);
        let mut response = content::response(unit, bodies);
        if response.choices.len() > body::MAX_CHOICES {
            // One call like that must not take its neighbours with it.
            response.choices.truncate(body::MAX_CHOICES);
            response.state = ContentState::Truncated;
        }
        let mut exchanges = body::expand(base, request, response)?;
        call::finish_reasons(unit, &mut exchanges);
        out.append(&mut exchanges);
    }
    Ok(())
}

fn scopes<'a>(group: &'a Json<'a>, keys: &[&str]) -> &'a [Json<'a>] {
    group.any(keys).map(Json::items).unwrap_or_default()
}

/// The model calls among the spans of one resource.
fn spans_of<'a>(group: &'a Json<'a>) -> Vec<Unit<'a>> {
    let keys = ["scopeSpans", "scope_spans", "instrumentationLibrarySpans"];
    let mut out = Vec::new();
    for scope in scopes(group, &keys) {
        let spans = scope.get("spans").map(Json::items).unwrap_or_default();
        for span in spans {
            let attributes = Attributes::read(span.some("attributes"));
            let mut unit = Unit {
                sources: vec![attributes],
                trace: id(span, &["traceId", "trace_id"]),
                span: id(span, &["spanId", "span_id"]),
                parent: id(span, &["parentSpanId", "parent_span_id"]),
                start: span.any(&["startTimeUnixNano", "start_time_unix_nano"]),
                end: span.any(&["endTimeUnixNano", "end_time_unix_nano"]),
                kind: span.some("kind"),
                status: span.some("status"),
                scope: scope_name(scope),
                ..Unit::default()
            };
            let events = span.get("events").map(Json::items).unwrap_or_default();
            for event in events {
                let name = event.str_of("name").unwrap_or_default();
                unit.event(name, Attributes::read(event.some("attributes")), None);
            }
            if unit.is_call() {
                out.push(unit);
            }
        }
    }
    out
}

/// The model calls that the events of one resource tell of, by the span that they belong to.
fn logs_of<'a>(group: &'a Json<'a>) -> Vec<Unit<'a>> {
    let keys = ["scopeLogs", "scope_logs", "instrumentationLibraryLogs"];
    let mut out: Vec<Unit<'a>> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for scope in scopes(group, &keys) {
        let list = scope.any(&["logRecords", "log_records"]);
        for log in list.map(Json::items).unwrap_or_default() {
            let attributes = Attributes::read(log.some("attributes"));
            let named = log.any(&["eventName", "event_name"]).and_then(Json::as_str);
            let in_attributes = attributes.get("event.name");
            let name = named.or_else(|| in_attributes.as_ref()?.as_str());
            let name = name.unwrap_or_default().to_owned();
            if !name.starts_with("gen_ai.") {
                continue;
            }
            let span = id(log, &["spanId", "span_id"]);
            let fresh = out.len();
            let place = match &span {
                Some(span) => *places.entry(span.clone()).or_insert(fresh),
                None => fresh,
            };
            if place == fresh {
                out.push(Unit {
                    trace: id(log, &["traceId", "trace_id"]),
                    span,
                    scope: scope_name(scope),
                    ..Unit::default()
                });
            }
            let time = log.any(&["timeUnixNano", "time_unix_nano", "observedTimeUnixNano"]);
            if let Some(unit) = out.get_mut(place) {
                // Messages are told when they are sent, all else when the answer is there; where
                // there is but one time, it has to be both.
                unit.start = unit.start.or(time);
                if !name.ends_with(".message") {
                    unit.end = time.or(unit.end);
                }
                unit.event(&name, attributes, log.some("body"));
            }
        }
    }
    out.retain(|unit| {
        !unit.sources.is_empty() || !unit.messages.is_empty() || !unit.choices.is_empty()
    });
    out
}

/// A hexadecimal id that is not all zeros.
fn id(of: &Json<'_>, keys: &[&str]) -> Option<String> {
    let id = of.any(keys)?.as_id()?;
    id.bytes()
        .any(|b| b != b'0')
        .then(|| id.to_ascii_lowercase())
}

fn scope_name<'a>(scope: &'a Json<'a>) -> &'a str {
    let scope = scope.any(&["scope", "instrumentationLibrary"]);
    scope.and_then(|s| s.str_of("name")).unwrap_or_default()
}

impl<'a> Unit<'a> {
    /// The value of an attribute, wherever it stands.
    fn get(&self, key: &str) -> Option<Json<'a>> {
        self.sources.iter().find_map(|source| source.get(key))
    }

    /// The value of the first attribute that is there.
    fn any(&self, keys: &[&str]) -> Option<Json<'a>> {
        keys.iter().find_map(|key| self.get(key))
    }

    /// The text of the first attribute that is there.
    fn text(&self, keys: &[&str]) -> Option<String> {
        let found = keys.iter().filter_map(|key| self.get(key));
        found
            .filter_map(|value| value.as_id())
            .find(|text| !text.is_empty())
    }

    /// Takes what an event tells.
    fn event(&mut self, name: &str, attributes: Attributes<'a>, body: Option<&'a Json<'a>>) {
        let Some(rest) = name.strip_prefix("gen_ai.") else {
            return;
        };
        let told = body.map(plain).or_else(|| {
            let content = attributes.any(&["gen_ai.event.content", "event.body"])?;
            Some(parsed(content).json)
        });
        let role = rest.strip_suffix(".message");
        match (rest, role) {
            (_, Some("system" | "user" | "assistant" | "tool")) => {
                let told = told.unwrap_or_else(|| from_attributes(&attributes));
                if !told.entries().is_empty() {
                    self.messages.push(told);
                } else if let Json::Str(_) = told {
                    self.messages.push(told);
                }
            }
            ("choice", _) => {
                let told = told.unwrap_or_else(|| from_attributes(&attributes));
                self.choices.push(if told.has("message") {
                    told
                } else {
                    Json::Object(vec![("message".into(), told)])
                });
            }
            ("content.prompt" | "content.completion", _)
            | ("client.inference.operation.details", _) => {
                if let Some(inner) = body {
                    let inner = inner.at(&["kvlistValue", "values"]).unwrap_or(inner);
                    self.sources.push(Attributes::read(Some(inner)));
                }
                self.sources.push(attributes);
            }
            _ => {}
        }
    }

    /// Whether a span is a call of a model and not of what stands around one.
    fn is_call(&self) -> bool {
        let Some(own) = self.sources.first() else {
            return false;
        };
        if let Some(kind) = own.get("openinference.span.kind") {
            return kind.as_str().is_some_and(|k| k.eq_ignore_ascii_case("llm"));
        }
        if let Some(operation) = own.get("gen_ai.operation.name") {
            let calls = [
                "chat",
                "text_completion",
                "generate_content",
                "completion",
                "responses",
            ];
            return operation.as_str().is_some_and(|o| calls.contains(&o));
        }
        if own.get("traceloop.span.kind").is_some() {
            return false;
        }
        if let Some(kind) = own.get("llm.request.type") {
            return matches!(kind.as_str(), Some("chat" | "completion"));
        }
        let keys = [
            "gen_ai.request.model",
            "gen_ai.response.model",
            "gen_ai.prompt_json",
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.prompt_tokens",
            "llm.model_name",
        ];
        own.any(&keys).is_some()
    }
}

/// A message whose fields are attributes.
fn from_attributes<'a>(attributes: &Attributes<'a>) -> Json<'a> {
    let fields = attributes.iter().filter_map(|(key, value)| {
        let key = key.strip_prefix("gen_ai.").unwrap_or(key);
        let known = [
            "content",
            "role",
            "message",
            "tool_calls",
            "index",
            "finish_reason",
        ];
        let value = parsed(plain(value)).json;
        known.contains(&key).then(|| (key.into(), value))
    });
    Json::Object(fields.collect())
}
