//! The text log line by line: prefixes, silent cuts, the sides of a pair.

use super::*;
use crate::exchange::{ContentState, Role};

fn text(line: &str, name: &str) -> Result<Vec<Exchange>, RejectReason> {
    let mut out = Vec::new();
    let utc = jiff::tz::TimeZone::UTC;
    let context = DecodeContext {
        zone: Some(&utc),
        source_name: name,
        ..DecodeContext::default()
    };
    VllmText
        .decode(line.as_bytes(), &context, &mut out)
        .map(|_| out)
}

const ANSWER: &str = "Generated response chatcmpl-7: output: 'x', finish_reason: stop";

#[test]
fn prefixes_of_all_versions() {
    let seconds = |text: &str| {
        let stamp: jiff::Timestamp = text.parse().unwrap();
        Some(stamp.as_microsecond())
    };
    for (prefix, name, time) in [
        (
            "INFO 09-11 08:30:05 [request_logger.py:66] ",
            "vllm-2026-09-11.log",
            seconds("2026-09-11T08:30:05Z"),
        ),
        (
            "INFO 12-31 23:59:59 __init__.py:190] ",
            "vllm_20270101.log.gz",
            seconds("2026-12-31T23:59:59Z"),
        ),
        (
            "(APIServer pid=71) INFO 01-02 00:00:01.250 [v1/a.py:6] ",
            "2026.12.31",
            seconds("2027-01-02T00:00:01.25Z"),
        ),
        (
            "\u{1b}[0;36m(APIServer pid=71)\u{1b}[0;0m INFO 09-11 08:30:05 [a.py:6] ",
            "x.log",
            None,
        ),
        (
            "2026-09-11T10:30:05.5+02:00 stdout F INFO 09-11 08:30:05 [a.py:6] ",
            "x.log",
            seconds("2026-09-11T08:30:05.5Z"),
        ),
    ] {
        let found = text(&format!("{prefix}{ANSWER}"), name).unwrap().remove(0);
        assert_eq!(found.t_start, time, "{prefix}");
        assert_eq!(found.correlation[0].value, "chatcmpl-7");
        assert_eq!(found.correlation[1].value, "7");
    }
    for line in [
        "INFO 13-11 08:30:05 [a.py:6] Generated response c: output: 'x', finish_reason: stop",
        "INFO 09-11 08:30:05 [a.py:6] Generated response c: output: 'x, finish_reason: stop",
        "INFO 09-11 08:30:05 [a.py:6] Received request c: nothing",
        "INFO 09-11 08:30 [a.py:6] Received request c: prompt: 'x'",
        "soup",
    ] {
        assert!(text(line, "2026-09-01").is_err(), "{line}");
    }
}

#[test]
fn cuts_without_a_mark() {
    let line = |output: &str, ids: usize| {
        let ids: Vec<String> = (0..ids).map(|id| id.to_string()).collect();
        format!(
            "INFO 09-11 08:30:05 [a.py:6] Generated response c: output: '{output}', \
             output_token_ids: [{}], finish_reason: length",
            ids.join(", ")
        )
    };
    for (length, ids, state, tokens) in [
        (99, 30, ContentState::Full, Some(30)),
        (500, 30, ContentState::Truncated, None),
        (512, 30, ContentState::Truncated, None),
        (333, 333, ContentState::Truncated, None),
        (333, 100, ContentState::Full, Some(100)),
        (0, 3, ContentState::IdsOnly, None),
    ] {
        let found = text(&line(&"x".repeat(length), ids), "").unwrap().remove(0);
        assert_eq!(found.response_state, state, "{length} {ids}");
        assert_eq!(found.completion_tokens, tokens, "{length} {ids}");
    }
}

#[test]
fn sides_of_a_pair() {
    for (params, role) in [
        ("SamplingParams(n=1)", Role::Unified),
        (
            "SamplingParams(n=1, extra_args={'kv_transfer_params': {'do_remote_decode': True}})",
            Role::Prefill,
        ),
        (
            "SamplingParams(extra_args={'kv_transfer_params': {'do_remote_prefill': True}})",
            Role::Decode,
        ),
    ] {
        let line = format!(
            "INFO 09-11 08:30:05 [a.py:6] Received request cmpl-a-0: params: {params}, lora_request: None."
        );
        let found = text(&line, "").unwrap().remove(0);
        assert_eq!(found.role, Some(role));
        assert!(found.half);
        let ids: Vec<&str> = found.correlation.iter().map(|c| c.value.as_str()).collect();
        assert_eq!(ids, ["cmpl-a", "cmpl-a-0", "a"]);
    }
}
