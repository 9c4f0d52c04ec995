//! Tables of a case.
