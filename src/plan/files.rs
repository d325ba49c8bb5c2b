//! The tree, by directory handle: the only code of a plan that touches a file (invariant 4).
//!
//! Every call that changes something goes through [`Faults::before`], so that tests and
//! `oneact selftest` can stop the process, or have the call fail, at each of them.

mod attributes;
mod barrier;
mod dir;
mod facts;
mod faults;
mod root;
mod view;

use std::io;

use rustix::io::Errno;

use crate::task::{Failure, Fault};

pub(crate) use attributes::{Attributes, Inherited, Kept};
pub(crate) use barrier::{Barrier, durable};
pub(crate) use dir::Dir;
pub(crate) use facts::{Birth, Facts, Kind};
pub(crate) use faults::Faults;
pub(crate) use root::{Root, jailed};
pub(crate) use view::{Located, View};

/// What the file system answered, with the operation and the path.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} `{path}`: {}", words(*errno))]
pub(crate) struct FileError {
    /// A verb: `open`, `rename`.
    pub(crate) operation: &'static str,
    pub(crate) path: String,
    pub(crate) errno: Errno,
}

impl FileError {
    pub(crate) fn of(operation: &'static str, path: impl ToString) -> impl FnOnce(Errno) -> Self {
        move |errno| Self {
            operation,
            path: path.to_string(),
            errno,
        }
    }

    pub(crate) fn io(
        operation: &'static str,
        path: impl ToString,
    ) -> impl FnOnce(io::Error) -> Self {
        move |error| Self {
            operation,
            path: path.to_string(),
            errno: Errno::from_io_error(&error).unwrap_or(Errno::IO),
        }
    }

    pub(crate) fn fault(&self) -> Fault {
        match self.errno {
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Fault::DiskFull,
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Fault::PermissionDenied,
            Errno::NOENT => Fault::FileNotFound,
            Errno::EXIST | Errno::NOTEMPTY => Fault::FileExists,
            Errno::LOOP | Errno::XDEV => Fault::PathOutside,
            Errno::NOTDIR | Errno::ISDIR => Fault::NotAFile,
            _ => Fault::FileSystem,
        }
    }
}

fn words(errno: Errno) -> String {
    match errno {
        Errno::NOSPC => "no space is left on the disk; free some and try again".to_owned(),
        Errno::DQUOT => "the disk quota is used up; free some space and try again".to_owned(),
        Errno::ACCESS | Errno::PERM => {
            format!("{}; check owner and mode", io::Error::from(errno))
        }
        Errno::LOOP => "a symbolic link stands on the way, or was put there meanwhile".to_owned(),
        Errno::XDEV => "it leads out of the root, or to another file system".to_owned(),
        // Also of a pipe or a device.
        Errno::ISDIR => "it is not a regular file".to_owned(),
        _ => io::Error::from(errno).to_string(),
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::new(error.fault(), error.to_string())
    }
}
