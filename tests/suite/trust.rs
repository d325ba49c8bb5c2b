//! What lies on disk decides nothing by itself: journals, catalogs, state directories that others put there.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink},
    process::Command,
};

use camino::{Utf8Path, Utf8PathBuf};
use crc::{CRC_32_ISO_HDLC, Crc};
use serde_json::{Value, json};

use crate::program::{Answer, ONEACT, Root, run, text};

const NAME: &str = "20260101T000000Z_task";
const REPORTS: &str = "agent_outputs/reports";

fn line(event: &Value) -> String {
    let json = event.to_string();
    let sum = Crc::<u32>::new(&CRC_32_ISO_HDLC).checksum(json.as_bytes());
    format!("{sum:08x} {json}\n")
}

/// A report directory as a repository could carry it: the plan in it was half applied.
fn forge(root: &Utf8Path, changes: &Value, first: &Value) -> Utf8PathBuf {
    let folder = root.join(REPORTS).join(NAME);
    fs::create_dir_all(folder.join("staged")).unwrap();
    fs::create_dir_all(root.join(REPORTS).join(".unfinished")).unwrap();
    fs::write(root.join(REPORTS).join(".unfinished").join(NAME), "{}").unwrap();
    let mut begin = json!({"begin": {"version": 1, "operation": "op_1", "root": 1}});
    if !first.is_null() {
        begin["begin"]["birth"] = first.clone();
    }
    let at = "2026-01-01T00:00:00Z";
    let run = json!({"run": {"plan_id": "p", "task_id": "t", "version": "0.1.0", "began": at, "actions": [],
        "directory": format!("{REPORTS}/{NAME}")}});
    let ready = json!({"ready": {"id": NO_ID, "created": at, "expires": null, "changes": changes}});
    let lines = [begin, run, ready, json!("apply")].map(|event| line(&event));
    fs::write(folder.join("journal"), lines.concat()).unwrap();
    folder
}

const NO_ID: &str = "00000000-0000-0000-0000-000000000000";

/// What stands in the slot of the first of those below.
const SCRIPT: &str = "#!/bin/sh\n";

/// Of that.
const SCRIPT_SHA256: &str = "a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf";

/// A deletion, so that undoing it puts the slot's file there.
fn deleted(path: &str, slot: &str) -> Value {
    let facts = json!({"kind": "file", "dev": 1, "ino": 1, "bytes": SCRIPT.len(), "mtime": 1, "mode": 493, "uid": 0, "gid": 0, "nlink": 1});
    let backup = format!("{REPORTS}/{NAME}/backups/{path}.bak");
    let before = json!({"facts": facts, "sha256": SCRIPT_SHA256, "attributes": ""});
    let diff = json!({"lines_added": 0, "lines_removed": 1, "preview": ""});
    json!({"path": path, "kind": "delete", "before": before, "after": null, "slot": slot, "backup": backup,
        "actions": [], "checkpoint": NO_ID, "diff": diff, "degraded": [], "through_link": null})
}

fn slot(number: u32) -> String {
    format!("{REPORTS}/{NAME}/staged/{number}")
}

fn plan(action: &Value) -> Value {
    json!({"task_plan": {"plan_id": "p", "action_plan": [action]}, "protocol_validation": true})
}

fn create(target: &str) -> Value {
    json!({"action_id": "a001", "action_type": "FILE_CREATE", "target": target,
        "operation": {"type": "create", "content": "x\n"}})
}

fn delete(target: &str) -> Value {
    json!({"action_id": "a001", "action_type": "FILE_DELETE", "target": target, "operation": {"type": "delete"}})
}

fn oneact(root: &Root, args: &[&str]) -> (i32, String) {
    let told = root.command().args(args).output().unwrap();
    let text = [told.stdout, told.stderr].concat();
    (
        told.status.code().unwrap(),
        String::from_utf8(text).unwrap(),
    )
}

#[test]
fn a_journal_that_a_repository_carries_changes_nothing() {
    for birth in [Value::Null, json!({"ino": 1, "born": 1})] {
        let root = Root::new();
        fs::create_dir_all(root.path.join(".git/hooks")).unwrap();
        fs::write(root.path.join("precious"), "x").unwrap();
        let entries = json!([deleted("planted.txt", &slot(0))]);
        let folder = forge(&root.path, &entries, &birth);
        fs::write(folder.join("staged/0"), SCRIPT).unwrap();
        let refused = root.run(&plan(&create("unrelated.txt")));
        assert_eq!(
            refused.fault(),
            &json!("journal_foreign"),
            "{}",
            refused.envelope
        );
        assert_eq!(refused.at("/error/recoverable"), &json!(false));
        let told = refused.at("/error/error_message").as_str().unwrap();
        assert!(
            told.contains(&format!("oneact recover {REPORTS}/{NAME}")),
            "{told}"
        );
        let (code, told) = oneact(&root, &["recover"]);
        assert_eq!(code, 1, "{told}");
        // Nobody is there to be asked.
        let named = format!("{REPORTS}/{NAME}");
        let (code, told) = oneact(&root, &["recover", &named]);
        assert!(
            code == 1 && told.contains("put agent_outputs") && told.contains("planted.txt"),
            "{told}"
        );
        assert!(root.path.join("precious").exists());
        assert!(
            !root.path.join("planted.txt").exists() && !root.path.join("unrelated.txt").exists()
        );
        // A person who has seen it agrees.
        let (code, told) = oneact(&root, &["recover", &named, "--yes"]);
        assert_eq!(code, 0, "{told}");
        assert!(root.path.join("planted.txt").exists());
        assert!(
            root.path.join("precious").exists(),
            "it is no slot of the plan"
        );
        assert_eq!(root.run(&plan(&create("unrelated.txt"))).exit, 0);
    }
}

#[test]
fn no_journal_goes_beyond_the_rules_of_a_plan_whoever_agrees() {
    let outside = "x/.oneact-another-1";
    for (path, slot) in [
        (".git/hooks/pre-commit", slot(0)),
        (".oneact/ledger.db", slot(0)),
        ("sub/agent_outputs/reports/.unfinished/x", slot(0)),
        ("catalog.toml.bak", "precious".to_owned()),
        ("a", format!("{REPORTS}/another/staged/0")),
        ("a", format!("{REPORTS}/{NAME}/journal")),
        ("a", outside.to_owned()),
    ] {
        let root = Root::new();
        fs::write(root.path.join("precious"), "x").unwrap();
        let folder = forge(&root.path, &json!([deleted(path, &slot)]), &Value::Null);
        fs::write(folder.join("staged/0"), "x").unwrap();
        let named = format!("{REPORTS}/{NAME}");
        let (code, told) = oneact(&root, &["recover", &named, "--yes"]);
        assert!(
            code == 1 && told.contains("no plan may touch"),
            "{path} {slot}: {told}"
        );
        assert!(root.path.join("precious").exists() && !root.path.join(path).exists());
    }
}

/// Without a record nothing is known of a plan: what it lists elsewhere is not ours by that.
#[test]
fn without_a_journal_nothing_outside_the_report_directory_is_removed() {
    let root = Root::new();
    fs::write(root.path.join("precious"), "x").unwrap();
    let folder = forge(&root.path, &json!([]), &Value::Null);
    for name in [".oneact-other-1".to_owned(), format!(".oneact-{NAME}-x")] {
        fs::write(root.path.join(name), "x").unwrap();
    }
    fs::remove_file(folder.join("journal")).unwrap();
    let (code, told) = oneact(&root, &["recover"]);
    assert!(code == 1 && told.contains("has no journal"), "{told}");
    for name in [
        "precious".to_owned(),
        ".oneact-other-1".to_owned(),
        format!(".oneact-{NAME}-x"),
    ] {
        assert!(root.path.join(&name).exists(), "{name}");
    }
}

/// A copy of a file and of the only report directory, and the path of that directory.
fn copied(root: &Root, file: &str) -> (Root, String) {
    let copy = Root::new();
    for name in [file, REPORTS] {
        let to = copy.path.join(name);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        let copied = Command::new("cp")
            .arg("-a")
            .arg(root.path.join(name))
            .arg(&to)
            .status();
        assert!(copied.unwrap().success());
    }
    let reports = copy.path.join(REPORTS);
    let name = reports
        .read_dir_utf8()
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_owned());
    let name = name
        .into_iter()
        .find(|name| !name.starts_with('.'))
        .unwrap();
    (copy, format!("{REPORTS}/{name}"))
}

#[test]
fn a_finished_plan_that_was_copied_is_undone_only_if_a_person_says_so() {
    let root = Root::new();
    assert_eq!(root.run(&plan(&create("made.txt"))).exit, 0);
    let (copy, named) = copied(&root, "made.txt");
    let (code, told) = oneact(&copy, &["rollback", &named]);
    assert!(
        code == 2 && told.contains("not written in this place"),
        "{code} {told}"
    );
    assert!(copy.path.join("made.txt").exists());
    let (code, told) = oneact(&copy, &["rollback", &named, "--yes"]);
    assert_eq!(code, 0, "{told}");
    assert!(!copy.path.join("made.txt").exists());
    assert_eq!(oneact(&root, &["rollback", &named]).0, 0);
}

#[test]
fn the_mode_that_a_copied_journal_names_is_given_to_no_file() {
    let root = Root::new();
    let file = root.path.join("a.txt");
    fs::write(&file, "one\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let replace = json!({"action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
        "operation": {"type": "text_replace", "pattern": "one", "replacement": "eins"}});
    assert_eq!(root.run(&plan(&replace)).exit, 0);
    let (copy, named) = copied(&root, "a.txt");
    let journal = copy.path.join(&named).join("journal");
    let lines = fs::read_to_string(&journal).unwrap();
    let lines = lines.lines().map(|line| {
        let (_, json) = line.split_once(' ').unwrap();
        let json = json.replace("\"mode\":493", "\"mode\":3565");
        let sum = Crc::<u32>::new(&CRC_32_ISO_HDLC).checksum(json.as_bytes());
        format!("{sum:08x} {json}\n")
    });
    let forged = lines.collect::<String>();
    assert!(forged.contains("3565"));
    fs::write(&journal, forged).unwrap();
    let (code, told) = oneact(&copy, &["rollback", &named, "--yes"]);
    assert_eq!(code, 0, "{told}");
    let restored = copy.path.join("a.txt");
    assert_eq!(fs::read_to_string(&restored).unwrap(), "one\n");
    assert_eq!(fs::metadata(&restored).unwrap().mode() & 0o7777, 0o755);
}

/// Every backup must be in the report directory of its plan, whoever agrees.
#[test]
fn a_journal_whose_backup_is_another_file_is_not_followed() {
    let root = Root::new();
    fs::write(root.path.join("a.txt"), "one\n").unwrap();
    let replace = json!({"action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
        "operation": {"type": "text_replace", "pattern": "one", "replacement": "eins"}});
    assert_eq!(root.run(&plan(&replace)).exit, 0);
    let (copy, named) = copied(&root, "a.txt");
    fs::write(copy.path.join("secret"), "one\n").unwrap();
    let journal = copy.path.join(&named).join("journal");
    let backup = format!("\"{named}/backups/a.txt.bak\"");
    let lines = fs::read_to_string(&journal).unwrap();
    let lines = lines.lines().map(|line| {
        let (_, json) = line.split_once(' ').unwrap();
        let json = json.replace(&backup, "\"secret\"");
        let sum = Crc::<u32>::new(&CRC_32_ISO_HDLC).checksum(json.as_bytes());
        format!("{sum:08x} {json}\n")
    });
    let forged = lines.collect::<String>();
    assert!(forged.contains("\"secret\""));
    fs::write(&journal, forged).unwrap();
    let (code, told) = oneact(&copy, &["rollback", &named, "--yes"]);
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("`secret`, which is no backup of"), "{told}");
}

#[test]
fn what_oneact_keeps_is_no_plans_target_wherever_settings_put_it() {
    let scenarios =
        Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/scenarios/catalog.toml");
    let catalog = fs::read_to_string(scenarios).unwrap()
        + "\n[storage]\nuri = \"results/store\"\n"
        + "[ledger]\nuri = \"sqlite:data/ledger.sqlite\"\nsign_key = \"keys/sign\"\n";
    let root = Root::with_catalog(&catalog);
    symlink("data", root.path.join("way")).unwrap();
    for target in [
        "data/ledger.sqlite",
        "data/ledger.sqlite-wal",
        "data/ledger.lock",
        "data/LEDGER.sqlite",
        "way/ledger.sqlite",
        "keys/sign",
        "keys/sign.pub",
        "keys",
        "var",
        "way",
        "var/state/home",
        "var/state/outbox/x.json",
        ".oneact/x",
        "sub/.oneact/x",
        "agent_outputs/reports/x/journal",
        "sub/agent_outputs/reports/.unfinished/x",
        "sub/AGENT_OUTPUTS/reports/x",
        "conf/tools.toml",
        "conf/.tools.toml.oneact",
        "results",
        "results/store",
        "results/store/s9",
        "results/store/s9/d1.txt/x",
        "results/store/.incoming/x",
    ] {
        for action in [create(target), delete(target)] {
            fs::create_dir_all(root.path.join("data")).unwrap();
            fs::create_dir_all(root.path.join("conf")).unwrap();
            fs::write(root.path.join("conf/tools.toml"), &catalog).unwrap();
            let mut command = root.command();
            command
                .env("ONEACT_STATE_DIR", "var/state")
                .args(["--catalog", "conf/tools.toml"]);
            let answer = run(command, plan(&action).to_string().as_bytes());
            assert_eq!(
                answer.fault(),
                &json!("protected_file"),
                "{target}: {}",
                answer.envelope
            );
        }
    }
}

#[test]
fn the_file_that_a_linked_catalog_leads_to_is_no_target_of_a_plan() {
    let root = Root::with_catalog("catalog = 1\n");
    fs::create_dir(root.path.join("conf")).unwrap();
    fs::rename(
        root.path.join("catalog.toml"),
        root.path.join("conf/real.toml"),
    )
    .unwrap();
    symlink("conf/real.toml", root.path.join("catalog.toml")).unwrap();
    let change = json!({"action_id": "a001", "action_type": "FILE_MODIFY", "target": "conf/real.toml",
        "operation": {"type": "text_replace", "pattern": "1", "replacement": "1 "}});
    let answer = root.run(&plan(&change));
    assert_eq!(answer.fault(), "protected_file", "{}", answer.envelope);
    assert_eq!(answer.exit, 2);
    // Nor is the place where it leads to nothing yet.
    fs::remove_file(root.path.join("conf/real.toml")).unwrap();
    let answer = root.run(&plan(&create("conf/real.toml")));
    assert_eq!(answer.fault(), "protected_file", "{}", answer.envelope);
    assert_eq!(answer.exit, 2);
}

#[test]
fn a_store_below_a_link_is_known_before_it_exists() {
    let catalog = "catalog = 1\n[storage]\nuri = \"results/store\"\n";
    let root = Root::with_catalog(catalog);
    fs::create_dir(root.path.join("real")).unwrap();
    symlink("real", root.path.join("results")).unwrap();
    for target in ["real/store", "real/store/s9", "real/store/s9/d1.txt/x"] {
        let answer = root.run(&plan(&create(target)));
        assert_eq!(
            answer.fault(),
            &json!("protected_file"),
            "{target}: {}",
            answer.envelope
        );
    }
}

/// The tools of the built-in servers take any path here: no entry binds it.
const WRITERS: &str = r#"
catalog = 1
[ledger]
uri = "sqlite:data/ledger.sqlite"
[storage]
uri = "results/store"
[server.data]
command = ["{self}", "serve", "data-management"]
[server.outputs]
command = ["{self}", "serve", "data-management"]
cwd = "agent_outputs"
[server.acquisition]
command = ["{self}", "serve", "acquisition"]
[server.media]
command = ["{self}", "serve", "media-processing"]
[capability.STORE]
effects = { idempotent = true }
mcp = { server = "data", tool = "file_storer" }
[capability.STORE-THERE]
effects = { idempotent = true }
mcp = { server = "outputs", tool = "file_storer" }
[capability.REGISTER]
effects = { idempotent = true }
mcp = { server = "acquisition", tool = "upload_registrar" }
[capability.EXTRACT]
effects = { idempotent = true }
mcp = { server = "media", tool = "audio_extractor" }
"#;

#[test]
fn what_oneact_keeps_is_no_built_in_tools_target_wherever_settings_put_it() {
    let root = Root::with_catalog(WRITERS);
    let media = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/media/fox.mp4");
    fs::create_dir_all(root.path.join("agent_outputs/reports")).unwrap();
    fs::create_dir_all(root.path.join("data")).unwrap();
    let answer = |capability: &str, target: &str| {
        let (from, to) = match capability {
            "REGISTER" => ("file_path", "output_path"),
            "EXTRACT" => ("input_uri", "output_path"),
            _ => ("file_data", "target_path"),
        };
        let task = json!({"task_id": "t", "capability_ids": [capability], "parameters": {from: media, to: target}});
        let mut command = root.command();
        command.env("ONEACT_STATE_DIR", "var/state");
        run(command, task.to_string().as_bytes())
    };
    for capability in ["STORE", "REGISTER", "EXTRACT"] {
        assert_eq!(answer(capability, &format!("data/{capability}")).exit, 0);
        let asset = format!("results/store/s9/{capability}");
        assert_eq!(answer(capability, &asset).exit, 0);
        for target in ["results/store/s8", "results/store/s9/d1/x", "agent_outputs"] {
            let refused = answer(capability, target);
            let told = refused.at("/error/error_message").as_str().unwrap();
            assert!(
                told.contains("a folder that oneact needs"),
                "{target}: {told}"
            );
        }
        for target in [
            "var/state/outbox/x.json",
            "var/state/x",
            "agent_outputs/reports/x",
        ] {
            let refused = answer(capability, target);
            let told = refused.at("/error/error_message").as_str().unwrap();
            assert!(told.contains("no tool may write"), "{target}: {told}");
        }
    }
    assert_eq!(answer("STORE-THERE", "notes/x").exit, 0);
    assert_ne!(answer("STORE-THERE", "reports/x").exit, 0);
    assert!(!root.path.join("agent_outputs/reports/x").exists());
}

/// Of a run that was not told where its catalog is.
fn found(dir: &Utf8Path, set: impl Fn(&mut Command)) -> (i32, String) {
    let mut command = Command::new(ONEACT);
    command
        .current_dir(dir)
        .args(["doctor"])
        .env_remove("ONEACT_ROOT")
        .env_remove("SUDO_UID");
    set(&mut command);
    let told = command.output().unwrap();
    (
        told.status.code().unwrap(),
        String::from_utf8(told.stderr).unwrap(),
    )
}

#[test]
fn a_catalog_that_somebody_else_may_write_is_not_found() {
    let root = Root::with_catalog("catalog = 1\n");
    let sub = root.path.join("sub");
    fs::create_dir(&sub).unwrap();
    let catalog = root.path.join("catalog.toml");
    let mode = |path: &Utf8Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let refused = |why: &str| {
        let (code, told) = found(&sub, |_| ());
        assert!(
            code != 0 && told.contains(why) && told.contains("name it"),
            "{why}: {told}"
        );
    };
    assert_eq!(found(&sub, |_| ()).0, 0);
    mode(&catalog, 0o666);
    refused("the catalog");
    mode(&catalog, 0o644);
    for bits in [0o1777, 0o777, 0o757] {
        mode(&root.path, bits);
        refused("the root");
    }
    mode(&root.path, 0o755);
    fs::create_dir_all(root.path.join(".oneact")).unwrap();
    mode(&root.path.join(".oneact"), 0o777);
    refused("the state directory");
    mode(&root.path.join(".oneact"), 0o700);
    // Whoever is root may give files away, and only then is there another owner.
    if fs::metadata(&sub).unwrap().uid() == 0 {
        chown(&catalog, Some(4242), None).unwrap();
        refused("belongs to user 4242");
        assert_eq!(
            found(&sub, |command| _ = command.env("SUDO_UID", "4242")).0,
            0
        );
        let named = |command: &mut Command| _ = command.args(["--catalog", "../catalog.toml"]);
        assert_eq!(found(&sub, named).0, 0);
        chown(&root.path, None, Some(4242)).unwrap();
        mode(&root.path, 0o775);
        let named = |command: &mut Command| _ = command.args(["--root", ".."]);
        refused("(group 4242)");
        assert_eq!(found(&sub, named).0, 0);
    }
}

#[test]
fn the_working_directory_counts_as_found_for_every_verb() {
    let root = Root::with_catalog("catalog = 1\n");
    let oneact = |args: &[&str]| {
        let told = root.command().env_remove("ONEACT_ROOT").args(args).output();
        let told = told.unwrap();
        (
            told.status.code().unwrap(),
            text(&*[told.stdout, told.stderr].concat()),
        )
    };
    fs::set_permissions(&root.path, fs::Permissions::from_mode(0o1777)).unwrap();
    for verb in ["doctor", "history", "verify", "recover", "run"] {
        let (code, told) = oneact(&[verb]);
        assert!(code != 0 && told.contains("the root"), "{verb}: {told}");
    }
    fs::remove_file(root.path.join("catalog.toml")).unwrap();
    let (code, told) = oneact(&["init"]);
    assert!(code != 0 && told.contains("working directory"), "{told}");
    assert_eq!(oneact(&["init", "--root", "."]).0, 0);
}

#[test]
fn a_state_directory_that_is_a_link_is_refused() {
    let (root, theirs) = (Root::new(), tempfile::tempdir().unwrap());
    symlink(theirs.path(), root.path.join(".oneact")).unwrap();
    let answer = root.run(&plan(&create("x")));
    assert_eq!(answer.exit, 2);
    assert!(
        answer
            .at("/error/error_message")
            .as_str()
            .unwrap()
            .contains("symbolic link")
    );
    assert_eq!(fs::read_dir(theirs.path()).unwrap().count(), 0);
}

/// A run of a tool that cannot wait for a planted pipe.
fn ends(root: &Root) -> Answer {
    root.run(&crate::program::download("good"))
}

#[test]
fn nothing_planted_in_the_state_directory_is_waited_for_or_followed() {
    let pipe = |path: &Utf8Path| {
        let made = Command::new("mkfifo").arg(path).status().unwrap();
        assert!(made.success());
    };
    for name in [
        "ledger.head",
        "outbox/op_x.json",
        "home",
        "ledger.db",
        "ledger.lock",
        "ledger.db-wal",
    ] {
        let plants: [&dyn Fn(&Utf8Path); 3] = [
            &pipe,
            &|path| symlink("/dev/zero", path).unwrap(),
            &|path| symlink(path.with_file_name("elsewhere"), path).unwrap(),
        ];
        for plant in plants {
            let root = Root::new();
            let state = root.path.join(".oneact");
            fs::create_dir_all(state.join("outbox")).unwrap();
            plant(&state.join(name));
            ends(&root);
            root.run(&plan(&create("x.txt")));
            assert!(
                !state.join(name).with_file_name("elsewhere").exists(),
                "{name}"
            );
        }
    }
}

/// What is put into the place of a file, and how. The result is false if this user cannot do it.
type Plant<'a> = (&'a str, &'a dyn Fn(&Utf8Path) -> bool);

/// Like the checkout of a repository that carries the database of the built-in server.
#[test]
fn no_planted_database_is_waited_for_or_followed() {
    let catalog = "catalog = 1\n[server.data]\ncommand = ['{self}', 'serve', 'data-management']\n\
        [capability.cache]\neffects = { idempotent = true }\ntimeout = '5s'\n\
        mcp = { server = 'data', tool = 'context_cacher' }\n";
    let task = json!({"task_id": "t", "capability_ids": ["cache"],
        "parameters": {"cache_key": "k", "context_data": 1}});
    let told = |answer: &Answer, of: &str| {
        assert_eq!(answer.exit, 1, "{of}: {}", answer.envelope);
        assert_eq!(answer.fault(), "tool_error", "{of}: {}", answer.envelope);
        let said = answer.at("/error/error_message").as_str().unwrap();
        assert!(said.contains(".oneact/data.db"), "{of}: {said}");
    };
    let made = |program: &str, path: &Utf8Path, kind: &[&str]| {
        let made = Command::new(program).arg(path).args(kind).status();
        made.unwrap().success()
    };
    let outside = |path: &Utf8Path| path.parent().unwrap().with_file_name("elsewhere");
    let plants: [Plant<'_>; 6] = [
        ("pipe", &|path| made("mkfifo", path, &[])),
        // Only root makes devices.
        ("device", &|path| made("mknod", path, &["c", "1", "5"])),
        ("link to a device", &|path| {
            symlink("/dev/zero", path).is_ok()
        }),
        ("link to nothing", &|path| {
            symlink(outside(path), path).is_ok()
        }),
        ("link to a file", &|path| {
            fs::write(outside(path), "").unwrap();
            symlink(outside(path), path).is_ok()
        }),
        ("directory", &|path| fs::create_dir(path).is_ok()),
    ];
    for (kind, plant) in plants {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let root = Root::with_catalog(catalog);
            fs::create_dir(root.path.join(".oneact")).unwrap();
            let path = root.path.join(format!(".oneact/data.db{suffix}"));
            if !plant(&path) {
                assert_eq!(kind, "device");
                continue;
            }
            told(&root.run(&task), &format!("{kind} {suffix}"));
            let written = fs::read(outside(&path)).unwrap_or_default();
            assert!(written.is_empty(), "{kind} {suffix}");
            assert_eq!(outside(&path).exists(), kind == "link to a file");
        }
    }
    // A file of another user, or of nobody who may read it.
    let root = Root::with_catalog(catalog);
    fs::create_dir(root.path.join(".oneact")).unwrap();
    let command = root.as_nobody();
    let path = root.path.join(".oneact/data.db");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    told(&run(command, task.to_string().as_bytes()), "another user");
    assert_eq!(fs::read(&path).unwrap(), b"");
}

#[test]
fn no_time_zone_is_waited_for() {
    let root = Root::new();
    let pipe = root.path.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    for zone in [
        format!(":{pipe}"),
        pipe.to_string(),
        ":/dev/zero".to_owned(),
    ] {
        let mut command = root.command();
        command.env("TZ", &zone);
        let answer = run(command, plan(&create("x.txt")).to_string().as_bytes());
        assert!(
            answer.exit == 0 || answer.fault() == &json!("file_exists"),
            "{zone}"
        );
        fs::remove_file(root.path.join("x.txt")).unwrap();
    }
}
