//! The server's process. It has its own process group, inherits nothing, and is ended when oneact ends.
//!
//! The calling thread spawns it and must live as long as the call: with `PR_SET_PDEATHSIG`, Linux ends a child when the
//! *thread* that made it ends. The processes that the server starts are found by the process group. Daemons leave that
//! group, but oneact is their subreaper: when their parent ends, they become children of oneact. If oneact itself is
//! killed, only the server dies with it. Other processes of the server only see that their pipes are closed.

use std::{io, os::fd::OwnedFd, thread, time::Duration};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpgid, kill_process, kill_process_group,
    pidfd_open, waitid,
};

use super::{
    adopted::{self, Adopted},
    error::CallError,
    report::{ExitDescription, Killed},
};
use crate::host::{Program, end_of, spawn};

/// How long a killed process may take to die.
const DEATH_ROUNDS: u32 = 500;
const DEATH_ROUND: Duration = Duration::from_millis(1);

/// A spawned server. Dropping it ends it, its group and what they left behind.
#[derive(Debug)]
pub(super) struct Child {
    pid: Pid,
    adopted: Adopted,
    reaped: Option<Reaped>,
}

/// How a server ended, and which other processes of it were killed.
#[derive(Debug)]
struct Reaped {
    status: Option<ExitDescription>,
    killed: Vec<Killed>,
}

impl Child {
    /// Spawns a server. It starts while oneact prepares the rest. Returns also its stdin, stdout and stderr.
    pub(super) fn start(
        server: &str,
        program: &Program,
    ) -> Result<(Self, [OwnedFd; 3]), CallError> {
        if program.argv.is_empty() {
            return Err(CallError::NotFound {
                server: server.to_owned(),
                program: String::new(),
                reason: "its `command` is empty".to_owned(),
            });
        }
        let adopted =
            Adopted::from_now_on(&program.env).map_err(failed(server, "adopt orphans"))?;
        let spawned = spawn(program).map_err(|source| not_started(server, program, source))?;
        adopted::started(spawned.pid);
        let child = Self {
            pid: spawned.pid,
            adopted,
            reaped: None,
        };
        Ok((child, [spawned.stdin, spawned.stdout, spawned.stderr]))
    }

    /// For people, and for logs.
    pub(super) fn pid(&self) -> i32 {
        self.pid.as_raw_pid()
    }

    /// A handle that is readable when the server's own process has ended. It stays a zombie until [`Child::reap`], so no
    /// other process gets its id, which is also that of the group.
    pub(super) fn pidfd(&self) -> io::Result<OwnedFd> {
        Ok(pidfd_open(self.pid, PidfdFlags::NONBLOCK)?)
    }

    fn is_alive(&self) -> bool {
        self.reaped.is_none() && matches!(end_of(self.pid), Ok(None))
    }

    pub(super) fn status(&self) -> Option<ExitDescription> {
        if let Some(reaped) = &self.reaped {
            return reaped.status;
        }
        let status = end_of(self.pid).ok()??;
        status
            .exit_status()
            .map(ExitDescription::Code)
            .or(status.terminating_signal().map(ExitDescription::Signal))
    }

    /// Sends a signal to the server and its group, unless the server was reaped.
    pub(super) fn signal(&self, signal: Signal) {
        // Once it is reaped, its id may belong to another process.
        if self.reaped.is_none() && end_of(self.pid).is_ok() {
            // It fails only if no process is left.
            let _ = kill_process_group(self.pid, signal);
            // A server that has changed its group needs its own signal. Others get only one, because many servers
            // abort at a second signal.
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
        // This does not block if the process is stuck in the kernel.
        let _ = waitid(
            WaitId::Pid(self.pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
        );
        adopted::reaped(self.pid);
        self.adopted.sweep(self.pid, &mut killed);
        self.reaped = Some(Reaped { status, killed });
    }

    /// The other processes of the server that were killed when it was reaped.
    pub(super) fn killed(&self) -> &[Killed] {
        self.reaped.as_ref().map_or(&[], |reaped| &reaped.killed)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.reap();
    }
}

/// The error of an operation that starts a server.
pub(super) fn failed(server: &str, operation: &'static str) -> impl FnOnce(io::Error) -> CallError {
    move |source| CallError::SpawnFailed {
        server: server.to_owned(),
        operation,
        source,
    }
}

/// The error of a failed spawn: `NotFound` if the catalog can be corrected, otherwise `SpawnFailed`.
fn not_started(server: &str, program: &Program, source: io::Error) -> CallError {
    let reason = match source.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::NotADirectory
            if !program.cwd.is_dir() =>
        {
            format!("its working directory {} is not there", program.cwd)
        }
        io::ErrorKind::NotFound => "no such program (or its `#!` line names none)".to_owned(),
        io::ErrorKind::PermissionDenied => "it is not executable".to_owned(),
        io::ErrorKind::NotADirectory => "a part of its path is no directory".to_owned(),
        _ => {
            return failed(server, "start its process")(source);
        }
    };
    CallError::NotFound {
        server: server.to_owned(),
        program: program.argv.first().cloned().unwrap_or_default(),
        reason,
    }
}
