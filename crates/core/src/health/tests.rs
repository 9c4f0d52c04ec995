//! Text health on single texts, and as a whole.

use super::damage::{Characters, characters, template_tokens};
use super::operator::{HealthSubject, Partial, TextHealth};
use super::repetition::{compression, repetition};
use super::*;
use crate::exchange::{FieldText, Role};
use crate::operator::{TextOperator, TextView, TokenBuffers};
use crate::overlap::{Fields, Subject};
use crate::text::{Tokens, tokenize};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn tokens(text: &str) -> Tokens {
    let mut tokens = Tokens::default();
    tokenize(&FieldText::of(text), &mut tokens);
    tokens
}

#[test]
fn loops_are_measured() {
    let table = [
        ("", 0, 1000),
        ("one two three four five six", 0, 1000),
        // Five times four words: the last sixteen repeat what stood four tokens before.
        (&"a1 b2 c3 d4 ".repeat(5), 16, 210),
        (&"so ".repeat(100), 99, 10),
        ("x a b c d y z a b c d w", 4, 727),
    ];
    for (text, loop_tokens, distinct_2) in table {
        let found = repetition(&tokens(text));
        assert_eq!(
            (found.loop_tokens, found.distinct_2),
            (loop_tokens, distinct_2),
            "{text}"
        );
    }
}

#[test]
fn compression_tells_loops_from_prose() {
    let prose = "The quick brown fox jumps over a lazy dog while seven wizards mix potions.";
    assert!(compression(prose.as_bytes()) > 900);
    assert!(compression(prose.repeat(20).as_bytes()) < 200);
    assert!(compression(&[b'a'; 100_000]) < 2);
    assert_eq!(compression(b""), 1000);
    assert_eq!(compression(b"abc"), 1000);
}

#[test]
fn broken_characters_are_counted() {
    let found = characters(
        "ok\t\n\u{fffd}\u{7}\u{85}\u{e000}\u{200b}\u{202e}e\u{301}\u{1f469}\u{200d}\u{1f680}é",
    );
    let expected = Characters {
        all: 16,
        replacement: 1,
        control: 2,
        rare: 3,
    };
    assert_eq!(found, expected);
}

#[test]
fn template_tokens_count_unless_they_were_asked_for() {
    let table = [
        ("plain <b> text | > <| not one |>", None, 0),
        ("done<|im_end|>\n<|im_start|>user", None, 2),
        (
            "done<|im_end|>\n<|im_start|>user",
            Some("what is <|im_end|>?"),
            1,
        ),
        ("[INST] hello [/INST]", None, 2),
        ("[INST]", Some("explain [INST]"), 0),
        ("<\u{ff5c}User\u{ff5c}>", None, 1),
        ("<|", None, 0),
        ("<||>", None, 0),
        ("<|é|>", None, 0),
    ];
    for (text, prompt, count) in table {
        assert_eq!(template_tokens(text, prompt), count, "{text}");
    }
    let many: String = (0..100).map(|n| format!("<|t{n}|>")).collect();
    assert_eq!(template_tokens(&many, Some("<|t1|>")), 99);
}

fn subject(number: u32) -> Subject {
    Subject {
        call: number,
        tenant: None,
        role: Role::Gateway,
        choice: 0,
        t_start: None,
        t_end: None,
        id_rank: 1000 - number,
        judge: true,
        process_start: None,
    }
}

fn run(texts: &[(&str, &str)], places: &[HealthSubject], split: usize) -> Vec<HealthRow> {
    let subjects: Vec<Subject> = (0..texts.len() as u32).map(subject).collect();
    let mut operator = TextHealth::new(subjects, places);
    let mut buffers = TokenBuffers::default();
    assert_eq!(operator.next_pass(), Some("text health"));
    let mut partials: Vec<Partial> = (0..split).map(|_| Partial::default()).collect();
    for (x, (prompt, response)) in texts.iter().enumerate() {
        let (prompt, response) = (FieldText::of(*prompt), FieldText::of(*response));
        let fields = Fields {
            prompt: Some(&prompt),
            response: Some(&response),
            ..Fields::default()
        };
        let mut view = TextView::new(fields, &mut buffers);
        operator.scan(x as u32, &mut view, &mut partials[x % split]);
    }
    partials.into_iter().rev().for_each(|p| operator.absorb(p));
    operator.end_pass();
    assert_eq!(operator.next_pass(), None);
    operator.finish()
}

#[test]
fn writings_and_changes_of_script() {
    let russian = "Сумма двух чисел равна сорока двум и больше ничему. ";
    let english = "The sum of the two numbers is forty two and nothing else. ";
    let half = format!("{}{}", english.repeat(8), russian.repeat(8));
    let rows = run(
        &[
            ("What is the sum of the numbers?", russian),
            ("What is the sum of the numbers?", english),
            ("42?", english),
            ("What is the sum of the numbers?", &half),
            (
                "¿Qué suma tienen los números que están en la lista?",
                english,
            ),
            ("x", ""),
        ],
        &[],
        1,
    );
    let row = |x: u32| rows.iter().find(|r| r.exchange == x).map(|r| r.health);
    let differs: Vec<bool> = (0..5).map(|x| row(x).unwrap().writing_differs()).collect();
    assert_eq!(differs, [true, false, false, false, true]);
    let changes: Vec<u32> = (0..5).map(|x| row(x).unwrap().script_changes).collect();
    assert_eq!(changes, [0, 0, 0, 1, 0]);
    assert_eq!(row(0).unwrap().script_share, 1000);
    assert!(row(5).is_none(), "an empty response has no health");
    // Highest number first: rows follow the rank of the id.
    assert_eq!(rows[0].exchange, 4);
}

#[test]
fn an_answer_is_set_against_its_own_node() {
    let normal: Vec<String> = (0..120)
        .map(|n| {
            (0..20)
                .map(|w| format!("word{} ", (n * 31 + w * 7) % 97))
                .collect()
        })
        .collect();
    let broken = "again and again ".repeat(30);
    let mut texts: Vec<(&str, &str)> = normal.iter().map(|t| ("q", t.as_str())).collect();
    texts[60].1 = &broken;
    let place = |n: usize| HealthSubject {
        node: Some((n % 2) as u32),
        model: Some(0),
    };
    let places: Vec<_> = (0..120).map(place).collect();
    let rows = run(&texts, &places, 1);
    assert_eq!(rows, run(&texts, &places, 5));
    let far = |x: u32| {
        rows.iter()
            .find(|r| r.exchange == x)
            .unwrap()
            .deviations
            .unwrap()
    };
    assert!(far(60).repetition > 10_000 && far(60).distinct > 10_000);
    assert!(far(60).compression > 3_000 && far(60).characters == 0);
    assert!(
        (0..120)
            .filter(|&x| x != 60)
            .all(|x| far(x).repetition < 3_000)
    );
    let few = run(&texts[..49], &places, 1);
    assert!(few.iter().all(|r| r.deviations.is_none()));
}

/// The plain way: each gram against all before it.
fn naive_distinct(tokens: &Tokens, n: usize) -> u32 {
    let grams: Vec<&[u64]> = tokens.hash.windows(n).collect();
    let distinct: BTreeSet<&[u64]> = grams.iter().copied().collect();
    (distinct.len() * 1000)
        .checked_div(grams.len())
        .unwrap_or(1000) as u32
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn distinct_grams_equal_the_plain_count(words in prop::collection::vec(0u8..6, 0..60)) {
        let text: Vec<String> = words.iter().map(|w| format!("w{w}")).collect();
        let tokens = tokens(&text.join(" "));
        let found = repetition(&tokens);
        prop_assert_eq!(found.distinct_2, naive_distinct(&tokens, 2));
        prop_assert_eq!(found.distinct_4, naive_distinct(&tokens, 4));
        prop_assert!(found.loop_tokens as usize <= tokens.len());
    }

    #[test]
    fn no_text_breaks_a_measure(text in "\\PC{0,60}|[<|>\\u{ff5c}a\\u{2581}]{0,40}") {
        let found = characters(&text);
        prop_assert_eq!(found.all as usize, text.chars().count());
        prop_assert!(template_tokens(&text, None) as usize <= text.len());
        prop_assert!(compression(text.as_bytes()) <= 1000);
    }
}
