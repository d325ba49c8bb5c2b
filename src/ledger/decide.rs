//! What a person decides is recorded in one transaction, and its link says who decided, when and why.

use jiff::Timestamp;

use super::{
    chain::Stamp,
    place::Ledger,
    record::Head,
    store::{Durability, StoreError, Tx, write},
};

/// Who decides, when, and with which note.
#[derive(Clone, Copy)]
pub(crate) struct By<'a> {
    /// `uid:1000`
    pub(crate) actor: &'a str,
    pub(crate) at: Timestamp,
    pub(crate) note: Option<&'a str>,
}

impl<'a> By<'a> {
    pub(crate) fn stamp(self, operation_id: &'a str, session_id: &'a str) -> Stamp<'a> {
        Stamp {
            operation_id,
            session_id,
            at: self.at,
            actor: self.actor,
        }
    }
}

impl Ledger<'_> {
    /// Records a decision. `work` returns its result and the last link.
    pub(crate) fn decide<T, E: From<StoreError>>(
        &mut self,
        note: Option<&str>,
        work: impl FnOnce(&mut Tx<'_>, By<'_>) -> Result<(T, Head), E>,
    ) -> Result<T, E> {
        let by = By {
            actor: &self.actor,
            at: self.host.timestamp(),
            note,
        };
        let (result, head) = write(&mut *self.store, Durability::Disk, |tx| work(tx, by))?;
        self.publish(&head);
        Ok(result)
    }
}
