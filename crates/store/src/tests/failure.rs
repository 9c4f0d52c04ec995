//! Every act of the disk fails once: nothing half done may look finished.

use super::sample::rows;
use crate::case::CaseFolder;
use crate::error::StoreError;
use crate::manifest::{CaseManifest, MANIFEST_FILE};
use crate::rows::{ExchangeRow, FindingRow, Row};
use crate::storage::{Disk, Storage, StorageFile};
use crate::writer::{Partitioned, TableSummary, TableWriter, WriteOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The disk, with act number `fails_at` failing, and all after it if `for_good`.
struct Faulty {
    acts: Arc<AtomicUsize>,
    fails_at: usize,
    for_good: bool,
}

struct FaultyFile {
    file: Box<dyn StorageFile>,
    acts: Arc<AtomicUsize>,
    fails_at: usize,
    for_good: bool,
}

fn act(acts: &AtomicUsize, fails_at: usize, for_good: bool) -> io::Result<()> {
    let number = acts.fetch_add(1, Ordering::SeqCst);
    if number == fails_at || (for_good && number > fails_at) {
        return Err(io::ErrorKind::StorageFull.into());
    }
    Ok(())
}

impl Faulty {
    fn new(fails_at: usize, for_good: bool) -> Faulty {
        Faulty {
            acts: Arc::default(),
            fails_at,
            for_good,
        }
    }

    fn act(&self) -> io::Result<()> {
        act(&self.acts, self.fails_at, self.for_good)
    }
}

impl Storage for Faulty {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.act()?;
        Disk.create_dir(path)
    }

    fn create_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        self.act()?;
        Ok(Box::new(FaultyFile {
            file: Disk.create_file(path)?,
            acts: self.acts.clone(),
            fails_at: self.fails_at,
            for_good: self.for_good,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.act()?;
        Disk.rename(from, to)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.act()?;
        Disk.remove_dir_all(path)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.act()?;
        Disk.remove_file(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.act()?;
        Disk.sync_dir(path)
    }
}

impl Write for FaultyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        act(&self.acts, self.fails_at, self.for_good)?;
        // Short writes are allowed and must not lose a byte.
        self.file.write(&bytes[..bytes.len().min(3_000)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl StorageFile for FaultyFile {
    fn sync(&mut self) -> io::Result<()> {
        act(&self.acts, self.fails_at, self.for_good)?;
        self.file.sync()
    }
}

fn write_all<R: Row + Partitioned>(
    storage: Faulty,
    tables: &Path,
    rows: &[R],
) -> Result<TableSummary, StoreError> {
    let options = WriteOptions {
        batch_rows: 3,
        row_group_rows: 3,
        part_bytes: 5_000,
        ..WriteOptions::default()
    };
    let mut writer = TableWriter::create_on(Arc::new(storage), tables, options)?;
    writer.extend(rows)?;
    writer.finish()
}

fn each_act_fails<R: Row + Partitioned>(for_good: bool) {
    let mut rows: Vec<R> = rows(7, 11);
    rows.sort_by_key(Partitioned::partition_value);
    let mut failures = 0;
    for fails_at in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let result = write_all(Faulty::new(fails_at, for_good), folder.path(), &rows);
        let Err(error) = result else {
            break;
        };
        failures += 1;
        let text = error.to_string();
        let name = R::TABLE.as_str();
        assert!(
            text.contains(&format!("table {name}")),
            "{fails_at}: {text}"
        );
        let path = folder.path().join(name);
        assert!(
            text.contains(path.to_str().unwrap()),
            "act {fails_at}: {text}"
        );
        assert!(error.is_disk_full(), "act {fails_at}: {error:?}");
        assert!(!path.exists(), "act {fails_at}");
        if !for_good {
            let left = std::fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(left, 0, "act {fails_at}");
        }
    }
    assert!(failures > 10, "{failures}");
}

#[test]
fn no_failed_write_leaves_a_table() {
    each_act_fails::<ExchangeRow>(false);
    each_act_fails::<FindingRow>(false);
}

#[test]
fn no_full_disk_leaves_a_table() {
    each_act_fails::<ExchangeRow>(true);
    each_act_fails::<FindingRow>(true);
}

#[test]
fn no_failed_run_looks_finished() {
    let mut failures = 0;
    for fails_at in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("case");
        let run = |storage: Faulty| -> Result<(), StoreError> {
            let case = CaseFolder::create_on(Arc::new(storage), &root, true)?;
            let mut manifest = CaseManifest::default();
            let summary = case
                .writer::<FindingRow>(WriteOptions::default())?
                .finish()?;
            manifest.set_table(&summary);
            manifest.set_output(case.write_output("report.md", b"# report\n")?);
            case.write_manifest(&manifest)?;
            Ok(())
        };
        let earlier = Faulty::new(usize::MAX, false);
        run(earlier).unwrap();
        let failed = run(Faulty::new(fails_at, true));
        if failed.is_ok() {
            break;
        }
        failures += 1;
        // What looks finished is whole: the earlier run, or, where only the last act of all failed,
        // this one.
        if let Some(manifest) = CaseManifest::read(&root).unwrap() {
            assert_eq!(manifest.verify_files(&root).unwrap(), []);
        }
        run(Faulty::new(usize::MAX, false)).unwrap();
        assert!(root.join(MANIFEST_FILE).exists());
        let manifest = CaseManifest::read(&root).unwrap().unwrap();
        assert_eq!(manifest.verify_files(&root).unwrap(), []);
    }
    assert!(failures > 10, "{failures}");
}
