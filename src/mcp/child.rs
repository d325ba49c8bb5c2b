//! The server's process: in a process group of its own, without anything inherited, and ended when oneact ends.
//!
//! It is spawned by the calling thread, which must live as long as the call does: Linux ends a
//! child with `PR_SET_PDEATHSIG` when the *thread* that made it ends. Of what the server starts,
//! we find everything but its own daemons by the process group, and those because we are their
//! subreaper: when their parent ends they become children of ours. Only the server itself dies
//! with us when we are killed; what it has started then sees its pipes close, no more.

use std::{io, os::fd::OwnedFd, thread, time::Duration};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, getpgid, kill_process,
    kill_process_group, pidfd_open, waitid,
};
use tokio::io::{Interest, unix::AsyncFd};

use super::{
    adopted::{self, Adopted},
    error::CallError,
    report::{ExitDescription, Killed},
    spec::ServerSpec,
};
use crate::host::{Host, Moment, Program, spawn};

/// How often a system without pidfds is asked whether the server has ended.
const POLL: Duration = Duration::from_millis(5);

/// How long a killed process may take to die.
const DEATH_ROUNDS: u32 = 500;
const DEATH_ROUND: Duration = Duration::from_millis(1);

/// A spawned server. Dropping it ends it, its group and what they left behind.
#[derive(Debug)]
pub(super) struct Child {
    pid: Pid,
    /// Readable once the process has ended; none where the system has no pidfds.
    pidfd: Option<AsyncFd<OwnedFd>>,
    adopted: Adopted,
    reaped: Option<Reaped>,
}

/// A server that is not watched yet: it starts up while the rest is made ready.
#[derive(Debug)]
pub(super) struct Started {
    /// First: dropping it cleans up whatever fails.
    pub(super) child: Child,
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) began: Moment,
}

/// The end of a server and of what it left behind.
#[derive(Debug)]
struct Reaped {
    status: Option<ExitDescription>,
    killed: Vec<Killed>,
}

impl Started {
    pub(super) fn new(spec: &ServerSpec, host: &Host) -> Result<Self, CallError> {
        let began = host.moment();
        let Some(program) = spec.argv.first() else {
            let reason = "its `command` is empty".to_owned();
            return Err(CallError::NotFound {
                server: spec.name.clone(),
                program: String::new(),
                reason,
            });
        };
        let adopted = Adopted::from_now_on(&spec.env).map_err(failed(spec, "adopt orphans"))?;
        let spawned = spawn(Program {
            argv: &spec.argv,
            env: &spec.env,
            directory: spec.cwd.as_str(),
        })
        .map_err(|source| not_started(spec, program, source))?;
        adopted::started(spawned.pid);
        Ok(Self {
            child: Child {
                pid: spawned.pid,
                pidfd: None,
                adopted,
                reaped: None,
            },
            stdin: spawned.stdin,
            stdout: spawned.stdout,
            stderr: spawned.stderr,
            began,
        })
    }
}

impl Child {
    /// Has the runtime around it tell when the process ends.
    pub(super) fn watch(&mut self) -> io::Result<()> {
        let pidfd = pidfd_open(self.pid, PidfdFlags::NONBLOCK).ok();
        self.pidfd = pidfd.map(watched).transpose()?;
        Ok(())
    }

    /// Waits until the server's own process has ended. It stays a zombie until [`Child::reap`], so
    /// that its id, which is also the group's, belongs to nobody else meanwhile.
    pub(super) async fn ended(&self) {
        if let Some(pidfd) = &self.pidfd
            && pidfd.readable().await.is_ok()
        {
            return;
        }
        while self.is_alive() {
            tokio::time::sleep(POLL).await;
        }
    }

    /// Looks without reaping: `None` while it runs. An error if it is no child of ours any more,
    /// as when our parent had us ignore SIGCHLD and the kernel reaps by itself.
    fn peek(&self) -> rustix::io::Result<Option<WaitIdStatus>> {
        waitid(
            WaitId::Pid(self.pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT,
        )
    }

    fn is_alive(&self) -> bool {
        self.reaped.is_none() && matches!(self.peek(), Ok(None))
    }

    pub(super) fn status(&self) -> Option<ExitDescription> {
        if let Some(reaped) = &self.reaped {
            return reaped.status;
        }
        let status = self.peek().ok()??;
        status
            .exit_status()
            .map(ExitDescription::Code)
            .or(status.terminating_signal().map(ExitDescription::Signal))
    }

    /// Sends a signal to the server and its group, while it has not been reaped.
    pub(super) fn signal(&self, signal: Signal) {
        // Once it is reaped, its id may belong to another process.
        if self.reaped.is_none() && self.peek().is_ok() {
            // It fails only if no process is left.
            let _ = kill_process_group(self.pid, signal);
            // One that has gone over to another group is no part of its own any more. Only that one,
            // for many servers take a second signal for impatience.
            if getpgid(Some(self.pid)).is_ok_and(|group| group != self.pid) {
                let _ = kill_process(self.pid, signal);
            }
        }
    }

    /// Kills the server's group and everything it left behind, and reaps it.
    pub(super) fn reap(&mut self) {
        if self.reaped.is_some() {
            return;
        }
        let mut killed = self.adopted.note(self.pid);
        self.signal(Signal::KILL);
        for _ in 0..DEATH_ROUNDS {
            if !self.is_alive() {
                break;
            }
            thread::sleep(DEATH_ROUND);
        }
        let status = self.status();
        // Does not block: it has ended, or it is stuck in the kernel and cannot be ended.
        let _ = waitid(
            WaitId::Pid(self.pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
        );
        adopted::reaped(self.pid);
        self.adopted.sweep(self.pid, &mut killed);
        self.reaped = Some(Reaped { status, killed });
    }

    /// What the server left behind, once it is reaped.
    pub(super) fn killed(&self) -> &[Killed] {
        self.reaped.as_ref().map_or(&[], |reaped| &reaped.killed)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.reap();
    }
}

#[expect(
    deprecated,
    reason = "its successor is unsafe, and an `OwnedFd` gives what that one asks for"
)]
fn watched(pidfd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(pidfd, Interest::READABLE)
}

/// The error of an operation that starts a server.
pub(super) fn failed(
    spec: &ServerSpec,
    operation: &'static str,
) -> impl FnOnce(io::Error) -> CallError {
    move |source| CallError::SpawnFailed {
        server: spec.name.clone(),
        operation,
        source,
    }
}

/// Sorts a failed spawn: what the catalog can correct, and what it cannot.
fn not_started(spec: &ServerSpec, program: &str, source: io::Error) -> CallError {
    let reason = match source.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::NotADirectory
            if !spec.cwd.is_dir() =>
        {
            format!("its working directory {} is not there", spec.cwd)
        }
        io::ErrorKind::NotFound => "no such program (or its `#!` line names none)".to_owned(),
        io::ErrorKind::PermissionDenied => "it is not executable".to_owned(),
        io::ErrorKind::NotADirectory => "a part of its path is no directory".to_owned(),
        _ => {
            return failed(spec, "start its process")(source);
        }
    };
    CallError::NotFound {
        server: spec.name.clone(),
        program: program.to_owned(),
        reason,
    }
}
