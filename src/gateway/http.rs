//! The catalog over HTTP (MCP, Streamable HTTP), for hosts that speak nothing else. rmcp keeps the sessions and the streams;
//! this file decides who may speak, and hands over only messages that stdin would accept, too.

use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited, combinators::BoxBody};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use ring::digest::{SHA256, digest};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use serde_json::{Value, json};
use tokio::{
    sync::{Semaphore, watch},
    time::{sleep, timeout},
};

use crate::servers::{ServeError, runtime, vetted};

use super::{
    caller::Sessions,
    handler::{Handler, Shared},
    stdio::Opened,
    supervisor::Supervisors,
};

/// The only path.
pub(crate) const PATH: &str = "/mcp";
/// The longest body of a request: that of a task.
const LONGEST: usize = 16 << 20;
/// How long a client may take to send the head of a request.
const HEAD: Duration = Duration::from_secs(30);
/// How long a client may take to send the body of a request.
const BODY: Duration = Duration::from_mins(2);
/// The most connections at the same time. Others wait.
const CONNECTIONS: usize = 256;
/// The most sessions at the same time. Others are refused.
const SESSIONS: usize = 1000;
/// A session that was silent for this time is closed.
const IDLE: Duration = Duration::from_hours(1);
/// After an accept that failed, because the process has too many open files.
const BREATH: Duration = Duration::from_millis(100);

/// Where the catalog is served, and to whom.
#[derive(Debug)]
pub(crate) struct Door {
    listener: TcpListener,
    /// The hash of the token that each request must have. None on loopback, if the operator named none.
    token: Option<Vec<u8>>,
}

impl Door {
    /// Listens at the address.
    pub(crate) fn open(address: SocketAddr, token: Option<&str>) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let token = token.map(|token| digest(&SHA256, token.as_bytes()).as_ref().to_vec());
        Ok(Self { listener, token })
    }

    /// `http://127.0.0.1:8080/mcp`
    pub(crate) fn url(&self) -> std::io::Result<String> {
        Ok(format!("http://{}{PATH}", self.listener.local_addr()?))
    }

    /// Whether the request has the token. Hashes are compared, so that the time of the comparison says nothing.
    fn admits<B>(&self, request: &Request<B>) -> bool {
        let Some(token) = &self.token else {
            return true;
        };
        let said = request.headers().get(AUTHORIZATION);
        let said = said.and_then(|said| said.to_str().ok()?.split_once(' '));
        said.is_some_and(|(scheme, said)| {
            let said = digest(&SHA256, said.trim().as_bytes());
            scheme.eq_ignore_ascii_case("bearer") && said.as_ref() == token
        })
    }

    fn config(address: IpAddr) -> StreamableHttpServerConfig {
        let config = StreamableHttpServerConfig::default()
            .with_max_request_body_bytes(LONGEST)
            // A page of another machine cannot know the token, but a name that leads here.
            .with_allowed_origins(
                ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("http://{host}:*")),
            );
        if address.is_loopback() {
            config
        } else {
            config.disable_allowed_hosts()
        }
    }
}

type Service = StreamableHttpService<Handler, LocalSessionManager>;
type Body = BoxBody<Bytes, Infallible>;

impl Opened {
    /// Serves over HTTP until the process is ended. Blocks. The calling thread starts the supervisors, which get SIGTERM
    /// when it ends.
    pub(crate) fn serve_http(self, door: Door) -> Result<(), ServeError> {
        let runtime = runtime("catalog")?;
        runtime.block_on(self.serve_at(door))
    }

    async fn serve_at(self, door: Door) -> Result<(), ServeError> {
        let failed = |error| ServeError::new("catalog", "cannot listen", &error);
        let Self { gateway, offer } = self;
        let address = door.listener.local_addr().map_err(failed)?;
        let listener = door.listener.try_clone().map_err(failed)?;
        let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
        let supervisors = Arc::new(Supervisors::default());
        let (_alive, client_gone) = watch::channel(());
        let (refs, callers) = (Arc::default(), AtomicU64::new(0));
        let (config, door) = (Door::config(address.ip()), Arc::new(door));
        let shared = Arc::new(Shared::new(gateway, offer, supervisors, client_gone));
        let handler = move || {
            let number = format!("-{}", callers.fetch_add(1, Ordering::Relaxed));
            let caller = shared.gateway.caller(&number, &refs, Sessions::Each);
            Ok(Handler::new(Arc::clone(&shared), caller))
        };
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(IDLE);
        let sessions = Arc::new(sessions);
        let service = StreamableHttpService::new(handler, Arc::clone(&sessions), config);
        let connections = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let Ok(connection) = Arc::clone(&connections).acquire_owned().await else {
                return Ok(());
            };
            let Ok((stream, _)) = listener.accept().await else {
                sleep(BREATH).await;
                continue;
            };
            let inside = (Arc::clone(&door), Arc::clone(&sessions), service.clone());
            let answer = move |request| {
                let (door, sessions, service) = inside.clone();
                async move { answer(&door, &sessions, service, request).await }
            };
            tokio::spawn(async move {
                let _connection = connection;
                let served = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD)
                    .serve_connection(TokioIo::new(stream), service_fn(answer));
                if let Err(error) = served.await {
                    tracing::debug!(%error, "a connection broke off");
                }
            });
        }
    }
}

async fn answer(
    door: &Door,
    sessions: &LocalSessionManager,
    service: Service,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    if !door.admits(&request) {
        let mut refused = refused(
            StatusCode::UNAUTHORIZED,
            "the bearer token is missing or wrong",
        );
        let scheme = HeaderValue::from_static("Bearer");
        refused.headers_mut().insert(WWW_AUTHENTICATE, scheme);
        return Ok(refused);
    }
    if request.uri().path() != PATH {
        return Ok(refused(StatusCode::NOT_FOUND, "the catalog is at /mcp"));
    }
    let (parts, body) = request.into_parts();
    let mut message = Bytes::new();
    if parts.method == Method::POST {
        let body = match timeout(BODY, Limited::new(body, LONGEST).collect()).await {
            Err(_) => {
                return Ok(refused(
                    StatusCode::REQUEST_TIMEOUT,
                    "the body did not come",
                ));
            }
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                let problem = "the body of a request may have at most 16 MiB";
                return Ok(refused(StatusCode::PAYLOAD_TOO_LARGE, problem));
            }
            Ok(Err(_)) => return Ok(refused(StatusCode::BAD_REQUEST, "the body is incomplete")),
        };
        let begins = !parts.headers.contains_key("mcp-session-id");
        if begins && sessions.sessions.read().await.len() >= SESSIONS {
            let problem = "there are too many sessions; end some, or try again later";
            return Ok(refused(StatusCode::SERVICE_UNAVAILABLE, problem));
        }
        message = match vetted(&body) {
            Ok(message) => message.into(),
            Err(refusal) => return Ok(json_response(StatusCode::BAD_REQUEST, &refusal)),
        };
    }
    let request = Request::from_parts(parts, Full::new(message));
    Ok(service.handle(request).await)
}

/// An answer to a request that is not that of a client of MCP.
fn refused(status: StatusCode, problem: &str) -> Response<Body> {
    let error = json!({ "code": -32600, "message": problem });
    json_response(
        status,
        &json!({ "jsonrpc": "2.0", "id": null, "error": error }),
    )
}

fn json_response(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())).boxed());
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
