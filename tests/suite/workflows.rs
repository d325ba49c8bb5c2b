//! Workflows and tasks of several capabilities: what happens to their steps, run after run.

use std::fs;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::tracer::{
    is_refused,
    moments::{self, Moment, Point},
};
use crate::{
    approvals::{approve, asks},
    program::{Answer, Root},
    serving_client::Client,
};

const CATALOG: &str = r#"
catalog = 1
[server.counter]
command = ["python3", "servers/counter.py", "counted"]
[capability.look]
effects = { read_only = true }
on_duplicate = { mode = "repeat" }
mcp = { server = "counter", tool = "happen" }
[capability.send]
effects = { idempotent = false, destructive = false }
mcp = { server = "counter", tool = "happen" }
[capability.put]
effects = { idempotent = true, destructive = false, open_world = false }
mcp = { server = "counter", tool = "happen" }
[capability.made]
effects = { idempotent = true, destructive = false, open_world = false }
on_duplicate = { mode = "reuse" }
mcp = { server = "counter", tool = "happen" }
result = { kind = "analysis", asset_type = "note" }
[capability.asked]
effects = { idempotent = false, destructive = false, open_world = false }
approval = { when = "always" }
mcp = { server = "counter", tool = "happen" }
[workflow.mail]
description = "Look, send what was seen, and put it away."
is_action = true
parameter_schema_for_action = { type = "object", required = ["what"], properties = { what = { type = "string" }, last = { type = "string" } } }
step = [
    { id = "seen", run = "look", with = { what = "{what}" } },
    { id = "sent", run = "send", with = { what = "{seen.output.happened}" } },
    { id = "kept", run = "put", with = { what = "{last}" } },
]
[capability.secretive]
effects = { idempotent = true, destructive = false, open_world = false }
secret = ["/what"]
mcp = { server = "counter", tool = "happen" }
[workflow.counted]
step = [
    { id = "seen", run = "look", with = { what = "how often" } },
    { id = "sent", run = "send", with = { what = "{seen.output.happened}" } },
]
[workflow.grave]
intrinsic_amplifiers = { reversibility = "irreversible", regret_potential = "high" }
step = [{ id = "kept", run = "put", with = { what = "grave" } }]
[workflow.private]
parameter_schema_for_action = { type = "object", properties = { code = { type = "string", maxLength = 3 } } }
step = [
    { id = "seen", run = "look", with = { what = "how often" } },
    { id = "used", run = "secretive", with = { what = "{seen.output.happened}" } },
    { id = "kept", run = "put", with = { what = "{seen.output.happened}" } },
    { id = "said", run = "secretive", with = { what = "{code}" } },
]
[workflow.copied]
parameter_schema_for_action = { type = "object", required = ["what"], properties = { what = { type = "string" } } }
step = [
    { id = "seen", run = "look", with = { what = "{what}" } },
    { id = "kept", run = "put", with = { what = "kept", of = [
        "{seen.output.happened}", "{seen.output.happened}", "{seen.output.happened}", "{seen.output.happened}",
        "{seen.output.happened}",
    ] } },
]
[workflow.watched]
step = [{ id = "first", run = "look", with = { what = "a" } }]
[workflow.careful]
parameter_schema_for_action = { type = "object", required = ["what"], properties = { what = { type = "string" } } }
step = [
    { id = "seen", run = "look", with = { what = "{what}" } },
    { id = "sent", run = "asked", with = { what = "{seen.output.happened}" } },
]
"#;

fn task(id: &str, attempt: u32, parameters: &Value) -> Value {
    of("mail", id, attempt, parameters)
}

fn of(capability: &str, id: &str, attempt: u32, parameters: &Value) -> Value {
    json!({
        "metadata": {"session_id": "s", "request_id": "r"},
        "dispatch": {"task_id": id, "attempt": attempt, "capability_ids": [capability], "parameters": parameters},
    })
}

fn happened(root: &Root) -> Vec<String> {
    let text = fs::read_to_string(root.path.join("counted")).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

/// The states of the steps.
fn states(answer: &Answer) -> Vec<&str> {
    let steps = answer
        .at("/output/content/oneact/steps")
        .as_array()
        .unwrap();
    steps
        .iter()
        .map(|step| step["state"].as_str().unwrap())
        .collect()
}

fn oneact(root: &Root, arguments: &[&str]) -> String {
    let done = root.command().args(arguments).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// Runs a task and kills it there.
fn killed(root: &Root, point: Point, task: &Value) {
    moments::killed(root, task, point);
}

/// The position and the parent of each row, in the order of the steps of the session.
fn rows(root: &Root) -> Vec<(Option<i64>, Option<String>, String)> {
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let mut rows = ledger
        .prepare("SELECT position, parent, action_type FROM agent_actions ORDER BY step_index")
        .unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn each_step_has_a_row_and_the_task_has_its_own() {
    let root = Root::with_catalog(CATALOG);
    let answer = root.run(&task("t", 1, &json!({"what": "a", "last": "b"})));
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    assert_eq!(states(&answer), ["done", "done", "done"]);
    assert_eq!(happened(&root), ["a", "a", "b"]);
    let operation = answer
        .at("/output/content/oneact/operation_id")
        .as_str()
        .unwrap();
    let of = |position, action: &str| {
        (
            Some(position),
            Some(operation.to_owned()),
            action.to_owned(),
        )
    };
    let whole = (None, None, "mail".to_owned());
    assert_eq!(
        rows(&root),
        [of(1, "look"), of(2, "send"), of(3, "put"), whole]
    );
    oneact(&root, &["verify"]);
    let history = oneact(&root, &["history"]);
    assert!(history.contains("step 2 of"), "{history}");
    let shown = oneact(&root, &["show", operation]);
    assert!(shown.contains("2 #1  send  done"), "{shown}");
    let shown = oneact(&root, &["show", &format!("{operation}.2"), "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["step"]["parent"], operation);
    let replayed = root
        .command()
        .args(["replay", "--execute", &format!("{operation}.1")])
        .output()
        .unwrap();
    let said = String::from_utf8(replayed.stdout).unwrap();
    assert!(
        replayed.status.code() == Some(2) && said.contains("step 1 of"),
        "{said}"
    );
    // The whole task is answered first.
    let again = root.run(&task("t2", 1, &json!({"what": "a", "last": "b"})));
    assert_eq!(
        (again.exit, again.state()),
        (0, &json!("suppressed")),
        "{}",
        again.envelope
    );
    assert_eq!(happened(&root).len(), 3);
}

/// A step that reads finds something else each time. The once-only step after it is the same call of the same task.
#[test]
fn a_once_only_step_is_not_sent_again_with_what_an_earlier_step_finds_now() {
    if is_refused() {
        return;
    }
    let root = Root::with_catalog(CATALOG);
    killed(
        &root,
        Moment::Done.of_step(2),
        &of("counted", "t", 1, &json!({})),
    );
    assert_eq!(happened(&root), ["how often", "1 times"]);
    for (id, attempt) in [("t", 1), ("t", 2), ("t2", 1)] {
        let next = root.run(&of("counted", id, attempt, &json!({})));
        assert_eq!(
            (next.exit, next.fault()),
            (1, &json!("outcome_unknown")),
            "{}",
            next.envelope
        );
    }
    assert!(!happened(&root).iter().any(|what| what == "3 times"));
}

#[test]
fn what_a_step_gets_from_earlier_steps_is_bounded() {
    let root = Root::with_catalog(CATALOG);
    let copied = |length: usize, id: &str| {
        root.run(&of("copied", id, 1, &json!({"what": "x".repeat(length)})))
    };
    // A longer result is a file, and no value for a later step.
    let refused = copied(600_000, "t1");
    assert_eq!(
        (refused.exit, refused.fault()),
        (1, &json!("result_incomplete"))
    );
    assert_eq!(happened(&root).len(), 1);
    assert_eq!(copied(500_000, "t2").exit, 0);
}

#[test]
fn a_workflow_that_declares_a_critical_risk_waits_for_an_approval_of_its_steps() {
    let root = Root::with_catalog(CATALOG);
    let grave = of("grave", "t", 1, &json!({}));
    let id = asks(&root.run(&grave));
    assert!(happened(&root).is_empty());
    approve(&root, &id);
    assert_eq!(root.run(&grave).exit, 0);
    assert_eq!(happened(&root), ["grave"]);
}

/// Invariant 6, also if the secret comes from the result of an earlier step.
#[test]
fn a_secret_of_one_step_is_hidden_in_all_steps_after_it() {
    let root = Root::with_catalog(CATALOG);
    let answer = root.run(&of("private", "t", 1, &json!({"code": "k4x"})));
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    assert_eq!(happened(&root), ["how often", "1 times", "1 times", "k4x"]);
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let mut rows = ledger
        .prepare(
            "SELECT request, response FROM agent_actions WHERE position > 1 OR position IS NULL",
        )
        .unwrap();
    let rows = rows.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    });
    for (request, response) in rows.unwrap().map(Result::unwrap) {
        for secret in ["1 times", "k4x"] {
            assert!(!request.contains(secret), "{request}");
        }
        assert!(!response.contains("1 times"), "{response}");
    }
    let long = root.run(&of("private", "t2", 1, &json!({"code": "hunter2"})));
    assert_eq!(long.fault(), &json!("params_invalid"));
    let message = long.at("/error/error_message").as_str().unwrap();
    assert!(!message.contains("hunter2"), "{message}");
}

/// Killed before its call, a step is performed; killed after its record, it is not; killed between, a person decides.
#[test]
fn a_killed_workflow_goes_on_where_it_was() {
    if is_refused() {
        return;
    }
    let parameters = json!({"what": "a", "last": "b"});
    for (point, attempt) in [
        (Moment::Reserved.of_step(2), 1),
        (Moment::Recorded.of_step(1), 1),
        (Moment::Recorded.of_step(2), 1),
        (Moment::Recorded.of_step(2), 2),
        (Moment::Dispatched.of_step(3), 2),
        (Moment::Done.of_step(3), 1),
    ] {
        let root = Root::with_catalog(CATALOG);
        killed(&root, point, &task("t", 1, &parameters));
        let before = happened(&root);
        let next = root.run(&task("t", attempt, &parameters));
        assert_eq!(next.exit, 0, "{point:?}: {}", next.envelope);
        let after = happened(&root);
        let calls = |what: &str| after.iter().filter(|each| *each == what).count();
        // `put` may be called twice.
        let twice = usize::from(point == Moment::Done.of_step(3));
        assert_eq!(
            (calls("a"), calls("b")),
            (2, 1 + twice),
            "{point:?}: {before:?}"
        );
        oneact(&root, &["verify"]);
    }
    for (point, count) in [
        (Moment::Dispatched.of_step(2), 1),
        (Moment::Done.of_step(2), 2),
    ] {
        let root = Root::with_catalog(CATALOG);
        killed(&root, point, &task("t", 1, &parameters));
        for (id, attempt) in [("t", 1), ("t", 2), ("t2", 1)] {
            let next = root.run(&task(id, attempt, &parameters));
            assert_eq!(
                (next.exit, next.fault()),
                (1, &json!("outcome_unknown")),
                "{point:?}"
            );
            assert_eq!(states(&next)[1], "failed");
        }
        let sent = happened(&root).len();
        assert!(sent >= count);
        let history: Value = serde_json::from_str(&oneact(&root, &["history", "--json"])).unwrap();
        let open = history["open"].as_array().unwrap();
        let open: Vec<_> = open
            .iter()
            .filter(|open| open["state"] == "unknown")
            .collect();
        let operation = open[0]["operation_id"].as_str().unwrap();
        assert!(open.len() == 1 && operation.ends_with(".2"), "{history}");
        oneact(&root, &["resolve", operation, "--did-not"]);
        let next = root.run(&task("t", 3, &parameters));
        assert_eq!(
            (next.exit, states(&next)),
            (0, vec!["replayed", "done", "done"]),
            "{point:?}"
        );
        assert_eq!(happened(&root).len(), sent + 2);
        oneact(&root, &["verify"]);
    }
}

/// A person says that the step happened. The same task goes on with the next one.
#[test]
fn a_settled_step_is_answered_and_the_same_task_goes_on() {
    if is_refused() {
        return;
    }
    let root = Root::with_catalog(CATALOG);
    // Without an attempt, the task counts by itself.
    let mut mail = task("t", 1, &json!({"what": "a", "last": "b"}));
    mail["dispatch"].as_object_mut().unwrap().remove("attempt");
    killed(&root, Moment::Done.of_step(2), &mail);
    let unknown = root.run(&mail);
    assert_eq!(unknown.fault(), &json!("outcome_unknown"));
    let message = unknown.at("/error/error_message").as_str().unwrap();
    let mut words = message.split_whitespace();
    let operation = words.find(|word| word.starts_with("op_")).unwrap();
    oneact(&root, &["resolve", operation, "--happened"]);
    let next = root.run(&mail);
    assert_eq!(
        (next.exit, states(&next)),
        (0, vec!["replayed", "suppressed", "done"]),
        "{}",
        next.envelope
    );
    assert_eq!(happened(&root), ["a", "a", "b"]);
    oneact(&root, &["verify"]);
}

#[test]
fn after_a_failure_the_next_attempt_repeats_no_finished_step() {
    let root = Root::with_catalog(CATALOG);
    let failing = json!({"what": "a", "last": "fails"});
    let first = root.run(&task("t", 1, &failing));
    assert_eq!((first.exit, first.fault()), (75, &json!("rate_limited")));
    assert_eq!(states(&first), ["done", "done", "failed"]);
    assert_eq!(
        first.at("/output/content/task_result/capability_ids_executed"),
        &json!(["look", "send", "put"])
    );
    let second = root.run(&task("t", 2, &failing));
    assert_eq!(states(&second), ["replayed", "replayed", "failed"]);
    assert_eq!(happened(&root), ["a", "a", "fails", "fails"]);
    // The steps answer a task of their own, too.
    let alone = root.run(&of("send", "t3", 1, &json!({"what": "a"})));
    assert_eq!(alone.state(), "suppressed", "{}", alone.envelope);
    // What only reads is read again for another task.
    let other = root.run(&task("t4", 1, &failing));
    assert_eq!(states(&other), ["done", "suppressed", "failed"]);
}

/// Until the task has succeeded, its attempts share the answers of its steps. Then each delivery repeats them.
#[test]
fn a_workflow_that_may_be_repeated_is_performed_once_per_delivery() {
    let root = Root::with_catalog(CATALOG);
    for attempt in [1, 1, 2, 3, 2] {
        let answer = root.run(&of("watched", "t", attempt, &json!({})));
        assert_eq!(answer.exit, 0, "{}", answer.envelope);
    }
    assert_eq!(happened(&root), ["a", "a", "a"]);
}

#[test]
fn equal_steps_of_a_task_are_performed_each() {
    let root = Root::with_catalog(CATALOG);
    let twice = |id: &str, attempt: u32, last: &str| {
        json!({
            "metadata": {"session_id": "s", "request_id": "r"},
            "dispatch": {
                "task_id": id, "attempt": attempt, "capability_ids": ["send", "send", "put"],
                "parameters": {"send": {"what": "a"}, "put": {"what": last}},
            },
        })
    };
    let first = root.run(&twice("t", 1, "fails"));
    assert_eq!(first.exit, 75, "{}", first.envelope);
    let second = root.run(&twice("t", 2, "fails"));
    assert_eq!(states(&second), ["replayed", "replayed", "failed"]);
    assert_eq!(happened(&root), ["a", "a", "fails", "fails"]);
}

#[test]
fn an_asset_of_a_step_is_reused_also_by_a_task_of_that_capability_alone() {
    let root = Root::with_catalog(CATALOG);
    let both = json!({
        "metadata": {"session_id": "s", "request_id": "r"},
        "dispatch": {
            "task_id": "t", "attempt": 1, "capability_ids": ["made", "look"], "output_refs_expected": ["derived_1"],
            "parameters": {"made": {"what": "a"}, "look": {"what": "fails"}},
        },
    });
    let first = root.run(&both);
    assert_eq!(first.exit, 75, "{}", first.envelope);
    assert_eq!(
        first.at("/output/content/task_result/output_refs_produced"),
        &json!([])
    );
    let mut alone = of("made", "t2", 1, &json!({"what": "a"}));
    alone["dispatch"]["output_refs_expected"] = json!(["derived_1"]);
    let answer = root.run(&alone);
    assert_eq!(
        (answer.exit, answer.state()),
        (0, &json!("reused")),
        "{}",
        answer.envelope
    );
    // Its own row is revoked with the task.
    let operation = first
        .at("/output/content/oneact/operation_id")
        .as_str()
        .unwrap();
    let revoked = oneact(&root, &["revoke", operation]);
    assert!(revoked.contains("also revoked"), "{revoked}");
    alone["dispatch"]["task_id"] = json!("t3");
    assert_eq!(root.run(&alone).state(), "done");
    oneact(&root, &["verify"]);
}

#[test]
fn a_step_waits_for_the_approval_of_exactly_its_call() {
    let root = Root::with_catalog(CATALOG);
    let asked = |attempt| of("careful", "t", attempt, &json!({"what": "a"}));
    let first = root.run(&asked(1));
    assert_eq!(
        (first.exit, first.fault()),
        (3, &json!("approval_required")),
        "{}",
        first.envelope
    );
    assert_eq!(states(&first), ["done", "pending"]);
    let id = first
        .at("/output/content/oneact/waiting/approval_id")
        .as_str()
        .unwrap();
    let listed = oneact(&root, &["approvals", "--json"]);
    assert!(listed.contains(id) && listed.contains("asked"), "{listed}");
    assert_eq!(happened(&root), ["a"]);
    approve(&root, id);
    let second = root.run(&asked(1));
    assert_eq!(
        (second.exit, states(&second)),
        (0, vec!["replayed", "done"]),
        "{}",
        second.envelope
    );
    assert_eq!(happened(&root), ["a", "a"]);
    oneact(&root, &["verify"]);
}

/// Without a ledger nobody can approve or review, so no step is performed.
#[test]
fn steps_that_wait_for_a_person_are_refused_without_a_ledger() {
    let reviewed = CATALOG.replace(
        "approval = { when = \"always\" }",
        "requires_post_review = true",
    );
    for catalog in [CATALOG, &reviewed] {
        let root = Root::with_catalog(&format!("{catalog}[ledger]\nuri = \"none\"\n"));
        let refused = root.run(&of("careful", "t", 1, &json!({"what": "a"})));
        assert_eq!(
            refused.fault(),
            "ledger_unavailable",
            "{}",
            refused.envelope
        );
        assert!(happened(&root).is_empty());
        // Steps that wait for nobody are performed, without records.
        let done = root.run(&of("mail", "t", 1, &json!({"what": "a", "last": "b"})));
        assert_eq!(done.exit, 0, "{}", done.envelope);
        let last = root.run(&of("mail", "t", 2, &json!({"what": "a", "last": "fails"})));
        assert_eq!(
            last.exit, 1,
            "a finished step would be repeated: {}",
            last.envelope
        );
    }
}

#[test]
fn the_progress_of_a_task_is_that_of_its_steps() {
    let teller = format!(
        "{CATALOG}[server.teller]\ncommand = [\"python3\", \"-SB\", \"servers/teller.py\"]\n[capability.say]\n\
         mcp = {{ server = \"teller\", tool = \"say\" }}\neffects = {{ read_only = true }}\n\
         [workflow.twice]\ndescription = \"Say it twice.\"\nis_action = true\n\
         parameter_schema_for_action = {{ type = \"object\" }}\n\
         step = [{{ id = \"one\", run = \"say\" }}, {{ id = \"two\", run = \"say\" }}]\n"
    );
    let root = Root::with_catalog(&teller);
    let mut client = Client::legacy(&root, &[]);
    let list = client.ask("tools/list", &json!({}));
    let names: Vec<&str> = list["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "mail",
            "twice",
            "apply_file_plan",
            "improvise",
            "run_approved"
        ]
    );
    client.call("twice", &json!({}), &json!({"progressToken": "p1"}));
    let mut seen = Vec::new();
    while seen.last().is_none_or(|done| *done < 1.5) {
        let told = client.wait(|message| message["method"] == "notifications/progress");
        assert_eq!(told["params"]["total"].as_f64(), Some(2.0));
        seen.push(told["params"]["progress"].as_f64().unwrap());
    }
    assert!(seen.is_sorted() && seen.len() > 3, "{seen:?}");
    client.leave();
}
