//! Tables of a case: the only place that spells column names, types, units and meanings.
//!
//! Each table is declared once, as a row struct inside [`table!`]; the struct's fields are the
//! columns, in this order, and their comments are the descriptions that stand in the files.

mod attribution;
mod detect;
mod engine;
mod exchanges;
mod history;
mod input;
mod joint;
mod signals;

pub use attribution::{AttributionRow, TextHealthRow, attributions, text_health};
pub use detect::{
    FindingRow, OverlapRow, SecondHandRow, VerdictRow, findings, overlaps, second_hand, verdicts,
};
pub use engine::{EngineEventRow, engine_events};
pub use exchanges::{ExchangeRow, TextRow, exchanges, texts};
pub use history::{EarlySignRow, PhaseRow, early_signs, phases};
pub use input::{CapacityRow, RejectRow, SourceRow, capacity, rejects, sources};
pub use joint::{DuplicateRow, FactOverlapRow, duplicates, fact_overlaps};
pub use signals::{IdentifierRow, identifiers};

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Version of the tables; raised with every change to a column.
pub const SCHEMA_VERSION: u32 = 1;

/// Key of a column's description in the field metadata.
pub const DESCRIPTION_KEY: &str = "description";
/// Key of a column's unit in the field metadata; absent where a column has none.
pub const UNIT_KEY: &str = "unit";

/// A word of a closed vocabulary: borrowed where the program writes it, owned where it was read.
pub type Word = Cow<'static, str>;

/// The type of a column. Only types that every Parquet reader knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// `Utf8`.
    Text,
    /// `LargeUtf8`, for whole texts.
    LargeText,
    /// Signed 64-bit integer.
    Int64,
    /// Signed 32-bit integer.
    Int32,
    /// 64-bit float.
    Float,
    /// Boolean.
    Bool,
    /// Microseconds since the Unix epoch, UTC.
    Time,
    /// List of `Utf8`.
    TextList,
    /// List of `{kind, value}`.
    PairList,
}

impl ColumnKind {
    /// The Arrow type.
    pub fn data_type(self) -> DataType {
        match self {
            ColumnKind::Text => DataType::Utf8,
            ColumnKind::LargeText => DataType::LargeUtf8,
            ColumnKind::Int64 => DataType::Int64,
            ColumnKind::Int32 => DataType::Int32,
            ColumnKind::Float => DataType::Float64,
            ColumnKind::Bool => DataType::Boolean,
            ColumnKind::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            ColumnKind::TextList => DataType::List(text_item()),
            ColumnKind::PairList => DataType::List(pair_item()),
        }
    }

    /// The name used in the schema listing.
    pub fn as_str(self) -> &'static str {
        match self {
            ColumnKind::Text => "utf8",
            ColumnKind::LargeText => "large_utf8",
            ColumnKind::Int64 => "int64",
            ColumnKind::Int32 => "int32",
            ColumnKind::Float => "float64",
            ColumnKind::Bool => "bool",
            ColumnKind::Time => "timestamp(us, UTC)",
            ColumnKind::TextList => "list<utf8>",
            ColumnKind::PairList => "list<struct<kind: utf8, value: utf8>>",
        }
    }
}

/// The item of a list of texts.
pub(crate) fn text_item() -> Arc<Field> {
    Arc::new(Field::new("element", DataType::Utf8, false))
}

/// The members of a `{kind, value}` pair.
pub(crate) fn pair_fields() -> Fields {
    Fields::from(vec![
        Field::new("kind", DataType::Utf8, false),
        Field::new("value", DataType::Utf8, false),
    ])
}

/// The item of a list of pairs.
pub(crate) fn pair_item() -> Arc<Field> {
    Arc::new(Field::new(
        "element",
        DataType::Struct(pair_fields()),
        false,
    ))
}

/// One column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: ColumnKind,
    /// Whether it may be null.
    pub nullable: bool,
    /// Its unit, where it has one.
    pub unit: Option<&'static str>,
    raw_description: &'static str,
}

impl Column {
    /// What the column means.
    pub fn description(&self) -> &'static str {
        self.raw_description.trim()
    }

    /// The column as an Arrow field, description and unit in its metadata.
    pub fn field(&self) -> Field {
        let mut metadata = HashMap::new();
        metadata.insert(DESCRIPTION_KEY.to_owned(), self.description().to_owned());
        if let Some(unit) = self.unit {
            metadata.insert(UNIT_KEY.to_owned(), unit.to_owned());
        }
        Field::new(self.name, self.kind.data_type(), self.nullable).with_metadata(metadata)
    }
}

/// The Arrow schema of a list of columns.
fn schema_of(columns: &[Column]) -> SchemaRef {
    Arc::new(Schema::new(
        columns.iter().map(Column::field).collect::<Vec<_>>(),
    ))
}

/// The tables of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// One exchange a row, without its text.
    Exchanges,
    /// One text field of one exchange a row; only where texts are kept.
    Texts,
    /// One input a row.
    Sources,
    /// Bytes that could not become an exchange.
    Rejects,
    /// One capacity epoch a row.
    Capacity,
    /// One engine event a row.
    EngineEvents,
    /// One maximal shared token span a row.
    Overlaps,
    /// One identifier that a response shares with another tenant a row.
    Identifiers,
    /// One prompt with text of an earlier leak a row.
    SecondHand,
    /// Rare facts that meet in one response a row.
    FactOverlaps,
    /// One long answer with a twin of another tenant a row.
    Duplicates,
    /// One response against its own and the best foreign prompt a row.
    Attributions,
    /// One response's text a row.
    TextHealth,
    /// One phase that the configuration declares a row.
    Phases,
    /// One kind of trouble of a month against one factor a row.
    EarlySigns,
    /// One hit of a rule a row.
    Findings,
    /// One delivered response in the window a row.
    Verdicts,
}

impl Table {
    /// All tables, in the order of the pipeline.
    pub const ALL: [Table; 17] = [
        Table::Exchanges,
        Table::Texts,
        Table::Sources,
        Table::Rejects,
        Table::Capacity,
        Table::EngineEvents,
        Table::Overlaps,
        Table::Identifiers,
        Table::SecondHand,
        Table::FactOverlaps,
        Table::Duplicates,
        Table::Attributions,
        Table::TextHealth,
        Table::Phases,
        Table::EarlySigns,
        Table::Findings,
        Table::Verdicts,
    ];

    /// Its name in SQL and in the case folder.
    pub fn as_str(self) -> &'static str {
        match self {
            Table::Exchanges => "exchanges",
            Table::Texts => "texts",
            Table::Sources => "sources",
            Table::Rejects => "rejects",
            Table::Capacity => "capacity",
            Table::EngineEvents => "engine_events",
            Table::Overlaps => "overlaps",
            Table::Identifiers => "identifiers",
            Table::SecondHand => "second_hand",
            Table::FactOverlaps => "fact_overlaps",
            Table::Duplicates => "duplicates",
            Table::Attributions => "attributions",
            Table::TextHealth => "text_health",
            Table::Phases => "phases",
            Table::EarlySigns => "early_signs",
            Table::Findings => "findings",
            Table::Verdicts => "verdicts",
        }
    }

    /// Reads its name.
    pub fn parse(name: &str) -> Option<Table> {
        Table::ALL.into_iter().find(|t| t.as_str() == name)
    }

    /// Its columns, in file order. The hive key `dt` of `exchanges` is no column of the files.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Table::Exchanges => ExchangeRow::COLUMNS,
            Table::Texts => TextRow::COLUMNS,
            Table::Sources => SourceRow::COLUMNS,
            Table::Rejects => RejectRow::COLUMNS,
            Table::Capacity => CapacityRow::COLUMNS,
            Table::EngineEvents => EngineEventRow::COLUMNS,
            Table::Overlaps => OverlapRow::COLUMNS,
            Table::Identifiers => IdentifierRow::COLUMNS,
            Table::SecondHand => SecondHandRow::COLUMNS,
            Table::FactOverlaps => FactOverlapRow::COLUMNS,
            Table::Duplicates => DuplicateRow::COLUMNS,
            Table::Attributions => AttributionRow::COLUMNS,
            Table::TextHealth => TextHealthRow::COLUMNS,
            Table::Phases => PhaseRow::COLUMNS,
            Table::EarlySigns => EarlySignRow::COLUMNS,
            Table::Findings => FindingRow::COLUMNS,
            Table::Verdicts => VerdictRow::COLUMNS,
        }
    }

    /// Its Arrow schema.
    pub fn schema(self) -> SchemaRef {
        schema_of(self.columns())
    }

    /// Its hive partition key, if its files lie in `KEY=VALUE` folders.
    pub fn partition_key(self) -> Option<&'static str> {
        match self {
            Table::Exchanges => Some("dt"),
            _ => None,
        }
    }

    /// Columns that are looked up by value and get a Bloom filter.
    pub fn lookup_columns(self) -> &'static [&'static str] {
        match self {
            Table::Exchanges | Table::Verdicts => &["exchange_id", "request_id"],
            _ => &[],
        }
    }

    /// What one row of it is.
    pub fn description(self) -> &'static str {
        match self {
            Table::Exchanges => "one exchange, without its text",
            Table::Texts => "one text field of one exchange; only where texts are kept",
            Table::Sources => "one input with its digests and its tally",
            Table::Rejects => "bytes of an input that could not become an exchange",
            Table::Capacity => "one capacity epoch of a node or deployment",
            Table::EngineEvents => "one event of an engine's own log",
            Table::Overlaps => "one maximal span that a response shares with another tenant's text",
            Table::Identifiers => {
                "one identifier that a response shares with another tenant's traffic, or one canary"
            }
            Table::FactOverlaps => "rare facts of one foreign exchange that meet in one response",
            Table::Duplicates => "the same long answer, or nearly, to two tenants",
            Table::SecondHand => "a prompt that holds text leaked to the same tenant before",
            Table::Attributions => "one response against its own and the best foreign prompt",
            Table::TextHealth => "what one response's text is like",
            Table::Phases => "one phase that the configuration declares",
            Table::EarlySigns => "one kind of trouble of a month against one factor; leads only",
            Table::Findings => "one hit of a rule",
            Table::Verdicts => "the grade of one delivered response in the window",
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The schemas of all tables as text, for the golden file and for people.
pub fn listing() -> String {
    use fmt::Write;
    let mut out = format!("schema version {SCHEMA_VERSION}\n");
    for table in Table::ALL {
        let _ = writeln!(out, "\n{table}: {}", table.description());
        for column in table.columns() {
            let null = if column.nullable { " null" } else { "" };
            let unit = column.unit.map(|u| format!(" [{u}]")).unwrap_or_default();
            let _ = writeln!(
                out,
                "  {} {}{null}{unit}: {}",
                column.name,
                column.kind.as_str(),
                column.description()
            );
        }
    }
    out
}

/// Declares a table: its row struct, its columns, and how a row is laid into them.
macro_rules! table {
    (
        $(#[$meta:meta])*
        pub struct $row:ident in $table:ident {
            $(
                $(#[doc = $doc:literal])+
                $(#[unit = $unit:literal])?
                $(#[kind = $kind:ident])?
                pub $field:ident: $ty:ty,
            )+
        }
    ) => {
        $(#[$meta])*
        pub struct $row {
            $( $(#[doc = $doc])+ pub $field: $ty, )+
        }

        impl $row {
            /// The columns, in file order.
            pub const COLUMNS: &'static [$crate::schema::Column] = &[
                $( $crate::schema::Column {
                    name: stringify!($field),
                    kind: $crate::schema::column_kind!($ty $(, $kind)?),
                    nullable: <$ty as $crate::cell::Cell>::NULLABLE,
                    unit: $crate::schema::column_unit!($($unit)?),
                    raw_description: concat!($($doc),+),
                }, )+
            ];
        }

        impl $crate::rows::Row for $row {
            const TABLE: $crate::schema::Table = $crate::schema::Table::$table;

            fn columns() -> &'static [$crate::schema::Column] {
                $row::COLUMNS
            }

            fn put(
                &self,
                builders: &mut [$crate::cell::ColumnBuilder],
            ) -> Result<usize, $crate::cell::CellError> {
                let mut builders = $crate::cell::Cursor::new(builders.iter_mut());
                let mut bytes = 0;
                $( bytes += $crate::cell::Cell::put(&self.$field, builders.next()?)
                    .map_err(|e| e.at(stringify!($field)))?; )+
                Ok(bytes)
            }

            fn get(
                columns: &[$crate::cell::ColumnReader<'_>],
                row: usize,
            ) -> Result<Self, $crate::cell::CellError> {
                let mut columns = $crate::cell::Cursor::new(columns.iter());
                Ok($row {
                    $( $field: <$ty as $crate::cell::Cell>::get(columns.next()?, row)
                        .map_err(|e| e.at(stringify!($field)))?, )+
                })
            }
        }
    };
}

/// The kind of a column: named, or that of its Rust type.
macro_rules! column_kind {
    ($ty:ty) => {
        <$ty as $crate::cell::Cell>::KIND
    };
    ($ty:ty, $kind:ident) => {
        $crate::schema::ColumnKind::$kind
    };
}

/// The unit of a column, if it names one.
macro_rules! column_unit {
    () => {
        None
    };
    ($unit:literal) => {
        Some($unit)
    };
}

pub(crate) use {column_kind, column_unit, table};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_schemas_are_the_golden_ones() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/schema.txt");
        let now = listing();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(path, &now).unwrap();
        }
        let golden = std::fs::read_to_string(path).unwrap();
        assert_eq!(
            golden, now,
            "a changed column raises SCHEMA_VERSION; then run with UPDATE_GOLDEN=1"
        );
    }

    #[test]
    fn every_column_is_described_and_named_once() {
        for table in Table::ALL {
            let mut seen = BTreeSet::new();
            for column in table.columns() {
                assert!(seen.insert(column.name), "{table}.{}", column.name);
                assert!(!column.description().is_empty());
                assert!(!column.description().ends_with('.'), "{}", column.name);
                assert!(column.unit.is_none_or(|u| !u.is_empty()));
                assert!(
                    column
                        .name
                        .bytes()
                        .all(|b| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit())
                );
                assert_eq!(
                    column.field().metadata()[DESCRIPTION_KEY],
                    column.description()
                );
            }
            for name in table.lookup_columns() {
                assert!(seen.contains(name));
            }
            if let Some(key) = table.partition_key() {
                assert!(!seen.contains(key));
            }
        }
    }
}
