//! A plan made from a diff: of git, of other tools as far as they write unified diffs, or the `*** Begin Patch` text of
//! coding agents. What a plan cannot express is named before anything is changed, all of it at once.

use std::collections::HashMap;

use camino::Utf8Path;
use serde_json::{Map, Value, json};

use crate::{
    edit::{
        DiffError, Index,
        diff::{After, Before, DiffRules, FileDiff, Mode, read},
    },
    task::{Bounds, Failure, Fault, RelPath},
};

use super::{engine::hash, files::Root, limits::Limits, protected::Kept};

/// The most problems that a message names.
const TOLD: usize = 20;

/// The plan that makes the changes of the diff. Nothing is changed, and only the source of a copied file is read.
pub(crate) fn from_diff(diff: &[u8], rules: DiffRules, root: &Utf8Path) -> Result<Value, Failure> {
    let text = std::str::from_utf8(diff).map_err(|error| {
        let before = diff.get(..error.valid_up_to()).unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        let message =
            format!("the diff is not UTF-8 in line {line}; a plan changes texts that are UTF-8");
        Failure::new(Fault::NotText, message)
    })?;
    let (files, mut problems) = read(text, rules.counts);
    let mut actions = Actions::default();
    for file in &files {
        if let Err(problem) = actions.add(file, rules, root) {
            let line = file.line;
            problems.push(DiffError { line, problem });
        }
    }
    problems.sort_by_key(|problem| problem.line);
    if !problems.is_empty() {
        return Err(refused(&problems));
    }
    actions.order();
    let id = hash(diff);
    let count = files.len();
    let counted = if count == 1 {
        "1 file"
    } else {
        &format!("{count} files")
    };
    Ok(json!({
        "plan_id": format!("diff-{}", id.get(..12).unwrap_or_default()),
        "made_from": "diff",
        "task_summary": format!("Changes of {counted}, made from a diff"),
        // So that the report names every file that the diff does not fit.
        "execution_instructions": {"stop_on_error": false},
        "action_plan": actions.done.into_iter().map(|action| Value::Object(action.fields)).collect::<Vec<_>>(),
    }))
}

fn refused(problems: &[DiffError]) -> Failure {
    let told: Vec<String> = problems
        .iter()
        .take(TOLD)
        .map(ToString::to_string)
        .collect();
    let more = match problems.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let message = format!("no plan can be made of the diff: {}{more}", told.join("; "));
    Failure::new(Fault::PlanInvalid, message)
}

/// The actions of the plan so far.
#[derive(Default)]
struct Actions {
    done: Vec<Action>,
    /// The action that changed the content or the mode of the file at a path last.
    changed: HashMap<String, usize>,
    /// The action that put a file at a path.
    made: HashMap<String, usize>,
}

struct Action {
    fields: Map<String, Value>,
    frees: Frees,
    after: Vec<usize>,
}

/// What an action has to do with the path of another file.
#[derive(Default)]
struct Frees {
    /// The path that nothing may have when the action is performed.
    needs: Option<String>,
    /// The path at which nothing is afterwards.
    leaves: Option<String>,
}

impl Actions {
    fn add(&mut self, file: &FileDiff, rules: DiffRules, root: &Utf8Path) -> Result<(), String> {
        if rules.index == Index::Required && file.index.is_none() && !file.hunks.is_empty() {
            return Err("this file has no `index` line, so its hash cannot be checked".to_owned());
        }
        match (&file.before, &file.after) {
            (Before::Nothing, After::At(path)) => {
                let content = file.content()?;
                if file.modes.1 == Some(Mode::Link) {
                    let to = content.trim_end_matches('\n');
                    self.create(path, json!({"type": "symlink", "to": to}));
                } else {
                    self.write(path, &content, file.modes.1);
                }
            }
            (Before::Copied(from), After::At(path)) => {
                let (content, mode) = copied(from, file, rules, root)?;
                self.write(path, &content, file.modes.1.or(mode));
            }
            (Before::At(path), After::Nothing) => {
                let operation = with_diff(file, "delete", rules);
                let frees = Frees {
                    leaves: Some(path.clone()),
                    ..Frees::default()
                };
                self.push("FILE_DELETE", path, operation, frees);
            }
            (Before::At(from), After::At(to)) => {
                if from != to {
                    let operation = json!({"type": "rename", "new_path": to});
                    let frees = Frees {
                        needs: Some(to.clone()),
                        leaves: Some(from.clone()),
                    };
                    let id = self.push("FILE_RENAME", from, operation, frees);
                    self.made.insert(to.clone(), id);
                }
                if !file.hunks.is_empty() {
                    let operation = with_diff(file, "patch", rules);
                    self.push("FILE_MODIFY", to, operation, Frees::default());
                }
                if let (Some(before), Some(after)) = file.modes
                    && before != after
                {
                    let mode = if after == Mode::Executable {
                        "+x"
                    } else {
                        "-x"
                    };
                    let operation = json!({"type": "set_mode", "mode": mode});
                    self.push("FILE_MODIFY", to, operation, Frees::default());
                }
            }
            (Before::Nothing | Before::Copied(_), After::Nothing) => {
                return Err("the diff names no file here".to_owned());
            }
        }
        Ok(())
    }

    fn write(&mut self, path: &str, content: &str, mode: Option<Mode>) {
        let mut operation = json!({"type": "create", "content": content});
        if let (Some(Mode::Executable), Some(fields)) = (mode, operation.as_object_mut()) {
            fields.insert("mode".to_owned(), json!("0755"));
        }
        self.create(path, operation);
    }

    fn create(&mut self, path: &str, operation: Value) {
        let frees = Frees {
            needs: Some(path.to_owned()),
            ..Frees::default()
        };
        self.push("FILE_CREATE", path, operation, frees);
    }

    /// Adds an action, and returns its place. A file is moved or deleted after its other changes, and changed after it was
    /// put there.
    fn push(&mut self, kind: &str, target: &str, operation: Value, frees: Frees) -> usize {
        let id = self.done.len();
        let changed = self.changed.get(target).copied();
        let after = match kind {
            "FILE_MODIFY" => {
                self.changed.insert(target.to_owned(), id);
                changed.or(self.made.get(target).copied())
            }
            "FILE_CREATE" => {
                self.made.insert(target.to_owned(), id);
                None
            }
            _ => changed,
        };
        let fields = [
            ("action_id", json!(name(id))),
            ("action_type", json!(kind)),
            ("target", json!(target)),
            ("operation", operation),
        ];
        let fields = fields.into_iter();
        self.done.push(Action {
            fields: fields.map(|(key, value)| (key.to_owned(), value)).collect(),
            frees,
            after: after.into_iter().collect(),
        });
        id
    }

    /// A file that takes a path comes after what makes it free.
    fn order(&mut self) {
        let all = self.done.iter().enumerate();
        let freed: HashMap<String, usize> = all
            .filter_map(|(id, action)| Some((action.frees.leaves.clone()?, id)))
            .collect();
        for (id, action) in self.done.iter_mut().enumerate() {
            let needs = action.frees.needs.as_ref();
            let waits = needs.and_then(|path| freed.get(path));
            action.after.extend(waits.filter(|other| **other != id));
            action.after.sort_unstable();
            action.after.dedup();
            if !action.after.is_empty() {
                let ids: Vec<String> = action.after.iter().map(|id| name(*id)).collect();
                action.fields.insert("depends_on".to_owned(), json!(ids));
            }
        }
    }
}

/// An operation of that type with the diff.
fn with_diff(file: &FileDiff, kind: &str, rules: DiffRules) -> Value {
    let mut operation = Map::from_iter([("type".to_owned(), Value::from(kind))]);
    if let Some(diff) = file.diff() {
        operation.insert("diff".to_owned(), Value::from(diff));
        let recount = file.hunks.iter().any(|hunk| hunk.recounted.is_some());
        let flags = [
            ("recount", recount),
            ("require_index", rules.index == Index::Required),
        ];
        let set = flags.into_iter().filter(|(_, is_set)| *is_set);
        operation.extend(set.map(|(key, _)| (key.to_owned(), Value::Bool(true))));
    }
    Value::Object(operation)
}

fn name(id: usize) -> String {
    format!("a{:03}", id + 1)
}

/// The content of a copy: that of its source, with the hunks of the diff.
fn copied(
    from: &str,
    file: &FileDiff,
    rules: DiffRules,
    root: &Utf8Path,
) -> Result<(String, Option<Mode>), String> {
    let told = |error: &dyn std::fmt::Display| format!("the source of the copy, `{from}`: {error}");
    let source = RelPath::parse(from).map_err(|error| told(&error))?;
    let limits = Limits::of(&Bounds::default(), &Kept::default(), None, &mut Vec::new());
    limits
        .and_then(|limits| limits.admits(&source))
        .map_err(|failure| told(&failure.message))?;
    let read = Root::open(root).and_then(|root| {
        let dir = root.parent(&source)?;
        dir.read_open(source.name(), Bounds::MAX_FILE_BYTES)
    });
    let (bytes, facts, _) = read.map_err(|error| told(&error))?;
    let mode = if facts.mode & 0o100 == 0 {
        Mode::Plain
    } else {
        Mode::Executable
    };
    let content = file
        .applied(&source, &bytes, rules)
        .map_err(|error| told(&error))?;
    Ok((content, Some(mode)))
}

#[cfg(test)]
mod tests;
