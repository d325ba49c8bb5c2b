//! The plan dialects: what they mean, and what approves a plan.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    envelope::{Received, read},
    task::{Failure, Fault, PlanName, PlanOrder, Task, Validation, hexadecimal},
};

pub(super) fn received(document: &Value) -> Received {
    read(document.to_string().as_bytes(), || "sess-fresh".to_owned())
}

pub(super) fn failure(document: &Value) -> Failure {
    received(document).task.unwrap_err()
}

pub(super) fn order(document: &Value) -> PlanOrder {
    match received(document).task.unwrap() {
        Task::Plan(order) => order,
        other => panic!("{other:?}"),
    }
}

pub(super) fn plan() -> Value {
    json!({"plan_id": "plan-001", "action_plan": [
        {"action_id": "a001", "action_type": "FILE_DELETE", "target": "x", "operation": {"type": "delete"}},
    ]})
}

pub(super) fn with(mut document: Value, key: &str, value: impl Into<Value>) -> Value {
    document[key] = value.into();
    document
}

pub(super) fn message(message_type: &str, payload: impl Into<Value>) -> Value {
    let payload = payload.into();
    json!({"envelope": {"envelope_id": "env-1", "message_type": message_type}, "payload": payload})
}

fn checksum(text: &str) -> String {
    hexadecimal(&Sha256::digest(text))
}

#[test]
fn a_bare_a_wrapped_and_a_sent_plan_are_the_same_order_r_001_26_r_001_31() {
    let approved = json!({"task_plan": plan(), "protocol_validation": true});
    let bare = with(plan(), "protocol_validation", json!("APPROVED"));
    let content = json!({"task_id": "t", "task_type": "MULTI_ACTION", "content": approved});
    for document in [
        approved,
        bare.clone(),
        message("TASK_REQUEST", content),
        message("TASK_REQUEST", json!({"content": bare})),
    ] {
        let order = order(&document);
        assert_eq!(order.plan, plan(), "{document}");
        assert_eq!(order.validation, Validation::Approved, "{document}");
    }
}

#[test]
fn what_stands_around_a_plan_is_none_of_it() {
    let mut document = plan();
    document["metadata"] = json!({"session_id": "sess-1"});
    document["system_config"] = json!("execution_mode: sequential");
    document["task_id"] = json!("task_7");
    let received = received(&document);
    assert_eq!(received.identity.session_id, "sess-1");
    assert_eq!(received.task_id, "task_7");
    assert_eq!(received.echo, document);
    let order = order(&document);
    assert_eq!(order.plan, plan());
    assert_eq!(
        order.system_config,
        Some(json!("execution_mode: sequential"))
    );
}

#[test]
fn salt_and_idempotency_key_are_the_requests_and_none_of_the_plan() {
    let salted = |document: Value| with(document, "salt", "again");
    for document in [
        salted(plan()),
        salted(json!({"task_plan": plan()})),
        message("TASK_REQUEST", json!({"content": salted(plan())})),
        message("TASK_REQUEST", salted(json!({"content": plan()}))),
    ] {
        let order = order(&with(document.clone(), "idempotency_key", "k"));
        assert_eq!(order.salt.as_deref(), Some("again"), "{document}");
        assert_eq!(order.plan, plan(), "{document}");
    }
    let keyed = received(&with(plan(), "idempotency_key", "k"));
    assert_eq!(keyed.identity.idempotency_key.as_deref(), Some("k"));
    assert!(failure(&with(plan(), "salt", 3)).message.contains("`salt`"));
}

#[test]
fn a_plan_is_answered_under_its_task_or_else_its_own_id_r_001_40() {
    let named = json!({"task_id": "t-9", "content": {"task_plan": plan()}});
    for (document, id) in [
        (plan(), "plan-001"),
        (json!({"task_plan": plan()}), "plan-001"),
        (json!({"task_plan": plan(), "task_id": "t-1"}), "t-1"),
        (message("TASK_REQUEST", named), "t-9"),
        (
            message("TASK_REQUEST", json!({"content": plan()})),
            "plan-001",
        ),
        (json!({"action_plan": []}), "unknown"),
    ] {
        assert_eq!(received(&document).task_id, id, "{document}");
    }
}

#[test]
fn only_true_and_approved_approve_r_001_28_r_001_30_c_17() {
    let said = |value: Value| {
        order(&json!({"task_plan": plan(), "protocol_validation": value})).validation
    };
    assert_eq!(said(json!(true)), Validation::Approved);
    assert_eq!(said(json!("APPROVED")), Validation::Approved);
    assert_eq!(said(json!(null)), Validation::Unsaid);
    assert_eq!(order(&plan()).validation, Validation::Unsaid);
    for value in [
        json!(false),
        json!("REJECTED"),
        json!("approved"),
        json!("true"),
        json!(1),
        json!({"status": "APPROVED"}),
        json!([true]),
    ] {
        assert!(
            matches!(said(value.clone()), Validation::Refused(_)),
            "{value}"
        );
    }
}

#[test]
fn a_refusal_in_the_plan_wins_over_an_approval_beside_it() {
    let refused = with(plan(), "protocol_validation", json!(false));
    let document = json!({"task_plan": refused, "protocol_validation": true});
    assert!(matches!(
        order(&document).validation,
        Validation::Refused(_)
    ));
}

#[test]
fn a_block_approves_whose_checksum_fits_the_payload_in_either_spelling_c_17() {
    let payload = json!({"task_id": "t", "content": plan()});
    let received = payload.to_string();
    let canonical = serde_json_canonicalizer::to_string(&payload).unwrap();
    assert_ne!(received, canonical);
    let block = |checksum: String, by: Value| {
        let block = json!({"checksum": checksum, "validated_by": by, "validated_at": "2026-02-24T10:00:00Z"});
        order(&with(
            message("TASK_REQUEST", payload.clone()),
            "validation",
            block,
        ))
        .validation
    };
    for good in [
        checksum(&received),
        checksum(&canonical),
        format!("sha256:{}", checksum(&canonical)),
        checksum(&received).to_uppercase(),
    ] {
        assert_eq!(
            block(good.clone(), json!("agent_protocol")),
            Validation::Approved
        );
        assert_eq!(block(good.clone(), json!("manual")), Validation::Approved);
        assert_eq!(block(good.clone(), json!(null)), Validation::Unsaid);
        assert!(matches!(
            block(good, json!("agent_inspector")),
            Validation::Refused(_)
        ));
    }
    for bad in ["", "sha256:", "00", &checksum("{}")] {
        let said = block(bad.to_owned(), json!("agent_protocol"));
        assert!(matches!(said, Validation::Refused(_)), "{bad}");
    }
}

#[test]
fn a_block_without_a_checksum_approves_nothing() {
    let document = with(
        message("TASK_REQUEST", json!({"content": plan()})),
        "validation",
        json!({"validated_by": "manual"}),
    );
    assert_eq!(order(&document).validation, Validation::Unsaid);
}

#[test]
fn a_rollback_names_its_plan_once_and_may_name_checkpoints_r_001_105_r_001_110() {
    let ask = |content: Value| {
        received(&message(
            "ROLLBACK_REQUEST",
            json!({"task_id": "t", "content": content}),
        ))
        .task
    };
    for (content, plan) in [
        (
            json!({"manifest_id": "m"}),
            PlanName::ManifestId("m".to_owned()),
        ),
        (json!({"plan_id": "p"}), PlanName::PlanId("p".to_owned())),
        (json!({"task_id": "u"}), PlanName::TaskId("u".to_owned())),
        (
            json!({"report_directory": "agent_outputs/reports/x"}),
            PlanName::Path("agent_outputs/reports/x".to_owned()),
        ),
        (
            json!({"rollback_manifest": "m.json"}),
            PlanName::Path("m.json".to_owned()),
        ),
        (json!({}), PlanName::TaskId("t".to_owned())),
    ] {
        match ask(content).unwrap() {
            Task::Rollback(order) => {
                assert_eq!((order.plan, order.checkpoints), (plan, Vec::new()));
            }
            other => panic!("{other:?}"),
        }
    }
    match ask(json!({"plan_id": "p", "checkpoints": ["c1", "c2"]})).unwrap() {
        Task::Rollback(order) => assert_eq!(order.checkpoints, ["c1", "c2"]),
        other => panic!("{other:?}"),
    }
    for bad in [
        json!({"plan_id": "p", "manifest_id": "m"}),
        json!({"plan_id": ""}),
        json!({"plan_id": 7}),
        json!({"plan": "p"}),
        json!({"plan_id": "p", "checkpoints": []}),
        json!({"plan_id": "p", "checkpoints": "c1"}),
        json!([]),
    ] {
        assert_eq!(
            ask(bad.clone()).unwrap_err().fault,
            Fault::InvalidShape,
            "{bad}"
        );
    }
}

#[test]
fn an_order_whose_checksum_does_not_fit_is_not_the_one_that_was_sent() {
    for kind in ["ROLLBACK_REQUEST", "STATUS_QUERY", "CANCEL"] {
        let document = with(
            message(kind, json!({"content": {"plan_id": "p"}})),
            "validation",
            json!({"checksum": checksum("another")}),
        );
        assert_eq!(failure(&document).fault, Fault::NotValidated, "{kind}");
    }
}

#[test]
fn message_type_and_task_type_say_what_is_asked() {
    let payload = |kind: &str| json!({"task_type": kind, "content": {"plan_id": "p"}});
    let name = || PlanName::PlanId("p".to_owned());
    for document in [
        message("STATUS_QUERY", payload("X")),
        message("TASK_REQUEST", payload("STATUS_QUERY")),
    ] {
        assert_eq!(received(&document).task, Ok(Task::Status(name())));
    }
    for document in [
        message("CANCEL", payload("X")),
        message("TASK_REQUEST", payload("CANCEL")),
    ] {
        assert_eq!(received(&document).task, Ok(Task::Cancel(name())));
    }
    for kind in [
        "TASK_RESPONSE",
        "STATUS_UPDATE",
        "ERROR",
        "ACK",
        "task_request",
        "",
    ] {
        let failure = failure(&message(kind, payload("X")));
        assert_eq!(failure.fault, Fault::InvalidShape);
        assert!(
            failure.message.contains("envelope.message_type"),
            "{}",
            failure.message
        );
    }
    assert_eq!(
        failure(&json!({"envelope": {}, "payload": {}})).fault,
        Fault::InvalidShape
    );
    assert_eq!(
        failure(&message("TASK_REQUEST", json!({"content": {}}))).fault,
        Fault::InvalidShape
    );
}

#[test]
fn a_protocol_message_says_who_asks_in_its_own_words() {
    let document = json!({
        "envelope": {"envelope_id": "env-1", "message_type": "TASK_REQUEST"},
        "metadata": {"correlation_id": "corr-1", "sequence_number": 3, "retry_count": 1},
        "payload": {"content": plan()},
    });
    let received = received(&document);
    assert_eq!(received.identity.request_id.as_deref(), Some("corr-1"));
    assert_eq!(
        received.identity.parent_message_id.as_deref(),
        Some("env-1")
    );
    assert_eq!(
        (received.identity.sequence_number, received.attempt.unwrap()),
        (4, 2)
    );
    assert_eq!(received.echo, document["payload"]);
}

#[test]
fn a_message_is_not_acted_on_after_its_time() {
    let mut document = message("TASK_REQUEST", json!({"content": plan()}));
    document["envelope"]["created_at"] = json!("2026-02-24T10:00:00+08:00");
    document["envelope"]["ttl_seconds"] = json!(60);
    let received = received(&document);
    let at = |now: &str| received.clone().at(now.parse().unwrap()).task;
    assert!(at("2026-02-24T02:01:00Z").is_ok());
    let late = at("2026-02-24T02:01:01Z").unwrap_err();
    assert_eq!(late.fault, Fault::NotValidated);
    document["envelope"]["ttl_seconds"] = json!("60");
    assert_eq!(failure(&document).fault, Fault::InvalidShape);
}
