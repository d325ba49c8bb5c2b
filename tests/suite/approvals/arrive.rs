//! Approvals arrive: the next run of the same task performs it also without a session, and `run --approved` performs the
//! stored call (R-003-08; the approval is bound to the call, the root and the asker, and to a session only if one was named).

use super::*;

/// A task that names no session.
fn sessionless(id: &str, what: &str) -> Value {
    json!({"task_id": id, "capability_ids": ["send"], "parameters": {"what": what}})
}

fn approved_run(root: &Root, id: &str) -> Answer {
    let mut command = root.command();
    command.args(["run", "--approved", id]);
    run(command, b"")
}

fn message(answer: &Answer) -> &str {
    answer.at("/error/error_message").as_str().unwrap()
}

fn session(answer: &Answer) -> &Value {
    answer.at("/metadata/session_id")
}

fn refused(answer: &Answer, fault: &str, why: &str) {
    assert_eq!(
        (answer.exit, answer.fault()),
        (2, &json!(fault)),
        "{}",
        answer.envelope
    );
    assert!(message(answer).contains(why), "{}", message(answer));
}

/// With another entry that needs no approval, and a workflow that ends with the one that waits.
fn several_root() -> Root {
    Root::with_catalog(&format!(
        "{}[capability.note]\ndescription = \"Note.\"\nmcp = {{ server = \"counter\", tool = \"happen\" }}\n\
         effects = {{ destructive = false, open_world = false }}\n\
         [workflow.both]\ndescription = \"Note, then send.\"\n\
         parameter_schema_for_action = {{ type = \"object\", properties = {{ what = {{ type = \"string\" }} }} }}\n\
         step = [{{ id = \"noted\", run = \"note\", with = {{ what = \"noted\" }} }},\n\
                 {{ id = \"sent\", run = \"send\", with = {{ what = \"{{what}}\" }} }}]\n",
        catalog("expires = \"10m\"", "")
    ))
}

fn counted(root: &Root) -> String {
    fs::read_to_string(root.path.join("counted")).unwrap_or_default()
}

#[test]
fn the_next_run_of_a_task_without_a_session_performs_it_once() {
    let root = waiting_root();
    let asked = root.run(&sessionless("t", "mail"));
    let id = asks(&asked);
    // Nobody is asked again, and the task need not have the same name.
    assert_eq!(asks(&root.run(&sessionless("u", "mail"))), id);
    approve(&root, &id);
    let done = root.run(&sessionless("v", "mail"));
    assert_eq!(
        (done.exit, done.state()),
        (0, &json!("done")),
        "{}",
        done.envelope
    );
    assert_eq!(session(&done), session(&asked));
    assert_eq!(happened(&root), 1);
    assert_ne!(asks(&root.run(&sessionless("t", "mail"))), id);
    assert_eq!(oneact(&root, &["verify"]).0, 0);
}

#[test]
fn a_request_without_a_session_is_used_in_the_session_that_its_answer_names() {
    let root = waiting_root();
    let asked = root.run(&sessionless("t", "mail"));
    approve(&root, &asks(&asked));
    let mut named = sessionless("t", "mail");
    named["metadata"] = json!({"session_id": session(&asked)});
    assert_eq!(root.run(&named).state(), "done");
    assert_eq!(happened(&root), 1);
}

#[test]
fn a_request_with_a_session_is_not_used_without_it() {
    let root = waiting_root();
    let id = asks(&root.run(&task("mail")));
    approve(&root, &id);
    let other = root.run(&sessionless("task_9", "mail"));
    assert_ne!(asks(&other), id);
    assert_eq!(happened(&root), 0);
}

#[test]
fn a_denial_holds_without_a_session_until_the_request_expires() {
    let root = Root::with_catalog(&catalog("expires = \"2s\"", ""));
    let id = asks(&root.run(&sessionless("t", "mail")));
    let (exit, shown) = at_a_terminal(&root, "y\n", &["deny", &id, "-m", "wrong list"]);
    assert_eq!(exit, 0, "{shown}");
    refused(
        &root.run(&sessionless("t", "mail")),
        "approval_denied",
        "wrong list",
    );
    refused(&approved_run(&root, &id), "approval_denied", "`salt`");
    thread::sleep(Duration::from_millis(2100));
    assert_ne!(asks(&root.run(&sessionless("t", "mail"))), id);
    assert_eq!(happened(&root), 0);
}

/// A stale approval of a task without a session does not stand in the way of a new request.
#[test]
fn an_expired_approval_is_named_by_run_approved_and_the_task_asks_anew() {
    let root = Root::with_catalog(&catalog("expires = \"2s\"", ""));
    let id = asks(&root.run(&sessionless("t", "mail")));
    approve(&root, &id);
    thread::sleep(Duration::from_millis(2100));
    refused(
        &approved_run(&root, &id),
        "approval_expired",
        "send the task again",
    );
    assert_ne!(asks(&root.run(&sessionless("t", "mail"))), id);
    assert_eq!(happened(&root), 0);
}

#[test]
fn a_stored_call_is_performed_once_although_the_agent_rewords_its_request() {
    for named in [true, false] {
        let root = waiting_root();
        let call = |what: &str| {
            if named {
                task(what)
            } else {
                sessionless("t", what)
            }
        };
        let id = asks(&root.run(&call("mail")));
        let waits = approved_run(&root, &id);
        assert_eq!(asks(&waits), id);
        approve(&root, &id);
        let mut reworded = call("other words");
        if named {
            reworded["dispatch"]["task_id"] = json!("task_10");
        }
        let other = root.run(&reworded);
        assert_ne!(asks(&other), id);
        let hint = format!("It differs from {id}, which was approved, in `parameters.what`");
        assert!(message(&other).contains(&hint), "{}", message(&other));
        let done = approved_run(&root, &id[..id.len() - 2]);
        assert_eq!(
            (done.exit, done.state()),
            (0, &json!("done")),
            "{}",
            done.envelope
        );
        assert_eq!(counted(&root), "mail\n");
        refused(&approved_run(&root, &id), "approval_mismatch", "was used");
        assert_eq!(happened(&root), 1);
    }
}

#[test]
fn approve_run_approves_and_performs() {
    let root = waiting_root();
    let id = asks(&root.run(&sessionless("t", "mail")));
    let (exit, shown) = at_a_terminal(&root, "y\n", &["approve", &id, "--run"]);
    assert_eq!((exit, happened(&root)), (0, 1), "{shown}");
    assert!(shown.contains("done in "), "{shown}");
    // Its exit code is that of the envelope.
    let id = asks(&root.run(&sessionless("t", "mail")));
    fs::remove_file(root.path.join("servers")).unwrap();
    let (exit, shown) = at_a_terminal(&root, "y\n", &["approve", &id, "--run"]);
    assert_eq!(exit, 1, "{shown}");
}

#[test]
fn a_person_who_approves_twice_is_told_and_nothing_is_added() {
    let root = waiting_root();
    let id = asks(&root.run(&task("mail")));
    approve(&root, &id);
    let links = || oneact(&root, &["verify"]).1;
    let before = links();
    // No question is asked, so no terminal is needed.
    let (exit, said, _) = oneact(&root, &["approve", &id]);
    assert!(
        exit == 0 && said.contains("already approved by you"),
        "{said}"
    );
    assert_eq!(links(), before);
    let (exit, done, _) = oneact(&root, &["approve", &id, "--run"]);
    assert_eq!((exit, happened(&root)), (0, 1), "{done}");
}

#[test]
fn a_run_that_waits_says_at_once_how_it_is_approved() {
    let root = waiting_root();
    let mut command = root.command();
    command.args(["--wait", "300ms"]);
    let waited = run(command, task("mail").to_string().as_bytes());
    let id = asks(&waited);
    let told = format!("this run waits for {id}");
    assert!(waited.stderr.contains(&told), "{}", waited.stderr);
    assert!(
        waited.stderr.contains(&format!("`oneact approve {id}`")),
        "{}",
        waited.stderr
    );
}

#[test]
fn what_the_record_does_not_hold_is_sent_again() {
    let root = waiting_root();
    let mut secret = sessionless("t", "mail");
    secret["parameters"]["token"] = json!("hunter2-x");
    let mut signed = sessionless("t", "mail");
    signed["parameters"]["link"] = json!("https://b.s3.amazonaws.com/a?X-Amz-Signature=00ff");
    let mut large = sessionless("t", "mail");
    large["parameters"]["text"] = json!("x".repeat(600 << 10));
    for (call, why) in [(secret, "secrets"), (signed, "secrets"), (large, "512 KiB")] {
        let asked = root.run(&call);
        let id = asks(&asked);
        assert!(message(&asked).contains("then send the same task again"));
        let waiting = asked.at("/output/content/oneact/waiting");
        assert!(waiting.get("perform").is_none(), "{waiting}");
        let (_, shown) = at_a_terminal(&root, "y\n", &["approve", &id]);
        assert!(!shown.contains("--approved"), "{shown}");
        refused(&approved_run(&root, &id), "approval_mismatch", why);
        let before = happened(&root);
        assert_eq!(root.run(&call).state(), "done");
        assert_eq!(happened(&root), before + 1);
    }
}

#[test]
fn a_bad_id_or_a_task_beside_it_is_refused() {
    let root = waiting_root();
    let first = asks(&root.run(&sessionless("t", "one")));
    asks(&root.run(&sessionless("t", "two")));
    // An empty variable of a shell names no request.
    for id in ["zz", "apr_", ""] {
        let none = "no request for an approval has an id";
        refused(&approved_run(&root, id), "invalid_usage", none);
    }
    fs::write(root.path.join("task.json"), "{}").unwrap();
    for flags in [
        ["task.json", "-v"],
        ["--dry-run", "-v"],
        ["--expect", "sha256:0"],
    ] {
        let mut command = root.command();
        command.args(["run", "--approved", &first]).args(flags);
        assert_eq!(run(command, b"").fault(), "invalid_usage", "{flags:?}");
    }
    assert_eq!(happened(&root), 0);
}

#[test]
fn a_stored_call_is_performed_in_its_own_root_only() {
    let roots = [Root::new(), Root::new()];
    for root in &roots {
        let shared = format!("[ledger]\nuri = \"{}/shared.db\"\n", roots[0].path);
        fs::write(root.path.join("catalog.toml"), catalog("", "") + &shared).unwrap();
    }
    let id = asks(&roots[0].run(&sessionless("t", "mail")));
    approve(&roots[0], &id);
    let elsewhere = approved_run(&roots[1], &id);
    for root in &roots {
        refused(&elsewhere, "approval_mismatch", root.path.as_str());
    }
    assert_ne!(asks(&roots[1].run(&sessionless("t", "mail"))), id);
    assert_eq!(happened(&roots[1]), 0);
}

/// The hash of the call is computed again: what has changed since is named.
#[test]
fn a_stored_call_that_is_another_one_now_is_not_performed() {
    let root = Root::with_catalog(&catalog("", "").replace(
        "[capability.send]",
        "[capability.send]\nbind = { what = \"input.uri\" }",
    ));
    fs::write(root.path.join("a.txt"), "one").unwrap();
    let mut call = sessionless("t", "");
    call["parameters"] = json!({});
    call["input_refs_resolved"] =
        json!([{"ref_id": "store_1", "storage_uri": "a.txt", "status": "stored"}]);
    let id = asks(&root.run(&call));
    approve(&root, &id);
    fs::write(root.path.join("a.txt"), "two").unwrap();
    refused(
        &approved_run(&root, &id),
        "approval_mismatch",
        "the content of the input in `what`",
    );
    let id = asks(&root.run(&call));
    approve(&root, &id);
    let text = fs::read_to_string(root.path.join("catalog.toml")).unwrap();
    let other = text.replace("\"counted\"", "\"elsewhere\"");
    fs::write(root.path.join("catalog.toml"), other).unwrap();
    refused(
        &approved_run(&root, &id),
        "approval_mismatch",
        "the entry of the catalog or its server",
    );
    // An entry that needs no approval any more does not perform it without one.
    fs::write(root.path.join("catalog.toml"), &text).unwrap();
    let id = asks(&root.run(&call));
    approve(&root, &id);
    let free = text.replace("regret_potential = \"high\"", "regret_potential = \"low\"");
    fs::write(root.path.join("catalog.toml"), free).unwrap();
    assert_eq!(approved_run(&root, &id).fault(), "approval_mismatch");
    assert_eq!(happened(&root), 0);
    assert!(!root.path.join("elsewhere").exists());
}

/// The requester's profile decides the context, whoever performs the stored call.
#[test]
fn a_stored_call_is_performed_in_the_context_of_its_request() {
    let profiles = "[profile.agent]\ncontext = \"AGENT_AUTONOMOUS\"\n[profile.talk]\ncontext = \"AGENT_CONVERSATION\"\n";
    let root = Root::with_catalog(&(catalog("expires = \"10m\"", "") + profiles));
    let mut command = root.command();
    command.args(["--profile", "talk"]);
    let id = asks(&run(
        command,
        sessionless("t", "mail").to_string().as_bytes(),
    ));
    approve(&root, &id);
    let mut command = root.command();
    command.args(["run", "--approved", &id, "--profile", "agent"]);
    refused(&run(command, b""), "context_denied", "AGENT_CONVERSATION");
    let done = approved_run(&root, &id);
    assert_eq!(done.state(), "done", "{}", done.envelope);
    assert_eq!(done.at("/output/content/oneact/gate/profile"), "talk");
}

#[test]
fn a_plan_without_a_session_is_applied_after_its_approval() {
    let root = Root::with_catalog("catalog = 1\n");
    let file = root.path.join("pyproject.toml");
    fs::write(&file, "version = \"1.0\"\n").unwrap();
    let mut sent = plan("pyproject.toml");
    sent.as_object_mut().unwrap().remove("metadata");
    let id = asks(&root.run(&sent));
    approve(&root, &id);
    let mut reworded = sent.clone();
    reworded["task_plan"]["action_plan"][0]["operation"]["replacement"] = json!("1.2");
    let other = root.run(&reworded);
    let field = "`parameters.task_plan.action_plan[0].operation.replacement`";
    assert!(message(&other).contains(field), "{}", message(&other));
    assert_eq!(root.run(&sent).state(), "done");
    assert_eq!(fs::read_to_string(&file).unwrap(), "version = \"1.1\"\n");

    fs::write(&file, "version = \"1.0\"\n").unwrap();
    let id = asks(&root.run(&sent));
    approve(&root, &id);
    fs::write(&file, "version = \"1.0\" # changed\n").unwrap();
    refused(
        &approved_run(&root, &id),
        "approval_mismatch",
        "the file pyproject.toml, which was changed since",
    );
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "version = \"1.0\" # changed\n"
    );
    let id = asks(&root.run(&sent));
    approve(&root, &id);
    assert_eq!(approved_run(&root, &id).state(), "done");
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "version = \"1.1\" # changed\n"
    );
}

/// The steps before the one that waits are not performed again, also if nothing names the task.
#[test]
fn a_workflow_without_a_session_goes_on_with_the_step_that_waits() {
    let root = several_root();
    for (number, call) in (1..).zip([
        json!({"task_id": "w", "capability_ids": ["both"], "parameters": {"what": "sent"}}),
        json!({"actionId": "both", "args": {"what": "sent"}}),
    ]) {
        let id = asks(&root.run(&call));
        assert_eq!(asks(&root.run(&call)), id);
        approve(&root, &id);
        let done = if number == 1 {
            root.run(&call)
        } else {
            approved_run(&root, &id)
        };
        assert_eq!(done.state(), "done", "{}", done.envelope);
        assert_eq!(counted(&root), "noted\nsent\n".repeat(number));
    }
}

#[test]
fn an_improvised_action_without_a_session_goes_on_after_each_approval() {
    let root = several_root();
    let action = json!({
        "kind": "improvised", "task_id": "i", "plan_summary": "Note and send.",
        "steps": [{"name": "note", "parameters": {"what": "noted"}}, {"name": "send", "parameters": {"what": "sent"}}],
    });
    let whole = asks(&root.run(&action));
    approve(&root, &whole);
    let step = asks(&root.run(&action));
    assert_ne!(step, whole);
    assert_eq!(counted(&root), "noted\n");
    approve(&root, &step);
    let done = approved_run(&root, &step);
    assert_eq!(done.state(), "done", "{}", done.envelope);
    assert_eq!(counted(&root), "noted\nsent\n");
    assert_eq!(oneact(&root, &["verify"]).0, 0);
}

/// `oneact call` gives each task an id of its own, so the id binds nothing, also in a session.
#[test]
fn a_call_in_a_session_is_performed_by_its_next_run() {
    let root = waiting_root();
    let call = |session: &str| {
        let mut command = root.command();
        command.env("ONEACT_SESSION", session);
        command.args(["call", "send", "what=mail"]);
        run(command, b"")
    };
    let id = asks(&call("s"));
    approve(&root, &id);
    assert_ne!(asks(&call("s2")), id);
    assert_eq!(call("s").state(), "done");
    assert_eq!(happened(&root), 1);
}
