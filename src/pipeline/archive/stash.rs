//! Archives that were read up to somewhere, kept until the next file of them is asked for.

use super::Step;
use crate::pipeline::bytes::SharedBytes;
use crate::pipeline::discover::Place;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Which archive: a place, and the way to an archive inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Where the outermost archive lies.
    pub root: Arc<Place>,
    /// The way to an inner one.
    pub steps: Vec<Step>,
}

impl Key {
    /// The archive at the end of the way.
    pub fn new(root: &Arc<Place>, steps: &[Step]) -> Key {
        Key {
            root: root.clone(),
            steps: steps.to_vec(),
        }
    }
}

/// What is kept of an archive.
pub enum Kept {
    /// A stream of the decoded archive, read up to an offset.
    Read {
        /// The stream.
        reader: Box<dyn Read + Send>,
        /// Bytes of it that were read.
        at: u64,
    },
    /// A copy of it.
    Aside(SharedBytes),
}

/// Archives inside archives, by depth; deeper ones are not read.
const DEPTHS: usize = 2;

type Slots = [Option<(Key, Kept)>; DEPTHS];

/// One archive per depth.
#[derive(Clone, Default)]
pub struct Stash(Arc<Mutex<Slots>>);

impl std::fmt::Debug for Stash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stash")
    }
}

impl Stash {
    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_slot(&self, key: &Key) -> Option<Kept> {
        let mut slots = self.lock();
        let slot = slots.get_mut(key.steps.len())?;
        let (_, kept) = slot.take_if(|(held, _)| held == key)?;
        Some(kept)
    }

    /// Takes out what is kept of an archive; anything else as deep or deeper goes.
    pub fn take(&self, key: &Key) -> Option<Kept> {
        if let Some(kept) = self.take_slot(key) {
            return Some(kept);
        }
        let gone: Vec<_> = {
            let mut slots = self.lock();
            let from = key.steps.len().min(DEPTHS);
            slots[from..].iter_mut().map(Option::take).collect()
        };
        // An inner archive lends from its outer one and gives back when it goes: not under lock.
        drop(gone);
        self.take_slot(key)
    }

    /// Keeps an archive.
    pub fn put(&self, key: Key, kept: Kept) {
        let depth = key.steps.len();
        let old = match self.lock().get_mut(depth) {
            Some(slot) => slot.replace((key, kept)),
            None => Some((key, kept)),
        };
        drop(old);
    }
}

/// A file of an archive that is read from front to back; gives the archive back when it is dropped.
pub struct Lent {
    reader: Option<Box<dyn Read + Send>>,
    at: u64,
    left: u64,
    key: Key,
    stash: Stash,
}

impl Lent {
    /// The next `size` bytes of `reader`.
    pub fn new(reader: Box<dyn Read + Send>, at: u64, size: u64, key: Key, stash: Stash) -> Lent {
        Lent {
            reader: Some(reader),
            at,
            left: size,
            key,
            stash,
        }
    }
}

impl Read for Lent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).map_or(buffer.len(), |l| l.min(buffer.len()));
        if most == 0 {
            return Ok(0);
        }
        let ended = || Err(io::ErrorKind::UnexpectedEof.into());
        let Some(reader) = &mut self.reader else {
            return ended();
        };
        match reader.read(&mut buffer[..most]) {
            Ok(0) => {
                self.reader = None;
                ended()
            }
            Ok(n) => {
                self.at += n as u64;
                self.left -= n as u64;
                Ok(n)
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Err(e),
            Err(e) => {
                self.reader = None;
                Err(e)
            }
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(reader) = self.reader.take() {
            let at = self.at;
            self.stash.put(self.key.clone(), Kept::Read { reader, at });
        }
    }
}
