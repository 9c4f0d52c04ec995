//! The log lines of a call: the gateway's native record and the engines' request log.

use super::plan::{Call, Kind, LIMIT, PATCHED, Plan, Route, UNIFIED, WINDOW, tenant_name};
use super::rng::Rng;
use super::texts::{Body, Prompt, in_full, prompt, response};
use crate::exchange::TimeMicros;

/// The name under which the gateway sells the model.
pub(super) const MODEL: &str = "@cf/zai-org/glm-5.3";
/// The other model.
pub(super) const OTHER_MODEL: &str = "@cf/example/courier-9b";

/// What the gateway's logger keeps of a string: this many characters, 35 % of them from its head.
const GATEWAY_HEAD: usize = 716;
const GATEWAY_TAIL: usize = 1_331;
/// What the engine's logger keeps at each end of a longer string.
const ENGINE_END: usize = 1_024;

/// A JSON object being written.
struct Object(Vec<u8>);

impl Object {
    fn new() -> Object {
        Object(vec![b'{'])
    }

    fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        quote(key, &mut self.0);
        self.0.push(b':');
        &mut self.0
    }

    fn text(&mut self, key: &str, value: &str) -> &mut Object {
        quote(value, self.key(key));
        self
    }

    /// A number, `true`, `null`, or finished JSON.
    fn raw(&mut self, key: &str, value: impl AsRef<[u8]>) -> &mut Object {
        self.key(key).extend_from_slice(value.as_ref());
        self
    }

    fn number(&mut self, key: &str, value: i64) -> &mut Object {
        self.raw(key, value.to_string())
    }

    fn end(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in text.as_bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// A line of an engine's log and when it was written.
pub(super) struct EngineLine {
    /// When.
    pub(super) time: TimeMicros,
    /// Which node.
    pub(super) node: &'static str,
    /// What.
    pub(super) line: Vec<u8>,
}

/// All that the logs say about one call.
pub(super) struct Rendered<'a> {
    call: &'a Call,
    prompt: Prompt,
    response: String,
    prompt_tokens: i64,
    completion_tokens: i64,
    cached_tokens: i64,
    first_token: TimeMicros,
    end: TimeMicros,
    x_request_id: String,
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
    let end = if call.kind_refused() {
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
    fn kind_refused(&self) -> bool {
        matches!(self.kind, Kind::Refused)
    }
}

impl Rendered<'_> {
    /// Prompt tokens as the client was told.
    pub(super) fn prompt_tokens(&self) -> i64 {
        self.prompt_tokens
    }

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
        if call.kind_refused() {
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
        if !call.kind_refused() {
            out.text("response", &self.response);
        }
        out.end()
    }

    fn refusal(&self) -> String {
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

    /// The lines of the nodes that saw the call.
    pub(super) fn engines(&self) -> Vec<EngineLine> {
        let call = self.call;
        let mut out = Vec::new();
        let mut rng = call.rng(22);
        let room = rng.next() >> 1;
        // The prefill side samples one token and always ends by length.
        let handed_over = r#"{"type":"length","length":0}"#.to_owned();
        let done = r#"{"type":"stop","matched":151336}"#.to_owned();
        match call.route {
            Route::GatewayOnly => {}
            _ if call.cache_hit() => {}
            Route::Disaggregated { prefill, decode } => {
                let shown = if call.stubbed() {
                    1
                } else {
                    self.prompt_tokens
                };
                let first = Leg {
                    node: super::plan::PREFILL[prefill],
                    room: Some(room),
                    prompt_tokens: shown,
                    cached_tokens: if call.stubbed() {
                        0
                    } else {
                        self.cached_tokens
                    },
                    completion_tokens: 1,
                    end: self.first_token,
                    finish: handed_over,
                    text: None,
                };
                self.leg(&mut rng, first, &mut out);
                let second = Leg {
                    node: super::plan::DECODE[decode],
                    room: Some(room),
                    prompt_tokens: self.prompt_tokens,
                    cached_tokens: self.cached_tokens,
                    completion_tokens: self.completion_tokens,
                    end: self.end,
                    finish: done,
                    text: Some(&self.response),
                };
                self.leg(&mut rng, second, &mut out);
            }
            Route::Unified | Route::Patched => {
                let patched = call.route == Route::Patched;
                let refused = call.kind_refused();
                let leg = Leg {
                    node: if patched { PATCHED } else { UNIFIED },
                    room: patched.then_some(room),
                    prompt_tokens: if refused { 1 } else { self.prompt_tokens },
                    cached_tokens: self.cached_tokens,
                    completion_tokens: if refused { 0 } else { self.completion_tokens },
                    end: self.end,
                    finish: if refused { self.aborted() } else { done },
                    text: Some(&self.response),
                };
                self.leg(&mut rng, leg, &mut out);
            }
        }
        out
    }

    fn aborted(&self) -> String {
        let mut out = Object::new();
        out.text("type", "abort")
            .text("message", &self.refusal())
            .number("status_code", 400)
            .text("err_type", "BadRequestError");
        String::from_utf8_lossy(&out.end()).into_owned()
    }

    /// One node's two lines about a call.
    fn leg(&self, rng: &mut Rng, leg: Leg<'_>, out: &mut Vec<EngineLine>) {
        let received = self.call.start + rng.between(1_500, 9_000);
        let rid = format!("{:016x}{:016x}", rng.next(), rng.next());
        let end = (leg.end - rng.between(300, 1_400)).max(received + 200);
        let mut headers = Object::new();
        headers.text("x-request-id", &self.x_request_id);
        let headers = headers.end();

        let mut first = Object::new();
        first
            .text("timestamp", &naive(received))
            .text("event", "request.received")
            .text("rid", &rid)
            .raw("obj", self.obj(&rid, &leg, None))
            .raw("headers", &headers);
        out.push(EngineLine {
            time: received,
            node: leg.node,
            line: prefixed(received, &first.end()),
        });

        let micros = end - received;
        let mut meta = Object::new();
        meta.text("id", &rid)
            .raw("finish_reason", &leg.finish)
            .number("prompt_tokens", leg.prompt_tokens)
            .text("weight_version", "default")
            .number("completion_tokens", leg.completion_tokens)
            .number("cached_tokens", leg.cached_tokens)
            .raw(
                "e2e_latency",
                format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000),
            );
        if leg.text.is_some() && leg.completion_tokens > 1 {
            // Drafts guess badly when the pages under them are not the prompt's.
            let hundredths = if self.call.stubbed() {
                rng.between(118, 210)
            } else {
                rng.between(290, 390)
            };
            let verified = (leg.completion_tokens * 100 / hundredths).max(1);
            meta.raw(
                "spec_accept_length",
                format!("{}.{:02}", hundredths / 100, hundredths % 100),
            )
            .number("spec_verify_ct", verified);
        }
        let mut answer = Object::new();
        answer
            .text("text", &engine_cut(leg.text.unwrap_or("")))
            .raw("meta_info", meta.end());
        let mut last = Object::new();
        last.text("timestamp", &naive(end))
            .text("event", "request.finished")
            .text("rid", &rid)
            .raw("obj", self.obj(&rid, &leg, Some(self.templated())))
            .raw("headers", &headers)
            .raw("out", answer.end());
        out.push(EngineLine {
            time: end,
            node: leg.node,
            line: prefixed(end, &last.end()),
        });
    }

    fn obj(&self, rid: &str, leg: &Leg<'_>, text: Option<String>) -> Vec<u8> {
        let mut out = Object::new();
        out.text("rid", rid);
        match &text {
            Some(text) => out.text("text", text),
            None => out.raw("text", "null"),
        };
        out.raw(
            "sampling_params",
            r#"{"max_new_tokens":4096,"temperature":0.6}"#,
        )
        .raw("stream", "true");
        if let Some(room) = leg.room {
            out.text("bootstrap_host", "10.40.0.11")
                .number("bootstrap_port", 8998)
                .raw("bootstrap_room", room.to_string());
        }
        out.end()
    }

    /// The prompt as the engine's logger keeps it: behind the chat template, cut in the middle.
    fn templated(&self) -> String {
        let mut head = String::from("[gMASK]<sop>");
        if let Some(system) = self.prompt.system {
            head.push_str("<|system|>\n");
            head.push_str(system);
        }
        for (role, body) in &self.prompt.turns {
            head.push_str(if *role == "user" {
                "<|user|>\n"
            } else {
                "<|assistant|>\n"
            });
            match body {
                Body::Whole(text) => head.push_str(text),
                Body::Long {
                    head: start, tail, ..
                } => {
                    head.push_str(start);
                    let tail = format!("{tail}<|assistant|>\n");
                    return format!(
                        "{}...{}",
                        first_chars(&head, ENGINE_END),
                        last_chars(&tail, ENGINE_END)
                    );
                }
            }
        }
        head.push_str("<|assistant|>\n");
        engine_cut(&head)
    }
}

impl Call {
    fn cache_hit(&self) -> bool {
        matches!(self.kind, Kind::Again(_, true))
    }
}

/// One node's part in a call.
struct Leg<'a> {
    node: &'static str,
    room: Option<u64>,
    prompt_tokens: i64,
    cached_tokens: i64,
    completion_tokens: i64,
    end: TimeMicros,
    finish: String,
    text: Option<&'a str>,
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

fn engine_cut(text: &str) -> String {
    if text.chars().count() <= 2 * ENGINE_END {
        return text.to_owned();
    }
    format!(
        "{}...{}",
        first_chars(text, ENGINE_END),
        last_chars(text, ENGINE_END)
    )
}

fn first_chars(text: &str, count: usize) -> &str {
    text.char_indices()
        .nth(count)
        .map_or(text, |(at, _)| &text[..at])
}

fn last_chars(text: &str, count: usize) -> &str {
    match text.char_indices().rev().nth(count.saturating_sub(1)) {
        Some((at, _)) => &text[at..],
        None => text,
    }
}

fn prefixed(time: TimeMicros, json: &[u8]) -> Vec<u8> {
    let stamp = naive(time);
    let seconds = stamp.get(..19).unwrap_or(&stamp).replace('T', " ");
    let mut out = format!("[{seconds}] ").into_bytes();
    out.extend_from_slice(json);
    out
}

/// RFC 3339 with milliseconds.
fn utc(time: TimeMicros) -> String {
    let text = naive(time);
    format!("{}Z", text.get(..23).unwrap_or(&text))
}

/// Python's `isoformat()`: microseconds, no zone.
fn naive(time: TimeMicros) -> String {
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

/// The label of a response of interest; nothing for everyday traffic.
pub(super) fn label(plan: &Plan, call: &Call, prompt_tokens: i64) -> Option<(bool, Vec<u8>)> {
    let kind = match call.kind {
        Kind::Ordinary | Kind::PublicPaste(_) | Kind::Refused => return None,
        Kind::Leak(_) => "",
        Kind::OverLimit => "over_limit_no_text",
        Kind::NearLimit => "near_limit",
        Kind::AfterFix => "after_fix",
        Kind::SecondHand(_) => "second_hand",
        Kind::SystemQuote(..) => "shared_system_prompt",
        Kind::Again(_, true) => "gateway_cache",
        Kind::Again(_, false) => "retry",
        Kind::OwnQuote => "own_prompt_quote",
        Kind::PublicQuote(_) => "public_text",
        Kind::Memory(_) => "own_history",
    };
    let mut out = Object::new();
    out.text("request_id", &request_id(call));
    let leak = match call.kind {
        Kind::Leak(leak) => Some(leak),
        _ => None,
    };
    out.text("label", if leak.is_some() { "leak" } else { "benign" });
    let (_, half_words) = super::texts::leaked(plan, call);
    match leak {
        None => out.text("kind", kind),
        Some(leak) if leak.repeated => out.text("kind", "repeated_page"),
        Some(leak) if leak.from_response => out.text("kind", "from_response"),
        Some(_) if half_words <= 32 => out.text("kind", "short_span"),
        Some(_) if half_words > 240 => out.text("kind", "long_span"),
        Some(_) => out.text("kind", "middle_span"),
    };
    out.text("tenant", tenant_name(call.tenant));
    match leak.map(|l| &plan.calls[l.source]) {
        Some(source) => out
            .text("source_tenant", tenant_name(source.tenant))
            .text("source_request_id", &request_id(source))
            .text("source_lang", source.lang.code()),
        None => out
            .raw("source_tenant", "null")
            .raw("source_request_id", "null")
            .raw("source_lang", "null"),
    };
    match super::plan::excluded(call.tenant) {
        Some(reason) => out.text("excluded", reason),
        None => out.raw("excluded", "null"),
    };
    // A word is two half-words: a character of a script without spaces counts half.
    out.number("span_words", i64::from(half_words / 2))
        .number("prompt_tokens", prompt_tokens);
    Some((leak.is_some(), out.end()))
}
