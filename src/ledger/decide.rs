//! What a person decides is recorded in one transaction, and its link says who decided, when and why.

use jiff::Timestamp;

use super::{Durability, Event, Head, Ledger, Link, Seq, StoreError, Tx, record::name, write};
use crate::evidence::{Stamp, instant};

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

impl Stamp<'_> {
    /// The link that has this stamp, as far as the records depend on it that it makes.
    pub(crate) fn link(self, event: Event, seq: Seq) -> Link {
        Link {
            seq,
            operation_id: self.operation_id.to_owned(),
            session_id: self.session_id.to_owned(),
            event: name(&event),
            at: instant(self.at),
            actor: self.actor.to_owned(),
            ..Link::default()
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
