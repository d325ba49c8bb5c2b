//! `oneact catalog check --live` compares the catalog with the running servers, and `--pin` binds entries to their tools.

use std::fs;

use serde_json::{Value, json};

use crate::{
    approvals::at_a_terminal,
    program::{Root, text},
};

/// A root with one entry, in line 7, and the arguments of its server.
fn root(server: &str, entry: &str) -> Root {
    Root::with_catalog(&format!(
        "catalog = 1\n\n[server.tools] # one\ncommand = [\"python3\", \"-SB\", \"servers/toolbox.py\"{server}]\n\n\
         # What is noted.\n[capability.note]\ndescription = \"Note it.\"\n{entry}"
    ))
}

fn note(more: &str) -> String {
    format!(
        "effects = {{ destructive = false, idempotent = true, open_world = false }}\n\
         mcp = {{ server = \"tools\", tool = \"context_cacher\" }}   # the tool\n{more}"
    )
}

/// The exit code, and what is found.
fn check(root: &Root, more: &[&str]) -> (i32, Value) {
    let arguments = [&["catalog", "check", "--live", "--json"], more].concat();
    let output = root.command().args(arguments).output().unwrap();
    let said = serde_json::from_slice(&output.stdout).unwrap();
    (output.status.code().unwrap(), said)
}

/// The pins that the catalog does not have.
fn pins(root: &Root) -> Value {
    check(root, &["--pin"]).1["pins"].clone()
}

#[test]
fn each_difference_has_its_code_and_its_line() {
    let described = ", \"--described\", \"Notes it.\"";
    let pin = pins(&root(described, &note("")));
    let pin = pin["note"].as_str().unwrap();
    let (_, parts) = pin.split_once('/').unwrap();
    let pinned = note(&format!("pin = \"{pin}\"\n"));
    let other = note(&format!("pin = \"sha256:{}/{parts}\"\n", "0".repeat(64)));
    let misspelt = note("").replace("context_cacher", "context_casher");
    let storer = note("").replace("context_cacher", "file_storer");
    let lacking =
        "parameter_schema_for_action = { type = \"object\", additionalProperties = false }\n";
    for (server, entry, code, level, says) in [
        ("", &misspelt, "CAT060", "error", "no tool `context_casher`"),
        (
            "",
            &format!("{storer}{lacking}"),
            "CAT060",
            "error",
            "requires `target_path`",
        ),
        (
            described,
            &other,
            "CAT060",
            "error",
            "belongs to another tool",
        ),
        (
            ", \"--hints\", '{\"destructiveHint\": true}'",
            &note(""),
            "CAT061",
            "error",
            "`destructive = false`",
        ),
        (
            ", \"--described\", \"Send me all.\"",
            &pinned,
            "CAT062",
            "warning",
            "the description of",
        ),
    ] {
        let root = root(server, entry);
        let (exit, said) = check(&root, &[]);
        let found = &said["findings"][0];
        assert_eq!(
            (
                &found["code"],
                &found["level"],
                &found["line"],
                &said["findings"][1]
            ),
            (&json!(code), &json!(level), &json!(7), &Value::Null),
            "{said}"
        );
        assert!(found["text"].as_str().unwrap().contains(says), "{found}");
        assert_eq!(exit, i32::from(level == "error"), "{found}");
        assert_ne!(check(&root, &["--strict"]).0, 0);
        // Without a server, nothing of it is known.
        let output = root.command().args(["catalog", "check"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    for (server, entry) in [
        ("", &note("")),
        (described, &pinned),
        (", \"--hints\", '{\"readOnlyHint\": true}'", &note("")),
    ] {
        let (exit, said) = check(&root(server, entry), &[]);
        assert_eq!((exit, &said["findings"]), (0, &json!([])), "{entry}");
    }
}

#[test]
fn a_server_that_cannot_be_asked_is_an_error() {
    let root = Root::with_catalog(
        "catalog = 1\n[server.tools]\ncommand = [\"no-such-program\"]\n[capability.note]\n\
         description = \"Note it.\"\neffects = { read_only = true }\nmcp = { server = \"tools\", tool = \"t\" }\n",
    );
    let (exit, said) = check(&root, &[]);
    let found = &said["findings"][0];
    assert_eq!(
        (exit, &found["code"], &found["line"]),
        (1, &json!("CAT060"), &json!(2)),
        "{said}"
    );
}

#[test]
fn pins_are_printed_and_only_a_person_at_a_terminal_has_them_written() {
    let root = root("", &note(""));
    let path = root.path.join("catalog.toml");
    let before = fs::read_to_string(&path).unwrap();
    let pin = pins(&root)["note"].as_str().unwrap().to_owned();
    let arguments = ["catalog", "check", "--live", "--pin"];
    let output = root.command().args(arguments).output().unwrap();
    let said = text(&*output.stdout);
    let lines = format!("[capability.note]\npin = \"{pin}\"\n");
    assert!(said.contains(&lines), "{said}");
    let (_, refused) = at_a_terminal(&root, "n\n", &arguments);
    assert!(refused.contains("Write these pins"), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), before);

    at_a_terminal(&root, "y\n", &arguments);
    let tool = "# the tool\n";
    let after = before.replace(tool, &format!("{tool}pin = \"{pin}\"\n"));
    assert_eq!(fs::read_to_string(&path).unwrap(), after);
    assert_eq!(pins(&root), json!({}));
    let answer = root.run(&json!({"task_id": "t", "capability_ids": ["note"]}));
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
}

#[test]
fn nobody_is_asked_about_pins_that_cannot_be_written() {
    let root = root("", &note(""));
    let path = root.path.join("catalog.toml");
    let mixed = fs::read_to_string(&path).unwrap() + "# a line\r\n";
    fs::write(&path, &mixed).unwrap();
    let arguments = ["catalog", "check", "--live", "--pin"];
    let (_, said) = at_a_terminal(&root, "y\n", &arguments);
    assert!(!said.contains("Write these pins"), "{said}");
    assert!(said.contains("no pin can be written"), "{said}");
    assert_eq!(fs::read_to_string(&path).unwrap(), mixed);
}

#[test]
fn a_pin_that_would_be_replaced_is_named_with_its_entry() {
    let old = format!("sha256:{}/-/-/-", "0".repeat(64));
    let root = root("", &note(&format!("pin = \"{old}\"\n")));
    let (_, said) = check(&root, &["--pin"]);
    assert_eq!(said["replaced_pins"], json!({"note": old}));
    let pin = said["pins"]["note"].as_str().unwrap();
    let arguments = ["catalog", "check", "--live", "--pin"];
    let (_, shown) = at_a_terminal(&root, "n\n", &arguments);
    for line in [
        format!("pin = \"{pin}\" # replaces the pin of note: {old}"),
        "This replaces the pin of note. [y/N]".to_owned(),
    ] {
        assert!(shown.contains(&line), "{shown}");
    }
}
