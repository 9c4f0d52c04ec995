//! `sql`, `rules` and `query` as a person calls them: a case on disk, the real program.

// A test that cannot go on has failed.
#![allow(clippy::unwrap_used)]

use pentimento_store::case::CaseFolder;
use pentimento_store::cell::PrivateText;
use pentimento_store::rows::{RejectRow, Row, SourceRow, TextRow, VerdictRow};
use pentimento_store::writer::{Partitioned, WriteOptions};
use std::path::Path;
use std::process::{Command, Output};

fn pentimento(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pentimento"))
        .args(arguments)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn table<R: Row + Partitioned>(case: &CaseFolder, rows: &[R]) {
    let mut writer = case.writer::<R>(WriteOptions::default()).unwrap();
    writer.extend(rows).unwrap();
    writer.finish().unwrap();
}

fn verdict(id: &str, tenant: &str) -> VerdictRow {
    VerdictRow {
        exchange_id: id.into(),
        request_id: Some(format!("r-{id}")),
        call_id: format!("c-{id}"),
        tenant: Some(tenant.into()),
        grade: "cleared".into(),
        exposure: "none".into(),
        disclosure: "none_found".into(),
        score: None,
        cause: None,
        generation: None,
        excluded: None,
        source_tenant: None,
        source_exchange_id: None,
        findings: 9_007_199_254_740_993,
        event_time: Some(1_788_220_800_123_456),
        reasons: String::new(),
    }
}

/// A case with two verdicts and one kept text, in a folder whose name looks like a pattern.
fn case(root: &Path) -> String {
    let folder = root.join("case [1]*");
    let case = CaseFolder::create(&folder, false).unwrap();
    table(
        &case,
        &[verdict("a", "=cmd()"), verdict("b", "\u{1b}[2J\u{202e}")],
    );
    table::<SourceRow>(&case, &[]);
    table::<RejectRow>(&case, &[]);
    let text = TextRow {
        exchange_id: "a".into(),
        field: "prompt".into(),
        text: PrivateText("secret words".to_owned()),
    };
    table(&case, &[text]);
    folder.to_str().unwrap().to_owned()
}

#[test]
fn rows_go_to_stdout_whole_and_harmless() {
    let root = tempfile::tempdir().unwrap();
    let case = case(root.path());
    let sql = "SELECT exchange_id, tenant, findings, event_time FROM verdicts ORDER BY 1";
    let ask = |format: &str| pentimento(&["sql", "--case", &case, "-c", sql, "--format", format]);
    assert_eq!(
        stdout(&ask("jsonl")),
        "{\"exchange_id\":\"a\",\"tenant\":\"=cmd()\",\"findings\":9007199254740993,\
         \"event_time\":\"2026-09-01T00:00:00.123456Z\"}\n\
         {\"exchange_id\":\"b\",\"tenant\":\"\\u001b[2J\\u202e\",\"findings\":9007199254740993,\
         \"event_time\":\"2026-09-01T00:00:00.123456Z\"}\n"
    );
    assert!(
        stdout(&ask("csv")).starts_with("exchange_id,tenant,findings,event_time\r\na,'=cmd(),")
    );
    let shown = stdout(&ask("table"));
    assert!(
        !shown.contains('\u{1b}') && !shown.contains('\u{202e}'),
        "{shown}"
    );
    assert!(ask("parquet").stdout.starts_with(b"PAR1"));
    assert_eq!(ask("json").status.code(), Some(0));
}

#[test]
fn a_statement_may_come_from_a_file() {
    let root = tempfile::tempdir().unwrap();
    let case = case(root.path());
    let file = root.path().join("q.sql");
    std::fs::write(&file, "-- a comment\nSELECT COUNT(*) AS n FROM verdicts;\n").unwrap();
    let path = file.to_str().unwrap();
    let done = pentimento(&["sql", "--case", &case, "-f", path, "--format", "jsonl"]);
    assert_eq!(stdout(&done), "{\"n\":2}\n");
}

#[test]
fn wrong_usage_ends_with_2_and_an_empty_stdout() {
    let root = tempfile::tempdir().unwrap();
    let case = case(root.path());
    let nowhere = root.path().join("nowhere");
    let nowhere = nowhere.to_str().unwrap();
    for arguments in [
        ["--case", nowhere, "-c", "SELECT 1"],
        ["--case", &case, "-c", "SELEC 1"],
        ["--case", &case, "-c", "SELECT * FROM texts"],
        ["--case", &case, "-c", "DROP TABLE verdicts"],
        ["--case", &case, "-c", "COPY verdicts TO 'out.csv'"],
        ["--case", &case, "-f", nowhere],
    ] {
        let mut all = vec!["sql"];
        all.extend(arguments);
        let done = pentimento(&all);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}");
        assert!(done.stdout.is_empty(), "{arguments:?}");
        assert!(!done.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn texts_are_read_only_with_a_reason_that_is_written_down() {
    let root = tempfile::tempdir().unwrap();
    let case = case(root.path());
    let sql = "SELECT \"text\" FROM texts";
    let done = pentimento(&["sql", "--case", &case, "-c", sql, "--reveal"]);
    assert_eq!(done.status.code(), Some(2));
    let custody = Path::new(&case).join("custody.jsonl");
    assert!(!custody.exists());
    let ask = [
        "sql", "--case", &case, "-c", sql, "--reveal", "--reason", "ticket 7",
    ];
    let done = pentimento(&ask);
    assert!(stdout(&done).contains("secret words"));
    let lines = std::fs::read_to_string(custody).unwrap();
    assert!(lines.contains("ticket 7") && !lines.contains("secret"));
}

#[test]
fn rules_and_queries_can_be_listed_and_shown() {
    let list = stdout(&pentimento(&["rules", "list"]));
    for id in [
        "over_pool_accepted",
        "foreign_prompt_overlap",
        "id_collision",
    ] {
        assert!(list.contains(id));
        let shown = stdout(&pentimento(&["rules", "show", id]));
        assert!(shown.starts_with(&format!("-- id: {id}\n")));
    }
    assert_eq!(
        pentimento(&["rules", "show", "nothing"]).status.code(),
        Some(2)
    );
    assert!(stdout(&pentimento(&["query", "list"])).contains("report/headline"));
    let root = tempfile::tempdir().unwrap();
    let case = case(root.path());
    let run = [
        "query",
        "run",
        "reconciliation",
        "--case",
        &case,
        "--format",
        "json",
    ];
    assert_eq!(stdout(&pentimento(&run)), "[]\n");
}
