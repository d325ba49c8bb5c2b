//! Applies a plan with pipelines, one part after the other: the changes before a pipeline are made before it starts, and
//! what follows is checked when it has ended.

use std::collections::BTreeSet;

use crate::{
    host,
    plan::{
        change::of_files,
        check::{self, Checked, Checker, scratch_name},
        engine::{Applied, Event, Scratch, Stage, Started, Undoing},
        model::{Action, ActionId, OnFailure, Operation},
        parts::Unknown,
        pipeline::{self, Launch, Ran},
        record::{ActionEnd, Foreseen, PipelineRun, PipelineStatus, Verdict, counted},
    },
    task::{Failure, Fault, Pipeline, Reach, RelPath, Repeatable, Sanction},
};

use super::{Carrier, Staging, Teller, make_part};

/// What a preview showed of a plan with pipelines.
pub(super) struct Bound {
    pub(super) foreseen: Vec<Foreseen>,
    /// The actions of which it showed nothing.
    pub(super) later: BTreeSet<ActionId>,
}

impl<'a> Carrier<'a> {
    /// Makes the changes of all parts, and runs the pipelines. An error in a part undoes the changes of all parts so far. What a pipeline did stays.
    pub(super) fn in_parts(
        &self,
        stage: Stage<'a>,
        teller: &mut Teller<'_>,
        checker: Checker<'_>,
        bound: &Bound,
    ) -> Result<Applied<'a>, Box<Undoing<'a>>> {
        let mut done = Checked::default();
        let host = self.desk.host;
        let mut staging = Staging::new(stage, host);
        let parts = match check::parts_of(self.plan) {
            Ok(parts) => parts,
            Err(failure) => return Err(Box::new(staging.stage.undo(failure))),
        };
        for part in parts {
            let unknown = &mut Unknown::default();
            let checked = check::check(checker, &part.actions, unknown, &mut staging, &mut done);
            teller.so_far(self.plan, &done);
            teller.story.end.warnings.append(&mut done.notes);
            let sound = checked.and_then(|()| self.sound(&done));
            if let Err(failure) = sound.and_then(|()| self.as_shown(&staging, bound)) {
                return Err(Box::new(staging.stage.undo(failure)));
            }
            let mut applied = make_part(
                staging.stage,
                teller,
                self.plan.limits.max_concurrency,
                checker.stopped,
                &mut |changes, teller| self.verified(changes, teller),
            )?;
            let Some(action) = part.pipeline else {
                return Ok(applied);
            };
            done.held.clear();
            let verdict = self.piped(action, &mut applied, &done, teller);
            done.verdicts.push(verdict);
            teller.so_far(self.plan, &done);
            let stopped = (checker.stopped)().map_or(Ok(()), Err);
            if let Err(failure) = stopped.and_then(|()| self.sound(&done)) {
                return Err(Box::new(applied.undo(failure)));
            }
            staging = Staging::new(applied.next(host.standing()), host);
        }
        let failure = Failure::new(Fault::Internal, "the last part of the plan is missing");
        Err(Box::new(staging.stage.undo(failure)))
    }

    /// Whether a part does what was approved, or what `--expect` names: files may have changed since that was compared.
    fn as_shown(&self, staging: &Staging<'_>, bound: &Bound) -> Result<(), Failure> {
        let fault = match (&self.plan.limits.sanction, self.expect) {
            (Sanction::Approved(_), _) => Fault::ApprovalMismatch,
            (_, Some(_)) => Fault::PreviewChanged,
            _ => return Ok(()),
        };
        let mut changes = of_files(&staging.stage.changes).zip(&staging.foreseen);
        let other = changes.find(|(change, foreseen)| {
            let is_later = change.actions.iter().all(|id| bound.later.contains(id));
            !is_later && !bound.foreseen.contains(foreseen)
        });
        other.map_or(Ok(()), |(change, _)| {
            let message = format!(
                "`{}` would now be changed in another way than shown: a file has changed since",
                change.result_path()
            );
            Err(Failure::new(fault, message))
        })
    }

    /// The first failure, if it undoes the plan.
    fn sound(&self, done: &Checked) -> Result<(), Failure> {
        let failure = done.verdicts.iter().find_map(Verdict::failure);
        match (self.plan.instructions.on_failure, failure) {
            (OnFailure::RollBack, Some(failure)) => Err(failure.clone()),
            _ => Ok(()),
        }
    }

    /// Runs the pipeline of an action, unless the action is held back.
    fn piped(
        &self,
        action: &Action,
        applied: &mut Applied<'a>,
        done: &Checked,
        teller: &mut Teller<'_>,
    ) -> Verdict {
        let host = self.desk.host;
        let began = host.now();
        let end = match done.held_back(action, self.plan.instructions.on_error) {
            Some(reason) => ActionEnd::Skipped(reason),
            None => self
                .run(action, applied, teller)
                .map_or_else(ActionEnd::Failed, ActionEnd::Completed),
        };
        Verdict::of(action, &began, &host.now(), end)
    }

    fn run(
        &self,
        action: &Action,
        applied: &mut Applied<'a>,
        teller: &mut Teller<'_>,
    ) -> Result<String, Failure> {
        let known = self.plan.limits.pipeline(&action.target);
        let (Some(pipeline), Operation::Pipeline { parameters }) = (known, &action.operation)
        else {
            return Err(Failure::new(Fault::Internal, "no such pipeline"));
        };
        let clock = self.desk.host;
        let at = clock.timestamp().to_string();
        let since = host::file_time();
        let scratch = Scratch::make(applied.root(), &scratch_name(clock))?;
        applied.record(&Event::Started(Started {
            action: action.id.to_string(),
            pipeline: pipeline.name.clone(),
            at: at.clone(),
            since,
            writes: pipeline.writes.clone(),
        }))?;
        teller.desk.course.set(Reach::Changing);
        let begun = clock.moment();
        let longest = action.timeout.min(pipeline.timeout);
        let late = || {
            (begun.passed() > longest).then(|| {
                let message = format!(
                    "the pipeline `{}` took longer than its time limit of {longest:?}",
                    pipeline.name
                );
                Failure::new(Fault::ToolTimeout, message)
            })
        };
        let ran = pipeline::run(&Launch {
            pipeline,
            parameters,
            root: applied.root().path(),
            scratch: scratch.path(),
            stopped: &|| self.stopped().or_else(late),
        });
        drop(scratch);
        let written = pipeline::written_since(applied.root().path(), &pipeline.writes, since);
        let run = told(
            action,
            pipeline,
            (at, clock.timestamp().to_string()),
            &ran,
            written,
        );
        let failure = run.failure.clone();
        let said = format!(
            "Pipeline '{}' completed ({} changed in its directories)",
            pipeline.name,
            counted(run.files_changed_count, "file")
        );
        if !matches!(&ran, Err(failure) if failure.fault == Fault::PipelineNotStarted) {
            teller.story.end.pipelines.push(run);
        }
        applied.record(&Event::Ended { failure })?;
        // What it did stays, so that only its entry can say that it may be run again.
        let again = pipeline.effects.repeatable() == Repeatable::Yes;
        ran.map(|_| said).map_err(|failure| Failure {
            recoverable: failure.recoverable && again,
            ..failure
        })
    }
}

fn told(
    action: &Action,
    pipeline: &Pipeline,
    (started_at, completed_at): (String, String),
    ran: &Result<Ran, Failure>,
    (files_changed, files_changed_count): (Vec<RelPath>, usize),
) -> PipelineRun {
    PipelineRun {
        repeatable: pipeline.effects.repeatable(),
        action_id: action.id.clone(),
        pipeline: pipeline.name.clone(),
        started_at,
        completed_at: Some(completed_at),
        status: match ran {
            Ok(_) => PipelineStatus::Success,
            Err(_) => PipelineStatus::Failed,
        },
        failure: ran.as_ref().err().map(|failure| failure.message.clone()),
        files_changed,
        files_changed_count,
        output: ran
            .as_ref()
            .map(|ran| ran.output.clone())
            .unwrap_or_default(),
    }
}
