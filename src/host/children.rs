//! The children of this process, and whether it had any at its start: a shell may start children and then become
//! this program by `exec`.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    io::Errno,
    process::{Pid, WaitId, WaitIdOptions, getpid, waitid},
};

static INHERITED: AtomicBool = AtomicBool::new(false);

/// Records whether this process has running children. Call it at the start of the process.
pub fn look_for_children() {
    INHERITED.store(children().into_iter().any(runs), Ordering::Relaxed);
}

/// Whether there were running children at the start.
pub fn had_children() -> bool {
    INHERITED.load(Ordering::Relaxed)
}

/// The children of the first thread, zombies included (proc(5), `/proc/PID/task/TID/children`).
pub fn children() -> Vec<Pid> {
    // Usually there are none, and this check is faster than reading the file.
    let any = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if let Err(Errno::CHILD) = waitid(WaitId::All, any) {
        return Vec::new();
    }
    let own = getpid().as_raw_pid();
    fs::read_to_string(format!("/proc/self/task/{own}/children"))
        .unwrap_or_default()
        .split_ascii_whitespace()
        .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
        .collect()
}

/// Whether a child still runs. It is not reaped.
fn runs(pid: Pid) -> bool {
    let quietly = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::Pid(pid), quietly), Ok(None))
}
