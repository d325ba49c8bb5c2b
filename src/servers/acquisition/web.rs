//! HTTP for the tools: GET and HEAD, with failures in words.

use std::time::Duration;

use bytes::Bytes;
use reqwest::{ClientBuilder, Response, StatusCode, header};
use tokio::time::sleep;
use url::Url;

use crate::{
    assets::Policy,
    host,
    servers::tool::{Run, ToolError},
    task::{ALLOW_PRIVATE, presentable},
    web::{self, Guard, HostRefused, Waiting},
};

#[derive(Debug)]
pub(super) struct Web {
    waiting: Waiting,
    client: reqwest::Client,
    guard: Guard,
    pause: Duration,
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

/// The content from byte `from`, if it still has this `ETag`.
#[derive(Debug, Clone)]
pub(super) struct Rest {
    pub(super) from: u64,
    pub(super) etag: String,
}

/// A failed request. The text says what failed, where, and whether to retry. It contains no signatures and
/// passwords.
#[derive(Debug)]
pub(super) enum Stop {
    /// The server was not reached, or the connection was lost. Another attempt may succeed.
    Lost(String),
    Final(ToolError),
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
        let guard = Guard::of_environment(policy);
        Self::new(guard.client(), guard, Patience::default())
    }

    pub(super) fn new(
        client: ClientBuilder,
        guard: Guard,
        patience: Patience,
    ) -> Result<Self, ToolError> {
        let unusable = |why: String| ToolError::Failed(format!("no host can be contacted: {why}"));
        let client = client
            .connect_timeout(patience.connect)
            .read_timeout(patience.idle)
            .build();
        Ok(Self {
            waiting: Waiting::new().map_err(|error| unusable(error.to_string()))?,
            client: client.map_err(|error| unusable(web::cause(&error)))?,
            guard,
            pause: patience.pause,
        })
    }

    /// Asks for the headers of a URL.
    pub(super) fn look(&self, url: &Url, run: &Run<'_>) -> Result<Response, Stop> {
        self.answer(url, run, web::look(&self.client, url))
    }

    /// Asks for the content of a URL. The client puts user name and password of the URL into a header.
    pub(super) fn get(
        &self,
        url: &Url,
        rest: Option<&Rest>,
        run: &Run<'_>,
    ) -> Result<Response, Stop> {
        // Lengths and ranges must be those of the file itself.
        let request = self.client.get(url.clone());
        let request = request.header(header::ACCEPT_ENCODING, "identity");
        let request = match rest {
            None => request,
            Some(Rest { from, etag }) => request
                .header(header::RANGE, format!("bytes={from}-"))
                .header(header::IF_RANGE, etag),
        };
        self.answer(url, run, async { request.send().await })
    }

    fn answer(
        &self,
        url: &Url,
        run: &Run<'_>,
        asked: impl Future<Output = reqwest::Result<Response>>,
    ) -> Result<Response, Stop> {
        let refused = |refused| Self::refused(url, &refused);
        self.guard.admit(url).map_err(refused)?;
        let answer = self.wait(run, asked)?;
        answer.map_err(|error| self.failed(url, &error))
    }

    /// The next bytes of an answer; none at its end.
    pub(super) fn more(&self, answer: &mut Response, run: &Run<'_>) -> Result<Option<Bytes>, Stop> {
        let more = self.wait(run, async { answer.chunk().await })?;
        more.map_err(|error| self.failed(answer.url(), &error))
    }

    /// Waits before attempt number `attempt` (1 …), or until the call is cancelled.
    pub(super) fn pause(&self, attempt: u32, run: &Run<'_>) -> Result<(), ToolError> {
        let pause = self.pause.saturating_mul(1 << (attempt.max(1) - 1).min(10));
        self.wait(run, async { sleep(pause).await })
    }

    /// The result of a request, unless the caller cancels.
    fn wait<T>(&self, run: &Run<'_>, work: impl Future<Output = T>) -> Result<T, ToolError> {
        let go_on = || run.check_cancelled().is_ok();
        let done = self.waiting.wait(&go_on, work);
        done.ok_or(ToolError::Cancelled)
    }

    fn refused(url: &Url, refused: &HostRefused) -> Stop {
        let problem = format!("{}: {refused}", presentable(url));
        ToolError::argument("url", problem).into()
    }

    /// Translates an error of the client for a request to `url`.
    fn failed(&self, url: &Url, error: &reqwest::Error) -> Stop {
        if let Some(refused) = web::within(error) {
            return Self::refused(url, refused);
        }
        let way = if self.guard.is_proxied(url) {
            " through the proxy"
        } else {
            ""
        };
        let why = format!(
            "the request to {}{way} failed: {}; retrying may help",
            presentable(url),
            web::cause(error)
        );
        if error.is_timeout() || error.is_redirect() {
            ToolError::Failed(why).into()
        } else {
            Stop::Lost(why)
        }
    }
}

/// The value of a header, if it is text.
pub(super) fn header(answer: &Response, name: header::HeaderName) -> Option<&str> {
    answer.headers().get(name)?.to_str().ok()
}

/// The failure that the status of an answer means.
pub(super) fn failure(answer: &Response) -> Stop {
    let wait = header(answer, header::RETRY_AFTER).map(|text| {
        let text: String = text.chars().take(40).collect();
        format!(" (Retry-After: {text})")
    });
    let status = answer.status();
    let advice = match status.as_u16() {
        401 | 403 => "the server requires other credentials, or the presigned URL has expired",
        407 => "the proxy requires other credentials: check the proxy's URL in the server's entry",
        408 | 425 | 429 | 500 | 502..=504 | 506..=599 => "retrying later may help",
        _ => "retrying will not help",
    };
    ToolError::Failed(format!(
        "{} from {}{}; {advice}",
        status_text(status),
        presentable(answer.url()),
        wait.unwrap_or_default(),
    ))
    .into()
}

/// The status in words, such as `HTTP 404 Not Found`.
pub(super) fn status_text(status: StatusCode) -> String {
    format!("HTTP {status}")
}
