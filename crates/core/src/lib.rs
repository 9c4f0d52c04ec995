//! Records, log formats, text and evidence kernels of Pentimento.
//!
//! This package never touches the file system, the network or a clock, and knows neither Arrow nor
//! tokio: bytes come in as slices or readers, facts go out as plain values.

pub mod advisory;
pub mod attribution;
pub mod canary;
pub mod capacity;
pub mod duplicate;
pub mod early_signs;
pub mod engine;
pub mod estimate;
pub mod exchange;
pub mod facts;
pub mod format;
#[cfg(any(test, feature = "fuzz"))]
pub mod fuzz;
pub mod health;
pub mod identifiers;
pub mod inspect;
pub mod link;
pub mod mosaic;
pub mod operator;
pub mod overlap;
pub mod probe;
pub mod record;
pub mod second_hand;
pub mod surprise;
#[cfg(feature = "synth")]
pub mod synth;
pub mod text;
pub mod threshold;
pub mod trace;
