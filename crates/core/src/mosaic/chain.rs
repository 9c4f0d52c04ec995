//! Chains of short shared fragments, as alignment tools chain seeds: in order in both texts, each
//! step paid for, so that the score of a chain bounds the chance of it.
//!
//! With fragments of surprise `b` (in bits) at independent places, text of length `n` and source of
//! length `m`, about `n m 2^-b` fragments fit by chance. A step from one fragment to the next over
//! gaps of `a` and `c` tokens costs `STEP + GAP (a + c)`; summed over all gaps, two to the minus of
//! that is at most a half. So no more than `2 n m 2^-s` chains of score `s` are expected by chance.

/// Cost of a step, in millibits: `1 + 2 log2(1 / (1 - 2^-GAP))`, rounded up.
pub(crate) const STEP: i64 = 8_200;
/// Cost of a token that a step leaves out on either side, in millibits.
pub(crate) const GAP: i64 = 125;

/// A run of tokens that two texts share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fragment {
    /// First token in the judged text and one past the last.
    pub i: (u32, u32),
    /// The same in the source.
    pub j: (u32, u32),
    /// Surprise of the tokens.
    pub millibits: u32,
}

/// The best chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// Surprise of its fragments less the cost of its steps.
    pub score: i64,
    /// Places of its fragments in the list, in order.
    pub members: Vec<usize>,
}

/// The largest value and its place, over prefixes.
struct Fenwick(Vec<Option<(i64, usize)>>);

impl Fenwick {
    fn add(&mut self, mut at: usize, value: (i64, usize)) {
        while at < self.0.len() {
            self.0[at] = self.0[at].max(Some(value));
            at |= at + 1;
        }
    }

    /// Over places `0..=at`.
    fn best(&self, mut at: usize) -> Option<(i64, usize)> {
        let mut best = self.0[at];
        while at & (at + 1) != 0 {
            at = (at & (at + 1)) - 1;
            best = best.max(self.0[at]);
        }
        best
    }
}

/// The chain of the highest score of fragments that are ascending; of equal ones the last. Takes
/// `n log n` steps.
pub(crate) fn chain(fragments: &[Fragment]) -> Option<Chain> {
    let mut ends: Vec<usize> = (0..fragments.len()).collect();
    ends.sort_unstable_by_key(|&f| (fragments[f].i.1, f));
    let mut columns: Vec<u32> = fragments.iter().map(|f| f.j.1).collect();
    columns.sort_unstable();
    columns.dedup();
    let mut tree = Fenwick(vec![None; columns.len()]);
    // Per fragment the best score of a chain that ends with it, and what stands before it.
    let mut best: Vec<(i64, Option<usize>)> = Vec::with_capacity(fragments.len());
    let mut ended = 0;
    for fragment in fragments {
        while let Some(&f) = ends
            .get(ended)
            .filter(|&&f| fragments[f].i.1 <= fragment.i.0)
        {
            let (_, to) = (fragments[f].i, fragments[f].j.1);
            let value = best[f].0 + GAP * (i64::from(fragments[f].i.1) + i64::from(to));
            tree.add(columns.partition_point(|&c| c < to), (value, f));
            ended += 1;
        }
        let own = i64::from(fragment.millibits);
        let before = columns.partition_point(|&c| c <= fragment.j.0);
        let joined = before
            .checked_sub(1)
            .and_then(|at| tree.best(at))
            .map(|(value, f)| {
                let gaps = GAP * (i64::from(fragment.i.0) + i64::from(fragment.j.0));
                (own + value - gaps - STEP, Some(f))
            });
        best.push(joined.filter(|j| j.0 > own).unwrap_or((own, None)));
    }
    let last = (0..best.len()).max_by_key(|&f| (best[f].0, f))?;
    let mut members = vec![last];
    while let Some(before) = best[members[members.len() - 1]].1 {
        members.push(before);
    }
    members.reverse();
    Some(Chain {
        score: best[last].0,
        members,
    })
}

/// Makes maximal fragments of seeds that overlap or touch on one diagonal. A seed names its tokens
/// in both texts and the surprise before its first and behind its last token, summed from the start
/// of the judged text.
pub(crate) fn merge(seeds: &mut [(Fragment, (u32, u32))]) -> Vec<Fragment> {
    let diagonal = |f: &Fragment| i64::from(f.j.0) - i64::from(f.i.0);
    seeds.sort_unstable_by_key(|(f, _)| (diagonal(f), f.i, f.j));
    let mut out: Vec<(Fragment, (u32, u32))> = Vec::new();
    for &(seed, sums) in seeds.iter() {
        match out.last_mut() {
            Some((run, known)) if diagonal(run) == diagonal(&seed) && seed.i.0 <= run.i.1 => {
                run.i.1 = run.i.1.max(seed.i.1);
                run.j.1 = run.j.1.max(seed.j.1);
                known.1 = known.1.max(sums.1);
            }
            _ => out.push((seed, sums)),
        }
    }
    let mut fragments: Vec<Fragment> = out
        .into_iter()
        .map(|(run, sums)| Fragment {
            millibits: sums.1.saturating_sub(sums.0),
            ..run
        })
        .collect();
    fragments.sort_unstable();
    fragments
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every pair is tried.
    fn naive(fragments: &[Fragment]) -> Option<i64> {
        let mut best: Vec<i64> = Vec::new();
        for (at, f) in fragments.iter().enumerate() {
            let mut score = i64::from(f.millibits);
            for (p, before) in fragments[..at].iter().zip(best.clone()) {
                if p.i.1 <= f.i.0 && p.j.1 <= f.j.0 {
                    let gaps = i64::from(f.i.0 - p.i.1) + i64::from(f.j.0 - p.j.1);
                    score = score.max(before + i64::from(f.millibits) - STEP - GAP * gaps);
                }
            }
            best.push(score);
        }
        best.into_iter().max()
    }

    fn score_of(fragments: &[Fragment], members: &[usize]) -> i64 {
        let mut score = 0;
        for (at, &m) in members.iter().enumerate() {
            let f = fragments[m];
            score += i64::from(f.millibits);
            if let Some(p) = at.checked_sub(1).map(|b| fragments[members[b]]) {
                assert!(p.i.1 <= f.i.0 && p.j.1 <= f.j.0);
                score -= STEP + GAP * (i64::from(f.i.0 - p.i.1) + i64::from(f.j.0 - p.j.1));
            }
        }
        score
    }

    #[test]
    fn the_cost_of_steps_keeps_the_bound() {
        let one = 1.0 / (1.0 - (-(GAP as f64) / 1000.0).exp2());
        assert!(one * one * (-(STEP as f64) / 1000.0).exp2() <= 0.5);
    }

    #[test]
    fn many_fragments_take_little_time() {
        let fragments: Vec<Fragment> = (0..300_000)
            .map(|n| Fragment {
                i: (n * 5, n * 5 + 4),
                j: (n * 6, n * 6 + 4),
                millibits: 30_000,
            })
            .collect();
        let found = chain(&fragments).map(|c| c.members.len());
        assert_eq!(found, Some(fragments.len()));
    }

    proptest! {
        #[test]
        fn equals_the_naive_one(
            raw in prop::collection::vec((0u32..60, 0u32..60, 1u32..8, 0u32..60_000), 0..24),
        ) {
            let mut fragments: Vec<Fragment> = raw
                .into_iter()
                .map(|(i, j, n, millibits)| Fragment { i: (i, i + n), j: (j, j + n), millibits })
                .collect();
            fragments.sort_unstable();
            let found = chain(&fragments);
            prop_assert_eq!(found.as_ref().map(|c| c.score), naive(&fragments));
            if let Some(found) = found {
                prop_assert_eq!(score_of(&fragments, &found.members), found.score);
            }
        }

        #[test]
        fn merged_seeds_are_maximal(raw in prop::collection::vec((0u32..30, 0u32..4), 0..20)) {
            let mut seeds: Vec<(Fragment, (u32, u32))> = raw
                .iter()
                .map(|&(i, d)| {
                    let run = Fragment { i: (i, i + 4), j: (i + d, i + d + 4), millibits: 0 };
                    (run, (i * 10, i * 10 + 40))
                })
                .collect();
            let fragments = merge(&mut seeds);
            for f in &fragments {
                prop_assert_eq!(f.millibits, (f.i.1 - f.i.0) * 10);
                let touches = |g: &&Fragment| {
                    *g != f
                        && g.j.0 + f.i.0 == f.j.0 + g.i.0
                        && g.i.0 <= f.i.1
                        && f.i.0 <= g.i.1
                };
                prop_assert!(fragments.iter().find(touches).is_none());
            }
            for &(i, d) in &raw {
                let covers = |f: &Fragment| f.j.0 == f.i.0 + d && f.i.0 <= i && i + 4 <= f.i.1;
                prop_assert!(fragments.iter().any(covers), "{i} {d}");
            }
        }
    }
}
