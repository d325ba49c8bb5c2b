//! The name of the scratch directory of a run.

use super::*;
use crate::envelope;

#[test]
fn only_runs_of_the_same_task_that_may_be_asked_share_a_scratch_directory() {
    let operation = |byte| OperationId::new("2026-01-01T00:00:00Z".parse().unwrap(), [byte; 16]);
    let name = |task: &str, byte| {
        let received = envelope::read(task.as_bytes(), || format!("sess-{byte}"));
        scratch_name(&received, &operation(byte))
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
