//! Controls: how often the rules hit where nothing can have leaked, and how many of the exposed
//! responses would hit for the same reasons.

use serde::Serialize;

/// Two-sided 95 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Responses of one stratum: a day, a class of lengths, a class of tenants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stratum {
    /// Exposed responses that could be assessed.
    pub exposed: i64,
    /// Other assessed responses.
    pub controls: i64,
    /// Those of them that the rules call confirmed or probable.
    pub hits: i64,
}

/// One control group.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ControlRow {
    /// `untriggered`, `other_memory` or `time_reversed`.
    pub control: String,
    /// What was put through the rules: responses, or pairs of response and source.
    pub tried: i64,
    /// How many of them hit.
    pub hits: i64,
    /// Exposed responses (or pairs) that the rate is applied to.
    pub exposed: i64,
    /// False hits to expect among them; null where there was nothing to try.
    pub expected: Option<f64>,
    /// Lower end of its 95 % interval.
    pub expected_low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub expected_high: Option<f64>,
}

/// One combination of witnesses that speak against the same responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SignalRow {
    /// A passage of another tenant, whole or in pieces.
    pub passage: bool,
    /// An identifier of another tenant.
    pub identifier: bool,
    /// The answer fits another tenant's question.
    pub fit: bool,
    /// What engines say of the call.
    pub engine: bool,
    /// The first token came too soon.
    pub first_token: bool,
    /// The prompt was over the limit.
    pub prompt_length: bool,
    /// Independent witnesses among them: passage, identifier and fit share a cause and are one.
    pub witnesses: i64,
    /// Responses with exactly these.
    pub responses: i64,
}

/// Wilson's 95 % interval of a rate; `None` without any trial.
pub fn wilson(hits: i64, tried: i64) -> Option<(f64, f64)> {
    if tried <= 0 {
        return None;
    }
    let (n, p) = (tried as f64, hits as f64 / tried as f64);
    let middle = p + Z * Z / (2.0 * n);
    let spread = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    let low = ((middle - spread) / scale).max(0.0);
    Some((if hits == 0 { 0.0 } else { low }, (middle + spread) / scale))
}

/// Untriggered responses as controls: the rate of each stratum applied to its exposed responses,
/// the pooled rate where a stratum has no control. The interval is that of the pooled rate.
pub fn untriggered(strata: &[Stratum]) -> ControlRow {
    let tried: i64 = strata.iter().map(|s| s.controls).sum();
    let hits: i64 = strata.iter().map(|s| s.hits).sum();
    let exposed: i64 = strata.iter().map(|s| s.exposed).sum();
    let mut row = ControlRow {
        control: "untriggered".into(),
        tried,
        hits,
        exposed,
        ..ControlRow::default()
    };
    if let Some((low, high)) = wilson(hits, tried) {
        let pooled = hits as f64 / tried as f64;
        let expected = strata.iter().map(|s| {
            let rate = if s.controls > 0 {
                s.hits as f64 / s.controls as f64
            } else {
                pooled
            };
            s.exposed as f64 * rate
        });
        let expected: f64 = expected.sum();
        row.expected = Some(expected);
        row.expected_low = Some((low * exposed as f64).min(expected));
        row.expected_high = Some((high * exposed as f64).max(expected));
    }
    row
}

/// Sources in memory of another process as controls: hits a pair, applied to the pairs within one
/// process.
pub fn other_memory(hits: i64, other_pairs: i64, same_pairs: i64) -> ControlRow {
    pairs("other_memory", hits, other_pairs, same_pairs)
}

/// Answers that came after the response as its sources: hits a pair, applied to the pairs with what
/// came before it.
pub fn time_reversed(hits: i64, later_pairs: i64, earlier_pairs: i64) -> ControlRow {
    pairs("time_reversed", hits, later_pairs, earlier_pairs)
}

/// Hits of impossible pairs applied to the possible ones.
fn pairs(control: &str, hits: i64, impossible: i64, possible: i64) -> ControlRow {
    let mut row = ControlRow {
        control: control.to_owned(),
        tried: impossible,
        hits,
        exposed: possible,
        ..ControlRow::default()
    };
    if let Some((low, high)) = wilson(hits, impossible) {
        let possible = possible as f64;
        row.expected = Some(hits as f64 / impossible as f64 * possible);
        row.expected_low = Some(low * possible);
        row.expected_high = Some(high * possible);
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_their_rate() {
        assert_eq!(wilson(0, 0), None);
        for (hits, tried, low, high) in [
            (0, 100, 0.0, 0.0370),
            (5, 100, 0.0215, 0.1118),
            (100, 100, 0.9630, 1.0),
        ] {
            let (l, h) = wilson(hits, tried).expect("tried");
            assert!((l - low).abs() < 1e-4 && (h - high).abs() < 1e-4, "{l} {h}");
        }
    }

    #[test]
    fn strata_are_compared_with_themselves() {
        let stratum = |exposed, controls, hits| Stratum {
            exposed,
            controls,
            hits,
        };
        let row = untriggered(&[stratum(10, 100, 10), stratum(5, 900, 0), stratum(2, 0, 0)]);
        assert_eq!((row.tried, row.hits, row.exposed), (1000, 10, 17));
        let expected = row.expected.expect("tried");
        assert!((expected - 1.02).abs() < 1e-9, "{expected}");
        assert!(row.expected_low.expect("low") <= expected);
        assert!(row.expected_high.expect("high") >= expected);
        assert_eq!(untriggered(&[stratum(3, 0, 0)]).expected, None);
    }

    #[test]
    fn pairs_scale_with_the_traffic() {
        let row = other_memory(2, 1000, 500);
        assert_eq!(row.expected, Some(1.0));
        assert_eq!(other_memory(0, 0, 9).expected, None);
        let row = time_reversed(1, 4000, 8000);
        assert_eq!(
            (row.control.as_str(), row.tried, row.exposed, row.expected),
            ("time_reversed", 4000, 8000, Some(2.0))
        );
    }
}
