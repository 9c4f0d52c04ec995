//! `trace`: whose text a snippet is, and who else got it.

use crate::kit::{Lab, exchange, pentimento, program, stderr, stdout, with, words};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

/// The owner's prompt, a victim's answer and two bystanders, in the wrong order.
fn lab() -> Lab {
    let lab = Lab::new();
    let secret = words(7, 12);
    lab.log(
        "gateway.jsonl",
        &[
            exchange(
                "victim",
                "bolt",
                "09:00:00",
                &words(1, 9),
                &secret.to_uppercase(),
            ),
            exchange(
                "owner",
                "acme",
                "08:00:00",
                &format!("{} {secret}", words(2, 5)),
                "ok",
            ),
            exchange("other", "crux", "08:30:00", &words(3, 20), &words(4, 20)),
            exchange("short", "crux", "08:40:00", &words(7, 7), "ok"),
        ],
    );
    lab.write("snippet.txt", format!("they sent me: {secret}"));
    lab
}

fn rows(output: &std::process::Output) -> Vec<Value> {
    stdout(output)
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect()
}

fn trace(lab: &Lab, flags: &[&str]) -> std::process::Output {
    let mut all = vec!["trace".to_owned(), lab.text("logs")];
    all.extend(["--text-file".to_owned(), lab.text("snippet.txt")]);
    all.extend(flags.iter().map(|f| (*f).to_owned()));
    pentimento(&all)
}

#[test]
fn the_owner_comes_first_and_the_snippet_stays_out_of_sight() {
    let lab = lab();
    let output = trace(&lab, &["--format", "jsonl"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let found = rows(&output);
    let seen: Vec<_> = found
        .iter()
        .map(|r| {
            (
                r["request_id"].as_str().unwrap(),
                r["field"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(seen, [("owner", "prompt"), ("victim", "response")]);
    assert_eq!(found[0]["tokens"], 12);
    assert_eq!(found[0]["snippet_start"], 14);
    let tenant = |n: usize| found[n]["tenant"].as_str().unwrap();
    assert!(tenant(0).starts_with("tenant-") && tenant(0) != tenant(1));
    let said = stdout(&output) + &stderr(&output);
    let word = words(7, 1);
    assert!(!said.to_lowercase().contains(&word), "{said}");
    assert!(!said.contains("acme"), "{said}");
    let named = trace(&lab, &["--format", "jsonl", "--tenants"]);
    assert_eq!(rows(&named)[0]["tenant"], "acme");
}

#[test]
fn the_snippet_may_come_from_standard_input() {
    let lab = lab();
    let mut child = program()
        .args(["trace", &lab.text("logs"), "--text-file", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let snippet = words(7, 12);
    child
        .stdin
        .take()
        .unwrap()
        .write_all(snippet.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output).lines().count(), 3);
}

#[test]
fn what_cannot_be_told_is_said() {
    let lab = lab();
    for (snippet, logs, code) in [
        ("too short a text", "logs", 2),
        (&words(9, 30), "logs", 0),
        (&words(9, 30), "nowhere", 5),
    ] {
        lab.write("snippet.txt", snippet);
        let file = lab.text("snippet.txt");
        let output = pentimento(&["trace", &lab.text(logs), "--text-file", &file]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    }
    // A record that could not be read might have held the text.
    lab.write(
        "logs/broken.jsonl",
        "{\"request_id\":\"r\",\"prompt\":\"p\",\"response\":\"q\"}\n{\"cut",
    );
    let output = trace(&lab, &[]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
}

#[test]
fn hostile_fields_stay_in_their_cell() {
    let lab = lab();
    let record = exchange("x", "acme", "07:00:00", &words(7, 12), "ok");
    lab.log(
        "hostile.jsonl",
        &[with(record, json!({"node": "a\tb\u{1b}[2J\nc"}))],
    );
    let output = trace(&lab, &[]);
    let line = stdout(&output).lines().nth(1).unwrap().to_owned();
    assert_eq!(line.split('\t').count(), 13, "{line}");
    assert!(!line.contains('\u{1b}'), "{line}");
}
