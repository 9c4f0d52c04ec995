//! `pentimento formats`: the log formats by name.

use crate::outcome::Outcome;
use anyhow::Result;
use std::io::Write;

/// Prints one format a line.
///
/// # Errors
/// Where stdout cannot be written.
pub fn run() -> Result<Outcome> {
    let mut out = std::io::stdout().lock();
    for format in pentimento_core::format::table() {
        writeln!(out, "{}", format.name())?;
    }
    Ok(Outcome::Done)
}
