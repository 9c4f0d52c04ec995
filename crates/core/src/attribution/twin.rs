//! The definition of attribution, word for word and slow: every answer against every exchange.

use super::gain::{Gains, Pairs, RARITIES, length_class};
use super::index::{NullSide, Relation, null_range, relation};
use super::signature::crowd;
use super::terms::TermSet;
use super::types::{AttributionSettings, AttributionSubject, Facts};
use crate::exchange::FieldText;
use crate::health::language::{Votes, Writing};
use crate::overlap::Subject;
use crate::text::{Tokens, tokenize};
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

/// All answers of a log whose exchanges are each a call of their own.
pub(super) fn attribute(
    subjects: &[Subject],
    texts: &[(&str, &str)],
    settings: &AttributionSettings,
) -> Vec<Expected> {
    let bits = super::gain::Counts::new(subjects.len()).slot_bits;
    let slot = |t: u64| t >> (64 - bits);
    let facts: Vec<Facts> = subjects
        .iter()
        .map(|s| Facts::of(s, AttributionSubject::default()).unwrap())
        .collect();
    let prompts: Vec<_> = texts.iter().map(|t| read(t.0, bits)).collect();
    let answers: Vec<_> = texts.iter().map(|t| read(t.1, bits)).collect();
    let count = |texts: &[Option<Text>]| {
        let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
        for text in texts.iter().flatten() {
            text.terms
                .iter()
                .for_each(|&t| *counts.entry(slot(t)).or_default() += 1);
        }
        counts
    };
    let (in_prompts, in_answers) = (count(&prompts), count(&answers));
    let held = |t: u64| in_answers.get(&slot(t)).copied().unwrap_or(0);
    let has = |text: &Text, t: u64| text.terms.iter().any(|&o| slot(o) == slot(t));
    let first = facts.iter().map(|f| f.t0).min().unwrap_or(0);
    let last = facts.iter().map(|f| f.t0).max().unwrap_or(0);
    let answered = answers.iter().flatten().count() as u64;
    let crowd = crowd(answered, last - first, settings.look_back);
    let mut pairs = Pairs::default();
    let mut writings = [0; Writing::COUNT];
    for (prompt, answer) in prompts.iter().zip(&answers) {
        let Some(answer) = answer else { continue };
        writings[answer.writing.index()] += 1;
        let Some(prompt) = prompt else { continue };
        pairs.note_writings(prompt.writing, answer.writing);
        for &t in prompt.terms.iter().filter(|&&t| held(t) <= crowd) {
            pairs.note(length_class(prompt.terms.len()), held(t), has(answer, t));
        }
    }
    let gains = Gains::new(&pairs, &writings);
    let score = |text: &[u64], answer: &Text, signature: &[u64]| {
        let length = length_class(text.len());
        let mut rarities = [0; RARITIES];
        for &t in text.iter().filter(|&&t| (1..=crowd).contains(&held(t))) {
            rarities[(32 - held(t).leading_zeros()) as usize] += 1;
        }
        let shared = text.iter().filter(|t| signature.contains(t));
        let gain = |&t: &u64| i64::from(gains.of(length, held(t), answer.writing));
        let count = shared.clone().count();
        (
            gains.nothing(length, &rarities) + shared.map(gain).sum::<i64>(),
            count,
        )
    };
    let mut found = Vec::new();
    for (x, answer) in answers.iter().enumerate() {
        let Some(answer) = answer else { continue };
        let mut signature: Vec<u64> = answer.terms.clone();
        signature.retain(|&t| held(t) <= crowd);
        signature.sort_by_key(|&t| (held(t), t));
        signature.retain(|&t| held(t) > 1 || in_prompts.contains_key(&slot(t)));
        signature.truncate(64);
        // The mask of the own prompt goes by slots.
        let own = prompts[x].as_ref().map(|p| {
            let length = length_class(p.terms.len());
            let (base, _) = score(&p.terms, answer, &[]);
            let shared = signature.iter().filter(|&&t| has(p, t));
            let shared: i64 = shared
                .map(|&t| i64::from(gains.of(length, held(t), answer.writing)))
                .sum();
            base + shared + gains.writing(p.writing, answer.writing)
        });
        let side = |side| {
            let (from, to) = null_range(&facts[x], side, settings);
            from >= first && to <= last
        };
        let side = match (side(NullSide::After), side(NullSide::Before)) {
            (false, true) => NullSide::Before,
            _ => NullSide::After,
        };
        let mut real = Vec::new();
        let mut null = Vec::new();
        for (y, prompt) in prompts.iter().enumerate() {
            let Some(prompt) = prompt else { continue };
            let (mut total, shared) = score(&prompt.terms, answer, &signature);
            total += gains.writing(prompt.writing, answer.writing);
            let lead = total - own.unwrap_or(0).max(0);
            if let Some(reply) = answers[y].as_ref().filter(|_| lead > 0) {
                let new: Vec<u64> = reply
                    .terms
                    .iter()
                    .copied()
                    .filter(|&t| !has(prompt, t))
                    .collect();
                let (confirms, common) = score(&new, answer, &signature);
                if common > 0 {
                    total += confirms.clamp(0, lead) * 3;
                }
            }
            let rank = std::cmp::Reverse(subjects[y].id_rank);
            let entry = (total, rank, y as u32, facts[y].tenant);
            match relation(&facts[x], side, &facts[y], settings) {
                Relation::Candidate if total > 0 && shared > 0 => real.push(entry),
                Relation::Null if total > 0 && shared > 0 => null.push(entry),
                _ => {}
            }
        }
        let best = real.iter().max();
        let better = real.iter().filter(|r| own.is_some_and(|o| r.0 > o)).count();
        let chance = null
            .iter()
            .filter(|n| best.is_none_or(|b| b.3 != n.3))
            .map(|n| n.0)
            .max();
        found.push(Expected {
            exchange: x as u32,
            own,
            rank: better as u32 + 1,
            best: best.map(|b| (b.2, b.0)),
            chance: chance.unwrap_or(0),
        });
    }
    found
}
