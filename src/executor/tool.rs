//! One step: calls the tool, judges the answer, takes the asset and checks it.

use serde_json::{Map, Value};

use crate::{
    assets::{Staging, Store},
    catalog::{Entry, Process, ResultKind, Step},
    mcp::{
        self, After, CallCourse, CallEnd, CallError, Caller, News, ServerSpec, ToolAnswer, ToolCall,
    },
    task::{
        Activity, Effect, Failure, Input, Invocation, InvocationStatus, Outcome, Phase, Repeatable,
        ServerReport, Spans, Stat, State, ToolActivity, decided,
    },
};

use super::{
    context::{Context, RunEvent, ToolProgress},
    document::Document,
    failure,
    hidden::Hidden,
    judge,
    launch::warm,
    quality,
    questions::{refused, resumption, waiting},
    result_data::{self, ResultData},
    take,
};

pub(super) struct End {
    /// Its part of the job's outcome, without its result.
    pub(super) outcome: Outcome,
    /// The result data, and the state of the asset when it was checked.
    pub(super) result: Result<(Option<ResultData>, Option<Stat>), Failure>,
    /// The server, if the step succeeded or the server is kept. Unless it is kept, it ends while the answer is checked
    /// and printed.
    pub(super) closing: Option<mcp::Closing>,
}

pub(super) struct Servers<'s> {
    /// The servers of earlier steps. Some may be called again.
    pub(super) before: &'s mut Vec<mcp::Closing>,
    pub(super) after: After,
}

/// Whether a later step uses the same process.
pub(super) fn after<'s>(step: &Step, mut later: impl Iterator<Item = &'s Step>) -> After {
    let shared = |step: &Step| step.entry.process == Process::Shared;
    let same = |other: &Step| shared(other) && other.server.name == step.server.name;
    if shared(step) && later.any(same) {
        After::Stay
    } else {
        After::End
    }
}

/// Calls the step's tool (000 §Step 5) and treats its answer as the entry says.
pub(super) fn run(
    (step, arguments): (&Step, Map<String, Value>),
    (launch, hidden): (&ServerSpec, &Hidden),
    (staging, store): (&Staging, &Store),
    context: &Context<'_>,
    servers: Servers<'_>,
) -> End {
    let entry = &step.entry;
    let after = servers.after;
    let CallEnd {
        result,
        effect,
        course:
            CallCourse {
                phase,
                elapsed,
                drift,
                output,
                raised,
                stderr,
                notes,
            },
        closing,
    } = call((step, arguments), launch, hidden, context, servers);
    let hidden = &hidden.with(closing.secrets());
    let kept = after == After::Keep && closing.is_up();
    let sent = effect != Effect::None;
    let seen = closing.report();
    if sent {
        tracing::info!("The call of {} took {elapsed:?}.", entry.tool);
    }
    let mut outcome = Outcome {
        waiting: result.as_ref().err().and_then(|error| waiting(step, error)),
        effect,
        server: Some(told(&step.server.name, &seen)),
        raised,
        notes: seen.asked.iter().map(|asked| refused(asked)).collect(),
        ..Outcome::nothing_done(State::Done, phase, None)
    };
    outcome.notes.extend(notes);
    if let Some(drift) = &drift {
        let drift = hidden.text(&drift.to_string());
        tracing::warn!(tool = entry.tool, drift, "not as pinned");
        let note = format!("{} is not as it was pinned: {drift}.", entry.tool);
        outcome.notes.push(note);
    }
    let verdict = verdict(
        entry,
        (result, &stderr),
        hidden,
        context,
        &mut outcome.notes,
    );
    if sent {
        outcome.invocations.push(Invocation {
            tool_name: entry.tool.clone(),
            mcp_server: step.server.name.clone(),
            parameters: hidden.parameters(step),
            execution_time_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            status: match &verdict {
                Ok(_) => InvocationStatus::Success,
                Err(judged) => InvocationStatus::Error {
                    detail: judged.detail.clone(),
                },
            },
        });
    }
    let result = match verdict {
        Ok((answer, document)) => {
            context.begins(Activity::Storing);
            let sentence = format!("Executed {} successfully.", entry.tool);
            outcome.reasoning.push(decided(sentence));
            outcome.phase = Phase::Quality;
            let told = document.as_ref();
            outcome.notes.extend(left_out(entry, &answer));
            let taken = quality::fits(entry, told, output, &mut outcome).and_then(|()| {
                let places = (staging, store);
                take(step, (&answer, told, hidden), places, context, &mut outcome)
            });
            outcome.ai = told.map(|told| hidden.ai(told)).unwrap_or_default();
            match taken {
                Ok(seen) => {
                    let document = document.map(|document| hidden.document(document));
                    Ok((result_data::result_data(entry, document), seen))
                }
                Err(failure) => Err(hidden.failure(&failure)),
            }
        }
        Err(judged) => {
            let asked = seen.asked.as_ref().map(|asked| hidden.text(asked));
            Err(failed(entry, &mut outcome, judged, asked.as_deref()))
        }
    };
    let closing = if result.is_ok() || kept {
        Some(closing)
    } else {
        // The last words of a failed server are a part of the answer, so its end is awaited here.
        outcome.server = Some(ended(&step.server.name, &closing.finish()));
        None
    };
    clean(&mut outcome, hidden);
    End {
        outcome,
        result,
        closing,
    }
}

/// The failure of a call, after a question that was refused. A once-only call with an unknown effect is not repeated.
fn failed(
    entry: &Entry,
    outcome: &mut Outcome,
    judged: judge::Judged,
    asked: Option<&str>,
) -> Failure {
    let once = entry.effects.repeatable() == Repeatable::Once;
    let mut why = "";
    if let (Effect::Done, true, judge::Open::Yes(reason)) = (outcome.effect, once, judged.open) {
        (outcome.effect, why) = (Effect::Unknown, reason);
    }
    let failure = match asked {
        Some(asked) => failure::after_a_question(judged.failure, asked),
        None => judged.failure,
    };
    // A call that waits for input is resumed.
    if once && outcome.effect == Effect::Unknown && outcome.waiting.is_none() {
        return failure::unknown(entry, why, &failure);
    }
    failure
}

/// A note about the parts of an answer that the result does not contain. Structured content often repeats them.
fn left_out(entry: &Entry, answer: &ToolAnswer) -> Option<String> {
    if entry.result.kind != ResultKind::Metadata || answer.structured.is_some() {
        return None;
    }
    let parts = answer.content.iter().filter(|block| !block.is_text());
    match parts.count() {
        0 => None,
        parts => Some(format!(
            "The answer of {} has parts that are no text ({parts}), such as images, resources and links. A result of the \
             kind `metadata` does not contain them; with the kind `asset`, a file, an image or a text can be stored.",
            entry.tool
        )),
    }
}

/// A good answer with its document, or why the call failed. `stderr` is what the server wrote to it during the call. Notes
/// about the answer are added to `notes`.
fn verdict(
    entry: &Entry,
    (result, stderr): (Result<ToolAnswer, CallError>, &str),
    hidden: &Hidden,
    context: &Context<'_>,
    notes: &mut Vec<String>,
) -> Result<(ToolAnswer, Option<Document>), judge::Judged> {
    let answer = result.map_err(|error| {
        let told = failure::all_words(&error);
        failed_call(entry, (&error, stderr), hidden, context).searched(told.as_deref())
    })?;
    let document = Document::of(entry, &answer, notes);
    match judge::judge(entry, (&answer, stderr), document.as_ref(), hidden) {
        Ok(()) => Ok((answer, document)),
        Err(judged) => {
            // Of two members with one name, a value has only the last.
            let told = answer.whole.distinct().ok().map(|all| all.to_string());
            Err(judged.searched(told.as_deref()))
        }
    }
}

fn call(
    (step, arguments): (&Step, Map<String, Value>),
    launch: &ServerSpec,
    hidden: &Hidden,
    context: &Context<'_>,
    Servers { before, after }: Servers<'_>,
) -> CallEnd {
    let left = context
        .desk
        .budget
        .map(|budget| budget.saturating_sub(context.desk.begun.passed()));
    let longest = step.entry.timeout_max;
    let total = left.map_or(longest, |left| left.min(longest));
    let call = ToolCall {
        tool: step.entry.tool.clone(),
        arguments,
        idle_timeout: Some(step.timeout.min(total)),
        total_timeout: total,
        budget: left,
        check_arguments: match step.entry.schema {
            Some(_) => mcp::ArgumentCheck::Done,
            None => mcp::ArgumentCheck::AgainstServer,
        },
        pinned: step.entry.pinned.clone(),
        output_schema: step.entry.output_schema,
        risk: step.risk.clone(),
        resumption: resumption(&step.input),
        trace: context.trace.map(|trace| match trace.spans {
            Spans::Caller => trace.clone(),
            Spans::Run => trace.within(context.desk.host.random_bytes()),
        }),
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
    let (how, place) = match launch.program() {
        Some(program) => ("is started", program.argv.join(" ")),
        None => ("is asked", launch.url().unwrap_or_default()),
    };
    let place = hidden.text(&place);
    tracing::info!("Server {} {how}: {place}", step.server.name);
    let server = ServerSpec {
        caller: match step.input {
            Input::Refused => Caller::Silent,
            Input::Accepted | Input::Given(_) => Caller::Answers,
        },
        secrets: hidden.secrets().clone(),
        memory: Some(context.state_dir.join("servers")),
        startup_timeout: left.map_or(launch.startup_timeout, |left| {
            left.min(launch.startup_timeout)
        }),
        warm: match step.entry.process {
            Process::Shared => warm(&step.server, context.desk.root, context.state_dir),
            Process::Fresh => None,
        },
        ..launch.clone()
    };
    let calling = ToolActivity {
        tool: &step.entry.tool,
        server: &step.server.name,
        capability: &step.entry.id,
        operation: context.desk.operation_id,
        span: call.trace.as_ref().map(|trace| trace.span.as_str()),
    };
    let mut tell = |news: News| match news {
        News::Starting => context.begins(Activity::Starting {
            server: calling.server,
        }),
        News::Calling => context.begins(Activity::Tool(calling)),
        News::Progress(progress) => (context.watch)(RunEvent::Progress(ToolProgress {
            tool: calling.tool,
            done: progress.done,
            total: progress.total,
            message: progress.message.as_deref(),
        })),
    };
    mcp::call_among(before, after, &server, &call, context.desk.host, &mut tell)
}

/// Judges a call without an answer.
fn failed_call(
    entry: &Entry,
    (error, stderr): (&CallError, &str),
    hidden: &Hidden,
    context: &Context<'_>,
) -> judge::Judged {
    let late = matches!(
        error,
        CallError::TimedOut { .. } | CallError::StartupTimeout { .. }
    );
    let spent = context
        .desk
        .budget
        .filter(|budget| late && context.desk.begun.passed() >= *budget);
    // The message names the budget, because the time that was left differs between runs.
    let words = match spent {
        Some(budget) => {
            format!("no answer within the run's limit of {budget:?}; raise --timeout")
        }
        None => error.to_string(),
    };
    let detail = judge::shorten(&hidden.text(&words));
    failure::of_call(entry, error, detail, &hidden.text(stderr))
}

/// Takes the asset, and checks it and the result document (000 §Step 6, 7). Returns the state of the asset at that time.
fn take(
    step: &Step,
    (answer, document, hidden): (&ToolAnswer, Option<&Document>, &Hidden),
    (staging, store): (&Staging, &Store),
    context: &Context<'_>,
    outcome: &mut Outcome,
) -> Result<Option<Stat>, Failure> {
    if let Some(output) = &step.output {
        let taker = take::Taker {
            step,
            output,
            staging,
            store,
            hidden,
            context,
        };
        taker.take(answer, document)?;
    }
    let seen = quality::check(step, document, context, &mut outcome.checks)?;
    outcome.reasoning.push(decided(match &step.output {
        Some(output) => format!(
            "Verified output file exists, is non-empty and is valid {}.",
            output.format
        ),
        None => "Verified the result is present and complete.".to_owned(),
    }));
    Ok(seen)
}

/// Redacts the other texts of the outcome that came from the server.
fn clean(outcome: &mut Outcome, hidden: &Hidden) {
    outcome.unfit_result = outcome
        .unfit_result
        .take()
        .map(|answer| hidden.value(answer));
    for note in &mut outcome.notes {
        *note = hidden.text(note);
    }
    if let Some(server) = &mut outcome.server {
        let said = server.stderr_tail.iter_mut().chain(&mut server.info);
        for text in said.chain(&mut server.killed) {
            *text = hidden.text(text);
        }
    }
}

/// What is known about a server. While it may be ending, facts about its end are left out, so that the same run always
/// gives the same answer.
fn told(name: &str, report: &mcp::ServerReport) -> ServerReport {
    let info = report.server_info.as_ref();
    ServerReport {
        name: name.to_owned(),
        info: info.map(|(name, version)| format!("{name} {version}")),
        exit_status: None,
        stderr_tail: None,
        killed: Vec::new(),
        stdout_noise: report.stdout_noise.lines,
        protocol: report.protocol.clone(),
        timings: report.timings,
    }
}

/// The same for a server that has ended.
fn ended(name: &str, report: &mcp::ServerReport) -> ServerReport {
    let killed = report.killed.iter().map(|killed| killed.name.clone());
    ServerReport {
        exit_status: report.exit_status.map(|status| status.to_string()),
        stderr_tail: Some(report.stderr_tail.clone()).filter(|tail| !tail.is_empty()),
        killed: killed.collect(),
        ..told(name, report)
    }
}
