//! Opening a source: compression by magic, digests of what was received and what it decodes to,
//! and a guard against decompression bombs.

use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

/// Decoded bytes that any source may have whatever its ratio (64 MiB): small files compress oddly.
const RATIO_FLOOR_BYTES: u64 = 64 << 20;
/// Read buffer in bytes.
const BUFFER_BYTES: usize = 256 << 10;
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

type Shared = Rc<RefCell<StreamDigest>>;

struct Counted<R> {
    inner: R,
    digest: Shared,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.digest.borrow_mut().update(&buf[..n]);
        Ok(n)
    }
}

/// Stops a stream that decodes to more than `max_ratio` times what was read.
struct RatioGuard<R> {
    inner: R,
    received: Shared,
    decoded: Shared,
    max_ratio: u64,
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
        let mut decoded = self.decoded.borrow_mut();
        decoded.update(&buf[..n]);
        let allowed = RATIO_FLOOR_BYTES.saturating_add(
            self.received
                .borrow()
                .bytes()
                .saturating_mul(self.max_ratio),
        );
        if decoded.bytes() > allowed {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, RatioExceeded));
        }
        Ok(n)
    }
}

/// An opened source: the decoded stream and its running digests.
pub struct Opened {
    /// Decoded bytes.
    pub reader: Box<dyn BufRead>,
    received: Shared,
    decoded: Option<Shared>,
}

impl Opened {
    /// Digest of the bytes as received, after the stream was read to its end.
    pub fn received(&self) -> StreamDigest {
        self.received.borrow().clone()
    }

    /// Digest of the decoded bytes; equal to the received one for a plain file.
    pub fn decoded(&self) -> StreamDigest {
        self.decoded
            .as_ref()
            .map_or_else(|| self.received(), |d| d.borrow().clone())
    }

    /// A handle on the count of received bytes, for progress.
    pub fn received_bytes(&self) -> u64 {
        self.received.borrow().bytes()
    }
}

/// Opens a file; `digests` switches the hashing on (the first pass needs it, later ones do not).
///
/// # Errors
/// Whatever the system says, without the path.
pub fn open(path: &Path, max_ratio: u64, digests: bool) -> io::Result<Opened> {
    // A folder that cannot be listed; or a pipe or a device, which could block for ever and gives
    // its bytes only once, while the search reads a source several times.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    opened(File::open(path)?, max_ratio, digests)
}

fn opened(file: impl Read + 'static, max_ratio: u64, digests: bool) -> io::Result<Opened> {
    let fresh = || {
        Rc::new(RefCell::new(StreamDigest {
            enabled: digests,
            ..Default::default()
        }))
    };
    let received = fresh();
    let counted = Counted {
        inner: file,
        digest: received.clone(),
    };
    let mut raw = BufReader::with_capacity(BUFFER_BYTES, counted);
    let magic = raw.fill_buf()?;
    let guard = |inner: Box<dyn Read>| {
        let decoded = fresh();
        let guarded = RatioGuard {
            inner,
            received: received.clone(),
            decoded: decoded.clone(),
            max_ratio,
        };
        (
            Box::new(BufReader::with_capacity(BUFFER_BYTES, guarded)),
            decoded,
        )
    };
    if magic.starts_with(&[0x1f, 0x8b]) {
        let (reader, decoded) = guard(Box::new(flate2::bufread::MultiGzDecoder::new(raw)));
        return Ok(Opened {
            reader,
            received: received.clone(),
            decoded: Some(decoded),
        });
    }
    // Frames start with the zstd magic or, for skippable ones, with 5x 2a 4d 18.
    let skippable =
        magic.len() >= 4 && magic[0] & 0xf0 == 0x50 && magic[1..4] == [0x2a, 0x4d, 0x18];
    if magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || skippable {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(raw)?;
        decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
        let (reader, decoded) = guard(Box::new(decoder));
        return Ok(Opened {
            reader,
            received: received.clone(),
            decoded: Some(decoded),
        });
    }
    Ok(Opened {
        reader: Box::new(raw),
        received,
        decoded: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        e.write_all(data).expect("memory");
        e.finish().expect("memory")
    }

    fn read_all(bytes: Vec<u8>, ratio: u64) -> (io::Result<usize>, Vec<u8>, Opened) {
        let mut opened = opened(io::Cursor::new(bytes), ratio, true).expect("opens");
        let mut out = Vec::new();
        let result = opened.reader.read_to_end(&mut out);
        (result, out, opened)
    }

    #[test]
    fn all_members_and_frames_are_read() {
        let two_members = [gzip(b"one\n"), gzip(b"two\n")].concat();
        let two_frames = [
            zstd::encode_all(&b"one\n"[..], 1).expect("memory"),
            zstd::encode_all(&b"two\n"[..], 1).expect("memory"),
        ]
        .concat();
        for bytes in [two_members, two_frames, b"one\ntwo\n".to_vec()] {
            let received = bytes.len() as u64;
            let (result, out, opened) = read_all(bytes, 1000);
            assert_eq!((result.ok(), out.as_slice()), (Some(8), &b"one\ntwo\n"[..]));
            assert_eq!(opened.received().bytes(), received);
            // printf 'one\ntwo\n' | sha256sum
            let digest = "c3f9c8c283a2b1f2f1896f27a01cbe3cddc0c9d93f752e4639035a0f5b36f6e8";
            assert_eq!(opened.decoded().sha256(), digest);
        }
    }

    #[test]
    fn a_cut_member_is_an_error_after_its_data() {
        let mut bytes = gzip(&b"line\n".repeat(1000));
        bytes.truncate(bytes.len() - 6);
        let (result, _, _) = read_all(bytes, 1000);
        assert!(result.is_err());
    }

    #[test]
    fn a_bomb_is_stopped() {
        let zeros = vec![0u8; 80 << 20];
        let (result, out, _) = read_all(zstd::encode_all(&zeros[..], 1).expect("memory"), 10);
        let error = result.expect_err("ratio");
        assert!(
            error.get_ref().is_some_and(|e| e.is::<RatioExceeded>()),
            "{error}"
        );
        assert!(out.len() < 80 << 20);
    }
}
