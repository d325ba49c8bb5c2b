//! Servers that are kept between runs (`keep_alive = "DURATION"`).

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    process::Child,
    thread,
    time::Duration,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{Answer, ONEACT, Root, feed, fresh, run, signal, signal_child, until};

/// A root with a server that is kept until the test ends.
struct Warm(Root);

impl Drop for Warm {
    fn drop(&mut self) {
        self.warm(&["stop"]);
    }
}

fn with(keys: &str) -> Warm {
    Warm(Root::with_catalog(&catalog(keys)))
}

fn catalog(keys: &str) -> String {
    format!(
        "catalog = 1\n[server.warmth]\ncommand = [\"python3\", \"-SB\", \"servers/warmth.py\"]\n{keys}\n\
         [capability.say]\neffects = {{ read_only = true }}\nmcp = {{ server = \"warmth\", tool = \"say\" }}\n\
         result = {{ kind = \"metadata\" }}\n\
         [capability.once]\neffects = {{ idempotent = false }}\nmcp = {{ server = \"warmth\", tool = \"say\" }}\n\
         result = {{ kind = \"metadata\" }}\n\
         [capability.apart]\nfresh_process = true\neffects = {{ read_only = true }}\n\
         mcp = {{ server = \"warmth\", tool = \"say\" }}\nresult = {{ kind = \"metadata\" }}\n"
    )
}

fn task(capability: &str, parameters: &Value) -> Value {
    let name = fresh();
    json!({
        "metadata": {"session_id": name, "request_id": name},
        "dispatch": {"task_id": name, "attempt": 1, "capability_ids": [capability], "parameters": parameters},
    })
}

impl Warm {
    fn ask(&self, capability: &str, parameters: &Value) -> Answer {
        let mut command = self.0.command();
        command.env("GREETING", "hello");
        run(command, task(capability, parameters).to_string().as_bytes())
    }

    fn say(&self, text: &str) -> Value {
        let answer = self.ask("say", &json!({"say": text}));
        assert_eq!(answer.exit, 0, "{}", answer.envelope);
        answer.result_data().clone()
    }

    /// A run whose call takes that many seconds, once the call has arrived.
    fn calling(&self, capability: &str, text: &str, seconds: u32) -> Child {
        let mut child = self.0.command().env("GREETING", "hello").spawn().unwrap();
        feed(
            &mut child,
            &task(capability, &json!({"say": text, "sleep": seconds})),
        );
        until("the call arrives", || {
            self.calls().contains(&text.to_owned()).then_some(())
        });
        child
    }

    /// What the calls of all processes of the server have said.
    fn calls(&self) -> Vec<String> {
        self.lines("starts.calls")
    }

    fn starts(&self) -> usize {
        self.lines("starts").len()
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.0.path.join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn warm(&self, arguments: &[&str]) -> String {
        let output = self
            .0
            .command()
            .arg("warm")
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn listed(&self) -> Vec<Value> {
        let listed: Value = serde_json::from_str(&self.warm(&["list", "--json"])).unwrap();
        listed["servers"].as_array().unwrap().clone()
    }

    /// Waits until no process of the server and no holder is left.
    fn until_gone(&self) {
        until("the server is gone", || {
            (self.0.processes().is_empty() && self.listed().is_empty()).then_some(())
        });
    }
}

fn notes(answer: &Answer) -> &str {
    answer.at("/audit/compliance_notes").as_str().unwrap()
}

#[test]
fn one_process_serves_the_runs_and_ends_when_nobody_calls_it() {
    let root = with("keep_alive = \"1s\"");
    let (first, second) = (root.say("a"), root.say("b"));
    assert_eq!((&first["calls"], &second["calls"]), (&json!(1), &json!(2)));
    assert_eq!(first["pid"], second["pid"]);
    // Its TMPDIR is there as long as it is.
    assert_eq!(first["tmpdir"], second["tmpdir"]);
    root.until_gone();
    until("its scratch directory is gone", || {
        root.0.scratch().next().is_none().then_some(())
    });
    assert_eq!(root.say("c")["calls"], json!(1));
}

#[test]
fn a_server_that_is_kept_is_listed_and_stopped_with_its_children() {
    let root = with("keep_alive = \"1m\"");
    assert!(root.listed().is_empty());
    root.ask("say", &json!({"child": true}));
    let listed = root.listed();
    assert_eq!(listed.len(), 1);
    let [server, runs] = ["server", "runs"].map(|key| listed[0][key].clone());
    assert_eq!((server, runs), (json!("warmth"), json!(1)));
    assert_eq!(
        root.warm(&["stop", "another"]),
        "No server with the name another is kept.\n"
    );
    assert_eq!(root.warm(&["stop", "warmth"]), "warmth has ended.\n");
    root.until_gone();
}

#[test]
fn a_change_of_the_entry_the_program_or_a_handed_on_variable_starts_another_process() {
    let root = with("keep_alive = \"1m\"\nenv_pass = [\"GREETING\"]");
    let path = root.0.path.join("servers.py");
    fs::copy(root.0.path.join("servers/warmth.py"), &path).unwrap();
    let text = catalog("keep_alive = \"1m\"\nenv_pass = [\"GREETING\"]");
    let text = text.replace("servers/warmth.py", "servers.py");
    fs::write(root.0.path.join("catalog.toml"), &text).unwrap();
    root.say("a");
    root.say("b");
    assert_eq!(root.starts(), 1);
    let mut command = root.0.command();
    command.env("GREETING", "good morning");
    let answer = run(command, task("say", &json!({})).to_string().as_bytes());
    assert_eq!(answer.result_data()["calls"], json!(1));
    assert_eq!(root.starts(), 2);
    fs::write(&path, fs::read_to_string(&path).unwrap() + "\n").unwrap();
    root.say("c");
    assert_eq!(root.starts(), 3);
    let other = text.replace(
        "keep_alive = \"1m\"",
        "keep_alive = \"1m\"\nenv = { MORE = \"1\" }",
    );
    fs::write(root.0.path.join("catalog.toml"), other).unwrap();
    root.say("d");
    assert_eq!(root.starts(), 4);
    assert_eq!(root.listed().len(), 1);
}

#[test]
fn sixteen_runs_at_once_lose_and_mix_nothing() {
    for keys in [
        "keep_alive = \"1m\"",
        "keep_alive = \"1m\"\nconcurrency = 4",
    ] {
        let root = with(keys);
        thread::scope(|scope| {
            for number in 0..16 {
                let root = &root;
                scope.spawn(move || {
                    let text = format!("run {number}");
                    assert_eq!(root.say(&text)["say"], json!(text));
                });
            }
        });
        let calls: BTreeSet<String> = root.calls().into_iter().collect();
        assert_eq!((calls.len(), root.calls().len()), (16, 16));
        let most = if keys.contains("concurrency") { 4 } else { 1 };
        assert!(root.listed().len() <= most);
    }
}

#[test]
fn a_server_that_is_busy_for_too_long_is_not_waited_for_and_the_answer_says_so() {
    let root = with("keep_alive = \"1m\"");
    let mut busy = root.calling("say", "busy", 20);
    let answer = root.ask("say", &json!({"say": "other"}));
    assert_eq!(answer.result_data()["calls"], json!(1));
    assert!(
        notes(&answer).contains("its warm process is busy"),
        "{}",
        notes(&answer)
    );
    assert_eq!(root.warm(&["stop"]), "warmth ends after its call.\n");
    signal_child(&busy, Signal::TERM);
    busy.wait().unwrap();
    root.until_gone();
}

#[test]
fn concurrency_keeps_several_processes() {
    let root = with("keep_alive = \"1m\"\nconcurrency = 2");
    let mut busy = root.calling("say", "busy", 20);
    let one = root.say("one");
    assert_eq!(root.say("two")["pid"], one["pid"]);
    assert_eq!(root.starts(), 2);
    signal_child(&busy, Signal::TERM);
    busy.wait().unwrap();
}

#[test]
fn a_server_that_dies_in_a_call_is_not_asked_again_for_a_once_only_call() {
    let root = with("keep_alive = \"1m\"");
    root.say("first");
    let answer = root.ask("once", &json!({"say": "dead", "die": true}));
    assert_eq!(answer.at("/output/content/oneact/effect"), "unknown");
    assert_eq!(answer.at("/error/recoverable"), false);
    assert_eq!(root.calls(), ["first", "dead"]);
    assert_eq!(root.say("next")["calls"], json!(1));
}

#[test]
fn a_run_that_is_killed_in_its_call_takes_the_server_with_it() {
    let root = with("keep_alive = \"1m\"");
    root.say("first");
    let mut killed = root.calling("once", "killed", 20);
    killed.kill().unwrap();
    killed.wait().unwrap();
    root.until_gone();
    assert_eq!(root.calls(), ["first", "killed"]);
}

#[test]
fn a_cancelled_or_late_call_ends_the_server() {
    let root = with("keep_alive = \"1m\"");
    let mut cancelled = root.calling("say", "cancelled", 20);
    signal_child(&cancelled, Signal::TERM);
    assert_eq!(cancelled.wait().unwrap().code(), Some(143));
    root.until_gone();
    let mut command = root.0.command();
    command.arg("--timeout=1s");
    let late = run(
        command,
        task("say", &json!({"sleep": 20})).to_string().as_bytes(),
    );
    assert_eq!(late.fault(), "timeout");
    root.until_gone();
}

#[test]
fn a_server_whose_holder_was_killed_is_gone_and_the_next_run_starts_another() {
    let root = with("keep_alive = \"1m\"");
    let server = root.say("first")["pid"].as_i64().unwrap();
    let status = fs::read_to_string(format!("/proc/{server}/status")).unwrap();
    let parent = status
        .lines()
        .find_map(|line| line.strip_prefix("PPid:"))
        .unwrap();
    signal(parent.trim().parse().unwrap(), Signal::KILL);
    until("the server is gone", || {
        root.0.processes().is_empty().then_some(())
    });
    assert!(root.listed().is_empty());
    assert_eq!(root.say("next")["calls"], json!(1));
}

#[test]
fn what_a_server_writes_while_nobody_calls_it_is_no_answer() {
    let root = with("keep_alive = \"1m\"");
    root.ask("say", &json!({"chatter": true}));
    thread::sleep(Duration::from_millis(400));
    let answer = root.ask("say", &json!({"say": "after"}));
    assert_eq!(answer.result_data()["say"], json!("after"));
    assert_eq!(answer.result_data()["calls"], json!(2));
}

#[test]
fn fresh_process_is_never_warm() {
    let root = with("keep_alive = \"1m\"");
    root.ask("apart", &json!({}));
    assert!(root.listed().is_empty());
}

/// No run trusts what lies in the place of its sockets.
#[test]
fn a_directory_of_sockets_that_others_can_enter_or_that_is_a_link_is_not_used() {
    let root = with("keep_alive = \"1m\"");
    let warm = root.0.path.join(".oneact/warm");
    root.say("first");
    root.warm(&["stop"]);
    fs::set_permissions(&warm, fs::Permissions::from_mode(0o755)).unwrap();
    let answer = root.ask("say", &json!({"say": "open"}));
    assert!(
        notes(&answer).contains("open to other users"),
        "{}",
        notes(&answer)
    );
    fs::remove_dir_all(&warm).unwrap();
    let elsewhere = root.0.path.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o700)).unwrap();
    symlink(&elsewhere, &warm).unwrap();
    let answer = root.ask("say", &json!({"say": "link"}));
    assert_eq!(answer.result_data()["calls"], json!(1));
    assert!(
        notes(&answer).contains("started for this call alone"),
        "{}",
        notes(&answer)
    );
    assert_eq!(elsewhere.read_dir_utf8().unwrap().count(), 0);
    fs::remove_file(&warm).unwrap();
}

/// A lock or a pipe that the caller of a run has open goes with the caller.
#[test]
fn a_holder_keeps_no_file_of_the_caller_open() {
    let root = with("keep_alive = \"1m\"");
    let task = task("say", &json!({})).to_string();
    let mut shell = root.0.within("bash");
    shell.args([
        "-c",
        "\"$0\" run 9>lock <<< \"$1\" >answer && flock -n lock true",
    ]);
    let output = shell.args([ONEACT, &task]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(root.listed().len(), 1);
}

#[test]
fn the_wait_for_a_busy_server_counts_against_the_time_of_the_run() {
    let root = with("keep_alive = \"1m\"");
    let mut busy = root.calling("say", "busy", 20);
    let mut command = root.0.command();
    command.arg("--timeout=500ms");
    let late = run(
        command,
        task("once", &json!({"say": "late"})).to_string().as_bytes(),
    );
    assert_eq!(
        late.at("/output/content/oneact/effect"),
        "none",
        "{}",
        late.envelope
    );
    assert_eq!(root.calls(), ["busy"]);
    busy.kill().unwrap();
    busy.wait().unwrap();
}

#[test]
fn a_data_file_of_the_server_may_change() {
    let root = with("keep_alive = \"1m\"");
    let text = catalog("keep_alive = \"1m\"").replace("warmth.py\"]", "warmth.py\", \"data.db\"]");
    fs::write(root.0.path.join("catalog.toml"), text).unwrap();
    fs::write(root.0.path.join("data.db"), "").unwrap();
    let first = root.say("a");
    assert_eq!(root.say("b")["pid"], first["pid"]);
}

/// The processes that a server leaves behind are ended with it, also a holder.
#[test]
fn a_run_below_the_server_of_another_run_starts_no_holder() {
    let root = with("keep_alive = \"1m\"");
    let mut command = root.0.command();
    command.env("ONEACT_SCRATCH", "/scratch/of/another");
    let answer = run(
        command,
        task("say", &json!({"say": "below"})).to_string().as_bytes(),
    );
    assert_eq!(answer.result_data()["say"], "below");
    assert!(
        notes(&answer).contains("the server of another run"),
        "{}",
        notes(&answer)
    );
    assert!(root.listed().is_empty());
}

#[test]
fn the_servers_of_oneact_are_not_kept() {
    let root = with("keep_alive = \"1m\"");
    let text = catalog("keep_alive = \"1m\"").replace("\"python3\", \"-SB\"", "\"{self}\"");
    fs::write(root.0.path.join("catalog.toml"), text).unwrap();
    let answer = root.ask("say", &json!({}));
    assert_eq!(answer.fault(), "catalog_invalid");
    let message = answer.at("/error/error_message").as_str().unwrap();
    assert!(message.contains("remove `keep_alive`"), "{message}");
}

/// Runs, holders and servers are killed at random; `ONEACT_CRASH=all` kills 200 times.
#[test]
fn kills_repeat_no_call_and_leave_no_process() {
    let rounds = match option_env!("ONEACT_CRASH")
        .map(str::to_owned)
        .or_else(crash_level)
    {
        Some(level) if level == "all" => 200,
        _ => 12,
    };
    let root = with("keep_alive = \"1s\"\nconcurrency = 2");
    for round in 0..rounds {
        let mut child = root.0.command().env("GREETING", "hello").spawn().unwrap();
        feed(
            &mut child,
            &task("once", &json!({"say": format!("call {round}")})),
        );
        thread::sleep(Duration::from_millis(fastrand::u64(0..60)));
        match (fastrand::u8(0..3), root.0.processes().first()) {
            (0, Some(process)) => signal_if_there(*process),
            (1, Some(process)) => signal_if_there(parent_of(*process).unwrap_or(*process)),
            _ => drop(child.kill()),
        }
        child.wait().unwrap();
    }
    let calls = root.calls();
    let different: BTreeSet<&String> = calls.iter().collect();
    assert_eq!(different.len(), calls.len(), "{calls:?}");
    root.until_gone();
}

#[expect(
    clippy::disallowed_methods,
    reason = "the caller of the tests decides how long they take"
)]
fn crash_level() -> Option<String> {
    std::env::var("ONEACT_CRASH").ok()
}

fn signal_if_there(pid: i32) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// The parent of a process, unless it is this process or one that began before the tests.
fn parent_of(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    let parent = parent.trim().parse().ok()?;
    let command = fs::read(format!("/proc/{parent}/cmdline")).ok()?;
    let is_holder = command.windows(4).any(|word| word == b"hold");
    is_holder.then_some(parent)
}
