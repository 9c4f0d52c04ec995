//! Which length do the logs themselves show? Where dirty answers begin, and how likely that is by
//! chance.

/// A length at which dirty answers begin, as far as the data tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// The longest clean prompt below the shortest dirty one, tokens; `None` where none is shorter.
    pub longest_clean_below: Option<i64>,
    /// The shortest dirty prompt, tokens.
    pub shortest_dirty: i64,
    /// Clean prompts that are at least as long as the shortest dirty one.
    pub clean_above: u64,
    /// Clean prompts below.
    pub clean_below: u64,
    /// Dirty prompts.
    pub dirty: u64,
    /// Natural logarithm of the one-sided p-value of Fisher's exact test: that the dirty prompts
    /// are the longest ones by chance, given how many are at or over the best cut. Corrected for
    /// the number of cuts that were tried.
    pub ln_p: f64,
}

/// Finds the threshold of prompts given as (length in tokens, dirty).
///
/// The cut that is tested is the one at the shortest dirty prompt; as every distinct length could
/// have been that, the p-value is multiplied by their number. `None` without a dirty prompt.
pub fn threshold(prompts: &[(i64, bool)]) -> Option<Threshold> {
    let mut sorted = prompts.to_vec();
    sorted.sort_unstable();
    let shortest_dirty = sorted.iter().find(|p| p.1)?.0;
    let below = sorted.partition_point(|p| p.0 < shortest_dirty);
    let (head, tail) = sorted.split_at(below);
    let dirty = tail.iter().filter(|p| p.1).count() as u64;
    let clean_above = tail.len() as u64 - dirty;
    let mut cuts = 0u64;
    let mut last = None;
    for (length, _) in &sorted {
        if last.replace(*length) != Some(*length) {
            cuts += 1;
        }
    }
    // All dirty prompts lie at or over the cut: one term of the hypergeometric distribution.
    let (all, over) = (sorted.len() as u64, tail.len() as u64);
    let logs = LogFactorials::up_to(all);
    let ln_p = logs.choose(over, dirty) - logs.choose(all, dirty) + (cuts as f64).ln();
    Some(Threshold {
        longest_clean_below: head.last().map(|p| p.0),
        shortest_dirty,
        clean_above,
        clean_below: below as u64,
        dirty,
        ln_p: ln_p.min(0.0),
    })
}

/// Logarithms of factorials, each from the one before.
struct LogFactorials(Vec<f64>);

impl LogFactorials {
    fn up_to(most: u64) -> LogFactorials {
        let mut logs = vec![0.0];
        let mut sum = 0.0f64;
        for n in 1..=most {
            sum += (n as f64).ln();
            logs.push(sum);
        }
        LogFactorials(logs)
    }

    /// Logarithm of a binomial coefficient; minus infinity where it is none.
    fn choose(&self, n: u64, k: u64) -> f64 {
        let at = |i: u64| self.0.get(i as usize).copied();
        match (at(n), at(k), n.checked_sub(k).and_then(at)) {
            (Some(n), Some(k), Some(rest)) => n - k - rest,
            _ => f64::NEG_INFINITY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_incident_brackets_its_limit() {
        let mut prompts: Vec<(i64, bool)> = (0..400).map(|n| (100 + 7 * n, false)).collect();
        prompts.extend([(640_127, false), (681_273, false)]);
        prompts.extend((0..20).map(|n| (681_274 + 9 * n, true)));
        prompts.push((700_000, false));
        let found = threshold(&prompts).unwrap();
        assert_eq!(found.longest_clean_below, Some(681_273));
        assert_eq!(found.shortest_dirty, 681_274);
        assert_eq!((found.clean_above, found.dirty), (1, 20));
        assert!(found.ln_p < -60.0, "{}", found.ln_p);
        assert_eq!(threshold(&prompts[..400]), None);
        prompts.reverse();
        assert_eq!(threshold(&prompts), Some(found));
    }

    #[test]
    fn scattered_dirt_shows_no_threshold() {
        let prompts: Vec<(i64, bool)> = (0..200).map(|n| (100 + n, n % 20 == 3)).collect();
        let found = threshold(&prompts).unwrap();
        assert!(found.ln_p > -0.5, "{}", found.ln_p);
        let single = threshold(&[(5, true)]).unwrap();
        assert_eq!((single.longest_clean_below, single.ln_p), (None, 0.0));
    }
}
