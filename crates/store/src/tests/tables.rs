//! What the files of a table look like.

use super::sample::rows;
use crate::error::{StoreError, TableProblem};
use crate::reader::{part_files, read_rows};
use crate::rows::{CapacityRow, ExchangeRow, FindingRow, SourceRow, TextRow};
use crate::schema::{DESCRIPTION_KEY, Table, UNIT_KEY};
use crate::writer::{
    Partitioned, TABLE_KEY, TableSummary, TableWriter, VERSION_KEY, WriteOptions, date_of,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

fn write<R: crate::rows::Row + Partitioned>(
    tables: &Path,
    rows: &[R],
    options: WriteOptions,
) -> TableSummary {
    let mut writer = TableWriter::create(tables, options).unwrap();
    writer.extend(rows).unwrap();
    writer.finish().unwrap()
}

fn exchanges_at(times: &[Option<i64>]) -> Vec<ExchangeRow> {
    let mut all: Vec<ExchangeRow> = rows(times.len(), 3);
    for (row, time) in all.iter_mut().zip(times) {
        (row.t_start, row.t_first_token, row.t_end) = (*time, None, None);
    }
    all
}

const DAY: i64 = 86_400_000_000;

#[test]
fn dates_are_utc_days() {
    let cases = [
        (None, "unknown"),
        (Some(0), "1970-01-01"),
        (Some(-1), "1969-12-31"),
        (Some(DAY - 1), "1970-01-01"),
        (Some(DAY), "1970-01-02"),
        (Some(1_788_220_800_000_000), "2026-09-01"),
        (Some(951_782_400_000_000), "2000-02-29"),
        (Some(253_402_300_799_999_999), "9999-12-31"),
        (Some(253_402_300_800_000_000), "unknown"),
        (Some(i64::MIN), "unknown"),
        (Some(i64::MAX), "unknown"),
    ];
    for (time, date) in cases {
        assert_eq!(date_of(time), date, "{time:?}");
    }
}

#[test]
fn exchanges_lie_by_day() {
    let folder = tempfile::tempdir().unwrap();
    let rows = exchanges_at(&[Some(0), Some(1), Some(3 * DAY), None]);
    let summary = write(folder.path(), &rows, WriteOptions::default());
    let paths: Vec<_> = summary
        .files
        .iter()
        .map(|f| (f.path.as_str(), f.rows))
        .collect();
    assert_eq!(
        paths,
        [
            ("dt=1970-01-01/part-00000.parquet", 2),
            ("dt=1970-01-04/part-00000.parquet", 1),
            ("dt=unknown/part-00000.parquet", 1),
        ]
    );
    for (file, path) in summary
        .files
        .iter()
        .zip(part_files(folder.path(), Table::Exchanges).unwrap())
    {
        assert!(path.ends_with(&file.path));
        let bytes = fs::read(&path).unwrap();
        assert_eq!(file.written.bytes, bytes.len() as u64);
        assert_eq!(
            file.written.blake3,
            blake3::hash(&bytes).to_hex().to_string()
        );
    }
}

#[test]
fn a_date_comes_only_once() {
    let folder = tempfile::tempdir().unwrap();
    let rows = exchanges_at(&[Some(0), Some(DAY), Some(1), Some(2)]);
    let mut writer = TableWriter::create(folder.path(), WriteOptions::default()).unwrap();
    writer.extend(&rows[..2]).unwrap();
    let error = writer.push(&rows[2]).unwrap_err();
    assert!(matches!(
        &error,
        StoreError::Table { problem: TableProblem::PartitionTwice { key }, .. }
            if key == "dt=1970-01-01"
    ));
    assert!(writer.push(&rows[3]).is_err());
    assert!(writer.finish().is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_table_without_rows_has_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let exchanges = write::<ExchangeRow>(folder.path(), &[], WriteOptions::default());
    let findings = write::<FindingRow>(folder.path(), &[], WriteOptions::default());
    assert_eq!(exchanges.files[0].path, "dt=unknown/part-00000.parquet");
    assert_eq!(findings.files[0].path, "part-00000.parquet");
    assert_eq!((exchanges.rows, findings.rows), (0, 0));
    assert_eq!(read_rows::<ExchangeRow>(folder.path()).unwrap().count(), 0);
    assert!(matches!(
        read_rows::<SourceRow>(folder.path()),
        Err(StoreError::Table { .. })
    ));
}

#[test]
fn equal_rows_make_equal_bytes() {
    let mut times: Vec<Option<i64>> = (0..60).map(|i| Some(i / 25 * DAY)).collect();
    times.push(None);
    let rows = exchanges_at(&times);
    let contents = || {
        let folder = tempfile::tempdir().unwrap();
        let options = WriteOptions {
            row_group_rows: 7,
            batch_rows: 7,
            part_bytes: 1,
            ..WriteOptions::default()
        };
        let summary = write(folder.path(), &rows, options);
        assert!(summary.files.len() > 8);
        summary
            .files
            .iter()
            .map(|f| {
                let path = folder.path().join("exchanges").join(&f.path);
                (f.path.clone(), fs::read(path).unwrap())
            })
            .collect::<BTreeMap<_, _>>()
    };
    let first = contents();
    for _ in 0..3 {
        assert!(contents() == first);
    }
}

#[test]
fn files_are_described_and_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<TextRow> = (0..50)
        .map(|i| TextRow {
            exchange_id: format!("{i:032x}"),
            field: "prompt".into(),
            text: crate::cell::PrivateText("word ".repeat(400)),
        })
        .collect();
    let options = WriteOptions {
        batch_bytes: 4_000,
        row_group_bytes: 20_000,
        ..WriteOptions::default()
    };
    let summary = write(folder.path(), &rows, options);
    assert_eq!(summary.files.len(), 1);
    let path = part_files(folder.path(), Table::Texts).unwrap().remove(0);
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let metadata = reader.metadata();
    assert_eq!(metadata.num_row_groups(), 5);
    assert_eq!(
        metadata.file_metadata().created_by(),
        Some(crate::writer::CREATED_BY)
    );
    let keys = metadata.file_metadata().key_value_metadata().unwrap();
    for (key, value) in [(TABLE_KEY, "texts"), (VERSION_KEY, "1")] {
        let found = keys.iter().find(|k| k.key == key).unwrap();
        assert_eq!(found.value.as_deref(), Some(value));
    }
    for group in metadata.row_groups() {
        assert_eq!(group.num_rows(), 10);
        for column in group.columns() {
            assert!(matches!(column.compression(), Compression::ZSTD(_)));
            assert!(column.statistics().is_some());
            assert!(column.offset_index_offset().is_some());
        }
    }
}

#[test]
fn descriptions_and_units_stand_in_the_files() {
    let folder = tempfile::tempdir().unwrap();
    write::<CapacityRow>(folder.path(), &[], WriteOptions::default());
    write::<ExchangeRow>(folder.path(), &[], WriteOptions::default());
    for table in [Table::Capacity, Table::Exchanges] {
        let path = part_files(folder.path(), table).unwrap().remove(0);
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
        let schema = reader.schema();
        assert_eq!(schema.fields().len(), table.columns().len());
        for (field, column) in schema.fields().iter().zip(table.columns()) {
            assert_eq!(field.name(), column.name);
            assert_eq!(*field.data_type(), column.kind.data_type());
            assert_eq!(field.metadata()[DESCRIPTION_KEY], column.description());
            let unit = field.metadata().get(UNIT_KEY).map(String::as_str);
            assert_eq!(unit, column.unit);
        }
    }
}

#[test]
fn a_table_written_again_replaces_all_of_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let old = exchanges_at(&[Some(0), Some(DAY)]);
    let new = exchanges_at(&[Some(5 * DAY)]);
    write(folder.path(), &old, WriteOptions::default());
    fs::create_dir(folder.path().join("exchanges.tmp")).unwrap();
    write(folder.path(), &new, WriteOptions::default());
    let back: Vec<ExchangeRow> = read_rows(folder.path())
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(back, new);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn damage_is_an_error_with_the_path() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        &rows::<FindingRow>(20, 5),
        WriteOptions::default(),
    );
    let path = part_files(folder.path(), Table::Findings)
        .unwrap()
        .remove(0);
    let whole = fs::read(&path).unwrap();
    for length in [0, 3, 8, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        let error = read_rows::<FindingRow>(folder.path())
            .unwrap()
            .find_map(Result::err)
            .unwrap();
        let text = error.to_string();
        assert!(
            text.contains("findings") && text.contains("part-00000"),
            "{text}"
        );
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        &exchanges_at(&[None]),
        WriteOptions::default(),
    );
    for (path, mode) in [
        ("exchanges", 0o700),
        ("exchanges/dt=unknown", 0o700),
        ("exchanges/dt=unknown/part-00000.parquet", 0o600),
    ] {
        let found = fs::metadata(folder.path().join(path)).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, mode, "{path}");
    }
}
