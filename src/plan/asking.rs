//! Questions about plans: their status, cancelling one, and how an interrupted one ended.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{
    host,
    task::{Failure, Fault, Outcome, PlanName, RelPath},
};

use super::{
    Desk,
    carry::{locked, stopped},
    engine::{
        Entry, Folder, Mark, Origin, REPORTS, State, account, finished, is_undone, mark_of,
        unfinished,
    },
    files::{FileError, Root},
    limits::PLAN_TIMEOUT,
    nothing_done, refused,
    report::{self, EXECUTION_REPORT, MANIFEST},
    reported,
};

pub(crate) fn status(plan: &PlanName, desk: Desk<'_>) -> Outcome {
    let told = || -> Result<Outcome, Failure> {
        let root = Root::open(desk.root)?;
        if let Some((name, mark)) = under_way(&root, plan)? {
            let sentence = format!(
                "Plan {} is under way in process {} ({REPORTS}/{name}).",
                mark.plan_id, mark.pid
            );
            return Ok(nothing_done(sentence));
        }
        let name = find(&root, plan)?;
        let folder = Folder::open(&root, &name)?;
        let text = folder.report(EXECUTION_REPORT)?;
        let report: Value = serde_json::from_slice(&text).map_err(|error| {
            let message = format!("the report in {} is not JSON: {error}", &folder.path);
            Failure::new(Fault::ContentInvalid, message)
        })?;
        let status = report
            .get("status")
            .and_then(Value::as_str)
            .unwrap_or("unknown");
        let sentence = format!("The plan of {} ended: {status}.", &folder.path);
        let mut files = report::files(&folder.path);
        if folder.dir.look(MANIFEST)?.is_none() {
            files.rollback_manifest = None;
        }
        let told = Outcome {
            execution_report: Some(report).filter(|report| !report.is_null()),
            ..nothing_done(sentence)
        };
        Ok(reported(told, files))
    };
    told().unwrap_or_else(refused)
}

/// Asks the process that applies a plan to stop and undo it.
pub(crate) fn cancel(plan: &PlanName, desk: Desk<'_>) -> Outcome {
    let asked = || -> Result<Outcome, Failure> {
        let root = Root::open(desk.root)?;
        let none = || {
            let message = "no such plan is under way below this root; nothing was cancelled";
            Failure::new(Fault::InputUnresolved, message)
        };
        let (_, mark) = under_way(&root, plan)?.ok_or_else(none)?;
        let pid = Pid::from_raw(mark.pid).ok_or_else(none)?;
        kill_process(pid, Signal::TERM).map_err(|_| none())?;
        Ok(nothing_done(format!(
            "Asked process {} to stop and undo plan {}; its own answer tells how it ended.",
            mark.pid, mark.plan_id
        )))
    };
    asked().unwrap_or_else(refused)
}

/// The plan of that name, if a running oneact process is applying it.
fn under_way(root: &Root, plan: &PlanName) -> Result<Option<(String, Mark)>, Failure> {
    if root.try_lock()? {
        root.unlock();
        return Ok(None);
    }
    for name in unfinished(root)? {
        let Some(mark) = mark_of(root, &name) else {
            continue;
        };
        let meant = match plan {
            PlanName::PlanId(id) => *id == mark.plan_id,
            PlanName::TaskId(id) => *id == mark.task_id,
            PlanName::Path(path) => directory_of(path, root) == Some(name.as_str()),
            PlanName::ManifestId(_) => false,
        };
        if meant && is_at_work(mark.pid, root) {
            return Ok(Some((name, mark)));
        }
    }
    Ok(None)
}

/// Whether the process runs this program and holds the lock of this root. The note alone proves nothing: its process
/// id may belong to another process by now, or to a run of another root.
fn is_at_work(pid: i32, root: &Root) -> bool {
    let is_ours = fs::read_link(format!("/proc/{pid}/exe"))
        .is_ok_and(|path| path.to_str() == Some(&host::own_path()));
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let (pid, inode) = (
        pid.to_string(),
        root.inode().map(|inode| format!(":{inode}")),
    );
    // `1: FLOCK  ADVISORY  WRITE 4711 fd:01:786433 0 EOF` (man proc_locks)
    let holds = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        matches!(words.as_slice(), [_, "FLOCK", _, "WRITE", by, file, ..]
            if *by == pid && inode.as_ref().is_some_and(|inode| file.ends_with(inode)))
    };
    is_ours && locks.lines().any(holds)
}

/// The name of the report directory of a plan.
pub(super) fn find(root: &Root, plan: &PlanName) -> Result<String, Failure> {
    let unknown = |what: &str| {
        let message = format!("{what} below {}/{REPORTS}", root.path());
        Failure::new(Fault::ManifestUnusable, message)
    };
    let (file, field, wanted) = match plan {
        PlanName::Path(path) => {
            return directory_of(path, root)
                .map(str::to_owned)
                .ok_or_else(|| unknown(&format!("`{path}` is no report directory")));
        }
        PlanName::ManifestId(id) => (MANIFEST, "manifest_id", id),
        PlanName::PlanId(id) => (EXECUTION_REPORT, "plan_id", id),
        PlanName::TaskId(id) => (EXECUTION_REPORT, "task_id", id),
    };
    for folder in finished(root)? {
        let Ok(text) = folder.report(file) else {
            continue;
        };
        let document = serde_json::from_slice::<Value>(&text).unwrap_or_default();
        if document.get(field).and_then(Value::as_str) == Some(wanted) {
            return Ok(folder.path.name().to_owned());
        }
    }
    Err(unknown(&format!(
        "there is no plan with {field} `{wanted}`"
    )))
}

/// The name of a report directory, from its path or from that of a file in it.
fn directory_of<'p>(path: &'p str, root: &Root) -> Option<&'p str> {
    let below = path
        .strip_prefix(root.path().as_str())
        .map_or(path, |rest| rest.trim_start_matches('/'));
    let rest = below.strip_prefix(REPORTS)?.strip_prefix('/')?;
    let name = rest.split('/').next()?;
    (!name.is_empty() && !name.starts_with('.')).then_some(name)
}

/// How a plan ended whose run died before it could answer. The journal says this after every interrupted plan was
/// settled. An empty journal may have been removed or cut, so only a journal that records the end is an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    Made {
        /// The report directory, below the root.
        directory: String,
        changed: Vec<RelPath>,
    },
    /// All changes were undone, or none was made.
    NotMade,
    Unknown,
}

/// If the journals do not say it yet, another run may be settling the plan: they are read again under the lock.
pub(crate) fn fate(desk: Desk<'_>, operation_id: &str) -> Fate {
    let Ok(root) = Root::open(desk.root) else {
        return Fate::Unknown;
    };
    match told(&root, operation_id) {
        Fate::Unknown => locked(&root, &|| stopped(desk, PLAN_TIMEOUT.0))
            .map_or(Fate::Unknown, |_lock| told(&root, operation_id)),
        known => known,
    }
}

fn told(root: &Root, operation_id: &str) -> Fate {
    let Ok(folders) = finished(root) else {
        return Fate::Unknown;
    };
    let told = folders.filter_map(|folder| {
        let account = account(&folder.dir).ok()?;
        // A journal that was not written here proves nothing.
        let ours = account.operation == operation_id && account.origin == Origin::Here;
        ours.then(|| fate_by(&folder, account.state).unwrap_or(Fate::Unknown))
    });
    let mut told: Vec<Fate> = told.collect();
    // A run has one journal. If there are more, one that says that the plan was finished decides.
    let is_made = |fate: &Fate| matches!(fate, Fate::Made { .. });
    if let Some(made) = told.iter().position(is_made) {
        return told.swap_remove(made);
    }
    match told.pop() {
        Some(fate) if told.is_empty() => fate,
        _ => Fate::Unknown,
    }
}

fn fate_by(folder: &Folder<'_>, state: State) -> Result<Fate, FileError> {
    Ok(match state {
        State::Done(entries) if is_undone(folder.root, &entries)? => Fate::NotMade,
        State::Done(entries) => Fate::Made {
            directory: folder.path.to_string(),
            changed: entries
                .iter()
                .filter(|entry| !matches!(entry, Entry::MakeDir { .. } | Entry::RemoveDir { .. }))
                .flat_map(Entry::places)
                .cloned()
                .collect(),
        },
        // If files were left because others had changed them, they may contain changes of the plan.
        State::RolledBack { spared, .. } if spared.is_empty() => Fate::NotMade,
        // The run was killed before the first change: the entries are on the disk before backups and manifest are
        // made.
        State::Ready(entries) if entries.is_empty() && folder.is_bare() => Fate::NotMade,
        State::Empty
        | State::Ready(_)
        | State::Applying(_)
        | State::RolledBack { .. }
        | State::Foreign => Fate::Unknown,
    })
}
