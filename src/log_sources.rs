//! What the configuration says of the logs themselves: formats of its own (`[format.NAME]`), and
//! format, zone and year of single sources (`[source."glob"]`).

use crate::config::{year, zone};
use anyhow::{Context, Result};
use jiff::tz::TimeZone;
use pentimento_core::format::mapped::{Mapped, Mapping};
use pentimento_core::format::{LogFormat, by_name};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `[source."glob"]` as typed.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct TypedSource {
    format: Option<String>,
    zone: Option<String>,
    year: Option<i16>,
}

/// What is known of the sources that a glob names.
#[derive(Clone, Debug)]
struct SourceRule {
    glob: glob::Pattern,
    format: Option<&'static dyn LogFormat>,
    zone: Option<TimeZone>,
    year: Option<i16>,
}

/// Everything that is declared of logs.
#[derive(Clone, Debug, Default)]
pub struct LogSources {
    own: Vec<&'static dyn LogFormat>,
    rules: Vec<SourceRule>,
}

/// What is declared of one source.
#[derive(Clone, Debug, Default)]
pub struct SourceFacts {
    /// Its format.
    pub format: Option<&'static dyn LogFormat>,
    /// Zone of its naive times.
    pub zone: Option<TimeZone>,
    /// Year of its times that are written without one.
    pub year: Option<i16>,
}

impl LogSources {
    /// Checks what was typed.
    ///
    /// # Errors
    /// Name the table, the key, and what was expected.
    pub fn read(
        formats: &BTreeMap<String, toml::Table>,
        sources: BTreeMap<String, TypedSource>,
    ) -> Result<LogSources> {
        let zone_of = |name: &str| zone(name).map_err(|e| format!("{e:#}"));
        let mut known = LogSources::default();
        let mut by_files = Vec::new();
        for (name, typed) in formats {
            let mapping = Mapping::read(name, typed, &zone_of)
                .map_err(|e| anyhow::anyhow!("[format.{name}] {e}"))?;
            let files = mapping.files.clone();
            let format: &'static dyn LogFormat = Mapped::keep(mapping);
            match files {
                // It reads these files and no others.
                Some(files) => by_files.push(SourceRule {
                    glob: pattern(&files).with_context(|| format!("[format.{name}] `files`"))?,
                    format: Some(format),
                    zone: None,
                    year: None,
                }),
                None => known.own.push(format),
            }
        }
        for (glob, typed) in sources {
            let rule = source_rule(&glob, typed, &known.own, &by_files);
            known
                .rules
                .push(rule.with_context(|| format!("[source.\"{glob}\"]"))?);
        }
        known.rules.append(&mut by_files);
        Ok(known)
    }

    /// The formats that take part in the vote on a source.
    pub fn own(&self) -> &[&'static dyn LogFormat] {
        &self.own
    }

    /// What is declared of a source, by the path as shown. Of globs that contradict one another
    /// the longest holds, since it says most.
    pub fn of(&self, display: &str) -> SourceFacts {
        let mut rules: Vec<&SourceRule> = self
            .rules
            .iter()
            .filter(|r| names(&r.glob, display))
            .collect();
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.glob.as_str().len()));
        SourceFacts {
            format: rules.iter().find_map(|rule| rule.format),
            zone: rules.iter().find_map(|rule| rule.zone.clone()),
            year: rules.iter().find_map(|rule| rule.year),
        }
    }
}

fn source_rule(
    glob: &str,
    typed: TypedSource,
    own: &[&'static dyn LogFormat],
    by_files: &[SourceRule],
) -> Result<SourceRule> {
    let format = match &typed.format {
        None => None,
        Some(name) => {
            let mapped = own
                .iter()
                .copied()
                .chain(by_files.iter().filter_map(|r| r.format));
            let found = mapped.into_iter().find(|format| format.name() == name);
            let found = found.or_else(|| by_name(name));
            Some(found.with_context(|| {
                format!("format `{name}` is unknown; `pentimento formats` lists them")
            })?)
        }
    };
    Ok(SourceRule {
        glob: pattern(glob)?,
        format,
        zone: typed.zone.as_deref().map(zone).transpose()?,
        year: typed.year.map(year).transpose()?,
    })
}

fn pattern(glob: &str) -> Result<glob::Pattern> {
    glob::Pattern::new(glob).map_err(|e| anyhow::anyhow!("`{glob}` is no glob: {e}"))
}

/// Whether a glob names a path: as a whole, or its end from any folder on.
fn names(glob: &glob::Pattern, path: &str) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
    std::iter::once(path)
        .chain(ends)
        .any(|end| glob.matches(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Both {
        #[serde(default)]
        format: BTreeMap<String, toml::Table>,
        #[serde(default)]
        source: BTreeMap<String, TypedSource>,
    }

    fn read(text: &str) -> Result<LogSources> {
        let both: Both = toml::from_str(text)?;
        LogSources::read(&both.format, both.source)
    }

    #[test]
    fn the_longest_glob_that_says_something_holds() {
        let sources = read(
            "[source.\"*.log\"]\nzone = \"UTC\"\nyear = 2025\n\
             [source.\"gpu-*/vllm.log\"]\nyear = 2026\nformat = \"vllm_text\"\n\
             [format.house]\nrequest_id = \"/id\"\n\
             [format.audit]\nfiles = \"audit-*.jsonl\"\nrequest_id = \"/id\"\n",
        )
        .expect("valid");
        let shown = |path: &str| {
            let facts = sources.of(path);
            let format = facts.format.map(|f| f.name());
            (format, facts.zone.is_some(), facts.year)
        };
        assert_eq!(shown("/var/logs/a.log"), (None, true, Some(2025)));
        let vllm = (Some("vllm_text"), true, Some(2026));
        assert_eq!(shown("/var/logs/gpu-7/vllm.log"), vllm);
        assert_eq!(shown("x/audit-1.jsonl"), (Some("audit"), false, None));
        assert_eq!(shown("x/my-audit-1.jsonl"), (None, false, None));
        let own: Vec<&str> = sources.own().iter().map(|f| f.name()).collect();
        assert_eq!(own, ["house"]);
    }

    #[test]
    fn errors_name_table_and_key() {
        for (text, expected) in [
            (
                "[format.house]\nmodell = \"/m\"\n",
                "[format.house] `modell`: no column",
            ),
            (
                "[format.house]\n",
                "[format.house] `request_id`: no column names a place",
            ),
            (
                "[format.house]\nrequest_id = \"/a\"\nfiles = \"[\"\n",
                "[format.house] `files`: `[` is no glob",
            ),
            (
                "[source.\"*\"]\nformat = \"hause\"\n",
                "[source.\"*\"]: format `hause` is unknown",
            ),
            (
                "[source.\"*\"]\nzone = \"Mars\"\n",
                "[source.\"*\"]: `Mars` is no known time zone",
            ),
            (
                "[source.\"*\"]\nyear = 26\n",
                "[source.\"*\"]: 26 is no year from 1970",
            ),
        ] {
            let error = format!("{:#}", read(text).expect_err(text));
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
