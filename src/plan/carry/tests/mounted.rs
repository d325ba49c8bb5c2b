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
