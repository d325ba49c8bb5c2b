//! Collects what happened to a plan, and writes it to the report directory, the log and the outcome.

mod unread;

use std::collections::HashMap;

use uuid::Uuid;

use crate::{
    host::Moment,
    plan::{
        Desk,
        check::{Checked, skipped},
        engine::{Conflict, Documents, Entry, Folder, Mark, UndoEnd},
        files::{FileError, Root, joined},
        graph,
        model::{Action, ActionId, OnError, Plan},
        record::{
            ActionEnd, Capture, Change, Jail, PipelineRun, PipelineStatus, Rollback, Run, Status,
            Story, Trouble, Verdict, Weakness, uuid_v4,
        },
        refusal,
        report::{self, CHANGE_LOG, EXECUTION_REPORT, MANIFEST, SCRIPT, bytes},
        reported,
    },
    task::{Effect, Failure, Fault, Outcome, Phase, Pipeline, RelPath, Sanction, State},
};

pub(crate) use unread::unread;

/// The facts about one plan that its reports need, as they become known.
pub(crate) struct Teller<'a> {
    pub(crate) desk: Desk<'a>,
    clock: Moment,
    pub(crate) story: Story,
    /// The ids of the reports, drawn once, so that a report that is written twice has the same ids.
    ids: Vec<Uuid>,
    /// Whether the plan may change protected files.
    pub(crate) sanction: Sanction,
}

impl<'a> Teller<'a> {
    pub(crate) fn new(desk: Desk<'a>, jail: Jail, run: Run, warnings: Vec<String>) -> Self {
        Self {
            desk,
            clock: desk.host.moment(),
            story: Story {
                warnings,
                ..Story::begun(run, jail)
            },
            ids: Vec::new(),
            sanction: Sanction::None,
        }
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
        let at = self.desk.host.now();
        self.story.troubles.push(Trouble { at, failure });
    }

    pub(crate) fn warn(&mut self, warning: impl Into<String>) {
        self.story.warnings.push(warning.into());
    }

    /// The failure that decides the outcome: a rollback that is stuck, otherwise an action's, otherwise the
    /// plan's.
    pub(crate) fn failure(&self) -> Option<&Failure> {
        let of_action = self.story.verdicts.iter().find_map(Verdict::failure);
        let first = self.story.troubles.first().map(|trouble| &trouble.failure);
        match self.story.rollback {
            Rollback::Stuck { .. } => first,
            Rollback::NotDone | Rollback::Done { .. } => of_action.or(first),
        }
    }

    /// Records how each change was made.
    pub(crate) fn captured(&mut self, entries: &[Entry], captures: &[Option<Weakness>]) {
        let Some(undo) = &mut self.story.undo else {
            return;
        };
        let files = entries
            .iter()
            .zip(captures)
            .filter(|(entry, _)| !matches!(entry, Entry::MakeDir { .. }));
        for (change, (_, capture)) in undo.changes.iter_mut().zip(files) {
            change.fidelity.capture = capture.map_or(Capture::Strong, |_| Capture::Weak);
            change.fidelity.capture_reason = *capture;
        }
    }

    /// Records that the plan was undone. `at` is the file at which it failed, if it failed at one.
    pub(crate) fn undone(&mut self, why: Failure, at: Option<&RelPath>, end: UndoEnd) {
        let now = self.desk.host.now();
        let nothing = self.story.changes().is_empty();
        match end {
            UndoEnd::NothingChanged => self.story.undo = None,
            // Only a pipeline was started, and that is not undone.
            UndoEnd::RolledBack(_) if nothing => self.story.undo = None,
            UndoEnd::RolledBack(conflicts) => {
                let changes = self.story.changes().iter();
                let left = changes.filter(|change| {
                    Conflict::any_at(&conflicts, &change.path, change.from.as_ref())
                });
                let left = left.map(|change| change.checkpoint).collect();
                self.story.rollback = Rollback::Done { at: now, left };
                for conflict in conflicts {
                    self.trouble(Failure::new(Fault::RollbackConflict, conflict.to_string()));
                }
            }
            UndoEnd::Stuck(obstacles) => {
                let changes = self.story.changes().iter();
                let left = changes.map(|change| change.checkpoint).collect();
                self.story.rollback = Rollback::Stuck { at: now, left };
                let message = format!(
                    "the rollback could not be finished: {}. Remove this cause, then run `oneact recover`; the originals are in {}/backups",
                    obstacles.join("; "),
                    self.story.run.directory
                );
                self.trouble(Failure::new(Fault::Stuck, message));
                self.story.troubles.rotate_right(1);
            }
        }
        let stay = self.story.pipelines.iter().map(PipelineRun::stays);
        self.story.warnings.extend(stay);
        if !self.blamed(at, &why) {
            self.trouble(why);
        }
    }

    pub(crate) fn completed(&self, id: &ActionId) -> bool {
        let mut verdicts = self.story.verdicts.iter();
        verdicts.any(|verdict| verdict.action == *id && verdict.is_completed())
    }

    pub(crate) fn fail(&mut self, id: &ActionId, failure: &Failure) {
        for verdict in &mut self.story.verdicts {
            if verdict.action == *id {
                verdict.end = ActionEnd::Failed(failure.clone());
            }
        }
    }

    /// Records what became of the actions so far, in the order of the plan.
    pub(crate) fn so_far(&mut self, plan: &Plan, checked: &Checked) {
        self.none_tried(plan);
        for verdict in &mut self.story.verdicts {
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
            Verdict::of(action, now.clone(), now.clone(), end)
        };
        self.story.verdicts = plan.actions.iter().map(verdict).collect();
    }

    /// The plan is undone because an action failed after all actions were performed. The actions that depend on
    /// it, and under `stop_on_error` those after it, do not count as completed (R-001-97, R-001-181).
    pub(crate) fn hold_back(&mut self, plan: &Plan) {
        let order = graph::order(&plan.actions).unwrap_or_default();
        let mut ends: HashMap<&ActionId, ActionEnd> = HashMap::new();
        let mut halted = None;
        for action in order.into_iter().filter_map(|at| plan.actions.get(at)) {
            let mut verdicts = self.story.verdicts.iter_mut();
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
        if self.failure().is_some() && self.story.verdicts.iter().any(Verdict::is_completed) {
            self.warn("Nothing was changed: the plan failed before its first change. The actions that are listed as completed were only checked.");
        }
    }

    /// Marks the action that changes that file as failed, and those after it as not tried (R-001-181).
    fn blamed(&mut self, at: Option<&RelPath>, why: &Failure) -> bool {
        let at_it = |at: &RelPath| {
            let mut changes = self.story.changes().iter();
            changes.find(|change| change.path == *at || change.from.as_ref() == Some(at))
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

    fn ended(&mut self) -> &Story {
        self.story.ended = self.desk.host.now();
        let passed = self.clock.elapsed().as_millis();
        self.story.duration_ms = u64::try_from(passed).unwrap_or(u64::MAX);
        &self.story
    }

    fn reports(&mut self) -> report::Reports {
        self.ended();
        let (host, ids) = (self.desk.host, &mut self.ids);
        let mut drawn = 0;
        report::tell(&self.story, &mut || {
            drawn += 1;
            if ids.len() < drawn {
                ids.push(uuid_v4(host.random_bytes()));
            }
            ids.get(drawn - 1).copied().unwrap_or_default()
        })
    }

    /// The reports as files of the report directory.
    pub(crate) fn documents(&mut self) -> Documents {
        let reports = self.reports();
        let mut documents = vec![
            (EXECUTION_REPORT, bytes(&reports.execution)),
            (CHANGE_LOG, bytes(&reports.change_log)),
        ];
        let manifest = reports.manifest.iter();
        documents.extend(manifest.map(|manifest| (MANIFEST, bytes(manifest))));
        documents
    }

    /// Writes the reports of a plan that is not applied. If they cannot be written, a warning says so: the caller
    /// has them as well.
    pub(crate) fn leave(&mut self, folder: &Folder<'_>) {
        let documents = self.documents();
        let mut written = folder.put(&documents);
        if self.story.undo.is_none() {
            let left = [MANIFEST, SCRIPT]
                .iter()
                .try_for_each(|name| folder.dir.remove(name));
            written = written.and(left);
        }
        let stuck = matches!(self.story.rollback, Rollback::Stuck { .. });
        if !stuck {
            written = written.and_then(|()| folder.unmark());
        }
        if let Err(error) = written {
            self.warn(format!("The reports are not complete: {error}."));
        }
    }

    /// Writes the log, and returns the outcome.
    pub(crate) fn finish(mut self, folder: &Folder<'_>) -> Outcome {
        if let Err(error) = log(folder.root, self.ended()) {
            self.warn(format!("The executor's log is not complete: {error}."));
        }
        let mut files = report::files(&self.story.run.directory);
        if self.story.undo.is_none() {
            files.rollback_manifest = None;
        }
        reported(self.unwritten(), files)
    }

    /// The outcome if no report could be written.
    pub(crate) fn unwritten(mut self) -> Outcome {
        let reports = self.reports();
        let story = &self.story;
        let mut failure = self.failure().cloned();
        if let Some(failure) = &mut failure {
            failure.recoverable &= !story.ran_once();
        }
        let conflicts = story
            .troubles
            .iter()
            .any(|trouble| trouble.failure.fault == Fault::RollbackConflict);
        let ran = story
            .pipelines
            .iter()
            .map(|run| run.status)
            .collect::<Vec<_>>();
        let effect = match (&story.rollback, &story.undo) {
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
        let paths = |change: &Change| {
            let from = change.from.as_ref().map(ToString::to_string);
            [Some(change.path.to_string()), from].into_iter().flatten()
        };
        let changed = match effect {
            Effect::Done => story.changes().iter().flat_map(paths).collect(),
            Effect::None | Effect::Unknown => Vec::new(),
        };
        let state = state(story, failure.as_ref());
        let phase = match state {
            State::Done => Phase::Complete,
            _ => Phase::Plan,
        };
        Outcome {
            effect,
            execution_report: Some(reports.execution),
            changed,
            reasoning: reasoning(story),
            notes: self.story.warnings,
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
        (_, State::Rejected) if story.undo.is_none() && story.pipelines.is_empty() => {
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
    let verdicts = story.verdicts.iter();
    let completed = verdicts.filter(|verdict| verdict.is_completed()).count();
    let told = format!(
        "Plan {}: {completed} of {} completed, {} changed.",
        story.run.plan_id,
        counted(story.verdicts.len(), "action"),
        match story.rollback {
            Rollback::NotDone => counted(story.changes().len(), "file"),
            Rollback::Done { .. } => counted(0, "file"),
            Rollback::Stuck { .. } => "an unknown number of files".to_owned(),
        }
    );
    let mut told = vec![told];
    if let Rollback::Stuck { .. } = &story.rollback {
        told.push("The rollback could not be finished.".to_owned());
    }
    if let Rollback::Done { left, .. } = &story.rollback {
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

/// What a plan with pipelines cannot undo, and what it can, before anything is done.
pub(crate) fn not_undone(plan: &Plan) -> Vec<String> {
    let sentence = |(action, pipeline): (&Action, &Pipeline)| {
        format!(
            "The pipeline `{}` ({}) cannot be undone. If it or a later action fails, the files that the other actions changed are put back, and what the pipeline did stays.",
            pipeline.name, action.id
        )
    };
    plan.pipelines().map(sentence).collect()
}

/// `1 file`, `2 files`.
pub(crate) fn counted(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

fn log(root: &Root, story: &Story) -> Result<(), FileError> {
    let path = joined("open", &report::log_file(&story.ended))?;
    root.ensure_dirs(path.ancestors(), 0o755)?;
    root.parent(&path)?
        .append(path.name(), report::log_lines(story).as_bytes())
}

#[cfg(test)]
mod tests;
