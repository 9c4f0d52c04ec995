//! `audit --reveal`: what a reader sees of a shared passage, and what nobody sees.

use crate::kit::{Audit, Lab, clean, exchange, only, pentimento, words};
use serde_json::Value;

const PASSAGE: &str = "Patient Wilhelmine Oberhauser, born 12.03.1957, complains about stabbing \
    headaches since Tuesday; write to w.oberhauser@example.org or call 0151 2345678 before the \
    neurological examination in Heidelberg next week";

/// `acme` asked, and `bolt` was answered with it.
fn leak() -> Lab {
    let lab = Lab::new();
    lab.log("clean.jsonl", &clean(6));
    let source = exchange("source", "acme", "06:00:00", PASSAGE, "done");
    let answer = format!("Größe: {PASSAGE}");
    let leak = exchange("leak", "bolt", "06:30:00", &words(1, 20), &answer);
    lab.log("leak.jsonl", &[source, leak]);
    lab
}

const OUTPUTS: [&str; 4] = ["report.html", "report.md", "report.json", "findings.jsonl"];

/// No output may hold four words of the passage in a row.
fn holds_no_text(audit: &Audit) {
    let plain = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric());
        let words = words.filter(|w| !w.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let runs: Vec<String> = plain(PASSAGE).windows(4).map(|w| w.join(" ")).collect();
    let mut said: Vec<String> = OUTPUTS.iter().map(|name| audit.file(name)).collect();
    said.extend([
        audit.said(),
        audit.file("case.json"),
        audit.file("custody.jsonl"),
    ]);
    for text in said {
        let text = plain(&text).join(" ");
        for run in &runs {
            assert!(!text.contains(run), "{run}");
        }
    }
}

fn custody(audit: &Audit, action: &str) -> Vec<Value> {
    let text = audit.file("custody.jsonl");
    let lines = text.lines().map(|l| serde_json::from_str(l).unwrap());
    lines
        .filter(|l: &Value| l.to_string().contains(&format!("\"{action}\"")))
        .collect()
}

#[test]
fn without_the_flag_there_is_no_preview() {
    for flags in [&[][..], &["--reason", "ticket 7"]] {
        let lab = leak();
        let audit = lab.audit(flags).ends_with(3);
        assert_eq!(audit.verdict("leak").grade, "probable");
        holds_no_text(&audit);
        for name in OUTPUTS {
            assert!(!audit.file(name).contains("preview"), "{name}");
            assert!(!audit.file(name).contains('•'), "{name}");
        }
        assert_eq!(audit.json("report.json")["header"]["revealed"], false);
        assert!(custody(&audit, "revealed").is_empty());
    }
}

#[test]
fn with_the_flag_the_kind_of_passage_shows_and_custody_tells() {
    let lab = leak();
    let audit = lab
        .audit(&["--reveal", "--reason", "ticket 7"])
        .ends_with(3);
    holds_no_text(&audit);
    let report = audit.json("report.json");
    assert_eq!(report["header"]["revealed"], true);
    let shown = report["findings"]["shown"].as_array().unwrap();
    let previews = shown.iter().filter_map(|f| f["preview"].as_str());
    let preview = only(previews);
    assert!(
        preview.starts_with("Pa••••• Wi•••••••• Ob••••••••, bo•• ••.••.••••, co•••••••"),
        "{preview}"
    );
    assert!(
        preview.contains("wr••• t• •.••••••••••@•••••••.••• o• ca•• •••• •••••••"),
        "{preview}"
    );
    assert!(preview.chars().count() <= 160, "{preview}");
    for name in ["report.md", "report.html"] {
        let text = audit.file(name);
        assert!(text.contains("Pa••••• Wi•••••••• Ob••••••••"), "{name}");
    }
    assert!(!audit.file("findings.jsonl").contains('•'));
    let line = only(custody(&audit, "revealed").into_iter());
    assert_eq!(line["reason"], "ticket 7");
    assert!(line.to_string().contains("\"passages\":\"1\""), "{line}");
}

#[test]
fn a_preview_needs_a_reason() {
    let lab = leak();
    let done = pentimento(&lab.arguments(&["--reveal"]));
    assert_eq!(done.status.code(), Some(2));
    assert!(!lab.path("case").exists());
}
