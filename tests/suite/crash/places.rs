//! Places that refuse: full disks, mount points, other file systems, read-only and immutable files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    disks::{Absence, Bound, Kind, Mounted, as_root, done, say, tested},
    lab::{
        Either, End, Fault, Lab, Which, all, approved, create, delete, everything, memory, oneact,
        rename, replace, run,
    },
    report,
};
use crate::tracer::is_refused;

/// The plan with everything, as a request of one session.
fn request() -> Value {
    let mut task = everything();
    task["metadata"] = json!({"session_id": "s", "request_id": "r"});
    task
}

/// The tree is as asked, or as before and the disk was full. Now that there is space, the same request succeeds, unless
/// neither an answer nor a journal could be written: the envelope says how to settle this.
fn all_or_full(either: &mut Either, lab: &Lab, end: &End, told: &str) -> Which {
    let now = either.is(&lab.tree(), told);
    if end.exit == Some(0) {
        assert_eq!(now, Which::New, "{told}");
    } else {
        // What cannot even be recorded is not begun.
        let full = [json!("disk_full"), json!("ledger_unavailable")];
        assert!(now == Which::Old && full.contains(&end.fault()), "{told}");
    }
    assert_eq!(either.is(&lab.settled(told), told), now, "{told}");
    let again = lab.run(&request(), Fault::None);
    if again.fault() == "outcome_unknown" {
        let envelope = end.envelope();
        let problem = envelope["error"]["error_message"].as_str().unwrap();
        let unwritten = problem.starts_with("cannot write") && problem.contains("/journal`");
        let notes = envelope["audit"]["compliance_notes"].as_str().unwrap();
        assert!(unwritten && notes.contains("oneact resolve"), "{told}");
        return now;
    }
    again.succeeded(told);
    assert_eq!(either.which(&lab.tree()), Some(Which::New), "{told}");
    now
}

#[test]
fn on_a_full_disk_a_plan_changes_nothing_and_is_performed_when_there_is_space() {
    let made = Mounted::memory("size=1m,nr_inodes=1000");
    let Some(disk) = tested("a full disk", made) else {
        return;
    };
    let mut either = Either::of_everything(memory());
    // From nothing left to enough, 4 KiB at a time.
    for free in 0..80 {
        let lab = Lab::new(&disk.path());
        let ballast = disk.path().join("ballast");
        let room = rustix::fs::statvfs(disk.path()).unwrap();
        let blocks = usize::try_from(room.f_bavail).unwrap() - free;
        fs::write(&ballast, vec![0; blocks * 4096]).unwrap();
        let end = lab.run(&request(), Fault::None);
        fs::remove_file(&ballast).unwrap();
        all_or_full(&mut either, &lab, &end, &format!("{free} blocks free"));
    }
    say(&format!("full disk, block by block: {:?}", either.found));
    assert!(either.found.old > 2 && either.found.new > 2);
}

#[test]
fn where_no_more_files_fit_a_plan_changes_nothing_and_is_performed_when_they_fit() {
    let Some(disk) = tested("no inodes", Mounted::memory("size=8m,nr_inodes=1000")) else {
        return;
    };
    let mut either = Either::of_everything(memory());
    let path = disk.path();
    for free in 0..50 {
        let lab = Lab::new(&path);
        let room = rustix::fs::statvfs(&path).unwrap();
        let some = room.f_files - room.f_ffree + free;
        let fewer = format!("remount,nr_inodes={some}");
        done("mount", &["-o", &fewer, path.to_str().unwrap()]).unwrap();
        let end = lab.run(&request(), Fault::None);
        done(
            "mount",
            &["-o", "remount,nr_inodes=1000", path.to_str().unwrap()],
        )
        .unwrap();
        all_or_full(
            &mut either,
            &lab,
            &end,
            &format!("{free} files may be made"),
        );
    }
    say(&format!("full disk, file by file: {:?}", either.found));
    assert!(either.found.old > 2 && either.found.new > 2);
}

/// The plan is killed at every so many calls; it is all or nothing, and nothing of ours is left in `foreign`.
fn killed(made: impl Fn() -> (Lab, Bound), task: &Value, foreign: &Path, what: &str) {
    if is_refused() {
        return;
    }
    let (lab, bound) = made();
    let old = lab.tree();
    let end = lab.run(task, Fault::None);
    end.succeeded(what);
    let new = lab.tree();
    assert_ne!(old, new);
    drop((bound, lab));
    let found = super::lab::Found::default();
    let mut either = Either { old, new, found };
    for at in (1..).step_by(if all() { 1 } else { 3 }) {
        let (lab, bound) = made();
        let fault = Fault::Kill(at);
        let end = lab.run(task, fault);
        let told = format!("{what}, {fault}");
        either.is(&lab.settled(&told), &told);
        if let Some(slot) = slots(foreign).next() {
            panic!("{told}: {} is left", slot.display());
        }
        drop((bound, lab));
        if !end.killed {
            break;
        }
    }
    say(&format!("{what}: {:?}", either.found));
    assert!(either.found.old > 3 && either.found.new > 0);
    let [away, covered] = [Absence::Unmounted, Absence::Covered].map(|absence| {
        let mut open = 0;
        for at in (1..).step_by(if all() { 1 } else { 5 }) {
            let (lab, bound) = made();
            let fault = Fault::Kill(at);
            let end = lab.run(task, fault);
            let told = format!("{what}, {fault}, {absence:?}");
            let is_open = bound.without(absence, || is_open_after_recovery(&lab));
            open += u32::from(is_open);
            // Slots of a plan that had changed nothing, or was done, stay there.
            for slot in slots(foreign).filter(|_| !is_open) {
                fs::remove_file(&slot)
                    .or_else(|_| fs::remove_dir(&slot))
                    .unwrap();
            }
            either.is(&lab.settled(&told), &told);
            drop((bound, lab));
            if !end.killed {
                break;
            }
        }
        open
    });
    say(&format!(
        "{what}: open while unmounted: {away}, while covered: {covered}"
    ));
    assert!(away > 3 && covered > 3);
}

fn slots(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let paths = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    paths.filter(|path| path.to_str().unwrap().contains("/.oneact"))
}

/// Recovers while something is not mounted as it was. What a plan needs is not taken for undone: either the plan had
/// changed nothing or was done, or it stays open, and no other plan begins (invariant 4, R-001-125).
fn is_open_after_recovery(lab: &Lab) -> bool {
    let mut recover = oneact(&lab.root);
    recover.args(["recover", "--json"]);
    let recovered = run(recover, &Value::Null);
    let is_open = recovered.exit != Some(0);
    let end = lab.run(
        &approved(&json!([create("a001", "another.txt", "x")])),
        Fault::None,
    );
    assert_eq!(end.fault() == "stuck", is_open, "{}", end.stdout);
    if is_open {
        assert!(
            recovered.stdout.contains("mounted on"),
            "{}",
            recovered.stdout
        );
    } else {
        fs::remove_file(lab.root.join("another.txt")).unwrap();
    }
    is_open
}

#[test]
fn a_directory_on_another_file_system_is_of_the_plan_and_holds_nothing_of_ours_after_it() {
    if let Some(disk) = tested("another file system", Mounted::memory("size=1m")) {
        in_a_directory_of(&disk.path(), "another file system");
    }
}

#[test]
fn so_is_a_directory_that_is_bound_from_the_same_file_system() {
    if tested("a bound directory", as_root()).is_some() {
        let beside = TempDir::with_prefix_in("oneact-disk-", memory()).unwrap();
        in_a_directory_of(beside.path(), "a directory of the same file system");
    }
}

fn in_a_directory_of(disk: &Path, what: &str) {
    let made = || {
        let lab = Lab::empty(memory());
        lab.write("a.txt", "one\n");
        fs::create_dir(lab.root.join("other")).unwrap();
        for entry in fs::read_dir(disk).unwrap().flatten() {
            if entry.path().is_dir() {
                fs::remove_dir_all(entry.path()).unwrap();
            } else {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        let bound = Bound::new(disk, lab.root.join("other").as_std_path(), "").unwrap();
        lab.write("other/b.txt", "two\n");
        lab.write("other/c.txt", "three\n");
        lab.write("other/old.txt", "old\n");
        lab.write("other/out.txt", "out\n");
        lab.write("in.txt", "in\n");
        (lab, bound)
    };
    let task = approved(&json!([
        replace("a001", "a.txt", "one", "eins"),
        replace("a002", "other/b.txt", "two", "zwei"),
        delete("a003", "other/c.txt"),
        rename("a004", "other/old.txt", "other/new.txt"),
        create("a005", "other/d.txt", "new\n"),
        create("a006", "other/x/y/e.txt", "deep\n"),
        rename("a007", "other/out.txt", "out.txt"),
        rename("a008", "in.txt", "other/in.txt"),
    ]));
    let (lab, bound) = made();
    let before = lab.tree();
    lab.run(&task, Fault::None).succeeded(what);
    let report = report(&lab);
    for absence in [Absence::Unmounted, Absence::Covered] {
        bound.without(absence, || {
            let here = lab.tree();
            let end = lab.rollback(&report, Fault::None);
            assert_eq!(
                end.fault(),
                "rollback_conflict",
                "{absence:?}: {}",
                end.stdout
            );
            assert_eq!(lab.tree(), here, "{absence:?}");
        });
    }
    lab.rollback(&report, Fault::None).succeeded(what);
    assert_eq!(lab.settled(what), before);
    drop((bound, lab));
    killed(made, &task, disk, what);
}

/// One change that cannot be made, beside one that could be.
fn refused(lab: &Lab, target: &str, fault: &str, told: &str) {
    let before = lab.tree();
    let edits = [
        replace("a001", target, "one", "eins"),
        delete("a001", target),
        rename("a001", target, "moved.txt"),
    ];
    for edit in edits {
        let task = approved(&json!([replace("a000", "fine.txt", "fine", "fein"), edit]));
        let end = lab.run(&task, Fault::None);
        let told = format!("{told}: {task}");
        assert_ne!(end.exit, Some(0), "{told}");
        assert_eq!(end.fault(), fault, "{told}: {}", end.stdout);
        assert!(
            lab.settled(&told) == before && lab.tree() == before,
            "{told}"
        );
    }
}

#[test]
fn a_read_only_directory_refuses_the_whole_plan() {
    let lab = Lab::empty(memory());
    lab.write("fine.txt", "fine\n");
    lab.write("sub/a.txt", "one\n");
    let sub = lab.root.join("sub");
    let made = Bound::new(sub.as_std_path(), sub.as_std_path(), "ro");
    let Some(_bound) = tested("a read-only directory", made) else {
        return;
    };
    refused(&lab, "sub/a.txt", "permission_denied", "read-only");
}

#[test]
fn an_immutable_file_refuses_the_whole_plan() {
    let Some(disk) = tested("an immutable file", Mounted::disk(Kind::Ext4)) else {
        return;
    };
    let lab = Lab::empty(&disk.path());
    lab.write("fine.txt", "fine\n");
    lab.write("a.txt", "one\n");
    let path = lab.root.join("a.txt");
    done("chattr", &["+i", path.as_str()]).unwrap();
    refused(&lab, "a.txt", "permission_denied", "immutable");
    done("chattr", &["-i", path.as_str()]).unwrap();
}

#[test]
fn no_file_is_created_in_an_append_only_directory_because_that_could_not_be_undone() {
    let Some(disk) = tested("an append-only directory", Mounted::disk(Kind::Ext4)) else {
        return;
    };
    let lab = Lab::empty(&disk.path());
    lab.write("log/a.txt", "one\n");
    let path = lab.root.join("log");
    done("chattr", &["+a", path.as_str()]).unwrap();
    let end = lab.run(
        &approved(&json!([create("a001", "log/b.txt", "b")])),
        Fault::None,
    );
    assert_eq!(end.fault(), "permission_denied", "{}", end.stdout);
    assert!(!path.join("b.txt").exists());
    done("chattr", &["-a", path.as_str()]).unwrap();
}

#[test]
fn a_file_with_a_second_name_is_not_modified() {
    let lab = Lab::empty(memory());
    lab.write("a.txt", "one\n");
    fs::hard_link(lab.root.join("a.txt"), lab.root.join("b.txt")).unwrap();
    let before = lab.tree();
    let end = lab.run(
        &approved(&json!([replace("a001", "a.txt", "one", "eins")])),
        Fault::None,
    );
    assert_ne!(end.exit, Some(0));
    assert!(end.stdout.contains("hard link"), "{}", end.stdout);
    assert_eq!(lab.settled("hard link"), before);
}
