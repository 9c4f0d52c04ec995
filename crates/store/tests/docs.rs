//! Pages of `docs` that are made from what they describe: tables from the schemas, rules from the
//! headers of their SQL.
//!
//! `UPDATE_GOLDEN=1 cargo test -p pentimento-store --test docs` writes them anew.

use pentimento_store::schema::{ColumnKind, SCHEMA_VERSION, Table};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn check(page: &str, text: &str) {
    let path = root().join("docs").join(page);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).expect("a page that can be written");
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    let differs = stored
        .lines()
        .zip(text.lines())
        .position(|(a, b)| a != b)
        .map_or(0, |line| line + 1);
    assert!(
        stored == text,
        "docs/{page}:{differs}: out of date; write it with UPDATE_GOLDEN=1"
    );
}

/// A value inside a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

/// A line of a Markdown table.
fn row(cells: &[&str]) -> String {
    let mut line = String::from("|");
    for cell in cells {
        line.push(' ');
        line.push_str(cell);
        line.push_str(if cell.is_empty() { "|" } else { " |" });
    }
    line.push('\n');
    line
}

const TABLES_HEAD: &str = "\
# Tables of a case

<!-- Made by crates/store/tests/docs.rs from the schemas; change those, then run it with
UPDATE_GOLDEN=1. -->

A case keeps its tables as plain Parquet, so any engine can read them. `pentimento sql` and
`pentimento query` know them by these names, together with the views in `queries/views`.

| where | what |
|---|---|
| `tables/NAME/**/*.parquet` | the files of one table; always at least one, also without rows |
| `tables/exchanges/dt=YYYY-MM-DD/` | `exchanges` by UTC day; without a time `dt=unknown` |

* Every file carries these descriptions and units in the metadata of its fields.
* Rows are in a fixed total order, and the files are equal for equal input, whatever the threads
  and the memory. Wall-clock facts stand in `case.json` only.
* Times are microseconds since 1970, UTC. Integers are signed. An id of more than 63 bits is text.
* Byte positions count in the UTF-8 of the decoded text: JSON escapes undone, message parts joined.
* Columns that end in `_hmac` hold keyed hashes: equal within a case, useless without its key.
* `texts` exists only after `--keep-text`, and is read only with `--reveal --reason R`.
* *null* in the third column: the value may be missing, and missing means unknown unless the
  description says otherwise.

Read them elsewhere, for example in DuckDB:

```sql
SELECT grade, COUNT(*) FROM read_parquet('case/tables/verdicts/*.parquet') GROUP BY grade;
SELECT * FROM read_parquet('case/tables/exchanges/*/*.parquet', hive_partitioning = true);
```
";

#[test]
fn tables_are_documented() {
    let mut page = format!("{TABLES_HEAD}\nSchema version: {SCHEMA_VERSION}.\n");
    for table in Table::ALL {
        let _ = write!(
            page,
            "\n## {table}\n\nOne row: {}.\n\n| column | type | | unit | meaning |\n\
             |---|---|---|---|---|\n",
            table.description()
        );
        for column in table.columns() {
            page += &row(&[
                &format!("`{}`", column.name),
                &cell(type_name(column.kind)),
                if column.nullable { "null" } else { "" },
                column.unit.unwrap_or(""),
                &cell(column.description()),
            ]);
        }
    }
    check("tables.md", &page);
}

fn type_name(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::PairList => "list of (kind, value)",
        ColumnKind::TextList => "list of text",
        ColumnKind::Text | ColumnKind::LargeText => "text",
        ColumnKind::Time => "timestamp",
        other => other.as_str(),
    }
}

const RULES_HEAD: &str = "\
# Rules

<!-- Made by crates/store/tests/docs.rs from the headers in queries/rules; change those, then run it
with UPDATE_GOLDEN=1. -->

A rule is one SQL file in `queries/rules`. Each row it gives becomes one row of `findings`.
`pentimento rules list` names the rules of a program, `pentimento rules show ID` prints one.

* **severity** is critical, high, medium or low. *by row*: the rule decides for each finding.
* **exposure** says whether the answer was computed on memory it did not own: proven, likely, none
  or unknown. **disclosure** says whether it shows foreign text: proven, likely, none_found or
  not_assessable. A rule that is silent on an axis leaves it to the others.
* **reads** names the tables and views below the rule; a rule that reads `findings` runs after those
  that do not.
* The **version** rises with every change of meaning. `case.json` records version and digest of each
  rule that ran.

`queries/verdicts.sql` then grades every delivered response from these two axes.
";

/// The header of an SQL file: keys and values, continued lines joined.
fn header(sql: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in sql.lines().map_while(|l| l.strip_prefix("-- ")) {
        match line.split_once(": ") {
            Some((key, value)) if !line.starts_with(' ') => {
                found.push((key.to_owned(), value.trim().to_owned()));
            }
            _ if line.starts_with(' ') => {
                if let Some((_, value)) = found.last_mut() {
                    value.push(' ');
                    value.push_str(line.trim());
                }
            }
            _ => break,
        }
    }
    found
}

#[test]
fn rules_are_documented() {
    let mut files: Vec<PathBuf> = fs::read_dir(root().join("queries/rules"))
        .expect("the folder of rules")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "sql"))
        .collect();
    files.sort();
    let rules: Vec<Vec<(String, String)>> = files
        .iter()
        .map(|path| header(&fs::read_to_string(path).expect("a readable rule")))
        .collect();
    let mut page = format!(
        "{RULES_HEAD}\n| rule | severity | exposure | disclosure | finds |\n|---|---|---|---|---|\n"
    );
    let get = |rule: &[(String, String)], key: &str| {
        let value = rule.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str());
        match value {
            None => String::new(),
            Some("column") => "*by row*".to_owned(),
            Some(value) => cell(value),
        }
    };
    for rule in &rules {
        let id = get(rule, "id");
        page += &row(&[
            &format!("[`{id}`](#{id})"),
            &get(rule, "severity"),
            &get(rule, "exposure"),
            &get(rule, "disclosure"),
            &get(rule, "title"),
        ]);
    }
    for rule in &rules {
        let axis = |key: &str| match get(rule, key) {
            empty if empty.is_empty() => "silent".to_owned(),
            value => value,
        };
        let needs = get(rule, "needs");
        let reads: Vec<String> = needs.split(", ").map(|n| format!("`{n}`")).collect();
        let _ = write!(
            page,
            "\n## {}\n\n{}.\n\n* severity: {}\n* exposure: {}\n* disclosure: {}\n* reads: {}\n\
             * version: {}\n* why: {}\n",
            get(rule, "id"),
            upper_first(&get(rule, "title")),
            get(rule, "severity"),
            axis("exposure"),
            axis("disclosure"),
            reads.join(", "),
            get(rule, "version"),
            get(rule, "why")
        );
    }
    check("rules.md", &page);
}

fn upper_first(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map(|first| first.to_uppercase().chain(characters).collect())
        .unwrap_or_default()
}
