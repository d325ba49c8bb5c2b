//! Files and places that have a second name.

use std::process::Command;

use super::*;

/// A mount that ends with the test; none where it cannot be made.
struct Mount(Utf8PathBuf);

impl Mount {
    fn bind(lab: &Lab, from: &str, at: &str) -> Option<Self> {
        let at = lab.root.join(at);
        fs::create_dir_all(&at).unwrap();
        let mut mount = Command::new("mount");
        mount.arg("--bind").arg(lab.root.join(from)).arg(&at);
        let made = mount.output().is_ok_and(|done| done.status.success());
        made.then_some(Self(at))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_protected_place_that_is_mounted_elsewhere_is_protected_there_too() {
    let lab = Lab::new(&[
        (".git/hooks/x", "x"),
        ("data/l.db", "l"),
        ("free/f", "f"),
        ("own/secrets.d/s", "s"),
    ]);
    let mounts = [(".git", "g"), ("data", "deep/alias"), ("free", "other")]
        .map(|(from, at)| Mount::bind(&lab, from, at));
    if mounts.iter().any(Option::is_none) {
        return;
    }
    let create = |target: &str| {
        json!({"action_id": "a", "action_type": "FILE_CREATE", "target": target,
            "operation": {"type": "create", "content": "x"}})
    };
    let delete = |target: &str| {
        json!({"action_id": "a", "action_type": "FILE_DELETE", "target": target,
            "operation": {"type": "delete"}})
    };
    let own = || vec![lab.root.join("data/l.db"), lab.root.join("data/l.db-wal")];
    for (action, protects) in [
        (create("g/hooks/pre-commit"), true),
        (delete("g/hooks/x"), true),
        (delete("deep/alias/l.db"), true),
        (create("deep/alias/l.db-wal"), true),
        (create("deep/alias/other"), false),
        (delete("other/f"), false),
    ] {
        let done = lab.run_owning(plan(json!([action])), &own);
        match done.failure {
            Some(failure) => {
                assert!(protects, "{action}: {}", failure.message);
                assert_eq!(failure.fault, Fault::ProtectedFile, "{}", failure.message);
                assert!(
                    failure.message.contains("by another name"),
                    "{}",
                    failure.message
                );
            }
            None => assert!(!protects, "{action}"),
        }
    }
    assert_eq!(lab.read("data/l.db"), "l");
}

#[test]
fn a_file_with_two_names_is_not_parted_from_the_other() {
    let lab = Lab::new(&[("a.txt", "one\n")]);
    fs::hard_link(lab.root.join("a.txt"), lab.root.join("b.txt")).unwrap();
    let finished = lab.run(plan(json!([replace("a001", "a.txt", "one", "two")])));
    assert_eq!(finished.failure.unwrap().fault, Fault::SharedFile);
    assert_eq!(lab.read("b.txt"), "one\n");
}
