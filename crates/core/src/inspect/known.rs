//! What each built-in format can tell, and one record of it: made from the sample logs by a test,
//! together with `docs/formats.md`.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// One format as its samples show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownFormat {
    /// The name in `source_format`.
    pub name: String,
    /// Columns that at least one exchange has.
    pub columns: BTreeSet<String>,
    /// Words seen in columns that have few: states, zones, roles, outcomes, modalities.
    pub words: BTreeMap<String, BTreeSet<String>>,
    /// Whether it tells engine events.
    pub events: bool,
    /// Records that say much, each of another shape; of CSV, the headers.
    pub examples: Vec<String>,
    /// The examples are headers of CSV files.
    pub csv: bool,
}

/// What an audit can do with a format, and which columns that takes.
pub const TESTS: [(&str, &[&str]); 8] = [
    (
        "overlap",
        &["prompt", "response", "tenant_candidates", "t_start"],
    ),
    (
        "identifiers",
        &["prompt", "response", "tenant_candidates", "t_start"],
    ),
    ("attribution", &["prompt", "response"]),
    ("text health", &["response"]),
    ("exposure", &["prompt_tokens", "t_start"]),
    ("accounting", &["prompt_tokens", "completion_tokens"]),
    ("order in time", &["t_start", "t_end"]),
    ("linking", &["linking_ids"]),
];

impl KnownFormat {
    /// Whether an exchange of the format can have the column.
    pub fn has(&self, column: &str) -> bool {
        self.columns.contains(column)
    }

    /// The tests that can run on it alone, and for each that cannot the columns it lacks.
    pub fn tests(&self) -> (Vec<&'static str>, Vec<(&'static str, Vec<&'static str>)>) {
        let mut can = Vec::new();
        let mut cannot = Vec::new();
        for (test, needs) in TESTS {
            let lacks: Vec<&str> = needs.iter().copied().filter(|c| !self.has(c)).collect();
            if lacks.is_empty() {
                can.push(test);
            } else {
                cannot.push((test, lacks));
            }
        }
        (can, cannot)
    }
}

/// All built-in formats, in the order of the table.
pub fn known() -> &'static [KnownFormat] {
    static KNOWN: OnceLock<Vec<KnownFormat>> = OnceLock::new();
    // A test compares the file with what the samples give, so that it is always well formed.
    KNOWN.get_or_init(|| serde_json::from_str(include_str!("known.json")).unwrap_or_default())
}
