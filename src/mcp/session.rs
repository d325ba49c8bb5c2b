//! A running server and the talk with it. Every wait here also ends when the server does, when a
//! limit runs out and when a signal asks us to stop; none relies on the server for that.

use std::{pin::pin, sync::Arc, time::Duration};

use rmcp::{
    RoleClient,
    model::{ClientRequest, ProtocolVersion},
    service::{PeerRequestOptions, RunningService},
};
use rustix::process::Signal;
use tokio::{
    join, select,
    task::yield_now,
    time::{Instant, sleep_until, timeout},
};

use super::{
    alarm::Alarm,
    bounds,
    child::{Child, Reaped, Started},
    desk::{Desk, End},
    error::{CallError, Limit},
    handler::Handler,
    raw::Answer,
    report::{Killed, Parting, ServerReport},
    spec::{Caller, Progress, ServerSpec},
    stderr::Stderr,
    wire::Wire,
};
use crate::{
    host::{Host, Interrupt, Moment},
    task::{Phase, Protocol, Secrets, Timings},
};

/// rmcp's side of a session.
pub(super) type Service = RunningService<RoleClient, Handler>;

/// After the server's end, its last lines are waited for this long: a grandchild may hold a pipe.
const LAST_WORDS: Duration = Duration::from_millis(50);
/// Enough for a reader to wake up, to empty a pipe and to hand on what it found.
const LAST_TURNS: u32 = 16;
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
    pub(super) server: String,
    pub(super) wire: Wire,
    pub(super) desk: Arc<Desk>,
    pub(super) secrets: Secrets,
    pub(super) caller: Caller,
    /// Since the handshake.
    pub(super) service: Option<Service>,
    pub(super) standing: Standing,
    /// As the catalog says.
    declared: Protocol,
    pub(super) timings: Timings,
    pub(super) started: Moment,
    child: Child,
    stderr: Stderr,
    max_message_bytes: usize,
    parting: Parting,
    /// The end of the server and of what it left behind.
    reaped: Reaped,
}

/// Why a wait gave nothing.
#[derive(Debug)]
pub(super) enum Halt {
    Signal(Interrupt),
    Late(Limit, Duration),
    Gone,
    TooBig,
    Malformed(String),
}

impl From<End> for Halt {
    fn from(end: End) -> Self {
        match end {
            End::Closed => Self::Gone,
            End::TooBig => Self::TooBig,
            End::Malformed(reason) => Self::Malformed(reason),
        }
    }
}

/// How long an exchange may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) idle: Option<Duration>,
    pub(super) total: Duration,
    pub(super) until: Instant,
}

impl Session {
    /// Starts the server and begins to read from it. Needs a runtime around it.
    pub(super) fn open(spec: &ServerSpec, host: &Host) -> Result<Self, CallError> {
        Self::with(Started::new(spec, host)?, spec)
    }

    /// Begins to read from a server that was started. Needs a runtime around it.
    pub(super) fn with(server: Started, spec: &ServerSpec) -> Result<Self, CallError> {
        let started = server.began;
        let (child, pipes) = server.watched(spec)?;
        let secrets = spec.secrets.clone();
        let desk = Arc::new(Desk::new(&secrets));
        Ok(Self {
            server: spec.name.clone(),
            wire: Wire::new(pipes.stdin, pipes.stdout, spec.max_message_bytes, &desk),
            stderr: Stderr::drain(pipes.stderr, &secrets),
            desk,
            secrets,
            caller: spec.caller,
            service: None,
            standing: Standing::Open,
            declared: spec.protocol,
            timings: Timings {
                spawn_ms: millis(started.elapsed()),
                ..Timings::default()
            },
            started,
            child,
            max_message_bytes: spec.max_message_bytes,
            parting: Parting::default(),
            reaped: Reaped::default(),
        })
    }

    /// Does `work` (a part of the handshake) until it is done or something ends it.
    pub(super) async fn guard<T>(
        &self,
        alarm: &Alarm<'_>,
        limits: &Limits,
        work: impl Future<Output = T>,
    ) -> Result<T, Halt> {
        let mut work = pin!(work);
        select! {
            biased;
            signal = alarm.rung() => return Err(Halt::Signal(signal)),
            done = &mut work => return Ok(done),
            () = self.child.ended() => {}
            () = sleep_until(limits.until) => return Err(Halt::Late(Limit::Total, limits.total)),
        }
        // It may have answered before it ended.
        select! {
            biased;
            done = &mut work => Ok(done),
            halt = self.gone() => Err(halt),
        }
    }

    /// Does `work` of our own until it is done, a limit runs out or a signal stops us.
    pub(super) async fn unless_stopped<T>(
        &self,
        alarm: &Alarm<'_>,
        limits: &Limits,
        work: impl Future<Output = T>,
    ) -> Result<T, Halt> {
        select! {
            biased;
            signal = alarm.rung() => Err(Halt::Signal(signal)),
            done = work => Ok(done),
            () = sleep_until(limits.until) => Err(Halt::Late(Limit::Total, limits.total)),
        }
    }

    /// Sends a request that may be repeated, and waits for its answer. A server that refuses the version of the
    /// request and supports it all the same is asked a second time, and no more (2026-07-28, Versioning).
    pub(super) async fn exchange(
        &self,
        alarm: &Alarm<'_>,
        limits: &Limits,
        request: ClientRequest,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Answer, Halt> {
        let version = self.version().filter(|version| !version.has_initialize());
        let again = version.map(|version| (version, request.clone()));
        let answer = self.ask(alarm, limits, request, on_progress).await?;
        match (&answer, again) {
            (Answer::Error(error), Some((version, request))) if error.offers(version.as_str()) => {
                self.ask(alarm, limits, request, on_progress).await
            }
            _ => Ok(answer),
        }
    }

    /// Sends a request and waits for its answer. A server that ends may have answered before.
    pub(super) async fn ask(
        &self,
        alarm: &Alarm<'_>,
        limits: &Limits,
        request: ClientRequest,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Answer, Halt> {
        self.desk.await_next();
        let Some(service) = &self.service else {
            return Err(Halt::Gone);
        };
        let Ok(handle) = service
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await
        else {
            return Err(self.gone().await);
        };
        let idle = limits.idle.unwrap_or(limits.total);
        let mut idle_until = Instant::now() + idle;
        let halt = loop {
            // Limits first: a server that never stops talking must not outrun them.
            select! {
                biased;
                signal = alarm.rung() => break Halt::Signal(signal),
                () = sleep_until(limits.until) => break Halt::Late(Limit::Total, limits.total),
                () = sleep_until(idle_until) => break Halt::Late(Limit::Idle, idle),
                () = self.child.ended() => break Halt::Gone,
                () = self.desk.rung() => {}
            }
            let news = self.desk.news();
            if let Some(progress) = news.progress {
                idle_until = Instant::now() + idle;
                on_progress(self.without_secrets(progress));
            }
            match (news.answer, news.end) {
                (Some(answer), _) => return Ok(answer),
                (None, Some(end)) => break end.into(),
                (None, None) => {}
            }
        };
        let halt = if matches!(halt, Halt::Gone) {
            self.gone().await
        } else {
            halt
        };
        if let Some(answer) = self.desk.news().answer {
            return Ok(answer);
        }
        if matches!(halt, Halt::Late(..) | Halt::Signal(_)) {
            let reason = if matches!(halt, Halt::Signal(_)) {
                "cancelled"
            } else {
                "timed out"
            };
            let _ = timeout(CANCEL_NOTICE, handle.cancel(Some(reason.to_owned()))).await;
        }
        Err(halt)
    }

    /// The start of a text from the server, without secrets: for an error.
    pub(super) fn excerpt(&self, text: &str) -> String {
        const KEPT: usize = 300;
        let text = self.secrets.cut(text);
        let mut start: String = text.chars().take(KEPT).collect();
        if start.len() < text.len() {
            start.push('…');
        }
        start
    }

    fn without_secrets(&self, progress: Progress) -> Progress {
        Progress {
            message: progress
                .message
                .map(|text| bounds::message(&self.secrets.shown(&text))),
            ..progress
        }
    }

    /// The pipes are closed or the process has ended: takes in what is left, and says which.
    pub(super) async fn gone(&self) -> Halt {
        let _ = timeout(LAST_WORDS, async {
            join!(
                self.child.ended(),
                self.wire.read_out(),
                self.stderr.read_out()
            );
        })
        .await;
        // On a busy machine that time may pass without the readers' having had a turn.
        for _ in 0..LAST_TURNS {
            yield_now().await;
        }
        self.desk.peek_end().map_or(Halt::Gone, Halt::from)
    }

    /// The error of a wait that ended too early, in the words of its phase.
    pub(super) fn error(&self, halt: Halt, phase: Phase, method: &'static str) -> CallError {
        let server = self.server.clone();
        let stderr_tail = self.stderr.so_far(&self.secrets).0;
        let ended = self.child.status();
        let heard = self.desk.heard();
        match halt {
            Halt::Signal(signal) => CallError::Cancelled { server, signal },
            Halt::TooBig => CallError::TooBig {
                server,
                limit: self.max_message_bytes,
            },
            Halt::Malformed(reason) => CallError::Malformed {
                server,
                method,
                reason: self.excerpt(&reason),
            },
            Halt::Late(_, after) if phase <= Phase::Negotiate => CallError::StartupTimeout {
                server,
                after,
                stderr_tail,
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
            Halt::Gone if phase <= Phase::Negotiate => CallError::ExitedBeforeReady {
                server,
                ended,
                heard,
                stderr_tail,
            },
            Halt::Gone => CallError::Died {
                server,
                method,
                ended,
                heard,
                stderr_tail,
            },
        }
    }

    /// The error of a server that speaks no version we do, or none it is said to.
    pub(super) fn mismatch(&self, reason: &str) -> CallError {
        CallError::ProtocolMismatch {
            server: self.server.clone(),
            reason: self.excerpt(reason),
            declared: self.declared,
        }
    }

    /// Whether it still runs, and is listened to.
    pub(super) fn is_up(&self) -> bool {
        self.child.status().is_none() && self.desk.peek_end().is_none()
    }

    /// What came of the call before counts no more: it was good, so the era is agreed on.
    pub(super) fn turn(&mut self) {
        self.desk.turn();
        self.standing = Standing::Agreed;
        self.timings = Timings::default();
    }

    /// The version agreed on.
    pub(super) fn version(&self) -> Option<ProtocolVersion> {
        let service = self.service.as_ref()?;
        Some(service.peer_info()?.protocol_version.clone())
    }

    /// Whether that is 2026-07-28 or later.
    pub(super) fn is_modern(&self) -> bool {
        self.version()
            .is_some_and(|version| !version.has_initialize())
    }

    /// What the server asked for while it was called.
    pub(super) fn question(&self) -> Option<String> {
        let question = self.desk.question()?;
        Some(bounds::message(&self.secrets.cut(&question)))
    }

    /// The first line on stdout that was no message.
    fn first_noise(&self) -> String {
        let noise = self.desk.noise_so_far().sample;
        self.excerpt(noise.lines().next().unwrap_or_default())
    }

    /// Ends the server: stdin closed, time to end by itself, SIGTERM to its group, SIGKILL.
    pub(super) async fn stop(&mut self, grace: Duration) {
        self.wire.close_stdin();
        self.parting = Parting::Itself;
        if timeout(grace, self.child.ended()).await.is_err() {
            self.parting = Parting::Helped;
            self.child.signal(Signal::TERM);
            // What is still alive after this, `reap` kills.
            let _ = timeout(TERM_GRACE, self.child.ended()).await;
        }
        self.reaped = self.child.reap();
        let _ = timeout(LAST_WORDS, self.stderr.read_out()).await;
    }

    pub(super) fn report(&self) -> ServerReport {
        let (stderr_tail, stderr_bytes) = self.stderr.so_far(&self.secrets);
        let peer = self
            .service
            .as_ref()
            .and_then(|service| service.peer_info());
        let info = peer.as_ref().and_then(|peer| peer.server_info.as_ref());
        let cut = |text: &str| bounds::name(&self.secrets.cut(text));
        ServerReport {
            exit_status: self.child.status(),
            parting: self.parting,
            stderr_tail,
            stderr_bytes,
            stdout_noise: self.desk.noise_so_far(),
            protocol: peer
                .as_ref()
                .map(|peer| cut(&peer.protocol_version.to_string())),
            server_info: info.map(|info| (cut(&info.name), cut(&info.version))),
            asked: self.question(),
            timings: self.timings,
            killed: self
                .reaped
                .killed
                .iter()
                .map(|killed| Killed {
                    pid: killed.pid,
                    name: cut(&killed.name),
                })
                .collect(),
        }
    }
}

/// Whole milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
