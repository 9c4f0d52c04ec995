//! The directory of a zip archive: which entries there are, where, and how they are packed. Zip64
//! and archives behind other data (self-extracting ones) included.

use crate::pipeline::bytes::SharedBytes;
use std::io;

/// Fixed part of the end record.
const END_BYTES: usize = 22;
/// Its magic.
const END_MAGIC: u32 = 0x0605_4b50;
/// Longest comment behind it.
const MOST_COMMENT_BYTES: u64 = 65_535;
/// Fixed part of an entry of the directory, and its magic.
const CENTRAL_BYTES: usize = 46;
const CENTRAL_MAGIC: u32 = 0x0201_4b50;
/// Fixed part of the header before an entry's data, and its magic.
const LOCAL_BYTES: usize = 30;
const LOCAL_MAGIC: u32 = 0x0403_4b50;
/// Bytes of a name that are kept; what is behind them tells nobody anything.
const MOST_NAME_BYTES: usize = 4096;
/// Sizes of this value stand in the zip64 field.
const IN_ZIP64: u32 = u32::MAX;

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZipEntry {
    /// Its path, as written.
    pub name: Vec<u8>,
    /// How it is packed: 0 not at all, 8 deflate.
    pub method: u16,
    /// Whether it is encrypted.
    pub encrypted: bool,
    /// Whether it is a file; folders and links are none.
    pub kind: ZipKind,
    /// CRC-32 of its bytes.
    pub crc: u32,
    /// Bytes as packed.
    pub stored: u64,
    /// Bytes unpacked, as the directory says.
    pub size: u64,
    /// Where its header lies.
    pub header: u64,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZipKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
}

/// Whether bytes begin as a zip archive does.
pub fn is_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

/// Little-endian fields of a record.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u16(&self, at: usize) -> Option<u16> {
        Some(u16::from_le_bytes(*self.0.get(at..)?.first_chunk()?))
    }

    fn u32(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(*self.0.get(at..)?.first_chunk()?))
    }

    fn u64(&self, at: usize) -> Option<u64> {
        Some(u64::from_le_bytes(*self.0.get(at..)?.first_chunk()?))
    }
}

/// Where the directory lies.
struct Directory {
    offset: u64,
    entries: u64,
    /// Bytes before the archive.
    before: u64,
}

/// The entries in the order of the directory, at most `most` of them; and whether there are more.
///
/// # Errors
/// `InvalidData` where the directory is damaged, `UnexpectedEof` where none is at the end; those
/// of the medium.
pub fn directory(bytes: &SharedBytes, most: usize) -> io::Result<(Vec<ZipEntry>, bool)> {
    let directory = find(bytes)?;
    let mut at = directory.offset;
    let mut entries = Vec::new();
    for number in 0..directory.entries {
        if entries.len() >= most {
            return Ok((entries, true));
        }
        let mut fixed = [0u8; CENTRAL_BYTES];
        exactly(bytes, at, &mut fixed)?;
        let fields = Fields(&fixed);
        let lengths = [28, 30, 32].map(|at| usize::from(fields.u16(at).unwrap_or(0)));
        let mut rest = vec![0u8; lengths.iter().sum()];
        exactly(bytes, at + CENTRAL_BYTES as u64, &mut rest)?;
        let entry = entry(&fields, &rest, lengths, directory.before);
        entries.push(entry.ok_or_else(|| damaged(&format!("entry {number} of the directory")))?);
        at += (CENTRAL_BYTES + rest.len()) as u64;
    }
    Ok((entries, false))
}

fn entry(fields: &Fields<'_>, rest: &[u8], lengths: [usize; 3], before: u64) -> Option<ZipEntry> {
    if fields.u32(0)? != CENTRAL_MAGIC {
        return None;
    }
    let name = rest.get(..lengths[0])?;
    let extra = rest.get(lengths[0]..lengths[0] + lengths[1])?;
    let mut sizes = [fields.u32(24)?, fields.u32(20)?, fields.u32(42)?].map(u64::from);
    if sizes.contains(&u64::from(IN_ZIP64)) {
        let large = zip64(extra)?;
        let mut at = 0;
        for size in &mut sizes {
            if *size == u64::from(IN_ZIP64) {
                *size = large.u64(at)?;
                at += 8;
            }
        }
    }
    let [size, stored, header] = sizes;
    // The upper half holds the Unix mode where a Unix wrote it.
    let unix = fields.u16(4)? >> 8 == 3;
    let mode = fields.u32(38)? >> 16;
    Some(ZipEntry {
        name: name[..name.len().min(MOST_NAME_BYTES)].to_vec(),
        method: fields.u16(10)?,
        encrypted: fields.u16(8)? & 1 != 0,
        kind: match mode & 0o170_000 {
            0o120_000 if unix => ZipKind::Link,
            _ if name.ends_with(b"/") => ZipKind::Folder,
            _ => ZipKind::File,
        },
        crc: fields.u32(16)?,
        stored,
        size,
        header: header.checked_add(before)?,
    })
}

/// The field of large sizes among the extra ones.
fn zip64(extra: &[u8]) -> Option<Fields<'_>> {
    let mut rest = extra;
    loop {
        let fields = Fields(rest);
        let length = usize::from(fields.u16(2)?);
        let body = rest.get(4..4 + length)?;
        if fields.u16(0)? == 1 {
            return Some(Fields(body));
        }
        rest = &rest[4 + length..];
    }
}

fn find(bytes: &SharedBytes) -> io::Result<Directory> {
    let length = bytes.length();
    let tail_start = length.saturating_sub(MOST_COMMENT_BYTES + END_BYTES as u64);
    let mut tail = vec![0u8; (length - tail_start) as usize];
    exactly(bytes, tail_start, &mut tail)?;
    let magic = END_MAGIC.to_le_bytes();
    // The last one whose comment ends with the file; a comment may hold the magic.
    let end = memchr::memmem::rfind_iter(&tail, &magic)
        .find(|&at| {
            let comment = Fields(&tail[at..]).u16(20).map(usize::from);
            comment.is_some_and(|c| at + END_BYTES + c <= tail.len())
        })
        .ok_or_else(|| {
            io::Error::new(io::ErrorKind::UnexpectedEof, "no zip directory at the end")
        })?;
    let fields = Fields(&tail[end..]);
    let end_at = tail_start + end as u64;
    let small = (|| {
        Some((
            u64::from(fields.u16(10)?),
            u64::from(fields.u32(12)?),
            u64::from(fields.u32(16)?),
        ))
    })();
    let (entries, size, offset) = small.ok_or_else(|| damaged("end record"))?;
    let large = entries == 0xffff || [size, offset].contains(&u64::from(IN_ZIP64));
    if large && let Some(directory) = find_zip64(bytes, end_at)? {
        return Ok(directory);
    }
    placed(entries, size, offset, end_at)
}

/// The directory ends where the end record starts; what its offset lacks lies before the archive.
fn placed(entries: u64, size: u64, offset: u64, end: u64) -> io::Result<Directory> {
    let start = end.checked_sub(size);
    let before = start.and_then(|start| start.checked_sub(offset));
    match (start, before) {
        (Some(offset), Some(before)) => Ok(Directory {
            offset,
            entries,
            before,
        }),
        _ => Err(damaged("end record")),
    }
}

fn find_zip64(bytes: &SharedBytes, end: u64) -> io::Result<Option<Directory>> {
    const LOCATOR_BYTES: u64 = 20;
    const LOCATOR_MAGIC: u32 = 0x0706_4b50;
    const RECORD_BYTES: u64 = 56;
    const RECORD_MAGIC: u32 = 0x0606_4b50;
    let Some(at) = end.checked_sub(LOCATOR_BYTES) else {
        return Ok(None);
    };
    let mut locator = [0u8; LOCATOR_BYTES as usize];
    exactly(bytes, at, &mut locator)?;
    if Fields(&locator).u32(0) != Some(LOCATOR_MAGIC) {
        return Ok(None);
    }
    // The record stands right before its locator, unless somebody put something into it.
    let said = Fields(&locator).u64(8).unwrap_or(0);
    for place in [at.saturating_sub(RECORD_BYTES), said] {
        let mut record = [0u8; RECORD_BYTES as usize];
        if exactly(bytes, place, &mut record).is_err() {
            continue;
        }
        let fields = Fields(&record);
        if fields.u32(0) == Some(RECORD_MAGIC)
            && let (Some(entries), Some(size), Some(offset)) =
                (fields.u64(32), fields.u64(40), fields.u64(48))
        {
            return placed(entries, size, offset, place).map(Some);
        }
    }
    Err(damaged("zip64 end record"))
}

/// Where an entry's packed bytes start.
///
/// # Errors
/// `InvalidData` where no header is; those of the medium.
pub fn data_start(bytes: &SharedBytes, header: u64) -> io::Result<u64> {
    let mut fixed = [0u8; LOCAL_BYTES];
    exactly(bytes, header, &mut fixed)?;
    let fields = Fields(&fixed);
    match (fields.u32(0), fields.u16(26), fields.u16(28)) {
        (Some(LOCAL_MAGIC), Some(name), Some(extra)) => header
            .checked_add(LOCAL_BYTES as u64 + u64::from(name) + u64::from(extra))
            .ok_or_else(|| damaged("header of an entry")),
        _ => Err(damaged("header of an entry")),
    }
}

/// Entries that share bytes with another: a file that unpacks to far more than it holds is made
/// that way, an honest one never.
pub fn overlapping(entries: &[ZipEntry]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|&n| (entries[n].header, n));
    let mut overlaps = vec![false; entries.len()];
    let (mut end, mut last) = (0u64, None::<usize>);
    for n in order {
        let entry = &entries[n];
        if let Some(last) = last
            && entry.header < end
        {
            overlaps[n] = true;
            overlaps[last] = true;
        }
        let own = entry
            .header
            .saturating_add((LOCAL_BYTES + entry.name.len()) as u64)
            .saturating_add(entry.stored);
        if own >= end {
            (end, last) = (own, Some(n));
        }
    }
    overlaps
}

fn exactly(bytes: &SharedBytes, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        match bytes.read_at(offset + filled as u64, &mut buffer[filled..]) {
            Ok(0) => return Err(damaged("place of a record")),
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("zip: {what} is damaged"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::packer::zip as archive;
    use super::*;
    use std::sync::Arc;

    fn shared(bytes: Vec<u8>) -> SharedBytes {
        Arc::new(bytes)
    }

    #[test]
    fn entries_wherever_the_archive_lies() {
        for large in [false, true] {
            let zip = archive(
                &[
                    ("a.jsonl", b"one\n"),
                    ("b/c.log", &[b'x'; 4000]),
                    ("folder/", b""),
                ],
                large,
            );
            for before in [0usize, 777] {
                let bytes = shared([vec![b'#'; before], zip.clone()].concat());
                let (entries, more) = directory(&bytes, 100).expect("reads");
                assert!(!more && !overlapping(&entries).contains(&true));
                let seen: Vec<_> = entries
                    .iter()
                    .map(|e| (e.name.as_slice(), e.method, e.kind, e.size))
                    .collect();
                let expected = [
                    (&b"a.jsonl"[..], 8, ZipKind::File, 4),
                    (b"b/c.log", 0, ZipKind::File, 4000),
                    (b"folder/", 8, ZipKind::Folder, 0),
                ];
                assert_eq!(seen, expected);
                let start = data_start(&bytes, entries[1].header).expect("a header");
                let mut body = [0u8; 4];
                exactly(&bytes, start, &mut body).expect("there");
                assert_eq!(&body, b"xxxx");
                let (first, more) = directory(&bytes, 1).expect("reads");
                assert_eq!((first.len(), more), (1, true));
            }
        }
    }

    #[test]
    fn archives_of_another_writer() {
        // Written by Python's zipfile: into a pipe, so that sizes stand behind the data, and with
        // a comment that looks like an end record.
        for bytes in [
            &include_bytes!("testdata/streamed.zip")[..],
            include_bytes!("testdata/commented.zip"),
        ] {
            let bytes = shared(bytes.to_vec());
            let (entries, _) = directory(&bytes, 9).expect("reads");
            let seen: Vec<_> = entries.iter().map(|e| (&*e.name, e.size)).collect();
            assert_eq!(seen, [(&b"a.jsonl"[..], 4), (b"b/c.log", 4000)]);
            for entry in &entries {
                assert!(data_start(&bytes, entry.header).is_ok());
            }
        }
    }

    #[test]
    fn no_damage_goes_without_an_error_or_panics() {
        let zip = archive(&[("a", b"one\n"), ("b", b"two\n")], true);
        for cut in 0..zip.len() {
            assert!(directory(&shared(zip[..cut].to_vec()), 9).is_err(), "{cut}");
        }
        for at in 0..zip.len() {
            let mut bytes = zip.clone();
            bytes[at] ^= 0xff;
            if let Ok((entries, _)) = directory(&shared(bytes.clone()), 9) {
                for entry in entries {
                    let _ = data_start(&shared(bytes.clone()), entry.header);
                }
            }
        }
    }

    #[test]
    fn entries_over_one_another_are_told() {
        let at = |header, stored| ZipEntry {
            name: Vec::new(),
            method: 8,
            encrypted: false,
            kind: ZipKind::File,
            crc: 0,
            stored,
            size: 0,
            header,
        };
        let apart = [at(0, 70), at(100, 70), at(200, 5)];
        assert_eq!(overlapping(&apart), [false, false, false]);
        let over = [at(0, 70), at(100, 500), at(200, 5), at(900, 5), at(900, 5)];
        assert_eq!(overlapping(&over), [false, true, true, true, true]);
    }
}
