//! Signals, for waits.

use std::{future::pending, io};

use tokio::{net::UnixStream, task::yield_now};

use crate::host::{Host, Interrupt, Interrupts};

/// Wakes up when a signal asks the run to stop.
#[derive(Debug)]
pub(super) struct Alarm<'h> {
    wake: UnixStream,
    interrupts: &'h Interrupts,
}

impl<'h> Alarm<'h> {
    pub(super) fn new(host: &'h Host) -> io::Result<Self> {
        let interrupts = host.interrupts();
        let wake = UnixStream::from_std(interrupts.wake()?.try_clone()?)?;
        Ok(Self { wake, interrupts })
    }

    pub(super) async fn rung(&self) -> Interrupt {
        loop {
            // Only a runtime that shuts down fails here.
            if self.wake.readable().await.is_err() {
                return pending().await;
            }
            // Readable stays so: the byte is there because a signal is noted.
            match self.interrupts.caught() {
                Some(interrupt) => return interrupt,
                None => yield_now().await,
            }
        }
    }
}
