//! One value of one column: how Rust types are laid into Arrow arrays and read back.

mod values;

use crate::schema::{Column, ColumnKind, pair_fields, pair_item, text_item};
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, BooleanBuilder, Float64Array, Float64Builder,
    Int32Array, Int32Builder, Int64Array, Int64Builder, LargeStringArray, LargeStringBuilder,
    ListArray, ListBuilder, StringArray, StringBuilder, StructArray, StructBuilder,
    TimestampMicrosecondArray, TimestampMicrosecondBuilder,
};
use arrow::datatypes::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use std::fmt;

/// Longest value of one cell, in bytes: `Utf8` offsets and Parquet pages count in 31 bits.
pub const MAX_CELL_BYTES: usize = 1 << 30;

/// Why a value and its column do not meet. Never holds the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column:?}: {problem}")]
pub struct CellError {
    column: &'static str,
    problem: CellProblem,
}

/// What is wrong with a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CellProblem {
    /// The array is of another type than the row's field.
    #[error("the array's type is not that of the schema")]
    Type,
    /// Null where a value is needed.
    #[error("null, expected a value")]
    Null,
    /// A word outside the column's vocabulary.
    #[error("a word that is not one of the column's")]
    Word,
    /// Longer than [`MAX_CELL_BYTES`].
    #[error("longer than {MAX_CELL_BYTES} bytes")]
    TooLong,
    /// Fewer columns than the row has fields.
    #[error("fewer columns than the schema has")]
    Missing,
}

impl CellError {
    fn new(problem: CellProblem) -> CellError {
        CellError {
            column: "",
            problem,
        }
    }

    /// The same error, with the column it is about.
    pub(crate) fn at(self, column: &'static str) -> CellError {
        CellError { column, ..self }
    }

    /// What is wrong.
    pub fn problem(&self) -> CellProblem {
        self.problem
    }
}

/// A whole text of a prompt or response: never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PrivateText(pub String);

impl fmt::Debug for PrivateText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateText({} bytes)", self.0.len())
    }
}

/// Walks columns in order, one for each field.
pub(crate) struct Cursor<I>(I);

impl<I: Iterator> Cursor<I> {
    pub(crate) fn new(columns: I) -> Cursor<I> {
        Cursor(columns)
    }

    pub(crate) fn next(&mut self) -> Result<I::Item, CellError> {
        self.0.next().ok_or(CellError::new(CellProblem::Missing))
    }
}

/// Collects the values of one column.
pub enum ColumnBuilder {
    /// See [`ColumnKind::Text`].
    Text(StringBuilder),
    /// See [`ColumnKind::LargeText`].
    LargeText(LargeStringBuilder),
    /// See [`ColumnKind::Int64`].
    Int64(Int64Builder),
    /// See [`ColumnKind::Int32`].
    Int32(Int32Builder),
    /// See [`ColumnKind::Float`].
    Float(Float64Builder),
    /// See [`ColumnKind::Bool`].
    Bool(BooleanBuilder),
    /// See [`ColumnKind::Time`].
    Time(TimestampMicrosecondBuilder),
    /// See [`ColumnKind::TextList`].
    TextList(ListBuilder<StringBuilder>),
    /// See [`ColumnKind::PairList`].
    PairList(ListBuilder<StructBuilder>),
}

impl ColumnBuilder {
    /// An empty builder for a column.
    pub fn new(column: &Column) -> ColumnBuilder {
        match column.kind {
            ColumnKind::Text => ColumnBuilder::Text(StringBuilder::new()),
            ColumnKind::LargeText => ColumnBuilder::LargeText(LargeStringBuilder::new()),
            ColumnKind::Int64 => ColumnBuilder::Int64(Int64Builder::new()),
            ColumnKind::Int32 => ColumnBuilder::Int32(Int32Builder::new()),
            ColumnKind::Float => ColumnBuilder::Float(Float64Builder::new()),
            ColumnKind::Bool => ColumnBuilder::Bool(BooleanBuilder::new()),
            ColumnKind::Time => ColumnBuilder::Time(
                TimestampMicrosecondBuilder::new().with_data_type(column.kind.data_type()),
            ),
            ColumnKind::TextList => ColumnBuilder::TextList(
                ListBuilder::new(StringBuilder::new()).with_field(text_item()),
            ),
            ColumnKind::PairList => ColumnBuilder::PairList(
                ListBuilder::new(StructBuilder::from_fields(pair_fields(), 0))
                    .with_field(pair_item()),
            ),
        }
    }

    /// The values so far as an array; the builder is empty again.
    pub fn finish(&mut self) -> ArrayRef {
        use std::sync::Arc;
        match self {
            ColumnBuilder::Text(b) => Arc::new(b.finish()),
            ColumnBuilder::LargeText(b) => Arc::new(b.finish()),
            ColumnBuilder::Int64(b) => Arc::new(b.finish()),
            ColumnBuilder::Int32(b) => Arc::new(b.finish()),
            ColumnBuilder::Float(b) => Arc::new(b.finish()),
            ColumnBuilder::Bool(b) => Arc::new(b.finish()),
            ColumnBuilder::Time(b) => Arc::new(b.finish()),
            ColumnBuilder::TextList(b) => Arc::new(b.finish()),
            ColumnBuilder::PairList(b) => Arc::new(b.finish()),
        }
    }

    fn put_null(&mut self) -> Result<usize, CellError> {
        match self {
            ColumnBuilder::Text(b) => b.append_null(),
            ColumnBuilder::LargeText(b) => b.append_null(),
            ColumnBuilder::Int64(b) => b.append_null(),
            ColumnBuilder::Int32(b) => b.append_null(),
            ColumnBuilder::Float(b) => b.append_null(),
            ColumnBuilder::Bool(b) => b.append_null(),
            ColumnBuilder::Time(b) => b.append_null(),
            ColumnBuilder::TextList(_) | ColumnBuilder::PairList(_) => {
                return Err(CellError::new(CellProblem::Null));
            }
        }
        Ok(1)
    }

    fn put_text(&mut self, value: &str) -> Result<usize, CellError> {
        check_length(value.len())?;
        match self {
            ColumnBuilder::Text(b) => b.append_value(value),
            ColumnBuilder::LargeText(b) => b.append_value(value),
            _ => return Err(CellError::new(CellProblem::Type)),
        }
        Ok(value.len() + 4)
    }

    fn put_pairs<'a>(
        &mut self,
        pairs: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<usize, CellError> {
        let ColumnBuilder::PairList(list) = self else {
            return Err(CellError::new(CellProblem::Type));
        };
        let mut bytes = 4;
        for (kind, value) in pairs {
            bytes += kind.len() + value.len() + 8;
            check_length(bytes)?;
            let pair = list.values();
            for (index, text) in [kind, value].into_iter().enumerate() {
                pair.field_builder::<StringBuilder>(index)
                    .ok_or(CellError::new(CellProblem::Type))?
                    .append_value(text);
            }
            pair.append(true);
        }
        list.append(true);
        Ok(bytes)
    }
}

fn check_length(bytes: usize) -> Result<(), CellError> {
    if bytes > MAX_CELL_BYTES {
        return Err(CellError::new(CellProblem::TooLong));
    }
    Ok(())
}

/// One column of a batch, downcast.
pub enum ColumnReader<'a> {
    /// See [`ColumnKind::Text`].
    Text(&'a StringArray),
    /// See [`ColumnKind::LargeText`].
    LargeText(&'a LargeStringArray),
    /// See [`ColumnKind::Int64`].
    Int64(&'a Int64Array),
    /// See [`ColumnKind::Int32`].
    Int32(&'a Int32Array),
    /// See [`ColumnKind::Float`].
    Float(&'a Float64Array),
    /// See [`ColumnKind::Bool`].
    Bool(&'a BooleanArray),
    /// See [`ColumnKind::Time`].
    Time(&'a TimestampMicrosecondArray),
    /// See [`ColumnKind::TextList`].
    TextList(&'a ListArray),
    /// See [`ColumnKind::PairList`].
    PairList(&'a ListArray),
}

impl<'a> ColumnReader<'a> {
    /// Reads an array as the column's type.
    pub fn new(column: &Column, array: &'a ArrayRef) -> Result<ColumnReader<'a>, CellError> {
        let reader = match column.kind {
            ColumnKind::Text => array.as_string_opt().map(ColumnReader::Text),
            ColumnKind::LargeText => array.as_string_opt().map(ColumnReader::LargeText),
            ColumnKind::Int64 => array
                .as_primitive_opt::<Int64Type>()
                .map(ColumnReader::Int64),
            ColumnKind::Int32 => array
                .as_primitive_opt::<Int32Type>()
                .map(ColumnReader::Int32),
            ColumnKind::Float => array
                .as_primitive_opt::<Float64Type>()
                .map(ColumnReader::Float),
            ColumnKind::Bool => array.as_boolean_opt().map(ColumnReader::Bool),
            ColumnKind::Time => array
                .as_primitive_opt::<TimestampMicrosecondType>()
                .map(ColumnReader::Time),
            ColumnKind::TextList => array.as_list_opt().map(ColumnReader::TextList),
            ColumnKind::PairList => array.as_list_opt().map(ColumnReader::PairList),
        };
        reader.ok_or(CellError::new(CellProblem::Type).at(column.name))
    }

    fn array(&self) -> &'a dyn Array {
        match self {
            ColumnReader::Text(a) => *a,
            ColumnReader::LargeText(a) => *a,
            ColumnReader::Int64(a) => *a,
            ColumnReader::Int32(a) => *a,
            ColumnReader::Float(a) => *a,
            ColumnReader::Bool(a) => *a,
            ColumnReader::Time(a) => *a,
            ColumnReader::TextList(a) | ColumnReader::PairList(a) => *a,
        }
    }

    fn check_value(&self, row: usize) -> Result<(), CellError> {
        if row >= self.array().len() {
            return Err(CellError::new(CellProblem::Missing));
        }
        if self.array().is_null(row) {
            return Err(CellError::new(CellProblem::Null));
        }
        Ok(())
    }

    fn text(&self, row: usize) -> Result<&'a str, CellError> {
        self.check_value(row)?;
        match self {
            ColumnReader::Text(a) => Ok(a.value(row)),
            ColumnReader::LargeText(a) => Ok(a.value(row)),
            _ => Err(CellError::new(CellProblem::Type)),
        }
    }

    fn list(&self, row: usize) -> Result<ArrayRef, CellError> {
        self.check_value(row)?;
        match self {
            ColumnReader::TextList(a) | ColumnReader::PairList(a) => Ok(a.value(row)),
            _ => Err(CellError::new(CellProblem::Type)),
        }
    }

    fn pairs<T>(
        &self,
        row: usize,
        make: impl Fn(&str, &str) -> Result<T, CellError>,
    ) -> Result<Vec<T>, CellError> {
        let items = self.list(row)?;
        let pairs: &StructArray = items
            .as_struct_opt()
            .ok_or(CellError::new(CellProblem::Type))?;
        let member = |index: usize| {
            pairs
                .columns()
                .get(index)
                .and_then(|c| c.as_string_opt::<i32>())
                .ok_or(CellError::new(CellProblem::Type))
        };
        let (kinds, values) = (member(0)?, member(1)?);
        (0..pairs.len())
            .map(|i| make(kinds.value(i), values.value(i)))
            .collect()
    }
}

/// A Rust type that one column holds.
pub trait Cell: Sized {
    /// The column's type.
    const KIND: ColumnKind;
    /// Whether null is a value of it.
    const NULLABLE: bool = false;
    /// Appends the value; gives the bytes it takes, for bounding batches.
    fn put(&self, builder: &mut ColumnBuilder) -> Result<usize, CellError>;
    /// Reads the value of a row.
    fn get(column: &ColumnReader<'_>, row: usize) -> Result<Self, CellError>;
}
