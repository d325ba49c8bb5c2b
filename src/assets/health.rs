//! Checks of directories for `oneact doctor`: whether files can be created, the free space, the permissions.

use std::{fs, io::Write as _, os::unix::fs::PermissionsExt};

use camino::{Utf8Path, Utf8PathBuf};

use super::error::StoreError;

/// A directory that can be written to.
#[derive(Debug)]
pub(crate) struct Room {
    /// The directory in which a file was created: the given one, or its nearest ancestor that exists.
    pub(crate) tried: Utf8PathBuf,
    /// The space that this user may still use.
    pub(crate) free_bytes: u64,
}

/// Creates and removes a file. If the directory does not exist, its nearest existing ancestor is used, and the
/// directory is not created.
pub(crate) fn probe(dir: &Utf8Path) -> Result<Room, StoreError> {
    let tried = dir
        .ancestors()
        .find(|above| above.symlink_metadata().is_ok())
        .unwrap_or(dir);
    let made = tempfile::Builder::new()
        .prefix(".oneact-probe-")
        .tempfile_in(tried);
    let mut file = made.map_err(StoreError::io("create a file in", tried))?;
    file.write_all(b"probe")
        .map_err(StoreError::io("write a file in", tried))?;
    file.close()
        .map_err(StoreError::io("remove a file from", tried))?;
    let space = rustix::fs::statvfs(tried.as_std_path())
        .map_err(StoreError::io("ask for the space of", tried))?;
    Ok(Room {
        tried: tried.to_owned(),
        free_bytes: space.f_bavail.saturating_mul(space.f_frsize),
    })
}

/// The permission bits of a directory, such as `0o700`.
pub(crate) fn mode(dir: &Utf8Path) -> Result<u32, StoreError> {
    let found = fs::metadata(dir).map_err(StoreError::io("look at", dir))?;
    Ok(found.permissions().mode() & 0o777)
}

/// Whether this user may execute that file.
pub(crate) fn is_executable(path: &Utf8Path) -> bool {
    path.is_file() && rustix::fs::access(path.as_std_path(), rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn dir() -> (TempDir, Utf8PathBuf) {
        let dir = TempDir::new().unwrap();
        let path = Utf8PathBuf::try_from(dir.path().to_owned()).unwrap();
        (dir, path)
    }

    #[test]
    fn a_probe_leaves_nothing_behind() {
        let (_kept, path) = dir();
        assert!(probe(&path).unwrap().free_bytes > 0);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_that_is_not_there_yet_is_tried_above_and_not_made() {
        let (_kept, path) = dir();
        let room = probe(&path.join("store/deep")).unwrap();
        assert_eq!(room.tried, path);
        assert!(!path.join("store").exists());
    }

    #[test]
    fn a_file_in_the_way_is_an_error_with_its_path() {
        let (_kept, path) = dir();
        fs::write(path.join("store"), "").unwrap();
        let error = probe(&path.join("store/deep")).unwrap_err().to_string();
        assert!(error.contains(path.join("store").as_str()), "{error}");
    }
}
