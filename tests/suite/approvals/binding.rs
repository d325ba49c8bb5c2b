//! What an approval is for: one call, with its inputs, its entry and its root.

use rusqlite::Connection;

use super::*;
use crate::tracer::{
    is_refused,
    moments::{self, Moment},
};

/// An approval is for one call: other parameters, another task and another session each ask again.
#[test]
fn an_approval_is_for_exactly_one_call() {
    let root = waiting_root();
    let id = asks(&root.run(&task("mail")));
    approve(&root, &id);
    let mut other_session = task("mail");
    other_session["metadata"]["session_id"] = json!("s2");
    for other in [task("other mail"), other_task("mail"), other_session] {
        assert_ne!(asks(&root.run(&other)), id);
    }
    assert_eq!(happened(&root), 0);
    assert_eq!(root.run(&task("mail")).exit, 0);
    // `salt` makes it another request, for which the used approval is not valid.
    let mut again = task("mail");
    again["dispatch"]["salt"] = json!("again");
    again["dispatch"]["task_id"] = json!("task_11");
    asks(&root.run(&again));
    assert_eq!(happened(&root), 1);
}

/// A parameter that does not belong to the request, and the signature of a link, belong to the call all the same.
#[test]
fn an_approval_binds_what_no_request_hash_counts() {
    let link =
        |signature: &str| format!("https://b.s3.amazonaws.com/a?X-Amz-Signature={signature}");
    let call = |attempt: u64, note: &str, link: String| {
        let mut call = task("mail");
        call["dispatch"]["attempt"] = json!(attempt);
        call["dispatch"]["parameters"]["note"] = json!(note);
        call["dispatch"]["parameters"]["link"] = json!(link);
        call
    };
    let approved = call(1, "pay 1", link("aa"));
    for other in [
        call(1, "pay 1000", link("aa")),
        call(1, "pay 1", link("bb")),
        call(2, "pay 1", link("aa")),
    ] {
        let rules = "volatile = [\"note\"]\n[[capability.send.retry]]\nset = { note = \"pay 9\" }\n[capability.send.approval]";
        let catalog = catalog("", "").replace("[capability.send.approval]", rules);
        let root = Root::with_catalog(&catalog);
        let id = asks(&root.run(&approved));
        approve(&root, &id);
        let refused = root.run(&other);
        assert_eq!(
            refused.fault(),
            &json!("approval_mismatch"),
            "{}",
            refused.envelope
        );
        assert_ne!(asks(&root.run(&approved)), id);
        assert_eq!(happened(&root), 0);
    }
}

/// Two roots can share a ledger, and can have the same catalog and the same tasks.
#[test]
fn an_approval_holds_only_in_the_root_that_asked() {
    for (catalog, call) in [
        (catalog("", ""), task("mail")),
        ("catalog = 1\n".to_owned(), plan("pyproject.toml")),
    ] {
        let roots = [Root::new(), Root::new()];
        for root in &roots {
            let shared = format!("[ledger]\nuri = \"{}/shared.db\"\n", roots[0].path);
            fs::write(root.path.join("catalog.toml"), format!("{catalog}{shared}")).unwrap();
            fs::write(root.path.join("pyproject.toml"), "version = \"1.0\"\n").unwrap();
        }
        let id = asks(&roots[0].run(&call));
        let (_, shown, _) = oneact(&roots[0], &["approvals", &id, "--json"]);
        assert!(
            shown.contains(&format!("\"root\":\"{}\"", roots[0].path)),
            "{shown}"
        );
        approve(&roots[0], &id);
        // The other root has a request of its own, and leaves this one as it is.
        let other = asks(&roots[1].run(&call));
        assert_ne!(other, id);
        assert_eq!(happened(&roots[1]), 0);
        let (_, list, _) = oneact(&roots[0], &["approvals"]);
        assert!(list.contains(&id) && list.contains(&other), "{list}");
        assert_eq!(roots[0].run(&call).state(), "done");
    }
}

/// The content of a file of more than 64 GiB is not read: its size and its times stand for it.
#[test]
fn an_approval_binds_the_contents_of_the_inputs() {
    for length in [1_u64 << 10, 2 << 40] {
        let catalog = catalog("", "").replace(
            "[capability.send]",
            "[capability.send]\nbind = { what = \"input.uri\" }",
        );
        let root = Root::with_catalog(&catalog);
        let file = fs::File::create(root.path.join("a.bin")).unwrap();
        file.set_len(length).unwrap();
        let mut call = task("mail");
        call["dispatch"]["parameters"] = json!({});
        call["dispatch"]["input_refs_resolved"] =
            json!([{"ref_id": "store_1", "storage_uri": "a.bin", "status": "stored"}]);
        let id = asks(&root.run(&call));
        approve(&root, &id);
        file.set_len(length + 1).unwrap();
        let refused = root.run(&call);
        assert_eq!(
            refused.fault(),
            &json!("approval_mismatch"),
            "{}",
            refused.envelope
        );
        approve(&root, &asks(&root.run(&call)));
        let done = root.run(&call);
        assert_eq!(done.state(), "done", "{}", done.envelope);
    }
}

/// The tool's own state belongs to the answers that it got: with another state, they are answers to another question.
#[test]
fn an_approval_of_answers_shows_them_and_binds_the_state_of_the_tool() {
    let critical = "effects = { destructive = false, open_world = false }\n\
                    intrinsic_amplifiers = { reversibility = \"irreversible\", regret_potential = \"high\" }\n";
    let asker = "catalog = 1\n[server.asker]\ncommand = [\"python3\", \"-SB\", \"servers/asker.py\"]\n\
                 protocol = \"modern\"\n[capability.send]\ndescription = \"Send.\"\n\
                 mcp = { server = \"asker\", tool = \"greeter\" }\n";
    let root = Root::with_catalog(&format!("{asker}{critical}"));
    let mut call = task("mail");
    call["dispatch"]["input_responses"] =
        json!({"who": {"action": "accept", "content": {"name": "Ada"}}});
    call["dispatch"]["request_state"] = json!("one");
    let id = asks(&root.run(&call));
    let (_, shown, _) = oneact(&root, &["approvals"]);
    assert!(
        shown.contains("input_responses") && shown.contains("Ada"),
        "{shown}"
    );
    approve(&root, &id);
    call["dispatch"]["request_state"] = json!("other");
    let other = root.run(&call);
    assert_eq!(
        other.fault(),
        &json!("approval_mismatch"),
        "{}",
        other.envelope
    );
}

#[test]
fn an_approval_that_is_not_used_in_time_is_not_used() {
    let root = Root::with_catalog(&catalog("expires = \"2s\"", ""));
    let id = asks(&root.run(&task("mail")));
    approve(&root, &id);
    thread::sleep(Duration::from_millis(2100));
    let late = root.run(&task("mail"));
    assert_eq!(
        (late.exit, late.fault()),
        (2, &json!("approval_expired")),
        "{}",
        late.envelope
    );
    assert_ne!(asks(&root.run(&task("mail"))), id);
    assert_eq!(happened(&root), 0);
}

/// What is performed by the catalog now is not what was approved.
#[test]
fn a_catalog_that_changed_after_the_approval_needs_a_new_one() {
    for (from, to) in [
        (
            "servers/counter.py\", \"counted\"",
            "servers/counter.py\", \"elsewhere\"",
        ),
        (
            "regret_potential = \"high\" }",
            "regret_potential = \"high\" }\ntimeout_max = \"90s\"\nvolatile = [\"x\"]",
        ),
        (
            "expires = \"10m\"",
            "expires = \"10m\"\napprovers = [\"uid:4000000\"]",
        ),
    ] {
        let root = waiting_root();
        let id = asks(&root.run(&task("mail")));
        approve(&root, &id);
        let catalog = fs::read_to_string(root.path.join("catalog.toml")).unwrap();
        assert!(catalog.contains(from), "{from}");
        fs::write(root.path.join("catalog.toml"), catalog.replace(from, to)).unwrap();
        let changed = root.run(&task("mail"));
        assert_eq!(
            (changed.exit, changed.fault()),
            (2, &json!("approval_mismatch")),
            "{to}: {}",
            changed.envelope
        );
        assert_ne!(asks(&root.run(&task("mail"))), id);
        assert!(!root.path.join("elsewhere").exists() && happened(&root) == 0);
    }
}

/// Rows are copies: a row that was changed approves nothing, and shows nothing that a person could believe.
#[test]
fn a_forged_row_approves_nothing() {
    let root = waiting_root();
    let id = asks(&root.run(&task("mail")));
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let changed = ledger
        .execute(
            "UPDATE agent_actions SET request = replace(request, 'mail', 'fine')",
            [],
        )
        .unwrap();
    assert_eq!(changed, 1);
    drop(ledger);
    let (exit, shown) = at_a_terminal(&root, "y\n", &["approve", &id]);
    assert!(exit == 2 && shown.contains("was changed"), "{shown}");
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    ledger
        .execute(
            "UPDATE agent_actions SET state = 'done', outcome = 'success'",
            [],
        )
        .unwrap();
    drop(ledger);
    let answer = root.run(&task("mail"));
    assert_eq!(
        answer.fault(),
        &json!("outcome_unknown"),
        "{}",
        answer.envelope
    );
    assert_eq!(happened(&root), 0);
}

#[test]
fn a_run_that_is_killed_before_the_dispatch_leaves_the_approval_for_the_next() {
    if is_refused() {
        return;
    }
    let root = waiting_root();
    let id = asks(&root.run(&task("mail")));
    approve(&root, &id);
    for moment in [Moment::Reserved, Moment::Dispatched] {
        moments::killed(&root, &task("mail"), moment.of_the_task());
        assert_eq!(happened(&root), 0);
    }
    // After the dispatch, a person has to settle it; then the approval is used up.
    let unknown = root.run(&task("mail"));
    assert_eq!(
        unknown.fault(),
        &json!("outcome_unknown"),
        "{}",
        unknown.envelope
    );
    let message = unknown.at("/error/error_message").as_str().unwrap();
    let operation = message
        .split_whitespace()
        .find(|word| word.starts_with("op_"))
        .unwrap();
    assert_eq!(oneact(&root, &["resolve", operation, "--did-not"]).0, 0);
    assert_ne!(asks(&root.run(&task("mail"))), id);
    assert_eq!(happened(&root), 0);
}

#[test]
fn of_two_runs_that_race_for_one_approval_one_performs_the_call() {
    let root = waiting_root();
    let id = asks(&root.run(&task("mail")));
    approve(&root, &id);
    thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| root.run(&task("mail")).exit))
            .collect();
        for run in runs {
            assert_eq!(run.join().unwrap(), 0);
        }
    });
    assert_eq!(happened(&root), 1);
}

/// Nobody could use the approval of a session that only compares results.
#[test]
fn a_step_that_waits_for_an_approval_is_not_repeated_for_a_comparison() {
    let root = waiting_root();
    let repeatable = catalog("when = \"always\"", "").replace(
        "effects = { destructive = false,",
        "effects = { idempotent = true, destructive = false,",
    );
    fs::write(root.path.join("catalog.toml"), repeatable).unwrap();
    approve(&root, &asks(&root.run(&task("mail"))));
    assert_eq!(root.run(&task("mail")).exit, 0);
    let (exit, said, _) = oneact(&root, &["replay", "1", "--execute"]);
    assert_eq!((exit, happened(&root)), (2, 1), "{said}");
    assert!(said.contains("waits for an approval"), "{said}");
    let (_, list, _) = oneact(&root, &["approvals"]);
    assert_eq!(list, "Nothing waits for an approval.\n");
}
