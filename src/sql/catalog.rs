//! The SQL files that the program carries, with what their headers say.

use std::collections::{BTreeMap, BTreeSet};

mod embedded {
    //! Written by `build.rs`: path below `queries/` without the ending, and the text.
    include!(concat!(env!("OUT_DIR"), "/queries.rs"));
}

/// What a file is for, by the folder it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueryKind {
    /// `rules/`: a hit is a finding.
    Rule,
    /// `views/`: registered under its name, for the other files.
    View,
    /// `report/`: one table of the report.
    Report,
    /// At the top: a stage of the pipeline.
    Stage,
}

impl QueryKind {
    /// The name used in listings.
    pub fn as_str(self) -> &'static str {
        match self {
            QueryKind::Rule => "rule",
            QueryKind::View => "view",
            QueryKind::Report => "report",
            QueryKind::Stage => "stage",
        }
    }
}

/// Severity of a finding, worst first.
pub const SEVERITIES: [&str; 4] = ["critical", "high", "medium", "low"];
/// Values of the exposure axis.
pub const EXPOSURES: [&str; 4] = ["proven", "likely", "none", "unknown"];
/// Values of the disclosure axis.
pub const DISCLOSURES: [&str; 4] = ["proven", "likely", "none_found", "not_assessable"];
/// Header value that says the rule gives the value in a column of that name.
pub const IN_COLUMN: &str = "column";

/// Header value of `needs` where a file reads no table: it is a table itself.
const NOTHING: &str = "-";

/// One SQL file: exactly one statement behind a header of comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryFile {
    /// Path below `queries/` without the ending, such as `rules/id_collision`.
    pub path: &'static str,
    /// What it is for.
    pub kind: QueryKind,
    /// Its id: the file's name.
    pub id: &'static str,
    /// One line on what it gives.
    pub title: String,
    /// Rules: a severity or [`IN_COLUMN`].
    pub severity: Option<String>,
    /// Rules: an exposure or [`IN_COLUMN`]; absent where the rule says nothing of that axis.
    pub exposure: Option<String>,
    /// Rules: a disclosure or [`IN_COLUMN`]; absent where the rule says nothing of that axis.
    pub disclosure: Option<String>,
    /// Tables and views it reads.
    pub needs: Vec<String>,
    /// Views (`keep: rows`): the result is small and read often, so it is computed once and held
    /// in memory instead of being made part of every plan.
    pub keep_rows: bool,
    /// Raised with every change of meaning.
    pub version: u32,
    /// Why it is as it is.
    pub why: String,
    /// The statement, header included.
    pub sql: &'static str,
}

impl QueryFile {
    /// BLAKE3 of the file, hex.
    pub fn digest(&self) -> String {
        blake3::hash(self.sql.as_bytes()).to_hex().to_string()
    }
}

/// Why the shipped files cannot be used: a mistake in the program, not in its input.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CatalogError {
    /// A header lacks a key or holds an unknown one.
    #[error("queries/{path}.sql: header key {key:?} {problem}")]
    Header {
        /// The file.
        path: String,
        /// The key.
        key: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// Views that need each other.
    #[error("queries/views/{0}.sql needs itself")]
    Cycle(String),
}

/// All files, by path.
#[derive(Clone, Debug)]
pub struct Catalog {
    files: BTreeMap<&'static str, QueryFile>,
}

impl Catalog {
    /// The files built into the program.
    pub fn embedded() -> Result<Catalog, CatalogError> {
        Catalog::of(embedded::FILES)
    }

    fn of(sources: &[(&'static str, &'static str)]) -> Result<Catalog, CatalogError> {
        let mut files = BTreeMap::new();
        for (path, sql) in sources {
            files.insert(*path, parse(path, sql)?);
        }
        let catalog = Catalog { files };
        for view in catalog.of_kind(QueryKind::View) {
            // Names of views are few and their nesting shallow: a plain walk is enough.
            if view.needs.iter().any(|n| catalog.reaches(n, view.id)) {
                return Err(CatalogError::Cycle(view.id.to_owned()));
            }
        }
        Ok(catalog)
    }

    /// All files in the order of their paths.
    pub fn files(&self) -> impl Iterator<Item = &QueryFile> {
        self.files.values()
    }

    /// The files of one kind, in the order of their ids.
    pub fn of_kind(&self, kind: QueryKind) -> impl Iterator<Item = &QueryFile> {
        self.files.values().filter(move |f| f.kind == kind)
    }

    /// A file by its path below `queries/`.
    pub fn get(&self, path: &str) -> Option<&QueryFile> {
        self.files.get(path)
    }

    /// A view by its name.
    pub fn view(&self, name: &str) -> Option<&QueryFile> {
        self.files
            .get(format!("views/{name}").as_str())
            .filter(|f| f.kind == QueryKind::View)
    }

    /// A file by its path or, where only one has it, by its id.
    pub fn find(&self, name: &str) -> Option<&QueryFile> {
        self.get(name).or_else(|| {
            let mut named = self.files().filter(|f| f.id == name);
            named.next().filter(|_| named.next().is_none())
        })
    }

    /// Whether reading `from` (a table or view) reads `name`, directly or through views.
    pub fn reaches(&self, from: &str, name: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(next) = open.pop() {
            if next == name {
                return true;
            }
            if seen.insert(next)
                && let Some(view) = self.view(next)
            {
                open.extend(view.needs.iter().map(String::as_str));
            }
        }
        false
    }

    /// Whether a file reads the table `name`, directly or through views.
    pub fn file_reaches(&self, file: &QueryFile, name: &str) -> bool {
        file.needs.iter().any(|need| self.reaches(need, name))
    }
}

fn parse(path: &'static str, sql: &'static str) -> Result<QueryFile, CatalogError> {
    let fail = |key: &str, problem| CatalogError::Header {
        path: path.to_owned(),
        key: key.to_owned(),
        problem,
    };
    let (kind, id) = match path.split_once('/') {
        Some(("rules", id)) => (QueryKind::Rule, id),
        Some(("views", id)) => (QueryKind::View, id),
        Some(("report", id)) => (QueryKind::Report, id),
        Some((folder, _)) => return Err(fail(folder, "is no folder of queries")),
        None => (QueryKind::Stage, path),
    };
    let mut keys = header(sql);
    let mut take = |key: &str| keys.remove(key).filter(|v| !v.is_empty());
    let needs = take("needs").ok_or_else(|| fail("needs", "is missing"))?;
    let version = take("version").ok_or_else(|| fail("version", "is missing"))?;
    let file = QueryFile {
        path,
        kind,
        id,
        title: take("title").ok_or_else(|| fail("title", "is missing"))?,
        severity: take("severity"),
        exposure: take("exposure"),
        disclosure: take("disclosure"),
        needs: needs
            .split(',')
            .map(|n| n.trim().to_owned())
            .filter(|n| n != NOTHING)
            .collect(),
        keep_rows: match take("keep").as_deref() {
            None => false,
            Some("rows") if kind == QueryKind::View => true,
            Some(_) => return Err(fail("keep", "is `rows`, and for views only")),
        },
        version: version
            .parse()
            .map_err(|_| fail("version", "is no whole number"))?,
        why: take("why").ok_or_else(|| fail("why", "is missing"))?,
        sql,
    };
    if take("id").as_deref() != Some(id) {
        return Err(fail("id", "is not the name of the file"));
    }
    if let Some(key) = keys.keys().next() {
        return Err(fail(key, "is unknown"));
    }
    let words = [
        ("severity", &file.severity, &SEVERITIES),
        ("exposure", &file.exposure, &EXPOSURES),
        ("disclosure", &file.disclosure, &DISCLOSURES),
    ];
    for (key, value, known) in words {
        match value.as_deref() {
            Some(_) if kind != QueryKind::Rule => return Err(fail(key, "is for rules only")),
            Some(v) if v != IN_COLUMN && !known.contains(&v) => {
                return Err(fail(key, "is none of its words"));
            }
            None if kind == QueryKind::Rule && key == "severity" => {
                return Err(fail(key, "is missing"));
            }
            _ => {}
        }
    }
    Ok(file)
}

/// The leading `-- key: value` lines; a line of further blanks continues the value before it.
fn header(sql: &str) -> BTreeMap<String, String> {
    let mut keys: BTreeMap<String, String> = BTreeMap::new();
    let mut last: Option<String> = None;
    for line in sql.lines() {
        let Some(text) = line.strip_prefix("-- ") else {
            break;
        };
        match (text.split_once(": "), &last) {
            (Some((key, value)), _) if !text.starts_with(' ') => {
                keys.insert(key.to_owned(), value.trim().to_owned());
                last = Some(key.to_owned());
            }
            (_, Some(key)) => {
                let value = keys.entry(key.clone()).or_default();
                value.push(' ');
                value.push_str(text.trim());
            }
            _ => break,
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_files_parse_and_name_only_known_tables() {
        let catalog = Catalog::embedded().unwrap();
        assert!(catalog.of_kind(QueryKind::Rule).count() >= 7);
        for file in catalog.files() {
            for need in &file.needs {
                let known = pentimento_store::schema::Table::parse(need).is_some()
                    || catalog.view(need).is_some();
                assert!(known, "{}: {need}", file.path);
            }
            assert!(!file.why.contains("  "), "{}", file.path);
            assert!(!file.needs.contains(&"texts".to_owned()), "{}", file.path);
        }
    }

    #[test]
    fn shipped_sql_stays_in_the_shared_subset() {
        let forbidden = [
            "unnest",
            "qualify",
            "distinct on",
            "string_agg",
            "regexp",
            "array_agg",
            "::",
            "not in (",
            "intersect",
            "except",
            "approx_",
            "$",
        ];
        for file in Catalog::embedded().unwrap().files() {
            let code: String = file
                .sql
                .lines()
                .map(|l| l.split("--").next().unwrap_or(""))
                .collect::<Vec<_>>()
                .join("\n")
                .to_lowercase();
            for word in forbidden {
                assert!(!code.contains(word), "{} uses {word}", file.path);
            }
            assert!(
                file.sql
                    .lines()
                    .all(|l| l.len() <= 100 || l.starts_with("-- needs"))
            );
            if file.kind != QueryKind::View {
                assert!(code.contains("order by"), "{} is not ordered", file.path);
            }
        }
    }

    #[test]
    fn headers_are_checked() {
        let good = "-- id: a\n-- title: t\n-- severity: low\n-- needs: exchanges\n-- version: 1\n\
                    -- why: one\n--      two\nSELECT 1";
        assert_eq!(parse("rules/a", good).unwrap().why, "one two");
        let cases = [
            ("rules/b", good, "id"),
            ("other/a", good, "other"),
            ("views/a", good, "severity"),
            ("rules/a", "-- id: a\nSELECT 1", "needs"),
            (
                "rules/a",
                "-- id: a\n-- title: t\n-- severity: bad\n-- needs: e\n-- version: 1\n-- why: w\n",
                "severity",
            ),
            (
                "rules/a",
                "-- id: a\n-- title: t\n-- severity: low\n-- needs: e\n-- version: x\n-- why: w\n",
                "version",
            ),
            (
                "rules/a",
                "-- id: a\n-- title: t\n-- needs: e\n-- version: 1\n-- why: w\n",
                "severity",
            ),
        ];
        for (path, sql, wrong) in cases {
            match parse(path, sql) {
                Err(CatalogError::Header { key, .. }) => assert_eq!(key, wrong),
                other => panic!("{path}: {other:?}"),
            }
        }
    }

    #[test]
    fn views_that_need_each_other_are_refused() {
        const A: &str = "-- id: a\n-- title: t\n-- needs: b\n-- version: 1\n-- why: w\nSELECT 1";
        const B: &str = "-- id: b\n-- title: t\n-- needs: a\n-- version: 1\n-- why: w\nSELECT 1";
        let found = Catalog::of(&[("views/a", A), ("views/b", B)]);
        assert!(matches!(found, Err(CatalogError::Cycle(_))));
    }
}
