//! The receipt of an answer (`oneact show --receipt`).

use serde_json::Value;

use super::{naming::CommandError, reading::Reading};
use crate::{
    evidence::receipt::{path, statement},
    ledger::{Anchor, Row, read, validity::sealed},
};

impl Reading {
    /// The receipt of an answer, for the first of these anchors that vouches for it.
    pub(crate) fn receipt(&mut self, row: &Row, anchors: &[Anchor]) -> Result<Value, CommandError> {
        let (own, path) = read::<_, CommandError>(&mut *self.store, |tx| {
            let Some(own) = tx.link_of(row)? else {
                return Err(CommandError::History(row.id.clone()));
            };
            if !sealed(row, &own) {
                return Err(CommandError::NoReceipt {
                    operation: row.operation_id.clone(),
                    why: "its row was changed; see `oneact verify`",
                });
            }
            let path = path(tx, &own, anchors)?;
            Ok((own, path))
        })?;
        let path = path.ok_or_else(|| CommandError::NoReceipt {
            operation: row.operation_id.clone(),
            why: "no anchor of the file vouches for it; `oneact verify --anchor-out` prints one that does",
        })?;
        Ok(statement(row, &own, &path))
    }
}
