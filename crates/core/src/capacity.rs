//! Capacity epochs: which KV pool and window were in force for an exchange.

use crate::exchange::{Role, TimeMicros};
use std::fmt;

/// SGLang refuses a prompt of `min(window, pool) - 6` tokens and more: `max_req_len` is
/// `min(context_len - 1, pool - 1)`, the input limit is 5 below that, and the test is `>=`.
pub const SGLANG_RESERVE_TOKENS: i64 = 6;

/// One node's (or deployment's) capacity from `valid_from` to `valid_to`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Epoch {
    /// Canonical model; `None` fits every model.
    pub model: Option<String>,
    /// Deployment name.
    pub deployment: Option<String>,
    /// Node; `None` stands for every node of the deployment that has no epoch of its own.
    pub node: Option<String>,
    /// Role of the node.
    pub role: Option<Role>,
    /// Start, inclusive; `None` is the beginning of time.
    pub valid_from: Option<TimeMicros>,
    /// End, exclusive; `None` is open.
    pub valid_to: Option<TimeMicros>,
    /// KV-pool capacity in tokens.
    pub pool_tokens: Option<i64>,
    /// Context window in tokens.
    pub window_tokens: Option<i64>,
    /// Tokens a page.
    pub page_tokens: Option<i64>,
    /// The least refused prompt length, where the user states it.
    pub reject_at_override: Option<i64>,
    /// Engine name, lower case.
    pub engine: Option<String>,
    /// Engine version.
    pub engine_version: Option<String>,
    /// `disaggregated`, `unified`, …
    pub mode: Option<String>,
    /// Settings of the process, `name=value` with blanks between, sorted by name.
    pub flags: Option<String>,
    /// Holds only where a record names the node: which model it serves is not known.
    pub node_only: bool,
    /// Where the epoch comes from, for messages and the `capacity` table.
    pub source: String,
}

impl Epoch {
    /// The least prompt length, in tokens, that the engine refuses for lack of pool.
    pub fn reject_at_tokens(&self) -> Option<i64> {
        if self.reject_at_override.is_some() {
            return self.reject_at_override;
        }
        let pool = self.pool_tokens?;
        match self.engine.as_deref() {
            Some("sglang") => {
                Some(self.window_tokens.map_or(pool, |w| w.min(pool)) - SGLANG_RESERVE_TOKENS)
            }
            _ => Some(pool + 1),
        }
    }

    /// Stable id: the first 16 hex digits of BLAKE3 over the fields.
    pub fn id(&self) -> String {
        let text = format!(
            "{:?}",
            (
                (&self.model, &self.deployment, &self.node, self.role),
                (
                    self.valid_from,
                    self.valid_to,
                    self.pool_tokens,
                    self.window_tokens
                ),
                (self.page_tokens, self.reject_at_override, &self.engine),
                (&self.engine_version, &self.mode),
            )
        );
        let text = match &self.flags {
            Some(flags) => format!("{text}{flags}"),
            None => text,
        };
        blake3::hash(text.as_bytes()).to_hex()[..16].to_string()
    }

    fn holds(&self, t: Option<TimeMicros>) -> bool {
        match t {
            None => true,
            Some(t) => {
                self.valid_from.is_none_or(|from| from <= t)
                    && self.valid_to.is_none_or(|to| t < to)
            }
        }
    }

    /// Whether there is a moment in both.
    pub fn overlaps_in_time(&self, other: &Epoch) -> bool {
        let before = |a: &Epoch, b: &Epoch| match (a.valid_to, b.valid_from) {
            (Some(to), Some(from)) => to <= from,
            _ => false,
        };
        !before(self, other) && !before(other, self)
    }

    /// Prompts are held against the pool of the side that takes them in.
    fn takes_prompts(&self) -> bool {
        !matches!(self.role, Some(Role::Decode))
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |v: &Option<String>| v.clone().unwrap_or_else(|| "*".into());
        let time = |v: Option<TimeMicros>| {
            v.and_then(|t| jiff::Timestamp::from_microsecond(t).ok())
                .map_or_else(|| "*".to_string(), |t| t.to_string())
        };
        write!(
            f,
            "{} (model {}, name {}, node {}, role {}, {} to {}, pool_tokens {})",
            self.source,
            text(&self.model),
            text(&self.deployment),
            text(&self.node),
            self.role.map_or("*", Role::as_str),
            time(self.valid_from),
            time(self.valid_to),
            self.pool_tokens
                .map_or_else(|| "?".to_string(), |p| p.to_string()),
        )
    }
}

/// Epochs that cannot stand beside each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapacityError {
    /// Two epochs speak of the same thing at the same time.
    #[error(
        "capacity epochs overlap: {first} and {second}; give them disjoint valid_from/valid_to or different nodes"
    )]
    Overlap {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// Two epochs speak of the same node and time and disagree.
    #[error(
        "capacity epochs contradict each other: {first} and {second}; they name one node and time with different values"
    )]
    Contradiction {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// An epoch ends before it starts.
    #[error("capacity epoch ends before it starts: {0}")]
    Backwards(String),
    /// A count that must be positive is not.
    #[error("capacity epoch has a token count that is not positive: {0}")]
    NotPositive(String),
}

/// How an exchange met its epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacityMatch {
    /// By node.
    Node,
    /// By deployment name; the smallest and largest pool bound it.
    Deployment,
    /// By model only.
    Model,
    /// Not at all.
    None,
}

impl CapacityMatch {
    /// The name used in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            CapacityMatch::Node => "node",
            CapacityMatch::Deployment => "deployment",
            CapacityMatch::Model => "model",
            CapacityMatch::None => "none",
        }
    }
}

/// What the as-of join asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct CapacityQuery<'a> {
    /// Canonical model of the call.
    pub model: Option<&'a str>,
    /// Deployment of the call.
    pub deployment: Option<&'a str>,
    /// Nodes that took the prompt in: the call's prefill nodes, else the record's own node.
    pub nodes: &'a [&'a str],
    /// Start of the exchange.
    pub time: Option<TimeMicros>,
}

/// The answer: the epoch with the smallest limit, and the largest limit that may be in force.
#[derive(Clone, Copy, Debug)]
pub struct CapacityFit<'a> {
    /// Epoch with the smallest limit.
    pub epoch: &'a Epoch,
    /// Index of that epoch in the table.
    pub index: usize,
    /// Largest limit among the candidates, in tokens.
    pub reject_at_max_tokens: Option<i64>,
    /// How it was found.
    pub matched: CapacityMatch,
}

/// Checked epochs.
#[derive(Clone, Debug, Default)]
pub struct CapacityTable {
    epochs: Vec<Epoch>,
}

impl CapacityTable {
    /// Checks that no two epochs overlap or contradict each other.
    ///
    /// # Errors
    /// Names both epochs.
    pub fn new(epochs: Vec<Epoch>) -> Result<CapacityTable, CapacityError> {
        for (i, a) in epochs.iter().enumerate() {
            if matches!((a.valid_from, a.valid_to), (Some(from), Some(to)) if to <= from) {
                return Err(CapacityError::Backwards(a.to_string()));
            }
            let counts = [
                a.pool_tokens,
                a.window_tokens,
                a.page_tokens,
                a.reject_at_override,
            ];
            if counts.into_iter().flatten().any(|n| n <= 0) {
                return Err(CapacityError::NotPositive(a.to_string()));
            }
            for b in &epochs[i + 1..] {
                check_pair(a, b)?;
            }
        }
        Ok(CapacityTable { epochs })
    }

    /// Epochs that were observed, beside the checked ones: they may contradict each other, and the
    /// join then has bounds.
    #[must_use]
    pub fn with_observed(mut self, observed: Vec<Epoch>) -> CapacityTable {
        let positive = |e: &Epoch| {
            let counts = [e.pool_tokens, e.window_tokens, e.page_tokens];
            counts.into_iter().flatten().all(|n| n > 0)
        };
        self.epochs.extend(observed.into_iter().filter(positive));
        self
    }

    /// All epochs, in the order given.
    pub fn epochs(&self) -> &[Epoch] {
        &self.epochs
    }

    /// Which process of a node was running: how many of its own epochs had begun, for an epoch
    /// begins when the process starts anew. Without a time it is not known.
    pub fn process_of(&self, node: &str, time: Option<TimeMicros>) -> Option<usize> {
        let time = time?;
        let begun = |e: &&Epoch| {
            e.node.as_deref() == Some(node) && e.valid_from.is_some_and(|from| from <= time)
        };
        Some(self.epochs.iter().filter(begun).count())
    }

    /// The role that configuration gives a node at a time.
    pub fn role_of(&self, node: &str, time: Option<TimeMicros>) -> Option<Role> {
        self.epochs
            .iter()
            .find(|e| e.node.as_deref() == Some(node) && e.role.is_some() && e.holds(time))
            .and_then(|e| e.role)
    }

    /// The epoch in force. `None` where no epoch fits model and time.
    pub fn as_of(&self, query: &CapacityQuery<'_>) -> Option<CapacityFit<'_>> {
        let fits = |e: &Epoch| {
            e.holds(query.time)
                && e.reject_at_tokens().is_some()
                && match (e.model.as_deref(), query.model) {
                    (Some(a), Some(b)) => a == b,
                    _ => true,
                }
        };
        let named = |e: &Epoch| match (e.deployment.as_deref(), query.deployment) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        let candidates: Vec<(usize, &Epoch)> = self
            .epochs
            .iter()
            .enumerate()
            .filter(|(_, e)| fits(e))
            .collect();
        let pick = |keep: &dyn Fn(&Epoch) -> bool, matched: CapacityMatch| {
            bounds(candidates.iter().copied().filter(|(_, e)| keep(e)), matched)
        };
        let on_node = |e: &Epoch| e.node.as_deref().is_some_and(|n| query.nodes.contains(&n));
        let by_name = if query.deployment.is_some()
            && candidates
                .iter()
                .any(|(_, e)| e.deployment.as_deref() == query.deployment)
        {
            CapacityMatch::Deployment
        } else {
            CapacityMatch::Model
        };
        // A known node without an epoch of its own has the deployment's general one.
        let general = |e: &Epoch| !query.nodes.is_empty() && e.node.is_none();
        let named = |e: &Epoch| named(e) && !e.node_only;
        pick(&|e| on_node(e) && e.takes_prompts(), CapacityMatch::Node)
            .or_else(|| pick(&|e| general(e) && named(e) && e.takes_prompts(), by_name))
            .or_else(|| pick(&|e| named(e) && e.takes_prompts(), by_name))
            .or_else(|| pick(&on_node, CapacityMatch::Node))
            .or_else(|| pick(&named, by_name))
    }
}

fn bounds<'a>(
    found: impl Iterator<Item = (usize, &'a Epoch)>,
    matched: CapacityMatch,
) -> Option<CapacityFit<'a>> {
    let mut least: Option<(usize, &Epoch)> = None;
    let mut most = None;
    for (index, epoch) in found {
        let limit = epoch.reject_at_tokens();
        most = most.max(limit);
        if least.is_none_or(|(_, l)| limit < l.reject_at_tokens()) {
            least = Some((index, epoch));
        }
    }
    least.map(|(index, epoch)| CapacityFit {
        epoch,
        index,
        reject_at_max_tokens: most,
        matched,
    })
}

fn check_pair(a: &Epoch, b: &Epoch) -> Result<(), CapacityError> {
    let same = |x: &Option<String>, y: &Option<String>| match (x, y) {
        (Some(x), Some(y)) => x == y,
        _ => true,
    };
    let one_place = match (&a.node, &b.node) {
        (Some(x), Some(y)) => x == y,
        (None, None) => same(&a.deployment, &b.deployment),
        _ => false,
    };
    if !one_place || !same(&a.model, &b.model) || !a.overlaps_in_time(b) {
        return Ok(());
    }
    let pair = || (a.to_string(), b.to_string());
    if a.role == b.role {
        let (first, second) = pair();
        return Err(CapacityError::Overlap { first, second });
    }
    let roles_apart = a.role.is_some() && b.role.is_some();
    let agree = a.pool_tokens == b.pool_tokens
        && a.window_tokens == b.window_tokens
        && a.reject_at_tokens() == b.reject_at_tokens();
    if roles_apart && a.node.is_none() || agree {
        return Ok(());
    }
    let (first, second) = pair();
    Err(CapacityError::Contradiction { first, second })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch(node: Option<&str>, role: Option<Role>, pool: i64) -> Epoch {
        Epoch {
            model: Some("m".into()),
            deployment: Some("d".into()),
            node: node.map(Into::into),
            role,
            pool_tokens: Some(pool),
            window_tokens: Some(1_048_576),
            engine: Some("sglang".into()),
            source: format!("deployment of {pool}"),
            ..Epoch::default()
        }
    }

    fn ask<'a>(
        table: &'a CapacityTable,
        deployment: Option<&'a str>,
        nodes: &'a [&'a str],
        time: i64,
    ) -> Option<(i64, i64, CapacityMatch)> {
        let query = CapacityQuery {
            model: Some("m"),
            deployment,
            nodes,
            time: Some(time),
        };
        let fit = table.as_of(&query)?;
        Some((
            fit.epoch.reject_at_tokens()?,
            fit.reject_at_max_tokens?,
            fit.matched,
        ))
    }

    #[test]
    fn the_limit_of_each_engine() {
        let mut e = epoch(None, None, 681_280);
        assert_eq!(e.reject_at_tokens(), Some(681_274));
        e.pool_tokens = Some(2_040_000);
        assert_eq!(e.reject_at_tokens(), Some(1_048_570));
        e.engine = None;
        assert_eq!(e.reject_at_tokens(), Some(2_040_001));
        e.reject_at_override = Some(5);
        assert_eq!(e.reject_at_tokens(), Some(5));
        e.reject_at_override = None;
        e.pool_tokens = None;
        assert_eq!(e.reject_at_tokens(), None);
    }

    #[test]
    fn the_node_decides_where_it_is_known() {
        let table = CapacityTable::new(vec![
            epoch(Some("p1"), Some(Role::Prefill), 681_280),
            epoch(Some("p2"), Some(Role::Prefill), 2_040_000),
            epoch(Some("d1"), Some(Role::Decode), 1_310_720),
        ])
        .expect("disjoint nodes");
        let p1 = ask(&table, Some("d"), &["p1"], 0);
        assert_eq!(p1, Some((681_274, 681_274, CapacityMatch::Node)));
        let unknown = ask(&table, Some("d"), &[], 0);
        assert_eq!(
            unknown,
            Some((681_274, 1_048_570, CapacityMatch::Deployment))
        );
        // A decode node's own pool says nothing of what prefill refused.
        let decode = ask(&table, None, &["d1"], 0);
        assert_eq!(decode, Some((681_274, 1_048_570, CapacityMatch::Model)));
        assert_eq!(ask(&table, Some("other"), &[], 0), None);
    }

    #[test]
    fn a_node_without_an_epoch_takes_the_general_one() {
        let table = CapacityTable::new(vec![
            epoch(None, None, 681_280),
            epoch(Some("big"), None, 2_040_000),
        ])
        .expect("general and special");
        let general = ask(&table, None, &["decode-1"], 0);
        assert_eq!(general, Some((681_274, 681_274, CapacityMatch::Model)));
        let special = ask(&table, None, &["big"], 0);
        assert_eq!(special, Some((1_048_570, 1_048_570, CapacityMatch::Node)));
    }

    #[test]
    fn time_is_half_open() {
        let mut before = epoch(Some("p"), None, 681_280);
        before.valid_to = Some(100);
        let mut after = epoch(Some("p"), None, 900_000);
        after.valid_from = Some(100);
        let table = CapacityTable::new(vec![before, after]).expect("touching epochs");
        assert_eq!(ask(&table, None, &["p"], 99).map(|f| f.0), Some(681_274));
        assert_eq!(ask(&table, None, &["p"], 100).map(|f| f.0), Some(899_994));
    }

    #[test]
    fn overlap_and_contradiction_name_both() {
        let same = CapacityTable::new(vec![epoch(None, None, 1), epoch(None, None, 2)]);
        let text = same.expect_err("overlap").to_string();
        assert!(
            text.contains("deployment of 1") && text.contains("deployment of 2"),
            "{text}"
        );
        let roles = vec![
            epoch(Some("n"), None, 10),
            epoch(Some("n"), Some(Role::Prefill), 20),
        ];
        assert!(matches!(
            CapacityTable::new(roles),
            Err(CapacityError::Contradiction { .. })
        ));
        let sides = vec![
            epoch(None, Some(Role::Decode), 10),
            epoch(None, Some(Role::Prefill), 20),
        ];
        assert!(CapacityTable::new(sides).is_ok());
        let mut backwards = epoch(None, None, 10);
        (backwards.valid_from, backwards.valid_to) = (Some(5), Some(5));
        assert!(matches!(
            CapacityTable::new(vec![backwards]),
            Err(CapacityError::Backwards(_))
        ));
    }
}
