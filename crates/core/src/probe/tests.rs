//! The passes against a plain reading of their definition.

use super::*;
use crate::surprise::tests::{Item, item, run, subjects};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Every word is a key; two shared ones make a row.
struct Words;

impl Kind for Words {
    const PASSES: [&'static str; 3] = ["a", "b", "c"];
    const LEAST: usize = 2;

    fn judged(&self, field: Field, _: u32, texts: &mut TextView<'_>, out: &mut Vec<(u64, Mark)>) {
        let mut own = BTreeSet::new();
        self.probe(Field::Prompt, texts, |key, _| {
            own.insert(key);
        });
        self.probe(field, texts, |key, mark| {
            if !own.contains(&key) {
                out.push((key, mark));
            }
        });
    }

    fn probe(
        &self,
        field: Field,
        texts: &mut TextView<'_>,
        mut each: impl FnMut(u64, Mark),
    ) -> u64 {
        let Some(tokens) = texts.tokens(field) else {
            return 0;
        };
        for (at, &hash) in tokens.hash.iter().enumerate() {
            let mark = Mark {
                tokens: (at as u32, at as u32 + 1),
                ..Mark::default()
            };
            each(hash, mark);
        }
        tokens.len() as u64
    }

    fn join(&self, seeds: &mut Vec<Seed>, _: Chance) -> Option<Joint> {
        let mut places: Vec<u32> = seeds.iter().map(|s| s.judged.tokens.0).collect();
        places.sort_unstable();
        places.dedup();
        (places.len() >= 2).then(|| Joint {
            source_field: seeds[0].field,
            parts: places.len() as u32,
            tokens: 0,
            millibits: 0,
            score: places.len() as u64,
            sorts: [0; 4],
            response: (0, 0),
            source: (0, 0),
        })
    }
}

fn settings(look_back: i64) -> Settings {
    Settings {
        look_back: look_back * 1_000_000,
        max_tenants: 2,
        ..Settings::default()
    }
}

fn rows(items: &[Item], memory: usize, split: usize, backward: bool) -> Vec<JointRow> {
    let mut probe = Probe::new(subjects(items), settings(6), Words, memory);
    run(&mut probe, items, split, backward);
    probe.finish()
}

fn words(text: &crate::exchange::FieldText) -> Vec<&str> {
    text.text.split_whitespace().collect()
}

/// Per tenant the start and call of its first exchange with a word.
type First = BTreeMap<Option<u32>, (Option<i64>, u32)>;

/// Whether a word of the answer of an exchange is explained or without a source.
fn explained(items: &[Item], at: usize, word: &str) -> bool {
    let judged = &items[at].subject;
    let (t0, tenant) = (judged.t_start, judged.tenant);
    let mut first = [First::new(), First::new()];
    for i in items.iter().filter(|i| i.subject.t_start <= t0) {
        let prompt = words(&i.prompt).contains(&word);
        if prompt || words(&i.response).contains(&word) {
            let new = (i.subject.t_start, i.subject.call);
            let known = first[usize::from(!prompt)]
                .entry(i.subject.tenant)
                .or_insert(new);
            *known = new.min(*known);
        }
    }
    let [prompts, answers] = &first;
    let others = |of: &BTreeMap<Option<u32>, _>| of.keys().filter(|t| **t != tenant).count();
    let own = answers.get(&tenant);
    prompts.contains_key(&tenant)
        || others(prompts) > 2
        || others(prompts) + others(answers) == 0
        || prompts.is_empty() && others(answers) > 2
        || own
            .is_some_and(|o| o.1 != judged.call && o.0 < t0 && prompts.values().all(|p| p.0 > o.0))
}

/// Exchange, source tenant, source, shared places.
fn naive(items: &[Item]) -> Vec<(u32, u32, u32, u32)> {
    let mut out = Vec::new();
    let keys_of = |judged: &Item| -> Vec<String> {
        let own = words(&judged.prompt);
        let keys: Vec<String> = words(&judged.response)
            .into_iter()
            .filter(|w| !own.contains(w))
            .map(str::to_string)
            .collect();
        if keys.len() < 2 { Vec::new() } else { keys }
    };
    let index: BTreeSet<String> = items.iter().flat_map(keys_of).collect();
    for (at, judged) in items.iter().enumerate() {
        let t0 = judged.subject.t_start.unwrap();
        let own = words(&judged.prompt);
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let mut keys: Vec<&str> = Vec::new();
        for word in words(&judged.response) {
            let count = seen.entry(word).or_default();
            *count += 1;
            if *count <= REPEATS && !own.contains(&word) {
                keys.push(word);
            }
        }
        if words(&judged.response)
            .iter()
            .filter(|w| !own.contains(w))
            .count()
            < 2
        {
            continue;
        }
        let mut best: BTreeMap<u32, (std::cmp::Reverse<u32>, Option<i64>, u32, u32)> =
            BTreeMap::new();
        for (s, source) in items.iter().enumerate() {
            let t = source.subject.t_start.unwrap();
            if source.subject.tenant == judged.subject.tenant
                || source.subject.call == judged.subject.call
                || t > t0
                || t < t0 - 6_000_000
            {
                continue;
            }
            let mut all = words(&source.prompt);
            all.extend(words(&source.response));
            let shared = |w: &&&str| all.contains(*w) && !explained(items, at, w);
            let distinct: BTreeSet<&&str> = all.iter().filter(|w| index.contains(**w)).collect();
            let shared = keys.iter().filter(shared).count() as u32;
            if shared >= 2 && distinct.len() >= 2 {
                let rank = source.subject.id_rank;
                let new = (std::cmp::Reverse(shared), Some(t), rank, s as u32);
                let known = best.entry(source.subject.tenant.unwrap()).or_insert(new);
                *known = new.min(*known);
            }
        }
        for (tenant, (shared, _, _, source)) in best {
            out.push((at as u32, tenant, source, shared.0));
        }
    }
    out
}

fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec!["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
    prop::collection::vec(word, 0..6).prop_map(|w| w.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn equals_the_naive_one(
        texts in prop::collection::vec((0u32..5, text(), text()), 1..14),
        split in 1usize..5,
        backward in any::<bool>(),
    ) {
        let items: Vec<Item> = texts
            .iter()
            .enumerate()
            .map(|(i, (tenant, p, r))| item(i as u32, *tenant, p, r))
            .collect();
        let found = rows(&items, 1 << 20, split, backward);
        let plain: Vec<(u32, u32, u32, u32)> = found
            .iter()
            .map(|r| (r.exchange, r.source_tenant, r.source_exchange, r.joint.parts))
            .collect();
        prop_assert_eq!(plain, naive(&items));
        prop_assert_eq!(rows(&items, 16 * 72, 1, backward), rows(&items, 16 * 72, 3, !backward));
    }
}

#[test]
fn carriers_before_the_look_back_count() {
    let items = [
        item(0, 0, "f", ""),
        item(4, 3, "f", ""),
        item(6, 1, "f e", "i"),
        item(7, 2, "", "e f"),
    ];
    assert_eq!(rows(&items, 1 << 20, 1, false), []);
    assert_eq!(rows(&items[1..], 1 << 20, 1, false).len(), 1);
}

#[test]
fn copies_of_a_call_are_one_text() {
    let mut items = vec![
        item(0, 1, "alpha beta gamma", ""),
        item(1, 2, "hello", "alpha beta"),
        item(1, 2, "", "alpha beta"),
    ];
    items[2].subject.role = crate::exchange::Role::Decode;
    items[2].subject.id_rank = 0;
    items[0].subject.id_rank = 2;
    for backward in [false, true] {
        let found = rows(&items, 1 << 20, 2, backward);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].exchange, found[0].source_exchange), (1, 0));
        assert_eq!(found[0].lag_ms, 1_000);
    }
}

#[test]
fn one_prompt_by_ten_thousand_tenants_is_common() {
    let items: Vec<Item> = (0..10_000)
        .map(|i| item(0, i, "the shared prompt of all", "the shared prompt of all"))
        .enumerate()
        .map(|(n, mut i)| {
            i.subject.call = n as u32;
            i.subject.id_rank = n as u32;
            i.prompt =
                crate::exchange::FieldText::of(if n % 2 == 0 { "x y" } else { &i.prompt.text });
            i
        })
        .collect();
    assert!(rows(&items, 1 << 20, 100, false).is_empty());
}
