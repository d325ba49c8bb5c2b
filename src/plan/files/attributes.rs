//! What belongs to a file beside its bytes: mode, owner, extended attributes, and with them ACLs and
//! labels.

use std::{ffi::CString, fs::File};

use jiff::Timestamp;
use rustix::{
    fs::{
        Mode, Timespec, Timestamps, XattrFlags, fchmod, fchown, fgetxattr, flistxattr,
        fremovexattr, fsetxattr, futimens,
    },
    io::Errno,
    process::{Gid, Uid},
};

use sha2::{Digest, Sha256};

use crate::task::hexadecimal;

use super::{Dir, Facts, FileError, facts::timespec, faults::Call};

/// What one file has and another is to get.
#[derive(Debug, Clone)]
pub(crate) struct Attributes {
    /// `None` = what a new file gets.
    mode: Option<u32>,
    owner: Option<u32>,
    group: Option<u32>,
    extended: Vec<(CString, Vec<u8>)>,
    /// `None` = the moment it is written.
    modified: Option<Timespec>,
}

/// What could not be handed on, each with the reason; empty = an exact likeness.
pub(crate) type Kept = Vec<String>;

/// Linux's limits of a list of names and of one value (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
pub(super) const LONGEST: usize = 65_536;

/// The access control list of a file.
pub(super) const ACL: &str = "system.posix_acl_access";

/// The names of a file's extended attributes, each with a NUL behind it.
fn names(file: &File) -> Result<Vec<u8>, Errno> {
    // Most files have none, or few.
    for room in [256, LONGEST] {
        let mut names = vec![0; room];
        match flistxattr(file, &mut names[..]) {
            Ok(length) => {
                names.truncate(length);
                return Ok(names);
            }
            Err(Errno::OPNOTSUPP) => break,
            Err(Errno::RANGE) if room < LONGEST => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(Vec::new())
}

impl Attributes {
    /// A new file's. `group` and `acl` are what its directory hands on.
    pub(super) fn fresh(mode: Option<u32>, group: Option<u32>, acl: Option<Vec<u8>>) -> Self {
        let name = CString::new(ACL).ok();
        Self {
            mode,
            owner: None,
            group,
            extended: name.zip(acl).into_iter().collect(),
            modified: None,
        }
    }

    /// Everything of an open file.
    pub(crate) fn of(
        dir: &Dir<'_>,
        name: &str,
        file: &File,
        facts: &Facts,
    ) -> Result<Self, FileError> {
        let failed = || FileError::of("read the attributes of", dir.name(name));
        let mut extended = Vec::new();
        let listed = names(file).map_err(failed())?;
        for attribute in listed
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty())
        {
            let Ok(attribute) = CString::new(attribute) else {
                continue;
            };
            let mut value = vec![0; LONGEST];
            match fgetxattr(file, &attribute, &mut value[..]) {
                Ok(length) => {
                    value.truncate(length);
                    extended.push((attribute, value));
                }
                // Gone meanwhile, or not ours to see.
                Err(Errno::NODATA | Errno::ACCESS | Errno::PERM) => {}
                Err(errno) => return Err(failed()(errno)),
            }
        }
        Ok(Self {
            mode: Some(facts.mode),
            owner: Some(facts.uid),
            group: Some(facts.gid),
            extended,
            modified: None,
        })
    }

    /// The same with these permission bits, if any are named.
    pub(crate) fn with_mode(self, mode: Option<u32>) -> Self {
        Self {
            mode: mode.or(self.mode),
            ..self
        }
    }

    /// A text that is the same for the same owner, permissions and extended attributes.
    pub(crate) fn digest(&self) -> String {
        let mut extended: Vec<_> = self.extended.iter().collect();
        extended.sort();
        let told = format!("{:?}", (self.mode, self.owner, self.group, extended));
        hexadecimal(&Sha256::digest(told))
    }

    /// The same, modified at that moment: files are as old as a clock that stands still says.
    pub(crate) fn stamped(self, clock: Option<Timestamp>) -> Self {
        let modified = clock.map(|at| Timespec {
            tv_sec: at.as_second(),
            tv_nsec: i64::from(at.subsec_nanosecond()),
        });
        Self {
            modified: self.modified.or(modified),
            ..self
        }
    }

    /// The same, as old as that file: for an original that returns.
    pub(crate) fn dated_like(self, facts: &Facts) -> Self {
        Self {
            modified: Some(timespec(facts.mtime)),
            ..self
        }
    }

    /// The permission bits, where they are not left to the umask.
    pub(crate) fn mode(&self) -> Option<u32> {
        self.mode
    }

    /// The bits a file is to be made with: under most umasks those it is to have, so that they need not be
    /// set.
    pub(crate) fn initial_mode(&self) -> u32 {
        self.mode.map_or(0o666, |mode| mode & 0o777)
    }

    /// Gives them to a file of ours.
    pub(crate) fn give(
        &self,
        dir: &Dir<'_>,
        name: &str,
        file: &File,
        facts: &Facts,
    ) -> Result<Kept, FileError> {
        let gate = || {
            let refused = FileError::of("set the attributes of", dir.name(name));
            dir.root().faults.before(Call::Attributes).map_err(refused)
        };
        let mut lost = Kept::new();
        // The owner first: changing it takes set-user-ID bits away.
        let owner = self.owner.filter(|uid| *uid != facts.uid);
        let group = self.group.filter(|gid| *gid != facts.gid);
        if owner.is_some() || group.is_some() {
            gate()?;
            if let Err(errno) = fchown(file, owner.map(Uid::from_raw), group.map(Gid::from_raw)) {
                lost.push(format!("owner and group: {}", std::io::Error::from(errno)));
            }
        }
        for (attribute, value) in &self.extended {
            gate()?;
            if let Err(errno) = fsetxattr(file, attribute, value, XattrFlags::empty()) {
                let attribute = attribute.to_string_lossy();
                lost.push(format!("{attribute}: {}", std::io::Error::from(errno)));
            }
        }
        // Where it was made, it may have got an ACL.
        let has_acl = |(name, _): &(CString, Vec<u8>)| name.as_bytes() == ACL.as_bytes();
        if !self.extended.iter().any(has_acl) {
            match fremovexattr(file, ACL) {
                Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
                Err(errno) => lost.push(format!("{ACL}: {}", std::io::Error::from(errno))),
            }
        }
        // The mode after them: an ACL brings one of its own.
        let other = |mode: &u32| *mode != facts.mode || !self.extended.is_empty();
        if let Some(mode) = self.mode.filter(other) {
            gate()?;
            fchmod(file, Mode::from_raw_mode(mode))
                .map_err(FileError::of("set the mode of", dir.name(name)))?;
        }
        if let Some(modified) = self.modified {
            gate()?;
            let times = Timestamps {
                last_access: modified,
                last_modification: modified,
            };
            futimens(file, &times).map_err(FileError::of("set the times of", dir.name(name)))?;
        }
        Ok(lost)
    }
}
