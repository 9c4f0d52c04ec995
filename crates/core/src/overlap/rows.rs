//! Makes rows of the runs that a source tenant shares with a judged text.

use super::matching::{Member, Run, RunKey};
use super::types::{Row, Settings, Subject, novel_ranges};
use super::windows::{NONE, Window};
use crate::text::Tokens;
use hashbrown::HashMap;
use std::collections::VecDeque;

/// Whether text is missing at a barrier before a token.
pub(super) fn is_cut(tokens: &Tokens, at: u32) -> bool {
    tokens
        .barriers
        .binary_search_by_key(&at, |b| b.at)
        .is_ok_and(|found| tokens.barriers[found].cut)
}

/// Makes the rows of one judged text.
pub(super) struct RowMaker<'a> {
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
    pub(super) fn new(
        member: &'a Member,
        subjects: &'a [Subject],
        settings: &'a Settings,
    ) -> RowMaker<'a> {
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
    pub(super) fn make(&self, tenant: u32, runs: &[(RunKey, Run)], rows: &mut Vec<Row>) {
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
            row.novel = novel_ranges(tokens, &self.member.decided.explained, from, to);
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
            novel: Box::default(),
            carriers: 1,
            source_carries: false,
            lag_ms: facts.t0.saturating_sub(place.t_start).div_euclid(1000),
            order: self.settings.order(source, facts.t0, facts.t1),
            at_cut: place.at_cut || cut(from) || cut(to),
            span_hmac,
        }
    }
}
