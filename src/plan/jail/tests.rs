//! What a jailed child can do, and what it cannot.

use std::{
    fs,
    net::UdpSocket,
    os::unix::net::{UnixListener, UnixStream},
    path::PathBuf,
    process::Command,
    thread,
};

use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    process::{getppid, kill_process},
};
use serde::Deserialize;

use super::*;

/// A child that tries what it may not do.
#[derive(Deserialize)]
pub(crate) struct Probe {
    scratch: PathBuf,
    outside: PathBuf,
    ends: bool,
}

impl Probe {
    /// What succeeded.
    pub(crate) fn work(&self) -> Vec<&'static str> {
        if self.ends {
            std::process::abort();
        }
        let open = |path: &std::path::Path| {
            openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap()
        };
        limit(&[(Resource::As, 1 << 32), (Resource::Fsize, 1000)]).unwrap();
        let domain = Domain::Query {
            reads: vec![open(&self.outside.join("listed"))],
            writes: vec![open(&self.scratch)],
        };
        enter(&domain).unwrap();
        let parent = getppid().unwrap();
        let file = |name: &str| self.outside.join(name);
        let raise = Rlimit {
            current: Some(1 << 40),
            maximum: Some(1 << 40),
        };
        let tried = [
            ("read listed", fs::read(file("listed")).is_ok()),
            ("read", fs::read(file("other")).is_ok()),
            (
                "read the environment",
                fs::read("/proc/self/environ").is_ok(),
            ),
            ("write listed", fs::write(file("listed"), "x").is_ok()),
            ("create", fs::write(file("new"), "x").is_ok()),
            ("delete", fs::remove_file(file("other")).is_ok()),
            (
                "rename",
                fs::rename(self.scratch.join("a"), file("a")).is_ok(),
            ),
            (
                "set the mode",
                fs::set_permissions(
                    file("other"),
                    std::os::unix::fs::PermissionsExt::from_mode(0o777),
                )
                .is_ok(),
            ),
            (
                "write in scratch",
                fs::write(self.scratch.join("b"), "x").is_ok(),
            ),
            (
                "write much",
                fs::write(self.scratch.join("c"), [0; 1001]).is_ok(),
            ),
            (
                "start a program",
                Command::new("/bin/true").status().is_ok(),
            ),
            (
                "start a thread",
                thread::Builder::new().spawn(|| ()).is_ok(),
            ),
            ("use UDP", UdpSocket::bind("127.0.0.1:0").is_ok()),
            (
                "use a local socket",
                UnixStream::connect(file("socket")).is_ok(),
            ),
            ("make a pair", UnixStream::pair().is_ok()),
            ("signal", kill_process(parent, Signal::CONT).is_ok()),
            ("raise a limit", setrlimit(Resource::As, raise).is_ok()),
        ];
        let done = tried.into_iter().filter(|(_, is_done)| *is_done);
        done.map(|(what, _)| what).collect()
    }
}

fn never() -> Option<Failure> {
    None
}

#[test]
fn a_jailed_child_can_do_only_what_its_domain_allows_c_22() {
    let (scratch, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(scratch.path().join("a"), "a").unwrap();
    fs::write(outside.path().join("listed"), "listed").unwrap();
    fs::write(outside.path().join("other"), "other").unwrap();
    let _listener = UnixListener::bind(outside.path().join("socket")).unwrap();
    let job = json!({"scratch": scratch.path(), "outside": outside.path(), "ends": false});
    let mut child = Child::start("probe", &job).unwrap();
    let done: Vec<String> = child.answer(&never).ok().unwrap();
    assert_eq!(done, ["read listed", "write in scratch", "start a thread"]);
    assert_eq!(fs::read(outside.path().join("other")).unwrap(), b"other");
}

#[test]
fn a_child_starts_outside_the_domain_of_the_thread_that_asks_for_it() {
    let (scratch, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(outside.path().join("listed"), "listed").unwrap();
    fs::write(outside.path().join("other"), "other").unwrap();
    let root = camino::Utf8Path::from_path(outside.path()).unwrap();
    let done = crate::tree::jailed(root, |_| {
        assert!(fs::write(scratch.path().join("a"), "a").is_err());
        let job = json!({"scratch": scratch.path(), "outside": outside.path(), "ends": false});
        let mut child = Child::start("probe", &job).unwrap();
        child.answer::<Vec<String>>(&never).ok().unwrap()
    });
    assert!(
        done.unwrap()
            .unwrap()
            .contains(&"write in scratch".to_owned())
    );
}

#[test]
fn a_child_that_aborts_or_takes_too_long_is_told() {
    let job = json!({"scratch": "/", "outside": "/", "ends": true});
    let mut child = Child::start("probe", &job).unwrap();
    let ended = child.answer::<Vec<String>>(&never);
    assert!(matches!(ended, Err(Ended::Died(_))));
    let mut child = Child::start("probe", &job).unwrap();
    let late = || Some(Failure::new(Fault::ToolTimeout, "late"));
    let ended = child.answer::<Vec<String>>(&late);
    assert!(matches!(ended, Err(Ended::Stopped(_))));
}
