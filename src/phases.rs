//! Phases of a service that its operator declares: exposed, off, restored, hardened. Every count
//! is given for each of them too, so that "did it stop after the fix" has an answer.

use crate::config::moment_us;
use anyhow::{Context, Result};
use pentimento_core::exchange::TimeMicros;
use pentimento_store::rows::PhaseRow;
use serde::Deserialize;

/// `[[phase]]` as typed.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct TypedPhase {
    name: Option<String>,
    from: Option<toml::Value>,
    to: Option<toml::Value>,
}

/// One phase. Phases do not overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its name; several phases may have the same.
    pub name: String,
    /// First moment of it; `None`: from the beginning.
    pub from: Option<TimeMicros>,
    /// First moment after it; `None`: to the end.
    pub to: Option<TimeMicros>,
}

/// A time as typed: text or a TOML time, read as UTC where it names no zone.
///
/// # Errors
/// Where it is no moment.
pub fn typed_moment(value: Option<toml::Value>, key: &str) -> Result<Option<TimeMicros>> {
    match value {
        None => Ok(None),
        Some(toml::Value::String(text)) => moment_us(&text, None).map(Some),
        Some(toml::Value::Datetime(time)) => moment_us(&time.to_string(), None).map(Some),
        Some(other) => anyhow::bail!("{key} is a {}, expected a time", other.type_str()),
    }
}

/// Checks the phases and puts them in order of time.
///
/// # Errors
/// A phase without a name, one that ends before it begins, and two that overlap.
pub fn checked(typed: Vec<TypedPhase>) -> Result<Vec<Phase>> {
    let mut phases = Vec::with_capacity(typed.len());
    for (at, phase) in typed.into_iter().enumerate() {
        phases.push(one(phase).with_context(|| format!("[[phase]] number {}", at + 1))?);
    }
    phases.sort_by_key(|p| (p.from.unwrap_or(TimeMicros::MIN), p.to));
    for pair in phases.windows(2) {
        let [before, after] = pair else { continue };
        let apart = match (before.to, after.from) {
            (Some(to), Some(from)) => to <= from,
            _ => false,
        };
        anyhow::ensure!(
            apart,
            "[[phase]] `{}` and `{}` overlap: let one end (to) where the next begins (from)",
            before.name,
            after.name
        );
    }
    Ok(phases)
}

fn one(typed: TypedPhase) -> Result<Phase> {
    let name = typed.name.unwrap_or_default().trim().to_owned();
    anyhow::ensure!(
        !name.is_empty(),
        "name is missing, expected e.g. \"exposed\""
    );
    let from = typed_moment(typed.from, "from").context("from")?;
    let to = typed_moment(typed.to, "to").context("to")?;
    if let (Some(from), Some(to)) = (from, to) {
        anyhow::ensure!(from < to, "`{name}` ends before it begins");
    }
    Ok(Phase { name, from, to })
}

/// The rows of the table `phases`.
pub fn rows(phases: &[Phase]) -> impl Iterator<Item = PhaseRow> {
    (1..).zip(phases).map(|(phase, p)| PhaseRow {
        phase,
        name: p.name.clone(),
        valid_from: p.from,
        valid_to: p.to,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct File {
        phase: Vec<TypedPhase>,
    }

    fn phases(text: &str) -> Result<Vec<Phase>> {
        checked(toml::from_str::<File>(text)?.phase)
    }

    #[test]
    fn phases_come_in_order_of_time() {
        let text = "[[phase]]\nname = \"off\"\nfrom = 2026-09-09T14:00:00Z\nto = \"2026-09-10\"\n\
                    [[phase]]\nname = \"exposed\"\nto = 2026-09-09T14:00:00Z\n\
                    [[phase]]\nname = \"restored\"\nfrom = \"2026-09-10\"\n";
        let names: Vec<_> = phases(text).unwrap().into_iter().map(|p| p.name).collect();
        assert_eq!(names, ["exposed", "off", "restored"]);
        let rows: Vec<PhaseRow> = rows(&phases(text).unwrap()).collect();
        assert_eq!((rows[2].phase, rows[2].valid_to), (3, None));
        assert_eq!(rows[0].valid_to, rows[1].valid_from);
    }

    #[test]
    fn phases_that_cannot_be() {
        let cases = [
            ("[[phase]]\nfrom = \"2026-09-09\"\n", "number 1"),
            ("[[phase]]\nname = \"a\"\nfrom = 5\n", "from is a integer"),
            ("[[phase]]\nname = \"a\"\nfrom = \"soon\"\n", "no moment"),
            (
                "[[phase]]\nname = \"a\"\nfrom = \"2026-09-09\"\nto = \"2026-09-09\"\n",
                "ends before",
            ),
            (
                "[[phase]]\nname = \"a\"\nto = \"2026-09-09\"\n[[phase]]\nname = \"b\"\n\
                 from = \"2026-09-08\"\n",
                "`a` and `b` overlap",
            ),
            (
                "[[phase]]\nname = \"a\"\n[[phase]]\nname = \"b\"\n",
                "overlap",
            ),
            ("[[phase]]\nname = \"a\"\nuntil = \"2026-09-08\"\n", "until"),
        ];
        for (text, wrong) in cases {
            let error = format!("{:#}", phases(text).expect_err(text));
            assert!(error.contains(wrong), "{text}: {error}");
        }
    }
}
