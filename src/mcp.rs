//! One tool call on one MCP server over stdio, from a process that makes no second one; or a look
//! at the server without a call ([`inspect()`]).
//!
//! Blocking outside, async inside: a runtime on the calling thread, gone with the call. The room
//! knows servers, tools and answers, and nothing of catalogs, plans, ledgers or envelopes.
//!
//! It promises that a call ends: by its answer, by the end of the server, by one of its limits or
//! by a signal, whatever the server does with its pipes. It promises to say truly whether the tool
//! may have done something ([`Effect`]). And it leaves no process behind.
//!
//! rmcp does the handshake; `wire` says what it is kept away from, and why.

mod adopted;
mod alarm;
mod answer;
mod arguments;
mod bounds;
mod cause;
mod child;
mod closing;
mod desk;
mod era;
mod error;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod greeting;
mod handler;
mod inspect;
mod memory;
mod message;
mod output;
mod questions;
mod race;
mod raw;
mod report;
mod schema;
mod session;
mod spec;
mod stderr;
#[cfg(test)]
mod tests;
mod tools;
mod torn;
mod wire;

use std::{io, time::Duration};

use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use tokio::{
    runtime::{Builder, Runtime},
    time::Instant,
};

use self::{
    alarm::Alarm,
    child::Started,
    desk::CallLine,
    era::{Found, Opening, Setting},
    memory::Memory,
    session::{Limits, Session, Standing, millis},
};
pub(crate) use self::{
    answer::{Content, Part, ToolAnswer},
    closing::Closing,
    error::CallError,
    inspect::{Inspection, inspect},
    output::OutputCheck,
    raw::Raw,
    report::{Parting, ServerReport},
    spec::{ArgumentCheck, Caller, Progress, Resumption, ServerSpec, ToolCall},
    tools::{Hints, ToolListing, near},
};
use crate::{
    host::Host,
    task::{Drift, Effect, OnDrift, Phase, Pinned, Repeatable},
};

/// How a call ended.
#[derive(Debug)]
pub(crate) struct CallEnd {
    pub(crate) result: Result<ToolAnswer, CallError>,
    pub(crate) effect: Effect,
    /// How far it came: a call that was answered ends in [`Phase::Call`].
    pub(crate) phase: Phase,
    /// Of `tools/call` alone; zero under a fixed clock.
    pub(crate) elapsed: Duration,
    /// How the tool differs from its pin, if the call was made all the same.
    pub(crate) drift: Option<Drift>,
    /// Whether the answer is what the tool says that its answers are.
    pub(crate) output: OutputCheck,
    /// The server, told to end. It has ended already if it failed us.
    pub(crate) closing: Closing,
}

/// What becomes of a server after a good answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// It is told to end.
    End,
    /// It waits for another call of this run.
    Stay,
}

/// Calls a tool on a server of its own, see [`call_among`].
#[cfg(test)]
pub(crate) fn call(
    server: &ServerSpec,
    call: &ToolCall,
    host: &Host,
    progress: &mut dyn FnMut(Progress),
) -> CallEnd {
    call_among(&mut Vec::new(), After::End, server, call, host, progress)
}

/// Calls a tool: on the one of `waiting` that was started as `server` says and still runs, else on a new one.
/// Must not be called from async code, and the calling thread must live until the end of [`Closing`]: the
/// server dies with it.
pub(crate) fn call_among(
    waiting: &mut Vec<Closing>,
    after: After,
    server: &ServerSpec,
    call: &ToolCall,
    host: &Host,
    progress: &mut dyn FnMut(Progress),
) -> CallEnd {
    let found = waiting.iter().position(|one| one.serves(server));
    if let Some((runtime, session)) = found.and_then(|at| waiting.remove(at).resume()) {
        tracing::info!("Server {} is asked again: it still runs.", server.name);
        let end = called(runtime, session, after, server, call, host, progress);
        let unheard = end.effect == Effect::None;
        if !(unheard && matches!(end.result, Err(CallError::Died { .. }))) {
            return end;
        }
        tracing::info!("Server {} ended before it could be asked.", server.name);
    }
    match open(server, host) {
        Ok((runtime, session)) => called(runtime, session, after, server, call, host, progress),
        Err(error) => CallEnd::without_server(error),
    }
}

fn called(
    runtime: Runtime,
    mut session: Session,
    after: After,
    server: &ServerSpec,
    call: &ToolCall,
    host: &Host,
    progress: &mut dyn FnMut(Progress),
) -> CallEnd {
    let mut course = Course {
        phase: Phase::Negotiate,
        answered: false,
        elapsed: Duration::ZERO,
        drift: None,
        output: OutputCheck::None,
    };
    let result = runtime.block_on(converse(
        &mut session,
        &mut course,
        server,
        call,
        host,
        progress,
    ));
    let asked = matches!(result, Err(CallError::InputRequired { .. }));
    let effect = match session.desk.call_line() {
        _ if course.answered && !asked => Effect::Done,
        CallLine::Delivered => Effect::Unknown,
        CallLine::Unsent => Effect::None,
    };
    let mut closing = Closing::new(runtime, session, server);
    match &result {
        Ok(_) if after == After::Stay => {}
        Ok(_) | Err(_) => closing.tell(),
    }
    if result
        .as_ref()
        .is_err_and(|error| !error.leaves_server_sound())
    {
        closing.end();
    }
    CallEnd {
        result,
        effect,
        phase: course.phase,
        elapsed: course.elapsed,
        drift: course.drift,
        output: course.output,
        closing,
    }
}

/// How far a conversation came.
struct Course {
    phase: Phase,
    answered: bool,
    elapsed: Duration,
    drift: Option<Drift>,
    output: OutputCheck,
}

impl CallEnd {
    fn without_server(error: CallError) -> Self {
        Self {
            result: Err(error),
            effect: Effect::None,
            phase: Phase::Spawn,
            elapsed: Duration::ZERO,
            drift: None,
            output: OutputCheck::None,
            closing: Closing::nothing(),
        }
    }
}

fn open(server: &ServerSpec, host: &Host) -> Result<(Runtime, Session), CallError> {
    if let Some(signal) = host.interrupts().caught() {
        return Err(CallError::Cancelled {
            server: server.name.clone(),
            signal,
        });
    }
    let failed = |source| CallError::SpawnFailed {
        server: server.name.clone(),
        operation: "start an event loop",
        source,
    };
    let started = Started::new(server, host)?;
    room(host).map_err(failed)?;
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(failed)?;
    let session = {
        let _inside = runtime.enter();
        Session::with(started, server)?
    };
    Ok((runtime, session))
}

/// An error if so few files can still be opened that tokio would panic for want of them.
fn room(host: &Host) -> io::Result<()> {
    const NEEDED: usize = 8;
    let wake = host.interrupts().wake()?;
    let spare = (0..NEEDED).map(|_| fcntl_dupfd_cloexec(wake, 0));
    let spare: Result<Vec<_>, Errno> = spare.collect();
    Ok(spare.map(drop)?)
}

/// Handshake, check, call.
async fn converse(
    session: &mut Session,
    course: &mut Course,
    server: &ServerSpec,
    call: &ToolCall,
    host: &Host,
    progress: &mut dyn FnMut(Progress),
) -> Result<ToolAnswer, CallError> {
    let alarm = Alarm::new(host).map_err(|source| CallError::SpawnFailed {
        server: server.name.clone(),
        operation: "listen for signals",
        source,
    })?;
    tracing::debug!("server started");
    let end = call.budget.map(|budget| Instant::now() + budget);
    let at = Setting::new(server, host, &alarm, end);
    let found = match session.service {
        // It has been greeted, and has answered.
        Some(_) => None,
        None => era::negotiate(session, Opening::of(call), &at).await?,
    };
    let first = attempt(session, course, call, found, &at, progress).await;
    let Err(error) = first else { return first };
    if session.standing != Standing::Remembered {
        return Err(error);
    }
    if !course.answered {
        if matches!(error, CallError::Died { .. } | CallError::TimedOut { .. })
            && let Some(memory) = Memory::of(server)
        {
            memory.forget();
        }
        return Err(error);
    }
    // An error that a modern server may answer too, and that is then the tool's own.
    let at = Setting::new(server, host, &alarm, end);
    if era::shows_another_era(&error) && era::turned_legacy(session, &at).await {
        course.answered = false;
        return attempt(session, course, call, None, &at, progress).await;
    }
    Err(error)
}

/// Check and call, on a server that has been greeted.
async fn attempt(
    session: &mut Session,
    course: &mut Course,
    call: &ToolCall,
    found: Found,
    at: &Setting<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<ToolAnswer, CallError> {
    let (alarm, host) = (at.alarm, at.host);
    if call.resumption.is_some() {
        can_resume(session)?;
        session.desk.number_call(another_id(host));
    }
    tracing::debug!("handshake done");
    let mut limits = Limits {
        idle: call.idle_timeout,
        total: call.total_timeout,
        until: Instant::now() + call.total_timeout,
    };
    limits.until = at.end.map_or(limits.until, |end| end.min(limits.until));
    if session.standing != Standing::Agreed {
        // Without a handshake the first answer tells that the server is up.
        limits.idle = limits.idle.map(|idle| idle.max(at.limits.total));
    }
    let mut tool = None;
    if call.lists() {
        course.phase = Phase::ValidateArguments;
        tool = Some(check(session, course, call, found, at, &limits).await?);
        limits.idle = call.idle_timeout;
    } else {
        tracing::info!("The server's tools are not listed: nothing is to be checked against them.");
    }

    course.phase = Phase::Call;
    let mut params =
        CallToolRequestParams::new(call.tool.clone()).with_arguments(call.arguments.clone());
    if let Some(Resumption { responses, state }) = call.resumption.clone() {
        params.input_responses = responses;
        params.request_state = state;
    }
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let began = host.moment();
    let body = match call.if_lost {
        Repeatable::Yes => session.exchange(alarm, &limits, request, progress).await,
        // The server may have done what it says it refused.
        Repeatable::Once => session.ask(alarm, &limits, request, progress).await,
    };
    course.elapsed = began.elapsed();
    session.timings.call_ms = millis(course.elapsed);
    let body = body.map_err(|halt| session.error(halt, Phase::Call, answer::METHOD))?;
    course.answered = true;
    let answer = answer::read(session, &call.tool, body)?;
    course.output = output::check(session, call, tool, &answer, alarm).await;
    Ok(answer)
}

/// Finds the tool, and checks that it is the one that was pinned and takes the arguments.
async fn check(
    session: &mut Session,
    course: &mut Course,
    call: &ToolCall,
    found: Found,
    at: &Setting<'_>,
    limits: &Limits,
) -> Result<ToolListing, CallError> {
    let found = match found {
        Some(found) => found,
        None => tools::find(session, &call.tool, limits, at.alarm).await,
    };
    course.drift = call.pinned.as_ref().and_then(|pinned| match &found {
        Ok(tool) => pinned.pin.drift(tool.pin()),
        Err(CallError::UnknownTool { .. }) => Some(pinned.pin.gone()),
        Err(_) => None,
    });
    let fails = |pinned: &Pinned| pinned.on_drift == OnDrift::Fail;
    if call.pinned.as_ref().is_some_and(fails)
        && let Some(drift) = course.drift.take()
    {
        return Err(CallError::ToolChanged {
            server: session.server.clone(),
            tool: call.tool.clone(),
            drift: Box::new(drift),
        });
    }
    let tool = found?;
    if call.pinned.is_some() && course.drift.is_none() {
        tracing::info!("{} is as it was pinned.", call.tool);
    }
    session.standing = Standing::Agreed;
    output::prepare(session, call, &tool, limits, at.alarm).await?;
    if call.check_arguments == ArgumentCheck::AgainstServer {
        arguments::check(session, call, &tool, limits, at.alarm).await?;
    }
    Ok(tool)
}

/// Only 2026-07-28 knows calls of several rounds.
fn can_resume(session: &Session) -> Result<(), CallError> {
    if session.is_modern() {
        return Ok(());
    }
    Err(CallError::NotResumable {
        server: session.server.clone(),
        version: session.version().map(|version| format!("MCP {version}")),
    })
}

/// An id that the call before did not have: that one was another process's, which counted from 0
/// as this one does (2026-07-28, Multi Round-Trip Requests: the id of a retry must differ).
fn another_id(host: &Host) -> i64 {
    let mut bytes = [0; 4];
    for (to, from) in bytes.iter_mut().zip(host.random_bytes()) {
        *to = from;
    }
    (1 << 32) + i64::from(u32::from_be_bytes(bytes))
}
