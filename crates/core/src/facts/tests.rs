//! Facts in all their forms, and the operator by name.

use super::*;
use crate::exchange::FieldText;
use crate::overlap::Settings;
use crate::probe::JointRow;
use crate::surprise::tests::{Item, item, run, stats, subjects};
use proptest::prelude::*;

fn tokens(text: &str) -> Tokens {
    let mut out = Tokens::default();
    crate::text::tokenize(&FieldText::of(text), &mut out);
    out
}

/// Numbers and dates of a text: sort and key.
fn digits(text: &str) -> Vec<(u8, u64)> {
    let mut out = Vec::new();
    scan::for_each_number(text, |f| out.push((f.sort, f.key)));
    scan::for_each_named_date(&tokens(text), |f| out.push((f.sort, f.key)));
    out
}

fn only(text: &str) -> (u8, u64) {
    let found = digits(text);
    let dates: Vec<_> = found.iter().filter(|f| f.0 == scan::DATE).collect();
    *dates
        .first()
        .copied()
        .or(found.first())
        .unwrap_or_else(|| panic!("nothing in {text:?}"))
}

#[test]
fn numbers_are_one_in_all_locales() {
    let table: &[&[&str]] = &[
        &[
            "681280",
            "681,280",
            "681.280",
            "681 280",
            "681\u{a0}280",
            "681\u{202f}280",
            "681'280",
            "681\u{2019}280",
            "\u{ff16}\u{ff18}\u{ff11}280",
            "(681,280)",
            "681,280.00",
            "681.280,0",
            "\u{666}\u{668}\u{661}\u{662}\u{668}\u{660}",
        ],
        &[
            "1234567.5",
            "1,234,567.5",
            "1.234.567,5",
            "1 234 567,50",
            "1'234'567.50",
        ],
        &["3.14159", "3,14159"],
        &["12", "12.0"],
    ];
    let mut keys = Vec::new();
    for forms in table {
        let first = only(forms[0]);
        for form in *forms {
            assert_eq!(only(form), first, "{form}");
            assert_eq!(only(&format!("cost {form}, then more")), first, "{form}");
        }
        keys.push(first);
    }
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), table.len());
    assert_ne!(only("681280"), only("681281"));
    assert_ne!(only("6812.8"), only("68128"));
    assert_ne!(only("2025 300"), only("2025300"));
}

#[test]
fn digits_within_words_are_no_numbers() {
    for text in ["abc123", "x_1234", "7f3a9b", "no digits", "", "v1234beta"] {
        assert_eq!(digits(text), [], "{text:?}");
    }
}

#[test]
fn dates_are_one_in_all_locales() {
    let forms = [
        "2026-09-01",
        "01.09.2026",
        "1.9.2026",
        "9/1/2026",
        "01/09/2026",
        "2026/09/01",
        "2026-09-01T08:30:05Z",
        "1 Sept 2026",
        "1st of September 2026",
        "September 1, 2026",
        "Sep 1st, 2026",
        "1. September 2026",
        "1er septembre 2026",
        "1 de septiembre de 2026",
        "1 settembre 2026",
        "2026年9月1日",
        "2026년 9월 1일",
        "1 сентября 2026",
    ];
    for form in forms {
        assert_eq!(only(form), only(forms[0]), "{form}");
        assert_eq!(
            only(&format!("due {form} at noon")),
            only(forms[0]),
            "{form}"
        );
    }
    for other in ["2026-09-02", "2025-09-01", "10 Sept 2026", "March 9, 2026"] {
        assert_ne!(only(other), only(forms[0]), "{other}");
    }
    for none in ["10.0.2026.4", "2026-19-41", "1 market 2026", "99.99.2026"] {
        assert!(digits(none).iter().all(|f| f.0 != scan::DATE), "{none}");
    }
}

#[test]
fn capitals_within_sentences_are_names() {
    let text = "Hello there. Maybe we saw Maud, (Ellery) and\n- Firstly tromso: Next";
    let names: Vec<&str> = [
        "Maybe", "Maud", "Ellery", "Firstly", "tromso", "Next", "Hello",
    ]
    .into_iter()
    .filter(|w| is_capital(text, text.find(w).unwrap()))
    .collect();
    assert_eq!(names, ["Maud", "Ellery"]);
}

fn traffic() -> Vec<Item> {
    (0..600)
        .map(|i| {
            let prompt = format!(
                "please tell me about the matter {} in {} with GLM-5.3-Air",
                i % 60,
                i % 7
            );
            item(
                i,
                i % 12,
                &prompt,
                "sure the answer to that and every other is here for you",
            )
        })
        .collect()
}

fn rows(items: &[Item], split: usize, backward: bool) -> Vec<JointRow> {
    let stats = Arc::new(stats(items, 64, false));
    let kind = FactKind::new(stats);
    let mut facts = FactOverlap::new(subjects(items), Settings::default(), kind, 1 << 24);
    run(&mut facts, items, split, backward);
    facts.finish()
}

const SOURCE: &str = "please note that Maud Ellery in Tromso owes 681,280 kroner since \
    1 Sept 2026, file QX77-2041B";

#[test]
fn a_translated_leak_is_found() {
    let mut items = traffic();
    items.push(item(600, 1, SOURCE, "noted"));
    let answer = "claro, en el expediente QX77-2041B consta que la clienta Maud Ellery de \
        Tromso debe desde el 01.09.2026 unas 681.280 coronas";
    items.push(item(601, 2, "what is the weather", answer));
    let found = rows(&items, 64, false);
    assert_eq!(found.len(), 1, "{found:?}");
    let row = found[0];
    assert_eq!((row.exchange, row.source_exchange), (601, 600));
    // First and last name are one fact, and so are the parts of the file number.
    assert!((4..=6).contains(&row.joint.parts), "{row:?}");
    assert!(row.joint.sorts[usize::from(NUMBER)] >= 1);
    assert!(row.joint.sorts[usize::from(scan::DATE)] == 1);
    assert_eq!(row.joint.source_field, Field::Prompt);
    for (split, backward) in [(1, true), (7, false)] {
        assert_eq!(rows(&items, split, backward), found);
    }
}

#[test]
fn what_is_asked_or_shared_or_too_little_is_none() {
    let answer = "that is Maud Ellery of Tromso, 681 280 since 2026-09-01";
    for (question, given) in [
        (SOURCE, answer),
        ("hello", "it says Maud Ellery of Tromso and GLM-5.3-Air"),
        ("hello", "we met on 2026-09-01 over GLM-5.3-Air"),
    ] {
        let mut items = traffic();
        items.push(item(600, 1, SOURCE, "noted"));
        items.push(item(601, 2, question, given));
        assert_eq!(rows(&items, 64, false), [], "{given}");
    }
    // Five tenants know it: it is public.
    let mut items = traffic();
    for n in 0..5 {
        items.push(item(600 + n, n + 3, SOURCE, "noted"));
    }
    items.push(item(606, 1, "hello", answer));
    assert_eq!(rows(&items, 64, false), []);
}

#[test]
fn a_prompt_full_of_numbers_explains_nothing() {
    let mut items = traffic();
    let all: String = (10_000..99_999).map(|n| format!("{n}; ")).collect();
    items.push(item(600, 1, &all, "noted"));
    items.push(item(
        601,
        2,
        "hello",
        "we got 48211, then 73902, then 15473 and 99120",
    ));
    assert_eq!(rows(&items, 64, false), []);
    let mut items = traffic();
    items.push(item(
        600,
        1,
        "the sums are 48211, 73902, 15473, 99120 and 60417",
        "noted",
    ));
    items.push(item(
        601,
        2,
        "hello",
        "we got 48211, then 73902, then 15473, 60417 and 99120",
    ));
    assert_eq!(rows(&items, 64, false).len(), 1);
}

proptest! {
    #[test]
    fn any_text_is_read(text in "([0-9]{1,5}[ ,.'/年月-]{0,2}|[a-zé漢]{1,3}|.){0,30}") {
        let all = tokens(&text);
        let check = |f: Fact| {
            assert!(f.bytes.0 < f.bytes.1);
            assert!(text.get(f.bytes.0 as usize..f.bytes.1 as usize).is_some());
        };
        scan::for_each_number(&text, check);
        scan::for_each_named_date(&all, check);
        scan::for_each_word(&all, |_, f| check(f));
    }

    #[test]
    fn grouping_is_one_number(
        n in 1_000u64..u64::MAX / 2,
        mark in prop::sample::select(vec![',', '.', ' ', '\'']),
    ) {
        let plain = n.to_string();
        let mut grouped = String::new();
        for (at, c) in plain.chars().enumerate() {
            if at > 0 && (plain.len() - at).is_multiple_of(3) {
                grouped.push(mark);
            }
            grouped.push(c);
        }
        prop_assert_eq!(only(&grouped), only(&plain), "{}", grouped);
    }
}
