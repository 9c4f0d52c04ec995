//! Surprise: how improbable the text that an answer shares with a stranger is under the traffic
//! itself, and how much of it the receiver's own question accounts for.
//!
//! [`TokenCount`] counts a fair sample of the texts in one pass; [`Surprise`] then weighs spans in
//! two narrow ones. Everything is integers: equal on every machine.

mod log2;
mod stats;
#[cfg(test)]
pub(crate) mod tests;
mod units;

pub use log2::log2_millibits;
pub use stats::{LeaveOut, StatsLimits, TokenCount, TokenStats};
pub(crate) use units::{for_each_unit, longer};

use crate::operator::{TextOperator, TextView};
use crate::overlap::{Field, Row, Subject};
use crate::text::Tokens;
use hashbrown::{HashMap, HashSet};
use std::sync::Arc;

/// Most tokens of a span that are weighed; its surprise is then a lower bound.
const MOST_TOKENS: usize = 4_096;
/// Rarest terms of a prompt that speak for it.
const TERMS: usize = 128;
/// Spans of the same passage that are looked for, to either side.
const NEIGHBOURS: usize = 64;

/// A span to weigh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The judged exchange.
    pub exchange: u32,
    /// Its field.
    pub field: Field,
    /// Byte ranges of the tokens to weigh, ascending.
    pub novel: Box<[(u32, u32)]>,
    /// About how many tokens these are.
    pub tokens: u32,
    /// The source.
    pub source_exchange: u32,
    /// Field of the source.
    pub source_field: Field,
    /// Bytes in the source.
    pub source: (u32, u32),
}

impl From<&Row> for Span {
    fn from(row: &Row) -> Span {
        Span {
            exchange: row.exchange,
            field: row.field,
            novel: row.novel.clone(),
            tokens: row.novel_tokens,
            source_exchange: row.source_exchange,
            source_field: row.source_field,
            source: (row.source_start, row.source_end),
        }
    }
}

impl Span {
    /// A pair of exchanges of which only the similarity of the prompts is asked.
    pub fn of_pair(exchange: u32, source_exchange: u32) -> Span {
        Span {
            exchange,
            field: Field::Response,
            novel: Box::default(),
            tokens: 0,
            source_exchange,
            source_field: Field::Prompt,
            source: (0, 0),
        }
    }
}

/// How surprising a span is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanScore {
    /// Improbability of its tokens under the traffic without the parties to the span, in millibits.
    pub surprise_millibits: u64,
    /// Share of that which falls on words of the receiver's own prompt, in thousandths.
    pub own_fit_permille: u32,
    /// How much of the rarest words the prompts of both exchanges share, in thousandths of what the
    /// poorer of the two has; `None` if one of them has no words.
    pub prompt_similarity_permille: Option<u32>,
    /// Tokens weighed.
    pub tokens: u32,
}

/// What scanning finds.
#[derive(Default)]
pub struct Partial {
    /// Span and its tokens: unit and millibits.
    weighed: Vec<(u32, Vec<(u64, u32)>)>,
    /// Exchange and the rarest terms of its prompt.
    terms: Vec<(u32, Vec<(u64, u32)>)>,
    /// Call and the place of a unit in its list.
    own: Vec<(u32, u32)>,
}

enum Step {
    Weigh,
    Fit,
    Done,
}

/// Weighs spans.
pub struct Surprise {
    stats: Arc<TokenStats>,
    calls: Vec<u32>,
    spans: Vec<Span>,
    leave: Vec<LeaveOut>,
    scores: Vec<SpanScore>,
    memory: usize,
    step: Step,
    /// Spans of this round.
    round: std::ops::Range<usize>,
    of_exchange: HashMap<u32, Vec<u32>>,
    parties: HashSet<u32>,
    weighed: HashMap<u32, Vec<(u64, u32)>>,
    terms: HashMap<u32, Vec<(u64, u32)>>,
    /// Per call the units of its spans, ascending, and whether its own prompt holds them.
    units: HashMap<u32, Vec<(u64, bool)>>,
}

impl Surprise {
    /// Weighs spans under counts of the same exchanges. `memory_bytes` bounds what is kept of the
    /// spans of one round; more spans take more rounds of two passes.
    pub fn new(
        subjects: &[Subject],
        spans: Vec<Span>,
        stats: Arc<TokenStats>,
        memory_bytes: usize,
    ) -> Surprise {
        let leave = parties(subjects, &spans, &stats);
        let mut out = Surprise {
            stats,
            calls: subjects.iter().map(|s| s.call).collect(),
            scores: vec![SpanScore::default(); spans.len()],
            spans,
            leave,
            memory: memory_bytes,
            step: Step::Weigh,
            round: 0..0,
            of_exchange: HashMap::new(),
            parties: HashSet::new(),
            weighed: HashMap::new(),
            terms: HashMap::new(),
            units: HashMap::new(),
        };
        out.open_round();
        out
    }

    /// One score a span, in their order.
    pub fn finish(self) -> Vec<SpanScore> {
        self.scores
    }

    fn open_round(&mut self) {
        let from = self.round.end;
        let mut to = from;
        let mut used = 0;
        for span in &self.spans[from..] {
            used += (span.tokens as usize).min(MOST_TOKENS) * 40 + TERMS * 32;
            if to > from && used > self.memory {
                break;
            }
            to += 1;
        }
        self.round = from..to;
        self.of_exchange.clear();
        self.parties.clear();
        self.weighed.clear();
        self.terms.clear();
        self.units.clear();
        for at in from..to {
            let span = &self.spans[at];
            let of = self.of_exchange.entry(span.exchange).or_default();
            of.push(at as u32);
            self.parties.insert(span.exchange);
            self.parties.insert(span.source_exchange);
            self.units
                .entry(self.calls[span.exchange as usize])
                .or_default();
        }
        self.step = if from == to { Step::Done } else { Step::Weigh };
    }

    fn weigh(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        for &at in self.of_exchange.get(&exchange).into_iter().flatten() {
            let span = &self.spans[at as usize];
            let Some(tokens) = texts.tokens(span.field) else {
                continue;
            };
            let mut weighed = Vec::new();
            let mut pairs = HashSet::new();
            for &(from, to) in &span.novel {
                let first = tokens.start.partition_point(|&s| s < from);
                for token in first..tokens.len() {
                    if tokens.end[token] > to || weighed.len() == MOST_TOKENS {
                        break;
                    }
                    let unit = units::unit_at(tokens, token);
                    let leave = &self.leave[at as usize];
                    let mut bits = self.stats.millibits(tokens, token, leave);
                    let before = token.checked_sub(1).map(|b| tokens.hash[b]);
                    if !pairs.insert((before, tokens.hash[token])) {
                        // A pair of tokens that the span has had is no surprise.
                        bits = bits.min(stats::FORESEEN);
                    }
                    weighed.push((unit, bits));
                }
            }
            out.weighed.push((at, weighed));
        }
        if self.parties.contains(&exchange)
            && let Some(tokens) = texts.tokens(Field::Prompt)
        {
            out.terms.push((exchange, rarest(&self.stats, tokens)));
        }
    }

    fn fit(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        let call = self.calls[exchange as usize];
        let (Some(units), Some(tokens)) = (self.units.get(&call), texts.tokens(Field::Prompt))
        else {
            return;
        };
        let mut seen = vec![false; units.len()];
        for_each_unit(tokens, |_, unit| {
            if let Ok(at) = units.binary_search_by_key(&unit, |u| u.0) {
                seen[at] = true;
            }
        });
        let places = seen.iter().enumerate().filter(|(_, s)| **s);
        out.own.extend(places.map(|(at, _)| (call, at as u32)));
    }

    /// Sums up a round whose units are looked up.
    fn score(&mut self) {
        for at in self.round.clone() {
            let span = &self.spans[at];
            let units = &self.units[&self.calls[span.exchange as usize]];
            let weighed = self.weighed.remove(&(at as u32)).unwrap_or_default();
            let (mut sum, mut own) = (0u64, 0u64);
            for (unit, bits) in &weighed {
                sum += u64::from(*bits);
                let place = units.binary_search_by_key(unit, |u| u.0);
                if place.is_ok_and(|p| units[p].1) {
                    own += u64::from(*bits);
                }
            }
            self.scores[at] = SpanScore {
                surprise_millibits: sum,
                own_fit_permille: (own * 1000).checked_div(sum).unwrap_or(0) as u32,
                prompt_similarity_permille: self
                    .terms
                    .get(&span.exchange)
                    .zip(self.terms.get(&span.source_exchange))
                    .and_then(|(a, b)| similarity(a, b)),
                tokens: weighed.len() as u32,
            };
        }
    }
}

/// The rarest terms of a prompt with their weights, ascending by term.
pub(crate) fn rarest(stats: &TokenStats, tokens: &Tokens) -> Vec<(u64, u32)> {
    let mut units = Vec::new();
    for_each_unit(tokens, |_, unit| units.push(unit));
    units.sort_unstable();
    units.dedup();
    let none = LeaveOut::default();
    let mut terms: Vec<(u64, u32)> = units
        .into_iter()
        .map(|unit| (unit, stats.rarity(unit, &none)))
        .collect();
    if terms.len() > TERMS {
        terms.select_nth_unstable_by_key(TERMS, |&(unit, bits)| (u32::MAX - bits, unit));
        terms.truncate(TERMS);
    }
    terms.sort_unstable();
    terms
}

/// Shared weight of two lists of terms, in thousandths of the lighter one.
pub(crate) fn similarity(a: &[(u64, u32)], b: &[(u64, u32)]) -> Option<u32> {
    let weight = |terms: &[(u64, u32)]| terms.iter().map(|t| u64::from(t.1)).sum::<u64>();
    let shared: u64 = a
        .iter()
        .filter(|t| b.binary_search_by_key(&t.0, |u| u.0).is_ok())
        .map(|t| u64::from(t.1))
        .sum();
    let permille = (shared * 1000).checked_div(weight(a).min(weight(b)))?;
    Some(permille as u32)
}

/// Per span the calls and tenants between which its passage went round: its own two, and those of
/// spans with about the same passage of the same source.
fn parties(subjects: &[Subject], spans: &[Span], stats: &TokenStats) -> Vec<LeaveOut> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    let source = |s: &Span| (s.source_exchange, s.source_field, s.source, s.exchange);
    order.sort_unstable_by_key(|&at| (source(&spans[at]), at));
    let mut out = vec![LeaveOut::default(); spans.len()];
    for (place, &at) in order.iter().enumerate() {
        let span = &spans[at];
        let near = place.saturating_sub(NEIGHBOURS)..(place + NEIGHBOURS + 1).min(order.len());
        let mut exchanges = vec![span.source_exchange, span.exchange];
        exchanges.extend(order[near].iter().filter_map(|&other| {
            let other = &spans[other];
            let shared = span
                .source
                .1
                .min(other.source.1)
                .saturating_sub(span.source.0.max(other.source.0));
            let same = (other.source_exchange, other.source_field)
                == (span.source_exchange, span.source_field);
            (same && shared >= (span.source.1 - span.source.0) / 2).then_some(other.exchange)
        }));
        let mut calls: Vec<u32> = exchanges
            .iter()
            .map(|&x| subjects[x as usize].call)
            .collect();
        calls.sort_unstable();
        calls.dedup();
        let tenants = exchanges
            .iter()
            .filter_map(|&x| subjects[x as usize].tenant);
        out[at] = stats.leave_out(calls, tenants);
    }
    out
}

impl TextOperator for Surprise {
    type Partial = Partial;

    fn next_pass(&self) -> Option<&'static str> {
        match self.step {
            Step::Weigh => Some("weigh"),
            Step::Fit => Some("fit"),
            Step::Done => None,
        }
    }

    fn wants(&self, exchange: u32) -> bool {
        match self.step {
            Step::Weigh => self.parties.contains(&exchange),
            Step::Fit => self.units.contains_key(&self.calls[exchange as usize]),
            Step::Done => false,
        }
    }

    fn scan(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        match self.step {
            Step::Weigh => self.weigh(exchange, texts, out),
            Step::Fit => self.fit(exchange, texts, out),
            Step::Done => {}
        }
    }

    fn absorb(&mut self, partial: Partial) {
        self.weighed.extend(partial.weighed);
        self.terms.extend(partial.terms);
        for (call, place) in partial.own {
            if let Some(units) = self.units.get_mut(&call) {
                units[place as usize].1 = true;
            }
        }
    }

    fn end_pass(&mut self) {
        match self.step {
            Step::Weigh => {
                for at in self.round.clone() {
                    let call = self.calls[self.spans[at].exchange as usize];
                    let weighed = self.weighed.get(&(at as u32)).into_iter().flatten();
                    let units = self.units.entry(call).or_default();
                    units.extend(weighed.map(|w| (w.0, false)));
                }
                for at in self.round.clone() {
                    let call = self.calls[self.spans[at].exchange as usize];
                    if let Some(units) = self.units.get_mut(&call)
                        && !units.is_sorted()
                    {
                        units.sort_unstable();
                        units.dedup();
                    }
                }
                self.step = Step::Fit;
            }
            Step::Fit => {
                self.score();
                self.open_round();
            }
            Step::Done => {}
        }
    }
}
