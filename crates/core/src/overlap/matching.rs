//! Measures the shared runs of the texts that remain, and makes rows of them.

use super::anchors::Judged;
use super::automaton::{Automaton, ROOT};
use super::collect::Decided;
use super::types::{Field, Fields, Row, Settings, Subject};
use super::windows::{NONE, Window, WindowIndex, for_each};
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
        let mut found: HashMap<u32, (u32, u32, bool)> = HashMap::new();
        for stretch in group {
            let segment = tokens.barriers.partition_point(|b| b.at <= stretch.from);
            // The last half-word of a run may lie behind its last window.
            let to = (stretch.to + 2).min(tokens.barriers[segment].at);
            let id = |token: u32| {
                if token < to {
                    automaton.find(&member.decided.tokens, tokens, token as usize)
                } else {
                    NONE
                }
            };
            let (mut at, mut next) = ((ROOT, 0), id(stretch.from));
            for token in stretch.from..to {
                at = automaton.step(at, next);
                next = id(token + 1);
                let (mut state, mut length) = at;
                // Shorter suffixes stand here too. Those of a state that was reached before have
                // an earlier place. What always goes on with the same token in the judged text,
                // and does so here, lies inside a longer run.
                while length >= self.least {
                    let run = found.entry(state).or_insert((0, 0, false));
                    if run.0 >= length {
                        break;
                    }
                    let inside = next != NONE && automaton.always_followed_by(state, next);
                    *run = (length, token + 1, !inside);
                    state = automaton.link(state);
                    length = automaton.length(state);
                }
            }
        }
        let mut found: Vec<_> = found.into_iter().filter(|(_, run)| run.2).collect();
        found.sort_unstable();
        for (state, (length, to, _)) in found {
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
        for of_member in runs.chunk_by(|a, b| a.0.0 == b.0.0) {
            let maker = RowMaker::new(&self.members[of_member[0].0.0 as usize], subjects, settings);
            for of_tenant in of_member.chunk_by(|a, b| a.0.1 == b.0.1) {
                maker.make(of_tenant[0].0.1, of_tenant, rows);
            }
        }
    }
}

fn is_cut(tokens: &Tokens, at: u32) -> bool {
    tokens
        .barriers
        .binary_search_by_key(&at, |b| b.at)
        .is_ok_and(|found| tokens.barriers[found].cut)
}

/// Makes the rows of one judged text.
struct RowMaker<'a> {
    member: &'a Member,
    subjects: &'a [Subject],
    settings: &'a Settings,
    /// Unexplained tokens before each token, and their weight.
    counts: Vec<u32>,
    weights: Vec<u64>,
}

/// Windows inside a moving interval whose both ends only grow.
struct Inside<'a> {
    novel: &'a [(Window, Box<[u32]>)],
    tenant: u32,
    next: usize,
    /// Least carriers: places in `novel` with counts that grow to the back.
    least: VecDeque<usize>,
    /// Places of windows that the source tenant does not carry.
    foreign: VecDeque<usize>,
}

impl Inside<'_> {
    /// Carriers and `source_carries` of an interval.
    fn of(&mut self, from: u32, to: u32) -> (u32, bool) {
        let novel = self.novel;
        while let Some((window, carriers)) = novel.get(self.next).filter(|n| n.0.to <= to) {
            while self
                .least
                .back()
                .is_some_and(|&b| novel[b].1.len() >= carriers.len())
            {
                self.least.pop_back();
            }
            self.least.push_back(self.next);
            if carriers.binary_search(&self.tenant).is_err() {
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

impl<'a> RowMaker<'a> {
    fn new(member: &'a Member, subjects: &'a [Subject], settings: &'a Settings) -> RowMaker<'a> {
        let decided = &member.decided;
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
        RowMaker {
            member,
            subjects,
            settings,
            counts,
            weights,
        }
    }

    /// Adds the rows of one source tenant.
    fn make(&self, tenant: u32, runs: &[(RunKey, Run)], rows: &mut Vec<Row>) {
        let mut inside = Inside {
            novel: &self.member.decided.novel,
            tenant,
            next: 0,
            least: VecDeque::new(),
            foreign: VecDeque::new(),
        };
        // Equal runs have equal hashes: a run is named by its place in the list.
        let mut hashes: HashMap<usize, [u8; 16]> = HashMap::new();
        for (place, from, to) in self.intervals(runs) {
            let weight = self.weights[to] - self.weights[from];
            if weight < u64::from(self.settings.store_weight) {
                continue;
            }
            let tokens = &self.member.decided.tokens;
            let span_hmac = *hashes
                .entry(place)
                .or_insert_with(|| self.settings.span_hmac(tokens, from, to));
            let mut row = self.row(tenant, &runs[place].1, from, to, span_hmac);
            row.novel_tokens = self.counts[to] - self.counts[from];
            row.novel_weight = weight as u32;
            (row.carriers, row.source_carries) = inside.of(from as u32, to as u32);
            rows.push(row);
        }
    }

    /// The intervals of the judged text that lie inside no other one, ascending, with their runs.
    fn intervals(&self, runs: &[(RunKey, Run)]) -> Vec<(usize, usize, usize)> {
        let nearest = self.nearest(runs);
        let mut out = Vec::new();
        // Length of what ends at a token and lies inside an interval that ends later.
        let mut covered = 0;
        for (token, &state) in self.member.automaton.ends().iter().enumerate().rev() {
            let place = nearest[state as usize];
            if let Some((_, run)) = runs.get(place as usize)
                && run.length > covered
            {
                let to = token + 1;
                out.push((place as usize, to - run.length as usize, to));
                covered = run.length;
            }
            covered = covered.saturating_sub(1);
        }
        out.reverse();
        out
    }

    /// Per state the place in `runs` of the nearest state with a run, on the way to the root.
    fn nearest(&self, runs: &[(RunKey, Run)]) -> Vec<u32> {
        let automaton = &self.member.automaton;
        let mut nearest = vec![NONE; automaton.len()];
        for (place, (key, _)) in runs.iter().enumerate() {
            nearest[key.2 as usize] = place as u32;
        }
        for &state in automaton.by_length() {
            if nearest[state as usize] == NONE {
                nearest[state as usize] = nearest[automaton.link(state) as usize];
            }
        }
        nearest
    }

    /// A row without what depends on unexplained windows.
    fn row(&self, tenant: u32, run: &Run, from: usize, to: usize, span_hmac: [u8; 16]) -> Row {
        let facts = &self.member.facts;
        let tokens = &self.member.decided.tokens;
        let place = &run.place;
        let source = &self.subjects[place.exchange as usize];
        let cut = |at: usize| is_cut(tokens, at as u32);
        Row {
            exchange: facts.exchange,
            source_exchange: place.exchange,
            tenant: facts.tenant,
            source_tenant: tenant,
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
