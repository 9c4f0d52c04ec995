//! The public BurstGPT traces (CSV): relative time and lengths. The first release lacks session
//! and elapsed time; in a piece without its header the number of columns tells the releases apart.

use super::body::{add_correlation, extra_field, finish};
use super::json::Json;
use super::{DecodeContext, LogFormat, csv};
use crate::exchange::{
    CorrelationKind, Exchange, Outcome, RecordKind, RejectReason, Role, TimeMicros, TimeZoneSource,
};
use std::borrow::Cow;

/// The format; see the module.
pub struct BurstGpt;

const SHORT: [&str; 6] = [
    "Timestamp",
    "Model",
    "Request tokens",
    "Response tokens",
    "Total tokens",
    "Log Type",
];
const LONG: [&str; 8] = [
    "Timestamp",
    "Session ID",
    "Elapsed time",
    "Model",
    "Request tokens",
    "Response tokens",
    "Total tokens",
    "Log Type",
];

/// Bytes that a header may have.
const MAX_HEADER: usize = 1 << 10;

/// A row with the names of its columns.
struct Row<'a> {
    names: Vec<Cow<'a, str>>,
    fields: Vec<Cow<'a, str>>,
}

impl<'a> Row<'a> {
    fn read(record: &'a [u8], header: Option<&'a [u8]>) -> Option<Row<'a>> {
        let fields = csv::fields(std::str::from_utf8(record).ok()?)?;
        let known = |names: &[&'static str]| names.iter().map(|n| Cow::Borrowed(*n)).collect();
        let given = header
            .and_then(|line| csv::fields(std::str::from_utf8(line).ok()?))
            .filter(|names| names.iter().any(|n| n.trim() == "Request tokens"));
        let names: Vec<Cow<'_, str>> = match (given, fields.len()) {
            (Some(names), _) => names,
            (None, 6) => known(&SHORT),
            (None, 8) => known(&LONG),
            _ => return None,
        };
        (names.len() == fields.len()).then_some(Row { names, fields })
    }

    fn is_header(&self) -> bool {
        let mut pairs = self.fields.iter().zip(&self.names);
        pairs.all(|(field, name)| field.trim() == name.trim())
    }

    fn get(&self, name: &str) -> Option<&str> {
        let at = self.names.iter().position(|n| n.trim() == name)?;
        let field = self.fields.get(at)?.trim();
        (!field.is_empty()).then_some(field)
    }

    fn count(&self, name: &str) -> Option<i64> {
        let number = self.get(name)?.parse::<i64>().ok()?;
        (number >= 0).then_some(number)
    }

    fn seconds(&self, name: &str) -> Option<TimeMicros> {
        let seconds = self.get(name)?.parse::<f64>().ok()?;
        (0.0..1.0e10)
            .contains(&seconds)
            .then(|| (seconds * 1e6).round() as TimeMicros)
    }
}

impl LogFormat for BurstGpt {
    fn name(&self) -> &'static str {
        "burst_gpt"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let head = Row::read(record, Some(record)).filter(|_| record.len() < MAX_HEADER);
        if head.is_some_and(|row| SHORT.iter().all(|name| row.get(name) == Some(*name))) {
            return 100;
        }
        let Some(row) = Row::read(record, None) else {
            return 0;
        };
        let counts = ["Request tokens", "Response tokens", "Total tokens"];
        let shaped = row.seconds("Timestamp").is_some()
            && counts.iter().all(|name| row.count(name).is_some())
            && row.get("Log Type").is_some_and(|t| t.ends_with("log"));
        if shaped { 60 } else { 0 }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let row = Row::read(record, context.header).ok_or(RejectReason::UnknownShape)?;
        if row.is_header() {
            return Ok(RecordKind::Other);
        }
        let start = row.seconds("Timestamp").ok_or(RejectReason::InvalidField)?;
        let answered = row.count("Response tokens");
        let prompt = row.count("Request tokens");
        let mut exchange = Exchange {
            role: Some(Role::Gateway),
            model_raw: row.get("Model").map(str::to_owned),
            t_start: Some(start),
            t_end: row
                .seconds("Elapsed time")
                .and_then(|span| start.checked_add(span)),
            t_zone: TimeZoneSource::Relative,
            prompt_tokens: Some(prompt.ok_or(RejectReason::InvalidField)?),
            completion_tokens: answered,
            tokens_source: Some("gateway"),
            // No token in the answer stands for a failure.
            outcome: match answered {
                Some(0) => Outcome::Error,
                Some(_) => Outcome::Ok,
                None => Outcome::Unknown,
            },
            ..Exchange::default()
        };
        if let Some(session) = row.get("Session ID") {
            let session = session.to_owned();
            add_correlation(&mut exchange, CorrelationKind::SessionId, session);
        }
        if let Some(kind) = row.get("Log Type") {
            let kind = Json::Str(Cow::Borrowed(kind));
            exchange.extra.push(extra_field("Log Type", &kind));
        }
        finish(&mut exchange);
        out.push(exchange);
        Ok(RecordKind::Exchange)
    }
}
