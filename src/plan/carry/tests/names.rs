//! What a recovery does with files that are at two places: their path and a backup.

use std::io::Write;

use super::{
    crash::half,
    recovered::{desk, settled},
    *,
};
use crate::plan::{Fate, fate, rollback::rollback};
use crate::task::{Asker, PlanName, RollbackOrder, Sanction};

/// The backup of a file that the plan had not reached is a second name of this file.
#[test]
fn other_permissions_of_a_file_that_the_plan_had_not_reached_are_no_conflict() {
    let lab = half();
    for name in ["a.txt", "b.txt"] {
        let path = lab.root.join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    }
    let first = settled(&lab);
    assert!(
        first.told.iter().all(|told| !told.contains("is kept as")),
        "{first:?}"
    );
    assert_eq!(
        fs::metadata(lab.root.join("b.txt")).unwrap().nlink(),
        1,
        "{first:?}"
    );
    let again = lab.run(plan(json!([replace("a001", "b.txt", "two", "zwei")])));
    assert_eq!(status(&again), Some(Status::Success), "{again:#?}");
}

#[test]
fn a_file_that_others_wrote_to_before_the_plan_reached_it_keeps_no_second_name() {
    for links in [false, true] {
        let lab = half();
        let path = lab.root.join("b.txt");
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"more\n").unwrap();
        if links {
            let slot = lab.reports().remove(0).join("staged/1");
            fs::remove_file(&slot).unwrap();
            fs::hard_link(&path, slot).unwrap();
        }
        let told = settled(&lab);
        assert!(told.told[0].contains("b.txt: it was changed"), "{told:?}");
        assert_eq!(lab.read("b.txt"), "two\nmore\n");
        assert_eq!(fs::metadata(&path).unwrap().nlink(), 1, "{told:?}");
        let again = lab.run(plan(json!([replace("a001", "b.txt", "two", "zwei")])));
        assert_eq!(status(&again), Some(Status::Success), "{again:#?}");
    }
}

#[test]
fn a_directory_where_a_backup_is_copied_keeps_no_plan_open() {
    let lab = half();
    fs::rename(lab.root.join("b.txt"), lab.root.join("moved")).unwrap();
    let backup = lab.reports().remove(0).join("backups/b.txt.bak");
    let backups = backup.parent().unwrap();
    for name in ["own/theirs", "own.1/theirs"] {
        fs::create_dir_all(backups.join(name)).unwrap();
    }
    let told = settled(&lab);
    assert_eq!(told.open, 0, "{told:?}");
    let moved = fs::metadata(lab.root.join("moved")).unwrap();
    assert_eq!(moved.nlink(), 1, "{told:?}");
    assert_eq!(fs::read_to_string(backup).unwrap(), "two\n");
}

#[test]
fn what_others_put_in_the_place_of_a_directory_of_backups_keeps_no_plan_open() {
    let put: [&dyn Fn(&Utf8Path); 2] = [&|at| fs::write(at, "theirs").unwrap(), &|at| {
        std::os::unix::fs::symlink("/etc", at).unwrap();
    }];
    for put in put {
        for place in ["backups/sub", "backups"] {
            let stopped = |at: u64| {
                let lab = Lab::new(&[("a.txt", "one\n"), ("sub/b.txt", "two\n")]);
                let both = json!([
                    replace("a001", "a.txt", "one", "eins"),
                    replace("a002", "sub/b.txt", "two", "zwei"),
                ]);
                lab.run_with(
                    plan(both),
                    &Arc::new(Faults::parse(&format!("each-barrier,stop@{at}"))),
                );
                (lab.read("sub/b.txt") == "zwei\n").then_some(lab)
            };
            let lab = (1..200).find_map(stopped).unwrap();
            let at = lab.reports().remove(0).join(place);
            fs::remove_dir_all(&at).unwrap();
            put(&at);
            let told = settled(&lab);
            assert_eq!(told.open, 0, "{told:?}");
            let texts = (lab.read("a.txt"), lab.read("sub/b.txt"));
            assert_eq!(texts, ("one\n".to_owned(), "two\n".to_owned()));
            let asked = fate(desk(&lab, &Course::default()), "op_1", &mut Vec::new());
            assert_eq!(asked.unwrap(), Fate::NotMade);
        }
    }
}

#[test]
fn a_file_that_others_made_again_is_not_said_to_have_come_from_its_backup() {
    let stopped = |at: u64| {
        let lab = Lab::new(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
        let path = lab.root.join("a.txt");
        fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap();
        let delete = json!({"action_id": "a001", "action_type": "FILE_DELETE", "target": "a.txt", "operation": {"type": "delete"}});
        let both = json!([delete, replace("a002", "b.txt", "two", "zwei")]);
        lab.run_with(
            plan(both),
            &Arc::new(Faults::parse(&format!("each-barrier,stop@{at}"))),
        );
        (!lab.root.join("a.txt").exists()).then_some(lab)
    };
    let lab = (1..200).find_map(stopped).unwrap();
    fs::write(lab.root.join("a.txt"), "one\n").unwrap();
    let told = settled(&lab);
    assert!(
        told.told[0].contains("or others have made it again"),
        "{told:?}"
    );
}

#[test]
fn a_rollback_that_is_repeated_tells_again_which_attributes_are_not_restored() {
    let mut repeated = 0;
    for at in (1..).step_by(3) {
        let lab = Lab::new(&[("a.txt", "one\n")]);
        let user = "user.k";
        let path = lab.root.join("a.txt");
        if rustix::fs::setxattr(
            path.as_std_path(),
            user,
            b"1",
            rustix::fs::XattrFlags::empty(),
        )
        .is_err()
        {
            return; // A file system without them.
        }
        lab.run(plan(json!([replace("a001", "a.txt", "one", "two")])));
        let report = lab.reports().remove(0);
        let backup = report.join("backups/a.txt.bak");
        rustix::fs::removexattr(backup.as_std_path(), user).unwrap();
        let order = RollbackOrder {
            plan: PlanName::Path(report.to_string()),
            checkpoints: Vec::new(),
            by: Asker::Person,
        };
        let course = Course::default();
        let faults = Arc::new(Faults::parse(&format!("stop@{at}")));
        let first = crate::plan::rollback::rollback_with(
            &order,
            &Sanction::None,
            desk(&lab, &course),
            &faults,
        );
        let again = rollback(&order, &Sanction::None, desk(&lab, &course));
        let told = format!("stopped at {at}: {first:#?} {again:#?}");
        let is_over = |failure: &Failure| failure.message.contains("used up");
        if again.failure.as_ref().is_some_and(is_over) {
            break;
        }
        assert_eq!(again.failure, None, "{told}");
        if again.reasoning == ["Every file already has the content from before the plan."] {
            repeated += 1;
            assert!(
                again
                    .notes
                    .iter()
                    .any(|note| note.starts_with("a.txt: its content")),
                "{told}"
            );
        }
    }
    assert!(repeated > 0, "{repeated}");
}
