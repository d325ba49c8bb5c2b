//! What the report directory of a finished plan shows.

use std::os::unix::fs::symlink;

use super::{recovered::desk, *};
use crate::plan::{
    Difference, PlanExhibit,
    exhibit::{Undo, exhibit},
    rollback::rollback,
};
use crate::task::{Asker, PlanName, RollbackOrder, Sanction};

fn four_kinds() -> (Lab, Value) {
    let lab = Lab::new(&[
        ("a.txt", "one\n"),
        ("b.txt", "two\n"),
        ("c.txt", "three\n"),
        ("key.txt", "token: abc\n"),
    ]);
    let mut actions = json!([
        replace("a001", "a.txt", "one", "eins"),
        {"action_id": "a002", "action_type": "FILE_DELETE", "target": "b.txt", "operation": {"type": "delete"}},
        {"action_id": "a003", "action_type": "FILE_RENAME", "target": "c.txt",
            "operation": {"type": "rename", "new_path": "d/e.txt"}},
        {"action_id": "a004", "action_type": "FILE_CREATE", "target": "n.txt",
            "operation": {"type": "create", "content": "new\n"}},
    ]);
    for (at, awaited) in [(1, "a001"), (2, "a002"), (3, "a003")] {
        actions[at]["depends_on"] = json!([awaited]);
    }
    let finished = lab.run(plan(actions));
    assert_eq!(status(&finished), Some(Status::Success), "{finished:#?}");
    (lab, finished.execution_report.unwrap())
}

fn shown(lab: &Lab, report: &Value) -> Result<PlanExhibit, Failure> {
    exhibit(report, &mut 1000, desk(lab, &Course::default()))
}

/// The lines of the first file; `None` where none are shown.
fn compared(shown: &Difference) -> Option<usize> {
    match shown {
        Difference::Lines(lines) => Some(lines.len()),
        _ => None,
    }
}

#[test]
fn every_kind_of_change_is_compared_in_the_order_in_which_it_was_made() {
    let (lab, report) = four_kinds();
    let found = shown(&lab, &report).unwrap();
    let files: Vec<_> = found
        .files
        .iter()
        .map(|file| (file.path.as_str(), compared(&file.shown)))
        .collect();
    assert_eq!(
        files,
        [
            ("a.txt", Some(3)),
            ("b.txt", Some(2)),
            ("d/e.txt", None),
            ("n.txt", Some(2))
        ]
    );
    let renamed = &found.files[2];
    assert_eq!(renamed.from.as_ref().unwrap().as_str(), "c.txt");
    assert_eq!(renamed.shown, Difference::None);
    assert!(matches!(found.undo, Undo::Possible(Some(_))));
}

#[test]
fn after_a_rollback_no_file_is_compared_and_the_plan_is_told_as_undone() {
    let (lab, report) = four_kinds();
    let directory = lab.reports().remove(0);
    let order = RollbackOrder {
        plan: PlanName::Path(directory.to_string()),
        checkpoints: Vec::new(),
        by: Asker::Person,
    };
    let undone = rollback(&order, &Sanction::None, desk(&lab, &Course::default()));
    assert_eq!(undone.failure, None, "{undone:#?}");
    let found = shown(&lab, &report).unwrap();
    assert!(matches!(found.undo, Undo::Undone(_)), "{found:?}");
    let all_undone = |file: &crate::plan::FileExhibit| file.shown == Difference::Undone;
    assert!(found.files.iter().all(all_undone), "{found:?}");
    assert_eq!(
        (
            found.files[0].summary.lines_added,
            found.files[0].summary.lines_removed
        ),
        (1, 1)
    );
}

#[test]
fn only_the_contents_that_the_plan_read_and_wrote_are_shown() {
    let (lab, report) = four_kinds();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("key"), "eins\n").unwrap();
    fs::remove_file(lab.root.join("a.txt")).unwrap();
    symlink(outside.path().join("key"), lab.root.join("a.txt")).unwrap();
    fs::write(lab.root.join("n.txt"), "newer\n").unwrap();
    let directory = lab.reports().remove(0);
    fs::write(directory.join("backups/b.txt.bak"), "other\n").unwrap();
    let found = shown(&lab, &report).unwrap();
    let shown: Vec<_> = found.files.iter().map(|file| &file.shown).collect();
    assert_eq!(shown[0], &Difference::ChangedSince);
    assert_eq!(shown[1], &Difference::NoBackup);
    assert_eq!(shown[3], &Difference::ChangedSince);
}

/// What is shown comes from the journal: a report is output.
#[test]
fn a_manifest_that_names_other_files_shows_none_of_them() {
    let (lab, report) = four_kinds();
    let before = format!("{:?}", shown(&lab, &report).unwrap());
    let path = lab.reports().remove(0).join("rollback_manifest.json");
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    manifest["checkpoints"][0]["backup_location"] = json!("key.txt");
    manifest["checkpoints"][0]["original_hash"] = json!(crate::plan::hash::hash(b"token: abc\n"));
    fs::write(&path, manifest.to_string()).unwrap();
    assert_eq!(format!("{:?}", shown(&lab, &report).unwrap()), before);
    let mut other = report.clone();
    other["rollback_manifest_id"] = json!("4d529018-7803-4361-8a6d-72e1ae908d14");
    let failure = shown(&lab, &other).unwrap_err();
    assert_eq!(failure.fault, Fault::ManifestUnusable, "{failure:?}");
    let mut elsewhere = report;
    elsewhere["rollback_manifest"] = json!("../reports/x/rollback_manifest.json");
    let failure = shown(&lab, &elsewhere).unwrap_err();
    assert!(
        failure.message.contains("is in no report directory"),
        "{failure:?}"
    );
}

#[test]
fn what_is_large_is_not_compared_and_all_files_share_the_room() {
    let large = "line\n".repeat(60_000);
    let lab = Lab::new(&[("a.txt", &*large), ("b.txt", "two\n"), ("c.txt", "three\n")]);
    let finished = lab.run(plan(json!([
        {"action_id": "a001", "action_type": "FILE_DELETE", "target": "a.txt", "operation": {"type": "delete"}},
        replace("a002", "b.txt", "two", "zwei"),
        replace("a003", "c.txt", "three", "drei"),
    ])));
    let mut room = 4;
    let report = finished.execution_report.unwrap();
    let found = exhibit(&report, &mut room, desk(&lab, &Course::default())).unwrap();
    let shown: Vec<_> = found.files.iter().map(|file| &file.shown).collect();
    assert_eq!(shown[0], &Difference::TooLarge);
    assert_eq!((compared(shown[1]), room), (Some(3), 1));
    assert_eq!(shown[2], &Difference::TooLarge);
}

#[test]
fn a_plan_that_took_itself_back_offers_no_undo() {
    let lab = Lab::new(&[("a.txt", "one\n")]);
    let mut edit = replace("a001", "a.txt", "one", "two");
    edit["validation_rules"] =
        json!([{"type": "contains", "text": "one", "on_failure": "rollback"}]);
    let finished = lab.run(plan(json!([edit])));
    assert_eq!(status(&finished), Some(Status::RolledBack), "{finished:#?}");
    let report = finished.execution_report.unwrap();
    let found = shown(&lab, &report).unwrap();
    assert!(matches!(found.undo, Undo::Undone(_)), "{found:?}");
    assert_eq!(found.files[0].shown, Difference::Undone);
}
