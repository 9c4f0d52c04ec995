//! Token counts and finish reasons of all providers, in one meaning.

use crate::format::json::Json;

/// Token counts of one response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub prompt: Option<i64>,
    /// Tokens generated.
    pub completion: Option<i64>,
    /// Tokens of the prompt that came from a cache.
    pub cached: Option<i64>,
}

impl Usage {
    /// Reads a `usage` object of the OpenAI or the Anthropic kind.
    pub fn read(usage: &Json<'_>) -> Usage {
        if usage.has("inputTokens") {
            return Usage::of_converse(usage);
        }
        let count = |key: &str| usage.some(key).and_then(Json::as_i64).filter(|n| *n >= 0);
        let detail = |outer: &str| usage.at(&[outer, "cached_tokens"]).and_then(Json::as_i64);
        let written = count("cache_creation_input_tokens");
        let read = count("cache_read_input_tokens");
        let input = count("input_tokens");
        let prompt = count("prompt_tokens").or_else(|| {
            // Anthropic counts only what no cache had; the prompt is the sum of all three.
            let parts = [input?, written.unwrap_or(0), read.unwrap_or(0)];
            parts.into_iter().try_fold(0i64, i64::checked_add)
        });
        let cached = detail("prompt_tokens_details")
            .or_else(|| detail("input_tokens_details"))
            .or(read)
            .or_else(|| count("cached_tokens"));
        Usage {
            prompt,
            completion: count("completion_tokens").or_else(|| count("output_tokens")),
            cached: cached.filter(|n| *n >= 0),
        }
    }

    /// Bedrock Converse counts as Anthropic does, in names of its own.
    fn of_converse(usage: &Json<'_>) -> Usage {
        let count = |key: &str| usage.some(key).and_then(Json::as_i64).filter(|n| *n >= 0);
        let either = |a: &str, b: &str| count(a).or_else(|| count(b));
        let read = either("cacheReadInputTokens", "cacheReadInputTokenCount");
        let written = either("cacheWriteInputTokens", "cacheWriteInputTokenCount");
        let parts = [count("inputTokens"), read, written];
        let sum = |so_far: i64, part: Option<i64>| so_far.checked_add(part.unwrap_or(0));
        Usage {
            prompt: parts[0].and(parts.into_iter().try_fold(0, sum)),
            completion: count("outputTokens"),
            cached: read,
        }
    }

    /// Gemini's `usageMetadata`: the prompt includes what came from a cache, the answer comes
    /// without its thoughts.
    pub fn of_gemini(usage: &Json<'_>) -> Usage {
        let count = |key: &str| usage.some(key).and_then(Json::as_i64).filter(|n| *n >= 0);
        let parts = [count("candidatesTokenCount"), count("thoughtsTokenCount")];
        let known = parts.iter().any(Option::is_some);
        let sum = |so_far: i64, part: Option<i64>| so_far.checked_add(part.unwrap_or(0));
        Usage {
            prompt: count("promptTokenCount"),
            completion: parts.into_iter().try_fold(0, sum).filter(|_| known),
            cached: count("cachedContentTokenCount"),
        }
    }

    /// Takes over what `later` knows.
    pub fn update(&mut self, later: Usage) {
        self.prompt = later.prompt.or(self.prompt);
        self.completion = later.completion.or(self.completion);
        self.cached = later.cached.or(self.cached);
    }

    /// Whether nothing is known.
    pub fn is_empty(self) -> bool {
        self == Usage::default()
    }
}

/// The canonical finish reason; unknown ones stay as logged.
pub fn finish_reason(logged: &str) -> Option<String> {
    let logged = logged.trim();
    let canonical = match logged {
        "" | "FINISH_REASON_UNSPECIFIED" | "null" => return None,
        "end_turn" | "stop_sequence" | "eos" | "eos_token" | "completed" | "STOP" | "COMPLETE"
        | "FINISH" | "FINISHED" | "pause_turn" => "stop",
        "max_tokens"
        | "max_output_tokens"
        | "model_context_window_exceeded"
        | "MAX_TOKENS"
        | "LENGTH"
        | "model_length" => "length",
        "tool_use" | "function_call" | "tool_call" | "TOOL_CALL" => "tool_calls",
        "refusal"
        | "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "ERROR_TOXIC"
        | "CONTENT_FILTERED"
        | "content_filtered"
        | "guardrail_intervened" => "content_filter",
        "aborted" | "cancelled" | "canceled" | "CANCELLED" => "abort",
        "failed" | "ERROR" | "MALFORMED_FUNCTION_CALL" => "error",
        other => other,
    };
    Some(canonical.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_of_each_provider() {
        for (text, expected) in [
            (
                r#"{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}"#,
                (Some(9), Some(2), Some(4)),
            ),
            (
                r#"{"input_tokens":3,"cache_read_input_tokens":10,"cache_creation_input_tokens":5,"output_tokens":1}"#,
                (Some(18), Some(1), Some(10)),
            ),
            (
                r#"{"input_tokens":3,"input_tokens_details":{"cached_tokens":1},"output_tokens":1}"#,
                (Some(3), Some(1), Some(1)),
            ),
            (
                r#"{"inputTokens":3,"cacheReadInputTokens":10,"cacheWriteInputTokens":5,"outputTokens":1}"#,
                (Some(18), Some(1), Some(10)),
            ),
            (
                r#"{"prompt_tokens":null,"completion_tokens":-1}"#,
                (None, None, None),
            ),
            (
                r#"{"input_tokens":9223372036854775807,"cache_read_input_tokens":1}"#,
                (None, None, Some(1)),
            ),
        ] {
            let usage = Usage::read(&Json::parse(text).unwrap());
            assert_eq!(
                (usage.prompt, usage.completion, usage.cached),
                expected,
                "{text}"
            );
        }
    }
}
