//! Tables of a case: their schemas, their Parquet files, and the folder that holds them.
//!
//! This package knows Arrow and Parquet, but no query engine and no clock: times and randomness are
//! passed in. Everything is written aside and then renamed, so that what has a name is whole.

pub mod case;
pub mod cell;
pub mod columnar;
pub mod custody;
pub mod digest;
pub mod error;
mod footer;
pub mod manifest;
pub mod reader;
pub mod rows;
pub mod schema;
pub mod storage;
pub mod writer;

pub use case::CaseFolder;
pub use digest::{CaseKey, KeyedHasher, keyed_hash};
pub use error::{StoreError, TableProblem};
pub use manifest::CaseManifest;
pub use schema::{SCHEMA_VERSION, Table};
pub use writer::{TableSummary, TableWriter, WriteOptions};

#[cfg(test)]
mod tests;
