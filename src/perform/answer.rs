//! What a run gives to whoever prints it.

use crate::{
    executor::Executed,
    host::Interrupt,
    task::{Outcome, State},
};

/// The answer: print it, then drop it. Dropping waits for servers that are still ending.
#[must_use]
pub struct Answer {
    /// One JSON document and a newline.
    pub line: Vec<u8>,
    pub state: State,
    /// Whether sending the same task again may help.
    pub recoverable: bool,
    /// Servers that are ending, and the scratch directory they may still hold.
    executed: Executed,
}

impl Answer {
    pub(super) fn new(mut line: Vec<u8>, executed: Executed) -> Self {
        line.push(b'\n');
        let failure = executed.outcome.failure.as_ref();
        Self {
            line,
            state: executed.outcome.state,
            recoverable: failure.is_some_and(|failure| failure.recoverable),
            executed,
        }
    }

    /// What came of the task.
    pub fn outcome(&self) -> &Outcome {
        &self.executed.outcome
    }

    /// The exit code is a function of how the run ended (invariant 5): 0, 1, 2, 3, 75, or 128 and the
    /// number of the signal that cancelled it.
    pub fn exit_code(&self, interrupt: Option<Interrupt>) -> u8 {
        match self.state {
            State::Done | State::Planned | State::Reused | State::Suppressed => 0,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{Failure, Fault, Phase};

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
}
