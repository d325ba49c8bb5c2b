//! A program is started as `std::process::Command` would start it.

use std::{fs, io::Read, os::unix::fs::PermissionsExt, path::Path};

use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::*;

/// What the program writes to stdout, once it has ended.
fn said(argv: &[&str], env: &[(&str, &str)], directory: &Path) -> io::Result<String> {
    let argv: Vec<String> = argv.iter().map(|&text| text.to_owned()).collect();
    let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    let env = env.iter().map(owned).collect();
    let spawned = spawn(&Program::new(argv, directory.to_str().unwrap().into(), env))?;
    drop(spawned.stdin);
    let mut text = String::new();
    fs::File::from(spawned.stdout).read_to_string(&mut text)?;
    waitid(WaitId::Pid(spawned.pid), WaitIdOptions::EXITED).unwrap();
    Ok(text)
}

fn script(dir: &Path, name: &str, text: &str, mode: u32) {
    fs::write(dir.join(name), text).unwrap();
    fs::set_permissions(dir.join(name), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn it_sees_its_arguments_its_environment_and_its_directory_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    let told = said(
        &["/bin/sh", "-c", "pwd; echo \"$0,$1\"; export -p", "a b", ""],
        &[("KEY", "x=y")],
        &dir,
    );
    let told = told.unwrap();
    let mut lines = told.lines();
    assert_eq!(lines.next(), dir.to_str());
    assert_eq!(lines.next(), Some("a b,"));
    assert_eq!(
        lines.find(|line| line.contains("KEY")),
        Some("export KEY='x=y'")
    );
    assert!(!told.contains("HOME"), "{told}");
}

#[test]
fn it_is_looked_for_in_the_path_of_its_own_environment() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (dir.path().join("first"), dir.path().join("second"));
    fs::create_dir_all(&first).unwrap();
    fs::create_dir_all(&second).unwrap();
    script(&first, "tool", "#!/bin/sh\necho first", 0o644);
    script(&second, "tool", "#!/bin/sh\necho second", 0o755);
    let path = format!("/nowhere:{}:{}", first.display(), second.display());
    let told = said(&["tool"], &[("PATH", &path)], dir.path()).unwrap();
    assert_eq!(told, "second\n");
    let told = said(&["./tool"], &[("PATH", "/nowhere")], &second).unwrap();
    assert_eq!(told, "second\n");
}

#[test]
fn a_script_that_names_no_interpreter_is_one_for_sh() {
    let dir = tempfile::tempdir().unwrap();
    script(dir.path(), "plain", "echo \"$1\"", 0o755);
    assert_eq!(said(&["./plain", "x"], &[], dir.path()).unwrap(), "x\n");
}

#[test]
fn a_program_at_our_terminal_has_our_environment_and_gets_its_input() {
    let script = "echo \"$HOME $ADDED\"; cat; exit $0";
    let run = |code| {
        let arguments = ["-c", script, code];
        at_our_terminal("/bin/sh", &arguments, Some(("ADDED", "x")), b"input")
    };
    let home = variable("HOME").unwrap_or_default();
    assert_eq!(run("0"), Ok(format!("{home} x\ninput").into_bytes()));
    let ended = "/bin/sh ended with exit status: 3".to_owned();
    assert_eq!(run("3"), Err(ended));
    // Nobody reads the input.
    assert_eq!(at_our_terminal("true", &[], None, b"input"), Ok(vec![]));
    let missing = at_our_terminal("./missing", &[], None, b"").unwrap_err();
    assert!(missing.starts_with("./missing did not start"), "{missing}");
}

#[test]
fn why_there_is_no_program_is_told() {
    let dir = tempfile::tempdir().unwrap();
    script(dir.path(), "locked", "", 0o644);
    let path = dir.path().to_str().unwrap();
    let error = |argv: &[&str], dir: &Path| said(argv, &[("PATH", path)], dir).unwrap_err().kind();
    assert_eq!(
        error(&["locked"], dir.path()),
        io::ErrorKind::PermissionDenied
    );
    assert_eq!(error(&["missing"], dir.path()), io::ErrorKind::NotFound);
    assert_eq!(error(&[""], dir.path()), io::ErrorKind::NotFound);
    assert_eq!(
        error(&["/bin/sh/x"], dir.path()),
        io::ErrorKind::NotADirectory
    );
    assert_eq!(
        error(&["/bin/sh"], &dir.path().join("no")),
        io::ErrorKind::NotFound
    );
    assert_eq!(error(&["a\0b"], dir.path()), io::ErrorKind::InvalidInput);
}

#[test]
fn it_begins_with_no_signal_blocked_or_caught_and_leads_its_group() {
    let _caught = Interrupts::catch();
    let status = said(&["/bin/cat", "/proc/self/status"], &[], Path::new("/")).unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().split_whitespace().last().unwrap().to_owned()
    };
    let mask = |name| u64::from_str_radix(&field(name), 16).unwrap();
    assert_eq!((mask("SigBlk:"), mask("SigCgt:")), (0, 0));
    assert_eq!(mask("SigIgn:") & (1 << (Signal::PIPE.as_raw() - 1)), 0);
    assert_eq!(field("NSpgid:"), field("Pid:"));
}

#[test]
fn a_program_whose_end_was_seen_keeps_its_id_until_it_is_reaped() {
    let mut child = Command::new("/bin/sh")
        .args(["-c", "exit 3"])
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&child);
    let seen = std::iter::repeat_with(|| end_of(pid).unwrap()).flatten();
    // Looking again finds the same.
    let codes: Vec<_> = seen.take(2).map(|end| end.exit_status()).collect();
    assert_eq!(codes, [Some(3), Some(3)]);
    assert!(rustix::process::test_kill_process(pid).is_ok());
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert!(end_of(pid).is_err());
}

#[test]
fn what_a_told_program_leaves_in_its_group_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    let argv = ["/bin/sh", "-c", "sleep 600 & echo $! > left; exit 4"].map(str::to_owned);
    let cwd = dir.path().to_str().unwrap().into();
    let program = Program::new(argv.to_vec(), cwd, plain_environment());
    let told = tell(
        &program,
        Vec::new(),
        Duration::from_mins(10),
        &Interrupts::catch(),
    );
    assert_eq!(told.unwrap_err(), "/bin/sh ended with exit status: 4");
    let left = fs::read_to_string(dir.path().join("left")).unwrap();
    let state = || fs::read_to_string(format!("/proc/{}/stat", left.trim())).unwrap_or_default();
    // It becomes a zombie if nobody reaps it.
    while !state().is_empty() && !state().contains(") Z ") {
        thread::sleep(Duration::from_millis(5));
    }
}
