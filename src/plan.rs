//! File plans: a list of changes, all made or none (specification 001).
//!
//! ```text
//! Value ─ read → Plan ─ fold → Stage ─ arm → Armed ─ apply → Applied ─ verify, commit → Committed
//!                                         └──────── any error ─ undo → RolledBack | Stuck
//! ```
//!
//! `read` reads a plan, `fold` makes at most one change a file of its actions, `engine` makes the changes or undoes them
//! (the room `tree` touches the files), `report` makes the reports, and `run` calls all of these in order. `rollback` undoes a
//! finished plan, `recover` settles an interrupted one, `asking` answers questions about plans. `from_diff` makes a plan of a
//! diff, and `exhibit` prepares a finished plan for display.

mod asking;
mod at;
mod change;
mod child;
mod diff;
mod engine;
mod exhibit;
mod fold;
mod from_diff;
mod graph;
mod hash;
mod interrupted;
mod jail;
mod limits;
mod lock;
mod model;
mod parts;
mod pipeline;
mod planned;
mod preview;
mod protected;
mod read;
mod record;
mod recover;
mod report;
mod rollback;
mod run;
mod sql;
mod told;
mod unread;

use std::{collections::BTreeMap, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

pub(crate) use crate::edit::DiffRules;
use crate::{
    host::{Host, Moment, resolved},
    task::{
        Bounds, Checks, Course, Effect, Failure, Fault, Outcome, Phase, RelPath, ReportFiles, State,
    },
};

use at::At;
use limits::Limits;
use model::ActionId;
use protected::Kept;
use record::Run;

pub(crate) use crate::tree::lacks;
pub(crate) use asking::{can_change, can_report, cancel, status};
pub(crate) use child::child;
pub(crate) use diff::{DiffLine, DiffMark, Difference, Reader, Word};
pub(crate) use engine::Consent;
#[cfg(any(test, fuzzing))]
pub(crate) use engine::fuzzed as fuzzed_journal;
pub(crate) use exhibit::{FileExhibit, PlanExhibit, Undo, exhibit};
pub(crate) use from_diff::from_diff;
pub(crate) use jail::ARGUMENT;
pub(crate) use model::ReportedChange;
pub(crate) use preview::preview;
pub(crate) use recover::{
    Fate, Settled, clear_expired, fate, is_journalled, recover, recover_all, recover_named,
};
pub(crate) use rollback::{rollback, rollback_preview};
pub(crate) use run::execute;
pub(crate) use sql::{EngineState, probe as engine};

/// The surroundings of one plan.
#[derive(Clone, Copy)]
pub(crate) struct Desk<'a> {
    pub(crate) host: &'a Host,
    pub(crate) root: &'a Utf8Path,
    pub(crate) task_id: &'a str,
    pub(crate) operation_id: &'a str,
    /// When the run began, and how long it may take in all.
    pub(crate) begun: Moment,
    pub(crate) budget: Option<Duration>,
    /// Records when files are changed.
    pub(crate) course: &'a Course,
    /// Where oneact keeps what is its own: asked only when files are about to be changed.
    pub(crate) own: &'a (dyn Fn() -> Vec<Utf8PathBuf> + Sync),
}

impl Desk<'_> {
    /// What oneact keeps below the root.
    fn own(&self) -> Kept {
        Kept {
            own: self.below((self.own)()),
            programs: Vec::new(),
        }
    }

    /// The same, with the programs of the servers.
    pub(crate) fn kept(&self, bounds: &Bounds) -> Kept {
        let executes = bounds.protection.executes.as_ref();
        let named = executes.into_iter().flat_map(|executes| &executes.programs);
        let named = named.map(|path| self.root.join(path).components().collect());
        Kept {
            programs: self.below(named.collect()),
            ..self.own()
        }
    }

    /// Of these, what is below the root, by every path that leads there.
    fn below(&self, paths: Vec<Utf8PathBuf>) -> Vec<RelPath> {
        let below =
            |path: &Utf8Path| RelPath::parse(path.strip_prefix(self.root).ok()?.as_str()).ok();
        let real = |path: &Utf8Path| Utf8PathBuf::try_from(resolved(path.as_std_path())).ok();
        // Most of them are in few directories, and are no links.
        let mut parents = BTreeMap::new();
        let mut each = |path: Utf8PathBuf| {
            let parent = path.parent().map(|dir| {
                let known = parents.entry(dir.to_owned());
                known.or_insert_with_key(|dir| real(dir)).clone()
            });
            let beside = parent.flatten().zip(path.file_name());
            let beside = beside.map(|(dir, name)| dir.join(name));
            let real = path.is_symlink().then(|| real(&path)).flatten();
            [Some(path), beside, real]
        };
        let mut found: Vec<RelPath> = paths
            .into_iter()
            .flat_map(&mut each)
            .filter_map(|path| below(&path?))
            .collect();
        found.sort();
        found.dedup();
        found
    }

    /// The name of the report directory, `{timestamp}_{task_id}` (C-20): the task's name, as far as the name of
    /// a file can say it.
    pub(crate) fn report_name(&self) -> String {
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let task: String = self
            .task_id
            .chars()
            .map(|c| if fits(c) { c } else { '_' })
            .take(40)
            .collect();
        format!("{}_{task}", self.host.now().strftime("%Y%m%d-%H%M%S"))
    }

    /// What is known of a plan before anything is done.
    fn run(
        self,
        plan_id: String,
        directory: RelPath,
        actions: impl Iterator<Item = (ActionId, Vec<ActionId>)>,
    ) -> Run {
        Run {
            plan_id,
            task_id: self.task_id.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            directory,
            began: At::from(&self.host.now()),
            actions: actions.collect(),
        }
    }

    /// The rules for whatever no catalog entry bounds: undoing and recovery.
    pub(crate) fn limits(&self) -> Result<Limits, Failure> {
        let mut bounds = Bounds::default();
        bounds.protection.executes = None;
        Limits::of(&bounds, &self.own(), None, &mut Vec::new())
    }
}

/// Nothing was done; a sentence says what there is to say.
fn nothing_done(sentence: String) -> Outcome {
    Outcome {
        reasoning: vec![sentence],
        ..Outcome::nothing_done(State::Done, Phase::Complete, None)
    }
}

/// A plan that was not even begun.
fn refused(failure: Failure) -> Outcome {
    Outcome::nothing_done(refusal(&failure), Phase::Plan, Some(failure))
}

/// A defect of oneact. The next run finds out how far the plan came.
fn broken() -> Outcome {
    let message = "internal error: oneact failed while it applied the plan; the next run or `oneact recover` settles the plan";
    Outcome {
        effect: Effect::Unknown,
        ..refused(Failure::new(Fault::Internal, message))
    }
}

/// The state of a run that changed nothing: `Rejected` if the request itself has to be corrected.
fn refusal(failure: &Failure) -> State {
    match failure.fault {
        Fault::Cancelled => State::Cancelled,
        Fault::DiskFull
        | Fault::FileSystem
        | Fault::HashMismatch
        | Fault::ToolTimeout
        | Fault::InFlight
        | Fault::Stuck
        | Fault::PipelineNotStarted
        | Fault::PipelineFailed
        | Fault::RollbackConflict
        | Fault::Internal => State::Failed,
        _ if failure.recoverable => State::Failed,
        _ => State::Rejected,
    }
}

/// The outcome with the files of the report directory. The checks are those of the execution report (C-07, C-08).
fn reported(outcome: Outcome, files: ReportFiles) -> Outcome {
    let report = outcome.execution_report.as_ref();
    Outcome {
        checks: Checks {
            output_exists: true,
            output_non_empty: report.is_some(),
            format_valid: report.is_some_and(Value::is_object),
            result_complete: None,
        },
        reports: Some(files),
        ..outcome
    }
}
