//! The search against its twin, and named cases.

use super::twin::{Item, search};
use super::*;
use crate::exchange::{FieldText, Role};
use crate::operator::{TextOperator, TextView, TokenBuffers};
use crate::overlap::{Field, Limits, Settings, Subject, TimeOrder};
use proptest::prelude::*;

/// Runs the passes; `split` exchanges share a partial.
fn run(items: &[Item], settings: &Settings, memory: usize, split: usize) -> Outcome {
    let subjects: Vec<Subject> = items.iter().map(|i| i.subject).collect();
    let limits = Limits {
        memory_bytes: memory,
    };
    let mut search = Identifiers::new(subjects, settings.clone(), limits, Patterns::builtin());
    let mut buffers = TokenBuffers::default();
    while search.next_pass().is_some() {
        let mut partials = Vec::new();
        for (x, item) in items.iter().enumerate() {
            if x % split == 0 {
                partials.push(Partial::default());
            }
            let mut view = TextView::new(item.fields(), &mut buffers);
            search.scan(x as u32, &mut view, partials.last_mut().unwrap());
        }
        for partial in partials.into_iter().rev() {
            search.absorb(partial);
        }
        search.end_pass();
    }
    search.finish()
}

fn item(call: u32, tenant: u32, t: i64, prompt: &str, response: &str) -> Item {
    let text = |t: &str| (!t.is_empty()).then(|| FieldText::of(t));
    Item {
        subject: Subject {
            call,
            tenant: Some(tenant),
            role: Role::Gateway,
            choice: 0,
            t_start: Some(t * 1_000_000),
            t_end: Some(t * 1_000_000 + 500_000),
            id_rank: call,
            judge: true,
            process_start: None,
        },
        texts: [text(prompt), text(response), None, None],
    }
}

fn rows(items: &[Item]) -> Vec<Row> {
    let settings = Settings::default();
    let rows = run(items, &settings, 1 << 20, 1).rows;
    assert_eq!(rows, search(items, &settings));
    rows
}

const ID: &str = "K7X2MVZ9LBT4WRP6Q";

#[test]
fn a_value_of_one_other_tenant_is_a_row() {
    let got = rows(&[
        item(0, 7, 10, "please look at k7x2mvz9lbt4wrp6q", "I do"),
        item(1, 8, 20, "hello", &format!("your code is {ID}.")),
    ]);
    assert_eq!(got.len(), 1);
    let row = &got[0];
    assert_eq!(
        (row.exchange, row.source_exchange, row.source_tenant),
        (1, 0, 7)
    );
    assert_eq!((row.carriers, row.source_carries), (1, true));
    assert!(!row.in_own_prompt && !row.in_own_history);
    assert_eq!(
        (row.field, row.source_field),
        (Field::Response, Field::Prompt)
    );
    assert_eq!((row.response_start, row.response_end), (13, 30));
    assert_eq!(
        (row.kind, row.pattern, row.checked),
        (Kind::Token, "token", false)
    );
    assert_eq!(row.masked, "\u{2026}6q (17)");
    assert_eq!((row.lag_ms, row.order), (10_000, TimeOrder::Before));
    assert!(!format!("{row:?}").contains(ID));
}

#[test]
fn spelling_makes_no_difference() {
    let card = "4532 8719 0264 7182";
    for said in [
        "4532871902647182",
        "4532-8719-0264-7182",
        "４５３２ ８７１９ ０２６４ ７１８２",
    ] {
        let got = rows(&[item(0, 7, 10, said, ""), item(1, 8, 20, "", card)]);
        assert_eq!(got.len(), 1, "{said}");
        assert_eq!((got[0].kind, got[0].checked), (Kind::Card, true));
    }
}

#[test]
fn own_words_and_own_history_are_told() {
    let source = item(0, 7, 10, ID, "");
    let mut own = item(1, 8, 20, ID, ID);
    let got = rows(&[source.clone(), own.clone()]);
    assert!(got[0].in_own_prompt && !got[0].in_own_history);
    // The engine's record of the same call holds the prompt, the gateway's does not.
    let mut engine = own.clone();
    engine.subject.role = Role::Decode;
    engine.subject.id_rank = 9;
    own.texts[0] = None;
    let got = rows(&[source.clone(), own.clone(), engine]);
    assert_eq!(got.len(), 1);
    assert!(got[0].in_own_prompt);
    // An earlier prompt of the tenant, and an earlier answer that owes it to its owner.
    let got = rows(&[source.clone(), item(2, 8, 5, ID, ""), own.clone()]);
    assert!(!got[0].in_own_prompt && got[0].in_own_history);
    let got = rows(&[source, item(2, 8, 15, "hm", ID), own]);
    assert_eq!(got.len(), 2);
    assert!(
        got.iter()
            .all(|r| !r.in_own_history && r.source_tenant == 7)
    );
}

#[test]
fn victims_that_repeat_a_value_do_not_carry_it() {
    let mut items = vec![item(0, 1, 10, ID, "")];
    for victim in 1..8 {
        items.push(item(
            victim,
            10 + victim,
            20 + i64::from(victim),
            "hello",
            ID,
        ));
        items.push(item(
            100 + victim,
            10 + victim,
            60 + i64::from(victim),
            ID,
            "no idea",
        ));
    }
    let got = rows(&items);
    assert_eq!(got.len(), 7);
    assert!(
        got.iter()
            .all(|r| r.carriers == 1 && r.source_tenant == 1 && !r.in_own_history)
    );
}

#[test]
fn time_and_tenant_bound_the_sources() {
    let day = 24 * 3600;
    let answer = item(1, 8, 2 * day, "", ID);
    for (source, count) in [
        (item(0, 7, 2 * day - 10, ID, ""), 1),
        (item(0, 7, day, ID, ""), 1),
        (item(0, 7, day - 1, ID, ""), 0),
        (item(0, 7, 2 * day + 1, ID, ""), 0),
        (item(0, 8, 2 * day - 10, ID, ""), 0),
    ] {
        assert_eq!(rows(&[source, answer.clone()]).len(), count);
    }
    let mut unknown = item(0, 7, 2 * day - 10, ID, "");
    unknown.subject.tenant = None;
    assert_eq!(rows(&[unknown, answer]).len(), 0);
}

#[test]
fn a_flood_is_bounded_counted_and_the_same_in_any_order() {
    let many: String = (0..3000u64)
        .map(|i| format!("u{:x}q{i} ", i.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    let mut items = vec![item(0, 7, 10, &many, ""), item(1, 8, 20, "", &many)];
    items.extend((2..9).map(|x| item(x, 10 + x, 11, &many, "")));
    let settings = Settings::default();
    let roomy = run(&items, &settings, 64 << 20, 1);
    assert!(roomy.rows.len() > 2500);
    assert_eq!((roomy.stats.left_out, roomy.stats.passes), (0, 2));
    // Room for all identifiers found, not for what is asked in one pass.
    let rounds = run(&items, &settings, 1 << 20, 1);
    assert!(rounds.stats.left_out == 0 && rounds.stats.passes > 2);
    assert_eq!(rounds.rows, roomy.rows);
    let tight = run(&items, &settings, 64 << 10, 1);
    assert!(tight.stats.left_out > 0 && tight.stats.passes > 2);
    assert!(tight.rows.iter().all(|r| roomy.rows.contains(r)) && !tight.rows.is_empty());
    items.reverse();
    assert_eq!(
        run(&items, &settings, 64 << 10, 2).rows.len(),
        tight.rows.len()
    );
}

fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => Just(ID.to_owned()),
        2 => Just("k7x2mvz9-lbt4wrp6q".to_owned()),
        2 => Just("4532 8719 0264 7182".to_owned()),
        2 => Just("4532871902647182".to_owned()),
        2 => Just("marta.kowalczyk@nordwind-logistik.de".to_owned()),
        1 => Just("/srv/k3x9q2/m8z7w5t1q9/deploy.key".to_owned()),
        1 => Just("m8z7w5t1q9".to_owned()),
        2 => Just("hello".to_owned()),
        1 => Just("漢字".to_owned()),
        1 => Just("\\n".to_owned()),
    ];
    prop::collection::vec(
        (
            piece,
            prop_oneof![Just(" "), Just(", "), Just("\n"), Just("")],
        ),
        0..4,
    )
    .prop_map(|parts| parts.into_iter().map(|(a, b)| a + b).collect())
}

fn any_item() -> impl Strategy<Value = Item> {
    let texts = (any_text(), any_text(), prop::option::of(any_text()));
    let facts = (
        0u32..6,
        prop::option::weighted(0.9, 0u32..4),
        0i64..12,
        0i64..4,
        0u32..2,
    );
    (facts, texts, any::<bool>(), 0..3usize).prop_map(|(facts, texts, judge, role)| {
        let (call, tenant, t, length, choice) = facts;
        let mut item = item(call, 0, t, &texts.0, &texts.1);
        item.subject.tenant = tenant;
        item.subject.choice = choice;
        item.subject.judge = judge;
        item.subject.role = Role::ALL[role];
        item.subject.t_end = (length > 0).then_some((t + length) * 1_000_000);
        item.texts[2] = texts.2.filter(|t| !t.is_empty()).map(FieldText::of);
        item
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn the_search_equals_its_twin(
        mut items in prop::collection::vec(any_item(), 1..12),
        look_back in 1i64..10,
        tolerance in prop_oneof![Just(0i64), Just(1_000_000)],
        split in 1usize..4,
    ) {
        for (rank, item) in items.iter_mut().enumerate() {
            item.subject.id_rank = rank as u32;
        }
        let settings = Settings {
            look_back: look_back * 1_000_000,
            clock_tolerance: tolerance,
            ..Settings::default()
        };
        let wanted = search(&items, &settings);
        prop_assert_eq!(&run(&items, &settings, 1 << 20, split).rows, &wanted);
        // One value a pass.
        prop_assert_eq!(&run(&items, &settings, 20_000, split).rows, &wanted);
    }
}
