//! Performs the actions in memory, one after the other, before the first change. The result is at most one change
//! per file (001 §5.1, phases 2 and 4).
//!
//! The [`Sink`] gets a file as soon as no later action names it, so that not all files of a plan are in memory. That of a run
//! writes the new content into a slot (`run/staging`).

mod overlay;
mod places;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    host::{Host, Moment, RangeLock},
    task::{Failure, Fault, RelPath},
};

use super::{
    model::{Action, ActionId, OnError, OnFailure, Operation, Plan},
    parts::{Part, Unknown, parts},
    pipeline,
    planned::Planned,
    record::{ActionEnd, Verdict, uuid_v4},
};
use crate::tree::{FileError, Inherited, Root, View};

use overlay::{Failed, Overlay};
use places::{ActionPaths, Places, SqlPlaces, places};

/// Receives the changes of a plan.
pub(crate) trait Sink {
    /// Receives a directory that has to be made, the outermost first.
    fn dir(&mut self, path: &RelPath, mount: u64, inherited: &Inherited) -> Result<(), FileError>;
    /// Receives the change of a file.
    fn file(&mut self, planned: Planned<'_>) -> Result<(), FileError>;
}

/// What is needed to check the parts of a plan.
#[derive(Clone, Copy)]
pub(crate) struct Folding<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) root: &'a Root,
    pub(crate) host: &'a Host,
    pub(crate) stopped: &'a dyn Fn() -> Option<Failure>,
}

/// What became of the actions of one part, or of all parts so far, in the order in which they were performed.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) notes: Vec<String>,
    /// The queries that were performed, for people.
    pub(crate) queries: Vec<String>,
    /// Keeps the databases of the plan from being opened by others.
    pub(crate) held: Vec<RangeLock>,
    /// The actions that could not be checked yet.
    pub(crate) later: BTreeSet<ActionId>,
}

impl Folded {
    pub(crate) fn end_of(&self, id: &ActionId) -> Option<&ActionEnd> {
        let mut verdicts = self.verdicts.iter();
        let verdict = verdicts.find(|verdict| verdict.action == *id);
        verdict.map(|verdict| &verdict.end)
    }

    /// Why an action is not tried after these: what it depends on is not there, or `stop_on_error` holds it back.
    pub(crate) fn held_back(&self, action: &Action, on_error: OnError) -> Option<String> {
        let stopping = || self.stopped_by(on_error);
        let not_tried = |failed| format!("Not tried: {failed} failed before it");
        self.lacking(action).or_else(|| stopping().map(not_tried))
    }

    /// 001 §5.3: what an action depends on, and is not there.
    pub(crate) fn lacking(&self, action: &Action) -> Option<String> {
        let mut needed = action.depends_on.iter();
        needed.find_map(|id| match self.end_of(id) {
            Some(ActionEnd::Completed(_)) => None,
            Some(ActionEnd::Failed(_)) => Some(format!("Dependency {id} failed")),
            Some(ActionEnd::Skipped(_)) | None => Some(format!("Dependency {id} not completed")),
        })
    }

    /// The action whose failure ends the others under `stop_on_error`.
    pub(crate) fn stopped_by(&self, on_error: OnError) -> Option<&ActionId> {
        let mut verdicts = self.verdicts.iter();
        let failed = verdicts.find(|it| on_error == OnError::Stop && it.failure().is_some());
        failed.map(|failed| &failed.action)
    }

    /// Edits are taken back that no later one has repaired: their actions have failed. `Err`: another action rests on them.
    fn take_back(&mut self, (ids, failure): Failed, actions: &[&Action]) -> Result<(), Failure> {
        let hasty = actions.iter().find(|action| {
            let is_done = || matches!(self.end_of(&action.id), Some(ActionEnd::Completed(_)));
            let rests = action.depends_on.iter().any(|id| ids.contains(id));
            rests && !ids.contains(&action.id) && is_done()
        });
        if let Some(hasty) = hasty {
            let message = format!(
                "{}; the action {} depends on it and had already been performed",
                failure.message, hasty.id
            );
            return Err(Failure { message, ..failure });
        }
        let failed = self.verdicts.iter_mut();
        for verdict in failed.filter(|verdict| ids.contains(&verdict.action)) {
            verdict.end = ActionEnd::Failed(failure.clone());
        }
        Ok(())
    }
}

/// Checks every part of a plan before the first change, as far as this is possible: what rests on what a pipeline will
/// write is checked when the pipeline has ended.
pub(crate) fn foresee(folding: Folding<'_>, sink: &mut dyn Sink) -> Result<Folded, Failure> {
    let mut unknown = Unknown::default();
    let mut folded = Folded::default();
    for part in parts_of(folding.plan)? {
        fold(folding, &part.actions, &mut unknown, sink, &mut folded)?;
        if let Some(action) = part.pipeline {
            let now = folding.host.now();
            let end = match folded.held_back(action, folding.plan.instructions.on_error) {
                Some(reason) => ActionEnd::Skipped(reason),
                None => match can_start(folding, action) {
                    Ok(()) => {
                        ActionEnd::Completed(format!("Pipeline '{}' can be started", action.target))
                    }
                    Err(failure) => ActionEnd::Failed(failure),
                },
            };
            let verdict = Verdict::of(action, &now, &now, end);
            folded.verdicts.push(verdict);
        }
        unknown.after(&part, &folding.plan.limits);
    }
    folded.later = unknown.actions;
    Ok(folded)
}

fn can_start(folding: Folding<'_>, action: &Action) -> Result<(), Failure> {
    let limits = &folding.plan.limits;
    let Some(pipeline) = limits.pipeline(&action.target) else {
        return Ok(());
    };
    pipeline::can_start(pipeline, folding.root.path(), limits.protected.own())
}

/// The parts of a plan, in their order.
pub(crate) fn parts_of(plan: &Plan) -> Result<Vec<Part<'_>>, Failure> {
    parts(&plan.actions)
        .map_err(|_| Failure::new(Fault::PlanCycle, "the actions wait for each other"))
}

/// Does every action of one part in memory, and adds what became of each to `done`, which has those of the parts before
/// it. An error of the sink, a signal, and the end of the time end it; then nothing is added.
pub(crate) fn fold(
    folding: Folding<'_>,
    actions: &[&Action],
    unknown: &mut Unknown,
    sink: &mut dyn Sink,
    done: &mut Folded,
) -> Result<(), Failure> {
    let plan = folding.plan;
    let view = View::of(folding.root);
    let located = actions.iter().map(|action| places(&view, plan, action));
    let located: Vec<Places> = located.collect();
    // A plan that keeps its other changes waits before the first of them, by whatever path it names a protected file.
    let mut failures = located.iter().filter_map(|places| places.as_ref().err());
    if let Some(failure) = failures.find(|failure| failure.fault == Fault::ProtectedFile)
        && plan.instructions.on_failure == OnFailure::Keep
    {
        return Err(failure.clone());
    }
    plan.limits.fits_backups(originals(actions, &located))?;
    let mut overlay = Overlay::new(plan, &view, folding.host);
    let before = done.verdicts.len();
    perform(
        folding,
        (actions, &located),
        unknown,
        &mut overlay,
        sink,
        done,
    )
    .inspect_err(|_| done.verdicts.truncate(before))?;
    done.notes.append(&mut overlay.notes);
    done.queries.append(&mut overlay.queries);
    done.held.append(&mut overlay.held);
    Ok(())
}

fn perform<'a>(
    folding: Folding<'a>,
    (actions, located): (&[&'a Action], &[Places]),
    unknown: &mut Unknown,
    overlay: &mut Overlay<'a>,
    sink: &mut dyn Sink,
    done: &mut Folded,
) -> Result<(), Failure> {
    let (host, stopped) = (folding.host, folding.stopped);
    let groups = Group::all(actions, located);
    for (turn, (action, places)) in actions.iter().zip(located).enumerate() {
        stopped().map_or(Ok(()), Err)?;
        let (began, clock) = (host.now(), host.moment());
        let end = match done.held_back(action, folding.plan.instructions.on_error) {
            Some(reason) => ActionEnd::Skipped(reason),
            None if unknown.takes_in(action) => {
                let told = "It is checked when the pipelines before it have ended";
                ActionEnd::Completed(told.to_owned())
            }
            None => {
                let halted = || stopped().or_else(|| too_slow(action, clock));
                let places = places.as_ref().map_err(Clone::clone);
                let end = places.and_then(|places| overlay.act(action, places, &halted));
                // The overlay may already contain its change, so the whole plan is stopped.
                halted().map_or(Ok(()), Err)?;
                end.map_or_else(ActionEnd::Failed, ActionEnd::Completed)
            }
        };
        let verdict = Verdict::of(action, &began, &host.now(), end);
        done.verdicts.push(verdict);
        for group in groups.iter().filter(|group| group.edited == Some(turn)) {
            for failed in overlay.judge(&group.paths, stopped)? {
                done.take_back(failed, actions)?;
            }
        }
        for group in groups.iter().filter(|group| group.ends == turn) {
            overlay.finish(&group.paths, sink)?;
        }
    }
    Ok(())
}

/// The failure of an action that exceeded its time limit (R-001-169 … R-001-172).
fn too_slow(action: &Action, clock: Moment) -> Option<Failure> {
    (clock.passed() > action.timeout).then(|| {
        let message = format!(
            "{} took longer than its time limit of {:?}",
            action.id, action.timeout
        );
        Failure::new(Fault::ToolTimeout, message)
    })
}

/// The bytes of all files that will be backed up, by their sizes before they are read.
fn originals<'p>(actions: &[&Action], located: &'p [Places]) -> u64 {
    let changed = |(action, places): (&&Action, &'p Places)| match (&action.operation, places) {
        (Operation::Create { .. } | Operation::Link { .. } | Operation::Pipeline { .. }, _)
        | (_, Err(_)) => None,
        (Operation::Sql(_), Ok(ActionPaths { sql, .. })) => sql.database.as_ref(),
        (_, Ok(ActionPaths { target, .. })) => Some(target),
    };
    let changed = actions.iter().zip(located).filter_map(changed);
    let sizes = changed.map(|it| (&it.path, it.facts.as_ref().map_or(0, |facts| facts.bytes)));
    sizes.collect::<BTreeMap<_, _>>().values().sum()
}

/// The name of a directory in which a program of the plan works.
pub(crate) fn scratch_name(host: &Host) -> String {
    uuid_v4(host.random_bytes()).simple().to_string()
}

/// Paths that are tied together by renames.
struct Group {
    paths: BTreeSet<RelPath>,
    /// The last turn that names one of them.
    ends: usize,
    /// The last turn that edits one of them.
    edited: Option<usize>,
}

impl Group {
    fn all(actions: &[&Action], located: &[Places]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for (turn, (action, places)) in actions.iter().zip(located).enumerate() {
            let Ok(places) = places else { continue };
            let mut group = Self {
                paths: places.paths().cloned().collect(),
                ends: turn,
                edited: match action.operation {
                    Operation::Modify(_) | Operation::SchemaUpdate(_) => Some(turn),
                    _ => None,
                },
            };
            let is_tied = |other: &mut Self| places.paths().any(|path| other.paths.contains(path));
            for tied in groups.extract_if(.., is_tied) {
                group.paths.extend(tied.paths);
                group.edited = group.edited.max(tied.edited);
            }
            groups.push(group);
        }
        groups
    }
}
