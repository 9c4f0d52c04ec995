//! The framer's border sweep: every chunk size and every failing read give one result.

use super::*;
use std::io::{BufReader, Read};

struct Chunks<'a> {
    bytes: &'a [u8],
    size: usize,
    reads_left: usize,
}

impl Read for Chunks<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.reads_left == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.reads_left -= 1;
        let length = self.size.min(self.bytes.len()).min(out.len());
        out[..length].copy_from_slice(&self.bytes[..length]);
        self.bytes = &self.bytes[length..];
        Ok(length)
    }
}

/// Records as text with offset, rejects as `!offset+length`, a failure as `?offset+length`.
fn frame_reads(bytes: &[u8], size: usize, reads: usize, cap: usize, target: usize) -> Vec<String> {
    let chunks = Chunks {
        bytes,
        size,
        reads_left: reads,
    };
    let mut framer = Framer::new(BufReader::with_capacity(size, chunks), cap);
    let mut out = Vec::new();
    let mut count = 0;
    while let Some(block) = framer.next_block(target) {
        count += block.records.len() + block.rejects.len();
        for span in &block.records {
            let record = block.record(span);
            let at = block.offset(span) as usize;
            assert_eq!(record, &bytes[at..at + record.len()]);
            let mark = if span.unterminated { "~" } else { "" };
            out.push(format!("{at}{mark} {}", String::from_utf8_lossy(record)));
        }
        for reject in &block.rejects {
            let (from, to) = (
                reject.offset as usize,
                (reject.offset + reject.length) as usize,
            );
            assert_eq!(reject.digest, *blake3::hash(&bytes[from..to]).as_bytes());
            out.push(format!("!{from}+{}", reject.length));
        }
        if let Some(broken) = block.broken {
            out.push(format!("?{}+{}", broken.offset, broken.length));
        }
    }
    assert_eq!(framer.records_framed(), count as u64);
    assert!(framer.next_block(target).is_none());
    out
}

fn frame(bytes: &[u8], cap: usize) -> Vec<String> {
    let expected = frame_reads(bytes, 64 << 10, usize::MAX, cap, 1 << 20);
    for size in [1, 3, 7] {
        for target in [1, 10, 1 << 20] {
            let got = frame_reads(bytes, size, usize::MAX, cap, target);
            assert_eq!(got, expected, "chunks of {size}, blocks of {target}");
        }
    }
    expected
}

const SAMPLES: [&str; 14] = [
    "",
    "\n\r\n  \n",
    "{\"a\":1}\n{\"b\":2}\r\n\n{\"c\":3}",
    "\u{feff}{\"a\":1}\n",
    "[2026-09-11 08:30:05] {\"a\":1}\n[2026-09-11 08:30:06] {\"b\":2}\n",
    "[{\"a\":\"]}\\\"\"},{\"b\":2}]",
    "[\n {\"a\":1},\n {\"b\":[1,\n2]}\n]\n",
    "{\n \"a\": 1\n}\n{\n \"b\": {\n  \"c\": 2\n }\n}\n",
    "{\"a\":1}{\"b\":2} {\"c\":3}\n",
    "{\"cut\":\n{\"a\":1}\n{\"b\":2}\n",
    "{\n \"a\": 1\n}\n{\n \"b\": [\n",
    "[{\"a\":1}\n{\"b\":[\n{\"c\":1}\n{\"d\":1}\n",
    "[{\"a\":1}][{\"b\":2}]",
    "{\"a\":1},\n{\"b\":2},\n",
];

#[test]
fn frames_lines_and_values() {
    let expected: [&[&str]; 14] = [
        &[],
        &[],
        &["0 {\"a\":1}", "8 {\"b\":2}", "18~ {\"c\":3}"],
        &["3 {\"a\":1}"],
        &[
            "0 [2026-09-11 08:30:05] {\"a\":1}",
            "30 [2026-09-11 08:30:06] {\"b\":2}",
        ],
        &["1 {\"a\":\"]}\\\"\"}", "14 {\"b\":2}"],
        &["3 {\"a\":1}", "13 {\"b\":[1,\n2]}"],
        &["0 {\n \"a\": 1\n}", "12 {\n \"b\": {\n  \"c\": 2\n }\n}"],
        &["0 {\"a\":1}", "7 {\"b\":2}", "15 {\"c\":3}"],
        &["0 {\"cut\":", "8 {\"a\":1}", "16 {\"b\":2}"],
        &["0 {\n \"a\": 1\n}", "12~ {\n \"b\": [\n"],
        &["1 {\"a\":1}", "9 {\"b\":[", "16 {\"c\":1}", "24 {\"d\":1}"],
        &["1 {\"a\":1}", "10 {\"b\":2}"],
        &["0 {\"a\":1},", "9 {\"b\":2},"],
    ];
    for (sample, expected) in SAMPLES.iter().zip(expected) {
        let got = frame(sample.as_bytes(), 1 << 20);
        let got: Vec<String> = got.into_iter().map(|r| r.trim_end().to_owned()).collect();
        let expected: Vec<&str> = expected.iter().map(|r| r.trim_end()).collect();
        assert_eq!(got, expected, "{sample:?}");
    }
}

#[test]
fn long_records_are_refused_and_their_neighbours_kept() {
    for (sample, cap, expected) in [
        ("ok\nlonger\nok\n", 5, vec!["0 ok", "!3+6", "10 ok"]),
        ("longer", 5, vec!["!0+6"]),
        ("fits!\nok", 5, vec!["0 fits!", "6~ ok"]),
        (
            "[{\"a\":1},{\"b\":\"xxxxxxx\"},{\"c\":1}]",
            8,
            vec!["1 {\"a\":1}", "!9+15", "25 {\"c\":1}"],
        ),
        ("[{\"b\":\"xxxxxxx", 8, vec!["!1+13"]),
    ] {
        assert_eq!(frame(sample.as_bytes(), cap), expected, "{sample:?}");
    }
    for sample in SAMPLES {
        for cap in 1..sample.len() {
            frame(sample.as_bytes(), cap);
        }
    }
}

#[test]
fn a_failing_read_keeps_what_came_before() {
    for sample in SAMPLES {
        let whole = frame(sample.as_bytes(), 1 << 20);
        for reads in 0..=sample.len() {
            let got = frame_reads(sample.as_bytes(), 1, reads, 1 << 20, 1 << 20);
            let (last, before) = got.split_last().unwrap();
            assert!(last.starts_with('?'), "{sample:?} {reads}: {got:?}");
            if !sample.contains("cut") {
                assert!(before.len() <= whole.len());
            }
        }
    }
}

#[test]
fn gaps_of_any_size_are_no_records() {
    let mut text = "\n".repeat(300_000);
    text.push_str("{\"a\":1}\n");
    let got = frame_reads(text.as_bytes(), 4096, usize::MAX, 1 << 20, 1 << 10);
    assert_eq!(got, ["300000 {\"a\":1}"]);
}
