//! Ingest: every record of every source becomes an exchange, an event, something known, or a
//! reject, and the sums are checked.

use super::archive::{Stash, Unpacking};
use super::assemble::{LinkSummary, assemble, is_triggered};
use super::bodies::BodyObjects;
use super::collect::{Collector, Window};
use super::discover::{Input, Place};
use super::draft::{RecordOut, hung, record_out};
use super::events::{EventSink, Events, write_capacity};
use super::scan::{ScanSettings, scan_source};
use super::scratch;
use super::watchdog::{RecordWork, Watched};
use crate::config::Config;
use crate::phases;
use crate::progress::Progress;
use crate::settings::Resources;
use anyhow::{Context, Result};
use pentimento_core::estimate::TokenCounter;
use pentimento_core::format::frame::{Block, RecordSpan};
use pentimento_core::format::sealed::BodyKeys;
use pentimento_core::format::{DecodeContext, LogFormat};
use pentimento_store::case::CaseFolder;
use pentimento_store::manifest::TableDigest;
use pentimento_store::rows::{ExchangeRow, Row, SourceRow};
use pentimento_store::writer::{Partitioned, TableWriter, WriteOptions};
use std::path::PathBuf;
use std::sync::Arc;

/// What ingest is to do.
pub struct IngestJob<'a> {
    /// Inputs in order.
    pub inputs: &'a [Input],
    /// Configuration.
    pub config: &'a Config,
    /// Window.
    pub window: Window,
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
    /// Answers that can be searched, and those of them at or over the limit.
    pub searchable: (u64, u64),
    /// Tables written.
    pub tables: Vec<TableDigest>,
}

/// Scan settings of a job.
pub fn scan_settings(
    config: &Config,
    resources: &Resources,
    case: &CaseFolder,
    inputs: &[Input],
) -> ScanSettings {
    ScanSettings {
        stdin_copy: stdin_copy(case),
        ..settings_of(
            config,
            (resources.threads, resources.block_bytes),
            Some(scratch::folder(case)),
            inputs,
        )
    }
}

/// Scan settings of a configuration, without a copy of standard input. `blocks`: how many are in
/// flight, and their size in bytes; `scratch`: where archives are put aside.
pub fn settings_of(
    config: &Config,
    blocks: (usize, usize),
    scratch: Option<PathBuf>,
    inputs: &[Input],
) -> ScanSettings {
    let unpacking = Unpacking {
        max_ratio: config.max_ratio,
        scratch,
        stash: Stash::default(),
    };
    let longest = config.max_record_bytes;
    ScanSettings {
        bodies: Arc::new(BodyObjects::among(inputs, longest, unpacking.clone())),
        max_record_bytes: longest,
        unpacking,
        zone: config.zone.clone(),
        year: config.year,
        keys: config.keys.clone(),
        sources: config.sources.clone(),
        block_bytes: blocks.1,
        blocks_in_flight: blocks.0,
        stdin_copy: PathBuf::new(),
    }
}

/// Where standard input is kept aside while a run needs it again.
pub fn stdin_copy(case: &CaseFolder) -> PathBuf {
    scratch::folder(case).join("stdin")
}

/// Bytes to read, as far as the file system tells.
pub fn total_bytes(inputs: &[Input], stdin_copy: &std::path::Path) -> u64 {
    inputs.iter().map(|i| i.stored_bytes(stdin_copy)).sum()
}

struct Decode {
    case_key: [u8; 32],
    counter: Arc<dyn TokenCounter>,
    keys: Option<Arc<BodyKeys>>,
    bodies: Arc<BodyObjects>,
}

impl RecordWork for Decode {
    type Out = RecordOut;

    fn record(
        &self,
        block: &Block,
        span: &RecordSpan,
        format: &dyn LogFormat,
        context: &DecodeContext<'_>,
    ) -> RecordOut {
        record_out(block, span, format, context, &self.case_key, &*self.counter)
    }

    fn hung(&self, block: &Block, span: &RecordSpan) -> RecordOut {
        hung(block, span)
    }

    fn lend<'a>(&'a self, context: DecodeContext<'a>) -> DecodeContext<'a> {
        DecodeContext {
            keys: self.keys.as_deref(),
            bodies: Some(&*self.bodies),
            ..context
        }
    }
}

/// Runs ingest.
///
/// # Errors
/// Where the case cannot be written, or the sums do not hold (a bug).
pub fn ingest(job: &IngestJob<'_>, progress: &Progress) -> Result<Ingested> {
    let settings = scan_settings(job.config, &job.resources, job.case, job.inputs);
    keep_stdin(job, &settings)?;
    let spill = scratch::folder(job.case).join("rows.spill");
    let mut collector = Collector::new(job.config, job.window, &spill)?;
    let mut events = EventSink::new(job.case, job.config, job.case_key)?;
    progress.stage("ingest", total_bytes(job.inputs, &settings.stdin_copy));
    let work = Watched::new(Decode {
        case_key: job.case_key,
        counter: job.config.counter.clone(),
        keys: settings.keys.clone(),
        bodies: settings.bodies.clone(),
    });
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
    let mut searchable = (0, 0);
    let links = assemble(&mut collector, &config, |row| {
        searchable.0 += u64::from(row.judged);
        searchable.1 += u64::from(row.judged && is_triggered(&row));
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
        searchable,
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
