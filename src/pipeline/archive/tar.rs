//! Tar headers, as old tar, POSIX (ustar, pax) and GNU write them. Only names, kinds, sizes and
//! places are of interest: nothing is unpacked onto a disk.

use crate::pipeline::bytes::Skip;
use std::io::{self, Read};

/// A header or a unit of data, in bytes.
pub const BLOCK_BYTES: usize = 512;
/// Longest pax header or long name that is read (1 MiB).
const MOST_META_BYTES: u64 = 1 << 20;

/// An entry with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TarEntry {
    /// Its path, as written.
    pub name: Vec<u8>,
    /// What it is.
    pub kind: TarKind,
    /// Where its body starts in the decoded archive.
    pub offset: u64,
    /// Bytes of its body.
    pub size: u64,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TarKind {
    /// A file.
    File,
    /// A folder; it holds nothing of its own.
    Folder,
    /// A link, a device, a sparse file: nothing to read bytes of.
    Other,
}

/// Whether bytes begin with a tar header.
pub fn is_tar(head: &[u8]) -> bool {
    let Some(block) = head.first_chunk::<BLOCK_BYTES>() else {
        return false;
    };
    block[0] != 0 && checksum_fits(block)
}

fn checksum_fits(block: &[u8; BLOCK_BYTES]) -> bool {
    let sum: u64 = block
        .iter()
        .enumerate()
        // The field of the sum counts as blanks.
        .map(|(at, &b)| u64::from(if (148..156).contains(&at) { b' ' } else { b }))
        .sum();
    number(&block[148..156]) == Some(sum)
}

/// A number in octal digits, or in GNU's binary form for large ones.
fn number(field: &[u8]) -> Option<u64> {
    let (&first, rest) = field.split_first()?;
    if first == 0x80 {
        let small = rest.len().checked_sub(8)?;
        if rest[..small].iter().any(|&b| b != 0) {
            return None;
        }
        return rest[small..]
            .iter()
            .try_fold(0u64, |n, &b| n.checked_mul(256)?.checked_add(u64::from(b)));
    }
    let text = field.split(|&b| b == 0).next().unwrap_or_default();
    let digits = text.trim_ascii();
    digits.iter().try_fold(0u64, |n, &b| match b {
        b'0'..=b'7' => n.checked_mul(8)?.checked_add(u64::from(b - b'0')),
        _ => None,
    })
}

fn text(field: &[u8]) -> &[u8] {
    field.split(|&b| b == 0).next().unwrap_or_default()
}

/// Walks over an archive.
pub struct TarWalk<R> {
    reader: R,
    /// Offset of the next byte of the reader.
    at: u64,
    /// Offset of the next header.
    next: u64,
    /// Bytes left of the current body.
    left: u64,
}

/// What pax headers and long names say of the next entry.
#[derive(Default)]
struct Said {
    name: Option<Vec<u8>>,
    size: Option<u64>,
    sparse: bool,
}

impl<R: Skip> TarWalk<R> {
    /// Starts at the first header.
    pub fn new(reader: R) -> TarWalk<R> {
        TarWalk {
            reader,
            at: 0,
            next: 0,
            left: 0,
        }
    }

    /// Offset that was read up to.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// The next entry, whose body can be read then; `None` at the end.
    ///
    /// # Errors
    /// Those of the reader; `InvalidData` where no header is, `UnexpectedEof` where the archive
    /// ends inside an entry.
    pub fn next_entry(&mut self) -> io::Result<Option<TarEntry>> {
        let mut said = Said::default();
        loop {
            let Some(block) = self.header()? else {
                return Ok(None);
            };
            let size = number(&block[124..136]).ok_or_else(|| no_header(self.at))?;
            match block[156] {
                b'L' => said.name = Some(text(&self.meta(size)?).to_vec()),
                b'x' => read_pax(&self.meta(size)?, &mut said),
                // Global pax headers and GNU's long targets of links say nothing of a body.
                b'g' | b'K' => {
                    self.meta(size)?;
                }
                kind => return self.entry(&block, kind, size, said).map(Some),
            }
        }
    }

    fn entry(
        &mut self,
        block: &[u8; BLOCK_BYTES],
        kind: u8,
        size: u64,
        said: Said,
    ) -> io::Result<TarEntry> {
        let name = said.name.unwrap_or_else(|| header_name(block));
        let size = said.size.unwrap_or(size);
        let kind = match kind {
            b'5' => TarKind::Folder,
            // Old tars mark a folder by its name alone.
            0 | b'0' | b'7' if name.ends_with(b"/") => TarKind::Folder,
            0 | b'0' | b'7' if !said.sparse => TarKind::File,
            _ => TarKind::Other,
        };
        // Links and devices have no body, whatever their size says; a sparse file has one.
        let body = match (kind, block[156]) {
            (TarKind::Other, b'1'..=b'6') | (TarKind::Folder, _) => 0,
            _ => size,
        };
        let entry = TarEntry {
            name,
            kind,
            offset: self.at,
            size: body,
        };
        self.set_body(body)?;
        Ok(entry)
    }

    fn set_body(&mut self, size: u64) -> io::Result<()> {
        let padded = size
            .checked_next_multiple_of(BLOCK_BYTES as u64)
            .and_then(|size| self.at.checked_add(size));
        self.next = padded.ok_or_else(|| no_header(self.at))?;
        self.left = size;
        Ok(())
    }

    /// The next header that is one; `None` at the end. Archives that were put one behind the other
    /// have blocks of zeros between them.
    fn header(&mut self) -> io::Result<Option<[u8; BLOCK_BYTES]>> {
        let gap = self.next - self.at;
        let passed = self.reader.skip(gap)?;
        self.at += passed;
        if passed < gap {
            self.next = self.at;
            return Err(cut());
        }
        self.left = 0;
        let mut marked = false;
        loop {
            let mut block = [0u8; BLOCK_BYTES];
            let read = self.fill(&mut block)?;
            self.next = self.at;
            let zeros = block[..read].iter().all(|&b| b == 0);
            // Without the mark at its end an archive may lack entries.
            match (zeros, read == BLOCK_BYTES) {
                (true, true) => marked = true,
                (true, false) if marked => return Ok(None),
                (_, false) => return Err(cut()),
                (false, true) => {}
            }
            if zeros {
                continue;
            }
            return if checksum_fits(&block) {
                Ok(Some(block))
            } else {
                Err(no_header(self.at - BLOCK_BYTES as u64))
            };
        }
    }

    /// Reads as much as there is.
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.at += filled as u64;
        Ok(filled)
    }

    /// The body of an entry that describes the next one.
    fn meta(&mut self, size: u64) -> io::Result<Vec<u8>> {
        if size > MOST_META_BYTES {
            return Err(no_header(self.at));
        }
        self.set_body(size)?;
        let mut body = vec![0u8; size as usize];
        if self.fill(&mut body)? < body.len() {
            return Err(cut());
        }
        self.left = 0;
        Ok(body)
    }
}

impl<R: Skip> Read for TarWalk<R> {
    /// Reads the body of the current entry.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).map_or(buffer.len(), |l| l.min(buffer.len()));
        if most == 0 {
            return Ok(0);
        }
        let n = self.reader.read(&mut buffer[..most])?;
        if n == 0 {
            return Err(cut());
        }
        self.at += n as u64;
        self.left -= n as u64;
        Ok(n)
    }
}

fn header_name(block: &[u8; BLOCK_BYTES]) -> Vec<u8> {
    let name = text(&block[..100]);
    let prefix = text(&block[345..500]);
    // Only POSIX has a prefix there; GNU keeps times.
    if block[257..263] == *b"ustar\0" && !prefix.is_empty() {
        return [prefix, b"/", name].concat();
    }
    name.to_vec()
}

/// Reads records of `LENGTH KEY=VALUE\n`.
fn read_pax(body: &[u8], said: &mut Said) {
    let mut rest = body;
    while let Some(blank) = rest.iter().position(|&b| b == b' ') {
        let length = std::str::from_utf8(&rest[..blank]).ok();
        let Some(length) = length.and_then(|l| l.parse::<usize>().ok()) else {
            return;
        };
        let Some(record) = rest.get(blank + 1..length) else {
            return;
        };
        let record = record.strip_suffix(b"\n").unwrap_or(record);
        if let Some(equals) = record.iter().position(|&b| b == b'=') {
            let (key, value) = (&record[..equals], &record[equals + 1..]);
            match key {
                b"path" => said.name = Some(value.to_vec()),
                b"size" => {
                    let size = std::str::from_utf8(value).ok();
                    said.size = size.and_then(|s| s.parse().ok());
                }
                _ => said.sparse |= key.starts_with(b"GNU.sparse."),
            }
        }
        rest = &rest[length..];
    }
}

fn no_header(at: u64) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("no tar header at offset {at}"),
    )
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the archive ends in an entry")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::bytes::InOrder;
    use std::sync::Arc;

    /// What the crate that everyone writes tars with makes of these files.
    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, body) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(body.len() as u64);
            builder
                .append_data(&mut header, name, *body)
                .expect("memory");
        }
        let mut link = tar::Header::new_ustar();
        link.set_entry_type(tar::EntryType::Symlink);
        link.set_size(0);
        builder
            .append_link(&mut link, "link", "/etc/passwd")
            .expect("memory");
        builder.into_inner().expect("memory")
    }

    fn all<R: Skip>(reader: R, bodies: bool) -> io::Result<Vec<(String, TarKind, Vec<u8>)>> {
        let mut walk = TarWalk::new(reader);
        let mut found = Vec::new();
        while let Some(entry) = walk.next_entry()? {
            let mut body = Vec::new();
            if bodies {
                walk.read_to_end(&mut body)?;
                assert_eq!(body.len() as u64, entry.size);
            }
            let name = String::from_utf8_lossy(&entry.name).into_owned();
            found.push((name, entry.kind, body));
        }
        Ok(found)
    }

    fn in_order(bytes: &[u8]) -> InOrder {
        InOrder::new(Arc::new(bytes.to_vec()))
    }

    fn sample() -> (String, Vec<u8>) {
        let long = format!("{}/deep.jsonl", "folder/".repeat(40));
        let bytes = archive(&[
            ("a.jsonl", b"one\n"),
            (&long, &[b'x'; 1500]),
            ("empty", b""),
        ]);
        (long, bytes)
    }

    #[test]
    fn entries_of_a_usual_tar() {
        let (long, bytes) = sample();
        let found = all(in_order(&bytes), true).expect("reads");
        let expected = [
            ("a.jsonl".to_owned(), TarKind::File, b"one\n".to_vec()),
            (long.replace("//", "/"), TarKind::File, vec![b'x'; 1500]),
            ("empty".to_owned(), TarKind::File, Vec::new()),
            ("link".to_owned(), TarKind::Other, Vec::new()),
        ];
        let found: Vec<_> = found
            .into_iter()
            .map(|(n, k, b)| (n.replace("//", "/"), k, b))
            .collect();
        assert_eq!(found, expected);
        assert!(is_tar(&bytes) && !is_tar(b"{\"a\":1}") && !is_tar(&[0u8; 1024]));
        let names = all(in_order(&bytes), false).expect("skips");
        assert_eq!(names.len(), 4);
        let boxed: Box<dyn Read + Send> = Box::new(in_order(&bytes));
        assert_eq!(all(boxed, false).expect("a stream"), names);
        let twice = [bytes.clone(), bytes].concat();
        assert_eq!(all(in_order(&twice), false).expect("two").len(), 8);
    }

    #[test]
    fn a_cut_archive_never_ends_well() {
        let (_, bytes) = sample();
        let data_end = bytes.len() - 1024;
        for cut in (0..data_end).step_by(7) {
            let error = all(in_order(&bytes[..cut]), true).expect_err("cut");
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "cut at {cut}");
        }
    }

    #[test]
    fn numbers_in_both_spellings() {
        assert_eq!(number(b"0000017\0"), Some(15));
        assert_eq!(number(b"    17 \0"), Some(15));
        assert_eq!(number(b"\x80\0\0\0\0\0\0\x02\0\0\0\0"), Some(2 << 32));
        assert_eq!(number(b"\x80\x01\0\0\0\0\0\0\0\0\0\0"), None);
        assert_eq!(number(b"12x"), None);
    }

    #[test]
    fn pax_sizes_and_names_win() {
        let mut said = Said::default();
        read_pax(
            b"13 path=a/b\n\n16 size=1234567\n22 GNU.sparse.major=1\n",
            &mut said,
        );
        assert_eq!(said.name.as_deref(), Some(&b"a/b\n"[..]));
        let mut said = Said::default();
        read_pax(
            b"12 path=a/b\n16 size=1234567\n22 GNU.sparse.major=1\n9999 x=",
            &mut said,
        );
        assert_eq!((said.size, said.sparse), (Some(1_234_567), true));
    }
}
