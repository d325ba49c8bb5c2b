//! What a directory hands on to what is made in it: its group (set-group-ID) and its default ACL. What is
//! made beside the tree and moved into it gets them from us, not from the kernel.

use rustix::{
    fs::{Mode, XattrFlags, fchmod, fchown, fgetxattr, fremovexattr, fsetxattr},
    io::Errno,
    process::Gid,
};

use super::{
    Attributes, Dir, FileError, Kept,
    attributes::{ACL, LONGEST},
    faults::Call,
};

/// The ACL that what is made in a directory begins with.
const DEFAULT_ACL: &str = "system.posix_acl_default";

const SET_GROUP_ID: u32 = 0o2000;

/// What one directory hands on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Inherited {
    group: Option<u32>,
    /// As the kernel keeps it: four bytes, then eight of each entry.
    acl: Option<Vec<u8>>,
}

impl Inherited {
    pub(crate) fn of(dir: &Dir<'_>) -> Result<Self, FileError> {
        let facts = dir.facts()?;
        let mut acl = vec![0; LONGEST];
        let acl = match fgetxattr(dir.fd(), DEFAULT_ACL, &mut acl[..]) {
            Ok(length) => {
                acl.truncate(length);
                Some(acl)
            }
            Err(Errno::NODATA | Errno::OPNOTSUPP) => None,
            Err(errno) => {
                return Err(FileError::of("read the attributes of", dir.name("."))(
                    errno,
                ));
            }
        };
        Ok(Self {
            group: (facts.mode & SET_GROUP_ID != 0).then_some(facts.gid),
            acl,
        })
    }

    /// What a new file in it has. Permission bits that are named are set whatever the ACL says.
    pub(crate) fn of_a_file(&self, mode: Option<u32>) -> Attributes {
        let acl = self
            .acl
            .as_ref()
            .map(|acl| bounded(acl, mode.unwrap_or(0o666)));
        Attributes::fresh(mode, self.group, acl)
    }

    /// Gives it to a directory of ours.
    pub(crate) fn give(&self, dir: &Dir<'_>) -> Result<Kept, FileError> {
        let mut lost = Kept::new();
        if self == &Self::default() {
            return Ok(lost);
        }
        let refused = FileError::of("set the attributes of", dir.name("."));
        dir.root()
            .faults
            .before(Call::Attributes)
            .map_err(refused)?;
        let mut missed = |what: &str, errno: Errno| {
            let error = std::io::Error::from(errno);
            lost.push(format!("{what} of a new directory: {error}"));
        };
        if let Some(acl) = &self.acl {
            for (name, acl) in [(ACL, &bounded(acl, 0o777)), (DEFAULT_ACL, acl)] {
                if let Err(errno) = fsetxattr(dir.fd(), name, acl, XattrFlags::empty()) {
                    missed(name, errno);
                }
            }
        }
        if let Some(group) = self.group {
            let given = fchown(dir.fd(), None, Some(Gid::from_raw(group)));
            let mode = Mode::from_raw_mode(dir.facts()?.mode | SET_GROUP_ID);
            if let Err(errno) = given.and_then(|()| fchmod(dir.fd(), mode)) {
                missed("group", errno);
            }
        }
        Ok(lost)
    }

    /// Sees to it that a directory of ours hands nothing on.
    pub(crate) fn take_from(dir: &Dir<'_>) -> Result<(), FileError> {
        let failed = || FileError::of("set the attributes of", dir.name("."));
        match fremovexattr(dir.fd(), DEFAULT_ACL) {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(failed()(errno)),
        }
        let mode = dir.facts()?.mode;
        if mode & SET_GROUP_ID != 0 {
            let mode = Mode::from_raw_mode(mode & !SET_GROUP_ID);
            fchmod(dir.fd(), mode).map_err(failed())?;
        }
        Ok(())
    }
}

/// The ACL with no more than these permission bits for owner, group and others, as the kernel does it
/// when something is made: named users and groups are bounded by the mask (acl(5)).
fn bounded(acl: &[u8], mode: u32) -> Vec<u8> {
    const OWNER: u8 = 0x01;
    const GROUP: u8 = 0x04;
    const MASK: u8 = 0x10;
    const OTHERS: u8 = 0x20;
    let (head, entries) = acl.split_at(acl.len().min(4));
    let has_mask = entries.chunks(8).any(|entry| entry.first() == Some(&MASK));
    let mut all = head.to_vec();
    for entry in entries.chunks(8) {
        let mut entry = entry.to_vec();
        let bits = match entry.first() {
            Some(&OWNER) => mode >> 6,
            Some(&GROUP) if !has_mask => mode >> 3,
            Some(&MASK) => mode >> 3,
            Some(&OTHERS) => mode,
            _ => 0o7,
        };
        if let Some(permissions) = entry.get_mut(2) {
            *permissions &= u8::try_from(bits & 0o7).unwrap_or_default();
        }
        all.extend(entry);
    }
    all
}
