//! Counts and spans against plain ones, and what must not move them.

use super::*;
use crate::exchange::{FieldText, Role};
use crate::operator::TokenBuffers;
use crate::overlap::Fields;
use crate::text::Tokens;
use proptest::prelude::*;
use std::collections::BTreeSet;

pub(crate) struct Item {
    pub subject: Subject,
    pub prompt: FieldText,
    pub response: FieldText,
}

/// An exchange at second `call`, alone in its call.
pub(crate) fn item(call: u32, tenant: u32, prompt: &str, response: &str) -> Item {
    Item {
        subject: Subject {
            call,
            tenant: Some(tenant),
            role: Role::Gateway,
            choice: 0,
            t_start: Some(i64::from(call) * 1_000_000),
            t_end: None,
            id_rank: call,
            judge: true,
            process_start: None,
        },
        prompt: FieldText::of(prompt),
        response: FieldText::of(response),
    }
}

pub(crate) fn subjects(items: &[Item]) -> Vec<Subject> {
    items.iter().map(|i| i.subject).collect()
}

/// Runs an operator over items, in some order and split.
pub(crate) fn run<T: TextOperator>(operator: &mut T, items: &[Item], split: usize, backward: bool) {
    let mut order: Vec<usize> = (0..items.len()).collect();
    if backward {
        order.reverse();
    }
    let mut buffers = TokenBuffers::default();
    while operator.next_pass().is_some() {
        let mut partials = Vec::new();
        for chunk in order.chunks(split) {
            let mut partial = T::Partial::default();
            for &x in chunk.iter().filter(|&&x| operator.wants(x as u32)) {
                let fields = Fields {
                    prompt: Some(&items[x].prompt),
                    response: Some(&items[x].response),
                    ..Fields::default()
                };
                let mut view = TextView::new(fields, &mut buffers);
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

pub(crate) fn stats(items: &[Item], split: usize, backward: bool) -> TokenStats {
    let mut count = TokenCount::new(&subjects(items), StatsLimits::default());
    run(&mut count, items, split, backward);
    count.finish()
}

fn tokens(text: &str) -> Tokens {
    let mut out = Tokens::default();
    crate::text::tokenize(&FieldText::of(text), &mut out);
    out
}

fn bits(stats: &TokenStats, text: &str) -> u64 {
    let tokens = tokens(text);
    let each = |at| u64::from(stats.millibits(&tokens, at, &LeaveOut::default()));
    (0..tokens.len()).map(each).sum()
}

/// Traffic of 12 tenants that say the same in 240 calls.
fn traffic() -> Vec<Item> {
    (0..240)
        .map(|i| {
            let prompt = format!("import numpy as np and tell me about topic{}", i % 40);
            item(
                i,
                i % 12,
                &prompt,
                "sure here is what you asked for 漢字です",
            )
        })
        .collect()
}

#[test]
fn idiom_weighs_little_and_serial_numbers_much() {
    let stats = stats(&traffic(), 7, false);
    assert_eq!(stats.texts(), 240);
    let idiom = bits(
        &stats,
        "import numpy as np and tell me about sure here is what you asked for",
    );
    let serial = bits(&stats, "7KX 42913 QZ 88F2 J9 03177");
    assert!(idiom < 12_000, "{idiom}");
    assert!(serial > 60_000, "{serial}");
    assert!(bits(&stats, "漢字です") * 3 < bits(&stats, "字漢すで"));
}

#[test]
fn a_long_unknown_token_costs_its_spelling() {
    let stats = stats(&traffic(), 7, false);
    assert!(bits(&stats, "AKIA7Q2M9ZXW4RTP1L0V") > 80_000);
    assert!(bits(&stats, &"x1".repeat(10_000)) <= 200_000);
}

#[test]
fn what_only_the_parties_hold_is_not_common() {
    let mut items = traffic();
    // One tenant repeats a text in a hundred calls, as conversations do.
    let leak = "the zebra contract ends in winter";
    for call in 240..340 {
        items.push(item(call, 1, leak, "ok"));
    }
    items.push(item(340, 2, "hello", leak));
    let stats = stats(&items, 50, false);
    let text = tokens(leak);
    let weigh = |leave: &LeaveOut| -> u64 {
        (0..text.len())
            .map(|at| u64::from(stats.millibits(&text, at, leave)))
            .sum()
    };
    let parties = stats.leave_out([240, 340], [1, 2]);
    assert!(weigh(&LeaveOut::default()) * 3 < weigh(&parties));
}

fn span(items: &[Item], exchange: u32, source_exchange: u32, text: &str) -> Span {
    let response = &items[exchange as usize].response.text;
    let from = response.find(text).unwrap() as u32;
    let at = items[source_exchange as usize]
        .prompt
        .text
        .find(text)
        .unwrap() as u32;
    let length = text.len() as u32;
    Span {
        exchange,
        field: Field::Response,
        novel: [(from, from + length)].into(),
        tokens: 10,
        source_exchange,
        source_field: Field::Prompt,
        source: (at, at + length),
    }
}

fn scores(
    items: &[Item],
    spans: &[Span],
    memory: usize,
    split: usize,
    back: bool,
) -> Vec<SpanScore> {
    let stats = Arc::new(stats(items, split, back));
    let mut surprise = Surprise::new(&subjects(items), spans.to_vec(), stats, memory);
    run(&mut surprise, items, split, back);
    surprise.finish()
}

const SECRET: &str = "quartz heron ledger 7781 belongs to Maud";

fn leaks() -> (Vec<Item>, Vec<Span>) {
    let mut items = traffic();
    items.push(item(240, 1, &format!("note: {SECRET}"), "ok"));
    for (call, prompt) in [
        (241, "what time is it"),
        (242, "who owns the quartz heron ledger"),
    ] {
        items.push(item(
            call,
            call - 238,
            prompt,
            &format!("it is so. {SECRET} indeed"),
        ));
    }
    // Another record of the last call holds a prompt too.
    items.push(item(242, 4, "of Maud", ""));
    items.last_mut().unwrap().subject.id_rank = 243;
    let spans = [241, 242].map(|x| span(&items, x, 240, SECRET)).to_vec();
    (items, spans)
}

#[test]
fn the_own_prompt_accounts_for_its_words() {
    let (items, spans) = leaks();
    let found = scores(&items, &spans, 1 << 20, 16, false);
    assert!(found[0].surprise_millibits > 40_000, "{found:?}");
    assert_eq!(found[0].own_fit_permille, 0);
    assert_eq!(found[0].tokens, 7);
    assert_eq!(found[0].prompt_similarity_permille, Some(0));
    assert!((500..900).contains(&found[1].own_fit_permille), "{found:?}");
    assert!(found[1].prompt_similarity_permille > Some(300), "{found:?}");
    let pair = scores(&items, &[Span::of_pair(242, 240)], 1 << 20, 16, false)[0];
    assert_eq!(
        pair.prompt_similarity_permille,
        found[1].prompt_similarity_permille
    );
    assert_eq!((pair.surprise_millibits, pair.tokens), (0, 0));
}

#[test]
fn one_leak_to_seven_is_as_surprising_as_one() {
    let (mut items, mut spans) = leaks();
    let before = scores(&items, &spans, 1 << 20, 16, false)[0].surprise_millibits;
    for call in 244..251 {
        items.push(item(call, call - 240, "hello there", SECRET));
        spans.push(span(&items, items.len() as u32 - 1, 240, SECRET));
    }
    let after = scores(&items, &spans, 1 << 20, 16, false);
    assert!(
        after[0].surprise_millibits * 10 > before * 9,
        "{before} {after:?}"
    );
}

#[test]
fn order_split_and_memory_change_nothing() {
    let (items, spans) = leaks();
    let expected = scores(&items, &spans, 1 << 20, 1000, false);
    for (memory, split, back) in [(1, 1, true), (1 << 20, 5, true), (5000, 3, false)] {
        assert_eq!(scores(&items, &spans, memory, split, back), expected);
    }
}

#[test]
fn one_word_and_lists_of_numbers_weigh_almost_nothing() {
    let mut items = traffic();
    let loops = "glorp ".repeat(500);
    let list: String = (100..400).map(|n| format!("{n}. ")).collect();
    for (call, text) in [(240, &loops), (242, &list)] {
        let text = text.trim_end();
        items.push(item(call, 1, text, "ok"));
        items.push(item(call + 1, 2, "hello", text));
    }
    let spans = [
        span(&items, 241, 240, loops.trim_end()),
        span(&items, 243, 242, list.trim_end()),
    ];
    let found = scores(&items, &spans, 1 << 20, 64, false);
    assert!(found[0].tokens == 500 && found[1].tokens == 300);
    assert!(found[0].surprise_millibits < 530_000, "{found:?}");
    assert!(found[1].surprise_millibits < 330_000, "{found:?}");
    let stats = stats(&items, 64, false);
    assert!(
        bits(
            &stats,
            "a b c d e f g h i j k l m n o p q r s t u v w x y z"
        ) < 60_000
    );
}

#[test]
fn the_sample_is_fair_and_bounded() {
    // One tenant has half of the log; ten thousand tenants send one prompt each.
    let mut items: Vec<Item> = (0..3_000).map(|i| item(i, 0, "big", "")).collect();
    items.extend((0..3_000).map(|i| item(3_000 + i, 1 + i, "small", "")));
    let limits = StatsLimits {
        calls: 1_000,
        ..StatsLimits::default()
    };
    let count = TokenCount::new(&subjects(&items), limits);
    let taken: Vec<usize> = (0..items.len())
        .filter(|&x| count.wants(x as u32))
        .collect();
    assert_eq!(taken.len(), 1_000);
    assert!(taken.iter().filter(|&&x| x < 3_000).count() <= 1);
}

#[test]
fn a_long_text_is_counted_in_blocks() {
    let mut text: String = (0..900_000).map(|n| format!("w{} ", n % 50_000)).collect();
    text.push_str("end");
    let items = [item(0, 0, &text, "x"), item(1, 1, "y", "z")];
    let mut count = TokenCount::new(&subjects(&items), StatsLimits::default());
    run(&mut count, &items, 1, false);
    let stats = count.finish();
    let filled = stats.cells.iter().filter(|c| **c != 0).count();
    assert!((2_000..=4 * 2_048 + 16).contains(&filled), "{filled}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn counts_equal_plain_ones(
        texts in prop::collection::vec((0u32..10, prop::collection::vec(0usize..9, 0..12)), 1..30),
        split in 1usize..9,
        backward in any::<bool>(),
    ) {
        let words = ["a", "b", "c", "dd", "e1", "漢", "字", "x", "y"];
        let say = |w: &[usize]| w.iter().map(|&i| words[i]).collect::<Vec<_>>().join(" ");
        let items: Vec<Item> = texts
            .iter()
            .enumerate()
            .map(|(i, (tenant, w))| item(i as u32, *tenant, &say(w), ""))
            .collect();
        let stats = stats(&items, split, backward);
        let filled: Vec<&(u32, Vec<usize>)> = texts.iter().filter(|t| !t.1.is_empty()).collect();
        prop_assert_eq!(stats.texts() as usize, filled.len());
        let tenants: BTreeSet<u32> = texts.iter().map(|t| t.0).collect();
        let few = tenants.len() < 8;
        let leave = stats.leave_out([0, 1], [texts[0].0]);
        let left = texts.len().min(2) as u32;
        for (a, word) in words.iter().enumerate() {
            let single = tokens(word).hash[0];
            let holders: Vec<u32> =
                filled.iter().filter(|t| t.1.contains(&a)).map(|t| t.0).collect();
            prop_assert_eq!(stats.rarity(single, &LeaveOut::default()), {
                let n = 2 * filled.len() as u64 + 2;
                log2_millibits(n) - log2_millibits(2 * holders.len() as u64 + 1)
            });
            let foreign = holders.iter().any(|&t| t != texts[0].0);
            let counted = (holders.len() as u32).saturating_sub(left);
            let expected = if foreign || few { counted } else { 0 };
            prop_assert_eq!(stats.count(single, &leave), expected);
        }
    }
}
