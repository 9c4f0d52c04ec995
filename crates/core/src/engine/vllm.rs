//! Events of vLLM's output.

use super::cursor::{after, integer, number, word};
use super::{CapacityFacts, EngineEvent, EventKind};

const ENGINE: &str = "vllm";

/// Reads a message without its prefix.
pub(super) fn read(text: &str) -> Option<EngineEvent> {
    capacity(text)
        .or_else(|| launched(text))
        .or_else(|| trouble(text))
}

fn event(kind: EventKind, message: impl Into<String>) -> EngineEvent {
    EngineEvent::new(kind, ENGINE, message)
}

/// One line since about 0.33, two before.
fn capacity(text: &str) -> Option<EngineEvent> {
    const WINDOW: &str = "Maximum concurrency for ";
    let pool = text
        .split_once("KV cache size: ")
        .filter(|(device, _)| device.len() <= 24)
        .and_then(|(_, rest)| integer(rest).filter(|_| rest.contains(" tokens")));
    let window = number(text, WINDOW).filter(|_| text.contains("tokens per request"));
    if pool.is_none() && (window.is_none() || !text.starts_with(WINDOW)) {
        return None;
    }
    let say = |n: Option<i64>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
    let message = format!(
        "KV cache size {} tokens, window {} tokens",
        say(pool),
        say(window)
    );
    let mut out = event(EventKind::PoolAllocated, message).numbers(pool, window, None);
    out.capacity = Some(Box::new(CapacityFacts {
        pool_tokens: pool,
        window_tokens: window,
        ..CapacityFacts::default()
    }));
    Some(out)
}

fn launched(text: &str) -> Option<EngineEvent> {
    let version = if text.starts_with("Initializing a V") {
        word(text, "LLM engine (v", &[')'])
    } else if text.starts_with("vLLM API server version ") {
        word(text, "vLLM API server version ", &[' ', ','])
    } else {
        return None;
    }?;
    let version = version.trim_start_matches('v').to_owned();
    let window = number(text, "max_seq_len=");
    let page = number(text, "block_size=");
    let model = word(text, "model='", &['\'']).map(str::to_owned);
    let flag = |name: &'static str, key: &str| {
        let value = word(text, key, &[',', ')', ' ', '}'])?;
        let plain = value.len() <= 32 && value.chars().all(|c| c.is_ascii_alphanumeric());
        plain.then(|| (name, value.to_ascii_lowercase()))
    };
    let flags = [
        ("enable_prefix_caching", "enable_prefix_caching="),
        ("pipeline_parallel_size", "pipeline_parallel_size="),
        ("tensor_parallel_size", "tensor_parallel_size="),
    ];
    let message = format!("vLLM {version} comes up");
    let mut out = event(EventKind::ServerArgs, message).numbers(page, window, None);
    out.capacity = Some(Box::new(CapacityFacts {
        model,
        version: Some(version),
        window_tokens: window,
        page_tokens: page,
        flags: flags.into_iter().filter_map(|(n, k)| flag(n, k)).collect(),
        ..CapacityFacts::default()
    }));
    Some(out)
}

fn trouble(text: &str) -> Option<EngineEvent> {
    if text.starts_with("Potentially invalid KV blocks for unrecognized request ") {
        let id = word(text, "unrecognized request ", &[' ']);
        return Some(
            event(
                EventKind::StaleBlocks,
                "blocks of an unknown request were fetched",
            )
            .request(id),
        );
    }
    if text.starts_with("Releasing expired KV blocks for request ") {
        let id = word(text, "for request ", &[' ']);
        let (by, within) = (number(text, "retrieved by "), number(text, "within "));
        let message = "blocks were given back before they were fetched";
        return Some(
            event(EventKind::ExpiredBlocks, message)
                .request(id)
                .numbers(by, within, None),
        );
    }
    if let Some(rest) = text.strip_prefix("Request ") {
        let id = rest.split(' ').next()?;
        let kind = match rest.get(id.len() + 1..)? {
            "aborted." | "aborted" => EventKind::Aborted,
            _ => return None,
        };
        return Some(event(kind, "request aborted").request(Some(id)));
    }
    if let Some(rest) = text.strip_prefix("Aborted request ") {
        let id = rest.trim_end_matches('.');
        let one = !id.contains(' ');
        return one.then(|| event(EventKind::Aborted, "request aborted").request(Some(id)));
    }
    let refused = after(text, "This model's maximum context length is ").map(|rest| {
        let length = number(rest, "at least ")
            .or_else(|| number(rest, "your prompt contains "))
            .or_else(|| number(rest, "you requested "));
        (length, integer(rest))
    });
    let (length, window) = refused?;
    let message = "prompt over the context window, refused";
    Some(event(EventKind::WindowExceeded, message).numbers(length, window, None))
}
