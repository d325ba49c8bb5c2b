//! What a recovery does after others have been at work on what a killed plan has left: in the tree, in its reports, and with
//! its notes.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use super::{
    lab::{
        End, Lab, approved, delete, memory, oneact, rename, replace, run, run_deciding, run_under,
    },
    report,
};
use crate::{
    crash::lab::Fault,
    tracer::{Act, first, is_refused},
};

/// A tree in which a plan is killed, and the actions of the plan.
fn lab() -> Lab {
    let lab = Lab::empty(memory());
    lab.write("a.txt", "one\n");
    lab.write("b.txt", "two\n");
    lab
}

fn both(change: &Value) -> Value {
    approved(&json!([change, replace("a002", "b.txt", "two", "zwei")]))
}

fn edit() -> Value {
    replace("a001", "a.txt", "one", "eins")
}

/// Kills a plan before the first call at which that is so.
fn killed_when(lab: &Lab, task: &Value, is_so: impl Fn(&Utf8Path) -> bool + Send + 'static) {
    let root = lab.root.clone();
    let kill = first(move |_| is_so(&root), Act::Kill);
    let end = run_deciding(&oneact(&lab.root), &lab.root, task, kill);
    assert!(end.killed, "{end:?}");
}

fn has(root: &Utf8Path, name: &str, content: &str) -> bool {
    fs::read_to_string(root.join(name)).is_ok_and(|now| now == content)
}

/// Killed after the first of two changes.
fn half() -> Lab {
    let lab = lab();
    killed_when(&lab, &both(&edit()), |root| has(root, "a.txt", "eins\n"));
    assert_eq!(lab.read("b.txt"), "two\n");
    lab
}

/// Killed when every change was made, but not recorded as done.
fn made(change: &Value, prepare: impl Fn(&Utf8Path)) -> Lab {
    let lab = lab();
    prepare(&lab.root.join("a.txt"));
    killed_when(&lab, &both(change), |root| has(root, "b.txt", "zwei\n"));
    lab
}

/// Killed when it was finished, and its note and the old file are left.
fn finished_but_not_tidied() -> Lab {
    let lab = lab();
    let task = approved(&json!([edit()]));
    killed_when(&lab, &task, |root| {
        let reports = root.join("agent_outputs/reports");
        let mut reports = reports.read_dir_utf8().into_iter().flatten().flatten();
        reports.any(|report| {
            let journal = fs::read(report.path().join("journal")).unwrap_or_default();
            let is_done = String::from_utf8_lossy(&journal).contains("\"done\"");
            is_done && report.path().join("staged/0").exists()
        })
    });
    lab
}

/// The report directory of the only plan.
fn report_of(lab: &Lab) -> Utf8PathBuf {
    lab.root.join(report(lab))
}

fn notes(lab: &Lab) -> Utf8PathBuf {
    lab.root.join("agent_outputs/reports/.unfinished")
}

/// What a recovery says, one sentence for each plan, and whether it leaves none open.
fn recovered(lab: &Lab) -> (Vec<String>, bool) {
    recovered_by(lab, &[])
}

fn recovered_by(lab: &Lab, arguments: &[&str]) -> (Vec<String>, bool) {
    let mut command = oneact(&lab.root);
    command.args(["recover", "--json"]).args(arguments);
    told(&run(command, &Value::Null))
}

fn told(end: &End) -> (Vec<String>, bool) {
    let said = &end.envelope()["settled"];
    let said = said.as_array().unwrap().iter();
    let said = said.map(|line| line.as_str().unwrap().to_owned());
    (said.collect(), end.exit == Some(0))
}

/// Nobody has to do anything: the tree is the old one.
fn settled(lab: &Lab) -> Vec<String> {
    let (told, is_settled) = recovered(lab);
    assert!(is_settled, "{told:?}");
    told
}

fn is_old(lab: &Lab) -> bool {
    has(&lab.root, "a.txt", "one\n") && has(&lab.root, "b.txt", "two\n")
}

/// Cuts a file to that many bytes. It stays the same file.
fn cut(path: &Utf8Path, length: usize) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(length as u64).unwrap();
}

/// The bytes of a journal up to the end of that line, counted from 0.
fn end_of_line(journal: &Utf8Path, line: usize) -> usize {
    let text = fs::read(journal).unwrap();
    let mut ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    ends.nth(line).unwrap().0 + 1
}

/// Kills a recovery at its calls, one after the other, each in a tree of its own.
fn killed_recoveries(made: impl Fn() -> Lab, mut after: impl FnMut(&Lab, &str)) {
    for at in 1.. {
        let lab = made();
        let mut command = oneact(&lab.root);
        command.args(["recover", "--json"]);
        let end = run_under(command, &lab.root, &Value::Null, Fault::Kill(at));
        after(&lab, &format!("killed at {at}: {end:?}"));
        if !end.killed {
            break;
        }
    }
}

#[test]
fn where_the_journal_says_nothing_no_original_is_removed_and_a_person_can_settle_it() {
    if is_refused() {
        return;
    }
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
        let report = report_of(&lab);
        let journal = report.join("journal");
        match length {
            None => fs::remove_file(journal).unwrap(),
            Some(length) => cut(&journal, length),
        }
        for part in without {
            let part = report.join(part);
            let removed = fs::remove_dir_all(&part).or_else(|_| fs::remove_file(&part));
            removed.unwrap();
        }
        let told = format!("{length:?} {without:?}");
        let (said, is_settled) = recovered(&lab);
        assert!(!is_settled, "{told}: {said:?}");
        let why = "no journal that says what was changed";
        assert!(said[0].contains(why), "{told}: {said:?}");
        assert!(has(&report, "staged/0", "one\n"), "{told}");
        assert_eq!(lab.read("a.txt"), "eins\n", "{told}");
        fs::copy(report.join("staged/0"), lab.root.join("a.txt")).unwrap();
        fs::remove_dir_all(report).unwrap();
        settled(&lab);
    }
}

#[test]
fn a_journal_that_was_cut_to_its_beginning_has_nothing_removed() {
    if is_refused() {
        return;
    }
    let lab = half();
    let journal = report_of(&lab).join("journal");
    cut(&journal, end_of_line(&journal, 0));
    let (said, is_settled) = recovered(&lab);
    let why = "no journal that says what was changed";
    assert!(!is_settled && said[0].contains(why), "{said:?}");
    assert!(has(&report_of(&lab), "staged/0", "one\n"));
}

#[test]
fn a_journal_that_was_cut_after_its_changes_hides_none_of_them() {
    if is_refused() {
        return;
    }
    let lab = half();
    let journal = report_of(&lab).join("journal");
    cut(&journal, end_of_line(&journal, 2));
    lab.settled("cut");
    assert!(is_old(&lab));
}

#[test]
fn a_recovery_that_is_repeated_names_the_same_conflicts() {
    if is_refused() {
        return;
    }
    let mut repeated = 0;
    let made = || {
        let lab = half();
        fs::write(lab.root.join("a.txt"), "theirs\n").unwrap();
        lab
    };
    killed_recoveries(made, |lab, told| {
        // Once the note is gone, there is nothing to tell.
        if let Some(sentence) = settled(lab).first() {
            repeated += 1;
            let words = "a.txt: it was changed since";
            assert!(sentence.contains(words), "{told}: {sentence}");
            let manifest = fs::read(report_of(lab).join("rollback_manifest.json")).unwrap();
            let manifest: Value = serde_json::from_slice(&manifest).unwrap();
            assert_eq!(manifest["status"], "ACTIVE", "{told}");
            let points = manifest["checkpoints"].as_array().unwrap();
            let point = points.iter().find(|point| point["file_path"] == "a.txt");
            assert_eq!(point.unwrap()["undone_at"], Value::Null, "{told}");
        }
        assert!(has(&report_of(lab), "staged/0", "one\n"), "{told}");
        assert_eq!(lab.read("a.txt"), "theirs\n", "{told}");
    });
    assert!(repeated > 5, "{repeated}");
}

#[test]
fn a_recovery_that_is_killed_and_repeated_keeps_and_names_what_others_wrote() {
    if is_refused() {
        return;
    }
    // The content of the changed file afterwards: only of a renamed file there is a copy.
    for (change, written, now) in [
        (edit(), None, Some("eins\n")),
        (delete("a001", "a.txt"), None, None),
        (
            rename("a001", "a.txt", "c.txt"),
            Some("c.txt"),
            Some("one\n"),
        ),
    ] {
        let place = |lab: &Lab| match written {
            Some(name) => lab.root.join(name),
            None => report_of(lab).join("staged/0"),
        };
        let made = || {
            let lab = made(&change, |_| ());
            fs::remove_file(place(&lab)).unwrap();
            fs::write(place(&lab), "theirs\n").unwrap();
            lab
        };
        let mut points = 0;
        killed_recoveries(made, |lab, told| {
            let said = settled(lab);
            let told = format!("{change} {told}: {said:?}");
            let kept = fs::read_to_string(place(lab)).unwrap();
            assert_eq!(kept, "theirs\n", "{told}");
            let found = fs::read_to_string(lab.root.join("a.txt")).ok();
            assert_eq!(found.as_deref(), now, "{told}");
            if let Some(sentence) = said.first() {
                points += 1;
                assert!(sentence.contains("a.txt: "), "{told}");
            }
        });
        assert!(points > 3, "{points}");
    }
}

#[test]
fn a_half_made_plan_is_settled_without_its_note() {
    if is_refused() {
        return;
    }
    for is_named in [true, false] {
        for are_all_gone in [false, true] {
            let lab = half();
            let report = report(&lab);
            let name = Utf8Path::new(&report).file_name().unwrap();
            if are_all_gone {
                fs::remove_dir_all(notes(&lab)).unwrap();
            } else {
                fs::remove_file(notes(&lab).join(name)).unwrap();
            }
            let arguments: &[&str] = if is_named { &["--yes", &report] } else { &[] };
            let (said, is_settled) = recovered_by(&lab, arguments);
            assert!(said.len() == 1 && is_settled, "{said:?}");
            assert!(is_old(&lab), "{said:?}");
            assert_eq!(recovered_by(&lab, arguments), (Vec::new(), true));
        }
    }
}

#[test]
fn a_note_in_whose_place_there_is_something_else_keeps_nothing_open() {
    if is_refused() {
        return;
    }
    let place: [&dyn Fn(&Utf8Path); 3] = [
        &|note| fs::create_dir(note).unwrap(),
        &|note| {
            fs::create_dir(note).unwrap();
            fs::write(note.join("file"), "theirs").unwrap();
        },
        &|note| symlink("/etc/passwd", note).unwrap(),
    ];
    for put in place {
        let lab = half();
        let note = notes(&lab).join(report_of(&lab).file_name().unwrap());
        fs::remove_file(&note).unwrap();
        put(&note);
        assert_eq!(settled(&lab).len(), 1);
        assert!(is_old(&lab));
        assert_eq!(settled(&lab), [""; 0]);
    }
}

/// The backup of a file that the plan had not reached is a second name of this file.
#[test]
fn other_permissions_of_a_file_that_the_plan_had_not_reached_are_no_conflict() {
    if is_refused() {
        return;
    }
    let lab = half();
    for name in ["a.txt", "b.txt"] {
        let path = lab.root.join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o751)).unwrap();
    }
    let said = settled(&lab);
    assert!(!said.concat().contains("is kept as"), "{said:?}");
    let names = fs::metadata(lab.root.join("b.txt")).unwrap().nlink();
    assert_eq!(names, 1, "{said:?}");
    changes_again(&lab);
}

/// A plan can change the second file.
fn changes_again(lab: &Lab) {
    let task = approved(&json!([replace("a001", "b.txt", "two", "zwei")]));
    lab.run(&task, Fault::None).succeeded("again");
}

#[test]
fn a_file_that_others_wrote_to_before_the_plan_reached_it_keeps_no_second_name() {
    if is_refused() {
        return;
    }
    for is_linked in [false, true] {
        let lab = half();
        let path = lab.root.join("b.txt");
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"more\n").unwrap();
        if is_linked {
            let slot = report_of(&lab).join("staged/1");
            fs::remove_file(&slot).unwrap();
            fs::hard_link(&path, slot).unwrap();
        }
        let said = settled(&lab);
        assert!(said[0].contains("b.txt: it was changed"), "{said:?}");
        assert_eq!(lab.read("b.txt"), "two\nmore\n");
        assert_eq!(fs::metadata(&path).unwrap().nlink(), 1, "{said:?}");
        changes_again(&lab);
    }
}

#[test]
fn what_others_put_in_the_place_of_a_directory_of_backups_keeps_no_plan_open() {
    if is_refused() {
        return;
    }
    let put: [&dyn Fn(&Utf8Path); 2] = [&|at| fs::write(at, "theirs").unwrap(), &|at| {
        symlink("/etc", at).unwrap();
    }];
    for put in put {
        let lab = lab();
        let task = both(&edit());
        killed_when(&lab, &task, |root| has(root, "b.txt", "zwei\n"));
        let at = report_of(&lab).join("backups");
        fs::remove_dir_all(&at).unwrap();
        put(&at);
        settled(&lab);
        assert!(is_old(&lab));
    }
}

#[test]
fn a_file_that_others_made_again_is_not_said_to_have_come_from_its_backup() {
    if is_refused() {
        return;
    }
    let lab = lab();
    let path = lab.root.join("a.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let task = both(&delete("a001", "a.txt"));
    killed_when(&lab, &task, |root| !root.join("a.txt").exists());
    fs::write(path, "one\n").unwrap();
    let said = settled(&lab);
    assert!(said[0].contains("or others have made it again"), "{said:?}");
}

#[test]
fn something_else_in_the_place_of_the_staged_files_is_moved_away_by_a_person() {
    if is_refused() {
        return;
    }
    let lab = half();
    let staged = report_of(&lab).join("staged");
    fs::rename(&staged, lab.root.join("away")).unwrap();
    fs::write(&staged, "else\n").unwrap();
    let (said, is_settled) = recovered(&lab);
    let words = "staged is not a directory: move it to another place";
    assert!(!is_settled && said[0].contains(words), "{said:?}");
    fs::rename(&staged, lab.root.join("else")).unwrap();
    fs::rename(lab.root.join("away"), &staged).unwrap();
    settled(&lab);
    assert!(is_old(&lab));
}

#[test]
fn a_plan_that_was_finished_is_finished_in_a_copy_of_its_root_too_if_a_person_confirms() {
    if is_refused() {
        return;
    }
    let lab = finished_but_not_tidied();
    let copy = Lab::empty(memory());
    let copied = std::process::Command::new("cp")
        .args(["-a", lab.root.join(".").as_str(), copy.root.as_str()])
        .status();
    assert!(copied.unwrap().success());
    assert!(!recovered(&copy).1);
    let report = report(&copy);
    let name = Utf8Path::new(&report).file_name().unwrap();
    let sentence = format!("The plan {name} had been finished before it was interrupted.");
    let said = recovered_by(&copy, &["--yes", &report]);
    assert_eq!(said, (vec![sentence], true));
    assert!(!copy.root.join(&report).join("staged/0").exists());
    assert_eq!(settled(&copy), [""; 0]);
}

#[test]
fn a_recovery_tells_what_others_wrote_to_the_old_file() {
    if is_refused() {
        return;
    }
    let lab = finished_but_not_tidied();
    let slot = report_of(&lab).join("staged/0");
    let mut old = fs::OpenOptions::new().append(true).open(&slot).unwrap();
    old.write_all(b"late\n").unwrap();
    let said = settled(&lab);
    assert!(said[0].contains("backups/a.txt.bak"), "{said:?}");
    let backup = report_of(&lab).join("backups/a.txt.bak");
    assert_eq!(fs::read_to_string(backup).unwrap(), "one\nlate\n");
}

/// Permissions, owner and group of a file.
fn belongings(path: &Utf8Path) -> (u32, u32, u32) {
    let facts = fs::metadata(path).unwrap();
    (facts.mode() & 0o7777, facts.uid(), facts.gid())
}

#[test]
fn what_is_put_back_from_a_copy_belongs_to_whom_it_did_or_the_answer_says_that_it_does_not() {
    if is_refused() {
        return;
    }
    // Only root can give a file to another group.
    let set = |path: &Utf8Path, mode: u32, group: u32| {
        let _ = std::os::unix::fs::chown(path, None, Some(group));
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let own_group = fs::metadata(Lab::empty(memory()).root.as_path())
        .unwrap()
        .gid();
    let change = rename("a001", "a.txt", "c.txt");
    for (mode, group) in [(0o640, own_group), (0o600, own_group), (0o640, 65_533)] {
        let lab = made(&change, |path| set(path, 0o640, own_group));
        let copy = report_of(&lab).join("staged/0");
        let before = belongings(&copy);
        fs::remove_file(&copy).unwrap();
        fs::write(&copy, "one\n").unwrap();
        set(&copy, mode, group);
        let is_same = belongings(&copy) == before;
        fs::remove_file(lab.root.join("c.txt")).unwrap();
        let said = settled(&lab).concat();
        let file = lab.root.join("a.txt");
        assert_eq!(said.contains("a.txt: "), !is_same, "{said}");
        let is_back = has(&lab.root, "a.txt", "one\n");
        assert!(!is_same || is_back && belongings(&file) == before, "{said}");
    }
}

#[test]
fn a_plan_that_made_directories_which_lead_to_files_of_oneact_is_undone() {
    if is_refused() {
        return;
    }
    let create = |target: &str| super::lab::create(target, target, "x");
    let task = approved(&json!([
        create("keys/notes.txt"),
        create("store/s9/d1.txt")
    ]));
    let (mut undone, mut kept) = (0, 0);
    for at in (1..).step_by(3) {
        let lab = Lab::empty(memory());
        lab.write("catalog.toml", "catalog = 1\n[storage]\nuri = \"store\"\n");
        let before = lab.tree();
        let end = lab.run(&task, Fault::Kill(at));
        let said = settled(&lab);
        if lab.tree() == before {
            undone += 1;
        } else {
            let report = report(&lab);
            lab.rollback(&report, Fault::None).succeeded("rolled back");
            assert_eq!(lab.tree(), before, "killed at {at}: {said:?}");
            kept += 1;
        }
        if !end.killed {
            break;
        }
    }
    assert!(undone > 3 && kept > 0, "{undone} {kept}");
}
