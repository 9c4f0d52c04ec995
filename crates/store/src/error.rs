//! What can go wrong with a case and its tables.

use crate::custody::ChainError;
use crate::rows::RowError;
use crate::schema::Table;
use parquet::errors::ParquetError;
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

/// Why something with a case did not work. Names paths and tables, never content.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another run holds the case.
    #[error("another run holds the case {path:?}")]
    Busy {
        /// The case folder.
        path: PathBuf,
    },
    /// The case is finished and was not to be overwritten.
    #[error("the case {path:?} is finished; expected a new folder or leave to overwrite it")]
    Finished {
        /// The case folder.
        path: PathBuf,
    },
    /// The folder holds something, but no case.
    #[error("{path:?} is not empty and not a case; expected an empty or new folder")]
    NotACase {
        /// The folder.
        path: PathBuf,
    },
    /// There is no such case.
    #[error("{path:?} is not a case: no such folder, or neither case.json nor case.lock in it")]
    NoCase {
        /// The folder.
        path: PathBuf,
    },
    /// The key file is not one.
    #[error("key file {path:?}: expected 64 hex digits")]
    Key {
        /// The key file.
        path: PathBuf,
    },
    /// `case.json` cannot be understood.
    #[error("{path:?}: not a case manifest of this version (line {line}, column {column})")]
    Manifest {
        /// The file.
        path: PathBuf,
        /// Where it stops making sense, from 1; 0 where the place is not known.
        line: usize,
        /// Column in the line, from 1; 0 where the place is not known.
        column: usize,
    },
    /// The custody chain is broken.
    #[error("{path:?}: {source}")]
    Custody {
        /// The custody file.
        path: PathBuf,
        /// Where and how.
        source: ChainError,
    },
    /// The file system refuses.
    #[error("cannot {action} {path:?}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// A table could not be written or read.
    #[error("table {table}, {path:?}: {problem}")]
    Table {
        /// The table.
        table: Table,
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        problem: TableProblem,
    },
}

/// What is wrong with a table.
#[derive(Debug, thiserror::Error)]
pub enum TableProblem {
    /// The file system refuses.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// Its reason.
        source: io::Error,
    },
    /// Parquet refuses.
    #[error("{0}")]
    Parquet(#[from] ParquetError),
    /// A row does not fit.
    #[error("{0}")]
    Row(#[from] RowError),
    /// The partitions do not come in order.
    #[error("partition {key} comes twice: rows must be sorted by it")]
    PartitionTwice {
        /// The partition, `dt=…`.
        key: String,
    },
    /// What was read back is not what was written.
    #[error("{found} rows read back, expected {expected}")]
    RowCount {
        /// Rows written.
        expected: i64,
        /// Rows read back.
        found: i64,
    },
    /// The writer was used after an error.
    #[error("an earlier write failed")]
    Failed,
    /// A column that the table does not have.
    #[error("no column {0:?}")]
    NoColumn(String),
    /// The table holds no file.
    #[error("no part file, expected at least one")]
    NoFile,
}

impl TableProblem {
    pub(crate) fn at(self, table: Table, path: &Path) -> StoreError {
        StoreError::Table {
            table,
            path: path.to_owned(),
            problem: self,
        }
    }
}

impl StoreError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> StoreError {
        StoreError::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Whether the disk, or the quota on it, is full.
    pub fn is_disk_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        self.io_error()
            .is_some_and(|e| matches!(e.kind(), StorageFull | QuotaExceeded))
    }

    /// The file system's reason, if that is what it was.
    pub fn io_error(&self) -> Option<&io::Error> {
        match self {
            StoreError::Io { source, .. } => Some(source),
            StoreError::Table { problem, .. } => match problem {
                TableProblem::Io { source, .. } => Some(source),
                TableProblem::Parquet(e) => find_io(e),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Parquet wraps what a file said, sometimes more than once.
fn find_io(error: &ParquetError) -> Option<&io::Error> {
    let mut next: Option<&(dyn Error + 'static)> = match error {
        ParquetError::External(inner) => Some(inner.as_ref()),
        other => Some(other),
    };
    for _ in 0..8 {
        let error = next?;
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(io);
        }
        next = match error.downcast_ref::<ParquetError>() {
            Some(ParquetError::External(inner)) => Some(inner.as_ref()),
            _ => error.source(),
        };
    }
    None
}
