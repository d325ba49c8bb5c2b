//! The private scratch directory of an operation. It is removed when the operation ends.
//!
//! The process that holds the lock on `<state>/staging/<id>/` ([`Held`]) owns the directory. If no process holds
//! the lock, the owner died, and the next [`Staging::open`] removes the directory. It removes only a directory
//! with a name that oneact makes and with oneact's mark in it. No link is followed. Only the holder of the lock on
//! `<state>/staging` makes, tests and takes over these directories, so no process finds one that is incomplete.
//!
//! A directory that contains only its mark at the end is moved to `<state>/spare/directory` for the next run: on a
//! disk, a rename takes a fifth of the time of removing and making a directory. The spare directory has a parent
//! of its own, so that a sync of the ledger's directory does not have to write the change.

mod held;
mod removal;
#[cfg(test)]
mod tests;

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    thread,
    time::Duration,
};

use base64::{engine::general_purpose::STANDARD, read::DecoderReader};
use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use self::{
    held::{Held, MARK, PRIVATE, open_directory},
    removal::remove_tree,
};
use super::error::{StoreError, component};
use crate::{host, task::STAGING};

/// An open scratch directory with mode 0700. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct Staging {
    dir: Utf8PathBuf,
    /// The parent of the spare directory.
    spare: Option<Utf8PathBuf>,
    /// Dropped last, which releases the lock.
    held: Held,
}

/// The name of the spare directory in its parent.
const SPARE: &str = "directory";

const BLOCK: usize = 256 * 1024;

impl Staging {
    /// Makes `<state_dir>/staging/<operation_id>/`, and removes the directories of dead processes beside it.
    pub(crate) fn open(state_dir: &Utf8Path, operation_id: &str) -> Result<Self, StoreError> {
        let spare = state_dir.join("spare");
        Self::make(&state_dir.join(STAGING), operation_id, Some(spare))
    }

    /// The same in any parent directory, without a spare directory.
    pub(super) fn beneath(parent: &Utf8Path, id: &str) -> Result<Self, StoreError> {
        Self::make(parent, id, None)
    }

    fn make(parent: &Utf8Path, id: &str, spare: Option<Utf8PathBuf>) -> Result<Self, StoreError> {
        let id = component("operation id", id)?;
        let turn = if let Some(turn) = take_turn(parent)? {
            turn
        } else {
            if let (Some(_), Some(state_dir)) = (&spare, parent.parent()) {
                host::make_state_dir(state_dir).map_err(StoreError::io("create", state_dir))?;
            }
            private_dir()
                .recursive(true)
                .create(parent)
                .map_err(StoreError::io("create", parent))?;
            take_turn(parent)?.ok_or_else(|| StoreError::Busy(parent.to_owned()))?
        };
        sweep(parent, &turn);
        let dir = parent.join(id);
        let held = match take_spare(spare.as_deref(), &dir)? {
            Some(held) => held,
            None => fresh(&dir)?,
        };
        mark(&dir)?;
        Ok(Self { dir, spare, held })
    }

    /// The directories of dead processes, which the next [`Staging::open`] removes. Nothing is created.
    pub(crate) fn left_over(state_dir: &Utf8Path) -> Result<Vec<Utf8PathBuf>, StoreError> {
        let parent = state_dir.join(STAGING);
        let Some(turn) = take_turn(&parent)? else {
            return Ok(Vec::new());
        };
        let names = turn.names().map_err(StoreError::io("read", &parent))?;
        Ok(dead(&parent, &names).map(|(dir, _)| dir).collect())
    }

    pub(crate) fn dir(&self) -> &Utf8Path {
        &self.dir
    }

    /// Whether the directory is still at its path. A tool may have replaced it, for example with a link.
    pub(crate) fn is_in_place(&self) -> bool {
        self.held.is_at(&self.dir)
    }

    /// The path of a file in the directory. Nothing is created.
    pub(crate) fn file(&self, name: &str) -> Result<Utf8PathBuf, StoreError> {
        Ok(self.dir.join(component("file name", name)?))
    }

    /// Writes a new file in blocks and syncs it. If that fails, the file is removed.
    pub(crate) fn write(
        &self,
        name: &str,
        mut bytes: impl Read,
    ) -> Result<Utf8PathBuf, StoreError> {
        let path = self.file(name)?;
        let mut options = File::options();
        // The file may become an asset, which only its owner may change.
        let options = options.write(true).create_new(true).mode(0o644);
        let mut file = options
            .open(&path)
            .map_err(StoreError::io("create", &path))?;
        // Errors of the source and of the destination have different types.
        let failed = |error| StoreError::Source {
            path: path.clone(),
            error,
        };
        let written = host::each_block(&mut bytes, BLOCK, failed, |block| {
            file.write_all(block)
                .map_err(StoreError::io("write", &path))
        });
        let written = written.and_then(|()| file.sync_all().map_err(StoreError::io("sync", &path)));
        if written.is_err() {
            // Only the first error is reported. The directory is removed with the run.
            let _ = fs::remove_file(&path);
        }
        written.map(|()| path)
    }

    /// Decodes a base64 text (RFC 4648 §4, padded, no line breaks) into a new file.
    pub(crate) fn write_base64(&self, name: &str, text: &str) -> Result<Utf8PathBuf, StoreError> {
        self.write(name, DecoderReader::new(text.as_bytes(), &STANDARD))
            .map_err(|error| match error {
                StoreError::Source { path, error } => StoreError::NotBase64 {
                    path,
                    problem: error.to_string(),
                },
                other => other,
            })
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let removed = if self.dir.is_symlink() {
            fs::remove_file(&self.dir).map_err(StoreError::io("remove", &self.dir))
        } else if !self.is_in_place() {
            tracing::warn!(dir = %self.dir, "the scratch directory was replaced; the directory that is there now is not removed");
            Ok(())
        } else if set_aside(&self.dir, self.spare.as_deref(), &self.held) {
            Ok(())
        } else {
            remove_tree(&self.dir)
        };
        if self.held.has_a_file() {
            let _turn = self.dir.parent().map(take_turn);
            self.held.clear();
        }
        if let Err(error) = removed {
            tracing::warn!(dir = %self.dir, %error, "the scratch directory stays; the next run tries to remove it");
        }
    }
}

/// Makes the directory the spare one, if it contains only its mark.
fn set_aside(dir: &Utf8Path, spare: Option<&Utf8Path>, held: &Held) -> bool {
    // The lock is released first, so that the next run finds the directory unlocked.
    let moved = |spare: &Utf8Path| {
        let place = match open_directory(spare) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => private_dir()
                .create(spare)
                .and_then(|()| open_directory(spare)),
            place => place,
        };
        let rename = |place: File| {
            renameat_with(CWD, dir.as_std_path(), place, SPARE, RenameFlags::NOREPLACE)
        };
        place.is_ok_and(|place| rename(place).is_ok())
    };
    spare.is_some_and(|spare| held.is_pristine() && held.give_up().is_ok() && moved(spare))
}

/// Moves the spare directory to `dir`, if `dir` does not exist and the spare directory contains only its mark.
fn take_spare(spare: Option<&Utf8Path>, dir: &Utf8Path) -> Result<Option<Held>, StoreError> {
    let Some(Ok(place)) = spare.map(open_directory) else {
        return Ok(None);
    };
    let ours = match Held::take_in(&place, SPARE) {
        Ok(Some(held)) => held.is_marked(),
        Ok(None) | Err(_) => false,
    };
    let to = dir.as_std_path();
    if !ours || renameat_with(&place, SPARE, CWD, to, RenameFlags::NOREPLACE).is_err() {
        return Ok(None);
    }
    match Held::take(dir) {
        Ok(Some(held)) if held.is_pristine() => Ok(Some(held)),
        _ => remove_tree(dir).map(|()| None),
    }
}

/// Makes the directory. A directory that a dead process left there is removed first.
fn fresh(dir: &Utf8Path) -> Result<Held, StoreError> {
    let make = || private_dir().create(dir);
    let busy = || StoreError::Busy(dir.to_owned());
    let made = match make() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let dead = Held::take(dir)?.ok_or_else(busy)?;
            if dead.may_be_swept() {
                remove_tree(dir)?;
                make()
            } else {
                Err(error)
            }
        }
        made => made,
    };
    made.map_err(StoreError::io("create", dir))?;
    Held::take(dir)?.ok_or_else(busy)
}

fn mark(dir: &Utf8Path) -> Result<(), StoreError> {
    let path = dir.join(MARK);
    let made = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path);
    match made {
        // A spare directory has its mark already.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop).map_err(StoreError::io("create", &path)),
    }
}

/// Removes the directories whose owner is dead. Failures are logged, and the next run tries again.
fn sweep(parent: &Utf8Path, turn: &Held) {
    let names = match turn.names() {
        Ok(names) => names,
        Err(error) => {
            return tracing::warn!(dir = %parent, %error, "cannot look for left-over scratch directories");
        }
    };
    for (dir, held) in dead(parent, &names) {
        match remove_tree(&dir) {
            Ok(()) => held.clear(),
            Err(error) => {
                tracing::warn!(%dir, %error, "a left-over scratch directory stays; the next run tries to remove it");
            }
        }
    }
}

/// The directories with these names whose owner is dead, locked. The caller holds the turn.
fn dead(parent: &Utf8Path, names: &[String]) -> impl Iterator<Item = (Utf8PathBuf, Held)> {
    let ours = names.iter().filter(|name| is_name_of_ours(name));
    ours.filter_map(move |name| {
        let dir = parent.join(name);
        // The owner may have removed the directory just now, so that it cannot be locked.
        let held = Held::take(&dir).ok()??;
        held.may_be_swept().then_some((dir, held))
    })
}

/// Whether oneact gives such a name to a scratch directory: `op_` or `in_` and 26 letters or digits for a run,
/// three numbers for a copy into a store.
fn is_name_of_ours(name: &str) -> bool {
    let of_run = ["op_", "in_"].iter().any(|kind| {
        name.strip_prefix(kind)
            .is_some_and(|rest| rest.len() == 26 && rest.bytes().all(|c| c.is_ascii_alphanumeric()))
    });
    let number = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_hexdigit());
    let parts: Vec<&str> = name.split('-').collect();
    of_run || (parts.len() == 3 && parts.into_iter().all(number))
}

/// The longest wait for the turn is 10 s. It is usually free within milliseconds.
const TURN_ROUNDS: u32 = 1000;
const TURN_ROUND: Duration = Duration::from_millis(10);

/// Waits for the turn: the lock on the parent directory, which is held only briefly. Returns `None` if there is no
/// such directory.
fn take_turn(parent: &Utf8Path) -> Result<Option<Held>, StoreError> {
    for _ in 0..TURN_ROUNDS {
        match Held::take(parent) {
            Ok(Some(turn)) => return Ok(Some(turn)),
            Ok(None) => thread::sleep(TURN_ROUND),
            Err(StoreError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
    }
    // The holder may have been stopped by a signal.
    Err(StoreError::Busy(parent.to_owned()))
}

fn private_dir() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(PRIVATE);
    builder
}
