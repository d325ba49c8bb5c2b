//! One step: one tool call, judged, taken and checked.

use serde_json::Value;

use crate::{
    assets::{Staging, Store},
    catalog::{Entry, Process, Step},
    mcp::{self, After, CallEnd, CallError, Caller, Resumption, ServerSpec, ToolAnswer, ToolCall},
    task::{
        Ai, Checks, Effect, Failure, Fault, Input, Invocation, InvocationStatus, Phase, Repeatable,
        Response, ServerReport, Stat, Waiting, WaitingFor, decided,
    },
};

use super::{
    Context, Seen,
    document::Document,
    failure,
    hidden::Hidden,
    judge,
    launch::Launch,
    quality,
    spill::{self, ResultData},
    take,
};

/// What one step came to.
pub(super) struct End {
    /// Its result data, or why there is none.
    pub(super) result: Result<Option<ResultData>, Failure>,
    pub(super) ai: Ai,
    /// Questions that another run can answer.
    pub(super) waiting: Option<Waiting>,
    /// Present once the call was sent (R-000-42).
    pub(super) invocation: Option<Invocation>,
    pub(super) checks: Checks,
    /// The asset as it was when it was checked.
    pub(super) seen: Option<Stat>,
    pub(super) effect: Effect,
    pub(super) phase: Phase,
    pub(super) server: ServerReport,
    pub(super) reasoning: Vec<String>,
    pub(super) notes: Vec<String>,
    /// The answer, if it cannot be taken for a result.
    pub(super) unfit_result: Option<Value>,
    /// The server of a good answer: it ends while the answer is checked and printed.
    pub(super) closing: Option<mcp::Closing>,
}

/// The servers of a run.
pub(super) struct Servers<'s> {
    /// Those of the steps before: some may be called again.
    pub(super) before: &'s mut Vec<mcp::Closing>,
    pub(super) after: After,
}

/// Whether a later step is to be done by the same process.
pub(super) fn after(step: &Step, later: &[Step]) -> After {
    let shared = |step: &Step| step.entry.process == Process::Shared;
    let same = |other: &Step| shared(other) && other.server.name == step.server.name;
    if shared(step) && later.iter().any(same) {
        After::Stay
    } else {
        After::End
    }
}

/// Calls the step's tool (000 §Step 5) and makes of its answer what the entry says.
pub(super) fn run(
    step: &Step,
    (launch, hidden): (&Launch, &Hidden),
    (staging, store): (&Staging, &Store),
    context: &Context<'_>,
    servers: Servers<'_>,
) -> End {
    let entry = &step.entry;
    let CallEnd {
        result,
        effect,
        phase,
        elapsed,
        drift,
        output,
        closing,
    } = call(step, launch, hidden, context, servers);
    let sent = effect != Effect::None;
    let seen = closing.report();
    if sent {
        tracing::info!("The call of {} took {elapsed:?}.", entry.tool);
    }
    let mut end = End {
        result: Ok(None),
        ai: Ai::default(),
        waiting: result.as_ref().err().and_then(|error| waiting(step, error)),
        invocation: None,
        checks: Checks::default(),
        seen: None,
        effect,
        phase,
        server: report(&step.server.name, &seen, Known::Soon),
        reasoning: Vec::new(),
        notes: seen.asked.iter().map(|asked| refused(asked)).collect(),
        unfit_result: None,
        closing: None,
    };
    if let Some(drift) = &drift {
        let drift = hidden.text(&drift.to_string());
        tracing::warn!(tool = entry.tool, drift, "not as pinned");
        end.notes
            .push(format!("{} is not as it was pinned: {drift}.", entry.tool));
    }
    let verdict = match result {
        Ok(answer) => {
            let document = Document::of(&answer);
            judge::judge(entry, &answer, document.as_ref(), hidden).map(|()| (answer, document))
        }
        Err(error) => Err(failed_call(entry, &error, hidden, context)),
    };
    let detail = verdict.as_ref().err().map(|failure| failure.detail.clone());
    if sent {
        let status = match detail {
            None => InvocationStatus::Success,
            Some(detail) => InvocationStatus::Error { detail },
        };
        end.invocation = Some(Invocation {
            tool_name: entry.tool.clone(),
            mcp_server: step.server.name.clone(),
            parameters: hidden.parameters(step),
            execution_time_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            status,
        });
    }
    end.result = match verdict {
        Ok((answer, document)) => {
            let sentence = format!("Executed {} successfully.", entry.tool);
            end.reasoning.push(decided(sentence));
            end.phase = Phase::Quality;
            let fits = quality::fits(entry, document.as_ref(), output);
            end.notes.extend(fits.note);
            end.unfit_result = fits.unfit_result;
            let taken = fits.result.and_then(|()| {
                let places = (staging, store);
                take(step, &answer, document.as_ref(), places, context, &mut end)
            });
            end.ai = document
                .as_ref()
                .map(|document| hidden.ai(document))
                .unwrap_or_default();
            taken
                .map(|()| {
                    let document = document.map(|document| hidden.document(document));
                    spill::result_data(entry, document)
                })
                .map_err(|failure| hidden.failure(&failure))
        }
        Err(judged) => {
            // Somebody behind the server gave no answer: as good as none from the server itself.
            if (end.effect, judged.failure.fault) == (Effect::Done, Fault::ToolTimeout)
                && entry.repeatable == Repeatable::Once
            {
                end.effect = Effect::Unknown;
            }
            let failure = match &seen.asked {
                Some(asked) => failure::after_a_question(judged.failure, &hidden.text(asked)),
                None => judged.failure,
            };
            Err(once_only(entry, end.effect, failure))
        }
    };
    if end.result.is_ok() {
        end.closing = Some(closing);
    } else {
        // What a failed server said last belongs into the answer, so its end is waited for here.
        end.server = report(&step.server.name, &closing.finish(), Known::Ended);
    }
    clean(&mut end, hidden);
    end
}

fn call(
    step: &Step,
    launch: &Launch,
    hidden: &Hidden,
    context: &Context<'_>,
    Servers { before, after }: Servers<'_>,
) -> CallEnd {
    let left = context
        .budget
        .map(|budget| budget.saturating_sub(context.begun.passed()));
    let total = left.map_or(step.timeout_max, |left| left.min(step.timeout_max));
    let call = ToolCall {
        tool: step.entry.tool.clone(),
        arguments: step.parameters.clone(),
        idle_timeout: Some(step.timeout.min(total)),
        total_timeout: total,
        budget: left,
        check_arguments: match step.entry.schema {
            Some(_) => mcp::ArgumentCheck::Done,
            None => mcp::ArgumentCheck::AgainstServer,
        },
        pinned: step.entry.pinned.clone(),
        output_schema: step.entry.output_schema,
        if_lost: step.entry.repeatable,
        resumption: resumption(&step.input),
    };
    tracing::info!(
        "{} may say nothing for {:?} ({}), and take {total:?} in all.",
        call.tool,
        step.timeout.min(total),
        if total < step.timeout {
            "what is left of --timeout".to_owned()
        } else {
            step.entry.timeout_from.to_string()
        }
    );
    let command = hidden.text(&launch.command().join(" "));
    tracing::info!("Server {} is started: {command}", step.server.name);
    let server = ServerSpec {
        caller: match step.input {
            Input::Refused => Caller::Silent,
            Input::Accepted | Input::Given(_) => Caller::Answers,
        },
        secrets: hidden.secrets().clone(),
        memory: Some(context.state_dir.join("servers")),
        startup_timeout: left.map_or(launch.spec().startup_timeout, |left| {
            left.min(launch.spec().startup_timeout)
        }),
        ..launch.spec().clone()
    };
    let mut show = |progress: mcp::Progress| {
        let message = progress.message.as_deref();
        (context.watch)(Seen {
            tool: &step.entry.tool,
            done: progress.done,
            total: progress.total,
            message,
        });
    };
    mcp::call_among(before, after, &server, &call, context.host, &mut show)
}

/// A note about a question nobody here can answer.
fn refused(asked: &str) -> String {
    let asked = failure::sentence(asked);
    format!("The server asked for input while it was called, and was refused: {asked}")
}

/// The answers of the task, as the server gets them.
fn resumption(input: &Input) -> Option<Resumption> {
    let Input::Given(given) = input else {
        return None;
    };
    let responses = given.responses.as_ref().map(|responses| {
        let each = |(name, response): &(String, Response)| (name.clone(), response.value.clone());
        responses.iter().map(each).collect()
    });
    tracing::info!("The answers of the task go with the call.");
    Some(Resumption {
        responses,
        state: given.request_state.clone(),
    })
}

/// What a run waits for whose tool wants input: all that the next run needs to take it up.
fn waiting(step: &Step, error: &CallError) -> Option<Waiting> {
    let CallError::InputRequired { questions, .. } = error else {
        return None;
    };
    tracing::info!(
        "{} asks for input, {} questions: another run can answer.",
        step.entry.tool,
        questions.requests.len()
    );
    Some(Waiting {
        r#for: WaitingFor::Input,
        capability_id: step.entry.id.clone(),
        mcp_server: step.server.name.clone(),
        tool_name: step.entry.tool.clone(),
        input_requests: questions.requests.clone(),
        request_state: questions.state.clone(),
        resume: match (questions.requests.is_empty(), &questions.state) {
            (false, Some(_)) => {
                "Send the same task again with `input_responses`, an answer under the name of each input request, and \
                 with this `request_state`; with these `input_requests` too, the answers are checked first."
            }
            (false, None) => {
                "Send the same task again with `input_responses`, an answer under the name of each input request; with \
                 these `input_requests` too, the answers are checked first."
            }
            (true, _) => "Send the same task again, later, with this `request_state`.",
        },
    })
}

/// A call without an answer, as a judgement.
fn failed_call(
    entry: &Entry,
    error: &CallError,
    hidden: &Hidden,
    context: &Context<'_>,
) -> judge::Judged {
    let late = matches!(
        error,
        CallError::TimedOut { .. } | CallError::StartupTimeout { .. }
    );
    let spent = context
        .budget
        .filter(|budget| late && context.begun.passed() >= *budget);
    // What was left of the run's time is a number nobody set, and another one each time.
    let words = match spent {
        Some(budget) => {
            format!("no answer before the run's {budget:?} were over; raise --timeout")
        }
        None => error.to_string(),
    };
    let detail = judge::shorten(&hidden.text(&words));
    let failure = failure::of_call(entry, error, &detail);
    judge::Judged { failure, detail }
}

/// A call that may have taken effect, and may not take effect twice, is never sent again by itself.
fn once_only(entry: &Entry, effect: Effect, mut failure: Failure) -> Failure {
    if effect == Effect::Unknown && entry.repeatable == Repeatable::Once && failure.recoverable {
        tracing::info!(
            "{} is not declared `idempotent` or `read_only`: a call of unknown outcome is not repeated.",
            entry.id
        );
        failure.recoverable = false;
        failure.message.push_str(" Whether it took effect is unknown, and it must not happen twice: a person has to look.");
    }
    failure
}

/// Takes the asset, and checks it and the result document (000 §Step 6, 7).
fn take(
    step: &Step,
    answer: &ToolAnswer,
    document: Option<&Document>,
    (staging, store): (&Staging, &Store),
    context: &Context<'_>,
    end: &mut End,
) -> Result<(), Failure> {
    if let Some(output) = &step.output {
        let taker = take::Taker {
            step,
            output,
            staging,
            store,
            context,
        };
        taker.take(answer, document)?;
    }
    let checked = quality::check(step, document);
    end.checks = checked.checks;
    end.seen = checked.seen;
    checked.result?;
    end.reasoning.push(decided(checked.sentence));
    Ok(())
}

/// Cuts what no record may show from all else of a step's end that came from its server.
fn clean(end: &mut End, hidden: &Hidden) {
    end.unfit_result = end.unfit_result.take().map(|answer| hidden.value(answer));
    for note in &mut end.notes {
        *note = hidden.text(note);
    }
    let server = &mut end.server;
    let said = server.stderr_tail.iter_mut().chain(&mut server.info);
    for text in said.chain(&mut server.killed) {
        *text = hidden.text(text);
    }
}

/// Whether the server's end is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// It may be ending right now: what it says meanwhile is left out, so that the same run always
    /// gives the same answer.
    Soon,
    Ended,
}

fn report(name: &str, report: &mcp::ServerReport, known: Known) -> ServerReport {
    let ended = known == Known::Ended;
    let info = report.server_info.as_ref();
    ServerReport {
        name: name.to_owned(),
        info: info.map(|(name, version)| format!("{name} {version}")),
        exit_status: report
            .exit_status
            .filter(|_| ended)
            .map(|status| status.to_string()),
        stderr_tail: ended
            .then(|| report.stderr_tail.clone())
            .filter(|tail| !tail.is_empty()),
        killed: report
            .killed
            .iter()
            .filter(|_| ended)
            .map(|killed| killed.name.clone())
            .collect(),
        stdout_noise: report.stdout_noise.lines,
        protocol: report.protocol.clone(),
        timings: report.timings,
    }
}
