//! A small hand-made report with every field set; each string passes through `word`.

use crate::report::finding::{Finding, FindingList, Locator, OverlapFacts, RuleRow};
use crate::report::model::*;
use serde_json::json;
use std::collections::BTreeMap;

type Word<'a> = &'a dyn Fn(&str) -> String;

/// 2026-09-01T00:00:00Z plus so many seconds.
fn at(seconds: i64) -> Option<Time> {
    Some(Time(1_788_220_800_000_000 + seconds * 1_000_000))
}

fn extent(responses: i64, calls: i64, receiving_tenants: i64, source_tenants: i64) -> Extent {
    Extent {
        responses,
        calls,
        receiving_tenants,
        source_tenants,
    }
}

#[expect(clippy::too_many_lines, reason = "one literal, field by field")]
pub(super) fn sample(word: Word) -> Report {
    Report {
        header: Header {
            tool_version: word("0.1.0"),
            case_name: word("incident-7"),
            period_start: at(0),
            period_end: at(3 * 86_400),
            status: Status {
                complete: true,
                exit_code: 3,
                reason: Some(word("critical findings")),
            },
            config_digest: word("9c1f00aa"),
            revealed: true,
        },
        verdict: String::new(),
        headline: Headline {
            floor: extent(2, 2, 1, 2),
            best: extent(3, 3, 2, 2),
            ceiling: extent(1_205, 1_190, 40, 2),
            capacity_known: true,
        },
        outside: Outside {
            confirmed: extent(0, 0, 0, 0),
            probable: extent(1, 1, 1, 1),
            possible: extent(0, 0, 0, 0),
            expected_false: Some(0.8),
            note: word("one shared template"),
        },
        excluded: vec![ExcludedRow {
            kind: word("internal"),
            grade: word("confirmed"),
            responses: 4,
        }],
        aborted: Aborted {
            responses: 2,
            over_limit: 1,
            with_foreign_text: 0,
        },
        first_time: at(30_605),
        last_time: at(200_000),
        funnel: vec![
            FunnelRow {
                stage: word("all"),
                label: word("all responses"),
                responses: 90_210,
            },
            FunnelRow {
                stage: word("over_pool"),
                label: word("over the pool"),
                responses: 1_230,
            },
        ],
        axes: vec![AxisRow {
            exposure: word("likely"),
            disclosure: word("none_found"),
            grade: word("possible"),
            responses: 1_202,
        }],
        timeline: vec![
            DayRow {
                day: "2026-09-01".to_owned(),
                responses: 40_000,
                over_limit: 600,
                confirmed: 1,
                probable: 1,
                possible: 598,
            },
            DayRow {
                day: "2026-09-03".to_owned(),
                responses: 50_210,
                over_limit: 605,
                confirmed: 1,
                probable: 0,
                possible: 604,
            },
            DayRow {
                day: word("unknown"),
                responses: 3,
                ..DayRow::default()
            },
        ],
        capacity: capacity(word),
        sensitivity: vec![
            SensitivityRow {
                min_words: 24,
                limit: word("engine_limit"),
                max_carriers: 1,
                responses: 3,
                in_use: true,
            },
            SensitivityRow {
                min_words: 8,
                limit: "pool".to_owned(),
                max_carriers: 3,
                responses: 9,
                in_use: false,
            },
        ],
        controls: vec![
            crate::report::controls::untriggered(&[crate::report::controls::Stratum {
                exposed: 10,
                controls: 1000,
                hits: 2,
            }]),
            crate::report::controls::other_memory(0, 0, 0),
            crate::report::controls::time_reversed(1, 4000, 8000),
        ],
        signals: vec![crate::report::controls::SignalRow {
            passage: true,
            prompt_length: true,
            witnesses: 2,
            responses: 2,
            ..Default::default()
        }],
        recipients: vec![
            Recipient {
                tenant: Some(word("acme")),
                source_tenant: Some(word("globex")),
                confirmed: 2,
                responses: 2,
                first_time: at(30_605),
                last_time: at(200_000),
            },
            Recipient {
                tenant: None,
                responses: 1,
                ..Recipient::default()
            },
        ],
        findings: findings(word),
        rules: rules(word),
        assessability: Assessability {
            calls: 90_000,
            calls_seen: 88_000,
            responses: 90_210,
            responses_assessed: 87_900,
            triggered_unassessed: 0,
            required_share: 0.9,
            reasons: vec![ReasonCount {
                reason: word("own_prompt_incomplete"),
                responses: 2_310,
            }],
        },
        sources: sources(word),
        rejects: vec![RejectRow {
            reason: word("bad_json"),
            records: 2,
            bytes: 311,
        }],
        linking: Linking {
            exchanges: 180_111,
            calls: 90_000,
            by_kind: vec![LinkKind {
                kind: word("request_id"),
                calls: 89_000,
            }],
            collisions: 1,
        },
        method: Method {
            window_words: 8,
            store_weight: 8,
            cut_weight: 24,
            max_tenants: 3,
            look_back_seconds: 86_400,
            clock_tolerance_ms: 2_000,
            unicode_version: word("17.0"),
            mode: word("auto"),
            further: BTreeMap::from([(word("tenant priority"), word("org, key"))]),
        },
        limitations: vec![word("The gateway log of one region was not given.")],
        next_steps: vec![word("Ask region west for its gateway log.")],
    }
}

fn capacity(word: Word) -> Vec<CapacityEpoch> {
    vec![
        CapacityEpoch {
            capacity_id: word("c1"),
            model: Some(word("@cf/example/large")),
            deployment: Some(word("large-eu")),
            node: Some(word("prefill-3")),
            role: Some(word("prefill")),
            valid_from: at(0),
            valid_to: None,
            pool_tokens: Some(681_280),
            window_tokens: Some(1_048_576),
            page_tokens: Some(64),
            reject_at_tokens: Some(681_274),
            engine: Some(word("sglang 0.5.9")),
            mode: Some(word("disaggregated")),
            source: word("server_info"),
            ..CapacityEpoch::default()
        },
        CapacityEpoch {
            pool_tokens: Some(100),
            window_tokens: Some(200),
            mode: Some("unified".to_owned()),
            ..CapacityEpoch::default()
        },
    ]
}

fn findings(word: Word) -> FindingList {
    let locator = |path: &str, offset| {
        Some(Locator {
            path: word(path),
            offset,
            length: 5_120,
        })
    };
    FindingList {
        total: 2,
        by_severity: BTreeMap::from([("critical".to_owned(), 1), ("medium".to_owned(), 1)]),
        shown: vec![
            Finding {
                finding_id: word("00ff00ff00ff00ff00ff00ff00ff00ff"),
                rule_id: word("foreign_prompt_overlap"),
                severity: word("critical"),
                exposure: Some(word("likely")),
                disclosure: Some(word("proven")),
                request_id: Some(word("req-0001")),
                exchange_id: Some(word("aa01")),
                tenant: Some(word("acme")),
                source_exchange_id: Some(word("bb02")),
                source_tenant: Some(word("globex")),
                event_time: at(30_605),
                title: word("text of another tenant's prompt"),
                overlap: Some(OverlapFacts {
                    field: Some(word("response")),
                    source_field: Some(word("prompt")),
                    response_start: Some(120),
                    response_end: Some(1_345),
                    source_start: Some(990),
                    source_end: Some(2_215),
                    tokens: Some(61),
                    novel_tokens: Some(58),
                    novel_weight: Some(47),
                    carriers: Some(1),
                    lag_ms: Some(2_310),
                    order: Some(word("before")),
                    span_hmac: Some(word("77aa")),
                }),
                locator: locator("logs/gateway.jsonl.gz", 1_048_576),
                source_locator: locator("logs/gateway.jsonl.gz", 4_096),
                evidence: BTreeMap::from([(word("spans"), json!(2))]),
                preview: Some(word("A•••• 4•••• B••••")),
            },
            Finding {
                finding_id: word("11ff"),
                rule_id: word("over_pool_accepted"),
                severity: word("medium"),
                title: word("prompt at or over the limit was accepted"),
                evidence: BTreeMap::from([
                    (word("capacity_match"), json!(word("node"))),
                    ("prompt_tokens".to_owned(), json!(690_112)),
                    ("over_pool".to_owned(), json!(true)),
                    ("nested".to_owned(), json!([word("deep")])),
                    ("window_tokens".to_owned(), json!(null)),
                ]),
                ..Finding::default()
            },
        ],
    }
}

fn rules(word: Word) -> Vec<RuleRow> {
    vec![
        RuleRow {
            rule_id: word("foreign_prompt_overlap"),
            version: word("1"),
            title: word("text of another tenant's prompt"),
            severity: word("critical"),
            hits: 1,
            skipped: None,
        },
        RuleRow {
            rule_id: word("id_collision"),
            version: word("1"),
            title: word("one id for several calls"),
            severity: word("low"),
            hits: 0,
            skipped: Some(word("table overlaps is missing")),
        },
    ]
}

fn sources(word: Word) -> Vec<SourceRow> {
    let row = SourceRow {
        source_id: word("s0001"),
        path: word("logs/gateway.jsonl.gz"),
        format: word("native_jsonl"),
        status: "complete".to_owned(),
        bytes: 123_456_789,
        sha256: word("e3b0c442"),
        records_read: 90_100,
        records_exchange: 90_000,
        records_event: 10,
        records_other: 20,
        records_rejected: 2,
        records_duplicate: 60,
        records_out_of_window: 8,
        exchanges: 90_111,
        first_time: at(0),
        last_time: at(259_000),
    };
    let cut = SourceRow {
        status: word("truncated"),
        ..row.clone()
    };
    vec![row, cut]
}
