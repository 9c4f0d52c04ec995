//! One pass over one source: a reader thread frames blocks of whole records, workers look at the
//! blocks in parallel, results are taken in the order of the source.
//!
//! Memory is bounded by bytes: at most a few blocks are in flight, and a block exceeds its target
//! only by one record. The result does not depend on the number of workers.

use super::archive::Unpacking;
use super::bodies::{BodyObject, BodyObjects, is_body};
use super::discover::{Input, Place, Trouble};
use super::open::{Opened, StreamDigest, open};
use super::outlet::Outlet;
use crate::log_sources::{LogSources, SourceFacts};
use crate::progress::Progress;
use pentimento_core::exchange::{Exchange, RecordKind, RejectReason};
use pentimento_core::format::frame::{Block, Framer};
use pentimento_core::format::sealed::BodyKeys;
use pentimento_core::format::{DecodeContext, LogFormat, sniff_among};
use rayon::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

/// Settings of a pass.
#[derive(Clone, Debug)]
pub struct ScanSettings {
    /// Longest record, in bytes.
    pub max_record_bytes: u64,
    /// How archives and compressed files are opened.
    pub unpacking: Unpacking,
    /// Zone for naive times.
    pub zone: Option<jiff::tz::TimeZone>,
    /// Year for times that are written without one.
    pub year: Option<i16>,
    /// Private keys of encrypted bodies.
    pub keys: Option<Arc<BodyKeys>>,
    /// Bodies that are inputs of their own.
    pub bodies: Arc<BodyObjects>,
    /// Formats and sources that are declared.
    pub sources: LogSources,
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
    /// As `work`, for who needs to keep the block.
    fn work_shared(
        &self,
        block: &Arc<Block>,
        format: &'static dyn LogFormat,
        context: &DecodeContext<'_>,
    ) -> Self::Out {
        self.work(block, format, context)
    }
}

/// What the reader hands to the workers.
pub(super) enum Message {
    /// A block, the format that reads it, and the month of the first time of the source that is
    /// written without a year.
    Block(Arc<Block>, &'static dyn LogFormat, Option<u8>),
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
    if let Place::Archive { kind, trouble, .. } = &input.place {
        return Ok(read_archive(
            input,
            settings,
            digests,
            kind.as_str(),
            *trouble,
        ));
    }
    let facts = settings.sources.of(&input.display);
    let stop = AtomicBool::new(false);
    let (sender, receiver) = sync_channel(settings.blocks_in_flight.max(1));
    let known: Option<&'static dyn LogFormat> = is_body(input).then_some(&BodyObject as _);
    let job = ReadJob {
        settings,
        digests,
        known,
        facts: &facts,
    };
    std::thread::scope(|scope| {
        let context = DecodeContext {
            zone: facts.zone.as_ref().or(settings.zone.as_ref()),
            year: facts.year.or(settings.year),
            keys: settings.keys.as_deref(),
            bodies: Some(&*settings.bodies),
            source_name: input.file_name(),
            ..DecodeContext::default()
        };
        let out = Outlet::new(sender, context);
        let reader = scope.spawn(|| read_blocks(input, &job, progress, &stop, out));
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
                Ok(Message::Block(block, format, month)) => group.push((block, format, month)),
                Err(_) => open = false,
            }
        }
        let outs: Vec<W::Out> = group
            .par_iter()
            .map(|(block, format, first_month)| {
                let context = DecodeContext {
                    first_month: *first_month,
                    header: block.header.as_deref(),
                    ..*context
                };
                work.work_shared(block, *format, &context)
            })
            .collect();
        for ((block, _, _), out) in group.iter().zip(outs) {
            absorb(block, out)?;
        }
    }
    Ok(())
}

/// An archive holds no records of its own; the first pass takes its digest.
fn read_archive(
    input: &Input,
    settings: &ScanSettings,
    digests: bool,
    kind: &'static str,
    trouble: Option<Trouble>,
) -> SourceEnd {
    let mut end = SourceEnd {
        format: Some(kind),
        broken: trouble.map(|t| StreamBreak::at(t.offset, t.reason)),
        ..SourceEnd::default()
    };
    if !digests {
        return end;
    }
    let read = |stream: &mut Opened| {
        std::io::copy(&mut stream.reader, &mut std::io::sink()).map_err(|e| break_reason(e.kind()))
    };
    match open(&input.place, settings, digests) {
        Ok(mut stream) => {
            if let Err(reason) = read(&mut stream) {
                end.broken = Some(StreamBreak::at(stream.received_bytes(), reason));
            }
            (end.received, end.decoded) = (stream.received(), stream.decoded());
        }
        Err(reason) => end.broken = Some(StreamBreak::at(0, reason)),
    }
    end
}

/// Records looked at in a block to find the format.
const SNIFF_RECORDS: usize = 64;

/// How a source is read.
struct ReadJob<'a> {
    settings: &'a ScanSettings,
    digests: bool,
    /// Its format, where that is known before its first record.
    known: Option<&'static dyn LogFormat>,
    /// What is declared of it.
    facts: &'a SourceFacts,
}

fn read_blocks(
    input: &Input,
    job: &ReadJob<'_>,
    progress: &Progress,
    stop: &AtomicBool,
    mut out: Outlet<'_>,
) -> SourceEnd {
    let mut end = SourceEnd::default();
    let settings = job.settings;
    let mut stream = match open(&input.place, settings, job.digests) {
        Ok(stream) => stream,
        Err(reason) => {
            let offset = match &input.place {
                Place::Refused(trouble) => trouble.offset,
                _ => 0,
            };
            end.broken = Some(StreamBreak::at(offset, reason));
            return end;
        }
    };
    let reader = std::mem::replace(&mut stream.reader, Box::new(std::io::empty()));
    let limit = usize::try_from(settings.max_record_bytes).unwrap_or(usize::MAX);
    let mut framer = Framer::new(reader, limit);
    let mut told = 0u64;
    let mut format = job.known.or(job.facts.format);
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
            format = sniffed(&block, &settings.sources);
            end.format = format.map(|f| f.name());
        }
        // Junk before the first record of a known shape is rejected record by record.
        let reader = format.unwrap_or(&NoFormat);
        if !out.send(block, reader) {
            break;
        }
    }
    out.finish(settings.block_bytes);
    drop(framer);
    end.received = stream.received();
    end.decoded = stream.decoded();
    end
}

fn sniffed(block: &Block, sources: &LogSources) -> Option<&'static dyn LogFormat> {
    let first: Vec<&[u8]> = block
        .records
        .iter()
        .take(SNIFF_RECORDS)
        .map(|span| block.record(span))
        .collect();
    sniff_among(&first, sources.own()).ok()
}

/// Why a stream broke, from the sort of its error.
pub fn break_reason(kind: std::io::ErrorKind) -> RejectReason {
    match kind {
        std::io::ErrorKind::UnexpectedEof => RejectReason::Truncated,
        std::io::ErrorKind::FileTooLarge => RejectReason::RatioLimit,
        std::io::ErrorKind::InvalidData
        | std::io::ErrorKind::InvalidInput
        | std::io::ErrorKind::Other => RejectReason::CorruptStream,
        _ => RejectReason::Unreadable,
    }
}
