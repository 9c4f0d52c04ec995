//! Request and response bodies: one reader for all formats.

pub mod content;
pub mod request;
pub mod response;
pub mod salvage;
pub mod sse;
pub mod usage;

pub use request::Request;
pub use response::{Choice, Response, finish_of};
pub use usage::{Usage, finish_reason};

use super::json::Json;
use crate::exchange::{
    Border, ContentState, Correlation, CorrelationKind, Exchange, ExtraField, FieldText,
    Modalities, Outcome, RejectReason, TenantCandidate,
};

/// How deep JSON inside JSON strings is followed.
pub const NESTED_JSON_LEVELS: u8 = 3;

/// Choices that one response may have; providers allow 128.
pub const MAX_CHOICES: usize = 4096;

/// Bytes of prompt and extra fields that the choices of one record may copy.
const MAX_COPIED_BYTES: usize = 256 << 20;

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
        if is_new(candidates, &candidate) {
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
    if is_new(&exchange.correlation, &correlation) {
        exchange.correlation.push(correlation);
    }
}

/// Whether a short list lacks the item. No honest record has a long one, and to look through that
/// for every item would take quadratic time.
fn is_new<T: PartialEq>(list: &[T], item: &T) -> bool {
    list.len() > 256 || !list.contains(item)
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
pub fn expand(
    mut base: Exchange,
    request: Request,
    response: Response,
) -> Result<Vec<Exchange>, RejectReason> {
    if response.choices.len() > MAX_CHOICES {
        return Err(RejectReason::InvalidField);
    }
    merge(&mut base, &request, &response);
    Ok(split(base, request.prompts, response.choices))
}

/// Takes over what the bodies say.
fn merge(base: &mut Exchange, request: &Request, response: &Response) {
    base.modalities.insert(request.modalities);
    base.modalities.insert(response.modalities);
    if base.model_raw.is_none() {
        base.model_raw = response.model.as_ref().or(request.model.as_ref()).cloned();
    }
    for candidate in &request.candidates {
        if is_new(&base.tenant_candidates, candidate) {
            base.tenant_candidates.push(candidate.clone());
        }
    }
    for correlation in &request.correlation {
        add_correlation(base, correlation.kind, correlation.value.clone());
    }
    // A cached answer has the id of the call that filled the cache, perhaps another tenant's.
    if let Some(id) = &response.id
        && base.cache_hit != Some(true)
    {
        add_correlation(base, CorrelationKind::EngineRid, id.clone());
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
    let Some(error) = response.error else { return };
    if response.choices.is_empty() {
        // Behind the first chunks the client had its 200 already, whatever the error says.
        base.http_status = base.http_status.or(error.status);
    }
    if matches!(base.outcome, Outcome::Unknown | Outcome::Ok) {
        base.outcome = match base.http_status {
            Some(499) => Outcome::Aborted,
            Some(400..500) => Outcome::Rejected,
            _ => Outcome::Error,
        };
    }
}

fn split(mut base: Exchange, mut prompts: Vec<FieldText>, choices: Vec<Choice>) -> Vec<Exchange> {
    let count = choices.len();
    if count <= 1 {
        // Several prompts and at most one answer: which one it answers is unknown.
        base.prompt = prompts.into_iter().reduce(|mut joined, prompt| {
            append(&mut joined, &prompt);
            joined
        });
        fill(&mut base, choices.into_iter().next().unwrap_or_default());
        return vec![base];
    }
    let extra = std::mem::take(&mut base.extra);
    let mut weight: usize = extra.iter().map(|field| field.raw.len()).sum();
    if prompts.len() == 1 {
        weight += prompts.first().map_or(0, |prompt| prompt.text.len());
    }
    let shared = weight.saturating_mul(count) <= MAX_COPIED_BYTES;
    // The choices of each prompt stand together.
    let each = count.checked_div(prompts.len()).unwrap_or(0).max(1);
    let several = prompts.len() > 1;
    let mut out = Vec::with_capacity(count);
    for (position, choice) in choices.into_iter().enumerate() {
        let mut exchange = base.clone();
        let owner = if several { position / each } else { 0 };
        match prompts.get_mut(owner) {
            Some(prompt) if several && (position + 1) % each == 0 => {
                exchange.prompt = Some(std::mem::take(prompt));
            }
            Some(prompt) if several || shared || position == 0 => {
                exchange.prompt = Some(prompt.clone());
            }
            // The prompt is that of choice 0; so many copies of it would fill the memory.
            Some(_) => exchange.prompt_state = ContentState::External,
            None if several => exchange.prompt_state = ContentState::Absent,
            None => {}
        }
        if shared || position == 0 {
            exchange.extra.clone_from(&extra);
        }
        fill(&mut exchange, choice);
        out.push(exchange);
    }
    out
}

fn append(joined: &mut FieldText, text: &FieldText) {
    let before = joined.text.len();
    joined.push_part(&text.text);
    let shift = if before == 0 { 0 } else { before + 1 };
    joined.borders.extend(text.borders.iter().map(|b| Border {
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
    if exchange
        .prompt_tokens
        .or(exchange.completion_tokens)
        .is_none()
    {
        exchange.tokens_source = None;
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

#[cfg(test)]
mod tests;
