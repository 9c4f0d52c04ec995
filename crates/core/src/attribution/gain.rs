//! How much a shared term says, counted in the log itself.

use crate::text::language::Writing;
use std::sync::atomic::{AtomicU32, Ordering};

/// Terms a prompt may have, in powers of two.
const LENGTHS: usize = 24;
/// Answers a term may be in, in powers of two.
pub(super) const RARITIES: usize = 32;
/// Answers that every writing is taken to have.
const FEWEST_OF_A_WRITING: u64 = 64;
/// Weight of what is expected before anything is counted, in pairs.
const PRIOR: u64 = 16;

/// In how many prompts and answers a term is. Terms share a slot by their hash: more of a term is
/// counted than there is, never less.
pub(super) struct Counts {
    pub slot_bits: u32,
    prompts: Vec<AtomicU32>,
    answers: Vec<AtomicU32>,
}

impl Counts {
    /// An empty table for a number of exchanges. Its size depends on nothing else.
    pub fn new(exchanges: usize) -> Counts {
        let wanted = exchanges.saturating_mul(64).clamp(1 << 12, 1 << 22);
        let slot_bits = wanted.next_power_of_two().trailing_zeros();
        let table = || {
            (0..1usize << slot_bits)
                .map(|_| AtomicU32::new(0))
                .collect()
        };
        Counts {
            slot_bits,
            prompts: table(),
            answers: table(),
        }
    }

    fn slot(&self, term: u64) -> usize {
        (term >> (64 - self.slot_bits)) as usize
    }

    /// Counts the distinct terms of a prompt. There are fewer than 2^32 exchanges.
    pub fn prompt(&self, terms: &[u64]) {
        for &term in terms {
            self.prompts[self.slot(term)].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts the distinct terms of an answer.
    pub fn answer(&self, terms: &[u64]) {
        for &term in terms {
            self.answers[self.slot(term)].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Prompts that hold a term.
    pub fn in_prompts(&self, term: u64) -> u32 {
        self.prompts[self.slot(term)].load(Ordering::Relaxed)
    }

    /// Terms of a text by how rare they are, without those that no answer or a crowd of them holds.
    pub fn rarities(&self, terms: &[u64], crowd: u32) -> [u32; RARITIES] {
        let mut found = [0; RARITIES];
        for &term in terms {
            let answers = self.in_answers(term);
            if (1..=crowd).contains(&answers) {
                found[rarity(answers)] += 1;
            }
        }
        found
    }

    /// Answers that hold a term.
    pub fn in_answers(&self, term: u64) -> u32 {
        self.answers[self.slot(term)].load(Ordering::Relaxed)
    }
}

/// How many terms of prompts came back in their own answers, by length and rarity.
pub(super) struct Pairs {
    seen: Vec<u64>,
    returned: Vec<u64>,
    /// Pairs by the writing of the prompt's last message and that of the answer.
    writings: Vec<u64>,
}

impl Default for Pairs {
    fn default() -> Pairs {
        Pairs {
            seen: vec![0; LENGTHS * RARITIES],
            returned: vec![0; LENGTHS * RARITIES],
            writings: vec![0; Writing::COUNT * Writing::COUNT],
        }
    }
}

impl Pairs {
    /// Counts one term of a prompt of a length class.
    pub fn note(&mut self, length: usize, answers: u32, returned: bool) {
        let cell = length * RARITIES + rarity(answers);
        self.seen[cell] += 1;
        self.returned[cell] += u64::from(returned);
    }

    /// Counts one pair by its writings.
    pub fn note_writings(&mut self, prompt: Writing, answer: Writing) {
        self.writings[prompt.index() * Writing::COUNT + answer.index()] += 1;
    }

    /// Adds what another thread counted.
    pub fn add(&mut self, other: &Pairs) {
        for (all, new) in [
            (&mut self.seen, &other.seen),
            (&mut self.returned, &other.returned),
            (&mut self.writings, &other.writings),
        ] {
            for (a, n) in all.iter_mut().zip(new) {
                *a += n;
            }
        }
    }
}

/// The length class of a text with a number of distinct terms.
pub(super) fn length_class(terms: usize) -> usize {
    (usize::BITS - terms.leading_zeros()).min(LENGTHS as u32 - 1) as usize
}

fn rarity(answers: u32) -> usize {
    ((32 - answers.leading_zeros()) as usize).min(RARITIES - 1)
}

/// Millibits that a term which answer and text share speaks for the text.
pub(super) struct Gains {
    /// log2 of the chance that a term of a text comes back, by length and rarity.
    returns: Vec<i32>,
    /// log2 of the chance that it does not, less than 0.
    missing: Vec<i32>,
    /// log2 of the answers of each writing.
    answers: [i32; Writing::COUNT],
    /// What the writing of an answer says for a prompt, by both writings.
    writings: Vec<i32>,
}

impl Gains {
    /// The gains that the counted pairs of a log give, and the number of its answers by writing.
    pub fn new(pairs: &Pairs, answers: &[u64; Writing::COUNT]) -> Gains {
        let mut returns = Vec::with_capacity(pairs.seen.len());
        let mut missing = Vec::with_capacity(pairs.seen.len());
        for length in 0..LENGTHS {
            for rarity in 0..RARITIES {
                let cell = length * RARITIES + rarity;
                // Before counting: a third in a prompt of up to eight terms; of longer ones no more
                // terms in all.
                let expected = ((PRIOR << 10) / 3) >> length.saturating_sub(3).min(10);
                let hits = (pairs.returned[cell] << 10) + expected.max(1);
                let all = (pairs.seen[cell] + PRIOR) << 10;
                returns.push(millibits(hits) - millibits(all));
                missing.push(millibits(all - hits.min(all - 1)) - millibits(all));
            }
        }
        // Half way between the answers of the writing and all: names and code cross writings,
        // common words do not.
        let all = millibits(answers.iter().sum());
        Gains {
            returns,
            missing,
            writings: writing_gains(&pairs.writings),
            answers: answers.map(|n| (millibits(n.max(FEWEST_OF_A_WRITING)) + all) / 2),
        }
    }

    /// Millibits, at most 0, of a text of which an answer holds no term.
    pub fn nothing(&self, length: usize, rarities: &[u32; RARITIES]) -> i64 {
        let missing = &self.missing[length * RARITIES..][..RARITIES];
        let cost = missing.iter().zip(rarities);
        cost.map(|(&m, &n)| i64::from(m) * i64::from(n)).sum()
    }

    /// Millibits that the writing of an answer speaks for a prompt whose last message is in
    /// another or the same.
    pub fn writing(&self, prompt: Writing, answer: Writing) -> i64 {
        i64::from(self.writings[prompt.index() * Writing::COUNT + answer.index()])
    }

    /// Millibits that a term adds to [`Gains::nothing`] if an answer of a writing holds it, which
    /// is one of a number that do; at least 0. How rare it is, is asked among answers of the same
    /// writing as well as among all: that two texts are both in Thai says little.
    pub fn of(&self, length: usize, answers: u32, writing: Writing) -> i32 {
        let cell = length * RARITIES + rarity(answers);
        let chance = millibits(u64::from(answers) + 1) - self.answers[writing.index()];
        (self.returns[cell] - chance).max(0) - self.missing[cell]
    }
}

/// log2 of how much more often an answer is in a writing behind prompts of another than at all.
fn writing_gains(pairs: &[u64]) -> Vec<i32> {
    let rows = || pairs.chunks(Writing::COUNT);
    let all: u64 = pairs.iter().sum();
    let mut answers = [0u64; Writing::COUNT];
    for row in rows() {
        answers.iter_mut().zip(row).for_each(|(a, n)| *a += n);
    }
    let mut gains = Vec::with_capacity(pairs.len());
    for row in rows() {
        let prompts: u64 = row.iter().sum();
        for (&both, &answers) in row.iter().zip(&answers) {
            let found = (both * all + PRIOR * answers) << 4;
            let expected = ((prompts + PRIOR) * answers) << 4;
            let known = all > 0 && answers > 0;
            gains.push(if known {
                millibits(found) - millibits(expected)
            } else {
                0
            });
        }
    }
    gains
}

/// 1000 × log2 of a number from 1 on, rounded down, in integers only.
pub(crate) fn millibits(x: u64) -> i32 {
    let x = x.max(1);
    let whole = 63 - x.leading_zeros();
    // The number scaled to [2^31, 2^32), squared once per binary digit of the fraction.
    let mut y = if whole >= 31 {
        x >> (whole - 31)
    } else {
        x << (31 - whole)
    };
    let mut fraction = 0u64;
    for _ in 0..16 {
        y = (y * y) >> 31;
        fraction <<= 1;
        if y >= 1 << 32 {
            y >>= 1;
            fraction |= 1;
        }
    }
    (u64::from(whole) * 1000 + ((fraction * 1000) >> 16)) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_right_to_a_millibit() {
        for x in (1..5000).chain([1 << 31, (1 << 32) + 7, u64::MAX, 1 << 63]) {
            let exact = (x as f64).log2() * 1000.0;
            assert!((f64::from(millibits(x)) - exact).abs() < 1.1, "{x}");
        }
        assert_eq!(millibits(0), 0);
    }

    #[test]
    fn long_prompts_and_common_terms_say_less() {
        let gains = Gains::new(&Pairs::default(), &[10_000; Writing::COUNT]);
        assert!(gains.of(3, 1, Writing::default()) > gains.of(12, 1, Writing::default()));
        assert!(gains.of(3, 1, Writing::default()) > gains.of(3, 100, Writing::default()));
        assert!(gains.of(20, 9_000, Writing::default()) < 20);
        let mut pairs = Pairs::default();
        for i in 0..1000 {
            pairs.note(12, 1, i % 2 == 0);
        }
        assert!(
            Gains::new(&pairs, &[10_000; Writing::COUNT]).of(12, 1, Writing::default())
                > gains.of(12, 1, Writing::default())
        );
    }
}
