//! `case.json`: what a run read, wrote and found fit, and by which rules. Written last: a folder
//! without it is unfinished. The only file of a case that holds the wall clock.

use crate::custody::ChainHead;
use crate::error::StoreError;
use crate::rows::SourceRow;
use crate::schema::{SCHEMA_VERSION, Table};
use crate::storage::Written;
use crate::writer::TableSummary;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

/// Name of the file inside the case folder.
pub const MANIFEST_FILE: &str = "case.json";

/// How far the run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CaseStatus {
    /// All stages, and the evidence is complete.
    Complete,
    /// All stages, but the evidence is not complete.
    Incomplete,
    /// A stage alone, or a limit was hit.
    Partial,
}

/// Which program wrote the case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// One rule that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleDigest {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// BLAKE3 of its file, hex.
    pub blake3: String,
    /// Rows it gave.
    pub rows: i64,
}

/// One file of the case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    /// Path inside the case folder, parts joined with `/`.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Rows; null where the file is no table.
    pub rows: Option<i64>,
    /// BLAKE3, hex.
    pub blake3: String,
}

impl FileDigest {
    /// A file that is no table.
    pub fn of_output(path: &str, written: Written) -> FileDigest {
        FileDigest {
            path: path.to_owned(),
            bytes: written.bytes,
            rows: None,
            blake3: written.blake3,
        }
    }
}

/// One table of the case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableDigest {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: i64,
    /// Its files.
    pub files: Vec<FileDigest>,
}

impl From<&TableSummary> for TableDigest {
    fn from(summary: &TableSummary) -> TableDigest {
        let files = summary.files.iter().map(|file| FileDigest {
            path: format!("tables/{}/{}", summary.table, file.path),
            bytes: file.written.bytes,
            rows: Some(file.rows),
            blake3: file.written.blake3.clone(),
        });
        TableDigest {
            name: summary.table.to_string(),
            rows: summary.rows,
            files: files.collect(),
        }
    }
}

/// Records of one source, or of all: nothing is lost silently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Records seen.
    pub read: i64,
    /// Gave at least one exchange.
    pub exchange: i64,
    /// Engine or platform events.
    pub event: i64,
    /// Known, but neither.
    pub other: i64,
    /// Could not be read.
    pub rejected: i64,
    /// Equal to one already taken.
    pub duplicate: i64,
    /// Outside the audited window and its look-back.
    pub out_of_window: i64,
}

impl Tally {
    fn parts(&self) -> [i64; 7] {
        [
            self.read,
            self.exchange,
            self.event,
            self.other,
            self.rejected,
            self.duplicate,
            self.out_of_window,
        ]
    }

    /// Whether every record read is accounted for, and no count is negative.
    pub fn holds(&self) -> bool {
        let [read, accounted @ ..] = self.parts();
        self.parts().iter().all(|&n| n >= 0)
            && accounted
                .iter()
                .try_fold(0_i64, |sum, &n| sum.checked_add(n))
                == Some(read)
    }

    fn plus(&self, other: &Tally) -> Option<Tally> {
        Some(Tally {
            read: self.read.checked_add(other.read)?,
            exchange: self.exchange.checked_add(other.exchange)?,
            event: self.event.checked_add(other.event)?,
            other: self.other.checked_add(other.other)?,
            rejected: self.rejected.checked_add(other.rejected)?,
            duplicate: self.duplicate.checked_add(other.duplicate)?,
            out_of_window: self.out_of_window.checked_add(other.out_of_window)?,
        })
    }
}

impl From<&SourceRow> for Tally {
    fn from(row: &SourceRow) -> Tally {
        Tally {
            read: row.records_read,
            exchange: row.records_exchange,
            event: row.records_event,
            other: row.records_other,
            rejected: row.records_rejected,
            duplicate: row.records_duplicate,
            out_of_window: row.records_out_of_window,
        }
    }
}

/// The tallies of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tallies {
    /// Over all sources.
    pub total: Tally,
    /// By source.
    pub sources: BTreeMap<String, Tally>,
}

/// A tally that does not add up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TallyError {
    /// The records of a source, or of all, do not add up.
    #[error("records of {which}: {read} read, but the parts do not add up to that")]
    Parts {
        /// The source's id, or `total`.
        which: String,
        /// Records read.
        read: i64,
    },
    /// The total is not the sum of the sources.
    #[error("the total is not the sum of the sources")]
    Total,
    /// A source comes twice.
    #[error("source {0} comes twice")]
    Twice(String),
}

impl Tallies {
    /// The tallies of the rows of `sources`, checked.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a SourceRow>) -> Result<Tallies, TallyError> {
        let mut tallies = Tallies::default();
        for row in rows {
            let tally = Tally::from(row);
            tallies.total = tallies.total.plus(&tally).ok_or(TallyError::Total)?;
            if tallies
                .sources
                .insert(row.source_id.clone(), tally)
                .is_some()
            {
                return Err(TallyError::Twice(row.source_id.clone()));
            }
        }
        tallies.check()?;
        Ok(tallies)
    }

    /// Checks that every record read is accounted for, in each source and in total.
    pub fn check(&self) -> Result<(), TallyError> {
        let all = self.sources.iter().map(|(id, t)| (id.as_str(), t));
        for (which, tally) in all.chain([("total", &self.total)]) {
            if !tally.holds() {
                return Err(TallyError::Parts {
                    which: which.to_owned(),
                    read: tally.read,
                });
            }
        }
        let sum = self
            .sources
            .values()
            .try_fold(Tally::default(), |sum, t| sum.plus(t));
        if sum != Some(self.total) {
            return Err(TallyError::Total);
        }
        Ok(())
    }
}

/// The manifest of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseManifest {
    /// Version of the tables, see [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Which program wrote it.
    pub tool: Tool,
    /// How far the run came.
    pub status: CaseStatus,
    /// The exit code of the run.
    pub exit_code: u8,
    /// Why it is that, in one line.
    pub exit_reason: String,
    /// Start of the run, RFC 3339 UTC.
    pub created_at: String,
    /// End of the run, RFC 3339 UTC.
    pub finished_at: String,
    /// The command line, secrets masked.
    pub arguments: Vec<String>,
    /// BLAKE3 of the effective configuration, hex.
    pub config_blake3: Option<String>,
    /// Every setting that could change the result.
    pub settings: BTreeMap<String, serde_json::Value>,
    /// The rules that ran.
    pub rules: Vec<RuleDigest>,
    /// The tables.
    pub tables: Vec<TableDigest>,
    /// Reports and other files.
    pub outputs: Vec<FileDigest>,
    /// Records read and where they went.
    pub tallies: Tallies,
    /// The custody chain's end when the run ended.
    pub custody: Option<ChainHead>,
    /// Largest memory of the process, in bytes; null where it could not be measured.
    pub peak_memory_bytes: Option<u64>,
    /// How long the run took, in milliseconds.
    pub elapsed_ms: u64,
}

impl Default for CaseManifest {
    fn default() -> CaseManifest {
        CaseManifest {
            schema_version: SCHEMA_VERSION,
            tool: Tool::default(),
            status: CaseStatus::Partial,
            exit_code: 0,
            exit_reason: String::new(),
            created_at: String::new(),
            finished_at: String::new(),
            arguments: Vec::new(),
            config_blake3: None,
            settings: BTreeMap::new(),
            rules: Vec::new(),
            tables: Vec::new(),
            outputs: Vec::new(),
            tallies: Tallies::default(),
            custody: None,
            peak_memory_bytes: None,
            elapsed_ms: 0,
        }
    }
}

/// A file of a case that is not what the manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProblem {
    /// Path as the manifest has it, or as it was found.
    pub path: String,
    /// What is wrong.
    pub kind: FileProblemKind,
}

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileProblemKind {
    /// It is not there.
    Missing,
    /// Its size or digest differs.
    Changed,
    /// It lies in a table, but the manifest does not know it.
    Unexpected,
    /// It cannot be read.
    Unreadable,
    /// The path leaves the case folder.
    Outside,
}

impl CaseManifest {
    /// Puts a table in place of an older entry of its name; tables stand in pipeline order.
    pub fn set_table(&mut self, summary: &TableSummary) {
        self.tables.retain(|t| t.name != summary.table.as_str());
        self.tables.push(TableDigest::from(summary));
        self.tables.sort_by_key(|t| Table::parse(&t.name));
    }

    /// Puts an output in place of an older entry of its path.
    pub fn set_output(&mut self, output: FileDigest) {
        self.outputs.retain(|o| o.path != output.path);
        self.outputs.push(output);
        self.outputs.sort_by(|a, b| a.path.cmp(&b.path));
    }

    /// The file's bytes: indented JSON with a line end.
    pub fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads the manifest of a case folder; `None` where the case is not finished.
    pub fn read(root: &Path) -> Result<Option<CaseManifest>, StoreError> {
        let path = root.join(MANIFEST_FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(StoreError::io("read", &path, e)),
        };
        let manifest: CaseManifest =
            serde_json::from_slice(&bytes).map_err(|e| StoreError::Manifest {
                path: path.clone(),
                line: e.line(),
                column: e.column(),
            })?;
        if manifest.schema_version != SCHEMA_VERSION {
            let (line, column) = (0, 0);
            return Err(StoreError::Manifest { path, line, column });
        }
        Ok(Some(manifest))
    }

    /// Compares all files of the case with the manifest; empty where all is as it was. In `tables`
    /// nothing may lie that the manifest does not know.
    pub fn verify_files(&self, root: &Path) -> Result<Vec<FileProblem>, StoreError> {
        let mut problems = Vec::new();
        let mut known = BTreeSet::new();
        let tables = self.tables.iter().flat_map(|t| &t.files);
        for file in tables.chain(&self.outputs) {
            known.insert(file.path.clone());
            if let Some(kind) = verify_file(root, file) {
                let path = file.path.clone();
                problems.push(FileProblem { path, kind });
            }
        }
        for path in files_below(root, Path::new("tables"))? {
            if !known.contains(&path) {
                let kind = FileProblemKind::Unexpected;
                problems.push(FileProblem { path, kind });
            }
        }
        Ok(problems)
    }
}

fn verify_file(root: &Path, expected: &FileDigest) -> Option<FileProblemKind> {
    let relative = Path::new(&expected.path);
    let inside = relative
        .components()
        .all(|c| matches!(c, Component::Normal(_)));
    if !inside {
        return Some(FileProblemKind::Outside);
    }
    let path = root.join(relative);
    match fs::symlink_metadata(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Some(FileProblemKind::Missing),
        Err(_) => return Some(FileProblemKind::Unreadable),
        Ok(meta) if !meta.is_file() => return Some(FileProblemKind::Changed),
        Ok(meta) if meta.len() != expected.bytes => return Some(FileProblemKind::Changed),
        Ok(_) => {}
    }
    match digest_of(&path) {
        Ok(digest) if digest == expected.blake3 => None,
        Ok(_) => Some(FileProblemKind::Changed),
        Err(_) => Some(FileProblemKind::Unreadable),
    }
}

fn digest_of(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path)?)?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// All files below a folder of the case, as paths inside the case, sorted. A table is two levels
/// deep; what lies deeper is reported as it stands.
fn files_below(root: &Path, folder: &Path) -> Result<Vec<String>, StoreError> {
    let mut files = Vec::new();
    let mut open: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let path = root.join(&folder);
        let entries = match fs::read_dir(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            other => other.map_err(|e| StoreError::io("list", &path, e))?,
        };
        for entry in entries {
            let entry = entry.map_err(|e| StoreError::io("list", &path, e))?;
            let kind = entry
                .file_type()
                .map_err(|e| StoreError::io("list", &path, e))?;
            let inside = folder.join(entry.file_name());
            if kind.is_dir() {
                open.push(inside);
            } else {
                let parts: Vec<_> = inside
                    .components()
                    .map(|c| c.as_os_str().to_string_lossy().into_owned())
                    .collect();
                files.push(parts.join("/"));
            }
        }
    }
    files.sort();
    Ok(files)
}
