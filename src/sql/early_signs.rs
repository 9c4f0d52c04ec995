//! Early signs: calls counted in SQL, tested in the core, kept as a table of leads.

use super::session::CaseSession;
use anyhow::{Context, Result};
use pentimento_core::early_signs::{Factor, Group, LevelCount, early_signs};
use pentimento_core::exchange::TimeMicros;
use pentimento_store::rows::EarlySignRow;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Counted {
    month: String,
    version: String,
    sign: String,
    factor: String,
    level: Option<String>,
    calls: u64,
    troubled: u64,
    first_time: Option<String>,
    last_time: Option<String>,
}

type Times = (Option<TimeMicros>, Option<TimeMicros>);

impl CaseSession {
    /// Tests all months, versions and kinds of trouble, and puts the result in the place of the
    /// table. Rules must have been run.
    ///
    /// # Errors
    /// As [`CaseSession::run_file`].
    pub fn run_early_signs(&mut self) -> Result<Vec<EarlySignRow>> {
        let mut counts = Vec::new();
        let mut times: BTreeMap<(Group, Factor, String), Times> = BTreeMap::new();
        for row in self.typed_rows::<Counted>("early_sign_counts")? {
            let factor = Factor::parse(&row.factor).context("unknown factor of early signs")?;
            let group = Group {
                month: row.month,
                version: row.version,
                sign: row.sign,
            };
            let micros = |t: Option<String>| {
                let stamp = t.and_then(|t| t.parse::<jiff::Timestamp>().ok());
                stamp.map(jiff::Timestamp::as_microsecond)
            };
            if let Some(level) = &row.level {
                times.insert(
                    (group.clone(), factor, level.clone()),
                    (micros(row.first_time), micros(row.last_time)),
                );
            }
            counts.push(LevelCount {
                group,
                factor,
                level: row.level,
                calls: row.calls,
                troubled: row.troubled,
            });
        }
        let mut rows = Vec::new();
        for sign in early_signs(counts) {
            let key = (sign.group, sign.factor, sign.level);
            let (first_time, last_time) = times.get(&key).copied().unwrap_or_default();
            let (group, factor, level) = key;
            rows.push(EarlySignRow {
                month: group.month,
                version: group.version,
                sign: group.sign.into(),
                factor: factor.as_str().into(),
                level,
                calls: count(sign.calls),
                troubled: count(sign.troubled),
                calls_at_level: count(sign.calls_at_level),
                troubled_at_level: count(sign.troubled_at_level),
                levels: count(sign.levels),
                log10_p_permille: sign.log10_p_permille,
                log10_p_holm_permille: sign.log10_p_holm_permille,
                lead: sign.lead,
                first_time,
                last_time,
            });
        }
        self.set_table(&rows)?;
        Ok(rows)
    }
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
