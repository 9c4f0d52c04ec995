//! `pentimento sql`: one read-only statement over the tables of a case.

use crate::clock::now_rfc3339;
use crate::messages::{is_broken_pipe, say};
use crate::outcome::{FailureKind, Outcome, failure};
use crate::settings::size_bytes;
use crate::sql::output::Parameter;
use crate::sql::output::{Format, write_query};
use crate::sql::session::{CaseSession, SessionOptions, open_case};
use anyhow::Result;
use clap::Args;
use pentimento_store::case::CaseFolder;
use pentimento_store::custody::Act;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Read};
use std::path::{Path, PathBuf};

/// Longest statement that is read, in bytes.
const MAX_SQL_BYTES: u64 = 1 << 20;

/// Flags of `sql`.
#[derive(Debug, Args)]
pub struct SqlArgs {
    #[command(flatten)]
    case: CaseArgs,
    /// The statement
    #[arg(
        short = 'c',
        long,
        value_name = "SQL",
        required_unless_present = "file"
    )]
    command: Option<String>,
    /// File with the statement, or - for standard input
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with = "command")]
    file: Option<PathBuf>,
}

/// How a case is opened and its rows are written.
#[derive(Debug, Args)]
pub struct CaseArgs {
    /// Case folder
    #[arg(long, value_name = "DIR", default_value = "pentimento-case")]
    case: PathBuf,
    /// How rows are written to stdout
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Let the statement read the table `texts`; needs --reason
    #[arg(long, requires = "reason")]
    reveal: bool,
    /// Why texts may be read; goes to the custody log
    #[arg(long, value_name = "R")]
    reason: Option<String>,
    /// Worker threads (default: one per core)
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Memory limit, such as 1GiB
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size_bytes)]
    memory_limit: usize,
}

/// Runs the command.
///
/// # Errors
/// With the exit code of the contract inside: a statement that fails is a usage error.
pub fn run(args: SqlArgs) -> Result<Outcome> {
    let sql = match (&args.command, &args.file) {
        (Some(sql), _) => sql.clone(),
        (None, Some(path)) => read_statement(path)?,
        (None, None) => return Err(usage("give a statement with -c or -f")),
    };
    answer(&args.case, "sql", &sql, Vec::new())
}

/// Opens the case, runs the statement and writes its rows to stdout.
///
/// # Errors
/// As [`run`].
pub(super) fn answer(
    args: &CaseArgs,
    action: &str,
    sql: &str,
    parameters: Vec<(String, Parameter)>,
) -> Result<Outcome> {
    let mut session = open(args, action, sql)?;
    let shown = session.prepare_views_of(sql).and_then(|()| {
        let stdout = std::io::stdout();
        let terminal = stdout.is_terminal();
        let mut out = BufWriter::new(stdout);
        write_query(&session, sql, parameters, args.format, &mut out, terminal)
    });
    match shown {
        Ok(()) => Ok(Outcome::Done),
        Err(error) if is_broken_pipe(&error) => Err(error),
        Err(error) => Err(usage(format!("{error:#}"))),
    }
}

fn open(args: &CaseArgs, action: &str, sql: &str) -> Result<CaseSession> {
    let case = CaseFolder::open(&args.case).map_err(|e| usage(e.to_string()))?;
    if !case.is_finished() {
        say("warning: the case is not finished; its tables may be incomplete");
    }
    if args.reveal {
        // Before the text is read: who looked stays known even if the query fails.
        let digest = blake3::hash(sql.as_bytes()).to_hex().to_string();
        case.add_custody(&Act {
            time: now_rfc3339(),
            action: "texts revealed".to_owned(),
            actor: std::env::var("USER").ok(),
            reason: args.reason.clone(),
            detail: BTreeMap::from([
                ("command".to_owned(), action.to_owned()),
                ("sql_blake3".to_owned(), digest),
            ]),
        })?;
    }
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    open_case(
        &case.tables(),
        &SessionOptions {
            memory_limit: Some(args.memory_limit),
            threads: args.threads.unwrap_or(cores),
            spill_folder: None,
            reveal: args.reveal,
        },
    )
}

fn read_statement(path: &Path) -> Result<String> {
    let shown = path.display();
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin()
            .lock()
            .take(MAX_SQL_BYTES + 1)
            .read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(MAX_SQL_BYTES + 1).read_to_end(&mut bytes))
    };
    read.map_err(|e| usage(format!("cannot read {shown}: {e}")))?;
    if bytes.len() as u64 > MAX_SQL_BYTES {
        return Err(usage(format!(
            "{shown} is longer than {MAX_SQL_BYTES} bytes"
        )));
    }
    String::from_utf8(bytes).map_err(|_| usage(format!("{shown} is not UTF-8")))
}

/// A fault of the one who asked.
pub(super) fn usage(message: impl Into<String>) -> anyhow::Error {
    failure(FailureKind::Usage, message)
}
