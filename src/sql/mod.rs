//! SQL over a case: the only place that knows DataFusion and tokio.
//!
//! Everything outside calls plain functions; the asynchronous engine stays behind
//! [`CaseSession`].

pub mod catalog;
pub mod column;
mod early_signs;
pub mod findings;
mod held;
pub mod json;
pub mod output;
pub mod session;

#[cfg(test)]
mod engine_rule_tests;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod report_tests;
#[cfg(test)]
mod rule_tests;
#[cfg(test)]
mod verdict_tests;
