//! What an improvised action did, as a workflow is made of it (R-003-09).

use serde_json::{Map, Value};

use crate::{
    catalog::{Performed, Said, Trace},
    envelope::read_response,
    ledger::{Improvisation, Made, Reading, Row},
};

use super::OpenError;

/// The successful calls of an improvised action, in their order; or why they are not known.
pub(crate) fn trace(reading: &mut Reading, operation: &str) -> Result<Trace, OpenError> {
    let Improvisation { row, link, calls } = reading.improvised(operation)?;
    let calls = match calls {
        None => declared(&row),
        Some(rows) => {
            let each = (1..).zip(&rows).map(|(number, row)| call(number, row));
            each.collect()
        }
    };
    let calls = calls.ok_or_else(|| OpenError::Forgotten(row.operation_id.clone()))?;
    Ok(Trace {
        operation: row.operation_id,
        link: link.seq,
        entry_hash: link.entry_hash,
        calls,
    })
}

/// A call under a grant. None if its request was pruned.
fn call(number: usize, row: &Row) -> Option<Performed> {
    let request = request(row)?;
    let made = row.made().into_iter().find(Made::is_asset);
    let response = row.response.as_deref().and_then(read_response);
    Some(Performed {
        id: format!("step_{number}"),
        entry: row.action_type.clone()?,
        parameters: object(request.get("args")?)?,
        said: Said::Values,
        inputs: inputs(&request),
        asset: made.map(|made| made.storage_uri),
        result: response.and_then(|response| response.result_data),
    })
}

/// The declared steps. They contain their references already.
fn declared(row: &Row) -> Option<Vec<Performed>> {
    let request = request(row)?;
    let steps = request.pointer("/args/steps")?.as_array()?.iter();
    let step = |step: &Value| {
        let text = |key: &str| step.get(key)?.as_str().map(ToOwned::to_owned);
        Some(Performed {
            id: text("id")?,
            entry: text("name")?,
            parameters: object(step.get("parameters")?)?,
            said: Said::References,
            inputs: inputs(&request),
            asset: None,
            result: None,
        })
    };
    steps.map(step).collect()
}

fn request(row: &Row) -> Option<Value> {
    serde_json::from_str(row.request.as_deref()?).ok()
}

fn object(value: &Value) -> Option<Map<String, Value>> {
    value.as_object().cloned()
}

fn inputs(request: &Value) -> Vec<(String, String)> {
    let inputs = request.pointer("/context/inputs").and_then(Value::as_array);
    let text = |input: &Value, key: &str| input.get(key)?.as_str().map(ToOwned::to_owned);
    let input = |input: &Value| Some((text(input, "ref_id")?, text(input, "storage_uri")?));
    inputs.into_iter().flatten().filter_map(input).collect()
}
