//! Duplicates across tenants: the same long answer, or nearly, to two tenants.
//!
//! The first pass takes a signature of every long answer; answers that share one are compared. Each
//! answer gets at most one row: its nearest, then earliest, twin of another tenant within the
//! look-back. What makes a twin innocent stands beside it: the similarity of both prompts (the same
//! question, a cache), and how many tenants got that answer (refusals, boilerplate). Retries and
//! choices are of one call or tenant and make no row.

mod sketch;
#[cfg(test)]
mod tests;

use crate::exchange::Role;
use crate::operator::{TextOperator, TextView};
use crate::overlap::{Field, Settings, Subject};
use crate::surprise::{TokenStats, rarest, similarity};
use hashbrown::{HashMap, HashSet};
use sketch::{BANDS, Signature, bottom, jaccard_permille};
use std::sync::Arc;

/// Least weight of an answer in half-words: 30 words, 60 characters of CJK.
const LEAST_WEIGHT: u32 = 60;

/// A twin of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuplicateRow {
    /// The later answer.
    pub exchange: u32,
    /// Its field.
    pub field: Field,
    /// Its tenant.
    pub tenant: u32,
    /// The earlier answer.
    pub other_exchange: u32,
    /// Its field.
    pub other_field: Field,
    /// Its tenant.
    pub other_tenant: u32,
    /// Tokens of the later answer.
    pub tokens: u32,
    /// Both answers are the same sequence of tokens.
    pub same_text: bool,
    /// Short runs that both have in common, in thousandths of all; an estimate.
    pub similarity_permille: u32,
    /// Both prompts are the same sequence of tokens; `None` if one of them has none.
    pub same_prompt: Option<bool>,
    /// How much of their rarest words the prompts share, in thousandths of the poorer one.
    pub prompt_similarity_permille: Option<u32>,
    /// Tenants, the two included, that got a text of that signature up to the later answer.
    pub tenants: u32,
    /// Milliseconds from the start of the earlier to that of the later exchange, rounded down.
    pub lag_ms: i64,
}

/// A long answer.
struct Text {
    exchange: u32,
    field: Field,
    call: u32,
    tenant: u32,
    t0: i64,
    id_rank: u32,
    role: Role,
    tokens: u32,
    prompt: Option<u64>,
    signature: Signature,
}

/// What the second pass keeps of an exchange.
#[derive(Clone, Default)]
struct Party {
    /// Rarest terms of the prompt.
    terms: Option<Vec<(u64, u32)>>,
    /// Sketches of the answers by field.
    answers: Vec<(Field, Vec<u64>)>,
}

/// What scanning finds.
#[derive(Default)]
pub struct Partial {
    texts: Vec<Text>,
    parties: Vec<(u32, Party)>,
}

enum Step {
    Sign,
    Compare,
    Done,
}

/// Finds duplicates.
pub struct Duplicates {
    subjects: Vec<Subject>,
    settings: Settings,
    stats: Arc<TokenStats>,
    step: Step,
    texts: Vec<Text>,
    rows: Vec<DuplicateRow>,
    wanted: HashSet<u32>,
    parties: HashMap<u32, Party>,
}

impl Duplicates {
    /// Looks at the answers of subjects with `judge`. Of the settings, the look-back counts.
    /// Memory: about 130 bytes a long answer, 2 KB an exchange with a twin.
    pub fn new(subjects: Vec<Subject>, settings: Settings, stats: Arc<TokenStats>) -> Duplicates {
        Duplicates {
            subjects,
            settings,
            stats,
            step: Step::Sign,
            texts: Vec::new(),
            rows: Vec::new(),
            wanted: HashSet::new(),
            parties: HashMap::new(),
        }
    }

    /// Rows by exchange and field.
    pub fn finish(self) -> Vec<DuplicateRow> {
        self.rows
    }

    fn sign(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        let subject = &self.subjects[exchange as usize];
        let (Some(tenant), Some(t0)) = (subject.tenant, subject.t_start) else {
            return;
        };
        let mut prompt = None;
        for field in Field::ANSWERS {
            let Some(tokens) = texts.tokens(field) else {
                continue;
            };
            let weight: u32 = tokens.weight.iter().map(|&w| u32::from(w)).sum();
            if weight < LEAST_WEIGHT {
                continue;
            }
            let (signature, tokens) = (Signature::of(tokens), tokens.len() as u32);
            let prompt =
                *prompt.get_or_insert_with(|| texts.tokens(Field::Prompt).map(sketch::sequence));
            out.texts.push(Text {
                exchange,
                field,
                call: subject.call,
                tenant,
                t0,
                id_rank: subject.id_rank,
                role: subject.role,
                tokens,
                prompt,
                signature,
            });
        }
    }

    /// Finds the twin of each answer.
    fn pair(&mut self) {
        let mut texts = std::mem::take(&mut self.texts);
        // Copies of an answer in one call are one.
        texts.sort_unstable_by_key(|t| (t.call, t.signature.all, t.role, t.t0, t.id_rank, t.field));
        texts.dedup_by_key(|t| (t.call, t.signature.all));
        texts.sort_unstable_by_key(|t| (t.t0, t.id_rank, t.field));
        // Per text its best twin so far: what is compared, the twin, tenants of the group.
        let mut best: Vec<Option<(u32, usize, u32)>> = vec![None; texts.len()];
        for band in 0..=BANDS {
            let key = |t: &Text| t.signature.key(band);
            let mut order: Vec<usize> = (0..texts.len()).collect();
            order.sort_unstable_by_key(|&at| (key(&texts[at]), at));
            for group in order.chunk_by(|&a, &b| key(&texts[a]) == key(&texts[b])) {
                self.pair_group(&texts, group, &mut best);
            }
        }
        for (text, best) in texts.iter().zip(best) {
            if let Some((_, at, tenants)) = best {
                let other = &texts[at];
                self.wanted.extend([text.exchange, other.exchange]);
                self.rows.push(DuplicateRow {
                    exchange: text.exchange,
                    field: text.field,
                    tenant: text.tenant,
                    other_exchange: other.exchange,
                    other_field: other.field,
                    other_tenant: other.tenant,
                    tokens: text.tokens,
                    same_text: text.signature.all == other.signature.all,
                    similarity_permille: 0,
                    same_prompt: text.prompt.zip(other.prompt).map(|(a, b)| a == b),
                    prompt_similarity_permille: None,
                    tenants,
                    lag_ms: text.t0.saturating_sub(other.t0).div_euclid(1000),
                });
            }
        }
        let subjects = &self.subjects;
        self.rows.sort_unstable_by_key(|r| {
            let rank = subjects[r.exchange as usize].id_rank;
            (rank, r.field.as_str())
        });
    }

    /// Offers each answer of a group, which is in order of time, the first one of another tenant
    /// within the look-back. Linear: the first one within reach and the first one of another
    /// tenant than that are all that is needed.
    fn pair_group(&self, texts: &[Text], group: &[usize], best: &mut [Option<(u32, usize, u32)>]) {
        let (mut first, mut second) = (0, 0);
        let mut tenants = HashSet::new();
        for (place, &at) in group.iter().enumerate() {
            let text = &texts[at];
            tenants.insert(text.tenant);
            let from = text.t0.saturating_sub(self.settings.look_back);
            while texts[group[first]].t0 < from {
                first += 1;
            }
            second = second.max(first);
            while second < place && texts[group[second]].tenant == texts[group[first]].tenant {
                second += 1;
            }
            let found = [first, second]
                .into_iter()
                .filter(|&p| p < place)
                .map(|p| group[p])
                .find(|&o| texts[o].tenant != text.tenant && texts[o].call != text.call);
            let Some(other) = found else {
                continue;
            };
            let alike = text.signature.alike(&texts[other].signature);
            let tenants = tenants.len() as u32;
            let better = best[at].is_none_or(|(known, twin, _)| {
                (std::cmp::Reverse(alike), other) < (std::cmp::Reverse(known), twin)
            });
            match &mut best[at] {
                Some(known) if !better => known.2 = known.2.max(tenants),
                known => {
                    let most = known.map_or(0, |k| k.2).max(tenants);
                    *known = Some((alike, other, most));
                }
            }
        }
    }

    fn party(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        let mut party = Party {
            terms: texts
                .tokens(Field::Prompt)
                .map(|tokens| rarest(&self.stats, tokens)),
            answers: Vec::new(),
        };
        for field in Field::ANSWERS {
            if let Some(tokens) = texts.tokens(field) {
                party.answers.push((field, bottom(tokens)));
            }
        }
        out.parties.push((exchange, party));
    }

    fn compare(&mut self) {
        for row in &mut self.rows {
            let sides = (
                self.parties.get(&row.exchange),
                self.parties.get(&row.other_exchange),
            );
            let (Some(a), Some(b)) = sides else {
                continue;
            };
            row.prompt_similarity_permille = a
                .terms
                .as_ref()
                .zip(b.terms.as_ref())
                .and_then(|(a, b)| similarity(a, b));
            let answer = |party: &Party, field: Field| {
                let mut answers = party.answers.iter();
                answers.find(|x| x.0 == field).map(|x| x.1.clone())
            };
            row.similarity_permille = match (answer(a, row.field), answer(b, row.other_field)) {
                _ if row.same_text => 1000,
                (Some(a), Some(b)) => jaccard_permille(&a, &b),
                _ => 0,
            };
        }
    }
}

impl TextOperator for Duplicates {
    type Partial = Partial;

    fn next_pass(&self) -> Option<&'static str> {
        match self.step {
            Step::Sign => Some("duplicates"),
            Step::Compare => Some("compare duplicates"),
            Step::Done => None,
        }
    }

    fn wants(&self, exchange: u32) -> bool {
        let subject = &self.subjects[exchange as usize];
        match self.step {
            Step::Sign => subject.judge && subject.tenant.is_some() && subject.t_start.is_some(),
            Step::Compare => self.wanted.contains(&exchange),
            Step::Done => false,
        }
    }

    fn scan(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        if !self.wants(exchange) {
            return;
        }
        match self.step {
            Step::Sign => self.sign(exchange, texts, out),
            Step::Compare => self.party(exchange, texts, out),
            Step::Done => {}
        }
    }

    fn absorb(&mut self, partial: Partial) {
        self.texts.extend(partial.texts);
        self.parties.extend(partial.parties);
    }

    fn end_pass(&mut self) {
        match self.step {
            Step::Sign => {
                self.pair();
                self.step = if self.rows.is_empty() {
                    Step::Done
                } else {
                    Step::Compare
                };
            }
            Step::Compare => {
                self.compare();
                self.step = Step::Done;
            }
            Step::Done => {}
        }
    }
}
