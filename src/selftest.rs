//! Tests whether file plans are all or nothing on this machine and file system: the portable part of the crash
//! suite, for users. It runs this program on a small tree, kills it or makes its calls fail, lets the next start
//! recover, and compares the trees.
//!
//! It writes only into its own directory, and removes that directory.

mod scratch;

use std::{
    fs::{self, File},
    io,
    ops::ControlFlow,
};

use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{CWD, RenameFlags, renameat_with, syncfs};
use serde::Serialize;
use serde_json::Value;

use crate::host::{Host, Interrupt};

use scratch::{End, Scratch, Tree, failed};

#[derive(Debug, Serialize)]
pub(crate) struct Verdict {
    pub(crate) path: String,
    pub(crate) sweeps: Vec<Sweep>,
    pub(crate) guarantees: Guarantees,
    /// One sentence for each wrong tree and each false answer.
    pub(crate) bad: Vec<String>,
}

/// One kind of fault, injected at many points.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Sweep {
    pub(crate) name: &'static str,
    pub(crate) points: u64,
    /// The number of trees that were as before the plan, after the next start.
    pub(crate) old: u64,
    /// The number of trees that were as the plan asks.
    pub(crate) new: u64,
}

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfinished {
    #[error("cannot {operation} `{path}`: {source}")]
    File {
        operation: &'static str,
        path: Utf8PathBuf,
        source: io::Error,
    },
    #[error("a plan fails here even without a simulated failure: {0}")]
    NotEven(String),
    #[error("interrupted by {}", .0.name())]
    Interrupted(Interrupt),
}

const ERRORS: [&str; 3] = ["ENOSPC", "EIO", "EACCES"];

/// The longer sweeps test only every fifth point.
const STRIDE: usize = 5;

/// Runs the test in a directory of its own below `place`. `tell` is called with each sweep when it ends.
pub(crate) fn crash(
    place: &Utf8Path,
    host: &Host,
    tell: &mut dyn FnMut(&Sweep),
) -> Result<Verdict, Unfinished> {
    let scratch = Scratch::new(place)?;
    let mut trial = Trial::new(&scratch, host)?;
    let mut sweeps = Vec::new();
    let mut swept = |sweep: Sweep| {
        tell(&sweep);
        sweeps.push(sweep);
    };
    let killed = trial.killed()?;
    let most = killed.points;
    swept(killed);
    swept(trial.killed_twice()?);
    swept(trial.failing(most)?);
    swept(trial.killed_rollback()?);
    let bad = trial.bad;
    let guarantees = Guarantees::of(&scratch)?;
    Ok(Verdict {
        path: place.to_string(),
        sweeps,
        guarantees,
        bad,
    })
}

/// The state of the test, with the two allowed trees.
struct Trial<'a> {
    scratch: &'a Scratch,
    host: &'a Host,
    old: Tree,
    new: Tree,
    bad: Vec<String>,
}

impl<'a> Trial<'a> {
    fn new(scratch: &'a Scratch, host: &'a Host) -> Result<Self, Unfinished> {
        scratch.fresh()?;
        let old = scratch.tree()?;
        scratch.apply()?;
        let new = scratch.tree()?;
        Ok(Self {
            scratch,
            host,
            old,
            new,
            bad: Vec::new(),
        })
    }

    /// Calls `point` for every `stride`th point until it returns `Break`.
    fn sweep(
        &mut self,
        name: &'static str,
        stride: usize,
        mut point: impl FnMut(&mut Self, u64, &mut Sweep) -> Result<ControlFlow<()>, Unfinished>,
    ) -> Result<Sweep, Unfinished> {
        let mut sweep = Sweep {
            name,
            ..Sweep::default()
        };
        for at in (1..).step_by(stride) {
            if let Some(interrupt) = self.host.interrupts().caught() {
                return Err(Unfinished::Interrupted(interrupt));
            }
            if point(self, at, &mut sweep)?.is_break() {
                break;
            }
        }
        Ok(sweep)
    }

    /// Lets the next start recover, and compares the tree with the two allowed ones.
    fn settle(&mut self, told: &str, sweep: &mut Sweep) -> Result<(), Unfinished> {
        let end = self.scratch.recover("")?;
        let tree = self.scratch.tree()?;
        sweep.points += 1;
        if tree == self.old {
            sweep.old += 1;
        } else if tree == self.new {
            sweep.new += 1;
        } else {
            self.bad.push(format!(
                "{told}: the tree is neither completely unchanged nor completely changed"
            ));
        }
        if end != End::Success {
            self.bad.push(format!("{told}: recovery failed"));
        }
        if self.scratch.unfinished()? {
            self.bad.push(format!("{told}: a plan is still unfinished"));
        }
        Ok(())
    }

    fn killed(&mut self) -> Result<Sweep, Unfinished> {
        self.sweep("plan killed", 1, |trial, at, sweep| {
            let told = format!("kill@{at}");
            trial.scratch.fresh()?;
            match trial.scratch.run(&told)? {
                End::Killed => trial.settle(&told, sweep)?,
                End::Success => return Ok(ControlFlow::Break(())),
                End::Failure(_) => trial.bad.push(format!("{told}: the plan failed")),
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    fn killed_twice(&mut self) -> Result<Sweep, Unfinished> {
        self.sweep("recovery killed", STRIDE, |trial, at, sweep| {
            let first = format!("kill@{at}");
            for again in (1..).step_by(STRIDE) {
                trial.scratch.fresh()?;
                if trial.scratch.run(&first)? != End::Killed {
                    return Ok(ControlFlow::Break(()));
                }
                let tree = trial.scratch.tree()?;
                if tree == trial.old || tree == trial.new {
                    // The files are right already: recovery only cleans up.
                    break;
                }
                let killed = trial.scratch.recover(&format!("kill@{again}"))? == End::Killed;
                trial.settle(&format!("{first}, recovery kill@{again}"), sweep)?;
                if !killed {
                    break;
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Fails calls at the points at which a plan was killed: `most` is their number.
    fn failing(&mut self, most: u64) -> Result<Sweep, Unfinished> {
        self.sweep("call failed", STRIDE, |trial, at, sweep| {
            if at > most {
                return Ok(ControlFlow::Break(()));
            }
            for errno in ERRORS {
                for span in ["", "+"] {
                    let told = format!("{errno}@{at}{span}");
                    trial.scratch.fresh()?;
                    let success = trial.scratch.run(&told)? == End::Success;
                    if success && trial.scratch.tree()? != trial.new {
                        trial
                            .bad
                            .push(format!("{told}: the plan reported success, but the tree is not completely changed"));
                    }
                    trial.settle(&told, sweep)?;
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    fn killed_rollback(&mut self) -> Result<Sweep, Unfinished> {
        self.sweep("rollback killed", STRIDE, |trial, at, sweep| {
            let told = format!("rollback kill@{at}");
            trial.scratch.fresh()?;
            let plan = trial.scratch.apply()?;
            let end = trial.scratch.rollback(&plan, &format!("kill@{at}"))?;
            trial.settle(&told, sweep)?;
            Ok(match end {
                End::Killed => ControlFlow::Continue(()),
                End::Success => ControlFlow::Break(()),
                End::Failure(said) => {
                    trial.bad.push(format!("{told}: {said}"));
                    ControlFlow::Break(())
                }
            })
        })
    }
}

/// Whether the file system or the kernel can do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Can {
    Yes,
    No,
}

/// What a plan can guarantee here.
#[derive(Debug, Serialize)]
pub(crate) struct Guarantees {
    /// Exchange two names: a file that another program saves meanwhile is always kept. Without it there is a
    /// moment in which such a file may be lost.
    pub(crate) exchange: Can,
    /// Hard links: backups need no copy.
    pub(crate) hard_links: Can,
    /// Sync the whole file system at once.
    pub(crate) sync: Can,
    /// Landlock: the kernel restricts the writes of a plan to its root.
    pub(crate) landlock: Can,
}

fn can<T, E>(tried: Result<T, E>) -> Can {
    tried.map_or(Can::No, |_| Can::Yes)
}

impl Guarantees {
    fn of(scratch: &Scratch) -> Result<Self, Unfinished> {
        scratch.fresh()?;
        let (one, two) = (scratch.root.join("a.txt"), scratch.root.join("b.txt"));
        let (one, two) = (one.as_std_path(), two.as_std_path());
        let exchange = renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE);
        let linked = fs::hard_link(one, scratch.root.join("second"));
        let dir = File::open(&scratch.root).map_err(failed("open", &scratch.root))?;
        Ok(Self {
            exchange: can(exchange),
            hard_links: can(linked),
            sync: can(syncfs(&dir)),
            landlock: landlock(scratch)?,
        })
    }

    /// The guarantees in one sentence.
    pub(crate) fn level(&self) -> &'static str {
        match (self.exchange, self.landlock) {
            (Can::Yes, Can::Yes) => {
                "full: a plan is applied completely or not at all, changes by other programs are kept, and nothing outside the root is changed"
            }
            (Can::Yes, Can::No) => {
                "a plan is applied completely or not at all, and changes by other programs are kept; the kernel does not restrict the plan to the root (no Landlock)"
            }
            (Can::No, _) => {
                "a plan is applied completely or not at all; a file that another program saves at the moment of a change may be lost"
            }
        }
    }
}

/// Whether Landlock works, according to the report of a plan.
fn landlock(scratch: &Scratch) -> Result<Can, Unfinished> {
    scratch.fresh()?;
    let report = scratch
        .root
        .join(scratch.apply()?)
        .join("execution_report.json");
    let text = fs::read(&report).map_err(failed("read", &report))?;
    let report: Value = serde_json::from_slice(&text)
        .map_err(io::Error::other)
        .map_err(failed("read", &report))?;
    let jail = report.pointer("/guarantees/jail");
    Ok(can(jail.filter(|jail| *jail == "enforced").ok_or(())))
}
