//! Faults on demand: every call that changes a file or waits for the disk can be the last one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use rustix::{
    io::Errno,
    process::{Signal, getpid, kill_process},
};

use crate::host;

/// The calls that matter for what is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Create,
    Write,
    Attributes,
    Link,
    Rename,
    MakeDir,
    Remove,
    Sync,
}

/// What is to go wrong. Nothing, outside tests and `oneact selftest`.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    plan: Wanted,
    waiting: Waiting,
    seen: AtomicU64,
    /// The kind of call that keeps failing once it has failed.
    failing: std::sync::Mutex<Option<Call>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Wanted {
    #[default]
    Nothing,
    /// SIGKILL before call `at`, counted from 1.
    Kill {
        at: u64,
    },
    /// Call `at` never comes back, whatever is asked of the process.
    Hang {
        at: u64,
    },
    /// From call `at` on nothing is done any more: the same for the disk, without losing the process.
    Stop {
        at: u64,
    },
    Fail {
        at: u64,
        errno: Errno,
        span: Span,
    },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// By how busy the machine is.
    #[default]
    Fitting,
    /// For each file of ours, however quiet the machine is.
    Each,
    /// Not at all: what the crash suite must be able to find out.
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Span {
    Once,
    /// All calls of that kind from there on.
    Persistent,
}

impl Faults {
    pub(crate) fn asked() -> Arc<Self> {
        let text = host::variable("ONEACT_FAULTS").unwrap_or_default();
        Arc::new(Self::parse(&text))
    }

    /// Reads `kill@12`, `hang@12`, `stop@12`, `ENOSPC@12`, `EIO@12+` (from there on), `no-barriers` and
    /// `each-barrier`, several of them with commas between; anything else is no fault.
    pub(crate) fn parse(text: &str) -> Self {
        let mut faults = Self::default();
        for part in text.split(',') {
            match part.split_once('@') {
                Some((what, at)) => faults.plan = Wanted::parse(what, at),
                None if part == "no-barriers" => faults.waiting = Waiting::Never,
                None if part == "each-barrier" => faults.waiting = Waiting::Each,
                None => {}
            }
        }
        faults
    }

    pub(crate) fn before(&self, call: Call) -> Result<(), Errno> {
        if self.plan == Wanted::Nothing {
            return Ok(());
        }
        let n = self.seen.fetch_add(1, Ordering::Relaxed) + 1;
        match self.plan {
            Wanted::Kill { at } if n == at => {
                // Nothing more is done by this process.
                let _ = kill_process(getpid(), Signal::KILL);
                Err(Errno::INTR)
            }
            Wanted::Hang { at } if n == at => loop {
                thread::park();
            },
            Wanted::Stop { at } if n >= at => Err(Errno::INTR),
            Wanted::Fail { at, errno, span } => {
                let mut failing = self
                    .failing
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                if n == at {
                    *failing = (span == Span::Persistent).then_some(call);
                    return Err(errno);
                }
                failing
                    .filter(|kind| *kind == call)
                    .map_or(Ok(()), |_| Err(errno))
            }
            Wanted::Kill { .. } | Wanted::Hang { .. } | Wanted::Stop { .. } | Wanted::Nothing => {
                Ok(())
            }
        }
    }

    pub(crate) fn waiting(&self) -> Waiting {
        self.waiting
    }

    pub(crate) fn barriers(&self) -> bool {
        self.waiting != Waiting::Never
    }

    /// Calls so far; 0 where nothing is to go wrong.
    #[cfg(test)]
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }
}

impl Wanted {
    fn parse(what: &str, at: &str) -> Self {
        let span = if at.ends_with('+') {
            Span::Persistent
        } else {
            Span::Once
        };
        match (what, at.trim_end_matches('+').parse()) {
            ("kill", Ok(at)) => Self::Kill { at },
            ("hang", Ok(at)) => Self::Hang { at },
            ("stop", Ok(at)) => Self::Stop { at },
            (name, Ok(at)) => {
                errno(name).map_or(Self::Nothing, |errno| Self::Fail { at, errno, span })
            }
            (_, Err(_)) => Self::Nothing,
        }
    }
}

fn errno(name: &str) -> Option<Errno> {
    Some(match name {
        "EACCES" => Errno::ACCESS,
        "EDQUOT" => Errno::DQUOT,
        "EIO" => Errno::IO,
        "ENOSPC" => Errno::NOSPC,
        "EPERM" => Errno::PERM,
        "EROFS" => Errno::ROFS,
        "EXDEV" => Errno::XDEV,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_put_together_with_commas() {
        let faults = Faults::parse("no-barriers,kill@12");
        assert_eq!(
            (faults.plan, faults.waiting),
            (Wanted::Kill { at: 12 }, Waiting::Never)
        );
        let faults = Faults::parse("each-barrier");
        assert_eq!(
            (faults.plan, faults.waiting),
            (Wanted::Nothing, Waiting::Each)
        );
        assert_eq!(Faults::parse("EIO@3+").plan, {
            let (at, errno, span) = (3, Errno::IO, Span::Persistent);
            Wanted::Fail { at, errno, span }
        });
        assert_eq!(Faults::parse("kill@soon,never").plan, Wanted::Nothing);
    }
}
