//! Applies a plan with pipelines, one part after the other: the changes before a pipeline are made before it starts, and
//! what follows is checked when it has ended.

use crate::{
    host,
    plan::{
        change::of_files,
        engine::{Applied, Event, Scratch, Stage, Started, Undoing},
        fold::{self, Folded, Folding, scratch_name},
        model::{Action, OnFailure, Operation},
        parts::Unknown,
        pipeline::{self, Launch},
        record::{ActionEnd, PipelineRun, PipelineStatus, Verdict, counted},
    },
    task::{Failure, Fault, Reach, Sanction},
};

use super::{Bound, Runner, Staging, Teller, make_part};

impl<'a> Runner<'a> {
    /// Makes the changes of all parts, and runs the pipelines. An error in a part undoes the changes of all parts so far. What a pipeline did stays.
    pub(super) fn in_parts(
        &self,
        stage: Stage<'a>,
        teller: &mut Teller<'_>,
        folding: Folding<'_>,
        bound: &Bound,
    ) -> Result<Applied<'a>, Box<Undoing<'a>>> {
        let mut done = Folded::default();
        let host = self.desk.host;
        let mut staging = Staging::new(stage, host);
        let parts = match fold::parts_of(self.plan) {
            Ok(parts) => parts,
            Err(failure) => return Err(Box::new(staging.stage.undo(failure))),
        };
        for part in parts {
            let unknown = &mut Unknown::default();
            let folded = fold::fold(folding, &part.actions, unknown, &mut staging, &mut done);
            teller.so_far(self.plan, &done);
            teller.story.end.warnings.append(&mut done.notes);
            let sound = folded.and_then(|()| self.sound(&done));
            if let Err(failure) = sound.and_then(|()| self.as_shown(&staging, bound)) {
                return Err(Box::new(staging.stage.undo(failure)));
            }
            let mut applied = make_part(
                staging.stage,
                teller,
                self.plan.limits.max_concurrency,
                folding.stopped,
                &mut |changes, teller| self.verified(changes, teller),
            )?;
            let Some(action) = part.pipeline else {
                return Ok(applied);
            };
            done.held.clear();
            let began = host.now();
            let end = match done.held_back(action, self.plan.instructions.on_error) {
                Some(reason) => ActionEnd::Skipped(reason),
                None => self
                    .run_pipeline(action, &mut applied, teller)
                    .map_or_else(ActionEnd::Failed, ActionEnd::Completed),
            };
            let verdict = Verdict::of(action, &began, &host.now(), end);
            done.verdicts.push(verdict);
            teller.so_far(self.plan, &done);
            let stopped = (folding.stopped)().map_or(Ok(()), Err);
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
    fn sound(&self, done: &Folded) -> Result<(), Failure> {
        let failure = done.verdicts.iter().find_map(Verdict::failure);
        match (self.plan.instructions.on_failure, failure) {
            (OnFailure::RollBack, Some(failure)) => Err(failure.clone()),
            _ => Ok(()),
        }
    }

    /// Runs the pipeline of an action.
    fn run_pipeline(
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
        let started_at = clock.timestamp().to_string();
        let since = host::file_time();
        let scratch = Scratch::make(applied.root(), &scratch_name(clock))?;
        applied.record(&Event::Started(Started {
            action: action.id.to_string(),
            pipeline: pipeline.name.clone(),
            at: started_at.clone(),
            since,
            writes: pipeline.writes.clone(),
        }))?;
        teller.desk.course.set(Reach::Changing);
        let ran = pipeline::run(&Launch {
            pipeline,
            parameters,
            root: applied.root().path(),
            scratch: scratch.path(),
            longest: action.timeout.min(pipeline.timeout),
            stopped: &|| self.stopped(),
        });
        drop(scratch);
        let (files_changed, files_changed_count) =
            pipeline::written_since(applied.root().path(), &pipeline.writes, since);
        let said = format!(
            "Pipeline '{}' completed ({} changed in its directories)",
            pipeline.name,
            counted(files_changed_count, "file")
        );
        let failure = ran.as_ref().err();
        let is_started = failure.is_none_or(|it| it.fault != Fault::PipelineNotStarted);
        let failure = failure.map(|failure| failure.message.clone());
        if is_started {
            teller.story.end.pipelines.push(PipelineRun {
                repeatable: pipeline.effects.repeatable(),
                action_id: action.id.clone(),
                pipeline: pipeline.name.clone(),
                started_at,
                completed_at: Some(clock.timestamp().to_string()),
                status: match failure {
                    None => PipelineStatus::Success,
                    Some(_) => PipelineStatus::Failed,
                },
                failure: failure.clone(),
                files_changed,
                files_changed_count,
                output: ran.as_deref().unwrap_or_default().to_owned(),
            });
        }
        applied.record(&Event::Ended { failure })?;
        ran.map(|_| said)
    }
}
