//! File plans in the ledger: done once, and known by their journal when their run died.

use super::*;

#[test]
fn a_plan_is_done_once_and_again_after_it_was_undone() {
    let root = Root::with_catalog(CATALOG);
    fs::write(root.path.join("a.txt"), "one\n").unwrap();
    let plan = |task: &str| {
        json!({
            "task_plan": {"plan_id": "p", "action_plan": [{
                "action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
                "operation": {"type": "line_insert", "line_number": 1, "content": "zero"},
            }]},
            "protocol_validation": true, "task_id": task, "metadata": {"session_id": "s", "request_id": task},
        })
    };
    let text = || fs::read_to_string(root.path.join("a.txt")).unwrap();
    let first = root.run(&plan("t1"));
    assert_eq!(
        (state(&first), text().as_str()),
        ("done", "zero\none\n"),
        "{}",
        first.envelope
    );
    assert_eq!(state(&root.run(&plan("t2"))), "suppressed");
    assert_eq!(state(&root.run(&plan("t1"))), "replayed");
    assert_eq!(text(), "zero\none\n");
    let reports = first
        .at("/output/content/oneact/reports/directory")
        .as_str()
        .unwrap()
        .to_owned();
    let undone = root
        .command()
        .args(["rollback", &reports])
        .output()
        .unwrap();
    assert!(undone.status.success(), "{undone:?}");
    assert_eq!(text(), "one\n");
    let again = root.run(&plan("t1"));
    assert_eq!(
        (state(&again), text().as_str()),
        ("done", "zero\none\n"),
        "{}",
        again.envelope
    );
}

/// A root in which the run of a plan was killed, and that plan; none where it came through.
fn killed(faults: &str) -> Option<(Root, Value)> {
    let root = Root::with_catalog(CATALOG);
    fs::write(root.path.join("a.txt"), "one\n").unwrap();
    let plan = json!({
        "task_plan": {"plan_id": "p", "action_plan": [{
            "action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
            "operation": {"type": "line_insert", "line_number": 1, "content": "zero"},
        }]},
        "protocol_validation": true, "task_id": "t", "metadata": {"session_id": "s", "request_id": "r"},
    });
    let mut command = root.command();
    command.env("ONEACT_FAULTS", faults);
    let mut child = command.spawn().unwrap();
    feed(&mut child, &plan);
    (child.wait().unwrap().signal() == Some(9)).then_some((root, plan))
}

fn text(root: &Root) -> String {
    fs::read_to_string(root.path.join("a.txt")).unwrap()
}

#[test]
fn the_journal_of_a_plan_tells_what_became_of_it_when_its_run_died() {
    let (root, plan) = killed("ledger:done").unwrap();
    let next = root.run(&plan);
    assert_eq!((state(&next), why(&next)), ("done", "taken_over"));
    assert_eq!(text(&root), "zero\none\n");
    assert_eq!(state(&root.run(&plan)), "replayed");
    // Nothing is left of a plan that was killed before.
    let mut again = 0;
    for at in (12..).step_by(5) {
        let Some((root, plan)) = killed(&format!("each-barrier,kill@{at}")) else {
            break;
        };
        let next = root.run(&plan);
        assert_eq!(state(&next), "done", "kill@{at}: {}", next.envelope);
        assert_eq!(text(&root), "zero\none\n", "kill@{at}");
        again += 1;
    }
    assert!(again > 3, "{again}");
}

#[test]
fn a_plan_of_which_no_journal_tells_how_it_ended_is_not_applied_again() {
    let cut = |journal: &camino::Utf8Path, length: u64| {
        let opened = fs::OpenOptions::new().write(true).open(journal).unwrap();
        opened.set_len(length).unwrap();
    };
    for (point, harm) in [
        ("dispatched", "none"),
        ("done", "moved"),
        ("done", "removed"),
        ("done", "emptied"),
        ("done", "cut"),
    ] {
        let (root, plan) = killed(&format!("ledger:{point}")).unwrap();
        let before = text(&root);
        if point == "done" {
            assert_eq!(before, "zero\none\n");
            let reports = root.path.join("agent_outputs/reports");
            let mut all = reports.read_dir_utf8().unwrap().map(|entry| entry.unwrap());
            let report = all.find(|entry| !entry.file_name().starts_with('.'));
            let report = report.unwrap().path().to_owned();
            let journal = report.join("journal");
            let bytes = fs::read(&journal).unwrap();
            match harm {
                "moved" => fs::rename(&report, root.path.join("away")).unwrap(),
                "removed" => fs::remove_file(&journal).unwrap(),
                "emptied" => cut(&journal, 0),
                _ => {
                    let first = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
                    cut(&journal, first as u64);
                }
            }
        }
        let next = root.run(&plan);
        assert_eq!(fault(&next), "outcome_unknown", "{point}, {harm}");
        assert_eq!(text(&root), before, "{point}, {harm}");
    }
}

#[test]
fn a_plan_whose_report_is_lost_is_known_by_its_journal_and_not_applied_again() {
    for harm in ["removed", "emptied", "directory"] {
        let (root, plan) = killed("ledger:done").unwrap();
        let reports = root.path.join("agent_outputs/reports");
        let mut all = reports.read_dir_utf8().unwrap().map(|entry| entry.unwrap());
        let folder = all.find(|entry| !entry.file_name().starts_with('.'));
        let report = folder.unwrap().path().join("execution_report.json");
        fs::remove_file(&report).unwrap();
        match harm {
            "emptied" => fs::write(&report, "").unwrap(),
            "directory" => fs::create_dir(&report).unwrap(),
            _ => {}
        }
        let next = root.run(&plan);
        assert_eq!(state(&next), "done", "{harm}: {}", next.envelope);
        assert_eq!(next.at("/output/content/oneact/effect"), "done", "{harm}");
        let notes = next.at("/audit/compliance_notes").as_str().unwrap();
        assert!(
            notes.contains("The report of the plan cannot be read"),
            "{notes}"
        );
        assert_eq!(state(&root.run(&plan)), "replayed", "{harm}");
        assert_eq!(text(&root), "zero\none\n", "{harm}");
    }
}

#[test]
fn a_plan_that_was_undone_after_its_run_died_is_applied_again_and_one_that_was_continued_is_not() {
    for (now, then) in [
        ("one\n", "zero\none\n"),
        ("zero\none\ntwo\n", "zero\none\ntwo\n"),
    ] {
        let (root, plan) = killed("ledger:done").unwrap();
        fs::write(root.path.join("a.txt"), now).unwrap();
        let next = root.run(&plan);
        assert_eq!(state(&next), "done", "{}", next.envelope);
        assert_eq!(text(&root), then);
    }
}

#[test]
fn the_journals_of_another_root_say_nothing_of_a_plan_that_died_in_this_one() {
    let (here, there) = (Root::with_catalog(CATALOG), Root::with_catalog(CATALOG));
    let ledger = format!("sqlite:{}", here.path.join("shared.db"));
    let plan = json!({
        "task_plan": {"plan_id": "p", "action_plan": [{
            "action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
            "operation": {"type": "line_insert", "line_number": 1, "content": "zero"},
        }]},
        "protocol_validation": true, "task_id": "t", "metadata": {"session_id": "s", "request_id": "r"},
    });
    let command = |root: &Root| {
        let mut command = root.command();
        command.env("ONEACT_LEDGER", &ledger);
        command
    };
    for root in [&here, &there] {
        fs::write(root.path.join("a.txt"), "one\n").unwrap();
    }
    let mut died = command(&here);
    died.env("ONEACT_FAULTS", "ledger:done");
    let mut child = died.spawn().unwrap();
    feed(&mut child, &plan);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let elsewhere = run(command(&there), plan.to_string().as_bytes());
    assert_eq!(
        fault(&elsewhere),
        "outcome_unknown",
        "{}",
        elsewhere.envelope
    );
    let text = |root: &Root| fs::read_to_string(root.path.join("a.txt")).unwrap();
    assert_eq!(text(&there), "one\n");
    // Where it happened it is known.
    let next = run(command(&here), plan.to_string().as_bytes());
    assert_eq!((state(&next), why(&next)), ("done", "taken_over"));
    assert_eq!(text(&here), "zero\none\n");
}
