//! Gives files other names, also on file systems that can neither exchange two names, nor rename without replacing, nor
//! make hard links.

use rustix::{
    fs::{AtFlags, RenameFlags, linkat, renameat_with},
    io::Errno,
};

use serde::{Deserialize, Serialize};

use super::{Dir, FileError, FileKind};

/// Why a change by another program at the moment of the exchange may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Weakness {
    #[serde(
        rename = "a file had another size, time or inode number than before, and the same content"
    )]
    ContentCompared,
    #[serde(rename = "the file system cannot rename a file without replacing another one")]
    NoReplace,
    #[serde(rename = "the file system cannot exchange two names")]
    NoExchange,
}

impl FileError {
    /// Whether the file system does not know this way to rename.
    pub(crate) fn is_unsupported(&self) -> bool {
        matches!(self.errno, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
    }
}

impl Dir<'_> {
    pub(crate) fn rename(
        &self,
        name: &str,
        to: &Dir<'_>,
        new: &str,
        how: RenameFlags,
    ) -> Result<(), FileError> {
        let renamed = self.change("rename", name, || {
            renameat_with(self.fd(), name, to.fd(), new, how)
        });
        // Either file may be the obstacle.
        renamed.map_err(|error| FileError {
            path: format!("{}` to `{}", error.path, to.name(new)),
            ..error
        })
    }

    /// Swaps two files: at no moment is either name without one.
    pub(crate) fn exchange(
        &self,
        name: &str,
        with: &Dir<'_>,
        other: &str,
    ) -> Result<(), FileError> {
        self.rename(name, with, other, RenameFlags::EXCHANGE)
    }

    /// Moves a file or a directory to a name that nothing has. Where the file system cannot rename without replacing, this
    /// looks first. An empty directory may be replaced then, and a file by a file.
    pub(crate) fn move_to(
        &self,
        name: &str,
        to: &Dir<'_>,
        new: &str,
    ) -> Result<Option<Weakness>, FileError> {
        match self.rename(name, to, new, RenameFlags::NOREPLACE) {
            Err(error) if error.is_unsupported() => {}
            moved => return moved.map(|()| None),
        }
        if to.look(new)?.is_some() {
            return Err(FileError::of("rename", to.name(new))(Errno::EXIST));
        }
        self.rename(name, to, new, RenameFlags::empty())?;
        Ok(Some(Weakness::NoReplace))
    }

    /// The same from a slot or a backup, which no other program uses: where it can, a file gets a second name, which
    /// replaces nothing, and then loses the first one.
    pub(crate) fn put_at(
        &self,
        name: &str,
        to: &Dir<'_>,
        new: &str,
    ) -> Result<Option<Weakness>, FileError> {
        match self.rename(name, to, new, RenameFlags::NOREPLACE) {
            Err(error) if error.is_unsupported() => {}
            moved => return moved.map(|()| None),
        }
        let is_file = self.look(name)?.is_some_and(|it| it.kind == FileKind::File);
        if is_file && self.link(name, to, new).is_ok() {
            return self.remove(name).map(|()| None);
        }
        self.move_to(name, to, new)
    }

    pub(crate) fn link(&self, name: &str, to: &Dir<'_>, new: &str) -> Result<(), FileError> {
        self.change("link", name, || {
            linkat(self.fd(), name, to.fd(), new, AtFlags::empty())
        })
    }
}
