//! Fisher's exact test, one-sided, in integers: equal on every machine, and constant memory.

/// Binary digits behind the point.
const DIGITS: u32 = 40;
/// 1 in that unit.
const ONE: i128 = 1 << DIGITS;
/// `log2(e)` in that unit: 1.442695040888963407… × 2^40.
const LOG2_E: i128 = 1_586_259_972_792;
/// `log2(2 pi)` in that unit: 2.651496129472318798… × 2^40.
const LOG2_TWO_PI: i128 = 2_915_350_825_358;
/// Factorials below this are added up; from here on Stirling's series is exact to the last digits.
const SMALL: u64 = 64;
/// Thousandths of a decimal digit in one bit, times 10^9.
const PERMILLE_PER_BIT: i128 = 301_029_995_664;

/// The binary logarithm with [`DIGITS`] digits; 0 for 0.
fn log2(value: u64) -> i128 {
    if value == 0 {
        return 0;
    }
    let mut digits = i128::from(value.ilog2());
    // In [1, 2) with 63 digits; squaring yields the next digit of the logarithm.
    let mut x = value << value.leading_zeros();
    for _ in 0..DIGITS {
        let square = (u128::from(x) * u128::from(x)) >> 63;
        digits <<= 1;
        if square >> 64 != 0 {
            digits |= 1;
            x = (square >> 1) as u64;
        } else {
            x = square as u64;
        }
    }
    digits
}

/// The binary logarithm of a factorial.
fn log2_factorial(n: u64) -> i128 {
    if n < SMALL {
        return (2..=n).map(log2).sum();
    }
    let wide = i128::from(n);
    let stirling = wide * log2(n) - wide * LOG2_E + (log2(n) + LOG2_TWO_PI) / 2;
    // 1/(12 n) - 1/(360 n^3) + 1/(1260 n^5), the last term below 2^-40 at 64 already.
    let series = ONE / (12 * wide) - ONE / (360 * wide * wide * wide);
    stirling + ((series * LOG2_E) >> DIGITS)
}

fn choose(n: u64, k: u64) -> i128 {
    log2_factorial(n) - log2_factorial(k) - log2_factorial(n - k)
}

/// The probability that at least `hits` of `drawn` are among the `marked` of `all` by chance, as a
/// decimal logarithm in thousandths; never above 0. Where no more hits than expected are there, 0:
/// no test is needed to say that nothing is unusual.
pub fn log10_fisher_permille(all: u64, marked: u64, drawn: u64, hits: u64) -> i64 {
    let expected = u128::from(marked) * u128::from(drawn);
    if marked > all || drawn > all || u128::from(hits) * u128::from(all) <= expected {
        return 0;
    }
    let most = marked.min(drawn);
    if hits > most {
        return 0;
    }
    // hits > expected, so `drawn - hits` of the unmarked are there to be drawn.
    let first = choose(marked, hits) + choose(all - marked, drawn - hits) - choose(all, drawn);
    // The further terms against the first: each is a smaller share of the one before. Only sums,
    // products and quotients, which are the same on every machine.
    let (mut sum, mut term) = (1.0f64, 1.0f64);
    for k in hits..most {
        let up = (marked - k) as f64 * (drawn - k) as f64;
        let down = (k + 1) as f64 * (all + k + 1 - marked - drawn) as f64;
        term *= up / down;
        sum += term;
        if term < sum * 1e-15 {
            break;
        }
    }
    let bits = first + log2((sum * (1u64 << 20) as f64) as u64) - (i128::from(20) << DIGITS);
    let permille = (bits * PERMILLE_PER_BIT) >> DIGITS;
    i64::try_from(permille / 1_000_000_000).map_or(i64::MIN, |p| p.min(0))
}

/// The decimal logarithm of a count in thousandths, rounded down; 0 for 0.
pub fn log10_permille(count: u64) -> i64 {
    let permille = (log2(count) * PERMILLE_PER_BIT) >> DIGITS;
    i64::try_from(permille / 1_000_000_000).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_agree_with_floating_point() {
        let mut n = 1u64;
        while n < 1 << 50 {
            let ours = log2(n) as f64 / ONE as f64;
            assert!((ours - (n as f64).log2()).abs() < 1e-9, "{n} {ours}");
            n += n / 3 + 1;
        }
        let mut sum = 0.0f64;
        for n in 1..5_000u64 {
            sum += (n as f64).log2();
            let ours = log2_factorial(n) as f64 / ONE as f64;
            assert!((ours - sum).abs() < 1e-6, "{n} {ours} {sum}");
        }
        assert!((2999..=3000).contains(&log10_permille(1000)));
        assert_eq!(log10_permille(1), 0);
    }

    #[test]
    fn cups_of_tea_by_hand() {
        // 8 cups, 4 with milk first, 4 chosen: all four right is 1 in 70, three or more 17 in 70.
        let log = |p: f64| p.log10() * 1000.0;
        let near = |permille: i64, p: f64| assert!((permille as f64 - log(p)).abs() < 1.5, "{p}");
        near(log10_fisher_permille(8, 4, 4, 4), 1.0 / 70.0);
        near(log10_fisher_permille(8, 4, 4, 3), 17.0 / 70.0);
        assert_eq!(log10_fisher_permille(8, 4, 4, 2), 0);
        assert_eq!(log10_fisher_permille(8, 4, 4, 5), 0);
        assert_eq!(log10_fisher_permille(0, 0, 0, 0), 0);
    }

    #[test]
    fn agrees_with_counting_every_draw() {
        for all in 2u32..=11 {
            for marked in 1..all {
                for drawn in 1..all {
                    let mut ways = vec![0u32; all as usize + 1];
                    for set in (0u32..1 << all).filter(|s| s.count_ones() == drawn) {
                        ways[(set & ((1 << marked) - 1)).count_ones() as usize] += 1;
                    }
                    let total: u32 = ways.iter().sum();
                    for hits in 0..=marked.min(drawn) {
                        let at_least: u32 = ways[hits as usize..].iter().sum();
                        let exact = (f64::from(at_least) / f64::from(total)).log10() * 1000.0;
                        let ours = log10_fisher_permille(
                            all.into(),
                            marked.into(),
                            drawn.into(),
                            hits.into(),
                        );
                        let usual = hits * all <= marked * drawn;
                        let right = if usual {
                            ours == 0
                        } else {
                            (ours as f64 - exact).abs() < 1.5
                        };
                        assert!(right, "{all} {marked} {drawn} {hits}: {ours} {exact}");
                    }
                }
            }
        }
    }

    #[test]
    fn large_counts_are_quick_and_finite() {
        let p = log10_fisher_permille(1_000_000_000, 1_000_000, 5_000, 400);
        assert!(p < -300_000 && p > i64::MIN, "{p}");
        assert_eq!(log10_fisher_permille(u64::MAX / 2, 7, u64::MAX / 4, 1), 0);
    }
}
