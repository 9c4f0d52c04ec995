//! Files that a run needs only while it runs, inside the case folder and readable by its owner
//! alone. A killed run leaves them; the next run of the case removes them.

use anyhow::{Context, Result};
use pentimento_store::case::CaseFolder;
use std::fs::{DirBuilder, File, OpenOptions};
use std::path::{Path, PathBuf};

/// The folder's name; what ends in `.tmp` is removed when a case is taken up again.
const FOLDER: &str = "work.tmp";

/// Where scratch files of a case lie.
pub fn folder(case: &CaseFolder) -> PathBuf {
    case.root().join(FOLDER)
}

/// Makes the folder.
///
/// # Errors
/// Where it cannot be made.
pub fn create_folder(case: &CaseFolder) -> Result<()> {
    let path = folder(case);
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder
        .create(&path)
        .with_context(|| format!("cannot create `{}`", path.display()))
}

/// Removes the folder and what is in it.
///
/// # Errors
/// Where it cannot be removed.
pub fn remove_folder(case: &CaseFolder) -> Result<()> {
    let path = folder(case);
    std::fs::remove_dir_all(&path).with_context(|| format!("cannot remove `{}`", path.display()))
}

/// Creates a file that only its owner can read.
///
/// # Errors
/// Where it cannot be made.
pub fn create_file(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
        .open(path)
        .with_context(|| format!("cannot create `{}`", path.display()))
}
