//! Azure's public LLM inference traces of 2023 and 2024 (CSV): time and lengths.

use super::body::finish;
use super::{DecodeContext, LogFormat, csv, time};
use crate::exchange::{Exchange, RecordKind, RejectReason, Role};

/// The format; see the module.
pub struct AzureTrace;

const HEADER: [&str; 3] = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"];

/// The fields of a row, and whether it is the header.
fn row(record: &[u8]) -> Option<(bool, Vec<std::borrow::Cow<'_, str>>)> {
    let text = std::str::from_utf8(record).ok()?;
    let fields = csv::fields(text).filter(|fields| fields.len() == HEADER.len())?;
    let header = fields.iter().zip(HEADER).all(|(f, name)| f.trim() == name);
    Some((header, fields))
}

impl LogFormat for AzureTrace {
    fn name(&self) -> &'static str {
        "azure_trace"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        match row(record) {
            Some((true, _)) => 100,
            // Pieces of a split file have no header.
            Some((false, fields)) => {
                let dated = fields[0].get(..10).map(str::parse::<jiff::civil::Date>);
                let counts = fields[1..].iter().all(|f| f.trim().parse::<u32>().is_ok());
                if matches!(dated, Some(Ok(_))) && counts {
                    60
                } else {
                    0
                }
            }
            None => 0,
        }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let (header, fields) = row(record).ok_or(RejectReason::UnknownShape)?;
        if header {
            return Ok(RecordKind::Other);
        }
        let count = |at: usize| {
            let number = fields.get(at)?.trim().parse::<i64>().ok()?;
            (number >= 0).then_some(number)
        };
        let stamp = fields.first().ok_or(RejectReason::UnknownShape)?;
        let (t_start, t_zone) = time::read_text(stamp, context.zone)?;
        let mut exchange = Exchange {
            role: Some(Role::Gateway),
            t_start,
            t_zone,
            prompt_tokens: Some(count(1).ok_or(RejectReason::InvalidField)?),
            completion_tokens: Some(count(2).ok_or(RejectReason::InvalidField)?),
            tokens_source: Some("engine"),
            ..Exchange::default()
        };
        finish(&mut exchange);
        out.push(exchange);
        Ok(RecordKind::Exchange)
    }
}
