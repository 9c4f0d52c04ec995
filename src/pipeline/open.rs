//! Opening a source: found where it lies, unpacked by content, digested, guarded against bombs.

use super::archive::tar::is_tar;
use super::archive::zip::is_zip;
use super::archive::{Level, Reached, Unpacking, reach};
use super::bytes::{FileBytes, SharedBytes, put_aside};
use super::discover::Place;
use super::remote;
use super::scan::{ScanSettings, break_reason};
pub use super::unpack::StreamDigest;
use super::unpack::{Counted, Meter, RatioGuard, buffered, coding, decoder};
use pentimento_core::exchange::RejectReason;
use pentimento_store::columnar::{JsonRows, MAGIC};
use std::io::{self, BufRead, Read};
use std::path::Path;
use std::sync::Arc;

/// An opened source: the decoded stream and its running digests.
pub struct Opened {
    /// Decoded bytes.
    pub reader: Box<dyn BufRead + Send>,
    received: Meter,
    decoded: Option<Meter>,
}

impl Opened {
    /// Digest of the bytes as received, after the stream was read to its end.
    pub fn received(&self) -> StreamDigest {
        self.received.digest()
    }

    /// Digest of the decoded bytes; equal to the received one for a plain file.
    pub fn decoded(&self) -> StreamDigest {
        self.decoded.as_ref().unwrap_or(&self.received).digest()
    }

    /// The count of received bytes, for progress.
    pub fn received_bytes(&self) -> u64 {
        self.received.bytes()
    }
}

/// How a source is opened.
#[derive(Clone, Copy, Debug)]
struct Opening<'a> {
    max_ratio: u64,
    /// Whether the hashing is on: the first pass needs it, later ones do not.
    digests: bool,
    /// Folder for copies of what can only be read at any place.
    scratch: Option<&'a Path>,
}

/// The bytes of a file or an object.
///
/// # Errors
/// Those of the medium; `Unsupported` for a place that has none of its own.
pub fn place_bytes(place: &Place) -> io::Result<SharedBytes> {
    match place {
        Place::File(path) => Ok(Arc::new(FileBytes::open(path)?)),
        Place::Object(object) => remote::open(object),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Opens a source.
///
/// # Errors
/// Why it cannot be read.
pub fn open(place: &Place, settings: &ScanSettings, digests: bool) -> Result<Opened, RejectReason> {
    open_place(place, &settings.unpacking, &settings.stdin_copy, digests)
}

/// As [`open`], where there is no pass. `stdin_copy`: where standard input was put aside.
///
/// # Errors
/// Why it cannot be read.
pub fn open_place(
    place: &Place,
    unpacking: &Unpacking,
    stdin_copy: &Path,
    digests: bool,
) -> Result<Opened, RejectReason> {
    let opening = Opening {
        max_ratio: unpacking.max_ratio,
        digests,
        scratch: unpacking.scratch.as_deref(),
    };
    let plain = |bytes: SharedBytes| Reached {
        level: Level::Bytes(bytes),
        packing: None,
    };
    let reached = match place {
        Place::File(_) | Place::Object(_) => place_bytes(place).map(plain),
        Place::Stdin => FileBytes::open(stdin_copy).map(|b| plain(Arc::new(b))),
        Place::Member { of, steps } => reach(of, steps, unpacking),
        Place::Archive { of, .. } => reach(of, &[], unpacking),
        Place::Refused(trouble) => return Err(trouble.reason),
    };
    let opened = match place {
        // It is read for its digest only.
        Place::Archive { .. } => {
            reached.and_then(|r| layers(r, opening).map(Layers::into_received))
        }
        _ => reached.and_then(|r| opened(r, opening)),
    };
    opened.map_err(|error| match error.kind() {
        io::ErrorKind::Unsupported => RejectReason::Unsupported,
        kind => break_reason(kind),
    })
}

/// A source with its packing and compression still on.
struct Layers {
    raw: Box<dyn BufRead + Send>,
    received: Meter,
    reached: Option<SharedBytes>,
    packing: Option<super::unpack::Packing>,
}

impl Layers {
    fn into_received(self) -> Opened {
        Opened {
            reader: self.raw,
            received: self.received,
            decoded: None,
        }
    }
}

fn layers(reached: Reached, opening: Opening<'_>) -> io::Result<Layers> {
    let received = Meter::new(opening.digests);
    let bytes = match &reached.level {
        Level::Bytes(bytes) => Some(bytes.clone()),
        Level::Stream(_) => None,
    };
    let counted = Counted::new(reached.level.reader(), received.clone());
    Ok(Layers {
        raw: Box::new(buffered(counted)),
        received,
        reached: bytes,
        packing: reached.packing,
    })
}

fn opened(reached: Reached, opening: Opening<'_>) -> io::Result<Opened> {
    let Layers {
        mut raw,
        received,
        reached,
        packing,
    } = layers(reached, opening)?;
    let mut decoded = None;
    let mut guard = |inner: Box<dyn Read + Send>| {
        let meter = Meter::new(opening.digests);
        decoded = Some(meter.clone());
        let guarded = RatioGuard::new(inner, received.clone(), meter, opening.max_ratio);
        Box::new(buffered(guarded)) as Box<dyn BufRead + Send>
    };
    if let Some(packing) = packing {
        raw = guard(packing.unpacked(raw)?);
    }
    if let Some(coding) = coding(raw.fill_buf()?) {
        raw = guard(decoder(coding, raw)?);
    }
    let head = raw.fill_buf()?;
    if head.starts_with(MAGIC) {
        let whole = reached.filter(|_| decoded.is_none());
        return opened_rows(raw, whole, received, opening);
    }
    if is_zip(head) || is_tar(head) {
        // Archives are inputs of their own; this one came through standard input, or in a wrapping
        // that archives do not have.
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(Opened {
        reader: raw,
        received,
        decoded,
    })
}

/// Rows of a Parquet file. `whole` are its bytes where they can be read at any place as they are.
fn opened_rows(
    mut raw: Box<dyn BufRead + Send>,
    whole: Option<SharedBytes>,
    received: Meter,
    opening: Opening<'_>,
) -> io::Result<Opened> {
    let bytes = match whole {
        Some(bytes) if opening.digests => {
            io::copy(&mut raw, &mut io::sink())?;
            bytes
        }
        Some(bytes) => {
            received.add_bytes(bytes.length().saturating_sub(received.bytes()));
            bytes
        }
        None => put_aside(&mut raw, opening.scratch)?,
    };
    let decoded = Meter::new(opening.digests);
    let rows = JsonRows::open(bytes)?;
    let guarded = RatioGuard::new(rows, received.clone(), decoded.clone(), opening.max_ratio);
    Ok(Opened {
        reader: Box::new(buffered(guarded)),
        received,
        decoded: Some(decoded),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::unpack::RatioExceeded;
    use std::io::Write;

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut e = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        e.write_all(data).expect("memory");
        e.finish().expect("memory")
    }

    fn read_all(bytes: Vec<u8>, ratio: u64) -> (io::Result<usize>, Vec<u8>, Opened) {
        let reached = Reached {
            level: Level::Bytes(Arc::new(bytes)),
            packing: None,
        };
        let opening = Opening {
            max_ratio: ratio,
            digests: true,
            scratch: None,
        };
        let mut opened = opened(reached, opening).expect("opens");
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
