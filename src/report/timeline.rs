//! The daily timeline: days without records filled in, and the bars of a small drawing.

use super::model::DayRow;
use jiff::civil::Date;

/// Most days that are drawn or filled in (two years); more are only listed.
const MAX_DAYS: usize = 731;
/// Width of the drawing area in units of the view box.
const WIDTH: i64 = 720;
/// Height of one panel.
const HEIGHT: i64 = 70;

/// A day as it is shown.
pub(super) struct Day {
    /// Counts; all zero in a gap.
    pub(super) row: DayRow,
    /// True where the period runs through the day but no record lies in it.
    pub(super) gap: bool,
}

/// The days with gaps filled in, ascending; unreadable days last, as given.
pub(super) fn days(rows: &[DayRow]) -> Vec<Day> {
    let mut dated: Vec<(Date, &DayRow)> = Vec::new();
    let mut undated: Vec<Day> = Vec::new();
    for row in rows {
        match row.day.parse::<Date>() {
            Ok(date) => dated.push((date, row)),
            Err(_) => undated.push(Day {
                row: row.clone(),
                gap: false,
            }),
        }
    }
    dated.sort_by_key(|(date, _)| *date);
    let mut out: Vec<Day> = Vec::new();
    let mut expected: Option<Date> = None;
    let short = match (dated.first(), dated.last()) {
        (Some((first, _)), Some((last, _))) => {
            let span = first.until(*last).map_or(i32::MAX, |span| span.get_days());
            usize::try_from(span).is_ok_and(|days| days < MAX_DAYS)
        }
        _ => false,
    };
    for (date, row) in dated {
        while let Some(missing) = expected.filter(|missing| short && *missing < date) {
            let row = DayRow {
                day: missing.to_string(),
                ..DayRow::default()
            };
            out.push(Day { row, gap: true });
            expected = missing.tomorrow().ok();
        }
        out.push(Day {
            row: row.clone(),
            gap: false,
        });
        expected = date.tomorrow().ok();
    }
    out.append(&mut undated);
    out
}

/// One bar. Coordinates in tenths of a unit, written with one decimal.
pub(super) struct Bar {
    /// CSS class: what the bar counts.
    pub(super) class: &'static str,
    /// Left edge.
    pub(super) x: String,
    /// Top edge.
    pub(super) y: String,
    /// Width.
    pub(super) width: String,
    /// Height.
    pub(super) height: String,
}

/// One panel: bars above a base line.
pub(super) struct Panel {
    /// What it counts.
    pub(super) title: &'static str,
    /// Greatest day's count, which fills the panel.
    pub(super) top: i64,
    /// Place of the base line.
    pub(super) base: i64,
    /// Place of the title's base line.
    pub(super) label: i64,
    /// Bars.
    pub(super) bars: Vec<Bar>,
}

/// The drawing.
pub(super) struct Chart {
    /// First day drawn.
    pub(super) first: String,
    /// Last day drawn.
    pub(super) last: String,
    /// Panels, top to bottom.
    pub(super) panels: Vec<Panel>,
    /// Whole height.
    pub(super) height: i64,
}

/// The drawing of these days; none where there is nothing to draw, or too much.
pub(super) fn chart(days: &[Day]) -> Option<Chart> {
    let drawn: Vec<&DayRow> = days
        .iter()
        .map(|day| &day.row)
        .filter(|row| row.day.parse::<Date>().is_ok())
        .collect();
    if drawn.is_empty() || drawn.len() > MAX_DAYS {
        return None;
    }
    type Count = fn(&DayRow) -> i64;
    // Possible ones are as many as those over the limit: in one panel they would hide the rest.
    let layers: [(&'static str, &[(&'static str, Count)]); 2] = [
        (
            "At or over the engine's limit",
            &[("over", |row| row.over_limit)],
        ),
        (
            "Confirmed and probable",
            &[
                ("confirmed", |row| row.confirmed),
                ("probable", |row| row.probable),
            ],
        ),
    ];
    let slot = WIDTH * 10 / i64::try_from(drawn.len()).ok()?;
    let width = (slot * 4 / 5).clamp(2, 400);
    let mut panels = Vec::new();
    let mut base = 0;
    for (title, stack) in layers {
        base += HEIGHT + 24;
        let sum = |row: &DayRow| {
            stack.iter().fold(0i64, |sum, (_, count)| {
                sum.saturating_add(count(row).max(0))
            })
        };
        let top = drawn.iter().map(|row| sum(row)).max().unwrap_or(0);
        let mut bars = Vec::new();
        for (at, row) in drawn.iter().enumerate() {
            let x = slot * i64::try_from(at).ok()? + (slot - width) / 2;
            let mut y = base * 10;
            for (class, count) in stack {
                let height = scaled(count(row).max(0), top);
                if height > 0 {
                    y -= height;
                    bars.push(Bar {
                        class,
                        x: tenths(x),
                        y: tenths(y),
                        width: tenths(width),
                        height: tenths(height),
                    });
                }
            }
        }
        panels.push(Panel {
            title,
            top,
            base,
            label: base - HEIGHT - 6,
            bars,
        });
    }
    Some(Chart {
        first: drawn.first()?.day.clone(),
        last: drawn.last()?.day.clone(),
        panels,
        height: base + 20,
    })
}

/// Height of a count in tenths; whatever is not zero can be seen.
fn scaled(count: i64, top: i64) -> i64 {
    if count <= 0 || top <= 0 {
        return 0;
    }
    let height = i128::from(count) * i128::from(HEIGHT * 10) / i128::from(top);
    i64::try_from(height).unwrap_or(HEIGHT * 10).max(10)
}

fn tenths(value: i64) -> String {
    format!("{}.{}", value / 10, value % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(day: &str, over_limit: i64, confirmed: i64) -> DayRow {
        DayRow {
            day: day.to_owned(),
            over_limit,
            confirmed,
            ..DayRow::default()
        }
    }

    #[test]
    fn gaps_are_filled_and_said() {
        let rows = [
            row("2026-09-03", 1, 0),
            row("unknown", 1, 0),
            row("2026-08-31", 5, 2),
        ];
        let days = days(&rows);
        let seen: Vec<(&str, bool)> = days
            .iter()
            .map(|day| (day.row.day.as_str(), day.gap))
            .collect();
        assert_eq!(
            seen,
            [
                ("2026-08-31", false),
                ("2026-09-01", true),
                ("2026-09-02", true),
                ("2026-09-03", false),
                ("unknown", false),
            ]
        );
        let chart = chart(&days).unwrap();
        assert_eq!(
            (chart.first.as_str(), chart.last.as_str()),
            ("2026-08-31", "2026-09-03")
        );
        assert_eq!(chart.panels[0].top, 5);
        assert_eq!(chart.panels[0].bars.len(), 2);
        assert_eq!(chart.panels[1].bars.len(), 1);
    }

    #[test]
    fn far_apart_days_are_not_filled() {
        let rows = [
            row("0001-01-01", 1, i64::MAX),
            row("9999-12-31", i64::MAX, 1),
        ];
        let days = days(&rows);
        assert_eq!(days.len(), 2);
        assert!(chart(&days).is_some());
        assert!(chart(&[]).is_none());
    }
}
