//! Compressed sources, unpacked as the program unpacks them: no panic, no end that does not come,
//! no more bytes than the ratio allows, and the digests of what went through.
#![no_main]

#[path = "../../src/pipeline/unpack.rs"]
#[allow(dead_code, reason = "the program uses more of it")]
mod unpack;

use std::io::{BufRead, Read};
use unpack::{Counted, Meter, RatioGuard, buffered, coding, decoder};

/// Decoded bytes that a source may have beyond its ratio, as in the program (64 MiB).
const FLOOR: u64 = 64 << 20;
/// Bytes decoded for each byte received, at most.
const RATIO: u64 = 100;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let (received, seen) = (Meter::new(true), Meter::new(true));
    let mut raw = buffered(Counted::new(data, received.clone()));
    let Some(coding) = coding(raw.fill_buf().expect("memory")) else {
        return;
    };
    let Ok(inner) = decoder(coding, raw) else {
        return;
    };
    let mut reader = RatioGuard::new(inner, received.clone(), seen.clone(), RATIO);
    let mut decoded = 0;
    let mut buffer = [0; 1 << 16];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(length) => decoded += length as u64,
        }
    }
    let received = received.digest();
    assert!(received.bytes() <= data.len() as u64);
    assert!(decoded <= FLOOR + received.bytes() * RATIO);
    assert!(seen.bytes() >= decoded);
    assert_eq!(received.sha256().len(), 64);
});
