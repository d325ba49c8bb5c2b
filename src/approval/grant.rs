//! Grants (R-003-06): what happened to one. Whether it covers a call is checked beside the approvals, in `checks.rs`.

use serde_json::Value;

use crate::{
    ledger::{Row, Seq, StoreError, Tx, Which, review, settle::row_of},
    task::{Granted, IMPROVISED},
};

/// A grant, and everything that happened to it since.
#[derive(Debug, Clone)]
pub(crate) struct GrantState {
    /// The row of the answer that opened it.
    pub(crate) row: Row,
    pub(crate) granted: Granted,
    pub(crate) session_id: String,
    /// The name of the root in which it was opened.
    pub(super) home: Option<String>,
    /// The operations of its calls, in their order. A call that was dispatched twice is there twice.
    pub(crate) calls: Vec<String>,
    /// The link that closed it.
    pub(crate) closed: Option<Seq>,
}

impl GrantState {
    /// The grant that the operation opened. The answer may have been returned by a later operation, too.
    pub(crate) fn by(tx: &mut Tx<'_>, operation_id: &str) -> Result<Option<Self>, StoreError> {
        match answer(tx, operation_id)? {
            Some(row) => Self::of(tx, &row),
            None => Ok(None),
        }
    }

    /// The grant that this row opened, if it opened one.
    pub(crate) fn of(tx: &mut Tx<'_>, row: &Row) -> Result<Option<Self>, StoreError> {
        if row.action_type.as_deref() != Some(IMPROVISED) {
            return Ok(None);
        }
        let Some(grant) = tx.grant(&row.id)? else {
            return Ok(None);
        };
        // A grant that does not match its link widens what may be done.
        if !tx.is_testified(grant.seq, &grant)? {
            return Ok(None);
        }
        Ok(Some(Self {
            calls: tx.calls_under(&grant.operation_id)?,
            granted: grant.granted,
            home: grant.home,
            session_id: grant.session_id,
            closed: review::withdrawn_by(tx, row)?,
            row: row.clone(),
        }))
    }
}

/// The answer of an operation, where it was made. Its mark says whether it was withdrawn.
pub(crate) fn answer(tx: &mut Tx<'_>, operation_id: &str) -> Result<Option<Row>, StoreError> {
    let Some(row) = row_of(tx, operation_id)? else {
        return Ok(None);
    };
    let row = match &row.reused_from {
        Some(origin) => tx.row(&Which::id(origin))?,
        None => Some(row),
    };
    let Some(row) = row else { return Ok(None) };
    let revoked_by = review::withdrawn_by(tx, &row)?;
    Ok(Some(Row { revoked_by, ..row }))
}

/// The operation under whose grant the task of this row was sent.
pub(crate) fn under(row: &Row) -> Option<String> {
    let request = row.request.as_ref();
    let request = request.filter(|text| text.contains(r#""under":"#))?;
    let request: Value = serde_json::from_str(request).ok()?;
    Some(request.pointer("/context/under")?.as_str()?.to_owned())
}
