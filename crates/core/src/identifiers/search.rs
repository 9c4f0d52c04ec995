//! The search for identifiers as a sequence of passes over the logs.

use super::carriers::{Context, Event, Events};
use super::extract::{Candidate, extract};
use super::lookup::{BYTES_EACH, Hit, Lookup, Value, values_of};
use super::pattern::Patterns;
use super::types::{Found, Judged, Outcome, Row, Stats};
use super::value;
use crate::exchange::{Role, TimeMicros};
use crate::operator::{TextOperator, TextView};
use crate::overlap::{Field, Limits, Settings, Subject, existed};
use std::ops::Range;
use std::sync::Arc;

/// Values that answered more calls than this are nobody's.
const COMMON_CALLS: usize = 4096;

/// A search in progress.
///
/// The first pass reads the judged answers, the next ones all texts: one, or as many as the memory
/// allowed makes of it. The result does not depend on that.
pub struct Identifiers {
    subjects: Arc<[Subject]>,
    settings: Settings,
    limits: Limits,
    patterns: &'static Patterns,
    stage: Stage,
    found: Vec<Found>,
    /// Only values whose hash begins with so many zero bits are kept; raised when memory ends.
    thinned: u32,
    /// Sorted by value, then time range.
    judged: Vec<Judged>,
    values: Vec<Value>,
    /// Value and call of each judged identifier.
    calls: Vec<(u32, u32)>,
    /// Values of this pass.
    round: Range<usize>,
    lookup: Lookup,
    wanted: Vec<bool>,
    events: Events,
    /// Value and call whose prompts hold it.
    own: Vec<(u32, u32)>,
    rows: Vec<Row>,
    stats: Stats,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Answers,
    Carriers,
    Done,
}

/// What one thread found in some exchanges of a pass, and its buffers.
#[derive(Default)]
pub struct Partial {
    found: Vec<Found>,
    identifiers: u64,
    left_out: u64,
    events: Events,
    own: Vec<(u32, u32)>,
    candidates: Vec<Candidate>,
    value: Vec<u8>,
    hits: Vec<(Hit, Field)>,
}

impl Identifiers {
    /// A search over the exchanges that `subjects` lists; their index is their number. Of the
    /// settings, times, tolerance and key count.
    pub fn new(
        subjects: impl Into<Arc<[Subject]>>,
        settings: Settings,
        limits: Limits,
        patterns: &'static Patterns,
    ) -> Identifiers {
        Identifiers {
            subjects: subjects.into(),
            settings,
            limits,
            patterns,
            stage: Stage::Answers,
            found: Vec::new(),
            thinned: 0,
            judged: Vec::new(),
            values: Vec::new(),
            calls: Vec::new(),
            round: 0..0,
            lookup: Lookup::default(),
            wanted: Vec::new(),
            events: Events::default(),
            own: Vec::new(),
            rows: Vec::new(),
            stats: Stats::default(),
        }
    }

    /// The result, once no pass is left.
    pub fn finish(mut self) -> Outcome {
        let subjects = &self.subjects;
        self.rows.sort_unstable_by(|a, b| {
            let key = |r: &Row| {
                let rank = subjects[r.exchange as usize].id_rank;
                let place = (r.field.as_str(), r.response_start, r.response_end);
                (rank, place, r.pattern, r.value_hmac)
            };
            key(a).cmp(&key(b))
        });
        Outcome {
            rows: self.rows,
            stats: self.stats,
        }
    }

    fn read_answers(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        for field in Field::ANSWERS {
            let Some(text) = texts.fields().get(field).0 else {
                continue;
            };
            let lost = extract(self.patterns, &text.text, &mut out.candidates);
            out.left_out += lost as u64;
            out.identifiers += lost as u64;
            if out.candidates.is_empty() {
                continue;
            }
            let Some(tokens) = texts.tokens(field) else {
                continue;
            };
            for candidate in &out.candidates {
                let Some(range) = value::tokens_of(tokens, candidate) else {
                    continue;
                };
                let (first, last) = (range.start, range.end - 1);
                value::write(tokens, range, &mut out.value);
                let Some(probe) = value::probe(&out.value) else {
                    continue;
                };
                let length = out.value.len();
                out.identifiers += 1;
                out.found.push(Found {
                    exchange,
                    field,
                    pattern: candidate.pattern,
                    start: tokens.start[first],
                    end: tokens.end[last],
                    bits: candidate.bits,
                    tail: [out.value[length - 2], out.value[length - 1]],
                    probe,
                    hmac: value::hmac(&self.settings.span_key, &out.value),
                });
            }
        }
    }

    fn read_all(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        let subject = &self.subjects[exchange as usize];
        let hits = &mut out.hits;
        hits.clear();
        for field in Field::ALL {
            if let Some(tokens) = texts.tokens(field) {
                let texts = (tokens, &self.settings.span_key);
                let values = (&self.values[..], &self.round);
                let mut add = |hit| hits.push((hit, field));
                self.lookup.scan(values, texts, &mut out.value, &mut add);
            }
        }
        // One occurrence of a value in a field says as much as a thousand.
        hits.sort_unstable_by_key(|(hit, field)| (hit.value, *field, hit.start, hit.end));
        hits.dedup_by_key(|(hit, field)| (hit.value, *field));
        for &(hit, field) in hits.iter() {
            let own = self.calls.binary_search(&(hit.value, subject.call)).is_ok();
            if own && field == Field::Prompt {
                out.own.push((hit.value, subject.call));
            }
            if let Some(event) = self.event(exchange, hit, field, own) {
                out.events.push(event);
            }
        }
    }

    /// The occurrence as one that can decide something.
    fn event(&self, exchange: u32, hit: Hit, field: Field, own: bool) -> Option<Event> {
        let subject = &self.subjects[exchange as usize];
        let (tenant, time) = (subject.tenant?, subject.t_start?);
        let value = &self.values[hit.value as usize];
        let judged = &self.judged[value.judged.clone()];
        // A call does not count for itself.
        if own && judged.iter().all(|j| j.call == subject.call) {
            return None;
        }
        let cell = judged.partition_point(|j| j.from <= time).checked_sub(1)?;
        (time <= value.to).then(|| Event {
            value: hit.value,
            cell: cell as u32,
            tenant,
            call: subject.call,
            exchange,
            rank: subject.id_rank,
            time,
            existed: existed(subject, time),
            field,
            start: hit.start,
            end: hit.end,
        })
    }

    /// Keeps fewer values where those found need more than their share of the memory.
    fn make_room(&mut self) {
        let most = (self.limits.memory_bytes / 4 / size_of::<Found>()).max(1);
        while self.found.len() > most && self.thinned < 64 {
            self.thinned += 1;
            let thinned = self.thinned;
            self.found.retain(|f| keeps(thinned, &f.hmac));
            self.found.shrink_to_fit();
        }
    }

    /// Chooses the exchange that stands for each identifier of a call, and numbers the values.
    fn choose(&mut self) {
        let subjects = &self.subjects;
        let mut found = std::mem::take(&mut self.found);
        self.stats.left_out += self.stats.identifiers - found.len() as u64 - self.stats.left_out;
        let group = |f: &Found| {
            let s = &subjects[f.exchange as usize];
            (s.call, s.choice, f.field, f.probe, f.hmac)
        };
        let rank = |f: &Found| {
            let s = &subjects[f.exchange as usize];
            let role = Role::ALL.iter().position(|r| *r == s.role);
            (
                role,
                s.t_start,
                s.id_rank,
                f.start,
                u32::MAX - f.end,
                f.pattern,
            )
        };
        found.sort_unstable_by_key(|f| (group(f), rank(f)));
        found.dedup_by_key(|f| group(f));
        let judged = found.into_iter().filter_map(|found| {
            let s = &subjects[found.exchange as usize];
            let (tenant, t0) = (s.tenant?, s.t_start?);
            let t1 = existed(s, t0);
            let (from, to) = self.settings.range(s, t0, t1);
            let call = s.call;
            Some(Judged {
                found,
                call,
                tenant,
                t0,
                t1,
                from,
                to,
            })
        });
        let mut judged: Vec<Judged> = judged.collect();
        let value = |j: &Judged| (j.found.probe, j.found.hmac);
        judged.sort_unstable_by_key(|j| {
            let s = &subjects[j.found.exchange as usize];
            let place = (s.choice, j.found.field, j.found.start, j.found.end);
            (value(j), j.from, s.id_rank, place)
        });
        for same in values_of(&judged).iter().rev() {
            if same.judged.len() > COMMON_CALLS {
                self.stats.common_values += 1;
                judged.drain(same.judged.clone());
            }
        }
        self.values = values_of(&judged);
        self.stats.values = self.values.len() as u64;
        for (number, value) in self.values.iter().enumerate() {
            let calls = judged[value.judged.clone()].iter().map(|j| j.call);
            self.calls.extend(calls.map(|c| (number as u32, c)));
        }
        self.calls.sort_unstable();
        self.calls.dedup();
        self.judged = judged;
        self.want();
    }

    /// Marks the exchanges that can hold something: those in time, and those of judged calls.
    fn want(&mut self) {
        let from = self.judged.iter().map(|j| j.from).min();
        let to = self.judged.iter().map(|j| j.to).max();
        let (from, to) = (
            from.unwrap_or(TimeMicros::MAX),
            to.unwrap_or(TimeMicros::MIN),
        );
        let mut calls: Vec<u32> = self.judged.iter().map(|j| j.call).collect();
        calls.sort_unstable();
        calls.dedup();
        let wanted = self.subjects.iter().map(|s| {
            let in_time = s.t_start.is_some_and(|t| from <= t && t <= to);
            (in_time && s.tenant.is_some()) || calls.binary_search(&s.call).is_ok()
        });
        self.wanted = wanted.collect();
    }

    fn next_round(&mut self, first: usize) {
        let most = (self.limits.memory_bytes / 4 / BYTES_EACH).max(1);
        let end = self.values.len().min(first.saturating_add(most));
        self.round = first..end;
        self.events = Events::default();
        self.own = Vec::new();
        if self.round.is_empty() {
            self.stage = Stage::Done;
            self.lookup = Lookup::default();
        } else {
            self.stage = Stage::Carriers;
            self.lookup = Lookup::new(&self.values, self.round.clone());
        }
    }

    /// Leaves values to a later pass where their occurrences need too much memory.
    fn shrink_round(&mut self) {
        let most = self.limits.memory_bytes / 4;
        while self.events.bytes() > most {
            let few = self.events.thin_out() * size_of::<Event>() <= most / 2;
            let bound = if few { None } else { self.events.halve() };
            let Some(bound) = bound else {
                return;
            };
            self.round.end = bound as usize;
        }
    }

    fn decide(&mut self) {
        let events = std::mem::take(&mut self.events).finish();
        self.own.sort_unstable();
        self.own.dedup();
        let context = Context {
            subjects: &self.subjects,
            settings: &self.settings,
            patterns: self.patterns,
        };
        for same in events.chunk_by(|a, b| a.value == b.value) {
            let number = same[0].value;
            for judged in &self.judged[self.values[number as usize].judged.clone()] {
                let own = self.own.binary_search(&(number, judged.call)).is_ok();
                self.rows.extend(context.row(judged, same, own));
            }
        }
    }
}

/// Whether a value is among those that thinning keeps.
fn keeps(thinned: u32, hmac: &[u8; 16]) -> bool {
    let mut first = [0; 8];
    first.copy_from_slice(&hmac[..8]);
    u64::from_be_bytes(first).leading_zeros() >= thinned
}

impl TextOperator for Identifiers {
    type Partial = Partial;

    fn next_pass(&self) -> Option<&'static str> {
        match self.stage {
            Stage::Answers => Some("identifiers: answers"),
            Stage::Carriers => Some("identifiers: carriers"),
            Stage::Done => None,
        }
    }

    fn wants(&self, exchange: u32) -> bool {
        let Some(s) = self.subjects.get(exchange as usize) else {
            return false;
        };
        match self.stage {
            Stage::Answers => s.judge && s.tenant.is_some() && s.t_start.is_some(),
            Stage::Carriers => self.wanted[exchange as usize],
            Stage::Done => false,
        }
    }

    fn scan(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        if !self.wants(exchange) {
            return;
        }
        match self.stage {
            Stage::Answers => self.read_answers(exchange, texts, out),
            Stage::Carriers => self.read_all(exchange, texts, out),
            Stage::Done => {}
        }
    }

    fn absorb(&mut self, partial: Partial) {
        self.stats.identifiers += partial.identifiers;
        self.stats.left_out += partial.left_out;
        let thinned = self.thinned;
        let found = partial.found.into_iter();
        self.found.extend(found.filter(|f| keeps(thinned, &f.hmac)));
        self.make_room();
        let end = self.round.end as u32;
        let mut events = partial.events;
        events.keep_below(end);
        self.events.append(events);
        self.own.extend(partial.own);
        self.shrink_round();
    }

    fn end_pass(&mut self) {
        self.stats.passes += 1;
        match self.stage {
            Stage::Answers => {
                self.choose();
                self.next_round(0);
            }
            Stage::Carriers => {
                self.decide();
                self.next_round(self.round.end);
            }
            Stage::Done => {}
        }
    }
}
