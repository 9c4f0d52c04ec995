//! What the logs say about a call, and the gateway's native record of it.

use super::json::Object;
use super::plan::{Call, Kind, LIMIT, PATCHED, Plan, Route, UNIFIED, WINDOW, tenant_name};
use super::texts::{Body, Prompt, in_full, prompt, response};
use crate::exchange::TimeMicros;

/// The name under which the gateway sells the model.
pub(super) const MODEL: &str = "@cf/zai-org/glm-5.3";
/// The other model.
pub(super) const OTHER_MODEL: &str = "@cf/example/courier-9b";

/// What the gateway's logger keeps of a string: this many characters, 35 % of them from its head.
const GATEWAY_HEAD: usize = 716;
const GATEWAY_TAIL: usize = 1_331;

/// All that the logs say about one call.
pub(super) struct Rendered<'a> {
    pub(super) call: &'a Call,
    pub(super) prompt: Prompt,
    pub(super) response: String,
    pub(super) prompt_tokens: i64,
    pub(super) completion_tokens: i64,
    pub(super) cached_tokens: i64,
    pub(super) first_token: TimeMicros,
    pub(super) end: TimeMicros,
    pub(super) x_request_id: String,
}

/// The gateway's id of a call.
pub(super) fn request_id(call: &Call) -> String {
    format!("gw-{:016x}", call.rng(20).next())
}

/// Works out what the logs say about a call.
pub(super) fn render<'a>(plan: &Plan, call: &'a Call) -> Rendered<'a> {
    let prompt = prompt(plan, call);
    let response = response(plan, call);
    let prompt_tokens = if call.tokens > 0 {
        call.tokens
    } else {
        prompt.tokens()
    };
    let mut rng = call.rng(21);
    let completion_tokens = response.len() as i64 / 4 + 1;
    let cached = matches!(call.kind, Kind::Again(_, true));
    let cached_tokens = if call.tokens == 0 && !cached && rng.chance(40) {
        prompt_tokens / 3 / 64 * 64
    } else {
        0
    };
    // A healthy prefill works at some 14 tokens a millisecond; a stub costs it next to nothing.
    let wait = match call.kind {
        _ if cached => 9_000,
        _ if call.stubbed() => rng.between(900_000, 2_600_000),
        _ => rng.between(120_000, 900_000) + prompt_tokens * 1_000 / 14,
    };
    let pace = if cached {
        4
    } else {
        rng.between(12_000, 19_000)
    };
    let first_token = call.start + wait;
    let end = if call.refused() {
        call.start + rng.between(40_000, 700_000)
    } else {
        first_token + completion_tokens * pace
    };
    let (a, b) = (rng.next(), rng.next());
    let x_request_id = format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xfff,
        b >> 52,
        b & 0xffff_ffff_ffff
    );
    Rendered {
        call,
        prompt,
        response,
        prompt_tokens,
        completion_tokens,
        cached_tokens,
        first_token,
        end,
        x_request_id,
    }
}

impl Call {
    /// Whether the client got a 400.
    pub(super) fn refused(&self) -> bool {
        matches!(self.kind, Kind::Refused)
    }
}

impl Rendered<'_> {
    /// Bytes of the prompt in full.
    pub(super) fn full_bytes(&self) -> u64 {
        self.prompt_tokens as u64 * 42 / 10
    }

    /// The gateway's record; with `in_full` long prompts are not cut.
    pub(super) fn gateway(&self, in_full: bool) -> Vec<u8> {
        let call = self.call;
        let glm = call.route != Route::GatewayOnly || call.tokens > 0 || call.cache_hit();
        let (model, deployment) = match call.route {
            _ if !glm => (OTHER_MODEL, "courier-eu"),
            Route::Unified => (MODEL, "glm-53-mono"),
            Route::Patched => (MODEL, "glm-53-canary"),
            _ => (MODEL, "glm-53-eu"),
        };
        let mut out = Object::new();
        out.text("request_id", &request_id(call))
            .text("x_request_id", &self.x_request_id)
            .text("tenant", tenant_name(call.tenant))
            .text("model", model)
            .text("deployment", deployment);
        match call.route {
            Route::Unified => out.text("node", UNIFIED),
            Route::Patched => out.text("node", PATCHED),
            _ => &mut out,
        };
        out.text("role", "gateway")
            .text("t_start", &utc(call.start));
        if call.refused() {
            out.text("t_end", &utc(self.end))
                .number("http_status", 400)
                .text("outcome", "rejected")
                .number("prompt_tokens", self.prompt_tokens)
                .raw("cache_hit", "false");
            let mut error = Object::new();
            error.number("code", 400).text("message", &self.refusal());
            out.raw("error", error.end());
        } else {
            out.text("t_first_token", &utc(self.first_token))
                .text("t_end", &utc(self.end))
                .number("http_status", 200)
                .text("finish_reason", "stop")
                .number("prompt_tokens", self.prompt_tokens)
                .number("completion_tokens", self.completion_tokens)
                .number("cached_tokens", self.cached_tokens)
                .raw("cache_hit", if call.cache_hit() { "true" } else { "false" });
        }
        if call.tokens > 0 && !in_full {
            out.text("prompt_state", "truncated");
        }
        out.raw("messages", self.messages(in_full));
        if !call.refused() {
            out.text("response", &self.response);
        }
        out.end()
    }

    /// What the refused client read.
    pub(super) fn refusal(&self) -> String {
        let n = self.prompt_tokens;
        if n >= WINDOW {
            format!(
                "The input ({n} tokens) is longer than the model's context length ({WINDOW} \
                 tokens)."
            )
        } else {
            format!(
                "Input length ({n} tokens) exceeds the maximum allowed length ({LIMIT} tokens)."
            )
        }
    }

    fn messages(&self, full: bool) -> Vec<u8> {
        let mut out = vec![b'['];
        let mut push = |role: &str, text: &str| {
            if out.len() > 1 {
                out.push(b',');
            }
            let mut message = Object::new();
            message.text("role", role).text("content", text);
            out.extend_from_slice(&message.end());
        };
        if let Some(system) = self.prompt.system {
            push("system", system);
        }
        for (role, body) in &self.prompt.turns {
            match body {
                Body::Whole(text) => push(role, text),
                Body::Long { head, middle, tail } if full => {
                    push(role, &in_full(self.call, head, *middle, tail));
                }
                Body::Long { head, middle, tail } => push(role, &gateway_cut(head, *middle, tail)),
            }
        }
        out.push(b']');
        out
    }
}

impl Call {
    /// Whether the gateway answered from its cache.
    pub(super) fn cache_hit(&self) -> bool {
        matches!(self.kind, Kind::Again(_, true))
    }
}

fn gateway_cut(head: &str, middle: usize, tail: &str) -> String {
    let skipped =
        middle + head.chars().count() + tail.chars().count() - GATEWAY_HEAD - GATEWAY_TAIL;
    format!(
        "{}... (litellm_truncated skipped {skipped} chars. Long strings are cut in this log) ...{}",
        first_chars(head, GATEWAY_HEAD),
        last_chars(tail, GATEWAY_TAIL)
    )
}

/// The first `count` characters.
pub(super) fn first_chars(text: &str, count: usize) -> &str {
    text.char_indices()
        .nth(count)
        .map_or(text, |(at, _)| &text[..at])
}

/// The last `count` characters.
pub(super) fn last_chars(text: &str, count: usize) -> &str {
    match text.char_indices().rev().nth(count.saturating_sub(1)) {
        Some((at, _)) => &text[at..],
        None => text,
    }
}

/// RFC 3339 with milliseconds.
fn utc(time: TimeMicros) -> String {
    let text = naive(time);
    format!("{}Z", text.get(..23).unwrap_or(&text))
}

/// Python's `isoformat()`: microseconds, no zone.
pub(super) fn naive(time: TimeMicros) -> String {
    match jiff::Timestamp::from_microsecond(time) {
        Ok(t) => t.strftime("%Y-%m-%dT%H:%M:%S%.6f").to_string(),
        Err(_) => String::new(),
    }
}

/// The UTC day, for file names.
pub(super) fn day(time: TimeMicros) -> String {
    let text = naive(time);
    text.get(..10).unwrap_or(&text).to_owned()
}
