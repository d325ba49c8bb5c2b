//! What belongs to a file beside its content is put back with it.

use super::{recovered::desk, *};
use crate::{
    plan::rollback::rollback,
    task::{Asker, PlanName, RollbackOrder, Sanction},
};

/// Permissions, owner, group and extended attributes of a file.
type Belongings = (u32, u32, u32, BTreeMap<String, Vec<u8>>);

fn belongings(path: &Utf8Path) -> Belongings {
    let facts = fs::metadata(path).unwrap();
    let path = path.as_std_path();
    let mut buffer = [0; 4096];
    let length = rustix::fs::listxattr(path, &mut buffer[..]).unwrap();
    let names = String::from_utf8(buffer[..length].to_vec()).unwrap();
    let value = |name: &str| {
        let mut buffer = [0; 4096];
        let length = rustix::fs::getxattr(path, name, &mut buffer[..]).unwrap();
        (name.to_owned(), buffer[..length].to_vec())
    };
    let extended = names.split_terminator('\0').map(value).collect();
    (facts.mode() & 0o7777, facts.uid(), facts.gid(), extended)
}

/// `cap_net_raw=ep`; only root can give it.
fn empower(path: &Utf8Path) {
    let mut capability = 0x0200_0001_u32.to_le_bytes().to_vec();
    capability.extend((1_u32 << 13).to_le_bytes());
    capability.resize(20, 0);
    let flags = rustix::fs::XattrFlags::empty();
    let _ = rustix::fs::setxattr(
        path.as_std_path(),
        "security.capability",
        &capability,
        flags,
    );
}

#[test]
fn what_is_put_back_belongs_to_whom_it_did_or_the_answer_says_that_it_does_not() {
    let act = |kind: &str, operation: Value| json!({"action_id": "a001", "action_type": kind, "target": "a.txt", "operation": operation});
    // Only root can give a file to another group, or a capability.
    let set = |path: &Utf8Path, mode: u32, group: u32, able: bool| {
        let _ = std::os::unix::fs::chown(path, None, Some(group));
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        if able {
            empower(path);
        }
    };
    let own_group = fs::metadata(Lab::new(&[]).root).unwrap().gid();
    for change in [
        replace("a001", "a.txt", "one", "eins"),
        act("FILE_DELETE", json!({"type": "delete"})),
    ] {
        for (mode, group, able) in [(0o640, own_group, false), (0o600, 65_534, true)] {
            let prepare = |path: &Utf8Path| set(path, mode, group, able);
            for (mode, group, able) in [
                (0o640, own_group, false),
                (0o600, own_group, false),
                (0o640, 65_533, false),
                (0o600, 65_534, true),
            ] {
                let tamper = |report: &Utf8Path| {
                    let backup = report.join("backups/a.txt.bak");
                    let before = belongings(&backup);
                    fs::remove_file(&backup).unwrap();
                    fs::write(&backup, "one\n").unwrap();
                    set(&backup, mode, group, able);
                    let after = belongings(&backup);
                    let differs = after != before;
                    (before, differs)
                };
                let lab = Lab::new(&[("a.txt", "one\n")]);
                let file = lab.root.join("a.txt");
                prepare(&file);
                lab.run(plan(json!([change])));
                let report = lab.reports().remove(0);
                let (before, differs) = tamper(&report);
                let order = RollbackOrder {
                    plan: PlanName::Path(report.to_string()),
                    checkpoints: Vec::new(),
                    by: Asker::Person,
                };
                let undone = rollback(&order, &Sanction::None, desk(&lab, &Course::default()));
                assert_eq!(lab.read("a.txt"), "one\n", "{undone:#?}");
                let noted = undone.notes.concat().contains("its backup does not have");
                let now = belongings(&file);
                assert_eq!((now.0, now.1, now.2), (before.0, before.1, before.2));
                assert_eq!(noted, differs, "{undone:#?}");
            }
        }
    }
}
