//! When oneact itself breaks.

use super::{Answer, Arrived, Reply};
use crate::{
    executor::Executed,
    host::Host,
    task::{Effect, Failure, Fault, Outcome, Phase, State},
};

/// The answer after a defect of oneact itself: how far the run came, nobody knows.
pub fn broken(arrived: &Arrived, host: &Host) -> Answer {
    let message = "internal error: oneact broke while performing the task; what it had begun may be unfinished (see stderr)";
    let failure = Failure::new(Fault::Internal, message);
    let executed = Executed::from(Outcome {
        effect: Effect::Unknown,
        ..Outcome::nothing_done(State::Failed, Phase::Read, Some(failure))
    });
    arrived.answered(executed, Reply::Adl, host)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::host::Interrupts;

    #[test]
    fn after_a_defect_the_answer_is_for_who_asked_and_does_not_say_that_nothing_ran() {
        let task = br#"{"dispatch": {"task_id": "task_5", "capability_ids": ["A"]}, "metadata": {"session_id": "sess-1"}}"#;
        let host = Host::new(None, None, Interrupts::catch());
        let arrived = Arrived::read(Ok(task.to_vec()), host.moment(), &host);
        let answer = broken(&arrived, &host);
        assert_eq!((answer.state, answer.recoverable), (State::Failed, false));
        let envelope: Value = serde_json::from_slice(&answer.line).unwrap();
        assert_eq!(envelope["metadata"]["session_id"], "sess-1");
        assert_eq!(envelope["output"]["content"]["oneact"]["effect"], "unknown");
        assert_eq!(envelope["error"]["error_code"], "PROCESSING_ERROR");
    }
}
