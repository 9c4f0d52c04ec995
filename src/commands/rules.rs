//! `pentimento rules`: the rules that turn evidence into findings.

use super::sql::usage;
use crate::outcome::Outcome;
use crate::sql::catalog::{Catalog, QueryKind};
use anyhow::Result;
use clap::{Args, Subcommand};
use std::io::Write;

/// Arguments of `rules`.
#[derive(Debug, Args)]
pub struct RulesArgs {
    #[command(subcommand)]
    command: RulesCommand,
}

#[derive(Debug, Subcommand)]
enum RulesCommand {
    /// One rule a line: id, version, severity, exposure, disclosure, title
    List,
    /// The SQL of a rule
    Show {
        /// Id of the rule
        id: String,
    },
}

/// Runs the command.
///
/// # Errors
/// With the exit code of the contract inside.
pub fn run(args: RulesArgs) -> Result<Outcome> {
    let catalog = Catalog::embedded()?;
    let mut out = std::io::stdout().lock();
    match args.command {
        RulesCommand::List => {
            for rule in catalog.of_kind(QueryKind::Rule) {
                let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".into());
                writeln!(
                    out,
                    "{:<28} v{:<3} {:<8} {:<8} {:<8} {}",
                    rule.id,
                    rule.version,
                    word(&rule.severity),
                    word(&rule.exposure),
                    word(&rule.disclosure),
                    rule.title
                )?;
            }
        }
        RulesCommand::Show { id } => {
            let rule = catalog
                .of_kind(QueryKind::Rule)
                .find(|rule| rule.id == id)
                .ok_or_else(|| usage(format!("no rule is called {id:?}; see `rules list`")))?;
            out.write_all(rule.sql.as_bytes())?;
        }
    }
    Ok(Outcome::Done)
}
