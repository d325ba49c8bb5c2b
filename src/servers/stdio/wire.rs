//! One JSON-RPC message a line, as MCP's stdio transport has it.
//!
//! Lines are parsed to a [`Value`] first and typed from there. rmcp's own transport types them
//! straight from the bytes, which fails under `serde_json/arbitrary_precision`: numbers inside its
//! untagged enums arrive there as maps.

use std::{io, sync::Arc};

use rmcp::{
    RoleServer,
    model::{ErrorData, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::{Mutex, watch},
};

/// The longest line taken, in bytes. Whoever sends more is not speaking MCP.
const LONGEST_LINE: usize = 64 << 20;

/// A server's end of a pair of byte streams. Drops `gone` when the client's end closes.
pub(super) struct Wire<R, W> {
    read: BufReader<R>,
    /// The part of a line read so far: `receive` may be dropped in the middle of one.
    line: Vec<u8>,
    write: Arc<Mutex<W>>,
    gone: Option<watch::Sender<()>>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Wire<R, W> {
    /// Receivers of `gone` see it closed once `read` has ended.
    pub(super) fn new(read: R, write: W, gone: watch::Sender<()>) -> Self {
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            write: Arc::new(Mutex::new(write)),
            gone: Some(gone),
        }
    }

    /// The next whole line without its end, or `None` at the end of the stream.
    async fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let available = self.read.fill_buf().await?;
            if available.is_empty() {
                return Ok(None);
            }
            let (taken, complete) = match available.iter().position(|&byte| byte == b'\n') {
                Some(end) => (end + 1, true),
                None => (available.len(), false),
            };
            self.line.extend(available.iter().take(taken));
            self.read.consume(taken);
            if self.line.len() > LONGEST_LINE {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "a line is longer than 64 MiB",
                ));
            }
            if complete {
                return Ok(Some(std::mem::take(&mut self.line)));
            }
        }
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
            let line = match self.next_line().await {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) => {
                    tracing::error!(%error, "cannot read from the client");
                    break;
                }
            };
            if line.trim_ascii().is_empty() {
                continue;
            }
            match read_message(&line) {
                Ok(message) => return Some(message),
                Err(Unreadable::NotJson(error)) => {
                    tracing::warn!(%error, "a line from the client is not JSON");
                }
                Err(Unreadable::Notification(error)) => {
                    tracing::debug!(%error, "an unknown notification");
                }
                Err(Unreadable::Request(id, error)) => {
                    let problem =
                        ErrorData::invalid_request(format!("not a request of MCP: {error}"), None);
                    let answer = TxJsonRpcMessage::<RoleServer>::error(problem, Some(id));
                    if let Err(error) = write_line(Arc::clone(&self.write), answer).await {
                        tracing::error!(%error, "cannot write to the client");
                        break;
                    }
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

/// Why a line is no message.
enum Unreadable {
    /// Not answered: whoever echoes our answers would never stop.
    NotJson(serde_json::Error),
    Notification(serde_json::Error),
    Request(RequestId, serde_json::Error),
}

fn read_message(line: &[u8]) -> Result<RxJsonRpcMessage<RoleServer>, Unreadable> {
    let value: Value = serde_json::from_slice(line).map_err(Unreadable::NotJson)?;
    let id = value
        .get("id")
        .and_then(|id| serde_json::from_value(id.clone()).ok());
    serde_json::from_value(value).map_err(|error| match id {
        Some(id) => Unreadable::Request(id, error),
        None => Unreadable::Notification(error),
    })
}

async fn write_line<W: AsyncWrite + Unpin>(
    write: Arc<Mutex<W>>,
    message: TxJsonRpcMessage<RoleServer>,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(&message)?;
    line.push(b'\n');
    let mut write = write.lock().await;
    write.write_all(&line).await?;
    write.flush().await
}
