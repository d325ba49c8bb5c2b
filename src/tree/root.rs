//! The root of a plan: no path leads out of it. Where the kernel has Landlock, it refuses writes outside as well.

use std::{
    io::{self, ErrorKind},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    thread,
};

use camino::{Utf8Path, Utf8PathBuf};
use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus,
};
use rustix::{
    fs::{
        CWD, FlockOperation, Mode, OFlags, ResolveFlags, flock, fstat, openat, openat2, readlinkat,
    },
    io::Errno,
};

use serde::{Deserialize, Serialize};

use crate::{host::stay_outside, task::RelPath};

use super::{FileError, FileKind, OVERLAY, innermost, is_of_kind, joined, there};

/// An opened root: all I/O of a plan starts from its handle (R-001-24, R-001-157, R-001-158).
#[derive(Debug)]
pub(crate) struct Root {
    fd: OwnedFd,
    path: Utf8PathBuf,
}

impl Root {
    pub(crate) fn open(path: &Utf8Path) -> Result<Self, FileError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = openat(CWD, path.as_std_path(), flags, Mode::empty())
            .map_err(FileError::of("open the root", path))?;
        Ok(Self {
            fd,
            path: path.to_owned(),
        })
    }

    pub(crate) fn inode(&self) -> Result<u64, FileError> {
        let found = fstat(&self.fd).map_err(FileError::of("look at", ".".to_owned()))?;
        Ok(found.st_ino)
    }

    /// Whether it is on an overlay file system, which gives directories new inode numbers when it is mounted.
    pub(crate) fn is_on_overlay(&self) -> bool {
        is_of_kind(&self.fd, OVERLAY)
    }

    /// Whether nothing is at that path below a root, which is not opened for this check.
    pub(crate) fn lacks(root: &Utf8Path, below: &str) -> bool {
        let there = root.join(below).symlink_metadata();
        there.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    pub(crate) fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// Tries to lock the root. The lock is released when the process ends in any way.
    pub(crate) fn try_lock(&self) -> Result<bool, FileError> {
        match flock(&self.fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(errno) => Err(FileError::of("lock the root", &self.path)(errno)),
        }
    }

    pub(crate) fn unlock(&self) {
        // If this fails, the lock is released with the handle.
        let _ = flock(&self.fd, FlockOperation::Unlock);
    }

    /// The path with its directories resolved, as far as they exist.
    pub(super) fn real(&self, path: &RelPath) -> Result<RelPath, FileError> {
        let open_as = |dir: &RelPath, kind: OFlags| {
            let flags = OFlags::PATH | OFlags::CLOEXEC | kind;
            self.open_beneath(dir.as_str(), flags, ResolveFlags::empty())
        };
        let open = |dir: &RelPath| open_as(dir, OFlags::DIRECTORY);
        // A directory, or a link.
        let there_at = |dir: &RelPath| there(open_as(dir, OFlags::NOFOLLOW));
        let Some(parent) = path.parent() else {
            return Ok(path.clone());
        };
        let (dir, fd) = match there(open(&parent))? {
            Some(fd) => (parent, fd),
            None => match innermost(path, there_at)? {
                // If it is a dangling link, nothing can be made below it, and `open` fails.
                Some(dir) => (dir.clone(), open(&dir)?),
                None => return Ok(path.clone()),
            },
        };
        let rest = path.as_str().strip_prefix(dir.as_str());
        let rest = rest.unwrap_or_default().trim_start_matches('/');
        let real = match self.real_name(fd.as_fd(), path)? {
            Some(dir) => format!("{dir}/{rest}"),
            None => rest.to_owned(),
        };
        joined("resolve", &real)
    }

    /// The path of an open directory below the root; `None` for the root itself.
    fn real_name(&self, fd: BorrowedFd<'_>, path: &RelPath) -> Result<Option<String>, FileError> {
        let name = |fd: BorrowedFd<'_>| {
            use std::os::fd::AsRawFd;
            let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
            readlinkat(CWD, link, Vec::new())
                .map_err(FileError::of("resolve", path))?
                .into_string()
                .map_err(|_| FileError::of("resolve", path)(Errno::ILSEQ))
        };
        let (root, real) = (name(self.fd.as_fd())?, name(fd)?);
        if real == root {
            return Ok(None);
        }
        let root = root.trim_end_matches('/');
        real.strip_prefix(root)
            .and_then(|rest| rest.strip_prefix('/'))
            .map(|rest| Some(rest.to_owned()))
            .ok_or_else(|| FileError::of("resolve", path)(Errno::XDEV))
    }

    /// Fails unless these names lead to a directory, without links. An empty list stands for the root.
    fn must_be_dir(&self, names: &[&str], asked: &RelPath) -> Result<(), FileError> {
        if names.is_empty() {
            return Ok(());
        }
        let found = self.look(&joined("resolve", &names.join("/"))?)?;
        let errno = match found.map(|facts| facts.kind) {
            Some(FileKind::Dir) => return Ok(()),
            Some(FileKind::Link) => Errno::LOOP,
            Some(_) => Errno::NOTDIR,
            None => Errno::NOENT,
        };
        Err(FileError::of("follow the links of", asked)(errno))
    }

    /// Where a link leads, as a path below the root.
    pub(super) fn target_of(&self, link: &RelPath, asked: &RelPath) -> Result<RelPath, FileError> {
        let outside = || FileError::of("follow the links of", asked)(Errno::XDEV);
        let target = self.parent(link)?.read_link(link.name())?;
        let (from, way) = match target.strip_prefix('/') {
            Some(absolute) => {
                let below = absolute.strip_prefix(self.path.as_str().trim_matches('/'));
                let below = below.and_then(|rest| rest.strip_prefix('/'));
                (None, below.ok_or_else(outside)?)
            }
            None => (link.parent(), &*target),
        };
        let from = from.iter().flat_map(|dir| dir.as_str().split('/'));
        let mut parts: Vec<&str> = from.collect();
        for part in way.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    // `..` of a link leads out of its target, not out of the directory of the link.
                    self.must_be_dir(&parts, asked)?;
                    parts.pop().ok_or_else(outside)?;
                }
                name => parts.push(name),
            }
        }
        if parts.is_empty() {
            return Err(outside());
        }
        joined("resolve", &parts.join("/"))
    }

    pub(super) fn open_beneath(
        &self,
        name: &str,
        flags: OFlags,
        resolve: ResolveFlags,
    ) -> Result<OwnedFd, FileError> {
        let resolve = resolve | ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        // A concurrent rename elsewhere can make the kernel return EAGAIN.
        for _ in 0..64 {
            match openat2(&self.fd, name, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                opened => return opened.map_err(FileError::of("open", name)),
            }
        }
        Err(FileError::of("open", name)(Errno::AGAIN))
    }
}

/// Whether the kernel prevented writes outside the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Jail {
    /// Landlock was on.
    Enforced,
    /// This kernel has no Landlock.
    Unavailable,
}

/// Does the work on a thread that can write only below `root`, as can the threads that it starts. If the kernel
/// has no Landlock, the work is done without it, and gets `Jail::Unavailable`. None if the work panicked; an error if
/// no thread could be started.
pub(crate) fn jailed<T: Send>(
    root: &Utf8Path,
    work: impl FnOnce(Jail) -> T + Send,
) -> io::Result<Option<T>> {
    stay_outside()?;
    thread::scope(|scope| {
        let worker = thread::Builder::new().spawn_scoped(scope, || {
            let jail = restrict(root).unwrap_or(Jail::Unavailable);
            work(jail)
        })?;
        Ok(worker.join().ok())
    })
}

fn restrict(root: &Utf8Path) -> Result<Jail, RulesetError> {
    let writing = AccessFs::from_write(ABI::V5);
    let Ok(root) = PathFd::new(root.as_std_path()) else {
        return Ok(Jail::Unavailable);
    };
    // Without this right (before Linux 5.19), a confined program cannot move a file to another directory.
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::Refer)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writing)?
        .create()?
        .add_rule(PathBeneath::new(root, writing))?
        .restrict_self()?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Jail::Enforced,
        RulesetStatus::NotEnforced => Jail::Unavailable,
    })
}
