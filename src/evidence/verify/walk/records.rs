//! Compares sessions, claims, requests for approvals, decisions, grants and reviews with the links that made and changed them.

use super::{
    super::damage::Damage,
    state::{Stop, Walk, stop},
};
use crate::ledger::{
    Body, Claim, Event, Grant, Judgement, Link, Record as _, Request, Testified, Tx, Vote,
    record::RequestEnd,
};

impl Walk {
    /// Checks that the record of this link is the one that it made.
    pub(super) fn same<R: Testified>(
        &self,
        link: &Link,
        body: &Body,
        stored: Option<R>,
    ) -> Result<(), Stop> {
        let [table, _] = R::TABLE;
        match (R::made_by(link, body), stored) {
            (None, None) => Ok(()),
            (Some(said), Some(stored)) => {
                if said == stored.when_made() {
                    return Ok(());
                }
                self.here(Damage::Changed { table })
            }
            (Some(_), None) => self.here(Damage::Gone { table }),
            (None, Some(_)) => self.here(Damage::Astray { table }),
        }
    }

    /// Follows the claims, and compares the one that this link made, and the one that it ended.
    pub(super) fn claims(
        &mut self,
        tx: &mut Tx<'_>,
        link: &Link,
        body: &Body,
        stored: Option<Claim>,
    ) -> Result<(), Stop> {
        let [table, _] = Claim::TABLE;
        if let Some(seq) = body.claim
            && let Some(said) = self.open.remove(&seq)
        {
            let is_own = said.operation_id == link.operation_id || !link.is(Event::Dispatched);
            if said.session_id != link.session_id || !is_own {
                return self.here(Damage::Changed { table });
            }
            let said = said.after(link, body);
            if said.is_open() {
                self.open.insert(seq, said);
            } else if tx.claim(seq)?.as_ref() != Some(&said) {
                return self.here(Damage::Changed { table });
            }
        }
        self.same(link, body, stored)?;
        let made = Claim::made_by(link, body);
        self.open.extend(made.map(|claim| (claim.seq, claim)));
        Ok(())
    }

    /// Follows the requests, and compares the request, the decision, the grant or the review that this link made.
    pub(super) fn approvals(
        &mut self,
        tx: &mut Tx<'_>,
        link: &Link,
        body: &Body,
    ) -> Result<(), Stop> {
        if let Some(said) = self.compare::<Request>(tx, link, body)? {
            let others = self.requests.values_mut();
            let others =
                others.filter(|other| other.ended.is_none() && other.task() == said.task());
            others.for_each(|other| other.ended = Some(link.seq));
            self.requests.insert(link.seq, said);
        }
        self.compare::<Vote>(tx, link, body)?;
        self.compare::<Grant>(tx, link, body)?;
        self.compare::<Judgement>(tx, link, body)?;
        let mut requests = self.requests.values_mut().rev();
        let named = requests
            .find(|of| Some(&of.id) == body.approval.as_ref() && of.session_id == link.session_id);
        let (Some(request), Some(end)) = (named, link.end_of_request()) else {
            return Ok(());
        };
        match end {
            // It is used once.
            RequestEnd::Used if request.used.is_some() => {
                let [table, _] = Request::TABLE;
                return self.here(Damage::Changed { table });
            }
            RequestEnd::Used => request.used = Some(link.seq),
            RequestEnd::Unused => request.used = None,
            RequestEnd::Ended => {
                request.ended.get_or_insert(link.seq);
            }
        }
        Ok(())
    }

    /// The record that this link made, if it made one, after the comparison with the table.
    fn compare<R: Testified>(
        &mut self,
        tx: &mut Tx<'_>,
        link: &Link,
        body: &Body,
    ) -> Result<Option<R>, Stop> {
        let said = R::made_by(link, body);
        if said.is_some() {
            let [table, _] = R::TABLE;
            *self.compared.entry(table).or_default() += 1;
            self.same::<R>(link, body, tx.of(link.seq)?)?;
        }
        Ok(said)
    }

    /// Checks that the records are as the last links about them say, and that none is left that no link made.
    pub(super) fn all_compared(&self, tx: &mut Tx<'_>) -> Result<(), Stop> {
        let last = self.last();
        for (seq, said) in &self.open {
            if tx.claim(*seq)?.as_ref() != Some(said) {
                let [table, _] = Claim::TABLE;
                return stop(Some(*seq), last, Damage::Changed { table });
            }
        }
        for (seq, said) in &self.requests {
            if tx.of(*seq)?.as_ref() != Some(said) {
                let [table, _] = Request::TABLE;
                return stop(Some(*seq), last, Damage::Changed { table });
            }
        }
        for ([table, _], stored) in [
            (Request::TABLE, tx.count::<Request>()?),
            (Vote::TABLE, tx.count::<Vote>()?),
            (Grant::TABLE, tx.count::<Grant>()?),
            (Judgement::TABLE, tx.count::<Judgement>()?),
        ] {
            if stored != self.compared.get(table).copied().unwrap_or_default() {
                return stop(None, last, Damage::Astray { table });
            }
        }
        Ok(())
    }
}
