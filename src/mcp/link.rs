//! One server over stdio: its process, and the three pipes to it. Every wait serves all three, so a server never blocks
//! on one of them while another is waited for. What is said over the pipes is in [`Wire`].

use std::{collections::VecDeque, future::pending, time::Duration};

use rustix::process::Signal;
use tokio::{
    io::AsyncWriteExt,
    join,
    net::unix::pipe::{Receiver, Sender},
    select,
    time::timeout,
};

use super::{
    bounds,
    child::{Child, Started, failed},
    error::CallError,
    lines::Lines,
    message::Answer,
    raw::Raw,
    report::{ExitDescription, Killed, Parting, ServerReport},
    spec::ServerSpec,
    stderr::Stderr,
    wire::{End, Wire},
};

/// After the server's end, its last lines are waited for this long: a grandchild may hold a pipe.
const LAST_WORDS: Duration = Duration::from_millis(50);
/// From SIGTERM to SIGKILL.
const TERM_GRACE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Link {
    pub(super) wire: Wire,
    pipes: Pipes,
    child: Child,
    parting: Parting,
}

/// Our ends of the server's pipes.
#[derive(Debug)]
struct Pipes {
    /// None once it is closed.
    stdin: Option<Sender>,
    stdout: Lines,
    stderr: Stderr,
    /// A longer line ends the link.
    most: usize,
}

/// Nothing more can be sent, or nothing more will come: [`Link::end`] says why.
#[derive(Debug)]
pub(super) struct Over;

impl Link {
    /// Takes over a server that was started. Needs a runtime around it.
    pub(super) fn new(server: Started, spec: &ServerSpec) -> Result<Self, CallError> {
        let Started {
            mut child,
            stdin,
            stdout,
            stderr,
            ..
        } = server;
        child.watch().map_err(failed(spec, "watch it"))?;
        let stdin = Sender::from_owned_fd(stdin).map_err(failed(spec, "open its stdin"))?;
        let read = |end, operation| Receiver::from_owned_fd(end).map_err(failed(spec, operation));
        Ok(Self {
            wire: Wire::new(&spec.secrets),
            pipes: Pipes {
                stdin: Some(stdin),
                stdout: Lines::new(read(stdout, "open its stdout")?),
                stderr: Stderr::new(read(stderr, "open its stderr")?, &spec.secrets),
                most: spec.max_message_bytes,
            },
            child,
            parting: Parting::default(),
        })
    }

    /// Waits for an answer or for progress.
    pub(super) async fn news(&mut self) -> Result<(), Over> {
        select! {
            biased;
            () = self.child.ended() => return Err(Over),
            () = self.pipes.news(&mut self.wire) => {}
        }
        let came = self.wire.answer.is_some() || self.wire.progress.is_some();
        came.then_some(()).ok_or(Over)
    }

    /// The answer, if it has come in the meantime.
    pub(super) async fn last_answer(&mut self) -> Option<Answer<Raw>> {
        let _ = timeout(Duration::ZERO, self.pipes.news(&mut self.wire)).await;
        self.wire.answer.take()
    }

    /// Waits until all messages are on their way.
    pub(super) async fn written(&mut self) -> Result<(), Over> {
        select! {
            biased;
            () = self.pipes.written(&mut self.wire) => {}
            () = self.child.ended() => return Err(Over),
        }
        self.is_open().then_some(()).ok_or(Over)
    }

    /// Why the link is over. Of a server that has ended or has closed its pipes, what is left is taken in first.
    pub(super) async fn end(&mut self) -> End {
        if !matches!(self.wire.end, Some(End::TooBig | End::Malformed(_))) {
            let rest = self.pipes.read_out(&mut self.wire);
            let _ = timeout(LAST_WORDS, async { join!(self.child.ended(), rest) }).await;
        }
        self.wire.end.clone().unwrap_or(End::Closed)
    }

    fn is_open(&self) -> bool {
        self.pipes.stdin.is_some() && self.wire.end.is_none()
    }

    /// Whether the server still runs, is listened to and was not told to end.
    pub(super) fn is_up(&self) -> bool {
        self.child.status().is_none() && self.is_open()
    }

    /// Tells the server to end: closes its stdin at once, whatever is still to be written.
    pub(super) fn close(&mut self) {
        self.pipes.close_stdin(&mut self.wire);
    }

    /// Ends the server: stdin closed, time to end by itself, SIGTERM to its group, SIGKILL.
    pub(super) async fn stop(&mut self, grace: Duration) {
        self.close();
        self.parting = Parting::Itself;
        if timeout(grace, self.ended()).await.is_err() {
            self.parting = Parting::Helped;
            self.child.signal(Signal::TERM);
            // What is still alive after this, `reap` kills.
            let _ = timeout(TERM_GRACE, self.ended()).await;
        }
        self.child.reap();
        let _ = timeout(LAST_WORDS, self.pipes.read_out(&mut self.wire)).await;
    }

    /// Waits until the server has ended. What it still says is read, so that it can end.
    async fn ended(&mut self) {
        let reading = async {
            self.pipes.read_out(&mut self.wire).await;
            pending::<()>().await;
        };
        select! {
            () = self.child.ended() => {}
            () = reading => {}
        }
    }

    /// How the process ended, if it did.
    pub(super) fn status(&self) -> Option<ExitDescription> {
        self.child.status()
    }

    pub(super) fn stderr_tail(&self) -> String {
        self.pipes.stderr.tail(&self.wire.secrets)
    }

    /// What the process and its pipes say; nothing of the protocol.
    pub(super) fn report(&self) -> ServerReport {
        let killed = self.child.killed().iter().map(|killed| Killed {
            pid: killed.pid,
            name: bounds::name(&self.wire.secrets.cut(&killed.name)),
        });
        ServerReport {
            exit_status: self.child.status(),
            parting: self.parting,
            stderr_tail: self.stderr_tail(),
            stderr_bytes: self.pipes.stderr.total,
            stdout_noise: self.wire.noise(),
            killed: killed.collect(),
            ..ServerReport::default()
        }
    }
}

impl Pipes {
    /// Waits for an answer, for progress, or for the end of both.
    async fn news(&mut self, wire: &mut Wire) {
        while wire.answer.is_none() && wire.progress.is_none() && wire.end.is_none() {
            self.serve(wire).await;
        }
    }

    /// Waits until all is written, or cannot be.
    async fn written(&mut self, wire: &mut Wire) {
        while !wire.outgoing.is_empty() && wire.end.is_none() {
            self.serve(wire).await;
        }
    }

    /// Takes in what comes, to the end of stdout and stderr.
    async fn read_out(&mut self, wire: &mut Wire) {
        while wire.end.is_none() {
            self.serve(wire).await;
        }
        while self.stderr.is_open() {
            self.stderr.read().await;
        }
    }

    /// Waits for the first of the three pipes that can go on, and serves it.
    async fn serve(&mut self, wire: &mut Wire) {
        let gone_on = select! {
            count = write(&mut self.stdin, &wire.outgoing), if !wire.outgoing.is_empty() => {
                self.wrote(count, wire)
            }
            line = self.stdout.next(self.most.saturating_add(1)) => match line {
                Ok(line) if line.len() > self.most => Err(End::TooBig),
                Ok(line) if !line.is_empty() => wire.hear(line),
                // A pipe that fails counts as closed.
                Ok(_) | Err(_) => Err(End::Closed),
            },
            () = self.stderr.read(), if self.stderr.is_open() => Ok(()),
        };
        if let Err(end) = gone_on {
            // The first reason counts. A server that still writes finds its stdout closed.
            wire.end.get_or_insert(end);
            self.stdout.pipe = None;
        }
    }

    fn wrote(&mut self, count: usize, wire: &mut Wire) -> Result<(), End> {
        if count > 0 {
            wire.sent(count);
            return Ok(());
        }
        self.close_stdin(wire);
        // A request that is not sent is not answered.
        if wire.unsent > 0 {
            return Err(End::Closed);
        }
        Ok(())
    }

    fn close_stdin(&mut self, wire: &mut Wire) {
        self.stdin = None;
        wire.outgoing.clear();
    }
}

/// How many bytes were written; none if stdin is closed at the other end.
async fn write(stdin: &mut Option<Sender>, outgoing: &VecDeque<u8>) -> usize {
    let (first, _) = outgoing.as_slices();
    match stdin {
        Some(pipe) => pipe.write(first).await.unwrap_or_default(),
        None => 0,
    }
}
