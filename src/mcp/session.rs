//! A running server and the talk with it. Every wait here also ends when the server does, when a
//! limit runs out and when a signal asks us to stop; none relies on the server for that.

use std::{future::pending, time::Duration};

use rustix::process::Signal;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::{
    join, select,
    time::{Instant, sleep_until, timeout},
};

use super::{
    bounds,
    child::{Child, Reaped, Started, failed},
    error::{CallError, Hint, Limit},
    message::{DISCOVER, MODERN, RpcError, is_greeting, is_modern, members, sender},
    raw::Answer,
    report::{Killed, Parting, ServerReport},
    spec::{Progress, ServerSpec},
    wait::{Alarm, Halt, Limits},
    wire::{End, Wire},
};
use crate::{
    host::{Host, Moment},
    task::Timings,
};

/// After the server's end, its last lines are waited for this long: a grandchild may hold a pipe.
const LAST_WORDS: Duration = Duration::from_millis(50);
/// A server that does not read must not delay its own end.
const CANCEL_NOTICE: Duration = Duration::from_millis(50);
/// From SIGTERM to SIGKILL.
const TERM_GRACE: Duration = Duration::from_millis(500);

/// Why it is thought that the server speaks the era in which it is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing was said yet.
    Open,
    /// It has answered in it.
    Agreed,
    /// The catalog says so.
    Declared,
    /// It did so in another run.
    Remembered,
}

/// One server process and our ends of its pipes.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) spec: ServerSpec,
    pub(super) wire: Wire,
    pub(super) peer: Option<Peer>,
    pub(super) standing: Standing,
    /// How long the next exchange may take.
    pub(super) limits: Limits,
    /// The id of the next request, and its progress token.
    pub(super) next_id: i64,
    pub(super) timings: Timings,
    pub(super) started: Moment,
    alarm: Alarm,
    child: Child,
    parting: Parting,
    /// The end of the server and of what it left behind.
    reaped: Reaped,
}

/// What is known of a server that was greeted.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) version: String,
    pub(super) info: Option<Implementation>,
}

/// How a server calls itself.
#[derive(Debug, Deserialize)]
pub(super) struct Implementation {
    name: String,
    version: String,
}

impl Session {
    pub(super) fn open(spec: &ServerSpec, host: &Host) -> Result<Self, CallError> {
        Self::with(Started::new(spec, host)?, spec, host)
    }

    /// Takes over a server that was started. Needs a runtime around it.
    pub(super) fn with(server: Started, spec: &ServerSpec, host: &Host) -> Result<Self, CallError> {
        let started = server.began;
        let (child, pipes) = server.watched(spec)?;
        let alarm = Alarm::new(host).map_err(failed(spec, "listen for signals"))?;
        Ok(Self {
            spec: spec.clone(),
            wire: Wire::new(pipes, &spec.secrets, spec.max_message_bytes),
            peer: None,
            standing: Standing::Open,
            limits: Limits::within(spec.startup_timeout),
            next_id: 0,
            timings: Timings {
                spawn_ms: millis(started.elapsed()),
                ..Timings::default()
            },
            started,
            alarm,
            child,
            parting: Parting::default(),
            reaped: Reaped::default(),
        })
    }

    /// Does `work` of our own until it is done, the time is up or a signal stops us.
    pub(super) async fn unless_stopped<T>(
        &self,
        limits: Limits,
        work: impl Future<Output = T>,
    ) -> Result<T, Halt> {
        select! {
            biased;
            signal = self.alarm.rung() => Err(Halt::Signal(signal)),
            done = work => Ok(done),
            () = sleep_until(limits.until) => Err(Halt::Late(Limit::Total, limits.total)),
        }
    }

    /// Sends a request that may be repeated, and waits for its answer. A server that refuses the version of the
    /// request and supports it all the same is asked a second time, and no more (2026-07-28, Versioning).
    pub(super) async fn exchange(
        &mut self,
        method: &'static str,
        params: Map<String, Value>,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Answer, Halt> {
        let answer = self.ask(method, params.clone(), on_progress).await?;
        let version = if method == DISCOVER {
            Some(MODERN)
        } else {
            self.version()
        };
        match (&answer, version) {
            (Answer::Error(error), Some(version))
                if is_modern(version)
                    && error.supported().is_some_and(|all| all.contains(&version)) =>
            {
                self.ask(method, params, on_progress).await
            }
            _ => Ok(answer),
        }
    }

    /// Sends a request and waits for its answer. A server that ends may have answered before.
    pub(super) async fn ask(
        &mut self,
        method: &'static str,
        params: Map<String, Value>,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Answer, Halt> {
        let id = self.next_id;
        self.next_id += 1;
        let params = self.with_meta(method, id, params);
        self.wire.send(id, method, params);
        let limits = self.limits;
        let idle = limits.idle.unwrap_or(limits.total);
        let mut idle_until = Instant::now() + idle;
        let halt = loop {
            // Limits first: a server that never stops talking must not outrun them.
            select! {
                biased;
                signal = self.alarm.rung() => break Halt::Signal(signal),
                () = sleep_until(limits.until) => break Halt::Late(Limit::Total, limits.total),
                () = sleep_until(idle_until) => break Halt::Late(Limit::Idle, idle),
                () = self.child.ended() => break self.gone().await,
                () = self.wire.news() => {}
            }
            if let Some(progress) = self.wire.progress.take() {
                idle_until = Instant::now() + idle;
                let shown = |text: String| bounds::message(&self.spec.secrets.shown(&text));
                on_progress(Progress {
                    message: progress.message.map(shown),
                    ..progress
                });
            }
            if let Some(answer) = self.wire.answer.take() {
                return Ok(answer);
            }
            match &self.wire.end {
                None => {}
                Some(End::Closed) => break self.gone().await,
                Some(end) => break Halt::End(end.clone()),
            }
        };
        // It may have come at the same time.
        let _ = timeout(Duration::ZERO, self.wire.news()).await;
        if let Some(answer) = self.wire.answer.take() {
            return Ok(answer);
        }
        let reason = match halt {
            Halt::Late(..) => "timed out",
            Halt::Signal(_) => "cancelled",
            Halt::End(_) => return Err(halt),
        };
        if !is_greeting(method) {
            let params = members([("requestId", id.into()), ("reason", reason.into())]);
            self.wire.write(None, "notifications/cancelled", params);
            let _ = timeout(CANCEL_NOTICE, self.wire.written()).await;
        }
        Err(halt)
    }

    /// Sends a notification, and waits until it is on its way.
    pub(super) async fn notify(&mut self, method: &str) -> Result<(), Halt> {
        let limits = self.limits;
        self.wire.write(None, method, Map::new());
        select! {
            biased;
            signal = self.alarm.rung() => return Err(Halt::Signal(signal)),
            () = self.wire.written() => {}
            () = self.child.ended() => return Err(self.gone().await),
            () = sleep_until(limits.until) => return Err(Halt::Late(Limit::Total, limits.total)),
        }
        if self.wire.is_open() {
            Ok(())
        } else {
            Err(self.gone().await)
        }
    }

    /// The parameters with what the era wants beside them.
    fn with_meta(
        &self,
        method: &str,
        id: i64,
        mut params: Map<String, Value>,
    ) -> Map<String, Value> {
        let mut meta = match self.version() {
            Some(version) if is_modern(version) => sender(version, self.spec.caller),
            None if method == DISCOVER => sender(MODERN, self.spec.caller),
            _ => Map::new(),
        };
        if !is_greeting(method) {
            meta.insert("progressToken".to_owned(), id.into());
        }
        if !meta.is_empty() {
            params.insert("_meta".to_owned(), Value::Object(meta));
        }
        params
    }

    /// The start of a text from the server, without secrets: for an error.
    pub(super) fn excerpt(&self, text: &str) -> String {
        bounds::excerpt(&self.spec.secrets.cut(text))
    }

    /// The pipes are closed or the process has ended: takes in what is left, and says which.
    async fn gone(&mut self) -> Halt {
        let (child, wire) = (&self.child, &mut self.wire);
        let _ = timeout(LAST_WORDS, async { join!(child.ended(), wire.read_out()) }).await;
        Halt::End(self.wire.end.clone().unwrap_or(End::Closed))
    }

    /// The error of a wait that ended too early, in the words of its phase.
    pub(super) fn error(&self, halt: Halt, method: &'static str) -> CallError {
        let server = self.spec.name.clone();
        let greeting = is_greeting(method);
        match halt {
            Halt::Signal(signal) => CallError::Cancelled { server, signal },
            Halt::End(End::TooBig) => CallError::TooBig {
                server,
                limit: self.spec.max_message_bytes,
            },
            Halt::End(End::Malformed(reason)) => self.malformed(method, &reason),
            Halt::Late(_, after) if greeting => CallError::StartupTimeout {
                server,
                after,
                stderr_tail: self.stderr_tail(),
                noise: self.first_noise(),
            },
            Halt::Late(limit, after) => CallError::TimedOut {
                server,
                method,
                limit,
                after,
                asked: self.question(),
                noise: self.first_noise(),
            },
            Halt::End(End::Closed) if greeting => CallError::ExitedBeforeReady {
                server,
                ended: self.child.status(),
                heard: self.wire.heard,
                stderr_tail: self.stderr_tail(),
            },
            Halt::End(End::Closed) => CallError::Died {
                server,
                method,
                ended: self.child.status(),
                heard: self.wire.heard,
                stderr_tail: self.stderr_tail(),
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

    pub(super) fn rpc(&self, method: &'static str, error: RpcError, hint: Hint) -> CallError {
        let secrets = &self.spec.secrets;
        CallError::Rpc {
            server: self.spec.name.clone(),
            method,
            code: error.code,
            message: bounds::message(&secrets.cut(&error.message)),
            data: error.data.map(|data| Box::new(secrets.cut_value(data))),
            asked: self.question(),
            hint,
        }
    }

    /// The error of a server that speaks no version we do, or none it is said to.
    pub(super) fn mismatch(&self, reason: &str) -> CallError {
        CallError::ProtocolMismatch {
            server: self.spec.name.clone(),
            reason: self.excerpt(reason),
            declared: self.spec.protocol,
        }
    }

    /// Whether it still runs, is listened to and was not told to end.
    pub(super) fn is_up(&self) -> bool {
        self.child.status().is_none() && self.wire.is_open()
    }

    /// What came of the call before counts no more: it was good, so the era is agreed on.
    pub(super) fn turn(&mut self) {
        self.wire.turn();
        self.standing = Standing::Agreed;
        self.timings = Timings::default();
    }

    pub(super) fn version(&self) -> Option<&str> {
        self.peer.as_ref().map(|peer| peer.version.as_str())
    }

    /// Whether that is 2026-07-28 or later.
    pub(super) fn is_modern(&self) -> bool {
        self.version().is_some_and(is_modern)
    }

    /// What the server asked for while it was called.
    pub(super) fn question(&self) -> Option<String> {
        let question = self.wire.asked.as_ref()?;
        Some(bounds::message(&self.spec.secrets.cut(question)))
    }

    fn stderr_tail(&self) -> String {
        self.wire.stderr.tail(&self.spec.secrets)
    }

    /// The first line on stdout that was no message.
    fn first_noise(&self) -> String {
        let noise = self.wire.noise().sample;
        self.excerpt(noise.lines().next().unwrap_or_default())
    }

    /// Ends the server: stdin closed, time to end by itself, SIGTERM to its group, SIGKILL.
    pub(super) async fn stop(&mut self) {
        self.wire.close_stdin();
        self.parting = Parting::Itself;
        if timeout(self.spec.shutdown_grace, self.ended())
            .await
            .is_err()
        {
            self.parting = Parting::Helped;
            self.child.signal(Signal::TERM);
            // What is still alive after this, `reap` kills.
            let _ = timeout(TERM_GRACE, self.ended()).await;
        }
        self.reaped = self.child.reap();
        let _ = timeout(LAST_WORDS, self.wire.read_out()).await;
    }

    /// Waits until the server has ended. What it still says is read, so that it can end.
    async fn ended(&mut self) {
        let wire = &mut self.wire;
        let reading = async {
            wire.read_out().await;
            pending::<()>().await;
        };
        select! {
            () = self.child.ended() => {}
            () = reading => {}
        }
    }

    pub(super) fn report(&self) -> ServerReport {
        let cut = |text: &str| bounds::name(&self.spec.secrets.cut(text));
        let info = self.peer.as_ref().and_then(|peer| peer.info.as_ref());
        let killed = self.reaped.killed.iter();
        ServerReport {
            exit_status: self.child.status(),
            parting: self.parting,
            stderr_tail: self.stderr_tail(),
            stderr_bytes: self.wire.stderr.total,
            stdout_noise: self.wire.noise(),
            protocol: self.version().map(cut),
            server_info: info.map(|info| (cut(&info.name), cut(&info.version))),
            asked: self.question(),
            timings: self.timings,
            killed: killed
                .map(|killed| Killed {
                    pid: killed.pid,
                    name: cut(&killed.name),
                })
                .collect(),
        }
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
