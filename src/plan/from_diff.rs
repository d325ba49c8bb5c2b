//! A plan made from a diff: of git, of other tools as far as they write unified diffs, or the `*** Begin Patch` text of
//! coding agents. What a plan cannot express is named before anything is changed, all of it at once.

use std::collections::{BTreeSet, HashMap};

use camino::Utf8Path;
use serde_json::{Value, json};

use crate::{
    edit::{
        DiffError, DiffRules, Patch,
        diff::{FileChange, FileDiff, Mode, read},
        patched,
    },
    task::{ActionType, Bounds, Failure, Fault, RelPath, few},
};

use super::{hash::hash, limits::Limits, protected::Kept};
use crate::tree::Root;

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
    let (files, mut problems) = read(text, rules);
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
        let told = few(&problems, TOLD, "; ");
        let message = format!("no plan can be made of the diff: {told}");
        return Err(Failure::new(Fault::PlanInvalid, message));
    }
    let id = hash(diff);
    let counted = match files.len() {
        1 => "1 file",
        count => &format!("{count} files"),
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

/// The type of an action, its target and its operation.
type Action<'d> = (ActionType, &'d str, Value);

/// The actions that make the changes of a file.
fn actions_of<'d>(
    file: &'d FileDiff,
    rules: DiffRules,
    root: &Utf8Path,
) -> Result<Vec<Action<'d>>, String> {
    let has_index = |text: &String| text.starts_with("index ");
    let is_unproven = !file.hunks.is_empty() && !file.text.as_ref().is_some_and(has_index);
    if rules.require_index && is_unproven {
        return Err("this file has no `index` line, so its hash cannot be checked".to_owned());
    }
    let [old_mode, new_mode] = file.modes;
    Ok(match &file.change {
        FileChange::Created(path) => {
            let content = file.content()?;
            let operation = match new_mode {
                Some(Mode::Link) => {
                    json!({"type": "symlink", "to": content.trim_end_matches('\n')})
                }
                mode => creation(&content, mode),
            };
            vec![(ActionType::FileCreate, path, operation)]
        }
        FileChange::Copied(from, path) => {
            let (content, mode) = copied(from, file, rules, root)?;
            let operation = creation(&content, new_mode.or(mode));
            vec![(ActionType::FileCreate, path, operation)]
        }
        FileChange::Deleted(path) => {
            let operation = with_diff(file, "delete", rules);
            vec![(ActionType::FileDelete, path, operation)]
        }
        FileChange::Edited(from, to) => {
            let rename = (from != to).then(|| {
                let operation = json!({"type": "rename", "new_path": to});
                (ActionType::FileRename, from.as_str(), operation)
            });
            let patch = (!file.hunks.is_empty()).then(|| with_diff(file, "patch", rules));
            let mode = match (old_mode, new_mode) {
                (Some(old), Some(Mode::Executable)) if old != Mode::Executable => Some("+x"),
                (Some(old), Some(new)) if old != new => Some("-x"),
                _ => None,
            };
            let mode = mode.map(|mode| json!({"type": "set_mode", "mode": mode}));
            let changes = [patch, mode].into_iter().flatten();
            let changes = changes.map(|change| (ActionType::FileModify, to.as_str(), change));
            rename.into_iter().chain(changes).collect()
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
    let leaving = all().filter(|(_, (kind, ..))| matches!(kind, FileDelete | FileRename));
    let freed: HashMap<&str, usize> = leaving.map(|(id, (_, target, _))| (*target, id)).collect();
    // The action that changed the file at a path last, and the one that put it there.
    let (mut changed, mut made) = (HashMap::new(), HashMap::new());
    let written = all().map(|(id, (kind, target, operation))| {
        let target = *target;
        let new_path = operation.get("new_path").and_then(Value::as_str);
        let takes = new_path.or((*kind == FileCreate).then_some(target));
        let earlier = match kind {
            FileCreate => None,
            FileModify => changed.insert(target, id).or(made.get(target).copied()),
            _ => changed.get(target).copied(),
        };
        let frees = takes.and_then(|path| freed.get(path).copied());
        made.extend(takes.map(|path| (path, id)));
        let after: BTreeSet<usize> = earlier.into_iter().chain(frees).collect();
        let after = after.into_iter().filter(|other| *other != id).map(name);
        let after: Vec<String> = after.collect();
        let fields = [
            Some(("action_id", json!(name(id)))),
            Some(("action_type", json!(kind))),
            Some(("target", json!(target))),
            Some(("operation", operation.clone())),
            (!after.is_empty()).then(|| ("depends_on", json!(after))),
        ];
        fields.into_iter().flatten().collect()
    });
    written.collect()
}

/// An operation of that type with the diff.
fn with_diff(file: &FileDiff, kind: &str, rules: DiffRules) -> Value {
    let recount = file.hunks.iter().any(|hunk| hunk.recounted.is_some());
    let require_index = rules.require_index && file.text.is_some();
    let fields = [
        Some(("type", json!(kind))),
        file.text.as_ref().map(|diff| ("diff", json!(diff))),
        recount.then(|| ("recount", json!(true))),
        require_index.then(|| ("require_index", json!(true))),
    ];
    fields.into_iter().flatten().collect()
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
    let diff = file.text.as_deref().unwrap_or_default();
    // git writes no `index` line for a copy without hunks.
    let require_index = rules.require_index && !file.hunks.is_empty();
    let rules = DiffRules {
        require_index,
        ..rules
    };
    let patch = Patch::parse(diff, &source, rules);
    let edited = patched(&patch.map_err(|error| told(&error))?, &bytes, &|| None);
    let content = String::from_utf8(edited.map_err(|error| told(&error))?.bytes);
    Ok((content.map_err(|error| told(&error))?, Some(mode)))
}

#[cfg(test)]
mod tests;
