//! From logs to the tables of a case: ingest (logs to rows) and detect (logs to evidence).

pub mod assemble;
pub mod bodies;
pub mod calls;
pub mod collect;
pub mod corpus;
pub mod detect;
pub mod discover;
pub mod draft;
pub mod events;
pub mod evidence;
pub mod ingest;
pub mod intern;
pub mod mask;
pub mod narrow;
pub mod open;
pub mod operators;
mod outlet;
pub mod physics;
pub mod previews;
pub mod scan;
pub mod scratch;
