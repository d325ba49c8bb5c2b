//! The first minutes with oneact: a catalog to begin with, completion, manual pages.

use std::{
    fs,
    io::Write,
    process::{Command, Output, Stdio},
};

use serde_json::json;

use crate::program::{ONEACT, Root, text};

/// What a verb comes to, without input.
fn verb(root: &Root, words: &[&str]) -> Output {
    root.command().args(words).output().unwrap()
}

/// A root whose catalog is the one that `init` writes, and what it said.
fn begun() -> (Root, String) {
    let root = Root::new();
    fs::remove_file(root.path.join("catalog.toml")).unwrap();
    let output = verb(&root, &["init"]);
    assert_eq!(output.status.code(), Some(0));
    (root, String::from_utf8(output.stdout).unwrap())
}

#[test]
fn init_writes_a_catalog_that_works_at_once() {
    let (root, _) = begun();
    let fox = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/media/fox.mp4");
    let answer = root.run(&json!({
        "dispatch": {
            "task_id": "t1", "capability_ids": ["CAP-PRE-002"],
            "input_refs_resolved": [{"ref_id": "store_1", "storage_uri": fox, "status": "stored"}],
            "output_refs_expected": ["derived_1"],
        },
        "metadata": {"session_id": "sess-1"},
    }));
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    let made = root.path.join("agent_outputs/assets/sess-1/derived_1.wav");
    assert!(made.is_file());
}

#[test]
fn a_todo_of_an_agent_is_a_task_in_a_new_root_r_003_38() {
    let (root, _) = begun();
    let answer = root.run(&json!({
        "kind": "standard", "task_id": "t1", "name": "task_create",
        "parameters_json": "{\"task_text\": \"call Ada\"}",
        "metadata": {"session_id": "sess-1"},
    }));
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    let result = &answer.envelope["output"]["content"]["task_result"];
    assert_eq!(result["result_data"]["todo_id"], "todo_1");
}

#[test]
fn the_doctor_finds_nothing_to_say_against_the_starter() {
    let (root, _) = begun();
    let output = verb(&root, &["doctor"]);
    assert_eq!(output.status.code(), Some(0));
    let said = text(&*output.stdout);
    assert!(said.ends_with("\nNo problems.\n"), "{said}");
}

#[test]
fn what_init_tells_to_try_can_be_tried() {
    let (root, said) = begun();
    assert!(said.lines().count() <= 12, "{said}");
    let told: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("  oneact "))
        .collect();
    assert_eq!(told.len(), 2, "{said}");
    for words in told {
        let mut shell = root.within("sh");
        let line = format!("\"$ONEACT\" {words}");
        let output = shell.args(["-c", &line]).env("ONEACT", ONEACT).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}\n{output:?}");
    }
}

#[test]
fn the_commented_server_of_the_starter_is_a_good_example() {
    let (root, _) = begun();
    let path = root.path.join("catalog.toml");
    let text = fs::read_to_string(&path).unwrap();
    let lines = text.lines().map(|line| match line.strip_prefix('#') {
        Some(code) if !code.starts_with([' ', '#', ':']) => code,
        _ => line,
    });
    fs::write(&path, lines.collect::<Vec<_>>().join("\n")).unwrap();
    let mut command = root.command();
    command.arg("--dry-run");
    let task = json!({"task_id": "t1", "capability_ids": ["list_my_files"]});
    let answer = crate::program::run(command, task.to_string().as_bytes());
    assert_eq!(answer.state(), "planned", "{}", answer.envelope);
}

/// R-000-135.
#[test]
fn the_documents_that_every_answer_names_exist_after_init_and_fit_the_catalog() {
    let (root, _) = begun();
    let answer = root.run(&json!({"task_id": "t1", "capability_ids": ["NONE"]}));
    let named = answer.at("/audit/governance_files_consulted");
    let named = named.as_array().unwrap();
    assert_eq!(named.len(), 4);
    for name in named {
        let name = name.as_str().unwrap();
        let written = fs::read_to_string(root.path.join(name)).unwrap();
        let ours = fs::read_to_string(format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(
            written == ours || name == "context/application.md",
            "{name}"
        );
    }
    let page = "context/application.md";
    let check = verb(&root, &["catalog", "check", "--against", page]);
    assert_eq!(check.status.code(), Some(0), "{}", text(&*check.stdout));
}

#[test]
fn the_first_line_of_a_catalog_names_its_schema_for_editors() {
    let (root, _) = begun();
    let ours = env!("CARGO_MANIFEST_DIR").into();
    for root in [&root.path, &ours] {
        let catalog = fs::read_to_string(root.join("catalog.toml")).unwrap();
        let first = catalog.lines().next().unwrap();
        let schema = root.join(first.strip_prefix("#:schema ./").unwrap());
        let told = verb(&Root::new(), &["schema", "catalog"]).stdout;
        assert_eq!(fs::read(schema).unwrap(), told);
    }
}

#[test]
fn init_keeps_the_documents_that_are_there_and_writes_nothing_if_a_directory_is_none() {
    let (root, elsewhere) = (Root::new(), Root::new());
    fs::remove_file(root.path.join("catalog.toml")).unwrap();
    fs::create_dir(root.path.join("context")).unwrap();
    fs::write(root.path.join("context/application.md"), "mine").unwrap();
    let agent = root.path.join("agent");
    let refused = |what: &str| {
        let output = verb(&root, &["init"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = text(&*output.stderr);
        assert!(said.contains(&format!("{agent} is {what}")), "{said}");
        assert!(said.contains("Move it to another place"), "{said}");
        assert!(!elsewhere.path.join("executional").exists());
        for unwritten in ["catalog.toml", "context/governance"] {
            assert!(!root.path.join(unwritten).exists(), "{unwritten}");
        }
        fs::remove_file(&agent).unwrap();
    };
    std::os::unix::fs::symlink(&elsewhere.path, &agent).unwrap();
    refused("a symbolic link");
    fs::write(&agent, "mine").unwrap();
    refused("not a directory");
    let output = verb(&root, &["init"]);
    assert_eq!(output.status.code(), Some(0));
    let said = text(&*output.stdout);
    let line = |about: &str| said.lines().find(|line| line.starts_with(about));
    let name = "context/application.md";
    assert!(
        !line("Wrote its documents").unwrap().contains(name),
        "{said}"
    );
    assert!(
        line("Kept").unwrap().ends_with(&format!(": {name}")),
        "{said}"
    );
    let kept = fs::read_to_string(root.path.join("context/application.md")).unwrap();
    assert_eq!(kept, "mine");
}

#[test]
fn init_never_touches_a_catalog_that_is_there() {
    let root = Root::with_catalog("mine");
    let output = verb(&root, &["init"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stdout, b"");
    assert!(text(&*output.stderr).contains("catalog.toml exists already"));
    let kept = fs::read_to_string(root.path.join("catalog.toml")).unwrap();
    assert_eq!(kept, "mine");
}

#[test]
fn init_replaces_what_a_killed_one_has_left_and_keeps_none_of_it() {
    let root = Root::new();
    fs::remove_file(root.path.join("catalog.toml")).unwrap();
    fs::create_dir(root.path.join("context")).unwrap();
    let parts = [".catalog.toml.oneact", "context/.application.md.oneact"];
    for part in parts {
        fs::write(root.path.join(part), "#").unwrap();
    }
    let output = verb(&root, &["init"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!text(&*output.stdout).contains("Kept"));
    for part in parts {
        assert!(!root.path.join(part).exists(), "{part}");
    }
}

#[test]
fn init_waits_for_no_other_command_that_writes_into_the_directory() {
    let root = Root::new();
    fs::remove_file(root.path.join("catalog.toml")).unwrap();
    let lock = fs::File::open(&root.path).unwrap();
    lock.lock().unwrap();
    let output = verb(&root, &["init"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&*output.stderr).contains("another command is changing files"));
    assert!(!root.path.join("context").exists());
}

#[test]
fn init_makes_the_directory_it_is_given() {
    let root = Root::new();
    let output = verb(&root, &["init", "--root", "new/place"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(root.path.join("new/place/catalog.toml").is_file());
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains(&format!("cd '{}/new/place'", root.path)));
    assert!(said.lines().count() <= 12, "{said}");
}

#[test]
fn init_shows_control_characters_of_a_name_and_does_not_print_them() {
    let root = Root::new();
    let output = verb(&root, &["init", "--root", "new\u{1b}[31m\u{202e}"]);
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("new^[[31m<U+202E>"), "{said}");
    assert!(!said.contains(['\u{1b}', '\u{202e}']), "{said:?}");
}

#[test]
fn bash_accepts_its_completion_script() {
    let root = Root::new();
    let script = verb(&root, &["completions", "bash"]).stdout;
    assert!(text(&*script).contains("init"));
    let mut bash = Command::new("bash")
        .arg("-n")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    bash.stdin.take().unwrap().write_all(&script).unwrap();
    assert!(bash.wait().unwrap().success());
}

#[test]
fn every_shell_has_a_completion_script_and_an_unknown_one_is_refused() {
    let root = Root::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = verb(&root, &["completions", shell]);
        assert!(text(&*output.stdout).contains("oneact"), "{shell}");
    }
    assert_eq!(verb(&root, &["completions", "tcsh"]).status.code(), Some(2));
}

#[test]
fn the_manual_has_a_page_for_oneact_and_one_for_each_verb() {
    let root = Root::new();
    let page = |words: &[&str]| String::from_utf8(verb(&root, words).stdout).unwrap();
    let whole = page(&["man"]);
    assert!(whole.contains(".TH oneact 1"));
    for name in [
        "run",
        "serve",
        "schema",
        "init",
        "doctor",
        "completions",
        "man",
    ] {
        assert!(whole.contains(&format!(r"oneact\-{name}(1)")), "{whole}");
        assert!(page(&["man", name]).contains(&format!(".TH oneact-{name} 1")));
    }
    assert_eq!(verb(&root, &["man", "woman"]).status.code(), Some(2));
}
