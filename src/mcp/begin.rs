//! A session with a server that is started, reached or borrowed, and the event loop that drives it.

use std::{io, time::Duration};

use rustix::io::{Errno, fcntl_dupfd_cloexec};
use tokio::runtime::{Builder, Runtime};

use super::{
    child::failed,
    error::CallError,
    session::Session,
    spec::{ServerSpec, Warm},
    transport::Opened,
    warm,
};
use crate::host::Host;

pub(super) fn open(server: &ServerSpec, host: &Host) -> Result<(Runtime, Session), CallError> {
    if let Some(signal) = host.interrupts().caught() {
        return Err(CallError::Cancelled {
            server: server.name.clone(),
            signal,
        });
    }
    entered(Opened::new(server, host)?, server, host)
}

/// A warm server. The error says why there is none for this run.
pub(super) fn borrow(
    server: &ServerSpec,
    warm: &Warm,
    budget: Option<Duration>,
    host: &Host,
) -> Result<(Runtime, Session), String> {
    let began = host.moment();
    let opened = Opened::borrowed(warm::borrow(server, warm, budget, host)?, began);
    entered(opened, server, host).map_err(|error| error.to_string())
}

/// The session, and the event loop that drives it.
fn entered(
    opened: Opened,
    server: &ServerSpec,
    host: &Host,
) -> Result<(Runtime, Session), CallError> {
    let no_loop = "start an event loop";
    room(host).map_err(failed(&server.name, no_loop))?;
    let mut builder = Builder::new_current_thread();
    let built = builder.enable_io().enable_time().build();
    let runtime = built.map_err(failed(&server.name, no_loop))?;
    let session = {
        let _inside = runtime.enter();
        Session::with(opened, server, host)?
    };
    Ok((runtime, session))
}

/// Fails if so few file descriptors are left that tokio would panic.
fn room(host: &Host) -> io::Result<()> {
    const NEEDED: usize = 8;
    let wake = host.interrupts().wake()?;
    let spare = (0..NEEDED).map(|_| fcntl_dupfd_cloexec(wake, 0));
    let spare: Result<Vec<_>, Errno> = spare.collect();
    Ok(spare.map(drop)?)
}
