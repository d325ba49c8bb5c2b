//! The process of a server: one that was started for this run, or one that is borrowed from its holder.

use std::{io, os::fd::OwnedFd};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::Signal,
};
use tokio::io::{Interest, unix::AsyncFd};

use super::{
    child::Child,
    peer::Peer,
    report::{ExitDescription, Killed},
    warm::Lease,
};

#[derive(Debug)]
pub(super) struct Process {
    /// Readable when the server's own process has ended.
    pidfd: AsyncFd<OwnedFd>,
    owner: Owner,
}

#[derive(Debug)]
pub(super) enum Owner {
    Own(Child),
    Lent(Lease),
}

impl Process {
    /// Registers the process with the current runtime, for [`Process::ended`].
    #[expect(
        deprecated,
        reason = "its successor is unsafe, and an `OwnedFd` gives what that one asks for"
    )]
    pub(super) fn new(owner: Owner) -> io::Result<Self> {
        let pidfd = match &owner {
            Owner::Own(child) => child.pidfd()?,
            Owner::Lent(lease) => lease.pidfd()?,
        };
        let pidfd = AsyncFd::with_interest(pidfd, Interest::READABLE)?;
        Ok(Self { pidfd, owner })
    }

    /// Waits until the server's own process has ended.
    pub(super) async fn ended(&self) {
        // This fails only when the runtime shuts down.
        let _ = self.pidfd.readable().await;
    }

    /// Whether the server runs, and belongs to this run.
    pub(super) fn is_up(&self) -> bool {
        let mut process = [PollFd::new(self.pidfd.get_ref(), PollFlags::IN)];
        let has_ended = poll(&mut process, Some(&Timespec::default())).is_ok_and(|ready| ready > 0);
        !has_ended && !self.is_given_back()
    }

    pub(super) fn is_own(&self) -> bool {
        matches!(self.owner, Owner::Own(_))
    }

    /// How the process ended, if it has ended. Only its parent learns that.
    pub(super) fn status(&self) -> Option<ExitDescription> {
        match &self.owner {
            Owner::Own(child) => child.status(),
            Owner::Lent(_) => None,
        }
    }

    /// Gives a borrowed server back. Any other one is left alone.
    pub(super) fn give_back(&mut self, peer: Option<Peer>) {
        if let Owner::Lent(lease) = &mut self.owner {
            lease.give_back(peer);
        }
    }

    /// Whether the server was given back.
    pub(super) fn is_given_back(&self) -> bool {
        matches!(&self.owner, Owner::Lent(lease) if lease.is_over())
    }

    /// Asks the server to end. A borrowed one is ended by its holder.
    pub(super) fn terminate(&mut self) {
        match &mut self.owner {
            Owner::Own(child) => child.signal(Signal::TERM),
            Owner::Lent(lease) => lease.leave(),
        }
    }

    /// Kills what is left of the server.
    pub(super) fn reap(&mut self) {
        match &mut self.owner {
            Owner::Own(child) => child.reap(),
            Owner::Lent(lease) => lease.leave(),
        }
    }

    /// The other processes of the server that were killed when it was reaped.
    pub(super) fn killed(&self) -> &[Killed] {
        match &self.owner {
            Owner::Own(child) => child.killed(),
            Owner::Lent(_) => &[],
        }
    }
}
