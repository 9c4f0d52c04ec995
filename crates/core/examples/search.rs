//! The overlap search alone: `search FILE full|suspect [THREADS] [MEMORY_MIB] [ROWS]`.
//!
//! Prints CPU seconds (user and system, all threads) of each pass and a digest of the rows. The
//! log is read in blocks, so that memory is the search's. Suspects are answers to prompts of more
//! than 600,000 tokens.

use pentimento_core::exchange::{ContentState, Exchange, Role};
use pentimento_core::format::{DecodeContext, LogFormat, Wanted, by_name};
use pentimento_core::overlap::{Fields, Limits, Partial, PassKind, Row, Search, Settings, Subject};
use std::collections::BTreeSet;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::sync::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Prompts of more tokens than this are suspect.
const POOL: i64 = 600_000;
/// Bytes read in one go.
const BLOCK: u64 = 4 << 20;

type Failure = Box<dyn Error + Send + Sync>;

/// Where a record lies; its number is its place in the list.
struct Line {
    offset: u64,
    length: usize,
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, mode, ..] = args.as_slice() else {
        return Err("usage: search FILE full|suspect [THREADS] [MEMORY_MIB] [ROWS]".into());
    };
    let number = |at: usize, default: usize| args.get(at).map_or(Ok(default), |a| a.parse());
    let (threads, memory) = (number(2, 1)?, number(3, 1024)?);
    let format = by_name("native").ok_or("no native format")?;
    let mut out = std::io::stdout();
    let mut before = cpu_seconds()?;
    let (lines, subjects) = read_subjects(path, format, mode == "suspect")?;
    let file = File::open(path)?;
    let mut report = |what: &str| -> Result<(), Failure> {
        let now = cpu_seconds()?;
        writeln!(out, "{what:<10} {:6.2} cpu-s", now - before)?;
        before = now;
        Ok(())
    };
    report("subjects")?;
    let limits = Limits {
        memory_bytes: memory << 20,
    };
    let mut search = RwLock::new(Search::new(subjects, Settings::default(), limits));
    while let Some(kind) = search.get_mut().map_err(|_| "poisoned")?.next_pass() {
        let wanted = match kind {
            PassKind::Judge | PassKind::Index => Wanted::Answer,
            _ => Wanted::All,
        };
        let read = pass(&file, &lines, (format, wanted), &search, threads)?;
        search.get_mut().map_err(|_| "poisoned")?.end_pass();
        report(&format!("{kind:?}"))?;
        writeln!(std::io::stdout(), "           {read} records decoded")?;
    }
    let outcome = search.into_inner().map_err(|_| "poisoned")?.finish();
    report("rows")?;
    let digest = outcome
        .rows
        .iter()
        .fold(blake3::Hasher::new(), |mut hasher, row| {
            hasher.update(text_of(row).as_bytes());
            hasher
        });
    writeln!(
        out,
        "{:?}\n{} rows, {} of 12 words, digest {}, total {:.2} cpu-s, peak {} MiB",
        outcome.stats,
        outcome.rows.len(),
        outcome.rows.iter().filter(|r| r.novel_weight >= 24).count(),
        &digest.finalize().to_hex()[..16],
        cpu_seconds()?,
        peak_mib()?
    )?;
    if let Some(path) = args.get(4) {
        let text: String = outcome.rows.iter().map(text_of).collect();
        std::fs::write(path, text)?;
    }
    Ok(())
}

fn text_of(row: &Row) -> String {
    format!("{row:?}\n")
}

/// First look at the log: where records lie, whose they are, when.
fn read_subjects(
    path: &str,
    format: &dyn LogFormat,
    suspects: bool,
) -> Result<(Vec<Line>, Vec<Subject>), Failure> {
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path)?);
    let (mut lines, mut names, mut subjects) = (Vec::new(), Vec::new(), Vec::new());
    let (mut line, mut offset) = (Vec::new(), 0);
    let mut exchanges: Vec<Exchange> = Vec::new();
    loop {
        line.clear();
        let length = reader.read_until(b'\n', &mut line)?;
        if length == 0 {
            break;
        }
        exchanges.clear();
        let record = line.strip_suffix(b"\n").unwrap_or(&line);
        format
            .decode_again(
                record,
                &DecodeContext::default(),
                Wanted::Facts,
                &mut exchanges,
            )
            .map_err(|reason| format!("the record at byte {offset}: {reason:?}"))?;
        let exchange = exchanges.first().ok_or("a record without exchange")?;
        let answered = exchange.http_status == Some(200);
        let suspect = exchange.prompt_tokens.is_some_and(|n| n > POOL);
        let call = lines.len() as u32;
        names.push(exchange.tenant_candidates.first().map(|t| t.value.clone()));
        subjects.push(Subject {
            process_start: None,
            call,
            tenant: None,
            role: Role::Gateway,
            choice: 0,
            t_start: exchange.t_start,
            t_end: exchange.t_end,
            id_rank: call,
            judge: answered && (suspect || !suspects),
        });
        lines.push(Line { offset, length });
        offset += length as u64;
    }
    let sorted: BTreeSet<&String> = names.iter().flatten().collect();
    let sorted: Vec<&String> = sorted.into_iter().collect();
    for (subject, name) in subjects.iter_mut().zip(&names) {
        let rank = name.as_ref().and_then(|n| sorted.binary_search(&n).ok());
        subject.tenant = rank.map(|r| r as u32);
    }
    Ok((lines, subjects))
}

/// One pass over the log; gives the number of records that were decoded.
fn pass(
    file: &File,
    lines: &[Line],
    decoder: (&dyn LogFormat, Wanted),
    search: &RwLock<Search>,
    threads: usize,
) -> Result<usize, Failure> {
    let next = AtomicUsize::new(0);
    let blocks = blocks(lines);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| worker(file, lines, (&blocks, &next), decoder, search)))
            .collect();
        let mut decoded = 0;
        for worker in workers {
            decoded += worker.join().map_err(|_| "a worker failed")??;
        }
        Ok(decoded)
    })
}

/// Ranges of lines of about [`BLOCK`] bytes.
fn blocks(lines: &[Line]) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut first = 0;
    for at in 1..=lines.len() {
        if at == lines.len() || lines[at].offset - lines[first].offset >= BLOCK {
            out.push((first, at));
            first = at;
        }
    }
    out
}

fn worker(
    file: &File,
    lines: &[Line],
    (blocks, next): (&[(usize, usize)], &AtomicUsize),
    (format, wanted): (&dyn LogFormat, Wanted),
    search: &RwLock<Search>,
) -> Result<usize, Failure> {
    let mut bytes = Vec::new();
    let mut exchanges = Vec::new();
    let mut decoded = 0;
    while let Some(&(first, last)) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
        let read = search.read().map_err(|_| "poisoned")?;
        let mut partial = Partial::default();
        if !(first..last).any(|x| read.wants(x as u32)) {
            continue;
        }
        let begin = lines[first].offset;
        let end = lines[last - 1].offset + lines[last - 1].length as u64;
        bytes.resize((end - begin) as usize, 0);
        file.read_exact_at(&mut bytes, begin)?;
        for (x, line) in (first..last).zip(&lines[first..last]) {
            if !read.wants(x as u32) {
                continue;
            }
            let from = (line.offset - begin) as usize;
            let record = &bytes[from..from + line.length - 1];
            exchanges.clear();
            format
                .decode_again(record, &DecodeContext::default(), wanted, &mut exchanges)
                .map_err(|reason| format!("record {x}: {reason:?}"))?;
            decoded += 1;
            read.scan(x as u32, &fields(&exchanges[0]), &mut partial);
        }
        drop(read);
        search.write().map_err(|_| "poisoned")?.absorb(partial);
    }
    Ok(decoded)
}

fn fields(exchange: &Exchange) -> Fields<'_> {
    Fields {
        prompt: exchange.prompt.as_ref(),
        response: exchange.response.as_ref(),
        reasoning: exchange.reasoning.as_ref(),
        tool: exchange.tool.as_ref(),
        prompt_truncated: exchange.prompt_state == ContentState::Truncated,
        response_truncated: exchange.response_state == ContentState::Truncated,
    }
}

/// User and system time of this process; the kernel counts hundredths of a second.
fn cpu_seconds() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let behind = stat.rsplit(')').next().ok_or("no process name")?;
    let fields: Vec<&str> = behind.split_whitespace().collect();
    let ticks = |at: usize| {
        fields
            .get(at)
            .ok_or("too few fields")
            .map(|f| f.parse::<f64>())
    };
    Ok((ticks(11)?? + ticks(12)??) / 100.0)
}

fn peak_mib() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|p| p.split_whitespace().next()?.parse::<u64>().ok());
    Ok(kib.ok_or("no VmHWM")? / 1024)
}
