//! When a run does not end by itself.

use std::time::Duration;

use super::{Answer, Arrived, Reply};
use crate::{
    executor::Executed,
    host::Host,
    task::{Effect, Failure, Fault, Outcome, Phase, Reach, State},
};

/// The answer in the place of a run that heeds neither a signal nor the end of its time. What it had begun is
/// settled by the next start: its claim in the ledger and the journal of its plan stay as they are.
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
            format!("cancelled by {}", interrupt.name()),
        ),
        (None, budget) => (
            State::Failed,
            Fault::ToolTimeout,
            format!(
                "the run took longer than the {:?} it was given (--timeout)",
                budget.unwrap_or_default()
            ),
        ),
    };
    let why = format!("{why}, did not end by itself and was ended");
    let (state, fault, effect, message) = match reach {
        Reach::Nothing => (
            state,
            fault,
            Effect::None,
            format!("{why}; nothing was begun"),
        ),
        Reach::Begun => (
            state,
            fault,
            Effect::Unknown,
            format!("{why} while its tool was at work"),
        ),
        Reach::BegunOnce => (
            state,
            fault,
            Effect::Unknown,
            format!(
                "{why} while its tool was at work. Whether that took effect is unknown, and it must not happen twice: a \
                 person has to look."
            ),
        ),
        Reach::Changing => (
            State::Failed,
            Fault::Stuck,
            Effect::Unknown,
            format!(
                "{why} while the files of a plan were changed. Its journal is kept: the next run, or `oneact recover`, \
                 settles it."
            ),
        ),
        Reach::Changed => (
            State::Failed,
            Fault::ToolTimeout,
            Effect::Done,
            format!("{why} after the plan was carried out; its report says how"),
        ),
    };
    let mut failure = Failure::new(fault, message);
    failure.recoverable &= matches!(reach, Reach::Nothing | Reach::Begun);
    let outcome = Outcome {
        effect,
        ..Outcome::nothing_done(state, Phase::Read, Some(failure))
    };
    arrived.answered(Executed::from(outcome), kind, host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Interrupts;

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
