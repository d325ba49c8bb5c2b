//! Finds actions that contradict each other: a file created twice, a file changed after it was deleted, a file
//! where another action needs a directory. Only the plan is examined here; `check` examines the tree.

use std::collections::HashMap;

use crate::{
    plan::model::{Action, Operation},
    task::{Fault, RelPath},
};

use super::{
    action,
    findings::{Findings, Subject},
};

/// What a plan touches.
pub(super) struct Extent {
    /// A file that is renamed counts once.
    pub(super) files: usize,
    /// The bytes of the paths of all directories that contain them.
    pub(super) directories: usize,
}

/// Reports the contradictions, and returns what the plan touches.
pub(super) fn check(actions: &[Action], order: &[usize], findings: &Findings) -> Extent {
    let mut tree = Tree::default();
    for at in order {
        let Some(action) = actions.get(*at) else {
            continue;
        };
        if let Err(problem) = tree.take(action) {
            findings.about(Subject::of(action));
            findings.problem(
                Fault::PlanConflict,
                format!("`{}` ({}) {problem}", action::place(*at), action.id),
            );
        }
    }
    Extent {
        files: tree.files,
        directories: tree.below.keys().map(|dir| dir.len()).sum(),
    }
}

/// The tree according to the actions so far.
#[derive(Debug, Default)]
struct Tree<'a> {
    /// The state of a path, and the action that made it so.
    known: HashMap<&'a str, (State, &'a Action)>,
    /// Files known to be below a directory, for each such directory.
    below: HashMap<&'a str, usize>,
    files: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Present,
    Absent,
}

impl<'a> Tree<'a> {
    fn take(&mut self, action: &'a Action) -> Result<(), String> {
        let target = &action.target;
        match &action.operation {
            Operation::Create { .. } | Operation::Link { .. } => {
                self.must_be_free("creates", target)?;
                self.is(State::Present, target, action);
            }
            Operation::Modify(_) | Operation::SetMode(_) | Operation::SchemaUpdate(_) => {
                self.must_be_there("changes", target)?;
                self.is(State::Present, target, action);
            }
            Operation::Delete { .. } => {
                self.must_be_there("deletes", target)?;
                self.is(State::Absent, target, action);
            }
            Operation::Rename { to } => {
                self.must_be_there("renames", target)?;
                self.must_be_free("renames a file to", to)?;
                self.is(State::Absent, target, action);
                let files = self.files;
                self.is(State::Present, to, action);
                self.files = files;
            }
            Operation::Sql(sql) => {
                for path in [target].into_iter().chain(sql.inputs()) {
                    self.must_be_there("reads", path)?;
                }
                if let Some(results) = &sql.results {
                    self.must_be_free("saves results to", results)?;
                }
                for path in sql.changes() {
                    self.is(State::Present, path, action);
                }
            }
            Operation::Pipeline { .. } => {}
        }
        Ok(())
    }

    fn must_be_there(&self, does: &str, path: &RelPath) -> Result<(), String> {
        match self.known.get(path.as_str()) {
            Some((State::Absent, by)) => Err(format!(
                "{does} `{path}`, which is no longer there: {} {} it before",
                by.id,
                match by.operation {
                    Operation::Rename { .. } => "renames",
                    _ => "deletes",
                }
            )),
            Some((State::Present, _)) => Ok(()),
            None => self.must_fit(does, path),
        }
    }

    fn must_be_free(&self, does: &str, path: &RelPath) -> Result<(), String> {
        match self.known.get(path.as_str()) {
            Some((State::Present, by)) => Err(format!(
                "{does} `{path}`, which is there already: {} {} it before",
                by.id,
                match by.operation {
                    Operation::Create { .. } | Operation::Link { .. } => "creates",
                    Operation::Rename { .. } => "renames a file to",
                    _ => "changes",
                }
            )),
            _ => self.must_fit(does, path),
        }
    }

    /// A path cannot be a file and also a directory.
    fn must_fit(&self, does: &str, path: &RelPath) -> Result<(), String> {
        let below = self.below.get(path.as_str());
        if below.is_some_and(|files| *files > 0) {
            return Err(format!(
                "{does} `{path}`, which is a directory for the actions before it"
            ));
        }
        let file = path
            .directories()
            .find_map(|dir| Some((dir, self.known.get(dir)?)))
            .filter(|(_, (state, _))| *state == State::Present);
        match file {
            Some((dir, (_, by))) => Err(format!(
                "{does} `{path}`, but `{dir}` is a file for {}, not a directory",
                by.id
            )),
            None => Ok(()),
        }
    }

    fn is(&mut self, state: State, path: &'a RelPath, by: &'a Action) {
        let before = self.known.insert(path.as_str(), (state, by));
        self.files += usize::from(before.is_none());
        let before = before.map_or(State::Absent, |(state, _)| state);
        if before == state {
            return;
        }
        for dir in path.directories() {
            let files = self.below.entry(dir).or_default();
            *files = match state {
                State::Present => *files + 1,
                State::Absent => files.saturating_sub(1),
            };
        }
    }
}
