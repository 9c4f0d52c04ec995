//! Resource logs of Azure OpenAI, category `RequestResponse`: who, when, how long; never texts.

use super::body::{self, Request, Response, push_candidate, push_correlation};
use super::json::{Fault, Json};
use super::{DecodeContext, LogFormat, envelope};
use crate::exchange::{
    CorrelationKind, Exchange, RecordKind, RejectReason, Role, TimeMicros, TimeZoneSource,
};

/// The format; see the module.
pub struct AzureOpenAi;

/// Ticks of 100 ns between 0001-01-01 and 1970-01-01.
const EPOCH_TICKS: i64 = 621_355_968_000_000_000;

const READ: [&str; 21] = [
    "time",
    "TimeGenerated",
    "resourceId",
    "_ResourceId",
    "ResourceId",
    "category",
    "Category",
    "resultSignature",
    "ResultSignature",
    "durationMs",
    "DurationMs",
    "callerIPAddress",
    "CallerIPAddress",
    "correlationId",
    "CorrelationId",
    "location",
    "Location",
    "properties",
    "modelDeploymentName_s",
    "modelName_s",
    "objectId_s",
];

impl LogFormat for AzureOpenAi {
    fn name(&self) -> &'static str {
        "azure_openai"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let keys = envelope::keys_with(record, "\"RequestResponse\"");
        let has = |key: &str| keys.iter().any(|k| k == key);
        let named = has("operationName") || has("OperationName");
        if (has("category") || has("Category")) && named {
            return 95;
        }
        if has("records") && envelope::holds(record, "properties") {
            80
        } else {
            0
        }
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        envelope::decode(record, out, |record| {
            let Some(records) = record.some("records") else {
                return decode_row(record, context);
            };
            let mut found = Vec::new();
            for row in records.items() {
                envelope::append(&mut found, decode_row(row, context)?);
            }
            Ok(found)
        })
    }
}

fn decode_row(row: &Json<'_>, context: &DecodeContext<'_>) -> Result<Vec<Exchange>, Fault> {
    match row.any(&["category", "Category"]).and_then(Json::as_str) {
        Some("RequestResponse") => {}
        // Audit and trace rows share the file.
        Some(_) => return Ok(Vec::new()),
        None => return Err(RejectReason::UnknownShape.into()),
    }
    let packed = row.any(&["properties", "properties_s"]);
    let unpacked = packed.and_then(envelope::unpacked);
    let properties = unpacked.as_ref().or(packed);
    let property = |key: &str| {
        let column = format!("{key}_s");
        let inner = properties.and_then(|p| p.some(key));
        inner.or_else(|| row.some(&column))
    };
    let name = |key: &str| property(key).and_then(Json::as_id);
    let mut base = Exchange {
        role: Some(Role::Gateway),
        model_raw: name("modelName"),
        deployment: name("modelDeploymentName"),
        node: envelope::text(row, &["location", "Location"]),
        http_status: envelope::status(row.any(&["resultSignature", "ResultSignature"])),
        ..Exchange::default()
    };
    let id = row.any(&["correlationId", "CorrelationId"]);
    base.request_id = id.and_then(Json::as_id);
    base.unique_id = base.request_id.is_some();
    push_correlation(&mut base, CorrelationKind::GatewayLogId, id);
    let resource = row.any(&["resourceId", "_ResourceId", "ResourceId"]);
    let subscription = resource.and_then(Json::as_str).and_then(subscription_of);
    let candidates = &mut base.tenant_candidates;
    push_candidate(candidates, "user", property("objectId"));
    push_candidate(candidates, "subscription", subscription.as_ref());
    push_candidate(
        candidates,
        "ip",
        row.any(&["callerIPAddress", "CallerIPAddress"]),
    );
    base.t_start = property("requestTime").and_then(from_ticks);
    base.t_end = property("responseTime").and_then(from_ticks);
    if base.t_start.is_none() {
        let mut zone = TimeZoneSource::Utc;
        let time = row.any(&["time", "TimeGenerated"]);
        base.t_start = envelope::zoned(time, context, &mut zone);
        base.t_zone = zone;
    }
    if base.t_end.is_none() {
        let span = row.any(&["durationMs", "DurationMs"]);
        base.t_end = envelope::after(base.t_start, span);
    }
    for key in ["requestLength", "responseLength", "streamType", "apiName"] {
        if let Some(value) = property(key) {
            base.extra.push(body::extra_field(key, value));
        }
    }
    envelope::extras(&mut base, row, &READ);
    Ok(body::expand(base, Request::default(), Response::default())?)
}

/// `/subscriptions/ID/…` in whatever case.
fn subscription_of(resource: &str) -> Option<Json<'static>> {
    let mut names = resource.split('/');
    names.find(|name| name.eq_ignore_ascii_case("subscriptions"))?;
    let id = names.next()?.to_ascii_lowercase();
    Some(Json::Str(id.into()))
}

/// .NET ticks, as microseconds since 1970.
fn from_ticks(value: &Json<'_>) -> Option<TimeMicros> {
    let ticks = value.as_i64()?;
    (ticks > EPOCH_TICKS).then(|| (ticks - EPOCH_TICKS) / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_read() {
        let at = from_ticks(&Json::U64(638_481_757_794_854_611)).unwrap();
        assert_eq!(at, 1_712_578_979_485_461);
        assert_eq!(from_ticks(&Json::U64(1)), None);
    }
}
