//! The attributes of a file: mode, owner and extended attributes, which include ACLs and labels.
//!
//! A new file inherits the group (set-group-ID) and the default ACL of its directory. A file that is made in a
//! slot and moved into the tree gets them from oneact, not from the kernel.

use std::{ffi::CString, fs::File};

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

use super::{Dir, Facts, FileError, FileKind, timespec};

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
    /// What the kernel gives a new file in its directory.
    inherited: Inherited,
}

/// What is in the directory of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    /// It is the plan's own, and nobody else can reach it.
    Nothing,
    /// The files of another mount, and what they inherit.
    Files,
}

/// The attributes that could not be kept, each with the reason; empty if all were.
pub(crate) type Kept = Vec<String>;

/// Linux's limits of a list of names and of one value (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const LONGEST: usize = 65_536;

/// The ACL of a file or directory.
const ACL: &str = "system.posix_acl_access";

/// The ACL that what is made in a directory begins with.
const DEFAULT_ACL: &str = "system.posix_acl_default";

const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;

/// What the kernel writes to a buffer: names, each with a NUL behind it, or a value.
fn told(mut tell: impl FnMut(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    // Most files have few attributes, and most values are short.
    let mut few = [0; 512];
    match tell(&mut few) {
        Err(Errno::RANGE) => {}
        told => return Ok(few.get(..told?).unwrap_or_default().to_vec()),
    }
    let mut bytes = vec![0; LONGEST];
    let length = tell(&mut bytes)?;
    bytes.truncate(length);
    Ok(bytes)
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
            inherited: Inherited::default(),
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

    /// A text that is the same for the same owner, permissions and extended attributes.
    pub(crate) fn digest(&self) -> String {
        let mut extended: Vec<_> = self.extended.iter().collect();
        extended.sort();
        let told = format!("{:?}", (self.mode, self.owner, self.group, extended));
        hexadecimal(&Sha256::digest(told))
    }

    /// Those of a copy that nobody but its owner can reach.
    pub(crate) fn private(self) -> Self {
        Self {
            mode: self.mode.map(|mode| mode & 0o600),
            modified: self.modified,
            ..Self::default()
        }
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

    /// Makes a file with these attributes and this content. Also returns what could not be kept.
    pub(crate) fn write_new(
        &self,
        (dir, beside): (&Dir<'_>, Beside),
        name: &str,
        bytes: &[u8],
    ) -> Result<(File, Kept), FileError> {
        let made = match beside {
            // Under most umasks these are the bits that it is to have, so that they need not be set.
            Beside::Nothing => self.inherited.lend(dir, || {
                dir.write_new(name, bytes, self.mode.map_or(0o666, |mode| mode & 0o777))
            }),
            // Nobody else may open it before it has its attributes.
            Beside::Files => dir.write_new(name, bytes, self.mode.map_or(0o666, |it| it & 0o700)),
        };
        let (file, facts) = made?;
        let lost = self.give((dir, beside), name, &file, &facts)?;
        Ok((file, lost))
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

    /// Gives a file these attributes. An owner that only root could give is told; where anything else cannot be kept, it is an
    /// error, so that nobody gets what only others had.
    fn give(
        &self,
        (dir, beside): (&Dir<'_>, Beside),
        name: &str,
        file: &File,
        facts: &Facts,
    ) -> Result<Kept, FileError> {
        let mut lost = Kept::new();
        let owner = self.owner.filter(|uid| *uid != facts.uid);
        let group = self.group.filter(|gid| *gid != facts.gid);
        let mut wanted = self.mode;
        if owner.is_some() || group.is_some() {
            let (owner, group) = (owner.map(Uid::from_raw), group.map(Gid::from_raw));
            if let Err(errno) = fchown(file, owner, group) {
                if group.is_some() {
                    dir.change("set the group of", name, || fchown(file, None, group))?;
                }
                lost.push(format!("owner: {}", std::io::Error::from(errno)));
                // They would be given to another owner.
                wanted = wanted.map(|mode| mode & !(SET_USER_ID | SET_GROUP_ID));
                if wanted != self.mode {
                    lost.push(
                        "set-user-ID and set-group-ID bits: they go with the owner".to_owned(),
                    );
                }
            }
        }
        for (attribute, value) in &self.extended {
            dir.change("set the extended attributes of", name, || {
                fsetxattr(file, attribute, value, XattrFlags::empty())
            })?;
        }
        // A file that has the attributes of another one inherits nothing from its directory.
        let may_inherit = beside == Beside::Files && self.owner.is_some();
        let has_acl = self
            .extended
            .iter()
            .any(|(name, _)| name.as_bytes() == ACL.as_bytes());
        let has_lost_acl = may_inherit
            && !has_acl
            && dir.change("remove the ACL of", name, || {
                match fremovexattr(file, ACL) {
                    Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
                    removed => removed.map(|()| true),
                }
            })?;
        let other = |mode: &u32| *mode != facts.mode || !self.extended.is_empty() || has_lost_acl;
        if let Some(mode) = wanted.filter(other) {
            dir.change("set the mode of", name, || {
                fchmod(file, Mode::from_raw_mode(mode))
            })?;
        }
        if let Some(modified) = self.modified {
            let times = Timestamps {
                last_access: modified,
                last_modification: modified,
            };
            dir.change("set the times of", name, || futimens(file, &times))?;
        }
        Ok(lost)
    }
}

impl Dir<'_> {
    /// Copies a file with its times; blocks are shared where the file system can.
    pub(crate) fn copy(&self, name: &str, to: &Dir<'_>, new: &str) -> Result<(), FileError> {
        if self
            .look(name)?
            .is_some_and(|facts| facts.kind == FileKind::Link)
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
        attributes.give((to, Beside::Files), new, &copy, &made)?;
        Ok(())
    }
}

/// What a new file inherits from its directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Inherited {
    group: Option<u32>,
    /// As the kernel keeps it.
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
    pub(crate) fn of_a_file(self, mode: Option<u32>) -> Attributes {
        Attributes {
            mode,
            group: self.group,
            inherited: self,
            ..Attributes::default()
        }
    }

    /// Makes something in a directory of the plan that inherits the ACL as if it were made in its own directory.
    fn lend<T>(
        &self,
        dir: &Dir<'_>,
        make: impl FnOnce() -> Result<T, FileError>,
    ) -> Result<T, FileError> {
        let Some(acl) = &self.acl else {
            return make();
        };
        let what = "set the default ACL of";
        dir.change(what, ".", || {
            fsetxattr(dir.fd(), DEFAULT_ACL, acl, XattrFlags::empty())
        })?;
        let made = make();
        dir.change(what, ".", || fremovexattr(dir.fd(), DEFAULT_ACL))?;
        made
    }

    /// Makes a directory in a directory of the plan, or beside the files of another mount, where it inherits by itself.
    pub(crate) fn make_dir(
        &self,
        (dir, beside): (&Dir<'_>, Beside),
        name: &str,
    ) -> Result<Facts, FileError> {
        match beside {
            Beside::Nothing => self.lend(dir, || dir.make_dir(name, 0o777))?,
            Beside::Files => dir.make_dir(name, 0o777)?,
        }
        let made = dir.within(name)?;
        let facts = made.facts()?;
        let Some(group) = self.group else {
            return Ok(facts);
        };
        made.change("set the group of", ".", || {
            fchown(made.fd(), None, Some(Gid::from_raw(group)))?;
            fchmod(made.fd(), Mode::from_raw_mode(facts.mode | SET_GROUP_ID))
        })?;
        Ok(facts)
    }

    /// Makes files in a directory of the plan inherit nothing.
    pub(crate) fn take_from(dir: &Dir<'_>) -> Result<(), FileError> {
        let cannot = "set the attributes of";
        dir.change(cannot, ".", || match fremovexattr(dir.fd(), DEFAULT_ACL) {
            Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
            removed => removed,
        })?;
        let mode = dir.facts()?.mode;
        if mode & SET_GROUP_ID != 0 {
            let mode = Mode::from_raw_mode(mode & !SET_GROUP_ID);
            dir.change(cannot, ".", || fchmod(dir.fd(), mode))?;
        }
        Ok(())
    }
}
