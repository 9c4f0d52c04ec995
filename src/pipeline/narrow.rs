//! Which answers are searched: every one, those over the limit, or those that a person's query
//! names. What is left out reads `not_searched`, so that no answer is cleared unseen.

use super::assemble::{NOT_SEARCHED, is_triggered};
use crate::settings::{Mode, Resources};
use anyhow::Result;
use pentimento_store::case::CaseFolder;
use pentimento_store::manifest::TableDigest;
use pentimento_store::reader::read_rows;
use pentimento_store::rows::ExchangeRow;
use pentimento_store::writer::{TableWriter, WriteOptions};
use std::collections::HashSet;

/// CPU seconds that searching every answer takes per byte of log: 200 s per GB, the whole `audit`
/// of the generated 1 GB log in a release build (`bench/RESULTS.md`). Only for the choice of
/// `auto`.
const FULL_CPU_S_PER_BYTE: f64 = 200e-9;

/// Which answers were asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// `--mode`.
    pub mode: Mode,
    /// `--suspects`: a query that gives `exchange_id`.
    pub suspects: Option<String>,
    /// `--full-within`: seconds that `auto` may spend on searching every answer.
    pub full_within_s: Option<f64>,
}

/// What was done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// What is searched.
    pub mode: Mode,
    /// Answers that are searched.
    pub searched: u64,
    /// Answers that could have been.
    pub searchable: u64,
    /// Why this mode, for people.
    pub why: String,
    /// The table as it is now, where it was written anew.
    pub exchanges: Option<TableDigest>,
}

impl Chosen {
    /// What was done, in one line.
    pub fn line(&self) -> String {
        let Chosen {
            searched,
            searchable,
            why,
            ..
        } = self;
        if self.mode == Mode::Full {
            format!("searched: every response with text, {searched} ({why})")
        } else {
            format!("searched: {searched} of {searchable} responses with text ({why})")
        }
    }
}

/// Chooses, and where not every answer is searched writes `exchanges` anew to say so. `suspects`:
/// ids of the exchanges that the query of `--suspects` gave;
/// `searchable` and `triggered`: answers with text, and those of them at or over the limit.
///
/// # Errors
/// A case that cannot be read or written.
pub fn narrow(
    asked: &Asked,
    case: &CaseFolder,
    log_bytes: u64,
    (searchable, triggered): (u64, u64),
    resources: &Resources,
    suspects: Option<&HashSet<String>>,
) -> Result<Chosen> {
    if let Some(ids) = suspects {
        let why = "--suspects chose them".to_owned();
        return rewrite(case, why, |row| ids.contains(&row.exchange_id));
    }
    let full = |why: String| Chosen {
        mode: Mode::Full,
        searched: searchable,
        searchable,
        why,
        exchanges: None,
    };
    if asked.mode != Mode::Auto {
        return match asked.mode {
            Mode::Suspect => rewrite(case, "--mode suspect".to_owned(), is_triggered),
            _ => Ok(full("--mode full".to_owned())),
        };
    }
    let expected_s = log_bytes as f64 * FULL_CPU_S_PER_BYTE / resources.threads.max(1) as f64;
    match asked.full_within_s {
        Some(limit_s) if expected_s > limit_s && triggered > 0 => {
            let why = format!(
                "auto: searching every response was expected to take {} and --full-within gives {}; \
                 only those at or over the engine's limit were searched",
                minutes(expected_s),
                minutes(limit_s)
            );
            rewrite(case, why, is_triggered)
        }
        Some(limit_s) if expected_s > limit_s => Ok(full(format!(
            "auto: expected to take {}, longer than --full-within, but no response is known to be \
             over a limit, so nothing less would be a search",
            minutes(expected_s)
        ))),
        _ => Ok(full("auto".to_owned())),
    }
}

fn minutes(seconds: f64) -> String {
    if seconds < 90.0 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.0} min", seconds / 60.0)
    }
}

/// Writes `exchanges` anew; the ones that are not kept read `not_searched`.
fn rewrite(case: &CaseFolder, why: String, keep: impl Fn(&ExchangeRow) -> bool) -> Result<Chosen> {
    let mut writer: TableWriter<ExchangeRow> = case.writer(WriteOptions::default())?;
    let (mut searched, mut searchable) = (0, 0);
    for row in read_rows::<ExchangeRow>(&case.tables())? {
        let mut row = row?;
        if row.judged {
            searchable += 1;
            if keep(&row) {
                searched += 1;
            } else {
                row.judged = false;
                row.unjudged_reason = Some(NOT_SEARCHED.into());
            }
        }
        writer.push(&row)?;
    }
    Ok(Chosen {
        mode: Mode::Suspect,
        searched,
        searchable,
        why,
        exchanges: Some(TableDigest::from(&writer.finish()?)),
    })
}
