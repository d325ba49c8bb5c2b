//! What an import does with secrets: it uses them for one start, and writes none.

use serde_json::{Value, json};

use super::{assert_checked, catalog, lister, with};
use crate::approvals::oneact;

#[test]
fn a_secret_is_neither_written_nor_shown_and_its_variable_is_named() {
    const KEY: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let mut server = lister(&["echo"]);
    server["env"] = json!({"LISTER_KEY": KEY, "LEVEL": "info"});
    let root = with(&json!({"s": server, "t": {"command": "sh", "args": ["--token", KEY]}}));
    let (code, said, told) = oneact(&root, &["import", ".mcp.json"]);
    assert_eq!(code, 1);
    let text = catalog(&root);
    assert!(
        ![&said, &told, &text].iter().any(|text| text.contains(KEY)),
        "{said}{told}{text}"
    );
    assert!(
        text.contains("env = { LEVEL = \"info\" }\nenv_pass = [\"LISTER_KEY\"]\n"),
        "{text}"
    );
    assert!(text.contains("the key is ***"), "{text}");
    assert!(said.contains("export LISTER_KEY=…"), "{said}");
    assert!(told.contains("looks like a secret"), "{told}");
    let (code, _, told) = oneact(&root, &["tools"]);
    assert_eq!(code, 1);
    assert!(told.contains("export LISTER_KEY"), "{told}");
    let output = root
        .command()
        .arg("tools")
        .env("LISTER_KEY", KEY)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && !said.contains(KEY), "{said}");
}

#[test]
fn a_server_that_repeats_a_secret_gets_no_entry_with_it() {
    const KEY: &str = "argsecret77";
    let mut server = lister(&["echo", "$LISTER_KEY", "keyed", "echo"]);
    server["env"] = json!({"LISTER_KEY": KEY});
    let root = with(&json!({"s": server}));
    let (code, said, told) = oneact(&root, &["import", ".mcp.json"]);
    assert_eq!(code, 1, "{told}");
    let text = catalog(&root);
    assert!(
        ![&said, &told, &text].iter().any(|text| text.contains(KEY)),
        "{said}{told}{text}"
    );
    assert!(told.contains("s: tool 2 of its list is left out"), "{told}");
    assert!(said.contains("echo is listed again"), "{said}");
    assert!(
        text.contains("[capability.s_keyed]") && !text.contains("***_id"),
        "{text}"
    );
    assert!(
        text.contains("# without parameter_schema_for_action: a part of its schema"),
        "{text}"
    );
    assert_checked(&root, 2);
    let mut command = root.command();
    let output = command.arg("tools").env("LISTER_KEY", KEY).output();
    let output = output.unwrap();
    let shown = [output.stdout, output.stderr].concat();
    let shown = String::from_utf8(shown).unwrap();
    assert!(
        output.status.code() == Some(1) && !shown.contains(KEY),
        "{shown}"
    );
}

#[test]
fn two_servers_with_two_values_of_one_variable_are_not_given_the_same() {
    let server = |token: &str| -> Value {
        let mut server = lister(&["echo"]);
        server["env"] = json!({"GITHUB_TOKEN": token});
        server
    };
    let servers =
        json!({"work": server("w-4711"), "home": server("h-0815"), "also": server("w-4711")});
    let root = with(&servers);
    let (code, said, told) = oneact(&root, &["import", ".mcp.json"]);
    assert_eq!(code, 1, "{told}");
    assert!(
        told.contains(
            "home: not added, because its GITHUB_TOKEN has another value than that of work"
        ),
        "{told}"
    );
    assert!(said.contains("\n  export GITHUB_TOKEN=…\n"), "{said}");
    let text = catalog(&root);
    assert!(
        text.contains("[server.also]") && !text.contains("[server.home]"),
        "{text}"
    );
}
