//! The attributes of a file: mode, owner and extended attributes, which include ACLs and labels.
//!
//! A new file inherits the group (set-group-ID) and the default ACL of its directory. A file that is made in a
//! slot and moved into the tree gets them from oneact, not from the kernel.

use std::{ffi::CString, fs::File, os::fd::AsFd};

use jiff::Timestamp;
use rustix::{
    fs::{
        AtFlags, Mode, Timespec, Timestamps, XattrFlags, fchmod, fchown, fgetxattr, flistxattr,
        fremovexattr, fsetxattr, futimens, ioctl_ficlone, utimensat,
    },
    io::Errno,
    process::{Gid, Uid},
};

use sha2::{Digest, Sha256};

use crate::task::hexadecimal;

use super::{
    Dir, Facts, FileError, Kind,
    acl::{self, ACL, DEFAULT_ACL},
    timespec,
};

/// The attributes of one file, to be given to another.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attributes {
    /// The permission bits; `None` = what the umask leaves of a new file's.
    pub(crate) mode: Option<u32>,
    owner: Option<u32>,
    group: Option<u32>,
    extended: Vec<(CString, Vec<u8>)>,
    /// `None` = the moment it is written.
    modified: Option<Timespec>,
}

/// The attributes that could not be kept, each with the reason; empty if all were.
pub(crate) type Kept = Vec<String>;

/// Linux's limits of a list of names and of one value (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const LONGEST: usize = 65_536;

/// The mode in which the group and others have only the bits that both had.
fn without_group(mode: u32) -> u32 {
    limited(mode, mode >> 3 & mode & 0o7)
}

/// The mode with no more than these three bits for the group and for others.
fn limited(mode: u32, bits: u32) -> u32 {
    mode & (!0o077 | bits << 3 | bits)
}

/// What the kernel writes to a buffer: names, each with a NUL behind it, or a value.
fn told(tell: impl FnOnce(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; LONGEST];
    let length = tell(&mut bytes)?;
    bytes.truncate(length);
    Ok(bytes)
}

fn remove(file: impl AsFd, name: &str) -> Result<(), Errno> {
    match fremovexattr(file, name) {
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
        removed => removed,
    }
}

impl Attributes {
    pub(crate) fn of(
        dir: &Dir<'_>,
        name: &str,
        file: &File,
        facts: &Facts,
    ) -> Result<Self, FileError> {
        let failed = || FileError::of("read the attributes of", dir.name(name));
        let mut extended = Vec::new();
        let listed = match told(|names| flistxattr(file, names)) {
            Err(Errno::OPNOTSUPP) => Vec::new(),
            listed => listed.map_err(failed())?,
        };
        for attribute in listed
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty())
        {
            let Ok(attribute) = CString::new(attribute) else {
                continue;
            };
            match told(|value| fgetxattr(file, &attribute, value)) {
                Ok(value) => extended.push((attribute, value)),
                // It was removed meanwhile, or this user may not read it.
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

    /// The same with the permission bits and the owner of that file.
    pub(crate) fn owned_like(self, facts: &Facts) -> Self {
        Self {
            mode: Some(facts.mode),
            owner: Some(facts.uid),
            group: Some(facts.gid),
            ..self
        }
    }

    /// The same with the permissions that both have. If their ACLs name other users or groups, everybody but the owner
    /// gets the bits that each of them gives to everybody.
    pub(crate) fn limited_to(mut self, other: &Self) -> Self {
        let both = |mode| mode & other.mode.unwrap_or(mode);
        self.mode = self.mode.map(both);
        let (own, others) = (acl::of(&self.extended), acl::of(&other.extended));
        let acl = match (own, others) {
            (None, None) => return self,
            (Some(own), Some(others)) => acl::common(own, others),
            (Some(_), None) | (None, Some(_)) => None,
        };
        let least = self.least() & other.least();
        self.extended
            .retain(|(name, _)| name.as_bytes() != ACL.as_bytes());
        match acl {
            Some(acl) => self.extended.extend(CString::new(ACL).ok().zip(Some(acl))),
            None => self.mode = self.mode.map(|mode| limited(mode, least)),
        }
        self
    }

    /// The permission bits that everybody but the owner has.
    fn least(&self) -> u32 {
        let mode = self.mode.unwrap_or_default();
        acl::of(&self.extended).map_or(mode >> 3 & mode & 0o7, acl::least)
    }

    /// A text that is the same for the same owner, permissions and extended attributes.
    pub(crate) fn digest(&self) -> String {
        let mut extended: Vec<_> = self.extended.iter().collect();
        extended.sort();
        let told = format!("{:?}", (self.mode, self.owner, self.group, extended));
        hexadecimal(&Sha256::digest(told))
    }

    /// With a fixed clock, its time becomes the modification time, unless there is one already.
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

    /// The same with the modification time of that file.
    pub(crate) fn dated_like(self, facts: &Facts) -> Self {
        Self {
            modified: Some(timespec(facts.mtime)),
            ..self
        }
    }

    /// The bits a file is to be made with: under most umasks those it is to have, so that they need not be
    /// set.
    pub(crate) fn initial_mode(&self) -> u32 {
        self.mode.map_or(0o666, |mode| mode & 0o777)
    }

    /// Gives a symbolic link the modification time, if there is one. It has no other attributes.
    pub(crate) fn date_link(&self, dir: &Dir<'_>, name: &str) -> Result<(), FileError> {
        let Some(modified) = self.modified else {
            return Ok(());
        };
        let times = Timestamps {
            last_access: modified,
            last_modification: modified,
        };
        dir.change("set the times of", name, || {
            utimensat(dir.fd(), name, &times, AtFlags::SYMLINK_NOFOLLOW)
        })
    }

    pub(crate) fn give(
        &self,
        dir: &Dir<'_>,
        name: &str,
        file: &File,
        facts: &Facts,
    ) -> Result<Kept, FileError> {
        let mut lost = Kept::new();
        let mut missed = |what: &str, errno: Errno| {
            lost.push(format!("{what}: {}", std::io::Error::from(errno)));
        };
        // The owner comes first, because changing it clears the set-user-ID bits.
        let owner = self.owner.filter(|uid| *uid != facts.uid);
        let group = self.group.filter(|gid| *gid != facts.gid);
        let mut wanted = self.mode;
        let mut extended = self.extended.clone();
        if owner.is_some() || group.is_some() {
            let (owner, group) = (owner.map(Uid::from_raw), group.map(Gid::from_raw));
            if let Err(errno) = fchown(file, owner, group) {
                // Without root's rights, only a group of this user can be given.
                let group_is_kept =
                    group.is_none() || owner.is_some() && fchown(file, None, group).is_ok();
                // These bits would give the rights of another user or group to whoever runs the file.
                wanted = wanted.map(|mode| mode & !(SET_USER_ID | SET_GROUP_ID));
                if wanted != self.mode {
                    missed("set-user-ID and set-group-ID bits", errno);
                }
                if group_is_kept {
                    missed("owner", errno);
                } else {
                    missed("group, and its permissions", errno);
                    if owner.is_some() {
                        missed("owner", errno);
                    }
                    // The members of neither group get more than before.
                    let mode = wanted.unwrap_or(facts.mode);
                    wanted = Some(match acl::among(&mut extended) {
                        // The group bits of the mode are the mask of the ACL.
                        Some(acl) => mode & (!0o7 | acl::limit_group(acl)),
                        None => without_group(mode),
                    });
                }
            }
        }
        for (attribute, value) in &extended {
            if let Err(errno) = fsetxattr(file, attribute, value, XattrFlags::empty()) {
                missed(&attribute.to_string_lossy(), errno);
                if attribute.as_bytes() == ACL.as_bytes() {
                    // Nobody gets more than the ACL gave to everybody.
                    let least = acl::least(value);
                    let mode = wanted.unwrap_or(facts.mode);
                    wanted = Some(limited(mode, least));
                }
            }
        }
        // The file may have inherited an ACL from the directory of the slot.
        if acl::among(&mut extended).is_none() {
            remove(file, ACL).unwrap_or_else(|errno| missed(ACL, errno));
        }
        // The mode comes after them, because an ACL sets one.
        let other = |mode: &u32| *mode != facts.mode || !self.extended.is_empty();
        if let Some(mode) = wanted.filter(other) {
            fchmod(file, Mode::from_raw_mode(mode))
                .map_err(FileError::of("set the mode of", dir.name(name)))?;
        }
        if let Some(modified) = self.modified {
            let times = Timestamps {
                last_access: modified,
                last_modification: modified,
            };
            futimens(file, &times).map_err(FileError::of("set the times of", dir.name(name)))?;
        }
        Ok(lost)
    }
}

impl Dir<'_> {
    /// Copies a file with its times; blocks are shared where the file system can.
    pub(crate) fn copy(&self, name: &str, to: &Dir<'_>, new: &str) -> Result<(), FileError> {
        if self
            .look(name)?
            .is_some_and(|facts| facts.kind == Kind::Link)
        {
            return to.make_link(&self.read_link(name)?, new);
        }
        let (mut from, facts) = self.open(name)?;
        let (mut copy, made) = to.create(new, 0o600)?;
        to.change("write", new, || {
            ioctl_ficlone(&copy, &from).or_else(|_| std::io::copy(&mut from, &mut copy).map(drop))
        })?;
        to.arrived(new, &copy)?;
        let attributes = Attributes::of(self, name, &from, &facts)?.dated_like(&facts);
        // The manifest contains the attributes that a backup cannot have.
        attributes.give(to, new, &copy, &made)?;
        Ok(())
    }
}

const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;

/// What a new file inherits from its directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Inherited {
    group: Option<u32>,
    /// As the kernel keeps it: four bytes, then eight of each entry.
    acl: Option<Vec<u8>>,
}

impl Inherited {
    pub(crate) fn of(dir: &Dir<'_>) -> Result<Self, FileError> {
        let facts = dir.facts()?;
        let failed = FileError::of("read the attributes of", dir.name("."));
        let acl = match told(|acl| fgetxattr(dir.fd(), DEFAULT_ACL, acl)) {
            Err(Errno::NODATA | Errno::OPNOTSUPP) => None,
            acl => Some(acl.map_err(failed)?),
        };
        Ok(Self {
            group: (facts.mode & SET_GROUP_ID != 0).then_some(facts.gid),
            acl,
        })
    }

    /// What a new file in it has. Permission bits that are named are set whatever the ACL says.
    pub(crate) fn of_a_file(&self, mode: Option<u32>) -> Attributes {
        let acl = self.acl.as_ref();
        let acl = acl.map(|acl| acl::bounded(acl, mode.unwrap_or(0o666)));
        Attributes {
            mode,
            owner: None,
            group: self.group,
            extended: CString::new(ACL).ok().zip(acl).into_iter().collect(),
            modified: None,
        }
    }

    /// Gives it to a directory of the plan.
    pub(crate) fn give(&self, dir: &Dir<'_>) -> Result<Kept, FileError> {
        let mut lost = Kept::new();
        if self == &Self::default() {
            return Ok(lost);
        }
        let mut missed = |what: &str, errno: Errno| {
            let error = std::io::Error::from(errno);
            lost.push(format!("{what} of a new directory: {error}"));
        };
        let mut acl = self.acl.clone();
        if let Some(group) = self.group {
            let given = fchown(dir.fd(), None, Some(Gid::from_raw(group)));
            let mode = dir.facts()?.mode;
            let mode = match (&given, &mut acl) {
                (Ok(()), _) => mode | SET_GROUP_ID,
                (Err(_), Some(acl)) => {
                    acl::limit_group(acl);
                    mode
                }
                (Err(_), None) => without_group(mode),
            };
            let set = fchmod(dir.fd(), Mode::from_raw_mode(mode));
            if let Err(errno) = given.and(set) {
                missed("group", errno);
            }
        }
        if let Some(acl) = &acl {
            for (name, acl) in [(ACL, &acl::bounded(acl, 0o777)), (DEFAULT_ACL, acl)] {
                if let Err(errno) = fsetxattr(dir.fd(), name, acl, XattrFlags::empty()) {
                    missed(name, errno);
                }
            }
        }
        Ok(lost)
    }

    /// Makes files in a directory of the plan inherit nothing.
    pub(crate) fn take_from(dir: &Dir<'_>) -> Result<(), FileError> {
        let failed = || FileError::of("set the attributes of", dir.name("."));
        remove(dir.fd(), DEFAULT_ACL).map_err(failed())?;
        let mode = dir.facts()?.mode;
        if mode & SET_GROUP_ID != 0 {
            let mode = Mode::from_raw_mode(mode & !SET_GROUP_ID);
            fchmod(dir.fd(), mode).map_err(failed())?;
        }
        Ok(())
    }
}
