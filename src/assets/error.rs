//! What can go wrong where bytes live, with the path and the operation; and the rule for names.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};

use crate::task::UriError;

/// Why the store or the staging directory could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// `[storage] uri` is no URI.
    #[error("[storage] uri cannot be read: {0}")]
    BadUri(UriError),
    /// `[storage] uri` is of a kind this build has no store for.
    #[error(
        "store `{0}`: this build stores local files only; set [storage] uri to a file:// URI or a path"
    )]
    Unsupported(String),
    /// A session id, operation id or file name that cannot be one component of a path.
    #[error("{what} {name:?} cannot be part of a path: {why}")]
    UnsafeName {
        what: &'static str,
        name: String,
        why: &'static str,
    },
    /// A symbolic link where a file or directory of ours must be.
    #[error("`{0}` is a symbolic link; links are not followed here, put the file itself there")]
    Symlink(Utf8PathBuf),
    /// Another file stands where the checked one stood.
    #[error("what was to become `{0}` was exchanged after it was checked; nothing was stored")]
    Changed(Utf8PathBuf),
    /// A directory, device, pipe or socket where a file must be.
    #[error("`{0}` is not a regular file")]
    NotAFile(Utf8PathBuf),
    /// Another live process works under the same operation id.
    #[error("`{0}` is in use by another running process; wait for it to end")]
    Busy(Utf8PathBuf),
    /// The text to be written is not base64 (RFC 4648 §4, padded).
    #[error("the bytes for `{path}` are not valid base64: {problem}")]
    NotBase64 { path: Utf8PathBuf, problem: String },
    /// The source of the bytes failed, not the place they go to.
    #[error("cannot read the bytes for `{path}`: {error}")]
    Source { path: Utf8PathBuf, error: io::Error },
    /// No space or quota is left.
    #[error(
        "cannot {operation} `{path}`: the disk or quota is full; free some space and try again"
    )]
    DiskFull {
        operation: &'static str,
        path: Utf8PathBuf,
        error: io::Error,
    },
    /// The user running this may not.
    #[error("cannot {operation} `{path}`: permission denied; check owner and mode")]
    PermissionDenied {
        operation: &'static str,
        path: Utf8PathBuf,
        error: io::Error,
    },
    /// Anything else the operating system answered.
    #[error("cannot {operation} `{path}`: {error}")]
    Io {
        operation: &'static str,
        path: Utf8PathBuf,
        error: io::Error,
    },
}

impl StoreError {
    /// Sorts an error of the operating system. `operation` is a verb: "create", "rename".
    pub(crate) fn io(operation: &'static str, path: &Utf8Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull {
                operation,
                path,
                error,
            },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::PermissionDenied {
                    operation,
                    path,
                    error,
                }
            }
            _ => Self::Io {
                operation,
                path,
                error,
            },
        }
    }

    /// The same for the errors of system calls made directly.
    pub(super) fn os(
        operation: &'static str,
        path: &Utf8Path,
    ) -> impl FnOnce(rustix::io::Errno) -> Self {
        let sort = Self::io(operation, path);
        move |errno| sort(errno.into())
    }
}

/// A name's longest form in bytes; file systems take 255, and we add suffixes of our own.
const LONGEST: usize = 200;

/// Checks that a name from outside can be one component of a path; it is never altered.
pub(super) fn component<'a>(what: &'static str, name: &'a str) -> Result<&'a str, StoreError> {
    let why = match name {
        "" => "it is empty",
        "." | ".." => "it names a directory",
        _ if name.contains('/') => "it contains `/`",
        _ if name.chars().any(char::is_control) => "it contains a control character",
        _ if name.len() > LONGEST => "it is longer than 200 bytes",
        _ => return Ok(name),
    };
    Err(StoreError::UnsafeName {
        what,
        name: name.to_owned(),
        why,
    })
}
