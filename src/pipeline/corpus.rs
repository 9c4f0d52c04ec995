//! The exchanges of a case as the text operators see them: where each lies, whose it is, and which
//! memory answered it.

use super::discover::Input;
use super::intern::{Interner, known};
use super::physics::Physics;
use anyhow::{Context, Result};
use pentimento_core::attribution::AttributionSubject;
use pentimento_core::overlap::{Row, Subject};
use pentimento_store::case::CaseFolder;
use pentimento_store::reader::read_rows;
use pentimento_store::rows::{CapacityRow, ExchangeRow, OverlapRow, SourceRow};
use std::collections::BTreeMap;

/// Where an exchange is: (source number, offset, index in its record) → its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Locator {
    /// Offset of the record in the decoded source.
    pub offset: u64,
    /// Index of the exchange in its record.
    pub index: u32,
    /// The exchange's number.
    pub exchange: u32,
}

/// What detect keeps of each exchange.
pub struct Corpus {
    /// What the overlap search knows of each exchange.
    pub subjects: Vec<Subject>,
    /// Exchange ids.
    pub ids: Vec<String>,
    /// Where each exchange was computed.
    pub places: Vec<AttributionSubject>,
    /// Which exchanges could have shared memory.
    pub physics: Physics,
    tenants: Vec<String>,
    /// Per source, ascending.
    pub locators: Vec<Vec<Locator>>,
    /// The sources.
    pub inputs: Vec<Input>,
}

/// The exchanges of one record.
pub fn at(locators: &[Locator], offset: u64) -> &[Locator] {
    let from = locators.partition_point(|l| l.offset < offset);
    let to = from + locators[from..].partition_point(|l| l.offset == offset);
    &locators[from..to]
}

impl Corpus {
    /// Reads `sources` and `exchanges` of a case.
    ///
    /// # Errors
    /// Where a table cannot be read or names what is not there.
    pub fn read(case: &CaseFolder, inputs: &[Input]) -> Result<Corpus> {
        let tables = case.tables();
        let mut source_numbers = BTreeMap::new();
        for row in read_rows::<SourceRow>(&tables)? {
            source_numbers.insert(row?.source_id, source_numbers.len());
        }
        anyhow::ensure!(
            source_numbers.len() == inputs.len(),
            "{} sources are in the case, {} inputs were read: please report this",
            source_numbers.len(),
            inputs.len()
        );
        let mut reading = Reading {
            corpus: Corpus {
                subjects: Vec::new(),
                ids: Vec::new(),
                places: Vec::new(),
                physics: Physics::default(),
                tenants: Vec::new(),
                locators: vec![Vec::new(); inputs.len()],
                inputs: inputs.to_vec(),
            },
            tenants: Interner::default(),
            calls: Interner::default(),
            models: Interner::default(),
            groups: Interner::default(),
            starts: BTreeMap::new(),
        };
        for row in read_rows::<CapacityRow>(&tables)? {
            reading.begin_process(row?);
        }
        for row in read_rows::<ExchangeRow>(&tables)? {
            let row = row?;
            let source = *source_numbers
                .get(&row.source_id)
                .context("an exchange names a source that is not in the case")?;
            reading.take(&row, source)?;
        }
        Ok(reading.finish())
    }

    /// The name of a tenant.
    pub fn tenant(&self, number: u32) -> Option<String> {
        self.tenants.get(number as usize).cloned()
    }

    /// The number of a tenant, if it takes part.
    pub fn tenant_number(&self, name: &str) -> Option<u32> {
        let found = self.tenants.binary_search_by(|t| t.as_str().cmp(name));
        found.ok().map(|n| n as u32)
    }

    /// The id of an exchange.
    pub fn id(&self, exchange: u32) -> String {
        self.ids[exchange as usize].clone()
    }

    /// A row of the search as a row of `overlaps`.
    pub fn overlap_row(&self, row: &Row) -> OverlapRow {
        let tenant = |n: u32| self.tenant(n);
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
            own_fit_permille: None,
            prompt_similarity_permille: None,
            chain_tokens: None,
            chain_bits: None,
            lag_ms: Some(row.lag_ms),
            turnovers: self
                .physics
                .turnovers(row.exchange, row.source_exchange, &self.subjects),
            order: row.order.as_str().into(),
            same_share_group: self
                .physics
                .same_share_group(row.exchange, row.source_exchange),
            memory_gone: self.physics.memory_gone(row.exchange, row.source_exchange),
            at_cut: row.at_cut,
            span_hmac: row.span_hmac.iter().map(|b| format!("{b:02x}")).collect(),
        }
    }
}

struct Reading {
    corpus: Corpus,
    tenants: Interner,
    calls: Interner,
    models: Interner,
    groups: Interner,
    /// Per node: when its processes were started, ascending.
    starts: BTreeMap<String, Vec<i64>>,
}

impl Reading {
    /// An epoch of a node is a process of its own.
    fn begin_process(&mut self, epoch: CapacityRow) {
        if let (Some(node), Some(start)) = (epoch.node, epoch.valid_from) {
            let starts = self.starts.entry(node).or_default();
            let at = starts.partition_point(|s| *s <= start);
            starts.insert(at, start);
        }
    }

    /// When the process of a share group `node/NAME#N` was started.
    fn process_start(&self, group: Option<&str>) -> Option<i64> {
        let (node, number) = group?.strip_prefix("node/")?.rsplit_once('#')?;
        let before = number.parse::<usize>().ok()?.checked_sub(1)?;
        self.starts.get(node)?.get(before).copied()
    }

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
            process_start: self.process_start(row.share_group.as_deref()),
        });
        self.corpus.physics.take(row);
        let process = row
            .share_group
            .as_deref()
            .filter(|g| g.starts_with("node/"));
        self.corpus.places.push(AttributionSubject {
            node: known(self.groups.number(process)),
            model: known(self.models.number(row.model.as_deref())),
        });
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
        corpus.physics.finish(&corpus.subjects);
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
