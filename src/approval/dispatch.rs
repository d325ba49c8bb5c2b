//! The record that a request may happen from here on. A call without effects, approval and grant has none.
//!
//! The work begins only after it (`perform/recorded.rs`). A later run finds the claim open and `dispatched`. If its run is dead, a
//! once-only call becomes `unknown`, and a person or the journal of its plan settles it; any other call is taken over
//! (`ledger/questions/claim.rs`).

use super::{
    checks,
    request::{Approval, Intended, Passage},
};
use crate::ledger::{
    Ask, Body, ClaimState, Durability, Effects, Event, Ledger, LedgerError, Running, chain,
    record::changes, stamp, write_in,
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
        write_in(&mut *self.store, session, Durability::Disk, |tx| {
            tx.expect(|tx| {
                tx.ends(session)?;
                if let Some(fence) = &running.hashes.fence {
                    tx.open_claims_of_action(fence)?;
                }
                tx.claim(running.claim).map(drop)
            })?;
            let claim = tx.claim(running.claim)?;
            let claim = claim.filter(|claim| claim.is_open_of(session, ask.who.operation_id));
            let Some(claim) = claim else {
                return Err(LedgerError::InFlight {
                    by: "another run".to_owned(),
                    waited: ask.patience,
                });
            };
            match claim.state {
                ClaimState::Dispatched => return Ok(Passage::Dispatched),
                // While this run had no connection, another one took it for dead.
                ClaimState::Unknown => {
                    return Err(LedgerError::Unknown {
                        operation: claim.operation_id,
                    });
                }
                _ => {}
            }
            // The same holds for a run of the same action in another session.
            if let Some(fence) = &claim.fence
                && let Some(theirs) = tx
                    .open_claims_of_action(fence)?
                    .into_iter()
                    .find(|other| other.seq != claim.seq && other.may_have_happened())
            {
                return Err(LedgerError::Unknown {
                    operation: theirs.operation_id,
                });
            }
            let grant = match &ask.under {
                None => None,
                Some(under) => match checks::covers(tx, under, ask, stamp.at)? {
                    Ok(operation) => Some(operation),
                    Err(failure) => return Ok(Passage::Ungranted(failure)),
                },
            };
            let mut used = None;
            if let Some(intended) = intended {
                let (task, root) = (ask.who.task_id, intended.policy.root.as_deref());
                let task = [Some(session), Some(request), task, root];
                let Some(case) = Approval::newest(tx, task)? else {
                    return Ok(Passage::Ask);
                };
                let facts = checks::Facts {
                    case: &case,
                    intended,
                    now: stamp.at,
                    session: tx.session(session)?,
                    asker: stamp.actor,
                };
                if let Some(failed) = checks::first_failed(&checks::CHECKS, &facts) {
                    return Ok(failed.passage(case));
                }
                used = Some(case);
            }
            let body = Body {
                request_hash: Some(request.clone()),
                entry_digest: Some(ask.entry_digest.clone()),
                claim: Some(running.claim),
                changes: changes(ask.change),
                approval: used.as_ref().map(|case| case.id.clone()),
                under: grant,
                ..Body::default()
            };
            chain::add_link(tx, Event::Dispatched, stamp, &body)?;
            Ok(Passage::Dispatched)
        })
    }
}
