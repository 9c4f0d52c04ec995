//! Which exchanges could have shared memory, and how much was written over in between.

use super::intern::{Interner, NONE, known};
use pentimento_core::exchange::Role;
use pentimento_core::overlap::Subject;
use pentimento_store::rows::ExchangeRow;
use std::collections::BTreeMap;

/// What is known of the memory that each exchange was computed in.
#[derive(Default)]
pub struct Physics {
    groups: Interner,
    deployments: Interner,
    nodes: Interner,
    /// Per exchange, in the order in which they were taken.
    of: Vec<Place>,
    /// Per group of a known process: when tokens were written, and how many up to then.
    written: BTreeMap<u32, Vec<(i64, i64)>>,
}

struct Place {
    /// Share group; [`NONE`] if nothing is known.
    group: u32,
    /// The group is one process, not a whole deployment.
    process: bool,
    /// Node of the process.
    node: u32,
    deployment: u32,
    pool_tokens: Option<i64>,
    tokens: i64,
}

impl Physics {
    /// Takes the next exchange.
    pub fn take(&mut self, row: &ExchangeRow) {
        let group = row.share_group.as_deref();
        self.of.push(Place {
            group: self.groups.number(group),
            node: self.nodes.number(
                group
                    .and_then(|g| g.strip_prefix("node/"))
                    .and_then(|g| g.rsplit_once('#'))
                    .map(|(node, _)| node),
            ),
            process: group.is_some_and(|g| g.starts_with("node/")),
            deployment: self.deployments.number(row.deployment.as_deref()),
            pool_tokens: row.pool_tokens,
            tokens: row.prompt_tokens.unwrap_or(0).max(0)
                + row.completion_tokens.unwrap_or(0).max(0),
        });
    }

    /// Sums what each process wrote over time; a call that several roles logged is written once.
    pub fn finish(&mut self, subjects: &[Subject]) {
        let mut calls: BTreeMap<(u32, u32), (i64, i64)> = BTreeMap::new();
        for (place, subject) in self.of.iter().zip(subjects) {
            // Prefill writes into memory of its own.
            let (Some(t), true) = (subject.t_start, place.process) else {
                continue;
            };
            if subject.role == Role::Prefill {
                continue;
            }
            let call = calls.entry((place.group, subject.call)).or_insert((t, 0));
            *call = (call.0.min(t), call.1.max(place.tokens));
        }
        for ((group, _), written) in calls {
            self.written.entry(group).or_default().push(written);
        }
        for list in self.written.values_mut() {
            list.sort_unstable();
            let mut sum = 0i64;
            for (_, tokens) in list.iter_mut() {
                sum = sum.saturating_add(*tokens);
                *tokens = sum;
            }
        }
    }

    /// Whether two exchanges could have shared memory; `None` where that is not known.
    pub fn same_share_group(&self, a: u32, b: u32) -> Option<bool> {
        let (a, b) = (self.of.get(a as usize)?, self.of.get(b as usize)?);
        let (ga, gb) = (known(a.group)?, known(b.group)?);
        if a.process && b.process {
            return Some(ga == gb);
        }
        let apart = a.deployment != NONE && b.deployment != NONE && a.deployment != b.deployment;
        apart.then_some(false)
    }

    /// Whether what one exchange left in memory cannot be there for the other: the process was
    /// started anew in between, or the deployments differ. Another node of the same deployment is
    /// no proof, for prefill nodes and offload tiers serve several.
    pub fn memory_gone(&self, a: u32, b: u32) -> Option<bool> {
        let (a, b) = (self.of.get(a as usize)?, self.of.get(b as usize)?);
        known(a.group)?;
        known(b.group)?;
        let apart = a.deployment != NONE && b.deployment != NONE && a.deployment != b.deployment;
        let restarted = a.node != NONE && a.node == b.node && a.group != b.group;
        Some(apart || restarted)
    }

    /// KV tokens that the process of both wrote from the start of `source` to the start of
    /// `answer`, their own left out, in pools; `None` where the process or the pool is not known.
    pub fn turnovers(&self, answer: u32, source: u32, subjects: &[Subject]) -> Option<f64> {
        if self.same_share_group(answer, source) != Some(true) {
            return None;
        }
        let place = self.of.get(answer as usize)?;
        let pool = place.pool_tokens.filter(|&p| p > 0)?;
        let (from, to) = (
            subjects.get(source as usize)?.t_start?,
            subjects.get(answer as usize)?.t_start?,
        );
        let list = self.written.get(&place.group)?;
        let until = |n: usize| n.checked_sub(1).map_or(0, |n| list[n].1);
        let before = until(list.partition_point(|w| w.0 <= from));
        let after = until(list.partition_point(|w| w.0 < to));
        // Thousandths as whole numbers: the same on every machine.
        let thousandths = (after - before).max(0).saturating_mul(1000) / pool;
        Some(thousandths as f64 / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn physics(rows: &[(&str, i64, i64)]) -> (Physics, Vec<Subject>) {
        let mut physics = Physics::default();
        let mut subjects = Vec::new();
        for (n, (group, t, tokens)) in rows.iter().enumerate() {
            let mut row = ExchangeRow::blank();
            row.share_group = (!group.is_empty()).then(|| (*group).to_string());
            row.deployment = group.strip_prefix("deployment/").map(str::to_string);
            row.pool_tokens = Some(1_000);
            row.prompt_tokens = Some(*tokens);
            physics.take(&row);
            subjects.push(Subject {
                call: n as u32,
                tenant: Some(0),
                role: Role::Decode,
                choice: 0,
                t_start: Some(*t),
                t_end: None,
                id_rank: n as u32,
                judge: true,
                process_start: None,
            });
        }
        physics.finish(&subjects);
        (physics, subjects)
    }

    #[test]
    fn memory_is_shared_within_one_process() {
        let (p, _) = physics(&[
            ("node/a#0", 0, 1),
            ("node/a#0", 1, 1),
            ("node/a#1", 2, 1),
            ("deployment/x", 3, 1),
            ("deployment/y", 4, 1),
            ("", 5, 1),
        ]);
        for (a, b, expected) in [
            (0, 1, Some(true)),
            (0, 2, Some(false)),
            (0, 3, None),
            (3, 4, Some(false)),
            (3, 3, None),
            (0, 5, None),
        ] {
            assert_eq!(p.same_share_group(a, b), expected, "{a} {b}");
        }
        for (a, b, gone) in [
            (0, 1, Some(false)),
            (0, 2, Some(true)),
            (3, 4, Some(true)),
            (0, 3, Some(false)),
            (0, 5, None),
        ] {
            assert_eq!(p.memory_gone(a, b), gone, "{a} {b}");
        }
    }

    #[test]
    fn turnovers_count_what_was_written_in_between() {
        let (p, s) = physics(&[
            ("node/a#0", 0, 500),
            ("node/a#0", 10, 700),
            ("node/b#0", 15, 9_000),
            ("node/a#0", 20, 800),
            ("node/a#0", 30, 100),
        ]);
        assert_eq!(p.turnovers(4, 0, &s), Some(1.5));
        assert_eq!(p.turnovers(1, 0, &s), Some(0.0));
        assert_eq!(p.turnovers(4, 2, &s), None);
    }
}
