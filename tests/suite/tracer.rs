//! Runs a program and stops it before every call that changes a file, waits for the disk, starts a program or says
//! something. At each of them, a test decides what happens: nothing, an error, or the end of the run. The program knows
//! nothing of it.
//!
//! The threads of the run are followed by ptrace, in the order in which the kernel lets them make their calls. The programs
//! that it starts are not followed, except where a test wants it.

#[cfg(target_arch = "x86_64")]
mod calls;
#[cfg(not(target_arch = "x86_64"))]
#[path = "tracer/unread.rs"]
mod calls;
pub(crate) mod moments;

use std::{
    collections::HashMap,
    io::{Read as _, Write as _},
    os::unix::process::ExitStatusExt as _,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio},
    sync::{LazyLock, mpsc},
    thread,
};

use camino::{Utf8Path, Utf8PathBuf};
use nix::{
    errno::Errno,
    libc,
    sys::{
        ptrace::{self, Options},
        signal::{self, Signal},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};
use serde_json::Value;

use crate::crash::say;

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Opens a file that it makes or empties.
    Create,
    /// Changes the content or the length of a file, or reserves space for it.
    Write,
    Attributes,
    Link,
    Rename,
    MakeDir,
    Remove,
    /// Waits until something is on the disk.
    Sync,
    /// Starts a process.
    Start,
    /// Writes to a pipe or a socket, but not to stdout or stderr: what is said there is said under a lock.
    Say,
}

/// A call that is about to be made.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) kind: Kind,
    /// The file or the directory; of a rename or a link, the new name. Empty if it has none.
    pub(crate) path: Utf8PathBuf,
    /// The old name of a rename or a link.
    pub(crate) from: Option<Utf8PathBuf>,
}

impl Call {
    /// Whether it changes something on a disk, or waits for one.
    pub(crate) fn changes(&self) -> bool {
        !matches!(self.kind, Kind::Start | Kind::Say)
    }

    /// Whether it changes files of a plan, its reports or the tree, or waits for them.
    pub(crate) fn is_of_plan(&self) -> bool {
        self.changes() && !self.is_of_ledger()
    }

    /// Whether it gives or takes a name in the tree: neither in the reports nor in the ledger.
    pub(crate) fn changes_tree(&self) -> bool {
        let is_ours = |path: &Utf8Path| {
            let mut parts = path.components();
            parts.any(|part| part.as_str().starts_with("agent_") || part.as_str() == ".oneact")
        };
        match (self.kind, &self.from) {
            (Kind::Rename, Some(from)) => !is_ours(&self.path) || !is_ours(from),
            (Kind::Link | Kind::Remove | Kind::MakeDir, _) => !is_ours(&self.path),
            _ => false,
        }
    }

    /// Whether it is about what oneact keeps of its runs, and not about a plan.
    pub(crate) fn is_of_ledger(&self) -> bool {
        // Beside a database lie its log, its locks and its head file.
        let name = self.path.file_name().unwrap_or_default();
        let is_database = [".db", ".head", ".lock"]
            .iter()
            .any(|part| name.contains(part));
        let mut parts = self.path.components();
        is_database || parts.any(|part| part.as_str() == ".oneact")
    }
}

/// What happens in place of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// The call itself.
    Go,
    /// The run is killed before the call.
    Kill,
    Fail(Errno),
    /// Nothing is done, and success is told.
    Pretend,
    /// The thread gets no further.
    Hang,
}

/// Which processes are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follow {
    /// The threads of the run.
    Run,
    /// Also what it starts. A kill ends the run, whoever is about to make the call.
    Children,
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) output: Output,
    /// The calls at which something else happened.
    pub(crate) met: Vec<Call>,
}

impl Ended {
    pub(crate) fn was_killed(&self) -> bool {
        self.output.status.signal() == Some(libc::SIGKILL)
    }
}

/// A run that is followed.
pub(crate) struct Traced {
    pid: Pid,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
    tracer: thread::JoinHandle<ExitStatus>,
    met: mpsc::Receiver<Call>,
}

impl Traced {
    /// Starts the command with the environment that was set for it and nothing else, and pipes. `decide` is asked at every
    /// call that changes something below that directory, starts a program or says something, until the run ends.
    pub(crate) fn start(
        command: &Command,
        below: &Utf8Path,
        decide: impl FnMut(&Call) -> Act + Send + 'static,
    ) -> Self {
        Self::following(Follow::Run, command, below, decide)
    }

    #[expect(clippy::zombie_processes, reason = "the tracer waits for it")]
    pub(crate) fn following(
        follow: Follow,
        command: &Command,
        below: &Utf8Path,
        decide: impl FnMut(&Call) -> Act + Send + 'static,
    ) -> Self {
        let mut command = stopping(command);
        let below = below.to_owned();
        let (begun, child) = mpsc::channel();
        let (tell, met) = mpsc::channel();
        // Only the thread that attached itself to a process may wait for it and drive it.
        let tracer = thread::spawn(move || {
            let mut child = command.spawn().unwrap();
            let leader = attached(&child, follow).unwrap();
            let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
            begun.send((leader, pipes)).unwrap();
            Tracer {
                leader,
                below,
                decide,
                tell,
                pretended: HashMap::new(),
            }
            .follow()
        });
        let (pid, (stdin, stdout, stderr)) = child.recv().unwrap();
        Self {
            pid,
            stdin,
            stdout,
            stderr,
            tracer,
            met,
        }
    }

    pub(crate) fn id(&self) -> i32 {
        self.pid.as_raw()
    }

    /// Hands it its task, and ends its stdin. It may be gone before it has read anything.
    pub(crate) fn feed(&mut self, task: &Value) {
        let mut stdin = self.stdin.take().unwrap();
        let _ = stdin.write_all(task.to_string().as_bytes());
    }

    pub(crate) fn signal(&self, number: rustix::process::Signal) {
        crate::program::signal(self.id(), number);
    }

    /// Waits until something else than a call has happened.
    pub(crate) fn until_met(&self) -> Call {
        self.met.recv().unwrap()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.tracer.is_finished()
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        drop(self.stdin.take());
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        thread::scope(|scope| {
            let said = self.stderr.take();
            scope.spawn(|| said.map(|mut pipe| pipe.read_to_end(&mut stderr)));
            if let Some(mut pipe) = self.stdout.take() {
                pipe.read_to_end(&mut stdout).unwrap();
            }
        });
        let status = self.tracer.join().unwrap();
        Ended {
            output: Output {
                status,
                stdout,
                stderr,
            },
            met: self.met.try_iter().collect(),
        }
    }
}

/// Runs the command with that task, and waits for its end.
pub(crate) fn traced(
    command: &Command,
    below: &Utf8Path,
    task: &Value,
    decide: impl FnMut(&Call) -> Act + Send + 'static,
) -> Ended {
    traced_with((command, Follow::Run), below, task, decide)
}

pub(crate) fn traced_with(
    (command, follow): (&Command, Follow),
    below: &Utf8Path,
    task: &Value,
    decide: impl FnMut(&Call) -> Act + Send + 'static,
) -> Ended {
    let mut run = Traced::following(follow, command, below, decide);
    run.feed(task);
    run.end()
}

/// The act at the n-th of those calls, counted from 1.
pub(crate) fn nth(
    those: fn(&Call) -> bool,
    n: u64,
    act: Act,
) -> impl FnMut(&Call) -> Act + Send + 'static {
    let mut seen = 0;
    first(
        move |call| {
            seen += u64::from(those(call));
            seen == n
        },
        act,
    )
}

/// The act at the n-th of those calls, and at all later ones of the same kind.
pub(crate) fn from_nth(
    those: fn(&Call) -> bool,
    n: u64,
    act: Act,
) -> impl FnMut(&Call) -> Act + Send + 'static {
    let (mut seen, mut kind) = (0, None);
    move |call| {
        if !those(call) {
            return Act::Go;
        }
        seen += 1;
        if seen == n {
            kind = Some(call.kind);
        }
        if kind == Some(call.kind) {
            act
        } else {
            Act::Go
        }
    }
}

/// The act at the first call of which the test says so.
pub(crate) fn first(
    mut is_it: impl FnMut(&Call) -> bool + Send + 'static,
    act: Act,
) -> impl FnMut(&Call) -> Act + Send + 'static {
    let mut met = false;
    move |call| {
        if met || !is_it(call) {
            return Act::Go;
        }
        met = true;
        act
    }
}

/// Whether nothing can be followed here; then this says why.
pub(crate) fn is_refused() -> bool {
    static WHY: LazyLock<Option<String>> = LazyLock::new(why_not);
    let Some(reason) = &*WHY else {
        return false;
    };
    say(&format!("NOT TESTED: {reason}"));
    assert!(!crate::crash::lab::all(), "{reason}");
    true
}

#[expect(clippy::zombie_processes, reason = "this thread waits for its own")]
fn why_not() -> Option<String> {
    if !cfg!(target_arch = "x86_64") {
        return Some("the tracer reads the registers of x86-64 only".to_owned());
    }
    let tried = thread::spawn(|| {
        let mut child = stopping(&Command::new("/bin/true")).spawn().unwrap();
        let attached = attached(&child, Follow::Run);
        // It is stopped, or followed: either way, nobody waits for what it does.
        let _ = child.kill();
        let _ = waitpid(
            Pid::from_raw(i32::try_from(child.id()).unwrap()),
            Some(OURS),
        );
        attached.err()
    });
    let error = tried.join().unwrap()?;
    Some(format!("no process can be followed here (ptrace): {error}"))
}

/// The same command, which stops itself before it begins.
fn stopping(command: &Command) -> Command {
    let mut stopping = Command::new("/bin/sh");
    stopping
        .args(["-c", "kill -STOP $$; exec \"$0\" \"$@\""])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(dir) = command.get_current_dir() {
        stopping.current_dir(dir);
    }
    stopping
}

/// What this thread waits for: its own children and the processes that it follows, not those of other tests.
const OURS: WaitPidFlag = WaitPidFlag::__WALL.union(WaitPidFlag::__WNOTHREAD);

/// Attaches this thread to a process that has stopped itself, and lets it go on.
fn attached(child: &Child, follow: Follow) -> Result<Pid, Errno> {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    waitpid(pid, Some(OURS | WaitPidFlag::WUNTRACED))?;
    let mut options = Options::PTRACE_O_EXITKILL
        | Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC;
    if follow == Follow::Children {
        options |= Options::PTRACE_O_TRACEFORK | Options::PTRACE_O_TRACEVFORK;
    }
    ptrace::seize(pid, options)?;
    signal::kill(pid, Signal::SIGCONT)?;
    Ok(pid)
}

struct Tracer<D> {
    leader: Pid,
    below: Utf8PathBuf,
    decide: D,
    tell: mpsc::Sender<Call>,
    /// What a call returns that is not made, by thread.
    pretended: HashMap<Pid, i64>,
}

impl<D: FnMut(&Call) -> Act> Tracer<D> {
    /// Follows the run to its end.
    fn follow(mut self) -> ExitStatus {
        loop {
            match waitpid(None, Some(OURS)) {
                Ok(WaitStatus::PtraceSyscall(thread)) => {
                    if self.at_call(thread) == Act::Hang {
                        continue;
                    }
                    go_on(thread, None);
                }
                Ok(WaitStatus::PtraceEvent(thread, ..)) => go_on(thread, None),
                Ok(WaitStatus::Stopped(thread, signal)) => go_on(thread, Some(signal)),
                Ok(WaitStatus::Exited(pid, code)) if pid == self.leader => {
                    return ExitStatus::from_raw(code << 8);
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.leader => {
                    return ExitStatus::from_raw(signal as i32);
                }
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => panic!("the run is lost: {errno}"),
            }
        }
    }

    /// A thread is before a call or after it.
    fn at_call(&mut self, thread: Pid) -> Act {
        let Ok(place) = ptrace::syscall_info(thread) else {
            return Act::Go; // It was killed.
        };
        if place.op == libc::PTRACE_SYSCALL_INFO_EXIT {
            if let Some(result) = self.pretended.remove(&thread) {
                calls::returns(thread, result);
            }
            return Act::Go;
        }
        let Some(call) = calls::of(thread) else {
            return Act::Go;
        };
        if call.changes() && !call.path.starts_with(&self.below) {
            return Act::Go;
        }
        let act = (self.decide)(&call);
        match act {
            Act::Go => return act,
            Act::Kill => drop(signal::kill(self.leader, Signal::SIGKILL)),
            Act::Fail(errno) => self.pretend(thread, -i64::from(errno as i32)),
            Act::Pretend => self.pretend(thread, 0),
            Act::Hang => {}
        }
        // Nobody may want to know.
        let _ = self.tell.send(call);
        act
    }

    fn pretend(&mut self, thread: Pid, result: i64) {
        calls::skip(thread);
        self.pretended.insert(thread, result);
    }
}

/// Lets a thread go on to its next call. It may have been killed.
fn go_on(thread: Pid, signal: Option<Signal>) {
    let _ = ptrace::syscall(thread, signal);
}
