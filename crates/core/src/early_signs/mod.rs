//! Trouble that was taken for the network's: does it depend on the prompt's length, on an abort
//! nearby or on a node, more than on the hour or on the link?
//!
//! Counts come in, one per month, version, kind of trouble, factor and value of the factor; leads
//! come out. Each factor is tested at the value that is most unlikely by chance, the p-value is
//! multiplied by the values tried, and all tests of a case are corrected together (Holm).

mod fisher;

pub use fisher::{log10_fisher_permille, log10_permille};
use std::collections::{BTreeMap, btree_map::Entry};

/// A corrected p-value of at most one in a thousand makes a lead.
pub const LEAD_LOG10_P_PERMILLE: i64 = -3000;
/// How much more unlikely than by hour or link, as a decimal logarithm in thousandths: tenfold.
pub const LEAD_MARGIN_PERMILLE: i64 = 1000;
/// Fewer calls in trouble are no pattern.
pub const LEAST_TROUBLED: u64 = 5;

/// What trouble may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Factor {
    /// The length of the prompt: at least so many tokens.
    Length,
    /// A request that was broken off on the same node within the minute before.
    Abort,
    /// The node that computed.
    Node,
    /// The hour: a bad hour is an outage.
    Hour,
    /// The pair of nodes between which the cache was moved: a bad pair is a bad link.
    Link,
}

impl Factor {
    /// All of them.
    pub const ALL: [Factor; 5] = [
        Factor::Length,
        Factor::Abort,
        Factor::Node,
        Factor::Hour,
        Factor::Link,
    ];

    /// Its word in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Factor::Length => "length",
            Factor::Abort => "abort",
            Factor::Node => "node",
            Factor::Hour => "hour",
            Factor::Link => "link",
        }
    }

    /// Reads its word.
    pub fn parse(word: &str) -> Option<Factor> {
        Factor::ALL.into_iter().find(|f| f.as_str() == word)
    }

    /// Hours and links are what a network explains.
    fn is_network(self) -> bool {
        matches!(self, Factor::Hour | Factor::Link)
    }
}

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// Month as `YYYY-MM`.
    pub month: String,
    /// Engine and version.
    pub version: String,
    /// Kind of trouble.
    pub sign: String,
}

/// Calls and those in trouble, of a group and one value of one factor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelCount {
    /// Which group.
    pub group: Group,
    /// Which factor.
    pub factor: Factor,
    /// Which value of it; `None`: all calls for which the factor is known.
    pub level: Option<String>,
    /// Calls.
    pub calls: u64,
    /// Those of them in trouble.
    pub troubled: u64,
}

/// How a group depends on a factor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlySign {
    /// Which group.
    pub group: Group,
    /// Which factor.
    pub factor: Factor,
    /// The value of it that is most unlikely by chance.
    pub level: String,
    /// Calls of the group for which the factor is known.
    pub calls: u64,
    /// Those of them in trouble.
    pub troubled: u64,
    /// Calls at the level.
    pub calls_at_level: u64,
    /// Those of them in trouble.
    pub troubled_at_level: u64,
    /// Values tried.
    pub levels: u64,
    /// Decimal logarithm of the p-value times the values tried, in thousandths.
    pub log10_p_permille: i64,
    /// The same after Holm's correction for all tests.
    pub log10_p_holm_permille: i64,
    /// Whether it is a lead.
    pub lead: bool,
}

#[derive(Default)]
struct Tested {
    all: Option<(u64, u64)>,
    /// By level, so that the order of the counts does not matter.
    levels: BTreeMap<String, (u64, u64)>,
}

/// Tests all groups. The result is in order of group and factor, whatever the order of the counts.
pub fn early_signs(counts: impl IntoIterator<Item = LevelCount>) -> Vec<EarlySign> {
    let mut tests: BTreeMap<(Group, Factor), Tested> = BTreeMap::new();
    for count in counts {
        let tested = tests.entry((count.group, count.factor)).or_default();
        let pair = (count.calls, count.troubled);
        match count.level {
            None => add(tested.all.get_or_insert((0, 0)), pair),
            Some(level) => match tested.levels.entry(level) {
                Entry::Vacant(free) => {
                    free.insert(pair);
                }
                Entry::Occupied(mut there) => add(there.get_mut(), pair),
            },
        }
    }
    let mut signs: Vec<EarlySign> = tests
        .into_iter()
        .filter_map(|((group, factor), tested)| test(group, factor, &tested))
        .collect();
    holm(&mut signs);
    leads(&mut signs);
    signs
}

fn add(sum: &mut (u64, u64), more: (u64, u64)) {
    *sum = (sum.0.saturating_add(more.0), sum.1.saturating_add(more.1));
}

fn test(group: Group, factor: Factor, tested: &Tested) -> Option<EarlySign> {
    let (calls, troubled) = tested.all?;
    if troubled < LEAST_TROUBLED || troubled > calls {
        return None;
    }
    // A level that holds all calls, or none, says nothing.
    let levels = || {
        let sizes = tested.levels.iter();
        sizes.filter(|(_, (n, bad))| *n > 0 && *n < calls && bad <= n)
    };
    let tried = levels().count() as u64;
    // The first of equals, in order of the levels' names.
    let (p, level, (n, bad)) = levels()
        .map(|(name, pair)| {
            (
                log10_fisher_permille(calls, pair.0, troubled, pair.1),
                name,
                *pair,
            )
        })
        .min_by_key(|(p, _, _)| *p)?;
    Some(EarlySign {
        group,
        factor,
        level: level.clone(),
        calls,
        troubled,
        calls_at_level: n,
        troubled_at_level: bad,
        levels: tried,
        log10_p_permille: (p + log10_permille(tried)).min(0),
        log10_p_holm_permille: 0,
        lead: false,
    })
}

/// Holm: the k-th smallest of m p-values times m - k + 1, never below the one before.
fn holm(signs: &mut [EarlySign]) {
    let mut order: Vec<usize> = (0..signs.len()).collect();
    order.sort_by_key(|&i| (signs[i].log10_p_permille, i));
    let mut last = i64::MIN;
    for (rank, &i) in order.iter().enumerate() {
        let left = (signs.len() - rank) as u64;
        let corrected = signs[i]
            .log10_p_permille
            .saturating_add(log10_permille(left));
        last = last.max(corrected.min(0));
        signs[i].log10_p_holm_permille = last;
    }
}

/// Marks what is beyond chance and what no hour and no link explains as well.
fn leads(signs: &mut [EarlySign]) {
    let mut network: BTreeMap<Group, i64> = BTreeMap::new();
    for sign in signs.iter().filter(|s| s.factor.is_network()) {
        let best = network.entry(sign.group.clone()).or_insert(0);
        *best = (*best).min(sign.log10_p_permille);
    }
    for sign in signs.iter_mut().filter(|s| !s.factor.is_network()) {
        let rival = network.get(&sign.group).copied().unwrap_or(0);
        sign.lead = sign.log10_p_holm_permille <= LEAD_LOG10_P_PERMILLE
            && sign.log10_p_permille <= rival.saturating_sub(LEAD_MARGIN_PERMILLE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn count(sign: &str, factor: Factor, level: &str, calls: u64, troubled: u64) -> LevelCount {
        LevelCount {
            group: Group {
                month: "2026-05".into(),
                version: "sglang 0.5.11".into(),
                sign: sign.into(),
            },
            factor,
            level: (!level.is_empty()).then(|| level.into()),
            calls,
            troubled,
        }
    }

    #[test]
    fn errors_of_long_prompts_are_a_lead_and_those_of_a_bad_link_are_none() {
        let counts = vec![
            count("transfer_error", Factor::Length, "", 10_000, 30),
            count("transfer_error", Factor::Length, "65536", 400, 27),
            count("transfer_error", Factor::Length, "4096", 5_000, 30),
            count("transfer_error", Factor::Link, "", 10_000, 30),
            count("transfer_error", Factor::Link, "p1>d1", 5_000, 17),
            count("transfer_error", Factor::Link, "p1>d2", 5_000, 13),
            count("timeout", Factor::Node, "", 10_000, 40),
            count("timeout", Factor::Node, "p1", 5_000, 40),
            count("timeout", Factor::Link, "", 10_000, 40),
            count("timeout", Factor::Link, "p1>d2", 1_200, 40),
            count("empty_answer", Factor::Length, "", 10_000, 4),
            count("empty_answer", Factor::Length, "65536", 10, 4),
        ];
        let signs = early_signs(counts.clone());
        let of = |sign: &str, factor| {
            let mut all = signs.iter();
            all.find(|s| s.group.sign == sign && s.factor == factor)
                .unwrap()
        };
        let long = of("transfer_error", Factor::Length);
        assert_eq!(
            (long.level.as_str(), long.levels, long.lead),
            ("65536", 2, true)
        );
        assert!(long.log10_p_permille < long.log10_p_holm_permille);
        // All of it on one of two nodes, and more narrowly on one link of it.
        let node = of("timeout", Factor::Node);
        assert!(node.log10_p_holm_permille < -3000 && !node.lead, "{node:?}");
        assert!(!of("timeout", Factor::Link).lead);
        assert!(signs.iter().all(|s| s.group.sign != "empty_answer"));
        let mut turned = counts;
        turned.reverse();
        assert_eq!(early_signs(turned), signs);
    }

    #[test]
    fn holm_by_hand() {
        // p = 10^-4, 10^-2, 10^-1.5 of three tests: times 3, 2, 1.
        let sign = |p| EarlySign {
            log10_p_permille: p,
            ..test(
                count("s", Factor::Node, "", 0, 0).group,
                Factor::Node,
                &Tested {
                    all: Some((100, 10)),
                    levels: BTreeMap::from([("a".to_owned(), (50, 5))]),
                },
            )
            .unwrap()
        };
        let mut signs = vec![sign(-2000), sign(-4000), sign(-1500), sign(0)];
        holm(&mut signs);
        let found: Vec<i64> = signs.iter().map(|s| s.log10_p_holm_permille).collect();
        assert_eq!(found, [-2000 + 477, -4000 + 602, -1500 + 301, 0]);
    }

    proptest! {
        /// Trouble that is spread like the calls gives no lead.
        #[test]
        fn spread_trouble_is_silent(each in 1u64..50, bad in 1u64..5, nodes in 2usize..40) {
            let names: Vec<String> = (0..nodes).map(|n| format!("n{n}")).collect();
            let total = nodes as u64;
            let all = count("timeout", Factor::Node, "", each * 9 * total, bad * total);
            let mut counts = vec![all];
            counts.extend(names.iter().map(|n| count("timeout", Factor::Node, n, each * 9, bad)));
            prop_assert!(early_signs(counts).iter().all(|s| !s.lead && s.log10_p_permille == 0));
        }
    }
}
