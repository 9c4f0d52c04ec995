//! The answers by the terms of their signatures: which of them a text may explain, and how well.

use super::gain::{Counts, Gains, length_class};
use super::signature::Signature;
use super::terms::TermSet;
use super::types::{AttributionSettings, Facts, LONGEST};
use crate::text::language::Writing;
use hashbrown::HashMap;
use std::cmp::Reverse;

/// Times in which an answer has no source, between it and what is put before it instead.
const GAP: i64 = 60_000_000;

/// How many times its lead the answer of a candidate may add to the score of its prompt.
const REPLY: i64 = 3;

/// Where the exchanges lie that cannot be the source of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NullSide {
    /// In the look-back that begins when the answer has ended.
    After,
    /// In the look-back before the look-back.
    Before,
}

/// One judged answer in the index.
pub(super) struct Answer {
    pub signature: Signature,
    pub facts: Facts,
    pub null_side: NullSide,
    /// Score of the prompt in its own record.
    pub own: Option<i64>,
}

/// The relation of an exchange to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// Of the same call.
    Own,
    /// It may be the source.
    Candidate,
    /// It cannot be, and stands for chance.
    Null,
    /// Nothing.
    None,
}

/// How an exchange stands to an answer.
pub(super) fn relation(
    answer: &Facts,
    side: NullSide,
    source: &Facts,
    settings: &AttributionSettings,
) -> Relation {
    if source.call == answer.call {
        return Relation::Own;
    }
    if source.tenant == answer.tenant || !source.same_model(answer) {
        return Relation::None;
    }
    let from = answer.t0.saturating_sub(settings.look_back);
    let to = answer.t1.saturating_add(settings.clock_tolerance);
    if (from..=to).contains(&source.t0) {
        return Relation::Candidate;
    }
    let (from, to) = null_range(answer, side, settings);
    if (from..=to).contains(&source.t0) {
        Relation::Null
    } else {
        Relation::None
    }
}

/// First and last start of the exchanges that stand for chance.
pub(super) fn null_range(
    answer: &Facts,
    side: NullSide,
    settings: &AttributionSettings,
) -> (i64, i64) {
    let back = settings.look_back;
    match side {
        NullSide::After => {
            let from = answer
                .t1
                .saturating_add(settings.clock_tolerance)
                .saturating_add(GAP);
            (from, from.saturating_add(back))
        }
        NullSide::Before => {
            let to = answer.t0.saturating_sub(back).saturating_sub(GAP);
            (to.saturating_sub(back), to)
        }
    }
}

/// The best exchange of one tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Best {
    pub score: i64,
    /// On the same node.
    pub node: bool,
    pub id_rank: Reverse<u32>,
    pub exchange: u32,
    pub tenant: u32,
}

/// The best exchanges of the two best tenants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Top {
    pub first: Option<Best>,
    pub second: Option<Best>,
}

impl Top {
    /// Takes another exchange. The order in which they come does not matter.
    pub fn add(&mut self, new: Best) {
        let same = |slot: Option<Best>| slot.is_some_and(|b| b.tenant == new.tenant);
        if same(self.first) {
            self.first = self.first.max(Some(new));
        } else if self.first < Some(new) {
            self.second = self.first;
            self.first = Some(new);
        } else if self.second < Some(new) {
            self.second = Some(new);
        }
    }
}

/// What was found for one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Candidates.
    pub real: Top,
    /// Exchanges that cannot be the source.
    pub null: Top,
    /// Best prompt in another record of the call.
    pub own: Option<i64>,
    /// A prompt in another record of the call is cut.
    pub own_cut: bool,
    /// Candidates better than the own prompt.
    pub better: u32,
}

impl Tally {
    /// Best score among what cannot be the source, of a tenant other than that of the best
    /// candidate.
    pub fn chance(&self) -> i64 {
        let candidate = self.real.first.map(|b| b.tenant);
        let other = |b: &Best| Some(b.tenant) != candidate;
        let best = self.null.first.filter(other).or(self.null.second);
        best.map_or(0, |b| b.score)
    }

    /// Takes what another thread found for the same answer.
    pub fn add(&mut self, other: &Tally) {
        for (top, more) in [(&mut self.real, other.real), (&mut self.null, other.null)] {
            more.first
                .into_iter()
                .chain(more.second)
                .for_each(|b| top.add(b));
        }
        self.own = self.own.max(other.own);
        self.own_cut |= other.own_cut;
        self.better += other.better;
    }
}

/// The index of one batch of answers.
pub(super) struct Index {
    pub answers: Vec<Answer>,
    /// First place of a term in `postings`, and the one behind its last.
    places: HashMap<u64, (u32, u32)>,
    /// Answers of each term, by time.
    postings: Vec<u32>,
}

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct Probe {
    scores: HashMap<u32, i64>,
    replies: HashMap<u32, i64>,
    new: Vec<u64>,
}

/// How texts are scored.
pub(super) struct Measure<'a> {
    pub counts: &'a Counts,
    pub crowd: u32,
    pub gains: &'a Gains,
    pub settings: &'a AttributionSettings,
}

/// An exchange whose texts are held against the answers.
pub(super) struct Source<'a> {
    pub exchange: u32,
    pub id_rank: u32,
    pub facts: &'a Facts,
    pub prompt: Option<(&'a TermSet, Writing)>,
    /// The prompt is cut.
    pub cut: bool,
    pub answer: Option<&'a TermSet>,
}

impl Index {
    /// An index of answers in the order of time.
    pub fn new(answers: Vec<Answer>) -> Index {
        let mut entries: Vec<(u64, u32)> = Vec::new();
        for (number, answer) in answers.iter().enumerate() {
            let terms = answer.signature.terms.iter();
            entries.extend(terms.map(|&(term, _)| (term, number as u32)));
        }
        entries.sort_unstable();
        let mut places = HashMap::new();
        let mut from = 0;
        for run in entries.chunk_by(|a, b| a.0 == b.0) {
            places.insert(run[0].0, (from, from + run.len() as u32));
            from += run.len() as u32;
        }
        Index {
            answers,
            places,
            postings: entries.into_iter().map(|(_, number)| number).collect(),
        }
    }

    /// Holds an exchange against all answers it may have to do with. One without prompt explains
    /// nothing.
    pub fn probe(
        &self,
        source: &Source<'_>,
        measure: &Measure<'_>,
        probe: &mut Probe,
        out: &mut HashMap<u32, Tally>,
    ) {
        let Some((prompt, asked)) = source.prompt else {
            return;
        };
        let range = self.range(source.facts.t0, measure.settings);
        let Probe {
            scores,
            replies,
            new,
        } = probe;
        let base = self.score(&prompt.terms, range, measure, scores);
        replies.clear();
        let mut reply_base = 0;
        if let (Some(answer), false) = (source.answer, scores.is_empty()) {
            new.clear();
            new.extend(answer.terms.iter().filter(|t| !prompt.contains(**t)));
            reply_base = self.score(new, range, measure, replies);
        }
        for (number, &found) in scores.iter() {
            let answer = &self.answers[*number as usize];
            let writing = answer.signature.writing;
            let mut score = base + found + measure.gains.writing(asked, writing);
            let settings = measure.settings;
            let relation = relation(&answer.facts, answer.null_side, source.facts, settings);
            if relation == Relation::Own {
                if answer.signature.exchange != source.exchange {
                    let tally = out.entry(*number).or_default();
                    tally.own = tally.own.max(Some(score));
                    tally.own_cut |= source.cut;
                }
                continue;
            }
            // What the candidate itself was answered confirms a better prompt, up to a multiple of
            // how much better it is. Alone it says nothing: two tenants get like answers to like
            // questions.
            let lead = score - answer.own.unwrap_or(0).max(0);
            if let (1.., Some(reply)) = (lead, replies.get(number)) {
                score += (reply + reply_base).clamp(0, lead).saturating_mul(REPLY);
            }
            if score <= 0 || relation == Relation::None {
                continue;
            }
            let tally = out.entry(*number).or_default();
            let best = Best {
                score,
                node: answer.facts.same_node(source.facts) == Some(true),
                id_rank: Reverse(source.id_rank),
                exchange: source.exchange,
                tenant: source.facts.tenant,
            };
            if relation == Relation::Candidate {
                tally.real.add(best);
                tally.better += u32::from(answer.own.is_some_and(|own| score > own));
            } else {
                tally.null.add(best);
            }
        }
    }

    /// The answers that an exchange of a start may have to do with.
    fn range(&self, start: i64, settings: &AttributionSettings) -> (u32, u32) {
        let back = settings.look_back;
        let reach = settings
            .clock_tolerance
            .saturating_add(GAP)
            .saturating_add(2 * LONGEST);
        let first = start.saturating_sub(back).saturating_sub(reach);
        let last = start
            .saturating_add(back.saturating_mul(2))
            .saturating_add(reach);
        let at = |t: i64| self.answers.partition_point(|a| a.facts.t0 < t) as u32;
        (at(first), at(last.saturating_add(1)))
    }

    /// Scores a text for each answer of a range that shares a term with it; gives back what is to
    /// be added to each: the score of sharing none.
    fn score(
        &self,
        terms: &[u64],
        (first, last): (u32, u32),
        measure: &Measure<'_>,
        scores: &mut HashMap<u32, i64>,
    ) -> i64 {
        scores.clear();
        let length = length_class(terms.len());
        for term in terms {
            let Some(&(from, to)) = self.places.get(term) else {
                continue;
            };
            let held = measure.counts.in_answers(*term);
            let postings = &self.postings[from as usize..to as usize];
            let skip = postings.partition_point(|&n| n < first);
            for &number in postings[skip..].iter().take_while(|&&n| n < last) {
                let writing = self.answers[number as usize].signature.writing;
                let gain = measure.gains.of(length, held, writing);
                *scores.entry(number).or_default() += i64::from(gain);
            }
        }
        let rarities = measure.counts.rarities(terms, measure.crowd);
        measure.gains.nothing(length, &rarities)
    }
}
