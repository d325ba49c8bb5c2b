//! oneact performs one agent action: one JSON task on stdin, one JSON result on stdout.

mod assets;
mod catalog;
pub mod cli;
pub mod envelope;
pub mod host;
mod servers;
pub mod task;
