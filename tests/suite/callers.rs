//! Callers of every kind: whatever they put on stdin, hand on, limit, close or send, they get one
//! envelope and the exit code that goes with it, or, where nobody can get it, a failing exit code.

use std::{
    ffi::OsStr,
    fs,
    io::{Read, Write},
    os::unix::{ffi::OsStrExt, process::ExitStatusExt},
    process::{Child, Command, Stdio},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{
    Answer, ONEACT, Root, download, run, signal_child, task, text, until, until_signals_are_caught,
};

/// A task that is performed at once.
fn good() -> Vec<u8> {
    download("good").to_string().into_bytes()
}

/// A shell line around the binary, which is `$0`.
fn shell(root: &Root, line: &str) -> Command {
    let mut command = root.within("sh");
    command.args(["-c", line, ONEACT]);
    command
}

/// A Python line around the binary, which is `sys.argv[1]`.
fn python(root: &Root, line: &str) -> Command {
    let mut command = root.within("python3");
    command.args(["-c", line, ONEACT]);
    command
}

#[test]
fn a_place_in_the_environment_that_is_no_utf_8_is_refused_by_name() {
    for name in ["ONEACT_LEDGER", "ONEACT_STATE_DIR", "ONEACT_ROOT"] {
        let root = Root::new();
        let mut command = root.command();
        command.env(name, OsStr::from_bytes(b"/x/led\xff.db"));
        let answer = run(command, &good());
        assert_eq!(answer.exit, 2, "{name}");
        let said = answer.at("/error/error_message").as_str().unwrap();
        let names = said.contains(&format!("${name} is ")) && said.contains("not UTF-8");
        assert!(names, "{said}");
    }
}

/// As an upgrade does. The copy is removed after the run has begun.
#[test]
fn a_run_whose_program_was_removed_starts_its_built_in_servers_nevertheless() {
    let root = Root::with_catalog(
        "catalog = 1\n[server.data]\ncommand = [\"{self}\", \"serve\", \"data-management\"]\n[capability.read]\n\
         effects = { read_only = true }\nmcp = { server = \"data\", tool = \"context_reader\" }\n",
    );
    let copy = root.path.join("copy");
    if fs::hard_link(ONEACT, &copy).is_err() {
        fs::copy(ONEACT, &copy).unwrap();
    }
    let mut child = root.within(copy.as_str()).spawn().unwrap();
    until("the program runs", || {
        let exe = fs::read_link(format!("/proc/{}/exe", child.id())).ok()?;
        (exe == copy).then_some(())
    });
    fs::remove_file(&copy).unwrap();
    let asked =
        json!({"task_id": "t1", "capability_ids": ["read"], "parameters": {"cache_key": "k"}});
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(asked.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&*output.stdout));
}

#[test]
fn whatever_comes_on_stdin_is_answered_by_one_envelope() {
    let root = Root::new();
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    let id = |id: &str| format!(r#"{{"task_id":{id},"capability_ids":["A"]}}"#).into_bytes();
    for (what, input, said) in [
        ("nothing", vec![], "is empty"),
        ("blanks", b" \n\t".to_vec(), "is empty"),
        ("NUL", vec![0; 100], "not valid JSON"),
        (
            "NUL in a text",
            b"{\"task_id\":\"\0\"}".to_vec(),
            "not valid JSON",
        ),
        (
            "invalid UTF-8",
            id("\"\u{1}\"")
                .iter()
                .map(|byte| if *byte == 1 { 0xff } else { *byte })
                .collect(),
            "not UTF-8",
        ),
        ("UTF-16", b"\xff\xfe{\0}\0".to_vec(), "not UTF-8"),
        (
            "a byte order mark",
            b"\xef\xbb\xbf{}".to_vec(),
            "byte order mark",
        ),
        ("a lone surrogate", id(r#""\ud800""#), "not valid JSON"),
        (
            "a key twice",
            b"{\"task_id\":\"a\",\"task_id\":\"b\"}".to_vec(),
            "duplicate key",
        ),
        (
            "a key twice, once escaped",
            br#"{"a":1,"\u0061":2}"#.to_vec(),
            "duplicate key",
        ),
        ("a bomb of depth", deep, "levels"),
        ("an open bomb of depth", vec![b'['; 100_000], "levels"),
        (
            "an open bomb of objects",
            br#"{"a":"#.repeat(100_000),
            "levels",
        ),
        (
            "a huge number",
            id(&"9".repeat(100_000)),
            "`task_id` must be a non-empty text",
        ),
        (
            "a huge exponent",
            id("1e999999999"),
            "`task_id` must be a non-empty text",
        ),
        ("two documents", b"{}{}".to_vec(), "several JSON documents"),
        ("a number", b"42".to_vec(), "must be an object"),
        ("a text", b"\"task\"".to_vec(), "must be an object"),
        ("null", b"null".to_vec(), "must be an object"),
        ("an object", b"{}".to_vec(), "not a task"),
        (
            "no text as id",
            id("7"),
            "`task_id` must be a non-empty text",
        ),
        (
            "no array as ids",
            br#"{"task_id":"a","capability_ids":{}}"#.to_vec(),
            "`capability_ids` must be an array",
        ),
        ("17 MiB", vec![b' '; 17 << 20], "larger than 16 MiB"),
    ] {
        let answer = run(root.command(), &input);
        assert_eq!(
            (answer.exit, answer.state()),
            (2, &json!("rejected")),
            "{what}"
        );
        assert_eq!(answer.at("/error/error_code"), "INVALID_INPUT", "{what}");
        let message = answer.at("/error/error_message").as_str().unwrap();
        assert!(message.contains(said), "{what}: {message}");
        assert_eq!(
            answer.stderr.lines().count(),
            1,
            "{what}: {}",
            answer.stderr
        );
    }
    root.assert_untouched();
}

#[test]
fn a_text_with_nul_and_every_plane_is_echoed_as_it_came() {
    let root = Root::new();
    let odd = "\u{0}\u{7f}\u{2028}\u{fffe}\u{1f600}\u{10ffff}\"\\";
    let task = json!({"task_id": odd, "capability_ids": [odd]});
    let answer = root.run(&task);
    assert_eq!(answer.at("/input/content"), &task);
    assert_eq!(answer.fault(), "unknown_capability");
}

#[test]
fn numbers_of_any_size_come_back_digit_by_digit() {
    let root = Root::new();
    let number = "123456789012345678901234567890.10e+4000";
    let input =
        format!(r#"{{"task_id":"a","capability_ids":["?"],"parameters":{{"n":{number}}}}}"#);
    let mut child = root.command().spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let stdout = text(child.stdout.take().unwrap());
    assert_eq!(child.wait().unwrap().code(), Some(2));
    assert!(stdout.contains(&format!(r#"{{"n":{number}}}"#)), "{stdout}");
}

#[test]
fn a_caller_that_stops_writing_is_answered_when_the_time_is_up() {
    let root = Root::new();
    let mut child = root.command().args(["--timeout", "1"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&good()[..20]).unwrap();
    let answer = Answer::of(child.wait_with_output().unwrap());
    drop(stdin);
    assert_eq!((answer.exit, answer.fault()), (2, &json!("timeout")));
    root.assert_untouched();
}

#[test]
fn a_closed_stdin_is_an_empty_one() {
    let root = Root::new();
    let answer = run(shell(&root, "exec \"$0\" <&-"), b"");
    assert_eq!(answer.exit, 2);
    let message = answer.at("/error/error_message").as_str().unwrap();
    assert!(message.contains("is empty"), "{message}");
}

#[test]
fn a_stdin_that_cannot_be_read_is_said_to_be_one() {
    let root = Root::new();
    for (stdin, said) in [
        ("< /", "cannot read the task from stdin: Is a directory"),
        ("0> written", "is empty"),
    ] {
        let answer = run(shell(&root, &format!("exec \"$0\" {stdin}")), b"");
        assert_eq!((answer.exit, answer.state()), (2, &json!("rejected")));
        let message = answer.at("/error/error_message").as_str().unwrap();
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn without_a_stdout_nothing_is_done_and_the_exit_code_says_so() {
    let root = Root::new();
    for line in [
        "exec \"$0\" >&-",
        "exec \"$0\" <&- >&- 2>&-",
        "exec \"$0\" schema task >&-",
    ] {
        let output = feed(shell(&root, line), &good());
        assert_eq!(output.0, 2, "{line}");
        assert!(
            line.contains("2>&-") || output.1.contains("stdout is closed"),
            "{}",
            output.1
        );
    }
    root.assert_untouched();
    // Who wants the exit code alone says so.
    assert_eq!(
        feed(shell(&root, "exec \"$0\" >/dev/null"), &good()),
        (0, String::new())
    );
}

/// Exit code and stderr, where stdout is none of ours.
fn feed(mut command: Command, input: &[u8]) -> (i32, String) {
    let mut child = command.spawn().unwrap();
    // What is not wanted may be gone already.
    drop(child.stdin.take().unwrap().write_all(input));
    let stderr = text(child.stderr.take().unwrap());
    (child.wait().unwrap().code().unwrap(), stderr)
}

#[test]
fn without_a_stderr_everything_goes_on() {
    let root = Root::new();
    for line in ["exec \"$0\" -vv 2>&-", "exec \"$0\" -vv 2>/dev/full"] {
        let mut command = shell(&root, line);
        command.env("ONEACT_LEDGER", "none");
        let answer = run(command, &good());
        assert_eq!((answer.exit, answer.state()), (0, &json!("done")), "{line}");
    }
}

#[test]
fn a_stderr_that_nobody_reads_holds_nothing_up() {
    let root = Root::new();
    for (flags, exit) in [(&["-vv"][..], 0), (&["--frobnicate"], 2)] {
        let (_reader, mut writer) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        while writer.write(&[b'.'; 4096]).is_ok() {}
        rustix::io::ioctl_fionbio(&writer, false).unwrap();
        let mut child = root.command().args(flags).stderr(writer).spawn().unwrap();
        drop(child.stdin.take().unwrap().write_all(&good()));
        let answer = text(child.stdout.take().unwrap());
        assert_eq!(answer.lines().count(), 1);
        assert_eq!(child.wait().unwrap().code(), Some(exit));
    }
}

#[test]
fn neither_home_nor_locale_nor_path_is_needed() {
    let root = Root::new();
    let bare = |name: &str, value: &str| {
        let mut command = root.command();
        command.env_remove("HOME").env(name, value);
        run(
            command,
            &task("CAP-ACQ-001", "https://example-source.com/a", &[])
                .to_string()
                .into_bytes(),
        )
    };
    for (name, value) in [
        ("LANG", "C"),
        ("LC_ALL", "xx_YY.nonsense"),
        ("TZ", "Nowhere/Else"),
        ("HOME", "/nowhere"),
    ] {
        assert_eq!(bare(name, value).exit, 0, "{name}={value}");
    }
    let mut nothing = Command::new(ONEACT);
    nothing.env_clear().current_dir(&root.path);
    nothing
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    assert_eq!(run(nothing, b"{}").exit, 2);
}

#[test]
fn any_limit_of_open_files_is_answered() {
    let root = Root::new();
    // Below 4 not even the loader can start a program.
    for limit in 4..=24 {
        let line = format!("ulimit -n {limit} && exec \"$0\"");
        let answer = run(shell(&root, &line), &good());
        let done = answer.state() == "done";
        assert_eq!(done, answer.exit == 0, "{limit}");
        let message = answer.at("/error/error_message").to_string();
        let told = message.contains("Too many open files") || message.contains("os error 24");
        assert!(done || told, "{limit}: {message}");
    }
    assert_eq!(root.scratch().next(), None);
}

#[test]
fn a_schema_that_this_machine_has_no_room_to_check_is_worth_another_try() {
    let root = Root::new();
    let task = json!({
        "dispatch": {
            "task_id": "task_1", "action": "", "capability_ids": ["CAP-DAT-002"], "attempt": 1,
            "parameters": {"target_path": "/data/report"},
        },
        "metadata": {"session_id": "sess-1"},
    });
    // The stack of the thread that checks it is as large, in KiB.
    let limited = shell(&root, "ulimit -v 262144 && exec \"$0\"");
    let answer = run(limited, task.to_string().as_bytes());
    let expected = (75, &json!("server_unreachable"));
    assert_eq!(
        (answer.exit, answer.fault()),
        expected,
        "{}",
        answer.envelope
    );
    let message = answer.at("/error/error_message").to_string();
    assert!(message.contains("cannot start a thread"), "{message}");
}

#[test]
fn five_thousand_inherited_files_are_neither_used_nor_handed_on() {
    let root = Root::new();
    let line = "import os, resource, sys
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(6000, most), most))
for _ in range(5000): os.set_inheritable(os.open('/dev/null', os.O_RDONLY), True)
os.execv(sys.argv[1], sys.argv[1:])";
    let answer = run(python(&root, line), &good());
    assert_eq!((answer.exit, answer.state()), (0, &json!("done")));
}

/// Where an unmapped user owns everything and is no root.
fn unprivileged(root: &Root, line: &str) -> Option<Command> {
    let mut probe = root.within("unshare");
    if !probe
        .args(["--user", "true"])
        .status()
        .is_ok_and(|status| status.success())
    {
        writeln!(std::io::stderr(), "skipped: no user namespace here").unwrap();
        return None;
    }
    let mut command = root.within("unshare");
    command.args(["--user", "sh", "-c", line, ONEACT]);
    Some(command)
}

#[test]
fn under_any_umask_a_run_can_use_what_it_made_and_so_can_the_next() {
    let root = Root::new();
    for umask in ["0777", "0700", "0277", "0077"] {
        let line = format!("umask {umask} && exec \"$0\"");
        let Some(command) = unprivileged(&root, &line) else {
            return;
        };
        let answer = run(command, &good());
        let message = answer.at("/error/error_message");
        assert_eq!((answer.exit, message), (0, &Value::Null), "{umask}");
    }
    assert_eq!(root.scratch().next(), None);
}

/// A run whose tool has been called and does not answer, through that shell line.
fn hanging(root: &Root, line: &str) -> Child {
    let mut child = shell(root, line).spawn().unwrap();
    let task = download("silent").to_string();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(task.as_bytes())
        .unwrap();
    until("the tool is called", || {
        root.scratch().find(|path| path.join("called").exists())
    });
    child
}

#[test]
fn every_signal_that_would_end_a_run_cancels_it_with_an_envelope() {
    for (sent, number) in [
        (Signal::HUP, 1),
        (Signal::INT, 2),
        (Signal::QUIT, 3),
        (Signal::USR1, 10),
        (Signal::USR2, 12),
        (Signal::ALARM, 14),
        (Signal::TERM, 15),
        (Signal::XCPU, 24),
        (Signal::VTALARM, 26),
        (Signal::PROF, 27),
        (Signal::IO, 29),
    ] {
        let root = Root::new();
        let child = root.hanging();
        signal_child(&child, sent);
        let answer = Answer::of(child.wait_with_output().unwrap());
        assert_eq!(
            (answer.exit, answer.state()),
            (128 + number, &json!("cancelled"))
        );
        root.assert_untouched();
    }
}

#[test]
fn signals_that_end_nothing_change_nothing() {
    let root = Root::new();
    let mut child = root.command().spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&good()[..1]).unwrap();
    until_signals_are_caught(&child);
    for signal in [
        Signal::PIPE,
        Signal::WINCH,
        Signal::CHILD,
        Signal::CONT,
        Signal::URG,
    ] {
        signal_child(&child, signal);
    }
    stdin.write_all(&good()[1..]).unwrap();
    drop(stdin);
    assert_eq!(Answer::of(child.wait_with_output().unwrap()).exit, 0);
}

#[test]
fn what_nohup_has_it_ignore_is_ignored() {
    let root = Root::new();
    let child = hanging(&root, "trap '' HUP INT QUIT; exec \"$0\"");
    for ignored in [Signal::HUP, Signal::INT, Signal::QUIT] {
        signal_child(&child, ignored);
    }
    assert_eq!(root.servers_of(&child).len(), 1);
    signal_child(&child, Signal::TERM);
    let answer = Answer::of(child.wait_with_output().unwrap());
    assert_eq!((answer.exit, answer.state()), (143, &json!("cancelled")));
    let message = answer.at("/error/error_message").as_str().unwrap();
    assert!(message.contains("SIGTERM"), "{message}");
}

/// How a run ended that a signal hit at any moment from its start on: by the signal itself only
/// before there was a handler, and then without having begun.
#[test]
fn a_signal_at_any_moment_of_the_start_ends_a_run_cleanly() {
    let root = Root::new();
    let mut answered = 0;
    for round in 0..60_u64 {
        let mut child = root.command().spawn().unwrap();
        let stdin = child.stdin.take();
        std::thread::sleep(std::time::Duration::from_micros(round * 100));
        signal_child(&child, Signal::TERM);
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        if output.status.signal() == Some(15) {
            assert_eq!(output.stdout, b"");
            continue;
        }
        let answer = Answer::of(output);
        assert_eq!((answer.exit, answer.state()), (143, &json!("cancelled")));
        answered += 1;
    }
    assert!(answered > 0);
    root.assert_untouched();
}

/// strace sends the signal at each of the calls that set up the handlers. Between the handler of a signal and its
/// action, the signal must be blocked: else it would be lost, and the run would wait for stdin without end.
#[test]
fn a_signal_at_any_call_that_sets_up_the_handlers_ends_the_run() {
    let root = Root::new();
    let log = root.path.join("calls");
    let mut answered = 0;
    for (call, least) in [("rt_sigaction", 20), ("rt_sigprocmask", 2)] {
        for number in 1.. {
            let mut command = root.within("strace");
            command
                .args(["-qq", "-o", log.as_str()])
                .arg(format!("-einject={call}:signal=SIGTERM:when={number}"))
                .arg(ONEACT);
            let output = command.stdin(Stdio::null()).output().unwrap();
            let log = fs::read_to_string(&log).unwrap();
            let until_stdin_is_read = log.lines().take_while(|line| !line.starts_with("read(0"));
            if !until_stdin_is_read
                .into_iter()
                .any(|line| line.contains("--- SIGTERM"))
            {
                assert!(number > least, "{number} calls of {call}");
                break;
            }
            if output.status.signal() == Some(15) {
                assert_eq!(output.stdout, b"", "{call} {number}");
                continue;
            }
            let answer = Answer::of(output);
            let expected = (143, &json!("cancelled"));
            assert_eq!((answer.exit, answer.state()), expected, "{call} {number}");
            answered += 1;
        }
    }
    assert!(answered > 0);
}

/// A pipe takes 64 KiB of the envelope, and nobody reads it. The exit code must not say that the answer is whole.
#[test]
fn an_answer_that_its_reader_does_not_take_ends_the_run_with_1() {
    let root = Root::new();
    let mut command = root.command();
    command.args(["--timeout", "1s"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let task = json!({"task_id": "t", "action": "x".repeat(1 << 20), "capability_ids": ["none"]});
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(task.to_string().as_bytes()).unwrap();
    drop(stdin);
    let status = child.wait().unwrap();
    let mut told = String::new();
    child.stderr.unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(status.code(), Some(1), "{told}");
    assert!(told.contains("its reader took nothing of it"), "{told}");
}

#[test]
fn a_terminal_that_goes_away_cancels_the_run() {
    let root = Root::new();
    let line = "import os, pty, signal, sys
pid, terminal = pty.fork()
if pid == 0:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.dup2(os.open('answer', os.O_WRONLY | os.O_CREAT, 0o600), 1)
    os.execv(sys.argv[1], sys.argv[1:])
os.read(terminal, 1000)
os.close(terminal)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))";
    let mut child = python(&root, line).spawn().unwrap();
    let exit = child.wait().unwrap().code();
    let mut answer = String::new();
    fs::File::open(root.path.join("answer"))
        .unwrap()
        .read_to_string(&mut answer)
        .unwrap();
    let envelope: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(exit, Some(129), "{}", text(child.stderr.take().unwrap()));
    assert_eq!(
        envelope.pointer("/output/content/oneact/state"),
        Some(&json!("cancelled"))
    );
    root.assert_untouched();
}
