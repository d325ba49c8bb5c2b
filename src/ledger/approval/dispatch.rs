//! The record that a request may happen from here on.

use super::{Case, Intended, Passage, checks};
use crate::ledger::{
    Ledger,
    begin::stamp,
    chain::{self, Body},
    claims::open,
    grant,
    record::{Claim, ClaimState, Effects, Event},
    store::{Durability, write},
    words::{Ask, LedgerError, Running},
};

impl Ledger<'_> {
    /// Records that the request may happen from here on, before anything can happen. If it needs an approval, all
    /// checks of the approval are made in the same transaction, and the link uses the approval up. The same holds for
    /// a grant. A request without effects, an approval and a grant needs no such record.
    ///
    /// If the record is not confirmed, nothing has happened yet, so it is tried once more, with PostgreSQL over a new
    /// connection.
    pub(crate) fn dispatch(
        &mut self,
        ask: &Ask<'_>,
        running: &Running,
        intended: Option<&Intended>,
    ) -> Result<Passage, LedgerError> {
        if ask.effects == Effects::None && intended.is_none() && ask.under.is_none() {
            return Ok(Passage::Dispatched);
        }
        let unconfirmed = match self.record_dispatch(ask, running, intended) {
            Err(error) if error.is_unconfirmed() => error,
            passage => return passage,
        };
        match self.record_dispatch(ask, running, intended) {
            // The first record may have been kept.
            Err(LedgerError::Store(_)) => Err(unconfirmed),
            passage => passage,
        }
    }

    fn record_dispatch(
        &mut self,
        ask: &Ask<'_>,
        running: &Running,
        intended: Option<&Intended>,
    ) -> Result<Passage, LedgerError> {
        let (session, request) = (ask.who.session_id, &running.hashes.request_hash);
        let stamp = stamp(ask, &self.actor, self.host.timestamp());
        write(&mut *self.store, Durability::Disk, |tx| {
            let Some(claim) = open(tx, session, request, running.claim)? else {
                return Err(LedgerError::InFlight {
                    by: "another run".to_owned(),
                    waited: ask.patience,
                });
            };
            match claim.state {
                ClaimState::Reserved => {}
                ClaimState::Dispatched => return Ok(Passage::Dispatched),
                // While this run had no connection, another one took it for dead.
                ClaimState::Unknown => {
                    return Err(LedgerError::Unknown {
                        operation: claim.operation_id,
                    });
                }
            }
            let grant = match &ask.under {
                None => None,
                Some(under) => match grant::covers(tx, under, ask, stamp.at)? {
                    Ok(operation) => Some(operation),
                    Err(failure) => return Ok(Passage::Ungranted(failure)),
                },
            };
            let mut approval = None;
            if let Some(intended) = intended {
                let about = (ask.who.task_id, intended.policy.root.as_deref());
                let case = Case::newest(tx, session, request, about)?;
                let session_is_open = checks::is_open(tx, session)?;
                let facts = checks::Facts {
                    case: case.as_ref(),
                    intended,
                    now: stamp.at,
                    session: session_is_open,
                    asker: stamp.actor,
                };
                if let Some(failed) = checks::first_failed(checks::CHECKS.iter(), &facts) {
                    return Ok(failed.passage(case));
                }
                approval = case.map(|case| case.id);
            }
            let body = Body {
                request_hash: Some(request.clone()),
                entry_digest: Some(ask.entry_digest.clone()),
                claim: Some(running.claim),
                changes: chain::changes(ask.change),
                approval,
                under: grant,
                ..Body::default()
            };
            chain::append(tx, Event::Dispatched, stamp, &body)?;
            tx.put_claim(&Claim {
                state: ClaimState::Dispatched,
                ..claim
            })?;
            Ok(Passage::Dispatched)
        })
    }
}
