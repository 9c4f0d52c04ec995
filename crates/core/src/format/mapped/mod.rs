//! Home-grown logs: the configuration says which field of a record fills which column.
//!
//! Records are JSON objects or CSV rows. Their bodies are read by the one body reader; a value that
//! does not fit its column makes the record a reject, so that a wrong mapping shows at once.

mod pointer;
mod spec;
mod value;

pub use pointer::Pointer;
pub use spec::{COLUMNS, ColumnType, Mapping, MappingError, Rule, TOOL, Unit, ZoneOf};

use super::body::{self, Request, Response, add_correlation, extra_field};
use super::json::{Json, decode_lenient};
use super::{DecodeContext, LogFormat, csv};
use crate::exchange::{
    ContentState, CorrelationKind, Exchange, Outcome, RecordKind, RejectReason, Role,
    TenantCandidate, TimeMicros, TimeZoneSource,
};
use jiff::fmt::strtime;
use value::key_digest;

/// How sure a record is that meets the declared condition.
const MEETS_CONDITION: u8 = 100;

/// A format that the configuration describes; see the module.
pub struct Mapped {
    mapping: Mapping,
    name: &'static str,
}

impl Mapped {
    /// Takes a mapping for the rest of the process: formats are named and shared without counting.
    pub fn keep(mapping: Mapping) -> &'static Mapped {
        let name: &'static str = Box::leak(mapping.name.clone().into_boxed_str());
        Box::leak(Box::new(Mapped { mapping, name }))
    }

    /// The mapping.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }
}

impl LogFormat for Mapped {
    fn name(&self) -> &'static str {
        self.name
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let header = String::from_utf8_lossy(record);
        if is_row(record) {
            // Of CSV only the header tells, and it holds no values to set against a condition.
            let names = csv::object(&header, &header);
            return names.map_or(0, |names| self.mapping.share(&names));
        }
        let sure = decode_lenient(record, |text| {
            let mut record = Json::parse(text)?;
            self.mapping.unfold(&mut record);
            Ok(match self.mapping.meets(&record) {
                false => 0,
                true if !self.mapping.when.is_empty() => MEETS_CONDITION,
                true => self.mapping.share(&record),
            })
        });
        sure.unwrap_or(0)
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let (row, header);
        let found = match context.header {
            Some(names) if is_row(record) => {
                if record == names {
                    return Ok(RecordKind::Other);
                }
                row = String::from_utf8_lossy(record);
                header = String::from_utf8_lossy(names);
                let object = csv::object(&row, &header).ok_or(RejectReason::InvalidField)?;
                self.mapping.exchanges(object, context)?
            }
            _ => decode_lenient(record, |text| {
                Ok(self.mapping.exchanges(Json::parse(text)?, context)?)
            })?,
        };
        let Some(mut exchanges) = found else {
            return Ok(RecordKind::Other);
        };
        out.append(&mut exchanges);
        Ok(RecordKind::Exchange)
    }

    fn month(&self, record: &[u8]) -> Option<u8> {
        let rules = self.mapping.columns.iter().map(|(_, _, rule)| rule);
        let patterns: Vec<&Rule> = rules.filter(|rule| rule.pattern.is_some()).collect();
        if patterns.is_empty() {
            return None;
        }
        let month = decode_lenient(record, |text| {
            let mut record = Json::parse(text)?;
            self.mapping.unfold(&mut record);
            Ok(patterns.iter().find_map(|rule| {
                let text = rule.find(&record)?.as_str()?.trim();
                let read = strtime::parse(rule.pattern.as_deref()?, text).ok()?;
                let month = read.month().and_then(|m| u8::try_from(m).ok());
                month.filter(|_| read.year().is_none())
            }))
        });
        month.ok().flatten()
    }
}

/// Whether a record can only be a CSV row.
fn is_row(record: &[u8]) -> bool {
    let first = record.iter().find(|b| !b.is_ascii_whitespace());
    !matches!(first, Some(b'{' | b'['))
}

impl Mapping {
    fn unfold(&self, record: &mut Json<'_>) {
        let rules = self.rules().flat_map(|rule| &rule.at);
        for place in rules.chain(self.when.iter().map(|c| &c.at)) {
            place.unfold(record);
        }
    }

    fn meets(&self, record: &Json<'_>) -> bool {
        matches!(record, Json::Object(_)) && self.when.iter().all(|c| c.holds(record))
    }

    /// How sure an object is without a condition: by the share of the mapped places that it has.
    /// Formats that are built in are surer of their own records.
    fn share(&self, record: &Json<'_>) -> u8 {
        let all = self.rules().filter(|rule| !rule.at.is_empty()).count();
        let here = self.rules().filter(|rule| rule.find(record).is_some());
        match here.count() {
            0 => 0,
            here => (20 + 40 * here / all.max(1)).min(60) as u8,
        }
    }

    /// The exchanges of a record; `None` where it does not meet the condition.
    fn exchanges(
        &self,
        mut record: Json<'_>,
        context: &DecodeContext<'_>,
    ) -> Result<Option<Vec<Exchange>>, RejectReason> {
        if !matches!(record, Json::Object(_)) {
            return Err(RejectReason::UnknownShape);
        }
        self.unfold(&mut record);
        if !self.meets(&record) {
            return Ok(None);
        }
        if self.rules().all(|rule| rule.find(&record).is_none()) {
            return Err(RejectReason::UnknownShape);
        }
        let context = DecodeContext {
            zone: self.zone.as_ref().or(context.zone),
            year: self.year.or(context.year),
            ..*context
        };
        let mut base = Exchange::default();
        self.names(&record, &mut base)?;
        self.counts(&record, &mut base)?;
        self.states(&record, &mut base)?;
        self.ids(&record, &mut base)?;
        self.candidates(&record, &mut base)?;
        self.times(&record, &context, &mut base)?;
        self.places.extras(&record, &mut base);
        let request = self.request(&record)?;
        let response = self.response(&record);
        if base.t_start.is_none() && base.t_zone == TimeZoneSource::Utc {
            base.t_start = response.created;
        }
        body::expand(base, request, response).map(Some)
    }

    fn text(&self, record: &Json<'_>, column: &str) -> Result<Option<String>, RejectReason> {
        self.column(column)
            .map_or(Ok(None), |rule| rule.text(record))
    }

    fn number(&self, record: &Json<'_>, column: &str) -> Result<Option<i64>, RejectReason> {
        self.column(column)
            .map_or(Ok(None), |rule| rule.integer(record))
    }

    fn names(&self, record: &Json<'_>, base: &mut Exchange) -> Result<(), RejectReason> {
        base.request_id = self.text(record, "request_id")?;
        base.unique_id = base.request_id.is_some();
        base.model_raw = self.text(record, "model")?;
        base.deployment = self.text(record, "deployment")?;
        base.node = self.text(record, "node")?;
        base.engine = self.text(record, "engine")?.map(|e| e.to_lowercase());
        base.engine_version = self.text(record, "engine_version")?;
        if let Some(word) = self.text(record, "role")? {
            base.role = Role::parse(&word.to_lowercase());
            if base.role.is_none() {
                base.extra
                    .push(extra_field("role", &Json::Str(word.into())));
            }
        }
        Ok(())
    }

    fn counts(&self, record: &Json<'_>, base: &mut Exchange) -> Result<(), RejectReason> {
        let status = self.number(record, "http_status")?.filter(|n| *n != 0);
        base.http_status = match status.map(u16::try_from) {
            None => None,
            Some(Ok(code @ 1..1000)) => Some(code),
            Some(_) => return Err(RejectReason::InvalidField),
        };
        let count = |column| -> Result<Option<i64>, RejectReason> {
            match self.number(record, column)? {
                // What loggers write for "unknown".
                Some(-1) => Ok(None),
                Some(..0) => Err(RejectReason::InvalidField),
                count => Ok(count),
            }
        };
        base.prompt_tokens = count("prompt_tokens")?;
        base.completion_tokens = count("completion_tokens")?;
        base.cached_tokens = count("cached_tokens")?;
        let choice = count("choice")?.unwrap_or(0);
        base.choice = u32::try_from(choice).map_err(|_| RejectReason::InvalidField)?;
        if base.prompt_tokens.or(base.completion_tokens).is_some() {
            let word = self.text(record, "tokens_source")?;
            let known = ["engine", "provider", "gateway"];
            let named = known.into_iter().find(|k| word.as_deref() == Some(k));
            base.tokens_source = named.or(match base.role {
                _ if word.is_some() => None,
                Some(Role::Unified | Role::Decode | Role::Prefill) => Some("engine"),
                _ => Some("gateway"),
            });
        }
        let rule = self.column("spec_accept_length");
        if let Some(value) = rule.and_then(|rule| rule.find(record)) {
            base.spec_accept_length = Some(value.as_f64().ok_or(RejectReason::InvalidField)?);
        }
        Ok(())
    }

    fn states(&self, record: &Json<'_>, base: &mut Exchange) -> Result<(), RejectReason> {
        if let Some(rule) = self.column("cache_hit") {
            base.cache_hit = match rule.text(record)?.as_deref() {
                None => None,
                Some("true" | "1") => Some(true),
                Some("false" | "0") => Some(false),
                Some(_) => return Err(RejectReason::InvalidField),
            };
        }
        base.finish_reason = self
            .text(record, "finish_reason")?
            .and_then(|word| body::finish_reason(&word));
        if let Some(word) = self.text(record, "outcome")? {
            use Outcome::{Aborted, Error, Ok, Rejected, Unknown};
            let all = [Ok, Error, Aborted, Rejected, Unknown];
            match all.into_iter().find(|o| o.as_str() == word.to_lowercase()) {
                Some(outcome) => base.outcome = outcome,
                None => base
                    .extra
                    .push(extra_field("outcome", &Json::Str(word.into()))),
            }
        }
        let state = |column| {
            let Some(word) = self.text(record, column)? else {
                return Ok(ContentState::default());
            };
            // A wrong state could clear an answer.
            ContentState::parse(&word).ok_or(RejectReason::InvalidField)
        };
        base.prompt_state = state("prompt_state")?;
        base.response_state = state("response_state")?;
        Ok(())
    }

    fn ids(&self, record: &Json<'_>, base: &mut Exchange) -> Result<(), RejectReason> {
        if let Some(id) = base.request_id.clone() {
            add_correlation(base, CorrelationKind::GatewayLogId, id);
        }
        for (kind, rule) in &self.ids {
            if let Some(id) = rule.text(record)? {
                add_correlation(base, *kind, id);
            }
        }
        Ok(())
    }

    fn candidates(&self, record: &Json<'_>, base: &mut Exchange) -> Result<(), RejectReason> {
        for (kind, rule) in &self.tenants {
            let Some(value) = rule.text(record)? else {
                continue;
            };
            let candidate = match kind.as_str() {
                // A case holds no credential. LiteLLM logs the same digest, so that one
                // customer's key is one tenant in both.
                "api_key" => TenantCandidate {
                    kind: "api_key_hash".to_owned(),
                    value: key_digest(&value),
                },
                kind => TenantCandidate {
                    kind: kind.to_owned(),
                    value,
                },
            };
            if !base.tenant_candidates.contains(&candidate) {
                base.tenant_candidates.push(candidate);
            }
        }
        Ok(())
    }

    fn times(
        &self,
        record: &Json<'_>,
        context: &DecodeContext<'_>,
        base: &mut Exchange,
    ) -> Result<(), RejectReason> {
        let mut zone = TimeZoneSource::Utc;
        let mut read = |column| -> Result<Option<TimeMicros>, RejectReason> {
            let Some(rule) = self.column(column) else {
                return Ok(None);
            };
            let (time, from) = rule.time(record, context)?;
            if from != TimeZoneSource::Utc {
                zone = from;
            }
            Ok(time.filter(|t| *t > 0))
        };
        // The start is read last, so that its zone speaks for the record.
        let (end, first) = (read("t_end")?, read("t_first_token")?);
        let start = read("t_start")?;
        let after = |column| -> Result<Option<TimeMicros>, RejectReason> {
            let rule = self.column(column);
            rule.map_or(Ok(None), |rule| rule.duration(record))
        };
        let (span, until_first) = (after("duration")?, after("first_token_after")?);
        let add = |at: Option<TimeMicros>, span: Option<TimeMicros>| at?.checked_add(span?);
        let back = |at: Option<TimeMicros>, span: Option<TimeMicros>| at?.checked_sub(span?);
        base.t_start = start.or_else(|| back(end, span));
        base.t_end = end.or_else(|| add(base.t_start, span));
        base.t_first_token = first.or_else(|| add(base.t_start, until_first));
        base.t_zone = zone;
        Ok(())
    }

    fn request(&self, record: &Json<'_>) -> Result<Request, RejectReason> {
        let value = |column| {
            self.column(column)
                .and_then(|rule| Some((rule, rule.find(record)?)))
        };
        let mut request =
            value("request_body").map_or_else(Request::default, |(_, body)| Request::read(body));
        let text = match (value("messages"), value("prompt")) {
            (Some((_, list @ (Json::Array(_) | Json::Object(_)))), _) => Request::of_messages(list),
            (Some((rule, Json::Str(text))), _) if rule.plain => Request::of_text(text),
            (Some((_, text @ Json::Str(_))), _) => Request::read(text),
            (None, Some((_, Json::Str(text)))) => Request::of_text(text),
            (None, Some((_, body @ (Json::Array(_) | Json::Object(_))))) => Request::read(body),
            (None, None) => return Ok(request),
            _ => return Err(RejectReason::InvalidField),
        };
        request.modalities.insert(text.modalities);
        (request.prompts, request.state) = (text.prompts, text.state);
        Ok(request)
    }

    fn response(&self, record: &Json<'_>) -> Response {
        let value = |column| {
            self.column(column)
                .and_then(|rule| Some((rule, rule.find(record)?)))
        };
        let mut response =
            value("response_body").map_or_else(Response::default, |(_, body)| Response::read(body));
        if let Some((rule, text)) = value("response") {
            let read = match text {
                Json::Str(text) if rule.plain => Response::of_text(text),
                body => Response::read(body),
            };
            if response.usage.is_empty() {
                response.usage = read.usage;
            }
            response.modalities.insert(read.modalities);
            response.id = response.id.or(read.id);
            response.model = response.model.or(read.model);
            response.error = response.error.or(read.error);
            (response.choices, response.state) = (read.choices, read.state);
        }
        let beside = [value("reasoning"), value("tool")].map(|found| found.map(|(_, v)| v));
        if beside.iter().any(Option::is_some) {
            response.add_texts(beside[0], beside[1]);
        }
        response
    }
}

#[cfg(test)]
mod tests;
