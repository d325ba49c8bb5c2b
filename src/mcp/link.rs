//! One server over stdio: its process and the three pipes to it. Every wait serves all three pipes, so a server never
//! blocks on one of them. [`Wire`] holds the messages.

use std::{collections::VecDeque, future::pending, io, os::fd::OwnedFd, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    join,
    net::unix::pipe::{Receiver, Sender},
    select,
    task::yield_now,
    time::timeout,
};

use super::{
    bounds,
    child::failed,
    error::CallError,
    peer::Peer,
    process::{Owner, Process},
    report::{ExitDescription, Killed, Parting, ServerReport},
    spec::ServerSpec,
    stderr::Stderr,
    wire::{End, Wire},
};

/// How long the last lines are waited for after the server's end, because a grandchild may hold a pipe open.
const LAST_WORDS: Duration = Duration::from_millis(50);
/// From SIGTERM to SIGKILL.
const TERM_GRACE: Duration = Duration::from_millis(500);

/// How much is read from stdout at once.
const PIPE_BYTES: usize = 32 * 1024;

#[derive(Debug)]
pub(super) struct Link {
    pipes: Pipes,
    process: Process,
    parting: Parting,
}

/// oneact's ends of the server's pipes.
#[derive(Debug)]
struct Pipes {
    /// None after it was closed.
    stdin: Option<Sender>,
    stdout: Lines,
    stderr: Stderr,
    /// A longer line ends the link.
    most: usize,
}

/// Nothing more can be sent or received. [`Link::end`] says why.
#[derive(Debug)]
pub(super) struct Over;

impl Link {
    /// Takes over a server and its stdin, stdout and stderr. Must be called within a runtime.
    pub(super) fn new(
        owner: Owner,
        [stdin, stdout, stderr]: [OwnedFd; 3],
        spec: &ServerSpec,
    ) -> Result<Self, CallError> {
        let process = Process::new(owner).map_err(failed(&spec.name, "watch it"))?;
        let stdin = Sender::from_owned_fd(stdin).map_err(failed(&spec.name, "open its stdin"))?;
        let read =
            |end, operation| Receiver::from_owned_fd(end).map_err(failed(&spec.name, operation));
        Ok(Self {
            pipes: Pipes {
                stdin: Some(stdin),
                stdout: Lines::new(read(stdout, "open its stdout")?),
                stderr: Stderr::new(read(stderr, "open its stderr")?, &spec.secrets),
                most: spec.max_message_bytes,
            },
            process,
            parting: Parting::default(),
        })
    }

    /// Waits for an answer, for progress, or for the end of the link.
    pub(super) async fn news(&mut self, wire: &mut Wire) -> Result<(), Over> {
        select! {
            biased;
            () = self.process.ended() => Err(Over),
            () = self.pipes.news(wire) => Ok(()),
        }
    }

    /// Takes what has arrived in the meantime.
    pub(super) async fn read_waiting(&mut self, wire: &mut Wire) {
        let _ = timeout(Duration::ZERO, self.pipes.news(wire)).await;
    }

    /// Waits until all messages are written.
    pub(super) async fn written(&mut self, wire: &mut Wire) -> Result<(), Over> {
        select! {
            biased;
            () = self.pipes.written(wire) => {}
            () = self.process.ended() => return Err(Over),
        }
        self.is_open(wire).then_some(()).ok_or(Over)
    }

    /// Why the link is over. If the server has ended or closed its pipes, the rest of its output is read first.
    pub(super) async fn end(&mut self, wire: &mut Wire) -> End {
        if !matches!(wire.end, Some(End::TooBig | End::Malformed(_))) {
            let rest = self.pipes.read_out(wire);
            let _ = timeout(LAST_WORDS, async { join!(self.process.ended(), rest) }).await;
        }
        wire.end.clone().unwrap_or(End::Closed)
    }

    fn is_open(&self, wire: &Wire) -> bool {
        self.pipes.stdin.is_some() && wire.end.is_none()
    }

    /// Whether the server still runs, its stdout is read, and it was not told to end.
    pub(super) fn is_up(&self, wire: &Wire) -> bool {
        self.process.is_up() && self.is_open(wire)
    }

    /// Tells the server to end: closes its stdin at once, even if there are messages to write.
    pub(super) fn close(&mut self, wire: &mut Wire) {
        self.pipes.close_stdin(wire);
    }

    /// Gives a borrowed server back if nothing is under way: every message was written, and no line was read in part.
    pub(super) fn give_back(&mut self, peer: Option<Peer>, wire: &Wire) {
        if self.is_up(wire) && wire.outgoing.is_empty() && self.pipes.stdout.is_between_lines() {
            self.process.give_back(peer);
        }
    }

    /// Ends the server: closes its stdin, waits for the grace, sends SIGTERM to its group, then SIGKILL.
    pub(super) async fn stop(&mut self, grace: Duration, wire: &mut Wire) {
        self.close(wire);
        if self.process.is_given_back() {
            return;
        }
        self.parting = Parting::Itself;
        // The holder of a borrowed server ends it at once.
        if !self.process.is_own() || timeout(grace, self.ended(wire)).await.is_err() {
            self.parting = Parting::Helped;
            self.process.terminate();
            // `reap` kills what is still alive after this.
            let _ = timeout(TERM_GRACE, self.ended(wire)).await;
        }
        self.process.reap();
        let _ = timeout(LAST_WORDS, self.pipes.read_out(wire)).await;
    }

    /// Waits until the server has ended. Its output is read meanwhile, because a full pipe would block it.
    async fn ended(&mut self, wire: &mut Wire) {
        let reading = async {
            self.pipes.read_out(wire).await;
            pending::<()>().await;
        };
        select! {
            () = self.process.ended() => {}
            () = reading => {}
        }
    }

    /// How the process ended, if it has ended.
    pub(super) fn status(&self) -> Option<ExitDescription> {
        self.process.status()
    }

    /// What the server writes to stderr from now on belongs to the call.
    pub(super) async fn begin_call(&mut self) {
        // The runtime learns only between two turns of its loop which pipes can be read.
        yield_now().await;
        self.pipes.stderr.catch_up();
        self.pipes.stderr.begin_call();
    }

    /// What the server has written to stderr during the call.
    pub(super) async fn stderr_of_call(&mut self, wire: &Wire) -> String {
        yield_now().await;
        self.pipes.stderr.catch_up();
        self.pipes.stderr.of_call(&wire.secrets)
    }

    pub(super) fn stderr_tail(&self, wire: &Wire) -> String {
        self.pipes.stderr.tail(&wire.secrets)
    }

    /// What is known from the process and its pipes. The session adds the protocol.
    pub(super) fn report(&self, wire: &Wire) -> ServerReport {
        let killed = self.process.killed().iter().map(|killed| Killed {
            pid: killed.pid,
            name: bounds::name(&wire.secrets.cut(&killed.name)),
        });
        ServerReport {
            exit_status: self.process.status(),
            parting: self.parting,
            stderr_tail: self.stderr_tail(wire),
            stderr_bytes: self.pipes.stderr.total,
            stdout_noise: wire.noise(),
            killed: killed.collect(),
            ..ServerReport::default()
        }
    }
}

impl Pipes {
    /// Waits for an answer, for progress, or for the end of the link.
    async fn news(&mut self, wire: &mut Wire) {
        while wire.answer.is_none() && wire.progress.is_none() && wire.end.is_none() {
            self.serve(wire).await;
        }
    }

    /// Waits until everything is written, or for the end of the link.
    async fn written(&mut self, wire: &mut Wire) {
        while !wire.outgoing.is_empty() && wire.end.is_none() {
            self.serve(wire).await;
        }
    }

    /// Reads to the end of stdout and stderr.
    async fn read_out(&mut self, wire: &mut Wire) {
        while wire.end.is_none() {
            self.serve(wire).await;
        }
        while self.stderr.is_open() {
            self.stderr.read().await;
        }
    }

    /// Waits until one of the three pipes is ready, and serves it. What the server has said comes before what it is to
    /// hear.
    async fn serve(&mut self, wire: &mut Wire) {
        select! {
            biased;
            line = self.stdout.next(self.most.saturating_add(1)) => self.heard(line, wire),
            count = write(&mut self.stdin, &wire.outgoing), if !wire.outgoing.is_empty() => {
                self.wrote(count, wire);
            }
            () = self.stderr.read(), if self.stderr.is_open() => {}
        }
    }

    fn heard(&mut self, line: io::Result<Vec<u8>>, wire: &mut Wire) {
        let heard = match line {
            Ok(line) if line.len() > self.most => Err(End::TooBig),
            Ok(line) if !line.is_empty() => wire.hear(line),
            // A pipe that fails counts as closed.
            Ok(_) | Err(_) => Err(End::Closed),
        };
        if let Err(end) = heard {
            self.end(end, wire);
        }
    }

    fn wrote(&mut self, count: usize, wire: &mut Wire) {
        if count > 0 {
            return wire.sent(count);
        }
        self.close_stdin(wire);
        // The awaited request cannot be sent any more, so no answer will come.
        if wire.unsent > 0 {
            self.end(End::Closed, wire);
        }
    }

    /// The first reason counts. If the server still writes, it gets EPIPE.
    fn end(&mut self, end: End, wire: &mut Wire) {
        wire.end.get_or_insert(end);
        self.stdout.pipe = None;
    }

    fn close_stdin(&mut self, wire: &mut Wire) {
        self.stdin = None;
        wire.outgoing.clear();
    }
}

/// The number of bytes that were written; 0 if the server has closed its stdin.
async fn write(stdin: &mut Option<Sender>, outgoing: &VecDeque<u8>) -> usize {
    let (first, _) = outgoing.as_slices();
    match stdin {
        Some(pipe) => pipe.write(first).await.unwrap_or_default(),
        None => 0,
    }
}

/// A server's stdout, line by line.
#[derive(Debug)]
struct Lines {
    /// None at its end.
    pipe: Option<BufReader<Receiver>>,
    /// The beginning of the next line. It is kept here because a wait for the rest may be cancelled.
    line: Vec<u8>,
}

impl Lines {
    fn new(pipe: Receiver) -> Self {
        Self {
            pipe: Some(BufReader::with_capacity(PIPE_BYTES, pipe)),
            line: Vec::new(),
        }
    }

    fn is_between_lines(&self) -> bool {
        let unread = self.pipe.as_ref().map_or(&[][..], BufReader::buffer);
        self.line.is_empty() && unread.is_empty()
    }

    /// The next line with its newline, or its first `most` bytes. The last line may have no newline. At the end of the
    /// pipe, the result is empty.
    async fn next(&mut self, most: usize) -> io::Result<Vec<u8>> {
        if let Some(pipe) = &mut self.pipe {
            let room = most.saturating_sub(self.line.len());
            let mut rest = pipe.take(room as u64);
            rest.read_until(b'\n', &mut self.line).await?;
        }
        Ok(std::mem::take(&mut self.line))
    }
}
