//! The search against its definition: random small corpora and named cases.

use super::twin::{self, Item, fast};
use super::*;
use crate::exchange::{Border, BorderKind, FieldText, Role};
use proptest::prelude::*;

/// Words and characters of a small alphabet, so that repeats and shared text happen.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "a", "b", "c", "D", "d", "e\u{301}", "\u{e9}", "漢", "字", "ก็", "12",
    ]);
    prop::collection::vec(word, 1..14).prop_map(|w| w.join(" "))
}

/// Passages that many texts quote.
fn passage() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "the quick brown fox jumps over a lazy dog again and again",
        "the quick brown fox jumps over a lazy cat",
        "a a a a a a a a a a a a a a",
        "x y x y x y x y x y x y x y x",
        "漢字漢字漢字漢字漢字漢字漢字漢字漢字",
        "brown fox jumps over a lazy dog again",
        "one two three four five six seven eight nine ten eleven twelve",
    ])
    .prop_map(str::to_string)
}

fn text() -> impl Strategy<Value = FieldText> {
    let piece = prop_oneof![3 => passage(), 1 => words()];
    (
        prop::collection::vec(piece, 1..4),
        prop::option::of((0usize..60, 0usize..4, any::<bool>())),
    )
        .prop_map(|(pieces, border)| {
            let mut field = FieldText::of(pieces.join(" "));
            if let Some((start, length, cut)) = border
                && start + length <= field.text.len()
            {
                let kind = if cut {
                    BorderKind::Cut
                } else {
                    BorderKind::Message
                };
                field.borders.push(Border {
                    start,
                    end: start + length,
                    kind,
                });
            }
            field
        })
}

fn item() -> impl Strategy<Value = Item> {
    let subject = (
        0u32..8,
        prop::option::weighted(0.9, 0u32..6),
        prop::sample::select(Role::ALL.to_vec()),
        0u32..2,
        prop::option::weighted(0.9, 0i64..30),
        prop::option::weighted(0.7, 0i64..8),
        prop::bool::weighted(0.8),
    );
    let texts = (
        prop::option::weighted(0.7, text()),
        prop::option::weighted(0.7, text()),
        prop::option::weighted(0.2, text()),
        prop::option::weighted(0.2, text()),
    );
    (subject, texts, any::<bool>(), any::<bool>()).prop_map(|(s, t, p, r)| Item {
        subject: Subject {
            call: s.0,
            tenant: s.1,
            role: s.2,
            choice: s.3,
            t_start: s.4.map(|t| t * 1000),
            t_end: s.5.and_then(|d| s.4.map(|t| (t + d) * 1000 - 500)),
            id_rank: 0,
            judge: s.6,
            process_start: None,
        },
        texts: [t.0, t.1, t.2, t.3],
        prompt_truncated: p,
        response_truncated: r,
    })
}

fn corpus() -> impl Strategy<Value = Vec<Item>> {
    (prop::collection::vec(item(), 1..12), any::<u64>()).prop_map(|(mut items, seed)| {
        let count = items.len();
        for (at, item) in items.iter_mut().enumerate() {
            // A permutation of the ranks, the same for all small counts of a seed.
            item.subject.id_rank = ((at as u64 + seed % count as u64) % count as u64) as u32;
            if seed & 1 == 1 {
                item.subject.id_rank = count as u32 - 1 - item.subject.id_rank;
            }
            if seed & 6 == 0 {
                item.subject.call = at as u32;
            }
        }
        items
    })
}

fn settings() -> impl Strategy<Value = Settings> {
    (
        prop::sample::select(vec![5_000i64, 12_000, 1_000_000]),
        prop::sample::select(vec![0i64, 2_000]),
        0u32..4,
        prop::sample::select(vec![12u32, 13, 16, 16, 20, 24]),
    )
        .prop_map(
            |(look_back, clock_tolerance, max_tenants, store_weight)| Settings {
                look_back,
                clock_tolerance,
                max_tenants,
                store_weight,
                span_key: [7; 32],
            },
        )
}

/// More cases on demand: `PENTIMENTO_CASES=20000 cargo test --release`.
fn cases() -> u32 {
    std::env::var("PENTIMENTO_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn equals_the_twin(
        items in corpus(),
        settings in settings(),
        memory in prop::sample::select(vec![0usize, 3_000, 1 << 24]),
        room in 1usize..4,
        split in 1usize..12,
        few in prop::sample::select(vec![0usize, 0, 1 << 18]),
    ) {
        let expected = twin::search(&items, &settings);
        let outcome = fast(&items, &settings, (memory, room, few), split);
        prop_assert_eq!(outcome.rows, expected);
    }

    #[test]
    fn some_answers_give_their_part_of_the_rows(
        items in corpus(),
        settings in settings(),
        odd in any::<bool>(),
        few in prop::sample::select(vec![0usize, 1 << 18]),
    ) {
        let full = fast(&items, &settings, (1 << 24, 16, 0), 4);
        let chosen = |x: u32| items[x as usize].subject.call % 2 == u32::from(odd);
        let mut part = items.clone();
        for (x, item) in part.iter_mut().enumerate() {
            item.subject.judge &= chosen(x as u32);
        }
        let outcome = fast(&part, &settings, (1 << 24, 16, few), 4);
        let expected: Vec<Row> =
            full.rows.into_iter().filter(|row| chosen(row.exchange)).collect();
        prop_assert_eq!(outcome.rows, expected);
    }

    #[test]
    fn hashes_that_collide_change_nothing(
        items in corpus(),
        settings in settings(),
        kept in prop::sample::select(vec![0u64, 1 << 40, 5 << 40, 0x100_0000_0001]),
        few in prop::sample::select(vec![0usize, 1 << 18]),
    ) {
        let expected = twin::search(&items, &settings);
        crate::text::KEPT.set(kept);
        let outcome = fast(&items, &settings, (1 << 24, 2, few), 3);
        crate::text::KEPT.set(u64::MAX);
        prop_assert_eq!(outcome.rows, expected);
    }
}

#[test]
fn a_run_in_the_surroundings_of_another_is_not_cut() {
    // The own prompt explains most of the second run. Cut where the surroundings of the first one
    // end, it would lose the windows that say so.
    let words = "the quick brown fox jumps over a lazy dog again and again";
    let first = "x y x y x y x y x y x y x y x";
    let mut source = FieldText::of(format!("{first} {words} one two three four"));
    source.borders.push(Border {
        start: 28,
        end: 31,
        kind: BorderKind::Message,
    });
    let item = |call: u32, prompt: Option<FieldText>, response: FieldText| Item {
        subject: Subject {
            call,
            tenant: Some(call),
            role: Role::Gateway,
            choice: 0,
            t_start: Some(0),
            t_end: None,
            id_rank: call,
            judge: true,
            process_start: None,
        },
        texts: [prompt, Some(response), None, None],
        prompt_truncated: false,
        response_truncated: false,
    };
    let own = FieldText::of("brown fox jumps over a lazy dog again");
    let answer = FieldText::of(format!("{first} {words}"));
    let items = [item(0, None, source), item(1, Some(own), answer)];
    let settings = Settings {
        store_weight: 12,
        ..Settings::default()
    };
    let expected = twin::search(&items, &settings);
    assert!(!expected.is_empty());
    for few in [0, 1 << 18] {
        let outcome = fast(&items, &settings, (1 << 24, 16, few), 2);
        assert_eq!(outcome.rows, expected, "{few}");
    }
}
