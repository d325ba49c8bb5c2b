//! A light check whether an input can be accessed (R-000-57, C-14).
//!
//! The check is a `stat` and an `open`, or one HEAD and at most one GET without reading the body. Every
//! connection, also after a redirect, follows the address policy. A dry run contacts no host.
//!
//! For `oneact doctor`: whether files can be created in a directory, the free space, the permissions.

#[cfg(test)]
mod tests;

use std::{
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt,
    time::{Duration, Instant},
};

use camino::{Utf8Path, Utf8PathBuf};
use reqwest::{
    Response, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderMap},
};
use url::Url;

use super::{
    error::StoreError,
    objects::{ObjectError, Objects, Why, unconfigured},
};
use crate::{
    host,
    task::{
        redact_presigned,
        uri::{Location, Uri},
    },
    web::{self, Guard, HostRefused, Policy, Waiting},
};

/// The result of the check. The texts are for people and contain no secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The input exists. `bytes` is its size, if it is known. An empty input is accepted: the tool decides about
    /// it.
    Ok { bytes: Option<u64> },
    /// The input cannot be accessed, and another attempt will not help.
    Gone(String),
    /// The check has no result. The run warns and continues, because the tool may succeed.
    Unsure(String),
}

const CONNECT: Duration = Duration::from_secs(2);
/// The longest time for an answer, and for the two of one check.
const ANSWER: Duration = Duration::from_secs(3);
const LONGEST: Duration = Duration::from_secs(5);
/// The longest time for the check of an object.
const OBJECT: Duration = Duration::from_secs(10);
const DRY: &str = "a dry run contacts no host";

/// Whether the check may contact a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contact {
    Hosts,
    /// A dry run.
    Nobody,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Look<'a> {
    pub(crate) policy: Policy,
    pub(crate) contact: Contact,
    pub(crate) objects: &'a Objects,
}

impl Look<'_> {
    /// Checks the input at `uri`; a relative path is relative to `root`.
    pub(crate) fn reach(self, uri: &Uri, root: &Utf8Path) -> Reach {
        match uri.location() {
            Location::File(path) => local(&root.join(path)),
            Location::Http(url) => match (self.policy.admit_unresolved(url), self.contact) {
                (Err(refused), _) => Reach::Gone(refused.to_string()),
                (Ok(()), Contact::Hosts) => http(url, self.policy),
                (Ok(()), Contact::Nobody) => Reach::Unsure(DRY.to_owned()),
            },
            Location::Object { .. } => self.object(uri),
            Location::Other { scheme } => {
                Reach::Unsure(format!("no check for {scheme}: URIs in this build"))
            }
        }
    }
}

impl Look<'_> {
    fn object(self, uri: &Uri) -> Reach {
        match (self.objects.has(uri), self.contact) {
            (Err(error), _) => Reach::Gone(error.why.to_string()),
            (Ok(false), _) => Reach::Unsure(unconfigured(uri)),
            (Ok(true), Contact::Nobody) => Reach::Unsure(DRY.to_owned()),
            (Ok(true), Contact::Hosts) => {
                let begun = Instant::now();
                match self.objects.look(uri, &|| begun.elapsed() < OBJECT) {
                    Ok(found) if found.is_unidentified() => Reach::Unsure(
                        "the store says neither its ETag nor its version; is there an object store at the endpoint?"
                            .to_owned(),
                    ),
                    Ok(found) => Reach::Ok {
                        bytes: Some(found.bytes),
                    },
                    Err(ObjectError {
                        why: Why::Stopped, ..
                    }) => Reach::Unsure(format!("the store gave no answer within {OBJECT:?}")),
                    Err(ObjectError {
                        why: why @ Why::Unreachable(_),
                        ..
                    }) => Reach::Unsure(why.to_string()),
                    Err(error) => Reach::Gone(error.why.to_string()),
                }
            }
        }
    }
}

fn local(path: &Utf8Path) -> Reach {
    let opened = host::open_named(path).and_then(|file| file.metadata());
    match opened {
        Ok(found) => Reach::Ok {
            bytes: Some(found.len()),
        },
        Err(error) => Reach::Gone(format!("`{path}`: {error}")),
    }
}

fn http(url: &Url, policy: Policy) -> Reach {
    let unsure = |error: String| Reach::Unsure(redact_presigned(&error).into_owned());
    let begun = Instant::now();
    // A proxy would resolve names itself, so their addresses could not be checked.
    let client = Guard::direct(policy).client().connect_timeout(CONNECT);
    match (client.timeout(ANSWER).build(), Waiting::new()) {
        (Ok(client), Ok(waiting)) => waiting
            .wait(&|| begun.elapsed() < LONGEST, web::look(&client, url))
            .map_or_else(|| unsure("it timed out".to_owned()), judge),
        (Err(error), _) => unsure(web::cause(&error)),
        (_, Err(error)) => unsure(error.to_string()),
    }
}

fn judge(answer: Result<Response, reqwest::Error>) -> Reach {
    let response = match answer {
        Ok(response) => response,
        Err(error) => {
            return match web::within::<HostRefused>(&error) {
                Some(refused) => Reach::Gone(refused.to_string()),
                None => Reach::Unsure(redact_presigned(&web::cause(&error)).into_owned()),
            };
        }
    };
    let status = response.status();
    match status.as_u16() {
        200..=299 => Reach::Ok {
            bytes: length(status, response.headers()),
        },
        401 | 403 | 404 | 410 => Reach::Gone(format!("the server answers {status}")),
        // The input exists, but the server does not support this check.
        405 | 416 | 501 => Reach::Ok { bytes: None },
        _ => Reach::Unsure(format!("the server answers {status}")),
    }
}

/// The length of the whole content. For a part it is N in `Content-Range: bytes 0-0/N`.
fn length(status: StatusCode, headers: &HeaderMap) -> Option<u64> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if status == StatusCode::PARTIAL_CONTENT {
        text(CONTENT_RANGE)?.rsplit('/').next()?.parse().ok()
    } else {
        text(CONTENT_LENGTH)?.parse().ok()
    }
}

/// A directory that can be written to.
#[derive(Debug)]
pub(crate) struct Room {
    /// The directory in which a file was created: the given one, or its nearest ancestor that exists.
    pub(crate) tried: Utf8PathBuf,
    /// The space that this user may still use.
    pub(crate) free_bytes: u64,
}

/// Creates and removes a file. If the directory does not exist, its nearest existing ancestor is used, and the
/// directory is not created.
pub(crate) fn probe(dir: &Utf8Path) -> Result<Room, StoreError> {
    let tried = dir
        .ancestors()
        .find(|above| above.symlink_metadata().is_ok())
        .unwrap_or(dir);
    let made = tempfile::Builder::new()
        .prefix(".oneact-probe-")
        .tempfile_in(tried);
    let mut file = made.map_err(StoreError::io("create a file in", tried))?;
    file.write_all(b"probe")
        .map_err(StoreError::io("write a file in", tried))?;
    file.close()
        .map_err(StoreError::io("remove a file from", tried))?;
    let space = rustix::fs::statvfs(tried.as_std_path())
        .map_err(StoreError::io("ask for the space of", tried))?;
    Ok(Room {
        tried: tried.to_owned(),
        free_bytes: space.f_bavail.saturating_mul(space.f_frsize),
    })
}

/// The permission bits of a directory, such as `0o700`.
pub(crate) fn mode(dir: &Utf8Path) -> Result<u32, StoreError> {
    let found = fs::metadata(dir).map_err(StoreError::io("look at", dir))?;
    Ok(found.permissions().mode() & 0o777)
}

/// Whether this user may execute that file.
pub(crate) fn is_executable(path: &Utf8Path) -> bool {
    path.is_file() && rustix::fs::access(path.as_std_path(), rustix::fs::Access::EXEC_OK).is_ok()
}
