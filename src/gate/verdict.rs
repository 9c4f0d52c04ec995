//! The verdict over what nodes said, as one JSON object.

use super::NodeFacts;
use super::policy::{Check, Policy, below_version, flags_of};
use pentimento_core::advisory::{Advisory, Match, Subject, Version, matches};
use pentimento_core::capacity::Epoch;
use pentimento_core::exchange::Role;
use serde::Serialize;

/// What is asked of a node.
#[derive(Clone, Debug, Default)]
pub struct Demands {
    /// The window in tokens; without it the engine's own.
    pub window: Option<i64>,
    /// Least pool in thousandths of the window.
    pub min_ratio_thousandths: Option<i64>,
    /// Least version.
    pub min_version: Option<Version>,
    /// Further rules.
    pub policy: Policy,
    /// Known faults.
    pub advisories: Vec<Advisory>,
    /// Severities of advisories that close the gate.
    pub fail_on: Vec<String>,
}

/// The verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// `pass`, `fail` or `unreadable`.
    pub verdict: &'static str,
    /// The exit code that belongs to it.
    pub exit: u8,
    /// What was found wrong, over all nodes.
    pub failures: Vec<String>,
    /// What could not be found out.
    pub open: Vec<String>,
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// One node, as far as it stated itself.
#[derive(Clone, Debug, Serialize)]
pub struct Node {
    /// Its name.
    pub node: String,
    /// Where it was asked.
    pub places: Vec<String>,
    /// Role.
    pub role: Option<&'static str>,
    /// Engine.
    pub engine: Option<String>,
    /// Its version.
    pub engine_version: Option<String>,
    /// Pool, tokens.
    pub pool_tokens: Option<i64>,
    /// Window, tokens.
    pub window_tokens: Option<i64>,
    /// `flag` or `engine`.
    pub window_from: Option<&'static str>,
    /// Least prompt that the engine refuses for lack of pool, tokens.
    pub reject_at_tokens: Option<i64>,
    /// Known faults of this version, mode and settings.
    pub advisories: Vec<Known>,
}

/// One known fault of a node.
#[derive(Clone, Debug, Serialize)]
pub struct Known {
    /// Id.
    pub id: String,
    /// What it can do.
    pub severity: String,
    /// How well it is established.
    pub confidence: String,
    /// `affected` or `cannot tell`.
    pub matches: &'static str,
    /// What would have to be known.
    pub unknown: Vec<String>,
    /// What happens.
    pub summary: String,
}

impl Verdict {
    /// The verdict where nothing could be read.
    pub fn unreadable(why: String) -> Verdict {
        Verdict {
            verdict: "unreadable",
            exit: 2,
            failures: Vec::new(),
            open: vec![why],
            nodes: Vec::new(),
        }
    }
}

/// Judges what nodes said. A failure stands before what stayed open.
pub fn judge(facts: &[NodeFacts], demands: &Demands) -> Verdict {
    let mut failures = Vec::new();
    let mut open = Vec::new();
    let mut nodes = Vec::new();
    if facts.is_empty() {
        open.push("no node was asked".to_owned());
    }
    for node in facts {
        for epoch in &node.epochs {
            let mut told = Told {
                node: &node.node,
                failures: &mut failures,
                open: &mut open,
            };
            let advisories = told.judge(epoch, demands);
            let window = demands.window.or(epoch.window_tokens);
            nodes.push(Node {
                node: node.node.clone(),
                places: node.places.clone(),
                role: epoch.role.map(Role::as_str),
                engine: epoch.engine.clone(),
                engine_version: epoch.engine_version.clone(),
                pool_tokens: epoch.pool_tokens,
                window_tokens: window,
                window_from: match (demands.window, epoch.window_tokens) {
                    (Some(_), _) => Some("flag"),
                    (None, Some(_)) => Some("engine"),
                    (None, None) => None,
                },
                reject_at_tokens: epoch.reject_at_tokens(),
                advisories,
            });
        }
        if node.epochs.is_empty() {
            open.push(format!("{}: no capacity is stated", node.node));
        }
    }
    let (verdict, exit) = match (failures.is_empty(), open.is_empty()) {
        (false, _) => ("fail", 3),
        (true, false) => ("unreadable", 2),
        (true, true) => ("pass", 0),
    };
    Verdict {
        verdict,
        exit,
        failures,
        open,
        nodes,
    }
}

struct Told<'a> {
    node: &'a str,
    failures: &'a mut Vec<String>,
    open: &'a mut Vec<String>,
}

impl Told<'_> {
    fn fail(&mut self, text: &str) {
        self.failures.push(format!("{}: {text}", self.node));
    }

    fn judge(&mut self, epoch: &Epoch, demands: &Demands) -> Vec<Known> {
        let window = demands.window.or(epoch.window_tokens);
        match (epoch.pool_tokens, window) {
            (Some(pool), Some(window)) => self.sizes(pool, window, demands),
            (None, _) => self
                .open
                .push(format!("{}: the pool is not stated", self.node)),
            (_, None) => self.open.push(format!(
                "{}: the window is not stated, give --window",
                self.node
            )),
        }
        let version = demands.min_version.as_ref();
        let version = version.and_then(|least| below_version(epoch, least, "--engine-min-version"));
        for check in version.into_iter().chain(demands.policy.check(epoch)) {
            match check {
                Check::Broken(why) => self.fail(&why),
                Check::Open(why) => self.open.push(format!("{}: {why}", self.node)),
            }
        }
        self.advisories(epoch, demands)
    }

    fn sizes(&mut self, pool: i64, window: i64, demands: &Demands) {
        if pool < window {
            self.fail(&format!(
                "the pool of {pool} tokens is smaller than the window of {window}"
            ));
        }
        let least = demands.min_ratio_thousandths.unwrap_or(0);
        // Both sides in thousandths of a token: whole numbers do not round.
        if i128::from(pool) * 1000 < i128::from(window) * i128::from(least) {
            self.fail(&format!(
                "the pool of {pool} tokens is below --min-ratio of the window of {window}"
            ));
        }
    }

    fn advisories(&mut self, epoch: &Epoch, demands: &Demands) -> Vec<Known> {
        let flags = flags_of(epoch);
        let subject = Subject {
            product: epoch.engine.as_deref(),
            version: epoch.engine_version.as_deref(),
            mode: epoch.mode.as_deref(),
            flags: &flags,
        };
        let mut out = Vec::new();
        for advisory in &demands.advisories {
            let (matched, unknown) = match matches(advisory, &subject) {
                Some(Match::Affected) => ("affected", Vec::new()),
                Some(Match::CannotTell(unknown)) => ("cannot tell", unknown),
                _ => continue,
            };
            if matched == "affected" && demands.fail_on.contains(&advisory.severity) {
                self.fail(&format!("{}: {}", advisory.id, advisory.summary));
            }
            out.push(Known {
                id: advisory.id.clone(),
                severity: advisory.severity.clone(),
                confidence: advisory.confidence.clone(),
                matches: matched,
                unknown,
                summary: advisory.summary.clone(),
            });
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pentimento_core::advisory;

    fn node(pool: Option<i64>, window: Option<i64>) -> NodeFacts {
        NodeFacts {
            node: "p1".into(),
            places: vec!["info.json".into()],
            epochs: vec![Epoch {
                role: Some(Role::Prefill),
                pool_tokens: pool,
                window_tokens: window,
                engine: Some("sglang".into()),
                engine_version: Some("0.5.19".into()),
                mode: Some("disaggregated".into()),
                ..Epoch::default()
            }],
        }
    }

    #[test]
    fn sizes_decide() {
        let base = Demands::default();
        let with = |window, ratio| Demands {
            window,
            min_ratio_thousandths: ratio,
            ..base.clone()
        };
        for (pool, window, demands, exit) in [
            (Some(100), Some(100), with(None, None), 0),
            (Some(99), Some(100), with(None, None), 3),
            (Some(99), Some(100), with(Some(90), None), 0),
            (Some(100), Some(100), with(Some(101), None), 3),
            (Some(100), Some(100), with(None, Some(1001)), 3),
            (Some(101), Some(100), with(None, Some(1010)), 0),
            (None, Some(100), with(None, None), 2),
            (Some(100), None, with(None, None), 2),
            (Some(100), None, with(Some(100), None), 0),
        ] {
            let verdict = judge(&[node(pool, window)], &demands);
            assert_eq!(verdict.exit, exit, "{pool:?} {window:?} {verdict:?}");
        }
        assert_eq!(judge(&[], &base).exit, 2);
        let mut silent = node(None, None);
        silent.epochs.clear();
        assert_eq!(judge(&[silent], &base).exit, 2);
        // One bad role closes the gate for both.
        let both = [node(Some(200), Some(100)), node(Some(50), Some(100))];
        assert_eq!(judge(&both, &base).exit, 3);
    }

    #[test]
    fn versions_and_advisories() {
        let mut demands = Demands {
            advisories: advisory::read(advisory::shipped()).expect("shipped"),
            ..Demands::default()
        };
        let healthy = [node(Some(100), Some(100))];
        let verdict = judge(&healthy, &demands);
        assert_eq!(verdict.exit, 0, "{verdict:?}");
        let known = &verdict.nodes[0].advisories;
        assert!(
            known
                .iter()
                .any(|k| k.id == "PEN-SGL-001" && k.matches == "affected")
        );
        assert!(
            known
                .iter()
                .any(|k| k.id == "PEN-SGL-002" && k.matches == "cannot tell")
        );
        demands.fail_on = vec!["high".into()];
        assert_eq!(judge(&healthy, &demands).exit, 3);
        demands.fail_on.clear();
        demands.min_version = Version::parse("0.5.20");
        assert_eq!(judge(&healthy, &demands).exit, 3);
        let mut unknown = healthy.clone();
        unknown[0].epochs[0].engine_version = None;
        assert_eq!(judge(&unknown, &demands).exit, 2);
    }
}
