//! The case folder, its manifest and its custody chain.

use super::sample::rows;
use crate::case::{CaseFolder, LOCK_FILE};
use crate::custody::{Act, ChainError, contains_head, verify_chain};
use crate::digest::CaseKey;
use crate::error::StoreError;
use crate::manifest::{
    CaseManifest, CaseStatus, FileDigest, FileProblemKind, Tallies, Tally, TallyError,
};
use crate::rows::{FindingRow, SourceRow, TextRow};
use crate::schema::Table;
use crate::writer::WriteOptions;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn finished(root: &Path, status: CaseStatus) -> CaseManifest {
    let case = CaseFolder::create(root, false).unwrap();
    let mut manifest = CaseManifest {
        status,
        ..CaseManifest::default()
    };
    let mut findings = case.writer::<FindingRow>(WriteOptions::default()).unwrap();
    findings.extend(&rows(5, 2)).unwrap();
    manifest.set_table(&findings.finish().unwrap());
    let texts = case.writer::<TextRow>(WriteOptions::default()).unwrap();
    manifest.set_table(&texts.finish().unwrap());
    manifest.set_output(case.write_output("report.md", b"# report\n").unwrap());
    case.add_custody(&act("ingested")).unwrap();
    case.write_manifest(&manifest).unwrap();
    manifest
}

fn act(action: &str) -> Act {
    Act {
        time: "2026-09-10T00:00:00Z".into(),
        action: action.into(),
        actor: None,
        reason: Some("a \"reason\"\nin two lines".into()),
        detail: BTreeMap::from([("table".into(), "findings".into())]),
    }
}

#[test]
fn one_run_holds_a_case_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("deep/er/case");
    let first = CaseFolder::create(&root, false).unwrap();
    assert!(first.is_held());
    for other in [CaseFolder::create(&root, true), CaseFolder::resume(&root)] {
        assert!(matches!(other, Err(StoreError::Busy { .. })));
    }
    assert!(!CaseFolder::open(&root).unwrap().is_held());
    drop(first);
    CaseFolder::create(&root, false).unwrap();
}

#[test]
fn folders_that_are_no_case_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.txt"), "years of work").unwrap();
    fs::write(folder.path().join("report.md"), "of another").unwrap();
    for overwrite in [false, true] {
        assert!(matches!(
            CaseFolder::create(folder.path(), overwrite),
            Err(StoreError::NotACase { .. })
        ));
    }
    for opened in [
        CaseFolder::open(folder.path()),
        CaseFolder::resume(folder.path()),
        CaseFolder::open(&folder.path().join("absent")),
    ] {
        assert!(matches!(opened, Err(StoreError::NoCase { .. })));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    let file = folder.path().join("thesis.txt");
    assert!(CaseFolder::create(&file, true).is_err());
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    CaseFolder::create(&empty, false).unwrap();
}

#[test]
fn a_finished_case_is_only_overwritten_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("case");
    finished(&root, CaseStatus::Complete);
    assert!(matches!(
        CaseFolder::create(&root, false),
        Err(StoreError::Finished { .. })
    ));
    let open = CaseFolder::open(&root).unwrap();
    assert!(open.is_finished() && open.has_table(Table::Texts));
    fs::write(root.join("notes.txt"), "mine").unwrap();
    fs::write(root.join("tables/overlaps.tmp"), "left").unwrap();
    let case = CaseFolder::create(&root, true).unwrap();
    assert!(!case.is_finished());
    assert!(!case.has_table(Table::Texts));
    let mut left: Vec<_> = fs::read_dir(&root)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, [LOCK_FILE, "custody.jsonl", "notes.txt", "tables"]);
}

#[test]
fn a_stage_takes_up_what_the_one_before_left() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("case");
    let manifest = finished(&root, CaseStatus::Partial);
    fs::create_dir(root.join("tables/overlaps.tmp")).unwrap();
    fs::write(root.join("case.json.tmp"), "{").unwrap();
    let case = CaseFolder::resume(&root).unwrap();
    assert_eq!(case.previous(), Some(&manifest));
    assert!(CaseManifest::read(&root).unwrap().is_none());
    assert!(case.has_table(Table::Findings) && root.join("report.md").exists());
    assert!(!root.join("tables/overlaps.tmp").exists());
    assert!(!root.join("case.json.tmp").exists());
    case.write_manifest(&manifest).unwrap();
    drop(case);
    // A partial case is not finished: a new run may take the folder.
    CaseFolder::create(&root, false).unwrap();
}

#[test]
fn a_damaged_manifest_is_not_thrown_away() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("case");
    finished(&root, CaseStatus::Complete);
    fs::write(root.join("case.json"), "{\n\"status\": 1}").unwrap();
    assert!(matches!(
        CaseFolder::create(&root, false),
        Err(StoreError::Finished { .. })
    ));
    assert!(matches!(
        CaseFolder::open(&root),
        Err(StoreError::Manifest { line: 2, .. })
    ));
}

#[test]
fn the_key_lies_beside_the_case_and_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("my.case");
    let case = CaseFolder::create(&root, false).unwrap();
    let beside = fs::canonicalize(folder.path()).unwrap().join("my.case.key");
    assert_eq!(case.key_path(), beside);
    let key = case.key(None, || Ok([5; 32])).unwrap();
    assert_eq!(key, CaseKey([5; 32]));
    let again = case.key(None, || panic!("a second key")).unwrap();
    assert_eq!(again, key);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&beside).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        for (path, mode) in [
            ("", 0o700),
            ("tables", 0o700),
            ("case.lock", 0o600),
            ("custody.jsonl", 0o600),
        ] {
            case.add_custody(&act("opened")).unwrap();
            let found = fs::metadata(root.join(path)).unwrap();
            assert_eq!(found.permissions().mode() & 0o777, mode, "{path}");
        }
    }
    let own = folder.path().join("own");
    fs::write(&own, CaseKey([6; 32]).to_hex()).unwrap();
    let given = case.key(Some(&own), || panic!("not needed")).unwrap();
    assert_eq!(given, CaseKey([6; 32]));
    fs::write(&own, "correct horse battery staple".repeat(9)).unwrap();
    let error = case.key(Some(&own), || panic!("not needed")).unwrap_err();
    assert!(matches!(error, StoreError::Key { .. }));
    assert!(!error.to_string().contains("horse"));
    let absent = folder.path().join("absent");
    assert!(case.key(Some(&absent), || panic!("not needed")).is_err());
    assert!(!absent.exists());
}

#[test]
fn changed_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("case");
    let mut manifest = finished(&root, CaseStatus::Complete);
    assert_eq!(CaseManifest::read(&root).unwrap().as_ref(), Some(&manifest));
    assert_eq!(manifest.verify_files(&root).unwrap(), []);
    let findings = root.join("tables/findings/part-00000.parquet");
    let mut bytes = fs::read(&findings).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&findings, bytes).unwrap();
    fs::remove_file(root.join("report.md")).unwrap();
    fs::write(root.join("tables/texts/part-00001.parquet"), "more").unwrap();
    manifest.outputs.push(FileDigest {
        path: "../../etc/passwd".into(),
        bytes: 0,
        rows: None,
        blake3: String::new(),
    });
    let problems: Vec<_> = manifest
        .verify_files(&root)
        .unwrap()
        .into_iter()
        .map(|p| (p.path, p.kind))
        .collect();
    let expected = [
        (
            "tables/findings/part-00000.parquet",
            FileProblemKind::Changed,
        ),
        ("report.md", FileProblemKind::Missing),
        ("../../etc/passwd", FileProblemKind::Outside),
        (
            "tables/texts/part-00001.parquet",
            FileProblemKind::Unexpected,
        ),
    ]
    .map(|(path, kind)| (path.to_owned(), kind));
    assert_eq!(problems, expected);
}

#[test]
fn every_record_is_accounted_for() {
    let row = |id: &str, read, parts: [i64; 6]| {
        let mut row: SourceRow = rows(1, 0).remove(0);
        row.source_id = id.into();
        row.records_read = read;
        [
            row.records_exchange,
            row.records_event,
            row.records_other,
            row.records_rejected,
            row.records_duplicate,
            row.records_out_of_window,
        ] = parts;
        row
    };
    let good = [
        row("s0001", 21, [1, 2, 3, 4, 5, 6]),
        row("s0002", 0, [0; 6]),
        row("s0003", 3, [3, 0, 0, 0, 0, 0]),
    ];
    let tallies = Tallies::of(&good).unwrap();
    assert_eq!(tallies.total.read, 24);
    assert_eq!(tallies.total.exchange, 4);
    let parts = |which: &str, read| TallyError::Parts {
        which: which.into(),
        read,
    };
    let cases = [
        (row("s0004", 2, [1, 0, 0, 0, 0, 0]), parts("s0004", 2)),
        (row("s0004", 0, [1, -1, 0, 0, 0, 0]), parts("s0004", 0)),
        (
            row("s0001", 0, [0; 6]),
            TallyError::Twice("s0001".to_owned()),
        ),
        (row("s0004", i64::MAX, [0; 6]), TallyError::Total),
    ];
    for (bad, error) in cases {
        let rows: Vec<_> = good.iter().chain([&bad]).collect();
        assert_eq!(Tallies::of(rows), Err(error));
    }
    let mut wrong = tallies;
    wrong.total = Tally::default();
    assert_eq!(wrong.check(), Err(TallyError::Total));
}

#[test]
fn a_custody_chain_shows_every_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("custody.jsonl");
    assert_eq!(verify_chain(&path).unwrap().lines, 0);
    let mut heads = vec![verify_chain(&path).unwrap()];
    for action in ["acquired", "ingested", "revealed", "exported"] {
        heads.push(crate::custody::append(&path, &act(action)).unwrap());
    }
    assert_eq!(verify_chain(&path).unwrap(), heads[4]);
    for head in &heads {
        assert!(contains_head(&path, head).unwrap());
    }
    let whole = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let joined = |lines: &[&str]| lines.iter().map(|l| format!("{l}\n")).collect::<String>();
    let [a, b, c, d] = lines[..] else {
        panic!("four lines")
    };
    let cases = [
        (
            whole.replace("ingested", "nothing"),
            ChainError::Broken { line: 3 },
        ),
        (joined(&[a, c, d]), ChainError::Broken { line: 2 }),
        (joined(&[a, b, b, c, d]), ChainError::Broken { line: 3 }),
        (joined(&[b, c, d]), ChainError::Broken { line: 1 }),
        (joined(&[a, "", b]), ChainError::Line { line: 2 }),
        (joined(&[a, "{}"]), ChainError::Line { line: 2 }),
        (whole.trim_end().to_owned(), ChainError::Cut { line: 4 }),
        (
            joined(&[a, &"[".repeat(100_000)]),
            ChainError::Line { line: 2 },
        ),
        (
            joined(&[a, &"x".repeat(2 << 20)]),
            ChainError::Cut { line: 2 },
        ),
    ];
    for (text, error) in cases {
        fs::write(&path, &text).unwrap();
        for result in [
            verify_chain(&path),
            crate::custody::append(&path, &act("x")),
        ] {
            match result {
                Err(StoreError::Custody { source, .. }) => assert_eq!(source, error),
                other => panic!("{other:?}, expected {error}"),
            }
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    // Lines taken off the end leave a sound chain that lacks the known head.
    fs::write(&path, joined(&[a, b])).unwrap();
    assert_eq!(verify_chain(&path).unwrap(), heads[2]);
    assert!(!contains_head(&path, &heads[4]).unwrap());
}
