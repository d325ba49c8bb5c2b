//! The process between oneact and a pipeline: it starts the program in its jail, and ends all that the program has
//! started, also when oneact is killed.

use std::{
    io::{ErrorKind, PipeReader, PipeWriter, Read as _, pipe},
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt as _,
    },
    process::{Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
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
    plan::{
        child::Link,
        jail::{Domain, Programs, Reads, confine, unusable},
    },
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
#[serde(rename_all = "snake_case")]
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
    let tail = Mutex::new(Tail::default());
    let end = work(job, link, &tail).unwrap_or_else(End::NotStarted);
    let tail = tail.into_inner().unwrap_or_else(PoisonError::into_inner);
    let kept = tail.bytes.len().saturating_sub(KEPT);
    Report {
        end,
        output: String::from_utf8_lossy(tail.bytes.get(kept..).unwrap_or_default()).into_owned(),
        before: tail.before + kept as u64,
    }
}

fn work(job: &Job, link: &Link, tail: &Mutex<Tail>) -> Result<End, String> {
    adopt_orphans().map_err(|error| format!("it cannot be guarded: {error}"))?;
    let scratch = opened(CWD, &job.scratch, OFlags::RDONLY)?;
    let locked = flock(&scratch, FlockOperation::NonBlockingLockShared);
    locked.map_err(|errno| format!("{} cannot be locked: {errno}", job.scratch))?;
    if is_gone(link) {
        return Err("oneact has ended".to_owned());
    }
    let domain = Domain {
        reads: Reads::Everything,
        writes: writable(job)?,
        programs: Programs::Allowed,
        network: job.network,
    };
    let (output, theirs) = pipe().map_err(|error| format!("its output cannot be read: {error}"))?;
    let all_ended = AtomicBool::new(false);
    // The kernel kills the program when this thread ends, which it does when all is over.
    let program = start(job, &domain, theirs)?;
    thread::scope(|scope| {
        scope.spawn(|| read(output, tail, &all_ended));
        let end = watched(program, link);
        end_all(match end {
            Watched::Abandoned => Duration::ZERO,
            Watched::Ended(_) | Watched::Told => GRACE,
        });
        all_ended.store(true, Ordering::Release);
        Ok(match end {
            Watched::Ended(end) => end,
            Watched::Told | Watched::Abandoned => End::Stopped,
        })
    })
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
    let device = |path: &&str| {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        openat(CWD, *path, flags, Mode::empty()).ok()
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
    all.extend(DEVICES.iter().filter_map(device));
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

/// Why the program is ended.
enum Watched {
    /// It ended by itself.
    Ended(End),
    /// oneact wants it to end.
    Told,
    /// oneact is gone.
    Abandoned,
}

/// Waits until the program ends, or oneact says so or is gone.
fn watched(program: Pid, link: &Link) -> Watched {
    let Ok(descriptor) = pidfd_open(program, PidfdFlags::empty()) else {
        return Watched::Told;
    };
    let mut both = [
        PollFd::new(&descriptor, PollFlags::IN),
        PollFd::new(link.get_ref(), PollFlags::IN),
    ];
    while let Err(Errno::INTR) = poll(&mut both, None) {}
    let [ended, said] = both.map(|each| !each.revents().is_empty());
    if ended && let Ok(Some(status)) = end_of(program) {
        return Watched::Ended(match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => End::Exited(code),
            (None, signal) => End::Killed(signal.unwrap_or_default()),
        });
    }
    let mut word = [0; 1];
    match link.get_ref().read(&mut word) {
        Ok(1) if said => Watched::Told,
        _ => Watched::Abandoned,
    }
}

/// Whether oneact has ended. A recovery that found no lock found no program either.
fn is_gone(link: &Link) -> bool {
    let mut look = [PollFd::new(link.get_ref(), PollFlags::RDHUP)];
    let found = poll(&mut look, Some(&Timespec::default()));
    found.is_ok_and(|found| found > 0)
}

/// Ends all processes below this one: asks them first, and kills those that are left.
fn end_all(grace: Duration) {
    const MOMENT: Duration = Duration::from_millis(2);
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
        if looks == 0 || looks > WITHOUT_PAUSE {
            thread::sleep(MOMENT);
        }
    }
}

/// The end of the output.
#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
    /// The number of bytes before these.
    before: u64,
}

/// Reads as fast as the program writes, until nobody is left who could write.
fn read(mut output: PipeReader, tail: &Mutex<Tail>, all_ended: &AtomicBool) {
    // What a pipe can hold at most, in blocks. A process that is no descendant may have got the pipe, and write on.
    let (mut block, mut rest) = ([0; 16 << 10], 64);
    let pause = Timespec {
        tv_sec: 0,
        tv_nsec: 20_000_000,
    };
    loop {
        let last = all_ended.load(Ordering::Acquire);
        let ready = poll(&mut [PollFd::new(&output, PollFlags::IN)], Some(&pause));
        match ready {
            Ok(0) if last => return,
            Ok(0) | Err(Errno::INTR) => continue,
            Ok(_) if rest == 0 => return,
            Ok(_) => rest -= i32::from(last),
            Err(_) => return,
        }
        let Ok(more @ 1..) = output.read(&mut block) else {
            return;
        };
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.bytes.extend(block.iter().take(more));
        if tail.bytes.len() > 2 * KEPT {
            let gone = tail.bytes.len() - KEPT;
            tail.bytes.drain(..gone);
            tail.before += gone as u64;
        }
    }
}
