//! The messages of a request: received, its details, its body, its answer.

use crate::exchange::{
    ContentState, Correlation, CorrelationKind, Exchange, FieldText, Modalities, Outcome,
    RejectReason, Role, TimeZoneSource,
};
use crate::format::body::{self, Request, Response, add_correlation};
use crate::format::json::Json;
use crate::format::python::Python;
use crate::format::{markers, time};

/// Digits of the index that `cmpl-…-N` appends for each prompt of one call.
const MAX_INDEX_DIGITS: usize = 3;

/// Texts shorter than this were hardly cut by `--max-log-len`.
const MIN_LOG_LEN: usize = 100;

/// What a message says.
pub(super) enum Message<'a> {
    /// `Received request ID: …` or `Request ID details: …`, with what follows.
    Asked(&'a str, &'a str),
    /// `Request ID JSON body: …`.
    Body(&'a str, &'a str),
    /// `Generated response ID…: …`, whole.
    Answered(&'a str, &'a str),
    /// A line about a request that holds nothing of an exchange: pieces of a stream, ids alone.
    Piece,
}

impl<'a> Message<'a> {
    /// Tells what a message is; `None` where it is none of a request.
    pub fn read(message: &'a str) -> Option<Message<'a>> {
        if let Some(rest) = message.strip_prefix("Received request ") {
            let (id, rest) = rest.split_once(": ")?;
            return is_id(id).then_some(Message::Asked(id, rest));
        }
        if let Some(rest) = message.strip_prefix("Request ") {
            let (id, rest) = rest.split_once(' ')?;
            if let Some(details) = rest.strip_prefix("details: ") {
                return is_id(id).then_some(Message::Asked(id, details));
            }
            let body = rest.strip_prefix("JSON body: ")?;
            return is_id(id).then_some(Message::Body(id, body));
        }
        let rest = message.strip_prefix("Generated response ")?;
        let end = rest.find([' ', ':'])?;
        let (id, rest) = rest.split_at(end);
        let rest = match rest.strip_prefix(" (streaming complete)") {
            Some(rest) => rest,
            None if rest.starts_with(" (streaming delta)") => return Some(Message::Piece),
            None => rest,
        };
        if rest.starts_with(" details: ") {
            return Some(Message::Piece);
        }
        let answer = rest.strip_prefix(": ")?;
        is_id(id).then_some(Message::Answered(id, answer))
    }

    /// The exchange, or the half of one.
    pub fn exchange(&self, stamp: time::ReadTime) -> Result<Option<Exchange>, RejectReason> {
        match self {
            Message::Asked(id, rest) => asked(id, rest, stamp).map(Some),
            Message::Body(id, text) => asked_in_json(id, text, stamp).map(Some),
            Message::Answered(id, rest) => answered(id, rest, stamp).map(Some),
            Message::Piece => Ok(None),
        }
    }
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && !id.contains(char::is_whitespace)
}

/// Ids and time of a line about a request.
fn base(id: &str, stamp: time::ReadTime) -> Exchange {
    let (time, zone) = stamp;
    // Of a completion, each prompt has the id of the call with its index.
    let of_call = id
        .rsplit_once('-')
        .filter(|(call, index)| {
            call.len() > "cmpl-".len()
                && call.starts_with("cmpl-")
                && (1..=MAX_INDEX_DIGITS).contains(&index.len())
                && index.bytes().all(|b| b.is_ascii_digit())
        })
        .map_or(id, |(call, _)| call);
    let mut exchange = Exchange {
        request_id: Some(of_call.to_owned()),
        correlation: vec![Correlation {
            kind: CorrelationKind::EngineRid,
            value: of_call.to_owned(),
        }],
        engine: Some("vllm".to_owned()),
        role: Some(Role::Unified),
        t_start: time,
        t_zone: if time.is_none() {
            TimeZoneSource::Unknown
        } else {
            zone
        },
        ..Exchange::default()
    };
    add_correlation(&mut exchange, CorrelationKind::EngineRid, id.to_owned());
    // The header `X-Request-Id` of a client is the base of the engine's id.
    let named = ["chatcmpl-", "cmpl-", "resp_", "embd-", "score-"]
        .iter()
        .find_map(|prefix| of_call.strip_prefix(prefix))
        .filter(|given| !given.is_empty());
    if let Some(given) = named {
        add_correlation(&mut exchange, CorrelationKind::XRequestId, given.to_owned());
    }
    exchange
}

fn asked(id: &str, rest: &str, stamp: time::ReadTime) -> Result<Exchange, RejectReason> {
    let mut python = Python::new(rest);
    let fields = python.labelled();
    let get = |key: &str| fields.iter().find(|(k, _)| *k == key).map(|(_, v)| v);
    if fields.is_empty() {
        return Err(RejectReason::InvalidJson);
    }
    let mut exchange = base(id, stamp);
    exchange.half = true;
    exchange.unique_id = true;
    let ids = get("prompt_token_ids").map(Json::items).unwrap_or_default();
    match get("prompt") {
        Some(Json::Str(text)) => {
            let (field, state) = field_of(text, ids.len());
            exchange.prompt_tokens = counted(&field, state, ids.len());
            exchange.prompt = Some(field);
            exchange.prompt_state = state;
            exchange.modalities.insert(Modalities::TEXT);
        }
        _ if !ids.is_empty() => exchange.prompt_state = ContentState::IdsOnly,
        _ => {}
    }
    let transfer = get("params")
        .or_else(|| get("sampling_params"))
        .and_then(|p| p.at(&["extra_args", "kv_transfer_params"]));
    let asks = |key: &str| transfer.and_then(|t| t.some(key)).and_then(Json::as_bool);
    // Each side of a disaggregated pair is told what the other one does.
    if asks("do_remote_decode") == Some(true) {
        exchange.role = Some(Role::Prefill);
    } else if asks("do_remote_prefill") == Some(true) {
        exchange.role = Some(Role::Decode);
    }
    settle(&mut exchange);
    Ok(exchange)
}

fn asked_in_json(id: &str, text: &str, stamp: time::ReadTime) -> Result<Exchange, RejectReason> {
    let mut exchange = base(id, stamp);
    exchange.half = true;
    exchange.unique_id = true;
    let text = text.trim();
    let request = match Json::parse(text) {
        Ok(body) => Request::read(&body),
        Err(_) => {
            // `--max-log-len` cuts the body too.
            let mut request = Request::of_text(text);
            request.state = ContentState::Truncated;
            request.prompts.iter_mut().for_each(markers::cut_end);
            request
        }
    };
    let mut out = body::expand(exchange, request, Response::default())?;
    let mut exchange = out.pop().ok_or(RejectReason::InvalidField)?;
    settle(&mut exchange);
    Ok(exchange)
}

fn answered(id: &str, rest: &str, stamp: time::ReadTime) -> Result<Exchange, RejectReason> {
    let mut python = Python::new(rest);
    let fields = python.labelled();
    let get = |key: &str| fields.iter().find(|(k, _)| *k == key).map(|(_, v)| v);
    let Some(Json::Str(text)) = get("output") else {
        return Err(RejectReason::InvalidJson);
    };
    let mut exchange = base(id, stamp);
    // The line is written at the end; of the start it only says that it was not later.
    exchange.t_end = exchange.t_start;
    let ids = get("output_token_ids").map(Json::items).unwrap_or_default();
    let reason = rest.rsplit_once("finish_reason: ").map(|(_, r)| r.trim());
    exchange.finish_reason = reason
        .filter(|r| !matches!(*r, "None" | "streaming_complete"))
        .and_then(body::finish_reason);
    let (field, state) = field_of(text, ids.len());
    exchange.completion_tokens = counted(&field, state, ids.len());
    if text.is_empty() && !ids.is_empty() {
        exchange.response_state = ContentState::IdsOnly;
    } else {
        exchange.response_state = state;
        place(&mut exchange, field);
    }
    if reason.is_some() && exchange.finish_reason.is_none() {
        // The reason is not in the line, but a complete stream has ended.
        exchange.outcome = Outcome::Ok;
    }
    body::finish(&mut exchange);
    settle(&mut exchange);
    Ok(exchange)
}

fn settle(exchange: &mut Exchange) {
    exchange.tokens_source = exchange
        .prompt_tokens
        .or(exchange.completion_tokens)
        .map(|_| "engine");
    if exchange.half {
        exchange.outcome = Outcome::Unknown;
    }
}

/// An answer without text is logged as its reasoning or tool calls in brackets.
fn place(exchange: &mut Exchange, field: FieldText) {
    let inside = |text: &str, open: &str| {
        let rest = text.strip_prefix(open)?.strip_suffix(']')?;
        Some(rest.to_owned())
    };
    let text = field.text.as_str();
    if let Some(calls) = inside(text, "[tool_calls: ") {
        exchange.tool = Some(FieldText::of(calls));
        exchange.modalities.insert(Modalities::TOOL);
    } else if let Some(both) = inside(text, "[reasoning: ") {
        let (thought, calls) = match both.split_once("] [tool_calls: ") {
            Some((thought, calls)) => (thought, Some(calls)),
            None => (both.as_str(), None),
        };
        exchange.reasoning = Some(FieldText::of(thought));
        if let Some(calls) = calls {
            exchange.tool = Some(FieldText::of(calls));
            exchange.modalities.insert(Modalities::TOOL);
        }
    } else {
        exchange.response = Some(field);
    }
}

/// A text, and how much of it is here.
///
/// `--max-log-len N` cuts texts to N characters and lists to N items and leaves no mark. So a text
/// is held for cut where its length is a number that a person would choose, or where it has as many
/// characters as tokens: a text that is wrongly held for cut is only less sure, one that is wrongly
/// held for whole could clear an answer.
fn field_of(text: &str, ids: usize) -> (FieldText, ContentState) {
    let mut field = FieldText::of(text);
    let marked = markers::seal(&mut field);
    let length = text.chars().count();
    let round = length.is_multiple_of(100) || length.is_power_of_two();
    if length >= MIN_LOG_LEN && (round || length == ids) {
        markers::cut_end(&mut field);
        return (field, ContentState::Truncated);
    }
    (field, marked.unwrap_or(ContentState::Full))
}

/// Tokens of a text by the list of their ids, where neither was cut.
fn counted(field: &FieldText, state: ContentState, ids: usize) -> Option<i64> {
    let whole = state == ContentState::Full && !field.text.is_empty() && ids > 0;
    whole.then_some(ids as i64)
}
