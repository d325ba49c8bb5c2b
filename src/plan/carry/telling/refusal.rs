//! What is told of a plan that was not begun.

use serde_json::Value;

use crate::{
    plan::{
        Desk, Finished, Rejected,
        model::ActionId,
        read::PlanError,
        record::{
            ActionEnd, Durability, Jail, Rollback, Run, Status, Story, Trouble, Verdict, uuid_v4,
        },
        report,
    },
    task::{Effect, Failure, Fault, RelPath},
};

/// Whether the request is to be mended, rather than the world it met.
pub(super) fn of_the_request(fault: Fault) -> bool {
    !matches!(
        fault,
        Fault::DiskFull
            | Fault::FileSystem
            | Fault::HashMismatch
            | Fault::Cancelled
            | Fault::ToolTimeout
            | Fault::InFlight
            | Fault::Stuck
            | Fault::RollbackConflict
            | Fault::Internal
    )
}

/// A plan that was not even begun.
pub(in crate::plan) fn refused(failure: Failure) -> Finished {
    Finished {
        status: None,
        rejected: if of_the_request(failure.fault) {
            Rejected::Yes
        } else {
            Rejected::No
        },
        failure: Some(failure),
        effect: Effect::None,
        report: Value::Null,
        files: None,
        preview: None,
        changed: Vec::new(),
        reasoning: Vec::new(),
        notes: Vec::new(),
    }
}

/// A defect of ours: how far it came, the next start finds out.
pub(in crate::plan) fn broken() -> Finished {
    let message = "internal error: oneact broke while carrying out the plan; the next run, or `oneact recover`, settles it";
    Finished {
        rejected: Rejected::No,
        effect: Effect::Unknown,
        ..refused(Failure::new(Fault::Internal, message))
    }
}

/// A plan that could not be read: nothing was touched, not even a report.
pub(in crate::plan) fn unread(error: &PlanError, desk: Desk<'_>) -> Finished {
    let now = desk.host.now();
    let failed = |id: &ActionId| {
        let problems = std::iter::once(&*error.first).chain(&error.others);
        let mut problems = problems.filter(|problem| problem.subject.action.as_ref() == Some(id));
        problems.next()
    };
    let verdict = |id: &ActionId| {
        let problem = failed(id);
        Verdict {
            action: id.clone(),
            action_type: problem.and_then(|problem| problem.subject.operation),
            target: problem.and_then(|problem| problem.subject.target.clone()),
            began: now.clone(),
            ended: now.clone(),
            end: match problem {
                Some(problem) => ActionEnd::Failed(problem.failure.clone()),
                None => ActionEnd::Skipped("Not tried: the plan was rejected".to_owned()),
            },
        }
    };
    let of_no_action = std::iter::once(&*error.first)
        .chain(&error.others)
        .filter(|problem| problem.subject.action.is_none());
    let Ok(directory) = RelPath::parse(&format!("{}/none", crate::plan::engine::REPORTS)) else {
        return refused(error.failure());
    };
    let story = Story {
        run: Run {
            plan_id: error.plan_id.clone().unwrap_or_default(),
            task_id: desk.task_id.to_owned(),
            directory,
            began: now.clone(),
            actions: error
                .actions
                .iter()
                .map(|id| (id.clone(), Vec::new()))
                .collect(),
        },
        ended: now.clone(),
        duration_ms: 0,
        verdicts: error.actions.iter().map(verdict).collect(),
        undo: None,
        rollback: Rollback::NotDone,
        troubles: of_no_action
            .map(|problem| Trouble {
                at: now.clone(),
                failure: problem.failure.clone(),
            })
            .collect(),
        warnings: Vec::new(),
        durability: Durability::Confirmed,
        jail: Jail::Unavailable,
        preview: None,
    };
    let reports = report::tell(&story, &mut || uuid_v4(desk.host.random_bytes()));
    let mut report = serde_json::to_value(&reports.execution).unwrap_or(Value::Null);
    if let Some(fields) = report.as_object_mut() {
        // Nothing was written, and nothing promised.
        for absent in ["change_log", "rollback_manifest", "guarantees"] {
            fields.remove(absent);
        }
    }
    Finished {
        status: Some(Status::Failed),
        rejected: Rejected::Yes,
        report,
        ..refused(error.failure())
    }
}
