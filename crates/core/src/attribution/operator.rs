//! Attribution as a sequence of passes over the logs.

use super::calibrate::Null;
use super::gain::{Counts, Gains, Pairs, length_class};
use super::index::{Answer, Index, Measure, NullSide, Probe, Source, Tally, null_range};
use super::signature::{Signature, crowd};
use super::terms::TermSet;
use super::types::{
    Assessment, AttributionLimits, AttributionSettings, AttributionSubject, Facts, Outcome, Row,
};
use crate::operator::{TextOperator, TextView};
use crate::overlap::{Field, Subject};
use crate::text::language::{Votes, Writing, last_message};
use hashbrown::HashMap;
use std::sync::Arc;

/// Least score of an own prompt that counts. Terms of a long prompt that an answer does not take up
/// depend on each other, so that their sum says less than it seems.
const OWN_FLOOR: i64 = -40_000;

/// Attribution in progress; see [`TextOperator`] for how it is driven.
pub struct Attribution {
    subjects: Arc<[Subject]>,
    facts: Vec<Option<Facts>>,
    settings: AttributionSettings,
    limits: AttributionLimits,
    counts: Counts,
    /// Answers counted, by writing.
    answers: [u64; Writing::COUNT],
    /// Exchanges with a prompt or an answer.
    present: Vec<bool>,
    crowd: u32,
    pairs: Pairs,
    gains: Gains,
    /// Judged exchanges with an answer, by time.
    judged: Vec<u32>,
    /// Those of this batch: `judged[first..last]`.
    batch: (usize, usize),
    in_batch: Vec<bool>,
    starts: Starts,
    stage: Stage,
    results: Vec<Found>,
    passes: u32,
}

enum Stage {
    /// Counts terms.
    Count(Vec<(u32, bool)>),
    /// Takes signatures of a batch; the first time also counts what prompts hand on.
    Sign(Vec<Signature>),
    /// Holds every exchange against the batch.
    Compare(Index, HashMap<u32, Tally>),
    Done,
}

/// What was found for one judged exchange.
struct Found {
    exchange: u32,
    tally: Tally,
    own: Option<i64>,
    incomplete: bool,
    ranked: bool,
    generic: bool,
    null_side: NullSide,
}

/// What one thread found in some exchanges of one pass, with its buffers.
#[derive(Default)]
pub struct Partial {
    prompt: TermSet,
    answer: TermSet,
    answers: Vec<Writing>,
    /// Exchanges with text, and whether with an answer.
    present: Vec<(u32, bool)>,
    signatures: Vec<Signature>,
    pairs: Option<Pairs>,
    probe: Probe,
    tallies: HashMap<u32, Tally>,
}

/// Start times of the exchanges with text: how many lie in a time, of which model and tenant.
#[derive(Default)]
struct Starts {
    /// Ascending (model, start), and (model, tenant, start).
    all: Vec<(Option<u32>, i64)>,
    own: Vec<(Option<u32>, u32, i64)>,
}

impl Starts {
    fn new(facts: &[Option<Facts>], present: &[bool]) -> Starts {
        let mut starts = Starts::default();
        for facts in facts.iter().zip(present).filter(|(_, p)| **p) {
            if let Some(f) = facts.0 {
                starts.all.push((f.model, f.t0));
                starts.own.push((f.model, f.tenant, f.t0));
            }
        }
        starts.all.sort_unstable();
        starts.own.sort_unstable();
        starts
    }

    /// Exchanges of other tenants and comparable model that began in a time.
    fn foreign(&self, of: &Facts, (from, to): (i64, i64)) -> u32 {
        let count = |model: Option<u32>| {
            let all = self.all.partition_point(|s| *s <= (model, to))
                - self.all.partition_point(|s| *s < (model, from));
            let own = self.own.partition_point(|s| *s <= (model, of.tenant, to))
                - self.own.partition_point(|s| *s < (model, of.tenant, from));
            all.saturating_sub(own)
        };
        let count = match of.model {
            Some(_) => count(None) + count(of.model),
            None => {
                // An unknown model compares with all.
                let inside = |t: i64| (from..=to).contains(&t);
                let foreign = |s: &&(Option<u32>, u32, i64)| s.1 != of.tenant && inside(s.2);
                self.own.iter().filter(foreign).count()
            }
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

impl Attribution {
    /// Attribution over the exchanges that `subjects` lists. `places` has as many items; where it
    /// has fewer, node and model are unknown.
    pub fn new(
        subjects: impl Into<Arc<[Subject]>>,
        places: &[AttributionSubject],
        settings: AttributionSettings,
        limits: AttributionLimits,
    ) -> Attribution {
        let subjects = subjects.into();
        let place = |i: usize| places.get(i).copied().unwrap_or_default();
        let facts = subjects.iter().enumerate();
        let facts = facts.map(|(i, s)| Facts::of(s, place(i))).collect();
        Attribution {
            counts: Counts::new(subjects.len()),
            present: vec![false; subjects.len()],
            in_batch: vec![false; subjects.len()],
            facts,
            subjects,
            settings,
            limits,
            answers: [0; Writing::COUNT],
            crowd: 0,
            pairs: Pairs::default(),
            gains: Gains::new(&Pairs::default(), &[0; Writing::COUNT]),
            judged: Vec::new(),
            batch: (0, 0),
            starts: Starts::default(),
            stage: Stage::Count(Vec::new()),
            results: Vec::new(),
            passes: 0,
        }
    }

    /// The result.
    pub fn finish(self) -> Outcome {
        let null = Null::new(self.null_margins());
        let mut results: Vec<&Found> = self.results.iter().collect();
        results.sort_unstable_by_key(|f| self.subjects[f.exchange as usize].id_rank);
        let rows = results
            .into_iter()
            .filter_map(|f| self.row(f, null.as_ref()));
        Outcome {
            rows: rows.collect(),
            calibrated_on: null.as_ref().map_or(0, |n| n.len() as u64),
            passes: self.passes,
        }
    }

    /// Margins of the answers for which enough impossible sources were there. The tenant of the
    /// best candidate is left out: if it is the source, it may well ask again.
    fn null_margins(&self) -> Vec<i64> {
        let margin = |f: &Found| {
            let facts = self.facts[f.exchange as usize].as_ref()?;
            let own = f.own.filter(|_| !f.generic && !f.incomplete)?;
            let range = null_range(facts, f.null_side, &self.settings);
            let enough = 2 * u64::from(self.starts.foreign(facts, range))
                >= u64::from(self.candidates(facts));
            enough.then(|| f.tally.chance() - own.max(OWN_FLOOR))
        };
        self.results.iter().filter_map(margin).collect()
    }

    fn candidates(&self, facts: &Facts) -> u32 {
        let from = facts.t0.saturating_sub(self.settings.look_back);
        let to = facts.t1.saturating_add(self.settings.clock_tolerance);
        self.starts.foreign(facts, (from, to))
    }

    fn row(&self, found: &Found, null: Option<&Null>) -> Option<Row> {
        let facts = self.facts[found.exchange as usize].as_ref()?;
        let candidates = self.candidates(facts);
        let best = found.tally.real.first;
        let best_score = best.map_or(0, |b| b.score);
        let source = best.and_then(|b| self.facts[b.exchange as usize].as_ref());
        let margin = found.own.map(|own| best_score - own.max(OWN_FLOOR));
        let assessment = match (found, null) {
            (Found { generic: true, .. }, _) => Assessment::AnswerTooGeneric,
            (Found { own: None, .. }, _) => Assessment::OwnPromptAbsent,
            (
                Found {
                    incomplete: true, ..
                },
                _,
            ) => Assessment::OwnPromptIncomplete,
            _ if candidates == 0 => Assessment::NoCandidates,
            (_, None) => Assessment::NotCalibrated,
            _ => Assessment::Assessable,
        };
        let assessed = assessment == Assessment::Assessable;
        let p_value = match (margin, null, best) {
            (Some(_), Some(_), None) if assessed => Some(1.0),
            (Some(margin), Some(null), Some(_)) if assessed => Some(null.p_value(margin)),
            _ => None,
        };
        Some(Row {
            exchange: found.exchange,
            own_score: found.own,
            own_rank: found.ranked.then_some(found.tally.better + 1),
            candidates,
            best_exchange: best.map(|b| b.exchange),
            best_score,
            same_node: source.and_then(|s| s.same_node(facts)),
            chance_score: found.tally.chance(),
            margin,
            p_value,
            assessment,
        })
    }

    fn judges(&self, exchange: u32) -> bool {
        self.subjects[exchange as usize].judge && self.facts[exchange as usize].is_some()
    }

    /// Ends counting: judged answers in the order of time, and what follows from their number.
    fn enter_sign(&mut self, present: Vec<(u32, bool)>) {
        for &(exchange, _) in &present {
            self.present[exchange as usize] = true;
        }
        let answered = present.into_iter().filter(|p| p.1).map(|p| p.0);
        self.judged = answered.filter(|&x| self.judges(x)).collect();
        let key = |x: &u32| {
            let start = self.facts[*x as usize].as_ref().map(|f| f.t0);
            (start, self.subjects[*x as usize].id_rank)
        };
        self.judged.sort_unstable_by_key(key);
        self.starts = Starts::new(&self.facts, &self.present);
        let times = || self.facts.iter().flatten().map(|f| f.t0);
        let span = times()
            .max()
            .unwrap_or(0)
            .saturating_sub(times().min().unwrap_or(0));
        self.crowd = crowd(self.answers.iter().sum(), span, self.settings.look_back);
        self.next_batch();
    }

    fn next_batch(&mut self) {
        let first = self.batch.1;
        let size = (self.limits.memory_bytes / Signature::BYTES).max(1);
        let last = first.saturating_add(size).min(self.judged.len());
        self.batch = (first, last);
        self.in_batch.fill(false);
        for &exchange in &self.judged[first..last] {
            self.in_batch[exchange as usize] = true;
        }
        self.stage = if first < last {
            Stage::Sign(Vec::new())
        } else {
            Stage::Done
        };
    }

    fn enter_compare(&mut self, signatures: Vec<Signature>) {
        if self.batch.0 == 0 {
            self.gains = Gains::new(&self.pairs, &self.answers);
        }
        let mut signatures = signatures;
        let key = |s: &Signature| {
            let start = self.facts[s.exchange as usize].as_ref().map(|f| f.t0);
            (start, self.subjects[s.exchange as usize].id_rank)
        };
        signatures.sort_unstable_by_key(key);
        let last = self.facts.iter().flatten().map(|f| f.t0).max().unwrap_or(0);
        let first = self.facts.iter().flatten().map(|f| f.t0).min().unwrap_or(0);
        let answers = signatures.into_iter().filter_map(|signature| {
            let facts = self.facts[signature.exchange as usize]?;
            let fits = |side| {
                let (from, to) = null_range(&facts, side, &self.settings);
                from >= first && to <= last
            };
            let null_side = if !fits(NullSide::After) && fits(NullSide::Before) {
                NullSide::Before
            } else {
                NullSide::After
            };
            Some(Answer {
                own: signature.own_score(&self.gains),
                signature,
                facts,
                null_side,
            })
        });
        self.stage = Stage::Compare(Index::new(answers.collect()), HashMap::new());
    }

    fn leave_compare(&mut self, index: Index, mut tallies: HashMap<u32, Tally>) {
        for (number, answer) in index.answers.into_iter().enumerate() {
            let tally = tallies.remove(&(number as u32)).unwrap_or_default();
            self.results.push(Found {
                exchange: answer.signature.exchange,
                own: answer.own.max(tally.own),
                incomplete: match answer.signature.own {
                    Some(own) => own.incomplete,
                    None => tally.own_cut,
                },
                // Candidates were counted against the prompt of the answer's own record.
                ranked: answer.own.is_some() && answer.own >= tally.own,
                generic: answer.signature.generic,
                null_side: answer.null_side,
                tally,
            });
        }
        self.next_batch();
    }

    /// Collects the terms of the answer fields; their writing, if there are any tokens.
    fn answer_terms(&self, texts: &mut TextView<'_>, set: &mut TermSet) -> Option<Writing> {
        set.start(self.counts.slot_bits);
        let mut votes = Votes::default();
        let mut any = false;
        for field in Field::ANSWERS {
            if let Some(tokens) = texts.tokens(field) {
                set.add(tokens);
                votes.add(tokens, 0, tokens.len());
                any = true;
            }
        }
        any.then(|| votes.writing())
    }

    /// Collects the terms of the prompt; the writing of its last message and whether it is cut,
    /// `None` without prompt.
    fn prompt_terms(&self, texts: &mut TextView<'_>, set: &mut TermSet) -> Option<(Writing, bool)> {
        set.start(self.counts.slot_bits);
        let truncated = texts.fields().prompt_truncated;
        let tokens = texts.tokens(Field::Prompt)?;
        set.add(tokens);
        let writing = last_message(tokens);
        Some((writing, truncated || tokens.barriers.iter().any(|b| b.cut)))
    }

    fn sign(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        let Some(writing) = self.answer_terms(texts, &mut out.answer) else {
            return;
        };
        let prompt = self.prompt_terms(texts, &mut out.prompt);
        if let (0, Some((asked, false))) = (self.batch.0, prompt) {
            let length = length_class(out.prompt.terms.len());
            let pairs = out.pairs.get_or_insert_default();
            pairs.note_writings(asked, writing);
            for &term in &out.prompt.terms {
                let answers = self.counts.in_answers(term);
                if answers <= self.crowd {
                    pairs.note(length, answers, out.answer.contains(term));
                }
            }
        }
        if self.in_batch[exchange as usize] {
            let terms = (out.answer.terms.as_slice(), writing);
            let mut signature = Signature::new(exchange, terms, &self.counts, self.crowd);
            if let Some((asked, cut)) = prompt {
                let rarities = self.counts.rarities(&out.prompt.terms, self.crowd);
                signature.own_prompt(&out.prompt, (asked, cut), rarities);
            }
            out.signatures.push(signature);
        }
    }
}

impl TextOperator for Attribution {
    type Partial = Partial;

    fn next_pass(&self) -> Option<&'static str> {
        match &self.stage {
            Stage::Count(_) => Some("count terms"),
            Stage::Sign(_) => Some("sign answers"),
            Stage::Compare(..) => Some("compare prompts"),
            Stage::Done => None,
        }
    }

    fn wants(&self, exchange: u32) -> bool {
        let at = exchange as usize;
        match &self.stage {
            Stage::Count(_) => at < self.subjects.len(),
            Stage::Sign(_) if self.batch.0 == 0 => self.present.get(at) == Some(&true),
            Stage::Sign(_) => self.in_batch.get(at) == Some(&true),
            Stage::Compare(..) => self.present.get(at) == Some(&true) && self.facts[at].is_some(),
            Stage::Done => false,
        }
    }

    fn scan(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        if !self.wants(exchange) {
            return;
        }
        match &self.stage {
            Stage::Count(_) => {
                let answered = self.answer_terms(texts, &mut out.answer);
                if let Some(writing) = answered {
                    self.counts.answer(&out.answer.terms);
                    out.answers.push(writing);
                }
                let prompted = self.prompt_terms(texts, &mut out.prompt).is_some();
                self.counts.prompt(&out.prompt.terms);
                if answered.is_some() || prompted {
                    out.present.push((exchange, answered.is_some()));
                }
            }
            Stage::Sign(_) => self.sign(exchange, texts, out),
            Stage::Compare(index, _) => {
                let Some(facts) = &self.facts[exchange as usize] else {
                    return;
                };
                let answered = self.answer_terms(texts, &mut out.answer).is_some();
                let prompted = self.prompt_terms(texts, &mut out.prompt);
                let source = Source {
                    exchange,
                    id_rank: self.subjects[exchange as usize].id_rank,
                    facts,
                    prompt: prompted.map(|(asked, _)| (&out.prompt, asked)),
                    cut: prompted.is_some_and(|(_, cut)| cut),
                    answer: answered.then_some(&out.answer),
                };
                let measure = Measure {
                    counts: &self.counts,
                    crowd: self.crowd,
                    gains: &self.gains,
                    settings: &self.settings,
                };
                index.probe(&source, &measure, &mut out.probe, &mut out.tallies);
            }
            Stage::Done => {}
        }
    }

    fn absorb(&mut self, partial: Partial) {
        match &mut self.stage {
            Stage::Count(present) => {
                for writing in partial.answers {
                    self.answers[writing.index()] += 1;
                }
                present.extend(partial.present);
            }
            Stage::Sign(signatures) => {
                signatures.extend(partial.signatures);
                if let Some(pairs) = &partial.pairs {
                    self.pairs.add(pairs);
                }
            }
            Stage::Compare(_, tallies) => {
                let mut found: Vec<_> = partial.tallies.into_iter().collect();
                found.sort_unstable_by_key(|(number, _)| *number);
                for (number, tally) in found {
                    tallies.entry(number).or_default().add(&tally);
                }
            }
            Stage::Done => {}
        }
    }

    fn end_pass(&mut self) {
        self.passes += 1;
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Count(present) => self.enter_sign(present),
            Stage::Sign(signatures) => self.enter_compare(signatures),
            Stage::Compare(index, tallies) => self.leave_compare(index, tallies),
            Stage::Done => {}
        }
    }
}
