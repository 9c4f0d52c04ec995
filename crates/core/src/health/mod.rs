//! The health of answers: facts about one text that need no other tenant's text to compare with.
//!
//! Memory that was never written, or was another request's, often gives text that is not so much
//! foreign as broken: loops, control characters, template tokens, a language nobody asked for. Each
//! answer is measured alone; then it is set against the answers of the same model and node, so that
//! a rule never needs one cut for poems, code and Thai.

mod damage;
mod operator;
mod outlier;
mod repetition;
#[cfg(test)]
mod tests;

pub use operator::{Health, HealthRow, HealthSubject, Partial, TextHealth};
pub use outlier::Deviations;
