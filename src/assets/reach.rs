//! Whether an input can be had, as far as a light look can tell (R-000-57, C-14).
//!
//! The look is never more than a `stat` and an `open`, or one HEAD and at most one GET of which
//! no body is read. It obeys the address policy: the address that is checked is the one connected
//! to, on every redirect anew. A dry run contacts nobody.

#[cfg(test)]
mod tests;

use std::{fs, time::Duration};

use camino::Utf8Path;
use rustix::fs::{Mode, OFlags};
use ureq::{
    Agent, Error,
    http::{HeaderMap, Response, StatusCode, header},
    unversioned::transport::DefaultConnector,
};
use url::Url;

use super::address::{CheckedResolver, Policy, Refused, client};
use crate::task::{
    redact_presigned,
    uri::{Location, Uri},
};

/// What a light look at an asset found. The texts are for people and hold no secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It is there. `bytes` where that is known; 0 is an answer too, whether an empty input will
    /// do is for the tool to say.
    Ok { bytes: Option<u64> },
    /// It is not to be had, and asking again will not help.
    Gone(String),
    /// Nobody can tell now; the tool may still get it: warn and go on.
    Unsure(String),
}

const CONNECT: Duration = Duration::from_secs(2);
/// HEAD and the GET that may follow share five seconds.
const HEAD: Duration = Duration::from_secs(3);
const GET: Duration = Duration::from_secs(2);
const REDIRECTS: u32 = 5;

/// Whether a look may contact a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contact {
    Hosts,
    /// A dry run.
    Nobody,
}

/// How far a look may go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) policy: Policy,
    pub(crate) contact: Contact,
}

impl Look {
    /// Looks at what `uri` points at; a relative path is taken from `root`.
    pub(crate) fn reach(self, uri: &Uri, root: &Utf8Path) -> Reach {
        match uri.location() {
            Location::File(path) => local(&root.join(path)),
            Location::Http(url) => match (self.policy.admit_unresolved(url), self.contact) {
                (Err(refused), _) => Reach::Gone(refused.to_string()),
                (Ok(()), Contact::Hosts) => http(url, self.policy),
                (Ok(()), Contact::Nobody) => Reach::Unsure("a dry run contacts nobody".to_owned()),
            },
            Location::S3 { .. } => Reach::Unsure("no check for s3:// in this build".to_owned()),
            Location::Other { scheme } => {
                Reach::Unsure(format!("no check for {scheme}: URIs in this build"))
            }
        }
    }
}

fn local(path: &Utf8Path) -> Reach {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => return Reach::Gone(format!("`{path}`: {error}")),
    };
    if !metadata.is_file() {
        let kind = if metadata.is_dir() {
            "a directory"
        } else {
            "a device, pipe or socket"
        };
        return Reach::Gone(format!("`{path}` is {kind}, not a file"));
    }
    // Not waiting, should a pipe have taken the file's place.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(path.as_std_path(), flags, Mode::empty()) {
        Ok(_) => Reach::Ok {
            bytes: Some(metadata.len()),
        },
        Err(errno) => Reach::Gone(format!("`{path}` cannot be read: {errno}")),
    }
}

/// HEAD; and where that is refused, a GET of the first byte decides: a URL presigned for GET
/// answers 403 to HEAD, and some servers know no HEAD at all.
fn http(url: &Url, policy: Policy) -> Reach {
    // A proxy would resolve names out of our sight.
    let config = client().max_redirects(REDIRECTS).proxy(None);
    let agent = Agent::with_parts(
        config.timeout_connect(Some(CONNECT)).build(),
        DefaultConnector::default(),
        CheckedResolver::new(policy),
    );
    let head = agent
        .head(url.as_str())
        .config()
        .timeout_global(Some(HEAD))
        .build()
        .call();
    let refused = head.as_ref().is_ok_and(|response| {
        let status = response.status();
        status == StatusCode::NOT_IMPLEMENTED
            || (status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS)
    });
    if !refused {
        return judge(head);
    }
    let get = agent.get(url.as_str()).header(header::RANGE, "bytes=0-0");
    judge(get.config().timeout_global(Some(GET)).build().call())
}

fn judge<Body>(answer: Result<Response<Body>, Error>) -> Reach {
    let response = match answer {
        Ok(response) => response,
        Err(Error::Other(other)) if other.is::<Refused>() => {
            return Reach::Gone(other.to_string());
        }
        Err(error) => return Reach::Unsure(redact_presigned(&error.to_string()).into_owned()),
    };
    let status = response.status();
    match status.as_u16() {
        200..=299 => Reach::Ok {
            bytes: length(status, response.headers()),
        },
        401 | 403 | 404 | 410 => Reach::Gone(format!("the server answers {status}")),
        // It is there and will not be looked at this way.
        405 | 416 | 501 => Reach::Ok { bytes: None },
        _ => Reach::Unsure(format!("the server answers {status}")),
    }
}

/// The whole length: of a part, what stands after the slash of `Content-Range: bytes 0-0/N`.
fn length(status: StatusCode, headers: &HeaderMap) -> Option<u64> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if status == StatusCode::PARTIAL_CONTENT {
        text(header::CONTENT_RANGE)?
            .rsplit('/')
            .next()?
            .parse()
            .ok()
    } else {
        text(header::CONTENT_LENGTH)?.parse().ok()
    }
}
