//! The processes below this one: whether there were any at its start (a shell may start children and then become
//! this program by `exec`), and whether one of them has a file open for writing.

use std::{
    collections::HashSet,
    fs::{self, Metadata},
    io, iter,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    io::Errno,
    process::{
        Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, set_child_subreaper,
        set_parent_process_death_signal, waitid,
    },
};

use super::interrupts::heed_children;

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

/// Examines all descendants of this process. A process that cannot be examined counts as one that writes. Other
/// processes are not examined.
pub fn is_being_written(file: &Metadata) -> bool {
    descendants().any(|pid| writes(pid, file))
}

/// The processes below this one, as they are found.
fn descendants() -> impl Iterator<Item = i32> {
    let own = getpid().as_raw_pid();
    let (mut seen, mut next) = (HashSet::from([own]), children_of(own));
    iter::from_fn(move || {
        let pid = iter::from_fn(|| next.pop()).find(|pid| seen.insert(*pid))?;
        next.extend(children_of(pid));
        Some(pid)
    })
}

/// Signals every process below this one.
pub fn signal_descendants(signal: Signal) {
    for pid in descendants().filter_map(Pid::from_raw) {
        // It may have ended.
        let _ = kill_process(pid, signal);
    }
}

/// Reaps the children that have ended, and says whether there are others. Of a subreaper
/// ([`adopt_orphans`]), the last child has ended only when every process below it has.
pub fn has_children() -> bool {
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    loop {
        match waitid(WaitId::All, ended) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Makes this process the parent of each process below it whose own parent ends, and lets it learn how they end also
/// if its caller ignored SIGCHLD. It outlives the thread that started it.
pub fn adopt_orphans() -> io::Result<()> {
    heed_children();
    set_child_subreaper(Some(getpid()))?;
    Ok(set_parent_process_death_signal(None)?)
}

/// The children of all threads of a process (proc(5), `/proc/PID/task/TID/children`).
fn children_of(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let lists = threads.into_iter().flatten().flatten();
    let lists = lists.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let all: Vec<String> = lists.collect();
    let pids = all.iter().flat_map(|list| list.split_ascii_whitespace());
    pids.filter_map(|pid| pid.parse().ok()).collect()
}

fn writes(pid: i32, file: &Metadata) -> bool {
    let process = format!("/proc/{pid}");
    let Ok(open) = fs::read_dir(format!("{process}/fd")) else {
        // A process that has ended has no open files.
        return Path::new(&process).exists() && !has_ended(pid);
    };
    let is_file = |found: Metadata| (found.dev(), found.ino()) == (file.dev(), file.ino());
    open.flatten().any(|descriptor| {
        fs::metadata(descriptor.path()).is_ok_and(is_file)
            && may_write(&process, &descriptor.file_name().to_string_lossy())
    })
}

/// Whether a descriptor is not read-only. The last two bits of its octal flags are the access mode.
fn may_write(process: &str, descriptor: &str) -> bool {
    let told = fs::read_to_string(format!("{process}/fdinfo/{descriptor}")).unwrap_or_default();
    let flags = told.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.is_none_or(|flags| !flags.trim().ends_with(['0', '4']))
}

/// Whether a process is a zombie. Its descriptors cannot be read.
fn has_ended(pid: i32) -> bool {
    let told = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = told.rsplit_once(") ").map(|(_, rest)| rest);
    state.is_none_or(|state| state.starts_with(['Z', 'X']))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_file_that_a_process_below_us_writes_is_told_from_one_that_it_reads() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        for (redirection, written) in [("3>>", true), ("3<>", true), ("3<", false)] {
            fs::write(&path, "x").unwrap();
            let file = fs::metadata(&path).unwrap();
            assert!(!is_being_written(&file));
            // The shell's child has it open, not the shell.
            let script = format!("(echo; exec sleep 60) {redirection}\"$0\" & read -r _");
            let mut shell = Command::new("sh")
                .args(["-c", &script])
                .arg(&path)
                .stdin(std::process::Stdio::piped())
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            let mut said = [0; 1];
            io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut said).unwrap();
            assert_eq!(is_being_written(&file), written, "{redirection}");
            let child = children_of(shell.id().try_into().unwrap());
            let pid = Pid::from_raw(child[0]).unwrap();
            kill_process(pid, Signal::KILL).unwrap();
            drop(shell.stdin.take());
            shell.wait().unwrap();
        }
    }
}
