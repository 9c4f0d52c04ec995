//! What an archive holds: each file becomes an input of its own, and what cannot be read becomes
//! one that says why.

use super::stash::Key;
use super::tar::{BLOCK_BYTES, TarKind, TarWalk, is_tar};
use super::zip::{ZipEntry, ZipKind, data_start, directory, is_zip, overlapping};
use super::{Kind, Level, Step, Unpacking, decoded};
use crate::pipeline::bytes::{InOrder, Part, SharedBytes, Skip, put_aside};
use crate::pipeline::discover::{Input, Place, Trouble};
use crate::pipeline::scan::break_reason;
use crate::pipeline::unpack::{Counted, Meter, Packing, RatioGuard, buffered, coding, decoder};
use pentimento_core::exchange::RejectReason;
use std::io::{self, Read};
use std::sync::Arc;

/// Most entries of an archive, those of archives inside it included.
pub const MOST_ENTRIES: usize = 100_000;
/// Most bytes that the entries of an archive may have together (1 TiB), as its headers say.
const MOST_BYTES: u64 = 1 << 40;
/// Archives inside archives: so many levels, the outermost one included.
const MOST_LEVELS: usize = 2;
/// Bytes of a file that are looked at to tell whether it is an archive itself.
const HEAD_BYTES: u64 = 1 << 10;
/// The same where it is compressed: enough for a decoder to give a tar header.
const PACKED_HEAD_BYTES: u64 = 64 << 10;
/// Longest name that is shown, in characters.
const MOST_NAME_CHARS: usize = 512;

/// The archive itself, for its digest, and what it holds in its order; `None` where the place holds
/// no archive, or nothing that can be read.
pub fn list(place: &Place, shown: &str, unpacking: &Unpacking) -> Option<Vec<Input>> {
    let root = Arc::new(place.clone());
    let bytes = crate::pipeline::open::place_bytes(place).ok()?;
    let kind = kind_of(&head_of(InOrder::new(bytes)).ok()?)?;
    let mut listing = Listing {
        root: root.clone(),
        unpacking,
        found: Vec::new(),
        entries: 0,
        bytes: 0,
        trouble: None,
    };
    let way = Way {
        steps: Vec::new(),
        shown: shown.to_owned(),
    };
    match (kind, decoded(&Key::new(&root, &[]), unpacking)) {
        (Kind::Zip, Ok(Level::Bytes(bytes))) => listing.zip(&bytes, &way),
        (_, Ok(Level::Bytes(bytes))) => listing.tar(TarWalk::new(InOrder::new(bytes)), &way),
        (_, Ok(Level::Stream(stream))) => listing.tar(TarWalk::new(stream), &way),
        (_, Err(error)) => listing.stop(&way, 0, &error),
    }
    let archive = Input {
        display: shown.to_owned(),
        place: Place::Archive {
            of: root,
            kind,
            trouble: listing.trouble,
        },
    };
    let mut inputs = vec![archive];
    inputs.append(&mut listing.found);
    Some(inputs)
}

/// The sort of archive that a file begins with.
fn kind_of(head: &[u8]) -> Option<Kind> {
    if is_zip(head) {
        return Some(Kind::Zip);
    }
    if is_tar(head) {
        return Some(Kind::Tar);
    }
    let mut unpacked = Vec::with_capacity(BLOCK_BYTES);
    let reader = decoder(coding(head)?, head).ok()?;
    // The head ends in the middle; what was decoded until then counts.
    let _ = reader.take(BLOCK_BYTES as u64).read_to_end(&mut unpacked);
    is_tar(&unpacked).then_some(Kind::Tar)
}

/// The first bytes of a file, more of them where it is compressed.
fn head_of(mut reader: impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    (&mut reader).take(HEAD_BYTES).read_to_end(&mut head)?;
    if coding(&head).is_some() {
        (&mut reader)
            .take(PACKED_HEAD_BYTES)
            .read_to_end(&mut head)?;
    }
    Ok(head)
}

/// Where a listing is.
struct Way {
    steps: Vec<Step>,
    shown: String,
}

impl Way {
    fn to(&self, name: &[u8], step: Step) -> Way {
        let mut steps = self.steps.clone();
        steps.push(step);
        Way {
            steps,
            shown: format!("{}!{}", self.shown, shown_name(name)),
        }
    }
}

struct Listing<'a> {
    root: Arc<Place>,
    unpacking: &'a Unpacking,
    found: Vec<Input>,
    entries: usize,
    bytes: u64,
    /// Why the outermost archive was not read to its end.
    trouble: Option<Trouble>,
}

impl Listing<'_> {
    /// Counts an entry; false where there are too many.
    fn admit(&mut self, offset: u64, size: u64) -> bool {
        self.entries += 1;
        self.bytes = self.bytes.saturating_add(size);
        let reason = if self.entries > MOST_ENTRIES {
            RejectReason::EntryLimit
        } else if self.bytes > MOST_BYTES {
            RejectReason::SizeLimit
        } else {
            return true;
        };
        self.trouble = Some(Trouble { offset, reason });
        false
    }

    /// An archive that cannot be read further.
    fn stop(&mut self, way: &Way, offset: u64, error: &io::Error) {
        let reason = break_reason(error.kind());
        if way.steps.is_empty() {
            self.trouble = Some(Trouble { offset, reason });
        } else {
            self.refuse(way.shown.clone(), offset, reason);
        }
    }

    fn refuse(&mut self, display: String, offset: u64, reason: RejectReason) {
        self.found.push(Input {
            display,
            place: Place::Refused(Trouble { offset, reason }),
        });
    }

    fn take(&mut self, way: Way) {
        self.found.push(Input {
            display: way.shown,
            place: Place::Member {
                of: self.root.clone(),
                steps: way.steps,
            },
        });
    }

    fn tar<R: Skip + Send>(&mut self, mut walk: TarWalk<R>, way: &Way) {
        loop {
            let entry = match walk.next_entry() {
                Ok(Some(entry)) => entry,
                Ok(None) => return,
                Err(error) => return self.stop(way, walk.offset(), &error),
            };
            if !self.admit(entry.offset, entry.size) {
                return;
            }
            if entry.kind == TarKind::Folder || is_hidden(&entry.name) {
                continue;
            }
            let step = Step::Tar {
                offset: entry.offset,
                size: entry.size,
            };
            let here = way.to(&entry.name, step);
            if entry.kind == TarKind::Other {
                self.refuse(here.shown, 0, RejectReason::NotAFile);
                continue;
            }
            // An entry that breaks off is told by the walk, and by whoever reads it.
            let head = head_of(&mut walk).unwrap_or_default();
            self.file(here, &head, &mut walk);
            if self.trouble.is_some() {
                return;
            }
        }
    }

    /// A file that begins with `head`; `rest` is what follows.
    fn file(&mut self, here: Way, head: &[u8], rest: &mut (dyn Read + Send)) {
        let Some(kind) = kind_of(head) else {
            return self.take(here);
        };
        if here.steps.len() >= MOST_LEVELS {
            return self.refuse(here.shown, 0, RejectReason::DepthLimit);
        }
        let mut whole = head.chain(rest);
        let listed = match kind {
            Kind::Zip => put_aside(&mut whole, self.unpacking.scratch.as_deref())
                .map(|bytes| self.zip(&bytes, &here)),
            Kind::Tar => {
                let stream = match coding(head) {
                    Some(coding) => self.guarded(whole, |raw| decoder(coding, raw)),
                    None => Ok(Box::new(whole) as Box<dyn Read + Send + '_>),
                };
                stream.map(|stream| self.tar(TarWalk::new(stream), &here))
            }
        };
        if let Err(error) = listed {
            self.stop(&here, 0, &error);
        }
    }

    /// Unpacks, but not to far more than there is.
    fn guarded<'r, R: Read + Send + 'r>(
        &self,
        raw: R,
        unpack: impl FnOnce(io::BufReader<Counted<R>>) -> io::Result<Box<dyn Read + Send + 'r>>,
    ) -> io::Result<Box<dyn Read + Send + 'r>> {
        let (received, unpacked) = (Meter::new(false), Meter::new(false));
        let inner = unpack(buffered(Counted::new(raw, received.clone())))?;
        let ratio = self.unpacking.max_ratio;
        Ok(Box::new(RatioGuard::new(inner, received, unpacked, ratio)))
    }

    fn zip(&mut self, bytes: &SharedBytes, way: &Way) {
        let (entries, more) = match directory(bytes, MOST_ENTRIES) {
            Ok(found) => found,
            Err(error) => return self.stop(way, 0, &error),
        };
        let overlaps = overlapping(&entries);
        for (entry, overlaps) in entries.iter().zip(overlaps) {
            if !self.admit(entry.header, entry.size) {
                return;
            }
            self.zip_entry(bytes, way, entry, overlaps);
            if self.trouble.is_some() {
                return;
            }
        }
        if more {
            self.trouble = Some(Trouble {
                offset: 0,
                reason: RejectReason::EntryLimit,
            });
        }
    }

    fn zip_entry(&mut self, bytes: &SharedBytes, way: &Way, entry: &ZipEntry, overlaps: bool) {
        if entry.kind == ZipKind::Folder || is_hidden(&entry.name) {
            return;
        }
        let packing = Packing {
            method: entry.method,
            size: entry.size,
            crc: entry.crc,
        };
        let step = Step::Zip {
            header: entry.header,
            stored: entry.stored,
            packing,
        };
        let here = way.to(&entry.name, step);
        let refused = if entry.kind == ZipKind::Link {
            Some(RejectReason::NotAFile)
        } else if entry.encrypted || !Packing::is_known(entry.method) {
            Some(RejectReason::Unsupported)
        } else if overlaps {
            Some(RejectReason::CorruptStream)
        } else {
            None
        };
        if let Some(reason) = refused {
            return self.refuse(here.shown, 0, reason);
        }
        let opened = data_start(bytes, entry.header).and_then(|start| {
            let part = Part::of(bytes.clone(), start, entry.stored);
            self.guarded(InOrder::new(Arc::new(part)), |raw| packing.unpacked(raw))
        });
        // An entry that breaks off is told by whoever reads it.
        match opened {
            Ok(mut reader) => {
                let head = head_of(&mut reader).unwrap_or_default();
                self.file(here, &head, &mut reader);
            }
            Err(_) => self.take(here),
        }
    }
}

/// Whether a file or a folder over it is hidden, or is what macOS adds: not read in folders either.
fn is_hidden(name: &[u8]) -> bool {
    name.split(|&b| b == b'/')
        .any(|part| part == b"__MACOSX" || part.starts_with(b".") && part != b"." && part != b"..")
}

/// A name from an archive, without what could mislead an eye or a terminal.
fn shown_name(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let text = text.strip_prefix("./").unwrap_or(&text);
    let safe = |c: char| {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
            || matches!(c, '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}');
        if c.is_control() || turns {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        }
    };
    text.chars().take(MOST_NAME_CHARS).map(safe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_harmless_and_hidden_files_hidden() {
        let cases: [(&[u8], &str); 4] = [
            (b"./logs/a.jsonl", "logs/a.jsonl"),
            (b"../../etc/passwd", "../../etc/passwd"),
            (b"a\x1b[2Jb\n", "a\u{fffd}[2Jb\u{fffd}"),
            ("x\u{202e}lnosj".as_bytes(), "x\u{fffd}lnosj"),
        ];
        for (name, shown) in cases {
            assert_eq!(shown_name(name), shown);
        }
        let hidden: [(&[u8], bool); 5] = [
            (b"./logs/a", false),
            (b".git/a", true),
            (b"logs/.a", true),
            (b"__MACOSX/a", true),
            (b"../a", false),
        ];
        for (name, expected) in hidden {
            assert_eq!(is_hidden(name), expected, "{name:?}");
        }
    }
}
