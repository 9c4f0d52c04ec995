//! The rules of this repository that a machine can check. Each test lists all offences at once,
//! as `file:line: what is wrong`. Nothing is built for it but this package.

use pentimento_core::format::table;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Longest source file in lines, without its test block.
const MAX_FILE_LINES: usize = 500;
/// Longest line of Rust in characters; a line that is one string literal may be longer.
const MAX_COLUMNS: usize = 100;

/// Folders that hold nothing of ours.
const SKIPPED: [&str; 3] = ["target", ".git", "node_modules"];
/// Folders at the top that runs of the program leave behind.
const SKIPPED_AT_THE_TOP: [&str; 2] = ["case", "pentimento-case"];

/// One file of the tree.
struct Entry {
    /// Its path from the top, with `/`.
    path: String,
    bytes: Vec<u8>,
}

impl Entry {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or("")
    }

    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text().lines().enumerate().map(|(i, l)| (i + 1, l))
    }

    /// Lines that are not comments as a whole.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines()
            .filter(|(_, l)| !l.trim_start().starts_with("//"))
    }

    fn ends_with(&self, ending: &str) -> bool {
        self.path.ends_with(ending)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files, by path; read once for all tests.
fn files() -> &'static [Entry] {
    static FILES: OnceLock<Vec<Entry>> = OnceLock::new();
    FILES.get_or_init(|| {
        let mut found = Vec::new();
        let mut open = vec![root()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).expect("a folder of the repository") {
                let entry = entry.expect("a readable folder");
                let name = entry.file_name().to_string_lossy().into_owned();
                let top = folder == root();
                if SKIPPED.contains(&name.as_str())
                    || top && SKIPPED_AT_THE_TOP.contains(&name.as_str())
                {
                    continue;
                }
                let path = entry.path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let bytes = fs::read(&path).expect("a readable file");
                    let path = path.strip_prefix(root()).expect("a path below the top");
                    let path = path.to_string_lossy().replace('\\', "/");
                    found.push(Entry { path, bytes });
                }
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found
    })
}

fn rust() -> impl Iterator<Item = &'static Entry> {
    files().iter().filter(|f| f.ends_with(".rs"))
}

fn file(path: &str) -> &'static Entry {
    files()
        .iter()
        .find(|f| f.path == path)
        .unwrap_or_else(|| panic!("{path} is missing"))
}

fn none(rule: &str, offences: &[String]) {
    assert!(
        offences.is_empty(),
        "{} offence(s) against: {rule}\n{}\n",
        offences.len(),
        offences.join("\n")
    );
}

/// A word that its neighbours do not continue.
fn names(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(part) && !line[at + word.len()..].starts_with(part))
}

/// What may be named where.
struct Border {
    /// Words of code.
    words: &'static [&'static str],
    /// Beginnings of the paths in which they must not stand.
    closed: &'static [&'static str],
    /// Beginnings of paths below `closed` in which they may.
    open: &'static [&'static str],
    /// Why.
    why: &'static str,
}

const BORDERS: [Border; 7] = [
    Border {
        words: &["std::fs", "std::net", "std::process", "std::env"],
        closed: &["crates/core/src/"],
        open: &[],
        why: "core gets bytes and gives values",
    },
    Border {
        words: &["SystemTime", "Instant"],
        closed: &["crates/core/src/", "crates/store/src/", "src/"],
        open: &["src/clock.rs"],
        why: "only the clock reads time: no table may depend on it",
    },
    Border {
        words: &["arrow::", "parquet::"],
        closed: &["crates/core/src/", "src/"],
        open: &["src/sql/"],
        why: "Arrow ends at the store and at SQL",
    },
    Border {
        words: &["datafusion"],
        closed: &["crates/core/src/", "crates/store/src/", "src/"],
        open: &["src/sql/"],
        why: "the query engine stays in src/sql",
    },
    Border {
        words: &["tokio", "object_store"],
        closed: &["crates/core/src/", "crates/store/src/", "src/"],
        open: &["src/sql/", "src/pipeline/remote/"],
        why: "runtimes stay with the query engine and with object stores",
    },
    Border {
        words: &["rayon"],
        closed: &["crates/core/src/", "crates/store/src/", "src/"],
        open: &["src/pipeline/", "src/commands/"],
        why: "kernels are sequential, the pipeline spreads them",
    },
    Border {
        words: &[
            "crate::sql",
            "crate::commands",
            "crate::cli",
            "crate::report",
        ],
        closed: &["src/pipeline/"],
        open: &[],
        why: "the pipeline makes tables and knows no one who reads them",
    },
];

#[test]
fn layers_hold() {
    let mut offences = Vec::new();
    let tests = test_modules();
    let starts = |path: &str, with: &[&str]| with.iter().any(|w| path.starts_with(w));
    for border in &BORDERS {
        for file in rust().filter(|f| starts(&f.path, border.closed)) {
            if starts(&file.path, border.open) || is_test(&file.path, &tests) {
                continue;
            }
            for (number, line) in file.code() {
                for word in border.words.iter().filter(|w| {
                    let word = w.trim_end_matches(':');
                    names(line, word) && line.contains(*w)
                }) {
                    offences.push(format!("{}:{number}: {word}: {}", file.path, border.why));
                }
            }
        }
    }
    for (manifest, banned) in [
        (
            "crates/core/Cargo.toml",
            &["arrow", "parquet", "datafusion", "tokio", "rayon"][..],
        ),
        ("crates/store/Cargo.toml", &["datafusion", "tokio", "rayon"]),
    ] {
        for (number, line) in file(manifest).lines() {
            let name = line.split(['.', ' ', '=']).next().unwrap_or("");
            if banned.iter().any(|b| name.starts_with(b)) {
                offences.push(format!(
                    "{manifest}:{number}: {name} is not for this package"
                ));
            }
        }
    }
    none("imports point down", &offences);
}

/// Modules of core from the bottom up: each may name only those before it.
const CORE: [&str; 27] = [
    "record",
    "exchange",
    "estimate",
    "capacity",
    "engine",
    "threshold",
    "advisory",
    "text",
    "link",
    "format",
    "inspect",
    "overlap",
    "operator",
    "surprise",
    "probe",
    "mosaic",
    "duplicate",
    "early_signs",
    "second_hand",
    "trace",
    "identifiers",
    "canary",
    "facts",
    "attribution",
    "health",
    "synth",
    "fuzz",
];

#[test]
fn modules_of_core_point_down() {
    let mut offences = Vec::new();
    let place = |module: &str| CORE.iter().position(|m| *m == module);
    for file in rust().filter(|f| f.path.starts_with("crates/core/src/")) {
        let below = &file.path["crates/core/src/".len()..];
        let module = below.split(['/', '.']).next().unwrap_or("");
        if module == "lib" {
            continue;
        }
        let Some(own) = place(module) else {
            offences.push(format!("{}:1: give {module} its place in CORE", file.path));
            continue;
        };
        for (number, line) in file.code() {
            for (at, name) in line.match_indices("crate::") {
                let target = &line[at + name.len()..];
                let end = target.find(|c: char| !c.is_alphanumeric() && c != '_');
                let target = &target[..end.unwrap_or(target.len())];
                if place(target).is_some_and(|t| t > own) {
                    offences.push(format!(
                        "{}:{number}: {module} names {target}, which lies above it",
                        file.path
                    ));
                }
            }
        }
    }
    none("modules of core name lower ones only", &offences);
}

/// Paths of modules that are declared under `#[cfg(test)]`, without their ending.
fn test_modules() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in rust() {
        let lines: Vec<&str> = file.text().lines().map(str::trim).collect();
        for (i, _) in lines
            .iter()
            .enumerate()
            .filter(|(_, l)| **l == "#[cfg(test)]")
        {
            let item = lines[i + 1..].iter().find(|l| !l.starts_with("#["));
            let name = item
                .and_then(|l| l.strip_suffix(';'))
                .and_then(|l| l.rsplit_once("mod ").map(|(_, name)| name));
            let Some(name) = name else { continue };
            let stem = file.path.trim_end_matches(".rs");
            let base = ["mod", "lib", "main"]
                .iter()
                .find_map(|m| stem.strip_suffix(m).and_then(|s| s.strip_suffix('/')));
            found.insert(format!("{}/{name}", base.unwrap_or(stem)));
        }
    }
    found
}

/// Whether a file holds tests only.
fn is_test(path: &str, modules: &BTreeSet<String>) -> bool {
    path.contains("/tests/")
        || path.starts_with("tests/")
        || modules.iter().any(|m| {
            let rest = path.strip_prefix(m.as_str());
            rest.is_some_and(|r| r == ".rs" || r.starts_with('/'))
        })
}

/// Lines before the test block at the end of a file.
fn lines_of_code(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let block = lines
        .windows(2)
        .position(|w| w[0] == "#[cfg(test)]" && w[1].starts_with("mod ") && w[1].ends_with('{'));
    block.unwrap_or(lines.len())
}

/// A literal, or a literal that is one argument or one element: it cannot be broken.
fn is_one_literal(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['(', '&', '[']);
    ["\"", "r\"", "r#", "b\"", "br"]
        .iter()
        .any(|p| line.starts_with(p))
}

#[test]
fn source_files_are_short_narrow_and_introduced() {
    let mut offences = Vec::new();
    let tests = test_modules();
    for file in rust() {
        let lines = lines_of_code(file.text());
        if lines > MAX_FILE_LINES && !is_test(&file.path, &tests) {
            offences.push(format!(
                "{}:{lines}: {lines} lines without tests, at most {MAX_FILE_LINES}",
                file.path
            ));
        }
        if !file.text().starts_with("//! ") {
            offences.push(format!("{}:1: no module doc on the first line", file.path));
        }
        for (number, line) in file.lines() {
            let columns = line.chars().count();
            if columns > MAX_COLUMNS && !is_one_literal(line) {
                offences.push(format!("{}:{number}: {columns} columns", file.path));
            }
        }
    }
    none("source files are short, narrow and introduced", &offences);
}

#[test]
fn modules_have_names_that_say_something() {
    const EMPTY: [&str; 10] = [
        "util", "utils", "common", "helper", "helpers", "misc", "manager", "new", "next", "v2",
    ];
    let named = |f: &&Entry| {
        let stem = f.path.trim_end_matches(".rs");
        stem.split('/').any(|part| EMPTY.contains(&part))
    };
    let offences: Vec<String> = rust()
        .filter(named)
        .map(|f| format!("{}:1", f.path))
        .collect();
    none("no module is called after nothing", &offences);
}

#[test]
fn nothing_is_left_open_or_excused_without_a_reason() {
    let mut offences = Vec::new();
    let open = ["todo", "dbg", "unimplemented"].map(|m| format!("{m}!("));
    let excuses = ["allow", "expect", "ignore"];
    for file in rust() {
        let lines: Vec<&str> = file.text().lines().collect();
        for (number, line) in file.code() {
            if let Some(word) = open.iter().find(|w| line.contains(w.as_str())) {
                offences.push(format!("{}:{number}: {word}", file.path));
            }
            let attribute = line.trim_start();
            let inner = attribute
                .strip_prefix("#[")
                .or(attribute.strip_prefix("#!["));
            if !inner.is_some_and(|i| excuses.iter().any(|e| i.starts_with(e))) {
                continue;
            }
            let end = lines[number - 1..].iter().position(|l| l.contains(")]"));
            let whole = lines[number - 1..=number - 1 + end.unwrap_or(0)].join(" ");
            let commented = number > 1 && lines[number - 2].trim_start().starts_with("//");
            if !(whole.contains("reason = ")
                || inner.is_some_and(|i| i.starts_with("ignore = "))
                || whole.contains("] //")
                || commented)
            {
                offences.push(format!(
                    "{}:{number}: {attribute} without a reason",
                    file.path
                ));
            }
        }
    }
    none("nothing is open, every excuse has a reason", &offences);
}

#[test]
fn one_version_of_what_must_agree() {
    let lock = file("Cargo.lock");
    let mut offences = Vec::new();
    for name in ["arrow", "parquet", "datafusion", "object_store", "zstd-sys"] {
        let line = format!("name = \"{name}\"");
        let places: Vec<usize> = lock
            .lines()
            .filter(|(_, l)| *l == line)
            .map(|(n, _)| n)
            .collect();
        for place in places.iter().skip(1) {
            offences.push(format!("Cargo.lock:{place}: another version of {name}"));
        }
    }
    none(
        "types of these crates meet, so each is there once",
        &offences,
    );
}

/// Keys and values at the head of an SQL file, with their lines.
fn header(text: &str) -> Vec<(usize, &str, &str)> {
    text.lines()
        .enumerate()
        .map_while(|(i, l)| l.strip_prefix("--").map(|l| (i + 1, l)))
        .filter_map(|(n, l)| {
            let (key, value) = l.strip_prefix(' ')?.split_once(": ")?;
            let plain = key.bytes().all(|b| b.is_ascii_lowercase());
            plain.then_some((n, key, value))
        })
        .collect()
}

#[test]
fn queries_say_what_they_are_and_in_which_order() {
    let mut offences = Vec::new();
    let queries = files()
        .iter()
        .filter(|f| f.path.starts_with("queries/") && f.ends_with(".sql"));
    for file in queries {
        let header = header(file.text());
        let get = |key: &str| header.iter().find(|(_, k, _)| *k == key);
        let mut needed = vec!["id", "title", "needs", "version", "why"];
        let rule = file.path.starts_with("queries/rules/");
        needed.extend(rule.then_some("severity"));
        for key in needed {
            if get(key).is_none_or(|(_, _, value)| value.trim().is_empty()) {
                offences.push(format!("{}:1: header key {key} is missing", file.path));
            }
        }
        let name = file.path.rsplit('/').next().unwrap_or("");
        if let Some((line, _, id)) = get("id")
            && format!("{id}.sql") != name
        {
            offences.push(format!(
                "{}:{line}: id {id} is not the file's name",
                file.path
            ));
        }
        // Outermost means unindented here: an order inside a window or a subquery shows nothing.
        let ordered = file.lines().any(|(_, l)| l.starts_with("ORDER BY"));
        if !ordered && !file.path.starts_with("queries/views/") {
            offences.push(format!("{}:1: the result has no ORDER BY", file.path));
        }
    }
    none("queries have headers and ordered results", &offences);
}

#[test]
fn every_format_has_samples() {
    let mut offences = Vec::new();
    for format in table() {
        let folder = format!("sample_logs/{}/", format.name().replace('_', "-"));
        let (results, logs): (Vec<_>, Vec<_>) = files()
            .iter()
            .filter(|f| f.path.starts_with(&folder))
            .partition(|f| f.ends_with(".expected.json"));
        if logs.is_empty() || results.is_empty() {
            offences.push(format!("{folder}:1: no log with its expected result"));
        }
    }
    none("every format has samples", &offences);
}

#[test]
fn the_changelog_is_open() {
    assert!(
        file("CHANGELOG.md")
            .lines()
            .any(|(_, l)| l == "## Unreleased")
    );
}

#[test]
fn nothing_tells_of_the_workshop() {
    // Put together, so that this file does not hold them.
    let words = [["/wo", "rk/"], ["../sha", "red"], ["farm-", "bench"]].map(|w| w.concat());
    let mut offences = Vec::new();
    for file in files() {
        let text = String::from_utf8_lossy(&file.bytes);
        for word in words.iter().filter(|w| text.contains(w.as_str())) {
            let lines = text.lines().enumerate().filter(|(_, l)| l.contains(word));
            offences.extend(lines.map(|(i, _)| format!("{}:{}: {word}", file.path, i + 1)));
        }
    }
    none("the tree stands on its own", &offences);
}

#[test]
fn lines_end_where_their_text_ends() {
    let mut offences = Vec::new();
    let kinds = [".rs", ".md", ".sql", ".toml"];
    // Golden files are what the program wrote.
    let ours = |f: &&Entry| kinds.iter().any(|k| f.ends_with(k)) && !f.path.contains("/golden/");
    for file in files().iter().filter(ours) {
        for (number, line) in file.lines() {
            if line.ends_with([' ', '\t']) {
                offences.push(format!("{}:{number}: trailing space", file.path));
            }
        }
        if !file.bytes.is_empty() && !file.bytes.ends_with(b"\n") {
            offences.push(format!("{}: no line end at the end", file.path));
        }
    }
    none("no trailing spaces", &offences);
}
