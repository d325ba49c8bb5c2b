//! Signals that ask the run to stop, and the few that must not end it by themselves.

use std::{
    io,
    mem::MaybeUninit,
    os::{fd::AsRawFd, unix::net::UnixStream},
    ptr,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    },
};

/// Sent when a file grows past `RLIMIT_FSIZE`.
const SIGXFSZ: i32 = 25;

/// A signal that asks the run to stop: each that ends a process by default, can be caught, and is
/// no sign of a defect (as SIGSEGV and SIGABRT are). Left out are SIGSTKFLT, SIGPWR and the real-time
/// signals, which nobody sends to a program that has not asked for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupt {
    number: u8,
    name: &'static str,
}

impl Interrupt {
    /// What stands for a signal that nobody noted.
    pub const TERMINATE: Self = Self::new(15, "SIGTERM");

    const ALL: [Self; 11] = [
        Self::new(1, "SIGHUP"),
        Self::new(2, "SIGINT"),
        Self::new(3, "SIGQUIT"),
        Self::new(10, "SIGUSR1"),
        Self::new(12, "SIGUSR2"),
        Self::new(14, "SIGALRM"),
        Self::TERMINATE,
        Self::new(24, "SIGXCPU"),
        Self::new(26, "SIGVTALRM"),
        Self::new(27, "SIGPROF"),
        Self::new(29, "SIGIO"),
    ];

    const fn new(number: u8, name: &'static str) -> Self {
        Self { number, name }
    }

    /// The signal's number on Linux; the exit code of a cancelled run is 128 more.
    pub const fn number(self) -> u8 {
        self.number
    }

    /// The POSIX name.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Whether whoever started this process may have it ignore the signal: `nohup` does, and so do
    /// shells for what they start in the background.
    const fn may_be_ignored(self) -> bool {
        self.number <= 3
    }
}

/// The signals that ask this run to stop. They never end the process by themselves: each stage
/// looks here, undoes what it began, and the envelope says `cancelled`.
///
/// Signals are the process's, and so is what is noted of them: every value of this type is the same.
#[derive(Debug)]
pub struct Interrupts(());

/// The number of the last signal caught; 0 while there is none.
static CAUGHT: AtomicUsize = AtomicUsize::new(0);
/// Once set, a signal ends the process as it does by default.
static DONE: AtomicBool = AtomicBool::new(false);
/// The signals that [`handle`] handles, a bit for each number.
static HANDLED: AtomicU32 = AtomicU32::new(0);
/// Rung by the first signal, and never silenced: nobody reads from it.
static ALARM: OnceLock<io::Result<Alarm>> = OnceLock::new();

/// The signals that are handled here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handled(u32);

impl Handled {
    pub(super) fn now() -> Self {
        Self(HANDLED.load(Ordering::Relaxed))
    }

    pub(super) fn numbers(self) -> impl Iterator<Item = i32> {
        (1..32).filter(move |number| self.0 & (1 << number) != 0)
    }
}

/// Two ends of a wire.
#[derive(Debug)]
struct Alarm {
    wake: UnixStream,
    ring: UnixStream,
}

impl Interrupts {
    /// Catches them from here on: the first thing a process does, since a signal that comes before
    /// ends it without an answer.
    pub fn catch() -> Self {
        // Before there is a handler to ring it; and once.
        if ALARM.set(Alarm::new()).is_ok() {
            let wanted = Interrupt::ALL
                .into_iter()
                .map(|each| (i32::from(each.number), each.may_be_ignored()))
                .filter(|(number, may_be_ignored)| !(*may_be_ignored && is_ignored(*number)));
            for (number, _) in wanted {
                install(number);
            }
            // A file that grows past the limit of this process is an error of the write, not its end.
            install(SIGXFSZ);
        }
        Self(())
    }

    /// The last signal caught, if any.
    pub fn caught(&self) -> Option<Interrupt> {
        let number = CAUGHT.load(Ordering::Relaxed);
        Interrupt::ALL
            .into_iter()
            .find(|each| usize::from(each.number) == number)
    }

    /// From here on nothing is left to undo: a signal may end the process, even while it waits for
    /// somebody to read its answer.
    pub fn stand_down(&self) {
        DONE.store(true, Ordering::Relaxed);
    }

    /// A socket that becomes readable with the first signal and stays so: for `poll` and async waits.
    /// Do not read from it; look at [`Interrupts::caught`] instead. An error if there was no descriptor
    /// left for it.
    pub fn wake(&self) -> io::Result<&UnixStream> {
        match ALARM.get() {
            Some(Ok(alarm)) => Ok(&alarm.wake),
            Some(Err(error)) => Err(io::Error::new(error.kind(), error.to_string())),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Alarm {
    fn new() -> io::Result<Self> {
        let (wake, ring) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        Ok(Self { wake, ring })
    }
}

/// Notes the signal, and rings the alarm the first time; or lets it end the process.
///
/// It may run between any two instructions of this process: it only loads, stores and makes system
/// calls, and leaves `errno` as it was.
#[expect(
    unsafe_code,
    reason = "what runs when a signal comes can use nothing that locks or allocates"
)]
extern "C" fn handle(number: i32) {
    if number == SIGXFSZ {
        return;
    }
    if DONE.load(Ordering::Relaxed) {
        // SAFETY: both are async-signal-safe (signal-safety(7)). It is blocked while it is handled
        // here, and comes again, to end the process, as soon as that is over.
        unsafe {
            libc::signal(number, libc::SIG_DFL);
            libc::raise(number);
        }
        return;
    }
    let noted = CAUGHT.swap(
        usize::try_from(number).unwrap_or_default(),
        Ordering::Relaxed,
    );
    if let Some(Ok(alarm)) = ALARM.get()
        && noted == 0
    {
        // SAFETY: `write` is async-signal-safe and reads one byte that is there; `errno` is this
        // thread's own. One byte in an empty socket does not block.
        unsafe {
            let errno = libc::__errno_location();
            let before = *errno;
            libc::write(alarm.ring.as_raw_fd(), c"!".as_ptr().cast(), 1);
            *errno = before;
        }
    }
}

/// Has the signal handled here from now on.
#[expect(unsafe_code, reason = "the standard library knows no signal handlers")]
fn install(number: i32) {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    HANDLED.fetch_or(1 << number, Ordering::Relaxed);
    // SAFETY: all zeros are an action, with an empty mask; the handler is one for its flags. It can
    // fail only for a number that is no signal.
    unsafe {
        let action = action.assume_init_mut();
        action.sa_sigaction = handle as extern "C" fn(i32) as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(number, action, ptr::null_mut());
    }
}

/// Whether this process was started to ignore the signal.
#[expect(unsafe_code, reason = "the standard library knows no signal handlers")]
fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all zeros are an action, the default one; where there is one, it is written over.
    let action = unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}
