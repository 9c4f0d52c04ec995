//! `pentimento audit`: from logs to a case with its report, in one go.

use super::audit_args::resolve;
use super::custody::{add_custody, key_detail, store_failure};
use super::report_model::{Facts, fill};
use super::reveal::reveal;
use super::suspects::choose;
use crate::cli::AuditArgs;
use crate::clock::{now_rfc3339, peak_memory_bytes, random_key};
use crate::fitness::{Fitness, FitnessLimits, outcome};
use crate::messages::say;
use crate::outcome::{FailureKind, Outcome, failure};
use crate::pipeline::detect::{DetectJob, detect, keep_texts};
use crate::pipeline::discover::{Input, discover};
use crate::pipeline::ingest::{IngestJob, Ingested, ingest, write_table};
use crate::pipeline::narrow::Chosen;
use crate::pipeline::scratch;
use crate::progress::{Progress, ProgressMode, human_bytes};
use crate::settings::AuditSettings;
use crate::sql::findings::RuleRun;
use crate::sql::session::{CaseSession, SessionOptions, open_case};
use anyhow::{Context, Result};
use pentimento_core::overlap::Stats;
use pentimento_store::case::CaseFolder;
use pentimento_store::custody::ChainHead;
use pentimento_store::manifest::{
    CaseManifest, CaseStatus, FileDigest, RuleDigest, TableDigest, Tallies, Tool,
};
use pentimento_store::rows::{FindingRow, SourceRow, VerdictRow};
use std::collections::BTreeMap;

/// Runs the command.
///
/// # Errors
/// With the exit code of the contract inside.
pub fn run(args: AuditArgs) -> Result<Outcome> {
    let settings = resolve(args)?;
    rayon::ThreadPoolBuilder::new()
        .num_threads(settings.resources.threads)
        .build_global()
        .context("cannot start the worker threads")?;
    let inputs = discover(&settings.logs, settings.config.max_ratio)?;
    let progress = Progress::new(settings.progress, settings.quiet);
    let case = CaseFolder::create(&settings.case_dir, true).map_err(store_failure)?;
    let created_at = now_rfc3339();
    let key = case
        .key(settings.case_key_file.as_deref(), random_key)
        .map_err(store_failure)?;
    let run = Run {
        settings: &settings,
        case: &case,
        key: key.0,
        progress: &progress,
        created_at,
    };
    run.custody("audit", &[("inputs", inputs.len().to_string())])?;
    if let Some(detail) = key_detail(&settings.config) {
        run.custody("private key used", &[detail])?;
    }
    scratch::create_folder(&case)?;
    let ingested = ingest(
        &IngestJob {
            inputs: &inputs,
            config: &settings.config,
            window: settings.window,
            resources: settings.resources,
            case: &case,
            case_key: key.0,
        },
        &progress,
    )?;
    check_something_read(&ingested)?;
    let result = run.detect_and_report(&inputs, ingested);
    progress.finish();
    result
}

struct Run<'a> {
    settings: &'a AuditSettings,
    case: &'a CaseFolder,
    key: [u8; 32],
    progress: &'a Progress,
    created_at: String,
}

impl Run<'_> {
    fn detect_and_report(&self, inputs: &[Input], mut ingested: Ingested) -> Result<Outcome> {
        let job = DetectJob {
            inputs,
            config: &self.settings.config,
            resources: self.settings.resources,
            case: self.case,
            case_key: self.key,
        };
        let mut tables = std::mem::take(&mut ingested.tables);
        let chosen = self.narrow(&ingested, &mut tables)?;
        let (evidence, stats) = detect(&job, self.progress)?;
        tables.extend(evidence);
        if self.settings.keep_text {
            tables.push(keep_texts(&job, self.progress)?);
            self.custody("texts kept", &[])?;
        }
        self.progress.stage("decide", 0);
        let mut session = self.session()?;
        let rules = session.run_rules()?;
        let findings = all_findings(&rules);
        tables.push(write_table(self.case, findings.iter().cloned())?);
        let verdicts = session.run_verdicts()?;
        tables.push(write_table(self.case, verdicts.iter().cloned())?);
        let signs = session.run_early_signs()?;
        tables.push(write_table(self.case, signs.into_iter())?);
        let tallies = Tallies::of(&ingested.sources)?;
        let fitness = fitness_of(&mut session, &tallies, &ingested.sources)?;
        let gap = fitness.gap(&FitnessLimits {
            min_assessable: self.settings.min_assessable,
            max_reject_ratio: self.settings.max_reject_ratio,
        });
        let outcome = outcome(
            findings.iter().map(|f| f.severity.as_ref()),
            self.settings.fail_on,
            self.settings.exit_zero,
            gap.as_deref(),
        );
        let facts = Facts {
            settings: self.settings,
            ingested: &ingested,
            stats: &stats,
            rules: &rules,
            findings: &findings,
            fitness,
            gap: gap.as_deref(),
            outcome: &outcome,
            chosen: &chosen,
        };
        self.progress.stage("report", 0);
        let mut report = fill(&facts, &mut session, self.case)?;
        if self.settings.reveal.is_some() {
            let passages = reveal(&mut report, &job, self.progress)?;
            self.custody("revealed", &[("passages", passages.to_string())])?;
        }
        let outputs = self.write_outputs(&report, &findings)?;
        drop(session);
        scratch::remove_folder(self.case)?;
        let parts = ManifestParts {
            tables,
            outputs,
            rules: rule_digests(&rules),
            tallies,
            stats,
            chosen,
        };
        self.write_manifest(&parts, gap.as_deref(), &outcome)?;
        self.closing_block(&ingested, &verdicts, &parts.chosen, &outcome);
        Ok(outcome)
    }

    /// Chooses what is searched; `exchanges` may be written anew for it.
    fn narrow(&self, ingested: &Ingested, tables: &mut [TableDigest]) -> Result<Chosen> {
        let chosen = choose(self.settings, self.case, ingested, || self.session())?;
        if let Some(anew) = &chosen.exchanges {
            let same = tables.iter_mut().find(|t| t.name == anew.name);
            *same.context("ingest wrote no exchanges")? = anew.clone();
        }
        Ok(chosen)
    }

    fn session(&self) -> Result<CaseSession> {
        open_case(
            &self.case.tables(),
            &SessionOptions {
                memory_limit: Some(self.settings.resources.sql_bytes()),
                threads: self.settings.resources.threads,
                spill_folder: Some(scratch::folder(self.case)),
                reveal: false,
            },
        )
    }

    fn write_outputs(
        &self,
        report: &crate::report::Report,
        findings: &[FindingRow],
    ) -> Result<Vec<FileDigest>> {
        let mut outputs = Vec::new();
        for renderer in crate::report::RENDERERS {
            let bytes = renderer.render(report)?;
            outputs.push(self.case.write_output(renderer.file_name(), &bytes)?);
        }
        let mut lines = Vec::new();
        for finding in findings {
            crate::report::jsonl::append(finding, &mut lines)?;
        }
        outputs.push(self.case.write_output("findings.jsonl", &lines)?);
        outputs.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(outputs)
    }

    fn write_manifest(
        &self,
        parts: &ManifestParts,
        gap: Option<&str>,
        outcome: &Outcome,
    ) -> Result<()> {
        let custody = self.custody(
            "finished",
            &[("exit_code", outcome.exit_code().to_string())],
        )?;
        let manifest = CaseManifest {
            tool: Tool {
                name: "pentimento".into(),
                version: env!("CARGO_PKG_VERSION").into(),
            },
            status: if gap.is_some() {
                CaseStatus::Incomplete
            } else {
                CaseStatus::Complete
            },
            exit_code: outcome.exit_code(),
            exit_reason: match (outcome, gap) {
                (Outcome::Findings, None) => "findings at or above --fail-on".into(),
                (Outcome::Findings, Some(gap)) => {
                    format!("findings at or above --fail-on; incomplete: {gap}")
                }
                (_, Some(gap)) => format!("evidence incomplete: {gap}"),
                _ => "assessed, nothing at or above --fail-on".into(),
            },
            created_at: self.created_at.clone(),
            finished_at: now_rfc3339(),
            // A path need not be UTF-8.
            arguments: std::env::args_os()
                .map(|a| a.to_string_lossy().into_owned())
                .collect(),
            config_blake3: self.settings.config.digest.clone(),
            settings: self.settings_listing(parts),
            rules: parts.rules.clone(),
            tables: parts.tables.clone(),
            outputs: parts.outputs.clone(),
            tallies: parts.tallies.clone(),
            custody: Some(custody),
            peak_memory_bytes: peak_memory_bytes(),
            elapsed_ms: self.progress.elapsed().as_millis() as u64,
            ..CaseManifest::default()
        };
        self.case.write_manifest(&manifest).map_err(store_failure)?;
        Ok(())
    }

    fn settings_listing(&self, parts: &ManifestParts) -> BTreeMap<String, serde_json::Value> {
        let s = self.settings;
        let chosen = &parts.chosen;
        let sql = s.asked.suspects.as_ref();
        let sql_blake3 = sql.map(|q| blake3::hash(q.as_bytes()).to_hex().to_string());
        let o = &s.config.overlap;
        let list: [(&str, serde_json::Value); 17] = [
            ("mode", chosen.mode.as_str().into()),
            ("mode_reason", chosen.why.as_str().into()),
            ("responses_searched", chosen.searched.into()),
            ("responses_searchable", chosen.searchable.into()),
            ("suspects_blake3", sql_blake3.into()),
            ("fail_on", s.fail_on.as_str().into()),
            ("since_us", s.window.since.into()),
            ("until_us", s.window.until.into()),
            ("look_back_us", o.look_back_us.into()),
            ("clock_tolerance_us", o.clock_tolerance_us.into()),
            ("max_tenants", o.max_tenants.into()),
            ("store_weight", o.store_weight.into()),
            ("min_assessable", s.min_assessable.into()),
            ("max_reject_ratio", s.max_reject_ratio.into()),
            ("keep_text", s.keep_text.into()),
            ("memory_limit_bytes", s.resources.memory_bytes.into()),
            ("passes", parts.stats.passes.into()),
        ];
        list.into_iter().map(|(k, v)| (k.to_string(), v)).collect()
    }

    fn custody(&self, action: &str, detail: &[(&str, String)]) -> Result<ChainHead> {
        let reason = self.settings.reveal.as_deref();
        add_custody(self.case, action, reason, detail)
    }

    fn closing_block(
        &self,
        ingested: &Ingested,
        verdicts: &[VerdictRow],
        chosen: &Chosen,
        outcome: &Outcome,
    ) {
        if self.settings.quiet {
            return;
        }
        self.progress.finish();
        let mut lines = closing_lines(self, ingested, verdicts, outcome);
        lines.insert(1, chosen.line());
        if self.settings.progress == ProgressMode::Json {
            let bytes: i64 = ingested.sources.iter().map(|s| s.bytes).sum();
            let done = serde_json::json!({
                "stage": "done",
                "bytes": bytes,
                "total_bytes": bytes,
                "elapsed_ms": self.progress.elapsed().as_millis() as u64,
                "summary": lines,
            });
            say(&done.to_string());
            return;
        }
        for line in lines {
            say(&line);
        }
    }
}

/// All findings in total order.
fn all_findings(rules: &[RuleRun]) -> Vec<FindingRow> {
    let mut findings: Vec<FindingRow> = rules.iter().flat_map(|r| r.rows.clone()).collect();
    findings.sort_by(|a, b| {
        let key = |f: &FindingRow| {
            (
                f.rule_id.clone(),
                f.exchange_id.clone(),
                f.finding_id.clone(),
            )
        };
        key(a).cmp(&key(b))
    });
    findings
}

fn fitness_of(
    session: &mut CaseSession,
    tallies: &Tallies,
    sources: &[SourceRow],
) -> Result<Fitness> {
    let mut fitness: Fitness = session
        .typed_rows("report/assessed")?
        .pop()
        .context("the fitness query gave no row")?;
    fitness.records_read = tallies.total.read;
    fitness.records_rejected = tallies.total.rejected;
    let unread = sources.iter().filter(|s| s.status == "unreadable");
    fitness.sources_unread = unread.count() as i64;
    Ok(fitness)
}

fn rule_digests(rules: &[RuleRun]) -> Vec<RuleDigest> {
    rules
        .iter()
        .map(|r| RuleDigest {
            id: r.rule.id.to_string(),
            version: r.rule.version.to_string(),
            blake3: r.rule.digest(),
            rows: r.rows.len() as i64,
        })
        .collect()
}

struct ManifestParts {
    tables: Vec<TableDigest>,
    outputs: Vec<FileDigest>,
    rules: Vec<RuleDigest>,
    tallies: Tallies,
    stats: Stats,
    chosen: Chosen,
}

fn closing_lines(
    run: &Run<'_>,
    ingested: &Ingested,
    verdicts: &[VerdictRow],
    outcome: &Outcome,
) -> Vec<String> {
    let sum = |get: fn(&pentimento_store::rows::SourceRow) -> i64| -> i64 {
        ingested.sources.iter().map(get).sum()
    };
    let accepted = sum(|s| s.records_exchange + s.records_event + s.records_other);
    let mut grades: BTreeMap<&str, i64> = BTreeMap::new();
    for verdict in verdicts.iter().filter(|v| v.excluded.is_none()) {
        *grades.entry(verdict.grade.as_ref()).or_insert(0) += 1;
    }
    let excluded = verdicts.iter().filter(|v| v.excluded.is_some()).count();
    let order = [
        "confirmed",
        "probable",
        "possible",
        "cleared",
        "not_assessable",
    ];
    let by_grade: Vec<String> = order
        .iter()
        .map(|g| {
            format!(
                "{} {}",
                grades.get(g).copied().unwrap_or(0),
                g.replace('_', " ")
            )
        })
        .collect();
    let bytes = sum(|s| s.bytes) as u64;
    let elapsed = run.progress.elapsed().as_secs_f64();
    let rate = (bytes as f64 / elapsed.max(0.001)) as u64;
    let root = run.case.root().display();
    let mut lines = vec![
        format!(
            "records read {} = accepted {} + rejected {} + duplicate {} + out of window {}",
            sum(|s| s.records_read),
            accepted,
            sum(|s| s.records_rejected),
            sum(|s| s.records_duplicate),
            sum(|s| s.records_out_of_window)
        ),
        format!("responses: {}", by_grade.join(", ")),
    ];
    if excluded > 0 {
        lines.push(format!(
            "internal and researcher responses, counted apart: {excluded}"
        ));
    }
    let peak = peak_memory_bytes().map_or_else(|| "unknown".into(), human_bytes);
    lines.push(format!(
        "{} read in {elapsed:.1} s ({}/s), peak memory {peak}",
        human_bytes(bytes),
        human_bytes(rate)
    ));
    lines.push(format!(
        "report: {root}/report.html (also .md, .json, findings.jsonl)"
    ));
    let table = if matches!(outcome, Outcome::Findings) {
        "findings"
    } else {
        "verdicts"
    };
    lines.push(format!(
        "next: pentimento sql --case {root} -c \"SELECT * FROM {table} LIMIT 20\""
    ));
    lines
}

/// A run that read no record must not look like a clean one.
fn check_something_read(ingested: &Ingested) -> Result<()> {
    let unreadable = ingested.sources.iter().any(|s| s.status == "unreadable");
    let rejected: i64 = ingested
        .sources
        .iter()
        .filter(|s| s.status != "empty")
        .map(|s| s.records_rejected)
        .sum();
    if ingested.exchanges == 0 && rejected == 0 && !unreadable {
        let out: i64 = ingested
            .sources
            .iter()
            .map(|s| s.records_out_of_window)
            .sum();
        let why = if out > 0 {
            format!("all {out} records lie outside the window")
        } else {
            "no exchange is in the input".to_string()
        };
        return Err(failure(
            FailureKind::NothingToAudit,
            format!("nothing to audit: {why}"),
        ));
    }
    Ok(())
}
