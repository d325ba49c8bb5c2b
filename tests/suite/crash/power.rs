//! The power goes while a plan is at work: on ext4, XFS and btrfs, with and without waiting for the disk. Nothing but what was
//! waited for is on the disk then, in the ledger as in the tree.

use std::fs;

use super::{
    disks::{Kind as Disk, Mounted, say, tested},
    lab::{Either, Lab, Which, all, everything, oneact, run, run_deciding, settled, tree},
};
use crate::tracer::{Act, Call, Kind, is_refused};

/// How many calls the everyday run leaves out between two cuts.
const STRIDE: usize = 7;

#[derive(Debug, Default)]
struct Counts {
    cuts: u64,
    old: u64,
    new: u64,
    /// Neither the one nor the other.
    bad: u64,
    /// Success was told, and then the plan was gone.
    lost: u64,
}

/// What a call that waits for the disk does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    Truly,
    /// It says that it has waited.
    Never,
}

/// The power goes at every so many calls, and once after success was told.
fn cut(
    disk: &Mounted,
    waits: Waits,
    mut after: impl FnMut(&Lab, &str, Told, &mut Counts),
) -> Counts {
    let mut counts = Counts::default();
    let stride = if all() { 1 } else { STRIDE };
    for at in (1..).step_by(stride) {
        let lab = Lab::new(&disk.path());
        disk.sync();
        let faults = format!("cut at call {at}");
        let mut seen = 0;
        let decide = move |call: &Call| {
            seen += u64::from(call.changes());
            match call.kind {
                _ if seen == at && call.changes() => Act::Kill,
                Kind::Sync if waits == Waits::Never => Act::Pretend,
                _ => Act::Go,
            }
        };
        let end = run_deciding(&oneact(&lab.root), &lab.root, &everything(), decide);
        let told = if end.killed {
            Told::Nothing
        } else {
            Told::Success
        };
        if told == Told::Success {
            end.succeeded(&faults);
        }
        disk.cut();
        counts.cuts += 1;
        after(&lab, &faults, told, &mut counts);
        fs::remove_dir_all(lab.keep()).unwrap();
        if told == Told::Success {
            break;
        }
    }
    counts
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    Success,
}

/// With the disk waited for.
fn holds(kind: Disk) {
    if is_refused() {
        return;
    }
    let Some(disk) = tested(
        &format!("power cut on {}", kind.name()),
        Mounted::disk(kind),
    ) else {
        return;
    };
    let mut either = Either::of_everything(&disk.path());
    let counts = cut(
        &disk,
        Waits::Truly,
        |lab, faults, told, counts| match either.is(&settled(&lab.root, faults), faults) {
            Which::Old => {
                assert_eq!(
                    told,
                    Told::Nothing,
                    "{faults}: success was told, and it is lost"
                );
                counts.old += 1;
            }
            Which::New => counts.new += 1,
        },
    );
    say(&format!("power cut on {}: {counts:?}", kind.name()));
    assert!(counts.old > 3 && counts.new > 0);
}

#[test]
fn on_ext4_a_power_cut_leaves_old_or_new() {
    holds(Disk::Ext4);
}

#[test]
fn on_xfs_a_power_cut_leaves_old_or_new() {
    holds(Disk::Xfs);
}

#[test]
fn on_btrfs_a_power_cut_leaves_old_or_new() {
    holds(Disk::Btrfs);
}

/// The same without waiting must be found out, or the tests above say nothing.
#[test]
fn without_waiting_for_the_disk_power_cuts_do_harm() {
    if is_refused() {
        return;
    }
    let mut harm = 0;
    for kind in Disk::ALL {
        let name = kind.name();
        let Some(disk) = tested(&format!("the control on {name}"), Mounted::disk(kind)) else {
            return;
        };
        let mut either = Either::of_everything(&disk.path());
        let counts = cut(&disk, Waits::Never, |lab, _, told, counts| {
            let mut recover = oneact(&lab.root);
            recover.args(["recover", "--json"]);
            run(recover, &serde_json::Value::Null);
            match (either.which(&tree(&lab.root)), told) {
                (Some(Which::Old), Told::Nothing) => counts.old += 1,
                (Some(Which::Old), Told::Success) => counts.lost += 1,
                (Some(Which::New), _) => counts.new += 1,
                (None, _) => counts.bad += 1,
            }
        });
        say(&format!("power cut on {name}, not waited for: {counts:?}"));
        harm += counts.bad + counts.lost;
    }
    assert!(
        harm > 0,
        "nothing waited for the disk, and no harm was found"
    );
}
