//! Layers around a stream: what was received and decoded is counted and digested, compression is
//! taken off by its magic, and what unpacks to far more than it holds is stopped.

use sha2::{Digest, Sha256};
use std::io::{self, BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Decoded bytes that any source may have whatever its ratio (64 MiB): small files compress oddly.
const RATIO_FLOOR_BYTES: u64 = 64 << 20;
/// Read buffer in bytes.
pub const BUFFER_BYTES: usize = 256 << 10;
/// zstd window limit as a power of two: 2 GiB, what `--ultra --long=31` writes.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;

/// Byte count and SHA-256 of a stream.
#[derive(Clone, Debug, Default)]
pub struct StreamDigest {
    bytes: u64,
    hash: Sha256,
    enabled: bool,
}

impl StreamDigest {
    fn update(&mut self, data: &[u8]) {
        self.bytes += data.len() as u64;
        if self.enabled {
            self.hash.update(data);
        }
    }

    /// Bytes seen so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// SHA-256 of the bytes seen so far, lower-case hex.
    pub fn sha256(&self) -> String {
        self.hash
            .clone()
            .finalize()
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect()
    }
}

/// A digest that its reader and its owner share.
#[derive(Clone, Debug)]
pub struct Meter(Arc<Mutex<StreamDigest>>);

impl Meter {
    /// An empty one; `digests` switches the hashing on.
    pub fn new(digests: bool) -> Meter {
        Meter(Arc::new(Mutex::new(StreamDigest {
            enabled: digests,
            ..StreamDigest::default()
        })))
    }

    fn lock(&self) -> MutexGuard<'_, StreamDigest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// Bytes that were not read from front to back, and so have no digest.
    pub fn add_bytes(&self, count: u64) {
        self.lock().bytes += count;
    }

    /// The digest so far.
    pub fn digest(&self) -> StreamDigest {
        self.lock().clone()
    }
}

/// Counts what is read.
pub struct Counted<R> {
    inner: R,
    meter: Meter,
}

impl<R: Read> Counted<R> {
    /// Counts `inner` on a meter.
    pub fn new(inner: R, meter: Meter) -> Counted<R> {
        Counted { inner, meter }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.meter.lock().update(&buf[..n]);
        Ok(n)
    }
}

/// Counts what is decoded, and stops a stream that decodes to more than `max_ratio` times what was
/// received.
pub struct RatioGuard<R> {
    inner: R,
    received: Meter,
    decoded: Meter,
    max_ratio: u64,
}

impl<R: Read> RatioGuard<R> {
    /// Guards `inner`.
    pub fn new(inner: R, received: Meter, decoded: Meter, max_ratio: u64) -> RatioGuard<R> {
        RatioGuard {
            inner,
            received,
            decoded,
            max_ratio,
        }
    }
}

/// Marks the error of the ratio guard.
#[derive(Debug)]
pub struct RatioExceeded;

impl std::fmt::Display for RatioExceeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("decoded bytes exceed the allowed ratio to the compressed ones")
    }
}

impl std::error::Error for RatioExceeded {}

impl<R: Read> Read for RatioGuard<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        let mut decoded = self.decoded.lock();
        decoded.update(&buf[..n]);
        let allowed = self.received.bytes().saturating_mul(self.max_ratio);
        if decoded.bytes > RATIO_FLOOR_BYTES.saturating_add(allowed) {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, RatioExceeded));
        }
        Ok(n)
    }
}

/// How a stream is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// gzip, one or more members.
    Gzip,
    /// zstd, one or more frames.
    Zstd,
}

/// The compression that a stream begins with.
pub fn coding(head: &[u8]) -> Option<Coding> {
    // Frames start with the zstd magic or, for skippable ones, with 5x 2a 4d 18.
    let skippable = head.len() >= 4 && head[0] & 0xf0 == 0x50 && head[1..4] == [0x2a, 0x4d, 0x18];
    if head.starts_with(&[0x1f, 0x8b]) {
        Some(Coding::Gzip)
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || skippable {
        Some(Coding::Zstd)
    } else {
        None
    }
}

/// Takes a compression off.
///
/// # Errors
/// Where the decoder cannot be made.
pub fn decoder<'a>(
    coding: Coding,
    raw: impl BufRead + Send + 'a,
) -> io::Result<Box<dyn Read + Send + 'a>> {
    match coding {
        Coding::Gzip => Ok(Box::new(flate2::bufread::MultiGzDecoder::new(raw))),
        Coding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(raw)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Ok(Box::new(decoder))
        }
    }
}

/// How an entry of a zip archive is packed, and what it must unpack to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packing {
    /// 0 not at all, 8 deflate, 93 zstd.
    pub method: u16,
    /// Bytes unpacked.
    pub size: u64,
    /// CRC-32 of them.
    pub crc: u32,
}

impl Packing {
    /// Whether the method is one that is read.
    pub fn is_known(method: u16) -> bool {
        matches!(method, 0 | 8 | 93)
    }

    /// Unpacks an entry and checks it.
    ///
    /// # Errors
    /// `Unsupported` for a method that is not read.
    pub fn unpacked<'a>(
        self,
        raw: impl BufRead + Send + 'a,
    ) -> io::Result<Box<dyn Read + Send + 'a>> {
        let inner: Box<dyn Read + Send + 'a> = match self.method {
            0 => Box::new(raw),
            8 => Box::new(flate2::bufread::DeflateDecoder::new(raw)),
            93 => decoder(Coding::Zstd, raw)?,
            _ => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(Box::new(Checked {
            inner,
            left: self.size,
            crc: flate2::Crc::new(),
            expected: self.crc,
        }))
    }
}

/// Holds an entry to the size and the sum that its archive promised.
struct Checked<R> {
    inner: R,
    left: u64,
    crc: flate2::Crc,
    expected: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        let n = self.inner.read(buf)?;
        self.crc.update(&buf[..n]);
        let wrong = |what| io::Error::new(io::ErrorKind::InvalidData, what);
        self.left = self
            .left
            .checked_sub(n as u64)
            .ok_or_else(|| wrong("an entry is longer than its archive says"))?;
        match (n, self.left) {
            (0, 1..) => Err(io::ErrorKind::UnexpectedEof.into()),
            (_, 0) if self.crc.sum() != self.expected => Err(wrong(
                "an entry does not have the sum that its archive says",
            )),
            _ => Ok(n),
        }
    }
}

/// A buffered reader of usual size.
pub fn buffered<R: Read>(inner: R) -> BufReader<R> {
    BufReader::with_capacity(BUFFER_BYTES, inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_held_to_what_was_promised() {
        let mut crc = flate2::Crc::new();
        crc.update(b"some text");
        let (size, sum) = (9, crc.sum());
        let cases = [
            (0, size, sum, None),
            (0, size - 1, sum, Some(io::ErrorKind::InvalidData)),
            (0, size + 1, sum, Some(io::ErrorKind::UnexpectedEof)),
            (0, size, sum ^ 1, Some(io::ErrorKind::InvalidData)),
            (12, size, sum, Some(io::ErrorKind::Unsupported)),
        ];
        for (method, size, crc, error) in cases {
            let packing = Packing { method, size, crc };
            let read = packing
                .unpacked(&b"some text"[..])
                .and_then(|mut r| r.read_to_end(&mut Vec::new()));
            assert_eq!(read.err().map(|e| e.kind()), error, "{packing:?}");
        }
    }

    #[test]
    fn codings_by_magic() {
        let cases: [(&[u8], Option<Coding>); 5] = [
            (&[0x1f, 0x8b, 8], Some(Coding::Gzip)),
            (&[0x28, 0xb5, 0x2f, 0xfd], Some(Coding::Zstd)),
            (&[0x5f, 0x2a, 0x4d, 0x18], Some(Coding::Zstd)),
            (b"{\"a\":1}", None),
            (b"", None),
        ];
        for (head, expected) in cases {
            assert_eq!(coding(head), expected, "{head:?}");
        }
    }
}
