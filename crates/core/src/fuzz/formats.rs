//! Log formats and the framer.

use super::input::Input;
use crate::exchange::{Exchange, FieldText, RecordKind};
use crate::format::frame::Framer;
use crate::format::{DecodeContext, LogFormat, Wanted, by_name, sniff_source};
use std::io::BufReader;

/// What engines write, and routers in front of them.
pub(super) const ENGINES: &[&str] = &[
    "sglang_json",
    "sglang_text",
    "sglang_metrics",
    "vllm_text",
    "vllm_json",
    "dynamo",
    "ray_serve",
    "engine_log",
    "server_info",
    "metrics",
    "kubernetes",
    "sglang_dump",
];

/// What gateways and observers write.
pub(super) const GATEWAYS: &[&str] = &[
    "native",
    "openai",
    "litellm",
    "otlp",
    "kong",
    "langfuse",
    "helicone",
    "portkey",
    "har",
    "envoy_ai_gateway",
    "litellm_csv",
    "helicone_csv",
    "langfuse_csv",
];

/// What clouds write.
pub(super) const CLOUDS: &[&str] = &[
    "batch",
    "cloudflare",
    "bedrock",
    "azure_openai",
    "vertex",
    "azure_apim",
    "usage_export",
];

/// Public traces and data sets.
pub(super) const SETS: &[&str] = &[
    "mooncake",
    "azure_trace",
    "burst_gpt",
    "sharegpt",
    "wildchat",
    "lmsys",
];

/// Bytes of a record above which the framer refuses it.
const MAX_RECORD: usize = 1 << 16;

pub(super) fn engines(data: &[u8]) {
    family(ENGINES, data);
}

pub(super) fn gateways(data: &[u8]) {
    family(GATEWAYS, data);
}

pub(super) fn clouds(data: &[u8]) {
    family(CLOUDS, data);
}

pub(super) fn sets(data: &[u8]) {
    family(SETS, data);
}

/// The first byte chooses the format, the rest is a source.
fn family(names: &[&str], data: &[u8]) {
    let mut input = Input::new(data);
    let name = input.of(names);
    let Some(format) = by_name(name) else {
        panic!("{name} is no format");
    };
    let mut framer = Framer::new(input.rest(), MAX_RECORD);
    while let Some(block) = framer.next_block(1 << 20) {
        let context = DecodeContext {
            zone: Some(&jiff::tz::TimeZone::UTC),
            year: Some(2026),
            header: block.header.as_deref(),
            source_name: "a_0.log",
            keys: None,
            bodies: None,
            first_month: None,
        };
        for span in &block.records {
            record(format, block.record(span), &context);
        }
        let first: Vec<&[u8]> = block.records.iter().map(|s| block.record(s)).collect();
        // Other formats must bear the look at it too.
        let _ = sniff_source(&first);
    }
}

fn record(format: &dyn LogFormat, record: &[u8], context: &DecodeContext<'_>) {
    assert!(format.sniff(record) <= 100, "surer than sure");
    let mut out = Vec::new();
    let result = format.decode(record, context, &mut out);
    assert_eq!(
        result == Ok(RecordKind::Exchange),
        !out.is_empty(),
        "exchanges and result differ"
    );
    let mut events = Vec::new();
    if result == Ok(RecordKind::Event) {
        format.events(record, context, &mut events);
    }
    assert!(out.first().is_none_or(|e| e.part == 0), "parts begin at 0");
    for pair in out.windows(2) {
        assert!(
            pair[1].part.wrapping_sub(pair[0].part) < 2,
            "a gap in parts"
        );
    }
    for exchange in &out {
        for field in texts(exchange).into_iter().flatten() {
            sound(field);
        }
    }
    for wanted in [Wanted::All, Wanted::Answer, Wanted::Prompt, Wanted::Facts] {
        let mut again = Vec::new();
        let second = format.decode_again(record, context, wanted, &mut again);
        assert_eq!(result, second, "{wanted:?} gives another result");
        assert_eq!(out.len(), again.len(), "{wanted:?} gives another number");
        for (first, second) in out.iter().zip(&again) {
            same(first, second, wanted);
        }
    }
}

/// The wanted texts with their states are the same.
fn same(first: &Exchange, second: &Exchange, wanted: Wanted) {
    if matches!(wanted, Wanted::All | Wanted::Prompt) {
        let same = first.prompt == second.prompt && first.prompt_state == second.prompt_state;
        assert!(same, "{wanted:?} gives another prompt");
    }
    if matches!(wanted, Wanted::All | Wanted::Answer) {
        let same = texts(first)[1..] == texts(second)[1..]
            && first.response_state == second.response_state;
        assert!(same, "{wanted:?} gives another answer");
    }
}

fn texts(exchange: &Exchange) -> [Option<&FieldText>; 4] {
    [
        exchange.prompt.as_ref(),
        exchange.response.as_ref(),
        exchange.reasoning.as_ref(),
        exchange.tool.as_ref(),
    ]
}

/// Borders ascend, do not overlap, and lie between characters of their text.
pub(super) fn sound(field: &FieldText) {
    let mut from = 0;
    for border in &field.borders {
        assert!(
            from <= border.start && border.start <= border.end,
            "borders cross"
        );
        assert!(
            field.text.is_char_boundary(border.start) && field.text.is_char_boundary(border.end),
            "a border inside a character"
        );
        from = border.end;
    }
    assert!(from <= field.text.len(), "a border behind the text");
}

/// Offset, length and digest of what the framer found, in order.
type Framed = Vec<(u64, u64, [u8; 32])>;

fn framed(bytes: &[u8], size: usize, cap: usize, target: usize) -> (Framed, Option<Vec<u8>>) {
    let mut framer = Framer::new(BufReader::with_capacity(size, bytes), cap);
    let mut out = Vec::new();
    let mut header = None;
    while let Some(block) = framer.next_block(target) {
        assert!(block.broken.is_none(), "memory does not break");
        let before = out.len();
        for span in &block.records {
            let record = block.record(span);
            let at = block.offset(span) as usize;
            assert!(
                bytes.get(at..at + record.len()) == Some(record),
                "other bytes"
            );
            out.push((
                at as u64,
                record.len() as u64,
                *blake3::hash(record).as_bytes(),
            ));
        }
        out.extend(block.rejects.iter().map(|r| (r.offset, r.length, r.digest)));
        out[before..].sort_unstable();
        header = header.or_else(|| block.header.as_deref().map(<[u8]>::to_vec));
    }
    assert_eq!(framer.records_framed(), out.len() as u64, "records framed");
    (out, header)
}

/// However the bytes come in, the records are the same, and nothing is lost between them.
pub(super) fn frame(data: &[u8]) {
    let mut input = Input::new(data);
    let size = 1 + usize::from(input.byte());
    let cap = 1 + usize::from(input.byte()) * 4;
    let target = 1 + usize::from(input.byte());
    let bytes = input.rest();
    let (whole, header) = framed(bytes, 1 << 16, cap, 1 << 20);
    let (small, small_header) = framed(bytes, size, cap, target);
    assert!(
        whole == small,
        "reads of {size} and blocks of {target} give others"
    );
    assert!(header == small_header, "another header");
    let mut covered = vec![false; bytes.len()];
    for (offset, length, _) in &whole {
        for byte in &mut covered[*offset as usize..(*offset + *length) as usize] {
            assert!(!*byte, "a byte is in two records");
            *byte = true;
        }
    }
    // Three bytes at the start may be the mark of UTF-8.
    for (byte, _) in bytes.iter().zip(covered).skip(3).filter(|(_, c)| !c) {
        assert!(b" \t\r\n\x0c,[]".contains(byte), "a byte is in no record");
    }
}
