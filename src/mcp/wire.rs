//! The messages to and from a server: the bytes that are to be sent, and what was received. This file does no I/O.
//!
//! One request is awaited at a time. Its answer is kept as text, because a typed parse drops members and rounds
//! numbers.

use std::{collections::VecDeque, io::Write as _};

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    bounds,
    message::{self, Answer, CALL, Inbound, Outbound, Request, Response, is_greeting, is_number},
    questions,
    raw::{Raw, place},
    refusal::Refusal,
    report::Noise,
    spec::Progress,
};
use crate::task::{Finite, Secrets};

const SAMPLE_BYTES: usize = 2048;
/// The server's own requests during one call. More of them are a fault.
const MAX_SERVER_REQUESTS: u32 = 10_000;

#[derive(Debug, Default)]
pub(super) struct Wire {
    pub(super) outgoing: VecDeque<u8>,
    /// The number of bytes of `outgoing` up to the end of the awaited request.
    pub(super) unsent: usize,
    pub(super) secrets: Secrets,
    awaited: Option<(i64, &'static str)>,
    pub(super) answer: Option<Answer<Raw>>,
    pub(super) progress: Option<Progress>,
    /// Why nothing more will be received, if the link is over.
    pub(super) end: Option<End>,
    pub(super) call: CallLine,
    /// Whether the server was sent a notification.
    notified: bool,
    /// Whether a message of the protocol was received.
    pub(super) heard: bool,
    noise: u64,
    sample: Vec<u8>,
    /// The first thing that the server asked for while it was called.
    pub(super) asked: Option<String>,
    requests: u32,
    request_bytes: usize,
    /// A note about an answer with `NaN` or `Infinity`.
    pub(super) not_finite: Option<String>,
}

/// Whether `tools/call` was sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum CallLine {
    #[default]
    Unsent,
    /// The server may act on it: everything except perhaps the newline is in the pipe.
    Delivered,
    /// An answer with its id was received.
    Answered,
}

/// Why nothing more will be received.
#[derive(Debug, Clone)]
pub(super) enum End {
    /// The pipe is closed at the other end.
    Closed,
    TooBig,
    Malformed(String),
    Http(Refusal),
}

/// Whether a message is the awaited request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    Request,
    Other,
}

impl Wire {
    pub(super) fn new(secrets: &Secrets) -> Self {
        Self {
            secrets: secrets.clone(),
            ..Self::default()
        }
    }

    /// Prepares for another call on the same server.
    pub(super) fn turn(&mut self) {
        (self.awaited, self.answer, self.progress) = (None, None, None);
        (self.call, self.asked) = (CallLine::Unsent, None);
        (self.requests, self.request_bytes) = (0, 0);
    }

    /// Queues a request and awaits its answer.
    pub(super) fn send(&mut self, id: i64, method: &'static str, params: Map<String, Value>) {
        self.awaited = Some((id, method));
        self.answer = None;
        self.progress = None;
        self.not_finite = None;
        self.write(Some(id), method, params);
        self.unsent = self.outgoing.len();
    }

    /// Queues a message. Without an id, it is a notification.
    pub(super) fn write(&mut self, id: Option<i64>, method: &str, params: Map<String, Value>) {
        if id.is_none() {
            self.notified = true;
        }
        let message = Outbound {
            jsonrpc: "2.0",
            id,
            method,
            params,
        };
        // Writing to memory cannot fail.
        let _ = serde_json::to_writer(&mut self.outgoing, &message);
        self.outgoing.push_back(b'\n');
    }

    /// Notes that so many bytes of `outgoing` were written.
    pub(super) fn sent(&mut self, count: usize) {
        self.outgoing.drain(..count);
        if self.outgoing.is_empty() {
            // Frees the memory of a large request while its answer is awaited.
            self.outgoing = VecDeque::new();
        }
        self.unsent = self.unsent.saturating_sub(count);
        if self.unsent <= 1
            && self.call == CallLine::Unsent
            && matches!(self.awaited, Some((_, CALL)))
        {
            self.call = CallLine::Delivered;
        }
    }

    /// Whether the answer to a request with this method is awaited.
    pub(super) fn is_asked(&self, method: &str) -> bool {
        matches!(self.awaited, Some((_, awaited)) if awaited == method)
    }

    /// Takes the next message that is to be sent, which then counts as sent.
    pub(super) fn next_line(&mut self) -> Option<(Vec<u8>, Said)> {
        let end = self.outgoing.iter().position(|byte| *byte == b'\n')? + 1;
        let said = if end == self.unsent {
            Said::Request
        } else {
            Said::Other
        };
        let line = self.outgoing.range(..end).copied().collect();
        self.sent(end);
        Some((line, said))
    }

    /// Takes a line of the server. After an error, later lines do not count.
    pub(super) fn hear(&mut self, mut line: Vec<u8>) -> Result<(), End> {
        let (noise, message) = message::read(&line);
        let is_readable = !matches!(&message, Inbound::Noise)
            && !matches!(&message, Inbound::Response(response) if response.is_malformed());
        if !is_readable
            && line.starts_with(b"{")
            && let Some(finite) = str::from_utf8(&line).ok().and_then(Finite::of)
        {
            let awaits = self.awaited.is_some();
            let note = finite.note("");
            self.hear(finite.json.into_bytes())?;
            self.not_finite = Some(note).filter(|_| awaits && self.answer.is_some());
            return Ok(());
        }
        let begin = noise.len();
        self.note_noise(noise);
        if !matches!(message, Inbound::Noise) {
            self.heard = true;
        }
        match message {
            Inbound::Noise | Inbound::Notification => {}
            Inbound::Progress(params) => self.note_progress(params),
            Inbound::Request(request) => {
                self.count_request(line.len())?;
                self.refuse(&request);
            }
            Inbound::Response(response) if !self.awaits(&response) => {
                if response.is_malformed() {
                    self.note_noise(&line);
                }
            }
            Inbound::Response(Response { id, body }) => {
                if id.is_some() && matches!(self.awaited, Some((_, CALL))) {
                    self.call = CallLine::Answered;
                }
                if self.awaited.is_some_and(|(_, method)| is_greeting(method)) {
                    bounded(line.len(), "its greeting", bounds::GREETING_BYTES)?;
                }
                let answer = match body {
                    Answer::Error(error) => Answer::Error(error),
                    Answer::Malformed(reason) => Answer::Malformed(reason),
                    Answer::Result(result) => {
                        let range = place(line.get(begin..).unwrap_or_default(), result.get());
                        line.drain(..begin);
                        match String::from_utf8(line) {
                            Ok(line) => Answer::Result(Raw::within(line, range)),
                            Err(error) => Answer::Malformed(format!("it is not UTF-8: {error}")),
                        }
                    }
                };
                // A second answer to the same request changes nothing.
                self.awaited = None;
                self.answer = Some(answer);
            }
        }
        Ok(())
    }

    /// Whether a response answers the awaited request. No response answers a request that was not sent yet.
    fn awaits(&self, response: &Response<'_>) -> bool {
        let Some((id, method)) = self.awaited.filter(|_| self.unsent <= 1) else {
            return false;
        };
        match (&response.id, &response.body) {
            (Some(text), _) => is_number(text, id),
            (None, Answer::Result(_)) => false,
            // It may be truncated before its id, and no other request is open.
            (None, Answer::Malformed(_)) => true,
            // The server could not read the request. Some servers also answer a notification with -32600 (invalid
            // request), because it has no id.
            (None, Answer::Error(error)) => {
                is_greeting(method)
                    || method == CALL
                        && (error.code == -32700 || error.code == -32600 && !self.notified)
            }
        }
    }

    /// Keeps progress that belongs to the awaited request.
    fn note_progress(&mut self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            progress_token: Value,
            progress: f64,
            total: Option<f64>,
            message: Option<String>,
        }
        let params = params.filter(|params| params.get().len() <= bounds::PROGRESS_BYTES);
        let params = params.and_then(|params| serde_json::from_str::<Params>(params.get()).ok());
        if let (Some(params), Some((id, _))) = (params, self.awaited)
            && is_number(&params.progress_token.to_string(), id)
        {
            self.progress = Some(Progress {
                done: params.progress,
                total: params.total,
                message: params.message,
            });
        }
    }

    /// Fails if the server has sent too many requests, or too many bytes of them. The bytes matter because each answer
    /// repeats the id.
    fn count_request(&mut self, bytes: usize) -> Result<(), End> {
        bounded(bytes, "a request of its own", bounds::REQUEST_BYTES)?;
        self.request_bytes += bytes;
        self.requests += 1;
        if self.requests > MAX_SERVER_REQUESTS {
            let problem = format!("it sent more than {MAX_SERVER_REQUESTS} requests of its own");
            return Err(End::Malformed(problem));
        }
        let what = "all requests of its own together";
        bounded(self.request_bytes, what, bounds::REQUESTS_BYTES)
    }

    /// Answers a request of the server: `ping` with a result, any other with "no such method". A server that follows the
    /// protocol sends only `ping`: no capability is declared to a legacy server, and a modern server asks in its result.
    fn refuse(&mut self, request: &Request<'_>) {
        if let Some(question) = questions::asked(&request.method, request.params) {
            self.asked.get_or_insert(question);
        }
        let body = match request.method.as_ref() {
            "ping" => r#""result":{}"#.to_owned(),
            method => format!(
                r#""error":{{"code":-32601,"message":{}}}"#,
                Value::from(method)
            ),
        };
        let id = request.id.get();
        // Writing to memory cannot fail.
        let _ = writeln!(self.outgoing, r#"{{"jsonrpc":"2.0","id":{id},{body}}}"#);
    }

    fn note_noise(&mut self, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        self.noise += 1;
        // A secret that begins within the sample is redacted only if all of it is kept.
        let most = SAMPLE_BYTES + self.secrets.longest();
        if !self.sample.is_empty() && self.sample.len() < most {
            self.sample.push(b'\n');
        }
        let room = most.saturating_sub(self.sample.len());
        self.sample.extend(line.iter().take(room));
    }

    /// The noise so far, without secrets.
    pub(super) fn noise(&self) -> Noise {
        Noise {
            lines: self.noise,
            sample: self.secrets.cut_within(&self.sample, 0..SAMPLE_BYTES),
        }
    }
}

fn bounded(bytes: usize, what: &str, most: usize) -> Result<(), End> {
    if bytes > most {
        return Err(End::Malformed(bounds::too_long(what, bytes, most)));
    }
    Ok(())
}

/// For fuzzing: reads these bytes as a server's stdout, in the handshake and in a call. What is kept must not contain
/// the secret, which consists of letters and digits only, so that no mask makes a new one.
#[cfg(any(test, fuzzing))]
pub(crate) fn overhear(stdout: &[u8], secret: &str) {
    let secrets = Secrets::new([secret.to_owned()]);
    for method in [message::INITIALIZE, CALL] {
        let mut wire = Wire::new(&secrets);
        wire.send(1, method, Map::new());
        wire.sent(wire.unsent);
        for line in stdout.split_inclusive(|byte| *byte == b'\n') {
            let (noise, _) = message::read(line);
            assert!(line.starts_with(noise), "noise is what a line begins with");
            if wire.hear(line.to_vec()).is_err() {
                break;
            }
        }
        let kept = wire.noise();
        let sample = &kept.sample;
        assert!(!sample.contains(secret), "the secret is in {sample:?}");
        assert!(kept.lines > 0 || sample.is_empty());
    }
    for from in [0, stdout.len() / 2] {
        let tail = secrets.cut_within(stdout, from..stdout.len());
        assert!(!tail.contains(secret), "the secret is in {tail:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_lacks_its_newline_alone_can_be_acted_upon() {
        let mut wire = Wire::new(&Secrets::default());
        wire.send(1, CALL, Map::new());
        wire.sent(wire.unsent - 2);
        assert_eq!(wire.call, CallLine::Unsent);
        wire.sent(1);
        assert_eq!(wire.call, CallLine::Delivered);
    }

    #[test]
    fn a_torn_line_without_an_id_is_noise_until_the_request_was_sent_and_then_its_answer() {
        let torn = b"{\"jsonrpc\":\"2.0\",\"result\":{\n";
        for method in [message::INITIALIZE, message::LIST, CALL] {
            let mut wire = Wire::new(&Secrets::default());
            wire.hear(torn.to_vec()).unwrap();
            wire.send(1, method, Map::new());
            wire.hear(torn.to_vec()).unwrap();
            assert!(wire.answer.is_none(), "{method}: {:?}", wire.answer);
            assert_eq!(wire.noise().lines, 2);
            wire.sent(wire.unsent);
            wire.hear(torn.to_vec()).unwrap();
            assert!(matches!(wire.answer, Some(Answer::Malformed(_))));
            assert_eq!(wire.noise().lines, 2);
        }
    }

    #[test]
    fn the_requests_of_a_server_are_bounded_by_number_and_by_bytes() {
        for (bytes, most) in [
            (200_000, bounds::REQUESTS_BYTES / 200_000),
            (40, MAX_SERVER_REQUESTS as usize),
        ] {
            let mut wire = Wire::new(&Secrets::default());
            let counted = (0..).take_while(|_| wire.count_request(bytes).is_ok());
            assert_eq!(counted.count(), most);
        }
    }
}
