//! What recovery and rollback do after others have been at work in a report directory.

use std::{
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    thread,
};

use super::{
    crash::{cut, half, recovered, sweep},
    *,
};
use crate::{
    plan::{Consent, Fate, fate, rollback::rollback},
    task::{Asker, PlanName, Reach, RollbackOrder, Sanction},
};

pub(super) fn desk<'a>(lab: &'a Lab, course: &'a Course) -> Desk<'a> {
    Desk {
        host: lab.host,
        root: &lab.root,
        task_id: "task_1",
        operation_id: "op_1",
        begun: lab.host.moment(),
        budget: None,
        own: &Vec::new,
        course,
    }
}

pub(super) fn settled(lab: &Lab) -> Settled {
    recover(desk(lab, &Course::default()))
}

fn manifest(lab: &Lab) -> Value {
    let path = lab.reports().remove(0).join("rollback_manifest.json");
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Cuts a journal to its first line.
fn cut_to_beginning(report: &Utf8Path) {
    let journal = report.join("journal");
    let text = fs::read(&journal).unwrap();
    let first = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    cut(&journal, first);
}

#[test]
fn a_recovery_that_is_repeated_names_the_same_conflicts() {
    let mut repeated = 0;
    for at in 1..100 {
        let lab = half();
        fs::write(lab.root.join("a.txt"), "theirs\n").unwrap();
        let faults = Arc::new(Faults::parse(&format!("stop@{at}")));
        let first = recovered(&lab, &faults);
        if faults.seen() < at {
            break;
        }
        let again = settled(&lab);
        let told = format!("stopped at {at}: {first:?}, {again:?}");
        assert_eq!(again.open, 0, "{told}");
        // Once the note is gone, there is nothing to tell.
        if let Some(sentence) = again.told.first() {
            repeated += 1;
            assert!(sentence.contains("a.txt: it was changed since"), "{told}");
            let manifest = manifest(&lab);
            assert_eq!(manifest["status"], "ACTIVE", "{told}");
            let points = manifest["checkpoints"].as_array().unwrap();
            let point = points.iter().find(|point| point["file_path"] == "a.txt");
            assert_eq!(point.unwrap()["undone_at"], Value::Null, "{told}");
        }
        let backup = lab.reports().remove(0).join("backups/a.txt.bak");
        assert_eq!(fs::read_to_string(backup).unwrap(), "one\n", "{told}");
        assert_eq!(lab.read("a.txt"), "theirs\n", "{told}");
    }
    assert!(repeated > 5, "{repeated}");
}

/// Stopped when every change of this plan was made, but not recorded as done.
pub(super) fn made(change: &Value, prepare: &dyn Fn(&Utf8Path)) -> Lab {
    let stopped = |at: u64| {
        let lab = Lab::new(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
        prepare(&lab.root.join("a.txt"));
        let both = json!([change, replace("a002", "b.txt", "two", "zwei")]);
        let faults = Arc::new(Faults::parse(&format!("each-barrier,stop@{at}")));
        lab.run_with(plan(both), &faults);
        (lab.read("b.txt") == "zwei\n").then_some(lab)
    };
    (1..200).find_map(stopped).unwrap()
}

#[test]
fn a_recovery_that_is_killed_and_repeated_keeps_and_names_what_others_wrote() {
    let act = |kind: &str, operation: Value| json!({"action_id": "a001", "action_type": kind, "target": "a.txt", "operation": operation});
    let slot = "staged/0";
    for (change, written) in [
        (replace("a001", "a.txt", "one", "eins"), slot),
        (act("FILE_DELETE", json!({"type": "delete"})), slot),
        (
            act(
                "FILE_RENAME",
                json!({"type": "rename", "new_path": "c.txt"}),
            ),
            "c.txt",
        ),
    ] {
        let mut points = 0;
        for at in 1.. {
            let lab = made(&change, &|_| ());
            let report = lab.reports().remove(0);
            let theirs = match written {
                "c.txt" => lab.root.join(written),
                slot => report.join(slot),
            };
            fs::remove_file(&theirs).unwrap();
            fs::write(&theirs, "theirs\n").unwrap();
            let faults = Arc::new(Faults::parse(&format!("stop@{at}")));
            let first = recovered(&lab, &faults);
            let again = settled(&lab);
            let told = format!("{change} stopped at {at}: {first:?}, {again:?}");
            let kept = [theirs, report.join("backups/a.txt.bak")];
            let mut kept = kept.iter().filter_map(|path| fs::read_to_string(path).ok());
            assert!(kept.any(|text| text == "theirs\n"), "{told}");
            assert_eq!(lab.read("a.txt"), "one\n", "{told}");
            if faults.seen() < at {
                break;
            }
            if let Some(sentence) = again.told.first() {
                points += 1;
                assert!(sentence.contains("a.txt: "), "{told}");
            }
        }
        assert!(points > 3, "{points}");
    }
}

#[test]
fn a_plan_with_a_cut_journal_was_not_made_only_if_nothing_else_lies_there() {
    let lab = Lab::new(&[("a.txt", "one\n")]);
    let finished = lab.run(plan(json!([replace("a001", "a.txt", "one", "two")])));
    assert_eq!(status(&finished), Some(Status::Success), "{finished:#?}");
    let report = lab.reports().remove(0);
    cut_to_beginning(&report);
    let told = || fate(desk(&lab, &Course::default()), "op_1", &mut Vec::new()).unwrap();
    let parts = [
        "rollback_manifest.json",
        "backups",
        "rollback.sh",
        "change_log.json",
        "execution_report.json",
    ];
    for part in parts {
        assert_eq!(told(), Fate::Unknown, "before {part} is removed");
        let part = report.join(part);
        let removed = fs::remove_dir_all(&part).or_else(|_| fs::remove_file(&part));
        removed.unwrap();
    }
    assert_eq!(told(), Fate::NotMade);
    let note = lab.root.join("agent_outputs/reports/.unfinished");
    let note = note.join(report.file_name().unwrap());
    fs::write(&note, "{}").unwrap();
    assert_eq!(told(), Fate::NotMade);
    assert!(!note.exists());
}

#[test]
fn a_plan_that_another_run_is_settling_is_known_when_it_is_settled() {
    let lab = half();
    let root = Root::open(&lab.root).unwrap();
    assert!(root.try_lock().unwrap());
    let fate = thread::scope(|scope| {
        let asked = scope.spawn(|| {
            let course = Course::default();
            fate(desk(&lab, &course), "op_1", &mut Vec::new())
        });
        thread::sleep(Duration::from_millis(50));
        recovered(&lab, &Arc::new(Faults::default())).unwrap();
        root.unlock();
        asked.join().unwrap()
    });
    assert_eq!(fate.unwrap(), Fate::NotMade);
}

/// The one that held the lock was killed or was no run, or the note was removed.
#[test]
fn a_plan_that_nobody_settles_is_settled_when_somebody_asks_how_it_ended() {
    for noted in [true, false] {
        let lab = half();
        if !noted {
            fs::remove_dir_all(lab.root.join("agent_outputs/reports/.unfinished")).unwrap();
        }
        let mut told = Vec::new();
        let fate = fate(desk(&lab, &Course::default()), "op_1", &mut told);
        assert_eq!(fate.unwrap(), Fate::NotMade);
        assert_eq!(lab.read("a.txt"), "one\n");
        assert!(told[0].contains("rolled back"), "{told:?}");
    }
}

#[test]
fn while_a_plan_cannot_be_settled_nothing_is_said_about_how_it_ended() {
    let lab = half();
    let root = Root::open(&lab.root).unwrap();
    assert!(root.try_lock().unwrap());
    let asked = |budget| {
        let course = Course::default();
        let desk = Desk {
            budget,
            ..desk(&lab, &course)
        };
        fate(desk, "op_1", &mut Vec::new()).unwrap_err().fault
    };
    assert_eq!(asked(Some(Duration::from_millis(20))), Fault::InFlight);
    root.unlock();
    let report = lab.reports().remove(0);
    cut(&report.join("journal"), 0);
    assert_eq!(asked(None), Fault::Stuck);
}

#[test]
fn a_journal_that_was_not_written_here_is_not_followed_and_no_file_is_said_to_change() {
    let lab = Lab::new(&[("a.txt", "one\n")]);
    let reports = lab.root.join("agent_outputs/reports");
    fs::create_dir_all(reports.join(".unfinished")).unwrap();
    fs::create_dir(reports.join("hostile")).unwrap();
    fs::write(reports.join(".unfinished/hostile"), "{}").unwrap();
    // To look at what it names would fail.
    symlink("/", lab.root.join("link")).unwrap();
    let entry = json!({"remove_dir": {"path": "link/x", "slot": "link/y"}});
    let lines = [
        json!({"begin": {"version": 1, "operation": "op_1"}}),
        json!({"ready": {"entries": vec![entry; 100]}}),
    ];
    let lines = lines.map(|line| {
        let sum = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(line.to_string().as_bytes());
        format!("{sum:08x} {line}\n")
    });
    fs::write(reports.join("hostile/journal"), lines.concat()).unwrap();
    let course = Course::default();
    let own = || {
        assert_eq!(course.now(), Reach::Nothing);
        Vec::new()
    };
    let told = recover(Desk {
        own: &own,
        ..desk(&lab, &course)
    });
    assert_eq!(told.open, 1, "{told:?}");
    assert!(
        told.told[0].contains("was not written in this place"),
        "{told:?}"
    );
    // Nor is a journal read that is longer than any plan's.
    fs::write(reports.join("hostile/journal"), "\n").unwrap();
    cut(&reports.join("hostile/journal"), 5 << 20);
    let told = settled(&lab);
    assert!(told.told[0].contains("has no first record"), "{told:?}");
}

#[test]
fn a_half_made_plan_is_settled_without_its_note() {
    let named = |lab: &Lab| {
        let report = lab.reports().remove(0);
        let path = report.strip_prefix(&lab.root).unwrap().to_owned();
        let mut ask = |_: &[String]| Consent::Given;
        recover_named(desk(lab, &Course::default()), path.as_str(), &mut ask)
    };
    let all = |lab: &Lab| recover_all(desk(lab, &Course::default()));
    let ways: [&dyn Fn(&Lab) -> Settled; 2] = [&named, &all];
    for way in ways {
        for all_notes in [false, true] {
            let lab = half();
            let notes = lab.root.join("agent_outputs/reports/.unfinished");
            let name = lab.reports().remove(0).file_name().unwrap().to_owned();
            if all_notes {
                fs::remove_dir_all(&notes).unwrap();
            } else {
                fs::remove_file(notes.join(name)).unwrap();
            }
            let told = way(&lab);
            assert_eq!((told.told.len(), told.open), (1, 0), "{told:?}");
            let texts = (lab.read("a.txt"), lab.read("b.txt"));
            assert_eq!(texts, ("one\n".to_owned(), "two\n".to_owned()), "{told:?}");
            assert_eq!(way(&lab), Settled::default());
        }
    }
}

#[test]
fn a_note_in_whose_place_there_is_something_else_keeps_nothing_open() {
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
        let name = lab.reports().remove(0).file_name().unwrap().to_owned();
        let note = lab
            .root
            .join("agent_outputs/reports/.unfinished")
            .join(name);
        fs::remove_file(&note).unwrap();
        put(&note);
        let each = Arc::new(Faults::parse("each-barrier"));
        assert_eq!(recovered(&lab, &each), Ok(1));
        assert_eq!(lab.read("a.txt"), "one\n");
        assert_eq!(settled(&lab), Settled::default());
    }
}

#[test]
fn a_rollback_gives_a_file_no_permission_and_no_owner_that_the_original_did_not_have() {
    for exchanged in [false, true] {
        let lab = Lab::new(&[("a.txt", "one\n")]);
        let path = lab.root.join("a.txt");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let before = fs::metadata(&path).unwrap();
        let finished = lab.run(plan(json!([replace("a001", "a.txt", "one", "two")])));
        assert_eq!(status(&finished), Some(Status::Success), "{finished:#?}");
        let report = lab.reports().remove(0);
        let backup = report.join("backups/a.txt.bak");
        if exchanged {
            fs::remove_file(&backup).unwrap();
            fs::write(&backup, "one\n").unwrap();
            // Only root can do that.
            let _ = std::os::unix::fs::chown(&backup, Some(65534), Some(65534));
        }
        fs::set_permissions(&backup, fs::Permissions::from_mode(0o4777)).unwrap();
        let order = RollbackOrder {
            plan: PlanName::Path(report.to_string()),
            checkpoints: Vec::new(),
            by: Asker::Person,
        };
        let undone = rollback(&order, &Sanction::None, desk(&lab, &Course::default()));
        assert_eq!(undone.failure, None, "{undone:#?}");
        let now = fs::metadata(&path).unwrap();
        assert_eq!(
            (now.mode() & 0o7777, now.uid(), now.gid()),
            (0o640, before.uid(), before.gid())
        );
        assert_eq!(lab.read("a.txt"), "one\n");
    }
}

#[test]
fn a_plan_that_made_directories_which_lead_to_files_of_oneact_is_undone() {
    let create = |target: &str| {
        json!({"action_id": target, "action_type": "FILE_CREATE", "target": target,
            "operation": {"type": "create", "content": "x"}})
    };
    let both = plan(json!([create("keys/notes.txt"), create("store/s9/d1.txt")]));
    for at in 20.. {
        let lab = Lab::new(&[]);
        let own = || {
            ["keys/sign", "store/.incoming"]
                .map(|own| lab.root.join(own))
                .to_vec()
        };
        let faults = Arc::new(Faults::parse(&format!("stop@{at}")));
        let done = lab.run_as(both.clone(), &faults, &own, &Bounds::default());
        let course = Course::default();
        let desk = Desk {
            own: &own,
            ..desk(&lab, &course)
        };
        let told = recover(desk);
        assert_eq!(told.open, 0, "{told:?}");
        let finished = lab.root.join("keys").exists();
        if finished {
            let order = RollbackOrder {
                plan: PlanName::Path(lab.reports().remove(0).to_string()),
                checkpoints: Vec::new(),
                by: Asker::Person,
            };
            let undone = rollback(&order, &Sanction::None, desk);
            assert_eq!(undone.failure, None, "{done:#?}");
        }
        assert!(lab.tree().is_empty(), "{:?}", lab.tree());
        if finished {
            break;
        }
    }
}

#[test]
fn whichever_call_fails_the_journal_of_a_plan_that_changed_nothing_says_so() {
    let mut unmade = 0;
    for errno in ["ENOSPC", "EIO"] {
        sweep(errno, "", |lab, finished, told| {
            let ended = status(finished).is_some_and(|status| status != Status::Success);
            if ended && finished.effect == Effect::None {
                let fate = fate(desk(lab, &Course::default()), "op_1", &mut Vec::new());
                assert_eq!(fate.unwrap(), Fate::NotMade, "{told}: {finished:#?}");
                unmade += 1;
            }
        });
    }
    assert!(unmade > 100, "only {unmade} plans");
}
