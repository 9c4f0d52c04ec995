//! `pentimento simulate`: writes the logs of a scenario, its configuration and its labels.

use crate::messages::say;
use crate::outcome::{FailureKind, Outcome, failure};
use crate::progress::human_bytes;
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use pentimento_core::synth::{Scale, SimulateOptions, Sink, scenarios, simulate};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Flags of `simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// Scenario, such as glm53-incident
    scenario: String,
    /// Folder to write: logs/, pentimento.toml, labels.jsonl
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Same seed, same bytes
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// small cuts long prompts as loggers do, full writes them whole
    #[arg(long, value_enum, default_value = "small")]
    scale: ScaleArg,
    /// Responses that show another tenant's text
    #[arg(long, value_name = "N", default_value_t = 155)]
    leaks: u32,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScaleArg {
    Small,
    Full,
}

/// Runs the command.
///
/// # Errors
/// Usage failures, and where the folder cannot be written.
pub fn run(args: &SimulateArgs) -> Result<Outcome> {
    let known: Vec<&str> = scenarios().iter().map(|s| s.name).collect();
    if !known.contains(&args.scenario.as_str()) {
        return Err(failure(
            FailureKind::Usage,
            format!(
                "no scenario `{}`: known are {}",
                args.scenario,
                known.join(", ")
            ),
        ));
    }
    if args.out.join("labels.jsonl").exists() || args.out.join("logs").exists() {
        return Err(failure(
            FailureKind::Usage,
            format!(
                "`{}` already holds a simulation: name a new folder",
                args.out.display()
            ),
        ));
    }
    let options = SimulateOptions {
        seed: args.seed,
        scale: match args.scale {
            ScaleArg::Small => Scale::Small,
            ScaleArg::Full => Scale::Full,
        },
        leaks: args.leaks,
    };
    let mut sink = FolderSink {
        root: args.out.clone(),
        files: BTreeMap::new(),
        bytes: 0,
    };
    simulate(&args.scenario, &options, &mut sink)
        .map_err(|e| failure(FailureKind::Usage, e.to_string()))?;
    let bytes = sink.finish()?;
    let out = args.out.display();
    say(&format!("wrote {} to `{out}`", human_bytes(bytes)));
    say(&format!(
        "next: pentimento audit {out}/logs --config {out}/pentimento.toml --case {out}/case"
    ));
    Ok(Outcome::Done)
}

struct FolderSink {
    root: PathBuf,
    files: BTreeMap<String, BufWriter<File>>,
    bytes: u64,
}

impl FolderSink {
    fn finish(mut self) -> Result<u64> {
        for (name, file) in &mut self.files {
            file.flush()
                .with_context(|| format!("cannot write `{name}`"))?;
        }
        Ok(self.bytes)
    }

    fn open(root: &Path, file: &str) -> std::io::Result<BufWriter<File>> {
        let path = root.join(file);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        Ok(BufWriter::with_capacity(1 << 18, File::create(path)?))
    }
}

impl Sink for FolderSink {
    fn line(&mut self, file: &str, line: &[u8]) -> std::io::Result<()> {
        if !self.files.contains_key(file) {
            let opened = FolderSink::open(&self.root, file)?;
            self.files.insert(file.to_string(), opened);
        }
        if let Some(out) = self.files.get_mut(file) {
            out.write_all(line)?;
            out.write_all(b"\n")?;
            self.bytes += line.len() as u64 + 1;
        }
        Ok(())
    }
}
