//! Many at once: plans beside plans, an editor, and somebody who flips a link.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    os::unix::fs::{MetadataExt, symlink},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use camino::Utf8Path;
use serde_json::json;

use crate::crash::{
    disks::say,
    lab::{Fault, Lab, approved, create, delete, memory, recovered, replace},
};

/// How many plans are under way at once.
const PLANS: usize = 64;

/// Each adds itself to three files, makes one and deletes one. Those that succeed stand in all three, in
/// the same order; of the others there is nothing anywhere.
#[test]
fn sixty_four_conflicting_plans_end_as_if_they_had_come_one_after_the_other() {
    let shared = ["a.txt", "b.txt", "sub/c.txt"];
    let lab = Lab::empty(memory());
    for name in shared {
        lab.write(name, "count: 0;\n");
    }
    for number in 0..PLANS {
        lab.write(&format!("gone/{number}.txt"), "gone\n");
    }
    let next = |number: usize| {
        let now = lab.read("a.txt");
        let last = now.lines().last().unwrap();
        let count: u64 = last
            .strip_prefix("count: ")
            .unwrap()
            .trim_end_matches(';')
            .parse()
            .unwrap();
        let new = format!("plan {number}\ncount: {};", count + 1);
        let mut actions: Vec<_> = (1..)
            .zip(shared)
            .map(|(n, name)| replace(&format!("a{n:03}"), name, last, &new))
            .collect();
        actions.push(create("a004", &format!("made/{number}.txt"), "made\n"));
        actions.push(delete("a005", &format!("gone/{number}.txt")));
        approved(&json!(actions))
    };
    let start = std::sync::Barrier::new(PLANS);
    let one = |number: usize| {
        start.wait();
        // The first tries are all made from the same count, and all but one of them are too late.
        for _ in 0..4 {
            let end = lab.run(&next(number), Fault::None);
            if end.exit == Some(0) {
                return true;
            }
            assert_eq!(
                end.envelope()["output"]["content"]["oneact"]["effect"],
                "none",
                "{end:?}"
            );
        }
        false
    };
    let succeeded: BTreeSet<usize> = thread::scope(|scope| {
        let one = &one;
        let plans: Vec<_> = (0..PLANS)
            .map(|number| scope.spawn(move || one(number)))
            .collect();
        let ends = plans.into_iter().map(|plan| plan.join().unwrap());
        ends.enumerate()
            .filter(|(_, done)| *done)
            .map(|(number, _)| number)
            .collect()
    });
    say(&format!(
        "{} of {PLANS} conflicting plans succeeded",
        succeeded.len()
    ));
    assert!(!succeeded.is_empty());
    let text = lab.read("a.txt");
    for name in shared {
        assert_eq!(lab.read(name), text, "{name}");
    }
    assert!(
        text.ends_with(&format!("count: {};\n", succeeded.len())),
        "{text}"
    );
    let named: Vec<usize> = text
        .lines()
        .filter_map(|line| line.strip_prefix("plan ")?.parse().ok())
        .collect();
    assert_eq!(named.len(), succeeded.len());
    assert_eq!(named.into_iter().collect::<BTreeSet<_>>(), succeeded);
    for number in 0..PLANS {
        let done = succeeded.contains(&number);
        assert_eq!(
            lab.root.join(format!("made/{number}.txt")).exists(),
            done,
            "{number}"
        );
        assert_eq!(
            lab.root.join(format!("gone/{number}.txt")).exists(),
            !done,
            "{number}"
        );
    }
    lab.settled("after all of them");
}

/// How an editor saves.
#[derive(Debug, Clone, Copy)]
enum Save {
    /// A new file, renamed over the old one.
    Rename,
    /// Over the old content.
    InPlace,
}

const SAVES: u64 = 6000;

/// Says that it is over, when it is dropped.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Plans that edit a file over and over, until the work is done: how many of them could.
fn beside(lab: &Lab, task: &serde_json::Value, plans: usize, work: impl FnOnce()) -> (u64, u64) {
    let (over, done, all) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..plans {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let end = lab.run(task, Fault::None);
                    all.fetch_add(1, Ordering::Relaxed);
                    done.fetch_add(u64::from(end.exit == Some(0)), Ordering::Relaxed);
                }
            });
        }
        // Also where the work ends in a failure of the test.
        let _end = Ending(&over);
        work();
    });
    (done.into_inner(), all.into_inner())
}

/// No plan takes a save away: it is where the editor put it, perhaps edited by a plan, or is kept in a
/// report.
fn no_save_is_lost(how: Save) {
    let lab = Lab::empty(memory());
    lab.write("notes.txt", "save 0 of the editor\nflag: off\n");
    let path = lab.root.join("notes.txt");
    let task = approved(&json!([replace(
        "a001",
        "notes.txt",
        "flag: off",
        "flag: on"
    )]));
    let mut kept = 0;
    let (done, all) = beside(&lab, &task, 2, || {
        for save in 1..=SAVES {
            let text = format!("save {save} of the editor\nflag: off\n");
            match how {
                Save::Rename => {
                    let new = lab.root.join("notes.txt~");
                    fs::write(&new, text).unwrap();
                    fs::rename(new, &path).unwrap();
                }
                Save::InPlace => {
                    let opened = fs::OpenOptions::new()
                        .write(true)
                        .truncate(true)
                        .open(&path);
                    opened.unwrap().write_all(text.as_bytes()).unwrap();
                }
            }
            // Many at a time; then the editor's owner has to think, and a plan may come through.
            let pause = if save % 20 == 0 { 40_000 } else { 500 };
            thread::sleep(Duration::from_micros(fastrand::u64(0..pause)));
            kept += u64::from(found(&lab, &path, &format!("save {save} of")) == Found::Kept);
        }
    });
    say(&format!(
        "{how:?}: {SAVES} saves beside {all} plans, {done} of them done; {kept} saves kept in reports, none lost"
    ));
    assert!(done > 20, "{done} of {all}");
    // What the editor has overwritten meanwhile may be kept in slots.
    recovered(&lab.root, "after the editor");
}

#[derive(Debug, PartialEq, Eq)]
enum Found {
    InPlace,
    Kept,
}

/// Looks for a save until it is found; what is on its way from one place to another is found later.
fn found(lab: &Lab, path: &Utf8Path, save: &str) -> Found {
    let begun = Instant::now();
    let holds = |path: &Utf8Path| fs::read_to_string(path).is_ok_and(|text| text.contains(save));
    loop {
        if holds(path) {
            return Found::InPlace;
        }
        if begun.elapsed() > Duration::from_millis(50) {
            let reports = lab.root.join("agent_outputs/reports");
            let mut names: Vec<_> = reports.read_dir_utf8().unwrap().flatten().collect();
            names.sort_by_key(|entry| std::cmp::Reverse(entry.file_name().to_owned()));
            for report in names {
                let backup = report.path().join("backups/notes.txt.bak");
                let slots = report.path().join("staged");
                let mut slots = slots.read_dir_utf8().into_iter().flatten().flatten();
                if holds(&backup) || slots.any(|slot| holds(slot.path())) {
                    return Found::Kept;
                }
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "{save} is lost");
    }
}

#[test]
fn no_save_of_an_editor_that_renames_is_lost_beside_plans_on_its_file() {
    no_save_is_lost(Save::Rename);
}

#[test]
fn no_save_of_an_editor_that_writes_in_place_is_lost_beside_plans_on_its_file() {
    no_save_is_lost(Save::InPlace);
}

const FLIPS: u64 = 100_000;

/// A directory on the way of a plan's files is now inside the root, now outside.
#[test]
fn a_link_that_is_flipped_lets_nothing_out_of_the_root() {
    let (lab, outside) = (Lab::empty(memory()), Lab::empty(memory()));
    for dir in [&lab, &outside] {
        dir.write("in/file.txt", "flag: off\n");
        dir.write("in/gone.txt", "gone\n");
    }
    let beyond = outside.root.join("in");
    let facts = |name: &str| {
        let facts = fs::metadata(beyond.join(name)).unwrap();
        (
            facts.ino(),
            facts.ctime(),
            facts.ctime_nsec(),
            facts.nlink(),
        )
    };
    let all = || {
        (
            outside.tree(),
            facts("."),
            facts("file.txt"),
            facts("gone.txt"),
        )
    };
    let before = all();
    let link = lab.root.join("link");
    symlink("in", &link).unwrap();
    let task = approved(&json!([
        replace("a001", "link/file.txt", "flag: off", "flag: off\nflag: on"),
        create("a002", "link/new.txt", "new\n"),
        delete("a003", "link/gone.txt"),
    ]));
    let (done, all_plans) = beside(&lab, &task, 2, || {
        let new = lab.root.join("link~");
        for flip in 0..FLIPS {
            let target = if flip % 2 == 0 { beyond.as_str() } else { "in" };
            symlink(target, &new).unwrap();
            fs::rename(&new, &link).unwrap();
            // The next plan finds everything as the first did.
            if flip % 1000 == 0 {
                let _ = fs::remove_file(lab.root.join("in/new.txt"));
                lab.write("in/gone.txt", "gone\n");
            }
            thread::sleep(Duration::from_micros(fastrand::u64(0..60)));
        }
    });
    say(&format!(
        "{FLIPS} flips beside {all_plans} plans, {done} of them done; nothing went outside"
    ));
    assert!(all_plans > 50 && done > 0, "{done} of {all_plans}");
    assert!(all() == before, "something outside has changed");
    lab.settled("after the flips");
}
