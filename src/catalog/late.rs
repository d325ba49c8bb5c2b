//! Puts what earlier steps made into the parameters of a step, just before it is performed.

use camino::Utf8Path;
use serde_json::{Map, Value};

use crate::task::{BLOB, Failure, Fault, Uri, each_text, was_redacted};

use super::{
    bind::Form,
    fill::{for_others, put},
    job::{Step, Supply, What},
    resolve::check,
};

/// Completes the parameters of a step, and checks them then.
pub(crate) fn supply(step: &mut Step, made: &[Supply], root: &Utf8Path) -> Result<(), Failure> {
    for late in std::mem::take(&mut step.late) {
        let made = made.get(late.from);
        let found = match &late.what {
            What::Asset(form) => asset(made.and_then(|made| made.asset.as_deref()), *form, root),
            What::Data(pointer) => data(made.and_then(|made| made.data.as_ref()), pointer),
        };
        let (asked, value) = found.map_err(|why| {
            let (id, text) = (&step.entry.id, &late.text);
            let message = format!("{id} cannot get {text}: {why}");
            // Another attempt gets the same results.
            Failure {
                recoverable: false,
                ..Failure::new(Fault::ResultIncomplete, message)
            }
        })?;
        put(&mut step.asked, &late.to, Some(asked));
        put(&mut step.parameters, &late.to, Some(value));
    }
    let parameters = std::mem::take(&mut step.parameters);
    step.parameters = check(&step.entry, parameters, &[])?;
    Ok(())
}

/// The parameters of a step that is not performed, with references in the places of what earlier steps would give.
pub(crate) fn foreseen(step: &Step, mut parameters: Map<String, Value>) -> Map<String, Value> {
    for late in &step.late {
        if matches!(late.what, What::Data(_)) {
            put(&mut parameters, &late.to, Some(late.text.as_str().into()));
        }
    }
    parameters
}

/// The parameters that identify the request of a step, with all references in the places of what they stand for.
pub(crate) fn referring(step: &Step) -> Map<String, Value> {
    let mut asked = step.asked.clone();
    for late in &step.late {
        put(&mut asked, &late.to, Some(late.text.as_str().into()));
    }
    asked
}

/// The stored asset of a step: its URI for the request, and the form that the tool takes.
fn asset(uri: Option<&str>, form: Form, root: &Utf8Path) -> Result<(Value, Value), String> {
    let uri = uri.ok_or("the step made no asset")?;
    let value = match form {
        Form::Uri => for_others(uri),
        Form::Path => {
            let path = Uri::parse(uri).ok().and_then(|uri| uri.local_path(root));
            let path = path.ok_or_else(|| format!("the asset {uri} is not on this machine"))?;
            path.into_string()
        }
    };
    Ok((uri.into(), value.into()))
}

/// A part of the result of a step.
fn data(data: Option<&Value>, pointer: &str) -> Result<(Value, Value), String> {
    let data = data.ok_or("the step has no result")?;
    if data.get(BLOB).is_some() {
        return Err(
            "the result is too large for an answer, and only its file is stored".to_owned(),
        );
    }
    let value = data
        .pointer(pointer)
        .ok_or_else(|| format!("the result has no `{pointer}`"))?;
    // The ledger does not keep signatures of links, and secrets are redacted.
    let mut cut = false;
    each_text(&mut value.clone(), &mut |text| cut |= was_redacted(text));
    if cut {
        return Err("a link or a secret in it was redacted".to_owned());
    }
    Ok((value.clone(), value.clone()))
}
