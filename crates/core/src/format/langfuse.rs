//! Langfuse: observations as its blob storage export and its interface write them.
//!
//! Only generations are model calls. Traces, scores and the spans around calls repeat their texts
//! and are of another kind.

use super::body::{self, Request, Response, push_candidate, push_correlation};
use super::json::{Fault, Json};
use super::{DecodeContext, LogFormat, envelope, labels};
use crate::exchange::{CorrelationKind, Exchange, Outcome, RecordKind, RejectReason, Role};

/// The format; see the module.
pub struct Langfuse;

const READ: [&str; 36] = [
    "id",
    "trace_id",
    "traceId",
    "project_id",
    "projectId",
    "type",
    "start_time",
    "startTime",
    "end_time",
    "endTime",
    "completion_start_time",
    "completionStartTime",
    "level",
    "input",
    "output",
    "metadata",
    "provided_model_name",
    "providedModelName",
    "internal_model_id",
    "model",
    "model_id",
    "usage",
    "usage_details",
    "usageDetails",
    "user_id",
    "userId",
    "session_id",
    "sessionId",
    "tool_calls",
    "toolCalls",
    "total_cost",
    "latency",
    "created_at",
    "createdAt",
    "updated_at",
    "updatedAt",
];

impl LogFormat for Langfuse {
    fn name(&self) -> &'static str {
        "langfuse"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let mut keys = envelope::keys_with(record, "\"trace_id\"");
        if keys.is_empty() {
            keys = envelope::keys_with(record, "\"traceId\"");
        }
        if keys.is_empty() {
            keys = envelope::keys_with(record, "\"project_id\"");
        }
        let has = |key: &str| keys.iter().any(|k| k == key);
        let traced = has("trace_id") || has("traceId");
        let started = has("start_time") || has("startTime");
        let own = [
            "usage_details",
            "usageDetails",
            "provided_model_name",
            "parent_observation_id",
            "parentObservationId",
        ];
        if traced && has("type") && started && own.iter().any(|key| has(key)) {
            return 96;
        }
        if is_trace(&has) || (traced && has("observation_id") && has("data_type")) {
            return 90;
        }
        0
    }

    fn decode(
        &self,
        record: &[u8],
        _context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        envelope::decode(record, out, decode_observation)
    }
}

/// A row of the table of traces.
fn is_trace(has: &dyn Fn(&str) -> bool) -> bool {
    has("project_id")
        && has("session_id")
        && has("timestamp")
        && (has("release") || has("bookmarked"))
}

fn decode_observation(row: &Json<'_>) -> Result<Vec<Exchange>, Fault> {
    let kind = match row.some("type").and_then(Json::as_str) {
        Some(kind) => kind,
        None if row.has("observation_id") || is_trace(&|key| row.has(key)) => return Ok(vec![]),
        None => return Err(RejectReason::UnknownShape.into()),
    };
    if !row.has("trace_id") && !row.has("traceId") {
        return Err(RejectReason::UnknownShape.into());
    }
    let calls = ["generation", "llm"];
    if !calls.iter().any(|call| kind.eq_ignore_ascii_case(call)) {
        return Ok(Vec::new());
    }
    let model = ["provided_model_name", "providedModelName", "model"];
    let mut base = Exchange {
        // The application itself reports.
        role: Some(Role::Client),
        request_id: row.some("id").and_then(Json::as_id),
        model_raw: envelope::text(row, &model),
        t_start: envelope::utc(row.any(&["start_time", "startTime"])),
        t_end: envelope::utc(row.any(&["end_time", "endTime"])),
        t_first_token: envelope::utc(row.any(&["completion_start_time", "completionStartTime"])),
        ..Exchange::default()
    };
    base.unique_id = base.request_id.is_some();
    let ids = [
        (CorrelationKind::GatewayLogId, row.some("id")),
        (CorrelationKind::TraceId, row.any(&["trace_id", "traceId"])),
        (
            CorrelationKind::SessionId,
            row.any(&["session_id", "sessionId"]),
        ),
    ];
    for (kind, value) in ids {
        push_correlation(&mut base, kind, value);
    }
    labels::push(&mut base, row.some("metadata"));
    let candidates = &mut base.tenant_candidates;
    push_candidate(candidates, "user", row.any(&["user_id", "userId"]));
    push_candidate(candidates, "session", row.any(&["session_id", "sessionId"]));
    let project = row.any(&["project_id", "projectId"]);
    push_candidate(candidates, "source_project", project);
    if let Some(usage) = row.any(&["usage_details", "usageDetails", "usage"]) {
        tokens(usage, &mut base);
    }
    match row.str_of("level") {
        Some("ERROR") => base.outcome = Outcome::Error,
        _ if row.some("output").is_some() => base.outcome = Outcome::Ok,
        _ => {}
    }
    envelope::extras(&mut base, row, &READ);
    let request = row.some("input").map(asked).unwrap_or_default();
    let response = row.some("output").map(answered).unwrap_or_default();
    if response.error.is_some() && base.outcome == Outcome::Ok {
        base.outcome = Outcome::Unknown;
    }
    Ok(body::expand(base, request, response)?)
}

/// An input of any shape: what is no body of a provider is the text that it is.
fn asked(input: &Json<'_>) -> Request {
    let request = Request::read(input);
    let known = !request.prompts.is_empty() || request.state != Default::default();
    match input {
        Json::Object(entries) if !known && !entries.is_empty() => {
            Request::of_text(&input.to_text())
        }
        _ => request,
    }
}

fn answered(output: &Json<'_>) -> Response {
    let response = Response::read(output);
    let known = !response.choices.is_empty() || response.error.is_some();
    match output {
        Json::Object(entries) if !known && !entries.is_empty() => {
            Response::of_text(&output.to_text())
        }
        _ => response,
    }
}

/// Counts by kinds that the user may invent. Some libraries take cached tokens out of `input`, some
/// do not; the total tells.
fn tokens(usage: &Json<'_>, base: &mut Exchange) {
    let packed = envelope::unpacked(usage);
    let usage = packed.as_ref().unwrap_or(usage);
    let sum = |word: &str| {
        let counts = usage.entries().iter().filter(|(key, _)| key.contains(word));
        let mut counts = counts.filter_map(|(_, v)| envelope::count(Some(v)));
        let first = counts.next()?;
        counts.try_fold(first, i64::checked_add)
    };
    let (inputs, outputs) = (sum("input"), sum("output"));
    let input = envelope::count(usage.some("input"));
    let output = envelope::count(usage.some("output"));
    let total = envelope::count(usage.some("total"));
    let adds_up = |a: Option<i64>, b: Option<i64>| {
        a.zip(b).and_then(|(a, b)| a.checked_add(b)) == total && total.is_some()
    };
    (base.prompt_tokens, base.completion_tokens) = if adds_up(input, output) {
        (input, output)
    } else if adds_up(input, outputs) {
        (input, outputs)
    } else if adds_up(inputs, output) {
        (inputs, output)
    } else {
        (inputs, outputs)
    };
    let cached = [
        "input_cached_tokens",
        "cache_read_input_tokens",
        "input_cache_read",
    ];
    base.cached_tokens = envelope::count(usage.any(&cached));
    if base.prompt_tokens.or(base.completion_tokens).is_some() {
        base.tokens_source = Some("provider");
    }
}
