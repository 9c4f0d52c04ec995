//! May a node take traffic? The pool of the running engine against its window, its version and its
//! settings, before the first request reaches it.
//!
//! What cannot be read fails closed: a gate that lets through what it did not understand is none.

pub mod fetch;
pub mod policy;
pub mod verdict;

use anyhow::Result;
use pentimento_core::capacity::Epoch;
use pentimento_core::engine::epochs::{Observation, epochs};
use pentimento_core::engine::{EngineEvent, read_line};
use pentimento_core::format::server_info;

/// Where a statement about an engine comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `/server_info` or a list of models.
    ServerInfo,
    /// `/metrics`.
    Metrics,
    /// The engine's output.
    EngineLog,
}

/// One input of the gate, as read.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it is.
    pub kind: Kind,
    /// File or address, as given.
    pub place: String,
    /// Statements of one group are about one node.
    pub node: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What one node said of itself.
#[derive(Clone, Debug)]
pub struct NodeFacts {
    /// The node: its address, or the name of the file.
    pub node: String,
    /// Files and addresses.
    pub places: Vec<String>,
    /// What is in force; several where its statements contradict each other.
    pub epochs: Vec<Epoch>,
}

/// Events of a statement that tell of capacity.
fn events(statement: &Statement) -> Vec<EngineEvent> {
    let bytes = statement.bytes.as_slice();
    let lines = || bytes.split(|b| *b == b'\n');
    match statement.kind {
        Kind::ServerInfo => server_info::read(bytes).into_iter().collect(),
        Kind::Metrics => lines().filter_map(server_info::read_gauge).collect(),
        Kind::EngineLog => lines()
            // Only the order of starts matters, so any zone does.
            .filter_map(|line| read_line(line, Some(&jiff::tz::TimeZone::UTC), &statement.place))
            .filter(|event| event.capacity.is_some())
            .collect(),
    }
}

/// What the statements say of each node.
///
/// # Errors
/// Names the first statement that tells nothing of capacity.
pub fn facts(statements: &[Statement]) -> Result<Vec<NodeFacts>> {
    let mut nodes: Vec<NodeFacts> = Vec::new();
    for statement in statements {
        if !nodes.iter().any(|n| n.node == statement.node) {
            nodes.push(NodeFacts {
                node: statement.node.clone(),
                places: Vec::new(),
                epochs: Vec::new(),
            });
        }
    }
    for node in &mut nodes {
        let mut observations = Vec::new();
        for (number, statement) in statements.iter().enumerate() {
            if statement.node != node.node {
                continue;
            }
            let events = events(statement);
            anyhow::ensure!(
                !events.is_empty(),
                "`{}` says nothing of a pool or a window",
                statement.place
            );
            node.places.push(statement.place.clone());
            observations.extend(events.into_iter().map(|mut event| {
                event.node = Some(node.node.clone());
                Observation {
                    source: number.to_string(),
                    event,
                }
            }));
        }
        // Earlier starts are history.
        node.epochs = epochs(&observations);
        node.epochs.retain(|e| e.valid_to.is_none());
    }
    Ok(nodes)
}
