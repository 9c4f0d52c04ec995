//! What each format can tell, seen in its samples: the tables of `docs/formats.md`.

use super::{context, frame, joined, samples};
use pentimento_core::exchange::{CorrelationKind, Exchange, RecordKind};
use pentimento_core::format::columns;
use pentimento_core::format::{DecodeContext, by_name, sniff_source, table};
use pentimento_core::inspect::{KnownFormat, known};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A column and whether an exchange has it.
type Column = (&'static str, fn(&Exchange) -> bool);

const COLUMNS: [Column; 16] = [
    ("request id", |e| e.request_id.is_some()),
    ("linking id", |e| {
        e.correlation.iter().any(|c| c.kind.links())
    }),
    ("room", |e| has(e, CorrelationKind::BootstrapRoom)),
    ("tenant", |e| !e.tenant_candidates.is_empty()),
    ("model", |e| e.model_raw.is_some()),
    ("deployment", |e| e.deployment.is_some()),
    ("node", |e| e.node.is_some()),
    ("start", |e| e.t_start.is_some()),
    ("first token", |e| e.t_first_token.is_some()),
    ("end", |e| e.t_end.is_some()),
    ("status", |e| e.http_status.is_some()),
    ("finish", |e| e.finish_reason.is_some()),
    ("prompt tokens", |e| e.prompt_tokens.is_some()),
    ("answer tokens", |e| e.completion_tokens.is_some()),
    ("cached tokens", |e| e.cached_tokens.is_some()),
    ("cache hit", |e| e.cache_hit.is_some()),
];

/// A column with several values, and the value of an exchange.
type Values = (&'static str, fn(&Exchange) -> Vec<&'static str>);

const STATES: [Values; 7] = [
    ("role", |e| e.role.map(|r| r.as_str()).into_iter().collect()),
    ("prompt state", |e| vec![e.prompt_state.as_str()]),
    ("response state", |e| vec![e.response_state.as_str()]),
    ("outcome", |e| vec![e.outcome.as_str()]),
    ("counted by", |e| e.tokens_source.into_iter().collect()),
    ("zone", |e| vec![e.t_zone.as_str()]),
    ("modalities", |e| e.modalities.names().collect()),
];

const HEAD: &str = "\
# Log formats and what they can tell

Written by a test from the samples in `sample_logs` (`UPDATE_GOLDEN=1 cargo test -p pentimento-core
--test formats`): a mark stands where at least one exchange of a format's samples has the column.
Names are those of `source_format`. The columns of the tables are in [tables.md](tables.md).

";

const TAIL: &str = "
## Several records, one call

Azure API Management writes a call as one row with its counts and one for every 32 KB of its
request and response. Rows of one `CorrelationId` in one source are put together in the order of
their sequence numbers, whatever stands between them; the exchange lies where the first of them
lies, its id is made of all of them, and the counts of the source count rows. At most 128 MiB of
rows wait at a time; the call whose first row is the oldest leaves first. A chunk that is
missing, a text that does not read to its end, and a second text with the same number leave the
state `truncated`. Rows of one call in two sources are two exchanges that are linked by their
id.

## Bodies elsewhere

Cloudflare's encrypted bodies are opened with `--private-key FILE` (PEM, PKCS#8 or PKCS#1,
several keys in one file are tried in turn); without a key that fits, or where a byte was
changed, the state stays `encrypted`. Bodies that Bedrock keeps in `data/{uuid}_input.json` or
`_output.json`, packed or not, and messages that OpenTelemetry uploads as `{uuid}_inputs.json`,
`{uuid}_outputs.json` and `{uuid}_system_instruction.json` are read where a record points at
them and the object is among the inputs; else they are `external`. Such objects are sources of
the format `body_object`, whose records are no calls.

## Dumps and cluster specifications

SGLang's dumps are pickles. They are read opcode by opcode into plain values: nothing that they
name is looked up or called. A dump is one record, so its size counts against `[limits]
max_record_bytes`. Pods, workloads and Helm values are read as JSON (`kubectl get pods -o json`,
`helm get values -o json`), not as YAML.

## Bills

Usage pages of OpenAI (`start_time`, `end_time`), usage reports of Anthropic (`starting_at`,
`ending_at`) and lines of `{\"usage_from\", \"usage_to\", \"model\", \"requests\",
\"input_tokens\", \"output_tokens\"}` become events `usage_minute`, `usage_hour` or `usage_day`;
other intervals are rejected. They are no exchanges: the query `billed_not_logged` sets them
beside the logged calls.

## Estimated tokens

Where the whole prompt is there and its count is missing, or the text needs more than eight
times as many tokens as were counted, `tokens_estimated` holds an estimate: each character has a
weight by its kind and script (`script-table-1`). The weights were fitted to the vocabulary
o200k; estimate against the true count, on translated program messages, code and JSON (60,000
characters each):

| text | o200k | cl100k | text | o200k | cl100k |
| --- | --- | --- | --- | --- | --- |
| English | +3 % | +4 % | Arabic | -1 % | -53 % |
| German, French, Spanish | +1 to +3 % | -7 to -12 % | Hebrew | +8 % | -14 % |
| Polish, Hungarian | -14 to -16 % | -25 to -28 % | Hindi, Tamil | +1 to +2 % | -65 to -69 % |
| Vietnamese | +5 % | -28 % | Thai | -4 % | -51 % |
| Russian | +5 % | -26 % | Chinese | 0 % | -15 % |
| Greek | -1 % | -56 % | Japanese, Korean | -1 to +1 % | -21 to -24 % |
| Python, Rust | -2 to -8 % | -1 to -8 % | JSON | +4 % | +4 % |

A vocabulary of the serving model may need twice as many tokens as o200k for scripts that it
knows badly: an estimate is a lower bound there.
";

fn has(exchange: &Exchange, kind: CorrelationKind) -> bool {
    exchange.correlation.iter().any(|c| c.kind == kind)
}

/// The exchanges of all samples, by format, and what `pentimento formats` knows of each.
fn decoded() -> (BTreeMap<&'static str, Vec<Exchange>>, Vec<KnownFormat>) {
    let mut found: BTreeMap<&str, Vec<Exchange>> = BTreeMap::new();
    let mut formats: BTreeMap<&str, KnownFormat> = BTreeMap::new();
    let mut examples: BTreeMap<&str, Vec<(usize, String)>> = BTreeMap::new();
    for (path, name) in samples() {
        let format = by_name(name).expect("a format of that name");
        let file = path
            .file_name()
            .expect("a file")
            .to_string_lossy()
            .into_owned();
        let bytes = fs::read(&path).expect("a readable sample");
        let out = found.entry(name).or_default();
        let known = formats.entry(name).or_default();
        for block in joined(frame(&bytes), format) {
            let context = DecodeContext {
                header: block.header.as_deref(),
                ..context(&file)
            };
            for span in &block.records {
                // What the samples hold that is no exchange is told by their stored results.
                let (record, before) = (block.record(span), out.len());
                let kind = format.decode(record, &context, out);
                known.events |= kind == Ok(RecordKind::Event);
                let filled = |e: &Exchange| {
                    let columns = columns::COLUMNS.iter();
                    columns.filter(|c| (c.value)(e).is_some()).count()
                };
                let says = match kind {
                    Ok(RecordKind::Exchange) => out.get(before).map(filled),
                    Ok(RecordKind::Event) => Some(1),
                    _ => None,
                };
                let says = says.filter(|_| !known.csv && block.header.is_none());
                let is_header = block.header.as_deref() == Some(record);
                known.csv |= is_header;
                let says = if is_header { Some(usize::MAX) } else { says };
                let all = examples.entry(name).or_default();
                all.extend(says.and_then(|says| Some((says, example(name, record)?))));
            }
        }
    }
    let formats = table().iter().map(|format| {
        let mut known = formats.remove(format.name()).unwrap_or_default();
        known.name = format.name().to_owned();
        known.examples = choose_examples(examples.remove(format.name()).unwrap_or_default());
        describe(
            &mut known,
            found.get(format.name()).map_or(&[], Vec::as_slice),
        );
        known
    });
    let formats = formats.collect();
    (found, formats)
}

/// Longest record that is kept as an example.
const MAX_EXAMPLE: usize = 4096;

/// Examples that are kept of one format.
const MAX_EXAMPLES: usize = 4;

/// A record as an example, if alone it is known again.
fn example(name: &str, record: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(record).ok()?;
    let alone = sniff_source(&[record]).is_ok_and(|format| format.name() == name);
    (alone && text.len() <= MAX_EXAMPLE).then(|| text.to_owned())
}

/// Those that say most, the shorter first, each of another shape than those before it.
fn choose_examples(mut all: Vec<(usize, String)>) -> Vec<String> {
    all.sort_by_key(|(says, text)| (std::cmp::Reverse(*says), text.len(), text.clone()));
    let keys = |text: &str| -> BTreeSet<String> {
        let tree: Option<serde_json::Map<_, _>> = serde_json::from_str(text).ok();
        tree.into_iter().flatten().map(|(key, _)| key).collect()
    };
    let mut chosen: Vec<String> = Vec::new();
    for (_, text) in all {
        let own = keys(&text);
        let alike = |other: &String| keys(other).intersection(&own).count() * 2 >= own.len();
        if chosen.len() < MAX_EXAMPLES && !chosen.iter().any(alike) {
            chosen.push(text);
        }
    }
    chosen
}

/// Words of columns that have few.
const WORDS: [&str; 7] = [
    "role",
    "t_zone",
    "outcome",
    "tokens_source",
    "prompt_state",
    "response_state",
    "modalities",
];

fn describe(known: &mut KnownFormat, exchanges: &[Exchange]) {
    for column in &columns::COLUMNS {
        let values: Vec<_> = exchanges.iter().filter_map(column.value).collect();
        if !values.is_empty() {
            known.columns.insert(column.name.to_owned());
        }
        if WORDS.contains(&column.name) {
            let words = values.iter().flat_map(|v| v.split(", ")).map(str::to_owned);
            known.words.insert(column.name.to_owned(), words.collect());
        }
    }
}

fn row(out: &mut String, cells: impl IntoIterator<Item = String>) {
    for cell in cells {
        out.push_str("| ");
        out.push_str(&cell);
        out.push(' ');
    }
    out.push_str("|\n");
}

fn render(decoded: &BTreeMap<&str, Vec<Exchange>>, formats: &[KnownFormat]) -> String {
    let mut out = HEAD.to_owned();
    let texts = |name: &str| {
        let all = decoded.get(name).map(Vec::as_slice).unwrap_or_default();
        let prompts = all.iter().any(|e| e.prompt.is_some());
        let answers = all
            .iter()
            .any(|e| e.response.is_some() || e.tool.is_some() || e.reasoning.is_some());
        (prompts, answers)
    };
    let rule = |out: &mut String, n: usize| row(out, (0..n).map(|_| "---".to_owned()));
    out.push_str("## Columns\n\n");
    let names = COLUMNS.iter().map(|(name, _)| (*name).to_owned());
    let heads = ["format", "prompt", "response"].map(str::to_owned);
    row(&mut out, heads.into_iter().chain(names));
    rule(&mut out, COLUMNS.len() + 3);
    let mark = |yes: bool| if yes { "x" } else { "" }.to_owned();
    for format in table() {
        let name = format.name();
        let all = decoded.get(name).map(Vec::as_slice).unwrap_or_default();
        let (prompts, answers) = texts(name);
        let marks = COLUMNS.iter().map(|(_, has)| mark(all.iter().any(has)));
        let first = [format!("`{name}`"), mark(prompts), mark(answers)];
        row(&mut out, first.into_iter().chain(marks));
    }
    out.push_str("\n## States\n\n");
    let names = STATES.iter().map(|(name, _)| (*name).to_owned());
    row(&mut out, std::iter::once("format".to_owned()).chain(names));
    rule(&mut out, STATES.len() + 1);
    for format in table() {
        let name = format.name();
        let all = decoded.get(name).map(Vec::as_slice).unwrap_or_default();
        let cells = STATES.iter().map(|(_, of)| {
            let seen: BTreeSet<&str> = all.iter().flat_map(of).collect();
            seen.into_iter().collect::<Vec<_>>().join(", ")
        });
        row(&mut out, std::iter::once(format!("`{name}`")).chain(cells));
    }
    out.push_str(
        "\n## What can run\n\n\
         On a log of this format alone; `pentimento formats` prints the same. Overlap,\n\
         identifiers, attribution and text health are about the text of answers.\n\n",
    );
    for format in formats {
        let (can, _) = format.tests();
        let events = if format.events {
            &["engine events"][..]
        } else {
            &[]
        };
        let all: Vec<&str> = can.iter().chain(events).copied().collect();
        out.push_str(&format!("- `{}`: {}\n", format.name, all.join(", ")));
    }
    out.push_str(
        "\n## What cannot run\n\n\
         Overlap, attribution, identifiers and text health need the text of responses; to tell\n\
         own text from foreign one they need prompts. Without them a format still gives lengths,\n\
         times and status, so exposure can be told and disclosure cannot.\n\n",
    );
    for format in table() {
        let lacks = match texts(format.name()) {
            (true, true) => continue,
            (true, false) => "no response text",
            (false, true) => "no prompt text",
            (false, false) => "neither prompt nor response text",
        };
        out.push_str(&format!("- `{}`: {lacks}\n", format.name()));
    }
    out.push_str(TAIL);
    out
}

#[test]
fn the_matrix_is_that_of_the_samples() {
    /// Their records are no text, so that none can be shown as an example.
    const BINARY: [&str; 1] = ["sglang_dump"];

    let (exchanges, formats) = decoded();
    let text = render(&exchanges, &formats);
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = top.join("../../docs/formats.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).expect("docs can be written");
        let json = serde_json::to_string_pretty(&formats).expect("JSON");
        let path = top.join("src/inspect/known.json");
        fs::write(path, json + "\n").expect("data can be written");
        return;
    }
    assert!(
        known() == formats,
        "src/inspect/known.json is not what the samples give; write it anew with UPDATE_GOLDEN=1"
    );
    for format in &formats {
        assert!(
            !format.examples.is_empty() || BINARY.contains(&format.name.as_str()),
            "{}: no record speaks for itself",
            format.name
        );
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == text,
        "docs/formats.md is not what the samples give; write it anew with UPDATE_GOLDEN=1"
    );
}
