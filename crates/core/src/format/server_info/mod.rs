//! Snapshots of a running engine: `/server_info`, the text of `/metrics`, and stored metrics.

mod metrics;

pub use metrics::{Metrics, read_gauge};

use super::json::{Fault, Json, decode_lenient};
use super::{DecodeContext, LogFormat};
use crate::engine::{CapacityFacts, EngineEvent, EventKind, node_of};
use crate::exchange::{Exchange, RecordKind, RejectReason, Role, TimeZoneSource};

/// SGLang's `/server_info` (`/get_server_info` before), or vLLM's list of models.
pub struct ServerInfo;

impl LogFormat for ServerInfo {
    fn name(&self) -> &'static str {
        "server_info"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        if record.trim_ascii_start().starts_with(b"{") && read(record).is_some() {
            95
        } else {
            0
        }
    }

    fn decode(
        &self,
        record: &[u8],
        _context: &DecodeContext<'_>,
        _out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        read(record)
            .map(|_| RecordKind::Event)
            .ok_or(RejectReason::UnknownShape)
    }

    fn events(&self, record: &[u8], context: &DecodeContext<'_>, out: &mut Vec<EngineEvent>) {
        if let Some(mut event) = read(record) {
            event.node = node_of(context.source_name);
            out.push(event);
        }
    }
}

/// Settings whose value says what can leak or what logs show.
const FLAGS: [&str; 13] = [
    "allow_auto_truncate",
    "disaggregation_decode_enable_radix_cache",
    "disaggregation_enable_kv_checksum",
    "disaggregation_mode",
    "disaggregation_transfer_backend",
    "enable_hierarchical_cache",
    "enable_lmcache",
    "enable_lora",
    "enable_request_time_stats_logging",
    "log_requests",
    "log_requests_level",
    "pp_size",
    "tp_size",
];

/// Reads a snapshot; `None` for any other document.
pub fn read(record: &[u8]) -> Option<EngineEvent> {
    decode_lenient(record, |text| {
        let info = Json::parse(text)?;
        Ok(sglang(&info).or_else(|| vllm(&info)))
    })
    .ok()
    .flatten()
}

fn positive(value: Option<&Json<'_>>) -> Option<i64> {
    value.and_then(Json::as_i64).filter(|n| *n > 0)
}

fn sglang(info: &Json<'_>) -> Option<EngineEvent> {
    let states = info
        .get("internal_states")
        .map(Json::items)
        .unwrap_or_default();
    let stated = |key: &str| {
        info.some(key)
            .or_else(|| states.iter().find_map(|s| s.some(key)))
    };
    if !info.has("disaggregation_mode") && !info.has("max_total_num_tokens") {
        return None;
    }
    let input = positive(stated("max_req_input_len"));
    // Ranks may differ: a prompt has to fit the smallest.
    let ranks = states
        .iter()
        .filter_map(|s| positive(s.at(&["memory_usage", "token_capacity"])))
        .min();
    let pool = match (positive(info.some("max_total_num_tokens")), ranks) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let window = positive(stated("context_length")).or_else(|| {
        // The input limit is 6 below the smaller of pool and window.
        let least = input? + crate::capacity::SGLANG_RESERVE_TOKENS;
        (least < pool?).then_some(least)
    });
    pool.or(input)?;
    let mode = stated("disaggregation_mode").and_then(Json::as_str);
    let flags = flags(&stated);
    let say = |n: Option<i64>| n.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
    let message = format!(
        "runs with a pool of {} and a window of {}",
        say(pool),
        say(window)
    );
    let mut event = EngineEvent::new(EventKind::ServerInfo, "sglang", message);
    (event.n1, event.n2, event.n3) = (pool, window, input);
    event.t_zone = TimeZoneSource::Unknown;
    event.role = match mode {
        Some("prefill") => Some(Role::Prefill),
        Some("decode") => Some(Role::Decode),
        Some("null") => Some(Role::Unified),
        _ => None,
    };
    let name = |key: &str| stated(key).and_then(Json::as_str).map(str::to_owned);
    event.capacity = Some(Box::new(CapacityFacts {
        model: name("served_model_name").or_else(|| name("model_path")),
        version: name("version").or_else(|| name("sglang_version")),
        mode: match mode {
            Some("prefill" | "decode") => Some("disaggregated"),
            Some("null") => Some("unified"),
            _ => None,
        },
        pool_tokens: pool,
        window_tokens: window,
        page_tokens: positive(stated("page_size")),
        flags,
    }));
    Some(event)
}

/// The settings of [`FLAGS`] that are stated.
fn flags<'j, 'a: 'j>(stated: &dyn Fn(&str) -> Option<&'j Json<'a>>) -> Vec<(&'static str, String)> {
    let mut flags = Vec::new();
    for name in FLAGS {
        let value = match stated(name) {
            Some(Json::Bool(b)) => b.to_string(),
            Some(Json::Str(s)) if s.len() <= 40 => s.to_ascii_lowercase(),
            Some(other) => match other.as_i64() {
                Some(n) => n.to_string(),
                None => continue,
            },
            None => continue,
        };
        flags.push((name, value));
    }
    flags
}

/// `/v1/models`: vLLM states the window there, not the pool.
fn vllm(info: &Json<'_>) -> Option<EngineEvent> {
    let model = info.get("data").map(Json::items)?.first()?;
    let window = positive(model.some("max_model_len"))?;
    let message = format!("serves a window of {window} tokens");
    let mut event = EngineEvent::new(EventKind::ServerInfo, "vllm", message);
    event.n2 = Some(window);
    event.capacity = Some(Box::new(CapacityFacts {
        model: model.str_of("id").map(str::to_owned),
        window_tokens: Some(window),
        ..CapacityFacts::default()
    }));
    Some(event)
}

/// Runs `read` over a document as far as it is JSON.
fn with_json<T>(record: &[u8], read: impl Fn(&Json<'_>) -> Option<T>) -> Option<T> {
    decode_lenient(record, |text| {
        let json = Json::parse(text).map_err(Fault::from)?;
        Ok(read(&json))
    })
    .ok()
    .flatten()
}
