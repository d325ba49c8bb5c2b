//! A plan made from a diff: of git, of other tools as far as they write unified diffs, or the `*** Begin Patch` text of
//! coding agents. What a plan cannot express is named before anything is changed, all of it at once.

use std::collections::{BTreeSet, HashMap};

use camino::Utf8Path;
use serde_json::{Map, Value, json};

use crate::{
    edit::{
        DiffError, Index,
        diff::{After, Before, DiffRules, FileDiff, Mode, read},
    },
    task::{ActionType, Bounds, Failure, Fault, RelPath},
};

use super::{files::Root, hash::hash, limits::Limits, protected::Kept};

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
    let mut actions = Vec::new();
    for file in &files {
        let line = file.line;
        match actions_of(file, rules, root) {
            Ok(more) => actions.extend(more),
            Err(problem) => problems.push(DiffError { line, problem }),
        }
    }
    problems.sort_by_key(|problem| problem.line);
    if !problems.is_empty() {
        return Err(refused(&problems));
    }
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
        "action_plan": ordered(&actions),
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

/// An action of the plan.
struct Action<'d> {
    kind: ActionType,
    target: &'d str,
    /// Where a renamed file will be.
    to: Option<&'d str>,
    operation: Value,
}

/// The actions that make the changes of a file.
fn actions_of<'d>(
    file: &'d FileDiff,
    rules: DiffRules,
    root: &Utf8Path,
) -> Result<Vec<Action<'d>>, String> {
    if rules.index == Index::Required && file.index.is_none() && !file.hunks.is_empty() {
        return Err("this file has no `index` line, so its hash cannot be checked".to_owned());
    }
    let action = |kind, target, operation| Action {
        kind,
        target,
        to: None,
        operation,
    };
    let create = |path, operation| vec![action(ActionType::FileCreate, path, operation)];
    Ok(match (&file.before, &file.after) {
        (Before::Nothing, After::At(path)) => {
            let content = file.content()?;
            let to = content.trim_end_matches('\n');
            create(
                path,
                match file.modes.1 {
                    Some(Mode::Link) => json!({"type": "symlink", "to": to}),
                    mode => creation(&content, mode),
                },
            )
        }
        (Before::Copied(from), After::At(path)) => {
            let (content, mode) = copied(from, file, rules, root)?;
            create(path, creation(&content, file.modes.1.or(mode)))
        }
        (Before::At(path), After::Nothing) => {
            let operation = with_diff(file, "delete", rules);
            vec![action(ActionType::FileDelete, path, operation)]
        }
        (Before::At(from), After::At(to)) => {
            let rename = (from != to).then(|| Action {
                to: Some(to),
                ..action(
                    ActionType::FileRename,
                    from,
                    json!({"type": "rename", "new_path": to}),
                )
            });
            let patch = (!file.hunks.is_empty()).then(|| with_diff(file, "patch", rules));
            let mode = match file.modes {
                (Some(before), Some(after)) if before != after => {
                    let sign = if after == Mode::Executable {
                        "+x"
                    } else {
                        "-x"
                    };
                    Some(json!({"type": "set_mode", "mode": sign}))
                }
                _ => None,
            };
            let changes = [patch, mode].into_iter().flatten();
            let changes = changes.map(|change| action(ActionType::FileModify, to, change));
            rename.into_iter().chain(changes).collect()
        }
        (Before::Nothing | Before::Copied(_), After::Nothing) => {
            return Err("the diff names no file here".to_owned());
        }
    })
}

fn creation(content: &str, mode: Option<Mode>) -> Value {
    match mode {
        Some(Mode::Executable) => json!({"type": "create", "content": content, "mode": "0755"}),
        _ => json!({"type": "create", "content": content}),
    }
}

/// The actions as a plan has them. A file is moved or deleted after its other changes, changed after it was put there,
/// and put at a path after what makes the path free.
fn ordered(actions: &[Action<'_>]) -> Vec<Value> {
    use ActionType::{FileCreate, FileDelete, FileModify, FileRename};
    let name = |id: usize| format!("a{:03}", id + 1);
    let all = || actions.iter().enumerate();
    let leaving = all().filter(|(_, action)| matches!(action.kind, FileDelete | FileRename));
    let freed: HashMap<&str, usize> = leaving.map(|(id, action)| (action.target, id)).collect();
    // The action that changed the file at a path last, and the one that put it there.
    let (mut changed, mut made) = (HashMap::new(), HashMap::new());
    let written = all().map(|(id, action)| {
        let target = action.target;
        let takes = match action.kind {
            FileCreate => Some(target),
            _ => action.to,
        };
        let earlier = match action.kind {
            FileCreate => None,
            FileModify => changed.insert(target, id).or(made.get(target).copied()),
            _ => changed.get(target).copied(),
        };
        let frees = takes.and_then(|path| freed.get(path).copied());
        made.extend(takes.map(|path| (path, id)));
        let after: BTreeSet<usize> = earlier.into_iter().chain(frees).collect();
        let after = after.into_iter().filter(|other| *other != id).map(name);
        let mut fields = Map::new();
        fields.insert("action_id".to_owned(), json!(name(id)));
        fields.insert("action_type".to_owned(), json!(action.kind));
        fields.insert("target".to_owned(), json!(target));
        fields.insert("operation".to_owned(), action.operation.clone());
        let after: Vec<String> = after.collect();
        if !after.is_empty() {
            fields.insert("depends_on".to_owned(), json!(after));
        }
        Value::Object(fields)
    });
    written.collect()
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
