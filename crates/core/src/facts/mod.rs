//! Facts without order: rare names, numbers, dates and ids of one foreign exchange that meet in one
//! answer. This finds translation and paraphrase.

mod scan;
#[cfg(test)]
mod tests;

use crate::operator::TextView;
use crate::overlap::Field;
use crate::probe::{Chance, Joint, Kind, Mark, Probe, Seed};
use crate::surprise::{LeaveOut, TokenStats, log2_millibits};
use crate::text::Tokens;
use hashbrown::HashSet;
use scan::{Fact, ID, NAME, NUMBER};
use std::sync::Arc;

/// Rarest facts of an answer that are looked for.
const MOST_FACTS: usize = 64;
/// Least surprise of a fact, in millibits: one exchange of about 500 holds it.
const FACT_MILLIBITS: u32 = 9_000;
/// The same for a fact that only its parties hold, where the log or its language is small.
const LONE_MILLIBITS: u32 = 5_000;
/// With more than one capital in so many words, and as many of them, all nouns have one: words are
/// then weighed within their language.
const CAPITALS: (u32, u32) = (3, 8);
/// The common word of a text, by its place in order, that tells how much of its language there is.
const COMMON_WORD: usize = 5;
/// Surprise of a date: about one day of three years, in millibits.
const DATE_MILLIBITS: u32 = 10_000;
/// Surprise of a digit, in millibits.
const DIGIT_MILLIBITS: u32 = 3_322;
/// Least significant digits of a number.
const DIGITS: u32 = 3;
/// Independent facts that make a row, and their surprise in millibits.
const PARTS: u32 = 3;
const JOINT_MILLIBITS: u64 = 36_000;
/// A source of up to 16 facts is an ordinary one; each doubling beyond makes any fact likelier by
/// one bit. In millibits.
const FEW_MILLIBITS: u32 = 4_000;
/// Facts as near as this many bytes are parts of one: first and last name, a model and its version.
const NEAR: u32 = 3;

/// Finds facts that meet.
pub type FactOverlap = Probe<FactKind>;

/// Facts as keys.
pub struct FactKind {
    stats: Arc<TokenStats>,
}

impl FactKind {
    /// Weighs facts under counts of the same exchanges.
    pub fn new(stats: Arc<TokenStats>) -> FactKind {
        FactKind { stats }
    }

    /// About how many exchanges are written in the language of a text, as a logarithm: rare words
    /// of a rare language are no facts.
    fn language(&self, tokens: &Tokens, leave: &LeaveOut) -> u32 {
        let mut words: Vec<u64> = tokens.hash.clone();
        words.sort_unstable();
        words.dedup();
        let mut counts: Vec<u32> = words
            .iter()
            .map(|&word| self.stats.count_of(word, leave))
            .collect();
        counts.sort_unstable_by_key(|&c| std::cmp::Reverse(c));
        let count = counts.get(COMMON_WORD - 1).copied().unwrap_or(0);
        log2_millibits(2 * u64::from(count) + 2)
    }
}

/// Whether a word begins with a capital that no beginning of a sentence explains.
fn is_capital(text: &str, at: usize) -> bool {
    let (Some(before), Some(word)) = (text.get(..at), text.get(at..)) else {
        return false;
    };
    let mut before = before
        .trim_end_matches([' ', '(', '\'', '\u{2019}'])
        .chars();
    let inside = before
        .next_back()
        .is_some_and(|c| c.is_alphanumeric() || matches!(c, ',' | ';' | '/' | '@' | '&' | '_'));
    inside && word.chars().next().is_some_and(char::is_uppercase)
}

/// Calls `each` with the facts of a text; words also say whether they begin with a capital.
fn for_each_fact(field: Field, texts: &mut TextView<'_>, mut each: impl FnMut(Fact, bool)) -> u64 {
    let (Some(text), _) = texts.fields().get(field) else {
        return 0;
    };
    let mut count = 0;
    let Some(tokens) = texts.tokens(field) else {
        return 0;
    };
    scan::for_each_word(tokens, |_, fact| {
        count += 1;
        each(fact, is_capital(&text.text, fact.bytes.0 as usize));
    });
    scan::for_each_named_date(tokens, |fact| {
        count += 1;
        each(fact, false);
    });
    scan::for_each_number(&text.text, |fact| {
        if fact.sort != NUMBER || fact.size >= DIGITS {
            count += 1;
            each(fact, false);
        }
    });
    count
}

fn mark(fact: &Fact, millibits: u32) -> Mark {
    Mark {
        tokens: (0, 0),
        bytes: fact.bytes,
        sums: (0, millibits),
        sort: fact.sort,
    }
}

impl Kind for FactKind {
    const PASSES: [&'static str; 3] = ["facts index", "facts carriers", "facts join"];
    const LEAST: usize = PARTS as usize;

    fn judged(
        &self,
        field: Field,
        tenant: u32,
        texts: &mut TextView<'_>,
        out: &mut Vec<(u64, Mark)>,
    ) {
        let leave = self.stats.leave_one_out(tenant);
        let (mut words, mut capitals) = (0u32, 0u32);
        for_each_fact(field, texts, |fact, capital| {
            words += u32::from(fact.sort == NAME);
            capitals += u32::from(fact.sort == NAME && capital);
        });
        let every = log2_millibits(2 * u64::from(self.stats.texts()) + 2);
        let language = match texts.tokens(field) {
            Some(tokens) if capitals >= CAPITALS.1 && capitals * CAPITALS.0 > words => {
                self.language(tokens, &leave)
            }
            _ => every,
        };
        let mut found: Vec<(u32, u64, Fact)> = Vec::new();
        let mut seen = HashSet::new();
        for_each_fact(field, texts, |fact, capital| {
            if !seen.insert(fact.key) {
                return;
            }
            let count = self.stats.count_of(fact.token, &leave);
            let all = if fact.sort == NAME { language } else { every };
            let rarity = all.saturating_sub(log2_millibits(2 * u64::from(count) + 1));
            let bits = match fact.sort {
                NAME if !capital => return,
                NUMBER => rarity.min(fact.size * DIGIT_MILLIBITS),
                NAME | ID => rarity,
                _ => DATE_MILLIBITS,
            };
            if bits >= FACT_MILLIBITS || count == 0 && bits >= LONE_MILLIBITS {
                found.push((u32::MAX - bits, fact.key, fact));
            }
        });
        if found.is_empty() {
            return;
        }
        let mut own: HashSet<u64> = HashSet::new();
        for_each_fact(Field::Prompt, texts, |fact, _| {
            if seen.contains(&fact.key) {
                own.insert(fact.key);
            }
        });
        found.retain(|f| !own.contains(&f.1));
        found.sort_unstable();
        found.truncate(MOST_FACTS);
        out.extend(
            found
                .iter()
                .map(|(bits, key, fact)| (*key, mark(fact, u32::MAX - bits))),
        );
    }

    fn probe(
        &self,
        field: Field,
        texts: &mut TextView<'_>,
        mut each: impl FnMut(u64, Mark),
    ) -> u64 {
        for_each_fact(field, texts, |fact, _| each(fact.key, mark(&fact, 0)))
    }

    fn join(&self, seeds: &mut Vec<Seed>, chance: Chance) -> Option<Joint> {
        // One place of a fact in the judged text and its first one in the source are enough.
        seeds.sort_unstable_by_key(|s| (s.judged.bytes, s.judged.sort, s.field, s.source));
        seeds.dedup_by_key(|s| (s.judged.bytes, s.judged.sort));
        let mut groups: Vec<(u32, u32, u8)> = Vec::new();
        for seed in seeds.iter() {
            let (bits, sort, end) = (seed.judged.sums.1, seed.judged.sort, seed.judged.bytes.1);
            match groups.last_mut() {
                Some(last) if seed.judged.bytes.0 <= last.0 + NEAR => {
                    if bits > last.1 {
                        (last.1, last.2) = (bits, sort);
                    }
                    last.0 = last.0.max(end);
                }
                _ => groups.push((end, bits, sort)),
            }
        }
        let millibits: u64 = groups.iter().map(|g| u64::from(g.1)).sum();
        let parts = groups.len() as u32;
        // A source of many facts holds any one of them the likelier: a long prompt full of numbers.
        let excess = chance.places.saturating_sub(FEW_MILLIBITS);
        let score = groups
            .iter()
            .map(|g| u64::from(g.1.saturating_sub(excess)))
            .sum();
        if parts < PARTS || score < JOINT_MILLIBITS {
            return None;
        }
        let field = seeds.iter().map(|s| s.field).min()?;
        let of_field = || seeds.iter().filter(|s| s.field == field);
        let mut sorts = [0; 4];
        for group in &groups {
            sorts[usize::from(group.2)] += 1;
        }
        Some(Joint {
            source_field: field,
            parts,
            tokens: seeds.len() as u32,
            millibits,
            score,
            sorts,
            response: (
                seeds.iter().map(|s| s.judged.bytes.0).min()?,
                seeds.iter().map(|s| s.judged.bytes.1).max()?,
            ),
            source: (
                of_field().map(|s| s.source.bytes.0).min()?,
                of_field().map(|s| s.source.bytes.1).max()?,
            ),
        })
    }
}
