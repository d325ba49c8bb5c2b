//! What comes again: reused, replayed, suppressed, waited for; and what makes two requests the same.

use super::*;

#[test]
fn a_b_a_reuses_the_first_a() {
    let root = Root::with_catalog(CATALOG);
    let ask = |task: &str, what: &str| root.run(&request("look", task, &json!({"what": what})));
    assert_eq!(state(&ask("t1", "a")), "done");
    assert_eq!(state(&ask("t2", "b")), "done");
    let third = ask("t3", "a");
    assert_eq!((state(&third), third.exit), ("reused", 0));
    assert_eq!(
        third.at("/output/content/task_result/result_data"),
        &json!({"happened": "a"})
    );
    assert_eq!(happened(&root), ["a", "b"]);
}

#[test]
fn the_same_delivery_is_answered_as_before_failures_too() {
    let root = Root::with_catalog(CATALOG);
    let fails = request("again", "t1", &json!({"what": "fails"}));
    let first = root.run(&fails);
    let second = root.run(&fails);
    assert_eq!((first.exit, second.exit), (75, 75));
    assert_eq!(state(&second), "replayed");
    assert_eq!(
        first.at("/error/error_message"),
        second.at("/error/error_message")
    );
    assert_eq!(happened(&root), ["fails"]);
    let mut again = fails.clone();
    again["dispatch"]["attempt"] = json!(2);
    assert_eq!(why(&root.run(&again)), "retry");
    assert_eq!(happened(&root), ["fails", "fails"]);
}

#[test]
fn a_caller_that_counts_no_attempts_gets_the_next_after_a_failure() {
    let root = Root::with_catalog(CATALOG);
    let mut fails = request("again", "t1", &json!({"what": "fails"}));
    fails["dispatch"].as_object_mut().unwrap().remove("attempt");
    root.run(&fails);
    assert_eq!(why(&root.run(&fails)), "retry");
    assert_eq!(happened(&root), ["fails", "fails"]);
}

#[test]
fn what_must_not_happen_twice_is_suppressed_and_a_salt_repeats_it() {
    let root = Root::with_catalog(CATALOG);
    let ask = |task: &str| request("once", task, &json!({"what": "mail"}));
    assert_eq!(state(&root.run(&ask("t1"))), "done");
    let second = root.run(&ask("t2"));
    assert_eq!((state(&second), second.exit), ("suppressed", 0));
    assert!(
        second
            .stderr
            .contains("was not performed again. Send `salt` to repeat it"),
        "{}",
        second.stderr
    );
    let mut salted = ask("t3");
    salted["dispatch"]["salt"] = json!("yes, again");
    assert_eq!(state(&root.run(&salted)), "done");
    assert_eq!(happened(&root), ["mail", "mail"]);
}

#[test]
fn a_task_that_comes_again_with_another_content_is_refused() {
    let root = Root::with_catalog(CATALOG);
    root.run(&request("again", "t1", &json!({"what": "a"})));
    let other = root.run(&request("again", "t1", &json!({"what": "b"})));
    assert_eq!((other.exit, fault(&other)), (2, "idempotency_conflict"));
    assert_eq!(happened(&root), ["a"]);
}

#[test]
fn the_reply_of_a_reused_request_is_the_stored_one_byte_for_byte() {
    let root = Root::with_catalog(CATALOG);
    let reply = |task: &str| {
        let mut command = root.command();
        command.args(["--reply", "mcp"]);
        let mut child = command.spawn().unwrap();
        feed(&mut child, &request("look", task, &json!({"what": "a"})));
        child.wait_with_output().unwrap().stdout
    };
    assert_eq!(reply("t1"), reply("t2"));
    assert_eq!(happened(&root), ["a"]);
}

#[test]
fn no_reuse_does_it_again_but_never_what_must_not_happen_twice() {
    let root = Root::with_catalog(CATALOG);
    for (capability, times) in [("look", 2), ("once", 1)] {
        for task in ["t1", "t2"] {
            let mut command = root.command();
            command.arg("--no-reuse");
            let task = request(
                capability,
                &format!("{capability}-{task}"),
                &json!({"what": capability}),
            );
            run(command, task.to_string().as_bytes());
        }
        let done = happened(&root)
            .iter()
            .filter(|what| *what == capability)
            .count();
        assert_eq!(done, times, "{capability}");
    }
}

#[test]
fn an_identical_request_waits_for_the_one_that_is_being_done() {
    let root = Root::with_catalog(CATALOG);
    let ask = |task: &str| request("once", task, &json!({"what": "a", "seconds": 2}));
    let mut child = root.command().spawn().unwrap();
    feed(&mut child, &ask("t1"));
    until("it has happened", || happened(&root).first().cloned());
    let second = root.run(&ask("t2"));
    assert_eq!(state(&second), "suppressed", "{}", second.envelope);
    assert!(child.wait().unwrap().success());
    assert_eq!(happened(&root), ["a"]);
}

#[test]
fn who_waits_too_long_is_told_who_is_at_work() {
    let root = Root::with_catalog(CATALOG);
    let ask = |task: &str| request("again", task, &json!({"what": "a", "seconds": 20}));
    let mut child = root.command().spawn().unwrap();
    feed(&mut child, &ask("t1"));
    until("it has happened", || happened(&root).first().cloned());
    let mut command = root.command();
    command.args(["--timeout", "1"]);
    let second = run(command, ask("t2").to_string().as_bytes());
    assert_eq!(
        (second.exit, state(&second), fault(&second)),
        (3, "pending", "request_in_flight")
    );
    assert_eq!(second.at("/error/recoverable"), &json!(true));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_request_as_an_mcp_request_is_the_same_request() {
    let root = Root::with_catalog(CATALOG);
    let dispatched = root.run(&request("look", "t1", &json!({"what": "a"})));
    let asked = json!({"actionId": "look", "args": {"what": "a"}, "sessionId": "s", "context": {"page": 1}, "input_refs_resolved": store_1()});
    let asked = root.run(&asked);
    assert_eq!(state(&asked), "reused", "{}", asked.envelope);
    assert_eq!(
        asked.at("/output/content/oneact/request_hash"),
        dispatched.at("/output/content/oneact/request_hash")
    );
}

#[test]
fn a_default_that_is_given_and_one_that_is_left_out_are_the_same_request() {
    let root = Root::with_catalog(&CATALOG.replacen(
        "result = { kind = \"metadata\" }",
        "defaults = { what = \"a\" }\nresult = { kind = \"metadata\" }",
        1,
    ));
    let hash = |task: &str, parameters: &Value| {
        let answer = root.run(&request("look", task, parameters));
        answer.at("/output/content/oneact/request_hash").clone()
    };
    assert_eq!(hash("t1", &json!({})), hash("t2", &json!({"what": "a"})));
    assert_ne!(hash("t3", &json!({})), hash("t4", &json!({"what": "b"})));
    assert_eq!(happened(&root), ["a", "b"]);
}

const DEEP: &str = "
catalog = 1
[server.deep]
command = ['python3', 'servers/deep.py']
[capability.nest]
effects = { idempotent = false }
mcp = { server = 'deep', tool = 'nest' }
parameter_schema_for_action = { type = 'object' }
result = { kind = 'metadata' }
";

#[test]
fn however_deep_an_answer_is_nested_it_is_given_again() {
    let root = Root::with_catalog(DEEP);
    for (levels, text) in [
        (99, false),
        (100, false),
        (126, false),
        (99, true),
        (126, true),
    ] {
        let parameters = json!({"levels": levels, "text": text});
        let nest = request("nest", &format!("t{levels}{text}"), &parameters);
        let first = root.run(&nest);
        let what = format!("{levels} {text}: {}", first.envelope);
        assert_eq!((first.exit, state(&first)), (0, "done"), "{what}");
        let again = root.run(&nest);
        assert_eq!((again.exit, state(&again)), (0, "replayed"), "{what}");
        assert_eq!(first.result_data(), again.result_data(), "{what}");
        let is_file = first.result_data()["$blob"].is_object();
        assert_eq!(is_file, levels > 99, "{what}");
    }
    whole(&root);
}
