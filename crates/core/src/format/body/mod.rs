//! Request and response bodies: one reader for all formats.

pub mod content;
pub mod request;
pub mod response;
pub mod sse;
pub mod usage;

pub use request::Request;
pub use response::{Choice, Response, finish_of};
pub use usage::{Usage, finish_reason};

use super::json::Json;
use crate::exchange::{
    ContentState, Correlation, CorrelationKind, Exchange, ExtraField, Modalities, Outcome,
    TenantCandidate,
};

/// How deep JSON inside JSON strings is followed.
pub const NESTED_JSON_LEVELS: u8 = 3;

/// An error body; its message is text and stays out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorBody {
    /// HTTP status that the body names, if any.
    pub status: Option<u16>,
}

impl ErrorBody {
    /// Recognises `{"error": …}` and the flat `{"object": "error", …}`.
    pub fn read(body: &Json<'_>) -> Option<ErrorBody> {
        let flat = body.str_of("object") == Some("error");
        let inner = match body.some("error") {
            Some(error @ Json::Object(_)) => error,
            // A bare word is an error only where nothing else could be the answer.
            Some(Json::Str(_)) if body.entries().len() == 1 || body.has("status_code") => body,
            _ if flat || body.str_of("type") == Some("error") => body,
            _ => return None,
        };
        let known = ["message", "type", "code", "error", "status_code"];
        if !flat && !known.iter().any(|key| inner.has(key)) {
            return None;
        }
        let code = inner
            .any(&["status_code", "code", "status"])
            .and_then(Json::as_i64);
        let status = code
            .and_then(|c| u16::try_from(c).ok())
            .filter(|c| (100..600).contains(c));
        Some(ErrorBody { status })
    }
}

/// Adds a candidate if the value is an id.
pub fn push_candidate(candidates: &mut Vec<TenantCandidate>, kind: &str, value: Option<&Json<'_>>) {
    if let Some(value) = value.and_then(Json::as_id) {
        let candidate = TenantCandidate {
            kind: kind.to_owned(),
            value,
        };
        if !candidates.contains(&candidate) {
            candidates.push(candidate);
        }
    }
}

/// Adds an id if the value is one and is not there yet.
pub fn push_correlation(exchange: &mut Exchange, kind: CorrelationKind, value: Option<&Json<'_>>) {
    if let Some(value) = value.and_then(Json::as_id) {
        add_correlation(exchange, kind, value);
    }
}

/// Adds an id that is not there yet.
pub fn add_correlation(exchange: &mut Exchange, kind: CorrelationKind, value: String) {
    let correlation = Correlation { kind, value };
    if !exchange.correlation.contains(&correlation) {
        exchange.correlation.push(correlation);
    }
}

/// A field that no column takes.
pub fn extra_field(key: &str, value: &Json<'_>) -> ExtraField {
    ExtraField {
        key: key.to_owned(),
        json_type: value.type_name(),
        raw: value.to_text().into_bytes(),
    }
}

/// Joins what a record says with its bodies: one exchange a choice.
///
/// What the record itself said, wins over what its bodies say. `base` must hold no texts.
pub fn expand(mut base: Exchange, request: Request, response: Response, out: &mut Vec<Exchange>) {
    base.modalities.insert(request.modalities);
    base.modalities.insert(response.modalities);
    base.model_raw = base.model_raw.or(response.model).or(request.model);
    for candidate in request.candidates {
        if !base.tenant_candidates.contains(&candidate) {
            base.tenant_candidates.push(candidate);
        }
    }
    for correlation in request.correlation {
        add_correlation(&mut base, correlation.kind, correlation.value);
    }
    if let Some(id) = response.id {
        add_correlation(&mut base, CorrelationKind::EngineRid, id);
    }
    let usage = response.usage;
    if base.tokens_source.is_none() && !usage.is_empty() {
        base.tokens_source = Some("provider");
    }
    base.prompt_tokens = base.prompt_tokens.or(usage.prompt);
    base.completion_tokens = base.completion_tokens.or(usage.completion);
    base.cached_tokens = base.cached_tokens.or(usage.cached);
    base.prompt_state = keep(base.prompt_state, request.state);
    base.response_state = keep(base.response_state, response.state);
    if let Some(error) = response.error {
        base.outcome = Outcome::Error;
        base.http_status = base.http_status.or(error.status);
    }
    let count = response.choices.len();
    let each = count.checked_div(request.prompts.len()).unwrap_or(0);
    let mut prompts = request.prompts;
    if count <= 1 {
        if prompts.len() > 1 {
            // Several prompts and at most one answer: which one it answers is unknown.
            let mut all = Vec::new();
            std::mem::swap(&mut all, &mut prompts);
            let mut joined = crate::exchange::FieldText::default();
            for prompt in &all {
                append(&mut joined, prompt);
            }
            prompts.push(joined);
        }
        base.prompt = prompts.pop();
        let choice = response.choices.into_iter().next();
        fill(&mut base, choice.unwrap_or_default());
        out.push(base);
        return;
    }
    for (position, choice) in response.choices.into_iter().enumerate() {
        let mut exchange = base.clone();
        let owner = if prompts.len() > 1 {
            position.checked_div(each)
        } else {
            Some(0)
        };
        exchange.prompt = owner.and_then(|owner| prompts.get(owner)).cloned();
        fill(&mut exchange, choice);
        out.push(exchange);
    }
}

fn append(joined: &mut crate::exchange::FieldText, text: &crate::exchange::FieldText) {
    let before = joined.text.len();
    joined.push_part(&text.text);
    let shift = if before == 0 { 0 } else { before + 1 };
    joined
        .borders
        .extend(text.borders.iter().map(|b| crate::exchange::Border {
            start: b.start + shift,
            end: b.end + shift,
            kind: b.kind,
        }));
}

/// A state that the record declares wins; absent is the default and declares nothing.
fn keep(declared: ContentState, found: ContentState) -> ContentState {
    match declared {
        ContentState::Absent => found,
        declared => declared,
    }
}

fn fill(exchange: &mut Exchange, choice: Choice) {
    exchange.choice = if exchange.choice == 0 {
        choice.index
    } else {
        exchange.choice
    };
    exchange.finish_reason = exchange.finish_reason.take().or(choice.finish);
    exchange.response = choice.response;
    exchange.reasoning = choice.reasoning;
    exchange.tool = choice.tool;
    finish(exchange);
}

/// Settles what follows from the other fields: modalities, outcome, counts that mean "unknown".
pub fn finish(exchange: &mut Exchange) {
    let answered = [&exchange.response, &exchange.reasoning, &exchange.tool]
        .into_iter()
        .flatten()
        .any(|field| !field.text.is_empty());
    if answered {
        exchange.modalities.insert(Modalities::TEXT);
    }
    // Loggers write 0 where they do not know; a text cannot have none.
    if answered && exchange.completion_tokens == Some(0) {
        exchange.completion_tokens = None;
    }
    let prompted = exchange.prompt.as_ref().is_some_and(|p| !p.text.is_empty());
    if prompted && exchange.prompt_tokens == Some(0) {
        exchange.prompt_tokens = None;
    }
    if exchange.outcome == Outcome::Unknown {
        exchange.outcome = outcome(exchange);
    }
}

fn outcome(exchange: &Exchange) -> Outcome {
    match (exchange.finish_reason.as_deref(), exchange.http_status) {
        (Some("abort"), _) | (_, Some(499)) => Outcome::Aborted,
        (_, Some(400..=498)) => Outcome::Rejected,
        (Some("error"), _) | (_, Some(500..)) => Outcome::Error,
        (_, Some(200..=299)) | (Some(_), None) => Outcome::Ok,
        _ => Outcome::Unknown,
    }
}
