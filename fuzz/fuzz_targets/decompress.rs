//! Compressed sources, opened as the program opens them: no panic, no end that does not come, no
//! more bytes than the ratio allows, and the digests of what went through.
#![no_main]

#[path = "../../src/pipeline/open.rs"]
#[allow(dead_code, reason = "the program uses more of it")]
mod open;

use std::io::Read;

/// Decoded bytes that a source may have beyond its ratio, as in the program (64 MiB).
const FLOOR: u64 = 64 << 20;
/// Bytes decoded for each byte received, at most.
const RATIO: u64 = 100;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let path = std::env::temp_dir().join(format!("pentimento-fuzz-{}", std::process::id()));
    std::fs::write(&path, data).expect("a temporary file");
    let Ok(mut opened) = open::open(&path, RATIO, true) else {
        return;
    };
    let mut decoded = 0;
    let mut buffer = [0; 1 << 16];
    loop {
        match opened.reader.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(length) => decoded += length as u64,
        }
    }
    let received = opened.received().bytes();
    assert!(received <= data.len() as u64);
    assert!(decoded <= FLOOR + received * RATIO);
    assert_eq!(opened.received().sha256().len(), 64);
});
