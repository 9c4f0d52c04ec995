//! From compact rows to calls: halves paired, roles settled, records linked, tenants passed on.

use super::collect::Meta;
use super::intern::{Interner, NONE, known};
use crate::config::Config;
use hashbrown::HashSet;
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

/// Drops first halves whose finished record is in the same source; gives for each source the
/// number of (records, exchanges) dropped.
pub fn pair_halves(metas: &mut Vec<Meta>, keys: &mut Vec<LinkKey>) -> BTreeMap<u32, (i64, i64)> {
    let finished: HashSet<(u32, u64)> = metas
        .iter()
        .filter(|m| !m.half)
        .filter_map(|m| m.engine_key.map(|k| (m.source, k)))
        .collect();
    let paired = |m: &Meta| {
        m.half
            && m.engine_key
                .is_some_and(|k| finished.contains(&(m.source, k)))
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
    // Prefill hands nothing to a client, whatever it logs.
    let facing = group
        .iter()
        .map(|&i| of(i).role)
        .filter(|&r| r != Role::Prefill)
        .min();
    let own_prompt_complete = group.iter().any(|&i| of(i).prompt_full && of(i).has_prompt);
    // A gateway seldom knows the node; the decode record of its call does.
    let engine = |role: Role| {
        group
            .iter()
            .map(|&i| of(i))
            .find(|m| m.role == role && m.node != NONE)
            .map(|m| m.node)
    };
    let memory = engine(Role::Decode).or_else(|| engine(Role::Unified));
    for &i in group {
        let meta = of(i);
        let own_node = if meta.role == Role::Prefill {
            NONE
        } else {
            meta.node
        };
        let nodes = match prefill.is_empty() {
            false => prefill.clone(),
            true if meta.node != NONE => vec![meta.node],
            true => {
                let mut all: Vec<u32> = group
                    .iter()
                    .map(|&j| of(j).node)
                    .filter(|&n| n != NONE)
                    .collect();
                all.sort_unstable();
                all.dedup();
                all
            }
        };
        facts[i as usize] = CallFacts {
            tenant: if meta.tenant == NONE {
                tenant
            } else {
                meta.tenant
            },
            model: if meta.model == NONE {
                model
            } else {
                meta.model
            },
            deployment: if meta.deployment == NONE {
                deployment
            } else {
                meta.deployment
            },
            prompt_nodes: nodes,
            memory_node: memory.unwrap_or(own_node),
            delivered: Some(meta.role) == facing && handed_over(meta),
            client_facing: Some(meta.role) == facing,
            own_prompt_complete,
            ..CallFacts::default()
        };
    }
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
