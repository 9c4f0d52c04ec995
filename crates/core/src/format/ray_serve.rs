//! Ray Serve's proxy and replica logs, as text and as JSON lines: who served which request, when,
//! with what status. Neither text nor tokens; they join by the request id.

use super::body::{add_correlation, finish};
use super::json::{Json, decode_lenient};
use super::{DecodeContext, LogFormat, stray, time};
use crate::exchange::{
    CorrelationKind, Exchange, Outcome, RecordKind, RejectReason, Role, TimeMicros, TimeZoneSource,
};

/// The format; see the module.
pub struct RayServe;

/// How sure a line of Serve is that is no request.
const OTHER_LINE: u8 = 40;

const LEVELS: [&str; 5] = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];

impl LogFormat for RayServe {
    fn name(&self) -> &'static str {
        "ray_serve"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        if record.trim_ascii_start().starts_with(b"{") {
            let sure = decode_lenient(record, |text| {
                let record = Json::parse(text)?;
                let serve = record.has("component_name")
                    || (record.has("deployment") && record.has("replica"));
                if !serve || !record.has("message") || !record.has("levelname") {
                    return Ok(0);
                }
                let access = record.str_of("message").and_then(Access::read);
                Ok(access.map_or(OTHER_LINE, |_| 100))
            });
            return sure.unwrap_or(0);
        }
        let text = String::from_utf8_lossy(record);
        match TextLine::read(&text) {
            Some(line) if Access::read(line.message).is_some() => 100,
            Some(_) => OTHER_LINE,
            None => 0,
        }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        let found = if record.trim_ascii_start().starts_with(b"{") {
            decode_lenient(record, |text| Ok(from_json(&Json::parse(text)?, context)?))?
        } else {
            let text = String::from_utf8_lossy(record);
            match TextLine::read(&text) {
                Some(line) => from_text(&line, context)?,
                None if stray::is_stray(&text) => None,
                None => return Err(RejectReason::UnknownShape),
            }
        };
        let Some(exchange) = found else {
            return Ok(RecordKind::Other);
        };
        out.push(exchange);
        Ok(RecordKind::Exchange)
    }
}

/// `[client ]METHOD ROUTE STATUS 12.3ms`.
struct Access<'a> {
    status: &'a str,
    span: Option<TimeMicros>,
}

impl<'a> Access<'a> {
    fn read(message: &'a str) -> Option<Access<'a>> {
        let message = message.trim();
        if message.len() > 4096 {
            return None;
        }
        let mut words = message.rsplitn(4, ' ');
        let millis = words.next()?.strip_suffix("ms")?.parse::<f64>().ok()?;
        let status = words.next()?;
        let route = words.next()?;
        let method = words.next()?.rsplit(' ').next()?;
        let posted = matches!(method, "POST" | "CALL" | "STREAM");
        let number = status.len() == 3 && status.bytes().all(|b| b.is_ascii_digit());
        // Looking at health and models asks no model anything.
        let asks = posted && (route.starts_with('/') || method != "POST");
        let span = (0.0..1.0e10)
            .contains(&millis)
            .then(|| (millis * 1e3).round() as TimeMicros);
        (asks && (number || matches!(status, "OK" | "ERROR" | "CANCELLED")))
            .then_some(Access { status, span })
    }

    /// The exchange that ended at the time.
    fn exchange(&self, id: Option<String>, stamp: time::ReadTime, proxy: bool) -> Exchange {
        let (end, zone) = stamp;
        let mut exchange = Exchange {
            role: Some(if proxy { Role::Gateway } else { Role::Unified }),
            t_end: end,
            t_start: end
                .zip(self.span)
                .and_then(|(end, span)| end.checked_sub(span)),
            t_zone: zone,
            http_status: self.status.parse().ok(),
            outcome: match self.status {
                "OK" => Outcome::Ok,
                "ERROR" => Outcome::Error,
                "CANCELLED" => Outcome::Aborted,
                _ => Outcome::Unknown,
            },
            unique_id: id.is_some(),
            request_id: id.clone(),
            ..Exchange::default()
        };
        if let Some(id) = id {
            add_correlation(&mut exchange, CorrelationKind::XRequestId, id);
        }
        finish(&mut exchange);
        exchange
    }
}

/// `LEVEL 2026-09-11 08:30:09,500 component id request_id -- message`.
struct TextLine<'a> {
    stamp: &'a str,
    component: &'a str,
    id: &'a str,
    request: Option<&'a str>,
    message: &'a str,
}

impl<'a> TextLine<'a> {
    fn read(line: &'a str) -> Option<TextLine<'a>> {
        let level = LEVELS.into_iter().find(|level| line.starts_with(level))?;
        let rest = line.get(level.len()..)?.strip_prefix(' ')?;
        let stamp = rest.get(..23)?;
        let (head, message) = rest.get(23..)?.split_once(" -- ")?;
        let dated = stamp.as_bytes().get(19) == Some(&b',')
            && stamp.get(..10)?.parse::<jiff::civil::Date>().is_ok();
        let mut words = head.split_whitespace();
        let component = words.next()?;
        let id = words.next()?;
        let request = words.next();
        (dated && words.next().is_none()).then_some(TextLine {
            stamp,
            component,
            id,
            request,
            message: message.trim_end(),
        })
    }
}

fn from_text(
    line: &TextLine<'_>,
    context: &DecodeContext<'_>,
) -> Result<Option<Exchange>, RejectReason> {
    let Some(access) = Access::read(line.message) else {
        return Ok(None);
    };
    let stamp = time::read_text(&line.stamp.replacen(',', ".", 1), context.zone)?;
    let proxy = line.component == "proxy";
    let mut exchange = access.exchange(line.request.map(str::to_owned), stamp, proxy);
    exchange.node = Some(line.id.to_owned());
    if !proxy {
        // `application_deployment`.
        exchange.deployment = Some(line.component.to_owned());
    }
    Ok(Some(exchange))
}

fn from_json(
    record: &Json<'_>,
    context: &DecodeContext<'_>,
) -> Result<Option<Exchange>, RejectReason> {
    let message = record.str_of("message").ok_or(RejectReason::UnknownShape)?;
    if !record.has("levelname") && !record.has("component_name") {
        return Err(RejectReason::UnknownShape);
    }
    let Some(access) = Access::read(message) else {
        return Ok(None);
    };
    let nanos = record.some("timestamp_ns").and_then(Json::as_i64);
    let stamp = match (nanos, record.str_of("asctime")) {
        (Some(nanos), _) if nanos > 0 => (Some(nanos / 1_000), TimeZoneSource::Utc),
        (_, Some(text)) => time::read_text(&text.replacen(',', ".", 1), context.zone)?,
        _ => (None, TimeZoneSource::Unknown),
    };
    let id = record.some("request_id").and_then(Json::as_id);
    let proxy = record.str_of("component_name") == Some("proxy");
    let mut exchange = access.exchange(id, stamp, proxy);
    let text = |keys: &[&str]| record.any(keys).and_then(Json::as_id);
    exchange.deployment = text(&["deployment"]);
    exchange.node = text(&["replica", "component_id"]);
    Ok(Some(exchange))
}
