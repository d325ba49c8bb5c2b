//! What became of each action, as it is found out.

use std::collections::HashMap;

use crate::{
    plan::{
        check::skipped,
        graph,
        model::{Action, ActionId, OnError, Plan},
        record::{ActionEnd, Verdict},
    },
    task::{Failure, RelPath},
};

use super::Teller;

impl Teller<'_> {
    pub(in crate::plan) fn completed(&self, id: &ActionId) -> bool {
        let mut verdicts = self.story.verdicts.iter();
        verdicts.any(|verdict| verdict.action == *id && verdict.is_completed())
    }

    pub(in crate::plan) fn fail(&mut self, id: &ActionId, failure: &Failure) {
        for verdict in &mut self.story.verdicts {
            if verdict.action == *id {
                verdict.end = ActionEnd::Failed(failure.clone());
            }
        }
    }

    /// The plan failed while its actions were looked at (R-001-126).
    pub(in crate::plan) fn none_tried(&mut self, plan: &Plan) {
        let now = self.desk.host.now();
        let verdict = |action: &Action| {
            let end = ActionEnd::Skipped("Not tried: the plan failed".to_owned());
            Verdict::of(action, now.clone(), now.clone(), end)
        };
        self.story.verdicts = plan.actions.iter().map(verdict).collect();
    }

    /// The plan is to be taken back for what failed after all was done: what waits for that, and under
    /// `stop_on_error` what comes after it, does not count as completed (R-001-97, R-001-181).
    pub(in crate::plan) fn hold_back(&mut self, plan: &Plan) {
        let order = graph::order(&plan.actions).unwrap_or_default();
        let mut ends: HashMap<&ActionId, ActionEnd> = HashMap::new();
        let mut halted = None;
        for action in order.into_iter().filter_map(|at| plan.actions.get(at)) {
            let mut verdicts = self.story.verdicts.iter_mut();
            let Some(verdict) = verdicts.find(|verdict| verdict.action == action.id) else {
                continue;
            };
            let taken_back =
                || halted.map(|failed| format!("Taken back: {failed} failed before it"));
            match &verdict.end {
                ActionEnd::Completed(_) => {
                    if let Some(reason) = skipped(action, &ends).or_else(taken_back) {
                        verdict.end = ActionEnd::Skipped(reason);
                    }
                }
                ActionEnd::Failed(_) if plan.instructions.on_error == OnError::Stop => {
                    halted.get_or_insert(&action.id);
                }
                ActionEnd::Failed(_) | ActionEnd::Skipped(_) => {}
            }
            ends.insert(&action.id, verdict.end.clone());
        }
    }

    /// A plan that failed before its first change lists as completed what would have been (C-24).
    pub(in crate::plan) fn nothing_changed(&mut self) {
        if self.failure().is_some() && self.story.verdicts.iter().any(Verdict::is_completed) {
            self.story.warnings.push(
                "Nothing was changed: the plan failed before its first change. What is listed as completed would have been.".to_owned(),
            );
        }
    }

    /// The action that changes that file failed, and those after it were not tried (R-001-181).
    pub(super) fn blamed(&mut self, at: Option<&RelPath>, why: &Failure) -> bool {
        let at_it = |at: &RelPath| {
            let mut records = self.story.changes().iter().map(|change| &change.record);
            records.find(|record| record.path == *at || record.from.as_ref() == Some(at))
        };
        let blamed = at
            .and_then(at_it)
            .and_then(|it| it.actions.first().cloned());
        let mut verdicts = self.story.verdicts.iter();
        let already = verdicts.any(|verdict| verdict.failure() == Some(why));
        let Some(blamed) = blamed else { return already };
        let mut after = false;
        for verdict in &mut self.story.verdicts {
            if verdict.action == blamed {
                verdict.end = ActionEnd::Failed(why.clone());
                after = true;
            } else if after && verdict.is_completed() {
                verdict.end = ActionEnd::Skipped(format!("Not tried: {blamed} failed before it"));
            }
        }
        after
    }
}
