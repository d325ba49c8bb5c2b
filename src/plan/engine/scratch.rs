//! Directories in which the programs of a plan work: `agent_outputs/reports/.scratch/{name}`.

use std::{
    fs,
    os::{fd::OwnedFd, unix::fs::PermissionsExt as _},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use camino::{Utf8Path, Utf8PathBuf};
use rustix::{
    fs::{FlockOperation, OFlags, flock, open},
    io::Errno,
};

use crate::tree::{Dir, FileError, FileKind, Root, joined, there};

use super::folder::{PRIVATE, REPORTS, list, reports};

const SCRATCH: &str = ".scratch";

/// How long a program may still be ending whose run was killed.
const ENDING: Duration = Duration::from_secs(5);

/// A new directory, which is removed at the end. While it is used, the run and its programs hold a shared lock on it.
#[derive(Debug)]
pub(crate) struct Scratch<'a> {
    root: &'a Root,
    name: String,
    path: Utf8PathBuf,
    _lock: OwnedFd,
}

impl<'a> Scratch<'a> {
    pub(crate) fn make(root: &'a Root, name: &str) -> Result<Self, FileError> {
        reports(root)?.ensure_dir(SCRATCH, PRIVATE)?;
        scratches(root)?.make_dir(name, PRIVATE)?;
        let path = root.path().join(format!("{REPORTS}/{SCRATCH}/{name}"));
        let failed = FileError::of("lock", &path);
        let lock = opened(&path).and_then(|dir| {
            flock(&dir, FlockOperation::NonBlockingLockShared)?;
            Ok(dir)
        });
        Ok(Self {
            root,
            name: name.to_owned(),
            _lock: lock.map_err(failed)?,
            path,
        })
    }

    pub(crate) fn path(&self) -> &Utf8Path {
        &self.path
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next plan.
        let _ = remove(self.root, &self.name).and_then(|()| remove_empty(self.root));
    }
}

/// Removes the directories of runs that were killed. After a plan was interrupted, its programs may just be ending, and
/// are waited for.
pub(crate) fn clear_scratch(root: &Root, unfinished: &[String]) -> Result<(), FileError> {
    let Some(dir) = there(scratches(root))? else {
        return Ok(());
    };
    let until = Instant::now()
        + if unfinished.is_empty() {
            Duration::ZERO
        } else {
            ENDING
        };
    for name in list(Some(dir))? {
        let path = root.path().join(format!("{REPORTS}/{SCRATCH}/{name}"));
        let Ok(dir) = opened(&path) else { continue };
        let is_free = || flock(&dir, FlockOperation::NonBlockingLockExclusive).is_ok();
        let mut free = is_free();
        while !free && Instant::now() < until {
            thread::sleep(Duration::from_millis(20));
            free = is_free();
        }
        if free {
            remove(root, &name)?;
        }
    }
    remove_empty(root)
}

fn opened(path: &Utf8Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    open(path.as_std_path(), flags, rustix::fs::Mode::empty())
}

fn scratches(root: &Root) -> Result<Dir<'_>, FileError> {
    root.dir(Some(&joined("open", &format!("{REPORTS}/{SCRATCH}"))?))
}

fn remove(root: &Root, name: &str) -> Result<(), FileError> {
    let path = joined("remove", &format!("{REPORTS}/{SCRATCH}/{name}"))?;
    let scratches = scratches(root)?;
    match scratches.look(name)?.map(|facts| facts.kind) {
        Some(FileKind::Dir) => {
            let at = root.path().join(path.as_path());
            open_up(at.as_std_path());
            fs::remove_dir_all(&at).map_err(FileError::of("remove", &at))?;
        }
        Some(_) => scratches.remove(name)?,
        None => {}
    }
    Ok(())
}

/// A program may have left directories that cannot be written to. What cannot be opened up is told by its removal.
fn open_up(dir: &Path) {
    let _ = fs::set_permissions(dir, fs::Permissions::from_mode(PRIVATE));
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

/// Removes the directory of all, if nothing is in it.
fn remove_empty(root: &Root) -> Result<(), FileError> {
    match reports(root)?.remove_dir(SCRATCH) {
        Err(error) if error.errno != Errno::NOTEMPTY => Err(error),
        _ => Ok(()),
    }
}
