//! Taking records in, in the order of the sources: duplicates, window, counts, and compact rows.
//!
//! Full rows (which hold no text) wait in a spill file of the case; memory keeps about a hundred
//! bytes an exchange.

use super::draft::{Draft, RecordOut, exchange_id};
use super::intern::Interner;
use super::scan::{SourceEnd, StreamBreak};
use crate::config::Config;
use anyhow::{Context, Result};
use hashbrown::HashMap;
use pentimento_core::exchange::{ContentState, Outcome, RecordKind, RejectReason, Role};
use pentimento_core::link::LinkKey;
use pentimento_store::rows::{ExchangeRow, RejectRow, SourceRow};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The audited window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    /// Start, inclusive, µs.
    pub since: Option<i64>,
    /// End, exclusive, µs.
    pub until: Option<i64>,
    /// How far before `since` exchanges are kept as sources, µs.
    pub look_back_us: i64,
}

impl Window {
    /// `None` = outside; else whether the exchange is judged (true) or only a source (false).
    pub fn place(&self, t: Option<i64>) -> Option<bool> {
        // Without a time nothing can be excluded, and excluding would lose it.
        let Some(t) = t else { return Some(true) };
        if self.until.is_some_and(|until| t >= until) {
            return None;
        }
        match self.since {
            Some(since) if t < since.saturating_sub(self.look_back_us) => None,
            Some(since) => Some(t >= since),
            None => Some(true),
        }
    }
}

/// One exchange, compact.
#[derive(Clone, Debug)]
pub struct Meta {
    pub spill_offset: u64,
    pub exchange_id: [u8; 16],
    pub t_start: Option<i64>,
    pub engine_key: Option<u64>,
    pub spill_length: u32,
    pub source: u32,
    pub record: u32,
    pub tenant: u32,
    pub model: u32,
    pub node: u32,
    pub deployment: u32,
    pub http_status: i16,
    pub role: Role,
    pub role_stated: bool,
    pub half: bool,
    pub prompt_full: bool,
    pub has_prompt: bool,
    pub has_response: bool,
    pub generated: bool,
    pub outcome: Outcome,
    pub t_end: Option<i64>,
}

/// A record equal to an earlier one.
struct Seen {
    source: u32,
    count: u32,
}

/// Everything taken in so far.
pub struct Collector<'a> {
    config: &'a Config,
    window: Window,
    /// Compact rows.
    pub metas: Vec<Meta>,
    /// Link keys of records.
    pub keys: Vec<LinkKey>,
    /// Tenant names.
    pub tenants: Interner,
    /// Canonical model names.
    pub models: Interner,
    /// Node names.
    pub nodes: Interner,
    /// Deployment names.
    pub deployments: Interner,
    /// Finished sources.
    pub sources: Vec<SourceRow>,
    /// Rejects.
    pub rejects: Vec<RejectRow>,
    /// Records that gave exchanges.
    pub records: u32,
    seen: HashMap<[u8; 16], Seen>,
    spill: Spill,
    current: SourceRow,
}

impl<'a> Collector<'a> {
    /// Starts with an empty spill file at `spill`.
    ///
    /// # Errors
    /// Where the file cannot be made.
    pub fn new(config: &'a Config, window: Window, spill: &Path) -> Result<Collector<'a>> {
        Ok(Collector {
            config,
            window,
            metas: Vec::new(),
            keys: Vec::new(),
            tenants: Interner::default(),
            models: Interner::default(),
            nodes: Interner::default(),
            deployments: Interner::default(),
            sources: Vec::new(),
            rejects: Vec::new(),
            records: 0,
            seen: HashMap::new(),
            spill: Spill::create(spill)?,
            current: new_source(0, ""),
        })
    }

    /// Starts a source.
    pub fn begin_source(&mut self, display: &str) {
        self.current = new_source(self.sources.len() + 1, display);
    }

    /// Id of the source that is being read.
    pub fn source_id(&self) -> &str {
        &self.current.source_id
    }

    /// Ends a source; a stream that broke or held nothing leaves its reject.
    pub fn end_source(&mut self, end: &SourceEnd) {
        self.current.format = end.format.map(Into::into);
        self.current.bytes = end.received.bytes() as i64;
        self.current.bytes_decoded = end.decoded.bytes() as i64;
        if end.received.bytes() > 0 {
            self.current.sha256 = Some(end.received.sha256());
            self.current.sha256_decoded = Some(end.decoded.sha256());
        }
        self.current.status = match end.broken.map(|b| b.reason) {
            Some(RejectReason::Unreadable) => "unreadable",
            Some(RejectReason::Truncated) => "truncated",
            Some(_) => "corrupt",
            None if end.decoded.bytes() == 0 => "empty",
            None => "complete",
        }
        .into();
        let empty = end.decoded.bytes() == 0;
        let broken = end
            .broken
            .or_else(|| empty.then(|| StreamBreak::at(0, RejectReason::Empty)));
        if let Some(b) = broken {
            self.reject(b.offset, b.length, b.reason, &b.digest);
        }
        let next = new_source(0, "");
        self.sources
            .push(std::mem::replace(&mut self.current, next));
    }

    /// Takes a record that the framer could not give out.
    pub fn reject(&mut self, offset: u64, length: u64, reason: RejectReason, digest: &[u8; 32]) {
        self.current.records_read += 1;
        self.current.records_rejected += 1;
        self.rejects.push(RejectRow {
            source_id: self.current.source_id.clone(),
            offset: offset as i64,
            length: length as i64,
            reason,
            digest: blake3::Hash::from_bytes(*digest).to_hex().to_string(),
        });
    }

    /// Takes a record; `raw` are its bytes.
    ///
    /// # Errors
    /// Where the spill file cannot be written.
    pub fn record(&mut self, out: RecordOut, raw: &[u8]) -> Result<()> {
        // A record that was put together counts as the rows that it was made of.
        let (rows, repeats) = out.joined.as_ref().map_or((1, 0), |joined| {
            (joined.rows.len() as i64, i64::from(joined.repeats))
        });
        self.current.records_read += repeats;
        self.current.records_duplicate += repeats;
        let kind = match out.kind {
            Err(reason) => {
                let Some(joined) = &out.joined else {
                    self.reject(out.offset, out.length, reason, &out.digest);
                    return Ok(());
                };
                for (offset, row) in joined.bytes_of(raw) {
                    let digest = *blake3::hash(row).as_bytes();
                    self.reject(offset, row.len() as u64, reason, &digest);
                }
                return Ok(());
            }
            Ok(kind) => kind,
        };
        self.current.records_read += rows;
        if kind != RecordKind::Exchange || out.drafts.is_empty() {
            match kind {
                RecordKind::Event => self.current.records_event += rows,
                _ => self.current.records_other += rows,
            }
            return Ok(());
        }
        let Some(repeat) = self.repeat_of(&out) else {
            self.current.records_duplicate += rows;
            return Ok(());
        };
        let places: Vec<Option<bool>> = out
            .drafts
            .iter()
            .map(|d| self.window.place(d.row.t_start))
            .collect();
        if places.iter().all(Option::is_none) {
            self.current.records_out_of_window += rows;
            return Ok(());
        }
        self.current.records_exchange += rows;
        // A batch of spans is one record and many calls: to the linker each is a record of its own.
        let first = self.records;
        let last = out.drafts.iter().map(|d| d.part).max().unwrap_or(0);
        self.records = first.saturating_add(last).saturating_add(1);
        let inside: BTreeSet<u32> = out
            .drafts
            .iter()
            .zip(&places)
            .filter(|(_, place)| **place == Some(true))
            .map(|(draft, _)| draft.part)
            .collect();
        let mut keys: Vec<LinkKey> = Vec::new();
        for (index, draft) in out.drafts.into_iter().enumerate() {
            let record = first.saturating_add(draft.part);
            let in_window = inside.contains(&draft.part);
            keys.extend(
                draft
                    .links
                    .iter()
                    .map(|&(key, kind)| LinkKey { key, record, kind }),
            );
            self.exchange(draft, record, in_window, repeat, index as u64, raw)?;
        }
        keys.sort_unstable();
        keys.dedup();
        self.keys.extend(keys);
        Ok(())
    }

    /// How often an equal record was kept before; `None` = this one is a duplicate.
    fn repeat_of(&mut self, out: &RecordOut) -> Option<u32> {
        let mut short = [0u8; 16];
        short.copy_from_slice(&out.digest[..16]);
        let source = self.sources.len() as u32;
        let unique = out.drafts.iter().any(|d| d.unique_id);
        match self.seen.get_mut(&short) {
            None => {
                self.seen.insert(short, Seen { source, count: 1 });
                Some(0)
            }
            Some(seen) if seen.source != source || unique => None,
            Some(seen) => {
                seen.count += 1;
                Some(seen.count - 1)
            }
        }
    }

    fn exchange(
        &mut self,
        draft: Draft,
        record: u32,
        in_window: bool,
        repeat: u32,
        index: u64,
        raw: &[u8],
    ) -> Result<()> {
        let mut row = draft.row;
        if repeat > 0 {
            row.exchange_id = exchange_id(raw, index + (u64::from(repeat) << 32));
        }
        row.source_id.clone_from(&self.current.source_id);
        row.in_window = in_window;
        row.model = row
            .model_raw
            .as_deref()
            .map(|m| self.config.canonical_model(m).to_string());
        if let Some((tenant, kind)) = self.config.tenants.choose(&row.tenant_candidates) {
            (row.tenant, row.tenant_kind) = (Some(tenant.to_string()), Some(kind.to_string()));
        }
        self.current.exchanges += 1;
        self.current.first_time = least(self.current.first_time, row.t_start);
        self.current.last_time = self.current.last_time.max(row.t_start);
        let (spill_offset, spill_length) = self.spill.push(&row)?;
        let mut id = [0u8; 16];
        for (byte, pair) in id.iter_mut().zip(row.exchange_id.as_bytes().chunks(2)) {
            let hex = std::str::from_utf8(pair)
                .ok()
                .and_then(|p| u8::from_str_radix(p, 16).ok());
            *byte = hex.context("exchange id is not hex")?;
        }
        self.metas.push(Meta {
            spill_offset,
            exchange_id: id,
            t_start: row.t_start,
            engine_key: draft.engine_key,
            spill_length,
            source: self.sources.len() as u32,
            record,
            tenant: self.tenants.number(row.tenant.as_deref()),
            model: self.models.number(row.model.as_deref()),
            node: self.nodes.number(row.node.as_deref()),
            deployment: self.deployments.number(row.deployment.as_deref()),
            http_status: row.http_status.unwrap_or(-1) as i16,
            role: row.role,
            role_stated: draft.role_stated,
            half: draft.half,
            prompt_full: row.prompt_state == ContentState::Full && row.prompt_hmac.is_some(),
            has_prompt: row.prompt_bytes > 0,
            has_response: row.response_bytes > 0,
            generated: row.completion_tokens.unwrap_or(0) > 0 || row.response_bytes > 0,
            outcome: row.outcome,
            t_end: row.t_end,
        });
        Ok(())
    }

    /// Ends taking in: the spill file is readable from here on.
    ///
    /// # Errors
    /// Where the spill file cannot be flushed.
    pub fn finish_spill(&mut self) -> Result<()> {
        self.seen = HashMap::new();
        self.spill.finish()
    }

    /// The full row of a compact one.
    ///
    /// # Errors
    /// Where the spill file cannot be read.
    pub fn row(&mut self, meta: &Meta) -> Result<ExchangeRow> {
        self.spill.get(meta.spill_offset, meta.spill_length)
    }
}

/// The least of two times, where an unknown one says nothing.
pub fn least(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn new_source(number: usize, display: &str) -> SourceRow {
    SourceRow {
        source_id: format!("s{number:04}"),
        path: display.to_string(),
        format: None,
        bytes: 0,
        bytes_decoded: 0,
        sha256: None,
        sha256_decoded: None,
        records_read: 0,
        records_exchange: 0,
        records_event: 0,
        records_other: 0,
        records_rejected: 0,
        records_duplicate: 0,
        records_out_of_window: 0,
        exchanges: 0,
        first_time: None,
        last_time: None,
        status: "complete".into(),
    }
}

/// Rows waiting on disk. They hold no text of prompts or responses.
struct Spill {
    writer: BufWriter<File>,
    reader: File,
    length: u64,
}

impl Spill {
    fn create(path: &Path) -> Result<Spill> {
        let file = super::scratch::create_file(path)?;
        let reader =
            File::open(path).with_context(|| format!("cannot open `{}`", path.display()))?;
        Ok(Spill {
            writer: BufWriter::with_capacity(1 << 20, file),
            reader,
            length: 0,
        })
    }

    fn push(&mut self, row: &ExchangeRow) -> Result<(u64, u32)> {
        let bytes = postcard::to_stdvec(row).context("cannot encode a row for the spill file")?;
        self.writer
            .write_all(&bytes)
            .context("cannot write the spill file of the case")?;
        let offset = self.length;
        self.length += bytes.len() as u64;
        Ok((
            offset,
            u32::try_from(bytes.len()).context("row of more than 4 GiB")?,
        ))
    }

    fn finish(&mut self) -> Result<()> {
        self.writer
            .flush()
            .context("cannot write the spill file of the case")
    }

    fn get(&mut self, offset: u64, length: u32) -> Result<ExchangeRow> {
        let mut bytes = vec![0u8; length as usize];
        self.reader
            .seek(SeekFrom::Start(offset))
            .context("cannot read the spill file")?;
        self.reader
            .read_exact(&mut bytes)
            .context("cannot read the spill file")?;
        postcard::from_bytes(&bytes).context("cannot decode a row of the spill file")
    }
}
