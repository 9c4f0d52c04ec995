//! `audit --reveal`: masked previews for the findings that the report shows.

use crate::pipeline::detect::DetectJob;
use crate::pipeline::previews::{Passage, previews};
use crate::progress::Progress;
use crate::report::Report;
use crate::report::finding::Finding;
use anyhow::Result;

/// Adds a preview to every shown finding whose passage can be read again; how many there are.
///
/// # Errors
/// Where a table of the case cannot be read.
pub fn reveal(report: &mut Report, job: &DetectJob<'_>, progress: &Progress) -> Result<usize> {
    report.header.revealed = true;
    let (mut places, mut passages) = (Vec::new(), Vec::new());
    for (place, finding) in report.findings.shown.iter().enumerate() {
        if let Some(passage) = passage(finding) {
            places.push(place);
            passages.push(passage);
        }
    }
    let found = previews(job, &passages, progress)?;
    let mut shown = 0;
    for (place, preview) in places.into_iter().zip(found) {
        shown += usize::from(preview.is_some());
        report.findings.shown[place].preview = preview;
    }
    Ok(shown)
}

fn passage(finding: &Finding) -> Option<Passage> {
    let span = finding.overlap.as_ref()?;
    Some(Passage {
        exchange_id: finding.exchange_id.clone()?,
        field: span.field.clone()?,
        start: usize::try_from(span.response_start?).ok()?,
        end: usize::try_from(span.response_end?).ok()?,
    })
}
