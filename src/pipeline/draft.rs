//! What a worker makes of one record: rows without text, link keys and digests.
//!
//! Text is looked at here and dropped here. What leaves is lengths, keyed hashes and ids.

use pentimento_core::engine::EngineEvent;
use pentimento_core::estimate::{TokenCounter, prompt_estimate};
use pentimento_core::exchange::{
    ContentState, CorrelationKind, Exchange, ExtraField, FieldText, RecordKind, RejectReason,
    TenantCandidate,
};
use pentimento_core::format::frame::{Block, JoinedRows, RecordSpan};
use pentimento_core::format::{DecodeContext, LogFormat};
use pentimento_core::link::link_key;
use pentimento_store::rows::ExchangeRow;
use pentimento_store::{KeyedHasher, keyed_hash};
use std::borrow::Cow;

/// One exchange of a record, before anything is known of other records.
pub struct Draft {
    /// The row; ids of call and capacity and the like are filled later.
    pub row: ExchangeRow,
    /// Keys that may link it.
    pub links: Vec<(u128, CorrelationKind)>,
    /// Engine id of a first half, or that a finished record may complete.
    pub engine_key: Option<u64>,
    /// Only the first half of an exchange.
    pub half: bool,
    /// The record's format carries a unique id and this one has it.
    pub unique_id: bool,
    /// The role was stated by the record.
    pub role_stated: bool,
    /// Number of the call inside the record; choices of one call have the same.
    pub part: u32,
}

/// One record.
pub struct RecordOut {
    /// Offset of the record in the decoded source.
    pub offset: u64,
    /// Its length in bytes; where it was put together from rows, that of the first.
    pub length: u64,
    /// BLAKE3 of its bytes; where they became exchanges, with the index 0 behind them, which is
    /// what the id of the first one is made of.
    pub digest: [u8; 32],
    /// What it turned out to be.
    pub kind: Result<RecordKind, RejectReason>,
    /// Its exchanges.
    pub drafts: Vec<Draft>,
    /// Its engine events.
    pub events: Vec<EngineEvent>,
    /// The rows of the source that it was put together from; `None` for an ordinary record.
    pub joined: Option<JoinedRows>,
}

/// What becomes of a record on which its decoder hangs.
pub fn hung(block: &Block, span: &RecordSpan) -> RecordOut {
    let raw = block.record(span);
    let joined = block.joined_rows(span);
    let first = joined.and_then(JoinedRows::first);
    RecordOut {
        offset: block.offset(span),
        length: first.map_or(raw.len() as u64, |row| u64::from(row.1)),
        digest: *blake3::hash(raw).as_bytes(),
        kind: Err(RejectReason::Hang),
        drafts: Vec::new(),
        events: Vec::new(),
        joined: joined.cloned(),
    }
}

/// The id of an exchange: the first 32 hex digits of BLAKE3 over the raw record and its index as
/// eight little-endian bytes. Equal records that are kept apart count on in steps of 2^32.
pub fn exchange_id(raw: &[u8], index: u64) -> String {
    let mut hasher = blake3::Hasher::new();
    short_hex(&indexed(hasher.update(raw), index))
}

/// The hash of the bytes that `raw` took, with an index behind them.
fn indexed(raw: &blake3::Hasher, index: u64) -> blake3::Hash {
    raw.clone().update(&index.to_le_bytes()).finalize()
}

fn short_hex(hash: &blake3::Hash) -> String {
    hash.to_hex()[..32].to_string()
}

/// Decodes one record of a block.
pub fn record_out(
    block: &Block,
    span: &RecordSpan,
    format: &dyn LogFormat,
    context: &DecodeContext<'_>,
    case_key: &[u8; 32],
    counter: &dyn TokenCounter,
) -> RecordOut {
    let (raw, offset) = (block.record(span), block.offset(span));
    let joined = block.joined_rows(span);
    let first = joined.and_then(JoinedRows::first);
    let length = first.map_or(raw.len() as u64, |row| u64::from(row.1));
    let mut exchanges = Vec::new();
    let kind = format
        .decode(raw, context, &mut exchanges)
        .map_err(|reason| span.reason(reason));
    let mut hasher = blake3::Hasher::new();
    hasher.update(raw);
    let digest = match kind {
        Ok(_) => indexed(&hasher, 0),
        Err(_) => hasher.finalize(),
    };
    let drafts = if kind.is_ok() {
        exchanges
            .into_iter()
            .enumerate()
            .map(|(index, exchange)| {
                let mut draft = draft(exchange, format.name(), case_key, counter);
                draft.row.exchange_id = match index {
                    0 => short_hex(&digest),
                    _ => short_hex(&indexed(&hasher, index as u64)),
                };
                draft.row.source_offset = offset as i64;
                draft.row.source_length = length as i64;
                draft.row.source_index = index as i64;
                draft
            })
            .collect()
    } else {
        Vec::new()
    };
    let mut events = Vec::new();
    if kind == Ok(RecordKind::Event) {
        format.events(raw, context, &mut events);
    }
    RecordOut {
        offset,
        length,
        digest: *digest.as_bytes(),
        kind,
        drafts,
        events,
        joined: joined.cloned(),
    }
}

fn draft(e: Exchange, format: &'static str, key: &[u8; 32], counter: &dyn TokenCounter) -> Draft {
    let estimated = prompt_estimate(&e, counter);
    let links = e
        .correlation
        .iter()
        .filter_map(|c| link_key(c.kind, &c.value).map(|k| (k, c.kind)))
        .collect();
    let id = |kind| e.correlation.iter().find(|c| c.kind == kind);
    let engine_key =
        id(CorrelationKind::EngineRid).map(|c| xxhash_rust::xxh3::xxh3_64(c.value.as_bytes()));
    let room = id(CorrelationKind::BootstrapRoom).map(|c| c.value.clone());
    let response = [&e.response, &e.reasoning, &e.tool];
    let response_bytes: usize = response
        .iter()
        .copied()
        .flatten()
        .map(|f| f.text.len())
        .sum();
    let row = ExchangeRow {
        request_id: e.request_id,
        source_format: Cow::Borrowed(format),
        role: e.role.unwrap_or(pentimento_core::exchange::Role::Unified),
        tenant_candidates: tidy_candidates(e.tenant_candidates, key),
        model_raw: e.model_raw,
        deployment: e.deployment,
        node: e.node,
        engine: e.engine,
        engine_version: e.engine_version,
        t_start: e.t_start,
        t_first_token: e.t_first_token,
        first_token_ms: e
            .t_start
            .zip(e.t_first_token)
            .map(|(a, b)| b.saturating_sub(a).div_euclid(1000)),
        t_end: e.t_end,
        t_zone: e.t_zone,
        http_status: e.http_status.map(i32::from),
        outcome: e.outcome,
        finish_reason: e.finish_reason.map(|r| safe_value(r, key)),
        prompt_tokens: e.prompt_tokens,
        completion_tokens: e.completion_tokens,
        cached_tokens: e.cached_tokens,
        tokens_source: e.tokens_source.map(Cow::Borrowed),
        tokens_estimated: estimated,
        tokens_estimate_method: estimated.map(|_| counter.method().to_owned().into()),
        prompt_bytes: e.prompt.as_ref().map_or(0, |f| f.text.len()) as i64,
        response_bytes: response_bytes as i64,
        prompt_hmac: text_hmac(key, "prompt", &[&e.prompt]),
        response_hmac: text_hmac(key, "response", &response),
        choice: e.choice as i32,
        modalities: e.modalities,
        prompt_state: state_of(e.prompt_state, e.prompt.as_ref()),
        response_state: e.response_state,
        correlation: e.correlation,
        spec_accept_length: e.spec_accept_length,
        cache_hit: e.cache_hit,
        extra: extra_json(&e.extra, key),
        bootstrap_room: room,
        ..ExchangeRow::blank()
    };
    Draft {
        row,
        links,
        engine_key,
        half: e.half,
        unique_id: e.unique_id,
        role_stated: e.role.is_some(),
        part: e.part,
    }
}

/// A prompt that is said to be full but is not there is absent.
fn state_of(state: ContentState, text: Option<&FieldText>) -> ContentState {
    match (state, text) {
        (ContentState::Full, None) => ContentState::Absent,
        _ => state,
    }
}

/// Candidates in their order, each once. Headers and labels hold whatever a client sends.
fn tidy_candidates(candidates: Vec<TenantCandidate>, key: &[u8; 32]) -> Vec<TenantCandidate> {
    let mut out: Vec<TenantCandidate> = Vec::with_capacity(candidates.len());
    for mut candidate in candidates {
        if let Some((of, name)) = candidate.kind.split_once(':') {
            candidate.kind = format!("{of}:{}", safe_key(name, key));
            candidate.value = safe_value(candidate.value, key);
        }
        if !candidate.value.is_empty() && !out.contains(&candidate) {
            out.push(candidate);
        }
    }
    out
}

fn text_hmac(key: &[u8; 32], domain: &str, fields: &[&Option<FieldText>]) -> Option<String> {
    let present: Vec<&FieldText> = fields.iter().filter_map(|f| f.as_ref()).collect();
    match present.as_slice() {
        [] => None,
        [one] if fields.len() == 1 => Some(keyed_hash(key, domain, one.text.as_bytes())),
        _ => {
            // Lengths keep `a` + `bc` apart from `ab` + `c`.
            let mut hasher = KeyedHasher::new(key, domain);
            for field in fields {
                let text = field.as_ref().map_or("", |f| f.text.as_str());
                hasher.update(&(text.len() as u64).to_le_bytes());
                hasher.update(text.as_bytes());
            }
            Some(hasher.finish())
        }
    }
}

/// Longest key of an unknown field that is kept as it is: keys are chosen by programs, but a map
/// keyed by user text must not carry it into the case.
const MAX_KEY_BYTES: usize = 48;
/// Unknown fields kept of one record.
const MAX_EXTRA_FIELDS: usize = 64;

fn extra_json(extra: &[ExtraField], key: &[u8; 32]) -> Option<String> {
    if extra.is_empty() {
        return None;
    }
    let mut fields: Vec<&ExtraField> = extra.iter().collect();
    fields.sort_by(|a, b| a.key.cmp(&b.key));
    let mut list: Vec<serde_json::Value> = fields
        .iter()
        .take(MAX_EXTRA_FIELDS)
        .map(|f| {
            serde_json::json!({
                "key": safe_key(&f.key, key),
                "type": f.json_type,
                "bytes": f.raw.len(),
                "hmac": keyed_hash(key, "extra", &f.raw),
            })
        })
        .collect();
    if fields.len() > MAX_EXTRA_FIELDS {
        list.push(serde_json::json!({ "more_fields": fields.len() - MAX_EXTRA_FIELDS }));
    }
    Some(serde_json::Value::Array(list).to_string())
}

/// Words of a value that is no longer a name.
const FIRST_TEXT_WORDS: usize = 4;

/// A value that may be running text becomes its keyed hash, which still tells values apart.
pub(super) fn safe_value(value: String, key: &[u8; 32]) -> String {
    let words = value
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty());
    // A name without spaces, such as an id with dashes, is no text however many parts it has.
    let text = value.contains(char::is_whitespace) && words.count() >= FIRST_TEXT_WORDS;
    let dense = !value.is_ascii() && value.chars().count() > MAX_KEY_BYTES / 2;
    if text || dense || value.len() > 4 * MAX_KEY_BYTES {
        format!("hmac:{}", keyed_hash(key, "value", value.as_bytes()))
    } else {
        value
    }
}

/// A key that looks like a name stays, anything else becomes its keyed hash.
fn safe_key(name: &str, key: &[u8; 32]) -> String {
    let plain = name.len() <= MAX_KEY_BYTES
        && !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-.:/".contains(c));
    if plain {
        name.to_string()
    } else {
        format!("hmac:{}", keyed_hash(key, "extra key", name.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_fixed_and_indexed() {
        let id = exchange_id(b"record", 0);
        assert_eq!(id.len(), 32);
        assert_ne!(id, exchange_id(b"record", 1));
        let mut joined = b"record".to_vec();
        joined.extend_from_slice(&[0; 8]);
        assert_eq!(id, blake3::hash(&joined).to_hex()[..32]);
    }

    #[test]
    fn unknown_fields_keep_no_content() {
        let key = [7; 32];
        let field = |name: &str| ExtraField {
            key: name.into(),
            json_type: "string",
            raw: b"\"the quick brown fox jumps\"".to_vec(),
        };
        let json = extra_json(&[field("note"), field("the quick brown fox jumps")], &key)
            .expect("two fields");
        assert!(json.contains("\"note\""), "{json}");
        assert!(!json.contains("quick"), "{json}");
    }
}
