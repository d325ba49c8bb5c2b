//! The run's side: borrows a warm server from its holder, starts a holder where there is none, and gives the server back.

use std::{io, os::fd::OwnedFd, thread, time::Duration};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::{
    host::{self, Host, Moment, Program, spawn_apart},
    task::SCRATCH,
};

use super::{
    packet::{AT_ONCE, Line},
    place::SocketDirectory,
    start::{Ask, HOLD, Lent, Start, Told, digest, socket_name},
};
use crate::mcp::{
    adopted,
    peer::Peer,
    spec::{ServerSpec, Warm},
};

/// How long a run waits for a warm server that is busy. Most servers start in this time.
const PATIENCE: Duration = Duration::from_secs(2);
const ROUND: Duration = Duration::from_millis(10);
/// How long a holder may take to start a server. Its handshake is not included.
const START: Duration = Duration::from_secs(5);

/// A borrowed server: oneact's ends of its pipes, and what was agreed with it.
#[derive(Debug)]
pub(crate) struct Borrowed {
    pub(crate) lease: Lease,
    /// Its stdin, stdout and stderr.
    pub(crate) pipes: [OwnedFd; 3],
    pub(crate) peer: Option<Peer>,
    /// How many runs have used it before.
    pub(crate) uses: u64,
}

/// The right to use a warm server. If it is dropped without [`Lease::give_back`], the holder ends the server.
#[derive(Debug)]
pub(crate) struct Lease {
    /// None once the server was given back.
    line: Option<Line>,
    /// Readable when the server has ended.
    process: OwnedFd,
}

impl Lease {
    /// A handle that is readable when the server's own process has ended.
    pub(crate) fn pidfd(&self) -> io::Result<OwnedFd> {
        self.process.try_clone()
    }

    /// Whether the server was given back.
    pub(crate) fn is_over(&self) -> bool {
        self.line.is_none()
    }

    /// Gives a server back that has answered all requests.
    pub(crate) fn give_back(&mut self, peer: Option<Peer>) {
        if let Some(line) = self.line.take()
            && let Err(error) = line.send(&Ask::Back(peer), &[])
        {
            tracing::debug!(%error, "the holder of the server is gone");
        }
    }

    /// Leaves the server, which the holder then ends.
    pub(crate) fn leave(&mut self) {
        self.line = None;
    }
}

/// What a run wants to borrow, and how long it may wait.
#[derive(Clone, Copy)]
struct Wish<'a> {
    spec: &'a ServerSpec,
    program: &'a Program,
    warm: &'a Warm,
    host: &'a Host,
    begun: Moment,
    /// What is left of the time of the run.
    budget: Option<Duration>,
}

impl Wish<'_> {
    /// The shorter of a time and what is left of that of the run.
    fn within(&self, longest: Duration) -> Duration {
        let left = self
            .budget
            .map(|budget| budget.saturating_sub(self.begun.passed()));
        left.map_or(longest, |left| left.min(longest))
    }
}

/// Borrows a server for a call. It is started if no process of it is free and fewer than allowed are there. The error says why the run must start a server of its own.
pub(crate) fn borrow(
    spec: &ServerSpec,
    warm: &Warm,
    budget: Option<Duration>,
    host: &Host,
) -> Result<Borrowed, String> {
    let Some(program) = spec.program() else {
        return Err("it has no process".to_owned());
    };
    let wish = Wish {
        spec,
        program,
        warm,
        host,
        begun: host.moment(),
        budget,
    };
    let place = SocketDirectory::make(&warm.state_dir).map_err(|error| failed(&error))?;
    let digest = digest(spec, program);
    let patience = wish.within(PATIENCE.min(spec.startup_timeout));
    loop {
        for slot in 0..warm.at_once {
            let name = socket_name(spec, warm, slot);
            let borrowed = at(&place, &name, &digest, wish).map_err(|error| failed(&error))?;
            if let Some(borrowed) = borrowed {
                return Ok(borrowed);
            }
        }
        if host.interrupts().caught().is_some() || wish.begun.passed() >= patience {
            return Err(match warm.at_once {
                1 => "its warm process is busy".to_owned(),
                all => format!("its {all} warm processes are busy"),
            });
        }
        thread::sleep(ROUND);
    }
}

fn failed(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock => "the holder of its warm process does not answer".to_owned(),
        _ => error.to_string(),
    }
}

/// Borrows the server at this socket, or starts it. None if it is busy, or is being started or ended.
fn at(
    place: &SocketDirectory,
    name: &str,
    digest: &str,
    wish: Wish<'_>,
) -> io::Result<Option<Borrowed>> {
    if let Some(line) = place.connect(name)? {
        line.waits(wish.within(AT_ONCE).max(ROUND))?;
        line.send(&Ask::Borrow(digest.to_owned()), &[])?;
        return match line.receive()? {
            Some((Told::Lent(lent), files)) => borrowed(line, lent, files).map(Some),
            Some((Told::Ends, _)) => {
                tracing::info!(
                    "The warm server {} was started in another way.",
                    wish.spec.name
                );
                // The answer is the end of the holder.
                let _ = line.receive::<Told>();
                Ok(None)
            }
            // A holder that ends closes its connections.
            _ => Ok(None),
        };
    }
    // The holder would belong to what that run's server has left behind, and would be ended with it.
    if host::variable(SCRATCH).is_some() {
        return Err(io::Error::other(
            "this run was started by the server of another run",
        ));
    }
    let Some(_lock) = place.lock(name)? else {
        return Ok(None);
    };
    // Another run may have started it before this one had the lock.
    if place.connect(name)?.is_some() {
        return Ok(None);
    }
    place.remove(name)?;
    let flags = SocketFlags::CLOEXEC;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    let line = Line::new(ours)?;
    let start = Start::new(wish.spec, wish.program, wish.warm, name.to_owned());
    line.send(&Ask::Start(Box::new(start)), &[])?;
    adopted::started(spawn_apart(&[HOLD], theirs)?);
    let stopped = || wish.host.interrupts().caught().is_some();
    match line.receive_unless(wish.within(START), &stopped)? {
        Some((Told::Lent(lent), files)) => borrowed(line, lent, files).map(Some),
        Some((Told::Failed(why), _)) => Err(io::Error::other(why)),
        _ => Err(io::Error::other("its holder did not start")),
    }
}

fn borrowed(line: Line, lent: Lent, files: Vec<OwnedFd>) -> io::Result<Borrowed> {
    let Ok([stdin, stdout, stderr, process]) = <[OwnedFd; 4]>::try_from(files) else {
        return Err(io::Error::other("its holder lent no pipes"));
    };
    tracing::info!(
        "The server is warm; runs that have used it before: {}.",
        lent.uses
    );
    Ok(Borrowed {
        lease: Lease {
            line: Some(line),
            process,
        },
        pipes: [stdin, stdout, stderr],
        peer: lent.peer,
        uses: lent.uses,
    })
}
