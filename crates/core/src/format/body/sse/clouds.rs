//! Chunks of the clouds' streams: Bedrock Converse, Gemini, and single models behind them.

use super::super::response::clouds::{created, ended};
use super::super::usage::{Usage, finish_reason};
use super::Stream;
use crate::format::json::Json;

/// Keys of a chunk of Bedrock Converse.
const CONVERSE: [&str; 6] = [
    "messageStart",
    "contentBlockStart",
    "contentBlockDelta",
    "contentBlockStop",
    "messageStop",
    "metadata",
];

/// Whether an object is a chunk of such a stream.
pub fn is_chunk(json: &Json<'_>) -> bool {
    let converse = match json.entries() {
        [(key, Json::Object(_))] => CONVERSE.contains(&&**key),
        _ => false,
    };
    let listed = |key: &str| matches!(json.get(key), Some(Json::Array(_)));
    converse
        || is_gemini(json)
        || json.str_of("outputText").is_some()
        || (json.str_of("generation").is_some() && json.has("stop_reason"))
        || (listed("outputs") && json.has("stop_reason"))
}

/// Whether an object is a response of Gemini and no model's answer that happens to be JSON.
pub fn is_gemini(json: &Json<'_>) -> bool {
    let candidates = json.get("candidates").map(Json::items);
    let own = |c: &Json<'_>| c.has("content") || c.has("finishReason");
    candidates.is_some_and(|list| list.iter().any(own))
}

impl Stream {
    /// Takes a chunk; false where it is none.
    pub(super) fn cloud_chunk(&mut self, event: &Json<'_>) -> bool {
        if event.has("candidates") || event.has("usageMetadata") {
            self.gemini_chunk(event);
        } else if let Some(text) = event.any(&["outputText", "generation"]) {
            self.single(text.as_str().unwrap_or_default(), event);
        } else if let (Some(outputs), false) = (event.some("outputs"), event.has("choices")) {
            for output in outputs.items().iter().take(1) {
                self.single(output.str_of("text").unwrap_or_default(), output);
            }
        } else {
            return self.converse_chunk(event);
        }
        true
    }

    fn single(&mut self, text: &str, event: &Json<'_>) {
        self.head.structured = true;
        let finish = ended(event);
        let parts = self.first();
        parts.add_text(text);
        parts.finish = finish.or(parts.finish.take());
    }

    fn gemini_chunk(&mut self, event: &Json<'_>) {
        self.head.structured = true;
        let head = &mut self.head;
        head.id = head.id.take().or_else(|| event.get("responseId")?.as_id());
        let model = event.str_of("modelVersion").map(str::to_owned);
        head.model = head.model.take().or(model);
        head.created = head.created.or_else(|| created(event));
        if let Some(usage) = event.some("usageMetadata") {
            head.usage.update(Usage::of_gemini(usage));
        }
        let candidates = event.get("candidates").map(Json::items);
        for candidate in candidates.unwrap_or_default() {
            let index = candidate.some("index").and_then(Json::as_i64).unwrap_or(0);
            let index = u32::try_from(index).unwrap_or(0);
            let parts = self.choices.entry(index).or_default();
            let finish = candidate.str_of("finishReason").and_then(finish_reason);
            parts.finish = finish.or(parts.finish.take());
            let content = candidate.at(&["content", "parts"]).map(Json::items);
            for part in content.unwrap_or_default() {
                match part.str_of("text") {
                    Some(text) if part.get("thought") == Some(&Json::Bool(true)) => {
                        parts.reasoning.push_str(text);
                    }
                    Some(text) => parts.add_text(text),
                    None => {}
                }
                if let Some(call) = part.some("functionCall") {
                    let at = i64::try_from(parts.calls.len()).unwrap_or(i64::MAX);
                    let name = call.str_of("name").unwrap_or_default().to_owned();
                    let arguments = call.some("args").map(Json::to_text);
                    parts
                        .calls
                        .insert(at, (name, arguments.unwrap_or_default()));
                }
            }
        }
    }

    fn converse_chunk(&mut self, event: &Json<'_>) -> bool {
        let [(key, value)] = event.entries() else {
            return false;
        };
        let index = value.some("contentBlockIndex").and_then(Json::as_i64);
        let index = index.unwrap_or(0);
        match &**key {
            "contentBlockStart" => {
                let name = value.at(&["start", "toolUse", "name"]);
                if let Some(name) = name.and_then(Json::as_str) {
                    self.first().calls.entry(index).or_default().0 = name.to_owned();
                }
            }
            "contentBlockDelta" => {
                let Some(delta) = value.some("delta") else {
                    return true;
                };
                let input = delta.at(&["toolUse", "input"]).and_then(Json::as_str);
                let thought = delta.at(&["reasoningContent", "text"]);
                let parts = self.first();
                delta
                    .str_of("text")
                    .into_iter()
                    .for_each(|t| parts.add_text(t));
                if let Some(text) = thought.and_then(Json::as_str) {
                    parts.reasoning.push_str(text);
                }
                if let Some(input) = input {
                    parts.calls.entry(index).or_default().1.push_str(input);
                }
            }
            "messageStop" => {
                let stop = value.str_of("stopReason").and_then(finish_reason);
                self.first().finish = stop;
            }
            "metadata" => {
                if let Some(usage) = value.some("usage") {
                    self.head.usage.update(Usage::read(usage));
                }
            }
            "messageStart" | "contentBlockStop" => {}
            _ => return false,
        }
        self.head.structured = true;
        true
    }
}
