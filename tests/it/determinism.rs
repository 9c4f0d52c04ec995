//! The same input gives the same bytes, however it is read.

use crate::kit::{Audit, Lab};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

/// The busiest days of a small incident: enough for every table to have rows.
fn some_days() -> Lab {
    let lab = Lab::incident(11, 40);
    for entry in fs::read_dir(lab.path("logs")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let gateway = name.starts_with("gateway-");
        if gateway
            && !["03", "04", "05"]
                .iter()
                .any(|day| name.ends_with(&format!("-{day}.jsonl")))
            || name.contains("-4_0")
            || name.contains("-3_0")
        {
            fs::remove_file(path).unwrap();
        }
    }
    lab.write("case.key", "5a".repeat(32));
    lab
}

/// Every file of a case by its path, those apart that hold wall-clock facts.
fn files(case: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![case.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(case).unwrap().to_str().unwrap();
            if !["case.json", "custody.jsonl", "case.lock"].contains(&name) {
                found.insert(name.to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn audit(lab: &Lab, run: &str, flags: &[&str]) -> Audit {
    // The report names the case by its folder, so the folders have one name.
    let case = lab.text(&format!("{run}/case"));
    let key = lab.text("case.key");
    let mut all = vec!["--case", &case, "--case-key-file", &key];
    all.extend(flags);
    fs::create_dir_all(lab.path(run)).unwrap();
    lab.audit(&all).ends_with(3)
}

#[test]
fn threads_blocks_and_memory_do_not_reach_a_byte() {
    let lab = some_days();
    let first = audit(&lab, "first", &["--threads", "4"]);
    assert!(!first.overlaps().is_empty() && !first.findings().is_empty());
    let expected = files(&first.case);
    assert!(expected.len() > 10, "{:?}", expected.keys());
    let runs: [(&str, &[&str]); 6] = [
        ("again", &["--threads", "4"]),
        ("one", &["--threads", "1"]),
        ("byte", &["--threads", "3", "--block-size", "1"]),
        ("page", &["--threads", "2", "--block-size", "4096"]),
        ("mebi", &["--threads", "1", "--block-size", "1MiB"]),
        ("tight", &["--memory-limit", "64MiB"]),
    ];
    for (run, flags) in runs {
        let other = files(&audit(&lab, run, flags).case);
        let names = |f: &BTreeMap<String, Vec<u8>>| f.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&other), names(&expected), "{flags:?}");
        for (name, bytes) in &expected {
            assert!(other[name] == *bytes, "{name} differs with {flags:?}");
        }
    }
}

/// Two members and more, as log rotation leaves them, cut anywhere.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let middle = bytes.len() / 2;
    let mut out = Vec::new();
    for part in [&bytes[..middle], &bytes[middle..]] {
        let mut member = GzEncoder::new(Vec::new(), Compression::fast());
        member.write_all(part).unwrap();
        out.extend(member.finish().unwrap());
    }
    out
}

#[test]
fn compression_changes_nothing_that_was_found() {
    let lab = some_days();
    let plain = audit(&lab, "plain", &[]);
    for (run, ending) in [("gz", "gz"), ("zst", "zst"), ("odd", "txt")] {
        let logs = lab.path(&format!("{run}/logs"));
        fs::create_dir_all(&logs).unwrap();
        for entry in fs::read_dir(lab.path("logs")).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            let packed = match run {
                "zst" => zstd::encode_all(bytes.as_slice(), 1).unwrap(),
                _ => gzip(&bytes),
            };
            let name = path.file_name().unwrap().to_str().unwrap();
            // Found by content: the last ending says nothing.
            fs::write(logs.join(format!("{name}.{ending}")), packed).unwrap();
        }
        let (case, key) = (lab.text(&format!("{run}/case")), lab.text("case.key"));
        let config = lab.text("pentimento.toml");
        let output = crate::kit::pentimento(&[
            "audit",
            logs.to_str().unwrap(),
            "--case",
            &case,
            "--case-key-file",
            &key,
            "--config",
            &config,
        ]);
        let packed = Audit {
            output,
            case: case.into(),
        }
        .ends_with(3);
        for name in ["overlaps", "verdicts", "findings"] {
            let file = format!("tables/{name}/part-00000.parquet");
            let read = |audit: &Audit| fs::read(audit.case.join(&file)).unwrap();
            assert!(read(&packed) == read(&plain), "{name} differs in {run}");
        }
        for (a, b) in packed.sources().iter().zip(plain.sources()) {
            assert_eq!(a.bytes_decoded, b.bytes);
            assert_eq!(a.sha256_decoded, b.sha256);
            assert_ne!(a.sha256, b.sha256);
            assert_eq!(a.records_read, b.records_read);
        }
    }
}
