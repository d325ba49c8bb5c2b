//! The holder: a process that keeps one server between the runs that borrow it, until nobody has called it for a time.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    time::Duration,
};

use camino::Utf8Path;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
    net::{SocketFlags, accept_with},
    process::{Signal, chdir, setsid},
};

use crate::{
    host::{Host, Moment},
    mcp::{child::Child, peer::Peer},
};

use super::{
    packet::Line,
    place::SocketDirectory,
    start::{About, Ask, Lent, Start, Told},
};

/// From SIGTERM to SIGKILL.
const TERM_GRACE: Duration = Duration::from_millis(500);

/// The first message to a holder.
pub(crate) struct Order {
    line: Line,
    start: Start,
}

/// What becomes of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Stays,
    Ends,
}

struct Holder<'h> {
    start: Start,
    host: &'h Host,
    place: SocketDirectory,
    /// None once no run can reach the server.
    listener: Option<OwnedFd>,
    child: Child,
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    process: OwnedFd,
    peer: Option<Peer>,
    /// The connection of the run that has the server.
    lent: Option<Line>,
    uses: u64,
    began: Moment,
    idle_since: Moment,
    /// Whether the server ends after its call.
    after: Then,
    /// The connection of the process that waits for the server's end.
    last: Option<Line>,
}

impl Order {
    /// Takes the message of the run that started this process, whose other end is `input`.
    pub(crate) fn receive(input: OwnedFd) -> io::Result<Self> {
        let line = Line::new(input)?;
        match line.receive()? {
            Some((Ask::Start(start), _)) => Ok(Self {
                line,
                start: *start,
            }),
            _ => Err(io::Error::other("only a run of oneact starts this")),
        }
    }

    pub(crate) fn state_dir(&self) -> &Utf8Path {
        &self.start.state_dir
    }

    /// Starts the server, lends it to the run, and keeps it until it ends, is idle for too long, or is to stop.
    pub(crate) fn hold(self, scratch: &Utf8Path, host: &Host) -> io::Result<()> {
        let Self { line, start } = self;
        // The terminal of the run does not signal this process.
        setsid()?;
        chdir("/")?;
        let holder = Holder::open(start, scratch, host);
        let mut holder = match holder {
            Ok(holder) => holder,
            Err(why) => return line.send(&Told::Failed(why), &[]),
        };
        holder.lend(line);
        holder.serve();
        holder.end();
        Ok(())
    }
}

impl<'h> Holder<'h> {
    fn open(start: Start, scratch: &Utf8Path, host: &'h Host) -> Result<Self, String> {
        let failed = |error: io::Error| error.to_string();
        let place = SocketDirectory::open(&start.state_dir).map_err(failed)?;
        let program = start.program(scratch);
        let began = host.moment();
        let (child, [stdin, stdout, stderr]) =
            Child::start(&start.name, &program).map_err(|error| error.to_string())?;
        for pipe in [&stdout, &stderr] {
            let flags = fcntl_getfl(pipe).map_err(|error| failed(error.into()))?;
            fcntl_setfl(pipe, flags | OFlags::NONBLOCK).map_err(|error| failed(error.into()))?;
        }
        Ok(Self {
            listener: Some(place.listen(&start.socket).map_err(failed)?),
            process: child.pidfd().map_err(failed)?,
            start,
            host,
            place,
            child,
            stdin,
            stdout,
            stderr,
            peer: None,
            lent: None,
            uses: 0,
            began,
            idle_since: began,
            after: Then::Stays,
            last: None,
        })
    }

    fn lend(&mut self, line: Line) {
        let lent = Told::Lent(Lent {
            peer: self.peer.clone(),
            uses: self.uses,
        });
        let pipes = [&self.stdin, &self.stdout, &self.stderr, &self.process];
        // A run that is gone has nothing.
        if line.send(&lent, &pipes.map(AsFd::as_fd)).is_ok() {
            self.uses += 1;
            self.lent = Some(line);
        }
    }

    /// Answers runs until the server has to end.
    fn serve(&mut self) {
        while self.turn().unwrap_or(Then::Ends) == Then::Stays {}
    }

    fn turn(&mut self) -> io::Result<Then> {
        let wake = self.host.interrupts().wake()?;
        let Some(listener) = &self.listener else {
            return Ok(Then::Ends);
        };
        let [one, other] = match &self.lent {
            Some(line) => [line.as_fd(), line.as_fd()],
            // What the server writes while nobody has it belongs to no call.
            None => [self.stdout.as_fd(), self.stderr.as_fd()],
        };
        let mut files = [
            PollFd::new(wake, PollFlags::IN),
            PollFd::new(&self.process, PollFlags::IN),
            PollFd::new(listener, PollFlags::IN),
            PollFd::from_borrowed_fd(one, PollFlags::IN),
            PollFd::from_borrowed_fd(other, PollFlags::IN),
        ];
        let left = self.start.idle.saturating_sub(self.idle_since.passed());
        let until = match &self.lent {
            Some(_) => None,
            None if left.is_zero() => return Ok(Then::Ends),
            None => Some(timespec(left)),
        };
        match poll(&mut files, until.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [wake, process, called, first, second] =
            files.each_ref().map(|file| !file.revents().is_empty());
        if wake || process {
            return Ok(Then::Ends);
        }
        let run = if called {
            Some(accept_with(listener, SocketFlags::CLOEXEC)?)
        } else {
            None
        };
        if first || second {
            let then = match self.lent.take() {
                Some(line) => self.returned(line),
                None => self.drained()?,
            };
            if then == Then::Ends {
                return Ok(then);
            }
        }
        // A process of another user is not answered, and one that says nothing is not waited for.
        if let Some(run) = run
            && let Ok(line) = Line::new(run)
            && let Ok(Some((ask, _))) = line.receive()
        {
            return Ok(self.answer(&ask, line));
        }
        Ok(Then::Stays)
    }

    /// The run says that the server is sound, or it is gone.
    fn returned(&mut self, line: Line) -> Then {
        if let Ok(Some((Ask::Back(peer), _))) = line.receive() {
            self.peer = peer;
            self.idle_since = self.host.moment();
            return self.after;
        }
        self.lent = Some(line);
        Then::Ends
    }

    /// Reads what the server has written, and forgets it. A server that closes a pipe is of no more use.
    fn drained(&self) -> io::Result<Then> {
        let mut block = [0; 4096];
        for pipe in [&self.stdout, &self.stderr] {
            match rustix::io::read(pipe, &mut block) {
                Ok(0) => return Ok(Then::Ends),
                Ok(_) | Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Then::Stays)
    }

    fn answer(&mut self, ask: &Ask, line: Line) -> Then {
        let mut then = Then::Stays;
        let told = match ask {
            Ask::Borrow(digest) if *digest == self.start.digest && self.after == Then::Stays => {
                if self.lent.is_none() {
                    self.lend(line);
                    return Then::Stays;
                }
                Told::Busy
            }
            Ask::Borrow(_) => {
                self.after = Then::Ends;
                then = self.when_free();
                match then {
                    Then::Stays => Told::Busy,
                    Then::Ends => Told::Ends,
                }
            }
            Ask::About => Told::About(self.about()),
            Ask::Stop(Some(name)) if *name != self.start.name => return Then::Stays,
            Ask::Stop(_) => {
                self.after = Then::Ends;
                then = self.when_free();
                Told::About(self.about())
            }
            Ask::Start(_) | Ask::Back(_) => return Then::Stays,
        };
        if then == Then::Ends {
            // The next run finds nobody here, and starts another server.
            self.withdraw();
        }
        // The other process may be gone.
        let _ = line.send(&told, &[]);
        self.last = Some(line);
        then
    }

    /// Lets no further run reach the server. Afterwards, the name of the socket may be that of another holder.
    fn withdraw(&mut self) {
        if let Some(listener) = self.listener.take() {
            let _ = self.place.remove(&self.start.socket);
            drop(listener);
        }
    }

    /// Closes the server's stdin, waits for its grace, sends SIGTERM, and kills what is left. No run can reach the server
    /// meanwhile. A run or `oneact warm stop` that waits learns the end when its connection is closed.
    fn end(mut self) {
        self.withdraw();
        let Self {
            start,
            mut child,
            stdin,
            process,
            lent,
            last,
            ..
        } = self;
        drop(stdin);
        let ends_within = |longest: Duration| {
            let mut process = [PollFd::new(&process, PollFlags::IN)];
            poll(&mut process, Some(&timespec(longest))).is_ok_and(|ready| ready > 0)
        };
        // A server that broke off its call gets no time.
        if lent.is_none() && !ends_within(start.shutdown_grace) {
            child.signal(Signal::TERM);
            ends_within(TERM_GRACE);
        }
        child.reap();
        drop((lent, last));
    }

    /// Whether a server that is to end can end now.
    fn when_free(&self) -> Then {
        if self.lent.is_some() {
            Then::Stays
        } else {
            Then::Ends
        }
    }

    fn about(&self) -> About {
        About {
            name: self.start.name.clone(),
            root: self.start.root.clone(),
            pid: self.child.pid(),
            uses: self.uses,
            age: self.began.passed(),
            idle: match self.lent {
                Some(_) => None,
                None => Some(self.idle_since.passed()),
            },
            idle_limit: self.start.idle,
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        // Rounded up, so that the time is over after the wait.
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}
