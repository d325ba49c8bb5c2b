//! The process between oneact and a pipeline: it starts the program in its jail, and ends all that the program has
//! started, also when oneact is killed.

use std::{
    io::{ErrorKind, PipeReader, PipeWriter, Read as _, pipe},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::process::CommandExt as _,
    },
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{CWD, FlockOperation, Mode, OFlags, flock, mkdirat, openat},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, pidfd_open},
};
use serde::{Deserialize, Serialize};

use crate::{
    host::{adopt_orphans, die_with_us, end_of, has_children, signal_descendants},
    plan::jail::{Domain, Link, confine, unusable},
    task::{Network, RelPath, SharedMemory},
};

/// What the warden is to start.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(super) argv: Vec<String>,
    /// The whole environment.
    pub(super) env: Vec<(String, String)>,
    pub(super) root: String,
    pub(super) scratch: String,
    pub(super) writes: Vec<RelPath>,
    pub(super) network: Network,
    pub(super) shared_memory: SharedMemory,
}

/// How the program ended, and the end of its output. Nothing that it started is running.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(super) end: End,
    pub(super) output: String,
    /// How many bytes it printed before that.
    pub(super) before: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum End {
    NotStarted(String),
    Exited(i32),
    Killed(i32),
    /// The warden ended it.
    Stopped,
}

/// How long what was started has after SIGTERM, before it gets SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// How much of the output is kept, in bytes. More than is shown, so that a secret at the beginning of what is shown is
/// whole.
const KEPT: usize = 64 << 10;

/// Devices that every program may write to.
const DEVICES: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/full"];

/// Starts the program, and returns when all of it has ended. The lock of the scratch directory is held until then.
pub(crate) fn guard(job: &Job, link: &Link) -> Report {
    let mut tail = Tail::default();
    let end = work(job, link, &mut tail).unwrap_or_else(End::NotStarted);
    tail.shorten();
    Report {
        end,
        output: String::from_utf8_lossy(&tail.bytes).into_owned(),
        before: tail.before,
    }
}

fn work(job: &Job, link: &Link, tail: &mut Tail) -> Result<End, String> {
    adopt_orphans().map_err(|error| format!("it cannot be guarded: {error}"))?;
    let scratch = opened(CWD, &job.scratch, OFlags::RDONLY)?;
    let locked = flock(&scratch, FlockOperation::NonBlockingLockShared);
    locked.map_err(|errno| format!("{} cannot be locked: {errno}", job.scratch))?;
    // A recovery that found no lock found no program either.
    let mut look = [PollFd::new(link.get_ref(), PollFlags::RDHUP)];
    if poll(&mut look, Some(&Timespec::default())).is_ok_and(|found| found > 0) {
        return Err("oneact has ended".to_owned());
    }
    let domain = Domain::Program {
        writes: writable(job)?,
        network: job.network,
    };
    let (output, theirs) = pipe().map_err(|error| format!("its output cannot be read: {error}"))?;
    tail.output = Some(output);
    // The kernel kills the program when this thread ends.
    let program = start(job, &domain, theirs)?;
    let (end, grace) = watched(program, link, tail);
    end_all(grace, tail);
    // What is left is what a pipe can hold. A process that is no descendant may have got the pipe, and write on.
    for _ in 0..64 {
        tail.wait(&[], Some(&Timespec::default()));
    }
    Ok(end)
}

/// What the program may write to. Directories that are missing are made; no link is followed.
fn writable(job: &Job) -> Result<Vec<OwnedFd>, String> {
    let below = |path: &RelPath| {
        let mut at = opened(CWD, &job.root, OFlags::PATH)?;
        for name in path.as_str().split('/') {
            match mkdirat(&at, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(format!("{path}: {name} cannot be made: {errno}")),
            }
            at = opened(&at, name, OFlags::PATH | OFlags::NOFOLLOW).map_err(|why| {
                format!("{path} of `writes`, which may not be or contain a link: {why}")
            })?;
        }
        Ok(at)
    };
    let mut all = job
        .writes
        .iter()
        .map(below)
        .collect::<Result<Vec<_>, _>>()?;
    all.push(opened(CWD, &job.scratch, OFlags::PATH)?);
    if job.shared_memory == SharedMemory::Allowed {
        // Where the C library has semaphores and shared memory (shm_overview(7)).
        all.push(opened(CWD, "/dev/shm", OFlags::PATH)?);
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    all.extend(
        DEVICES
            .iter()
            .filter_map(|path| openat(CWD, *path, flags, Mode::empty()).ok()),
    );
    Ok(all)
}

fn opened(at: impl AsFd, path: &str, flags: OFlags) -> Result<OwnedFd, String> {
    let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(at, path, flags, Mode::empty())
        .map_err(|errno| format!("{path} cannot be opened: {errno}"))
}

/// Starts the program in its jail.
fn start(job: &Job, domain: &Domain, output: PipeWriter) -> Result<Pid, String> {
    let (name, arguments) = job.argv.split_first().ok_or("it is empty")?;
    let both = output.try_clone().map_err(|error| error.to_string())?;
    let mut command = Command::new(name);
    command
        .args(arguments)
        .env_clear()
        .envs(job.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&job.root)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(both);
    die_with_us(&mut command);
    confine(&mut command, domain).map_err(|failure| failure.message)?;
    let child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::Unsupported => unusable(&"the kernel did not take its rules").message,
        _ => format!("{name} could not be started: {error}"),
    })?;
    Ok(Pid::from_child(&child))
}

/// Waits until the program ends, or oneact says so or is gone. Gives the time that is left for what it started.
fn watched(program: Pid, link: &Link, tail: &mut Tail) -> (End, Duration) {
    let Ok(ended) = pidfd_open(program, PidfdFlags::empty()) else {
        return (End::Stopped, GRACE);
    };
    let mut link = link.get_ref();
    loop {
        match *tail.wait(&[ended.as_fd(), link.as_fd()], None) {
            [true, ..] => {
                let status = end_of(program).ok().flatten();
                let end = match status.map(|it| (it.exit_status(), it.terminating_signal())) {
                    Some((Some(code), _)) => End::Exited(code),
                    Some((None, signal)) => End::Killed(signal.unwrap_or_default()),
                    None => End::Stopped,
                };
                return (end, GRACE);
            }
            [_, true, ..] => {
                let is_told = matches!(link.read(&mut [0; 1]), Ok(1));
                return (End::Stopped, if is_told { GRACE } else { Duration::ZERO });
            }
            _ => {}
        }
    }
}

/// Ends all processes below this one: asks them first, and kills those that are left.
fn end_all(grace: Duration, tail: &mut Tail) {
    /// 2 milliseconds.
    const MOMENT: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 2_000_000,
    };
    /// A process that forks and ends all the time is only found by who looks all the time, but who looks all the time
    /// at one that cannot end must pause.
    const WITHOUT_PAUSE: u32 = 5000;
    let (asked, mut looks) = (Instant::now(), 0);
    if has_children() && !grace.is_zero() {
        signal_descendants(Signal::TERM);
    }
    while has_children() {
        if asked.elapsed() >= grace {
            signal_descendants(Signal::KILL);
            looks += 1;
        }
        let pauses = looks == 0 || looks > WITHOUT_PAUSE;
        tail.wait(
            &[],
            Some(&if pauses { MOMENT } else { Timespec::default() }),
        );
    }
}

/// The end of the output.
#[derive(Default)]
struct Tail {
    /// None: nobody is left who could write.
    output: Option<PipeReader>,
    bytes: Vec<u8>,
    /// The number of bytes before these.
    before: u64,
}

impl Tail {
    /// Waits until one of these is ready, there is output, or the time is over. Reads the output, so that the program
    /// never waits for that, and says which are ready.
    fn wait(&mut self, others: &[BorrowedFd<'_>], most: Option<&Timespec>) -> Vec<bool> {
        let all = others.iter().copied();
        let all = all.chain(self.output.as_ref().map(AsFd::as_fd));
        let mut all: Vec<PollFd<'_>> = all
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        // After an interruption, none is ready.
        let _ = poll(&mut all, most);
        let ready: Vec<bool> = all.iter().map(|fd| !fd.revents().is_empty()).collect();
        if let (Some(output), Some(true)) = (&mut self.output, ready.get(others.len())) {
            let mut block = [0; 16 << 10];
            match output.read(&mut block) {
                Ok(more @ 1..) => self.bytes.extend(block.iter().take(more)),
                _ => self.output = None,
            }
            if self.bytes.len() > 2 * KEPT {
                self.shorten();
            }
        }
        ready
    }

    /// Drops what is more than what is kept.
    fn shorten(&mut self) {
        let gone = self.bytes.len().saturating_sub(KEPT);
        self.bytes.drain(..gone);
        self.before += gone as u64;
    }
}
