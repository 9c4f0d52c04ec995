//! The command line: help, silence, progress, and a stdout that carries data only.

use crate::kit::{Lab, clean, exchange, pentimento, program, stderr, stdout, words};
use serde_json::Value;

fn lab() -> Lab {
    let lab = Lab::new();
    lab.log("a.jsonl", &clean(30));
    lab
}

#[test]
fn every_command_explains_itself() {
    let commands: [&[&str]; 16] = [
        &[],
        &["audit"],
        &["ingest"],
        &["over-limit"],
        &["sql"],
        &["simulate"],
        &["formats"],
        &["inspect"],
        &["rules"],
        &["rules", "list"],
        &["rules", "show"],
        &["query"],
        &["query", "list"],
        &["query", "show"],
        &["query", "run"],
        &["audit", "-"],
    ];
    for command in commands {
        let done = pentimento(&[command, &["--help"]].concat());
        assert_eq!(done.status.code(), Some(0), "{command:?}");
        assert!(stdout(&done).contains("Usage: pentimento"), "{command:?}");
        assert!(done.stderr.is_empty(), "{command:?}");
        assert!(!stdout(&done).contains('\u{1b}'), "{command:?}");
    }
    let help = stdout(&pentimento(&["--help"]));
    for code in ["0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "7 ", "75 "] {
        assert!(
            help.lines().any(|l| l.trim_start().starts_with(code)),
            "{code}"
        );
    }
    let audit = stdout(&pentimento(&["audit", "--help"]));
    for flag in [
        "--case",
        "--config",
        "--since",
        "--until",
        "--fail-on",
        "--mode",
        "--threads",
        "--memory-limit",
        "--progress",
        "--keep-text",
        "--reveal",
        "--reason",
        "--min-assessable",
        "--max-reject-ratio",
        "--look-back",
        "--assume-timezone",
        "--case-key-file",
        "--quiet",
        "--exit-zero",
    ] {
        assert!(audit.contains(flag), "{flag}");
    }
    assert!(stdout(&pentimento(&["--version"])).starts_with("pentimento "));
}

#[test]
fn wrong_usage_is_2_and_says_so_on_stderr() {
    let cases: [&[&str]; 9] = [
        &[],
        &["nonsense"],
        &["audit"],
        &["audit", "a", "--nonsense"],
        &["audit", "a", "--fail-on", "sometimes"],
        &["audit", "a", "--threads", "0"],
        &["audit", "a", "--memory-limit", "1"],
        &["audit", "a", "--reveal"],
        &["simulate", "nothing", "--out", "/nonexistent/x"],
    ];
    for case in cases {
        let done = pentimento(case);
        assert_eq!(done.status.code(), Some(2), "{case:?}: {}", stderr(&done));
        assert!(done.stdout.is_empty(), "{case:?}");
        assert!(!done.stderr.is_empty(), "{case:?}");
    }
}

#[test]
fn quiet_says_nothing() {
    let lab = lab();
    let audit = lab.audit(&["--quiet"]).ends_with(0);
    assert_eq!(audit.said(), "");
    assert!(audit.output.stdout.is_empty());
    assert!(audit.case.join("case.json").exists());
    // Errors are said all the same.
    let audit = lab
        .audit(&["--quiet", "--config", &lab.text("nowhere")])
        .ends_with(2);
    assert_eq!(audit.said().lines().count(), 1, "{}", audit.said());
}

#[test]
fn progress_in_json_can_be_read_by_a_program() {
    let audit = lab().audit(&["--progress", "json"]).ends_with(0);
    assert!(audit.output.stdout.is_empty());
    let said = audit.said();
    let lines: Vec<Value> = said
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    for stage in ["ingest", "link", "decide", "report", "done"] {
        assert!(lines.iter().any(|l| l["stage"] == stage), "{stage}: {said}");
    }
    for line in &lines {
        for key in ["bytes", "total_bytes", "elapsed_ms"] {
            assert!(line[key].is_u64(), "{line}");
        }
    }
}

#[test]
fn the_closing_block_tells_sums_grades_costs_and_the_next_command() {
    let audit = lab().audit(&["--progress", "plain"]).ends_with(0);
    let said = audit.said();
    for part in [
        "ingest: ",
        "records read 30 = accepted 30 + rejected 0 + duplicate 0 + out of window 0",
        "0 confirmed, 0 probable, 0 possible",
        "peak memory ",
        "/s)",
        "report.html",
        "next: pentimento ",
    ] {
        assert!(said.contains(part), "{part} is missing in {said}");
    }
    let none = lab().audit(&["--progress", "none"]).ends_with(0);
    assert!(!none.said().contains("ingest: "), "{}", none.said());
    assert!(none.said().contains("records read 30"), "{}", none.said());
}

#[test]
fn no_colour_and_no_control_reaches_a_pipe() {
    let lab = Lab::new();
    let mut records = clean(12);
    let leaked = words(1, 30);
    let nasty = "acme\u{1b}[31m\u{202e}|<script>";
    records.push(exchange("source", nasty, "06:00:00", &leaked, "done"));
    records.push(exchange("leak", "bolt", "06:30:00", &words(2, 30), &leaked));
    lab.log("a.jsonl", &records);
    for no_colour in [false, true] {
        let mut command = program();
        command.args(lab.arguments(&[]));
        if no_colour {
            command.env("NO_COLOR", "1");
        }
        let done = command.output().unwrap();
        assert_eq!(done.status.code(), Some(3));
        assert!(done.stdout.is_empty());
        assert!(!stderr(&done).contains('\u{1b}'));
    }
    for name in ["report.md", "report.html", "report.json", "findings.jsonl"] {
        let text = std::fs::read_to_string(lab.path("case").join(name)).unwrap();
        assert!(text.contains("leak"), "{name}");
        for bad in ['\u{1b}', '\u{202e}'] {
            assert!(!text.contains(bad), "{name} holds {bad:?}");
        }
        if name.ends_with("html") || name.ends_with("md") {
            assert!(!text.contains("<script>"), "{name}");
        }
    }
}

#[test]
fn standard_input_globs_and_doubled_names() {
    let lab = lab();
    let mut arguments = lab.arguments(&[]);
    arguments[1] = "-".to_owned();
    let file = std::fs::File::open(lab.path("logs/a.jsonl")).unwrap();
    let done = program().args(&arguments).stdin(file).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let (glob, path) = (lab.text("logs/*.jsonl"), lab.text("logs/a.jsonl"));
    let audit = lab.audit(&[&glob, &path]).ends_with(0);
    assert_eq!(
        audit.sources().len(),
        1,
        "a file named three times is read once"
    );
    assert_eq!(audit.sources()[0].records_read, 30);
}

#[test]
fn fail_on_and_exit_zero_move_the_exit_code() {
    let lab = lab();
    let leaked = words(1, 30);
    lab.log(
        "b.jsonl",
        &[
            exchange("source", "acme", "06:00:00", &leaked, "done"),
            exchange("leak", "bolt", "06:30:00", &words(2, 30), &leaked),
        ],
    );
    for (flags, code) in [
        (&["--fail-on", "critical"][..], 0),
        (&["--fail-on", "high"], 3),
        (&["--fail-on", "low"], 3),
        (&["--fail-on", "never"], 0),
        (&["--exit-zero"], 0),
    ] {
        let audit = lab.audit(flags);
        assert_eq!(audit.code(), code, "{flags:?}: {}", audit.said());
        assert_eq!(audit.json("case.json")["exit_code"], code, "{flags:?}");
    }
}

#[test]
fn an_earlier_case_among_the_logs_is_no_log() {
    let lab = lab();
    let case = lab.text("logs/case");
    for _ in 0..2 {
        let audit = lab.audit(&["--case", &case]).ends_with(0);
        assert_eq!(audit.sources().len(), 1);
        assert!(lab.path("logs/case.key").exists());
    }
    let done = pentimento(&["audit", &case, "--case", &lab.text("other")]);
    assert_eq!(done.status.code(), Some(5), "{}", stderr(&done));
}
