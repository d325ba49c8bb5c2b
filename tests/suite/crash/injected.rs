//! The kernel's own answers: `strace` kills the run at its n-th call of a kind, or has that call fail,
//! once or from there on. Nothing of this is known to the binary.

use std::{process::Command, thread};

use super::disks::say;
use super::lab::{Either, End, Lab, Which, all, around, everything, memory, run};
use crate::program::ONEACT;

/// What changes something on a disk, or waits for one; `openat` is among them for its files to write.
const CALLS: [&str; 17] = [
    "openat",
    "openat2",
    "write",
    "pwrite64",
    "ftruncate",
    "fallocate",
    "linkat",
    "renameat2",
    "mkdirat",
    "unlinkat",
    "fchmod",
    "fchown",
    "utimensat",
    "fsync",
    "fdatasync",
    "syncfs",
    "flock",
];

/// What strace has happen at a call.
const INJECTED: [(&str, &str); 7] = [
    ("signal=KILL", ""),
    ("error=ENOSPC", ""),
    ("error=ENOSPC", "+"),
    ("error=EIO", ""),
    ("error=EIO", "+"),
    ("error=EACCES", ""),
    ("error=EACCES", "+"),
];

/// How many calls of one kind there may be.
const MOST: u64 = 400;

/// How many points the everyday run leaves out between two.
const STRIDE: u64 = 5;

pub(super) fn strace(lab: &Lab, log: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("strace");
    around(&mut command, &lab.root, "");
    command
        .args(["-f", "-q", "-o", log])
        .args(arguments)
        .arg(ONEACT);
    command
}

/// Why strace cannot be used here, if it cannot.
fn why_not() -> Option<String> {
    let lab = Lab::empty(memory());
    let mut command = strace(&lab, "/dev/null", &["-e", "trace=none"]);
    command.arg("--version");
    match command.output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Some(format!("strace: {error} (scripts/setup-tests installs it)")),
    }
}

/// How many calls of each kind the busiest thread of a run makes: strace counts by thread.
fn counted() -> Vec<(&'static str, u64)> {
    let lab = Lab::new(memory());
    let log = lab.root.join("log");
    let wanted = format!("trace={}", CALLS.join(","));
    let mut command = strace(&lab, log.as_str(), &["-e", &wanted]);
    // Both ways of waiting.
    command.env("ONEACT_FAULTS", "each-barrier");
    run(command, &everything()).succeeded("counting");
    let log = std::fs::read_to_string(log).unwrap();
    let of = |call: &'static str| {
        let mut threads = std::collections::BTreeMap::<&str, u64>::new();
        for line in log.lines() {
            let Some((thread, rest)) = line.split_once(' ') else {
                continue;
            };
            if rest.trim_start().starts_with(&format!("{call}(")) {
                *threads.entry(thread).or_default() += 1;
            }
        }
        (call, threads.into_values().max().unwrap_or_default())
    };
    // One sync of the whole file system stands for many of files.
    CALLS
        .map(of)
        .map(|(call, n)| (call, n.max(u64::from(call == "syncfs"))))
        .to_vec()
}

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    points: u64,
    killed: u64,
    failed: u64,
    succeeded: u64,
    old: u64,
    new: u64,
}

/// One point: what the answer says agrees with the tree, and after the next start it is one of the two.
fn point(either: &mut Either, call: &str, n: u64, (what, span): (&str, &str), counts: &mut Counts) {
    let told = format!("{call}:{what}:when={n}{span}");
    let lab = Lab::new(memory());
    let inject = format!("inject={told}");
    let end = run(strace(&lab, "/dev/null", &["-e", &inject]), &everything());
    // strace ends itself as its child ended.
    let now = lab.tree();
    let which = either.is(&lab.settled(&told), &told);
    counts.points += 1;
    match end.exit {
        Some(0) => {
            assert_eq!(either.which(&now), Some(Which::New), "{told}: {end:?}");
            assert_eq!(which, Which::New, "{told}");
            counts.succeeded += 1;
        }
        None => counts.killed += 1,
        Some(_) => {
            if promised(&end) {
                assert_eq!(either.which(&now), Some(Which::Old), "{told}: {end:?}");
                assert_eq!(which, Which::Old, "{told}: {end:?}");
            }
            counts.failed += 1;
        }
    }
    match which {
        Which::Old => counts.old += 1,
        Which::New => counts.new += 1,
    }
}

/// Whether an answer says that nothing was changed; one that could not be printed says nothing.
fn promised(end: &End) -> bool {
    let Ok(envelope) = serde_json::from_str::<serde_json::Value>(&end.stdout) else {
        return false;
    };
    let effect = &envelope["output"]["content"]["oneact"]["effect"];
    effect == "none"
}

#[test]
fn whatever_call_of_the_kernel_ends_the_run_or_fails_the_tree_is_old_or_new() {
    if let Some(reason) = why_not() {
        say(&format!("NOT TESTED: {reason}"));
        assert!(!all(), "strace cannot be used here: {reason}");
        return;
    }
    let stride = if all() { 1 } else { STRIDE };
    let mut points = Vec::new();
    for (call, most) in counted() {
        assert!(most < MOST, "{most} calls of {call}");
        for n in 1..=most {
            points.extend(INJECTED.map(|injected| (call, n, injected)));
        }
    }
    let total = points.len();
    let points: Vec<_> = points
        .into_iter()
        .step_by(usize::try_from(stride).unwrap())
        .collect();
    let share = points.len().div_ceil(4);
    let counts: Vec<Counts> = thread::scope(|scope| {
        let workers: Vec<_> = points
            .chunks(share)
            .map(|points| {
                scope.spawn(move || {
                    let mut either = Either::of_everything(memory());
                    let mut counts = Counts::default();
                    for (call, n, injected) in points {
                        point(&mut either, call, *n, *injected, &mut counts);
                    }
                    counts
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect()
    });
    let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum::<u64>();
    say(&format!(
        "strace: {} of {total} points: killed {}, failed {}, succeeded {}; after the next start old {}, new {}",
        sum(|counts| counts.points),
        sum(|counts| counts.killed),
        sum(|counts| counts.failed),
        sum(|counts| counts.succeeded),
        sum(|counts| counts.old),
        sum(|counts| counts.new),
    ));
    assert!(sum(|counts| counts.killed) > 5 && sum(|counts| counts.failed) > 20);
    assert!(sum(|counts| counts.old) > 10 && sum(|counts| counts.new) > 5);
}
