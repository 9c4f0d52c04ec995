//! Arrow values as JSON: exact integers, RFC 3339 times, keys in order.

use anyhow::{Context, bail};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{
    DataType, Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use serde_json::{Number, Value};
use std::collections::BTreeMap;

/// One row: column to value, sorted by column.
pub type Object = BTreeMap<String, Value>;

/// Lists inside lists that are followed; what lies deeper is written as text.
const MAX_DEPTH: u32 = 8;

/// Appends the rows of a batch.
///
/// # Errors
/// A time outside the years that RFC 3339 can write.
pub fn append_rows(batch: &RecordBatch, rows: &mut Vec<Object>) -> anyhow::Result<()> {
    for row in 0..batch.num_rows() {
        rows.push(row_object(batch, row)?);
    }
    Ok(())
}

/// One row of a batch.
///
/// # Errors
/// As [`append_rows`].
pub fn row_object(batch: &RecordBatch, row: usize) -> anyhow::Result<Object> {
    let schema = batch.schema();
    let mut object = Object::new();
    for (field, array) in schema.fields().iter().zip(batch.columns()) {
        let value =
            value_at(array.as_ref(), row).with_context(|| format!("column {:?}", field.name()))?;
        object.insert(field.name().clone(), value);
    }
    Ok(object)
}

/// One value.
///
/// # Errors
/// As [`append_rows`].
pub fn value_at(array: &dyn Array, row: usize) -> anyhow::Result<Value> {
    nested_value(array, row, 0)
}

fn nested_value(array: &dyn Array, row: usize, depth: u32) -> anyhow::Result<Value> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
        DataType::Utf8View => array.as_string_view().value(row).into(),
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).into(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into(),
        DataType::Float32 => float(f64::from(array.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().value(row);
            day(days)?.into()
        }
        DataType::Timestamp(unit, zone) => {
            let nanos = match unit {
                TimeUnit::Second => {
                    i128::from(array.as_primitive::<TimestampSecondType>().value(row))
                        * 1_000_000_000
                }
                TimeUnit::Millisecond => {
                    i128::from(array.as_primitive::<TimestampMillisecondType>().value(row))
                        * 1_000_000
                }
                TimeUnit::Microsecond => {
                    i128::from(array.as_primitive::<TimestampMicrosecondType>().value(row)) * 1_000
                }
                TimeUnit::Nanosecond => {
                    i128::from(array.as_primitive::<TimestampNanosecondType>().value(row))
                }
            };
            instant(nanos, zone.is_some())?.into()
        }
        DataType::List(_) if depth < MAX_DEPTH => {
            list(array.as_list::<i32>().value(row).as_ref(), depth)?
        }
        DataType::LargeList(_) if depth < MAX_DEPTH => {
            list(array.as_list::<i64>().value(row).as_ref(), depth)?
        }
        DataType::Struct(fields) if depth < MAX_DEPTH => {
            let columns = array.as_struct().columns();
            let mut object = serde_json::Map::new();
            for (field, column) in fields.iter().zip(columns) {
                let value = nested_value(column.as_ref(), row, depth + 1)?;
                object.insert(field.name().clone(), value);
            }
            Value::Object(object)
        }
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let keys = dictionary.normalized_keys();
            nested_value(dictionary.values().as_ref(), keys[row], depth)?
        }
        // Decimals, intervals, binary: as the engine writes them.
        _ => {
            let options = FormatOptions::default();
            let formatter = ArrayFormatter::try_new(array, &options)?;
            formatter.value(row).to_string().into()
        }
    })
}

fn list(items: &dyn Array, depth: u32) -> anyhow::Result<Value> {
    (0..items.len())
        .map(|row| nested_value(items, row, depth + 1))
        .collect::<anyhow::Result<Vec<_>>>()
        .map(Value::Array)
}

/// JSON has no infinities: they are written as text, like NaN.
fn float(number: f64) -> Value {
    Number::from_f64(number).map_or_else(|| number.to_string().into(), Value::Number)
}

fn instant(nanos: i128, zoned: bool) -> anyhow::Result<String> {
    let Ok(time) = jiff::Timestamp::from_nanosecond(nanos) else {
        bail!("a time lies outside the years -9999 to 9999");
    };
    if zoned {
        return Ok(time.to_string());
    }
    // A time without a zone gets none here either.
    Ok(jiff::tz::TimeZone::UTC.to_datetime(time).to_string())
}

fn day(days: i32) -> anyhow::Result<String> {
    let epoch = jiff::civil::date(1970, 1, 1);
    match epoch.checked_add(jiff::Span::new().try_days(days).context("a day")?) {
        Ok(date) => Ok(date.to_string()),
        Err(_) => bail!("a day lies outside the years -9999 to 9999"),
    }
}
