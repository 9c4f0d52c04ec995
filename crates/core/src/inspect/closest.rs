//! The formats that records are nearest to where none fits, and what does not fit first.

use super::known::known;
use super::origin::origins_of_faults;
use super::sample::Sample;
use crate::format::json::Json;
use crate::format::{DecodeContext, LogFormat, by_name};

/// Records that are looked at.
const MAX_RECORDS: usize = 16;

/// Shapes that are compared at the start of two lines.
const SHAPES: usize = 40;

/// A format that records are near to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    /// Its name.
    pub format: &'static str,
    /// How much of what it needs is there, in thousandths.
    pub permille: u32,
    /// What does not fit first.
    pub failing: String,
}

/// The nearest formats, the nearest first, three at most.
pub fn closest(samples: &[Sample<'_>], context: &DecodeContext<'_>) -> Vec<Near> {
    let samples = samples.get(..MAX_RECORDS).unwrap_or(samples);
    let objects: Vec<Json<'_>> = samples.iter().filter_map(Sample::object).collect();
    let mut found: Vec<(u32, u32, Near)> = Vec::new();
    for known in known() {
        let Some(format) = by_name(&known.name) else {
            continue;
        };
        let near = known.examples.iter().filter_map(|text| {
            let example = Example {
                text,
                csv: known.csv,
            };
            match (example.tree(), objects.first()) {
                (Some(tree), Some(_)) => {
                    Some(by_keys(format, example, &tree, &objects, samples, context))
                }
                (None, None) => samples.first().and_then(|s| by_shape(format, text, s)),
                _ => None,
            }
        });
        // Of equally near shapes the first, which says most.
        let best = near.reduce(|best, next| match (best.0, best.1) < (next.0, next.1) {
            true => next,
            false => best,
        });
        found.extend(best);
    }
    found.sort_by_key(|(needed, all, _)| std::cmp::Reverse((*needed, *all)));
    found.truncate(3);
    found.into_iter().map(|(_, _, near)| near).collect()
}

/// One record of a format, or the header of its files.
#[derive(Clone, Copy)]
struct Example<'a> {
    text: &'a str,
    csv: bool,
}

impl<'a> Example<'a> {
    fn tree(self) -> Option<Json<'a>> {
        let sample = Sample {
            record: self.text.as_bytes(),
            header: self.csv.then_some(self.text.as_bytes()),
        };
        let parted = sample.part()?;
        parted.prefix.trim().is_empty().then_some(parted.tree)
    }
}

/// Keys of the example without which its format does not know it again.
fn needed<'t>(format: &dyn LogFormat, example: Example<'_>, tree: &'t Json<'_>) -> Vec<&'t str> {
    let sure = format.sniff(example.text.as_bytes());
    let keys = tree.entries().iter().map(|(key, _)| key.as_ref());
    let is_needed = |key: &&str| {
        let left: Vec<_> = tree.entries().iter().filter(|(k, _)| k != key).collect();
        let without = if example.csv {
            left.iter()
                .map(|(k, _)| k.as_ref())
                .collect::<Vec<_>>()
                .join(",")
        } else {
            let kept = left.iter().map(|(k, v)| (k.as_ref().into(), v.borrowed()));
            Json::Object(kept.collect()).to_text()
        };
        format.sniff(without.as_bytes()) < sure / 2
    };
    let needed: Vec<&str> = keys.clone().filter(is_needed).collect();
    if needed.is_empty() {
        keys.collect()
    } else {
        needed
    }
}

/// What a key of the records lacks to be that of the example.
fn fault(key: &str, wanted: &Json<'_>, objects: &[Json<'_>], csv: bool) -> Option<String> {
    let Some(value) = objects.iter().find_map(|object| object.some(key)) else {
        return Some(format!("`/{key}` is missing"));
    };
    let nested = |v: &Json<'_>| matches!(v, Json::Object(_) | Json::Array(_));
    let expected = wanted.type_name();
    let differs = !csv && nested(wanted) != nested(value) && expected != "null";
    // Bodies may stand in strings.
    let differs = differs && !(nested(wanted) && value.as_str().is_some_and(is_nested));
    differs.then(|| {
        format!(
            "`/{key}` is of type {}, expected {expected}",
            value.type_name()
        )
    })
}

fn is_nested(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

fn by_keys(
    format: &'static dyn LogFormat,
    example: Example<'_>,
    tree: &Json<'_>,
    objects: &[Json<'_>],
    samples: &[Sample<'_>],
    context: &DecodeContext<'_>,
) -> (u32, u32, Near) {
    let needed = needed(format, example, tree);
    let faults: Vec<Option<String>> = needed
        .iter()
        .map(|key| fault(key, tree.get(key)?, objects, example.csv))
        .collect();
    let permille = |here: usize, all: usize| (here * 1000 / all.max(1)) as u32;
    let here = permille(faults.iter().filter(|f| f.is_none()).count(), needed.len());
    let keys = tree.entries();
    let shared = keys
        .iter()
        .filter(|(key, _)| objects.iter().any(|o| o.some(key).is_some()));
    let all = permille(shared.count(), keys.len());
    let failing = faults.into_iter().flatten().next();
    let failing = failing.unwrap_or_else(|| undecodable(format, samples, context));
    let near = Near {
        format: format.name(),
        permille: here,
        failing,
    };
    (here, all, near)
}

/// Where all keys are there: the field that the decoder stumbles over.
fn undecodable(
    format: &dyn LogFormat,
    samples: &[Sample<'_>],
    context: &DecodeContext<'_>,
) -> String {
    for sample in samples {
        let context = DecodeContext {
            header: sample.header,
            ..*context
        };
        let Err(reason) = format.decode(sample.record, &context, &mut Vec::new()) else {
            continue;
        };
        return match origins_of_faults(format, sample, &context) {
            Some(path) => format!("`{path}` does not fit ({})", reason.as_str()),
            None => format!("a record does not fit ({})", reason.as_str()),
        };
    }
    "nothing: its records look like others as well, so name it under [source]".to_owned()
}

/// How lines begin: letters and digits as runs, everything else as it is.
fn shapes(text: &str) -> Vec<(usize, char)> {
    let mut out: Vec<(usize, char)> = Vec::new();
    for (at, c) in text.char_indices().take(256) {
        let shape = match c {
            c if c.is_alphabetic() => 'a',
            c if c.is_numeric() => '9',
            c if c.is_whitespace() => ' ',
            c => c,
        };
        if !(matches!(shape, 'a' | '9' | ' ') && out.last().is_some_and(|(_, last)| *last == shape))
        {
            out.push((at, shape));
        }
        if out.len() == SHAPES {
            break;
        }
    }
    out
}

fn named(shape: Option<&(usize, char)>) -> String {
    match shape {
        None => "the end".to_owned(),
        Some((_, 'a')) => "letters".to_owned(),
        Some((_, '9')) => "digits".to_owned(),
        Some((_, ' ')) => "a blank".to_owned(),
        Some((_, other)) => format!("`{}`", other.escape_default()),
    }
}

fn by_shape(
    format: &'static dyn LogFormat,
    example: &str,
    sample: &Sample<'_>,
) -> Option<(u32, u32, Near)> {
    let text = String::from_utf8_lossy(sample.record);
    let (ours, theirs) = (shapes(&text), shapes(example));
    let pairs = ours.iter().zip(&theirs);
    let same = pairs.take_while(|((_, a), (_, b))| a == b).count();
    if same == 0 || theirs.is_empty() {
        return None;
    }
    let permille = (same * 1000 / theirs.len()) as u32;
    let at = ours.get(same).map_or(text.len(), |(at, _)| *at);
    let (found, wanted) = (named(ours.get(same)), named(theirs.get(same)));
    let near = Near {
        format: format.name(),
        permille,
        failing: format!("byte {at} of the line: {found}, expected {wanted}"),
    };
    Some((permille, 0, near))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(records: &[&str]) -> Vec<Near> {
        let sample = |record: &&'static str| Sample {
            record: record.as_bytes(),
            header: None,
        };
        let leaked: Vec<&'static str> = records.iter().map(|r| &*r.to_string().leak()).collect();
        let samples: Vec<Sample<'_>> = leaked.iter().map(sample).collect();
        closest(&samples, &DecodeContext::default())
    }

    #[test]
    fn the_first_failing_field_is_named() {
        // A row of Mooncake's trace, but one name is spelled in another way.
        let record = r#"{"timestamp":1,"input_length":2,"output_lenght":3,"hash_ids":[]}"#;
        let found = near(&[record]);
        assert_eq!((found.len(), found[0].format), (3, "mooncake"), "{found:?}");
        assert_eq!(found[0].failing, "`/output_length` is missing");
        let strange = near(&[r#"{"zzz":1}"#]);
        assert_eq!((strange.len(), strange[0].permille), (3, 0), "{strange:?}");
    }

    #[test]
    fn lines_are_compared_by_shape() {
        let found = near(&["ERROR 09/11 08:30:05 [engine.py:12] Ready"]);
        let hit = found.iter().find(|n| n.format == "vllm_text");
        let hit = hit.expect("vLLM's lines begin alike");
        assert!(
            hit.failing
                .starts_with("byte 8 of the line: `/`, expected `-`"),
            "{hit:?}"
        );
    }
}
