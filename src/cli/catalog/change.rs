//! Changes the file of the catalog for a person. It is replaced as a whole, and only if nobody has changed it meanwhile.

use std::{
    fs::{File, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
};

use camino::Utf8Path;

use crate::{
    cli::{
        ended::{Stop, stop},
        owner,
    },
    host,
};

/// The largest file that is read, in bytes: a catalog, a document or a schema.
pub(crate) const LARGEST: u64 = 8 << 20;

/// The file as it was read.
pub(crate) struct CatalogFile<'p> {
    path: &'p Utf8Path,
    pub(crate) text: Vec<u8>,
    /// `None` if there is no file yet.
    found: Option<Metadata>,
}

impl<'p> CatalogFile<'p> {
    /// Reads the catalog, unless it is a symbolic link, belongs to somebody else or has an access control list: it is
    /// replaced by a new file, for whose group the mask of the list would become rights.
    pub(crate) fn read(path: &'p Utf8Path) -> Result<Self, Stop> {
        let failed = |error: io::Error| stop(2)(format!("{path} cannot be changed: {error}"));
        if path.is_symlink() {
            return Err(stop(2)(format!(
                "{path} is a symbolic link; name the file itself with --catalog"
            )));
        }
        let found = path.symlink_metadata().map_err(failed)?;
        if found.uid() != host::user_id() {
            let why = format!(
                "{path} belongs to user {}; nothing was written",
                found.uid()
            );
            return Err(stop(2)(why));
        }
        if owner::has_list(path).map_err(failed)? {
            return Err(stop(2)(format!(
                "{path} has an access control list, which would be lost; nothing was written"
            )));
        }
        let text = host::read_plain(path, LARGEST).map_err(failed)?;
        Ok(Self {
            path,
            text,
            found: Some(found),
        })
    }

    /// The same, or an empty text if there is no file.
    pub(crate) fn read_or_none(path: &'p Utf8Path) -> Result<Self, Stop> {
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self {
                path,
                text: Vec::new(),
                found: None,
            }),
            _ => Self::read(path),
        }
    }

    pub(crate) fn is_new(&self) -> bool {
        self.found.is_none()
    }

    /// Replaces the file, unless somebody has edited it meanwhile. A lock of its directory keeps other writers away.
    pub(crate) fn replace(&self, text: &[u8]) -> Result<(), Stop> {
        let path = self.path;
        let failed = |error: io::Error| stop(2)(format!("cannot write {path}: {error}"));
        if u64::try_from(text.len()).is_ok_and(|length| length > LARGEST) {
            return Err(stop(2)(format!(
                "{path} would be too long to be read; nothing was written"
            )));
        }
        let dir = path.parent().filter(|dir| !dir.as_str().is_empty());
        let dir = File::open(dir.unwrap_or(Utf8Path::new("."))).map_err(failed)?;
        dir.lock().map_err(failed)?;
        let changed = || stop(2)(format!("{path} was changed meanwhile; nothing was written"));
        let Some(found) = &self.found else {
            let is_new = host::place_new(path, text).map_err(failed)?;
            return if is_new { Ok(()) } else { Err(changed()) };
        };
        if Self::read(path)?.text != self.text {
            return Err(changed());
        }
        host::place(path, text, Some(found)).map_err(failed)
    }
}
