//! `pentimento inspect`: what a log looks like before it is audited.
//!
//! Format and how sure, which field feeds which column, the first exchanges without their text, and
//! a mapping for the configuration. Texts of prompts and responses are told by length only.

use super::inspect_text::{hints, masked, write_text};
use crate::outcome::{FailureKind, Outcome, failure};
use crate::pipeline::discover::{Input, Place, discover};
use crate::pipeline::ingest::settings_of;
use crate::pipeline::scan::{BlockWork, ScanSettings, scan_source};
use crate::progress::{Progress, ProgressMode};
use crate::settings::{AssumedTime, load_config, size_bytes};
use anyhow::Result;
use clap::Args;
use pentimento_core::exchange::{Exchange, RecordKind, RejectReason};
use pentimento_core::format::frame::Block;
use pentimento_core::format::{DecodeContext, LogFormat, by_name, vote};
use pentimento_core::inspect::{Near, Origin, Sample, closest, guess, origins};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::PathBuf;

/// Target size of a block of records, in bytes.
const BLOCK_BYTES: usize = 1 << 20;

/// Records that are looked at field by field.
const MAX_SAMPLES: usize = 64;

/// Records whose fields are traced to columns.
const MAX_TRACED: usize = 6;

/// Flags of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Files, folders or globs of logs
    #[arg(required = true)]
    logs: Vec<String>,
    /// Configuration, with mappings of its own
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    assumed: AssumedTime,
    /// How much of each file is read
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = size_bytes)]
    max_bytes: usize,
    /// Exchanges that are shown, without their text
    #[arg(long, value_name = "N", default_value_t = 3)]
    exchanges: usize,
    /// Name of the proposed mapping
    #[arg(long, value_name = "NAME", default_value = "house")]
    name: String,
    /// As JSON, one object a file
    #[arg(long)]
    json: bool,
}

/// One file.
#[derive(Debug, Default, Serialize)]
pub struct Inspection {
    /// The path as shown.
    pub source: String,
    /// How the bytes are packed.
    pub container: &'static str,
    /// The format that an audit takes; null where none fits.
    pub format: Option<String>,
    /// The configuration says so, whatever the records look like.
    pub declared: bool,
    /// How the first records voted, the surest format first.
    pub votes: Vec<Vote>,
    /// Records that voted.
    pub voters: usize,
    /// Decoded bytes that were looked at.
    pub bytes: u64,
    /// Whether that was all.
    pub whole: bool,
    /// Where it could not be read on, and why.
    pub broken: Option<&'static str>,
    /// What became of the records.
    pub records: Tally,
    /// Fields of the records and the columns that they feed.
    pub fields: Vec<Field>,
    /// The first exchanges.
    pub exchanges: Vec<BTreeMap<&'static str, String>>,
    /// The nearest formats, where none fits.
    pub closest: Vec<Nearest>,
    /// A mapping for the configuration.
    pub mapping: Option<Proposal>,
    /// What an audit of this file will lack.
    pub hints: Vec<String>,
}

/// How sure the records are of one format.
#[derive(Debug, Serialize)]
pub struct Vote {
    /// The format.
    pub format: String,
    /// Mean over all voters, 0 to 100.
    pub sure: u32,
    /// Records that had it in mind at all.
    pub records: usize,
}

/// What became of records.
#[derive(Debug, Default, Serialize)]
pub struct Tally {
    /// All of them.
    pub read: u64,
    /// Those that gave exchanges.
    pub exchange: u64,
    /// Engine events.
    pub event: u64,
    /// Known, and neither.
    pub other: u64,
    /// Refused, by reason.
    pub rejected: BTreeMap<&'static str, u64>,
    /// Exchanges.
    pub exchanges: u64,
}

/// One field of the records.
#[derive(Debug, Serialize)]
pub struct Field {
    /// A JSON pointer; items of lists are `*`.
    pub path: String,
    /// Columns that change without it.
    pub columns: Vec<&'static str>,
    /// Without it a record is refused.
    pub needed: bool,
}

/// A format that is near.
#[derive(Debug, Serialize)]
pub struct Nearest {
    /// The format.
    pub format: &'static str,
    /// Share of what it needs, in percent.
    pub percent: u32,
    /// What does not fit first.
    pub failing: String,
}

/// A mapping that was guessed.
#[derive(Debug, Serialize)]
pub struct Proposal {
    /// The lines for the configuration.
    pub toml: String,
    /// Records that it reads as exchanges, of those that were looked at.
    pub reads: usize,
    /// Those.
    pub of: usize,
}

/// Ends a pass early.
#[derive(Debug)]
struct Enough;

impl std::fmt::Display for Enough {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("enough was read")
    }
}

impl std::error::Error for Enough {}

/// Runs the command.
///
/// # Errors
/// Usage failures; where no input matches or stdout cannot be written.
pub fn run(args: &InspectArgs) -> Result<Outcome> {
    let config = load_config(args.config.as_deref(), None, &args.assumed)?;
    let inputs = discover(&args.logs, config.max_ratio)?;
    if inputs.iter().any(|i| i.place == Place::Stdin) {
        let why = "inspect looks at files, not at standard input";
        return Err(failure(FailureKind::Usage, why));
    }
    let settings = settings_of(&config, (1, BLOCK_BYTES), None, &inputs);
    let mut unknown = Vec::new();
    let mut out = std::io::stdout().lock();
    for (number, input) in inputs.iter().enumerate() {
        let found = inspect(input, &settings, args)?;
        if args.json {
            serde_json::to_writer(&mut out, &found)?;
            writeln!(out)?;
        } else {
            if number > 0 {
                writeln!(out)?;
            }
            write_text(&mut out, &found)?;
        }
        if found.format.is_none() || found.broken.is_some() {
            unknown.push(found.source);
        }
    }
    Ok(match unknown.first() {
        None => Outcome::Done,
        Some(first) => Outcome::Incomplete(format!(
            "{} of {} files could not be told, the first is `{first}`",
            unknown.len(),
            inputs.len()
        )),
    })
}

fn inspect(input: &Input, settings: &ScanSettings, args: &InspectArgs) -> Result<Inspection> {
    let mut found = Inspection {
        source: input.display.clone(),
        container: container(input),
        whole: true,
        ..Inspection::default()
    };
    let mut kept = Kept::default();
    let progress = Progress::new(ProgressMode::None, true);
    let end = scan_source(input, settings, false, &progress, &Look, |block, seen| {
        kept.take(block, seen, &mut found, args.exchanges);
        found.bytes = block.base_offset + block.bytes.len() as u64;
        match found.bytes >= args.max_bytes as u64 {
            true => Err(anyhow::Error::new(Enough)),
            false => Ok(()),
        }
    });
    match end {
        Ok(end) => found.broken = end.broken.map(|b| b.reason.as_str()),
        Err(error) if error.is::<Enough>() => found.whole = false,
        Err(error) => return Err(error),
    }
    let facts = settings.sources.of(&input.display);
    found.declared = facts.format.is_some();
    let records: Vec<&[u8]> = kept.records.iter().map(Vec::as_slice).collect();
    let own = settings.sources.own();
    take_votes(&records, own, &mut found);
    let header = kept.header.as_deref();
    let samples: Vec<Sample<'_>> = records
        .iter()
        .map(|&record| Sample { record, header })
        .collect();
    let format = facts.format.or_else(|| {
        let named = |f: &&&'static dyn LogFormat| Some(f.name()) == kept.format.as_deref();
        own.iter()
            .find(named)
            .copied()
            .or_else(|| by_name(kept.format.as_deref()?))
    });
    let context = DecodeContext {
        zone: facts.zone.as_ref().or(settings.zone.as_ref()),
        year: facts.year.or(settings.year),
        first_month: format.and_then(|f| records.iter().find_map(|r| f.month(r))),
        header,
        source_name: input.file_name(),
        ..DecodeContext::default()
    };
    found.format = format.map(|f| f.name().to_owned());
    match format {
        Some(format) => found.fields = fields(format, &samples, &context),
        None => {
            found.closest = closest(&samples, &context)
                .into_iter()
                .map(nearest)
                .collect()
        }
    }
    found.mapping = guess(&args.name, &samples, &context).map(|guess| Proposal {
        toml: guess.toml,
        reads: guess.reads,
        of: samples.len() - usize::from(header.is_some()),
    });
    found.hints = hints(&found, kept.lacking);
    Ok(found)
}

/// How the first records vote for formats.
fn take_votes(records: &[&[u8]], own: &[&'static dyn LogFormat], found: &mut Inspection) {
    let votes = vote(records, own);
    found.voters = votes.records;
    found.votes = votes
        .ranked
        .iter()
        .map(|(format, sum, records)| Vote {
            format: format.name().to_owned(),
            sure: sum / votes.records.max(1) as u32,
            records: *records,
        })
        .collect();
}

fn nearest(near: Near) -> Nearest {
    Nearest {
        format: near.format,
        percent: near.permille / 10,
        failing: near.failing,
    }
}

/// The fields of the first exchanges, in the order in which they first stand.
fn fields(
    format: &dyn LogFormat,
    samples: &[Sample<'_>],
    context: &DecodeContext<'_>,
) -> Vec<Field> {
    let mut out: Vec<Field> = Vec::new();
    let traced = samples
        .iter()
        .map(|sample| origins(format, sample, context));
    for origin in traced
        .filter(|all| !all.is_empty())
        .take(MAX_TRACED)
        .flatten()
    {
        let Origin {
            path,
            columns,
            needed,
        } = origin;
        match out.iter_mut().find(|field| field.path == path) {
            None => out.push(Field {
                path,
                columns,
                needed,
            }),
            Some(field) => {
                field.needed |= needed;
                let fresh = columns.into_iter().filter(|c| !field.columns.contains(c));
                let fresh: Vec<&str> = fresh.collect();
                field.columns.extend(fresh);
            }
        }
    }
    out
}

/// What a worker sees in a block.
struct Seen {
    format: &'static str,
    kinds: Vec<Result<RecordKind, RejectReason>>,
    exchanges: Vec<Exchange>,
    count: u64,
    /// Exchanges without tenant, start, response text, prompt text.
    lacking: [u64; 4],
}

struct Look;

/// Exchanges that a block hands on for show.
const SHOWN: usize = 16;

impl BlockWork for Look {
    type Out = Seen;

    fn work(&self, block: &Block, format: &dyn LogFormat, context: &DecodeContext<'_>) -> Seen {
        let mut seen = Seen {
            format: format.name(),
            kinds: Vec::with_capacity(block.records.len()),
            exchanges: Vec::new(),
            count: 0,
            lacking: [0; 4],
        };
        for span in &block.records {
            let mut out = Vec::new();
            let kind = format.decode(block.record(span), context, &mut out);
            seen.kinds.push(kind.map_err(|reason| span.reason(reason)));
            seen.count += out.len() as u64;
            for exchange in &out {
                let lacks = [
                    exchange.tenant_candidates.is_empty(),
                    exchange.t_start.is_none(),
                    exchange.response.is_none() && exchange.tool.is_none(),
                    exchange.prompt.is_none(),
                ];
                for (sum, lacks) in seen.lacking.iter_mut().zip(lacks) {
                    *sum += u64::from(lacks);
                }
            }
            if seen.exchanges.len() < SHOWN {
                seen.exchanges.append(&mut out);
            }
        }
        seen
    }
}

/// The first records, for a closer look.
#[derive(Default)]
struct Kept {
    records: Vec<Vec<u8>>,
    header: Option<Vec<u8>>,
    format: Option<String>,
    lacking: [u64; 4],
}

impl Kept {
    fn take(&mut self, block: &Block, seen: Seen, found: &mut Inspection, show: usize) {
        if self.header.is_none() {
            self.header = block.header.as_deref().map(<[u8]>::to_vec);
        }
        if seen.format != "unknown" {
            self.format = Some(seen.format.to_owned());
        }
        let room = MAX_SAMPLES.saturating_sub(self.records.len());
        let first = block
            .records
            .iter()
            .take(room)
            .map(|span| block.record(span));
        self.records.extend(first.map(<[u8]>::to_vec));
        for (sum, lacks) in self.lacking.iter_mut().zip(seen.lacking) {
            *sum += lacks;
        }
        let tally = &mut found.records;
        tally.read += (seen.kinds.len() + block.rejects.len()) as u64;
        tally.exchanges += seen.count;
        let framed = block.rejects.iter().map(|reject| Err(reject.reason));
        for kind in seen.kinds.into_iter().chain(framed) {
            match kind {
                Ok(RecordKind::Exchange) => tally.exchange += 1,
                Ok(RecordKind::Event) => tally.event += 1,
                Ok(RecordKind::Other) => tally.other += 1,
                Err(reason) => *tally.rejected.entry(reason.as_str()).or_default() += 1,
            }
        }
        let room = show.saturating_sub(found.exchanges.len());
        found
            .exchanges
            .extend(seen.exchanges.iter().take(room).map(masked));
    }
}

/// How a file is packed, by its first bytes.
fn container(input: &Input) -> &'static str {
    let Place::File(path) = &input.place else {
        return "stream";
    };
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(512).read_to_end(&mut head));
    match (read, head.as_slice()) {
        (Err(_), _) => "unreadable",
        (_, []) => "empty",
        (_, [0x1f, 0x8b, ..]) => "gzip",
        (_, [0x28, 0xb5, 0x2f, 0xfd, ..]) => "zstd",
        (_, [b, 0x2a, 0x4d, 0x18, ..]) if b & 0xf0 == 0x50 => "zstd",
        (_, [b'P', b'K', 3 | 5, ..]) => "zip",
        (_, [b'P', b'A', b'R', b'1', ..]) => "parquet",
        (_, [b'B', b'Z', b'h', ..]) => "bzip2, which is not read",
        (_, [0xfd, b'7', b'z', b'X', b'Z', ..]) => "xz, which is not read",
        (_, head) if head.get(257..262) == Some(b"ustar") => "tar",
        _ => "plain",
    }
}
