//! Ingest: every record of every source becomes an exchange, an event, something known, or a
//! reject, and the sums are checked.

use super::assemble::{LinkSummary, assemble, capacity_rows};
use super::collect::{Collector, Window};
use super::discover::{Input, Place};
use super::draft::{RecordOut, record_out};
use super::scan::{BlockWork, ScanSettings, scan_source};
use crate::config::Config;
use crate::progress::Progress;
use crate::settings::{Mode, Resources};
use anyhow::{Context, Result};
use pentimento_core::format::frame::Block;
use pentimento_core::format::{DecodeContext, LogFormat};
use pentimento_store::case::CaseFolder;
use pentimento_store::rows::{CapacityRow, ExchangeRow, RejectRow, SourceRow};
use pentimento_store::writer::TableWriter;
use std::path::PathBuf;

/// What ingest is to do.
pub struct IngestJob<'a> {
    /// Inputs in order.
    pub inputs: &'a [Input],
    /// Configuration.
    pub config: &'a Config,
    /// Window.
    pub window: Window,
    /// Which responses will be searched.
    pub mode: Mode,
    /// Threads and memory.
    pub resources: Resources,
    /// Case to write into.
    pub case: &'a CaseFolder,
    /// Key of the keyed hashes.
    pub case_key: [u8; 32],
}

/// What ingest came to.
pub struct Ingested {
    /// One row per source.
    pub sources: Vec<SourceRow>,
    /// Linking.
    pub links: LinkSummary,
    /// Exchanges written.
    pub exchanges: u64,
}

/// Scan settings of a job.
pub fn scan_settings(config: &Config, resources: &Resources, case: &CaseFolder) -> ScanSettings {
    ScanSettings {
        max_record_bytes: config.max_record_bytes,
        max_ratio: config.max_ratio,
        zone: config.zone.clone(),
        block_bytes: resources.block_bytes,
        blocks_in_flight: resources.threads,
        stdin_copy: stdin_copy(case),
    }
}

/// Where standard input is kept aside while a run needs it again.
pub fn stdin_copy(case: &CaseFolder) -> PathBuf {
    case.temp_dir().join("stdin")
}

/// Bytes to read, as far as the file system tells.
pub fn total_bytes(inputs: &[Input], stdin_copy: &std::path::Path) -> u64 {
    let size = |input: &Input| {
        let path = match &input.place {
            Place::File(path) => path.as_path(),
            Place::Stdin => stdin_copy,
        };
        std::fs::metadata(path).map_or(0, |m| m.len())
    };
    inputs.iter().map(size).sum()
}

struct Decode {
    case_key: [u8; 32],
}

impl BlockWork for Decode {
    type Out = Vec<RecordOut>;

    fn work(&self, block: &Block, format: &dyn LogFormat, context: &DecodeContext<'_>) -> Self::Out {
        block
            .records
            .iter()
            .map(|span| record_out(block, span, format, context, &self.case_key))
            .collect()
    }
}

/// Runs ingest.
///
/// # Errors
/// Where the case cannot be written, or the sums do not hold (a bug).
pub fn ingest(job: &IngestJob<'_>, progress: &Progress) -> Result<Ingested> {
    let settings = scan_settings(job.config, &job.resources, job.case);
    keep_stdin(job, &settings)?;
    let spill = job.case.temp_dir().join("rows.spill");
    let mut collector = Collector::new(job.config, job.window, &spill)?;
    progress.stage("ingest", total_bytes(job.inputs, &settings.stdin_copy));
    let work = Decode { case_key: job.case_key };
    for input in job.inputs {
        collector.begin_source(&input.display);
        let end = scan_source(input, &settings, true, progress, &work, |block, outs| {
            take_block(&mut collector, block, outs)
        })?;
        collector.end_source(&end);
    }
    collector.finish_spill()?;
    progress.stage("link", 0);
    let mut writer = TableWriter::<ExchangeRow>::create(job.case)?;
    let links = assemble(&mut collector, job.config, job.mode, |row| Ok(writer.push(&row)?))?;
    let exchanges = writer.finish()?;
    let written: i64 = collector.sources.iter().map(|s| s.exchanges).sum();
    anyhow::ensure!(
        exchanges == written as u64,
        "{exchanges} exchanges written, {written} taken in: please report this"
    );
    write_side_tables(job, &collector)?;
    std::fs::remove_file(&spill).with_context(|| format!("cannot remove `{}`", spill.display()))?;
    Ok(Ingested { sources: std::mem::take(&mut collector.sources), links, exchanges })
}

/// Records of a block, then what the framer refused behind them.
fn take_block(collector: &mut Collector<'_>, block: &Block, outs: Vec<RecordOut>) -> Result<()> {
    for (span, out) in block.records.iter().zip(outs) {
        collector.record(out, block.record(span))?;
    }
    for r in &block.rejects {
        collector.reject(r.offset, r.length, r.reason, &r.digest);
    }
    Ok(())
}

fn write_side_tables(job: &IngestJob<'_>, collector: &Collector<'_>) -> Result<()> {
    for source in &collector.sources {
        let parts = source.records_exchange
            + source.records_event
            + source.records_other
            + source.records_rejected
            + source.records_duplicate
            + source.records_out_of_window;
        anyhow::ensure!(
            source.records_read == parts,
            "source {} read {} records but accounts for {parts}: please report this",
            source.source_id,
            source.records_read
        );
    }
    let mut sources = TableWriter::<SourceRow>::create(job.case)?;
    for row in &collector.sources {
        sources.push(row)?;
    }
    sources.finish()?;
    let mut rejects = TableWriter::<RejectRow>::create(job.case)?;
    for row in &collector.rejects {
        rejects.push(row)?;
    }
    rejects.finish()?;
    let mut capacity = TableWriter::<CapacityRow>::create(job.case)?;
    for row in capacity_rows(job.config) {
        capacity.push(&row)?;
    }
    capacity.finish()?;
    Ok(())
}

/// Later passes read the sources again, which standard input does not allow.
fn keep_stdin(job: &IngestJob<'_>, settings: &ScanSettings) -> Result<()> {
    if !job.inputs.iter().any(|i| i.place == Place::Stdin) {
        return Ok(());
    }
    let mut copy = pentimento_store::case::create_private(&settings.stdin_copy)?;
    std::io::copy(&mut std::io::stdin().lock(), &mut copy)
        .context("cannot keep standard input aside in the case folder")?;
    Ok(())
}
