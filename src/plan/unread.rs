//! What is told of a plan that could not be read.

use crate::task::{Outcome, RelPath};

use super::{
    Desk,
    at::At,
    engine::REPORTS,
    read::{Named, PlanError},
    record::{ActionEnd, Story, Trouble, Verdict, uuid_v4},
    refused, report,
};
use crate::tree::Jail;

/// The outcome of a plan that could not be read. Nothing was written, not even a report.
pub(crate) fn unread(error: &PlanError, desk: Desk<'_>) -> Outcome {
    let Ok(directory) = RelPath::parse(&format!("{REPORTS}/none")) else {
        return refused(error.failure());
    };
    let now = desk.host.now();
    let problem = |action: Option<usize>| {
        let problems = error.problems.iter();
        problems.filter(move |problem| problem.action == action)
    };
    let verdict = |(at, named): (usize, &Named)| {
        let failed = problem(Some(at)).next().map(|it| it.failure.clone());
        let untried = || ActionEnd::Skipped("Not tried: the plan was rejected".to_owned());
        Verdict {
            action: named.id.clone(),
            action_type: named.operation,
            target: named.target.clone(),
            began: At::from(&now),
            ended: At::from(&now),
            end: failed.map_or_else(untried, ActionEnd::Failed),
        }
    };
    let troubles = problem(None).map(|problem| Trouble {
        at: At::from(&now),
        failure: problem.failure.clone(),
    });
    let actions = error.actions.iter().map(|it| (it.id.clone(), Vec::new()));
    let plan_id = error.plan_id.clone().unwrap_or_default();
    let run = desk.run(plan_id, directory, actions);
    let mut story = Story::begun(run, Jail::Unavailable);
    story.end.verdicts = error.actions.iter().enumerate().map(verdict).collect();
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
