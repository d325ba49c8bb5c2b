//! What recovery does if the staged files are gone, or are other ones than the plan left.

use std::io::Write;

use super::{
    crash::half,
    recovered::{desk, settled},
    *,
};
use crate::plan::Consent;

#[test]
fn something_else_in_the_place_of_the_staged_files_is_moved_away_by_a_person_and_the_backups_are_enough()
 {
    let lab = half();
    let staged = lab.reports().remove(0).join("staged");
    fs::rename(&staged, lab.root.join("away")).unwrap();
    fs::write(&staged, "else\n").unwrap();
    let stuck = settled(&lab);
    assert_eq!(stuck.open, 1);
    assert!(
        stuck.told[0].contains("staged is not a directory: move it to another place"),
        "{stuck:?}"
    );
    fs::rename(&staged, lab.root.join("else")).unwrap();
    let told = settled(&lab);
    assert_eq!(
        (
            told.open,
            lab.read("a.txt").as_str(),
            lab.read("b.txt").as_str()
        ),
        (0, "one\n", "two\n"),
        "{told:?}"
    );
}

/// A plan that was finished, whose note and old file are left.
fn finished_but_not_tidied() -> Lab {
    let found = (1..200).find_map(|at| {
        let lab = Lab::new(&[("a.txt", "one\n")]);
        let faults = Arc::new(Faults::parse(&format!("each-barrier,stop@{at}")));
        lab.run_with(
            plan(json!([replace("a001", "a.txt", "one", "two")])),
            &faults,
        );
        let report = lab.reports().pop()?;
        let journal = fs::read(report.join("journal")).unwrap_or_default();
        let done = String::from_utf8_lossy(&journal).contains("\"done\"");
        (done && report.join("staged/0").exists()).then_some(lab)
    });
    found.unwrap()
}

#[test]
fn a_plan_that_was_finished_is_finished_in_a_copy_of_its_root_too_if_a_person_confirms() {
    let lab = finished_but_not_tidied();
    let copy = tempfile::tempdir().unwrap();
    let root = Utf8PathBuf::try_from(copy.path().join("copy")).unwrap();
    let cp = std::process::Command::new("cp")
        .args(["-a", lab.root.as_str(), root.as_str()])
        .status();
    assert!(cp.unwrap().success());
    let report = lab.reports().remove(0);
    let report = report.strip_prefix(&lab.root).unwrap();
    let course = Course::default();
    let desk = Desk {
        root: &root,
        ..desk(&lab, &course)
    };
    assert_eq!(recover(desk).open, 1);
    let told = recover_named(desk, report.as_str(), &mut |_| Consent::Given);
    let sentence = format!(
        "The plan {} had been finished before it was interrupted.",
        report.file_name().unwrap()
    );
    assert_eq!((told.told, told.open), (vec![sentence], 0));
    assert!(!root.join(report).join("staged/0").exists());
    assert_eq!(recover(desk), Settled::default());
}

#[test]
fn a_recovery_tells_what_others_wrote_to_the_old_file() {
    let lab = finished_but_not_tidied();
    let slot = lab.reports().remove(0).join("staged/0");
    let mut old = fs::OpenOptions::new().append(true).open(&slot).unwrap();
    old.write_all(b"late\n").unwrap();
    let told = settled(&lab);
    assert!(told.told[0].contains("staged/0"), "{told:?}");
    assert_eq!(fs::read_to_string(slot).unwrap(), "one\nlate\n");
}
