//! `custody.jsonl`: who did what with the case. Each line holds the digest of the one before, so
//! that
//! no line can be changed, taken out or put in without breaking all that follow.

use crate::error::StoreError;
use crate::storage::{owner_only, private_options};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Name of the file inside the case folder.
pub const CUSTODY_FILE: &str = "custody.jsonl";

/// Longest line that is read: longer ones are damage.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// What the first line holds in place of a digest.
const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// One act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// When, RFC 3339 UTC.
    pub time: String,
    /// What: acquired, ingested, queried, revealed, exported, …
    pub action: String,
    /// Who, as the system knows it.
    pub actor: Option<String>,
    /// Why, as the person said it.
    pub reason: Option<String>,
    /// Further facts.
    pub detail: BTreeMap<String, String>,
}

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustodyLine {
    /// Number of the line, from 1.
    pub seq: u64,
    /// When, RFC 3339 UTC.
    pub time: String,
    /// What.
    pub action: String,
    /// Who.
    pub actor: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// Further facts.
    pub detail: BTreeMap<String, String>,
    /// BLAKE3 of the line before, hex, without its line end; zeros in the first line.
    pub prev: String,
}

/// Where a chain ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainHead {
    /// Number of lines.
    pub lines: u64,
    /// BLAKE3 of the last line, hex; zeros where there is none.
    pub digest: String,
}

/// Where and how a chain is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// Not a custody line.
    #[error("line {line} is not a custody line")]
    Line {
        /// Its number, from 1.
        line: u64,
    },
    /// It does not follow the line before.
    #[error("line {line} does not follow the line before it: changed, taken out or put in")]
    Broken {
        /// Its number, from 1.
        line: u64,
    },
    /// The last line has no end.
    #[error("line {line} is cut off")]
    Cut {
        /// Its number, from 1.
        line: u64,
    },
}

/// Appends an act; gives the new end of the chain. The chain is verified first: nothing is added to
/// a broken one. Runs that append at the same time wait for each other.
pub fn append(path: &Path, act: &Act) -> Result<ChainHead, StoreError> {
    let io_error = |e| StoreError::io("append to", path, e);
    let mut file = private_options()
        .read(true)
        .append(true)
        .create(true)
        .open(path)
        .map_err(io_error)?;
    owner_only(path, 0o600).map_err(io_error)?;
    file.lock().map_err(io_error)?;
    let head = walk(&mut file, path)?;
    let line = CustodyLine {
        seq: head.lines + 1,
        time: act.time.clone(),
        action: act.action.clone(),
        actor: act.actor.clone(),
        reason: act.reason.clone(),
        detail: act.detail.clone(),
        prev: head.digest,
    };
    let mut bytes = serde_json::to_vec(&line).map_err(|e| io_error(e.into()))?;
    if bytes.len() as u64 >= MAX_LINE_BYTES {
        let reason = format!("a line of {} bytes, at most {MAX_LINE_BYTES}", bytes.len());
        return Err(io_error(io::Error::new(
            io::ErrorKind::InvalidInput,
            reason,
        )));
    }
    let digest = blake3::hash(&bytes).to_hex().to_string();
    bytes.push(b'\n');
    file.write_all(&bytes).map_err(io_error)?;
    file.sync_all().map_err(io_error)?;
    Ok(ChainHead {
        lines: line.seq,
        digest,
    })
}

/// Verifies the chain; gives its end. A missing file is an empty chain. Lines taken off the end do
/// not show here: compare with the head that `case.json` holds.
pub fn verify_chain(path: &Path) -> Result<ChainHead, StoreError> {
    match File::open(path) {
        Ok(mut file) => walk(&mut file, path),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(ChainHead {
            lines: 0,
            digest: GENESIS.to_owned(),
        }),
        Err(e) => Err(StoreError::io("open", path, e)),
    }
}

/// Whether the chain in `path` passes through `head`: it may have grown since, not shrunk or
/// changed.
pub fn contains_head(path: &Path, head: &ChainHead) -> Result<bool, StoreError> {
    if head.lines == 0 {
        return Ok(head.digest == GENESIS);
    }
    verify_chain(path)?;
    let file = File::open(path).map_err(|e| StoreError::io("open", path, e))?;
    let mut found = false;
    each_line(file, path, |number, line| {
        found |= number == head.lines && blake3::hash(line).to_hex().as_str() == head.digest;
        Ok(())
    })?;
    Ok(found)
}

fn walk(file: &mut File, path: &Path) -> Result<ChainHead, StoreError> {
    file.seek(SeekFrom::Start(0))
        .map_err(|e| StoreError::io("read", path, e))?;
    let mut head = ChainHead {
        lines: 0,
        digest: GENESIS.to_owned(),
    };
    each_line(file, path, |number, line| {
        let read: CustodyLine =
            serde_json::from_slice(line).map_err(|_| ChainError::Line { line: number })?;
        if read.seq != number || read.prev != head.digest {
            return Err(ChainError::Broken { line: number });
        }
        head = ChainHead {
            lines: number,
            digest: blake3::hash(line).to_hex().to_string(),
        };
        Ok(())
    })?;
    Ok(head)
}

fn each_line(
    file: impl Read,
    path: &Path,
    mut visit: impl FnMut(u64, &[u8]) -> Result<(), ChainError>,
) -> Result<(), StoreError> {
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        (&mut reader)
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)
            .map_err(|e| StoreError::io("read", path, e))?;
        if line.is_empty() {
            break;
        }
        let visited = if line.pop() == Some(b'\n') {
            visit(number, &line)
        } else {
            Err(ChainError::Cut { line: number })
        };
        visited.map_err(|source| StoreError::Custody {
            path: path.to_owned(),
            source,
        })?;
    }
    Ok(())
}
