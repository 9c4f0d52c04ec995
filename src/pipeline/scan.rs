//! One pass over one source: a reader thread frames blocks of whole records, workers look at the
//! blocks in parallel, results are taken in the order of the source.
//!
//! Memory is bounded by bytes: at most a few blocks are in flight, and a block exceeds its target
//! only by one record. The result does not depend on the number of workers.

use super::bodies::{BodyObject, BodyObjects, is_body};
use super::discover::{Input, Place};
use super::open::{StreamDigest, open};
use super::outlet::Outlet;
use crate::progress::Progress;
use pentimento_core::exchange::{Exchange, RecordKind, RejectReason};
use pentimento_core::format::frame::{Block, Framer};
use pentimento_core::format::sealed::BodyKeys;
use pentimento_core::format::{DecodeContext, LogFormat, sniff_source};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

/// Settings of a pass.
#[derive(Clone, Debug)]
pub struct ScanSettings {
    /// Longest record, in bytes.
    pub max_record_bytes: u64,
    /// Greatest ratio of decoded to compressed bytes.
    pub max_ratio: u64,
    /// Zone for naive times.
    pub zone: Option<jiff::tz::TimeZone>,
    /// Year for times that are written without one.
    pub year: Option<i16>,
    /// Private keys of encrypted bodies.
    pub keys: Option<Arc<BodyKeys>>,
    /// Bodies that are inputs of their own.
    pub bodies: Arc<BodyObjects>,
    /// Target size of a block, in bytes.
    pub block_bytes: usize,
    /// Blocks looked at in one go.
    pub blocks_in_flight: usize,
    /// Where standard input was kept aside.
    pub stdin_copy: PathBuf,
}

/// How a source ended.
#[derive(Clone, Debug, Default)]
pub struct SourceEnd {
    /// Format name, if one was found.
    pub format: Option<&'static str>,
    /// Bytes as received.
    pub received: StreamDigest,
    /// Decoded bytes.
    pub decoded: StreamDigest,
    /// Where and why the stream could not be read to its end.
    pub broken: Option<StreamBreak>,
}

/// The place where a stream broke, as a reject.
#[derive(Clone, Copy, Debug)]
pub struct StreamBreak {
    /// Offset in the decoded bytes where the last, incomplete record begins.
    pub offset: u64,
    /// Bytes of it that were read.
    pub length: u64,
    /// BLAKE3 of those bytes.
    pub digest: [u8; 32],
    /// Why.
    pub reason: RejectReason,
}

impl StreamBreak {
    /// A break before any byte of a record.
    pub fn at(offset: u64, reason: RejectReason) -> StreamBreak {
        StreamBreak {
            offset,
            length: 0,
            digest: *blake3::hash(b"").as_bytes(),
            reason,
        }
    }
}

/// What a worker makes of a block.
pub trait BlockWork: Sync {
    /// Its result.
    type Out: Send;
    /// Looks at one block.
    fn work(&self, block: &Block, format: &dyn LogFormat, context: &DecodeContext<'_>)
    -> Self::Out;
}

/// What the reader hands to the workers.
pub(super) enum Message {
    /// A block and the format that reads it.
    Block(Box<Block>, &'static dyn LogFormat),
}

/// Stands in until a format is found: every record is a reject of its own, so that a source in an
/// unknown format weighs as much as it is long.
struct NoFormat;

impl LogFormat for NoFormat {
    fn name(&self) -> &'static str {
        "unknown"
    }

    fn sniff(&self, _record: &[u8]) -> u8 {
        0
    }

    fn decode(
        &self,
        _record: &[u8],
        _context: &DecodeContext<'_>,
        _out: &mut Vec<Exchange>,
    ) -> Result<RecordKind, RejectReason> {
        Err(RejectReason::UnknownFormat)
    }
}

/// Runs `work` over every block of a source and hands the results to `absorb` in order.
///
/// A source that cannot be opened gives no blocks but a [`SourceEnd`] that says so. `absorb` may
/// stop the pass with an error.
///
/// # Errors
/// Those of `absorb`.
pub fn scan_source<W: BlockWork>(
    input: &Input,
    settings: &ScanSettings,
    digests: bool,
    progress: &Progress,
    work: &W,
    mut absorb: impl FnMut(&Block, W::Out) -> anyhow::Result<()>,
) -> anyhow::Result<SourceEnd> {
    let path = match &input.place {
        Place::File(path) => path.clone(),
        Place::Stdin => settings.stdin_copy.clone(),
    };
    let source_name = path
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let stop = AtomicBool::new(false);
    let (sender, receiver) = sync_channel(settings.blocks_in_flight.max(1));
    let known: Option<&'static dyn LogFormat> = is_body(input).then_some(&BodyObject as _);
    let job = ReadJob {
        settings,
        digests,
        known,
    };
    std::thread::scope(|scope| {
        let context = DecodeContext {
            zone: settings.zone.as_ref(),
            year: settings.year,
            keys: settings.keys.as_deref(),
            bodies: Some(&*settings.bodies),
            source_name: &source_name,
            ..DecodeContext::default()
        };
        let out = Outlet::new(sender, context);
        let reader = scope.spawn(|| read_blocks(&path, &job, progress, &stop, out));
        let result = take_blocks(settings, &context, work, &receiver, &mut absorb);
        stop.store(true, Ordering::Relaxed);
        drop(receiver);
        let end = match reader.join() {
            Ok(end) => end,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        result.map(|()| end)
    })
}

fn take_blocks<W: BlockWork>(
    settings: &ScanSettings,
    context: &DecodeContext<'_>,
    work: &W,
    receiver: &Receiver<Message>,
    absorb: &mut impl FnMut(&Block, W::Out) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut open = true;
    while open {
        let mut group = Vec::with_capacity(settings.blocks_in_flight);
        while open && group.len() < settings.blocks_in_flight.max(1) {
            match receiver.recv() {
                Ok(Message::Block(block, format)) => group.push((block, format)),
                Err(_) => open = false,
            }
        }
        let outs: Vec<W::Out> = group
            .par_iter()
            .map(|(block, format)| {
                let context = DecodeContext {
                    header: block.header.as_deref(),
                    ..*context
                };
                work.work(block, *format, &context)
            })
            .collect();
        for ((block, _), out) in group.iter().zip(outs) {
            absorb(block, out)?;
        }
    }
    Ok(())
}

/// Records looked at in a block to find the format.
const SNIFF_RECORDS: usize = 64;

/// How a source is read.
struct ReadJob<'a> {
    settings: &'a ScanSettings,
    digests: bool,
    /// Its format, where that is known before its first record.
    known: Option<&'static dyn LogFormat>,
}

fn read_blocks(
    path: &Path,
    job: &ReadJob<'_>,
    progress: &Progress,
    stop: &AtomicBool,
    mut out: Outlet<'_>,
) -> SourceEnd {
    let mut end = SourceEnd::default();
    let settings = job.settings;
    let Ok(mut stream) = open(path, settings.max_ratio, job.digests) else {
        end.broken = Some(StreamBreak::at(0, RejectReason::Unreadable));
        return end;
    };
    let reader = std::mem::replace(&mut stream.reader, Box::new(std::io::empty()));
    let limit = usize::try_from(settings.max_record_bytes).unwrap_or(usize::MAX);
    let mut framer = Framer::new(reader, limit);
    let mut told = 0u64;
    let mut format = job.known;
    end.format = format.map(|f| f.name());
    while !stop.load(Ordering::Relaxed) {
        let block = framer.next_block(settings.block_bytes);
        let received = stream.received_bytes();
        progress.advance(received - told);
        told = received;
        let Some(block) = block else { break };
        if let Some(broken) = &block.broken {
            end.broken = Some(StreamBreak {
                offset: broken.offset,
                length: broken.length,
                digest: broken.digest,
                reason: break_reason(broken.kind),
            });
        }
        if format.is_none() {
            format = sniffed(&block);
            end.format = format.map(|f| f.name());
        }
        // Junk before the first record of a known shape is rejected record by record.
        if !out.send(block, format.unwrap_or(&NoFormat)) {
            break;
        }
    }
    out.finish(settings.block_bytes);
    drop(framer);
    end.received = stream.received();
    end.decoded = stream.decoded();
    end
}

fn sniffed(block: &Block) -> Option<&'static dyn LogFormat> {
    let first: Vec<&[u8]> = block
        .records
        .iter()
        .take(SNIFF_RECORDS)
        .map(|span| block.record(span))
        .collect();
    sniff_source(&first).ok()
}

fn break_reason(kind: std::io::ErrorKind) -> RejectReason {
    match kind {
        std::io::ErrorKind::UnexpectedEof => RejectReason::Truncated,
        std::io::ErrorKind::FileTooLarge => RejectReason::RatioLimit,
        std::io::ErrorKind::InvalidData
        | std::io::ErrorKind::InvalidInput
        | std::io::ErrorKind::Other => RejectReason::CorruptStream,
        _ => RejectReason::Unreadable,
    }
}
