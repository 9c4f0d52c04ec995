//! Runs evidence operators side by side: each pass over the logs decodes a record once and shows
//! its texts to every operator that asked for them.

use super::corpus::{Corpus, Locator, at};
use super::detect::{changed, fields};
use super::ingest::total_bytes;
use super::scan::{BlockWork, ScanSettings, scan_source};
use crate::outcome::{FailureKind, failure};
use crate::progress::Progress;
use anyhow::Result;
use pentimento_core::format::frame::Block;
use pentimento_core::format::{DecodeContext, LogFormat};
use pentimento_core::operator::{TextOperator, TextView, TokenBuffers};
use std::any::Any;
use std::collections::BTreeSet;
use std::sync::{RwLock, RwLockWriteGuard};

/// What a thread found, whatever the operator.
type AnyPartial = Box<dyn Any + Send>;

/// An operator with the type of its partials erased.
pub trait AnyOperator: Send + Sync {
    /// The pass to do next.
    fn next_pass(&self) -> Option<&'static str>;
    /// Whether the pass needs an exchange.
    fn wants(&self, exchange: u32) -> bool;
    /// An empty partial.
    fn partial(&self) -> AnyPartial;
    /// Reads one exchange.
    fn scan(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut AnyPartial);
    /// Takes a partial.
    fn absorb(&mut self, partial: AnyPartial);
    /// Ends the pass.
    fn end_pass(&mut self);
}

impl<T: TextOperator> AnyOperator for T {
    fn next_pass(&self) -> Option<&'static str> {
        TextOperator::next_pass(self)
    }

    fn wants(&self, exchange: u32) -> bool {
        TextOperator::wants(self, exchange)
    }

    fn partial(&self) -> AnyPartial {
        Box::new(T::Partial::default())
    }

    fn scan(&self, exchange: u32, texts: &mut TextView<'_>, out: &mut AnyPartial) {
        // The partial was made by this operator, so the type always fits.
        if let Some(out) = out.downcast_mut::<T::Partial>() {
            TextOperator::scan(self, exchange, texts, out);
        }
    }

    fn absorb(&mut self, partial: AnyPartial) {
        if let Ok(partial) = partial.downcast::<T::Partial>() {
            TextOperator::absorb(self, *partial);
        }
    }

    fn end_pass(&mut self) {
        TextOperator::end_pass(self);
    }
}

/// Runs all operators to their end; gives the number of passes over the logs.
///
/// # Errors
/// An integrity failure where a source changed since ingest.
pub fn run_operators(
    operators: &mut [&mut dyn AnyOperator],
    corpus: &Corpus,
    settings: &ScanSettings,
    progress: &Progress,
) -> Result<u32> {
    let total = total_bytes(&corpus.inputs, &settings.stdin_copy);
    let shared = RwLock::new(operators);
    let mut passes = 0;
    loop {
        let active: Vec<(usize, &'static str)> = write_lock(&shared)?
            .iter()
            .enumerate()
            .filter_map(|(n, operator)| Some((n, operator.next_pass()?)))
            .collect();
        if active.is_empty() {
            return Ok(passes);
        }
        let names: BTreeSet<&str> = active.iter().map(|(_, name)| *name).collect();
        let names: Vec<&str> = names.into_iter().collect();
        progress.stage(&names.join(", "), total);
        let active: Vec<usize> = active.into_iter().map(|(n, _)| n).collect();
        for number in 0..corpus.inputs.len() {
            scan_input(corpus, number, settings, &shared, &active, progress)?;
        }
        for &n in &active {
            write_lock(&shared)?[n].end_pass();
        }
        passes += 1;
    }
}

type Shared<'s, 'o> = RwLock<&'s mut [&'o mut dyn AnyOperator]>;

fn write_lock<'l, 's, 'o>(
    shared: &'l Shared<'s, 'o>,
) -> Result<RwLockWriteGuard<'l, &'s mut [&'o mut dyn AnyOperator]>> {
    shared.write().map_err(|_| {
        failure(
            FailureKind::Internal,
            "a worker of the evidence operators failed",
        )
    })
}

fn scan_input(
    corpus: &Corpus,
    number: usize,
    settings: &ScanSettings,
    shared: &Shared<'_, '_>,
    active: &[usize],
    progress: &Progress,
) -> Result<()> {
    let input = &corpus.inputs[number];
    let work = OperatorTexts {
        locators: &corpus.locators[number],
        operators: shared,
        active,
    };
    let mut found = 0usize;
    scan_source(input, settings, false, progress, &work, |_, out| {
        let Some((partials, exchanges)) = out else {
            return Err(changed(input));
        };
        found += exchanges;
        let mut operators = write_lock(shared)?;
        for (&n, partial) in active.iter().zip(partials) {
            operators[n].absorb(partial);
        }
        Ok(())
    })?;
    if found != corpus.locators[number].len() {
        return Err(changed(input));
    }
    Ok(())
}

struct OperatorTexts<'a, 's, 'o> {
    locators: &'a [Locator],
    operators: &'a Shared<'s, 'o>,
    active: &'a [usize],
}

impl BlockWork for OperatorTexts<'_, '_, '_> {
    /// What was found per active operator, and how many exchanges the block held; `None` = a
    /// record changed.
    type Out = Option<(Vec<AnyPartial>, usize)>;

    fn work(
        &self,
        block: &Block,
        format: &dyn LogFormat,
        context: &DecodeContext<'_>,
    ) -> Self::Out {
        let operators = self.operators.read().ok()?;
        let mut partials: Vec<AnyPartial> = self
            .active
            .iter()
            .map(|&n| operators[n].partial())
            .collect();
        let mut buffers = TokenBuffers::default();
        let mut exchanges = Vec::new();
        let mut found = 0;
        let wanted = |l: &Locator| self.active.iter().any(|&n| operators[n].wants(l.exchange));
        for span in &block.records {
            let here = at(self.locators, block.offset(span));
            found += here.len();
            if !here.iter().any(wanted) {
                continue;
            }
            exchanges.clear();
            format
                .decode(block.record(span), context, &mut exchanges)
                .ok()?;
            for locator in here.iter().filter(|l| wanted(l)) {
                let exchange = exchanges.get(locator.index as usize)?;
                let mut texts = TextView::new(fields(exchange), &mut buffers);
                for (&n, partial) in self.active.iter().zip(&mut partials) {
                    if operators[n].wants(locator.exchange) {
                        operators[n].scan(locator.exchange, &mut texts, partial);
                    }
                }
            }
        }
        Some((partials, found))
    }
}
