//! `pentimento trace`: whose text is in a snippet that somebody sent in, and who else got it.
//!
//! The snippet comes from a file or standard input, never from the command line, and reaches no
//! output: what is printed is where its words stand.

use super::log_pass::{Coverage, LogPass};
use crate::clock::random_key;
use crate::messages::say;
use crate::outcome::{FailureKind, Outcome, failure};
use crate::pipeline::discover::Input;
use crate::pipeline::scan::BlockWork;
use crate::progress::ProgressMode;
use crate::report::sanitize::visible;
use crate::settings::{load_config, private_key};
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use pentimento_core::exchange::{Exchange, FieldText};
use pentimento_core::format::frame::Block;
use pentimento_core::format::{DecodeContext, LogFormat};
use pentimento_core::text::{Tokens, tokenize};
use pentimento_core::trace::{Trace, TraceRun};
use pentimento_store::keyed_hash;
use std::io::{Read, Write};
use std::path::PathBuf;

/// Hits kept at most; a snippet that more exchanges hold is a stock phrase.
const MOST_HITS: usize = 100_000;
/// Bytes of a block of records.
const BLOCK_BYTES: usize = 4 << 20;
/// Longest snippet read.
const MOST_SNIPPET_BYTES: u64 = 16 << 20;

/// Flags of `trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Files, folders or globs of logs
    #[arg(required = true)]
    logs: Vec<String>,
    /// File with the snippet, or - for standard input
    #[arg(long, value_name = "F")]
    text_file: String,
    /// Least number of the snippet's words in a row
    #[arg(long, value_name = "N", default_value_t = 8)]
    #[arg(value_parser = clap::value_parser!(u32).range(6..))]
    min_words: u32,
    /// Configuration: tenants and their mapping, zone
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Zone of times that carry none
    #[arg(long, value_name = "Z")]
    assume_timezone: Option<String>,
    /// Private RSA key (PEM) of bodies that a gateway pushed encrypted; it is kept nowhere
    #[arg(long, value_name = "FILE")]
    private_key: Option<PathBuf>,
    /// File with a case key, so that pseudonyms are those of its hashes; without it they hold for
    /// this run only
    #[arg(long, value_name = "F")]
    case_key_file: Option<PathBuf>,
    /// Print tenants by name instead of pseudonym
    #[arg(long)]
    tenants: bool,
    /// How rows are printed
    #[arg(long, value_enum, default_value = "table")]
    format: TraceFormat,
    /// Worker threads (default: one per core)
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// How progress is shown on stderr
    #[arg(long, value_enum, default_value = "auto")]
    progress: ProgressMode,
    /// Say nothing on stderr but errors
    #[arg(long)]
    quiet: bool,
}

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TraceFormat {
    /// Tab-separated, with a header
    Table,
    /// One JSON object a line
    Jsonl,
}

/// One exchange that holds a part of the snippet, in one of its texts.
#[derive(Clone, Debug)]
struct Hit {
    time: Option<i64>,
    input: usize,
    offset: u64,
    index: usize,
    role: Option<&'static str>,
    tenant: Option<String>,
    request_id: Option<String>,
    model: Option<String>,
    node: Option<String>,
    field: &'static str,
    runs: Vec<TraceRun>,
}

/// Runs the command.
///
/// # Errors
/// Usage failures; where a source cannot be read or stdout not be written.
pub fn run(args: &TraceArgs) -> Result<Outcome> {
    let mut config = load_config(
        args.config.as_deref(),
        None,
        args.assume_timezone.as_deref(),
    )?;
    config.keys = private_key(args.private_key.as_deref())?;
    let trace = snippet(args)?;
    let logs = LogPass::open(
        &args.logs,
        &config,
        args.threads,
        BLOCK_BYTES,
        "trace reads its logs from files: standard input is kept for --text-file -",
        (args.progress, args.quiet),
    )?;
    let mut hits = Vec::new();
    let mut dropped = 0;
    let work = Look {
        trace: &trace,
        config: &config,
    };
    let coverage = logs.run("trace", &work, |input, out| {
        hits.extend(out.hits.into_iter().map(|hit| Hit { input, ..hit }));
        keep_earliest(&mut hits, &mut dropped);
        Ok(out.unread)
    })?;
    if coverage.is_empty() {
        return Err(failure(
            FailureKind::NothingToAudit,
            "no record in the logs",
        ));
    }
    hits.sort_by_key(order);
    print(args, &logs.inputs, &hits)?;
    Ok(close(
        args,
        &coverage,
        (hits.len(), dropped),
        trace.tokens(),
    ))
}

fn snippet(args: &TraceArgs) -> Result<Trace> {
    let mut bytes = Vec::new();
    if args.text_file == "-" {
        std::io::stdin()
            .lock()
            .take(MOST_SNIPPET_BYTES + 1)
            .read_to_end(&mut bytes)
            .context("cannot read the snippet from standard input")?;
    } else {
        let file = std::fs::File::open(&args.text_file).map_err(|e| {
            failure(
                FailureKind::Usage,
                format!("cannot read `{}`: {e}", args.text_file),
            )
        })?;
        file.take(MOST_SNIPPET_BYTES + 1)
            .read_to_end(&mut bytes)
            .with_context(|| format!("cannot read `{}`", args.text_file))?;
    }
    if bytes.len() as u64 > MOST_SNIPPET_BYTES {
        return Err(failure(
            FailureKind::Usage,
            "the snippet is longer than 16 MiB: give the part that matters",
        ));
    }
    let text = FieldText::of(String::from_utf8_lossy(&bytes).into_owned());
    Trace::new(&text, args.min_words).ok_or_else(|| {
        failure(
            FailureKind::Usage,
            format!(
                "the snippet has fewer than {} words in a row: too little to trace",
                args.min_words
            ),
        )
    })
}

/// Earliest first; those without a time last; then by place.
fn order(hit: &Hit) -> (bool, Option<i64>, usize, u64, usize, &'static str) {
    (
        hit.time.is_none(),
        hit.time,
        hit.input,
        hit.offset,
        hit.index,
        hit.field,
    )
}

/// Bounds memory: of too many hits the earliest are kept and the rest is counted.
fn keep_earliest(hits: &mut Vec<Hit>, dropped: &mut usize) {
    if hits.len() >= 2 * MOST_HITS {
        hits.sort_by_key(order);
        *dropped += hits.len() - MOST_HITS;
        hits.truncate(MOST_HITS);
    }
}

fn close(
    args: &TraceArgs,
    coverage: &Coverage,
    (hits, dropped): (usize, usize),
    tokens: usize,
) -> Outcome {
    if !args.quiet {
        say(&format!(
            "{} records read, {} of them unreadable; {hits} texts hold at least {} words in a \
             row of the snippet's {tokens} tokens",
            coverage.records, coverage.unread, args.min_words
        ));
    }
    let mut gaps = Vec::new();
    if dropped > 0 {
        gaps.push(format!("{dropped} later hits are not listed"));
    }
    gaps.extend(coverage.gaps());
    if gaps.is_empty() {
        return Outcome::Done;
    }
    Outcome::Incomplete(gaps.join("; "))
}

struct Look<'a> {
    trace: &'a Trace,
    config: &'a crate::config::Config,
}

struct Looked {
    hits: Vec<Hit>,
    unread: usize,
}

impl BlockWork for Look<'_> {
    type Out = Looked;

    fn work(
        &self,
        block: &Block,
        format: &dyn LogFormat,
        context: &DecodeContext<'_>,
    ) -> Self::Out {
        let mut out = Looked {
            hits: Vec::new(),
            unread: 0,
        };
        let mut tokens = Tokens::default();
        let mut exchanges = Vec::new();
        for span in &block.records {
            exchanges.clear();
            let decoded = format.decode(block.record(span), context, &mut exchanges);
            out.unread += usize::from(decoded.is_err());
            for (index, exchange) in exchanges.iter().enumerate() {
                let at = (block.offset(span), index);
                self.look(exchange, at, &mut tokens, &mut out.hits);
            }
        }
        out
    }
}

impl Look<'_> {
    fn look(&self, e: &Exchange, at: (u64, usize), tokens: &mut Tokens, hits: &mut Vec<Hit>) {
        let fields = [
            ("prompt", &e.prompt),
            ("response", &e.response),
            ("reasoning", &e.reasoning),
            ("tool", &e.tool),
        ];
        for (field, text) in fields {
            let Some(text) = text else { continue };
            tokenize(text, tokens);
            let mut runs = Vec::new();
            self.trace.runs(tokens, &mut runs);
            if runs.is_empty() {
                continue;
            }
            let tenant = self.config.tenants.choose(&e.tenant_candidates);
            hits.push(Hit {
                time: e.t_start.or(e.t_end),
                // Set by who knows which input this is.
                input: 0,
                offset: at.0,
                index: at.1,
                role: e.role.map(|r| r.as_str()),
                tenant: tenant.map(|(name, _)| name.to_string()),
                request_id: e.request_id.clone(),
                model: e.model_raw.clone(),
                node: e.node.clone(),
                field,
                runs,
            });
        }
    }
}

const COLUMNS: [&str; 13] = [
    "time",
    "field",
    "tenant",
    "role",
    "node",
    "model",
    "request_id",
    "tokens",
    "start",
    "end",
    "snippet_start",
    "snippet_end",
    "place",
];

fn print(args: &TraceArgs, inputs: &[Input], hits: &[Hit]) -> Result<()> {
    let key = match &args.case_key_file {
        Some(path) => {
            pentimento_store::case::read_key(path)
                .map_err(|e| failure(FailureKind::Usage, e.to_string()))?
                .0
        }
        None => random_key().context("cannot make a key for pseudonyms")?,
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if args.format == TraceFormat::Table {
        writeln!(out, "{}", COLUMNS.join("\t"))?;
    }
    for hit in hits {
        let tenant = hit.tenant.as_ref().map(|name| {
            if args.tenants {
                name.clone()
            } else {
                let hash = keyed_hash(&key, "tenant", name.as_bytes());
                format!("tenant-{}", &hash[..12.min(hash.len())])
            }
        });
        let time = hit
            .time
            .and_then(|t| jiff::Timestamp::from_microsecond(t).ok())
            .map(|t| t.to_string());
        let place = format!("{}:{}", inputs[hit.input].display, hit.offset);
        for run in &hit.runs {
            let row = serde_json::json!({
                "time": time, "field": hit.field, "tenant": tenant, "role": hit.role,
                "node": hit.node, "model": hit.model, "request_id": hit.request_id,
                "tokens": run.tokens, "start": run.start, "end": run.end,
                "snippet_start": run.snippet_start, "snippet_end": run.snippet_end,
                "place": place,
            });
            match args.format {
                TraceFormat::Jsonl => writeln!(out, "{row}")?,
                TraceFormat::Table => writeln!(out, "{}", table_line(&row))?,
            }
        }
    }
    out.flush()?;
    Ok(())
}

/// Cells of one row; what a log chose cannot break the line or steer the terminal.
fn table_line(row: &serde_json::Value) -> String {
    let cells = COLUMNS.map(|column| match &row[column] {
        serde_json::Value::Null => "-".to_string(),
        serde_json::Value::String(text) => visible(text).into_owned(),
        other => other.to_string(),
    });
    cells.join("\t")
}
