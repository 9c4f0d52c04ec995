//! Messages and content parts of all providers, gathered into plain texts.
//!
//! Only what a model reads or writes is text: a part that is a picture, sound or file leaves its
//! kind behind and nothing else.

mod untyped;

use crate::exchange::{FieldText, Modalities};
use crate::format::json::Json;

/// Where gathered text goes.
#[derive(Clone, Copy)]
enum Slot {
    Text,
    Reasoning,
    Tool,
}

/// Texts of one prompt or one choice.
#[derive(Clone, Default)]
pub struct Gathered {
    /// Text; of a prompt all of it.
    pub text: FieldText,
    /// Reasoning of a choice.
    pub reasoning: FieldText,
    /// Tool calls of a choice.
    pub tool: FieldText,
    /// Kinds of content seen.
    pub modalities: Modalities,
    /// Some content was encrypted.
    pub encrypted: bool,
    /// A content field was there, even if empty.
    pub has_content: bool,
    /// Reasoning and tool calls are part of the text: so it is in a prompt.
    one_text: bool,
}

impl Gathered {
    /// For a prompt: history is read as one text, whoever wrote it.
    pub fn prompt() -> Gathered {
        Gathered {
            one_text: true,
            ..Gathered::default()
        }
    }

    /// For one choice of a response.
    pub fn choice() -> Gathered {
        Gathered::default()
    }

    fn push(&mut self, slot: Slot, text: &str) {
        if text.is_empty() {
            return;
        }
        match slot {
            Slot::Reasoning if !self.one_text => self.reasoning.push_part(text),
            Slot::Tool if !self.one_text => self.tool.push_part(text),
            _ => {
                self.text.push_part(text);
                self.modalities.insert(Modalities::TEXT);
            }
        }
    }

    /// A plain text.
    pub fn text(&mut self, text: &str) {
        self.has_content = true;
        self.push(Slot::Text, text);
    }

    /// A list of messages or items, or one of them, or a plain text.
    pub fn messages(&mut self, messages: &Json<'_>) {
        match messages {
            Json::Array(items) => items.iter().for_each(|item| self.message(item)),
            other => self.message(other),
        }
    }

    /// One message, item of the Responses API, or content part.
    pub fn message(&mut self, message: &Json<'_>) {
        if message.entries().is_empty() {
            return self.content(message);
        }
        let kind = message.str_of("type");
        let own_shape = matches!(kind, Some("tool_result" | "reasoning"));
        if own_shape || (kind.is_some() && !message.has("content")) {
            self.part(message);
        } else if let Some(content) = message.some("content") {
            self.reasoning_of(message);
            self.content(content);
        } else if let Some(parts) = message.some("parts") {
            self.content(parts);
        } else {
            self.reasoning_of(message);
        }
        if let Some(refusal) = message.str_of("refusal") {
            self.text(refusal);
        }
        if let Some(calls) = message.some("tool_calls") {
            self.calls(calls);
        }
        if let Some(call) = message.some("function_call") {
            self.call(call);
        }
        if let Some(audio) = message.some("audio") {
            self.modalities.insert(Modalities::AUDIO);
            if let Some(transcript) = audio.str_of("transcript") {
                self.text(transcript);
            }
        }
    }

    fn reasoning_of(&mut self, message: &Json<'_>) {
        let keys = ["reasoning_content", "reasoning", "thinking"];
        if let Some(text) = message.any(&keys).and_then(Json::as_str) {
            self.push(Slot::Reasoning, text);
        }
    }

    /// The content of a message: a text, or parts.
    pub fn content(&mut self, content: &Json<'_>) {
        match content {
            Json::Str(text) => self.text(text),
            Json::Array(parts) => {
                self.has_content = true;
                parts.iter().for_each(|part| self.part(part));
            }
            Json::Object(_) => self.part(content),
            _ => {}
        }
    }

    fn part(&mut self, part: &Json<'_>) {
        let Json::Object(_) = part else {
            return self.content(part);
        };
        let kind = part.str_of("type").unwrap_or("text");
        match kind {
            "image_url" | "input_image" | "image" | "image_file" => {
                self.modalities.insert(Modalities::IMAGE);
            }
            "input_audio" | "audio" | "audio_url" => self.modalities.insert(Modalities::AUDIO),
            "video_url" | "video" | "file" | "input_file" | "blob" | "uri" => self.attached(part),
            "document" => self.document(part),
            "tool_use" | "function_call" | "tool_call" | "server_tool_use" | "custom_tool_call"
            | "mcp_call" | "server_tool_call" => self.call(part.some("function").unwrap_or(part)),
            "tool_result"
            | "function_call_output"
            | "custom_tool_call_output"
            | "tool_call_response"
            | "server_tool_call_response"
            | "web_search_tool_result" => self.result(part),
            "thinking" | "reasoning" | "redacted_thinking" => self.thought(part),
            "refusal" => part
                .str_of("refusal")
                .into_iter()
                .for_each(|t| self.text(t)),
            _ => {
                let keys = ["text", "content", "input_text", "output_text"];
                match part.any(&keys) {
                    Some(Json::Str(text)) if part.get("thought") == Some(&Json::Bool(true)) => {
                        self.push(Slot::Reasoning, text);
                    }
                    Some(Json::Str(text)) => self.text(text),
                    Some(inner) => self.content(inner),
                    None => self.untyped(part),
                }
            }
        }
    }

    fn document(&mut self, part: &Json<'_>) {
        self.modalities.insert(Modalities::FILE);
        let Some(source) = part.some("source") else {
            return;
        };
        // A text document is read by the model as it stands; other kinds are not text.
        if source.str_of("type") == Some("text") {
            source.str_of("data").into_iter().for_each(|t| self.text(t));
        } else if let Some(content) = source.some("content") {
            self.content(content);
        }
    }

    /// A list of tool calls.
    pub fn calls(&mut self, calls: &Json<'_>) {
        for call in calls.items() {
            match call {
                Json::Str(text) => self.push(Slot::Tool, text),
                _ => self.call(call.some("function").unwrap_or(call)),
            }
        }
    }

    fn call(&mut self, call: &Json<'_>) {
        self.modalities.insert(Modalities::TOOL);
        if let Some(name) = call.str_of("name") {
            self.push(Slot::Tool, name);
        }
        match call.any(&["arguments", "input", "args"]) {
            Some(Json::Str(arguments)) => self.push(Slot::Tool, arguments),
            Some(arguments) => self.push(Slot::Tool, &arguments.to_text()),
            None => {}
        }
    }

    fn result(&mut self, part: &Json<'_>) {
        self.modalities.insert(Modalities::TOOL);
        match part.any(&["content", "output", "response", "result"]) {
            // A chat template writes a result that is no text as JSON.
            Some(object @ Json::Object(_)) if object.any(&["text", "content"]).is_none() => {
                self.text(&object.to_text());
            }
            Some(content) => self.content(content),
            None => {}
        }
    }

    fn thought(&mut self, part: &Json<'_>) {
        let mut any = false;
        for key in ["thinking", "text", "reasoning", "summary", "content"] {
            match part.some(key) {
                Some(Json::Str(text)) => {
                    self.push(Slot::Reasoning, text);
                    any = true;
                }
                Some(Json::Array(items)) => {
                    for text in items.iter().filter_map(|item| item.str_of("text")) {
                        self.push(Slot::Reasoning, text);
                        any = true;
                    }
                }
                _ => {}
            }
        }
        self.encrypted |= !any && part.any(&["encrypted_content", "data"]).is_some();
    }
}
