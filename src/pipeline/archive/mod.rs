//! Archives: zip and tar (also compressed, also one inside another), told by content. Each file in
//! one is a source of its own; nothing is unpacked onto a disk by name.
//!
//! [`list`] walks an archive once and says where its files lie; [`reach`] opens one of them. A
//! compressed tar can only be read from front to back: what was read up to is kept, so that files
//! read in their order cost one pass over the archive, not one each.

mod list;
#[cfg(test)]
mod packer;
mod stash;
pub mod tar;
pub mod zip;

pub use list::list;
pub use stash::Stash;

use super::bytes::{Exactly, InOrder, Part, SharedBytes, Skip, put_aside};
use super::discover::Place;
use super::unpack::{Meter, Packing, RatioGuard, buffered, coding, decoder};
use pentimento_store::columnar::RandomBytes;
use stash::{Kept, Key, Lent};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

/// Sorts of archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// zip.
    Zip,
    /// tar, compressed or not.
    Tar,
}

impl Kind {
    /// The name in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Zip => "zip",
            Kind::Tar => "tar",
        }
    }
}

/// The way from an archive to one of its files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// A part of the decoded archive.
    Tar {
        /// Where it starts.
        offset: u64,
        /// How many bytes.
        size: u64,
    },
    /// An entry with a header of its own.
    Zip {
        /// Where the header starts.
        header: u64,
        /// Bytes as packed.
        stored: u64,
        /// How it is packed.
        packing: Packing,
    },
}

impl Step {
    /// Bytes that the file takes in its archive.
    pub fn stored(&self) -> u64 {
        match self {
            Step::Tar { size, .. } => *size,
            Step::Zip { stored, .. } => *stored,
        }
    }
}

/// How archives are opened.
#[derive(Clone, Debug)]
pub struct Unpacking {
    /// Greatest ratio of decoded to compressed bytes.
    pub max_ratio: u64,
    /// Folder for copies of what can only be read at any place; else that of the system.
    pub scratch: Option<PathBuf>,
    /// What was opened and may be read on.
    pub stash: Stash,
}

/// Bytes at any place, or only from front to back.
pub enum Level {
    /// At any place.
    Bytes(SharedBytes),
    /// From front to back.
    Stream(Box<dyn Read + Send>),
}

impl Level {
    /// From front to back.
    pub fn reader(self) -> Box<dyn Read + Send> {
        match self {
            Level::Bytes(bytes) => Box::new(InOrder::new(bytes)),
            Level::Stream(stream) => stream,
        }
    }
}

/// A file of an archive, as stored there.
pub struct Reached {
    /// Its bytes.
    pub level: Level,
    /// How they are packed, where they are.
    pub packing: Option<Packing>,
}

/// Opens the file at the end of the way; without steps, the archive itself.
///
/// # Errors
/// Those of the medium; `InvalidData`, `UnexpectedEof` and `FileTooLarge` where an archive on the
/// way is damaged, ends too soon, or unpacks to too much.
pub fn reach(root: &Arc<Place>, steps: &[Step], unpacking: &Unpacking) -> io::Result<Reached> {
    let Some((last, before)) = steps.split_last() else {
        return Ok(Reached {
            level: Level::Bytes(super::open::place_bytes(root)?),
            packing: None,
        });
    };
    let key = Key::new(root, before);
    match *last {
        Step::Tar { offset, size } => Ok(Reached {
            level: in_tar(&key, offset, size, unpacking)?,
            packing: None,
        }),
        Step::Zip {
            header,
            stored,
            packing,
        } => {
            let bytes = at_any_place(&key, unpacking)?;
            let start = zip::data_start(&bytes, header)?;
            Ok(Reached {
                level: part(bytes, start, stored),
                packing: Some(packing),
            })
        }
    }
}

/// An archive with its packing and compression taken off.
fn decoded(key: &Key, unpacking: &Unpacking) -> io::Result<Level> {
    let reached = reach(&key.root, &key.steps, unpacking)?;
    let guard = |inner: Box<dyn Read + Send>, received: &Meter| {
        let meter = Meter::new(false);
        Box::new(RatioGuard::new(
            inner,
            received.clone(),
            meter,
            unpacking.max_ratio,
        ))
    };
    if let (Level::Bytes(bytes), None) = (&reached.level, reached.packing) {
        let mut head = [0u8; 4];
        let n = bytes.read_at(0, &mut head)?;
        if coding(&head[..n]).is_none() {
            return Ok(reached.level);
        }
    }
    let received = Meter::new(false);
    let counted = super::unpack::Counted::new(reached.level.reader(), received.clone());
    let mut raw: Box<dyn io::BufRead + Send> = Box::new(buffered(counted));
    if let Some(packing) = reached.packing {
        raw = Box::new(buffered(guard(packing.unpacked(raw)?, &received)));
    }
    let stream: Box<dyn Read + Send> = match coding(raw.fill_buf()?) {
        Some(coding) => guard(decoder(coding, raw)?, &received),
        None => Box::new(raw),
    };
    Ok(Level::Stream(stream))
}

/// A part of an archive; where the archive ends in it, what there is and then an error.
fn part(bytes: SharedBytes, start: u64, length: u64) -> Level {
    let part = Part::of(bytes, start, length);
    if part.length() == length {
        return Level::Bytes(Arc::new(part));
    }
    Level::Stream(Box::new(Exactly::new(InOrder::new(Arc::new(part)), length)))
}

/// A part of a tar.
fn in_tar(key: &Key, offset: u64, size: u64, unpacking: &Unpacking) -> io::Result<Level> {
    let (mut reader, mut at) = match unpacking.stash.take(key) {
        Some(Kept::Read { reader, at }) if at <= offset => (reader, at),
        _ => match decoded(key, unpacking)? {
            Level::Bytes(bytes) => {
                return Ok(part(bytes, offset, size));
            }
            Level::Stream(reader) => (reader, 0),
        },
    };
    let passed = reader.skip(offset - at)?;
    at += passed;
    if at < offset {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let lent = Lent::new(reader, at, size, key.clone(), unpacking.stash.clone());
    Ok(Level::Stream(Box::new(lent)))
}

/// An archive whose parts can be read in any order, put aside for that where needed.
fn at_any_place(key: &Key, unpacking: &Unpacking) -> io::Result<SharedBytes> {
    if let Some(Kept::Aside(bytes)) = unpacking.stash.take(key) {
        unpacking.stash.put(key.clone(), Kept::Aside(bytes.clone()));
        return Ok(bytes);
    }
    match decoded(key, unpacking)? {
        Level::Bytes(bytes) => Ok(bytes),
        Level::Stream(mut stream) => {
            let bytes = put_aside(&mut stream, unpacking.scratch.as_deref())?;
            drop(stream);
            unpacking.stash.put(key.clone(), Kept::Aside(bytes.clone()));
            Ok(bytes)
        }
    }
}

#[cfg(test)]
mod tests;
