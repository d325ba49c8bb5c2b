//! The parts of a plan. A pipeline sees the files as the actions before it left them, and cannot be undone. It therefore
//! cuts the plan: what is before it is applied before it starts, what is after it is checked when it has ended.

use std::collections::{BTreeSet, HashMap};

use crate::task::{Pipeline, RelPath};

use super::{
    graph::{self, Cycle},
    limits::Limits,
    model::{Action, ActionId, Operation, Plan},
};

/// Actions that change or query files, in the order in which they are performed, and the pipeline after them.
#[derive(Debug, Default)]
pub(crate) struct Part<'a> {
    pub(crate) actions: Vec<&'a Action>,
    pub(crate) pipeline: Option<&'a Action>,
}

/// The parts in their order. The last one has no pipeline, and may be empty: the rules of the plan are checked then.
pub(crate) fn parts(actions: &[Action]) -> Result<Vec<Part<'_>>, Cycle> {
    let mut parts = vec![Part::default()];
    let order = graph::order(actions)?;
    for action in order.into_iter().filter_map(|at| actions.get(at)) {
        let Some(last) = parts.last_mut() else {
            continue;
        };
        if let Operation::Pipeline { .. } = action.operation {
            last.pipeline = Some(action);
            parts.push(Part::default());
        } else {
            last.actions.push(action);
        }
    }
    Ok(parts)
}

/// A file that is changed both before and after a pipeline, with the later of the two actions.
pub(crate) fn changed_twice<'a>(parts: &[Part<'a>]) -> Option<(&'a Action, &'a RelPath)> {
    let mut before: HashMap<&RelPath, usize> = HashMap::new();
    for (at, part) in parts.iter().enumerate() {
        for action in &part.actions {
            for path in action.changes() {
                if *before.entry(path).or_insert(at) != at {
                    return Some((action, path));
                }
            }
        }
    }
    None
}

/// What cannot be known before the pipelines of a plan have run: what they may write, and what rests on it.
#[derive(Debug, Default)]
pub(crate) struct Unknown {
    directories: Vec<RelPath>,
    paths: BTreeSet<RelPath>,
    /// The actions that rest on these.
    pub(crate) actions: BTreeSet<ActionId>,
}

impl Unknown {
    /// Adds what is unknown after a part of the plan.
    pub(crate) fn after(&mut self, part: &Part<'_>, limits: &Limits) {
        let changed = part.actions.iter().flat_map(|action| action.changes());
        self.paths.extend(changed.cloned());
        let pipeline = part.pipeline.and_then(|it| limits.pipeline(&it.target));
        self.directories
            .extend(pipeline.into_iter().flat_map(|it| it.writes.clone()));
    }

    /// Whether it cannot be known yet what an action does. What rests on the action is then unknown, too.
    pub(crate) fn takes_in(&mut self, action: &Action) -> bool {
        let unknown = |path: &&RelPath| {
            let mut directories = self.directories.iter();
            self.paths.contains(*path)
                || directories.any(|it| path.as_path().starts_with(it.as_path()))
        };
        let rests = action.paths().iter().any(unknown)
            || action.depends_on.iter().any(|id| self.actions.contains(id));
        if rests {
            self.actions.insert(action.id.clone());
            self.paths.extend(action.changes().into_iter().cloned());
        }
        rests
    }
}

impl Plan {
    /// The pipelines that the plan runs, with their actions.
    pub(crate) fn pipelines(&self) -> impl Iterator<Item = (&Action, &Pipeline)> {
        let run = |action: &&Action| matches!(action.operation, Operation::Pipeline { .. });
        let actions = self.actions.iter().filter(run);
        actions.filter_map(|action| Some((action, self.limits.pipeline(&action.target)?)))
    }

    pub(crate) fn programs(&self) -> Vec<&Pipeline> {
        self.pipelines().map(|(_, pipeline)| pipeline).collect()
    }
}
