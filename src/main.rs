//! Entry point.
#[allow(dead_code)]
mod sql;
fn main() {}
