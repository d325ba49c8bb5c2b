//! The quality checks, made on what is there and not on what was said (000 §Step 7); and whether an answer
//! is what the tool itself says that its answers are (R-000-84, R-000-102).
//!
//! Where a task makes no asset, the three classic checks speak of its result document (C-07).

use std::{borrow::Cow, fs};

use serde_json::Value;

use crate::{
    assets::{
        format::{self, FormatError},
        print::stat_at,
    },
    catalog::{Entry, Misfit, ResultKind, Step, StepOutput, Values},
    mcp::OutputCheck,
    task::{Checks, Failure, Fault, Stat},
};

use super::document::{Document, INLINE_MAX};

/// What was observed, and the first check that failed.
pub(super) struct Checked {
    pub(super) checks: Checks,
    pub(super) result: Result<(), Failure>,
    /// The asset as it was before the checks.
    pub(super) seen: Option<Stat>,
    /// For `audit.reasoning`.
    pub(super) sentence: String,
}

/// The names of the checks a step will get, for `--dry-run`.
pub(super) fn names(step: &Step) -> Vec<String> {
    let classic = ["output_exists", "output_non_empty", "format_valid"].map(str::to_owned);
    let complete = !matches!(step.entry.result.kind, ResultKind::Asset);
    classic
        .into_iter()
        .chain(complete.then(|| "result_complete".to_owned()))
        .collect()
}

/// Checks the staged asset and the result data of a step.
pub(super) fn check(step: &Step, data: Option<&Document>) -> Checked {
    let mut checks = Checks::default();
    let seen = step
        .output
        .as_ref()
        .and_then(|output| stat_at(&output.staged));
    let result = observe(step, data, &mut checks);
    let sentence = match &step.output {
        Some(output) => format!(
            "Verified output file exists, is non-empty and is valid {}.",
            output.format
        ),
        None => "Verified the result is present and complete.".to_owned(),
    };
    Checked {
        checks,
        result,
        seen,
        sentence,
    }
}

fn observe(step: &Step, data: Option<&Document>, checks: &mut Checks) -> Result<(), Failure> {
    let wants_data = !matches!(step.entry.result.kind, ResultKind::Asset);
    if wants_data {
        checks.result_complete = Some(false);
    }
    match &step.output {
        Some(output) => asset(step, output, checks)?,
        None => document(step, data, checks)?,
    }
    if wants_data {
        complete(step, data)?;
        checks.result_complete = Some(true);
    }
    Ok(())
}

/// R-000-81 … R-000-83.
fn asset(step: &Step, output: &StepOutput, checks: &mut Checks) -> Result<(), Failure> {
    let tool = &step.entry.tool;
    let wrong = |fault, what: String| {
        Failure::new(
            fault,
            format!("the output {} of {tool} {what}", output.ref_id),
        )
    };
    let found = fs::symlink_metadata(&output.staged)
        .ok()
        .filter(fs::Metadata::is_file);
    let found = found.ok_or_else(|| {
        wrong(
            Fault::OutputMissing,
            "is not there, or is no regular file".to_owned(),
        )
    })?;
    checks.output_exists = true;
    if found.len() == 0 {
        return Err(wrong(Fault::OutputEmpty, "is empty".to_owned()));
    }
    if found.len() < step.entry.result.min_bytes {
        let least = step.entry.result.min_bytes;
        return Err(wrong(
            Fault::OutputEmpty,
            format!(
                "has {} bytes, fewer than the {least} it must have",
                found.len()
            ),
        ));
    }
    checks.output_non_empty = true;
    format::check(&output.staged, output.format)
        .map_err(|error| wrong(Fault::OutputFormat, describe(&error)))?;
    checks.format_valid = true;
    Ok(())
}

/// What is wrong with the file, without the name of its scratch place, which nobody will find.
fn describe(error: &FormatError) -> String {
    match error {
        FormatError::Other {
            expected, found, ..
        } => format!("is not valid {expected}: found {found}"),
        FormatError::Broken {
            format, problem, ..
        } => format!("is corrupt or incomplete {format}: {problem}"),
        FormatError::NotAFile { .. } => "is not a regular file".to_owned(),
        FormatError::Io { error, .. } => format!("cannot be read: {error}"),
    }
}

/// The same three for a result without an asset (C-07).
fn document(step: &Step, data: Option<&Document>, checks: &mut Checks) -> Result<(), Failure> {
    let tool = &step.entry.tool;
    let missing = || {
        Failure::new(
            Fault::OutputMissing,
            format!("{tool} reported success, but its answer holds no result"),
        )
    };
    let data = data.ok_or_else(missing)?;
    checks.output_exists = true;
    if data.is_empty() {
        return Err(Failure::new(
            Fault::OutputEmpty,
            format!("the result of {tool} is empty"),
        ));
    }
    checks.output_non_empty = true;
    // It was parsed as JSON to get here; what its shape must be is `result_complete`.
    checks.format_valid = true;
    Ok(())
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
    schema
        .check(&data, Values::Shown)
        .map_err(|misfit| match misfit {
            Misfit::Schema(problem) => Failure::new(Fault::CatalogInvalid, problem),
            Misfit::Value(problems) => incomplete(problems),
        })
}

/// At most this many places that do not fit are named.
const MISFITS: usize = 5;

/// Whether an answer fits the tool's own output schema.
pub(super) struct Fits {
    pub(super) result: Result<(), Failure>,
    /// For `audit.compliance_notes`.
    pub(super) note: Option<String>,
    /// The answer that does not fit, for whoever has to find out why.
    pub(super) unfit_result: Option<Value>,
}

/// Fails an answer that breaks the tool's own output schema. A schema that cannot be used is no fault of
/// the answer.
pub(super) fn fits(entry: &Entry, document: Option<&Document>, output: OutputCheck) -> Fits {
    let tool = &entry.tool;
    let mut fits = Fits {
        result: Ok(()),
        note: None,
        unfit_result: None,
    };
    let misfits = match output {
        OutputCheck::None | OutputCheck::Fits => return fits,
        OutputCheck::Unusable(reason) => {
            fits.note = Some(format!(
                "The output schema of {tool} cannot be used, so its answer was not checked against it: {reason}."
            ));
            return fits;
        }
        OutputCheck::Breaks(misfits) => misfits,
    };
    let kept = match document.map(|document| (document, document.to_string().len())) {
        None => String::new(),
        Some((Document::Read(value), ..=INLINE_MAX)) => {
            fits.unfit_result = Some(value.clone());
            "; it is kept as `unfit_result`".to_owned()
        }
        Some((_, bytes)) => format!("; with {bytes} bytes it is too large to be kept here"),
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
        "the result of {tool} breaks the output schema that the tool itself publishes: {}{kept}. Report it to the \
         server's author; `output_schema = \"ignore\"` in [capability.{}] takes such results",
        misfits.join("; "),
        entry.id
    );
    fits.result = Err(Failure::new(Fault::ResultInvalid, message));
    fits
}
