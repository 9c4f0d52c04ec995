//! Azure API Management: its log of language models (`ApiManagementGatewayLlmLog`, category
//! `GatewayLlmLogs`), and the gateway log that names status and subscription.
//!
//! A call is several rows: one with the counts, and one for every 32 KB of its request and of its
//! response. They are put together by correlation id and ordered by sequence number before they
//! come here as one array; a chunk may end inside a JSON string, so texts are joined before they
//! are parsed.

use super::body::{self, Request, Response, push_candidate, push_correlation, salvage};
use super::frame::RowKey;
use super::json::{Fault, Json};
use super::{DecodeContext, LogFormat, envelope, markers};
use crate::exchange::{
    ContentState, CorrelationKind, Exchange, FieldText, RecordKind, RejectReason, Role,
};
use std::collections::BTreeMap;

/// The format; see the module.
pub struct AzureApim;

/// Longest body of the gateway log in bytes; what is as long was cut.
const GATEWAY_BODY_BYTES: usize = 8192;

/// Columns that are read, in the spelling of tables; the stored logs begin them in lower case.
const READ: [&str; 31] = [
    "Time",
    "TimeGenerated",
    "CorrelationId",
    "SequenceNumber",
    "RequestId",
    "RequestMessages",
    "ResponseMessages",
    "PromptTokens",
    "CompletionTokens",
    "ModelName",
    "DeploymentName",
    "Region",
    "Location",
    "Category",
    "Type",
    "Properties",
    "ResponseCode",
    "BackendResponseCode",
    "ApimSubscriptionId",
    "ProductId",
    "UserId",
    "CallerIpAddress",
    "BackendUrl",
    "TotalTime",
    "DurationMs",
    "RequestBody",
    "ResponseBody",
    "_ResourceId",
    "ResourceId",
    "_SubscriptionId",
    "Cache",
];

impl LogFormat for AzureApim {
    fn name(&self) -> &'static str {
        "azure_apim"
    }

    fn sniff(&self, record: &[u8]) -> u8 {
        let stored = envelope::holds(record, "GatewayLlmLogs")
            || envelope::holds(record, "ApiManagement/GatewayLogs");
        let keys = envelope::keys_with(record, "orrelationId");
        let has = |key: &str| keys.iter().any(|k| k.eq_ignore_ascii_case(key));
        let llm = ["RequestMessages", "ResponseMessages", "DeploymentName"];
        let gateway = ["BackendResponseCode", "ApimSubscriptionId", "BackendTime"];
        let count = |names: &[&str]| names.iter().filter(|name| has(name)).count();
        if has("CorrelationId") && has("SequenceNumber") && count(&llm) > 0 {
            return 97;
        }
        if stored && (has("category") || has("records")) {
            return 97;
        }
        if has("CorrelationId") && count(&gateway) > 1 {
            return 90;
        }
        0
    }

    fn decode(
        &self,
        record: &[u8],
        context: &DecodeContext<'_>,
        out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        envelope::decode(record, out, |record| {
            let rows = match record {
                Json::Array(rows) => rows.as_slice(),
                row => match row.some("records") {
                    Some(records) => records.items(),
                    None => std::slice::from_ref(row),
                },
            };
            decode_rows(rows, context)
        })
    }

    fn joins_rows(&self) -> bool {
        true
    }

    fn row_key(&self, record: &[u8], _context: &DecodeContext<'_>) -> Option<RowKey> {
        let text = std::str::from_utf8(record).ok()?;
        let json = Json::parse(text).ok()?;
        let row = Row::new(&json)?;
        let call = row.get("CorrelationId").and_then(Json::as_id)?;
        Some(RowKey {
            call: xxhash_rust::xxh3::xxh3_128(call.as_bytes()),
            place: row.place(),
        })
    }
}

/// One row: its columns stand at the top or below `properties`.
struct Row<'a> {
    row: &'a Json<'a>,
    packed: Option<Json<'static>>,
}

impl<'a> Row<'a> {
    /// A row of one of the two logs; `None` for anything else.
    fn new(row: &'a Json<'a>) -> Option<Row<'a>> {
        if !matches!(row, Json::Object(_)) || row.has("records") {
            return None;
        }
        let properties = row.any(&["properties", "Properties"]);
        let packed = properties.and_then(envelope::unpacked);
        Some(Row { row, packed })
    }

    /// A column by its name in tables; `null` and the empty string read as absent.
    fn get(&self, name: &str) -> Option<&Json<'_>> {
        let properties = self.row.any(&["properties", "Properties"]);
        let inner = self.packed.as_ref().or(properties);
        let mut lower = name.to_owned();
        if let Some(first) = lower.get_mut(..1) {
            first.make_ascii_lowercase();
        }
        let of = |json: &'_ Json<'_>| json.has(name) || json.has(&lower);
        let holder = [Some(self.row), inner].into_iter().flatten();
        let mut found = holder.filter(|json| of(json));
        found
            .find_map(|json| json.any(&[name, &lower]))
            .filter(|value| value.as_str() != Some(""))
    }

    /// Where the row stands among those of its call; the gateway log before all others.
    fn place(&self) -> i64 {
        self.get("SequenceNumber")
            .and_then(Json::as_i64)
            .unwrap_or(-1)
    }

    fn is_known(&self) -> bool {
        let names = [
            "SequenceNumber",
            "RequestMessages",
            "ModelName",
            "ResponseCode",
            "BackendResponseCode",
        ];
        self.get("CorrelationId").is_some() && names.iter().any(|name| self.get(name).is_some())
    }
}

/// All calls of some rows, in the order of their first rows.
fn decode_rows(rows: &[Json<'_>], context: &DecodeContext<'_>) -> Result<Vec<Exchange>, Fault> {
    let mut calls: Vec<Vec<Row<'_>>> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows {
        let Some(row) = Row::new(row).filter(Row::is_known) else {
            // Rows of other categories share the file.
            if row.any(&["category", "Category", "Type"]).is_some() {
                continue;
            }
            return Err(RejectReason::UnknownShape.into());
        };
        let id = row.get("CorrelationId").and_then(Json::as_id);
        let place = *places.entry(id.unwrap_or_default()).or_insert(calls.len());
        match calls.get_mut(place) {
            Some(call) => call.push(row),
            None => calls.push(vec![row]),
        }
    }
    let mut found = Vec::new();
    for mut call in calls {
        call.sort_by_key(Row::place);
        envelope::append(&mut found, decode_call(&call, context)?);
    }
    Ok(found)
}

fn decode_call(rows: &[Row<'_>], context: &DecodeContext<'_>) -> Result<Vec<Exchange>, Fault> {
    let get = |name: &str| rows.iter().find_map(|row| row.get(name));
    let mut base = Exchange {
        role: Some(Role::Gateway),
        request_id: get("CorrelationId").and_then(Json::as_id),
        unique_id: true,
        model_raw: get("ModelName").and_then(Json::as_id),
        deployment: get("DeploymentName")
            .or_else(|| get("BackendUrl"))
            .and_then(Json::as_id),
        node: get("Region")
            .or_else(|| get("Location"))
            .and_then(Json::as_id),
        http_status: envelope::status(get("ResponseCode").or_else(|| get("BackendResponseCode"))),
        cache_hit: get("Cache").and_then(Json::as_str).and_then(cache_hit),
        // What the gateway log alone tells of a call stands back behind its language model rows.
        half: rows.iter().all(|row| row.get("SequenceNumber").is_none()),
        ..Exchange::default()
    };
    let times = rows.iter().filter_map(|row| {
        let time = row.get("TimeGenerated").or_else(|| row.get("Time"));
        let mut zone = base.t_zone;
        let time = envelope::zoned(time, context, &mut zone)?;
        Some((time, zone))
    });
    if let Some((time, zone)) = times.min_by_key(|(time, _)| *time) {
        (base.t_start, base.t_zone) = (Some(time), zone);
    }
    let span = get("TotalTime").or_else(|| get("DurationMs"));
    base.t_end = envelope::after(base.t_start, span);
    push_correlation(
        &mut base,
        CorrelationKind::GatewayLogId,
        get("CorrelationId"),
    );
    push_correlation(&mut base, CorrelationKind::EngineRid, get("RequestId"));
    let candidates = &mut base.tenant_candidates;
    push_candidate(candidates, "subscription", get("ApimSubscriptionId"));
    push_candidate(candidates, "user", get("UserId"));
    push_candidate(candidates, "product", get("ProductId"));
    push_candidate(candidates, "ip", get("CallerIpAddress"));
    push_candidate(candidates, "cloud_account", get("_SubscriptionId"));
    envelope::tokens(&mut base, get("PromptTokens"), get("CompletionTokens"));
    for row in rows {
        extras(&mut base, row);
    }
    let asked = Chunks::of(rows, "RequestMessages");
    let answered = Chunks::of(rows, "ResponseMessages");
    let request = match asked.is_empty() {
        false => asked.request(),
        true => gateway_body(get("RequestBody"), Request::read, salvage::request),
    };
    let response = match answered.is_empty() {
        false => answered.response(),
        true => gateway_body(get("ResponseBody"), Response::read, salvage::response),
    };
    Ok(body::expand(base, request, response)?)
}

fn cache_hit(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "hit" => Some(true),
        "miss" | "none" => Some(false),
        _ => None,
    }
}

/// A body of the gateway log.
fn gateway_body<T: Default>(
    body: Option<&Json<'_>>,
    read: impl Fn(&Json<'_>) -> T,
    salvage: impl Fn(&str) -> T,
) -> T {
    match body {
        Some(Json::Str(text)) if text.len() >= GATEWAY_BODY_BYTES => salvage(text),
        Some(body) => read(body),
        None => T::default(),
    }
}

fn extras(base: &mut Exchange, row: &Row<'_>) {
    for (key, value) in row.row.entries() {
        let known = READ.iter().any(|name| name.eq_ignore_ascii_case(key));
        let seen = base.extra.iter().any(|field| field.key == **key);
        if !known && !seen && !matches!(value, Json::Null) {
            base.extra.push(body::extra_field(key, value));
        }
    }
}

/// The texts of one side of a call in their order, in runs without a gap between them.
#[derive(Default)]
struct Chunks<'a> {
    runs: Vec<Vec<&'a Json<'a>>>,
}

impl<'a> Chunks<'a> {
    fn of(rows: &'a [Row<'a>], name: &str) -> Chunks<'a> {
        let mut chunks = Chunks::default();
        let mut last = None;
        for row in rows {
            let Some(value) = row.get(name).filter(|value| !is_blank(value)) else {
                continue;
            };
            let place = row.place();
            match chunks.runs.last_mut() {
                Some(run) if last == place.checked_sub(1) => run.push(value),
                _ => chunks.runs.push(vec![value]),
            }
            last = Some(place);
        }
        chunks
    }

    fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The whole messages, where nothing is missing.
    fn whole(&self) -> Option<Json<'static>> {
        let [run] = self.runs.as_slice() else {
            return None;
        };
        if run.iter().all(|value| matches!(value, Json::Array(_))) {
            let items = run.iter().flat_map(|value| value.items().iter().cloned());
            return Some(Json::Array(items.map(Json::into_owned).collect()));
        }
        if let [value @ Json::Object(_)] = run.as_slice() {
            return Some((*value).clone().into_owned());
        }
        let text = joined(run);
        let parsed = Json::parse(text.trim()).ok()?;
        matches!(parsed, Json::Array(_) | Json::Object(_)).then(|| parsed.into_owned())
    }

    fn request(&self) -> Request {
        if let Some(messages) = self.whole() {
            return match &messages {
                Json::Array(_) => Request::of_messages(&messages),
                body => Request::read(body),
            };
        }
        let mut runs = self.runs.iter();
        let mut request = salvage::request(&runs.next().map(|run| joined(run)).unwrap_or_default());
        if let Some(prompt) = request.prompts.last_mut() {
            runs.for_each(|run| append(prompt, run));
        }
        request
    }

    fn response(&self) -> Response {
        if let Some(messages) = self.whole() {
            return Response::read(&messages);
        }
        let mut runs = self.runs.iter();
        let mut response =
            salvage::response(&runs.next().map(|run| joined(run)).unwrap_or_default());
        // A stream that reads to its end is no cut one, but chunks of messages never are.
        response.state = ContentState::Truncated;
        if let Some(choice) = response.choices.last_mut() {
            let text = choice.response.get_or_insert_default();
            runs.for_each(|run| append(text, run));
        }
        response
    }
}

fn is_blank(value: &Json<'_>) -> bool {
    match value {
        Json::Str(text) => text.trim().is_empty(),
        Json::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// The texts of a run in one; a value that is no string stands as its JSON.
fn joined(run: &[&Json<'_>]) -> String {
    let mut text = String::new();
    for value in run {
        match value {
            Json::Str(part) => text.push_str(part),
            other => text.push_str(&other.to_text()),
        }
    }
    text
}

/// Adds a run whose beginning is missing: text between two cuts, its escapes taken away.
fn append(field: &mut FieldText, run: &[&Json<'_>]) {
    let start = field.text.len();
    field.text.push('\n');
    markers::cut(field, start..start + 1);
    field.text.push_str(&unescaped(&joined(run)));
    markers::cut_end(field);
}

/// JSON text read without knowing where its strings begin.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let (char, length) = match escape.as_bytes().get(1) {
            Some(b'n') => ('\n', 2),
            Some(b't') => ('\t', 2),
            Some(b'r') => ('\r', 2),
            Some(b'"') => ('"', 2),
            Some(b'\\') => ('\\', 2),
            Some(b'/') => ('/', 2),
            Some(b'u') => unicode(escape),
            _ => (char::REPLACEMENT_CHARACTER, 1),
        };
        out.push(char);
        rest = escape.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The character of `\uXXXX`, or of two of them that are a pair, and its length.
fn unicode(escape: &str) -> (char, usize) {
    let unit = |at: usize| {
        let digits = escape.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let lost = char::REPLACEMENT_CHARACTER;
    match (unit(0), unit(6)) {
        (Some(high @ 0xd800..=0xdbff), Some(low @ 0xdc00..=0xdfff)) => {
            let pair = char::decode_utf16([high, low]).next();
            (pair.and_then(Result::ok).unwrap_or(lost), 12)
        }
        (Some(one), _) => (char::from_u32(u32::from(one)).unwrap_or(lost), 6),
        (None, _) => (lost, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::ContentState::{Absent, Full, Truncated};

    fn decode(rows: &str) -> Vec<Exchange> {
        let mut out = Vec::new();
        let kind = AzureApim.decode(rows.as_bytes(), &DecodeContext::default(), &mut out);
        assert_eq!(kind.is_ok(), !out.is_empty(), "{rows}");
        out
    }

    fn row(place: u32, side: &str, text: &str) -> String {
        let text = serde_json::to_string(text).unwrap();
        format!(
            r#"{{"CorrelationId":"c","SequenceNumber":{place},"{side}Messages":{text},"ModelName":"m"}}"#
        )
    }

    #[test]
    fn chunks_are_joined_before_they_are_parsed() {
        let asked = r#"[{"role":"user","content":"first \"half\" and second half"}]"#;
        let (one, two, three) = (&asked[..30], &asked[30..40], &asked[40..]);
        let all = [(1, one), (2, two), (3, three)];
        let of = |chunks: &[(u32, &str)]| {
            let rows: Vec<String> = chunks
                .iter()
                .map(|(place, text)| row(*place, "Request", text))
                .collect();
            let mut found = decode(&format!("[{}]", rows.join(",")));
            assert_eq!(found.len(), 1);
            let found = found.remove(0);
            (found.prompt_state, found.prompt.unwrap().text)
        };
        let whole = (Full, "first \"half\" and second half".to_owned());
        assert_eq!(of(&all), whole);
        assert_eq!(of(&[all[2], all[0], all[1]]), whole);
        let (state, text) = of(&all[..2]);
        assert_eq!((state, text.as_str()), (Truncated, "first \"half"));
        let (state, text) = of(&[all[0], all[2]]);
        assert_eq!(state, Truncated);
        assert!(
            text.starts_with("fir\n") && text.contains("and second half"),
            "{text}"
        );
        let (state, text) = of(&all[1..]);
        assert_eq!(state, Truncated);
        assert!(text.contains("second half"), "{text}");
    }

    #[test]
    fn a_call_without_texts_has_none() {
        let found = decode(r#"{"CorrelationId":"c","SequenceNumber":0,"PromptTokens":0}"#);
        assert_eq!(
            (found[0].prompt_state, found[0].response_state),
            (Absent, Absent)
        );
        assert_eq!(found[0].prompt_tokens, None);
        assert!(!found[0].half);
    }

    #[test]
    fn escapes_without_their_string() {
        for (text, expected) in [
            ("a\\nb \\\"c\\\" \\u00e9\\\\", "a\nb \"c\" é\\"),
            ("cut \\", "cut \u{fffd}"),
            ("cut \\u00", "cut \u{fffd}u00"),
            ("\\ud83d", "\u{fffd}"),
            ("\\ud83d\\ude00!", "\u{1f600}!"),
            ("é\\é", "é\u{fffd}é"),
        ] {
            assert_eq!(unescaped(text), expected);
        }
    }

    #[test]
    fn rows_of_one_call_have_one_key() {
        let key = |row: &str| AzureApim.row_key(row.as_bytes(), &DecodeContext::default());
        let flat = key(r#"{"CorrelationId":"c","SequenceNumber":2}"#).unwrap();
        let stored = key(
            r#"{"category":"GatewayLlmLogs","correlationId":"c","properties":{"sequenceNumber":"3"}}"#,
        );
        assert_eq!((flat.place, stored.unwrap().place), (2, 3));
        assert_eq!(stored.unwrap().call, flat.call);
        for alone in [
            "{}",
            "[]",
            "x",
            r#"{"records":[{"correlationId":"c"}],"correlationId":"d"}"#,
        ] {
            assert_eq!(key(alone), None, "{alone}");
        }
    }
}
