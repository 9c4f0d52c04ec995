//! Hostile values in every string field are inert in every format, and long lists are cut.

use super::sample::sample;
use crate::report::finding::Finding;
use crate::report::model::{Recipient, Report};
use crate::report::{MAX_FINDINGS, RENDERERS, sanitize};
use proptest::prelude::*;

const PAYLOADS: [&str; 16] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</style><svg onload=alert(1)>",
    "--></title><iframe src=//evil.example>",
    "[x](javascript:alert(1))",
    "![x](https://evil.example/?leak)",
    "<javascript:alert(1)>",
    "x | y |\n| --- |\n# heading",
    "`code` ``` fence",
    "\u{1b}]8;;https://evil.example\u{7}click\u{1b}]8;;\u{7}\u{1b}[2J",
    "\u{9b}31m\u{7f}\u{0}\r",
    "abc\u{202e}cba\u{2066}\u{2069}\u{200f}\u{e0041}",
    "=HYPERLINK(\"https://evil.example\")",
    "{{ 7 * 7 }} {% raw %} ${7*7}",
    "../../etc/passwd; DROP TABLE verdicts; --",
];

fn rendered(report: &Report) -> Vec<(&'static str, String)> {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    RENDERERS
        .iter()
        .map(|format| (format.file_name(), text(format.render(report).unwrap())))
        .collect()
}

/// Elements of the page, in order, with their attribute names and without values and text.
fn skeleton(html: &str) -> Vec<String> {
    html.split('<')
        .skip(1)
        .map(|part| {
            let tag = part.split('>').next().unwrap_or(part);
            let quotes = tag.split('"').step_by(2).collect::<Vec<_>>();
            quotes.join("\"\"")
        })
        .collect()
}

#[test]
fn payloads_in_every_field_are_inert() {
    let plain = rendered(&sample(&|_| "plain".to_owned()).finish());
    let lines = |text: &str| text.lines().count();
    for payload in PAYLOADS {
        let hostile = rendered(&sample(&|_| payload.to_owned()).finish());
        for ((name, text), (_, calm)) in hostile.iter().zip(&plain) {
            let case = format!("{name}: {payload:?}");
            for bad in ["<script", "<iframe", "<img"] {
                assert!(!text.to_lowercase().contains(bad), "{case} holds {bad}");
            }
            let acting = |c: &char| *c != '\n' && sanitize::acts(*c);
            assert_eq!(text.chars().find(acting), None, "{case}");
            if *name != "report.json" {
                assert_eq!(lines(text), lines(calm), "{case}: lines added");
            }
            if *name == "report.html" {
                assert_eq!(skeleton(text), skeleton(calm), "{case}: elements changed");
            }
            if *name == "report.md" {
                for bad in ["<", "](", "`", "://"] {
                    let at = text.replace("\\`", "").replace("\\:", "").find(bad);
                    assert_eq!(at, None, "{case} holds {bad}");
                }
                assert_eq!(bars(text), bars(calm), "{case}: cells added");
            }
        }
    }
}

/// Unescaped bars of a Markdown text.
fn bars(text: &str) -> usize {
    text.match_indices('|')
        .filter(|(at, _)| {
            let slashes = text[..*at]
                .bytes()
                .rev()
                .take_while(|byte| *byte == b'\\')
                .count();
            slashes % 2 == 0
        })
        .count()
}

#[test]
fn json_keeps_the_true_values() {
    for payload in PAYLOADS {
        let report = sample(&|_| payload.to_owned()).finish();
        let bytes = RENDERERS
            .iter()
            .find(|f| f.file_name() == "report.json")
            .unwrap()
            .render(&report)
            .unwrap();
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(value["findings"]["shown"][0]["tenant"], payload);
    }
}

#[test]
fn the_page_fetches_nothing_and_runs_nothing() {
    let html = rendered(&sample(&str::to_owned).finish()).remove(0).1;
    assert!(
        html.contains("content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\"")
    );
    for bad in [
        "<script", "<link", "src=", "url(", "@import", "http://", "https://", " style=",
    ] {
        assert!(!html.contains(bad), "{bad}");
    }
    assert_eq!(
        html.matches("<table>").count(),
        html.matches("<caption>").count()
    );
    assert!(html.contains("scope=\"col\"") && html.contains("scope=\"row\""));
}

#[test]
fn long_lists_are_cut_and_said() {
    let mut report = sample(&str::to_owned);
    report.findings.total = 100_000;
    report.findings.shown = vec![report.findings.shown[0].clone(); 3 * MAX_FINDINGS];
    let pair = Recipient {
        tenant: Some("漢字".repeat(5_000)),
        ..Recipient::default()
    };
    report.recipients = vec![pair; 2_500];
    let report = report.finish();
    assert_eq!(report.findings.shown.len(), MAX_FINDINGS);
    for (name, text) in rendered(&report) {
        assert!(
            text.contains("100,000") || text.contains("100000"),
            "{name}"
        );
        if name != "report.json" {
            assert!(text.contains("1,000 of 100,000 rows shown"), "{name}");
            assert!(text.contains("1,000 of 2,500 rows shown"), "{name}");
            assert!(text.len() < 3_000_000, "{name}: {} bytes", text.len());
        }
    }
}

#[test]
fn previews_show_only_where_there_are_some() {
    let mut report = sample(&str::to_owned);
    for (_, text) in rendered(&report) {
        assert!(text.contains("preview"));
    }
    report.header.revealed = false;
    for finding in &mut report.findings.shown {
        *finding = Finding {
            preview: None,
            ..finding.clone()
        };
    }
    for (_, text) in rendered(&report) {
        assert!(!text.contains("preview"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_value_leaves_the_page_as_it_is(value in "(?s).{1,40}") {
        let calm = rendered(&sample(&|_| "plain".to_owned()).finish());
        let got = rendered(&sample(&|_| value.clone()).finish());
        prop_assert!(skeleton(&got[0].1) == skeleton(&calm[0].1), "elements changed");
        prop_assert_eq!(bars(&got[1].1), bars(&calm[1].1));
        prop_assert_eq!(got[1].1.lines().count(), calm[1].1.lines().count());
    }
}
