//! The search as a sequence of passes over the logs.

use super::active::{Active, activate};
use super::anchors::Anchors;
use super::automaton::Automaton;
use super::collect::{Collect, CollectPart};
use super::discover::{Buffers, Passage, Source};
use super::judged::{Finder, Found, Texts};
use super::matching::{MatchPart, Matching};
use super::member::Decided;
use super::sequence::{self, HEAVIEST};
use super::types::{
    Field, Fields, Limits, Outcome, PassKind, Row, Settings, Stats, Subject, WINDOW_WEIGHT,
    row_order,
};
use super::view::{TextView, TokenBuffers};
use super::windows::Scanner;
use std::sync::Arc;

/// Tokens of judged texts whose windows make up a filter that fits into a processor's cache.
const FEW: usize = 1 << 18;

/// A search in progress.
///
/// ```text
/// while let Some(kind) = search.next_pass() {
///     for each exchange x, on any thread:
///         if search.wants(x) { search.scan(x, &fields, &mut partial) }
///     search.absorb(partial), for every partial, in any split and as often as is convenient
///     search.end_pass()
/// }
/// search.finish()
/// ```
pub struct Search {
    subjects: Arc<[Subject]>,
    settings: Settings,
    limits: Limits,
    /// Tenants that a cell holds in the first round.
    pub(super) room: usize,
    /// So many tokens of judged texts are looked into at once, without an index before.
    pub(super) few: usize,
    next: Option<PassKind>,
    stage: Stage,
    found: Vec<Found>,
    /// Bytes of the sequences in `found`.
    kept: usize,
    texts: Texts,
    /// First judged text that no batch has taken, and those of the present batch.
    next_text: usize,
    batch: std::ops::Range<usize>,
    /// Passages of judged texts that are still to be looked into, by text.
    passages: Vec<(u32, Vec<Passage>)>,
    /// Decided texts that wait for a matching pass, and the exchanges that may hold their sources.
    decided: Vec<Decided>,
    holders: Vec<bool>,
    rows: Vec<Row>,
    stats: Stats,
}

enum Stage {
    Judge,
    Index,
    Discover(Anchors),
    Activate {
        active: Vec<Active>,
        bytes: usize,
        /// Places in `passages` of texts that found no room.
        deferred: Vec<u32>,
    },
    Collect(Box<Collect>),
    Match(Box<Matching>),
    Done,
}

/// What one thread found in some exchanges of one pass. It also holds the thread's buffers, so one
/// should serve many exchanges.
#[derive(Default)]
pub struct Partial {
    tokens: TokenBuffers,
    finder: Finder,
    buffers: Buffers,
    scanner: Scanner,
    found: Vec<Found>,
    sequences: Vec<(u32, Box<[u32]>)>,
    /// Texts that were looked into, and what is left of them.
    active: Vec<(u32, Option<Active>)>,
    collect: CollectPart,
    matches: MatchPart,
}

impl Search {
    /// A search over the exchanges that `subjects` lists; their index is their number.
    pub fn new(
        subjects: impl Into<Arc<[Subject]>>,
        mut settings: Settings,
        limits: Limits,
    ) -> Search {
        settings.store_weight = settings.store_weight.max(WINDOW_WEIGHT);
        let room = (settings.max_tenants as usize).saturating_mul(2);
        Search {
            subjects: subjects.into(),
            settings,
            limits,
            room: room.saturating_add(4).max(16),
            few: FEW,
            next: Some(PassKind::Judge),
            stage: Stage::Judge,
            found: Vec::new(),
            kept: 0,
            texts: Texts::default(),
            next_text: 0,
            batch: 0..0,
            passages: Vec::new(),
            decided: Vec::new(),
            holders: Vec::new(),
            rows: Vec::new(),
            stats: Stats::default(),
        }
    }

    /// The pass to do next; `None` when the search is complete.
    pub fn next_pass(&mut self) -> Option<PassKind> {
        self.next
    }

    /// Whether this pass needs the texts of an exchange. Scanning others does no harm.
    pub fn wants(&self, exchange: u32) -> bool {
        let Some(subject) = self.subjects.get(exchange as usize) else {
            return false;
        };
        match &self.stage {
            Stage::Judge => can_judge(subject),
            Stage::Index => self.texts.of(exchange).any(|t| self.lacks(t)),
            Stage::Activate { .. } => self.texts.of(exchange).any(|t| self.place(t).is_some()),
            Stage::Discover(_) => subject.tenant.is_some() && subject.t_start.is_some(),
            Stage::Collect(collect) => collect.wants(exchange, subject),
            Stage::Match(matching) => self.holders[exchange as usize] && matching.wants(subject),
            Stage::Done => false,
        }
    }

    /// Reads one exchange. Each exchange is to be scanned at most once a pass.
    pub fn scan(&self, exchange: u32, fields: &Fields<'_>, out: &mut Partial) {
        let mut buffers = std::mem::take(&mut out.tokens);
        let mut texts = TextView::new(*fields, &mut buffers);
        self.scan_texts(exchange, &mut texts, out);
        out.tokens = buffers;
    }

    /// [`Search::scan`] for texts that others look at too.
    pub fn scan_texts(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        if !self.wants(exchange) {
            return;
        }
        let subject = &self.subjects[exchange as usize];
        match &self.stage {
            Stage::Judge => {
                for field in Field::ANSWERS {
                    if let Some(tokens) = texts.tokens(field) {
                        let weight = self.run_weight();
                        let found = out.finder.found(exchange, field, tokens, weight);
                        out.found.push(found);
                    }
                }
            }
            Stage::Index => {
                for text in self.texts.of(exchange).filter(|&t| self.lacks(t)) {
                    if let Some(tokens) = texts.tokens(self.texts.judged[text].field) {
                        let mut sequence = Vec::new();
                        sequence::append(tokens, &mut sequence);
                        out.sequences.push((text as u32, sequence.into()));
                    }
                }
            }
            Stage::Discover(anchors) => {
                if let (Some(tenant), Some(t_start)) = (subject.tenant, subject.t_start) {
                    let source = Source {
                        exchange,
                        subject,
                        tenant,
                        t_start,
                    };
                    let judged = &self.texts.judged;
                    anchors.scan(&source, texts, judged, self.run_weight(), &mut out.buffers);
                }
            }
            Stage::Activate { .. } => self.activate(exchange, texts, out),
            Stage::Collect(collect) => collect.scan(exchange, subject, texts, &mut out.collect),
            Stage::Match(matching) => matching.scan(exchange, subject, texts, &mut out.matches),
            Stage::Done => {}
        }
    }

    fn activate(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        for text in self.texts.of(exchange) {
            let Some(place) = self.place(text) else {
                continue;
            };
            let field = self.texts.judged[text].field;
            texts.load(Field::Prompt);
            texts.load(field);
            let Some(tokens) = texts.loaded(field) else {
                continue;
            };
            let (number, passages) = &self.passages[place];
            let prompt = texts.loaded(Field::Prompt);
            let least = self.settings.store_weight;
            let scanner = &mut out.scanner;
            let active = activate(*number, tokens, passages, least, prompt, scanner);
            out.active.push((place as u32, active));
        }
    }

    /// Takes what scanning found.
    pub fn absorb(&mut self, partial: Partial) {
        match &mut self.stage {
            Stage::Judge => {
                for mut found in partial.found {
                    let bytes = found.sequence.as_ref().map_or(0, |s| s.len() * 4);
                    if self.kept + bytes > self.limits.memory_bytes / 4 {
                        found.sequence = None;
                    } else {
                        self.kept += bytes;
                    }
                    self.found.push(found);
                }
            }
            Stage::Index => {
                for (text, sequence) in partial.sequences {
                    self.texts.sequences[text as usize] = Some(sequence);
                }
            }
            Stage::Activate {
                active,
                bytes,
                deferred,
            } => {
                for (place, new) in partial.active {
                    let Some(new) = new else { continue };
                    // Window numbers, cells and answers come on top of the text itself.
                    let size = new.bytes() + new.tokens.len() * 60;
                    if *bytes > 0 && *bytes + size > self.limits.memory_bytes / 2 {
                        deferred.push(place);
                    } else {
                        *bytes += size;
                        active.push(new);
                    }
                }
            }
            Stage::Collect(collect) => collect.absorb(partial.collect),
            Stage::Match(matching) => matching.absorb(partial.matches),
            Stage::Discover(_) | Stage::Done => {}
        }
    }

    /// Ends the pass after all partials are absorbed.
    pub fn end_pass(&mut self) {
        self.stats.passes += 1;
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Judge => {
                let found = std::mem::take(&mut self.found);
                self.texts = Texts::choose(found, &self.subjects, &self.settings);
                self.stats.texts = self.texts.judged.len() as u64;
                self.stats.tokens = self.texts.judged.iter().map(|j| u64::from(j.tokens)).sum();
                if self.look_into_all() {
                    self.enter_activate();
                } else {
                    self.next_batch();
                }
            }
            Stage::Index => self.enter_discover(),
            Stage::Discover(anchors) => {
                self.passages = anchors.passages(self.settings.store_weight);
                drop(anchors);
                self.enter_activate();
            }
            Stage::Activate {
                active,
                bytes,
                mut deferred,
            } => {
                deferred.sort_unstable();
                let mut place = 0..;
                self.passages.retain(|_| {
                    let place = place.next().unwrap_or_default();
                    deferred.binary_search(&place).is_ok()
                });
                self.enter_collect(active, bytes);
            }
            Stage::Collect(mut collect) => {
                if collect.end_pass() {
                    self.enter(PassKind::Collect, Stage::Collect(collect));
                } else {
                    let (decided, holders) = collect.finish(self.settings.store_weight);
                    self.stats.matched_texts += decided.len() as u64;
                    self.decided = decided;
                    self.holders = holders;
                    self.enter_match();
                }
            }
            Stage::Match(matching) => {
                matching.rows(&self.subjects, &self.settings, &mut self.rows);
                self.enter_match();
            }
            Stage::Done => {}
        }
    }

    /// The result.
    pub fn finish(mut self) -> Outcome {
        self.rows
            .sort_unstable_by(|a, b| row_order(&self.subjects, a, b));
        Outcome {
            rows: self.rows,
            judged: self.texts.listed,
            stats: self.stats,
        }
    }

    /// Least weight of a run that can make a row, as far as anchors go.
    fn run_weight(&self) -> u32 {
        self.settings.store_weight.min(HEAVIEST)
    }

    fn enter(&mut self, kind: PassKind, stage: Stage) {
        self.next = Some(kind);
        self.stage = stage;
    }

    /// Whether a text of the batch has no sequence yet.
    fn lacks(&self, text: usize) -> bool {
        self.batch.contains(&text)
            && self.texts.judged[text].anchors > 0
            && self.texts.sequences[text].is_none()
    }

    /// The place of a text in `passages`.
    fn place(&self, text: usize) -> Option<usize> {
        let text = text as u32;
        self.passages.binary_search_by_key(&text, |p| p.0).ok()
    }

    /// Where there is little to judge, all of it is a passage; `false` if there is more.
    fn look_into_all(&mut self) -> bool {
        let few = self.few.min(self.limits.memory_bytes / 4 / 128) as u64;
        if self.stats.tokens > few {
            return false;
        }
        let texts = self.texts.judged.iter().enumerate();
        self.passages = texts
            .filter(|(_, judged)| judged.anchors > 0)
            .map(|(text, judged)| (text as u32, vec![(0, judged.tokens)]))
            .collect();
        self.texts.sequences.fill(None);
        self.next_text = self.texts.judged.len();
        true
    }

    /// Takes the next judged texts whose index fits into memory.
    fn next_batch(&mut self) {
        let budget = self.limits.memory_bytes / 2;
        let first = self.next_text;
        let (mut bytes, mut tokens, mut entries) = (0, 0usize, 0);
        while let Some(judged) = self.texts.judged.get(self.next_text) {
            let more = judged.anchors as usize * Anchors::BYTES.1
                + judged.tokens as usize * Anchors::BYTES.0;
            // Places are 31 bits wide.
            let wide = tokens + 2 * judged.tokens as usize > (1 << 31) - 4;
            if entries > 0 && (bytes + more > budget || wide) {
                break;
            }
            bytes += more;
            tokens += 2 * judged.tokens as usize;
            entries += judged.anchors as usize;
            self.next_text += 1;
        }
        self.batch = first..self.next_text;
        if entries == 0 {
            self.next = None;
        } else if self.batch.clone().any(|t| self.lacks(t)) {
            self.enter(PassKind::Index, Stage::Index);
        } else {
            self.enter_discover();
        }
    }

    fn enter_discover(&mut self) {
        let (batch, weight) = (self.batch.clone(), self.run_weight());
        let Texts {
            judged, sequences, ..
        } = &mut self.texts;
        let anchors = Anchors::new(batch, judged, sequences, weight);
        self.enter(PassKind::Discover, Stage::Discover(anchors));
    }

    /// Looks into passages that are left; without any, goes on with the next batch.
    fn enter_activate(&mut self) {
        if self.passages.is_empty() {
            self.next_batch();
            return;
        }
        let stage = Stage::Activate {
            active: Vec::new(),
            bytes: 0,
            deferred: Vec::new(),
        };
        self.enter(PassKind::Activate, stage);
    }

    /// Decides the suspicious texts, which take `bytes`; cells may have what these leave.
    fn enter_collect(&mut self, active: Vec<Active>, bytes: usize) {
        if active.is_empty() {
            self.enter_activate();
            return;
        }
        self.stats.active_texts += active.len() as u64;
        let quarter = self.limits.memory_bytes / 4;
        let budget = (3 * quarter).saturating_sub(bytes).max(quarter);
        let collect = Collect::new(
            active,
            &self.texts.judged,
            self.subjects.len(),
            &self.settings,
            (budget, self.room, self.few),
        );
        self.enter(PassKind::Collect, Stage::Collect(Box::new(collect)));
    }

    /// Matches the next decided texts; without any, goes on with what was deferred.
    fn enter_match(&mut self) {
        let budget = self.limits.memory_bytes / 2 / Automaton::BYTES_EACH;
        let mut tokens = 0;
        let mut count = 0;
        for decided in self.decided.iter().rev() {
            tokens += decided.tokens.len();
            if count > 0 && tokens > budget {
                break;
            }
            count += 1;
        }
        if count > 0 {
            let group = self.decided.split_off(self.decided.len() - count);
            let judged = &self.texts.judged;
            let matching = Matching::new(group, judged, self.settings.store_weight);
            self.enter(PassKind::Match, Stage::Match(Box::new(matching)));
        } else {
            self.enter_activate();
        }
    }
}

fn can_judge(subject: &Subject) -> bool {
    subject.judge && subject.tenant.is_some() && subject.t_start.is_some()
}
