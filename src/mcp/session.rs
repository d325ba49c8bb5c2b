//! The protocol with a running server, over a [`Transport`]. Every wait also ends when the server ends, when a limit is
//! reached, and at a signal.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::{
    select,
    task::yield_now,
    time::{Instant, sleep_until, timeout},
};

use super::{
    bounds,
    child::failed,
    error::{CallError, Limit, astray, performed},
    link::Over,
    message::{
        Answer, DISCOVER, Extent, META, MODERN, RpcError, is_greeting, is_modern,
        is_not_understood, members, sender,
    },
    peer::Peer,
    raw::Raw,
    report::ServerReport,
    spec::{Progress, ServerSpec},
    transport::{Opened, Transport},
    wait::{Alarm, Halt, Limits},
    wire::End,
};
use crate::{
    host::{Host, Moment},
    task::{Protocol, Timings},
};

/// A run makes fewer requests than two to the power of this.
const RUN: u32 = 20;

/// A server, and what was agreed on with it.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) spec: ServerSpec,
    pub(super) link: Transport,
    pub(super) peer: Option<Peer>,
    /// The limits of the next exchange.
    pub(super) limits: Limits,
    /// The id of the next request, and its progress token.
    pub(super) next_id: i64,
    pub(super) timings: Timings,
    pub(super) started: Moment,
    pub(super) alarm: Alarm,
}

impl Session {
    /// Takes over a server that was started. Must be called within a runtime.
    pub(super) fn with(
        mut opened: Opened,
        spec: &ServerSpec,
        host: &Host,
    ) -> Result<Self, CallError> {
        let started = opened.began;
        let (peer, uses) = std::mem::take(&mut opened.before);
        let link = Transport::new(opened, spec)?;
        let alarm = Alarm::new(host).map_err(failed(&spec.name, "listen for signals"))?;
        Ok(Self {
            spec: spec.clone(),
            link,
            peer,
            limits: Limits::within(spec.startup_timeout),
            // In one session of MCP, no id is used twice, and earlier runs have counted, too.
            next_id: i64::try_from(uses << RUN).unwrap_or_default(),
            timings: Timings {
                spawn_ms: millis(started.elapsed()),
                ..Timings::default()
            },
            started,
            alarm,
        })
    }

    /// The version that a request states in its `_meta`. Before 2026-07-28, it states none.
    fn modern_version(&self, method: &str) -> Option<&str> {
        let first = (method == DISCOVER).then_some(MODERN);
        self.version()
            .or(first)
            .filter(|version| is_modern(version))
    }

    /// Sends a request that may be repeated, and waits for its answer. If the server refuses the version of the request
    /// but lists it as supported, the request is sent once more (2026-07-28, Versioning).
    pub(super) async fn exchange(
        &mut self,
        method: &'static str,
        params: Map<String, Value>,
    ) -> Result<Answer<Raw>, Halt> {
        let answer = self.ask(method, params.clone(), &mut |_| ()).await?;
        match (&answer, self.modern_version(method)) {
            (Answer::Error(error), Some(version)) if error.supports(version) => {
                self.ask(method, params, &mut |_| ()).await
            }
            _ => Ok(answer),
        }
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn ask(
        &mut self,
        method: &'static str,
        params: Map<String, Value>,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Answer<Raw>, Halt> {
        let id = self.next_id;
        self.next_id += 1;
        let params = self.with_meta(method, id, params);
        // What the server sent before the request is no answer to it. The runtime learns only between two turns of its
        // loop that there is something.
        yield_now().await;
        self.link.wire.send(id, method, params);
        let limits = self.limits;
        let idle = limits.idle.unwrap_or(limits.total);
        let mut idle_until = Instant::now() + idle;
        let halt = loop {
            // Signals and limits come first, so that a server that prints without end cannot delay them.
            select! {
                biased;
                signal = self.alarm.rung() => break Halt::Signal(signal),
                () = sleep_until(limits.until) => break Halt::Late(Limit::Total, limits.total),
                () = sleep_until(idle_until) => break Halt::Late(Limit::Idle, idle),
                came = self.link.news() => if came.is_err() {
                    break Halt::End(self.link.end().await);
                }
            }
            if let Some(progress) = self.link.wire.progress.take() {
                idle_until = Instant::now() + idle;
                let shown = |text: String| bounds::message(&self.link.wire.secrets.shown(&text));
                on_progress(Progress {
                    message: progress.message.map(shown),
                    ..progress
                });
            }
            if let Some(answer) = self.link.wire.answer.take() {
                return Ok(answer);
            }
        };
        // The answer may have arrived at the same time.
        if let Some(answer) = self.link.last_answer().await {
            return Ok(answer);
        }
        let reason = match halt {
            Halt::Late(..) => "timed out",
            Halt::Signal(_) => "cancelled",
            Halt::End(_) => return Err(halt),
        };
        let notice = self.link.notice(|| self.is_modern());
        if let Some(notice) = notice.filter(|_| !is_greeting(method)) {
            let params = members([("requestId", id.into()), ("reason", reason.into())]);
            self.link
                .wire
                .write(None, "notifications/cancelled", params);
            let _ = timeout(notice, self.link.written()).await;
        }
        if let Some(remote) = self.link.remote() {
            remote.hang_up();
        }
        Err(halt)
    }

    /// Sends a notification, and waits until it is written.
    pub(super) async fn notify(&mut self, method: &str) -> Result<(), Halt> {
        self.link.wire.write(None, method, Map::new());
        let written = self.link.written();
        match self.alarm.unless_stopped(self.limits, written).await? {
            Ok(()) => Ok(()),
            Err(Over) => Err(Halt::End(self.link.end().await)),
        }
    }

    /// Adds what the era requires to the `_meta` of the parameters.
    fn with_meta(
        &self,
        method: &str,
        id: i64,
        mut params: Map<String, Value>,
    ) -> Map<String, Value> {
        let version = self.modern_version(method);
        let sender = version.map(|version| sender(version, self.spec.caller));
        let mut meta = match params.remove(META) {
            Some(Value::Object(meta)) => meta,
            _ => Map::new(),
        };
        meta.extend(sender.unwrap_or_default());
        if !is_greeting(method) {
            meta.insert("progressToken".to_owned(), id.into());
        }
        if !meta.is_empty() {
            params.insert(META.to_owned(), Value::Object(meta));
        }
        params
    }

    /// The beginning of a text of the server without secrets, for an error.
    pub(super) fn excerpt(&self, text: &str) -> String {
        bounds::excerpt(&self.link.wire.secrets.cut(text))
    }

    /// The error of a wait that ended without an answer.
    pub(super) fn error(&self, halt: Halt, method: &'static str) -> CallError {
        let server = self.spec.name.clone();
        let greeting = is_greeting(method);
        let unheard = !self.link.wire.heard;
        match halt {
            Halt::Signal(signal) => CallError::Cancelled { server, signal },
            Halt::End(End::TooBig) => CallError::TooBig {
                server,
                limit: self.spec.max_message_bytes,
            },
            Halt::End(End::Malformed(reason)) => self.malformed(method, &reason),
            Halt::End(End::Http(refusal)) => {
                let open = !refusal.trouble.is_before_dispatch();
                let why = self.link.wire.secrets.shown(&refusal.why);
                CallError::Http {
                    server,
                    trouble: refusal.trouble,
                    why: bounds::message(&why) + if open { performed(method) } else { "" },
                }
            }
            Halt::Late(_, after) if greeting || unheard => CallError::StartupTimeout {
                server,
                after,
                stderr_tail: self.link.stderr_tail(),
                astray: astray(&self.first_noise()),
            },
            Halt::Late(limit, after) => CallError::TimedOut {
                server,
                method,
                limit,
                after,
                asked: self.question(),
                astray: astray(&self.first_noise()),
            },
            Halt::End(End::Closed) if greeting => CallError::ExitedBeforeReady {
                server,
                ended: self.link.status(),
                heard: self.link.wire.heard,
                stderr_tail: self.link.stderr_tail(),
            },
            Halt::End(End::Closed) => CallError::Died {
                server,
                method,
                ended: self.link.status(),
                heard: self.link.wire.heard,
                stderr_tail: self.link.stderr_tail(),
            },
        }
    }

    /// The error of an answer that breaks the protocol.
    pub(super) fn malformed(&self, method: &'static str, reason: &str) -> CallError {
        CallError::Malformed {
            server: self.spec.name.clone(),
            method,
            reason: self.excerpt(reason),
        }
    }

    pub(super) fn rpc(&self, method: &'static str, error: &RpcError) -> CallError {
        let message = bounds::message(&self.link.wire.secrets.cut(&error.message));
        let doubtful = is_greeting(method) && is_not_understood(error.code);
        let declared = Some(self.spec.protocol).filter(|protocol| *protocol != Protocol::Auto);
        CallError::Rpc {
            server: self.spec.name.clone(),
            method,
            code: error.code,
            message,
            words: self.words(error),
            asked: self.question(),
            declared: declared.filter(|_| doubtful),
        }
    }

    /// The message and the data of an error; none if the error was too long to be read.
    pub(super) fn words(&self, error: &RpcError) -> Option<String> {
        let secrets = &self.link.wire.secrets;
        let data = error
            .data
            .clone()
            .map(|data| secrets.cut_value(data).to_string());
        let message = secrets.cut(&error.message);
        matches!(error.extent, Extent::Whole)
            .then(|| format!("{message}\n{}", data.unwrap_or_default()))
    }

    /// The error of a server that supports no version of oneact, or not the one that the catalog declares.
    pub(super) fn mismatch(&self, reason: &str, words: Option<String>) -> CallError {
        CallError::ProtocolMismatch {
            server: self.spec.name.clone(),
            words,
            reason: self.excerpt(reason),
            declared: self.spec.protocol,
        }
    }

    /// Prepares the session for another call.
    pub(super) fn turn(&mut self) {
        self.link.wire.turn();
        self.timings = Timings::default();
    }

    pub(super) fn version(&self) -> Option<&str> {
        self.peer.as_ref().map(|peer| peer.version.as_str())
    }

    /// Whether the version is 2026-07-28 or later.
    pub(super) fn is_modern(&self) -> bool {
        self.version().is_some_and(is_modern)
    }

    /// Whether a call repeats some of its parameters in headers.
    pub(super) fn mirrors(&self) -> bool {
        self.link.is_remote() && self.is_modern()
    }

    /// What the server asked for during the call.
    pub(super) fn question(&self) -> Option<String> {
        let question = self.link.wire.asked.as_ref()?;
        Some(bounds::message(&self.link.wire.secrets.cut(question)))
    }

    /// The first line on stdout that was no MCP message.
    fn first_noise(&self) -> String {
        let noise = self.link.wire.noise().sample;
        self.excerpt(noise.lines().next().unwrap_or_default())
    }

    /// Gives a borrowed server back, and tells any other one to end.
    pub(super) fn part(&mut self) {
        if self.peer.is_some() {
            self.link.give_back(self.peer.clone());
        }
        self.link.close();
    }

    /// Ends the server.
    pub(super) async fn stop(&mut self) {
        self.link.stop(self.spec.shutdown_grace).await;
    }

    pub(super) fn report(&self) -> ServerReport {
        let cut = |text: &str| bounds::name(&self.link.wire.secrets.cut(text));
        let info = self.peer.as_ref().and_then(|peer| peer.info.as_ref());
        ServerReport {
            protocol: self.version().map(cut),
            server_info: info.map(|info| (cut(&info.name), cut(&info.version))),
            asked: self.question(),
            timings: self.timings,
            ..self.link.report()
        }
    }
}

/// An id that no earlier request had, also of another process, which counted from 0: the id of a retry must differ
/// (2026-07-28, Multi Round-Trip Requests).
pub(super) fn another_id(host: &Host) -> i64 {
    let [a, b, c, d, ..] = host.random_bytes();
    (1 << 32) + i64::from(u32::from_be_bytes([a, b, c, d]))
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
