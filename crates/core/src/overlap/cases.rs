//! Named cases of the definition, each with the rows it must give.

use super::twin::fast;
use super::twin::{self, Item};
use super::*;
use crate::exchange::{Border, BorderKind, FieldText, Role};

const SECRET: &str = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu";
const SECOND: i64 = 1_000_000;

/// One exchange of call `call`: start in seconds, five seconds long.
fn exchange(call: u32, tenant: u32, start: i64, prompt: &str, response: &str) -> Item {
    Item {
        subject: Subject {
            call,
            tenant: Some(tenant),
            role: Role::Gateway,
            choice: 0,
            t_start: Some(start * SECOND),
            t_end: Some((start + 5) * SECOND),
            id_rank: 0,
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

/// Rows of search and twin, which must be equal.
fn rows_with(items: &mut [Item], settings: &Settings) -> Vec<Row> {
    for (at, item) in items.iter_mut().enumerate() {
        item.subject.id_rank = at as u32;
    }
    let expected = twin::search(items, settings);
    for (memory, room, few, split) in [
        (1 << 26, 16, 0, 100),
        (1 << 26, 16, 1 << 18, 100),
        (0, 1, 0, 1),
    ] {
        let outcome = fast(items, settings, (memory, room, few), split);
        assert_eq!(outcome.rows, expected);
    }
    expected
}

fn rows(items: &mut [Item]) -> Vec<Row> {
    rows_with(items, &Settings::default())
}

/// Judged exchange, source exchange, tokens, unexplained tokens, carriers, source carries.
fn short(rows: &[Row]) -> Vec<(u32, u32, u32, u32, u32, bool)> {
    rows.iter()
        .map(|r| {
            (
                r.exchange,
                r.source_exchange,
                r.tokens,
                r.novel_tokens,
                r.carriers,
                r.source_carries,
            )
        })
        .collect()
}

#[test]
fn a_leak_gives_one_row_with_all_columns() {
    let answer = format!("sure: {SECRET}. bye");
    let mut items = [
        exchange(0, 1, 0, &format!("note {SECRET}!"), "thanks"),
        exchange(1, 2, 60, "hello", &answer),
    ];
    let found = rows(&mut items);
    let mut hasher = blake3::Hasher::new_keyed(&[0; 32]);
    hasher.update(SECRET.as_bytes());
    let expected = Row {
        exchange: 1,
        source_exchange: 0,
        tenant: 2,
        source_tenant: 1,
        field: Field::Response,
        source_field: Field::Prompt,
        response_start: 6,
        response_end: 6 + SECRET.len() as u32,
        source_start: 5,
        source_end: 5 + SECRET.len() as u32,
        tokens: 13,
        novel_tokens: 13,
        novel_weight: 26,
        novel: [(6, 6 + SECRET.len() as u32)].into(),
        carriers: 1,
        source_carries: true,
        lag_ms: 60_000,
        order: TimeOrder::Before,
        at_cut: false,
        span_hmac: hasher.finalize().as_bytes()[..16].try_into().unwrap(),
    };
    assert_eq!(found, [expected]);
}

#[test]
fn own_history_contaminated_by_an_earlier_leak() {
    // Tenant 2 got the text at 60 in a leak, talks about it at 120, and gets it again at 180: the
    // talk does not make it an independent carrier. The prompt of the call itself does explain.
    let mut items = [
        exchange(0, 1, 0, SECRET, "ok"),
        exchange(1, 2, 60, "hi", SECRET),
        exchange(2, 2, 120, &format!("what is {SECRET}"), SECRET),
        exchange(3, 2, 180, "again", SECRET),
    ];
    let found = short(&rows(&mut items));
    assert_eq!(found, [(1, 0, 13, 13, 1, true), (3, 0, 13, 13, 1, true)]);
}

#[test]
fn a_retry_of_a_short_leak_is_judged_like_the_first() {
    // The windows that straddle the ends of the leak were first met in tenant 2's own answer and
    // owe nobody anything. They must not explain the leak's edges: thirteen words would shrink to
    // three, and every retry of a short leak would vanish.
    let answer = format!("now our own words stand here {SECRET} and more own words end it");
    let mut items = [
        exchange(0, 1, 0, &format!("note {SECRET}!"), "thanks"),
        exchange(1, 2, 60, "hello", &answer),
        exchange(2, 2, 120, "hello", &answer),
    ];
    let found = short(&rows(&mut items));
    assert_eq!(found, [(1, 0, 13, 13, 1, true), (2, 0, 13, 13, 1, true)]);
}

#[test]
fn own_earlier_text_explains() {
    let mut items = [
        exchange(0, 2, 0, SECRET, "ok"),
        exchange(1, 1, 30, SECRET, "ok"),
        exchange(2, 2, 60, "hi", SECRET),
    ];
    assert_eq!(rows(&mut items), []);
}

#[test]
fn a_follow_up_before_the_answer_has_ended_explains_nothing() {
    // The answer at 60 ends at 65 by the log; its reader quotes it in another call at 62.
    let quote = format!("you said {SECRET}");
    for (follow_up, leaks) in [(62, 1), (64, 1), (59, 0)] {
        let mut items = [
            exchange(0, 1, 0, SECRET, "thanks"),
            exchange(1, 2, 60, "hello", &format!("sure: {SECRET}")),
            exchange(2, 2, follow_up, &quote, "so i did"),
        ];
        assert_eq!(short(&rows(&mut items)).len(), leaks, "{follow_up}");
    }
}

#[test]
fn a_text_of_many_tenants_explains() {
    let mut items: Vec<Item> = (0..4)
        .map(|t| exchange(t, t, i64::from(t), SECRET, "ok"))
        .collect();
    items.push(exchange(9, 9, 60, "hi", SECRET));
    assert_eq!(rows(&mut items), []);
    items.remove(0);
    let found = short(&rows(&mut items));
    let expected = [0, 1, 2].map(|source| (3, source, 13, 13, 3, true));
    assert_eq!(found, expected);
}

#[test]
fn one_source_to_seven_victims_of_whom_three_talk_on() {
    let mut items = vec![exchange(0, 0, 0, SECRET, "ok")];
    for victim in 1..=7 {
        let start = 60 * i64::from(victim);
        items.push(exchange(victim, victim, start, "hi", SECRET));
    }
    for victim in 1..=3 {
        let start = 90 + 60 * i64::from(victim);
        let talk = format!("tell me more of {SECRET}");
        items.push(exchange(10 + victim, victim, start, &talk, "no"));
    }
    let found = rows(&mut items);
    // Every victim has its row from the owner, and one from each victim before it.
    let owner: Vec<u32> = found
        .iter()
        .filter(|r| r.source_tenant == 0)
        .map(|r| r.exchange)
        .collect();
    assert_eq!(owner, [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(found.len(), 7 + 6 + 5 + 4 + 3 + 2 + 1);
    for row in &found {
        assert_eq!((row.carriers, row.novel_tokens), (1, 13));
        assert_eq!(row.source_carries, row.source_tenant == 0);
    }
}

#[test]
fn gateway_and_decode_copies_are_judged_once() {
    let mut items = [
        exchange(0, 1, 0, SECRET, "ok"),
        exchange(1, 2, 61, "hi", SECRET),
        exchange(1, 2, 60, "hi", SECRET),
        exchange(1, 2, 59, "hi", &format!("{SECRET} xi")),
    ];
    items[1].subject.role = Role::Gateway;
    items[2].subject.role = Role::Decode;
    items[3].subject.role = Role::Decode;
    let found = short(&rows(&mut items));
    // Exchange 3 says something else: another judged text.
    assert_eq!(found, [(1, 0, 13, 13, 1, true), (3, 0, 13, 13, 1, true)]);
    let outcome = fast(&items, &Settings::default(), (1 << 20, 16, 0), 2);
    let firsts: Vec<(u32, u32)> = outcome
        .judged
        .iter()
        .map(|j| (j.exchange, j.first))
        .collect();
    assert_eq!(firsts, [(0, 0), (1, 1), (2, 1), (3, 3)]);
}

#[test]
fn at_equal_starts_a_prompt_is_first() {
    let mut items = [
        exchange(0, 1, 60, SECRET, "ok"),
        exchange(1, 2, 60, "hi", SECRET),
    ];
    let found = rows(&mut items);
    assert_eq!(short(&found), [(1, 0, 13, 13, 1, true)]);
    assert_eq!((found[0].order, found[0].lag_ms), (TimeOrder::Overlap, 0));
}

#[test]
fn writing_forms_do_not_matter() {
    let pairs = [
        (
            "caf\u{e9} na\u{ef}ve r\u{e9}sum\u{e9} \u{fc}ber stra\u{df}e \u{e5}ngstr\u{f6}m se\u{f1}or ma\u{f1}ana",
            "cafe\u{301} nai\u{308}ve re\u{301}sume\u{301} u\u{308}ber STRASSE A\u{30a}ngstro\u{308}m sen\u{303}or man\u{303}ana",
        ),
        (
            "\u{ff76}\u{ff9e}\u{ff77}\u{ff9e}\u{ff78}\u{ff9e}\u{ff79}\u{ff9e}\u{ff7a}\u{ff9e}\u{ff7b}\u{ff9e}\u{ff7c}\u{ff9e}\u{ff7d}\u{ff9e}\u{ff7e}\u{ff9e}\u{ff7f}\u{ff9e}\u{ff80}\u{ff9e}\u{ff81}\u{ff9e}\u{ff82}\u{ff9e}\u{ff83}\u{ff9e}\u{ff84}\u{ff9e}\u{ff8a}\u{ff9e}",
            "\u{30ac}\u{30ae}\u{30b0}\u{30b2}\u{30b4}\u{30b6}\u{30b8}\u{30ba}\u{30bc}\u{30be}\u{30c0}\u{30c2}\u{30c5}\u{30c7}\u{30c9}\u{30d0}",
        ),
        (
            "\u{130}stanbul \u{130}zmir \u{130}znik \u{130}nebolu \u{130}skenderun \u{130}negol \u{130}pek \u{130}spir",
            "i\u{307}STANBUL I\u{307}zmir i\u{307}znik i\u{307}nebolu i\u{307}skenderun i\u{307}negol i\u{307}pek i\u{307}spir",
        ),
        (
            "one \"two\" three\nfour five\tsix seven eight \u{2014} nine",
            "one \\\"two\\\" three\\nfour five\\tsix seven eight \\u2014 nine",
        ),
    ];
    for (a, b) in pairs {
        for (prompt, answer) in [(a, b), (b, a)] {
            let mut items = [
                exchange(0, 1, 0, prompt, "ok"),
                exchange(1, 2, 60, "hi", answer),
            ];
            let found = rows(&mut items);
            assert_eq!(found.len(), 1, "{prompt}");
            assert_eq!(found[0].response_end as usize, answer.len());
            assert_eq!(found[0].source_end as usize, prompt.len());
            assert!(found[0].novel_weight >= 16);
        }
    }
}

#[test]
fn novel_words_beside_a_quote() {
    // Eleven words that only the owner has, beside ten that the own prompt quotes: the run is
    // whole, and only the eleven count.
    let quote = "we hold these truths to be self evident that all";
    let novel = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda";
    let both = format!("{quote} {novel}");
    let mut items = [
        exchange(0, 1, 0, &both, "ok"),
        exchange(1, 2, 60, quote, &format!("well, {both}.")),
    ];
    let found = rows(&mut items);
    assert_eq!(short(&found), [(1, 0, 21, 11, 1, true)]);
    assert_eq!(found[0].novel_weight, 22);
    // One chance neighbour of a quote is no leak.
    let chance = format!("{quote} the");
    let mut items = [
        exchange(0, 1, 0, &chance, "ok"),
        exchange(1, 2, 60, quote, &chance),
    ];
    assert_eq!(rows(&mut items), []);
}

#[test]
fn two_diagonals_in_one_repeat() {
    let mut items = [
        exchange(0, 1, 0, &"a ".repeat(9), "ok"),
        exchange(1, 2, 60, "hi", &"a ".repeat(10)),
    ];
    let found: Vec<_> = rows(&mut items)
        .iter()
        .map(|r| (r.response_start, r.response_end, r.source_start, r.tokens))
        .collect();
    assert_eq!(found, [(0, 17, 0, 9), (2, 19, 0, 9)]);
    // The other way round the whole answer lies in the prompt, and the first place is named.
    let mut items = [
        exchange(0, 1, 0, &"a ".repeat(10), "ok"),
        exchange(1, 2, 60, "hi", &"a ".repeat(9)),
    ];
    let found: Vec<_> = rows(&mut items)
        .iter()
        .map(|r| (r.response_start, r.response_end, r.source_start, r.tokens))
        .collect();
    assert_eq!(found, [(0, 17, 0, 9)]);
}

#[test]
fn ten_repeats_of_a_prompt_give_one_row() {
    let mut items: Vec<Item> = (0..10)
        .map(|at| exchange(at, 1, i64::from(at), SECRET, "ok"))
        .collect();
    items.push(exchange(10, 2, 60, "hi", SECRET));
    assert_eq!(short(&rows(&mut items)), [(10, 0, 13, 13, 1, true)]);
}

#[test]
fn a_cut_source_is_marked() {
    let marked = format!("{SECRET} [cut] and more");
    let mut source = exchange(0, 1, 0, &marked, "ok");
    if let Some(prompt) = &mut source.texts[0] {
        prompt.borders.push(Border {
            start: SECRET.len() + 1,
            end: SECRET.len() + 6,
            kind: BorderKind::Cut,
        });
    }
    let answer = format!("{SECRET} xi omicron");
    let mut items = [source, exchange(1, 2, 60, "hi", &answer)];
    let found = rows(&mut items);
    assert_eq!(short(&found), [(1, 0, 13, 13, 1, true)]);
    assert!(found[0].at_cut);
    // A logger that cuts without a marker says so by the state of the text.
    let mut items = [
        exchange(0, 1, 0, SECRET, "ok"),
        exchange(1, 2, 60, "hi", &answer),
    ];
    items[0].prompt_truncated = true;
    assert!(rows(&mut items)[0].at_cut);
    items[0].prompt_truncated = false;
    assert!(!rows(&mut items)[0].at_cut);
}

#[test]
fn no_run_crosses_a_marker() {
    let mut source = exchange(0, 1, 0, SECRET, "ok");
    if let Some(prompt) = &mut source.texts[0] {
        prompt.borders.push(Border {
            start: 34,
            end: 34,
            kind: BorderKind::Message,
        });
    }
    let mut items = [source, exchange(1, 2, 60, "hi", SECRET)];
    assert_eq!(rows(&mut items), []);
}

#[test]
fn an_unknown_tenant_is_neither_source_nor_judged() {
    let case = || {
        [
            exchange(0, 1, 0, SECRET, "ok"),
            exchange(1, 2, 60, "hi", SECRET),
        ]
    };
    for unknown in 0..2 {
        let mut items = case();
        items[unknown].subject.tenant = None;
        assert_eq!(rows(&mut items), []);
        let mut items = case();
        items[unknown].subject.t_start = None;
        items[unknown].subject.t_end = None;
        assert_eq!(rows(&mut items), []);
    }
    // The own call's prompt explains whoever wrote the record.
    let mut items = vec![exchange(1, 2, 60, SECRET, "ok")];
    items[0].subject.tenant = None;
    items[0].subject.t_start = None;
    items.extend(case());
    assert_eq!(rows(&mut items), []);
}

#[test]
fn the_look_back_has_an_edge() {
    let day = 24 * 3600;
    for (start, count) in [(0, 1), (-1, 0)] {
        let mut items = [
            exchange(0, 1, start, SECRET, "ok"),
            exchange(1, 2, day, "hi", SECRET),
        ];
        assert_eq!(rows(&mut items).len(), count);
    }
}

#[test]
fn a_source_in_flight_counts_until_the_answer_ends() {
    // The answer runs from 60 to 65. Its source may start meanwhile: the lag is negative then.
    for (start, order) in [
        (50, Some(TimeOrder::Before)),
        (56, Some(TimeOrder::Overlap)),
        (63, Some(TimeOrder::Overlap)),
        (65, Some(TimeOrder::Overlap)),
        (66, None),
    ] {
        let mut items = [
            exchange(0, 1, start, SECRET, "ok"),
            exchange(1, 2, 60, "hi", SECRET),
        ];
        let found = rows(&mut items);
        assert_eq!(found.first().map(|r| r.order), order);
        if let Some(row) = found.first() {
            assert_eq!(row.lag_ms, (60 - start) * 1000);
        }
    }
    // With a clock bound of two seconds the order near the start is not known.
    let settings = Settings {
        clock_tolerance: 2 * SECOND,
        ..Settings::default()
    };
    for (start, order) in [
        (52, Some(TimeOrder::Before)),
        (54, Some(TimeOrder::Unknown)),
        (57, Some(TimeOrder::Unknown)),
        (60, Some(TimeOrder::Overlap)),
        (66, Some(TimeOrder::Unknown)),
        (68, None),
    ] {
        let mut items = [
            exchange(0, 1, start, SECRET, "ok"),
            exchange(1, 2, 60, "hi", SECRET),
        ];
        let found = rows_with(&mut items, &settings);
        assert_eq!(found.first().map(|r| r.order), order, "{start}");
    }
}

#[test]
fn each_choice_is_judged() {
    let mut items = [
        exchange(0, 1, 0, SECRET, "ok"),
        exchange(1, 2, 60, "hi", SECRET),
        exchange(1, 2, 60, "hi", SECRET),
    ];
    items[2].subject.choice = 1;
    let found = short(&rows(&mut items));
    assert_eq!(found, [(1, 0, 13, 13, 1, true), (2, 0, 13, 13, 1, true)]);
}

#[test]
fn reasoning_and_tool_arguments_are_judged_and_are_sources() {
    let mut items = [
        exchange(0, 1, 0, "hi", "ok"),
        exchange(1, 2, 60, "hi", "ok"),
    ];
    items[0].texts[3] = Some(FieldText::of(SECRET));
    items[1].texts[2] = Some(FieldText::of(SECRET));
    let found = rows(&mut items);
    assert_eq!(short(&found), [(1, 0, 13, 13, 1, true)]);
    assert_eq!(found[0].field, Field::Reasoning);
    assert_eq!(found[0].source_field, Field::Tool);
}

#[test]
fn a_repeated_word_stays_linear() {
    // By diagonals this would be 10^10 steps.
    let count = 100_000;
    let mut items = [
        exchange(0, 1, 0, &"a ".repeat(count), "ok"),
        exchange(1, 2, 60, "hi", &"a ".repeat(count)),
    ];
    for (at, item) in items.iter_mut().enumerate() {
        item.subject.id_rank = at as u32;
    }
    for few in [0, 1 << 18] {
        let outcome = fast(&items, &Settings::default(), (1 << 28, 16, few), 2);
        assert_eq!(outcome.rows.len(), 1);
        assert_eq!(outcome.rows[0].tokens as usize, count);
    }
}

#[test]
fn nothing_to_search_ends_at_once() {
    let outcome = fast(&[], &Settings::default(), (0, 1, 0), 1);
    assert!(outcome.rows.is_empty() && outcome.judged.is_empty());
    let mut alone = [exchange(0, 1, 0, SECRET, SECRET)];
    assert_eq!(rows(&mut alone), []);
}
