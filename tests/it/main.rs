//! The one integration binary.

#![allow(clippy::unwrap_used, reason = "in a test it says where it failed")]

mod bodies;
mod canary;
mod capacity;
mod cli;
mod determinism;
mod engine;
mod gate;
mod incident;
mod kit;
mod linking;
mod no_false_green;
mod privacy;
mod reliability;
mod reveal;
mod second_hand;
mod share_group;
mod sql;
mod stages;
mod suspects;
mod trace;
