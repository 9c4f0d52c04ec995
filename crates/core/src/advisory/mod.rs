//! Known faults of engines and gateways by which answers of tenants mix, as data, and whether a
//! running process may have one.
//!
//! A version alone never decides: nearly all faults need a mode or a setting. What is not known
//! reads *cannot tell*, never *not affected*.

mod version;

pub use version::Version;

use serde::Deserialize;
use std::collections::BTreeSet;

/// Greatest number of advisories of one file.
const MAX_ADVISORIES: usize = 10_000;

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Advisory {
    /// Its id in this data.
    pub id: String,
    /// Ids elsewhere.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The product, lower case, as in `engine`.
    pub product: String,
    /// `high`, `medium` or `low`: what it can do to the border between tenants.
    pub severity: String,
    /// `high`, `medium` or `low`: how well ranges and conditions are established.
    pub confidence: String,
    /// `leak`, `corruption`, `identity`, `timing`, `configuration` or `accounting`.
    pub kind: String,
    /// What happens.
    pub summary: String,
    /// Under which circumstances.
    pub when: String,
    /// Versions.
    pub affected: Vec<Range>,
    /// `disaggregated` or `unified`, where only one is affected.
    #[serde(default)]
    pub mode: Option<String>,
    /// Settings, all of which must be as named.
    #[serde(default)]
    pub flags: Vec<FlagCondition>,
    /// What of this is not certain; absent where nothing is.
    #[serde(default)]
    pub unsure: Option<String>,
    /// Where it is told.
    pub sources: Vec<String>,
}

/// Versions from `introduced` on and before `fixed`, or up to `last_affected`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// First affected version; `0` where none is known to be free of it.
    pub introduced: String,
    /// First version without it.
    #[serde(default)]
    pub fixed: Option<String>,
    /// Last version on which it was seen; what follows is not established.
    #[serde(default)]
    pub last_affected: Option<String>,
}

/// A setting and the values with which it is affected.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlagCondition {
    /// The setting's name.
    pub name: String,
    /// The values, lower case.
    pub any_of: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    #[serde(default)]
    #[expect(dead_code, reason = "read by people")]
    as_of: Option<String>,
    advisories: Vec<Advisory>,
}

/// The schema that [`read`] knows.
pub const SCHEMA: &str = "pentimento-advisories/1";

/// Why a file of advisories cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdvisoryError {
    /// Not the JSON that is expected.
    #[error("not a file of advisories: {0}")]
    Shape(String),
    /// Another schema.
    #[error("schema is `{0}`, expected `{SCHEMA}`")]
    Schema(String),
    /// Too many.
    #[error("more than {MAX_ADVISORIES} advisories")]
    TooMany,
}

/// Reads a file of advisories.
///
/// # Errors
/// Where it is no such file. What is wrong inside an advisory is told by [`lint`].
pub fn read(text: &str) -> Result<Vec<Advisory>, AdvisoryError> {
    let file: File = serde_json::from_str(text).map_err(|e| AdvisoryError::Shape(e.to_string()))?;
    if file.schema != SCHEMA {
        return Err(AdvisoryError::Schema(file.schema));
    }
    if file.advisories.len() > MAX_ADVISORIES {
        return Err(AdvisoryError::TooMany);
    }
    Ok(file.advisories)
}

/// The advisories that come with the program.
pub fn shipped() -> &'static str {
    include_str!("../../../../advisories/shipped.json")
}

const LEVELS: [&str; 3] = ["high", "medium", "low"];
const KINDS: [&str; 6] = [
    "leak",
    "corruption",
    "identity",
    "timing",
    "configuration",
    "accounting",
];

/// What is wrong in a list of advisories, one line each.
pub fn lint(advisories: &[Advisory]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for a in advisories {
        let mut say = |text: &str| wrong.push(format!("{}: {text}", a.id));
        if !seen.insert(&a.id) || a.id.is_empty() {
            say("the id stands there twice or is empty");
        }
        if !LEVELS.contains(&a.severity.as_str()) || !LEVELS.contains(&a.confidence.as_str()) {
            say("severity and confidence are high, medium or low");
        }
        if !KINDS.contains(&a.kind.as_str()) {
            say("the kind is none of the known ones");
        }
        if a.product.is_empty() || a.product != a.product.to_ascii_lowercase() {
            say("the product is written in lower case");
        }
        if a.summary.is_empty() || a.when.is_empty() || a.sources.is_empty() {
            say("summary, when and sources must say something");
        }
        let mode = a.mode.as_deref();
        if !matches!(mode, None | Some("disaggregated" | "unified")) {
            say("the mode is disaggregated or unified");
        }
        if a.flags
            .iter()
            .any(|f| f.name.is_empty() || f.any_of.is_empty())
        {
            say("a setting needs a name and values");
        }
        if a.affected.is_empty() {
            say("no range");
        }
        for range in &a.affected {
            lint_range(a, range, &mut say);
        }
    }
    wrong
}

fn lint_range(a: &Advisory, range: &Range, say: &mut impl FnMut(&str)) {
    let bound = |text: &Option<String>| text.as_deref().map(Version::parse);
    let introduced = Version::parse(&range.introduced);
    let ends = [bound(&range.fixed), bound(&range.last_affected)];
    if introduced.is_none() || ends.contains(&Some(None)) {
        say("a version of the range cannot be read");
    }
    let [fixed, last] = ends.map(Option::flatten);
    if fixed.is_some() && fixed <= introduced || last.is_some() && last < introduced {
        say("the range ends before it begins");
    }
    if range.fixed.is_some() && range.last_affected.is_some() {
        say("a range ends with fixed or with last_affected, not with both");
    }
    // Without a bound on either side the range is a question.
    if range.introduced == "0" && fixed.is_none() && last.is_none() && a.unsure.is_none() {
        say("the range is open on both sides, and nothing is said to be unsure");
    }
    if a.confidence == "low" && a.unsure.is_none() {
        say("low confidence without what is unsure");
    }
}

/// What is known of a process.
#[derive(Clone, Debug, Default)]
pub struct Subject<'a> {
    /// Engine name, lower case.
    pub product: Option<&'a str>,
    /// Engine version.
    pub version: Option<&'a str>,
    /// `disaggregated` or `unified`.
    pub mode: Option<&'a str>,
    /// Known settings and their values.
    pub flags: &'a [(String, String)],
}

/// Whether a process has a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// Version, mode and settings are those of the fault.
    Affected,
    /// Something that decides is not known; what it is.
    CannotTell(Vec<String>),
    /// Something that decides is otherwise; what it is.
    NotAffected(String),
}

impl Match {
    /// The word used in listings.
    pub fn as_str(&self) -> &'static str {
        match self {
            Match::Affected => "affected",
            Match::CannotTell(_) => "cannot tell",
            Match::NotAffected(_) => "not affected",
        }
    }
}

/// Matches one advisory; `None` where it is about another product, or the product is not known.
pub fn matches(advisory: &Advisory, subject: &Subject<'_>) -> Option<Match> {
    if subject.product? != advisory.product {
        return None;
    }
    let mut open = Vec::new();
    match version_in(advisory, subject.version) {
        Ok(()) => {}
        Err(Some(unknown)) => open.push(unknown),
        Err(None) => {
            let version = subject.version.unwrap_or_default();
            return Some(Match::NotAffected(format!("version {version}")));
        }
    }
    if let Some(mode) = advisory.mode.as_deref() {
        match subject.mode {
            Some(other) if !same_mode(other, mode) => {
                return Some(Match::NotAffected(format!("mode {other}")));
            }
            Some(_) => {}
            None => open.push("the mode is not known".to_owned()),
        }
    }
    for condition in &advisory.flags {
        let known = subject
            .flags
            .iter()
            .find(|(name, _)| *name == condition.name);
        match known {
            Some((_, value)) if condition.any_of.contains(&value.to_ascii_lowercase()) => {}
            Some((name, value)) => {
                return Some(Match::NotAffected(format!("{name} is {value}")));
            }
            None => open.push(format!("{} is not known", condition.name)),
        }
    }
    Some(if open.is_empty() {
        Match::Affected
    } else {
        Match::CannotTell(open)
    })
}

/// `pd` is how some configurations call it.
fn same_mode(a: &str, b: &str) -> bool {
    let disaggregated = |m: &str| matches!(m, "disaggregated" | "pd" | "prefill" | "decode");
    a == b || disaggregated(a) && disaggregated(b)
}

/// `Ok` = in a range, `Err(None)` = in none, `Err(Some)` = why it cannot be told.
fn version_in(advisory: &Advisory, version: Option<&str>) -> Result<(), Option<String>> {
    let Some(text) = version else {
        return Err(Some("the version is not known".to_owned()));
    };
    let Some(version) = Version::parse(text) else {
        return Err(Some("the version cannot be read".to_owned()));
    };
    let mut unsure = None;
    for range in &advisory.affected {
        let introduced = Version::parse(&range.introduced);
        if introduced.is_none_or(|from| version < from) {
            continue;
        }
        let bound = |text: &Option<String>| text.as_deref().and_then(Version::parse);
        match (bound(&range.fixed), bound(&range.last_affected)) {
            (Some(fixed), _) if version >= fixed => {}
            (None, Some(last)) if version > last => {
                unsure = Some("no fixed version is known".to_owned());
            }
            (None, None) if range.introduced == "0" => {
                unsure = Some("the affected versions are not established".to_owned());
            }
            _ if version.own_build => {
                unsure = Some("an own build may hold the fix".to_owned());
            }
            _ => return Ok(()),
        }
    }
    Err(unsure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_advisories_are_sound() {
        let all = read(shipped()).unwrap();
        assert_eq!(all.len(), 41);
        assert_eq!(lint(&all), Vec::<String>::new());
        // What could not be checked says so.
        assert!(
            all.iter()
                .filter(|a| a.confidence == "low")
                .all(|a| a.unsure.is_some())
        );
    }

    fn ask(id: &str, version: Option<&str>, mode: Option<&str>, flags: &[(&str, &str)]) -> String {
        let all = read(shipped()).unwrap();
        let advisory = all.iter().find(|a| a.id == id).unwrap();
        let flags: Vec<(String, String)> = flags
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        let subject = Subject {
            product: Some(&advisory.product),
            version,
            mode,
            flags: &flags,
        };
        match matches(advisory, &subject).unwrap() {
            Match::Affected => "affected".to_owned(),
            Match::NotAffected(why) => format!("not: {why}"),
            Match::CannotTell(why) => why.join(", "),
        }
    }

    #[test]
    fn version_mode_and_settings_decide_together() {
        let pd = Some("disaggregated");
        for (version, mode, expected) in [
            (Some("0.5.19"), pd, "affected"),
            (Some("0.5.19"), Some("pd"), "affected"),
            (Some("0.5.20"), pd, "not: version 0.5.20"),
            (Some("0.5.4"), pd, "not: version 0.5.4"),
            (Some("0.5.19"), Some("unified"), "not: mode unified"),
            (Some("0.5.19"), None, "the mode is not known"),
            (None, pd, "the version is not known"),
            (Some("main"), pd, "the version cannot be read"),
            (Some("0.5.18+patched"), pd, "an own build may hold the fix"),
            (
                None,
                None,
                "the version is not known, the mode is not known",
            ),
        ] {
            assert_eq!(
                ask("PEN-SGL-001", version, mode, &[]),
                expected,
                "{version:?} {mode:?}"
            );
        }
        let cache = [("enable_hierarchical_cache", "True")];
        assert_eq!(ask("PEN-SGL-003", Some("0.5.10"), None, &cache), "affected");
        assert_eq!(
            ask("PEN-SGL-003", Some("0.5.10"), None, &[]),
            "enable_hierarchical_cache is not known"
        );
        assert_eq!(
            ask("PEN-SGL-012", Some("0.5.23"), None, &cache),
            "the affected versions are not established"
        );
        assert_eq!(
            ask("PEN-SGL-011", Some("0.5.23"), None, &[]),
            "no fixed version is known"
        );
    }

    #[test]
    fn other_products_are_passed_over() {
        let all = read(shipped()).unwrap();
        let subject = Subject {
            product: Some("vllm"),
            ..Subject::default()
        };
        assert_eq!(matches(&all[0], &subject), None);
        assert_eq!(matches(&all[0], &Subject::default()), None);
    }

    #[test]
    fn bad_files_are_told() {
        assert!(matches!(read("{"), Err(AdvisoryError::Shape(_))));
        let other = r#"{"schema":"osv","advisories":[]}"#;
        assert_eq!(read(other), Err(AdvisoryError::Schema("osv".into())));
        let mut all = read(shipped()).unwrap();
        all.truncate(1);
        all.push(all[0].clone());
        all[0].severity = "grave".into();
        all[0].affected[0].fixed = Some("0.5.1".into());
        assert_eq!(lint(&all).len(), 3);
    }
}
