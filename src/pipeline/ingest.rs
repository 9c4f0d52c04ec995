//! Ingest: every record of every source becomes an exchange, an event, something known, or a
//! reject, and the sums are checked.

use super::assemble::{LinkSummary, assemble};
use super::collect::{Collector, Window};
use super::discover::{Input, Place};
use super::draft::{RecordOut, record_out};
use super::events::{EventSink, Events, write_capacity};
use super::scan::{BlockWork, ScanSettings, scan_source};
use super::scratch;
use crate::config::Config;
use crate::phases;
use crate::progress::Progress;
use crate::settings::{Mode, Resources};
use anyhow::{Context, Result};
use pentimento_core::format::frame::Block;
use pentimento_core::format::{DecodeContext, LogFormat};
use pentimento_store::case::CaseFolder;
use pentimento_store::manifest::TableDigest;
use pentimento_store::rows::{ExchangeRow, Row, SourceRow};
use pentimento_store::writer::{Partitioned, TableWriter, WriteOptions};
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
    /// Tables written.
    pub tables: Vec<TableDigest>,
}

/// Scan settings of a job.
pub fn scan_settings(config: &Config, resources: &Resources, case: &CaseFolder) -> ScanSettings {
    ScanSettings {
        max_record_bytes: config.max_record_bytes,
        max_ratio: config.max_ratio,
        zone: config.zone.clone(),
        year: config.year,
        block_bytes: resources.block_bytes,
        blocks_in_flight: resources.threads,
        stdin_copy: stdin_copy(case),
    }
}

/// Where standard input is kept aside while a run needs it again.
pub fn stdin_copy(case: &CaseFolder) -> PathBuf {
    scratch::folder(case).join("stdin")
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

    fn work(
        &self,
        block: &Block,
        format: &dyn LogFormat,
        context: &DecodeContext<'_>,
    ) -> Self::Out {
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
    let spill = scratch::folder(job.case).join("rows.spill");
    let mut collector = Collector::new(job.config, job.window, &spill)?;
    let mut events = EventSink::new(job.case, job.config, job.case_key)?;
    progress.stage("ingest", total_bytes(job.inputs, &settings.stdin_copy));
    let work = Decode {
        case_key: job.case_key,
    };
    for input in job.inputs {
        collector.begin_source(&input.display);
        let end = scan_source(input, &settings, true, progress, &work, |block, outs| {
            take_block(&mut collector, &mut events, block, outs)
        })?;
        collector.end_source(&end);
    }
    collector.finish_spill()?;
    progress.stage("link", 0);
    let mut writer: TableWriter<ExchangeRow> = job.case.writer(WriteOptions::default())?;
    let Events { table, config } = {
        let names = (0..collector.models.len() as u32).filter_map(|n| collector.models.name(n));
        events.finish(job.config, &names.collect::<Vec<_>>())?
    };
    let links = assemble(&mut collector, &config, job.mode, |row| {
        Ok(writer.push(&row)?)
    })?;
    let summary = writer.finish()?;
    let taken: i64 = collector.sources.iter().map(|s| s.exchanges).sum();
    anyhow::ensure!(
        summary.rows == taken,
        "{} exchanges written, {taken} taken in: please report this",
        summary.rows
    );
    let mut tables = vec![TableDigest::from(&summary)];
    tables.push(write_table(job.case, collector.sources.iter().cloned())?);
    tables.push(write_table(job.case, collector.rejects.iter().cloned())?);
    tables.push(write_capacity(job.case, &config)?);
    tables.push(write_table(job.case, phases::rows(&config.phases))?);
    tables.push(table);
    std::fs::remove_file(&spill).with_context(|| format!("cannot remove `{}`", spill.display()))?;
    Ok(Ingested {
        sources: std::mem::take(&mut collector.sources),
        links,
        exchanges: summary.rows as u64,
        tables,
    })
}

/// Records of a block, then what the framer refused behind them.
fn take_block(
    collector: &mut Collector<'_>,
    events: &mut EventSink,
    block: &Block,
    outs: Vec<RecordOut>,
) -> Result<()> {
    for (span, mut out) in block.records.iter().zip(outs) {
        let told = std::mem::take(&mut out.events);
        if !told.is_empty() {
            events.take(collector.source_id(), out.offset, told)?;
        }
        collector.record(out, block.record(span))?;
    }
    for r in &block.rejects {
        collector.reject(r.offset, r.length, r.reason, &r.digest);
    }
    Ok(())
}

/// Writes a whole table from rows in their order.
///
/// # Errors
/// Where the case cannot be written.
pub fn write_table<R: Row + Partitioned>(
    case: &CaseFolder,
    rows: impl Iterator<Item = R>,
) -> Result<TableDigest> {
    let mut writer: TableWriter<R> = case.writer(WriteOptions::default())?;
    for row in rows {
        writer.push(&row)?;
    }
    Ok(TableDigest::from(&writer.finish()?))
}

/// Later passes read the sources again, which standard input does not allow.
fn keep_stdin(job: &IngestJob<'_>, settings: &ScanSettings) -> Result<()> {
    if !job.inputs.iter().any(|i| i.place == Place::Stdin) {
        return Ok(());
    }
    let mut copy = scratch::create_file(&settings.stdin_copy)?;
    std::io::copy(&mut std::io::stdin().lock(), &mut copy)
        .context("cannot keep standard input aside in the case folder")?;
    Ok(())
}
