//! The definition of identifier rows, word for word and slowly: what the search must equal.

use super::extract::extract;
use super::pattern::Patterns;
use super::types::{Found, Row, mask};
use super::value;
use crate::exchange::{FieldText, Role};
use crate::overlap::{Field, Fields, Settings, Subject, existed};
use crate::text::Tokens;
use std::collections::{BTreeMap, BTreeSet};

/// One exchange of a small corpus.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub subject: Subject,
    pub texts: [Option<FieldText>; 4],
}

impl Item {
    pub(crate) fn fields(&self) -> Fields<'_> {
        Fields {
            prompt: self.texts[0].as_ref(),
            response: self.texts[1].as_ref(),
            reasoning: self.texts[2].as_ref(),
            tool: self.texts[3].as_ref(),
            prompt_truncated: false,
            response_truncated: false,
        }
    }

    fn tokens(&self, field: Field) -> Tokens {
        let mut out = Tokens::default();
        self.fields().tokens(field, &mut out);
        out
    }
}

/// Every place of a value in a text: tokens in a row, close together, that spell it.
fn places(tokens: &Tokens, value: &[u8]) -> Option<(u32, u32)> {
    for from in 0..tokens.len() {
        let mut spelt = Vec::new();
        for to in from..tokens.len() {
            let barrier = tokens.barriers.iter().any(|b| b.at as usize == to);
            if to > from && (barrier || tokens.start[to] - tokens.end[to - 1] > value::GAP) {
                break;
            }
            spelt.extend_from_slice(tokens.folded(to));
            if spelt == value {
                return Some((tokens.start[from], tokens.end[to]));
            }
        }
    }
    None
}

/// Occurrence of a value: time, answer, existed, rank, field, start; then who and where.
type Key = (i64, bool, i64, u32, Field, u32);

pub(crate) fn search(items: &[Item], settings: &Settings) -> Vec<Row> {
    let patterns = Patterns::builtin();
    let mut judged: BTreeMap<_, Vec<(_, Found, Vec<u8>)>> = BTreeMap::new();
    for (exchange, item) in items.iter().enumerate() {
        let s = &item.subject;
        if !s.judge || s.tenant.is_none() || s.t_start.is_none() {
            continue;
        }
        for field in Field::ANSWERS {
            let Some(text) = item.fields().get(field).0 else {
                continue;
            };
            let tokens = item.tokens(field);
            let mut candidates = Vec::new();
            extract(patterns, &text.text, &mut candidates);
            for c in candidates {
                let Some(range) = value::tokens_of(&tokens, &c) else {
                    continue;
                };
                let mut spelt = Vec::new();
                value::write(&tokens, range.clone(), &mut spelt);
                let Some(probe) = value::probe(&spelt) else {
                    continue;
                };
                let found = Found {
                    exchange: exchange as u32,
                    field,
                    pattern: c.pattern,
                    start: tokens.start[range.start],
                    end: tokens.end[range.end - 1],
                    bits: c.bits,
                    tail: [spelt[spelt.len() - 2], spelt[spelt.len() - 1]],
                    probe,
                    hmac: value::hmac(&settings.span_key, &spelt),
                };
                let role = Role::ALL.iter().position(|r| *r == s.role);
                let rank = (
                    role,
                    s.t_start,
                    s.id_rank,
                    found.start,
                    u32::MAX - found.end,
                );
                let group = (s.call, s.choice, field, spelt.clone());
                let rank = (rank, found.pattern);
                judged.entry(group).or_default().push((rank, found, spelt));
            }
        }
    }
    let mut rows = Vec::new();
    for members in judged.into_values() {
        let (_, found, spelt) = members.into_iter().min_by_key(|m| m.0).unwrap();
        rows.extend(row(items, settings, &found, &spelt));
    }
    rows.sort_by_key(|r| {
        let place = (r.field.as_str(), r.response_start, r.response_end);
        (
            items[r.exchange as usize].subject.id_rank,
            place,
            r.pattern,
            r.value_hmac,
        )
    });
    rows
}

/// What all texts say about a value, as far as one judged answer is concerned.
#[derive(Default)]
struct Seen {
    in_own_prompt: bool,
    /// First occurrence of each tenant: key, exchange, end.
    firsts: BTreeMap<u32, (Key, usize, u32)>,
    /// Times and tenants of prompts.
    prompts: BTreeSet<(i64, u32)>,
}

fn seen(items: &[Item], own: &Subject, (from, to): (i64, i64), spelt: &[u8]) -> Seen {
    let mut seen = Seen::default();
    for (exchange, item) in items.iter().enumerate() {
        let s = &item.subject;
        for field in Field::ALL {
            let Some((start, end)) = places(&item.tokens(field), spelt) else {
                continue;
            };
            if s.call == own.call {
                seen.in_own_prompt |= field == Field::Prompt;
                continue;
            }
            let (Some(who), Some(t)) = (s.tenant, s.t_start) else {
                continue;
            };
            if t < from || t > to {
                continue;
            }
            let answer = field != Field::Prompt;
            if !answer {
                seen.prompts.insert((t, who));
            }
            let until = if answer { existed(s, t) } else { t };
            let key = (t, answer, until, s.id_rank, field, start);
            let new = (key, exchange, end);
            let first = seen.firsts.entry(who).or_insert(new);
            *first = new.min(*first);
        }
    }
    seen
}

fn row(items: &[Item], settings: &Settings, found: &Found, spelt: &[u8]) -> Option<Row> {
    let patterns = Patterns::builtin();
    let own = &items[found.exchange as usize].subject;
    let (tenant, t0) = (own.tenant?, own.t_start?);
    let t1 = existed(own, t0);
    let seen = seen(items, own, settings.range(own, t0, t1), spelt);
    let (in_own_prompt, mut firsts, prompts) = (seen.in_own_prompt, seen.firsts, seen.prompts);
    let carries = |who: u32, key: &Key| {
        !key.1
            || !prompts
                .iter()
                .any(|(t, other)| *other != who && *t <= key.2)
    };
    let mine = firsts.remove(&tenant);
    let in_own_history = mine.is_some_and(|(key, ..)| carries(tenant, &key) && key.0 <= t1);
    let carriers = firsts
        .iter()
        .filter(|(who, f)| carries(**who, &f.0))
        .count() as u32;
    let (who, (key, exchange, end)) = firsts
        .iter()
        .min_by_key(|(who, f)| (!carries(**who, &f.0), f.0))?;
    let source = &items[*exchange].subject;
    Some(Row {
        exchange: found.exchange,
        source_exchange: *exchange as u32,
        tenant,
        source_tenant: *who,
        field: found.field,
        source_field: key.4,
        kind: patterns.kind(found.pattern),
        pattern: patterns.id(found.pattern),
        value_hmac: found.hmac,
        masked: mask(found),
        value_bits: found.bits,
        checked: patterns.has_check_digit(found.pattern),
        response_start: found.start,
        response_end: found.end,
        source_start: key.5,
        source_end: *end,
        in_own_prompt,
        in_own_history,
        carriers,
        source_carries: carries(*who, key),
        lag_ms: (t0 - key.0).div_euclid(1000),
        order: settings.order(source, t0, t1),
    })
}
