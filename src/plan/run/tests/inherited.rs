//! What is made in a directory has what the kernel would have given it there.

use std::os::unix::fs::{PermissionsExt, chown};

use rustix::fs::{XattrFlags, getxattr, setxattr};

use super::*;

const DEFAULT: &str = "system.posix_acl_default";
const ACCESS: &str = "system.posix_acl_access";

/// An ACL as the kernel keeps it: owner and user 1000 all, group `r-x`, others nothing.
fn acl() -> Vec<u8> {
    const NONE: u32 = u32::MAX;
    let entries: [(u16, u16, u32); 5] = [
        (0x01, 7, NONE),
        (0x02, 7, 1000),
        (0x04, 5, NONE),
        (0x10, 7, NONE),
        (0x20, 0, NONE),
    ];
    let mut acl = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        acl.extend(tag.to_le_bytes());
        acl.extend(permissions.to_le_bytes());
        acl.extend(id.to_le_bytes());
    }
    acl
}

/// Mode, group and ACLs.
pub(super) fn facts(path: &Utf8Path) -> (u32, u32, [Option<Vec<u8>>; 2]) {
    let metadata = fs::metadata(path).unwrap();
    let acls = [ACCESS, DEFAULT].map(|name| {
        let mut value = vec![0; 1024];
        let length = getxattr(path.as_std_path(), name, &mut value[..]).ok()?;
        value.truncate(length);
        Some(value)
    });
    (metadata.permissions().mode(), metadata.gid(), acls)
}

/// Gives a directory that default ACL; none where there are no ACLs.
pub(super) fn give_acl(dir: &Utf8Path) -> Option<Vec<u8>> {
    with_acl(dir).then(acl)
}

fn create(id: &str, target: &str) -> Value {
    json!({"action_id": id, "action_type": "FILE_CREATE", "target": target,
        "operation": {"type": "create", "content": "x"}})
}

/// What a plan makes in `d`, and what the kernel makes beside it, are alike.
fn alike(lab: &Lab) {
    let done = lab.run(plan(json!([
        create("a", "d/n"),
        create("b", "d/s/n"),
        replace("c", "old", "o", "O")
    ])));
    assert_eq!(status(&done), Some(Status::Success), "{:?}", done.failure);
    let dir = lab.root.join("d");
    fs::create_dir(dir.join("kernel")).unwrap();
    for path in ["kernel-n", "kernel/n"] {
        fs::write(dir.join(path), "x").unwrap();
    }
    for (made, kernels) in [("n", "kernel-n"), ("s", "kernel"), ("s/n", "kernel/n")] {
        assert_eq!(facts(&dir.join(made)), facts(&dir.join(kernels)), "{made}");
    }
}

/// Whether this file system has ACLs.
fn with_acl(path: &Utf8Path) -> bool {
    setxattr(path.as_std_path(), DEFAULT, &acl(), XattrFlags::empty()).is_ok()
}

#[test]
fn a_default_acl_is_handed_on_to_files_and_directories() {
    let lab = Lab::new(&[("old", "o"), ("d/f", "f")]);
    if !with_acl(&lab.root.join("d")) {
        return;
    }
    alike(&lab);
    let (mode, ..) = facts(&lab.root.join("d/n"));
    assert_eq!(mode & 0o007, 0);
}

#[test]
fn an_acl_of_the_root_is_handed_on_to_nothing_that_has_its_own_attributes() {
    let lab = Lab::new(&[("old", "o"), ("d/f", "f")]);
    let before = facts(&lab.root.join("old"));
    if !with_acl(&lab.root) {
        return;
    }
    alike(&lab);
    assert_eq!(facts(&lab.root.join("old")), before);
}

#[test]
fn a_group_is_handed_on_to_files_and_directories() {
    let lab = Lab::new(&[("old", "o"), ("d/f", "f")]);
    let dir = lab.root.join("d");
    // Another group, where we may give it.
    let _ = chown(&dir, None, Some(33));
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o2775)).unwrap();
    alike(&lab);
    let (mode, ..) = facts(&dir.join("s"));
    assert_ne!(mode & 0o2000, 0);
}
