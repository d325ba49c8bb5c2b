//! A session with a server that is started, reached or borrowed, and the event loop that drives it.

use std::{io, time::Duration};

use rustix::io::{Errno, fcntl_dupfd_cloexec};
use tokio::runtime::{Builder, Runtime};

use super::{
    child::failed,
    error::CallError,
    session::Session,
    spec::{ServerSpec, Warm},
    transport::Begun,
    warm::{self, Purpose},
};
use crate::host::Host;

pub(super) fn open(server: &ServerSpec, host: &Host) -> Result<(Runtime, Session), CallError> {
    if let Some(signal) = host.interrupts().caught() {
        return Err(CallError::Cancelled {
            server: server.name.clone(),
            signal,
        });
    }
    let begun = Begun::new(server, host)?;
    let runtime = event_loop(server, host)?;
    let session = {
        let _inside = runtime.enter();
        Session::with(begun, server, host)?
    };
    Ok((runtime, session))
}

/// A warm server. The error says why there is none for this run.
pub(super) fn borrow(
    server: &ServerSpec,
    warm: &Warm,
    wanted: (Purpose, Option<Duration>),
    host: &Host,
) -> Result<(Runtime, Session), String> {
    let began = host.moment();
    let borrowed = Box::new(warm::borrow(server, warm, wanted, host)?);
    let failed = |error: CallError| error.to_string();
    let runtime = event_loop(server, host).map_err(failed)?;
    let session = {
        let _inside = runtime.enter();
        Session::with(Begun::Borrowed(borrowed, began), server, host).map_err(failed)?
    };
    Ok((runtime, session))
}

fn event_loop(server: &ServerSpec, host: &Host) -> Result<Runtime, CallError> {
    let no_loop = "start an event loop";
    room(host).map_err(failed(server, no_loop))?;
    Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(failed(server, no_loop))
}

/// Fails if so few file descriptors are left that tokio would panic.
fn room(host: &Host) -> io::Result<()> {
    const NEEDED: usize = 8;
    let wake = host.interrupts().wake()?;
    let spare = (0..NEEDED).map(|_| fcntl_dupfd_cloexec(wake, 0));
    let spare: Result<Vec<_>, Errno> = spare.collect();
    Ok(spare.map(drop)?)
}
