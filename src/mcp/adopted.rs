//! Processes that became children of oneact because their own parent ended (see `child`).
//!
//! The kernel gives orphans to the first thread. The children that this thread had before the call are left alone, and
//! no other process is ever signalled.
//!
//! A shell may have started a program in the background before it became this process with `exec`. This program is a
//! child of oneact as well, and its orphans arrive like those of a server. In this case a process belongs to the server
//! only if it has the run's [`SCRATCH`] in its environment.

use std::{
    fs, io,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, set_child_subreaper, waitid,
};

use super::report::Killed;
use crate::{
    host::{children, had_children},
    task::SCRATCH,
};

/// About two seconds. A process that takes longer to die is stuck in the kernel. If there are still other processes
/// after this time, they multiply faster than they can be ended.
const ROUNDS: u32 = 1900;
const ROUND: Duration = Duration::from_millis(1);

/// The servers that were started and not reaped. A sweep for one of them does not touch the others.
static SERVERS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

fn servers() -> MutexGuard<'static, Vec<Pid>> {
    // Nothing panics while it holds the lock.
    SERVERS.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn started(pid: Pid) {
    servers().push(pid);
}

/// Call this when the server is reaped, because its id may then belong to another process.
pub(super) fn reaped(pid: Pid) {
    servers().retain(|server| *server != pid);
}

#[derive(Debug)]
pub(super) struct Adopted {
    before: Vec<Pid>,
    /// `ONEACT_SCRATCH=…` of the server, which no other run's server has.
    mark: Option<Vec<u8>>,
}

impl Adopted {
    /// Makes oneact the parent of orphans. `env` is the environment of the server that is started next.
    pub(super) fn from_now_on(env: &[(String, String)]) -> io::Result<Self> {
        set_child_subreaper(Some(getpid()))?;
        let directory = env.iter().find(|(name, _)| name == SCRATCH);
        Ok(Self {
            before: children(),
            mark: directory.map(|(name, value)| format!("{name}={value}").into_bytes()),
        })
    }

    /// The adopted processes that are alive. Those that have ended are reaped.
    pub(super) fn note(&self, leader: Pid) -> Vec<Killed> {
        self.living(leader).into_iter().map(described).collect()
    }

    /// Kills adopted processes until there are none, because each may leave children. Logs those that remain.
    pub(super) fn sweep(&self, leader: Pid, killed: &mut Vec<Killed>) {
        for _ in 0..ROUNDS {
            let living = self.living(leader);
            if living.is_empty() {
                return;
            }
            for pid in living {
                if !killed.iter().any(|known| known.pid == pid.as_raw_pid()) {
                    killed.push(described(pid));
                }
                // It is a child of oneact and not reaped, so the id is still its own.
                let _ = kill_process(pid, Signal::KILL);
            }
            thread::sleep(ROUND);
        }
        let left = self.note(leader);
        if !left.is_empty() {
            let named = left
                .iter()
                .map(|each| format!("{} ({})", each.pid, each.name));
            let named: Vec<String> = named.collect();
            tracing::warn!(
                "Processes of the server could not be ended: {}.",
                named.join(", ")
            );
        }
    }

    fn living(&self, leader: Pid) -> Vec<Pid> {
        let mut adopted = children();
        let servers = servers().clone();
        adopted.retain(|pid| {
            let own = *pid == leader || self.before.contains(pid) || servers.contains(pid);
            !own && is_alive(*pid) && (!had_children() || self.marked(*pid))
        });
        adopted
    }

    /// Whether a process has the server's [`SCRATCH`] (proc(5), `/proc/PID/environ`).
    fn marked(&self, pid: Pid) -> bool {
        let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_pid()));
        let environment = environment.unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        self.mark
            .as_ref()
            .is_some_and(|mark| variables.any(|variable| variable == mark.as_slice()))
    }
}

/// Whether a child still runs. If it has ended, it is reaped.
fn is_alive(pid: Pid) -> bool {
    matches!(
        waitid(
            WaitId::Pid(pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG
        ),
        Ok(None)
    )
}

fn described(pid: Pid) -> Killed {
    let pid = pid.as_raw_pid();
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Killed {
        pid,
        name: name.trim_end().to_owned(),
    }
}
