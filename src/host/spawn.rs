//! Starts a program that ends when this process ends.

use std::{
    io::{self, Read, Write as _},
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use camino::Utf8PathBuf;
use nix::libc::{CLOSE_RANGE_CLOEXEC, SYS_close_range, c_uint, syscall};
use rustix::{
    io::ioctl_fionread,
    process::{
        Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, getpid, getppid, kill_process_group,
        set_parent_process_death_signal, waitid,
    },
};

use super::{environment::variable, interrupts::Interrupts};

#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments. A name without a slash is looked up in the `PATH` of `env`, one with a slash is
    /// taken relative to `cwd`.
    pub argv: Vec<String>,
    pub cwd: Utf8PathBuf,
    /// The whole environment of the program: nothing of ours is inherited.
    pub env: Vec<(String, String)>,
}

/// The variables that every started program gets. A server gets others only if its entry names them.
const BASE: [&str; 12] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TZ",
    "USER",
];

/// The environment of a program that gets no variables of the operator's choice.
pub fn plain_environment() -> Vec<(String, String)> {
    let named = |name: &&str| Some(((*name).to_owned(), variable(name)?));
    BASE.iter().filter_map(named).collect()
}

impl Program {
    /// A program that is not configured by the keys of a server. The field of a new key gets its default here.
    pub fn new(argv: Vec<String>, cwd: Utf8PathBuf, env: Vec<(String, String)>) -> Self {
        Self { argv, cwd, env }
    }

    /// Its own process group and a pipe for its standard input; `None` if no program is named.
    fn command(&self) -> Option<Command> {
        let (name, arguments) = self.argv.split_first()?;
        let mut command = Command::new(name);
        command
            .args(arguments)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.cwd)
            .process_group(0)
            .stdin(Stdio::piped());
        Some(command)
    }
}

/// A started program. It leads its own process group and has pipes for its standard streams. The caller must wait
/// for it.
#[derive(Debug)]
pub struct Spawned {
    pub pid: Pid,
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// Starts the program. The kernel kills it when the calling *thread* ends.
pub fn spawn(program: &Program) -> io::Result<Spawned> {
    let mut command = program.command().ok_or(io::ErrorKind::NotFound)?;
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    signal_at_our_end(&mut command, Signal::KILL);
    let child = command.spawn()?;
    let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
    Ok(Spawned {
        pid: Pid::from_child(&child),
        stdin: child.stdin.ok_or_else(missing)?.into(),
        stdout: child.stdout.ok_or_else(missing)?.into(),
        stderr: child.stderr.ok_or_else(missing)?.into(),
    })
}

/// Starts this program once more, also if its file was replaced or removed meanwhile, with pipes for its standard
/// streams. It leads its own process group. When the calling *thread* ends, the kernel sends it SIGTERM, so that it
/// can end what it has started and record that.
pub fn spawn_self(arguments: &[String]) -> io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command
        .args(arguments)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    signal_at_our_end(&mut command, Signal::TERM);
    command.spawn()
}

/// Starts this program once more with `input` as its standard input, without an environment. It outlives this process, so it
/// inherits none of its open files: whoever waits for their end would wait for it.
pub fn spawn_apart(arguments: &[&str], input: OwnedFd) -> io::Result<Pid> {
    let mut command = Command::new("/proc/self/exe");
    command
        .args(arguments)
        .env_clear()
        .stdin(input)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    inherit_nothing(&mut command);
    Ok(Pid::from_child(&command.spawn()?))
}

/// Runs a program that can ask the person at our terminal: in our process group, with our stderr and our environment, and
/// with one more variable. It gets `input`, which must fit into a pipe, on its standard input. Returns what it wrote to its
/// stdout, if it ended well.
pub fn at_our_terminal(
    name: &str,
    arguments: &[&str],
    variable: Option<(&str, &str)>,
    input: &[u8],
) -> Result<Vec<u8>, String> {
    let mut command = Command::new(name);
    command
        .args(arguments)
        .envs(variable)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    // After SIGKILL, the terminal would go on hiding what is typed.
    signal_at_our_end(&mut command, Signal::TERM);
    let mut child = command
        .spawn()
        .map_err(|error| format!("{name} did not start: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends without reading says why itself.
        let _ = stdin.write_all(input);
    }
    match child.wait_with_output() {
        Ok(output) if output.status.success() => Ok(output.stdout),
        Ok(output) => Err(format!("{name} ended with {}", output.status)),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

/// Starts a program, gives it `input` on its standard input, and waits for its end. If it takes longer than `longest`,
/// or a signal asks this run to stop meanwhile, its process group is killed.
pub fn tell(
    program: &Program,
    input: Vec<u8>,
    longest: Duration,
    interrupts: &Interrupts,
) -> Result<(), String> {
    let before = interrupts.count();
    let mut running = Running::start(program, input, Stdio::null)?;
    let begun = Instant::now();
    let late = loop {
        if let Some(said) = running.look()? {
            return said.failed.map_or(Ok(()), Err);
        }
        match interrupts.caught().filter(|_| interrupts.count() > before) {
            Some(signal) => break format!("was stopped by {}", signal.name()),
            None if begun.elapsed() < longest => thread::sleep(Duration::from_millis(5)),
            None => break format!("did not end within {longest:?}"),
        }
    };
    Err(format!("{} {late}", running.name))
}

/// The most that is kept of what a [`Running`] program writes to a stream. The rest is read and dropped.
const SAID_BYTES: usize = 64 << 10;

/// What a program has written.
#[derive(Debug, Default)]
pub struct Said {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Why it did not end well.
    pub failed: Option<String>,
}

/// A program that runs. Dropping this kills its process group.
#[derive(Debug)]
pub struct Running {
    name: String,
    child: Child,
    group: Pid,
    /// The child has not been waited for, so its id is still its own.
    unreaped: bool,
    said: Said,
}

impl Running {
    /// Starts a program. `output` is what its standard output and its standard error are.
    pub fn start(program: &Program, input: Vec<u8>, output: fn() -> Stdio) -> Result<Self, String> {
        let mut command = program.command().ok_or("it is empty")?;
        command.stdout(output()).stderr(output());
        let name = command.get_program().to_string_lossy().into_owned();
        die_with_us(&mut command);
        let mut child = command
            .spawn()
            .map_err(|error| format!("{name} did not start: {error}"))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read must not stop this run. The thread ends with the program.
            thread::spawn(move || stdin.write_all(&input));
        }
        Ok(Self {
            group: Pid::from_child(&child),
            name,
            child,
            unreaped: true,
            said: Said::default(),
        })
    }

    /// Reads what is there, and returns everything once the program has ended. This does not wait.
    pub fn look(&mut self) -> Result<Option<Said>, String> {
        let end = end_of(self.group).map_err(|errno| {
            self.unreaped = false;
            format!("{}: {errno}", self.name)
        })?;
        let end = end.map(|_| match self.kill() {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("{} ended with {status}", self.name)),
            Err(error) => Some(format!("{}: {error}", self.name)),
        });
        read_waiting(self.child.stdout.as_mut(), &mut self.said.stdout);
        read_waiting(self.child.stderr.as_mut(), &mut self.said.stderr);
        Ok(end.map(|failed| Said {
            failed,
            ..std::mem::take(&mut self.said)
        }))
    }

    /// Ends what is left of its process group.
    fn kill(&mut self) -> io::Result<ExitStatus> {
        if std::mem::take(&mut self.unreaped) {
            let _ = kill_process_group(self.group, Signal::KILL);
        }
        self.child.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// A process that the program left behind may keep the pipe open, so its end is not waited for.
fn read_waiting(pipe: Option<&mut (impl Read + AsFd)>, text: &mut Vec<u8>) {
    let Some(pipe) = pipe else { return };
    let waiting = ioctl_fionread(&*pipe).unwrap_or_default();
    let _ = pipe.take(waiting).read_to_end(text);
    text.truncate(SAID_BYTES);
}

/// How a child has ended; `None` while it runs. It is not reaped, so that no other process gets its id, which may also
/// be that of its group. An error if it is no longer a child of oneact: if the caller of oneact had SIGCHLD ignored,
/// the kernel reaps children by itself.
pub fn end_of(child: Pid) -> rustix::io::Result<Option<WaitIdStatus>> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(child), look)
}

/// Makes the kernel kill the child of `command` when the *thread* that starts it ends.
pub fn die_with_us(command: &mut Command) {
    signal_at_our_end(command, Signal::KILL);
}

/// Closes all descriptors of the child but its standard streams when it starts.
#[expect(
    unsafe_code,
    reason = "the standard library has no safe way to act between fork and exec, and no way to close a range"
)]
pub(super) fn inherit_nothing(command: &mut Command) {
    let close = || {
        // SAFETY: the call takes three numbers, and marks descriptors to be closed when a program is started.
        match unsafe { syscall(SYS_close_range, 3, c_uint::MAX, CLOSE_RANGE_CLOEXEC) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure makes one system call. It neither allocates nor takes a lock.
    unsafe { command.pre_exec(close) };
}

/// Makes the kernel send `signal` to the child of `command` when the *thread* that starts it ends.
#[expect(
    unsafe_code,
    reason = "the standard library has no safe way to act between fork and exec"
)]
fn signal_at_our_end(command: &mut Command, signal: Signal) {
    let parent = getpid();
    let ask = move || {
        set_parent_process_death_signal(Some(signal))?;
        // If the parent died before the request, the kernel would send nothing.
        if getppid() == Some(parent) {
            Ok(())
        } else {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    };
    // SAFETY: the closure makes three system calls. It neither allocates nor takes a lock.
    unsafe { command.pre_exec(ask) };
}

#[cfg(test)]
mod tests;
