//! How far an answer lies from the answers of the same model and node.

use super::operator::{HealthRow, HealthSubject};
use std::collections::BTreeMap;

/// Fewest answers that a median is taken of.
const FEWEST: usize = 50;

/// Robust deviations from the median of a group, in thousandths: 1000 is about one standard
/// deviation of well-behaved values. Positive means worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deviations {
    /// Of the share of tokens in the longest loop.
    pub repetition: i64,
    /// Of the distinct pairs of tokens; fewer are worse.
    pub distinct: i64,
    /// Of the compressed size; smaller is worse.
    pub compression: i64,
    /// Of the broken and unusual characters.
    pub characters: i64,
    /// Of the length, either way, by its logarithm.
    pub length: i64,
}

/// Measures that are compared, larger is worse, and the least spread that each is taken to have.
const LEAST_SPREAD: [i64; 5] = [20, 20, 20, 2, 300];

fn measures(row: &HealthRow) -> [i64; 5] {
    let h = &row.health;
    let share = |part: u32, all: u32| i64::from(part) * 1000 / i64::from(all.max(1));
    [
        share(h.loop_tokens, h.tokens),
        -i64::from(h.distinct_2),
        -i64::from(h.compression),
        share(
            h.replacement_characters + h.control_characters + h.rare_characters,
            h.characters,
        ),
        i64::from(crate::attribution::millibits(u64::from(h.tokens))),
    ]
}

/// Median and spread of each measure of a group.
#[derive(Clone, Copy)]
struct Normal([(i64, i64); 5]);

impl Normal {
    fn new(rows: &[usize], values: &[[i64; 5]]) -> Option<Normal> {
        if rows.len() < FEWEST {
            return None;
        }
        let mut normal = [(0, 0); 5];
        for (measure, slot) in normal.iter_mut().enumerate() {
            let mut column: Vec<i64> = rows.iter().map(|&r| values[r][measure]).collect();
            let middle = median(&mut column);
            column.iter_mut().for_each(|v| *v = (*v - middle).abs());
            *slot = (middle, median(&mut column).max(LEAST_SPREAD[measure]));
        }
        Some(Normal(normal))
    }

    fn deviations(&self, values: &[i64; 5]) -> Deviations {
        // 1.4826 makes the median of absolute deviations a standard deviation.
        let far = |measure: usize| {
            let (middle, spread) = self.0[measure];
            (values[measure] - middle) * 10_000_000 / (spread * 14_826)
        };
        Deviations {
            repetition: far(0),
            distinct: far(1),
            compression: far(2),
            characters: far(3),
            length: far(4).abs(),
        }
    }
}

/// The lower median.
fn median(values: &mut [i64]) -> i64 {
    let at = values.len().saturating_sub(1) / 2;
    match values.len() {
        0 => 0,
        _ => *values.select_nth_unstable(at).1,
    }
}

/// Fills in the deviations of all rows: from the answers of the same model and node, else of the
/// model, else of all; `None` where even those are few.
pub(super) fn deviate(rows: &mut [HealthRow], places: &[HealthSubject]) {
    let values: Vec<[i64; 5]> = rows.iter().map(measures).collect();
    let place = |row: &HealthRow| {
        let place = places.get(row.exchange as usize).copied();
        place.unwrap_or_default()
    };
    let mut groups: [BTreeMap<_, Vec<usize>>; 3] = Default::default();
    let keys = |p: HealthSubject| [(p.model, p.node), (p.model, None), (None, None)];
    for (number, row) in rows.iter().enumerate() {
        for (groups, key) in groups.iter_mut().zip(keys(place(row))) {
            groups.entry(key).or_default().push(number);
        }
    }
    let normals = groups.map(|groups| {
        let normal = |(key, rows): (_, Vec<usize>)| (key, Normal::new(&rows, &values));
        groups.into_iter().map(normal).collect::<BTreeMap<_, _>>()
    });
    for (number, row) in rows.iter_mut().enumerate() {
        let mut levels = normals.iter().zip(keys(place(row)));
        let normal = levels.find_map(|(normals, key)| normals.get(&key).copied().flatten());
        row.deviations = normal.map(|n| n.deviations(&values[number]));
    }
}
