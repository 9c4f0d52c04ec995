//! `exchanges` and `texts`.

use super::{SchemaRef, Table, Word, table};
use crate::cell::PrivateText;
use pentimento_core::exchange::{
    ContentState, Correlation, Modalities, Outcome, Role, TenantCandidate, TimeMicros,
    TimeZoneSource,
};
use serde::{Deserialize, Serialize};

/// The schema of `exchanges`.
pub fn exchanges() -> SchemaRef {
    Table::Exchanges.schema()
}

/// The schema of `texts`.
pub fn texts() -> SchemaRef {
    Table::Texts.schema()
}

table! {
    /// One exchange, without its text.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct ExchangeRow in Exchanges {
        /// First 32 hex digits of BLAKE3 over the raw record and the exchange's index in it
        pub exchange_id: String,
        /// Best id that the client or the gateway knows
        pub request_id: Option<String>,
        /// The call this exchange belongs to: equal for all linked exchanges
        pub call_id: String,
        /// The input it was read from, see sources
        pub source_id: String,
        /// Where its record starts in the decoded input
        #[unit = "bytes"]
        pub source_offset: i64,
        /// Length of its record in the decoded input
        #[unit = "bytes"]
        pub source_length: i64,
        /// Index of the exchange inside its record, from 0
        pub source_index: i64,
        /// Log format of the record
        pub source_format: Word,
        /// Who wrote the record: client, gateway, prefill, decode, unified, batch
        pub role: Role,
        /// The party whose data must not cross; null where no candidate is known
        pub tenant: Option<String>,
        /// Which kind of candidate the tenant was taken from
        pub tenant_kind: Option<String>,
        /// Everything in the record that could be the tenant
        pub tenant_candidates: Vec<TenantCandidate>,
        /// The model after aliases were applied
        pub model: Option<String>,
        /// The model as logged
        pub model_raw: Option<String>,
        /// Deployment, backend or base address
        pub deployment: Option<String>,
        /// Host, pod or worker
        pub node: Option<String>,
        /// Engine name, lower case
        pub engine: Option<String>,
        /// Engine version
        pub engine_version: Option<String>,
        /// Start of the request
        #[kind = Time]
        pub t_start: Option<TimeMicros>,
        /// First token of the response
        #[kind = Time]
        pub t_first_token: Option<TimeMicros>,
        /// From the start to the first token; null where one of the times is not known
        #[unit = "milliseconds"]
        pub first_token_ms: Option<i64>,
        /// End of the response
        #[kind = Time]
        pub t_end: Option<TimeMicros>,
        /// Where the zone of the times came from: utc, offset, assumed, unknown, relative
        pub t_zone: TimeZoneSource,
        /// HTTP status that the client saw; null where the record has none
        pub http_status: Option<i32>,
        /// How it ended: ok, error, aborted, rejected, unknown
        pub outcome: Outcome,
        /// stop, length, tool_calls, content_filter, abort, error; else as logged
        pub finish_reason: Option<String>,
        /// Tokens of the prompt, cached ones included; null where unknown
        #[unit = "tokens"]
        pub prompt_tokens: Option<i64>,
        /// Tokens generated; null where unknown
        #[unit = "tokens"]
        pub completion_tokens: Option<i64>,
        /// Tokens of the prompt served from a cache; null where unknown
        #[unit = "tokens"]
        pub cached_tokens: Option<i64>,
        /// Who counted the tokens: engine, provider, gateway; null where nobody did
        pub tokens_source: Option<Word>,
        /// Tokens of the prompt estimated from its text, where its logged count is missing or
        /// cannot be true and the whole text was there; never mixed with logged counts
        #[unit = "tokens"]
        pub tokens_estimated: Option<i64>,
        /// How they were estimated: script-table-1 (a weight for each character by its script), or
        /// a tokenizer's name
        pub tokens_estimate_method: Option<Word>,
        /// Length of the prompt's text as read
        #[unit = "bytes"]
        pub prompt_bytes: i64,
        /// Length of response, reasoning and tool text as read
        #[unit = "bytes"]
        pub response_bytes: i64,
        /// Keyed hash of the prompt's text; null where there is none
        pub prompt_hmac: Option<String>,
        /// Keyed hash of the response's text; null where there is none
        pub response_hmac: Option<String>,
        /// Smallest prompt that the engine in force may have rejected; null where no capacity is
        /// known
        #[unit = "tokens"]
        pub reject_at_tokens: Option<i64>,
        /// Largest such limit; differs from reject_at_tokens where the node is unknown and pools
        /// differ
        #[unit = "tokens"]
        pub reject_at_max_tokens: Option<i64>,
        /// KV-pool capacity in force; the smallest where the node is unknown
        #[unit = "tokens"]
        pub pool_tokens: Option<i64>,
        /// Context window in force
        #[unit = "tokens"]
        pub window_tokens: Option<i64>,
        /// The capacity epoch in force, see capacity
        pub capacity_id: Option<String>,
        /// How the epoch was found: node, deployment, model, none
        pub capacity_match: Word,
        /// Index of the choice, from 0
        pub choice: i32,
        /// Whether it lies in the audited window; false: read only as a possible source
        pub in_window: bool,
        /// What prompt and response are made of: text, image, audio, file, tool
        pub modalities: Modalities,
        /// How much of the prompt the record holds: full, truncated, ids_only, stateful, redacted,
        /// encrypted, external, absent
        pub prompt_state: ContentState,
        /// How much of the response the record holds; words as in prompt_state
        pub response_state: ContentState,
        /// All ids of the exchange
        pub correlation: Vec<Correlation>,
        /// Speculative decoding: accepted tokens per verification step
        #[unit = "tokens"]
        pub spec_accept_length: Option<f64>,
        /// Answered from a response cache of the gateway
        pub cache_hit: Option<bool>,
        /// Fields that no column takes, as JSON: key, type, length and keyed hash, never content
        pub extra: Option<String>,
        /// The client-facing exchange of its call that handed something over
        pub delivered: bool,
        /// Written by the role of its call that is closest to the client, refusals included
        pub client_facing: bool,
        /// Why it stands outside the count: internal, researcher; null where it does not
        pub excluded: Option<Word>,
        /// Id of one prefill/decode hand-over, as decimal text
        pub bootstrap_room: Option<String>,
        /// Whether the call holds at least one full prompt
        pub own_prompt_complete: bool,
        /// Exchanges of other tenants with text that could be its source
        pub foreign_exchanges: i64,
        /// Whether its response was searched for overlap
        pub judged: bool,
        /// Why it was not searched: text_absent, tenant_unknown, time_unknown, encrypted, ids_only,
        /// not_searched and others; null when judged
        pub unjudged_reason: Option<Word>,
        /// What it could have shared memory with: node/NAME#N for the N-th process of a node,
        /// deployment/NAME where the node is unknown; null where nothing is known
        pub share_group: Option<String>,
        /// The id group whose links were dropped because its exchanges cannot be one call; null
        /// otherwise
        pub collision_id: Option<String>,
        /// What spoke against one call: tenants, exchanges, attempts, models
        pub collision_reason: Option<Word>,
    }
}

impl ExchangeRow {
    /// The time that decides the row's `dt`: start, else first token, else end.
    pub fn event_time(&self) -> Option<TimeMicros> {
        self.t_start.or(self.t_first_token).or(self.t_end)
    }
}

table! {
    /// One text field of one exchange.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TextRow in Texts {
        /// The exchange it belongs to
        pub exchange_id: String,
        /// Which text: prompt, response, reasoning, tool
        pub field: Word,
        /// The text
        pub text: PrivateText,
    }
}

impl ExchangeRow {
    /// A row of which nothing is known yet.
    pub fn blank() -> ExchangeRow {
        ExchangeRow {
            exchange_id: String::new(),
            request_id: None,
            call_id: String::new(),
            source_id: String::new(),
            source_offset: 0,
            source_length: 0,
            source_index: 0,
            source_format: "".into(),
            role: Role::Unified,
            tenant: None,
            tenant_kind: None,
            tenant_candidates: Vec::new(),
            model: None,
            model_raw: None,
            deployment: None,
            node: None,
            engine: None,
            engine_version: None,
            t_start: None,
            t_first_token: None,
            first_token_ms: None,
            t_end: None,
            t_zone: TimeZoneSource::default(),
            http_status: None,
            outcome: Outcome::default(),
            finish_reason: None,
            prompt_tokens: None,
            completion_tokens: None,
            cached_tokens: None,
            tokens_source: None,
            tokens_estimated: None,
            tokens_estimate_method: None,
            prompt_bytes: 0,
            response_bytes: 0,
            prompt_hmac: None,
            response_hmac: None,
            reject_at_tokens: None,
            reject_at_max_tokens: None,
            pool_tokens: None,
            window_tokens: None,
            capacity_id: None,
            capacity_match: "none".into(),
            choice: 0,
            in_window: true,
            modalities: Modalities::default(),
            prompt_state: ContentState::default(),
            response_state: ContentState::default(),
            correlation: Vec::new(),
            spec_accept_length: None,
            cache_hit: None,
            extra: None,
            delivered: false,
            client_facing: false,
            excluded: None,
            bootstrap_room: None,
            own_prompt_complete: false,
            foreign_exchanges: 0,
            judged: false,
            unjudged_reason: None,
            share_group: None,
            collision_id: None,
            collision_reason: None,
        }
    }
}
