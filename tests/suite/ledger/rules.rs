//! Whose a session is, what may go unrecorded, and what a next attempt is told.

use super::*;

#[test]
fn a_session_belongs_to_the_context_it_was_opened_in() {
    let profiles = "[profile.chat]\ncontext = \"AGENT_CONVERSATION\"\n[profile.person]\ncontext = \"USER_INVOCATION\"\n";
    let root = Root::with_catalog(&format!("{CATALOG}{profiles}"));
    let ask = |task: &str| request("look", task, &json!({"what": task}));
    assert_eq!(root.run(&ask("t1")).exit, 0);
    let mut command = root.command();
    command.args(["--profile", "chat"]);
    let other = run(command, ask("t2").to_string().as_bytes());
    assert_eq!((other.exit, fault(&other)), (2, "context_changed"));
    assert_eq!(happened(&root), ["t1"]);
}

#[test]
fn nothing_is_done_that_cannot_be_recorded_unless_it_only_reads_and_the_catalog_allows_it() {
    for (rule, capability, exit) in [
        ("", "look", 1),
        ("[ledger]\nrequired = false\n", "again", 1),
        ("[ledger]\nrequired = false\n", "look", 0),
    ] {
        let root = Root::with_catalog(&format!("{CATALOG}{rule}"));
        fs::create_dir(root.path.join(".oneact")).unwrap();
        fs::write(
            root.path.join(".oneact/ledger.db"),
            "no database, but long enough to be told from one",
        )
        .unwrap();
        let answer = root.run(&request(capability, "t1", &json!({"what": "a"})));
        assert_eq!(
            answer.exit, exit,
            "{rule} {capability}: {}",
            answer.envelope
        );
        if exit != 0 {
            assert_eq!(fault(&answer), "ledger_unavailable");
            assert_eq!(happened(&root), Vec::<String>::new());
        }
    }
}

#[test]
fn where_the_catalog_wants_no_ledger_nothing_is_recorded() {
    let root = Root::with_catalog(&format!("{CATALOG}[ledger]\nuri = \"none\"\n"));
    for task in ["t1", "t2"] {
        let answer = root.run(&request("again", task, &json!({"what": "a"})));
        assert_eq!(
            (answer.exit, answer.at("/output/content/oneact/ledger")),
            (0, &Value::Null)
        );
    }
    assert_eq!(happened(&root), ["a", "a"]);
    assert!(!root.path.join(".oneact/ledger.db").exists());
}

#[test]
fn a_second_attempt_answers_why_the_first_one_failed() {
    let rules = r#"
retry = [
  { after = ["rate_limited"], set = { seconds = 0.01 } },
  { after = ["oom"], set = { what = "less" } },
]
"#;
    let catalog = CATALOG.replacen("[capability.once]", &format!("{rules}[capability.once]"), 1);
    let root = Root::with_catalog(&catalog);
    let mut fails = request("again", "t1", &json!({"what": "fails"}));
    root.run(&fails);
    fails["dispatch"]["attempt"] = json!(2);
    let second = root.run(&fails);
    let sent = second.at("/output/content/task_result/tool_invocations/0/parameters");
    assert_eq!(sent, &json!({"what": "fails", "seconds": 0.01}));
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let adjusted: String = ledger
        .query_row(
            "SELECT adjusted FROM agent_actions WHERE attempt = 2",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(adjusted, r#"{"again":{"seconds":0.01}}"#);
}
