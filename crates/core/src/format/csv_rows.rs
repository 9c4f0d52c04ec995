//! CSV exports whose columns are the keys of a JSON export: SpendLogs, Helicone and Langfuse.
//!
//! A row becomes the object that the JSON export would hold, and the reader of that does the rest.

use super::{DecodeContext, LogFormat, csv, helicone, json::Json, langfuse, litellm};
use crate::exchange::{Exchange, RecordKind, RejectReason};

/// An export as CSV.
pub struct CsvRows {
    name: &'static str,
    rows: &'static dyn LogFormat,
}

/// Rows of LiteLLM's spend table.
pub const LITELLM: CsvRows = CsvRows {
    name: "litellm_csv",
    rows: &litellm::Litellm,
};

/// Helicone's export; it has neither answers nor request ids.
pub const HELICONE: CsvRows = CsvRows {
    name: "helicone_csv",
    rows: &helicone::Helicone,
};

/// Langfuse's export.
pub const LANGFUSE: CsvRows = CsvRows {
    name: "langfuse_csv",
    rows: &langfuse::Langfuse,
};

/// A longer first line is no header.
const MAX_HEADER: usize = 8 << 10;

impl LogFormat for CsvRows {
    fn name(&self) -> &'static str {
        self.name
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        // Only the header tells: rows of all exports look alike.
        if record.len() > MAX_HEADER || record.starts_with(b"{") || record.starts_with(b"[") {
            return 0;
        }
        let text = String::from_utf8_lossy(record);
        match csv::object(&text, &text) {
            Some(Json::Object(names)) if names.len() > 2 => {
                self.rows.sniff(Json::Object(names).to_text().as_bytes())
            }
            _ => 0,
        }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let header = context.header.ok_or(RejectReason::UnknownShape)?;
        if record == header {
            return Ok(RecordKind::Other);
        }
        let (row, header) = (
            String::from_utf8_lossy(record),
            String::from_utf8_lossy(header),
        );
        let Some(Json::Object(fields)) = csv::object(&row, &header) else {
            return Err(RejectReason::InvalidField);
        };
        let fields = fields
            .iter()
            .map(|(name, field)| (name.clone(), open(field)));
        let object = Json::Object(fields.collect()).to_text();
        self.rows.decode(object.as_bytes(), context, out)
    }
}

/// A nested value stands in its column as JSON text.
fn open<'j>(field: &'j Json<'_>) -> Json<'j> {
    match field {
        Json::Str(text) if text.starts_with(['{', '[']) => {
            Json::parse(text).unwrap_or_else(|_| Json::Str(text.as_ref().into()))
        }
        Json::Str(text) => Json::Str(text.as_ref().into()),
        _ => Json::Null,
    }
}
