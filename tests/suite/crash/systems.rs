//! File plans on file systems that lack what plans use: rename flags, hard links, birth times, lasting inode numbers
//! (R-001-98, R-001-125). Everything works there, and a plan that is killed leaves the old or the new tree.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write,
    path::Path,
    thread,
    time::Duration,
};

use camino::Utf8Path;
use serde_json::{Value, json};

use super::{
    disks::{say, tested},
    lab::{
        End, Fault, Lab, all, approved, create, delete, memory, oneact, rename, replace, run,
        run_deciding,
    },
    shown::{Shown, System},
};
use crate::{
    program::until,
    tracer::{Act, Kind, first, is_refused},
};

/// The content by path: not every system keeps modes and times.
type Contents = BTreeMap<String, Vec<u8>>;

fn contents(root: &Utf8Path) -> Contents {
    let mut found = Contents::new();
    collect(root, root, &mut found);
    found
}

fn collect(dir: &Utf8Path, root: &Utf8Path, found: &mut Contents) {
    for entry in dir.read_dir_utf8().unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        let name = path.strip_prefix(root).unwrap().to_string();
        if name.starts_with("agent_") || name == ".oneact" {
            continue;
        }
        if path.is_dir() {
            found.insert(format!("{name}/"), Vec::new());
            collect(path, root, found);
        } else {
            found.insert(name, fs::read(path).unwrap());
        }
    }
}

/// Files that a plan changes, creates, deletes and renames.
fn filled(shown: &Shown) -> Lab {
    let lab = Lab::empty(&shown.path());
    for (name, content) in [
        ("a.txt", "one\n"),
        ("gone.txt", "gone\n"),
        ("old.txt", "old\n"),
        ("sub/data.json", "{\n  \"old\": 1.0\n}\n"),
        ("beside.txt", "not of the plan\n"),
    ] {
        lab.write(name, content);
    }
    lab
}

fn task() -> Value {
    approved(&json!([
        replace("a001", "a.txt", "one", "eins"),
        replace("a002", "sub/data.json", "old", "new"),
        delete("a003", "gone.txt"),
        rename("a004", "old.txt", "sub/new.txt"),
        create("a005", "x/y/n.txt", "new\n"),
        create("a006", "old.txt", "another\n"),
    ]))
}

fn command(lab: &Lab, arguments: &[&str]) -> End {
    let mut command = oneact(&lab.root);
    command.args(arguments);
    run(command, &Value::Null)
}

/// The newest report directory, relative to the root.
fn last_report(lab: &Lab) -> String {
    let reports = lab.root.join("agent_outputs/reports");
    let names = reports.read_dir_utf8().unwrap().flatten();
    let names = names.map(|entry| entry.file_name().to_owned());
    let last = names.filter(|name| !name.starts_with('.')).max().unwrap();
    format!("agent_outputs/reports/{last}")
}

/// What the dry run, the plan and its rollback do; the guarantees that the plan told.
fn performed(shown: &Shown, told: &str) -> (Contents, Contents, Value) {
    let lab = filled(shown);
    let old = contents(&lab.root);
    let mut dry = oneact(&lab.root);
    dry.args(["run", "--dry-run"]);
    let dry = run(dry, &task());
    dry.succeeded(told);
    assert_eq!(contents(&lab.root), old, "{told}");
    // Found after the last change, a failure undoes all of them in the same run.
    let mut failing = task();
    failing["task_plan"]["action_plan"][0]["validation_rules"] =
        json!([{"type": "contains", "text": "NOPE", "on_failure": "rollback"}]);
    let failed = lab.run(&failing, Fault::None);
    assert_eq!(failed.fault(), "rule_failed", "{told}: {}", failed.stdout);
    assert_eq!(contents(&lab.root), old, "{told}: {}", failed.stdout);
    let end = lab.run(&task(), Fault::None);
    end.succeeded(told);
    let new = contents(&lab.root);
    assert_ne!(new, old, "{told}");
    let report = last_report(&lab);
    let guarantees = fs::read(lab.root.join(&report).join("execution_report.json")).unwrap();
    let guarantees = serde_json::from_slice::<Value>(&guarantees).unwrap()["guarantees"].take();
    let undone = command(&lab, &["rollback", "--json", "--yes", &report]);
    undone.succeeded(told);
    assert_eq!(contents(&lab.root), old, "{told}");
    (old, new, guarantees)
}

/// The plan is killed at every so many calls, and recovered, with a confirmation where nothing proves the journal:
/// the tree is the old or the new one. `why` is what the refusal says then.
fn killed(shown: &Shown, (old, new): (&Contents, &Contents), why: Option<&str>, told: &str) {
    let (mut olds, mut news, mut asked) = (0, 0, 0);
    for at in (1..).step_by(if all() { 1 } else { 9 }) {
        let lab = filled(shown);
        let fault = Fault::Kill(at);
        let told = format!("{told}, {fault}");
        let end = lab.run(&task(), fault);
        let recovered = command(&lab, &["recover", "--json"]);
        if recovered.exit != Some(0) {
            let why = why.unwrap_or_else(|| panic!("{told}: {}", recovered.stdout));
            assert!(
                recovered.stdout.contains(why),
                "{told}: {}",
                recovered.stdout
            );
            asked += 1;
            let report = super::report(&lab);
            let confirmed = command(&lab, &["recover", "--json", "--yes", &report]);
            confirmed.succeeded(&told);
        }
        let marks = lab.root.join("agent_outputs/reports/.unfinished");
        let left: Vec<_> = marks.read_dir_utf8().into_iter().flatten().collect();
        assert!(left.is_empty(), "{told}: {left:?}");
        let now = contents(&lab.root);
        assert!(now == *old || now == *new, "{told}: {now:?}");
        if now == *old {
            olds += 1;
        } else {
            news += 1;
        }
        if !end.killed {
            assert_eq!(now, *new, "{told}");
            break;
        }
    }
    say(&format!(
        "{told}: {olds} old, {news} new, {asked} confirmed"
    ));
    assert!(olds > 3 && news > 0, "{told}");
    assert_eq!(asked > 0, why.is_some(), "{told}");
}

const NO_BIRTHS: Option<&str> = Some("keeps no birth times");

/// A system works as a whole. `capture` is what the report promises of the changes, and why.
fn works(system: System, capture: (&str, Option<&str>), why: Option<&str>) {
    if is_refused() {
        return;
    }
    let told = format!("{system:?}");
    let Some(shown) = tested(&told, Shown::new(system)) else {
        return;
    };
    let (old, new, guarantees) = performed(&shown, &told);
    let (strength, reason) = capture;
    assert_eq!(guarantees["capture"], strength, "{told}: {guarantees}");
    assert_eq!(guarantees["capture_reason"].as_str(), reason, "{told}");
    killed(&shown, (&old, &new), why, &told);
}

const NO_EXCHANGE: Option<&str> = Some("the file system cannot exchange two names");

#[test]
fn without_rename_flags_a_plan_is_all_or_nothing() {
    works(System::Bindfs, ("weak", NO_EXCHANGE), NO_BIRTHS);
}

#[test]
fn without_hard_links_a_plan_is_all_or_nothing() {
    works(System::ExFat, ("weak", NO_EXCHANGE), NO_BIRTHS);
}

#[test]
fn where_a_hard_link_changes_the_size_of_a_file_a_plan_is_all_or_nothing() {
    works(System::Gocryptfs, ("strong", None), NO_BIRTHS);
}

#[test]
fn where_a_rename_cuts_the_time_of_a_file_a_plan_is_all_or_nothing() {
    works(System::Encfs, ("weak", NO_EXCHANGE), NO_BIRTHS);
}

#[test]
fn where_two_names_of_a_file_have_two_inode_numbers_a_plan_is_all_or_nothing() {
    works(System::Sshfs, ("weak", NO_EXCHANGE), NO_BIRTHS);
}

#[test]
fn on_other_file_systems_in_user_space_a_plan_is_all_or_nothing() {
    works(System::Mergerfs, ("weak", NO_EXCHANGE), NO_BIRTHS);
    works(System::Ntfs, ("weak", NO_EXCHANGE), NO_BIRTHS);
}

#[test]
fn without_birth_times_a_plan_is_all_or_nothing() {
    works(System::SmallInodes, ("strong", None), NO_BIRTHS);
}

/// The server of sftp answers only "Failure" then, and the disk is asked.
#[test]
fn a_full_disk_behind_a_file_system_in_user_space_is_told_as_a_full_disk() {
    let Some(shown) = tested("a full disk", Shown::new(System::SmallSshfs)) else {
        return;
    };
    let mut full = 0;
    for free in [0, 20, 60, 200, 300, 400] {
        let told = format!("{free} KiB free");
        let lab = Lab::empty(&shown.path());
        let large = "a line of the file\n".repeat(4000);
        for name in ["a.txt", "b.txt", "c.txt"] {
            lab.write(name, &format!("one\n{large}"));
        }
        let old = contents(&lab.root);
        let kept = shown.kept();
        let room = rustix::fs::statvfs(&kept).unwrap();
        let room = usize::try_from(room.f_bavail * room.f_frsize).unwrap();
        fs::write(kept.join("ballast"), vec![0; room - free * 1024]).unwrap();
        let task = approved(&json!([
            replace("a001", "a.txt", "one", "eins"),
            replace("a002", "b.txt", "one", "eins"),
            rename("a003", "c.txt", "d.txt"),
        ]));
        let end = lab.run(&task, Fault::None);
        if end.exit != Some(0) {
            assert_eq!(end.fault(), "disk_full", "{told}: {}", end.stdout);
            assert_eq!(contents(&lab.root), old, "{told}");
            full += 1;
        }
        fs::remove_file(kept.join("ballast")).unwrap();
        if end.exit != Some(0) {
            lab.run(&task, Fault::None).succeeded(&told);
        }
    }
    assert!(full > 3, "{full}");
}

/// sshfs tells times in seconds, so that a save in the same second has the same facts. Each rename waits, so that the time between
/// the checkpoint and the deletion is long. The plan is then undone, checked again, and performed on what was saved.
#[test]
fn a_file_that_another_host_saves_before_it_is_deleted_is_not_lost() {
    if is_refused() {
        return;
    }
    let Some(shown) = tested("another host", Shown::new(System::Sshfs)) else {
        return;
    };
    let lab = Lab::empty(&shown.path());
    lab.write("a.txt", "version 1\n");
    let there = shown.kept().join(lab.root.file_name().unwrap());
    let kept = |there: &Path, name: &str| {
        let mut reports = fs::read_dir(there.join("agent_outputs/reports"))
            .ok()?
            .flatten();
        reports.find_map(|report| fs::read(report.path().join(name)).ok())
    };
    let saver = thread::spawn(move || {
        until("the checkpoint is made", || {
            kept(&there, "rollback_manifest.json")
        });
        let second = fs::metadata(there.join("a.txt")).unwrap().modified();
        let mut new = File::create(there.join("a.new")).unwrap();
        new.write_all(b"version 2\n").unwrap();
        new.set_modified(second.unwrap()).unwrap();
        fs::rename(there.join("a.new"), there.join("a.txt")).unwrap();
        there
    });
    let task = approved(&json!([delete("a001", "a.txt")]));
    let end = run_deciding(&oneact(&lab.root), &lab.root, &task, |call| {
        if call.kind == Kind::Rename {
            thread::sleep(Duration::from_millis(300));
        }
        Act::Go
    });
    let there = saver.join().unwrap();
    let saved = fs::read(there.join("a.txt"))
        .ok()
        .or_else(|| kept(&there, "backups/a.txt.bak"));
    assert_eq!(
        saved.as_deref(),
        Some(b"version 2\n".as_slice()),
        "{}",
        end.stdout
    );
}

/// A container that is started again has another inode of its root.
#[test]
fn after_an_overlay_is_mounted_again_a_refused_journal_names_this_cause() {
    if is_refused() {
        return;
    }
    let Some(shown) = tested("an overlay", Shown::new(System::Overlay)) else {
        return;
    };
    let (old, new, _) = performed(&shown, "an overlay");
    // Killed after the first change that another program can see.
    let lab = filled(&shown);
    let made = lab.root.join("x/y/n.txt");
    let kill = first(move |_| made.exists(), Act::Kill);
    let end = run_deciding(&oneact(&lab.root), &lab.root, &task(), kill);
    assert!(end.killed, "{end:?}");
    shown.remount();
    let refused = lab.run(&task(), Fault::None);
    assert_eq!(refused.fault(), "journal_foreign");
    let problem = refused.envelope()["error"]["error_message"].to_string();
    assert!(problem.contains("the overlay file system of the root was mounted again"));
    assert!(!problem.contains("copied") && !problem.contains("birth times"));
    let report = last_report(&lab);
    command(&lab, &["recover", "--json", "--yes", &report]).succeeded("confirmed");
    let now = contents(&lab.root);
    assert!(now == old || now == new);
}

#[test]
fn init_works_without_hard_links_and_replaces_nothing() {
    let Some(shown) = tested("exFAT", Shown::new(System::ExFat)) else {
        return;
    };
    let lab = Lab::empty(&shown.path());
    lab.write("agent/executional/action.md", "mine\n");
    let made = command(&lab, &["init"]);
    made.succeeded("init");
    assert!(lab.root.join("catalog.toml").exists());
    assert_eq!(lab.read("agent/executional/action.md"), "mine\n");
    let again = command(&lab, &["init"]);
    assert_eq!(again.exit, Some(2), "{}", again.stderr);
    let listed = command(&lab, &["catalog", "list"]);
    listed.succeeded("the catalog");
    assert!(!made.stderr.contains("WARN") && !listed.stderr.contains("WARN"));
}

#[test]
fn doctor_names_what_the_file_system_lacks() {
    let lacks = |lab: &Lab| {
        command(lab, &["init"]).succeeded("init");
        let report = command(lab, &["doctor", "--json"]).envelope();
        let findings = report["findings"].as_array().unwrap().clone();
        let limited = findings.iter().find(|it| it["finding"] == "plans_limited");
        let left = lab.root.read_dir_utf8().unwrap().flatten();
        let probes = left.filter(|entry| entry.file_name().contains("probe"));
        assert_eq!(probes.count(), 0);
        limited.map_or(Value::Null, |finding| finding["detail"].clone())
    };
    assert_eq!(lacks(&Lab::empty(memory())), Value::Null);
    for (system, words) in [
        (
            System::ExFat,
            &["exchange", "without replacing", "hard links", "birth times"][..],
        ),
        (
            System::Bindfs,
            &["exchange", "without replacing", "birth times"],
        ),
        (System::SmallInodes, &["birth times"]),
    ] {
        let Some(shown) = tested("doctor", Shown::new(system)) else {
            continue;
        };
        let found = lacks(&Lab::empty(&shown.path()));
        let found = found.as_array().unwrap();
        assert_eq!(found.len(), words.len(), "{found:?}");
        for word in words {
            assert!(found.iter().any(|lack| lack.to_string().contains(word)));
        }
    }
}
