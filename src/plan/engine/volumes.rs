//! The mount points on the paths of a plan. A path says nothing about a plan while its volume is not mounted.

use std::collections::{BTreeMap, BTreeSet};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::{
    plan::files::{FileError, Mounted, Root},
    task::RelPath,
};

use super::entry::Entry;

/// A directory or a file below the root that something is mounted on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Volume {
    path: RelPath,
    ino: u64,
    /// The birth time in nanoseconds since 1970; none where the file system keeps none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    born: Option<i64>,
    /// The number of the file system, if it is made of the file system's UUID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fsid: Option<u64>,
}

impl Volume {
    fn is(&self, other: &Self) -> bool {
        (&self.path, self.ino, self.fsid) == (&other.path, other.ino, other.fsid)
            && self.born.zip(other.born).is_none_or(|(a, b)| a == b)
    }
}

/// The mount points on the way to all names that these entries change.
pub(super) fn volumes(root: &Root, entries: &[Entry]) -> Result<Vec<Volume>, FileError> {
    let mut places = BTreeSet::new();
    for dir in entries.iter().flat_map(Entry::dirs) {
        // What contains a known directory is known, too.
        let mut new = dir.filter(|dir| !places.contains(dir));
        while let Some(dir) = new {
            new = dir.parent().filter(|dir| !places.contains(dir));
            places.insert(dir);
        }
    }
    let in_place = entries.iter().filter(|entry| entry.is_in_place());
    places.extend(in_place.map(|entry| entry.path().clone()));
    let mut mounts = BTreeMap::from([(None, root.dir(None)?.mount()?)]);
    let mut volumes = Vec::new();
    // A directory comes before what it contains.
    for path in places {
        let Some(found) = mounted(root, &path)? else {
            continue;
        };
        if mounts.get(&path.parent()) != Some(&found.mount) {
            volumes.push(Volume {
                path: path.clone(),
                ino: found.ino,
                born: found.born,
                fsid: found.fsid,
            });
        }
        mounts.insert(Some(path), found.mount);
    }
    Ok(volumes)
}

/// `None` if no directory and no regular file is there.
fn mounted(root: &Root, path: &RelPath) -> Result<Option<Mounted>, FileError> {
    let look = || {
        let parent = root.parent(path)?;
        match root.dir(Some(path)) {
            Ok(dir) => dir.mounted(),
            Err(error) if error.errno == Errno::NOTDIR => {
                parent.mounted_of(path.name(), &parent.open(path.name())?.0)
            }
            Err(error) => Err(error),
        }
    };
    match look() {
        Err(error) if matches!(error.errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        found => found.map(Some),
    }
}

/// A mount point of a plan that has changed since the plan was staged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Displaced {
    #[error("what was mounted on {0} is not mounted there now: mount it")]
    Gone(RelPath),
    #[error("something was mounted on {0} since: unmount it")]
    Covered(RelPath),
}

/// The first mount point on the way to these names that is not as it was. A journal of an earlier version names none.
pub(super) fn displaced(
    root: &Root,
    entries: &[Entry],
    then: Option<&[Volume]>,
) -> Result<Option<Displaced>, FileError> {
    let Some(then) = then else {
        return Ok(None);
    };
    let now = volumes(root, entries)?;
    let lacks = |all: &[Volume], one: &&Volume| !all.iter().any(|other| other.is(one));
    let gone = then.iter().find(|volume| lacks(&now, volume));
    let covered = || now.iter().find(|volume| lacks(then, volume));
    Ok(match gone {
        Some(volume) => Some(Displaced::Gone(volume.path.clone())),
        None => covered().map(|volume| Displaced::Covered(volume.path.clone())),
    })
}
