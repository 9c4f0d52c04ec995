//! Pentimento: audits the request/response logs of LLM serving and finds the answers in which
//! another customer's text shows through. This file is glue: everything else lives in modules.

mod cli;
mod clock;
mod commands;
mod config;
mod fitness;
mod gate;
mod log_sources;
mod messages;
mod outcome;
mod phases;
mod pipeline;
mod progress;
mod report;
mod settings;
mod sql;
mod tenant_map;

use std::process::ExitCode;

fn main() -> ExitCode {
    messages::install_panic_hook();
    match cli::run() {
        Ok(outcome) => {
            if let outcome::Outcome::Incomplete(why) = &outcome {
                messages::say(&format!("evidence incomplete: {why}"));
            }
            ExitCode::from(outcome.exit_code())
        }
        Err(error) if messages::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            messages::say(&format!("error: {error:#}"));
            ExitCode::from(outcome::exit_code_of(&error))
        }
    }
}
