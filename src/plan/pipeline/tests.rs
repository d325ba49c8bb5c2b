//! What a pipeline can do, and what is left of it.

mod entry;

use std::{
    ffi::OsStr,
    fs,
    io::Write as _,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
    thread,
};

use camino::Utf8PathBuf;
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};

use serde_json::json;
use tempfile::TempDir;

use crate::{
    host::{Outside, file_time, spawn_outside},
    task::{Effects, Network, PipelineApproval, SharedMemory},
};

use super::*;

/// A root and a scratch directory, which are removed at the end.
struct Place {
    root: Utf8PathBuf,
    scratch: Utf8PathBuf,
    _keep: TempDir,
}

fn place() -> Place {
    let keep = tempfile::tempdir().unwrap();
    let at = Utf8PathBuf::try_from(keep.path().canonicalize().unwrap()).unwrap();
    let place = Place {
        root: at.join("root"),
        scratch: at.join("scratch"),
        _keep: keep,
    };
    fs::create_dir(&place.root).unwrap();
    fs::create_dir(&place.scratch).unwrap();
    place
}

fn pipeline(command: &[&str]) -> Pipeline {
    let argument = |text: &&str| match text
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
    {
        Some(name) if name != "root" => Argument::Parameter(name.to_owned()),
        _ => Argument::Fixed((*text).to_owned()),
    };
    Pipeline {
        name: "p".to_owned(),
        description: String::new(),
        command: command.iter().map(argument).collect(),
        parameters: json!({"type": "object"}),
        writes: Vec::new(),
        env_pass: Vec::new(),
        network: Network::Refused,
        shared_memory: SharedMemory::Refused,
        timeout: Duration::from_mins(1),
        effects: Effects::default(),
        approval: PipelineApproval::NotNeeded,
        catalog: "catalog.toml".into(),
        seal: String::new(),
    }
}

fn shell(script: &str) -> Pipeline {
    pipeline(&["/bin/sh", "-c", script])
}

fn writing(dirs: &[&str], script: &str) -> Pipeline {
    let dirs = dirs.iter().map(|dir| RelPath::parse(dir).unwrap());
    Pipeline {
        writes: dirs.collect(),
        ..shell(script)
    }
}

fn ran(place: &Place, pipeline: &Pipeline) -> Result<String, Failure> {
    stopped_by(place, pipeline, &|| None)
}

fn stopped_by(
    place: &Place,
    pipeline: &Pipeline,
    stopped: &dyn Fn() -> Option<Failure>,
) -> Result<String, Failure> {
    run(&Launch {
        pipeline,
        parameters: &Map::new(),
        root: &place.root,
        scratch: &place.scratch,
        longest: pipeline.timeout,
        stopped,
    })
}

/// The processes with this text in their command line.
fn running(mark: &str) -> usize {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let lines = pids.filter_map(|pid| fs::read(pid.path().join("cmdline")).ok());
    lines
        .filter(|line| String::from_utf8_lossy(line).contains(mark))
        .count()
}

/// A number that no other process has in its command line, as the seconds of a `sleep`.
fn mark() -> String {
    format!("98{}", fastrand::u64(1_000_000..9_999_999))
}

#[test]
fn a_program_runs_in_the_root_with_a_clean_environment_r_001_93() {
    let place = place();
    let script = "pwd; echo $TMPDIR; env | cut -d= -f1 | sort | tr '\\n' ' '; read x || echo no input; echo err >&2";
    let output = ran(&place, &shell(script)).unwrap();
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[..2], [place.root.as_str(), place.scratch.as_str()]);
    assert!(
        lines[2].contains("PATH") && !lines[2].contains("CARGO"),
        "{output}"
    );
    assert!(output.ends_with("no input\nerr\n"), "{output}");
}

#[test]
fn it_writes_only_to_its_directories_c_23() {
    let place = place();
    fs::write(place.root.join("catalog.toml"), "old").unwrap();
    fs::create_dir(place.root.join("kept")).unwrap();
    let script = "set -x
        echo new > out/deep/file && echo new > $TMPDIR/file && echo new > /dev/null || exit 1
        echo new > catalog.toml && exit 2
        echo new > kept/file && exit 3
        echo new > ../file && exit 4
        echo new > /tmp/oneact-pipeline-test && exit 5
        mkdir other && exit 6
        rm catalog.toml && exit 7
        ln catalog.toml out/deep/hard && exit 8
        ln -s ../../catalog.toml out/deep/soft; echo new > out/deep/soft && exit 9
        mv out/deep/file kept/ && exit 10
        cat catalog.toml";
    let output = ran(&place, &writing(&["out/deep"], script)).unwrap();
    assert!(output.ends_with("\nold"), "{output}");
    assert_eq!(
        fs::read(place.root.join("out/deep/file")).unwrap(),
        b"new\n"
    );
    assert_eq!(fs::read(place.root.join("catalog.toml")).unwrap(), b"old");
}

#[test]
fn it_reaches_no_thread_of_its_warden_c_23() {
    let place = place();
    // The C library of Python has `tgkill`. The signal 0 only asks whether one could be sent.
    let script = "import ctypes, os, resource, signal
c, warden = ctypes.CDLL(None, use_errno=True), os.getppid()
for thread in os.listdir(f'/proc/{warden}/task'):
    print(c.tgkill(warden, int(thread), 0), ctypes.get_errno())
print(c.ptrace(16, warden, 0, 0), ctypes.get_errno())
def refused(call, *given):
    try: call(*given); print('done')
    except PermissionError: print('-1 1')
refused(os.kill, warden, 0)
refused(resource.prlimit, warden, resource.RLIMIT_CPU, (1, 1))
resource.prlimit(0, resource.RLIMIT_CPU, (9, 9))
signal.raise_signal(signal.SIGCHLD)";
    let output = ran(&place, &pipeline(&["python3", "-c", script]));
    let output = output.unwrap();
    assert!(output.lines().count() >= 4, "{output}");
    assert!(output.lines().all(|line| line == "-1 1"), "{output}");
}

#[test]
fn what_the_caller_of_oneact_left_open_is_closed_c_23() {
    let place = place();
    let left = fs::File::create(place.root.join("left")).unwrap();
    let left = fcntl_dupfd_cloexec(&left, 500).unwrap();
    fcntl_setfd(&left, FdFlags::empty()).unwrap();
    let output = ran(&place, &shell("cd /proc/$$/fd; echo *")).unwrap();
    assert!(output.starts_with("0 1 2"), "{output}");
    assert!(!output.contains("50"), "{output}");
}

#[test]
fn it_can_make_no_device_not_even_as_root_c_23() {
    let place = place();
    let script = "mkfifo out/pipe || exit 1; mknod out/null c 1 3 && exit 2; mknod out/disk b 7 0 && exit 3; true";
    ran(&place, &writing(&["out"], script)).unwrap();
    assert!(place.root.join("out/pipe").exists());
}

#[test]
fn a_link_in_the_place_of_its_directory_is_not_followed() {
    let place = place();
    fs::create_dir_all(place.root.join("kept/below")).unwrap();
    symlink("kept", place.root.join("out")).unwrap();
    for dir in ["out", "out/below"] {
        let failure = ran(&place, &writing(&[dir], "true")).unwrap_err();
        assert_eq!(failure.fault, Fault::PipelineNotStarted);
        assert!(
            failure.message.contains("contain a link"),
            "{}",
            failure.message
        );
    }
}

#[test]
fn the_network_is_refused_unless_the_entry_allows_it_c_23() {
    let place = place();
    let script = "import socket, sys
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
    try:
        socket.socket(family, socket.SOCK_DGRAM); print('open', end=' ')
    except PermissionError:
        print('refused', end=' ')
socket.socketpair()";
    let mut program = pipeline(&["python3", "-c", script]);
    assert_eq!(
        ran(&place, &program).unwrap(),
        "refused refused refused refused "
    );
    program.network = Network::Allowed;
    assert_eq!(ran(&place, &program).unwrap(), "open open open open ");
}

#[test]
fn semaphores_need_shared_memory_which_the_entry_allows() {
    let place = place();
    let script = "import multiprocessing; multiprocessing.get_context('spawn').RLock()";
    let mut program = pipeline(&["python3", "-c", script]);
    let failure = ran(&place, &program).unwrap_err();
    assert!(
        failure
            .message
            .ends_with("PermissionError: [Errno 13] Permission denied"),
        "{}",
        failure.message
    );
    program.shared_memory = SharedMemory::Allowed;
    ran(&place, &program).unwrap();
}

#[test]
fn a_failure_has_the_status_or_the_signal_and_the_end_of_the_output() {
    let place = place();
    for (script, how) in [
        (
            "echo why; exit 3",
            "ended with the exit status 3; the end of its output:\nwhy",
        ),
        (
            "kill -9 $$",
            "was ended by the signal 9; it printed nothing",
        ),
    ] {
        let failure = ran(&place, &shell(script)).unwrap_err();
        assert_eq!(failure.fault, Fault::PipelineFailed);
        assert_eq!(failure.message, format!("the pipeline `p` {how}"));
        assert!(!failure.recoverable);
    }
    for missing in ["no-such-program-here", "/no/such/program", "./none"] {
        let failure = ran(&place, &pipeline(&[missing])).unwrap_err();
        assert_eq!(
            failure.fault,
            Fault::PipelineNotStarted,
            "{}",
            failure.message
        );
        assert!(failure.message.contains(missing), "{}", failure.message);
    }
}

#[test]
fn a_daemon_that_left_the_group_and_ignores_term_is_ended() {
    let (place, mark) = (place(), mark());
    let script = format!(
        "trap '' TERM; setsid sh -c \"trap '' TERM; (sleep {mark} &) & sleep {mark}\" & sleep 0.2"
    );
    ran(&place, &shell(&script)).unwrap();
    assert_eq!(running(&mark), 0);
}

#[test]
fn a_process_that_forks_and_ends_all_the_time_is_ended() {
    let (place, mark) = (place(), mark());
    let script = "import os, sys, time
if os.fork() == 0:
    os.setsid()
    while True:
        if os.fork(): os._exit(0)
time.sleep(0.2)";
    ran(&place, &pipeline(&["python3", "-c", script, &mark])).unwrap();
    assert_eq!(running(&mark), 0);
}

#[test]
fn a_program_that_is_stopped_or_late_is_ended_with_all_that_it_started() {
    let (place, mark) = (place(), mark());
    let script = format!(
        "trap '' TERM; echo begun; setsid sleep {mark} & while true; do sleep {mark}; done"
    );
    let mut program = shell(&script);
    let asked = std::cell::Cell::new(0);
    let failure = stopped_by(&place, &program, &|| {
        asked.set(asked.get() + 1);
        (asked.get() > 10).then(|| Failure::new(Fault::Cancelled, "stopped"))
    });
    let failure = failure.unwrap_err();
    assert_eq!(failure.fault, Fault::Cancelled);
    assert_eq!(failure.message, "stopped; the end of its output:\nbegun");
    assert_eq!(running(&mark), 0);
    program.timeout = Duration::from_millis(300);
    let failure = ran(&place, &program).unwrap_err();
    assert_eq!(
        (failure.fault, failure.recoverable),
        (Fault::ToolTimeout, false)
    );
    assert!(
        failure
            .message
            .contains("took longer than its time limit of 300ms"),
        "{}",
        failure.message
    );
    assert_eq!(running(&mark), 0);
}

#[test]
fn a_program_has_time_to_end_by_itself() {
    let place = place();
    let mut program = writing(
        &["out"],
        "trap 'echo tidy > out/f; exit 0' TERM; while true; do sleep 0.1; done",
    );
    program.timeout = Duration::from_millis(300);
    ran(&place, &program).unwrap_err();
    assert_eq!(fs::read(place.root.join("out/f")).unwrap(), b"tidy\n");
}

#[test]
fn nothing_is_left_when_oneact_is_gone() {
    let (place, mark) = (place(), mark());
    let script = format!("setsid sleep {mark} & while true; do sleep {mark}; done");
    let job = Job {
        argv: ["/bin/sh", "-c", &script].map(str::to_owned).to_vec(),
        env: plain_environment(),
        root: place.root.to_string(),
        scratch: place.scratch.to_string(),
        writes: Vec::new(),
        network: Network::Refused,
        shared_memory: SharedMemory::Refused,
    };
    let arguments = [
        "--exact",
        "plan::child::tests::is_the_child_of_another_test",
        "--ignored",
    ];
    let Outside {
        mut child,
        mut link,
    } = spawn_outside(&arguments).unwrap();
    writeln!(link, "{}", json!({"pipeline": job})).unwrap();
    while running(&mark) < 2 {
        thread::sleep(Duration::from_millis(5));
    }
    drop(link);
    let scratch = fs::File::open(&place.scratch).unwrap();
    scratch.lock().unwrap();
    assert_eq!(running(&mark), 0);
    child.wait().unwrap();
}

#[test]
fn a_flood_of_output_is_read_and_its_end_is_kept() {
    let place = place();
    let output = ran(
        &place,
        &shell("yes | head -c 50000000; printf 'last\\033[2J'"),
    )
    .unwrap();
    assert!(output.ends_with("y\nlast^[[2J"), "{}", end_of(&output, 100));
    let first = output.lines().next().unwrap();
    assert!(
        first.starts_with("[about 499") && output.len() < SHOWN + 100,
        "{first}"
    );
}

#[test]
fn passed_variables_are_required_and_their_values_are_cut_out() {
    let place = place();
    let mut program = shell("echo the path is $PATH");
    program.env_pass = vec!["PATH".to_owned()];
    assert_eq!(ran(&place, &program).unwrap(), "the path is ***\n");
    program.env_pass = vec!["ONEACT_NO_SUCH_VARIABLE".to_owned()];
    let failure = ran(&place, &program).unwrap_err();
    assert_eq!(failure.fault, Fault::PipelineNotStarted);
    let failure = can_start(&program, &place.root, &[]).unwrap_err();
    assert!(
        failure.message.contains("ONEACT_NO_SUCH_VARIABLE"),
        "{}",
        failure.message
    );
}
