//! Sections on what needs no text: phases, the threshold of the data, controls, engines, habits.

use super::Column::{Number, Text};
use super::{Section, Table, instant, maybe, maybe_number, number, text, time};
use crate::report::controls::wilson;
use crate::report::model::Report;
use crate::report::sanitize;
use crate::report::testimony::PhaseCounts;
use crate::report::wording::{count, group};

pub(super) fn sections(report: &Report) -> Vec<Section> {
    let all = [
        phases(report),
        thresholds(report),
        long_control(report),
        coverage(report),
        habits(report),
        early_signs(report),
    ];
    all.into_iter().flatten().collect()
}

/// What the last phase with traffic says, against those before it; nothing without phases.
pub(super) fn stopped(report: &Report) -> Option<String> {
    let declared = report.testimony.phases.split_last()?.1;
    let (last, before) = declared.split_last()?;
    let name = |p: &PhaseCounts| sanitize::fit(&p.name, 40);
    let found = |p: &PhaseCounts| p.confirmed.saturating_add(p.probable);
    let earlier: i64 = before.iter().map(found).sum();
    let mut out = format!(
        "In the phases before \"{}\": {} confirmed or probable. ",
        name(last),
        group(earlier)
    );
    let comparable = last.as_long.saturating_add(last.refused);
    if comparable == 0 {
        out.push_str(&format!(
            "In \"{}\" (from {}) no prompt was as long as those that met the fault, so it cannot \
             be said whether it would come again ({}, {} confirmed or probable).",
            name(last),
            instant(last.valid_from),
            count(last.responses, "response", "responses"),
            group(found(last))
        ));
        return Some(out);
    }
    out.push_str(&format!(
        "In \"{}\" (from {}): {} of {} as long as those that met the fault",
        name(last),
        instant(last.valid_from),
        group(found(last)),
        count(last.as_long, "response", "responses"),
    ));
    if found(last) == 0
        && let Some((_, high)) = wilson(0, last.as_long)
    {
        out.push_str(&format!(
            "; with that volume a share of up to {:.1} % would still be compatible",
            high * 100.0
        ));
    }
    if last.refused > 0 {
        out.push_str(&format!("; {} refused", group(last.refused)));
    }
    out.push('.');
    Some(out)
}

fn phases(report: &Report) -> Option<Section> {
    let phases = &report.testimony.phases;
    if phases.is_empty() {
        return None;
    }
    Some(Section {
        id: "phases",
        title: "Before and after",
        notes: vec![
            "Phases as the configuration declares them. \"As long\" are responses to prompts at \
             least as long as the shortest one that was ever over the limit: the volume against \
             which silence after a fix has to be read."
                .to_owned(),
        ],
        tables: vec![
            Table::of(
                "Responses of each phase",
                &[
                    Text("Phase"),
                    Text("From"),
                    Text("To"),
                    Number("Responses"),
                    Number("Assessed"),
                    Number("As long"),
                    Number("Over the limit"),
                    Number("Confirmed"),
                    Number("Probable"),
                    Number("Possible"),
                ],
                phases,
                |p| {
                    vec![
                        text(&p.name),
                        time(p.valid_from),
                        time(p.valid_to),
                        number(p.responses),
                        number(p.assessed),
                        number(p.as_long),
                        number(p.over_limit),
                        number(p.confirmed),
                        number(p.probable),
                        number(p.possible),
                    ]
                },
            ),
            phases_beside(phases),
        ],
        ..Section::default()
    })
}

fn phases_beside(phases: &[PhaseCounts]) -> Table {
    Table::of(
        "Beside them, in none of the numbers above",
        &[
            Text("Phase"),
            Number("Refused over the limit"),
            Number("Outside the exposure"),
            Number("Excluded tenants"),
            Number("Broken off"),
            Number("High and critical findings"),
        ],
        phases,
        |p| {
            vec![
                text(&p.name),
                number(p.refused),
                number(p.outside),
                number(p.excluded),
                number(p.aborted),
                number(p.findings),
            ]
        },
    )
}

fn thresholds(report: &Report) -> Option<Section> {
    let rows = &report.testimony.thresholds;
    (!rows.is_empty()).then(|| Section {
        id: "threshold",
        title: "The length from which answers go wrong, as the logs show it",
        notes: vec![
            "No configuration is asked: the longest clean and the shortest dirty prompt bracket \
             the limit. p is that of Fisher's exact test that the two part so well by chance, \
             corrected for the lengths tried; where it is not below 0.001, no length is shown."
                .to_owned(),
        ],
        tables: vec![Table::of(
            "Threshold by model and node",
            &[
                Text("Model"),
                Text("Node"),
                Number("Longest clean"),
                Number("Shortest dirty"),
                Number("Pool from"),
                Number("Pool to"),
                Number("Dirty from there"),
                Number("Clean from there"),
                Number("Dirty below"),
                Number("Clean below"),
                Text("p"),
            ],
            rows,
            |row| {
                vec![
                    text(&row.model),
                    text(&row.node),
                    maybe_number(row.longest_clean_tokens),
                    number(row.shortest_dirty_tokens),
                    maybe_number(row.implied_pool_from_tokens),
                    number(row.implied_pool_to_tokens),
                    number(row.dirty_from_there),
                    number(row.clean_from_there),
                    number(row.dirty_below),
                    number(row.clean_below),
                    text(&power(row.log10_p)),
                ]
            },
        )],
        ..Section::default()
    })
}

fn long_control(report: &Report) -> Option<Section> {
    let rows = &report.testimony.long_control;
    (!rows.is_empty()).then(|| Section {
        id: "long-control",
        title: "The same long prompts elsewhere",
        notes: vec![
            "Prompts at least as long as the shortest one over the limit. Where one process does \
             both, where the pool holds them and where the engine refuses them, nothing may show: \
             a finding there speaks against the pool as the cause."
                .to_owned(),
        ],
        tables: vec![Table::of(
            "Long prompts by how they were served",
            &[
                Text("Served"),
                Text("Node"),
                Text("Engine"),
                Number("Calls"),
                Number("Answered"),
                Number("Refused"),
                Number("With a finding"),
            ],
            rows,
            |row| {
                let served = match row.served.as_str() {
                    "over_the_limit" => "prefill pool too small",
                    "refused" => "refused",
                    "pool_holds_it" => "control: pool holds the prompt",
                    "one_process" => "control: one process does both",
                    other => other,
                };
                vec![
                    text(served),
                    text(&row.node),
                    text(&row.version),
                    number(row.calls),
                    number(row.answered),
                    number(row.refused),
                    number(row.with_finding),
                ]
            },
        )],
        ..Section::default()
    })
}

fn coverage(report: &Report) -> Option<Section> {
    let rows = &report.testimony.coverage;
    (!rows.is_empty()).then(|| Section {
        id: "engine-coverage",
        title: "What the engines' logs could tell",
        notes: vec![
            "A line that is missing is no proof: most lines are written by the first rank only, \
             and accounts only where they are switched on."
                .to_owned(),
        ],
        tables: vec![Table::of(
            "Witnesses",
            &[
                Text("Node"),
                Text("Role"),
                Text("From"),
                Text("To"),
                Number("Events"),
                Number("Without time"),
                Number("Starts"),
                Number("Ranks heard"),
                Number("Accounts"),
                Number("Refusals"),
                Number("Failed transfers"),
                Text("Accounts are"),
                Text("Request texts are"),
            ],
            rows,
            |row| {
                vec![
                    text(&row.node),
                    maybe(row.role.as_deref()),
                    time(row.first_event),
                    time(row.last_event),
                    number(row.events),
                    number(row.without_time),
                    number(row.starts),
                    maybe_number(row.ranks),
                    number(row.accounts),
                    number(row.refusals),
                    number(row.failed_transfers),
                    text(&row.accounts_are),
                    text(&row.request_texts_are),
                ]
            },
        )],
        ..Section::default()
    })
}

fn habits(report: &Report) -> Option<Section> {
    let rows = &report.testimony.habits;
    (!rows.is_empty()).then(|| Section {
        id: "habits",
        title: "Tenants over the limit, against their own habit",
        notes: vec![
            "Whether somebody sought the fault cannot be read from logs. The last column says \
             whether the calls look like the tenant's usual ones; it is no verdict."
                .to_owned(),
        ],
        tables: vec![Table::of(
            "Habits",
            &[
                Text("Tenant"),
                Number("Calls"),
                Number("Over the limit"),
                Number("Longest below"),
                Number("Closest above"),
                Number("Close above"),
                Number("Same prompt"),
                Number("Same length"),
                Number("Padded"),
                Number("Before receipt"),
                Number("After receipt"),
                Text("Reading"),
            ],
            rows,
            |row| {
                vec![
                    text(&row.tenant),
                    number(row.calls),
                    number(row.over_limit_calls),
                    maybe_number(row.longest_prompt_below_limit),
                    maybe_number(row.closest_above_limit),
                    number(row.close_above_limit),
                    number(row.same_prompt),
                    number(row.same_length),
                    number(row.padded),
                    number(row.over_limit_before_receipt),
                    number(row.over_limit_after_receipt),
                    text(&row.reading),
                ]
            },
        )],
        ..Section::default()
    })
}

fn early_signs(report: &Report) -> Option<Section> {
    let rows = &report.testimony.early_signs;
    (!rows.is_empty()).then(|| Section {
        id: "early-signs",
        title: "Early signs",
        notes: vec![
            "Trouble that depends on the prompt's length, an abort or a node more than on the \
             hour or the link, by month and version. These are leads: look into them, they prove \
             nothing. p is corrected for all tests (Holm)."
                .to_owned(),
        ],
        tables: vec![Table::of(
            "Leads",
            &[
                Text("Month"),
                Text("Engine"),
                Text("Trouble"),
                Text("Depends on"),
                Text("At"),
                Number("Calls"),
                Number("In trouble"),
                Number("Calls there"),
                Number("In trouble there"),
                Text("p"),
                Text("p by hour or link"),
                Text("First"),
                Text("Last"),
            ],
            rows,
            |row| {
                let p = |permille: i64| power(permille as f64 / 1000.0);
                vec![
                    text(&row.month),
                    text(&row.version),
                    text(&row.sign.replace('_', " ")),
                    text(&row.factor),
                    text(&row.level),
                    number(row.calls),
                    number(row.troubled),
                    number(row.calls_at_level),
                    number(row.troubled_at_level),
                    text(&p(row.log10_p_holm_permille)),
                    text(&p(row.rival_log10_p_permille)),
                    time(row.first_time),
                    time(row.last_time),
                ]
            },
        )],
        ..Section::default()
    })
}

/// A small p-value as a power of ten.
fn power(log10: f64) -> String {
    if log10 <= -3.0 {
        format!("10^{log10:.1}")
    } else {
        format!("{:.3}", 10f64.powf(log10.min(0.0)))
    }
}
