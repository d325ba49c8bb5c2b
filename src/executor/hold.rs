//! The process that holds a warm server for other runs.

use std::{io, os::fd::OwnedFd};

use crate::{assets::Staging, host::Host, mcp::Order, task::OperationId};

/// Holds the server that a run of oneact asks for on `input`, until the server ends.
pub(crate) fn hold(input: OwnedFd, host: &Host) -> io::Result<()> {
    let order = Order::receive(input)?;
    let id = OperationId::new(host.timestamp(), host.random_bytes());
    // The server has a `TMPDIR` of its own, which is removed after its end.
    let scratch = Staging::open(order.state_dir(), id.as_str()).map_err(io::Error::other)?;
    order.hold(scratch.dir(), host)
}
