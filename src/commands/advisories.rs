//! `pentimento advisories`: known faults of engines and gateways by which answers of tenants mix.

use super::sql::usage;
use crate::gate::policy::flags_of;
use crate::outcome::Outcome;
use crate::report::sanitize::visible;
use anyhow::Result;
use clap::{Args, Subcommand};
use pentimento_core::advisory::{self, Advisory, Match, Subject, matches};
use pentimento_core::capacity::Epoch;
use pentimento_store::reader::read_rows;
use pentimento_store::rows::CapacityRow;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `advisories`.
#[derive(Debug, Args)]
pub struct AdvisoriesArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// One advisory a line: id, product, severity, confidence, versions, what happens
    List {
        /// More advisories beside those that come with the program
        #[arg(long, value_name = "FILE")]
        file: Vec<PathBuf>,
    },
    /// Match advisories against the capacity epochs of a case
    Match {
        /// The case
        #[arg(long, value_name = "DIR")]
        case: PathBuf,
        /// More advisories beside those that come with the program
        #[arg(long, value_name = "FILE")]
        file: Vec<PathBuf>,
        /// Also those that do not apply, with the reason
        #[arg(long)]
        all: bool,
    },
    /// Check a file of advisories
    Lint {
        /// The file; without one, those that come with the program
        file: Option<PathBuf>,
    },
}

/// The advisories that come with the program, and those of `files`.
///
/// # Errors
/// Usage failures that name the file.
pub fn advisories(files: &[PathBuf]) -> Result<Vec<Advisory>> {
    let mut all = advisory::read(advisory::shipped())?;
    for path in files {
        all.extend(read_file(path)?);
    }
    let wrong = advisory::lint(&all);
    if let Some(first) = wrong.first() {
        return Err(usage(format!("{first}; see `advisories lint FILE`")));
    }
    Ok(all)
}

fn read_file(path: &Path) -> Result<Vec<Advisory>> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| usage(format!("cannot read `{}`: {e}", path.display())))?;
    advisory::read(&text).map_err(|e| usage(format!("`{}`: {e}", path.display())))
}

/// Runs the command.
///
/// # Errors
/// With the exit code of the contract inside.
pub fn run(args: &AdvisoriesArgs) -> Result<Outcome> {
    match &args.command {
        Command::List { file } => list(&advisories(file)?),
        Command::Match { case, file, all } => match_case(case, &advisories(file)?, *all),
        Command::Lint { file } => lint(file.as_deref()),
    }
}

fn list(all: &[Advisory]) -> Result<Outcome> {
    let mut out = std::io::stdout().lock();
    for a in all {
        let ranges: Vec<String> = a.affected.iter().map(range).collect();
        let unsure = if a.unsure.is_some() { " (unsure)" } else { "" };
        writeln!(
            out,
            "{:<14} {:<20} {:<7} {:<7} {:<24} {}{unsure}",
            visible(&a.id),
            visible(&a.product),
            a.severity,
            a.confidence,
            visible(&ranges.join(", ")),
            visible(&a.summary),
        )?;
    }
    Ok(Outcome::Done)
}

fn range(range: &advisory::Range) -> String {
    let from = &range.introduced;
    match (&range.fixed, &range.last_affected) {
        (Some(fixed), _) => format!("{from} to before {fixed}"),
        (None, Some(last)) => format!("{from} to {last} or later"),
        (None, None) if from == "0" => "not established".to_owned(),
        (None, None) => format!("from {from}"),
    }
}

fn lint(file: Option<&Path>) -> Result<Outcome> {
    let all = match file {
        Some(path) => read_file(path)?,
        None => advisory::read(advisory::shipped())?,
    };
    let wrong = advisory::lint(&all);
    let mut out = std::io::stdout().lock();
    for line in &wrong {
        writeln!(out, "{}", visible(line))?;
    }
    if wrong.is_empty() {
        writeln!(out, "{} advisories, nothing wrong", all.len())?;
        return Ok(Outcome::Done);
    }
    Err(usage(format!("{} things are wrong", wrong.len())))
}

fn match_case(case: &Path, all: &[Advisory], every: bool) -> Result<Outcome> {
    if !case.join("case.json").exists() {
        return Err(usage(format!("`{}` is no finished case", case.display())));
    }
    let mut out = std::io::stdout().lock();
    let mut known = 0;
    for row in read_rows::<CapacityRow>(&case.join("tables"))? {
        let row = row?;
        let flags = flags_of(&Epoch {
            flags: row.flags.clone(),
            ..Epoch::default()
        });
        let subject = Subject {
            product: row.engine.as_deref(),
            version: row.engine_version.as_deref(),
            mode: row.mode.as_deref(),
            flags: &flags,
        };
        let place = row.node.as_deref().or(row.deployment.as_deref());
        let place = visible(place.unwrap_or("any node")).into_owned();
        for a in all {
            let Some(found) = matches(a, &subject) else {
                continue;
            };
            let why = match &found {
                Match::Affected => a.unsure.clone().unwrap_or_default(),
                Match::CannotTell(open) => open.join(", "),
                Match::NotAffected(why) if every => why.clone(),
                Match::NotAffected(_) => continue,
            };
            known += 1;
            writeln!(
                out,
                "{:<20} {:<16} {:<12} {:<14} {:<7} {} [{}]",
                place,
                row.capacity_id,
                found.as_str(),
                visible(&a.id),
                a.severity,
                visible(&a.summary),
                visible(&why),
            )?;
        }
    }
    if known == 0 {
        writeln!(out, "no advisory fits an epoch of known engine")?;
    }
    Ok(Outcome::Done)
}
