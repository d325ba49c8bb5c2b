//! Signals that ask the run to stop, and the few that must not end it by themselves.

use std::{
    io::{self, Write},
    mem::MaybeUninit,
    os::unix::net::UnixStream,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use signal_hook::{
    flag,
    iterator::{backend::SignalDelivery, exfiltrator::SignalOnly},
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
#[derive(Debug)]
pub struct Interrupts {
    /// The number of the last signal caught; 0 while there is none.
    caught: Arc<AtomicUsize>,
    /// Its socket becomes readable with the first signal and stays so: nobody reads from it.
    alarm: io::Result<SignalDelivery<UnixStream, SignalOnly>>,
    /// Once set, a signal ends the process as it does by default.
    done: Arc<AtomicBool>,
}

impl Interrupts {
    /// Catches them from here on: the first thing a process does, since a signal that comes before
    /// ends it without an answer.
    pub fn catch() -> Self {
        let caught = Arc::new(AtomicUsize::new(0));
        let done = Arc::new(AtomicBool::new(false));
        let alarm = register(&caught, &done);
        Self {
            caught,
            alarm,
            done,
        }
    }

    /// The last signal caught, if any.
    pub fn caught(&self) -> Option<Interrupt> {
        let number = self.caught.load(Ordering::Relaxed);
        Interrupt::ALL
            .into_iter()
            .find(|each| usize::from(each.number) == number)
    }

    /// From here on nothing is left to undo: a signal may end the process, even while it waits for
    /// somebody to read its answer.
    pub fn stand_down(&self) {
        self.done.store(true, Ordering::Relaxed);
    }

    /// A socket that becomes readable with the first signal: for `poll` and async waits. Do not
    /// read from it; look at [`Interrupts::caught`] instead. An error if there was no descriptor
    /// left for it.
    pub fn wake(&self) -> io::Result<&UnixStream> {
        match &self.alarm {
            Ok(alarm) => Ok(alarm.get_read()),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    }
}

fn register(
    caught: &Arc<AtomicUsize>,
    done: &Arc<AtomicBool>,
) -> io::Result<SignalDelivery<UnixStream, SignalOnly>> {
    // A file that grows past the limit of this process is an error of the write, not its end.
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    let wanted = Interrupt::ALL
        .into_iter()
        .filter(|each| !(each.may_be_ignored() && is_ignored(i32::from(each.number))));
    let mut numbers = Vec::with_capacity(Interrupt::ALL.len());
    for interrupt in wanted {
        let number = i32::from(interrupt.number);
        flag::register_conditional_default(number, Arc::clone(done))?;
        flag::register_usize(number, Arc::clone(caught), usize::from(interrupt.number))?;
        numbers.push(number);
    }
    // Last: whoever is woken finds the signal noted.
    let (wake, ring) = UnixStream::pair()?;
    wake.set_nonblocking(true)?;
    let mut by_hand = ring.try_clone()?;
    let alarm = SignalDelivery::with_pipe(wake, ring, SignalOnly, numbers)?;
    if caught.load(Ordering::Relaxed) != 0 {
        // It came before there was an alarm to ring.
        by_hand.write_all(b"!")?;
    }
    Ok(alarm)
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
