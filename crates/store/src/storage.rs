//! The few things a case asks of a file system; a trait, so that tests can make each of them fail.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file being written.
pub trait StorageFile: Write + Send {
    /// Brings everything written to the disk.
    fn sync(&mut self) -> io::Result<()>;
}

/// Where a case is written. Paths are whole paths; folders are made one level at a time.
pub trait Storage: Send + Sync {
    /// Makes a folder that only its owner can enter; it may be there already.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Makes a new file that only its owner can read; it must not be there yet.
    fn create_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>>;
    /// Renames a file or folder. A file in the way is replaced, a folder in the way is an error.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a folder and all in it; it may be gone already.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Removes a file; it may be gone already.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Brings the entries of a folder to the disk.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
}

/// The local file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

/// The local file system, shared.
pub fn disk() -> Arc<dyn Storage> {
    Arc::new(Disk)
}

struct DiskFile(BufWriter<File>);

impl Write for DiskFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl StorageFile for DiskFile {
    fn sync(&mut self) -> io::Result<()> {
        self.0.flush()?;
        self.0.get_ref().sync_all()
    }
}

impl Storage for Disk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            other => other?,
        }
        owner_only(path, 0o700)
    }

    fn create_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        let file = private_options().write(true).create_new(true).open(path)?;
        owner_only(path, 0o600)?;
        Ok(Box::new(DiskFile(BufWriter::with_capacity(1 << 16, file))))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        gone_is_fine(fs::remove_dir_all(path))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        gone_is_fine(fs::remove_file(path))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        #[cfg(unix)]
        File::open(path)?.sync_all()?;
        #[cfg(not(unix))]
        let _ = path;
        Ok(())
    }
}

fn gone_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Options for a file that only its owner can read from the moment it exists.
pub(crate) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Sets the mode whatever the umask was.
pub(crate) fn owner_only(path: &Path, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    #[cfg(not(unix))]
    let _ = (path, mode);
    Ok(())
}

/// A file with its size and digest, counted while it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Size in bytes.
    pub bytes: u64,
    /// BLAKE3, hex.
    pub blake3: String,
}

/// Counts and hashes what goes through.
pub(crate) struct HashingFile {
    file: Box<dyn StorageFile>,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl HashingFile {
    pub(crate) fn new(file: Box<dyn StorageFile>) -> HashingFile {
        HashingFile {
            file,
            hasher: blake3::Hasher::new(),
            bytes: 0,
        }
    }

    /// Brings all to the disk.
    pub(crate) fn close(&mut self) -> io::Result<Written> {
        self.file.sync()?;
        Ok(Written {
            bytes: self.bytes,
            blake3: self.hasher.finalize().to_hex().to_string(),
        })
    }
}

impl Write for HashingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.hasher.update(bytes.get(..count).unwrap_or(bytes));
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that appears under its name only when it is whole.
pub struct AtomicFile {
    storage: Arc<dyn Storage>,
    file: Option<HashingFile>,
    temp: PathBuf,
    path: PathBuf,
}

impl AtomicFile {
    /// Starts the file beside its final place, as `NAME.tmp`. One that is left from a killed run is
    /// replaced.
    pub fn create(storage: Arc<dyn Storage>, path: &Path) -> io::Result<AtomicFile> {
        let temp = with_suffix(path, ".tmp");
        storage.remove_file(&temp)?;
        let file = HashingFile::new(storage.create_file(&temp)?);
        Ok(AtomicFile {
            storage,
            file: Some(file),
            temp,
            path: path.to_owned(),
        })
    }

    /// Brings the file to the disk and gives it its name.
    pub fn finish(mut self) -> io::Result<Written> {
        let mut file = self
            .file
            .take()
            .ok_or_else(|| io::Error::other("the file is closed"))?;
        let renamed = file.close().and_then(|written| {
            self.storage.rename(&self.temp, &self.path)?;
            Ok(written)
        });
        if renamed.is_err() {
            let _ = self.storage.remove_file(&self.temp);
        }
        let written = renamed?;
        if let Some(folder) = self.path.parent() {
            let synced = self.storage.sync_dir(folder);
            if synced.is_err() {
                // A name that may not last is taken away.
                let _ = self.storage.remove_file(&self.path);
            }
            synced?;
        }
        Ok(written)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => Err(io::Error::other("the file is closed")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // Nobody is left to tell; the next run removes stale *.tmp files again.
            let _ = self.storage.remove_file(&self.temp);
        }
    }
}

/// A path with something appended to its last part.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
