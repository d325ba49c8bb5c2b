//! Tool calls on MCP servers over stdio or HTTP, one at a time. [`inspect()`] examines a server without a call.
//!
//! The functions block. Each server has a runtime on the calling thread. This room uses no catalogs, plans, ledgers or
//! envelopes.
//!
//! A call always ends, whatever the server does with its pipes: by its answer, by the end of the server, by a limit or
//! by a signal. Its result says whether the tool may have changed anything (`Effect`). No process is left behind.
//!
//! [`call`] makes a call. [`session`] is the protocol, over a [`transport`]: the pipes of a [`link`], or a [`remote`] server.
//! [`era`] and [`greeting`] are the handshake.

mod adopted;
mod answer;
mod begin;
mod bounds;
mod call;
mod check;
mod child;
mod closing;
mod endpoint;
mod era;
mod error;
mod events;
mod exchange;
mod greeting;
mod headers;
mod inspect;
mod link;
mod memory;
mod message;
mod peer;
mod process;
mod questions;
mod raw;
mod refusal;
mod remote;
mod report;
mod session;
mod spec;
mod stderr;
#[cfg(test)]
mod tests;
mod tools;
mod transport;
mod wait;
mod warm;
mod wire;

#[cfg(any(test, fuzzing))]
pub(crate) use self::wire::overhear;
pub(crate) use self::{
    answer::{Content, ToolAnswer},
    bounds::name as short_name,
    call::{After, CallCourse, CallEnd, call_among},
    check::OutputCheck,
    closing::Closing,
    endpoint::{Endpoint, Token},
    error::CallError,
    inspect::{Inspection, inspect},
    raw::Raw,
    refusal::Trouble,
    report::{Parting, ServerReport},
    spec::{ArgumentCheck, Caller, News, Resumption, ServerPlace, ServerSpec, ToolCall, Warm},
    stderr::causes,
    tools::ToolListing,
    warm::{About, HOLD, Order, Stopping, list as list_warm, stop as stop_warm},
};
