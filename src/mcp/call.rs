//! One call: takes a server that still runs, borrows a warm one or starts one, and asks it.

use std::time::Duration;

use serde_json::Map;
use tokio::{runtime::Runtime, time::Instant};

use super::{
    answer::{self, ToolAnswer},
    begin::{borrow, open},
    check::{self, OutputCheck},
    closing::Closing,
    era::{self, Setting},
    error::CallError,
    headers,
    message::{CALL, LIST, META, members, traced},
    refusal::Trouble,
    session::{Session, another_id, millis},
    spec::{ArgumentCheck, News, Resumption, ServerSpec, ToolCall},
    tools::{self, ToolListing},
    wait::Limits,
    wire::CallLine,
};
use crate::{
    host::{Host, Moment},
    task::{Assessment, Drift, Effect, OnDrift, Phase, Pinned, worse},
};

#[derive(Debug)]
pub(crate) struct CallEnd {
    pub(crate) result: Result<ToolAnswer, CallError>,
    pub(crate) effect: Effect,
    pub(crate) course: CallCourse,
    /// The server. It was told to end unless it stays for another call. If it broke the protocol, it has ended already.
    pub(crate) closing: Closing,
}

/// What is known about a call besides its result.
#[derive(Debug, Default)]
pub(crate) struct CallCourse {
    /// The last phase that was reached: [`Phase::Call`] if the call was answered.
    pub(crate) phase: Phase,
    /// Of `tools/call` alone; zero under a fixed clock.
    pub(crate) elapsed: Duration,
    /// The difference between the tool and its pin, if the call was made all the same.
    pub(crate) drift: Option<Drift>,
    /// Whether the answer fits the tool's output schema.
    pub(crate) output: OutputCheck,
    /// The risk by the hints of the server, if it is higher than declared.
    pub(crate) raised: Option<Assessment>,
    /// If the call was answered with an error, what the server wrote to stderr during the call: at most its last 8 KiB.
    pub(crate) stderr: String,
    /// Sentences about constraints of the tool's schemas that were not checked.
    pub(crate) notes: Vec<String>,
}

/// What happens to a server after a good answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    End,
    /// It waits for another call of this run.
    Stay,
    /// It waits for the calls of later runs, also after an answer that is a failure.
    Keep,
}

/// Calls a tool. Uses a server of `waiting` that was started in the same way and still runs, otherwise a warm one if the
/// spec asks for that, otherwise starts one. Must not be called from async code. The calling thread must live until the end of [`Closing`], because the server is
/// killed when the thread ends.
pub(crate) fn call_among(
    waiting: &mut Vec<Closing>,
    after: After,
    server: &ServerSpec,
    call: &ToolCall,
    host: &Host,
    tell: &mut dyn FnMut(News),
) -> CallEnd {
    let asked = Asked {
        server,
        call,
        host,
        begun: host.moment(),
    };
    if after == After::Keep {
        // One that has ended, or whose entry has changed, is of no more use.
        waiting.retain(|one| one.serves(server));
    }
    let mut was_lost = false;
    let found = waiting.iter().position(|one| one.serves(server));
    if let Some((runtime, session)) = found.and_then(|at| waiting.remove(at).resume()) {
        tracing::info!("Server {} is asked again: it still runs.", server.name);
        let end = called(runtime, session, after, asked, tell);
        if !end.was_too_late() {
            return end;
        }
        was_lost = end.is_a_lost_session();
        tracing::info!("Server {} ended before it could be asked.", server.name);
    }
    let mut note = None;
    if let Some(warm) = &server.warm {
        tell(News::Starting);
        let cold = match borrow(server, warm, call.budget, host) {
            Ok((runtime, session)) => {
                let end = called(runtime, session, after, asked, tell);
                if !end.was_too_late() {
                    return end;
                }
                "its warm process ended before it could be asked".to_owned()
            }
            Err(why) => why,
        };
        let cold = format!(
            "Server {} was started for this call alone: {cold}.",
            server.name
        );
        tracing::warn!("{cold}");
        note = Some(cold);
    }
    let mut end = opened(after, asked, tell);
    if end.is_a_lost_session() && !was_lost {
        // The server has refused the call, so it is made once more in a new session.
        end = opened(after, asked, tell);
    }
    end.course.notes.extend(note);
    end
}

fn opened(after: After, asked: Asked<'_>, tell: &mut dyn FnMut(News)) -> CallEnd {
    tell(News::Starting);
    match open(asked.server, asked.host) {
        Ok((runtime, session)) => called(runtime, session, after, asked, tell),
        Err(error) => CallEnd {
            result: Err(error),
            effect: Effect::None,
            course: CallCourse::new(Phase::Spawn),
            closing: Closing::default(),
        },
    }
}

#[derive(Clone, Copy)]
struct Asked<'a> {
    server: &'a ServerSpec,
    call: &'a ToolCall,
    host: &'a Host,
    begun: Moment,
}

impl Asked<'_> {
    /// What is left of the time of the run. An error if nothing is left: no call is sent then.
    fn left(&self) -> Result<Option<Duration>, CallError> {
        let Some(budget) = self.call.budget else {
            return Ok(None);
        };
        match budget.saturating_sub(self.begun.passed()) {
            Duration::ZERO => Err(CallError::StartupTimeout {
                server: self.server.name.clone(),
                after: budget,
                stderr_tail: String::new(),
                astray: String::new(),
            }),
            left => Ok(Some(left)),
        }
    }
}

fn called(
    runtime: Runtime,
    mut session: Session,
    after: After,
    asked: Asked<'_>,
    tell: &mut dyn FnMut(News),
) -> CallEnd {
    let mut course = CallCourse::new(Phase::Negotiate);
    let result = runtime.block_on(converse(&mut session, &mut course, asked, tell));
    // An answer that asks for input, or that cannot be read, does not say what the tool did.
    let told = result
        .as_ref()
        .map_or_else(CallError::is_an_answer, |_| true);
    let effect = match session.link.wire.call {
        CallLine::Answered if told => Effect::Done,
        CallLine::Answered | CallLine::Delivered => Effect::Unknown,
        CallLine::Unsent => Effect::None,
    };
    let mut closing = Closing::new(runtime, session);
    match &result {
        Ok(_) if after != After::End => {}
        Err(error) if !error.leaves_server_sound() => closing.end(),
        Err(_) if after == After::Keep => {}
        Ok(_) | Err(_) => closing.tell(),
    }
    CallEnd {
        result,
        effect,
        course,
        closing,
    }
}

impl CallEnd {
    /// Whether a server over HTTP no longer knows the session, and has refused the call for that.
    fn is_a_lost_session(&self) -> bool {
        let trouble = self.result.as_ref().err().and_then(CallError::trouble);
        trouble == Some(Trouble::Gone)
    }

    /// Whether a server that was used before ended before the call reached it.
    fn was_too_late(&self) -> bool {
        use Trouble::{Absent, Gone, Lost, Unreachable};
        let ended = |error: &CallError| match error {
            CallError::Died { .. } => true,
            CallError::Http { trouble, .. } => {
                matches!(trouble, Absent | Gone | Lost | Unreachable)
            }
            _ => false,
        };
        self.effect == Effect::None && self.result.as_ref().is_err_and(ended)
    }
}

impl CallCourse {
    fn new(phase: Phase) -> Self {
        Self {
            phase,
            ..Self::default()
        }
    }
}

async fn converse(
    session: &mut Session,
    course: &mut CallCourse,
    asked: Asked<'_>,
    tell: &mut dyn FnMut(News),
) -> Result<ToolAnswer, CallError> {
    let Asked {
        server, call, host, ..
    } = asked;
    tracing::debug!("server started");
    let end = asked.left()?.map(|left| Instant::now() + left);
    let at = Setting::new(server, host, end);
    // It may have been greeted for an earlier call.
    if session.peer.is_none() {
        era::negotiate(session, &at).await?;
    }
    let Resumption { responses, state } = match call.resumption.clone() {
        // Only 2026-07-28 has calls of several rounds.
        Some(_) if !session.is_modern() => {
            return Err(CallError::NotResumable {
                server: session.spec.name.clone(),
                version: session.version().map(|version| format!("MCP {version}")),
            });
        }
        Some(resumption) => {
            session.next_id = another_id(host);
            resumption
        }
        None => Resumption::default(),
    };
    tracing::debug!("handshake done");
    session.limits = Limits {
        idle: call.idle_timeout,
        ..Limits::within(call.total_timeout).ending(end)
    };
    let mut tool = None;
    if call.lists() || session.mirrors() {
        course.phase = Phase::ValidateArguments;
        let listed = checked(session, course, call).await?;
        if session.mirrors() {
            let headers = headers::mirrored(listed.input_schema.as_ref(), &call.arguments);
            let headers = headers.map_err(|reason| session.malformed(LIST, &reason))?;
            if let Some(remote) = session.link.remote() {
                remote.mirrored = headers;
            }
        }
        tool = Some(listed);
    } else {
        tracing::info!("The server's tools are not listed: nothing is to be checked against them.");
    }

    course.phase = Phase::Call;
    let responses = responses.map(|responses| Map::from_iter(responses).into());
    let mut params = members([
        ("name", call.tool.clone().into()),
        ("arguments", call.arguments.clone().into()),
        ("inputResponses", responses.unwrap_or_default()),
        ("requestState", state.into()),
        (META, call.trace.as_ref().map(traced).unwrap_or_default()),
    ]);
    params.retain(|_, value| !value.is_null());
    session.link.begin_call().await;
    tell(News::Calling);
    let progress = &mut |progress| tell(News::Progress(progress));
    let began = host.moment();
    let answer = session.ask(CALL, params, progress).await;
    course.elapsed = began.elapsed();
    session.timings.call_ms = millis(course.elapsed);
    let answer = answer.map_err(|halt| session.error(halt, CALL))?;
    let answer = answer::read(session, &call.tool, answer);
    if answer.as_ref().map_or(true, |answer| answer.is_error) {
        course.stderr = session.link.stderr_of_call().await;
    }
    let answer = answer?;
    course.notes.extend(session.link.wire.not_finite.take());
    course.output = check::output(session, call, tool, &answer, &mut course.notes).await;
    Ok(answer)
}

/// Finds the tool, and checks it against its pin, its hints against the declared risk, and the arguments against its
/// schema.
async fn checked(
    session: &mut Session,
    course: &mut CallCourse,
    call: &ToolCall,
) -> Result<ToolListing, CallError> {
    let found = tools::find(session, &call.tool).await;
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
            server: session.spec.name.clone(),
            tool: call.tool.clone(),
            drift: Box::new(drift),
        });
    }
    let tool = found?;
    if call.pinned.is_some() && course.drift.is_none() {
        tracing::info!("{} is as it was pinned.", call.tool);
    }
    let (rule, hints) = (&call.risk, tool.hints());
    course.raised = rule.hazards.raised(hints);
    if let Some(raised) = &course.raised
        && rule.waits_only_at(raised.risk)
    {
        return Err(CallError::Riskier {
            server: session.spec.name.clone(),
            tool: call.tool.clone(),
            risk: raised.risk,
            worse: worse(rule.hazards.effects, hints),
        });
    }
    check::prepare(session, call, &tool).await?;
    if call.check_arguments == ArgumentCheck::AgainstServer {
        let note = check::arguments(session, call, &tool).await?;
        course.notes.extend(note);
    }
    Ok(tool)
}
