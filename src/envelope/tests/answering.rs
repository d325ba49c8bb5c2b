//! The envelope of an outcome.

use jiff::Zoned;
use serde_json::{Value, json};

use crate::{
    envelope::{Answered, read, to_json, to_response},
    task::{
        Ai, AiPrompt, Effect, Failure, Fault, Invocation, InvocationStatus, OperationId, Outcome,
        Phase, Preview, Produced, RefId, ReportFiles, State, Waiting, identity,
    },
};

fn outcome(state: State, failure: Option<Failure>) -> Outcome {
    Outcome {
        executed: vec!["CAP-PRE-002".to_owned()],
        effect: Effect::Done,
        ..Outcome::nothing_done(state, Phase::Complete, failure)
    }
}

fn answer(document: &Value, outcome: &Outcome, at: &str) -> Value {
    let received = read(document.to_string().as_bytes(), || "sess-fresh".to_owned());
    let executed_at: Zoned = at.parse().unwrap();
    let operation = OperationId::new(executed_at.timestamp(), [7; 16]);
    let answered = Answered {
        received: &received,
        outcome,
        operation: &operation,
        executed_at: &executed_at,
    };
    serde_json::from_slice(&to_json(&answered)).unwrap()
}

const AT: &str = "2026-02-24T10:00:00+08:00[Asia/Singapore]";

fn task() -> Value {
    json!({"task_id": "task_5", "capability_ids": ["CAP-PRE-002"], "attempt": 3})
}

#[test]
fn the_envelope_has_the_eleven_keys_in_their_order_r_000_14() {
    let envelope = answer(&task(), &outcome(State::Done, None), AT);
    let keys: Vec<&str> = envelope
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys,
        [
            "message_id",
            "timestamp",
            "agent",
            "input",
            "output",
            "next_agent",
            "status",
            "error",
            "metadata",
            "resources",
            "audit"
        ]
    );
}

#[test]
fn time_is_said_with_milliseconds_offset_and_zone_r_000_16() {
    let envelope = answer(&task(), &outcome(State::Done, None), AT);
    assert_eq!(
        envelope["timestamp"],
        json!({"executed_at": "2026-02-24T10:00:00.000+08:00", "timezone": "Asia/Singapore"})
    );
    // An offset that is no zone is said in UTC, so that the two always agree.
    let envelope = answer(
        &task(),
        &outcome(State::Done, None),
        "2026-02-24T10:00:00+08:00[+08:00]",
    );
    assert_eq!(
        envelope["timestamp"],
        json!({"executed_at": "2026-02-24T02:00:00.000+00:00", "timezone": "UTC"})
    );
    // The id carries the same second (C-12).
    let id = envelope["message_id"].as_str().unwrap();
    assert!(id.starts_with("msg-act-20260224-020000-"), "{id}");
}

#[test]
fn retry_count_is_the_attempt_less_one_on_every_outcome_c_04() {
    let failed = outcome(State::Failed, Some(Failure::new(Fault::ToolError, "no")));
    for outcome in [outcome(State::Done, None), failed] {
        assert_eq!(answer(&task(), &outcome, AT)["error"]["retry_count"], 2);
    }
}

#[test]
fn success_and_failure_agree_in_every_vocabulary() {
    for fault in Fault::ALL.iter().copied() {
        let envelope = answer(
            &task(),
            &outcome(State::Failed, Some(Failure::new(fault, "why"))),
            AT,
        );
        assert_eq!(
            envelope["output"]["content"]["task_result"]["status"],
            "failed"
        );
        assert_eq!(envelope["status"]["code"], "failed");
        assert_eq!(envelope["error"]["has_error"], true);
        assert_eq!(envelope["error"]["recoverable"], fault.recoverable());
        assert_eq!(
            envelope["output"]["content"]["oneact"]["fault"],
            fault.name()
        );
    }
    let envelope = answer(&task(), &outcome(State::Done, None), AT);
    assert_eq!(
        envelope["status"],
        json!({"code": "success", "message": "Task 5 completed successfully"})
    );
    assert_eq!(
        envelope["error"],
        json!({"has_error": false, "error_code": null, "error_message": null, "retry_count": 2, "recoverable": false})
    );
}

#[test]
fn inherited_resources_stay_and_what_was_made_is_added_c_02() {
    let document = json!({
        "dispatch": task(),
        "metadata": {"session_id": "s", "sequence_number": 4},
        "resources": {
            "source_refs": [{"ref_id": "src_1", "extra": 1}],
            "storage_refs": [],
            "derived_refs": [
                {"ref_id": "derived_0", "status": "created"},
                {"ref_id": "derived_1", "status": "pending", "storage_uri": null},
            ],
        },
    });
    let mut outcome = outcome(State::Done, None);
    for id in ["derived_1", "store_2"] {
        outcome.produced.push(Produced {
            ref_id: RefId::parse(id).unwrap(),
            storage_uri: "file:///x".to_owned(),
            asset_type: "audio_track".to_owned(),
            capability_id: "CAP-PRE-002".to_owned(),
            parent_ref_id: Some(RefId::parse("store_1").unwrap()),
            bytes: 1,
        });
    }
    let resources = answer(&document, &outcome, AT)["resources"].clone();
    assert_eq!(
        resources["source_refs"],
        json!([{"ref_id": "src_1", "extra": 1}])
    );
    assert_eq!(
        resources["derived_refs"],
        json!([
            {"ref_id": "derived_0", "status": "created"},
            {"ref_id": "derived_1", "parent_ref_id": "store_1", "storage_uri": "file:///x", "asset_type": "audio_track",
             "capability_id": "CAP-PRE-002", "created_at_sequence": 5, "status": "created"},
        ])
    );
    assert_eq!(resources["storage_refs"][0]["status"], "stored");
}

#[test]
fn garbage_is_answered_too_r_000_12() {
    for bytes in [&b""[..], b"\xFF", b"[1,", b"null"] {
        let received = read(bytes, || "sess-fresh".to_owned());
        let failure = received.task.clone().unwrap_err();
        let executed_at: Zoned = AT.parse().unwrap();
        let operation = OperationId::new(executed_at.timestamp(), [7; 16]);
        let outcome = Outcome {
            executed: Vec::new(),
            ..outcome(State::Rejected, Some(failure))
        };
        let answered = Answered {
            received: &received,
            outcome: &outcome,
            operation: &operation,
            executed_at: &executed_at,
        };
        let envelope: Value = serde_json::from_slice(&to_json(&answered)).unwrap();
        assert_eq!(
            envelope["output"]["content"]["task_result"]["task_id"],
            "unknown"
        );
        assert_eq!(envelope["error"]["error_code"], "INVALID_INPUT");
    }
}

/// What a plan came to, as the room `plan` tells it.
fn of_a_plan(state: State, failure: Option<Fault>, status: &str) -> Outcome {
    Outcome {
        executed: vec!["apply_file_plan".to_owned()],
        execution_report: Some(json!({
            "report_id": "r", "plan_id": "plan-001", "executor_version": "1.0.0", "status": status,
            "started_at": AT, "completed_at": AT, "duration_ms": 0,
            "actions_summary": {"total": 1, "completed": 0, "failed": 1, "skipped": 0},
            "actions_completed": [], "actions_failed": [{"action_id": "a001"}], "actions_skipped": [],
            "rollback_performed": false, "rollback_manifest_id": null,
            "executor": identity(), "oneact_version": "0.1.0", "archived": status == "SUCCESS",
        })),
        reports: Some(ReportFiles {
            directory: "agent_outputs/reports/x".to_owned(),
            execution_report: "agent_outputs/reports/x/execution_report.json".to_owned(),
            change_log: "agent_outputs/reports/x/change_log.json".to_owned(),
            rollback_manifest: None,
        }),
        ..outcome(state, failure.map(|fault| Failure::new(fault, "why")))
    }
}

fn plan() -> Value {
    json!({"task_id": "task_5", "task_plan": {"plan_id": "plan-001", "action_plan": []}})
}

#[test]
fn every_end_of_a_plan_has_its_words_and_fits_the_schema_c_11() {
    let schema = serde_json::from_str(include_str!("../../../schemas/envelope.schema.json"));
    let schema = jsonschema::validator_for(&schema.unwrap()).unwrap();
    for (state, fault, status, code, message) in [
        (
            State::Done,
            None,
            "SUCCESS",
            "success",
            "Task 5 completed successfully",
        ),
        (
            State::Partial,
            Some(Fault::FileNotFound),
            "PARTIAL",
            "partial",
            "Task 5 was performed in part: file not found",
        ),
        (
            State::Failed,
            Some(Fault::DiskFull),
            "FAILED",
            "failed",
            "Task 5 failed: disk full",
        ),
        (
            State::RolledBack,
            Some(Fault::HashMismatch),
            "ROLLED_BACK",
            "failed",
            "Task 5 was rolled back: hash mismatch",
        ),
        (
            State::Cancelled,
            Some(Fault::Cancelled),
            "CANCELLED",
            "failed",
            "Task 5 was cancelled",
        ),
    ] {
        let envelope = answer(&plan(), &of_a_plan(state, fault, status), AT);
        assert!(
            schema.is_valid(&envelope),
            "{:?}",
            schema.validate(&envelope)
        );
        assert_eq!(
            envelope["status"],
            json!({"code": code, "message": message})
        );
        let content = &envelope["output"]["content"];
        assert_eq!(content["execution_report"]["status"], status);
        assert_eq!(
            content["oneact"]["reports"]["directory"],
            "agent_outputs/reports/x"
        );
        let complete = if fault.is_none() {
            "complete"
        } else {
            "failed"
        };
        assert_eq!(content["task_result"]["status"], complete);
    }
}

#[test]
fn a_preview_of_a_plan_stands_in_the_extras_and_fits_the_schema() {
    let schema = serde_json::from_str(include_str!("../../../schemas/envelope.schema.json"));
    let schema = jsonschema::validator_for(&schema.unwrap()).unwrap();
    let shown = Outcome {
        preview: Some(Preview {
            hash: format!("sha256:{}", "0".repeat(64)),
            diff: "--- a/x\n".to_owned(),
        }),
        ..Outcome::nothing_done(State::Planned, Phase::Plan, None)
    };
    let envelope = answer(&plan(), &shown, AT);
    assert!(
        schema.is_valid(&envelope),
        "{:?}",
        schema.validate(&envelope)
    );
    let extras = &envelope["output"]["content"]["oneact"];
    assert_eq!(extras["preview"]["diff"], "--- a/x\n");
}

fn response(outcome: &Outcome) -> Value {
    let received = read(task().to_string().as_bytes(), || "sess-fresh".to_owned());
    serde_json::from_str(&to_response(&received, outcome)).unwrap()
}

#[test]
fn what_a_model_was_asked_stands_in_the_response_whatever_the_result_is_r_004_14() {
    let mut asked = outcome(State::Done, None);
    asked.ai = Ai {
        prompt: Some(AiPrompt {
            system: "be brief".to_owned(),
            user: "why?".to_owned(),
        }),
        response: None,
    };
    let response = response(&asked);
    assert_eq!(
        response["aiPrompt"],
        json!({"system": "be brief", "user": "why?"})
    );
    assert_eq!(response.get("aiResponse"), None);
}

#[test]
fn inputs_of_two_calls_of_one_tool_are_both_there_r_004_13() {
    let call = |what: &str| Invocation {
        tool_name: "happen".to_owned(),
        mcp_server: "counter".to_owned(),
        parameters: [("what".to_owned(), json!(what))].into_iter().collect(),
        execution_time_ms: 0,
        status: InvocationStatus::Success,
    };
    let mut twice = outcome(State::Done, None);
    twice.invocations = vec![call("a"), call("b")];
    assert_eq!(
        response(&twice)["inputs"],
        json!({"happen": {"what": "a"}, "happen#2": {"what": "b"}})
    );
}

#[test]
fn a_request_in_flight_is_to_be_sent_again_and_not_to_be_answered_r_004_12() {
    let failure = Failure::new(Fault::RequestInFlight, "it is being done");
    let next = &response(&outcome(State::Pending, Some(failure)))["nextActions"][0];
    assert_eq!(next["type"], "retry");
    assert_eq!(next["description"], "Send the same task again later.");
}

#[test]
fn the_state_of_the_machine_follows_from_the_outcome_r_003_18() {
    let fsm = |outcome: &Outcome| {
        answer(&task(), outcome, AT)["output"]["content"]["oneact"]["fsm"].clone()
    };
    let failed = || Some(Failure::new(Fault::ToolError, "no"));
    for (state, failure, word) in [
        (State::Done, None, "DONE"),
        (State::Advised, None, "DONE"),
        (State::Reused, None, "DONE"),
        (State::Suppressed, None, "DONE"),
        (State::Replayed, None, "DONE"),
        (State::Replayed, failed(), "AWAITING_REDIRECT"),
        (State::Planned, None, "AWAITING_CONFIRMATION"),
        (State::Pending, failed(), "EXECUTING"),
        (State::Rejected, failed(), "AWAITING_REDIRECT"),
        (State::Failed, failed(), "AWAITING_REDIRECT"),
        (State::Partial, failed(), "AWAITING_REDIRECT"),
        (State::RolledBack, failed(), "AWAITING_REDIRECT"),
        (State::Cancelled, failed(), "AWAITING_REDIRECT"),
    ] {
        assert_eq!(fsm(&outcome(state, failure)), word, "{state:?}");
    }
    let waiting = Outcome {
        waiting: Some(Waiting::Clarification {
            blocked_on: vec!["the day".to_owned()],
            resume: "Ask.",
        }),
        ..outcome(State::Pending, failed())
    };
    assert_eq!(fsm(&waiting), "AWAITING_ACTION_CLARIFICATION");
}
