//! A diff of 50 files that is killed, or to which the kernel answers an error, at calls spread over the whole run: the tree is
//! as before or as asked.

use std::collections::BTreeSet;

use nix::errno::Errno;
use serde_json::json;

use super::disks::say;
use super::lab::{End, Fault, Lab, Tree, Which, all, memory, oneact, run_under};
use crate::tracer::is_refused;

const FILES: usize = 50;

/// A tree, and the diff that changes, renames, deletes and creates files of it.
fn lab() -> Lab {
    let lab = Lab::empty(memory());
    for file in 0..FILES {
        lab.write(&format!("d{}/f{file}.txt", file % 5), "one\ntwo\nthree\n");
    }
    lab
}

fn diff() -> String {
    let one = |file: usize| {
        let name = format!("d{}/f{file}.txt", file % 5);
        match file % 5 {
            0 => format!(
                "diff --git a/{name} b/{name}.new\nsimilarity index 60%\nrename from {name}\nrename to {name}.new\n\
                 --- a/{name}\n+++ b/{name}.new\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"
            ),
            1 => format!(
                "diff --git a/{name} b/{name}\ndeleted file mode 100644\n--- a/{name}\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n\
                 -two\n-three\n"
            ),
            2 => format!("--- /dev/null\n+++ b/new/{file}.txt\n@@ -0,0 +1 @@\n+new\n"),
            3 => format!(
                "diff --git a/l{file} b/l{file}\nnew file mode 120000\n--- /dev/null\n+++ b/l{file}\n@@ -0,0 +1 @@\n+{name}\n\
                 \\ No newline at end of file\n"
            ),
            _ => format!("--- a/{name}\n+++ b/{name}\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"),
        }
    };
    (0..FILES).map(one).collect()
}

fn apply(lab: &Lab, fault: Fault) -> End {
    let mut command = oneact(&lab.root);
    lab.write(".cache/change.diff", &diff());
    command.args(["apply", "--yes", ".cache/change.diff"]);
    run_under(command, &lab.root, &json!(null), fault)
}

/// The calls of a run that changes everything: the first at which nothing is killed any more, found by halving.
fn calls() -> u64 {
    let (mut killed, mut whole) = (1_u64, 4096_u64);
    while whole - killed > 1 {
        let middle = killed.midpoint(whole);
        if apply(&lab(), Fault::Kill(middle)).killed {
            killed = middle;
        } else {
            whole = middle;
        }
    }
    killed
}

#[test]
fn a_diff_of_50_files_is_all_or_nothing() {
    if is_refused() {
        return;
    }
    let old = lab().tree();
    let done = lab();
    apply(&done, Fault::None).succeeded("undisturbed");
    let new = done.tree();
    let which = |tree: &Tree, told: &str| {
        if *tree == old {
            Which::Old
        } else {
            assert_eq!(*tree, new, "{told}");
            Which::New
        }
    };
    let calls = calls();
    let points = if all() { 300 } else { 24 };
    let at = |point: u64| 1 + point * calls / points;
    let mut ends = BTreeSet::new();
    for point in 0..points {
        let fault = Fault::Kill(at(point));
        let (lab, told) = (lab(), fault.to_string());
        apply(&lab, fault);
        ends.insert(format!("killed: {:?}", which(&lab.settled(&told), &told)));
    }
    for point in 0..points {
        let errno = [Errno::ENOSPC, Errno::EIO, Errno::EACCES][usize::try_from(point).unwrap() % 3];
        let fault = Fault::Once(errno, at(point));
        let (lab, told) = (lab(), fault.to_string());
        let end = apply(&lab, fault);
        let found = which(&lab.settled(&told), &told);
        // A failed wait for the disk after the last change leaves the new tree, and is told.
        assert!(
            end.exit != Some(0) || found == Which::New,
            "{told}: {end:?}"
        );
        ends.insert(format!("refused: {found:?}"));
    }
    say(&format!(
        "a diff of {FILES} files, {points} kills and {points} errors over {calls} calls: {ends:?}"
    ));
    assert!(
        ends.contains("killed: Old") && ends.contains("refused: Old"),
        "{ends:?}"
    );
}
