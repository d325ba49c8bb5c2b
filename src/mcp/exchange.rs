//! One message to a server over HTTP, and what it answers: a POST, then one JSON document or a stream of events.
//!
//! An exchange runs as a task of its own and tells [`Event`]s. It sends the message once. There are two exceptions, both
//! after an answer which says that the message was not performed: a redirect to the same origin, and a token that is no
//! longer accepted.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use reqwest::{
    Client, Method, Response, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use tokio::{sync::mpsc, time::sleep};
use url::Url;

use super::{
    bounds,
    endpoint::Endpoint,
    events::Events,
    refusal::{Partial, Refusal, Trouble, whole},
    wire::End,
};
use crate::{
    task::{Secrets, presentable},
    web,
};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How long to wait before a stream is resumed, if the server does not say it.
const RETRY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) enum Event {
    /// A token is being fetched. One that was there is of no more use.
    Fetching,
    /// A token that was fetched.
    Token(String),
    /// The session that the server has opened.
    Session(HeaderValue),
    /// A message of the server.
    Line(Vec<u8>),
    /// A status that is no success, and the body, which may be an answer.
    Refused(StatusCode, Refusal, Vec<u8>),
    /// Nothing more will come.
    Over(End),
}

/// The server, for all exchanges with it.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) client: Client,
    /// The client for the token endpoint.
    pub(super) granter: Client,
    pub(super) endpoint: Endpoint,
    /// A longer message of the server ends the link.
    pub(super) most: usize,
}

pub(super) struct Exchange {
    pub(super) target: Arc<Target>,
    pub(super) token: Option<String>,
    /// What is cut from texts of the server before they are shortened.
    pub(super) secrets: Secrets,
    /// Of the message, besides those of every request.
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) events: mpsc::Sender<Event>,
}

impl Exchange {
    /// Sends a request and tells its answer.
    pub(super) async fn run(mut self) {
        if let Err(end) = self.answered().await {
            let _ = self.tell(Event::Over(end)).await;
        }
    }

    /// Sends a notification or an answer to the server, whose own answer says nothing.
    /// No token is fetched for it.
    pub(super) async fn deliver(self) {
        if let Ok(response) = self.post().await {
            // The connection can be used again only after the body was read.
            let _ = whole(response, 0).await;
        }
    }

    /// Fails if nobody waits for the answer any more.
    async fn tell(&self, event: Event) -> Result<(), End> {
        self.events.send(event).await.map_err(|_| End::Closed)
    }

    async fn answered(&mut self) -> Result<(), End> {
        let response = self.sent().await?;
        let status = response.status();
        if !status.is_success() {
            let (refusal, body) = Refusal::of(response, &self.secrets).await;
            return self.tell(Event::Refused(status, refusal, body)).await;
        }
        if let Some(session) = response.headers().get(&SESSION) {
            let mut session = session.clone();
            session.set_sensitive(true);
            let text = String::from_utf8_lossy(session.as_bytes()).into_owned();
            self.secrets = self.secrets.and(vec![text]);
            self.tell(Event::Session(session)).await?;
        }
        let kind = media_type(&response);
        match kind.to_ascii_lowercase().as_str() {
            "text/event-stream" => self.stream(response).await,
            "application/json" => self.document(response).await,
            _ if status == StatusCode::ACCEPTED => Err(strange(
                "accepted a request (HTTP 202), but did not answer it".to_owned(),
            )),
            _ => {
                let kind = match kind.as_str() {
                    "" => "no type".to_owned(),
                    kind => bounds::name(&self.secrets.shown(kind)),
                };
                Err(strange(format!(
                    "is no MCP server: it answered with HTTP {status} and {kind} in place of JSON or events; \
                     correct its `url`, or its token if this is the page of a login"
                )))
            }
        }
    }

    async fn document(&self, response: Response) -> Result<(), End> {
        let mut body = match whole(response, self.target.most).await {
            Ok(body) => body,
            Err(Partial::TooLong) => return Err(End::TooBig),
            Err(Partial::BrokenOff) => return Err(lost("within its answer")),
        };
        // A message is a line, and ends as one.
        body.push(b'\n');
        self.tell(Event::Line(body)).await?;
        let reason = "it is a JSON document that does not answer the request";
        Err(End::Malformed(reason.to_owned()))
    }

    /// Tells the events of a stream. A legacy stream that ends early is resumed if its events have ids.
    async fn stream(&self, mut response: Response) -> Result<(), End> {
        let (mut last, mut retry) = (None, RETRY);
        loop {
            self.listen(response, &mut last, &mut retry).await?;
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
                        && media_type(&next).eq_ignore_ascii_case("text/event-stream") =>
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
        mut response: Response,
        last: &mut Option<Vec<u8>>,
        retry: &mut Duration,
    ) -> Result<(), End> {
        let mut events = Events::default();
        while let Ok(Some(chunk)) = response.chunk().await {
            let mut chunk = chunk.as_ref();
            while let Some(message) = events.next(&mut chunk) {
                self.tell(Event::Line(message)).await?;
            }
            if events.held() > self.target.most {
                return Err(End::TooBig);
            }
        }
        *retry = events.retry.unwrap_or(*retry);
        *last = Some(events.last).filter(|id| !id.is_empty());
        Ok(())
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
            granter, endpoint, ..
        } = &*self.target;
        if endpoint.token.is_renewable() {
            self.tell(Event::Fetching).await?;
        }
        let fetched = endpoint.token.fetch(granter, &self.secrets).await;
        self.token = fetched.map_err(End::Http)?;
        if let Some(token) = &self.token {
            self.secrets = self.secrets.and(vec![token.clone()]);
            self.tell(Event::Token(token.clone())).await?;
        }
        Ok(())
    }

    /// The answer to the message. The client follows a redirect within the origin.
    async fn post(&self) -> Result<Response, End> {
        let url = &self.target.endpoint.url;
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

/// The type of the content without its parameters.
fn media_type(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.unwrap_or_default().trim().to_owned()
}

fn lost(when: &str) -> End {
    let why = format!("ended the connection {when}");
    End::Http(Refusal::new(Trouble::Lost, why))
}

fn strange(why: String) -> End {
    End::Http(Refusal::new(Trouble::Strange, why))
}
