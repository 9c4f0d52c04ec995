//! The definition of attribution, word for word and slow: every answer against every exchange.

use super::gain::{Gains, Pairs, RARITIES, length_class};
use super::index::{NullSide, Relation, null_range, relation};
use super::signature::crowd;
use super::terms::TermSet;
use super::types::{AttributionSettings, AttributionSubject, Facts};
use crate::exchange::FieldText;
use crate::overlap::Subject;
use crate::text::language::{Votes, Writing};
use crate::text::{Tokens, tokenize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What the fast search must find for one answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expected {
    pub exchange: u32,
    pub own: Option<i64>,
    pub rank: u32,
    pub best: Option<(u32, i64)>,
    pub chance: i64,
}

/// One text, read the plain way.
struct Text {
    terms: Vec<u64>,
    writing: Writing,
}

fn read(text: &str, bits: u32) -> Option<Text> {
    let mut tokens = Tokens::default();
    tokenize(&FieldText::of(text), &mut tokens);
    if tokens.is_empty() {
        return None;
    }
    let mut set = TermSet::default();
    set.start(bits);
    set.add(&tokens);
    let writing = Votes::of(&tokens, 0, tokens.len()).writing();
    Some(Text {
        terms: set.terms,
        writing,
    })
}

/// A log whose exchanges are each a call of their own, as the definition sees it.
struct Log<'a> {
    subjects: &'a [Subject],
    settings: &'a AttributionSettings,
    bits: u32,
    facts: Vec<Facts>,
    prompts: Vec<Option<Text>>,
    answers: Vec<Option<Text>>,
    in_prompts: BTreeMap<u64, u32>,
    in_answers: BTreeMap<u64, u32>,
    crowd: u32,
    gains: Gains,
}

/// All answers of a log.
pub(super) fn attribute(
    subjects: &[Subject],
    texts: &[(&str, &str)],
    settings: &AttributionSettings,
) -> Vec<Expected> {
    let bits = super::gain::Counts::new(subjects.len()).slot_bits;
    let facts = |s: &Subject| Facts::of(s, AttributionSubject::default()).unwrap();
    let mut log = Log {
        subjects,
        settings,
        bits,
        facts: subjects.iter().map(facts).collect(),
        prompts: texts.iter().map(|t| read(t.0, bits)).collect(),
        answers: texts.iter().map(|t| read(t.1, bits)).collect(),
        in_prompts: BTreeMap::new(),
        in_answers: BTreeMap::new(),
        crowd: 0,
        gains: Gains::new(&Pairs::default(), &[0; Writing::COUNT]),
    };
    log.in_prompts = log.count(&log.prompts);
    log.in_answers = log.count(&log.answers);
    let answered = log.answers.iter().flatten().count() as u64;
    let (first, last) = log.ends();
    log.crowd = crowd(answered, last - first, settings.look_back);
    log.gains = log.learn();
    (0..subjects.len()).filter_map(|x| log.judge(x)).collect()
}

impl Log<'_> {
    fn slot(&self, term: u64) -> u64 {
        term >> (64 - self.bits)
    }

    fn count(&self, texts: &[Option<Text>]) -> BTreeMap<u64, u32> {
        let mut counts = BTreeMap::new();
        for term in texts.iter().flatten().flat_map(|t| &t.terms) {
            *counts.entry(self.slot(*term)).or_default() += 1;
        }
        counts
    }

    fn held(&self, term: u64) -> u32 {
        self.in_answers.get(&self.slot(term)).copied().unwrap_or(0)
    }

    fn has(&self, text: &Text, term: u64) -> bool {
        text.terms.iter().any(|&t| self.slot(t) == self.slot(term))
    }

    fn ends(&self) -> (i64, i64) {
        let times = || self.facts.iter().map(|f| f.t0);
        (times().min().unwrap_or(0), times().max().unwrap_or(0))
    }

    fn learn(&self) -> Gains {
        let mut pairs = Pairs::default();
        let mut writings = [0; Writing::COUNT];
        for (prompt, answer) in self.prompts.iter().zip(&self.answers) {
            let Some(answer) = answer else { continue };
            writings[answer.writing.index()] += 1;
            let Some(prompt) = prompt else { continue };
            pairs.note_writings(prompt.writing, answer.writing);
            let length = length_class(prompt.terms.len());
            for &t in prompt.terms.iter().filter(|&&t| self.held(t) <= self.crowd) {
                pairs.note(length, self.held(t), self.has(answer, t));
            }
        }
        Gains::new(&pairs, &writings)
    }

    /// The score of a text of which an answer has some terms.
    fn score<'t>(&self, text: &[u64], answer: &Text, shared: impl Iterator<Item = &'t u64>) -> i64 {
        let length = length_class(text.len());
        let mut rarities = [0; RARITIES];
        for &t in text
            .iter()
            .filter(|&&t| (1..=self.crowd).contains(&self.held(t)))
        {
            rarities[(32 - self.held(t).leading_zeros()) as usize] += 1;
        }
        let gain = |&t: &u64| i64::from(self.gains.of(length, self.held(t), answer.writing));
        self.gains.nothing(length, &rarities) + shared.map(gain).sum::<i64>()
    }

    fn signature(&self, answer: &Text) -> Vec<u64> {
        let mut signature: Vec<u64> = answer.terms.clone();
        signature.retain(|&t| self.held(t) <= self.crowd);
        signature.sort_by_key(|&t| (self.held(t), t));
        signature.retain(|&t| self.held(t) > 1 || self.in_prompts.contains_key(&self.slot(t)));
        signature.truncate(64);
        signature
    }

    fn null_side(&self, x: usize) -> NullSide {
        let (first, last) = self.ends();
        let fits = |side| {
            let (from, to) = null_range(&self.facts[x], side, self.settings);
            from >= first && to <= last
        };
        match (fits(NullSide::After), fits(NullSide::Before)) {
            (false, true) => NullSide::Before,
            _ => NullSide::After,
        }
    }

    /// How well an exchange explains an answer whose own prompt has a score; `None` without a term
    /// that the prompt shares with it.
    fn explain(&self, y: usize, answer: &Text, own: Option<i64>) -> Option<i64> {
        let prompt = self.prompts[y].as_ref()?;
        let signature = self.signature(answer);
        let shared = |terms: &[u64]| -> Vec<u64> {
            terms
                .iter()
                .copied()
                .filter(|t| signature.contains(t))
                .collect()
        };
        let common = shared(&prompt.terms);
        if common.is_empty() {
            return None;
        }
        let mut total = self.score(&prompt.terms, answer, common.iter());
        total += self.gains.writing(prompt.writing, answer.writing);
        let lead = total - own.unwrap_or(0).max(0);
        if let Some(reply) = self.answers[y].as_ref().filter(|_| lead > 0) {
            let new = reply
                .terms
                .iter()
                .copied()
                .filter(|&t| !self.has(prompt, t));
            let new: Vec<u64> = new.collect();
            let common = shared(&new);
            if !common.is_empty() {
                total += self.score(&new, answer, common.iter()).clamp(0, lead) * 3;
            }
        }
        Some(total)
    }

    fn judge(&self, x: usize) -> Option<Expected> {
        let answer = self.answers[x].as_ref()?;
        let signature = self.signature(answer);
        // The own prompt is looked at by slots.
        let own = self.prompts[x].as_ref().map(|p| {
            let shared = signature.iter().filter(|&&t| self.has(p, t));
            self.score(&p.terms, answer, shared) + self.gains.writing(p.writing, answer.writing)
        });
        let side = self.null_side(x);
        let mut real = Vec::new();
        let mut null = Vec::new();
        for y in 0..self.subjects.len() {
            let Some(total) = self.explain(y, answer, own).filter(|&t| t > 0) else {
                continue;
            };
            let rank = Reverse(self.subjects[y].id_rank);
            let entry = (total, rank, y as u32, self.facts[y].tenant);
            match relation(&self.facts[x], side, &self.facts[y], self.settings) {
                Relation::Candidate => real.push(entry),
                Relation::Null => null.push(entry),
                _ => {}
            }
        }
        let best = real.iter().max();
        let better = real.iter().filter(|r| own.is_some_and(|o| r.0 > o)).count();
        let other = null.iter().filter(|n| best.is_none_or(|b| b.3 != n.3));
        Some(Expected {
            exchange: x as u32,
            own,
            rank: better as u32 + 1,
            best: best.map(|b| (b.2, b.0)),
            chance: other.map(|n| n.0).max().unwrap_or(0),
        })
    }
}
