//! Response bodies: chat, completions, responses and messages, whole or streamed.

pub(super) mod clouds;

use super::content::Gathered;
use super::sse;
use super::usage::{Usage, finish_reason};
use super::{ErrorBody, NESTED_JSON_LEVELS, salvage};
use crate::exchange::{ContentState, FieldText, Modalities, TimeMicros};
use crate::format::json::Json;
use crate::format::{markers, time};

/// One answer of a response.
#[derive(Clone, Default)]
pub struct Choice {
    /// Its index as logged.
    pub index: u32,
    /// Canonical finish reason.
    pub finish: Option<String>,
    /// Text.
    pub response: Option<FieldText>,
    /// Reasoning.
    pub reasoning: Option<FieldText>,
    /// Tool calls.
    pub tool: Option<FieldText>,
    /// Some content was encrypted.
    pub encrypted: bool,
}

/// What a response body says.
#[derive(Clone, Default)]
pub struct Response {
    /// The engine's id of the response.
    pub id: Option<String>,
    /// Model that answered.
    pub model: Option<String>,
    /// When the provider says it was made; whole seconds.
    pub created: Option<TimeMicros>,
    /// The answers.
    pub choices: Vec<Choice>,
    /// Token counts.
    pub usage: Usage,
    /// An error stands in place of the answer or behind its first part.
    pub error: Option<ErrorBody>,
    /// What the answers are made of.
    pub modalities: Modalities,
    /// How much of them is here.
    pub state: ContentState,
    /// The body has the shape of a provider's response, so its counts are the provider's.
    pub structured: bool,
}

impl Response {
    /// Reads a body: an object, chunks, JSON or a stream in a string, or a plain text.
    pub fn read(body: &Json<'_>) -> Response {
        let mut response = Response::read_nested(body, 0);
        response.seal();
        response
    }

    /// An answer that is a plain text, whatever it looks like.
    pub fn of_text(text: &str) -> Response {
        let mut response = Response::plain(text);
        response.seal();
        response
    }

    fn plain(text: &str) -> Response {
        let mut gathered = Gathered::choice();
        gathered.text(text);
        let mut response = Response::default();
        response.push(0, None, gathered);
        response
    }

    fn read_nested(body: &Json<'_>, level: u8) -> Response {
        match body {
            Json::Str(text) => Response::read_text(text, level),
            Json::Array(items) if items.iter().any(sse::is_chunk) => sse::of_events(items),
            Json::Array(items) if !items.is_empty() => {
                let mut gathered = Gathered::choice();
                gathered.messages(body);
                let mut response = Response::default();
                response.push(0, None, gathered);
                response
            }
            Json::Object(_) => Response::read_object(body, level),
            _ => Response::default(),
        }
    }

    fn read_text(text: &str, level: u8) -> Response {
        let open = text.trim_start();
        if level < NESTED_JSON_LEVELS {
            if sse::is_stream(open) {
                return sse::of_text(open);
            }
            if open.starts_with(['{', '[', '"']) {
                match Json::parse(open) {
                    Ok(inner) if is_response(&inner, level) => {
                        return Response::read_nested(&inner, level + 1);
                    }
                    Ok(_) => {}
                    Err(error) => {
                        if let Some(response) = sse::of_concatenated(open) {
                            return response;
                        }
                        if error.is_eof() && markers::is_cut_body(open) {
                            return salvage::cut_json(text);
                        }
                    }
                }
            }
        }
        Response::plain(text)
    }

    fn read_object(body: &Json<'_>, level: u8) -> Response {
        if !has_known_key(body)
            && level < NESTED_JSON_LEVELS
            && let Some(inner) = body.any(&["body", "response", "result"])
        {
            return Response::read_nested(inner, level + 1);
        }
        if sse::is_event(body) {
            return sse::of_events(std::slice::from_ref(body));
        }
        Response::read_whole(body)
    }

    /// Reads a complete response object.
    pub fn read_whole(body: &Json<'_>) -> Response {
        let mut response = Response {
            id: body.some("id").and_then(Json::as_id),
            model: body.str_of("model").map(str::to_owned),
            created: body
                .any(&["created", "created_at"])
                .and_then(time::from_seconds),
            usage: body.some("usage").map(Usage::read).unwrap_or_default(),
            error: ErrorBody::read(body),
            structured: true,
            ..Response::default()
        };
        if let Some(choices) = body.some("choices") {
            for (position, choice) in choices.items().iter().enumerate() {
                response.push_choice(position, choice);
            }
        } else if response.push_cloud(body) {
            // The rest has no such keys.
        } else if let Some(output) = body.some("output") {
            response.push_output(output, body);
        } else if let Some(text) = body.str_of("output_text") {
            let mut gathered = Gathered::choice();
            gathered.text(text);
            response.push(0, None, gathered);
        } else if body
            .any(&["content", "tool_calls", "reasoning_content"])
            .is_some()
        {
            let mut gathered = Gathered::choice();
            gathered.message(body);
            let finish = body
                .any(&["stop_reason", "finish_reason"])
                .and_then(Json::as_str);
            response.push(0, finish.and_then(finish_reason), gathered);
        } else if let Some(text) = body.any(&["text", "completion", "response"]) {
            // Engines with an interface of their own.
            let mut gathered = Gathered::choice();
            gathered.content(text);
            let finish = body
                .any(&["stop_reason", "finish_reason"])
                .and_then(Json::as_str);
            response.push(0, finish.and_then(finish_reason), gathered);
        }
        response
    }

    fn push_choice(&mut self, position: usize, choice: &Json<'_>) {
        let index = choice.some("index").and_then(Json::as_i64);
        let index = index
            .and_then(|i| u32::try_from(i).ok())
            .unwrap_or(position as u32);
        let finish = choice.some("finish_reason").and_then(finish_of);
        let mut gathered = Gathered::choice();
        if let Some(message) = choice.any(&["message", "delta"]) {
            gathered.message(message);
        }
        if let Some(text) = choice.str_of("text") {
            gathered.text(text);
        }
        self.push(index, finish, gathered);
    }

    fn push_output(&mut self, output: &Json<'_>, body: &Json<'_>) {
        let mut gathered = Gathered::choice();
        gathered.messages(output);
        let calls = !gathered.tool.text.is_empty() && gathered.text.text.is_empty();
        let finish = match body.str_of("status") {
            Some("incomplete") => body
                .at(&["incomplete_details", "reason"])
                .and_then(Json::as_str)
                .unwrap_or("length"),
            Some("completed") if calls => "tool_calls",
            Some("in_progress" | "queued") | None => "",
            Some(other) => other,
        };
        if !output.items().is_empty() || output.as_str().is_some() {
            self.push(0, finish_reason(finish), gathered);
        }
    }

    /// Adds a choice.
    pub fn push(&mut self, index: u32, finish: Option<String>, gathered: Gathered) {
        self.modalities.insert(gathered.modalities);
        let whole = |text: FieldText| (!text.text.is_empty()).then_some(text);
        let has_text = gathered.has_content || !gathered.text.text.is_empty();
        self.choices.push(Choice {
            index,
            finish,
            response: has_text.then_some(gathered.text),
            reasoning: whole(gathered.reasoning),
            tool: whole(gathered.tool),
            encrypted: gathered.encrypted,
        });
        if self.state == ContentState::Absent {
            self.state = ContentState::Full;
        }
    }

    /// Adds reasoning and tool calls that stand beside the body.
    pub fn add_texts(&mut self, reasoning: Option<&Json<'_>>, tool: Option<&Json<'_>>) {
        if self.choices.is_empty() {
            self.push(0, None, Gathered::choice());
        }
        let Some(choice) = self.choices.first_mut() else {
            return;
        };
        let slots = [&mut choice.reasoning, &mut choice.tool];
        for (slot, value) in slots.into_iter().zip([reasoning, tool]) {
            let text = match value {
                Some(Json::Str(text)) => FieldText::of(text.as_ref()),
                Some(calls @ Json::Array(_)) => {
                    let mut gathered = Gathered::choice();
                    gathered.calls(calls);
                    gathered.tool
                }
                Some(other) => FieldText::of(other.to_text()),
                None => continue,
            };
            let mut field = text;
            if !field.text.is_empty() && slot.is_none() {
                markers::seal(&mut field);
                *slot = Some(field);
            }
        }
    }

    fn seal(&mut self) {
        for choice in &mut self.choices {
            let fields = [
                &mut choice.response,
                &mut choice.reasoning,
                &mut choice.tool,
            ];
            for field in fields.into_iter().flatten() {
                if let (Some(state), ContentState::Full) = (markers::seal(field), self.state) {
                    self.state = state;
                }
            }
            let nothing = choice.response.is_none() && choice.tool.is_none();
            if choice.encrypted && nothing && self.state == ContentState::Full {
                self.state = ContentState::Encrypted;
            }
        }
    }
}

/// A finish reason: a word, or SGLang's object with a type.
pub fn finish_of(value: &Json<'_>) -> Option<String> {
    value
        .as_str()
        .or_else(|| value.str_of("type"))
        .and_then(finish_reason)
}

fn has_known_key(json: &Json<'_>) -> bool {
    let keys = [
        "choices",
        "output",
        "content",
        "error",
        "usage",
        "object",
        "text",
        "completion",
    ];
    let cloud = &clouds::KEYS[..];
    keys.iter()
        .chain(cloud)
        .any(|key| *key != "result" && json.has(key))
        || sse::is_event(json)
}

/// Whether JSON found in a string is a provider's response and not a model's JSON answer.
fn is_response(json: &Json<'_>, level: u8) -> bool {
    match json {
        Json::Object(_) => {
            json.get("choices")
                .is_some_and(|c| matches!(c, Json::Array(_)))
                || (json.has("output") && (json.has("usage") || json.has("object")))
                || sse::clouds::is_gemini(json)
                || json.at(&["output", "message"]).is_some()
                || json.str_of("type") == Some("message")
                || (json.has("role") && json.has("content"))
                || ErrorBody::read(json).is_some()
                || sse::is_chunk(json)
                || json
                    .some("body")
                    .is_some_and(|body| is_response(body, level))
        }
        Json::Array(items) => {
            !items.is_empty() && items.iter().all(|item| is_response(item, level))
        }
        // JSON in JSON in JSON: what counts is the innermost.
        Json::Str(text) if level + 1 < NESTED_JSON_LEVELS => {
            sse::is_stream(text)
                || Json::parse(text).is_ok_and(|inner| is_response(&inner, level + 1))
        }
        _ => false,
    }
}
