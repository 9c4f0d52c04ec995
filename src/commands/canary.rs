//! `pentimento canary`: markers that nobody can guess, made for tenants and looked for in the
//! answers of all others.

use super::log_pass::{Coverage, LogPass};
use crate::clock::random_key;
use crate::messages::say;
use crate::outcome::{FailureKind, Outcome, failure};
use crate::pipeline::discover::Input;
use crate::pipeline::scan::BlockWork;
use crate::progress::ProgressMode;
use crate::report::sanitize::visible;
use crate::settings::{load_config, private_key, read_keys};
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use pentimento_core::canary::{Hit, Scanner, mint};
use pentimento_core::exchange::{Exchange, FieldText};
use pentimento_core::format::frame::Block;
use pentimento_core::format::{DecodeContext, LogFormat};
use pentimento_core::text::{Tokens, tokenize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Bytes of a block of records.
const BLOCK_BYTES: usize = 4 << 20;

/// Flags of `canary`.
#[derive(Debug, Args)]
pub struct CanaryArgs {
    #[command(subcommand)]
    action: CanaryAction,
}

#[derive(Debug, Subcommand)]
enum CanaryAction {
    /// Make markers for tenants: prompts to send in their names, and the key file
    Mint(MintArgs),
    /// Look for markers in the answers of logs
    Scan(ScanArgs),
}

#[derive(Debug, Args)]
struct MintArgs {
    /// Names of the tenants, as they stand in the tables of a case
    #[arg(long, value_name = "A,B", value_delimiter = ',', required = true)]
    tenants: Vec<String>,
    /// File to write: one prompt a line, as JSON
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Key file to write (default: FILE.keys); keep it secret
    #[arg(long, value_name = "F")]
    keys: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct ScanArgs {
    /// Files, folders or globs of logs
    #[arg(required = true)]
    logs: Vec<String>,
    /// Key file that `canary mint` wrote
    #[arg(long, value_name = "F")]
    keys: PathBuf,
    /// Configuration: tenants and their mapping, zone
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Zone of times that carry none
    #[arg(long, value_name = "Z")]
    assume_timezone: Option<String>,
    /// Private RSA key (PEM) of bodies that a gateway pushed encrypted; it is kept nowhere
    #[arg(long, value_name = "FILE")]
    private_key: Option<PathBuf>,
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

/// Runs the command.
///
/// # Errors
/// Usage failures; where a file cannot be read or written.
pub fn run(args: &CanaryArgs) -> Result<Outcome> {
    match &args.action {
        CanaryAction::Mint(args) => run_mint(args),
        CanaryAction::Scan(args) => run_scan(args),
    }
}

fn run_mint(args: &MintArgs) -> Result<Outcome> {
    let tenants: Vec<String> = args
        .tenants
        .iter()
        .map(|t| t.trim().to_owned())
        .filter(|t| !t.is_empty())
        .collect();
    if tenants.is_empty() {
        return Err(failure(FailureKind::Usage, "`--tenants` names no tenant"));
    }
    let key_path = args.keys.clone().unwrap_or_else(|| {
        let mut path = args.out.clone().into_os_string();
        path.push(".keys");
        PathBuf::from(path)
    });
    let secret = random_key().context("cannot make a secret for markers")?;
    let keys = mint(&secret, &tenants);
    let mut prompts = String::new();
    for prompt in keys.prompts() {
        prompts.push_str(&serde_json::to_string(&prompt)?);
        prompts.push('\n');
    }
    let file = keys
        .to_file()
        .map_err(|e| failure(FailureKind::Usage, e.to_string()))?;
    write_private(&key_path, &file)?;
    write_private(&args.out, &prompts)?;
    say(&format!(
        "wrote {} prompts for {} tenants to `{}` and their markers to `{}`",
        keys.prompts().len(),
        keys.tenants().len(),
        args.out.display(),
        key_path.display()
    ));
    say("send each prompt with its tenant's credentials; then scan logs with --keys");
    Ok(Outcome::Done)
}

/// Writes a new file that only its owner reads.
fn write_private(path: &Path, content: &str) -> Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = options.open(path).map_err(|e| {
        failure(
            FailureKind::Usage,
            format!(
                "cannot write `{}`: {e}; name a new file in a folder that exists",
                path.display()
            ),
        )
    })?;
    file.write_all(content.as_bytes())
        .and_then(|()| file.sync_all())
        .with_context(|| format!("cannot write `{}`", path.display()))
}

fn run_scan(args: &ScanArgs) -> Result<Outcome> {
    let mut config = load_config(
        args.config.as_deref(),
        None,
        args.assume_timezone.as_deref(),
    )?;
    config.keys = private_key(args.private_key.as_deref())?;
    let scanner = Scanner::new(&read_keys(&args.keys)?);
    let logs = LogPass::open(
        &args.logs,
        &config,
        args.threads,
        BLOCK_BYTES,
        "canary scan reads its logs from files, not from standard input",
        (args.progress, args.quiet),
    )?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let (mut foreign, mut others) = (0, 0);
    let work = Look {
        scanner: &scanner,
        config: &config,
    };
    let coverage = logs.run("canaries", &work, |input, looked| {
        for found in &looked.found {
            let told = !found.in_own_prompt && found.tenant.is_some();
            foreign += usize::from(told);
            others += usize::from(!told);
            print(&mut out, &logs.inputs[input], found, &scanner)?;
        }
        Ok(looked.unread)
    })?;
    out.flush()?;
    close(args, &coverage, foreign, others)
}

/// A canary in an answer to a tenant that it was not made for.
struct Found {
    offset: u64,
    time: Option<i64>,
    tenant: Option<String>,
    request_id: Option<String>,
    node: Option<String>,
    field: &'static str,
    hit: Hit,
    in_own_prompt: bool,
}

fn close(args: &ScanArgs, coverage: &Coverage, foreign: usize, others: usize) -> Result<Outcome> {
    if coverage.is_empty() {
        return Err(failure(
            FailureKind::NothingToAudit,
            "no record in the logs",
        ));
    }
    if !args.quiet {
        say(&format!(
            "{} records read, {} of them unreadable; {foreign} canaries in answers to other \
             tenants, {others} more where the own prompt holds them or the tenant is unknown",
            coverage.records, coverage.unread
        ));
    }
    if foreign > 0 {
        return Ok(Outcome::Findings);
    }
    let gaps = coverage.gaps();
    Ok(if gaps.is_empty() {
        Outcome::Done
    } else {
        Outcome::Incomplete(gaps.join("; "))
    })
}

struct Look<'a> {
    scanner: &'a Scanner,
    config: &'a crate::config::Config,
}

struct Looked {
    found: Vec<Found>,
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
            found: Vec::new(),
            unread: 0,
        };
        let mut tokens = Tokens::default();
        let mut exchanges = Vec::new();
        for span in &block.records {
            exchanges.clear();
            let decoded = format.decode(block.record(span), context, &mut exchanges);
            out.unread += usize::from(decoded.is_err());
            for exchange in &exchanges {
                self.look(exchange, block.offset(span), &mut tokens, &mut out.found);
            }
        }
        out
    }
}

impl Look<'_> {
    fn hits(&self, text: Option<&FieldText>, tokens: &mut Tokens) -> Vec<Hit> {
        let mut hits = Vec::new();
        if let Some(text) = text {
            tokenize(text, tokens);
            self.scanner.scan(tokens, &mut hits);
        }
        hits
    }

    fn look(&self, e: &Exchange, offset: u64, tokens: &mut Tokens, found: &mut Vec<Found>) {
        let tenant = self.config.tenants.choose(&e.tenant_candidates);
        let tenant = tenant.map(|(name, _)| name.to_string());
        let owners = self.scanner.owners();
        let mut prompt = None;
        for (field, text) in [
            ("response", &e.response),
            ("reasoning", &e.reasoning),
            ("tool", &e.tool),
        ] {
            for hit in self.hits(text.as_ref(), tokens) {
                if tenant.as_ref() == Some(&owners[hit.owner as usize]) {
                    continue;
                }
                let own = prompt.get_or_insert_with(|| self.hits(e.prompt.as_ref(), tokens));
                found.push(Found {
                    offset,
                    time: e.t_start.or(e.t_end),
                    tenant: tenant.clone(),
                    request_id: e.request_id.clone(),
                    node: e.node.clone(),
                    field,
                    hit,
                    in_own_prompt: own.iter().any(|h| h.marker == hit.marker),
                });
            }
        }
    }
}

/// One JSON object a line. The marker itself is not printed.
fn print(out: &mut impl Write, input: &Input, found: &Found, scanner: &Scanner) -> Result<()> {
    let time = found
        .time
        .and_then(|t| jiff::Timestamp::from_microsecond(t).ok())
        .map(|t| t.to_string());
    let row = serde_json::json!({
        "time": time,
        "tenant": found.tenant.as_deref().map(visible),
        "canary_of": scanner.owners()[found.hit.owner as usize],
        "writing": found.hit.writing.as_str(),
        "whole": found.hit.whole,
        "bits": found.hit.bits,
        "field": found.field,
        "start": found.hit.start,
        "end": found.hit.end,
        "in_own_prompt": found.in_own_prompt,
        "request_id": found.request_id.as_deref().map(visible),
        "node": found.node.as_deref().map(visible),
        "place": format!("{}:{}", input.display, found.offset),
    });
    writeln!(out, "{row}")?;
    Ok(())
}
