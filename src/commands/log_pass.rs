//! One pass over logs by a command that needs no case: what is read, and what could not be.

use crate::config::Config;
use crate::outcome::{FailureKind, failure};
use crate::pipeline::discover::{Input, Place, discover};
use crate::pipeline::ingest::{settings_of, total_bytes};
use crate::pipeline::scan::{BlockWork, ScanSettings, scan_source};
use crate::progress::{Progress, ProgressMode};
use crate::settings::worker_threads;
use anyhow::{Context, Result};
use pentimento_core::format::frame::Block;

/// Logs to read, and how.
pub struct LogPass {
    /// Inputs in order.
    pub inputs: Vec<Input>,
    settings: ScanSettings,
    progress: Progress,
}

/// What a pass came to.
#[derive(Default)]
pub struct Coverage {
    /// Records, those that the framer refused included.
    pub records: usize,
    /// Records that could not be read.
    pub unread: usize,
    /// Sources that could not be read to their end.
    broken: Vec<String>,
}

impl LogPass {
    /// Finds the logs and starts the worker threads. `no_stdin` says why standard input is none of
    /// them.
    ///
    /// # Errors
    /// Usage failures, and where no input matches.
    pub fn open(
        logs: &[String],
        config: &Config,
        threads: Option<usize>,
        block_bytes: usize,
        no_stdin: &str,
        (progress, quiet): (ProgressMode, bool),
    ) -> Result<LogPass> {
        let threads = worker_threads(threads);
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()
            .context("cannot start the worker threads")?;
        let inputs = discover(logs, config.max_ratio)?;
        if inputs.iter().any(|i| i.place == Place::Stdin) {
            return Err(failure(FailureKind::Usage, no_stdin));
        }
        Ok(LogPass {
            settings: settings_of(config, (threads, block_bytes), None, &inputs),
            inputs,
            progress: Progress::new(progress, quiet),
        })
    }

    /// Reads all of them. `absorb` takes the number of the input and a block's result, and gives
    /// the records of it that could not be decoded.
    ///
    /// # Errors
    /// Those of `absorb`.
    pub fn run<W: BlockWork>(
        &self,
        stage: &str,
        work: &W,
        mut absorb: impl FnMut(usize, W::Out) -> Result<usize>,
    ) -> Result<Coverage> {
        let total = total_bytes(&self.inputs, &self.settings.stdin_copy);
        self.progress.stage(stage, total);
        let mut coverage = Coverage::default();
        for (number, input) in self.inputs.iter().enumerate() {
            let take = |block: &Block, out: W::Out| {
                coverage.records += block.records.len() + block.rejects.len();
                coverage.unread += absorb(number, out)? + block.rejects.len();
                Ok(())
            };
            let end = scan_source(input, &self.settings, false, &self.progress, work, take)?;
            if end.broken.is_some() {
                coverage.broken.push(input.display.clone());
            }
        }
        self.progress.finish();
        Ok(coverage)
    }
}

impl Coverage {
    /// Whether not even a part of a record was there.
    pub fn is_empty(&self) -> bool {
        self.records == 0 && self.broken.is_empty()
    }

    /// What was not read, in words; nothing of that may have been empty.
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        if self.unread > 0 {
            gaps.push(format!("{} records could not be read", self.unread));
        }
        for source in &self.broken {
            gaps.push(format!("`{source}` could not be read to its end"));
        }
        gaps
    }
}
