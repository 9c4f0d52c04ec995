//! From what the user named to a sorted list of inputs.

use super::archive::{Kind, Stash, Step, Unpacking, list};
use super::remote::{self, Object};
use crate::outcome::{FailureKind, failure};
use anyhow::Result;
use pentimento_core::exchange::RejectReason;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where an input's bytes are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A file.
    File(PathBuf),
    /// Standard input, kept aside for later passes.
    Stdin,
    /// An object of an object store.
    Object(Object),
    /// An archive itself: its bytes count, what it holds are inputs of their own.
    Archive {
        /// Where it lies.
        of: Arc<Place>,
        /// Its sort.
        kind: Kind,
        /// Why its list of files may not be complete.
        trouble: Option<Trouble>,
    },
    /// A file of an archive.
    Member {
        /// Where the archive lies.
        of: Arc<Place>,
        /// The way to the file.
        steps: Vec<Step>,
    },
    /// Something of an archive that cannot be read.
    Refused(Trouble),
}

/// Why something cannot be read, and from which offset on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trouble {
    /// Offset in the decoded bytes.
    pub offset: u64,
    /// Why.
    pub reason: RejectReason,
}

/// One input.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Input {
    /// As shown to the user; a file of an archive follows its archive after `!`.
    pub display: String,
    /// Where it is.
    pub place: Place,
}

impl Input {
    /// Its name without folders, buckets and archives.
    pub fn file_name(&self) -> &str {
        let last = self
            .display
            .rsplit(['/', '!', std::path::MAIN_SEPARATOR])
            .next();
        last.unwrap_or(&self.display)
    }

    /// Whether it lies in an object store.
    pub fn is_remote(&self) -> bool {
        match &self.place {
            Place::Object(_) => true,
            Place::Member { of, .. } => matches!(**of, Place::Object(_)),
            _ => false,
        }
    }

    /// Bytes to read, as far as they are known; an archive is read through its files.
    pub fn stored_bytes(&self, stdin_copy: &Path) -> u64 {
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |m| m.len());
        match &self.place {
            Place::File(path) => size(path),
            Place::Stdin => size(stdin_copy),
            Place::Object(object) => object.size,
            Place::Member { steps, .. } => steps.last().map_or(0, Step::stored),
            Place::Archive { .. } | Place::Refused(_) => 0,
        }
    }
}

/// Expands files, folders, globs, addresses in object stores and `-`, sorted by path whatever the
/// order of the arguments; what is named twice comes once. Archives are followed by their files.
///
/// # Errors
/// A failure of kind nothing-to-audit where an argument matches nothing, of kind usage where a
/// store cannot be listed.
pub fn discover(arguments: &[String], max_ratio: u64) -> Result<Vec<Input>> {
    let mut inputs = std::collections::BTreeSet::new();
    for argument in arguments {
        let found = expand(argument)?;
        if found.is_empty() {
            return Err(failure(
                FailureKind::NothingToAudit,
                format!(
                    "no input matches `{argument}`: name a file, a folder, a glob, an address such \
                     as s3://bucket/logs/, or - for stdin"
                ),
            ));
        }
        inputs.extend(found);
    }
    let unpacking = Unpacking {
        max_ratio,
        scratch: None,
        stash: Stash::default(),
    };
    let unpacked = |input: Input| match &input.place {
        Place::File(_) | Place::Object(_) => {
            list(&input.place, &input.display, &unpacking).unwrap_or_else(|| vec![input])
        }
        _ => vec![input],
    };
    Ok(inputs.into_iter().flat_map(unpacked).collect())
}

fn expand(argument: &str) -> Result<Vec<Input>> {
    if argument == "-" {
        return Ok(vec![Input {
            display: "-".into(),
            place: Place::Stdin,
        }]);
    }
    if remote::is_address(argument) {
        return remote::find(argument);
    }
    let argument = argument.strip_prefix("file://").unwrap_or(argument);
    let path = Path::new(argument);
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {
            let mut files = Vec::new();
            walk(path, 0, &mut files);
            Ok(files)
        }
        Ok(_) => Ok(vec![file(path)]),
        Err(_) if argument.contains(['*', '?', '[']) => globbed(argument),
        // A named file that is missing matches nothing; one that cannot be read is a reject later.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(_) => Ok(vec![file(path)]),
    }
}

fn globbed(pattern: &str) -> Result<Vec<Input>> {
    let paths = glob::glob(pattern)
        .map_err(|e| failure(FailureKind::Usage, format!("`{pattern}` is no glob: {e}")))?;
    let mut found = Vec::new();
    for path in paths.flatten() {
        if path.is_dir() {
            walk(&path, 0, &mut found);
        } else {
            found.push(file(&path));
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Folders nested deeper than this are not entered: no log store is, a loop of mounts may be.
const MAX_DEPTH: usize = 64;

fn walk(folder: &Path, depth: usize, out: &mut Vec<Input>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        // An unreadable folder becomes a reject like an unreadable file.
        out.push(file(folder));
        return;
    };
    if is_case(folder) {
        return;
    }
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        if path.extension().is_some_and(|e| e == "key") && is_case(&path.with_extension("")) {
            continue;
        }
        let hidden = path
            .file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with('.'));
        let Ok(meta) = std::fs::symlink_metadata(&path) else {
            continue;
        };
        if hidden || meta.file_type().is_symlink() && path.is_dir() {
            // Links to folders could lead out of the tree or in circles.
            continue;
        }
        if meta.is_dir() {
            if depth < MAX_DEPTH {
                walk(&path, depth + 1, out);
            }
        } else {
            out.push(file(&path));
        }
    }
}

/// Whether a folder is one of ours. What an earlier run wrote is no log, and its key least of all.
fn is_case(folder: &Path) -> bool {
    folder.join("case.lock").is_file() && folder.join("custody.jsonl").is_file()
}

fn file(path: &Path) -> Input {
    Input {
        display: path.display().to_string(),
        place: Place::File(path.to_path_buf()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_globs_and_duplicates() {
        let dir = tempfile::tempdir().expect("temp dir");
        for name in ["b.jsonl", "a.jsonl", ".hidden", "sub/c.log"] {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("mkdir");
            std::fs::write(path, "x").expect("write");
        }
        let root = dir.path().display().to_string();
        let names = |args: &[String]| -> Vec<String> {
            discover(args, 1000)
                .expect("found")
                .into_iter()
                .map(|i| i.display.rsplit('/').next().unwrap_or_default().to_string())
                .collect()
        };
        assert_eq!(
            names(std::slice::from_ref(&root)),
            ["a.jsonl", "b.jsonl", "c.log"]
        );
        assert_eq!(
            names(&[format!("{root}/*.jsonl"), root.clone()]),
            ["a.jsonl", "b.jsonl", "c.log"]
        );
        assert_eq!(names(&["-".into()]), ["-"]);
        let missing =
            discover(&[format!("{root}/none*.jsonl")], 1000).expect_err("nothing matches");
        assert_eq!(crate::outcome::exit_code_of(&missing), 5);
    }
}
