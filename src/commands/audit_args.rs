//! From what was typed after `audit` to its settings.

use crate::cli::AuditArgs;
use crate::outcome::{FailureKind, failure};
use crate::settings::{AuditSettings, Mode, Resources, load_config, window, worker_threads};
use anyhow::Result;

/// Checks the flags and reads the configuration.
///
/// # Errors
/// Usage failures that name the flag.
pub fn resolve(args: AuditArgs) -> Result<AuditSettings> {
    let config = load_config(
        args.config.as_deref(),
        args.look_back.as_deref(),
        &args.assumed,
    )?;
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
    Ok(AuditSettings {
        logs: args.logs,
        case_dir: args.case,
        window,
        config,
        fail_on: args.fail_on,
        mode: if args.mode == Mode::Suspect {
            Mode::Suspect
        } else {
            Mode::Full
        },
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
