//! Where the two tasks of a call meet: the reader of stdout puts down what came, the call takes
//! it. One request is awaited at a time; its answer is kept as the bytes that came.

use std::{
    mem::replace,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rmcp::{
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta, JsonRpcMessage,
        NumberOrString,
    },
    service::{RoleClient, TxJsonRpcMessage},
};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tokio::sync::Notify;

use super::{
    bounds,
    message::{Body, Response, is_number},
    raw::Answer,
    report::Noise,
    spec::Progress,
};
use crate::task::Secrets;

/// How much noise is kept.
const SAMPLE_BYTES: usize = 2048;
/// More requests from a server than this within one call are a fault, not a conversation.
const MAX_SERVER_REQUESTS: u32 = 10_000;

/// Shared by the call, the transport and the reader of stdout.
#[derive(Debug)]
pub(super) struct Desk {
    secrets: Secrets,
    state: Mutex<State>,
    bell: Notify,
}

#[derive(Debug, Default)]
struct State {
    awaited: Awaited,
    answer: Option<Answer>,
    progress: Option<Progress>,
    end: Option<End>,
    call: CallLine,
    renumbered: Renumbered,
    noise: u64,
    sample: Vec<u8>,
    asked: Option<String>,
    requests: u32,
    request_bytes: usize,
    heard: Heard,
}

/// What came on stdout so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Heard {
    /// No message of the protocol.
    #[default]
    Nothing,
    Protocol,
}

/// The request whose answer the call waits for.
#[derive(Debug, Default)]
enum Awaited {
    /// None of ours: answers belong to the handshake.
    #[default]
    Nothing,
    /// The next one that goes out.
    Next,
    Sent {
        id: i64,
        token: Option<i64>,
    },
}

/// Whether `tools/call` is on its way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum CallLine {
    #[default]
    Unsent,
    /// The whole line is in the pipe: the server may act on it.
    Delivered,
}

/// The id of `tools/call`, where it must not be the one rmcp gives it.
#[derive(Debug, Default)]
struct Renumbered {
    to: Option<i64>,
    /// What rmcp calls it.
    from: Option<NumberOrString>,
}

/// Why nothing more will come.
#[derive(Debug, Clone)]
pub(super) enum End {
    /// The pipe is closed at the other end.
    Closed,
    TooBig,
    Malformed(String),
}

/// What came since the last look.
#[derive(Debug, Default)]
pub(super) struct News {
    pub(super) answer: Option<Answer>,
    pub(super) progress: Option<Progress>,
    pub(super) end: Option<End>,
}

/// What the transport does after a line is out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outgoing {
    /// The awaited `tools/call`.
    Call,
    /// Another request that is awaited.
    Awaited,
    /// A handshake, an answer or a notification.
    Other,
}

/// Whom an answer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Addressee {
    /// The call, by way of [`Desk::answer`].
    Call,
    /// The handshake: rmcp reads it.
    Handshake,
    /// Nobody any more.
    Nobody,
}

impl Desk {
    pub(super) fn new(secrets: &Secrets) -> Self {
        Self {
            secrets: secrets.clone(),
            state: Mutex::default(),
            bell: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next request that goes out is the one whose answer the call waits for.
    pub(super) fn await_next(&self) {
        let mut state = self.state();
        state.awaited = Awaited::Next;
        state.answer = None;
        state.progress = None;
    }

    /// `tools/call` shall go out under this id.
    pub(super) fn number_call(&self, id: i64) {
        self.state().renumbered.to = Some(id);
    }

    /// Gives a message that is about to be written the id it shall have.
    pub(super) fn number(&self, message: &mut TxJsonRpcMessage<RoleClient>) {
        let mut state = self.state();
        let Some(mut to) = state.renumbered.to else {
            return;
        };
        match message {
            JsonRpcMessage::Request(line)
                if matches!(line.request, ClientRequest::CallToolRequest(_)) =>
            {
                // Of a second one, for the first was refused.
                to += i64::from(state.renumbered.from.is_some());
                let from = replace(&mut line.id, NumberOrString::Number(to));
                state.renumbered = Renumbered {
                    to: Some(to),
                    from: Some(from),
                };
            }
            JsonRpcMessage::Notification(line) => {
                if let ClientNotification::CancelledNotification(cancelled) = &mut line.notification
                    && cancelled.params.request_id == state.renumbered.from
                {
                    cancelled.params.request_id = Some(NumberOrString::Number(to));
                }
            }
            _ => {}
        }
    }

    /// A message is about to be written.
    pub(super) fn outgoing(&self, message: &TxJsonRpcMessage<RoleClient>) -> Outgoing {
        let JsonRpcMessage::Request(line) = message else {
            return Outgoing::Other;
        };
        let kind = match &line.request {
            ClientRequest::CallToolRequest(_) => Outgoing::Call,
            ClientRequest::ListToolsRequest(_) => Outgoing::Awaited,
            _ => return Outgoing::Other,
        };
        let mut state = self.state();
        if let (Awaited::Next, NumberOrString::Number(id)) = (&state.awaited, &line.id) {
            state.awaited = Awaited::Sent {
                id: *id,
                token: progress_token(message),
            };
        }
        kind
    }

    /// It is out, or cannot be written any more.
    pub(super) fn written(&self, kind: Outgoing, delivery: Result<(), ()>) {
        match (kind, delivery) {
            (Outgoing::Call, Ok(())) => self.state().call = CallLine::Delivered,
            (Outgoing::Call | Outgoing::Awaited, Err(())) => self.end(End::Closed),
            _ => {}
        }
    }

    /// Whom a response is for.
    pub(super) fn addressee(&self, response: &Response<'_>) -> Addressee {
        let state = self.state();
        let ours = match (&state.awaited, &response.id) {
            (Awaited::Nothing, _) => return Addressee::Handshake,
            (Awaited::Next, _) => false,
            (Awaited::Sent { id, .. }, Some(text)) => is_number(text, *id),
            (Awaited::Sent { .. }, None) => match &response.body {
                Body::Error(error) => {
                    state.call == CallLine::Delivered && error.is_about_an_unread_request()
                }
                // Cut off before its id, and no other request is open.
                Body::Malformed(_) => true,
                Body::Result(_) => false,
            },
        };
        if ours {
            Addressee::Call
        } else {
            Addressee::Nobody
        }
    }

    /// The call's answer came. A second one to the same request changes nothing.
    pub(super) fn answer(&self, answer: Answer) {
        self.state().answer.get_or_insert(answer);
        self.bell.notify_one();
    }

    /// Progress came; kept if it is about the awaited request.
    pub(super) fn progress(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            progress_token: Value,
            progress: f64,
            total: Option<f64>,
            message: Option<String>,
        }
        let params = params.filter(|params| params.get().len() <= bounds::PROGRESS_BYTES);
        let Some(params) =
            params.and_then(|params| serde_json::from_str::<Params>(params.get()).ok())
        else {
            return;
        };
        let mut state = self.state();
        let Awaited::Sent {
            token: Some(token), ..
        } = state.awaited
        else {
            return;
        };
        if is_number(&params.progress_token.to_string(), token) {
            state.progress = Some(Progress {
                done: params.progress,
                total: params.total,
                message: params.message,
            });
            drop(state);
            self.bell.notify_one();
        }
    }

    /// The call is over, and another one is to come on the same server.
    pub(super) fn turn(&self) {
        let mut state = self.state();
        *state = State {
            end: state.end.take(),
            noise: state.noise,
            sample: std::mem::take(&mut state.sample),
            heard: state.heard,
            ..State::default()
        };
    }

    /// A message of the protocol came.
    pub(super) fn hear(&self) {
        self.state().heard = Heard::Protocol;
    }

    /// Whether one ever came.
    pub(super) fn heard(&self) -> Heard {
        self.state().heard
    }

    /// A request of so many bytes came; an error once there are too many, or too many bytes of them: every answer
    /// repeats the id.
    pub(super) fn request(&self, bytes: usize) -> Result<(), End> {
        let mut state = self.state();
        state.requests += 1;
        state.request_bytes += bytes;
        if state.request_bytes > bounds::REQUESTS_BYTES {
            return Err(End::Malformed(format!(
                "it sent more than {} bytes of requests of its own",
                bounds::REQUESTS_BYTES
            )));
        }
        if state.requests > MAX_SERVER_REQUESTS {
            return Err(End::Malformed(format!(
                "it sent more than {MAX_SERVER_REQUESTS} requests of its own"
            )));
        }
        Ok(())
    }

    pub(super) fn noise(&self, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        let mut state = self.state();
        state.noise += 1;
        // A secret that reaches out of the sample has to be seen whole to be cut.
        let most = SAMPLE_BYTES + self.secrets.longest();
        if !state.sample.is_empty() && state.sample.len() < most {
            state.sample.push(b'\n');
        }
        let room = most.saturating_sub(state.sample.len());
        state.sample.extend(line.iter().take(room));
    }

    /// The server asked for something that only a person or a model can give.
    pub(super) fn asked(&self, question: String) {
        self.state().asked.get_or_insert(question);
    }

    /// Nothing more will come; the first reason counts.
    pub(super) fn end(&self, end: End) {
        self.state().end.get_or_insert(end);
        self.bell.notify_one();
    }

    /// Waits for news.
    pub(super) async fn rung(&self) {
        self.bell.notified().await;
    }

    pub(super) fn news(&self) -> News {
        let mut state = self.state();
        News {
            answer: state.answer.take(),
            progress: state.progress.take(),
            end: state.end.clone(),
        }
    }

    /// Why nothing more will come, if that is so.
    pub(super) fn peek_end(&self) -> Option<End> {
        self.state().end.clone()
    }

    pub(super) fn call_line(&self) -> CallLine {
        self.state().call
    }

    /// What the server asked for.
    pub(super) fn question(&self) -> Option<String> {
        self.state().asked.clone()
    }

    /// The noise so far, without secrets.
    pub(super) fn noise_so_far(&self) -> Noise {
        let state = self.state();
        Noise {
            lines: state.noise,
            sample: self.secrets.cut_within(&state.sample, 0..SAMPLE_BYTES),
        }
    }
}

/// The progress token rmcp put into a request.
fn progress_token(message: &ClientJsonRpcMessage) -> Option<i64> {
    let JsonRpcMessage::Request(line) = message else {
        return None;
    };
    match line.request.get_meta().get_progress_token()?.0 {
        NumberOrString::Number(token) => Some(token),
        NumberOrString::String(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requests_of_a_server_are_bounded_by_number_and_by_bytes() {
        let desk = Desk::new(&Secrets::default());
        let large = (0..MAX_SERVER_REQUESTS * 2)
            .take_while(|_| desk.request(200_000).is_ok())
            .count();
        assert_eq!(large, bounds::REQUESTS_BYTES / 200_000);
        let desk = Desk::new(&Secrets::default());
        let small = (0..MAX_SERVER_REQUESTS * 2)
            .take_while(|_| desk.request(40).is_ok())
            .count();
        assert_eq!(small, MAX_SERVER_REQUESTS as usize);
    }
}
