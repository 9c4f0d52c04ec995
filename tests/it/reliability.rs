//! Broken input never stops a run, and never vanishes; a stopped run never looks finished.

use crate::kit::{Audit, Lab, clean, exchange, lines, only, program, words};
use flate2::Compression;
use flate2::write::GzEncoder;
use pentimento_store::rows::{RejectRow, SourceRow};
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::Duration;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut member = GzEncoder::new(Vec::new(), Compression::fast());
    member.write_all(bytes).unwrap();
    member.finish().unwrap()
}

/// Sources whose tallies do not sum.
fn check_sums(audit: &Audit) {
    for s in audit.sources() {
        let parts = s.records_exchange
            + s.records_event
            + s.records_other
            + s.records_rejected
            + s.records_duplicate
            + s.records_out_of_window;
        assert_eq!(s.records_read, parts, "{}", s.path);
        let rejects = audit.rejects();
        let rejects = rejects.iter().filter(|r| r.source_id == s.source_id);
        assert_eq!(rejects.count() as i64, s.records_rejected, "{}", s.path);
    }
}

fn source(audit: &Audit, name: &str) -> SourceRow {
    only(
        audit
            .sources()
            .into_iter()
            .filter(|s| s.path.ends_with(name)),
    )
}

fn rejects(audit: &Audit, name: &str) -> Vec<RejectRow> {
    let id = source(audit, name).source_id;
    let mut all = audit.rejects();
    all.retain(|r| r.source_id == id);
    all
}

/// Offset, length and reason of the one reject of a source.
fn reject(audit: &Audit, name: &str) -> (i64, i64, &'static str) {
    let row = only(rejects(audit, name).into_iter());
    (row.offset, row.length, row.reason.as_str())
}

/// A folder with everything that may be wrong with a file, beside good traffic.
fn damaged() -> (Lab, Vec<u8>, Vec<u8>) {
    let lab = Lab::new();
    lab.log("a-good.jsonl", &clean(60));
    let one = lines(&[exchange(
        "b-1",
        "acme",
        "07:00:00",
        &words(1, 20),
        &words(2, 20),
    )]);
    let two = lines(&[exchange(
        "b-2",
        "bolt",
        "07:10:00",
        &words(3, 20),
        &words(4, 20),
    )]);
    let broken: &[u8] = b"{\"request_id\":\"b-3\",\"tenant\":\"acme\",\"response\":\"half\n";
    lab.write(
        "logs/broken.jsonl",
        [&one, broken, &two, &one[..40]].concat(),
    );
    let many = lines(&clean(40));
    let packed = gzip(&many);
    lab.write("logs/cut.jsonl.gz", &packed[..packed.len() / 2]);
    let junk: Vec<u8> = (0..5_000u32).map(|n| (n * n % 251) as u8 | 0x80).collect();
    lab.write("logs/junk.bin", &junk);
    lab.write("logs/empty.jsonl", b"");
    std::os::unix::fs::symlink(lab.path("nowhere"), lab.path("logs/gone.jsonl")).unwrap();
    (lab, one, two)
}

#[test]
fn damage_is_counted_where_it_stands_and_the_rest_is_read() {
    let (lab, one, two) = damaged();
    let audit = lab.audit(&[]).ends_with(4);
    check_sums(&audit);
    let good = source(&audit, "a-good.jsonl");
    assert_eq!(
        (good.records_exchange, good.status.as_ref()),
        (60, "complete")
    );
    let found: Vec<(i64, &str)> = rejects(&audit, "broken.jsonl")
        .iter()
        .map(|r| (r.offset, r.reason.as_str()))
        .collect();
    let broken_at = one.len() as i64;
    let cut_at = source(&audit, "broken.jsonl").bytes - 40;
    assert_eq!(
        found,
        [(broken_at, "invalid_json"), (cut_at, "truncated")],
        "the second good line has {} bytes",
        two.len()
    );
    assert_eq!(source(&audit, "broken.jsonl").records_exchange, 2);
    let digest = blake3::hash(&one[..40]).to_hex().to_string();
    assert_eq!(rejects(&audit, "broken.jsonl")[1].digest, digest);
    let (offset, length, reason) = reject(&audit, "cut.jsonl.gz");
    let cut = source(&audit, "cut.jsonl.gz");
    assert_eq!((reason, cut.status.as_ref()), ("truncated", "truncated"));
    assert_eq!(offset + length, cut.bytes_decoded);
    // What the cut file held is in a-good.jsonl too.
    assert!(cut.records_duplicate > 0 && cut.records_exchange == 0);
    assert!(
        rejects(&audit, "junk.bin")
            .iter()
            .all(|r| r.reason.as_str() == "unknown_format")
    );
    assert!(!rejects(&audit, "junk.bin").is_empty());
    assert_eq!(reject(&audit, "empty.jsonl"), (0, 0, "empty"));
    assert_eq!(source(&audit, "empty.jsonl").status, "empty");
    assert_eq!(reject(&audit, "gone.jsonl"), (0, 0, "unreadable"));
    assert_eq!(source(&audit, "gone.jsonl").status, "unreadable");
    assert!(
        audit.last_line().contains("records were rejected"),
        "{}",
        audit.said()
    );
    let report = audit.file("report.md");
    for name in [
        "broken.jsonl",
        "cut.jsonl.gz",
        "junk.bin",
        "empty.jsonl",
        "gone.jsonl",
    ] {
        assert!(report.contains(name), "{name} is not in the report");
    }
    // The same with more patience.
    let audit = lab.audit(&["--max-reject-ratio", "1"]).ends_with(0);
    check_sums(&audit);
}

#[test]
fn pipes_are_not_waited_for_and_names_may_be_any_bytes() {
    use std::os::unix::ffi::OsStrExt;
    let lab = Lab::new();
    let odd = std::ffi::OsStr::from_bytes(b"logs/odd\xff\n\x1b[2J.jsonl");
    let leaked = words(1, 40);
    let mut records = clean(30);
    records.push(exchange("source", "acme", "06:00:00", &leaked, "done"));
    records.push(exchange("leak", "bolt", "06:30:00", &words(2, 40), &leaked));
    std::fs::write(lab.path("").join(odd), lines(&records)).unwrap();
    let audit = lab.audit(&["--keep-text"]).ends_with(3);
    assert_eq!(audit.verdict("leak").source_tenant.as_deref(), Some("acme"));
    let report = audit.file("report.md");
    assert!(report.contains("odd") && !report.contains('\u{1b}'));
    let pipe = lab.text("logs/pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    let audit = lab.audit(&["--max-reject-ratio", "0.5"]).ends_with(3);
    assert_eq!(reject(&audit, "pipe"), (0, 0, "unreadable"));
    // Nothing is read from a pipe that is named, either: a second reading would find it empty.
    let case = lab.text("piped");
    let done = crate::kit::pentimento(&["audit", &pipe, "--case", &case]);
    assert_eq!(done.status.code(), Some(4), "{}", crate::kit::stderr(&done));
}

#[test]
fn a_line_of_100_mb_is_one_reject() {
    let lab = Lab::new();
    let good = lines(&clean(9));
    let mut bytes = good.clone();
    bytes.extend_from_slice(b"{\"request_id\":\"long\",\"response\":\"");
    bytes.resize(good.len() + 100_000_000, b'x');
    bytes.push(b'\n');
    bytes.extend(lines(&clean(12)[9..]));
    lab.write("logs/long.jsonl", &bytes);
    let limit = "[limits]\nmax_record_bytes = 67108864\n";
    lab.write("pentimento.toml", limit);
    let audit = lab.audit(&["--memory-limit", "256MiB", "--max-reject-ratio", "0.5"]);
    let audit = audit.ends_with(0);
    check_sums(&audit);
    let (offset, length, reason) = reject(&audit, "long.jsonl");
    assert_eq!((offset, reason), (good.len() as i64, "too_long"));
    assert_eq!(length, 100_000_000);
    assert_eq!(source(&audit, "long.jsonl").records_exchange, 12);
    let peak = audit.json("case.json")["peak_memory_bytes"]
        .as_u64()
        .unwrap();
    assert!(peak < 512 << 20, "{peak} bytes");
}

fn start(lab: &Lab, logs: &str, stdin: Stdio) -> Child {
    let mut arguments = lab.arguments(&["--quiet"]);
    arguments[1] = logs.to_owned();
    let mut command = program();
    command.args(arguments).stdin(stdin);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn wait_for(what: &str, mut met: impl FnMut() -> bool) {
    for _ in 0..600 {
        if met() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("waited too long for {what}");
}

#[test]
fn a_killed_run_leaves_nothing_that_looks_finished() {
    let lab = Lab::incident(5, 30);
    let manifest = lab.path("case/case.json");
    let kill = |at: &str| {
        let mut run = start(&lab, &lab.text("logs"), Stdio::null());
        wait_for(at, || lab.path(at).exists());
        // SIGKILL: nothing of the program runs any more.
        run.kill().unwrap();
        run.wait().unwrap();
        assert!(!manifest.exists(), "killed when {at} was there");
    };
    kill("case/case.lock");
    kill("case/tables/exchanges");
    lab.audit(&[]).ends_with(3);
    assert!(manifest.exists());
    // Over a finished case: its manifest must go before its tables do.
    let mut run = start(&lab, &lab.text("logs"), Stdio::null());
    wait_for("the old manifest to go", || !manifest.exists());
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(!manifest.exists());
    let sql = ["sql", "--case", &lab.text("case"), "-c", "SELECT 1 AS one"];
    let asked = crate::kit::pentimento(&sql);
    assert!(crate::kit::stderr(&asked).contains("not finished"));
    let audit = lab.audit(&[]).ends_with(3);
    assert_eq!(
        audit.json("report.json")["headline"]["best"]["responses"],
        30
    );
    let left: Vec<_> = std::fs::read_dir(&audit.case).unwrap().collect();
    let left: Vec<String> = left
        .into_iter()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.contains("tmp") || n.contains("scratch"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_case_is_held_by_one_run() {
    let lab = Lab::new();
    lab.log("a.jsonl", &clean(6));
    // It waits for the end of its standard input and holds the case meanwhile.
    let mut first = start(&lab, "-", Stdio::piped());
    wait_for("the first run", || lab.path("case/case.lock").exists());
    let second = lab.audit(&[]).ends_with(75);
    assert!(second.last_line().contains("case"), "{}", second.said());
    let mut input = first.stdin.take().unwrap();
    input.write_all(&lines(&clean(30))).unwrap();
    drop(input);
    assert_eq!(first.wait().unwrap().code(), Some(0));
    let third = lab.audit(&["--exit-zero", "--min-assessable", "0"]);
    assert_eq!(third.code(), 0, "{}", third.said());
}
