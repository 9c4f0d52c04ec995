//! What the tests share: the program, a folder to work in, log records, and the tables of a case.

use pentimento_store::reader::read_rows;
use pentimento_store::rows::{
    CapacityRow, ExchangeRow, FindingRow, OverlapRow, RejectRow, Row, SourceRow, VerdictRow,
};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The built program.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pentimento"));
    command.env_remove("NO_COLOR");
    command
}

/// Runs the program to its end.
pub fn pentimento<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Output {
    program().args(arguments).output().unwrap()
}

/// What the program wrote to stdout.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What the program wrote to stderr.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A folder of one test: `logs/`, `pentimento.toml`, `case/`.
pub struct Lab {
    root: TempDir,
}

impl Lab {
    /// An empty one.
    pub fn new() -> Lab {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("logs")).unwrap();
        Lab { root }
    }

    /// One without even a folder of logs.
    pub fn bare() -> Lab {
        Lab {
            root: tempfile::tempdir().unwrap(),
        }
    }

    /// One with the logs of a simulated incident.
    pub fn incident(seed: u64, leaks: u32) -> Lab {
        let root = tempfile::tempdir().unwrap();
        let lab = Lab { root };
        let (seed, leaks) = (seed.to_string(), leaks.to_string());
        let done = pentimento(&[
            "simulate",
            "glm53-incident",
            "--out",
            &lab.text("."),
            "--seed",
            &seed,
            "--leaks",
            &leaks,
        ]);
        assert!(done.status.success(), "{}", stderr(&done));
        lab
    }

    /// A path below the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The same as text.
    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Writes a file, and the folders it needs.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Writes records as lines of `logs/NAME`.
    pub fn log(&self, name: &str, records: &[Value]) {
        self.write(&format!("logs/{name}"), lines(records));
    }

    /// The arguments of an audit of `logs/` into `case/`.
    pub fn arguments(&self, flags: &[&str]) -> Vec<String> {
        let mut all = vec!["audit".to_owned(), self.text("logs")];
        if !flags.contains(&"--case") {
            all.extend(["--case".to_owned(), self.text("case")]);
        }
        if self.path("pentimento.toml").exists() && !flags.contains(&"--config") {
            all.extend(["--config".to_owned(), self.text("pentimento.toml")]);
        }
        all.extend(flags.iter().map(|f| (*f).to_owned()));
        all
    }

    /// Audits `logs/` into `case/`, with `pentimento.toml` where there is one.
    pub fn audit(&self, flags: &[&str]) -> Audit {
        let output = pentimento(&self.arguments(flags));
        let case = flags.iter().rposition(|f| *f == "--case");
        let case = case.map_or_else(|| self.path("case"), |at| flags[at + 1].into());
        Audit { output, case }
    }
}

/// Records as lines.
pub fn lines(records: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        bytes.extend_from_slice(record.to_string().as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

/// A finished audit.
pub struct Audit {
    /// How it ended and what it said.
    pub output: Output,
    /// Its case folder.
    pub case: PathBuf,
}

impl Audit {
    /// The exit code.
    pub fn code(&self) -> i32 {
        self.output.status.code().unwrap()
    }

    /// Asserts the exit code; a failure shows what the program said.
    pub fn ends_with(self, code: i32) -> Audit {
        assert_eq!(self.code(), code, "{}", self.said());
        self
    }

    /// All that was said on stderr.
    pub fn said(&self) -> String {
        stderr(&self.output)
    }

    /// The last line on stderr.
    pub fn last_line(&self) -> String {
        let said = self.said();
        said.lines().last().unwrap_or_default().to_owned()
    }

    /// A file of the case.
    pub fn file(&self, name: &str) -> String {
        fs::read_to_string(self.case.join(name)).unwrap()
    }

    /// `report.json` or `case.json`.
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.file(name)).unwrap()
    }

    /// All rows of a table.
    pub fn rows<R: Row>(&self) -> Vec<R> {
        rows(&self.case)
    }

    pub fn exchanges(&self) -> Vec<ExchangeRow> {
        self.rows()
    }

    pub fn verdicts(&self) -> Vec<VerdictRow> {
        self.rows()
    }

    pub fn findings(&self) -> Vec<FindingRow> {
        self.rows()
    }

    pub fn overlaps(&self) -> Vec<OverlapRow> {
        self.rows()
    }

    pub fn sources(&self) -> Vec<SourceRow> {
        self.rows()
    }

    pub fn rejects(&self) -> Vec<RejectRow> {
        self.rows()
    }

    pub fn capacity(&self) -> Vec<CapacityRow> {
        self.rows()
    }

    /// The exchange with a request id; there must be exactly one.
    pub fn exchange(&self, request_id: &str) -> ExchangeRow {
        let found = self.exchanges().into_iter();
        only(found.filter(|e| e.request_id.as_deref() == Some(request_id)))
    }

    /// The verdict on a request; there must be exactly one.
    pub fn verdict(&self, request_id: &str) -> VerdictRow {
        let found = self.verdicts().into_iter();
        only(found.filter(|v| v.request_id.as_deref() == Some(request_id)))
    }

    /// How many findings a rule has.
    pub fn hits(&self, rule: &str) -> usize {
        let of_rule = |f: &&FindingRow| f.rule_id == rule;
        self.findings().iter().filter(of_rule).count()
    }
}

/// The one item of a list.
pub fn only<T>(items: impl Iterator<Item = T>) -> T {
    let mut all: Vec<T> = items.collect();
    assert_eq!(all.len(), 1, "expected exactly one");
    all.remove(0)
}

/// All rows of a table of a case.
pub fn rows<R: Row>(case: &Path) -> Vec<R> {
    let rows = read_rows::<R>(&case.join("tables")).unwrap();
    rows.map(|row| row.unwrap()).collect()
}

/// A native record of an answered request: `time` is a time of day on 2026-09-01, the answer takes
/// two seconds.
pub fn exchange(id: &str, tenant: &str, time: &str, prompt: &str, response: &str) -> Value {
    let start: jiff::Timestamp = format!("2026-09-01T{time}Z").parse().unwrap();
    let end = start + jiff::SignedDuration::from_secs(2);
    json!({
        "request_id": id, "tenant": tenant, "model": "m", "role": "gateway",
        "t_start": start.to_string(), "t_end": end.to_string(), "http_status": 200,
        "finish_reason": "stop", "prompt_tokens": 1_000, "completion_tokens": 40,
        "messages": [{"role": "user", "content": prompt}], "response": response,
    })
}

/// The record with some keys set; null removes a key.
pub fn with(mut record: Value, changes: Value) -> Value {
    let Value::Object(changes) = changes else {
        panic!("changes must be an object")
    };
    let fields = record.as_object_mut().unwrap();
    for (key, value) in changes {
        if value.is_null() {
            fields.remove(&key);
        } else {
            fields.insert(key, value);
        }
    }
    record
}

/// So many invented words; different seeds share none.
pub fn words(seed: u32, count: usize) -> String {
    let syllables = ["ba", "ko", "mi", "ru", "te", "za", "vo", "ne", "li", "pu"];
    let word = |n: usize| {
        let mut number = seed as usize * 1_000 + n;
        let mut word = String::from("q");
        for _ in 0..6 {
            word.push_str(syllables[number % 10]);
            number /= 10;
        }
        word
    };
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}

/// Traffic of three tenants with nothing in common, assessable as a whole: `acme`, `bolt` and
/// `crux` ask in turn, and the first exchange stands in the look-back before `since`.
pub fn clean(count: usize) -> Vec<Value> {
    let record = |n: usize| {
        let tenant = ["acme", "bolt", "crux"][n % 3];
        let time = format!("{:02}:{:02}:00", 8 + n / 60, n % 60);
        let seed = 2 * n as u32 + 100;
        let (prompt, response) = (words(seed, 30), words(seed + 1, 30));
        exchange(&format!("clean-{n}"), tenant, &time, &prompt, &response)
    };
    (0..count).map(record).collect()
}
