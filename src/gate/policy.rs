//! `--policy FILE`: what a node must be like, in TOML.

use anyhow::{Context, Result};
use pentimento_core::advisory::Version;
use pentimento_core::capacity::Epoch;
use pentimento_core::exchange::Role;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A checked policy.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Typed {
    #[serde(default)]
    rule: Vec<TypedRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedRule {
    name: Option<String>,
    role: Option<String>,
    min_pool_tokens: Option<i64>,
    min_version: Option<String>,
    #[serde(default)]
    require: BTreeMap<String, toml::Value>,
    #[serde(default)]
    forbid: BTreeMap<String, toml::Value>,
}

#[derive(Clone, Debug)]
struct Rule {
    name: String,
    role: Option<Role>,
    min_pool_tokens: Option<i64>,
    min_version: Option<Version>,
    require: Vec<(String, String)>,
    forbid: Vec<(String, String)>,
}

/// What a check came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// Broken: why.
    Broken(String),
    /// What decides is not stated: what.
    Open(String),
}

/// Settings of a node by name.
pub fn flags_of(epoch: &Epoch) -> Vec<(String, String)> {
    let flags = epoch.flags.as_deref().unwrap_or_default();
    flags
        .split(' ')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

impl Policy {
    /// Reads a policy.
    ///
    /// # Errors
    /// Where the text is none; unknown keys are errors, so that a typo does not open the gate.
    pub fn parse(text: &str) -> Result<Policy> {
        let typed: Typed = toml::from_str(text)?;
        anyhow::ensure!(!typed.rule.is_empty(), "no [[rule]] in it");
        let mut rules = Vec::new();
        for (at, rule) in typed.rule.into_iter().enumerate() {
            let number = at + 1;
            rules.push(checked(rule, number).with_context(|| format!("[[rule]] number {number}"))?);
        }
        Ok(Policy { rules })
    }

    /// What of it a node breaks or leaves open.
    pub fn check(&self, epoch: &Epoch) -> Vec<Check> {
        let flags = flags_of(epoch);
        let mut out = Vec::new();
        for rule in &self.rules {
            match (rule.role, epoch.role) {
                (Some(wanted), Some(role)) if wanted != role => continue,
                (Some(_), None) => {
                    out.push(Check::Open(format!(
                        "{}: the role is not stated",
                        rule.name
                    )));
                    continue;
                }
                _ => {}
            }
            rule.check(epoch, &flags, &mut out);
        }
        out
    }
}

impl Rule {
    fn check(&self, epoch: &Epoch, flags: &[(String, String)], out: &mut Vec<Check>) {
        let name = &self.name;
        match (self.min_pool_tokens, epoch.pool_tokens) {
            (Some(least), Some(pool)) if pool < least => {
                out.push(Check::Broken(format!(
                    "{name}: pool {pool} is below {least}"
                )));
            }
            (Some(_), None) => out.push(Check::Open(format!("{name}: the pool is not stated"))),
            _ => {}
        }
        if let Some(least) = &self.min_version {
            out.extend(below_version(epoch, least, name));
        }
        let stated = |flag: &str| flags.iter().find(|(n, _)| n == flag).map(|(_, v)| v);
        for (flag, wanted) in &self.require {
            match stated(flag) {
                Some(value) if value == wanted => {}
                Some(value) => out.push(Check::Broken(format!(
                    "{name}: {flag} is {value}, must be {wanted}"
                ))),
                None => out.push(Check::Open(format!("{name}: {flag} is not stated"))),
            }
        }
        for (flag, banned) in &self.forbid {
            match stated(flag) {
                Some(value) if value == banned => {
                    out.push(Check::Broken(format!("{name}: {flag} must not be {value}")));
                }
                Some(_) => {}
                None => out.push(Check::Open(format!("{name}: {flag} is not stated"))),
            }
        }
    }
}

/// Whether a node runs a version below `least`.
pub fn below_version(epoch: &Epoch, least: &Version, name: &str) -> Option<Check> {
    match epoch
        .engine_version
        .as_deref()
        .map(|v| (v, Version::parse(v)))
    {
        Some((_, Some(version))) if version >= *least => None,
        Some((text, Some(_))) => Some(Check::Broken(format!("{name}: version {text} is too old"))),
        Some((_, None)) => Some(Check::Open(format!("{name}: the version cannot be read"))),
        None => Some(Check::Open(format!("{name}: the version is not stated"))),
    }
}

fn checked(rule: TypedRule, number: usize) -> Result<Rule> {
    let role = match rule.role.as_deref() {
        None => None,
        Some(name) => Some(Role::parse(name).ok_or_else(|| {
            anyhow::anyhow!("role `{name}` is unknown, expected prefill, decode or unified")
        })?),
    };
    let min_version = match rule.min_version.as_deref() {
        None => None,
        Some(text) => Some(
            Version::parse(text)
                .ok_or_else(|| anyhow::anyhow!("min_version `{text}` is no version"))?,
        ),
    };
    let pairs = |map: BTreeMap<String, toml::Value>| {
        let pair = |(name, value): (String, toml::Value)| {
            let value = match value {
                toml::Value::String(s) => s.to_ascii_lowercase(),
                toml::Value::Boolean(b) => b.to_string(),
                toml::Value::Integer(n) => n.to_string(),
                other => anyhow::bail!("{name} is a {}", other.type_str()),
            };
            Ok((name, value))
        };
        map.into_iter().map(pair).collect::<Result<Vec<_>>>()
    };
    Ok(Rule {
        name: rule.name.unwrap_or_else(|| format!("rule {number}")),
        role,
        min_pool_tokens: rule.min_pool_tokens,
        min_version,
        require: pairs(rule.require)?,
        forbid: pairs(rule.forbid)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_hold_break_or_stay_open() {
        let policy = Policy::parse(
            "[[rule]]\nname = \"big\"\nrole = \"prefill\"\nmin_pool_tokens = 1000\n\
             min_version = \"0.5.20\"\nrequire = { disaggregation_enable_kv_checksum = true }\n\
             forbid = { allow_auto_truncate = true }\n",
        )
        .expect("a policy");
        let mut epoch = Epoch {
            role: Some(Role::Prefill),
            pool_tokens: Some(1000),
            engine_version: Some("0.5.20".into()),
            flags: Some("allow_auto_truncate=false disaggregation_enable_kv_checksum=true".into()),
            ..Epoch::default()
        };
        assert_eq!(policy.check(&epoch), []);
        epoch.flags = Some("allow_auto_truncate=true".into());
        epoch.pool_tokens = Some(999);
        epoch.engine_version = Some("0.5.19".into());
        let broken = |text: &str| Check::Broken(format!("big: {text}"));
        assert_eq!(
            policy.check(&epoch),
            [
                broken("pool 999 is below 1000"),
                broken("version 0.5.19 is too old"),
                Check::Open("big: disaggregation_enable_kv_checksum is not stated".into()),
                broken("allow_auto_truncate must not be true"),
            ]
        );
        epoch.role = Some(Role::Decode);
        assert_eq!(policy.check(&epoch), []);
        epoch.role = None;
        assert!(matches!(policy.check(&epoch)[..], [Check::Open(_)]));
    }

    #[test]
    fn typos_are_errors() {
        for text in [
            "",
            "[[rule]]\nmin_pool_token = 1\n",
            "[[rule]]\nrole = \"prefil\"\n",
            "[[rule]]\nmin_version = \"new\"\n",
            "[[rules]]\n",
        ] {
            assert!(Policy::parse(text).is_err(), "{text}");
        }
    }
}
