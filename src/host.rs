//! The machine around the run: clock, randomness, environment, signals. Nothing else reads them. And
//! what no child process may do: outlive us.
//!
//! `--clock` and `--seed` replace the first two, so that every byte of output can be reproduced.

mod before_main;
mod children;
mod interrupts;
mod plain;
mod range_lock;
mod spawn;
mod zone;

use std::{
    path::PathBuf,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use camino::Utf8PathBuf;
use jiff::{Timestamp, Zoned, tz::TimeZone};
use rustix::{
    fs::Mode,
    process::{Signal, getpid, umask},
    system::uname,
    time::{ClockId, clock_gettime},
};
use sha2::{Digest, Sha256};

pub use before_main::stdout_is_unusable;
pub use children::{children, had_children, look_for_children};
pub use interrupts::{Interrupt, Interrupts};
pub use plain::{is_out_of_files, is_plain_or_free, open_plain, open_plain_at, read_plain};
pub use range_lock::{Locked, RangeLock};
pub use spawn::{Program, Spawned, die_with_us, spawn};

/// Where the run takes its time, its ids and its environment from.
#[derive(Debug)]
pub struct Host {
    clock: Clock,
    random: Random,
    interrupts: Interrupts,
    /// Of this machine, once it has been read.
    zone: OnceLock<TimeZone>,
}

/// Where the time comes from.
#[derive(Debug, Clone)]
pub enum Clock {
    System,
    /// Stands still: every reading is the same, every duration is zero.
    Fixed(Zoned),
}

#[derive(Debug)]
enum Random {
    System,
    /// A counter under SHA-256: the same seed gives the same ids in the same order.
    Seeded {
        seed: u64,
        drawn: AtomicUsize,
    },
}

/// A moment to measure a duration from.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    start: Instant,
    /// Whether the clock stands still.
    fixed: bool,
}

impl Host {
    /// The host of this process. `clock` fixes the time, `seed` the ids.
    pub fn new(clock: Option<Zoned>, seed: Option<u64>, interrupts: Interrupts) -> Self {
        Self {
            clock: Clock::new(clock),
            random: seed.map_or(Random::System, |seed| Random::Seeded {
                seed,
                drawn: AtomicUsize::new(0),
            }),
            interrupts,
            zone: OnceLock::new(),
        }
    }

    fn zone(&self) -> &TimeZone {
        self.zone.get_or_init(zone::local)
    }

    /// Now, in the local time zone.
    pub fn now(&self) -> Zoned {
        self.local(self.timestamp())
    }

    /// Where the clock stands, if it stands still.
    pub fn standing(&self) -> Option<Timestamp> {
        match &self.clock {
            Clock::System => None,
            Clock::Fixed(at) => Some(at.timestamp()),
        }
    }

    /// Now, without a zone.
    pub fn timestamp(&self) -> Timestamp {
        self.clock.timestamp()
    }

    /// A moment in the local time zone. The first call reads the zone's file.
    pub fn local(&self, at: Timestamp) -> Zoned {
        match &self.clock {
            Clock::System => at.to_zoned(self.zone().clone()),
            Clock::Fixed(fixed) => at.to_zoned(fixed.time_zone().clone()),
        }
    }

    /// Starts a measurement.
    pub fn moment(&self) -> Moment {
        Moment {
            start: Instant::now(),
            fixed: matches!(self.clock, Clock::Fixed(_)),
        }
    }

    /// 16 bytes nobody has seen before; from the seed where one is given.
    pub fn random_bytes(&self) -> [u8; 16] {
        match &self.random {
            Random::System => {
                let mut bytes = [0; 16];
                // Linux's getrandom cannot fail once the pool is up, and it is up before any user
                // process; a short read would still leave bytes that differ per process.
                let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
                bytes
            }
            Random::Seeded { seed, drawn } => {
                let n = drawn.fetch_add(1, Ordering::Relaxed) as u64;
                let digest = Sha256::new()
                    .chain_update(b"oneact seed")
                    .chain_update(seed.to_be_bytes())
                    .chain_update(n.to_be_bytes())
                    .finalize();
                let mut bytes = [0; 16];
                for (to, from) in bytes.iter_mut().zip(digest) {
                    *to = from;
                }
                bytes
            }
        }
    }

    /// The signals caught so far, and a way to wait for the next.
    pub fn interrupts(&self) -> &Interrupts {
        &self.interrupts
    }
}

impl Clock {
    /// The machine's clock, or one that stands at `fixed`.
    pub fn new(fixed: Option<Zoned>) -> Self {
        fixed.map_or(Self::System, Self::Fixed)
    }

    /// Now.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the clock"
    )]
    pub fn timestamp(&self) -> Timestamp {
        match self {
            Self::System => Timestamp::now(),
            Self::Fixed(at) => at.timestamp(),
        }
    }
}

impl Moment {
    /// Time since then, to be shown; zero under a fixed clock.
    pub fn elapsed(self) -> Duration {
        if self.fixed {
            Duration::ZERO
        } else {
            self.passed()
        }
    }

    /// Time since then as it really passed, for deadlines: they hold under a fixed clock too.
    pub fn passed(self) -> Duration {
        self.start.elapsed()
    }
}

/// Whatever the umask keeps from others, what this process and its servers make is theirs to use.
/// For the first lines of a process: no other thread may be making files.
pub fn keep_own_files() {
    let umasked = umask(Mode::RWXU | Mode::RWXG | Mode::RWXO);
    umask(umasked - Mode::RWXU);
}

/// The clock that file systems stamp files with, in nanoseconds since 1970. It does not stand still.
pub fn file_time() -> i64 {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    now.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(now.tv_nsec)
}

/// Dies here as by `kill -9`, where `ONEACT_FAULTS` names this point: for tests of what a crash leaves. As
/// `hang@POINT` it never goes on.
pub fn die_at(point: &str) {
    let Some(wanted) = variable("ONEACT_FAULTS") else {
        return;
    };
    if wanted.strip_prefix("hang@") == Some(point) {
        loop {
            thread::park();
        }
    }
    if wanted == point {
        // Where even this fails, the test that asked for it notices.
        let _ = rustix::process::kill_process(getpid(), Signal::KILL);
    }
}

/// The effective user of this process.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The user who became root by sudo; nobody where this process is not root.
pub fn user_behind_sudo() -> Option<u32> {
    let said = (user_id() == 0).then(|| variable("SUDO_UID"))?;
    said?.parse().ok()
}

/// What this machine is called, as its kernel says.
pub fn name() -> String {
    match uname().nodename().to_string_lossy().trim() {
        "" => "unknown".to_owned(),
        name => name.to_owned(),
    }
}

/// A variable of the environment, if it is set and is Unicode.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A path of the environment; `Err` says what is wrong with it.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]
pub fn path_variable(name: &str) -> Result<Option<Utf8PathBuf>, String> {
    let unusable = |path: PathBuf| format!("${name} is {}, which is not UTF-8", path.display());
    let path = std::env::var_os(name).map(PathBuf::from);
    path.map(Utf8PathBuf::from_path_buf)
        .transpose()
        .map_err(unusable)
}

/// Where this process is; `Err` says why nobody knows.
pub fn working_directory() -> Result<Utf8PathBuf, String> {
    let here = std::env::current_dir()
        .map_err(|error| format!("the working directory cannot be found: {error}"))?;
    Utf8PathBuf::from_path_buf(here)
        .map_err(|here| format!("the working directory {} is not UTF-8", here.display()))
}

/// The path of this program, to start it again as a built-in server.
pub fn own_path() -> String {
    let path = std::env::current_exe()
        .ok()
        .and_then(|path| path.into_os_string().into_string().ok());
    path.unwrap_or_else(|| "oneact".to_owned())
}
