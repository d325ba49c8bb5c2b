//! oneact performs one agent action: one JSON task on stdin, one JSON result on stdout.
//!
//! `ARCHITECTURE.md` describes the rooms, which are the modules below, and the invariants that types and tests
//! enforce.

mod approval;
mod assets;
mod catalog;
pub mod cli;
mod doctor;
mod edit;
pub mod envelope;
mod evidence;
mod executor;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;
mod gateway;
pub mod host;
mod ledger;
mod mcp;
mod people;
pub mod perform;
mod plan;
pub mod record;
mod servers;
pub mod task;
mod telemetry;
mod tree;
mod web;
