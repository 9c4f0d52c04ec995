//! Evidence beside the overlap search: operators over texts, each with its table.
//!
//! All of them run side by side, so that a pass over the logs decodes each record once. Those that
//! weigh words by how rare they are wait for the counts of the first round.

mod rows;

use super::corpus::Corpus;
use super::detect::DetectJob;
use super::ingest::write_table;
use super::operators::{AnyOperator, run_operators};
use super::scan::ScanSettings;
use crate::progress::Progress;
use crate::settings::read_keys;
use anyhow::Result;
use pentimento_core::attribution::{Attribution, AttributionLimits, AttributionSettings};
use pentimento_core::canary::{CanarySearch, Scanner};
use pentimento_core::duplicate::Duplicates;
use pentimento_core::facts::{FactKind, FactOverlap};
use pentimento_core::health::TextHealth;
use pentimento_core::identifiers::{Identifiers, Patterns};
use pentimento_core::mosaic::{Mosaic, MosaicKind};
use pentimento_core::overlap::{Limits, Row, Settings, Subject};
use pentimento_core::second_hand::{LEAST_WEIGHT, Leak, SecondHandSearch};
use pentimento_core::surprise::{Span, SpanScore, StatsLimits, Surprise, TokenCount, TokenStats};
use pentimento_store::manifest::TableDigest;
use pentimento_store::rows::OverlapRow;
use std::sync::Arc;

/// Runs the operators and writes `overlaps` and their tables.
///
/// # Errors
/// An integrity failure where a source changed since ingest; where the case cannot be written.
pub fn write_evidence(
    job: &DetectJob<'_>,
    corpus: &Corpus,
    overlap: &Settings,
    found: &[Row],
    settings: &ScanSettings,
    progress: &Progress,
) -> Result<Vec<TableDigest>> {
    let run = Run {
        job,
        corpus,
        overlap,
        subjects: corpus.subjects.clone().into(),
        settings,
        progress,
        // Several operators hold their share at once.
        share: job.resources.search_bytes() / 4,
    };
    let mut tables = Vec::new();
    let stats = run.first_round(found, &mut tables)?;
    run.second_round(found, &stats, &mut tables)?;
    Ok(tables)
}

struct Run<'a> {
    job: &'a DetectJob<'a>,
    corpus: &'a Corpus,
    overlap: &'a Settings,
    subjects: Arc<[Subject]>,
    settings: &'a ScanSettings,
    progress: &'a Progress,
    /// Bytes of memory that one operator may hold.
    share: usize,
}

impl Run<'_> {
    fn run(&self, operators: &mut [&mut dyn AnyOperator]) -> Result<()> {
        run_operators(operators, self.corpus, self.settings, self.progress)?;
        Ok(())
    }

    /// Operators that need no counts, and the counts.
    fn first_round(&self, found: &[Row], tables: &mut Vec<TableDigest>) -> Result<Arc<TokenStats>> {
        let (corpus, case) = (self.corpus, self.job.case);
        let subjects = || self.subjects.clone();
        let mut count = TokenCount::new(&self.subjects, StatsLimits::default());
        let mut second_hand = SecondHandSearch::new(subjects(), leaks(found));
        let limits = Limits {
            memory_bytes: self.share,
        };
        let patterns = Patterns::builtin();
        let mut identifiers = Identifiers::new(subjects(), self.overlap.clone(), limits, patterns);
        let (look_back, clock_tolerance) = (self.overlap.look_back, self.overlap.clock_tolerance);
        let mut attribution = Attribution::new(
            subjects(),
            &corpus.places,
            AttributionSettings {
                look_back,
                clock_tolerance,
            },
            AttributionLimits {
                memory_bytes: self.share,
            },
        );
        let mut health = TextHealth::new(subjects(), &corpus.places);
        let scanner = self.scanner()?;
        let mut canaries = scanner.as_ref().map(|scanner| {
            let owners = scanner.owners().iter();
            let owners = owners.map(|o| corpus.tenant_number(o)).collect();
            CanarySearch::new(subjects(), scanner.clone(), owners, self.job.case_key)
        });
        let mut operators: Vec<&mut dyn AnyOperator> = vec![
            &mut count,
            &mut second_hand,
            &mut identifiers,
            &mut attribution,
            &mut health,
        ];
        if let Some(canaries) = &mut canaries {
            operators.push(canaries);
        }
        self.run(&mut operators)?;
        let mut identified: Vec<_> = identifiers
            .finish()
            .rows
            .iter()
            .map(|row| rows::identifier(corpus, row))
            .collect();
        if let (Some(canaries), Some(scanner)) = (canaries, &scanner) {
            let markers = canaries.finish();
            identified.extend(markers.iter().map(|row| rows::canary(corpus, scanner, row)));
        }
        identified.sort_by(rows::identifier_order);
        tables.push(write_table(case, identified.into_iter())?);
        let second_hand = rows::second_hand(corpus, &second_hand.finish());
        tables.push(write_table(case, second_hand.into_iter())?);
        let attributed = attribution.finish().rows;
        let attributed = attributed.iter().map(|row| rows::attribution(corpus, row));
        tables.push(write_table(case, attributed)?);
        let measured = health.finish();
        let measured = measured.iter().map(|row| rows::text_health(corpus, row));
        tables.push(write_table(case, measured)?);
        Ok(Arc::new(count.finish()))
    }

    /// Operators that weigh words by how rare they are.
    fn second_round(
        &self,
        found: &[Row],
        stats: &Arc<TokenStats>,
        tables: &mut Vec<TableDigest>,
    ) -> Result<()> {
        let (corpus, case) = (self.corpus, self.job.case);
        let subjects = || self.corpus.subjects.clone();
        let settings = || self.overlap.clone();
        let spans = found.iter().map(Span::from).collect();
        let mut surprise = Surprise::new(&self.subjects, spans, stats.clone(), self.share);
        let kind = MosaicKind::new(stats.clone());
        let mut mosaic = Mosaic::new(subjects(), settings(), kind, self.share);
        let kind = FactKind::new(stats.clone());
        let mut facts = FactOverlap::new(subjects(), settings(), kind, self.share);
        let mut duplicates = Duplicates::new(subjects(), settings(), stats.clone());
        self.run(&mut [&mut surprise, &mut mosaic, &mut facts, &mut duplicates])?;
        let (mosaics, joints) = (mosaic.finish(), facts.finish());
        // Only then is it known which pairs of prompts are to be compared.
        let pairs = mosaics.iter().chain(&joints).map(Span::from).collect();
        let mut prompts = Surprise::new(&self.subjects, pairs, stats.clone(), self.share);
        self.run(&mut [&mut prompts])?;
        let prompts = prompts.finish();
        let (of_mosaics, of_joints) = prompts.split_at(mosaics.len());
        let mut overlaps: Vec<OverlapRow> = found
            .iter()
            .zip(surprise.finish())
            .map(|(row, score)| rows::overlap(corpus, row, &score))
            .collect();
        let chained = mosaics.iter().zip(of_mosaics);
        overlaps.extend(chained.map(|(row, score)| rows::mosaic(corpus, row, score)));
        overlaps.sort_by(rows::overlap_order);
        tables.push(write_table(case, overlaps.into_iter())?);
        let joints = joints.iter().zip(of_joints);
        let joints = joints.map(|(row, score): (_, &SpanScore)| rows::facts(corpus, row, score));
        tables.push(write_table(case, joints)?);
        let twins = duplicates.finish();
        let twins = twins.iter().map(|row| rows::duplicate(corpus, row));
        tables.push(write_table(case, twins)?);
        Ok(())
    }

    /// What finds the canaries that the configuration names.
    fn scanner(&self) -> Result<Option<Arc<Scanner>>> {
        let file = self.job.config.canary_keys.as_ref();
        file.map(|file| Ok(Arc::new(Scanner::new(&read_keys(file)?))))
            .transpose()
    }
}

/// Passages that one other tenant alone had written, long enough to be a leak.
fn leaks(rows: &[Row]) -> Vec<Leak> {
    rows.iter()
        .filter(|r| r.carriers <= 1 && r.novel_weight >= LEAST_WEIGHT)
        .map(|r| Leak {
            exchange: r.exchange,
            field: r.field,
            start: r.response_start,
            end: r.response_end,
        })
        .collect()
}
