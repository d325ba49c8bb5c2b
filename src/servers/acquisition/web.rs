//! HTTP as the tools need it: one GET or HEAD, redirects followed and checked, failures in words.
//!
//! Connections are direct, and the address that is connected to is checked; or they go through a proxy
//! that the server's entry names, and the proxy looks the host up (see `proxy`).

use std::{
    io::{self, Read},
    sync::{atomic::Ordering, mpsc},
    thread,
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use ureq::{
    Agent, Body, BodyReader, Proxy, Timeout,
    config::Config,
    http::{HeaderMap, Request, Response, StatusCode, Uri, header},
    tls::{RootCerts, TlsConfig},
    unversioned::transport::DefaultConnector,
};
use url::Url;

use super::{
    failure::WebError,
    proxy::{Proxies, Route},
};
use crate::{
    assets::{CheckedResolver, Policy},
    host,
    servers::tool::{Run, ToolError},
    task::presentable,
};

/// How many redirects a request follows.
pub(super) const MAX_REDIRECTS: usize = 5;

/// How often a waiting tool looks whether it has been cancelled.
const HEARTBEAT: Duration = Duration::from_millis(50);

/// The variable by which the catalog's `allow_private = true` reaches a built-in server.
const ALLOW_PRIVATE: &str = "ONEACT_ALLOW_PRIVATE";

/// A client under one address policy.
#[derive(Debug)]
pub(super) struct Web {
    direct: Agent,
    proxies: Proxies,
    /// The ways through proxies, for `http` and for `https` URLs.
    http: Option<Route>,
    https: Option<Route>,
    policy: Policy,
    patience: Patience,
}

/// How long to wait for what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// For the name and the connection together with its TLS handshake, each.
    pub(super) connect: Duration,
    /// For the next byte.
    pub(super) idle: Duration,
    /// Before the first new attempt after a dropped connection; doubles with each.
    pub(super) pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            pause: Duration::from_millis(200),
        }
    }
}

/// What to ask a server for.
#[derive(Debug, Clone)]
pub(super) enum Ask {
    /// The headers alone.
    Head,
    /// The first byte alone, where HEAD is refused.
    FirstByte,
    /// Everything.
    Whole,
    /// Everything from byte `from`, if the content is still what `validator` names.
    Rest { from: u64, validator: String },
}

/// A server's answer that is no redirect.
#[derive(Debug)]
pub(super) struct Answer {
    /// Where the answer came from, after all redirects.
    pub(super) url: Url,
    pub(super) status: StatusCode,
    headers: HeaderMap,
    body: Body,
}

impl Web {
    /// By the variables of the environment.
    pub(super) fn from_environment() -> Result<Self, ToolError> {
        let policy = match host::variable(ALLOW_PRIVATE).as_deref() {
            Some("1") => Policy::PrivateToo,
            _ => Policy::PublicOnly,
        };
        let proxies = Proxies::from_environment()?;
        Ok(Self::new(policy, Patience::default(), proxies))
    }

    pub(super) fn new(policy: Policy, patience: Patience, proxies: Proxies) -> Self {
        let direct = config(patience, None);
        Self {
            http: proxies.http(&direct),
            https: proxies.https(|proxy| config(patience, Some(proxy))),
            direct: Agent::with_parts(
                direct,
                DefaultConnector::default(),
                CheckedResolver::new(policy),
            ),
            proxies,
            policy,
            patience,
        }
    }

    /// Asks the server, following up to [`MAX_REDIRECTS`] redirects to `http` and `https` URLs,
    /// each through the same policy. Any status that is no redirect is an answer.
    pub(super) fn ask(&self, url: &Url, ask: &Ask) -> Result<Answer, WebError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(&url, ask)?;
            let Some(next) = redirect(&url, &response)? else {
                let (parts, body) = response.into_parts();
                return Ok(Answer {
                    url,
                    status: parts.status,
                    headers: parts.headers,
                    body,
                });
            };
            url = next;
        }
        Err(WebError::Redirect {
            url: presentable(&url),
            problem: format!("once more, after {MAX_REDIRECTS} times"),
        })
    }

    /// Does `work`, and cuts its connections when the caller cancels, so that no silent server
    /// holds a cancelled call.
    pub(super) fn until_cancelled<T>(
        &self,
        run: &Run<'_>,
        work: impl FnOnce() -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        let result = thread::scope(|scope| {
            let (working, watch) = mpsc::channel::<()>();
            let cancelled = run.cancelled;
            scope.spawn(move || {
                // The sender goes when the work is over, whichever way.
                while watch.recv_timeout(HEARTBEAT) == Err(mpsc::RecvTimeoutError::Timeout) {
                    if cancelled.load(Ordering::Relaxed) {
                        return self.agents().cloned().for_each(Agent::shutdown);
                    }
                }
            });
            let result = work();
            drop(working);
            result
        });
        // A cut connection looks like a failure of the server; the reason is the caller.
        result.or_else(|error| run.check_cancelled().and(Err(error)))
    }

    /// Waits before attempt number `attempt` (1 …), or until cancelled.
    pub(super) fn pause(&self, attempt: u32, run: &Run<'_>) -> Result<(), ToolError> {
        let mut left = self
            .patience
            .pause
            .saturating_mul(1 << attempt.saturating_sub(1).min(10));
        while !left.is_zero() {
            run.check_cancelled()?;
            let slice = left.min(HEARTBEAT);
            thread::sleep(slice);
            left = left.saturating_sub(slice);
        }
        run.check_cancelled()
    }

    /// Says what a failed read of an answer's body means.
    pub(super) fn read_error(&self, url: &Url, error: io::Error) -> WebError {
        self.describe(url, ureq::Error::from(error))
    }

    fn send(&self, url: &Url, ask: &Ask) -> Result<Response<Body>, WebError> {
        let lost = |cause: String| WebError::Lost {
            url: presentable(url),
            cause,
        };
        let mut bare = url.clone();
        bare.set_fragment(None);
        // Credentials travel in their header, never in the request line.
        let _ = bare.set_username("");
        let _ = bare.set_password(None);
        let uri: Uri = bare
            .as_str()
            .parse()
            .map_err(|_| lost("the URL cannot be sent over HTTP".to_owned()))?;
        let mut request = match ask {
            Ask::Head => Request::head(uri),
            Ask::FirstByte => Request::get(uri).header(header::RANGE, "bytes=0-0"),
            Ask::Whole => Request::get(uri),
            Ask::Rest { from, validator } => Request::get(uri)
                .header(header::RANGE, format!("bytes={from}-"))
                .header(header::IF_RANGE, validator),
        };
        if let Some(credentials) = basic_credentials(url) {
            request = request.header(header::AUTHORIZATION, credentials);
        }
        let route = self.route(url);
        if let Some(route) = route {
            self.policy
                .admit_through_proxy(url, self.direct.config())
                .map_err(|refused| WebError::Refused {
                    url: presentable(url),
                    refused: Box::new(refused),
                })?;
            if let Some(credentials) = &route.authorization {
                request = request.header(header::PROXY_AUTHORIZATION, credentials);
            }
        }
        let agent = route.map_or(&self.direct, |route| &route.agent);
        let request = request.body(()).map_err(|error| lost(error.to_string()))?;
        agent
            .run(request)
            .map_err(|error| self.describe(url, error))
    }

    /// The proxy that a URL is asked through, if any.
    fn route(&self, url: &Url) -> Option<&Route> {
        let route = match url.scheme() {
            "https" => self.https.as_ref(),
            _ => self.http.as_ref(),
        };
        route.filter(|_| !self.proxies.leaves_out(url))
    }

    fn agents(&self) -> impl Iterator<Item = &Agent> {
        let routes = [&self.http, &self.https].into_iter().flatten();
        routes.map(|route| &route.agent).chain([&self.direct])
    }

    fn describe(&self, url: &Url, error: ureq::Error) -> WebError {
        let shown = match self.route(url) {
            Some(route) => format!("{} through the proxy {}", presentable(url), route.name),
            None => presentable(url),
        };
        let late = |doing, after| WebError::TimedOut {
            url: shown.clone(),
            doing,
            after,
        };
        match error {
            ureq::Error::Timeout(Timeout::Resolve) => {
                late("looking up the host of", self.patience.connect)
            }
            ureq::Error::Timeout(Timeout::Connect) => late("connecting to", self.patience.connect),
            ureq::Error::Timeout(_) => late("waiting for data from", self.patience.idle),
            other => WebError::of(shown, other),
        }
    }
}

/// What all requests have in common.
fn config(patience: Patience, proxy: Option<Proxy>) -> Config {
    Agent::config_builder()
        .proxy(proxy)
        // The machine's own certificates: a company's authority counts, and a withdrawn one does not.
        .tls_config(
            TlsConfig::builder()
                .root_certs(RootCerts::PlatformVerifier)
                .build(),
        )
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("oneact/", env!("CARGO_PKG_VERSION")))
        // Lengths and ranges are those of the file itself.
        .accept_encoding("identity")
        .timeout_resolve(Some(patience.connect))
        .timeout_connect(Some(patience.connect))
        .timeout_per_read(Some(patience.idle))
        .timeout_per_write(Some(patience.idle))
        .timeout_recv_response(Some(patience.idle))
        // Every connection is checked anew.
        .max_idle_connections(0)
        .build()
}

impl Answer {
    /// A header as text, if it is there and is text.
    pub(super) fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Bytes of the body, where the server says so in a way that binds it.
    pub(super) fn content_length(&self) -> Option<u64> {
        self.body.content_length()
    }

    /// The failure that the status is.
    pub(super) fn failure(&self) -> WebError {
        let wait = self
            .header(header::RETRY_AFTER)
            .map(|text| text.chars().take(40).collect());
        WebError::Status {
            url: presentable(&self.url),
            status: self.status,
            wait,
        }
    }

    pub(super) fn reader(&mut self) -> BodyReader<'_> {
        self.body.as_reader()
    }
}

/// Where a redirect leads; `None` for any other answer.
fn redirect(from: &Url, response: &Response<Body>) -> Result<Option<Url>, WebError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let fail = |problem: &str| WebError::Redirect {
        url: presentable(from),
        problem: problem.to_owned(),
    };
    let location = response
        .headers()
        .get(header::LOCATION)
        .ok_or_else(|| fail("without saying where"))?;
    let location =
        std::str::from_utf8(location.as_bytes()).map_err(|_| fail("to what is not UTF-8"))?;
    let to = from.join(location).map_err(|_| fail("to what is no URL"))?;
    match to.scheme() {
        "http" | "https" => Ok(Some(to)),
        other => Err(fail(&format!("to a `{other}` URL, which is not followed"))),
    }
}

/// RFC 7617, from the URL's user name and password.
fn basic_credentials(url: &Url) -> Option<String> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let mut pair: Vec<u8> = percent_encoding::percent_decode_str(url.username()).collect();
    pair.push(b':');
    pair.extend(percent_encoding::percent_decode_str(
        url.password().unwrap_or_default(),
    ));
    Some(format!("Basic {}", BASE64_STANDARD.encode(pair)))
}

/// Reads a block; an interrupted read is tried again.
pub(super) fn read_block(reader: &mut dyn Read, block: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(block) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
