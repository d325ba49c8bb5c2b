//! The way to a server: its process with pipes, or HTTP. Both carry the lines of one [`Wire`].

use std::{os::fd::OwnedFd, time::Duration};

use tokio::time::timeout;

use super::{
    child::Child,
    error::CallError,
    link::{Link, Over},
    message::Answer,
    peer::Peer,
    process::Owner,
    raw::Raw,
    remote::Remote,
    report::{ExitDescription, ServerReport},
    spec::{ServerPlace, ServerSpec},
    warm::Borrowed,
    wire::{End, Wire},
};
use crate::host::{Host, Moment};

/// How long a notification about a cancelled request may take: a process may not read, and a connection takes longer.
const PIPE_NOTICE: Duration = Duration::from_millis(50);
const HTTP_NOTICE: Duration = Duration::from_secs(1);

/// A server that was started or borrowed, or a client for one over HTTP, before there is a runtime.
#[derive(Debug)]
pub(super) struct Opened {
    way: OpenedWay,
    /// When the start began.
    pub(super) began: Moment,
    /// What earlier runs have agreed on with a borrowed server, and how many there were.
    pub(super) before: (Option<Peer>, u64),
}

#[derive(Debug)]
enum OpenedWay {
    Process(Owner, [OwnedFd; 3]),
    Remote(Box<Remote>),
}

impl Opened {
    pub(super) fn new(spec: &ServerSpec, host: &Host) -> Result<Self, CallError> {
        let began = host.moment();
        let way = match &spec.place {
            ServerPlace::Process(program) => {
                let (child, pipes) = Child::start(&spec.name, program)?;
                OpenedWay::Process(Owner::Own(child), pipes)
            }
            ServerPlace::Http(endpoint) => {
                OpenedWay::Remote(Box::new(Remote::new(spec, endpoint)?))
            }
        };
        Ok(Self {
            way,
            began,
            before: (None, 0),
        })
    }

    /// A server that was started for an earlier run.
    pub(super) fn borrowed(borrowed: Borrowed, began: Moment) -> Self {
        Self {
            way: OpenedWay::Process(Owner::Lent(borrowed.lease), borrowed.pipes),
            began,
            before: (borrowed.peer, borrowed.uses),
        }
    }
}

#[derive(Debug)]
pub(super) struct Transport {
    pub(super) wire: Wire,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Process(Box<Link>),
    Remote(Box<Remote>),
}

impl Transport {
    /// Must be called within a runtime.
    pub(super) fn new(opened: Opened, spec: &ServerSpec) -> Result<Self, CallError> {
        Ok(Self {
            wire: Wire::new(&spec.secrets),
            way: match opened.way {
                OpenedWay::Process(owner, pipes) => {
                    Way::Process(Box::new(Link::new(owner, pipes, spec)?))
                }
                OpenedWay::Remote(remote) => Way::Remote(remote),
            },
        })
    }

    /// Waits for an answer or for progress.
    pub(super) async fn news(&mut self) -> Result<(), Over> {
        match &mut self.way {
            Way::Process(link) => link.news(&mut self.wire).await?,
            Way::Remote(remote) => remote.news(&mut self.wire).await,
        }
        let came = self.wire.answer.is_some() || self.wire.progress.is_some();
        came.then_some(()).ok_or(Over)
    }

    /// The server, if it is one over HTTP.
    pub(super) fn remote(&mut self) -> Option<&mut Remote> {
        match &mut self.way {
            Way::Process(_) => None,
            Way::Remote(remote) => Some(remote),
        }
    }

    /// The answer, if it has arrived in the meantime.
    pub(super) async fn last_answer(&mut self) -> Option<Answer<Raw>> {
        match &mut self.way {
            Way::Process(link) => link.read_waiting(&mut self.wire).await,
            Way::Remote(remote) => {
                let _ = timeout(Duration::ZERO, remote.news(&mut self.wire)).await;
            }
        }
        self.wire.answer.take()
    }

    /// Waits until all messages are written.
    pub(super) async fn written(&mut self) -> Result<(), Over> {
        match &mut self.way {
            Way::Process(link) => link.written(&mut self.wire).await,
            Way::Remote(remote) => {
                remote.written(&mut self.wire).await;
                self.wire.end.is_none().then_some(()).ok_or(Over)
            }
        }
    }

    /// How long a notification about a cancelled request may take, if the server gets one. Since 2026-07-28, a server
    /// over HTTP sees that the connection is closed.
    pub(super) fn notice(&self, is_modern: impl FnOnce() -> bool) -> Option<Duration> {
        match self.way {
            Way::Process(_) => Some(PIPE_NOTICE),
            Way::Remote(_) => (!is_modern()).then_some(HTTP_NOTICE),
        }
    }

    pub(super) fn is_remote(&self) -> bool {
        matches!(self.way, Way::Remote(_))
    }

    /// Why the link is over.
    pub(super) async fn end(&mut self) -> End {
        match &mut self.way {
            Way::Process(link) => link.end(&mut self.wire).await,
            Way::Remote(_) => self.wire.end.clone().unwrap_or(End::Closed),
        }
    }

    /// Whether the server can be asked, and was not told to end.
    pub(super) fn is_up(&self) -> bool {
        match &self.way {
            Way::Process(link) => link.is_up(&self.wire),
            Way::Remote(_) => self.wire.end.is_none(),
        }
    }

    /// Gives a borrowed server back.
    pub(super) fn give_back(&mut self, peer: Option<Peer>) {
        if let Way::Process(link) = &mut self.way {
            link.give_back(peer, &self.wire);
        }
    }

    /// Tells the server to end.
    pub(super) fn close(&mut self) {
        match &mut self.way {
            Way::Process(link) => link.close(&mut self.wire),
            Way::Remote(remote) => remote.hang_up(),
        }
    }

    pub(super) async fn stop(&mut self, grace: Duration) {
        match &mut self.way {
            Way::Process(link) => link.stop(grace, &mut self.wire).await,
            Way::Remote(remote) => remote.stop().await,
        }
    }

    /// How the process ended, if it has ended.
    pub(super) fn status(&self) -> Option<ExitDescription> {
        match &self.way {
            Way::Process(link) => link.status(),
            Way::Remote(_) => None,
        }
    }

    /// What the server writes to stderr from now on belongs to the call.
    pub(super) async fn begin_call(&mut self) {
        if let Way::Process(link) = &mut self.way {
            link.begin_call().await;
        }
    }

    /// What the server has written to stderr during the call.
    pub(super) async fn stderr_of_call(&mut self) -> String {
        match &mut self.way {
            Way::Process(link) => link.stderr_of_call(&self.wire).await,
            Way::Remote(_) => String::new(),
        }
    }

    pub(super) fn stderr_tail(&self) -> String {
        match &self.way {
            Way::Process(link) => link.stderr_tail(&self.wire),
            Way::Remote(_) => String::new(),
        }
    }

    /// What is known from the link. The session adds the protocol.
    pub(super) fn report(&self) -> ServerReport {
        match &self.way {
            Way::Process(link) => link.report(&self.wire),
            Way::Remote(_) => ServerReport {
                stdout_noise: self.wire.noise(),
                ..ServerReport::default()
            },
        }
    }
}
