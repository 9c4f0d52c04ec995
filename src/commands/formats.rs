//! `pentimento formats`: the log formats, and what each can and cannot support.
//!
//! What is printed was made from the sample logs, like `docs/formats.md`.

use crate::outcome::Outcome;
use anyhow::Result;
use clap::Args;
use pentimento_core::inspect::{KnownFormat, known};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// Flags of `formats`.
#[derive(Debug, Args)]
pub struct FormatsArgs {
    /// One format only, with what it lacks
    name: Option<String>,
    /// As JSON, one object a format
    #[arg(long)]
    json: bool,
}

/// One format as JSON.
#[derive(Serialize)]
struct Shown<'a> {
    name: &'a str,
    columns: Vec<&'a str>,
    words: BTreeMap<&'a str, Vec<&'a str>>,
    can: Vec<&'static str>,
    cannot: BTreeMap<&'static str, Vec<&'static str>>,
    engine_events: bool,
}

/// What a table shows, and the column that it takes.
const MARKS: [(&str, &str); 9] = [
    ("prompt", "prompt"),
    ("answer", "response"),
    ("tenant", "tenant_candidates"),
    ("tokens", "prompt_tokens"),
    ("status", "http_status"),
    ("start", "t_start"),
    ("end", "t_end"),
    ("node", "node"),
    ("ids", "linking_ids"),
];

/// Prints the formats.
///
/// # Errors
/// Usage failures; where stdout cannot be written.
pub fn run(args: &FormatsArgs) -> Result<Outcome> {
    let all = known().iter();
    let chosen: Vec<&KnownFormat> = match &args.name {
        None => all.collect(),
        Some(name) => all.filter(|format| format.name == *name).collect(),
    };
    if let (Some(name), true) = (&args.name, chosen.is_empty()) {
        return Err(crate::outcome::failure(
            crate::outcome::FailureKind::Usage,
            format!("format `{name}` is unknown; `pentimento formats` lists them"),
        ));
    }
    let mut out = std::io::stdout().lock();
    if args.json {
        for format in chosen {
            serde_json::to_writer(&mut out, &shown(format))?;
            writeln!(out)?;
        }
    } else if args.name.is_some() {
        for format in chosen {
            details(&mut out, format)?;
        }
    } else {
        table(&mut out, &chosen)?;
    }
    Ok(Outcome::Done)
}

fn shown(format: &KnownFormat) -> Shown<'_> {
    let (can, cannot) = format.tests();
    let words = format.words.iter();
    Shown {
        name: &format.name,
        columns: format.columns.iter().map(String::as_str).collect(),
        words: words
            .map(|(column, words)| (column.as_str(), words.iter().map(String::as_str).collect()))
            .collect(),
        can,
        cannot: cannot.into_iter().collect(),
        engine_events: format.events,
    }
}

/// The zones of a format's times, in a word.
fn zones(format: &KnownFormat) -> &'static str {
    let Some(zones) = format.words.get("t_zone").filter(|_| format.has("t_start")) else {
        return "-";
    };
    let has = |zone: &str| zones.contains(zone);
    match (has("utc") || has("offset"), has("assumed"), has("relative")) {
        (_, _, true) => "relative",
        (true, false, _) => "known",
        (false, true, _) => "declare",
        (true, true, _) => "known or declare",
        _ => "-",
    }
}

fn table(out: &mut impl Write, formats: &[&KnownFormat]) -> Result<()> {
    let heads: Vec<&str> = MARKS.iter().map(|(head, _)| *head).collect();
    writeln!(
        out,
        "{:<18} {} {:<16} tests that can run",
        "format",
        heads.join(" "),
        "zone"
    )?;
    for format in formats {
        write!(out, "{:<18}", format.name)?;
        for (head, column) in MARKS {
            let mark = if format.has(column) { "yes" } else { "-" };
            write!(out, " {mark:<width$}", width = head.len())?;
        }
        let (can, _) = format.tests();
        let events = if format.events {
            &["engine events"][..]
        } else {
            &[]
        };
        let all: Vec<&str> = can.iter().chain(events).copied().collect();
        writeln!(out, " {:<16} {}", zones(format), all.join(", "))?;
    }
    Ok(())
}

fn details(out: &mut impl Write, format: &KnownFormat) -> Result<()> {
    let (can, cannot) = format.tests();
    let columns: Vec<&str> = format.columns.iter().map(String::as_str).collect();
    writeln!(out, "format   {}", format.name)?;
    writeln!(out, "columns  {}", columns.join(", "))?;
    for (column, words) in format.words.iter().filter(|(_, words)| !words.is_empty()) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        writeln!(out, "         {column}: {}", words.join(", "))?;
    }
    writeln!(out, "zone     {}", zones(format))?;
    writeln!(out, "can      {}", can.join(", "))?;
    for (test, lacks) in cannot {
        writeln!(out, "cannot   {test}: lacks {}", lacks.join(", "))?;
    }
    if format.events {
        writeln!(
            out,
            "events   of the engine, for capacity and for what it says itself"
        )?;
    }
    Ok(())
}
