//! Settles one plan that a crash interrupted, by its journal and the disk alone.
//!
//! Without a question, only a journal that was written in this place is used, and only within the limits of a
//! plan.

use crate::{
    plan::{
        change::{Change, ChangeKind},
        limits::Limits,
        record::Ending,
        report::Documents,
    },
    task::{Course, Reach, RelPath, Sanction},
    tree::{self, FileError, Root, there},
};

use super::{
    back::{UndoEnd, close, take_back},
    content::adopted,
    folder::{Folder, STAGED, finished, unfinished},
    journal::{Account, Beginning, Doubt, Journal, Origin, State, account, beginning},
    tidy::{Waiting, tidy},
    undo::Conflict,
};

/// How an unfinished plan was settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// It had not changed anything yet.
    NothingChanged,
    /// It was partly applied, and is undone except for these conflicts.
    RolledBack(Vec<Conflict>),
    /// It had been finished. The sentences name the files that were kept.
    Done(Vec<String>),
    /// It could not be settled, for these reasons.
    Stuck(Vec<String>),
    /// Its journal may not have been written here; nothing was done.
    Unproven(Doubt),
    /// Its journal names what no plan may touch; nothing was done.
    AgainstRules(String),
    /// A person declined; nothing was done.
    Declined,
}

impl End {
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Self::NothingChanged | Self::RolledBack(_) | Self::Done(_) => false,
            Self::Stuck(_) | Self::Unproven(_) | Self::AgainstRules(_) | Self::Declined => true,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    Given,
    Refused,
}

/// Shows a person what would change, and asks for consent.
pub(crate) type Ask<'a> = &'a mut dyn FnMut(&[String]) -> Consent;

/// The rest of what a recovery needs beside the plan.
pub(crate) struct Recovery<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) threads: usize,
    /// Says when files of the tree are changed.
    pub(crate) course: &'a Course,
    /// How a plan ended that was interrupted.
    pub(crate) ending: &'a dyn Fn(&RelPath, &Account, &UndoEnd) -> Ending,
    /// The reports of a plan that has ended.
    pub(crate) documents: &'a dyn Fn(&Account) -> Documents,
}

/// Settles an unfinished plan; `None` if its directory is gone. The caller holds the root's lock, and forgets that
/// the plan was unfinished. A journal that was not written here is acted on only if a person, who is asked, agrees.
/// Every path must keep the rules of the limits.
pub(crate) fn recover(
    root: &Root,
    name: &str,
    recovery: &Recovery<'_>,
    ask: Option<Ask<'_>>,
) -> Option<End> {
    let folder = there(Folder::open(root, name)).transpose()?;
    let end = folder.and_then(|folder| settle(&folder, recovery, ask));
    Some(end.unwrap_or_else(|error| End::Stuck(vec![error.to_string()])))
}

fn settle(
    folder: &Folder<'_>,
    recovery: &Recovery<'_>,
    ask: Option<Ask<'_>>,
) -> Result<End, FileError> {
    let limits = recovery.limits;
    match beginning(&folder.dir)? {
        Some(Beginning::Elsewhere(doubt)) if ask.is_none() => return Ok(End::Unproven(doubt)),
        Some(Beginning::Torn) if ask.is_none() => {
            return unrecorded(folder, limits, Silent::Blank);
        }
        _ => {}
    }
    let Some((journal, account)) = there(Journal::open(&folder.dir))? else {
        return unrecorded(folder, limits, Silent::Gone);
    };
    match account.state {
        State::Empty => return unrecorded(folder, limits, Silent::Blank),
        State::Begun if folder.has_checkpoint()? => {
            return unrecorded(folder, limits, Silent::Blank);
        }
        _ => {}
    }
    // This is decided before anything that the journal names is examined.
    if let (None, Origin::Unproven(doubt)) = (&ask, account.origin) {
        return Ok(End::Unproven(doubt));
    }
    if let Err(why) = keeps_rules(folder, &account, limits) {
        return Ok(End::AgainstRules(why));
    }
    let displaced = match account.state {
        State::Ready => match displaced(folder, account.changes())? {
            None => absent(folder, account.changes())?,
            displaced => displaced,
        },
        _ => None,
    };
    match (ask, displaced) {
        (None, Some(displaced)) => {
            return Ok(End::Stuck(vec![format!(
                "{displaced}. If this is not possible, `oneact recover {}` undoes what it finds, after a person agreed",
                folder.path
            )]));
        }
        (Some(ask), displaced) => {
            let mut lines = would_change(folder, &account);
            lines.extend(displaced);
            if ask(&lines) == Consent::Refused {
                return Ok(End::Declined);
            }
        }
        (None, None) => {}
    }
    ended(folder, journal, &account, recovery)
}

fn ended(
    folder: &Folder<'_>,
    mut journal: Journal,
    account: &Account,
    recovery: &Recovery<'_>,
) -> Result<End, FileError> {
    let end = match account.state {
        State::Begun => taken_back(
            folder,
            &mut journal,
            account,
            recovery,
            (UndoEnd::NothingChanged, Vec::new()),
        )?,
        State::Ready => {
            match folder.dir.look(STAGED)?.map(|facts| facts.kind) {
                Some(tree::FileKind::Dir) => {}
                None => folder.make_slots()?,
                Some(_) => {
                    let what = "is not a directory: move it to another place";
                    return Ok(End::Stuck(vec![format!("{}/{STAGED} {what}", folder.path)]));
                }
            }
            let changes = match account.origin {
                Origin::Here => account.changes().to_vec(),
                Origin::Unproven(_) => adopted(folder.root, account.changes())?,
            };
            let waiting = Waiting::fitting(folder, &account.beside, recovery.threads);
            let before = recovery.course.now();
            recovery.course.set(Reach::Changing);
            let back = take_back(folder, &changes, account.begun, waiting);
            let end = taken_back(folder, &mut journal, account, recovery, back);
            recovery.course.set(before);
            end?
        }
        State::Done => {
            // The event must be on the disk before the files are removed that a rollback would need.
            journal.sync(&folder.dir)?;
            let mut notes = Vec::new();
            tidy(folder, account.changes(), &account.beside, &mut notes)?;
            End::Done(notes)
        }
        State::NothingChanged => {
            folder.clear(&account.beside, &[])?;
            End::NothingChanged
        }
        State::RolledBack => {
            folder.clear(&account.beside, &account.spared)?;
            let changes = account.changes().iter();
            let conflicts = changes.filter_map(|it| Conflict::recorded(it, &account.spared));
            End::RolledBack(conflicts.collect())
        }
        State::Empty | State::Foreign => {
            return Ok(End::Stuck(vec![format!(
                "{} has a journal that this version of oneact cannot read: another version wrote it, or it is damaged. Run `oneact recover` with that version, or restore the files by hand from backups/",
                &folder.path
            )]));
        }
    };
    if !end.is_open() {
        let account = Journal::open(&folder.dir)?.1;
        // They are output, and can be made again later.
        if let Err(error) = folder.put_again(&(recovery.documents)(&account)) {
            tracing::warn!("the reports of {} are not complete: {error}", folder.path);
        }
    }
    Ok(end)
}

/// Records how an interrupted plan was taken back.
fn taken_back(
    folder: &Folder<'_>,
    journal: &mut Journal,
    account: &Account,
    recovery: &Recovery<'_>,
    (end, spared): (UndoEnd, Vec<RelPath>),
) -> Result<End, FileError> {
    let ending = (recovery.ending)(&folder.path, account, &end);
    close(folder, journal, (&end, &spared), &account.beside, ending)?;
    Ok(match end {
        UndoEnd::NothingChanged => End::NothingChanged,
        UndoEnd::RolledBack(conflicts) => End::RolledBack(conflicts),
        UndoEnd::Stuck(obstacles) => End::Stuck(obstacles),
    })
}

/// The first directory of a plan that is not on the same mount as it was: a path says nothing while its volume is not mounted.
/// A slot is in the report directory if its change is on the same mount.
pub(crate) fn displaced(
    folder: &Folder<'_>,
    changes: &[Change],
) -> Result<Option<String>, FileError> {
    let own = folder.dir.mount()?;
    let view = tree::View::of(folder.root);
    for change in changes {
        let was_own = change.slot.as_path().starts_with(folder.path.as_path());
        for path in change.places() {
            let nearest = tree::innermost(path, |dir| view.look(dir))?;
            let is_own = view.dir(nearest.as_ref())?.mount()? == own;
            let place = place_of(path);
            match (was_own, is_own) {
                (true, false) => {
                    return Ok(Some(format!(
                        "something was mounted on {place} since: unmount it"
                    )));
                }
                (false, true) => {
                    return Ok(Some(format!(
                        "what was mounted on {place} is not mounted there now: mount it"
                    )));
                }
                _ => {}
            }
        }
    }
    Ok(None)
}

/// The directory of an interrupted plan on another mount, where nothing of the plan is: another volume is mounted there.
fn absent(folder: &Folder<'_>, changes: &[Change]) -> Result<Option<String>, FileError> {
    let is_beside = |change: &&Change| !change.slot.as_path().starts_with(folder.path.as_path());
    let mut beside = changes.iter().filter(is_beside).peekable();
    let Some(first) = beside.peek().copied() else {
        return Ok(None);
    };
    for change in beside {
        for at in change.places().chain([&change.slot]) {
            if folder.root.look(at)?.is_some() {
                return Ok(None);
            }
        }
    }
    Ok(Some(format!(
        "what was mounted on {} is not mounted there now: mount it",
        place_of(&first.path)
    )))
}

/// The directory of a path, for people.
fn place_of(path: &RelPath) -> String {
    path.parent().map_or(".".to_owned(), |dir| dir.to_string())
}

/// The plans that must be settled: those with a note, and those whose note was removed but whose journal, which was
/// written here, says that they did not end.
pub(crate) fn open_plans(root: &Root) -> Result<Vec<String>, FileError> {
    let mut names = unfinished(root)?;
    for folder in finished(root)? {
        let name = folder.path.name();
        if !names.iter().any(|noted| noted == name)
            && account(&folder.dir)
                .is_ok_and(|found| found.origin == Origin::Here && found.is_under_way())
        {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// What would be changed to settle a plan, for a person.
fn would_change(folder: &Folder<'_>, account: &Account) -> Vec<String> {
    let mut lines: Vec<String> = match account.state {
        State::Ready => account.changes().iter().rev().map(would_undo).collect(),
        _ => Vec::new(),
    };
    let parts = match account.state {
        State::Done => "staged/",
        _ => "staged/ and backups/",
    };
    lines.push(format!("remove {parts} of {}", &folder.path));
    lines.extend(account.beside.iter().map(|slot| format!("remove {slot}")));
    lines
}

fn would_undo(change: &Change) -> String {
    let (path, slot) = (&change.path, &change.slot);
    match &change.kind {
        ChangeKind::MakeDir => format!("remove the directory {path}, if it is empty"),
        ChangeKind::Create => {
            format!(
                "remove {path}, if it still has the content that the plan wrote, as the journal records it"
            )
        }
        ChangeKind::Modify => format!("replace {path} with {slot}"),
        ChangeKind::Delete => format!("put {slot} back as {path}"),
        ChangeKind::Rename { to } => format!("rename {to} back to {path}"),
        ChangeKind::RemoveDir => format!("make the directory {path} again"),
    }
}

/// Settles a plan whose journal does not name its changes. The journal is made before the slots, and its changes are on the
/// disk before backups and manifest are made. So if one of these exists, somebody removed or cut the journal, and they may
/// contain the only originals. A blank journal can also be the result of a power failure before the first change.
fn unrecorded(folder: &Folder<'_>, limits: &Limits, silent: Silent) -> Result<End, FileError> {
    if let Err(why) = keeps_rules(folder, &Account::default(), limits) {
        return Ok(End::AgainstRules(why));
    }
    let slots = match silent {
        Silent::Gone => folder.has_slots()?,
        Silent::Blank => false,
    };
    if !slots && !folder.has_checkpoint()? {
        folder.clear(&[], &[])?;
        return Ok(End::NothingChanged);
    }
    Ok(End::Stuck(vec![format!(
        "{0} has no journal that says what was changed. Nothing was changed or removed. If you do not know where that directory comes from, remove it. Otherwise, compare your files with {0}/backups/ and {0}/staged/, restore the files that you need, and remove {0}",
        folder.path
    )]))
}

/// Why a journal says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Silent {
    Gone,
    Blank,
}

/// Whether a journal names only what a plan may change, and slots and backups of its own report directory.
/// Answers with the sentence that says which path breaks the rules.
fn keeps_rules(folder: &Folder<'_>, account: &Account, limits: &Limits) -> Result<(), String> {
    let under = (limits, &account.sanction);
    for change in account.changes() {
        let admits = match change.reported() {
            None => Limits::admits_dir_under,
            Some(_) => Limits::admits_under,
        };
        let mut admitted = change
            .places()
            .map(|path| admits(limits, path, &account.sanction));
        admitted.try_for_each(|admitted| admitted.map_err(|failure| failure.message))?;
        slot_keeps_rules(folder, &change.slot, under)?;
        match &change.backup {
            Some(backup) if !folder.is_backup(backup) => return Err(foreign(folder, backup)),
            _ => {}
        }
    }
    for slot in &account.beside {
        slot_keeps_rules(folder, slot, under)?;
    }
    for path in &account.spared {
        if !folder.is_backup(path) {
            slot_keeps_rules(folder, path, under)?;
        }
    }
    Ok(())
}

/// A slot lies in the report directory, or beside a file that a plan may change.
fn slot_keeps_rules(
    folder: &Folder<'_>,
    slot: &RelPath,
    (limits, sanction): (&Limits, &Sanction),
) -> Result<(), String> {
    if !folder.is_slot(slot) {
        return Err(foreign(folder, slot));
    }
    if slot.as_path().starts_with(folder.path.as_path()) {
        return Ok(());
    }
    let admitted = limits.admits_dir_under(slot, sanction);
    admitted.map_err(|failure| failure.message)
}

fn foreign(folder: &Folder<'_>, path: &RelPath) -> String {
    format!(
        "`{path}` is neither a slot nor a backup of {}",
        &folder.path
    )
}
