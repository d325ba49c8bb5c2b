//! Finds actions that contradict each other: a file created twice, a file changed after it was deleted, a file
//! where another action needs a directory. Only the plan is examined here; `check` examines the tree.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use crate::{
    plan::model::{Action, Operation},
    task::{Fault, RelPath},
};

use super::{action, findings::Findings};

/// What a plan touches.
pub(super) struct Extent {
    /// A file that is renamed counts once.
    pub(super) files: usize,
    /// The bytes of the paths of all directories that contain them.
    pub(super) directories: usize,
}

/// Reports the contradictions, and returns what the plan touches.
pub(super) fn check(actions: &[Action], order: &[usize], findings: Findings<'_>) -> Extent {
    let mut tree = Tree::default();
    for (at, action) in order.iter().filter_map(|at| Some((at, actions.get(*at)?))) {
        if let Err(problem) = tree.take(action) {
            let message = format!("`{}` ({}) {problem}", action::place(*at), action.id);
            findings.about(*at).problem(Fault::PlanConflict, message);
        }
    }
    Extent {
        files: tree.files,
        directories: tree.directories.iter().map(|dir| dir.len()).sum(),
    }
}

/// The tree according to the actions so far.
#[derive(Debug, Default)]
struct Tree<'a> {
    /// The state of a path, and the action that made it so.
    known: BTreeMap<&'a str, (State, &'a Action)>,
    /// Those with a file in them, now or before.
    directories: BTreeSet<&'a str>,
    files: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Present,
    Absent,
}

use State::{Absent, Present};

impl<'a> Tree<'a> {
    fn take(&mut self, action: &'a Action) -> Result<(), String> {
        let target = &action.target;
        match &action.operation {
            Operation::Create { .. } | Operation::Link { .. } => {
                self.must_be(Absent, "creates", target)?;
                self.is(Present, target, action);
            }
            Operation::Modify(_) | Operation::SetMode(_) | Operation::SchemaUpdate(_) => {
                self.must_be(Present, "changes", target)?;
                self.is(Present, target, action);
            }
            Operation::Delete { .. } => {
                self.must_be(Present, "deletes", target)?;
                self.is(Absent, target, action);
            }
            Operation::Rename { to } => {
                self.must_be(Present, "renames", target)?;
                self.must_be(Absent, "renames a file to", to)?;
                self.is(Absent, target, action);
                let files = self.files;
                self.is(Present, to, action);
                self.files = files;
            }
            Operation::Sql(sql) => {
                for path in [target].into_iter().chain(sql.inputs()) {
                    self.must_be(Present, "reads", path)?;
                }
                if let Some(results) = &sql.results {
                    self.must_be(Absent, "saves results to", results)?;
                }
                for path in sql.changes() {
                    self.is(Present, path, action);
                }
            }
            Operation::Pipeline { .. } => {}
        }
        Ok(())
    }

    /// Whether a path is as an action needs it, as far as the plan says.
    fn must_be(&self, needed: State, does: &str, path: &RelPath) -> Result<(), String> {
        let (what, by, did) = match self.known.get(path.as_str()) {
            Some((Absent, by)) if needed == Present => {
                let did = match by.operation {
                    Operation::Rename { .. } => "renames",
                    _ => "deletes",
                };
                ("no longer there", by, did)
            }
            Some((Present, by)) if needed == Absent => {
                let did = match by.operation {
                    Operation::Create { .. } | Operation::Link { .. } => "creates",
                    Operation::Rename { .. } => "renames a file to",
                    _ => "changes",
                };
                ("there already", by, did)
            }
            _ => return self.must_fit(does, path),
        };
        let id = &by.id;
        Err(format!(
            "{does} `{path}`, which is {what}: {id} {did} it before"
        ))
    }

    /// A path cannot be a file and also a directory.
    fn must_fit(&self, does: &str, path: &RelPath) -> Result<(), String> {
        let inside = format!("{path}/");
        let after = (Bound::Excluded(inside.as_str()), Bound::Unbounded);
        let below = self.known.range::<str, _>(after);
        let mut below = below.take_while(|(known, _)| known.starts_with(&inside));
        if below.any(|(_, (state, _))| *state == Present) {
            return Err(format!(
                "{does} `{path}`, which is a directory for the actions before it"
            ));
        }
        let file = path
            .directories()
            .find_map(|dir| Some((dir, self.known.get(dir)?)))
            .filter(|(_, (state, _))| *state == Present);
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
        if state == Present {
            self.directories.extend(path.directories());
        }
    }
}
