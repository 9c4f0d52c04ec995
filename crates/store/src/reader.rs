//! Reads tables back: file by file in path order, a batch at a time.

use crate::error::{StoreError, TableProblem};
use crate::rows::{Row, decode};
use crate::schema::Table;
use arrow::array::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use std::fs::{self, File};
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// A batch is asked for in so many rows that it stays near this size.
const BATCH_BYTES: i64 = 8 << 20;
/// And in no more than so many rows.
const BATCH_ROWS: i64 = 8_192;

/// The part files of a table, sorted by path. `tables` is the folder of all tables.
pub fn part_files(tables: &Path, table: Table) -> Result<Vec<PathBuf>, StoreError> {
    let folder = tables.join(table.as_str());
    let list = |folder: &Path| -> Result<Vec<PathBuf>, StoreError> {
        sorted_entries(folder).map_err(|source| {
            let action = "list the folder";
            TableProblem::Io { action, source }.at(table, folder)
        })
    };
    let mut files = Vec::new();
    match table.partition_key() {
        None => files = list(&folder)?,
        Some(key) => {
            for entry in list(&folder)? {
                if file_name(&entry).starts_with(&format!("{key}=")) {
                    files.extend(list(&entry)?);
                }
            }
        }
    }
    files.retain(|f| {
        let name = file_name(f);
        name.starts_with("part-") && name.ends_with(".parquet")
    });
    if files.is_empty() {
        return Err(TableProblem::NoFile.at(table, &folder));
    }
    Ok(files)
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|n| n.to_str()).unwrap_or("")
}

fn sorted_entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// The rows of one file, by its footer.
pub(crate) fn file_rows(path: &Path) -> Result<i64, TableProblem> {
    let file = open(path)?;
    let metadata = ArrowReaderMetadata::load(&file, Default::default())?;
    Ok(metadata.metadata().file_metadata().num_rows())
}

fn open(path: &Path) -> Result<File, TableProblem> {
    File::open(path).map_err(|source| TableProblem::Io {
        action: "open the file",
        source,
    })
}

/// The rows of a table, by the footers of its files.
pub fn row_count(tables: &Path, table: Table) -> Result<i64, StoreError> {
    let mut rows = 0;
    for path in part_files(tables, table)? {
        rows += file_rows(&path).map_err(|e| e.at(table, &path))?;
    }
    Ok(rows)
}

/// Checks that a table holds so many rows.
pub fn check_rows(tables: &Path, table: Table, expected: i64) -> Result<(), StoreError> {
    let found = row_count(tables, table)?;
    if found != expected {
        let problem = TableProblem::RowCount { expected, found };
        return Err(problem.at(table, &tables.join(table.as_str())));
    }
    Ok(())
}

/// The batches of a table, in file order.
pub struct BatchReader {
    table: Table,
    columns: Option<Vec<String>>,
    files: std::vec::IntoIter<PathBuf>,
    current: Option<(PathBuf, ParquetRecordBatchReader)>,
}

/// Reads a table; all columns, or those named, in the table's order.
pub fn read_batches(
    tables: &Path,
    table: Table,
    columns: Option<&[&str]>,
) -> Result<BatchReader, StoreError> {
    for name in columns.unwrap_or_default() {
        if !table.columns().iter().any(|c| c.name == *name) {
            let problem = TableProblem::NoColumn((*name).to_owned());
            return Err(problem.at(table, &tables.join(table.as_str())));
        }
    }
    Ok(BatchReader {
        table,
        columns: columns.map(|names| names.iter().map(|&n| n.to_owned()).collect()),
        files: part_files(tables, table)?.into_iter(),
        current: None,
    })
}

impl BatchReader {
    fn open(&self, path: &Path) -> Result<ParquetRecordBatchReader, TableProblem> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(open(path)?)?;
        let metadata = builder.metadata();
        // A row group is bounded, so the largest row of it bounds what an average misses.
        let rows = metadata
            .row_groups()
            .iter()
            .map(|g| BATCH_BYTES / (g.total_byte_size() / g.num_rows().max(1)).max(1))
            .min()
            .unwrap_or(BATCH_ROWS)
            .clamp(1, BATCH_ROWS);
        let mut builder = builder.with_batch_size(usize::try_from(rows).unwrap_or(1));
        if let Some(names) = &self.columns {
            let mask =
                ProjectionMask::columns(builder.parquet_schema(), names.iter().map(String::as_str));
            builder = builder.with_projection(mask);
        }
        Ok(builder.build()?)
    }

    fn step(&mut self) -> Option<Result<RecordBatch, StoreError>> {
        loop {
            if let Some((path, reader)) = &mut self.current {
                match reader.next() {
                    Some(Ok(batch)) => return Some(Ok(batch)),
                    Some(Err(e)) => {
                        let problem = TableProblem::Parquet(ParquetError::from(e));
                        return Some(Err(problem.at(self.table, path)));
                    }
                    None => self.current = None,
                }
            }
            let path = self.files.next()?;
            match self.open(&path) {
                Ok(reader) => self.current = Some((path, reader)),
                Err(problem) => return Some(Err(problem.at(self.table, &path))),
            }
        }
    }
}

impl Iterator for BatchReader {
    type Item = Result<RecordBatch, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.step();
        if matches!(item, Some(Err(_))) {
            // What follows damage would be a table with a hole in it.
            self.current = None;
            self.files = Vec::new().into_iter();
        }
        item
    }
}

/// The rows of a table, in file order.
pub struct RowReader<R> {
    batches: BatchReader,
    rows: std::vec::IntoIter<R>,
    folder: PathBuf,
    row: PhantomData<R>,
}

/// Reads all rows of a table, one batch in memory at a time.
pub fn read_rows<R: Row>(tables: &Path) -> Result<RowReader<R>, StoreError> {
    Ok(RowReader {
        batches: read_batches(tables, R::TABLE, None)?,
        rows: Vec::new().into_iter(),
        folder: tables.join(R::TABLE.as_str()),
        row: PhantomData,
    })
}

impl<R: Row> Iterator for RowReader<R> {
    type Item = Result<R, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(Ok(row));
            }
            let decoded = self.batches.next()?.and_then(|batch| {
                decode(&batch).map_err(|e| TableProblem::Row(e).at(R::TABLE, &self.folder))
            });
            match decoded {
                Ok(rows) => self.rows = rows.into_iter(),
                Err(e) => return Some(Err(e)),
            }
        }
    }
}
