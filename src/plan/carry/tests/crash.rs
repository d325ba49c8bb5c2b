//! Stopped, or failed, at every call that changes a file: the tree is as before or as asked.

#![expect(
    clippy::print_stdout,
    reason = "how many there were is shown with --nocapture"
)]

use super::*;
use crate::plan::{engine, limits::Limits, protected::Kept};

/// Every kind of change in one plan.
fn everything() -> Value {
    plan(json!([
        replace("a001", "a.txt", "one", "eins"),
        replace("a002", "run.sh", "two", "zwei"),
        {"action_id": "a003", "action_type": "FILE_MODIFY", "target": "sub/data.json",
            "operation": {"type": "json_add_property", "path": "$", "key": "new", "value": 1}},
        {"action_id": "a004", "action_type": "FILE_DELETE", "target": "gone.txt", "operation": {"type": "delete"}},
        {"action_id": "a005", "action_type": "FILE_RENAME", "target": "old.txt",
            "operation": {"type": "rename", "new_path": "sub/new.txt"}},
        {"action_id": "a006", "action_type": "FILE_CREATE", "target": "x/y/n.txt",
            "operation": {"type": "create", "content": "new\n", "mode": "0640"}},
        {"action_id": "a007", "action_type": "FILE_RENAME", "target": "plain.txt",
            "operation": {"type": "rename", "new_path": "z/plain.txt"}},
        {"action_id": "a008", "action_type": "FILE_CREATE", "target": "old.txt",
            "operation": {"type": "create", "content": "another\n"}},
    ]))
}

fn lab() -> Lab {
    let lab = Lab::new(&[
        ("a.txt", "one\n"),
        ("run.sh", "two\n"),
        ("sub/data.json", "{\n  \"old\": 1.0\n}\n"),
        ("gone.txt", "gone\n"),
        ("old.txt", "old\n"),
        ("plain.txt", "plain\n"),
    ]);
    let path = lab.root.join("run.sh");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    lab
}

/// Times of what is new differ from run to run.
fn timeless(tree: Tree) -> Tree {
    tree.into_iter()
        .map(|(path, (mode, _, content))| (path, (mode, 0, content)))
        .collect()
}

fn asked() -> Tree {
    let lab = lab();
    let finished = lab.run(everything());
    assert_eq!(status(&finished), Some(Status::Success), "{finished:#?}");
    timeless(lab.tree())
}

/// What a later start does first.
pub(super) fn recovered(lab: &Lab, faults: &Arc<Faults>) -> Result<usize, String> {
    let root = Root::open_with(&lab.root, Arc::clone(faults)).unwrap();
    let mut settled = Vec::new();
    let limits = Limits::of(&Bounds::default(), &Kept::default(), None, &mut Vec::new()).unwrap();
    engine::clear_begun(&root).map_err(|error| error.to_string())?;
    for name in engine::unfinished(&root).map_err(|error| error.to_string())? {
        let end = engine::recover(&root, &name, &limits, 4, &Course::default(), None);
        if !end.as_ref().is_some_and(engine::End::is_open) {
            engine::forget(&root, &name).map_err(|error| error.to_string())?;
        }
        settled.extend(end.map(|end| (name, end)));
    }
    let mut stuck = settled.iter().filter(|(_, end)| end.is_open());
    match stuck.next() {
        Some(stuck) => Err(format!("{stuck:?}")),
        None => Ok(settled.len()),
    }
}

fn settle(lab: &Lab, told: &str) {
    let no_faults = Arc::new(Faults::default());
    recovered(lab, &no_faults).unwrap_or_else(|stuck| panic!("{told}: {stuck}"));
}

/// Nothing but reports is left of a plan.
fn no_trace(lab: &Lab, told: &str) {
    for report in lab.reports() {
        assert!(
            !report.join("staged").exists(),
            "{told}: {report} holds what was to come"
        );
    }
    let marks = lab.root.join("agent_outputs/reports/.unfinished");
    if marks.exists() {
        let left: Vec<_> = fs::read_dir(&marks).unwrap().collect();
        assert!(left.is_empty(), "{told}: {left:?}");
    }
}

/// The fault at every call, until the plan is through without meeting it; answers how many there were.
pub(super) fn sweep(kind: &str, span: &str, mut check: impl FnMut(&Lab, &Outcome, &str)) -> u64 {
    for at in 1.. {
        let lab = lab();
        let told = format!("{kind}@{at}{span}");
        let faults = Arc::new(Faults::parse(&told));
        let finished = lab.run_with(everything(), &faults);
        if faults.seen() < at {
            assert_eq!(status(&finished), Some(Status::Success));
            return at - 1;
        }
        check(&lab, &finished, &told);
    }
    0
}

/// How many trees were as before, and as asked.
#[derive(Debug, Default)]
struct Found {
    old: u64,
    new: u64,
}

impl Found {
    fn count(&mut self, tree: Tree, before: &Tree, after: &Tree, told: &str) {
        let tree = timeless(tree);
        if tree == *before {
            self.old += 1;
        } else {
            assert_eq!(tree, *after, "{told}");
            self.new += 1;
        }
    }
}

#[test]
fn stopped_at_any_call_the_next_start_finds_the_tree_as_before_or_as_asked() {
    let (before, after) = (timeless(lab().tree()), asked());
    let mut found = Found::default();
    let points = sweep("stop", "", |lab, _, told| {
        settle(lab, told);
        found.count(lab.tree(), &before, &after, told);
        no_trace(lab, told);
    });
    assert!(points > 60, "only {points} points");
    println!("{points} points: {found:?}");
}

/// Whether a tree is one of the two already.
fn whole(lab: &Lab, before: &Tree, after: &Tree) -> bool {
    let tree = timeless(lab.tree_under_way());
    tree == *before || tree == *after
}

#[test]
fn stopped_again_at_any_call_of_the_recovery_the_start_after_it_still_finds_one_of_the_two() {
    let (before, after) = (timeless(lab().tree()), asked());
    let mut found = Found::default();
    let mut points = 0;
    // Where the first crash leaves the tree half changed, every call of the recovery is a second one.
    // Before that and after it, recovery does no more than clear away: one crash in four has to do.
    let first = sweep("stop", "", |_, _, _| {});
    for at in 1..=first {
        let stopped = || {
            let lab = lab();
            let faults = Arc::new(Faults::parse(&format!("stop@{at}")));
            lab.run_with(everything(), &faults);
            lab
        };
        if at % 4 != 0 && whole(&stopped(), &before, &after) {
            continue;
        }
        for again in 1.. {
            let lab = stopped();
            let faults = Arc::new(Faults::parse(&format!("stop@{again}")));
            // Whether it came through or not: the next one must.
            let _ = recovered(&lab, &faults);
            let told = format!("stopped at {at}, then at {again}");
            settle(&lab, &told);
            found.count(lab.tree(), &before, &after, &told);
            no_trace(&lab, &told);
            points += 1;
            if faults.seen() < again {
                break;
            }
        }
    }
    assert!(points > 200, "only {points} points");
    println!("{points} points: {found:?}");
}

#[test]
fn whatever_call_fails_the_tree_is_as_before_or_as_asked_and_the_answer_says_which() {
    let (before, after) = (timeless(lab().tree()), asked());
    let mut found = Found::default();
    let mut points = 0;
    for errno in [
        "ENOSPC", "EIO", "EACCES", "EDQUOT", "EROFS", "EPERM", "EXDEV",
    ] {
        for span in ["", "+"] {
            points += sweep(errno, span, |lab, finished, told| {
                let stuck = finished.effect == Effect::Unknown;
                if !stuck {
                    let tree = timeless(lab.tree());
                    let wanted = match status(finished) {
                        Some(Status::Success) => &after,
                        _ => &before,
                    };
                    assert_eq!(tree, *wanted, "{told}: {finished:#?}");
                }
                settle(lab, told);
                found.count(lab.tree(), &before, &after, told);
                no_trace(lab, told);
            });
        }
    }
    assert!(points > 500, "only {points} points");
    println!("{points} points: {found:?}");
}

/// Stopped after the first of two changes was made. How busy the machine is must not change the number of calls.
pub(super) fn half() -> Lab {
    let stopped = |at: u64| {
        let lab = Lab::new(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
        let both = [
            replace("a001", "a.txt", "one", "eins"),
            replace("a002", "b.txt", "two", "zwei"),
        ];
        let faults = Arc::new(Faults::parse(&format!("each-barrier,stop@{at}")));
        lab.run_with(plan(json!(both)), &faults);
        (lab.read("a.txt") == "eins\n" && lab.read("b.txt") == "two\n").then_some(lab)
    };
    (1..200).find_map(stopped).unwrap()
}

/// Cuts a file to that many bytes. It stays the same file.
pub(super) fn cut(path: &Utf8Path, length: usize) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(length as u64).unwrap();
}

#[test]
fn where_the_journal_says_nothing_no_original_is_removed_and_a_person_can_settle_it() {
    let checkpoint: &[&str] = &["backups", "rollback_manifest.json"];
    for (length, without) in [
        (None, &[][..]),
        (Some(0), &[]),
        (Some(60), &[]),
        (Some(0), &["rollback_manifest.json"]),
        (None, &checkpoint[..1]),
        (None, checkpoint),
    ] {
        let lab = half();
        let report = lab.reports().remove(0);
        let journal = report.join("journal");
        match length {
            None => fs::remove_file(journal).unwrap(),
            Some(length) => {
                cut(&journal, length);
            }
        }
        for part in without {
            let part = report.join(part);
            let removed = fs::remove_dir_all(&part).or_else(|_| fs::remove_file(&part));
            removed.unwrap();
        }
        let told = format!("{length:?} {without:?}");
        let stuck = recovered(&lab, &Arc::new(Faults::default())).unwrap_err();
        assert!(
            stuck.contains("no journal that says what was changed"),
            "{told}: {stuck}"
        );
        let slot = report.join("staged/0");
        assert_eq!(fs::read_to_string(&slot).unwrap(), "one\n", "{told}");
        assert_eq!(lab.read("a.txt"), "eins\n", "{told}");
        if !without.contains(&"backups") {
            let backup = report.join("backups/a.txt.bak");
            assert_eq!(fs::read_to_string(backup).unwrap(), "one\n", "{told}");
        }
        fs::copy(slot, lab.root.join("a.txt")).unwrap();
        fs::remove_dir_all(report).unwrap();
        settle(&lab, &told);
    }
}

#[test]
fn a_journal_that_was_cut_to_its_beginning_has_nothing_removed() {
    let lab = half();
    let report = lab.reports().remove(0);
    let text = fs::read(report.join("journal")).unwrap();
    let first = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    cut(&report.join("journal"), first);
    let stuck = recovered(&lab, &Arc::new(Faults::default())).unwrap_err();
    assert!(
        stuck.contains("no journal that says what was changed"),
        "{stuck}"
    );
    assert_eq!(
        fs::read_to_string(report.join("staged/0")).unwrap(),
        "one\n"
    );
}

#[test]
fn a_journal_that_was_cut_after_its_entries_hides_no_change() {
    let lab = half();
    let journal = lab.reports().remove(0).join("journal");
    let text = fs::read(&journal).unwrap();
    let mut ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let (second, _) = ends.nth(1).unwrap();
    cut(&journal, second + 1);
    settle(&lab, "cut");
    assert_eq!(
        (lab.read("a.txt").as_str(), lab.read("b.txt").as_str()),
        ("one\n", "two\n")
    );
    no_trace(&lab, "cut");
}

/// The note is renamed to its place when it is whole: a crash before that leaves it under another name.
#[test]
fn a_note_that_was_never_finished_is_cleared_away_with_its_directory() {
    let lab = lab();
    let reports = lab.root.join("agent_outputs/reports");
    fs::create_dir_all(reports.join("begun")).unwrap();
    fs::create_dir_all(reports.join(".unfinished")).unwrap();
    let marks = reports.join(".unfinished");
    fs::write(marks.join(".begun.new"), "{").unwrap();
    // No plan makes such names; they neither stop the recovery nor go.
    for planted in ["..new", "...new", "....new"] {
        fs::write(marks.join(planted), "").unwrap();
    }
    fs::create_dir(marks.join(".foo.new")).unwrap();
    let desk = Desk {
        host: lab.host,
        root: &lab.root,
        task_id: "task_1",
        operation_id: "op_1",
        begun: lab.host.moment(),
        budget: None,
        own: &Vec::new,
        course: &Course::default(),
    };
    assert_eq!(recover(desk), Settled::default());
    assert!(!reports.join("begun").exists());
    for planted in ["..new", "...new", "....new", ".foo.new"] {
        assert!(marks.join(planted).exists(), "{planted}");
    }
    fs::remove_dir_all(&marks).unwrap();
    no_trace(&lab, "recovered");
}
