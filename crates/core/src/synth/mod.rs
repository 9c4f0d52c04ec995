//! Seeded scenarios: logs of an incident together with the truth about them.
//!
//! The generator knows which delivered response shows whose text and writes that beside the logs,
//! so that detection can be measured. It writes through a [`Sink`] and touches no file system. The
//! same seed, scale and number of leaks give the same bytes everywhere.

mod config;
mod engine;
mod fleet;
mod incident;
mod json;
mod labels;
mod mixups;
mod plan;
mod prose;
mod records;
mod rng;
mod schedule;
mod testimony;
mod texts;
mod words;
mod words_east;
mod words_west;

use testimony::Story;

/// Where a scenario goes.
pub trait Sink {
    /// Takes one line (without its line feed) of a file named by its path relative to the output.
    fn line(&mut self, file: &str, line: &[u8]) -> std::io::Result<()>;
}

/// How large the logs are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Long prompts are cut as loggers cut them: a few megabytes in all.
    #[default]
    Small,
    /// Long prompts in full in the gateway log: up to four gigabytes.
    Full,
}

/// What to generate.
#[derive(Clone, Copy, Debug)]
pub struct SimulateOptions {
    /// All randomness comes from here.
    pub seed: u64,
    /// How large the logs are.
    pub scale: Scale,
    /// Delivered responses of ordinary tenants that show foreign text: exactly so many.
    pub leaks: u32,
}

impl SimulateOptions {
    /// The count that the operator found by hand.
    pub const DEFAULT_LEAKS: u32 = 155;
    /// The most leaks that fit the fortnight.
    pub const MAX_LEAKS: u32 = 5_000;
}

impl Default for SimulateOptions {
    fn default() -> SimulateOptions {
        SimulateOptions {
            seed: 1,
            scale: Scale::Small,
            leaks: SimulateOptions::DEFAULT_LEAKS,
        }
    }
}

/// A scenario that can be generated.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
}

/// What was generated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimulateSummary {
    /// Log lines of all files.
    pub log_lines: u64,
    /// Bytes of all log lines, line feeds included.
    pub log_bytes: u64,
    /// Gateway records, one per attempt of a client.
    pub gateway_records: u64,
    /// Leaking responses of ordinary tenants.
    pub leaks: u64,
    /// Leaking responses of internal and researcher tenants.
    pub excluded_leaks: u64,
    /// Responses labelled benign.
    pub benign: u64,
}

/// Why a scenario could not be generated.
#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    /// No scenario has this name.
    #[error("unknown scenario \"{0}\", see `simulate --help`")]
    UnknownScenario(String),
    /// More leaks than fit.
    #[error("{given} leaks asked for, expected at most {most}")]
    TooManyLeaks {
        /// What was asked.
        given: u32,
        /// The limit.
        most: u32,
    },
    /// The sink failed.
    #[error("cannot write the scenario")]
    Write(#[from] std::io::Error),
}

const SCENARIOS: [Scenario; 10] = [
    Scenario {
        name: "glm53-incident",
        summary: "prompts over the prefill pool answered from stale pages, 27 August to 9 \
                  September 2026",
    },
    Scenario {
        name: "glm53-engine",
        summary: "the same incident, with what the engines print and what was scraped from them",
    },
    Scenario {
        name: "engine-testimony",
        summary: "prompts over the pool, told by the engines alone (stdout, metrics): no text",
    },
    Scenario {
        name: "lost-rooms",
        summary: "the same, and the gateway did not keep the room of a hand-over",
    },
    Scenario {
        name: "grammar-timeouts",
        summary: "short prompts handed over as stubs because their grammar was late on prefill",
    },
    Scenario {
        name: "late-writes",
        summary: "after an abort a late write lands in pages of a bystander with a short prompt",
    },
    Scenario {
        name: "failed-images",
        summary: "short prompts handed over as stubs because their picture failed on prefill",
    },
    Scenario {
        name: "mixed-fleet",
        summary: "exposed nodes beside a fixed engine, a large pool and one process that does both",
    },
    Scenario {
        name: "offload-mixup",
        summary: "an offload tier gives back the blocks of another conversation",
    },
    Scenario {
        name: "healthy-week",
        summary: "the same long prompts on engines with large pools: nothing may be found",
    },
];

/// The scenarios that [`simulate`] knows.
pub fn scenarios() -> &'static [Scenario] {
    &SCENARIOS
}

/// Writes a scenario: `logs/…`, `pentimento.toml` and `labels.jsonl`.
pub fn simulate(
    name: &str,
    options: &SimulateOptions,
    sink: &mut dyn Sink,
) -> Result<SimulateSummary, SimulateError> {
    if options.leaks > SimulateOptions::MAX_LEAKS {
        return Err(SimulateError::TooManyLeaks {
            given: options.leaks,
            most: SimulateOptions::MAX_LEAKS,
        });
    }
    match name {
        "glm53-incident" => incident::write(options, false, sink),
        "glm53-engine" => incident::write(options, true, sink),
        "engine-testimony" => testimony::write(Story::Incident, options, sink),
        "lost-rooms" => testimony::write(Story::LostRooms, options, sink),
        "grammar-timeouts" => testimony::write(Story::GrammarTimeouts, options, sink),
        "late-writes" => testimony::write(Story::LateWrites, options, sink),
        "failed-images" => testimony::write(Story::FailedImages, options, sink),
        "mixed-fleet" => testimony::write(Story::MixedFleet, options, sink),
        "offload-mixup" => testimony::write(Story::OffloadMixup, options, sink),
        "healthy-week" => testimony::write(Story::HealthyWeek, options, sink),
        _ => Err(SimulateError::UnknownScenario(name.to_owned())),
    }
}
