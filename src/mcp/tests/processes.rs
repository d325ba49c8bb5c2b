//! No process is left behind. Where it matters who adopts whom, the call runs in a process of its
//! own, as oneact's would.

use rustix::process::{Pid, Signal, kill_process};

use super::*;

fn pid(process: &std::process::Child) -> Pid {
    Pid::from_child(process)
}

#[test]
fn a_server_that_ends_well_is_gone_with_finish() {
    let stage = Stage::new("echo");
    stage.run().closing.finish();
    stage.assert_nobody_left(&["server"]);
}

#[test]
fn dropping_the_closing_ends_the_server_too() {
    let stage = Stage::new("stubborn").graceless();
    drop(stage.run());
    stage.assert_nobody_left(&["server"]);
}

#[test]
fn a_server_that_ignores_the_end_of_stdin_and_sigterm_is_killed() {
    let stage = Stage::new("stubborn").graceless();
    let end = stage.run();
    assert!(end.result.is_ok());
    assert_eq!(
        end.closing.report().exit_status,
        None,
        "it runs until it is waited for"
    );
    assert_eq!(
        end.closing.finish().exit_status,
        Some(ExitDescription::Signal(9))
    );
    stage.assert_nobody_left(&["server"]);
}

#[test]
fn what_a_server_leaves_behind_is_killed_and_reported() {
    for (mode, left) in [
        ("grandchild", "grandchild"),
        ("session", "grandchild"),
        ("daemon", "daemon"),
    ] {
        let stage = Stage::new(mode);
        let status = client(mode, &stage.folder).status().unwrap();
        assert!(status.success(), "{mode}");
        let outcome = fs::read_to_string(stage.folder.join("outcome")).unwrap();
        assert!(outcome.starts_with("Done Ok"), "{outcome}");
        let processes = stage.processes();
        let (_, pid) = processes.iter().find(|(name, _)| name == left).unwrap();
        assert!(
            outcome.contains(&format!("killed: [Killed {{ pid: {pid}, ")),
            "{outcome}"
        );
        stage.assert_nobody_left(
            &processes
                .iter()
                .map(|(name, _)| name.as_str())
                .collect::<Vec<_>>(),
        );
    }
}

#[test]
fn a_signal_cancels_the_call_and_stops_the_server() {
    let stage = Stage::new("ignores");
    let mut client = client("ignores", &stage.folder).spawn().unwrap();
    until(|| stage.methods().contains(&"tools/call".to_owned()));
    kill_process(pid(&client), Signal::TERM).unwrap();
    assert!(client.wait().unwrap().success());
    let outcome = fs::read_to_string(stage.folder.join("outcome")).unwrap();
    assert!(outcome.starts_with("Unknown Err(Cancelled"), "{outcome}");
    assert!(outcome.contains("SIGTERM"), "{outcome}");
    assert!(
        stage
            .methods()
            .contains(&"notifications/cancelled".to_owned())
    );
    stage.assert_nobody_left(&["server"]);
}

#[test]
fn the_server_dies_with_a_client_that_is_killed() {
    let stage = Stage::new("hang");
    let mut client = client("hang", &stage.folder).spawn().unwrap();
    until(|| stage.methods().contains(&"tools/call".to_owned()));
    kill_process(pid(&client), Signal::KILL).unwrap();
    client.wait().unwrap();
    let server = stage.processes().first().unwrap().1;
    until(|| !is_running(server));
}

/// Whether a process that is no child of ours runs; a zombie that waits for its new parent does not.
fn is_running(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
