//! What a log looks like before it is audited: which field feeds which column, which format it is
//! nearest to where none fits, and a mapping that would read it.
//!
//! Nothing here knows a format by heart. Fields are found by taking them away and looking what
//! changes; nearness by comparing with one example record of each format.

mod closest;
mod guess;
mod known;
mod names;
mod origin;
mod sample;

pub use closest::{Near, closest};
pub use guess::{Guess, guess};
pub use known::{KnownFormat, known};
pub use origin::{Origin, origins};
pub use sample::Sample;
