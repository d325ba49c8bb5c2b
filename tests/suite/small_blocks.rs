//! A full disk on which a page of shared memory can find no block: its blocks are smaller than a page, as `mkfs.ext4` makes
//! them for small disks, or each change of a block is written to a new one (Btrfs).

use std::io::Write as _;

use serde_json::json;

use crate::program::{Answer, ONEACT, Root, run};

const SMALL: &str = "truncate -s 6M disk && mkfs.ext4 -q -F -m 0 -b 1024 disk";
const ANEW: &str = "truncate -s 120M disk && mkfs.btrfs -q disk > made";

/// A disk that is made in this way and on which so many KiB are free, in a mount namespace that ends with the run. The
/// ledger of the root exists already.
fn on_a_disk_with(make: &str, free: u32) -> Option<Answer> {
    let root = Root::new();
    let mount = format!("{make} && mkdir full && mount -o loop disk full");
    let mut probe = root.within("unshare");
    probe.args(["--mount", "sh", "-c", &mount]);
    if !probe.status().is_ok_and(|status| status.success()) {
        // Not a test that passes in silence: the reason is in its output.
        writeln!(
            std::io::stderr(),
            "skipped: no such disk can be mounted here"
        )
        .unwrap();
        return None;
    }
    let action = json!({
        "action_id": "a", "action_type": "FILE_CREATE", "target": "x.txt",
        "operation": {"type": "create", "content": "x"},
    });
    let task = |id: &str| {
        let plan = json!({"plan_id": "p", "protocol_validation": true, "action_plan": [action]});
        json!({"task_id": id, "task_plan": plan}).to_string()
    };
    let root = Root::new();
    std::fs::write(root.path.join("first"), task("first")).unwrap();
    let script = format!(
        "{mount} && mkdir full/root && {ONEACT} --root full/root < first > answer && rm full/root/x.txt
         (dd if=/dev/zero of=full/rest bs=1k || :) 2> /dev/null
         truncate -s -{free}K full/rest && sync -f full && exec {ONEACT} --root full/root"
    );
    let mut command = root.within("unshare");
    command.args(["--mount", "sh", "-c", &script]);
    Some(run(command, task("t").as_bytes()))
}

/// SQLite shares memory through a file, and a page of it that finds no block would end the process by SIGBUS.
#[test]
fn a_full_disk_is_answered_whatever_its_blocks_are() {
    for (make, most, step) in [(SMALL, 112, 8), (ANEW, 120, 20)] {
        let mut failures = 0;
        for free in (0..=most).step_by(step) {
            let Some(answer) = on_a_disk_with(make, free) else {
                break;
            };
            failures += 1 + u32::from(answer.exit != 0);
        }
        assert_ne!(failures, 1);
    }
}
