//! Events of SGLang's output, in the spellings of its releases 0.4.6 to 0.5.23.

use super::cursor::{after, digits, integer, number, quoted, thousandths, word};
use super::{CapacityFacts, EngineEvent, EventKind};
use crate::exchange::Role;

const ENGINE: &str = "sglang";

/// Reads a message without its prefix.
pub(super) fn read(text: &str) -> Option<EngineEvent> {
    // Batch lines are by far the most frequent.
    batch(text)
        .or_else(|| time_stats(text))
        .or_else(|| capacity(text))
        .or_else(|| length(text))
        .or_else(|| transfer(text))
        .or_else(|| confession(text))
        .or_else(|| ended(text))
        .or_else(|| rejected(text))
}

fn event(kind: EventKind, message: impl Into<String>) -> EngineEvent {
    EngineEvent::new(kind, ENGINE, message)
}

fn batch(text: &str) -> Option<EngineEvent> {
    let start = |name: &str| {
        let rest = text.strip_prefix(name)?;
        // The number of the step, where the engine was told to write it.
        let rest = match rest.strip_prefix(" [") {
            Some(inside) => inside.split_once(']')?.1,
            None => rest,
        };
        // A full stop up to 0.5.3, a comma since.
        rest.strip_prefix([',', '.'])
    };
    if let Some(rest) = start("Prefill batch") {
        let sequences = number(rest, "#new-seq: ")?;
        let tokens = number(rest, "#new-token: ")?;
        let cached = number(rest, "#cached-token: ");
        let message = format!(
            "prefill batch of {sequences} sequences, {tokens} new tokens, {} cached",
            cached.unwrap_or(0)
        );
        return Some(event(EventKind::PrefillBatch, message).numbers(
            Some(sequences),
            Some(tokens),
            cached,
        ));
    }
    let rest = start("Decode batch")?;
    let running = number(rest, "#running-req: ")?;
    let tokens = number(rest, "#token: ").or_else(|| number(rest, "#full token: "));
    let accepted = after(rest, ", accept len: ").and_then(thousandths);
    let rate = after(rest, "accept rate: ").and_then(thousandths);
    let mut message = format!("decode batch of {running} requests");
    if let Some((length, rate)) = accepted.zip(rate) {
        message.push_str(&format!(
            ", accepted length {length}/1000, rate {rate}/1000"
        ));
    }
    let mut out = event(EventKind::DecodeBatch, message);
    if rest.contains("#prealloc-req: ") {
        out.role = Some(Role::Decode);
    }
    Some(out.numbers(Some(running), tokens, accepted))
}

/// `ReqTimeStats(…)` since about 0.5.14, `Req Time Stats(…)` before.
fn time_stats(text: &str) -> Option<EngineEvent> {
    let (inside, ends, keys) = if let Some(rest) = text.strip_prefix("ReqTimeStats(") {
        let ends = [", bootstrap_room=", ", input_len="];
        (rest, ends, ["input_len=", "output_len="])
    } else {
        let rest = text.strip_prefix("Req Time Stats(")?;
        let ends = [", bootstrap_room=", ", input len="];
        (rest, ends, ["input len=", "output len="])
    };
    let rid = inside.strip_prefix("rid=")?;
    let end = ends.iter().filter_map(|e| rid.find(e)).min()?;
    let (rid, rest) = rid.split_at(end);
    let input = number(rest, keys[0])?;
    let output = number(rest, keys[1]);
    let cached = number(rest, "cached_input_len=");
    let moved = after(rest, "transfer_total=").and_then(|mb| {
        let unit = mb.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let mega = unit.trim_start().starts_with("MB");
        // Exact: two decimals are printed.
        thousandths(mb)
            .filter(|_| mega)?
            .checked_mul(1 << 20)
            .map(|b| b / 1000)
    });
    let message = format!("request accounted with {input} input tokens");
    let mut out = event(EventKind::ReqTimeStats, message)
        .request(Some(rid))
        .room(digits(rest, "bootstrap_room="))
        .numbers(Some(input), cached, output);
    out.moved_bytes = moved;
    out.role = match word(rest, "type=", &[')', ',']) {
        Some("prefill") => Some(Role::Prefill),
        Some("decode") => Some(Role::Decode),
        Some("unified") => Some(Role::Unified),
        _ => None,
    };
    Some(out)
}

fn capacity(text: &str) -> Option<EngineEvent> {
    let facts = |pool: Option<i64>, window: Option<i64>| {
        Some(Box::new(CapacityFacts {
            pool_tokens: pool,
            window_tokens: window,
            ..CapacityFacts::default()
        }))
    };
    if text.starts_with("max_total_num_tokens=") {
        let pool = number(text, "max_total_num_tokens=")?;
        let window = number(text, ", context_len=")?;
        let running = number(text, ", max_running_requests=");
        let message = format!("comes up with a pool of {pool} and a window of {window} tokens");
        let mut out = event(EventKind::Startup, message).numbers(Some(pool), Some(window), running);
        out.capacity = facts(Some(pool), Some(window));
        return Some(out);
    }
    if text.starts_with("KV pool holds ") {
        let pool = number(text, "KV pool holds ")?;
        let window = number(text, "--context-length ");
        let message = format!("warns that its pool of {pool} tokens is below its window");
        let mut out = event(EventKind::PoolBelowWindow, message).numbers(Some(pool), window, None);
        out.capacity = facts(Some(pool), window);
        return Some(out);
    }
    let allocated = [
        "KV Cache is allocated. ",
        "Post-capture KV sizing: KV cache allocated. ",
    ];
    if allocated.iter().any(|start| text.starts_with(start)) {
        // Draft models allocate pools of their own: this alone sets no capacity.
        let pool = number(text, "#tokens: ")?;
        let message = format!("a pool of {pool} tokens was allocated");
        let post = text.starts_with(allocated[1]);
        let mut out = event(EventKind::PoolAllocated, message).numbers(Some(pool), None, None);
        out.capacity = post.then(|| facts(Some(pool), None)).flatten();
        return Some(out);
    }
    let args = text.strip_prefix("server_args=")?;
    Some(server_args(args))
}

/// Settings whose value says what can leak or what logs show.
const FLAGS: [&str; 17] = [
    "allow_auto_truncate",
    "chunked_prefill_size",
    "disaggregation_decode_enable_radix_cache",
    "disaggregation_enable_kv_checksum",
    "disaggregation_mode",
    "disaggregation_transfer_backend",
    "dp_size",
    "enable_dp_attention",
    "enable_hierarchical_cache",
    "enable_lmcache",
    "enable_lora",
    "enable_request_time_stats_logging",
    "kv_canary",
    "log_requests",
    "log_requests_level",
    "pp_size",
    "tp_size",
];

/// `ServerArgs(model_path='…', …)`, or a dictionary since about 0.5.2x.
fn server_args(args: &str) -> EngineEvent {
    let value = |key: &str| {
        ["(", ", ", "{"].iter().find_map(|before| {
            after(args, &format!("{before}{key}="))
                .or_else(|| after(args, &format!("{before}'{key}': ")))
        })
    };
    let bare = |key: &str| {
        let rest = value(key)?;
        let text = match rest.chars().next()? {
            quote @ ('\'' | '"') => rest.get(1..)?.split(quote).next()?,
            _ => rest.get(..rest.find([',', ')', '}']).unwrap_or(rest.len()))?,
        };
        (text != "None").then_some(text)
    };
    let count = |key: &str| bare(key).and_then(integer).filter(|n| *n > 0);
    let plain = |text: &&str| {
        text.len() <= 40
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
    };
    let mut flags = Vec::new();
    for name in FLAGS {
        if let Some(text) = bare(name).filter(plain) {
            flags.push((name, text.to_ascii_lowercase()));
        }
    }
    let role = bare("disaggregation_mode");
    let mode = match role {
        Some("prefill" | "decode") => Some("disaggregated"),
        Some("null") => Some("unified"),
        _ => None,
    };
    let (page, window) = (count("page_size"), count("context_length"));
    let message = format!(
        "launched as {} with a page size of {}",
        mode.unwrap_or("an unknown mode"),
        page.map_or_else(|| "unknown".to_owned(), |p| p.to_string())
    );
    let mut out = event(EventKind::ServerArgs, message).numbers(page, window, None);
    out.role = match role {
        Some("prefill") => Some(Role::Prefill),
        Some("decode") => Some(Role::Decode),
        Some("null") => Some(Role::Unified),
        _ => None,
    };
    out.capacity = Some(Box::new(CapacityFacts {
        model: bare("served_model_name")
            .or_else(|| bare("model_path"))
            .map(str::to_owned),
        version: None,
        mode,
        pool_tokens: None,
        window_tokens: window,
        page_tokens: page,
        flags,
    }));
    out
}

/// The id at the end of every refusal of the scheduler.
fn last_rid(text: &str) -> Option<&str> {
    let at = text.rfind(", self.rid=")?;
    quoted(text.get(at..)?, ", self.rid=")
}

fn length(text: &str) -> Option<EngineEvent> {
    if text.starts_with("Input length (") {
        let length = number(text, "Input length (")?;
        let limit = number(text, "maximum allowed length (")?;
        let message = format!("prompt of {length} tokens refused, the limit is {limit}");
        let out = event(EventKind::LengthRejected, message).request(last_rid(text));
        return Some(out.numbers(Some(length), Some(limit), None));
    }
    if text.starts_with("Request length is longer than the KV cache pool size") {
        let length = number(text, "len(req.origin_input_ids)=")
            .or_else(|| number(text, "len(self.origin_input_ids)="))?;
        let limit = number(text, "max_req_input_len=");
        let message = format!("prompt of {length} tokens cut to the limit");
        return Some(event(EventKind::PromptTruncated, message).numbers(Some(length), limit, None));
    }
    if text.starts_with("The input (") && text.contains("context length (") {
        let length = number(text, "The input (")?;
        let window = number(text, "context length (");
        let message = format!("prompt of {length} tokens over the window");
        return Some(event(EventKind::WindowExceeded, message).numbers(Some(length), window, None));
    }
    const POOL: &str = " exceeds the maximum number of tokens: ";
    if let Some((head, rest)) = text.split_once(POOL)
        && let Some(rid) = head.strip_prefix("Request ")
    {
        let length = integer(rest)?;
        let limit = number(rest, " > ");
        let message = format!("prompt of {length} tokens refused at the queue");
        let out = event(EventKind::PoolExceeded, message).request(Some(rid));
        return Some(out.numbers(Some(length), limit, None));
    }
    let length = text
        .starts_with("Request prompt exceeds the KV memory budget")
        .then(|| number(text, "input_len="))??;
    let message = format!("prompt of {length} tokens over the memory budget");
    let out = event(EventKind::PoolExceeded, message).request(last_rid(text));
    Some(out.numbers(Some(length), None, None))
}

/// Why a transfer failed: a closed set of words.
fn failure(text: &str) -> &'static str {
    [
        ("Aborted by AbortReq", "aborted"),
        ("timed out after", "timeout"),
        (
            "Failed to get kvcache from prefill instance",
            "prefill gone",
        ),
        ("is healthy before, but now it is down", "prefill down"),
        ("Failed to send kv chunk", "send failed"),
        ("another rank", "another rank"),
    ]
    .into_iter()
    .find_map(|(mark, word)| text.contains(mark).then_some(word))
    .unwrap_or("reason unknown")
}

fn transfer(text: &str) -> Option<EngineEvent> {
    let sides = [
        (
            "Prefill transfer failed for request",
            EventKind::PrefillTransferFailed,
            "prefill",
        ),
        (
            "Prefill bootstrap failed for request",
            EventKind::PrefillBootstrapFailed,
            "prefill",
        ),
        (
            "Decode transfer failed for request",
            EventKind::DecodeTransferFailed,
            "decode",
        ),
        (
            "Decode handshake failed for request",
            EventKind::DecodeHandshakeFailed,
            "decode",
        ),
    ];
    for (start, kind, side) in sides {
        let Some(rest) = text.strip_prefix(start) else {
            continue;
        };
        let message = format!("{}: {}", kind.as_str().replace('_', " "), failure(rest));
        let mut out = event(kind, message)
            .request(quoted(rest, "req.rid="))
            .room(digits(rest, "req.bootstrap_room="));
        out.role = Role::parse(side);
        return Some(out);
    }
    // Behind a time-out or a dead peer the exception may stand alone.
    let rest = text.strip_prefix("KVTransferError(bootstrap_room=")?;
    let message = format!("transfer failed: {}", failure(rest));
    Some(event(EventKind::TransferFailed, message).room(digits(text, "bootstrap_room=")))
}

fn confession(text: &str) -> Option<EngineEvent> {
    if let Some(rest) = text.strip_prefix("Context corruption detected: Request ") {
        let (rid, rest) = rest.split_once(" (bootstrap_room=")?;
        let room = rest.get(..rest.find(')')?);
        let other = number(rest, "metadata from bootstrap_room=");
        let message = "metadata of another hand-over arrived and was refused";
        let out = event(EventKind::ContextCorruption, message);
        return Some(out.request(Some(rid)).room(room).numbers(other, None, None));
    }
    if text.starts_with("Metadata unexpectedly not ready after readiness gate") {
        let rid = word(text, ": request ", &[',']);
        let out = event(
            EventKind::MetadataNotReady,
            "metadata was not there when it should be",
        );
        return Some(out.request(rid).room(digits(text, "bootstrap_room=")));
    }
    if text.starts_with("KV checksum mismatch ") {
        let rid = word(text, " req=", &[' ']);
        let message = "what decode received is not what prefill sent";
        let out = event(EventKind::KvChecksumMismatch, message);
        return Some(out.request(rid).room(digits(text, "bootstrap_room=")));
    }
    let rest = text.strip_prefix("kv_canary violation: ")?;
    let (slot, position) = (number(rest, "slot_idx="), number(rest, "position="));
    let message = "a page holds another token than it should";
    Some(event(EventKind::KvCanaryViolation, message).numbers(slot, position, None))
}

fn ended(text: &str) -> Option<EngineEvent> {
    if text.starts_with("Request is disconnected from the client side") {
        let out = event(EventKind::ClientDisconnected, "the client went away");
        return Some(out.request(quoted(text, "obj.rid=")));
    }
    // One spelling for each queue that a request may be broken off in.
    if text.starts_with("Abort ") && text.contains(" request. ") {
        let out = event(EventKind::Aborted, "request aborted");
        return Some(out.request(Some(quoted(text, "req.rid=")?)));
    }
    if text.starts_with("Received output for rid=") && text.contains("state was deleted") {
        let out = event(
            EventKind::StateDeleted,
            "an answer came for a forgotten request",
        );
        return Some(out.request(quoted(text, "rid=")));
    }
    let retracted = text
        .starts_with("KV cache pool is full. Retract requests.")
        .then(|| number(text, "#retracted_reqs: "))??;
    let message = format!("{retracted} requests put back for lack of memory");
    Some(event(EventKind::Retracted, message).numbers(Some(retracted), None, None))
}

/// Every refusal of the scheduler ends in the id of its request; what stands before it may quote
/// the client, so only its kind is kept.
fn rejected(text: &str) -> Option<EngineEvent> {
    let rid = last_rid(text)?;
    let starts = |words: &[&str]| words.iter().any(|w| text.starts_with(w));
    let (kind, message) = if starts(&["Multimodal ", "Insufficient multimodal", "Failed to load"]) {
        (EventKind::MultimodalRejected, "multimodal prompt refused")
    } else if starts(&["Grammar preprocessing timed out"]) {
        (EventKind::GrammarTimeout, "grammar not ready in time")
    } else if starts(&[
        "Failed to compile ",
        "Grammar-based generation",
        "Invalid grammar",
    ]) {
        (EventKind::GrammarRejected, "grammar refused")
    } else if starts(&[
        "Invalid request session",
        "Invalid request: session",
        "Invalid request: close",
    ]) {
        (EventKind::SessionRejected, "session refused")
    } else if text.contains("logprob_start_len")
        || text.contains("routed_experts_start_len")
        || text.contains("sampling_mask")
    {
        (EventKind::ParameterRejected, "parameter refused")
    } else {
        (EventKind::OtherRejected, "refused for an unknown reason")
    };
    let mut out = event(kind, message).request(Some(rid));
    if text.starts_with("Multimodal prompt is too long") {
        let (length, limit) = (number(text, " => "), number(text, " >= "));
        out = out.numbers(length, limit, None);
    }
    Some(out)
}
