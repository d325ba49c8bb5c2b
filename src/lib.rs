//! oneact performs one agent action: one JSON task on stdin, one JSON result on stdout.

mod assets;
mod catalog;
pub mod cli;
pub mod envelope;
mod executor;
pub mod host;
mod inputs;
mod mcp;
pub mod perform;
mod servers;
pub mod task;
