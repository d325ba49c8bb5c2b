//! Whoever is killed holds nothing any more, and leaves nothing half written.

use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, Command, Stdio},
};

use super::*;

/// This test program again, as [`another_process`].
fn process(path: &Utf8Path) -> Child {
    let name = concat!(module_path!(), "::another_process");
    let name = name.split_once("::").unwrap().1;
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{path}").unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().ends_with("it holds")));
    child
}

#[test]
#[ignore = "what another process does"]
fn another_process() {
    let mut path = String::new();
    if std::io::stdin().read_line(&mut path).unwrap() == 0 {
        return;
    }
    let mut store = opened(path.trim_end().into());
    store.hold(1).unwrap();
    written(&mut store, |tx| -> Result<(), StoreError> {
        another(tx)?;
        writeln!(std::io::stdout(), "it holds").unwrap();
        loop {
            thread::park();
        }
    });
}

#[test]
fn a_killed_process_holds_no_claim_and_left_no_half_of_a_transaction() {
    let (_dir, path) = nowhere();
    let mut store = filled(&path, 1);
    let mut child = process(&path);
    assert!(store.held(1).unwrap());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!store.held(1).unwrap());
    assert_eq!(count(&path), 1);
    write(&mut store, Durability::Disk, another).unwrap();
    assert_eq!(count(&path), 2);
}
