//! The answer after a defect of oneact itself (R-000-12).

use crate::{
    envelope::{self, Answered},
    executor::Executed,
    host::Host,
    task::{Failure, OperationId},
};

use super::{Answer, read};

/// Answers a task whose performance broke: how far the run came, nobody knows.
pub fn broken(input: &Result<Vec<u8>, Failure>, host: &Host) -> Answer {
    let executed_at = host.now();
    let operation = OperationId::new(&executed_at, host.random_bytes());
    let received = read(input, &operation);
    let executed = Executed::broken();
    let answered = Answered {
        received: &received,
        outcome: &executed.outcome,
        operation: &operation,
        executed_at: &executed_at,
    };
    Answer::new(envelope::to_json(&answered), executed)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::task::State;

    use super::*;

    #[test]
    fn after_a_defect_the_answer_is_for_who_asked_and_does_not_say_that_nothing_ran() {
        let task = br#"{"dispatch": {"task_id": "task_5", "capability_ids": ["A"]}, "metadata": {"session_id": "sess-1"}}"#;
        let answer = broken(&Ok(task.to_vec()), &Host::new(None, None).unwrap());
        assert_eq!((answer.state, answer.recoverable), (State::Failed, false));
        let envelope: Value = serde_json::from_slice(&answer.json).unwrap();
        assert_eq!(envelope["metadata"]["session_id"], "sess-1");
        assert_eq!(envelope["output"]["content"]["oneact"]["effect"], "unknown");
        assert_eq!(envelope["error"]["error_code"], "PROCESSING_ERROR");
    }
}
