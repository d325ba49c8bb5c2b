//! The store of finished assets: a directory, or a prefix in a bucket of an object store.

mod asset;
mod directory;
mod remote;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use self::{asset::Stored, directory::Directory, remote::Remote};
use super::{error::StoreError, objects::Objects, print::GoOn, reach};
use crate::{
    catalog::Storage,
    task::{INCOMING, Location, Uri},
};

pub(crate) use asset::{Finished, Probed};

/// A handle of the store, and of the objects that the run can reach. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    place: AssetPlace,
    objects: Objects,
}

#[derive(Debug, Clone)]
enum AssetPlace {
    Directory(Directory),
    Remote(Arc<Remote>),
}

/// A file that is ready to be moved to its place. Dropping it does not change the place.
#[derive(Debug)]
#[must_use = "an asset is in its place only after `commit`"]
pub(crate) enum Prepared {
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
        let place = match uri.location() {
            Location::Object { .. } => {
                AssetPlace::Remote(Arc::new(Remote::open(&uri, &objects, state_dir)?))
            }
            Location::File(_) | Location::Http(_) | Location::Other { .. } => {
                AssetPlace::Directory(Directory::open(&storage.uri, root)?)
            }
        };
        Ok(Self { place, objects })
    }

    pub(crate) fn objects(&self) -> &Objects {
        &self.objects
    }

    /// The directory of the assets, if they are on this machine.
    pub(crate) fn dir(&self) -> Option<&Utf8Path> {
        match &self.place {
            AssetPlace::Directory(directory) => Some(directory.dir()),
            AssetPlace::Remote(_) => None,
        }
    }

    /// The directory into which a store on this machine copies files, if the store can be used.
    pub(crate) fn incoming(storage: &Storage, root: &Utf8Path) -> Option<Utf8PathBuf> {
        match Uri::parse(&storage.uri).ok()?.location() {
            Location::Object { .. } => None,
            Location::File(_) | Location::Http(_) | Location::Other { .. } => {
                let directory = Directory::open(&storage.uri, root).ok()?;
                Some(directory.dir().join(INCOMING))
            }
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
        match &self.place {
            AssetPlace::Directory(directory) => directory.has_room(session_id, file_name),
            AssetPlace::Remote(remote) => remote.has_room(session_id, file_name, go_on),
        }
    }

    /// The URI that an asset will have. No I/O.
    pub(crate) fn uri_of(&self, session_id: &str, file_name: &str) -> Result<Uri, StoreError> {
        match &self.place {
            AssetPlace::Directory(directory) => directory.uri_of(session_id, file_name),
            AssetPlace::Remote(remote) => remote.uri_of(session_id, file_name),
        }
    }

    /// Checks a finished file and brings its content to the store. Lack of space or permission is found here, before
    /// any asset is changed. The file must be a regular file, not a link, and unchanged since it was seen.
    pub(crate) fn prepare(&self, file: Finished<'_>) -> Result<Prepared, StoreError> {
        Ok(match &self.place {
            AssetPlace::Directory(directory) => {
                Prepared::Directory(Box::new(directory.prepare(file)?))
            }
            AssetPlace::Remote(remote) => Prepared::Remote(Box::new(remote.prepare(file)?)),
        })
    }

    /// Whether the store can be used, for `oneact doctor`. For a bucket, an object is made and removed.
    pub(crate) fn probe(&self, operation_id: &str, go_on: GoOn<'_>) -> Result<Probed, StoreError> {
        match &self.place {
            AssetPlace::Directory(directory) => {
                Ok(Probed::Directory(reach::probe(directory.dir())?))
            }
            AssetPlace::Remote(remote) => remote.probe(operation_id, go_on),
        }
    }
}

impl Prepared {
    /// Moves the file to its place by one step, which replaces an asset with the same name. After an error the place is
    /// unchanged, except if the last sync of a directory fails or the answer of a store is lost.
    pub(crate) fn commit(self, go_on: GoOn<'_>) -> Result<Stored, StoreError> {
        match self {
            Self::Directory(prepared) => prepared.commit(),
            Self::Remote(prepared) => prepared.commit(go_on),
        }
    }
}
