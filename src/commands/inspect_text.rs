//! An inspection as text for people.

use super::inspect::{Inspection, Tally};
use crate::progress::human_bytes;
use crate::report::sanitize::{fit, visible};
use std::io::{Result, Write};

/// Columns of a value that is shown; the log may have put anything there.
const VALUE_COLUMNS: usize = 100;

/// Formats whose votes are shown.
const MAX_VOTES: usize = 3;

/// Writes one file.
///
/// # Errors
/// Where `out` cannot be written.
pub fn write_text(out: &mut impl Write, found: &Inspection) -> Result<()> {
    let line = |out: &mut dyn Write, name: &str, text: &str| writeln!(out, "{name:<11} {text}");
    line(out, "file", &visible(&found.source))?;
    line(out, "container", found.container)?;
    line(out, "format", &format_line(found))?;
    let whole = if found.whole {
        "all of it"
    } else {
        "its beginning"
    };
    let size = human_bytes(found.bytes);
    line(out, "read", &format!("{size} decoded, {whole}"))?;
    if let Some(reason) = found.broken {
        line(out, "broken", &format!("it could not be read on: {reason}"))?;
    }
    line(out, "records", &tally(&found.records))?;
    for hint in &found.hints {
        line(out, "note", hint)?;
    }
    if !found.fields.is_empty() {
        writeln!(out, "\nfields and the columns they feed")?;
        let width = found.fields.iter().map(|f| f.path.chars().count()).max();
        let width = width.unwrap_or(0).min(48);
        for field in &found.fields {
            let mut fed = field.columns.join(", ");
            if field.needed {
                fed.push_str(if fed.is_empty() {
                    "needed"
                } else {
                    " (needed)"
                });
            }
            if fed.is_empty() {
                fed.push('-');
            }
            writeln!(out, "  {:<width$}  {fed}", visible(&field.path))?;
        }
    }
    for (number, exchange) in found.exchanges.iter().enumerate() {
        writeln!(out, "\nexchange {}", number + 1)?;
        for (name, value) in exchange {
            writeln!(out, "  {name:<19} {}", fit(value, VALUE_COLUMNS))?;
        }
    }
    if !found.closest.is_empty() {
        writeln!(out, "\nnearest formats, and what does not fit first")?;
        for near in &found.closest {
            let failing = visible(&near.failing);
            writeln!(
                out,
                "  {:<18} {:>3} %  {failing}",
                near.format, near.percent
            )?;
        }
    }
    if let Some(mapping) = &found.mapping {
        writeln!(
            out,
            "\n# a mapping for pentimento.toml; it reads {} of the first {} records",
            mapping.reads, mapping.of
        )?;
        out.write_all(visible_lines(&mapping.toml).as_bytes())?;
    }
    Ok(())
}

/// A text of several lines, each made harmless.
fn visible_lines(text: &str) -> String {
    let lines = text.lines().map(|line| format!("{}\n", visible(line)));
    lines.collect()
}

fn format_line(found: &Inspection) -> String {
    let votes = found.votes.iter().take(MAX_VOTES).map(|vote| {
        let share = format!("{} of {} records", vote.records, found.voters);
        format!("{} {} of 100 ({share})", vote.format, vote.sure)
    });
    let votes: Vec<String> = votes.collect();
    match &found.format {
        None => "none fits".to_owned(),
        Some(name) if found.declared => format!("{name}, by the configuration"),
        Some(name) => format!("{name}; how sure: {}", votes.join(", ")),
    }
}

fn tally(records: &Tally) -> String {
    let rejected: u64 = records.rejected.values().sum();
    let mut out = format!(
        "{} read: {} exchange, {} event, {} other, {rejected} rejected; {} exchanges",
        records.read, records.exchange, records.event, records.other, records.exchanges
    );
    let reasons = records
        .rejected
        .iter()
        .map(|(reason, n)| format!("{reason} {n}"));
    let reasons: Vec<String> = reasons.collect();
    if !reasons.is_empty() {
        out.push_str(&format!(" ({})", reasons.join(", ")));
    }
    out
}
