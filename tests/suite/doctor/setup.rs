//! What is told of everything else: the catalog, the storage, the state directory, the ledger.

use camino::{Utf8Path, Utf8PathBuf};

use super::*;
use crate::program::run;

#[test]
fn every_broken_entry_is_told_with_its_line_and_the_good_ones_are_examined() {
    let broken = "[capability.A]\nmcp = { server = \"s\", tool = \"echo\" }\ntimout = \"3s\"\n\
                  [capability.B]\nmcp = { server = \"t\", tool = \"echo\" }\n";
    let diagnosis = planted("good", "", &format!("{ECHO}{broken}"));
    let told = diagnosis.all("entry_unusable");
    assert_eq!((diagnosis.exit, told.len()), (1, 2), "{}", diagnosis.report);
    let what = told[0]["what"].as_str().unwrap();
    assert!(
        what.contains("catalog.toml:11: ") && what.contains("`timeout`"),
        "{what}"
    );
    assert!(told[1]["what"].as_str().unwrap().contains("[server.t]"));
    diagnosis.says("tool_good", "good", &["\"C\""]);
}

#[test]
fn a_schema_that_does_not_compile_is_told_with_its_line() {
    let entry =
        format!("{ECHO}result = {{ kind = \"metadata\", schema = {{ type = \"objekt\" }} }}\n");
    let diagnosis = planted("good", "", &entry);
    assert_eq!(diagnosis.exit, 1);
    diagnosis.says(
        "entry_unusable",
        "problem",
        &["catalog.toml:9: the JSON Schema does not compile"],
    );
}

#[test]
fn a_missing_catalog_and_one_that_is_no_toml_are_told() {
    let missing = root(&[]);
    fs::remove_file(missing.path.join("catalog.toml")).unwrap();
    examine(&missing, &[]).says("catalog_unusable", "problem", &["oneact init"]);
    let diagnosis = examine(&root(&["[server"]), &[]);
    assert_eq!(diagnosis.exit, 1);
    diagnosis.says("catalog_unusable", "problem", &["catalog.toml:2: "]);
}

#[test]
fn only_the_capabilities_that_are_named_are_examined() {
    let root = root(&[
        &server("good", ""),
        ECHO,
        "[server.t]\ncommand = [\"no-such-server\"]\n[capability.TOOL-1]\nmcp = { server = \"t\", tool = \"t\" }\n",
    ]);
    assert_eq!(examine(&root, &["C"]).exit, 0);
    assert_eq!(examine(&root, &["C", "TOOL-1"]).exit, 1);
    let unknown = examine(&root, &["TOOL-2"]);
    assert_eq!(unknown.exit, 1);
    unknown.says(
        "capability_unknown",
        "problem",
        &["did you mean TOOL-1?", "on the command line"],
    );
}

#[test]
fn a_storage_that_cannot_be_written_to_is_told() {
    // A file in the way stops root too.
    let in_the_way = root(&["[storage]\nuri = \"catalog.toml/assets\""]);
    let diagnosis = examine(&in_the_way, &[]);
    assert_eq!(diagnosis.exit, 1);
    diagnosis.says(
        "store_unusable",
        "problem",
        &["catalog.toml", "[storage] uri"],
    );
    let elsewhere = root(&["[storage]\nuri = \"s3://bucket/assets\""]);
    examine(&elsewhere, &[]).says("store_unusable", "problem", &["s3://bucket"]);
}

#[test]
fn the_examination_leaves_no_asset_directory_behind() {
    let root = root(&[&server("good", ""), ECHO]);
    examine(&root, &[]);
    root.assert_untouched();
}

#[test]
fn a_state_directory_that_others_can_look_into_is_a_warning() {
    let root = root(&[]);
    let dir = root.path.join(".oneact");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    let diagnosis = examine(&root, &[]);
    assert_eq!(diagnosis.exit, 0);
    diagnosis.says("scratch_open", "warning", &["0755", "chmod 700"]);
}

#[test]
fn a_state_directory_that_cannot_be_used_is_a_problem() {
    let root = root(&[&server("good", ""), ECHO]);
    fs::write(root.path.join(".oneact"), "").unwrap();
    let diagnosis = examine(&root, &[]);
    assert_eq!(diagnosis.exit, 1);
    diagnosis.says("scratch_unusable", "problem", &["ONEACT_STATE_DIR"]);
}

#[test]
fn what_a_killed_run_left_is_told_and_cleared_away() {
    let root = root(&[]);
    let dead = "op_01dead00000000000000000000";
    let staging = root.path.join(".oneact/staging");
    fs::create_dir_all(staging.join(dead)).unwrap();
    fs::write(staging.join(dead).join(".oneact-scratch"), "").unwrap();
    let diagnosis = examine(&root, &[]);
    diagnosis.says("scratch_left_over", "warning", &[dead]);
    assert!(!staging.join(dead).exists());
}

#[test]
fn a_program_that_a_tool_starts_and_is_not_there_is_named() {
    let entry = "[capability.C]\nmcp = { server = \"s\", tool = \"frame_extractor\" }\n";
    let served = |env: &str| {
        format!("[server.s]\ncommand = [\"{{self}}\", \"serve\", \"media-processing\"]\n{env}\n")
    };
    let whole = examine(&root(&[&served(""), entry]), &[]);
    assert_eq!(whole.all("program_missing").len(), 0, "{}", whole.report);
    let bare = examine(
        &root(&[&served("env = { PATH = \"/nowhere\" }"), entry]),
        &[],
    );
    assert_eq!((bare.exit, bare.all("program_missing").len()), (1, 2));
    for word in [
        "ffmpeg",
        "ffprobe",
        "install FFmpeg",
        "PATH=/nowhere",
        "problem",
    ] {
        let found = bare.all("program_missing");
        assert!(
            found.iter().any(|each| each.to_string().contains(word)),
            "{word}: {found:?}"
        );
    }
}

#[test]
fn the_shipped_entries_and_the_built_in_tools_say_the_same_of_their_effects() {
    let shipped = Root::with_catalog(include_str!("../../../catalog.toml"));
    let ids = [
        "CAP-ACQ-002",
        "CAP-PRE-001",
        "CAP-PRE-002",
        "CAP-PRE-003",
        "CAP-PRE-004",
        "CAP-PRE-005",
        "CAP-DAT-003",
    ];
    let diagnosis = examine(&shipped, &ids);
    assert_eq!(
        diagnosis.all("effects_better").len(),
        0,
        "{}",
        diagnosis.report
    );
    assert_eq!(
        diagnosis.all("tool_good").len(),
        ids.len(),
        "{}",
        diagnosis.report
    );
}

#[test]
fn a_ledger_that_runs_cannot_record_in_is_found_and_none_is_made() {
    let root = root(&[&server("good", ""), ECHO]);
    let fresh = examine(&root, &[]);
    assert_eq!(fresh.all("ledger_good"), Vec::<&Value>::new());
    let path = root.path.join(".oneact/ledger.db");
    assert!(!path.exists());
    let task = json!({"task_id": "t1", "capability_ids": ["C"], "parameters": {"text": "a"}});
    root.run(&task);
    assert!(path.exists());
    examine(&root, &[]).says(
        "ledger_good",
        "good",
        &["ledger.db can be read and written"],
    );
    let ledger = rusqlite::Connection::open(&path).unwrap();
    let newer = "PRAGMA user_version = 99; \
                 INSERT INTO schema_migrations VALUES (99, 'n', 'c', '9.0.0', '')";
    ledger.execute_batch(newer).unwrap();
    drop(ledger);
    let newer = examine(&root, &[]);
    newer.says(
        "ledger_unusable",
        "problem",
        &["a newer version of oneact wrote it", "$ONEACT_LEDGER"],
    );
    assert_eq!((newer.exit, &newer.report["not_ready"]), (1, &json!(["C"])));
    fs::write(&path, "no database ".repeat(1000)).unwrap();
    examine(&root, &[]).says("ledger_unusable", "problem", &["is not a ledger"]);
}

fn set_mode(path: Utf8PathBuf, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn make_dir(path: Utf8PathBuf, mode: u32) {
    fs::create_dir(&path).unwrap();
    set_mode(path, mode);
}

/// Puts a file in the place of a directory.
fn put_file(path: Utf8PathBuf) {
    fs::remove_dir_all(&path).unwrap();
    fs::write(path, "").unwrap();
}

/// Names a key in the catalog.
fn sign(root: &Utf8Path) {
    let catalog = root.join("catalog.toml");
    let entries = fs::read_to_string(&catalog).unwrap();
    fs::write(
        catalog,
        format!("{entries}\n[ledger]\nsign_key = \"key\"\n"),
    )
    .unwrap();
}

#[test]
fn whatever_stops_plans_or_the_head_of_the_ledger_is_told() {
    type Break = fn(&Utf8Path);
    let (ledger, plans) = ("ledger_unusable", "plans_unusable");
    let key = "sign_key_unusable";
    let rows: [(&str, &str, &str, Break); 18] = [
        ("", "", "", |_| ()),
        ("locked/none/l.db", ledger, "permission denied", |root| {
            make_dir(root.join("locked"), 0o555);
        }),
        ("locked/l.db", ledger, "permission denied", |root| {
            make_dir(root.join("locked"), 0o555);
        }),
        ("closed/l.db", ledger, "cannot be read", |root| {
            make_dir(root.join("closed"), 0);
        }),
        ("catalog.toml/l.db", ledger, "Not a directory", |_| ()),
        ("", ledger, "cannot be written", |root| {
            set_mode(root.join(".oneact/ledger.lock"), 0o444);
        }),
        ("", ledger, "ledger.head cannot be read", |root| {
            fs::write(root.join(".oneact/ledger.head"), "zz").unwrap();
        }),
        ("", ledger, "ledger.head cannot be read", |root| {
            fs::remove_file(root.join(".oneact/ledger.head")).unwrap();
            make_dir(root.join(".oneact/ledger.head"), 0o755);
        }),
        ("", ledger, "ledger.head cannot be read", |root| {
            set_mode(root.join(".oneact/ledger.head"), 0);
        }),
        ("", ledger, "does not contain link 99", |root| {
            let note = json!({"seq": 99, "entry_hash": "0".repeat(64)});
            fs::write(root.join(".oneact/ledger.head"), note.to_string()).unwrap();
        }),
        ("", ledger, "does not contain link", |root| {
            for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
                let _ = fs::remove_file(root.join(".oneact").join(name));
            }
        }),
        ("", plans, "Not a directory", |root| {
            put_file(root.join("agent_outputs/reports"));
        }),
        ("", plans, "Not a directory", |root| {
            put_file(root.join("agent_outputs/reports/.unfinished"));
        }),
        ("", plans, "check owner and mode", |root| {
            set_mode(root.join("agent_outputs/reports"), 0o555);
        }),
        ("", "root_unwritable", "change files in", |root| {
            set_mode(root.to_owned(), 0o555);
        }),
        ("", key, "cannot be read", sign),
        ("", key, "is not an OpenSSH private key", |root| {
            sign(root);
            fs::write(root.join("key"), "zz").unwrap();
        }),
        ("", key, "cannot be read", |root| {
            sign(root);
            make_dir(root.join("key"), 0o755);
        }),
    ];
    let plan = json!({"task_plan": {"plan_id": "p", "protocol_validation": true, "action_plan": [{
        "action_id": "a", "action_type": "FILE_CREATE", "target": "new.txt",
        "operation": {"type": "create", "content": "x"},
    }]}});
    for (place, finding, word, breaks) in rows {
        let root = root(&["[capability.apply_file_plan]\nfile_plan = {}"]);
        assert_eq!(run(root.as_nobody(), plan.to_string().as_bytes()).exit, 0);
        let mut program = root.as_nobody();
        if !place.is_empty() {
            program.env("ONEACT_LEDGER", place);
        }
        breaks(&root.path);
        let diagnosis = examine_by(program, &root, &[]);
        set_mode(root.path.clone(), 0o755);
        let stops = [ledger, plans].contains(&finding);
        assert_eq!(diagnosis.exit, i32::from(stops), "{}", diagnosis.report);
        let not_ready: &[&str] = if stops { &["apply_file_plan"] } else { &[] };
        assert_eq!(diagnosis.report["not_ready"], json!(not_ready));
        let good = diagnosis.all("ledger_good").len();
        assert_eq!(good, usize::from(finding != ledger), "{finding}: {word}");
        if !finding.is_empty() {
            let level = if stops { "problem" } else { "warning" };
            diagnosis.says(finding, level, &[word]);
        }
        assert!(!root.path.join("locked/none").exists());
    }
}
