//! What is told of a plan that could not be read.

use crate::task::{Outcome, RelPath};

use super::{
    Desk,
    at::At,
    engine::REPORTS,
    model::ActionId,
    read::PlanError,
    record::{ActionEnd, Jail, Story, Trouble, Verdict, uuid_v4},
    refused, report,
};

/// The outcome of a plan that could not be read. Nothing was written, not even a report.
pub(crate) fn unread(error: &PlanError, desk: Desk<'_>) -> Outcome {
    let Ok(directory) = RelPath::parse(&format!("{REPORTS}/none")) else {
        return refused(error.failure());
    };
    let now = desk.host.now();
    let problems = || error.problems.iter();
    let verdict = |id: &ActionId| {
        let problem = problems().find(|problem| problem.subject.action.as_ref() == Some(id));
        let subject = problem.map(|problem| problem.subject.clone());
        let subject = subject.unwrap_or_default();
        let untried = || ActionEnd::Skipped("Not tried: the plan was rejected".to_owned());
        Verdict {
            action: id.clone(),
            action_type: subject.operation,
            target: subject.target,
            began: At::from(&now),
            ended: At::from(&now),
            end: problem.map_or_else(untried, |it| ActionEnd::Failed(it.failure.clone())),
        }
    };
    let troubles = problems().filter(|problem| problem.subject.action.is_none());
    let troubles = troubles.map(|problem| Trouble {
        at: At::from(&now),
        failure: problem.failure.clone(),
    });
    let actions = error.actions.iter().map(|id| (id.clone(), Vec::new()));
    let plan_id = error.plan_id.clone().unwrap_or_default();
    let run = desk.run(plan_id, directory, actions);
    let mut story = Story::begun(run, Jail::Unavailable);
    story.end.verdicts = error.actions.iter().map(verdict).collect();
    story.end.troubles = troubles.collect();
    let mut ids = || uuid_v4(desk.host.random_bytes());
    let (mut report, _) = report::execution(&story, &mut ids);
    if let Some(fields) = report.as_object_mut() {
        // Nothing was written, so there is nothing that these fields could name.
        for absent in ["change_log", "rollback_manifest", "guarantees"] {
            fields.remove(absent);
        }
    }
    Outcome {
        execution_report: Some(report),
        ..refused(error.failure())
    }
}
