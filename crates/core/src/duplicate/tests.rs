//! Twins by name, and equal texts against a plain search.

use super::*;
use crate::exchange::FieldText;
use crate::surprise::tests::{Item, item, run, stats, subjects};
use crate::text::Tokens;
use proptest::prelude::*;

/// An answer of 60 words that depends on a number.
fn answer(n: u32) -> String {
    (0..60)
        .map(|w| format!("word{} ", (w * 7919 + n * 104_729) % 5_000))
        .collect()
}

fn rows_of(items: &[Item], hours: i64, split: usize, backward: bool) -> Vec<DuplicateRow> {
    let stats = Arc::new(stats(items, 8, false));
    let settings = Settings {
        look_back: hours * 3_600_000_000,
        ..Settings::default()
    };
    let mut duplicates = Duplicates::new(subjects(items), settings, stats);
    run(&mut duplicates, items, split, backward);
    duplicates.finish()
}

fn rows(items: &[Item]) -> Vec<DuplicateRow> {
    rows_of(items, 24, 3, false)
}

#[test]
fn equal_answers_to_different_prompts() {
    let items = [
        item(0, 1, "how do herons sleep", &answer(1)),
        item(5, 2, "price of granite in winter", &answer(1)),
        item(9, 3, "something else", &answer(2)),
    ];
    let mut items = items;
    for (rank, i) in items.iter_mut().enumerate() {
        i.subject.id_rank = rank as u32;
    }
    let found = rows(&items);
    assert_eq!(found.len(), 1);
    let row = found[0];
    assert_eq!((row.exchange, row.other_exchange, row.tokens), (1, 0, 60));
    assert_eq!((row.same_text, row.same_prompt), (true, Some(false)));
    assert_eq!(row.prompt_similarity_permille, Some(0));
    assert_eq!(
        (row.tenants, row.lag_ms, row.similarity_permille),
        (2, 5_000, 1000)
    );
}

#[test]
fn near_equal_answers_and_the_same_question() {
    let near = answer(1).replacen("word", "other", 3);
    let items = [
        item(0, 1, "how do herons sleep", &answer(1)),
        item(1, 2, "how do herons sleep", &near),
    ];
    let found = rows(&items);
    assert_eq!(found.len(), 1);
    assert!(!found[0].same_text);
    assert!(
        (700..1000).contains(&found[0].similarity_permille),
        "{found:?}"
    );
    assert_eq!(found[0].same_prompt, Some(true));
    assert_eq!(found[0].prompt_similarity_permille, Some(1000));
}

#[test]
fn retries_choices_short_and_old_answers_make_no_row() {
    let mut items = [
        item(0, 1, "a question", &answer(1)),
        item(1, 1, "a question", &answer(1)),
        item(1, 2, "a question", &answer(1)),
        item(3, 3, "b", "no"),
        item(4, 4, "b", "no"),
        item(90_000, 5, "c", &answer(1)),
    ];
    // The third record is of the call of the second one, under another name.
    for (rank, i) in items.iter_mut().enumerate() {
        i.subject.id_rank = rank as u32;
    }
    let found = rows(&items);
    assert_eq!(found, []);
    assert_eq!(rows_of(&items, 48, 3, false).len(), 1);
}

#[test]
fn boilerplate_shows_its_tenants() {
    let items: Vec<Item> = (0..2_000)
        .map(|i| item(i, i, &format!("q{i}"), &answer(7)))
        .collect();
    let found = rows(&items);
    assert_eq!(found.len(), 1_999);
    assert_eq!(found[0].tenants, 2);
    assert_eq!(found[1_998].tenants, 2_000);
    assert!(found.iter().all(|r| r.other_exchange == 0));
}

#[test]
fn estimates_are_near_the_truth() {
    let text = |from: usize, to: usize| -> Tokens {
        let words: String = (from..to).map(|n| format!("w{n} ")).collect();
        let mut out = Tokens::default();
        crate::text::tokenize(&FieldText::of(words), &mut out);
        out
    };
    let a = bottom(&text(0, 3_000));
    for (from, share) in [(0, 1000), (1_000, 500), (3_000, 0)] {
        let found = jaccard_permille(&a, &bottom(&text(from, 3_000 + from)));
        assert!(found.abs_diff(share) < 120, "{found} {share}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn equal_texts_equal_the_naive_search(
        calls in prop::collection::vec((0u32..4, 0u32..3, 0u32..40), 1..16),
        split in 1usize..5,
        backward in any::<bool>(),
    ) {
        let mut items: Vec<Item> = calls
            .iter()
            .map(|&(tenant, n, hour)| item(hour * 3_600, tenant, "q", &answer(n)))
            .collect();
        for (at, i) in items.iter_mut().enumerate() {
            (i.subject.id_rank, i.subject.call) = (at as u32, at as u32);
        }
        let order = |i: &Item| (i.subject.t_start, i.subject.id_rank);
        let mut naive = Vec::new();
        for (at, judged) in items.iter().enumerate() {
            let from = judged.subject.t_start.unwrap() - 24 * 3_600_000_000;
            let twin = items
                .iter()
                .enumerate()
                .filter(|(_, o)| {
                    o.subject.tenant != judged.subject.tenant
                        && o.response.text == judged.response.text
                        && order(o) < order(judged)
                        && o.subject.t_start.unwrap() >= from
                })
                .min_by_key(|(_, o)| order(o));
            naive.extend(twin.map(|(o, _)| (at as u32, o as u32)));
        }
        let found: Vec<(u32, u32)> = rows_of(&items, 24, split, backward)
            .iter()
            .map(|r| (r.exchange, r.other_exchange))
            .collect();
        prop_assert_eq!(found, naive);
    }
}
