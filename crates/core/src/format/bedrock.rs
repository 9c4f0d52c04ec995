//! Model invocation logs of AWS Bedrock, from S3 objects and from CloudWatch.

use super::body::{self, Request, Response, push_candidate, push_correlation};
use super::json::{Fault, Json};
use super::{Bodies, DecodeContext, LogFormat, envelope, labels};
use crate::exchange::{
    ContentState, CorrelationKind, Exchange, Outcome, RecordKind, RejectReason, Role,
};

/// The format; see the module.
pub struct Bedrock;

/// Bytes before the record that CloudWatch's export puts there: a time and a blank.
const MAX_PREFIX_BYTES: usize = 40;

const READ: [&str; 14] = [
    "schemaType",
    "schemaVersion",
    "timestamp",
    "accountId",
    "identity",
    "region",
    "requestId",
    "operation",
    "modelId",
    "requestMetadata",
    "input",
    "output",
    "errorCode",
    "status",
];

/// Errors that refuse a call before any work.
const REFUSALS: [&str; 7] = [
    "AccessDenied",
    "ResourceNotFound",
    "ServiceQuotaExceeded",
    "Throttling",
    "Validation",
    "ModelNotReady",
    "UnrecognizedClient",
];

impl LogFormat for Bedrock {
    fn name(&self) -> &'static str {
        "bedrock"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        if is_stream(record) {
            return 90;
        }
        let record = without_prefix(record);
        let keys = envelope::keys_with(record, "ModelInvocationLog");
        let has = |key: &str| keys.iter().any(|k| k == key);
        if has("schemaType") {
            return 100;
        }
        if has("logEvents") || has("events") {
            return 90;
        }
        let keys = envelope::keys_with(record, "modelId");
        let own = ["modelId", "accountId", "operation", "input"];
        if own.iter().all(|key| keys.iter().any(|k| k == key)) {
            85
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
        if is_stream(record) {
            return envelope::decode(record, out, bare_stream);
        }
        envelope::decode(without_prefix(record), out, |record| {
            let Some(events) = record.any(&["logEvents", "events"]) else {
                return invocation(record, context.bodies);
            };
            let mut found = Vec::new();
            for event in events.items() {
                let message = event.str_of("message").unwrap_or_default();
                if let Ok(inner @ Json::Object(_)) = Json::parse(message.trim()) {
                    let call = invocation(&inner, context.bodies)?;
                    envelope::append(&mut found, call);
                }
            }
            Ok(found)
        })
    }
}

/// Whether a record is nothing but the array of a response's events.
fn is_stream(record: &[u8]) -> bool {
    let head = record.trim_ascii_start();
    let head = head.get(..head.len().min(64)).unwrap_or_default();
    head.starts_with(b"[") && envelope::holds(head, "\"message_start\"")
}

fn without_prefix(record: &[u8]) -> &[u8] {
    let Some(at) = memchr::memchr(b'{', record) else {
        return record;
    };
    let prefix = record.get(..at).unwrap_or_default();
    let time = prefix.first().is_some_and(u8::is_ascii_digit);
    match record.get(at..) {
        Some(rest) if time && at <= MAX_PREFIX_BYTES => rest,
        _ => record,
    }
}

/// Some streamed answers are logged without anything around them.
fn bare_stream(events: &Json<'_>) -> Result<Vec<Exchange>, Fault> {
    let response = Response::read(events);
    if response.choices.is_empty() {
        return Err(RejectReason::UnknownShape.into());
    }
    let base = Exchange {
        role: Some(Role::Gateway),
        ..Exchange::default()
    };
    Ok(body::expand(base, Request::default(), response)?)
}

fn invocation(record: &Json<'_>, bodies: Option<&dyn Bodies>) -> Result<Vec<Exchange>, Fault> {
    if !record.has("modelId") && record.str_of("schemaType") != Some("ModelInvocationLog") {
        return Err(RejectReason::UnknownShape.into());
    }
    let mut base = Exchange {
        role: Some(Role::Gateway),
        request_id: record.some("requestId").and_then(Json::as_id),
        model_raw: envelope::text(record, &["modelId"]),
        node: envelope::text(record, &["region"]),
        t_start: envelope::utc(record.some("timestamp")),
        ..Exchange::default()
    };
    base.unique_id = base.request_id.is_some();
    let id = record.some("requestId");
    push_correlation(&mut base, CorrelationKind::GatewayLogId, id);
    labels::push(&mut base, record.some("requestMetadata"));
    let arn = record.at(&["identity", "arn"]);
    push_candidate(&mut base.tenant_candidates, "arn", arn);
    let account = record.some("accountId");
    push_candidate(&mut base.tenant_candidates, "cloud_account", account);
    counts(record, &mut base);
    let failed = record.some("errorCode").and_then(Json::as_str);
    if let Some(code) = failed.filter(|code| !code.is_empty()) {
        let refused = REFUSALS.iter().any(|name| code.starts_with(name));
        base.outcome = if refused {
            Outcome::Rejected
        } else {
            Outcome::Error
        };
    }
    envelope::extras(&mut base, record, &READ);
    let asked = elsewhere(record.at(&["input", "inputBodyS3Path"]), bodies);
    let mut request = match record.at(&["input", "inputBodyJson"]).or(asked.as_ref()) {
        Some(body) => Request::read(envelope::unpacked(body).as_ref().unwrap_or(body)),
        None => Request::default(),
    };
    let answer = elsewhere(record.at(&["output", "outputBodyS3Path"]), bodies);
    let mut response = match record.at(&["output", "outputBodyJson"]).or(answer.as_ref()) {
        Some(body) => Response::read(envelope::unpacked(body).as_ref().unwrap_or(body)),
        None => Response::default(),
    };
    // Large bodies are objects of their own.
    if record.at(&["input", "inputBodyS3Path"]).is_some() && request.prompts.is_empty() {
        request.state = ContentState::External;
    }
    if record.at(&["output", "outputBodyS3Path"]).is_some() && response.choices.is_empty() {
        response.state = ContentState::External;
    }
    let answered = !response.choices.is_empty() || response.state == ContentState::External;
    if answered && base.outcome == Outcome::Unknown && response.error.is_none() {
        base.outcome = Outcome::Ok;
    }
    Ok(body::expand(base, request, response)?)
}

/// The body that a record points at, where it is at hand.
fn elsewhere(pointer: Option<&Json<'_>>, bodies: Option<&dyn Bodies>) -> Option<Json<'static>> {
    let text = bodies?.text(pointer?.as_str()?)?;
    Some(Json::Str(text.into()))
}

/// The envelope counts only what no cache had; errors write zeros.
fn counts(record: &Json<'_>, base: &mut Exchange) {
    let count = |path: [&str; 2]| envelope::count(record.at(&path));
    let read = count(["input", "cacheReadInputTokenCount"]);
    let written = count(["input", "cacheWriteInputTokenCount"]);
    let parts = [count(["input", "inputTokenCount"]), read, written];
    let known = parts.iter().any(Option::is_some);
    let sum = |so_far: i64, part: Option<i64>| so_far.checked_add(part.unwrap_or(0));
    let total = parts.into_iter().try_fold(0, sum).filter(|_| known);
    base.prompt_tokens = total.filter(|n| *n > 0);
    base.completion_tokens = count(["output", "outputTokenCount"]);
    if base.prompt_tokens.is_none() {
        base.completion_tokens = base.completion_tokens.filter(|n| *n > 0);
    }
    base.cached_tokens = read;
    if base.prompt_tokens.or(base.completion_tokens).is_some() {
        base.tokens_source = Some("provider");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One object, under the name that records give it.
    struct One(&'static str, &'static str);

    impl Bodies for One {
        fn text(&self, address: &str) -> Option<String> {
            (address == self.0).then(|| self.1.to_owned())
        }
    }

    #[test]
    fn bodies_beside_the_log_are_read_where_they_are_at_hand() {
        let record = br#"{"schemaType":"ModelInvocationLog","modelId":"m","requestId":"r",
            "input":{"inputBodyS3Path":"s3://b/data/u_input.json.gz"},
            "output":{"outputBodyS3Path":"s3://b/data/u_output.json.gz"}}"#;
        let asked = One(
            "s3://b/data/u_input.json.gz",
            r#"{"messages":[{"role":"user","content":[{"text":"how many"}]}]}"#,
        );
        let streamed = One(
            "s3://b/data/u_output.json.gz",
            r#"[{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"forty"}}]"#,
        );
        let decode = |bodies: Option<&dyn Bodies>| {
            let context = DecodeContext {
                bodies,
                ..DecodeContext::default()
            };
            let mut out = Vec::new();
            let kind = Bedrock.decode(record, &context, &mut out);
            assert_eq!(kind, Ok(RecordKind::Exchange));
            out.remove(0)
        };
        let none = decode(None);
        let external = (ContentState::External, ContentState::External);
        assert_eq!((none.prompt_state, none.response_state), external);
        let found = decode(Some(&asked));
        assert_eq!(found.prompt.unwrap().text, "how many");
        let full = (ContentState::Full, ContentState::External);
        assert_eq!((found.prompt_state, found.response_state), full);
        let found = decode(Some(&streamed));
        assert_eq!(found.response.unwrap().text, "forty");
        assert_eq!(found.prompt_state, ContentState::External);
    }
}
