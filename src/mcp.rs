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
mod answer;
mod arguments;
mod child;
mod closing;
mod desk;
mod era;
mod error;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod handler;
mod inspect;
mod message;
mod redact;
mod report;
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
use tokio::{
    runtime::{Builder, Runtime},
    time::Instant,
};

pub(crate) use self::{
    answer::{Content, ToolAnswer},
    closing::Closing,
    error::{CallError, Effect, Phase},
    inspect::{Inspection, inspect},
    redact::Secrets,
    report::{Parting, ServerReport},
    spec::{ArgumentCheck, Progress, Protocol, ServerSpec, ToolCall},
    tools::{Hints, ToolListing, near},
};
use self::{
    desk::CallLine,
    session::{Alarm, Limits, Session, millis},
};
use crate::host::Host;

/// How a call ended.
#[derive(Debug)]
pub(crate) struct CallEnd {
    pub(crate) result: Result<ToolAnswer, CallError>,
    pub(crate) effect: Effect,
    /// Where it failed; `Complete` if it did not.
    pub(crate) phase: Phase,
    /// Of `tools/call` alone; zero under a fixed clock.
    pub(crate) elapsed: Duration,
    /// The server, told to end. It has ended already if it failed us.
    pub(crate) closing: Closing,
}

/// Calls a tool. Must not be called from async code, and the calling thread must live until the
/// end of [`Closing`]: the server dies with it.
pub(crate) fn call(
    server: &ServerSpec,
    call: &ToolCall,
    host: &Host,
    progress: &mut dyn FnMut(Progress),
) -> CallEnd {
    let (runtime, mut session) = match open(server, host) {
        Ok(opened) => opened,
        Err(error) => return CallEnd::without_server(error),
    };
    let mut course = Course {
        phase: Phase::Negotiate,
        answered: false,
        elapsed: Duration::ZERO,
    };
    let result = runtime.block_on(converse(
        &mut session,
        &mut course,
        server,
        call,
        host,
        progress,
    ));
    let effect = match session.desk.call_line() {
        _ if course.answered => Effect::Done,
        CallLine::Delivered => Effect::Unknown,
        CallLine::Unsent => Effect::None,
    };
    let mut closing = Closing::tell(runtime, session, server.shutdown_grace, host.moment());
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
        closing,
    }
}

/// How far a conversation came.
struct Course {
    phase: Phase,
    answered: bool,
    elapsed: Duration,
}

impl CallEnd {
    fn without_server(error: CallError) -> Self {
        Self {
            result: Err(error),
            effect: Effect::None,
            phase: Phase::Spawn,
            elapsed: Duration::ZERO,
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
    let runtime = room(host).and_then(|()| {
        Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
    });
    let runtime = runtime.map_err(|source| CallError::SpawnFailed {
        server: server.name.clone(),
        operation: "start an event loop",
        source,
    })?;
    let session = {
        let _inside = runtime.enter();
        Session::open(server, host)?
    };
    Ok((runtime, session))
}

/// An error if so few files can still be opened that tokio would panic for want of them.
fn room(host: &Host) -> io::Result<()> {
    const NEEDED: usize = 8;
    let wake = host.interrupts().wake()?;
    let spare: io::Result<Vec<_>> = (0..NEEDED).map(|_| wake.try_clone()).collect();
    spare.map(drop)
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
    let end = call.budget.map(|budget| Instant::now() + budget);
    era::negotiate(session, server, host, &alarm).await?;

    let mut limits = Limits {
        idle: call.idle_timeout,
        total: call.total_timeout,
        until: Instant::now() + call.total_timeout,
    };
    limits.until = end.map_or(limits.until, |end| end.min(limits.until));
    if server.protocol == Protocol::Modern {
        // Without a handshake the first answer tells that the server is up.
        limits.idle = limits.idle.map(|idle| idle.max(server.startup_timeout));
    }
    if call.check_arguments == ArgumentCheck::AgainstServer {
        course.phase = Phase::ValidateArguments;
        let began = host.moment();
        let checked = arguments::check(session, call, &limits, &alarm).await;
        session.timings.validate = millis(began.elapsed());
        checked?;
        limits.idle = call.idle_timeout;
    }

    course.phase = Phase::Call;
    let params =
        CallToolRequestParams::new(call.tool.clone()).with_arguments(call.arguments.clone());
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let began = host.moment();
    let body = session.exchange(&alarm, &limits, request, progress).await;
    course.elapsed = began.elapsed();
    session.timings.call = millis(course.elapsed);
    let body = body.map_err(|halt| session.error(halt, Phase::Call, answer::METHOD))?;
    course.answered = true;
    let answer = answer::read(session, &call.tool, body)?;
    course.phase = Phase::Complete;
    Ok(answer)
}
