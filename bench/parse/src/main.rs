//! Parse speed per core: this program's decoding of a log beside general JSON parsers on the same
//! bytes.
//!
//! `parse FILE [REPEATS] [STEP]` reads a file of lines into memory and times each step over all of
//! its lines on one thread, in turn, by the CPU clock of the thread. The median of the repeats
//! counts.

use pentimento_core::exchange::Exchange;
use pentimento_core::format::frame::Framer;
use pentimento_core::format::{DecodeContext, LogFormat, sniff_source};
use sha2::Digest;
use std::borrow::Cow;
use std::error::Error;
use std::hint::black_box;
use std::io::Write;

/// What a program that knows the native format would ask of a parser.
#[derive(serde::Deserialize)]
struct Typed<'a> {
    #[serde(borrow, default)]
    request_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tenant: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    t_start: Option<Cow<'a, str>>,
    #[serde(default)]
    prompt_tokens: Option<i64>,
    #[serde(borrow, default)]
    prompt: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    response: Option<Cow<'a, str>>,
}

impl Typed<'_> {
    fn weight(&self) -> usize {
        let texts = [
            &self.request_id,
            &self.tenant,
            &self.t_start,
            &self.prompt,
            &self.response,
        ];
        let bytes: usize = texts.into_iter().flatten().map(|t| t.len()).sum();
        bytes + self.prompt_tokens.is_some() as usize
    }
}

/// One step over all records; returns something that depends on its work.
type Step<'a> = (&'static str, Box<dyn FnMut() -> usize + 'a>);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .ok_or("usage: parse FILE [REPEATS] [STEP]")?;
    let repeats: usize = arguments.next().map_or(Ok(5), |n| n.parse())?;
    let bytes = std::fs::read(&path)?;
    let lines: Vec<&[u8]> = bytes
        .split(|b| *b == b'\n')
        .filter(|line| !line.is_empty())
        .collect();
    let first: Vec<&[u8]> = lines.iter().take(64).copied().collect();
    let format = sniff_source(&first)?;
    let mut steps = steps(&bytes, &lines, format);
    if let Some(only) = arguments.next() {
        steps.retain(|(name, _)| name.starts_with(&only));
    }
    let mut times: Vec<Vec<u64>> = vec![Vec::new(); steps.len()];
    for _ in 0..repeats.max(1) {
        for ((_, step), times) in steps.iter_mut().zip(&mut times) {
            let before = cpu_nanos()?;
            black_box(step());
            times.push(cpu_nanos()? - before);
        }
    }
    let mut out = std::io::stdout().lock();
    let size = bytes.len() as f64;
    writeln!(
        out,
        "{} bytes, {} records, {}",
        bytes.len(),
        lines.len(),
        format.name()
    )?;
    for ((name, _), times) in steps.iter().zip(&mut times) {
        times.sort_unstable();
        let nanos = times[times.len() / 2] as f64;
        writeln!(
            out,
            "{name:<28} {:>7.3} s/GB {:>7.2} GB/s",
            nanos / size,
            size / nanos
        )?;
    }
    Ok(())
}

fn steps<'a>(
    bytes: &'a [u8],
    lines: &'a [&'a [u8]],
    format: &'static dyn LogFormat,
) -> Vec<Step<'a>> {
    let context = DecodeContext {
        source_name: "decode-0_0.log",
        ..DecodeContext::default()
    };
    let mut copy = Vec::new();
    let mut copies = Vec::new();
    let mut tape_buffers = simd_json::Buffers::default();
    let mut exchanges: Vec<Exchange> = Vec::new();
    vec![
        (
            "validate UTF-8",
            Box::new(move || {
                lines
                    .iter()
                    .filter(|l| std::str::from_utf8(l).is_ok())
                    .count()
            }),
        ),
        (
            "SHA-256",
            Box::new(move || usize::from(sha2::Sha256::digest(bytes)[0])),
        ),
        (
            "BLAKE3 of each record",
            Box::new(move || {
                lines
                    .iter()
                    .map(|l| usize::from(blake3::hash(l).as_bytes()[0]))
                    .sum()
            }),
        ),
        (
            "frame",
            Box::new(move || {
                let stream = std::io::BufReader::with_capacity(256 << 10, bytes);
                let mut framer = Framer::new(stream, 1 << 30);
                std::iter::from_fn(|| framer.next_block(4 << 20))
                    .map(|b| b.records.len())
                    .sum()
            }),
        ),
        (
            "serde_json, nothing kept",
            Box::new(move || {
                lines
                    .iter()
                    .filter(|l| serde_json::from_slice::<serde::de::IgnoredAny>(l).is_ok())
                    .count()
            }),
        ),
        (
            "serde_json typed",
            Box::new(move || {
                lines
                    .iter()
                    .filter_map(|l| serde_json::from_slice::<Typed<'_>>(l).ok())
                    .map(|t| t.weight())
                    .sum()
            }),
        ),
        (
            "sonic-rs typed",
            Box::new(move || {
                lines
                    .iter()
                    .filter_map(|l| sonic_rs::from_slice::<Typed<'_>>(l).ok())
                    .map(|t| t.weight())
                    .sum()
            }),
        ),
        (
            "copy (simd-json needs one)",
            Box::new(move || {
                lines
                    .iter()
                    .map(|l| {
                        copies.clear();
                        copies.extend_from_slice(l);
                        copies.len()
                    })
                    .sum()
            }),
        ),
        (
            "copy + simd-json tape",
            Box::new(move || {
                lines
                    .iter()
                    .filter(|l| {
                        copy.clear();
                        copy.extend_from_slice(l);
                        simd_json::to_tape_with_buffers(&mut copy, &mut tape_buffers).is_ok()
                    })
                    .count()
            }),
        ),
        (
            "decode",
            Box::new(move || {
                lines
                    .iter()
                    .map(|l| {
                        exchanges.clear();
                        let decoded = format.decode(l, &context, &mut exchanges);
                        black_box(&exchanges);
                        usize::from(decoded.is_ok())
                    })
                    .sum()
            }),
        ),
    ]
}

/// CPU time of this thread in nanoseconds.
fn cpu_nanos() -> Result<u64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let first = stat.split_whitespace().next().ok_or("schedstat is empty")?;
    Ok(first.parse()?)
}
