//! The definition of overlaps, word for word and slowly: what the search must equal.

use super::search::{Partial, Search};
use super::types::{
    Field, Fields, Limits, NOVEL_RANGES, Outcome, Row, Settings, Subject, WINDOW_WEIGHT, existed,
    row_order,
};
use crate::exchange::{FieldText, Role};
use crate::text::Tokens;
use std::collections::{BTreeMap, BTreeSet};

/// One exchange of a small corpus.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub subject: Subject,
    pub texts: [Option<FieldText>; 4],
    pub prompt_truncated: bool,
    pub response_truncated: bool,
}

impl Item {
    pub(crate) fn fields(&self) -> Fields<'_> {
        Fields {
            prompt: self.texts[0].as_ref(),
            response: self.texts[1].as_ref(),
            reasoning: self.texts[2].as_ref(),
            tool: self.texts[3].as_ref(),
            prompt_truncated: self.prompt_truncated,
            response_truncated: self.response_truncated,
        }
    }
}

struct Corpus<'a> {
    subjects: Vec<Subject>,
    tokens: Vec<[Tokens; 4]>,
    settings: &'a Settings,
}

/// The judged text in work.
struct Judged {
    exchange: usize,
    field: Field,
    tenant: u32,
    call: u32,
    t0: i64,
    t1: i64,
}

/// Where a window stands in one exchange.
struct Stand {
    exchange: usize,
    prompt: bool,
    answer: bool,
}

/// A row, its tokens in the judged text, and what decides among equal ones.
type Kept = (Row, (usize, usize), (i64, u32, Field, usize));

/// Runs the search over items in a given order and split.
pub(crate) fn fast(
    items: &[Item],
    settings: &Settings,
    (memory_bytes, room, few): (usize, usize, usize),
    split: usize,
) -> Outcome {
    let subjects: Vec<Subject> = items.iter().map(|i| i.subject).collect();
    let mut search = Search::new(subjects, settings.clone(), Limits { memory_bytes });
    search.room = room;
    search.few = few;
    let mut order: Vec<usize> = (0..items.len()).collect();
    let mut passes = 0;
    while search.next_pass().is_some() {
        for part in order.chunks(split.max(1)) {
            let mut partial = Partial::default();
            for &x in part {
                if search.wants(x as u32) {
                    search.scan(x as u32, &items[x].fields(), &mut partial);
                }
            }
            search.absorb(partial);
        }
        search.end_pass();
        if !order.is_empty() {
            order.rotate_left(split % items.len());
        }
        order.reverse();
        passes += 1;
        assert!(passes < 10_000, "passes do not end");
    }
    search.finish()
}

pub(crate) fn search(items: &[Item], settings: &Settings) -> Vec<Row> {
    let corpus = Corpus {
        subjects: items.iter().map(|i| i.subject).collect(),
        tokens: items
            .iter()
            .map(|item| {
                Field::ALL.map(|field| {
                    let mut out = Tokens::default();
                    item.fields().tokens(field, &mut out);
                    out
                })
            })
            .collect(),
        settings,
    };
    let mut rows = Vec::new();
    for judged in corpus.judged() {
        corpus.rows_of(&judged, &mut rows);
    }
    rows.sort_by(|a, b| row_order(&corpus.subjects, a, b));
    rows
}

fn barrier(tokens: &Tokens, at: usize) -> bool {
    tokens.barriers.iter().any(|b| b.at as usize == at)
}

fn cut(tokens: &Tokens, at: usize) -> bool {
    tokens.barriers.iter().any(|b| b.at as usize == at && b.cut)
}

/// The end of the window at a token.
fn window(tokens: &Tokens, from: usize) -> Option<usize> {
    let mut weight = 0;
    for at in from..tokens.len() {
        if at > from && barrier(tokens, at) {
            return None;
        }
        weight += u32::from(tokens.weight[at]);
        if weight >= WINDOW_WEIGHT {
            return Some(at + 1);
        }
    }
    None
}

fn same(a: &Tokens, i: usize, b: &Tokens, j: usize) -> bool {
    a.folded(i) == b.folded(j)
}

fn holds(text: &Tokens, other: &Tokens, from: usize, to: usize) -> bool {
    (0..text.len()).any(|at| {
        window(text, at).is_some_and(|end| end - at == to - from)
            && (0..to - from).all(|k| same(text, at + k, other, from + k))
    })
}

/// How the tenant of the judged answer stands to a window.
#[derive(Clone, Copy)]
enum Own {
    /// It does not hold it in time.
    Nothing,
    /// A prompt of its own was first.
    Wrote,
    /// An answer to it was first, and owed it to nobody.
    Answered,
    /// An answer to it was first, after another tenant's prompt.
    Owes,
}

impl Corpus<'_> {
    fn judged(&self) -> Vec<Judged> {
        let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (exchange, s) in self.subjects.iter().enumerate() {
            for field in Field::ANSWERS {
                let tokens = &self.tokens[exchange][field as usize];
                if s.judge && s.tenant.is_some() && s.t_start.is_some() && !tokens.is_empty() {
                    let sequence: Vec<Vec<u8>> = (0..tokens.len())
                        .map(|t| tokens.folded(t).to_vec())
                        .collect();
                    groups
                        .entry((s.call, s.choice, field, sequence))
                        .or_default()
                        .push(exchange);
                }
            }
        }
        let mut out = Vec::new();
        for ((call, _, field, _), members) in groups {
            let first = members.into_iter().min_by_key(|&x| {
                let s = &self.subjects[x];
                let role = Role::ALL.iter().position(|r| *r == s.role);
                (role, s.t_start, s.id_rank)
            });
            let exchange = first.unwrap();
            let s = &self.subjects[exchange];
            let t0 = s.t_start.unwrap();
            out.push(Judged {
                exchange,
                field,
                tenant: s.tenant.unwrap(),
                call,
                t0,
                t1: existed(s, t0),
            });
        }
        out
    }

    fn in_range(&self, judged: &Judged, exchange: usize) -> bool {
        let s = &self.subjects[exchange];
        let (from, to) = self
            .settings
            .range(&self.subjects[judged.exchange], judged.t0, judged.t1);
        s.tenant.is_some() && s.t_start.is_some_and(|t| from <= t && t <= to)
    }

    /// The tenants that carry a window independently, and how T itself stands to it.
    fn carriers(&self, judged: &Judged, stands: &[Stand]) -> (BTreeSet<u32>, Own) {
        let in_range: Vec<&Stand> = stands
            .iter()
            .filter(|s| self.in_range(judged, s.exchange))
            .collect();
        let mut first: BTreeMap<u32, (i64, u8, i64)> = BTreeMap::new();
        for stand in &in_range {
            let s = &self.subjects[stand.exchange];
            let (t, tenant) = (s.t_start.unwrap(), s.tenant.unwrap());
            let mut keys = Vec::new();
            if stand.prompt {
                keys.push((t, 0, 0));
            }
            if stand.answer && s.call != judged.call {
                keys.push((t, 1, existed(s, t)));
            }
            for key in keys {
                let least = first.entry(tenant).or_insert(key);
                *least = key.min(*least);
            }
        }
        let mut others = BTreeSet::new();
        let mut own = Own::Nothing;
        for (&tenant, &(t, side, existed)) in &first {
            let independent = side == 0
                || !in_range.iter().any(|y| {
                    let s = &self.subjects[y.exchange];
                    y.prompt && s.tenant != Some(tenant) && s.t_start.unwrap() <= existed
                });
            if tenant == judged.tenant {
                own = match (independent, side) {
                    _ if t > judged.t0 => Own::Nothing,
                    (true, 0) => Own::Wrote,
                    (true, _) => Own::Answered,
                    (false, _) => Own::Owes,
                };
            } else if independent {
                others.insert(tenant);
            }
        }
        (others, own)
    }

    fn rows_of(&self, judged: &Judged, rows: &mut Vec<Row>) {
        let text = &self.tokens[judged.exchange][judged.field as usize];
        let mut explained = vec![false; text.len()];
        let mut owed = vec![false; text.len()];
        let mut answered = Vec::new();
        let mut carriers = BTreeMap::new();
        for from in 0..text.len() {
            let Some(to) = window(text, from) else {
                continue;
            };
            let stands: Vec<Stand> = (0..self.subjects.len())
                .map(|exchange| {
                    let t = &self.tokens[exchange];
                    Stand {
                        exchange,
                        prompt: holds(&t[0], text, from, to),
                        answer: (1..4).any(|f| holds(&t[f], text, from, to)),
                    }
                })
                .collect();
            let own_prompt = stands
                .iter()
                .any(|s| s.prompt && self.subjects[s.exchange].call == judged.call);
            let (others, own) = self.carriers(judged, &stands);
            let common = others.len() > self.settings.max_tenants as usize;
            match own {
                _ if own_prompt || common => explained[from..to].fill(true),
                Own::Wrote => explained[from..to].fill(true),
                Own::Answered => answered.push((from, to)),
                Own::Owes => owed[from..to].fill(true),
                Own::Nothing => {}
            }
            carriers.insert((from, to), others);
        }
        for token in answered.into_iter().flat_map(|(from, to)| from..to) {
            explained[token] |= !owed[token];
        }
        let mut kept: Vec<Kept> = Vec::new();
        for source in 0..self.subjects.len() {
            let s = &self.subjects[source];
            if !self.in_range(judged, source)
                || s.tenant == Some(judged.tenant)
                || s.call == judged.call
            {
                continue;
            }
            for field in Field::ALL {
                let other = &self.tokens[source][field as usize];
                for (i, j, n) in runs(text, other) {
                    let row = self.row(judged, source, field, (i, j, n), &explained, &carriers);
                    if row.novel_weight >= self.settings.store_weight.max(WINDOW_WEIGHT) {
                        let key = (s.t_start.unwrap(), s.id_rank, field, j);
                        kept.push((row, (i, i + n), key));
                    }
                }
            }
        }
        for (row, (from, to), key) in &kept {
            let beaten = kept.iter().any(|(r, (f, t), k)| {
                r.source_tenant == row.source_tenant
                    && f <= from
                    && to <= t
                    && ((f, t) != (from, to) || k < key)
            });
            if !beaten {
                rows.push(row.clone());
            }
        }
    }

    fn row(
        &self,
        judged: &Judged,
        source: usize,
        source_field: Field,
        (i, j, n): (usize, usize, usize),
        explained: &[bool],
        carriers: &BTreeMap<(usize, usize), BTreeSet<u32>>,
    ) -> Row {
        let text = &self.tokens[judged.exchange][judged.field as usize];
        let other = &self.tokens[source][source_field as usize];
        let s = &self.subjects[source];
        let novel: Vec<usize> = (i..i + n).filter(|&t| !explained[t]).collect();
        let windows: Vec<&BTreeSet<u32>> = carriers
            .iter()
            .filter(|((f, t), _)| i <= *f && *t <= i + n && explained[*f..*t].iter().any(|e| !e))
            .map(|(_, c)| c)
            .collect();
        let source_tenant = s.tenant.unwrap();
        Row {
            exchange: judged.exchange as u32,
            source_exchange: source as u32,
            tenant: judged.tenant,
            source_tenant,
            field: judged.field,
            source_field,
            response_start: text.start[i],
            response_end: text.end[i + n - 1],
            source_start: other.start[j],
            source_end: other.end[j + n - 1],
            tokens: n as u32,
            novel_tokens: novel.len() as u32,
            novel_weight: novel.iter().map(|&t| u32::from(text.weight[t])).sum(),
            novel: novel
                .chunk_by(|a, b| a + 1 == *b)
                .take(NOVEL_RANGES)
                .map(|n| (text.start[n[0]], text.end[n[n.len() - 1]]))
                .collect(),
            carriers: windows.iter().map(|c| c.len()).min().unwrap_or(1).max(1) as u32,
            source_carries: windows.iter().all(|c| c.contains(&source_tenant)),
            lag_ms: (judged.t0 - s.t_start.unwrap()).div_euclid(1000),
            order: self.settings.order(s, judged.t0, judged.t1),
            at_cut: cut(text, i) || cut(text, i + n) || cut(other, j) || cut(other, j + n),
            span_hmac: self.settings.span_hmac(text, i, i + n),
        }
    }
}

/// All pairs of equal sequences that extend neither left nor right: (first in a, in b, length).
fn runs(a: &Tokens, b: &Tokens) -> Vec<(usize, usize, usize)> {
    let mut out = Vec::new();
    for i in 0..a.len() {
        for j in 0..b.len() {
            let extends_left =
                i > 0 && j > 0 && !barrier(a, i) && !barrier(b, j) && same(a, i - 1, b, j - 1);
            if !same(a, i, b, j) || extends_left {
                continue;
            }
            let mut n = 1;
            while i + n < a.len()
                && j + n < b.len()
                && !barrier(a, i + n)
                && !barrier(b, j + n)
                && same(a, i + n, b, j + n)
            {
                n += 1;
            }
            out.push((i, j, n));
        }
    }
    out
}
