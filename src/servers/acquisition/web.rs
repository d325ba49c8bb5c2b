//! An HTTP client for the tools: GET and HEAD, with checked redirects and failures in words.
//!
//! A direct connection goes only to a checked address. If the server's entry names a proxy, the proxy looks the
//! host up (see `proxy`).

use std::{
    io::{self, Read},
    sync::{atomic::Ordering, mpsc},
    thread,
    time::Duration,
};

use bytes::{Buf as _, Bytes};
use reqwest::{Client, ClientBuilder, Method, Response, StatusCode, Version, header};
use tokio::{
    runtime::{Builder, Runtime},
    select,
    sync::watch,
};
use url::Url;

use super::proxy::Proxies;
use crate::{
    assets::{CheckedResolver, HostNotFound, Policy, Refused},
    host,
    servers::tool::{Run, ToolError},
    task::{ALLOW_PRIVATE, presentable},
    web,
};

pub(super) const MAX_REDIRECTS: usize = 5;

/// The interval at which a waiting tool checks whether it was cancelled.
const HEARTBEAT: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Web {
    runtime: Runtime,
    direct: Client,
    proxied: Client,
    proxies: Proxies,
    policy: Policy,
    patience: Patience,
    /// Whether the caller has cancelled.
    stopped: watch::Sender<bool>,
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
    response: Response,
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
        Self::new(policy, Patience::default(), proxies)
    }

    pub(super) fn new(
        policy: Policy,
        patience: Patience,
        proxies: Proxies,
    ) -> Result<Self, ToolError> {
        let unusable = |why: String| ToolError::Failed(format!("no host can be contacted: {why}"));
        let failed = |error: reqwest::Error| unusable(web::cause(&error));
        let direct = client(patience).dns_resolver(CheckedResolver(policy));
        let proxied = proxies.used_by(client(patience)).map_err(failed)?;
        let runtime = Builder::new_current_thread().enable_all().build();
        Ok(Self {
            runtime: runtime.map_err(|error| unusable(error.to_string()))?,
            direct: direct.build().map_err(failed)?,
            proxied: proxied.build().map_err(failed)?,
            proxies,
            policy,
            patience,
            stopped: watch::channel(false).0,
        })
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

    /// Performs `work`. If the caller cancels, the requests are given up, so that a silent server does not delay the
    /// cancellation.
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
                        self.stopped.send_replace(true);
                        return;
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
        match error.downcast::<reqwest::Error>() {
            Ok(error) => self.describe(url, &error),
            Err(error) => self.lost(url, &error.to_string()),
        }
    }

    /// The result of a request, unless the caller cancels.
    fn wait<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut stopped = self.stopped.subscribe();
        self.runtime.block_on(async {
            select! {
                done = work => Some(done),
                _ = stopped.wait_for(|stopped| *stopped) => None,
            }
        })
    }

    /// Sends a request. The client puts user name and password of the URL into a header.
    fn send(&self, url: &Url, ask: &Ask) -> Result<Response, Stop> {
        let refused = |refused: Refused| Stop::refused(&presentable(url), &refused);
        let client = if self.proxies.name_for(url).is_some() {
            self.policy.admit_through_proxy(url).map_err(refused)?;
            &self.proxied
        } else {
            self.policy.admit_address(url).map_err(refused)?;
            &self.direct
        };
        let method = if matches!(ask, Ask::Head) {
            Method::HEAD
        } else {
            Method::GET
        };
        // Lengths and ranges must be those of the file itself.
        let mut request = client
            .request(method, url.clone())
            .header(header::ACCEPT_ENCODING, "identity");
        request = match ask {
            Ask::Head | Ask::Whole => request,
            Ask::FirstByte => request.header(header::RANGE, "bytes=0-0"),
            Ask::Rest { from, validator } => request
                .header(header::RANGE, format!("bytes={from}-"))
                .header(header::IF_RANGE, validator),
        };
        match self.wait(async { request.send().await }) {
            Some(answer) => answer.map_err(|error| self.describe(url, &error)),
            None => Err(self.lost(url, "the call was cancelled")),
        }
    }

    fn lost(&self, url: &Url, cause: &str) -> Stop {
        Stop::Lost(format!("cannot reach {}: {cause}", self.shown(url)))
    }

    fn shown(&self, url: &Url) -> String {
        match self.proxies.name_for(url) {
            Some(proxy) => format!("{} through the proxy {proxy}", presentable(url)),
            None => presentable(url),
        }
    }

    /// Translates an error of the client for a request to `url`.
    fn describe(&self, url: &Url, error: &reqwest::Error) -> Stop {
        let Patience { connect, idle, .. } = self.patience;
        let shown = self.shown(url);
        if let Some(refused) = web::within::<Refused>(error) {
            return Stop::refused(&shown, refused);
        }
        if web::within::<HostNotFound>(error).is_some() {
            return Stop::failed(format!(
                "cannot find the host of {shown}: check the name, or retry later"
            ));
        }
        if error.is_timeout() {
            let (doing, after) = if error.is_connect() {
                ("connecting to", connect)
            } else {
                ("waiting for data from", idle)
            };
            return Stop::failed(format!(
                "timed out after {after:?} while {doing} {shown}; retrying may help"
            ));
        }
        let cause = web::cause(error);
        self.lost(
            url,
            &match web::within::<rustls::Error>(error) {
                // The text of this error says "corrupt", which would be taken for a corrupt input.
                Some(rustls::Error::InvalidMessage(_)) => "it does not speak TLS".to_owned(),
                Some(_) => cause,
                None if cause.contains("proxy authorization required") => {
                    let status = StatusCode::PROXY_AUTHENTICATION_REQUIRED;
                    format!("{}; {}", status_text(status), advice(status))
                }
                None => format!("{cause}; retrying may help"),
            },
        )
    }
}

/// What direct requests and requests through a proxy share.
fn client(patience: Patience) -> ClientBuilder {
    web::client()
        .no_proxy()
        .connect_timeout(patience.connect)
        .read_timeout(patience.idle)
        // Every connection is new, so that its address is checked.
        .pool_max_idle_per_host(0)
}

/// The body of an answer. Its errors are those of the client, in [`io::Error`].
struct Body<'a> {
    web: &'a Web,
    response: &'a mut Response,
    rest: Bytes,
}

impl Read for Body<'_> {
    /// An end, if the caller has cancelled.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.web.wait(async { self.response.chunk().await }) {
                Some(Ok(Some(chunk))) => self.rest = chunk,
                Some(Ok(None)) | None => return Ok(0),
                Some(Err(error)) => return Err(io::Error::other(error)),
            }
        }
        let count = self.rest.len().min(into.len());
        self.rest
            .copy_to_slice(into.get_mut(..count).unwrap_or_default());
        Ok(count)
    }
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
        self.response.content_length()
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

    pub(super) fn reader<'a>(&'a mut self, web: &'a Web) -> impl Read + 'a {
        Body {
            web,
            response: &mut self.response,
            rest: Bytes::new(),
        }
    }
}

/// The target of a redirect; `None` for any other answer.
fn redirect(from: &Url, response: &Response) -> Result<Option<Url>, Stop> {
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
