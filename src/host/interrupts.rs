//! The signals that ask a run to stop, and those that must not end it.

use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::net::UnixStream,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use nix::sys::signal::{SigSet, Signal};
use rustix::process::getpid;
use signal_hook::low_level::{emulate_default_handler, exit, register};

/// The kernel sends this signal when a file grows past `RLIMIT_FSIZE`.
const SIGXFSZ: i32 = Signal::SIGXFSZ as i32;

/// The kernel sends this signal when a child ends.
const SIGCHLD: i32 = Signal::SIGCHLD as i32;

/// A signal that asks the run to stop. Such a signal ends a process by default, can be caught, and does not report
/// a defect, as SIGSEGV and SIGABRT do. SIGSTKFLT, SIGPWR and the real-time signals are left out: they are sent
/// only to programs that ask for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupt(Signal);

impl Interrupt {
    /// The signal that is assumed if none was recorded.
    pub const TERMINATE: Self = Self(Signal::SIGTERM);

    /// The number on Linux. The exit code of a cancelled run is 128 plus this number.
    pub fn number(self) -> u8 {
        u8::try_from(self.0 as i32).unwrap_or_default()
    }

    /// The POSIX name.
    pub fn name(self) -> &'static str {
        self.0.as_str()
    }
}

const ALL: [Signal; 11] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGTERM,
    Signal::SIGXCPU,
    Signal::SIGVTALRM,
    Signal::SIGPROF,
    Signal::SIGIO,
];

/// The signals that stay ignored if they were ignored at the start, as under `nohup` and for background jobs of shells.
const MAY_BE_IGNORED: [Signal; 3] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT];

/// The signals that ask this run to stop. They do not end the process: each phase checks them and undoes what it
/// began, and the state of the answer is `cancelled`.
///
/// Signals belong to the process, so all values of this type share one state.
#[derive(Debug, Clone)]
pub struct Interrupts(());

/// The number of the last signal caught; 0 while there is none.
static CAUGHT: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// If set, a signal ends the process as it does by default.
static DONE: AtomicBool = AtomicBool::new(false);
/// The first signal makes its `wake` readable. Nothing reads from it.
static ALARM: OnceLock<io::Result<Alarm>> = OnceLock::new();

#[derive(Debug)]
struct Alarm {
    wake: UnixStream,
    ring: UnixStream,
}

impl Interrupts {
    /// Catches the signals from now on. Call it first in the process: an earlier signal ends the process without
    /// an answer.
    pub fn catch() -> Self {
        // This succeeds once, before a handler uses the alarm.
        if ALARM.set(Alarm::new()).is_ok() {
            let all: SigSet = ALL.into_iter().collect();
            // `register` first installs its handler and then stores the action: a signal between the two would be
            // lost. A blocked signal waits until both are done. This fails only for an unknown request.
            let _ = all.thread_block();
            let ignored = ignored_signals();
            for signal in ALL {
                let number = signal as i32;
                if !MAY_BE_IGNORED.contains(&signal) || ignored & (1 << (number - 1)) == 0 {
                    handle_with(number, move || note(number));
                }
            }
            // The caller may have blocked the signals as well. Blocked signals could not end a run.
            if let Err(error) = all.thread_unblock() {
                tracing::warn!("signals stay blocked, so they cannot end the run: {error}");
            }
            ignore_file_size_signal();
        }
        Self(())
    }

    pub fn caught(&self) -> Option<Interrupt> {
        let number = i32::try_from(CAUGHT.load(Ordering::Relaxed)).ok()?;
        Signal::try_from(number).ok().map(Interrupt)
    }

    pub fn count(&self) -> usize {
        COUNT.load(Ordering::Relaxed)
    }

    /// Lets signals end the process from now on: nothing is left to undo, and the reader of the answer may be
    /// slow.
    pub fn stand_down(&self) {
        DONE.store(true, Ordering::Relaxed);
    }

    /// Catches signals again, until the next [`Interrupts::stand_down`].
    pub fn stand_by(&self) {
        DONE.store(false, Ordering::Relaxed);
    }

    /// A socket that the first signal makes readable for good, for `poll` and async waits. Do not read from it:
    /// use [`Interrupts::caught`]. An error if there was no file descriptor left for the socket.
    pub fn wake(&self) -> io::Result<&UnixStream> {
        match ALARM.get() {
            Some(Ok(alarm)) => Ok(&alarm.wake),
            Some(Err(error)) => Err(io::Error::new(error.kind(), error.to_string())),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

/// Lets a write beyond `RLIMIT_FSIZE` fail instead of ending the process.
pub fn ignore_file_size_signal() {
    handle_with(SIGXFSZ, || ());
}

/// Lets this process wait for its children also if its caller ignored SIGCHLD.
pub(super) fn heed_children() {
    handle_with(SIGCHLD, || ());
}

/// Whether a signal has asked this process to stop.
pub fn is_interrupted() -> bool {
    CAUGHT.load(Ordering::Relaxed) != 0
}

impl Alarm {
    fn new() -> io::Result<Self> {
        let (wake, ring) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        Ok(Self { wake, ring })
    }
}

/// Records the signal and, the first time, makes the socket readable; or lets the signal end the process.
///
/// It may run between any two instructions of this process, so it only loads, stores and makes system calls.
fn note(number: i32) {
    if DONE.load(Ordering::Relaxed) {
        // The kernel does not end the first process of a container by a signal, and `emulate_default_handler` relies on that.
        if getpid().is_init() {
            exit(128 + number);
        }
        // This fails only for numbers that are no signals.
        let _ = emulate_default_handler(number);
        return;
    }
    COUNT.fetch_add(1, Ordering::Relaxed);
    let noted = CAUGHT.swap(
        usize::try_from(number).unwrap_or_default(),
        Ordering::Relaxed,
    );
    if let Some(Ok(alarm)) = ALARM.get()
        && noted == 0
    {
        // One byte in an empty socket does not block.
        let _ = rustix::io::write(&alarm.ring, b"!");
    }
}

/// Runs `action`, which must be async-signal-safe, at each signal of that number from now on.
#[expect(
    unsafe_code,
    reason = "what runs when a signal comes can use nothing that locks or allocates"
)]
fn handle_with(number: i32, action: impl Fn() + Sync + Send + 'static) {
    // SAFETY: both actions of this file use atomics, `write` through rustix (which does not touch
    // `errno`), `exit` and `emulate_default_handler`: all of them are async-signal-safe.
    // This fails only for signals that cannot be caught.
    let _ = unsafe { register(number, action) };
}

/// The signals that were ignored at the start. Bit n − 1 stands for signal n (proc(5)).
fn ignored_signals() -> u64 {
    // One read gets all of it.
    let mut status = String::with_capacity(4096);
    let read =
        File::open("/proc/self/status").and_then(|mut file| file.read_to_string(&mut status));
    if read.is_err() {
        return 0;
    }
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default()
}
