//! The last step of ingest: rows get what only all records together can tell, and are written in
//! total order.

use super::calls::{CallFacts, Calls, form_calls, pair_halves, settle_roles};
use super::collect::{Collector, Meta};
use super::intern::NONE;
use crate::config::Config;
use anyhow::{Context, Result};
use pentimento_core::capacity::{CapacityFit, CapacityQuery};
use pentimento_core::exchange::{ContentState, CorrelationKind};
use pentimento_store::rows::{CapacityRow, ExchangeRow};
use std::collections::BTreeMap;

/// What linking came to, for the report.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct LinkSummary {
    /// Calls.
    pub calls: u64,
    /// Exchanges joined to an earlier record of their call, by kind of id.
    pub joined: BTreeMap<String, u64>,
    /// Components that were not formed.
    pub collisions: u64,
}

/// Finishes the rows and hands them to `write`, by start time and id, those without a time last.
///
/// # Errors
/// Those of the spill file and of `write`.
pub fn assemble(
    collector: &mut Collector<'_>,
    config: &Config,
    mut write: impl FnMut(ExchangeRow) -> Result<()>,
) -> Result<LinkSummary> {
    let mut metas = std::mem::take(&mut collector.metas);
    let mut keys = std::mem::take(&mut collector.keys);
    for (source, (records, exchanges)) in pair_halves(&mut metas, &mut keys) {
        let row = collector
            .sources
            .get_mut(source as usize)
            .context("half of no source")?;
        row.records_exchange -= records;
        row.records_other += records;
        row.exchanges -= exchanges;
    }
    settle_roles(&mut metas, &collector.nodes, config);
    let calls = form_calls(&metas, keys, collector.records);
    let ids = call_ids(&metas, &calls);
    let foreign = ForeignCounts::new(&metas, &calls.facts, config);
    let mut order: Vec<u32> = (0..metas.len() as u32).collect();
    order.sort_by_key(|&i| {
        let m = &metas[i as usize];
        (m.t_start.is_none(), m.t_start, m.exchange_id)
    });
    for i in order {
        let (meta, facts) = (&metas[i as usize], &calls.facts[i as usize]);
        let mut row = collector.row(meta)?;
        row.role = meta.role;
        row.call_id = hex(&ids[&facts.call]);
        row.foreign_exchanges = foreign.count(meta, facts);
        if let Some(c) = facts.collision {
            let collision = &calls.collisions[c as usize];
            row.collision_id = Some(format!("c{:06}", c + 1));
            row.collision_reason = Some(collision.reason.as_str().into());
        }
        finish_row(&mut row, facts, collector, config);
        write(row)?;
    }
    let joined = calls
        .joined
        .iter()
        .map(|(k, n)| (CorrelationKind::as_str(*k).to_string(), *n));
    Ok(LinkSummary {
        calls: calls.calls,
        joined: joined.collect(),
        collisions: calls.collisions.len() as u64,
    })
}

/// A call's id is the least exchange id in it: the same whatever the order of the sources.
fn call_ids(metas: &[Meta], calls: &Calls) -> BTreeMap<u32, [u8; 16]> {
    let mut ids: BTreeMap<u32, [u8; 16]> = BTreeMap::new();
    for (meta, facts) in metas.iter().zip(&calls.facts) {
        let id = ids.entry(facts.call).or_insert(meta.exchange_id);
        *id = (*id).min(meta.exchange_id);
    }
    ids
}

fn hex(bytes: &[u8; 16]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn finish_row(
    row: &mut ExchangeRow,
    facts: &CallFacts,
    collector: &Collector<'_>,
    config: &Config,
) {
    let name = |n: Option<&str>| n.map(str::to_string);
    if row.tenant.is_none() && facts.tenant != NONE {
        row.tenant = name(collector.tenants.name(facts.tenant));
        row.tenant_kind = Some("call".into());
    }
    if row.model.is_none() {
        row.model = name(collector.models.name(facts.model));
    }
    row.excluded = row
        .tenant
        .as_deref()
        .and_then(|t| config.tenants.excluded(t))
        .map(Into::into);
    let nodes: Vec<&str> = facts
        .prompt_nodes
        .iter()
        .filter_map(|&n| collector.nodes.name(n))
        .collect();
    let fit = config.capacity.as_of(&CapacityQuery {
        model: row.model.as_deref(),
        deployment: collector.deployments.name(facts.deployment),
        nodes: &nodes,
        time: row.t_start,
    });
    if let Some(fit) = fit {
        set_capacity(row, &fit);
    }
    row.share_group = match collector.nodes.name(facts.memory_node) {
        Some(node) => {
            let process = config.capacity.process_of(node, row.t_start);
            process.map(|n| format!("node/{node}#{n}"))
        }
        None => row.deployment.as_ref().map(|d| format!("deployment/{d}")),
    };
    row.delivered = facts.delivered;
    row.client_facing = facts.client_facing;
    row.own_prompt_complete = facts.own_prompt_complete;
    row.unjudged_reason = unjudged_reason(row).map(Into::into);
    row.judged = row.unjudged_reason.is_none();
}

fn set_capacity(row: &mut ExchangeRow, fit: &CapacityFit<'_>) {
    row.reject_at_tokens = fit.epoch.reject_at_tokens();
    row.reject_at_max_tokens = fit.reject_at_max_tokens;
    row.pool_tokens = fit.epoch.pool_tokens;
    row.window_tokens = fit.epoch.window_tokens;
    row.capacity_id = Some(fit.epoch.id());
    row.capacity_match = fit.matched.as_str().into();
    if row.engine.is_none() {
        row.engine.clone_from(&fit.epoch.engine);
    }
    if row.engine_version.is_none() {
        row.engine_version.clone_from(&fit.epoch.engine_version);
    }
    if row.deployment.is_none() {
        row.deployment.clone_from(&fit.epoch.deployment);
    }
}

/// Why no text test can see the response; `None` = it is searched.
fn unjudged_reason(row: &ExchangeRow) -> Option<&'static str> {
    if row.tenant.is_none() {
        return Some("tenant_unknown");
    }
    if row.t_start.is_none() {
        return Some("time_unknown");
    }
    let own_text = row.response_bytes > 0
        || matches!(row.response_state, ContentState::Full) && row.response_hmac.is_some();
    if !own_text {
        return Some(match row.response_state {
            ContentState::IdsOnly => "ids_only",
            ContentState::Encrypted => "encrypted",
            ContentState::External => "external",
            ContentState::Redacted => "redacted",
            ContentState::Stateful => "stateful",
            _ => "text_absent",
        });
    }
    None
}

/// Why an answer that could be searched was not: it was not among those chosen.
pub const NOT_SEARCHED: &str = "not_searched";

/// At or over the limit in force, and not refused.
pub fn is_triggered(row: &ExchangeRow) -> bool {
    let over =
        matches!((row.prompt_tokens, row.reject_at_tokens), (Some(n), Some(limit)) if n >= limit);
    over && row.http_status.is_none_or(|s| s < 400)
}

/// How many exchanges of other tenants could be the source of an exchange.
struct ForeignCounts {
    look_back_us: i64,
    tolerance_us: i64,
    all: Vec<i64>,
    by_tenant: BTreeMap<u32, Vec<i64>>,
}

impl ForeignCounts {
    fn new(metas: &[Meta], facts: &[CallFacts], config: &Config) -> ForeignCounts {
        let mut all = Vec::new();
        let mut by_tenant: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
        for (meta, facts) in metas.iter().zip(facts) {
            let Some(t) = meta.t_start else { continue };
            if facts.tenant != NONE && (meta.has_prompt || meta.has_response) {
                all.push(t);
                by_tenant.entry(facts.tenant).or_default().push(t);
            }
        }
        all.sort_unstable();
        by_tenant.values_mut().for_each(|v| v.sort_unstable());
        ForeignCounts {
            look_back_us: config.overlap.look_back_us,
            tolerance_us: config.overlap.clock_tolerance_us,
            all,
            by_tenant,
        }
    }

    fn count(&self, meta: &Meta, facts: &CallFacts) -> i64 {
        let Some(t0) = meta.t_start else { return 0 };
        let from = t0.saturating_sub(self.look_back_us);
        let to = meta
            .t_end
            .unwrap_or(t0)
            .max(t0)
            .saturating_add(self.tolerance_us);
        let within = |times: &[i64]| {
            times.partition_point(|&t| t <= to) as i64 - times.partition_point(|&t| t < from) as i64
        };
        within(&self.all)
            - self
                .by_tenant
                .get(&facts.tenant)
                .map_or(0, |own| within(own))
    }
}

/// The configured epochs as rows.
pub fn capacity_rows(config: &Config) -> Vec<CapacityRow> {
    let mut rows: Vec<CapacityRow> = config
        .capacity
        .epochs()
        .iter()
        .map(|e| CapacityRow {
            capacity_id: e.id(),
            model: e.model.clone(),
            deployment: e.deployment.clone(),
            node: e.node.clone(),
            role: e.role,
            valid_from: e.valid_from,
            valid_to: e.valid_to,
            pool_tokens: e.pool_tokens,
            window_tokens: e.window_tokens,
            page_tokens: e.page_tokens,
            reject_at_tokens: e.reject_at_tokens(),
            engine: e.engine.clone(),
            engine_version: e.engine_version.clone(),
            mode: e.mode.clone(),
            flags: e.flags.clone(),
            source: e.source.clone(),
        })
        .collect();
    rows.sort_by(|a, b| {
        (
            &a.model,
            &a.deployment,
            &a.node,
            a.role,
            a.valid_from,
            &a.capacity_id,
        )
            .cmp(&(
                &b.model,
                &b.deployment,
                &b.node,
                b.role,
                b.valid_from,
                &b.capacity_id,
            ))
    });
    rows
}
