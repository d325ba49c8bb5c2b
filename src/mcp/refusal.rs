//! What the status of an HTTP answer says: the kind of the failure, and whether the request may have been performed.

use std::time::Duration;

use reqwest::{
    Response, StatusCode,
    header::{self, HeaderName},
};
use serde::Deserialize;
use tokio::time::timeout;

use super::bounds;
use crate::task::{Secrets, presentable};

/// How long the body of a refusal is waited for, and how much of it is read.
const PATIENCE: Duration = Duration::from_secs(2);
const BODY_BYTES: usize = 64 << 10;

/// Why a request over HTTP has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) trouble: Trouble,
    /// A predicate of the server, such as "answered with HTTP 403".
    pub(super) why: String,
}

/// The kind of a failure over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The request did not reach it, or it says that it cannot work now.
    Unreachable,
    /// It got the request, and no answer came.
    Lost,
    /// It does not know the session (any more).
    Gone,
    /// There is no MCP endpoint at the address.
    Absent,
    /// It redirects with a status that may also follow a request which was performed.
    Moved,
    Denied,
    TooLarge,
    Limited,
    /// It refuses the request for another reason.
    Refused,
    /// It answers against the protocol.
    Strange,
}

impl Trouble {
    /// Whether it is certain that the request was not performed.
    pub(super) fn is_before_dispatch(self) -> bool {
        !matches!(self, Self::Lost | Self::Strange | Self::Moved)
    }
}

impl Refusal {
    pub(super) fn new(trouble: Trouble, why: String) -> Self {
        Self { trouble, why }
    }

    /// The refusal that a status means, and the body of the answer.
    pub(super) async fn of(response: Response, secrets: &Secrets) -> (Self, Vec<u8>) {
        let status = response.status();
        if let Some(refusal) = Self::of_redirect(&response) {
            return (refusal, Vec::new());
        }
        // Secrets are cut before the length, because a part of one would not be found.
        let header = |name: HeaderName| {
            let value = response.headers().get(&name)?.to_str().ok()?;
            Some(format!(
                " ({name}: {})",
                bounds::name(&secrets.shown(value))
            ))
        };
        let retry = header(header::RETRY_AFTER);
        let challenge = header(header::WWW_AUTHENTICATE);
        let (trouble, advice) = meaning(status, retry.is_some());
        let head = format!("HTTP {status}{}", retry.or(challenge).unwrap_or_default());
        let body = timeout(PATIENCE, whole(response, BODY_BYTES)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        let said = words(&body, secrets)
            .map(|said| format!(": {said}"))
            .unwrap_or_default();
        let advice = match (status.as_u16(), &said) {
            (403 | 421, said) if said.contains("Host") || said.contains("Origin") => {
                "; it refuses the host name or the origin of the request, so allow that of its `url` in its own settings"
            }
            _ => advice,
        };
        (
            Self::new(trouble, format!("answered with {head}{said}{advice}")),
            body,
        )
    }

    /// The refusal, if the answer redirects to a place that is not followed: the headers of the request belong to its origin.
    fn of_redirect(response: &Response) -> Option<Self> {
        let status = response.status();
        let trouble = match status.as_u16() {
            307 | 308 => Trouble::Absent,
            // A server may send one of these after it has performed the request.
            301..=303 => Trouble::Moved,
            _ => return None,
        };
        let location = response.headers().get(header::LOCATION);
        let location = location.and_then(|value| value.to_str().ok());
        let to = location.and_then(|location| response.url().join(location).ok());
        let to = to.map_or_else(|| "another place".to_owned(), |to| presentable(&to));
        let why = format!(
            "redirects to {to} (HTTP {status}), which is not followed; if that is right, write it as its `url`"
        );
        Some(Self::new(trouble, why))
    }
}

fn meaning(status: StatusCode, says_when: bool) -> (Trouble, &'static str) {
    use Trouble::{Absent, Denied, Limited, Lost, Refused, TooLarge, Unreachable};
    match status.as_u16() {
        401 | 407 => (Denied, "; correct the token or the headers of its entry"),
        403 | 421 => (Denied, "; its token or headers do not permit the request"),
        404 | 405 => (Absent, "; correct its `url`"),
        413 => (
            TooLarge,
            "; it takes no message of this size (100 kB is a common limit), so pass less data, or raise its limit",
        ),
        429 => (Limited, "; try again later"),
        503 if says_when => (Unreachable, "; try again later"),
        400 | 406 | 415 => (Refused, ""),
        500.. => (Lost, ""),
        _ => (Trouble::Strange, ""),
    }
}

/// What a refusal says: the message of a JSON-RPC error, or the beginning of a plain text. A page of HTML says nothing.
fn words(body: &[u8], secrets: &Secrets) -> Option<String> {
    #[derive(Deserialize)]
    struct Said {
        error: Message,
    }
    #[derive(Deserialize)]
    struct Message {
        message: String,
    }
    let text = str::from_utf8(body).ok()?.trim();
    let said = serde_json::from_str(text).map(|said: Said| said.error.message);
    let said = said.unwrap_or_else(|_| text.to_owned());
    let plain = !said.is_empty() && !said.starts_with(['<', '{']);
    plain.then(|| {
        let said = secrets.shown(&said);
        bounds::excerpt(said.lines().next().unwrap_or_default())
    })
}

/// Why a body was not read whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Partial {
    TooLong,
    BrokenOff,
}

/// The body of an answer, if it is no longer than `most`.
pub(super) async fn whole(mut response: Response, most: usize) -> Result<Vec<u8>, Partial> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| Partial::BrokenOff)? {
        body.extend_from_slice(&chunk);
        if body.len() > most {
            return Err(Partial::TooLong);
        }
    }
    Ok(body)
}
