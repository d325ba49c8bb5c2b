//! One message to a server over HTTP, and what it answers: a POST, then one JSON document or a stream of events.
//!
//! An exchange runs as a task of its own and tells [`Event`]s. It sends the message once. There are two exceptions, both
//! after an answer which says that the message was not performed: a redirect to the same origin, and a token that is no
//! longer accepted.

use std::{
    error::Error as _,
    io,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::StreamExt;
use reqwest::{
    Client, Method, Response, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION},
};
use sse_stream::{Error, SseStream};
use tokio::{sync::mpsc, time::sleep};
use url::Url;

use super::{
    endpoint::Endpoint,
    refusal::{Refusal, Trouble, whole},
    wire::End,
};
use crate::{host::Interrupts, task::presentable, web};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How long to wait before a stream is resumed, if the server does not say it.
const RETRY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) enum Event {
    /// A token that was fetched.
    Token(String),
    /// The session that the server has opened.
    Session(HeaderValue),
    /// A message of the server.
    Line(Vec<u8>),
    /// A status that is no success, and the body, which may be an answer.
    Refused(Refusal, Vec<u8>),
    /// Nothing more will come.
    Over(End),
}

/// The server, for all exchanges with it.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) client: Client,
    pub(super) endpoint: Endpoint,
    pub(super) interrupts: Interrupts,
    /// A longer message of the server ends the link.
    pub(super) most: usize,
}

pub(super) struct Exchange {
    pub(super) target: Arc<Target>,
    pub(super) token: Option<String>,
    /// Of the message, besides those of every request.
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) events: mpsc::Sender<Event>,
}

/// Nobody waits for the answer any more.
struct Unheard;

impl Exchange {
    /// Sends a request and tells its answer.
    pub(super) async fn run(mut self) {
        if let Err(end) = self.answered().await {
            let _ = self.tell(Event::Over(end)).await;
        }
    }

    /// Sends a notification or an answer to the server, whose own answer says nothing.
    pub(super) async fn deliver(mut self) {
        if let Ok(response) = self.sent().await {
            // The connection can be used again only after the body was read.
            let _ = whole(response, 0).await;
        }
    }

    async fn tell(&self, event: Event) -> Result<(), Unheard> {
        self.events.send(event).await.map_err(|_| Unheard)
    }

    async fn answered(&mut self) -> Result<(), End> {
        let response = self.sent().await?;
        let status = response.status();
        if !status.is_success() {
            let (refusal, body) = Refusal::of(response).await;
            let _ = self.tell(Event::Refused(refusal, body)).await;
            return Ok(());
        }
        if let Some(session) = response.headers().get(&SESSION) {
            let mut session = session.clone();
            session.set_sensitive(true);
            let _ = self.tell(Event::Session(session)).await;
        }
        let kind = media_type(&response);
        match kind.as_str() {
            "text/event-stream" => self.stream(response).await,
            "application/json" => self.document(response).await,
            _ if status == StatusCode::ACCEPTED => Err(strange(
                "accepted a request (HTTP 202), but did not answer it".to_owned(),
            )),
            kind => {
                let kind = if kind.is_empty() { "no type" } else { kind };
                Err(strange(format!(
                    "is no MCP server: it answered with HTTP {status} and {kind} in place of JSON or events; \
                     correct its `url`, or its token if this is the page of a login"
                )))
            }
        }
    }

    async fn document(&self, response: Response) -> Result<(), End> {
        let length = response.content_length();
        let Some(mut body) = whole(response, self.target.most).await else {
            let too_big = length.is_none_or(|length| length > self.target.most as u64);
            return Err(if too_big {
                End::TooBig
            } else {
                lost("within its answer")
            });
        };
        // A message is a line, and ends as one.
        body.push(b'\n');
        let _ = self.tell(Event::Line(body)).await;
        let reason = "it is a JSON document that does not answer the request";
        Err(End::Malformed(reason.to_owned()))
    }

    /// Tells the events of a stream. A legacy stream that ends early is resumed if its events have ids.
    async fn stream(&self, mut response: Response) -> Result<(), End> {
        let (mut last, mut retry) = (None, RETRY);
        loop {
            match self.listen(response, &mut last, &mut retry).await? {
                Ok(()) => {}
                Err(Unheard) => return Ok(()),
            }
            // An id is used once, so that a server cannot end streams without end.
            let Some(id) = last.take().filter(|_| self.headers.contains_key(SESSION)) else {
                return Err(lost("before it answered"));
            };
            sleep(retry).await;
            let resumed = self.request(Method::GET, &self.target.endpoint.url);
            let resumed = resumed
                .header(ACCEPT, "text/event-stream")
                .header(LAST_EVENT, id);
            response = match resumed.send().await {
                Ok(next)
                    if next.status() == StatusCode::OK
                        && media_type(&next) == "text/event-stream" =>
                {
                    next
                }
                _ => return Err(lost("before it answered, and does not resume its answer")),
            };
        }
    }

    /// Tells the events until the stream ends or breaks off.
    async fn listen(
        &self,
        response: Response,
        last: &mut Option<String>,
        retry: &mut Duration,
    ) -> Result<Result<(), Unheard>, End> {
        let (held, most) = (Arc::new(AtomicUsize::new(0)), self.target.most);
        let counted = Arc::clone(&held);
        let bytes = response.bytes_stream().map(move |chunk| {
            let chunk = chunk.map_err(io::Error::other)?;
            if counted.fetch_add(chunk.len(), Ordering::Relaxed) > most {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            Ok::<Bytes, io::Error>(chunk)
        });
        let mut events = pin!(SseStream::from_bytes_stream(bytes));
        while let Some(event) = events.next().await {
            held.store(0, Ordering::Relaxed);
            let event = match event {
                Ok(event) => event,
                Err(Error::Body(_)) if held_too_much(&event) => return Err(End::TooBig),
                Err(Error::Body(_)) => break,
                Err(error) => {
                    return Err(End::Malformed(format!(
                        "its stream of events cannot be read: {error}"
                    )));
                }
            };
            *last = event.id.or(last.take()).filter(|id| !id.is_empty());
            *retry = event.retry.map_or(*retry, Duration::from_millis);
            let is_message = event.event.as_deref().is_none_or(|kind| kind == "message");
            if let Some(mut data) = event.data.filter(|data| is_message && !data.is_empty()) {
                data.push('\n');
                if self.tell(Event::Line(data.into_bytes())).await.is_err() {
                    return Ok(Err(Unheard));
                }
            }
        }
        Ok(Ok(()))
    }

    /// The answer to the message, with a token that is fetched if there is none or if it is refused.
    async fn sent(&mut self) -> Result<Response, End> {
        if self.token.is_none() {
            self.renew().await?;
        }
        let response = self.post().await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && self.target.endpoint.token.is_renewable()
        {
            tracing::info!(
                "The token was refused; another one is fetched, and the message is sent again."
            );
            self.renew().await?;
            return self.post().await;
        }
        Ok(response)
    }

    async fn renew(&mut self) -> Result<(), End> {
        let Target {
            client,
            endpoint,
            interrupts,
            ..
        } = &*self.target;
        self.token = endpoint
            .token
            .fetch(client, interrupts)
            .await
            .map_err(End::Http)?;
        if let Some(token) = &self.token {
            let _ = self.tell(Event::Token(token.clone())).await;
        }
        Ok(())
    }

    /// The answer to the message, after at most one redirect within the origin.
    async fn post(&self) -> Result<Response, End> {
        let url = &self.target.endpoint.url;
        let response = self.post_to(url).await?;
        let Some(next) = redirect(url, &response)? else {
            return Ok(response);
        };
        let response = self.post_to(&next).await?;
        match redirect(&next, &response)? {
            None => Ok(response),
            Some(_) => Err(absent(format!(
                "redirects again, to {}",
                presentable(&next)
            ))),
        }
    }

    async fn post_to(&self, url: &Url) -> Result<Response, End> {
        let request = self
            .request(Method::POST, url)
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .body(self.body.clone());
        request.send().await.map_err(|error| {
            let cause = web::cause(&error);
            let at = presentable(url);
            End::Http(if error.is_connect() || error.is_builder() {
                let why = format!(
                    "cannot be reached at {at}: {cause}; check that it runs, and its `url`"
                );
                Refusal::new(Trouble::Unreachable, why)
            } else {
                let why = format!("ended the connection to {at} without an answer: {cause}");
                Refusal::new(Trouble::Lost, why)
            })
        })
    }

    fn request(&self, method: Method, url: &Url) -> reqwest::RequestBuilder {
        let mut headers = self.headers.clone();
        let token = self.token.as_ref().and_then(|token| {
            let mut value = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
            value.set_sensitive(true);
            Some(value)
        });
        headers.extend(token.map(|token| (AUTHORIZATION, token)));
        self.target
            .client
            .request(method, url.clone())
            .headers(headers)
    }
}

fn held_too_much<T>(event: &Result<T, Error>) -> bool {
    let error = event.as_ref().err().and_then(Error::source);
    let error = error.and_then(|error| error.downcast_ref::<io::Error>());
    error.is_some_and(|error| error.kind() == io::ErrorKind::FileTooLarge)
}

/// The place of the same origin to which the answer redirects with the same method. Another redirect is an error: the
/// headers of the request belong to its origin.
fn redirect(from: &Url, response: &Response) -> Result<Option<Url>, End> {
    let status = response.status();
    if !status.is_redirection() {
        return Ok(None);
    }
    let location = response
        .headers()
        .get(LOCATION)
        .and_then(|value| value.to_str().ok());
    let to = location.and_then(|location| from.join(location).ok());
    match to {
        Some(to) if matches!(status.as_u16(), 307 | 308) && to.origin() == from.origin() => {
            Ok(Some(to))
        }
        to => {
            let to = to.map_or_else(|| "another place".to_owned(), |to| presentable(&to));
            Err(absent(format!(
                "redirects to {to} (HTTP {status}), which is not followed; if that is right, write it as its `url`"
            )))
        }
    }
}

/// The type of the content without its parameters.
fn media_type(response: &Response) -> String {
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

fn lost(when: &str) -> End {
    let why = format!("ended the connection {when}");
    End::Http(Refusal::new(Trouble::Lost, why))
}

fn absent(why: String) -> End {
    End::Http(Refusal::new(Trouble::Absent, why))
}

fn strange(why: String) -> End {
    End::Http(Refusal::new(Trouble::Strange, why))
}
