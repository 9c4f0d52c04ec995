//! Tests of the package, apart from the code they test because they share their rows.

mod case;
mod failure;
mod roundtrip;
mod sample;
mod tables;
