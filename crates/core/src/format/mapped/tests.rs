//! Tables of mappings, right and wrong, and what they make of records.

use super::*;
use crate::exchange::FieldText;
use jiff::tz::TimeZone;
use toml::Table;

fn read(text: &str) -> Result<Mapping, MappingError> {
    let zone = |name: &str| match name {
        "+02:00" => Ok(TimeZone::fixed(jiff::tz::offset(2))),
        other => Err(format!("`{other}` is no known time zone")),
    };
    Mapping::read("house", &text.parse().expect("TOML"), &zone)
}

fn mapped(text: &str) -> &'static Mapped {
    Mapped::keep(read(text).expect("a mapping"))
}

fn decode(format: &Mapped, record: &str) -> Result<Vec<Exchange>, RejectReason> {
    let mut out = Vec::new();
    let kind = format.decode(record.as_bytes(), &DecodeContext::default(), &mut out)?;
    assert_eq!(kind == RecordKind::Exchange, !out.is_empty());
    Ok(out)
}

const FULL: &str = r#"
when = { "/kind" = ["completion", "chat"] }
request_id = "/meta/id"
model = ["/served", "/asked"]
role = { value = "gateway" }
node = "/host"
t_start = { at = "/at", unit = "ms" }
duration = { at = "/took", unit = "s" }
first_token_after = { at = "/ttft", unit = "us" }
http_status = "/status"
outcome = { at = "/state", map = { done = "ok", stopped = "aborted" } }
prompt_tokens = { at = "/usage/in", unit = "tokens" }
completion_tokens = "/usage/out"
bootstrap_room = "/meta/room"
trace_id = "/meta/trace"
tenant_candidates = [
  { kind = "organization", at = "/who/org" },
  { kind = "api_key", at = "/who/key" },
]
messages = "/req/messages"
response = { at = "/answer", type = "text" }
"#;

#[test]
fn every_column_is_filled() {
    let record = r#"{"kind":"chat","meta":{"id":"r-1","room":5120033876543210987,"trace":"t","x":1},
        "asked":"m","host":"gw-1","at":1788251405120,"took":2.5,"ttft":800000,"status":"200",
        "state":"done","usage":{"in":12,"out":-1},"who":{"org":"acme","key":"sk-1"},
        "req":"{\"messages\":[{\"role\":\"user\",\"content\":\"hello there\"}]}",
        "answer":"{\"choices\": 7}","left":[1]}"#;
    let out = decode(mapped(FULL), record).unwrap();
    let e = &out[0];
    assert_eq!(out.len(), 1);
    assert_eq!(e.request_id.as_deref(), Some("r-1"));
    assert_eq!(e.model_raw.as_deref(), Some("m"));
    assert_eq!(
        (e.role, e.node.as_deref()),
        (Some(Role::Gateway), Some("gw-1"))
    );
    assert_eq!(e.t_start, Some(1_788_251_405_120_000));
    assert_eq!(e.t_end, Some(1_788_251_407_620_000));
    assert_eq!(e.t_first_token, Some(1_788_251_405_920_000));
    assert_eq!((e.http_status, e.outcome), (Some(200), Outcome::Ok));
    assert_eq!((e.prompt_tokens, e.completion_tokens), (Some(12), None));
    assert_eq!(e.tokens_source, Some("gateway"));
    let id = |kind| {
        e.correlation
            .iter()
            .find(|c| c.kind == kind)
            .map(|c| c.value.as_str())
    };
    assert_eq!(
        id(CorrelationKind::BootstrapRoom),
        Some("5120033876543210987")
    );
    assert_eq!(id(CorrelationKind::TraceId), Some("t"));
    let kinds: Vec<&str> = e
        .tenant_candidates
        .iter()
        .map(|c| c.kind.as_str())
        .collect();
    assert_eq!(kinds, ["organization", "api_key_hash"]);
    // printf sk-1 | sha256sum
    let digest = "0f2c10bf3d128c719c6bfa4ecbae94b7fceebaea6e4438fef38a90e5acc326f3";
    assert_eq!(e.tenant_candidates[1].value, digest);
    assert_eq!(key_digest(digest), digest);
    assert_eq!(e.prompt, Some(FieldText::of("hello there")));
    assert_eq!(e.response, Some(FieldText::of("{\"choices\": 7}")));
    assert_eq!(e.prompt_state, ContentState::Full);
    let extra: Vec<&str> = e.extra.iter().map(|x| x.key.as_str()).collect();
    assert_eq!(extra, ["meta.x", "left"]);
}

#[test]
fn records_that_do_not_fit() {
    let format = mapped(FULL);
    let other = r#"{"kind":"heartbeat","at":"soon"}"#;
    assert!(decode(format, other).unwrap().is_empty());
    for (record, reason) in [
        (r#"{"kind":"chat","at":"soon"}"#, RejectReason::InvalidField),
        (
            r#"{"kind":"chat","status":2000}"#,
            RejectReason::InvalidField,
        ),
        (
            r#"{"kind":"chat","usage":{"in":1.5}}"#,
            RejectReason::InvalidField,
        ),
        (
            r#"{"kind":"chat","meta":{"id":1.5}}"#,
            RejectReason::InvalidField,
        ),
        (
            r#"{"kind":"chat","meta":{"id":{"a":1}}}"#,
            RejectReason::InvalidField,
        ),
        (r#"{"kind":"chat","other":1}"#, RejectReason::UnknownShape),
        (r#"["kind"]"#, RejectReason::UnknownShape),
        (r#"{"kind":"chat""#, RejectReason::InvalidJson),
        ("kind=chat", RejectReason::InvalidJson),
    ] {
        assert_eq!(decode(format, record), Err(reason), "{record}");
    }
    let long = format!(r#"{{"kind":"chat","meta":{{"id":"{}"}}}}"#, "x".repeat(600));
    assert_eq!(decode(format, &long), Err(RejectReason::InvalidField));
}

#[test]
fn bodies_are_read_by_the_one_body_reader() {
    let format = mapped("request_body = \"/q\"\nresponse_body = \"/a\"\ntenant = \"/t\"");
    let request = r#"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"two\"}]}"#;
    let stream = [
        r#"data: {\"id\":\"c-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"on\"}}]}"#,
        r#"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"e\"},"#,
        r#"\"finish_reason\":\"stop\"}]}"#,
        r"data: [DONE]\n\n",
    ];
    let stream = format!(
        r"{}\n\n{}{}\n\n{}",
        stream[0], stream[1], stream[2], stream[3]
    );
    let record = format!(r#"{{"t":7,"q":"{request}","a":"{stream}"}}"#);
    let out = decode(format, &record).unwrap();
    assert_eq!(out[0].prompt, Some(FieldText::of("two")));
    assert_eq!(out[0].response, Some(FieldText::of("one")));
    assert_eq!(out[0].finish_reason.as_deref(), Some("stop"));
    assert_eq!(out[0].model_raw.as_deref(), Some("m"));
    assert_eq!(out[0].tenant_candidates[0].value, "7");
    let record = r#"{"t":"a","a":{"choices":[{"index":0,"text":"x"},{"index":1,"text":"y"}]}}"#;
    assert_eq!(decode(format, record).unwrap().len(), 2);
}

#[test]
fn rows_are_read_by_their_header() {
    let format = mapped(
        "request_id = \"Request ID\"\ntenant = \"customer\"\nprompt = \"Q\"\nresponse = \"A\"\n\
         t_start = { at = \"when\", pattern = \"%d/%m/%Y %H:%M:%S\", zone = \"+02:00\" }\n",
    );
    let header = b"Request ID,customer,when,Q,A,Extra Column";
    let context = DecodeContext {
        header: Some(header),
        ..DecodeContext::default()
    };
    assert_eq!(format.sniff(header), 60);
    let mut out = Vec::new();
    let kind = format.decode(header, &context, &mut out);
    assert_eq!(kind, Ok(RecordKind::Other));
    let row = b"7,acme,01/09/2026 10:30:05,\"a, b\",c,d";
    assert_eq!(format.sniff(row), 0);
    let kind = format.decode(row, &context, &mut out);
    assert_eq!(kind, Ok(RecordKind::Exchange));
    assert_eq!(out[0].t_start, Some(1_788_251_405_000_000));
    assert_eq!(out[0].t_zone, TimeZoneSource::Assumed);
    assert_eq!(out[0].prompt, Some(FieldText::of("a, b")));
    assert_eq!(out[0].extra[0].key, "Extra Column");
}

#[test]
fn how_sure_a_mapping_is() {
    let open = mapped("request_id = \"/a\"\nmodel = \"/b\"\nnode = { value = \"n\" }");
    for (record, sure) in [
        (r#"{"a":1,"b":2}"#, 60),
        (r#"{"a":1}"#, 40),
        (r#"{"c":1}"#, 0),
        ("[1]", 0),
        ("soup", 0),
    ] {
        assert_eq!(open.sniff(record.as_bytes()), sure, "{record}");
    }
    let strict = mapped("when = { \"/k\" = \"*\", \"/v\" = 2 }\nrequest_id = \"/a\"");
    assert_eq!(strict.sniff(br#"{"k":null,"v":2,"a":1}"#), 0);
    assert_eq!(strict.sniff(br#"{"k":{},"v":3,"a":1}"#), 0);
    assert_eq!(strict.sniff(br#"{"k":{},"v":2,"a":1}"#), 100);
}

#[test]
fn months_of_times_without_a_year() {
    let format = mapped("t_start = { at = \"/t\", pattern = \"%b %d %H:%M:%S\" }");
    assert_eq!(format.month(br#"{"t":"Dec 31 23:59:59"}"#), Some(12));
    assert_eq!(format.month(br#"{"t":"soon"}"#), None);
    let full = mapped("t_start = { at = \"/t\", pattern = \"%Y-%m-%d %H:%M:%S\" }");
    assert_eq!(full.month(br#"{"t":"2026-12-31 23:59:59"}"#), None);
}

/// Mappings that are wrong, and what is said of each.
const WRONG: &[(&str, &str)] = &[
    ("", "`request_id`: no column names a place"),
    (
        "model = { value = \"m\" }",
        "`request_id`: no column names a place",
    ),
    (
        "request_idd = \"/a\"",
        "`request_idd`: no column of that name, did you mean `request_id`?",
    ),
    (
        "request_id = 7",
        "`request_id`: expected a JSON pointer, found a integer",
    ),
    ("request_id = \"\"", "`request_id`: an empty pointer"),
    (
        "request_id = \"/a~3\"",
        "`request_id`: `/a~3` is no JSON pointer",
    ),
    (
        "t_start = { at = \"/a\", unit = \"min\" }",
        "`t_start.unit`: `min` is no unit here",
    ),
    (
        "t_start = { at = \"/a\", zone = \"Mars\" }",
        "`t_start.zone`: `Mars` is no known",
    ),
    (
        "t_start = { at = \"/a\", pattern = \"%Q\" }",
        "`t_start.pattern`: `%Q` is no pattern",
    ),
    (
        "t_start = { value = \"x\" }",
        "`t_start`: cannot be the same in every record",
    ),
    ("duration = \"/a\"", "`duration`: a duration needs its unit"),
    (
        "model = { at = \"/a\", unit = \"s\" }",
        "`model`: only times and durations have a unit",
    ),
    (
        "model = { at = \"/a\", zone = \"+02:00\" }",
        "`model`: only times have a zone",
    ),
    (
        "model = { at = \"/a\", type = \"integer\" }",
        "`model.type`: `integer` does not fit",
    ),
    (
        "model = { from = \"/a\" }",
        "`model.from`: unknown, expected at, value",
    ),
    ("model = {}", "`model`: names no place"),
    (
        "tenant_candidates = [{ at = \"/a\" }]",
        "`tenant_candidates[1]`: needs its kind",
    ),
    (
        "tenant_candidates = \"/a\"",
        "`tenant_candidates`: expected a list",
    ),
    ("model = \"/a\"\nwhen = \"/b\"", "`when`: expected a table"),
    (
        "model = \"/a\"\nwhen = { \"/b\" = 1.5 }",
        "`when./b`: expected a text, number or bool",
    ),
    ("model = \"/a\"\nfiles = 1", "`files`: expected a glob"),
    ("model = \"/a\"\nyear = 26", "`year`: expected a year"),
    (
        "model = \"/a\"\nzone = \"Mars\"",
        "`zone`: `Mars` is no known time zone",
    ),
];

#[test]
#[allow(clippy::too_many_lines, reason = "one table of cases")]
fn errors_name_the_key_and_the_reason() {
    for (text, expected) in WRONG {
        let error = read(text).expect_err(text).to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    let zone = |_: &str| Err(String::new());
    for name in ["", "Big", "native"] {
        assert!(Mapping::read(name, &Table::new(), &zone).is_err(), "{name}");
    }
}
