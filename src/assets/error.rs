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
    /// An error of the operating system.
    #[error("cannot {operation} `{path}`: {}", advice(error))]
    Io {
        operation: &'static str,
        path: Utf8PathBuf,
        error: io::Error,
    },
}

/// The error, with a remedy if there is a usual one.
fn advice(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "the disk or quota is full; free some space and try again".to_owned()
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "permission denied; check owner and mode".to_owned()
        }
        _ => error.to_string(),
    }
}

impl StoreError {
    /// Makes the error of an `operation`, which is a verb: "create", "rename".
    pub(crate) fn io(operation: &'static str, path: &Utf8Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io {
            operation,
            path,
            error,
        }
    }

    /// The same for the errors of system calls made directly.
    pub(super) fn os(
        operation: &'static str,
        path: &Utf8Path,
    ) -> impl FnOnce(rustix::io::Errno) -> Self {
        let io = Self::io(operation, path);
        move |errno| io(errno.into())
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
