//! Grants (R-003-06): how one is closed; and what an improvised action did, as a workflow is made of it (R-003-09).

use serde_json::Value;

use super::{
    decide::about,
    naming::{CommandError, Name, find},
    opening::OpenError,
    reading::Reading,
};
use crate::{
    approval::{GrantState, answer},
    catalog::{Performed, Said, Trace},
    envelope::read_response,
    ledger::{Event, Head, Ledger, Link, Made, Row, RowOutcome, RowState, Tx, read, sealing},
    task::IMPROVISED,
};

impl Ledger<'_> {
    /// Closes a grant, and returns it with the link that does. `operation` may be the beginning of the id.
    pub(crate) fn close(
        &mut self,
        operation: &str,
        note: Option<&str>,
    ) -> Result<(GrantState, Head), CommandError> {
        self.decide(note, |tx, person| {
            let operation = find(tx, Name::operation(operation))?.operation_id;
            let Some(grant) = GrantState::by(tx, &operation)? else {
                return Err(CommandError::NoGrant { operation });
            };
            if let Some(by) = grant.closed {
                return Err(CommandError::ClosedBefore { operation, by });
            }
            let link = about(tx, Event::Revoked, &grant.row, person, Some("closed"))?;
            tx.revoke(&grant.row.id, link.seq)?;
            Ok(((grant, link.clone()), link))
        })
    }
}

/// The improvised action of an operation that has succeeded, with the link of its answer; of a grant also the answers of
/// the calls that succeeded, in the order in which the calls began. `operation` may be the beginning of the id.
fn improvised(
    tx: &mut Tx<'_>,
    operation: &str,
) -> Result<(Row, Link, Option<Vec<Row>>), CommandError> {
    let operation = find(tx, Name::operation(operation))?.operation_id;
    let row = answer(tx, &operation)?.filter(|row| {
        row.action_type.as_deref() == Some(IMPROVISED) && row.outcome == RowOutcome::Success
    });
    let link = match &row {
        Some(row) => sealing(tx, row)?,
        None => None,
    };
    let (Some(row), Some(link)) = (row, link) else {
        return Err(CommandError::NotImprovised { operation });
    };
    let calls = match (GrantState::of(tx, &row)?, row.revoked_by) {
        (None, Some(by)) => {
            return Err(CommandError::RevokedBefore { row: operation, by });
        }
        (None, None) => None,
        (Some(grant), _) => {
            let mut calls: Vec<Row> = Vec::new();
            for operation in grant.calls {
                let row = answer(tx, &operation)?.filter(|row| row.state == Some(RowState::Done));
                let Some(row) = row.filter(|row| row.revoked_by.is_none()) else {
                    continue;
                };
                if sealing(tx, &row)?.is_none() {
                    return Err(CommandError::Unsealed { row: operation });
                }
                if calls.iter().all(|other| other.id != row.id) {
                    calls.push(row);
                }
            }
            Some(calls)
        }
    };
    Ok((row, link, calls))
}

/// The successful calls of an improvised action, in their order; or why they are not known.
pub(crate) fn trace(reading: &mut Reading, operation: &str) -> Result<Trace, OpenError> {
    let (row, link, calls) = read(&mut *reading.store, |tx| improvised(tx, operation))?;
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
        parameters: request.get("args")?.as_object()?.clone(),
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
            parameters: step.get("parameters")?.as_object()?.clone(),
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

fn inputs(request: &Value) -> Vec<(String, String)> {
    let inputs = request.pointer("/context/inputs").and_then(Value::as_array);
    let text = |input: &Value, key: &str| input.get(key)?.as_str().map(ToOwned::to_owned);
    let input = |input: &Value| Some((text(input, "ref_id")?, text(input, "storage_uri")?));
    inputs.into_iter().flatten().filter_map(input).collect()
}
