//! The facts about a file: kind, size, time, owner, identity.

use std::{fs::File, os::fd::AsFd};

use rustix::{
    fs::{AtFlags, FileType, Stat, StatxFlags, Timespec, fstat, statx},
    io::Errno,
    process::geteuid,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Facts {
    pub(crate) kind: Kind,
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) bytes: u64,
    /// Nanoseconds since 1970, as far as they can be counted (until 2262).
    pub(crate) mtime: i64,
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) nlink: u64,
}

/// POSIX's kinds of files, as far as a plan tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    File,
    Dir,
    Link,
    Other,
}

/// Identifies a file among all that its file system ever had; a copy has another identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Birth {
    pub(crate) ino: u64,
    /// Nanoseconds since 1970.
    pub(crate) born: i64,
}

impl Birth {
    /// None where the file system keeps no birth times, and of a file that neither this user nor root owns, or
    /// that others may write to. An access control list shows in the bits of the group.
    pub(crate) fn of(file: &File) -> Option<Self> {
        let wanted = StatxFlags::INO | StatxFlags::BTIME | StatxFlags::UID | StatxFlags::MODE;
        let found = statx(file.as_fd(), "", AtFlags::EMPTY_PATH, wanted).ok()?;
        let known = StatxFlags::from_bits_retain(found.stx_mask);
        let seconds = found.stx_btime.tv_sec.checked_mul(1_000_000_000)?;
        let owner = found.stx_uid == geteuid().as_raw() || found.stx_uid == 0;
        let alone = owner && found.stx_mode & 0o022 == 0;
        (alone && known.contains(wanted)).then_some(Self {
            ino: found.stx_ino,
            born: seconds.checked_add(i64::from(found.stx_btime.tv_nsec))?,
        })
    }
}

impl Facts {
    pub(super) fn of(stat: &Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Dir,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        Self {
            kind,
            dev: stat.st_dev,
            ino: stat.st_ino,
            bytes: u64::try_from(stat.st_size).unwrap_or_default(),
            mtime: stat
                .st_mtime
                .saturating_mul(1_000_000_000)
                .saturating_add(i64::try_from(stat.st_mtime_nsec).unwrap_or_default()),
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            nlink: wide(stat.st_nlink),
        }
    }

    /// Whether it is the same file with, as far as a look tells, the same content, owner and permissions.
    pub(crate) fn same(&self, other: &Self) -> bool {
        let nlink = other.nlink;
        Self { nlink, ..*self } == *other
    }

    /// Whether both are names of one file now.
    pub(crate) fn is_file_of(&self, other: &Self) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }

    /// The same across a restart, after which the file system may have another number.
    pub(crate) fn same_later(&self, other: &Self) -> bool {
        let dev = other.dev;
        Self { dev, ..*self }.same(other)
    }
}

/// An open file or directory among all that can be mounted at its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mounted {
    /// The mount that it is in: nothing can be renamed or linked into another one, not even where both show the
    /// same file system (bind mounts).
    pub(crate) mount: u64,
    pub(crate) ino: u64,
    /// The birth time in nanoseconds since 1970; none where the file system keeps none.
    pub(crate) born: Option<i64>,
}

impl Mounted {
    pub(super) fn of(fd: impl AsFd) -> Result<Self, Errno> {
        let stat = fstat(&fd)?;
        let wanted = StatxFlags::MNT_ID | StatxFlags::BTIME;
        let found = match statx(&fd, "", AtFlags::EMPTY_PATH, wanted) {
            Err(Errno::NOSYS) => None,
            found => Some(found?),
        };
        let knows = |flag: StatxFlags| found.filter(|found| found.stx_mask & flag.bits() != 0);
        Ok(Self {
            // Linux gives the number of the mount since 5.8.
            mount: knows(StatxFlags::MNT_ID).map_or(stat.st_dev, |found| found.stx_mnt_id),
            ino: stat.st_ino,
            born: knows(StatxFlags::BTIME).map(|found| {
                let whole = found.stx_btime.tv_sec.saturating_mul(1_000_000_000);
                whole.saturating_add(i64::from(found.stx_btime.tv_nsec))
            }),
        })
    }
}

pub(super) fn timespec(nanoseconds: i64) -> Timespec {
    Timespec {
        tv_sec: nanoseconds.div_euclid(1_000_000_000),
        tv_nsec: nanoseconds.rem_euclid(1_000_000_000),
    }
}

/// The kernel's count of names is 64 bits wide on x86-64 and 32 on aarch64.
fn wide(number: impl Into<u64>) -> u64 {
    number.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_restart_the_number_of_the_file_system_says_nothing() {
        let now = Facts {
            kind: Kind::File,
            dev: 41,
            ino: 257,
            bytes: 4,
            mtime: 1,
            mode: 0o644,
            uid: 0,
            gid: 0,
            nlink: 2,
        };
        let then = Facts { dev: 43, ..now };
        assert!(!now.same(&then) && now.same_later(&then));
        assert!(!now.same_later(&Facts { mtime: 2, ..then }));
        assert!(!now.same_later(&Facts {
            mode: 0o755,
            ..then
        }));
        assert!(now.same_later(&Facts { nlink: 1, ..then }));
    }
}
