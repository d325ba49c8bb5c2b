//! The source of time, ids and signals of a run.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use jiff::{Timestamp, Zoned, tz::TimeZone};
use rustix::time::{ClockId, clock_gettime};
use sha2::{Digest, Sha256};

use super::{interrupts::Interrupts, zone::local_zone};

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
            Clock::System => at.to_zoned(self.zone.get_or_init(local_zone).clone()),
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
                digest.first_chunk().copied().unwrap_or_default()
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

/// The clock that the kernel uses for file times, in nanoseconds since 1970. `--clock` does not fix it.
pub fn file_time() -> i64 {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    now.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(now.tv_nsec)
}
