//! Performs the actions in memory, one after the other, before the first change. The result is at most one change
//! per file (001 §5.1, phases 2 and 4).
//!
//! The [`Sink`] gets a file as soon as no later action names it, so that not all files of a plan are in memory.

mod overlay;
mod places;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    host::{Host, Moment, RangeLock},
    task::{Failure, Fault, RelPath},
};

use super::{
    files::{FileError, Inherited, Root, View},
    model::{Action, ActionId, OnError, OnFailure, Operation, Plan},
    parts::{Part, Unknown, parts},
    pipeline,
    planned::Planned,
    record::{ActionEnd, Verdict, uuid_v4},
};

use overlay::Overlay;
use places::{Place, Places, SqlPlaces, places};

/// Receives the changes of a plan.
pub(crate) trait Sink {
    /// Receives a directory that has to be made, the outermost first.
    fn dir(&mut self, path: &RelPath, mount: u64, inherited: &Inherited) -> Result<(), FileError>;
    fn change(&mut self, planned: Planned<'_>) -> Result<(), FileError>;
}

/// What is needed to check the parts of a plan.
#[derive(Clone, Copy)]
pub(crate) struct Checker<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) root: &'a Root,
    pub(crate) host: &'a Host,
    pub(crate) stopped: &'a dyn Fn() -> Option<Failure>,
}

/// What became of the actions of one part, or of all parts so far, in the order in which they were performed.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) notes: Vec<String>,
    /// The queries that were performed, for people.
    pub(crate) queries: Vec<String>,
    /// Keeps the databases of the plan from being opened by others.
    pub(crate) held: Vec<RangeLock>,
    /// The actions that could not be checked yet.
    pub(crate) later: BTreeSet<ActionId>,
}

impl Checked {
    pub(crate) fn end_of(&self, id: &ActionId) -> Option<&ActionEnd> {
        let mut verdicts = self.verdicts.iter();
        let verdict = verdicts.find(|verdict| verdict.action == *id);
        verdict.map(|verdict| &verdict.end)
    }

    /// Why an action is not tried after these: what it depends on is not there, or `stop_on_error` holds it back.
    pub(crate) fn held_back(&self, action: &Action, on_error: OnError) -> Option<String> {
        skipped(action, |id| self.end_of(id)).or_else(|| {
            let mut verdicts = self.verdicts.iter();
            let failed = verdicts.find(|it| it.failure().is_some() && on_error == OnError::Stop);
            failed.map(|failed| format!("Not tried: {} failed before it", failed.action))
        })
    }
}

/// Checks every part of a plan before the first change, as far as this is possible: what rests on what a pipeline will
/// write is checked when the pipeline has ended.
pub(crate) fn foresee(checker: Checker<'_>, sink: &mut dyn Sink) -> Result<Checked, Failure> {
    let mut unknown = Unknown::default();
    let mut checked = Checked::default();
    for part in parts_of(checker.plan)? {
        check(checker, &part.actions, &mut unknown, sink, &mut checked)?;
        if let Some(action) = part.pipeline {
            let now = checker.host.now();
            let held_back = checked.held_back(action, checker.plan.instructions.on_error);
            let limits = &checker.plan.limits;
            let can_start = limits.pipeline(&action.target).map_or(Ok(()), |pipeline| {
                pipeline::can_start(pipeline, checker.root.path(), limits.protected.own())
            });
            let end = match (held_back, can_start) {
                (Some(reason), _) => ActionEnd::Skipped(reason),
                (None, Ok(())) => {
                    ActionEnd::Completed(format!("Pipeline '{}' can be started", action.target))
                }
                (None, Err(failure)) => ActionEnd::Failed(failure),
            };
            let verdict = Verdict::of(action, &now, &now, end);
            checked.verdicts.push(verdict);
        }
        unknown.after(&part, &checker.plan.limits);
    }
    checked.later = unknown.actions;
    Ok(checked)
}

/// The parts of a plan, in their order.
pub(crate) fn parts_of(plan: &Plan) -> Result<Vec<Part<'_>>, Failure> {
    parts(&plan.actions)
        .map_err(|_| Failure::new(Fault::PlanCycle, "the actions wait for each other"))
}

/// Does every action of one part in memory, and adds what became of each to `done`, which has those of the parts before
/// it. An error of the sink, a signal, and the end of the time end it.
pub(crate) fn check(
    checker: Checker<'_>,
    actions: &[&Action],
    unknown: &mut Unknown,
    sink: &mut dyn Sink,
    done: &mut Checked,
) -> Result<(), Failure> {
    let Checker {
        plan,
        root,
        host,
        stopped,
    } = checker;
    let view = View::of(root);
    let located: Vec<Places> = actions
        .iter()
        .map(|action| places(&view, plan, action))
        .collect();
    // A plan that keeps its other changes waits before the first of them, by whatever path it names a protected file.
    let mut failures = located.iter().filter_map(|places| places.as_ref().err());
    if let Some(failure) = failures.find(|failure| failure.fault == Fault::ProtectedFile)
        && plan.instructions.on_failure == OnFailure::Keep
    {
        return Err(failure.clone());
    }
    plan.limits.fits_backups(originals(actions, &located))?;
    let groups = Group::all(actions, &located);
    let mut overlay = Overlay::new(plan, &view, host);
    let mut verdicts: HashMap<&ActionId, Verdict> = HashMap::new();
    let failed_before = done.verdicts.iter().find(|it| it.failure().is_some());
    let mut halted = failed_before.map(|verdict| verdict.action.clone());
    halted = halted.filter(|_| plan.instructions.on_error == OnError::Stop);
    for (turn, (action, places)) in actions.iter().zip(&located).enumerate() {
        if let Some(failure) = stopped() {
            return Err(failure);
        }
        let (began, clock) = (host.now(), host.moment());
        let end_of = |id: &ActionId| verdicts.get(id).map(|verdict| &verdict.end);
        let skipped = skipped(action, |id| end_of(id).or_else(|| done.end_of(id)));
        let end = match (skipped, &halted) {
            (Some(reason), _) => ActionEnd::Skipped(reason),
            (None, Some(failed)) => {
                ActionEnd::Skipped(format!("Not tried: {failed} failed before it"))
            }
            (None, None) if unknown.takes_in(action) => {
                let told = "It is checked when the pipelines before it have ended";
                ActionEnd::Completed(told.to_owned())
            }
            (None, None) => {
                let halted = || stopped().or_else(|| too_slow(action, clock));
                let done = places
                    .as_ref()
                    .map_err(Clone::clone)
                    .and_then(|places| overlay.act(action, places, &halted));
                // The overlay may already contain its change, so the whole plan is stopped.
                if let Some(failure) = halted() {
                    return Err(failure);
                }
                done.map_or_else(ActionEnd::Failed, ActionEnd::Completed)
            }
        };
        if matches!(end, ActionEnd::Failed(_)) && plan.instructions.on_error == OnError::Stop {
            halted.get_or_insert_with(|| action.id.clone());
        }
        verdicts.insert(&action.id, Verdict::of(action, &began, &host.now(), end));
        let mut judged = Vec::new();
        for group in groups.iter().filter(|group| group.edited == Some(turn)) {
            judged.extend(overlay.judge(&group.paths, stopped)?);
        }
        for (failed, failure) in judged {
            if let Some(hasty) = done_after(actions, &verdicts, &failed) {
                let message = format!(
                    "{}; the action {} depends on it and had already been performed",
                    failure.message, hasty.id
                );
                return Err(Failure { message, ..failure });
            }
            if plan.instructions.on_error == OnError::Stop {
                let mut ids = actions.iter().map(|action| &action.id);
                halted = halted.or_else(|| ids.find(|id| failed.contains(id)).cloned());
            }
            for id in &failed {
                if let Some(verdict) = verdicts.get_mut(id) {
                    verdict.end = ActionEnd::Failed(failure.clone());
                }
            }
        }
        for group in groups.iter().filter(|group| group.ends == turn) {
            overlay.finish(&group.paths, sink)?;
        }
    }
    let ended = actions.iter();
    let ended = ended.filter_map(|action| verdicts.remove(&action.id));
    done.verdicts.extend(ended.collect::<Vec<_>>());
    done.notes.append(&mut overlay.notes);
    done.queries.append(&mut overlay.queries);
    done.held.append(&mut overlay.held);
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

/// An action that was completed and depends on one of these.
fn done_after<'a>(
    actions: &[&'a Action],
    verdicts: &HashMap<&ActionId, Verdict>,
    failed: &[ActionId],
) -> Option<&'a Action> {
    let hasty = |action: &&&Action| {
        !failed.contains(&action.id)
            && verdicts.get(&action.id).is_some_and(Verdict::is_completed)
            && action.depends_on.iter().any(|id| failed.contains(id))
    };
    actions.iter().find(hasty).copied()
}

/// The bytes of all files that will be backed up, by their sizes before they are read.
fn originals(actions: &[&Action], located: &[Places]) -> u64 {
    let mut originals = BTreeMap::new();
    for (action, places) in actions.iter().zip(located) {
        let Ok(places) = places else { continue };
        let changed = match &action.operation {
            Operation::Create { .. } | Operation::Link { .. } | Operation::Pipeline { .. } => None,
            Operation::Sql(_) => places.sql.database.as_ref(),
            _ => Some(&places.target),
        };
        if let Some(target) = changed {
            let bytes = target.facts.as_ref().map_or(0, |facts| facts.bytes);
            originals.insert(&target.path, bytes);
        }
    }
    originals.values().sum()
}

/// 001 §5.3: why an action is not tried.
pub(crate) fn skipped<'e>(
    action: &Action,
    end: impl Fn(&ActionId) -> Option<&'e ActionEnd>,
) -> Option<String> {
    action.depends_on.iter().find_map(|id| match end(id) {
        Some(ActionEnd::Completed(_)) => None,
        Some(ActionEnd::Failed(_)) => Some(format!("Dependency {id} failed")),
        Some(ActionEnd::Skipped(_)) | None => Some(format!("Dependency {id} not completed")),
    })
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
            let mut paths: BTreeSet<RelPath> = places.paths().cloned().collect();
            let (tied, apart): (Vec<Self>, Vec<Self>) = groups
                .into_iter()
                .partition(|group| !group.paths.is_disjoint(&paths));
            let mut edited = match action.operation {
                Operation::Modify(_) | Operation::SchemaUpdate(_) => Some(turn),
                Operation::Create { .. }
                | Operation::Link { .. }
                | Operation::SetMode(_)
                | Operation::Delete { .. }
                | Operation::Rename { .. }
                | Operation::Sql(_)
                | Operation::Pipeline { .. } => None,
            };
            for group in tied {
                paths.extend(group.paths);
                edited = edited.max(group.edited);
            }
            groups = apart;
            groups.push(Self {
                paths,
                ends: turn,
                edited,
            });
        }
        groups
    }
}
