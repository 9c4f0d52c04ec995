//! Every way in which a format says that a text is not here as it was: cut, replaced, under a key,
//! elsewhere, as ids only, or without its earlier turns. One record a way, and the states that
//! follow; none of them may read as whole.

use pentimento_core::exchange::ContentState::{
    self, Absent, Encrypted, External, Full, IdsOnly, Redacted, Stateful, Truncated,
};
use pentimento_core::format::{DecodeContext, sniff_source};

/// A way, its record, and the states of prompt and response.
type Way = (&'static str, String, (ContentState, ContentState));

fn states(record: &str) -> (&'static str, (ContentState, ContentState)) {
    let format = sniff_source(&[record.as_bytes()]).expect("a known format");
    let mut out = Vec::new();
    let context = DecodeContext::default();
    let kind = format.decode(record.as_bytes(), &context, &mut out);
    assert!(kind.is_ok() && out.len() == 1, "{} {kind:?}", format.name());
    (format.name(), (out[0].prompt_state, out[0].response_state))
}

fn check(ways: Vec<Way>) {
    let mut wrong = Vec::new();
    for (way, record, expected) in ways {
        let (format, found) = states(&record);
        if found != expected {
            wrong.push(format!(
                "{way} ({format}): {found:?}, expected {expected:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A finished record of SGLang.
fn sglang(obj: &str, out: &str) -> String {
    format!(
        r#"[2026-09-11 08:30:05] {{"timestamp":"2026-09-11T08:30:05","event":"request.finished","rid":"r","obj":{{{obj}}},"out":{{{out}"meta_info":{{"id":"r","prompt_tokens":3,"completion_tokens":2,"finish_reason":{{"type":"stop"}}}}}}}}"#
    )
}

/// A payload of LiteLLM.
fn litellm(messages: &str, response: &str, more: &str) -> String {
    format!(
        r#"{{"id":"i","litellm_call_id":"c","call_type":"acompletion","startTime":1789115405.25,"endTime":1789115409.5,"status":"success","messages":{messages},"response":{response}{more}}}"#
    )
}

/// A pair of request and response bodies.
fn pair(request: &str, response: &str) -> String {
    format!(r#"{{"request":{request},"response":{response},"request_id":"r"}}"#)
}

const ASKED: &str = r#"{"messages":[{"role":"user","content":"how many"}]}"#;
const ANSWERED: &str = concat!(
    r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"forty"},"#,
    r#""finish_reason":"stop"}]}"#
);

#[test]
fn engines() {
    let long = format!("{}...{}", "a".repeat(1024), "z".repeat(1024));
    let (text, ids) = (r#""text":"how many""#, r#""input_ids":[1,2,3]"#);
    let answer = r#""text":"forty","output_ids":[5,6],"#;
    check(vec![
        ("whole", sglang(text, answer), (Full, Full)),
        ("level 2", sglang(&format!(r#""text":"{long}""#), answer), (Truncated, Full)),
        (
            "level 2, answer",
            sglang(text, &format!(r#""text":"{long}","#)),
            (Full, Truncated),
        ),
        ("ids of the prompt", sglang(ids, answer), (IdsOnly, Full)),
        (
            "ids with a gap",
            sglang(r#""input_ids":[1,"...",3]"#, answer),
            (IdsOnly, Full),
        ),
        ("levels 0 and 1", sglang(r#""stream":false"#, ""), (Absent, Absent)),
        (
            "no_logs",
            sglang(&format!(r#"{text},"no_logs":true"#), answer),
            (Redacted, Redacted),
        ),
        (
            "levels 0 and 1 of the text log",
            "[2026-09-11 08:30:05] Finish: obj=GenerateReqInput(rid='r'), out={'meta_info': {'id': 'r'}}"
                .to_owned(),
            (Absent, Absent),
        ),
        (
            "level 2 of the text log",
            format!(
                "[2026-09-11 08:30:05] Finish: obj=GenerateReqInput(rid='r', text='{}' ... '{}'), \
                 out={{'text': 'forty', 'meta_info': {{'id': 'r'}}}}",
                "a".repeat(1024),
                "z".repeat(1024)
            ),
            (Truncated, Full),
        ),
        (
            "vLLM with ids alone",
            "INFO 06-02 10:11:12 [logger.py:39] Received request r: prompt: None, params: S(), \
             prompt_token_ids: [1, 2], lora_request: None."
                .to_owned(),
            (IdsOnly, Absent),
        ),
        (
            "Dynamo, payload not complete",
            format!(
                r#"{{"schema":"dynamo.request.trace.v1","event_type":"request_payload","event_time_unix_ms":1789115405250,"payload":{{"request_id":"d","model":"m","request":{ASKED},"response":{ANSWERED},"payload_complete":false}}}}"#
            ),
            (Truncated, Truncated),
        ),
    ]);
}

#[test]
fn gateways() {
    let marked = concat!(
        r#"[{"role":"user","content":"aaa... (litellm_truncated skipped 2600000 chars. note) "#,
        r#"...zzz"}]"#
    );
    let messages = r#"[{"role":"user","content":"how many"}]"#;
    let head = |complete: bool| {
        format!(
            r#"{{"id":"l","created_at":"2026-09-11T08:30:05Z","model":"m","provider":"p","success":true,"tokens_in":1,"tokens_out":1,"status_code":200,"request_head":"{{\"messages\":[{{\"role\":\"user\",\"content\":\"how many\"}}]}}","request_head_complete":{complete}}}"#
        )
    };
    let helicone = r#"{"helicone_message":"fetching body from signed_url..."}"#;
    check(vec![
        ("marker", litellm(marked, ANSWERED, ""), (Truncated, Full)),
        (
            "redaction",
            litellm(
                r#"[{"role":"user","content":"redacted-by-litellm"}]"#,
                r#"{"text":"redacted-by-litellm"}"#,
                "",
            ),
            (Redacted, Redacted),
        ),
        ("whole", litellm(messages, ANSWERED, ""), (Full, Full)),
        ("first bytes of a body", head(false), (Truncated, Absent)),
        ("all bytes of a body", head(true), (Full, Absent)),
        (
            "encrypted",
            r#"{"Gateway":"g","Endpoint":"e","RequestBody":{"type":"encrypted","key":"a","iv":"b","data":"c"},"ResponseBody":{"type":"encrypted","data":"c"},"StatusCode":200,"Timestamp":1}"#
                .to_owned(),
            (Encrypted, Encrypted),
        ),
        (
            "bodies in S3",
            r#"{"schemaType":"ModelInvocationLog","requestId":"r","modelId":"m","input":{"inputBodyS3Path":"s3://b/data/u_input.json.gz"},"output":{"outputBodyS3Path":"s3://b/data/u_output.json.gz"}}"#
                .to_owned(),
            (External, External),
        ),
        (
            "bodies dropped",
            r#"{"schemaType":"ModelInvocationLog","requestId":"r","modelId":"m","input":{"inputTokenCount":5},"output":{"outputTokenCount":2}}"#
                .to_owned(),
            (Absent, Absent),
        ),
        (
            "placeholder of a body",
            format!(
                r#"{{"request_id":"h","response_id":"i","request_created_at":"2026-09-11T08:30:05Z","response_status":200,"request_body":{helicone},"response_body":{helicone}}}"#
            ),
            (External, External),
        ),
        (
            "a chunk of API Management alone",
            r#"{"CorrelationId":"c","SequenceNumber":2,"RequestMessages":"many\"}]","ResponseMessages":""}"#
                .to_owned(),
            (Truncated, Absent),
        ),
        (
            "no payload in a gateway's log",
            r#"{"started_at":1789115405250,"request":{"id":"k"},"response":{"status":200},"ai":{"proxy":{"usage":{"prompt_tokens":5,"completion_tokens":2}}}}"#
                .to_owned(),
            (Absent, Absent),
        ),
    ]);
}

#[test]
fn traces() {
    let span = |key: &str, value: &str| {
        let value = serde_json::to_string(value).expect("a text");
        format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"5b8e0000000000000000000000000000","spanId":"a1b2c3d4e5f60718","name":"chat","startTimeUnixNano":"1789115405250000000","endTimeUnixNano":"1789115409500000000","attributes":[{{"key":"gen_ai.operation.name","value":{{"stringValue":"chat"}}}},{{"key":"{key}","value":{{"stringValue":{value}}}}}]}}]}}]}}]}}"#
        )
    };
    let parts = r#"[{"role":"user","parts":[{"type":"text","content":"how many"}]}]"#;
    check(vec![
        (
            "whole",
            span("gen_ai.input.messages", parts),
            (Full, Absent),
        ),
        (
            "cut value",
            span("gen_ai.input.messages", &parts[..50]),
            (Truncated, Absent),
        ),
        (
            "stored elsewhere",
            span("gen_ai.input.messages_ref", "s3://b/u_inputs.json"),
            (External, Absent),
        ),
        (
            "hidden by OpenInference",
            span("llm.input_messages.0.message.content", "__REDACTED__"),
            (Redacted, Absent),
        ),
    ]);
}

#[test]
fn bodies() {
    check(vec![
        ("whole", pair(ASKED, ANSWERED), (Full, Full)),
        (
            "earlier turns elsewhere",
            pair(
                r#"{"input":"go on","previous_response_id":"resp_1"}"#,
                ANSWERED,
            ),
            (Stateful, Full),
        ),
        (
            "cached beginning",
            pair(
                r#"{"contents":[{"parts":[{"text":"go on"}]}],"cachedContent":"c"}"#,
                ANSWERED,
            ),
            (Stateful, Full),
        ),
        (
            "ids",
            pair(r#"{"prompt":[1,2,3]}"#, ANSWERED),
            (IdsOnly, Full),
        ),
        (
            "a body cut on the way",
            pair(
                r#""{\"messages\":[{\"role\":\"user\",\"content\":\"how ma""#,
                r#""{\"choices\":[{\"index\":0,\"message\":{\"content\":\"for""#,
            ),
            (Truncated, Truncated),
        ),
        (
            "marks of loggers",
            pair(
                r#"{"messages":[{"role":"user","content":"how... [truncated 12 chars]"}]}"#,
                r#"{"choices":[{"message":{"content":"for… [12 chars truncated]"}}]}"#,
            ),
            (Truncated, Truncated),
        ),
        ("no response", pair(ASKED, "null"), (Full, Absent)),
    ]);
}
