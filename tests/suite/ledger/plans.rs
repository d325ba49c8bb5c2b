//! File plans in the ledger: done once, and known by their journal when their run died.

use super::*;
use crate::approvals::at_a_terminal;
use nix::errno::Errno;

use crate::tracer::{
    Act, Call, first, is_refused,
    moments::{self, Moment},
    nth, traced,
};

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
    // A delivery is answered once, whatever became of the files.
    assert_eq!(state(&root.run(&plan("t1"))), "replayed");
    assert_eq!(text(), "one\n");
    let again = root.run(&plan("t3"));
    assert_eq!(
        (state(&again), text().as_str()),
        ("done", "zero\none\n"),
        "{}",
        again.envelope
    );
    fs::write(root.path.join("a.txt"), "another\n").unwrap();
    assert_eq!(state(&root.run(&plan("t3"))), "replayed");
    assert_eq!(text(), "another\n");
}

/// The report is complete before the files are read for the ledger.
#[test]
fn a_plan_that_a_signal_meets_while_its_files_are_read_for_the_ledger_is_not_applied_again() {
    let root = Root::with_catalog(CATALOG);
    let names: Vec<String> = (0..8).map(|number| format!("{number}.txt")).collect();
    let line = format!("{}\n", "x".repeat(99));
    for name in &names {
        fs::write(root.path.join(name), line.repeat(400_000)).unwrap();
    }
    let modified = |name: &String| {
        json!({
            "action_id": name, "action_type": "FILE_MODIFY", "target": name,
            "operation": {"type": "line_insert", "line_number": 1, "content": "zero"},
        })
    };
    let actions: Vec<Value> = names.iter().map(modified).collect();
    let plan = json!({
        "task_plan": {"plan_id": "p", "action_plan": actions}, "protocol_validation": true,
        "task_id": "t", "metadata": {"session_id": "s", "request_id": "r"},
    });
    let mut child = root.command().spawn().unwrap();
    feed(&mut child, &plan);
    until("the report is complete", || {
        let report = report_so_far(&root)?.join("execution_report.json");
        let report = fs::read_to_string(report).ok()?;
        report.contains("\"SUCCESS\"").then_some(())
    });
    signal_child(&child, Signal::TERM);
    let first = Answer::of(child.wait_with_output().unwrap());
    assert_eq!(state(&first), "done", "{}", first.envelope);
    assert_eq!(state(&root.run(&plan)), "replayed");
    for name in &names {
        let text = fs::read_to_string(root.path.join(name)).unwrap();
        assert!(text.starts_with("zero\nx"), "{name}");
    }
}

/// A root in which the run of a plan was killed, and that plan.
fn killed(moment: Moment) -> (Root, Value) {
    killed_with(CATALOG, moment)
}

fn killed_with(catalog: &str, moment: Moment) -> (Root, Value) {
    let (root, plan) = begun(catalog);
    moments::killed(&root, &plan, moment.of_the_task());
    (root, plan)
}

/// A root and a plan that is not sent yet.
fn begun(catalog: &str) -> (Root, Value) {
    let root = Root::with_catalog(catalog);
    fs::write(root.path.join("a.txt"), "one\n").unwrap();
    let plan = json!({
        "task_plan": {"plan_id": "p", "action_plan": [{
            "action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
            "operation": {"type": "line_insert", "line_number": 1, "content": "zero"},
        }]},
        "protocol_validation": true, "task_id": "t", "metadata": {"session_id": "s", "request_id": "r"},
    });
    (root, plan)
}

fn fault_of(answer: &Answer) -> Option<&str> {
    answer.at("/output/content/oneact/fault").as_str()
}

fn text(root: &Root) -> String {
    fs::read_to_string(root.path.join("a.txt")).unwrap()
}

#[test]
fn the_journal_of_a_plan_tells_what_became_of_it_when_its_run_died() {
    if is_refused() {
        return;
    }
    let (root, plan) = killed(Moment::Done);
    for _ in 0..2 {
        let next = root.run(&plan);
        assert_eq!(state(&next), "replayed", "{}", next.envelope);
        assert_eq!(next.at("/output/content/oneact/effect"), "done");
        assert_eq!(text(&root), "zero\none\n");
    }
    whole(&root);
    // A plan that was killed before its end is undone and applied again.
    let (mut again, mut finished) = (0, 0);
    for at in (1..).step_by(5) {
        let (root, plan) = begun(CATALOG);
        let kill = nth(Call::is_of_plan, at, Act::Kill);
        if !traced(&root.command(), &root.path, &plan, kill).was_killed() {
            break;
        }
        let next = root.run(&plan);
        if fault_of(&next) == Some("outcome_unknown") {
            // It may have begun, and there was no journal yet.
            assert!(finished == 0 && text(&root) == "one\n", "kill@{at}");
            continue;
        }
        match state(&next) {
            "done" if finished == 0 => again += 1,
            "replayed" => finished += 1,
            _ => panic!("kill@{at}: {}", next.envelope),
        }
        assert_eq!(text(&root), "zero\none\n", "kill@{at}");
    }
    assert!(again > 3, "{again}");
}

/// The run dies before it can record that its plan failed: the journal says that nothing was changed, and the plan is
/// performed again.
#[test]
fn the_journal_of_a_plan_that_failed_and_changed_nothing_says_so() {
    if is_refused() {
        return;
    }
    let (mut unmade, mut unknown) = (0, 0);
    for at in (1..).step_by(3) {
        let (root, plan) = begun(CATALOG);
        let mut fail = nth(Call::is_of_plan, at, Act::Fail(Errno::ENOSPC));
        let mut kill = moments::at(&root, Moment::Done.of_the_task(), None, Act::Kill);
        let decide = move |call: &Call| match fail(call) {
            Act::Go => kill(call),
            failed => failed,
        };
        let ended = traced(&root.command(), &root.path, &plan, decide);
        assert!(ended.was_killed(), "{at}: {ended:?}");
        let has_failed = ended.met.len() == 2 && text(&root) == "one\n";
        let next = root.run(&plan);
        match fault_of(&next) {
            None => assert_eq!(text(&root), "zero\none\n", "{at}"),
            // There was no journal to say so.
            Some(fault) => {
                assert_eq!(fault, "outcome_unknown", "{at}: {}", next.envelope);
                assert_eq!(text(&root), "one\n", "{at}");
                unknown += 1;
            }
        }
        unmade += u32::from(has_failed && state(&next) == "done");
        if ended.met.len() == 1 {
            break;
        }
    }
    assert!(unmade > 5 && unknown < unmade, "{unmade} {unknown}");
}

/// Whoever asks next, the journal settles the delivery of the run that died. Then the other delivery is treated as if that
/// run had answered.
#[test]
fn what_the_journal_of_a_plan_tells_is_the_answer_of_its_own_delivery() {
    if is_refused() {
        return;
    }
    let repeated = format!(
        "{CATALOG}[capability.apply_file_plan]\non_duplicate = {{ mode = 'repeat' }}\nfile_plan = {{}}\n"
    );
    let (once, twice) = ("zero\none\n", "zero\nzero\none\n");
    for (catalog, differs, ended, then) in [
        (CATALOG, json!({"task_id": "t2"}), "suppressed", once),
        (CATALOG, json!({"attempt": 2}), "suppressed", once),
        (
            CATALOG,
            json!({"metadata": {"session_id": "s"}}),
            "suppressed",
            once,
        ),
        (
            &repeated,
            json!({"metadata": {"session_id": "s"}}),
            "done",
            twice,
        ),
        (
            &repeated,
            json!({"metadata": {"session_id": "s", "request_id": "r2"}}),
            "done",
            twice,
        ),
        (&repeated, json!({"attempt": 2}), "done", twice),
    ] {
        let (root, plan) = killed_with(catalog, Moment::Done);
        let mut other = plan.clone();
        let members = differs.as_object().unwrap().clone();
        other.as_object_mut().unwrap().extend(members);
        let answered = root.run(&other);
        assert_eq!(state(&answered), ended, "{}", answered.envelope);
        assert_eq!(text(&root), then);
        fs::write(root.path.join("a.txt"), "two\n").unwrap();
        for sent in [&plan, &other, &plan, &other] {
            let again = root.run(sent);
            assert_eq!(state(&again), "replayed", "{}", again.envelope);
            assert_eq!(text(&root), "two\n");
        }
        whole(&root);
    }
}

#[test]
fn a_plan_that_was_applied_in_part_is_told_as_such_after_its_run_died() {
    if is_refused() {
        return;
    }
    let plan = |request: &str| {
        json!({
            "task_plan": {
                "plan_id": "p",
                "action_plan": [
                    {"action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
                     "operation": {"type": "line_insert", "line_number": 1, "content": "zero"}},
                    {"action_id": "a002", "action_type": "FILE_DELETE", "target": "missing.txt",
                     "operation": {"type": "delete"}},
                ],
                "execution_instructions": {"stop_on_error": false, "rollback_on_failure": false},
            },
            "protocol_validation": true, "metadata": {"session_id": "s", "request_id": request},
        })
    };
    let begun = || {
        let root = Root::with_catalog(CATALOG);
        fs::write(root.path.join("a.txt"), "one\n").unwrap();
        root
    };
    let lived = begun();
    assert_eq!(state(&lived.run(&plan("r"))), "partial");
    let root = begun();
    moments::killed(&root, &plan("r"), Moment::Done.of_the_task());
    for request in ["r", "r2"] {
        let (expected, next) = (lived.run(&plan(request)), root.run(&plan(request)));
        for told in [&expected, &next] {
            assert_eq!(told.exit, 1, "{}", told.envelope);
        }
        let facts = |told: &Answer| {
            ["/state", "/fault", "/effect"]
                .map(|name| told.at(&format!("/output/content/oneact{name}")).clone())
        };
        assert_eq!(facts(&next), facts(&expected), "{request}");
        assert_eq!(text(&root), text(&lived), "{request}");
    }
    whole(&root);
}

/// Its journal says that a rollback was finished. The plan was applied again since, and another program changed the file, so
/// the later rollback is refused.
#[test]
fn a_rollback_whose_run_died_is_no_answer_to_a_later_one() {
    if is_refused() {
        return;
    }
    for task in ["rb", "rb2"] {
        let root = Root::with_catalog(CATALOG);
        fs::write(root.path.join("a.txt"), "one\n").unwrap();
        let plan = |request: &str| {
            json!({
                "task_plan": {"plan_id": "p", "action_plan": [{
                    "action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
                    "operation": {"type": "line_insert", "line_number": 1, "content": "zero"},
                }]},
                "protocol_validation": true, "metadata": {"session_id": "s", "request_id": request},
            })
        };
        let rollback = |request: &str, task: &str| {
            json!({
                "envelope": {"message_type": "ROLLBACK_REQUEST", "session_id": "s", "message_id": request},
                "payload": {"task_id": task, "content": {"plan_id": "p"}},
                "metadata": {"session_id": "s", "request_id": request},
            })
        };
        assert_eq!(state(&root.run(&plan("r1"))), "done");
        moments::killed(&root, &rollback("q1", "rb"), Moment::Done.of_the_task());
        assert_eq!(text(&root), "one\n");
        assert_eq!(state(&root.run(&plan("r2"))), "done");
        fs::write(root.path.join("a.txt"), "zero\none\ntwo\n").unwrap();
        let refused = root.run(&rollback("q2", task));
        assert_eq!(fault(&refused), "rollback_conflict", "{}", refused.envelope);
        assert_eq!(text(&root), "zero\none\ntwo\n", "{task}");
        whole(&root);
    }
}

#[test]
fn another_plan_in_the_same_delivery_is_not_answered_from_the_journal_of_the_first() {
    if is_refused() {
        return;
    }
    let (root, plan) = killed(Moment::Done);
    let mut other = plan.clone();
    other["task_plan"]["action_plan"][0]["operation"]["content"] = json!("another");
    for _ in 0..2 {
        let refused = root.run(&other);
        assert_eq!(fault(&refused), "outcome_unknown", "{}", refused.envelope);
    }
    assert_eq!(state(&root.run(&plan)), "replayed");
    assert_eq!(fault(&root.run(&other)), "idempotency_conflict");
    assert_eq!(text(&root), "zero\none\n");
    whole(&root);
}

#[test]
fn a_plan_of_which_no_journal_tells_how_it_ended_is_not_applied_again() {
    if is_refused() {
        return;
    }
    let cut = |journal: &camino::Utf8Path, length: u64| {
        let opened = fs::OpenOptions::new().write(true).open(journal).unwrap();
        opened.set_len(length).unwrap();
    };
    for (moment, harm) in [
        (Moment::Dispatched, "none"),
        (Moment::Done, "moved"),
        (Moment::Done, "removed"),
        (Moment::Done, "emptied"),
        (Moment::Done, "cut"),
    ] {
        let (root, plan) = killed(moment);
        let before = text(&root);
        if moment == Moment::Done {
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
        assert_eq!(fault(&next), "outcome_unknown", "{moment:?}, {harm}");
        assert_eq!(text(&root), before, "{moment:?}, {harm}");
    }
}

#[test]
fn a_plan_whose_report_is_lost_is_known_by_its_journal_and_not_applied_again() {
    if is_refused() {
        return;
    }
    for harm in ["removed", "emptied", "directory"] {
        let (root, plan) = killed(Moment::Done);
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
        assert_eq!(state(&next), "replayed", "{harm}: {}", next.envelope);
        assert_eq!(next.at("/output/content/oneact/effect"), "done", "{harm}");
        let notes = next.at("/audit/compliance_notes").as_str().unwrap();
        // It is told from the journal, and made again where that is possible.
        assert!(!notes.contains("cannot be read"), "{harm}: {notes}");
        assert_eq!(report.is_file(), harm != "directory", "{harm}");
        assert_eq!(state(&root.run(&plan)), "replayed", "{harm}");
        assert_eq!(text(&root), "zero\none\n", "{harm}");
    }
}

#[test]
fn a_plan_that_was_undone_after_its_run_died_is_applied_again_and_one_that_was_continued_is_not() {
    if is_refused() {
        return;
    }
    for (now, ended, then) in [
        ("one\n", "done", "zero\none\n"),
        ("zero\none\ntwo\n", "replayed", "zero\none\ntwo\n"),
    ] {
        let (root, plan) = killed(Moment::Done);
        fs::write(root.path.join("a.txt"), now).unwrap();
        let next = root.run(&plan);
        assert_eq!(state(&next), ended, "{}", next.envelope);
        assert_eq!(text(&root), then);
    }
}

#[test]
fn the_journals_of_another_root_say_nothing_of_a_plan_that_died_in_this_one() {
    if is_refused() {
        return;
    }
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
    let done = Moment::Done.of_the_task();
    let kill = moments::at_of(here.path.join("shared.db"), done, None, Act::Kill);
    assert!(traced(&command(&here), &here.path, &plan, kill).was_killed());
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
    assert_eq!(state(&next), "replayed", "{}", next.envelope);
    assert_eq!(text(&here), "zero\none\n");
}

/// The report directory of the only plan.
fn report_of(root: &Root) -> camino::Utf8PathBuf {
    report_so_far(root).unwrap()
}

fn report_so_far(root: &Root) -> Option<camino::Utf8PathBuf> {
    let reports = root.path.join("agent_outputs/reports");
    let all = reports.read_dir_utf8().ok()?;
    let mut paths = all.map(|entry| entry.unwrap().path().to_owned());
    paths.find(|path| !path.file_name().unwrap().starts_with('.'))
}

/// What `oneact resolve` said of the only plan: its exit status and stderr.
fn resolved(root: &Root, choice: &str) -> (i32, String) {
    let history = root.command().args(["history", "--json"]).output().unwrap();
    let history: Value = serde_json::from_slice(&history.stdout).unwrap();
    let operation = history["open"][0]["operation_id"].as_str().unwrap();
    let mut command = root.command();
    let said = command
        .args(["resolve", operation, choice])
        .output()
        .unwrap();
    let text = String::from_utf8(said.stderr).unwrap();
    (said.status.code().unwrap(), text)
}

/// A root in which the run of a plan was killed after it had changed the file.
fn killed_half_way() -> (Root, Value) {
    let (root, plan) = begun(CATALOG);
    let file = root.path.join("a.txt");
    let is_changed = move |_: &Call| fs::read(&file).is_ok_and(|now| now == b"zero\none\n");
    let kill = first(is_changed, Act::Kill);
    assert!(traced(&root.command(), &root.path, &plan, kill).was_killed());
    (root, plan)
}

#[test]
fn a_person_cannot_say_that_a_plan_happened_which_is_undone() {
    if is_refused() {
        return;
    }
    let (root, plan) = killed_half_way();
    let (exit, said) = resolved(&root, "--happened");
    assert_eq!((exit, text(&root).as_str()), (2, "one\n"), "{said}");
    assert!(said.contains("its changes were rolled back"), "{said}");
    assert!(said.contains("did not happen, or was undone"), "{said}");
    let (exit, said) = resolved(&root, "--did-not");
    assert_eq!(exit, 0, "{said}");
    assert_eq!(state(&root.run(&plan)), "done");
    assert_eq!(text(&root), "zero\none\n");
}

/// The journal was written in this root, whatever its path and the mark of its state directory are now.
#[test]
fn a_person_cannot_say_it_either_after_the_root_was_moved_or_its_mark_is_another() {
    if is_refused() {
        return;
    }
    for harm in ["moved", "without mark"] {
        let (mut root, _) = killed_half_way();
        if harm == "moved" {
            let moved = camino::Utf8PathBuf::from(format!("{}-moved", root.path));
            fs::rename(&root.path, &moved).unwrap();
            root.path = moved;
        } else {
            fs::remove_file(root.path.join(".oneact/home")).unwrap();
        }
        let (exit, said) = resolved(&root, "--happened");
        assert_eq!((exit, text(&root).as_str()), (2, "one\n"), "{harm}: {said}");
        assert!(said.contains("did not happen, or was undone"), "{said}");
        fs::remove_dir_all(&root.path).unwrap();
    }
}

/// A copy of a root with an interrupted plan, and the plan's report directory below it.
fn copied_half_way() -> (Root, camino::Utf8PathBuf) {
    let (root, _) = killed_half_way();
    let copy = Root::with_catalog(CATALOG);
    let copied = root
        .within("cp")
        .args(["-a", ".", copy.path.as_str()])
        .status();
    assert!(copied.unwrap().success());
    let report = report_of(&copy);
    let report = report.strip_prefix(&copy.path).unwrap().to_owned();
    (copy, report)
}

#[test]
fn a_plan_that_was_interrupted_is_undone_in_a_copy_of_its_root_if_a_person_confirms() {
    if is_refused() {
        return;
    }
    let (copy, report) = copied_half_way();
    let mut command = copy.command();
    let said = command
        .args(["recover", report.as_str(), "--yes"])
        .output()
        .unwrap();
    assert!(said.status.success(), "{said:?}");
    assert_eq!(text(&copy), "one\n", "{said:?}");
}

#[test]
fn ctrl_c_at_the_question_of_recover_means_no_whatever_is_typed_after_it() {
    if is_refused() {
        return;
    }
    let (copy, report) = copied_half_way();
    let (exit, said) = at_a_terminal(&copy, "\x03y\n", &["recover", report.as_str()]);
    assert_eq!((exit, text(&copy).as_str()), (130, "zero\none\n"), "{said}");
    let (exit, said) = at_a_terminal(&copy, "y\n", &["recover", report.as_str()]);
    assert_eq!((exit, text(&copy).as_str()), (0, "one\n"), "{said}");
}

#[test]
fn a_person_cannot_say_that_a_plan_did_not_happen_which_was_finished() {
    if is_refused() {
        return;
    }
    let (root, plan) = killed(Moment::Done);
    let (exit, said) = resolved(&root, "--did-not");
    assert_eq!(exit, 2, "{said}");
    assert!(
        said.contains("happened. No decision was recorded"),
        "{said}"
    );
    let (exit, said) = resolved(&root, "--happened");
    assert_eq!(exit, 0, "{said}");
    root.run(&plan);
    assert_eq!(text(&root), "zero\none\n");
}

#[test]
fn a_person_settles_no_plan_before_it_is_recovered_and_afterwards_what_no_journal_tells() {
    if is_refused() {
        return;
    }
    let (root, plan) = killed_half_way();
    let report = report_of(&root);
    fs::write(report.join("journal"), "").unwrap();
    for choice in ["--happened", "--did-not"] {
        let (exit, said) = resolved(&root, choice);
        assert_eq!(exit, 2, "{said}");
        assert!(said.contains("is possible yet"), "{said}");
        assert!(
            said.contains("can be neither finished nor undone"),
            "{said}"
        );
    }
    assert_eq!(fault(&root.run(&plan)), "stuck");
    fs::remove_dir_all(report).unwrap();
    assert_eq!(fault(&root.run(&plan)), "outcome_unknown");
    let (exit, said) = resolved(&root, "--happened");
    assert_eq!(exit, 0, "{said}");
    assert_eq!(root.run(&plan).exit, 0);
    assert_eq!(text(&root), "zero\none\n");
}

#[test]
fn a_plan_that_others_keep_from_being_settled_is_sent_again_later() {
    if is_refused() {
        return;
    }
    let (root, plan) = killed_half_way();
    let lock = fs::File::open(&root.path).unwrap();
    lock.lock().unwrap();
    let mut command = root.command();
    command.args(["--timeout", "1s"]);
    let waited = run(command, plan.to_string().as_bytes());
    assert_eq!(fault(&waited), "in_flight", "{}", waited.envelope);
    lock.unlock().unwrap();
    let next = root.run(&plan);
    assert_eq!(
        (state(&next), text(&root).as_str()),
        ("done", "zero\none\n")
    );
}
