//! What recovery and rollback do after others have been at work in a report directory.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use super::*;
use crate::{
    plan::{Fate, Settled, fate, recover, rollback::rollback},
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

/// Rolls the first plan of the lab back.
pub(super) fn undo_the_first(lab: &Lab) {
    let order = RollbackOrder {
        plan: PlanName::Path(lab.reports().remove(0).to_string()),
        checkpoints: Vec::new(),
        by: Asker::Person,
    };
    let undone = rollback(&order, &Sanction::None, desk(lab, &Course::default()));
    assert_eq!(undone.failure, None, "{undone:#?}");
}

/// Cuts a file to that many bytes. It stays the same file.
fn cut(path: &Utf8Path, length: usize) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(length as u64).unwrap();
}

/// Cuts a journal to its first line.
fn cut_to_beginning(report: &Utf8Path) {
    let journal = report.join("journal");
    let text = fs::read(&journal).unwrap();
    let first = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    cut(&journal, first);
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
fn a_journal_that_was_not_written_here_is_not_followed_and_no_file_is_said_to_change() {
    let lab = Lab::new(&[("a.txt", "one\n")]);
    let reports = lab.root.join("agent_outputs/reports");
    fs::create_dir_all(reports.join(".unfinished")).unwrap();
    fs::create_dir(reports.join("hostile")).unwrap();
    fs::write(reports.join(".unfinished/hostile"), "{}").unwrap();
    // To look at what it names would fail.
    symlink("/", lab.root.join("link")).unwrap();
    let lines = [
        json!({"begin": {"version": 1, "operation": "op_1", "root": 1}}),
        json!({"beside": "link/.oneact-hostile-0"}),
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
    cut(&reports.join("hostile/journal"), 17 << 20);
    let told = settled(&lab);
    assert!(told.told[0].contains("has no first record"), "{told:?}");
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

/// Reports are output: what stands in the place of one keeps no plan open.
#[test]
fn a_finished_plan_whose_report_cannot_be_made_again_is_settled() {
    let lab = Lab::new(&[("a.txt", "one\n")]);
    let finished = lab.run(plan(json!([replace("a001", "a.txt", "one", "two")])));
    assert_eq!(status(&finished), Some(Status::Success), "{finished:#?}");
    let report = lab.reports().remove(0);
    let log = report.join("change_log.json");
    fs::remove_file(&log).unwrap();
    fs::create_dir(&log).unwrap();
    let notes = lab.root.join("agent_outputs/reports/.unfinished");
    fs::write(notes.join(report.file_name().unwrap()), "{}").unwrap();
    let told = settled(&lab);
    assert_eq!(told.open, 0, "{told:?}");
}
