//! From compact rows to calls: halves paired, roles settled, records linked, tenants passed on.

use super::collect::Meta;
use super::intern::{Interner, NONE, known};
use crate::config::Config;
use hashbrown::{HashMap, HashSet};
use pentimento_core::exchange::{CorrelationKind, Outcome, Role};
use pentimento_core::link::{Collision, LinkKey, LinkRecord, Linked, link};
use std::collections::BTreeMap;

/// What is known of one exchange through its call.
#[derive(Clone, Debug, Default)]
pub struct CallFacts {
    /// Least record of the call.
    pub call: u32,
    /// Tenant, its own or its call's.
    pub tenant: u32,
    /// Model, its own or its call's.
    pub model: u32,
    /// Deployment, its own or its call's.
    pub deployment: u32,
    /// Nodes that took the prompt in: the call's prefill nodes, else its own node.
    pub prompt_nodes: Vec<u32>,
    /// Node whose memory the answer was computed in: the call's decode or unified node, else its
    /// own; never a prefill node.
    pub memory_node: u32,
    /// Client-facing exchange that handed something over.
    pub delivered: bool,
    /// Written by the role of the call that is closest to the client.
    pub client_facing: bool,
    /// The call holds a full prompt.
    pub own_prompt_complete: bool,
    /// Index of the collision that its record is in.
    pub collision: Option<u32>,
}

/// The result: facts per exchange, in the order of the compact rows.
pub struct Calls {
    /// Facts, one per compact row.
    pub facts: Vec<CallFacts>,
    /// How many calls there are.
    pub calls: u64,
    /// Joins by kind of id.
    pub joined: BTreeMap<CorrelationKind, u64>,
    /// Components that were not formed.
    pub collisions: Vec<Collision>,
}

/// What a record holds that its other half may lack: prompt, response, tenant.
fn holdings(meta: &Meta) -> [bool; 3] {
    [meta.has_prompt, meta.has_response, meta.tenant != NONE]
}

/// Drops halves whose finished record is in the same source and holds all that they hold; gives
/// for each source the number of (records, exchanges) dropped.
pub fn pair_halves(metas: &mut Vec<Meta>, keys: &mut Vec<LinkKey>) -> BTreeMap<u32, (i64, i64)> {
    let mut finished: HashMap<(u32, u64), [bool; 3]> = HashMap::new();
    for meta in metas.iter().filter(|m| !m.half) {
        let Some(key) = meta.engine_key else { continue };
        let held = finished.entry((meta.source, key)).or_default();
        for (held, holds) in held.iter_mut().zip(holdings(meta)) {
            *held |= holds;
        }
    }
    let paired = |m: &Meta| {
        m.half
            && m.engine_key
                .and_then(|k| finished.get(&(m.source, k)))
                .is_some_and(|held| {
                    held.iter()
                        .zip(holdings(m))
                        .all(|(held, holds)| *held || !holds)
                })
    };
    let mut dropped: BTreeMap<u32, (i64, i64)> = BTreeMap::new();
    let mut last_record = None;
    for meta in metas.iter().filter(|m| paired(m)) {
        let entry = dropped.entry(meta.source).or_default();
        entry.1 += 1;
        if last_record.replace(meta.record) != Some(meta.record) {
            entry.0 += 1;
        }
    }
    metas.retain(|m| !paired(m));
    let kept: HashSet<u32> = metas.iter().map(|m| m.record).collect();
    keys.retain(|k| kept.contains(&k.record));
    dropped
}

/// A role that configuration gives a node is surer than what a record looks like.
pub fn settle_roles(metas: &mut [Meta], nodes: &Interner, config: &Config) {
    for meta in metas {
        let engine_side = matches!(meta.role, Role::Prefill | Role::Decode | Role::Unified);
        if meta.role_stated && !engine_side {
            continue;
        }
        if let Some(role) = nodes
            .name(meta.node)
            .and_then(|n| config.capacity.role_of(n, meta.t_start))
        {
            meta.role = role;
        }
    }
}

/// Links all records and derives what each exchange knows through its call.
pub fn form_calls(metas: &[Meta], keys: Vec<LinkKey>, records: u32) -> Calls {
    let link_records = link_records(metas, records);
    let Linked {
        call,
        collisions,
        joined,
    } = link(&link_records, keys);
    let mut collision_of: Vec<u32> = vec![NONE; records as usize];
    for (i, collision) in collisions.iter().enumerate() {
        for &r in &collision.records {
            collision_of[r as usize] = i as u32;
        }
    }
    let mut order: Vec<u32> = (0..metas.len() as u32).collect();
    order.sort_by_key(|&i| (call[metas[i as usize].record as usize], i));
    let mut facts = vec![CallFacts::default(); metas.len()];
    let mut calls = 0;
    for group in order.chunk_by(|&a, &b| {
        call[metas[a as usize].record as usize] == call[metas[b as usize].record as usize]
    }) {
        calls += 1;
        one_call(metas, group, &mut facts);
        for &i in group {
            let record = metas[i as usize].record as usize;
            facts[i as usize].call = call[record];
            facts[i as usize].collision = known(collision_of[record]);
        }
    }
    Calls {
        facts,
        calls,
        joined,
        collisions,
    }
}

fn link_records(metas: &[Meta], records: u32) -> Vec<LinkRecord> {
    let empty = LinkRecord {
        time: None,
        model: None,
        tenant: None,
        role: Role::Unified,
        exchanges: 0,
    };
    let mut out = vec![empty; records as usize];
    for meta in metas {
        let record = &mut out[meta.record as usize];
        if record.exchanges == 0 {
            record.time = meta.t_start;
            record.model = known(meta.model);
            record.tenant = known(meta.tenant);
            record.role = meta.role;
        }
        record.exchanges += 1;
    }
    out
}

fn one_call(metas: &[Meta], group: &[u32], facts: &mut [CallFacts]) {
    let of = |i: u32| &metas[i as usize];
    let shared = |get: &dyn Fn(&Meta) -> u32| {
        group
            .iter()
            .map(|&i| get(of(i)))
            .find(|&n| n != NONE)
            .unwrap_or(NONE)
    };
    let tenant = shared(&|m| m.tenant);
    let model = shared(&|m| m.model);
    let deployment = shared(&|m| m.deployment);
    let mut prefill: Vec<u32> = group
        .iter()
        .map(|&i| of(i))
        .filter(|m| m.role == Role::Prefill && m.node != NONE)
        .map(|m| m.node)
        .collect();
    prefill.sort_unstable();
    prefill.dedup();
    let speakers = speakers(metas, group);
    // Prefill hands nothing to a client, whatever it logs.
    let facing = speakers
        .iter()
        .map(|&i| of(i).role)
        .filter(|&r| r != Role::Prefill)
        .min();
    let speaks = |i: u32| Some(of(i).role) == facing && speakers.binary_search(&i).is_ok();
    let own_prompt_complete = group.iter().any(|&i| of(i).prompt_full && of(i).has_prompt);
    let memory = memory_node(metas, group);
    for &i in group {
        let meta = of(i);
        let own_node = known(meta.node).filter(|_| meta.role != Role::Prefill);
        let nodes = match prefill.is_empty() {
            false => prefill.clone(),
            true if meta.node != NONE => vec![meta.node],
            true => all_nodes(metas, group),
        };
        facts[i as usize] = CallFacts {
            tenant: known(meta.tenant).unwrap_or(tenant),
            model: known(meta.model).unwrap_or(model),
            deployment: known(meta.deployment).unwrap_or(deployment),
            prompt_nodes: nodes,
            memory_node: memory.or(own_node).unwrap_or(NONE),
            delivered: speaks(i) && handed_over(meta),
            client_facing: speaks(i),
            own_prompt_complete,
            ..CallFacts::default()
        };
    }
}

/// A gateway seldom knows the node whose memory answered; the decode record of its call does.
fn memory_node(metas: &[Meta], group: &[u32]) -> Option<u32> {
    let engine = |role: Role| {
        group
            .iter()
            .map(|&i| &metas[i as usize])
            .find(|m| m.role == role && m.node != NONE)
            .map(|m| m.node)
    };
    engine(Role::Decode).or_else(|| engine(Role::Unified))
}

/// The nodes that the records of a call name, ascending.
fn all_nodes(metas: &[Meta], group: &[u32]) -> Vec<u32> {
    let nodes = group.iter().filter_map(|&j| known(metas[j as usize].node));
    let mut all: Vec<u32> = nodes.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The records that may stand for what a client got, ascending: whole ones; where there are only
/// halves, of each request the one that holds most.
fn speakers(metas: &[Meta], group: &[u32]) -> Vec<u32> {
    let of = |i: u32| &metas[i as usize];
    let whole = |i: u32| !of(i).half && of(i).role != Role::Prefill;
    let mut out: Vec<u32> = if group.iter().any(|&i| whole(i)) {
        group.iter().copied().filter(|&i| whole(i)).collect()
    } else {
        let mut best: BTreeMap<Option<u64>, u32> = BTreeMap::new();
        for &i in group.iter().filter(|&&i| of(i).role != Role::Prefill) {
            let kept = best.entry(of(i).engine_key).or_insert(i);
            let held = |i: u32| holdings(of(i)).into_iter().filter(|h| *h).count();
            if held(i) > held(*kept) {
                *kept = i;
            }
        }
        best.into_values().collect()
    };
    out.sort_unstable();
    out
}

/// A refusal or an error without any text handed nothing over.
fn handed_over(meta: &Meta) -> bool {
    if meta.http_status >= 400 {
        return false;
    }
    match meta.outcome {
        Outcome::Rejected => false,
        Outcome::Error => meta.generated,
        Outcome::Ok | Outcome::Aborted | Outcome::Unknown => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pentimento_core::link::link_key;

    fn meta(record: u32, role: Role, half: bool, holds: [bool; 2], engine_key: u64) -> Meta {
        let [has_prompt, has_response] = holds;
        Meta {
            spill_offset: 0,
            exchange_id: [0; 16],
            t_start: Some(0),
            engine_key: Some(engine_key),
            spill_length: 0,
            source: 0,
            record,
            tenant: NONE,
            model: NONE,
            node: NONE,
            deployment: NONE,
            http_status: -1,
            role,
            role_stated: true,
            half,
            prompt_full: has_prompt,
            has_prompt,
            has_response,
            generated: has_response,
            outcome: Outcome::Unknown,
            t_end: None,
        }
    }

    fn delivered(metas: &[Meta], keys: Vec<LinkKey>) -> Vec<bool> {
        let calls = form_calls(metas, keys, 8);
        calls.facts.iter().map(|f| f.delivered).collect()
    }

    fn keys(kind: CorrelationKind, ids: &[&str]) -> Vec<LinkKey> {
        let key = |(record, id): (usize, &&str)| LinkKey {
            key: link_key(kind, id).unwrap(),
            record: record as u32,
            kind,
        };
        ids.iter().enumerate().map(key).collect()
    }

    #[test]
    fn request_and_answer_lines_are_one_delivery() {
        let (asked, answered) = ([true, false], [false, true]);
        let mut metas = vec![
            meta(0, Role::Unified, true, [false; 2], 7),
            meta(1, Role::Unified, true, asked, 7),
            meta(2, Role::Unified, false, answered, 7),
            meta(3, Role::Unified, true, [false; 2], 8),
            meta(4, Role::Unified, true, asked, 8),
        ];
        let mut keys = keys(CorrelationKind::EngineRid, &["a", "a", "a", "b", "b"]);
        // The first line of `a` holds nothing that the answer lacks; its prompt stands in the next.
        let dropped = pair_halves(&mut metas, &mut keys);
        assert_eq!(dropped.into_iter().collect::<Vec<_>>(), [(0, (1, 1))]);
        // Of `b`, which got no answer, the line with the prompt stands for both.
        assert_eq!(delivered(&metas, keys), [false, true, false, true]);
    }

    #[test]
    fn a_half_speaks_only_where_nothing_whole_does() {
        let metas = [
            meta(0, Role::Unified, true, [true, false], 1),
            meta(1, Role::Prefill, false, [false; 2], 2),
            meta(2, Role::Decode, false, [false, true], 3),
        ];
        let keys = |n| keys(CorrelationKind::BootstrapRoom, &["9", "9", "9"][..n]);
        assert_eq!(delivered(&metas, keys(3)), [false, false, true]);
        assert_eq!(delivered(&metas[..2], keys(2)), [true, false]);
    }
}
