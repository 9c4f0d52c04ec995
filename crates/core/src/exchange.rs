//! The one normalised record: an exchange, its texts, and the reasons why bytes were rejected.
//!
//! Formats fill an [`Exchange`]; everything later reads only that. Times are microseconds since the
//! Unix epoch, UTC. Token counts are null where the source does not know them: a zero that a source
//! writes for "unknown" must not arrive here as a zero.

pub use crate::record::{RecordKind, RejectReason};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Microseconds since 1970-01-01T00:00:00Z.
pub type TimeMicros = i64;

/// Who wrote the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The gateway in front of the engines.
    Gateway,
    /// The caller itself.
    Client,
    /// An engine that does prefill and decode in one process.
    Unified,
    /// The decode side of a disaggregated pair.
    Decode,
    /// A batch job.
    Batch,
    /// The prefill side of a disaggregated pair.
    Prefill,
}

impl Role {
    /// All roles, in the order in which one is taken as the first of a call.
    pub const ALL: [Role; 6] = [
        Role::Gateway,
        Role::Client,
        Role::Unified,
        Role::Decode,
        Role::Batch,
        Role::Prefill,
    ];

    /// The name used in tables and configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Gateway => "gateway",
            Role::Client => "client",
            Role::Unified => "unified",
            Role::Decode => "decode",
            Role::Batch => "batch",
            Role::Prefill => "prefill",
        }
    }

    /// Reads the name used in tables and configuration.
    pub fn parse(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|r| r.as_str() == name)
    }
}

/// How much of a text the record holds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ContentState {
    /// The whole text.
    Full,
    /// A part of the text; the rest was cut by the logger.
    Truncated,
    /// Token ids without text.
    IdsOnly,
    /// Earlier turns live elsewhere (`previous_response_id`, threads, latest turn only).
    Stateful,
    /// Replaced by a placeholder.
    Redacted,
    /// Encrypted.
    Encrypted,
    /// Kept in another object that the record points at.
    External,
    /// Not logged.
    #[default]
    Absent,
}

impl ContentState {
    /// The name used in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            ContentState::Full => "full",
            ContentState::Truncated => "truncated",
            ContentState::IdsOnly => "ids_only",
            ContentState::Stateful => "stateful",
            ContentState::Redacted => "redacted",
            ContentState::Encrypted => "encrypted",
            ContentState::External => "external",
            ContentState::Absent => "absent",
        }
    }

    /// Reads the name used in tables and native records.
    pub fn parse(name: &str) -> Option<ContentState> {
        use ContentState::*;
        [
            Full, Truncated, IdsOnly, Stateful, Redacted, Encrypted, External, Absent,
        ]
        .into_iter()
        .find(|s| s.as_str() == name)
    }
}

/// Why a text is interrupted at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BorderKind {
    /// The border between two messages, parts or tool calls.
    Message,
    /// A truncation or redaction marker, or the place where a logger cut.
    Cut,
}

/// A place in a text that no shared run may cross. `start..end` are bytes of the text and are no
/// tokens themselves; an empty range is a border between two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Border {
    /// First byte of the border.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// Why it is there.
    pub kind: BorderKind,
}

/// One text field of an exchange: decoded text and the borders inside it, in ascending order.
///
/// Parts are joined with one `\n` and a [`BorderKind::Message`] border over that byte.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct FieldText {
    /// The decoded text (JSON unescaped, parts joined).
    pub text: String,
    /// Borders, ascending and not overlapping.
    pub borders: Vec<Border>,
}

impl FieldText {
    /// A text of one part.
    pub fn of(text: impl Into<String>) -> FieldText {
        FieldText {
            text: text.into(),
            borders: Vec::new(),
        }
    }

    /// Appends a part behind a message border.
    pub fn push_part(&mut self, part: &str) {
        if !self.text.is_empty() {
            let start = self.text.len();
            self.text.push('\n');
            self.borders.push(Border {
                start,
                end: start + 1,
                kind: BorderKind::Message,
            });
        }
        self.text.push_str(part);
    }
}

// Log text is private in every sink, panics and debug prints included.
impl fmt::Debug for FieldText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "FieldText({} bytes, {} borders)",
            self.text.len(),
            self.borders.len()
        )
    }
}

/// What an id names. Only ids that name one call may link exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CorrelationKind {
    /// SGLang's id of one prefill/decode hand-over (up to 63 bits, kept as decimal text).
    BootstrapRoom,
    /// `x-request-id` header.
    XRequestId,
    /// LiteLLM's call id.
    LitellmCallId,
    /// The gateway's own log or request id.
    GatewayLogId,
    /// The engine's request id (`rid`, `chatcmpl-…`).
    EngineRid,
    /// A batch line's `custom_id`.
    CustomId,
    /// OpenTelemetry span id.
    SpanId,
    /// Trace id: groups many calls, never links.
    TraceId,
    /// Session id: never links.
    SessionId,
    /// Conversation id: never links.
    ConversationId,
}

impl CorrelationKind {
    /// All kinds.
    pub const ALL: [CorrelationKind; 10] = [
        CorrelationKind::BootstrapRoom,
        CorrelationKind::XRequestId,
        CorrelationKind::LitellmCallId,
        CorrelationKind::GatewayLogId,
        CorrelationKind::EngineRid,
        CorrelationKind::CustomId,
        CorrelationKind::SpanId,
        CorrelationKind::TraceId,
        CorrelationKind::SessionId,
        CorrelationKind::ConversationId,
    ];

    /// The name used in tables and native records.
    pub fn as_str(self) -> &'static str {
        match self {
            CorrelationKind::BootstrapRoom => "bootstrap_room",
            CorrelationKind::XRequestId => "x_request_id",
            CorrelationKind::LitellmCallId => "litellm_call_id",
            CorrelationKind::GatewayLogId => "gateway_log_id",
            CorrelationKind::EngineRid => "engine_rid",
            CorrelationKind::CustomId => "custom_id",
            CorrelationKind::SpanId => "span_id",
            CorrelationKind::TraceId => "trace_id",
            CorrelationKind::SessionId => "session_id",
            CorrelationKind::ConversationId => "conversation_id",
        }
    }

    /// Whether an id of this kind names one call.
    pub fn links(self) -> bool {
        !matches!(
            self,
            CorrelationKind::TraceId | CorrelationKind::SessionId | CorrelationKind::ConversationId
        )
    }
}

/// One id of an exchange.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Correlation {
    /// What it names.
    pub kind: CorrelationKind,
    /// Its value; numbers as decimal text.
    pub value: String,
}

/// One thing that could be the tenant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TenantCandidate {
    /// `tenant`, `organization`, `team`, `project`, `api_key_hash`, `user`, `end_user`, `header`, …
    pub kind: String,
    /// Its value.
    pub value: String,
}

/// Where the zone of the times came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeZoneSource {
    /// The format is UTC by definition (`Z`, unix seconds).
    #[default]
    Utc,
    /// The record carries an offset.
    Offset,
    /// The record is naive and the user declared a zone.
    Assumed,
    /// The record is naive and no zone was declared: times are dropped.
    Unknown,
    /// The source counts from a start of its own: times are since 1970 and only their distances
    /// mean anything.
    Relative,
}

impl TimeZoneSource {
    /// The name used in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            TimeZoneSource::Utc => "utc",
            TimeZoneSource::Offset => "offset",
            TimeZoneSource::Assumed => "assumed",
            TimeZoneSource::Unknown => "unknown",
            TimeZoneSource::Relative => "relative",
        }
    }
}

/// How the exchange ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Answered.
    Ok,
    /// Failed with an error, inside a 200 or not.
    Error,
    /// Aborted by the engine or the client.
    Aborted,
    /// Refused before any work (4xx).
    Rejected,
    /// The record does not say.
    #[default]
    Unknown,
}

impl Outcome {
    /// The name used in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Error => "error",
            Outcome::Aborted => "aborted",
            Outcome::Rejected => "rejected",
            Outcome::Unknown => "unknown",
        }
    }
}

/// What a prompt or response is made of: a set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Modalities(pub u8);

impl Modalities {
    /// Plain text.
    pub const TEXT: Modalities = Modalities(1);
    /// Pictures.
    pub const IMAGE: Modalities = Modalities(2);
    /// Sound.
    pub const AUDIO: Modalities = Modalities(4);
    /// Attached files and documents.
    pub const FILE: Modalities = Modalities(8);
    /// Tool calls or results.
    pub const TOOL: Modalities = Modalities(16);

    const NAMES: [(u8, &'static str); 5] = [
        (1, "text"),
        (2, "image"),
        (4, "audio"),
        (8, "file"),
        (16, "tool"),
    ];

    /// Adds a kind.
    pub fn insert(&mut self, other: Modalities) {
        self.0 |= other.0;
    }

    /// Whether all of `other` is in the set.
    pub fn contains(self, other: Modalities) -> bool {
        self.0 & other.0 == other.0
    }

    /// Names in fixed order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Modalities::NAMES
            .into_iter()
            .filter(move |(bit, _)| self.0 & bit != 0)
            .map(|(_, n)| n)
    }

    /// Reads one name; unknown names are the empty set.
    pub fn parse(name: &str) -> Modalities {
        Modalities(
            Modalities::NAMES
                .iter()
                .find(|(_, n)| *n == name)
                .map_or(0, |(bit, _)| *bit),
        )
    }
}

/// A field of the record that no column takes: kept without its content.
#[derive(Clone, PartialEq, Eq)]
pub struct ExtraField {
    /// Key, or dotted path of keys.
    pub key: String,
    /// JSON type name: string, number, bool, null, array, object.
    pub json_type: &'static str,
    /// The raw JSON bytes; only their length and keyed hash leave the process.
    pub raw: Vec<u8>,
}

impl fmt::Debug for ExtraField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "ExtraField({}, {} bytes)",
            self.json_type,
            self.raw.len()
        )
    }
}

/// One request and its response, as one log tells it. Each choice of `n > 1` is its own exchange.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exchange {
    /// Best id that the client or the gateway knows.
    pub request_id: Option<String>,
    /// All ids.
    pub correlation: Vec<Correlation>,
    /// Who wrote the record; `None` where the record does not say (the caller decides by node or
    /// takes `unified`).
    pub role: Option<Role>,
    /// Everything that could be the tenant, in the record's order.
    pub tenant_candidates: Vec<TenantCandidate>,
    /// The model's name as logged (the served one, else the requested one).
    pub model_raw: Option<String>,
    /// Deployment, backend or base address.
    pub deployment: Option<String>,
    /// Host, pod or worker.
    pub node: Option<String>,
    /// Engine name, lower case.
    pub engine: Option<String>,
    /// Engine version.
    pub engine_version: Option<String>,
    /// Start of the request.
    pub t_start: Option<TimeMicros>,
    /// First token of the response.
    pub t_first_token: Option<TimeMicros>,
    /// End of the response.
    pub t_end: Option<TimeMicros>,
    /// Where the zone came from.
    pub t_zone: TimeZoneSource,
    /// Client-facing HTTP status; `None` where the record has none.
    pub http_status: Option<u16>,
    /// How it ended.
    pub outcome: Outcome,
    /// Canonical: stop, length, tool_calls, content_filter, abort, error; else as logged.
    pub finish_reason: Option<String>,
    /// Tokens of the prompt, cached ones included.
    pub prompt_tokens: Option<i64>,
    /// Tokens generated.
    pub completion_tokens: Option<i64>,
    /// Tokens of the prompt served from a cache.
    pub cached_tokens: Option<i64>,
    /// Who counted: engine, provider, gateway; `None` where nobody did.
    pub tokens_source: Option<&'static str>,
    /// Index of the choice, from 0.
    pub choice: u32,
    /// Number of the call inside its record, from 0 and without gaps: a batch of spans holds many
    /// calls. All choices of one call have the same.
    pub part: u32,
    /// What prompt and response are made of.
    pub modalities: Modalities,
    /// How much of the prompt is here.
    pub prompt_state: ContentState,
    /// How much of the response is here.
    pub response_state: ContentState,
    /// Speculative decoding: accepted tokens per verification step.
    pub spec_accept_length: Option<f64>,
    /// Answered from a response cache of the gateway.
    pub cache_hit: Option<bool>,
    /// The record is the first half of an exchange (a "received" line): it counts only where no
    /// finished record of the same engine id follows in the same source.
    pub half: bool,
    /// The record carries an id that is unique in its format, so that an equal record in the same
    /// source is a duplicate.
    pub unique_id: bool,
    /// Fields that no column takes.
    pub extra: Vec<ExtraField>,
    /// Prompt text, messages joined.
    pub prompt: Option<FieldText>,
    /// Response text.
    pub response: Option<FieldText>,
    /// Reasoning text.
    pub reasoning: Option<FieldText>,
    /// Tool-call names and arguments of the response, one part each.
    pub tool: Option<FieldText>,
}
