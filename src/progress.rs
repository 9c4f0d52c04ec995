//! Progress on stderr: a bar at a terminal, plain or JSON lines elsewhere, or nothing.

use crate::clock::Stopwatch;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// How progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ProgressMode {
    /// A bar at a terminal, plain lines otherwise.
    #[default]
    Auto,
    /// One line at each stage and every ten seconds.
    Plain,
    /// The same as JSON objects.
    Json,
    /// Nothing.
    None,
}

/// Seconds between plain lines.
const LINE_EVERY_S: u64 = 10;

/// The progress of one run.
pub struct Progress {
    mode: ProgressMode,
    bar: Option<ProgressBar>,
    clock: Stopwatch,
    done: AtomicU64,
    total: AtomicU64,
    last_line_s: AtomicU64,
    stage: Mutex<String>,
}

impl Progress {
    /// A new display.
    pub fn new(mode: ProgressMode, quiet: bool) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        let mode = match mode {
            _ if quiet => ProgressMode::None,
            ProgressMode::Auto if terminal => ProgressMode::Auto,
            ProgressMode::Auto => ProgressMode::Plain,
            other => other,
        };
        let bar = (mode == ProgressMode::Auto).then(|| {
            let bar = ProgressBar::new(0);
            let style =
                "{msg:<10} {wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec} {elapsed}";
            if let Ok(style) = ProgressStyle::with_template(style) {
                bar.set_style(style);
            }
            bar
        });
        Progress {
            mode,
            bar,
            clock: Stopwatch::start(),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            last_line_s: AtomicU64::new(0),
            stage: Mutex::new(String::new()),
        }
    }

    /// Starts a stage of `total` bytes.
    pub fn stage(&self, name: &str, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        if let Ok(mut stage) = self.stage.lock() {
            *stage = name.to_string();
        }
        if let Some(bar) = &self.bar {
            bar.set_length(total);
            bar.set_position(0);
            bar.set_message(name.to_string());
        }
        self.line();
    }

    /// Adds bytes done.
    pub fn advance(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if let Some(bar) = &self.bar {
            bar.set_position(done);
            return;
        }
        let now = self.clock.elapsed().as_secs();
        let last = self.last_line_s.load(Ordering::Relaxed);
        let due = now >= last + LINE_EVERY_S
            && self
                .last_line_s
                .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if due {
            self.line();
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Time since the start.
    pub fn elapsed(&self) -> std::time::Duration {
        self.clock.elapsed()
    }

    fn line(&self) {
        let stage = self.stage.lock().map(|s| s.clone()).unwrap_or_default();
        let (done, total) = (
            self.done.load(Ordering::Relaxed),
            self.total.load(Ordering::Relaxed),
        );
        let elapsed = self.clock.elapsed().as_secs_f64();
        let text = match self.mode {
            ProgressMode::Plain if total > 0 => format!(
                "{stage}: {} of {}, {elapsed:.1} s elapsed",
                human_bytes(done),
                human_bytes(total)
            ),
            ProgressMode::Plain => format!("{stage}: {elapsed:.1} s elapsed"),
            ProgressMode::Json => serde_json::json!({
                "stage": stage, "bytes": done, "total_bytes": total,
                "elapsed_ms": (elapsed * 1000.0) as u64,
            })
            .to_string(),
            ProgressMode::Auto | ProgressMode::None => return,
        };
        // A closed stderr must not stop an audit.
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

/// Bytes in binary units with one digit.
pub fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}
