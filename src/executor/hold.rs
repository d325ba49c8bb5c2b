//! The process that holds a warm server for other runs.

use std::{io, os::fd::OwnedFd};

use camino::Utf8Path;

use crate::{
    assets::Staging,
    host::Host,
    mcp::{About, Order, Stopping, list_warm, stop_warm},
    task::OperationId,
};

/// Holds the server that a run of oneact asks for on `input`, until the server ends.
pub(crate) fn hold(input: OwnedFd, host: &Host) -> io::Result<()> {
    let order = Order::receive(input)?;
    let id = OperationId::new(host.timestamp(), host.random_bytes());
    // The server has a `TMPDIR` of its own, which is removed after its end.
    let scratch = Staging::open(order.state_dir(), id.as_str()).map_err(io::Error::other)?;
    order.hold(scratch.dir(), host)
}

/// The warm servers of a state directory.
pub(crate) fn warm_servers(state_dir: &Utf8Path) -> io::Result<Vec<About>> {
    list_warm(state_dir)
}

/// Ends the warm servers with this name, or all of them.
pub(crate) fn stop_servers(state_dir: &Utf8Path, name: Option<&str>) -> io::Result<Vec<Stopping>> {
    stop_warm(state_dir, name)
}
