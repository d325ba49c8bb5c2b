//! What recovery and rollback do after others have been at work in a report directory.

use std::{io::Write, os::unix::fs::symlink};

use super::{
    crash::{cut, half, recovered},
    *,
};
use crate::{
    plan::{asking::Fate, asking::fate, rollback::rollback},
    task::{Belief, PlanName, Reach, RollbackOrder},
};

fn desk<'a>(lab: &'a Lab, course: &'a Course) -> Desk<'a> {
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

fn settled(lab: &Lab) -> Settled {
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

#[test]
fn a_plan_with_a_cut_journal_was_not_made_only_if_nothing_else_lies_there() {
    let lab = Lab::new(&[("a.txt", "one\n")]);
    let finished = lab.run(plan(json!([replace("a001", "a.txt", "one", "two")])));
    assert_eq!(status(&finished), Some(Status::Success), "{finished:#?}");
    let report = lab.reports().remove(0);
    cut_to_beginning(&report);
    let told = || fate(desk(&lab, &Course::default()), "op_1");
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
    fs::write(note.join(report.file_name().unwrap()), "{}").unwrap();
    assert_eq!(told(), Fate::Unknown);
}
