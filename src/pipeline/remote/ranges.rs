//! One object, read in ranges, the next one fetched while the last one is looked at.

use super::{Client, Object};
use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error, GetOptions, ObjectStore};
use pentimento_store::columnar::RandomBytes;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;

/// First range of an object, and of each jump in it (256 KiB): many objects are small.
const FIRST_BYTES: u64 = 256 << 10;
/// Largest range (8 MiB); each that follows another is four times as long until then.
const MOST_BYTES: u64 = 8 << 20;
/// From this size of a range on the next is fetched ahead.
const AHEAD_FROM_BYTES: u64 = 1 << 20;
/// A range is asked for so often, beside what the store's client tries again itself.
const ATTEMPTS: u32 = 3;
/// Pause before the second attempt; doubled before each that follows.
const PAUSE: Duration = Duration::from_millis(200);

/// An object.
pub struct Ranges {
    client: Client,
    target: Target,
    size: u64,
    window: Mutex<Window>,
}

/// What to fetch.
#[derive(Clone)]
struct Target {
    store: Arc<dyn ObjectStore>,
    path: Path,
    tag: Option<String>,
}

/// The range that was fetched last, and the one on its way.
#[derive(Default)]
struct Window {
    start: u64,
    data: Bytes,
    ahead: Option<(u64, JoinHandle<io::Result<Bytes>>)>,
}

impl Window {
    fn end(&self) -> u64 {
        self.start + self.data.len() as u64
    }
}

impl Ranges {
    /// Reads an object through a client.
    pub(super) fn new(client: Client, path: Path, object: &Object) -> Ranges {
        Ranges {
            target: Target {
                store: client.store.clone(),
                path,
                tag: object.tag.clone(),
            },
            client,
            size: object.size,
            window: Mutex::default(),
        }
    }

    /// Moves the window to an offset.
    fn move_to(&self, window: &mut Window, offset: u64, wanted: u64) -> io::Result<()> {
        let follows = offset == window.end() && !window.data.is_empty();
        let length = if follows {
            (window.data.len() as u64).saturating_mul(4)
        } else {
            FIRST_BYTES
        };
        let length = length.max(wanted).min(MOST_BYTES);
        let data = match window.ahead.take() {
            Some((start, task)) if start == offset => {
                let joined = self.client.runtime.block_on(task);
                joined.map_err(|e| io::Error::new(io::ErrorKind::ConnectionAborted, e))??
            }
            other => {
                if let Some((_, task)) = other {
                    task.abort();
                }
                let range = self.range(offset, length);
                self.client.runtime.block_on(fetch(&self.target, range))?
            }
        };
        window.start = offset;
        window.data = data;
        let next = self.range(window.end(), MOST_BYTES);
        if follows && window.data.len() as u64 >= AHEAD_FROM_BYTES && !next.is_empty() {
            let (start, target) = (next.start, self.target.clone());
            let task = self
                .client
                .runtime
                .spawn(async move { fetch(&target, next).await });
            window.ahead = Some((start, task));
        }
        Ok(())
    }

    fn range(&self, start: u64, length: u64) -> Range<u64> {
        start..start.saturating_add(length).min(self.size)
    }
}

impl Drop for Ranges {
    fn drop(&mut self) {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, task)) = window.ahead.take() {
            task.abort();
        }
    }
}

impl RandomBytes for Ranges {
    fn length(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset >= self.size || buffer.is_empty() {
            return Ok(0);
        }
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if offset < window.start || offset >= window.end() {
            self.move_to(&mut window, offset, buffer.len() as u64)?;
        }
        // Within the window, so the difference is an index of it.
        let from = (offset - window.start) as usize;
        let there = window.data.get(from..).unwrap_or_default();
        let n = there.len().min(buffer.len());
        buffer[..n].copy_from_slice(&there[..n]);
        Ok(n)
    }
}

/// Fetches a range, all of it or none.
async fn fetch(target: &Target, range: Range<u64>) -> io::Result<Bytes> {
    let expected = range.end - range.start;
    let mut attempt = 1;
    loop {
        let error = match fetch_once(target, range.clone()).await {
            Ok(data) if data.len() as u64 == expected => return Ok(data),
            Ok(data) => io::Error::new(
                io::ErrorKind::ConnectionAborted,
                format!("{} bytes of a range of {expected}", data.len()),
            ),
            Err(error) if is_final(&error) => {
                return Err(io::Error::new(io::ErrorKind::NotFound, error));
            }
            Err(error) => io::Error::new(io::ErrorKind::ConnectionAborted, error),
        };
        if attempt == ATTEMPTS {
            return Err(error);
        }
        tokio::time::sleep(PAUSE * (1 << (attempt - 1))).await;
        attempt += 1;
    }
}

async fn fetch_once(target: &Target, range: Range<u64>) -> object_store::Result<Bytes> {
    let mut options = GetOptions::new().with_range(Some(range));
    options.if_match.clone_from(&target.tag);
    let got = target.store.get_opts(&target.path, options).await?;
    got.bytes().await
}

/// Whether asking again can only give the same answer.
fn is_final(error: &Error) -> bool {
    matches!(
        error,
        Error::NotFound { .. }
            | Error::Precondition { .. }
            | Error::NotModified { .. }
            | Error::PermissionDenied { .. }
            | Error::Unauthenticated { .. }
    )
}
