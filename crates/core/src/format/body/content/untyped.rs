//! Content parts without a type, whose one key says what they are: Bedrock Converse and Gemini.

use super::{Gathered, Slot};
use crate::exchange::Modalities;
use crate::format::json::Json;

impl Gathered {
    /// A part that names no type and holds no plain text.
    pub(super) fn untyped(&mut self, part: &Json<'_>) {
        for (key, value) in part.entries() {
            match &**key {
                "image" | "inlineImage" => self.modalities.insert(Modalities::IMAGE),
                "audio" => self.modalities.insert(Modalities::AUDIO),
                "video" => self.modalities.insert(Modalities::FILE),
                "document" => self.converse_document(value),
                "inlineData" | "inline_data" | "fileData" | "file_data" => self.attached(value),
                "toolUse" | "functionCall" | "function_call" => self.call(value),
                "toolResult" | "functionResponse" | "function_response" => self.result(value),
                "json" => self.text(&value.to_text()),
                "reasoningContent" => self.converse_reasoning(value),
                "guardContent" => {
                    let text = value.at(&["text", "text"]).and_then(Json::as_str);
                    text.into_iter().for_each(|t| self.text(t));
                }
                "executableCode" | "executable_code" => {
                    self.modalities.insert(Modalities::TOOL);
                    let code = value.str_of("code").unwrap_or_default();
                    self.push(Slot::Tool, code);
                }
                "codeExecutionResult" | "code_execution_result" => {
                    self.modalities.insert(Modalities::TOOL);
                    value
                        .str_of("output")
                        .into_iter()
                        .for_each(|t| self.text(t));
                }
                _ => {}
            }
        }
    }

    /// Something attached that is no text; its MIME type or modality says what.
    pub(super) fn attached(&mut self, data: &Json<'_>) {
        let keys = ["modality", "mime_type", "mimeType", "media_type", "format"];
        let kind = data.any(&keys).and_then(Json::as_str).unwrap_or_default();
        self.modalities.insert(match kind {
            k if k.starts_with("image") => Modalities::IMAGE,
            k if k.starts_with("audio") => Modalities::AUDIO,
            _ => Modalities::FILE,
        });
    }

    /// A document of Converse: text only where its source is text.
    fn converse_document(&mut self, document: &Json<'_>) {
        self.modalities.insert(Modalities::FILE);
        let Some(source) = document.some("source") else {
            return;
        };
        if let Some(text) = source.str_of("text") {
            self.text(text);
        } else if let Some(content) = source.some("content") {
            self.content(content);
        }
    }

    fn converse_reasoning(&mut self, reasoning: &Json<'_>) {
        let text = reasoning.at(&["reasoningText", "text"]);
        match text
            .or_else(|| reasoning.some("text"))
            .and_then(Json::as_str)
        {
            Some(text) => self.push(Slot::Reasoning, text),
            None => self.encrypted |= reasoning.has("redactedContent"),
        }
    }
}
