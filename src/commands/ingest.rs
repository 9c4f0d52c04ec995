//! `pentimento ingest`: the first stage of an audit alone. Every record becomes a row of the case
//! or a reject; nothing is searched and nothing decided.

use super::custody::{add_custody, key_detail, store_failure};
use crate::clock::{now_rfc3339, peak_memory_bytes, random_key};
use crate::messages::say;
use crate::outcome::{FailureKind, Outcome, failure};
use crate::pipeline::detect::{DetectJob, keep_texts};
use crate::pipeline::discover::discover;
use crate::pipeline::ingest::{IngestJob, Ingested, ingest};
use crate::pipeline::scratch;
use crate::progress::{Progress, ProgressMode};
use crate::settings::{
    AssumedTime, Resources, load_config, private_key, size_bytes, window, worker_threads,
};
use anyhow::{Context, Result};
use clap::Args;
use pentimento_store::case::CaseFolder;
use pentimento_store::manifest::{CaseManifest, CaseStatus, TableDigest, Tallies, Tool};
use std::path::PathBuf;

/// Flags of `ingest`; they mean what they mean for `audit`.
#[derive(Debug, Args)]
pub struct IngestArgs {
    /// Files, folders, globs, addresses such as s3://bucket/logs/, or - for standard input
    #[arg(required = true)]
    logs: Vec<String>,
    /// Case folder to write; the case key is kept beside it
    #[arg(long, value_name = "DIR", default_value = "pentimento-case")]
    case: PathBuf,
    /// Configuration: capacity epochs, model aliases, tenants, zone
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Mark exchanges from this moment on as in the window
    #[arg(long, value_name = "T")]
    since: Option<String>,
    /// Leave out exchanges from this moment on
    #[arg(long, value_name = "T")]
    until: Option<String>,
    /// How far before --since exchanges are kept as sources, such as 24h [default: 24h]
    #[arg(long, value_name = "DURATION")]
    look_back: Option<String>,
    #[command(flatten)]
    assumed: AssumedTime,
    /// Private RSA key (PEM) of bodies that a gateway pushed encrypted; it is kept nowhere
    #[arg(long, value_name = "FILE")]
    private_key: Option<PathBuf>,
    /// Copy prompt and response texts into the case (table `texts`)
    #[arg(long)]
    keep_text: bool,
    /// File with the case key (64 hex digits); without it one is made beside the case
    #[arg(long, value_name = "F")]
    case_key_file: Option<PathBuf>,
    /// Worker threads (default: one per core)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Memory limit, such as 1GiB
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = size_bytes)]
    memory_limit: usize,
    /// How progress is shown on stderr
    #[arg(long, value_enum, default_value = "auto")]
    progress: ProgressMode,
    /// Say nothing on stderr but errors
    #[arg(long)]
    quiet: bool,
}

/// Runs the command.
///
/// # Errors
/// With the exit code of the contract inside.
pub fn run(args: &IngestArgs) -> Result<Outcome> {
    let mut config = load_config(
        args.config.as_deref(),
        args.look_back.as_deref(),
        &args.assumed,
    )?;
    config.keys = private_key(args.private_key.as_deref())?;
    let window = window(args.since.as_deref(), args.until.as_deref(), &config)?;
    let resources = resources(args);
    rayon::ThreadPoolBuilder::new()
        .num_threads(resources.threads)
        .build_global()
        .context("cannot start the worker threads")?;
    let inputs = discover(&args.logs, config.max_ratio)?;
    let progress = Progress::new(args.progress, args.quiet);
    let case = CaseFolder::create(&args.case, true).map_err(store_failure)?;
    let created_at = now_rfc3339();
    let key = case
        .key(args.case_key_file.as_deref(), random_key)
        .map_err(store_failure)?;
    add_custody(
        &case,
        "ingest",
        None,
        &[("inputs", inputs.len().to_string())],
    )?;
    if let Some(detail) = key_detail(&config) {
        add_custody(&case, "private key used", None, &[detail])?;
    }
    scratch::create_folder(&case)?;
    let job = IngestJob {
        inputs: &inputs,
        config: &config,
        window,
        resources,
        case: &case,
        case_key: key.0,
    };
    let mut ingested = ingest(&job, &progress)?;
    if ingested.sources.iter().all(|s| s.records_read == 0) {
        return Err(failure(
            FailureKind::NothingToAudit,
            "no record in the logs",
        ));
    }
    let mut tables = std::mem::take(&mut ingested.tables);
    if args.keep_text {
        let texts = DetectJob {
            config: &config,
            resources,
            inputs: &inputs,
            case: &case,
            case_key: key.0,
        };
        tables.push(keep_texts(&texts, &progress)?);
        add_custody(&case, "texts kept", None, &[])?;
    }
    scratch::remove_folder(&case)?;
    let done = Done {
        args,
        case: &case,
        config_blake3: config.digest.clone(),
        created_at,
        tables,
    };
    done.close(&ingested, &progress)
}

/// What is left to write once the tables stand.
struct Done<'a> {
    args: &'a IngestArgs,
    case: &'a CaseFolder,
    config_blake3: Option<String>,
    created_at: String,
    tables: Vec<TableDigest>,
}

impl Done<'_> {
    fn close(self, ingested: &Ingested, progress: &Progress) -> Result<Outcome> {
        let case = self.case;
        let tallies = Tallies::of(&ingested.sources)?;
        let gap = gap(&tallies, &ingested.sources);
        let outcome = gap.map_or(Outcome::Done, Outcome::Incomplete);
        let exit = outcome.exit_code().to_string();
        let manifest = CaseManifest {
            tool: Tool {
                name: "pentimento".into(),
                version: env!("CARGO_PKG_VERSION").into(),
            },
            status: CaseStatus::Partial,
            exit_code: outcome.exit_code(),
            exit_reason: "taken in; nothing searched, nothing decided".into(),
            created_at: self.created_at,
            finished_at: now_rfc3339(),
            arguments: std::env::args_os()
                .map(|a| a.to_string_lossy().into_owned())
                .collect(),
            config_blake3: self.config_blake3,
            tables: self.tables,
            tallies: tallies.clone(),
            custody: Some(add_custody(case, "finished", None, &[("exit_code", exit)])?),
            peak_memory_bytes: peak_memory_bytes(),
            elapsed_ms: progress.elapsed().as_millis() as u64,
            ..CaseManifest::default()
        };
        case.write_manifest(&manifest).map_err(store_failure)?;
        progress.finish();
        if !self.args.quiet {
            say(&format!(
                "{} exchanges of {} records are in {}; rejected {}",
                ingested.exchanges,
                tallies.total.read,
                case.root().display(),
                tallies.total.rejected
            ));
        }
        Ok(outcome)
    }
}

fn resources(args: &IngestArgs) -> Resources {
    Resources {
        threads: worker_threads(args.threads.map(usize::from)),
        memory_bytes: args.memory_limit,
        block_bytes: 4 << 20,
    }
}

/// Why the rows are not all that the logs held.
fn gap(tallies: &Tallies, sources: &[pentimento_store::rows::SourceRow]) -> Option<String> {
    let broken = sources
        .iter()
        .filter(|s| !matches!(s.status.as_ref(), "complete" | "empty"))
        .count();
    match (tallies.total.rejected, broken) {
        (0, 0) => None,
        (rejected, broken) => Some(format!(
            "{rejected} records rejected, {broken} sources not readable to their end"
        )),
    }
}
