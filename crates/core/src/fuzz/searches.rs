//! Searches over small logs: against their definitions, or in two orders, splits and memories.

use super::input::{Input, with_borders};
use crate::duplicate::Duplicates;
use crate::exchange::Role;
use crate::facts::{FactKind, FactOverlap};
use crate::health::{HealthSubject, TextHealth};
use crate::identifiers::{Identifiers, Patterns, twin as identifiers_twin};
use crate::mosaic::{Mosaic, MosaicKind};
use crate::operator::{TextOperator, TextView, TokenBuffers};
use crate::overlap::twin::{self, Item};
use crate::overlap::{Limits, Settings, Subject};
use crate::surprise::{StatsLimits, TokenCount, TokenStats};
use crate::text::KEPT;
use std::sync::Arc;

/// Exchanges of a log: definitions are slow.
const MOST_ITEMS: usize = 8;

/// Words of a small alphabet, so that repeats and shared text happen.
const WORDS: [&str; 56] = [
    "a",
    "b",
    "c",
    "D",
    "d",
    "e\u{301}",
    "\u{e9}",
    "漢",
    "字",
    "ก็",
    "12",
    "x",
    "y",
    "the quick brown fox jumps over a lazy dog",
    "a a a a a a a a",
    "x y x y x y x y",
    "漢字漢字漢字漢字漢字漢字漢字",
    "fox jumps over a lazy dog again",
    "one two three four five six seven",
    "eight nine ten eleven twelve",
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "lazy",
    "dog",
    ".",
    ",",
    "\n",
    "\\n",
    "-",
    "\u{200b}",
    "K7X2MVZ9LBT4WRP6Q",
    "k7x2mvz9-lbt4wrp6q",
    "4532 8719 0264 7182",
    "4532871902647182",
    "marta.kowalczyk@nordwind-logistik.de",
    "/srv/k3x9q2/m8z7w5t1q9/deploy.key",
    "m8z7w5t1q9",
    "+49 30 901820",
    "2026-09-11",
    "11 September 2026",
    "681,280",
    "681.280 EUR",
    "Tromso",
    "heron",
    "quartz ledgers",
    "Maud Ellery",
    "\u{1f469}\u{200d}\u{1f680}",
    "\u{fffd}",
    "<|im_end|>",
    "[INST]",
    "ＡＢＣ",
    "\u{ff11}\u{ff12}",
];

/// One text: a byte with the number of words, the words, and borders for few of them.
fn text(input: &mut Input<'_>, most: u8) -> String {
    let count = 1 + input.below(most);
    let mut out = String::new();
    for _ in 0..count {
        let byte = input.byte();
        out.push_str(WORDS[usize::from(byte) % WORDS.len()]);
        // Most words stand apart.
        if byte < 224 {
            out.push(' ');
        }
    }
    out
}

fn item(input: &mut Input<'_>, number: usize, words: u8) -> Item {
    let who = input.byte();
    let when = input.byte();
    let shape = input.byte();
    let t_start = (when < 240).then(|| i64::from(when % 32) * 1000);
    let length = i64::from(shape % 8);
    let mut texts = [const { None }; 4];
    for (field, bits) in [(0, 0b1), (1, 0b10), (2, 0b1100), (3, 0b11_0000)] {
        if who & bits == bits {
            let places = if shape & 64 > 0 { input.take(4) } else { &[] };
            texts[field] = Some(with_borders(text(input, words), places));
        }
    }
    let tenant = u32::from(input.below(7));
    let call = input.below(12);
    Item {
        subject: Subject {
            call: if call < 6 {
                u32::from(call)
            } else {
                100 + number as u32
            },
            tenant: (tenant < 6).then_some(tenant),
            role: Role::ALL[usize::from(who >> 6) % Role::ALL.len()],
            choice: u32::from(shape & 8 > 0),
            t_start,
            t_end: t_start
                .filter(|_| length > 0)
                .map(|t| t + length * 1000 - 500),
            id_rank: number as u32,
            judge: shape & 128 == 0,
            // Of some, the process was started in their look-back, of others before it.
            process_start: t_start
                .filter(|_| shape & 64 > 0)
                .map(|t| t - length * 7_000),
        },
        texts,
        prompt_truncated: shape & 16 > 0,
        response_truncated: shape & 32 > 0,
    }
}

fn items(input: &mut Input<'_>, words: u8) -> Vec<Item> {
    let backward = input.byte() & 1 > 0;
    let mut out = Vec::new();
    while out.len() < MOST_ITEMS && !input.is_empty() {
        out.push(item(input, out.len(), words));
    }
    let count = out.len() as u32;
    for item in out.iter_mut().filter(|_| backward) {
        item.subject.id_rank = count - 1 - item.subject.id_rank;
    }
    out
}

fn settings(input: &mut Input<'_>) -> Settings {
    Settings {
        look_back: input.of(&[5_000, 12_000, 1_000_000]),
        clock_tolerance: input.of(&[0, 2_000]),
        max_tenants: u32::from(input.below(4)),
        store_weight: input.of(&[12, 13, 16, 20, 24]),
        span_key: [7; 32],
    }
}

/// Few bits of a hash, so that they collide.
struct Weakened;

impl Weakened {
    fn to(kept: u64) -> Weakened {
        KEPT.set(kept);
        Weakened
    }
}

impl Drop for Weakened {
    fn drop(&mut self) {
        KEPT.set(u64::MAX);
    }
}

/// The overlap search against its definition, also with hashes that collide.
pub(super) fn overlap(data: &[u8]) {
    let mut input = Input::new(data);
    let settings = settings(&mut input);
    let memory = input.of(&[0, 3_000, 1 << 24]);
    let room = 1 + usize::from(input.below(3));
    let split = 1 + usize::from(input.below(11));
    let few = input.of(&[0, 1 << 18]);
    let kept = input.of(&[u64::MAX, u64::MAX, 0, 1 << 40, 5 << 40, 0x100_0000_0001]);
    let items = items(&mut input, 12);
    if items.is_empty() {
        return;
    }
    let expected = twin::search(&items, &settings);
    let _weakened = Weakened::to(kept);
    let outcome = twin::fast(&items, &settings, (memory, room, few), split);
    assert!(
        outcome.rows == expected,
        "other rows than by the definition"
    );
}

/// Runs an operator over items, in some order and split.
fn drive<T: TextOperator>(operator: &mut T, items: &[Item], split: usize, backward: bool) {
    let mut order: Vec<usize> = (0..items.len()).collect();
    if backward {
        order.reverse();
    }
    let mut buffers = TokenBuffers::default();
    let mut passes = 0;
    while operator.next_pass().is_some() {
        passes += 1;
        assert!(passes < 10_000, "passes do not end");
        let mut partials = Vec::new();
        for chunk in order.chunks(split) {
            let mut partial = T::Partial::default();
            for &x in chunk.iter().filter(|&&x| operator.wants(x as u32)) {
                let mut view = TextView::new(items[x].fields(), &mut buffers);
                operator.scan(x as u32, &mut view, &mut partial);
            }
            partials.push(partial);
        }
        if backward {
            partials.reverse();
        }
        for partial in partials {
            operator.absorb(partial);
        }
        operator.end_pass();
    }
}

fn subjects(items: &[Item]) -> Vec<Subject> {
    items.iter().map(|i| i.subject).collect()
}

fn stats(items: &[Item], split: usize, backward: bool) -> TokenStats {
    let limits = StatsLimits {
        memory_bytes: 1 << 14,
        ..StatsLimits::default()
    };
    let mut count = TokenCount::new(&subjects(items), limits);
    drive(&mut count, items, split, backward);
    count.finish()
}

/// The search for identifiers against its definition.
pub(super) fn identifiers(data: &[u8]) {
    let mut input = Input::new(data);
    let settings = settings(&mut input);
    let split = 1 + usize::from(input.below(4));
    let backward = input.byte() & 1 > 0;
    let mut items = items(&mut input, 4);
    for item in &mut items {
        // The definition knows whole texts only.
        (item.prompt_truncated, item.response_truncated) = (false, false);
    }
    let plain: Vec<identifiers_twin::Item> = items
        .iter()
        .map(|i| identifiers_twin::Item {
            subject: i.subject,
            texts: i.texts.clone(),
        })
        .collect();
    let expected = identifiers_twin::search(&plain, &settings);
    for memory_bytes in [1 << 20, 20_000] {
        let mut search = Identifiers::new(
            subjects(&items),
            settings.clone(),
            Limits { memory_bytes },
            Patterns::builtin(),
        );
        drive(&mut search, &items, split, backward);
        assert!(
            search.finish().rows == expected,
            "other rows than by the definition"
        );
    }
}

/// Mosaics and facts: order, split and memory change nothing.
pub(super) fn probe(data: &[u8]) {
    let mut input = Input::new(data);
    let settings = settings(&mut input);
    let split = 1 + usize::from(input.below(4));
    let items = items(&mut input, 16);
    let run = |split: usize, backward: bool, memory: usize| {
        let stats = Arc::new(stats(&items, split, backward));
        let kind = MosaicKind::new(stats.clone());
        let mut mosaic = Mosaic::new(subjects(&items), settings.clone(), kind, memory);
        drive(&mut mosaic, &items, split, backward);
        let kind = FactKind::new(stats);
        let mut facts = FactOverlap::new(subjects(&items), settings.clone(), kind, memory);
        drive(&mut facts, &items, split, backward);
        (mosaic.finish(), facts.finish())
    };
    let roomy = run(MOST_ITEMS, false, 1 << 24);
    assert!(
        roomy == run(split, true, 1 << 24),
        "order or split make a difference"
    );
    for row in roomy.0.iter().chain(&roomy.1) {
        let (own, other) = (
            &items[row.exchange as usize].subject,
            &items[row.source_exchange as usize].subject,
        );
        assert!(
            own.judge && own.tenant.is_some() && own.call != other.call,
            "no row of these"
        );
        assert!(own.tenant != other.tenant, "a tenant leaks to itself");
    }
}

/// Twins among answers: order and split change nothing.
pub(super) fn duplicate(data: &[u8]) {
    let mut input = Input::new(data);
    let settings = settings(&mut input);
    let split = 1 + usize::from(input.below(4));
    let kept = input.of(&[u64::MAX, u64::MAX, 5 << 40]);
    let items = items(&mut input, 24);
    let _weakened = Weakened::to(kept);
    let run = |split: usize, backward: bool| {
        let stats = Arc::new(stats(&items, split, backward));
        let mut search = Duplicates::new(subjects(&items), settings.clone(), stats);
        drive(&mut search, &items, split, backward);
        search.finish()
    };
    let rows = run(MOST_ITEMS, false);
    assert!(rows == run(split, true), "order or split make a difference");
    for row in &rows {
        assert!(row.exchange != row.other_exchange && row.similarity_permille <= 1000);
    }
}

/// Text health: order and split change nothing, and shares are shares.
pub(super) fn health(data: &[u8]) {
    let mut input = Input::new(data);
    let split = 1 + usize::from(input.below(4));
    let items = items(&mut input, 32);
    let places: Vec<HealthSubject> = (0..items.len())
        .map(|at| HealthSubject {
            node: Some(at as u32 % 2),
            model: Some(0),
        })
        .collect();
    let run = |split: usize, backward: bool| {
        let mut health = TextHealth::new(subjects(&items), &places);
        drive(&mut health, &items, split, backward);
        health.finish()
    };
    let rows = run(MOST_ITEMS, false);
    assert!(rows == run(split, true), "order or split make a difference");
    for row in &rows {
        let h = &row.health;
        assert!(h.distinct_2 <= 1000 && h.distinct_4 <= 1000 && h.script_share <= 1000);
        assert!(h.loop_tokens <= h.tokens && h.characters <= h.bytes);
    }
}
