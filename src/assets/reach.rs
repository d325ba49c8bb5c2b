//! Whether an input can be had, as far as a light look can tell (R-000-57, C-14).
//!
//! The look is never more than a `stat` and an `open`, or one HEAD and at most one GET of which
//! no body is read. It never goes to a link-local address, where cloud machines keep their
//! credentials: the address that is checked is the one connected to, on every redirect anew.

#[cfg(test)]
mod tests;

use std::{fs, net::IpAddr, time::Duration};

use camino::Utf8Path;
use rustix::fs::{Mode, OFlags};
use ureq::{
    Agent, Error,
    config::Config,
    http::{HeaderMap, Response, StatusCode, Uri as HttpUri, header},
    tls::{RootCerts, TlsConfig},
    unversioned::{
        resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver},
        transport::{DefaultConnector, NextTimeout},
    },
};
use url::Url;

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

/// Looks at what `uri` points at; a relative path is taken from `root`.
pub(crate) fn reach(uri: &Uri, root: &Utf8Path) -> Reach {
    match uri.location() {
        Location::File(path) => local(&root.join(path)),
        Location::Http(url) => http(url),
        Location::S3 { .. } => Reach::Unsure("no check for s3:// in this build".to_owned()),
        Location::Other { scheme } => {
            Reach::Unsure(format!("no check for {scheme}: URIs in this build"))
        }
    }
}

/// Whether an address is link-local: 169.254.0.0/16 or `fe80::/10`, also as an IPv4 address inside
/// an IPv6 one (mapped, compatible, or behind NAT64's `64:ff9b::/96`).
pub(crate) fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => {
            let inner = match v6.segments() {
                [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                    Some(((u32::from(high) << 16) | u32::from(low)).into())
                }
                _ => v6.to_ipv4(),
            };
            v6.is_unicast_link_local() || inner.is_some_and(|v4| v4.is_link_local())
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
fn http(url: &Url) -> Reach {
    let agent = Agent::with_parts(
        config(),
        DefaultConnector::default(),
        NoLinkLocal::default(),
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

fn config() -> Config {
    Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(REDIRECTS)
        .timeout_connect(Some(CONNECT))
        // A proxy would resolve names out of our sight.
        .proxy(None)
        .tls_config(
            TlsConfig::builder()
                .root_certs(RootCerts::PlatformVerifier)
                .build(),
        )
        .user_agent(concat!("oneact/", env!("CARGO_PKG_VERSION")))
        .build()
}

fn judge<Body>(answer: Result<Response<Body>, Error>) -> Reach {
    let response = match answer {
        Ok(response) => response,
        Err(Error::Other(other)) if other.is::<LinkLocal>() => {
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

/// Resolves as ureq does and keeps no link-local address; ureq connects to nothing else.
#[derive(Debug, Default)]
struct NoLinkLocal(DefaultResolver);

#[derive(Debug, thiserror::Error)]
#[error("link-local addresses are never contacted")]
struct LinkLocal;

impl Resolver for NoLinkLocal {
    fn resolve(
        &self,
        uri: &HttpUri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let found = self.0.resolve(uri, config, timeout)?;
        let mut kept = self.empty();
        for address in found.iter().filter(|address| !is_link_local(address.ip())) {
            kept.push(*address);
        }
        if kept.is_empty() {
            return Err(Error::Other(Box::new(LinkLocal)));
        }
        Ok(kept)
    }
}
