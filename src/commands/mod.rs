//! One file per subcommand; each returns an outcome.

pub mod advisories;
pub mod audit;
pub mod audit_args;
pub mod canary;
pub mod custody;
pub mod formats;
pub mod gate;
pub mod ingest;
pub mod inspect;
mod inspect_text;
pub mod log_pass;
pub mod over_limit;
pub mod query;
pub mod report_model;
pub mod reveal;
pub mod rules;
pub mod simulate;
pub mod sql;
pub mod suspects;
pub mod trace;
