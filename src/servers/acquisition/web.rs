//! HTTP as the tools need it: one GET or HEAD, redirects followed and checked, failures in words.
//!
//! Connections are direct, and the address that is connected to is checked; or they go through a proxy
//! that the server's entry names, and the proxy looks the host up (see `proxy`).

use std::{
    io,
    sync::{atomic::Ordering, mpsc},
    thread,
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use ureq::{
    Agent, Body, BodyReader, Proxy, Timeout,
    config::Config,
    http::{Request, Response, StatusCode, Uri, header},
    unversioned::transport::DefaultConnector,
};
use url::Url;

use super::proxy::{Proxies, Route};
use crate::{
    assets::{CheckedResolver, Policy, Refused, client},
    host,
    servers::tool::{Run, ToolError},
    task::{ALLOW_PRIVATE, presentable},
};

/// How many redirects a request follows.
pub(super) const MAX_REDIRECTS: usize = 5;

/// How often a waiting tool looks whether it has been cancelled.
const HEARTBEAT: Duration = Duration::from_millis(50);

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
    response: Response<Body>,
}

/// Why a server gives no answer, or no good one, in words: what failed, where, whether to retry. No text has
/// signatures or passwords in it.
#[derive(Debug)]
pub(super) enum Stop {
    /// The server was not reached, or its connection broke off. Another attempt may do better.
    Lost(String),
    Final(ToolError),
}

impl Stop {
    fn failed(problem: String) -> Self {
        Self::Final(ToolError::Failed(problem))
    }

    fn refused(url: &str, refused: &Refused) -> Self {
        Self::Final(ToolError::argument("url", format!("{url}: {refused}")))
    }
}

impl From<ToolError> for Stop {
    fn from(error: ToolError) -> Self {
        Self::Final(error)
    }
}

impl From<Stop> for ToolError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Lost(problem) => Self::Failed(problem),
            Stop::Final(error) => error,
        }
    }
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
        let config = |proxy| config(patience, proxy);
        Self {
            http: proxies.http(config),
            https: proxies.https(config),
            direct: Agent::with_parts(
                config(None),
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
    pub(super) fn ask(&self, url: &Url, ask: &Ask) -> Result<Answer, Stop> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(&url, ask)?;
            match redirect(&url, &response)? {
                Some(next) => url = next,
                None => return Ok(Answer { url, response }),
            }
        }
        let url = presentable(&url);
        Err(Stop::failed(format!(
            "{url} redirects once more, after {MAX_REDIRECTS} times"
        )))
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
    pub(super) fn read_error(&self, url: &Url, error: io::Error) -> Stop {
        self.describe(url, ureq::Error::from(error))
    }

    fn send(&self, url: &Url, ask: &Ask) -> Result<Response<Body>, Stop> {
        let lost = |cause: &str| Stop::Lost(format!("cannot reach {}: {cause}", presentable(url)));
        let mut bare = url.clone();
        bare.set_fragment(None);
        // Credentials travel in their header, never in the request line.
        let _ = bare.set_username("");
        let _ = bare.set_password(None);
        let uri: Uri = bare
            .as_str()
            .parse()
            .map_err(|_| lost("the URL cannot be sent over HTTP"))?;
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
                .map_err(|refused| Stop::refused(&presentable(url), &refused))?;
            if let Some(credentials) = &route.authorization {
                request = request.header(header::PROXY_AUTHORIZATION, credentials);
            }
        }
        let agent = route.map_or(&self.direct, |route| &route.agent);
        let request = request.body(()).map_err(|error| lost(&error.to_string()))?;
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

    /// What the client's error on a request to `url` means.
    fn describe(&self, url: &Url, error: ureq::Error) -> Stop {
        let Patience { connect, idle, .. } = self.patience;
        let url = match self.route(url) {
            Some(route) => format!("{} through the proxy {}", presentable(url), route.name),
            None => presentable(url),
        };
        let cause = match error {
            ureq::Error::Timeout(late) => {
                let (doing, after) = match late {
                    Timeout::Resolve => ("looking up the host of", connect),
                    Timeout::Connect => ("connecting to", connect),
                    _ => ("waiting for data from", idle),
                };
                return Stop::failed(format!(
                    "timed out after {after:?} while {doing} {url}; retrying may help"
                ));
            }
            ureq::Error::HostNotFound => {
                return Stop::failed(format!(
                    "cannot find the host of {url}: check the name, or retry later"
                ));
            }
            ureq::Error::Other(other) => match other.downcast::<Refused>() {
                Ok(refused) => return Stop::refused(&url, &refused),
                Err(other) => other.to_string(),
            },
            // Its text holds the URL with all its secrets.
            ureq::Error::BadUri(_) => "the URL cannot be sent over HTTP".to_owned(),
            ureq::Error::Io(error) if passes(error.kind()) => format!("{error}; retrying may help"),
            ureq::Error::Io(error) => error.to_string(),
            other => other.to_string(),
        };
        Stop::Lost(format!("cannot reach {url}: {cause}"))
    }
}

/// What all requests have in common.
fn config(patience: Patience, proxy: Option<Proxy>) -> Config {
    client()
        .proxy(proxy)
        .max_redirects(0)
        .max_redirects_will_error(false)
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
    pub(super) fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// A header as text, if it is there and is text.
    pub(super) fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// Bytes of the body, where the server says so in a way that binds it.
    pub(super) fn content_length(&self) -> Option<u64> {
        self.response.body().content_length()
    }

    /// The failure that the status is.
    pub(super) fn failure(&self) -> Stop {
        let wait = self.header(header::RETRY_AFTER).map(|text| {
            let text: String = text.chars().take(40).collect();
            format!(" (Retry-After: {text})")
        });
        Stop::failed(format!(
            "{} from {}{}; {}",
            status_text(self.status()),
            presentable(&self.url),
            wait.unwrap_or_default(),
            advice(self.status())
        ))
    }

    pub(super) fn reader(&mut self) -> BodyReader<'_> {
        self.response.body_mut().as_reader()
    }
}

/// Where a redirect leads; `None` for any other answer.
fn redirect(from: &Url, response: &Response<Body>) -> Result<Option<Url>, Stop> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let fail = |problem: &str| Stop::failed(format!("{} redirects {problem}", presentable(from)));
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

/// `HTTP 404 Not Found`; without a phrase for statuses nobody has named.
pub(super) fn status_text(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(phrase) => format!("HTTP {} {phrase}", status.as_u16()),
        None => format!("HTTP {}", status.as_u16()),
    }
}

fn advice(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 | 403 => "the server wants other credentials, or the presigned URL has expired",
        407 => "the proxy wants other credentials: look at the proxy's URL in the server's entry",
        408 | 425 => "retrying may help",
        429 => "the server asks to slow down: retrying later may help",
        501 | 505 => "retrying will not help",
        500..=599 => "the server failed: retrying may help",
        _ => "retrying will not help",
    }
}

/// Whether a connection that failed so may work a moment later.
fn passes(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::UnexpectedEof
    )
}
