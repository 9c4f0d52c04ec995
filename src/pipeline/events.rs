//! Engine events on their way into the case: written as they come, and kept in mind as far as they
//! tell of capacity.

use super::assemble::capacity_rows;
use super::draft::safe_value;
use super::ingest::write_table;
use crate::config::Config;
use anyhow::Result;
use pentimento_core::capacity::{CapacityTable, Epoch};
use pentimento_core::engine::EngineEvent;
use pentimento_core::engine::epochs::{Observation, beside, epochs};
use pentimento_store::case::CaseFolder;
use pentimento_store::manifest::TableDigest;
use pentimento_store::rows::EngineEventRow;
use pentimento_store::writer::{TableWriter, WriteOptions};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Takes events in the order of the sources.
pub struct EventSink {
    writer: TableWriter<EngineEventRow>,
    deployments: BTreeMap<String, String>,
    models: BTreeMap<String, String>,
    case_key: [u8; 32],
    observations: Vec<Observation>,
    /// Latest time of an event, by source.
    seen_until: BTreeMap<String, i64>,
}

/// What came of the events.
pub struct Events {
    /// The table written.
    pub table: TableDigest,
    /// The configuration with the capacity that engines stated beside the configured one.
    pub config: Config,
}

impl EventSink {
    /// Starts the table.
    ///
    /// # Errors
    /// Where the case cannot be written.
    pub fn new(case: &CaseFolder, config: &Config, case_key: [u8; 32]) -> Result<EventSink> {
        let named = |e: &Epoch| Some((e.node.clone()?, e.deployment.clone()?));
        Ok(EventSink {
            writer: case.writer(WriteOptions::default())?,
            deployments: config.capacity.epochs().iter().filter_map(named).collect(),
            models: config.models.clone(),
            case_key,
            observations: Vec::new(),
            seen_until: BTreeMap::new(),
        })
    }

    /// Takes the events of one record.
    ///
    /// # Errors
    /// Where the case cannot be written.
    pub fn take(&mut self, source_id: &str, offset: u64, events: Vec<EngineEvent>) -> Result<()> {
        for (index, event) in events.into_iter().enumerate() {
            let row = self.row(source_id, offset, index, &event);
            self.writer.push(&row)?;
            if let Some(t) = event.t {
                match self.seen_until.get_mut(source_id) {
                    Some(last) => *last = t.max(*last),
                    None => {
                        self.seen_until.insert(source_id.to_owned(), t);
                    }
                }
            }
            let repeats = |o: &Observation| {
                let known = (
                    &o.event.capacity,
                    &o.event.node,
                    &o.event.rank,
                    o.event.kind,
                );
                o.source == source_id
                    && known == (&event.capacity, &event.node, &event.rank, event.kind)
            };
            // A value that is only said again tells nothing new, and could be said without end.
            if event.capacity.is_some() && !self.observations.last().is_some_and(repeats) {
                self.observations.push(Observation {
                    source: source_id.to_owned(),
                    event,
                });
            }
        }
        Ok(())
    }

    fn model(&self, event: &EngineEvent) -> Option<String> {
        let told = event.capacity.as_ref().and_then(|c| c.model.as_ref());
        let name = event.model.as_ref().or(told)?;
        let canonical = self.models.get(name).unwrap_or(name);
        Some(safe_value(canonical.clone(), &self.case_key))
    }

    fn row(&self, source: &str, offset: u64, index: usize, event: &EngineEvent) -> EngineEventRow {
        let deployment = event.node.as_ref().and_then(|n| self.deployments.get(n));
        EngineEventRow {
            source_id: source.to_owned(),
            source_offset: offset as i64,
            source_index: index as i64,
            t: event.t,
            deployment: deployment.cloned(),
            node: event.node.clone(),
            role: event.role,
            engine: Cow::Borrowed(event.engine),
            rank: event.rank.clone(),
            kind: Cow::Borrowed(event.kind.as_str()),
            model: self.model(event),
            // Clients may choose their ids, and write anything into them.
            engine_request_id: event
                .engine_request_id
                .clone()
                .map(|id| safe_value(id, &self.case_key)),
            bootstrap_room: event.bootstrap_room.clone(),
            n1: event.n1,
            n2: event.n2,
            n3: event.n3,
            moved_bytes: event.moved_bytes,
            message: event.message.clone(),
        }
    }

    /// Ends the table and sets what engines said of their capacity beside the configuration.
    ///
    /// `models` are the models of the exchanges, by their canonical names.
    ///
    /// # Errors
    /// Where the case cannot be written.
    pub fn finish(self, config: &Config, models: &[&str]) -> Result<Events> {
        let summary = self.writer.finish()?;
        let mut configured = config.capacity.epochs().to_vec();
        let mut observed = epochs(&self.observations);
        for epoch in &mut observed {
            place(epoch, config, models);
        }
        let until = |source: &str| self.seen_until.get(source).copied();
        let extra = beside(&mut configured, observed, &until);
        configured.extend(extra);
        let mut config = config.clone();
        config.capacity = CapacityTable::default().with_observed(configured);
        Ok(Events {
            table: TableDigest::from(&summary),
            config,
        })
    }
}

/// Writes the table of all epochs.
///
/// # Errors
/// Where the case cannot be written.
pub fn write_capacity(case: &CaseFolder, config: &Config) -> Result<TableDigest> {
    write_table(case, capacity_rows(config).into_iter())
}

/// Gives an observed epoch the deployment and the model of its node. An engine calls its model by
/// its own name, which may be a path.
fn place(epoch: &mut Epoch, config: &Config, models: &[&str]) {
    let of_node = |e: &&Epoch| e.node.is_some() && e.node == epoch.node;
    let known = config.capacity.epochs().iter().find(of_node);
    epoch.deployment = known.and_then(|e| e.deployment.clone());
    let raw = epoch.model.take();
    let canonical = raw.as_deref().map(|raw| config.canonical_model(raw));
    let last = |name: &str| {
        let part = name.rsplit('/').find(|p| !p.is_empty()).unwrap_or(name);
        part.to_ascii_lowercase()
    };
    let like = |name: &str| {
        let mut same = models.iter().filter(|m| last(m) == last(name));
        same.next().filter(|_| same.next().is_none()).copied()
    };
    let served = match canonical {
        Some(name) if models.contains(&name) => Some(name.to_owned()),
        Some(name) => like(name).map(str::to_owned),
        None => None,
    };
    let only = || (models.len() == 1).then(|| models[0].to_owned());
    epoch.model = known.and_then(|e| e.model.clone()).or(served).or_else(only);
    epoch.node_only = epoch.model.is_none();
}
