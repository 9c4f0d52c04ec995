//! The case folder: who may write it, what lies where, and what of an earlier run goes away.

use crate::custody::{self, Act, CUSTODY_FILE, ChainHead};
use crate::digest::CaseKey;
use crate::error::StoreError;
use crate::manifest::{CaseManifest, CaseStatus, FileDigest, MANIFEST_FILE};
use crate::rows::Row;
use crate::schema::Table;
use crate::storage::{
    AtomicFile, Storage, Written, disk, owner_only, private_options, with_suffix,
};
use crate::writer::{Partitioned, TableWriter, WriteOptions};
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Held by the run that writes the case; also marks a folder as a case.
pub const LOCK_FILE: &str = "case.lock";
/// Folder of the tables inside the case.
pub const TABLES_FOLDER: &str = "tables";

/// A case folder, held for writing or open for reading.
pub struct CaseFolder {
    root: PathBuf,
    storage: Arc<dyn Storage>,
    lock: Option<File>,
    previous: Option<CaseManifest>,
}

impl fmt::Debug for CaseFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaseFolder")
            .field("root", &self.root)
            .field("held", &self.is_held())
            .finish_non_exhaustive()
    }
}

impl CaseFolder {
    /// Starts a case in a new or empty folder, or anew in the folder of an earlier one.
    ///
    /// A folder with other things in it is refused, and so is a finished case unless `overwrite`.
    /// An earlier run's `case.json` goes first, then its tables and reports; `custody.jsonl` stays.
    pub fn create(root: &Path, overwrite: bool) -> Result<CaseFolder, StoreError> {
        CaseFolder::create_on(disk(), root, overwrite)
    }

    /// The same, on a given storage.
    pub fn create_on(
        storage: Arc<dyn Storage>,
        root: &Path,
        overwrite: bool,
    ) -> Result<CaseFolder, StoreError> {
        if let Some(parent) = root.parent().filter(|p| !p.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(|e| StoreError::io("create", parent, e))?;
        }
        if root.exists() && !is_case(root) && !is_empty_dir(root)? {
            let path = root.to_owned();
            return Err(StoreError::NotACase { path });
        }
        storage
            .create_dir(root)
            .map_err(|e| StoreError::io("create", root, e))?;
        let mut case = CaseFolder::locked(storage, root)?;
        if !overwrite && case.is_finished() {
            let path = root.to_owned();
            return Err(StoreError::Finished { path });
        }
        case.remove_earlier(true)?;
        Ok(case)
    }

    /// Takes up an existing case for its next stage. Its tables stay; its `case.json` is removed,
    /// so
    /// that the folder does not look finished meanwhile, and kept as [`CaseFolder::previous`].
    pub fn resume(root: &Path) -> Result<CaseFolder, StoreError> {
        if !is_case(root) {
            let path = root.to_owned();
            return Err(StoreError::NoCase { path });
        }
        let mut case = CaseFolder::locked(disk(), root)?;
        case.previous = CaseManifest::read(root)?;
        case.remove_earlier(false)?;
        Ok(case)
    }

    /// Opens a case for reading. Does not wait for a run that writes it.
    pub fn open(root: &Path) -> Result<CaseFolder, StoreError> {
        if !is_case(root) {
            let path = root.to_owned();
            return Err(StoreError::NoCase { path });
        }
        Ok(CaseFolder {
            root: root.to_owned(),
            storage: disk(),
            lock: None,
            previous: CaseManifest::read(root)?,
        })
    }

    fn locked(storage: Arc<dyn Storage>, root: &Path) -> Result<CaseFolder, StoreError> {
        let path = root.join(LOCK_FILE);
        let io_error = |e| StoreError::io("lock", &path, e);
        let lock = private_options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io_error)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let path = root.to_owned();
                return Err(StoreError::Busy { path });
            }
            Err(TryLockError::Error(e)) => return Err(io_error(e)),
        }
        owner_only(&path, 0o600).map_err(io_error)?;
        Ok(CaseFolder {
            root: root.to_owned(),
            storage,
            lock: Some(lock),
            previous: None,
        })
    }

    /// Removes `case.json` first and for good, then what a killed run left, then (if `all`) the
    /// tables and reports of the earlier run.
    fn remove_earlier(&mut self, all: bool) -> Result<(), StoreError> {
        let manifest = self.root.join(MANIFEST_FILE);
        self.storage
            .remove_file(&manifest)
            .and_then(|()| self.storage.sync_dir(&self.root))
            .map_err(|e| StoreError::io("remove", &manifest, e))?;
        let tables = self.tables();
        if all {
            self.storage
                .remove_dir_all(&tables)
                .map_err(|e| StoreError::io("remove", &tables, e))?;
        }
        self.storage
            .create_dir(&tables)
            .map_err(|e| StoreError::io("create", &tables, e))?;
        for folder in [&tables, &self.root] {
            for entry in entries(folder)? {
                let name = entry.file_name().unwrap_or_default().to_string_lossy();
                let stale = name.ends_with(".tmp");
                let report = name.starts_with("report.") || name.starts_with("findings.");
                let earlier = all && report && *folder == self.root;
                if !(stale || earlier) {
                    continue;
                }
                let is_dir = fs::symlink_metadata(&entry).is_ok_and(|m| m.is_dir());
                let removed = if is_dir {
                    self.storage.remove_dir_all(&entry)
                } else {
                    self.storage.remove_file(&entry)
                };
                removed.map_err(|e| StoreError::io("remove", &entry, e))?;
            }
        }
        Ok(())
    }

    /// The case folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of all tables.
    pub fn tables(&self) -> PathBuf {
        self.root.join(TABLES_FOLDER)
    }

    /// The folder of one table.
    pub fn table(&self, table: Table) -> PathBuf {
        self.tables().join(table.as_str())
    }

    /// Whether a table is there; `texts` often is not.
    pub fn has_table(&self, table: Table) -> bool {
        self.table(table).is_dir()
    }

    /// Whether this run may write.
    pub fn is_held(&self) -> bool {
        self.lock.is_some()
    }

    /// The manifest found when the case was opened or resumed; `None` where it was unfinished.
    pub fn previous(&self) -> Option<&CaseManifest> {
        self.previous.as_ref()
    }

    /// Whether all stages are done. A `case.json` that cannot be read counts as a finished one: it
    /// is
    /// not for this program to throw away.
    pub fn is_finished(&self) -> bool {
        match CaseManifest::read(&self.root) {
            Ok(Some(manifest)) => manifest.status != CaseStatus::Partial,
            Ok(None) => false,
            Err(_) => true,
        }
    }

    /// Starts a table of the case.
    pub fn writer<R: Row + Partitioned>(
        &self,
        options: WriteOptions,
    ) -> Result<TableWriter<R>, StoreError> {
        TableWriter::create_on(self.storage.clone(), &self.tables(), options)
    }

    /// Removes a table, such as `texts` of an earlier run; it may be gone already.
    pub fn remove_table(&self, table: Table) -> Result<(), StoreError> {
        let path = self.table(table);
        self.storage
            .remove_dir_all(&path)
            .map_err(|e| StoreError::io("remove", &path, e))
    }

    /// Starts a file of the case, such as a report; it appears when it is whole.
    pub fn create_output(&self, name: &str) -> Result<AtomicFile, StoreError> {
        let path = self.root.join(name);
        AtomicFile::create(self.storage.clone(), &path)
            .map_err(|e| StoreError::io("create", &path, e))
    }

    /// Writes a whole file of the case, such as a report.
    pub fn write_output(&self, name: &str, bytes: &[u8]) -> Result<FileDigest, StoreError> {
        let written = self.write_atomic(&self.root.join(name), bytes)?;
        Ok(FileDigest::of_output(name, written))
    }

    /// Writes `case.json`, the last act of a run.
    pub fn write_manifest(&self, manifest: &CaseManifest) -> Result<Written, StoreError> {
        let path = self.root.join(MANIFEST_FILE);
        let tables = self.tables();
        self.storage
            .sync_dir(&tables)
            .map_err(|e| StoreError::io("bring to the disk", &tables, e))?;
        let bytes = manifest
            .to_json()
            .map_err(|e| StoreError::io("write", &path, e.into()))?;
        self.write_atomic(&path, &bytes)
    }

    fn write_atomic(&self, path: &Path, bytes: &[u8]) -> Result<Written, StoreError> {
        let mut file = AtomicFile::create(self.storage.clone(), path)
            .map_err(|e| StoreError::io("create", path, e))?;
        file.write_all(bytes)
            .and_then(|()| file.finish())
            .map_err(|e| StoreError::io("write", path, e))
    }

    /// The custody file.
    pub fn custody_path(&self) -> PathBuf {
        self.root.join(CUSTODY_FILE)
    }

    /// Appends an act to the custody file. Needs no hold on the case: readers reveal, too.
    pub fn add_custody(&self, act: &Act) -> Result<ChainHead, StoreError> {
        custody::append(&self.custody_path(), act)
    }

    /// Where the case's own key lies: `CASE.key`, beside the folder, so that giving away the folder
    /// does not give away the key.
    pub fn key_path(&self) -> PathBuf {
        // Resolved first: `.` and `cases/..` have no name that a suffix could go to.
        let root = fs::canonicalize(&self.root).unwrap_or_else(|_| self.root.clone());
        with_suffix(&root, ".key")
    }

    /// The key of the case: `key_file` if given, else the one beside the folder, made from `fresh`
    /// the first time.
    pub fn key(
        &self,
        key_file: Option<&Path>,
        fresh: impl FnOnce() -> io::Result<[u8; 32]>,
    ) -> Result<CaseKey, StoreError> {
        if let Some(path) = key_file {
            return read_key(path);
        }
        let path = self.key_path();
        if !path.exists() {
            let io_error = |e| StoreError::io("create the key", &path, e);
            let key = CaseKey(fresh().map_err(io_error)?);
            let made = private_options().write(true).create_new(true).open(&path);
            match made {
                Ok(mut file) => {
                    owner_only(&path, 0o600).map_err(io_error)?;
                    file.write_all(format!("{}\n", key.to_hex()).as_bytes())
                        .and_then(|()| file.sync_all())
                        .map_err(io_error)?;
                    return Ok(key);
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(io_error(e)),
            }
        }
        read_key(&path)
    }
}

/// Reads a key file: 64 hex digits.
pub fn read_key(path: &Path) -> Result<CaseKey, StoreError> {
    let io_error = |e| StoreError::io("read the key", path, e);
    // Bounded: a mistyped path may name a log of many gigabytes.
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(io_error)?;
    io::Read::read_to_end(&mut io::Read::take(file, 128), &mut bytes).map_err(io_error)?;
    CaseKey::parse(&bytes).ok_or_else(|| StoreError::Key {
        path: path.to_owned(),
    })
}

/// Whether a folder is a case: it has our lock file, or a manifest of ours.
fn is_case(root: &Path) -> bool {
    root.join(LOCK_FILE).is_file() || matches!(CaseManifest::read(root), Ok(Some(_)))
}

fn is_empty_dir(root: &Path) -> Result<bool, StoreError> {
    Ok(entries(root)?.is_empty())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let io_error = |e| StoreError::io("list", folder, e);
    fs::read_dir(folder)
        .map_err(io_error)?
        .map(|entry| entry.map(|e| e.path()).map_err(io_error))
        .collect()
}
