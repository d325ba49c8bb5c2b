//! Checks after the changes that the files are as planned and that the plan's rules hold (001 §5.1, phase 6).

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::{
    edit::{self, EditError, Language},
    plan::{
        change::{Change, ChangeKind},
        engine::{is_result, same_content},
        hash::hash,
        model::{ActionId, Broken, Condition, FileRule, Hashes, Plan},
    },
    task::{Failure, Fault, RelPath},
    tree::{Root, View},
};

/// How often a running schema check asks whether the plan has to stop.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Actions with a rule that does not hold (`on_failure: error`).
    pub(super) failed: Vec<(ActionId, Failure)>,
    /// The first action with a rule that undoes the plan (`on_failure: rollback`).
    pub(super) fatal: Option<(ActionId, Failure)>,
    pub(super) warnings: Vec<String>,
}

/// Checks every changed file and every rule of the actions that are `completed`.
pub(super) fn verify(
    plan: &Plan,
    root: &Root,
    changes: &[Change],
    completed: &dyn Fn(&ActionId) -> bool,
    stopped: &dyn Fn() -> Option<Failure>,
) -> Result<Findings, Failure> {
    if plan.instructions.hashes == Hashes::Verify {
        let view = View::of(root);
        for change in changes {
            heed(stopped)?;
            as_made(&view, change)?;
        }
    }
    let mut findings = Findings::default();
    let most = plan.limits.max_file_bytes;
    let actions = plan.actions.iter().filter(|it| completed(&it.id));
    for (action, rule) in actions.flat_map(|it| it.rules.iter().map(move |rule| (it, rule))) {
        heed(stopped)?;
        let Err(why) = holds(root, rule, most, stopped)? else {
            continue;
        };
        let path = &rule.target;
        let message = format!("the validation rule for `{path}` does not hold: {why}");
        let failed = (action.id.clone(), Failure::new(Fault::RuleFailed, &message));
        match rule.on_failure {
            Broken::Warn => findings.warnings.push(message),
            Broken::Error => findings.failed.push(failed),
            Broken::RollBack => findings.fatal = findings.fatal.or(Some(failed)),
        }
    }
    Ok(findings)
}

/// The failure that stops the plan, if there is one.
fn heed(stopped: &dyn Fn() -> Option<Failure>) -> Result<(), Failure> {
    stopped().map_or(Ok(()), Err)
}

/// R-001-82: the file has exactly the content that was staged. It is read only where its facts differ.
fn as_made(view: &View<'_>, change: &Change) -> Result<(), Failure> {
    let changed = || {
        let message = format!(
            "`{}` was changed by somebody else right after the plan changed it",
            change.path
        );
        Failure::new(Fault::HashMismatch, message)
    };
    let path = change.result_path();
    let is_as_made = match (&change.after, &change.kind) {
        (_, ChangeKind::MakeDir | ChangeKind::RemoveDir) => true,
        (None, _) => view.look(path)?.is_none(),
        (Some(after), kind) => {
            let dir = view.parent(path)?;
            let facts = dir.look(path.name())?;
            let same = facts.is_some_and(|facts| facts.same(&after.facts));
            same || match kind {
                ChangeKind::Rename { .. } => same_content(&dir, path.name(), after)?,
                _ => is_result(&dir, path.name(), after)
                    .map_err(|_| changed())?
                    .is_some(),
            }
        }
    };
    if is_as_made { Ok(()) } else { Err(changed()) }
}

/// Whether a condition holds; if not, why.
fn holds(
    root: &Root,
    rule: &FileRule,
    most: u64,
    stopped: &dyn Fn() -> Option<Failure>,
) -> Result<Result<(), String>, Failure> {
    let path = &rule.target;
    let located = View::of(root).locate(path)?;
    // A dangling link exists, too.
    let exists = located.facts.is_some() || located.link.is_some();
    match (exists, &rule.condition) {
        (true, Condition::Absent) => Ok(Err("the file exists".to_owned())),
        (false, Condition::Absent) | (true, Condition::Exists) => Ok(Ok(())),
        (false, _) => Ok(Err("the file does not exist".to_owned())),
        (true, other) => condition(other, path, &root.read(&located.path, most)?, stopped),
    }
}

fn condition(
    condition: &Condition,
    path: &RelPath,
    bytes: &[u8],
    stopped: &dyn Fn() -> Option<Failure>,
) -> Result<Result<(), String>, Failure> {
    // A text is UTF-8, so it lies within one valid part. The search of `str` is linear.
    let contains = |text: &str| {
        let mut chunks = bytes.utf8_chunks();
        chunks.any(|chunk| chunk.valid().contains(text))
    };
    let (holds, why) = match condition {
        Condition::ValidJson => return told(edit::check(Language::Json, path, bytes, stopped)),
        Condition::ValidYaml => return told(edit::check(Language::Yaml, path, bytes, stopped)),
        Condition::Schema(schema) => return fits(schema, path, bytes, stopped),
        // That there is a file is known already.
        Condition::Exists | Condition::Absent => return Ok(Ok(())),
        Condition::Contains(text) => {
            let why = "the file does not contain the required text";
            (contains(text), why.to_owned())
        }
        Condition::Lacks(text) => {
            let why = "the file contains the forbidden text";
            (!contains(text), why.to_owned())
        }
        Condition::Sha256(wanted) => {
            let found = hash(bytes);
            (
                found == *wanted,
                format!("the SHA-256 of the file is {found}"),
            )
        }
    };
    Ok(if holds { Ok(()) } else { Err(why) })
}

/// What a reader says of a document, unless the plan has to stop.
fn told<T>(read: Result<T, EditError>) -> Result<Result<T, String>, Failure> {
    match read {
        Err(EditError::Stopped(failure)) => Err(failure),
        read => Ok(read.map_err(|error| error.to_string())),
    }
}

/// Checks a document against a schema. A small schema whose parts refer to one another can take years, so a thread
/// of its own does this. If the plan has to stop, the thread is abandoned.
fn fits(
    schema: &Value,
    path: &RelPath,
    bytes: &[u8],
    stopped: &dyn Fn() -> Option<Failure>,
) -> Result<Result<(), String>, Failure> {
    let value = match told(edit::value_of(path, bytes, stopped))? {
        Ok(value) => value,
        Err(why) => return Ok(Err(why)),
    };
    let schema = schema.clone();
    let (answer, answered) = mpsc::channel();
    // The receiver is gone if the plan had to stop.
    let check = move || drop(answer.send(judge(&schema, &value)));
    let thread = thread::Builder::new().name("schema".to_owned());
    if let Err(error) = thread.spawn(check) {
        return Ok(Err(format!(
            "no thread could be started for the check: {error}"
        )));
    }
    loop {
        match answered.recv_timeout(LOOK) {
            Ok(judged) => return Ok(judged),
            Err(RecvTimeoutError::Disconnected) => {
                return Ok(Err("the check ended with an internal error".to_owned()));
            }
            Err(RecvTimeoutError::Timeout) => heed(stopped)?,
        }
    }
}

fn judge(schema: &Value, value: &Value) -> Result<(), String> {
    let validator = jsonschema::validator_for(schema)
        .map_err(|error| format!("the schema of the rule is not valid: {error}"))?;
    if validator.is_valid(value) {
        return Ok(());
    }
    // A schema whose parts refer to one another can have more errors than fit into memory.
    if schema.to_string().contains("Ref\"") || schema.to_string().contains("\"$ref\"") {
        return Err("the file does not match the schema of the rule".to_owned());
    }
    validator
        .validate(value)
        .map_err(|error| format!("{}: {error}", error.instance_path()))
}

#[cfg(test)]
mod tests;
