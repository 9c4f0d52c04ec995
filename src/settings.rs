//! What the user asked, validated once. Later code never looks at the command line again.

use crate::config::{Config, duration_us, moment_us, zone};
use crate::outcome::{FailureKind, failure};
use crate::pipeline::collect::Window;
use crate::pipeline::narrow::Asked;
use crate::progress::ProgressMode;
use anyhow::Result;
use pentimento_core::canary::CanaryKeys;
use pentimento_core::format::sealed::BodyKeys;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which responses are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Mode {
    /// Every response, or those over the limit where `--full-within` leaves no time for more.
    #[default]
    Auto,
    /// Only responses that a trigger or `--suspects` chose.
    Suspect,
    /// Every response.
    Full,
}

impl Mode {
    /// The name used in reports: what was done, not what was asked.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Auto | Mode::Full => "full",
            Mode::Suspect => "suspect",
        }
    }
}

/// Severities, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum FailOn {
    /// Leads.
    Low,
    /// Possible, exposed configurations.
    Medium,
    /// Probable.
    High,
    /// Confirmed.
    Critical,
    /// Findings never change the exit code.
    Never,
}

impl FailOn {
    /// Whether a finding of this severity reaches the threshold.
    pub fn reached_by(self, severity: &str) -> bool {
        let rank = match severity {
            "critical" => FailOn::Critical,
            "high" => FailOn::High,
            "medium" => FailOn::Medium,
            _ => FailOn::Low,
        };
        self != FailOn::Never && rank >= self
    }

    /// The name used in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            FailOn::Low => "low",
            FailOn::Medium => "medium",
            FailOn::High => "high",
            FailOn::Critical => "critical",
            FailOn::Never => "never",
        }
    }
}

/// What may be in memory at once, and how many threads work.
#[derive(Clone, Copy, Debug)]
pub struct Resources {
    /// Worker threads.
    pub threads: usize,
    /// Memory limit in bytes.
    pub memory_bytes: usize,
    /// Target size of a block of records in bytes.
    pub block_bytes: usize,
}

impl Resources {
    /// The share of the overlap search: half, the rest being blocks, rows and the SQL engine.
    pub fn search_bytes(&self) -> usize {
        self.memory_bytes / 2
    }

    /// The share of the SQL engine.
    pub fn sql_bytes(&self) -> usize {
        (self.memory_bytes / 4).max(64 << 20)
    }
}

/// Worker threads: as many as asked for, else one per core.
pub fn worker_threads(asked: Option<usize>) -> usize {
    asked
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
        .max(1)
}

/// Resolved settings of an audit.
#[derive(Clone, Debug)]
pub struct AuditSettings {
    /// Inputs as named.
    pub logs: Vec<String>,
    /// Case folder.
    pub case_dir: PathBuf,
    /// Checked configuration.
    pub config: Config,
    /// Audited window.
    pub window: Window,
    /// Exit threshold.
    pub fail_on: FailOn,
    /// Which responses are searched.
    pub asked: Asked,
    /// Threads and memory.
    pub resources: Resources,
    /// How progress is shown.
    pub progress: ProgressMode,
    /// Nothing on stderr but errors.
    pub quiet: bool,
    /// Copy texts into the case.
    pub keep_text: bool,
    /// Masked previews in the report, with the reason given.
    pub reveal: Option<String>,
    /// Least share of calls that a text test must see.
    pub min_assessable: f64,
    /// Greatest share of rejected records.
    pub max_reject_ratio: f64,
    /// File with the case key.
    pub case_key_file: Option<PathBuf>,
    /// Findings end with 0 all the same.
    pub exit_zero: bool,
}

/// Largest file of private keys that is read.
const MOST_PEM_BYTES: u64 = 1 << 20;

/// Largest key file that is read.
const MOST_KEY_BYTES: u64 = 64 << 20;

/// Reads a key file.
///
/// # Errors
/// Usage failures: not readable, too large, or no key file.
pub fn read_keys(path: &Path) -> Result<CanaryKeys> {
    let usage = |why: String| failure(FailureKind::Usage, format!("`{}`: {why}", path.display()));
    let size = std::fs::metadata(path)
        .map_err(|e| usage(format!("cannot read it: {e}")))?
        .len();
    if size > MOST_KEY_BYTES {
        return Err(usage("a canary key file has at most 64 MiB".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(|e| usage(format!("cannot read it: {e}")))?;
    CanaryKeys::parse(&text).map_err(|e| usage(e.to_string()))
}

/// The keys of `--private-key`.
///
/// # Errors
/// Usage failures: not readable, too large, or no RSA key.
pub fn private_key(path: Option<&Path>) -> Result<Option<Arc<BodyKeys>>> {
    let Some(path) = path else { return Ok(None) };
    let wrong = |why: String| {
        let name = path.display();
        failure(FailureKind::Usage, format!("--private-key `{name}`: {why}"))
    };
    let size = std::fs::metadata(path)
        .map_err(|e| wrong(format!("cannot read it: {e}")))?
        .len();
    if size > MOST_PEM_BYTES {
        return Err(wrong("a file of private keys has at most 1 MiB".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(|e| wrong(format!("cannot read it: {e}")))?;
    let keys = BodyKeys::of_pem(&text).map_err(|e| wrong(e.to_string()))?;
    Ok(Some(Arc::new(keys)))
}

/// Reads a configuration file, or the empty one, and lays the flags over it.
///
/// # Errors
/// Usage failures.
pub fn load_config(
    file: Option<&Path>,
    look_back: Option<&str>,
    assume_timezone: Option<&str>,
) -> Result<Config> {
    let mut config = match file {
        Some(path) => Config::read(path)?,
        None => Config::empty()?,
    };
    if let Some(text) = look_back {
        config.overlap.look_back_us = duration_us(text).map_err(|e| usage("--look-back", &e))?;
    }
    if let Some(name) = assume_timezone {
        config.zone = Some(zone(name).map_err(|e| usage("--assume-timezone", &e))?);
    }
    Ok(config)
}

/// The window of `--since` and `--until`.
///
/// # Errors
/// Usage failures.
pub fn window(since: Option<&str>, until: Option<&str>, config: &Config) -> Result<Window> {
    let moment = |flag: &str, text: Option<&str>| {
        text.map(|t| moment_us(t, config.zone.as_ref()).map_err(|e| usage(flag, &e)))
            .transpose()
    };
    let window = Window {
        since: moment("--since", since)?,
        until: moment("--until", until)?,
        look_back_us: config.overlap.look_back_us,
    };
    if matches!((window.since, window.until), (Some(s), Some(u)) if u <= s) {
        return Err(failure(
            FailureKind::Usage,
            "--until must be later than --since",
        ));
    }
    Ok(window)
}

/// A size such as `512MiB`, `2GiB`, `1G` or plain bytes.
///
/// # Errors
/// Where the text is no size.
pub fn size_bytes(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text[digits.len()..].to_ascii_lowercase();
    let number: usize = digits
        .trim()
        .parse()
        .map_err(|_| format!("`{text}` is no size, expected e.g. 2GiB"))?;
    let shift = match unit.as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => {
            return Err(format!(
                "`{text}` has an unknown unit, expected KiB, MiB or GiB"
            ));
        }
    };
    number
        .checked_shl(shift)
        .filter(|n| n >> shift == number)
        .ok_or_else(|| format!("`{text}` is too large"))
}

fn usage(flag: &str, error: &anyhow::Error) -> anyhow::Error {
    failure(FailureKind::Usage, format!("{flag}: {error:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severities_against_thresholds() {
        let cases = [
            (FailOn::High, "critical", true),
            (FailOn::High, "high", true),
            (FailOn::High, "medium", false),
            (FailOn::Low, "low", true),
            (FailOn::Critical, "high", false),
            (FailOn::Never, "critical", false),
        ];
        for (fail_on, severity, reached) in cases {
            assert_eq!(
                fail_on.reached_by(severity),
                reached,
                "{fail_on:?} {severity}"
            );
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(size_bytes("2GiB"), Ok(2 << 30));
        assert_eq!(size_bytes("512m"), Ok(512 << 20));
        assert_eq!(size_bytes("7"), Ok(7));
        for bad in ["", "GiB", "1.5G", "3 parsecs", "99999999999G"] {
            assert!(size_bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn windows() {
        let config = Config::empty().expect("empty");
        let w = window(Some("1970-01-02"), Some("1970-01-03"), &config).expect("valid");
        let day = 86_400_000_000;
        for (t, place) in [
            (Some(day - 1), Some(false)),
            (Some(-1), None),
            (Some(day), Some(true)),
            (Some(2 * day), None),
            (None, Some(true)),
        ] {
            assert_eq!(w.place(t), place, "{t:?}");
        }
        assert!(window(Some("1970-01-03"), Some("1970-01-03"), &config).is_err());
    }
}
