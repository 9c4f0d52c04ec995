//! Bytes at any place, wherever they lie: a file, a part of something, a copy put aside; and the
//! same read from front to back.

use pentimento_store::columnar::RandomBytes;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// Bytes that are shared between readers.
pub type SharedBytes = Arc<dyn RandomBytes>;

/// Buffer for bytes that are passed over (64 KiB).
const SKIP_BYTES: usize = 64 << 10;

/// A file.
pub struct FileBytes {
    file: File,
    length: u64,
}

impl FileBytes {
    /// Opens a regular file.
    ///
    /// # Errors
    /// Whatever the system says; and for anything but a regular file: a folder cannot be read, a
    /// pipe or a device could block for ever and gives its bytes only once, while the search reads
    /// a source several times.
    pub fn open(path: &Path) -> io::Result<FileBytes> {
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::NotSeekable,
                "not a regular file",
            ));
        }
        FileBytes::of(File::open(path)?)
    }

    fn of(file: File) -> io::Result<FileBytes> {
        let length = file.metadata()?.len();
        Ok(FileBytes { file, length })
    }
}

impl RandomBytes for FileBytes {
    fn length(&self) -> u64 {
        self.length
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, buffer, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.file, buffer, offset)
    }
}

/// A part of other bytes.
pub struct Part {
    whole: SharedBytes,
    start: u64,
    length: u64,
}

impl Part {
    /// `length` bytes of `whole` from `start` on, as far as there are so many.
    pub fn of(whole: SharedBytes, start: u64, length: u64) -> Part {
        let there = whole.length().saturating_sub(start);
        Part {
            whole,
            start,
            length: length.min(there),
        }
    }
}

impl RandomBytes for Part {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.length.saturating_sub(offset);
        let most = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        if most == 0 {
            return Ok(0);
        }
        self.whole.read_at(self.start + offset, &mut buffer[..most])
    }
}

/// Copies a stream into a file without a name, which goes when its last reader does.
///
/// # Errors
/// Those of the stream, and where the copy cannot be written.
pub fn put_aside(stream: &mut dyn Read, folder: Option<&Path>) -> io::Result<SharedBytes> {
    let mut file = match folder.filter(|f| f.is_dir()) {
        Some(folder) => tempfile::tempfile_in(folder)?,
        None => tempfile::tempfile()?,
    };
    io::copy(stream, &mut file)?;
    Ok(Arc::new(FileBytes::of(file)?))
}

/// Something that can pass over bytes.
pub trait Skip: Read {
    /// Passes over `count` bytes; gives how many there were.
    ///
    /// # Errors
    /// Those of reading.
    fn skip(&mut self, count: u64) -> io::Result<u64> {
        let mut buffer = [0u8; SKIP_BYTES];
        let mut left = count;
        while left > 0 {
            let most = usize::try_from(left).map_or(SKIP_BYTES, |l| l.min(SKIP_BYTES));
            match self.read(&mut buffer[..most]) {
                Ok(0) => break,
                Ok(n) => left -= n as u64,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(count - left)
    }
}

impl Skip for Box<dyn Read + Send + '_> {}

/// Bytes from front to back.
pub struct InOrder {
    bytes: SharedBytes,
    at: u64,
}

impl InOrder {
    /// From the first byte on.
    pub fn new(bytes: SharedBytes) -> InOrder {
        InOrder { bytes, at: 0 }
    }
}

impl Read for InOrder {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.bytes.read_at(self.at, buffer)?;
        self.at += n as u64;
        Ok(n)
    }
}

impl Skip for InOrder {
    fn skip(&mut self, count: u64) -> io::Result<u64> {
        let there = self.bytes.length().saturating_sub(self.at).min(count);
        self.at += there;
        Ok(there)
    }
}

/// So many bytes of a reader; an end before that is an error behind what was there.
pub struct Exactly<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Exactly<R> {
    /// The next `count` bytes of `reader`.
    pub fn new(reader: R, count: u64) -> Exactly<R> {
        Exactly {
            reader,
            left: count,
        }
    }
}

impl<R: Read> Read for Exactly<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).map_or(buffer.len(), |l| l.min(buffer.len()));
        let n = self.reader.read(&mut buffer[..most])?;
        if n == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_order() {
        let whole: SharedBytes = Arc::new(b"0123456789".to_vec());
        let part: SharedBytes = Arc::new(Part::of(whole.clone(), 3, 4));
        let mut text = String::new();
        InOrder::new(part.clone())
            .read_to_string(&mut text)
            .expect("memory");
        assert_eq!(text, "3456");
        let mut order = InOrder::new(part);
        assert_eq!(order.skip(3).expect("memory"), 3);
        assert_eq!(order.skip(3).expect("memory"), 1);
        let beyond = Part::of(whole, 20, 4);
        assert_eq!(
            (beyond.length(), beyond.read_at(0, &mut [0; 2]).ok()),
            (0, Some(0))
        );
    }

    #[test]
    fn a_copy_has_all_bytes_and_streams_skip() {
        let mut text: &[u8] = b"some bytes";
        let copy = put_aside(&mut text, None).expect("a temporary file");
        assert_eq!(copy.length(), 10);
        let mut boxed: Box<dyn Read + Send> = Box::new(InOrder::new(copy));
        assert_eq!(boxed.skip(5).expect("file"), 5);
        let mut rest = String::new();
        boxed.read_to_string(&mut rest).expect("file");
        assert_eq!((rest.as_str(), boxed.skip(9).ok()), ("bytes", Some(0)));
    }
}
