//! `--suspects`: the query that names the answers to search.

use crate::outcome::{FailureKind, failure};
use crate::pipeline::ingest::Ingested;
use crate::pipeline::narrow::{Asked, Chosen, narrow};
use crate::settings::{AuditSettings, Mode};
use crate::sql::session::CaseSession;
use anyhow::Result;
use pentimento_store::case::CaseFolder;
use pentimento_store::rows::{CapacityRow, EngineEventRow, ExchangeRow, RejectRow, SourceRow};
use std::collections::HashSet;

/// Fails early where the query of `--suspects` cannot run, before an hour of reading.
///
/// # Errors
/// A usage failure: no query, or none that gives a text column `exchange_id`.
pub fn check(asked: &Asked) -> Result<()> {
    let Some(sql) = &asked.suspects else {
        return Ok(());
    };
    if asked.mode == Mode::Full {
        return Err(usage(
            "--suspects chooses what is searched, --mode full searches everything: leave out one",
        ));
    }
    let mut session = CaseSession::empty(&Default::default())?;
    session.set_table::<ExchangeRow>(&[])?;
    session.set_table::<CapacityRow>(&[])?;
    session.set_table::<EngineEventRow>(&[])?;
    session.set_table::<SourceRow>(&[])?;
    session.set_table::<RejectRow>(&[])?;
    listed(&mut session, sql).map(drop)
}

/// Chooses what is searched.
///
/// # Errors
/// A query that fails (usage), and a case that cannot be written.
pub fn choose(
    settings: &AuditSettings,
    case: &CaseFolder,
    ingested: &Ingested,
    session: impl FnOnce() -> Result<CaseSession>,
) -> Result<Chosen> {
    let sql = settings.asked.suspects.as_ref();
    let suspects = sql.map(|sql| listed(&mut session()?, sql)).transpose()?;
    let log_bytes: i64 = ingested.sources.iter().map(|s| s.bytes_decoded).sum();
    narrow(
        &settings.asked,
        case,
        log_bytes.max(0) as u64,
        ingested.searchable,
        &settings.resources,
        suspects.as_ref(),
    )
}

/// The ids that the query gives.
///
/// # Errors
/// A usage failure: no single read-only query, or none that gives a text column `exchange_id`.
fn listed(session: &mut CaseSession, sql: &str) -> Result<HashSet<String>> {
    session
        .prepare_views_of(sql)
        .and_then(|()| session.text_column(sql, "exchange_id"))
        .map_err(|error| usage(&format!("--suspects: {error:#}")))
}

fn usage(why: &str) -> anyhow::Error {
    failure(FailureKind::Usage, why.to_owned())
}
