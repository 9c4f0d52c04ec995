//! From margins to chances: the margins of impossible sources say what chance alone gives.

use super::gain::millibits;

/// Fewest margins to judge by.
const FEWEST: usize = 200;
/// The tail beyond which single margins are too few: one in this many.
const TAIL: usize = 200;
/// Least margins in the tail.
const LEAST_TAIL: usize = 10;

/// The distribution of margins that chance gives, in millibits.
pub(super) struct Null {
    /// Ascending.
    margins: Vec<i64>,
    /// Where the tail begins.
    cut: i64,
    /// How many margins lie in it.
    tail: usize,
    /// Mean excess over the cut.
    excess: i64,
}

impl Null {
    /// The distribution of a list of margins; `None` if they are too few.
    pub fn new(mut margins: Vec<i64>) -> Option<Null> {
        if margins.len() < FEWEST {
            return None;
        }
        margins.sort_unstable();
        let tail = (margins.len() / TAIL).max(LEAST_TAIL);
        let cut = margins[margins.len() - tail - 1];
        let over = &margins[margins.len() - tail..];
        let sum: i128 = over.iter().map(|&m| i128::from(m - cut)).sum();
        let excess = i64::try_from(sum / tail as i128).unwrap_or(i64::MAX).max(1);
        Some(Null {
            margins,
            cut,
            tail,
            excess,
        })
    }

    /// Margins it was taken from.
    pub fn len(&self) -> usize {
        self.margins.len()
    }

    /// Chance of a margin at least as large.
    ///
    /// Below the cut it is counted. Beyond, it falls off exponentially with the mean excess of
    /// the tail, which is how margins made of sums fall off; it never drops below the counted
    /// share where margins as large were seen.
    pub fn p_value(&self, margin: i64) -> f64 {
        let total = (self.margins.len() + 1) as f64;
        let at_least = self.margins.len() - self.margins.partition_point(|&m| m < margin);
        let counted = at_least as f64 / total;
        if margin <= self.cut {
            return (at_least + 1) as f64 / total;
        }
        // e^-x = 2^(-x log2 e); log2 e = 1.442695.
        let excess = i128::from(self.excess);
        let millis = i128::from(margin - self.cut) * 1_442_695 / (excess * 1000);
        let tail = self.tail as f64 / total * power_of_half(millis);
        tail.max(counted)
    }
}

/// 2 to the power of -`millis` / 1000, equal on every machine.
fn power_of_half(millis: i128) -> f64 {
    let millis = millis.clamp(0, 200_000);
    let whole = (millis / 1000) as i32;
    // The integer whose logarithm is the fraction, by search: products would round differently.
    let want = 20_000 + (millis % 1000) as i32;
    let (mut low, mut high) = (1u64 << 20, 1u64 << 21);
    while low + 1 < high {
        let middle = (low + high) / 2;
        if millibits(middle) <= want {
            low = middle;
        } else {
            high = middle;
        }
    }
    let fraction = f64::from(1 << 20) / low as f64;
    // Halving is exact.
    (0..whole).fold(fraction, |p, _| p / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_a_half() {
        for millis in [0, 1, 500, 999, 1000, 1500, 12_345] {
            let exact = 0.5f64.powf(millis as f64 / 1000.0);
            let got = power_of_half(millis);
            assert!((got / exact - 1.0).abs() < 2e-3, "{millis}: {got} {exact}");
        }
        assert!(power_of_half(1 << 40) > 0.0);
    }

    #[test]
    fn chances_are_counted_then_extrapolated() {
        assert!(Null::new(vec![1; 199]).is_none());
        let null = Null::new((0..10_000).collect()).unwrap();
        assert!((null.p_value(5_000) - 0.5).abs() < 1e-3);
        assert!((null.p_value(-7) - 1.0).abs() < 1e-3);
        let mut last = 1.0;
        for margin in (0..20_000).step_by(7) {
            let p = null.p_value(margin);
            assert!(p > 0.0 && p <= last, "{margin}");
            last = p;
        }
        assert!(last < 1e-12);
    }

    #[test]
    fn equal_margins_give_no_certainty() {
        let null = Null::new(vec![3; 1000]).unwrap();
        assert!((null.p_value(3) - 1.0).abs() < 1e-9);
        assert!(null.p_value(4) < 0.02);
    }
}
