//! The command line: definitions only. It turns itself into settings and hands on.

use crate::commands;
use crate::outcome::Outcome;
use crate::progress::ProgressMode;
use crate::settings::{FailOn, Mode, size_bytes};
use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0   complete, assessed, nothing at or above --fail-on
  1   internal error (a bug)
  2   usage or configuration error
  3   complete, findings at or above --fail-on
  4   evidence incomplete: too many rejects, a triggered call without its whole response,
      or too few calls seen by any text test (the last line on stderr says which)
  5   nothing to audit: no input matched, or no record in it
  6   integrity failure: an input or a table is not what was recorded
  7   limit hit (memory, disk, time)
  75  another run holds the case";

/// Audits LLM serving logs for answers in which another customer's text shows through.
#[derive(Debug, Parser)]
#[command(name = "pentimento", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read logs, find foreign text, decide, and write a case with its report
    Audit(AuditArgs),
    /// Ask a case in SQL (read-only)
    Sql(commands::sql::SqlArgs),
    /// Write the logs of a known incident, with labels
    Simulate(commands::simulate::SimulateArgs),
    /// Make canaries for tenants, and look for them in logs
    Canary(commands::canary::CanaryArgs),
    /// Take logs into a case: the first stage of an audit alone
    Ingest(commands::ingest::IngestArgs),
    /// List the calls at or over the limit, straight from the logs
    OverLimit(commands::over_limit::OverLimitArgs),
    /// Find whose text a snippet is and who else got it
    Trace(commands::trace::TraceArgs),
    /// Compare the pool of a running engine with its window before it takes traffic
    Gate(commands::gate::GateArgs),
    /// List, match or check known faults of engines and gateways
    Advisories(commands::advisories::AdvisoriesArgs),
    /// List the log formats
    Formats,
    /// List or show the rules
    Rules(commands::rules::RulesArgs),
    /// List, show or run the named queries over a case
    Query(commands::query::QueryArgs),
}

/// Flags of `audit`.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Files, folders, globs, or - for standard input; .gz and .zst are recognised by content.
    /// In folders, hidden files and earlier cases are passed over
    #[arg(required = true)]
    pub logs: Vec<String>,
    /// Case folder to write; the case key is kept beside it
    #[arg(long, value_name = "DIR", default_value = "pentimento-case")]
    pub case: PathBuf,
    /// Configuration: capacity epochs, model aliases, tenants, zone
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Judge exchanges from this moment on (RFC 3339 or a date)
    #[arg(long, value_name = "T")]
    pub since: Option<String>,
    /// Judge exchanges before this moment
    #[arg(long, value_name = "T")]
    pub until: Option<String>,
    /// Least severity that ends with exit code 3
    #[arg(long, value_enum, default_value = "high")]
    pub fail_on: FailOn,
    /// Which responses are searched: those at or over the engine's limit (suspect), or every one;
    /// auto searches every one, unless --full-within leaves no time for it
    #[arg(long, value_enum, default_value = "auto")]
    pub mode: Mode,
    /// Search only the responses whose exchange_id this query gives; it sees exchanges, capacity,
    /// engine_events, sources and rejects
    #[arg(long, value_name = "SQL")]
    pub suspects: Option<String>,
    /// With --mode auto: search every response only where that is expected to take no longer,
    /// such as 2h
    #[arg(long, value_name = "DURATION")]
    pub full_within: Option<String>,
    /// Worker threads (default: one per core)
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Memory limit, such as 1GiB
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = size_bytes)]
    pub memory_limit: usize,
    /// How progress is shown on stderr
    #[arg(long, value_enum, default_value = "auto")]
    pub progress: ProgressMode,
    /// Copy prompt and response texts into the case (table `texts`)
    #[arg(long)]
    pub keep_text: bool,
    /// Show masked previews of the shared passages in the report; needs --reason
    #[arg(long, requires = "reason")]
    pub reveal: bool,
    /// Why text may be shown; goes to the custody log
    #[arg(long, value_name = "R")]
    pub reason: Option<String>,
    /// Least share of calls that a text test must have seen
    #[arg(long, value_name = "SHARE", default_value_t = 0.9)]
    pub min_assessable: f64,
    /// Greatest share of rejected records
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    pub max_reject_ratio: f64,
    /// How far back a source may lie, such as 24h [default: 24h]
    #[arg(long, value_name = "DURATION")]
    pub look_back: Option<String>,
    /// Zone of times that carry none, such as Europe/Berlin
    #[arg(long, value_name = "Z")]
    pub assume_timezone: Option<String>,
    /// Private RSA key (PEM) of bodies that a gateway pushed encrypted; it is kept nowhere
    #[arg(long, value_name = "FILE")]
    pub private_key: Option<PathBuf>,
    /// File with the case key (64 hex digits); without it one is made beside the case
    #[arg(long, value_name = "F")]
    pub case_key_file: Option<PathBuf>,
    /// Say nothing on stderr but errors
    #[arg(long)]
    pub quiet: bool,
    /// End with 0 where findings would end with 3
    #[arg(long)]
    pub exit_zero: bool,
    /// Target size of a block of records, in bytes
    #[arg(long, value_name = "SIZE", default_value = "4MiB", value_parser = size_bytes)]
    #[arg(hide = true)]
    pub block_size: usize,
}

/// Parses the command line and runs the command.
///
/// # Errors
/// Those of the command, with their exit code inside.
pub fn run() -> Result<Outcome> {
    match Cli::parse().command {
        Command::Audit(args) => commands::audit::run(args),
        Command::Sql(args) => commands::sql::run(args),
        Command::Simulate(args) => commands::simulate::run(&args),
        Command::Canary(args) => commands::canary::run(&args),
        Command::Ingest(args) => commands::ingest::run(&args),
        Command::OverLimit(args) => commands::over_limit::run(&args),
        Command::Trace(args) => commands::trace::run(&args),
        Command::Gate(args) => commands::gate::run(&args),
        Command::Advisories(args) => commands::advisories::run(&args),
        Command::Formats => commands::formats::run(),
        Command::Rules(args) => commands::rules::run(args),
        Command::Query(args) => commands::query::run(args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_is_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
