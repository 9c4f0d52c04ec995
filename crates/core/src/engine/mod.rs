//! What engines say of themselves in their own logs: start-up, batches, refusals, failed transfers.
//!
//! An event keeps numbers and ids and a message that is rebuilt from them. The line itself is
//! never kept: refusals quote schemas, error texts and other words of a client.

mod cursor;
pub mod epochs;
mod prefix;
mod sglang;
mod vllm;

#[cfg(test)]
mod tests;

pub use prefix::{is_engine_line, node_of};

use crate::exchange::{Role, TimeMicros, TimeZoneSource};
use jiff::tz::TimeZone;

/// Lines longer than this are no engine events: the longest known, the launch arguments, has a few
/// tens of kilobytes.
const MAX_LINE_BYTES: usize = 256 << 10;

/// Longest request id that is believed.
const MAX_ID_BYTES: usize = 256;

/// What an event is. `n1` to `n3` of an event mean what stands beside its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// Launch arguments of a process: n1 page size, n2 stated context length, tokens.
    ServerArgs,
    /// Launch arguments as a cluster specifies them: n1 page size, n2 stated context length, n3
    /// pool where it is fixed, tokens.
    PodSpec,
    /// A process came up: n1 pool, n2 window, tokens; n3 greatest number of running requests.
    Startup,
    /// The pool was allocated: n1 tokens; n2 window where the line names it.
    PoolAllocated,
    /// The engine warns that its pool is below its window: n1 pool, n2 window, tokens.
    PoolBelowWindow,
    /// A snapshot of a running engine: n1 pool, n2 window, tokens; n3 greatest input length.
    ServerInfo,
    /// A gauge of the metrics: n1 pool, n2 window or n3 page size, tokens.
    CapacityGauge,
    /// A prefill step: n1 new sequences, n2 new tokens, n3 cached tokens.
    PrefillBatch,
    /// Decode steps: n1 running requests, n2 tokens held, n3 accepted draft length in thousandths.
    DecodeBatch,
    /// A prompt over the limit: n1 its length, n2 the least refused length, tokens.
    LengthRejected,
    /// A prompt cut to the limit: n1 its length, n2 what is left, tokens.
    PromptTruncated,
    /// A prompt over the window, refused before the scheduler: n1 its length, n2 the window.
    WindowExceeded,
    /// A prompt over the pool, refused at the queues of disaggregation: n1 its length, n2 the pool.
    PoolExceeded,
    /// A prompt with pictures or sound was refused by the scheduler.
    MultimodalRejected,
    /// A grammar was refused or could not be compiled.
    GrammarRejected,
    /// A grammar was not ready in time; it depends on the load of the node.
    GrammarTimeout,
    /// A session was unknown or closing.
    SessionRejected,
    /// A parameter was out of range.
    ParameterRejected,
    /// Refused by the scheduler for a reason that is not known here.
    OtherRejected,
    /// The transfer of a cache failed, seen by the prefill node.
    PrefillTransferFailed,
    /// The hand-over could not be arranged, seen by the prefill node.
    PrefillBootstrapFailed,
    /// The transfer of a cache failed, seen by the decode node.
    DecodeTransferFailed,
    /// The hand-over could not be arranged, seen by the decode node.
    DecodeHandshakeFailed,
    /// A transfer failed, side unknown.
    TransferFailed,
    /// Metadata of another request arrived; n1 the room that arrived.
    ContextCorruption,
    /// Metadata had not arrived when it should have.
    MetadataNotReady,
    /// What arrived is not what was sent.
    KvChecksumMismatch,
    /// A page holds another token than it should: n1 slot, n2 position.
    KvCanaryViolation,
    /// Blocks were read that may belong to someone else by now.
    StaleBlocks,
    /// Blocks were given back before they had been fetched: n1 fetched by so many, n2 seconds.
    ExpiredBlocks,
    /// A client went away.
    ClientDisconnected,
    /// A request was broken off.
    Aborted,
    /// An answer came for a request that is no longer known.
    StateDeleted,
    /// Requests were put back for lack of memory: n1 how many.
    Retracted,
    /// The account of one request: n1 its input, n2 of it cached, n3 output, tokens.
    ReqTimeStats,
    /// What was billed for a minute: n1 requests, n2 prompt tokens, n3 answer tokens.
    UsageMinute,
    /// The same for an hour.
    UsageHour,
    /// The same for a day.
    UsageDay,
}

impl EventKind {
    /// The name used in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            EventKind::ServerArgs => "server_args",
            EventKind::PodSpec => "pod_spec",
            EventKind::Startup => "startup",
            EventKind::PoolAllocated => "pool_allocated",
            EventKind::PoolBelowWindow => "pool_below_window",
            EventKind::ServerInfo => "server_info",
            EventKind::CapacityGauge => "capacity_gauge",
            EventKind::PrefillBatch => "prefill_batch",
            EventKind::DecodeBatch => "decode_batch",
            EventKind::LengthRejected => "length_rejected",
            EventKind::PromptTruncated => "prompt_truncated",
            EventKind::WindowExceeded => "window_exceeded",
            EventKind::PoolExceeded => "pool_exceeded",
            EventKind::MultimodalRejected => "multimodal_rejected",
            EventKind::GrammarRejected => "grammar_rejected",
            EventKind::GrammarTimeout => "grammar_timeout",
            EventKind::SessionRejected => "session_rejected",
            EventKind::ParameterRejected => "parameter_rejected",
            EventKind::OtherRejected => "other_rejected",
            EventKind::PrefillTransferFailed => "prefill_transfer_failed",
            EventKind::PrefillBootstrapFailed => "prefill_bootstrap_failed",
            EventKind::DecodeTransferFailed => "decode_transfer_failed",
            EventKind::DecodeHandshakeFailed => "decode_handshake_failed",
            EventKind::TransferFailed => "transfer_failed",
            EventKind::ContextCorruption => "context_corruption",
            EventKind::MetadataNotReady => "metadata_not_ready",
            EventKind::KvChecksumMismatch => "kv_checksum_mismatch",
            EventKind::KvCanaryViolation => "kv_canary_violation",
            EventKind::StaleBlocks => "stale_blocks",
            EventKind::ExpiredBlocks => "expired_blocks",
            EventKind::ClientDisconnected => "client_disconnected",
            EventKind::Aborted => "aborted",
            EventKind::StateDeleted => "state_deleted",
            EventKind::Retracted => "retracted",
            EventKind::ReqTimeStats => "req_time_stats",
            EventKind::UsageMinute => "usage_minute",
            EventKind::UsageHour => "usage_hour",
            EventKind::UsageDay => "usage_day",
        }
    }
}

/// What an event tells of the capacity and the settings of the process that wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapacityFacts {
    /// Name under which the model is served, else its path.
    pub model: Option<String>,
    /// Engine version.
    pub version: Option<String>,
    /// `disaggregated` or `unified`.
    pub mode: Option<&'static str>,
    /// KV pool, tokens.
    pub pool_tokens: Option<i64>,
    /// Context window, tokens.
    pub window_tokens: Option<i64>,
    /// Page size, tokens.
    pub page_tokens: Option<i64>,
    /// Settings that matter to what can leak and what logs show, sorted by name.
    pub flags: Vec<(&'static str, String)>,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineEvent {
    /// When, where the line has a time whose zone is known.
    pub t: Option<TimeMicros>,
    /// How the zone of the time is known.
    pub t_zone: TimeZoneSource,
    /// What.
    pub kind: EventKind,
    /// Engine name, lower case.
    pub engine: &'static str,
    /// Node, from the name of the file.
    pub node: Option<String>,
    /// Role of the process, where the line or the name of the file tells.
    pub role: Option<Role>,
    /// Ranks of the process that wrote the line, such as `DP0 TP0`.
    pub rank: Option<String>,
    /// Model, where the event is about one and tells nothing of capacity.
    pub model: Option<String>,
    /// Id of the request in the engine.
    pub engine_request_id: Option<String>,
    /// Id of the hand-over between prefill and decode.
    pub bootstrap_room: Option<String>,
    /// First number; see [`EventKind`].
    pub n1: Option<i64>,
    /// Second number; see [`EventKind`].
    pub n2: Option<i64>,
    /// Third number; see [`EventKind`].
    pub n3: Option<i64>,
    /// Bytes of cache that were moved.
    pub moved_bytes: Option<i64>,
    /// The line's meaning with its numbers; no word of a client.
    pub message: String,
    /// What it tells of the process.
    pub capacity: Option<Box<CapacityFacts>>,
}

impl EngineEvent {
    /// An event of a kind without any number.
    pub fn new(kind: EventKind, engine: &'static str, message: impl Into<String>) -> EngineEvent {
        EngineEvent {
            t: None,
            t_zone: TimeZoneSource::Unknown,
            kind,
            engine,
            node: None,
            role: None,
            rank: None,
            model: None,
            engine_request_id: None,
            bootstrap_room: None,
            n1: None,
            n2: None,
            n3: None,
            moved_bytes: None,
            message: message.into(),
            capacity: None,
        }
    }

    fn numbers(mut self, n1: Option<i64>, n2: Option<i64>, n3: Option<i64>) -> EngineEvent {
        (self.n1, self.n2, self.n3) = (n1, n2, n3);
        self
    }

    fn request(mut self, id: Option<&str>) -> EngineEvent {
        self.engine_request_id = id
            .filter(|id| !id.is_empty() && id.len() <= MAX_ID_BYTES)
            .map(str::to_owned);
        self
    }

    fn room(mut self, room: Option<&str>) -> EngineEvent {
        // SGLang writes None where a request has no room.
        self.bootstrap_room = room
            .filter(|r| !r.is_empty() && r.len() <= 20 && r.bytes().all(|b| b.is_ascii_digit()))
            .map(str::to_owned);
        self
    }
}

/// Reads a line of an engine's output, if it is an event.
///
/// `zone` is the declared zone of times that name none, `source_name` the name of the file.
pub fn read_line(line: &[u8], zone: Option<&TimeZone>, source_name: &str) -> Option<EngineEvent> {
    if line.len() > MAX_LINE_BYTES {
        return None;
    }
    let text = String::from_utf8_lossy(line);
    let plain = prefix::without_colours(&text);
    let found = prefix::split(&plain);
    let mut event = match found.dialect {
        prefix::Dialect::Vllm => vllm::read(found.rest),
        prefix::Dialect::Sglang => sglang::read(found.rest),
        // Some collectors strip the prefix: only what no other program would write counts.
        prefix::Dialect::Bare => sglang::read(found.rest).or_else(|| vllm::read(found.rest)),
    }?;
    (event.t, event.t_zone) = prefix::time(found.stamp, zone);
    event.rank = found.rank.map(str::to_owned);
    event.node = node_of(source_name);
    event.role = event.role.or_else(|| prefix::role_of(source_name));
    Some(event)
}
