//! From what was typed after `audit` to its settings.

use super::suspects::check;
use crate::cli::AuditArgs;
use crate::config::duration_us;
use crate::outcome::{FailureKind, failure};
use crate::pipeline::narrow::Asked;
use crate::settings::{AuditSettings, Resources, load_config, private_key, window, worker_threads};
use anyhow::Result;

/// Checks the flags and reads the configuration.
///
/// # Errors
/// Usage failures that name the flag.
pub fn resolve(args: AuditArgs) -> Result<AuditSettings> {
    let mut config = load_config(
        args.config.as_deref(),
        args.look_back.as_deref(),
        args.assume_timezone.as_deref(),
    )?;
    config.keys = private_key(args.private_key.as_deref())?;
    let window = window(args.since.as_deref(), args.until.as_deref(), &config)?;
    for (flag, share) in [
        ("--min-assessable", args.min_assessable),
        ("--max-reject-ratio", args.max_reject_ratio),
    ] {
        if !(0.0..=1.0).contains(&share) {
            return Err(failure(
                FailureKind::Usage,
                format!("{flag} {share} is no share: expected 0 to 1"),
            ));
        }
    }
    if args.case.to_str().is_none() {
        return Err(failure(
            FailureKind::Usage,
            "--case must be UTF-8, which the SQL engine needs",
        ));
    }
    let threads = match args.threads {
        Some(0) => return Err(failure(FailureKind::Usage, "--threads must be at least 1")),
        asked => worker_threads(asked),
    };
    if args.memory_limit < 64 << 20 {
        return Err(failure(
            FailureKind::Usage,
            "--memory-limit must be at least 64MiB",
        ));
    }
    let full_within = args.full_within.as_deref().map(duration_us).transpose();
    let full_within =
        full_within.map_err(|e| failure(FailureKind::Usage, format!("--full-within: {e:#}")))?;
    let asked = Asked {
        mode: args.mode,
        suspects: args.suspects,
        full_within_s: full_within.map(|us| us as f64 / 1e6),
    };
    check(&asked)?;
    Ok(AuditSettings {
        logs: args.logs,
        case_dir: args.case,
        window,
        config,
        fail_on: args.fail_on,
        asked,
        resources: Resources {
            threads,
            memory_bytes: args.memory_limit,
            block_bytes: args.block_size.max(1),
        },
        progress: args.progress,
        quiet: args.quiet,
        keep_text: args.keep_text,
        reveal: args.reason.filter(|_| args.reveal),
        min_assessable: args.min_assessable,
        max_reject_ratio: args.max_reject_ratio,
        case_key_file: args.case_key_file,
        exit_zero: args.exit_zero,
    })
}
