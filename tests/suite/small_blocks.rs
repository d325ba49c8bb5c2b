//! A full disk whose blocks are smaller than a page of memory, as `mkfs.ext4` makes them for small disks.

use std::io::Write as _;

use serde_json::json;

use crate::program::{Answer, ONEACT, Root, run};

/// A disk of blocks of 1 KiB on which so many KiB are free, in a mount namespace that ends with the run.
fn on_a_disk_with(free: u32) -> Option<Answer> {
    let root = Root::new();
    let mount = "truncate -s 6M disk && mkfs.ext4 -q -F -m 0 -b 1024 disk && mkdir full && mount -o loop disk full";
    let mut probe = root.within("unshare");
    probe.args(["--mount", "sh", "-c", mount]);
    if !probe.status().is_ok_and(|status| status.success()) {
        // Not a test that passes in silence: the reason is in its output.
        writeln!(std::io::stderr(), "skipped: no disk can be mounted here").unwrap();
        return None;
    }
    let root = Root::new();
    let script = format!(
        "{mount} && mkdir full/root && (dd if=/dev/zero of=full/rest bs=1k || :) 2> /dev/null
         truncate -s -{free}K full/rest && sync -f full && exec {ONEACT} --root full/root"
    );
    let mut command = root.within("unshare");
    command.args(["--mount", "sh", "-c", &script]);
    let action = json!({
        "action_id": "a", "action_type": "FILE_CREATE", "target": "x.txt",
        "operation": {"type": "create", "content": "x"},
    });
    let task = json!({
        "task_id": "t",
        "task_plan": {"plan_id": "p", "protocol_validation": true, "action_plan": [action]},
    });
    Some(run(command, task.to_string().as_bytes()))
}

/// SQLite shares memory through a file, and a page of it that finds no block would end the process by SIGBUS.
#[test]
fn a_full_disk_of_small_blocks_is_answered() {
    let mut failures = 0;
    for free in (64..=112).step_by(8) {
        let Some(answer) = on_a_disk_with(free) else {
            return;
        };
        failures += u32::from(answer.exit != 0);
    }
    assert!(failures > 0);
}
