//! Previews of shared passages: their records are read again where they lie, and the passages
//! leave this module masked.

use super::corpus::{Corpus, Locator, at};
use super::detect::DetectJob;
use super::discover::Input;
use super::ingest::{scan_settings, total_bytes};
use super::mask;
use super::scan::{BlockWork, scan_source};
use crate::progress::Progress;
use anyhow::Result;
use pentimento_core::exchange::Exchange;
use pentimento_core::format::frame::Block;
use pentimento_core::format::{DecodeContext, LogFormat};
use std::collections::BTreeMap;

/// A passage of an answer.
#[derive(Clone, Debug)]
pub struct Passage {
    /// Exchange of the answer.
    pub exchange_id: String,
    /// response, reasoning or tool.
    pub field: String,
    /// First byte in the decoded text.
    pub start: usize,
    /// Last byte, not included.
    pub end: usize,
}

/// The masked form of each passage, in their order; `None` where the logs no longer give it.
///
/// Only the sources that hold one are read.
///
/// # Errors
/// Where a table of the case cannot be read.
pub fn previews(
    job: &DetectJob<'_>,
    passages: &[Passage],
    progress: &Progress,
) -> Result<Vec<Option<String>>> {
    let mut found = vec![None; passages.len()];
    if passages.is_empty() {
        return Ok(found);
    }
    let corpus = Corpus::read(job.case, job.inputs)?;
    let wanted = wanted(&corpus, passages);
    let holding = |number: &usize| {
        let mut all = corpus.locators[*number].iter();
        all.any(|l| wanted.contains_key(&l.exchange))
    };
    let sources: Vec<usize> = (0..corpus.inputs.len()).filter(holding).collect();
    let settings = scan_settings(job.config, &job.resources, job.case, job.inputs);
    let inputs: Vec<Input> = sources.iter().map(|&n| corpus.inputs[n].clone()).collect();
    progress.stage("preview", total_bytes(&inputs, &settings.stdin_copy));
    for (number, input) in sources.into_iter().zip(&inputs) {
        let work = Previews {
            locators: &corpus.locators[number],
            wanted: &wanted,
            passages,
        };
        scan_source(input, &settings, false, progress, &work, |_, masked| {
            for (passage, preview) in masked {
                found[passage] = Some(preview);
            }
            Ok(())
        })?;
    }
    Ok(found)
}

/// Exchange → its passages.
fn wanted(corpus: &Corpus, passages: &[Passage]) -> BTreeMap<u32, Vec<usize>> {
    let mut by_id: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, passage) in passages.iter().enumerate() {
        by_id.entry(&passage.exchange_id).or_default().push(number);
    }
    (0..)
        .zip(&corpus.ids)
        .filter_map(|(exchange, id)| Some((exchange, by_id.get(id.as_str())?.clone())))
        .collect()
}

struct Previews<'a> {
    locators: &'a [Locator],
    wanted: &'a BTreeMap<u32, Vec<usize>>,
    passages: &'a [Passage],
}

impl BlockWork for Previews<'_> {
    /// Passages by number, masked.
    type Out = Vec<(usize, String)>;

    fn work(
        &self,
        block: &Block,
        format: &dyn LogFormat,
        context: &DecodeContext<'_>,
    ) -> Self::Out {
        let mut out = Vec::new();
        let mut exchanges = Vec::new();
        for span in &block.records {
            let here = at(self.locators, block.offset(span));
            if !here.iter().any(|l| self.wanted.contains_key(&l.exchange)) {
                continue;
            }
            exchanges.clear();
            let record = block.record(span);
            if format.decode(record, context, &mut exchanges).is_err() {
                continue;
            }
            for locator in here {
                let Some(exchange) = exchanges.get(locator.index as usize) else {
                    continue;
                };
                for &number in self.wanted.get(&locator.exchange).into_iter().flatten() {
                    let masked = masked(exchange, &self.passages[number]);
                    out.extend(masked.map(|m| (number, m)));
                }
            }
        }
        out
    }
}

fn masked(exchange: &Exchange, passage: &Passage) -> Option<String> {
    let field = match passage.field.as_str() {
        "response" => &exchange.response,
        "reasoning" => &exchange.reasoning,
        "tool" => &exchange.tool,
        // A prompt is the customer's own.
        _ => return None,
    };
    mask::preview(&field.as_ref()?.text, passage.start, passage.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pentimento_core::exchange::FieldText;

    #[test]
    fn only_answers_and_only_where_positions_fit() {
        let exchange = Exchange {
            prompt: Some(FieldText::of("prompted")),
            response: Some(FieldText::of("größer gesagt")),
            tool: Some(FieldText::of("called")),
            ..Exchange::default()
        };
        for (field, start, end, seen) in [
            ("response", 0, 8, Some("gr••••")),
            ("response", 9, 15, Some("ge••••")),
            ("tool", 0, 6, Some("ca••••")),
            ("prompt", 0, 8, None),
            ("reasoning", 0, 1, None),
            ("", 0, 1, None),
            ("response", 3, 8, None),
            ("response", 0, 400, None),
            ("response", 8, 0, None),
        ] {
            let passage = Passage {
                exchange_id: "e".into(),
                field: field.into(),
                start,
                end,
            };
            let found = masked(&exchange, &passage);
            assert_eq!(found.as_deref(), seen, "{field} {start} {end}");
        }
    }
}
