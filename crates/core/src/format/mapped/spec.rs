//! A mapping as the configuration spells it (`[format.NAME]`), checked once.

use super::pointer::{Places, Pointer};
use crate::exchange::CorrelationKind;
use crate::format::table;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;
use thiserror::Error;
use toml::{Table, Value};

/// What is wrong with a mapping, and in which key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{key}`: {why}")]
pub struct MappingError {
    /// The key, without the name of the mapping.
    pub key: String,
    /// What was found, what was expected.
    pub why: String,
}

/// Finds a time zone by the name that the user typed.
pub type ZoneOf<'a> = &'a dyn Fn(&str) -> Result<TimeZone, String>;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// A name or an id.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Bool,
    /// A moment.
    Time,
    /// A span of time.
    Duration,
    /// Text of a prompt or response, or a body that holds it.
    Content,
}

impl ColumnType {
    fn name(self) -> &'static str {
        match self {
            ColumnType::Text => "text",
            ColumnType::Integer => "integer",
            ColumnType::Number => "number",
            ColumnType::Bool => "bool",
            ColumnType::Time => "time",
            ColumnType::Duration => "duration",
            ColumnType::Content => "body",
        }
    }
}

/// Columns that a mapping may fill, beside the ids of [`CorrelationKind`] and the tenants.
pub const COLUMNS: [(&str, ColumnType); 30] = [
    ("request_id", ColumnType::Text),
    ("model", ColumnType::Text),
    ("deployment", ColumnType::Text),
    ("node", ColumnType::Text),
    ("role", ColumnType::Text),
    ("engine", ColumnType::Text),
    ("engine_version", ColumnType::Text),
    ("t_start", ColumnType::Time),
    ("t_first_token", ColumnType::Time),
    ("t_end", ColumnType::Time),
    ("first_token_after", ColumnType::Duration),
    ("duration", ColumnType::Duration),
    ("http_status", ColumnType::Integer),
    ("outcome", ColumnType::Text),
    ("finish_reason", ColumnType::Text),
    ("prompt_tokens", ColumnType::Integer),
    ("completion_tokens", ColumnType::Integer),
    ("cached_tokens", ColumnType::Integer),
    ("tokens_source", ColumnType::Text),
    ("choice", ColumnType::Integer),
    ("cache_hit", ColumnType::Bool),
    ("spec_accept_length", ColumnType::Number),
    ("prompt_state", ColumnType::Text),
    ("response_state", ColumnType::Text),
    ("messages", ColumnType::Content),
    ("prompt", ColumnType::Content),
    ("response", ColumnType::Content),
    ("reasoning", ColumnType::Content),
    ("request_body", ColumnType::Content),
    ("response_body", ColumnType::Content),
];

/// Tool calls beside a response.
pub const TOOL: (&str, ColumnType) = ("tool", ColumnType::Content);

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl Unit {
    fn parse(name: &str) -> Option<Unit> {
        Some(match name {
            "s" => Unit::Seconds,
            "ms" => Unit::Millis,
            "us" => Unit::Micros,
            "ns" => Unit::Nanos,
            _ => return None,
        })
    }

    /// Nanoseconds in one.
    pub fn nanos(self) -> i64 {
        match self {
            Unit::Seconds => 1_000_000_000,
            Unit::Millis => 1_000_000,
            Unit::Micros => 1_000,
            Unit::Nanos => 1,
        }
    }
}

/// How one column is filled.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// Places, the first that holds something is taken.
    pub at: Vec<Pointer>,
    /// The value where no place holds one.
    pub value: Option<String>,
    /// Unit of a time or duration that is a number.
    pub unit: Option<Unit>,
    /// Zone of times that carry none.
    pub zone: Option<TimeZone>,
    /// How a time is spelled, as strftime writes it.
    pub pattern: Option<String>,
    /// The log's words and ours.
    pub map: BTreeMap<String, String>,
    /// Content is text as it stands, never a body.
    pub plain: bool,
}

/// A condition: the value at a place is one of these words; none = any value will do.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The place.
    pub at: Pointer,
    /// The words.
    pub any: Vec<String>,
}

/// A checked mapping.
#[derive(Clone, Debug, Default)]
pub struct Mapping {
    /// The name in `source_format`.
    pub name: String,
    /// Which files are of this format whatever they look like, as a glob.
    pub files: Option<String>,
    /// Which records are exchanges.
    pub when: Vec<Condition>,
    /// Zone of times that carry none.
    pub zone: Option<TimeZone>,
    /// Year of times that are written without one.
    pub year: Option<i16>,
    /// Columns and how they are filled, in the order of [`COLUMNS`].
    pub columns: Vec<(&'static str, ColumnType, Rule)>,
    /// Ids.
    pub ids: Vec<(CorrelationKind, Rule)>,
    /// Tenant candidates, in the order given.
    pub tenants: Vec<(String, Rule)>,
    /// All places that are read.
    pub places: Places,
}

const OTHER_KEYS: [&str; 6] = [
    "files",
    "when",
    "zone",
    "year",
    "tenant",
    "tenant_candidates",
];

impl Mapping {
    /// Checks `[format.NAME]`.
    ///
    /// # Errors
    /// Names the key and what was expected.
    pub fn read(name: &str, typed: &Table, zone_of: ZoneOf<'_>) -> Result<Mapping, MappingError> {
        check_name(name)?;
        let mut mapping = Mapping {
            name: name.to_owned(),
            ..Mapping::default()
        };
        for key in typed.keys() {
            if !OTHER_KEYS.contains(&key.as_str()) && column(key).is_none() && id(key).is_none() {
                return Err(wrong(key, unknown_key(key)));
            }
        }
        for (name, kind) in COLUMNS.into_iter().chain([TOOL]) {
            if let Some(value) = typed.get(name) {
                let rule = rule(name, kind, value, zone_of)?;
                mapping.columns.push((name, kind, rule));
            }
        }
        for kind in CorrelationKind::ALL {
            if let Some(value) = typed.get(kind.as_str()) {
                let rule = rule(kind.as_str(), ColumnType::Text, value, zone_of)?;
                mapping.ids.push((kind, rule));
            }
        }
        mapping.tenants = tenants(typed, zone_of)?;
        mapping.when = conditions(typed)?;
        mapping.files = match typed.get("files") {
            None => None,
            Some(Value::String(glob)) if !glob.is_empty() => Some(glob.clone()),
            Some(_) => return Err(wrong("files", "expected a glob such as \"*.audit.jsonl\"")),
        };
        mapping.zone = match typed.get("zone") {
            None => None,
            Some(value) => Some(zone("zone", value, zone_of)?),
        };
        mapping.year = match typed.get("year") {
            None => None,
            Some(Value::Integer(year @ 1970..=9999)) => Some(*year as i16),
            Some(_) => return Err(wrong("year", "expected a year from 1970 to 9999")),
        };
        let rules = mapping.rules().flat_map(|rule| rule.at.clone());
        let read: Vec<Pointer> = rules
            .chain(mapping.when.iter().map(|c| c.at.clone()))
            .collect();
        if mapping.rules().all(|rule| rule.at.is_empty()) {
            return Err(wrong(
                "request_id",
                "no column names a place in the record, expected e.g. request_id = \"/id\"",
            ));
        }
        read.iter().for_each(|place| mapping.places.insert(place));
        Ok(mapping)
    }

    /// All rules.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        let columns = self.columns.iter().map(|(_, _, rule)| rule);
        let ids = self.ids.iter().map(|(_, rule)| rule);
        let tenants = self.tenants.iter().map(|(_, rule)| rule);
        columns.chain(ids).chain(tenants)
    }

    /// The rule of a column.
    pub fn column(&self, name: &str) -> Option<&Rule> {
        let found = self.columns.iter().find(|(column, _, _)| *column == name);
        found.map(|(_, _, rule)| rule)
    }
}

fn wrong(key: &str, why: impl Into<String>) -> MappingError {
    MappingError {
        key: key.to_owned(),
        why: why.into(),
    }
}

fn column(key: &str) -> Option<ColumnType> {
    let mut all = COLUMNS.into_iter().chain([TOOL]);
    all.find(|(name, _)| *name == key).map(|(_, kind)| kind)
}

fn id(key: &str) -> Option<CorrelationKind> {
    CorrelationKind::ALL.into_iter().find(|k| k.as_str() == key)
}

fn unknown_key(key: &str) -> String {
    let columns = COLUMNS.iter().map(|(name, _)| *name);
    let ids = CorrelationKind::ALL.iter().map(|kind| kind.as_str());
    let all = columns.chain(ids).chain(OTHER_KEYS);
    let near = all.filter(|known| known.contains(key) || key.contains(known));
    match near.max_by_key(|known| known.len()) {
        Some(near) => format!("no column of that name, did you mean `{near}`?"),
        None => "no column of that name; `pentimento inspect` proposes a mapping".to_owned(),
    }
}

fn check_name(name: &str) -> Result<(), MappingError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 40 || !name.chars().all(plain) {
        let why = "a format name has 1 to 40 of a-z, 0-9, - and _";
        return Err(wrong(name, why));
    }
    if table().iter().any(|format| format.name() == name) {
        return Err(wrong(name, "a format of that name is built in"));
    }
    Ok(())
}

fn zone(key: &str, value: &Value, zone_of: ZoneOf<'_>) -> Result<TimeZone, MappingError> {
    let name = value.as_str().ok_or_else(|| {
        wrong(
            key,
            "expected a zone such as \"Europe/Berlin\" or \"+02:00\"",
        )
    })?;
    zone_of(name).map_err(|why| wrong(key, why))
}

/// One place, or several as alternatives.
fn places(key: &str, value: &Value) -> Result<Vec<Pointer>, MappingError> {
    let one = |value: &Value| {
        let text = value.as_str().ok_or_else(|| {
            let why = format!("expected a JSON pointer, found a {}", value.type_str());
            wrong(key, why)
        })?;
        Pointer::parse(text).map_err(|why| wrong(key, why))
    };
    match value {
        Value::Array(all) if !all.is_empty() => all.iter().map(one).collect(),
        Value::Array(_) => Err(wrong(key, "no pointer in the list")),
        value => Ok(vec![one(value)?]),
    }
}

fn rule(
    key: &str,
    kind: ColumnType,
    value: &Value,
    zone_of: ZoneOf<'_>,
) -> Result<Rule, MappingError> {
    let Value::Table(typed) = value else {
        let rule = Rule {
            at: places(key, value)?,
            ..Rule::default()
        };
        return checked(key, kind, rule);
    };
    let mut rule = Rule::default();
    for (option, value) in typed {
        let name = format!("{key}.{option}");
        let text = || {
            let why = format!("expected a text, found a {}", value.type_str());
            value.as_str().ok_or_else(|| wrong(&name, why))
        };
        match option.as_str() {
            "at" => rule.at = places(&name, value)?,
            // The kind of a tenant candidate; read by its list.
            "kind" if key.starts_with("tenant_candidates") => {}
            "value" => rule.value = Some(scalar(&name, value)?),
            "zone" => rule.zone = Some(zone(&name, value, zone_of)?),
            "pattern" => rule.pattern = Some(pattern(&name, text()?)?),
            "unit" if text()? == "tokens" && key.ends_with("_tokens") => {}
            "unit" => {
                let why = format!("`{}` is no unit here, expected s, ms, us or ns", text()?);
                rule.unit = Some(Unit::parse(text()?).ok_or_else(|| wrong(&name, why))?);
            }
            "type" => match (kind, text()?) {
                (ColumnType::Content, "text") => rule.plain = true,
                (kind, typed) if typed == kind.name() => {}
                (kind, typed) => {
                    let why = format!("`{typed}` does not fit, this column is {}", kind.name());
                    return Err(wrong(&name, why));
                }
            },
            "map" => {
                let words = value
                    .as_table()
                    .ok_or_else(|| wrong(&name, "expected a table of the log's words and ours"))?;
                for (from, to) in words {
                    rule.map.insert(from.clone(), scalar(&name, to)?);
                }
            }
            _ => {
                let why = "unknown, expected at, value, type, unit, zone, pattern or map";
                return Err(wrong(&name, why));
            }
        }
    }
    checked(key, kind, rule)
}

fn scalar(key: &str, value: &Value) -> Result<String, MappingError> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Boolean(truth) => Ok(truth.to_string()),
        other => {
            let why = format!(
                "expected a text, number or bool, found a {}",
                other.type_str()
            );
            Err(wrong(key, why))
        }
    }
}

/// A pattern must be able to read what it writes.
fn pattern(key: &str, pattern: &str) -> Result<String, MappingError> {
    let moment = jiff::civil::datetime(2026, 9, 27, 18, 30, 5, 120_000_000);
    let at = TimeZone::UTC
        .to_timestamp(moment)
        .map_err(|e| e.to_string());
    let trial = at.map(|at| at.to_zoned_datetime(TimeZone::UTC));
    let trial = trial.and_then(|at| {
        let text = jiff::fmt::strtime::format(pattern, &at).map_err(|e| e.to_string())?;
        let mut read = jiff::fmt::strtime::parse(pattern, &text).map_err(|e| e.to_string())?;
        if read.year().is_none() {
            read.set_year(Some(2026)).map_err(|e| e.to_string())?;
        }
        read.to_datetime().map_err(|e| e.to_string())
    });
    match trial {
        Ok(_) => Ok(pattern.to_owned()),
        Err(why) => Err(wrong(
            key,
            format!("`{pattern}` is no pattern such as %Y-%m-%d %H:%M:%S: {why}"),
        )),
    }
}

fn checked(key: &str, kind: ColumnType, rule: Rule) -> Result<Rule, MappingError> {
    let timed = matches!(kind, ColumnType::Time | ColumnType::Duration);
    let why = if rule.at.is_empty() && rule.value.is_none() {
        "names no place, expected a JSON pointer such as \"/usage/total\""
    } else if kind == ColumnType::Duration && rule.unit.is_none() {
        "a duration needs its unit, expected e.g. { at = \"/latency\", unit = \"ms\" }"
    } else if !timed && rule.unit.is_some() {
        "only times and durations have a unit"
    } else if kind != ColumnType::Time && (rule.zone.is_some() || rule.pattern.is_some()) {
        "only times have a zone and a pattern"
    } else if timed && rule.value.is_some() || kind == ColumnType::Content && rule.value.is_some() {
        "cannot be the same in every record"
    } else if rule.pattern.is_some() && rule.unit.is_some() {
        "a time has a unit or a pattern, not both"
    } else {
        return Ok(rule);
    };
    Err(wrong(key, why))
}

fn tenants(typed: &Table, zone_of: ZoneOf<'_>) -> Result<Vec<(String, Rule)>, MappingError> {
    let mut out = Vec::new();
    if let Some(value) = typed.get("tenant") {
        let rule = rule("tenant", ColumnType::Text, value, zone_of)?;
        out.push(("tenant".to_owned(), rule));
    }
    let key = "tenant_candidates";
    let list = match typed.get(key) {
        None => return Ok(out),
        Some(Value::Array(list)) => list,
        Some(_) => {
            let why = "expected a list such as [{ kind = \"team\", at = \"/team\" }]";
            return Err(wrong(key, why));
        }
    };
    for (number, item) in list.iter().enumerate() {
        let name = format!("{key}[{}]", number + 1);
        let kind = item.get("kind").and_then(Value::as_str);
        let kind = kind
            .filter(|kind| !kind.is_empty())
            .ok_or_else(|| wrong(&name, "needs its kind, such as organization, team or user"))?;
        let rule = rule(&name, ColumnType::Text, item, zone_of)?;
        out.push((kind.to_owned(), rule));
    }
    Ok(out)
}

fn conditions(typed: &Table) -> Result<Vec<Condition>, MappingError> {
    let Some(value) = typed.get("when") else {
        return Ok(Vec::new());
    };
    let table = value.as_table().ok_or_else(|| {
        wrong(
            "when",
            "expected a table such as { \"/kind\" = \"completion\" }",
        )
    })?;
    let one = |(pointer, words): (&String, &Value)| {
        let key = format!("when.{pointer}");
        let at = Pointer::parse(pointer).map_err(|why| wrong(&key, why))?;
        let any = match words {
            Value::Array(words) => words.iter().map(|w| scalar(&key, w)).collect(),
            word => scalar(&key, word).map(|word| vec![word]),
        }?;
        let any = if any == ["*"] { Vec::new() } else { any };
        Ok(Condition { at, any })
    };
    table.iter().map(one).collect()
}
