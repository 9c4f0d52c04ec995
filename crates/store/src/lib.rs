//! Tables of a case.

pub mod cell;
pub mod rows;
pub mod schema;
