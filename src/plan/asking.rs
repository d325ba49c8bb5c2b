//! Questions about plans: their status, and cancelling one.

use std::fs;

use camino::Utf8Path;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{
    host,
    task::{Failure, Fault, Outcome, PlanName},
};

use super::{
    Desk,
    engine::{
        Account, Folder, Mark, Origin, REPORTS, State, UNFINISHED, account, account_by_anybody,
        finished, mark_of, unfinished,
    },
    nothing_done, refused,
    report::{self, EXECUTION_REPORT},
    reported,
    told::{documents, story},
};
use crate::tree::{Root, innermost, joined, there};

/// Whether plans can make their report directories and their notes below this root. Nothing is made.
pub(crate) fn can_report(root: &Utf8Path) -> Result<(), Failure> {
    let root = Root::open(root)?;
    unfinished(&root)?;
    for dir in [REPORTS.to_owned(), format!("{REPORTS}/{UNFINISHED}")] {
        let inside = joined("open", &format!("{dir}/new"))?;
        let innermost = innermost(&inside, |dir| there(root.dir(Some(dir))))?;
        root.dir(innermost.as_ref())?.may_change()?;
    }
    Ok(())
}

/// Whether plans can change files that are directly in this root.
pub(crate) fn can_change(root: &Utf8Path) -> Result<(), Failure> {
    Ok(Root::open(root)?.dir(None)?.may_change()?)
}

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
        let name = find(&root, plan, Sought::Newest)?;
        let folder = Folder::open(&root, &name)?;
        if !is_from_here(&folder) {
            let message = format!(
                "oneact cannot prove that it wrote the journal in {} at this place, so it does not answer from the report there; read the files yourself",
                &folder.path
            );
            return Err(Failure::new(Fault::JournalForeign, message));
        }
        let account = account(&folder.dir)?;
        let story = story(&account);
        let report = if let Some(story) = &story {
            // They are output: whether they can be made again does not matter here.
            let _ = folder.put_again(&documents(&account));
            let mut ids = story.end.ids.iter().copied();
            report::execution(story, &mut || ids.next().unwrap_or_default()).0
        } else {
            // Of a plan that is stuck, the journal has no end yet.
            serde_json::from_slice(&folder.report(EXECUTION_REPORT)?).map_err(|error| {
                let message = format!("the report in {} is not JSON: {error}", &folder.path);
                Failure::new(Fault::ContentInvalid, message)
            })?
        };
        let status = report
            .get("status")
            .and_then(Value::as_str)
            .unwrap_or("unknown");
        let sentence = format!("The plan of {} ended: {status}.", &folder.path);
        let mut files = report::files(&folder.path);
        if story.is_some_and(|story| story.undo.is_none()) {
            files.rollback_manifest = None;
        }
        let told = Outcome {
            execution_report: Some(report),
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
        root.inode().ok().map(|inode| format!(":{inode}")),
    );
    // `1: FLOCK  ADVISORY  WRITE 4711 fd:01:786433 0 EOF` (man proc_locks)
    let holds = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        matches!(words.as_slice(), [_, "FLOCK", _, "WRITE", by, file, ..]
            if *by == pid && inode.as_ref().is_some_and(|inode| file.ends_with(inode)))
    };
    is_ours && locks.lines().any(holds)
}

/// Whether oneact wrote the journal of the plan at this place. A report alone can come with a checkout.
pub(super) fn is_from_here(folder: &Folder<'_>) -> bool {
    account(&folder.dir).is_ok_and(|found| found.origin == Origin::Here)
}

/// Which report directory of a plan is meant, if it was sent several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sought {
    Newest,
    /// The newest that has something to undo, if there is one.
    Undoable,
}

/// The name of the report directory of a plan: one that was written at this place before one that was not, and then the
/// newest.
pub(super) fn find(root: &Root, plan: &PlanName, sought: Sought) -> Result<String, Failure> {
    let unknown = |what: &str| {
        let message = format!("{what} below {}/{REPORTS}", root.path());
        Failure::new(Fault::ManifestUnusable, message)
    };
    let (field, wanted) = match plan {
        PlanName::Path(path) => {
            return directory_of(path, root)
                .map(str::to_owned)
                .ok_or_else(|| unknown(&format!("`{path}` is no report directory")));
        }
        PlanName::ManifestId(id) => ("manifest_id", id),
        PlanName::PlanId(id) => ("plan_id", id),
        PlanName::TaskId(id) => ("task_id", id),
    };
    let is_meant = |found: &Account| match plan {
        PlanName::Path(_) => false,
        PlanName::ManifestId(id) => {
            let undo = found
                .undo
                .as_ref()
                .filter(|_| found.state != State::NothingChanged);
            undo.is_some_and(|undo| undo.id.to_string() == *id)
        }
        PlanName::PlanId(id) => found.run.as_ref().is_some_and(|run| run.plan_id == *id),
        PlanName::TaskId(id) => found.run.as_ref().is_some_and(|run| run.task_id == *id),
    };
    let rank = |found: &Account| {
        let is_sought =
            sought == Sought::Newest || found.state == State::Done && found.undo.is_some();
        (is_sought, found.origin == Origin::Here)
    };
    let mut best: Option<((bool, bool), String)> = None;
    for folder in finished(root)? {
        let Some(found) = account_by_anybody(&folder.dir).ok().filter(is_meant) else {
            continue;
        };
        let rank = rank(&found);
        if best.as_ref().is_none_or(|(before, _)| rank > *before) {
            best = Some((rank, folder.path.name().to_owned()));
        }
        if rank == (true, true) {
            break;
        }
    }
    let best = best.map(|(_, name)| name);
    best.ok_or_else(|| unknown(&format!("there is no plan with {field} `{wanted}`")))
}

/// The name of a report directory, from its path or from that of a file in it.
pub(super) fn directory_of<'p>(path: &'p str, root: &Root) -> Option<&'p str> {
    let below = path
        .strip_prefix(root.path().as_str())
        .map_or(path, |rest| rest.trim_start_matches('/'));
    let rest = below.strip_prefix(REPORTS)?.strip_prefix('/')?;
    let name = rest.split('/').next()?;
    (!name.is_empty() && !name.starts_with('.')).then_some(name)
}
