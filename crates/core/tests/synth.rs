//! The generated incident: exact counts, same bytes, and labels that tell the truth.
#![cfg(feature = "synth")]
// A test that cannot go on has failed.
#![allow(clippy::unwrap_used)]

use pentimento_core::synth::{
    Scale, SimulateError, SimulateOptions, SimulateSummary, Sink, scenarios, simulate,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

#[derive(Default, PartialEq)]
struct Files(BTreeMap<String, Vec<Vec<u8>>>);

impl Sink for Files {
    fn line(&mut self, file: &str, line: &[u8]) -> std::io::Result<()> {
        let lines = self.0.entry(file.to_owned()).or_default();
        lines.push(line.to_vec());
        Ok(())
    }
}

fn run(seed: u64, leaks: u32) -> (Files, SimulateSummary) {
    let mut files = Files::default();
    let options = SimulateOptions {
        seed,
        leaks,
        ..SimulateOptions::default()
    };
    let summary = simulate("glm53-incident", &options, &mut files).unwrap();
    (files, summary)
}

impl Files {
    fn json(&self, prefix: &str) -> Vec<Value> {
        self.0
            .iter()
            .filter(|(name, _)| name.starts_with(prefix))
            .flat_map(|(_, lines)| lines)
            .map(|line| {
                let at = line.iter().position(|&b| b == b'{').unwrap();
                serde_json::from_slice(&line[at..]).unwrap()
            })
            .collect()
    }
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or("")
}

fn prompt(row: &Value) -> Vec<&str> {
    let messages = row["messages"].as_array().unwrap();
    messages.iter().map(|m| text(m, "content")).collect()
}

/// Folded tokens with their half-words, by a plain reading of the definition.
fn tokens(text: &str) -> Vec<(String, u32)> {
    let mut out: Vec<(String, u32)> = Vec::new();
    let mut open = false;
    for ch in text.chars().flat_map(char::to_lowercase) {
        let code = ch as u32;
        let mark = matches!(code, 0xe31 | 0xe34..=0xe3a | 0xe47..=0xe4e);
        let single = matches!(code, 0xe01..=0xe45 | 0x3041..=0x309f | 0x30a1..=0x30fa | 0x30fc
            | 0x4e00..=0x9fff | 0xac00..=0xd7a3);
        if mark {
            out.last_mut().unwrap().0.push(ch);
        } else if single {
            out.push((ch.to_string(), 1));
            open = false;
        } else if ch.is_alphanumeric() {
            if open {
                out.last_mut().unwrap().0.push(ch);
            } else {
                out.push((ch.to_string(), 2));
            }
            open = true;
        } else {
            open = false;
        }
    }
    out
}

/// Hashes of the shortest run from each token that weighs at least `weight`.
fn windows(text: &str, weight: u32) -> Vec<u64> {
    let tokens = tokens(text);
    let mut out = Vec::new();
    let (mut to, mut have) = (0, 0);
    for from in 0..tokens.len() {
        while to < tokens.len() && have < weight {
            have += tokens[to].1;
            to += 1;
        }
        if have < weight {
            break;
        }
        let mut hasher = DefaultHasher::new();
        tokens[from..to].iter().for_each(|t| t.0.hash(&mut hasher));
        out.push(hasher.finish());
        have -= tokens[from].1;
    }
    out
}

#[test]
fn leak_count_is_exact() {
    for leaks in [0, 1, 12, 13, 17, 155, 400] {
        let (files, summary) = run(3, leaks);
        let labels = files.json("labels.jsonl");
        let ordinary = labels
            .iter()
            .filter(|l| l["label"] == "leak" && l["excluded"].is_null())
            .count();
        assert_eq!(ordinary, leaks as usize);
        assert_eq!(summary.leaks, u64::from(leaks));
        let apart = if leaks == 0 { 0 } else { 10 };
        assert_eq!(summary.excluded_leaks, apart);
        let ids: BTreeSet<&str> = labels.iter().map(|l| text(l, "request_id")).collect();
        assert_eq!(ids.len(), labels.len());
    }
}

#[test]
fn same_seed_same_bytes() {
    assert!(run(11, 40).0 == run(11, 40).0);
    assert!(run(11, 40).0 != run(12, 40).0);
}

#[test]
fn unknown_names_and_too_many_leaks_are_errors() {
    let mut files = Files::default();
    let mut options = SimulateOptions::default();
    assert!(matches!(
        simulate("nothing", &options, &mut files),
        Err(SimulateError::UnknownScenario(_))
    ));
    options.leaks = 5_001;
    assert!(simulate(scenarios()[0].name, &options, &mut files).is_err());
    assert!(files.0.is_empty());
}

#[test]
fn small_output_is_small_and_valid() {
    let (files, summary) = run(1, 155);
    let bytes: usize = files.0.values().flatten().map(|l| l.len() + 1).sum();
    assert!(bytes <= 12_000_000, "{bytes}");
    assert_eq!(
        summary.gateway_records as usize,
        files.json("logs/gateway-").len()
    );
    for node in [
        "glm-prefill-1",
        "glm-prefill-3",
        "glm-decode-1",
        "glm-decode-4",
        "glm-mono-1",
    ] {
        let lines = files.json(&format!("logs/{node}_0.log"));
        assert!(lines.len() > 8, "{node}");
        for line in &lines {
            assert!(text(line, "event").starts_with("request."));
        }
    }
    for (name, lines) in files.0.iter().filter(|f| f.0.ends_with(".log")) {
        assert!(lines.is_sorted_by_key(|l| l[..21].to_vec()), "{name}");
    }
}

#[test]
fn prefill_and_decode_disagree_exactly_where_the_stub_was_sent() {
    let (files, _) = run(5, 155);
    let mut legs: HashMap<u64, Vec<i64>> = HashMap::new();
    let mut by_header: HashMap<String, u64> = HashMap::new();
    for line in files.json("logs/glm-") {
        if line["event"] != "request.finished" {
            continue;
        }
        let Some(room) = line["obj"]["bootstrap_room"].as_u64() else {
            continue;
        };
        let tokens = line["out"]["meta_info"]["prompt_tokens"].as_i64().unwrap();
        legs.entry(room).or_default().push(tokens);
        let header = text(&line["headers"], "x-request-id").to_owned();
        assert_eq!(*by_header.entry(header).or_insert(room), room);
    }
    let kinds: HashMap<String, (String, String)> = files
        .json("labels.jsonl")
        .iter()
        .map(|l| {
            let kind = (text(l, "label").to_owned(), text(l, "kind").to_owned());
            (text(l, "request_id").to_owned(), kind)
        })
        .collect();
    let mut stubs = 0;
    for row in files.json("logs/gateway-") {
        let exposed = kinds
            .get(text(&row, "request_id"))
            .is_some_and(|k| k.0 == "leak" || k.1 == "over_limit_no_text");
        let tokens = row["prompt_tokens"].as_i64().unwrap();
        if exposed {
            assert!((681_274..1_048_576).contains(&tokens));
            assert_eq!(row["http_status"], 200);
        }
        let Some(room) = by_header.get(text(&row, "x_request_id")) else {
            continue;
        };
        let mut seen = legs[room].clone();
        seen.sort_unstable();
        if row["http_status"] == 400 {
            assert_eq!(seen, [1]);
        } else if exposed {
            assert_eq!(seen, [1, tokens]);
            stubs += 1;
        } else {
            assert_eq!(seen, [tokens, tokens]);
        }
    }
    assert_eq!(stubs, 155 + 10 + 12);
}

#[test]
fn labels_tell_the_truth_about_every_response() {
    for seed in [1, 77] {
        check_texts(seed, 155);
    }
    check_texts(4, 0);
    check_texts(5, 500);
}

/// Every run of eight words that an answer shares with an earlier text of another tenant belongs to
/// a labelled response; every leak shows its source, at its labelled length, and nobody else.
fn check_texts(seed: u64, leaks: u32) {
    let (files, _) = run(seed, leaks);
    let labels = files.json("labels.jsonl");
    let labels: HashMap<&str, &Value> = labels.iter().map(|l| (text(l, "request_id"), l)).collect();
    let mut rows = files.json("logs/gateway-");
    rows.sort_by_key(|r| text(r, "t_start").to_owned());
    let by_id: HashMap<&str, &Value> = rows.iter().map(|r| (text(r, "request_id"), r)).collect();
    // Per run of words: who has met it, and whether independently of the others.
    let mut owners: HashMap<u64, Vec<(&str, bool)>> = HashMap::new();
    for row in &rows {
        let tenant = text(row, "tenant");
        let own: BTreeSet<u64> = prompt(row).iter().flat_map(|p| windows(p, 16)).collect();
        let shown = windows(text(row, "response"), 16);
        let mut foreign: BTreeSet<&str> = BTreeSet::new();
        for window in shown.iter().filter(|w| !own.contains(w)) {
            let found = owners.get(window).map_or(&[][..], |o| o);
            if !found.contains(&(tenant, true)) {
                foreign.extend(found.iter().filter(|o| o.1).map(|o| o.0));
            }
        }
        match labels.get(text(row, "request_id")) {
            Some(label) if label["label"] == "leak" => {
                check_leak(row, label, by_id[text(label, "source_request_id")]);
                assert!(
                    foreign.iter().eq([&text(label, "source_tenant")]),
                    "{foreign:?}"
                );
            }
            Some(label) => match text(label, "kind") {
                "gateway_cache" => assert_eq!(foreign.len(), 1),
                "public_text" => assert!(foreign.len() >= 5),
                "shared_system_prompt" => assert!(foreign.is_empty() || foreign.len() >= 5),
                kind => assert!(foreign.is_empty(), "{seed} {kind} {foreign:?}"),
            },
            None => assert!(foreign.is_empty(), "{seed} {foreign:?}"),
        }
        for (window, prompt) in own
            .iter()
            .map(|w| (w, true))
            .chain(shown.iter().map(|w| (w, false)))
        {
            let found = owners.entry(*window).or_default();
            if !found.iter().any(|o| o.0 == tenant) {
                found.push((tenant, prompt || !found.iter().any(|o| o.1)));
            }
        }
    }
}

/// The span stands whole in the answer and in the prompt or answer of its earlier source.
fn check_leak(row: &Value, label: &Value, source: &Value) {
    let words = label["span_words"].as_u64().unwrap() as u32;
    assert!(words >= 12);
    assert_eq!(label["prompt_tokens"], row["prompt_tokens"]);
    assert_eq!(label["tenant"], row["tenant"]);
    assert_eq!(label["source_tenant"], source["tenant"]);
    assert_ne!(label["tenant"], source["tenant"]);
    assert!(text(source, "t_end") < text(row, "t_start"));
    let mut sides: BTreeSet<u64> = prompt(source)
        .iter()
        .flat_map(|p| windows(p, words * 2))
        .collect();
    sides.extend(windows(text(source, "response"), words * 2));
    let shown = windows(text(row, "response"), words * 2);
    assert!(shown.iter().any(|w| sides.contains(w)));
}

#[test]
fn traffic_has_the_shape_of_the_fortnight() {
    let (files, _) = run(8, 155);
    let rows = files.json("logs/gateway-");
    let glm = |r: &&Value| text(r, "model").contains("glm");
    let silent = ("2026-09-09T14:00:00", "2026-09-09T19:40:00");
    assert!(rows.iter().filter(glm).all(|r| {
        let start = text(r, "t_start");
        start < silent.0 || start >= silent.1
    }));
    let count = |status: i64| rows.iter().filter(|r| r["http_status"] == status).count();
    assert_eq!(count(400), 12);
    let tenants: BTreeSet<&str> = rows.iter().map(|r| text(r, "tenant")).collect();
    assert_eq!(tenants.len(), 20);
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let mut langs: BTreeSet<String> = BTreeSet::new();
    let mut edge = 0;
    for label in files.json("labels.jsonl") {
        *kinds.entry(text(&label, "kind").to_owned()).or_default() += 1;
        langs.insert(text(&label, "source_lang").to_owned());
        let tokens = label["prompt_tokens"].as_i64().unwrap();
        edge += usize::from(label["label"] == "leak" && (681_274..681_280).contains(&tokens));
    }
    for (kind, least) in [
        ("repeated_page", 13),
        ("short_span", 10),
        ("middle_span", 40),
        ("long_span", 10),
        ("from_response", 5),
        ("second_hand", 4),
        ("over_limit_no_text", 12),
        ("near_limit", 4),
        ("after_fix", 6),
        ("retry", 6),
        ("gateway_cache", 5),
        ("shared_system_prompt", 6),
        ("own_prompt_quote", 6),
        ("own_history", 5),
        ("public_text", 3),
    ] {
        assert!(kinds.get(kind).is_some_and(|&n| n >= least), "{kind}");
    }
    assert!(langs.len() >= 9, "{langs:?}");
    assert!(edge >= 5);
}

/// Writes gigabytes into nothing: run by hand with `--ignored`.
#[test]
#[ignore = "seconds in release, minutes in debug"]
fn full_scale_stays_below_four_gigabytes() {
    struct Nothing;
    impl Sink for Nothing {
        fn line(&mut self, _: &str, _: &[u8]) -> std::io::Result<()> {
            Ok(())
        }
    }
    for leaks in [155, 5_000] {
        let options = SimulateOptions {
            seed: 1,
            scale: Scale::Full,
            leaks,
        };
        let summary = simulate("glm53-incident", &options, &mut Nothing).unwrap();
        assert!(summary.log_bytes < 4_000_000_000, "{}", summary.log_bytes);
        assert!(summary.log_bytes > 500_000_000, "{}", summary.log_bytes);
    }
}
