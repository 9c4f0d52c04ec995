//! The keys of a native record, and a look at the keys of any record.

use super::super::json::{Fault, Text};
use super::super::reader::Reader;
use crate::exchange::CorrelationKind;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::fmt;

/// Keys that hold text.
pub(super) const TEXT_KEYS: [&str; 5] = ["messages", "prompt", "response", "reasoning", "tool"];

/// Keys that describe an exchange and are rare elsewhere.
pub(super) const OWN_KEYS: [&str; 22] = [
    "request_id",
    "tenant",
    "tenant_candidates",
    "deployment",
    "node",
    "role",
    "t_start",
    "t_first_token",
    "t_end",
    "http_status",
    "finish_reason",
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "tokens_source",
    "prompt_state",
    "response_state",
    "bootstrap_room",
    "engine_rid",
    "correlation",
    "spec_accept_length",
    "outcome",
];

/// Keys that are known beside those.
const OTHER_KEYS: [&str; 18] = [
    "model",
    "model_raw",
    "engine",
    "engine_version",
    "timestamp",
    "status",
    "tenant_kind",
    "choice",
    "modalities",
    "cache_hit",
    "x_request_id",
    "trace_id",
    "session_id",
    "conversation_id",
    "litellm_call_id",
    "gateway_log_id",
    "span_id",
    "custom_id",
];

/// Keys of ids and what they name.
pub(super) const ID_KEYS: [(&str, CorrelationKind); 10] = [
    ("bootstrap_room", CorrelationKind::BootstrapRoom),
    ("x_request_id", CorrelationKind::XRequestId),
    ("litellm_call_id", CorrelationKind::LitellmCallId),
    ("gateway_log_id", CorrelationKind::GatewayLogId),
    ("engine_rid", CorrelationKind::EngineRid),
    ("custom_id", CorrelationKind::CustomId),
    ("span_id", CorrelationKind::SpanId),
    ("trace_id", CorrelationKind::TraceId),
    ("session_id", CorrelationKind::SessionId),
    ("conversation_id", CorrelationKind::ConversationId),
];

/// The key as one of those, if it is known.
pub(super) fn known_key(key: &str) -> Option<&'static str> {
    let tables = [&TEXT_KEYS[..], &OWN_KEYS[..], &OTHER_KEYS[..]];
    tables.into_iter().flatten().find(|k| **k == key).copied()
}

/// Keys of the top level.
pub(in crate::format) fn keys_of(text: &str) -> Result<Vec<String>, Fault> {
    let mut keys = Vec::new();
    let mut reader = Reader::new(text);
    let read = reader.object(|reader, key| {
        keys.push(key.into_owned());
        reader.skip().map(drop)
    });
    if read.is_some() && reader.at_end() {
        return Ok(keys);
    }
    keys_slowly(text)
}

fn keys_slowly(text: &str) -> Result<Vec<String>, Fault> {
    struct Keys;
    impl<'de> Visitor<'de> for Keys {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<String>, A::Error> {
            let mut keys = Vec::new();
            while let Some(Text(key)) = map.next_key()? {
                map.next_value::<serde::de::IgnoredAny>()?;
                keys.push(key.into_owned());
            }
            Ok(keys)
        }
    }
    let mut from = serde_json::Deserializer::from_str(text);
    let keys = from.deserialize_map(Keys)?;
    from.end()?;
    Ok(keys)
}
