//! A mapping guessed from the names and values of a log's fields, as text for the configuration.

use super::names::{NAMES, Wants};
use super::sample::Sample;
use crate::exchange::TimeZoneSource;
use crate::format::json::Json;
use crate::format::mapped::{Mapped, Mapping};
use crate::format::time;
use crate::format::{DecodeContext, LogFormat};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Fields that are looked at.
const MAX_FIELDS: usize = 512;

/// Fields nested deeper are not looked at.
const MAX_DEPTH: usize = 8;

/// A guessed mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guess {
    /// The lines of `[format.NAME]`.
    pub toml: String,
    /// Columns and the places that were taken for them.
    pub columns: Vec<(String, String)>,
    /// How many of the records it reads as exchanges.
    pub reads: usize,
}

/// What the values of one field look like.
#[derive(Default)]
struct Field {
    seen: usize,
    texts: usize,
    whole: usize,
    fractions: usize,
    bools: usize,
    nested: usize,
    /// Texts that hold an object or a list.
    packed: usize,
    times: usize,
    naive: usize,
    least: i64,
    most: i64,
    longest: usize,
}

/// Kinds of tenant candidates among those names.
const KINDS: [&str; 6] = [
    "organization",
    "team",
    "project",
    "api_key_hash",
    "api_key",
    "user",
];

/// Guesses a mapping; `None` where the records are no objects, or nothing in them has a name that
/// means something.
pub fn guess(name: &str, samples: &[Sample<'_>], context: &DecodeContext<'_>) -> Option<Guess> {
    let objects: Vec<Json<'_>> = samples.iter().filter_map(Sample::object).collect();
    let mut fields: BTreeMap<Vec<String>, Field> = BTreeMap::new();
    for object in &objects {
        look(object, &mut Vec::new(), &mut fields);
    }
    let mut taken: Vec<&Vec<String>> = Vec::new();
    let mut chosen: Vec<(&str, &Vec<String>)> = Vec::new();
    for (column, wants, names) in NAMES {
        let answered = |other: &str| chosen.iter().any(|(column, _)| *column == other);
        let double = match *column {
            "prompt" => answered("messages") || answered("request_body"),
            "response" => answered("response_body"),
            "duration" => answered("t_end"),
            "api_key" => answered("api_key_hash"),
            _ => false,
        };
        let free = fields
            .iter()
            .filter(|(path, _)| !taken.iter().any(|t| covers(t, path)));
        let fits = free.filter(|(_, field)| field.fits(*wants));
        let ranked = fits.filter_map(|(path, field)| Some((rank(path, names)?, path, field)));
        let best = ranked.min_by_key(|(rank, path, field)| {
            (path.len() + *rank, std::cmp::Reverse(field.seen), *path)
        });
        if let Some((_, path, _)) = best.filter(|_| !double) {
            taken.push(path);
            chosen.push((column, path));
        }
    }
    let needed = [
        "messages",
        "prompt",
        "response",
        "request_body",
        "response_body",
        "prompt_tokens",
        "t_start",
    ];
    if !chosen.iter().any(|(column, _)| needed.contains(column)) {
        return None;
    }
    let toml = write(name, &chosen, &fields);
    let columns = chosen
        .iter()
        .map(|(column, path)| ((*column).to_owned(), spelled(path)));
    Some(Guess {
        reads: trial(name, &toml, samples, context)?,
        columns: columns.collect(),
        toml,
    })
}

/// How many records the text reads, taken through the same door as the user's own.
fn trial(
    name: &str,
    text: &str,
    samples: &[Sample<'_>],
    context: &DecodeContext<'_>,
) -> Option<usize> {
    let whole: Table = text.parse().ok()?;
    let typed = whole.get("format")?.get(name)?.as_table()?;
    let unknown = |name: &str| Err(format!("no zone is guessed, but `{name}` is one"));
    let mapped = Mapped::keep(Mapping::read(name, typed, &unknown).ok()?);
    let read = |sample: &&Sample<'_>| {
        let context = DecodeContext {
            header: sample.header,
            ..*context
        };
        let mut out = Vec::new();
        mapped.decode(sample.record, &context, &mut out).is_ok() && !out.is_empty()
    };
    Some(samples.iter().filter(read).count())
}

/// Whether one of two places lies in the other.
fn covers(taken: &[String], path: &[String]) -> bool {
    let shared = taken.len().min(path.len());
    taken.get(..shared) == path.get(..shared)
}

fn look(node: &Json<'_>, path: &mut Vec<String>, out: &mut BTreeMap<Vec<String>, Field>) {
    for (key, value) in node.entries() {
        path.push(key.to_string());
        if out.len() < MAX_FIELDS || out.contains_key(path) {
            out.entry(path.clone()).or_default().add(value);
        }
        if matches!(value, Json::Object(_)) && path.len() < MAX_DEPTH {
            look(value, path, out);
        }
        path.pop();
    }
}

impl Field {
    fn add(&mut self, value: &Json<'_>) {
        if matches!(value, Json::Null) {
            return;
        }
        self.seen += 1;
        match value {
            Json::Bool(_) => self.bools += 1,
            Json::Object(_) | Json::Array(_) => self.nested += 1,
            Json::F64(_) => self.fractions += 1,
            Json::Str(text) => {
                self.texts += 1;
                self.longest = self.longest.max(text.len());
                let opens = text.trim_start().starts_with(['{', '[']) || text.starts_with("data:");
                self.packed += usize::from(opens);
            }
            _ => {}
        }
        if let Some(number) = value.as_i64() {
            self.whole += 1;
            self.least = if self.whole == 1 {
                number
            } else {
                self.least.min(number)
            };
            self.most = if self.whole == 1 {
                number
            } else {
                self.most.max(number)
            };
        } else if value.as_str().is_some() && value.as_f64().is_some() {
            self.fractions += 1;
        }
        // Numbers before 2001 are spans, those after 2100 are none of ours.
        let plausible = 978_307_200_000_000..4_102_444_800_000_000;
        match time::read(value, None) {
            Ok((Some(at), _)) if plausible.contains(&at) => self.times += 1,
            Ok((None, TimeZoneSource::Unknown)) => {
                self.times += 1;
                self.naive += 1;
            }
            _ => {}
        }
    }

    fn fits(&self, wants: Wants) -> bool {
        let scalar = self.nested == 0;
        let all = |count: usize| count == self.seen;
        self.seen > 0
            && match wants {
                Wants::Id => {
                    scalar && self.fractions == 0 && self.packed == 0 && self.longest <= 256
                }
                Wants::Name => all(self.texts) && self.packed == 0 && self.longest <= 256,
                Wants::Count => all(self.whole) && self.least >= -1,
                Wants::Status => all(self.whole) && self.least >= 0 && self.most < 1000,
                Wants::Moment => scalar && all(self.times),
                Wants::Span => all(self.whole + self.fractions) && self.times == 0,
                Wants::Truth => all(self.bools),
                Wants::Text => all(self.texts) && self.whole + self.fractions < self.seen,
                Wants::List | Wants::Body => all(self.nested + self.packed),
            }
    }
}

/// Rank of a field's name among the names of a column; the surest is 0.
fn rank(path: &[String], names: &[&str]) -> Option<usize> {
    let plain = |text: &str| -> String {
        let letters = text.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|c| c.to_ascii_lowercase()).collect()
    };
    let last = plain(path.last()?);
    let owner = path.len().checked_sub(2).and_then(|at| path.get(at));
    // `customer.id` is a customer, not an id.
    let whole = owner.map(|owner| format!("{}{last}", plain(owner)));
    let short = ["id", "name", "key", "hash"].contains(&last.as_str());
    let neutral = ["meta", "metadata", "record", "log", "event", "call"];
    let plainly = owner.is_none_or(|owner| neutral.contains(&plain(owner).as_str()));
    let word = match whole {
        Some(whole) if short && !plainly => whole,
        _ => last,
    };
    names.iter().position(|name| *name == word)
}

fn spelled(path: &[String]) -> String {
    let steps = path
        .iter()
        .map(|step| step.replace('~', "~0").replace('/', "~1"));
    steps.map(|step| format!("/{step}")).collect()
}

/// The unit that a field's name or values speak for.
fn unit(path: &[String], field: &Field) -> &'static str {
    let name = path
        .last()
        .map(|n| n.to_ascii_lowercase())
        .unwrap_or_default();
    for (ending, unit) in [
        ("ms", "ms"),
        ("millis", "ms"),
        ("us", "us"),
        ("micros", "us"),
        ("ns", "ns"),
        ("nanos", "ns"),
        ("_s", "s"),
        ("sec", "s"),
        ("seconds", "s"),
    ] {
        if name.ends_with(ending) {
            return unit;
        }
    }
    if field.fractions > 0 && field.most < 10_000 {
        "s"
    } else {
        "ms"
    }
}

fn write(
    name: &str,
    chosen: &[(&str, &Vec<String>)],
    fields: &BTreeMap<Vec<String>, Field>,
) -> String {
    let quoted = |text: &str| Value::String(text.to_owned()).to_string();
    let mut out = format!("[format.{name}]\n");
    let mut tenants = Vec::new();
    let mut naive = false;
    for (column, path) in chosen {
        let at = quoted(&spelled(path));
        let field = fields.get(*path);
        if KINDS.contains(column) {
            tenants.push(format!("  {{ kind = \"{column}\", at = {at} }},\n"));
            continue;
        }
        let line = match (*column, field) {
            ("duration" | "first_token_after", Some(field)) => {
                let unit = unit(path, field);
                format!("{column} = {{ at = {at}, unit = \"{unit}\" }}\n")
            }
            _ => format!("{column} = {at}\n"),
        };
        naive |= column.starts_with("t_") && field.is_some_and(|f| f.naive > 0);
        out.push_str(&line);
    }
    if !tenants.is_empty() {
        out.push_str("tenant_candidates = [\n");
        out.extend(tenants);
        out.push_str("]\n");
    }
    if naive {
        out.push_str("# its times carry no zone; say which, for example:\n");
        out.push_str("# zone = \"Europe/Berlin\"\n");
    }
    let known: Vec<bool> = [&KINDS[..], &["tenant"]]
        .concat()
        .iter()
        .map(|kind| chosen.iter().any(|(column, _)| column == kind))
        .collect();
    if !known.contains(&true) {
        out.push_str("# no field looks like a tenant; without one nothing is foreign:\n");
        out.push_str("# tenant = \"/…\"\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::json::Json;
    use proptest::prelude::*;

    fn guessed(records: &[&str], header: Option<&str>) -> Option<Guess> {
        let sample = |record: &&'static str| Sample {
            record: record.as_bytes(),
            header: header.map(|h| &*h.as_bytes().to_vec().leak()),
        };
        let kept: Vec<&'static str> = records.iter().map(|r| &*r.to_string().leak()).collect();
        let samples: Vec<Sample<'_>> = kept.iter().map(sample).collect();
        guess("house", &samples, &DecodeContext::default())
    }

    #[test]
    fn names_and_values_speak() {
        let record = r#"{"kind":"call","meta":{"id":"r-1","ts":"2026-09-01 08:30:05"},
            "customer":{"id":7},"apiKey":"sk-1","modelName":"m","latency_ms":12,
            "usage":{"input":3,"output":4},"status":"ok","statusCode":200,
            "request":"{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}","answer":"yes"}"#;
        let guess = guessed(&[record, record], None).expect("a guess");
        let shown: Vec<String> = guess
            .columns
            .iter()
            .map(|(c, p)| format!("{c} {p}"))
            .collect();
        assert_eq!(
            shown,
            [
                "request_id /meta/id",
                "tenant /customer/id",
                "api_key /apiKey",
                "model /modelName",
                "t_start /meta/ts",
                "duration /latency_ms",
                "http_status /statusCode",
                "prompt_tokens /usage/input",
                "completion_tokens /usage/output",
                "request_body /request",
                "response /answer",
            ]
        );
        assert_eq!(guess.reads, 2);
        assert!(
            guess
                .toml
                .contains("duration = { at = \"/latency_ms\", unit = \"ms\" }")
        );
        assert!(guess.toml.contains("# zone ="), "{}", guess.toml);
    }

    #[test]
    fn rows_and_what_means_nothing() {
        let header = "id,customer,question,answer";
        let guess = guessed(&["1,acme,why,\"so, that\""], Some(header)).expect("a guess");
        assert_eq!(guess.reads, 1);
        assert!(
            guess.toml.contains("prompt = \"/question\""),
            "{}",
            guess.toml
        );
        assert_eq!(guessed(&[r#"{"a":1,"level":"info"}"#], None), None);
        assert_eq!(guessed(&["soup"], None), None);
    }

    proptest! {
        #[test]
        fn any_key_gives_text_that_parses(key in "\\PC{1,12}", value in "\\PC{0,20}") {
            let json = |text: &str| Json::Str(text.to_owned().into()).to_text();
            let record = format!(
                "{{{}:{{\"prompt\":{},\"in\\\"put tokens\":3}}}}", json(&key), json(&value));
            if let Some(guess) = guessed(&[&record], None) {
                prop_assert!(guess.toml.parse::<Table>().is_ok());
            }
        }
    }
}
