//! Plans and what comes after them: previews that bind, questions, rollback, recovery.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
};

use camino::Utf8Path;
use rustix::fs::{XattrFlags, getxattr, setxattr};
use serde_json::{Value, json};

use crate::program::{Answer, ONEACT, Root, run};
use crate::tracer::{Act, Call, Traced, first, is_refused, nth, traced};
use nix::errno::Errno;

/// What `oneact rollback` and `oneact recover` print.
struct Told {
    exit: i32,
    text: String,
}

fn told(root: &Root, args: &[&str]) -> Told {
    let output = root.command().args(args).output().unwrap();
    Told {
        exit: output.status.code().unwrap(),
        text: String::from_utf8(output.stdout).unwrap(),
    }
}

/// A root with three files, and what is to become of them.
fn furnished() -> (Root, Value) {
    let root = Root::new();
    for (name, text) in [("a.txt", "one\n"), ("b.txt", "two\n"), ("c.txt", "three\n")] {
        fs::write(root.path.join(name), text).unwrap();
    }
    fs::set_permissions(root.path.join("b.txt"), fs::Permissions::from_mode(0o640)).unwrap();
    let plan = json!({"plan_id": "plan-001", "protocol_validation": true, "action_plan": [
        {"action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
            "operation": {"type": "text_replace", "pattern": "one", "replacement": "eins"}},
        {"action_id": "a002", "action_type": "FILE_DELETE", "target": "b.txt", "operation": {"type": "delete"}},
        {"action_id": "a003", "action_type": "FILE_RENAME", "target": "c.txt",
            "operation": {"type": "rename", "new_path": "d/e.txt"}},
        {"action_id": "a004", "action_type": "FILE_CREATE", "target": "d/n.txt",
            "operation": {"type": "create", "content": "new\n"}},
    ]});
    (root, plan)
}

fn asked(root: &Root, flags: &[&str], task: &Value) -> Answer {
    let mut command = root.command();
    command.args(flags);
    run(command, task.to_string().as_bytes())
}

/// What matters of every file of the plan: bytes, permissions, time.
fn tree(root: &Root) -> Vec<Option<(String, u32, std::time::SystemTime)>> {
    let seen = |name: &str| {
        let path = root.path.join(name);
        let facts = fs::metadata(&path).ok()?;
        let text = fs::read_to_string(&path).unwrap();
        Some((text, facts.permissions().mode(), facts.modified().unwrap()))
    };
    ["a.txt", "b.txt", "c.txt", "d/e.txt", "d/n.txt"]
        .map(seen)
        .to_vec()
}

/// Carries the plan out: its report directory, and its manifest.
fn done(root: &Root, plan: &Value) -> (String, Value) {
    let answer = asked(root, &[], plan);
    assert_eq!(
        (answer.exit, answer.state()),
        (0, &json!("done")),
        "{}",
        answer.envelope
    );
    let directory = answer
        .at("/output/content/oneact/reports/directory")
        .as_str()
        .unwrap();
    let manifest = manifest(root, directory);
    assert_eq!(manifest["status"], "ACTIVE");
    (directory.to_owned(), manifest)
}

/// The directory and the manifest of the plan or rollback that was carried out last.
fn newest(root: &Root) -> (String, Value) {
    let names = fs::read_dir(root.path.join("agent_outputs/reports")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name());
    let name = names.max().unwrap().into_string().unwrap();
    let directory = format!("agent_outputs/reports/{name}");
    let manifest = manifest(root, &directory);
    (directory, manifest)
}

fn manifest(root: &Root, directory: &str) -> Value {
    let path = root.path.join(directory).join("rollback_manifest.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn message(kind: &str, content: &Value) -> Value {
    json!({"envelope": {"message_type": kind}, "payload": {"task_id": "task_9", "content": content}})
}

#[test]
fn a_file_that_is_larger_than_any_plan_makes_one_has_changed_and_is_not_read() {
    let (root, plan) = furnished();
    let (report, _) = done(&root, &plan);
    let sparse = fs::OpenOptions::new()
        .write(true)
        .open(root.path.join("a.txt"))
        .unwrap();
    sparse.set_len(8 << 40).unwrap();
    let refused = told(&root, &["rollback", &report]);
    assert_ne!(refused.exit, 0);
    assert!(
        refused
            .text
            .contains("larger than any file that a plan can write"),
        "{}",
        refused.text
    );
}

#[test]
fn a_rollback_puts_back_bytes_permissions_and_times_r_001_109_to_119() {
    let (root, plan) = furnished();
    let before = tree(&root);
    let (directory, _) = done(&root, &plan);
    let undone = told(&root, &["rollback", &directory]);
    assert_eq!(undone.exit, 0, "{}", undone.text);
    assert!(undone.text.starts_with("Undone."), "{}", undone.text);
    assert_eq!(tree(&root), before);
    assert!(!root.path.join("d").exists());
    let manifest = manifest(&root, &directory);
    assert_eq!(manifest["status"], "EXECUTED");
    assert!(manifest["executed_at"].is_string());
    let again = told(&root, &["rollback", &directory]);
    assert_eq!(again.exit, 2);
    let said = "The rollback changed nothing. ";
    assert!(again.text.starts_with(said), "{}", again.text);
    assert!(again.text.contains("it was used up at"), "{}", again.text);
    assert!(!again.text.contains("not undone"), "{}", again.text);
}

/// What is neither as after the plan nor as before it is somebody's work.
#[test]
fn a_file_whose_permissions_were_changed_after_the_plan_is_not_undone() {
    for later in [0o755, 0o600] {
        let (root, plan) = furnished();
        let (directory, _) = done(&root, &plan);
        let script = root.path.join("a.txt");
        fs::set_permissions(&script, fs::Permissions::from_mode(later)).unwrap();
        let after = tree(&root);
        let refused = told(&root, &["rollback", &directory, "--json"]);
        assert_eq!(refused.exit, 1, "{}", refused.text);
        let why = "`a.txt` has changed since the plan: its owner, permissions or extended attributes are different";
        assert!(refused.text.contains(why), "{}", refused.text);
        assert_eq!(tree(&root), after);
        fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
        let undone = told(&root, &["rollback", &directory]);
        assert_eq!(undone.exit, 0, "{}", undone.text);
    }
}

fn renamed_and_changed() -> Value {
    json!({"plan_id": "plan-001", "protocol_validation": true, "action_plan": [
        {"action_id": "a001", "action_type": "FILE_RENAME", "target": "b.txt",
            "operation": {"type": "rename", "new_path": "a2.txt"}},
        {"action_id": "a002", "action_type": "FILE_MODIFY", "target": "a2.txt",
            "operation": {"type": "text_replace", "pattern": "two", "replacement": "zwei"}},
        {"action_id": "a003", "action_type": "FILE_RENAME", "target": "c.txt",
            "operation": {"type": "rename", "new_path": "d/e.txt"}},
    ]})
}

/// The same, by way of a third name.
fn renamed_twice_and_changed() -> Value {
    json!({"plan_id": "plan-001", "protocol_validation": true, "action_plan": [
        {"action_id": "a001", "action_type": "FILE_RENAME", "target": "b.txt",
            "operation": {"type": "rename", "new_path": "between"}},
        {"action_id": "a002", "action_type": "FILE_RENAME", "target": "between", "depends_on": ["a001"],
            "operation": {"type": "rename", "new_path": "a2.txt"}},
        {"action_id": "a003", "action_type": "FILE_MODIFY", "target": "a2.txt", "depends_on": ["a002"],
            "operation": {"type": "text_replace", "pattern": "two", "replacement": "zwei"}},
        {"action_id": "a004", "action_type": "FILE_RENAME", "target": "c.txt",
            "operation": {"type": "rename", "new_path": "d/e.txt"}},
    ]})
}

/// Restores one checkpoint.
fn undo_of(root: &Root, (directory, manifest): &(String, Value), path: &str) -> Told {
    let mut points = manifest["checkpoints"].as_array().unwrap().iter();
    let point = points.find(|point| point["file_path"] == path).unwrap();
    let id = point["checkpoint_id"].as_str().unwrap();
    told(root, &["rollback", directory, "--checkpoint", id])
}

#[test]
fn both_checkpoints_of_a_file_that_was_renamed_and_changed_are_undone_together() {
    let (root, _) = furnished();
    let before = tree(&root);
    for plan in [renamed_and_changed(), renamed_twice_and_changed()] {
        for half in ["b.txt", "a2.txt"] {
            let done = done(&root, &plan);
            let undone = undo_of(&root, &done, half);
            assert_eq!(undone.exit, 0, "{}", undone.text);
            assert!(!root.path.join("a2.txt").exists());
            assert!(root.path.join("b.txt").exists() && root.path.join("d/e.txt").exists());
            let rest = told(&root, &["rollback", &done.0]);
            assert_eq!(rest.exit, 0, "{}", rest.text);
            assert_eq!(tree(&root), before);
        }
    }
}

#[test]
fn the_rollback_of_a_rollback_keeps_both_checkpoints_together_too() {
    let (root, _) = furnished();
    let before = tree(&root);
    for half in ["b.txt", "a2.txt"] {
        let (directory, _) = done(&root, &renamed_twice_and_changed());
        let undone = told(&root, &["rollback", &directory]);
        assert_eq!(undone.exit, 0, "{}", undone.text);
        let rollback = newest(&root);
        let redone = undo_of(&root, &rollback, half);
        assert_eq!(redone.exit, 0, "{}", redone.text);
        assert!(!root.path.join("b.txt").exists());
        assert_eq!(
            fs::read_to_string(root.path.join("a2.txt")).unwrap(),
            "zwei\n"
        );
        let again = newest(&root);
        let undone = undo_of(&root, &again, half);
        assert_eq!(undone.exit, 0, "{}", undone.text);
        assert_eq!(tree(&root), before);
    }
}

/// The plan leaves a file with the same content and permissions, and with other attributes.
#[test]
fn a_file_that_took_the_place_of_an_equal_one_is_not_taken_for_the_restored_one() {
    let (root, _) = furnished();
    let [original, other] = ["a.txt", "b.txt"].map(|name| root.path.join(name));
    for file in [&original, &other] {
        fs::write(file, "equal\n").unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    }
    let (mark, flags) = ("user.mark", XattrFlags::empty());
    setxattr(original.as_std_path(), mark, b"original", flags).unwrap();
    let plan = json!({"plan_id": "plan-001", "protocol_validation": true, "action_plan": [
        {"action_id": "a001", "action_type": "FILE_DELETE", "target": "a.txt", "operation": {"type": "delete"}},
        {"action_id": "a002", "action_type": "FILE_RENAME", "target": "b.txt",
            "operation": {"type": "rename", "new_path": "a.txt"}},
    ]});
    let marked = |file: &Utf8Path| getxattr(file.as_std_path(), mark, &mut [0; 16]).is_ok();
    let (directory, _) = done(&root, &plan);
    assert!(!marked(&original));
    let undone = told(&root, &["rollback", &directory]);
    assert_eq!(undone.exit, 0, "{}", undone.text);
    assert!(marked(&original) && !marked(&other), "{}", undone.text);
}

/// The file had no ACL. One that takes the group's permission and gives it to another user was set after the plan.
#[test]
fn a_file_that_got_an_acl_after_the_plan_is_not_undone() {
    let (root, plan) = furnished();
    let file = root.path.join("a.txt");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let (directory, _) = done(&root, &plan);
    // user::rw- user:1236:r-- group::--- mask::r-- other::---
    let entries = [
        (1, 6, -1),
        (2, 4, 1236),
        (4, 0, -1),
        (16, 4, -1),
        (32, 0, -1),
    ];
    let mut acl = 2_u32.to_le_bytes().to_vec();
    for (kind, bits, id) in entries {
        acl.extend([kind, 0, bits, 0]);
        acl.extend(i32::to_le_bytes(id));
    }
    let (path, name) = (file.as_std_path(), "system.posix_acl_access");
    // Not every file system has ACLs.
    if setxattr(path, name, &acl, XattrFlags::empty()).is_err() {
        return;
    }
    let refused = told(&root, &["rollback", &directory]);
    assert_eq!(refused.exit, 1, "{}", refused.text);
    let why = "its owner, permissions or extended attributes are different";
    assert!(refused.text.contains(why), "{}", refused.text);
    assert!(getxattr(path, name, &mut [0; 64]).is_ok());
}

/// strace lets all of these calls fail from one on. What such a rollback leaves may not look like a foreign journal.
#[test]
fn wherever_looks_at_files_begin_to_fail_a_rollback_can_be_repeated() {
    let (root, plan) = furnished();
    let log = root.path.join("calls");
    let before = tree(&root);
    let (directory, _) = done(&root, &plan);
    for number in 1.. {
        let mut command = root.within("strace");
        command
            .args(["-f", "-qq", "-o", log.as_str(), "-etrace=statx"])
            .arg(format!("-einject=statx:error=ENOMEM:when={number}+"))
            .args([ONEACT, "rollback", &directory]);
        command.output().unwrap();
        let recovered = told(&root, &["recover"]);
        assert_eq!(recovered.exit, 0, "{number}: {}", recovered.text);
        if !fs::read_to_string(&log).unwrap().contains("(INJECTED)") {
            assert!(number > 20);
            break;
        }
    }
    assert_eq!(tree(&root), before);
}

#[test]
fn a_rollback_takes_back_permissions_that_the_plan_changed() {
    let (root, _) = furnished();
    let again = |content: &str, mode: &str| {
        json!({"plan_id": "plan-001", "protocol_validation": true, "action_plan": [
            {"action_id": "a001", "action_type": "FILE_DELETE", "target": "b.txt", "operation": {"type": "delete"}},
            {"action_id": "a002", "action_type": "FILE_CREATE", "target": "b.txt",
                "operation": {"type": "create", "content": content, "mode": mode}},
        ]})
    };
    let before = tree(&root);
    for content in ["two\n", "zwei\n"] {
        let (directory, _) = done(&root, &again(content, "0600"));
        assert_ne!(tree(&root), before);
        let undone = told(&root, &["rollback", &directory, "--json"]);
        assert_eq!(undone.exit, 0, "{}", undone.text);
        assert!(!undone.text.contains("after the plan"), "{}", undone.text);
        assert_eq!(tree(&root), before);
    }
}

#[test]
fn a_rollback_can_be_asked_for_by_message_and_told_of_r_001_84_r_001_105() {
    let (root, plan) = furnished();
    let before = tree(&root);
    let (directory, manifest) = done(&root, &plan);
    let status = asked(
        &root,
        &[],
        &message("STATUS_QUERY", &json!({"plan_id": "plan-001"})),
    );
    assert_eq!(
        (status.exit, status.state()),
        (0, &json!("done")),
        "{}",
        status.envelope
    );
    assert_eq!(
        status.at("/output/content/execution_report/status"),
        "SUCCESS"
    );
    let content = json!({"manifest_id": manifest["manifest_id"]});
    let undone = asked(&root, &[], &message("ROLLBACK_REQUEST", &content));
    assert_eq!(
        (undone.exit, undone.state()),
        (0, &json!("done")),
        "{}",
        undone.envelope
    );
    assert_eq!(
        undone.at("/output/content/execution_report/actions_summary/completed"),
        4
    );
    assert_eq!(tree(&root), before);
    assert_ne!(
        undone.at("/output/content/oneact/reports/directory"),
        &json!(directory)
    );
}

#[test]
fn a_rollback_can_itself_be_undone() {
    let (root, plan) = furnished();
    let (directory, _) = done(&root, &plan);
    let after = tree(&root)
        .into_iter()
        .map(|seen| seen.map(|(text, mode, _)| (text, mode)));
    let after: Vec<_> = after.collect();
    let undone = told(&root, &["rollback", &directory, "--json"]);
    let undone: Value = serde_json::from_str(&undone.text).unwrap();
    let second = undone["output"]["content"]["oneact"]["reports"]["directory"]
        .as_str()
        .unwrap();
    let again = told(&root, &["rollback", second]);
    assert_eq!(again.exit, 0, "{}", again.text);
    let now = tree(&root)
        .into_iter()
        .map(|seen| seen.map(|(text, mode, _)| (text, mode)));
    assert_eq!(now.collect::<Vec<_>>(), after);
}

#[test]
fn one_checkpoint_can_be_undone_alone_r_001_110() {
    let (root, plan) = furnished();
    let before = tree(&root);
    let (directory, checkpoints) = done(&root, &plan);
    let points = checkpoints["checkpoints"].as_array().unwrap();
    let of_b = points
        .iter()
        .find(|point| point["file_path"] == "b.txt")
        .unwrap();
    let id = of_b["checkpoint_id"].as_str().unwrap();
    let after = tree(&root);
    let undone = told(&root, &["rollback", &directory, "--checkpoint", id]);
    assert_eq!(undone.exit, 0, "{}", undone.text);
    let now = tree(&root);
    assert_eq!(
        (&now[1], &now[0], &now[3]),
        (&before[1], &after[0], &after[3])
    );
    assert_eq!(manifest(&root, &directory)["status"], "ACTIVE");
    let rest = told(&root, &["rollback", &directory]);
    assert_eq!(rest.exit, 0, "{}", rest.text);
    assert_eq!(tree(&root), before);
    assert_eq!(manifest(&root, &directory)["status"], "EXECUTED");
}

#[test]
fn a_directory_that_the_plan_made_goes_though_one_of_its_files_was_removed_before() {
    let (root, plan) = furnished();
    let (directory, _) = done(&root, &plan);
    fs::remove_file(root.path.join("d/n.txt")).unwrap();
    let undone = told(&root, &["rollback", &directory]);
    assert_eq!(undone.exit, 0, "{}", undone.text);
    assert!(root.path.join("c.txt").exists());
    assert!(!root.path.join("d").exists(), "{}", undone.text);
    assert_eq!(manifest(&root, &directory)["status"], "EXECUTED");
}

#[test]
fn what_has_changed_since_is_not_undone_and_nothing_else_is_r_001_116() {
    let (root, plan) = furnished();
    let (directory, _) = done(&root, &plan);
    fs::write(root.path.join("a.txt"), "mine\n").unwrap();
    let before = tree(&root);
    let refused = told(&root, &["rollback", &directory, "--json"]);
    let envelope: Value = serde_json::from_str(&refused.text).unwrap();
    assert_eq!(refused.exit, 1);
    assert_eq!(
        envelope["output"]["content"]["oneact"]["fault"],
        "rollback_conflict"
    );
    let message = envelope["error"]["error_message"].as_str().unwrap();
    assert!(
        message.contains("`a.txt` has changed since the plan"),
        "{message}"
    );
    assert_eq!(tree(&root), before);
    assert_eq!(manifest(&root, &directory)["status"], "ACTIVE");
}

#[test]
fn a_plan_whose_time_is_over_is_not_undone_and_its_backups_go_r_001_62() {
    let (root, plan) = furnished();
    let mut command = root.command();
    command.args(["run", "--clock", "2020-01-01T00:00:00+00:00[UTC]"]);
    let answer = run(command, plan.to_string().as_bytes());
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    let (directory, _) = newest(&root);
    let before = tree(&root);
    let refused = told(&root, &["rollback", &directory]);
    assert_eq!(refused.exit, 2);
    assert!(refused.text.contains("expired"), "{}", refused.text);
    assert_eq!(tree(&root), before);
    let cleared = told(&root, &["recover"]);
    assert!(cleared.text.contains("had expired"), "{}", cleared.text);
    assert_eq!(manifest(&root, &directory)["status"], "EXPIRED");
    assert!(!root.path.join(&directory).join("backups").exists());
}

#[test]
fn a_killed_plan_is_taken_back_by_recover_r_001_107() {
    if is_refused() {
        return;
    }
    // Late enough that something was renamed, early enough that nothing is committed.
    let (mut interrupted, mut renamed) = (0, 0);
    for at in (1..).step_by(2) {
        // A tree of its own for each kill: the reports of earlier kills would change the number of calls.
        let (root, plan) = furnished();
        let before = tree(&root);
        let kill = nth(Call::is_of_plan, at, Act::Kill);
        if !traced(&root.command(), &root.path, &plan, kill).was_killed() {
            break;
        }
        interrupted += 1;
        renamed += usize::from(tree(&root) != before);
        let settled = told(&root, &["recover"]);
        assert_eq!(settled.exit, 0, "{at}: {}", settled.text);
        if tree(&root) != before {
            // The plan was committed before it was killed.
            let last = told(&root, &["recover"]);
            assert_eq!(last.text, "No plan is unfinished.\n");
            break;
        }
    }
    assert!(
        interrupted > 10 && renamed > 0,
        "{interrupted} kills, {renamed} seen"
    );
}

#[test]
fn an_error_of_the_disk_is_told_with_what_was_done_about_it_r_001_141_r_001_150_r_001_153() {
    if is_refused() {
        return;
    }
    for (errno, code) in [(Errno::EIO, 2006), (Errno::ENOSPC, 2002)] {
        let (mut ends, mut unharmed) = (Vec::new(), 0);
        for at in (1..200).step_by(3) {
            let (root, plan) = furnished();
            let before = tree(&root);
            let failing = nth(Call::is_of_plan, at, Act::Fail(errno));
            let ended = traced(&root.command(), &root.path, &plan, failing);
            let answer = Answer::of(ended.output);
            let state = answer.state().as_str().unwrap().to_owned();
            if state == "done" {
                // Some errors have a way around them; after the last call there is none to fail.
                assert_ne!(tree(&root), before, "{errno}@{at}");
                unharmed += 1;
                if unharmed > 12 {
                    break;
                }
                continue;
            }
            unharmed = 0;
            assert_eq!(tree(&root), before, "{errno}@{at}: {state}");
            assert_eq!(answer.exit, 1, "{errno}@{at}");
            if let Some(report) = answer.envelope.pointer("/output/content/execution_report") {
                let error = &report["errors"][0];
                assert_eq!(error["error_code"], code, "{errno}@{at}");
                assert_eq!(error["error_category"], "FILE_SYSTEM_ERROR");
                let (status, recovery) = match state.as_str() {
                    "rolled_back" => ("ROLLED_BACK", "ROLLED_BACK"),
                    _ => ("FAILED", "SKIPPED"),
                };
                assert_eq!(report["status"], status, "{errno}@{at}");
                assert_eq!(error["recovery_action"], recovery, "{errno}@{at}");
                assert_eq!(report["rollback_performed"], status == "ROLLED_BACK");
            }
            ends.push(state);
        }
        for end in ["failed", "rolled_back"] {
            assert!(ends.iter().any(|state| state == end), "{errno}: {ends:?}");
        }
    }
}

#[test]
fn the_script_beside_the_manifest_undoes_the_plan_r_001_67() {
    let (root, plan) = furnished();
    let before = tree(&root);
    let (directory, _) = done(&root, &plan);
    let programs = root.path.join("programs");
    fs::create_dir(&programs).unwrap();
    std::os::unix::fs::symlink(ONEACT, programs.join("oneact")).unwrap();
    let mut command = root.within("sh");
    command.arg(root.path.join(&directory).join("rollback.sh"));
    command
        .env("PATH", format!("{programs}:/usr/bin:/bin"))
        .env_remove("ONEACT_ROOT")
        .current_dir("/");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(tree(&root), before);
}

#[test]
fn a_preview_binds_the_run_that_follows_r_001_07() {
    let (root, plan) = furnished();
    let before = tree(&root);
    let preview = asked(&root, &["--dry-run"], &plan);
    assert_eq!((preview.exit, preview.state()), (0, &json!("planned")));
    assert_eq!(tree(&root), before);
    assert!(!root.path.join("agent_outputs").exists());
    let hash = preview
        .at("/output/content/oneact/preview/hash")
        .as_str()
        .unwrap();
    fs::write(root.path.join("a.txt"), "one, two\n").unwrap();
    let before = tree(&root);
    let refused = asked(&root, &["--expect", hash], &plan);
    assert_eq!(
        (refused.exit, refused.fault()),
        (2, &json!("preview_changed"))
    );
    assert_eq!(tree(&root), before);
    fs::write(root.path.join("a.txt"), "one\n").unwrap();
    let carried_out = asked(&root, &["--expect", hash], &plan);
    assert_eq!((carried_out.exit, carried_out.state()), (0, &json!("done")));
    assert_eq!(
        carried_out.at("/output/content/execution_report/preview_hash"),
        hash
    );
}

#[test]
fn the_reply_report_is_the_execution_report_r_001_41_r_001_165() {
    let (root, plan) = furnished();
    let answer = asked(&root, &["--reply", "report"], &plan);
    assert_eq!(
        (answer.exit, &answer.envelope["status"]),
        (0, &json!("SUCCESS"))
    );
    let change_log = answer.envelope["change_log"].as_str().unwrap();
    let written = root
        .path
        .join(change_log)
        .with_file_name("execution_report.json");
    let written: Value = serde_json::from_str(&fs::read_to_string(written).unwrap()).unwrap();
    assert_eq!(written["report_id"], answer.envelope["report_id"]);
    assert_eq!(
        written["actions_summary"],
        answer.envelope["actions_summary"]
    );
}

#[test]
fn a_directory_that_may_not_be_written_to_fails_its_action_alone_r_001_71_r_001_142_r_001_149() {
    let (root, mut plan) = furnished();
    let locked = root.path.join("locked");
    fs::create_dir(&locked).unwrap();
    fs::write(locked.join("x.txt"), "x\n").unwrap();
    plan["execution_instructions"] = json!({"stop_on_error": false, "rollback_on_failure": false});
    let action = json!({"action_id": "a005", "action_type": "FILE_DELETE", "target": "locked/x.txt",
        "operation": {"type": "delete"}});
    plan["action_plan"]
        .as_array_mut()
        .unwrap()
        .insert(0, action);
    let command = root.as_nobody();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    let answer = run(command, plan.to_string().as_bytes());
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(answer.state(), "partial", "{}", answer.envelope);
    let report = answer.at("/output/content/execution_report");
    assert_eq!(report["status"], "PARTIAL");
    assert_eq!(
        report["actions_summary"],
        json!({"total": 5, "completed": 4, "failed": 1, "skipped": 0})
    );
    let error = &report["errors"][0];
    assert_eq!(error["error_code"], 3001);
    assert_eq!(error["error_category"], "PERMISSION_ERROR");
    assert_eq!(error["recovery_action"], "SKIPPED");
    assert_eq!(fs::read_to_string(locked.join("x.txt")).unwrap(), "x\n");
    assert_eq!(
        fs::read_to_string(root.path.join("a.txt")).unwrap(),
        "eins\n"
    );
}

/// From a sticky directory of another user, nobody but its owner can take a file. It is written there anew.
#[test]
fn a_plan_that_moves_a_file_of_another_user_into_a_sticky_directory_can_be_undone() {
    let root = Root::new();
    let [source, sticky] = ["src", "out"].map(|name| root.path.join(name));
    for dir in [&source, &sticky] {
        fs::create_dir(dir).unwrap();
    }
    let (old, new) = (source.join("f.txt"), sticky.join("f.txt"));
    fs::write(&old, "one\n").unwrap();
    fs::write(root.path.join("b.txt"), "two\n").unwrap();
    fs::set_permissions(&sticky, fs::Permissions::from_mode(0o1777)).unwrap();
    let is_root = fs::metadata(&old).unwrap().uid() == 0;
    let command = || {
        let command = root.as_nobody();
        if is_root {
            chown(&sticky, Some(1), Some(1)).unwrap();
            // A group that the user may give.
            let file = if old.exists() { &old } else { &new };
            chown(file, None, Some(65_534)).unwrap();
        }
        command
    };
    let rename = json!({"action_id": "a001", "action_type": "FILE_RENAME", "target": "src/f.txt",
        "operation": {"type": "rename", "new_path": "out/f.txt"}});
    let fails = json!({"action_id": "a002", "action_type": "FILE_MODIFY", "target": "b.txt", "depends_on": ["a001"],
        "operation": {"type": "line_insert", "line_number": 1, "content": "x"},
        "validation_rules": [{"type": "contains", "text": "NOPE", "on_failure": "rollback"}]});
    for (actions, exit) in [(vec![rename.clone(), fails], 1), (vec![rename], 0)] {
        let plan =
            json!({"plan_id": "plan-001", "protocol_validation": true, "action_plan": actions});
        let answer = run(command(), plan.to_string().as_bytes());
        assert_eq!(answer.exit, exit, "{}", answer.envelope);
        assert_eq!((old.exists(), new.exists()), (exit == 1, exit == 0));
    }
    let (directory, _) = newest(&root);
    let undone = command().args(["rollback", &directory]).output().unwrap();
    assert!(undone.status.success(), "{undone:?}");
    assert!(old.exists() && !new.exists());
}

/// A mounted file hides the result, whether it has the content from before or from after the plan.
#[test]
fn a_file_that_is_mounted_over_the_result_is_no_result_and_not_restored() {
    let (root, plan) = furnished();
    let (directory, _) = done(&root, &plan);
    for content in ["one\n", "eins\n"] {
        fs::write(root.path.join("over"), content).unwrap();
        let mount = "mount --bind over a.txt";
        let mut probe = root.within("unshare");
        if !probe
            .args(["--mount", "sh", "-c", mount])
            .status()
            .is_ok_and(|status| status.success())
        {
            writeln!(std::io::stderr(), "skipped: nothing can be mounted here").unwrap();
            return;
        }
        let mut command = root.within("unshare");
        command.args(["--mount", "sh", "-c"]);
        command.arg(format!("{mount} && exec {ONEACT} rollback {directory}"));
        let refused = command.output().unwrap();
        let told = String::from_utf8(refused.stdout).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{told}");
        assert!(told.contains("a file is mounted there now"), "{told}");
    }
    let undone = told(&root, &["rollback", &directory]);
    assert_eq!(undone.exit, 0, "{}", undone.text);
}

/// The content does not show whether such a file is restored, and its permissions may have changed since.
#[test]
fn a_file_that_kept_its_content_is_undone_again_with_the_whole_plan() {
    let (root, _) = furnished();
    let plan = json!({"plan_id": "plan-001", "protocol_validation": true, "action_plan": [
        {"action_id": "a001", "action_type": "FILE_DELETE", "target": "b.txt", "operation": {"type": "delete"}},
        {"action_id": "a002", "action_type": "FILE_CREATE", "target": "b.txt",
            "operation": {"type": "create", "content": "two\n", "mode": "0600"}},
        {"action_id": "a003", "action_type": "FILE_DELETE", "target": "a.txt", "operation": {"type": "delete"}},
    ]});
    let (directory, manifest) = done(&root, &plan);
    let undone = undo_of(&root, &(directory.clone(), manifest), "b.txt");
    assert_eq!(undone.exit, 0, "{}", undone.text);
    let closed = fs::Permissions::from_mode(0o400);
    fs::set_permissions(root.path.join("b.txt"), closed).unwrap();
    let whole = told(&root, &["rollback", &directory]);
    assert_eq!(whole.exit, 0, "{}", whole.text);
    assert!(root.path.join("a.txt").exists());
    let facts = fs::metadata(root.path.join("b.txt")).unwrap();
    assert_eq!(facts.mode() & 0o777, 0o400);
}

/// The journal is the one truth: reports are output that is made from it.
#[test]
fn a_manifest_that_was_altered_torn_or_removed_changes_nothing_of_a_rollback() {
    for harm in ["removed", "torn", "marked", "foreign"] {
        let (root, plan) = furnished();
        let before = tree(&root);
        let (directory, mut points) = done(&root, &plan);
        let path = root.path.join(&directory).join("rollback_manifest.json");
        match harm {
            "removed" => fs::remove_file(&path).unwrap(),
            "torn" => fs::write(&path, "{").unwrap(),
            _ => {
                points["checkpoints"][0]["undone_at"] = "2026-02-24T10:00:00.000Z".into();
                points["created_directories"] = json!(["foreign"]);
                fs::write(&path, points.to_string()).unwrap();
            }
        }
        let undone = told(&root, &["rollback", &directory]);
        assert_eq!(undone.exit, 0, "{harm}: {}", undone.text);
        assert_eq!(tree(&root), before, "{harm}");
        assert_eq!(manifest(&root, &directory)["status"], "EXECUTED", "{harm}");
    }
}

/// Byte for byte, from the journal alone (R-001-41, 52, 60).
#[test]
fn reports_that_are_missing_or_torn_are_made_again() {
    let (root, plan) = furnished();
    let (directory, _) = done(&root, &plan);
    let names = [
        "execution_report.json",
        "change_log.json",
        "rollback_manifest.json",
        "rollback.sh",
    ];
    let paths = names.map(|name| root.path.join(&directory).join(name));
    let before = paths.each_ref().map(|path| fs::read(path).unwrap());
    fs::remove_file(&paths[0]).unwrap();
    fs::write(&paths[1], "").unwrap();
    fs::write(&paths[2], "{").unwrap();
    fs::remove_file(&paths[3]).unwrap();
    let query = message("STATUS_QUERY", &json!({"plan_id": "plan-001"}));
    let answer = asked(&root, &[], &query);
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    assert_eq!(paths.each_ref().map(|path| fs::read(path).unwrap()), before);
}

/// A checkout can contain a report, but not the journal of a plan that was applied in it.
#[test]
fn a_report_that_was_not_written_here_answers_no_query() {
    let (root, plan) = furnished();
    let planted = root.path.join("agent_outputs/reports/29990101-000000_p1");
    fs::create_dir_all(&planted).unwrap();
    let report = json!({"plan_id": "plan-001", "task_id": "plan-001", "status": "SUCCESS"});
    fs::write(planted.join("execution_report.json"), report.to_string()).unwrap();
    let query = message("STATUS_QUERY", &json!({"plan_id": "plan-001"}));
    let answer = asked(&root, &[], &query);
    assert_eq!(answer.exit, 2, "{}", answer.envelope);
    assert_eq!(answer.fault(), "manifest_unusable");
    // A plan of that name that was applied here is found.
    let (directory, _) = done(&root, &plan);
    let answer = asked(&root, &[], &query);
    assert_eq!(
        answer.at("/output/content/oneact/reports/directory"),
        &json!(directory),
        "{}",
        answer.envelope
    );
}

#[test]
fn a_plan_is_cancelled_by_a_message_in_its_own_root_only_r_001_84() {
    if is_refused() {
        return;
    }
    let (root, plan) = furnished();
    let before = tree(&root);
    let hang = first(Call::changes_tree, Act::Hang);
    let mut hanging = Traced::start(&root.command(), &root.path, hang);
    hanging.feed(&plan);
    hanging.until_met();
    let notes = |root: &Root| root.path.join("agent_outputs/reports/.unfinished");
    assert!(notes(&root).read_dir_utf8().unwrap().next().is_some());
    let cancel = message("CANCEL", &json!({"plan_id": "plan-001"}));
    // A note in another root names the same process.
    let (other, _) = furnished();
    fs::create_dir_all(notes(&other)).unwrap();
    let note = json!({"plan_id": "plan-001", "task_id": "t", "pid": hanging.id(), "began": ""});
    fs::write(notes(&other).join("x"), note.to_string()).unwrap();
    let none = asked(&other, &[], &cancel);
    assert_eq!(
        (none.exit, none.fault()),
        (2, &json!("input_unresolved")),
        "{}",
        none.envelope
    );
    assert!(!hanging.has_ended());
    let told = asked(&root, &[], &cancel);
    assert_eq!(told.exit, 0, "{}", told.envelope);
    hanging.end();
    let mut recover = root.command();
    recover.arg("recover");
    assert!(recover.output().unwrap().status.success());
    assert_eq!(tree(&root), before);
}
