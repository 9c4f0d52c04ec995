//! SGLang's metrics export (`--export-metrics-to-file`): one JSON object a finished request.
//!
//! All that the engine knows of the answer stands at the top; the request is JSON in the string
//! `request_parameters`. The file names no host, and without `--enable-metrics` no time.

use super::item::Item;
use crate::exchange::{Exchange, RecordKind, RejectReason, TimeZoneSource};
use crate::format::json::{Fault, Json, decode_lenient};
use crate::format::{DecodeContext, LogFormat, native};
use std::borrow::Cow;

/// The format; see the module.
pub struct SglangMetrics;

/// Fields of the answer that are no facts about it.
const CONTENT: [&str; 2] = ["text", "output_ids"];

/// Fields that a record may have; the engine's own has about sixty.
const MAX_FIELDS: usize = 1024;

impl LogFormat for SglangMetrics {
    fn name(&self) -> &'static str {
        "sglang_metrics"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let Ok(keys) = decode_lenient(record, native::keys_of) else {
            return 0;
        };
        let has = |key: &str| keys.iter().any(|k| k == key);
        match has("request_parameters") {
            true if has("finish_reason") => 100,
            true if has("prompt_tokens") => 80,
            _ => 0,
        }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let exchange = decode_lenient(record, |text| decode_export(Json::parse(text)?, context))?;
        out.push(exchange);
        Ok(RecordKind::Exchange)
    }
}

fn decode_export(record: Json<'_>, context: &DecodeContext<'_>) -> Result<Exchange, Fault> {
    let Json::Object(entries) = record else {
        return Err(RejectReason::UnknownShape.into());
    };
    if entries.len() > MAX_FIELDS {
        return Err(RejectReason::InvalidField.into());
    }
    let mut parameters = None;
    let mut meta = Vec::new();
    let mut out = Vec::new();
    for (key, value) in entries {
        match &*key {
            "request_parameters" => parameters = Some(value),
            key_name if CONTENT.contains(&key_name) => out.push((key, value)),
            _ => meta.push((key, value)),
        }
    }
    let Some(Json::Str(parameters)) = parameters else {
        return Err(RejectReason::UnknownShape.into());
    };
    // Parameters that are no JSON leave the facts of the answer, which stand apart from them.
    let obj = Json::parse(&parameters)
        .ok()
        .filter(|p| matches!(p, Json::Object(_)));
    let obj = obj.unwrap_or(Json::Object(Vec::new()));
    let index = index_in_batch(&obj, &meta);
    out.push((Cow::Borrowed("meta_info"), Json::Object(meta)));
    let item = Item {
        record: &Json::Object(Vec::new()),
        obj: &obj,
        out: Some(&Json::Object(out)),
        index: index.unwrap_or(0),
        half: false,
        batch: index.is_some(),
    };
    Ok(item.exchange((None, TimeZoneSource::Unknown), context)?)
}

/// The place of the answer among the requests of a batch, told by its id.
fn index_in_batch(obj: &Json<'_>, meta: &[(Cow<'_, str>, Json<'_>)]) -> Option<usize> {
    let id = meta.iter().find(|(key, _)| key == "id")?.1.as_str()?;
    let rids = obj.some("rid")?.items();
    rids.iter().position(|rid| rid.as_str() == Some(id))
}
