//! The store in a directory.
//!
//! A file becomes an asset by one `rename` within the file system of the store, after its content is on the disk.
//! No symbolic link is followed below the directory of the store.

#[cfg(test)]
mod tests;

use std::{
    fs::{self, File},
    io,
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    sync::Arc,
};

use camino::{Utf8Path, Utf8PathBuf};
use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags},
    io::Errno,
};

use super::asset::{Finished, Stored};
use crate::{
    assets::{
        error::{StoreError, component},
        print::{stat_at, stat_of},
        regular::open_regular,
        staging::Staging,
    },
    task::{ASSETS, INCOMING, Stat, Uri},
};

/// Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    /// An absolute path, which may contain links, because the operator chose it. The directory need not exist
    /// before the first asset.
    dir: Arc<Utf8Path>,
}

impl Directory {
    /// The store at `uri`, the catalog's `[storage] uri`; a relative path is relative to `root`. Nothing is
    /// created.
    pub(super) fn open(uri: &str, root: &Utf8Path) -> Result<Self, StoreError> {
        let uri = Uri::parse(uri).map_err(StoreError::BadUri)?;
        let Some(dir) = uri.local_path(root) else {
            return Err(StoreError::Unsupported(uri.redacted().into_owned()));
        };
        let dir = camino::absolute_utf8(&dir).map_err(StoreError::io("find", &dir))?;
        // A repository can contain a link at the default place. An operator who wants one can name its target.
        if dir == root.join(ASSETS) {
            let mut way = dir.ancestors().take(2);
            if let Some(link) = way.find(|path| path.is_symlink()) {
                return Err(StoreError::Symlink(link.to_owned()));
            }
        }
        Ok(Self { dir: dir.into() })
    }

    pub(super) fn dir(&self) -> &Utf8Path {
        &self.dir
    }

    /// Fails if something is in the place of the session's directory, or of a directory above it, or if a directory is
    /// in the place of the asset. Nothing is created.
    pub(super) fn has_room(&self, session_id: &str, file_name: &str) -> Result<(), StoreError> {
        let session = self.dir.join(component("session id", session_id)?);
        let asset = session.join(component("file name", file_name)?);
        match session.symlink_metadata() {
            Ok(found) if found.is_symlink() => return Err(StoreError::Symlink(session)),
            Ok(found) if !found.is_dir() => {
                let error = io::Error::from(io::ErrorKind::NotADirectory);
                return Err(StoreError::io("open", &session)(error));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io("open", &session)(error));
            }
            Ok(_) | Err(_) => {}
        }
        if asset.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Err(StoreError::NotAFile(asset));
        }
        Ok(())
    }

    /// The URI that an asset will have. No I/O.
    pub(super) fn uri_of(&self, session_id: &str, file_name: &str) -> Result<Uri, StoreError> {
        let session = component("session id", session_id)?;
        let name = component("file name", file_name)?;
        Uri::from_path(&self.dir.join(session).join(name)).map_err(StoreError::BadUri)
    }

    /// Checks a finished file and brings it to the disk of the store. Lack of space or permission is found here,
    /// before any asset is changed. The file must be a regular file, not a link, and unchanged since it was `seen`, if
    /// that is given.
    pub(super) fn prepare(&self, finished: Finished<'_>) -> Result<Prepared, StoreError> {
        let Finished {
            session_id,
            file_name,
            staged,
            seen,
            ..
        } = finished;
        let uri = self.uri_of(session_id, file_name)?;
        let session = self.dir.join(session_id);
        let file = open_regular(staged)?;
        let found = file.metadata().map_err(StoreError::io("look at", staged))?;
        if seen.is_some() && stat_of(&file).as_ref() != seen {
            return Err(StoreError::Changed(staged.to_owned()));
        }
        let directory = self.session_dir(session_id, &session)?;
        let here = rustix::fs::fstat(&directory).map_err(StoreError::io("look at", &session))?;
        let there = rustix::fs::statat(&directory, file_name, AtFlags::SYMLINK_NOFOLLOW);
        if there.is_ok_and(|there| FileType::from_raw_mode(there.st_mode) == FileType::Directory) {
            return Err(StoreError::NotAFile(session.join(file_name)));
        }
        // A file with another hard link is copied: a write through that link would change the asset.
        let (from, checked, incoming) = if here.st_dev == found.dev() && found.nlink() == 1 {
            plain_mode(&file, &found, staged)?;
            file.sync_all().map_err(StoreError::io("sync", staged))?;
            (staged.to_owned(), file, None)
        } else {
            let (copy, incoming) = self.copy_in(file, &found)?;
            let checked = open_regular(&copy)?;
            (copy, checked, Some(incoming))
        };
        Ok(Prepared {
            uri,
            bytes: found.len(),
            path: session.join(file_name),
            directory,
            from,
            seen: stat_of(&checked),
            checked,
            _incoming: incoming,
        })
    }

    /// Copies a file from another file system, or with another hard link, into a scratch directory of the store.
    /// The last step is then a rename, too, and the next copy removes what a killed process left.
    fn copy_in(
        &self,
        from: File,
        found: &fs::Metadata,
    ) -> Result<(Utf8PathBuf, Staging), StoreError> {
        // No other process can use the same id while this file exists.
        let id = format!("{:x}-{:x}-{}", found.dev(), found.ino(), std::process::id());
        let staging = Staging::beneath(&self.dir.join(INCOMING), &id)?;
        let copy = staging.write("copy", from)?;
        Ok((copy, staging))
    }

    /// Opens the directory of the session, which is made if it is missing. A link in its place is not followed.
    fn session_dir(&self, session_id: &str, path: &Utf8Path) -> Result<OwnedFd, StoreError> {
        create_durably(&self.dir)?;
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let store = rustix::fs::open(self.dir.as_std_path(), flags, Mode::empty())
            .map_err(StoreError::io("open", &self.dir))?;
        match rustix::fs::mkdirat(&store, session_id, Mode::from_raw_mode(0o777)) {
            Ok(()) => rustix::fs::fsync(&store).map_err(StoreError::io("sync", &self.dir))?,
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(StoreError::io("create", path)(errno)),
        }
        let opened =
            rustix::fs::openat(&store, session_id, flags | OFlags::NOFOLLOW, Mode::empty());
        opened.map_err(|errno| {
            // With O_DIRECTORY, the error for a link is ENOTDIR, as for a file.
            let there = rustix::fs::statat(&store, session_id, AtFlags::SYMLINK_NOFOLLOW);
            let kind = there.map(|stat| FileType::from_raw_mode(stat.st_mode));
            match kind {
                Ok(FileType::Symlink) => StoreError::Symlink(path.to_owned()),
                _ => StoreError::io("open", path)(errno),
            }
        })
    }
}

/// A file that is ready to be moved to its place. Dropping it does not change the place.
#[derive(Debug)]
#[must_use = "an asset is in its place only after `commit`"]
pub(crate) struct Prepared {
    uri: Uri,
    bytes: u64,
    path: Utf8PathBuf,
    directory: OwnedFd,
    /// A path on the file system of `directory`.
    from: Utf8PathBuf,
    /// The checked file. It is kept open, so that its inode number is not used again.
    checked: File,
    /// The facts about the file when it was prepared.
    seen: Option<Stat>,
    _incoming: Option<Staging>,
}

impl Prepared {
    /// Moves the file to its place by one rename, which replaces an asset with the same name. After an error the
    /// place is unchanged, except if the last sync fails.
    pub(super) fn commit(self) -> Result<Stored, StoreError> {
        let path = &self.path;
        let name = path.file_name().unwrap_or_default();
        // The file is checked before the rename. Afterwards its place may already contain the asset of another
        // run.
        let now = [stat_at(&self.from), stat_of(&self.checked)];
        if self.seen.is_none() || now != [self.seen; 2] {
            return Err(StoreError::Changed(path.clone()));
        }
        rustix::fs::renameat(CWD, self.from.as_std_path(), &self.directory, name)
            .map_err(StoreError::io("put an asset at", path))?;
        rustix::fs::fsync(&self.directory).map_err(StoreError::io("sync the place of", path))?;
        Ok(Stored {
            uri: self.uri,
            bytes: self.bytes,
            note: None,
        })
    }
}

/// Removes special and execute bits of an asset, and lets its owner read and write it.
fn plain_mode(file: &File, found: &fs::Metadata, path: &Utf8Path) -> Result<(), StoreError> {
    let plain = found.mode() & 0o666 | 0o600;
    if found.mode() & 0o7777 == plain {
        return Ok(());
    }
    rustix::fs::fchmod(file, Mode::from_raw_mode(plain))
        .map_err(StoreError::io("set the mode of", path))
}

/// Makes a directory and its parents. The parent of each new directory is synced.
fn create_durably(dir: &Utf8Path) -> Result<(), StoreError> {
    let Some(parent) = dir.parent() else {
        return Ok(());
    };
    if dir.is_dir() {
        return Ok(());
    }
    create_durably(parent)?;
    match fs::create_dir(dir) {
        Ok(()) => File::open(parent)
            .and_then(|opened| opened.sync_all())
            .map_err(StoreError::io("sync", parent)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StoreError::io("create", dir)(error)),
    }
}
