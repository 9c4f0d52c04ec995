//! Keys of answers that another tenant's exchange holds together: the passes that mosaics and facts
//! have in common.
//!
//! A kind of evidence names the keys of a text: hashes of short runs, of facts. Three passes find
//! the exchanges that hold several rare keys of one answer: *index* takes the rare keys of judged
//! answers that their own prompts lack; *carriers* finds which tenants wrote each key first, and
//! drops what the receiver wrote itself or many tenants write; *join* reads the exchanges that
//! hold enough of the rest once more and lets the kind join them. Sources lie within the look-back;
//! who wrote a key first is asked of all that the logs hold.
//!
//! Memory is bounded: of more keys than fit, those with the least hashes stay, whatever the order.
//! Keys are compared by 64-bit hash: a joint needs several at once, so that one collision in 2^64
//! makes no row.

mod carriers;
mod index;
#[cfg(test)]
mod tests;

use crate::operator::{TextOperator, TextView};
use crate::overlap::{Field, Settings, Subject, TimeOrder};
use crate::surprise::{Span, log2_millibits};
use carriers::{Carriers, Event};
use hashbrown::HashMap;
use index::{Index, Text};
use std::sync::atomic::{AtomicBool, Ordering};

/// Occurrences of one key in one text that count.
const REPEATS: usize = 2;

/// Where a key stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// First token and one past the last.
    pub tokens: (u32, u32),
    /// Bytes.
    pub bytes: (u32, u32),
    /// In a judged text: surprise before the first and behind the last token, from its start.
    pub sums: (u32, u32),
    /// What sort of key it is.
    pub sort: u8,
}

/// A key of a judged text that a source holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seed {
    /// Field of the source.
    pub field: Field,
    /// In the judged text.
    pub judged: Mark,
    /// In the source.
    pub source: Mark,
}

/// What joining found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joint {
    /// Field of the source; of several the first.
    pub source_field: Field,
    /// Independent parts.
    pub parts: u32,
    /// Tokens of all parts.
    pub tokens: u32,
    /// Their surprise, in millibits.
    pub millibits: u64,
    /// Surprise that counts, after what joining costs, in millibits.
    pub score: u64,
    /// Parts of each sort.
    pub sorts: [u32; 4],
    /// From the first to the last byte of its parts in the judged field.
    pub response: (u32, u32),
    /// The same in the source field.
    pub source: (u32, u32),
}

/// A joint of one answer with one exchange of another tenant: the best one of that tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JointRow {
    /// The judged exchange.
    pub exchange: u32,
    /// Its field.
    pub field: Field,
    /// Its tenant.
    pub tenant: u32,
    /// The source.
    pub source_exchange: u32,
    /// Its tenant.
    pub source_tenant: u32,
    /// What both hold.
    pub joint: Joint,
    /// Milliseconds from the start of the source to that of the judged exchange, rounded down.
    pub lag_ms: i64,
    /// Which was first.
    pub order: TimeOrder,
}

impl From<&JointRow> for Span {
    fn from(row: &JointRow) -> Span {
        Span::of_pair(row.exchange, row.source_exchange)
    }
}

/// A kind of evidence that keys make.
pub trait Kind: Send + Sync {
    /// Names of its passes.
    const PASSES: [&'static str; 3];
    /// Fewer distinct keys make no row.
    const LEAST: usize;

    /// The keys of a judged text that are rare and that the prompt of its exchange lacks.
    fn judged(
        &self,
        field: Field,
        tenant: u32,
        texts: &mut TextView<'_>,
        out: &mut Vec<(u64, Mark)>,
    );

    /// All keys of any text. Returns how many places for keys it has.
    fn probe(&self, field: Field, texts: &mut TextView<'_>, each: impl FnMut(u64, Mark)) -> u64;

    /// Joins the seeds of one judged text in one source.
    fn join(&self, seeds: &mut Vec<Seed>, chance: Chance) -> Option<Joint>;
}

/// How much room chance has, as logarithms in millibits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance {
    /// Places for keys in the judged text, in the source, and the pairs of exchanges of the case.
    pub pairs: u32,
    /// Places for keys in the source.
    pub places: u32,
}

/// What scanning finds.
#[derive(Default)]
pub struct Partial {
    texts: Vec<Text>,
    /// Key, place in `texts`, where it stands.
    entries: Vec<(u64, u32, Mark)>,
    events: Vec<Event>,
    /// Text and what was joined.
    rows: Vec<(u32, JointRow)>,
}

enum Step {
    Index,
    Carriers,
    Join,
    Done,
}

/// The operator.
pub struct Probe<K> {
    kind: K,
    subjects: Vec<Subject>,
    settings: Settings,
    memory: usize,
    step: Step,
    index: Index,
    carriers: Carriers,
    /// Exchanges that hold enough keys.
    holders: Vec<AtomicBool>,
    /// Pairs of exchanges that could be compared, in millibits.
    exchange_pairs: u32,
    /// The last time that counts for any text.
    last: i64,
    rows: HashMap<(u32, u32), JointRow>,
}

impl<K: Kind> Probe<K> {
    /// Looks at the answers of subjects with `judge`. Of the settings, look-back, clock tolerance
    /// and the number of tenants that make text common count; `memory_bytes` bounds the keys.
    pub fn new(
        subjects: Vec<Subject>,
        settings: Settings,
        kind: K,
        memory_bytes: usize,
    ) -> Probe<K> {
        // Not the judged ones alone: a row must not depend on which other answers are judged.
        let known = subjects
            .iter()
            .filter(|s| s.tenant.is_some() && s.t_start.is_some())
            .count() as u64;
        Probe {
            holders: subjects.iter().map(|_| AtomicBool::new(false)).collect(),
            kind,
            subjects,
            settings,
            memory: memory_bytes,
            step: Step::Index,
            index: Index::default(),
            carriers: Carriers::default(),
            exchange_pairs: 2 * log2_millibits(known.max(1)),
            last: i64::MIN,
            rows: HashMap::new(),
        }
    }

    /// Rows by exchange, field and source tenant.
    pub fn finish(self) -> Vec<JointRow> {
        let mut rows: Vec<JointRow> = self.rows.into_values().collect();
        rows.sort_unstable_by_key(|r| {
            let rank = self.subjects[r.exchange as usize].id_rank;
            (rank, r.field.as_str(), r.source_tenant)
        });
        rows
    }

    fn index(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        let subject = &self.subjects[exchange as usize];
        let (Some(tenant), Some(start)) = (subject.tenant, subject.t_start) else {
            return;
        };
        let end = subject.t_end.map_or(start, |end| end.max(start));
        let mut keys = Vec::new();
        for field in Field::ANSWERS {
            keys.clear();
            self.kind.judged(field, tenant, texts, &mut keys);
            let Some(tokens) = texts.tokens(field).filter(|_| keys.len() >= K::LEAST) else {
                continue;
            };
            let text = Text::new(exchange, field, subject, tenant, (start, end), tokens);
            keys.sort_unstable();
            let number = out.texts.len() as u32;
            for same in keys.chunk_by(|a, b| a.0 == b.0) {
                let first = same.iter().take(REPEATS);
                out.entries
                    .extend(first.map(|&(key, mark)| (key, number, mark)));
            }
            out.texts.push(text);
        }
    }

    fn carriers(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        let subject = &self.subjects[exchange as usize];
        let (Some(tenant), Some(time)) = (subject.tenant, subject.t_start) else {
            return;
        };
        let mut held: Vec<(u32, bool)> = Vec::new();
        for field in Field::ALL {
            self.kind.probe(field, texts, |key, _| {
                if let Some(number) = self.index.find(key) {
                    held.push((number, field != Field::Prompt));
                }
            });
        }
        held.sort_unstable();
        held.dedup_by_key(|h| h.0);
        if held.len() >= K::LEAST {
            self.holders[exchange as usize].store(true, Ordering::Relaxed);
        }
        for (number, answer) in held {
            let event = Event {
                number,
                answer,
                time,
                tenant,
                call: subject.call,
            };
            if self.carriers.would_change(&event) {
                out.events.push(event);
            }
        }
    }

    fn join(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        let subject = &self.subjects[exchange as usize];
        let (Some(tenant), Some(time)) = (subject.tenant, subject.t_start) else {
            return;
        };
        let mut found: Vec<(u32, Field, Mark)> = Vec::new();
        let mut places = 0;
        for field in Field::ALL {
            places += self.kind.probe(field, texts, |key, mark| {
                if let Some(number) = self.index.find(key) {
                    found.push((number, field, mark));
                }
            });
        }
        found.sort_unstable();
        let mut seeds: Vec<(u32, Seed)> = Vec::new();
        for same in found.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            for &(text, judged) in self.index.entries(same[0].0) {
                let facts = &self.index.texts[text as usize];
                let (from, to) = self.range(facts);
                if facts.tenant == tenant
                    || facts.call == subject.call
                    || !(from..=to).contains(&time)
                {
                    continue;
                }
                seeds.extend(same.iter().take(REPEATS).map(|&(_, field, source)| {
                    let seed = Seed {
                        field,
                        judged,
                        source,
                    };
                    (text, seed)
                }));
            }
        }
        seeds.sort_unstable();
        for of_text in seeds.chunk_by(|a, b| a.0 == b.0) {
            let facts = &self.index.texts[of_text[0].0 as usize];
            let mut seeds: Vec<Seed> = of_text.iter().map(|s| s.1).collect();
            let chance = self.chance(facts, places);
            if let Some(joint) = self.kind.join(&mut seeds, chance) {
                let row = JointRow {
                    exchange: facts.exchange,
                    field: facts.field,
                    tenant: facts.tenant,
                    source_exchange: exchange,
                    source_tenant: tenant,
                    joint,
                    lag_ms: facts.t0.saturating_sub(time).div_euclid(1000),
                    order: self.settings.order(subject, facts.t0, facts.t1),
                };
                out.rows.push((of_text[0].0, row));
            }
        }
    }

    /// The time in which a source of a judged text counts.
    fn range(&self, text: &Text) -> (i64, i64) {
        let judged = &self.subjects[text.exchange as usize];
        self.settings.range(judged, text.t0, text.t1)
    }

    fn chance(&self, judged: &Text, places: u64) -> Chance {
        let places = log2_millibits(places.max(1));
        let judged = log2_millibits(u64::from(judged.places.max(1)));
        Chance {
            pairs: judged + places + self.exchange_pairs,
            places,
        }
    }

    /// Whether a row is better than another of the same answer and source tenant.
    fn better(&self, row: &JointRow, known: &JointRow) -> bool {
        let key = |r: &JointRow| {
            let source = &self.subjects[r.source_exchange as usize];
            let first = (source.t_start, source.id_rank);
            (
                std::cmp::Reverse(r.joint.score),
                first,
                r.joint.source_field,
            )
        };
        key(row) < key(known)
    }
}

impl<K: Kind> TextOperator for Probe<K> {
    type Partial = Partial;

    fn next_pass(&self) -> Option<&'static str> {
        match self.step {
            Step::Index => Some(K::PASSES[0]),
            Step::Carriers => Some(K::PASSES[1]),
            Step::Join => Some(K::PASSES[2]),
            Step::Done => None,
        }
    }

    fn wants(&self, exchange: u32) -> bool {
        let subject = &self.subjects[exchange as usize];
        let known = subject.tenant.is_some() && subject.t_start.is_some();
        match self.step {
            Step::Index => known && subject.judge,
            Step::Carriers => known && subject.t_start.is_some_and(|t| t <= self.last),
            Step::Join => self.holders[exchange as usize].load(Ordering::Relaxed),
            Step::Done => false,
        }
    }

    fn scan(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        if !self.wants(exchange) {
            return;
        }
        match self.step {
            Step::Index => self.index(exchange, texts, out),
            Step::Carriers => self.carriers(exchange, texts, out),
            Step::Join => self.join(exchange, texts, out),
            Step::Done => {}
        }
    }

    fn absorb(&mut self, partial: Partial) {
        self.index
            .absorb(partial.texts, partial.entries, self.memory);
        for event in &partial.events {
            self.carriers.add(event);
        }
        for (text, row) in partial.rows {
            let key = (text, row.source_tenant);
            if self
                .rows
                .get(&key)
                .is_none_or(|known| self.better(&row, known))
            {
                self.rows.insert(key, row);
            }
        }
    }

    fn end_pass(&mut self) {
        self.step = match self.step {
            Step::Index => {
                self.index.close(self.memory);
                for text in &self.index.texts {
                    self.last = self.last.max(self.range(text).1);
                }
                self.carriers = Carriers::new(self.index.len());
                Step::Carriers
            }
            Step::Carriers => {
                let most = self.settings.max_tenants as usize;
                let carriers = &self.carriers;
                self.index
                    .retain(|number, text| !carriers.explain(number, text, most));
                self.carriers = Carriers::default();
                Step::Join
            }
            Step::Join | Step::Done => Step::Done,
        };
        if self.index.len() == 0 {
            self.step = Step::Done;
        }
    }
}
