//! Approvals of plans, and what their requests show.

use rusqlite::Connection;

use super::*;
use crate::tracer::{Act, Call, is_refused, nth, traced};

/// R-001-34, R-001-138, C-16.
#[test]
fn an_approved_plan_changes_a_protected_file_exactly_as_it_was_shown() {
    let root = Root::with_catalog("catalog = 1\n");
    let file = root.path.join("pyproject.toml");
    fs::write(&file, "version = \"1.0\"\n").unwrap();
    let dry = {
        let mut command = root.command();
        command.arg("--dry-run");
        run(command, plan("pyproject.toml").to_string().as_bytes())
    };
    assert_eq!(dry.exit, 0, "{}", dry.envelope);
    let first = root.run(&plan("pyproject.toml"));
    let id = asks(&first);
    assert_eq!(
        first.at("/output/content/oneact/waiting/intent_hash"),
        dry.at("/output/content/oneact/preview/hash")
    );
    assert_eq!(asks(&root.run(&plan("pyproject.toml"))), id);
    let (_, shown, _) = oneact(&root, &["approvals", &id]);
    assert!(
        shown.contains("-version = \"1.0\"\n  +version = \"1.1\""),
        "{shown}"
    );
    approve(&root, &id);
    // The file changes after the approval: what was approved is not what would be done.
    fs::write(&file, "version = \"1.0\" # changed\n").unwrap();
    let changed = root.run(&plan("pyproject.toml"));
    assert_eq!(
        changed.fault(),
        &json!("approval_mismatch"),
        "{}",
        changed.envelope
    );
    let second = asks(&root.run(&plan("pyproject.toml")));
    assert_ne!(second, id);
    approve(&root, &second);
    let done = root.run(&plan("pyproject.toml"));
    assert_eq!(
        (done.exit, done.state()),
        (0, &json!("done")),
        "{}",
        done.envelope
    );
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "version = \"1.1\" # changed\n"
    );
    // It is undone like any other plan.
    let report = done
        .at("/output/content/oneact/reports/directory")
        .as_str()
        .unwrap();
    let (exit, _, problem) = oneact(&root, &["rollback", report]);
    assert_eq!(exit, 0, "{problem}");
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "version = \"1.0\" # changed\n"
    );
    assert_eq!(oneact(&root, &["verify"]).0, 0);
}

/// A task that undoes an approved plan, or makes it again, waits like the plan. A rule of the entry that says `never`
/// or `always` changes nothing of that, but its approvers count.
#[test]
fn a_task_undoes_an_approved_plan_only_with_another_approval() {
    let entry = |rule: &str| {
        let entry = format!("[capability.apply_file_plan.approval]\n{rule}\n");
        format!(
            "catalog = 1\n[capability.apply_file_plan]\ndescription = \"Plans.\"\n[capability.apply_file_plan.file_plan]\n{entry}"
        )
    };
    let root = Root::with_catalog(&entry(""));
    let file = root.path.join("pyproject.toml");
    let content = || fs::read_to_string(&file).unwrap();
    fs::write(&file, "1.0\n").unwrap();
    approve(&root, &asks(&root.run(&plan("pyproject.toml"))));
    let report = |done: Answer| {
        assert_eq!(done.state(), "done", "{}", done.envelope);
        done.at("/output/content/oneact/reports/directory").clone()
    };
    let first = report(root.run(&plan("pyproject.toml")));
    let back = |directory: &Value, key: &str| {
        json!({
            "envelope": {"message_type": "ROLLBACK_REQUEST"},
            "payload": {"task_id": key, "content": {"report_directory": directory}},
            "metadata": {"session_id": "s", "idempotency_key": key},
        })
    };
    let undo = back(&first, "undo");
    let id = asks(&root.run(&undo));
    assert_eq!(
        (asks(&root.run(&undo)), content().as_str()),
        (id.clone(), "1.1\n")
    );
    let (_, diff, _) = oneact(&root, &["approvals", &id]);
    assert!(
        diff.contains("changed, 4 bytes before, 4 bytes after, protected"),
        "{diff}"
    );
    assert!(diff.contains("-1.1\n  +1.0"), "{diff}");
    // What was approved is not what would be done.
    fs::write(root.path.join("catalog.toml"), entry("when = \"never\"")).unwrap();
    approve(&root, &id);
    let second = report(root.run(&undo));
    assert_eq!(content(), "1.0\n");
    // The rollback of the rollback makes the approved change again.
    let redo = back(&second, "redo");
    let id = asks(&root.run(&redo));
    approve(&root, &id);
    fs::write(&file, "1.0\n2.0\n").unwrap();
    let changed = root.run(&redo);
    assert_eq!(changed.fault(), "rollback_conflict", "{}", changed.envelope);
    fs::write(&file, "1.0\n").unwrap();
    let own = format!(
        "approvers = [\"uid:{}\"]",
        rustix::process::geteuid().as_raw() + 1
    );
    fs::write(root.path.join("catalog.toml"), entry(&own)).unwrap();
    let id = asks(&root.run(&back(&second, "other")));
    let (exit, shown) = at_a_terminal(&root, "y\n", &["approve", &id]);
    assert_eq!((exit, content().as_str()), (2, "1.0\n"), "{shown}");
    // A person needs no approval for it.
    let (exit, _, problem) = oneact(&root, &["rollback", second.as_str().unwrap()]);
    assert_eq!((exit, content().as_str()), (0, "1.1\n"), "{problem}");
    assert_eq!(oneact(&root, &["verify"]).0, 0);
}

#[test]
fn no_approval_lets_a_plan_change_the_files_of_oneact_or_what_the_catalog_never_allows() {
    let never = "catalog = 1\n[capability.apply_file_plan.file_plan]\nprotected.important = { rule = \"never\" }\n[approval]\nallowed_signers = \"allowed\"\n";
    let root = Root::with_catalog(never);
    fs::write(root.path.join("pyproject.toml"), "1.0\n").unwrap();
    fs::create_dir_all(root.path.join(".oneact")).unwrap();
    fs::write(root.path.join(".oneact/x"), "1.0\n").unwrap();
    fs::write(root.path.join("allowed"), "1.0\n").unwrap();
    for target in ["pyproject.toml", ".oneact/x", "allowed"] {
        let refused = root.run(&plan(target));
        assert_eq!(
            (refused.exit, refused.fault()),
            (2, &json!("protected_file")),
            "{}",
            refused.envelope
        );
    }
}

/// What the parameters and the diff of a request show, in one text.
fn shown(root: &Root, id: &str) -> String {
    let (exit, shown, problem) = oneact(root, &["approvals", id]);
    assert_eq!(exit, 0, "{problem}");
    shown
}

fn plan_of(actions: &Value) -> Value {
    json!({
        "task_plan": {"plan_id": "p", "action_plan": actions},
        "protocol_validation": true, "metadata": {"session_id": "s", "request_id": "r"},
    })
}

fn of_env(pattern: &str, replacement: &str) -> Value {
    json!({"action_id": "env", "action_type": "FILE_MODIFY", "target": ".env",
           "operation": {"type": "text_replace", "pattern": pattern, "replacement": replacement}})
}

/// R-001-161: as in the reports of a finished plan.
#[test]
fn the_request_of_a_plan_has_no_secrets_of_its_files() {
    let notify = "catalog = 1\n[approval]\nnotify = [\"sh\", \"-c\", \"cat > told\"]\n";
    let root = Root::with_catalog(notify);
    let secrets = "PASSWORD=hunter2\nA=1\nDB=postgres://u:hunter2@h/db\n";
    fs::write(root.path.join(".env"), secrets).unwrap();
    let first = root.run(&plan_of(&json!([of_env("A=1", "A=2")])));
    let listed = shown(&root, &asks(&first));
    let file = ".env: changed, 50 bytes before, 50 bytes after, 2 values hidden in the diff,\n  ↪ protected\n";
    assert!(listed.contains(file), "{listed}");
    assert!(
        listed.contains("   PASSWORD=***\n  -A=1\n  +A=2\n"),
        "{listed}"
    );
    let told = fs::read_to_string(root.path.join("told")).unwrap();
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let row = "SELECT request || response FROM agent_actions";
    let row: String = ledger.query_row(row, [], |row| row.get(0)).unwrap();
    for text in [&listed, &told, &row, &first.envelope.to_string()] {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn the_request_of_a_plan_lists_its_files_and_no_file_hides_another() {
    let root = Root::with_catalog("catalog = 1\n");
    fs::write(root.path.join(".env"), "A=1\n").unwrap();
    let create = |id: &str, content: &str| {
        json!({"action_id": id, "action_type": "FILE_CREATE", "target": id,
               "operation": {"type": "create", "content": content}})
    };
    let mut binary = create("binary", "AAE=");
    binary["operation"]["encoding"] = json!("base64");
    let actions = json!([
        create("a", &"filler\n".repeat(70_000)),
        binary,
        of_env("A=1", "A=evil")
    ]);
    let id = asks(&root.run(&plan_of(&actions)));
    let listed = shown(&root, &id);
    let (_, diffs) = listed.split_once("\n\n").unwrap();
    let list = "  .env: changed, 4 bytes before, 7 bytes after, protected\n  \
                binary: created, 0 bytes before, 2 bytes after\n  \
                a: created, 0 bytes before, 490000 bytes after\n  \
                diff --git a/.env b/.env\n";
    assert!(diffs.starts_with(list), "{}", &diffs[..400]);
    let (_, terminal) = at_a_terminal(&root, "n\n", &["approve", &id]);
    for text in [listed.as_str(), &terminal.replace('\r', "")] {
        for part in [
            "-A=1\n  +A=evil\n",
            "after: 2 bytes, SHA-256\n  ↪ b413f47d13ee2fe6c845b2ee141af81de858df4ec549a58b7970bb96645bc8d2\n",
            "more bytes of the diff of a: created",
        ] {
            assert!(text.contains(part), "{part}");
        }
    }
}

#[test]
fn long_paths_leave_the_request_of_a_plan_short() {
    let root = Root::with_catalog("catalog = 1\n");
    fs::write(root.path.join(".env"), "A=1\n").unwrap();
    let long = vec!["n".repeat(200); 18].join("/");
    let create = |at: usize| {
        json!({"action_id": format!("a{at}"), "action_type": "FILE_CREATE", "target": format!("{long}/{at}"),
               "operation": {"type": "create", "content": "y\n"}})
    };
    let mut actions: Vec<Value> = (0..99).map(create).collect();
    actions.push(of_env("A=1", "A=evil"));
    let listed = shown(&root, &asks(&root.run(&plan_of(&json!(actions)))));
    let (_, diffs) = listed.split_once("\n\n").unwrap();
    assert!(diffs.starts_with("  .env: changed, 4 bytes before, 7 bytes after, protected\n"));
    assert!(diffs.find("+A=evil\n").unwrap() < 40_000);
    let (_, counted) = diffs.split_once("… and ").unwrap();
    assert!(
        counted[2..].starts_with(" more files, none of them protected\n"),
        "{}",
        &counted[..80]
    );
    assert!(diffs.len() < 350_000, "{}", diffs.len());
}

/// The catalog exempts paths, not the way by which a file gets there (C-16).
#[test]
fn an_exempted_path_makes_no_other_file_executable() {
    let executes = "catalog = 1\n[capability.apply_file_plan.file_plan]\nprotected.executes = { except = [\"scripts/**\"] }\n";
    let create = json!({"action_id": "c", "action_type": "FILE_CREATE", "target": "scripts/x.sh",
                        "operation": {"type": "create", "content": "x\n", "mode": "0755"}});
    let rename = json!({"action_id": "r", "action_type": "FILE_RENAME", "target": "scripts/x.sh",
                        "operation": {"type": "rename", "new_path": "bin/x.sh"}});
    let root = Root::with_catalog(executes);
    let id = asks(&root.run(&plan_of(&json!([create, rename]))));
    assert!(
        shown(&root, &id).contains("bin/x.sh: created, 0 bytes before, 2 bytes after, protected\n")
    );
    let mut alone = plan_of(&json!([create]));
    alone["task_plan"]["plan_id"] = json!("p1");
    let done = root.run(&alone);
    assert_eq!(done.exit, 0, "{}", done.envelope);
    let mut moved = plan_of(&json!([rename]));
    moved["task_plan"]["plan_id"] = json!("p2");
    asks(&root.run(&moved));
    assert!(!root.path.join("bin").exists());
    let linked = Root::with_catalog(executes);
    fs::create_dir(linked.path.join("src")).unwrap();
    std::os::unix::fs::symlink("src", linked.path.join("scripts")).unwrap();
    asks(&linked.run(&plan_of(&json!([create]))));
    assert!(!linked.path.join("src/x.sh").exists());
}

/// A file with an execute bit may move, and no new one may take the bit at the path that it leaves (C-16).
#[test]
fn one_executable_file_does_not_become_two() {
    let act = |kind: &str, target: &str, operation: Value| json!({"action_id": format!("{kind} {target}"), "action_type": kind, "target": target, "operation": operation});
    let renamed = |from: &str, to: &str| {
        act(
            "FILE_RENAME",
            from,
            json!({"type": "rename", "new_path": to}),
        )
    };
    let edited = |at: &str| {
        let edit = json!({"type": "text_replace", "pattern": "old", "replacement": "new"});
        act("FILE_MODIFY", at, edit)
    };
    let created = |mode: Option<&str>| {
        let mut created = json!({"type": "create", "content": "old\n"});
        if let Some(mode) = mode {
            created["mode"] = json!(mode);
        }
        act("FILE_CREATE", "run", created)
    };
    for (actions, waits) in [
        (
            json!([renamed("run", "bin/x"), edited("bin/x"), created(None)]),
            true,
        ),
        (
            json!([
                renamed("run", "a"),
                renamed("a", "bin/x"),
                created(Some("0755"))
            ]),
            true,
        ),
        (
            json!([
                renamed("run", "bin/x"),
                edited("bin/x"),
                created(Some("0644"))
            ]),
            false,
        ),
        (
            json!([
                renamed("run", "bin/x"),
                edited("bin/x"),
                renamed("other", "run")
            ]),
            false,
        ),
    ] {
        let root = Root::with_catalog("catalog = 1\n");
        for name in ["run", "other"] {
            let path = root.path.join(name);
            fs::write(&path, "old\n").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let answer = root.run(&plan_of(&actions));
        assert_eq!(
            answer.exit,
            if waits { 3 } else { 0 },
            "{actions}: {}",
            answer.envelope
        );
        if waits {
            let listed = shown(&root, &asks(&answer));
            assert!(
                listed.contains("bin/x: created, 0 bytes before, 4 bytes after, protected\n"),
                "{listed}"
            );
        }
    }
}

/// A plan that is killed while it changes a protected file is settled, because its journal says that it was approved.
#[test]
fn an_approved_plan_that_is_killed_is_settled() {
    if is_refused() {
        return;
    }
    for call in (1..).step_by(3) {
        let root = Root::with_catalog("catalog = 1\n");
        let file = root.path.join("pyproject.toml");
        fs::write(&file, "version = \"1.0\"\n").unwrap();
        let id = asks(&root.run(&plan("pyproject.toml")));
        approve(&root, &id);
        let kill = nth(Call::is_of_plan, call, Act::Kill);
        let killed = traced(&root.command(), &root.path, &plan("pyproject.toml"), kill);
        let (exit, said, problem) = oneact(&root, &["recover"]);
        assert_eq!(exit, 0, "killed at {call}: {said}{problem}");
        let now = fs::read_to_string(&file).unwrap();
        assert!(
            ["version = \"1.0\"\n", "version = \"1.1\"\n"].contains(&now.as_str()),
            "{now}"
        );
        if !killed.was_killed() {
            break;
        }
    }
}
