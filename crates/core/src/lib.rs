//! Records, log formats, text and evidence kernels of Pentimento.
//!
//! This package never touches the file system, the network or a clock, and knows neither Arrow nor
//! tokio: bytes come in as slices or readers, facts go out as plain values.

pub mod capacity;
pub mod exchange;
pub mod format;
pub mod link;
pub mod operator;
pub mod overlap;
pub mod record;
pub mod second_hand;
#[cfg(feature = "synth")]
pub mod synth;
pub mod text;
pub mod trace;
