//! A change of a file that is only planned, and the file as it is before the plan.

use crate::task::RelPath;

use super::{
    change::Version,
    hash::{hash, hash_of_link},
    model::{ActionId, ReportedChange},
};
use crate::tree::{Attributes, Dir, Facts, FileError, FileKind};

/// A change of a file that is only planned.
pub(crate) struct Planned<'a> {
    /// The actions it comes from, in their order.
    pub(crate) actions: &'a [ActionId],
    /// Where it is; of a renamed file, where it was.
    pub(crate) path: &'a RelPath,
    /// The file before the change; `None` for a file that is created.
    pub(crate) before: Option<&'a Original>,
    pub(crate) after: After<'a>,
    /// The link by which the plan named it.
    pub(crate) link: Option<&'a RelPath>,
    pub(crate) mount: u64,
}

pub(crate) enum After<'a> {
    Written {
        bytes: &'a [u8],
        attributes: Attributes,
        /// SHA-256 of the query that made the bytes, if it may make others the next time.
        query: Option<&'a str>,
    },
    /// A new symbolic link.
    Linked {
        to: &'a str,
    },
    Deleted,
    Renamed {
        to: &'a RelPath,
    },
}

impl Planned<'_> {
    pub(crate) fn kind(&self) -> ReportedChange {
        match (self.before, &self.after) {
            (None, _) => ReportedChange::Create,
            (Some(_), After::Written { .. } | After::Linked { .. }) => ReportedChange::Modify,
            (Some(_), After::Deleted) => ReportedChange::Delete,
            (Some(_), After::Renamed { .. }) => ReportedChange::Rename,
        }
    }
}

/// A file as it is before the plan: everything of it, read through one handle.
#[derive(Debug)]
pub(crate) struct Original {
    pub(crate) bytes: Vec<u8>,
    pub(crate) version: Version,
    pub(crate) attributes: Attributes,
}

impl Original {
    /// Reads the file of these facts.
    pub(crate) fn read(
        dir: &Dir<'_>,
        name: &str,
        facts: &Facts,
        most: u64,
    ) -> Result<Self, FileError> {
        if facts.kind == FileKind::Link {
            return Self::link(dir, name, *facts);
        }
        let (bytes, facts, file) = dir.read_settled(name, most)?;
        let attributes = Attributes::of(dir, name, &file, &facts)?;
        let version = Version {
            facts,
            sha256: hash(&bytes),
            attributes: attributes.digest(),
        };
        Ok(Self {
            bytes,
            version,
            attributes,
        })
    }

    /// A symbolic link, whose content is where it leads.
    fn link(dir: &Dir<'_>, name: &str, facts: Facts) -> Result<Self, FileError> {
        let to = dir.read_link(name)?;
        let version = Version {
            facts,
            sha256: hash_of_link(&to),
            attributes: String::new(),
        };
        Ok(Self {
            bytes: to.into_bytes(),
            version,
            attributes: Attributes::default(),
        })
    }
}
