//! The same logs in every wrapping: plain, compressed, in archives, as Parquet.

use crate::kit::{Lab, clean, lines, pentimento, rows, stderr};
use crate::packer::zip;
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use pentimento_store::rows::{ExchangeRow, RejectRow, SourceRow};
use serde_json::Value;
use std::io::Write;
use std::sync::Arc;

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, body) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(body.len() as u64);
        builder.append_data(&mut header, name, *body).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut member = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    member.write_all(bytes).unwrap();
    member.finish().unwrap()
}

/// Native records as the columns that an exporter would give them.
fn parquet(records: &[Value]) -> Vec<u8> {
    let text = |key: &str| -> ArrayRef {
        let cells = records.iter().map(|r| r[key].as_str());
        Arc::new(StringArray::from_iter(cells))
    };
    let number = |key: &str| -> ArrayRef {
        Arc::new(Int64Array::from_iter(
            records.iter().map(|r| r[key].as_i64()),
        ))
    };
    let moment = |key: &str| -> ArrayRef {
        let cells = records.iter().map(|r| {
            let at: jiff::Timestamp = r[key].as_str()?.parse().ok()?;
            Some(at.as_microsecond())
        });
        Arc::new(TimestampMicrosecondArray::from_iter(cells).with_timezone("UTC"))
    };
    let prompts = records.iter().map(|r| r["messages"][0]["content"].as_str());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("request_id", text("request_id")),
        ("tenant", text("tenant")),
        ("model", text("model")),
        ("role", text("role")),
        ("t_start", moment("t_start")),
        ("t_end", moment("t_end")),
        ("http_status", number("http_status")),
        ("finish_reason", text("finish_reason")),
        ("prompt_tokens", number("prompt_tokens")),
        ("completion_tokens", number("completion_tokens")),
        ("prompt", Arc::new(StringArray::from_iter(prompts))),
        ("response", text("response")),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let settings = parquet::file::properties::WriterProperties::builder()
        .set_compression(parquet::basic::Compression::SNAPPY)
        .set_max_row_group_row_count(Some(7))
        .build();
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), Some(settings)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// What does not depend on the wrapping, by request.
type Facts = (Option<String>, Option<String>, Option<i64>, i64, i64);

fn facts(rows: Vec<ExchangeRow>) -> Vec<Facts> {
    let mut facts: Vec<_> = rows
        .into_iter()
        .map(|e| {
            (
                e.request_id,
                e.tenant,
                e.t_start,
                e.prompt_bytes,
                e.response_bytes,
            )
        })
        .collect();
    facts.sort();
    facts
}

#[test]
fn every_wrapping_gives_the_same_exchanges() {
    let lab = Lab::bare();
    let records = clean(40);
    let (first, second) = (lines(&records[..20]), lines(&records[20..]));
    let (packed, rows_of) = (gzip(&second), parquet(&records[20..]));
    let halves: [(&str, &[u8]); 2] = [("a.jsonl", &first), ("logs/b.log.gz", &packed)];
    let mixed: [(&str, &[u8]); 2] = [("a.jsonl", &first), ("b.parquet", &rows_of)];
    let inner = zip(&halves, false);
    let wrappings = [
        ("plain", lines(&records), 1),
        ("parquet", parquet(&records), 1),
        ("tar", tar(&halves), 3),
        (
            "tar.zst",
            zstd::encode_all(&tar(&halves)[..], 1).unwrap(),
            3,
        ),
        ("zip", zip(&mixed, true), 3),
        ("tgz", gzip(&tar(&mixed)), 3),
        ("nested.tgz", gzip(&tar(&[("inner.zip", &inner)])), 3),
    ];
    let mut expected = None;
    for (name, bytes, sources) in wrappings {
        lab.write(name, bytes);
        let (log, case) = (lab.text(name), format!("case-{name}"));
        let done = pentimento(&["ingest", &log, "--case", &lab.text(&case), "--keep-text"]);
        assert_eq!(done.status.code(), Some(0), "{name}: {}", stderr(&done));
        let case = lab.path(&case);
        let found = facts(rows::<ExchangeRow>(&case));
        assert_eq!(found.len(), 40, "{name}");
        assert_eq!(
            &found,
            expected.get_or_insert_with(|| found.clone()),
            "{name}"
        );
        let read = rows::<SourceRow>(&case);
        assert_eq!(read.len(), sources, "{name}");
        assert!(
            read.iter()
                .all(|s| s.status == "complete" && s.sha256.is_some()),
            "{name}"
        );
        assert_eq!(
            read.iter().map(|s| s.records_read).sum::<i64>(),
            40,
            "{name}"
        );
        // All passes found the records again.
        assert_eq!(
            rows::<pentimento_store::rows::TextRow>(&case).len(),
            80,
            "{name}"
        );
    }
}

#[test]
fn what_an_archive_does_not_give_is_told_in_rows() {
    let lab = Lab::bare();
    let good = lines(&clean(5));
    let inner = zip(&[("deepest.zip", &zip(&[("x", &good)], false))], false);
    let mut builder = tar::Builder::new(Vec::new());
    for (name, body) in [("good.jsonl", &good), ("inner.zip", &inner)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(body.len() as u64);
        builder.append_data(&mut header, name, &body[..]).unwrap();
    }
    let mut link = tar::Header::new_gnu();
    link.set_entry_type(tar::EntryType::Symlink);
    link.set_size(0);
    builder
        .append_link(&mut link, "evil", "/etc/passwd")
        .unwrap();
    let mut bytes = builder.into_inner().unwrap();
    // Another file follows, and the archive ends in it.
    bytes.truncate(bytes.len() - 1024);
    bytes.extend_from_slice(&tar(&[("late.jsonl", &good)])[..700]);
    lab.write("logs.tar", bytes);
    let (log, case) = (lab.text("logs.tar"), lab.path("case"));
    let done = pentimento(&["ingest", &log, "--case", &lab.text("case")]);
    assert_eq!(done.status.code(), Some(4), "{}", stderr(&done));
    let sources = rows::<SourceRow>(&case);
    let rejects = rows::<RejectRow>(&case);
    let told: Vec<(String, String, Option<&str>)> = sources
        .iter()
        .map(|s| {
            let reject = rejects.iter().find(|r| r.source_id == s.source_id);
            let path = s.path.strip_prefix(&log).unwrap_or(&s.path);
            (
                path.to_owned(),
                s.status.to_string(),
                reject.map(|r| r.reason.as_str()),
            )
        })
        .collect();
    let row = |path: &str, status: &str, reason| (path.to_owned(), status.to_owned(), reason);
    let expected = [
        row("", "truncated", Some("truncated")),
        row("!good.jsonl", "complete", None),
        row("!inner.zip!deepest.zip", "unreadable", Some("depth_limit")),
        row("!evil", "unreadable", Some("not_a_file")),
        row("!late.jsonl", "truncated", Some("truncated")),
    ];
    assert_eq!(told, expected);
    for s in &sources {
        assert_eq!(s.records_accounted(), Some(s.records_read), "{}", s.path);
    }
    assert_eq!(rows::<ExchangeRow>(&case).len(), 5);
}
