//! What belongs to a file beside its bytes: mode, owner, extended attributes, and with them ACLs and
//! labels.

use std::{ffi::CString, fs::File};

use rustix::{
    fs::{Mode, XattrFlags, fchmod, fchown, fgetxattr, flistxattr, fsetxattr},
    io::Errno,
    process::{Gid, Uid},
};

use super::{Dir, Facts, FileError, faults::Call};

/// What one file has and another is to get.
#[derive(Debug, Clone)]
pub(crate) struct Attributes {
    pub(crate) mode: u32,
    owner: Option<(u32, u32)>,
    extended: Vec<(CString, Vec<u8>)>,
}

/// What could not be handed on, each with the reason; empty = an exact likeness.
pub(crate) type Kept = Vec<String>;

/// Linux's limits of a list of names and of one value (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const LONGEST: usize = 65_536;

impl Attributes {
    /// A new file's: the caller's owner, no extended attributes.
    pub(crate) fn fresh(mode: u32) -> Self {
        Self {
            mode,
            owner: None,
            extended: Vec::new(),
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
        let mut names = vec![0; LONGEST];
        let length = match flistxattr(file, &mut names[..]) {
            Ok(length) => length,
            Err(Errno::OPNOTSUPP) => 0,
            Err(errno) => return Err(failed()(errno)),
        };
        let mut extended = Vec::new();
        let listed = names.get(..length).unwrap_or_default();
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
            mode: facts.mode,
            owner: Some((facts.uid, facts.gid)),
            extended,
        })
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
        if let Some((uid, gid)) = self.owner.filter(|owner| *owner != (facts.uid, facts.gid)) {
            gate()?;
            if let Err(errno) = fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid))) {
                lost.push(format!(
                    "owner {uid}:{gid}: {}",
                    std::io::Error::from(errno)
                ));
            }
        }
        gate()?;
        fchmod(file, Mode::from_raw_mode(self.mode))
            .map_err(FileError::of("set the mode of", dir.name(name)))?;
        for (attribute, value) in &self.extended {
            gate()?;
            if let Err(errno) = fsetxattr(file, attribute, value, XattrFlags::empty()) {
                let attribute = attribute.to_string_lossy();
                lost.push(format!("{attribute}: {}", std::io::Error::from(errno)));
            }
        }
        Ok(lost)
    }
}
