//! Writes the Parquet files of one table: bounded by bytes, equal for equal rows, visible only
//! whole.

use crate::error::{StoreError, TableProblem};
use crate::reader;
use crate::rows::{BatchBuilder, Row};
use crate::schema::{ExchangeRow, SCHEMA_VERSION, Table};
use crate::storage::{HashingFile, Storage, Written, disk};
use arrow::temporal_conversions::timestamp_us_to_datetime;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::collections::BTreeSet;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Written into each file; fixed, so that the program's version does not change the bytes.
pub const CREATED_BY: &str = "pentimento";

/// File metadata key of the table's name.
pub const TABLE_KEY: &str = "pentimento.table";
/// File metadata key of [`SCHEMA_VERSION`].
pub const VERSION_KEY: &str = "pentimento.schema_version";

/// Value of `dt` for rows without a usable time.
pub const UNKNOWN_DATE: &str = "unknown";

/// How large the pieces of a table get. Bytes are counted on the rows, before encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// A batch is encoded once it holds so many bytes; 8 MiB.
    pub batch_bytes: usize,
    /// Or so many rows; 8,192.
    pub batch_rows: usize,
    /// A row group is closed once it holds so many bytes; 64 MiB.
    pub row_group_bytes: usize,
    /// Or so many rows; 262,144.
    pub row_group_rows: usize,
    /// A new part file is begun once one has so many bytes on disk; 512 MiB.
    pub part_bytes: u64,
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions {
            batch_bytes: 8 << 20,
            batch_rows: 8_192,
            row_group_bytes: 64 << 20,
            row_group_rows: 1 << 18,
            part_bytes: 512 << 20,
        }
    }
}

/// One finished part file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartFile {
    /// Path inside the table's folder, parts joined with `/`.
    pub path: String,
    /// Its rows.
    pub rows: i64,
    /// Size and digest.
    pub written: Written,
}

/// What was written of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSummary {
    /// The table.
    pub table: Table,
    /// All rows.
    pub rows: i64,
    /// Its files, sorted by path.
    pub files: Vec<PartFile>,
}

struct Part {
    writer: ArrowWriter<HashingFile>,
    path: String,
    rows: i64,
    group_rows: usize,
    group_bytes: usize,
}

/// Writes one table. Rows must come sorted; those of a partitioned table partition by partition.
///
/// Nothing is visible under the table's name until [`TableWriter::finish`]: the files are made in
/// `NAME.tmp`, which is then renamed. A writer that is dropped before removes what it made.
pub struct TableWriter<R: Row> {
    storage: Arc<dyn Storage>,
    folder: PathBuf,
    temp: PathBuf,
    options: WriteOptions,
    properties: WriterProperties,
    batch: BatchBuilder,
    partition: Option<String>,
    seen: BTreeSet<String>,
    part: Option<Part>,
    part_number: usize,
    files: Vec<PartFile>,
    failed: bool,
    done: bool,
    row: PhantomData<fn(&R)>,
}

impl<R: Row + Partitioned> TableWriter<R> {
    /// Starts the table inside `tables`, the folder of all tables, which must exist.
    pub fn create(tables: &Path, options: WriteOptions) -> Result<TableWriter<R>, StoreError> {
        TableWriter::create_on(disk(), tables, options)
    }

    /// The same, on a given storage.
    pub fn create_on(
        storage: Arc<dyn Storage>,
        tables: &Path,
        options: WriteOptions,
    ) -> Result<TableWriter<R>, StoreError> {
        let temp = tables.join(format!("{}.tmp", R::TABLE));
        let made = storage
            .remove_dir_all(&temp)
            .and_then(|()| storage.create_dir(&temp));
        let mut writer = TableWriter {
            storage,
            folder: tables.join(R::TABLE.as_str()),
            temp,
            options,
            properties: properties(R::TABLE, &options),
            batch: BatchBuilder::new(R::TABLE),
            partition: None,
            seen: BTreeSet::new(),
            part: None,
            part_number: 0,
            files: Vec::new(),
            failed: false,
            done: false,
            row: PhantomData,
        };
        let made = made.map_err(|e| io_problem("create the folder", e));
        writer.settle(made)?;
        Ok(writer)
    }

    /// Appends a row. After an error the writer takes no more.
    pub fn push(&mut self, row: &R) -> Result<(), StoreError> {
        let pushed = self.try_push(row);
        self.settle(pushed)
    }

    /// Appends rows.
    pub fn extend<'a>(&mut self, rows: impl IntoIterator<Item = &'a R>) -> Result<(), StoreError>
    where
        R: 'a,
    {
        rows.into_iter().try_for_each(|row| self.push(row))
    }

    /// Ends the table: at least one file, brought to the disk, opened again and counted, then put
    /// in
    /// place of an older table.
    pub fn finish(mut self) -> Result<TableSummary, StoreError> {
        let finished = self.try_finish();
        self.settle(finished)
    }

    fn settle<T>(&mut self, result: Result<T, TableProblem>) -> Result<T, StoreError> {
        result.map_err(|problem| {
            self.failed = true;
            let path = self.part.as_ref().map_or(self.folder.clone(), |part| {
                self.folder.join(Path::new(&part.path))
            });
            problem.at(R::TABLE, &path)
        })
    }

    fn try_push(&mut self, row: &R) -> Result<(), TableProblem> {
        if self.failed {
            return Err(TableProblem::Failed);
        }
        if R::TABLE.partition_key().is_some() {
            let value = row.partition_value();
            if self.partition.as_deref() != Some(value.as_str()) {
                self.begin_partition(value)?;
            }
        }
        self.batch.push(row)?;
        if self.batch.bytes() >= self.options.batch_bytes
            || self.batch.rows() >= self.options.batch_rows
        {
            self.write_batch()?;
        }
        Ok(())
    }

    fn begin_partition(&mut self, value: String) -> Result<(), TableProblem> {
        self.write_batch()?;
        self.close_part()?;
        if !self.seen.insert(value.clone()) {
            let name = R::TABLE.partition_key().unwrap_or_default();
            let key = format!("{name}={value}");
            return Err(TableProblem::PartitionTwice { key });
        }
        self.partition = Some(value);
        self.part_number = 0;
        Ok(())
    }

    fn write_batch(&mut self) -> Result<(), TableProblem> {
        let (rows, bytes) = (self.batch.rows(), self.batch.bytes());
        if rows == 0 {
            return Ok(());
        }
        let batch = self.batch.finish()?;
        if self.part.is_none() {
            self.part = Some(self.open_part()?);
        }
        let options = self.options;
        let Some(part) = &mut self.part else {
            return Err(TableProblem::Failed);
        };
        part.writer.write(&batch)?;
        part.rows += i64::try_from(rows).unwrap_or(i64::MAX);
        part.group_rows += rows;
        part.group_bytes += bytes;
        if part.group_bytes >= options.row_group_bytes || part.group_rows >= options.row_group_rows
        {
            part.writer.flush()?;
            part.group_rows = 0;
            part.group_bytes = 0;
            if part.writer.bytes_written() as u64 >= options.part_bytes {
                self.close_part()?;
            }
        }
        Ok(())
    }

    fn open_part(&mut self) -> Result<Part, TableProblem> {
        let name = format!("part-{:05}.parquet", self.part_number);
        let path = match R::TABLE.partition_key() {
            Some(key) => {
                let value = self.partition.as_deref().unwrap_or(UNKNOWN_DATE);
                let folder = format!("{key}={value}");
                self.storage
                    .create_dir(&self.temp.join(&folder))
                    .map_err(|e| io_problem("create the folder", e))?;
                format!("{folder}/{name}")
            }
            None => name,
        };
        self.part_number += 1;
        let file = self
            .storage
            .create_file(&self.temp.join(Path::new(&path)))
            .map_err(|e| io_problem("create the file", e))?;
        let writer = ArrowWriter::try_new(
            HashingFile::new(file),
            R::TABLE.schema(),
            Some(self.properties.clone()),
        )?;
        Ok(Part {
            writer,
            path,
            rows: 0,
            group_rows: 0,
            group_bytes: 0,
        })
    }

    fn close_part(&mut self) -> Result<(), TableProblem> {
        let Some(mut part) = self.part.take() else {
            return Ok(());
        };
        // Not `into_inner`: it turns what the disk said into text.
        part.writer.finish()?;
        let written = part
            .writer
            .inner_mut()
            .close()
            .map_err(|e| io_problem("bring the file to the disk", e))?;
        self.files.push(PartFile {
            path: part.path,
            rows: part.rows,
            written,
        });
        Ok(())
    }

    fn try_finish(&mut self) -> Result<TableSummary, TableProblem> {
        if self.failed {
            return Err(TableProblem::Failed);
        }
        self.write_batch()?;
        self.close_part()?;
        if self.files.is_empty() {
            self.part = Some(self.open_part()?);
            self.close_part()?;
        }
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        let expected = self.files.iter().map(|f| f.rows).sum();
        self.count_again(expected)?;
        self.publish()
            .map_err(|e| io_problem("put the table in place", e))?;
        Ok(TableSummary {
            table: R::TABLE,
            rows: expected,
            files: std::mem::take(&mut self.files),
        })
    }

    fn publish(&mut self) -> io::Result<()> {
        if let Some(key) = R::TABLE.partition_key() {
            for file in &self.files {
                let folder = file.path.split('/').next().filter(|f| f.starts_with(key));
                if let Some(folder) = folder {
                    self.storage.sync_dir(&self.temp.join(folder))?;
                }
            }
        }
        self.storage.sync_dir(&self.temp)?;
        self.storage.remove_dir_all(&self.folder)?;
        // The last act: whatever fails before leaves no table of this name, and nothing comes
        // after.
        // The folder around it is brought to the disk before `case.json` is written.
        self.storage.rename(&self.temp, &self.folder)?;
        self.done = true;
        Ok(())
    }

    fn count_again(&self, expected: i64) -> Result<(), TableProblem> {
        let mut found = 0_i64;
        for file in &self.files {
            found += reader::file_rows(&self.temp.join(Path::new(&file.path)))?;
        }
        if found != expected {
            return Err(TableProblem::RowCount { expected, found });
        }
        Ok(())
    }
}

impl<R: Row> Drop for TableWriter<R> {
    fn drop(&mut self) {
        if !self.done {
            self.part = None;
            // Nobody is left to tell; the next run removes stale *.tmp folders again.
            let _ = self.storage.remove_dir_all(&self.temp);
        }
    }
}

fn io_problem(action: &'static str, source: io::Error) -> TableProblem {
    TableProblem::Io { action, source }
}

/// Where a row of a partitioned table lies.
pub trait Partitioned {
    /// The value of the table's partition key for this row.
    fn partition_value(&self) -> String {
        String::new()
    }
}

impl Partitioned for ExchangeRow {
    fn partition_value(&self) -> String {
        date_of(self.event_time())
    }
}

impl Partitioned for crate::rows::TextRow {}
impl Partitioned for crate::rows::SourceRow {}
impl Partitioned for crate::rows::RejectRow {}
impl Partitioned for crate::rows::CapacityRow {}
impl Partitioned for crate::rows::EngineEventRow {}
impl Partitioned for crate::rows::OverlapRow {}
impl Partitioned for crate::rows::SecondHandRow {}
impl Partitioned for crate::rows::FactOverlapRow {}
impl Partitioned for crate::rows::DuplicateRow {}
impl Partitioned for crate::rows::IdentifierRow {}
impl Partitioned for crate::rows::AttributionRow {}
impl Partitioned for crate::rows::TextHealthRow {}
impl Partitioned for crate::rows::PhaseRow {}
impl Partitioned for crate::rows::EarlySignRow {}
impl Partitioned for crate::rows::FindingRow {}
impl Partitioned for crate::rows::VerdictRow {}

/// The UTC date of a time as `YYYY-MM-DD`; [`UNKNOWN_DATE`] without one, and for years that do not
/// have four digits.
pub fn date_of(time: Option<i64>) -> String {
    time.and_then(timestamp_us_to_datetime)
        .map(|t| t.date().to_string())
        .filter(|d| d.len() == 10 && d.as_bytes()[0].is_ascii_digit())
        .unwrap_or_else(|| UNKNOWN_DATE.to_owned())
}

fn properties(table: Table, options: &WriteOptions) -> WriterProperties {
    // Level 3 is in the codec's range; its default is what an impossible failure falls back to.
    let level = ZstdLevel::try_new(3).unwrap_or_default();
    let mut builder = WriterProperties::builder()
        .set_created_by(CREATED_BY.to_owned())
        .set_key_value_metadata(Some(vec![
            KeyValue::new(TABLE_KEY.to_owned(), table.to_string()),
            KeyValue::new(VERSION_KEY.to_owned(), SCHEMA_VERSION.to_string()),
        ]))
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_data_page_row_count_limit(20_000)
        .set_max_row_group_row_count(Some(options.row_group_rows.max(1)));
    for column in table.columns() {
        // Values that never repeat only fill a dictionary that is then thrown away.
        if column.name.ends_with("_hmac") || column.name == "digest" || column.name == "text" {
            builder = builder.set_column_dictionary_enabled(ColumnPath::from(column.name), false);
        }
    }
    for name in table.lookup_columns() {
        builder = builder
            .set_column_bloom_filter_enabled(ColumnPath::from(*name), true)
            .set_column_bloom_filter_fpp(ColumnPath::from(*name), 0.01);
    }
    builder.build()
}
