//! Responses of single models behind the clouds' gateways: Gemini, Bedrock Converse, Titan, Llama,
//! Mistral, Cohere, Workers AI.

use super::super::content::Gathered;
use super::super::usage::{Usage, finish_reason};
use super::{Response, finish_of};
use crate::exchange::{ContentState, TimeMicros};
use crate::format::json::Json;
use crate::format::time;

/// Keys that mark a response of this kind.
pub(super) const KEYS: [&str; 10] = [
    "candidates",
    "promptFeedback",
    "usageMetadata",
    "results",
    "generation",
    "generations",
    "completions",
    "outputs",
    "result",
    "stopReason",
];

impl Response {
    /// Reads the body if it is of this kind.
    pub(super) fn push_cloud(&mut self, body: &Json<'_>) -> bool {
        if body.has("candidates") || body.has("promptFeedback") || body.has("usageMetadata") {
            self.gemini(body);
        } else if let Some(message) = body.at(&["output", "message"]) {
            let mut gathered = Gathered::choice();
            gathered.message(message);
            let stop = body.str_of("stopReason").and_then(finish_reason);
            self.push(0, stop, gathered);
        } else if let Some(text) = body.some("generation") {
            let mut gathered = Gathered::choice();
            gathered.content(text);
            self.push(0, ended(body), gathered);
            self.usage.update(Usage {
                prompt: count(body, "prompt_token_count"),
                completion: count(body, "generation_token_count"),
                cached: None,
            });
        } else if let Some(list) = body.any(&["results", "outputs", "generations", "completions"]) {
            self.list(list);
            let counted = count(body, "inputTextTokenCount");
            self.usage.prompt = self.usage.prompt.or(counted);
        } else {
            return false;
        }
        true
    }

    fn gemini(&mut self, body: &Json<'_>) {
        self.id = self.id.take().or_else(|| body.get("responseId")?.as_id());
        let model = body.str_of("modelVersion").map(str::to_owned);
        self.model = self.model.take().or(model);
        self.created = self.created.or_else(|| created(body));
        if let Some(usage) = body.some("usageMetadata") {
            self.usage.update(Usage::of_gemini(usage));
        }
        let candidates = body.get("candidates").map(Json::items).unwrap_or_default();
        for (position, candidate) in candidates.iter().enumerate() {
            let mut gathered = Gathered::choice();
            if let Some(content) = candidate.some("content") {
                gathered.message(content);
            }
            let index = candidate.some("index").and_then(Json::as_i64);
            let index = index.and_then(|i| u32::try_from(i).ok());
            let finish = candidate.some("finishReason").and_then(finish_of);
            let position = u32::try_from(position).unwrap_or(u32::MAX);
            self.push(index.unwrap_or(position), finish, gathered);
        }
        let blocked = body.at(&["promptFeedback", "blockReason"]).is_some();
        if candidates.is_empty() && blocked {
            let filtered = Some("content_filter".to_owned());
            self.push(0, filtered, Gathered::choice());
            self.state = ContentState::Absent;
        }
    }

    /// A list of answers with a text each.
    fn list(&mut self, list: &Json<'_>) {
        for (position, item) in list.items().iter().enumerate() {
            let mut gathered = Gathered::choice();
            let text = item.any(&["outputText", "text"]);
            let text = text.or_else(|| item.at(&["data", "text"]));
            let message = item.some("message");
            match (text, message) {
                (Some(text), _) => gathered.content(text),
                (None, Some(message)) => gathered.message(message),
                (None, None) => {}
            }
            let tokens = count(item, "tokenCount");
            self.usage.completion = self.usage.completion.or(tokens);
            let position = u32::try_from(position).unwrap_or(u32::MAX);
            self.push(position, ended(item), gathered);
        }
    }
}

/// When Gemini made the response.
pub(in super::super) fn created(body: &Json<'_>) -> Option<TimeMicros> {
    time::read(body.some("createTime")?, None).ok()?.0
}

/// Why an answer of a single model ended.
pub(in super::super) fn ended(body: &Json<'_>) -> Option<String> {
    let keys = [
        "stop_reason",
        "stopReason",
        "completionReason",
        "finish_reason",
        "finishReason",
    ];
    let value = body.any(&keys)?;
    finish_of(value.some("reason").unwrap_or(value))
}

fn count(body: &Json<'_>, key: &str) -> Option<i64> {
    let count = body.some(key).and_then(Json::as_i64);
    count.filter(|n| *n >= 0)
}
