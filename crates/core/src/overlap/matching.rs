//! Measures the shared runs of the texts that remain, and makes rows of them.

use super::anchors::Judged;
use super::automaton::{Automaton, ROOT};
use super::collect::Decided;
use super::types::{Field, Fields, Row, Settings, Subject};
use super::windows::{NONE, WindowIndex, for_each};
use crate::text::Tokens;
use hashbrown::HashMap;
use std::collections::VecDeque;

/// Where a run stands in a source, ordered as sources are preferred.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    t_start: i64,
    id_rank: u32,
    field: Field,
    /// Token behind the run.
    to: u32,
    exchange: u32,
    bytes: (u32, u32),
    at_cut: bool,
}

/// The longest run of a state in a tenant's texts, and its first place.
#[derive(Clone, Copy)]
struct Run {
    length: u32,
    place: Place,
}

impl Run {
    /// A longer run wins, of equal ones the first place.
    fn merge(&mut self, other: Run) {
        if other.length > self.length || (other.length == self.length && other.place < self.place) {
            *self = other;
        }
    }
}

/// Text of the step, tenant, state.
type RunKey = (u32, u32, u32);

/// What scanning finds for this step.
#[derive(Default)]
pub(super) struct MatchPart {
    runs: Vec<(RunKey, Run)>,
}

struct Member {
    decided: Decided,
    facts: Judged,
    automaton: Automaton,
}

/// The step for one group of texts.
pub(super) struct Matching {
    members: Vec<Member>,
    index: WindowIndex,
    /// Per window the texts in which it lies over unexplained tokens.
    novel: Vec<Vec<u32>>,
    runs: HashMap<RunKey, Run>,
    /// Least tokens of a run that can make a row.
    least: u32,
    range: (i64, i64),
}

/// A stretch of a source text that only known windows make up, for one judged text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stretch {
    member: u32,
    from: u32,
    to: u32,
}

impl Matching {
    pub(super) fn new(decided: Vec<Decided>, judged: &[Judged], store_weight: u32) -> Matching {
        let tokens: usize = decided.iter().map(|d| d.tokens.len()).sum();
        let mut index = WindowIndex::new(tokens);
        let mut novel: Vec<Vec<u32>> = Vec::new();
        let mut range = (i64::MAX, i64::MIN);
        for (at, d) in decided.iter().enumerate() {
            let text = |t: u32| &decided[t as usize].tokens;
            for_each(&d.tokens, |w| {
                index.insert(text, at as u32, &w);
            });
            novel.resize_with(index.len(), Vec::new);
            for (w, _) in &d.novel {
                let texts = &mut novel[index.find(text, &d.tokens, w) as usize];
                if texts.last() != Some(&(at as u32)) {
                    texts.push(at as u32);
                }
            }
            let facts = &judged[d.text as usize];
            range = (range.0.min(facts.from), range.1.max(facts.to));
        }
        let members = decided
            .into_iter()
            .map(|decided| Member {
                facts: judged[decided.text as usize],
                automaton: Automaton::new(&decided.tokens),
                decided,
            })
            .collect();
        Matching {
            members,
            index,
            novel,
            runs: HashMap::new(),
            least: store_weight.div_ceil(2),
            range,
        }
    }

    /// Whether the pass needs an exchange.
    pub(super) fn wants(&self, subject: &Subject) -> bool {
        let (from, to) = self.range;
        subject.tenant.is_some() && subject.t_start.is_some_and(|t| from <= t && t <= to)
    }

    pub(super) fn scan(
        &self,
        exchange: u32,
        subject: &Subject,
        fields: &Fields<'_>,
        tokens: &mut Tokens,
        out: &mut MatchPart,
    ) {
        let (Some(tenant), Some(t_start)) = (subject.tenant, subject.t_start) else {
            return;
        };
        for field in Field::ALL {
            if !fields.tokens(field, tokens) {
                continue;
            }
            let stretches = self.stretches(subject, tenant, t_start, tokens);
            for group in stretches.chunk_by(|a, b| a.member == b.member) {
                let place = Place {
                    t_start,
                    id_rank: subject.id_rank,
                    field,
                    to: 0,
                    exchange,
                    bytes: (0, 0),
                    at_cut: false,
                };
                self.runs_of(group, tokens, tenant, place, out);
            }
        }
    }

    /// Stretches by text, ascending.
    fn stretches(
        &self,
        subject: &Subject,
        tenant: u32,
        t_start: i64,
        tokens: &Tokens,
    ) -> Vec<Stretch> {
        let text = |t: u32| &self.members[t as usize].decided.tokens;
        let mut out = Vec::new();
        let mut texts: Vec<u32> = Vec::new();
        let mut stretch: Option<(u32, u32, u32)> = None;
        let mut close = |stretch: Option<(u32, u32, u32)>, texts: &mut Vec<u32>| {
            let Some((from, _, to)) = stretch else {
                return;
            };
            texts.sort_unstable();
            texts.dedup();
            out.extend(texts.drain(..).filter_map(|member| {
                let facts = &self.members[member as usize].facts;
                let source = facts.tenant != tenant
                    && facts.call != subject.call
                    && facts.from <= t_start
                    && t_start <= facts.to;
                source.then_some(Stretch { member, from, to })
            }));
        };
        for_each(tokens, |w| {
            let id = self.index.find(text, tokens, &w);
            if id == NONE {
                return;
            }
            stretch = match stretch {
                Some((from, last, _)) if last + 1 == w.from => Some((from, w.from, w.to)),
                before => {
                    close(before, &mut texts);
                    Some((w.from, w.from, w.to))
                }
            };
            let novel = &self.novel[id as usize];
            if !texts.ends_with(novel) {
                texts.extend_from_slice(novel);
            }
        });
        close(stretch, &mut texts);
        out.sort_unstable();
        out
    }

    /// Reads the stretches of one source text through the automaton of one judged text.
    fn runs_of(
        &self,
        group: &[Stretch],
        tokens: &Tokens,
        tenant: u32,
        place: Place,
        out: &mut MatchPart,
    ) {
        let member = &self.members[group[0].member as usize];
        let automaton = &member.automaton;
        let mut found: HashMap<u32, (u32, u32)> = HashMap::new();
        for stretch in group {
            let segment = tokens.barriers.partition_point(|b| b.at <= stretch.from);
            // The last half-word of a run may lie behind its last window.
            let to = (stretch.to + 2).min(tokens.barriers[segment].at);
            let mut at = (ROOT, 0);
            for token in stretch.from..to {
                at = automaton.step(&member.decided.tokens, at, tokens, token as usize);
                let (mut state, mut length) = at;
                // Shorter suffixes stand here too. Those of a state that was reached before have
                // an earlier place.
                while length >= self.least {
                    let run = found.entry(state).or_insert((0, 0));
                    if run.0 >= length {
                        break;
                    }
                    *run = (length, token + 1);
                    state = automaton.link(state);
                    length = automaton.length(state);
                }
            }
        }
        let mut found: Vec<(u32, (u32, u32))> = found.into_iter().collect();
        found.sort_unstable();
        for (state, (length, to)) in found {
            let from = to - length;
            let run = Run {
                length,
                place: Place {
                    to,
                    bytes: (tokens.start[from as usize], tokens.end[to as usize - 1]),
                    at_cut: is_cut(tokens, from) || is_cut(tokens, to),
                    ..place
                },
            };
            let key = (group[0].member, tenant, state);
            let known = self.runs.get(&key);
            if known.is_none_or(|k| {
                run.length > k.length || (run.length == k.length && run.place < k.place)
            }) {
                out.runs.push((key, run));
            }
        }
    }

    pub(super) fn absorb(&mut self, part: MatchPart) {
        for (key, run) in part.runs {
            self.runs
                .entry(key)
                .and_modify(|known| known.merge(run))
                .or_insert(run);
        }
    }

    /// The rows of the group, in no order that matters.
    pub(super) fn rows(self, subjects: &[Subject], settings: &Settings, rows: &mut Vec<Row>) {
        let mut runs: Vec<(RunKey, Run)> = self.runs.into_iter().collect();
        runs.sort_unstable_by_key(|r| r.0);
        for group in runs.chunk_by(|a, b| (a.0.0, a.0.1) == (b.0.0, b.0.1)) {
            let (member, tenant, _) = group[0].0;
            RowMaker {
                member: &self.members[member as usize],
                tenant,
                subjects,
                settings,
            }
            .make(group, rows);
        }
    }
}

fn is_cut(tokens: &Tokens, at: u32) -> bool {
    tokens
        .barriers
        .binary_search_by_key(&at, |b| b.at)
        .is_ok_and(|found| tokens.barriers[found].cut)
}

/// Makes the rows of one judged text and one source tenant.
struct RowMaker<'a> {
    member: &'a Member,
    tenant: u32,
    subjects: &'a [Subject],
    settings: &'a Settings,
}

/// Windows inside a moving interval whose both ends only grow.
struct Inside<'a> {
    maker: &'a RowMaker<'a>,
    next: usize,
    /// Least carriers: places in `novel` with counts that grow to the back.
    least: VecDeque<usize>,
    /// Places of windows that the source tenant does not carry.
    foreign: VecDeque<usize>,
}

impl Inside<'_> {
    /// Carriers and `source_carries` of an interval.
    fn of(&mut self, from: u32, to: u32) -> (u32, bool) {
        let novel = &self.maker.member.decided.novel;
        while let Some((window, carriers)) = novel.get(self.next).filter(|n| n.0.to <= to) {
            while self
                .least
                .back()
                .is_some_and(|&b| novel[b].1.len() >= carriers.len())
            {
                self.least.pop_back();
            }
            self.least.push_back(self.next);
            if carriers.binary_search(&self.maker.tenant).is_err() {
                self.foreign.push_back(self.next);
            }
            debug_assert!(window.from < window.to);
            self.next += 1;
        }
        for list in [&mut self.least, &mut self.foreign] {
            while list.front().is_some_and(|&f| novel[f].0.from < from) {
                list.pop_front();
            }
        }
        let least = self.least.front().map_or(1, |&f| novel[f].1.len().max(1));
        (least as u32, self.foreign.is_empty())
    }
}

impl RowMaker<'_> {
    fn make(&self, runs: &[((u32, u32, u32), Run)], rows: &mut Vec<Row>) {
        let ends = self.member.automaton.ends();
        let nearest = self.nearest(runs);
        let (counts, weights) = self.novel_sums();
        let run_at = |token: usize| -> Option<(u32, &Run)> {
            let place = *nearest.get(*ends.get(token)? as usize)?;
            runs.get(place as usize).map(|r| (place, &r.1))
        };
        let mut inside = Inside {
            maker: self,
            next: 0,
            least: VecDeque::new(),
            foreign: VecDeque::new(),
        };
        // Equal runs have equal hashes: a run is named by its state and length.
        let mut hashes: HashMap<u32, [u8; 16]> = HashMap::new();
        let store = u64::from(self.settings.store_weight);
        for token in 0..ends.len() {
            let Some((place, run)) = run_at(token) else {
                continue;
            };
            // One token further on the same run goes on: this one lies inside it.
            if run_at(token + 1).is_some_and(|(_, next)| next.length == run.length + 1) {
                continue;
            }
            let (from, to) = (token + 1 - run.length as usize, token + 1);
            let weight = weights[to] - weights[from];
            if weight < store {
                continue;
            }
            let tokens = &self.member.decided.tokens;
            let span_hmac = *hashes
                .entry(place)
                .or_insert_with(|| self.settings.span_hmac(tokens, from, to));
            let carriers = inside.of(from as u32, to as u32);
            let mut row = self.row(run, from, to, span_hmac);
            row.novel_tokens = counts[to] - counts[from];
            row.novel_weight = weight as u32;
            (row.carriers, row.source_carries) = carriers;
            rows.push(row);
        }
    }

    /// Per state the place in `runs` of the nearest state with a run, on the way to the root.
    fn nearest(&self, runs: &[((u32, u32, u32), Run)]) -> Vec<u32> {
        let automaton = &self.member.automaton;
        let mut nearest = vec![NONE; automaton.len()];
        for (place, (key, _)) in runs.iter().enumerate() {
            nearest[key.2 as usize] = place as u32;
        }
        let mut by_length: Vec<u32> = (1..automaton.len() as u32).collect();
        by_length.sort_unstable_by_key(|&s| automaton.length(s));
        for state in by_length {
            if nearest[state as usize] == NONE {
                nearest[state as usize] = nearest[automaton.link(state) as usize];
            }
        }
        nearest
    }

    /// Unexplained tokens and their weight before each token.
    fn novel_sums(&self) -> (Vec<u32>, Vec<u64>) {
        let decided = &self.member.decided;
        let (mut counts, mut weights) = (vec![0], vec![0]);
        let (mut count, mut weight) = (0, 0);
        for (explained, &w) in decided.explained.iter().zip(&decided.tokens.weight) {
            if !explained {
                count += 1;
                weight += u64::from(w);
            }
            counts.push(count);
            weights.push(weight);
        }
        (counts, weights)
    }

    /// A row without what depends on unexplained windows.
    fn row(&self, run: &Run, from: usize, to: usize, span_hmac: [u8; 16]) -> Row {
        let facts = &self.member.facts;
        let tokens = &self.member.decided.tokens;
        let place = &run.place;
        let source = &self.subjects[place.exchange as usize];
        let cut = |at: usize| is_cut(tokens, at as u32);
        Row {
            exchange: facts.exchange,
            source_exchange: place.exchange,
            tenant: facts.tenant,
            source_tenant: self.tenant,
            field: facts.field,
            source_field: place.field,
            response_start: tokens.start[from],
            response_end: tokens.end[to - 1],
            source_start: place.bytes.0,
            source_end: place.bytes.1,
            tokens: run.length,
            novel_tokens: 0,
            novel_weight: 0,
            carriers: 1,
            source_carries: false,
            lag_ms: facts.t0.saturating_sub(place.t_start).div_euclid(1000),
            order: self.settings.order(source, facts.t0, facts.t1),
            at_cut: place.at_cut || cut(from) || cut(to),
            span_hmac,
        }
    }
}
