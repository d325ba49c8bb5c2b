//! What the scratch directory of a run is called.

use sha2::{Digest, Sha256};

use crate::{
    envelope::Received,
    task::{Input, OperationId, Task, hexadecimal},
};

/// As many digits as an operation id has.
const DIGITS: usize = 26;

/// Tools know the name, as a part of `output.path`: one that asks for input is called again by
/// another run, and has to be given the same parameters then (MCP 2026-07-28, Multi Round-Trip
/// Requests). So all runs of a task that may be asked share a name.
pub(super) fn name(received: &Received, operation: &OperationId) -> String {
    match &received.task {
        Ok(Task::Capabilities(task)) if task.input != Input::Refused => {
            let parts = [&received.identity.session_id, &task.task_id].into_iter();
            let parts = parts.chain(&task.capability_ids);
            let hash = parts.fold(Sha256::new(), |hash, part| {
                hash.chain_update(part).chain_update([0xff])
            });
            let digits = hexadecimal(&hash.finalize());
            format!("in_{}", digits.get(..DIGITS).unwrap_or_default())
        }
        _ => operation.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::name as name_of;
    use super::*;
    use crate::envelope;

    #[test]
    fn only_runs_of_the_same_task_that_may_be_asked_share_a_scratch_directory() {
        let operation =
            |byte| OperationId::new("2026-01-01T00:00:00Z".parse().unwrap(), [byte; 16]);
        let name = |task: &str, byte| {
            let received = envelope::read(task.as_bytes(), || format!("sess-{byte}"));
            name_of(&received, &operation(byte))
        };
        let asked = r#"{"task_id": "t", "capability_ids": ["A"], "metadata": {"session_id": "s"}, "accepts_input": true}"#;
        let again = asked.replace("true", r#"true, "request_state": "s1""#);
        assert_eq!(name(asked, 1), name(&again, 2));
        for (from, to) in [
            ("\"t\"", "\"u\""),
            ("\"A\"", "\"B\""),
            ("\"s\"", "\"r\""),
            ("true", "false"),
        ] {
            assert_ne!(name(asked, 1), name(&asked.replace(from, to), 1), "{to}");
        }
        let unasked = asked.replace("true", "false");
        assert_eq!(name(&unasked, 1), operation(1).as_str());
    }
}
