//! Second hand: a tenant sends text on that an earlier answer had leaked to it.
//!
//! Such an answer shows foreign text because its own prompt holds it. It is a trace of the first
//! leak and no leak of its own, so it counts as generation 2.

use crate::exchange::TimeMicros;
use crate::operator::{TextOperator, TextView};
use crate::overlap::windows::for_each;
use crate::overlap::{Field, Subject};
use crate::text::Tokens;
use hashbrown::HashMap;
use std::sync::Arc;

/// Least weight of leaked text in a prompt, in half-words: 12 words, as rules ask of a leak.
pub const LEAST_WEIGHT: u32 = 24;

/// One passage of another tenant's text in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leak {
    /// The exchange whose answer holds it.
    pub exchange: u32,
    /// The field that holds it.
    pub field: Field,
    /// First byte of the passage in that field.
    pub start: u32,
    /// One past its last byte.
    pub end: u32,
}

/// A prompt that holds text of an earlier leak to the same tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecondHand {
    /// The exchange with the prompt.
    pub exchange: u32,
    /// The exchange whose answer leaked: the earliest where several did.
    pub leak_exchange: u32,
    /// Tokens of leaked text in the prompt.
    pub tokens: u32,
}

/// Finds prompts with leaked text. Two passes: the leaks' texts, then the prompts of the tenants
/// that received them.
pub struct SecondHandSearch {
    subjects: Arc<[Subject]>,
    /// By exchange.
    leaks: Vec<Leak>,
    /// Per tenant: from when on its prompts may hold leaked text.
    since: HashMap<u32, TimeMicros>,
    /// (window, tenant) → the exchange that leaked it first.
    windows: HashMap<(u64, u32), u32>,
    found: Vec<SecondHand>,
    pass: u8,
}

/// What one thread found.
#[derive(Default)]
pub struct SecondHandPart {
    windows: Vec<((u64, u32), u32)>,
    found: Vec<SecondHand>,
}

impl SecondHandSearch {
    /// Looks for text of `leaks` in later prompts of the same tenants.
    pub fn new(subjects: Arc<[Subject]>, mut leaks: Vec<Leak>) -> SecondHandSearch {
        leaks.retain(|l| {
            subjects
                .get(l.exchange as usize)
                .is_some_and(|s| s.tenant.is_some() && s.t_start.is_some())
        });
        leaks.sort_unstable_by_key(|l| (l.exchange, l.field, l.start, l.end));
        let mut since: HashMap<u32, TimeMicros> = HashMap::new();
        for leak in &leaks {
            let s = &subjects[leak.exchange as usize];
            if let (Some(tenant), Some(t)) = (s.tenant, s.t_start) {
                let first = since.entry(tenant).or_insert(t);
                *first = t.min(*first);
            }
        }
        SecondHandSearch {
            pass: if leaks.is_empty() { 2 } else { 0 },
            subjects,
            leaks,
            since,
            windows: HashMap::new(),
            found: Vec::new(),
        }
    }

    /// The result, by exchange.
    pub fn finish(mut self) -> Vec<SecondHand> {
        self.found.sort_unstable();
        self.found
    }

    fn leaks_of(&self, exchange: u32) -> &[Leak] {
        let from = self.leaks.partition_point(|l| l.exchange < exchange);
        let to = self.leaks.partition_point(|l| l.exchange <= exchange);
        &self.leaks[from..to]
    }

    /// Orders exchanges in time.
    fn when(&self, exchange: u32) -> (Option<TimeMicros>, u32) {
        let s = &self.subjects[exchange as usize];
        (s.t_start, s.id_rank)
    }

    fn read_leaks(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut SecondHandPart) {
        let Some(tenant) = self.subjects[exchange as usize].tenant else {
            return;
        };
        for leak in self.leaks_of(exchange) {
            let Some(tokens) = texts.tokens(leak.field) else {
                continue;
            };
            for_each(tokens, |w| {
                let (from, to) = (w.from as usize, w.to as usize);
                if tokens.start[from] >= leak.start && tokens.end[to - 1] <= leak.end {
                    out.windows.push(((w.hash, tenant), exchange));
                }
            });
        }
    }

    fn read_prompt(&self, exchange: u32, tokens: &Tokens, out: &mut SecondHandPart) {
        let subject = &self.subjects[exchange as usize];
        let Some(tenant) = subject.tenant else { return };
        // The longest run of leaked windows, and the earliest leak that any of them is from.
        let mut best: Option<(u32, u32, u32)> = None;
        let mut run: Option<(usize, usize, u32)> = None;
        let mut close = |run: Option<(usize, usize, u32)>| {
            let Some((from, to, leak)) = run else { return };
            let weight: u32 = tokens.weight[from..to].iter().map(|&w| u32::from(w)).sum();
            if weight >= LEAST_WEIGHT && best.is_none_or(|(w, _, _)| weight > w) {
                best = Some((weight, (to - from) as u32, leak));
            }
        };
        for_each(tokens, |w| {
            let Some(&leak) = self.windows.get(&(w.hash, tenant)) else {
                return;
            };
            let source = &self.subjects[leak as usize];
            if source.call == subject.call || self.when(leak) >= self.when(exchange) {
                return;
            }
            let (from, to) = (w.from as usize, w.to as usize);
            run = match run.take() {
                Some((first, last, earliest)) if from < last => {
                    let first_leak = if self.when(leak) < self.when(earliest) {
                        leak
                    } else {
                        earliest
                    };
                    Some((first, to, first_leak))
                }
                before => {
                    close(before);
                    Some((from, to, leak))
                }
            };
        });
        close(run);
        if let Some((_, tokens, leak_exchange)) = best {
            out.found.push(SecondHand {
                exchange,
                leak_exchange,
                tokens,
            });
        }
    }
}

impl TextOperator for SecondHandSearch {
    type Partial = SecondHandPart;

    fn next_pass(&self) -> Option<&'static str> {
        match self.pass {
            0 => Some("leaked passages"),
            1 => Some("second hand"),
            _ => None,
        }
    }

    fn wants(&self, exchange: u32) -> bool {
        if self.pass == 0 {
            return !self.leaks_of(exchange).is_empty();
        }
        let Some(s) = self.subjects.get(exchange as usize) else {
            return false;
        };
        let since = s.tenant.and_then(|t| self.since.get(&t));
        matches!((since, s.t_start), (Some(since), Some(t)) if t >= *since)
    }

    fn scan(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut SecondHandPart) {
        if self.pass == 0 {
            self.read_leaks(exchange, texts, out);
        } else if let Some(tokens) = texts.tokens(Field::Prompt) {
            self.read_prompt(exchange, tokens, out);
        }
    }

    fn absorb(&mut self, partial: SecondHandPart) {
        for (window, exchange) in partial.windows {
            let first = *self.windows.entry(window).or_insert(exchange);
            if self.when(exchange) < self.when(first) {
                self.windows.insert(window, exchange);
            }
        }
        self.found.extend(partial.found);
    }

    fn end_pass(&mut self) {
        self.pass += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{FieldText, Role};
    use crate::operator::TokenBuffers;
    use crate::overlap::Fields;

    const LEAKED: &str = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu";

    fn subject(n: u32, tenant: u32, t: i64) -> Subject {
        Subject {
            call: n,
            tenant: Some(tenant),
            role: Role::Gateway,
            choice: 0,
            t_start: Some(t),
            t_end: Some(t + 1),
            id_rank: n,
            judge: true,
            process_start: None,
        }
    }

    fn run(exchanges: &[(u32, i64, &str, &str)], leaks: &[u32]) -> Vec<SecondHand> {
        let subjects: Vec<Subject> = exchanges
            .iter()
            .enumerate()
            .map(|(n, e)| subject(n as u32, e.0, e.1))
            .collect();
        let leaks = leaks.iter().map(|&exchange| Leak {
            exchange,
            field: Field::Response,
            start: 0,
            end: exchanges[exchange as usize].3.len() as u32,
        });
        let mut search = SecondHandSearch::new(subjects.into(), leaks.collect());
        while search.next_pass().is_some() {
            let mut buffers = TokenBuffers::default();
            for (n, e) in exchanges.iter().enumerate().rev() {
                let n = n as u32;
                if search.wants(n) {
                    let (prompt, response) = (FieldText::of(e.2), FieldText::of(e.3));
                    let fields = Fields {
                        prompt: Some(&prompt),
                        response: Some(&response),
                        ..Fields::default()
                    };
                    let mut part = SecondHandPart::default();
                    search.scan(n, &mut TextView::new(fields, &mut buffers), &mut part);
                    search.absorb(part);
                }
            }
            search.end_pass();
        }
        search.finish()
    }

    #[test]
    fn only_later_prompts_of_the_same_tenant_count() {
        let found = run(
            &[
                (1, 0, LEAKED, "x"),
                (2, 10, "question", LEAKED),
                (2, 20, LEAKED, "y"),
                (3, 30, LEAKED, "z"),
                (
                    2,
                    40,
                    "alpha beta gamma delta epsilon zeta eta",
                    "too short",
                ),
                (
                    2,
                    50,
                    "and ALPHA beta gamma delta epsilon zeta eta theta iota kappa lambda mu",
                    "w",
                ),
            ],
            &[1],
        );
        let expected = [(2, 1, 13), (5, 1, 12)];
        let found: Vec<_> = found
            .iter()
            .map(|s| (s.exchange, s.leak_exchange, s.tokens))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_earliest_leak_stands_for_all() {
        let found = run(
            &[
                (2, 5, "q", LEAKED),
                (2, 3, "q", LEAKED),
                (2, 20, LEAKED, "y"),
            ],
            &[0, 1],
        );
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].exchange, found[0].leak_exchange), (2, 1));
    }

    #[test]
    fn without_leaks_nothing_is_read() {
        let search = SecondHandSearch::new(Vec::new().into(), Vec::new());
        assert!(search.next_pass().is_none());
    }
}
