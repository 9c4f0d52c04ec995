//! Linking: which records tell of the same client call.
//!
//! Only ids that name one call link (see [`CorrelationKind::links`]), and only within an hour and
//! one model. A component that cannot be one call is not formed at all: ids that are reused would
//! otherwise hide leaks, since nothing is compared with its own call.

use crate::exchange::{CorrelationKind, Role, TimeMicros};
use std::collections::{BTreeMap, BTreeSet};

/// Records of one id further apart than this are not one call (one hour).
pub const LINK_SPAN_US: TimeMicros = 3_600_000_000;
/// A component with more exchanges than this is no call.
pub const MAX_EXCHANGES: u32 = 64;
/// A component with more records of one role than this is no call.
pub const MAX_ATTEMPTS: u32 = 8;

/// The facts of one record that linking needs.
#[derive(Clone, Copy, Debug)]
pub struct LinkRecord {
    /// Start time.
    pub time: Option<TimeMicros>,
    /// Interned canonical model.
    pub model: Option<u32>,
    /// Interned tenant, after mapping.
    pub tenant: Option<u32>,
    /// Who wrote it.
    pub role: Role,
    /// Exchanges in it (its choices).
    pub exchanges: u32,
}

/// One linking id of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkKey {
    /// Hash of namespace and value, see [`link_key`].
    pub key: u128,
    /// Index of the record.
    pub record: u32,
    /// What the id is.
    pub kind: CorrelationKind,
}

/// The key under which an id meets equal ids.
///
/// Request ids travel under different names (a gateway's log id becomes the engine's rid), so they
/// share one namespace; rooms, batch lines and spans have their own, since small numbers would
/// meet.
pub fn link_key(kind: CorrelationKind, value: &str) -> Option<u128> {
    let namespace: &[u8] = match kind {
        CorrelationKind::BootstrapRoom => b"room\0",
        CorrelationKind::CustomId => b"custom\0",
        CorrelationKind::SpanId => b"span\0",
        CorrelationKind::XRequestId
        | CorrelationKind::LitellmCallId
        | CorrelationKind::GatewayLogId
        | CorrelationKind::EngineRid => b"id\0",
        CorrelationKind::TraceId | CorrelationKind::SessionId | CorrelationKind::ConversationId => {
            return None;
        }
    };
    if value.is_empty() {
        return None;
    }
    let mut bytes = Vec::with_capacity(namespace.len() + value.len());
    bytes.extend_from_slice(namespace);
    bytes.extend_from_slice(value.as_bytes());
    Some(xxhash_rust::xxh3::xxh3_128(&bytes))
}

/// Why a component was not formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CollisionReason {
    /// Two different tenants.
    Tenants,
    /// More than [`MAX_EXCHANGES`] exchanges.
    Exchanges,
    /// More than [`MAX_ATTEMPTS`] records of one role.
    Attempts,
    /// Two different models.
    Models,
}

impl CollisionReason {
    /// The name used in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            CollisionReason::Tenants => "tenants",
            CollisionReason::Exchanges => "exchanges",
            CollisionReason::Attempts => "attempts",
            CollisionReason::Models => "models",
        }
    }
}

/// A component whose links were dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collision {
    /// Why.
    pub reason: CollisionReason,
    /// Its records, ascending.
    pub records: Vec<u32>,
}

/// The result of linking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linked {
    /// For each record the least record of its call.
    pub call: Vec<u32>,
    /// Components that were not formed, by their least record.
    pub collisions: Vec<Collision>,
    /// For each kind of id, how many records it joined to an earlier record of the same call.
    pub joined: BTreeMap<CorrelationKind, u64>,
}

/// Links records by their ids. Records must come in a fixed order; the result depends on it only
/// through the numbering.
pub fn link(records: &[LinkRecord], mut keys: Vec<LinkKey>) -> Linked {
    keys.sort_unstable();
    keys.dedup_by_key(|k| (k.key, k.record));
    let mut sets = DisjointSets::new(records.len());
    let mut edges: Vec<(u32, u32, CorrelationKind)> = Vec::new();
    for group in keys.chunk_by(|a, b| a.key == b.key) {
        if group.len() > 1 {
            join_group(records, group, &mut sets, &mut edges);
        }
    }
    let collisions = collisions(records, &mut sets);
    let mut broken = vec![false; records.len()];
    for collision in &collisions {
        for &r in &collision.records {
            broken[r as usize] = true;
        }
    }
    let mut joined = BTreeMap::new();
    for (a, _, kind) in edges {
        if !broken[a as usize] {
            *joined.entry(kind).or_insert(0) += 1;
        }
    }
    let call = (0..records.len() as u32)
        .map(|r| if broken[r as usize] { r } else { sets.find(r) })
        .collect();
    Linked {
        call,
        collisions,
        joined,
    }
}

/// Joins the records of one id: runs of at most an hour, each run by model.
fn join_group(
    records: &[LinkRecord],
    group: &[LinkKey],
    sets: &mut DisjointSets,
    edges: &mut Vec<(u32, u32, CorrelationKind)>,
) {
    let mut timed: Vec<&LinkKey> = group.iter().collect();
    timed.sort_by_key(|k| (records[k.record as usize].time, k.record));
    let untimed = timed.partition_point(|k| records[k.record as usize].time.is_none());
    let (without, with) = timed.split_at(untimed);
    let mut runs: Vec<Vec<&LinkKey>> = Vec::new();
    let mut run_start = None;
    for key in with {
        let t = records[key.record as usize].time;
        match (run_start, t) {
            (Some(first), Some(t)) if t - first <= LINK_SPAN_US => {
                if let Some(run) = runs.last_mut() {
                    run.push(key);
                }
            }
            _ => {
                run_start = t;
                runs.push(vec![key]);
            }
        }
    }
    // A record without a time can only belong somewhere if there is but one place.
    match runs.as_mut_slice() {
        [] => runs.push(without.to_vec()),
        [only] => only.extend(without),
        _ => {}
    }
    for run in runs {
        join_run(records, &run, sets, edges);
    }
}

fn join_run(
    records: &[LinkRecord],
    run: &[&LinkKey],
    sets: &mut DisjointSets,
    edges: &mut Vec<(u32, u32, CorrelationKind)>,
) {
    let models: BTreeSet<u32> = run
        .iter()
        .filter_map(|k| records[k.record as usize].model)
        .collect();
    let only_model = if models.len() == 1 {
        models.first().copied()
    } else {
        None
    };
    let mut first_of: BTreeMap<Option<u32>, u32> = BTreeMap::new();
    for key in run {
        // Engine logs name no model: they belong to the one model of the run, if it is one.
        let model = records[key.record as usize].model.or(only_model);
        match first_of.get(&model) {
            Some(&first) => {
                if sets.union(first, key.record) {
                    edges.push((key.record, first, key.kind));
                }
            }
            None => {
                first_of.insert(model, key.record);
            }
        }
    }
}

fn collisions(records: &[LinkRecord], sets: &mut DisjointSets) -> Vec<Collision> {
    let mut order: Vec<(u32, u32)> = (0..records.len() as u32)
        .map(|r| (sets.find(r), r))
        .collect();
    order.sort_unstable();
    let mut out = Vec::new();
    for component in order.chunk_by(|a, b| a.0 == b.0) {
        if component.len() < 2 {
            continue;
        }
        if let Some(reason) = collision_of(records, component) {
            out.push(Collision {
                reason,
                records: component.iter().map(|c| c.1).collect(),
            });
        }
    }
    out
}

fn collision_of(records: &[LinkRecord], component: &[(u32, u32)]) -> Option<CollisionReason> {
    let mut tenants = BTreeSet::new();
    let mut models = BTreeSet::new();
    let mut attempts: BTreeMap<Role, u32> = BTreeMap::new();
    let mut exchanges = 0u32;
    for &(_, r) in component {
        let record = &records[r as usize];
        tenants.extend(record.tenant);
        models.extend(record.model);
        *attempts.entry(record.role).or_insert(0) += 1;
        exchanges = exchanges.saturating_add(record.exchanges);
    }
    if tenants.len() > 1 {
        Some(CollisionReason::Tenants)
    } else if exchanges > MAX_EXCHANGES {
        Some(CollisionReason::Exchanges)
    } else if attempts.values().any(|&n| n > MAX_ATTEMPTS) {
        Some(CollisionReason::Attempts)
    } else if models.len() > 1 {
        Some(CollisionReason::Models)
    } else {
        None
    }
}

/// Union-find whose representative is always the least member.
struct DisjointSets {
    parent: Vec<u32>,
}

impl DisjointSets {
    fn new(n: usize) -> DisjointSets {
        DisjointSets {
            parent: (0..n as u32).collect(),
        }
    }

    fn find(&mut self, mut x: u32) -> u32 {
        while self.parent[x as usize] != x {
            let grand = self.parent[self.parent[x as usize] as usize];
            self.parent[x as usize] = grand;
            x = grand;
        }
        x
    }

    fn union(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return false;
        }
        let (low, high) = (a.min(b), a.max(b));
        self.parent[high as usize] = low;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000;

    fn record(time_min: i64, role: Role, tenant: Option<u32>, model: Option<u32>) -> LinkRecord {
        LinkRecord {
            time: Some(time_min * MINUTE),
            model,
            tenant,
            role,
            exchanges: 1,
        }
    }

    fn keys(pairs: &[(u32, CorrelationKind, &str)]) -> Vec<LinkKey> {
        pairs
            .iter()
            .filter_map(|&(record, kind, value)| {
                link_key(kind, value).map(|key| LinkKey { key, record, kind })
            })
            .collect()
    }

    #[test]
    fn gateway_prefill_and_decode_become_one_call() {
        use CorrelationKind::*;
        let records = [
            record(0, Role::Gateway, Some(1), Some(9)),
            record(0, Role::Prefill, None, None),
            record(1, Role::Decode, None, None),
            record(2, Role::Gateway, Some(2), Some(9)),
        ];
        let linked = link(
            &records,
            keys(&[
                (0, XRequestId, "x-1"),
                (1, BootstrapRoom, "5120033876543210987"),
                (2, BootstrapRoom, "5120033876543210987"),
                (2, EngineRid, "x-1"),
                (3, XRequestId, "x-2"),
            ]),
        );
        assert_eq!(linked.call, vec![0, 0, 0, 3]);
        assert!(linked.collisions.is_empty());
        assert_eq!(linked.joined.values().sum::<u64>(), 2);
    }

    #[test]
    fn grouping_ids_never_link() {
        use CorrelationKind::*;
        for kind in [TraceId, SessionId, ConversationId] {
            assert_eq!(link_key(kind, "same"), None);
        }
        assert_ne!(link_key(BootstrapRoom, "7"), link_key(CustomId, "7"));
        assert_eq!(link_key(EngineRid, "r"), link_key(GatewayLogId, "r"));
        assert_eq!(link_key(EngineRid, ""), None);
    }

    #[test]
    fn an_hour_and_a_model_bound_a_call() {
        use CorrelationKind::*;
        let records = [
            record(0, Role::Gateway, Some(1), Some(1)),
            record(59, Role::Gateway, Some(1), Some(1)),
            record(61, Role::Gateway, Some(1), Some(1)),
            record(62, Role::Gateway, Some(1), Some(2)),
        ];
        let all: Vec<_> = (0..4).map(|r| (r, XRequestId, "x")).collect();
        assert_eq!(link(&records, keys(&all)).call, vec![0, 0, 2, 3]);
    }

    #[test]
    fn reused_ids_are_not_formed() {
        use CorrelationKind::*;
        let two_tenants = [
            record(0, Role::Gateway, Some(1), None),
            record(1, Role::Gateway, Some(2), None),
        ];
        let linked = link(
            &two_tenants,
            keys(&[(0, XRequestId, "x"), (1, XRequestId, "x")]),
        );
        assert_eq!(linked.call, vec![0, 1]);
        assert_eq!(
            linked.collisions,
            vec![Collision {
                reason: CollisionReason::Tenants,
                records: vec![0, 1]
            }]
        );
        assert!(linked.joined.is_empty());

        let nine: Vec<_> = (0..9)
            .map(|_| record(0, Role::Gateway, Some(1), None))
            .collect();
        let all: Vec<_> = (0..9).map(|r| (r, XRequestId, "x")).collect();
        assert_eq!(
            link(&nine, keys(&all)).collisions[0].reason,
            CollisionReason::Attempts
        );
        assert_eq!(link(&nine[..8], keys(&all[..8])).collisions, vec![]);

        let mut wide = [
            record(0, Role::Gateway, None, None),
            record(0, Role::Decode, None, None),
        ];
        wide[0].exchanges = 64;
        let pair = keys(&[(0, XRequestId, "x"), (1, XRequestId, "x")]);
        assert_eq!(
            link(&wide, pair.clone()).collisions[0].reason,
            CollisionReason::Exchanges
        );
        wide[0].exchanges = 63;
        assert_eq!(link(&wide, pair).call, vec![0, 0]);
    }

    #[test]
    fn two_models_bridged_by_an_unknown_one_are_a_collision() {
        use CorrelationKind::*;
        let records = [
            record(0, Role::Gateway, Some(1), Some(1)),
            record(0, Role::Decode, None, None),
            record(0, Role::Gateway, Some(1), Some(2)),
        ];
        let linked = link(
            &records,
            keys(&[
                (0, XRequestId, "a"),
                (1, EngineRid, "a"),
                (1, BootstrapRoom, "5"),
                (2, BootstrapRoom, "5"),
            ]),
        );
        assert_eq!(linked.collisions[0].reason, CollisionReason::Models);
        assert_eq!(linked.call, vec![0, 1, 2]);
    }

    #[test]
    fn records_without_time_join_only_an_unambiguous_run() {
        use CorrelationKind::*;
        let mut records = [
            record(0, Role::Gateway, Some(1), None),
            record(0, Role::Decode, None, None),
            record(300, Role::Gateway, Some(1), None),
        ];
        records[1].time = None;
        let all = keys(&[
            (0, XRequestId, "x"),
            (1, XRequestId, "x"),
            (2, XRequestId, "x"),
        ]);
        assert_eq!(link(&records, all.clone()).call, vec![0, 1, 2]);
        assert_eq!(link(&records[..2], all[..2].to_vec()).call, vec![0, 0]);
    }
}
