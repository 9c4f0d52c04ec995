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
        "" => return None,
        "end_turn" | "stop_sequence" | "eos" | "eos_token" | "completed" | "STOP" => "stop",
        "max_tokens"
        | "max_output_tokens"
        | "model_context_window_exceeded"
        | "MAX_TOKENS"
        | "model_length" => "length",
        "tool_use" | "function_call" => "tool_calls",
        "refusal" | "SAFETY" => "content_filter",
        "aborted" | "cancelled" | "canceled" => "abort",
        "failed" => "error",
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
