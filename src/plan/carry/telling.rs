//! Collects what happened to a plan, and writes it to the report directory, the log and the outcome.

use std::collections::HashMap;

use serde_json::Value;

use crate::{
    host::Moment,
    plan::{
        Desk,
        at::At,
        change::Change,
        check::{Checked, skipped},
        engine::{Conflict, Folder, Mark, Stage, UndoEnd},
        files::{FileError, Root, joined},
        graph,
        model::{ActionId, OnError, Plan},
        record::{
            ActionEnd, Ending, Jail, PipelineRun, PipelineStatus, Rollback, Run, Status, Story,
            Trouble, Verdict, Weakness, counted, uuid_v4,
        },
        refusal,
        report::{self, Documents, Later, MANIFEST, SCRIPT},
        reported,
    },
    task::{Effect, Failure, Fault, Outcome, Phase, RelPath, Sanction, State},
};

/// The facts about one plan that its reports need, as they become known.
pub(crate) struct Teller<'a> {
    pub(crate) desk: Desk<'a>,
    clock: Moment,
    pub(crate) story: Story,
    /// Whether the plan may change protected files.
    pub(crate) sanction: Sanction,
    /// The execution report and the change log of the end that was recorded last.
    pub(crate) told: (Value, Value),
    /// What is told beside the reports, because it happened after they were made.
    pub(crate) after: Vec<String>,
}

impl<'a> Teller<'a> {
    pub(crate) fn new(desk: Desk<'a>, jail: Jail, run: Run, warnings: Vec<String>) -> Self {
        Self {
            desk,
            clock: desk.host.moment(),
            story: {
                let mut story = Story::begun(run, jail);
                story.end.warnings = warnings;
                story
            },
            sanction: Sanction::None,
            told: (Value::Null, Value::Null),
            after: Vec::new(),
        }
    }

    /// Opens the stage of the plan.
    pub(crate) fn stage<'f>(&self, folder: Folder<'f>) -> Result<Stage<'f>, FileError> {
        let run = self.story.run.clone();
        Stage::open(folder, &self.mark(), run, self.desk.host.standing())
    }

    /// The note of a plan under way, for `status` and `cancel`.
    pub(crate) fn mark(&self) -> Mark {
        let run = &self.story.run;
        Mark {
            plan_id: run.plan_id.clone(),
            task_id: run.task_id.clone(),
            operation_id: self.desk.operation_id.to_owned(),
            pid: rustix::process::getpid().as_raw_nonzero().get(),
            began: run.began.timestamp().to_string(),
            sanction: self.sanction.clone(),
        }
    }

    /// Records a failure that belongs to no single action.
    pub(crate) fn trouble(&mut self, failure: Failure) {
        let at = At::from(&self.desk.host.now());
        self.story.end.troubles.push(Trouble { at, failure });
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.after.push(note.into());
    }

    pub(crate) fn warn(&mut self, warning: impl Into<String>) {
        self.story.end.warnings.push(warning.into());
    }

    /// The failure that decides the outcome: a rollback that is stuck, otherwise an action's, otherwise the
    /// plan's.
    pub(crate) fn failure(&self) -> Option<&Failure> {
        let of_action = self.story.end.verdicts.iter().find_map(Verdict::failure);
        let first = self
            .story
            .end
            .troubles
            .first()
            .map(|trouble| &trouble.failure);
        match self.story.end.rollback {
            Rollback::Stuck { .. } => first,
            Rollback::NotDone | Rollback::Done { .. } => of_action.or(first),
        }
    }

    /// Records how each change was made.
    pub(crate) fn captured(&mut self, captures: &[Option<Weakness>]) {
        self.story.end.captures = captures.to_vec();
    }

    /// Records that the plan was undone. `at` is the file at which it failed, if it failed at one.
    pub(crate) fn undone(&mut self, why: &Failure, at: Option<&RelPath>, end: &UndoEnd) {
        let now = At::from(&self.desk.host.now());
        let nothing = self.story.changes().next().is_none();
        let left = |is_left: &dyn Fn(&Change) -> bool| {
            let changes = self.story.changes().map(|(change, _)| change);
            let left = changes.filter(|change| is_left(change));
            left.map(|change| change.checkpoint).collect()
        };
        match end {
            UndoEnd::NothingChanged => self.story.undo = None,
            // Only a pipeline was started, and that is not undone.
            UndoEnd::RolledBack(_) if nothing => self.story.undo = None,
            UndoEnd::RolledBack(conflicts) => {
                let left = left(&|change| Conflict::any_about(conflicts, change));
                self.story.end.rollback = Rollback::Done { at: now, left };
                for conflict in conflicts {
                    self.trouble(Failure::new(Fault::RollbackConflict, conflict.to_string()));
                }
            }
            UndoEnd::Stuck(obstacles) => {
                let left = left(&|_| true);
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
        let stay = self.story.end.pipelines.iter().map(PipelineRun::stays);
        self.story.end.warnings.extend(stay.collect::<Vec<_>>());
        if !self.blamed(at, why) {
            self.trouble(why.clone());
        }
    }

    pub(crate) fn completed(&self, id: &ActionId) -> bool {
        let mut verdicts = self.story.end.verdicts.iter();
        verdicts.any(|verdict| verdict.action == *id && verdict.is_completed())
    }

    pub(crate) fn fail(&mut self, id: &ActionId, failure: &Failure) {
        for verdict in &mut self.story.end.verdicts {
            if verdict.action == *id {
                verdict.end = ActionEnd::Failed(failure.clone());
            }
        }
    }

    /// Records what became of the actions so far, in the order of the plan.
    pub(crate) fn so_far(&mut self, plan: &Plan, checked: &Checked) {
        self.none_tried(plan);
        for verdict in &mut self.story.end.verdicts {
            let mut known = checked.verdicts.iter();
            if let Some(known) = known.find(|known| known.action == verdict.action) {
                *verdict = known.clone();
            }
        }
    }

    /// Records that the plan failed while its actions were checked (R-001-126).
    pub(crate) fn none_tried(&mut self, plan: &Plan) {
        let now = self.desk.host.now();
        let verdict = |action| {
            let end = ActionEnd::Skipped("Not tried: the plan failed".to_owned());
            Verdict::of(action, &now, &now, end)
        };
        self.story.end.verdicts = plan.actions.iter().map(verdict).collect();
    }

    /// The plan is undone because an action failed after all actions were performed. The actions that depend on
    /// it, and under `stop_on_error` those after it, do not count as completed (R-001-97, R-001-181).
    pub(crate) fn hold_back(&mut self, plan: &Plan) {
        let order = graph::order(&plan.actions).unwrap_or_default();
        let mut ends: HashMap<&ActionId, ActionEnd> = HashMap::new();
        let mut halted = None;
        for action in order.into_iter().filter_map(|at| plan.actions.get(at)) {
            let mut verdicts = self.story.end.verdicts.iter_mut();
            let Some(verdict) = verdicts.find(|verdict| verdict.action == action.id) else {
                continue;
            };
            let taken_back =
                || halted.map(|failed| format!("Rolled back: {failed} failed before it"));
            match &verdict.end {
                ActionEnd::Completed(_) => {
                    if let Some(reason) = skipped(action, |id| ends.get(id)).or_else(taken_back) {
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

    /// A plan that failed before its first change lists the actions that were only checked as completed (C-24).
    pub(crate) fn nothing_changed(&mut self) {
        if self.failure().is_some() && self.story.end.verdicts.iter().any(Verdict::is_completed) {
            self.warn("Nothing was changed: the plan failed before its first change. The actions that are listed as completed were only checked.");
        }
    }

    /// Marks the action that changes that file as failed, and those after it as not tried (R-001-181).
    fn blamed(&mut self, at: Option<&RelPath>, why: &Failure) -> bool {
        let at_it = |at: &RelPath| {
            let mut changes = self.story.changes().map(|(change, _)| change);
            changes.find(|change| change.places().any(|place| place == at))
        };
        let blamed = at
            .and_then(at_it)
            .and_then(|it| it.actions.first().cloned());
        let mut verdicts = self.story.end.verdicts.iter();
        let already = verdicts.any(|verdict| verdict.failure() == Some(why));
        let Some(blamed) = blamed else { return already };
        let mut after = false;
        for verdict in &mut self.story.end.verdicts {
            if verdict.action == blamed {
                verdict.end = ActionEnd::Failed(why.clone());
                after = true;
            } else if after && verdict.is_completed() {
                verdict.end = ActionEnd::Skipped(format!("Not tried: {blamed} failed before it"));
            }
        }
        after
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
        let (host, mut ids) = (self.desk.host, std::mem::take(&mut self.story.end.ids));
        let mut given = 0;
        self.told = report::execution(&self.story, &mut || {
            given += 1;
            if ids.len() < given {
                ids.push(uuid_v4(host.random_bytes()));
            }
            ids.get(given - 1).copied().unwrap_or_default()
        });
        self.story.end.ids = ids;
    }

    /// The reports as files of the report directory, of the end that was recorded last.
    pub(crate) fn documents(&self) -> Documents {
        report::documents(&self.story, &Later::default())
    }

    /// Writes the reports of a plan that is not applied. If they cannot be written, a warning says so: the caller
    /// has them as well.
    pub(crate) fn leave(&mut self, folder: &Folder<'_>) {
        let mut written = folder.put(&self.documents());
        if self.story.undo.is_none() {
            let left = [MANIFEST, SCRIPT]
                .iter()
                .try_for_each(|name| folder.dir.remove(name));
            written = written.and(left);
        }
        let stuck = matches!(self.story.end.rollback, Rollback::Stuck { .. });
        if !stuck {
            let unmarked = folder.unmark();
            written = written.and(unmarked);
        }
        if let Err(error) = written {
            self.note(format!("The reports are not complete: {error}."));
        }
    }

    /// Writes the log, and returns the outcome.
    pub(crate) fn finish(mut self, folder: &Folder<'_>) -> Outcome {
        if let Err(error) = log(folder.root, &self.story) {
            self.note(format!("The executor's log is not complete: {error}."));
        }
        let mut files = report::files(&self.story.run.directory);
        if self.story.undo.is_none() {
            files.rollback_manifest = None;
        }
        reported(self.outcome(), files)
    }

    /// The outcome if no report could be written.
    pub(crate) fn unwritten(mut self) -> Outcome {
        self.ending();
        self.outcome()
    }

    fn outcome(self) -> Outcome {
        let story = &self.story;
        let mut failure = self.failure().cloned();
        if let Some(failure) = &mut failure {
            failure.recoverable &= !story.ran_once();
        }
        let conflicts = story
            .end
            .troubles
            .iter()
            .any(|trouble| trouble.failure.fault == Fault::RollbackConflict);
        let ran = story
            .end
            .pipelines
            .iter()
            .map(|run| run.status)
            .collect::<Vec<_>>();
        let effect = match (&story.end.rollback, &story.undo) {
            (Rollback::Stuck { .. }, _) => Effect::Unknown,
            (Rollback::Done { .. }, _) if conflicts => Effect::Unknown,
            // A pipeline that failed may have done something before. If the plan failed after one, it is done in part, and
            // is not to be sent again before a person has decided.
            _ if ran.contains(&PipelineStatus::Failed) => Effect::Unknown,
            _ if failure.is_some() && story.ran_once() => Effect::Unknown,
            (Rollback::NotDone, Some(_)) => Effect::Done,
            _ if !ran.is_empty() => Effect::Done,
            (Rollback::Done { .. }, _) | (Rollback::NotDone, None) => Effect::None,
        };
        // Both names of a renamed file.
        let paths = |(change, _): (&Change, _)| {
            let paths = [
                Some(change.result_path()),
                change.new_path().map(|_| &change.path),
            ];
            let paths: Vec<String> = paths
                .into_iter()
                .flatten()
                .map(RelPath::to_string)
                .collect();
            paths
        };
        let changed = match effect {
            Effect::Done => story.changes().flat_map(paths).collect(),
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
    let told = format!(
        "Plan {}: {completed} of {} completed, {} changed.",
        story.run.plan_id,
        counted(story.end.verdicts.len(), "action"),
        match story.end.rollback {
            Rollback::NotDone => counted(story.changes().count(), "file"),
            Rollback::Done { .. } => counted(0, "file"),
            Rollback::Stuck { .. } => "an unknown number of files".to_owned(),
        }
    );
    let mut told = vec![told];
    if let Rollback::Stuck { .. } = &story.end.rollback {
        told.push("The rollback could not be finished.".to_owned());
    }
    if let Rollback::Done { left, .. } = &story.end.rollback {
        told.push(match left.len() {
            0 => "Every change was rolled back.".to_owned(),
            left => format!(
                "The changes were rolled back, except for {} that others have changed since.",
                counted(left, "file")
            ),
        });
    }
    told
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
