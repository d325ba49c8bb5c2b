//! Settles the plans that a crash interrupted, says how they ended, and removes expired backups.

use crate::task::{Failure, Fault, PlanName, RelPath};

use super::{
    Desk,
    asking::{Sought, find},
    change::of_files,
    engine::{
        self, Account, Ask, End, Event, Folder, Journal, Origin, Recovery, State, account,
        finished, is_undone,
    },
    interrupted::{ending, sentence},
    limits::PLAN_TIMEOUT,
    lock::{locked, stopped},
    told::documents,
};
use crate::tree::{FileError, Root};

/// How many threads sync files if no plan says how many.
const THREADS: usize = 4;

/// How many plans have a sentence: others may have written any number of report directories.
const SHOWN: usize = 20;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Settled {
    /// A sentence for each plan, and the number of those that have none.
    pub(crate) told: Vec<String>,
    /// How many are still unfinished.
    pub(crate) open: usize,
}

/// How each of some plans was settled, with the sentence that says so.
type Ends = Vec<(String, End)>;

/// Settles the plans that a crash interrupted, before anything else is begun. A plan that is at work has already
/// settled them.
pub(crate) fn recover(desk: Desk<'_>) -> Settled {
    if engine::never_planned(desk.root) {
        return Settled::default();
    }
    told(desk, |root| {
        if engine::interrupted(root)? && root.try_lock()? {
            return settled(root, desk, THREADS);
        }
        Ok(Ends::new())
    })
}

/// The same, and the plans whose note is missing. This reads the journal of every report directory.
pub(crate) fn recover_all(desk: Desk<'_>) -> Settled {
    told(desk, |root| {
        let planned = engine::interrupted(root)? || finished(root)?.next().is_some();
        if planned && root.try_lock()? {
            return all_settled(root, desk);
        }
        Ok(Ends::new())
    })
}

/// Settles the plan of one report directory if `ask` agrees to the changes, whoever wrote its journal.
pub(crate) fn recover_named(desk: Desk<'_>, path: &str, ask: Ask<'_>) -> Settled {
    told(desk, |root| {
        let name = find(root, &PlanName::Path(path.to_owned()), Sought::Newest)?;
        if !root.try_lock()? {
            let message = format!("another plan is at work below {}", root.path());
            return Err(Failure::new(Fault::InFlight, message));
        }
        let account =
            Folder::open(root, &name).and_then(|folder| engine::account_by_anybody(&folder.dir));
        if engine::unfinished(root)?.contains(&name) || account.is_ok_and(|it| it.is_under_way()) {
            return each_settled(root, desk, vec![name], THREADS, Some(ask));
        }
        Ok(Ends::new())
    })
}

/// Settles plans under the lock. If it was taken, it is released when the root is dropped.
fn told(desk: Desk<'_>, settle: impl FnOnce(&Root) -> Result<Ends, Failure>) -> Settled {
    let root = Root::open(desk.root).map_err(Failure::from);
    let mut ends = match root.and_then(|root| settle(&root)) {
        Ok(ends) => ends,
        Err(failure) => {
            let why = failure.message;
            return Settled {
                told: vec![format!(
                    "oneact could not find out whether an earlier plan was interrupted: {why}."
                )],
                open: 1,
            };
        }
    };
    ends.sort_by_key(|(_, end)| !end.is_open());
    let open = ends.iter().filter(|(_, end)| end.is_open()).count();
    let more = ends.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("Interrupted plans that are not listed here: {more}."));
    let shown = ends.into_iter().take(SHOWN).map(|(sentence, _)| sentence);
    let told = shown.chain(more).collect();
    Settled { told, open }
}

/// The same under a lock that is held. A plan that can be neither finished nor undone, or whose journal was not
/// written here, lets no other plan begin.
pub(crate) fn settle_others(
    root: &Root,
    desk: Desk<'_>,
    threads: usize,
) -> Result<Vec<String>, Failure> {
    closed(settled(root, desk, threads)?)
}

/// The sentences of plans that are settled; the error is that of the first one that is not.
fn closed(ends: Ends) -> Result<Vec<String>, Failure> {
    let closed = |(sentence, end)| match end {
        End::Stuck(_) => Err(Failure::new(Fault::Stuck, sentence)),
        End::Unproven(_) | End::AgainstRules(_) | End::Declined => {
            Err(Failure::new(Fault::JournalForeign, sentence))
        }
        End::NothingChanged | End::RolledBack(_) | End::Done(_) => Ok(sentence),
    };
    ends.into_iter().map(closed).collect()
}

fn settled(root: &Root, desk: Desk<'_>, threads: usize) -> Result<Ends, Failure> {
    if !engine::interrupted(root)? {
        return Ok(Ends::new());
    }
    each_settled(root, desk, engine::unfinished(root)?, threads, None)
}

/// The same, and the plans whose note is missing.
fn all_settled(root: &Root, desk: Desk<'_>) -> Result<Ends, Failure> {
    each_settled(root, desk, engine::open_plans(root)?, THREADS, None)
}

/// Settles each of these plans. Its reports are made before the note that it is unfinished is removed.
fn each_settled(
    root: &Root,
    desk: Desk<'_>,
    names: Vec<String>,
    threads: usize,
    mut ask: Option<Ask<'_>>,
) -> Result<Ends, Failure> {
    // First, because a pipeline may still be ending.
    if let Err(error) = engine::clear_scratch(root, &names) {
        tracing::warn!("the directory of a killed program could not be removed: {error}");
    }
    let recovery = Recovery {
        limits: &desk.limits()?,
        threads,
        course: desk.course,
        ending: &|folder, account, end| ending(root, desk, folder, account, end),
        documents: &documents,
    };
    let mut ends = Ends::new();
    for name in names {
        let end = engine::recover(root, &name, &recovery, ask.take());
        let is_open = end.as_ref().is_some_and(End::is_open);
        ends.extend(end.map(|end| (sentence(root, &name, &end), end)));
        if !is_open {
            engine::forget(root, &name)?;
        }
    }
    Ok(ends)
}

/// Removes the backups of plans whose manifest has expired (R-001-62); the manifests stay (R-001-139).
/// Returns a sentence for each plan.
pub(crate) fn clear_expired(desk: Desk<'_>) -> Vec<String> {
    let cleared = || -> Result<Vec<String>, FileError> {
        let root = Root::open(desk.root)?;
        if !root.try_lock()? {
            return Ok(Vec::new());
        }
        // A plan that is not settled still needs its backups.
        let unfinished = engine::unfinished(&root)?;
        let mut cleared = Vec::new();
        for folder in finished(&root)? {
            let name = folder.path.name();
            let found = account(&folder.dir).unwrap_or_default();
            let is_done = found.origin == Origin::Here && found.state == State::Done;
            let expires = found.undo.as_ref().and_then(|undo| undo.expires.as_ref());
            let is_over = expires.is_some_and(|at| at.timestamp() <= desk.host.timestamp());
            let is_settled = is_done && !unfinished.iter().any(|other| other == name);
            if !is_settled || !is_over && !found.has_expired {
                continue;
            }
            // An earlier clearing may have been killed after it recorded this.
            if found.has_expired {
                folder.clear_backups()?;
                continue;
            }
            let (mut journal, _) = Journal::open(&folder.dir)?;
            journal.record(&folder.dir, &Event::Expired)?;
            folder.clear_backups()?;
            folder.put_again(&documents(&account(&folder.dir)?))?;
            cleared.push(format!(
                "The backups of {name} had expired and were removed."
            ));
        }
        Ok(cleared)
    };
    cleared()
        .unwrap_or_else(|error| vec![format!("Expired backups could not be removed: {error}.")])
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

/// How the plan of an operation ended. If its journal does not say it yet, the plans that a crash interrupted are settled
/// first, which another run may be doing. `told` gets a sentence for each of them. The error says why one is not settled.
pub(crate) fn fate(
    desk: Desk<'_>,
    operation_id: &str,
    told: &mut Vec<String>,
) -> Result<Fate, Failure> {
    let root = Root::open(desk.root)?;
    let known = by_journals(&root, operation_id)?;
    if known != Fate::Unknown {
        return Ok(known);
    }
    let _lock = locked(&root, &|| stopped(desk, PLAN_TIMEOUT.0))?;
    told.extend(closed(all_settled(&root, desk)?)?);
    Ok(by_journals(&root, operation_id)?)
}

/// Whether the journal of an operation was written in this root.
pub(crate) fn is_journalled(desk: Desk<'_>, operation_id: &str) -> Result<bool, Failure> {
    let root = Root::open(desk.root)?;
    Ok(journals(&root, operation_id)?.next().is_some())
}

/// A journal that was not written here proves nothing.
fn journals<'r>(
    root: &'r Root,
    operation_id: &str,
) -> Result<impl Iterator<Item = (Folder<'r>, Account)>, FileError> {
    Ok(finished(root)?.filter_map(move |folder| {
        let account = account(&folder.dir).ok()?;
        let ours = account.operation == operation_id && account.origin == Origin::Here;
        ours.then_some((folder, account))
    }))
}

fn by_journals(root: &Root, operation_id: &str) -> Result<Fate, FileError> {
    // A run has one journal. If there are more, one that says that the plan was finished decides.
    let fate = |(folder, account): (Folder<'_>, Account)| fate_by(&folder, &account);
    let fates = journals(root, operation_id)?.map(|it| fate(it).unwrap_or(Fate::Unknown));
    let decided = fates.reduce(|one, other| match (one, other) {
        (made @ Fate::Made { .. }, _) | (_, made @ Fate::Made { .. }) => made,
        _ => Fate::Unknown,
    });
    Ok(decided.unwrap_or(Fate::Unknown))
}

fn fate_by(folder: &Folder<'_>, account: &Account) -> Result<Fate, FileError> {
    let changes = account.changes();
    Ok(match account.state {
        // What is there now says nothing about what the plan left.
        State::Done if engine::displaced(folder, changes)?.is_some() => Fate::Unknown,
        State::Done if is_undone(folder.root, changes)? => Fate::NotMade,
        State::Done => {
            // Who asks reads the report next. If it cannot be made again, it is told as unreadable.
            let _ = folder.put_again(&documents(account));
            Fate::Made {
                directory: folder.path.to_string(),
                changed: of_files(changes)
                    .flat_map(|change| change.places().cloned())
                    .collect(),
            }
        }
        // What a pipeline did is not undone.
        State::RolledBack | State::NothingChanged if !account.pipelines.is_empty() => Fate::Unknown,
        State::NothingChanged => Fate::NotMade,
        // If files were left because others had changed them, they may contain changes of the plan.
        State::RolledBack if account.spared.is_empty() => Fate::NotMade,
        // The run was killed before the first change.
        State::Begun if folder.is_bare() => Fate::NotMade,
        State::Empty | State::Begun | State::Ready | State::RolledBack | State::Foreign => {
            Fate::Unknown
        }
    })
}
