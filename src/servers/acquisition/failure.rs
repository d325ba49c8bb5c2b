//! Why a server gives no answer, or no good one, in words: what failed, where, whether to retry.

use std::{io::ErrorKind, time::Duration};

use ureq::http::StatusCode;

use crate::{assets::Refused, servers::tool::ToolError};

/// A failed request. Every `url` in it is presentable: without signatures and passwords.
#[derive(Debug, thiserror::Error)]
pub(super) enum WebError {
    #[error("{url}: {refused}")]
    Refused { url: String, refused: Box<Refused> },
    #[error("{url} redirects {problem}")]
    Redirect { url: String, problem: String },
    #[error("timed out after {after:?} while {doing} {url}; retrying may help")]
    TimedOut {
        url: String,
        doing: &'static str,
        after: Duration,
    },
    #[error("cannot find the host of {url}: check the name, or retry later")]
    HostNotFound { url: String },
    #[error("cannot reach {url}: {cause}")]
    Lost { url: String, cause: String },
    #[error("{} from {url}{}; {}", status_text(*status), wait_text(wait.as_ref()), advice(*status))]
    Status {
        url: String,
        status: StatusCode,
        wait: Option<String>,
    },
}

impl WebError {
    /// The client's error on a request to `url`.
    pub(super) fn of(url: String, error: ureq::Error) -> Self {
        let cause = match error {
            ureq::Error::HostNotFound => return Self::HostNotFound { url },
            ureq::Error::Other(other) => match other.downcast::<Refused>() {
                Ok(refused) => return Self::Refused { url, refused },
                Err(other) => other.to_string(),
            },
            // Its text holds the URL with all its secrets.
            ureq::Error::BadUri(_) => "the URL cannot be sent over HTTP".to_owned(),
            ureq::Error::Io(error) if passes(error.kind()) => format!("{error}; retrying may help"),
            ureq::Error::Io(error) => error.to_string(),
            other => other.to_string(),
        };
        Self::Lost { url, cause }
    }
}

impl From<WebError> for ToolError {
    fn from(error: WebError) -> Self {
        match error {
            WebError::Refused { .. } => Self::Argument {
                argument: "url",
                problem: error.to_string(),
            },
            other => Self::Failed(other.to_string()),
        }
    }
}

/// `HTTP 404 Not Found`; without a phrase for statuses nobody has named.
pub(super) fn status_text(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(phrase) => format!("HTTP {} {phrase}", status.as_u16()),
        None => format!("HTTP {}", status.as_u16()),
    }
}

fn wait_text(wait: Option<&String>) -> String {
    wait.map(|wait| format!(" (Retry-After: {wait})"))
        .unwrap_or_default()
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
fn passes(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::BrokenPipe
            | ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::UnexpectedEof
    )
}
