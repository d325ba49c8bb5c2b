//! Settles the plans that a crash interrupted, by their journals and the disk alone.
//!
//! Without a question, only a journal that was written in this place is used, and only within the limits of a
//! plan.

use crate::{
    plan::{
        files::{FileError, Kind, Root, there},
        limits::Limits,
    },
    task::{Course, Reach, RelPath, Sanction},
};

use super::{
    content::adopted,
    entry::Entry,
    folder::{Folder, STAGED, finished, unfinished},
    journal::{Account, Beginning, Doubt, Journal, Origin, State, account, beginning},
    stage::end_unchanged,
    tidy::tidy,
    transaction::{UndoEnd, take_back},
    undo::Conflict,
    volumes::displaced,
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

/// Settles an unfinished plan; `None` if its directory is gone. The caller holds the root's lock, and forgets that
/// the plan was unfinished. A journal that was not written here is acted on only if a person, who is asked, agrees.
/// Every path must keep the rules of the limits. `course` says when files of the tree are changed.
pub(crate) fn recover(
    root: &Root,
    name: &str,
    limits: &Limits,
    threads: usize,
    course: &Course,
    ask: Option<Ask<'_>>,
) -> Option<End> {
    let folder = there(Folder::open(root, name)).transpose()?;
    let end = folder.and_then(|folder| settle(&folder, limits, threads, course, ask));
    Some(end.unwrap_or_else(|error| End::Stuck(vec![error.to_string()])))
}

fn settle(
    folder: &Folder<'_>,
    limits: &Limits,
    threads: usize,
    course: &Course,
    ask: Option<Ask<'_>>,
) -> Result<End, FileError> {
    match beginning(&folder.dir)? {
        Some(Beginning::Elsewhere(doubt)) if ask.is_none() => return Ok(End::Unproven(doubt)),
        Some(Beginning::Torn) if ask.is_none() => {
            return unrecorded(folder, limits, Silent::Blank);
        }
        _ => {}
    }
    let Some((mut journal, account)) = there(Journal::open(&folder.dir))? else {
        return unrecorded(folder, limits, Silent::Gone);
    };
    let Account {
        state,
        origin,
        sanction,
        volumes,
        ..
    } = account;
    let begun = state.begun();
    let state = match state {
        State::Empty => return unrecorded(folder, limits, Silent::Blank),
        State::Ready(entries) if entries.is_empty() && folder.has_checkpoint()? => {
            return unrecorded(folder, limits, Silent::Blank);
        }
        // The event of the first change may be lost.
        State::Ready(entries) if !entries.is_empty() => State::Applying(entries),
        State::Further { entries, .. } => State::Applying(entries),
        state => state,
    };
    // This is decided before anything that the journal names is examined.
    if let (None, Origin::Unproven(doubt)) = (&ask, origin) {
        return Ok(End::Unproven(doubt));
    }
    if let Err(why) = keeps_rules(folder, &state, (limits, &sanction)) {
        return Ok(End::AgainstRules(why));
    }
    let displaced = match &state {
        State::Applying(entries) => displaced(folder.root, entries, volumes.as_deref())?,
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
            let mut lines = would_change(folder, &state);
            lines.extend(displaced.map(|displaced| displaced.to_string()));
            if ask(&lines) == Consent::Refused {
                return Ok(End::Declined);
            }
        }
        (None, None) => {}
    }
    match state {
        State::Empty => unrecorded(folder, limits, Silent::Blank),
        State::Ready(_) => end_unchanged(folder, &mut journal).map(|()| End::NothingChanged),
        // The state of a later part has become this one above.
        State::Applying(mut entries) | State::Further { mut entries, .. } => {
            match folder.dir.look(STAGED)?.map(|facts| facts.kind) {
                Some(Kind::Dir) => {}
                // The backups contain the originals, too.
                None => folder.make_slots()?,
                Some(_) => {
                    let what = "is not a directory: move it to another place";
                    return Ok(End::Stuck(vec![format!("{}/{STAGED} {what}", folder.path)]));
                }
            }
            if origin != Origin::Here {
                entries = adopted(folder.root, &entries)?;
            }
            let before = course.now();
            course.set(Reach::Changing);
            let end = take_back(folder, &entries, &mut journal, begun, threads);
            course.set(before);
            Ok(match end {
                UndoEnd::NothingChanged => End::NothingChanged,
                UndoEnd::RolledBack(conflicts) => End::RolledBack(conflicts),
                UndoEnd::Stuck(obstacles) => End::Stuck(obstacles),
            })
        }
        State::Done(entries) => {
            // The event must be on the disk before the files are removed that a rollback would need.
            journal.sync(&folder.dir)?;
            let mut notes = Vec::new();
            tidy(folder, &entries, &mut notes)?;
            Ok(End::Done(notes))
        }
        State::RolledBack { entries, spared } => {
            folder.clear(&spared)?;
            if entries.is_empty() {
                return Ok(End::NothingChanged);
            }
            let conflicts = entries
                .iter()
                .filter_map(|entry| Conflict::recorded(entry, &spared));
            Ok(End::RolledBack(conflicts.collect()))
        }
        State::Foreign => Ok(End::Stuck(vec![format!(
            "{} has a journal that this version of oneact cannot read: a later version wrote it, or it is damaged. Run `oneact recover` with that version, or restore the files by hand from backups/",
            &folder.path
        )])),
    }
}

/// The plans that must be settled: those with a note, and those whose note was removed but whose journal, which was
/// written here, says that they did not end.
pub(crate) fn open_plans(root: &Root) -> Result<Vec<String>, FileError> {
    let mut names = unfinished(root)?;
    for folder in finished(root)? {
        let name = folder.path.name();
        if !names.iter().any(|noted| noted == name)
            && account(&folder.dir)
                .is_ok_and(|found| found.origin == Origin::Here && found.state.is_under_way())
        {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// What would be changed to settle a plan, for a person.
fn would_change(folder: &Folder<'_>, state: &State) -> Vec<String> {
    let mut lines = match state {
        State::Applying(entries) => entries.iter().rev().map(would_undo).collect(),
        _ => Vec::new(),
    };
    let parts = match state {
        State::Done(_) => "staged/",
        _ => "staged/ and backups/",
    };
    lines.push(format!("remove {parts} of {}", &folder.path));
    let elsewhere = folder.elsewhere().unwrap_or_default();
    lines.extend(elsewhere.iter().map(|slot| format!("remove {slot}")));
    lines
}

fn would_undo(entry: &Entry) -> String {
    match entry {
        Entry::MakeDir { path, .. } => format!("remove the directory {path}, if it is empty"),
        Entry::Create { path, .. } => {
            format!(
                "remove {path}, if it still has the content that the plan wrote, as the journal records it"
            )
        }
        Entry::Modify { path, slot, .. } => format!("replace {path} with {slot}"),
        Entry::Delete { path, slot, .. } => format!("put {slot} back as {path}"),
        Entry::Rename { path, to, .. } => format!("rename {to} back to {path}"),
        Entry::RemoveDir { path, .. } => format!("make the directory {path} again"),
    }
}

/// Settles a plan whose journal does not name its entries. The journal is made before the slots, and its entries
/// are written before the backups and the manifest. So if one of these exists, somebody removed or cut the
/// journal, and they may contain the only originals. A blank journal can also be the result of a power failure
/// before the first change.
fn unrecorded(folder: &Folder<'_>, limits: &Limits, silent: Silent) -> Result<End, FileError> {
    if let Err(why) = keeps_rules(folder, &State::Empty, (limits, &Sanction::None)) {
        return Ok(End::AgainstRules(why));
    }
    let slots = match silent {
        Silent::Gone => folder.has_slots()?,
        Silent::Blank => false,
    };
    if !slots && !folder.has_checkpoint()? {
        folder.clear(&[])?;
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
fn keeps_rules(
    folder: &Folder<'_>,
    state: &State,
    (limits, sanction): (&Limits, &Sanction),
) -> Result<(), String> {
    let entries = state.entries();
    let spared: &[RelPath] = match state {
        State::RolledBack { spared, .. } => spared,
        _ => &[],
    };
    let elsewhere = folder.elsewhere().map_err(|error| error.to_string())?;
    for entry in entries {
        let admits = match entry {
            Entry::MakeDir { .. } | Entry::RemoveDir { .. } => Limits::admits_dir_under,
            _ => Limits::admits_under,
        };
        let mut admitted = entry.places().map(|path| admits(limits, path, sanction));
        admitted.try_for_each(|admitted| admitted.map_err(|failure| failure.message))?;
    }
    let slots = entries.iter().filter_map(Entry::slot).chain(&elsewhere);
    for slot in slots {
        slot_keeps_rules(folder, slot, (limits, sanction))?;
    }
    let backups = entries.iter().filter_map(Entry::pre).map(|pre| &pre.backup);
    for backup in backups {
        if !folder.is_backup(backup) {
            return Err(foreign(folder, backup));
        }
    }
    for path in spared {
        if !folder.is_backup(path) {
            slot_keeps_rules(folder, path, (limits, sanction))?;
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
