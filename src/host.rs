//! The machine around the run: clock, randomness, environment, signals, files, locks and child processes. Only
//! this room reads the first four.
//!
//! `--clock` and `--seed` replace the clock and the randomness, so that every byte of output can be reproduced.

mod before_main;
mod children;
mod inherited;
mod interrupts;
mod outside;
mod plain;
mod range_lock;
mod spawn;
mod users;

use std::{
    env,
    fs::{self, DirBuilder, File},
    io::{self, IsTerminal as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use camino::{Utf8Path, Utf8PathBuf};
use jiff::{Timestamp, Zoned, tz::TimeZone};
use rustix::{
    fs::Mode,
    process::umask,
    system::uname,
    time::{ClockId, clock_gettime},
};
use sha2::{Digest, Sha256};

pub use before_main::stdout_is_unusable;
pub use children::{
    adopt_orphans, children, had_children, has_children, is_being_written, look_for_children,
    signal_descendants,
};
pub use inherited::inherited;
pub use interrupts::{Interrupt, Interrupts, ignore_file_size_signal, is_interrupted};
pub use outside::{Outside, spawn_outside, stay_outside};
pub use plain::{
    is_full, is_out_of_files, is_plain_or_free, new_at, open_named, open_plain, open_plain_at,
    persist_new, place, place_new, place_unsynced, read_named, read_plain, resolved, sync_placed,
};
pub use range_lock::{Locked, RangeLock};
pub use spawn::{
    Asked, Program, Said, Spawned, at_our_terminal, die_with_us, end_of, plain_environment, spawn,
    spawn_apart, spawn_self, tell,
};
pub use users::{is_in_group, is_named, is_own_group, name_of};

/// The source of time, ids and signals.
#[derive(Debug)]
pub struct Host {
    clock: Clock,
    random: Random,
    interrupts: Interrupts,
    /// The zone of this machine, after it was read.
    zone: OnceLock<TimeZone>,
}

#[derive(Debug, Clone)]
pub enum Clock {
    System,
    /// Every reading is the same, and every shown duration is zero.
    Fixed(Zoned),
}

#[derive(Debug)]
enum Random {
    System,
    /// SHA-256 of a counter: the same seed gives the same ids in the same order.
    Seeded {
        seed: u64,
        drawn: AtomicUsize,
    },
}

/// The start of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    start: Instant,
    fixed: bool,
}

impl Host {
    /// The host of this process. `clock` fixes the time, and `seed` the ids.
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
        self.zone.get_or_init(local_zone)
    }

    pub fn now(&self) -> Zoned {
        self.local(self.timestamp())
    }

    /// The time of a fixed clock.
    pub fn standing(&self) -> Option<Timestamp> {
        match &self.clock {
            Clock::System => None,
            Clock::Fixed(at) => Some(at.timestamp()),
        }
    }

    pub fn timestamp(&self) -> Timestamp {
        self.clock.timestamp()
    }

    /// A time in the local zone. The first call reads the zone's file.
    pub fn local(&self, at: Timestamp) -> Zoned {
        match &self.clock {
            Clock::System => at.to_zoned(self.zone().clone()),
            Clock::Fixed(fixed) => at.to_zoned(fixed.time_zone().clone()),
        }
    }

    pub fn moment(&self) -> Moment {
        Moment {
            start: Instant::now(),
            fixed: matches!(self.clock, Clock::Fixed(_)),
        }
    }

    /// 16 random bytes, or the next 16 from the seed.
    pub fn random_bytes(&self) -> [u8; 16] {
        match &self.random {
            Random::System => {
                let mut bytes = [0; 16];
                // Linux's getrandom cannot fail after the pool is ready, which is before any user process.
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
    pub fn new(fixed: Option<Zoned>) -> Self {
        fixed.map_or(Self::System, Self::Fixed)
    }

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
    /// The time since the start, for output. It is zero under a fixed clock.
    pub fn elapsed(self) -> Duration {
        if self.fixed {
            Duration::ZERO
        } else {
            self.passed()
        }
    }

    /// The real time since the start, for deadlines. A fixed clock does not stop it.
    pub fn passed(self) -> Duration {
        self.start.elapsed()
    }
}

/// Makes a state directory, which only its user may enter, unless it is there. Git passes over what is in it.
pub fn make_state_dir(dir: &Utf8Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let mut options = File::options();
    let options = options.write(true).create_new(true).mode(0o600);
    // Nothing that oneact does depends on this file.
    let file = options.open(dir.join(".gitignore"));
    let _ = file.and_then(|mut file| file.write_all(b"*\n"));
    Ok(())
}

/// Removes the owner's bits from the umask, so that this process and its servers can use the files that they make.
/// Call it at the start of the process, before another thread makes files.
pub fn keep_own_files() {
    let umasked = umask(Mode::RWXU | Mode::RWXG | Mode::RWXO);
    umask(umasked - Mode::RWXU);
}

/// The clock that the kernel uses for file times, in nanoseconds since 1970. `--clock` does not fix it.
pub fn file_time() -> i64 {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    now.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(now.tv_nsec)
}

/// Whether stdin is a terminal: then a person gave the input, or named its file.
pub fn input_is_a_terminal() -> bool {
    io::stdin().is_terminal()
}

/// The effective user of this process.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The user who became root by sudo; `None` if this process is not root.
pub fn user_behind_sudo() -> Option<u32> {
    let said = (user_id() == 0).then(|| variable("SUDO_UID"))?;
    said?.parse().ok()
}

/// The name of this machine, from the kernel.
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
    env::var(name).ok()
}

/// A path in the environment. The error says that it is not UTF-8.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]
pub fn path_variable(name: &str) -> Result<Option<Utf8PathBuf>, String> {
    let unusable = |path: PathBuf| format!("${name} is {}, which is not UTF-8", path.display());
    let path = env::var_os(name).map(PathBuf::from);
    path.map(Utf8PathBuf::from_path_buf)
        .transpose()
        .map_err(unusable)
}

/// The working directory. The error says why there is none.
pub fn working_directory() -> Result<Utf8PathBuf, String> {
    let here = env::current_dir()
        .map_err(|error| format!("the working directory cannot be found: {error}"))?;
    Utf8PathBuf::from_path_buf(here)
        .map_err(|here| format!("the working directory {} is not UTF-8", here.display()))
}

/// The directory for temporary files in which a path lies: that of `$TMPDIR`, or one that systems empty by
/// themselves.
pub fn temporary_directory_of(path: &Utf8Path) -> Option<PathBuf> {
    let usual = ["/tmp", "/var/tmp", "/dev/shm", "/run"].map(PathBuf::from);
    let all = [env::temp_dir()].into_iter().chain(usual);
    all.filter_map(|dir| dir.canonicalize().ok())
        .find(|dir| path.starts_with(dir))
}

/// A path with which this program can be started again while this process lives, also if its file was replaced or
/// removed meanwhile.
pub fn own_program() -> String {
    let path = own_path();
    if path.ends_with(" (deleted)") && !Utf8PathBuf::from(&path).exists() {
        return format!("/proc/{}/exe", std::process::id());
    }
    path
}

pub fn own_path() -> String {
    let path = env::current_exe()
        .ok()
        .and_then(|path| path.into_os_string().into_string().ok());
    path.unwrap_or_else(|| "oneact".to_owned())
}

const LOCALTIME: &str = "/etc/localtime";
const ZONEINFO: &str = "/usr/share/zoneinfo";

/// The largest file of a zone, in bytes. Those of the database have a few thousand.
const LARGEST: u64 = 1 << 20;

/// The local time zone, read from its file. Otherwise jiff would list the whole time zone database in every run, which
/// has hundreds of files.
///
/// The zone of `$TZ`, otherwise that of `/etc/localtime`. jiff reads the latter if it is no link to a named zone.
#[expect(
    clippy::disallowed_methods,
    reason = "the host is the one place that reads the environment"
)]
fn local_zone() -> TimeZone {
    if let Some(named) = env::var_os("TZ") {
        let known = named.to_str().and_then(named_by);
        return known.unwrap_or_else(TimeZone::unknown);
    }
    let linked = fs::read_link(LOCALTIME).ok();
    let name = linked.as_deref().and_then(Path::to_str);
    let name = name.and_then(|target| target.split_once("/zoneinfo/"));
    name.and_then(|(_, name)| zone(name))
        .unwrap_or_else(TimeZone::system)
}

/// The zone of a value of `$TZ` (POSIX, tzset(3)): a rule, a name in the database, or the path of a file. A `:`
/// may precede a name or a path. An empty value means UTC.
fn named_by(text: &str) -> Option<TimeZone> {
    let name = text.strip_prefix(':').unwrap_or(text);
    if name.is_empty() {
        return Some(TimeZone::UTC);
    }
    if name.starts_with('/') {
        let (_, known) = name.split_once("/zoneinfo/").unwrap_or(("", name));
        return TimeZone::tzif(known, &read(Path::new(name))?).ok();
    }
    zone(name).or_else(|| TimeZone::posix(text).ok())
}

/// The zone of an IANA name, if its file is in the usual place.
fn zone(name: &str) -> Option<TimeZone> {
    let plain = |part: &str| part.starts_with(|first: char| first.is_ascii_alphabetic());
    if !name.split('/').all(plain) {
        return None;
    }
    TimeZone::tzif(name, &read(&Path::new(ZONEINFO).join(name))?).ok()
}

/// Reads a regular file, also behind a symbolic link, as in the database. Pipes and devices are not read.
fn read(path: &Path) -> Option<Vec<u8>> {
    read_plain(fs::canonicalize(path).ok()?, LARGEST).ok()
}

#[cfg(test)]
mod tests;
