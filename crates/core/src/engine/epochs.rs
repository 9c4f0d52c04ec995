//! Capacity epochs out of what engines said of themselves, set beside the configured ones.
//!
//! A process states its pool when it comes up; a later start with another pool ends the epoch.
//! Where two witnesses of one node and time disagree both stay, and the join then has bounds
//! instead of a limit.

use super::{EngineEvent, EventKind};
use crate::capacity::Epoch;
use crate::exchange::{Role, TimeMicros};
use std::collections::BTreeMap;

/// An event that tells of capacity, and where it stood.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Source of the event, such as `s0003`.
    pub source: String,
    /// The event; one without facts is passed over.
    pub event: EngineEvent,
}

/// What one process, or one snapshot, told.
#[derive(Clone, Debug, Default)]
struct Told {
    source: String,
    kind: &'static str,
    node: Option<String>,
    role: Option<Role>,
    engine: &'static str,
    t: Option<TimeMicros>,
    model: Option<String>,
    version: Option<String>,
    mode: Option<&'static str>,
    /// Pool of each rank: a prompt has to fit the smallest.
    pools: BTreeMap<Option<String>, i64>,
    window: Option<i64>,
    page: Option<i64>,
    flags: BTreeMap<&'static str, String>,
}

impl Told {
    fn start(observation: &Observation) -> Told {
        let event = &observation.event;
        Told {
            source: observation.source.clone(),
            kind: match event.kind {
                EventKind::ServerInfo => "server_info",
                EventKind::CapacityGauge => "metrics",
                EventKind::PodSpec => "pod spec",
                _ => "engine log",
            },
            node: event.node.clone(),
            engine: event.engine,
            ..Told::default()
        }
    }

    fn add(&mut self, event: &EngineEvent) {
        let Some(facts) = event.capacity.as_deref() else {
            return;
        };
        self.role = event.role.or(self.role);
        // The process is up, and bound to its pool, when it says so.
        if event.kind == EventKind::Startup || self.t.is_none() {
            self.t = event.t.or(self.t);
        }
        if let Some(pool) = facts.pool_tokens {
            self.pools.insert(event.rank.clone(), pool);
        }
        self.window = facts.window_tokens.or(self.window);
        self.page = facts.page_tokens.or(self.page);
        self.mode = facts.mode.or(self.mode);
        if facts.model.is_some() {
            self.model.clone_from(&facts.model);
        }
        if facts.version.is_some() {
            self.version.clone_from(&facts.version);
        }
        self.flags.extend(facts.flags.iter().cloned());
    }

    fn epoch(&self) -> Epoch {
        let flags: Vec<String> = self.flags.iter().map(|(k, v)| format!("{k}={v}")).collect();
        Epoch {
            node: self.node.clone(),
            role: self.role,
            valid_from: self.t,
            pool_tokens: self.pools.values().min().copied(),
            window_tokens: self.window,
            page_tokens: self.page,
            engine: Some(self.engine.to_owned()),
            engine_version: self.version.clone(),
            mode: self.mode.map(str::to_owned),
            model: self.model.clone(),
            flags: (!flags.is_empty()).then(|| flags.join(" ")),
            source: format!("{} {}", self.kind, self.source),
            ..Epoch::default()
        }
    }
}

/// Splits what a source told into processes and snapshots.
fn told(observations: &[Observation]) -> Vec<Told> {
    let mut done: Vec<Told> = Vec::new();
    // The one that is still being told, by source and node.
    let mut open: BTreeMap<(&str, Option<&str>), Told> = BTreeMap::new();
    for observation in observations.iter().filter(|o| o.event.capacity.is_some()) {
        let event = &observation.event;
        let key = (observation.source.as_str(), event.node.as_deref());
        let begins = open.get(&key).is_some_and(|now| match event.kind {
            EventKind::ServerArgs => {
                !now.pools.is_empty() || now.version.is_some() && now.window.is_some()
            }
            EventKind::Startup => now.pools.contains_key(&event.rank) && now.t != event.t,
            EventKind::ServerInfo | EventKind::PodSpec => true,
            EventKind::CapacityGauge => now.t != event.t,
            _ => false,
        });
        if begins && let Some(now) = open.remove(&key) {
            done.push(now);
        }
        open.entry(key)
            .or_insert_with(|| Told::start(observation))
            .add(event);
    }
    done.extend(open.into_values());
    done.sort_by(|a, b| {
        let key = |t: &Told| (t.node.clone(), t.t, t.source.clone());
        key(a).cmp(&key(b))
    });
    done
}

/// Whether two epochs say the same where both say something.
fn agree(a: &Epoch, b: &Epoch) -> bool {
    let same = |a: Option<i64>, b: Option<i64>| a.is_none() || b.is_none() || a == b;
    same(a.pool_tokens, b.pool_tokens) && same(a.window_tokens, b.window_tokens)
}

/// Takes over what another witness of the same epoch adds.
fn join(into: &mut Epoch, from: &Epoch) {
    into.pool_tokens = into.pool_tokens.or(from.pool_tokens);
    into.window_tokens = into.window_tokens.or(from.window_tokens);
    into.page_tokens = into.page_tokens.or(from.page_tokens);
    into.role = into.role.or(from.role);
    for (mine, theirs) in [
        (&mut into.engine, &from.engine),
        (&mut into.engine_version, &from.engine_version),
        (&mut into.mode, &from.mode),
        (&mut into.model, &from.model),
        (&mut into.flags, &from.flags),
    ] {
        if mine.is_none() {
            mine.clone_from(theirs);
        }
    }
    if !into.source.contains(&from.source) {
        into.source = format!("{}; {}", into.source, from.source);
    }
}

/// The epochs of all nodes, in their order of node and time.
///
/// A witness without a time confirms an epoch of its node, or stands beside all of them.
pub fn epochs(observations: &[Observation]) -> Vec<Epoch> {
    let mut out: Vec<Epoch> = Vec::new();
    let all = told(observations);
    let timed = |told: &&Told| told.t.is_some();
    for told in all
        .iter()
        .filter(timed)
        .chain(all.iter().filter(|t| t.t.is_none()))
    {
        let epoch = told.epoch();
        let knows = epoch.pool_tokens.or(epoch.window_tokens).is_some();
        if !knows && epoch.engine_version.is_none() && epoch.flags.is_none() {
            continue;
        }
        // Files of no known node are witnesses of their own.
        let same_node = |e: &Epoch| e.node.is_some() && e.node == epoch.node;
        if epoch.valid_from.is_none() {
            match out.iter_mut().find(|e| same_node(e) && agree(e, &epoch)) {
                Some(known) => join(known, &epoch),
                None => out.push(epoch),
            }
            continue;
        }
        let open = |e: &Epoch| same_node(e) && e.valid_to.is_none() && e.valid_from.is_some();
        if let Some(known) = out.iter_mut().find(|e| open(e) && agree(e, &epoch)) {
            join(known, &epoch);
            continue;
        }
        for before in out
            .iter_mut()
            .filter(|e| open(e) && e.valid_from < epoch.valid_from)
        {
            before.valid_to = epoch.valid_from;
        }
        out.push(epoch);
    }
    out.sort_by(|a, b| {
        let key = |e: &Epoch| (e.node.clone(), e.valid_from, e.source.clone());
        key(a).cmp(&key(b))
    });
    out
}

/// Sets observed epochs beside configured ones. One that says the same as a configured epoch of its
/// node and time only confirms it; one that differs stays, as does the configured one.
///
/// `seen_until` is the last time at which a source was there to tell.
pub fn beside(
    configured: &mut [Epoch],
    observed: Vec<Epoch>,
    seen_until: &dyn Fn(&str) -> Option<TimeMicros>,
) -> Vec<Epoch> {
    let mut out = Vec::new();
    for mut epoch in observed {
        let meets =
            |c: &Epoch, e: &Epoch| c.node.is_some() && c.node == e.node && c.overlaps_in_time(e);
        let differs = configured
            .iter()
            .any(|c| meets(c, &epoch) && !agree(c, &epoch));
        if differs && epoch.valid_to.is_none() && epoch.valid_from.is_some() {
            // A log says nothing of the time behind its end.
            let ends = epoch.source.split([';', ' ']).filter_map(seen_until).max();
            epoch.valid_to = ends.map(|t| t.saturating_add(1));
        }
        let mut confirms = false;
        let mut contradicts = false;
        for known in configured.iter_mut().filter(|c| meets(c, &epoch)) {
            if agree(known, &epoch) {
                join(known, &epoch);
                confirms = true;
            } else {
                contradicts = true;
            }
        }
        if contradicts || !confirms {
            out.push(epoch);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::read_line;
    use super::*;
    use jiff::tz::TimeZone;

    fn observe(source: &str, file: &str, lines: &[&str]) -> Vec<Observation> {
        lines
            .iter()
            .map(|line| Observation {
                source: source.to_owned(),
                event: read_line(line.as_bytes(), Some(&TimeZone::UTC), file).unwrap(),
            })
            .collect()
    }

    fn up(time: &str, rank: &str, pool: i64) -> String {
        format!(
            "[2026-09-01 {time} {rank}] max_total_num_tokens={pool}, chunked_prefill_size=8192, \
             max_prefill_tokens=16384, max_running_requests=128, context_len=1048576"
        )
    }

    fn short(epochs: &[Epoch]) -> Vec<(Option<i64>, Option<i64>, Option<i64>)> {
        epochs
            .iter()
            .map(|e| {
                let hour = |t: Option<i64>| t.map(|t| t / 3_600_000_000 % 24);
                (hour(e.valid_from), hour(e.valid_to), e.pool_tokens)
            })
            .collect()
    }

    #[test]
    fn restarts_change_the_pool_and_ranks_give_the_least() {
        let args = "[2026-09-01 09:59:00] server_args=ServerArgs(page_size=64, \
                    disaggregation_mode='prefill')";
        let lines = [
            args.to_owned(),
            up("10:00:00", "DP0 TP0", 681_280),
            up("10:00:00", "DP1 TP0", 681_216),
            up("12:00:00", "DP0 TP0", 681_216),
            args.replace("09:59", "13:59"),
            up("14:00:00", "DP0 TP0", 2_040_000),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let found = epochs(&observe("s0001", "p1.log", &lines));
        assert_eq!(
            short(&found),
            [
                (Some(10), Some(14), Some(681_216)),
                (Some(14), None, Some(2_040_000))
            ]
        );
        assert_eq!(found[0].page_tokens, Some(64));
        assert_eq!(found[0].role, Some(Role::Prefill));
        assert_eq!(found[0].reject_at_tokens(), Some(681_210));
    }

    #[test]
    fn snapshots_confirm_or_stand_beside() {
        let mut seen = observe("s0001", "p1.log", &[&up("10:00:00", "TP0", 681_280)]);
        let mut snapshot = |pool: i64, source: &str| {
            let mut event = EngineEvent::new(EventKind::ServerInfo, "sglang", "");
            event.node = Some("p1".into());
            event.capacity = Some(Box::new(super::super::CapacityFacts {
                pool_tokens: Some(pool),
                version: Some("0.5.19".into()),
                ..Default::default()
            }));
            seen.push(Observation {
                source: source.into(),
                event,
            });
            epochs(&seen)
        };
        let same = snapshot(681_280, "s0002");
        assert_eq!(short(&same), [(Some(10), None, Some(681_280))]);
        assert_eq!(same[0].engine_version.as_deref(), Some("0.5.19"));
        assert_eq!(same[0].source, "engine log s0001; server_info s0002");
        let other = snapshot(9, "s0003");
        assert_eq!(
            short(&other),
            [(None, None, Some(9)), (Some(10), None, Some(681_280))]
        );
    }

    #[test]
    fn configuration_is_confirmed_or_contradicted() {
        let config = |pool: i64| Epoch {
            node: Some("p1".into()),
            pool_tokens: Some(pool),
            source: "config".into(),
            ..Epoch::default()
        };
        let observed = epochs(&observe(
            "s0001",
            "p1.log",
            &[&up("10:00:00", "TP0", 681_280)],
        ));
        let until = |_: &str| None;
        let mut same = [config(681_280)];
        assert!(beside(&mut same, observed.clone(), &until).is_empty());
        assert_eq!(same[0].source, "config; engine log s0001");
        assert_eq!(same[0].window_tokens, Some(1_048_576));
        let mut other = [config(700_000)];
        let kept = beside(&mut other, observed.clone(), &until);
        assert_eq!((kept.len(), other[0].source.as_str()), (1, "config"));
        // A later configured epoch does not contradict a log that had ended by then.
        let mut later = [config(700_000)];
        later[0].valid_from = observed[0].valid_from.map(|t| t + 10);
        let ended = |s: &str| (s == "s0001").then(|| observed[0].valid_from.unwrap() + 5);
        let kept = beside(&mut later, observed.clone(), &ended);
        assert_eq!(kept[0].valid_to, observed[0].valid_from.map(|t| t + 6));
    }
}
