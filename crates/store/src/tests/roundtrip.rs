//! Rows to batches and back, in memory and through files.

use super::sample::{Dice, batch, rows};
use crate::cell::CellProblem;
use crate::reader::{check_rows, read_batches, read_rows};
use crate::rows::{
    AttributionRow, CapacityRow, EngineEventRow, ExchangeRow, FindingRow, OverlapRow, RejectRow,
    Row, RowError, SourceRow, TextHealthRow, TextRow, VerdictRow, decode, encode,
};
use crate::schema::Table;
use crate::writer::{Partitioned, TableWriter, WriteOptions, date_of};
use arrow::array::{Array, ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use proptest::prelude::*;
use std::fmt::Debug;
use std::sync::Arc;

fn in_memory<R: Row + PartialEq + Debug>(count: usize, seed: u64) {
    let batch = batch(R::TABLE, count, &mut Dice::new(seed));
    let rows: Vec<R> = decode(&batch).unwrap();
    assert_eq!(rows.len(), count);
    let again = encode(&rows).unwrap();
    assert_eq!(again, batch);
    assert_eq!(decode::<R>(&again).unwrap(), rows);
}

fn through_files<R: Row + Partitioned + PartialEq + Debug>(count: usize, seed: u64, small: bool) {
    let folder = tempfile::tempdir().unwrap();
    let mut rows: Vec<R> = rows(count, seed);
    rows.sort_by_key(Partitioned::partition_value);
    let options = match small {
        true => WriteOptions {
            batch_bytes: 200,
            batch_rows: 3,
            row_group_bytes: 500,
            row_group_rows: 4,
            part_bytes: 3_000,
        },
        false => WriteOptions::default(),
    };
    let mut writer = TableWriter::create(folder.path(), options).unwrap();
    writer.extend(&rows).unwrap();
    let summary = writer.finish().unwrap();
    assert_eq!(summary.rows, count as i64);
    assert!(!summary.files.is_empty());
    check_rows(folder.path(), R::TABLE, summary.rows).unwrap();
    assert!(check_rows(folder.path(), R::TABLE, summary.rows + 1).is_err());
    let back: Vec<R> = read_rows(folder.path())
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(back, rows);
}

macro_rules! every_table {
    ($check:ident($($argument:expr),*)) => {
        $check::<ExchangeRow>($($argument),*);
        $check::<TextRow>($($argument),*);
        $check::<SourceRow>($($argument),*);
        $check::<RejectRow>($($argument),*);
        $check::<CapacityRow>($($argument),*);
        $check::<EngineEventRow>($($argument),*);
        $check::<OverlapRow>($($argument),*);
        $check::<AttributionRow>($($argument),*);
        $check::<TextHealthRow>($($argument),*);
        $check::<FindingRow>($($argument),*);
        $check::<VerdictRow>($($argument),*);
    };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn batches_hold_what_rows_hold(count in 0_usize..20, seed: u64) {
        every_table!(in_memory(count, seed));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn files_hold_what_rows_hold(count in 0_usize..40, seed: u64, small: bool) {
        every_table!(through_files(count, seed, small));
    }
}

#[test]
fn other_column_orders_and_types_are_read() {
    let rows: Vec<VerdictRow> = rows(9, 4);
    let batch = encode(&rows).unwrap();
    let mut columns: Vec<(Field, ArrayRef)> = batch
        .schema()
        .fields()
        .iter()
        .zip(batch.columns())
        .map(|(field, array)| {
            let array = match array.data_type() {
                DataType::Utf8 => cast(array, &DataType::Utf8View).unwrap(),
                DataType::Int32 => cast(array, &DataType::Int64).unwrap(),
                _ => array.clone(),
            };
            let field = Field::new(field.name(), array.data_type().clone(), true);
            (field, array)
        })
        .collect();
    columns.reverse();
    let more: ArrayRef = Arc::new(Int32Array::from(vec![1; 9]));
    columns.push((Field::new("more", DataType::Int32, false), more));
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let other = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    assert_eq!(decode::<VerdictRow>(&other).unwrap(), rows);
}

#[test]
fn unfit_batches_are_errors_that_quote_nothing() {
    let good = encode(&rows::<RejectRow>(3, 1)).unwrap();
    let replaced = |name: &str, array: ArrayRef| {
        let fields: Vec<_> = good
            .schema()
            .fields()
            .iter()
            .map(|f| match f.name() == name {
                true => Field::new(name, array.data_type().clone(), true),
                false => f.as_ref().clone(),
            })
            .collect();
        let index = good.schema().index_of(name).unwrap();
        let mut arrays = good.columns().to_vec();
        arrays[index] = array.clone();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
    };
    let words: ArrayRef = Arc::new(StringArray::from(vec!["too_long", "secret", "too_long"]));
    let nulls: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None, Some("y")]));
    let cases = [
        replaced("reason", words.clone()),
        replaced("digest", nulls),
        replaced("offset", words),
        good.project(&[0, 1, 2, 3]).unwrap(),
    ];
    let errors: Vec<RowError> = cases
        .iter()
        .map(|b| decode::<RejectRow>(b).unwrap_err())
        .collect();
    for (error, column) in errors.iter().zip(["reason", "digest", "offset", "digest"]) {
        let text = format!("{error} {error:?}");
        assert!(text.contains(column), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
    assert!(
        matches!(&errors[0], RowError::Cell { source, .. } if source.problem() == CellProblem::Word)
    );
    assert!(
        matches!(&errors[1], RowError::Cell { source, .. } if source.problem() == CellProblem::Null)
    );
}

#[test]
fn a_projection_reads_only_its_columns() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows: Vec<ExchangeRow> = rows(10, 8);
    rows.sort_by_key(|r| date_of(r.event_time()));
    let mut writer = TableWriter::create(folder.path(), WriteOptions::default()).unwrap();
    writer.extend(&rows).unwrap();
    writer.finish().unwrap();
    let wanted = ["tenant", "exchange_id"];
    let mut ids = Vec::new();
    for batch in read_batches(folder.path(), Table::Exchanges, Some(&wanted)).unwrap() {
        let batch = batch.unwrap();
        assert_eq!(batch.num_columns(), 2);
        let column = batch.column_by_name("exchange_id").unwrap();
        let column = column.as_any().downcast_ref::<StringArray>().unwrap();
        ids.extend((0..batch.num_rows()).map(|i| column.value(i).to_owned()));
    }
    let expected: Vec<_> = rows.iter().map(|r| r.exchange_id.clone()).collect();
    assert_eq!(ids, expected);
    assert!(read_batches(folder.path(), Table::Exchanges, Some(&["dt"])).is_err());
}

#[test]
fn texts_are_never_printed() {
    let row = TextRow {
        exchange_id: "e".into(),
        field: "prompt".into(),
        text: crate::cell::PrivateText("very secret".into()),
    };
    assert!(!format!("{row:?}").contains("secret"));
}
