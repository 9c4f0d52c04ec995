//! `pentimento query`: the named queries that the program carries.

use super::sql::{CaseArgs, answer, usage};
use crate::outcome::Outcome;
use crate::sql::catalog::{Catalog, QueryFile};
use crate::sql::output::Parameter;
use anyhow::Result;
use clap::{Args, Subcommand};
use std::io::Write;

/// Arguments of `query`.
#[derive(Debug, Args)]
pub struct QueryArgs {
    #[command(subcommand)]
    command: QueryCommand,
}

#[derive(Debug, Subcommand)]
enum QueryCommand {
    /// One query a line: name, kind, title
    List,
    /// The SQL of a query
    Show {
        /// Name of the query
        name: String,
    },
    /// Run a query over a case
    Run {
        /// Name of the query
        name: String,
        /// Value of a parameter, as key=value; whole numbers are bound as numbers
        #[arg(short = 'p', long = "param", value_name = "KEY=VALUE")]
        parameters: Vec<String>,
        #[command(flatten)]
        case: Box<CaseArgs>,
    },
}

/// Runs the command.
///
/// # Errors
/// With the exit code of the contract inside.
pub fn run(args: QueryArgs) -> Result<Outcome> {
    let catalog = Catalog::embedded()?;
    match args.command {
        QueryCommand::List => {
            let mut out = std::io::stdout().lock();
            for file in catalog.files() {
                writeln!(
                    out,
                    "{:<36} {:<7} {}",
                    file.path,
                    file.kind.as_str(),
                    file.title
                )?;
            }
            Ok(Outcome::Done)
        }
        QueryCommand::Show { name } => {
            std::io::stdout()
                .lock()
                .write_all(find(&catalog, &name)?.sql.as_bytes())?;
            Ok(Outcome::Done)
        }
        QueryCommand::Run {
            name,
            parameters,
            case,
        } => {
            let file = find(&catalog, &name)?;
            let bound = parameters
                .iter()
                .map(|p| bind(p))
                .collect::<Result<Vec<_>>>()?;
            answer(&case, "query", file.sql, bound)
        }
    }
}

fn find<'a>(catalog: &'a Catalog, name: &str) -> Result<&'a QueryFile> {
    catalog
        .find(name)
        .ok_or_else(|| usage(format!("no query is called {name:?}; see `query list`")))
}

fn bind(parameter: &str) -> Result<(String, Parameter)> {
    let (key, value) = parameter
        .split_once('=')
        .filter(|(key, _)| !key.is_empty())
        .ok_or_else(|| usage(format!("parameter {parameter:?} is not key=value")))?;
    let value = match value.parse::<i64>() {
        Ok(number) => Parameter::Int64(Some(number)),
        Err(_) => Parameter::Utf8(Some(value.to_owned())),
    };
    Ok((key.to_owned(), value))
}
