//! How runs end that do not end well: signals, kills, pipes that are gone, disks that are full.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::{
        fd::OwnedFd,
        unix::{fs::PermissionsExt as _, process::CommandExt as _},
    },
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{
    Answer, Root, download, feed, run, signal, signal_child, text, until, until_signals_are_caught,
};

fn cancelled_by(sent: Signal, exit: i32) {
    let root = Root::new();
    let child = root.hanging();
    signal_child(&child, sent);
    let answer = Answer::of(child.wait_with_output().unwrap());
    assert_eq!(answer.exit, exit);
    assert_eq!(answer.state(), "cancelled");
    root.assert_untouched();
}

#[test]
fn sigterm_in_a_hanging_call_cancels_with_an_envelope_and_143() {
    cancelled_by(Signal::TERM, 143);
}

#[test]
fn a_signal_that_the_caller_has_blocked_cancels_all_the_same() {
    let root = Root::new();
    let mut command = root.within("python3");
    command.args([
        "-c",
        "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]); \
         os.execv(sys.argv[1], sys.argv[1:])",
        crate::program::ONEACT,
    ]);
    let mut child = command.spawn().unwrap();
    feed(&mut child, &download("silent"));
    until("the tool is called", || {
        root.scratch().find(|path| path.join("called").exists())
    });
    signal_child(&child, Signal::TERM);
    let answer = Answer::of(child.wait_with_output().unwrap());
    assert_eq!((answer.exit, answer.state()), (143, &json!("cancelled")));
}

#[test]
fn sigint_in_a_hanging_call_cancels_with_an_envelope_and_130() {
    cancelled_by(Signal::INT, 130);
}

#[test]
fn sigterm_while_the_task_is_still_awaited_cancels_with_an_envelope() {
    let root = Root::new();
    let mut child = root.command().spawn().unwrap();
    let stdin = child.stdin.take();
    until_signals_are_caught(&child);
    signal_child(&child, Signal::TERM);
    let answer = Answer::of(child.wait_with_output().unwrap());
    drop(stdin);
    assert_eq!((answer.exit, answer.state()), (143, &json!("cancelled")));
    root.assert_untouched();
}

#[test]
fn when_oneact_is_killed_its_server_dies_and_the_next_run_sweeps_what_was_left() {
    let root = Root::new();
    let mut child = root.hanging();
    assert_eq!(root.servers_of(&child).len(), 1);
    signal_child(&child, Signal::KILL);
    child.wait().unwrap();
    until("the server is gone", || {
        root.processes().is_empty().then_some(())
    });
    assert!(root.scratch().next().is_some());
    assert!(!root.path.join("agent_outputs").exists());

    let next = root.run(&download("good"));
    assert_eq!((next.exit, next.state()), (0, &json!("done")));
    assert_eq!(root.scratch().next(), None);
}

#[test]
fn a_tool_killed_in_its_call_is_a_server_that_can_be_tried_again() {
    let root = Root::new();
    let child = root.hanging();
    for server in root.servers_of(&child) {
        signal(server, Signal::KILL);
    }
    let answer = Answer::of(child.wait_with_output().unwrap());
    assert_eq!(
        (answer.exit, answer.fault()),
        (75, &json!("server_unreachable"))
    );
    assert_eq!(answer.at("/output/content/oneact/effect"), "unknown");
    root.assert_untouched();
}

const LINGERING: &str = "
catalog = 1
[server.lingering]
command = ['python3', 'servers/lingering.py', '1']
[capability.act]
effects = { read_only = true }
mcp = { server = 'lingering', tool = 'act' }
result = { kind = 'metadata' }
";

#[test]
fn a_signal_after_the_envelope_changes_no_exit_status_and_leaves_no_process() {
    for sent in [Signal::TERM, Signal::INT, Signal::HUP] {
        let root = Root::with_catalog(LINGERING);
        let mut child = root.command().spawn().unwrap();
        feed(
            &mut child,
            &json!({"task_id": "t", "capability_ids": ["act"]}),
        );
        let mut envelope = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut envelope).unwrap();
        assert!(envelope.contains(r#""state":"done""#), "{envelope}");
        until("the server and both sleeps are there", || {
            (root.servers_of(&child).len() == 3).then_some(())
        });
        signal_child(&child, sent);
        assert_eq!(child.wait().unwrap().code(), Some(0), "{sent:?}");
        assert_eq!(root.processes(), Vec::<i32>::new());
    }
}

/// A process that has become another user's, as with `sudo`. The test ends early where no program can do this.
#[test]
fn processes_that_cannot_be_ended_are_named_without_any_flag() {
    let left = "setsid ./become --reuid 0 --clear-groups sleep 600 </dev/null >/dev/null 2>&1 & \
                until grep -qx sleep /proc/$!/comm; do sleep 0.01; done";
    let command = format!("'lingering.py', '0', '{left}'");
    let catalog = LINGERING.replace("'servers/lingering.py', '1'", &command);
    let root = Root::with_catalog(&catalog);
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/lingering.py");
    fs::copy(server, root.path.join("lingering.py")).unwrap();
    let command = root.as_nobody();
    let program = root.path.join("become");
    fs::copy("/usr/bin/setpriv", &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let mut who = root.within(program.as_str());
    who.args(["--reuid", "0", "--clear-groups", "id", "-u"]);
    let who = who.uid(65534).gid(65534).output();
    if !who.is_ok_and(|who| who.stdout == b"0\n") {
        // This user or this file system makes no program that runs as root.
        return;
    }
    let task = json!({"task_id": "t", "capability_ids": ["act"]});
    let answer = run(command, task.to_string().as_bytes());
    let left = root.processes();
    for pid in &left {
        signal(*pid, Signal::KILL);
    }
    assert_eq!((answer.exit, left.len()), (0, 1), "{}", answer.envelope);
    let named = format!(
        "Processes of the server could not be ended: {} (sleep).",
        left[0]
    );
    assert!(answer.stderr.contains(&named), "{}", answer.stderr);
}

/// A run whose answer does not fit into the pipe that nobody has read from yet.
fn waiting_for_a_reader(root: &Root) -> Child {
    let long = "x".repeat(200_000);
    let mut child = root.command().spawn().unwrap();
    let task = json!({"task_id": "t", "capability_ids": ["act"], "parameters": {"long": long}});
    feed(&mut child, &task);
    until("the answer is there", || {
        (root.servers_of(&child).len() == 3).then_some(())
    });
    until("the pipe is full", || {
        let held = rustix::io::ioctl_fionread(child.stdout.as_ref().unwrap()).unwrap();
        (held >= 60_000).then_some(())
    });
    child
}

#[test]
fn a_reader_that_comes_after_the_signal_gets_the_whole_envelope() {
    for sent in [Signal::TERM, Signal::INT, Signal::HUP] {
        let root = Root::with_catalog(LINGERING);
        let child = waiting_for_a_reader(&root);
        signal_child(&child, sent);
        thread::sleep(Duration::from_secs(1));
        let answer = Answer::of(child.wait_with_output().unwrap());
        assert_eq!((answer.exit, answer.state()), (0, &json!("done")));
        assert_eq!(root.processes(), Vec::<i32>::new());
    }
}

#[test]
fn a_slow_reader_gets_the_whole_envelope_after_a_signal() {
    let root = Root::with_catalog(LINGERING);
    let mut child = waiting_for_a_reader(&root);
    signal_child(&child, Signal::TERM);
    let mut stdout = child.stdout.take().unwrap();
    let mut envelope = Vec::new();
    for _ in 0..4 {
        thread::sleep(Duration::from_secs(3)); // in all, longer than a reader that takes nothing is waited for
        (&mut stdout)
            .take(30_000)
            .read_to_end(&mut envelope)
            .unwrap();
    }
    stdout.read_to_end(&mut envelope).unwrap();
    let envelope: Value = serde_json::from_slice(&envelope).unwrap();
    assert_eq!(
        envelope.pointer("/output/content/oneact/state"),
        Some(&json!("done"))
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_second_signal_ends_a_run_whose_envelope_has_no_reader_and_so_does_time() {
    for signals in [1, 2] {
        let root = Root::with_catalog(LINGERING);
        let mut child = waiting_for_a_reader(&root);
        let since = Instant::now();
        for _ in 0..signals {
            signal_child(&child, Signal::TERM);
            thread::sleep(Duration::from_millis(300));
        }
        assert_eq!(child.wait().unwrap().code(), Some(143));
        let waited = since.elapsed() >= Duration::from_secs(5);
        assert_eq!(waited, signals == 1, "{signals}: {:?}", since.elapsed());
        assert_eq!(root.processes(), Vec::<i32>::new());
    }
}

/// Runs a task in a shell that starts `before`, which writes the pid of a helper to a file, and then becomes the
/// run. Answers the pid of the helper.
fn beside_a_helper(root: &Root, before: &str) -> i32 {
    let script = format!("{before}; exec {}", crate::program::ONEACT);
    let mut command = root.within("sh");
    command.args(["-c", &script]);
    let task = json!({"task_id": "t", "capability_ids": ["act"]});
    let answer = run(command, task.to_string().as_bytes());
    assert_eq!((answer.exit, answer.state()), (0, &json!("done")));
    let helper = fs::read_to_string(root.path.join("helper")).unwrap();
    helper.trim().parse().unwrap()
}

/// The shell that becomes the run has started a program in the background, which has a child of its own.
#[test]
fn what_a_shell_started_before_it_became_the_run_is_left_alone() {
    let root = Root::with_catalog(&LINGERING.replace("'1'", "'1', 'alone'"));
    let before = "{ (sleep 0.2; sleep 60 & echo $! > helper) > out 2>&1 < /dev/null & }";
    let helper = beside_a_helper(&root, before);
    // It fails where there is no such process.
    signal(helper, Signal::KILL);
}

/// What a server leaves behind is then found by its `ONEACT_SCRATCH`, also if it has another `TMPDIR`, and ended.
#[test]
fn beside_what_a_shell_started_before_the_descendants_of_a_server_are_ended() {
    let elsewhere = "[server.lingering]\nenv = { TMPDIR = '{root}' }";
    for catalog in [
        LINGERING,
        &LINGERING.replace("[server.lingering]", elsewhere),
    ] {
        let root = Root::with_catalog(catalog);
        let before = "{ sleep 60 > out 2>&1 < /dev/null & }; echo $! > helper";
        let helper = beside_a_helper(&root, before);
        let mut left = root.processes();
        left.retain(|pid| *pid != helper);
        assert_eq!(left, Vec::<i32>::new());
        signal(helper, Signal::KILL);
    }
}

#[test]
fn a_stdout_that_is_open_for_reading_only_has_nothing_done() {
    let root = Root::new();
    fs::write(root.path.join("readable"), "").unwrap();
    for path in [root.path.join("readable"), root.path.clone()] {
        let (exit, stderr) = printing_to(&root, fs::File::open(&path).unwrap());
        assert_eq!(exit, 2, "{stderr}");
        assert!(stderr.contains("open for reading only"), "{stderr}");
    }
    root.assert_untouched();
}

#[test]
fn a_failure_says_one_line_on_stderr_unless_it_is_to_be_quiet() {
    let root = Root::new();
    let task = json!({"task_id": "t", "capability_ids": ["NO\u{1b}[31mSUCH\nTHING"]}).to_string();
    let answer = run(root.command(), task.as_bytes());
    assert_eq!(answer.exit, 2);
    let told: Vec<&str> = answer.stderr.lines().collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("oneact: unknown_capability: "),
        "{told:?}"
    );
    assert!(!told[0].contains('\u{1b}'), "{told:?}");
    let with = |flag: &[&str]| {
        let mut command = root.command();
        command.args(flag);
        run(command, task.as_bytes()).stderr
    };
    assert_eq!(with(&["--quiet"]), "");
    assert_eq!(with(&["-q"]), "");
    let json: Value = serde_json::from_str(&with(&["--log", "json"])).unwrap();
    assert_eq!(json["fields"]["class"], "unknown_capability");
    let broken = run(root.command(), b"no json");
    assert!(broken.stderr.starts_with("oneact: "), "{}", broken.stderr);
}

/// Runs a task that succeeds, with that stdout; answers exit code and stderr.
fn printing_to(root: &Root, stdout: impl Into<Stdio>) -> (i32, String) {
    fs::write(root.path.join("task.json"), download("good").to_string()).unwrap();
    let task = fs::File::open(root.path.join("task.json")).unwrap(); // a run may end before it reads the task
    let mut child = root.command().stdin(task).stdout(stdout).spawn().unwrap();
    let stderr = text(child.stderr.take().unwrap());
    (child.wait().unwrap().code().unwrap(), stderr)
}

#[test]
fn a_reader_that_is_gone_is_a_failure_said_on_stderr_and_no_panic() {
    let root = Root::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let (exit, stderr) = printing_to(&root, OwnedFd::from(writer));
    assert_eq!(exit, 1);
    assert!(stderr.contains("cannot write to stdout"), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn an_answer_that_does_not_fit_on_the_disk_is_a_failure_said_on_stderr() {
    let root = Root::new();
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let (exit, stderr) = printing_to(&root, full);
    assert_eq!(exit, 1);
    assert!(stderr.contains("cannot write to stdout"), "{stderr}");
}

/// Runs the task in a mount namespace of its own, after those shell commands; `None`, and why
/// on stderr, where this machine grants no such namespace.
fn mounted(root: &Root, mount: &str, task: &Value) -> Option<Answer> {
    let script = format!(
        "{mount} && echo mounted >&2 && exec {}",
        crate::program::ONEACT
    );
    let mut command = root.within("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", &script]);
    let mut probe = root.within("unshare");
    probe.args(["--map-root-user", "--mount", "sh", "-c", mount]);
    if !probe.status().is_ok_and(|status| status.success()) {
        // Not a test that passes in silence: the reason is in its output.
        writeln!(
            std::io::stderr(),
            "skipped: no mount namespace here ({mount})"
        )
        .unwrap();
        return None;
    }
    Some(run(command, task.to_string().as_bytes()))
}

#[test]
fn a_root_that_cannot_be_written_is_said_to_be_one() {
    let root = Root::new();
    let answer = mounted(
        &root,
        "mount --bind . . && mount -o remount,bind,ro . && cd .",
        &download("good"),
    );
    let Some(answer) = answer else { return };
    assert_eq!(
        (answer.exit, answer.fault()),
        (1, &json!("ledger_unavailable"))
    );
    root.assert_untouched();
}

#[test]
fn a_store_without_space_is_a_full_disk_and_nothing_is_stored() {
    let root = Root::new();
    fs::create_dir_all(root.path.join("agent_outputs/assets")).unwrap();
    let answer = mounted(
        &root,
        "mount -t tmpfs -o size=16k tmpfs agent_outputs/assets",
        &download("good"),
    );
    let Some(answer) = answer else { return };
    assert_eq!((answer.exit, answer.fault()), (1, &json!("disk_full")));
    assert_eq!(
        answer.at("/output/content/task_result/output_refs_produced"),
        &json!([])
    );
    assert_eq!(root.scratch().next(), None);
}

/// The root has a space and a backslash in its name, which the kernel escapes in its list of mounts.
#[test]
fn what_a_tool_has_mounted_in_its_scratch_directory_is_not_removed() {
    let mounts = "'sh', '-c', 'mkdir \"$TMPDIR/held\" && mount --bind precious \"$TMPDIR/held\" && exec \"$@\"', '-'";
    let command = format!("command = [{mounts}, 'python3'");
    let root = Root::with_catalog(&LINGERING.replace("command = ['python3'", &command));
    fs::create_dir(root.path.join("precious")).unwrap();
    fs::write(root.path.join("precious/file"), "x").unwrap();
    let answer = mounted(
        &root,
        "mkdir -p 'a \\b' && mount --bind . 'a \\b' && cd 'a \\b'",
        &json!({"task_id": "t", "capability_ids": ["act"]}),
    );
    let Some(answer) = answer else { return };
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    assert!(root.path.join("precious/file").exists());
    let [scratch] = &*root.scratch().collect::<Vec<_>>() else {
        panic!("the scratch directory is gone")
    };
    assert!(scratch.join("held").exists());
}

#[test]
fn steps_on_the_same_server_share_one_process_unless_an_entry_wants_a_fresh_one() {
    let calls = |catalog: &str, ids: &[&str]| {
        let root = Root::with_catalog(catalog);
        let answer = root.run(&json!({"task_id": "t", "capability_ids": ids}));
        assert_eq!(answer.exit, 0, "{}", answer.envelope);
        assert_eq!(root.processes(), Vec::<i32>::new());
        answer.result_data()["calls"].clone()
    };
    let entry = |name: &str, more: &str| {
        format!(
            "[capability.{name}]\neffects = {{ read_only = true }}\n\
             mcp = {{ server = 'lingering', tool = 'act' }}\nresult = {{ kind = 'metadata' }}\n{more}"
        )
    };
    let catalog =
        LINGERING.to_owned() + &entry("also", "") + &entry("alone", "fresh_process = true\n");
    assert_eq!(calls(&catalog, &["act", "also", "act"]), 3);
    assert_eq!(calls(&catalog, &["act", "alone"]), 1);
    assert_eq!(calls(&catalog, &["act", "alone", "also"]), 2);
    // Another server between the two.
    let other = "[server.other]\ncommand = ['python3', 'servers/lingering.py', '0']\n";
    let between = entry("between", "").replace("'lingering'", "'other'");
    assert_eq!(
        calls(
            &format!("{catalog}{other}{between}"),
            &["act", "between", "also"]
        ),
        2
    );
}
