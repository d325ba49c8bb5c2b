//! A verb that is killed, or to which a call answers an error, at its calls, one after the other.

use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use nix::errno::Errno;
use serde_json::Value;

use super::{
    disks::say,
    lab::{Either, End, Found, Lab, Tree, Which, all, run_following},
};
use crate::tracer::{Act, Call, Follow, from_nth, nth};

/// How many runs are at work at once.
const WORKERS: usize = 2;

/// What a disk may answer.
const ERRORS: [Errno; 3] = [Errno::ENOSPC, Errno::EIO, Errno::EACCES];

/// What a verb does to a tree, and the two trees that there may be after it.
pub(super) struct Sweep {
    pub(super) what: &'static str,
    /// A tree of its own for each point: the reports of an earlier run would change the number of calls.
    pub(super) made: fn() -> Lab,
    pub(super) verb: fn(&Lab) -> (Command, Value),
    /// The calls that count.
    pub(super) those: fn(&Call) -> bool,
    pub(super) follow: Follow,
    begins: Begins,
    pub(super) old: Tree,
    pub(super) new: Tree,
}

/// What the tree is before the verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begins {
    Whole,
    /// As a killed run has left it: a recovery that fails says so by its exit status.
    Between,
}

/// What happens at the n-th call.
#[derive(Debug, Clone, Copy)]
enum What {
    Kill,
    Once(Errno),
    From(Errno),
}

/// What came of the points of a sweep.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Counts {
    pub(super) points: u64,
    pub(super) killed: u64,
    pub(super) failed: u64,
    pub(super) stuck: u64,
    /// It came through in spite of an error, or made fewer calls.
    pub(super) succeeded: u64,
    /// After the next start.
    pub(super) old: u64,
    pub(super) new: u64,
}

impl Sweep {
    /// Of a verb whose undisturbed run makes the second tree of the first.
    pub(super) fn new(
        what: &'static str,
        made: fn() -> Lab,
        verb: fn(&Lab) -> (Command, Value),
    ) -> Self {
        let lab = made();
        let old = lab.tree();
        let (command, task) = verb(&lab);
        super::lab::run(command, &task).succeeded(what);
        let new = lab.tree();
        assert_ne!(old, new, "{what}");
        Self {
            what,
            made,
            verb,
            those: Call::changes,
            follow: Follow::Run,
            begins: Begins::Whole,
            old,
            new,
        }
    }

    /// Of a recovery: what there is before it is no whole tree.
    pub(super) fn of_recovery(
        what: &'static str,
        made: fn() -> Lab,
        verb: fn(&Lab) -> (Command, Value),
    ) -> Self {
        Self {
            begins: Begins::Between,
            ..Self::new(what, made, verb)
        }
    }

    fn run(&self, lab: &Lab, decide: impl FnMut(&Call) -> Act + Send + 'static) -> End {
        let (command, task) = (self.verb)(lab);
        run_following((&command, self.follow), &lab.root, &task, decide)
    }

    /// How many such calls an undisturbed run makes.
    fn calls(&self) -> u64 {
        let (counted, those) = (Arc::new(AtomicU64::new(0)), self.those);
        let counter = Arc::clone(&counted);
        let end = self.run(&(self.made)(), move |call| {
            counter.fetch_add(u64::from(those(call)), Ordering::Relaxed);
            Act::Go
        });
        end.succeeded(self.what);
        counted.load(Ordering::Relaxed)
    }

    /// Kills it at every so many calls; with `ONEACT_CRASH=all` at every one.
    pub(super) fn killed(&self, stride: usize) -> Counts {
        let points: Vec<_> = self.points(stride).map(|n| (n, What::Kill)).collect();
        let counts = self.each(&points, "killed");
        assert!(counts.killed > 0 && counts.old > 0 && counts.new > 0);
        counts
    }

    /// Fails every so many calls, once and from there on.
    pub(super) fn failing(&self, stride: usize) -> Counts {
        let points = self.failing_points(stride);
        let counts = self.each(&points, "failing");
        assert!(counts.failed > 0 && counts.old > 0 && counts.new > 0);
        counts
    }

    /// Kills and fails a recovery: it ends in the same tree whenever it is begun again.
    pub(super) fn always_new(&self, stride: usize) {
        let kills: Vec<_> = self.points(stride).map(|n| (n, What::Kill)).collect();
        let counts = self.each(&kills, "killed");
        assert!(counts.killed > 0 && counts.old == 0, "{counts:?}");
        let failing = self.failing_points(stride);
        let counts = self.each(&failing, "failing");
        assert!(counts.points > 0 && counts.old == 0, "{counts:?}");
    }

    fn failing_points(&self, stride: usize) -> Vec<(u64, What)> {
        let kinds = ERRORS
            .iter()
            .flat_map(|errno| [What::Once(*errno), What::From(*errno)]);
        // Each point of the everyday run has one of the errors, so that all calls have their turn sooner.
        if all() {
            self.points(1)
                .flat_map(|n| kinds.clone().map(move |what| (n, what)))
                .collect()
        } else {
            self.points(stride).zip(kinds.cycle()).collect()
        }
    }

    fn points(&self, stride: usize) -> impl Iterator<Item = u64> + use<> {
        (1..=self.calls()).step_by(if all() { 1 } else { stride })
    }

    fn each(&self, points: &[(u64, What)], how: &str) -> Counts {
        let share = points.len().div_ceil(WORKERS).max(1);
        let counts: Vec<Counts> = thread::scope(|scope| {
            let workers: Vec<_> = points
                .chunks(share)
                .map(|points| scope.spawn(move || self.visited(points)))
                .collect();
            let counts = workers.into_iter().map(|worker| worker.join().unwrap());
            counts.collect()
        });
        let counts = counts.into_iter().fold(Counts::default(), Counts::plus);
        say(&format!("{}, {how}: {counts:?}", self.what));
        counts
    }

    fn visited(&self, points: &[(u64, What)]) -> Counts {
        let mut either = Either {
            old: self.old.clone(),
            new: self.new.clone(),
            found: Found::default(),
        };
        let mut counts = Counts::default();
        for (n, what) in points {
            self.point(&mut either, *n, *what, &mut counts);
        }
        Counts {
            old: either.found.old,
            new: either.found.new,
            ..counts
        }
    }

    /// What the answer says agrees with the tree, and after the next start it is one of the two.
    fn point(&self, either: &mut Either, n: u64, what: What, counts: &mut Counts) {
        let told = format!("{}, {what:?} at {n}", self.what);
        let lab = (self.made)();
        let those = self.those;
        let end = match what {
            What::Kill => self.run(&lab, nth(those, n, Act::Kill)),
            What::Once(errno) => self.run(&lab, nth(those, n, Act::Fail(errno))),
            What::From(errno) => self.run(&lab, from_nth(those, n, Act::Fail(errno))),
        };
        let now = lab.tree();
        let which = either.is(&lab.settled(&told), &told);
        counts.points += 1;
        let is = |tree: &Tree, which: Which| {
            tree == match which {
                Which::Old => &self.old,
                Which::New => &self.new,
            }
        };
        match end.exit {
            None => {
                assert!(end.killed && end.met, "{told}: {end:?}");
                counts.killed += 1;
            }
            Some(0) => {
                assert!(is(&now, Which::New), "{told}: {end:?}");
                assert_eq!(which, Which::New, "{told}: {end:?}");
                counts.succeeded += 1;
            }
            Some(_) if end.says_nothing_changed() => {
                assert!(is(&now, Which::Old), "{told}: {end:?}");
                assert_eq!(which, Which::Old, "{told}: {end:?}");
                counts.failed += 1;
            }
            Some(_) if self.begins == Begins::Between || end.stdout.contains("\"stuck\"") => {
                counts.stuck += 1;
            }
            Some(_) => {
                let whole = is(&now, Which::Old) || is(&now, Which::New);
                assert!(whole, "{told}: {end:?}");
                counts.failed += 1;
            }
        }
    }
}

impl Counts {
    fn plus(self, other: Self) -> Self {
        Self {
            points: self.points + other.points,
            killed: self.killed + other.killed,
            failed: self.failed + other.failed,
            stuck: self.stuck + other.stuck,
            succeeded: self.succeeded + other.succeeded,
            old: self.old + other.old,
            new: self.new + other.new,
        }
    }
}
