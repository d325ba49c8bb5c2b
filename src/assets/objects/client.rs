//! The HTTP client of `object_store`: that of this program, with the time that a request may take. The library would
//! bring HTTP/2 with it, which no store needs.

use std::{
    error::Error,
    io::{self, ErrorKind},
    time::Duration,
};

use futures_util::future::{BoxFuture, FutureExt as _};
use http_body_util::BodyExt as _;
use hyper::http;
use object_store::{
    BackoffConfig, ClientOptions, HeaderMap, HeaderValue, Result, RetryConfig,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
        HttpResponseBody, HttpService,
    },
};
use reqwest::{Body, Client, Method, Request};

use crate::web;

const CONNECT: Duration = Duration::from_secs(3);
/// The longest time for a request that moves few bytes.
const SMALL: Duration = Duration::from_secs(10);
/// The longest silence of the server while an object is read, or an upload completed.
const SILENCE: Duration = Duration::from_mins(1);
/// In the longest time for a request that sends content, each second stands for so many bytes.
const SLOWEST: u64 = 64 << 10;
/// Requests with content that share the way to the store.
pub(super) const AT_ONCE: u64 = 2;

/// For so long a request is sent again.
pub(super) const RETRY_TIMEOUT: Duration = Duration::from_secs(20);

/// What a client is for.
#[derive(Debug, Clone)]
pub(super) enum Purpose {
    /// Before the tool is called, a store that does not answer is soon told.
    Early,
    /// After the tool was called.
    Late,
    /// To complete an upload if this condition holds: a header and its value.
    Complete(&'static str, String),
}

impl Purpose {
    pub(super) fn retry(&self) -> RetryConfig {
        let usual = RetryConfig {
            max_retries: 3,
            retry_timeout: RETRY_TIMEOUT,
            ..RetryConfig::default()
        };
        match self {
            Self::Early => usual,
            // The time alone ends the attempts.
            Self::Late | Self::Complete(..) => RetryConfig {
                max_retries: usize::MAX,
                backoff: BackoffConfig {
                    init_backoff: Duration::from_millis(250),
                    max_backoff: Duration::from_secs(4),
                    base: 3.0,
                },
                ..usual
            },
        }
    }

    pub(super) fn headers(&self) -> Result<HeaderMap> {
        let mut headers = HeaderMap::new();
        if let Self::Complete(name, value) = self {
            let value = HeaderValue::from_str(value).map_err(generic)?;
            headers.insert(*name, value);
        }
        Ok(headers)
    }
}

/// Makes the client, which adds these headers to each request. It follows no redirect: the signature would be wrong there,
/// and another host would get the request.
#[derive(Debug)]
pub(super) struct Connector(pub(super) HeaderMap);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> Result<HttpClient> {
        let client = web::client()
            .default_headers(self.0.clone())
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            .http1_only();
        Ok(HttpClient::new(Service(client.build().map_err(generic)?)))
    }
}

/// The longest time for a request with so many bytes of content; none if its answer can be long, or long in coming.
fn longest(request: &HttpRequest) -> Option<Duration> {
    match *request.method() {
        Method::GET | Method::POST => None,
        _ => Some(time_to_send(request.body().content_length() as u64)),
    }
}

/// The longest time for a request that sends so many bytes.
pub(super) fn time_to_send(bytes: u64) -> Duration {
    let bytes = bytes.saturating_mul(AT_ONCE);
    SMALL.saturating_add(Duration::from_secs(bytes.div_ceil(SLOWEST)))
}

fn generic(error: impl Error + Send + Sync + 'static) -> object_store::Error {
    object_store::Error::Generic {
        store: "client",
        source: Box::new(error),
    }
}

#[derive(Debug)]
struct Service(Client);

impl HttpService for Service {
    fn call<'s, 'f>(
        &'s self,
        request: HttpRequest,
    ) -> BoxFuture<'f, Result<HttpResponse, HttpError>>
    where
        's: 'f,
        Self: 'f,
    {
        async move {
            let longest = longest(&request);
            let mut request = Request::try_from(request.map(Body::wrap)).map_err(failure)?;
            *request.timeout_mut() = longest;
            let response = self.0.execute(request).await.map_err(failure)?;
            let response = http::Response::<Body>::from(response);
            Ok(response.map(|body| HttpResponseBody::new(body.map_err(failure))))
        }
        .boxed()
    }
}

/// The kind decides whether the library sends the request again.
fn failure(error: reqwest::Error) -> HttpError {
    let kind = if error.is_timeout() {
        HttpErrorKind::Timeout
    } else if error.is_connect() {
        HttpErrorKind::Connect
    } else if error.is_decode() {
        HttpErrorKind::Decode
    } else {
        web::causes(&error)
            .find_map(kind)
            .unwrap_or(HttpErrorKind::Unknown)
    };
    // A URL may be signed.
    HttpError::new(kind, error.without_url())
}

/// What a cause of an error says; none if it says nothing.
fn kind(cause: &(dyn Error + 'static)) -> Option<HttpErrorKind> {
    if let Some(cause) = cause.downcast_ref::<hyper::Error>() {
        let is_ended =
            cause.is_closed() || cause.is_incomplete_message() || cause.is_body_write_aborted();
        return match cause {
            _ if is_ended => Some(HttpErrorKind::Request),
            cause if cause.is_timeout() => Some(HttpErrorKind::Timeout),
            _ => None,
        };
    }
    match cause.downcast_ref::<io::Error>()?.kind() {
        ErrorKind::TimedOut => Some(HttpErrorKind::Timeout),
        ErrorKind::ConnectionAborted
        | ErrorKind::ConnectionReset
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => Some(HttpErrorKind::Interrupted),
        _ => None,
    }
}
