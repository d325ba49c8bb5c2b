//! One ledger in PostgreSQL, and several machines at work on it.

use std::{
    collections::HashMap,
    fs,
    io::{Read, Write, copy},
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::net::{UnixListener, UnixStream},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use camino::Utf8Path;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{ONEACT, Root, feed, run, signal_child};

#[path = "../../src/ledger/store/postgres/tests/cluster.rs"]
#[expect(
    dead_code,
    reason = "shared with the tests of the store, which need more of it"
)]
pub(crate) mod cluster;

use crate::tracer::{
    Act, Call, first, is_refused,
    moments::{self, Moment, Point, Seen},
    traced,
};
use cluster::Cluster;

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
[capability.once]
effects = { idempotent = false, destructive = false }
mcp = { server = "counter", tool = "happen" }
result = { kind = "metadata" }
"#;

/// A machine of its own: a network namespace that reaches this one by a cable, and a root.
struct Machine {
    name: String,
    address: String,
    /// This machine's end of the cable.
    cable: String,
    root: Root,
}

impl Machine {
    fn new(number: u32) -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let place = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("oneact{}-{place}", std::process::id());
        let (ours, theirs) = (format!("oa{place}{number}"), format!("ob{place}{number}"));
        let (address, other) = (format!("10.77.{place}.1"), format!("10.77.{place}.2/24"));
        let ip = |words: &str| {
            let told = Command::new("ip").args(words.split(' ')).output();
            let told = told.expect("`ip` is missing; run scripts/setup-tests");
            let said = String::from_utf8_lossy(&told.stderr).into_owned();
            assert!(told.status.success(), "ip {words}: {said}");
        };
        ip(&format!("netns add {name}"));
        ip(&format!(
            "link add {ours} type veth peer name {theirs} netns {name}"
        ));
        ip(&format!("addr add {address}/24 dev {ours}"));
        ip(&format!("link set {ours} up"));
        ip(&format!("-n {name} addr add {other} dev {theirs}"));
        ip(&format!("-n {name} link set {theirs} up"));
        Self {
            name,
            address,
            cable: ours,
            root: Root::with_catalog(CATALOG),
        }
    }

    /// The binary, on that machine.
    fn command(&self, ledger: &str) -> Command {
        let mut command = self.root.within("ip");
        command
            .args(["netns", "exec", &self.name, ONEACT])
            .env("ONEACT_LEDGER", ledger);
        command
    }

    /// Plugs the cable in (`up`) or out (`down`).
    fn plug(&self, state: &str) {
        let mut ip = Command::new("ip");
        let done = ip.args(["link", "set", &self.cable, state]).status();
        assert!(done.unwrap().success());
    }

    fn happened(&self) -> Vec<String> {
        let text = fs::read_to_string(self.root.path.join("counted")).unwrap_or_default();
        text.lines().map(ToOwned::to_owned).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // The cable goes with the namespace.
        let _ = Command::new("ip")
            .args(["netns", "del", &self.name])
            .status();
    }
}

/// Lets a machine reach the server, which listens to nobody but this one.
fn bridge(address: &str, port: u16) {
    let listener = TcpListener::bind((address, port)).unwrap();
    thread::spawn(move || {
        for from in listener.incoming().flatten() {
            let Ok(to) = TcpStream::connect(("127.0.0.1", port)) else {
                continue;
            };
            let pairs = [
                (from.try_clone().unwrap(), to.try_clone().unwrap()),
                (to, from),
            ];
            for (mut from, mut to) in pairs {
                thread::spawn(move || {
                    let _ = copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                    let _ = from.shutdown(Shutdown::Both);
                });
            }
        }
    });
}

fn request(capability: &str, task: &str, what: &str) -> Value {
    json!({
        "metadata": {"session_id": "s", "request_id": task},
        "dispatch": {
            "task_id": task, "attempt": 1, "capability_ids": [capability], "parameters": {"what": what},
            "input_refs_resolved": [{"ref_id": "store_1", "storage_uri": "servers/counter.py", "status": "stored"}],
        },
    })
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn two_machines_that_ask_for_the_same_forty_requests_do_forty_things() {
    assert!(
        is_root(),
        "network namespaces need root: run this test as root"
    );
    let cluster = Cluster::shared();
    let database = cluster.database();
    let machines = [Machine::new(0), Machine::new(1)];
    for machine in &machines {
        bridge(&machine.address, cluster.port);
    }
    thread::scope(|scope| {
        for process in 0..16 {
            let (machine, database) = (&machines[process % 2], &database);
            scope.spawn(move || {
                let ledger = cluster.network_uri(&machine.address, database, "sslmode=require");
                for turn in 0..40 {
                    let number = (turn * 7 + process) % 40;
                    let capability = ["look", "once"][number % 2];
                    let task = request(
                        capability,
                        &format!("t-{process}-{number}"),
                        &number.to_string(),
                    );
                    let answer = run(machine.command(&ledger), task.to_string().as_bytes());
                    assert_eq!(answer.exit, 0, "{}\n{}", answer.envelope, answer.stderr);
                }
            });
        }
    });
    let mut times = HashMap::<String, usize>::new();
    for what in machines.iter().flat_map(Machine::happened) {
        *times.entry(what).or_default() += 1;
    }
    assert_eq!(times.len(), 40);
    assert!(times.values().all(|times| *times == 1), "{times:?}");
    assert!(
        machines
            .iter()
            .all(|machine| !machine.happened().is_empty())
    );
    let ask = |sql: &str| cluster.sql(&database, sql);
    assert_eq!(
        ask("SELECT count(*), max(step_index) + 1 FROM agent_actions"),
        "640|640"
    );
    assert_eq!(
        ask("SELECT count(*) FROM ledger_events b \
             LEFT JOIN ledger_events a ON a.session_id = b.session_id AND a.number = b.number - 1 \
             WHERE b.prev_hash <> COALESCE(a.entry_hash, repeat('0', 64)) \
             AND b.prev_hash NOT IN (SELECT entry_hash FROM ledger_events WHERE session_id = '')"),
        "0"
    );
    assert_eq!(
        ask(
            "SELECT sum(gaps) FROM (SELECT max(number) + 1 - count(*) AS gaps FROM ledger_events GROUP BY session_id) AS all_gaps"
        ),
        "0"
    );
}

/// A kill of the first run that reaches the point.
fn at(
    cluster: &'static Cluster,
    database: &str,
    point: Point,
) -> impl FnMut(&Call) -> Act + Send + 'static {
    let database = database.to_owned();
    // Before the first run, there are no tables.
    let newest = "SELECT coalesce(max(seq), 0) FROM ledger_events";
    let after = cluster.try_sql(&database, newest);
    let after = after.map_or(0, |after| after.parse().unwrap());
    let [claim, recorded] = moments::questions(point, after, None);
    let claim = claim.replace("claims", "oneact_claims");
    let look = move || {
        let ask = |question: &str| cluster.try_sql(&database, question).unwrap_or_default();
        let claim = ask(&claim);
        Seen {
            claim: (!claim.is_empty()).then_some(claim),
            is_recorded: !["", "0"].contains(&&*ask(&recorded)),
        }
    };
    first(moments::reached(point, look), Act::Kill)
}

#[test]
fn whoever_died_on_another_machine_is_known_to_be_dead() {
    if is_refused() {
        return;
    }
    let cluster = Cluster::shared();
    let database = cluster.database();
    let ledger = cluster.uri(&database);
    let roots = [Root::with_catalog(CATALOG), Root::with_catalog(CATALOG)];
    for (capability, moment, wanted) in [
        ("once", Moment::Reserved, None),
        ("once", Moment::Done, Some("outcome_unknown")),
        ("look", Moment::Done, None),
    ] {
        let point = format!("{moment:?}");
        let task = request(capability, &format!("{capability}-{point}"), &point);
        let mut command = roots[0].command();
        command.env("ONEACT_LEDGER", &ledger);
        let kill = at(cluster, &database, moment.of_the_task());
        let ended = traced(&command, &roots[0].path, &task, kill);
        assert!(ended.was_killed(), "{capability} {point}: {ended:?}");
        let mut command = roots[1].command();
        command.env("ONEACT_LEDGER", &ledger);
        let answer = run(command, task.to_string().as_bytes());
        assert_eq!(
            answer.fault().as_str(),
            wanted,
            "{capability} {point}: {}",
            answer.envelope
        );
    }
}

/// The rows and claims of steps are in PostgreSQL as in SQLite.
#[test]
fn a_task_of_steps_that_died_on_another_machine_goes_on_and_repeats_no_once_only_step() {
    if is_refused() {
        return;
    }
    let cluster = Cluster::shared();
    let database = cluster.database();
    let ledger = cluster.uri(&database);
    let root = Root::with_catalog(CATALOG);
    for (kill_at, wanted) in [
        (Moment::Recorded.of_step(1), None),
        (Moment::Reserved.of_step(2), None),
        (Moment::Done.of_step(2), Some("outcome_unknown")),
        (Moment::Recorded.of_step(2), None),
    ] {
        let point = &*format!("{kill_at:?}");
        let mut task = request("look", point, point);
        task["dispatch"]["capability_ids"] = json!(["look", "once"]);
        task["dispatch"]["parameters"] =
            json!({"look": {"what": format!("look {point}")}, "once": {"what": point}});
        let with_ledger = || {
            let mut command = root.command();
            command.env("ONEACT_LEDGER", &ledger);
            command
        };
        let kill = at(cluster, &database, kill_at);
        let ended = traced(&with_ledger(), &root.path, &task, kill);
        assert!(ended.was_killed(), "{point}: {ended:?}");
        let answer = run(with_ledger(), task.to_string().as_bytes());
        assert_eq!(
            answer.fault().as_str(),
            wanted,
            "{point}: {}",
            answer.envelope
        );
        let counted = fs::read_to_string(root.path.join("counted")).unwrap();
        assert_eq!(
            counted.lines().filter(|line| *line == point).count(),
            1,
            "{counted}"
        );
    }
    let of_steps =
        "SELECT count(*) FROM agent_actions WHERE parent IS NOT NULL AND position IN (1, 2)";
    assert_eq!(cluster.sql(&database, of_steps), "12");
    let mut command = root.command();
    command.env("ONEACT_LEDGER", &ledger).arg("verify");
    assert!(command.status().unwrap().success());
}

#[test]
fn a_server_that_is_gone_when_the_tool_has_answered_loses_nothing() {
    let mut cluster = Cluster::start(cluster::Signed::ByAuthority);
    let database = cluster.database();
    let ledger = cluster.uri(&database);
    let root = Root::with_catalog(CATALOG);
    let mut command = root.command();
    command.env("ONEACT_LEDGER", &ledger);
    let mut child = command.spawn().unwrap();
    let mut task = request("once", "t1", "a");
    task["dispatch"]["parameters"]["seconds"] = json!(3);
    feed(&mut child, &task);
    crate::program::until("it has happened", || {
        fs::read_to_string(root.path.join("counted")).ok()
    });
    cluster.stop();
    let answer = crate::program::Answer::of(child.wait_with_output().unwrap());
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    let notes = answer.at("/audit/compliance_notes").as_str().unwrap();
    assert!(notes.contains("The answer is in the outbox"), "{notes}");
    let outbox = Utf8Path::new(&root.path).join(".oneact/outbox");
    assert_eq!(outbox.read_dir_utf8().unwrap().count(), 1);
    // While there is no ledger, nothing else is done.
    let mut command = root.command();
    command.env("ONEACT_LEDGER", &ledger);
    let refused = run(command, request("once", "t2", "b").to_string().as_bytes());
    assert_eq!(
        (refused.exit, refused.fault()),
        (75, &json!("ledger_unavailable"))
    );
}

/// Nobody answers and nobody ends the connection, and the time of the run is over before the ledger counts as lost.
#[test]
fn a_server_that_is_silent_when_the_tool_has_answered_loses_nothing() {
    assert!(
        is_root(),
        "network namespaces need root: run this test as root"
    );
    let cluster = Cluster::shared();
    let machine = Machine::new(0);
    bridge(&machine.address, cluster.port);
    let ledger = cluster.network_uri(&machine.address, &cluster.database(), "sslmode=require");
    let mut task = request("once", "t1", "a");
    task["dispatch"]["parameters"]["seconds"] = json!(2);
    let mut command = machine.command(&ledger);
    let mut child = command.args(["--timeout", "6s"]).spawn().unwrap();
    feed(&mut child, &task);
    crate::program::until("it has happened", || {
        (!machine.happened().is_empty()).then_some(())
    });
    machine.plug("down");
    let answer = crate::program::Answer::of(child.wait_with_output().unwrap());
    assert_eq!(answer.exit, 1, "{}", answer.envelope);
    assert_eq!(answer.fault(), &json!("timeout"), "{}", answer.envelope);
    let message = answer.at("/error/error_message").as_str().unwrap();
    assert!(
        message.contains("its answer was being recorded"),
        "{message}"
    );
    machine.plug("up");
    let again = run(machine.command(&ledger), task.to_string().as_bytes());
    assert_eq!(
        (again.exit, again.state()),
        (0, &json!("replayed")),
        "{}",
        again.envelope
    );
    assert_eq!(machine.happened(), ["a"]);
}

#[test]
fn a_signal_ends_the_attempt_to_connect_to_a_server_that_says_nothing() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let ledger = format!("postgres://nobody@127.0.0.1:{port}/none?connect_timeout=600");
    let root = Root::with_catalog(CATALOG);
    let mut command = root.command();
    let mut child = command.env("ONEACT_LEDGER", ledger).spawn().unwrap();
    feed(&mut child, &request("once", "t1", "a"));
    let _line = silent.accept().unwrap();
    signal_child(&child, Signal::TERM);
    let answer = crate::program::Answer::of(child.wait_with_output().unwrap());
    assert_eq!(
        (answer.exit, answer.state()),
        (143, &json!("cancelled")),
        "{}",
        answer.envelope
    );
    assert!(!root.path.join("counted").exists());
}

/// Passes connections on to a server, and ends the connection of a COMMIT when the server begins to answer: the client does
/// not learn whether it was performed. Returns the number of COMMITs so far.
fn losing_answer(dir: &Utf8Path, cluster: &Cluster, number: usize) -> Arc<AtomicUsize> {
    let name = format!(".s.PGSQL.{}", cluster.port);
    let listener = UnixListener::bind(dir.join(&name)).unwrap();
    let server = cluster.dir.join(&name);
    let commits = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&commits);
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = UnixStream::connect(&server).unwrap();
            let is_cut = Arc::new(AtomicBool::new(false));
            let (cut, count) = (Arc::clone(&is_cut), Arc::clone(&count));
            let pair = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || {
                pass(pair.0, pair.1, |bytes| {
                    if bytes.windows(6).any(|word| word == b"COMMIT") {
                        let found = count.fetch_add(1, Ordering::SeqCst) + 1;
                        cut.store(found == number, Ordering::SeqCst);
                    }
                    true
                });
            });
            thread::spawn(move || pass(server, client, |_| !is_cut.load(Ordering::SeqCst)));
        }
    });
    commits
}

/// Passes bytes on as long as `goes_on` says so, and then ends both connections.
fn pass(mut from: UnixStream, mut to: UnixStream, goes_on: impl Fn(&[u8]) -> bool) {
    let mut bytes = [0; 8192];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        let bytes = &bytes[..length];
        if !goes_on(bytes) || to.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

#[test]
fn whichever_commit_is_not_confirmed_a_once_only_call_happens_once_and_needs_no_person() {
    let cluster = Cluster::shared();
    let database = cluster.database();
    let direct = cluster.uri(&database);
    let root = Root::with_catalog(CATALOG);
    let send = |ledger: &str, task: &Value| {
        let mut command = root.command();
        command.env("ONEACT_LEDGER", ledger);
        run(command, task.to_string().as_bytes())
    };
    // The database is migrated, and the session is open.
    send(&direct, &request("once", "first", "first"));
    for number in 1.. {
        let dir = root.path.join(format!("socket-{number}"));
        fs::create_dir(&dir).unwrap();
        let commits = losing_answer(&dir, cluster, number);
        let there = cluster.dir.to_str().unwrap().replace('/', "%2F");
        let ledger = direct.replace(&there, &dir.as_str().replace('/', "%2F"));
        let what = format!("call-{number}");
        let task = request("once", &what, &what);
        let happened = || {
            let counted = fs::read_to_string(root.path.join("counted")).unwrap();
            counted.lines().filter(|line| **line == what).count()
        };
        let one = send(&ledger, &task);
        let made = commits.load(Ordering::SeqCst);
        assert_eq!(one.exit == 0, happened() == 1, "{}", one.envelope);
        // Under the same name: the answer may wait in the outbox for a run that uses this ledger.
        let other = send(&ledger, &task);
        assert_eq!(
            other.exit, 0,
            "{number}: {}\n{}",
            other.envelope, one.stderr
        );
        assert_eq!(happened(), 1, "{number}");
        if made < number {
            assert!(number > 3, "{number} commits");
            break;
        }
    }
    let mut command = root.command();
    command.env("ONEACT_LEDGER", direct).arg("verify");
    assert!(command.status().unwrap().success());
}
