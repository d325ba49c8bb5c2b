//! Opens regular files for reading. Opening never waits for a pipe.

use std::fs::File;

use camino::Utf8Path;
use rustix::{
    fd::OwnedFd,
    fs::{Mode, OFlags, ResolveFlags, openat2},
    io::Errno,
};

use super::error::StoreError;

/// Opens a regular file. A symbolic link in its place is refused.
pub(crate) fn open_regular(path: &Utf8Path) -> Result<File, StoreError> {
    open(path, OFlags::NOFOLLOW)
}

/// Opens the regular file that a path leads to, also through links.
pub(super) fn open_followed(path: &Utf8Path) -> Result<File, StoreError> {
    open(path, OFlags::empty())
}

/// Opens a regular file that another program names, if the file lies below `place` after all links in the
/// directories of its path are resolved. Returns `None` if it lies elsewhere, so that errors say nothing about
/// files outside `place`. The last component must not be a link.
pub(crate) fn open_within(place: &Utf8Path, path: &Utf8Path) -> Result<Option<File>, StoreError> {
    let Ok(place) = place.canonicalize_utf8() else {
        return Ok(None);
    };
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(None);
    };
    let real = parent.canonicalize_utf8();
    let real = real.as_deref().unwrap_or(parent).join(name);
    let Ok(below) = real.strip_prefix(&place) else {
        return Ok(None);
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(place.as_std_path(), flags, Mode::empty())
        .map_err(StoreError::io("open", &place))?;
    // A directory may have been replaced by a link since the path was resolved.
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let (below, flags) = (below.as_std_path(), READ | OFlags::NOFOLLOW);
    match openat2(&directory, below, flags, Mode::empty(), resolve) {
        Err(Errno::XDEV) => Ok(None),
        opened => regular(opened, path).map(Some),
    }
}

const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

fn open(path: &Utf8Path, flags: OFlags) -> Result<File, StoreError> {
    let opened = rustix::fs::open(path.as_std_path(), READ | flags, Mode::empty());
    regular(opened, path)
}

fn regular(opened: rustix::io::Result<OwnedFd>, path: &Utf8Path) -> Result<File, StoreError> {
    let file = match opened {
        Ok(descriptor) => File::from(descriptor),
        Err(Errno::LOOP) => return Err(StoreError::Symlink(path.to_owned())),
        Err(Errno::NXIO) => return Err(StoreError::NotAFile(path.to_owned())),
        Err(errno) => return Err(StoreError::io("open", path)(errno)),
    };
    let metadata = file.metadata().map_err(StoreError::io("look at", path))?;
    if !metadata.is_file() {
        return Err(StoreError::NotAFile(path.to_owned()));
    }
    Ok(file)
}
