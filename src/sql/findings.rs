//! Rules to findings: each rule's rows, with evidence as JSON and ids that stay the same.

use super::catalog::{IN_COLUMN, QueryFile, QueryKind, SEVERITIES};
use super::json;
use super::session::{CaseSession, engine_error};
use anyhow::{Context, anyhow, bail};
use arrow::array::RecordBatch;
use datafusion::common::JoinType;
use pentimento_store::rows::FindingRow;
use pentimento_store::schema::{Table, Word};
use serde_json::Value;

/// What one rule gave.
#[derive(Clone, Debug)]
pub struct RuleRun {
    /// The rule.
    pub rule: QueryFile,
    /// Its findings; none where nothing was found.
    pub rows: Vec<FindingRow>,
}

/// View that knows request, call, tenant and time of an exchange.
const CONTEXT_VIEW: &str = "finding_context";

impl CaseSession {
    /// Runs every rule. Rules that read `findings` run after the others and see what those gave.
    ///
    /// The runs come in the order of the rules' ids, the findings of a run in total order; the
    /// table `findings` of the session then holds all of them.
    ///
    /// # Errors
    /// A missing table, a query that fails, or a rule that leaves out a value it promised.
    pub fn run_rules(&mut self) -> anyhow::Result<Vec<RuleRun>> {
        let rules: Vec<QueryFile> = self.catalog().of_kind(QueryKind::Rule).cloned().collect();
        let findings = Table::Findings.as_str();
        let (late, early): (Vec<_>, Vec<_>) = rules
            .into_iter()
            .partition(|rule| self.catalog().file_reaches(rule, findings));
        self.set_table::<FindingRow>(&[])?;
        let mut runs = Vec::new();
        for phase in [early, late] {
            for rule in phase {
                let rows = self.run_rule(&rule)?;
                runs.push(RuleRun { rule, rows });
            }
            runs.sort_by_key(|run| run.rule.id);
            let all: Vec<FindingRow> = runs.iter().flat_map(|r| r.rows.clone()).collect();
            self.set_table(&all)?;
        }
        Ok(runs)
    }

    /// Runs one rule on the tables as they are.
    pub(super) fn run_rule(&mut self, rule: &QueryFile) -> anyhow::Result<Vec<FindingRow>> {
        let mut needs = rule.needs.clone();
        needs.push(CONTEXT_VIEW.to_owned());
        self.prepare(&needs)
            .with_context(|| format!("rule {}", rule.id))?;
        let frame = self.frame(rule)?;
        let context = self
            .runtime
            .block_on(self.context.table(CONTEXT_VIEW))
            .map_err(engine_error)?;
        let joined = frame
            .join(
                context,
                JoinType::Left,
                &["exchange_id"],
                &["context_exchange_id"],
                None,
            )
            .map_err(engine_error)
            .with_context(|| format!("rule {}", rule.id))?;
        let batches = self
            .collect(joined)
            .with_context(|| format!("rule {}", rule.id))?;
        let mut rows = Vec::new();
        for batch in &batches {
            for row in 0..batch.num_rows() {
                let finding =
                    finding(rule, batch, row).with_context(|| format!("rule {}", rule.id))?;
                rows.push(finding);
            }
        }
        rows.sort_by(|a, b| {
            (&a.exchange_id, &a.source_exchange_id, &a.finding_id).cmp(&(
                &b.exchange_id,
                &b.source_exchange_id,
                &b.finding_id,
            ))
        });
        if rows.windows(2).any(|w| w[0].finding_id == w[1].finding_id) {
            bail!("rule {} gives one finding twice", rule.id);
        }
        Ok(rows)
    }
}

fn finding(rule: &QueryFile, batch: &RecordBatch, row: usize) -> anyhow::Result<FindingRow> {
    let mut columns = json::row_object(batch, row)?;
    columns.remove("context_exchange_id");
    let mut text = |name: &str| match columns.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(anyhow!("column {name} is no text")),
    };
    let exchange_id = text("exchange_id")?;
    let source_exchange_id = text("source_exchange_id")?;
    let source_tenant = text("source_tenant")?;
    let key = text("finding_key")?;
    let severity = graded("severity", rule.severity.as_deref(), text("severity")?)?
        .ok_or_else(|| anyhow!("column severity is null"))?;
    if !SEVERITIES.contains(&severity.as_str()) {
        bail!("severity is none of critical, high, medium, low");
    }
    let exposure = graded("exposure", rule.exposure.as_deref(), text("exposure")?)?;
    let disclosure = graded(
        "disclosure",
        rule.disclosure.as_deref(),
        text("disclosure")?,
    )?;
    let title = text("title")?.unwrap_or_else(|| rule.title.clone());
    let request_id = text("context_request_id")?;
    let call_id = text("context_call_id")?;
    let tenant = text("context_tenant")?;
    let context_time = text("context_time")?;
    let event_time = text("event_time")?.or(context_time);
    Ok(FindingRow {
        finding_id: finding_id(&[
            Some(rule.id),
            exchange_id.as_deref(),
            source_exchange_id.as_deref(),
            source_tenant.as_deref(),
            key.as_deref(),
        ]),
        rule_id: rule.id.to_owned(),
        severity: Word::Owned(severity),
        exposure: exposure.map(Word::Owned),
        disclosure: disclosure.map(Word::Owned),
        exchange_id,
        request_id,
        call_id,
        tenant,
        source_exchange_id,
        source_tenant,
        event_time: event_time.map(|t| micros(&t)).transpose()?,
        title,
        evidence: serde_json::to_string(&columns)?,
    })
}

/// The value of an axis: the header's constant, or the column where the header says so.
fn graded(
    name: &str,
    header: Option<&str>,
    column: Option<String>,
) -> anyhow::Result<Option<String>> {
    match (header, column) {
        (Some(IN_COLUMN), value) => Ok(value),
        (constant, None) => Ok(constant.map(str::to_owned)),
        (_, Some(_)) => bail!("column {name} is given, but the header does not say so"),
    }
}

fn micros(time: &str) -> anyhow::Result<i64> {
    let time: jiff::Timestamp = time.parse().context("column event_time")?;
    Ok(time.as_microsecond())
}

/// First 32 hex digits of BLAKE3 over the parts, each behind its length, so that no two lists of
/// parts read alike.
fn finding_id(parts: &[Option<&str>]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        match part {
            None => hasher.update(&u64::MAX.to_le_bytes()),
            Some(text) => hasher
                .update(&(text.len() as u64).to_le_bytes())
                .update(text.as_bytes()),
        };
    }
    let mut id = hasher.finalize().to_hex().to_string();
    id.truncate(32);
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_tell_absent_from_empty_and_borders_apart() {
        let ids = [
            finding_id(&[Some("a"), None]),
            finding_id(&[Some("a"), Some("")]),
            finding_id(&[Some("ab"), Some("c")]),
            finding_id(&[Some("a"), Some("bc")]),
        ];
        for (i, a) in ids.iter().enumerate() {
            assert_eq!(a.len(), 32);
            assert!(ids[i + 1..].iter().all(|b| a != b));
        }
    }

    #[test]
    fn an_override_needs_the_headers_word() {
        assert_eq!(
            graded("x", Some("low"), None).unwrap().as_deref(),
            Some("low")
        );
        assert_eq!(graded("x", None, None).unwrap(), None);
        let value = Some("high".to_owned());
        assert_eq!(graded("x", Some(IN_COLUMN), value.clone()).unwrap(), value);
        assert!(graded("x", Some("low"), value.clone()).is_err());
        assert!(graded("x", None, value).is_err());
    }
}
