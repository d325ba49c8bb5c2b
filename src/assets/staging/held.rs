//! A locked directory. The lock is on the directory itself, so no lock file is needed.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt,
};

use camino::{Utf8Path, Utf8PathBuf};
use rustix::{
    fs::{Dir, FileType, Mode, OFlags, fstat, lstat, openat},
    io::Errno,
};

use crate::assets::error::StoreError;

/// The mode of a scratch directory.
pub(super) const PRIVATE: u32 = 0o700;

/// The file that marks a scratch directory as made by oneact.
pub(super) const MARK: &str = ".oneact-scratch";

/// The lock on a directory. The kernel releases it when the process ends.
#[derive(Debug)]
pub(super) struct Held {
    dir: File,
    /// The lock file, if the file system cannot lock directories.
    beside: Option<(Utf8PathBuf, File)>,
}

impl Held {
    /// Locks the directory. Returns `None` if another process holds the lock.
    pub(super) fn take(path: &Utf8Path) -> Result<Option<Self>, StoreError> {
        let dir = open_directory(path).map_err(StoreError::io("open", path))?;
        Self::lock(path, dir)
    }

    /// The same for the directory with this name in an open directory.
    pub(super) fn take_in(parent: &File, name: &str) -> Result<Option<Self>, StoreError> {
        let path = Utf8Path::new(name);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = openat(parent, name, flags, Mode::empty());
        Self::lock(path, File::from(dir.map_err(StoreError::io("open", path))?))
    }

    fn lock(path: &Utf8Path, dir: File) -> Result<Option<Self>, StoreError> {
        match dir.try_lock() {
            Ok(()) => Ok(Some(Self { dir, beside: None })),
            Err(TryLockError::WouldBlock) => Ok(None),
            // NFS locks only files that are open for writing, which a directory cannot be (flock(2)).
            Err(TryLockError::Error(error))
                if Errno::from_io_error(&error) == Some(Errno::BADF) =>
            {
                Self::beside(path, dir)
            }
            Err(TryLockError::Error(error)) => Err(StoreError::io("lock", path)(error)),
        }
    }

    /// The same with a lock file beside the directory.
    fn beside(path: &Utf8Path, dir: File) -> Result<Option<Self>, StoreError> {
        let path = Utf8PathBuf::from(format!("{path}.lock"));
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            // Links are not followed, and opening does not wait for the reader of a pipe.
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
            .open(&path)
            .map_err(StoreError::io("open the lock", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self {
                dir,
                beside: Some((path, file)),
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(StoreError::io("lock", &path)(error)),
        }
    }

    /// Whether the path names this directory itself, not a link to it.
    pub(super) fn is_at(&self, path: &Utf8Path) -> bool {
        let (held, found) = (fstat(&self.dir), lstat(path.as_std_path()));
        held.is_ok_and(|held| {
            found.is_ok_and(|found| (held.st_dev, held.st_ino) == (found.st_dev, found.st_ino))
        })
    }

    pub(super) fn has_a_file(&self) -> bool {
        self.beside.is_some()
    }

    /// Removes the lock file, if there is one. The caller holds the turn, so that no other process locks a file
    /// that is about to be removed.
    pub(super) fn clear(&self) {
        if let Some((path, _)) = &self.beside {
            // A lock file that remains does no harm.
            let _ = fs::remove_file(path);
        }
    }

    /// Unlocks the directory early, so that it can be locked under another name. A lock file belongs to the old
    /// name and stays locked.
    pub(super) fn give_up(&self) -> io::Result<()> {
        match self.beside {
            Some(_) => Ok(()),
            None => self.dir.unlock(),
        }
    }

    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        self.each(|name, kind| {
            if matches!(kind, FileType::Directory | FileType::Unknown) {
                names.push(name.to_owned());
            }
        })?;
        Ok(names)
    }

    /// Whether the directory has the right mode and contains only the mark.
    pub(super) fn is_pristine(&self) -> bool {
        let as_made = fstat(&self.dir).is_ok_and(|found| found.st_mode & 0o7777 == PRIVATE);
        as_made
            && self
                .inside()
                .is_ok_and(|(mark, others)| mark == 1 && others == 0)
    }

    /// Whether a dead process of oneact left the directory: it contains the mark, or nothing, because the process
    /// may have died before it made the mark.
    pub(super) fn may_be_swept(&self) -> bool {
        let inside = self.inside();
        inside.is_ok_and(|(mark, others)| mark == 1 || others == 0)
    }

    pub(super) fn is_marked(&self) -> bool {
        self.inside().is_ok_and(|(mark, _)| mark == 1)
    }

    /// The number of marks in the directory, and of other entries.
    fn inside(&self) -> io::Result<(u32, u32)> {
        let (mut marks, mut others) = (0, 0);
        self.each(|name, kind| match (name, kind) {
            (MARK, FileType::RegularFile | FileType::Unknown) => marks += 1,
            _ => others += 1,
        })?;
        Ok((marks, others))
    }

    fn each(&self, mut see: impl FnMut(&str, FileType)) -> io::Result<()> {
        for entry in Dir::read_from(&self.dir)? {
            let entry = entry?;
            match entry.file_name().to_str() {
                Ok("." | "..") => {}
                // No entry of oneact has a name that is not UTF-8.
                name => see(name.unwrap_or_default(), entry.file_type()),
            }
        }
        Ok(())
    }
}

/// Opens a directory. A link in its place is refused.
pub(super) fn open_directory(path: &Utf8Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::DIRECTORY | OFlags::NOFOLLOW).bits().cast_signed())
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_directory_cannot_be_locked_a_file_beside_it_is_and_goes_with_it() {
        let keep = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(keep.path()).unwrap().join("dir");
        fs::create_dir(&dir).unwrap();
        let take = || Held::beside(&dir, open_directory(&dir).unwrap()).unwrap();
        let held = take().unwrap();
        assert!(take().is_none());
        held.give_up().unwrap();
        assert!(
            take().is_none(),
            "another name of the directory is another lock"
        );
        held.clear();
        assert!(!keep.path().join("dir.lock").exists());
        assert!(take().is_some());
    }

    #[test]
    fn a_directory_is_locked_once_and_only_what_is_no_link() {
        let keep = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(keep.path()).unwrap();
        let (dir, link) = (root.join("dir"), root.join("link"));
        fs::create_dir(&dir).unwrap();
        std::os::unix::fs::symlink(&dir, &link).unwrap();
        let held = Held::take(&dir).unwrap().unwrap();
        assert!(!held.has_a_file());
        assert!(Held::take(&dir).unwrap().is_none());
        assert!(Held::take(&link).is_err());
        held.give_up().unwrap();
        assert!(Held::take(&dir).unwrap().is_some());
    }
}
