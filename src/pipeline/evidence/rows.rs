//! Rows of the tables from what the operators found.

use crate::pipeline::corpus::Corpus;
use pentimento_core::attribution::{METHOD, Row as Attributed};
use pentimento_core::canary::{Row as Marked, Scanner};
use pentimento_core::duplicate::DuplicateRow as Twin;
use pentimento_core::health::HealthRow;
use pentimento_core::identifiers::Row as Identified;
use pentimento_core::overlap::Row;
use pentimento_core::probe::JointRow;
use pentimento_core::second_hand::SecondHand;
use pentimento_core::surprise::SpanScore;
use pentimento_store::rows::{
    AttributionRow, DuplicateRow, FactOverlapRow, IdentifierRow, OverlapRow, SecondHandRow,
    TextHealthRow,
};
use std::cmp::Ordering;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Weights of whole spans are far below 2^63.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub fn overlap(corpus: &Corpus, row: &Row, score: &SpanScore) -> OverlapRow {
    OverlapRow {
        surprise_millibits: Some(signed(score.surprise_millibits)),
        own_fit_permille: Some(i64::from(score.own_fit_permille)),
        prompt_similarity_permille: score.prompt_similarity_permille.map(i64::from),
        ..corpus.overlap_row(row)
    }
}

/// A chain of fragments. No part of it is a span of its own, so it has no novel weight.
pub fn mosaic(corpus: &Corpus, row: &JointRow, score: &SpanScore) -> OverlapRow {
    let joint = &row.joint;
    OverlapRow {
        exchange_id: corpus.id(row.exchange),
        source_exchange_id: corpus.id(row.source_exchange),
        tenant: corpus.tenant(row.tenant),
        source_tenant: corpus.tenant(row.source_tenant),
        source_side: joint.source_field.side().into(),
        source_field: joint.source_field.as_str().into(),
        field: row.field.as_str().into(),
        response_start: i64::from(joint.response.0),
        response_end: i64::from(joint.response.1),
        source_start: i64::from(joint.source.0),
        source_end: i64::from(joint.source.1),
        tokens: i64::from(joint.tokens),
        novel_tokens: i64::from(joint.tokens),
        novel_weight: 0,
        carriers: 1,
        source_carries: true,
        surprise_millibits: Some(signed(joint.millibits)),
        own_fit_permille: None,
        prompt_similarity_permille: score.prompt_similarity_permille.map(i64::from),
        chain_tokens: Some(i64::from(joint.tokens)),
        chain_bits: Some(signed(joint.score / 1000)),
        lag_ms: Some(row.lag_ms),
        turnovers: corpus
            .physics
            .turnovers(row.exchange, row.source_exchange, &corpus.subjects),
        order: row.order.as_str().into(),
        same_share_group: corpus
            .physics
            .same_share_group(row.exchange, row.source_exchange),
        memory_gone: corpus
            .physics
            .memory_gone(row.exchange, row.source_exchange),
        at_cut: false,
        span_hmac: String::new(),
    }
}

/// The order of the table; whole spans stand before chains.
pub fn overlap_order(a: &OverlapRow, b: &OverlapRow) -> Ordering {
    fn key(r: &OverlapRow) -> impl Ord + '_ {
        (
            r.exchange_id.as_str(),
            r.field.as_ref(),
            (r.response_start, r.response_end),
            r.source_tenant.as_deref(),
            r.chain_tokens,
            (r.tokens, r.source_start),
            r.span_hmac.as_str(),
        )
    }
    key(a).cmp(&key(b))
}

pub fn facts(corpus: &Corpus, row: &JointRow, score: &SpanScore) -> FactOverlapRow {
    let joint = &row.joint;
    let [names, numbers, dates, ids] = joint.sorts.map(i64::from);
    FactOverlapRow {
        exchange_id: corpus.id(row.exchange),
        source_exchange_id: corpus.id(row.source_exchange),
        tenant: corpus.tenant(row.tenant),
        source_tenant: corpus.tenant(row.source_tenant),
        field: row.field.as_str().into(),
        source_field: joint.source_field.as_str().into(),
        facts: i64::from(joint.parts),
        names,
        numbers,
        dates,
        ids,
        response_start: i64::from(joint.response.0),
        response_end: i64::from(joint.response.1),
        source_start: i64::from(joint.source.0),
        source_end: i64::from(joint.source.1),
        surprise_millibits: signed(joint.millibits),
        score_millibits: signed(joint.score),
        prompt_similarity_permille: score.prompt_similarity_permille.map(i64::from),
        lag_ms: row.lag_ms,
        order: row.order.as_str().into(),
        same_share_group: corpus
            .physics
            .same_share_group(row.exchange, row.source_exchange),
    }
}

pub fn duplicate(corpus: &Corpus, row: &Twin) -> DuplicateRow {
    DuplicateRow {
        exchange_id: corpus.id(row.exchange),
        source_exchange_id: corpus.id(row.other_exchange),
        tenant: corpus.tenant(row.tenant),
        source_tenant: corpus.tenant(row.other_tenant),
        field: row.field.as_str().into(),
        source_field: row.other_field.as_str().into(),
        tokens: i64::from(row.tokens),
        same_text: row.same_text,
        similarity_permille: i64::from(row.similarity_permille),
        same_prompt: row.same_prompt,
        prompt_similarity_permille: row.prompt_similarity_permille.map(i64::from),
        tenants: i64::from(row.tenants),
        lag_ms: row.lag_ms,
        same_share_group: corpus
            .physics
            .same_share_group(row.exchange, row.other_exchange),
    }
}

pub fn second_hand(corpus: &Corpus, found: &[SecondHand]) -> Vec<SecondHandRow> {
    let mut rows: Vec<SecondHandRow> = found
        .iter()
        .map(|s| SecondHandRow {
            exchange_id: corpus.id(s.exchange),
            leak_exchange_id: corpus.id(s.leak_exchange),
            tokens: i64::from(s.tokens),
        })
        .collect();
    rows.sort_by(|a, b| a.exchange_id.cmp(&b.exchange_id));
    rows
}

pub fn identifier(corpus: &Corpus, row: &Identified) -> IdentifierRow {
    IdentifierRow {
        exchange_id: corpus.id(row.exchange),
        source_exchange_id: Some(corpus.id(row.source_exchange)),
        tenant: corpus.tenant(row.tenant),
        source_tenant: corpus.tenant(row.source_tenant),
        source_side: Some(row.source_field.side().into()),
        source_field: Some(row.source_field.as_str().into()),
        field: row.field.as_str().into(),
        kind: row.kind.as_str().into(),
        pattern: row.pattern.to_string(),
        value_hmac: hex(&row.value_hmac),
        masked: row.masked.clone(),
        value_bits: i64::from(row.value_bits),
        checked: row.checked,
        response_start: i64::from(row.response_start),
        response_end: i64::from(row.response_end),
        source_start: Some(i64::from(row.source_start)),
        source_end: Some(i64::from(row.source_end)),
        in_own_prompt: row.in_own_prompt,
        in_own_history: row.in_own_history,
        carriers: i64::from(row.carriers),
        source_carries: row.source_carries,
        lag_ms: Some(row.lag_ms),
        order: row.order.as_str().into(),
        same_share_group: corpus
            .physics
            .same_share_group(row.exchange, row.source_exchange),
    }
}

pub fn canary(corpus: &Corpus, scanner: &Scanner, row: &Marked) -> IdentifierRow {
    let subject = &corpus.subjects[row.exchange as usize];
    IdentifierRow {
        exchange_id: corpus.id(row.exchange),
        source_exchange_id: None,
        tenant: subject.tenant.and_then(|t| corpus.tenant(t)),
        source_tenant: scanner.owners().get(row.owner as usize).cloned(),
        source_side: None,
        source_field: None,
        field: row.field.as_str().into(),
        kind: "canary".into(),
        pattern: row.writing.as_str().to_string(),
        value_hmac: hex(&row.value_hmac),
        masked: format!("… ({})", row.response_end - row.response_start),
        value_bits: i64::from(row.bits),
        checked: row.whole,
        response_start: i64::from(row.response_start),
        response_end: i64::from(row.response_end),
        source_start: None,
        source_end: None,
        in_own_prompt: row.in_own_prompt,
        in_own_history: false,
        carriers: 1,
        source_carries: true,
        lag_ms: None,
        order: "unknown".into(),
        same_share_group: None,
    }
}

/// The order of the table.
pub fn identifier_order(a: &IdentifierRow, b: &IdentifierRow) -> Ordering {
    fn key(r: &IdentifierRow) -> impl Ord + '_ {
        (
            r.exchange_id.as_str(),
            r.field.as_ref(),
            (r.response_start, r.response_end),
            r.pattern.as_str(),
            r.value_hmac.as_str(),
        )
    }
    key(a).cmp(&key(b))
}

pub fn attribution(corpus: &Corpus, row: &Attributed) -> AttributionRow {
    let best = row.best_exchange;
    let tenant = best.and_then(|e| corpus.subjects[e as usize].tenant);
    AttributionRow {
        exchange_id: corpus.id(row.exchange),
        own_score: row.own_score,
        own_rank: row.own_rank.map(i64::from),
        candidates: i64::from(row.candidates),
        best_exchange_id: best.map(|e| corpus.id(e)),
        best_tenant: tenant.and_then(|t| corpus.tenant(t)),
        best_score: row.best_score,
        same_node: row.same_node,
        chance_score: row.chance_score,
        margin: row.margin,
        p_value: row.p_value,
        assessable: row.assessment.reason().is_none(),
        unassessable_reason: row.assessment.reason().map(Into::into),
        method: METHOD.into(),
    }
}

pub fn text_health(corpus: &Corpus, row: &HealthRow) -> TextHealthRow {
    let (h, d) = (&row.health, row.deviations);
    let language = |code: &'static str| (code.len() == 2).then(|| code.into());
    let prompt = h.prompt_writing;
    TextHealthRow {
        exchange_id: corpus.id(row.exchange),
        response_bytes: i64::from(h.bytes),
        response_characters: i64::from(h.characters),
        response_tokens: i64::from(h.tokens),
        loop_tokens: i64::from(h.loop_tokens),
        distinct_2: i64::from(h.distinct_2),
        distinct_4: i64::from(h.distinct_4),
        compression: i64::from(h.compression),
        replacement_characters: i64::from(h.replacement_characters),
        control_characters: i64::from(h.control_characters),
        rare_characters: i64::from(h.rare_characters),
        template_tokens: i64::from(h.template_tokens),
        prompt_script: prompt.map(|w| w.script().into()),
        prompt_language: prompt.and_then(|w| language(w.code())),
        response_script: h.response_writing.script().into(),
        response_language: language(h.response_writing.code()),
        writing_differs: h.writing_differs(),
        script_share: i64::from(h.script_share),
        script_changes: i64::from(h.script_changes),
        deviation_repetition: d.map(|d| d.repetition),
        deviation_distinct: d.map(|d| d.distinct),
        deviation_compression: d.map(|d| d.compression),
        deviation_characters: d.map(|d| d.characters),
        deviation_length: d.map(|d| d.length),
    }
}
