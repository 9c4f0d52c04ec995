//! Detect: the logs are read again, pass by pass, and the overlap search looks at their texts.
//!
//! Which exchange a record holds is known from the `exchanges` table (source, offset, index), so
//! nothing is decided twice. A source that no longer gives those records was changed meanwhile.

use super::discover::Input;
use super::ingest::{scan_settings, total_bytes};
use super::intern::{Interner, known};
use super::scan::{BlockWork, ScanSettings, scan_source};
use crate::config::Config;
use crate::outcome::{FailureKind, failure};
use crate::progress::Progress;
use crate::settings::Resources;
use anyhow::{Context, Result};
use pentimento_core::exchange::{ContentState, Exchange, Role};
use pentimento_core::format::frame::Block;
use pentimento_core::format::{DecodeContext, LogFormat};
use pentimento_core::overlap::{
    Fields, Limits, Partial, PassKind, Row, Search, Settings, Stats, Subject,
};
use pentimento_store::case::CaseFolder;
use pentimento_store::cell::PrivateText;
use pentimento_store::manifest::TableDigest;
use pentimento_store::reader::read_rows;
use pentimento_store::rows::{ExchangeRow, OverlapRow, SourceRow, TextRow};
use pentimento_store::writer::WriteOptions;
use std::collections::BTreeMap;
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

/// Where an exchange is: (source number, offset, index in its record) → its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Locator {
    offset: u64,
    index: u32,
    exchange: u32,
}

/// What detect keeps of each exchange.
struct Corpus {
    subjects: Vec<Subject>,
    ids: Vec<String>,
    memory_nodes: Vec<u32>,
    tenants: Vec<String>,
    /// Per source, ascending.
    locators: Vec<Vec<Locator>>,
    inputs: Vec<Input>,
}

/// Runs the overlap search and writes `overlaps`.
///
/// # Errors
/// An integrity failure where a source changed since ingest; and where the case cannot be written.
pub fn detect(job: &DetectJob<'_>, progress: &Progress) -> Result<(TableDigest, Stats)> {
    let corpus = Corpus::read(job)?;
    let settings = scan_settings(job.config, &job.resources, job.case);
    let total = total_bytes(&corpus.inputs, &settings.stdin_copy);
    let overlap = &job.config.overlap;
    let search = Search::new(
        corpus.subjects.clone(),
        Settings {
            look_back: overlap.look_back_us,
            clock_tolerance: overlap.clock_tolerance_us,
            max_tenants: overlap.max_tenants,
            store_weight: overlap.store_weight,
            span_key: job.case_key,
        },
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
    let mut writer = job.case.writer::<OverlapRow>(WriteOptions::default())?;
    for row in &outcome.rows {
        writer.push(&corpus.overlap_row(row))?;
    }
    Ok((TableDigest::from(&writer.finish()?), outcome.stats))
}

/// Writes `texts`, which the user asked for.
///
/// # Errors
/// As [`detect`].
pub fn keep_texts(job: &DetectJob<'_>, progress: &Progress) -> Result<TableDigest> {
    let corpus = Corpus::read(job)?;
    let settings = scan_settings(job.config, &job.resources, job.case);
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
        scan_source(input, &settings, false, progress, &work, |_, rows| {
            for row in rows {
                writer.push(&row)?;
            }
            Ok(())
        })?;
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

fn changed(input: &Input) -> anyhow::Error {
    failure(
        FailureKind::Integrity,
        format!(
            "`{}` is no longer what ingest read: audit it again while nothing writes to it",
            input.display
        ),
    )
}

/// The exchanges of one record.
fn at(locators: &[Locator], offset: u64) -> &[Locator] {
    let from = locators.partition_point(|l| l.offset < offset);
    let to = from + locators[from..].partition_point(|l| l.offset == offset);
    &locators[from..to]
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

fn fields(exchange: &Exchange) -> Fields<'_> {
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
    type Out = Vec<TextRow>;

    fn work(
        &self,
        block: &Block,
        format: &dyn LogFormat,
        context: &DecodeContext<'_>,
    ) -> Self::Out {
        let mut rows = Vec::new();
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
        rows
    }
}

impl Corpus {
    fn read(job: &DetectJob<'_>) -> Result<Corpus> {
        let tables = job.case.tables();
        let mut source_numbers = BTreeMap::new();
        for row in read_rows::<SourceRow>(&tables)? {
            source_numbers.insert(row?.source_id, source_numbers.len());
        }
        anyhow::ensure!(
            source_numbers.len() == job.inputs.len(),
            "{} sources are in the case, {} inputs were read: please report this",
            source_numbers.len(),
            job.inputs.len()
        );
        let mut reading = Reading {
            corpus: Corpus {
                subjects: Vec::new(),
                ids: Vec::new(),
                memory_nodes: Vec::new(),
                tenants: Vec::new(),
                locators: vec![Vec::new(); job.inputs.len()],
                inputs: job.inputs.to_vec(),
            },
            tenants: Interner::default(),
            calls: Interner::default(),
            nodes: Interner::default(),
        };
        for row in read_rows::<ExchangeRow>(&tables)? {
            let row = row?;
            let source = *source_numbers
                .get(&row.source_id)
                .context("an exchange names a source that is not in the case")?;
            reading.take(&row, source)?;
        }
        Ok(reading.finish())
    }

    fn overlap_row(&self, row: &Row) -> OverlapRow {
        let tenant = |n: u32| self.tenants.get(n as usize).cloned();
        let node = |e: u32| known(self.memory_nodes[e as usize]);
        let same_share_group = match (node(row.exchange), node(row.source_exchange)) {
            (Some(a), Some(b)) => Some(a == b),
            _ => None,
        };
        OverlapRow {
            exchange_id: self.ids[row.exchange as usize].clone(),
            source_exchange_id: self.ids[row.source_exchange as usize].clone(),
            tenant: tenant(row.tenant),
            source_tenant: tenant(row.source_tenant),
            source_side: row.source_field.side().into(),
            source_field: row.source_field.as_str().into(),
            field: row.field.as_str().into(),
            response_start: i64::from(row.response_start),
            response_end: i64::from(row.response_end),
            source_start: i64::from(row.source_start),
            source_end: i64::from(row.source_end),
            tokens: i64::from(row.tokens),
            novel_tokens: i64::from(row.novel_tokens),
            novel_weight: i64::from(row.novel_weight),
            carriers: i64::from(row.carriers),
            source_carries: row.source_carries,
            surprise_millibits: None,
            lag_ms: Some(row.lag_ms),
            order: row.order.as_str().into(),
            same_share_group,
            at_cut: row.at_cut,
            span_hmac: row.span_hmac.iter().map(|b| format!("{b:02x}")).collect(),
        }
    }
}

struct Reading {
    corpus: Corpus,
    tenants: Interner,
    calls: Interner,
    nodes: Interner,
}

impl Reading {
    fn take(&mut self, row: &ExchangeRow, source: usize) -> Result<()> {
        let exchange = u32::try_from(self.corpus.ids.len()).context("more than 2^32 exchanges")?;
        self.corpus.subjects.push(Subject {
            call: self.calls.number(Some(&row.call_id)),
            tenant: known(self.tenants.number(row.tenant.as_deref())),
            role: row.role,
            choice: row.choice as u32,
            t_start: row.t_start,
            t_end: row.t_end,
            id_rank: 0,
            judge: row.judged,
        });
        // The memory that an answer was computed in is its decode node's.
        let node = if row.role == Role::Prefill {
            None
        } else {
            row.node.as_deref()
        };
        self.corpus.memory_nodes.push(self.nodes.number(node));
        self.corpus.locators[source].push(Locator {
            offset: row.source_offset as u64,
            index: row.source_index as u32,
            exchange,
        });
        self.corpus.ids.push(row.exchange_id.clone());
        Ok(())
    }

    fn finish(self) -> Corpus {
        let mut corpus = self.corpus;
        corpus.locators.iter_mut().for_each(|l| l.sort_unstable());
        rank_ids(&mut corpus);
        rank_tenants(&mut corpus, &self.tenants);
        number_deliveries(&mut corpus);
        share_nodes(&mut corpus);
        corpus
    }
}

fn rank_ids(corpus: &mut Corpus) {
    let mut order: Vec<u32> = (0..corpus.ids.len() as u32).collect();
    order.sort_by(|&a, &b| corpus.ids[a as usize].cmp(&corpus.ids[b as usize]));
    for (rank, exchange) in order.into_iter().enumerate() {
        corpus.subjects[exchange as usize].id_rank = rank as u32;
    }
}

/// Tenants are numbered in the order of their names, so that no order depends on the input's.
fn rank_tenants(corpus: &mut Corpus, tenants: &Interner) {
    let mut names: Vec<(String, u32)> = (0..tenants.len() as u32)
        .filter_map(|n| tenants.name(n).map(|name| (name.to_string(), n)))
        .collect();
    names.sort();
    let mut rank = vec![0u32; tenants.len()];
    for (r, (_, n)) in names.iter().enumerate() {
        rank[*n as usize] = r as u32;
    }
    for subject in &mut corpus.subjects {
        subject.tenant = subject.tenant.map(|n| rank[n as usize]);
    }
    corpus.tenants = names.into_iter().map(|(name, _)| name).collect();
}

/// Exchanges of one call, in groups.
fn by_call(subjects: &[Subject]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..subjects.len() as u32).collect();
    order.sort_by_key(|&i| {
        let s = &subjects[i as usize];
        (s.call, s.role, s.t_start, s.id_rank)
    });
    order
}

/// A text is judged once per delivered choice: where a call handed over several answers of one
/// choice (attempts), each is numbered as a choice of its own; other roles' records of that choice
/// stand for the first.
fn number_deliveries(corpus: &mut Corpus) {
    let order = by_call(&corpus.subjects);
    let mut slots: Vec<u32> = corpus.subjects.iter().map(|s| s.choice).collect();
    for group in order
        .chunk_by(|&a, &b| corpus.subjects[a as usize].call == corpus.subjects[b as usize].call)
    {
        let facing = corpus.subjects[group[0] as usize].role;
        let mut attempts: BTreeMap<u32, u32> = BTreeMap::new();
        for &i in group {
            let subject = &corpus.subjects[i as usize];
            let mut slot = subject.choice.saturating_mul(ATTEMPTS);
            if subject.role == facing && subject.judge {
                let attempt = attempts.entry(subject.choice).or_insert(0);
                slot = slot.saturating_add(*attempt);
                *attempt += 1;
            }
            slots[i as usize] = slot;
        }
    }
    for (subject, slot) in corpus.subjects.iter_mut().zip(slots) {
        subject.choice = slot;
    }
}

/// More than the attempts that a call may have, so that slots of two choices never meet.
const ATTEMPTS: u32 = 1024;

/// A gateway seldom knows the node; the decode record of its call does.
fn share_nodes(corpus: &mut Corpus) {
    let order = by_call(&corpus.subjects);
    for group in order
        .chunk_by(|&a, &b| corpus.subjects[a as usize].call == corpus.subjects[b as usize].call)
    {
        let engine = |role: Role| {
            group
                .iter()
                .filter(|&&i| corpus.subjects[i as usize].role == role)
                .find_map(|&i| known(corpus.memory_nodes[i as usize]))
        };
        if let Some(node) = engine(Role::Decode).or_else(|| engine(Role::Unified)) {
            for &i in group {
                corpus.memory_nodes[i as usize] = node;
            }
        }
    }
}
