//! The process of a server: one that was started for this run, or one that is borrowed from its holder.

use std::io;

use rustix::process::Signal;

use super::{
    child::Child,
    peer::Peer,
    report::{ExitDescription, Killed},
    warm::Lease,
};

#[derive(Debug)]
pub(super) enum Process {
    Own(Child),
    Lent(Lease),
}

impl Process {
    /// Registers the process with the current runtime, for [`Process::ended`].
    pub(super) fn watch(&mut self) -> io::Result<()> {
        match self {
            Self::Own(child) => child.watch(),
            Self::Lent(lease) => lease.watch(),
        }
    }

    /// Waits until the server's own process has ended.
    pub(super) async fn ended(&self) {
        match self {
            Self::Own(child) => child.ended().await,
            Self::Lent(lease) => lease.ended().await,
        }
    }

    /// Whether the server runs, and belongs to this run.
    pub(super) fn is_up(&self) -> bool {
        match self {
            Self::Own(child) => child.status().is_none(),
            Self::Lent(lease) => !lease.is_over() && !lease.has_ended(),
        }
    }

    /// How the process ended, if it has ended. Only its parent learns that.
    pub(super) fn status(&self) -> Option<ExitDescription> {
        match self {
            Self::Own(child) => child.status(),
            Self::Lent(_) => None,
        }
    }

    /// Gives a borrowed server back. Any other one is left alone.
    pub(super) fn give_back(&mut self, peer: Option<Peer>) {
        if let Self::Lent(lease) = self {
            lease.give_back(peer);
        }
    }

    /// Whether the server was given back.
    pub(super) fn is_given_back(&self) -> bool {
        matches!(self, Self::Lent(lease) if lease.is_over())
    }

    /// Asks the server to end. A borrowed one is ended by its holder.
    pub(super) fn terminate(&mut self) {
        match self {
            Self::Own(child) => child.signal(Signal::TERM),
            Self::Lent(lease) => lease.leave(),
        }
    }

    /// Kills what is left of the server.
    pub(super) fn reap(&mut self) {
        match self {
            Self::Own(child) => child.reap(),
            Self::Lent(lease) => lease.leave(),
        }
    }

    /// The other processes of the server that were killed when it was reaped.
    pub(super) fn killed(&self) -> &[Killed] {
        match self {
            Self::Own(child) => child.killed(),
            Self::Lent(_) => &[],
        }
    }
}
