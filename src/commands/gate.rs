//! `pentimento gate`: may a node take traffic?

use super::advisories::advisories;
use super::sql::usage;
use crate::config::duration_us;
use crate::gate::fetch::{FetchSettings, Fetcher};
use crate::gate::policy::Policy;
use crate::gate::verdict::{Demands, Verdict, judge};
use crate::gate::{Kind, facts};
use crate::outcome::Outcome;
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use pentimento_core::advisory::Version;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Flags of `gate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes:
  0  every node that was asked may take traffic
  2  a node could not be reached or read, or what decides is not stated (fails closed)
  3  a pool is smaller than the window, or a demand is not met")]
pub struct GateArgs {
    /// /server_info of a running engine, as file or address (repeat for each role); of a bare
    /// address the usual paths are tried
    #[arg(long, value_name = "FILE|URL")]
    server_info: Vec<String>,
    /// /metrics of a running engine, as file or address
    #[arg(long, value_name = "FILE|URL")]
    metrics: Vec<String>,
    /// Output of an engine; its last start counts
    #[arg(long, value_name = "FILE")]
    engine_log: Vec<String>,
    /// Context window in tokens that is promised to clients [default: the engine's own]
    #[arg(long, value_name = "N")]
    window: Option<i64>,
    /// Least pool as a share of the window, such as 1.1
    #[arg(long, value_name = "R")]
    min_ratio: Option<String>,
    /// Least engine version, such as 0.5.21
    #[arg(long, value_name = "V")]
    engine_min_version: Option<String>,
    /// Further rules (TOML)
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Fail also for known faults of this severity and above
    #[arg(long, value_name = "SEVERITY")]
    fail_on_advisory: Option<Severity>,
    /// More advisories beside those that come with the program
    #[arg(long, value_name = "FILE")]
    advisories: Vec<PathBuf>,
    /// How long a node may take to come up, such as 10m
    #[arg(long, value_name = "DURATION", default_value = "0s")]
    wait: String,
    /// Longest time of one request
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    timeout: String,
    /// Environment variable that holds the bearer token
    #[arg(long, value_name = "NAME", default_value = "PENTIMENTO_GATE_TOKEN")]
    bearer_env: String,
    /// Trust these certificates (PEM) in place of the public ones
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Severity {
    Low,
    Medium,
    High,
}

/// Runs the command.
///
/// # Errors
/// Usage failures. A node that cannot be read is a verdict.
pub fn run(args: &GateArgs) -> Result<Outcome> {
    let demands = demands(args)?;
    let settings = settings(args)?;
    let asked = args.server_info.len() + args.metrics.len() + args.engine_log.len();
    if asked == 0 {
        return Err(usage("give --server-info, --metrics or --engine-log"));
    }
    let verdict = match read(args, settings) {
        Ok(facts) => judge(&facts, &demands),
        Err(error) => Verdict::unreadable(format!("{error:#}")),
    };
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, &verdict)?;
    out.write_all(b"\n")?;
    Ok(match verdict.exit {
        0 => Outcome::Done,
        3 => Outcome::Findings,
        _ => Outcome::Unreadable,
    })
}

fn read(args: &GateArgs, settings: FetchSettings) -> Result<Vec<crate::gate::NodeFacts>> {
    let fetcher = Fetcher::new(settings)?;
    let mut statements = Vec::new();
    for (kind, places) in [
        (Kind::ServerInfo, &args.server_info),
        (Kind::Metrics, &args.metrics),
        (Kind::EngineLog, &args.engine_log),
    ] {
        for place in places {
            statements.push(fetcher.statement(kind, place)?);
        }
    }
    facts(&statements)
}

fn demands(args: &GateArgs) -> Result<Demands> {
    let positive = args.window.is_none_or(|w| w > 0);
    if !positive {
        return Err(usage("--window must be positive"));
    }
    let ratio = match args.min_ratio.as_deref() {
        None => None,
        Some(text) => Some(thousandths(text).ok_or_else(|| {
            usage(format!(
                "--min-ratio `{text}` is no share, expected e.g. 1.05"
            ))
        })?),
    };
    let version = match args.engine_min_version.as_deref() {
        None => None,
        Some(text) => Some(
            Version::parse(text)
                .ok_or_else(|| usage(format!("--engine-min-version `{text}` is no version")))?,
        ),
    };
    let policy = match &args.policy {
        None => Policy::default(),
        Some(path) => std::fs::read_to_string(path)
            .map_err(anyhow::Error::from)
            .and_then(|text| Policy::parse(&text))
            .map_err(|e| usage(format!("--policy `{}`: {e:#}", path.display())))?,
    };
    let words = [
        (Severity::High, "high"),
        (Severity::Medium, "medium"),
        (Severity::Low, "low"),
    ];
    let fails = |severity: &Severity| {
        args.fail_on_advisory
            .is_some_and(|least| *severity >= least)
    };
    Ok(Demands {
        window: args.window,
        min_ratio_thousandths: ratio,
        min_version: version,
        policy,
        advisories: advisories(&args.advisories)?,
        fail_on: words
            .iter()
            .filter(|(s, _)| fails(s))
            .map(|(_, word)| (*word).to_owned())
            .collect(),
    })
}

fn settings(args: &GateArgs) -> Result<FetchSettings> {
    let duration = |text: &str, flag: &str| {
        let micros = duration_us(text).map_err(|e| usage(format!("{flag}: {e}")))?;
        Ok::<_, anyhow::Error>(Duration::from_micros(micros.unsigned_abs()))
    };
    let timeout = duration(&args.timeout, "--timeout")?;
    if timeout.is_zero() {
        return Err(usage("--timeout must not be zero"));
    }
    // Never an argument: those are seen by everyone on the machine.
    let bearer = std::env::var(&args.bearer_env)
        .ok()
        .filter(|t| !t.is_empty());
    let ca_pem = match &args.ca_file {
        None => None,
        Some(path) => Some(
            std::fs::read(path)
                .with_context(|| format!("--ca-file `{}`", path.display()))
                .map_err(|e| usage(format!("{e:#}")))?,
        ),
    };
    Ok(FetchSettings {
        timeout,
        wait: duration(&args.wait, "--wait")?,
        bearer,
        ca_pem,
    })
}

/// A decimal number in thousandths, exact.
fn thousandths(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 3 {
        return None;
    }
    let fraction = format!("{fraction:0<3}").parse::<i64>().ok()?;
    whole
        .parse::<i64>()
        .ok()?
        .checked_mul(1000)?
        .checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact() {
        for (text, value) in [
            ("1", Some(1000)),
            ("1.05", Some(1050)),
            ("0.999", Some(999)),
            ("1.0001", None),
            ("-1", None),
            (".5", None),
            ("1e3", None),
        ] {
            assert_eq!(thousandths(text), value, "{text}");
        }
    }
}
