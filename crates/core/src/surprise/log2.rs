//! Logarithms in thousandths of a bit, from integers and one fixed table: equal on every machine.

/// Entries of the table.
const STEPS: usize = 1024;

/// `1000 * log2(1 + i / 1024)`, rounded to the nearest.
const TABLE: [u16; STEPS] = table();

const fn table() -> [u16; STEPS] {
    let mut out = [0u16; STEPS];
    let mut i = 0;
    while i < STEPS {
        // Squaring a number in [1, 2) yields the next binary digit of its logarithm.
        let mut x = ((STEPS + i) as u64) << 20;
        let mut digits = 0u64;
        let mut round = 0;
        while round < 20 {
            x = (x * x) >> 30;
            digits <<= 1;
            if x >= 2 << 30 {
                x >>= 1;
                digits |= 1;
            }
            round += 1;
        }
        out[i] = ((digits * 1000 + (1 << 19)) >> 20) as u16;
        i += 1;
    }
    out
}

/// The binary logarithm in millibits, at most 2 too small; 0 for 0.
pub fn log2_millibits(value: u64) -> u32 {
    if value == 0 {
        return 0;
    }
    let whole = value.ilog2();
    let fraction = if whole >= 10 {
        value >> (whole - 10)
    } else {
        value << (10 - whole)
    };
    whole * 1000 + u32::from(TABLE[fraction as usize - STEPS])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_floating_point() {
        let mut value = 1u64;
        while value < u64::MAX / 3 {
            let exact = (value as f64).log2() * 1000.0;
            let ours = f64::from(log2_millibits(value));
            assert!(
                ours <= exact + 0.6 && exact - ours < 2.1,
                "{value}: {ours} {exact}"
            );
            value += value / 8 + 1;
        }
        assert_eq!(log2_millibits(0), 0);
        assert_eq!(log2_millibits(1), 0);
        assert_eq!(log2_millibits(1 << 63), 63_000);
        assert_eq!(log2_millibits(3), 1585);
    }
}
