//! `pentimento over-limit`: the calls at or over the limit, straight from the logs.
//!
//! The first question of an incident, answered in one pass and without a case. Prompts and answers
//! are passed over unread wherever the format allows it.

use super::log_pass::{Coverage, LogPass};
use crate::config::Config;
use crate::messages::say;
use crate::outcome::{FailureKind, Outcome, failure};
use crate::pipeline::scan::BlockWork;
use crate::progress::ProgressMode;
use crate::report::sanitize::visible;
use crate::settings::{load_config, private_key};
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use pentimento_core::capacity::CapacityQuery;
use pentimento_core::exchange::Exchange;
use pentimento_core::format::frame::Block;
use pentimento_core::format::{DecodeContext, LogFormat, Wanted};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Target size of a block of records, in bytes.
const BLOCK_BYTES: usize = 1 << 20;

/// Flags of `over-limit`.
#[derive(Debug, Args)]
pub struct OverLimitArgs {
    /// Files, folders or globs of logs
    #[arg(required = true)]
    logs: Vec<String>,
    /// Configuration: capacity epochs, model aliases, tenants, zone
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Limit in tokens, in place of the configured one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    limit: Option<i64>,
    /// Zone of times that carry none
    #[arg(long, value_name = "Z")]
    assume_timezone: Option<String>,
    /// Private RSA key (PEM) of bodies that a gateway pushed encrypted; it is kept nowhere
    #[arg(long, value_name = "FILE")]
    private_key: Option<PathBuf>,
    /// How rows are printed
    #[arg(long, value_enum, default_value = "table")]
    format: RowFormat,
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
enum RowFormat {
    /// Tab-separated, with a header
    Table,
    /// One JSON object a line
    Jsonl,
}

/// One exchange at or over the limit.
#[derive(Clone, Debug, Serialize)]
struct Hit {
    time: Option<String>,
    request_id: Option<String>,
    tenant: Option<String>,
    model: Option<String>,
    node: Option<String>,
    role: Option<&'static str>,
    http_status: Option<u16>,
    prompt_tokens: i64,
    reject_at_tokens: i64,
    source: String,
    offset: u64,
}

/// Runs the command.
///
/// # Errors
/// Usage failures; where stdout cannot be written.
pub fn run(args: &OverLimitArgs) -> Result<Outcome> {
    let mut config = load_config(
        args.config.as_deref(),
        None,
        args.assume_timezone.as_deref(),
    )?;
    config.keys = private_key(args.private_key.as_deref())?;
    if args.limit.is_none() && config.capacity.epochs().is_empty() {
        return Err(failure(
            FailureKind::Usage,
            "no limit is known: give --limit N, or a --config with a [[deployment]]",
        ));
    }
    let logs = LogPass::open(
        &args.logs,
        &config,
        args.threads,
        BLOCK_BYTES,
        "over-limit reads files only",
        (args.progress, args.quiet),
    )?;
    let work = Look {
        config: &config,
        limit: args.limit,
    };
    let mut tally = Tally::default();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    header(args.format, &mut out)?;
    let coverage = logs.run("over limit", &work, |input, looked| {
        tally.add(&looked);
        for mut hit in looked.hits {
            hit.source.clone_from(&logs.inputs[input].display);
            row(args.format, &hit, &mut out)?;
        }
        Ok(looked.unread)
    })?;
    out.flush().context("cannot write to stdout")?;
    tally.close(&coverage, args.quiet)
}

struct Look<'a> {
    config: &'a Config,
    limit: Option<i64>,
}

#[derive(Default)]
struct Looked {
    hits: Vec<Hit>,
    exchanges: usize,
    counted: usize,
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
        let mut out = Looked::default();
        let mut exchanges = Vec::new();
        for span in &block.records {
            exchanges.clear();
            let record = block.record(span);
            let decoded = format.decode_again(record, context, Wanted::Facts, &mut exchanges);
            out.unread += usize::from(decoded.is_err());
            for exchange in &exchanges {
                self.look(exchange, block.offset(span), &mut out);
            }
        }
        out
    }
}

impl Look<'_> {
    fn look(&self, e: &Exchange, offset: u64, out: &mut Looked) {
        out.exchanges += 1;
        let model = e
            .model_raw
            .as_deref()
            .map(|m| self.config.canonical_model(m));
        let nodes: Vec<&str> = e.node.as_deref().into_iter().collect();
        let configured = || {
            let fit = self.config.capacity.as_of(&CapacityQuery {
                model,
                deployment: e.deployment.as_deref(),
                nodes: &nodes,
                time: e.t_start,
            })?;
            fit.epoch.reject_at_tokens()
        };
        let (Some(tokens), Some(limit)) = (e.prompt_tokens, self.limit.or_else(configured)) else {
            return;
        };
        out.counted += 1;
        if tokens < limit || e.http_status.is_some_and(|s| s >= 400) {
            return;
        }
        let tenant = self.config.tenants.choose(&e.tenant_candidates);
        let time = e
            .t_start
            .and_then(|t| jiff::Timestamp::from_microsecond(t).ok());
        out.hits.push(Hit {
            time: time.map(|t| t.to_string()),
            request_id: e.request_id.clone(),
            tenant: tenant.map(|(name, _)| name.to_string()),
            model: model.map(str::to_string),
            node: e.node.clone(),
            role: e.role.map(|r| r.as_str()),
            http_status: e.http_status,
            prompt_tokens: tokens,
            reject_at_tokens: limit,
            source: String::new(),
            offset,
        });
    }
}

#[derive(Default)]
struct Tally {
    exchanges: usize,
    counted: usize,
    hits: usize,
}

impl Tally {
    fn add(&mut self, looked: &Looked) {
        self.exchanges += looked.exchanges;
        self.counted += looked.counted;
        self.hits += looked.hits.len();
    }

    fn close(&self, coverage: &Coverage, quiet: bool) -> Result<Outcome> {
        let mut gaps = coverage.gaps();
        if self.exchanges == 0 && gaps.is_empty() {
            return Err(failure(
                FailureKind::NothingToAudit,
                "no exchange in the logs",
            ));
        }
        if !quiet {
            say(&format!(
                "{} records read, {} unreadable; of {} exchanges {} have a token count and a limit \
                 in force; {} are at or over it and were not refused",
                coverage.records, coverage.unread, self.exchanges, self.counted, self.hits
            ));
        }
        if self.counted < self.exchanges {
            let missing = self.exchanges - self.counted;
            gaps.push(format!(
                "{missing} exchanges have no token count or no limit in force"
            ));
        }
        if gaps.is_empty() {
            return Ok(Outcome::Done);
        }
        Ok(Outcome::Incomplete(gaps.join("; ")))
    }
}

fn header(format: RowFormat, out: &mut impl Write) -> Result<()> {
    if format == RowFormat::Table {
        let columns = "time\trequest_id\ttenant\tmodel\tnode\trole\thttp_status\tprompt_tokens\t\
                       reject_at_tokens\tsource\toffset";
        writeln!(out, "{columns}").context("cannot write to stdout")?;
    }
    Ok(())
}

fn row(format: RowFormat, hit: &Hit, out: &mut impl Write) -> Result<()> {
    if format == RowFormat::Jsonl {
        serde_json::to_writer(&mut *out, hit).context("cannot write to stdout")?;
        return writeln!(out).context("cannot write to stdout");
    }
    let word = |text: &Option<String>| visible(text.as_deref().unwrap_or_default()).to_string();
    let status = hit.http_status.map(|s| s.to_string()).unwrap_or_default();
    let cells = [
        hit.time.clone().unwrap_or_default(),
        word(&hit.request_id),
        word(&hit.tenant),
        word(&hit.model),
        word(&hit.node),
        hit.role.unwrap_or_default().to_string(),
        status,
        hit.prompt_tokens.to_string(),
        hit.reject_at_tokens.to_string(),
        visible(&hit.source).to_string(),
        hit.offset.to_string(),
    ];
    writeln!(out, "{}", cells.join("\t")).context("cannot write to stdout")
}
