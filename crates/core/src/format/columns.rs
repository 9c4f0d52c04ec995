//! The columns that formats fill, by name: what an exchange has, and how two differ.

use crate::exchange::{CorrelationKind, Exchange, FieldText};
use std::borrow::Cow;

/// One column of an exchange.
pub struct Column {
    /// Its name, that of the table where there is one.
    pub name: &'static str,
    /// Its value as text; `None` where the record does not say.
    pub value: for<'e> fn(&'e Exchange) -> Option<Cow<'e, str>>,
    /// The value is text of a prompt or response, which no one may print.
    pub private: bool,
}

/// All of them.
pub const COLUMNS: [Column; 32] = [
    open("request_id", |e| e.request_id.as_deref().map(Cow::Borrowed)),
    open("tenant_candidates", tenants),
    open("model", |e| e.model_raw.as_deref().map(Cow::Borrowed)),
    open("deployment", |e| e.deployment.as_deref().map(Cow::Borrowed)),
    open("node", |e| e.node.as_deref().map(Cow::Borrowed)),
    open("role", |e| e.role.map(|r| Cow::Borrowed(r.as_str()))),
    open("engine", |e| e.engine.as_deref().map(Cow::Borrowed)),
    open("engine_version", |e| {
        e.engine_version.as_deref().map(Cow::Borrowed)
    }),
    open("t_start", |e| e.t_start.map(moment)),
    open("t_first_token", |e| e.t_first_token.map(moment)),
    open("t_end", |e| e.t_end.map(moment)),
    open("t_zone", |e| Some(e.t_zone.as_str().into())),
    open("http_status", |e| number(e.http_status.map(i64::from))),
    open("outcome", |e| Some(e.outcome.as_str().into())),
    open("finish_reason", |e| {
        e.finish_reason.as_deref().map(Cow::Borrowed)
    }),
    open("prompt_tokens", |e| number(e.prompt_tokens)),
    open("completion_tokens", |e| number(e.completion_tokens)),
    open("cached_tokens", |e| number(e.cached_tokens)),
    open("tokens_source", |e| e.tokens_source.map(Cow::Borrowed)),
    open("choice", |e| {
        number(Some(i64::from(e.choice)).filter(|c| *c > 0))
    }),
    open("cache_hit", |e| {
        e.cache_hit.map(|hit| hit.to_string().into())
    }),
    open("spec_accept_length", |e| {
        e.spec_accept_length.map(|x| x.to_string().into())
    }),
    open("bootstrap_room", |e| {
        let room = e
            .correlation
            .iter()
            .find(|c| c.kind == CorrelationKind::BootstrapRoom);
        room.map(|c| Cow::Borrowed(c.value.as_str()))
    }),
    open("linking_ids", |e| ids(e, true)),
    open("grouping_ids", |e| ids(e, false)),
    open("prompt_state", |e| Some(e.prompt_state.as_str().into())),
    open("response_state", |e| Some(e.response_state.as_str().into())),
    open("modalities", |e| {
        joined(e.modalities.names().map(str::to_owned).collect())
    }),
    private("prompt", |e| text(&e.prompt)),
    private("response", |e| text(&e.response)),
    private("reasoning", |e| text(&e.reasoning)),
    private("tool", |e| text(&e.tool)),
];

type Value = for<'e> fn(&'e Exchange) -> Option<Cow<'e, str>>;

const fn open(name: &'static str, value: Value) -> Column {
    Column {
        name,
        value,
        private: false,
    }
}

const fn private(name: &'static str, value: Value) -> Column {
    Column {
        name,
        value,
        private: true,
    }
}

fn text(field: &Option<FieldText>) -> Option<Cow<'_, str>> {
    field.as_ref().map(|f| Cow::Borrowed(f.text.as_str()))
}

fn number<'e>(value: Option<i64>) -> Option<Cow<'e, str>> {
    value.map(|n| n.to_string().into())
}

fn moment<'e>(micros: i64) -> Cow<'e, str> {
    let stamp = jiff::Timestamp::from_microsecond(micros);
    stamp.map_or_else(|_| micros.to_string().into(), |t| t.to_string().into())
}

fn joined<'e>(parts: Vec<String>) -> Option<Cow<'e, str>> {
    (!parts.is_empty()).then(|| parts.join(", ").into())
}

fn tenants(exchange: &Exchange) -> Option<Cow<'_, str>> {
    let all = exchange.tenant_candidates.iter();
    joined(all.map(|c| format!("{}:{}", c.kind, c.value)).collect())
}

fn ids(exchange: &Exchange, links: bool) -> Option<Cow<'_, str>> {
    let all = exchange
        .correlation
        .iter()
        .filter(|c| c.kind.links() == links);
    joined(
        all.map(|c| format!("{}:{}", c.kind.as_str(), c.value))
            .collect(),
    )
}
