//! The search as a sequence of passes over the logs.

use super::active::{Active, activate};
use super::anchors::{Anchors, Found, Judged};
use super::automaton::Automaton;
use super::collect::{Collect, CollectPart, Decided};
use super::matching::{MatchPart, Matching};
use super::types::{
    Field, Fields, JudgedText, Limits, Outcome, PassKind, Row, Settings, Stats, Subject,
    WINDOW_WEIGHT, existed, row_order,
};
use super::windows::{for_each, for_each_anchor};
use crate::exchange::Role;
use crate::text::Tokens;
use std::sync::Arc;

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
    next: Option<PassKind>,
    stage: Stage,
    found: Vec<Found>,
    judged_texts: Vec<JudgedText>,
    /// Distinct texts to judge, by exchange and field.
    judged: Vec<Judged>,
    /// Texts of this pass, by number of the judged text.
    wanted: Vec<bool>,
    /// First judged text that no batch has taken.
    next_text: usize,
    /// Texts of the batch that found no room among the active ones.
    deferred: Vec<u32>,
    /// Decided texts that wait for a matching pass, and the exchanges that may hold their sources.
    decided: Vec<Decided>,
    holders: Vec<bool>,
    rows: Vec<Row>,
    stats: Stats,
}

enum Stage {
    Judge,
    Index(Anchors),
    Discover(Anchors),
    Activate {
        anchors: Anchors,
        active: Vec<Active>,
        bytes: usize,
    },
    Collect {
        anchors: Anchors,
        collect: Box<Collect>,
    },
    Match {
        anchors: Anchors,
        matching: Box<Matching>,
    },
    Done,
}

/// What one thread found in some exchanges of one pass. It also holds the thread's buffers, so one
/// should serve many exchanges.
#[derive(Default)]
pub struct Partial {
    tokens: Tokens,
    prompt: Tokens,
    found: Vec<Found>,
    anchors: Vec<(u64, u32)>,
    active: Vec<Active>,
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
            next: Some(PassKind::Judge),
            stage: Stage::Judge,
            found: Vec::new(),
            judged_texts: Vec::new(),
            judged: Vec::new(),
            wanted: Vec::new(),
            next_text: 0,
            deferred: Vec::new(),
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
            Stage::Index(_) | Stage::Activate { .. } => {
                self.texts_of(exchange).any(|t| self.wanted[t])
            }
            Stage::Discover(_) => subject.tenant.is_some() && subject.t_start.is_some(),
            Stage::Collect { collect, .. } => collect.wants(exchange, subject),
            Stage::Match { matching, .. } => {
                self.holders[exchange as usize] && matching.wants(subject)
            }
            Stage::Done => false,
        }
    }

    /// Reads one exchange. Each exchange is to be scanned at most once a pass.
    pub fn scan(&self, exchange: u32, fields: &Fields<'_>, out: &mut Partial) {
        if !self.wants(exchange) {
            return;
        }
        let subject = &self.subjects[exchange as usize];
        let tokens = &mut out.tokens;
        match &self.stage {
            Stage::Judge => {
                for field in Field::ANSWERS {
                    if fields.tokens(field, tokens) {
                        let found = Found::new(exchange, field, tokens, self.run_weight());
                        out.found.push(found);
                    }
                }
            }
            Stage::Index(_) => {
                for text in self.texts_of(exchange).filter(|&t| self.wanted[t]) {
                    let judged = &self.judged[text];
                    fields.tokens(judged.field, tokens);
                    for_each_anchor(tokens, self.run_weight(), |w| {
                        out.anchors.push((w.hash, judged.tenant));
                    });
                }
            }
            Stage::Discover(anchors) => {
                let Some(tenant) = subject.tenant else {
                    return;
                };
                for field in Field::ALL {
                    if fields.tokens(field, tokens) {
                        for_each(tokens, |w| anchors.note(w.hash, tenant));
                    }
                }
            }
            Stage::Activate { anchors, .. } => self.activate(exchange, fields, anchors, out),
            Stage::Collect { collect, .. } => {
                collect.scan(exchange, subject, fields, tokens, &mut out.collect);
            }
            Stage::Match { matching, .. } => {
                matching.scan(exchange, subject, fields, tokens, &mut out.matches);
            }
            Stage::Done => {}
        }
    }

    fn activate(&self, exchange: u32, fields: &Fields<'_>, anchors: &Anchors, out: &mut Partial) {
        for text in self.texts_of(exchange).filter(|&t| self.wanted[t]) {
            fields.tokens(self.judged[text].field, &mut out.tokens);
            let prompt = |tokens: &mut Tokens| fields.tokens(Field::Prompt, tokens);
            let weights = (self.run_weight(), self.settings.store_weight);
            let prompt = (prompt, &mut out.prompt);
            let active = activate(text as u32, &out.tokens, anchors, weights, prompt);
            out.active.extend(active);
        }
    }

    /// Takes what scanning found.
    pub fn absorb(&mut self, partial: Partial) {
        match &mut self.stage {
            Stage::Judge => self.found.extend(partial.found),
            Stage::Index(anchors) => {
                for (hash, tenant) in partial.anchors {
                    anchors.insert(hash, tenant);
                }
            }
            Stage::Activate {
                anchors,
                active,
                bytes,
            } => {
                let all = self.limits.memory_bytes;
                let budget = (all / 4 * 3).saturating_sub(anchors.bytes()).max(all / 4);
                for new in partial.active {
                    // Window numbers, cells and answers come on top of the text itself.
                    let size = new.bytes() + new.tokens.len() * 60;
                    if *bytes > 0 && *bytes + size > budget {
                        self.deferred.push(new.text);
                    } else {
                        *bytes += size;
                        active.push(new);
                    }
                }
            }
            Stage::Collect { collect, .. } => collect.absorb(partial.collect),
            Stage::Match { matching, .. } => matching.absorb(partial.matches),
            Stage::Discover(_) | Stage::Done => {}
        }
    }

    /// Ends the pass after all partials are absorbed.
    pub fn end_pass(&mut self) {
        self.stats.passes += 1;
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Judge => {
                self.choose();
                self.next_batch();
            }
            Stage::Index(anchors) => self.enter(PassKind::Discover, Stage::Discover(anchors)),
            Stage::Discover(anchors) => self.enter_activate(anchors),
            Stage::Activate {
                anchors, active, ..
            } => self.enter_collect(anchors, active),
            Stage::Collect {
                anchors,
                mut collect,
            } => {
                if collect.end_pass() {
                    self.enter(PassKind::Collect, Stage::Collect { anchors, collect });
                } else {
                    let (decided, holders) = collect.finish(self.settings.store_weight);
                    self.stats.matched_texts += decided.len() as u64;
                    self.decided = decided;
                    self.holders = holders;
                    self.enter_match(anchors);
                }
            }
            Stage::Match { anchors, matching } => {
                matching.rows(&self.subjects, &self.settings, &mut self.rows);
                self.enter_match(anchors);
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
            judged: self.judged_texts,
            stats: self.stats,
        }
    }

    /// Least weight of a run that can make a row, as far as picking windows goes.
    fn run_weight(&self) -> u32 {
        self.settings.store_weight.min(40)
    }

    fn enter(&mut self, kind: PassKind, stage: Stage) {
        self.next = Some(kind);
        self.stage = stage;
    }

    /// Numbers of the judged texts of an exchange.
    fn texts_of(&self, exchange: u32) -> impl Iterator<Item = usize> + '_ {
        let first = self.judged.partition_point(|j| j.exchange < exchange);
        (first..self.judged.len()).take_while(move |&t| self.judged[t].exchange == exchange)
    }

    /// Chooses the exchange that stands for each distinct text of a call.
    fn choose(&mut self) {
        let subjects = &self.subjects;
        let mut found = std::mem::take(&mut self.found);
        // Nothing stands before the first exchange: texts that look back further look alike.
        let earliest = subjects.iter().filter_map(|s| s.t_start).min();
        let group = |f: &Found| {
            let s = &subjects[f.exchange as usize];
            (s.call, s.choice, f.field, f.sequence)
        };
        let rank = |f: &Found| {
            let s = &subjects[f.exchange as usize];
            let role = Role::ALL.iter().position(|r| *r == s.role);
            (role, s.t_start, s.id_rank)
        };
        found.sort_unstable_by_key(|f| (group(f), rank(f)));
        for members in found.chunk_by(|a, b| group(a) == group(b)) {
            let first = &members[0];
            self.judged_texts.extend(members.iter().map(|f| JudgedText {
                exchange: f.exchange,
                field: f.field,
                first: first.exchange,
                tokens: f.tokens,
            }));
            let s = &subjects[first.exchange as usize];
            if let (Some(tenant), Some(t0)) = (s.tenant, s.t_start) {
                let t1 = existed(s, t0);
                let (from, to) = self.settings.range(t0, t1);
                self.stats.texts += 1;
                self.stats.tokens += u64::from(first.tokens);
                self.judged.push(Judged {
                    exchange: first.exchange,
                    field: first.field,
                    tenant,
                    call: s.call,
                    t0,
                    t1,
                    from: earliest.map_or(from, |e| from.max(e)),
                    to,
                    anchors: first.anchors,
                });
            }
        }
        self.judged_texts
            .sort_unstable_by_key(|j| (j.exchange, j.field));
        self.judged.sort_unstable_by_key(|j| (j.exchange, j.field));
        self.wanted = vec![false; self.judged.len()];
    }

    /// Takes the next judged texts whose index fits into memory.
    fn next_batch(&mut self) {
        self.wanted.fill(false);
        let budget = self.limits.memory_bytes / 8 * 3 / Anchors::BYTES_EACH;
        let mut entries = 0;
        while let Some(judged) = self.judged.get(self.next_text) {
            let anchors = judged.anchors as usize;
            if entries > 0 && entries + anchors > budget {
                break;
            }
            entries += anchors;
            self.wanted[self.next_text] = anchors > 0;
            self.next_text += 1;
        }
        if entries > 0 {
            self.enter(PassKind::Index, Stage::Index(Anchors::new(entries)));
        } else {
            self.next = None;
        }
    }

    fn enter_activate(&mut self, anchors: Anchors) {
        self.enter(
            PassKind::Activate,
            Stage::Activate {
                anchors,
                active: Vec::new(),
                bytes: 0,
            },
        );
    }

    fn enter_collect(&mut self, anchors: Anchors, active: Vec<Active>) {
        if active.is_empty() {
            self.next_batch();
            return;
        }
        self.stats.active_texts += active.len() as u64;
        let collect = Collect::new(
            active,
            &self.judged,
            self.subjects.len(),
            self.settings.max_tenants,
            (self.limits.memory_bytes / 4, self.room),
        );
        let collect = Box::new(collect);
        let anchors = if self.deferred.is_empty() {
            Anchors::new(0)
        } else {
            anchors
        };
        self.enter(PassKind::Collect, Stage::Collect { anchors, collect });
    }

    /// Matches the next decided texts; without any, goes on with what was deferred.
    fn enter_match(&mut self, anchors: Anchors) {
        let budget = self.limits.memory_bytes / 4 / Automaton::BYTES_EACH;
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
            let matching = Matching::new(group, &self.judged, self.settings.store_weight);
            let matching = Box::new(matching);
            self.enter(PassKind::Match, Stage::Match { anchors, matching });
        } else if self.deferred.is_empty() {
            drop(anchors);
            self.next_batch();
        } else {
            self.wanted.fill(false);
            for text in self.deferred.drain(..) {
                self.wanted[text as usize] = true;
            }
            self.enter_activate(anchors);
        }
    }
}

fn can_judge(subject: &Subject) -> bool {
    subject.judge && subject.tenant.is_some() && subject.t_start.is_some()
}
