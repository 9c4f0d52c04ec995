//! The engines' request log: one line when a node receives a call, one when it is done.

use super::json::Object;
use super::plan::{DECODE, LIMIT, PATCHED, PREFILL, Route, UNIFIED};
use super::records::{Rendered, first_chars, last_chars, naive};
use super::rng::Rng;
use super::texts::Body;
use crate::exchange::TimeMicros;

/// What the engine's logger keeps at each end of a longer string.
const ENGINE_END: usize = 1_024;

/// A line of an engine's log and when it was written.
pub(super) struct EngineLine {
    /// When.
    pub(super) time: TimeMicros,
    /// Which node.
    pub(super) node: &'static str,
    /// What.
    pub(super) line: Vec<u8>,
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

impl Rendered<'_> {
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
                    node: PREFILL[prefill],
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
                    node: DECODE[decode],
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
                let refused = call.refused();
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

    /// What the nodes print of the call: accounts of both, and one refusal in three, because one
    /// rank of several writes it.
    pub(super) fn stdout(&self) -> Vec<EngineLine> {
        let call = self.call;
        let Route::Disaggregated { prefill, decode } = call.route else {
            return Vec::new();
        };
        let mut rng = call.rng(22);
        let room = rng.next() >> 1;
        let mut rng = call.rng(23);
        let (first_rid, second_rid) = (rng.next(), rng.next());
        let mut out = Vec::new();
        let mut say = |time: TimeMicros, node: &'static str, text: &str| {
            let line = stdout_line(time, " TP0", text);
            out.push(EngineLine { time, node, line });
        };
        if call.cache_hit() || call.refused() {
            return out;
        }
        if call.stubbed() && rng.next().is_multiple_of(3) {
            let text = format!(
                "Input length ({} tokens) exceeds the maximum allowed length ({LIMIT} tokens). \
                 Use a shorter input or enable --allow-auto-truncate., \
                 self.rid='{first_rid:016x}'",
                self.prompt_tokens
            );
            say(call.start + 40_000, PREFILL[prefill], &text);
        }
        let (sent, cached) = if call.stubbed() {
            (1, 0)
        } else {
            (self.prompt_tokens, self.cached_tokens)
        };
        let text = format!(
            "ReqTimeStats(rid={first_rid:016x}, bootstrap_room={room}, input_len={sent}, \
             cached_input_len={cached}, output_len=1, attempts=1, type=prefill): \
             bootstrap=1.00ms"
        );
        say(self.first_token, PREFILL[prefill], &text);
        let text = format!(
            "ReqTimeStats(rid={second_rid:016x}, bootstrap_room={room}, input_len={}, \
             cached_input_len=0, output_len={}, attempts=1, type=decode): prealloc=1.00ms",
            self.prompt_tokens, self.completion_tokens
        );
        say(self.end, DECODE[decode], &text);
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

/// A line as an engine prints it, behind its time and rank.
pub(super) fn stdout_line(time: TimeMicros, rank: &str, text: &str) -> Vec<u8> {
    let stamp = naive(time);
    let seconds = stamp.get(..19).unwrap_or(&stamp).replace('T', " ");
    format!("[{seconds}{rank}] {text}").into_bytes()
}

fn prefixed(time: TimeMicros, json: &[u8]) -> Vec<u8> {
    let stamp = naive(time);
    let seconds = stamp.get(..19).unwrap_or(&stamp).replace('T', " ");
    let mut out = format!("[{seconds}] ").into_bytes();
    out.extend_from_slice(json);
    out
}
