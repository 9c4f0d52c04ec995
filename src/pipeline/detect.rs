//! Detect: the logs are read again, pass by pass, and the overlap search looks at their texts.
//!
//! Which exchange a record holds is known from the `exchanges` table (source, offset, index), so
//! nothing is decided twice. A source that no longer gives those records was changed meanwhile.

use super::corpus::{Corpus, Locator, at};
use super::discover::Input;
use super::evidence::write_evidence;
use super::ingest::{scan_settings, total_bytes};
use super::scan::{BlockWork, ScanSettings, scan_source};
use crate::config::Config;
use crate::outcome::{FailureKind, failure};
use crate::progress::Progress;
use crate::settings::Resources;
use anyhow::Result;
use pentimento_core::exchange::{ContentState, Exchange};
use pentimento_core::format::frame::Block;
use pentimento_core::format::{DecodeContext, LogFormat};
use pentimento_core::overlap::{Fields, Limits, Partial, PassKind, Search, Settings, Stats};
use pentimento_store::case::CaseFolder;
use pentimento_store::cell::PrivateText;
use pentimento_store::manifest::TableDigest;
use pentimento_store::rows::TextRow;
use pentimento_store::writer::WriteOptions;
use std::sync::RwLock;

/// What detect is to do.
pub struct DetectJob<'a> {
    /// Configuration.
    pub config: &'a Config,
    /// Threads and memory.
    pub resources: Resources,
    /// Inputs in the order of `sources`, whose paths are only fit to be shown.
    pub inputs: &'a [Input],
    /// Case with its `exchanges` and `sources`.
    pub case: &'a CaseFolder,
    /// Key of the keyed hashes.
    pub case_key: [u8; 32],
}

/// Runs the overlap search and what builds on it, and writes their tables.
///
/// # Errors
/// An integrity failure where a source changed since ingest; and where the case cannot be written.
pub fn detect(job: &DetectJob<'_>, progress: &Progress) -> Result<(Vec<TableDigest>, Stats)> {
    let corpus = Corpus::read(job.case, job.inputs)?;
    let settings = scan_settings(job.config, &job.resources, job.case, job.inputs);
    let total = total_bytes(&corpus.inputs, &settings.stdin_copy);
    let overlap = &job.config.overlap;
    let span_settings = Settings {
        look_back: overlap.look_back_us,
        clock_tolerance: overlap.clock_tolerance_us,
        max_tenants: overlap.max_tenants,
        store_weight: overlap.store_weight,
        span_key: job.case_key,
    };
    let search = Search::new(
        corpus.subjects.clone(),
        span_settings.clone(),
        Limits {
            memory_bytes: job.resources.search_bytes(),
        },
    );
    let search = RwLock::new(search);
    loop {
        // The lock must be free again before workers scan.
        let pass = write_lock(&search)?.next_pass();
        let Some(kind) = pass else { break };
        progress.stage(pass_name(kind), total);
        for number in 0..corpus.inputs.len() {
            scan_texts(&corpus, number, &settings, &search, progress)?;
        }
        write_lock(&search)?.end_pass();
    }
    let outcome = search
        .into_inner()
        .map_err(|_| {
            failure(
                FailureKind::Internal,
                "a worker of the overlap search failed",
            )
        })?
        .finish();
    let rows = &outcome.rows;
    let tables = write_evidence(job, &corpus, &span_settings, rows, &settings, progress)?;
    Ok((tables, outcome.stats))
}

/// Writes `texts`, which the user asked for.
///
/// # Errors
/// As [`detect`].
pub fn keep_texts(job: &DetectJob<'_>, progress: &Progress) -> Result<TableDigest> {
    let corpus = Corpus::read(job.case, job.inputs)?;
    let settings = scan_settings(job.config, &job.resources, job.case, job.inputs);
    progress.stage(
        "keep text",
        total_bytes(&corpus.inputs, &settings.stdin_copy),
    );
    let mut writer = job.case.writer::<TextRow>(WriteOptions::default())?;
    for (number, input) in corpus.inputs.iter().enumerate() {
        let work = Texts {
            corpus: &corpus,
            locators: &corpus.locators[number],
        };
        let mut found = 0;
        scan_source(
            input,
            &settings,
            false,
            progress,
            &work,
            |_, (rows, exchanges)| {
                found += exchanges;
                for row in rows {
                    writer.push(&row)?;
                }
                Ok(())
            },
        )?;
        if found != corpus.locators[number].len() {
            return Err(changed(input));
        }
    }
    Ok(TableDigest::from(&writer.finish()?))
}

fn write_lock(search: &RwLock<Search>) -> Result<std::sync::RwLockWriteGuard<'_, Search>> {
    search.write().map_err(|_| {
        failure(
            FailureKind::Internal,
            "a worker of the overlap search failed",
        )
    })
}

fn pass_name(kind: PassKind) -> &'static str {
    match kind {
        PassKind::Judge => "judge",
        PassKind::Index => "index",
        PassKind::Discover => "discover",
        PassKind::Activate => "activate",
        PassKind::Collect => "collect",
        PassKind::Match => "match",
    }
}

fn scan_texts(
    corpus: &Corpus,
    number: usize,
    settings: &ScanSettings,
    search: &RwLock<Search>,
    progress: &Progress,
) -> Result<()> {
    let input = &corpus.inputs[number];
    let work = SearchTexts {
        locators: &corpus.locators[number],
        search,
    };
    let mut found = 0usize;
    scan_source(input, settings, false, progress, &work, |_, out| {
        let Some((partial, records)) = out else {
            return Err(changed(input));
        };
        found += records;
        write_lock(search)?.absorb(partial);
        Ok(())
    })?;
    if found != corpus.locators[number].len() {
        return Err(changed(input));
    }
    Ok(())
}

pub(super) fn changed(input: &Input) -> anyhow::Error {
    failure(
        FailureKind::Integrity,
        format!(
            "`{}` is no longer what ingest read: audit it again while nothing writes to it",
            input.display
        ),
    )
}

struct SearchTexts<'a> {
    locators: &'a [Locator],
    search: &'a RwLock<Search>,
}

impl BlockWork for SearchTexts<'_> {
    /// What was found and how many exchanges the block held; `None` = a record changed.
    type Out = Option<(Partial, usize)>;

    fn work(
        &self,
        block: &Block,
        format: &dyn LogFormat,
        context: &DecodeContext<'_>,
    ) -> Self::Out {
        let search = self.search.read().ok()?;
        let mut partial = Partial::default();
        let mut found = 0;
        let mut exchanges = Vec::new();
        for span in &block.records {
            let here = at(self.locators, block.offset(span));
            found += here.len();
            if !here.iter().any(|l| search.wants(l.exchange)) {
                continue;
            }
            exchanges.clear();
            format
                .decode(block.record(span), context, &mut exchanges)
                .ok()?;
            for locator in here.iter().filter(|l| search.wants(l.exchange)) {
                let exchange = exchanges.get(locator.index as usize)?;
                search.scan(locator.exchange, &fields(exchange), &mut partial);
            }
        }
        Some((partial, found))
    }
}

pub(super) fn fields(exchange: &Exchange) -> Fields<'_> {
    Fields {
        prompt: exchange.prompt.as_ref(),
        response: exchange.response.as_ref(),
        reasoning: exchange.reasoning.as_ref(),
        tool: exchange.tool.as_ref(),
        prompt_truncated: exchange.prompt_state == ContentState::Truncated,
        response_truncated: exchange.response_state == ContentState::Truncated,
    }
}

struct Texts<'a> {
    corpus: &'a Corpus,
    locators: &'a [Locator],
}

impl BlockWork for Texts<'_> {
    /// Texts, and how many exchanges they are of.
    type Out = (Vec<TextRow>, usize);

    fn work(
        &self,
        block: &Block,
        format: &dyn LogFormat,
        context: &DecodeContext<'_>,
    ) -> Self::Out {
        let mut rows = Vec::new();
        let mut found = 0;
        let mut exchanges = Vec::new();
        for span in &block.records {
            let here = at(self.locators, block.offset(span));
            exchanges.clear();
            if here.is_empty()
                || format
                    .decode(block.record(span), context, &mut exchanges)
                    .is_err()
            {
                continue;
            }
            for locator in here {
                let Some(e) = exchanges.get(locator.index as usize) else {
                    continue;
                };
                found += 1;
                let fields = [
                    ("prompt", &e.prompt),
                    ("response", &e.response),
                    ("reasoning", &e.reasoning),
                    ("tool", &e.tool),
                ];
                for (field, text) in fields {
                    rows.extend(text.as_ref().map(|t| TextRow {
                        exchange_id: self.corpus.ids[locator.exchange as usize].clone(),
                        field: field.into(),
                        text: PrivateText(t.text.clone()),
                    }));
                }
            }
        }
        (rows, found)
    }
}
