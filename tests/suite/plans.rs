//! File plans from outside: what is printed, and the verbs for people.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
};

use serde_json::{Value, json};

use crate::program::{Answer, ONEACT, Root, run, text};
use crate::tracer::{Act, Call, first, from_nth, is_refused, traced};
use nix::errno::Errno;

fn plan() -> Value {
    json!({"plan_id": "plan-001", "action_plan": [{
        "action_id": "a001", "action_type": "FILE_DELETE", "target": "x", "operation": {"type": "delete"},
    }]})
}

fn answer(root: &Root, flags: &[&str], task: &Value) -> Answer {
    let mut command = root.command();
    command.args(flags);
    run(command, task.to_string().as_bytes())
}

#[test]
fn the_reply_report_to_a_refused_plan_is_a_report_with_001s_error_r_001_145() {
    let root = Root::new();
    let answer = answer(&root, &["--reply", "report"], &plan());
    assert_eq!(answer.exit, 2);
    assert_eq!(answer.envelope["status"], "FAILED");
    let response = &answer.envelope["errors"][0];
    assert_eq!(response["error_code"], 1007);
    assert_eq!(response["error_category"], "VALIDATION_ERROR");
    assert_eq!(response["error_type"], "NOT_VALIDATED");
    assert_eq!(response["recovery_action"], "SKIPPED");
    assert_eq!(response["error_id"].as_str().map(str::len), Some(36));
}

#[test]
fn the_reply_report_to_a_task_of_tools_is_001s_error_response_r_001_145() {
    let root = Root::new();
    let task = json!({
        "task_id": "t", "capability_ids": ["CAP-ACQ-001"],
        "input_refs_resolved": [{"ref_id": "src_1", "storage_uri": "https://example-source.com/good", "status": "reference"}],
    });
    let answer = answer(&root, &["--reply", "report"], &task);
    assert_eq!(
        (answer.exit, &answer.envelope["error_code"]),
        (2, &json!(1001))
    );
}

#[test]
fn a_project_without_a_catalog_can_have_plans() {
    let root = Root::new();
    fs::remove_file(root.path.join("catalog.toml")).unwrap();
    let answer = answer(&root, &[], &plan());
    assert_eq!((answer.exit, answer.fault()), (2, &json!("not_validated")));
}

#[test]
fn bad_spellings_of_expect_are_bad_flags() {
    let root = Root::new();
    let hash = format!("sha256:{}", "0".repeat(64));
    for flags in [
        vec!["--expect", "0"],
        vec!["--expect", hash.as_str(), "--dry-run"],
        vec!["--reply", "xml"],
    ] {
        let answer = answer(&root, &flags, &plan());
        assert_eq!(
            (answer.exit, answer.fault()),
            (2, &json!("invalid_usage")),
            "{flags:?}"
        );
    }
}

#[test]
fn rollback_tells_people_and_prints_the_envelope_for_machines() {
    let root = Root::new();
    let undo = |args: &[&str]| root.command().args(args).output().unwrap();
    let told = undo(&["rollback", "agent_outputs/reports/none"]);
    assert_ne!(told.status.code(), Some(0));
    assert!(
        String::from_utf8(told.stdout)
            .unwrap()
            .starts_with("The rollback changed nothing.")
    );
    let printed = undo(&[
        "rollback",
        "agent_outputs/reports/none",
        "--json",
        "--checkpoint",
        "c1",
    ]);
    assert_eq!(printed.status.code(), told.status.code());
    let envelope: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(
        envelope["input"]["content"],
        json!({"rollback": "agent_outputs/reports/none", "checkpoints": ["c1"]})
    );
}

#[test]
fn recover_has_nothing_to_do_where_nothing_broke() {
    let root = Root::new();
    let told = root.command().arg("recover").output().unwrap();
    assert_eq!(
        (told.status.code(), told.stdout.as_slice()),
        (Some(0), b"No plan is unfinished.\n".as_slice())
    );
    let told = root.command().args(["recover", "--json"]).output().unwrap();
    assert_eq!(told.stdout, b"{\"settled\":[]}\n");
}

#[test]
fn of_many_planted_journals_twenty_are_named() {
    let root = Root::new();
    let reports = root.path.join("agent_outputs/reports");
    fs::create_dir_all(reports.join(".unfinished")).unwrap();
    for number in 0..25 {
        let name = format!("20260101-000000_{number}");
        fs::create_dir(reports.join(&name)).unwrap();
        fs::write(reports.join(&name).join("journal"), "{\"x\":1}\n").unwrap();
        fs::write(reports.join(".unfinished").join(name), "").unwrap();
    }
    let told = root.command().arg("recover").output().unwrap();
    assert_eq!(told.status.code(), Some(1));
    let last = "Interrupted plans that are not listed here: 5.";
    let told = text(&*told.stdout);
    assert_eq!(told.lines().count(), 21, "{told}");
    assert_eq!(told.lines().last(), Some(last));
    let answer = root.run(&json!({"task_id": "t", "capability_ids": ["NONE"]}));
    let notes = answer.at("/audit/compliance_notes").as_str().unwrap();
    assert!(notes.contains(last), "{notes}");
    assert_eq!(
        notes.matches("says that a plan was interrupted").count(),
        20
    );
}

#[test]
fn plans_that_are_still_unfinished_are_named_first() {
    if is_refused() {
        return;
    }
    let root = Root::new();
    let task = json!({"plan_id": "plan-001", "protocol_validation": true, "action_plan": [{
        "action_id": "a001", "action_type": "FILE_CREATE", "target": "new.txt",
        "operation": {"type": "create", "content": "x"},
    }]});
    let kill = first(|call| call.path.ends_with("new.txt"), Act::Kill);
    assert!(traced(&root.command(), &root.path, &task, kill).was_killed());
    // By its name, it is settled later than the plan above.
    let reports = root.path.join("agent_outputs/reports");
    let name = "99990101-000000_planted";
    fs::create_dir(reports.join(name)).unwrap();
    fs::write(reports.join(name).join("journal"), "{\"x\":1}\n").unwrap();
    fs::write(reports.join(".unfinished").join(name), "").unwrap();
    let told = root.command().arg("recover").output().unwrap();
    let told = text(&*told.stdout);
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(lines[0].contains(name), "{told}");
}

/// A minified file takes a small multiple of its size: the process is given no more.
#[test]
fn a_large_minified_file_is_edited_in_little_memory() {
    let root = Root::new();
    let before = format!("[{}0]", "1,".repeat(1 << 20));
    fs::write(root.path.join("a.json"), &before).unwrap();
    let edit = |target: &str, operation: Value| {
        json!({"plan_id": "plan-001", "protocol_validation": true, "action_plan": [{
            "action_id": "a001", "action_type": "FILE_MODIFY", "target": target, "operation": operation,
        }]})
    };
    for operation in [
        json!({"type": "json_update_value", "path": "$[-1]", "value": 2}),
        json!({"type": "json_remove_property", "path": "$", "key": "0"}),
        json!({"type": "text_replace", "pattern": ".", "regex": true, "count": "all", "replacement": "x"}),
    ] {
        let target = if operation["type"] == "text_replace" {
            fs::rename(root.path.join("a.json"), root.path.join("a.txt")).unwrap();
            "a.txt"
        } else {
            "a.json"
        };
        let mut limited = root.within("sh");
        limited.args(["-c", "ulimit -v 400000 && exec \"$0\"", ONEACT]);
        let answer = run(limited, edit(target, operation).to_string().as_bytes());
        assert_eq!(
            answer.exit, 0,
            "{}",
            answer.envelope["output"]["content"]["oneact"]
        );
    }
}

#[test]
fn where_the_owner_of_a_file_is_lost_the_set_user_id_and_set_group_id_bits_are_lost_too() {
    let root = Root::new();
    let file = root.path.join("a.txt");
    fs::write(&file, "one\n").unwrap();
    let command = root.as_nobody();
    // Only root can give a file to another user.
    if !rustix::process::getuid().is_root() {
        return;
    }
    chown(&file, Some(0), Some(65534)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o6755)).unwrap();
    let plan = json!({"plan_id": "plan-001", "protocol_validation": true, "action_plan": [
        {"action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
            "operation": {"type": "text_replace", "pattern": "one", "replacement": "eins"}},
    ]});
    let answer = run(command, plan.to_string().as_bytes());
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    let changed = fs::metadata(&file).unwrap();
    assert_eq!((changed.uid(), changed.mode() & 0o7777), (65534, 0o755));
    assert!(
        answer
            .envelope
            .to_string()
            .contains("set-user-ID and set-group-ID bits")
    );
}

/// A group that cannot be kept must not leave its permissions to the group that the file would have instead.
#[test]
fn a_group_that_the_user_may_give_is_kept_and_with_any_other_the_plan_is_refused() {
    let root = Root::new();
    root.as_nobody();
    // Only root can give a file to another user.
    if !rustix::process::getuid().is_root() {
        return;
    }
    let file = root.path.join("a.txt");
    for (before, after) in [
        ((0, 2000, 0o660), Some((65534, 2000, 0o660))),
        ((65534, 0, 0o660), None),
        ((0, 0, 0o664), None),
        ((65534, 0, 0o604), None),
    ] {
        let (owner, group, mode) = before;
        fs::write(&file, "one\n").unwrap();
        chown(&file, Some(owner), Some(group)).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let plan = json!({"plan_id": "plan-001", "protocol_validation": true, "action_plan": [
            {"action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
                "operation": {"type": "text_replace", "pattern": "one", "replacement": format!("{before:?}")}},
        ]});
        let mut command = root.within("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--groups=2000"])
            .arg(root.path.join("oneact-here"));
        let answer = run(command, plan.to_string().as_bytes());
        let changed = fs::metadata(&file).unwrap();
        let found = (changed.uid(), changed.gid(), changed.mode() & 0o7777);
        let Some(after) = after else {
            assert_eq!(answer.exit, 2, "{}", answer.envelope);
            assert_eq!(answer.fault(), "permission_denied");
            assert_eq!(found, before);
            continue;
        };
        assert_eq!(answer.exit, 0, "{}", answer.envelope);
        assert_eq!(found, after, "{before:?}");
        let notes = answer.at("/audit/compliance_notes").as_str().unwrap();
        assert!(
            notes.contains("Not every attribute of `a.txt` could be kept"),
            "{notes}"
        );
    }
}

/// strace lets each of these calls fail, alone or with all that follow. An answer that says "done" must be true, and no
/// failure may leave what prevents the next plan.
#[test]
fn whichever_look_at_a_file_fails_a_plan_is_made_whole_or_not_at_all() {
    let root = Root::new();
    let log = root.path.join("calls");
    let plan = json!({"plan_id": "plan-001", "protocol_validation": true, "action_plan": [
        {"action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
            "operation": {"type": "line_insert", "line_number": 1, "content": "zero"}},
        {"action_id": "a002", "action_type": "FILE_RENAME", "target": "b.txt",
            "operation": {"type": "rename", "new_path": "z.txt"}},
    ]});
    let mut failed = 0;
    let calls = ["fstat", "statx", "fstatfs"].map(|call| [(call, ""), (call, "+")]);
    for (call, span) in calls.into_iter().flatten() {
        for number in 1.. {
            let (a, b, z) = ["a.txt", "b.txt", "z.txt"]
                .map(|name| root.path.join(name))
                .into();
            fs::write(&a, "one\n").unwrap();
            fs::write(&b, "two\n").unwrap();
            let _ = fs::remove_file(&z);
            let mut command = root.within("strace");
            command
                .env("ONEACT_LEDGER", "none")
                .args(["-f", "-qq", "-o", log.as_str()])
                .arg(format!("-etrace={call}"))
                .arg(format!("-einject={call}:error=EIO:when={number}{span}"))
                .arg(ONEACT);
            let answer = run(command, plan.to_string().as_bytes());
            // What an error prevented from being undone is undone now.
            let recovered = root.command().arg("recover").output().unwrap();
            assert!(recovered.status.success(), "{recovered:?}");
            let read = |path| fs::read_to_string(path).ok();
            let found = [&a, &b, &z].map(read);
            let found = found.each_ref().map(|text| text.as_deref());
            let whole = match answer.exit {
                0 => [Some("zero\none\n"), None, Some("two\n")],
                _ => [Some("one\n"), Some("two\n"), None],
            };
            assert_eq!(found, whole, "{call} {number}: {}", answer.envelope);
            if !fs::read_to_string(&log).unwrap().contains("(INJECTED)") {
                break;
            }
            failed += usize::from(answer.exit != 0);
        }
    }
    assert!(failed > 10, "{failed}");
}

#[test]
fn the_version_tells_the_identity_of_the_executor_r_001_01() {
    let root = Root::new();
    let said = |flags: &[&str]| {
        let output = root.command().args(flags).output().unwrap();
        assert!(output.status.success(), "{flags:?}");
        text(&*output.stdout)
    };
    let short = said(&["--version"]);
    assert_eq!(short, format!("oneact {}\n", env!("CARGO_PKG_VERSION")));
    let identity = "name: agent_executor\nversion: 1.0.0\nrole: Safe Action Implementer\n\
                    trust_level: WRITE_CONTROLLED\n";
    let forms: [&[&str]; 4] = [
        &["--version", "--verbose"],
        &["--verbose", "--version"],
        &["-V", "-v"],
        &["-vV"],
    ];
    for flags in forms {
        assert_eq!(said(flags), format!("{short}{identity}"), "{flags:?}");
    }
}

/// The disk refuses to rename from some call on, so the changes can be neither finished nor undone.
#[test]
fn a_stuck_plan_is_escalated_in_its_report_on_stderr_and_to_people_r_001_144_r_001_153() {
    if is_refused() {
        return;
    }
    let catalog = "catalog = 1\n[approval]\nnotify = [\"sh\", \"-c\", \"cat >> told\"]\n";
    let edit = |name: &str| {
        json!({"action_id": name, "action_type": "FILE_MODIFY", "target": name,
               "operation": {"type": "text_replace", "pattern": "old", "replacement": "new"}})
    };
    let task = json!({"plan_id": "plan-001", "protocol_validation": true, "action_plan": [edit("a"), edit("b")]});
    let stuck = (1..500).find_map(|call| {
        let root = Root::with_catalog(catalog);
        for name in ["a", "b"] {
            fs::write(root.path.join(name), "old\n").unwrap();
        }
        let failing = from_nth(Call::is_of_plan, call, Act::Fail(Errno::EIO));
        let ended = traced(&root.command(), &root.path, &task, failing);
        let answer = Answer::of(ended.output);
        let told = fs::read_to_string(root.path.join("told")).unwrap_or_default();
        let is_stuck = *answer.fault() == "stuck" && answer.envelope.to_string().contains("MANUAL");
        assert_eq!(
            told.is_empty(),
            !is_stuck,
            "EIO from call {call} on: {}",
            answer.envelope
        );
        is_stuck.then_some((answer, told))
    });
    let (answer, told) = stuck.unwrap();
    assert_eq!(told.lines().count(), 1, "{told}");
    let told: Value = serde_json::from_str(&told).unwrap();
    let report = answer.at("/output/content/execution_report");
    assert_eq!(report["archived"], false);
    assert_eq!(report["errors"][0]["recovery_action"], "MANUAL_REQUIRED");
    let directory = answer.at("/output/content/oneact/reports/directory");
    assert_eq!(
        (
            &told["kind"],
            &told["plan_id"],
            &told["class"],
            &told["report_directory"]
        ),
        (
            &json!("escalation"),
            &json!("plan-001"),
            &json!("stuck"),
            directory
        )
    );
    assert_eq!(told["error_code"], 5013);
    assert_eq!(told["message"], answer.at("/error/error_message").clone());
    assert!(
        answer.stderr.contains("escalated (stuck): "),
        "{}",
        answer.stderr
    );
}
