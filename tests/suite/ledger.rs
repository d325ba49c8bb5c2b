//! Once, and provably: many processes on one ledger, and processes that die at the wrong moment.

mod again;
mod alone;
mod died;
mod kinds;
mod plans;
mod rules;
mod secrets;
mod stale;

use std::{collections::BTreeMap, fs, thread};

use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{Answer, Root, feed, run, signal_child, until};
use crate::tracer::{
    Act, is_refused,
    moments::{self, Moment},
    traced,
};

const CATALOG: &str = r#"
catalog = 1
[server.counter]
command = ["python3", "servers/counter.py", "counted"]
[capability.look]
effects = { read_only = true, open_world = false }
mcp = { server = "counter", tool = "happen" }
bind = { of = "input.path" }
parameter_schema_for_action = { type = "object" }
result = { kind = "metadata" }
[capability.again]
effects = { idempotent = true, open_world = false }
mcp = { server = "counter", tool = "happen" }
result = { kind = "metadata" }
[capability.once]
is_action = true
effects = { idempotent = false, destructive = false }
mcp = { server = "counter", tool = "happen" }
result = { kind = "metadata" }
"#;

fn request(capability: &str, task: &str, parameters: &Value) -> Value {
    json!({
        "metadata": {"session_id": "s", "request_id": task},
        "dispatch": {
            "task_id": task, "attempt": 1, "capability_ids": [capability], "parameters": parameters,
            "input_refs_resolved": store_1(),
        },
    })
}

/// What `look` looks at: its answer is known by that.
fn store_1() -> Value {
    json!([{"ref_id": "store_1", "storage_uri": "servers/counter.py", "status": "stored"}])
}

fn happened(root: &Root) -> Vec<String> {
    let text = fs::read_to_string(root.path.join("counted")).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

fn state(answer: &Answer) -> &str {
    answer.state().as_str().unwrap()
}

fn why(answer: &Answer) -> &str {
    let why = answer.at("/output/content/oneact/reuse/why");
    why.as_str().unwrap()
}

fn fault(answer: &Answer) -> &str {
    answer.fault().as_str().unwrap()
}

/// Every link, by its own hash and the one before in its session, or a newer knot; what is recorded, by `oneact verify`; and the steps of
/// each session, which have no gaps.
fn whole(root: &Root) -> BTreeMap<String, i64> {
    let verified = root.look(&["verify"]);
    assert_eq!(verified.exit, 0, "{}{}", verified.out, verified.err);
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let mut ends = BTreeMap::<String, (i64, i64, String)>::new();
    let mut links = ledger
        .prepare(
            "SELECT seq, session_id, number, prev_hash, entry_hash FROM ledger_events ORDER BY seq",
        )
        .unwrap();
    let links = links.query_map([], |row| {
        let (seq, number): (i64, i64) = (row.get(0)?, row.get(2)?);
        let [session, prev, hash]: [String; 3] = [row.get(1)?, row.get(3)?, row.get(4)?];
        Ok((seq, session, number, prev, hash))
    });
    for (at, link) in (1..).zip(links.unwrap()) {
        let (seq, session, number, prev, hash) = link.unwrap();
        let (own, knot) = (ends.get(&session), ends.get(""));
        let before = own.into_iter().chain(knot).max();
        let before = before.map_or("0".repeat(64), |(_, _, hash)| hash.clone());
        let next = own.map_or(0, |(_, number, _)| number + 1);
        assert_eq!((seq, number, prev), (at, next, before));
        ends.insert(session, (seq, number, hash));
    }
    let mut steps = BTreeMap::<String, i64>::new();
    let mut rows = ledger
        .prepare("SELECT session_id, step_index FROM agent_actions ORDER BY session_id, step_index")
        .unwrap();
    let rows = rows.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
    });
    for row in rows.unwrap() {
        let (session, step) = row.unwrap();
        let next = steps.entry(session).or_default();
        assert_eq!(step, *next);
        *next += 1;
    }
    steps
}

#[test]
fn sixteen_processes_that_ask_for_the_same_forty_requests_do_forty_things() {
    let root = Root::with_catalog(CATALOG);
    thread::scope(|scope| {
        for process in 0..16 {
            let root = &root;
            scope.spawn(move || {
                for turn in 0..40 {
                    // Each asks in another order, and calls its tasks by other names.
                    let number = (turn * 7 + process) % 40;
                    let capability = ["look", "again", "once"][number % 3];
                    let parameters = json!({"what": number.to_string()});
                    let task = format!("t-{process}-{number}");
                    let answer = root.run(&request(capability, &task, &parameters));
                    assert_eq!(answer.exit, 0, "{}", answer.envelope);
                }
            });
        }
    });
    let mut done = happened(&root);
    done.sort_by_key(|number| number.parse::<u32>().unwrap());
    let wanted: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    assert_eq!(done, wanted);
    assert_eq!(whole(&root), BTreeMap::from([("s".to_owned(), 640)]));
}

/// When they are killed; some come through.
const MOMENTS: [Option<Moment>; 5] = [
    Some(Moment::Reserved),
    Some(Moment::Dispatched),
    Some(Moment::Done),
    Some(Moment::Recorded),
    None,
];

/// Sixteen processes ask for the same things, and many of them are killed.
#[test]
fn no_once_only_call_happens_twice_while_owners_are_killed() {
    if is_refused() {
        return;
    }
    let root = Root::with_catalog(CATALOG);
    thread::scope(|scope| {
        for process in 0..16 {
            let root = &root;
            scope.spawn(move || {
                for turn in 0..12 {
                    let number = (turn * 5 + process) % 12;
                    let capability = ["look", "again", "once"][number % 3];
                    let task = format!("t-{process}-{number}");
                    let ask = request(capability, &task, &json!({"what": number.to_string()}));
                    match MOMENTS[(process + turn) % MOMENTS.len()] {
                        None => drop(root.run(&ask)),
                        // It may wait for another run of the same request, and never get there.
                        Some(moment) => {
                            let point = moment.of_the_task();
                            let kill = moments::at(root, point, Some(&task), Act::Kill);
                            traced(&root.command(), &root.path, &ask, kill);
                        }
                    }
                }
            });
        }
    });
    let done = happened(&root);
    for number in 0..12 {
        let what = number.to_string();
        let times = done.iter().filter(|done| **done == what).count();
        if number % 3 == 2 {
            assert!(times <= 1, "{number} happened {times} times");
        }
        // Whoever asks now gets an answer: the old one, or that only a person can say.
        let capability = ["look", "again", "once"][number % 3];
        let answer = root.run(&request(
            capability,
            &format!("last-{number}"),
            &json!({"what": what}),
        ));
        let open = capability == "once" && answer.fault() == "outcome_unknown";
        assert!(answer.exit == 0 || open, "{}", answer.envelope);
    }
    whole(&root);
}

#[test]
fn sixteen_processes_that_begin_a_ledger_at_once_begin_one() {
    for _ in 0..8 {
        let root = Root::with_catalog(CATALOG);
        thread::scope(|scope| {
            for process in 0..16 {
                let root = &root;
                scope.spawn(move || {
                    let answer = root.run(&request(
                        "look",
                        &format!("t{process}"),
                        &json!({"what": "a"}),
                    ));
                    assert_eq!(answer.exit, 0, "{}", answer.envelope);
                });
            }
        });
        assert_eq!(happened(&root), ["a"]);
        whole(&root);
    }
}
