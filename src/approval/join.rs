//! The request for an approval with which a task goes on. A caller who names no session gets a new one for each task, so
//! the request of the first run is found in all sessions, and the next run of the task joins its session.

use super::request::{Approval, row_of};
use crate::ledger::{Ask, Bound, Claim, Ledger, LedgerError, Row, StoreError, Tx, Who, read};

/// How many of the newest requests are searched.
const MOST: usize = 256;

/// A request that was found, and how near it is to being performed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    Waiting,
    Approved,
    /// Nobody else's approval of the same task outweighs a denial.
    Denied,
    /// Its call may have happened, and must not happen again before a person has checked.
    InDoubt,
}

impl Ledger<'_> {
    /// The request for exactly this task in this root that can still be used, or whose call may have happened; of several,
    /// the one with the most weight ([`Nearness`]), and then the newest one. A denied request counts until it expires.
    pub(crate) fn joined(
        &mut self,
        ask: &Ask<'_>,
        root: &str,
    ) -> Result<Option<Approval>, LedgerError> {
        self.absorb_outbox();
        let request = ask.asked.hashes(&self.key(ask)?).request_hash;
        let fits = |case: &Approval| case.fits(&ask.who, root);
        let is_same = |case: &Approval| {
            case.request_hash == request || case.asked.whole.as_ref() == Some(&request)
        };
        let open = self.open_requests(&ask.who, |case| is_same(case) && fits(case))?;
        let best = open
            .into_iter()
            .rev()
            .max_by_key(|case| match case.denial() {
                _ if case.used.is_some() => Nearness::InDoubt,
                Some(_) => Nearness::Denied,
                None if case.votes.is_empty() => Nearness::Waiting,
                None => Nearness::Approved,
            });
        Ok(best)
    }

    /// The open requests of this user in the context of the caller that fit, the newest first.
    pub(crate) fn open_requests(
        &mut self,
        who: &Who<'_>,
        fits: impl Fn(&Approval) -> bool,
    ) -> Result<Vec<Approval>, LedgerError> {
        let (now, actor) = (self.host.timestamp(), self.actor.clone());
        let found = read::<_, StoreError>(&mut *self.store, |tx| {
            let mut open = Vec::new();
            for request in tx.open_requests_of(&actor, MOST)? {
                let Some(case) = Approval::of(tx, request)? else {
                    continue;
                };
                let is_usable = case.is_open() && now < case.expires();
                if fits(&case)
                    && has_context(tx, &case, who)?
                    && (is_usable || is_in_doubt(tx, &case)?)
                {
                    open.push(case);
                }
            }
            Ok(open)
        });
        Ok(found?)
    }

    /// The row of the answer that asked. None if it is not the one that was recorded.
    pub(crate) fn asked_row(&mut self, case: &Approval) -> Result<Option<Row>, LedgerError> {
        Ok(read(&mut *self.store, |tx| row_of(tx, case))?)
    }
}

impl Approval {
    /// Whether a request of this caller in this root may use the approval.
    fn fits(&self, who: &Who<'_>, root: &str) -> bool {
        let in_session = self.session_id == who.session_id;
        let is_bound = match self.asked.bound {
            Bound::Task => in_session && self.task_id.as_deref() == who.task_id,
            Bound::Session => in_session,
            Bound::Call => in_session || who.bound == Bound::Call,
        };
        is_bound && self.asked.root.as_deref() == Some(root)
    }

    fn is_open(&self) -> bool {
        self.used.is_none() && self.ended.is_none()
    }
}

/// Whether the request was used, and a call in the session that was made for it may have happened.
fn is_in_doubt(tx: &mut Tx<'_>, case: &Approval) -> Result<bool, StoreError> {
    if case.used.is_none() || case.asked.bound != Bound::Call {
        return Ok(false);
    }
    let claims = tx.open_claims(Some(&case.session_id))?;
    Ok(claims.iter().any(Claim::may_have_happened))
}

/// All tasks of a session have the same context.
fn has_context(tx: &mut Tx<'_>, case: &Approval, who: &Who<'_>) -> Result<bool, StoreError> {
    let session = tx.session(&case.session_id)?;
    Ok(session.is_some_and(|session| session.context == who.context))
}
