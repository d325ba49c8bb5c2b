//! `oneact serve catalog`: the catalog as an MCP server on stdin and stdout, or over HTTP, in both eras of the protocol.
//!
//! Each action that the context of the launch allows is a tool. Each `tools/call` is one run of oneact in a process of
//! its own, the supervisor of the call. Calls that run at the same time cannot share a process: signals, the adoption
//! of orphans and the sweep of what a server left behind belong to a process.

mod answer;
mod caller;
mod elicit;
mod handler;
mod http;
mod offer;
mod order;
mod settings;
mod stdio;
mod supervisor;
mod told;

pub(crate) use elicit::{Elicit, Requests};
pub(crate) use http::Door;
pub(crate) use settings::Gateway;
