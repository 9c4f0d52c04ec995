//! An inspection as text for people.

use super::inspect::{Inspection, Tally};
use crate::progress::human_bytes;
use crate::report::sanitize::{fit, visible};
use pentimento_core::exchange::{BorderKind, Exchange, FieldText};
use pentimento_core::format::columns::COLUMNS;
use std::collections::BTreeMap;
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

/// An exchange without its text.
pub fn masked(exchange: &Exchange) -> BTreeMap<&'static str, String> {
    let told = COLUMNS.iter().filter(|column| !column.private);
    let values = told.filter_map(|c| Some((c.name, (c.value)(exchange)?.into_owned())));
    let texts = [
        ("prompt", &exchange.prompt),
        ("response", &exchange.response),
        ("reasoning", &exchange.reasoning),
        ("tool", &exchange.tool),
    ];
    let texts = texts
        .into_iter()
        .filter_map(|(name, text)| Some((name, shape(text.as_ref()?))));
    values.chain(texts).collect()
}

/// Length and shape of a text.
fn shape(field: &FieldText) -> String {
    let words = field.text.split_whitespace().count();
    let count = |kind| field.borders.iter().filter(|b| b.kind == kind).count();
    let mut out = format!("{} bytes, {words} words", field.text.len());
    let parts = count(BorderKind::Message) + 1;
    if parts > 1 {
        out.push_str(&format!(", {parts} parts"));
    }
    match count(BorderKind::Cut) {
        0 => {}
        1 => out.push_str(", cut at one place"),
        cuts => out.push_str(&format!(", cut at {cuts} places")),
    }
    out
}

/// What an audit of the file will lack, and what helps.
pub fn hints(found: &Inspection, lacking: [u64; 4]) -> Vec<String> {
    let all = found.records.exchanges;
    let [tenants, times, responses, prompts] = lacking;
    let mut out = Vec::new();
    let mut say = |count: u64, what: &str, advice: &str| match count {
        0 => {}
        count if count == all => out.push(format!("no exchange has {what}: {advice}")),
        count => out.push(format!(
            "{count} of {all} exchanges have no {what}: {advice}"
        )),
    };
    say(
        tenants,
        "tenant",
        "without one nothing is foreign; map a field to `tenant`, or add the gateway's log, whose \
         tenant a linking id carries over",
    );
    say(
        times,
        "time",
        "where times carry no zone or no year, declare them (--assume-timezone, --assume-year, \
         or [source.\"GLOB\"])",
    );
    say(
        responses,
        "text of the answer",
        "lengths, times and status can be audited",
    );
    say(
        prompts,
        "text of the prompt",
        "what is the caller's own cannot be told",
    );
    if found.format.is_none() && found.mapping.is_some() {
        out.push("put the mapping below into pentimento.toml and inspect again".to_owned());
    }
    out
}
