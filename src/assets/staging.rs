//! A private scratch directory for one operation, gone when the operation is, however it ended.
//!
//! `<state>/staging/<id>/` belongs to whoever holds the lock on `<state>/staging/<id>.lock`; if
//! nobody does, a dead process left it, and the next [`Staging::open`] removes it. These locks are
//! made, tried and removed only by the holder of `<state>/staging/lock`, so nobody ever meets a
//! directory that is half made or half removed.
//!
//! A directory that is empty in the end is set aside as `<state>/spare`, and is the next run's: on
//! a disk, to rename one takes a fifth of the time that removing and making one takes.

#[cfg(test)]
mod tests;

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    thread,
    time::Duration,
};

use base64::{engine::general_purpose::STANDARD, read::DecoderReader};
use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::OFlags;

use super::error::{StoreError, component};

/// A live scratch directory, mode 0700; dropping it removes it.
#[derive(Debug)]
pub(crate) struct Staging {
    dir: Utf8PathBuf,
    /// Where the directory goes if it is empty in the end.
    spare: Option<Utf8PathBuf>,
    /// The locked file: dropped last, it gives the directory up.
    _owned: File,
}

/// Who may use a directory: we.
const PRIVATE: u32 = 0o700;

/// Bytes moved at a time.
const BLOCK: usize = 256 * 1024;

impl Staging {
    /// Where [`Staging::open`] makes its directory; creates nothing.
    pub(crate) fn path(state_dir: &Utf8Path, operation_id: &str) -> Utf8PathBuf {
        state_dir.join("staging").join(operation_id)
    }

    /// Makes `<state_dir>/staging/<operation_id>/`, after removing what dead processes left
    /// beside it.
    pub(crate) fn open(state_dir: &Utf8Path, operation_id: &str) -> Result<Self, StoreError> {
        let spare = state_dir.join("spare");
        Self::make(&state_dir.join("staging"), operation_id, Some(spare))
    }

    /// The same in a parent directory of any name; nothing is set aside.
    pub(super) fn beneath(parent: &Utf8Path, id: &str) -> Result<Self, StoreError> {
        Self::make(parent, id, None)
    }

    fn make(parent: &Utf8Path, id: &str, spare: Option<Utf8PathBuf>) -> Result<Self, StoreError> {
        let id = component("operation id", id)?;
        private_dir()
            .recursive(true)
            .create(parent)
            .map_err(StoreError::io("create", parent))?;
        let _turn = take_turn(parent)?;
        sweep(parent);
        let dir = parent.join(id);
        let lock = lock_path(&dir);
        let Some(owned) = try_lock(&lock)? else {
            return Err(StoreError::Busy { path: dir });
        };
        remove_tree(&dir)?;
        if !take_spare(spare.as_deref(), &dir)? {
            private_dir()
                .create(&dir)
                .map_err(StoreError::io("create", &dir))?;
        }
        Ok(Self {
            dir,
            spare,
            _owned: owned,
        })
    }

    /// What dead processes left, which the next [`Staging::open`] removes. Makes nothing where
    /// there has been no run yet.
    pub(crate) fn left_over(state_dir: &Utf8Path) -> Result<Vec<Utf8PathBuf>, StoreError> {
        let parent = state_dir.join("staging");
        if !parent.is_dir() {
            return Ok(Vec::new());
        }
        let _turn = take_turn(&parent)?;
        let entries = parent
            .read_dir_utf8()
            .map_err(StoreError::io("read", &parent))?;
        let mut dead = Vec::new();
        for entry in entries.flatten() {
            let Some(name) = entry.file_name().strip_suffix(LOCK_SUFFIX) else {
                continue;
            };
            let dir = parent.join(name);
            if try_lock(&lock_path(&dir))?.is_some() {
                dead.push(dir);
            }
        }
        Ok(dead)
    }

    /// The directory, for tools to write into.
    pub(crate) fn dir(&self) -> &Utf8Path {
        &self.dir
    }

    /// The path of a file in the directory; creates nothing.
    pub(crate) fn file(&self, name: &str) -> Result<Utf8PathBuf, StoreError> {
        Ok(self.dir.join(component("file name", name)?))
    }

    /// Writes a new file, block by block, and syncs it. On failure nothing of it is left.
    pub(crate) fn write(&self, name: &str, bytes: impl Read) -> Result<Utf8PathBuf, StoreError> {
        let path = self.file(name)?;
        let mut file = File::create_new(&path).map_err(StoreError::io("create", &path))?;
        let written = pump(bytes, &mut file, &path)
            .and_then(|()| file.sync_all().map_err(StoreError::io("sync", &path)));
        if written.is_err() {
            // The first error is the one to tell; the directory goes with the run anyway.
            let _ = fs::remove_file(&path);
        }
        written.map(|()| path)
    }

    /// Writes the bytes a base64 text stands for (RFC 4648 §4, padded, no line breaks).
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
        let removed = if set_aside(&self.dir, self.spare.as_deref()) {
            Ok(())
        } else {
            remove_tree(&self.dir)
        };
        let removed = removed.and_then(|()| remove_lock(&self.dir));
        if let Err(error) = removed {
            tracing::warn!(dir = %self.dir, %error, "staging stays until the next run removes it");
        }
    }
}

/// Gives the directory up to the next run, if there is nothing of this one in it.
fn set_aside(dir: &Utf8Path, spare: Option<&Utf8Path>) -> bool {
    // In the place of another spare one, too: it is as empty.
    spare.is_some_and(|spare| is_pristine(dir) && fs::rename(dir, spare).is_ok())
}

/// Makes the spare directory the one at `dir`, where nothing is; tells whether there was one that
/// is as good as new.
fn take_spare(spare: Option<&Utf8Path>, dir: &Utf8Path) -> Result<bool, StoreError> {
    if spare.is_none_or(|spare| fs::rename(spare, dir).is_err()) {
        return Ok(false);
    }
    if is_pristine(dir) {
        return Ok(true);
    }
    remove_tree(dir).map(|()| false)
}

/// Whether this is a directory as we make them, with nothing in it.
fn is_pristine(dir: &Utf8Path) -> bool {
    let as_made = fs::symlink_metadata(dir)
        .is_ok_and(|found| found.is_dir() && found.permissions().mode() & 0o7777 == PRIVATE);
    as_made
        && dir
            .read_dir()
            .is_ok_and(|mut entries| entries.next().is_none())
}

/// Removes the directories beside ours whose owner is dead. Failures are logged and left to the
/// next run: they harm nobody but the disk.
fn sweep(parent: &Utf8Path) {
    let entries = match parent.read_dir_utf8() {
        Ok(entries) => entries,
        Err(error) => {
            return tracing::warn!(dir = %parent, %error, "cannot look for left-over staging");
        }
    };
    for entry in entries.flatten() {
        let Some(name) = entry.file_name().strip_suffix(LOCK_SUFFIX) else {
            continue;
        };
        if let Err(error) = remove_if_dead(&parent.join(name)) {
            tracing::warn!(dir = name, %error, "left-over staging stays until the next run");
        }
    }
}

/// Called by the holder of the turn.
fn remove_if_dead(dir: &Utf8Path) -> Result<(), StoreError> {
    let lock = lock_path(dir);
    match try_lock(&lock)? {
        None => Ok(()),
        Some(_owned) => {
            remove_tree(dir)?;
            gone(fs::remove_file(&lock)).map_err(StoreError::io("remove", &lock))
        }
    }
}

fn remove_lock(dir: &Utf8Path) -> Result<(), StoreError> {
    let lock = lock_path(dir);
    let _turn = lock.parent().map(take_turn).transpose()?;
    gone(fs::remove_file(&lock)).map_err(StoreError::io("remove", &lock))
}

const LOCK_SUFFIX: &str = ".lock";

fn lock_path(dir: &Utf8Path) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("{dir}{LOCK_SUFFIX}"))
}

/// How long one waits for one's turn: 10 s, where moments are usual.
const TURN_ROUNDS: u32 = 1000;
const TURN_ROUND: Duration = Duration::from_millis(10);

/// Waits for the right to make, try and remove locks here; held for moments only.
fn take_turn(parent: &Utf8Path) -> Result<File, StoreError> {
    let path = parent.join("lock");
    for _ in 0..TURN_ROUNDS {
        if let Some(turn) = try_lock(&path)? {
            return Ok(turn);
        }
        thread::sleep(TURN_ROUND);
    }
    // A holder that was stopped: nobody should wait for it.
    Err(StoreError::Busy { path })
}

/// The locked file, or nothing if another holds it.
fn try_lock(path: &Utf8Path) -> Result<Option<File>, StoreError> {
    let file = open_lock(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(StoreError::io("lock", path)(error)),
    }
}

fn open_lock(path: &Utf8Path) -> Result<File, StoreError> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        // Neither somebody's link nor a pipe without a reader.
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(path)
        .map_err(StoreError::io("open the lock", path))
}

fn private_dir() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(PRIVATE);
    builder
}

fn remove_tree(dir: &Utf8Path) -> Result<(), StoreError> {
    let removed = match gone(fs::remove_dir_all(dir)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            unlock(dir);
            gone(fs::remove_dir_all(dir))
        }
        removed => removed,
    };
    removed.map_err(StoreError::io("remove", dir))
}

/// Takes back the directories that a tool has locked. It failing, the removal says why.
fn unlock(dir: &Utf8Path) {
    // Never through a link: what it leads to is not ours.
    let _ = fs::set_permissions(dir, Permissions::from_mode(0o700));
    for entry in dir.read_dir_utf8().into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            unlock(entry.path());
        }
    }
}

/// What is not there any more has been removed.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Copies to the end, in blocks; tells a failing source from a failing destination.
pub(super) fn pump(mut from: impl Read, to: &mut File, path: &Utf8Path) -> Result<(), StoreError> {
    let mut block = vec![0; BLOCK];
    loop {
        let length = match from.read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(StoreError::Source {
                    path: path.to_owned(),
                    error,
                });
            }
        };
        let read = block.get(..length).unwrap_or_default();
        to.write_all(read).map_err(StoreError::io("write", path))?;
    }
}
