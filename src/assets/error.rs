//! The errors of the store and of scratch directories, and the rule for names in paths.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};

use super::objects::{ObjectError, Why};
use crate::task::UriError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("[storage] uri cannot be read: {0}")]
    BadUri(UriError),
    #[error(
        "store `{0}`: set [storage] uri to a path, a file:// URI, or a prefix in a bucket: s3://bucket/prefix, gs:// or az://"
    )]
    Unsupported(String),
    /// A session id, operation id or file name that cannot be one component of a path.
    #[error("{what} {name:?} cannot be part of a path: {why}")]
    UnsafeName {
        what: &'static str,
        name: String,
        why: &'static str,
    },
    /// A symbolic link in the place of a file or directory of oneact.
    #[error(
        "`{0}` is a symbolic link; links are not followed here; put the file or directory itself there"
    )]
    Symlink(Utf8PathBuf),
    /// The file was replaced after it was checked.
    #[error("the file for `{0}` was replaced after it was checked; nothing was stored")]
    Changed(Utf8PathBuf),
    #[error("`{0}` is not a regular file")]
    NotAFile(Utf8PathBuf),
    /// Another running process holds the lock of the directory.
    #[error("`{0}` is in use by another running process; wait for it to end")]
    Busy(Utf8PathBuf),
    /// The text is not base64 (RFC 4648 §4, padded).
    #[error("the bytes for `{path}` are not valid base64: {problem}")]
    NotBase64 { path: Utf8PathBuf, problem: String },
    /// The source of the bytes failed, not their destination.
    #[error("cannot read the bytes for `{path}`: {error}")]
    Source { path: Utf8PathBuf, error: io::Error },
    #[error(transparent)]
    Object(#[from] ObjectError),
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
    /// The place of an object whose write was under way, and of which no look has shown that it is not there.
    pub(crate) fn perhaps_stored(&self) -> Option<&str> {
        match self {
            Self::Object(error) if matches!(error.why, Why::Unsure(_)) => Some(&error.uri),
            _ => None,
        }
    }

    /// Makes the error of an `operation`, which is a verb: "create", "rename".
    pub(crate) fn io<E: Into<io::Error>>(
        operation: &'static str,
        path: &Utf8Path,
    ) -> impl FnOnce(E) -> Self + use<E> {
        let path = path.to_owned();
        move |error| Self::Io {
            operation,
            path,
            error: error.into(),
        }
    }
}

/// The longest name in bytes. File systems allow 255, and oneact adds suffixes.
const LONGEST: usize = 200;

/// Checks that a name from outside can be one component of a path, and returns it unchanged.
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
