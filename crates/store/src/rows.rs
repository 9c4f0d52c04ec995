//! Rows to Arrow batches and back.

use crate::cell::{CellError, ColumnBuilder, ColumnReader};
use crate::schema::{Column, Table};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::error::ArrowError;

pub use crate::schema::{
    AttributionRow, CapacityRow, DuplicateRow, EarlySignRow, EngineEventRow, ExchangeRow,
    FactOverlapRow, FindingRow, IdentifierRow, OverlapRow, PhaseRow, RejectRow, SecondHandRow,
    SourceRow, TextHealthRow, TextRow, VerdictRow,
};

/// A row of a table.
pub trait Row: Sized {
    /// The table it belongs to.
    const TABLE: Table;

    /// The table's columns, in file order.
    fn columns() -> &'static [Column];

    /// Appends each field to its column's builder; gives the bytes it takes.
    fn put(&self, builders: &mut [ColumnBuilder]) -> Result<usize, CellError>;

    /// Reads one row from the table's columns.
    fn get(columns: &[ColumnReader<'_>], row: usize) -> Result<Self, CellError>;
}

/// Why rows and a batch do not meet.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// A value does not fit its column.
    #[error("{table}: {source}")]
    Cell {
        /// The table.
        table: Table,
        /// The column and what is wrong.
        source: CellError,
    },
    /// A column of the table is not in the batch.
    #[error("{table}: column {column:?} is missing")]
    MissingColumn {
        /// The table.
        table: Table,
        /// The column.
        column: &'static str,
    },
    /// A column of the batch cannot be read as the table's type. Arrow's own message would quote
    /// the value, so it is dropped.
    #[error("{table}: column {column:?} does not convert to the type of the schema")]
    Convert {
        /// The table.
        table: Table,
        /// The column.
        column: &'static str,
    },
    /// Arrow refuses the arrays.
    #[error("{table}: {source}")]
    Arrow {
        /// The table.
        table: Table,
        /// Arrow's reason.
        source: ArrowError,
    },
}

/// Collects rows into one batch.
pub struct BatchBuilder {
    table: Table,
    builders: Vec<ColumnBuilder>,
    rows: usize,
    bytes: usize,
}

impl BatchBuilder {
    /// An empty batch of a table.
    pub fn new(table: Table) -> BatchBuilder {
        BatchBuilder {
            table,
            builders: table.columns().iter().map(ColumnBuilder::new).collect(),
            rows: 0,
            bytes: 0,
        }
    }

    /// Appends a row. After an error the batch is unusable: some columns may be longer than others.
    pub fn push<R: Row>(&mut self, row: &R) -> Result<(), RowError> {
        let table = self.table;
        self.bytes += row
            .put(&mut self.builders)
            .map_err(|source| RowError::Cell { table, source })?;
        self.rows += 1;
        Ok(())
    }

    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of the rows so far.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The rows as a batch; the builder is empty again.
    pub fn finish(&mut self) -> Result<RecordBatch, RowError> {
        self.rows = 0;
        self.bytes = 0;
        let table = self.table;
        let arrays = self.builders.iter_mut().map(|b| b.finish()).collect();
        RecordBatch::try_new(table.schema(), arrays)
            .map_err(|source| RowError::Arrow { table, source })
    }
}

/// Rows as one batch.
pub fn encode<R: Row>(rows: &[R]) -> Result<RecordBatch, RowError> {
    let mut batch = BatchBuilder::new(R::TABLE);
    for row in rows {
        batch.push(row)?;
    }
    batch.finish()
}

/// The rows of a batch. Columns are found by name; further ones are ignored. Columns of a related
/// type, as a query engine gives them (views, other integers), are cast; what does not fit is an
/// error.
pub fn decode<R: Row>(batch: &RecordBatch) -> Result<Vec<R>, RowError> {
    let table = R::TABLE;
    let arrays = R::columns()
        .iter()
        .map(|column| column_of(table, column, batch))
        .collect::<Result<Vec<ArrayRef>, RowError>>()?;
    let readers = R::columns()
        .iter()
        .zip(&arrays)
        .map(|(column, array)| ColumnReader::new(column, array))
        .collect::<Result<Vec<_>, CellError>>()
        .map_err(|source| RowError::Cell { table, source })?;
    (0..batch.num_rows())
        .map(|row| R::get(&readers, row).map_err(|source| RowError::Cell { table, source }))
        .collect()
}

fn column_of(
    table: Table,
    column: &'static Column,
    batch: &RecordBatch,
) -> Result<ArrayRef, RowError> {
    let array = batch
        .column_by_name(column.name)
        .ok_or(RowError::MissingColumn {
            table,
            column: column.name,
        })?;
    let wanted = column.kind.data_type();
    if *array.data_type() == wanted {
        return Ok(array.clone());
    }
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_with_options(array, &wanted, &options).map_err(|_| RowError::Convert {
        table,
        column: column.name,
    })
}
