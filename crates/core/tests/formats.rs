//! One walk over all sample logs: sniffing, framing and decoding must give the stored results.
//!
//! `UPDATE_GOLDEN=1 cargo test -p pentimento-core --test formats` writes them anew.

use pentimento_core::exchange::{BorderKind, ContentState, Exchange, FieldText, RecordKind};
use pentimento_core::format::frame::{Block, Framer};
use pentimento_core::format::{DecodeContext, LogFormat, by_name, sniff_source, table};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of `sample_logs` and the format that they must be recognised as.
const FOLDERS: [(&str, &str); 15] = [
    ("native", "native"),
    ("openai", "openai"),
    ("sglang-json", "sglang_json"),
    ("sglang-text", "sglang_text"),
    ("litellm", "litellm"),
    ("otlp", "otlp"),
    ("azure-openai", "azure_openai"),
    ("batch", "batch"),
    ("bedrock", "bedrock"),
    ("cloudflare", "cloudflare"),
    ("helicone", "helicone"),
    ("kong", "kong"),
    ("langfuse", "langfuse"),
    ("portkey", "portkey"),
    ("vertex", "vertex"),
];

fn samples() -> Vec<(PathBuf, &'static str)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sample_logs");
    let mut found = Vec::new();
    for (folder, format) in FOLDERS {
        for entry in fs::read_dir(root.join(folder)).expect("a folder of samples") {
            let path = entry.expect("a readable folder").path();
            if !path.to_string_lossy().ends_with(".expected.json") {
                found.push((path, format));
            }
        }
    }
    found.sort();
    found
}

fn frame(bytes: &[u8]) -> Block {
    let mut framer = Framer::new(bytes, 1 << 20);
    let block = framer.next_block(1 << 30).unwrap_or_default();
    assert!(framer.next_block(1).is_none());
    block
}

fn sniff(block: &Block) -> &'static dyn LogFormat {
    let records: Vec<&[u8]> = block
        .records
        .iter()
        .map(|span| block.record(span))
        .collect();
    sniff_source(&records).expect("a known format")
}

fn context(name: &str) -> DecodeContext<'_> {
    static ZONE: std::sync::OnceLock<jiff::tz::TimeZone> = std::sync::OnceLock::new();
    DecodeContext {
        zone: Some(ZONE.get_or_init(|| jiff::tz::TimeZone::fixed(jiff::tz::offset(2)))),
        source_name: name,
    }
}

fn show_text(field: &Option<FieldText>) -> Value {
    let Some(field) = field else {
        return Value::Null;
    };
    let borders: Vec<Value> = field
        .borders
        .iter()
        .map(|b| {
            assert!(field.text.is_char_boundary(b.start) && field.text.is_char_boundary(b.end));
            let kind = if b.kind == BorderKind::Cut {
                "cut"
            } else {
                "message"
            };
            json!([kind, b.start, b.end])
        })
        .collect();
    json!({"text": field.text, "borders": borders})
}

fn show(exchange: &Exchange) -> Value {
    let ids = exchange
        .correlation
        .iter()
        .map(|c| json!([c.kind.as_str(), c.value]));
    let tenants = exchange
        .tenant_candidates
        .iter()
        .map(|c| json!([c.kind, c.value]));
    let extra = exchange
        .extra
        .iter()
        .map(|e| json!([e.key, e.json_type, e.raw.len()]));
    let state = |state: ContentState| state.as_str();
    let fields = [
        ("request_id", json!(exchange.request_id)),
        ("correlation", ids.collect()),
        ("role", json!(exchange.role.map(|r| r.as_str()))),
        ("tenant_candidates", tenants.collect()),
        ("model_raw", json!(exchange.model_raw)),
        ("deployment", json!(exchange.deployment)),
        ("node", json!(exchange.node)),
        ("engine", json!(exchange.engine)),
        ("t_start", json!(exchange.t_start)),
        ("t_first_token", json!(exchange.t_first_token)),
        ("t_end", json!(exchange.t_end)),
        ("t_zone", json!(exchange.t_zone.as_str())),
        ("http_status", json!(exchange.http_status)),
        ("outcome", json!(exchange.outcome.as_str())),
        ("finish_reason", json!(exchange.finish_reason)),
        ("prompt_tokens", json!(exchange.prompt_tokens)),
        ("completion_tokens", json!(exchange.completion_tokens)),
        ("cached_tokens", json!(exchange.cached_tokens)),
        ("tokens_source", json!(exchange.tokens_source)),
        ("choice", json!(exchange.choice)),
        ("part", json!(Some(exchange.part).filter(|p| *p > 0))),
        ("modalities", exchange.modalities.names().collect()),
        ("prompt_state", json!(state(exchange.prompt_state))),
        ("response_state", json!(state(exchange.response_state))),
        ("spec_accept_length", json!(exchange.spec_accept_length)),
        ("cache_hit", json!(exchange.cache_hit)),
        ("half", json!(exchange.half)),
        ("unique_id", json!(exchange.unique_id)),
        ("extra", extra.collect()),
        ("prompt", show_text(&exchange.prompt)),
        ("response", show_text(&exchange.response)),
        ("reasoning", show_text(&exchange.reasoning)),
        ("tool", show_text(&exchange.tool)),
    ];
    let empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    let kept = fields.into_iter().filter(|(_, value)| !empty(value));
    Value::Object(
        kept.map(|(key, value)| (key.to_owned(), value))
            .collect::<Map<_, _>>(),
    )
}

#[test]
fn samples_decode_as_stored() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut seen = Vec::new();
    for (path, format_name) in samples() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = fs::read(&path).unwrap();
        let block = frame(&bytes);
        let format = sniff(&block);
        assert_eq!(format.name(), format_name, "{}", path.display());
        seen.push(format_name);
        let mut records = Vec::new();
        for span in &block.records {
            let mut out = Vec::new();
            let result = match format.decode(block.record(span), &context(&name), &mut out) {
                Ok(RecordKind::Exchange) => "exchange",
                Ok(RecordKind::Event) => "event",
                Ok(RecordKind::Other) => "other",
                Err(reason) => {
                    assert!(out.is_empty());
                    span.reason(reason).as_str()
                }
            };
            let exchanges: Vec<Value> = out.iter().map(show).collect();
            let at = block.offset(span);
            records.push(json!({"offset": at, "result": result, "exchanges": exchanges}));
        }
        let text = format!(
            "{}\n",
            serde_json::to_string_pretty(&json!(records)).unwrap()
        );
        let golden = path.with_file_name(format!("{name}.expected.json"));
        if update {
            fs::write(&golden, text).unwrap();
            continue;
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        assert!(
            text == expected,
            "{} differs from its stored result",
            path.display()
        );
    }
    for format in table().iter().map(|f| f.name()) {
        assert!(by_name(format).is_some());
    }
    for (_, format) in FOLDERS {
        assert!(seen.contains(&format), "no sample of {format}");
    }
}

fn decode_all(bytes: &[u8], format: &dyn LogFormat, name: &str) -> Vec<Exchange> {
    let block = frame(bytes);
    let mut out = Vec::new();
    for span in &block.records {
        let _ = format.decode(block.record(span), &context(name), &mut out);
    }
    out
}

/// Byte soup that now and then looks like a log.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let scraps = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        "\"",
        "\\",
        ",",
        ":",
        "\n",
        "\r\n",
        " ",
        "\\ud83d",
        "\u{0}",
        "null",
        "{\"a\":[",
        "[2026-09-11 08:30:05] {",
        "data: {",
        "\u{feff}",
        "NaN",
        "{\"event\":\"",
        "{}",
        "\n{",
        "\n [",
        "\"prompt\":\"",
        "{\"request\":",
        "\n  \"",
        "1e999",
    ]);
    let piece = prop_oneof![
        scraps.prop_map(|s| s.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..8),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// Offset, length and digest of all records and rejects.
fn framed(bytes: &[u8], size: usize, cap: usize, target: usize) -> Vec<(u64, u64, [u8; 32])> {
    let mut framer = Framer::new(std::io::BufReader::with_capacity(size, bytes), cap);
    let mut out = Vec::new();
    while let Some(block) = framer.next_block(target) {
        for span in &block.records {
            let record = block.record(span);
            let digest = *blake3::hash(record).as_bytes();
            out.push((block.offset(span), record.len() as u64, digest));
        }
        out.extend(block.rejects.iter().map(|r| (r.offset, r.length, r.digest)));
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn soup_between_lines_harms_no_neighbour(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        soup in soup(),
    ) {
        let lined: Vec<_> = samples()
            .into_iter()
            .filter(|(path, _)| path.extension().is_none_or(|e| e != "json"))
            .collect();
        let (path, format) = &lined[which.index(lined.len())];
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let format = by_name(format).unwrap();
        let bytes = fs::read(path).unwrap();
        let mut lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
        let whole = decode_all(&bytes, format, &name);
        lines.insert(at.index(lines.len()), &soup);
        let spliced = decode_all(&lines.join(&b'\n'), format, &name);
        // The soup may add exchanges of its own; all others are there, unchanged and in order.
        let mut rest = spliced.iter();
        for exchange in &whole {
            prop_assert!(rest.any(|other| other == exchange));
        }
    }

    #[test]
    fn framing_does_not_depend_on_reads(
        soup in soup(),
        size in 1usize..9,
        cap in 1usize..60,
        target in 1usize..40,
    ) {
        let whole = framed(&soup, 1 << 16, cap, 1 << 20);
        let small = framed(&soup, size, cap, target);
        prop_assert_eq!(&whole, &small);
        // Nothing is lost: what no record holds is blank or punctuation between values.
        let mut covered = vec![false; soup.len()];
        for (offset, length, _) in &whole {
            let range = *offset as usize..(*offset + *length) as usize;
            prop_assert!(covered[range.clone()].iter().all(|c| !c));
            covered[range].iter_mut().for_each(|c| *c = true);
        }
        for (byte, _) in soup.iter().zip(covered).skip(3).filter(|(_, covered)| !covered) {
            prop_assert!(b" \t\r\n\x0c,[]".contains(byte));
        }
    }

    #[test]
    fn soup_never_panics(soup in soup()) {
        for format in table() {
            format.sniff(&soup);
            let mut out = Vec::new();
            let result = format.decode(&soup, &context("a_0.log"), &mut out);
            prop_assert_eq!(result == Ok(RecordKind::Exchange), !out.is_empty());
        }
        decode_all(&soup, table()[0], "x");
    }
}
