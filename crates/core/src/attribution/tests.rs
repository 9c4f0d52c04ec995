//! Attribution as a whole: against its twin, in any split, and on logs with planted swaps.

use super::twin::{Expected, attribute};
use super::*;
use crate::exchange::{Border, BorderKind, FieldText, Role};
use crate::operator::{TextOperator, TextView, TokenBuffers};
use crate::overlap::{Fields, Subject};
use proptest::prelude::*;

const HOUR: i64 = 3_600_000_000;

fn subject(number: u32, tenant: u32, t: i64) -> Subject {
    Subject {
        call: number,
        tenant: Some(tenant),
        role: Role::Gateway,
        choice: 0,
        t_start: Some(t),
        t_end: Some(t + 20_000_000),
        id_rank: number,
        judge: true,
        process_start: None,
    }
}

fn limits(memory_bytes: usize) -> AttributionLimits {
    AttributionLimits { memory_bytes }
}

/// Runs attribution; exchanges are dealt out to a number of partials, the last absorbed first.
fn run(
    subjects: &[Subject],
    texts: &[(&str, &str)],
    (limits, split): (AttributionLimits, usize),
) -> Outcome {
    let settings = AttributionSettings::default();
    let mut attribution = Attribution::new(subjects, &[], settings, limits);
    let texts: Vec<_> = texts
        .iter()
        .map(|(p, r)| (FieldText::of(*p), FieldText::of(*r)))
        .collect();
    let mut buffers = TokenBuffers::default();
    while attribution.next_pass().is_some() {
        let mut partials: Vec<Partial> = (0..split).map(|_| Partial::default()).collect();
        for (x, (prompt, response)) in texts.iter().enumerate() {
            if attribution.wants(x as u32) {
                let fields = Fields {
                    prompt: Some(prompt).filter(|p| !p.text.is_empty()),
                    response: Some(response),
                    ..Fields::default()
                };
                let mut view = TextView::new(fields, &mut buffers);
                attribution.scan(x as u32, &mut view, &mut partials[x % split]);
            }
        }
        for partial in partials.into_iter().rev() {
            attribution.absorb(partial);
        }
        attribution.end_pass();
    }
    attribution.finish()
}

/// A small generator, so that logs are the same everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// A word; those with low numbers are frequent.
    fn common(&mut self) -> String {
        let (a, b) = (self.below(40), self.below(40));
        format!("w{:03}", a * b / 8)
    }
}

/// A log of questions on topics of their own; answers take up about half of their question.
fn log(seed: u64, count: usize) -> (Vec<Subject>, Vec<(String, String)>) {
    let mut dice = Dice(seed);
    let mut subjects = Vec::new();
    let mut texts = Vec::new();
    for x in 0..count {
        subjects.push(subject(
            x as u32,
            dice.below(12) as u32,
            x as i64 * HOUR / 4,
        ));
        let topic: Vec<String> = (0..8)
            .map(|_| format!("topic{}", dice.below(600)))
            .collect();
        let mut prompt = topic.join(" ");
        let mut answer = String::new();
        for _ in 0..12 {
            prompt = format!("{prompt} {}", dice.common());
        }
        for word in &topic {
            if dice.below(2) == 0 {
                answer = format!("{answer} {word}");
            }
        }
        for _ in 0..25 {
            answer = format!(
                "{answer} {} topic{}",
                dice.common(),
                dice.below(600) * dice.below(9) / 8
            );
        }
        texts.push((prompt, answer));
    }
    (subjects, texts)
}

fn borrowed(texts: &[(String, String)]) -> Vec<(&str, &str)> {
    texts
        .iter()
        .map(|(p, r)| (p.as_str(), r.as_str()))
        .collect()
}

/// Whose answers were exchanged for another's: pairs of victim and source.
fn swap(subjects: &[Subject], texts: &mut [(String, String)]) -> Vec<(usize, usize)> {
    let mut swaps = Vec::new();
    for x in (150..texts.len()).step_by(97) {
        let source = (x - 40..x)
            .find(|&y| subjects[y].tenant != subjects[x].tenant)
            .unwrap();
        // An answer to the source's question that no log holds.
        let topic: Vec<&str> = texts[source].0.split(' ').take(8).collect();
        texts[x].1 = format!(
            "{} {}",
            topic.join(" "),
            texts[x].1.split(' ').skip(9).collect::<Vec<_>>().join(" ")
        );
        swaps.push((x, source));
    }
    swaps
}

#[test]
fn swapped_answers_stand_out_and_name_their_source() {
    let (subjects, mut texts) = log(7, 1200);
    let swaps = swap(&subjects, &mut texts);
    let out = run(
        &subjects,
        &borrowed(&texts),
        (AttributionLimits::default(), 1),
    );
    assert!(out.calibrated_on > 1000 && out.passes == 3);
    assert_eq!(out.rows.len(), 1200);
    let (mut found, mut right, mut wrong) = (0, 0, 0);
    for row in &out.rows {
        let low = row.p_value.is_some_and(|p| p <= 0.002);
        match swaps.iter().find(|s| s.0 == row.exchange as usize) {
            Some((_, source)) => {
                found += usize::from(low);
                right += usize::from(row.best_exchange == Some(*source as u32));
            }
            None => wrong += usize::from(low),
        }
    }
    assert!(found * 10 >= swaps.len() * 8, "{found} of {}", swaps.len());
    assert!(right * 10 >= swaps.len() * 8, "{right} of {}", swaps.len());
    assert!(wrong <= 4, "{wrong}");
}

#[test]
fn an_untouched_log_gives_even_chances() {
    let (subjects, texts) = log(3, 1200);
    let out = run(
        &subjects,
        &borrowed(&texts),
        (AttributionLimits::default(), 1),
    );
    let values: Vec<f64> = out.rows.iter().filter_map(|r| r.p_value).collect();
    assert!(values.len() > 1000);
    for cut in [0.01, 0.05, 0.2] {
        let share = values.iter().filter(|p| **p <= cut).count() as f64 / values.len() as f64;
        assert!(share <= cut * 2.0 + 0.003, "{share} at {cut}");
    }
}

#[test]
fn neither_split_nor_memory_changes_a_row() {
    let (subjects, mut texts) = log(11, 300);
    swap(&subjects, &mut texts);
    let texts = borrowed(&texts);
    let whole = run(&subjects, &texts, (AttributionLimits::default(), 1));
    for (memory, split) in [(256 << 20, 7), (60_000, 3), (1, 2)] {
        // One answer a batch would take hundreds of passes: the smallest log is enough for it.
        let count = if memory == 1 { 40 } else { 300 };
        let expected = match count {
            300 => whole.rows.clone(),
            _ => run(&subjects[..count], &texts[..count], (limits(1 << 30), 1)).rows,
        };
        let got = run(&subjects[..count], &texts[..count], (limits(memory), split));
        assert_eq!(got.rows, expected, "{memory} {split}");
        assert!(memory > 100_000 || got.passes > 3);
    }
}

#[test]
fn a_prompt_of_everything_explains_nothing() {
    let (subjects, mut texts) = log(5, 600);
    let all: Vec<String> = (0..600).map(|t| format!("topic{t}")).collect();
    let huge = subjects
        .iter()
        .position(|s| s.tenant != subjects[0].tenant)
        .unwrap();
    texts[huge].0 = all.join(" ");
    let out = run(
        &subjects,
        &borrowed(&texts),
        (AttributionLimits::default(), 1),
    );
    let best = out
        .rows
        .iter()
        .filter(|r| r.best_exchange == Some(huge as u32))
        .count();
    assert!(
        best <= 3,
        "{best} answers go to the prompt that holds every term"
    );
}

#[test]
fn reasons_say_why_nothing_can_be_said() {
    let (mut subjects, mut texts) = log(9, 400);
    texts[100].1 = "ok".to_owned();
    texts[101].0 = String::new();
    subjects[102].t_start = None;
    subjects[103].tenant = None;
    subjects[104].judge = false;
    let out = run(
        &subjects,
        &borrowed(&texts),
        (AttributionLimits::default(), 1),
    );
    let row = |x: u32| out.rows.iter().find(|r| r.exchange == x);
    assert_eq!(
        row(100).unwrap().assessment.reason(),
        Some("answer_too_generic")
    );
    assert_eq!(
        row(101).unwrap().assessment.reason(),
        Some("own_prompt_absent")
    );
    assert_eq!(row(101).unwrap().own_rank, None);
    assert!(row(102).is_none() && row(103).is_none() && row(104).is_none());
    assert_eq!(row(105).unwrap().assessment, Assessment::Assessable);
    assert!(row(100).unwrap().p_value.is_none());
    assert!(
        out.rows
            .iter()
            .all(|r| r.p_value.is_some() == (r.assessment == Assessment::Assessable))
    );

    let few = run(
        &subjects[..90],
        &borrowed(&texts[..90]),
        (AttributionLimits::default(), 1),
    );
    assert!(few.rows.iter().all(|r| r.p_value.is_none()));
    assert_eq!(few.rows[50].assessment.reason(), Some("not_calibrated"));
    let alone: Vec<Subject> = subjects
        .iter()
        .map(|s| Subject {
            tenant: Some(1),
            ..*s
        })
        .collect();
    let alone = run(&alone, &borrowed(&texts), (AttributionLimits::default(), 1));
    assert_eq!(alone.rows[50].assessment.reason(), Some("no_candidates"));
}

#[test]
fn a_cut_prompt_is_not_judged() {
    let (subjects, texts) = log(13, 300);
    let settings = AttributionSettings::default();
    let mut attribution = Attribution::new(subjects, &[], settings, AttributionLimits::default());
    let mut buffers = TokenBuffers::default();
    while attribution.next_pass().is_some() {
        let mut partial = Partial::default();
        for (x, (prompt, response)) in texts.iter().enumerate() {
            let mut prompt = FieldText::of(prompt.as_str());
            if x == 20 {
                prompt.borders.push(Border {
                    start: 5,
                    end: 6,
                    kind: BorderKind::Cut,
                });
            }
            let response = FieldText::of(response.as_str());
            let fields = Fields {
                prompt: Some(&prompt),
                response: Some(&response),
                prompt_truncated: x == 21,
                ..Fields::default()
            };
            let mut view = TextView::new(fields, &mut buffers);
            attribution.scan(x as u32, &mut view, &mut partial);
        }
        attribution.absorb(partial);
        attribution.end_pass();
    }
    let rows = attribution.finish().rows;
    for x in [20, 21] {
        assert_eq!(rows[x].assessment, Assessment::OwnPromptIncomplete);
    }
}

fn words() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => (0u32..30).prop_map(|n| format!("alpha{n}")),
        2 => (0u32..12).prop_map(|n| format!("{}", 300 + n)),
        1 => prop::sample::select(vec!["東京都", "ขอบคุณ", "the and of", "преобразование"])
            .prop_map(str::to_owned),
    ];
    prop::collection::vec(word, 0..25).prop_map(|w| w.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn equals_the_twin(
        exchanges in prop::collection::vec((words(), words(), 0u32..4, 0i64..90), 1..50),
    ) {
        let subjects: Vec<Subject> = exchanges
            .iter()
            .enumerate()
            .map(|(x, e)| subject(x as u32, e.2, e.3 * HOUR))
            .collect();
        let texts: Vec<(&str, &str)> =
            exchanges.iter().map(|e| (e.0.as_str(), e.1.as_str())).collect();
        let out = run(&subjects, &texts, (AttributionLimits::default(), 2));
        let got: Vec<Expected> = out
            .rows
            .iter()
            .map(|r| Expected {
                exchange: r.exchange,
                own: r.own_score,
                rank: r.own_rank.unwrap_or(1),
                best: r.best_exchange.map(|b| (b, r.best_score)),
                chance: r.chance_score,
            })
            .collect();
        let expected = attribute(&subjects, &texts, &AttributionSettings::default());
        prop_assert_eq!(got, expected);
    }
}
