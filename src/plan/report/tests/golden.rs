//! One story with every kind of change, told by every report.

use serde_json::{Value, json};

use super::*;
use crate::plan::record::Status;

fn json_of(report: &Value) -> Value {
    serde_json::from_slice(&bytes(report)).unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn the_execution_report_has_every_field_of_001_4_1_r_001_01_r_001_42_to_51() {
    let report = json_of(&told(&story()).execution);
    let done = |n: usize| {
        json!({
            "action_id": format!("a00{n}"),
            "status": "SUCCESS",
            "started_at": format!("2026-02-24T10:00:0{}.250+08:00", n - 1),
            "completed_at": format!("2026-02-24T10:00:0{n}.250+08:00"),
            "output": format!("done {n}"),
        })
    };
    let expected = json!({
        "report_id": uuid(0x101),
        "plan_id": "plan-001",
        "executor_version": "1.0.0",
        "status": "SUCCESS",
        "started_at": "2026-02-24T10:00:00.250+08:00",
        "completed_at": "2026-02-24T10:00:09.250+08:00",
        "duration_ms": 9000,
        "actions_summary": {"total": 5, "completed": 5, "failed": 0, "skipped": 0},
        "actions_completed": [done(1), done(2), done(3), done(4), done(5)],
        "actions_failed": [],
        "actions_skipped": [],
        "rollback_performed": false,
        "rollback_manifest_id": uuid(99),
        "executor": {
            "name": "agent_executor",
            "version": "1.0.0",
            "role": "Safe Action Implementer",
            "trust_level": "WRITE_CONTROLLED",
        },
        "oneact_version": env!("CARGO_PKG_VERSION"),
        "archived": true,
        "task_id": "t1",
        "errors": [],
        "warnings": ["a note"],
        "guarantees": {
            "atomicity": "swap",
            "capture": "strong",
            "durability": "confirmed",
            "jail": "enforced",
            "degraded": [],
        },
        "change_log": "agent_outputs/reports/20260224-100000_t1/change_log.json",
        "rollback_manifest": "agent_outputs/reports/20260224-100000_t1/rollback_manifest.json",
    });
    assert_eq!(report, expected);
    assert_eq!(keys(&report), keys(&expected), "the order of 001 §4.1");
}

#[test]
fn the_change_log_has_every_field_of_001_4_2_r_001_53_to_59() {
    let log = json_of(&told(&story()).change_log);
    let state = |text: Option<&str>, mode: &str| match text {
        None => json!({
            "exists": false, "hash": null, "size_bytes": null, "last_modified": null, "mode": null,
        }),
        Some(text) => json!({
            "exists": true,
            "hash": sha(text),
            "size_bytes": text.len(),
            "last_modified": MODIFIED,
            "mode": mode,
        }),
    };
    let modified = json!({
        "change_id": uuid(0x104),
        "action_id": "a002",
        "file_path": "src/a.txt",
        "operation": "MODIFY",
        "before_state": state(Some("one\ntwo\n"), "0444"),
        "after_state": state(Some("one\n2\nthree\n"), "0444"),
        "diff_summary": {
            "lines_added": 2,
            "lines_removed": 1,
            "preview": "--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three\n",
        },
        "timestamp": "2026-02-24T10:00:02.250+08:00",
        "actions": ["a002"],
        "new_path": null,
        "fidelity": {"degraded": [], "atomicity": "swap", "capture": "strong"},
    });
    assert_eq!(log["changes"][1], modified);
    assert_eq!(keys(&log["changes"][1]), keys(&modified));
    assert_eq!(log["changes"][0]["before_state"], state(None, ""));
    assert_eq!(log["changes"][2]["after_state"], state(None, ""));
    assert_eq!(log["changes"][3]["file_path"], "name.txt");
    assert_eq!(log["changes"][3]["new_path"], "src/-renamed.txt");
    let operations: Vec<&str> = log["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["operation"].as_str().unwrap())
        .collect();
    assert_eq!(
        operations,
        ["CREATE", "MODIFY", "DELETE", "RENAME", "MODIFY"]
    );
    let mut rest = log.clone();
    rest["changes"] = json!([]);
    let expected = json!({
        "log_id": uuid(0x102),
        "plan_id": "plan-001",
        "execution_report_id": uuid(0x101),
        "created_at": "2026-02-24T10:00:09.250+08:00",
        "changes": [],
        "files_affected_count": 5,
        "total_lines_changed": 1 + 3 + 1 + 2,
        "rolled_back_at": null,
    });
    assert_eq!(rest, expected);
    assert_eq!(keys(&rest), keys(&expected));
}

#[test]
fn the_manifest_has_every_field_of_001_4_3_r_001_61_to_68() {
    let manifest = json_of(&manifest_of(story()).json());
    let backup = "agent_outputs/reports/20260224-100000_t1/backups/src/a.txt.bak";
    let (before, after) = (sha("one\ntwo\n"), sha("one\n2\nthree\n"));
    let modified = json!({
        "checkpoint_id": uuid(2),
        "file_path": "src/a.txt",
        "backup_location": backup,
        "original_hash": before,
        "original_size": 8,
        "operation_to_reverse": "MODIFY",
        "restore_command": format!(
            "Put the original of 'src/a.txt' back. In the root, while `sha256sum -- 'src/a.txt'` prints \
             {after}: mkdir -p -- 'src' && cp -pf -- '{backup}' 'src/a.txt' && chmod 0444 -- 'src/a.txt' \
             (then `sha256sum -- 'src/a.txt'` prints {before})"
        ),
        "new_path": null,
        "result_hash": after,
        "original_mode": "0444",
        "original_modified": MODIFIED,
        "actions": ["a002"],
        "depends_on": [uuid(3), uuid(5)],
        "undone_at": null,
    });
    assert_eq!(manifest["checkpoints"][1], modified);
    assert_eq!(keys(&manifest["checkpoints"][1]), keys(&modified));
    let created = &manifest["checkpoints"][0];
    for absent in [
        "backup_location",
        "original_hash",
        "original_size",
        "original_mode",
    ] {
        assert_eq!(created[absent], Value::Null, "{absent}");
    }
    assert_eq!(manifest["checkpoints"][3]["new_path"], "src/-renamed.txt");
    assert_eq!(manifest["checkpoints"][2]["result_hash"], Value::Null);
    let mut rest = manifest.clone();
    rest["checkpoints"] = json!([]);
    let expected = json!({
        "manifest_id": uuid(99),
        "plan_id": "plan-001",
        "created_at": "2026-02-24T10:00:01.250+08:00",
        "status": "ACTIVE",
        "checkpoints": [],
        "rollback_order": [uuid(5), uuid(4), uuid(3), uuid(2), uuid(1)],
        "auto_rollback_script": "agent_outputs/reports/20260224-100000_t1/rollback.sh",
        "notes": manifest["notes"],
        "task_id": "t1",
        "created_directories": ["new dir"],
        "executed_at": null,
    });
    assert_eq!(rest, expected);
    assert_eq!(keys(&rest), keys(&expected));
}

#[test]
fn the_log_has_a_line_an_event_and_no_contents_r_001_161_r_001_168() {
    let mut story = story();
    story.end.verdicts[0].end = ActionEnd::Failed(Failure::new(
        Fault::FileSystem,
        "cannot read https://u:pw@host/x?sig=abc",
    ));
    story.end.rollback = Rollback::Done {
        at: at(8),
        left: vec![uuid(2)],
    };
    let text = log_lines(&story);
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let events: Vec<&str> = lines
        .iter()
        .map(|line| line["event"].as_str().unwrap())
        .collect();
    let mut expected = vec!["plan_received"];
    expected.extend(["checkpoint_made"; 5]);
    expected.extend(["action_ended"; 5]);
    expected.extend(["rolled_back", "plan_ended"]);
    assert_eq!(events, expected);
    assert_eq!(
        lines[6],
        json!({
            "timestamp": "2026-02-24T10:00:01.250+08:00",
            "event": "action_ended",
            "plan_id": "plan-001",
            "task_id": "t1",
            "about": {"action": {
                "action_id": "a001",
                "operation": "FILE_CREATE",
                "target": "new dir/it's new.txt",
                "status": "FAILED",
                "error_code": 2006,
                "message": "cannot read https://***@host/x?sig=***",
            }},
        })
    );
    assert_eq!(lines[11]["about"], json!({"rollback": {"left": [uuid(2)]}}));
    assert_eq!(lines[12]["about"]["end"]["status"], "ROLLED_BACK");
    for content in ["three", "kept\\n", "pw@", "abc"] {
        assert!(!text.contains(content), "{content}");
    }
    assert_eq!(
        log_file(&story.end.ended),
        "agent_logs/executor/2026-02-24.jsonl"
    );
}

#[test]
fn a_failure_that_was_rolled_back_reads_as_001_12_2_r_001_181() {
    let mut story = failing();
    story.end.rollback = Rollback::Done {
        at: at(8),
        left: Vec::new(),
    };
    let reports = told(&story);
    let report = json_of(&reports.execution);
    assert_eq!(report["status"], "ROLLED_BACK");
    assert_eq!(
        report["actions_summary"],
        json!({"total": 3, "completed": 1, "failed": 1, "skipped": 1})
    );
    assert_eq!(
        report["actions_failed"],
        json!([{
            "action_id": "a002", "status": "FAILED", "error_code": 2001, "error_message": "File not found",
        }])
    );
    assert_eq!(
        report["actions_skipped"],
        json!([{"action_id": "a003", "reason": "Dependency a002 failed"}])
    );
    assert_eq!(report["rollback_performed"], true);
    assert_eq!(report["rollback_manifest_id"], json!(uuid(99)));
    assert_eq!(
        json_of(&reports.change_log)["rolled_back_at"],
        "2026-02-24T10:00:08.250+08:00"
    );
    let manifest = json_of(&reports.manifest.unwrap().json());
    assert_eq!(manifest["status"], "EXECUTED");
    assert_eq!(manifest["executed_at"], "2026-02-24T10:00:08.250+08:00");
}

#[test]
fn an_error_object_has_every_field_of_001_8_2_r_001_143_r_001_145() {
    let mut story = failing();
    story.end.rollback = Rollback::Done {
        at: at(8),
        left: Vec::new(),
    };
    story.end.troubles = vec![trouble(Fault::DiskFull)];
    let errors = json_of(&told(&story).execution)["errors"].clone();
    assert_eq!(
        errors[0],
        json!({
            "error_id": uuid(0x102),
            "error_code": 2001,
            "error_category": "FILE_SYSTEM_ERROR",
            "error_type": "FILE_NOT_FOUND",
            "message": "File not found",
            "details": {"action_id": "a002", "target": "src/a.txt", "operation": "FILE_MODIFY"},
            "recovery_action": "ROLLED_BACK",
            "timestamp": "2026-02-24T10:00:02.250+08:00",
        })
    );
    assert_eq!(
        (
            &errors[1]["error_code"],
            &errors[1]["error_category"],
            &errors[1]["recovery_action"]
        ),
        (&json!(4001), &json!("DEPENDENCY_ERROR"), &json!("SKIPPED"))
    );
    assert_eq!(errors[2]["error_code"], 2002);
    assert_eq!(
        errors[2]["details"],
        json!({"action_id": null, "target": null, "operation": null})
    );
    assert_eq!(errors.as_array().unwrap().len(), 3);
}

#[test]
fn what_was_done_about_an_error_is_one_of_three_r_001_146() {
    let recovery = |rollback| {
        let mut story = failing();
        story.end.rollback = rollback;
        json_of(&told(&story).execution)["errors"][0]["recovery_action"].clone()
    };
    assert_eq!(recovery(Rollback::NotDone), "SKIPPED");
    assert_eq!(
        recovery(Rollback::Done {
            at: at(8),
            left: Vec::new()
        }),
        "ROLLED_BACK"
    );
    let left = vec![uuid(2)];
    assert_eq!(
        recovery(Rollback::Stuck { at: at(8), left }),
        "MANUAL_REQUIRED"
    );
}

#[test]
fn an_internal_error_is_escalated_also_after_a_rollback_r_001_144_r_001_153() {
    for (fault, escalated) in [
        (Fault::Internal, "MANUAL_REQUIRED"),
        (Fault::ToolTimeout, "MANUAL_REQUIRED"),
        (Fault::Cancelled, "ROLLED_BACK"),
        (Fault::DiskFull, "ROLLED_BACK"),
    ] {
        let mut story = failing();
        story.end.rollback = Rollback::Done {
            at: at(8),
            left: Vec::new(),
        };
        story.end.troubles = vec![trouble(fault)];
        let report = json_of(&told(&story).execution);
        let last = report["errors"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["recovery_action"], escalated, "{fault:?}");
        assert_eq!(report["rollback_performed"], true);
    }
}

#[test]
fn the_status_follows_from_what_happened_r_001_45() {
    let with = |story: Story, change: fn(&mut Story)| {
        let mut story = story;
        change(&mut story);
        story.status()
    };
    assert_eq!(with(story(), |_| ()), Status::Success);
    assert_eq!(with(story(), |story| story.undo = None), Status::Success);
    assert_eq!(with(failing(), |_| ()), Status::Partial);
    assert_eq!(with(failing(), |story| story.undo = None), Status::Failed);
    let trouble_alone: fn(&mut Story) = |story| {
        story.end.troubles = vec![trouble(Fault::InFlight)];
        story.undo = None;
    };
    assert_eq!(with(story(), trouble_alone), Status::Failed);
    let undone: fn(&mut Story) = |story| {
        story.end.rollback = Rollback::Done {
            at: at(8),
            left: Vec::new(),
        }
    };
    assert_eq!(with(failing(), undone), Status::RolledBack);
    let stuck: fn(&mut Story) = |story| {
        story.end.rollback = Rollback::Stuck {
            at: at(8),
            left: vec![uuid(1)],
        };
    };
    assert_eq!(with(failing(), stuck), Status::Stuck);
    let cancelled_and_stuck: fn(&mut Story) = |story| {
        story.end.troubles = vec![trouble(Fault::Stuck), trouble(Fault::Cancelled)];
        story.end.rollback = Rollback::Stuck {
            at: at(8),
            left: vec![uuid(1)],
        };
    };
    assert_eq!(with(story(), cancelled_and_stuck), Status::Stuck);
    let cancelled: fn(&mut Story) = |story| {
        story.end.troubles = vec![trouble(Fault::Cancelled)];
        story.end.rollback = Rollback::Done {
            at: at(8),
            left: Vec::new(),
        };
    };
    assert_eq!(with(story(), cancelled), Status::Cancelled);
}

#[test]
fn where_nothing_was_to_be_changed_there_is_no_manifest() {
    let failed = Story {
        undo: None,
        ..failing()
    };
    let reports = told(&failed);
    assert!(reports.manifest.is_none());
    let report = json_of(&reports.execution);
    assert_eq!(report["rollback_manifest_id"], Value::Null);
    assert_eq!(report["rollback_manifest"], Value::Null);
    let log = json_of(&reports.change_log);
    assert_eq!(
        (&log["files_affected_count"], &log["changes"]),
        (&json!(0), &json!([]))
    );
}

#[test]
fn the_worst_file_decides_what_is_promised() {
    use crate::tree::Weakness;
    let mut story = story();
    let changes = &mut story.undo.as_mut().unwrap().changes;
    changes[2].degraded = vec!["owner: Operation not permitted".to_owned()];
    story.end.captures = vec![None, None, Some(Weakness::NoExchange)];
    assert_eq!(
        json_of(&told(&story).execution)["guarantees"],
        json!({
            "atomicity": "swap",
            "capture": "weak",
            "capture_reason": "the file system cannot exchange two names",
            "durability": "confirmed",
            "jail": "enforced",
            "degraded": ["old.txt: owner: Operation not permitted"],
        })
    );
}
