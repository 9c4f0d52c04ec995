//! Parquet files of other people, read as JSON lines: one row is one line, a column's name its key.
//!
//! The rendering depends on the rows alone, not on how they are read, so that a byte offset in it
//! names a row for ever. Integers are written out in full, moments in UTC as RFC 3339, bytes as
//! text where they are UTF-8 and as hex elsewhere; a null leaves its key out. Memory is bounded by
//! bytes: rows are decoded in batches of about [`BATCH_BYTES`], and pages as they are needed.

use crate::footer;
use arrow::array::{Array, AsArray, GenericByteArray, PrimitiveArray, RecordBatch};
use arrow::datatypes::{
    ArrowTimestampType, ByteArrayType, DataType, FieldRef, GenericBinaryType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow::error::ArrowError;
use arrow::json::writer::{LineDelimited, NullableEncoder, WriterBuilder};
use arrow::json::{Encoder, EncoderFactory, EncoderOptions};
use bytes::{Buf, Bytes};
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

/// What a Parquet file begins and ends with.
pub const MAGIC: &[u8; 4] = b"PAR1";

/// Decoded bytes of a batch, about: 4 MiB, as a block of lines has.
const BATCH_BYTES: u64 = 4 << 20;
/// Most rows of a batch, however short they are.
const MOST_ROWS: u64 = 1024;
/// Most bytes that one column chunk or page may ask for at once (1 GiB): a record is no longer.
const MOST_CHUNK_BYTES: usize = 1 << 30;
/// Deepest nesting of columns that is read; each level is a recursion in the reader.
const MOST_DEPTH: usize = 64;
/// Most columns that are read.
const MOST_COLUMNS: usize = 10_000;

/// Bytes that can be read at any place.
pub trait RandomBytes: Send + Sync {
    /// How many there are.
    fn length(&self) -> u64;

    /// Reads some bytes from an offset on; 0 only at the end.
    ///
    /// # Errors
    /// Those of the medium.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

impl RandomBytes for Vec<u8> {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(offset).map_or(self.len(), |at| at.min(self.len()));
        let mut rest = self.get(from..).unwrap_or_default();
        rest.read(buffer)
    }
}

/// Bytes as the decoder asks for them. Its errors are text, so the medium's are kept aside.
#[derive(Clone)]
struct Chunks {
    bytes: Arc<dyn RandomBytes>,
    failed: Arc<Mutex<Option<io::ErrorKind>>>,
}

impl Chunks {
    fn new(bytes: Arc<dyn RandomBytes>) -> Chunks {
        Chunks {
            bytes,
            failed: Arc::default(),
        }
    }

    /// Runs a step of the decoder. A stranger's file may trip it: that is damage, not our end.
    fn guarded<T>(&self, step: impl FnOnce() -> Result<T, ParquetError>) -> io::Result<T> {
        let why = match catch_unwind(AssertUnwindSafe(step)) {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the decoder failed on it".to_owned(),
        };
        let failed = self.failed.lock().ok().and_then(|kind| *kind);
        let kind = failed.unwrap_or(io::ErrorKind::InvalidData);
        Err(io::Error::new(kind, format!("Parquet: {why}")))
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.bytes.length()
    }
}

impl ChunkReader for Chunks {
    type T = io::BufReader<Place>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(io::BufReader::new(Place {
            chunks: self.clone(),
            at: start,
        }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let there = self.bytes.length().saturating_sub(start);
        if length as u64 > there || length > MOST_CHUNK_BYTES {
            return Err(ParquetError::General(format!(
                "{length} bytes at offset {start} are more than there are or may be"
            )));
        }
        let mut buffer = vec![0u8; length];
        let mut place = Place {
            chunks: self.clone(),
            at: start,
        };
        place.read_exact(&mut buffer)?;
        Ok(buffer.into())
    }
}

/// Bytes read on from an offset.
struct Place {
    chunks: Chunks,
    at: u64,
}

impl Read for Place {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.chunks.bytes.read_at(self.at, buffer);
        if let (Err(error), Ok(mut failed)) = (&read, self.chunks.failed.lock()) {
            *failed = Some(error.kind());
        }
        self.at += *read.as_ref().unwrap_or(&0) as u64;
        read
    }
}

/// The rows of a Parquet file as JSON lines.
pub struct JsonRows {
    /// `None` after an error: a decoder that failed is not asked again.
    batches: Option<ParquetRecordBatchReader>,
    lines: bytes::buf::Reader<Bytes>,
    chunks: Chunks,
}

impl JsonRows {
    /// Reads the file's footer.
    ///
    /// # Errors
    /// Where it is none that can be read: `InvalidData`, or the error of the medium.
    pub fn open(bytes: Arc<dyn RandomBytes>) -> io::Result<JsonRows> {
        if footer::depth(&*bytes, MOST_DEPTH)? > MOST_DEPTH {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("Parquet: columns are nested deeper than {MOST_DEPTH}"),
            ));
        }
        let chunks = Chunks::new(bytes);
        let batches = chunks.guarded(|| {
            let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(
                chunks.clone(),
                // A schema of Arrow's own in there adds nothing that a log reader wants.
                ArrowReaderOptions::new().with_skip_arrow_metadata(true),
            )?;
            check_shape(builder.metadata())?;
            let rows = batch_rows(builder.metadata());
            builder.with_batch_size(rows).build()
        })?;
        Ok(JsonRows {
            batches: Some(batches),
            lines: Bytes::new().reader(),
            chunks,
        })
    }

    /// Renders the next batch; false at the end.
    fn next_batch(&mut self) -> io::Result<bool> {
        let Some(mut batches) = self.batches.take() else {
            return Ok(false);
        };
        let rendered = self.chunks.guarded(|| {
            let Some(batch) = batches.next().transpose()? else {
                return Ok(None);
            };
            rendered(&batch).map(Some)
        })?;
        let Some(lines) = rendered else {
            return Ok(false);
        };
        self.lines = Bytes::from(lines).reader();
        self.batches = Some(batches);
        Ok(true)
    }
}

impl Read for JsonRows {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.lines.get_ref().has_remaining() {
            if !self.next_batch()? {
                return Ok(0);
            }
        }
        self.lines.read(buffer)
    }
}

fn check_shape(metadata: &ParquetMetaData) -> Result<(), ParquetError> {
    let columns = metadata.file_metadata().schema_descr().num_columns();
    if columns > MOST_COLUMNS {
        return Err(ParquetError::General(format!(
            "{columns} columns, at most {MOST_COLUMNS} are read"
        )));
    }
    Ok(())
}

/// Rows of a batch, from the mean size of a row in the largest row group.
fn batch_rows(metadata: &ParquetMetaData) -> usize {
    let mean = |group: &parquet::file::metadata::RowGroupMetaData| {
        let rows = u64::try_from(group.num_rows()).unwrap_or(0).max(1);
        u64::try_from(group.total_byte_size()).unwrap_or(0) / rows
    };
    let widest = metadata.row_groups().iter().map(mean).max().unwrap_or(0);
    let rows = BATCH_BYTES / widest.max(1);
    rows.clamp(1, MOST_ROWS) as usize
}

fn rendered(batch: &RecordBatch) -> Result<Vec<u8>, ParquetError> {
    let mut lines = Vec::with_capacity(BATCH_BYTES as usize / 4);
    let mut writer = WriterBuilder::new()
        .with_encoder_factory(Arc::new(Plain))
        .build::<_, LineDelimited>(&mut lines);
    writer.write(batch)?;
    writer.finish()?;
    drop(writer);
    Ok(lines)
}

/// Where a log reader wants another spelling than the default: moments end in `Z` whatever the
/// zone is called, and bytes that are text are text.
#[derive(Debug)]
struct Plain;

impl EncoderFactory for Plain {
    fn make_default_encoder<'a>(
        &self,
        _field: &'a FieldRef,
        array: &'a dyn Array,
        _options: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let encoder: Box<dyn Encoder + 'a> = match array.data_type() {
            DataType::Timestamp(unit, Some(_)) => match unit {
                TimeUnit::Second => moments::<TimestampSecondType>(array),
                TimeUnit::Millisecond => moments::<TimestampMillisecondType>(array),
                TimeUnit::Microsecond => moments::<TimestampMicrosecondType>(array),
                TimeUnit::Nanosecond => moments::<TimestampNanosecondType>(array),
            },
            DataType::Binary => raw::<i32>(array),
            DataType::LargeBinary => raw::<i64>(array),
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, array.nulls().cloned())))
    }
}

struct Moments<'a, T: ArrowTimestampType>(&'a PrimitiveArray<T>);

fn moments<'a, T: ArrowTimestampType>(array: &'a dyn Array) -> Box<dyn Encoder + 'a> {
    Box::new(Moments(array.as_primitive::<T>()))
}

impl<T: ArrowTimestampType> Encoder for Moments<'_, T> {
    fn encode(&mut self, index: usize, out: &mut Vec<u8>) {
        match self.0.value_as_datetime(index) {
            // The zone of a column says how to show its moments; they are UTC.
            Some(moment) => out.extend_from_slice(format!("\"{moment:?}Z\"").as_bytes()),
            None => out.extend_from_slice(b"null"),
        }
    }
}

struct Raw<'a, T: ByteArrayType>(&'a GenericByteArray<T>);

fn raw<'a, O: arrow::array::OffsetSizeTrait>(array: &'a dyn Array) -> Box<dyn Encoder + 'a> {
    Box::new(Raw::<GenericBinaryType<O>>(array.as_bytes()))
}

impl<O: arrow::array::OffsetSizeTrait> Encoder for Raw<'_, GenericBinaryType<O>> {
    fn encode(&mut self, index: usize, out: &mut Vec<u8>) {
        let value: &[u8] = self.0.value(index);
        let text = std::str::from_utf8(value).map_or_else(
            |_| value.iter().map(|b| format!("{b:02x}")).collect(),
            str::to_owned,
        );
        // A string always has a rendering.
        out.extend(serde_json::to_vec(&text).unwrap_or_else(|_| b"null".to_vec()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{
        ArrayRef, BinaryArray, Int64Array, ListArray, StringArray, TimestampMicrosecondArray,
        UInt64Array,
    };
    use arrow::datatypes::Int32Type;
    use parquet::arrow::ArrowWriter;
    use parquet::basic::{Compression, GzipLevel, ZstdLevel};
    use parquet::file::properties::WriterProperties;

    fn file(columns: Vec<(&str, ArrayRef)>, compression: Compression) -> Vec<u8> {
        let batch = RecordBatch::try_from_iter(columns).expect("columns fit");
        let settings = WriterProperties::builder()
            .set_compression(compression)
            .set_max_row_group_row_count(Some(2))
            .build();
        let mut bytes = Vec::new();
        let mut writer =
            ArrowWriter::try_new(&mut bytes, batch.schema(), Some(settings)).expect("a writer");
        writer.write(&batch).expect("memory");
        writer.close().expect("memory");
        bytes
    }

    fn sample(compression: Compression) -> Vec<u8> {
        let moments =
            TimestampMicrosecondArray::from(vec![Some(1_788_251_405_120_000), Some(-1), None]);
        let lists = [Some(vec![Some(1), None]), None, Some(vec![])];
        file(
            vec![
                ("text", Arc::new(StringArray::from(vec!["a\n\"b", "", "ü"]))),
                (
                    "room",
                    Arc::new(UInt64Array::from(vec![u64::MAX, 1 << 53, (1 << 53) + 1])),
                ),
                (
                    "low",
                    Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(7)])),
                ),
                (
                    "at",
                    Arc::new(moments.clone().with_timezone("Europe/Berlin")),
                ),
                ("naive", Arc::new(moments)),
                (
                    "raw",
                    Arc::new(BinaryArray::from(vec![
                        b"plain".as_slice(),
                        b"\xff\x00",
                        b"q\"q",
                    ])),
                ),
                (
                    "list",
                    Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists)),
                ),
            ],
            compression,
        )
    }

    const LINES: &str = concat!(
        r#"{"text":"a\n\"b","room":18446744073709551615,"low":-9223372036854775808,"#,
        r#""at":"2026-09-01T08:30:05.120Z","naive":"2026-09-01T08:30:05.120","raw":"plain","#,
        r#""list":[1,null]}"#,
        "\n",
        r#"{"text":"","room":9007199254740992,"at":"1969-12-31T23:59:59.999999Z","#,
        r#""naive":"1969-12-31T23:59:59.999999","raw":"ff00"}"#,
        "\n",
        r#"{"text":"ü","room":9007199254740993,"low":7,"raw":"q\"q","list":[]}"#,
        "\n",
    );

    fn read(bytes: Vec<u8>) -> io::Result<String> {
        let mut text = String::new();
        JsonRows::open(Arc::new(bytes))?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn rows_are_lines_in_every_codec() {
        for compression in [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(GzipLevel::default()),
            Compression::LZ4_RAW,
            Compression::ZSTD(ZstdLevel::default()),
        ] {
            assert_eq!(
                read(sample(compression)).expect("reads"),
                LINES,
                "{compression}"
            );
        }
    }

    #[test]
    fn small_reads_and_no_rows() {
        let mut rows = JsonRows::open(Arc::new(sample(Compression::SNAPPY))).expect("opens");
        let mut text = Vec::new();
        let mut three = [0u8; 3];
        while let n @ 1.. = rows.read(&mut three).expect("reads") {
            text.extend_from_slice(&three[..n]);
        }
        assert_eq!(text, LINES.as_bytes());
        let empty = file(
            vec![("a", Arc::new(Int64Array::from(Vec::<i64>::new())))],
            Compression::SNAPPY,
        );
        assert_eq!(read(empty).expect("reads"), "");
    }

    #[test]
    fn damage_is_an_error_wherever_it_is() {
        let whole = sample(Compression::SNAPPY);
        for cut in 0..whole.len() {
            assert!(read(whole[..cut].to_vec()).is_err(), "cut at {cut}");
        }
        let mut differs = 0;
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            // Either it is noticed or it changed a value; nothing panics or hangs.
            differs += usize::from(!read(bytes).is_ok_and(|text| text == LINES));
        }
        assert!(differs > whole.len() / 4, "{differs} of {}", whole.len());
    }

    struct Failing(Vec<u8>, u64);

    impl RandomBytes for Failing {
        fn length(&self) -> u64 {
            self.0.length()
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
            if offset < self.1 {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.0.read_at(offset, buffer)
        }
    }

    #[test]
    fn a_failing_medium_is_not_taken_for_damage() {
        let bytes = sample(Compression::SNAPPY);
        let error = JsonRows::open(Arc::new(Failing(bytes.clone(), u64::MAX)));
        assert_eq!(error.err().map(|e| e.kind()), Some(io::ErrorKind::TimedOut));
        let mut late = JsonRows::open(Arc::new(Failing(bytes, 60))).expect("the footer is there");
        let error = late.read_to_end(&mut Vec::new()).expect_err("no data");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(late.read(&mut [0u8; 8]).expect("ended"), 0);
    }
}
