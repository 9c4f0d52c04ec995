//! The one integration binary.

mod sql;
