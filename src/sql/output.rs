//! Query results on a byte stream: table, CSV, JSON, JSON lines, Parquet.
//!
//! Cells hold text out of logs, which is hostile in every sink: what a terminal would obey is
//! written visibly, what a spreadsheet would compute is quoted.

use super::json;
use super::session::CaseSession;
use crate::report::sanitize::visible;
use anyhow::Context;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
pub use datafusion::common::ScalarValue as Parameter;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write;
use unicode_width::UnicodeWidthStr;

/// How rows are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Columns aligned for people.
    #[default]
    Table,
    /// RFC 4180; text that a spreadsheet would take for a formula stands behind an apostrophe.
    Csv,
    /// One array of objects.
    Json,
    /// One object a line.
    Jsonl,
    /// A Parquet file.
    Parquet,
}

/// Runs one statement and writes its rows. `terminal` says that a person's terminal reads them.
///
/// # Errors
/// As [`CaseSession::stream`]; an output that cannot be written, a closed pipe among
/// them, with the [`io::Error`](std::io::Error) inside.
pub fn write_query(
    session: &CaseSession,
    sql: &str,
    parameters: Vec<(String, Parameter)>,
    format: Format,
    out: &mut (dyn Write + Send),
    terminal: bool,
) -> anyhow::Result<()> {
    let mut writer = RowWriter::new(format, terminal, out);
    session.stream(sql, parameters, |schema, batch| match batch {
        None => writer.begin(schema),
        Some(batch) => writer.batch(batch),
    })?;
    writer.finish()
}

struct RowWriter<'a> {
    format: Format,
    terminal: bool,
    out: Option<&'a mut (dyn Write + Send)>,
    parquet: Option<ArrowWriter<&'a mut (dyn Write + Send)>>,
    /// Cells of a table, the header first: widths are known only at the end.
    table: Vec<Vec<(String, bool)>>,
    rows: u64,
}

impl<'a> RowWriter<'a> {
    fn new(format: Format, terminal: bool, out: &'a mut (dyn Write + Send)) -> RowWriter<'a> {
        RowWriter {
            format,
            terminal,
            out: Some(out),
            parquet: None,
            table: Vec::new(),
            rows: 0,
        }
    }

    fn put(&mut self, text: &str) -> anyhow::Result<()> {
        if let Some(out) = &mut self.out {
            out.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    fn begin(&mut self, schema: &SchemaRef) -> anyhow::Result<()> {
        let names = schema.fields().iter().map(|f| f.name().as_str());
        match self.format {
            Format::Table => {
                let header = names.map(|n| (visible(n).into_owned(), false)).collect();
                self.table.push(header);
            }
            Format::Csv => {
                let cells: Vec<String> = names.map(|n| self.csv_text(n)).collect();
                self.put(&format!("{}\r\n", cells.join(",")))?;
            }
            Format::Json => self.put("[")?,
            Format::Jsonl => {}
            Format::Parquet => {
                let properties = WriterProperties::builder()
                    .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
                    .set_created_by("pentimento".to_owned())
                    .build();
                if let Some(out) = self.out.take() {
                    let writer = ArrowWriter::try_new(out, schema.clone(), Some(properties))?;
                    self.parquet = Some(writer);
                }
            }
        }
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        if let Some(writer) = &mut self.parquet {
            return writer.write(batch).context("cannot write Parquet");
        }
        let schema = batch.schema();
        let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        for row in 0..batch.num_rows() {
            let values = batch
                .columns()
                .iter()
                .map(|column| json::value_at(column.as_ref(), row))
                .collect::<anyhow::Result<Vec<Value>>>()?;
            self.row(&names, values)?;
            self.rows += 1;
        }
        Ok(())
    }

    fn row(&mut self, names: &[&str], values: Vec<Value>) -> anyhow::Result<()> {
        match self.format {
            Format::Table => {
                let cells = values.iter().map(table_cell).collect();
                self.table.push(cells);
            }
            Format::Csv => {
                let cells: Vec<String> = values.iter().map(|v| self.csv_cell(v)).collect();
                self.put(&format!("{}\r\n", cells.join(",")))?;
            }
            Format::Json | Format::Jsonl => {
                let mut line = String::new();
                if self.format == Format::Json {
                    line.push_str(if self.rows == 0 { "\n" } else { ",\n" });
                }
                // Columns keep the order of the statement; a name may come twice.
                line.push('{');
                for (i, (name, value)) in names.iter().zip(&values).enumerate() {
                    if i > 0 {
                        line.push(',');
                    }
                    let _ = write!(line, "{}:{value}", Value::from(*name));
                }
                line.push('}');
                if self.format == Format::Jsonl {
                    line.push('\n');
                }
                self.put(&ascii_controls(&line))?;
            }
            Format::Parquet => {}
        }
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<()> {
        match self.format {
            Format::Table => {
                let text = layout(&self.table);
                self.put(&text)?;
            }
            Format::Json => self.put(if self.rows == 0 { "]\n" } else { "\n]\n" })?,
            Format::Csv | Format::Jsonl | Format::Parquet => {}
        }
        if let Some(writer) = self.parquet.take() {
            writer
                .into_inner()
                .context("cannot write Parquet")?
                .flush()?;
        }
        if let Some(out) = &mut self.out {
            out.flush()?;
        }
        Ok(())
    }

    fn csv_cell(&self, value: &Value) -> String {
        match value {
            Value::Null => String::new(),
            Value::String(text) if text.is_empty() => "\"\"".to_owned(),
            Value::String(text) => self.csv_text(text),
            Value::Array(_) | Value::Object(_) => self.csv_text(&value.to_string()),
            other => other.to_string(),
        }
    }

    fn csv_text(&self, text: &str) -> String {
        let mut cell = String::new();
        if starts_formula(text) {
            cell.push('\'');
        }
        if self.terminal {
            cell.push_str(&visible(text));
        } else {
            cell.push_str(text);
        }
        if cell.contains(['"', ',', '\n', '\r']) {
            return format!("\"{}\"", cell.replace('"', "\"\""));
        }
        cell
    }
}

fn starts_formula(text: &str) -> bool {
    text.starts_with([
        '=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ])
}

/// A cell of a table, and whether it stands to the right.
fn table_cell(value: &Value) -> (String, bool) {
    match value {
        Value::Null => (String::new(), false),
        Value::String(text) => (visible(text).into_owned(), false),
        Value::Number(number) => (number.to_string(), true),
        other => (visible(&other.to_string()).into_owned(), false),
    }
}

fn layout(table: &[Vec<(String, bool)>]) -> String {
    let columns = table.first().map_or(0, Vec::len);
    let mut widths = vec![0; columns];
    for row in table {
        for (width, (cell, _)) in widths.iter_mut().zip(row) {
            *width = cell.width().max(*width);
        }
    }
    let mut text = String::new();
    for (number, row) in table.iter().enumerate() {
        let mut line = String::new();
        for ((cell, right), width) in row.iter().zip(&widths) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            let pad = " ".repeat(width.saturating_sub(cell.width()));
            if *right {
                let _ = write!(line, "{pad}{cell}");
            } else {
                let _ = write!(line, "{cell}{pad}");
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
        if number == 0 {
            let rules: Vec<String> = widths.iter().map(|w| "-".repeat(*w)).collect();
            text.push_str(&rules.join("  "));
            text.push('\n');
        }
    }
    text
}

/// Whether a terminal or a reader's eye would obey the character instead of showing it.
fn acts(c: char) -> bool {
    matches!(visible(c.encode_utf8(&mut [0; 4])), Cow::Owned(_))
}

/// JSON with acting characters as `\u` escapes: the value stays what it is.
fn ascii_controls(line: &str) -> String {
    // Line feeds act too, but outside strings the writer puts only those.
    let mut safe = String::with_capacity(line.len());
    for c in line.chars() {
        if c != '\n' && acts(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::session::SessionOptions;
    use std::io;

    fn run(sql: &str, format: Format) -> String {
        let session = CaseSession::empty(&SessionOptions::default()).unwrap();
        let mut out = Vec::new();
        write_query(&session, sql, Vec::new(), format, &mut out, false).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn formats() {
        let sql = "SELECT 9007199254740993 AS big, '=1+1' AS f, 'a,\"b' AS q, -1 AS n, \
                   CAST(NULL AS VARCHAR) AS nothing, '' AS empty ORDER BY 1";
        assert_eq!(
            run(sql, Format::Csv),
            "big,f,q,n,nothing,empty\r\n9007199254740993,'=1+1,\"a,\"\"b\",-1,,\"\"\r\n"
        );
        assert_eq!(
            run(sql, Format::Jsonl),
            "{\"big\":9007199254740993,\"f\":\"=1+1\",\"q\":\"a,\\\"b\",\"n\":-1,\
             \"nothing\":null,\"empty\":\"\"}\n"
        );
        assert_eq!(run("SELECT 1 AS a WHERE FALSE", Format::Json), "[]\n");
        assert_eq!(
            run("SELECT 1 AS a UNION ALL SELECT 22 ORDER BY 1", Format::Json),
            "[\n{\"a\":1},\n{\"a\":22}\n]\n"
        );
        assert_eq!(
            run(
                "SELECT 1 AS a, 'x' AS b UNION ALL SELECT 22, '漢' ORDER BY 1",
                Format::Table
            ),
            " a  b\n--  --\n 1  x\n22  漢\n".replace(" a  b", "a   b")
        );
    }

    #[test]
    fn hostile_text_is_shown_not_obeyed() {
        let sql = "SELECT chr(27) || ']0;x' || chr(7) || chr(8238) AS t";
        let table = run(sql, Format::Table);
        assert!(table.contains("␛]0;x␇<U+202E>"), "{table}");
        let line = run(sql, Format::Jsonl);
        assert!(line.contains(r"\u001b]0;x\u0007\u202e"), "{line}");
        let back: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(back["t"], "\u{1b}]0;x\u{7}\u{202e}");
    }

    #[test]
    fn parquet_reads_back() {
        let session = CaseSession::empty(&SessionOptions::default()).unwrap();
        let mut out = Vec::new();
        let sql = "SELECT 7 AS a";
        write_query(&session, sql, Vec::new(), Format::Parquet, &mut out, false).unwrap();
        assert_eq!(&out[..4], b"PAR1");
        assert_eq!(&out[out.len() - 4..], b"PAR1");
    }

    #[test]
    fn only_one_reading_statement_runs() {
        let session = CaseSession::empty(&SessionOptions::default()).unwrap();
        let hostile = [
            "CREATE TABLE t AS SELECT 1",
            "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
            "COPY (SELECT 1) TO '/tmp/pentimento-copy.csv'",
            "INSERT INTO t VALUES (1)",
            "SET datafusion.execution.batch_size = 1",
            "SELECT 1; SELECT 2",
            "SELECT * FROM '/etc/passwd'",
            "EXPLAIN ANALYZE COPY (SELECT 1) TO '/tmp/pentimento-copy.csv'",
            "PREPARE p AS SELECT 1",
            "DROP TABLE exchanges",
            "",
        ];
        for sql in hostile {
            let done = session.stream(sql, Vec::new(), |_, _| Ok(()));
            assert!(done.is_err(), "{sql}");
        }
        assert!(!std::path::Path::new("/tmp/pentimento-copy.csv").exists());
    }

    #[test]
    fn a_reader_that_left_is_told_apart() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let session = CaseSession::empty(&SessionOptions::default()).unwrap();
        for format in [Format::Csv, Format::Jsonl, Format::Table, Format::Json] {
            let done = write_query(&session, "SELECT 1", Vec::new(), format, &mut Closed, false);
            assert!(crate::messages::is_broken_pipe(&done.unwrap_err()));
        }
    }
}
