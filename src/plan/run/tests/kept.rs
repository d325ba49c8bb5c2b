//! What belongs to a file beside its content is kept.

use super::*;

#[test]
fn mode_owner_and_attributes_are_kept_r_001_130() {
    let lab = Lab::new(&[("run.sh", "echo one\n")]);
    let path = lab.root.join("run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    rustix::fs::setxattr(
        path.as_std_path(),
        "user.note",
        b"kept",
        rustix::fs::XattrFlags::empty(),
    )
    .unwrap();
    let finished = lab.run(plan(json!([replace("a001", "run.sh", "one", "two")])));
    assert_eq!(status(&finished), Some(Status::Success), "{finished:#?}");
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
        0o751
    );
    let mut value = [0; 4];
    rustix::fs::getxattr(path.as_std_path(), "user.note", &mut value[..]).unwrap();
    assert_eq!(&value, b"kept");
}

#[test]
fn a_file_that_is_deleted_and_created_again_keeps_what_belongs_to_it_r_001_130() {
    const NOTE: &str = "user.note";
    const ACL: &str = "system.posix_acl_access";
    // Version 2: the owner rw, user 1 r, the group r, the mask r, others nothing.
    let entries = [
        (1_u16, 6_u16, !0),
        (2, 4, 1),
        (4, 4, !0),
        (16, 4, !0),
        (32, 0, !0_u32),
    ];
    let mut acl = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        acl.extend(tag.to_le_bytes());
        acl.extend(permissions.to_le_bytes());
        acl.extend(id.to_le_bytes());
    }
    for (mode, wanted) in [
        (Value::Null, 0o640),
        (json!("0604"), 0o604),
        (json!("0640"), 0o640),
    ] {
        let lab = Lab::new(&[("a.txt", "one\n")]);
        let path = lab.root.join("a.txt");
        let path = path.as_std_path();
        fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap();
        let set = |name, value: &[u8]| {
            rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty())
        };
        set(NOTE, b"kept").unwrap();
        let has_acl = set(ACL, &acl).is_ok();
        let mut create = json!({"type": "create", "content": "two\n", "mode": mode});
        if mode.is_null() {
            create.as_object_mut().unwrap().remove("mode");
        }
        let finished = lab.run(plan(json!([
            {"action_id": "a001", "action_type": "FILE_DELETE", "target": "a.txt", "operation": {"type": "delete"}},
            {"action_id": "a002", "action_type": "FILE_CREATE", "target": "t.txt", "operation": create},
            {"action_id": "a003", "action_type": "FILE_RENAME", "target": "t.txt",
                "operation": {"type": "rename", "new_path": "a.txt"}},
        ])));
        assert_eq!(status(&finished), Some(Status::Success), "{finished:#?}");
        assert_eq!(lab.read("a.txt"), "two\n");
        let is = fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(is, wanted, "{is:o}");
        let mut value = [0; 64];
        let length = rustix::fs::getxattr(path, NOTE, &mut value[..]).unwrap();
        assert_eq!(value.get(..length), Some(&b"kept"[..]));
        if has_acl {
            assert!(rustix::fs::getxattr(path, ACL, &mut value[..]).is_ok());
        }
    }
}

#[test]
fn no_two_originals_have_the_same_backup() {
    let lab = Lab::new(&[("2", "two\n"), ("x", "ex\n"), ("x.bak/y", "why\n")]);
    let before = lab.tree();
    let write = |id: &str, target: &str| {
        json!({"action_id": id, "action_type": "FILE_MODIFY", "target": target,
            "operation": {"type": "replace_content", "content": "new\n"}})
    };
    let done = lab.run(plan(json!([
        write("a", "2"),
        write("b", "x"),
        write("c", "x.bak/y")
    ])));
    assert_eq!(status(&done), Some(Status::Success), "{:?}", done.failure);
    recovered::undo_the_first(&lab);
    assert_eq!(lab.tree(), before);
}
