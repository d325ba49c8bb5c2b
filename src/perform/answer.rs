//! A run from outside: the input as it was read, and the answer; also the answers that replace it if the run broke or does
//! not end.

use std::time::Duration;

use jiff::Timestamp;

use super::settings::{Reply, Settings};
use crate::{
    envelope::{self, Answered, Delivery, Received},
    executor::Executed,
    host::{Host, Interrupt, Moment},
    task::{
        Effect, Failure, Fault, NamedSession, OF_CALLS, OperationId, Outcome, Phase, Reach,
        SessionFrom, State, Trace, cut_links,
    },
};

/// The input as it was read, and the identity of the run that answers it.
#[derive(Debug)]
pub struct Arrived {
    pub(super) received: Received,
    pub(crate) operation: OperationId,
    executed_at: Timestamp,
    /// The start of the run.
    pub(crate) begun: Moment,
}

impl Arrived {
    /// Reads the input (000 §Step 1) of a run that began at `begun`.
    pub fn read(input: Result<Vec<u8>, Failure>, begun: Moment, host: &Host) -> Self {
        Self::read_in(None, input, begun, host)
    }

    /// The same, for tasks of that session if they name none. Without it, such a task gets a new one.
    pub fn read_in(
        session: Option<NamedSession>,
        input: Result<Vec<u8>, Failure>,
        begun: Moment,
        host: &Host,
    ) -> Self {
        let of_process = session.as_ref();
        let of_process = of_process.is_some_and(|session| session.from == SessionFrom::Process);
        let arrived = Self::of(session, begun, host, |session| match input {
            Ok(bytes) => envelope::read(&bytes, || session),
            Err(failure) => Received::nobody(session, failure),
        });
        let key = arrived.received.identity.idempotency_key.as_deref();
        if of_process && key.is_some_and(|key| key.starts_with(OF_CALLS)) {
            return arrived.numbered();
        }
        arrived
    }

    /// The same with a task whose id oneact made, and not the caller.
    pub(crate) fn numbered(mut self) -> Self {
        if self.received.delivery == Delivery::Named {
            self.received.delivery = Delivery::Numbered;
        }
        self
    }

    /// The trace to which the run belongs, if it belongs to one. That of the task comes first.
    pub(crate) fn trace<'a>(&'a self, settings: &'a Settings) -> Option<&'a Trace> {
        self.received.trace.as_ref().or(settings.trace.as_ref())
    }

    /// The same in that trace.
    pub(crate) fn within(mut self, trace: Trace) -> Self {
        self.received.trace = Some(trace);
        self
    }

    pub(super) fn of(
        session: Option<NamedSession>,
        begun: Moment,
        host: &Host,
        received: impl FnOnce(NamedSession) -> Received,
    ) -> Self {
        let executed_at = host.timestamp();
        let operation = OperationId::new(executed_at, host.random_bytes());
        let session = session.unwrap_or_else(|| {
            format!("sess-{}", operation.as_str().trim_start_matches("op_")).into()
        });
        let mut received = received(session).at(executed_at);
        received.notes.iter_mut().for_each(cut_links);
        tracing::debug!("task read");
        Self {
            received,
            operation,
            executed_at,
            begun,
        }
    }

    pub(super) fn answered(
        &self,
        received: &Received,
        mut executed: Executed,
        kind: Reply,
        host: &Host,
    ) -> Answer {
        executed.outcome.cut_links();
        executed.outcome.bound();
        let answered = Answered {
            received,
            outcome: &executed.outcome,
            operation: &self.operation,
            executed_at: &host.local(self.executed_at),
        };
        let document = match kind {
            Reply::Adl => envelope::to_json(&answered),
            Reply::Report => envelope::to_report(&answered),
            Reply::Result => envelope::to_result(&answered),
            Reply::Mcp => envelope::to_response(received, &executed.outcome).into_bytes(),
        };
        Answer::new(document, executed)
    }
}

/// An answer. Print it, then drop it: dropping waits for servers that are still ending.
#[must_use]
pub struct Answer {
    /// One JSON document and a newline.
    pub line: Vec<u8>,
    pub state: State,
    /// Whether sending the same task again may help.
    pub recoverable: bool,
    /// Servers that are ending, and the scratch directory that they may still use.
    executed: Executed,
}

impl Answer {
    fn new(mut line: Vec<u8>, executed: Executed) -> Self {
        line.push(b'\n');
        let failure = executed.outcome.failure.as_ref();
        Self {
            line,
            state: executed.outcome.state,
            recoverable: failure.is_some_and(|failure| failure.recoverable),
            executed,
        }
    }

    pub fn outcome(&self) -> &Outcome {
        &self.executed.outcome
    }

    /// The outcome, after the servers have ended.
    pub(crate) fn into_outcome(self) -> Outcome {
        self.executed.outcome
    }

    /// The exit code, which follows from the outcome (invariant 5): 0, 1, 2, 3, 75, or 128 plus the number of the
    /// signal that cancelled the run.
    pub fn exit_code(&self, interrupt: Option<Interrupt>) -> u8 {
        match self.state {
            State::Done | State::Planned | State::Advised | State::Reused | State::Suppressed => 0,
            State::Replayed if self.outcome().failure.is_none() => 0,
            State::Rejected => 2,
            State::Pending => 3,
            State::Failed | State::Partial | State::RolledBack | State::Replayed
                if self.recoverable =>
            {
                75
            }
            State::Failed | State::Partial | State::RolledBack | State::Replayed => 1,
            State::Cancelled => 128 + interrupt.unwrap_or(Interrupt::TERMINATE).number(),
        }
    }
}

/// The answer after a defect of oneact. How far the run came is unknown.
pub fn broken(arrived: &Arrived, kind: Reply, host: &Host) -> Answer {
    let message = "internal error: oneact failed while it performed the task; the work may be unfinished (see stderr)";
    let failure = Failure::new(Fault::Internal, message);
    let executed = Executed::from(Outcome {
        effect: Effect::Unknown,
        ..Outcome::nothing_done(State::Failed, Phase::Read, Some(failure))
    });
    arrived.answered(&arrived.received, executed, kind, host)
}

/// The answer that replaces that of a run which ends neither after a signal nor after its time. The run's claim in
/// the ledger and the journal of its plan stay, and the next start settles them.
pub fn overdue(
    arrived: &Arrived,
    reach: Reach,
    budget: Option<Duration>,
    kind: Reply,
    host: &Host,
) -> Answer {
    let caught = host.interrupts().caught();
    let (state, fault, why) = match (caught, budget) {
        (Some(interrupt), _) => (
            State::Cancelled,
            Fault::Cancelled,
            format!("the run was cancelled by {}", interrupt.name()),
        ),
        (None, budget) => (
            State::Failed,
            Fault::ToolTimeout,
            format!(
                "the run took longer than the {:?} of --timeout",
                budget.unwrap_or_default()
            ),
        ),
    };
    let why = format!("{why}; it did not end by itself and was ended");
    let (effect, end) = match reach {
        Reach::Nothing => (Effect::None, " before anything was started"),
        Reach::Begun => (
            Effect::Unknown,
            " while its tool was running or its answer was being recorded",
        ),
        Reach::BegunOnce => (
            Effect::Unknown,
            " while its tool was running or its answer was being recorded. The outcome of the call is unknown, and the call \
             must not be performed twice. If the same delivery gets no answer either, a person has to find out whether the \
             call happened.",
        ),
        Reach::Changing => (
            Effect::Unknown,
            " while the files of a plan were being changed. The journal of the plan is kept: the next run, or `oneact recover`, settles the plan.",
        ),
        Reach::Changed => (
            Effect::Done,
            " after the plan was applied; the report of the plan contains the result",
        ),
    };
    let (state, fault) = match reach {
        Reach::Nothing | Reach::Begun | Reach::BegunOnce => (state, fault),
        Reach::Changing => (State::Failed, Fault::Stuck),
        Reach::Changed => (State::Failed, Fault::ToolTimeout),
    };
    let phase = match reach {
        Reach::Nothing => Phase::Read,
        Reach::Begun | Reach::BegunOnce => Phase::Call,
        Reach::Changing | Reach::Changed => Phase::Plan,
    };
    let mut failure = Failure::new(fault, why + end);
    failure.recoverable &= matches!(reach, Reach::Nothing | Reach::Begun);
    let outcome = Outcome {
        effect,
        ..Outcome::nothing_done(state, phase, Some(failure))
    };
    arrived.answered(&arrived.received, Executed::from(outcome), kind, host)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::host::Interrupts;

    #[test]
    fn the_exit_code_is_a_function_of_the_end() {
        for (state, fault, code) in [
            (State::Done, None, 0),
            (State::Planned, None, 0),
            (State::Rejected, Some(Fault::PlanInvalid), 2),
            (State::Failed, Some(Fault::DiskFull), 1),
            (State::Failed, Some(Fault::InFlight), 75),
            (State::Partial, Some(Fault::FileNotFound), 1),
            (State::RolledBack, Some(Fault::HashMismatch), 1),
            (State::RolledBack, Some(Fault::ToolTimeout), 75),
            (State::Cancelled, Some(Fault::Cancelled), 143),
        ] {
            let failure = fault.map(|fault| Failure::new(fault, "why"));
            let outcome = Outcome::nothing_done(state, Phase::Plan, failure);
            let answer = Answer::new(Vec::new(), outcome.into());
            assert_eq!(answer.exit_code(None), code, "{state:?}");
        }
    }

    #[test]
    fn after_a_defect_the_answer_is_for_who_asked_and_does_not_say_that_nothing_ran() {
        let task = br#"{"dispatch": {"task_id": "task_5", "capability_ids": ["A"]}, "metadata": {"session_id": "sess-1"}}"#;
        let host = Host::new(None, None, Interrupts::catch());
        let arrived = Arrived::read(Ok(task.to_vec()), host.moment(), &host);
        let answer = broken(&arrived, Reply::Adl, &host);
        assert_eq!((answer.state, answer.recoverable), (State::Failed, false));
        let envelope: Value = serde_json::from_slice(&answer.line).unwrap();
        assert_eq!(envelope["metadata"]["session_id"], "sess-1");
        assert_eq!(envelope["output"]["content"]["oneact"]["effect"], "unknown");
        assert_eq!(envelope["error"]["error_code"], "PROCESSING_ERROR");
    }

    #[test]
    fn what_may_have_happened_decides_what_is_told_r_000_12() {
        let host = Host::new(None, None, Interrupts::catch());
        let task = br#"{"task_id": "task_5", "capability_ids": ["A"]}"#;
        let arrived = Arrived::read(Ok(task.to_vec()), host.moment(), &host);
        for (reach, effect, recoverable, fault) in [
            (Reach::Nothing, Effect::None, true, Fault::ToolTimeout),
            (Reach::Begun, Effect::Unknown, true, Fault::ToolTimeout),
            (Reach::BegunOnce, Effect::Unknown, false, Fault::ToolTimeout),
            (Reach::Changing, Effect::Unknown, false, Fault::Stuck),
            (Reach::Changed, Effect::Done, false, Fault::ToolTimeout),
        ] {
            let budget = Some(Duration::from_secs(1));
            let answer = overdue(&arrived, reach, budget, Reply::Adl, &host);
            let outcome = answer.outcome();
            let failure = outcome.failure.as_ref().unwrap();
            assert_eq!(
                (outcome.effect, failure.recoverable, failure.fault),
                (effect, recoverable, fault),
                "{reach:?}"
            );
        }
    }
}
