//! Evidence beside the overlap search: operators over texts, each with its table.

use super::corpus::Corpus;
use super::detect::DetectJob;
use super::ingest::write_table;
use super::operators::{AnyOperator, run_operators};
use super::scan::ScanSettings;
use crate::progress::Progress;
use anyhow::Result;
use pentimento_core::overlap::{Row, Subject};
use pentimento_core::second_hand::{LEAST_WEIGHT, Leak, SecondHandSearch};
use pentimento_store::manifest::TableDigest;
use pentimento_store::rows::SecondHandRow;
use std::sync::Arc;

/// Runs the operators and writes `overlaps` and their tables.
///
/// # Errors
/// An integrity failure where a source changed since ingest; where the case cannot be written.
pub fn write_evidence(
    job: &DetectJob<'_>,
    corpus: &Corpus,
    rows: &[Row],
    settings: &ScanSettings,
    progress: &Progress,
) -> Result<Vec<TableDigest>> {
    let subjects: Arc<[Subject]> = corpus.subjects.clone().into();
    let mut second_hand = SecondHandSearch::new(subjects, leaks(rows));
    let mut operators: Vec<&mut dyn AnyOperator> = vec![&mut second_hand];
    run_operators(&mut operators, corpus, settings, progress)?;
    let overlaps = rows.iter().map(|row| corpus.overlap_row(row));
    let mut tables = vec![write_table(job.case, overlaps)?];
    let found = second_hand.finish().into_iter().map(|s| SecondHandRow {
        exchange_id: corpus.ids[s.exchange as usize].clone(),
        leak_exchange_id: corpus.ids[s.leak_exchange as usize].clone(),
        tokens: i64::from(s.tokens),
    });
    let mut found: Vec<SecondHandRow> = found.collect();
    found.sort_by(|a, b| a.exchange_id.cmp(&b.exchange_id));
    tables.push(write_table(job.case, found.into_iter())?);
    Ok(tables)
}

/// Passages that one other tenant alone had written, long enough to be a leak.
fn leaks(rows: &[Row]) -> Vec<Leak> {
    rows.iter()
        .filter(|r| r.carriers <= 1 && r.novel_weight >= LEAST_WEIGHT)
        .map(|r| Leak {
            exchange: r.exchange,
            field: r.field,
            start: r.response_start,
            end: r.response_end,
        })
        .collect()
}
