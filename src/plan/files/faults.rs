//! Injected faults: every call that changes a file or waits for the disk can fail or end the process.

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

/// The faults to inject. None, outside tests and `oneact selftest`.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// The call, counted from 1, and what happens there.
    wanted: Option<(u64, What)>,
    pub(crate) waiting: Waiting,
    seen: AtomicU64,
    /// The kind of call that keeps failing once it has failed.
    failing: std::sync::Mutex<Option<Call>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// SIGKILL before the call.
    Kill,
    /// The call never returns.
    Hang,
    /// All calls from there on fail: the same for the disk, without the end of the process.
    Stop,
    Fail(Errno, Span),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// By how busy the machine is.
    #[default]
    Fitting,
    /// For each file of the plan.
    Each,
    /// Never, so that the crash suite can prove that it finds a missing barrier.
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
                Some((what, at)) => faults.wanted = wanted(what, at),
                None if part == "no-barriers" => faults.waiting = Waiting::Never,
                None if part == "each-barrier" => faults.waiting = Waiting::Each,
                None => {}
            }
        }
        faults
    }

    pub(crate) fn before(&self, call: Call) -> Result<(), Errno> {
        let Some((at, what)) = self.wanted else {
            return Ok(());
        };
        let n = self.seen.fetch_add(1, Ordering::Relaxed) + 1;
        match what {
            What::Kill if n == at => {
                // Nothing more is done by this process.
                let _ = kill_process(getpid(), Signal::KILL);
                Err(Errno::INTR)
            }
            What::Hang if n == at => loop {
                thread::park();
            },
            What::Stop if n >= at => Err(Errno::INTR),
            What::Kill | What::Hang | What::Stop => Ok(()),
            What::Fail(errno, span) => {
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
        }
    }

    pub(crate) fn barriers(&self) -> bool {
        self.waiting != Waiting::Never
    }

    /// The number of calls so far; 0 if no fault is injected.
    #[cfg(test)]
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }
}

fn wanted(what: &str, at: &str) -> Option<(u64, What)> {
    let (at, span) = match at.strip_suffix('+') {
        Some(at) => (at, Span::Persistent),
        None => (at, Span::Once),
    };
    let what = match what {
        "kill" => What::Kill,
        "hang" => What::Hang,
        "stop" => What::Stop,
        name => What::Fail(errno(name)?, span),
    };
    Some((at.parse().ok()?, what))
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
            (faults.wanted, faults.waiting),
            (Some((12, What::Kill)), Waiting::Never)
        );
        let faults = Faults::parse("each-barrier");
        assert_eq!((faults.wanted, faults.waiting), (None, Waiting::Each));
        assert_eq!(
            Faults::parse("EIO@3+").wanted,
            Some((3, What::Fail(Errno::IO, Span::Persistent)))
        );
        assert_eq!(Faults::parse("kill@soon,never").wanted, None);
    }
}
