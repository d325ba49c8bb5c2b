//! Files and places that have a second name.

use std::process::Command;

use super::*;

/// A mount that ends with the test; none where it cannot be made.
struct Mount(Utf8PathBuf);

impl Mount {
    fn bind(lab: &Lab, from: &str, at: &str) -> Option<Self> {
        let at = lab.root.join(at);
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
fn a_file_that_is_a_mount_point_is_refused() {
    let lab = Lab::new(&[("config", "port: 1\n"), ("bound", "x")]);
    let Some(_mount) = Mount::bind(&lab, "config", "bound") else {
        return;
    };
    for operation in [
        json!({"type": "replace_content", "content": "port: 80\n"}),
        json!({"type": "text_replace", "pattern": "1", "replacement": "80"}),
    ] {
        let action = json!({"action_id": "a", "action_type": "FILE_MODIFY", "target": "bound", "operation": operation});
        let failure = lab.run(plan(json!([action]))).failure.unwrap();
        assert_eq!(failure.fault, Fault::NotAFile, "{}", failure.message);
        let told = "`bound` is a mount point";
        assert!(failure.message.contains(told), "{}", failure.message);
    }
    assert_eq!(lab.read("config"), "port: 1\n");
}

#[test]
fn a_file_with_two_names_is_not_parted_from_the_other() {
    let lab = Lab::new(&[("a.txt", "one\n")]);
    fs::hard_link(lab.root.join("a.txt"), lab.root.join("b.txt")).unwrap();
    let finished = lab.run(plan(json!([replace("a001", "a.txt", "one", "two")])));
    assert_eq!(finished.failure.unwrap().fault, Fault::SharedFile);
    assert_eq!(lab.read("b.txt"), "one\n");
}

/// On another mount, slots lie beside the files of the user.
#[test]
fn a_plan_on_another_mount_leaves_the_default_acl_of_a_directory_and_hands_it_to_no_file_that_has_its_own()
 {
    let lab = Lab::new(&[("data/old", "one\n"), ("data/gone", "two\n"), ("m/x", "")]);
    let dir = lab.root.join("data");
    let Some(acl) = inherited::give_acl(&dir) else {
        return; // No ACLs here.
    };
    for name in ["old", "gone"] {
        fs::set_permissions(dir.join(name), fs::Permissions::from_mode(0o640)).unwrap();
    }
    let Some(_mount) = Mount::bind(&lab, "data", "m") else {
        return;
    };
    let create = |id: &str, target: &str| {
        json!({"action_id": id, "action_type": "FILE_CREATE", "target": target,
            "operation": {"type": "create", "content": "x"}})
    };
    let done = lab.run(plan(json!([
        create("a", "m/new"),
        create("b", "m/q/new"),
        replace("c", "m/old", "one", "eins"),
        {"action_id": "d", "action_type": "FILE_DELETE", "target": "m/gone", "operation": {"type": "delete"}},
    ])));
    assert_eq!(status(&done), Some(Status::Success), "{:?}", done.failure);
    let (.., acls) = inherited::facts(&dir);
    assert_eq!(acls[1].as_ref(), Some(&acl));
    let (mode, _, acls) = inherited::facts(&dir.join("old"));
    assert_eq!((mode & 0o777, acls), (0o640, [None, None]));
    for (made, kernels) in [("new", "kernel-new"), ("q/new", "q/kernel-new")] {
        fs::write(dir.join(kernels), "x").unwrap();
        let facts = |name| inherited::facts(&dir.join(name));
        assert_eq!(facts(made), facts(kernels), "{made}");
    }
    for name in ["kernel-new", "q/kernel-new"] {
        fs::remove_file(dir.join(name)).unwrap();
    }
    recovered::undo_the_first(&lab);
    for name in ["old", "gone"] {
        let (mode, _, acls) = inherited::facts(&dir.join(name));
        assert_eq!((mode & 0o777, acls), (0o640, [None, None]), "{name}");
    }
}
