//! One walk over all sample logs: sniffing, framing and decoding must give the stored results.
//!
//! `UPDATE_GOLDEN=1 cargo test -p pentimento-core --test formats` writes them anew.

use pentimento_core::engine::EngineEvent;
use pentimento_core::exchange::{BorderKind, ContentState, Exchange, FieldText, RecordKind};
use pentimento_core::format::frame::{Block, Framer, Joiner, MAX_HELD_BYTES, RecordSpan};
use pentimento_core::format::{DecodeContext, LogFormat, by_name, sniff_source, table};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

#[path = "formats/matrix.rs"]
mod matrix;

/// Folders of `sample_logs` and the format that they must be recognised as.
const FOLDERS: &[(&str, &str)] = &[
    ("native", "native"),
    ("openai", "openai"),
    ("sglang-json", "sglang_json"),
    ("sglang-text", "sglang_text"),
    ("sglang-metrics", "sglang_metrics"),
    ("sglang-dump", "sglang_dump"),
    ("vllm-text", "vllm_text"),
    ("vllm-json", "vllm_json"),
    ("litellm", "litellm"),
    ("otlp", "otlp"),
    ("azure-openai", "azure_openai"),
    ("azure-apim", "azure_apim"),
    ("batch", "batch"),
    ("bedrock", "bedrock"),
    ("cloudflare", "cloudflare"),
    ("har", "har"),
    ("helicone", "helicone"),
    ("kong", "kong"),
    ("langfuse", "langfuse"),
    ("portkey", "portkey"),
    ("vertex", "vertex"),
    ("litellm-csv", "litellm_csv"),
    ("helicone-csv", "helicone_csv"),
    ("langfuse-csv", "langfuse_csv"),
    ("envoy-ai-gateway", "envoy_ai_gateway"),
    ("dynamo", "dynamo"),
    ("ray-serve", "ray_serve"),
    ("mooncake", "mooncake"),
    ("azure-trace", "azure_trace"),
    ("burst-gpt", "burst_gpt"),
    ("sharegpt", "sharegpt"),
    ("wildchat", "wildchat"),
    ("lmsys", "lmsys"),
    ("engine-log", "engine_log"),
    ("server-info", "server_info"),
    ("metrics", "metrics"),
    ("kubernetes", "kubernetes"),
    ("usage-export", "usage_export"),
];

fn samples() -> Vec<(PathBuf, &'static str)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sample_logs");
    let mut found = Vec::new();
    for &(folder, format) in FOLDERS {
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

/// The records as they are decoded: rows of one call put together behind all others.
fn joined(block: Block, format: &dyn LogFormat) -> Vec<Block> {
    if !format.joins_rows() {
        return vec![block];
    }
    let mut joiner = Joiner::new(MAX_HELD_BYTES);
    let mut out = joiner.take(block, format, &context(""));
    out.extend(joiner.next_block(1 << 30));
    out
}

fn context(name: &str) -> DecodeContext<'_> {
    static ZONE: std::sync::OnceLock<jiff::tz::TimeZone> = std::sync::OnceLock::new();
    DecodeContext {
        zone: Some(ZONE.get_or_init(|| jiff::tz::TimeZone::fixed(jiff::tz::offset(2)))),
        year: Some(2026),
        source_name: name,
        ..DecodeContext::default()
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

fn show_event(event: &EngineEvent) -> Value {
    let facts = event.capacity.as_ref().map(|c| format!("{c:?}"));
    let fields = [
        ("kind", json!(event.kind.as_str())),
        ("t", json!(event.t)),
        ("engine", json!(event.engine)),
        ("node", json!(event.node)),
        ("role", json!(event.role.map(|r| r.as_str()))),
        ("rank", json!(event.rank)),
        ("model", json!(event.model)),
        ("engine_request_id", json!(event.engine_request_id)),
        ("bootstrap_room", json!(event.bootstrap_room)),
        ("n1", json!(event.n1)),
        ("n2", json!(event.n2)),
        ("n3", json!(event.n3)),
        ("moved_bytes", json!(event.moved_bytes)),
        ("message", json!(event.message)),
        ("capacity", json!(facts)),
    ];
    let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(
        kept.map(|(key, value)| (key.to_owned(), value))
            .collect::<Map<_, _>>(),
    )
}

/// A record of a sample and all that it gives.
fn show_record(block: &Block, span: &RecordSpan, format: &dyn LogFormat, path: &Path) -> Value {
    let name = path.file_name().expect("a file").to_string_lossy();
    let mut out = Vec::new();
    let context = DecodeContext {
        header: block.header.as_deref(),
        ..context(&name)
    };
    let result = match format.decode(block.record(span), &context, &mut out) {
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
    let mut record = json!({"offset": at, "result": result, "exchanges": exchanges});
    if let Some(joined) = block.joined_rows(span) {
        record["rows"] = json!(joined.rows.len());
        record["repeats"] = json!(joined.repeats);
    }
    let mut events = Vec::new();
    if result == "event" {
        format.events(block.record(span), &context, &mut events);
        assert!(
            !events.is_empty(),
            "{}: an event without events",
            path.display()
        );
        record["events"] = events.iter().map(show_event).collect();
    }
    record
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
        for block in joined(block, format) {
            for span in &block.records {
                records.push(show_record(&block, span, format, &path));
            }
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
    for &(_, format) in FOLDERS {
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

/// Whether the records of a sample are lines. JSON values may span them; a pickle is one record.
fn is_lined(path: &Path) -> bool {
    path.extension().is_none_or(|e| e != "json" && e != "pkl")
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
        "a,b,c\n",
        ",\"",
        "\",",
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

/// All samples with their formats, read once.
fn loaded() -> &'static [(PathBuf, &'static dyn LogFormat, Vec<u8>)] {
    type Sample = (PathBuf, &'static dyn LogFormat, Vec<u8>);
    static LOADED: std::sync::OnceLock<Vec<Sample>> = std::sync::OnceLock::new();
    LOADED.get_or_init(|| {
        let load = |(path, format): (PathBuf, &str)| {
            let bytes = fs::read(&path).expect("a sample");
            (path, by_name(format).expect("a format"), bytes)
        };
        samples().into_iter().map(load).collect()
    })
}

/// Whether all of the first are among the second, in their order.
fn in_order<'a>(first: &[Exchange], mut second: impl Iterator<Item = &'a Exchange>) -> bool {
    first.iter().all(|one| second.any(|other| other == one))
}

/// What a line of soup between the lines of a sample does to the others, if anything.
fn harmed_by_line(
    soup: &[u8],
    at: prop::sample::Index,
    bytes: &[u8],
    format: &dyn LogFormat,
    path: &Path,
) -> Option<String> {
    let name = path.file_name()?.to_string_lossy();
    let mut lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
    let whole = decode_all(bytes, format, &name);
    lines.insert(at.index(lines.len()), soup);
    let spliced = decode_all(&lines.join(&b'\n'), format, &name);
    // The soup may add exchanges of its own; all others are there, unchanged and in order.
    (!in_order(&whole, spliced.iter())).then(|| format!("{name} lost an exchange"))
}

/// What soup at any byte of a sample does to the sums and to the other lines, if anything.
fn harmed_anywhere(
    soup: &[u8],
    at: usize,
    bytes: &[u8],
    format: &dyn LogFormat,
    path: &Path,
) -> Option<&'static str> {
    let name = path.file_name()?.to_string_lossy();
    let spliced = [&bytes[..at], soup, &bytes[at..]].concat();
    // Each byte that is not blank is in exactly one record, and each record has one result.
    let block = frame(&spliced);
    if !block.rejects.is_empty() || block.broken.is_some() {
        return Some("the framer refused a short record");
    }
    let context = DecodeContext {
        header: block.header.as_deref(),
        ..context(&name)
    };
    let mut covered = vec![0u8; spliced.len()];
    let mut out = Vec::new();
    for span in &block.records {
        let record = block.record(span);
        let start = block.offset(span) as usize;
        covered[start..start + record.len()]
            .iter_mut()
            .for_each(|c| *c += 1);
        let before = out.len();
        let result = format.decode(record, &context, &mut out);
        if (result == Ok(RecordKind::Exchange)) != (out.len() > before) {
            return Some("exchanges and result differ");
        }
    }
    if covered.iter().any(|c| *c > 1) {
        return Some("a byte is in two records");
    }
    let mut left = spliced.iter().zip(covered).skip(3).filter(|(_, c)| *c == 0);
    if left.any(|(byte, _)| !b" \t\r\n\x0c,[]".contains(byte)) {
        return Some("a byte is in no record");
    }
    let rows = frame(bytes).header;
    if !is_lined(path) || rows != block.header {
        // Values may span lines, and rows mean nothing under another header.
        return None;
    }
    // All lines but the one that was hit give what they gave.
    let newline = |b: &u8| *b == b'\n';
    let start = bytes[..at].iter().rposition(newline).map_or(0, |n| n + 1);
    let end = bytes[at..].iter().position(newline);
    let end = end.map_or(bytes.len(), |n| at + n);
    let mut rest = out.iter();
    for side in [&bytes[..start], &bytes[end..]] {
        for line in side.split(newline) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let mut alone = Vec::new();
            let _ = format.decode(line, &context, &mut alone);
            if !in_order(&alone, rest.by_ref()) {
                return Some("a neighbour is lost or changed");
            }
        }
    }
    None
}

proptest! {
    // Each case goes through the samples of every format.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn soup_between_lines_harms_no_neighbour(at in any::<prop::sample::Index>(), soup in soup()) {
        for (path, format, bytes) in loaded() {
            if is_lined(path) {
                let harmed = harmed_by_line(&soup, at, bytes, *format, path);
                prop_assert!(harmed.is_none(), "{harmed:?}");
            }
        }
    }

    #[test]
    fn soup_anywhere_keeps_the_sums_and_the_neighbours(
        at in any::<prop::sample::Index>(),
        soup in soup(),
    ) {
        for (path, format, bytes) in loaded() {
            let harmed = harmed_anywhere(&soup, at.index(bytes.len() + 1), bytes, *format, path);
            prop_assert!(harmed.is_none(), "{harmed:?} in {}", path.display());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

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
    fn damaged_records_never_panic(
        which in any::<prop::sample::Index>(),
        line in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let all = samples();
        let (path, _) = &all[which.index(all.len())];
        let bytes = fs::read(path).unwrap();
        let block = frame(&bytes);
        let span = &block.records[line.index(block.records.len())];
        let mut record = block.record(span).to_vec();
        let at = at.index(record.len());
        record[at] = byte;
        if cut {
            record.truncate(at);
        }
        for format in table() {
            format.sniff(&record);
            let mut out = Vec::new();
            let result = format.decode(&record, &context("a_0.log"), &mut out);
            prop_assert_eq!(result == Ok(RecordKind::Exchange), !out.is_empty());
            // Parts count up without gaps, and borders lie in their texts.
            let parts: Vec<u32> = out.iter().map(|e| e.part).collect();
            prop_assert!(parts.first().is_none_or(|p| *p == 0));
            prop_assert!(parts.windows(2).all(|p| p[1] - p[0] < 2));
            out.iter().for_each(|exchange| drop(show(exchange)));
        }
    }

    #[test]
    fn soup_never_panics(soup in soup()) {
        for format in table() {
            format.sniff(&soup);
            format.events(&soup, &context("a_0.log"), &mut Vec::new());
            let mut out = Vec::new();
            let result = format.decode(&soup, &context("a_0.log"), &mut out);
            prop_assert_eq!(result == Ok(RecordKind::Exchange), !out.is_empty());
        }
        decode_all(&soup, table()[0], "x");
    }
}
