//! An MCP server on stdin and stdout, in both eras of the protocol: `initialize` up to 2025-11-25, and 2026-07-28
//! with `server/discover`.
//!
//! The process ends when stdin ends. A tool that is still running is cancelled and has [`LAST_WORDS`] to clean up.

mod handler;

use std::{
    io,
    sync::{Arc, OnceLock},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{ClientRequest, ErrorCode, GetMeta as _, JsonRpcMessage, ProtocolVersion, RequestId},
    service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage},
    transport::Transport,
};
use serde::{Deserialize, Serialize, de::Error as _};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    runtime::Runtime,
    sync::{Mutex, watch},
    task::JoinHandle,
};

use super::tool::Tool;
use crate::task::{RESERVED, has_all_members, has_reserved_key, visible_json};
use handler::Handler;

/// The longest line that is read, in bytes.
const LONGEST_LINE: usize = 64 << 20;

/// The time that tools have to clean up after the client has closed stdin.
const LAST_WORDS: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ServeError(pub(super) String);

impl ServeError {
    pub(crate) fn new(name: &str, what: &str, error: &dyn std::fmt::Display) -> Self {
        Self(format!("server `{name}` {what}: {error}"))
    }
}

/// Serves `tools` on stdin and stdout until stdin ends. Blocks.
pub(super) fn serve(name: &'static str, tools: Vec<Tool>) -> Result<(), ServeError> {
    let runtime = runtime(name)?;
    let (stdin, stdout) = (tokio::io::stdin(), tokio::io::stdout());
    let handler = |gone| Handler::new(name, tools, gone);
    let served = runtime.block_on(serve_on(name, handler, stdin, stdout));
    runtime.shutdown_timeout(LAST_WORDS);
    served
}

/// The runtime of a server, which runs on the calling thread.
pub(crate) fn runtime(name: &str) -> Result<Runtime, ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(|error| {
        ServeError(format!(
            "could not start the runtime of server `{name}`: {error}"
        ))
    })
}

/// Serves on any two streams. `handler` makes what answers the requests; it gets a channel that closes when the client
/// closes its end.
pub(crate) async fn serve_on<H, R, W>(
    name: &str,
    handler: impl FnOnce(watch::Receiver<()>) -> Result<H, String>,
    read: R,
    write: W,
) -> Result<(), ServeError>
where
    H: ServerHandler,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let failed = |what, error: &dyn std::fmt::Display| ServeError::new(name, what, error);
    let (gone, client_gone) = watch::channel(());
    let handler =
        handler(client_gone).map_err(|problem| failed("has a broken tool definition", &problem))?;
    let wire = Wire::new(read, write, gone);
    let broken = Arc::clone(&wire.broken);
    match handler.serve(wire).await {
        Ok(service) => {
            let ended = service.waiting().await;
            let reason =
                ended.map_err(|error| failed("stopped because of an internal error", &error))?;
            tracing::debug!(?reason, "server ends");
        }
        // A client may close the connection before it sends anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => {}
        Err(error) => {
            let what = "could not complete the handshake with its client";
            let why = match error {
                // Its text would be the whole message of the client, and secrets with it.
                ServerInitializeError::ExpectedInitializeRequest(_) => "it sent no request".into(),
                error => error.to_string(),
            };
            return Err(failed(what, &why));
        }
    }
    let broken = broken.get();
    broken.map_or(Ok(()), |error| {
        Err(failed("cannot read from its client", error))
    })
}

/// The server's end of two byte streams with one JSON-RPC message per line. It drops `gone` when the client closes
/// its end.
///
/// A line is parsed to a [`Value`] first. The transport of rmcp parses the bytes directly to its types. With
/// `serde_json/arbitrary_precision` this fails, because numbers inside untagged enums then appear as maps.
struct Wire<R, W> {
    read: BufReader<R>,
    /// The part of a line that was read so far. `receive` may be dropped before a line is complete.
    line: Vec<u8>,
    write: Arc<Mutex<W>>,
    /// The answer to a line that is no message. Its own task writes it, because `receive` may be dropped meanwhile.
    refusal: Option<JoinHandle<io::Result<()>>>,
    /// Why nothing more can be read, unless the stream has ended.
    broken: Arc<OnceLock<io::Error>>,
    session: Session,
    gone: Option<watch::Sender<()>>,
}

/// Whether rmcp has begun a session. Until then, anything but a request would end the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Session {
    Awaited,
    Begun,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Send + Unpin + 'static> Wire<R, W> {
    /// The receivers of `gone` see it closed after `read` has ended.
    fn new(read: R, write: W, gone: watch::Sender<()>) -> Self {
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            write: Arc::new(Mutex::new(write)),
            refusal: None,
            broken: Arc::default(),
            session: Session::Awaited,
            gone: Some(gone),
        }
    }

    /// The next line, or `None` at the end of the stream. The last line may have no line feed.
    async fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let room = (LONGEST_LINE + 1).saturating_sub(self.line.len());
        let mut rest = (&mut self.read).take(room as u64);
        rest.read_until(b'\n', &mut self.line).await?;
        if self.line.len() > LONGEST_LINE {
            let problem = "a line is longer than 64 MiB";
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        let line = std::mem::take(&mut self.line);
        Ok(Some(line).filter(|line| !line.is_empty()))
    }

    /// Answers a line that is no message.
    fn refuse(&mut self, id: &Value, problem: &str) {
        let answer = refusal(id, ErrorCode::INVALID_REQUEST, problem);
        let written = write_line(Arc::clone(&self.write), answer);
        self.refusal = Some(tokio::spawn(written));
    }
}

impl<R, W> Transport<RoleServer> for Wire<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        write_line(Arc::clone(&self.write), message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(refusal) = &mut self.refusal {
                let written = refusal.await;
                self.refusal = None;
                if let Err(error) = written.map_err(io::Error::other).flatten() {
                    tracing::error!(%error, "cannot write to the client");
                    break;
                }
            }
            if self.broken.get().is_some() {
                break;
            }
            let line = match self.next_line().await {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) => {
                    self.refuse(&Value::Null, &error.to_string());
                    // It is set once, because nothing is read after it.
                    let _ = self.broken.set(error);
                    continue;
                }
            };
            if line.trim_ascii().is_empty() {
                continue;
            }
            match read_message(&line) {
                Ok(message) => {
                    if let JsonRpcMessage::Request(request) = &message {
                        if begins_session(&request.request) {
                            self.session = Session::Begun;
                        }
                    } else if self.session == Session::Awaited {
                        tracing::debug!("a message before the session is skipped");
                        continue;
                    }
                    return Some(message);
                }
                Err(Unreadable::Unanswered(error)) => {
                    tracing::debug!(%error, "a line from the client is no message");
                }
                Err(Unreadable::Request(id, error)) => {
                    self.refuse(&id, &format!("not a request of MCP: {error}"));
                }
            }
        }
        self.gone = None;
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.gone = None;
        self.write.lock().await.flush().await
    }
}

/// Whether rmcp begins a session with this request: `initialize`, or a request of 2026-07-28 that is more than a probe.
fn begins_session(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let missing = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28);
            let known = |version| ProtocolVersion::KNOWN_VERSIONS.contains(&version);
            missing.is_empty() && meta.protocol_version().is_some_and(known)
        }
    }
}

/// Why a line is not a message.
enum Unreadable {
    /// A notification, or no JSON: with a client that echoes answers, the exchange would never end.
    Unanswered(serde_json::Error),
    /// With the id for its answer.
    Request(Value, String),
}

/// The methods that a server answers and that have parameters.
const METHODS: [&str; 5] = [
    "initialize",
    "server/discover",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

fn read_message(line: &[u8]) -> Result<RxJsonRpcMessage<RoleServer>, Unreadable> {
    let text = String::from_utf8_lossy(line);
    let reserved = has_reserved_key(&text)
        .then(|| format!("a key begins with `{RESERVED}`, which is reserved"));
    let mut value: Value = match (serde_json::from_slice(line), &reserved) {
        // It is JSON text, but `serde_json` uses the key for something else.
        (Err(error), Some(problem)) if error.is_data() => {
            return Err(Unreadable::Request(Value::Null, problem.clone()));
        }
        (read, _) => read.map_err(Unreadable::Unanswered)?,
    };
    let Some(members) = value.as_object() else {
        let problem = "it is not an object; batches are not supported".to_owned();
        return Err(Unreadable::Request(Value::Null, problem));
    };
    let [result, error] = ["result", "error"].map(|name| members.contains_key(name));
    let is_answer = result || error;
    let both = (result && error).then_some("it has both `result` and `error`");
    let twice = "two members of an object have one name";
    let problem = (!has_all_members(&value, &text)).then_some(twice).or(both);
    let problem = reserved.or_else(|| problem.map(str::to_owned));
    let id = members.get("id").cloned();
    let is_id = |id: &Value| id.is_string() || id.is_i64() || id.is_u64();
    let read_id = |id: &Value| RequestId::deserialize(id).ok().filter(|_| is_id(id));
    let known = id.as_ref().map(read_id);
    // An answer is not answered.
    if let (Some(None), false) = (&known, is_answer) {
        let number = id.filter(Value::is_number).unwrap_or_default();
        let problem = "its id is neither a string nor an integer of 64 bits".to_owned();
        return Err(Unreadable::Request(number, problem));
    }
    // The types of rmcp cannot hold an integer of more than 64 bits, so they never get the arguments.
    let arguments = value.pointer_mut("/params/arguments");
    let arguments = arguments.filter(|arguments| arguments.is_object());
    let arguments = arguments.map(Value::take);
    let read = match problem {
        Some(problem) => Err(serde_json::Error::custom(problem)),
        None => serde_json::from_value(value),
    };
    let mut message = match (read, known, id) {
        (Ok(message), ..) => message,
        // It decides nothing, and whoever waits for it must not wait on.
        (Err(why), Some(Some(known)), _) if is_answer => {
            let why = format!("the answer is invalid: {why}");
            JsonRpcMessage::error(ErrorData::invalid_request(why, None), Some(known))
        }
        (Err(why), _, Some(id)) if !is_answer => {
            return Err(Unreadable::Request(id, why.to_string()));
        }
        (Err(why), ..) => return Err(Unreadable::Unanswered(why)),
    };
    // rmcp takes a request whose parameters it cannot read for one of another method.
    if let JsonRpcMessage::Request(request) = &message
        && let ClientRequest::CustomRequest(custom) = &request.request
        && METHODS.contains(&custom.method.as_str())
    {
        let problem = format!("its `params` are not those of `{}`", custom.method);
        let id = serde_json::to_value(&request.id).unwrap_or_default();
        return Err(Unreadable::Request(id, problem));
    }
    if let (Some(Value::Object(arguments)), JsonRpcMessage::Request(request)) =
        (arguments, &mut message)
        && let ClientRequest::CallToolRequest(call) = &mut request.request
    {
        call.params.arguments = Some(arguments);
    }
    Ok(message)
}

/// The answer to what is no message.
fn refusal(id: &Value, code: ErrorCode, problem: &str) -> Value {
    let error = json!({ "code": code, "message": problem });
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

/// Checks a body as a line of stdin is checked, and returns the message for rmcp. The error is the body of the answer to
/// one that is no message.
pub(crate) fn vetted(body: &[u8]) -> Result<Vec<u8>, Value> {
    let refused = |id, problem: &str| refusal(&id, ErrorCode::INVALID_REQUEST, problem);
    let message: Value = serde_json::from_slice(body).map_err(|error| {
        let problem = format!("the body is not JSON: {error}");
        refusal(&Value::Null, ErrorCode::PARSE_ERROR, &problem)
    })?;
    let of = |key| message.get(key).cloned().unwrap_or_default();
    let read = match read_message(body) {
        Ok(read) => read,
        // Whether a server of 2026-07-28 knows `initialize` is for rmcp to say.
        Err(Unreadable::Request(..)) if of("method") == "initialize" => return Ok(body.to_vec()),
        Err(Unreadable::Request(id, problem)) => {
            return Err(refused(id, &format!("not a request of MCP: {problem}")));
        }
        Err(Unreadable::Unanswered(error)) => {
            let problem = format!("not a message of MCP: {error}");
            return Err(refused(Value::Null, &problem));
        }
    };
    // An invalid answer was read as an error, so that it decides nothing.
    if matches!(read, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) {
        return serde_json::to_vec(&read).map_err(|error| {
            let problem = format!("the answer is invalid: {error}");
            refused(Value::Null, &problem)
        });
    }
    if message
        .pointer("/params/arguments")
        .is_some_and(has_large_integer)
    {
        let problem =
            "an integer of its arguments has more than 64 bits; send it as a string, or on stdin";
        return Err(refused(of("id"), problem));
    }
    Ok(body.to_vec())
}

/// Whether an integer of the value has more than 64 bits.
fn has_large_integer(value: &Value) -> bool {
    match value {
        Value::Number(number) => !(number.is_i64() || number.is_u64() || number.is_f64()),
        Value::Array(items) => items.iter().any(has_large_integer),
        Value::Object(members) => members.values().any(has_large_integer),
        _ => false,
    }
}

async fn write_line<W: AsyncWrite + Unpin>(
    write: Arc<Mutex<W>>,
    message: impl Serialize,
) -> io::Result<()> {
    let mut line = visible_json(&serde_json::to_string(&message)?).into_owned();
    line.push('\n');
    let mut write = write.lock().await;
    write.write_all(line.as_bytes()).await?;
    write.flush().await
}

#[cfg(test)]
mod tests;
