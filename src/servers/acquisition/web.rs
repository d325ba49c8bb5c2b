//! An HTTP client for the tools: GET and HEAD, with checked redirects and failures in words.
//!
//! A direct connection goes only to a checked address. If the server's entry names a proxy, the proxy looks the
//! host up (see `proxy`).

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
    http::{Request, Response, StatusCode, Uri, Version, header},
    unversioned::transport::DefaultConnector,
};
use url::Url;

use super::{
    broken::TellsBreaks,
    proxy::{Proxies, Route},
};
use crate::{
    assets::{CheckedResolver, Policy, Refused, client},
    host,
    servers::tool::{Run, ToolError},
    task::{ALLOW_PRIVATE, presentable},
};

pub(super) const MAX_REDIRECTS: usize = 5;

/// The interval at which a waiting tool checks whether it was cancelled.
const HEARTBEAT: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Web {
    direct: Agent,
    proxies: Proxies,
    /// The routes for `http` and for `https` URLs, if there is a proxy.
    http: Option<Route>,
    https: Option<Route>,
    policy: Policy,
    patience: Patience,
}

/// Time limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// The limit for the look-up, and the limit for the connection with its TLS handshake.
    pub(super) connect: Duration,
    /// The limit for the next byte.
    pub(super) idle: Duration,
    /// The pause before the first new attempt after a dropped connection. It doubles with each attempt.
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

#[derive(Debug, Clone)]
pub(super) enum Ask {
    /// Only the headers.
    Head,
    /// The first byte, for servers that refuse HEAD.
    FirstByte,
    /// The whole content.
    Whole,
    /// The content from byte `from`, if `validator` still matches.
    Rest { from: u64, validator: String },
}

#[derive(Debug)]
pub(super) struct Answer {
    /// The URL after all redirects.
    pub(super) url: Url,
    response: Response<Body>,
}

/// A failed request. The text says what failed, where, and whether to retry. It contains no signatures and
/// passwords.
#[derive(Debug)]
pub(super) enum Stop {
    /// The server was not reached, or the connection was lost. Another attempt may succeed.
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
    /// Makes a client from the variables of the environment.
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
                TellsBreaks(DefaultConnector::default()),
                CheckedResolver(policy),
            ),
            proxies,
            policy,
            patience,
        }
    }

    /// Sends a request and follows up to [`MAX_REDIRECTS`] redirects to `http` and `https` URLs, under the same
    /// policy. An answer with any other status is returned.
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
            "{url} redirects again after {MAX_REDIRECTS} redirects"
        )))
    }

    /// Performs `work`. If the caller cancels, the connections are closed, so that a silent server does not delay
    /// the cancellation.
    pub(super) fn until_cancelled<T>(
        &self,
        run: &Run<'_>,
        work: impl FnOnce() -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        let result = thread::scope(|scope| {
            let (working, watch) = mpsc::channel::<()>();
            let cancelled = run.cancelled;
            scope.spawn(move || {
                // The channel closes when the work ends, also if it panics.
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
        // If the caller has cancelled, that is the reason of the failure.
        result.or_else(|error| run.check_cancelled().and(Err(error)))
    }

    /// Waits before attempt number `attempt` (1 …), or until the call is cancelled.
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

    /// The failure of reading the body of an answer.
    pub(super) fn read_error(&self, url: &Url, error: io::Error) -> Stop {
        self.describe(url, ureq::Error::from(error))
    }

    fn send(&self, url: &Url, ask: &Ask) -> Result<Response<Body>, Stop> {
        let lost = |cause: &str| Stop::Lost(format!("cannot reach {}: {cause}", presentable(url)));
        let mut bare = url.clone();
        bare.set_fragment(None);
        // Credentials are sent in a header, not in the request line.
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

    /// The route through a proxy, if the URL needs one.
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

    /// Translates an error of the client for a request to `url`.
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
            // The text of this error contains the URL with its secrets.
            ureq::Error::BadUri(_) => "the URL cannot be sent over HTTP".to_owned(),
            ureq::Error::Io(error) if passes(error.kind()) => format!("{error}; retrying may help"),
            ureq::Error::Io(error) => {
                match error.get_ref().and_then(|inner| inner.downcast_ref()) {
                    // The text of this error says "corrupt", which would be taken for a corrupt input.
                    Some(rustls::Error::InvalidMessage(_)) => "it does not speak TLS".to_owned(),
                    _ => error.to_string(),
                }
            }
            other => other.to_string(),
        };
        Stop::Lost(format!("cannot reach {url}: {cause}"))
    }
}

/// The configuration that direct requests and requests through a proxy share.
fn config(patience: Patience, proxy: Option<Proxy>) -> Config {
    client()
        .proxy(proxy)
        .max_redirects(0)
        .max_redirects_will_error(false)
        // Lengths and ranges must be those of the file itself.
        .accept_encoding("identity")
        .timeout_resolve(Some(patience.connect))
        .timeout_connect(Some(patience.connect))
        .timeout_per_read(Some(patience.idle))
        .timeout_per_write(Some(patience.idle))
        .timeout_recv_response(Some(patience.idle))
        // Every connection is new, so that its address is checked.
        .max_idle_connections(0)
        .build()
}

impl Answer {
    pub(super) fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// The value of a header, if it is text.
    pub(super) fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// The codings that all headers of this name list, in lower case, without `identity`.
    pub(super) fn codings(&self, name: header::HeaderName) -> Vec<String> {
        let headers = self.response.headers().get_all(name).into_iter();
        let texts: Vec<_> = headers
            .map(|text| String::from_utf8_lossy(text.as_bytes()).to_lowercase())
            .collect();
        let codings = texts.iter().flat_map(|text| text.split(','));
        codings
            .map(|coding| coding.trim().to_owned())
            .filter(|coding| !matches!(coding.as_str(), "" | "identity"))
            .collect()
    }

    pub(super) fn version(&self) -> Version {
        self.response.version()
    }

    /// The length of the body, if the server states it reliably.
    pub(super) fn content_length(&self) -> Option<u64> {
        self.response.body().content_length()
    }

    /// The failure that the status means.
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

/// The target of a redirect; `None` for any other answer.
fn redirect(from: &Url, response: &Response<Body>) -> Result<Option<Url>, Stop> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let fail = |problem: &str| Stop::failed(format!("{} redirects {problem}", presentable(from)));
    let location = response
        .headers()
        .get(header::LOCATION)
        .ok_or_else(|| fail("without a location"))?;
    let location = std::str::from_utf8(location.as_bytes())
        .map_err(|_| fail("to a location that is not UTF-8"))?;
    let to = from
        .join(location)
        .map_err(|_| fail("to a location that is not a URL"))?;
    match to.scheme() {
        "http" | "https" => Ok(Some(to)),
        other => Err(fail(&format!("to a `{other}` URL, which is not followed"))),
    }
}

/// Basic credentials (RFC 7617) from the user name and password of the URL.
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

/// The status in words, such as `HTTP 404 Not Found`.
pub(super) fn status_text(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(phrase) => format!("HTTP {} {phrase}", status.as_u16()),
        None => format!("HTTP {}", status.as_u16()),
    }
}

fn advice(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 | 403 => "the server requires other credentials, or the presigned URL has expired",
        407 => "the proxy requires other credentials: check the proxy's URL in the server's entry",
        408 | 425 => "retrying may help",
        429 => "the server limits the rate of requests: retrying later may help",
        501 | 505 => "retrying will not help",
        500..=599 => "the server failed: retrying may help",
        _ => "retrying will not help",
    }
}

/// Whether a connection that failed in this way may succeed later.
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
