//! A server over streamable HTTP: every message of [`Wire`] is sent by an [`Exchange`], and what comes back is heard line
//! by line. A link over HTTP has no process and no stderr.

use std::{sync::Arc, time::Duration};

use reqwest::{
    Client, Method, StatusCode,
    header::{HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use serde::Deserialize;
use tokio::{
    select,
    sync::mpsc::{self, Receiver},
    task::JoinSet,
    time::{sleep, timeout},
};
use url::Url;

use super::{
    endpoint::{Endpoint, Token, is_here},
    error::CallError,
    exchange::{Event, Exchange, SESSION, Target},
    headers,
    message::{
        self, Answer, CALL, DISCOVER, INITIALIZE, Inbound, Response, RpcError, UNKNOWN_METHOD,
    },
    refusal::{Refusal, Trouble},
    spec::ServerSpec,
    wire::{CallLine, End, Said, Wire},
};
use crate::{host::read_named, task::Secrets, web};

/// How long the end of a session may take.
const FAREWELL: Duration = Duration::from_secs(1);
/// A connection that was idle for longer may have been closed meanwhile: servers close one after 5 s.
const IDLE: Duration = Duration::from_secs(3);
/// The longest file of certificates.
const CERTIFICATES: u64 = 4 << 20;
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The messages that wait until they are heard.
const WAITING: usize = 16;
/// The answers to requests of the server that are under way at once.
const AT_ONCE: usize = 4;
/// How long the connections are served before one is used again.
const LOOK: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Remote {
    target: Arc<Target>,
    /// Those of every request.
    headers: HeaderMap,
    token: Option<String>,
    /// The session of a legacy server.
    session: Option<HeaderValue>,
    /// The version of a legacy server.
    version: Option<HeaderValue>,
    /// What the next call says in headers of its own.
    pub(super) mirrored: HeaderMap,
    running: Option<Running>,
    /// Messages that are no requests.
    others: JoinSet<()>,
}

/// The exchange of the awaited request. Dropping it closes the connection.
#[derive(Debug)]
struct Running {
    task: JoinSet<()>,
    events: Receiver<Event>,
}

impl Remote {
    pub(super) fn new(spec: &ServerSpec, endpoint: &Endpoint) -> Result<Self, CallError> {
        let unusable = |why: String| CallError::Http {
            server: spec.name.clone(),
            trouble: Trouble::Absent,
            why,
        };
        let client = |url: &Url| client(endpoint, url).map_err(unusable);
        let (asked, granter) = (client(&endpoint.url)?, &endpoint.token);
        let granter = match granter {
            Token::Client { url, .. } if way(url) != way(&endpoint.url) => client(url)?,
            _ => asked.clone(),
        };
        let mut headers = HeaderMap::new();
        for (name, value) in &endpoint.headers {
            let unfit = || {
                unusable(format!(
                    "cannot be asked: its header {name} has characters that no header has"
                ))
            };
            let name = HeaderName::try_from(name).map_err(|_| unfit())?;
            let mut value = HeaderValue::try_from(value.trim()).map_err(|_| unfit())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(Self {
            target: Arc::new(Target {
                client: asked,
                granter,
                endpoint: endpoint.clone(),
                most: spec.max_message_bytes,
            }),
            headers,
            token: None,
            session: None,
            version: None,
            mirrored: HeaderMap::new(),
            running: None,
            others: JoinSet::new(),
        })
    }

    /// Notes the version that was agreed on with a legacy server.
    pub(super) fn agreed(&mut self, version: &str) {
        self.version = HeaderValue::try_from(version).ok();
    }

    /// Waits for an answer, for progress, or for the end of the link.
    pub(super) async fn news(&mut self, wire: &mut Wire) {
        while wire.answer.is_none() && wire.progress.is_none() && wire.end.is_none() {
            self.send_waiting(wire);
            let Some(running) = &mut self.running else {
                // No request was sent, so nothing comes.
                return std::future::pending().await;
            };
            select! {
                event = running.events.recv() => match event {
                    Some(event) => self.heard(event, wire),
                    None => self.over(End::Closed, wire),
                },
                Some(_) = self.others.join_next() => {}
            }
        }
    }

    /// Waits until all messages are delivered.
    pub(super) async fn written(&mut self, wire: &mut Wire) {
        self.send_waiting(wire);
        while let Some((line, said)) = wire.next_line() {
            // The last message counts: a notification.
            self.others = JoinSet::new();
            self.send(line, said, &wire.secrets);
        }
        while self.others.join_next().await.is_some() {}
    }

    /// Sends what waits, as far as it may be under way at once.
    fn send_waiting(&mut self, wire: &mut Wire) {
        loop {
            while self.others.try_join_next().is_some() {}
            if self.others.len() >= AT_ONCE {
                if wire.unsent == 0 {
                    return;
                }
                // Answers that belong to an earlier request do not delay this one.
                self.others = JoinSet::new();
            }
            let Some((line, said)) = wire.next_line() else {
                return;
            };
            self.send(line, said, &wire.secrets);
        }
    }

    /// Notices which connections the server has closed while the event loop stood still.
    pub(super) async fn look(&self) {
        sleep(LOOK).await;
    }

    /// Whether the endpoint has a token that is not there yet.
    pub(super) fn lacks_token(&self) -> bool {
        self.token.is_none() && self.target.endpoint.token.is_renewable()
    }

    fn send(&mut self, line: Vec<u8>, said: Said, secrets: &Secrets) {
        let (events, heard) = mpsc::channel(WAITING);
        let exchange = Exchange {
            target: Arc::clone(&self.target),
            token: self.token.clone(),
            secrets: secrets.clone(),
            headers: self.headers_of(&line),
            body: line.into(),
            events,
        };
        match said {
            Said::Request => {
                let mut task = JoinSet::new();
                task.spawn(exchange.run());
                self.running = Some(Running {
                    task,
                    events: heard,
                });
            }
            Said::Other => {
                self.others.spawn(exchange.deliver());
            }
        }
    }

    /// What the era of a message says in headers (2026-07-28, Streamable HTTP; 2025-11-25, Transports).
    fn headers_of(&self, line: &[u8]) -> HeaderMap {
        #[derive(Default, Deserialize)]
        struct Head {
            #[serde(default)]
            method: String,
            #[serde(default)]
            params: Params,
        }
        #[derive(Default, Deserialize)]
        struct Params {
            name: Option<String>,
            #[serde(rename = "_meta", default)]
            meta: Meta,
        }
        #[derive(Default, Deserialize)]
        struct Meta {
            #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
            version: Option<String>,
        }
        let head: Head = serde_json::from_slice(line).unwrap_or_default();
        let mut all = self.headers.clone();
        let mut put = |name: HeaderName, value: Option<HeaderValue>| {
            all.extend(value.map(|value| (name, value)));
        };
        if let Some(version) = &head.params.meta.version {
            put(VERSION, headers::encoded(version));
            put(METHOD, headers::encoded(&head.method));
            if head.method == CALL {
                put(NAME, head.params.name.as_deref().and_then(headers::encoded));
                all.extend(self.mirrored.clone());
            }
        } else if head.method != INITIALIZE && head.method != DISCOVER {
            put(VERSION, self.version.clone());
            put(SESSION, self.session.clone());
        }
        all
    }

    fn heard(&mut self, event: Event, wire: &mut Wire) {
        match event {
            Event::Fetching => self.token = None,
            Event::Token(token) => {
                wire.secrets = wire.secrets.and(vec![token.clone()]);
                self.token = Some(token);
            }
            // Only the answer to `initialize` opens one.
            Event::Session(session) => {
                let text = String::from_utf8_lossy(session.as_bytes()).into_owned();
                wire.secrets = wire.secrets.and(vec![text]);
                if wire.is_asked(INITIALIZE) {
                    self.session = Some(session);
                }
            }
            Event::Line(line) => match wire.hear(line) {
                Err(end) => self.over(end, wire),
                Ok(()) if wire.answer.is_some() => {
                    // The rest of the stream is read, so that its connection can be used again.
                    let running = self.running.take();
                    running
                        .map(|running| running.task)
                        .iter_mut()
                        .for_each(JoinSet::detach_all);
                }
                Ok(()) => {}
            },
            Event::Refused(status, refusal, body) => self.refused(status, refusal, body, wire),
            Event::Over(end) => self.over(end, wire),
        }
    }

    /// A refusal is an answer if it is a JSON-RPC error for the request, and the status does not say more.
    fn refused(
        &mut self,
        status: StatusCode,
        refusal: Refusal,
        mut body: Vec<u8>,
        wire: &mut Wire,
    ) {
        let answer = match message::read(&body) {
            (b"", Inbound::Response(Response { body: answer, .. })) => Some(answer),
            _ => None,
        };
        let error = match &answer {
            Some(Answer::Error(error)) => Some(error),
            _ => None,
        };
        let end = if let Some(Answer::Result(_)) = answer {
            let why =
                format!("answered with a result and HTTP {status}, which contradict each other");
            Refusal::new(Trouble::Strange, why)
        } else if self.session.is_some() && is_a_lost_session(status.as_u16(), error) {
            Refusal::new(Trouble::Gone, "no longer knows the session".to_owned())
        } else {
            let is_answer = match status.as_u16() {
                400 | 406 | 415 => error.is_some(),
                404 => error.is_some_and(|error| error.code == UNKNOWN_METHOD),
                _ => false,
            };
            if is_answer {
                body.push(b'\n');
                // What it is, the awaited answer shows.
                let _ = wire.hear(body);
            }
            refusal
        };
        if wire.answer.is_some() {
            wire.call = CallLine::Unsent;
            self.running = None;
            return;
        }
        self.over(End::Http(end), wire);
    }

    /// The first reason counts.
    fn over(&mut self, end: End, wire: &mut Wire) {
        if let End::Http(refusal) = &end
            && refusal.trouble.is_before_dispatch()
            && wire.call == CallLine::Delivered
        {
            wire.call = CallLine::Unsent;
        }
        wire.end.get_or_insert(end);
        self.running = None;
    }

    /// Closes the connection of the awaited request: since 2026-07-28, this cancels it.
    pub(super) fn hang_up(&mut self) {
        self.running = None;
    }

    /// Ends the session of a legacy server.
    pub(super) async fn stop(&mut self) {
        self.running = None;
        if let Some(session) = self.session.take() {
            let mut headers = self.headers.clone();
            headers.insert(SESSION, session);
            let ended = self
                .target
                .client
                .request(Method::DELETE, self.target.endpoint.url.clone());
            let ended = ended.headers(headers);
            let ended = match &self.token {
                Some(token) => ended.bearer_auth(token),
                None => ended,
            };
            // A server may not support this.
            let _ = timeout(FAREWELL, ended.send()).await;
        }
    }
}

/// What servers say of a session that they do not know: 404; or 400, as those that are written like the examples of the
/// TypeScript SDK.
fn is_a_lost_session(status: u16, error: Option<&RpcError>) -> bool {
    match (status, error) {
        (404, None) => true,
        (404, Some(error)) => matches!(error.code, -32001 | -32600),
        (400, Some(error)) => {
            let message = error.message.to_ascii_lowercase();
            matches!(error.code, -32000 | -32600) && message.contains("session")
        }
        _ => false,
    }
}

/// Whether a URL is asked without a proxy, and whether without TLS.
fn way(url: &Url) -> (bool, bool) {
    (is_here(url), url.scheme() == "http")
}

/// A client for the URL, or why there is none.
fn client(endpoint: &Endpoint, url: &Url) -> Result<Client, String> {
    let origin = url.origin();
    // Once, and within the origin: the headers of a request belong to it.
    let follow = redirect::Policy::custom(move |to| {
        let is_kept = matches!(to.status().as_u16(), 307 | 308);
        if is_kept && to.url().origin() == origin && to.previous().len() < 2 {
            to.follow()
        } else {
            to.stop()
        }
    });
    let client = web::client().pool_idle_timeout(IDLE);
    let mut client = client.redirect(follow);
    if let Some(path) = &endpoint.ca_file {
        let pem = read_named(path, CERTIFICATES);
        let trusting = pem.and_then(|pem| web::trusting(client, &pem));
        client = trusting
            .map_err(|error| format!("has a `ca_file` that cannot be used, {path}: {error}"))?;
    }
    if is_here(url) {
        client = client.no_proxy();
    }
    if way(url) == (true, true) {
        // Reading the certificates takes longer than a call.
        client = client.tls_certs_only([]);
    }
    let client = client.build();
    client.map_err(|error| format!("cannot be asked: {}", web::cause(&error)))
}
