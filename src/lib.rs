//! oneact performs one agent action: one JSON task on stdin, one JSON result on stdout.

pub mod cli;
pub mod host;
mod mcp;
mod servers;
