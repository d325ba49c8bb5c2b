//! The store of finished assets: a directory, or a prefix in a bucket of an object store.

mod directory;
mod remote;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use self::{directory::Directory, remote::Remote};
use super::{error::StoreError, objects::Objects, print::GoOn};
use crate::{
    catalog::Storage,
    task::{Location, Stat, Uri},
};

/// A handle of the store, and of the objects that the run can reach. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    kind: Kind,
    objects: Objects,
}

#[derive(Debug, Clone)]
enum Kind {
    Directory(Directory),
    Remote(Arc<Remote>),
}

/// A finished file that is to become an asset.
#[derive(Clone, Copy)]
pub(crate) struct Finished<'a> {
    pub(crate) session_id: &'a str,
    pub(crate) file_name: &'a str,
    /// Where the file is now.
    pub(crate) staged: &'a Utf8Path,
    /// The facts about the file when it was checked.
    pub(crate) seen: Option<&'a Stat>,
    pub(crate) operation_id: &'a str,
    /// Whether the run may go on.
    pub(crate) go_on: GoOn<'a>,
}

/// An asset at its final place (R-000-71, R-000-72).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    /// `{store}/{session_id}/{file_name}`.
    pub(crate) uri: Uri,
    pub(crate) bytes: u64,
    /// What the store does not guarantee, for `audit.compliance_notes`.
    pub(crate) note: Option<String>,
}

/// A file that is ready to be moved to its place. Dropping it does not change the place.
#[derive(Debug)]
#[must_use = "an asset is in its place only after `commit`"]
pub(crate) struct Prepared(Ready);

#[derive(Debug)]
enum Ready {
    Directory(Box<directory::Prepared>),
    Remote(Box<remote::Prepared>),
}

impl Store {
    /// The store of the catalog's `[storage]`; a relative path is relative to `root`. Nothing is created or contacted.
    pub(crate) fn open(
        storage: &Storage,
        root: &Utf8Path,
        state_dir: &Utf8Path,
    ) -> Result<Self, StoreError> {
        let uri = Uri::parse(&storage.uri).map_err(StoreError::BadUri)?;
        let objects = Objects::of(storage);
        let kind = match uri.location() {
            Location::Object { .. } => {
                Kind::Remote(Arc::new(Remote::open(&uri, &objects, state_dir)?))
            }
            Location::File(_) | Location::Http(_) | Location::Other { .. } => {
                Kind::Directory(Directory::open(&storage.uri, root)?)
            }
        };
        Ok(Self { kind, objects })
    }

    pub(crate) fn objects(&self) -> &Objects {
        &self.objects
    }

    /// The directory of the assets, if they are on this machine.
    pub(crate) fn dir(&self) -> Option<&Utf8Path> {
        match &self.kind {
            Kind::Directory(directory) => Some(directory.dir()),
            Kind::Remote(_) => None,
        }
    }

    pub(crate) fn incoming(&self) -> Option<Utf8PathBuf> {
        match &self.kind {
            Kind::Directory(directory) => Some(directory.incoming()),
            Kind::Remote(_) => None,
        }
    }

    /// Fails if the asset could not be stored, as far as that is known before it is made. Removes what killed runs have
    /// left in a bucket.
    pub(crate) fn has_room(
        &self,
        session_id: &str,
        file_name: &str,
        go_on: GoOn<'_>,
    ) -> Result<(), StoreError> {
        match &self.kind {
            Kind::Directory(directory) => directory.has_room(session_id, file_name),
            Kind::Remote(remote) => remote.has_room(session_id, file_name, go_on),
        }
    }

    /// The URI that an asset will have. No I/O.
    pub(crate) fn uri_of(&self, session_id: &str, file_name: &str) -> Result<Uri, StoreError> {
        match &self.kind {
            Kind::Directory(directory) => directory.uri_of(session_id, file_name),
            Kind::Remote(remote) => remote.uri_of(session_id, file_name),
        }
    }

    /// Checks a finished file and brings its content to the store. Lack of space or permission is found here, before
    /// any asset is changed. The file must be a regular file, not a link, and unchanged since it was seen.
    pub(crate) fn prepare(&self, file: Finished<'_>) -> Result<Prepared, StoreError> {
        let Finished {
            session_id,
            file_name,
            staged,
            seen,
            ..
        } = file;
        Ok(Prepared(match &self.kind {
            Kind::Directory(directory) => Ready::Directory(Box::new(
                directory.prepare(session_id, file_name, staged, seen)?,
            )),
            Kind::Remote(remote) => Ready::Remote(Box::new(remote.prepare(file)?)),
        }))
    }

    /// Whether the store can be used, for `oneact doctor`. For a bucket, an object is made and removed.
    pub(crate) fn probe(&self, operation_id: &str, go_on: GoOn<'_>) -> Result<Probed, StoreError> {
        match &self.kind {
            Kind::Directory(directory) => {
                Ok(Probed::Directory(super::reach::probe(directory.dir())?))
            }
            Kind::Remote(remote) => remote.probe(operation_id, go_on),
        }
    }
}

/// What a test of the store has shown.
#[derive(Debug)]
pub(crate) enum Probed {
    Directory(super::reach::Room),
    Bucket {
        uri: String,
        conditions: super::objects::Conditions,
    },
}

impl Prepared {
    /// Moves the file to its place by one step, which replaces an asset with the same name. After an error the place is
    /// unchanged, except if the last sync of a directory fails or the answer of a store is lost.
    pub(crate) fn commit(self, go_on: GoOn<'_>) -> Result<Stored, StoreError> {
        match self.0 {
            Ready::Directory(prepared) => {
                let directory::Stored { uri, bytes, .. } = prepared.commit()?;
                Ok(Stored {
                    uri,
                    bytes,
                    note: None,
                })
            }
            Ready::Remote(prepared) => prepared.commit(go_on),
        }
    }
}
