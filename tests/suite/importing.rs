//! `oneact import`, `add` and `tools`: what people have goes into the catalog, and what is there can be seen.

mod secrets;

use std::{fs, time::Duration};

use serde_json::{Value, json};

use crate::{
    approvals::{at_a_terminal, oneact},
    installed::installed,
    program::{Answer, Root, run},
};

/// A directory without a catalog.
fn empty() -> Root {
    let root = Root::with_catalog("");
    fs::remove_file(root.path.join("catalog.toml")).unwrap();
    root
}

/// A directory with a `.mcp.json` that lists these servers.
fn with(servers: &Value) -> Root {
    let root = empty();
    let text = json!({"mcpServers": servers}).to_string();
    fs::write(root.path.join(".mcp.json"), text).unwrap();
    root
}

/// A server with tools of these names.
fn lister(names: &[&str]) -> Value {
    let args = [&["-SB", "servers/lister.py"], names].concat();
    json!({"command": "python3", "args": args})
}

fn catalog(root: &Root) -> String {
    fs::read_to_string(root.path.join("catalog.toml")).unwrap()
}

fn has_catalog(root: &Root) -> bool {
    root.path.join("catalog.toml").exists()
}

/// The result of a task for one capability.
fn call(root: &Root, capability: &str, parameters: &Value) -> Answer {
    let task = json!({"task_id": "t1", "capability_ids": [capability], "parameters": parameters});
    run(root.command(), task.to_string().as_bytes())
}

/// The catalog has no error and no warning.
fn assert_checked(root: &Root, entries: usize) {
    let (code, said, _) = oneact(root, &["catalog", "check", "--strict"]);
    let all = format!(
        "{entries} entr{}, 0 errors, 0 warnings\n",
        if entries == 1 { "y" } else { "ies" }
    );
    assert_eq!((code, said), (0, all), "{}", catalog(root));
}

#[test]
fn five_real_servers_are_imported_listed_checked_and_called() {
    let npm = |name: &str| {
        let module = format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js");
        installed(&module).into_string()
    };
    let pypi = |name: &str| installed(&format!("servers/bin/mcp-server-{name}")).into_string();
    let root = with(&json!({
        "everything": {"command": "node", "args": [npm("everything"), "stdio"]},
        "filesystem": {"command": "node", "args": [npm("filesystem"), "."]},
        "memory": {"command": "node", "args": [npm("memory")], "env": {"MEMORY_FILE_PATH": "memory.jsonl"}},
        "time": {"command": pypi("time"), "args": ["--local-timezone", "UTC"]},
        "git": {"command": pypi("git")},
    }));
    let (code, said, told) = oneact(&root, &["import", "--yes"]);
    assert_eq!(code, 0, "{told}");
    assert!(said.contains("Added 5 servers and 50 entries"), "{said}");
    assert_checked(&root, 50);
    let (code, listed, told) = oneact(&root, &["tools"]);
    assert_eq!(code, 0, "{told}");
    for part in [
        "filesystem · secure-filesystem-server",
        "read_text_file(path: string, tail?: number, head?: number)",
        "oneact call filesystem_read_text_file path=…\n",
        "git_status(repo_path: string)",
        "hints: read-only, closed-world",
    ] {
        assert!(listed.contains(part), "{part}\n{listed}");
    }
    let answer = call(&root, "time_get_current_time", &json!({"timezone": "UTC"}));
    assert_eq!(
        (answer.exit, &answer.result_data()["timezone"]),
        (0, &json!("UTC"))
    );
    let before = catalog(&root);
    let (code, said, _) = oneact(&root, &["import", "--yes"]);
    assert_eq!((code, catalog(&root)), (0, before));
    assert!(
        said.contains("kept as they are: everything, filesystem")
            && said.contains("Nothing was changed"),
        "{said}"
    );
    assert_eq!(root.processes(), Vec::<i32>::new());
}

#[test]
fn a_dry_run_shows_a_diff_and_writes_nothing() {
    let root = with(&json!({"s": lister(&["echo"])}));
    let names = |root: &Root| {
        let mut names: Vec<String> = root
            .path
            .read_dir_utf8()
            .unwrap()
            .map(|each| each.unwrap().file_name().to_owned())
            .collect();
        names.sort();
        names
    };
    let before = names(&root);
    let (code, said, _) = oneact(&root, &["import", ".mcp.json", "--dry-run"]);
    assert_eq!((code, names(&root)), (0, before));
    assert!(
        said.starts_with("--- /dev/null\n+++ b/catalog.toml\n@@ "),
        "{said}"
    );
    assert!(said.contains("\n+[capability.s_echo]\n"), "{said}");
}

#[test]
fn what_the_catalog_has_keeps_its_bytes() {
    let root = with(&json!({"s": lister(&["echo"]), "old": {"command": "never-started"}}));
    let old = "catalog = 1 # mine\r\n\n[server.old]\ncommand=['x']\n[capability.s_echo]\ndescription = \"Old.\"\nmcp = { server = \"old\", tool = \"t\" }";
    fs::write(root.path.join("catalog.toml"), old).unwrap();
    let (code, said, told) = oneact(&root, &["import", ".mcp.json"]);
    assert_eq!(code, 0, "{told}");
    assert!(said.contains("kept as they are: old\n"), "{said}");
    let new = catalog(&root);
    assert!(
        new.starts_with(old) && new.contains("\n[capability.s_echo_2]\n"),
        "{new}"
    );
}

#[test]
fn configurations_that_were_found_need_a_consent() {
    let root = with(&json!({"s": lister(&["echo"])}));
    let (code, _, told) = oneact(&root, &["import"]);
    assert_eq!((code, has_catalog(&root)), (2, false));
    assert!(
        told.contains("s: python3 -SB") && told.contains("--yes"),
        "{told}"
    );
    let (code, said) = at_a_terminal(&root, "n\n", &["import"]);
    assert_eq!((code, has_catalog(&root)), (1, false), "{said}");
    assert!(
        said.contains(".mcp.json") && said.contains("[y/N]"),
        "{said}"
    );
    let (code, said) = at_a_terminal(&root, "y\ny\n", &["import"]);
    assert_eq!((code, has_catalog(&root)), (0, true), "{said}");
}

#[test]
fn a_hint_that_lowers_the_risk_needs_a_confirmation() {
    let believed = "effects = { read_only = true, open_world = false }";
    let root = with(&json!({"s": lister(&["echo"])}));
    oneact(&root, &["import", ".mcp.json"]);
    let text = catalog(&root);
    assert!(
        text.contains(&format!(
            "# hinted by the server, not confirmed: {}",
            &believed[10..]
        )),
        "{text}"
    );
    assert!(
        text.contains("\neffects = { destructive = true, open_world = true }\n"),
        "{text}"
    );
    for flags in [
        &["import", "--trust-hints", ".mcp.json"][..],
        &["import", ".mcp.json"],
    ] {
        let root = with(&json!({"s": lister(&["echo"])}));
        let (code, said) = at_a_terminal(&root, "y\n", flags);
        assert_eq!(code, 0, "{said}");
        assert!(catalog(&root).contains(believed), "{said}");
        assert_checked(&root, 1);
    }
}

#[test]
fn a_configuration_that_cannot_be_used_is_refused_and_nothing_is_written() {
    for (text, says) in [
        ("hello", ".mcp.json: this is no JSON"),
        (
            "{\"mcpServers\": {\n\"a\": {\"command\": \"a\"},\n\"a\": {\"command\": \"a\"}}}",
            ".mcp.json: `a` is there for the second time",
        ),
        ("{\"permissions\": {}}", "configures no MCP servers"),
        ("\u{0}", "no JSON"),
    ] {
        let root = empty();
        fs::write(root.path.join(".mcp.json"), text).unwrap();
        let (code, said, told) = oneact(&root, &["import", ".mcp.json"]);
        assert_eq!(
            (code, said.as_str(), has_catalog(&root)),
            (2, "", false),
            "{text}"
        );
        assert!(told.contains(says), "{text}: {told}");
    }
    let root = with(&json!({"a": {}}));
    let (code, _, told) = oneact(&root, &["import", ".mcp.json"]);
    assert_eq!((code, has_catalog(&root)), (1, false), "{told}");
    assert!(told.contains("neither `command` nor `url`"), "{told}");
    let (code, _, told) = oneact(&empty(), &["import", "none.json"]);
    assert_eq!(code, 2);
    assert!(told.contains("none.json"), "{told}");
    let (code, _, told) = oneact(&empty(), &["import", "--yes"]);
    assert_eq!(code, 2);
    assert!(told.contains("oneact add NAME"), "{told}");
}

#[test]
fn a_server_that_does_not_start_is_named_and_the_others_are_imported() {
    let root = with(&json!({
        "broken": {"command": "sh", "args": ["-c", "echo no database >&2; exit 3"]},
        "absent": {"command": "no-such-program"},
        "unset": {"command": "sh", "args": ["${NOT_SET_ANYWHERE}"]},
        "音声": {"command": "sh"},
        "good": lister(&["echo"]),
    }));
    let (code, said, told) = oneact(&root, &["import", ".mcp.json"]);
    assert_eq!(code, 1, "{told}");
    for part in [
        "broken: not added",
        "no database",
        "`no-such-program` is in no directory of PATH",
        "export NOT_SET_ANYWHERE",
        "rename it",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(said.contains("Added 1 server and 1 entry"), "{said}");
    assert_checked(&root, 1);
}

#[test]
fn five_hundred_tools_and_names_that_are_no_ids_are_imported() {
    let odd = ["a-b", "a_b", "a.b", "getHTTPPage", "音声", "x y\u{202e}"];
    let root = with(&json!({"many": lister(&["500"]), "odd": lister(&odd)}));
    let begun = std::time::Instant::now();
    let (code, said, told) = oneact(&root, &["import", ".mcp.json"]);
    assert_eq!(code, 0, "{told}");
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    assert!(
        said.contains("many has 500 tools: many_tool_0,") && said.contains("and 494 more"),
        "{said}"
    );
    assert!(
        said.contains("音声 is called as odd") && said.contains("a.b is called as odd_a_b_3"),
        "{said}"
    );
    assert!(!said.contains('\u{202e}') && !catalog(&root).contains('\u{202e}'));
    assert_checked(&root, 506);
    let answer = call(&root, "odd_a_b_3", &json!({"text": "hello"}));
    assert_eq!(answer.result_data(), &json!({"text": "hello"}));
}

#[test]
fn the_first_of_two_configurations_counts_and_the_other_is_told() {
    let root = with(&json!({"same": lister(&["echo"]), "other": lister(&["one"])}));
    fs::create_dir(root.path.join(".cursor")).unwrap();
    let servers = json!({"mcpServers": {"same": lister(&["echo"]), "other": lister(&["two"]), "off": {"command": "x", "disabled": true}}});
    fs::write(root.path.join(".cursor/mcp.json"), servers.to_string()).unwrap();
    fs::create_dir_all(root.path.join(".config/opencode")).unwrap();
    let mine = json!({"mcp": {"mine": {"type": "local", "command": ["python3", "-SB", "servers/lister.py", "echo"]}}});
    fs::write(
        root.path.join(".config/opencode/opencode.json"),
        mine.to_string(),
    )
    .unwrap();
    let (code, said, told) = oneact(&root, &["import", "--yes"]);
    assert_eq!(code, 0, "{told}");
    assert!(
        said.contains("other is configured twice") && !said.contains("same is configured"),
        "{said}"
    );
    assert!(said.contains("off is switched off"), "{said}");
    let text = catalog(&root);
    assert!(
        text.contains("[capability.other_one]") && !text.contains("other_two"),
        "{text}"
    );
    // The file of a user does not say where its servers are started.
    assert!(
        text.contains("[capability.mine_echo]") && !text.contains("cwd"),
        "{text}"
    );
    oneact(&root, &["import", "--yes"]);
    assert_eq!(catalog(&root), text);
}

#[test]
fn one_server_is_added_from_the_command_line() {
    let root = empty();
    let argv = ["--", "python3", "-SB", "servers/lister.py", "echo"];
    let arguments = [
        &[
            "add",
            "files",
            "--env",
            "LEVEL=info",
            "--env",
            "LISTER_KEY=0815-4711",
        ],
        &argv[..],
    ]
    .concat();
    let (code, said, told) = oneact(&root, &arguments);
    assert_eq!(code, 0, "{told}");
    assert!(said.contains("files has 1 tool: files_echo"), "{said}");
    let text = catalog(&root);
    assert!(
        text.contains("env = { LEVEL = \"info\" }\nenv_pass = [\"LISTER_KEY\"]\n"),
        "{text}"
    );
    assert_checked(&root, 1);
    for (arguments, says) in [
        (
            [&["add", "files"], &argv[..]].concat(),
            "has [server.files] already",
        ),
        ([&["add", "a b"], &argv[..]].concat(), "letters, digits"),
        (
            vec!["add", "other", "--", "sh", "--token", "0815-4711"],
            "looks like a secret",
        ),
        (vec!["add", "other"], "<COMMAND>"),
    ] {
        let (code, _, told) = oneact(&root, &arguments);
        assert_eq!((code, catalog(&root)), (2, text.clone()), "{arguments:?}");
        assert!(told.contains(says), "{arguments:?}: {told}");
    }
    let (code, _, told) = oneact(&root, &["add", "other", "--", "sh", "-c", "exit 3"]);
    assert_eq!((code, catalog(&root)), (1, text), "{told}");
}

#[test]
fn tools_are_listed_also_without_an_entry_and_the_missing_server_is_named() {
    let root = empty();
    let servers = "catalog = 1\n[server.s]\ncommand = [\"python3\", \"-SB\", \"servers/lister.py\", \"echo\", \"other\"]\n\
                   [server.gone]\ncommand = [\"no-such-program\"]\n";
    fs::write(
        root.path.join("catalog.toml"),
        format!("{servers}[capability.my_echo]\nmcp = {{ server = \"s\", tool = \"echo\" }}\n"),
    )
    .unwrap();
    let (code, said, told) = oneact(&root, &["tools"]);
    assert_eq!(code, 1);
    assert!(
        told.contains("gone: its command `no-such-program`"),
        "{told}"
    );
    assert!(
        said.contains("oneact call my_echo text=…\n")
            && said.contains("oneact call s.other text=…\n"),
        "{said}"
    );
    let (code, said, _) = oneact(&root, &["tools", "s", "--format", "json"]);
    let document: Value = serde_json::from_str(&said).unwrap();
    let tools = document["servers"][0]["tools"].as_array().unwrap();
    assert_eq!(
        (code, &tools[0]["entries"], &tools[1]["call"]),
        (0, &json!(["my_echo"]), &json!("s.other"))
    );
    for (format, pointer, expected) in [
        ("mcp", "/tools/1/name", "s.other"),
        ("openai", "/1/function/name", "s_other"),
        ("anthropic", "/1/input_schema/type", "object"),
    ] {
        let (_, said, _) = oneact(&root, &["tools", "s", "--format", format]);
        let document: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(
            document.pointer(pointer),
            Some(&json!(expected)),
            "{format}"
        );
    }
    let (code, _, told) = oneact(&root, &["tools", "none"]);
    assert_eq!(code, 2);
    assert!(told.contains("its servers: s, gone"), "{told}");
    fs::write(root.path.join("catalog.toml"), "catalog = 1\n").unwrap();
    let (code, _, told) = oneact(&root, &["tools"]);
    assert_eq!(code, 2);
    assert!(told.contains("oneact import"), "{told}");
}

#[test]
fn the_doctor_looks_at_servers_without_an_entry() {
    let root = empty();
    fs::write(
        root.path.join("catalog.toml"),
        "catalog = 1\n[server.gone]\ncommand = [\"no-such-program\"]\n",
    )
    .unwrap();
    let (code, said, _) = oneact(&root, &["doctor"]);
    assert_eq!(code, 1);
    assert!(
        said.contains("✗ server gone") && said.contains("no-such-program"),
        "{said}"
    );
}

#[test]
fn a_document_that_is_json_is_sent_to_the_right_command() {
    let root = with(&json!({}));
    let (code, _, told) = oneact(&root, &["catalog", "import", ".mcp.json"]);
    assert_eq!(code, 2);
    assert!(told.contains("oneact import .mcp.json"), "{told}");
}
