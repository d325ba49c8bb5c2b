//! Collects what happened to a plan, and writes it to the report directory, the log and the outcome.

use serde_json::Value;

use crate::{
    host::Moment,
    plan::{
        Desk,
        at::At,
        change::Change,
        engine::{Conflict, Folder, Mark, Stage, UndoEnd},
        fold::Folded,
        graph,
        model::{Action, Plan},
        record::{
            ActionEnd, Ending, PipelineRun, PipelineStatus, Rollback, Run, Status, Story, Trouble,
            Verdict, counted, uuid_v4,
        },
        refusal,
        report::{self, MANIFEST, SCRIPT},
        reported,
    },
    task::{Effect, Failure, Fault, Outcome, Phase, RelPath, Sanction, State},
    tree::{FileError, Jail, Root, joined},
};

/// The facts about one plan that its reports need, as they become known.
pub(crate) struct Teller<'a> {
    pub(crate) desk: Desk<'a>,
    clock: Moment,
    pub(crate) story: Story,
    /// The execution report and the change log of the end that was recorded last.
    pub(crate) told: (Value, Value),
    /// What is told beside the reports, because it happened after they were made.
    pub(crate) after: Vec<String>,
}

impl<'a> Teller<'a> {
    pub(crate) fn new(desk: Desk<'a>, jail: Jail, run: Run, warnings: Vec<String>) -> Self {
        let mut story = Story::begun(run, jail);
        story.end.warnings = warnings;
        Self {
            desk,
            clock: desk.host.moment(),
            story,
            told: (Value::Null, Value::Null),
            after: Vec::new(),
        }
    }

    /// Opens the stage of the plan, with the note of a plan under way, for `status` and `cancel`.
    pub(crate) fn stage<'f>(
        &self,
        folder: Folder<'f>,
        sanction: &Sanction,
    ) -> Result<Stage<'f>, FileError> {
        let run = self.story.run.clone();
        let mark = Mark {
            plan_id: run.plan_id.clone(),
            task_id: run.task_id.clone(),
            operation_id: self.desk.operation_id.to_owned(),
            pid: rustix::process::getpid().as_raw_nonzero().get(),
            began: run.began.timestamp().to_string(),
            sanction: sanction.clone(),
        };
        Stage::open(folder, &mark, run, self.desk.host.standing())
    }

    /// Records a failure that belongs to no single action.
    pub(crate) fn trouble(&mut self, failure: Failure) {
        let at = At::from(&self.desk.host.now());
        self.story.end.troubles.push(Trouble { at, failure });
    }

    /// Records that the plan was undone. `at` is the file at which it failed, if it failed at one.
    pub(crate) fn undone(&mut self, why: &Failure, at: Option<&RelPath>, end: &UndoEnd) {
        let now = At::from(&self.desk.host.now());
        let changes: Vec<&Change> = self.story.changes().map(|(change, _)| change).collect();
        match end {
            UndoEnd::RolledBack(conflicts) if !changes.is_empty() => {
                let left = changes.into_iter();
                let left = left.filter(|change| Conflict::any_about(conflicts, change));
                let left = left.map(|change| change.checkpoint).collect();
                self.story.end.rollback = Rollback::Done { at: now, left };
                for conflict in conflicts {
                    self.trouble(Failure::new(Fault::RollbackConflict, conflict.to_string()));
                }
            }
            // Or only a pipeline was started, and that is not undone.
            UndoEnd::NothingChanged | UndoEnd::RolledBack(_) => self.story.undo = None,
            UndoEnd::Stuck(obstacles) => {
                let left = changes.iter().map(|change| change.checkpoint).collect();
                self.story.end.rollback = Rollback::Stuck { at: now, left };
                let message = format!(
                    "the rollback could not be finished: {}. Remove this cause, then run `oneact recover`; the originals are in {}/staged and backups",
                    obstacles.join("; "),
                    self.story.run.directory
                );
                self.trouble(Failure::new(Fault::Stuck, message));
                self.story.end.troubles.rotate_right(1);
            }
        }
        let end = &mut self.story.end;
        end.warnings
            .extend(end.pipelines.iter().map(PipelineRun::stays));
        if !blamed(&mut self.story, at, why) {
            self.trouble(why.clone());
        }
    }

    /// Records what became of the actions so far, in the order of the plan (R-001-126).
    pub(crate) fn so_far(&mut self, plan: &Plan, folded: &Folded) {
        let now = self.desk.host.now();
        let verdict = |action: &Action| {
            let mut known = folded.verdicts.iter();
            let known = known.find(|known| known.action == action.id).cloned();
            known.unwrap_or_else(|| {
                let end = ActionEnd::Skipped("Not tried: the plan failed".to_owned());
                Verdict::of(action, &now, &now, end)
            })
        };
        self.story.end.verdicts = plan.actions.iter().map(verdict).collect();
    }

    /// The end of the plan as it is known now, with the ids of its reports.
    pub(crate) fn ending(&mut self) -> Ending {
        self.story.end.ended = At::from(&self.desk.host.now());
        let passed = self.clock.elapsed().as_millis();
        self.story.end.duration_ms = u64::try_from(passed).unwrap_or(u64::MAX);
        self.tell();
        self.story.end.clone()
    }

    /// Makes the execution report and the change log of the end as it is known now.
    pub(crate) fn tell(&mut self) {
        let host = self.desk.host;
        self.told = report::told(&mut self.story, || uuid_v4(host.random_bytes()));
    }

    /// Writes the reports of a plan that is not applied. If they cannot be written, a warning says so: the caller
    /// has them as well.
    pub(crate) fn leave(&mut self, folder: &Folder<'_>) {
        let undo = report::undo_documents(&self.story);
        let mut stale = [MANIFEST, SCRIPT].iter().filter(|_| undo.is_empty());
        let put = folder.put(&[report::end_documents(&self.told), undo.clone()].concat());
        let removed = stale.try_for_each(|name| folder.dir.remove(name));
        let unmarked = match self.story.end.rollback {
            Rollback::Stuck { .. } => Ok(()),
            Rollback::NotDone | Rollback::Done { .. } => folder.unmark(),
        };
        if let Err(error) = put.and(removed).and(unmarked) {
            let note = format!("The reports are not complete: {error}.");
            self.after.push(note);
        }
    }

    /// Writes the log, and returns the outcome.
    pub(crate) fn finish(mut self, folder: &Folder<'_>) -> Outcome {
        if let Err(error) = log(folder.root, &self.story) {
            let note = format!("The executor's log is not complete: {error}.");
            self.after.push(note);
        }
        let mut files = report::files(&self.story.run.directory);
        if self.story.undo.is_none() {
            files.rollback_manifest = None;
        }
        reported(self.outcome(), files)
    }

    /// The outcome, by the reports that were made last.
    pub(super) fn outcome(self) -> Outcome {
        let (story, end) = (&self.story, &self.story.end);
        let mut failure = story.failure().cloned();
        if let Some(failure) = &mut failure {
            failure.recoverable &= !story.ran_once();
        }
        let mut troubles = end.troubles.iter();
        let conflicts = troubles.any(|it| it.failure.fault == Fault::RollbackConflict);
        let mut ran = end.pipelines.iter();
        let effect = match (&end.rollback, &story.undo) {
            (Rollback::Stuck { .. }, _) => Effect::Unknown,
            (Rollback::Done { .. }, _) if conflicts => Effect::Unknown,
            // A pipeline that failed may have done something before. If the plan failed after one, it is done in part, and
            // is not to be sent again before a person has decided.
            _ if ran.any(|run| run.status == PipelineStatus::Failed) => Effect::Unknown,
            _ if failure.is_some() && story.ran_once() => Effect::Unknown,
            (Rollback::NotDone, Some(_)) => Effect::Done,
            _ if !end.pipelines.is_empty() => Effect::Done,
            (Rollback::Done { .. }, _) | (Rollback::NotDone, None) => Effect::None,
        };
        // Both names of a renamed file.
        let paths = |(change, _): (&'_ Change, _)| {
            let old = change.new_path().map(|_| &change.path);
            [Some(change.result_path()), old].map(|path| path.map(RelPath::to_string))
        };
        let changed = match effect {
            Effect::Done => story.changes().flat_map(paths).flatten().collect(),
            Effect::None | Effect::Unknown => Vec::new(),
        };
        let state = state(story, failure.as_ref());
        let phase = match state {
            State::Done => Phase::Complete,
            _ => Phase::Plan,
        };
        Outcome {
            effect,
            execution_report: Some(self.told.0),
            changed,
            reasoning: reasoning(story),
            notes: [self.story.end.warnings, self.after].concat(),
            ..Outcome::nothing_done(state, phase, failure)
        }
    }
}

/// The plan is undone because an action failed after all actions were performed. The actions that depend on
/// it, and under `stop_on_error` those after it, do not count as completed (R-001-97, R-001-181).
pub(super) fn hold_back(verdicts: &mut [Verdict], plan: &Plan) {
    let mut before = Folded::default();
    for at in graph::order(&plan.actions).unwrap_or_default() {
        let (Some(action), Some(verdict)) = (plan.actions.get(at), verdicts.get_mut(at)) else {
            continue;
        };
        let taken_back = |failed| format!("Rolled back: {failed} failed before it");
        let stopped_by = || before.stopped_by(plan.instructions.on_error);
        let reason = before
            .lacking(action)
            .or_else(|| stopped_by().map(taken_back));
        if let (true, Some(reason)) = (verdict.is_completed(), reason) {
            verdict.end = ActionEnd::Skipped(reason);
        }
        before.verdicts.push(verdict.clone());
    }
}

/// Marks the action that changes that file as failed, and those after it as not tried (R-001-181). Whether an action has
/// this failure now.
fn blamed(story: &mut Story, at: Option<&RelPath>, why: &Failure) -> bool {
    let is_at = |(change, _): &(&Change, _)| change.places().any(|place| Some(place) == at);
    let change = story.changes().find(is_at);
    let Some(blamed) = change.and_then(|(change, _)| change.actions.first().cloned()) else {
        let mut verdicts = story.end.verdicts.iter();
        return verdicts.any(|verdict| verdict.failure() == Some(why));
    };
    let verdicts = story.end.verdicts.iter_mut();
    let mut verdicts = verdicts.skip_while(|verdict| verdict.action != blamed);
    let Some(first) = verdicts.next() else {
        return false;
    };
    first.end = ActionEnd::Failed(why.clone());
    for later in verdicts.filter(|verdict| verdict.is_completed()) {
        later.end = ActionEnd::Skipped(format!("Not tried: {blamed} failed before it"));
    }
    true
}

/// The state of the run (C-11).
fn state(story: &Story, failure: Option<&Failure>) -> State {
    let Some(failure) = failure else {
        return State::Done;
    };
    match (story.status(), refusal(failure)) {
        // The state of a call that may have happened: the ledger keeps it from being repeated.
        (status, _) if story.ran_once() && status != Status::Cancelled => State::Failed,
        (_, State::Rejected) if story.undo.is_none() && story.end.pipelines.is_empty() => {
            State::Rejected
        }
        (Status::Cancelled, _) | (_, State::Cancelled) => State::Cancelled,
        (Status::Partial, _) => State::Partial,
        (Status::RolledBack, _) => State::RolledBack,
        (Status::Success | Status::Failed | Status::Stuck, _) => State::Failed,
    }
}

/// What the run decided, for `audit.reasoning`.
fn reasoning(story: &Story) -> Vec<String> {
    let verdicts = story.end.verdicts.iter();
    let completed = verdicts.filter(|verdict| verdict.is_completed()).count();
    let (changed, undone) = match &story.end.rollback {
        Rollback::NotDone => (counted(story.changes().count(), "file"), None),
        Rollback::Done { left, .. } if left.is_empty() => {
            let told = "Every change was rolled back.".to_owned();
            (counted(0, "file"), Some(told))
        }
        Rollback::Done { left, .. } => {
            let told = format!(
                "The changes were rolled back, except for {} that others have changed since.",
                counted(left.len(), "file")
            );
            (counted(0, "file"), Some(told))
        }
        Rollback::Stuck { .. } => {
            let told = "The rollback could not be finished.".to_owned();
            ("an unknown number of files".to_owned(), Some(told))
        }
    };
    let told = format!(
        "Plan {}: {completed} of {} completed, {changed} changed.",
        story.run.plan_id,
        counted(story.end.verdicts.len(), "action"),
    );
    [told].into_iter().chain(undone).collect()
}

fn log(root: &Root, story: &Story) -> Result<(), FileError> {
    let path = joined("open", &report::log_file(&story.end.ended))?;
    root.ensure_dirs(path.ancestors(), 0o755)?;
    root.parent(&path)?
        .append(path.name(), report::log_lines(story).as_bytes())
}

/// A sentence for each file that lost attributes, up to a number of files.
pub(super) fn attributes_lost(story: &Story) -> Vec<String> {
    const MOST: usize = 5;
    let changes = story.changes().map(|(change, _)| change);
    let lost = changes.filter(|change| !change.degraded.is_empty());
    let told = |change: &Change| {
        let what = change.degraded.join("; ");
        format!(
            "Not every attribute of `{}` could be kept: {what}.",
            change.result_path()
        )
    };
    let mut sentences: Vec<String> = lost.clone().take(MOST).map(told).collect();
    let others = lost.count().saturating_sub(MOST);
    if others > 0 {
        sentences.push(format!(
            "The same is true of {others} other files; the execution report names them under `degraded`."
        ));
    }
    sentences
}

#[cfg(test)]
mod tests;
