//! Streamed responses: raw SSE text, arrays of chunks, concatenated objects.
//!
//! One aggregator for the chunks of OpenAI chat and completions, the Responses API and Anthropic.
//! An error behind the first chunks keeps what was delivered before it.

pub mod clouds;

use super::ErrorBody;
use super::content::Gathered;
use super::response::{Response, finish_of};
use super::usage::{Usage, finish_reason};
use crate::exchange::{Border, BorderKind, ContentState, FieldText, Modalities};
use crate::format::json::Json;
use crate::format::time;
use std::collections::BTreeMap;

/// Whether a text is a stream of server-sent events.
pub fn is_stream(text: &str) -> bool {
    let mut lines = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty());
    for line in lines.by_ref().take(8) {
        if let Some(data) = line.strip_prefix("data:") {
            return data.trim_start().starts_with(['{', '[']);
        }
        let known = [":", "event:", "id:", "retry:"];
        if !known.iter().any(|prefix| line.starts_with(prefix)) {
            return false;
        }
    }
    false
}

/// Whether an object is one chunk of a stream.
pub fn is_event(json: &Json<'_>) -> bool {
    if json.str_of("object").is_some_and(|o| o.ends_with(".chunk")) {
        return true;
    }
    if let Some(choices) = json.some("choices") {
        return choices.items().iter().any(|choice| choice.has("delta"));
    }
    json.str_of("type").is_some_and(|kind| {
        kind.starts_with("response.")
            || kind.starts_with("message_")
            || kind.starts_with("content_block_")
            || kind == "ping"
    })
}

/// Whether an object is one chunk of a stream, or a response that may also come in such chunks.
pub fn is_chunk(json: &Json<'_>) -> bool {
    is_event(json) || clouds::is_chunk(json)
}

/// Reads a stream of server-sent events.
pub fn of_text(text: &str) -> Response {
    let mut stream = Stream::default();
    let mut data = String::new();
    // A lone `\r` ends a line too, but only few write it; both others are one `\n` in the end.
    for line in text.split('\n').chain([""]) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let part = line.strip_prefix("data:").map(str::trim_start);
        match part {
            // One object a line is the rule, also where a logger dropped the blank lines.
            Some(part) if stream.data(part) => stream.drop_open(&mut data),
            Some(part) => {
                if !data.is_empty() {
                    data.push('\n');
                }
                data.push_str(part);
            }
            None if line.is_empty() && !data.is_empty() => {
                stream.cut |= !stream.data(&data);
                data.clear();
            }
            None => {}
        }
    }
    stream.finish()
}

/// Reads chunks that are an array already.
pub fn of_events(events: &[Json<'_>]) -> Response {
    let mut stream = Stream::default();
    for event in events {
        stream.event(event);
    }
    stream.finish()
}

/// Reads objects that stand one behind the other; `None` where they are no stream.
pub fn of_concatenated(text: &str) -> Option<Response> {
    let mut stream = Stream::default();
    let mut known = false;
    for item in serde_json::Deserializer::from_str(text).into_iter::<Json<'_>>() {
        match item {
            Ok(event) if is_chunk(&event) => {
                known = true;
                stream.event(&event);
            }
            Ok(event) if known => stream.event(&event),
            Ok(_) => return None,
            Err(_) => {
                stream.cut = true;
                break;
            }
        }
    }
    known.then(|| stream.finish())
}

#[derive(Default)]
struct Parts {
    text: String,
    reasoning: String,
    refusal: String,
    /// Name and arguments of each call, by the provider's index.
    calls: BTreeMap<i64, (String, String)>,
    finish: Option<String>,
    has_text: bool,
}

#[derive(Default)]
struct Stream {
    head: Response,
    choices: BTreeMap<u32, Parts>,
    whole: Option<Response>,
    cut: bool,
}

impl Stream {
    /// Takes the data of one event; false where it is not a whole one.
    fn data(&mut self, data: &str) -> bool {
        let data = data.trim();
        if data.is_empty() || data == "[DONE]" {
            return true;
        }
        let event = Json::parse(data);
        event.inspect(|event| self.event(event)).is_ok()
    }

    /// Lines before a whole event that are none are the rest of one that was cut.
    fn drop_open(&mut self, data: &mut String) {
        self.cut |= !data.is_empty();
        data.clear();
    }

    fn event(&mut self, event: &Json<'_>) {
        let kind = event.str_of("type").unwrap_or_default();
        if let Some(error) = ErrorBody::read(event) {
            self.head.error = Some(error);
        } else if let Some(rest) = kind.strip_prefix("response.") {
            self.responses_event(rest, event);
        } else if kind.starts_with("message_") || kind.starts_with("content_block_") {
            self.anthropic_event(kind, event);
        } else if event.has("choices") || !self.cloud_chunk(event) {
            self.openai_chunk(event);
        }
    }

    fn about(&mut self, body: &Json<'_>) {
        let head = &mut self.head;
        head.structured = true;
        head.id = head
            .id
            .take()
            .or_else(|| body.some("id").and_then(Json::as_id));
        head.model = head
            .model
            .take()
            .or_else(|| body.str_of("model").map(str::to_owned));
        let created = body
            .any(&["created", "created_at"])
            .and_then(time::from_seconds);
        head.created = head.created.or(created);
        if let Some(usage) = body.some("usage") {
            head.usage.update(Usage::read(usage));
        }
    }

    fn openai_chunk(&mut self, event: &Json<'_>) {
        self.about(event);
        for choice in event.get("choices").map(Json::items).unwrap_or_default() {
            let index = choice.some("index").and_then(Json::as_i64).unwrap_or(0);
            let parts = self
                .choices
                .entry(u32::try_from(index).unwrap_or(0))
                .or_default();
            if let Some(finish) = choice.some("finish_reason").and_then(finish_of) {
                parts.finish = Some(finish);
            }
            if let Some(text) = choice.str_of("text") {
                parts.add_text(text);
            }
            if let Some(delta) = choice.any(&["delta", "message"]) {
                parts.add_delta(delta);
            }
        }
    }

    fn responses_event(&mut self, kind: &str, event: &Json<'_>) {
        let body = event.some("response");
        if let Some(body) = body {
            self.about(body);
        }
        let delta = event.str_of("delta").unwrap_or_default();
        let index = event
            .some("output_index")
            .and_then(Json::as_i64)
            .unwrap_or(0);
        match kind {
            "output_text.delta" => self.first().add_text(delta),
            "refusal.delta" => self.first().refusal.push_str(delta),
            "reasoning_text.delta" | "reasoning_summary_text.delta" => {
                self.first().reasoning.push_str(delta);
            }
            "function_call_arguments.delta" => {
                self.first()
                    .calls
                    .entry(index)
                    .or_default()
                    .1
                    .push_str(delta);
            }
            "output_item.added" => {
                if let Some(name) = event.at(&["item", "name"]).and_then(Json::as_str) {
                    self.first().calls.entry(index).or_default().0 = name.to_owned();
                }
            }
            "completed" | "incomplete" | "failed" | "done" => {
                if let Some(body) = body {
                    let whole = Response::read_whole(body);
                    self.head.error = self.head.error.or(whole.error);
                    if !whole.choices.is_empty() {
                        self.whole = Some(whole);
                    } else if kind == "incomplete" {
                        self.first().finish = Some("length".to_owned());
                    }
                }
            }
            "error" => self.head.error = Some(ErrorBody { status: None }),
            _ => {}
        }
    }

    fn anthropic_event(&mut self, kind: &str, event: &Json<'_>) {
        let index = event.some("index").and_then(Json::as_i64).unwrap_or(0);
        match kind {
            "message_start" => {
                if let Some(message) = event.some("message") {
                    self.about(message);
                }
            }
            "content_block_start" => {
                let Some(block) = event.some("content_block") else {
                    return;
                };
                let parts = self.first();
                if let Some(name) = block.str_of("name") {
                    parts.calls.entry(index).or_default().0 = name.to_owned();
                }
                block
                    .str_of("text")
                    .into_iter()
                    .for_each(|t| parts.add_text(t));
            }
            "content_block_delta" => {
                let Some(delta) = event.some("delta") else {
                    return;
                };
                let parts = self.first();
                delta
                    .str_of("text")
                    .into_iter()
                    .for_each(|t| parts.add_text(t));
                if let Some(text) = delta.str_of("thinking") {
                    parts.reasoning.push_str(text);
                }
                if let Some(text) = delta.str_of("partial_json") {
                    parts.calls.entry(index).or_default().1.push_str(text);
                }
            }
            "message_delta" => {
                let stop = event.at(&["delta", "stop_reason"]).and_then(Json::as_str);
                if let Some(finish) = stop.and_then(finish_reason) {
                    self.first().finish = Some(finish);
                }
                if let Some(usage) = event.some("usage") {
                    self.head.usage.update(later_usage(usage));
                }
            }
            _ => {}
        }
    }

    fn first(&mut self) -> &mut Parts {
        self.choices.entry(0).or_default()
    }

    fn finish(mut self) -> Response {
        if let Some(whole) = self.whole {
            self.head.modalities.insert(whole.modalities);
            self.head.state = whole.state;
            self.head.choices = whole.choices;
            self.head.usage.update(whole.usage);
            return self.head;
        }
        let last = self.choices.len();
        for (position, (index, parts)) in self.choices.into_iter().enumerate() {
            let cut = self.cut && position + 1 == last;
            let finish = parts.finish.clone();
            self.head.push(index, finish, parts.gather(cut));
        }
        if self.cut && self.head.state == ContentState::Full {
            self.head.state = ContentState::Truncated;
        }
        self.head
    }
}

/// The last counts of an Anthropic stream: those of the prompt only where it repeats them.
fn later_usage(usage: &Json<'_>) -> Usage {
    let mut later = Usage::read(usage);
    if later.prompt == Some(0) {
        later.prompt = None;
    }
    later
}

impl Parts {
    fn add_text(&mut self, text: &str) {
        self.has_text = true;
        self.text.push_str(text);
    }

    fn add_delta(&mut self, delta: &Json<'_>) {
        match delta.some("content") {
            Some(Json::Str(text)) => self.add_text(text),
            Some(Json::Array(parts)) => {
                parts
                    .iter()
                    .filter_map(|p| p.str_of("text"))
                    .for_each(|t| self.add_text(t));
            }
            _ => {}
        }
        if let Some(text) = delta.any(&["reasoning_content", "reasoning", "thinking"]) {
            self.reasoning.push_str(text.as_str().unwrap_or_default());
        }
        if let Some(text) = delta.str_of("refusal") {
            self.refusal.push_str(text);
        }
        let old = delta.some("function_call");
        let calls = delta.get("tool_calls").map(Json::items).unwrap_or_default();
        for (position, call) in calls.iter().chain(old).enumerate() {
            let index = call
                .some("index")
                .and_then(Json::as_i64)
                .unwrap_or(position as i64);
            let entry = self.calls.entry(index).or_default();
            let function = call.some("function").unwrap_or(call);
            entry
                .0
                .push_str(function.str_of("name").unwrap_or_default());
            entry
                .1
                .push_str(function.str_of("arguments").unwrap_or_default());
        }
    }

    fn gather(self, cut: bool) -> Gathered {
        let mut gathered = Gathered::choice();
        if self.has_text {
            gathered.text(&self.text);
        }
        if !self.refusal.is_empty() {
            gathered.text(&self.refusal);
        }
        gathered.reasoning = FieldText::of(self.reasoning);
        for (name, arguments) in self.calls.into_values() {
            gathered.modalities.insert(Modalities::TOOL);
            for part in [name, arguments] {
                if !part.is_empty() {
                    gathered.tool.push_part(&part);
                }
            }
        }
        if cut {
            let end = gathered.text.text.len();
            gathered.text.borders.push(Border {
                start: end,
                end,
                kind: BorderKind::Cut,
            });
        }
        gathered
    }
}
