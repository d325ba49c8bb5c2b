//! The quality checks of the file and of the result document (000 §Step 7), and the check of an answer against the
//! tool's own output schema (R-000-84, R-000-102).
//!
//! If a step makes no asset, the first three checks apply to its result document (C-07).

use std::borrow::Cow;

use serde_json::Value;

use crate::{
    assets::{
        StoreError,
        format::{FormatError, check_opened},
        open_regular,
        print::stat_of,
    },
    catalog::{Entry, ResultKind, Step, StepOutput, Values},
    mcp::OutputCheck,
    task::{Checks, Failure, Fault, Outcome, Stat},
};

use super::{context::Context, document::Document, result_data::fits_into_answer};

/// The names of the checks of a step, for `--dry-run`.
pub(super) fn names(step: &Step) -> Vec<String> {
    let classic = ["output_exists", "output_non_empty", "format_valid"].map(str::to_owned);
    let complete = wants_data(step).then(|| "result_complete".to_owned());
    classic.into_iter().chain(complete).collect()
}

fn wants_data(step: &Step) -> bool {
    !matches!(step.entry.result.kind, ResultKind::Asset)
}

/// Checks the staged asset and the result data of a step. Records the results in `checks`, and stops at the first check
/// that fails. Returns the state of the asset before the checks.
pub(super) fn check(
    step: &Step,
    data: Option<&Document>,
    context: &Context<'_>,
    checks: &mut Checks,
) -> Result<Option<Stat>, Failure> {
    checks.result_complete = wants_data(step).then_some(false);
    let seen = if let Some(output) = &step.output {
        Some(asset(step, output, context, checks)?)
    } else {
        // That the call succeeded is its result, so an empty answer is an empty result. It was parsed as JSON.
        (checks.output_exists, checks.output_non_empty) = (true, true);
        checks.format_valid = true;
        None
    };
    if wants_data(step) {
        complete(step, data)?;
        checks.result_complete = Some(true);
    }
    Ok(seen)
}

/// R-000-81 … R-000-83. The file is opened once, so the returned state is that of the file that was checked, whatever
/// the server does with its name.
fn asset(
    step: &Step,
    output: &StepOutput,
    context: &Context<'_>,
    checks: &mut Checks,
) -> Result<Stat, Failure> {
    let tool = &step.entry.tool;
    let wrong = |fault, what: &str| {
        let message = format!("the output {} of {tool} {what}", output.ref_id);
        Failure::new(fault, message)
    };
    let opened = open_regular(&output.staged).ok();
    let Some((file, seen)) = opened.and_then(|file| stat_of(&file).map(|seen| (file, seen))) else {
        let what = "is not there, or is no regular file that can be read";
        return Err(wrong(Fault::OutputMissing, what));
    };
    checks.output_exists = true;
    let bytes = seen.bytes;
    if bytes == 0 {
        return Err(wrong(Fault::OutputEmpty, "is empty"));
    }
    let least = step.entry.result.min_bytes;
    if bytes < least {
        let what = format!("has {bytes} bytes, fewer than the {least} it must have");
        return Err(wrong(Fault::OutputEmpty, &what));
    }
    checks.output_non_empty = true;
    let go_on = || context.go_on().is_ok();
    check_opened(file, &output.staged, output.format, &go_on).map_err(|error| {
        // Reading may have failed because of a signal or the end of the run's time.
        let stopped = context.stopped();
        stopped.unwrap_or_else(|| wrong(Fault::OutputFormat, &describe(&error)))
    })?;
    checks.format_valid = true;
    Ok(seen)
}

/// What is wrong with the file, without its path in the scratch directory, which will be removed.
fn describe(error: &FormatError) -> String {
    match error {
        FormatError::Other {
            expected, found, ..
        } => format!("is not valid {expected}: found {found}"),
        FormatError::Broken {
            format, problem, ..
        } => format!("is corrupt or incomplete {format}: {problem}"),
        FormatError::File(StoreError::NotAFile(_)) => "is not a regular file".to_owned(),
        // Its error names the path.
        FormatError::File(StoreError::Io { error, .. }) => format!("cannot be read: {error}"),
        FormatError::File(error) => format!("cannot be read: {error}"),
    }
}

/// R-000-84: the result has all expected fields.
fn complete(step: &Step, data: Option<&Document>) -> Result<(), Failure> {
    let Some(schema) = &step.entry.result.schema else {
        return Ok(());
    };
    let incomplete = |problem: String| {
        let message = format!(
            "the result of {} is not complete: {problem}",
            step.entry.tool
        );
        Failure::new(Fault::ResultIncomplete, message)
    };
    let data = match data {
        Some(data) => data.value().map_err(incomplete)?,
        None => Cow::Owned(Value::Null),
    };
    schema.check(&data, Values::Shown, incomplete)
}

/// The message names at most this many places that do not fit.
const MISFITS: usize = 5;

/// Fails if the answer does not fit the tool's own output schema, and keeps the answer as evidence. A schema that cannot
/// be used only gives a note.
pub(super) fn fits(
    entry: &Entry,
    document: Option<&Document>,
    output: OutputCheck,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
    let tool = &entry.tool;
    let misfits = match output {
        OutputCheck::None | OutputCheck::Fits => return Ok(()),
        OutputCheck::Unusable(reason) => {
            outcome.notes.push(format!(
                "The output schema of {tool} cannot be used, so its answer was not checked against it: {reason}."
            ));
            return Ok(());
        }
        OutputCheck::Breaks(misfits) => misfits,
    };
    let kept = match document {
        None => "",
        Some(Document::Read(value)) if fits_into_answer(value) => {
            outcome.unfit_result = Some(value.clone());
            "; it is kept as `unfit_result`"
        }
        Some(_) => "; it is too large to be kept here",
    };
    let misfits: Vec<String> = misfits
        .iter()
        .take(MISFITS)
        .map(|misfit| match misfit.pointer.as_str() {
            "" => misfit.message.clone(),
            pointer => format!("{pointer}: {}", misfit.message),
        })
        .collect();
    let message = format!(
        "the result of {tool} does not fit the tool's own output schema: {}{kept}. Report it to the server's author; with \
         `output_schema = \"ignore\"` in [capability.{}], oneact accepts such results",
        misfits.join("; "),
        entry.id
    );
    Err(Failure::new(Fault::ResultInvalid, message))
}
