//! Writes the head file, and gives anchors away.

use std::error::Error;

use super::{
    chain::instant,
    head_file::{Anchor, Sign, Written},
    place::Ledger,
    record::Head,
    store::{StoreError, read},
    words::LedgerError,
};
use crate::host;

impl Ledger<'_> {
    /// Sets what signs the head.
    pub(crate) fn signed_by(mut self, sign: Option<Sign>) -> Self {
        self.head.sign = sign;
        self
    }

    /// Writes the head file, for a link that is on the disk. The ledger works without it, so a failure is only
    /// logged.
    pub(crate) fn publish(&mut self, head: &Head) {
        if let Err(why) = self.try_publish(head) {
            tracing::warn!("{} was not updated: {why}", self.head.path());
        }
    }

    fn try_publish(&mut self, head: &Head) -> Result<(), Box<dyn Error>> {
        match self.head.read() {
            Written::Nothing | Written::Blank => {}
            Written::Unreadable(why) => {
                let why = format!(
                    "it cannot be read ({why}). It is kept as evidence; see `oneact verify`"
                );
                return Err(why.into());
            }
            Written::Unopened(why) => return Err(why.into()),
            // Another run was faster; or the ledger is shorter than it was, and the file is the evidence.
            Written::Link(before) if before.seq >= head.seq => return Ok(()),
            Written::Link(before) => {
                let held = read(&mut *self.store, |tx| tx.of::<Head>(before.seq))?;
                if held.is_none_or(|held| held.entry_hash != before.entry_hash) {
                    let why = format!(
                        "it names link {}, which the ledger does not contain. It is kept as evidence; see `oneact verify`",
                        before.seq
                    );
                    return Err(why.into());
                }
            }
        }
        match self.anchor(head) {
            (_, Some(why)) => Err(why.into()),
            (note, None) => Ok(self.head.write(&note)?),
        }
    }

    /// A copy of a link. Somebody who cannot read the private key gets it without a signature, and the reason.
    fn anchor(&self, head: &Head) -> (Anchor, Option<String>) {
        let mut anchor = Anchor {
            seq: head.seq,
            entry_hash: head.entry_hash.clone(),
            at: Some(instant(self.host.timestamp())),
            host: Some(host::name()),
            signature: None,
        };
        let sign = self.head.sign.as_ref();
        match sign.map(|sign| sign(&anchor.text())).transpose() {
            Ok(signature) => anchor.signature = signature,
            Err(why) => return (anchor, Some(why)),
        }
        (anchor, None)
    }

    /// Waits until what was read is on the disk, so that no link is told that a failure takes back.
    pub(crate) fn sync(&mut self) {
        if let Err(why) = self.store.sync() {
            tracing::warn!("It is not known whether the newest links are on the disk: {why}");
        }
    }

    /// Copies of links, to be kept elsewhere: of the last link of each session since the newest knot, or of that knot. No
    /// link can be removed or changed without making one of them wrong. Somebody who cannot read the private key gets
    /// them without a signature, and the reason.
    pub(crate) fn anchors(&mut self) -> Result<Vec<(Anchor, Option<String>)>, LedgerError> {
        let heads = read::<_, StoreError>(&mut *self.store, |tx| {
            let knot = tx.newest_knot()?;
            let ends = tx.ends_since(knot.as_ref().map_or(0, |knot| knot.seq))?;
            Ok(if ends.is_empty() {
                knot.into_iter().collect()
            } else {
                ends
            })
        })?;
        self.sync();
        Ok(heads.iter().map(|head| self.anchor(head)).collect())
    }
}
