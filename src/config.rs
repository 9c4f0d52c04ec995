//! `pentimento.toml`: what was typed, checked and turned into values once.

use crate::log_sources::{LogSources, TypedSource};
use crate::outcome::{FailureKind, failure};
use crate::phases::{self, Phase, TypedPhase, typed_moment};
use crate::tenant_map::read_map;
use anyhow::{Context, Result};
use pentimento_core::capacity::{CapacityTable, Epoch};
use pentimento_core::estimate::{ScriptTable, TokenCounter};
use pentimento_core::exchange::{Role, TenantCandidate, TimeMicros};
use pentimento_core::format::sealed::BodyKeys;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Candidate kinds from the widest party to the narrowest; the first that a record has is its
/// tenant unless `[tenants] priority` says otherwise.
pub const DEFAULT_PRIORITY: [&str; 35] = [
    "tenant",
    "account",
    "organization",
    "workspace",
    "subscription",
    "team",
    "team_alias",
    "project",
    "api_key_hash",
    "api_key",
    "key_alias",
    "virtual_key",
    "consumer",
    "credential",
    "header:x-consumer-custom-id",
    "header:x-consumer-username",
    "header:x-tenant-id",
    "header:x-tenant",
    "header:x-customer-id",
    "header:x-account-id",
    "header:x-org-id",
    "header:x-organization-id",
    "header:x-smg-routing-key",
    "routing_key",
    "arn",
    "user",
    "user_email",
    "end_user",
    "session",
    "ip",
    "gateway",
    "service",
    "source_project",
    "cloud_project",
    "cloud_account",
];

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Typed {
    deployment: Vec<TypedDeployment>,
    phase: Vec<TypedPhase>,
    models: BTreeMap<String, Names>,
    tenants: TypedTenants,
    time: TypedTime,
    overlap: TypedOverlap,
    canaries: TypedCanaries,
    limits: TypedLimits,
    format: BTreeMap<String, toml::Table>,
    source: BTreeMap<String, TypedSource>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct TypedDeployment {
    model: Option<String>,
    name: Option<String>,
    node: Option<String>,
    role: Option<String>,
    valid_from: Option<toml::Value>,
    valid_to: Option<toml::Value>,
    window_tokens: Option<i64>,
    pool_tokens: Option<i64>,
    page_tokens: Option<i64>,
    reject_at_tokens: Option<i64>,
    engine: Option<String>,
    engine_version: Option<String>,
    mode: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct TypedTenants {
    internal: Vec<String>,
    researchers: Vec<String>,
    boundary: Option<String>,
    priority: Vec<String>,
    map: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct TypedTime {
    assume_timezone: Option<String>,
    assume_year: Option<i16>,
    clock_tolerance_ms: i64,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct TypedOverlap {
    max_tenants: Option<u32>,
    store_weight: Option<u32>,
    look_back: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct TypedCanaries {
    keys: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct TypedLimits {
    max_record_bytes: Option<u64>,
    max_ratio: Option<u64>,
}

/// How a tenant is chosen from a record's candidates.
#[derive(Clone, Debug, Default)]
pub struct TenantPolicy {
    /// Candidate kinds, first wins.
    pub priority: Vec<String>,
    /// Source value (or `kind:value`) to tenant.
    pub map: BTreeMap<String, String>,
    /// The operator's own tenants.
    pub internal: BTreeSet<String>,
    /// Accounts of researchers.
    pub researchers: BTreeSet<String>,
}

impl TenantPolicy {
    /// The tenant of a record and the candidate kind it came from.
    ///
    /// A mapped candidate wins over any unmapped one, in order of priority: the mapping is what
    /// the user knows, the priority only what is usual. A header or a label that neither names is
    /// no tenant: it may be anything, such as the name of the client program.
    pub fn choose<'a>(&'a self, candidates: &'a [TenantCandidate]) -> Option<(&'a str, &'a str)> {
        let rank = |kind: &str| {
            self.priority
                .iter()
                .position(|p| p == kind)
                .unwrap_or(self.priority.len())
        };
        let mut order: Vec<&TenantCandidate> =
            candidates.iter().filter(|c| !c.value.is_empty()).collect();
        order.sort_by_key(|c| rank(&c.kind));
        let mapped = order.iter().find_map(|c| {
            let key = format!("{}:{}", c.kind, c.value);
            let to = self.map.get(&key).or_else(|| self.map.get(&c.value))?;
            Some((to.as_str(), c.kind.as_str()))
        });
        let anything = |kind: &str| kind.starts_with("header:") || kind.starts_with("label:");
        let usual = |c: &&&TenantCandidate| !anything(&c.kind) || self.priority.contains(&c.kind);
        let first = order.iter().find(usual);
        mapped.or_else(|| first.map(|c| (c.value.as_str(), c.kind.as_str())))
    }

    /// `internal`, `researcher` or nothing.
    pub fn excluded(&self, tenant: &str) -> Option<&'static str> {
        if self.internal.contains(tenant) {
            Some("internal")
        } else if self.researchers.contains(tenant) {
            Some("researcher")
        } else {
            None
        }
    }
}

/// Settings of the overlap search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlapSettings {
    /// A text with more carriers than this is common.
    pub max_tenants: u32,
    /// Rows are stored from this novel weight, in half-words.
    pub store_weight: u32,
    /// Sources older than this are not looked at, in microseconds.
    pub look_back_us: TimeMicros,
    /// How far clocks of different sources may be apart, in microseconds.
    pub clock_tolerance_us: TimeMicros,
}

/// The checked configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Capacity epochs.
    pub capacity: CapacityTable,
    /// Phases in order of time.
    pub phases: Vec<Phase>,
    /// Alias to canonical model name.
    pub models: BTreeMap<String, String>,
    /// Tenant choice.
    pub tenants: TenantPolicy,
    /// Zone for naive times.
    pub zone: Option<jiff::tz::TimeZone>,
    /// Year for times that are written without one.
    pub year: Option<i16>,
    /// Private keys of encrypted bodies; from the command line only.
    pub keys: Option<Arc<BodyKeys>>,
    /// Counts tokens where nobody did.
    pub counter: Arc<dyn TokenCounter>,
    /// Formats and sources that are declared.
    pub sources: LogSources,
    /// Overlap settings.
    pub overlap: OverlapSettings,
    /// Key file of minted canaries.
    pub canary_keys: Option<PathBuf>,
    /// Longest record, in bytes.
    pub max_record_bytes: u64,
    /// Greatest ratio of decoded to compressed bytes.
    pub max_ratio: u64,
    /// BLAKE3 of the file as read, hex; `None` without a file.
    pub digest: Option<String>,
}

impl Config {
    /// The configuration of a run without a file.
    pub fn empty() -> Result<Config> {
        Config::checked(Typed::default(), Path::new("."), None)
    }

    /// Reads and checks a file.
    ///
    /// # Errors
    /// Usage failures that name the file and what is wrong in it.
    pub fn read(path: &Path) -> Result<Config> {
        let text = std::fs::read_to_string(path).map_err(|e| {
            failure(
                FailureKind::Usage,
                format!("cannot read `{}`: {e}", path.display()),
            )
        })?;
        let digest = blake3::hash(text.as_bytes()).to_hex().to_string();
        let typed: Typed = toml::from_str(&text).map_err(|e| {
            failure(
                FailureKind::Usage,
                format!("`{}`: {}", path.display(), e.to_string().trim_end()),
            )
        })?;
        let base = path.parent().unwrap_or(Path::new("."));
        Config::checked(typed, base, Some(digest))
            .map_err(|e| failure(FailureKind::Usage, format!("`{}`: {e:#}", path.display())))
    }

    /// The canonical name of a model.
    pub fn canonical_model<'a>(&'a self, name: &'a str) -> &'a str {
        self.models.get(name).map_or(name, String::as_str)
    }

    fn checked(typed: Typed, base: &Path, digest: Option<String>) -> Result<Config> {
        let models = model_aliases(typed.models)?;
        let epochs = typed
            .deployment
            .into_iter()
            .enumerate()
            .map(|(i, d)| {
                epoch(i + 1, d, &models).with_context(|| format!("[[deployment]] number {}", i + 1))
            })
            .collect::<Result<Vec<_>>>()?;
        let zone = match typed.time.assume_timezone {
            Some(name) => Some(zone(&name).context("[time] assume_timezone")?),
            None => None,
        };
        let look_back_us = match &typed.overlap.look_back {
            Some(text) => duration_us(text).context("[overlap] look_back")?,
            None => 24 * 3_600_000_000,
        };
        if let Some(typed) = typed.time.assume_year {
            year(typed).context("[time] assume_year")?;
        }
        anyhow::ensure!(
            typed.time.clock_tolerance_ms >= 0,
            "[time] clock_tolerance_ms must not be negative"
        );
        Ok(Config {
            capacity: CapacityTable::new(epochs)?,
            phases: phases::checked(typed.phase)?,
            models,
            tenants: tenant_policy(typed.tenants, base)?,
            zone,
            year: typed.time.assume_year,
            keys: None,
            counter: Arc::new(ScriptTable),
            sources: LogSources::read(&typed.format, typed.source)?,
            overlap: OverlapSettings {
                max_tenants: typed.overlap.max_tenants.unwrap_or(3),
                store_weight: typed.overlap.store_weight.unwrap_or(16).max(12),
                look_back_us,
                clock_tolerance_us: typed.time.clock_tolerance_ms.saturating_mul(1000),
            },
            canary_keys: typed.canaries.keys.map(|file| base.join(file)),
            max_record_bytes: typed.limits.max_record_bytes.unwrap_or(1 << 30),
            max_ratio: typed.limits.max_ratio.unwrap_or(1000).max(1),
            digest,
        })
    }
}

/// A zone by name or offset.
///
/// # Errors
/// Where the zone data does not know it.
pub fn zone(name: &str) -> Result<jiff::tz::TimeZone> {
    if name.eq_ignore_ascii_case("utc") || name == "Z" {
        return Ok(jiff::tz::TimeZone::UTC);
    }
    if name.starts_with(['+', '-']) {
        let stamp = format!("2026-01-01T00:00:00{name}");
        let pieces = jiff::fmt::temporal::DateTimeParser::new()
            .parse_pieces(&stamp)
            .map_err(|e| anyhow::anyhow!("`{name}` is no offset such as +02:00: {e}"))?;
        if let Some(offset) = pieces.to_numeric_offset() {
            return Ok(jiff::tz::TimeZone::fixed(offset));
        }
    }
    jiff::tz::TimeZone::get(name).map_err(|e| {
        anyhow::anyhow!("`{name}` is no known time zone, expected e.g. Europe/Berlin: {e}")
    })
}

/// A year that times may be in.
///
/// # Errors
/// Where it is none.
pub fn year(typed: i16) -> Result<i16> {
    anyhow::ensure!(
        (1970..=9999).contains(&typed),
        "{typed} is no year from 1970 to 9999"
    );
    Ok(typed)
}

/// A duration such as `24h`, `90m` or `2d`, in microseconds.
///
/// # Errors
/// Where the text is no duration.
pub fn duration_us(text: &str) -> Result<TimeMicros> {
    let span: jiff::Span = text
        .parse()
        .map_err(|_| anyhow::anyhow!("`{text}` is no duration, expected e.g. 24h, 90m or 7d"))?;
    let span = span
        .to_duration(jiff::SpanRelativeTo::days_are_24_hours())
        .map_err(|_| {
            anyhow::anyhow!("`{text}` must be given in weeks, days, hours or smaller units")
        })?;
    anyhow::ensure!(!span.is_negative(), "`{text}` must not be negative");
    i64::try_from(span.as_micros()).map_err(|_| anyhow::anyhow!("`{text}` is too long"))
}

/// A moment: RFC 3339, or a date or local time in the declared zone (UTC without one).
///
/// # Errors
/// Where the text is no moment.
pub fn moment_us(text: &str, zone: Option<&jiff::tz::TimeZone>) -> Result<TimeMicros> {
    if let Ok(t) = text.parse::<jiff::Timestamp>() {
        return Ok(t.as_microsecond());
    }
    let civil = text
        .parse::<jiff::civil::DateTime>()
        .or_else(|_| {
            text.parse::<jiff::civil::Date>()
                .map(|d| d.to_datetime(jiff::civil::Time::midnight()))
        })
        .map_err(|_| {
            anyhow::anyhow!(
                "`{text}` is no moment, expected e.g. 2026-09-01 or 2026-09-01T08:30:00Z"
            )
        })?;
    let zone = zone.cloned().unwrap_or(jiff::tz::TimeZone::UTC);
    Ok(zone.to_timestamp(civil)?.as_microsecond())
}

fn epoch(number: usize, d: TypedDeployment, models: &BTreeMap<String, String>) -> Result<Epoch> {
    let role = match &d.role {
        None => None,
        Some(name) => Some(Role::parse(name).ok_or_else(|| {
            anyhow::anyhow!("role `{name}` is unknown, expected prefill, decode or unified")
        })?),
    };
    Ok(Epoch {
        model: d.model.map(|m| models.get(&m).cloned().unwrap_or(m)),
        deployment: d.name,
        node: d.node,
        role,
        valid_from: typed_moment(d.valid_from, "valid_from")?,
        valid_to: typed_moment(d.valid_to, "valid_to")?,
        pool_tokens: d.pool_tokens,
        window_tokens: d.window_tokens,
        page_tokens: d.page_tokens,
        reject_at_override: d.reject_at_tokens,
        engine: d.engine.map(|e| e.to_ascii_lowercase()),
        engine_version: d.engine_version,
        mode: d.mode,
        source: format!("config [[deployment]] {number}"),
        ..Epoch::default()
    })
}

fn model_aliases(typed: BTreeMap<String, Names>) -> Result<BTreeMap<String, String>> {
    let mut direct: BTreeMap<String, String> = BTreeMap::new();
    for (key, names) in typed {
        match names {
            Names::One(canonical) => {
                direct.insert(key, canonical);
            }
            Names::Many(aliases) => {
                for alias in aliases.into_iter().filter(|a| *a != key) {
                    if let Some(other) = direct.insert(alias.clone(), key.clone()) {
                        anyhow::ensure!(
                            other == key,
                            "[models] `{alias}` is an alias of both `{other}` and `{key}`"
                        );
                    }
                }
            }
        }
    }
    let mut resolved = BTreeMap::new();
    for alias in direct.keys() {
        let mut name = alias;
        let mut steps = 0;
        while let Some(next) = direct.get(name).filter(|n| *n != name) {
            steps += 1;
            anyhow::ensure!(
                steps <= direct.len(),
                "[models] aliases of `{alias}` form a circle"
            );
            name = next;
        }
        resolved.insert(alias.clone(), name.clone());
    }
    Ok(resolved)
}

fn tenant_policy(typed: TypedTenants, base: &Path) -> Result<TenantPolicy> {
    let mut priority: Vec<String> = typed.boundary.into_iter().chain(typed.priority).collect();
    for kind in DEFAULT_PRIORITY {
        if !priority.iter().any(|p| p == kind) {
            priority.push(kind.to_string());
        }
    }
    let map = match &typed.map {
        None => BTreeMap::new(),
        Some(file) => {
            read_map(&base.join(file)).with_context(|| format!("[tenants] map `{file}`"))?
        }
    };
    Ok(TenantPolicy {
        priority,
        map,
        internal: typed.internal.into_iter().collect(),
        researchers: typed.researchers.into_iter().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config> {
        let typed: Typed = toml::from_str(text)?;
        Config::checked(typed, Path::new("."), None)
    }

    #[test]
    fn aliases_meet_in_one_name() {
        let config = parse(
            "[models]\n\"@cf/zai-org/glm-5.3\" = [\"zai-org/GLM-5.3\"]\n\
             \"openai/glm-5.3\" = \"zai-org/GLM-5.3\"\n",
        )
        .expect("valid");
        for name in ["@cf/zai-org/glm-5.3", "zai-org/GLM-5.3", "openai/glm-5.3"] {
            assert_eq!(config.canonical_model(name), "@cf/zai-org/glm-5.3");
        }
        assert_eq!(config.canonical_model("other"), "other");
        let circle = parse("[models]\na = \"b\"\nb = \"a\"\n").expect_err("circle");
        assert!(circle.to_string().contains("circle"), "{circle}");
    }

    #[test]
    fn overlapping_epochs_are_an_error_that_names_both() {
        let one = "[[deployment]]\nmodel=\"m\"\npool_tokens=";
        let text = format!("{one}10\n{one}20\n");
        let error = parse(&text).expect_err("overlap").to_string();
        assert!(
            error.contains("[[deployment]] 1") && error.contains("[[deployment]] 2"),
            "{error}"
        );
    }

    #[test]
    fn unknown_keys_and_bad_values_are_errors() {
        for text in [
            "[[deployment]]\npool_token=10\n",
            "[[deployment]]\nrole=\"prefil\"\n",
            "[[deployment]]\nvalid_from=\"yesterday\"\n",
            "[overlap]\nlook_back=\"soon\"\n",
            "[time]\nassume_timezone=\"Mars/Base\"\n",
            "[time]\nassume_year=26\n",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn tenants_by_priority_and_map() {
        let candidate = |kind: &str, value: &str| TenantCandidate {
            kind: kind.into(),
            value: value.into(),
        };
        let record = [
            candidate("user", "u1"),
            candidate("team", "t1"),
            candidate("organization", "o1"),
        ];
        let mut policy = parse("").expect("empty").tenants;
        assert_eq!(policy.choose(&record), Some(("o1", "organization")));
        policy = parse("[tenants]\npriority=[\"team\"]\n")
            .expect("valid")
            .tenants;
        assert_eq!(policy.choose(&record), Some(("t1", "team")));
        policy.map.insert("user:u1".into(), "acme".into());
        assert_eq!(policy.choose(&record), Some(("acme", "user")));
        assert_eq!(policy.choose(&[candidate("user", "")]), None);
        let headers = [
            candidate("header:user-agent", "curl/8"),
            candidate("header:x-tenant-id", "t9"),
        ];
        assert_eq!(policy.choose(&headers), Some(("t9", "header:x-tenant-id")));
        assert_eq!(policy.choose(&headers[..1]), None);
    }

    #[test]
    fn times_and_durations() {
        assert_eq!(duration_us("24h").ok(), Some(86_400_000_000));
        assert_eq!(duration_us("7d").ok(), Some(7 * 86_400_000_000));
        assert!(duration_us("1 month").is_err());
        assert_eq!(moment_us("1970-01-02", None).ok(), Some(86_400_000_000));
        let berlin = zone("Europe/Berlin").expect("known zone");
        assert_eq!(
            moment_us("1970-01-01T01:00:00", Some(&berlin)).ok(),
            Some(0)
        );
        assert!(zone("+02:00").is_ok());
    }
}
