//! Canaries in the judged answers of a log.

use super::scan::{Hit, Scanner, Writing};
use crate::exchange::Role;
use crate::operator::{TextOperator, TextView};
use crate::overlap::{Field, Subject};
use std::sync::Arc;

/// One canary in an answer. Exchanges are the caller's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The judged exchange.
    pub exchange: u32,
    /// Judged field.
    pub field: Field,
    /// Number of the tenant it was made for, as in [`Scanner::owners`].
    pub owner: u32,
    /// How it was written.
    pub writing: Writing,
    /// Whether all of it is there.
    pub whole: bool,
    /// Bits of the piece.
    pub bits: u32,
    /// First byte in the judged field.
    pub response_start: u32,
    /// One past the last byte in the judged field.
    pub response_end: u32,
    /// Keyed hash of the marker.
    pub value_hmac: [u8; 16],
    /// A prompt of the call holds the marker, however written.
    pub in_own_prompt: bool,
}

/// What one thread found.
#[derive(Default)]
pub struct Partial {
    hits: Vec<Hit>,
    found: Vec<(u32, Field, Hit)>,
    own: Vec<(u32, u32)>,
}

/// A search for canaries: one pass over the answers, one over the prompts of calls that have any.
///
/// A tenant's own canaries are rows too if its name is not among the `tenants`; comparing names is
/// left to rules.
pub struct CanarySearch {
    subjects: Arc<[Subject]>,
    scanner: Arc<Scanner>,
    /// Per owner its number among the tenants of the log.
    tenants: Vec<Option<u32>>,
    key: [u8; 32],
    pass: u8,
    found: Vec<(u32, Field, Hit)>,
    /// Call and marker of prompts.
    own: Vec<(u32, u32)>,
    /// Calls with a canary, ascending.
    calls: Vec<u32>,
}

impl CanarySearch {
    /// A search over the exchanges that `subjects` lists. `tenants` gives for each owner its number
    /// in the log, if it takes part in it; `key` is that of the keyed hashes.
    pub fn new(
        subjects: impl Into<Arc<[Subject]>>,
        scanner: Arc<Scanner>,
        tenants: Vec<Option<u32>>,
        key: [u8; 32],
    ) -> CanarySearch {
        CanarySearch {
            subjects: subjects.into(),
            scanner,
            tenants,
            key,
            pass: 0,
            found: Vec::new(),
            own: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// The rows, in the order of the table.
    pub fn finish(mut self) -> Vec<Row> {
        self.own.sort_unstable();
        self.own.dedup();
        let rows = self.found.iter().map(|&(exchange, field, hit)| {
            let call = self.subjects[exchange as usize].call;
            let hash = blake3::keyed_hash(&self.key, self.scanner.marker(hit.marker));
            let mut value_hmac = [0; 16];
            value_hmac.copy_from_slice(&hash.as_bytes()[..16]);
            Row {
                exchange,
                field,
                owner: hit.owner,
                writing: hit.writing,
                whole: hit.whole,
                bits: hit.bits,
                response_start: hit.start,
                response_end: hit.end,
                value_hmac,
                in_own_prompt: self.own.binary_search(&(call, hit.marker)).is_ok(),
            }
        });
        let mut rows: Vec<Row> = rows.collect();
        rows.sort_by_key(|r| {
            let rank = self.subjects[r.exchange as usize].id_rank;
            (rank, r.field.as_str(), r.response_start, r.response_end)
        });
        rows
    }

    fn is_owner(&self, owner: u32, tenant: Option<u32>) -> bool {
        let named = self.tenants.get(owner as usize).copied().flatten();
        named.is_some() && named == tenant
    }

    /// Keeps of the records of a call the first that shows a canary.
    fn choose(&mut self) {
        let subjects = &self.subjects;
        let group = |f: &(u32, Field, Hit)| {
            let s = &subjects[f.0 as usize];
            (s.call, s.choice, f.1, f.2.marker, f.2.writing)
        };
        let rank = |f: &(u32, Field, Hit)| {
            let s = &subjects[f.0 as usize];
            let role = Role::ALL.iter().position(|r| *r == s.role);
            (role, s.t_start, s.id_rank, f.2)
        };
        self.found.sort_unstable_by_key(|f| (group(f), rank(f)));
        self.found.dedup_by_key(|f| group(f));
        self.calls = self
            .found
            .iter()
            .map(|f| subjects[f.0 as usize].call)
            .collect();
        self.calls.sort_unstable();
        self.calls.dedup();
    }
}

impl TextOperator for CanarySearch {
    type Partial = Partial;

    fn next_pass(&self) -> Option<&'static str> {
        match self.pass {
            0 => Some("canaries: answers"),
            1 if !self.calls.is_empty() => Some("canaries: own prompts"),
            _ => None,
        }
    }

    fn wants(&self, exchange: u32) -> bool {
        let Some(s) = self.subjects.get(exchange as usize) else {
            return false;
        };
        match self.pass {
            0 => s.judge,
            1 => self.calls.binary_search(&s.call).is_ok(),
            _ => false,
        }
    }

    fn scan(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut Partial) {
        if !self.wants(exchange) {
            return;
        }
        let subject = &self.subjects[exchange as usize];
        if self.pass == 0 {
            for field in Field::ANSWERS {
                if let Some(tokens) = texts.tokens(field) {
                    out.hits.clear();
                    self.scanner.scan(tokens, &mut out.hits);
                    let foreign = |h: &&Hit| !self.is_owner(h.owner, subject.tenant);
                    let hits = out.hits.iter().filter(foreign);
                    out.found.extend(hits.map(|&hit| (exchange, field, hit)));
                }
            }
        } else if let Some(tokens) = texts.tokens(Field::Prompt) {
            out.hits.clear();
            self.scanner.scan(tokens, &mut out.hits);
            let held = out.hits.iter().map(|h| (subject.call, h.marker));
            out.own.extend(held);
        }
    }

    fn absorb(&mut self, partial: Partial) {
        self.found.extend(partial.found);
        self.own.extend(partial.own);
    }

    fn end_pass(&mut self) {
        if self.pass == 0 {
            self.choose();
        }
        self.pass += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::{CanaryKeys, mint};
    use super::*;
    use crate::exchange::FieldText;
    use crate::operator::TokenBuffers;
    use crate::overlap::Fields;

    fn subject(call: u32, tenant: Option<u32>, role: Role) -> Subject {
        Subject {
            call,
            tenant,
            role,
            choice: 0,
            t_start: Some(i64::from(call)),
            t_end: None,
            id_rank: call * 10 + role as u32,
            judge: true,
            process_start: None,
        }
    }

    fn run(
        keys: &CanaryKeys,
        tenants: Vec<Option<u32>>,
        cases: &[(Subject, String, String)],
    ) -> Vec<Row> {
        let subjects: Vec<Subject> = cases.iter().map(|c| c.0).collect();
        let scanner = Arc::new(Scanner::new(keys));
        let mut search = CanarySearch::new(subjects, scanner, tenants, [1; 32]);
        let mut buffers = TokenBuffers::default();
        while search.next_pass().is_some() {
            for (x, case) in cases.iter().enumerate() {
                let (prompt, response) = (FieldText::of(&case.1), FieldText::of(&case.2));
                let fields = Fields {
                    prompt: Some(&prompt),
                    response: Some(&response),
                    ..Fields::default()
                };
                let mut out = Partial::default();
                search.scan(x as u32, &mut TextView::new(fields, &mut buffers), &mut out);
                search.absorb(out);
            }
            search.end_pass();
        }
        search.finish()
    }

    #[test]
    fn another_tenants_canary_is_a_row_and_ones_own_is_not() {
        let keys = mint(
            &[3; 32],
            &["acme".to_owned(), "nord".to_owned(), "gone".to_owned()],
        );
        let prompts = keys.prompts();
        let text = |owner: &str| {
            prompts
                .iter()
                .find(|p| p.tenant == owner)
                .map(|p| p.prompt.clone())
                .unwrap()
        };
        // Tenants of the log: 0 acme, 1 nord, 2 another one; `gone` takes no part.
        let cases = [
            (
                subject(0, Some(0), Role::Gateway),
                String::new(),
                text("acme"),
            ),
            (
                subject(1, Some(1), Role::Gateway),
                String::new(),
                text("acme"),
            ),
            (
                subject(1, Some(1), Role::Decode),
                String::new(),
                text("acme"),
            ),
            (
                subject(2, Some(2), Role::Gateway),
                text("nord"),
                text("nord"),
            ),
            (
                subject(3, Some(2), Role::Gateway),
                String::new(),
                text("gone"),
            ),
            (subject(4, None, Role::Gateway), String::new(), text("acme")),
            (
                subject(5, Some(1), Role::Gateway),
                String::new(),
                "nothing".to_owned(),
            ),
        ];
        let rows = run(&keys, vec![Some(0), Some(1), None], &cases);
        let got: Vec<(u32, u32, bool)> = rows
            .iter()
            .map(|r| (r.exchange, r.owner, r.in_own_prompt))
            .collect();
        assert_eq!(
            got,
            [(1, 0, false), (3, 1, true), (4, 2, false), (5, 0, false)]
        );
        assert!(
            rows.iter()
                .all(|r| r.whole && r.writing == Writing::Plain && r.bits > 90)
        );
    }
}
