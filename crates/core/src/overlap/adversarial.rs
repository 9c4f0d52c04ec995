//! Logs made to be expensive: the work must stay linear in their length. What would be quadratic
//! here does not end in the time that anybody waits for a test.

use super::twin::Item;
use super::twin::fast;
use super::*;
use crate::exchange::{FieldText, Role};

fn exchange(call: u32, tenant: u32, prompt: String, response: String) -> Item {
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
        texts: [
            Some(FieldText::of(prompt)),
            Some(FieldText::of(response)),
            None,
            None,
        ],
        prompt_truncated: false,
        response_truncated: false,
    }
}

/// Words that do not repeat.
fn words(seed: u32, count: u32) -> String {
    (0..count).map(|n| format!("w{seed}x{n} ")).collect()
}

/// Rows and passes with an index and without.
fn search(items: &[Item]) -> [(usize, u32); 2] {
    [0, 1 << 18].map(|few| {
        let outcome = fast(items, &Settings::default(), (1 << 28, 16, few), 64);
        (outcome.rows.len(), outcome.stats.passes)
    })
}

#[test]
fn one_prompt_of_ten_thousand_tenants() {
    // Every answer quotes it, and the first 40 words are in every answer.
    let shared = words(0, 300);
    let quote = words(0, 40);
    let items: Vec<Item> = (0..10_000)
        .map(|n| exchange(n, n, shared.clone(), format!("{quote}{}", words(n + 1, 3))))
        .collect();
    for (rows, passes) in search(&items) {
        assert_eq!(rows, 0);
        assert!(passes <= 6, "{passes} passes");
    }
}

#[test]
fn a_secret_that_ten_thousand_answers_of_one_tenant_hold() {
    let secret = words(0, 20);
    let mut items = vec![exchange(0, 0, secret.clone(), "ok".into())];
    items.extend((1..4_000).map(|n| exchange(n, 1, words(n, 2), secret.clone())));
    for (rows, passes) in search(&items) {
        assert_eq!(rows, 3_999);
        assert!(passes <= 6, "{passes} passes");
    }
}

#[test]
fn a_history_that_returns_in_every_turn() {
    // One tenant has half of the log, in one conversation.
    let mut history = String::new();
    let mut items = Vec::new();
    for turn in 0..300 {
        let answer = words(turn, 60);
        items.push(exchange(2 * turn, 0, history.clone(), answer.clone()));
        items.push(exchange(
            2 * turn + 1,
            1 + turn,
            words(1_000 + turn, 60),
            "ok".into(),
        ));
        history.push_str(&answer);
    }
    // The last answer leaks what another tenant wrote.
    items.push(exchange(600, 0, history, words(1_000, 30)));
    for (rows, passes) in search(&items) {
        assert_eq!(rows, 1);
        assert!(passes <= 6, "{passes} passes");
    }
}

#[test]
fn a_giant_prompt_and_answers_that_repeat() {
    let items = [
        exchange(0, 0, words(0, 900_000), "ok".into()),
        exchange(1, 1, "a b ".repeat(300_000), "ok".into()),
        exchange(2, 2, "hi".into(), "a b ".repeat(50_000)),
        exchange(
            3,
            3,
            "hi".into(),
            format!("{} a a a a a a a a a a a", words(0, 5_000)),
        ),
        exchange(4, 4, "a ".repeat(300_000), "a ".repeat(50_000)),
    ];
    for (rows, passes) in search(&items) {
        assert!(rows >= 2, "{rows} rows");
        assert!(passes <= 8, "{passes} passes");
    }
}

#[test]
fn a_long_copy_beside_a_short_one() {
    // What the short copy marks must not hide where the long one goes on.
    let (short, long) = (words(0, 16), words(0, 100));
    for (first, second) in [(&short, &long), (&long, &short)] {
        let items = [
            exchange(0, 0, first.clone(), "ok".into()),
            exchange(1, 1, second.clone(), "ok".into()),
            exchange(2, 2, "hi".into(), format!("{long}and no more")),
        ];
        for few in [0, 1 << 18] {
            let outcome = fast(&items, &Settings::default(), (1 << 28, 16, few), 64);
            let mut tokens: Vec<u32> = outcome.rows.iter().map(|r| r.tokens).collect();
            tokens.sort_unstable();
            assert_eq!(tokens, [16, 100]);
        }
    }
}
