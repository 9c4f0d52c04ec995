//! One request of a log record: fields to columns.

use super::super::body::{self, add_correlation, extra_field, push_candidate, push_correlation};
use super::super::headers::push_header;
use super::super::json::Json;
use super::super::{DecodeContext, markers, time};
use crate::exchange::{
    ContentState, CorrelationKind, Exchange, FieldText, Modalities, Outcome, RejectReason, Role,
    TimeMicros, TimeZoneSource,
};

/// Characters that level 2 keeps at each end of a text (`request_logger.py`, 2048 / 2).
const KEPT_CHARS: usize = 1024;

/// Headers and labels that are looked at; a batch repeats them for each of its requests.
const MAX_NAMES: usize = 64;

/// What level 2 writes between the ends.
pub(super) const ELLIPSIS: &str = "...";

/// Unix seconds below this are no wall clock but a process's own.
const FIRST_UNIX_SECOND: f64 = 1.0e9;

/// Fields of `obj` that are read into columns, or hold token ids.
const OBJ_READ: [&str; 14] = [
    "rid",
    "text",
    "input_ids",
    "input_embeds",
    "session_id",
    "conversation_id",
    "routing_key",
    "custom_labels",
    "bootstrap_room",
    "image_data",
    "audio_data",
    "video_data",
    "received_time",
    "stream",
];

/// Fields of `meta_info` that are read into columns, or hold token ids or times.
const META_READ: [&str; 15] = [
    "id",
    "finish_reason",
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "e2e_latency",
    "spec_accept_length",
    "request_received_ts",
    "request_finished_ts",
    "response_sent_to_client_ts",
    "first_token_latency",
    "input_token_logprobs",
    "output_token_logprobs",
    "input_top_logprobs",
    "output_top_logprobs",
];

/// An item of a batch field; a field that is no list holds for all items.
pub(super) fn nth<'j, 'a>(value: &'j Json<'a>, index: usize) -> Option<&'j Json<'a>> {
    match value {
        Json::Array(items) => items.get(index),
        other => Some(other),
    }
    .filter(|v| !matches!(v, Json::Null))
}

/// One request of a record; native batches log many in one.
pub(super) struct Item<'r, 'a> {
    pub record: &'r Json<'a>,
    pub obj: &'r Json<'a>,
    pub out: Option<&'r Json<'a>>,
    pub index: usize,
    pub half: bool,
    pub batch: bool,
}

impl<'r, 'a> Item<'r, 'a> {
    fn obj_value(&self, key: &str) -> Option<&'r Json<'a>> {
        self.obj.some(key).and_then(|value| nth(value, self.index))
    }

    fn meta(&self, key: &str) -> Option<&'r Json<'a>> {
        self.out?.at(&["meta_info", key])
    }

    fn count(&self, key: &str) -> Option<i64> {
        self.meta(key).and_then(Json::as_i64).filter(|n| *n >= 0)
    }

    pub fn exchange(
        &self,
        stamp: time::ReadTime,
        context: &DecodeContext<'_>,
    ) -> Result<Exchange, RejectReason> {
        let mut exchange = Exchange {
            engine: Some("sglang".to_owned()),
            node: host_of(context.source_name),
            half: self.half,
            prompt_tokens: self.count("prompt_tokens"),
            completion_tokens: self.count("completion_tokens"),
            cached_tokens: self.count("cached_tokens"),
            spec_accept_length: self.meta("spec_accept_length").and_then(Json::as_f64),
            ..Exchange::default()
        };
        if exchange
            .prompt_tokens
            .or(exchange.completion_tokens)
            .is_some()
        {
            exchange.tokens_source = Some("engine");
        }
        self.ids(&mut exchange)?;
        self.tenants(&mut exchange);
        self.times(&mut exchange, stamp);
        self.ending(&mut exchange);
        exchange.role = self.role(&exchange, context.source_name);
        self.prompt(&mut exchange);
        if !self.half {
            self.response(&mut exchange);
        }
        if self.obj_value("no_logs").and_then(Json::as_bool) == Some(true) {
            // The caller asked for no log; that the logger did not listen is no licence to read.
            // `obj.no_logs` among the extra fields counts such rows.
            exchange.prompt = None;
            exchange.response = None;
            exchange.prompt_state = ContentState::Redacted;
            exchange.response_state = ContentState::Redacted;
        }
        self.extra(&mut exchange);
        let modalities = exchange.modalities;
        body::finish(&mut exchange);
        exchange.modalities.insert(modalities);
        if self.half {
            exchange.outcome = Outcome::Unknown;
        }
        Ok(exchange)
    }

    fn ids(&self, exchange: &mut Exchange) -> Result<(), RejectReason> {
        let rid = self
            .record
            .some("rid")
            .and_then(|rid| nth(rid, self.index))
            .or_else(|| self.meta("id"))
            .or_else(|| self.obj_value("rid"));
        let rid = rid.and_then(Json::as_id);
        if let Some(room) = self.obj_value("bootstrap_room") {
            // A float would have lost the low digits of the room, and with them the join.
            let room = room.as_id().ok_or(RejectReason::InvalidField)?;
            add_correlation(exchange, CorrelationKind::BootstrapRoom, room);
        }
        exchange.unique_id = rid.is_some();
        exchange.request_id = rid.clone();
        if let Some(rid) = rid {
            add_correlation(exchange, CorrelationKind::EngineRid, rid);
        }
        for (key, kind) in [
            ("session_id", CorrelationKind::SessionId),
            ("conversation_id", CorrelationKind::ConversationId),
        ] {
            push_correlation(exchange, kind, self.obj_value(key));
        }
        Ok(())
    }

    fn tenants(&self, exchange: &mut Exchange) {
        for (name, value) in self
            .record
            .get("headers")
            .map(Json::entries)
            .unwrap_or_default()
        {
            let value = nth(value, 0);
            let name = name.to_ascii_lowercase();
            match name.as_str() {
                // One request of a batch is not the call of the others.
                "x-request-id" if self.batch => {}
                "x-request-id" => {
                    push_correlation(exchange, CorrelationKind::XRequestId, value);
                    if let Some(id) = value.and_then(Json::as_id) {
                        exchange.request_id = Some(id);
                    }
                }
                "traceparent" => {
                    let trace = value
                        .and_then(Json::as_str)
                        .and_then(|v| v.split('-').nth(1));
                    if let Some(trace) = trace.filter(|t| t.len() == 32) {
                        add_correlation(exchange, CorrelationKind::TraceId, trace.to_owned());
                    }
                }
                _ => {
                    if let Some(value) = value {
                        push_header(&mut exchange.tenant_candidates, &name, value);
                    }
                }
            }
        }
        for (name, value) in self
            .obj_value("custom_labels")
            .map(Json::entries)
            .unwrap_or_default()
            .iter()
            .take(MAX_NAMES)
        {
            let kind = format!("label:{name}");
            push_candidate(&mut exchange.tenant_candidates, &kind, Some(value));
        }
        let key = self.obj_value("routing_key");
        push_candidate(&mut exchange.tenant_candidates, "routing_key", key);
    }

    /// Unix seconds, where the engine logs them, are UTC whatever zone the host has.
    fn unix(&self, key: &str) -> Option<TimeMicros> {
        let value = self.meta(key)?;
        value.as_f64().filter(|s| *s >= FIRST_UNIX_SECOND)?;
        time::from_seconds(value)
    }

    fn seconds(&self, key: &str) -> Option<TimeMicros> {
        let seconds = self.meta(key).and_then(Json::as_f64)?;
        (0.0..1.0e7)
            .contains(&seconds)
            .then(|| (seconds * 1e6).round() as TimeMicros)
    }

    fn times(&self, exchange: &mut Exchange, stamp: time::ReadTime) {
        let received = self.obj_value("received_time").filter(|v| {
            let seconds = v.as_f64();
            seconds.is_some_and(|s| s >= FIRST_UNIX_SECOND)
        });
        let received = received.and_then(time::from_seconds);
        let (naive, zone) = stamp;
        if self.half {
            exchange.t_start = received.or(naive);
            exchange.t_zone = if received.is_some() {
                TimeZoneSource::Utc
            } else {
                zone
            };
            return;
        }
        let unix_start = self.unix("request_received_ts").or(received);
        let unix_end = self
            .unix("request_finished_ts")
            .or_else(|| self.unix("response_sent_to_client_ts"));
        let latency = self.seconds("e2e_latency");
        let add = |time: Option<TimeMicros>| time?.checked_add(latency?);
        let end = unix_end.or_else(|| add(unix_start));
        exchange.t_end = end.or(naive);
        exchange.t_start = unix_start.or_else(|| exchange.t_end?.checked_sub(latency?));
        exchange.t_zone = if end.is_some() {
            TimeZoneSource::Utc
        } else {
            zone
        };
        let first = self.seconds("first_token_latency");
        exchange.t_first_token = exchange
            .t_start
            .zip(first)
            .and_then(|(start, first)| start.checked_add(first));
    }

    fn ending(&self, exchange: &mut Exchange) {
        let Some(finish) = self.meta("finish_reason") else {
            return;
        };
        exchange.finish_reason = body::finish_of(finish);
        if exchange.finish_reason.as_deref() == Some("abort") {
            exchange.outcome = Outcome::Aborted;
            // A stream that was under way had its 200 already, whatever the engine says then.
            let streamed = self.obj_value("stream").and_then(Json::as_bool) == Some(true);
            if streamed && exchange.completion_tokens > Some(1) {
                return;
            }
            let status = finish.some("status_code").and_then(Json::as_i64);
            exchange.http_status = status
                .and_then(|s| u16::try_from(s).ok())
                .filter(|s| *s > 0);
        }
    }

    fn role(&self, exchange: &Exchange, source_name: &str) -> Option<Role> {
        if self.obj_value("bootstrap_room").is_none() {
            return Some(Role::Unified);
        }
        let name = source_name.to_ascii_lowercase();
        match (name.contains("prefill"), name.contains("decode")) {
            (true, false) => return Some(Role::Prefill),
            (false, true) => return Some(Role::Decode),
            _ => {}
        }
        let finish = self.meta("finish_reason")?;
        let generated = exchange.completion_tokens.unwrap_or(0);
        match finish.str_of("type") {
            // A prefill node generates one token and reports a limit of none.
            Some("length") if finish.some("length").and_then(Json::as_i64) == Some(0) => {
                Some(Role::Prefill)
            }
            // An abort before any further token happens on both sides; one prompt token for
            // many ids is the stub that only a prefill node counts.
            Some("abort") if generated <= 1 => {
                let ids = self.input_ids().map_or(0, |ids| ids.items().len());
                (exchange.prompt_tokens == Some(1) && ids > 1).then_some(Role::Prefill)
            }
            _ => Some(Role::Decode),
        }
    }

    /// Token ids of the prompt: of a batch, those of this item.
    fn input_ids(&self) -> Option<&'r Json<'a>> {
        let ids = self.obj.some("input_ids")?;
        let lists = ids
            .items()
            .iter()
            .any(|item| matches!(item, Json::Array(_)));
        if lists {
            nth(ids, self.index)
        } else {
            Some(ids)
        }
    }

    fn prompt(&self, exchange: &mut Exchange) {
        for (key, kind) in [
            ("image_data", Modalities::IMAGE),
            ("audio_data", Modalities::AUDIO),
            ("video_data", Modalities::FILE),
        ] {
            if self.obj_value(key).is_some() {
                exchange.modalities.insert(kind);
            }
        }
        match self.obj_value("text") {
            Some(Json::Str(text)) => {
                let (field, state) = field_of(text);
                exchange.prompt = Some(field);
                exchange.prompt_state = state;
                exchange.modalities.insert(Modalities::TEXT);
            }
            _ if self.input_ids().is_some() => exchange.prompt_state = ContentState::IdsOnly,
            _ => {}
        }
        // A session splices the new tokens into a context that only the engine holds.
        let session = self.obj_value("session_params");
        if session.is_some_and(|s| s.any(&["id", "rid"]).is_some()) {
            exchange.prompt_state = ContentState::Stateful;
        }
    }

    fn response(&self, exchange: &mut Exchange) {
        let Some(out) = self.out else { return };
        let ids = out.some("output_ids").map(Json::items).unwrap_or_default();
        let generated = exchange.completion_tokens.unwrap_or(0);
        match out.some("text") {
            Some(Json::Str(text)) if !text.is_empty() || ids.is_empty() || generated <= 1 => {
                let (mut field, mut state) = field_of(text);
                let cut_ids = ids.iter().any(|id| id.as_str().is_some());
                // With incremental output only the last piece of a stream is logged.
                let streamed = self.obj_value("stream").and_then(Json::as_bool) == Some(true);
                if streamed && !ids.is_empty() && !cut_ids && (ids.len() as i64) + 1 < generated {
                    markers::cut(&mut field, 0..0);
                    state = ContentState::Truncated;
                }
                exchange.response = Some(field);
                exchange.response_state = state;
            }
            _ if !ids.is_empty() => exchange.response_state = ContentState::IdsOnly,
            _ => {}
        }
    }

    fn extra(&self, exchange: &mut Exchange) {
        if self.index > 0 {
            // They belong to the whole batch and stand with its first request.
            return;
        }
        let fields = |value: &'r Json<'a>, prefix: &'static str, read: &'static [&'static str]| {
            value
                .entries()
                .iter()
                .filter(|(key, value)| !read.contains(&&**key) && !matches!(value, Json::Null))
                // A flag that is not set is on every line and says nothing.
                .filter(|(key, value)| key != "no_logs" || value.as_bool() == Some(true))
                .map(move |(key, value)| extra_field(&format!("{prefix}{key}"), value))
        };
        exchange.extra.extend(fields(self.obj, "obj.", &OBJ_READ));
        if let Some(meta) = self.out.and_then(|out| out.some("meta_info")) {
            exchange
                .extra
                .extend(fields(meta, "out.meta_info.", &META_READ));
        }
        let top = ["timestamp", "event", "rid", "obj", "headers", "out"];
        for (key, value) in self.record.entries() {
            if !top.contains(&&**key) {
                exchange.extra.push(extra_field(key, value));
            }
        }
    }
}

/// A text and how much of it is here: level 2 cuts the middle out.
fn field_of(text: &str) -> (FieldText, ContentState) {
    let mut field = FieldText::of(text);
    let marked = markers::seal(&mut field);
    if let Some(at) = cut_middle(text) {
        markers::cut(&mut field, at..at + ELLIPSIS.len());
        return (field, ContentState::Truncated);
    }
    (field, marked.unwrap_or(ContentState::Full))
}

/// Byte position of the dots, where a text has the exact shape that level 2 leaves behind.
pub(super) fn cut_middle(text: &str) -> Option<usize> {
    let whole = 2 * KEPT_CHARS + ELLIPSIS.len();
    if !(whole..=4 * whole).contains(&text.len()) || text.chars().count() != whole {
        return None;
    }
    let (at, _) = text.char_indices().nth(KEPT_CHARS)?;
    text.get(at..)?.starts_with(ELLIPSIS).then_some(at)
}

/// The host in `{hostname}_{rank}.log`, rotated or compressed or not.
pub(super) fn host_of(source_name: &str) -> Option<String> {
    let (stem, _) = source_name.split_once(".log")?;
    let (host, rank) = stem.rsplit_once('_')?;
    let ranked = !rank.is_empty() && rank.bytes().all(|b| b.is_ascii_digit());
    // The metrics export has date and hour in these places.
    let dated = host.starts_with("sglang-request-metrics");
    (ranked && !dated && !host.is_empty()).then(|| host.to_owned())
}
