//! The lines between us and the server, as a transport for rmcp.
//!
//! rmcp keeps the handshake, the ids, the progress tokens and the server's requests. Answers to
//! our own requests and progress go to the [`Desk`] and never through its typed parse: that drops
//! members, rounds numbers, and turns an answer it cannot read into silence. Everything else it
//! gets by way of a [`Value`]: with `arbitrary_precision`, its untagged enums misread numbers when
//! they read straight from text.

use std::{
    future::poll_fn,
    io::{self, BufRead, Read},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::Poll,
};

use rmcp::{
    service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWrite},
    net::unix::pipe::{Receiver, Sender},
    sync::{Mutex as Turn, mpsc, watch},
};

use super::{
    bounds,
    desk::{Addressee, Desk, End},
    message::{self, Body, Inbound},
    raw::{Answer, Kept},
};

/// What is read from a pipe at once: all it can hold, once a message shows that it is needed.
const PIPE_BYTES: usize = 64 * 1024;
const FEW_BYTES: usize = 4 * 1024;
/// Messages rmcp may be behind.
const INBOX: usize = 16;

/// Both directions. A clone is the same wire: a second handshake goes on where the first ended.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    stdin: Stdin,
    inbox: Arc<Turn<mpsc::Receiver<RxJsonRpcMessage<RoleClient>>>>,
    desk: Arc<Desk>,
    /// Closed when the reader of stdout is done.
    reading: watch::Receiver<()>,
}

/// A line could not be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    #[error("cannot write a message as JSON: {0}")]
    Serialize(serde_json::Error),
    #[error("cannot write to the server's stdin: {0}")]
    Write(io::Error),
}

impl Wire {
    /// Starts to read. A line of more than `limit` bytes ends it.
    pub(super) fn new(stdin: Sender, stdout: Receiver, limit: usize, desk: &Arc<Desk>) -> Self {
        let (to_rmcp, inbox) = mpsc::channel(INBOX);
        let (done, reading) = watch::channel(());
        let reader = Arc::clone(desk);
        tokio::spawn(async move {
            let end = read(stdout, limit, &to_rmcp, &reader).await;
            reader.end(end);
            drop(done);
        });
        Self {
            stdin: Stdin {
                turn: Arc::default(),
                pipe: Arc::new(Mutex::new(Some(stdin))),
            },
            inbox: Arc::new(Turn::new(inbox)),
            desk: Arc::clone(desk),
            reading,
        }
    }

    /// Closes the server's stdin at once, also under a write that is stuck.
    pub(super) fn close_stdin(&self) {
        self.stdin.close();
    }

    /// Waits until stdout has nothing more to give.
    pub(super) async fn read_out(&self) {
        // The sender never sends; an error says that it is gone.
        let _ = self.reading.clone().changed().await;
    }
}

impl Transport<RoleClient> for Wire {
    type Error = SendError;

    fn send(
        &mut self,
        mut message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SendError>> + Send + 'static {
        let desk = Arc::clone(&self.desk);
        let stdin = self.stdin.clone();
        desk.number(&mut message);
        let kind = desk.outgoing(&message);
        async move {
            let written = match serde_json::to_vec(&message) {
                Ok(line) => stdin.write_line(line).await.map_err(SendError::Write),
                Err(error) => Err(SendError::Serialize(error)),
            };
            desk.written(kind, written.as_ref().map(|&()| ()).map_err(|_| ()));
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.inbox.lock().await.recv().await
    }

    async fn close(&mut self) -> Result<(), SendError> {
        self.close_stdin();
        Ok(())
    }
}

/// The server's stdin: lines take turns, closing waits for nobody.
#[derive(Debug, Clone)]
struct Stdin {
    turn: Arc<Turn<()>>,
    pipe: Arc<Mutex<Option<Sender>>>,
}

impl Stdin {
    async fn write_line(&self, mut line: Vec<u8>) -> io::Result<()> {
        line.push(b'\n');
        let _turn = self.turn.lock().await;
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            let written = poll_fn(|context| {
                // Held for one write only, so that `close` is never kept waiting.
                let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
                match pipe.as_mut() {
                    Some(pipe) => Pin::new(pipe).poll_write(context, rest),
                    None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
                }
            })
            .await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            rest = rest.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    fn close(&self) {
        self.pipe
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }
}

/// Reads stdout to its end and hands out every line.
async fn read(
    stdout: Receiver,
    limit: usize,
    to_rmcp: &mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
    desk: &Desk,
) -> End {
    let mut lines = Lines::new(stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        // A pipe that fails is as good as closed. A last line without a newline counts.
        match lines.next(&mut line, limit.saturating_add(1)).await {
            Ok(()) if !line.is_empty() => {}
            Ok(()) | Err(_) => return End::Closed,
        }
        if line.len() > limit {
            return End::TooBig;
        }
        match hand_out(&mut line, desk) {
            Ok(Some(message)) => {
                // rmcp is gone only when the call is over: stdout is read on all the same, so that
                // the server never blocks on it.
                let _ = to_rmcp.send(message).await;
            }
            Ok(None) => {}
            Err(end) => return end,
        }
    }
}

/// A pipe, line by line. Its block is never zeroed.
struct Lines {
    pipe: Receiver,
    block: Vec<u8>,
    /// How much of the block is in lines already.
    taken: usize,
}

impl Lines {
    fn new(pipe: Receiver) -> Self {
        Self {
            pipe,
            block: Vec::with_capacity(FEW_BYTES),
            taken: 0,
        }
    }

    /// Adds the next line with its newline, or `most` bytes of it; nothing at the end of the pipe.
    async fn next(&mut self, line: &mut Vec<u8>, most: usize) -> io::Result<()> {
        loop {
            if self.taken == self.block.len() {
                if (FEW_BYTES..PIPE_BYTES).contains(&self.block.len()) {
                    self.block = Vec::with_capacity(PIPE_BYTES);
                }
                self.block.clear();
                self.taken = 0;
                if self.pipe.read_buf(&mut self.block).await? == 0 {
                    return Ok(());
                }
            }
            let rest = self.block.get(self.taken..).unwrap_or_default();
            let room = most.saturating_sub(line.len());
            let room = u64::try_from(room).unwrap_or(u64::MAX);
            self.taken += Read::take(rest, room).read_until(b'\n', line)?;
            if line.len() >= most || line.ends_with(b"\n") {
                return Ok(());
            }
        }
    }
}

/// Gives a line to whom it concerns; what rmcp has to see comes back.
pub(super) fn hand_out(
    line: &mut Vec<u8>,
    desk: &Desk,
) -> Result<Option<RxJsonRpcMessage<RoleClient>>, End> {
    let (noise, message) = message::read(line);
    desk.noise(noise);
    if !matches!(message, Inbound::Noise) {
        desk.hear();
    }
    match message {
        Inbound::Noise | Inbound::Notification => Ok(None),
        Inbound::Progress(params) => {
            desk.progress(params);
            Ok(None)
        }
        Inbound::Request => {
            bounded(line, "a request of its own", bounds::REQUEST_BYTES)?;
            desk.request(line.len())?;
            Ok(typed(line.get(noise.len()..).unwrap_or_default()).ok())
        }
        Inbound::Response(response) => match (desk.addressee(&response), response.body) {
            (Addressee::Nobody, _) => Ok(None),
            (Addressee::Handshake, Body::Malformed(reason)) => Err(End::Malformed(reason)),
            (Addressee::Handshake, Body::Result(_) | Body::Error(_)) => {
                bounded(line, "its greeting", bounds::GREETING_BYTES)?;
                typed(line.get(noise.len()..).unwrap_or_default())
                    .map(Some)
                    .map_err(End::Malformed)
            }
            (Addressee::Call, body) => {
                let begin = noise.len();
                let body = Kept::of(body, line.get(begin..).unwrap_or_default());
                // The line is given away, not copied: it may be the largest thing there is.
                let mut line = std::mem::take(line);
                line.drain(..begin);
                desk.answer(Answer::keep(body, line));
                Ok(None)
            }
        },
    }
}

fn bounded(line: &[u8], what: &str, most: usize) -> Result<(), End> {
    if line.len() > most {
        return Err(End::Malformed(bounds::too_long(what, line.len(), most)));
    }
    Ok(())
}

fn typed(line: &[u8]) -> Result<RxJsonRpcMessage<RoleClient>, String> {
    serde_json::from_slice::<Value>(line)
        .and_then(serde_json::from_value)
        .map_err(|error| error.to_string())
}
